//! Compares the CUDA text of thread programs with golden files.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write files, and fail where they panic"
)]

mod build;
mod bulk;
mod counters;
mod elementwise;
mod errors;
mod launches;
mod log;
mod programs;

use expect_test::{expect, expect_file};
use hx_codegen::{Lines, cuda, cuda_with_lines};
use hx_target::Target;
use hx_thread::ThreadProgram;

fn text(program: &ThreadProgram) -> String {
    cuda(program).map_or_else(|e| format!("error: {e}\n"), |source| source.text)
}

/// Compares the text of a program with `golden/{its name}.cu`.
fn check(program: &ThreadProgram) {
    let golden = format!("{}/tests/golden/{}.cu", env!("CARGO_MANIFEST_DIR"), program.name);
    expect_file![golden].assert_eq(&text(program));
}

#[test]
fn vector_copy_with_a_ragged_end() {
    check(&programs::vector_copy());
}

#[test]
fn names_of_what_was_written() {
    let emitted = |program| cuda(&program).map(|source| Vec::from_iter(source.emitted).join(" "));
    expect!["ld.global.v4.b32 setp.ne.b32 st.global.v4.b32"]
        .assert_eq(&emitted(programs::vector_copy()).unwrap());
    expect!["ld.global.b32 mma.m16n8k16.f32.f16 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 st.global.v2.b32"].assert_eq(&emitted(programs::one_product()).unwrap());
}

#[test]
fn transposition_through_shared_memory() {
    check(&programs::transpose());
}

#[test]
fn one_product_from_four_byte_loads() {
    check(&programs::one_product());
}

#[test]
fn halves_of_words() {
    check(&programs::half_words());
}

#[test]
fn double_precision() {
    check(&programs::axpy_f64());
}

#[test]
fn conversions_aligned_and_not() {
    check(&programs::conversions());
}

#[test]
fn bytes_and_nibbles() {
    check(&programs::narrow());
}

#[test]
fn integers_of_any_sign() {
    check(&programs::signed());
}

#[test]
fn matrix_product() {
    check(&programs::gemm());
}

#[test]
fn softmax_of_rows() {
    check(&elementwise::softmax());
}

#[test]
fn asynchronous_copies() {
    check(&elementwise::staged());
}

#[test]
fn local_integers_that_change() {
    check(&elementwise::walk());
}

#[test]
fn every_operator() {
    check(&elementwise::operators());
}

#[test]
fn every_conversion() {
    check(&elementwise::casts());
}

#[test]
fn exchanges_of_every_width() {
    check(&elementwise::exchanges());
}

#[test]
fn prints_and_assertions() {
    check(&log::prints());
}

/// Statements that the CUDA compiler attributes to lines are one line each, and all of them have a mark.
#[test]
fn line_marks_are_relative_to_the_kernel() {
    for program in [programs::vector_copy(), programs::half_words()] {
        let of = (0..4).map(|i| (hx_tile::Origin(i), 10 + i)).collect();
        let file = format!("{0}.hx::{0}", program.name);
        let source = cuda_with_lines(&program, Some(Lines { file: &file, of: &of }), &|| ());
        let text = source.map_or_else(|e| e.to_string(), |s| s.text);
        let golden = format!("{}/tests/golden/{}_lines.cu", env!("CARGO_MANIFEST_DIR"), program.name);
        expect_file![golden].assert_eq(&text);
    }
}

#[test]
fn launch_descriptions_are_data() {
    let source = cuda(&ThreadProgram { target: Target::builtin("sm_80"), ..programs::vector_copy() });
    let json = source.map_or_else(
        |e| e.to_string(),
        |s| format!("{} {}", s.symbol, serde_json::to_string_pretty(&s.launch).unwrap_or_default()),
    );
    expect_test::expect![[r#"
        vector_copy {
          "params": [
            {
              "kind": "tensor",
              "name": "a",
              "dtype": "f16",
              "mutable": false,
              "shape": [
                "n"
              ],
              "stride": [
                "1"
              ],
              "align": 16
            },
            {
              "kind": "tensor",
              "name": "b",
              "dtype": "f16",
              "mutable": true,
              "shape": [
                "n"
              ],
              "stride": [
                "1"
              ],
              "align": 16
            },
            {
              "kind": "symbol",
              "name": "n"
            }
          ],
          "grid": [
            "(n + 1023) / 1024"
          ],
          "cluster": [
            1,
            1,
            1
          ],
          "threads": 128,
          "shared_bytes": 0,
          "waits_for_previous": false,
          "requires": [
            "n % 8 == 0"
          ]
        }"#]]
    .assert_eq(&json);
}
