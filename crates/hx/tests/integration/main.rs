//! The command says who it is. What it does is tested by the suites in `tests/`, which run the executable that this target
//! makes cargo build.

use std::process::{Command, Output};

use expect_test::expect;

fn hx(args: &[&str]) -> (Option<i32>, String) {
    let output: Output =
        Command::new(env!("CARGO_BIN_EXE_hx")).args(args).output().expect("the command starts");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn another_editor_has_this_name_too() {
    expect!["hx 0.1.0 (the hx kernel language toolchain)\n"].assert_eq(&hx(&["--version"]).1);
}

#[test]
fn without_a_verb_it_helps() {
    let (code, help) = hx(&[]);
    assert_eq!(code, Some(0));
    assert!(help.contains("Usage: hx") && help.contains("Exit codes"), "{help}");
}
