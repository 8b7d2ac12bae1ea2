//! Texts that the tests of several crates read.
//!
//! Invariant: the crate uses none of our crates. A test-only cycle would compile them twice, with types that do not match.

/// The programs with which the language was designed, by name.
pub const PROGRAMS: &[(&str, &str)] = &[
    ("matmul", include_str!("../programs/matmul.hx")),
    ("pipeline", include_str!("../programs/pipeline.hx")),
    ("attention", include_str!("../programs/attention.hx")),
    ("moe", include_str!("../programs/moe.hx")),
    ("selective_scan", include_str!("../programs/selective_scan.hx")),
    ("w4a16", include_str!("../programs/w4a16.hx")),
];

/// Returns the text of one of the [`PROGRAMS`].
///
/// # Panics
/// If there is no program of this name.
pub fn program(name: &str) -> &'static str {
    let found = PROGRAMS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("there is no program `{name}`")).1
}
