//! The requests of a page. The member `ask` of the JSON object names the request; offsets count UTF-16 units.

use serde::Deserialize;

/// A question about the text, or a command.
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
    /// Asks for the kinds of the text's words, by which an editor colours them.
    Tokens,
    /// Asks for the diagnostics, with their fixes.
    Diagnostics,
    /// Asks for the inlay hints with layouts and instructions, and for the lenses above items.
    Hints,
    Hover {
        at: u32,
        theme: Theme,
    },
    Complete {
        at: u32,
    },
    /// Asks for the docs of the item that an entry of a completion names.
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
    /// Asks for the changes that apply to a range: fixes of diagnostics, and rewrites.
    Actions {
        from: u32,
        to: u32,
    },
    Format,
    /// Asks for the drawings of the tensor at an offset, and the reasons for its layout.
    Layout {
        at: u32,
    },
    /// Asks for a stage of the kernel at an offset: `tile`, `constraints`, `layouts`, `thread` or `cuda`.
    Emit {
        at: u32,
        stage: String,
    },
    /// Asks for the cases of all tests, in the order of the text.
    Tests,
    /// Runs a case, on the simulator.
    Test {
        name: String,
    },
    /// Runs `main`, on the simulator.
    Run,
    /// Asks for the page about a code: `HX0203`.
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
