//! Counters: their making, the loops over them, and the accesses to their tensors.
//!
//! All scopes of a block that loop over a counter take the same numbers, so each of them loops over it exactly once, whatever
//! happens at run time: a scope that took no numbers would keep all others waiting.

use hx_base::codes;
use hx_dtype::DType;
use hx_hir::{ExprId, Name, Pat, PatId, Stmt as HirStmt};
use hx_index::{CmpOp, Cond, Expr, Symbol};
use hx_tile::{
    Base, Control, Counter, CounterId, Op, ParamId, Requirement, Rounds, ScopeId, Stmt, TileProgram,
};

use crate::builtin_call::BuiltinCall;
use crate::error::{Lower, LowerError};
use crate::lowering::{Around, Lowering, MadeCounter};
use crate::origins::OriginPlace;
use crate::value::{Tensor, Value};

impl<'db> Lowering<'db> {
    /// Lowers `counter(c, n)`.
    pub(crate) fn counter_of(&mut self, call: &BuiltinCall<'_, 'db>) -> Lower<Value> {
        let [tensor, count] = self.first(call)?;
        if self.depth > 0 {
            let message = "found a counter made inside of a loop, an `if` or a role";
            let error = self
                .error(&codes::MISUSED_COUNTER, call.id, message)
                .help("make it before `warp_groups`, in the statements of the block");
            return Err(self.report(error));
        }
        if self.grid.has_clusters() {
            let what = "a counter of a kernel with `cluster`, whose blocks would have to draw together,";
            return self.unsupported(call.id, what);
        }
        let param = self.counted_tensor(tensor)?;
        let count = self.count(count)?;
        let limit = count.maximum(&Expr::default(), &self.facts);
        let place = self.place(call.id);
        if let Some(other) = self.made_counters.iter().find(|made| made.counter.param == param) {
            let (other, name) = (other.place.clone(), self.base_name(Base::Global(param)).to_owned());
            let error = self
                .error(&codes::MISUSED_COUNTER, call.id, format!("found a second counter of `{name}`"))
                .also(other, "the first one is made here")
                .help("each counter draws from a tensor of its own");
            return Err(self.report(error));
        }
        self.require_draws(call.id, param, &limit)?;
        let name = self.output.unique_name(call.hint.unwrap_or("counter"));
        let origin = self.origin(call.id);
        let counter = Counter { name, param, limit, origin };
        self.made_counters.push(MadeCounter { counter, count, place, id: None, loops: Vec::new() });
        Ok(Value::Counter(self.made_counters.len() - 1))
    }

    /// Returns the parameter that a counter draws from: a whole tensor `mut i32[1]`.
    fn counted_tensor(&mut self, at: ExprId) -> Lower<ParamId> {
        let tensor = self.tensor(at)?;
        self.want_mutable(at, &tensor)?;
        if let Some(param) = whole_param(&tensor) {
            return Ok(param);
        }
        let found = format!(
            "a {} `{}{}`",
            tensor.space(),
            tensor.dtype,
            crate::lowering::shape_text(&tensor.shape())
        );
        let message = format!("expected a parameter `mut i32[1]`, found {found} to count in");
        self.fail(&codes::TYPE_MISMATCH, at, message)
    }

    /// Returns the number of numbers to draw, in terms of what a launch decides.
    fn count(&mut self, at: ExprId) -> Lower<Expr> {
        let count = self.int(at)?;
        let grid = self.grid.axes().to_vec();
        let count = count.substitute(&self.facts, &|symbol| match symbol {
            Symbol::GridDim(axis) => grid.get(usize::from(*axis)).cloned(),
            _ => None,
        });
        let of_launch =
            |symbol: &Symbol| matches!(symbol, Symbol::Dim(_) | Symbol::Scalar(_) | Symbol::Multiprocessors);
        if let Some(symbol) = count.symbols().into_iter().find(|symbol| !of_launch(symbol)) {
            let error = self
                .error(
                    &codes::NOT_CONSTANT,
                    at,
                    format!("found a count that depends on `{symbol}`, expected one that the launch decides"),
                )
                .help("all blocks draw from one counter, so all must know the same count");
            return Err(self.report(error));
        }
        Ok(count)
    }

    /// Makes the launch refuse more draws than the counter can count: one for each number, and one more for each block.
    fn require_draws(&mut self, at: ExprId, param: ParamId, limit: &Expr) -> Lower<()> {
        let blocks = self.grid.blocks();
        let (draws, most) = (limit.clone() + blocks.clone(), Expr::constant(i64::from(i32::MAX)));
        let name = self.base_name(Base::Global(param));
        let text = format!("counter({name}): {limit} + {blocks} <= {most}");
        match Cond::cmp(CmpOp::Le, draws.clone(), most.clone(), &self.facts) {
            Cond::True => Ok(()),
            Cond::False => {
                let message = format!(
                    "found {draws} draws, one for each number and each block, expected at most {most}"
                );
                self.fail(&codes::LITERAL_OUT_OF_RANGE, at, message)
            }
            cond => {
                self.output.require(Requirement { cond, text });
                Ok(())
            }
        }
    }

