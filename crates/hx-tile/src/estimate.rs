//! The estimate of a solved kernel: the cycles of its roles and of its pipelined loops, and the resource that bounds each loop.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::{AddAssign, Mul};

use crate::{OpId, PipeId, Resource, ResourceCycles, Scope, ScopeId, ScopeKind, TileProgram, op_text};

/// The estimate of a kernel with pipelines. All cycles are those of one multiprocessor.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Estimate {
    /// In the order of the text; the block alone if the kernel has no roles.
    pub roles: Vec<RoleEstimate>,
    /// The loops whose roles wait for pipelines or move along them, the one with the most cycles in all its rounds first. A
    /// loop that only fills a pipeline for which another loop waits is left out.
    pub loops: Vec<LoopEstimate>,
    /// The cycles of a block.
    pub block: f64,
    /// The cycles of each resource in a block, over all roles.
    pub resources: ResourceCycles,
    /// The cycles of each operation in a block.
    pub ops: BTreeMap<OpId, OpCycles>,
    /// The number of rounds that is assumed for loops of unknown trip count; `None` if all trip counts are known.
    pub assumed: Option<f64>,
    /// The launch, if the number of blocks is known.
    pub launch: Option<Launch>,
}

/// The cycles of one operation in a block, over all its executions.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OpCycles {
    /// The cycles in which the threads of one group execute the operation or wait at it. Those of all operations of a role add
    /// up to the cycles of the role.
    pub threads: f64,
    /// The cycles of each resource, over all groups. They may pass while the threads are at other operations.
    pub resources: ResourceCycles,
}

impl AddAssign for OpCycles {
    fn add_assign(&mut self, other: OpCycles) {
        self.threads += other.threads;
        self.resources += other.resources;
    }
}

impl Mul<f64> for OpCycles {
    type Output = OpCycles;

    fn mul(self, times: f64) -> OpCycles {
        OpCycles { threads: self.threads * times, resources: self.resources * times }
    }
}

/// A launch of a kernel: waves of blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Launch {
    pub blocks: i64,
    /// The blocks that run at the same time on all multiprocessors.
    pub at_once: i64,
    pub waves: i64,
    pub cycles: f64,
}

/// The estimated cycles and registers of one role.
#[derive(Clone, PartialEq, Debug)]
pub struct RoleEstimate {
    pub scope: ScopeId,
    /// The cycles of one group, from the start of the block to the role's end.
    pub cycles: f64,
    /// The cycles in which the threads of one group execute instructions.
    pub busy: f64,
    /// The cycles of each resource, over all groups of the role.
    pub resources: ResourceCycles,
    /// 32-bit registers of a thread: those that its tensors and addresses need, and those that it has.
    pub registers: [i64; 2],
    /// The cycles of `cycles` in which threads spill and reload registers.
    pub spills: f64,
}

/// The steady state of a loop along one or more pipelines.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopEstimate {
    pub pipes: Vec<PipeId>,
    /// The scope whose loop this is.
    pub scope: ScopeId,
    /// The loop waits for stages; else it only fills them.
    pub waits: bool,
    /// The cycles of a round: the maximum of `resources` and of the roles with their waits.
    pub cycles: f64,
    /// The number of rounds in a block.
    pub rounds: f64,
    /// The cycles of each resource in a round, over all roles.
    pub resources: ResourceCycles,
    /// The cycles that each role needs for what it does in a round, with its waits for its own operations.
    pub roles: Vec<(ScopeId, f64)>,
    pub bound: Bound,
    /// The operation for whose result the slowest role waits longest in a round, and the cycles of this wait; `None` if it
    /// waits for none.
    pub wait: Option<(OpId, f64)>,
}

/// The limit of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Resource(Resource),
    /// A role has more to do than any resource.
    Role(ScopeId),
}

impl LoopEstimate {
    /// Returns the cycles of a round in which the busiest resource has nothing to do.
    pub fn exposed(&self) -> f64 {
        (self.cycles - self.resources.most().1).max(0.0)
    }
}

/// Returns the estimate as text: the loops, the roles, a block, and the launch if its size is known. `program` is the solved
/// program.
pub fn estimate_text(program: &TileProgram, estimate: &Estimate) -> String {
    let caveat = program.target.caveat().map(|caveat| format!(", {caveat}")).unwrap_or_default();
    let mut out = format!("estimated cycles{caveat}\n");
    for found in &estimate.loops {
        for line in loop_lines(program, found) {
            let _ = writeln!(out, "  {line}");
        }
    }
    for role in &estimate.roles {
        let _ = writeln!(out, "  {}: {}", threads_text(program, role.scope), role_text(role));
    }
    let _ = writeln!(out, "  {}", block_text(estimate));
    if let Some(launch) = &estimate.launch {
        let _ = writeln!(out, "  {}", launch_text(launch));
    }
    out
}

