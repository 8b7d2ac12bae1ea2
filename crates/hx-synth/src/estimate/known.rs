//! The facts about a launch that its program does not contain: values of symbols, and integers in its tensors.

use std::collections::BTreeMap;

use hx_index::{Cond, Expr, Symbol};
use hx_tile::{Base, ParamId, TileProgram, View};

/// Reads an integer of a parameter's tensor at a coordinate. `None` if the reader has no such tensor.
pub type Read<'a> = dyn Fn(ParamId, &[i64]) -> Option<i64> + 'a;

/// Facts about a launch, by which the estimate counts rounds, blocks and branches.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Dimensions, strides and integer arguments.
    pub symbols: &'a BTreeMap<Symbol, i64>,
    /// Reads integers in the tensors of the launch, such as lengths and page tables.
    pub read: &'a Read<'a>,
}

impl std::fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("symbols", self.symbols).finish_non_exhaustive()
    }
}

impl<'a> Known<'a> {
    /// Knows these symbols, and no tensor.
    pub fn symbols(symbols: &'a BTreeMap<Symbol, i64>) -> Known<'a> {
        Known { symbols, read: &nothing }
    }
}

/// Reads nothing.
pub(super) fn nothing(_: ParamId, _: &[i64]) -> Option<i64> {
    None
}

/// The values of symbols, as far as they are known.
pub(super) type Values = BTreeMap<Symbol, i64>;

/// Returns the value of an expression; `None` if it depends on an unknown symbol.
pub(super) fn value(values: &Values, expr: &Expr) -> Option<i64> {
    expr.eval(&|symbol| values.get(symbol).copied()).ok()
}

/// Returns the number of blocks of a launch; `None` if it is unknown, or too large for an integer.
pub(super) fn blocks(values: &Values, program: &TileProgram) -> Option<i64> {
    let mut axes = (0..program.grid.len()).map(|axis| values.get(&Symbol::GridDim(axis as u8)));
    axes.try_fold(1_i64, |blocks, extent| blocks.checked_mul(*extent?))
}

/// Reports whether a condition holds; `None` if that depends on an unknown symbol.
pub(super) fn holds(values: &Values, cond: &Cond) -> Option<bool> {
    cond.eval(&|symbol| values.get(symbol).copied()).ok()
}

/// Returns the integer that a view without modes shows. `None` if its place is unknown, or the reader has no tensor there.
pub(super) fn loaded(values: &Values, read: &Read<'_>, view: &View) -> Option<i64> {
    let Base::Global(param) = view.base else { return None };
    if view.picked.is_some() {
        return None;
    }
    let at: Option<Vec<i64>> =
        (0..view.offsets.len()).map(|d| value(values, &view.coordinate(d, &[]))).collect();
    read(param, &at?)
}
