// SPDX-License-Identifier: LGPL-2.1-or-later
//! Find the libraries: in the directory VPERFCTR_LIB_DIR, by pkg-config, or where the linker
//! looks.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=VPERFCTR_LIB_DIR");
    if let Ok(dir) = std::env::var("VPERFCTR_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", dir);
    } else if let Ok(found) = Command::new("pkg-config").args(["--libs-only-L", "libvperfctr-event"]).output() {
        for option in String::from_utf8_lossy(&found.stdout).split_whitespace() {
            if let Some(dir) = option.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={}", dir);
            }
        }
    }
    println!("cargo:rustc-link-lib=vperfctr-event");
    println!("cargo:rustc-link-lib=vperfctr");
}
