//! Walks the statements of one role on the clock of one of its groups, and notes the steady state of each loop along a pipeline.

use std::collections::BTreeMap;

use hx_index::{Expr, Symbol};
use hx_tile::{
    Control, Cost, CounterId, Leaf, OpId, OpKind, PipeId, ResourceCycles, Rounds, Stmt, SyncOp, TileProgram,
};

use super::clock::Clock;
use crate::constraints::component::UNKNOWN_TRIPS;

/// Identifies a loop by its first operation on a pipeline.
pub(super) type LoopId = OpId;

/// The steady state of a loop along pipelines.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) id: LoopId,
    /// The number of stages of each pipeline that a round fills or waits for.
    pub(super) stages: BTreeMap<PipeId, f64>,
    /// The loop waits for stages; else it only fills them.
    pub(super) reads: bool,
    pub(super) cycles: f64,
    pub(super) resources: ResourceCycles,
    pub(super) waits: BTreeMap<OpId, f64>,
    /// Rounds in the whole block.
    pub(super) rounds: f64,
}

/// The values of symbols, as far as they are known.
pub(super) type Values = BTreeMap<Symbol, i64>;

/// A walk over the statements of a role.
pub(super) struct Walk<'p> {
    program: &'p TileProgram,
    pub(super) costs: &'p BTreeMap<OpId, Cost>,
    pub(super) values: Values,
    /// The cycles that a round of a loop takes at least, because of other roles and of shared resources.
    pub(super) floors: &'p BTreeMap<LoopId, f64>,
    pub(super) clock: Clock,
    pub(super) rounds: Vec<Round>,
    /// The end of the last loop along a pipeline, with its products, and the cycles of the resources until then.
    pub(super) last: (f64, ResourceCycles),
    /// Some loop has no known number of rounds.
    pub(super) assumed: bool,
    /// The number of times that the group executes each operation in the block.
    pub(super) executions: BTreeMap<OpId, f64>,
}

/// Rounds of a loop that are walked: the last one is its steady state, which the other rounds repeat.
const WALKED: usize = 3;

