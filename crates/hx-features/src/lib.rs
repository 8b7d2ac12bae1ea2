//! One set of features for the packages that the program, the wheel and the tests share.
//!
//! Cargo compiles a package once for each set of features. The crate has no code: the programs depend on it, so that the build of
//! `hx` alone, of the wheel and of the whole workspace ask for the same features.
//!
//! Invariant: the crate has no item, and every program of the workspace depends on it.
