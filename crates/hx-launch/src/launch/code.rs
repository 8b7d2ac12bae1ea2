//! Answers questions that tests ask about a kernel's code: its instructions, bank conflicts, spills, access widths and
//! architecture.
//!
//! Layouts and instructions are the compiler's own choices, so they are known without a GPU. Spills come from the CUDA compiler's
//! report: without that compiler the answer is [`CodeAnswer::Unknown`].

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hx_base::{codes, nearest};
use hx_codegen::{CudaSource, opcodes};
use hx_compile::{Solved, solved};
use hx_host::device::{CodeAnswer, CodeQuestion, LaunchError};
use hx_host::{HostError, HostResult};
use hx_target::{Cache, Catalogue, Target};
use hx_tile::{
    Choice, CopyChoice, Op, OpKind, OperandChoice, RearrangeChoice, Route, Solution, TensorId, TileProgram,
    View,
};

use super::instance::Checked;
use super::{Launcher, cuda_text, stopped_at};
use crate::machine::{Cuda, Machine};

/// The instance of the last launch, and the simulator's count for it.
#[derive(Clone, Copy)]
pub(super) struct Launched<'a> {
    pub checked: Checked<'a>,
    /// Shared-memory wavefronts beyond the minimum, as the simulator counted them.
    pub extra_wavefronts: Option<u64>,
}

impl<'a> Launcher<'a> {
    pub(super) fn answer(&self, question: &CodeQuestion) -> HostResult<CodeAnswer> {
        let Some(last) = self.last else {
            let error = HostError::call("no kernel was launched before this");
            return Err(error.help("launch one first: this speaks of the last one"));
        };
        let (db, instance) = (self.db, last.checked.get());
        let stop = |error: LaunchError| error.into_parts().0;
        let solved = solved(db, instance).as_ref().map_err(|s| stop(stopped_at(db, instance, s)))?;
        let solution = &solved.solution;
        match question {
            CodeQuestion::Uses(name) => {
                uses(self.machine.target(), name, solution, cuda_text(db, last.checked).map_err(stop)?)
            }
            CodeQuestion::Supports(name) => supports(self.machine.target(), name),
            CodeQuestion::Conflicts => {
                let conflicts = copies(solution).filter_map(|c| c.conflicts);
                let planned: u64 = conflicts.map(|c| c.wavefronts.saturating_sub(c.ideal)).sum();
                // The plan does not count every access, for example partial results of a reduction. Use the simulator's count
                // then.
                let extra = if planned > 0 { planned } else { last.extra_wavefronts.unwrap_or(0) };
                Ok(CodeAnswer::Int(i64::try_from(extra).unwrap_or(i64::MAX)))
            }
            CodeQuestion::Target => Ok(CodeAnswer::Name(self.machine.target().name().to_owned())),
            CodeQuestion::Redistributions => Ok(redistributions(solved)),
            CodeQuestion::BytesPerAccess(name) => bytes_per_access(name, &solved.program, solution),
            CodeQuestion::Spills => self.spills(last.checked),
        }
    }

    /// Returns the bytes that each thread stores and loads because registers were spilled.
    fn spills(&self, checked: Checked<'a>) -> HostResult<CodeAnswer> {
        let cuda: &Cuda = match self.machine {
            Machine::Gpu(gpu) => &gpu.cuda,
            Machine::CompileOnly(cuda) => cuda,
            Machine::Simulator { compiler: Some(compiler), .. } => compiler.get(),
            Machine::Simulator { compiler: None, .. } | Machine::TextOnly(_) => {
                return Ok(CodeAnswer::Unknown("the CUDA compiler is not used here".to_owned()));
            }
        };
        let source = cuda_text(self.db, checked).map_err(|error| error.into_parts().0)?;
        let compiled = match self.compile(cuda, checked) {
            Ok(compiled) => compiled,
            Err(error) => {
                let (error, _) = error.into_parts();
                let absent = error.code == &codes::MISSING_NVRTC;
                return if absent { Ok(CodeAnswer::Unknown(error.message)) } else { Err(error) };
            }
        };
        Ok(match compiled.kernel(&source.symbol) {
            Some(found) => {
                CodeAnswer::Int(i64::from(found.spill_store_bytes) + i64::from(found.spill_load_bytes))
            }
            None => CodeAnswer::Unknown("the CUDA compiler reported no resources".to_owned()),
        })
    }
}

