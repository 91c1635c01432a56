// SPDX-License-Identifier: GPL-2.0
//! Print how many page faults the touch of 2000 pages makes beyond that of 1000.

const PAGE: usize = 4096;
const FAULTS: u32 = vperfctr::sys::VPERFCTR_SOFT_MINOR_FAULTS | vperfctr::sys::VPERFCTR_SOFT_MAJOR_FAULTS;

extern "C" {
    fn mmap(at: *mut u8, size: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
    fn munmap(at: *mut u8, size: usize) -> i32;
    fn madvise(at: *mut u8, size: usize, advice: i32) -> i32;
}

fn faults(group: &vperfctr::Group, pages: usize) -> Result<u64, vperfctr::Error> {
    // SAFETY: only this function uses the mapping (PROT_READ | PROT_WRITE, MAP_PRIVATE |
    // MAP_ANONYMOUS, MADV_NOHUGEPAGE).
    let memory = unsafe { mmap(std::ptr::null_mut(), pages * PAGE, 3, 0x22, -1, 0) };
    unsafe { madvise(memory, pages * PAGE, 15) };
    let before = group.read_soft(FAULTS)?;
    for page in 0..pages {
        unsafe { memory.add(page * PAGE).write_volatile(1) };
    }
    let after = group.read_soft(FAULTS)?;
    unsafe { munmap(memory, pages * PAGE) };
    Ok(after - before)
}

/// Fail if the counting runs, or does not, against what is expected.
fn expect(group: &vperfctr::Group, runs: bool, what: &str) -> Result<(), vperfctr::Error> {
    if (faults(group, 10)? != 0) == runs {
        return Ok(());
    }
    Err(vperfctr::Error::with_reason(22, what))
}

/// The counting resumes after the last pause, or a reset.
fn check_pauses(group: &vperfctr::Group) -> Result<(), vperfctr::Error> {
    let outer = group.pause()?;
    let inner = group.pause()?;
    expect(group, false, "two pauses")?;
    drop(inner);
    expect(group, false, "the outer pause")?;
    drop(outer);
    expect(group, true, "after pauses")?;
    let outer = group.pause()?;
    group.reset()?;
    expect(group, true, "a reset ends pauses")?;
    let inner = group.pause()?;
    expect(group, false, "a pause after a reset")?;
    drop(outer);
    expect(group, false, "a pause beyond the end of an ended one")?;
    drop(inner);
    expect(group, true, "the end of pauses")
}

fn run() -> Result<(), vperfctr::Error> {
    let group = vperfctr::Group::new("page-faults")?;
    faults(&group, 10)?;
    let few = faults(&group, 1000)?;
    println!("{}", faults(&group, 2000)? - few);
    check_pauses(&group)
}

fn main() {
    if let Err(e) = run() {
        eprintln!("faults: {}", e);
        std::process::exit(1);
    }
}
