//! The edits that keep padding out of a result. Each is made on the tile program first, and offered only if the analysis then finds
//! nothing there and nothing new.

use std::collections::BTreeSet;
use std::sync::Arc;

use hx_base::{Applicability, Edit, Fix, SourceFile};
use hx_dtype::{DType, Operator};
use hx_index::{Atom, Expr, Symbol};
use hx_lower::{Lowered, Place};
use hx_syntax::ast::{self, AstNode};
use hx_tile::{Constant, Control, Leaf, Map, OpId, OpKind, Scalar, Stmt, TensorId, TileProgram};

use super::super::{Places, calls};
use crate::padding::{Mixture, PaddingConsumer, along, axis_of, follow, literal};

/// Returns the edit that keeps padding out of a result: `pad:` of the view, else a mask of the operand; `None` if neither
/// helps.
pub(super) fn fix(places: &Places<'_>, lowered: &Lowered, all: &[Mixture], mixture: &Mixture) -> Option<Fix> {
    padded(places, lowered, all, mixture).or_else(|| masked(places, lowered, all, mixture))
}

/// Returns the values that may be neutral, the likeliest first.
fn values(mixture: &Mixture, dtype: DType) -> Vec<f64> {
    let (least, most) = match dtype.is_float() {
        true => (f64::NEG_INFINITY, f64::INFINITY),
        false => (dtype.min_value(), dtype.max_value()),
    };
    let first = match mixture.consumer {
        PaddingConsumer::Reduce { operator, .. } | PaddingConsumer::Elements(operator) => match operator {
            Operator::Max => least,
            Operator::Min => most,
            Operator::Mul => 1.0,
            _ => 0.0,
        },
        PaddingConsumer::Scan { .. } | PaddingConsumer::Rounds => least,
        PaddingConsumer::Index => -1.0,
        PaddingConsumer::Product | PaddingConsumer::Atomic(_) | PaddingConsumer::Cluster => 0.0,
    };
    let mut all = vec![first];
    for value in [0.0, least, most, 1.0] {
        // An `f64` does not hold the ends of 64-bit integers exactly.
        let is_literal = dtype.is_float() || value.abs() < 9e15;
        if !all.contains(&value) && dtype.holds(value) && is_literal {
            all.push(value);
        }
    }
    all.retain(|value| dtype.holds(*value));
    all
}

/// Reports whether the changed program has no mixture but those in `all`, and lacks the mixture `without`.
fn is_better(changed: &Lowered, all: &[Mixture], without: &Mixture) -> bool {
    let key = |mixture: &Mixture| (mixture.op, mixture.consumer, mixture.edge);
    let before: BTreeSet<_> = all.iter().map(key).collect();
    let after = follow(changed);
    let is_better = |found| found != key(without) && before.contains(&found);
    after.is_whole && after.mixtures.iter().map(key).all(is_better)
}

/// Returns the edit that gives the view of the padding another `pad:`; `None` if none helps, or the kernel itself does not make
/// the view.
fn padded(places: &Places<'_>, lowered: &Lowered, all: &[Mixture], mixture: &Mixture) -> Option<Fix> {
    let edge = mixture.edge;
    let program = &lowered.program;
    let view_call = lowered.sources.view_call(program.op(edge.load)?.origin, edge.param)?;
    let (file, call) = own(places, &view_call.call)?;
    let param = program.tensor_param(edge.param)?;
    for value in values(mixture, param.dtype) {
        let Some(changed) = with_pad(lowered, &view_call.call, value) else { continue };
        if !is_better(&changed, all, mixture) {
            continue;
        }
        let text = literal(param.dtype, param.dtype.encode(value));
        let edit = match &view_call.pad {
            Some(pad) => Edit { file, range: own(places, pad)?.1, text: text.clone() },
            None => {
                let last = calls::call_at(places, (file, call))?.arg_list()?.args().last()?;
                let end = last.syntax().text_range().end();
                Edit { file, range: hx_base::TextRange::empty(end), text: format!(", pad: {text}") }
            }
        };
        let title = format!("let the view of `{}` have the padding {text}", param.name);
        return Some(Fix { title, edits: vec![edit], applicability: Applicability::Verified });
    }
    None
}

/// Returns the place of an expression of the kernel itself; `None` if it is in a function that the kernel calls.
fn own(places: &Places<'_>, place: &Place) -> Option<(SourceFile, hx_base::TextRange)> {
    if place.item != places.instance.kernel(places.db).key(places.db) {
        return None;
    }
    place.range(places.db)
}