impl<'p> Walk<'p> {
    pub(super) fn new(
        program: &'p TileProgram,
        costs: &'p BTreeMap<OpId, Cost>,
        values: Values,
        floors: &'p BTreeMap<LoopId, f64>,
        clock: Clock,
    ) -> Walk<'p> {
        Walk {
            program,
            costs,
            values,
            floors,
            clock,
            rounds: Vec::new(),
            last: (0.0, ResourceCycles::default()),
            assumed: false,
            executions: BTreeMap::new(),
        }
    }

    /// Walks statements that run `times` times in the block.
    pub(super) fn body(&mut self, body: &[Stmt], times: f64) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => {
                    let cost = self.costs.get(&op.id).copied().unwrap_or_default();
                    self.clock.pass(op, &cost);
                    self.executions.insert(op.id, times);
                }
                Stmt::Control(Control::For { var, rounds, body }) => {
                    let count = self.count(rounds);
                    let first = match rounds {
                        Rounds::Range { start, .. } => self.value(start),
                        Rounds::Drawn { .. } => Some(0),
                    };
                    self.values.extend(first.map(|first| (var.clone(), first)));
                    self.repeated(body, count, times);
                    self.values.remove(var);
                }
                Stmt::Control(Control::While { body, .. }) => {
                    self.assumed = true;
                    self.repeated(body, UNKNOWN_TRIPS, times);
                }
                Stmt::Control(Control::If { then, otherwise, .. }) => self.slower([then, otherwise], times),
                Stmt::Leaf(Leaf::Let { var, value } | Leaf::Assign { var, value }) => match self.value(value)
                {
                    Some(value) => {
                        self.values.insert(var.clone(), value);
                    }
                    None => {
                        self.values.remove(var);
                    }
                },
                // Each role has a walk of its own.
                Stmt::Control(Control::Roles(_)) => {}
                Stmt::Leaf(
                    Leaf::LoadScalar { var, .. }
                    | Leaf::LetNumber { var, .. }
                    | Leaf::AssignNumber { var, .. },
                ) => {
                    self.values.remove(var);
                }
            }
        }
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        expr.eval(&|symbol| self.values.get(symbol).copied()).ok()
    }

    /// Returns the number of rounds of a loop. Blocks that draw from a counter get equal shares of its numbers.
    fn count(&mut self, rounds: &Rounds) -> f64 {
        let known = match rounds {
            Rounds::Range { start, end, .. } => {
                rounds.count().or_else(|| Some((self.value(end)? - self.value(start)?).max(0)))
            }
            Rounds::Drawn { counter, .. } => self.drawn(*counter),
        };
        self.assumed |= known.is_none();
        known.map_or(UNKNOWN_TRIPS, |n| n as f64)
    }

    fn drawn(&self, counter: CounterId) -> Option<i64> {
        let axes = (0..self.program.grid.len()).map(|axis| self.values.get(&Symbol::GridDim(axis as u8)));
        let blocks = axes.map(Option::<&i64>::copied).product::<Option<i64>>()?.max(1);
        let limit = self.value(&self.program.counter(counter).limit)?;
        Some((limit + blocks - 1) / blocks)
    }

    fn repeated(&mut self, body: &[Stmt], count: f64, times: f64) {
        let along = Along::of(body);
        let mut before = self.clock.clone();
        for round in 0..WALKED.min(count as usize) {
            before = self.clock.clone();
            self.body(body, times * count);
            if let Some(along) = &along {
                let floor = self.floors.get(&along.id).copied().unwrap_or(0.0);
                self.clock.wait_until(along.id, before.now + floor);
                if round + 1 == WALKED.min(count as usize) {
                    self.note(along, &before, times * count);
                }
            }
        }
        if count > WALKED as f64 {
            let (end, taken) = (self.clock.now, self.clock.resources);
            self.clock.repeat(&before, count - WALKED as f64);
            // If the last round has an inner loop along a pipeline, that loop ends later by the same cycles.
            if self.last.0 > before.now {
                self.last.0 += self.clock.now - end;
                self.last.1 += self.clock.resources - taken;
            }
        }
        if along.is_some() {
            self.last = (self.clock.end(), self.clock.resources);
        }
    }

    /// Notes the last round of a loop. A loop in another loop is walked several times: its last round counts.
    fn note(&mut self, along: &Along, before: &Clock, rounds: f64) {
        let waits = self.clock.waits.iter();
        let waits = waits.map(|(op, all)| (*op, all - before.waits.get(op).copied().unwrap_or(0.0)));
        let round = Round {
            id: along.id,
            stages: along.stages.clone(),
            reads: along.reads,
            cycles: self.clock.now - before.now,
            resources: self.clock.resources - before.resources,
            waits: waits.filter(|(_, cycles)| *cycles > 0.0).collect(),
            rounds,
        };
        self.rounds.retain(|other| other.id != along.id);
        self.rounds.push(round);
    }

    /// Walks the branch of a condition that takes more cycles: the first one of equal ones.
    fn slower(&mut self, branches: [&[Stmt]; 2], times: f64) {
        let start = (self.clock.clone(), self.values.clone(), self.last);
        self.body(branches[0], times);
        let first = (self.clock.clone(), self.values.clone(), self.last);
        (self.clock, self.values, self.last) = start;
        self.body(branches[1], times);
        if self.clock.now <= first.0.now {
            (self.clock, self.values, self.last) = first;
        }
    }
}

/// The stages of each pipeline that a loop passes in a round, by its own statements; inner loops have entries of their own.
struct Along {
    id: LoopId,
    stages: BTreeMap<PipeId, f64>,
    reads: bool,
}

impl Along {
    fn of(body: &[Stmt]) -> Option<Along> {
        let mut along: Option<Along> = None;
        for stmt in body {
            let Stmt::Leaf(Leaf::Op(op)) = stmt else { continue };
            let OpKind::Sync(ref sync @ (SyncOp::Acquire { pipe, .. } | SyncOp::WaitStage { pipe, .. })) =
                op.kind
            else {
                continue;
            };
            let found =
                along.get_or_insert_with(|| Along { id: op.id, stages: BTreeMap::new(), reads: false });
            *found.stages.entry(pipe).or_default() += 1.0;
            found.reads |= matches!(sync, SyncOp::WaitStage { .. });
        }
        along
    }
}
