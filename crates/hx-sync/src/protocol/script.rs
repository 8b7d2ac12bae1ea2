//! Unrolls what each group does under a launch. Nothing branches on an arrival, so positions in pipelines are known without
//! running.

use std::collections::BTreeMap;

use hx_index::{Expr, Symbol};
use hx_tile::{OpId, TensorId};

use super::launches::Launch;
use super::program::Multicast;
use super::{Act, Place, Protocol, Role, Stmt};

/// The most steps of a launch. A launch with more is not followed.
const MOST_STEPS: usize = 60_000;

/// The operations of one group of a block, in order.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) block: u32,
    /// The index of the block along each axis of the grid.
    pub(crate) place: [i64; 3],
    pub(crate) group: u32,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) op: OpId,
    pub(crate) team: Team,
    pub(crate) kind: StepKind,
}

/// The groups that run a statement together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Team {
    pub(crate) first: u32,
    pub(crate) groups: u32,
}

/// As [`Act`], with numbers in place of expressions. `n` counts the stages of a pipe from the first on, without end: the
/// stage is `n` modulo the number of stages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepKind {
    Acquire { pipe: u32, n: u32 },
    Wait { pipe: u32, n: u32 },
    Release { pipe: u32, n: u32 },
    Fill { pipe: u32, n: u32, into: Option<Span>, bytes: u64, multicast: Option<Cast> },
    Copy(Span),
    Commit,
    WaitCopies(u32),
    Access { span: Span, write: bool },
    Touch { tensor: TensorId, write: bool },
    Multiply { c: TensorId, registers: Vec<TensorId>, shared: Vec<Span>, asynchronous: bool },
    WaitProducts(u32),
    Store(Option<Span>),
    WaitStores(u32),
    Take(u32),
    Pass(u32),
    Sync,
    Meet { axis: u8 },
    SyncCluster,
}

/// A copy for all blocks of the cluster along an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cast {
    pub(crate) axis: u8,
    /// The coordinates of the tile that the block copies.
    pub(crate) source: Vec<i64>,
}

/// A part of a shared tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) tensor: TensorId,
    /// The group whose own tensor it is.
    pub(crate) owner: Option<u32>,
    /// In each dimension the first coordinate and how many follow.
    pub(crate) ranges: Vec<(i64, i64)>,
}

impl Span {
    pub(crate) fn overlaps(&self, other: &Span) -> bool {
        let meet = |((a, m), (b, n)): (&(i64, i64), &(i64, i64))| *a < b + n && *b < a + m;
        self.tensor == other.tensor
            && self.owner == other.owner
            && self.ranges.iter().zip(&other.ranges).all(meet)
    }

    /// Reports whether the other part lies within this one.
    pub(crate) fn covers(&self, other: &Span) -> bool {
        let within = |((a, m), (b, n)): (&(i64, i64), &(i64, i64))| a <= b && b + n <= a + m;
        self.tensor == other.tensor
            && self.owner == other.owner
            && self.ranges.iter().zip(&other.ranges).all(within)
    }
}

/// The scripts of all groups of all blocks of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Scripts {
    pub(crate) all: Vec<Script>,
    /// Whether data decide a condition.
    pub(crate) assumed: bool,
}

