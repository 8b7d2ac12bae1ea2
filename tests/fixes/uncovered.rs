//! Fixes that are right although an error follows: the program has a second mistake, which the first one hid.

/// A program of which a fix uncovers another mistake.
#[derive(Debug)]
pub(super) struct UncoveredMistake {
    /// The program's name. For a text in a Rust file only the file is compared, since the line may have changed.
    program: &'static str,
    /// The code of the mended finding.
    code: &'static str,
    /// The second mistake.
    #[allow(dead_code, reason = "readers of the list want it")]
    hides: &'static str,
}

pub(super) const UNCOVERED: &[UncoveredMistake] = &[
    UncoveredMistake {
        program: "crates/hx-hir/src/tests/names.rs:111",
        code: "HX0103",
        hides: "the file has the other import as well",
    },
    UncoveredMistake {
        program: "crates/hx-ide/src/tests/actions.rs:32",
        code: "HX0101",
        hides: "`copy` of tensors whose extents a launch decides",
    },
    UncoveredMistake {
        program: "crates/hx/tests/integration/build.rs:303",
        code: "HX0101",
        hides: "the tensor that is filled is not `mut`",
    },
    UncoveredMistake {
        program: "crates/hx-hir/src/tests/words.rs:188",
        code: "HX0202",
        hides: "the call lacks an argument",
    },
    UncoveredMistake {
        program: "tests/kernels/integers.hx:237 not cast",
        code: "HX0204",
        hides: "the sum has operands of two types",
    },
];

impl UncoveredMistake {
    pub(super) fn is(&self, program: &str, code: &str) -> bool {
        let file = |name: &'_ str| name.rsplit_once(':').map_or(name.to_owned(), |(file, _)| file.to_owned());
        (program == self.program || program.contains(".rs:") && file(program) == file(self.program))
            && code == self.code
    }
}
