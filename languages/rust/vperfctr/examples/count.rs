// SPDX-License-Identifier: GPL-2.0
//! The instructions of a loop: twice as many rounds are twice as many.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
use std::arch::asm;

/// Two instructions a round, where there is an assembler.
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

#[inline(never)]
fn count(group: &vperfctr::Group, rounds: u64) -> Result<u64, vperfctr::Error> {
    let [before] = group.read::<1>()?;
    execute(rounds);
    let [after] = group.read::<1>()?;
    Ok(after - before)
}

fn main() {
    if let Err(e) = run() {
        eprintln!("count: {}", e);
        std::process::exit(1);
    }
}

fn run() -> Result<(), vperfctr::Error> {
    let group = vperfctr::Group::new("instructions:u,cycles:u")?;

    // The dynamic linker finds functions at their first call.
    count(&group, 1)?;
    println!("backend {}", group.backend());
    println!(
        "instructions:u: {} in 1000 rounds, {} in 2000",
        count(&group, 1000)?,
        count(&group, 2000)?
    );
    Ok(())
}