/// Returns the scripts of a launch; `None` if the launch does not decide what groups do, or if the scripts are too long.
/// `assume` is the truth of conditions that data decide.
pub(crate) fn scripts(protocol: &Protocol, launch: &Launch, assume: bool) -> Option<Scripts> {
    let (mut left, mut assumed) = (MOST_STEPS, false);
    let mut scripts = Vec::new();
    for (block, values) in (0..).zip(&launch.blocks) {
        let index = |axis: u8| values.get(&Symbol::BlockIdx(axis)).copied().unwrap_or(0);
        let place = [index(0), index(1), index(2)];
        for group in 0..protocol.groups {
            let mut unroller = Unroller {
                stages: protocol.pipes.iter().map(|pipe| pipe.stages.max(1)).collect(),
                values,
                locals: Vec::new(),
                group,
                team: Team { first: 0, groups: protocol.groups },
                positions: BTreeMap::new(),
                held: BTreeMap::new(),
                filling: BTreeMap::new(),
                assume,
                assumed: false,
                left,
                steps: Vec::new(),
            };
            // The roles know the locals of the block.
            protocol.body.iter().try_for_each(|stmt| unroller.stmt(stmt))?;
            let within = |role: &&Role| (role.first..role.first + role.groups).contains(&group);
            if let Some(role) = protocol.roles.iter().find(within) {
                unroller.role(role)?;
            }
            left = unroller.left;
            assumed |= unroller.assumed;
            scripts.push(Script { block, place, group, steps: unroller.steps });
        }
    }
    Some(Scripts { all: scripts, assumed })
}

struct Unroller<'a> {
    /// The number of stages of each pipe.
    stages: Vec<u32>,
    /// The symbols that the launch decides.
    values: &'a BTreeMap<Symbol, i64>,
    locals: Vec<(Symbol, Option<i64>)>,
    group: u32,
    team: Team,
    /// The next stage of a pipe, for a team that acquires (`true`) or waits.
    positions: BTreeMap<(u32, Team, bool), u32>,
    /// The stages that a team waited for and has not given back, oldest first.
    held: BTreeMap<(u32, Team), Vec<u32>>,
    /// The stage of a pipe that was acquired last.
    filling: BTreeMap<u32, u32>,
    /// The truth of conditions that data decide, and whether there was one.
    assume: bool,
    assumed: bool,
    left: usize,
    steps: Vec<Step>,
}

