//! The circles that are allowed, each with its reason.

use super::{Allowed, Circle};

pub(super) const ALLOWED: &[Allowed] = &[
    Allowed {
        folder: "crates/hx-base",
        circle: Circle::Of(&["code.rs", "codes.rs", "db.rs", "diagnostic.rs", "source.rs"]),
        because: "a code, its family, a diagnostic and the database that collects them are types of each other",
    },
    Allowed {
        folder: "crates/hx-codegen",
        circle: Circle::Through(&["emit.rs"]),
        because: "the emitter is one type, and each file holds its statements of one kind",
    },
    Allowed {
        folder: "crates/hx-compile",
        circle: Circle::Of(&["lines.rs", "needs.rs", "stages.rs"]),
        because: "the parts of one chain of queries: a stage asks for its lines, which ask for the program",
    },
    Allowed {
        folder: "crates/hx-hir",
        circle: Circle::Of(&["constants.rs", "infer.rs"]),
        because: "queries: the type of a constant is inferred, and a body names constants",
    },
    Allowed {
        folder: "crates/hx-hir",
        circle: Circle::Of(&["diagnostics.rs", "diagnostics/broken.rs", "sound.rs"]),
        because: "queries: an item is sound if the items that it reaches have no errors, and that is an error of its own",
    },
    Allowed {
        folder: "crates/hx-host",
        circle: Circle::Through(&["eval/call.rs", "value.rs"]),
        because: "evaluation is recursive: a call evaluates a built-in, whose argument is a closure that calls",
    },
    Allowed {
        folder: "crates/hx-ide",
        circle: Circle::Of(&["hints.rs", "last_good.rs", "lenses.rs"]),
        because: "the last good answers hold hints and lenses, which are kept there",
    },
    Allowed {
        folder: "crates/hx-index",
        circle: Circle::Of(&["cond.rs", "expr.rs", "facts.rs"]),
        because: "conditions compare expressions, facts prove both, and facts are conditions",
    },
    Allowed {
        folder: "crates/hx-layout",
        circle: Circle::Of(&["error.rs", "layout.rs", "tuple.rs"]),
        because: "an error names the layouts and tuples that it is about",
    },
    Allowed {
        folder: "crates/hx-layout",
        circle: Circle::Of(&["expr/functions.rs", "expr/read.rs", "prove/mod.rs"]),
        because: "`equal` is a function of the notation, and its proof reads both sides in the notation",
    },
    Allowed {
        folder: "crates/hx-layout",
        circle: Circle::Of(&["judge/relations.rs", "judge/verify.rs", "judge/verify_linear.rs"]),
        because: "a claim is judged by relations, and a relation is verified by claims",
    },
    Allowed {
        folder: "crates/hx-lower",
        circle: Circle::Through(&["cx.rs", "value.rs"]),
        because: "a value may be an expression that is not lowered yet, and lowering it needs the context of the values",
    },
    Allowed {
        folder: "crates/hx-repl",
        circle: Circle::Through(&["commands.rs", "session.rs"]),
        because: "a session runs commands, and a command changes its session",
    },
    Allowed {
        folder: "crates/hx-runtime",
        circle: Circle::Through(&["gpu.rs"]),
        because: "the device is one type, and each file holds one group of its calls",
    },
    Allowed {
        folder: "crates/hx-sim",
        circle: Circle::Through(&["agent.rs", "block.rs", "code.rs"]),
        because: "the block is one type, and each file holds its steps of one kind",
    },
    Allowed {
        folder: "crates/hx-syntax",
        circle: Circle::Of(&[
            "grammar/expressions.rs",
            "grammar/headers.rs",
            "grammar/items.rs",
            "grammar/statements.rs",
            "grammar/types.rs",
        ]),
        because: "the grammar is recursive: a block is an expression, and has statements of expressions",
    },
    Allowed {
        folder: "crates/hx-synth",
        circle: Circle::Through(&["cx.rs", "pool.rs"]),
        because: "the context of a search has a pool of what the parts of the search found",
    },
    Allowed {
        folder: "crates/hx-synth",
        circle: Circle::Of(&["family.rs", "solve.rs"]),
        because: "solving looks through families of programs, each of which is compared as solving compares",
    },
    Allowed {
        folder: "crates/hx-thread",
        circle: Circle::Through(&["program.rs"]),
        because: "statements, their addresses and the walk over them are types of each other",
    },
    Allowed {
        folder: "crates/hx-tile",
        circle: Circle::Through(&["program.rs"]),
        because: "operations, their operands, effects and scopes are types of each other",
    },
];
