// SPDX-License-Identifier: LGPL-2.1-or-later
//! Find the libraries: in the directory VPERFCTR_LIB_DIR, by pkg-config, or where the linker
//! looks.

use std::process::Command;

const MISSING: &str = "pkg-config did not find libvperfctr-event. If the linker does not find it \
    either, install libvperfctr-dev (Debian) or vperfctr-devel, or run \"make install\" in the \
    source of vperfctr; PKG_CONFIG_PATH names the directory of its .pc file if that is in another \
    place, and VPERFCTR_LIB_DIR that of the library";

/// Return what pkg-config says, or None.
fn directories() -> Option<String> {
    let tool = std::env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let found = Command::new(tool).args(["--libs-only-L", "libvperfctr-event"]).output().ok()?;
    if found.status.success() {
        Some(String::from_utf8_lossy(&found.stdout).into_owned())
    } else {
        None
    }
}

fn main() {
    println!("cargo:rerun-if-env-changed=VPERFCTR_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_LIBDIR");
    // The documentation needs no library.
    if std::env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Ok(dir) = std::env::var("VPERFCTR_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", dir);
    } else if let Some(options) = directories() {
        for option in options.split_whitespace() {
            if let Some(dir) = option.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={}", dir);
            }
        }
    } else {
        println!("cargo:warning={}", MISSING);
    }
    println!("cargo:rustc-link-lib=vperfctr-event");
    println!("cargo:rustc-link-lib=vperfctr");
}
