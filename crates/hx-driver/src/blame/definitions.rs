//! Finds the statements of a kernel that define the names in some expressions, nearest first, and the values of integers in one
//! block.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hx_base::{Label, TextRange};
use hx_compile::tile_program;
use hx_hir::{
    Body, Builtin, Expr, ExprId, Inference, Item, KernelFn, Names, Pat, PatId, Resolution, StmtKind, Ty,
    body_names, body_of, body_source_map, infer_body,
};
use hx_index::Symbol;
use hx_lower::ItemPart;
use hx_tile::Origin;
use hx_workspace::Database;

use hx_launch::{Seen, integers};

/// The maximal number of definitions.
const MOST: usize = 12;

/// Labels the definitions of the names in the places of some operations. `block` is the block whose values are shown.
pub(super) fn definitions(
    db: &Database,
    seen: &Seen<'_>,
    origins: impl IntoIterator<Item = Origin>,
    block: Option<u32>,
) -> Vec<Label> {
    let kernel = seen.instance.kernel(db);
    let item = Item::Kernel(kernel);
    let Some(map) = body_source_map(db, item) else { return Vec::new() };
    let (body, names) = (body_of(db, item), body_names(db, item));
    let index = block.map(|block| seen.witness.block_index(block));
    let search = Search {
        body,
        names,
        types: infer_body(db, item),
        values: integers(db, seen.instance, &seen.symbols, seen.witness.grid, index),
        sources: sources(body, names),
    };
    let seeds = origins.into_iter().filter_map(|origin| in_kernel(db, seen, origin));
    let found = search.found(seeds.collect());
    let label = |(expr, message): (ExprId, String)| {
        let range: TextRange = map.expr(expr)? + kernel.offset(db);
        Some(Label { file: kernel.file(db), range, message })
    };
    found.into_iter().filter_map(label).collect()
}

/// Returns the expression of the kernel's body that an operation comes from: the call, if it comes from a function. `None` if
/// it has no place in the body.
fn in_kernel(db: &Database, seen: &Seen<'_>, origin: Origin) -> Option<ExprId> {
    let origins = &tile_program(db, seen.instance).as_ref().ok()?.sources.origins;
    let mut origin = origins.get(origin.0 as usize)?;
    while let Some(call) = origin.call {
        origin = origins.get(call.0 as usize)?;
    }
    match origin.place.part {
        ItemPart::Body(expr) => Some(expr),
        _ => None,
    }
}

/// A statement that gives a value to names.
#[derive(Clone, Copy)]
struct Source {
    pat: PatId,
    value: ExprId,
    /// Whether the statement is a `for`, whose names take the elements of the value in turn.
    runs: bool,
}

/// Returns the definitions and assignments of each local, except for the declarations of tensors, which give no values.
fn sources(body: &Body, names: &Names) -> BTreeMap<PatId, Vec<Source>> {
    let mut out: BTreeMap<PatId, Vec<Source>> = BTreeMap::new();
    for stmt in body.store.stmts.values() {
        let (pat, value, runs) = match &stmt.kind {
            StmtKind::Let { pat, value, .. } if !declares(body, names, *value) => (*pat, *value, false),
            StmtKind::For { pat, iterable, .. } => (*pat, *iterable, true),
            StmtKind::Assign { place, value, .. } => match names.exprs.get(*place) {
                Some(Resolution::Local(pat)) => (*pat, *value, false),
                _ => continue,
            },
            _ => continue,
        };
        for name in bound(body, pat) {
            out.entry(name).or_default().push(Source { pat, value, runs });
        }
    }
    out
}

/// Reports whether an expression declares a tensor: `register_tensor(f32, [BM, BN])`.
fn declares(body: &Body, names: &Names, value: ExprId) -> bool {
    let Expr::Call { callee, .. } = &body.store[value] else { return false };
    let declaring = [KernelFn::RegisterTensor, KernelFn::SharedTensor].map(Builtin::Kernel);
    matches!(names.exprs.get(*callee), Some(Resolution::Builtin(builtin)) if declaring.contains(builtin))
}

/// Returns the names that a pattern binds.
fn bound(body: &Body, pat: PatId) -> Vec<PatId> {
    match &body.store[pat] {
        Pat::Bind(_) => vec![pat],
        Pat::Tuple(parts) | Pat::Array(parts) => parts.iter().flat_map(|part| bound(body, *part)).collect(),
        Pat::Missing | Pat::Wildcard => Vec::new(),
    }
}

struct Search<'a> {
    body: &'a Body,
    names: &'a Names,
    types: &'a Inference,
    values: BTreeMap<Symbol, i64>,
    sources: BTreeMap<PatId, Vec<Source>>,
}

impl Search<'_> {
    /// Returns the values of the definitions that the seeds reach, with the text of each.
    fn found(&self, seeds: Vec<ExprId>) -> Vec<(ExprId, String)> {
        let mut open: VecDeque<ExprId> = seeds.into();
        let (mut seen, mut out) = (BTreeSet::new(), Vec::new());
        while let Some(expr) = open.pop_front() {
            let mut locals = Vec::new();
            self.locals(expr, &mut locals);
            for source in locals.iter().flat_map(|local| self.sources.get(local)).flatten() {
                if out.len() < MOST && seen.insert(source.value) {
                    out.push((source.value, self.text(*source)));
                    open.push_back(source.value);
                }
            }
        }
        out
    }

    /// Appends the locals that an expression names.
    fn locals(&self, expr: ExprId, out: &mut Vec<PatId>) {
        if let Some(Resolution::Local(pat)) = self.names.exprs.get(expr) {
            out.push(*pat);
        }
        self.body.store.for_each_child(expr, &mut |child| self.locals(child, out));
    }

    /// Formats a definition: `bm = 0, bn = 1`, `ki in 0..3`, `gives ga`.
    fn text(&self, source: Source) -> String {
        let names = bound(self.body, source.pat);
        let name = |pat: PatId| match &self.body.store[pat] {
            Pat::Bind(name) => name.to_string(),
            _ => String::new(),
        };
        if source.runs {
            let range = self.types.exprs.get(source.value).and_then(|ty| self.range(ty));
            let all = names.into_iter().map(name).collect::<Vec<_>>().join(", ");
            return range.map_or_else(|| format!("`{all}` runs here"), |range| format!("`{all}` in {range}"));
        }
        let numbers = names.iter().filter_map(|pat| {
            let value = self.integer(self.types.pats.get(*pat)?)?;
            Some(format!("`{}` = {value}", name(*pat)))
        });
        let numbers = numbers.collect::<Vec<_>>();
        if !numbers.is_empty() {
            return numbers.join(", ");
        }
        let names: Vec<String> = names.into_iter().map(|pat| format!("`{}`", name(pat))).collect();
        format!("gives {}", names.join(", "))
    }

    fn range(&self, ty: &Ty) -> Option<String> {
        let Ty::Range { start, end } = ty else { return None };
        let start = start.as_ref().map_or(Some(0), |ty| self.integer(ty))?;
        Some(format!("{start}..{}", self.integer(end.as_ref()?)?))
    }

    fn integer(&self, ty: &Ty) -> Option<i64> {
        let Ty::Int(Some(value)) = ty else { return None };
        value.eval(&|symbol| self.values.get(symbol).copied()).ok()
    }
}
