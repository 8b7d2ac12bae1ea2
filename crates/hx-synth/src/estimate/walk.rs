//! Walks the statements of one role on the clock of one of its groups, and notes the steady state of each loop along a pipeline.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Cond, Expr, Symbol};
use hx_tile::{
    Control, Cost, CounterId, Leaf, OpId, OpKind, PipeId, ResourceCycles, Rounds, Stmt, SyncOp, TileProgram,
};

use super::clock::Clock;
use super::known::{self, Read, Values};
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
    /// The tensors of the launch. `None` without a launch: conditions then take the branch of more cycles, and loops repeat their
    /// first rounds, because the values of symbols stand for any block.
    launch: Option<&'p Read<'p>>,
    /// The statements that may still be walked round by round.
    left: usize,
    /// The loops along pipelines around the present statement.
    depth: usize,
}

/// Rounds of a loop that are walked: the last one is its steady state, which the other rounds repeat.
const WALKED: usize = 3;
/// Limit on the rounds of a loop that are walked one by one, because inner loops or conditions may depend on the round.
const ROUNDS: usize = 64;
/// Limit on the statements of a walk in rounds beyond [`WALKED`].
const STATEMENTS: usize = 20_000;

impl<'p> Walk<'p> {
    pub(super) fn new(
        program: &'p TileProgram,
        costs: &'p BTreeMap<OpId, Cost>,
        values: Values,
        floors: &'p BTreeMap<LoopId, f64>,
        clock: Clock,
        launch: Option<&'p Read<'p>>,
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
            launch,
            left: STATEMENTS,
            depth: 0,
        }
    }

    /// Walks statements that run `times` times in the block.
    pub(super) fn body(&mut self, body: &[Stmt], times: f64) {
        for stmt in body {
            self.left = self.left.saturating_sub(1);
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => {
                    let cost = self.costs.get(&op.id).copied().unwrap_or_default();
                    self.clock.pass(op, &cost);
                    *self.executions.entry(op.id).or_default() += times;
                }
                Stmt::Control(Control::For { var, rounds, body }) => {
                    let count = self.count(rounds);
                    let first = match rounds {
                        Rounds::Range { start, .. } => self.value(start),
                        Rounds::Drawn { .. } => Some(0),
                    };
                    let rounds = if self.is_walked_whole(var, body, count) { count as usize } else { WALKED };
                    let is_whole = rounds > WALKED;
                    self.repeated(body, [count, times], rounds, |walk, round| {
                        // The first round is itself, and the others stand for those in the middle.
                        let by = if is_whole {
                            round as i64
                        } else if round > 0 {
                            count as i64 / 2
                        } else {
                            0
                        };
                        walk.set(var, first.and_then(|first| first.checked_add(by)));
                    });
                    self.values.remove(var);
                }
                Stmt::Control(Control::While { cond, body, .. }) => self.while_holds(cond, body, times),
                Stmt::Control(Control::If { cond, then, otherwise }) => match self.decided(cond) {
                    Some(true) => self.body(then, times),
                    Some(false) => self.body(otherwise, times),
                    None => self.slower([then, otherwise], times),
                },
                Stmt::Leaf(Leaf::Let { var, value } | Leaf::Assign { var, value }) => {
                    self.set(var, self.value(value));
                }
                // Each role has a walk of its own.
                Stmt::Control(Control::Roles(_)) => {}
                Stmt::Leaf(Leaf::LoadScalar { var, src, .. }) => {
                    self.set(var, self.launch.and_then(|read| known::loaded(&self.values, read, src)));
                }
                Stmt::Leaf(Leaf::LetNumber { var, .. } | Leaf::AssignNumber { var, .. }) => {
                    self.values.remove(var);
                }
            }
        }
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        known::value(&self.values, expr)
    }

    /// Sets the value of a variable, or forgets it.
    fn set(&mut self, var: &Symbol, value: Option<i64>) {
        match value {
            Some(value) => {
                self.values.insert(var.clone(), value);
            }
            None => {
                self.values.remove(var);
            }
        }
    }

    /// Reports whether a condition holds in the block that is walked; `None` without a launch, or if that is unknown.
    fn decided(&self, cond: &Cond) -> Option<bool> {
        self.launch?;
        known::holds(&self.values, cond)
    }

    /// Reports whether all rounds of a loop are walked, each with its own number.
    fn is_walked_whole(&self, var: &Symbol, body: &[Stmt], count: f64) -> bool {
        self.launch.is_some()
            && count > WALKED as f64
            && count <= ROUNDS as f64
            && body.len() * count as usize <= self.left
            && varies(body, &mut BTreeSet::from([var.clone()]))
    }

    /// Walks a loop while its condition holds. If that is not known, the loop has [`UNKNOWN_TRIPS`] rounds.
    fn while_holds(&mut self, cond: &Cond, body: &[Stmt], times: f64) {
        // The rounds of a loop along a pipeline are compared with those of other roles, so they have a steady state.
        if self.decided(cond).is_none() || Along::of(body).is_some() {
            self.assumed = true;
            return self.repeated(body, [UNKNOWN_TRIPS, times], WALKED, |_, _| {});
        }
        let mut rounds = 0;
        while self.decided(cond) == Some(true) && rounds < ROUNDS && self.left > 0 {
            self.body(body, times);
            rounds += 1;
        }
        // The loop goes on beyond the limit, or on a condition that became unknown.
        if self.decided(cond) != Some(false) {
            self.assumed = true;
            self.repeated(body, [UNKNOWN_TRIPS, times], WALKED, |_, _| {});
        }
    }

    /// Returns the number of rounds of a loop. Blocks that draw from a counter get equal shares of its numbers.
    fn count(&mut self, rounds: &Rounds) -> f64 {
        let known = match rounds {
            Rounds::Range { start, end, .. } => {
                rounds.count().or_else(|| Some(self.value(end)?.saturating_sub(self.value(start)?).max(0)))
            }
            Rounds::Drawn { counter, .. } => self.drawn(*counter),
        };
        self.assumed |= known.is_none();
        known.map_or(UNKNOWN_TRIPS, |n| n as f64)
    }

    fn drawn(&self, counter: CounterId) -> Option<i64> {
        let blocks = known::blocks(&self.values, self.program)?.max(1);
        let limit = self.value(&self.program.counter(counter).limit)?;
        Some(limit.saturating_add(blocks - 1) / blocks)
    }

    /// Walks `walked` rounds of a loop of `count` rounds that runs `times` times in the block, and repeats the last of them for the
    /// others. `enter` sets the number of a round before it is walked.
    fn repeated(
        &mut self,
        body: &[Stmt],
        [count, times]: [f64; 2],
        walked: usize,
        enter: impl Fn(&mut Self, usize),
    ) {
        let along = Along::of(body);
        let floor = along.as_ref().map_or(0.0, |along| self.floor(along, count));
        self.depth += usize::from(along.is_some());
        let mut before = self.clock.clone();
        let walked = walked.min(count as usize);
        // The steady state of a loop that is walked whole is the mean of its rounds without the first ones.
        let mut steady = (before.clone(), 1.0);
        for round in 0..walked {
            before = self.clock.clone();
            if round + 1 == WALKED.min(walked) {
                steady = (before.clone(), (walked - round) as f64);
            }
            enter(self, round);
            // The last round stands for those that are not walked.
            let for_rounds = if round + 1 == walked { count - round as f64 } else { 1.0 };
            self.body(body, times * for_rounds);
            if let Some(along) = &along {
                self.clock.wait_until(along.id, before.now + floor);
                if round + 1 == walked {
                    self.note(along, &steady, times * count);
                }
            }
        }
        if count > walked as f64 && walked > 0 {
            let (end, taken) = (self.clock.now, self.clock.resources);
            self.clock.repeat(&before, count - walked as f64);
            // If the last round has an inner loop along a pipeline, that loop ends later by the same cycles.
            if self.last.0 > before.now {
                self.last.0 += self.clock.now - end;
                self.last.1 += self.clock.resources - taken;
            }
        }
        if along.is_some() {
            self.depth -= 1;
            self.last = (self.clock.end(), self.clock.resources);
        }
    }

    /// Returns the cycles that a round of a loop of `count` rounds takes at least. A short loop within another loop along pipelines has none
    /// if the stages of its pipelines hold all of its rounds: the outer loop waits for the other roles, once for all of these rounds.
    fn floor(&self, along: &Along, count: f64) -> f64 {
        let fits =
            |(pipe, stages): (&PipeId, &f64)| stages * count <= f64::from(self.program.pipe(*pipe).stages);
        if self.depth > 0 && along.stages.iter().all(fits) {
            return 0.0;
        }
        self.floors.get(&along.id).copied().unwrap_or(0.0)
    }

    /// Notes the mean of the last rounds of a loop: the state before them, and their number. A loop in another loop is walked several
    /// times: its last rounds count, and the numbers of its rounds add up.
    fn note(&mut self, along: &Along, (before, of): &(Clock, f64), rounds: f64) {
        let waits = self.clock.waits.iter();
        let waits = waits.map(|(op, all)| (*op, (all - before.waits.get(op).copied().unwrap_or(0.0)) / of));
        let earlier = self.rounds.iter().find(|other| other.id == along.id).map_or(0.0, |other| other.rounds);
        let round = Round {
            id: along.id,
            stages: along.stages.clone(),
            reads: along.reads,
            cycles: (self.clock.now - before.now) / of,
            resources: (self.clock.resources - before.resources) * (1.0 / of),
            waits: waits.filter(|(_, cycles)| *cycles > 0.0).collect(),
            rounds: earlier + rounds,
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

/// Reports whether inner loops or conditions of a body depend on numbers that change from round to round. `varying` are such numbers
/// before the body; those that the body sets are added.
fn varies(body: &[Stmt], varying: &mut BTreeSet<Symbol>) -> bool {
    let mut set = |var: &Symbol| varying.insert(var.clone());
    for stmt in body {
        if let Stmt::Leaf(Leaf::Let { var, .. } | Leaf::Assign { var, .. } | Leaf::LoadScalar { var, .. }) =
            stmt
        {
            set(var);
        }
    }
    let uses = |symbols: BTreeSet<Symbol>, varying: &BTreeSet<Symbol>| !symbols.is_disjoint(varying);
    body.iter().any(|stmt| match stmt {
        Stmt::Leaf(_) => false,
        Stmt::Control(Control::For { rounds, body, .. }) => {
            let bounds = match rounds {
                Rounds::Range { start, end, .. } => [start, end].iter().flat_map(|e| e.symbols()).collect(),
                Rounds::Drawn { .. } => BTreeSet::new(),
            };
            uses(bounds, varying) || varies(body, varying)
        }
        Stmt::Control(Control::While { cond, body, .. }) => {
            uses(cond.symbols(), varying) || varies(body, varying)
        }
        Stmt::Control(Control::If { cond, then, otherwise }) => {
            uses(cond.symbols(), varying) || varies(then, varying) || varies(otherwise, varying)
        }
        Stmt::Control(Control::Roles(_)) => false,
    })
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
