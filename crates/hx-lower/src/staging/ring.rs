//! `for i in a..b pipelined(n)`: the loads of global memory in the body are made `n - 1` rounds ahead, into rings of `n` stages of shared
//! memory. This module finds the loop and the loads. The loop becomes what one writes by hand: with a pipeline, whose stages the copies
//! signal ([`signalled`](super::signalled)), or with groups of copies ([`groups`](super::groups)).

use hx_base::codes;
use hx_index::{Expr, Facts, Symbol};
use hx_target::Mode;
use hx_tile::{
    Access, Base, Control, Leaf, OpKind, Origin, Picked, Rounds, ScopeId, Stmt, SyncOp, TensorId, View,
};

use super::loads::{Load, each_expr, each_stmt, is_loop, loads_of};
use super::uses::Readers;
use crate::error::LowerError;
use crate::forms::{Pipelined, Rings};
use crate::lowering::Lowering;

/// A ring is not offered to a loop of fewer rounds: most of them would wait for their tiles as before.
const FEW_ROUNDS: i64 = 4;

/// A load that is made ahead, and its ring.
pub(super) struct Ahead {
    pub(super) load: Load,
    pub(super) ring: TensorId,
}

/// A loop that reads ahead.
pub(super) struct Ring<'a> {
    pub(super) pipelined: &'a Pipelined,
    /// The first number of the counter, and the one behind its last.
    pub(super) range: (Expr, Expr),
    /// The threads that run the loop, and the place of what it adds.
    pub(super) at: (ScopeId, Origin),
    /// Whether the loop is inside of another one.
    pub(super) again: bool,
    pub(super) ahead: &'a [Ahead],
    pub(super) readers: &'a Readers,
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
        let is_it = |stmt: &Stmt| matches!(stmt, Stmt::Control(Control::For { var, .. }) if *var == pipelined.counter);
        if let Some(at) = stmts.iter().position(is_it) {
            let mut own = stmts.remove(at);
            if let Stmt::Control(Control::For { rounds: Rounds::Range { start, end, .. }, body, .. }) =
                &mut own
            {
                let range = (start.clone(), end.clone());
                let (before, behind) = self.in_stages(body, range, pipelined, readers, again);
                let all = before.into_iter().chain([own]).chain(behind);
                stmts.splice(at..at, all);
            }
            return;
        }
        for stmt in stmts {
            let again = again || is_loop(stmt);
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
        let loads = match pipelined.is_offered {
            false => self.ahead(body, pipelined),
            true if (end.clone() - start.clone()).as_const().is_some_and(|rounds| rounds < FEW_ROUNDS) => {
                Vec::new()
            }
            true => self.offered(body, pipelined, readers),
        };
        let Some(first) = loads.first() else { return (Vec::new(), Vec::new()) };
        let at = (first.scope, pipelined.origin);
        let is_signalled = self.forms.rings != Rings::Groups
            && first.scope == ScopeId::BLOCK
            && loads.iter().all(|load| self.narrow(&load.src).is_none());
        let mut ahead = Vec::new();
        for load in loads {
            let like = self.output.tensor(load.tile).clone();
            let is_replaced = readers.feeds_products_only(load.tile);
            let name = if is_replaced {
                like.name.clone()
            } else {
                self.output.unique_name(&format!("{}_ring", like.name))
            };
            let ring = self.shared_like(&like, name, Some(pipelined.stages));
            ahead.push(Ahead { load, ring });
        }
        let ring = Ring { pipelined, range: (start, end), at, again, ahead: &ahead, readers };
        if is_signalled { self.signalled_ring(body, &ring) } else { self.ring_of_groups(body, &ring) }
    }

    /// Reports whether the tile of every round from `end` on lies outside of its tensor, so that nothing is read for it.
    pub(super) fn ends_with_tensor(&self, load: &Load, pipelined: &Pipelined, end: &Expr) -> bool {
        let at_end = |symbol: &Symbol| (*symbol == pipelined.counter).then(|| end.clone());
        let shape = self.base_shape(load.src.base);
        load.src.offsets.iter().zip(&shape).any(|(offset, extent)| {
            offset.mentions(&pipelined.counter)
                && self.facts.proves_le(extent, &offset.substitute(&self.facts, &at_end))
        })
    }

    /// Removes the loads from the body: their readers take the tile from a stage.
    pub(super) fn take_from_rings(&mut self, body: &mut Vec<Stmt>, ring: &Ring<'_>, stage: &Expr) {
        let readers = ring.readers;
        let mut tail = std::mem::take(body);
        for Ahead { load, ring } in ring.ahead.iter().rev() {
            let view = self.staged_tile(*ring, Some(stage.clone()));
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

    /// Returns the loads of a body without `pipelined` that could be made ahead for products, if all of its loads could.
    fn offered(&mut self, body: &[Stmt], pipelined: &Pipelined, readers: &Readers) -> Vec<Load> {
        let loads = loads_of(self, body);
        let is_free = |load: &Load| {
            readers.feeds_products_only(load.tile) && self.why_late(body, load, pipelined).is_none()
        };
        if Readers::of(body).have_groups || !loads.iter().all(is_free) {
            return Vec::new();
        }
        if !loads.is_empty() {
            self.notes.add_offered(pipelined.place.clone());
        }
        loads
    }

    /// Returns the loads of a body that can be made ahead. The others are remarked on; if there are only others, they are an error.
    fn ahead(&mut self, body: &[Stmt], pipelined: &Pipelined) -> Vec<Load> {
        if Readers::of(body).have_groups {
            let message = "found `pipelined` on a loop whose body has groups of asynchronous copies";
            let error = LowerError::new(&codes::NOTHING_AHEAD, pipelined.place.clone(), message);
            self.report(error.help(
                "`pipelined` forms groups of its own: `load` the tiles, or write the whole ring by hand",
            ));
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
        each_stmt(body, &mut |stmt| {
            if let Stmt::Leaf(Leaf::Assign { var, .. } | Leaf::AssignNumber { var, .. }) = stmt {
                changed.push(var.clone());
            }
            let Some(op) = stmt.op() else { return };
            let description = op.kind.description();
            let writes = |access: &Access<'_>| access.base() == load.src.base && access.mode != Mode::Read;
            is_written |= description.accesses.iter().any(writes);
            is_awaited |= op.kind == OpKind::Sync(SyncOp::WaitPrevious);
            if let OpKind::Atomic(atomic) = &op.kind {
                is_awaited |= atomic.order.acquires();
            }
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
                let is_inside =
                    matches!(&symbol, Symbol::Var(_, number) if *number >= pipelined.first_inside);
                if symbol != pipelined.counter && (is_inside || changed.contains(&symbol)) {
                    made.get_or_insert(symbol);
                }
            }
        });
        made.map(|symbol| format!("its place depends on `{symbol}`, which the round computes"))
    }
}

/// Returns a view with other values in place of symbols.
pub(super) fn with_counter(view: &View, with: &dyn Fn(&Symbol) -> Option<Expr>, facts: &Facts) -> View {
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