/// Returns the program with another `pad:` of the views that a call made. `None` if an asynchronous copy reads one of them and
/// `value` is not 0: such copies fill with zeros.
fn with_pad(lowered: &Lowered, call: &Place, value: f64) -> Option<Lowered> {
    let mut changed = lowered.clone();
    let mut views = Vec::new();
    for (origin, calls) in &mut Arc::make_mut(&mut changed.sources).view_calls {
        for (param, view_call) in calls.iter_mut().filter(|(_, view_call)| view_call.call == *call) {
            view_call.pad = Some(call.clone());
            views.push((*origin, *param));
        }
    }
    let mut is_possible = true;
    each_op(&mut Arc::make_mut(&mut changed.program).body, &mut |op| {
        let origin = op.origin;
        let is_asynchronous = matches!(op.kind, OpKind::CopyAsync { .. });
        if let OpKind::Copy { src, .. } | OpKind::CopyAsync { src, .. } = &mut op.kind
            && let hx_tile::Base::Global(param) = src.base
            && views.contains(&(origin, param))
        {
            src.pad = Constant::new(value);
            is_possible &= !is_asynchronous || src.pad == Constant::ZERO;
        }
    });
    is_possible.then_some(changed)
}

fn each_op(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut hx_tile::Op)) {
    for stmt in stmts {
        if let Stmt::Leaf(Leaf::Op(op)) = stmt {
            f(op);
        }
        for body in stmt.bodies_mut() {
            each_op(body, f);
        }
    }
}

/// Returns the edit that masks the operand of a reduction or a scan; `None` if no mask helps or can be written.
fn masked(places: &Places<'_>, lowered: &Lowered, all: &[Mixture], mixture: &Mixture) -> Option<Fix> {
    let (PaddingConsumer::Reduce { .. } | PaddingConsumer::Scan { .. }) = mixture.consumer else {
        return None;
    };
    let op = lowered.program.op(mixture.op)?;
    let range = places.own(lowered, op.origin)?;
    let file = places.kernel().0;
    let operand = calls::call_at(places, (file, range))?.arg_list()?.args().next()?.expr()?;
    let ast::Expr::PathExpr(name) = &operand else { return None };
    let (name, range) = (name.syntax().text().to_string(), name.syntax().text_range());
    let inside = Inside::of(places, lowered, mixture)?;
    let src = operand_of(&lowered.program, mixture.op)?;
    let dtype = lowered.program.tensor(src).dtype;
    for value in values(mixture, dtype) {
        let bits = dtype.encode(value);
        let changed = Lowered {
            program: Arc::new(inside.masked(&lowered.program, mixture.op, bits)?),
            ..lowered.clone()
        };
        if !is_better(&changed, all, mixture) {
            continue;
        }
        let text = format!("where({}, {name}, {})", inside.text(&name), literal(dtype, bits));
        let title = format!("replace the padding of `{name}` by {}", literal(dtype, bits));
        let edits = vec![Edit { file, range, text }];
        return Some(Fix { title, edits, applicability: Applicability::Verified });
    }
    None
}

/// Returns the tensor that a reduction or a scan reads; `None` for other operations.
fn operand_of(program: &TileProgram, op: OpId) -> Option<TensorId> {
    let kind = &program.op(op)?.kind;
    if let OpKind::Reduce { src, .. } = kind {
        Some(*src)
    } else if let OpKind::Scan { src, .. } = kind {
        src.first().copied()
    } else {
        None
    }
}

/// The condition that an element exists: `index(t, axis) · step + plus < below`, with names of the source.
struct Inside {
    axis: usize,
    step: i64,
    plus: Expr,
    below: Expr,
}

impl Inside {
    /// Returns the condition outside of the region of padding, if names of the source can say it where the operation stands;
    /// otherwise `None`.
    fn of(places: &Places<'_>, lowered: &Lowered, mixture: &Mixture) -> Option<Inside> {
        let [e] = &mixture.region.0[..] else { return None };
        let (PaddingConsumer::Reduce { axis, .. } | PaddingConsumer::Scan { axis }) = mixture.consumer else {
            return None;
        };
        let own = [Atom::Symbol(along(axis))];
        let (_, step) = e.terms().find(|(monomial, _)| **monomial == own)?;
        let rest = e.clone() - Expr::symbol(along(axis)).scale(step);
        if step < 1 || rest.symbols().iter().any(|s| axis_of(s).is_some()) {
            return None;
        }
        let (mut plus, mut below) = (Expr::default(), Expr::default());
        for (monomial, c) in rest.terms() {
            if monomial.iter().any(|atom| !is_named(places, lowered, mixture, atom)) {
                return None;
            }
            let factors = monomial.iter().map(|atom| Expr::atom(atom.clone()));
            let term = factors.fold(Expr::constant(c.abs()), |product, factor| &product * &factor);
            if c > 0 { plus = plus + term } else { below = below + term }
        }
        Some(Inside { axis, step, plus, below })
    }

