//! The integers that the text names at one moment.

use std::collections::{BTreeMap, BTreeSet};

use hx_hir::{Item, Pat, Ty, body_of, infer_body};
use hx_index::Symbol;

use super::Stepper;
use crate::launch::integers;

impl Stepper<'_> {
    /// Returns the integers that the text around the operation in focus names and that have a value, then the index of the block and the
    /// integers of the launch.
    pub fn integers(&self) -> Vec<(String, i64)> {
        let focus = self.focus();
        let mut running: BTreeMap<String, i64> = BTreeMap::new();
        for (symbol, value) in self.playback.integers(focus.id) {
            if let Symbol::Var(name, _) = symbol {
                running.insert(name.to_string(), value);
            }
        }
        let (symbols, grid) = (self.prepared.symbols(), self.prepared.grid());
        let values = integers(self.db, self.instance, symbols, grid, Some(focus.block));
        let lookup = |symbol: &Symbol| match symbol {
            Symbol::Var(name, _) => running.get(name.as_str()).copied(),
            other => values.get(other).copied(),
        };
        // Lowering counts loops of its own. Only names that the text binds are shown.
        let (mut out, mut seen) = (Vec::new(), BTreeSet::new());
        for item in self.items() {
            let (body, types) = (body_of(self.db, item), infer_body(self.db, item));
            for (pat, bound) in body.store.pats.iter() {
                let Pat::Bind(name) = bound else { continue };
                let computed = match types.pats.get(pat) {
                    Some(Ty::Int(Some(value))) => value.eval(&lookup).ok(),
                    _ => None,
                };
                let value = running.get(name.as_str()).copied().or(computed);
                if let Some(value) = value.filter(|_| seen.insert(name.to_string())) {
                    out.push((name.to_string(), value));
                }
            }
        }
        let axes = self.tile.grid.len().max(1);
        for (axis, index) in focus.block.iter().take(axes).enumerate() {
            let name = if axes == 1 { "block_idx".to_owned() } else { format!("block_idx[{axis}]") };
            out.push((name, i64::from(*index)));
        }
        // Every launch binds the number of multiprocessors, though few kernels name it.
        let is_named = |symbol: &Symbol| match symbol {
            Symbol::GridDim(_) => false,
            Symbol::Multiprocessors => self.program.symbols.contains(symbol),
            _ => true,
        };
        let of_launch = symbols.iter().filter(|(symbol, _)| is_named(symbol));
        out.extend(of_launch.map(|(symbol, value)| (symbol.to_string(), *value)));
        out
    }

    /// Returns the function in focus and the kernel, each once.
    fn items(&self) -> Vec<Item<'_>> {
        let kernel = Item::Kernel(self.instance.kernel(self.db));
        let here = self.spot().and_then(|spot| spot.here().item.find(self.db));
        match here.filter(|item| *item != kernel) {
            Some(function) => vec![function, kernel],
            None => vec![kernel],
        }
    }
}
