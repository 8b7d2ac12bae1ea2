//! The integers that the text names at one moment.

use std::collections::BTreeMap;

use hx_base::{TextRange, TextSize};
use hx_hir::{Expr, Item, Pat, PatId, StmtKind, Ty, body_of, body_source_map, generic_symbol, infer_body};
use hx_index::Symbol;
use hx_launch::integers;

use super::Stepper;

/// A name that is in scope at the operation in focus.
struct Bound {
    name: String,
    pat: PatId,
    /// The place of the binding in its item. Of two bindings with one name, the later one is the inner one.
    at: TextSize,
}

impl Stepper<'_> {
    /// Returns the integers that the text around the operation in focus names and that have a value, then the index of the block, the
    /// compile-time arguments and the integers of the launch.
    pub fn integers(&self) -> Vec<(String, i64)> {
        let focus = self.focus();
        let mut running: BTreeMap<String, i64> = BTreeMap::new();
        for (symbol, value) in self.playback.integers(focus.id) {
            if let Symbol::Var(name, _) = symbol {
                running.insert(name.to_string(), value);
            }
        }
        let (symbols, grid) = (self.prepared.symbols(), self.prepared.grid_shape());
        let values = integers(self.db, self.instance, symbols, grid, Some(focus.block));
        let lookup = |symbol: &Symbol| match symbol {
            Symbol::Var(name, _) => running.get(name.as_str()).copied(),
            other => values.get(other).copied(),
        };
        // Lowering counts loops of its own. Only names that the text binds are shown.
        let mut out: Vec<(String, i64)> = Vec::new();
        for (item, at) in self.items() {
            let types = infer_body(self.db, item);
            for Bound { name, pat, .. } in self.bound(item, at) {
                let computed = match types.pats.get(pat) {
                    Some(Ty::Int(Some(value))) => value.eval(&lookup).ok(),
                    _ => None,
                };
                let value = computed.or_else(|| running.get(&name).copied());
                if let Some(value) = value.filter(|_| out.iter().all(|(other, _)| *other != name)) {
                    out.push((name, value));
                }
            }
        }
        let axes = self.tile.grid.len().max(1);
        for (axis, index) in focus.block.iter().take(axes).enumerate() {
            let name = if axes == 1 { "block_idx".to_owned() } else { format!("block_idx[{axis}]") };
            out.push((name, i64::from(*index)));
        }
        let arguments = self.arguments.keys().map(|name| (name, generic_symbol(name)));
        let arguments =
            arguments.filter_map(|(name, symbol)| Some((name.to_string(), *values.get(&symbol)?)));
        out.extend(arguments);
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

    /// Returns the function in focus and the kernel, each with the place in its text where the operation is.
    fn items(&self) -> Vec<(Item<'_>, TextRange)> {
        let Some(spot) = self.spot() else { return Vec::new() };
        let frames = [spot.frames.first(), spot.frames.last().filter(|_| spot.frames.len() > 1)];
        let place = |frame: &super::StepFrame| {
            let item = frame.item.find(self.db)?;
            Some((item, frame.range - item.offset(self.db)))
        };
        frames.into_iter().flatten().filter_map(place).collect()
    }

    /// Returns the names that are in scope at a place of an item, the inner ones first, then in the order of the text.
    fn bound(&self, item: Item<'_>, place: TextRange) -> Vec<Bound> {
        let (body, Some(map)) = (body_of(self.db, item), body_source_map(self.db, item)) else {
            return Vec::new();
        };
        let contains = |scope: Option<TextRange>| scope.is_some_and(|scope| scope.contains_range(place));
        let mut found: Vec<Bound> = Vec::new();
        let mut add = |pat: PatId, most: TextSize| {
            let mut open = vec![pat];
            while let Some(pat) = open.pop() {
                match &body.store[pat] {
                    Pat::Bind(name) => {
                        let Some(range) = map.pat(pat).filter(|range| range.start() <= most) else {
                            continue;
                        };
                        let (name, at) = (name.to_string(), range.start());
                        // An inner binding hides an outer one.
                        match found.iter_mut().find(|other| other.name == name) {
                            Some(other) if other.at < at => *other = Bound { name, pat, at },
                            Some(_) => {}
                            None => found.push(Bound { name, pat, at }),
                        }
                    }
                    Pat::Tuple(parts) | Pat::Array(parts) => open.extend(parts),
                    Pat::Missing | Pat::Wildcard => {}
                }
            }
        };
        for (id, expr) in body.store.exprs.iter() {
            let Expr::Block(block) = expr else { continue };
            let is_around = id == body.root || contains(map.expr(id));
            for stmt in block.stmts.iter().filter(|_| is_around) {
                match &body.store[*stmt].kind {
                    StmtKind::Let { pat, .. } => add(*pat, place.start()),
                    StmtKind::For { pat, body: inner, .. } if contains(map.expr(*inner)) => {
                        add(*pat, place.start())
                    }
                    _ => {}
                }
            }
        }
        found.sort_by_key(|bound| bound.at);
        found
    }
}
