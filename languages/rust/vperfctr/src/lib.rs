// SPDX-License-Identifier: LGPL-2.1-or-later
//! The performance counters of a thread.
//!
//! ```no_run
//! let group = vperfctr::Group::new("instructions:u,cycles:u")?;
//! let before = group.read::<2>()?;
//! // ... the code to be measured ...
//! let after = group.read::<2>()?;
//! println!("{} instructions", after[0] - before[0]);
//! # Ok::<(), vperfctr::Error>(())
//! ```
//!
//! Reads are inline and need no system call where the kernel permits.  Where the module
//! cannot count, perf_event does: [`Group::backend`] says which.
//!
//! A group belongs to the thread that made it, so it is neither `Send` nor `Sync`:
//!
//! ```compile_fail,E0277
//! let group = vperfctr::Group::new("instructions:u").unwrap();
//! std::thread::spawn(move || group.read::<1>());
//! ```
//!
//! ```compile_fail,E0277
//! fn shared<T: Sync>(_: &T) {}
//! shared(&vperfctr::Group::new("instructions:u").unwrap());
//! ```
//!
//! In the child of a fork, reads by the parent's group return EPERM.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::os::raw::{c_int, c_uint};

pub use vperfctr_sys as sys;

/// An error number of the C library, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    errno: i32,
    reason: String,
}

impl Error {
    #[cold]
    fn new(err: c_int, reason: String) -> Self {
        Error { errno: -err, reason }
    }

    #[cold]
    fn of_call(call: &str, err: c_int) -> Self {
        Error::new(err, format!("{}: {}", call, std::io::Error::from_raw_os_error(-err)))
    }

    /// An error of a crate that uses this one, such as EINVAL, with the reason in words.
    #[cold]
    pub fn with_reason(errno: i32, reason: impl Into<String>) -> Self {
        Error { errno, reason: reason.into() }
    }

    /// The error number, such as EBUSY.
    pub fn errno(&self) -> i32 {
        self.errno
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(e: Error) -> Self {
        // An io::Error has a number or a text: keep the kind of the number.
        std::io::Error::new(std::io::Error::from_raw_os_error(e.errno).kind(), e)
    }
}

#[inline]
fn check(call: &str, err: c_int) -> Result<(), Error> {
    if err == 0 {
        Ok(())
    } else {
        Err(Error::of_call(call, err))
    }
}

/// The part of the kernel that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The module vperfctr, or no counting at all.
    Module,
    /// perf_event_open(2).
    Perf,
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Backend::Module => "module",
            Backend::Perf => "perf",
        })
    }
}

/// The counters of the thread that makes it, until it is dropped.
#[derive(Debug)]
pub struct Group {
    v: *mut sys::vperfctr,
    nr: usize,
    pauses: Cell<usize>,
    /// The age of pauses: those of another one have ended.
    age: Cell<u64>,
    // Raw pointers are neither Send nor Sync.  This says that it is on purpose.
    _thread: PhantomData<*mut ()>,
}

impl Group {
    /// Count events by their names, which commas separate.
    pub fn new(names: &str) -> Result<Self, Error> {
        Self::open(names, 0)
    }

    /// The same by one backend only.
    pub fn with_backend(names: &str, backend: Backend) -> Result<Self, Error> {
        Self::open(
            names,
            match backend {
                Backend::Module => sys::VPERFCTR_COUNT_MODULE,
                Backend::Perf => sys::VPERFCTR_COUNT_PERF,
            },
        )
    }

    fn open(names: &str, flags: u32) -> Result<Self, Error> {
        const EINVAL: c_int = 22;
        let names = CString::new(names).map_err(|_| Error::new(-EINVAL, "a name has a NUL".into()))?;
        let mut why = sys::vperfctr_why { text: [0; 1024] };
        let mut v = std::ptr::null_mut();
        // SAFETY: all pointers are valid during the call.
        let err = unsafe { sys::vperfctr_count(&mut v, names.as_ptr(), flags, &mut why) };
        if err != 0 {
            // SAFETY: after an error the text ends with a NUL.
            let reason = unsafe { CStr::from_ptr(why.text.as_ptr()) };
            return Err(Error::new(err, reason.to_string_lossy().into_owned()));
        }
        let mut group = Group { v, nr: 0, pauses: Cell::new(0), age: Cell::new(0), _thread: PhantomData };
        while group.name(group.nr).is_some() {
            group.nr += 1;
        }
        Ok(group)
    }

    /// The number of counters.  Names of software events are none.
    pub fn len(&self) -> usize {
        self.nr
    }

    /// True if there are only software events.
    pub fn is_empty(&self) -> bool {
        self.nr == 0
    }

