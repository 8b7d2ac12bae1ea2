//! Compares whole programs with their formatted forms.

use std::{fs, path::PathBuf};

use hx_fmt::format;
use hx_test_support::PROGRAMS;

/// The programs that are not formatted in the repository; `tests/formatted` has their formatted forms.
const WRITTEN_OTHERWISE: &[&str] = &["matmul", "selective_scan"];

#[test]
fn programs_have_one_layout() {
    for (name, text) in PROGRAMS {
        let formatted = format(text).unwrap();
        if WRITTEN_OTHERWISE.contains(name) {
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formatted/{name}.hx"));
            expect_test::expect_file![path].assert_eq(&formatted);
        } else {
            assert_eq!(formatted, *text, "{name}");
        }
        assert_eq!(format(&formatted).unwrap(), formatted, "{name}");
    }
}

/// Most lines of the hand-written programs stay unchanged.
#[test]
fn programs_hardly_change() {
    for (name, text) in PROGRAMS {
        let formatted = format(text).unwrap();
        let new = formatted.lines().filter(|line| !text.lines().any(|old| old == *line)).count();
        assert!(new * 5 <= formatted.lines().count(), "{name}: {new} new lines");
    }
}

#[test]
fn every_formatted_program_has_its_test() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formatted");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        assert!(WRITTEN_OTHERWISE.contains(&name.as_str()), "{name}");
    }
}
