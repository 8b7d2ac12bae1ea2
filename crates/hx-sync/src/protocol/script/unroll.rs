//! The statements of one group, one after the other.

use std::collections::BTreeMap;

use hx_index::{Cond, Expr, Symbol};
use hx_tile::{OpId, TensorId};

use super::super::launch::{Launch, Pattern};
use super::super::program::{Far, Multicast};
use super::super::reach::Reach;
use super::super::{Act, Place, Protocol, Role, Stmt};
use super::names::Names;
use super::{Cast, FarSpan, MOST_STEPS, See, Sight, Span, Step, StepKind, Team, Unfollowed};

/// The most rounds of a loop that data end.
const MOST_ROUNDS: i64 = 4096;
/// The largest number of a stage, counted without end, to which a launch may skip.
const MOST_STAGES: u32 = 1 << 16;

type Done = Result<(), Unfollowed>;

pub(super) struct Unroller<'a> {
    /// The number of stages of each pipe.
    pub(super) stages: Vec<u32>,
    /// The symbols that the launch decides.
    pub(super) values: &'a BTreeMap<Symbol, i64>,
    /// The data that the launch reads.
    pub(super) pattern: Pattern,
    pub(super) block: u32,
    /// The data that the groups have read so far.
    pub(super) names: &'a mut Names,
    /// The name of the data that a register tensor holds.
    pub(super) data: BTreeMap<TensorId, u64>,
    /// The number of reads of the group from each place whose data change, by the place's name.
    pub(super) turns: BTreeMap<u64, u64>,
    /// The values of locals, the innermost last; `None` if unknown. A floating-point number is given by its bits.
    pub(super) locals: Vec<(Symbol, Option<i64>)>,
    pub(super) group: u32,
    pub(super) team: Team,
    /// The next stage of a pipe, for a team that acquires (`true`) or waits.
    pub(super) positions: BTreeMap<(u32, Team, bool), u32>,
    /// The stages that a team waited for and has not given back, oldest first.
    pub(super) held: BTreeMap<(u32, Team), Vec<u32>>,
    /// For each barrier of several groups, the number of times that the group has come there.
    pub(super) comings: BTreeMap<u32, u32>,
    /// The stage of a pipe that was acquired last.
    pub(super) filling: BTreeMap<u32, u32>,
    pub(super) see: See<'a>,
    /// Draws the single round of a loop that is run, below the number of rounds that it is given. With `None`, all rounds are
    /// run.
    pub(super) chance: Option<&'a mut dyn FnMut(i64) -> i64>,
    /// Whether the launch runs the statement. A drawn walk also goes through loops without rounds and branches that are not taken.
    reached: bool,
    pub(super) left: usize,
    pub(super) steps: Vec<Step>,
}