    /// The name of counter i, as it was given.
    pub fn name(&self, i: usize) -> Option<&str> {
        let i = c_uint::try_from(i).ok()?;
        // SAFETY: the text exists as long as the handle, and was a str.
        unsafe {
            let name = sys::vperfctr_counter_name(self.v, i);
            if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok() }
        }
    }

    /// Which part of the kernel counts.
    pub fn backend(&self) -> Backend {
        // SAFETY: the handle is open.
        match unsafe { sys::vperfctr_backend(self.v) } {
            sys::VPERFCTR_BACKEND_PERF => Backend::Perf,
            _ => Backend::Module,
        }
    }

    /// Read the first N counters. No switch of threads comes between their values.
    ///
    /// # Panics
    ///
    /// If there are fewer counters.
    #[inline(always)]
    pub fn read<const N: usize>(&self) -> Result<[u64; N], Error> {
        assert!(N <= self.nr, "the group has fewer counters");
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the handle is open, and its control has N counters.
            if let Some(sums) = unsafe { page::read::<N>(self.v) } {
                return Ok(sums);
            }
        }
        self.read_by_library::<N>()
    }

    fn read_by_library<const N: usize>(&self) -> Result<[u64; N], Error> {
        let mut sums = [0; N];
        // SAFETY: sums has room for N counters.
        let err = unsafe { sys::vperfctr_read(self.v, std::ptr::null_mut(), sums.as_mut_ptr(), N as c_uint) };
        check("vperfctr_read", err).map(|()| sums)
    }

    /// Read all counters.
    pub fn read_all(&self) -> Result<Vec<u64>, Error> {
        let mut sums = vec![0; self.nr];
        // SAFETY: sums has room for all counters.
        let err = unsafe { sys::vperfctr_read(self.v, std::ptr::null_mut(), sums.as_mut_ptr(), self.nr as c_uint) };
        check("vperfctr_read", err).map(|()| sums)
    }

    /// Read the ticks of the TSC for which the thread has been counted.
    pub fn read_tsc(&self) -> Result<u64, Error> {
        let mut ticks = 0;
        // SAFETY: the handle is open.
        check("vperfctr_read_tsc", unsafe { sys::vperfctr_read_tsc(self.v, &mut ticks) }).map(|()| ticks)
    }

    /// Read software events, `sys::VPERFCTR_SOFT_*`.
    pub fn read_soft(&self, soft: u32) -> Result<u64, Error> {
        let mut sum = 0;
        // SAFETY: the handle is open.
        check("vperfctr_read_soft", unsafe { sys::vperfctr_read_soft(self.v, soft.into(), &mut sum) }).map(|()| sum)
    }

    /// Zero all counts, and count on.  This also ends all pauses.
    pub fn reset(&self) -> Result<(), Error> {
        // SAFETY: the handle is open.
        check("vperfctr_reset", unsafe { sys::vperfctr_reset(self.v) })?;
        self.pauses.set(0);
        self.age.set(self.age.get() + 1);
        Ok(())
    }

    /// Pause the counting until the result is dropped.  Pauses may nest: the counting resumes when
    /// the last is dropped.
    pub fn pause(&self) -> Result<Pause<'_>, Error> {
        if self.pauses.get() == 0 {
            // SAFETY: the handle is open.
            check("vperfctr_suspend", unsafe { sys::vperfctr_suspend(self.v) })?;
        }
        self.pauses.set(self.pauses.get() + 1);
        Ok(Pause { group: self, age: self.age.get() })
    }

    /// Make a region, which subtracts the cost of its reads.
    pub fn region(&self) -> Result<Region<'_>, Error> {
        // SAFETY: it is numbers and pointers, which vperfctr_region_init() sets.
        let mut region: Box<sys::vperfctr_region> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: the region does not move: it is on the heap.
        let err = unsafe { sys::vperfctr_region_init(&mut *region, self.v, self.nr as c_uint) };
        check("vperfctr_region_init", err).map(|()| Region { region, nr: self.nr, _group: PhantomData })
    }

    /// The handle, for the functions of `sys`.  The group still owns it.
    pub fn as_ptr(&self) -> *mut sys::vperfctr {
        self.v
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: nothing uses the handle any more.
        unsafe { sys::vperfctr_close(self.v) }
    }
}

/// A pause in the counting.
#[derive(Debug)]
pub struct Pause<'a> {
    group: &'a Group,
    age: u64,
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let pauses = &self.group.pauses;
        // A reset has ended all pauses of that time.
        if self.age != self.group.age.get() {
            return;
        }
        pauses.set(pauses.get() - 1);
        if pauses.get() == 0 {
            // SAFETY: the handle is open.  The call fails only if the counting has ended.
            unsafe { sys::vperfctr_resume(self.group.v) };
        }
    }
}

