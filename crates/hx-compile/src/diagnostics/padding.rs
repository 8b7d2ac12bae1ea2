//! Finds reductions that read padding: a tile reaches beyond the end of a tensor, holds 0 there, and 0 changes the result.
//!
//! Only what certainly reads padding is told. The zeros are followed through loads, copies, casts and moves; arithmetic and
//! `where` end the trace, because they may have replaced them. A dimension that the facts prove to be long enough, or whose
//! coordinate only data or assignments know, has no padding here.

use std::collections::{BTreeMap, BTreeSet};

use hx_base::{Diagnostic, codes};
use hx_dtype::{DType, Operator};
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_lower::Lowered;
use hx_tile::{Base, Op, OpId, OpKind, Stmt, TensorId, TileProgram, View};

use super::Places;

/// The padding of a tensor along one of its axes: the operation that loaded it, and the dimension that may end inside the tile.
#[derive(Clone, Copy, PartialEq)]
struct Padded {
    load: OpId,
    param: hx_tile::ParamId,
    dim: usize,
}

/// For each tensor and axis, the padding that the tensor may hold along the axis.
type Padding = BTreeMap<(TensorId, usize), Padded>;

/// Returns a diagnostic for each reduction that reads zeros of padding which change its result.
pub(super) fn reductions(places: &Places<'_>, lowered: &Lowered) -> Vec<Diagnostic> {
    let program = &lowered.program;
    let mut walk = Walk {
        program,
        meant: &lowered.zeros_meant,
        facts: program.facts.clone(),
        unknown: BTreeSet::new(),
        padding: Padding::new(),
        found: Vec::new(),
    };
    unknown_symbols(&program.body, &mut walk.unknown);
    walk.body(&program.body);
    let diagnostic = |(op, operator, axis, padded): (&Op, Operator, usize, Padded)| {
        let (file, range) = places.op(lowered, op.id).unwrap_or_else(|| places.kernel());
        let OpKind::Reduce { src, .. } = op.kind else { return None };
        let tensor = program.tensor_param(padded.param)?;
        let extent = tensor.shape.get(padded.dim)?;
        let name = operator.name();
        let message = format!(
            "`{name}` along axis {axis} reads the zeros that fill the tile beyond the end of `{}`",
            tensor.name
        );
        let found = Diagnostic::new(&codes::PADDED_REDUCTION, file, range, message);
        let ends =
            format!("dimension {} of `{}`, `{extent}`, may end inside this tile", padded.dim, tensor.name);
        let found = match places.op(lowered, padded.load) {
            Some((file, range)) => found.also(file, range, ends),
            None => found.note(ends),
        };
        let neutral = neutral(operator, program.tensor(src).dtype);
        Some(found.help(format!(
            "{neutral} in the view of `{}` changes no result, and `where` replaces elements after the load; `pad: 0` says that zeros are meant",
            tensor.name
        )))
    };
    walk.found.into_iter().filter_map(diagnostic).collect()
}

/// Returns the padding that does not change a reduction, in words.
fn neutral(operator: Operator, dtype: DType) -> String {
    match operator {
        Operator::Mul => "`pad: 1`".to_owned(),
        Operator::Max if dtype.is_float() => "`pad: -inf`".to_owned(),
        Operator::Min if dtype.is_float() => "`pad: inf`".to_owned(),
        Operator::Max => format!("`pad:` with the least value of `{dtype}`"),
        _ => format!("`pad:` with the largest value of `{dtype}`"),
    }
}

/// Reports whether a zero among the elements can change the result of a reduction.
fn minds_zeros(operator: Operator, dtype: DType) -> bool {
    match operator {
        Operator::Mul | Operator::Min => true,
        Operator::Max => dtype.is_float() || dtype.is_signed(),
        _ => false,
    }
}

/// Collects the integers that data or assignments decide.
fn unknown_symbols(stmts: &[Stmt], out: &mut BTreeSet<Symbol>) {
    for stmt in stmts {
        match stmt {
            Stmt::Let { var, .. }
            | Stmt::Assign { var, .. }
            | Stmt::LoadScalar { var, .. }
            | Stmt::LetNumber { var, .. }
            | Stmt::AssignNumber { var, .. } => drop(out.insert(var.clone())),
            Stmt::Op(op) => {
                if let OpKind::ReadNumber { var, .. } = &op.kind {
                    out.insert(var.clone());
                }
            }
            Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } | Stmt::Roles(_) => {}
        }
        stmt.bodies().for_each(|body| unknown_symbols(body, out));
    }
}

