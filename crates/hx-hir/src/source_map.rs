//! The ranges of the parts of a store, relative to the start of their item.
//!
//! Relative ranges let an item that only moves keep its map. [`Item::offset`](crate::Item::offset) makes them absolute.

use la_arena::ArenaMap;
use text_size::TextRange;

use crate::{ExprId, PatId, StmtId, TypeRefId};

/// The ranges of the contents of an [`ExprStore`](crate::ExprStore).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceMap {
    pub exprs: ArenaMap<ExprId, TextRange>,
    pub stmts: ArenaMap<StmtId, TextRange>,
    pub pats: ArenaMap<PatId, TextRange>,
    pub types: ArenaMap<TypeRefId, TextRange>,
    /// The names within an expression: the labels of the arguments of a call or path (the whole argument if it has no label),
    /// or the name of a field or method.
    pub labels: ArenaMap<ExprId, Vec<TextRange>>,
    /// The names of the attributes of a statement.
    pub attrs: ArenaMap<StmtId, Vec<TextRange>>,
}

impl SourceMap {
    /// Returns the range of an expression; `None` if the text lacks it.
    pub fn expr(&self, id: ExprId) -> Option<TextRange> {
        self.exprs.get(id).copied()
    }

    /// Returns the range of a pattern; `None` if the text lacks it.
    pub fn pat(&self, id: PatId) -> Option<TextRange> {
        self.pats.get(id).copied()
    }

    /// Returns the range of a statement; `None` if the text lacks it.
    pub fn stmt(&self, id: StmtId) -> Option<TextRange> {
        self.stmts.get(id).copied()
    }

    /// Returns the range of a written type; `None` if the text lacks it.
    pub fn type_ref(&self, id: TypeRefId) -> Option<TextRange> {
        self.types.get(id).copied()
    }

    /// Returns attribute `index` of a statement. `None` if it has fewer.
    pub fn attr(&self, id: StmtId, index: usize) -> Option<TextRange> {
        self.attrs.get(id)?.get(index).copied()
    }

    /// Returns the label of argument `index` of a call or path, or the name of a field or method (`index` 0). `None` if the
    /// expression has no such name.
    pub fn label(&self, id: ExprId, index: usize) -> Option<TextRange> {
        self.labels.get(id)?.get(index).copied()
    }
}

/// The places of a signature.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SignatureSourceMap {
    pub map: SourceMap,
    /// The name of the item.
    pub name: Option<TextRange>,
    /// The names of the compile-time parameters.
    pub generics: Vec<TextRange>,
    /// The names of the parameters.
    pub params: Vec<TextRange>,
    /// The string of `#[ptx("…")]`; `None` without one.
    pub ptx: Option<TextRange>,
    /// From the keyword to the body.
    pub header: TextRange,
}
