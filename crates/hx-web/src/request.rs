//! The questions of a page. Each is a JSON object whose `ask` names it; offsets count UTF-16 units.

use serde::Deserialize;

/// A question about the text, or an order.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "camelCase")]
pub enum Request {
    /// Replaces the text.
    Edit {
        text: String,
    },
    /// Chooses the architecture: `sm_90a`.
    Target {
        name: String,
    },
    /// The kinds of the words, for their colours.
    Tokens,
    /// The findings, with their fixes.
    Diagnostics,
    /// The layouts and instructions within the text, and the lines above items.
    Hints,
    Hover {
        at: u32,
        theme: Theme,
    },
    Complete {
        at: u32,
    },
    /// The docs of an entry of a completion, by its `item`.
    Docs {
        path: String,
        name: String,
    },
    Signature {
        at: u32,
    },
    Definition {
        at: u32,
    },
    /// The changes that may be made to a range: fixes of findings, and rewrites.
    Actions {
        from: u32,
        to: u32,
    },
    Format,
    /// The drawings of the tensor at an offset, and the reasons for its layout.
    Layout {
        at: u32,
    },
    /// A stage of the kernel at an offset: `tile`, `constraints`, `layouts`, `thread` or `cuda`.
    Emit {
        at: u32,
        stage: String,
    },
    /// The cases of the tests, in the order of the text.
    Tests,
    /// Runs a case, on the simulator.
    Test {
        name: String,
    },
    /// Runs `main`, on the simulator.
    Run,
    /// The page about a code: `HX0203`.
    Explain {
        code: String,
    },
}

/// The colour scheme of the page, which decides the colours of drawings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    Light,
    Dark,
}
