//! The findings of the machine, as data.

use hx_target::Mode;
use hx_tile::{OpId, ParamId, TensorId};

use super::{Counts, Key};

/// An error of synchronization that some launch shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    /// The loop counts of the smallest launch that shows it.
    pub counts: Counts,
    /// A change that removes the fault and adds no other; `None` if none was found.
    pub fix: Option<Fix>,
    /// The number of further faults that the same change removes.
    pub others: usize,
}

/// The kind of a fault, with the operations that take part. `pipe`, `turns` and `barrier` are positions in the protocol's lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Waits that never return, of all groups that do not reach their end. A report names the first.
    Stuck(Vec<Blocked>),
    /// A wait for a stage whose barrier may be a phase or more away from the phase that the wait expects. `other` is the operation that
    /// can overtake the wait, if one is known.
    Slip { wait: OpId, pipe: u32, other: Option<OpId> },
    /// More groups release a stage than read it.
    Crowded { release: OpId, pipe: u32, readers: u32 },
    /// A scope acquires a stage that another scope fills alone, with the acquire `other`.
    Doubled { acquire: OpId, pipe: u32, other: OpId },
    /// A turn is passed on although the next group has not taken the last one.
    Repassed { pass: OpId, turns: u32 },
    /// A group comes to a barrier again, and need not know that its last round is complete.
    Hurried { come: OpId, barrier: u32 },
    /// A group arrives at a barrier, and `missing` do not come in this round.
    Unmet { arrive: OpId, barrier: u32, missing: Vec<String>, comings: Comings },
    /// Two accesses to a shared tensor that nothing orders. `pipe`: one of them fills a stage.
    Race { tensor: TensorId, earlier: RaceAccess, later: RaceAccess, cause: Cause, pipe: Option<u32> },
    /// Elements that a store of another scope writes are accessed. `complete`: the store is complete, and no barrier of both scopes tells.
    Unstored { store: OpId, access: OpId, param: ParamId, mode: Mode, complete: bool },
    /// An operand of a product is used while the product is in flight. `release`: the stage that holds it is given back.
    InFlight { product: OpId, later: OpId, tensor: TensorId, write: bool, release: bool },
    /// Two paths through the program bring different numbers of bytes to a stage: `bytes` at `acquire`, and `expected` at
    /// `other`. A stage without a copy gets 0 bytes.
    Unequal { pipe: u32, acquire: OpId, bytes: u64, other: OpId, expected: u64 },
    /// The blocks of a cluster read different tiles with one multicast copy.
    Divided { copy: OpId },
    /// A block can end before its own copy into a stage of the pipe arrives: no group waits for that stage.
    Unwaited { copy: OpId, pipe: u32, rounds: Rounds },
    /// A block can end while another block still sends to it.
    Gone { copy: OpId },
}

/// One of the two accesses of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaceAccess {
    pub op: OpId,
    pub write: bool,
}

/// The reason why two accesses are not ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The stage is read without a wait for its copies.
    BeforeWait,
    /// The stage is used after its scope gave it back, here.
    AfterRelease(OpId),
    /// The stage is written after its scope published it, here.
    AfterPublish(OpId),
    /// The stage is filled before its readers gave it back.
    BeforeRelease,
    /// A store still reads the shared tensor.
    Store,
    /// A product still reads the shared tensor.
    Product,
    /// A copy in a group is not waited for.
    Copy,
    /// No barrier lies between the two.
    NoBarrier,
}

/// A group that waits for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The name of the group.
    pub who: String,
    pub op: OpId,
    pub wants: Want,
}

/// The event that a blocked group waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// `needed` groups have to give back a stage of the pipe. `readers` waited for it, with `waited`, and have not given it
    /// back; `given` have.
    Release { pipe: u32, readers: Vec<String>, waited: Option<OpId>, given: u32, needed: u32, rounds: Rounds },
    /// The copies into the stage with this number, from 1 on. The program acquires `acquired` stages only, with the operation
    /// `acquire`.
    Fill { pipe: u32, acquire: Option<OpId>, number: u32, acquired: u32 },
    /// The turn, from another group. `taken`: the last operation with which that group took its turn.
    Turn { turns: u32, from: String, taken: Option<OpId> },
    /// An atomic write of a shared tensor by another scope.
    Flag { tensor: TensorId },
    /// Other groups have to come to the sum over the cluster. `own`: all groups that do not come are of the same block.
    Sum { own: bool },
    /// A barrier, and groups that do not come to it.
    Barrier { missing: Vec<String> },
    /// A barrier of several groups, and those that do not come to it. `hopeless`: one of these has no arrival left.
    All { barrier: u32, missing: Vec<String>, hopeless: bool, comings: Comings },
}

/// Each group of a barrier of several groups, with the number of times that it comes there in a launch.
pub type Comings = Vec<(String, u32)>;

