//! The steps of the compiled form: what a block executes one after the other.

use hx_target::Completion;
use hx_thread::{Arrivals, Fence, Waiters};

use super::evaluate::Compute;
use super::{
    AsyncCopy, BulkCode, Convert, DrawCode, Fill, LaneExchange, LoadIndex, LoadInteger, Mem, Multiply,
    MultiplyAsync, Put, ReadIndex, Regs, RoleCode, SendCode, SetNumber, SiteId, Transfer,
};
use crate::formula::{Formula, Test};

#[derive(Debug)]
pub(crate) enum Step {
    SetSlot {
        site: SiteId,
        slot: u32,
        value: Formula,
    },
    SetLanes {
        site: SiteId,
        lanes: u32,
        value: Formula,
    },
    For {
        site: SiteId,
        slot: u32,
        start: Formula,
        end: Formula,
        body: Vec<Step>,
    },
    If {
        site: SiteId,
        test: Test,
        then: Vec<Step>,
        otherwise: Vec<Step>,
    },
    While {
        site: SiteId,
        test: Test,
        body: Vec<Step>,
        text: String,
    },
    /// Sets a number of the block from an expression.
    SetNumber(Box<SetNumber>),
    Barrier {
        site: SiteId,
    },
    WarpBarrier {
        site: SiteId,
    },
    LoadIndex(Box<LoadIndex>),
    ReadIndex(Box<ReadIndex>),
    LoadInteger(Box<LoadInteger>),
    Transfer(Box<Transfer>),
    Multiply(Box<Multiply>),
    MultiplyAsync(Box<MultiplyAsync>),
    Fence {
        site: SiteId,
        fence: Fence,
    },
    CommitProducts {
        site: SiteId,
    },
    WaitProducts {
        site: SiteId,
        leave: u32,
        completes: Vec<Regs>,
    },
    Convert(Box<Convert>),
    Fill(Box<Fill>),
    Compute(Box<Compute>),
    LaneExchange(Box<LaneExchange>),
    AsyncCopy(Box<AsyncCopy>),
    Commit {
        site: SiteId,
    },
    Wait {
        site: SiteId,
        groups: u32,
    },
    /// `barrier` is a position in [`Code::barriers`]; it counts the bytes.
    BulkLoad {
        copy: Box<BulkCode>,
        barrier: usize,
        index: Formula,
    },
    BulkStore(Box<BulkCode>),
    BulkCommit {
        site: SiteId,
    },
    BulkWait {
        site: SiteId,
        leave: u32,
        /// The completions for which it waits.
        completes: &'static [Completion],
    },
    /// `barrier` is a position in [`Code::barriers`].
    Await {
        site: SiteId,
        barrier: usize,
        index: Formula,
        parity: Formula,
        by: Waiters,
    },
    Arrive {
        site: SiteId,
        barrier: usize,
        index: Formula,
        by: Arrivals,
        /// As in [`BulkCode::blocks`].
        blocks: Vec<Formula>,
    },
    /// One thread arrives, and the phase waits for more bytes.
    Expect {
        site: SiteId,
        barrier: usize,
        index: Formula,
        bytes: u32,
    },
    Send(Box<SendCode>),
    Draw(DrawCode),
    Drawn(Box<DrawnCode>),
    /// `entry` is a position in [`Code::log`].
    Log {
        site: SiteId,
        entry: usize,
        body: Vec<Step>,
    },
    Put(Box<Put>),
    Roles {
        site: SiteId,
        roles: Vec<RoleCode>,
    },
    /// Arrives at a named barrier and waits for the others.
    NamedSync {
        site: SiteId,
        id: Formula,
        threads: usize,
    },
    /// Arrives at a named barrier.
    NamedArrive {
        site: SiteId,
        id: Formula,
        threads: usize,
    },
}

/// Runs a body for each number below the limit that the block draws; the first number from the limit on ends the loop.
#[derive(Debug)]
pub(crate) struct DrawnCode {
    pub(crate) site: SiteId,
    pub(crate) counter: usize,
    pub(crate) index: Formula,
    pub(crate) parity: Formula,
    /// The slot in [`Env::slots`](crate::formula::Env) that gets the number when a round begins.
    pub(crate) slot: u32,
    pub(crate) body: Vec<Step>,
}

