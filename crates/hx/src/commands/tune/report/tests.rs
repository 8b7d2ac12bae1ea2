//! The table and the page of a stated result.

use expect_test::expect;
use hx_driver::Roofs;
use hx_driver::tune::{Row, Sample, ShapeResult};
use hx_lower::CtArgs;

use super::{page, table};

fn result() -> ShapeResult {
    let row = |candidate: &str, estimate: f64, median_us: f64, round: usize| Row {
        candidate: candidate.to_owned(),
        member: None,
        arguments: CtArgs::default(),
        is_default: candidate == "BM = 128",
        estimate_us: Some(estimate),
        bound: Some("tensor cores".to_owned()),
        sample: Some(Sample { median_us, low_us: median_us, high_us: median_us, runs: 10 }),
        relative: Some(median_us / 200.0),
        ratio: Some(200.0 / median_us),
        round: Some(round),
        stored: false,
        refused: None,
        chosen: candidate == "BM = 192",
    };
    let mut rows = vec![
        row("BM = 192", 150.0, 160.0, 4),
        row("BM = 128", 180.0, 200.0, 4),
        row("BM = 64", 140.0, 300.0, 1),
    ];
    rows.push(Row {
        sample: None,
        relative: None,
        ratio: None,
        round: None,
        refused: Some("the CUDA compiler refused <it>".to_owned()),
        ..row("BM = 256", 500.0, 1.0, 1)
    });
    ShapeResult {
        kernel: "gemm".to_owned(),
        shape: "k = 64, m = 4096, n = 128, T = bf16".to_owned(),
        device: "NVIDIA H200".to_owned(),
        summary: "8 combinations: 4 break `BM % 64 == 0`; 4 of 4 legal ones are kept".to_owned(),
        baseline: "defaults".to_owned(),
        baseline_us: Some(200.0),
        flops: Some(2.0 * 64.0 * 4096.0 * 128.0),
        bytes: 1.5e6,
        rows,
        stopped: false,
        entry: None,
    }
}

#[test]
fn the_table_names_the_chosen_candidate() {
    expect![[r#"
        gemm for k = 64, m = 4096, n = 128, T = bf16 on NVIDIA H200
          8 combinations: 4 break `BM % 64 == 0`; 4 of 4 legal ones are kept
          candidate             estimate   measured   ratio
          BM = 192             150.00 µs  160.00 µs  1.250×  chosen
          BM = 128 (defaults)  180.00 µs  200.00 µs  1.000×
          BM = 64              140.00 µs  300.00 µs  0.667×  dropped in round 1
          BM = 256             500.00 µs                     no code: the CUDA compiler refused <it>
          the baseline, defaults, takes 200.00 µs
          the model's first choice takes 1.875× the time of the chosen candidate
    "#]]
    .assert_eq(&table(&result()));
}

#[test]
fn the_page_needs_no_other_file() {
    let roofs = Roofs { flops: Some(989e12), bytes: Some(4.8e12) };
    let text = page(&[result()], &roofs);
    assert!(text.contains("<svg") && text.contains("refused &lt;it&gt;"));
    assert!(!text.contains("http") && !text.contains("<script") && !text.contains("NaN"), "{text}");
    // Three plots: ratios, roofline, and one of times against estimates for the shape.
    assert_eq!(text.matches("<svg").count(), 3);
}
