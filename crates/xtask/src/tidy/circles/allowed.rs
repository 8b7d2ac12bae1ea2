//! The circles that are allowed, each with its reason.

use super::Allowed;

pub(super) const ALLOWED: &[Allowed] = &[
    Allowed {
        folder: "crates/hx-base",
        files: &["code.rs", "codes.rs", "db.rs", "diagnostic.rs", "source.rs"],
        because: "a code, its family, a diagnostic and the database that collects them are types of each other",
    },
    Allowed {
        folder: "crates/hx-compile",
        files: &["lines.rs", "stages.rs"],
        because: "the parts of one chain of queries: a stage asks for its lines, which ask for the program",
    },
    Allowed {
        folder: "crates/hx-hir",
        files: &["constants.rs", "infer.rs"],
        because: "queries: the type of a constant is inferred, and a body names constants",
    },
    Allowed {
        folder: "crates/hx-hir",
        files: &["diagnostics.rs", "diagnostics/broken.rs", "sound.rs"],
        because: "queries: an item is sound if the items that it reaches have no errors, and that is an error of its own",
    },
    Allowed {
        folder: "crates/hx-host",
        files: &["buffer.rs", "pack.rs", "random.rs", "recipe.rs", "tensor.rs", "tensor/order.rs"],
        because: "a tensor may be a recipe that nobody has made, and making it gives a tensor",
    },
    Allowed {
        folder: "crates/hx-host",
        files: &["counted.rs", "value.rs"],
        because: "a tuple is a value that counts its parts, which are values",
    },
    Allowed {
        folder: "crates/hx-ide",
        files: &["hints.rs", "last_good.rs", "lenses.rs"],
        because: "the last good answers hold hints and lenses, which are kept there",
    },
    Allowed {
        folder: "crates/hx-index",
        files: &["cond.rs", "expr.rs", "facts.rs"],
        because: "conditions compare expressions, facts prove both, and facts are conditions",
    },
    Allowed {
        folder: "crates/hx-judge",
        files: &["relations.rs", "verify.rs", "verify_linear.rs"],
        because: "a claim is judged by relations, and a relation is verified by claims",
    },
    Allowed {
        folder: "crates/hx-layout",
        files: &["error.rs", "layout.rs", "tuple.rs"],
        because: "an error names the layouts and tuples that it is about",
    },
    Allowed {
        folder: "crates/hx-layout",
        files: &["expr/functions.rs", "expr/read.rs", "prove/mod.rs"],
        because: "`equal` is a function of the notation, and its proof reads both sides in the notation",
    },
    Allowed {
        folder: "crates/hx-lower",
        files: &["lowering.rs", "peel.rs"],
        because: "the lowering holds the loops that it is splitting, and each half is lowered by it",
    },
    Allowed {
        folder: "crates/hx-runtime",
        files: &["flush.rs", "gpu.rs", "launch.rs", "timing.rs"],
        because: "the device is one type, and each file holds one group of its calls",
    },
    Allowed {
        folder: "crates/hx-syntax",
        files: &[
            "grammar/expressions.rs",
            "grammar/headers.rs",
            "grammar/items.rs",
            "grammar/statements.rs",
            "grammar/types.rs",
        ],
        because: "the grammar is recursive: a block is an expression, and has statements of expressions",
    },
    Allowed {
        folder: "crates/hx-tile",
        files: &["counter.rs", "named_barrier.rs", "pipe.rs", "program.rs", "scope.rs"],
        because: "a program has pipes, barriers, counters and scopes, whose use is found in its statements",
    },
];