impl Unroller<'_> {
    fn role(&mut self, role: &Role) -> Option<()> {
        self.team = match role.each {
            true => Team { first: self.group, groups: 1 },
            false => Team { first: role.first, groups: role.groups },
        };
        if let Some(index) = &role.index {
            self.locals.push((index.clone(), Some(i64::from(self.group - role.first))));
        }
        self.body(&role.body)
    }

    fn body(&mut self, body: &[Stmt]) -> Option<()> {
        let depth = self.locals.len();
        for stmt in body {
            self.stmt(stmt)?;
        }
        self.locals.truncate(depth);
        Some(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Act(op, act) => self.act(*op, act)?,
            Stmt::For { var, start, end, body } => {
                let (start, end) = (self.value(start)?, self.value(end)?);
                for counter in start..end {
                    self.left = self.left.checked_sub(1)?;
                    self.locals.push((var.clone(), Some(counter)));
                    self.body(body)?;
                    self.locals.pop();
                }
            }
            Stmt::If { cond, then, otherwise } => {
                let holds = match cond.eval(&|symbol| self.symbol(symbol)) {
                    Ok(holds) => holds,
                    // Two groups may not decide alike what moves positions or counters.
                    Err(_) if then.iter().chain(otherwise).any(Stmt::counts) => return None,
                    Err(_) => {
                        self.assumed = true;
                        self.assume
                    }
                };
                self.body(if holds { then } else { otherwise })?;
            }
            Stmt::Let { var, value } => {
                let value = self.value(value);
                self.locals.push((var.clone(), value));
            }
            Stmt::Assign { var, value } => {
                let value = self.value(value);
                let local = self.locals.iter_mut().rev().find(|(symbol, _)| symbol == var);
                local.into_iter().for_each(|(_, known)| *known = value);
            }
        }
        Some(())
    }

    fn symbol(&self, symbol: &Symbol) -> Option<i64> {
        match self.locals.iter().rev().find(|(local, _)| local == symbol) {
            Some((_, value)) => *value,
            None => self.values.get(symbol).copied(),
        }
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        expr.as_const().or_else(|| expr.eval(&|symbol| self.symbol(symbol)).ok())
    }

    /// Returns the part of the tensor, or `None` if data decide it. Nothing can be said of an access at an unknown place.
    fn span(&self, place: &Place) -> Option<Span> {
        let range = |(start, len): &(Expr, i64)| Some((self.value(start)?, *len));
        let ranges = place.ranges.iter().map(range).collect::<Option<_>>()?;
        Some(Span { tensor: place.tensor, owner: place.own.then_some(self.group), ranges })
    }

    fn push(&mut self, op: OpId, kind: StepKind) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        self.steps.push(Step { op, team: self.team, kind });
        Some(())
    }

    /// Returns the next stage of a pipe, without end, and defines the number of the stage.
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

    fn release(&mut self, op: OpId, pipe: u32, keep: u32) -> Option<()> {
        let held = self.held.entry((pipe, self.team)).or_default();
        let given = held.len().saturating_sub(keep as usize);
        let given: Vec<u32> = held.drain(..given).collect();
        given.into_iter().try_for_each(|n| self.push(op, StepKind::Release { pipe, n }))
    }

    fn skip(&mut self, pipe: u32, count: &Expr) -> Option<()> {
        let count = u32::try_from(self.value(count)?).ok()?;
        for acquires in [false, true] {
            let position = self.positions.entry((pipe, self.team, acquires)).or_default();
            *position = position.checked_add(count)?;
        }
        Some(())
    }

    /// Fills the stage that the team acquired last.
    fn fill(
        &mut self,
        op: OpId,
        pipe: u32,
        into: Option<&Place>,
        bytes: u64,
        multicast: Option<&Multicast>,
    ) -> Option<()> {
        let Some(&n) = self.filling.get(&pipe) else { return Some(()) };
        let into = into.and_then(|place| self.span(place));
        let source = |source: &Expr| self.value(source);
        let multicast = match multicast {
            Some(cast) => {
                let source = cast.source.iter().map(source).collect::<Option<_>>()?;
                Some(Cast { axis: cast.axis, source })
            }
            None => None,
        };
        self.push(op, StepKind::Fill { pipe, n, into, bytes, multicast })
    }

    fn act(&mut self, op: OpId, act: &Act) -> Option<()> {
        // One thread of the scope does the bulk copies.
        let first = self.group == self.team.first;
        match act {
            Act::Acquire { pipe, var } => {
                let n = self.next(*pipe, true, var.as_ref());
                self.filling.insert(*pipe, n);
                self.push(op, StepKind::Acquire { pipe: *pipe, n })
            }
            Act::Wait { pipe, var } => {
                let n = self.next(*pipe, false, var.as_ref());
                self.held.entry((*pipe, self.team)).or_default().push(n);
                self.push(op, StepKind::Wait { pipe: *pipe, n })
            }
            Act::Release { pipe, keep } => self.release(op, *pipe, *keep),
            Act::Skip { pipe, count } => self.skip(*pipe, count),
            Act::Fill { pipe, into, bytes, multicast } if first => {
                self.fill(op, *pipe, into.as_ref(), *bytes, multicast.as_ref())
            }
            Act::Store { from } if first => {
                let from = from.as_ref().and_then(|place| self.span(place));
                self.push(op, StepKind::Store(from))
            }
            Act::WaitStores { leave } if first => self.push(op, StepKind::WaitStores(*leave)),
            Act::Fill { .. } | Act::Store { .. } | Act::WaitStores { .. } => Some(()),
            Act::Copy { into } => match self.span(into) {
                Some(into) => self.push(op, StepKind::Copy(into)),
                None => Some(()),
            },
            Act::Access { place, write } => match self.span(place) {
                Some(span) => self.push(op, StepKind::Access { span, write: *write }),
                None => Some(()),
            },
            Act::Multiply(operands) => {
                let shared = operands.shared.iter().filter_map(|place| self.span(place)).collect();
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
            Act::Sync => self.push(op, StepKind::Sync),
            Act::Meet { axis } => self.push(op, StepKind::Meet { axis: *axis }),
            Act::SyncCluster => self.push(op, StepKind::SyncCluster),
        }
    }
}