/// Returns every copy of a solution. A rearrangement through shared memory contributes its store and its load.
fn copies(solution: &Solution) -> impl Iterator<Item = &CopyChoice> {
    solution.choices.values().flat_map(|choice| match choice {
        Choice::Copy(copy) => vec![copy],
        Choice::Rearrange(RearrangeChoice { route: Route::Shared { store, load }, .. }) => {
            vec![&**store, &**load]
        }
        Choice::Rearrange(_)
        | Choice::Gemm(_)
        | Choice::Convert(_)
        | Choice::Map(_)
        | Choice::Reduce(_)
        | Choice::Slice(_)
        | Choice::Scan(_)
        | Choice::Bulk(_)
        | Choice::Prefetch(_) => vec![],
    })
}

/// Reports whether the dotted components of `asked` are the first components of `name`.
fn starts_with_components(name: &str, asked: &str) -> bool {
    name.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Refuses the name of an instruction that no target has, so that a misspelled `!uses(…)` cannot hold.
fn expect_known(own: Target, asked: &str) -> HostResult<()> {
    let own = names_of(own);
    let known = || built_in().iter().chain(&own).map(String::as_str);
    if known().any(|name| starts_with_components(name, asked)) {
        return Ok(());
    }
    let error = HostError::call(format!("there is no instruction `{asked}` in the catalogue"));
    let heads = known().map(|name| name.split('.').next().unwrap_or(name));
    Err(match nearest(asked, known().chain(heads)) {
        Some(near) => error.help(format!("perhaps `{near}` is meant")),
        None => error,
    })
}

fn supports(target: Target, asked: &str) -> HostResult<CodeAnswer> {
    expect_known(target, asked)?;
    Ok(CodeAnswer::Bool(names_of(target).iter().any(|name| starts_with_components(name, asked))))
}

fn uses(target: Target, asked: &str, solution: &Solution, source: &CudaSource) -> HostResult<CodeAnswer> {
    let found = source.emitted.iter().any(|name| starts_with_components(name, asked))
        || forms(solution).iter().any(|form| starts_with_components(form, asked))
        || multicasts(solution).any(|name| starts_with_components(&name, asked));
    // The source may write instructions that the catalogue does not have.
    if !found {
        expect_known(target, asked)?;
    }
    Ok(CodeAnswer::Bool(found))
}

/// Returns the name of a bulk copy whose parts several blocks bring to each other.
fn multicast_name(row: &str) -> String {
    format!("{row}.multicast")
}

/// Returns the names of the copies that blocks of a cluster share.
fn multicasts(solution: &Solution) -> impl Iterator<Item = String> {
    let bulk = |choice: &Choice| {
        let Choice::Bulk(bulk) = choice else { return None };
        bulk.share.map(|_| multicast_name(bulk.row.name()))
    };
    solution.choices.values().filter_map(bulk)
}

/// Returns the forms in which products read their operands from shared memory: `a.k.128B`, `b.mn.64B`.
fn forms(solution: &Solution) -> BTreeSet<String> {
    let products =
        solution.choices.values().filter_map(Choice::gemm).map(|gemm| [("a", &gemm.a), ("b", &gemm.b)]);
    let form = |(operand, choice): (&str, &OperandChoice)| match choice {
        OperandChoice::Descriptor { reach } => Some(format!("{operand}.{reach}")),
        OperandChoice::Registers(_) => None,
    };
    products.flatten().filter_map(form).collect()
}

/// Returns the names of all built-in targets together.
fn built_in() -> &'static BTreeSet<String> {
    static NAMES: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| Target::all().iter().flat_map(|target| names_of(*target)).collect());
    &NAMES
}

/// Returns the name of every row of a target, the instructions that each row emits, and the forms of operands.
fn names_of(target: Target) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    add_names(target.rows(), &mut known);
    known
}

