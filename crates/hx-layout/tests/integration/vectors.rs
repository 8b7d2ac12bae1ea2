//! Judges every strict case of the public reference files.

use std::path::Path;

fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    let text = std::fs::read_to_string(&path).expect("the file of cases");
    let report = hx_judge::check(&text).expect("a file of cases");
    assert_eq!(report.failed(), 0, "{report}");
    // Answers that differ where the definition leaves room are shown with `--nocapture`.
    let mut out = std::io::stderr().lock();
    std::io::Write::write_fmt(&mut out, format_args!("{file}: {} differ\n{report}\n", report.differing()))
        .expect("standard error");
}

#[test]
fn layouts() {
    check("layout_public.jsonl");
}

#[test]
fn linear() {
    check("linear_public.jsonl");
}

#[test]
fn relations() {
    check("isl_public.jsonl");
}
