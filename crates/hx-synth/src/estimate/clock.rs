//! The clock of one group of threads: the cycle that it has reached, and the products, stores and copies that it has in flight.

use std::collections::{BTreeMap, VecDeque};

use hx_target::{Form, Target};
use hx_tile::{Cost, Op, OpId, OpKind, Order, PipeId, Resource, ResourceCycles, SyncOp, TensorId};

/// Operations of one kind that run one after the other beside the threads.
#[derive(Clone, Debug, Default)]
struct Flight {
    /// The cycles at which the operations in flight end, in their order, each with the delay until a wait for it returns, in
    /// cycles.
    ends: VecDeque<(f64, f64)>,
    free: f64,
}

impl Flight {
    fn start(&mut self, now: f64, cycles: f64, latency: f64) {
        self.free = self.free.max(now) + cycles;
        self.ends.push_back((self.free, latency));
    }

    /// Returns the cycle at which at most `leave` operations are in flight.
    fn wait(&mut self, now: f64, leave: usize) -> f64 {
        let mut then = now;
        while self.ends.len() > leave {
            let (end, latency) = self.ends.pop_front().unwrap_or_default();
            then = then.max(end + latency);
        }
        then
    }

    fn shift(&mut self, cycles: f64) {
        self.free += cycles;
        self.ends.iter_mut().for_each(|(end, _)| *end += cycles);
    }
}

/// The state of one group of threads at a place of its text.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Cycles from the end of a group's turn until the next group goes on.
    hand_over: f64,
    pub(super) now: f64,
    /// The cycles in which the threads execute instructions.
    pub(super) busy: f64,
    pub(super) resources: ResourceCycles,
    /// The cycles of the waits at each operation.
    pub(super) waits: BTreeMap<OpId, f64>,
    /// The cycle at which the first stage of each pipeline arrives. The first wait for it removes the entry.
    pub(super) arrivals: BTreeMap<PipeId, f64>,
    products: Flight,
    stores: Flight,
    copies: Flight,
    /// Numbers of the copies without a pipeline in each closed group, oldest group first.
    groups: VecDeque<usize>,
    /// The cycle at which the values of a register tensor have come from a memory, and their load. The first operation on the tensor
    /// removes the entry.
    loaded: BTreeMap<TensorId, (f64, OpId)>,
}

impl Clock {
    /// Returns the clock of a group that starts now.
    pub(super) fn new(target: Target, arrivals: BTreeMap<PipeId, f64>) -> Clock {
        Clock { hand_over: target.costs().hand_over, arrivals, ..Clock::default() }
    }

    /// Returns the cycle at which all products that have started have left the matrix units; the current cycle if they have.
    pub(super) fn end(&self) -> f64 {
        self.products.free.max(self.now)
    }

    /// Advances the clock over an operation that the group executes.
    pub(super) fn pass(&mut self, op: &Op, cost: &Cost) {
        let of_op = op.kind.registers();
        for tensor in &of_op {
            if let Some((then, load)) = self.loaded.remove(tensor) {
                self.wait_until(load, then);
            }
        }
        self.now += cost.threads;
        self.busy += cost.threads;
        self.resources += cost.resources;
        match op.kind.description().form {
            // A product whose threads issue it all is complete afterwards: nothing of it is in flight.
            Some(Form::Product) if cost.threads == 0.0 => {
                let cycles = cost.resources[Resource::Tensor].max(cost.resources[Resource::Shared]);
                self.products.start(self.now, cycles, cost.latency);
            }
            Some(Form::BulkStore | Form::BulkAdd) => {
                self.stores.start(self.now, cost.resources[Resource::Global], 0.0);
            }
            Some(Form::CopyInGroup) => {
                self.copies.start(self.now, cost.resources[Resource::Global], cost.latency);
            }
            // Loads are in flight until their values are used.
            None if matches!(op.kind, OpKind::Copy { .. }) => {
                let then = self.now + cost.latency;
                self.loaded.extend(
                    of_op
                        .into_iter()
                        .filter(|tensor| op.kind.writes(*tensor))
                        .map(|tensor| (tensor, (then, op.id))),
                );
            }
            // A stage of a pipeline counts the copies to its barrier, and a sum over the cluster waits for what others send.
            Some(Form::Product | Form::CopyToBarrier | Form::BulkLoad | Form::Send) | None => {}
        }
        if let OpKind::Sync(sync) = &op.kind {
            self.order(op, sync);
        }
    }

    fn order(&mut self, op: &Op, sync: &SyncOp) {
        let then = match op.kind.description().order {
            Order::WaitProducts(leave) => self.products.wait(self.now, leave as usize),
            Order::WaitStores { leave, .. } => self.stores.wait(self.now, leave as usize),
            Order::Close => {
                let open: usize = self.groups.iter().sum();
                self.groups.push_back(self.copies.ends.len() - open);
                self.now
            }
            Order::Wait(groups) => {
                while self.groups.len() > groups as usize {
                    self.groups.pop_front();
                }
                let leave: usize = self.groups.iter().sum();
                self.copies.wait(self.now, leave)
            }
            Order::Scope | Order::Warp | Order::Await | Order::Arrive | Order::Nothing => {
                if let SyncOp::Pass { .. } = sync {
                    // Other groups run while the products of this group run, so only the part of the hand-over that exceeds
                    // them is exposed.
                    let over = self.now + self.hand_over - self.end();
                    self.now + over.max(0.0)
                } else if let SyncOp::WaitStage { pipe, .. } = sync {
                    self.arrivals.remove(pipe).unwrap_or(0.0)
                } else {
                    // Other roles answer other waits: the loops of the roles are compared with each other.
                    self.now
                }
            }
        };
        self.wait_until(op.id, then);
    }

    /// Waits at an operation until cycle `then`, if that is not over.
    pub(super) fn wait_until(&mut self, op: OpId, then: f64) {
        if then > self.now {
            *self.waits.entry(op).or_default() += then - self.now;
            self.now = then;
        }
    }

    /// Repeats `times` the difference between an earlier state and this one.
    pub(super) fn repeat(&mut self, before: &Clock, times: f64) {
        let shift = (self.now - before.now) * times;
        self.now += shift;
        self.busy += (self.busy - before.busy) * times;
        self.resources += (self.resources - before.resources) * times;
        for (op, cycles) in &mut self.waits {
            *cycles += (*cycles - before.waits.get(op).copied().unwrap_or(0.0)) * times;
        }
        [&mut self.products, &mut self.stores, &mut self.copies].into_iter().for_each(|f| f.shift(shift));
        self.loaded.values_mut().for_each(|(then, _)| *then += shift);
    }
}
