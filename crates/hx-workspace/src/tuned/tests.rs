//! The tuned file: reading, errors with their places, and adding results.

use std::sync::Arc;

use expect_test::{Expect, expect};
use hx_base::testing::MemorySystem;
use hx_compile::CtValue;

use super::{Extent, TUNED_NAME, TunedEntry, TunedFile, shape_text, updated};
use crate::Database;

const RESULT: &str = r#"format = 1

# The large ones.
[[tuned]]
kernel = "a/t.hx::gemm"
shape = { m = "65..=128", n = "*", T = "bf16" }
arguments = { BM = 64, W = "(8,8):(8,1)", FAST = true }
device = "NVIDIA H200"
target = "sm_90a"
median_us = 12.5
ratio = 1.25
baseline = "defaults"
text = "0123"
hx = "0.1.0"
# The end.
"#;

fn read(text: &str) -> (Database, Option<TunedFile>) {
    let db = Database::new(Arc::new(MemorySystem::new([(TUNED_NAME, text)])));
    let file = db.tuned(TUNED_NAME).expect("readable");
    (db, file)
}

fn check(text: &str, want: Expect) {
    let (db, file) = read(text);
    let file = file.expect("the file is there");
    let mut out = String::new();
    for entry in &file.entries {
        out += &format!("{} for {}: {:?}\n", entry.kernel, shape_text(&entry.shape), entry.arguments);
    }
    for found in &file.diagnostics {
        let at = std::ops::Range::<usize>::from(found.primary.range);
        let line = file.file.text(&db)[at].lines().next().unwrap_or_default();
        out += &format!("`{line}`: {}\n", found.message);
        found.help.iter().for_each(|help| out += &format!("  help: {help}\n"));
    }
    want.assert_eq(&out);
}

#[test]
fn a_result_as_written() {
    check(
        RESULT,
        expect![[r#"
        a/t.hx::gemm for m = 65..=128, n = *, T = bf16: {"BM": Int(64), "FAST": Bool(true), "W": Layout((8,8):(8,1))}
    "#]],
    );
    assert!(
        Database::new(Arc::new(MemorySystem::new([("t.hx", "")])))
            .tuned(TUNED_NAME)
            .expect("no error")
            .is_none()
    );
}

#[test]
fn errors_have_places() {
    let with = |from: &str, to: &str| RESULT.replace(from, to);
    check(
        &with("median_us", "median"),
        expect![[r#"
        `[[tuned]]`: this result lacks the key `median_us`
        `median`: found the key `median`, which means nothing
          help: known are kernel, member, text, device, target, shape, arguments, median_us, ratio, baseline, hx
    "#]],
    );
    check(
        &with("format = 1", "format = 2"),
        expect![[r#"
        a/t.hx::gemm for m = 65..=128, n = *, T = bf16: {"BM": Int(64), "FAST": Bool(true), "W": Layout((8,8):(8,1))}
        `2`: this version reads the format 1
    "#]],
    );
    check(
        &with("\"65..=128\"", "\"128..=65\""),
        expect![[r#"
        `"128..=65"`: found `128..=65`, expected a range such as `65..=128`
    "#]],
    );
    check(
        &with("BM = 64", "BM = [64]"),
        expect![[r#"
        `[64]`: found a value of type array, expected a number, a bool or a string
    "#]],
    );
    check(
        &with("arguments = {", "arguments = "),
        expect![[r#"
        `BM`: string values must be quoted, expected literal string
        ``: unexpected key or value, expected newline, `#`
    "#]],
    );
    check(
        "tuned = 3\n",
        expect![[r#"
        `3`: expected tables, each begun by `[[tuned]]`
    "#]],
    );
}

#[test]
fn extents_hold_values() {
    let holds = |extent: &Extent, value: i64| extent.holds(&CtValue::Int(value));
    assert!(holds(&Extent::Between(65, 128), 65) && holds(&Extent::Between(65, 128), 128));
    assert!(!holds(&Extent::Between(65, 128), 64) && holds(&Extent::Any, 1));
    assert!(!Extent::Between(0, 9).holds(&CtValue::Bool(true)));
}

fn entry(m: i64, median_us: f64) -> TunedEntry {
    let text = |text: &str| text.to_owned();
    TunedEntry {
        kernel: text("a/t.hx::gemm"),
        member: (m == 2).then(|| text("gemm_split")),
        text: text("0123"),
        device: text("NVIDIA H200"),
        target: text("sm_90a"),
        shape: [(text("m"), Extent::Is(CtValue::Int(m)))].into(),
        arguments: [(text("BM"), CtValue::Int(128))].into(),
        median_us,
        ratio: Some(1.5),
        baseline: Some(text("defaults")),
        hx: text("0.1.0"),
        file: None,
        range: hx_base::TextRange::default(),
    }
}

#[test]
fn results_are_added_and_replaced() {
    let (db, _) = read("");
    let first = updated(&db, None, &[entry(1, 10.0)]);
    let (db, file) =
        read(&(first + "# Kept.\n\n[[tuned]] # another\n" + &RESULT[RESULT.find("kernel").unwrap_or(0)..]));
    expect![[r##"
        # Compile-time arguments for shapes, measured by `hx tune`. `hx bench`, `hx run` and `hx build` take them from here.
        format = 1

        [[tuned]]
        kernel = "a/t.hx::gemm"
        shape = { m = 1 }
        arguments = { BM = 128 }
        device = "NVIDIA H200"
        target = "sm_90a"
        median_us = 11.0
        ratio = 1.5
        baseline = "defaults"
        text = "0123"
        hx = "0.1.0"
        # Kept.

        [[tuned]] # another
        kernel = "a/t.hx::gemm"
        shape = { m = "65..=128", n = "*", T = "bf16" }
        arguments = { BM = 64, W = "(8,8):(8,1)", FAST = true }
        device = "NVIDIA H200"
        target = "sm_90a"
        median_us = 12.5
        ratio = 1.25
        baseline = "defaults"
        text = "0123"
        hx = "0.1.0"
        # The end.

        [[tuned]]
        kernel = "a/t.hx::gemm"
        member = "gemm_split"
        shape = { m = 2 }
        arguments = { BM = 128 }
        device = "NVIDIA H200"
        target = "sm_90a"
        median_us = 20.0
        ratio = 1.5
        baseline = "defaults"
        text = "0123"
        hx = "0.1.0"
    "##]].assert_eq(&updated(&db, file.as_ref(), &[entry(2, 20.0), entry(1, 11.0)]));
}
