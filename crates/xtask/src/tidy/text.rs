//! Rules on the text of files.
//!
//! - An instruction is named in the catalogue, in tests and goldens, in `std/` and in the manuals, and nowhere else:
//!   the solver and everything around it must work for instructions that nobody has thought of.
//! - No file names the host of a package registry; package managers know where they fetch from.
//! - A Rust file stays short enough to be read.
//! - No test is switched off, and none passes by panicking.
//! - `unsafe` is for the crate at the CUDA boundary, and for the binding of the generated C parser.

use super::Finding;

/// Families of instructions, in lower case; a name counts with digits behind it too.
/// `mbarrier` is not among them: the language itself has a type of that name.
const INSTRUCTIONS: &[&str] =
    &["mma", "wgmma", "wmma", "tcgen", "ldmatrix", "stmatrix", "movmatrix", "cpasync"];

/// The same, of two words.
const INSTRUCTION_PAIRS: &[(&str, &str)] = &[("cp", "async"), ("cp", "reduce"), ("cp", "bulk")];

/// The parts of the hosts that no file may name. They are in parts, so that this one does not either.
const HOSTS: &[&[&str]] = &[
    &["crates", "io"],
    &["pypi", "org"],
    &["pythonhosted", "org"],
    &["npmjs", "org"],
    &["npmjs", "com"],
    &["yarnpkg", "com"],
    &["rubygems", "org"],
    &["proxy", "golang", "org"],
];

/// The most lines of a Rust file that is not generated.
const MAX_LINES: usize = 700;

/// Attributes that take a test out of the run, or make a panic its success.
const TEST_ATTRIBUTES: &[&str] = &["ignore", "should_panic"];

/// Where `unsafe` may be: at the CUDA boundary, and where the entry point of the generated C parser is named.
const UNSAFE: &[&str] = &["crates/hx-runtime/", "grammar/tree-sitter-hx/bindings/"];

/// Checks the text of one file.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_rust = path.ends_with(".rs");
    let instructions_allowed = may_name_instructions(path);
    for (at, line) in text.lines().enumerate() {
        let mut report =
            |message: String| findings.push(Finding { path: path.to_owned(), line: at + 1, message });
        if !instructions_allowed {
            for name in instruction_names(line) {
                report(format!("the instruction name `{name}` belongs to hx-target"));
            }
        }
        // Cargo writes its lock file as it sees fit.
        if path != "Cargo.lock"
            && let Some(host) = registry_host(line)
        {
            report(format!("`{host}` is the host of a package registry"));
        }
        if is_rust {
            check_attributes(path, line.trim_start(), &mut report);
        }
    }
    let lines = text.lines().count();
    if is_rust && lines > MAX_LINES && !is_generated(text) {
        let message = format!("{lines} lines, the most is {MAX_LINES}");
        findings.push(Finding { path: path.to_owned(), line: 0, message });
    }
    findings
}

fn check_attributes(path: &str, line: &str, report: &mut dyn FnMut(String)) {
    let Some(attribute) = line.strip_prefix("#[").or_else(|| line.strip_prefix("#![")) else { return };
    for name in TEST_ATTRIBUTES {
        let rest = attribute.strip_prefix(name);
        if rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
            report(format!("a test with `{name}` shows nothing"));
        }
    }
    let allows = attribute.starts_with("allow") || attribute.starts_with("expect");
    let may_be_unsafe = UNSAFE.iter().any(|folder| path.starts_with(folder));
    if allows && attribute.contains("unsafe_code") && !may_be_unsafe {
        report("`unsafe` code belongs to hx-runtime".to_owned());
    }
}

fn is_generated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains("Written by `cargo xtask"))
}

fn may_name_instructions(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let has_folder = |name: &str| folders.split('/').any(|folder| folder == name);
    let starts = |start: &str| path.starts_with(start);
    starts("crates/hx-target/")
        || starts("std/")
        || starts("book/")
        || starts("crates/xtask/src/tidy/")
        || has_folder("tests")
        || has_folder("goldens")
        || file == "tests.rs"
        || path == "README.md"
}

/// The instruction names in a line, as they are written there.
fn instruction_names(line: &str) -> Vec<&str> {
    let words = words(line);
    let mut found = Vec::new();
    for (at, &(start, end)) in words.iter().enumerate() {
        let word = plain(&line[start..end]);
        if INSTRUCTIONS.contains(&word.as_str()) {
            found.push(&line[start..end]);
        }
        let Some(&(next_start, next_end)) = words.get(at + 1) else { continue };
        let between = &line[end..next_start];
        let next = plain(&line[next_start..next_end]);
        let joined = between.is_empty() || between == "." || between == "_";
        if joined && INSTRUCTION_PAIRS.contains(&(word.as_str(), next.as_str())) {
            found.push(&line[start..next_end]);
        }
    }
    found
}

/// A word in lower case and without the digits at its end.
fn plain(word: &str) -> String {
    word.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase()
}

/// The ranges of the words of a line; `fooBar`, `foo_bar` and `FOOBar` are two each.
fn words(line: &str) -> Vec<(usize, usize)> {
    let bytes = line.as_bytes();
    let mut words = Vec::new();
    let mut start = None;
    for at in 0..=bytes.len() {
        let is_word = at < bytes.len() && bytes[at].is_ascii_alphanumeric();
        match start {
            Some(from) if !is_word || starts_a_word(bytes, at) => {
                words.push((from, at));
                start = is_word.then_some(at);
            }
            None if is_word => start = Some(at),
            _ => {}
        }
    }
    words
}

/// Whether a capital letter begins a word: after a small letter or digit, or before a small letter.
fn starts_a_word(bytes: &[u8], at: usize) -> bool {
    let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    bytes[at].is_ascii_uppercase() && (!bytes[at - 1].is_ascii_uppercase() || next_is_small)
}

fn registry_host(line: &str) -> Option<String> {
    HOSTS.iter().map(|parts| parts.join(".")).find(|host| {
        line.match_indices(host.as_str()).any(|(at, _)| {
            // `mycrates.io` and `crates.iox` are other hosts.
            let before = line[..at].chars().next_back();
            let after = line[at + host.len()..].chars().next();
            let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
            !goes_on(before) && !goes_on(after)
        })
    })
}

#[cfg(test)]
mod tests;
