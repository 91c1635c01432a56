// SPDX-License-Identifier: LGPL-2.1-or-later
//! Compare all declarations with the C headers: translate them to C, and let the C compiler
//! assert that types, offsets and values are the same.  VPERFCTR_CFLAGS says where the headers
//! are; CC is the compiler.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The C type of a Rust type, as the text before and after a name.
fn c_type(rust: &str) -> (String, String) {
    let rust = rust.trim();
    if let Some(rest) = rust.strip_prefix('[') {
        let (of, nr) = rest.trim_end_matches(']').split_once(';').expect("an array");
        let (before, after) = c_type(of);
        return (before, format!("[{}]{}", nr.trim().trim_end_matches(" as usize"), after));
    }
    for (prefix, c) in [("*const ", "const "), ("*mut ", "")] {
        if let Some(to) = rust.strip_prefix(prefix) {
            let (before, after) = c_type(to);
            assert!(after.is_empty(), "a pointer to an array: {}", rust);
            return if to.starts_with('*') {
                (format!("{}*{}", before, if c.is_empty() { "" } else { "const " }), after)
            } else {
                (format!("{}{}*", c, before), after)
            };
        }
    }
    let c = match rust {
        "u8" => "uint8_t",
        "u32" => "uint32_t",
        "i32" => "int32_t",
        "u64" => "uint64_t",
        "usize" => "uintptr_t",
        "c_int" => "int",
        "c_uint" => "unsigned int",
        "c_char" => "char",
        other if other.starts_with("vperfctr") => return (format!("struct {} ", other), String::new()),
        other => panic!("which type is {}?", other),
    };
    (format!("{} ", c), String::new())
}

fn c_declaration(rust: &str, name: &str) -> String {
    let (before, after) = c_type(rust);
    format!("{}{}{}", before, name, after)
}

/// Translate "name: type, name: type".  A comma in a type would need more.
fn arguments(list: &str) -> String {
    let all: Vec<String> = list
        .split(',')
        .map(str::trim)
        .filter(|a| !a.is_empty())
        .map(|a| c_declaration(a.split_once(": ").expect("an argument").1, ""))
        .collect();
    if all.is_empty() { "void".into() } else { all.join(", ") }
}

fn translate(source: &str) -> (String, [usize; 3]) {
    let mut c = String::from(
        "#include <stddef.h>\n#include <vperfctr-event.h>\n\
         #define SAME(a, b) _Static_assert(__builtin_types_compatible_p(__typeof__(a), __typeof__(b)), #a)\n",
    );
    let mut found = [0; 3];
    let mut current: Option<(String, Vec<(String, String)>)> = None;

    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub struct ") {
            current = Some((rest.trim_end_matches(" {").into(), Vec::new()));
        } else if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, rest) = rest.split_once(": ").expect("a constant");
            let value = rest.split_once("= ").expect("a value").1.trim_end_matches(';').replace('_', "");
            writeln!(c, "_Static_assert({} == {}, \"{}\");", name, value, name).unwrap();
            found[0] += 1;
        } else if let Some(rest) = line.strip_prefix("pub fn ") {
            let (name, rest) = rest.split_once('(').expect("a function");
            let (list, result) = rest.split_once(')').expect("a function");
            let result = match result.trim_end_matches(';').strip_prefix(" -> ") {
                Some(result) => c_declaration(result, ""),
                None => "void ".into(),
            };
            writeln!(c, "SAME(&{}, {}(*)({}));", name, result, arguments(list)).unwrap();
            found[1] += 1;
        } else if line == "}" && current.is_some() {
            let (name, fields) = current.take().unwrap();
            // An opaque structure has none.
            if fields.is_empty() {
                continue;
            }
            write!(c, "struct rust_{} {{ ", name).unwrap();
            for (field, rust) in &fields {
                write!(c, "{}; ", c_declaration(rust, field)).unwrap();
            }
            writeln!(c, "}};\n_Static_assert(sizeof(struct rust_{}) == sizeof(struct {}), \"size of {}\");", name, name, name).unwrap();
            for (field, _) in &fields {
                writeln!(
                    c,
                    "_Static_assert(offsetof(struct rust_{0}, {1}) == offsetof(struct {0}, {1}) && \
                     sizeof(((struct rust_{0} *)0)->{1}) == sizeof(((struct {0} *)0)->{1}), \"{0}.{1}\");",
                    name, field
                )
                .unwrap();
            }
            found[2] += 1;
        } else if let Some((_, fields)) = &mut current {
            if let Some(rest) = line.strip_prefix("pub ") {
                let (field, rust) = rest.trim_end_matches(',').split_once(": ").expect("a field");
                fields.push((field.into(), rust.into()));
            }
        }
    }
    (c, found)
}

fn compile(c: &str) -> (bool, String) {
    let flags = std::env::var("VPERFCTR_CFLAGS").unwrap_or_default();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut child = Command::new(compiler)
        .args(flags.split_whitespace())
        .args(["-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a C compiler");
    child.stdin.take().unwrap().write_all(c.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into())
}

const SOURCE: &str = include_str!("../src/lib.rs");

#[test]
fn declarations_are_those_of_the_header() {
    let (c, found) = translate(SOURCE);
    let (good, errors) = compile(&c);
    assert!(good, "{}", errors);
    assert!(found[0] >= 10 && found[1] >= 20 && found[2] >= 5, "found only {:?}", found);
}

/// The comparison finds a type, a value and a field that are wrong.
#[test]
fn differences_are_found() {
    for (right, wrong) in [
        ("i: c_uint, value: *mut u64) -> c_int;", "i: u64, value: *mut u64) -> c_int;"),
        ("names: *const c_char, flags", "names: *mut c_char, flags"),
        ("VPERFCTR_COUNT_PERF: u32 = 0x02", "VPERFCTR_COUNT_PERF: u32 = 0x03"),
        ("pub tsc_sum: u64,", "pub tsc_sum: u32,"),
        ("internal: [u64; 128]", "internal: [u64; 120]"),
    ] {
        assert!(SOURCE.contains(right), "{}", right);
        let (good, _) = compile(&translate(&SOURCE.replacen(right, wrong, 1)).0);
        assert!(!good, "accepted: {}", wrong);
    }
}
