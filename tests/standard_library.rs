//! The standard library: every kernel has layouts that the verifier accepts, every test passes on the simulator, every kernel
//! that the tests launch compiles for each architecture.

use hx_target::Arch;

use crate::support::{self, Sandbox};

#[test]
fn solutions_are_verified() {
    for arch in Arch::ALL {
        let ran = Sandbox::new().run(&["check", "std", "--verify", "--target", arch.name()]);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(!ran.stderr.contains("warning"), "{}", ran.text());
    }
}

#[test]
fn tests_pass() {
    let ran = Sandbox::new().run(&["test", "std", "--device", "sim"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.ends_with(" passed, 0 failed, 0 skipped\n"), "{}", ran.text());
}

/// Constructs that the library does not use, each against a reference.
#[test]
fn kernels_of_single_constructs_pass() {
    let ran = Sandbox::new().run(&[
        "test",
        support::root().join("tests/kernels").to_str().expect("UTF-8"),
        "--device",
        "sim",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.ends_with(" passed, 0 failed, 0 skipped\n"), "{}", ran.text());
}

#[test]
fn kernels_compile() {
    if support::compiler("standard_library::kernels_compile").is_none() {
        return;
    }
    let found = hx_worker::toolkit::find_nvrtc(&support::search_env()).expect("it was found before");
    let nvrtc = found.library.to_str().expect("a path in UTF-8");
    for arch in Arch::ALL {
        let own = support::root().join("tests/kernels");
        let own = own.to_str().expect("a path in UTF-8");
        let args = ["test", "std", own, "--no-run", "--target", arch.name(), "--nvrtc", nvrtc];
        let ran = Sandbox::new().run(&args);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stdout.lines().last().is_some_and(|line| line.starts_with("0 passed, 0 failed, ")));
    }
}
