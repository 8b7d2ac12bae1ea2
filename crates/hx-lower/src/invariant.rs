//! The ranges of variables at the start of each round of a loop, as in `stage = stage + 1; if stage == 3 { stage = 0; }`.
//!
//! The body is run on ranges instead of numbers, from the ranges before the loop on, until nothing changes. Nothing is lowered
//! and nothing is reported. A range that keeps growing is widened to the next number with which the loop compares, and then
//! given up.

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::DType;
use hx_hir::{
    ArithOp, BinaryOp, Block, Builtin, CmpOp, Expr as HirExpr, ExprId, KernelFn, Literal, LogicOp, Pat,
    PatId, Resolution, StmtId, StmtKind, UnaryOp,
};
use hx_index::{Expr, floor_div};

use crate::flow::range_of_type;
use crate::lowering::Lowering;
use crate::value::Value;
use crate::variable_facts::{Range, joined, less, within};
use crate::whole::width;

/// The largest number of statements that the search for one loop runs.
const STEPS: usize = 4096;
/// The number of rounds before a growing range is widened.
const EXACT: usize = 2;

const UNKNOWN: Range = (None, None);

/// A range, and how the number wraps.
type Number = (Range, Kind);

/// The range and the type of each local that the loop assigns or binds.
type State = BTreeMap<PatId, Number>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// An integer without a type, which never wraps.
    Whole,
    Typed(DType),
    /// A number whose type this analysis does not follow, or no integer.
    Unclear,
}

const UNCLEAR: Number = (UNKNOWN, Kind::Unclear);

impl Lowering<'_> {
    /// Ends the facts about the variables that a loop of these expressions changes, and states the ranges that they have at the
    /// start of each round.
    pub(crate) fn enter_loop(&mut self, pat: Option<PatId>, condition: Option<ExprId>, body: ExprId) {
        let store = self.store();
        let parts: Vec<ExprId> = condition.into_iter().chain([body]).collect();
        self.thaw(&parts);
        let mut state = State::new();
        for stmt in parts.iter().flat_map(|part| store.stmts_in(*part)) {
            let StmtKind::Assign { place, .. } = &store[stmt].kind else { continue };
            let Some(Resolution::Local(pat)) = self.frame().names.exprs.get(*place) else { continue };
            if let Some(variable) = self.variable(*pat) {
                let range = self.facts.range(&Expr::symbol(variable.symbol));
                state.insert(*pat, (range, Kind::of(variable.dtype)));
            }
        }
        if state.is_empty() {
            return;
        }
        let bound = self.bound_in(body).into_iter().chain(pat).collect();
        let mut walk = Walk { lowering: self, steps: STEPS, marks: Vec::new(), bound };
        walk.marks = walk.marks_in(&parts);
        let found = walk.rounds(condition, body, &state);
        let is_complete = walk.steps > 0;
        for pat in state.keys() {
            let Some(variable) = self.variable(*pat) else { continue };
            let range = found.get(pat).filter(|_| is_complete).map_or(UNKNOWN, |(range, _)| *range);
            self.changed(&variable.symbol, within(range, range_of_type(variable.dtype)));
        }
    }
}

struct Walk<'w, 'db> {
    lowering: &'w mut Lowering<'db>,
    steps: usize,
    /// The constants with which the loop compares or takes remainders, their neighbours, and 0, in ascending order.
    marks: Vec<i64>,
    /// The locals that the loop binds. Their values from an earlier lowering of the loop mean nothing.
    bound: BTreeSet<PatId>,
}

impl Kind {
    fn of(dtype: Option<DType>) -> Kind {
        match dtype {
            None => Kind::Whole,
            Some(dtype) if width(dtype).is_some() => Kind::Typed(dtype),
            Some(_) => Kind::Unclear,
        }
    }

    fn with(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Whole, kind) | (kind, Kind::Whole) => kind,
            (a, b) if a == b => a,
            _ => Kind::Unclear,
        }
    }
}

impl Walk<'_, '_> {
    /// Returns the ranges at the start of each round.
    fn rounds(&mut self, condition: Option<ExprId>, body: ExprId, before: &State) -> State {
        let mut head = before.clone();
        for round in 0.. {
            let mut after = head.clone();
            if let Some(condition) = condition {
                self.refine(condition, true, &mut after);
            }
            self.value(body, &mut after);
            let mut next = State::new();
            for (pat, old) in &head {
                let (old, kind) = *old;
                let new = joined(old, after.get(pat).map_or(UNKNOWN, |(range, _)| *range));
                next.insert(*pat, (if round < EXACT { new } else { self.widened(old, new) }, kind));
            }
            if next == head || self.steps == 0 {
                break;
            }
            head = next;
        }
        head
    }