fn add_names(all: &Catalogue, known: &mut BTreeSet<String>) {
    let mut add = |name: &str, ptx: &str| {
        if !name.is_empty() {
            known.insert(name.to_owned());
        }
        known.extend(opcodes(ptx).map(str::to_owned));
    };
    all.copies.iter().for_each(|r| add(&r.name, &r.ptx));
    for cache in Cache::all() {
        all.copies.iter().filter_map(|r| r.hinted(cache)).for_each(|ptx| add("", &ptx));
    }
    all.gemms.iter().for_each(|r| add(&r.name, &r.ptx));
    all.gemms.iter().for_each(|r| add(&r.name, r.ptx_registers.as_deref().unwrap_or_default()));
    all.converts.iter().for_each(|r| add(&r.name, &r.ptx));
    all.exchanges.iter().for_each(|r| add(&r.name, &r.ptx));
    all.groups.iter().for_each(|r| add(&r.name, &r.ptx));
    for row in &all.prefetches {
        (1..=all.map.dims).for_each(|rank| add(&row.name, &row.ptx.replace("{r}", &rank.to_string())));
    }
    for row in &all.bulks {
        (1..=all.map.dims).for_each(|rank| add(&row.name, &row.ptx.replace("{r}", &rank.to_string())));
        for ptx in Cache::all().filter_map(|cache| row.hinted(cache, false)) {
            (1..=all.map.dims).for_each(|rank| add("", &ptx.replace("{r}", &rank.to_string())));
        }
        if row.multicast.is_some() {
            add(&multicast_name(&row.name), "");
        }
    }
    all.syncs.iter().filter(|r| r.name.starts_with("send.")).for_each(|r| add("", &r.ptx));
    all.computes.iter().for_each(|r| add("", r.ptx.as_deref().unwrap_or_default()));
    for operand in ["a", "b"] {
        all.reaches.iter().for_each(|r| add(&format!("{operand}.{}", r.name), ""));
    }
}

/// Counts the tensors that the solver moves between threads because layouts disagree. A tensor whose elements stay in their threads does not
/// count, and neither does one that is moved to be stored in wider accesses.
fn redistributions(solved: &Solved) -> CodeAnswer {
    let Solved { program, solution, .. } = solved;
    let moved = |(op, _): (&Op, f64)| {
        let OpKind::Rearrange { dst, src, .. } = op.kind else { return None };
        let Some(Choice::Rearrange(RearrangeChoice { route, .. })) = solution.choices.get(&op.id) else {
            return None;
        };
        let between_threads = !matches!(route, Route::Within(_) | Route::Renamed(_));
        // An operation that updates its operand has a move before it and one after it, of the same tensor.
        (program.is_move(op) && between_threads && !solved.widens_a_store(op.id)).then_some(dst.max(src))
    };
    let moved: BTreeSet<TensorId> = program.ops(1.0).into_iter().filter_map(moved).collect();
    CodeAnswer::Int(moved.len() as i64)
}

/// Returns the width in bytes of the narrowest access to the tensor, over all copies that move it.
fn bytes_per_access(name: &str, program: &TileProgram, solution: &Solution) -> HostResult<CodeAnswer> {
    let name_of = |view: &View| program.base_name(view.base);
    let mut moved = BTreeSet::new();
    let mut narrowest: Option<u32> = None;
    for (op, _) in program.ops(1.0) {
        let (OpKind::Copy { src, dst } | OpKind::CopyAsync { src, dst, .. }) = &op.kind else { continue };
        let sides = [name_of(src), name_of(dst)];
        moved.extend(sides);
        if let Some(Choice::Copy(copy)) = solution.choices.get(&op.id)
            && sides.contains(&name)
        {
            narrowest = Some(narrowest.map_or(copy.bytes, |n| n.min(copy.bytes)));
        }
    }
    match narrowest {
        Some(bytes) => Ok(CodeAnswer::Int(i64::from(bytes))),
        None => {
            let error = HostError::call(format!("no copy of `{}` moves a tensor `{name}`", program.name));
            Err(match nearest(name, moved.iter().copied()) {
                Some(near) => error.help(format!("perhaps `{near}` is meant")),
                None => error.note(format!(
                    "copies move {}",
                    moved.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
                )),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_components() {
        assert!(
            starts_with_components("ld.global.v4.b32", "ld.global") && starts_with_components("ld", "ld")
        );
        assert!(!starts_with_components("ldfoo.x4", "ld") && !starts_with_components("ld.global", "ld.glob"));
    }
}