/// What a piece of code counts, less the cost of the two reads around it.
pub struct Region<'a> {
    region: Box<sys::vperfctr_region>,
    nr: usize,
    _group: PhantomData<&'a Group>,
}

impl Region<'_> {
    /// Begin a pass.
    #[inline(always)]
    pub fn begin(&mut self) {
        // SAFETY: the group is open as long as the region exists.
        unsafe { sys::vperfctr_region_begin(&mut *self.region) }
    }

    /// End a pass.
    #[inline(always)]
    pub fn end(&mut self) -> Result<(), Error> {
        // SAFETY: as in begin().
        check("vperfctr_region_end", unsafe { sys::vperfctr_region_end(&mut *self.region) })
    }

    /// Count what a function does.  A panic leaves the pass open; the next one begins anew.
    #[inline(always)]
    pub fn count<R>(&mut self, f: impl FnOnce() -> R) -> Result<R, Error> {
        self.begin();
        let result = f();
        self.end().map(|()| result)
    }

    /// The count of counter i in all passes, or None if there is no such counter.
    pub fn get(&self, i: usize) -> Option<u64> {
        // SAFETY: counter i exists.
        (i < self.nr).then(|| unsafe { sys::vperfctr_region_pmc(&*self.region, i as c_uint) })
    }

    /// The number of passes.
    pub fn passes(&self) -> u64 {
        // SAFETY: the region is initialised.
        unsafe { sys::vperfctr_region_passes(&*self.region) }
    }

    /// The number of passes whose count may be a bit too large.
    pub fn disturbed(&self) -> u64 {
        // SAFETY: the region is initialised.
        unsafe { sys::vperfctr_region_disturbed(&*self.region) }
    }
}

/// Reads in user mode, as the inline functions of `<vperfctr.h>` do them.
#[cfg(target_arch = "x86_64")]
mod page {
    use super::sys;
    use std::arch::asm;
    use std::mem::size_of;
    use std::sync::atomic::{compiler_fence, AtomicU32, AtomicU64, Ordering};

    const NEED: u64 = (sys::VPERFCTR_CSTATUS_RDPMC as u64) << 32;

    /// The number of the calling thread: the address of its control block.
    #[inline(always)]
    fn thread() -> usize {
        let thread: usize;
        // SAFETY: the psABI keeps the address there.
        unsafe { asm!("mov {}, fs:0", out(reg) thread, options(nostack, preserves_flags, readonly)) };
        thread
    }

    /// The kernel writes the page while this thread is switched out, so each load is atomic.
    /// Only the compiler must keep their order.
    #[inline(always)]
    unsafe fn load(of: *const u64) -> u64 {
        (*(of as *const AtomicU64)).load(Ordering::Relaxed)
    }

    /// samplecount and, above it, cstatus: one aligned word of the page.
    #[inline(always)]
    unsafe fn word(page: *const sys::vperfctr_page) -> u64 {
        load(std::ptr::addr_of!((*page).samplecount) as *const u64)
    }

    #[inline(always)]
    unsafe fn rdpmc(map: u32) -> u64 {
        let (low, high): (u64, u64);
        asm!("rdpmc", in("ecx") map, out("rax") low, out("rdx") high,
             options(nostack, preserves_flags));
        low | high << 32
    }

    /// Read the first N counters, or return None: the library must read.
    ///
    /// # Safety
    ///
    /// The handle is open and its control has N counters.
    #[inline(always)]
    pub unsafe fn read<const N: usize>(v: *const sys::vperfctr) -> Option<[u64; N]> {
        let page = (*v).page;
        // The counters follow the page's header.
        let ctr = (page as *const u8).add(size_of::<sys::vperfctr_page>()) as *const sys::vperfctr_page_ctr;
        let mut sums = [0; N];

        while thread() == (*v).thread {
            let before = word(page);
            if before & NEED == 0 {
                return None;
            }
            compiler_fence(Ordering::SeqCst);
            let mask = load(std::ptr::addr_of!((*page).mask));
            for (i, sum) in sums.iter_mut().enumerate() {
                let ctr = ctr.add(i);
                let map = (*(std::ptr::addr_of!((*ctr).map) as *const AtomicU32)).load(Ordering::Relaxed);
                let start = load(std::ptr::addr_of!((*ctr).start));
                *sum = load(std::ptr::addr_of!((*ctr).sum))
                    .wrapping_add(rdpmc(map).wrapping_sub(start) & mask);
            }
            compiler_fence(Ordering::SeqCst);
            if word(page) == before {
                return Some(sums);
            }
        }
        None
    }
}