    fn widened(&self, old: Range, new: Range) -> Range {
        let low = match new.0 {
            Some(low) if new.0 != old.0 => self.marks.iter().rev().find(|mark| **mark <= low).copied(),
            low => low,
        };
        let high = match new.1 {
            Some(high) if new.1 != old.1 => self.marks.iter().find(|mark| **mark >= high).copied(),
            high => high,
        };
        (low, high)
    }

    /// Returns the numbers at which a range may stop growing: the constant operands of comparisons and remainders, and their
    /// neighbours.
    fn marks_in(&mut self, parts: &[ExprId]) -> Vec<i64> {
        let mut exprs = Vec::new();
        let store = self.lowering.store();
        for part in parts {
            for stmt in store.stmts_in(*part) {
                store.for_each_part(stmt, &mut |expr| exprs.push(expr));
            }
            exprs.push(*part);
        }
        let mut marks = vec![0];
        while let Some(expr) = exprs.pop() {
            if let HirExpr::Binary { op: BinaryOp::Cmp(_) | BinaryOp::Arith(ArithOp::Rem), lhs, rhs } =
                &store[expr]
            {
                for side in [*lhs, *rhs] {
                    if let ((Some(low), Some(high)), _) = self.value(side, &mut State::new())
                        && low == high
                    {
                        marks.extend([low - 1, low, low + 1]);
                    }
                }
            }
            if !matches!(store[expr], HirExpr::Block(_)) {
                store.for_each_child(expr, &mut |child| exprs.push(child));
            }
        }
        marks.sort_unstable();
        marks.dedup();
        marks
    }

    fn stmt(&mut self, id: StmtId, state: &mut State) {
        self.steps = self.steps.saturating_sub(1);
        let store = self.lowering.store();
        match &store[id].kind {
            StmtKind::Let { pat, ty, value } => {
                let number = self.value(*value, state);
                if let Pat::Bind(_) = &store[*pat] {
                    state.insert(*pat, if ty.is_some() { UNCLEAR } else { number });
                }
            }
            StmtKind::Assign { place, op, value } => {
                let new = self.value(*value, state);
                let Some(Resolution::Local(pat)) = self.lowering.frame().names.exprs.get(*place) else {
                    return;
                };
                let pat = *pat;
                let new = match op {
                    Some(op) => apply(*op, self.value(*place, state), new),
                    None => new,
                };
                let new = self.wrapped(pat, new.0);
                if let Some((range, _)) = state.get_mut(&pat) {
                    *range = new;
                }
            }
            StmtKind::For { body, .. } => *state = self.inner(None, *body, state),
            StmtKind::While { condition, body } => *state = self.inner(Some(*condition), *body, state),
            StmtKind::Expr(expr) => {
                self.value(*expr, state);
            }
            StmtKind::WarpGroups(_) | StmtKind::Measure { .. } | StmtKind::Baseline(_) => {
                state.values_mut().for_each(|(range, _)| *range = UNKNOWN);
            }
        }
    }

    fn inner(&mut self, condition: Option<ExprId>, body: ExprId, state: &State) -> State {
        if self.steps == 0 {
            state.iter().map(|(pat, (_, kind))| (*pat, (UNKNOWN, *kind))).collect()
        } else {
            self.rounds(condition, body, state)
        }
    }

    /// Returns the whole range of the local's type if the range does not fit it, because the integer may then wrap.
    fn wrapped(&self, pat: PatId, range: Range) -> Range {
        let all = range_of_type(self.lowering.variable(pat).and_then(|variable| variable.dtype));
        match (all, range) {
            ((Some(first), Some(last)), (Some(low), Some(high))) if first <= low && high <= last => range,
            (UNKNOWN, range) => range,
            (all, _) => all,
        }
    }

    fn block(&mut self, block: &Block, state: &mut State) -> Number {
        block.stmts.iter().for_each(|stmt| self.stmt(*stmt, state));
        block.tail.map_or(UNCLEAR, |tail| self.value(tail, state))
    }

