//! The integers that the text of a kernel can name, for one block of a launch.

use std::collections::BTreeMap;

use hx_compile::{Db, Instance, tile_program};
use hx_hir::generic_symbol;
use hx_index::Symbol;
use hx_lower::CtValue;

/// Returns the integers of a launch with its grid, the compile-time arguments, and the index of a block.
pub(crate) fn integers<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    symbols: &BTreeMap<Symbol, i64>,
    grid: [u64; 3],
    block: Option<[u32; 3]>,
) -> BTreeMap<Symbol, i64> {
    let mut values = symbols.clone();
    values.extend((0..3).map(|axis| (Symbol::GridDim(axis), grid[usize::from(axis)] as i64)));
    if let Some(index) = block {
        values.extend((0..3).map(|axis| (Symbol::BlockIdx(axis), i64::from(index[usize::from(axis)]))));
    }
    let args = tile_program(db, instance).as_ref().map(|lowered| &lowered.args);
    for (name, value) in args.into_iter().flatten() {
        if let CtValue::Int(value) = value {
            values.insert(generic_symbol(name), *value);
        }
    }
    values
}