/// Returns the lines about a loop: its bound, the resources, the roles.
pub fn loop_lines(program: &TileProgram, found: &LoopEstimate) -> Vec<String> {
    let pipes: Vec<String> =
        found.pipes.iter().map(|pipe| format!("`{}`", program.pipe(*pipe).name)).collect();
    let (pipes, bound) = (pipes.join(" and "), bound_text(program, found));
    let at = threads_text(program, found.scope);
    let mut lines = vec![format!("a round of {pipes} ({at}): {bound}")];
    lines.push(format!("  {}", resources_text(&found.resources, found.cycles)));
    let others = found.roles.iter().filter(|(scope, _)| *scope != found.scope);
    lines.extend(others.map(|(scope, cycles)| format!("  {}: {cycles:.0}", threads_text(program, *scope))));
    lines
}

/// Returns the threads of a scope, as in `role of threads 0..128` or `all threads`.
pub fn threads_text(program: &TileProgram, scope: ScopeId) -> String {
    if scope == ScopeId::BLOCK { "all threads".to_owned() } else { program.scope(scope).to_string() }
}

/// Returns the bound of a loop, as in `the tensor cores bound it: 512 of 540 cycles, 28 exposed at #9 gemm_wait(0)`.
pub fn bound_text(program: &TileProgram, found: &LoopEstimate) -> String {
    let (busiest, most) = found.resources.most();
    let (subject, plural) = busiest.subject();
    let mut text = match found.bound {
        Bound::Resource(_) => {
            let bounds = if plural { "bound" } else { "bounds" };
            format!("{subject} {bounds} it: {most:.0} of {:.0} cycles", found.cycles)
        }
        Bound::Role(scope) => {
            let threads = match program.scope(scope) {
                Scope { kind: ScopeKind::Block, .. } => "the threads bound it".to_owned(),
                Scope { groups: 1, .. } => format!("the {} bounds it", program.scope(scope)),
                _ => format!("the {} bound it", program.scope(scope)),
            };
            format!("{threads}: {:.0} cycles, of which {} {most:.0}", found.cycles, busiest.name())
        }
    };
    let exposed = found.exposed();
    if let (Bound::Resource(_), true) = (found.bound, exposed >= 1.0) {
        text.push_str(&format!(", {exposed:.0} exposed"));
        let at = found.wait.and_then(|(op, _)| program.op(op));
        text.push_str(
            &at.map_or_else(String::new, |op| format!(" at #{} {}", op.id.0, op_text(program, op))),
        );
    }
    text
}

/// Returns the cycles of the resources, as in `tensor cores 512 (95 %), shared memory 421 (78 %)`.
pub fn resources_text(resources: &ResourceCycles, of: f64) -> String {
    let used = Resource::ALL.into_iter().filter(|resource| resources[*resource] >= 0.5);
    let text = |resource: Resource| {
        let cycles = resources[resource];
        format!("{} {cycles:.0} ({:.0} %)", resource.name(), 100.0 * cycles / of.max(1.0))
    };
    used.map(text).collect::<Vec<_>>().join(", ")
}

/// Returns the cycles and registers of a role, as in `70144 cycles, 2912 of them with instructions; 152 of 232 registers`.
pub fn role_text(role: &RoleEstimate) -> String {
    let [needed, budget] = role.registers;
    let mut text = format!(
        "{:.0} cycles, {:.0} of them with instructions; about {needed} of {budget} registers",
        role.cycles, role.busy
    );
    if role.spills > 0.0 {
        text.push_str(&format!(", spills take {:.0} cycles", role.spills));
    }
    text
}

fn block_text(estimate: &Estimate) -> String {
    let assumed = estimate
        .assumed
        .map_or_else(String::new, |rounds| format!(", if loops of unknown length have {rounds:.0} rounds"));
    format!("a block: {:.0} cycles{assumed}", estimate.block)
}

fn launch_text(launch: &Launch) -> String {
    let Launch { blocks, at_once, waves, cycles } = launch;
    let of = |n: i64, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    format!("the launch: {} in {} of {at_once}, {cycles:.0} cycles", of(*blocks, "block"), of(*waves, "wave"))
}
