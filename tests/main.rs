//! Suites that cross crates: from `.hx` text to results, and the command line from outside.
//!
//! A test that lacks something on this machine prints `skipped: NAME: REASON`; with `HX_REQUIRE_NVRTC=1` a missing CUDA compiler
//! is a failure. Random data depend on `HX_TEST_SEED`, which every failure names.

#![allow(clippy::disallowed_methods, reason = "tests read goldens, write projects and start the command")]
#![allow(clippy::print_stdout, reason = "long suites print tables")]

// The allocator of `hx`: a tenth of the time of the suites went to the one of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod ahead;
mod bad_input;
mod compiled;
mod devices;
mod editors;
mod emitted;
mod fixes;
mod formatted;
mod fuzz;
mod gpu;
mod hostile;
mod incremental;
mod instances;
mod layouts;
mod ledger;
mod lsp;
mod made_up;
mod manual;
mod mutants;
mod notebooks;
mod orders;
mod performance;
mod pictures;
mod planted;
mod printing;
mod projects;
mod random_programs;
mod real_input;
mod registers;
mod repl;
mod road;
mod spec;
mod standard_library;
mod support;
mod targets;
mod tree_sitter;
mod tune;
mod unsatisfiable;