impl<'a> Unroller<'a> {
    pub(super) fn new(
        protocol: &Protocol,
        launch: &'a Launch,
        (block, group): (u32, u32),
        (names, see): (&'a mut Names, See<'a>),
    ) -> Unroller<'a> {
        Unroller {
            stages: protocol.pipes.iter().map(|pipe| pipe.stages.max(1)).collect(),
            values: &launch.blocks[block as usize],
            pattern: launch.pattern,
            block,
            names,
            data: BTreeMap::new(),
            turns: BTreeMap::new(),
            locals: Vec::new(),
            group,
            team: Team { first: 0, groups: protocol.groups },
            positions: BTreeMap::new(),
            held: BTreeMap::new(),
            filling: BTreeMap::new(),
            comings: BTreeMap::new(),
            see,
            chance: None,
            reached: true,
            left: MOST_STEPS,
            steps: Vec::new(),
        }
    }

    /// Runs the statements of the block, and those of the group's role, which know the locals of the block.
    pub(super) fn group(&mut self, protocol: &Protocol) -> Done {
        protocol.body.iter().try_for_each(|stmt| self.stmt(stmt))?;
        let within = |role: &&Role| (role.first..role.first + role.groups).contains(&self.group);
        match protocol.roles.iter().find(within) {
            Some(role) => self.role(role),
            None => Ok(()),
        }
    }

    fn role(&mut self, role: &Role) -> Done {
        self.team = match role.each {
            true => Team { first: self.group, groups: 1 },
            false => Team { first: role.first, groups: role.groups },
        };
        if let Some(index) = &role.index {
            self.locals.push((index.clone(), Some(i64::from(self.group - role.first))));
        }
        self.body(&role.body)
    }

    fn body(&mut self, body: &[Stmt]) -> Done {
        let depth = self.locals.len();
        for stmt in body {
            self.stmt(stmt)?;
        }
        self.locals.truncate(depth);
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Done {
        match self.run(stmt) {
            // The other statements of a drawn walk do not depend on this one.
            Err(Unfollowed::Unknown { .. }) if self.chance.is_some() => Ok(()),
            // Without operations, only the numbers that the statement computes remain unknown.
            Err(Unfollowed::Unknown { .. }) if stmt.first_op().is_none() => {
                self.forget(stmt);
                Ok(())
            }
            done => done,
        }
    }

    fn run(&mut self, stmt: &Stmt) -> Done {
        self.tell_values(stmt);
        match stmt {
            Stmt::Act(op, act) => self.act(*op, act)?,
            Stmt::For { var, start, end, body } => {
                let (first, last) = (self.wanted(start, stmt)?, self.wanted(end, stmt)?);
                let rounds = last.saturating_sub(first).max(0);
                self.tell(Sight::Rounds { of: stmt, rounds });
                let all = match &mut self.chance {
                    Some(chance) => {
                        let one = first.saturating_add(chance(rounds));
                        one..one.saturating_add(1)
                    }
                    None => first..first + rounds,
                };
                for counter in all {
                    self.count()?;
                    self.locals.push((var.clone(), Some(counter)));
                    self.if_reached(rounds > 0, body)?;
                    self.locals.pop();
                }
            }
            Stmt::While { cond, body } => self.repeat(stmt, cond, body)?,
            Stmt::If { cond, then, otherwise } => {
                let holds = self.holds(cond, stmt)?;
                self.tell(Sight::Truth { of: stmt, holds });
                if self.chance.is_some() {
                    self.if_reached(false, if holds { otherwise } else { then })?;
                }
                self.body(if holds { then } else { otherwise })?;
            }
            Stmt::Let { var, value } => {
                let value = self.value(value);
                self.locals.push((var.clone(), value));
            }
            Stmt::Assign { var, value } => {
                let value = self.value(value);
                self.assign(var, value);
            }
            Stmt::Number { var, changes, number } => {
                let value = self.number(var, number);
                match changes {
                    true => self.assign(var, value),
                    false => self.locals.push((var.clone(), value)),
                }
            }
            Stmt::Value(value) => self.give(value),
        }
        Ok(())
    }

    fn repeat(&mut self, stmt: &Stmt, cond: &Cond, body: &[Stmt]) -> Done {
        if self.chance.is_some() {
            return self.body(body);
        }
        let mut rounds = 0;
        while self.holds(cond, stmt)? {
            if rounds == MOST_ROUNDS {
                return Err(Unfollowed::Endless(stmt.first_op()));
            }
            self.count()?;
            self.body(body)?;
            self.tell_values(stmt);
            rounds += 1;
        }
        self.tell(Sight::Rounds { of: stmt, rounds });
        Ok(())
    }

    fn if_reached(&mut self, reached: bool, body: &[Stmt]) -> Done {
        let outer = self.reached;
        self.reached &= reached;
        let done = self.body(body);
        self.reached = outer;
        done
    }

    fn tell(&mut self, sight: Sight<'_>) {
        if self.reached {
            (self.see)(sight);
        }
    }

    fn tell_values(&mut self, stmt: &Stmt) {
        if self.reached {
            let (locals, values) = (&self.locals, self.values);
            (self.see)(Sight::At { of: stmt, values: &|symbol| known(locals, values, symbol) });
        }
    }

    fn assign(&mut self, var: &Symbol, value: Option<i64>) {
        let local = self.locals.iter_mut().rev().find(|(symbol, _)| symbol == var);
        local.into_iter().for_each(|(_, known)| *known = value);
    }

    /// Makes the numbers unknown that a statement or those inside it assign.
    fn forget(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { var, .. } | Stmt::Number { var, changes: true, .. } => self.assign(var, None),
            control => control.bodies().flatten().for_each(|inner| self.forget(inner)),
        }
    }

    fn count(&mut self) -> Done {
        self.left = self.left.checked_sub(1).ok_or(Unfollowed::Long)?;
        Ok(())
    }

    pub(super) fn symbol(&self, symbol: &Symbol) -> Option<i64> {
        known(&self.locals, self.values, symbol)
    }

    pub(super) fn value(&self, expr: &Expr) -> Option<i64> {
        expr.as_const().or_else(|| expr.eval(&|symbol| self.symbol(symbol)).ok())
    }

    /// Returns the value of an expression that decides a statement.
    ///
    /// # Errors
    /// If the value is not known.
    fn wanted(&self, expr: &Expr, stmt: &Stmt) -> Result<i64, Unfollowed> {
        let unknown = || Unfollowed::Unknown { text: expr.to_string(), op: stmt.first_op() };
        self.value(expr).ok_or_else(unknown)
    }

    fn holds(&self, cond: &Cond, stmt: &Stmt) -> Result<bool, Unfollowed> {
        let unknown = |_| Unfollowed::Unknown { text: cond.to_string(), op: stmt.first_op() };
        cond.eval(&|symbol| self.symbol(symbol)).map_err(unknown)
    }

    /// Returns the part of the tensor; `None` if the launch does not decide it. Then the access is skipped, and `see` receives the place.
    fn span(&mut self, op: OpId, place: &Place) -> Option<Span> {
        let mut ranges = Vec::new();
        for (start, reach) in &place.ranges {
            let Some(value) = self.value(start) else {
                (self.see)(Sight::Place { op, at: start });
                return None;
            };
            ranges.push((value, reach.clone()));
        }
        Some(Span { tensor: place.tensor, owner: place.own.then_some(self.group), ranges })
    }

    /// Returns the part of a tensor in global memory, without what lies behind its end. `None` if nothing is left, or if the launch does
    /// not decide it.
    fn far(&self, far: &Far) -> Option<FarSpan> {
        let mut ranges = Vec::new();
        for (start, reach, extent) in &far.ranges {
            let (start, extent) = (self.value(start)?, self.value(extent)?);
            let reach = match reach {
                Reach::Run(length) => Reach::Run((*length).min(extent - start)),
                steps @ Reach::Steps(_) => steps.clone(),
            };
            if start >= extent || matches!(reach, Reach::Run(length) if length <= 0) {
                return None;
            }
            ranges.push((start, reach));
        }
        Some(FarSpan { param: far.param, ranges })
    }

    fn push(&mut self, op: OpId, kind: StepKind) -> Done {
        self.count()?;
        self.steps.push(Step { op, team: self.team, kind });
        Ok(())
    }

    /// Returns the number `n` of the next stage of a pipe, counted without end, and binds `var` to the stage.
    fn next(&mut self, pipe: u32, acquires: bool, var: Option<&Symbol>) -> u32 {
        let position = self.positions.entry((pipe, self.team, acquires)).or_default();
        let n = *position;
        *position += 1;
        if let Some(var) = var {
            let stage = n % self.stages[pipe as usize];
            self.locals.push((var.clone(), Some(i64::from(stage))));
        }
        n
    }

    fn release(&mut self, op: OpId, pipe: u32, keep: u32) -> Done {
        let held = self.held.entry((pipe, self.team)).or_default();
        let given = held.len().saturating_sub(keep as usize);
        let given: Vec<u32> = held.drain(..given).collect();
        given.into_iter().try_for_each(|n| self.push(op, StepKind::Release { pipe, n }))
    }

    fn skip(&mut self, op: OpId, pipe: u32, count: &Expr) -> Done {
        let unknown = || Unfollowed::Unknown { text: count.to_string(), op: Some(op) };
        let skipped = self.value(count).and_then(|count| u32::try_from(count).ok()).ok_or_else(unknown)?;
        for acquires in [false, true] {
            let position = self.positions.entry((pipe, self.team, acquires)).or_default();
            *position =
                position.checked_add(skipped).filter(|at| *at <= MOST_STAGES).ok_or(Unfollowed::Long)?;
        }
        Ok(())
    }

    /// Fills the stage that the team acquired last.
    fn fill(
        &mut self,
        op: OpId,
        pipe: u32,
        into: Option<&Place>,
        bytes: u64,
        multicast: Option<&Multicast>,
    ) -> Done {
        let Some(&n) = self.filling.get(&pipe) else { return Ok(()) };
        let into = into.and_then(|place| self.span(op, place));
        let source = |source: &Expr| {
            let unknown = || Unfollowed::Unknown { text: source.to_string(), op: Some(op) };
            self.value(source).ok_or_else(unknown)
        };
        let multicast = match multicast {
            Some(cast) => {
                let source = cast.source.iter().map(source).collect::<Result<_, _>>()?;
                Some(Cast { axis: cast.axis, source })
            }
            None => None,
        };
        self.push(op, StepKind::Fill { pipe, n, into, bytes, multicast })
    }

    fn act(&mut self, op: OpId, act: &Act) -> Done {
        // One thread of the scope does the bulk copies.
        let first = self.group == self.team.first;
        match act {
            Act::Acquire { pipe, var } => {
                let n = self.next(*pipe, true, var.as_ref());
                self.filling.insert(*pipe, n);
                self.push(op, StepKind::Acquire { pipe: *pipe, n })
            }
            Act::Publish { pipe } => match self.filling.get(pipe) {
                Some(&n) => self.push(op, StepKind::Publish { pipe: *pipe, n }),
                None => Ok(()),
            },
            Act::Wait { pipe, var } => {
                let n = self.next(*pipe, false, var.as_ref());
                self.held.entry((*pipe, self.team)).or_default().push(n);
                self.push(op, StepKind::Wait { pipe: *pipe, n })
            }
            Act::Release { pipe, keep } => self.release(op, *pipe, *keep),
            Act::Skip { pipe, count } => self.skip(op, *pipe, count),
            Act::Fill { pipe, into, bytes, multicast } if first => {
                self.fill(op, *pipe, into.as_ref(), *bytes, multicast.as_ref())
            }
            Act::Store { from, to, adds } if first => {
                let from = from.as_ref().and_then(|place| self.span(op, place));
                let to = to.as_ref().and_then(|far| self.far(far));
                self.push(op, StepKind::Store { from, to, adds: *adds })
            }
            Act::WaitStores { leave, read } if first => {
                self.push(op, StepKind::WaitStores { leave: *leave, read: *read })
            }
            Act::Fill { .. } | Act::Store { .. } | Act::WaitStores { .. } => Ok(()),
            Act::Far { far, mode } => match self.far(far) {
                Some(span) => self.push(op, StepKind::Far { span, mode: *mode }),
                None => Ok(()),
            },
            Act::Copy { into } => match self.span(op, into) {
                Some(into) => self.push(op, StepKind::Copy(into)),
                None => Ok(()),
            },
            Act::Access { place, write } => match self.span(op, place) {
                Some(span) => self.push(op, StepKind::Access { span, write: *write }),
                None => Ok(()),
            },
            Act::Atomic { place, writes, releases } => match self.span(op, place) {
                Some(span) => self.push(op, StepKind::Atomic { span, writes: *writes, releases: *releases }),
                None => Ok(()),
            },
            Act::AwaitFlag { tensor } => self.push(op, StepKind::AwaitFlag { tensor: *tensor }),
            Act::Multiply(operands) => {
                let shared = operands.shared.iter().filter_map(|place| self.span(op, place)).collect();
                let (c, registers) = (operands.c, operands.registers.clone());
                let asynchronous = operands.asynchronous;
                self.push(op, StepKind::Multiply { c, registers, shared, asynchronous })
            }
            Act::Commit => self.push(op, StepKind::Commit),
            Act::WaitCopies { leave } => self.push(op, StepKind::WaitCopies(*leave)),
            Act::Touch { tensor, write } => self.push(op, StepKind::Touch { tensor: *tensor, write: *write }),
            Act::WaitProducts { leave } => self.push(op, StepKind::WaitProducts(*leave)),
            Act::Take { turns } => self.push(op, StepKind::Take(*turns)),
            Act::Pass { turns } => self.push(op, StepKind::Pass(*turns)),
            Act::Come { barrier, waits } => {
                let next = self.comings.entry(*barrier).or_default();
                let n = *next;
                *next += 1;
                self.push(op, StepKind::Come { barrier: *barrier, n })?;
                if *waits { self.push(op, StepKind::AwaitAll { barrier: *barrier, n }) } else { Ok(()) }
            }
            Act::Sync => self.push(op, StepKind::Sync),
            Act::Meet { axis } => self.push(op, StepKind::Meet { axis: *axis }),
            Act::SyncCluster => self.push(op, StepKind::SyncCluster),
        }
    }
}

/// Returns the value of a local or of a symbol of the launch; `None` if it is unknown.
fn known(locals: &[(Symbol, Option<i64>)], values: &BTreeMap<Symbol, i64>, symbol: &Symbol) -> Option<i64> {
    match locals.iter().rev().find(|(local, _)| local == symbol) {
        Some((_, value)) => *value,
        None => values.get(symbol).copied(),
    }
}
