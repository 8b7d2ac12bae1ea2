//! What every incremental crate stands on: source files as inputs, parsing as a query, line numbers, diagnostics as
//! plain data, the registry of their codes, and the trait through which disk is reached.
//!
//! This crate knows no names, no types and no layouts, and it draws nothing. Start at [`Db`], [`SourceFile`] and
//! [`Diagnostic`]; a new code goes into its family in [`codes`].

mod code;
pub mod codes;
mod db;
mod diagnostic;
mod printable;
mod regular;
mod source;
mod spelling;
mod system;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub mod limits;

pub use ::line_index::{LineCol, LineIndex, WideEncoding, WideLineCol};
pub use code::{Code, all_codes, code, nearest_code};
pub use db::{Db, line_index, module_files, parse, resolve_module, syntax_diagnostics};
pub use diagnostic::{Applicability, Diagnostic, Edit, Fix, Label, Severity, sort_diagnostics};
pub use printable::{masked, printable};
pub use regular::{open_regular_file, read_regular_file};
pub use source::{FileKind, Scope, SourceFile, Workspace};
pub use spelling::nearest;
pub use system::{DirEntry, System, SystemError};
pub use text_size::{TextRange, TextSize};