struct Walk<'a> {
    program: &'a TileProgram,
    /// The parameters of which the source says that zeros are meant.
    meant: &'a BTreeSet<hx_tile::ParamId>,
    facts: Facts,
    unknown: BTreeSet<Symbol>,
    padding: Padding,
    found: Vec<(&'a Op, Operator, usize, Padded)>,
}

impl<'a> Walk<'a> {
    fn body(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Op(op) => self.op(op),
                Stmt::If { cond, then, otherwise } => {
                    let before = self.padding.clone();
                    self.under(cond, then);
                    let after = std::mem::replace(&mut self.padding, before);
                    self.body(otherwise);
                    // Only what both branches leave is certain.
                    self.padding.retain(|key, padded| after.get(key) == Some(&*padded));
                }
                Stmt::While { cond, body, .. } => self.under(cond, body),
                Stmt::For { .. }
                | Stmt::Roles(_)
                | Stmt::Let { .. }
                | Stmt::Assign { .. }
                | Stmt::LoadScalar { .. }
                | Stmt::LetNumber { .. }
                | Stmt::AssignNumber { .. } => stmt.bodies().for_each(|body| self.body(body)),
            }
        }
    }

    /// Walks statements that run only under a condition.
    fn under(&mut self, cond: &Cond, stmts: &'a [Stmt]) {
        let stated = self.facts.holds(cond);
        self.body(stmts);
        self.facts.forget(&stated);
    }

    fn op(&mut self, op: &'a Op) {
        if let OpKind::Reduce { src, axis, operator, .. } = op.kind
            && minds_zeros(operator, self.program.tensor(src).dtype)
            && let Some(&padded) = self.padding.get(&(src, axis))
        {
            self.found.push((op, operator, axis, padded));
        }
        let moved = self.moved(op);
        let written: BTreeSet<TensorId> = op
            .kind
            .effects()
            .accesses
            .iter()
            .filter(|access| access.mode != hx_tile::Mode::Read)
            .filter_map(|access| match access.base() {
                Base::Register(tensor) | Base::Shared(tensor) => Some(tensor),
                Base::Global(_) => None,
            })
            .collect();
        self.padding.retain(|(tensor, _), _| !written.contains(tensor));
        self.padding.extend(moved);
    }

    /// Returns the padding that an operation brings into the tensor that it writes.
    fn moved(&self, op: &Op) -> Padding {
        if let OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. } = &op.kind
            && let Base::Register(to) | Base::Shared(to) = dst.base
        {
            let axes = dst.modes.iter().enumerate();
            return axes.filter_map(|(i, mode)| Some(((to, mode.dim), self.mode(op.id, src, i)?))).collect();
        }
        if let OpKind::Cast { dst, src } | OpKind::Rearrange { dst, src, .. } = &op.kind {
            // Another shape has other axes.
            let [to, from] = [dst, src].map(|tensor| &self.program.tensor(*tensor).shape);
            if to != from {
                return Padding::new();
            }
            let own = self.padding.iter().filter(|((tensor, _), _)| tensor == src);
            return own.map(|(&(_, axis), &padded)| ((*dst, axis), padded)).collect();
        }
        Padding::new()
    }

    /// Returns the padding along mode `i` of a view.
    fn mode(&self, load: OpId, view: &View, i: usize) -> Option<Padded> {
        let mode = view.modes.get(i)?;
        match view.base {
            Base::Shared(from) | Base::Register(from) => {
                let whole = self.program.tensor(from).shape.get(mode.dim) == Some(&mode.extent);
                self.padding.get(&(from, mode.dim)).copied().filter(|_| whole)
            }
            Base::Global(param) => {
                let dim = mode.dim;
                let told = view.pad != 0.0 || self.meant.contains(&param);
                if told || mode.extent == 1 || view.is_picked(dim) {
                    return None;
                }
                let first = view.offsets.get(dim)?.clone();
                let own = view.modes.iter().filter(|mode| mode.dim == dim);
                let last = own.fold(first.clone(), |last, mode| {
                    last + mode.factor.clone() * Expr::constant(mode.extent - 1)
                });
                let extent = self.program.tensor_param(param)?.shape.get(dim)?.clone();
                // A tile that divides the dimension lies inside as a whole, or outside as a whole if the launch has a tile too
                // many: no reduction reads both elements and zeros.
                let span =
                    (last.clone() - first.clone()).as_const().map(|steps| steps + 1).filter(|span| *span > 0);
                if span
                    .is_some_and(|span| self.facts.divides(span, &first) && self.facts.divides(span, &extent))
                {
                    return None;
                }
                let unknown = last.symbols().iter().any(|symbol| self.unknown.contains(symbol));
                let inside = Cond::cmp(CmpOp::Lt, last, extent, &self.facts);
                (!unknown && inside != Cond::True).then_some(Padded { load, param, dim })
            }
        }
    }
}
