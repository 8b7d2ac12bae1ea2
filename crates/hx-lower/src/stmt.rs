//! Statements and control flow.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{
    ArithOp, BinaryOp, Expr as HirExpr, ExprId, Pat, PatId, Resolution, StmtId, StmtKind, TypeRef, TypeRefId,
};
use hx_index::{Cond, Expr, Symbol};
use hx_tile::{Control, Leaf, OpKind, Rounds, Scalar, Stmt};

use crate::error::{ItemPart, Lower, LowerError};
use crate::flow::range_of_type;
use crate::lowering::Lowering;
use crate::value::{Lazy, Tensor, Value};
use crate::variable_facts::{Bound, Branch};
use crate::variables::Variable;
use crate::whole::Whole;

impl Lowering<'_> {
    pub(crate) fn stmt(&mut self, id: StmtId) -> Lower<()> {
        // An unrolled loop evaluates its body many times, so cancellation is checked at each statement.
        self.db.unwind_if_revision_cancelled();
        let store = self.store();
        let stmt = &store[id];
        match &stmt.kind {
            StmtKind::Let { pat, ty, value } => self.let_stmt(*pat, *ty, *value),
            StmtKind::Assign { place, op, value } => self.assign(*place, *op, *value),
            StmtKind::Expr(expr) => self.eval(*expr).map(|_| ()),
            StmtKind::For { pat, iterable, stages, body } => {
                self.for_stmt(id, (*pat, *iterable, *body), *stages)
            }
            StmtKind::While { condition, body } => {
                self.inside("loop", *condition, |lowering| lowering.while_stmt(*condition, *body))
            }
            StmtKind::WarpGroups(roles) => self.warp_groups(roles),
            StmtKind::Measure { body, .. } => {
                self.fail(&codes::NOT_A_PRIMITIVE, *body, "`measure` belongs in a bench")
            }
            StmtKind::Baseline(expr) => {
                self.fail(&codes::NOT_A_PRIMITIVE, *expr, "`baseline` belongs in a bench")
            }
        }
    }

    fn let_stmt(&mut self, pat: PatId, ty: Option<TypeRefId>, value: ExprId) -> Lower<()> {
        let store = self.store();
        let types = match ty.map(|ty| &store[ty]) {
            None => Some(&[][..]),
            Some(TypeRef::Tuple(types)) => Some(types.as_slice()),
            Some(_) => None,
        };
        if let (Pat::Tuple(parts), HirExpr::Tuple(fields), Some(types)) = (&store[pat], &store[value], types)
            && parts.len() == fields.len()
            && (types.is_empty() || types.len() == parts.len())
        {
            // Each name is bound as by a `let` of its own. Names are resolved, so those bound first do not hide later values.
            // A part that fails does not keep the later ones from being bound.
            let mut done = Ok(());
            for (number, (part, field)) in parts.iter().zip(fields).enumerate() {
                done = done.and(self.let_stmt(*part, types.get(number).copied(), field.value));
            }
            return done;
        }
        let hint = match &store[pat] {
            Pat::Bind(name) => Some(name.as_str()),
            _ => None,
        };
        let evaluated = self.eval_named(value, hint);
        let evaluated = match evaluated {
            Ok(Value::Tensor(t)) if t.is_register() && !t.fresh => {
                self.copy_of(&t, hint, value).map(Value::Tensor)
            }
            // Coordinates, and conditions on them, are cheaper to recompute than to keep in registers.
            Ok(Value::Lazy(lazy)) if lazy.inputs.is_empty() && !self.written_by_call(pat) => {
                Ok(Value::Lazy(lazy))
            }
            Ok(Value::Lazy(lazy)) => Ok(Value::Tensor(self.materialize(value, lazy, hint))),
            Ok(Value::Choice(choice)) => Ok(self.kept_choice(value, choice)),
            Ok(number) => ty.map_or(Ok(number.clone()), |ty| self.number_of_type(value, number.clone(), ty)),
            failed => failed,
        };
        match evaluated {
            Ok(start) => {
                let start = self.started(value, pat, hint, start);
                self.bind(pat, start)
            }
            Err(reported) => {
                self.poison(pat);
                Err(reported)
            }
        }
    }

    /// Copies a register tensor to a new one, as `let y = x` requires.
    pub(crate) fn copy_of(&mut self, t: &Tensor, hint: Option<&str>, at: ExprId) -> Lower<Tensor> {
        let Some((src, shape)) = self.register_of(t) else { return Ok(t.clone()) };
        let Some(order) = t.view.as_permutation(&shape) else {
            return self.settled(at, t, hint).map(|(_, part)| part);
        };
        let hint = hint.map_or_else(|| format!("{}_copy", self.base_name(t.view.base)), str::to_owned);
        let (dst, copy) = self.new_register(&hint, t.dtype, shape, at);
        self.emit(OpKind::Cast { dst, src }, at);
        Ok(permuted(&copy, &order))
    }

    /// Binds the names of a pattern to their values.
    pub(crate) fn bind(&mut self, pat: PatId, value: Value) -> Lower<()> {
        let store = self.store();
        match &store[pat] {
            Pat::Missing | Pat::Wildcard => Ok(()),
            Pat::Bind(name) => {
                let depth = self.depth;
                let value = self.freeze(value);
                self.record_binder(pat, &value);
                let value = match self.as_local(name, value) {
                    // A part of a register tensor was copied to a new tensor. Once bound to a name, the copy may be written.
                    Value::Tensor(t) => {
                        let mutable = t.mutable || (t.is_register() && t.fresh);
                        Value::Tensor(Tensor { fresh: false, mutable, ..t })
                    }
                    other => other,
                };
                self.frame_mut().locals.insert(pat, (value, depth));
                Ok(())
            }
            Pat::Tuple(parts) | Pat::Array(parts) => {
                let values = match value {
                    Value::Tuple(values) | Value::Array(values) => values,
                    single @ Value::Int(_) if parts.len() == 1 => [single].into(),
                    other => {
                        let message = format!("found {}, expected {} values", other.what(), parts.len());
                        return self.pattern_error(pat, message);
                    }
                };
                if values.len() != parts.len() {
                    let message = format!("found {} values, expected {}", values.len(), parts.len());
                    return self.pattern_error(pat, message);
                }
                let mut result = Ok(());
                for (&part, value) in parts.iter().zip(values.iter()) {
                    result = result.and(self.bind(part, value.clone()));
                }
                result
            }
        }
    }

    fn pattern_error(&mut self, pat: PatId, message: String) -> Lower<()> {
        self.poison(pat);
        let place = self.place_at(ItemPart::Pat(pat));
        let error = crate::error::LowerError::new(&codes::PATTERN_MISMATCH, place, message);
        Err(self.report(error))
    }

    /// Binds every name of a pattern to an error that has been reported.
    fn poison(&mut self, pat: PatId) {
        let store = self.store();
        match &store[pat] {
            Pat::Missing | Pat::Wildcard => {}
            Pat::Bind(_) => {
                let depth = self.depth;
                self.frame_mut().locals.insert(pat, (Value::Error, depth));
            }
            Pat::Tuple(parts) | Pat::Array(parts) => parts.iter().for_each(|p| self.poison(*p)),
        }
    }

    fn assign(&mut self, place: ExprId, op: Option<ArithOp>, value: ExprId) -> Lower<()> {
        let local = match (&self.store()[place], self.frame().names.exprs.get(place)) {
            (HirExpr::Path { .. }, Some(Resolution::Local(pat))) => Some(*pat),
            _ => None,
        };
        if self.frame().operands > 0 {
            return self.unsupported(place, "an assignment inside of an expression");
        }
        if let HirExpr::Index { base, args } = &self.store()[place]
            && let Some(t) = self.whole_of_part(*base)?
        {
            return self.assign_part(place, &t, args, op, value);
        }
        let mut target = self.eval(place)?;
        if let (Value::Lazy(lazy), Some(pat)) = (&target, local) {
            target = self.hold(place, pat, lazy.clone());
        }
        match (target, local) {
            (Value::Tensor(dst), _) => self.assign_tensor(place, &dst, op, value),
            (_, None) => {
                self.fail(&codes::NOT_MUTABLE, place, "only a local or a register tensor can be assigned to")
            }
            (old, Some(pat)) => self.assign_scalar(place, pat, old, op, value),
        }
    }

    /// Materializes a local that was an unevaluated expression, because it is assigned to.
    pub(crate) fn hold(&mut self, place: ExprId, pat: PatId, lazy: Lazy) -> Value {
        let name = match &self.store()[place] {
            HirExpr::Path { path, .. } => path.to_string(),
            _ => "value".into(),
        };
        let tensor = self.materialize(place, lazy, Some(&name));
        self.record_binder(pat, &Value::Tensor(tensor.clone()));
        let value = Value::Tensor(Tensor { fresh: false, ..tensor });
        let depth = self.depth;
        self.frame_mut().locals.insert(pat, (value.clone(), depth));
        value
    }

    fn assign_scalar(
        &mut self,
        place: ExprId,
        pat: PatId,
        old: Value,
        op: Option<ArithOp>,
        value: ExprId,
    ) -> Lower<()> {
        let bound_at = self.frame().locals.get(&pat).map_or(0, |(_, depth)| *depth);
        let variable = self.variable(pat);
        if bound_at < self.depth && variable.is_none() {
            return self.unsupported(place, format!("{} that changes inside of a loop or `if`", old.what()));
        }
        let new = self.eval(value)?;
        if let (Some(old), Some(now)) = (old.whole(), new.whole()) {
            let new = self.assigned_whole(op, (place, old), (value, now))?;
            return self.set_whole(pat, bound_at, variable, new);
        }
        let number = |v: &Value| matches!(v, Value::Float(_) | Value::Scalar(_));
        let adapts = |v: &Value| number(v) || matches!(v, Value::Int(x) if x.as_const().is_some());
        let new = match (op, old, new) {
            (None, old, new) if std::mem::discriminant(&old) == std::mem::discriminant(&new) => new,
            (None, old, new) if number(&old) && adapts(&new) => new,
            (Some(op), old, new) if number(&old) && adapts(&new) => {
                self.arithmetic(value, op, (place, old), (value, new))?
            }
            (Some(_), old, new) | (None, old, new) => {
                let message = format!("found {}, expected {}", new.what(), old.what());
                return self.fail(&codes::TYPE_MISMATCH, value, message);
            }
        };
        match (variable, new) {
            (Some(Variable { symbol: var, dtype: Some(dtype) }), new) => {
                let value = self.as_number(value, new, dtype)?;
                self.changed(&var, range_of_type(Some(dtype)));
                self.output.push(Stmt::Leaf(Leaf::AssignNumber { var, value }));
            }
            (_, new) => {
                let new = self.freeze(new);
                self.frame_mut().locals.insert(pat, (new, bound_at));
            }
        }
        Ok(())
    }

    /// Returns the new value of an integer local. The local keeps its type, to which constants and dimensions adapt.
    fn assigned_whole(
        &mut self,
        op: Option<ArithOp>,
        (place, old): (ExprId, Whole),
        (at, now): (ExprId, Whole),
    ) -> Lower<Whole> {
        let dtype = old.dtype;
        // A local without a type stays a 64-bit integer, even if a typed number is added to it.
        let now = if dtype.is_none() { Whole { dtype: None, ..now } } else { now };
        let new = match op {
            None => now.into_value(),
            Some(op) => self.arithmetic(at, op, (place, old.into_value()), (at, now.into_value()))?,
        };
        let new = match dtype {
            Some(dtype) => self.number_as(at, new, dtype)?,
            None => new.widened(),
        };
        if let Some(whole) = new.whole() {
            return Ok(whole);
        }
        // A result such as `x << y` is a number of the block, to which an expression of integers refers by name.
        match self.as_integer(at, new)? {
            Value::Int(value) => Ok(Whole { value, dtype }),
            other => {
                self.fail(&codes::TYPE_MISMATCH, at, format!("expected an integer, found {}", other.what()))
            }
        }
    }

    fn set_whole(
        &mut self,
        pat: PatId,
        bound_at: usize,
        variable: Option<Variable>,
        new: Whole,
    ) -> Lower<()> {
        match variable {
            Some(Variable { symbol: var, dtype }) => {
                self.assigned(&var, &new.value, dtype);
                self.output.push(Stmt::Leaf(Leaf::Assign { var, value: new.value }));
            }
            None => {
                let new = self.freeze(new.into_value());
                self.frame_mut().locals.insert(pat, (new, bound_at));
            }
        }
        Ok(())
    }

    fn assign_tensor(
        &mut self,
        place: ExprId,
        dst: &Tensor,
        op: Option<ArithOp>,
        value: ExprId,
    ) -> Lower<()> {
        if !dst.is_register() {
            let error = self
                .error(
                    &codes::WRONG_MEMORY,
                    place,
                    format!("found a {} tensor on the left of `=`", dst.space()),
                )
                .help("`copy(src, dst)` writes to shared and global memory");
            return Err(self.report(error));
        }
        let found = self.eval(value)?;
        if let Some(op) = op {
            let old = (place, Value::Tensor(dst.clone()));
            let new = self.elementwise(value, BinaryOp::Arith(op), old, (value, found))?;
            return self.assign_lazy(place, dst, value, new);
        }
        match found {
            lazy @ Value::Lazy(_) => self.assign_lazy(place, dst, value, lazy),
            choice @ Value::Choice(_) => {
                let chosen = self.typed_operand(value, choice, dst.dtype, place)?;
                self.assign_lazy(place, dst, value, Value::Lazy(chosen))
            }
            Value::Tensor(src) => self.copy_values(place, value, &src, place, dst),
            other => {
                let message = format!("expected a tensor, found {}", other.what());
                self.fail(&codes::TYPE_MISMATCH, value, message)
            }
        }
    }

    fn for_stmt(
        &mut self,
        id: StmtId,
        (pat, iterable, body): (PatId, ExprId, ExprId),
        stages: Option<ExprId>,
    ) -> Lower<()> {
        let range = self.eval(iterable)?;
        let stages = stages.map(|stages| self.stages_of(stages)).transpose()?;
        if let Value::Counter(made) = range {
            if let Some((at, _)) = stages {
                return self.unsupported(
                    at,
                    "`pipelined` on a loop over a counter, whose next number is not known,",
                );
            }
            let parts = (pat, iterable, body);
            return self.drawn_loop(&self.store()[id], parts, made);
        }
        self.inside("loop", iterable, |lowering| {
            lowering.counted_loop(id, (pat, iterable, body), stages, range)
        })
    }

    fn counted_loop(
        &mut self,
        id: StmtId,
        (pat, iterable, body): (PatId, ExprId, ExprId),
        stages: Option<(ExprId, i64)>,
        range: Value,
    ) -> Lower<()> {
        let (start, end) = match range {
            Value::Range { start, end: Some(end) } => (start.unwrap_or_default(), end),
            Value::Range { end: None, .. } => {
                return self.fail(
                    &codes::TYPE_MISMATCH,
                    iterable,
                    "expected a loop's bounds, found a range without an end",
                );
            }
            other => {
                let message = format!("expected a range `a..b` or a counter, found {}", other.what());
                return self.fail(&codes::TYPE_MISMATCH, iterable, message);
            }
        };
        let (start, end) = (self.freeze_int(start), self.freeze_int(end));
        // A body that never runs is not checked, like a branch that is never taken: its counter has no value.
        if self.facts.proves_le(&end, &start) {
            return Ok(());
        }
        let attrs = &self.store()[id].attrs;
        let has = |name: &str| attrs.iter().any(|a| a.name == name);
        let unroll = has("unroll");
        if unroll {
            self.expect_known_rounds(id, &start, &end)?;
        }
        if unroll
            && let Some(bounds) = crate::slice::written_out(&start, &end)
            && self.indexes_registers(body, pat)
        {
            if let Some((at, _)) = stages {
                return self.unsupported(
                    at,
                    "`pipelined` on a loop that is written out, because its counter picks registers,",
                );
            }
            return self.repeated(pat, bounds, body);
        }
        self.enter_loop(Some(pat), None, body);
        if has("peel") {
            if let Some((at, _)) = stages {
                return self.unsupported(at, "`pipelined` on a loop with `#[peel]`");
            }
            let unroll = unroll.then_some(id);
            return self.peeled_loop((pat, iterable, body), (start, end), unroll);
        }
        let first_inside = self.output.numbers_made();
        let var = self.counter(pat, &start, &end);
        if unroll {
            self.unrolled.insert(var.clone());
        }
        let (result, stmts) = self.rounds(pat, &var, body);
        if !stmts.is_empty() {
            self.pipelines(&var, iterable, stages, first_inside);
        }
        if !stmts.is_empty() {
            self.output.push(Stmt::Control(Control::For {
                var,
                rounds: Rounds::Range { start, end, unroll },
                body: stmts,
            }));
        }
        result
    }

    /// Reports an unrolled loop whose rounds are not known at compile time. They may depend on counters of unrolled loops around it.
    pub(crate) fn expect_known_rounds(&mut self, id: StmtId, start: &Expr, end: &Expr) -> Lower<()> {
        let is_known = |symbol: &Symbol| self.unrolled.contains(symbol);
        let Some(open) = [start, end].into_iter().find(|bound| !bound.symbols().iter().all(is_known)) else {
            return Ok(());
        };
        let at = self.store()[id].attrs.iter().position(|attr| attr.name == "unroll").unwrap_or_default();
        let message =
            format!("found `#[unroll]` on a loop with the bound `{open}`, which is known only at run time");
        let error = LowerError::new(&codes::NOT_CONSTANT, self.place_at(ItemPart::Attr(id, at)), message).help(
            "leave out `#[unroll]`, or give the loop bounds of numbers, constants and compile-time parameters",
        );
        Err(self.report(error))
    }

    /// Makes the counter of a loop, and states its range.
    pub(crate) fn counter(&mut self, pat: PatId, start: &Expr, end: &Expr) -> Symbol {
        let name = match &self.store()[pat] {
            Pat::Bind(name) => name.clone(),
            _ => "_".into(),
        };
        let var = self.output.new_var(name);
        // `Facts::at_most` also states the lower bound 0, so it needs a known lower bound here.
        if let Some(low) = self.facts.range(start).0 {
            self.facts.at_least(var.clone(), low);
            self.facts.at_most(var.clone(), end.clone() - Expr::constant(1));
        }
        if start.as_const().is_none() {
            self.facts.ordered_where_defined(start, &Expr::symbol(var.clone()));
        }
        var
    }

    /// Lowers the body of a loop for a counter of the program.
    pub(crate) fn rounds(&mut self, pat: PatId, counter: &Symbol, body: ExprId) -> (Lower<()>, Vec<Stmt>) {
        self.nested(|lowering| {
            lowering.bind(pat, Value::Int(Expr::symbol(counter.clone())))?;
            lowering.eval(body).map(|_| ())
        })
    }

    fn while_stmt(&mut self, condition: ExprId, body: ExprId) -> Lower<()> {
        self.enter_loop(None, Some(condition), body);
        let (mark, origin) = (self.mark(), self.origin(condition));
        let cond = self.cond(condition)?;
        let computed = self.mark() != mark;
        match cond {
            Cond::False => return Ok(()),
            Cond::True => {
                let message = "the condition always holds, so the loop has no end";
                return self.fail(&codes::CONSTANT_ERROR, condition, message);
            }
            _ => {}
        }
        if !computed {
            let before = self.facts_now();
            let stated = self.enter_branch(&cond);
            let (result, stmts) = self.nested(|lowering| lowering.eval(body).map(|_| ()));
            self.leave_branch(&stated, &before);
            self.output.push(Stmt::Control(Control::While { cond, body: stmts, origin }));
            return result;
        }
        // The body recomputes the condition at the end of each round.
        let again = self.output.new_var("again".into());
        self.output.push(Stmt::Leaf(Leaf::LetNumber {
            var: again.clone(),
            value: crate::elementwise::condition(&cond),
        }));
        let (result, stmts) = self.nested(|lowering| {
            lowering.eval(body)?;
            let value = crate::elementwise::condition(&lowering.cond(condition)?);
            lowering.output.push(Stmt::Leaf(Leaf::AssignNumber { var: again.clone(), value }));
            Ok(())
        });
        if let Value::Bool(cond) = self.number_of(&again, DType::Bool) {
            self.output.push(Stmt::Control(Control::While { cond, body: stmts, origin }));
        }
        result
    }

    pub(crate) fn if_expr(
        &mut self,
        id: ExprId,
        condition: ExprId,
        then: ExprId,
        otherwise: Option<ExprId>,
        hint: Option<&str>,
    ) -> Lower<Value> {
        let cond = self.cond(condition)?;
        let cond = self.in_this_half(condition, cond);
        match cond {
            Cond::True => return self.eval_named(then, hint),
            Cond::False => {
                return match otherwise {
                    Some(branch) => self.eval_named(branch, hint),
                    None => Ok(Value::Unit),
                };
            }
            _ => {}
        }
        let branches: Vec<ExprId> = std::iter::once(then).chain(otherwise).collect();
        self.thaw(&branches);
        let before = self.facts_now();
        let bounds = self.bounds_in(&cond);
        let [(a, then_end), (b, else_end)] =
            [(true, Some(then)), (false, otherwise)].map(|(holds, branch)| {
                let stated = self.enter_branch(&if holds { cond.clone() } else { cond.clone().negate() });
                let (value, stmts) = self.nested(|lowering| match branch {
                    Some(branch) => lowering.inside("`if`", condition, |lowering| lowering.eval(branch)),
                    None => Ok(Value::Unit),
                });
                let end = std::mem::take(&mut self.last_end);
                let branch = self.branch(branch.unwrap_or(id), (value, stmts), &end, &bounds);
                self.leave_branch(&stated, &before);
                (branch, end)
            });
        self.join_facts(&then_end, &else_end);
        if otherwise.is_none() {
            if !a.stmts.is_empty() {
                self.output.push(Stmt::Control(Control::If { cond, then: a.stmts, otherwise: b.stmts }));
            }
            return a.value.map(|_| Value::Unit);
        }
        self.chosen(id, hint, cond, [a, b])
    }

    /// Returns the value of the branch that a condition picks at run time.
    pub(crate) fn chosen(
        &mut self,
        id: ExprId,
        hint: Option<&str>,
        cond: Cond,
        [a, b]: [Branch; 2],
    ) -> Lower<Value> {
        let (ranges, bounds) = ([a.range, b.range], a.bounds.into_iter().filter(|e| b.bounds.contains(e)));
        let bounds: Vec<Bound> = bounds.collect();
        let (then, a, mut then_stmts) = (a.at, a.value, a.stmts);
        let (otherwise, b, mut else_stmts) = (b.at, b.value, b.stmts);
        let wholes = |v: &Lower<Value>| v.as_ref().ok().and_then(Value::whole);
        if let (Some(x), Some(y)) = (wholes(&a), wholes(&b)) {
            let at = [then, otherwise];
            let dtype = self.common_type(&at, &[x.clone(), y.clone()])?;
            let (var, value, [then_end, else_end]) =
                self.picked(dtype, [&x.value, &y.value], (ranges, &bounds));
            then_stmts.push(then_end);
            else_stmts.push(else_end);
            self.output.push(Stmt::Leaf(Leaf::Let { var, value: Expr::default() }));
            self.output.push(Stmt::Control(Control::If { cond, then: then_stmts, otherwise: else_stmts }));
            return Ok(value);
        }
        let (a, b) = match (a, b) {
            (Ok(a), Ok(b)) => (a, b),
            (a, b) => {
                self.output.push(Stmt::Control(Control::If {
                    cond,
                    then: then_stmts,
                    otherwise: else_stmts,
                }));
                return a.and(b);
            }
        };
        if a == b {
            if !then_stmts.is_empty() || !else_stmts.is_empty() {
                self.output.push(Stmt::Control(Control::If {
                    cond,
                    then: then_stmts,
                    otherwise: else_stmts,
                }));
            }
            return Ok(a);
        }
        let made = self.either(id, hint, [(then, a, &mut then_stmts), (otherwise, b, &mut else_stmts)]);
        self.output.push(Stmt::Control(Control::If { cond, then: then_stmts, otherwise: else_stmts }));
        made
    }

    /// Returns the value of an `if` decided at run time: a new number or register tensor, which each branch sets at its end.
    fn either(
        &mut self,
        id: ExprId,
        hint: Option<&str>,
        branches: [(ExprId, Value, &mut Vec<Stmt>); 2],
    ) -> Lower<Value> {
        let [(a_at, a, a_stmts), (b_at, b, b_stmts)] = branches;
        let dtype = |v: &Value| match v {
            Value::Scalar(s) => Some(s.dtype()),
            Value::Bool(_) => Some(DType::Bool),
            _ => None,
        };
        let number =
            |v: &Value| matches!(v, Value::Scalar(_) | Value::Bool(_) | Value::Float(_) | Value::Int(_));
        if number(&a) && number(&b) {
            let dtype = dtype(&a).or(dtype(&b)).unwrap_or(crate::variable::UNTYPED);
            let (x, y) = (self.as_number(a_at, a, dtype)?, self.as_number(b_at, b, dtype)?);
            let var = self.output.new_var("picked".into());
            a_stmts.push(Stmt::Leaf(Leaf::AssignNumber { var: var.clone(), value: x }));
            b_stmts.push(Stmt::Leaf(Leaf::AssignNumber { var: var.clone(), value: y }));
            self.output.push(Stmt::Leaf(Leaf::LetNumber {
                var: var.clone(),
                value: Scalar::Const { bits: 0, dtype },
            }));
            return Ok(self.number_of(&var, dtype));
        }
        let shape = |lowering: &Self, v: &Value| match v {
            Value::Lazy(lazy) => Some((lazy.shape.clone(), lazy.value.dtype())),
            Value::Tensor(t) => {
                let extents: Option<Vec<i64>> = t.shape().iter().map(Expr::as_const).collect();
                extents.filter(|_| lowering.register_of(t).is_some()).map(|shape| (shape, t.dtype))
            }
            _ => None,
        };
        match (shape(self, &a), shape(self, &b)) {
            (Some(x), Some(y)) if x == y => {
                let (_, tensor) = self.new_register(hint.unwrap_or("picked"), x.1, x.0, id);
                for (at, value, stmts) in [(a_at, a, a_stmts), (b_at, b, b_stmts)] {
                    self.output.open(std::mem::take(stmts));
                    let done = match value {
                        Value::Tensor(src) => self.copy_values(at, at, &src, id, &tensor),
                        lazy => self.assign_lazy(id, &tensor, at, lazy),
                    };
                    *stmts = self.output.close();
                    done?;
                }
                Ok(Value::Tensor(tensor))
            }
            _ => {
                let message = format!(
                    "found {} and {}, expected two values of one type from a run-time condition",
                    a.what(),
                    b.what()
                );
                self.fail(&codes::TYPE_MISMATCH, id, message)
            }
        }
    }

    pub(crate) fn bad_dtype<T>(
        &mut self,
        at: ExprId,
        found: DType,
        other: ExprId,
        wanted: DType,
    ) -> Lower<T> {
        let error = self
            .error(
                &codes::DTYPE_MISMATCH,
                at,
                format!("expected `{wanted}`, found elements of type `{found}`"),
            )
            .label(format!("this is `{found}`"))
            .also(self.place(other), format!("this is `{wanted}`"))
            .help(format!("`cast(…, {wanted})` converts element by element"));
        Err(self.report(error))
    }
}

/// Returns the tensor with its modes permuted: mode `i` is mode `order[i]` of `t`.
pub(crate) fn permuted(t: &Tensor, order: &[usize]) -> Tensor {
    let mut view = t.view.clone();
    view.modes = order.iter().filter_map(|&i| t.view.modes.get(i).cloned()).collect();
    t.with_view(view)
}
