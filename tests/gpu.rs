//! The Python harness of `tests/gpu/`: tests of its parts that need no GPU.

use std::process::Command;

use crate::support::{root, skip};

#[test]
fn the_python_harness_reads_descriptions() {
    const TEST: &str = "the_python_harness_reads_descriptions";
    let script = root().join("tests/gpu/test_harness.py");
    let output = match Command::new("python3").arg("-B").arg(script).output() {
        Ok(output) => output,
        Err(error) => return skip(TEST, &format!("python3 does not start: {error}"), "HX_REQUIRE_PYTHON"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
