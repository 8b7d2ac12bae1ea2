//! `for i in a..b pipelined(n)`: the loads of global memory in the body are made `n - 1` rounds ahead, into rings of `n` stages of shared
//! memory.
//!
//! The loop becomes what one writes by hand with `copy_async`, `commit` and `wait`: the copies of the first `n - 1` rounds stand before
//! it, and each round waits for its own, meets the other threads, and starts those of `n - 1` rounds later, whose stage was read in the
//! round before.

use hx_base::codes;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_target::Mode;
use hx_tile::{Base, Control, Leaf, Op, OpKind, Picked, Rounds, Stmt, SyncOp, TensorId, View};

use super::uses::Readers;
use super::{Load, Pipelined, each_expr, each_stmt, loads_of};
use crate::error::LowerError;
use crate::lowering::Lowering;

/// A load that is made ahead, and its ring.
struct Ahead {
    load: Load,
    ring: TensorId,
}

impl Lowering<'_> {
    /// Changes the loop of `pipelined`, wherever it is in these statements. `again` is true inside of another loop.
    pub(super) fn read_ahead(
        &mut self,
        stmts: &mut Vec<Stmt>,
        pipelined: &Pipelined,
        readers: &Readers,
        again: bool,
    ) {
        let is_it = |stmt: &Stmt| {
            matches!(stmt, Stmt::Control(Control::For { var, .. }) if *var == pipelined.counter)
        };
        if let Some(at) = stmts.iter().position(is_it) {
            let mut own = stmts.remove(at);
            if let Stmt::Control(Control::For { rounds: Rounds::Range { start, end, .. }, body, .. }) = &mut own {
                let range = (start.clone(), end.clone());
                let (before, behind) = self.in_stages(body, range, pipelined, readers, again);
                let all = before.into_iter().chain([own]).chain(behind);
                stmts.splice(at..at, all);
            }
            return;
        }
        for stmt in stmts {
            let again = again || super::is_loop(stmt);
            stmt.bodies_mut().for_each(|body| self.read_ahead(body, pipelined, readers, again));
        }
    }

    /// Changes the body of the loop, and returns the statements before and behind it.
    fn in_stages(
        &mut self,
        body: &mut Vec<Stmt>,
        (start, end): (Expr, Expr),
        pipelined: &Pipelined,
        readers: &Readers,
        again: bool,
    ) -> (Vec<Stmt>, Vec<Stmt>) {
        let loads = self.ahead(body, pipelined);
        let Some(first) = loads.first() else { return (Vec::new(), Vec::new()) };
        let rings: Vec<TensorId> = loads
            .iter()
            .map(|load| {
                let like = self.output.tensor(load.tile).clone();
                self.shared_like(&like, Some(pipelined.stages))
            })
            .collect();
        let barrier = self.barrier(first);
        let tell = |this: &mut Self, op: SyncOp| {
            let (scope, origin) = (first.scope, pipelined.origin);
            Stmt::Leaf(Leaf::Op(Op { id: this.output.next_op(), kind: OpKind::Sync(op), scope, origin }))
        };
        let (counter, last) = (Expr::symbol(pipelined.counter.clone()), pipelined.stages - 1);
        let mut before = if again { vec![barrier.clone()] } else { Vec::new() };
        let mut round = Vec::new();
        let commits: Vec<Stmt> = (0..=last).map(|_| tell(self, SyncOp::Commit)).collect();
        round.push(tell(self, SyncOp::Wait { groups: u32::try_from(last - 1).unwrap_or_default() }));
        round.push(barrier);
        let done = tell(self, SyncOp::Wait { groups: 0 });
        let loads: Vec<Ahead> = loads.into_iter().zip(rings).map(|(load, ring)| Ahead { load, ring }).collect();
        for (stage, commit) in commits.iter().take(usize::try_from(last).unwrap_or_default()).enumerate() {
            for ahead in &loads {
                let round = start.clone() + Expr::constant(stage as i64);
                before.extend(self.filled(ahead, pipelined, round, &start, &end));
            }
            before.push(commit.clone());
        }
        for ahead in &loads {
            let later = counter.clone() + Expr::constant(last);
            round.extend(self.filled(ahead, pipelined, later, &start, &end));
        }
        round.extend(commits.last().cloned());
        self.take_from_rings(body, &loads, (&counter, &start), pipelined.stages, readers);
        round.append(body);
        *body = round;
        (before, vec![done])
    }

    /// Returns the copy of the tile of one round into its stage.
    fn filled(
        &mut self,
        Ahead { load, ring }: &Ahead,
        pipelined: &Pipelined,
        round: Expr,
        start: &Expr,
        end: &Expr,
    ) -> Vec<Stmt> {
        let (facts, counter) = (&self.facts, &pipelined.counter);
        let src = with_counter(&load.src, &|symbol| (symbol == counter).then(|| round.clone()), facts);
        let stage = (round.clone() - start.clone()).rem(&Expr::constant(pipelined.stages), facts);
        let dst = self.stage_view(*ring, stage);
        let copies = match self.narrow(&src) {
            None => vec![self.op_of(load, OpKind::CopyAsync { src, dst, signal: None, multicast: None })],
            Some(reason) => {
                self.notes.add_passed(load.origin, reason);
                self.through_registers(load, src, dst).into()
            }
        };
        if self.ends_with_tensor(load, pipelined, end) {
            return copies;
        }
        let cond = Cond::cmp(CmpOp::Lt, round, end.clone(), &self.facts);
        match cond {
            Cond::True => copies,
            Cond::False => Vec::new(),
            cond => vec![Stmt::Control(Control::If { cond, then: copies, otherwise: Vec::new() })],
        }
    }

    /// Reports whether the tile of every round from `end` on lies outside of its tensor, so that nothing is read for it.
    fn ends_with_tensor(&self, load: &Load, pipelined: &Pipelined, end: &Expr) -> bool {
        let at_end = |symbol: &Symbol| (*symbol == pipelined.counter).then(|| end.clone());
        let shape = self.base_shape(load.src.base);
        load.src.offsets.iter().zip(&shape).any(|(offset, extent)| {
            offset.mentions(&pipelined.counter)
                && self.facts.proves_le(extent, &offset.substitute(&self.facts, &at_end))
        })
    }

    /// Returns the view of one stage of a ring.
    fn stage_view(&self, ring: TensorId, stage: Expr) -> View {
        let shape = &self.output.tensor(ring).shape;
        let mut view = View::whole(Base::Shared(ring), shape);
        view.modes.pop();
        if let Some(last) = view.offsets.last_mut() {
            *last = stage;
        }
        view
    }

    /// Removes the loads from the body: their readers take the tile from its stage.
    fn take_from_rings(
        &mut self,
        body: &mut Vec<Stmt>,
        loads: &[Ahead],
        (counter, start): (&Expr, &Expr),
        stages: i64,
        readers: &Readers,
    ) {
        let mut tail = std::mem::take(body);
        for Ahead { load, ring } in loads.iter().rev() {
            let stage = (counter.clone() - start.clone()).rem(&Expr::constant(stages), &self.facts);
            let view = self.stage_view(*ring, stage);
            let mut behind = tail.split_off(load.at + 1);
            tail.pop();
            behind.append(body);
            if readers.is_written_once(load.tile) {
                self.read_from(&mut behind, load.tile, &view, readers);
            }
            if !readers.feeds_products_only(load.tile) {
                let shape = self.output.tensor(load.tile).shape.clone();
                let dst = View::whole(Base::Register(load.tile), &shape);
                tail.push(self.op_of(load, OpKind::Copy { src: view, dst }));
            }
            *body = behind;
        }
        tail.append(body);
        *body = tail;
    }

    /// Returns the loads of a body that can be made ahead. The others are remarked on; if there are only others, they are an error.
    fn ahead(&mut self, body: &[Stmt], pipelined: &Pipelined) -> Vec<Load> {
        let has_groups = |op: &Op| {
            matches!(op.kind, OpKind::Sync(SyncOp::Commit | SyncOp::Wait { .. }) | OpKind::CopyAsync { signal: None, .. })
        };
        let mut groups = false;
        each_stmt(body, &mut |stmt| groups |= stmt.op().is_some_and(has_groups));
        if groups {
            let message = "found `pipelined` on a loop whose body has groups of asynchronous copies";
            let error = LowerError::new(&codes::NOTHING_AHEAD, pipelined.place.clone(), message);
            self.report(error.help("`pipelined` forms groups of its own: `load` the tiles, or write the whole ring by hand"));
            return Vec::new();
        }
        let mut ahead = Vec::new();
        let mut late = Vec::new();
        for load in loads_of(self, body) {
            match self.why_late(body, &load, pipelined) {
                None => ahead.push(load),
                Some(reason) => late.push((load, reason)),
            }
        }
        if ahead.is_empty() {
            let message = "found `pipelined` on a loop that loads nothing ahead";
            let mut error = LowerError::new(&codes::NOTHING_AHEAD, pipelined.place.clone(), message);
            for (load, reason) in &late {
                let place = self.origins.get(load.origin).place.clone();
                error = error.also(place, format!("not ahead: {reason}"));
            }
            let help = "it reads ahead what statements of the body itself `load` from global memory, at places that follow from the counter";
            self.report(error.help(help));
            return ahead;
        }
        for (load, reason) in late {
            self.notes.add_late(load.origin, reason);
        }
        ahead
    }

    /// Returns why a load cannot be made in an earlier round; `None` if it can.
    fn why_late(&self, body: &[Stmt], load: &Load, pipelined: &Pipelined) -> Option<String> {
        let name = self.base_name(load.src.base);
        let mut changed = Vec::new();
        let (mut is_written, mut is_awaited) = (false, false);
        each_stmt(body, &mut |stmt| match stmt {
            Stmt::Leaf(Leaf::Assign { var, .. } | Leaf::AssignNumber { var, .. }) => changed.push(var.clone()),
            Stmt::Leaf(Leaf::Op(op)) => {
                let description = op.kind.description();
                is_written |= description.accesses.iter().any(|access| {
                    access.base() == load.src.base && access.mode != Mode::Read
                });
                is_awaited |= match &op.kind {
                    OpKind::Atomic(atomic) => atomic.order.acquires(),
                    OpKind::Sync(SyncOp::WaitPrevious) => true,
                    _ => false,
                };
            }
            _ => {}
        });
        if is_written {
            return Some(format!("the loop writes `{name}`"));
        }
        if is_awaited {
            return Some("the loop waits for values of other blocks or launches".to_owned());
        }
        let mut made = None;
        each_expr(&load.src, &mut |expr| {
            for symbol in expr.symbols() {
                let is_inside = matches!(&symbol, Symbol::Var(_, number) if *number >= pipelined.first_inside);
                if symbol != pipelined.counter && (is_inside || changed.contains(&symbol)) {
                    made.get_or_insert(symbol);
                }
            }
        });
        made.map(|symbol| format!("its place depends on `{symbol}`, which the round computes"))
    }
}

/// Returns a view with other values in place of symbols.
fn with_counter(view: &View, with: &dyn Fn(&Symbol) -> Option<Expr>, facts: &Facts) -> View {
    let mut view = view.clone();
    let change = |expr: &mut Expr| *expr = expr.substitute(facts, with);
    view.offsets.iter_mut().for_each(change);
    view.modes.iter_mut().for_each(|mode| change(&mut mode.factor));
    view.ends.iter_mut().for_each(|(_, end)| change(end));
    if let Some(Picked::Rows(rows)) = &mut view.picked {
        rows.offsets.iter_mut().for_each(change);
        rows.ends.iter_mut().for_each(|(_, end)| change(end));
        [&mut rows.factor, &mut rows.extent].into_iter().for_each(change);
    }
    view
}
