//! Answers the questions of editors and of the prompt as plain data.
//!
//! Every function takes the database, a file and an offset or range in bytes, and returns structs of strings and offsets.
//! Texts may be half-typed: each answer is the best for that text. A write to the database cancels readers. Functions
//! here return that as a [`Cancelled`] error, so no caller has to catch it.
//!
//! Invariant: the crate knows no protocol, no terminal and no disk.
//!
//! Start at [`inlay_hints`] and [`hover`]. `names.rs` resolves names to definitions, `solved.rs` holds a kernel's
//! solution.

mod actions;
mod anchor;
mod callable;
mod calls;
mod cancel;
mod completion;
mod crashed;
mod docs;
mod emit;
mod file_rename;
mod format;
mod fuzzy;
mod hints;
mod hover;
mod kernel;
mod last_good;
mod layout;
mod lenses;
mod links;
mod meaning;
mod names;
mod navigate;
mod node;
mod refactor;
mod roles;
mod semantic_tokens;
mod shown;
mod shown_costs;
mod solved;
mod structure;
mod symbols;
#[cfg(test)]
mod tests;
mod tree;

pub use actions::{Action, ActionConfig, actions};
pub use callable::{SignatureHelp, signature_help};
pub use calls::{Call, CallItem, incoming_calls, outgoing_calls, prepare_calls};
pub use cancel::{Cancellable, Cancelled, catch};
pub use completion::{Completion, CompletionKind, completion_docs, completions};
pub use crashed::{diagnostics_around_panics, panic_text};
pub use docs::{docs as item_docs, file_docs};
pub use emit::{CudaText, StageText, Wanted, cuda, cuda_texts, emit};
pub use file_rename::{MovedFile, moved_files};
pub use format::{TextChange, format, format_on_type};
pub use hints::{HintKind, HintPart, InlayHint, inlay_hints};
pub use hover::{DrawingStyle, Hover, explain_name, hover};
pub use hx_base::{Applicability, Diagnostic, Edit, FileKind, Fix, Label, Severity, SourceFile};
pub use hx_compile::{Emit, Registers, Resources};
pub use hx_syntax::{TextRange, TextSize};
pub use kernel::instance;
pub use last_good::LastGood;
pub use layout::{Layouts, NamedDrawing, ReasonStep, TensorLayout, explain_layout, layouts};
pub use lenses::{Lens, LensAction, lenses};
pub use links::{Link, LinkTarget, links};
pub use navigate::{
    Access, Highlight, definition, highlights, prepare_rename, references, rename, type_definition,
};
pub use refactor::ActionKind;
pub use semantic_tokens::{Modifiers, SemanticToken, TokenType, semantic_tokens};
pub use shown::{Picked, Shown};
pub use shown_costs::{Costs, Cycles, LoopCycles, Reported, RoleCycles, costs};
pub use structure::{Fold, FoldKind, folds, selection};
pub use symbols::{FoundSymbol, Symbol, SymbolKind, document_symbols, workspace_symbols};
pub use tree::syntax_tree;

use hx_compile::Db;

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct FileRange {
    pub file: SourceFile,
    /// Byte offsets.
    pub range: TextRange,
}

/// Returns all diagnostics of a file, as `hx check` reports them.
///
/// # Errors
/// If a newer text is waiting.
pub fn diagnostics(db: &dyn Db, file: SourceFile, shown: &Shown) -> Cancellable<Vec<Diagnostic>> {
    catch(|| hx_compile::check_file(db, file, shown.target).clone())
}

/// Returns the diagnostics of a file that need no layouts: syntax, names and types. All of them are in [`diagnostics`], too.
///
/// # Errors
/// If a newer text is waiting.
pub fn front_diagnostics(db: &dyn Db, file: SourceFile) -> Cancellable<Vec<Diagnostic>> {
    catch(|| hx_compile::check_front(db, file))
}

/// Computes layouts of the kernels of a file, beside a call of [`diagnostics`] on another thread.
///
/// # Errors
/// If a newer text is waiting.
pub fn compile_kernels(db: &dyn Db, file: SourceFile, shown: &Shown) -> Cancellable<()> {
    catch(|| hx_compile::compile_kernels(db, file, shown.target))
}

/// Returns the number of kernels of a file.
///
/// # Errors
/// If a newer text is waiting.
pub fn kernel_count(db: &dyn Db, file: SourceFile) -> Cancellable<usize> {
    catch(|| hx_hir::file_items(db, file).kernels().count())
}
