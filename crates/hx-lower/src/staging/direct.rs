//! Loads whose values only products read, each by way of a shared tensor of its own: the load is then free of the layouts of the
//! products, and they of its.  Barriers stand where the text has none.

use std::collections::BTreeMap;

use hx_tile::{Base, OpKind, Param, Stmt, SyncOp, Tensor, TensorId, View};

use super::loads::{Load, is_loop, loads_of};
use super::uses::Readers;
use crate::forms::Loads;
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

    /// Stages loads among some statements. Asynchronous copies take the places of loads if the target has them for the tile; other tiles are
    /// loaded as before, and stored before the first statement that reads a buffer. All of them are in flight together until then.
    fn stage_own(&mut self, stmts: &mut Vec<Stmt>, own: &[Load], readers: &Readers, again: bool) {
        let mut fills: BTreeMap<usize, (Stmt, TensorId, bool)> = BTreeMap::new();
        for load in own {
            let like = self.output.tensor(load.tile).clone();
            // A wait for all groups would also wait for those of the text.
            let is_async = !readers.have_groups && self.narrow(&load.src).is_none();
            let (name, binder) = match is_async {
                true => (like.name.clone(), like.binder),
                false => (self.output.unique_name(&format!("{}_shared", like.name)), None),
            };
            let like = Tensor { binder, ..like };
            let buffer = self.shared_like(&like, name, None);
            let held = View::whole(Base::Register(load.tile), &like.shape);
            let view = self.staged_tile(buffer, None);
            self.read_from(stmts, load.tile, &view, readers);
            let kind = match is_async {
                true => OpKind::CopyAsync { src: load.src.clone(), dst: view, signal: None, multicast: None },
                false => OpKind::Copy { src: held, dst: view },
            };
            fills.insert(load.at, (self.op_of(load, kind), buffer, is_async));
        }
        let shared: Vec<TensorId> = fills.values().map(|(_, buffer, _)| *buffer).collect();
        let load = &own[0];
        let mut groups: Vec<Group> = Vec::new();
        let (mut copied, mut stored) = (None::<Group>, Vec::new());
        for (at, stmt) in std::mem::take(stmts).into_iter().enumerate() {
            if (copied.is_some() || !stored.is_empty()) && reads(&stmt, &shared) {
                if copied.is_some() {
                    stmts.push(self.op_of(load, OpKind::Sync(SyncOp::Commit)));
                    stmts.push(self.op_of(load, OpKind::Sync(SyncOp::Wait { groups: 0 })));
                }
                groups.extend(copied.take());
                let (stores, buffers): (Vec<Stmt>, Vec<TensorId>) =
                    std::mem::take(&mut stored).into_iter().unzip();
                if !stores.is_empty() {
                    groups.push(Group { first: stmts.len(), buffers });
                }
                stmts.extend(stores);
                stmts.push(self.barrier(load));
            }
            match fills.remove(&at) {
                Some((copy, buffer, true)) => {
                    copied
                        .get_or_insert(Group { first: stmts.len(), buffers: Vec::new() })
                        .buffers
                        .push(buffer);
                    stmts.push(copy);
                }
                Some((store, buffer, false)) => {
                    stmts.push(stmt);
                    stored.push((store, buffer));
                }
                None => stmts.push(stmt),
            }
        }
        if again {
            self.part_rounds(stmts, &groups, load);
        }
    }

    /// Parts the writes of buffers from the reads in the round before, where no barrier does so.
    fn part_rounds(&mut self, stmts: &mut Vec<Stmt>, groups: &[Group], load: &Load) {
        let is_barrier = |stmt: &Stmt| match stmt.op() {
            Some(op) => op.kind == OpKind::Sync(SyncOp::Scope) && op.scope == load.scope,
            None => false,
        };
        let mut added = 0;
        for group in groups {
            let first = group.first + added;
            let last = stmts.iter().rposition(|stmt| reads(stmt, &group.buffers)).unwrap_or(first);
            let between = stmts[last..].iter().chain(&stmts[..first]);
            if !between.into_iter().any(is_barrier) {
                stmts.insert(first, self.barrier(load));
                added += 1;
            }
        }
    }
}

/// Buffers that statements from one on fill together.
struct Group {
    /// The index of the first of these statements.
    first: usize,
    buffers: Vec<TensorId>,
}

fn reads(stmt: &Stmt, shared: &[TensorId]) -> bool {
    stmt.ops().any(|op| op.kind.tensors().iter().any(|tensor| shared.contains(tensor)))
}
