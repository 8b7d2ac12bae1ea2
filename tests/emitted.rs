//! Hashes of the CUDA text of every instance that the tests and mains of `std`, `tests/kernels` and `book/examples` launch.
//!
//! A change of the compiler that should not affect code must not affect `tests/emitted`. Otherwise `UPDATE_EXPECT=1` renews the
//! hashes, and the commit says which kernels changed and why. Comments and the names of locals are not hashed.

mod normal;

use expect_test::expect_file;
use hx_target::Target;

use crate::instances::launched;
pub(crate) use normal::normal;

/// Returns a line `HASH INSTANCE` for every instance that is launched on an architecture.
fn hashes(target: Target) -> String {
    let line = |(name, text): (&str, &str)| {
        let hash = blake3::hash(normal(text).as_bytes()).to_hex();
        format!("{} {name}\n", &hash[..16])
    };
    launched(target).iter().map(|found| line((&found.name, &found.text))).collect()
}

#[test]
fn texts_on_sm_80() {
    expect_file!["emitted/sm_80.txt"].assert_eq(&hashes(Target::builtin("sm_80")));
}

#[test]
fn texts_on_sm_89() {
    expect_file!["emitted/sm_89.txt"].assert_eq(&hashes(Target::builtin("sm_89")));
}

#[test]
fn texts_on_sm_90a() {
    expect_file!["emitted/sm_90a.txt"].assert_eq(&hashes(Target::usual()));
}
