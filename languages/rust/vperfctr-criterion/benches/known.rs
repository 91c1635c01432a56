// SPDX-License-Identifier: GPL-2.0
//! A benchmark of known length: two thousand instructions, and those of Criterion's loop.

use criterion::{criterion_group, criterion_main, Criterion};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
use std::arch::asm;
use std::time::Duration;
use vperfctr_criterion::Events;

#[inline(always)]
fn execute(rounds: u64) {
    // SAFETY: it changes only its register.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("2: dec {0}", "jnz 2b", inout(reg) rounds => _, options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("2: subs {0}, {0}, #1", "b.ne 2b", inout(reg) rounds => _, options(nomem, nostack));
    }
    #[cfg(target_arch = "riscv64")]
    unsafe {
        asm!("2: addi {0}, {0}, -1", "bnez {0}, 2b", inout(reg) rounds => _, options(nomem, nostack));
    }
    // Rust 1.63 has no assembler for the others: a few instructions a round.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    for i in 0..rounds {
        // SAFETY: i is valid.
        unsafe { std::ptr::read_volatile(&i) };
    }
}

fn known(c: &mut Criterion<Events>) {
    c.bench_function("known", |b| b.iter(|| execute(1000)));
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(Events::new_or_time("instructions:u"))
        .without_plots()
        // Each pass counts the same, so a few are enough.
        .warm_up_time(Duration::from_millis(5))
        .measurement_time(Duration::from_millis(10))
        .sample_size(10)
        .nresamples(1001);
    targets = known
}
criterion_main!(benches);
