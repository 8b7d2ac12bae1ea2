//! Pipelines: rings of stages in shared memory that scopes fill and read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{
    COUNTER_BYTES, Control, Leaf, Op, OpId, OpKind, Origin, PipeId, ScopeId, Stmt, SyncOp, TensorId,
    TileProgram,
};

/// The bytes of a barrier in shared memory.
pub const BARRIER_BYTES: u32 = 8;

/// A ring of stages. A stage is free until a scope acquires it, full when the copies that signal it have arrived and its scopes have
/// published it, and free again when its readers have released it. The tensors that a stage guards are those that its copies fill
/// and those that its scopes write before they publish it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pipe {
    pub name: String,
    /// The number of stages, at least 1.
    pub stages: u32,
    /// The number of groups of a block that release each stage; `None` for all groups of the scopes that wait.
    pub readers: Option<u32>,
    /// Whether all copies into its stages have arrived behind the last statement of the program that waits for one. Then the memory of
    /// the stages is free, as soon as the threads have met.
    pub is_drained: bool,
    pub origin: Origin,
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pipeline {}: {} stages", self.name, self.stages)?;
        self.readers.map_or(Ok(()), |readers| write!(f, ", {readers} readers"))
    }
}

impl TileProgram {
    /// Yields the pipelines of the program, in the order of [`TileProgram::pipes`].
    pub fn pipe_ids(&self) -> impl Iterator<Item = PipeId> + use<> {
        (0..self.pipes.len() as u32).map(PipeId)
    }

    /// Returns the bytes of shared memory that the barriers of all pipelines take, two for each stage, then those of sums over the
    /// cluster, and then the counters.
    pub fn barrier_bytes(&self) -> u32 {
        let pipes: u32 = self.pipes.iter().map(|pipe| 2 * BARRIER_BYTES * pipe.stages).sum();
        pipes + self.sum_barrier_bytes() + COUNTER_BYTES * self.counters.len() as u32
    }

    /// Reports whether an operation is a copy into a stage of a pipeline with [`Pipe::is_drained`].
    pub fn is_drained(&self, op: &Op) -> bool {
        let OpKind::CopyAsync { signal: Some(pipe), .. } = op.kind else { return false };
        self.pipes.get(pipe.0 as usize).is_some_and(|pipe| pipe.is_drained)
    }

    /// Returns the scopes that acquire stages of a pipeline.
    pub fn fillers(&self, pipe: PipeId) -> BTreeSet<ScopeId> {
        let acquires =
            |op: &Op| matches!(op.kind, OpKind::Sync(SyncOp::Acquire { pipe: of, .. }) if of == pipe);
        self.ops(1.0).into_iter().filter(|(op, _)| acquires(op)).map(|(op, _)| op.scope).collect()
    }

    /// Returns the number of groups and other scopes that fill each stage of a pipeline together. If one that acquires stages skips others,
    /// or acquires under a condition, which the number of its group may decide, each stage is filled by 1 of them.
    pub fn fillers_of_stage(&self, pipe: PipeId) -> u32 {
        let fillers = self.fillers(pipe);
        let skips = |op: &Op| {
            matches!(op.kind, OpKind::Sync(SyncOp::Skip { pipe: of, .. }) if of == pipe)
                && fillers.contains(&op.scope)
        };
        match self.ops(1.0).into_iter().any(|(op, _)| skips(op)) || acquires_in_branch(&self.body, pipe) {
            true => 1,
            false => fillers.iter().map(|scope| self.scope(*scope).groups).sum::<u32>().max(1),
        }
    }

    /// Returns the shared tensors that the stages of a pipeline guard: those that its copies fill, and those that a scope writes
    /// between the acquisition and the publication of a stage.
    pub fn guarded(&self, pipe: PipeId) -> BTreeSet<TensorId> {
        let mut found = BTreeSet::new();
        self.guarded_in(&self.body, pipe, &mut None, &mut found);
        found
    }

    /// Reports whether one thread of each group gives a stage of a pipeline back for the whole group: the groups read its tensors only as
    /// matrix operands by descriptor. After other reads each warp synchronizes, and one of its threads arrives for the warp.
    pub fn is_released_by_groups(&self, pipe: PipeId) -> bool {
        let guarded = self.guarded(pipe);
        let reads = |op: &Op| {
            let description = op.kind.description();
            guarded.iter().any(|tensor| description.shared(*tensor).any(|access| access.mode.reads()))
        };
        let whole = |op: &Op| {
            matches!(op.kind, OpKind::Gemm { .. })
                && self.threads_of(op).is_multiple_of(self.target.limits.group)
        };
        let ops = self.ops(1.0);
        let mut readers = ops.iter().filter(|(op, _)| reads(op)).peekable();
        readers.peek().is_some() && readers.all(|(op, _)| whole(op))
    }

