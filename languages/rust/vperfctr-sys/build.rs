// SPDX-License-Identifier: LGPL-2.1-or-later
//! Find the libraries: in the directory VPERFCTR_LIB_DIR, by pkg-config, or where the linker
//! looks, also by -L in RUSTFLAGS or in cargo's configuration.  Fail with what to do if they are
//! not there: cargo shows no warnings of a crate that comes from a registry, and the linker's
//! error does not say what to install.

use std::path::{Path, PathBuf};
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

/// The directories that options of rustc name for the linker: those of RUSTFLAGS and of cargo's
/// configuration, separated by the character 0x1f.
fn directories_of_flags(flags: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut flags = flags.split('\x1f');
    while let Some(flag) = flags.next() {
        // The value is the next word, or the rest of this one.
        let (option, value) = match flag {
            "-L" | "-C" => (flag, flags.next().unwrap_or("")),
            "--codegen" => ("-C", flags.next().unwrap_or("")),
            _ => match flag.strip_prefix("--codegen=") {
                Some(value) => ("-C", value),
                None if flag.starts_with("-L") || flag.starts_with("-C") => flag.split_at(2),
                None => continue,
            },
        };
        if option == "-L" {
            match value.split_once('=') {
                Some(("native" | "all", dir)) => found.push(dir),
                Some(("dependency" | "crate" | "framework", _)) => {}
                _ => found.push(value),
            }
        } else if let Some(arg) = value.strip_prefix("link-arg=") {
            found.extend(arg.strip_prefix("-L"));
        } else if let Some(args) = value.strip_prefix("link-args=") {
            found.extend(args.split_whitespace().filter_map(|arg| arg.strip_prefix("-L")));
        }
    }
    found
}

/// True if the linker finds the libraries where it looks in any case, as in /usr/local/lib, or
/// where the flags say.
fn linker_finds_them() -> bool {
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_string());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("found.so");
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let directories = directories_of_flags(&flags);
    // The linker will run in another directory, which is not known here.  The empty one is in the
    // next flag.
    if directories.iter().any(|dir| Path::new(dir).is_relative()) {
        return true;
    }
    let linked = Command::new(linker)
        .args(["-shared", "-nostdlib", "-o"])
        .arg(&out)
        .args(directories.iter().map(|dir| format!("-L{}", dir)))
        .args(["-lvperfctr-event", "-lvperfctr"])
        .output();
    linked.map_or(false, |run| run.status.success())
}

/// The variables by which a user says where the libraries are.
const VARIABLES: [&str; 7] = [
    "VPERFCTR_LIB_DIR",
    "PKG_CONFIG",
    "PKG_CONFIG_PATH",
    "PKG_CONFIG_LIBDIR",
    "LIBRARY_PATH",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
];

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
