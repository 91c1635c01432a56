// SPDX-License-Identifier: LGPL-2.1-or-later
//! Find the libraries: in the directory VPERFCTR_LIB_DIR, by pkg-config, or where the linker
//! looks.  Fail with what to do if they are not there: cargo shows no warnings of a crate that
//! comes from a registry, and the linker's error does not say what to install.

use std::path::PathBuf;
use std::process::{exit, Command};

const MISSING: &str = "libvperfctr-event was not found by pkg-config, nor by the linker. \
    Install libvperfctr-dev (Debian) or vperfctr-devel (RPM), or run \"make install\" in the \
    source of vperfctr. If it is installed, PKG_CONFIG_PATH names the directory of \
    libvperfctr-event.pc, or VPERFCTR_LIB_DIR that of the library.";

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

/// True if the linker finds the libraries without an option, as it does in /usr/local/lib.
fn linker_finds_them() -> bool {
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_string());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("found.so");
    let linked = Command::new(linker)
        .args(["-shared", "-nostdlib", "-o"])
        .arg(&out)
        .args(["-lvperfctr-event", "-lvperfctr"])
        .output();
    linked.map_or(false, |run| run.status.success())
}

/// The variables by which a user says where the libraries are.
const VARIABLES: [&str; 5] =
    ["VPERFCTR_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "LIBRARY_PATH"];

fn main() {
    for name in VARIABLES {
        println!("cargo:rerun-if-env-changed={}", name);
    }
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
    } else if !linker_finds_them() {
        eprintln!("{}", MISSING);
        exit(1);
    }
    println!("cargo:rustc-link-lib=vperfctr-event");
    println!("cargo:rustc-link-lib=vperfctr");
}
