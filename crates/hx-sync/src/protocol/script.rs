//! Unrolls the statements of each group under a launch. No statement branches on an arrival, so positions in pipelines are known without
//! running.

mod names;
mod numbers;
mod unroll;

use hx_index::{Expr, Symbol};
use hx_target::Mode;
use hx_tile::{OpId, ParamId, TensorId};

use self::names::Names;
use self::unroll::Unroller;
use super::launch::Launch;
use super::reach::{self, Reach};
use super::{Protocol, Stmt};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Team {
    pub(crate) first: u32,
    pub(crate) groups: u32,
}

/// As [`Act`](super::Act), with numbers in place of expressions. `n` counts the stages of a pipe from the first on, without
/// end: the stage is `n` modulo the number of stages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepKind {
    Acquire {
        pipe: u32,
        n: u32,
    },
    Publish {
        pipe: u32,
        n: u32,
    },
    Wait {
        pipe: u32,
        n: u32,
    },
    Release {
        pipe: u32,
        n: u32,
    },
    Fill {
        pipe: u32,
        n: u32,
        into: Option<Span>,
        bytes: u64,
        multicast: Option<Cast>,
    },
    Copy(Span),
    Commit,
    WaitCopies(u32),
    Access {
        span: Span,
        write: bool,
    },
    Atomic {
        span: Span,
        writes: bool,
        releases: bool,
    },
    AwaitFlag {
        tensor: TensorId,
    },
    Touch {
        tensor: TensorId,
        write: bool,
    },
    Multiply {
        c: TensorId,
        registers: Vec<TensorId>,
        shared: Vec<Span>,
        asynchronous: bool,
    },
    WaitProducts(u32),
    Store {
        from: Option<Span>,
        to: Option<FarSpan>,
        adds: bool,
    },
    WaitStores {
        leave: u32,
        read: bool,
    },
    Far {
        span: FarSpan,
        mode: Mode,
    },
    Take(u32),
    Pass(u32),
    /// Comes to a barrier of several groups for round `n`, and does not wait.
    Come {
        barrier: u32,
        n: u32,
    },
    /// Waits until all groups have come to the barrier for round `n`.
    AwaitAll {
        barrier: u32,
        n: u32,
    },
    Sync,
    Meet {
        axis: u8,
    },
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
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) tensor: TensorId,
    /// The group whose own tensor it is; `None` if the groups of the block share the tensor.
    pub(crate) owner: Option<u32>,
    /// In each dimension the first coordinate, and all coordinates counted from that one.
    pub(crate) ranges: Vec<(i64, Reach)>,
}

impl Span {
    pub(crate) fn overlaps(&self, other: &Span) -> bool {
        // The last dimension is that of the stages, which differ most often.
        self.tensor == other.tensor
            && self.owner == other.owner
            && self.ranges.iter().zip(&other.ranges).rev().all(|(a, b)| reach::meet(a, b))
    }

    /// Reports whether the other part lies within this one.
    pub(crate) fn covers(&self, other: &Span) -> bool {
        self.tensor == other.tensor
            && self.owner == other.owner
            && self.ranges.iter().zip(&other.ranges).rev().all(|(a, b)| reach::within(a, b))
    }
}

/// A part of a tensor in global memory: in each dimension the first coordinate, and all coordinates counted from that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FarSpan {
    pub(crate) param: ParamId,
    pub(crate) ranges: Vec<(i64, Reach)>,
}

impl FarSpan {
    /// Reports whether two parts have an element in common.
    pub(crate) fn meets(&self, other: &FarSpan) -> bool {
        self.param == other.param && self.ranges.iter().zip(&other.ranges).all(|(a, b)| reach::meet(a, b))
    }
}

/// The reason why a launch has no scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfollowed {
    /// The scripts have too many steps.
    Long,
    /// The loop around an operation does not end.
    Endless(Option<OpId>),
    /// The launch does not decide an expression.
    Unknown { text: String, op: Option<OpId> },
}

/// A fact about a statement in a launch.
#[derive(Clone, Copy)]
pub(crate) enum Sight<'a> {
    /// The number of rounds of a loop.
    Rounds { of: &'a Stmt, rounds: i64 },
    /// The truth of a condition.
    Truth { of: &'a Stmt, holds: bool },
    /// The values at a statement, before it runs.
    At { of: &'a Stmt, values: &'a dyn Fn(&Symbol) -> Option<i64> },
    /// An access of an operation whose place the launch does not decide.
    Place { op: OpId, at: &'a Expr },
}

/// Takes the facts about the statements that a launch runs through.
type See<'a> = &'a mut dyn FnMut(Sight<'_>);

/// Returns the scripts of all groups of all blocks of the cluster, and reports facts about their statements to `see`.
///
/// # Errors
/// The reason if the launch cannot be followed.
pub(crate) fn scripts(protocol: &Protocol, launch: &Launch, see: See<'_>) -> Result<Vec<Script>, Unfollowed> {
    let mut left = MOST_STEPS;
    let mut names = Names::default();
    let mut scripts = Vec::new();
    for (block, values) in (0..).zip(&launch.blocks) {
        let index = |axis: u8| values.get(&Symbol::BlockIdx(axis)).copied().unwrap_or(0);
        let place = [index(0), index(1), index(2)];
        for group in 0..protocol.groups {
            let mut unroller = Unroller::new(protocol, launch, (block, group), (&mut names, see));
            unroller.left = left;
            unroller.group(protocol)?;
            left = unroller.left;
            scripts.push(Script { block, place, group, steps: unroller.steps });
        }
    }
    Ok(scripts)
}

/// Leads the first group of each role of the first block through each of its statements at most once, and reports facts about
/// them to `see`. Of a loop it takes the single round that `chance` draws from the number of rounds. Skips statements without a
/// value.
pub(crate) fn walk(protocol: &Protocol, launch: &Launch, chance: &mut dyn FnMut(i64) -> i64, see: See<'_>) {
    let mut names = Names::default();
    let firsts = protocol.roles.iter().map(|role| role.first);
    let groups: Vec<u32> = if protocol.roles.is_empty() { vec![0] } else { firsts.collect() };
    for group in groups {
        let mut unroller = Unroller::new(protocol, launch, (0, group), (&mut names, see));
        unroller.chance = Some(chance);
        let _ = unroller.group(protocol);
    }
}