/// The stages of a pipe in a launch, from its beginning to its end, in one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rounds {
    /// The number of stages that are acquired.
    pub acquired: u32,
    /// The number of groups that give back each stage.
    pub readers: u32,
    /// The number of waits of each group that waits for the pipe at all, in this launch or in another one.
    pub waits: Vec<(String, u32)>,
    /// The first wait for the pipe in program order; `None` if no group waits for it.
    pub wait: Option<OpId>,
}

/// A change of the program that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    pub at: FixAt,
    pub with: Vec<FixWith>,
}

/// The place of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixAt {
    Before(OpId),
    After(OpId),
    /// Behind the innermost loop or condition that contains the operation.
    Behind(OpId),
    /// The operation is moved behind another one.
    Move {
        op: OpId,
        after: OpId,
    },
    /// A new barrier of the roles of both operations. `outside`: at the loop or condition around an operation instead.
    Join {
        earlier: OpId,
        later: OpId,
        outside: [bool; 2],
        joint: Joint,
    },
    /// This wait for stores waits for their writes, too.
    Complete(OpId),
    /// The number of operations that this wait leaves in flight is changed.
    Leave {
        op: OpId,
        leave: u32,
    },
}

/// The places at which two roles come to a new barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// Behind the earlier operation and before the later one.
    Between,
    /// Twice: also before the earlier operation comes again, and behind the later one.
    Around,
    /// Behind both operations: neither comes again before the other.
    Behind,
}

/// An operation that a change inserts. Its number is a pipe, turns, or the operations that a wait leaves in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixWith {
    Release(u32),
    ReleasePrevious(u32),
    WaitProducts(u32),
    WaitCopies(u32),
    WaitStores(u32),
    /// As `WaitStores`, also for their writes.
    WaitWrites(u32),
    Sync,
    Pass(u32),
}

impl RaceAccess {
    /// Returns the use of a stage; the other access fills it.
    pub fn used(earlier: RaceAccess, later: RaceAccess) -> RaceAccess {
        if earlier.write && !later.write { later } else { earlier }
    }
}

impl Joint {
    /// Returns how often a role comes to the barrier: behind the earlier operation, before the later one, and behind the later one.
    pub fn times(self) -> [usize; 3] {
        match self {
            Joint::Between => [1, 1, 0],
            Joint::Around => [2, 1, 1],
            Joint::Behind => [1, 0, 1],
        }
    }
}

impl Want {
    /// Returns the pipe whose stage is wanted; `None` for other events.
    pub(crate) fn pipe(&self) -> Option<u32> {
        match self {
            Want::Release { pipe, .. } | Want::Fill { pipe, .. } => Some(*pipe),
            Want::Turn { .. }
            | Want::Flag { .. }
            | Want::Sum { .. }
            | Want::Barrier { .. }
            | Want::All { .. } => None,
        }
    }
}

impl Rounds {
    /// Returns the mean number of groups that wait for a stage; `None` if it is no whole number, or if no stage is acquired.
    pub fn per_stage(&self) -> Option<u32> {
        let all: u32 = self.waits.iter().map(|(_, waits)| waits).sum();
        (self.acquired > 0 && all.is_multiple_of(self.acquired)).then(|| all / self.acquired)
    }

    /// Reports whether the groups wait as often as the stages need it.
    pub fn agree(&self) -> bool {
        self.waits.iter().map(|(_, waits)| waits).sum::<u32>() == self.acquired * self.readers
    }
}

impl Kind {
    /// Returns a key that is equal for the same fault in different launches.
    pub(crate) fn key(&self) -> Key {
        match self {
            Kind::Stuck(blocked) => (0, blocked.first().map(|blocked| blocked.op).into_iter().collect()),
            Kind::Slip { wait, .. } => (1, vec![*wait]),
            Kind::Crowded { release, .. } => (2, vec![*release]),
            Kind::Repassed { pass, .. } => (3, vec![*pass]),
            Kind::Race { earlier, later, .. } => {
                // The order of the agents decides which of the two comes first.
                let (a, b) = (earlier.op.min(later.op), earlier.op.max(later.op));
                (4, vec![a, b])
            }
            Kind::InFlight { product, later, .. } => (5, vec![*product, *later]),
            Kind::Unequal { acquire, .. } => (6, vec![*acquire]),
            Kind::Divided { copy } => (7, vec![*copy]),
            Kind::Gone { copy } => (8, vec![*copy]),
            Kind::Unwaited { copy, .. } => (9, vec![*copy]),
            Kind::Doubled { acquire, .. } => (10, vec![*acquire]),
            Kind::Hurried { come, .. } => (11, vec![*come]),
            Kind::Unmet { arrive, .. } => (12, vec![*arrive]),
            Kind::Unstored { store, access, .. } => (13, vec![*store, *access]),
        }
    }
}
