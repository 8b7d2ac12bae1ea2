//! The integers that the text of a kernel can name, for one block of a launch, and compile-time arguments as the host writes them.

use std::collections::BTreeMap;

use hx_compile::{Db, Instance, tile_program};
use hx_hir::generic_symbol;
use hx_host::Value;
use hx_index::Symbol;
use hx_lower::CtValue;

/// Returns the integers of a launch with its grid, the compile-time arguments, and the index of a block.
pub fn integers<'db>(
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
    let args = tile_program(db, instance).as_ref().map(|lowered| &lowered.sources.args);
    for (name, value) in args.into_iter().flatten() {
        if let CtValue::Int(value) = value {
            values.insert(generic_symbol(name), *value);
        }
    }
    values
}

/// Returns a compile-time argument as the host writes it.
pub fn host_value(value: &CtValue) -> Value {
    match value {
        CtValue::Int(x) => Value::Int(*x),
        CtValue::Float(x) => Value::Float(x.value()),
        CtValue::Bool(x) => Value::Bool(*x),
        CtValue::DType(x) => Value::DType(*x),
        CtValue::Auto => Value::Auto,
        CtValue::Function(key) => Value::Function(key.clone()),
        CtValue::Layout(x) => Value::Layout(Box::new(hx_layout::expr::Value::Layout(x.clone().into()))),
        CtValue::Tuple(parts) => Value::Tuple(parts.iter().map(host_value).collect()),
    }
}