    fn text(&self, name: &str) -> String {
        let index = format!("index({name}, {})", self.axis);
        let index = if self.step == 1 { index } else { format!("{index} * {}", self.step) };
        let plus = if self.plus.is_zero() { String::new() } else { format!(" + {}", source(&self.plus)) };
        format!("{index}{plus} < {}", source(&self.below))
    }

    /// Returns the program in which an operation reads its operand with these bits in the place of padding; `None` if it is no
    /// reduction and no scan.
    fn masked(&self, program: &TileProgram, op: OpId, bits: u64) -> Option<TileProgram> {
        let mut changed = program.clone();
        let src = operand_of(program, op)?;
        let old = program.tensor(src).clone();
        let (new, dtype) = (TensorId(program.tensors.len() as u32), old.dtype);
        changed.tensors.push(old);
        let integer = |value: &Expr| Scalar::Integer { value: value.clone(), dtype: DType::I64 };
        let index = Scalar::apply(
            Operator::Mul,
            DType::I64,
            [Scalar::Index { axis: self.axis }, integer(&Expr::constant(self.step))],
        );
        let at = Scalar::apply(Operator::Add, DType::I64, [index, integer(&self.plus)]);
        let cond = Scalar::apply(Operator::Lt, DType::I64, [at, integer(&self.below)]);
        let element = Scalar::Input { index: 0, dtype };
        let value = Scalar::apply(Operator::Select, dtype, [cond, element, Scalar::Const { bits, dtype }]);
        let found = program.op(op)?;
        let map = OpKind::Map(Map { dst: new, inputs: vec![src], value });
        let last = program.ops(1.0).iter().map(|(op, _)| op.id.0).max()?;
        let map = hx_tile::Op { id: OpId(last + 1), kind: map, scope: found.scope, origin: found.origin };
        insert(&mut changed.body, op, &map);
        each_op(&mut changed.body, &mut |own| {
            if own.id != op {
                return;
            }
            if let OpKind::Reduce { src, .. } = &mut own.kind {
                *src = new;
            } else if let OpKind::Scan { src, .. } = &mut own.kind {
                src.iter_mut().take(1).for_each(|src| *src = new);
            }
        });
        Some(changed)
    }
}

/// Inserts an operation before another one.
fn insert(stmts: &mut Vec<Stmt>, before: OpId, new: &hx_tile::Op) {
    if let Some(at) =
        stmts.iter().position(|stmt| matches!(stmt, Stmt::Leaf(Leaf::Op(op)) if op.id == before))
    {
        stmts.insert(at, Stmt::Leaf(Leaf::Op(new.clone())));
        return;
    }
    for stmt in stmts {
        stmt.bodies_mut().for_each(|body| insert(body, before, new));
    }
}

/// Formats a sum as in the source.
fn source(e: &Expr) -> String {
    e.to_string().replace("block_idx.x", "block_idx")
}

/// Reports whether the source has a name for a factor where the operation stands: a dimension, the number of the block in a grid of one
/// axis, or the counter of a loop around both the operation and the load whose text names it.
fn is_named(places: &Places<'_>, lowered: &Lowered, mixture: &Mixture, atom: &Atom) -> bool {
    let Atom::Symbol(symbol) = atom else { return false };
    match symbol {
        Symbol::Dim(_) => true,
        Symbol::BlockIdx(0) => lowered.program.grid.len() == 1,
        Symbol::Var(name, _) => {
            let text = |op: OpId| {
                let origin = lowered.program.op(op)?.origin;
                let range = places.own(lowered, origin)?;
                places.kernel().0.text(places.db).get(std::ops::Range::<usize>::from(range))
            };
            let is_word = |text: &str| {
                let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                words.any(|word| word == name.as_str())
            };
            let counts = loops_around(&lowered.program.body, mixture.op).contains(symbol);
            counts && text(mixture.edge.load).is_some_and(is_word)
        }
        Symbol::Scalar(_)
        | Symbol::Multiprocessors
        | Symbol::GridDim(_)
        | Symbol::BlockIdx(_)
        | Symbol::Thread => false,
    }
}

/// Returns the counters of the loops around an operation.
fn loops_around(stmts: &[Stmt], op: OpId) -> Vec<Symbol> {
    for stmt in stmts {
        if stmt.ops().all(|inside| inside.id != op) {
            continue;
        }
        let own = if let Stmt::Control(Control::For { var, .. }) = stmt { Some(var.clone()) } else { None };
        let inner = stmt.bodies().flat_map(|body| loops_around(body, op));
        return own.into_iter().chain(inner).collect();
    }
    Vec::new()
}
