//! Whole programs, next to what the formatter makes of them.

use std::{fs, path::PathBuf};

use hx_fmt::format;

/// The programs that the language was designed with, which the parser is tested with too.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("matmul", include_str!("../../../hx-syntax/tests/programs/matmul.hx")),
    ("pipeline", include_str!("../../../hx-syntax/tests/programs/pipeline.hx")),
    ("attention", include_str!("../../../hx-syntax/tests/programs/attention.hx")),
    ("moe", include_str!("../../../hx-syntax/tests/programs/moe.hx")),
    ("selective_scan", include_str!("../../../hx-syntax/tests/programs/selective_scan.hx")),
    ("w4a16", include_str!("../../../hx-syntax/tests/programs/w4a16.hx")),
];

#[test]
fn programs_have_one_layout() {
    for (name, text) in PROGRAMS {
        let formatted = format(text).unwrap();
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formatted/{name}.hx"));
        expect_test::expect_file![path].assert_eq(&formatted);
        assert_eq!(format(&formatted).unwrap(), formatted, "{name}");
    }
}

/// Most of what was written by hand stays as it is.
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
        assert!(PROGRAMS.iter().any(|&(program, _)| program == name), "{name}");
    }
}