    /// Returns the number that an expression evaluates to, and runs the statements in it.
    fn value(&mut self, id: ExprId, state: &mut State) -> Number {
        let store = self.lowering.store();
        match &store[id] {
            HirExpr::Literal(Literal::Int(x)) => match i64::try_from(*x) {
                Ok(x) => ((Some(x), Some(x)), Kind::Whole),
                Err(_) => UNCLEAR,
            },
            HirExpr::Path { .. } => self.path(id, state),
            HirExpr::Unary { op: UnaryOp::Neg, operand } => {
                let x = self.value(*operand, state);
                apply(ArithOp::Sub, ((Some(0), Some(0)), Kind::Whole), x)
            }
            HirExpr::Binary { op, lhs, rhs } => {
                let (a, b) = (self.value(*lhs, state), self.value(*rhs, state));
                match op {
                    BinaryOp::Arith(op) => apply(*op, a, b),
                    _ => UNCLEAR,
                }
            }
            HirExpr::Block(block) => self.block(block, state),
            HirExpr::If { condition, then, otherwise } => self.branch(*condition, *then, *otherwise, state),
            HirExpr::Call { callee, args } => {
                let values: Vec<Number> = args.iter().map(|arg| self.value(arg.value, state)).collect();
                let [(a, k), (b, l)] = values[..] else { return UNCLEAR };
                let resolution = self.lowering.frame().names.exprs.get(*callee);
                let is = |function| resolution == Some(&Resolution::Builtin(Builtin::Kernel(function)));
                if is(KernelFn::Min) {
                    (minimum(a, b), k.with(l))
                } else if is(KernelFn::Max) {
                    (negated(minimum(negated(a), negated(b))), k.with(l))
                } else {
                    UNCLEAR
                }
            }
            _ => UNCLEAR,
        }
    }

    fn branch(
        &mut self,
        condition: ExprId,
        then: ExprId,
        otherwise: Option<ExprId>,
        state: &mut State,
    ) -> Number {
        let (mut yes, mut no) = (state.clone(), state.clone());
        self.refine(condition, true, &mut yes);
        self.refine(condition, false, &mut no);
        let (a, k) = self.value(then, &mut yes);
        let (b, l) = otherwise.map_or(UNCLEAR, |otherwise| self.value(otherwise, &mut no));
        for (pat, (range, _)) in state.iter_mut() {
            let of = |state: &State| state.get(pat).map_or(UNKNOWN, |(range, _)| *range);
            // A branch that no value of the local reaches does not change the range.
            *range = match (is_empty(of(&yes)), is_empty(of(&no))) {
                (true, false) => of(&no),
                (false, true) => of(&yes),
                _ => joined(of(&yes), of(&no)),
            };
        }
        (joined(a, b), k.with(l))
    }

    fn path(&mut self, id: ExprId, state: &State) -> Number {
        let frame = self.lowering.frame();
        let value = match frame.names.exprs.get(id) {
            Some(Resolution::Local(pat)) => match state.get(pat) {
                Some(number) => return *number,
                None if self.bound.contains(pat) => return UNCLEAR,
                None => frame.locals.get(pat).map(|(value, _)| value.clone()),
            },
            Some(Resolution::Param(i)) => frame.params.get(*i as usize).cloned(),
            Some(Resolution::Generic(i)) => frame.generics.get(*i as usize).cloned(),
            Some(Resolution::Dim(name)) => frame.dims.get(name).cloned().map(Value::Int),
            Some(Resolution::Item(key)) if key.kind == hx_hir::ItemKind::Const => {
                let key = key.clone();
                self.lowering.const_value(id, &key).ok()
            }
            _ => None,
        };
        let Some(whole) = value.and_then(|value| value.whole()) else { return UNCLEAR };
        let kind = Kind::of(whole.dtype);
        let varies = whole.value.symbols().iter().any(|s| self.lowering.variables.contains(s));
        (if varies { UNKNOWN } else { self.lowering.facts.range(&whole.value) }, kind)
    }

    /// Narrows the ranges of locals to those for which a condition has this value.
    fn refine(&mut self, condition: ExprId, holds: bool, state: &mut State) {
        let store = self.lowering.store();
        match &store[condition] {
            HirExpr::Unary { op: UnaryOp::Not, operand } => self.refine(*operand, !holds, state),
            HirExpr::Binary { op: BinaryOp::Logic(op), lhs, rhs } if holds == (*op == LogicOp::And) => {
                self.refine(*lhs, holds, state);
                self.refine(*rhs, holds, state);
            }
            HirExpr::Binary { op: BinaryOp::Cmp(op), lhs, rhs } => {
                let op = if holds { *op } else { opposite(*op) };
                let (a, b) = (self.value(*lhs, &mut state.clone()), self.value(*rhs, &mut state.clone()));
                self.narrow(*lhs, op, b.0, state);
                self.narrow(*rhs, mirrored(op), a.0, state);
            }
            _ => {}
        }
    }