/// The registers that a step writes.
pub(crate) enum Written<'s> {
    /// The site writes them now.
    Now(SiteId, &'s Regs),
    /// The site writes them at a later wait.
    Later(SiteId, &'s Regs),
    /// The writes of earlier `Later` steps are complete.
    Completed,
}

impl Step {
    /// Reports whether the step always changes something that others can see. A transfer calls
    /// [`Block::stir`](crate::block::Block::stir) itself if it does.
    pub(crate) fn stirs(&self) -> bool {
        match self {
            Step::AsyncCopy(_)
            | Step::BulkLoad { .. }
            | Step::BulkStore(_)
            | Step::Arrive { .. }
            | Step::Expect { .. }
            | Step::Send(_)
            | Step::Draw(_)
            | Step::Drawn(_)
            | Step::Put(_)
            | Step::Roles { .. }
            | Step::MultiplyAsync(_)
            | Step::NamedArrive { .. } => true,
            Step::SetSlot { .. }
            | Step::SetLanes { .. }
            | Step::For { .. }
            | Step::If { .. }
            | Step::While { .. }
            | Step::SetNumber(_)
            | Step::Barrier { .. }
            | Step::WarpBarrier { .. }
            | Step::LoadIndex(_)
            | Step::ReadIndex(_)
            | Step::LoadInteger(_)
            | Step::Transfer(_)
            | Step::Multiply(_)
            | Step::Fence { .. }
            | Step::CommitProducts { .. }
            | Step::WaitProducts { .. }
            | Step::Convert(_)
            | Step::Fill(_)
            | Step::Compute(_)
            | Step::LaneExchange(_)
            | Step::Commit { .. }
            | Step::Wait { .. }
            | Step::BulkCommit { .. }
            | Step::BulkWait { .. }
            | Step::Await { .. }
            | Step::Log { .. }
            | Step::NamedSync { .. } => false,
        }
    }

    /// Reports whether the step accesses global memory atomically, so that actions of other blocks right before it matter.
    pub(crate) fn is_between(&self) -> bool {
        matches!(self, Step::Transfer(t) if t.atomic.is_some() && matches!(t.memory, Mem::Global(_)))
    }

    /// Returns the site of a store, of an asynchronous or bulk copy, of a wait for asynchronous copies, and of a wait for or an
    /// arrival at a barrier in memory; `None` for other steps.
    pub(crate) fn moved(&self) -> Option<SiteId> {
        match self {
            Step::Transfer(t) if !t.load => Some(t.site),
            Step::AsyncCopy(c) => Some(c.site),
            Step::BulkLoad { copy, .. } | Step::BulkStore(copy) => Some(copy.site),
            Step::Wait { site, .. } | Step::Await { site, .. } | Step::Arrive { site, .. } => Some(*site),
            _ => None,
        }
    }

    /// Returns the registers that the step writes, or that earlier writes are complete; `None` if the step does neither.
    pub(crate) fn written(&self) -> Option<Written<'_>> {
        match self {
            Step::Transfer(t) if t.load => Some(Written::Now(t.site, &t.regs)),
            Step::Transfer(t) => {
                let old = t.atomic.as_ref().and_then(|atomic| atomic.old.as_ref())?;
                Some(Written::Now(t.site, old))
            }
            Step::Multiply(m) => Some(Written::Now(m.site, &m.c)),
            Step::MultiplyAsync(m) => Some(Written::Later(m.site, &m.c)),
            Step::WaitProducts { .. } => Some(Written::Completed),
            Step::Convert(c) => Some(Written::Now(c.site, &c.dst)),
            Step::Fill(f) => Some(Written::Now(f.site, &f.dst)),
            Step::Compute(c) => Some(Written::Now(c.value.site, &c.dst)),
            Step::LaneExchange(e) => Some(Written::Now(e.site, &e.dst)),
            _ => None,
        }
    }

    /// Returns the operation that the step belongs to; 0 for none.
    pub(crate) fn site(&self) -> SiteId {
        match self {
            Step::SetSlot { site, .. }
            | Step::SetLanes { site, .. }
            | Step::For { site, .. }
            | Step::If { site, .. }
            | Step::While { site, .. }
            | Step::Barrier { site }
            | Step::WarpBarrier { site }
            | Step::Fence { site, .. }
            | Step::CommitProducts { site }
            | Step::WaitProducts { site, .. }
            | Step::Commit { site }
            | Step::Wait { site, .. }
            | Step::BulkCommit { site }
            | Step::BulkWait { site, .. }
            | Step::Await { site, .. }
            | Step::Arrive { site, .. }
            | Step::Expect { site, .. }
            | Step::Log { site, .. }
            | Step::Roles { site, .. }
            | Step::NamedSync { site, .. }
            | Step::NamedArrive { site, .. } => *site,
            Step::SetNumber(number) => number.value.site,
            Step::LoadIndex(load) => load.site,
            Step::ReadIndex(read) => read.site,
            Step::LoadInteger(load) => load.site,
            Step::Transfer(transfer) => transfer.site,
            Step::Multiply(product) => product.site,
            Step::MultiplyAsync(product) => product.site,
            Step::Convert(convert) => convert.site,
            Step::Fill(fill) => fill.site,
            Step::Compute(compute) => compute.value.site,
            Step::LaneExchange(exchange) => exchange.site,
            Step::AsyncCopy(copy) => copy.site,
            Step::BulkLoad { copy, .. } | Step::BulkStore(copy) => copy.site,
            Step::Send(send) => send.site,
            Step::Draw(draw) => draw.site,
            Step::Drawn(drawn) => drawn.site,
            Step::Put(put) => put.site,
        }
    }
}