    /// Lowers `for t in work` of a counter.
    pub(crate) fn drawn_loop(
        &mut self,
        stmt: &HirStmt,
        (pat, iterable, body): (PatId, ExprId, ExprId),
        made: usize,
    ) -> Lower<()> {
        for name in ["unroll", "peel"] {
            if stmt.attrs.iter().any(|attr| attr.name == name) {
                let message = format!("found `#[{name}]` on a loop over a counter");
                let error = self
                    .error(&codes::MISUSED_COUNTER, iterable, message)
                    .note("the rounds and their number are known only when the loop runs");
                return Err(self.report(error));
            }
        }
        self.expect_alone(iterable, made)?;
        let place = self.place(iterable);
        self.made_counters[made].loops.push((self.scopes.here(), place));
        // A number that is drawn shows that the count is not negative.
        let count = self.made_counters[made].count.clone();
        if self.facts.proves_le(&count, &Expr::default()) {
            return Ok(());
        }
        self.enter_loop(Some(pat), None, body);
        let name: Name = match &self.store()[pat] {
            Pat::Bind(name) => name.clone(),
            _ => "_".into(),
        };
        let var = self.output.new_var(name);
        self.facts.at_least(var.clone(), 0);
        self.facts.at_most(var.clone(), count - Expr::constant(1));
        self.around.push(Around { word: "loop", place: self.place(iterable) });
        let (result, stmts) = self.rounds(pat, &var, body);
        self.around.pop();
        if !stmts.is_empty() {
            let counter = self.counter_id(made);
            let rounds = Rounds::Drawn { counter, scope: self.scopes.here(), origin: self.origin(iterable) };
            self.output.push(Stmt::Control(Control::For { var, rounds, body: stmts }));
        }
        result
    }

    /// Returns the number of a counter in the program, which its first loop assigns.
    fn counter_id(&mut self, made: usize) -> CounterId {
        let made = &mut self.made_counters[made];
        *made.id.get_or_insert_with(|| self.output.add_counter(made.counter.clone()))
    }

    /// Checks that the executing threads loop over a counter for the first time, and outside of loops and branches.
    fn expect_alone(&mut self, at: ExprId, made: usize) -> Lower<()> {
        let name = self.made_counters[made].counter.name.clone();
        if let Some(Around { word, place }) = self.around.last().cloned() {
            let message = format!("found a loop over the counter `{name}` inside of {}", article(word));
            let error = self
                .error(&codes::MISUSED_COUNTER, at, message)
                .also(place, format!("this is the {word}"))
                .note("every scope that loops over a counter does so once: the others wait for it");
            return Err(self.report(error));
        }
        let here = self.scopes.here();
        let shares = |scope: ScopeId| scope == here || scope == ScopeId::BLOCK || here == ScopeId::BLOCK;
        let earlier = self.made_counters[made].loops.iter().find(|(scope, _)| shares(*scope));
        let Some((_, earlier)) = earlier.cloned() else { return Ok(()) };
        let error = self
            .error(&codes::MISUSED_COUNTER, at, format!("found a second loop over the counter `{name}`"))
            .also(earlier, "these threads loop over it here already")
            .note("the first loop takes all numbers")
            .help("a counter of another tensor hands out numbers again");
        Err(self.report(error))
    }

    /// Evaluates the body of a loop or branch. `word` and the place name the construct in errors.
    pub(crate) fn inside<T>(
        &mut self,
        word: &'static str,
        at: ExprId,
        inside: impl FnOnce(&mut Self) -> Lower<T>,
    ) -> Lower<T> {
        let place = self.place(at);
        self.around.push(Around { word, place });
        let result = inside(self);
        self.around.pop();
        result
    }

    /// Refuses other accesses to the tensors of counters. No number is read from one, because its tensor is `mut`.
    pub(crate) fn check_counters(&mut self, program: &TileProgram) {
        let mut found: Vec<(usize, OriginPlace)> = Vec::new();
        for (number, made) in self.made_counters.iter().enumerate() {
            let param = made.counter.param;
            let touches = |op: &Op| {
                op.kind.description().accesses.iter().any(|access| access.base() == Base::Global(param))
            };
            let ops = program.ops(1.0).into_iter().filter(|(op, _)| touches(op));
            found.extend(ops.map(|(op, _)| (number, self.origins.get(op.origin).clone())));
        }
        for (number, OriginPlace { place, call }) in found {
            let made = &self.made_counters[number];
            let name = program.tensor_param(made.counter.param).map_or("", |tensor| tensor.name.as_str());
            let message = format!("found another access to `{name}`, which a counter draws from");
            let mut error = LowerError::new(&codes::MISUSED_COUNTER, place, message)
                .also(made.place.clone(), "the counter is made here")
                .note("other blocks draw from it at the same time");
            error.calls.extend(self.origins.calls(call));
            self.diagnostics.add(error);
        }
    }
}

/// Returns the parameter if the tensor is all of an `i32[1]` in global memory.
fn whole_param(tensor: &Tensor) -> Option<ParamId> {
    let Base::Global(param) = tensor.view.base else { return None };
    let one = |shape: &[Expr]| matches!(shape, [extent] if extent.as_const() == Some(1));
    let whole =
        one(&tensor.shape()) && tensor.view.offsets.iter().all(Expr::is_zero) && tensor.view.picked.is_none();
    (whole && tensor.dtype == DType::I32 && tensor.view.offsets.len() == 1).then_some(param)
}

fn article(word: &str) -> String {
    if word.starts_with('`') { format!("an {word}") } else { format!("another {word}") }
}