    /// Narrows the range of a local that compares with a value of the range `other`.
    fn narrow(&mut self, local: ExprId, op: CmpOp, other: Range, state: &mut State) {
        let Some(Resolution::Local(pat)) = self.lowering.frame().names.exprs.get(local) else { return };
        let Some((range, _)) = state.get_mut(pat) else { return };
        let (low, high) = other;
        let bound = match op {
            CmpOp::Lt => (None, high.and_then(|x| x.checked_sub(1))),
            CmpOp::Le => (None, high),
            CmpOp::Gt => (low.and_then(|x| x.checked_add(1)), None),
            CmpOp::Ge => (low, None),
            CmpOp::Eq => other,
            CmpOp::Ne if low.is_some() && low == high => {
                let next = |x: Option<i64>, step: i64| {
                    if x == low { x.and_then(|x| x.checked_add(step)) } else { x }
                };
                *range = (next(range.0, 1), next(range.1, -1));
                return;
            }
            CmpOp::Ne => return,
        };
        *range = within(*range, bound);
    }
}

fn opposite(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
    }
}

/// Returns the operator of the comparison with its sides exchanged.
fn mirrored(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        op => op,
    }
}

fn is_empty(range: Range) -> bool {
    matches!(range, (Some(low), Some(high)) if low > high)
}

fn minimum(a: Range, b: Range) -> Range {
    (a.0.zip(b.0).map(|(x, y)| x.min(y)), less(a.1, b.1))
}

fn negated((low, high): Range) -> Range {
    (high.and_then(i64::checked_neg), low.and_then(i64::checked_neg))
}

/// Applies an operator. The result is not known if it may wrap.
fn apply(op: ArithOp, (a, k): Number, (b, l): Number) -> Number {
    let (range, kind) = (arithmetic(op, a, b), k.with(l));
    let fits = match kind {
        Kind::Whole => true,
        Kind::Typed(dtype) => within(range, range_of_type(Some(dtype))) == range,
        Kind::Unclear => matches!(op, ArithOp::Rem | ArithOp::BitAnd),
    };
    (if fits { range } else { UNKNOWN }, kind)
}

fn arithmetic(op: ArithOp, a: Range, b: Range) -> Range {
    let add = |x: Option<i64>, y: Option<i64>| x.zip(y).and_then(|(x, y)| x.checked_add(y));
    match op {
        ArithOp::Add => (add(a.0, b.0), add(a.1, b.1)),
        ArithOp::Sub => arithmetic(ArithOp::Add, a, negated(b)),
        ArithOp::Mul => match (a, b) {
            ((Some(al), Some(ah)), (Some(bl), Some(bh))) => {
                let corners = [(al, bl), (al, bh), (ah, bl), (ah, bh)].map(|(x, y)| x.checked_mul(y));
                let all: Option<Vec<i64>> = corners.into_iter().collect();
                all.map_or(UNKNOWN, |all| (all.iter().min().copied(), all.iter().max().copied()))
            }
            _ => UNKNOWN,
        },
        ArithOp::Div => match b {
            (Some(d), Some(other)) if d == other && d > 0 => {
                (a.0.map(|x| floor_div(x, d)), a.1.map(|x| floor_div(x, d)))
            }
            _ => UNKNOWN,
        },
        ArithOp::Rem => match b {
            // A remainder by 0 is 0.
            (Some(low), high) if low >= 0 => {
                let most = high.map(|high| (high - 1).max(0));
                match (a, most) {
                    ((Some(l), Some(h)), _) if l >= 0 && h < low => a,
                    _ => (Some(0), most),
                }
            }
            _ => UNKNOWN,
        },
        // The common bits of a number that is not negative and another are at most the number.
        ArithOp::BitAnd => {
            let most: Vec<i64> = [a, b].into_iter().filter(|x| x.0 >= Some(0)).filter_map(|x| x.1).collect();
            let natural = [a, b].into_iter().any(|x| x.0 >= Some(0));
            if natural { (Some(0), most.into_iter().min()) } else { UNKNOWN }
        }
        ArithOp::BitOr | ArithOp::BitXor | ArithOp::Shl | ArithOp::Shr => UNKNOWN,
        ArithOp::MatMul => UNKNOWN,
    }
}
