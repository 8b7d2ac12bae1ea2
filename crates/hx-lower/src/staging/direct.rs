//! Loads whose values only products read, each by way of a shared tensor of its own: the load is then free of the layouts of the
//! products, and they of its.  Barriers stand where the text has none.

use std::collections::BTreeMap;

use hx_tile::{Base, OpKind, Param, Stmt, SyncOp, Tensor, TensorId, View};

use super::uses::Readers;
use super::{Load, Loads, is_loop, loads_of};
use crate::lowering::Lowering;

impl Lowering<'_> {
    /// Stages such loads if the forms ask for it. Returns whether there are any.
    pub(super) fn stage_directly(&mut self, body: &mut Vec<Stmt>) -> bool {
        let readers = Readers::of(body);
        self.stage_in(body, &readers, false)
    }

    /// Stages the loads among some statements and in those inside of them. `again` is true inside of a loop.
    fn stage_in(&mut self, stmts: &mut Vec<Stmt>, readers: &Readers, again: bool) -> bool {
        let mut found = false;
        for stmt in stmts.iter_mut() {
            let again = again || is_loop(stmt);
            for body in stmt.bodies_mut() {
                found |= self.stage_in(body, readers, again);
            }
        }
        let own: Vec<Load> = loads_of(self, stmts)
            .into_iter()
            .filter(|load| self.is_free(load.tile) && !self.is_packed(load))
            .filter(|load| {
                readers.feeds_products_only(load.tile) && readers.are_in(load.tile, &stmts[load.at + 1..])
            })
            .collect();
        if self.forms.loads == Loads::Staged && !own.is_empty() {
            self.stage_own(stmts, &own, readers, again);
        }
        found || !own.is_empty()
    }

    fn is_free(&self, tile: TensorId) -> bool {
        !self.output.tensor(tile).kind.is_pinned()
    }

    /// Reports whether the source's elements are in an order of their own, which its reader has chosen.
    fn is_packed(&self, load: &Load) -> bool {
        let param = load.src.base.param().and_then(|param| self.output.param(param));
        matches!(param, Some(Param::Tensor(param)) if param.block.is_some())
    }

    /// Stages loads among some statements. Their stores stand before the first statement that reads one of the buffers, so that all
    /// loads before it are in flight together.
    fn stage_own(&mut self, stmts: &mut Vec<Stmt>, own: &[Load], readers: &Readers, again: bool) {
        let mut stores: BTreeMap<usize, Stmt> = BTreeMap::new();
        let mut shared = Vec::new();
        for load in own {
            let like = self.output.tensor(load.tile).clone();
            let name = self.output.unique_name(&format!("{}_shared", like.name));
            let like = Tensor { binder: None, ..like };
            let buffer = self.shared_like(&like, name, None);
            let [held, view] =
                [Base::Register(load.tile), Base::Shared(buffer)].map(|base| View::whole(base, &like.shape));
            self.read_from(stmts, load.tile, &view, readers);
            stores.insert(load.at, self.op_of(load, OpKind::Copy { src: held, dst: view }));
            shared.push(buffer);
        }
        let (mut groups, mut waiting): (Vec<usize>, Vec<Stmt>) = Default::default();
        for (at, stmt) in std::mem::take(stmts).into_iter().enumerate() {
            if !waiting.is_empty() && reads(&stmt, &shared) {
                groups.push(stmts.len());
                stmts.append(&mut waiting);
                stmts.push(self.barrier(&own[0]));
            }
            stmts.push(stmt);
            waiting.extend(stores.remove(&at));
        }
        if again {
            self.part_rounds(stmts, &groups, &own[0]);
        }
    }

    /// Parts the stores of buffers, which begin at these places, from the reads in the round before, where no barrier does so.
    fn part_rounds(&mut self, stmts: &mut Vec<Stmt>, groups: &[usize], load: &Load) {
        let is_barrier = |stmt: &Stmt| match stmt.op() {
            Some(op) => op.kind == OpKind::Sync(SyncOp::Scope) && op.scope == load.scope,
            None => false,
        };
        let mut added = 0;
        for first in groups {
            let first = first + added;
            let stores = stmts[first..].iter().map_while(|stmt| match stmt.op().map(|op| &op.kind) {
                Some(OpKind::Copy { dst, .. }) => dst.base.shared(),
                _ => None,
            });
            let buffers: Vec<TensorId> = stores.collect();
            let last = stmts.iter().rposition(|stmt| reads(stmt, &buffers)).unwrap_or(first);
            let between = stmts[last..].iter().chain(&stmts[..first]);
            if !between.into_iter().any(is_barrier) {
                stmts.insert(first, self.barrier(load));
                added += 1;
            }
        }
    }
}

fn reads(stmt: &Stmt, shared: &[TensorId]) -> bool {
    stmt.ops().any(|op| op.kind.tensors().iter().any(|tensor| shared.contains(tensor)))
}
