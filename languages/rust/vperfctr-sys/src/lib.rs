// SPDX-License-Identifier: LGPL-2.1-or-later
//! The C declarations of `<vperfctr.h>` and `<vperfctr-event.h>` that Rust programs need.  Their
//! comments are in these headers.  The test `header` compares all of them with the headers.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_uint};

/// The fields are for inline reads.  The library allocates handles, which are larger.
#[repr(C)]
pub struct vperfctr {
    pub page: *const vperfctr_page,
    pub thread: usize,
    pub ring: *const vperfctr_ring_page,
}

/// The page's counters follow it.
#[repr(C)]
pub struct vperfctr_page {
    pub version: u32,
    pub reserved0: u32,
    pub tsc_start: u64,
    pub tsc_sum: u64,
    pub reserved1: [u64; 5],
    pub samplecount: u32,
    pub cstatus: u32,
    pub mask: u64,
}

#[repr(C)]
pub struct vperfctr_page_ctr {
    pub map: u32,
    pub reserved: u32,
    pub start: u64,
    pub sum: u64,
}

/// Only its address is used.
#[repr(C)]
pub struct vperfctr_ring_page {
    _private: [u8; 0],
}

#[repr(C)]
pub struct vperfctr_why {
    pub text: [c_char; 1024],
}

#[repr(C)]
pub struct vperfctr_region {
    pub internal: [u64; 128],
}

pub const VPERFCTR_MAX_CTRS: u32 = 32;
pub const VPERFCTR_BACKEND_MODULE: u32 = 0;
pub const VPERFCTR_BACKEND_PERF: u32 = 1;
pub const VPERFCTR_COUNT_MODULE: u32 = 0x01;
pub const VPERFCTR_COUNT_PERF: u32 = 0x02;
pub const VPERFCTR_SOFT_TASK_CLOCK: u32 = 0x01;
pub const VPERFCTR_SOFT_CONTEXT_SWITCHES: u32 = 0x02;
pub const VPERFCTR_SOFT_MIGRATIONS: u32 = 0x04;
pub const VPERFCTR_SOFT_MINOR_FAULTS: u32 = 0x08;
pub const VPERFCTR_SOFT_MAJOR_FAULTS: u32 = 0x10;
pub const VPERFCTR_CSTATUS_RDPMC: u32 = 0x8000_0000;

extern "C" {
    pub fn vperfctr_version() -> c_uint;
    pub fn vperfctr_count(v: *mut *mut vperfctr, names: *const c_char, flags: c_uint, why: *mut vperfctr_why) -> c_int;
    pub fn vperfctr_thread(v: *mut *mut vperfctr, names: *const c_char, flags: c_uint, why: *mut vperfctr_why) -> c_int;
    pub fn vperfctr_thread_close();
    pub fn vperfctr_close(v: *mut vperfctr);
    pub fn vperfctr_counter_name(v: *const vperfctr, i: c_uint) -> *const c_char;
    pub fn vperfctr_backend(v: *const vperfctr) -> c_uint;
    pub fn vperfctr_read(v: *mut vperfctr, tsc: *mut u64, pmc: *mut u64, nr: c_uint) -> c_int;
    pub fn vperfctr_read_pmc(v: *mut vperfctr, i: c_uint, value: *mut u64) -> c_int;
    pub fn vperfctr_read_tsc(v: *mut vperfctr, value: *mut u64) -> c_int;
    pub fn vperfctr_read_soft(v: *mut vperfctr, soft: u64, value: *mut u64) -> c_int;
    pub fn vperfctr_reset(v: *mut vperfctr) -> c_int;
    pub fn vperfctr_suspend(v: *mut vperfctr) -> c_int;
    pub fn vperfctr_resume(v: *mut vperfctr) -> c_int;
    pub fn vperfctr_stop(v: *mut vperfctr) -> c_int;
    pub fn vperfctr_region_init(region: *mut vperfctr_region, v: *mut vperfctr, nr: c_uint) -> c_int;
    pub fn vperfctr_region_begin(region: *mut vperfctr_region);
    pub fn vperfctr_region_end(region: *mut vperfctr_region) -> c_int;
    pub fn vperfctr_region_pmc(region: *const vperfctr_region, i: c_uint) -> u64;
    pub fn vperfctr_region_tsc(region: *const vperfctr_region) -> u64;
    pub fn vperfctr_region_passes(region: *const vperfctr_region) -> u64;
    pub fn vperfctr_region_disturbed(region: *const vperfctr_region) -> u64;
}
