//! The requests that the protocol does not have. Their meaning is in `book/src/contributing/protocol.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tower_lsp::ls_types::{Location, Position, Range, TextDocumentIdentifier};

/// The command that shows another instance of a kernel.
pub(crate) const SHOW_INSTANCE: &str = "hx.showInstance";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LayoutParams {
    pub(crate) text_document: TextDocumentIdentifier,
    /// On the name of a tensor.
    pub(crate) position: Position,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Layout {
    pub(crate) kernel: String,
    /// One for each tensor that the name stands for.
    pub(crate) tensors: Vec<Tensor>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tensor {
    pub(crate) name: String,
    /// `register` or `shared`.
    pub(crate) space: String,
    pub(crate) dtype: String,
    pub(crate) shape: Vec<i64>,
    /// As in a hint.
    pub(crate) alias: String,
    /// `shape : stride`, with a swizzle before it.
    pub(crate) layout: String,
    pub(crate) reason: String,
    /// The operation that forced it.
    pub(crate) forced_by: Option<Location>,
    pub(crate) drawings: Vec<Drawing>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drawing {
    /// `threads`, `memory` or `banks`.
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) unicode: String,
    pub(crate) svg: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    pub(crate) text: String,
    pub(crate) steps: Vec<Step>,
}

/// One thing that was decided, and below it what it follows from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    pub(crate) what: String,
    pub(crate) reason: Option<String>,
    pub(crate) location: Option<Location>,
    pub(crate) from: Vec<Step>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmitParams {
    pub(crate) text_document: TextDocumentIdentifier,
    /// The kernel by name; otherwise the one at the position, or the first.
    pub(crate) kernel: Option<String>,
    pub(crate) position: Option<Position>,
    /// `tile`, `constraints`, `layouts`, `thread`, `cuda`, `ptx` or `sass`.
    pub(crate) stage: String,
    /// Compile-time arguments; otherwise the instance that is shown.
    pub(crate) args: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Emitted {
    pub(crate) kernel: String,
    pub(crate) stage: String,
    /// What an editor should colour it as: `cuda-cpp`, `ptx`, `sass` or `hx`.
    pub(crate) language: String,
    pub(crate) text: String,
    /// Pairs of lines from 0, in the order of the emitted ones: one of the text above, and the line of the file that it comes from.
    pub(crate) lines: Vec<LinePair>,
    /// What should be told besides.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct LinePair {
    pub(crate) emitted: u32,
    pub(crate) source: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CostsParams {
    pub(crate) text_document: TextDocumentIdentifier,
    /// All kernels of the file if left out.
    pub(crate) kernel: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Costs {
    pub(crate) kernel: String,
    pub(crate) range: Range,
    pub(crate) target: String,
    pub(crate) args: BTreeMap<String, String>,
    pub(crate) threads: u32,
    /// Bytes of a block.
    pub(crate) shared_bytes: u32,
    /// 32-bit registers of a thread.
    pub(crate) registers: u32,
    /// The registers are an estimate, not what the CUDA compiler said.
    pub(crate) estimated: bool,
    pub(crate) blocks_per_multiprocessor: u32,
    /// `registers`, `shared memory`, `threads` or `blocks`; nothing while the registers are estimated.
    pub(crate) limited_by: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyntaxTreeParams {
    pub(crate) text_document: TextDocumentIdentifier,
    pub(crate) range: Option<Range>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    pub(crate) version: String,
    pub(crate) target: String,
    /// Files that are open in the client, and files of the user that are known.
    pub(crate) open_documents: usize,
    pub(crate) files: usize,
    /// Kernels whose last good layouts are kept.
    pub(crate) kept_kernels: usize,
    pub(crate) projects: Vec<String>,
    /// Where the CUDA compiler is, or why there is none.
    pub(crate) nvrtc: String,
}

/// The argument of [`SHOW_INSTANCE`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceParams {
    pub(crate) text_document: TextDocumentIdentifier,
    pub(crate) kernel: String,
    /// Compile-time arguments as written, as in `{"BM": "128"}`; without any, the default instance.
    pub(crate) args: Option<BTreeMap<String, String>>,
}
