//! The base of every incremental crate: source files as inputs, parsing as a query, line numbers, diagnostics as plain
//! data, the registry of their codes, and the trait for access to the disk.
//!
//! Invariant: the crate knows no name, no type and no layout, and it draws nothing. Text enters as an input; no query
//! reads the disk.
//!
//! Start at [`Db`], [`SourceFile`] and [`Diagnostic`]. A new code goes into its family in [`codes`].

#![allow(
    rustdoc::invalid_codeblock_attributes,
    reason = "the page of a code names the error that an example has, as in `hx,fails=HX0421`"
)]

mod code;
pub mod codes;
mod cores;
mod db;
mod diagnostic;
mod divided;
mod fnv;
mod last_parse;
mod printable;
mod regular;
mod replace;
mod source;
mod spelling;
mod system;

pub mod interrupt;
pub mod limits;
pub mod testing;

pub use ::line_index::{LineCol, LineIndex, WideEncoding, WideLineCol};
pub use code::{Code, Status, all_codes, code, nearest_code};
pub use cores::on_all_cores;
pub use db::{Db, has_syntax_errors, line_index, module_files, parse, resolve_module, syntax_diagnostics};
pub use diagnostic::{Applicability, Diagnostic, Edit, Fix, Label, Severity, sort_diagnostics};
pub use fnv::fnv;
pub use printable::{masked, printable};
pub use regular::{open_regular_file, read_regular_file};
pub use replace::{replace_file, replace_files};
pub use source::{FileKind, Scope, SourceFile, Workspace};
pub use spelling::nearest;
pub use system::{DirEntry, System, SystemError};
pub use text_size::{TextRange, TextSize};