    /// Adds the tensors that statements fill. `written` has the tensors that were written since a stage was acquired; `None` if no
    /// stage is acquired.
    fn guarded_in(
        &self,
        body: &[Stmt],
        pipe: PipeId,
        written: &mut Option<BTreeSet<TensorId>>,
        found: &mut BTreeSet<TensorId>,
    ) {
        for stmt in body {
            let Stmt::Leaf(Leaf::Op(op)) = stmt else {
                let roles = matches!(stmt, Stmt::Control(Control::Roles(_)));
                for body in stmt.bodies() {
                    let mut own = None;
                    self.guarded_in(body, pipe, if roles { &mut own } else { written }, found);
                }
                continue;
            };
            match &op.kind {
                OpKind::Sync(SyncOp::Acquire { pipe: of, .. }) if *of == pipe => {
                    *written = Some(BTreeSet::new())
                }
                OpKind::Sync(SyncOp::Publish { pipe: of }) if *of == pipe => {
                    found.extend(written.take().unwrap_or_default());
                }
                OpKind::CopyAsync { dst, signal: Some(of), .. } if *of == pipe => {
                    found.extend(dst.base.shared())
                }
                other => {
                    let Some(written) = written else { continue };
                    let accesses = other.description().accesses;
                    let writes = accesses.iter().filter(|access| access.mode.writes());
                    written.extend(writes.filter_map(|access| access.base().shared()));
                }
            }
        }
    }

    /// Returns the number of blocks that the tile of an operation goes to: those of the cluster along the axis of a copy with
    /// `multicast:`, and 1 for everything else.
    pub fn blocks_of(&self, op: &Op) -> u32 {
        if let OpKind::CopyAsync { multicast: Some(axis), .. } = op.kind {
            return self.blocks_along(axis);
        }
        1
    }

    /// Returns the number of blocks of a cluster along an axis.
    pub fn blocks_along(&self, axis: u8) -> u32 {
        self.cluster.get(usize::from(axis)).copied().unwrap_or(1)
    }
}

/// Reports whether a stage of a pipeline is acquired under a condition.
fn acquires_in_branch(body: &[Stmt], pipe: PipeId) -> bool {
    let acquires = |op: &Op| matches!(op.kind, OpKind::Sync(SyncOp::Acquire { pipe: of, .. }) if of == pipe);
    body.iter().any(|stmt| {
        let is_branch = matches!(stmt, Stmt::Control(Control::If { .. }));
        (is_branch && stmt.ops().into_iter().any(acquires))
            || stmt.bodies().any(|body| acquires_in_branch(body, pipe))
    })
}

/// Counts of held stages saturate at this number: 3 means 3 stages or more.
const MANY: u32 = 3;

/// Returns, for each release and skip, the least and the greatest number of stages that its scope holds before it: stages that the scope
/// has waited for and not released. 3 means 3 or more.
pub fn stages_held(program: &TileProgram) -> BTreeMap<OpId, [u32; 2]> {
    let mut found = BTreeMap::new();
    follow(&program.body, &mut HeldStages::new(), &mut found);
    found
}

/// The least and the most stages that a scope holds of a pipeline.
type HeldStages = BTreeMap<(ScopeId, PipeId), [u32; 2]>;

fn follow(body: &[Stmt], held: &mut HeldStages, found: &mut BTreeMap<OpId, [u32; 2]>) {
    for stmt in body {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) => pass(op, held, found),
            Stmt::Control(Control::For { body, .. } | Control::While { body, .. }) => loop {
                let before = held.clone();
                let mut after = held.clone();
                follow(body, &mut after, found);
                meet(held, &after);
                if *held == before {
                    break;
                }
            },
            Stmt::Control(Control::If { then, otherwise, .. }) => {
                let mut other = held.clone();
                follow(then, held, found);
                follow(otherwise, &mut other, found);
                meet(held, &other);
            }
            Stmt::Control(Control::Roles(roles)) => {
                roles.iter().for_each(|role| follow(&role.body, &mut held.clone(), found));
            }
            Stmt::Leaf(_) => {}
        }
    }
}

fn pass(op: &Op, held: &mut HeldStages, found: &mut BTreeMap<OpId, [u32; 2]>) {
    if let OpKind::Sync(SyncOp::WaitStage { pipe, .. }) = op.kind {
        let now = held.entry((op.scope, pipe)).or_default();
        *now = now.map(|stages| (stages + 1).min(MANY));
    } else if let OpKind::Sync(SyncOp::Release { pipe, keep }) = op.kind {
        let now = held.entry((op.scope, pipe)).or_default();
        found.insert(op.id, *now);
        *now = now.map(|stages| stages.min(keep));
    } else if let OpKind::Sync(SyncOp::Skip { pipe, .. }) = op.kind {
        found.insert(op.id, held.get(&(op.scope, pipe)).copied().unwrap_or_default());
    }
}

/// Joins the bounds of two paths: the smaller least and the greater most number of held stages.
fn meet(mine: &mut HeldStages, theirs: &HeldStages) {
    let keys: BTreeSet<(ScopeId, PipeId)> = mine.keys().chain(theirs.keys()).copied().collect();
    for key in keys {
        let other = theirs.get(&key).copied().unwrap_or_default();
        let [low, high] = mine.entry(key).or_default();
        (*low, *high) = ((*low).min(other[0]), (*high).max(other[1]));
    }
}
