//! Requests that the standard protocol does not have. `book/src/contributing/protocol.md` documents them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tower_lsp::ls_types::{Location, Position, Range, TextDocumentIdentifier};

/// The command that shows another instance of a kernel.
pub(crate) const SHOW_INSTANCE: &str = "hx.showInstance";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LayoutParams {
    pub(crate) text_document: TextDocumentIdentifier,
    /// A position on the name of a tensor.
    pub(crate) position: Position,
    /// The form of the drawings; `hx/explainLayout` has none.
    #[serde(default)]
    pub(crate) form: DrawingForm,
}

/// The form of the drawings of `hx/layout`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DrawingForm {
    /// Finished drawings: characters and SVG.
    #[default]
    Finished,
    /// The cells as data, for a client that draws by itself.
    Cells,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Layout {
    pub(crate) kernel: String,
    /// One entry for each binding of the name: a kernel may bind it several times.
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
    /// The short name that hints show.
    pub(crate) alias: String,
    /// The layout as `(4,8):(8,1)`, preceded by the swizzle if there is one.
    pub(crate) layout: String,
    pub(crate) reason: String,
    /// The place of the operation that forced the layout.
    pub(crate) forced_by: Option<Location>,
    pub(crate) drawings: Vec<Drawing>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drawing {
    /// `threads`, `memory` or `banks`.
    pub(crate) kind: String,
    pub(crate) title: String,
    #[serde(flatten)]
    pub(crate) drawn: Drawn,
}

/// A drawing as finished text and SVG, or as data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Drawn {
    Finished { unicode: String, svg: String },
    Cells(Cells),
}

/// A drawing as data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cells {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// The distance between emphasized grid lines, in cells.
    pub(crate) row_step: usize,
    pub(crate) col_step: usize,
    /// The text of each cell, in row-major order like `groups` and `owners`.
    pub(crate) texts: Vec<String>,
    /// The group of each cell, for its colour; `null` for an empty cell.
    pub(crate) groups: Vec<Option<usize>>,
    /// Pairs of a thread and a value, for each cell; an empty list if the drawing is not of threads.
    pub(crate) owners: Vec<Vec<(i64, i64)>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    pub(crate) text: String,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExplainCodeParams {
    /// The code of a diagnostic, such as `HX0203`, or its name.
    pub(crate) code: String,
}

/// The page about a code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CodePage {
    pub(crate) code: String,
    pub(crate) name: String,
    /// Markdown.
    pub(crate) text: String,
}

/// A decision of the compiler about a layout, and the decisions from which it follows.
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
    /// The kernel's name; without it, the kernel at the position, or the file's first.
    pub(crate) kernel: Option<String>,
    pub(crate) position: Option<Position>,
    /// `tile`, `constraints`, `layouts`, `thread`, `cuda`, `ptx` or `sass`.
    pub(crate) stage: String,
    /// Compile-time arguments; without them, the instance that is shown.
    pub(crate) args: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Emitted {
    pub(crate) kernel: String,
    pub(crate) stage: String,
    /// The language for an editor's colours: `cuda-cpp`, `ptx`, `sass` or `hx`.
    pub(crate) language: String,
    pub(crate) text: String,
    /// Pairs of a line of the text above and the line of the file that it comes from, both from 0, ordered by the text's lines.
    pub(crate) lines: Vec<LinePair>,
    /// Further messages for the user.
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
    /// The kernel's name; without it, all kernels of the file.
    pub(crate) kernel: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Costs {
    pub(crate) kernel: String,
    pub(crate) range: Range,
    pub(crate) target: String,
    pub(crate) args: BTreeMap<String, String>,
    /// The text of the lens.
    pub(crate) summary: String,
    pub(crate) threads: u32,
    /// Shared memory of a block, in bytes.
    pub(crate) shared_bytes: u32,
    /// 32-bit registers per thread.
    pub(crate) registers: u32,
    /// The registers are an estimate, because no compile of this text is known.
    pub(crate) estimated: bool,
    /// `None` while the registers are estimated.
    pub(crate) blocks_per_multiprocessor: Option<u32>,
    /// `registers`, `shared memory`, `threads` or `blocks`; `None` while the registers are estimated.
    pub(crate) limited_by: Option<String>,
    /// `None` for a kernel without pipelines.
    pub(crate) cycles: Option<Cycles>,
}

/// The estimated cycles of a kernel with pipelines.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cycles {
    /// The estimate as `hx layout why` prints it.
    pub(crate) text: String,
    pub(crate) block: f64,
    pub(crate) loops: Vec<LoopCycles>,
    pub(crate) roles: Vec<RoleCycles>,
}

/// The estimate of one iteration of a loop that uses pipelines, in cycles: those of the iteration, those in which the busiest
/// resource has nothing to do (`exposed`), and those of each resource. `bound` is a sentence about what limits the loop.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoopCycles {
    pub(crate) pipes: Vec<String>,
    pub(crate) threads: String,
    pub(crate) cycles: f64,
    pub(crate) exposed: f64,
    pub(crate) bound: String,
    pub(crate) resources: BTreeMap<String, f64>,
}

/// The estimate of a warp group with a role: its cycles, those in which its threads execute instructions (`busy`), those of
/// each resource, and the registers of a thread, available and needed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleCycles {
    pub(crate) threads: String,
    pub(crate) cycles: f64,
    pub(crate) busy: f64,
    pub(crate) needed_registers: i64,
    pub(crate) registers: i64,
    pub(crate) resources: BTreeMap<String, f64>,
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
    /// Number of documents that are open in the client; `files` counts all known files of the user.
    pub(crate) open_documents: usize,
    pub(crate) files: usize,
    /// Number of kernels whose last good layouts are kept.
    pub(crate) kept_kernels: usize,
    pub(crate) projects: Vec<String>,
    /// The path of the CUDA compiler, or the reason why it is missing.
    pub(crate) nvrtc: String,
}

/// The argument of [`SHOW_INSTANCE`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceParams {
    pub(crate) text_document: TextDocumentIdentifier,
    pub(crate) kernel: String,
    /// Compile-time arguments as written, as in `{"BM": "128"}`; without any, the default instance is shown.
    pub(crate) args: Option<BTreeMap<String, String>>,
}
