//! The `tune` clause of a kernel: the values that `hx tune` tries for compile-time parameters.
//!
//! The clause has a store of its own, apart from the signature's. Nothing that compiles the kernel reads it, so an edit of the
//! clause lowers and solves nothing again.

use hx_syntax::ast;

use crate::{
    Db, Expr, ExprId, ExprStore, Kernel, Path, SourceMap,
    collect::{Collector, node_range},
};

/// The clause of a kernel; without axes if the kernel has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TuneClause {
    pub store: ExprStore,
    pub axes: Vec<TuneAxis>,
}

/// A compile-time parameter and its values, `BM in [64, 128]` or `BN in 64..=256 step 8`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TuneAxis {
    /// The name of the parameter, an [`Expr::Path`].
    pub param: ExprId,
    pub values: TuneValues,
    /// The expression of the values, to which diagnostics point.
    pub at: ExprId,
    pub step: Option<ExprId>,
}

/// The values of an axis as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TuneValues {
    List(Vec<ExprId>),
    /// `start..end`, or `start..=end` if it includes its end.
    Range {
        start: Option<ExprId>,
        end: Option<ExprId>,
        inclusive: bool,
    },
    /// Neither a list nor a range.
    Other,
}

#[salsa::tracked]
fn lowered_tune<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Option<(TuneClause, SourceMap)> {
    let clause = kernel.syntax(db)?.tune_clause()?;
    let mut c = Collector::default();
    let axes = clause.axes().map(|axis| c.tune_axis(&axis)).collect();
    Some((TuneClause { store: c.store, axes }, c.map))
}

/// Returns the `tune` clause of a kernel.
#[salsa::tracked]
pub fn kernel_tune<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> TuneClause {
    lowered_tune(db, kernel).as_ref().map(|(clause, _)| clause.clone()).unwrap_or_default()
}

/// Returns the places of a kernel's `tune` clause, if it has one.
pub fn tune_source_map<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Option<&'db SourceMap> {
    lowered_tune(db, kernel).as_ref().map(|(_, map)| map)
}

impl Collector {
    fn tune_axis(&mut self, axis: &ast::TuneAxis) -> TuneAxis {
        let param = match axis.name_ref() {
            Some(name) => {
                let path = Path::from_name(name.text().trim());
                self.alloc(Expr::Path { path, generics: Vec::new() }, node_range(&name))
            }
            None => self.missing(),
        };
        let at = self.expr(axis.values());
        let values = match (&self.store[at], axis.values()) {
            (Expr::Array(elements), _) => TuneValues::List(elements.clone()),
            (Expr::Range { start, end }, Some(ast::Expr::RangeExpr(range))) => {
                TuneValues::Range { start: *start, end: *end, inclusive: range.eq_token().is_some() }
            }
            _ => TuneValues::Other,
        };
        let step = axis.tune_step().map(|step| self.expr(step.step()));
        TuneAxis { param, values, at, step }
    }
}
