//! Rules on the text of files.
//!
//! - Only the catalogue, the words of other languages, tests and goldens, `std/` and the manuals name instructions: the solver and
//!   everything around it must work for instructions that do not exist yet.
//! - A stage of the compiler works for the target that it gets. If it chooses a target itself, a comment says why.
//! - No file names the host of a package registry; package managers know their sources.
//! - A Rust file has at most 700 lines, unless it is generated.
//! - No test is disabled, and no test passes by panicking.
//! - Only `hx-runtime`, the reader of PyTorch's tensors and the binding of the generated C parser contain `unsafe`.

use super::Finding;

/// Families of instructions in lower case. Digits may follow the name. `mbarrier` is missing because the language has a type of
/// that name.
const INSTRUCTIONS: &[&str] =
    &["mma", "wgmma", "wmma", "tcgen", "ldmatrix", "stmatrix", "movmatrix", "cpasync"];

/// Families of instructions whose names consist of two words.
const INSTRUCTION_PAIRS: &[(&str, &str)] =
    &[("cp", "async"), ("cp", "reduce"), ("cp", "bulk"), ("st", "async")];

/// The crates of the stages, from types to code and its simulation.
const STAGES: &[&str] =
    &["codegen", "compile", "hir", "layout", "lower", "sim", "sync", "synth", "thread", "tile", "verify"];

/// The expressions with which code chooses a target itself.
const OWN_TARGETS: &[&str] = &["Target::usual()", "Target::builtin(", "Target::default()"];

/// The largest distance, in lines, from such an expression back to the comment that explains it.
const NEAR_LINES: usize = 4;

/// The hosts that no file may name, split into parts so that this file does not name them either.
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

/// The largest number of lines of a Rust file that is not generated.
const MAX_LINES: usize = 700;

/// Attributes that disable a test, or make a panic its success.
const TEST_ATTRIBUTES: &[&str] = &["ignore", "should_panic"];

/// The paths where `unsafe` is allowed: the CUDA boundary, the table of functions with which PyTorch describes its tensors, and the
/// entry point of the generated C parser.
const UNSAFE: &[&str] =
    &["crates/hx-runtime/", "crates/hx-python/src/exchange.rs", "grammar/tree-sitter-hx/bindings/"];

/// Checks the text of a file.
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
        // Cargo writes hosts into its lock file.
        if path != "Cargo.lock"
            && let Some(host) = registry_host(line)
        {
            report(format!("`{host}` is the host of a package registry"));
        }
        if is_rust {
            check_attributes(path, line.trim_start(), &mut report);
        }
    }
    if is_stage(path) {
        findings.extend(own_targets(text).into_iter().map(|line| Finding {
            path: path.to_owned(),
            line,
            message: "a stage works for the target that it is given: a comment says why not here".to_owned(),
        }));
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

/// Reports whether a file belongs to a stage of the compiler and not to its tests.
fn is_stage(path: &str) -> bool {
    let Some((name, file)) = path.strip_prefix("crates/hx-").and_then(|rest| rest.split_once("/src/")) else {
        return false;
    };
    let is_test = |part: &str| matches!(part, "tests" | "tests.rs" | "test_db.rs" | "testing.rs");
    STAGES.contains(&name) && !file.split('/').any(is_test)
}

/// Returns the numbers, from 1, of the lines that choose a target without a comment about it. Lines of tests do not count.
fn own_targets(text: &str) -> Vec<usize> {
    let lines: Vec<&str> =
        text.lines().take_while(|line| line.trim() != "#[cfg(test)]").map(str::trim).collect();
    let explains = |line: &&str| line.starts_with("//") && line.contains("target");
    let is_own = |at: &usize| {
        let near = &lines[at.saturating_sub(NEAR_LINES)..*at];
        !lines[*at].starts_with("//")
            && OWN_TARGETS.iter().any(|own| lines[*at].contains(own))
            && !near.iter().any(explains)
    };
    (0..lines.len()).filter(is_own).map(|at| at + 1).collect()
}

fn is_generated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains("Written by `cargo xtask"))
}

fn may_name_instructions(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let has_folder = |name: &str| folders.split('/').any(|folder| folder == name);
    let starts = |start: &str| path.starts_with(start);
    starts("crates/hx-target/")
        || starts("crates/hx-test-support/")
        || starts("crates/hx-syntax/src/foreign/")
        || starts("std/")
        || starts("book/")
        || starts("crates/xtask/src/tidy/")
        || has_folder("tests")
        || has_folder("goldens")
        || file == "tests.rs"
        || path == "README.md"
}

/// Returns the instruction names in a line, as they are written there.
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

/// Converts a word to lower case without trailing digits.
fn plain(word: &str) -> String {
    word.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase()
}

/// Returns the ranges of the words in a line; `fooBar`, `foo_bar` and `FOOBar` have two words each.
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

/// Reports whether a capital letter begins a word: after a small letter or digit, or before a small letter.
fn starts_a_word(bytes: &[u8], at: usize) -> bool {
    let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    bytes[at].is_ascii_uppercase() && (!bytes[at - 1].is_ascii_uppercase() || next_is_small)
}

fn registry_host(line: &str) -> Option<String> {
    HOSTS.iter().map(|parts| parts.join(".")).find(|host| {
        line.match_indices(host.as_str()).any(|(at, _)| {
            // A longer name that contains the host, for example with a prefix or suffix, is a different host.
            let before = line[..at].chars().next_back();
            let after = line[at + host.len()..].chars().next();
            let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
            !goes_on(before) && !goes_on(after)
        })
    })
}

#[cfg(test)]
mod tests;
