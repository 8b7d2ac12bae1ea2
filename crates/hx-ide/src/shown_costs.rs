//! The resources of a multiprocessor that kernels use, as an editor shows them.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange};
use hx_compile::{Db, Resources, resources};
use hx_hir::{Item, Kernel, file_items, signature_source_map};
use hx_target::Target;
use hx_tile::{Resource, ResourceCycles, bound_text, estimate_text, threads_text};

use crate::emit::CudaText;
use crate::solved::Solved;
use crate::{Cancellable, Shown, catch, kernel};

/// Returns the registers per thread that ptxas reported for a text, if a compile of it is known. Never compiles.
pub type Reported<'a> = &'a dyn Fn(&CudaText) -> Option<u32>;

/// The costs of the instance of a kernel that is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Costs {
    pub kernel: String,
    /// The range of the kernel's name.
    pub range: TextRange,
    pub target: Target,
    /// All compile-time arguments as text, including defaults.
    pub args: BTreeMap<String, String>,
    pub resources: Resources,
    /// The estimated cycles; `None` for a kernel without pipelines.
    pub estimate: Option<Cycles>,
}

/// The estimated cycles of a kernel with pipelines, with names in place of numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Cycles {
    /// The estimate as `hx layout why` prints it.
    pub text: String,
    /// Cycles from the start of a block to its end.
    pub block: f64,
    pub loops: Vec<LoopCycles>,
    pub roles: Vec<RoleCycles>,
}

/// The cycles of one round of a loop along pipelines.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopCycles {
    pub pipes: Vec<String>,
    /// The threads that run the loop, as text.
    pub threads: String,
    /// Cycles of a round.
    pub cycles: f64,
    /// Cycles in which the busiest resource has nothing to do.
    pub exposed: f64,
    /// A sentence about what bounds the loop.
    pub bound: String,
    /// The cycles of each resource in a round, over all roles.
    pub resources: BTreeMap<String, f64>,
}

/// The cycles and the registers of one role.
#[derive(Clone, PartialEq, Debug)]
pub struct RoleCycles {
    pub threads: String,
    /// Cycles of one group, from the start of the block to the role's end.
    pub cycles: f64,
    /// Cycles in which the threads of one group execute instructions.
    pub busy: f64,
    /// 32-bit registers of a thread: those that it needs, and those that it has.
    pub registers: [i64; 2],
    /// The cycles of each resource, over all groups of the role.
    pub resources: BTreeMap<String, f64>,
}

impl Cycles {
    /// Returns the estimate of the instance that is shown, if it has pipelines.
    fn of(solved: &Solved<'_>) -> Option<Cycles> {
        let estimate = hx_compile::estimate(solved.db, solved.instance)?;
        let program = &solved.lowered.program;
        let loops = estimate.loops.iter().map(|found| LoopCycles {
            pipes: found.pipes.iter().map(|pipe| program.pipe(*pipe).name.clone()).collect(),
            threads: threads_text(program, found.scope),
            cycles: found.cycles,
            exposed: found.exposed(),
            bound: bound_text(program, found),
            resources: named(&found.resources),
        });
        let roles = estimate.roles.iter().map(|role| RoleCycles {
            threads: threads_text(program, role.scope),
            cycles: role.cycles,
            busy: role.busy,
            registers: role.registers,
            resources: named(&role.resources),
        });
        Some(Cycles {
            text: estimate_text(program, &estimate),
            block: estimate.block,
            loops: loops.collect(),
            roles: roles.collect(),
        })
    }
}

fn named(resources: &ResourceCycles) -> BTreeMap<String, f64> {
    let used = Resource::ALL.into_iter().filter(|resource| resources[*resource] > 0.0);
    used.map(|resource| (resource.name().to_owned(), resources[resource])).collect()
}

/// Returns the costs of one kernel of a file, or of all its kernels. Kernels with errors are left out.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request. The inner error is a sentence: the file has no such kernel.
pub fn costs(
    db: &dyn Db,
    file: SourceFile,
    name: Option<&str>,
    shown: &Shown,
    reported: Reported<'_>,
) -> Cancellable<Result<Vec<Costs>, String>> {
    catch(|| {
        let kernels: Vec<Kernel<'_>> = match name {
            Some(name) => vec![kernel::find(db, file, Some(name), None)?],
            None => file_items(db, file).kernels().collect(),
        };
        Ok(kernels.into_iter().filter_map(|kernel| of_kernel(db, kernel, shown, reported)).collect())
    })
}

pub(crate) fn of_kernel(
    db: &dyn Db,
    kernel: Kernel<'_>,
    shown: &Shown,
    reported: Reported<'_>,
) -> Option<Costs> {
    let solved = Solved::of(db, kernel, shown)?;
    let source = hx_compile::cuda_source(db, solved.instance).as_ref().ok()?;
    let reported = reported(&CudaText::of(db, kernel, source, shown));
    let name = signature_source_map(db, Item::Kernel(kernel))?.name?;
    Some(Costs {
        kernel: kernel.name(db).to_string(),
        range: name + kernel.offset(db),
        target: shown.target,
        args: solved.lowered.sources.args.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
        resources: resources(db, solved.instance, reported)?,
        estimate: Cycles::of(&solved),
    })
}
