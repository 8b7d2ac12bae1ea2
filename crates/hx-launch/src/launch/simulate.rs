//! Launches a kernel on the simulator, and converts its faults to diagnostics.

use hx_base::{Code, Diagnostic, SourceFile, TextRange, codes};
use hx_compile::{Db, Instance, resources, thread_program, tile_program};
use hx_hir::{Item, signature_source_map};
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_index::EvalError;
use hx_inspect::{KernelReport, Ran};
use hx_sim::{Argument, Blocked, Config, Fault, OldLoad, Report, Room, SimError};
use hx_thread::LogContents;
use hx_tile::{OpKind, Origin};

use super::instance::{self, Checked};
use super::{Bound, BoundParam, Launcher, estimates, maps, stopped_at};

/// Alignment in bytes of each tensor's memory. A GPU's driver aligns allocations at least as much, so the sectors that the
/// simulator counts are those of a GPU.
const ALLOCATION_ALIGN: u32 = 256;

/// The output of a launch besides its results.
pub(super) struct Simulated {
    pub counted: Report,
    pub printed: Vec<String>,
}

impl<'a> Launcher<'a> {
    /// Runs the kernel and writes its results back.
    pub(super) fn simulate(&mut self, checked: Checked<'a>, bound: &Bound) -> Result<Simulated, LaunchError> {
        let (db, instance) = (self.db, checked.get());
        let program = thread_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
        maps::check(program, bound)?;
        let mut arguments = arguments(bound)?;
        let until = self.until;
        let cancel = move || until.is_reached();
        let config =
            Config { cancel: &cancel, seed: self.order, room: room(db, instance), ..Config::default() };
        self.had_orders |= hx_sim::depends_on_seed(program);
        let mut log = LogContents::default();
        let ran = hx_sim::run_with_log(program, &bound.symbols, &mut arguments, &config, &mut log);
        let launch_log = self.launch_log(instance, program, &log);
        if let Err(error) = &ran {
            self.faulted = Some((self.launches - 1, error.clone()));
        }
        let (counted, printed) = launch_log.finish(ran.map_err(|e| self.fault(instance, &e)))?;
        let mut old: Vec<&OldLoad> = counted.old.iter().collect();
        old.sort_by_key(|old| old.acquires);
        self.old = old.into_iter().filter_map(|old| self.old_load(instance, old)).collect();
        for (param, argument) in bound.params.iter().zip(&arguments) {
            if let (BoundParam::Tensor(t), Argument::Tensor { bytes, .. }) = (param, argument)
                && t.mutable
            {
                t.write_back(bytes).map_err(LaunchError::call)?;
            }
        }
        Ok(Simulated { counted, printed })
    }

    /// Returns the report of a launch that has run: the simulator's counters by the operations of the kernel's text. `None` if
    /// the instance has no thread program.
    pub(super) fn reported(
        &self,
        checked: Checked<'a>,
        bound: &Bound,
        counted: &Report,
    ) -> Option<KernelReport> {
        let (db, instance) = (self.db, checked.get());
        let program = thread_program(db, instance).as_ref().ok()?;
        let (kernel, dims) = (instance::shown(db, checked), estimates::dims(bound));
        Ran { db, instance, kernel, program, dims: &dims, counted }.report()
    }

    pub(super) fn fault(&self, instance: Instance<'a>, error: &SimError) -> LaunchError {
        let code = match &error.fault {
            Fault::Cancelled => return LaunchError::call(self.stop_reason()),
            Fault::Argument(text) => {
                return LaunchError::call(HostError::new(&codes::INTERNAL_ERROR, text.clone()));
            }
            fault => code_of(fault),
        };
        let place = error.place.as_deref();
        let at = place.and_then(|p| self.origin(instance, p.origin?));
        let (file, range) = at.unwrap_or_else(|| self.kernel_name(instance));
        let mut found = Diagnostic::new(code, file, range, error.fault.to_string());
        if let Some(place) = place {
            let mut who = Vec::new();
            who.extend(place.thread.map(|t| format!("thread {t}")));
            who.extend(place.block.map(block));
            if !who.is_empty() {
                found = found.note(format!("seen in {}", who.join(" of ")));
            }
        }
        if let Some((origin, what)) = earlier_access(&error.fault)
            && let Some((file, range)) = origin.and_then(|o| self.origin(instance, o))
        {
            found = found.also(file, range, what);
        }
        if let Fault::Deadlock { blocked, .. } = &error.fault {
            let mut last: Vec<_> = blocked.iter().filter_map(|blocked| blocked.last).collect();
            last.dedup();
            for (origin, what) in last {
                if let Some((file, range)) = self.origin(instance, origin) {
                    found = found.also(file, range, what);
                }
            }
            // The error is at the first wait. If several blocks wait at one place, one label covers them.
            let apart =
                |(at, other): &(usize, &Blocked)| !blocked[..*at].iter().any(|wait| wait.is_beside(other));
            for (_, other) in blocked.iter().enumerate().skip(1).filter(apart) {
                if let Some((file, range)) = other.origin.and_then(|o| self.origin(instance, o)) {
                    found = found.also(file, range, format!("{} here", other.who()));
                }
            }
        }
        let help = self.pipe_help(instance, &error.fault);
        let help = help.or_else(|| self.roles_help(instance, error).map(str::to_owned));
        if let Some(help) = help.or_else(|| remedy(&error.fault).map(str::to_owned)) {
            found = found.help(help);
        }
        LaunchError::Found(vec![found])
    }

    /// Returns the advice for the use of a copy in flight that fills a stage of a pipeline; `None` for every other fault.
    fn pipe_help(&self, instance: Instance<'a>, fault: &Fault) -> Option<String> {
        let Fault::CopyInFlight { copy, .. } = fault else { return None };
        let program = &tile_program(self.db, instance).as_ref().ok()?.program;
        let OpKind::CopyAsync { signal: Some(pipe), .. } = program.op(copy.op?)?.kind else { return None };
        let pipe = &program.pipes[pipe.0 as usize].name;
        Some(format!("`{pipe}.wait()` returns the stage whose copies have arrived"))
    }

    /// Returns the advice for two accesses of different roles, which no `sync()` orders; `None` for every other fault.
    fn roles_help(&self, instance: Instance<'a>, error: &SimError) -> Option<&'static str> {
        let (earlier, help) = match &error.fault {
            Fault::SharedRace { earlier, .. } | Fault::GlobalRace { earlier, .. } => (
                earlier.op,
                "a barrier of both roles, `let ready = barrier();`, orders them: `ready.sync();` in each role between the two",
            ),
            Fault::StoreInFlight { copy, .. } => (
                copy.op,
                "the role that stores waits with `wait_stores(0);`, and comes to a barrier of both roles before the other one writes",
            ),
            Fault::DestinationInFlight { store, .. } => (
                store.op,
                "the role that stores waits with `wait_stores(0, read: false);`, and comes to a barrier of both roles before the other one goes on",
            ),
            _ => return None,
        };
        let program = &tile_program(self.db, instance).as_ref().ok()?.program;
        let scope = |op| program.op(op).map(|op| program.scope(op.scope));
        let (one, other) = (scope(earlier?)?, scope(error.place.as_ref()?.op?)?);
        let apart = one.end() <= u64::from(other.first) || other.end() <= u64::from(one.first);
        apart.then_some(help)
    }

    /// Returns the place of an operation in the text; `None` if it has none.
    pub(super) fn origin(&self, instance: Instance<'a>, origin: Origin) -> Option<(SourceFile, TextRange)> {
        let lowered = tile_program(self.db, instance).as_ref().ok()?;
        lowered.sources.origins.get(origin.0 as usize)?.place.range(self.db)
    }

    fn old_load(&self, instance: Instance<'a>, old: &OldLoad) -> Option<Old> {
        let [load, write] = [&old.load, &old.write].map(|place| self.origin(instance, place.origin?));
        let element = match &old.coord {
            Some(at) => {
                let at: Vec<String> = at.iter().map(i64::to_string).collect();
                format!("`{}[{}]`", old.tensor, at.join(", "))
            }
            None => format!("element {} of `{}`", old.element, old.tensor),
        };
        let blocks = [&old.load, &old.write].map(|place| place.block.unwrap_or_default());
        Some(Old { load: load?, write: write?, element, blocks })
    }

    pub(super) fn kernel_name(&self, instance: Instance<'a>) -> (SourceFile, TextRange) {
        let kernel = instance.kernel(self.db);
        let name = signature_source_map(self.db, Item::Kernel(kernel)).and_then(|map| map.name);
        (kernel.file(self.db), name.unwrap_or_default() + kernel.offset(self.db))
    }
}

/// An atomic load that read the value before a write, because nothing orders the load after that write, with places in the
/// text.
#[derive(Clone, Debug)]
pub struct Old {
    /// The place of the load.
    pub load: (SourceFile, TextRange),
    /// The write, whose value the load did not read.
    pub write: (SourceFile, TextRange),
    /// The element, and the blocks of the load and of the write.
    element: String,
    blocks: [[u32; 3]; 2],
}

impl Old {
    /// Returns the message at the load.
    pub fn load_text(&self) -> String {
        let [reader, writer] = self.blocks.map(block);
        format!("{reader} finds {} as it was before {writer} wrote it: nothing orders the two", self.element)
    }

    /// Returns the message at the write.
    pub fn write_text(&self) -> String {
        let [_, writer] = self.blocks.map(block);
        format!("{writer} wrote it here")
    }
}

/// Returns the number of blocks that the device of the simulator holds at once: that of a GPU with the multiprocessors of
/// the target's costs, whose registers are those that the compiler estimates.
pub(super) fn room(db: &dyn Db, instance: Instance<'_>) -> Option<Room> {
    let resources = resources(db, instance, None)?;
    let (registers, shared) = (resources.registers.count(), resources.shared_bytes);
    let residency = instance.target(db).limits.residency(resources.threads, registers, shared);
    // The registers are an estimate and may exceed a block's limit. The compiler then spills to stay within it, so at least one block
    // fits.
    let each = residency.blocks.max(1);
    // A cluster lies in one group of multiprocessors, so clusters may leave some of them idle.
    let cluster =
        tile_program(db, instance).as_ref().map_or(1, |lowered| lowered.program.cluster.iter().product());
    let multiprocessors = instance.target(db).costs().multiprocessors_of_clusters(cluster);
    Some(Room { multiprocessors, each, limited_by: residency.limited_by })
}

/// Returns the earlier access that a fault conflicts with: its place, if it has one, and a description. `None` if the fault
/// conflicts with none.
fn earlier_access(fault: &Fault) -> Option<(Option<Origin>, String)> {
    match fault {
        Fault::SharedRace { earlier, .. } | Fault::GlobalRace { earlier, .. } => {
            Some((earlier.origin, format!("thread {} {} it here", earlier.thread, earlier.mode.past())))
        }
        Fault::CopyInFlight { copy, .. } => {
            Some((copy.origin, format!("thread {} copies into it here", copy.thread)))
        }
        Fault::SourceInFlight { copy, .. } | Fault::StoreInFlight { copy, .. } => {
            Some((copy.origin, format!("thread {} copies from it here", copy.thread)))
        }
        Fault::DestinationInFlight { store, .. } => {
            Some((store.origin, format!("thread {} stores to it here", store.thread)))
        }
        Fault::OperandInFlight { product, .. } | Fault::ProductInFlight { product, .. } => {
            Some((product.origin, "the product begins here".to_owned()))
        }
        Fault::BlockRace { earlier, earlier_mode, .. } => {
            let who = block(earlier.block.unwrap_or_default());
            Some((earlier.origin, format!("{who} {} it here", earlier_mode.past())))
        }
        Fault::NoMeaning { function, origin } => Some((Some(*origin), format!("the PTX of `{function}`"))),
        _ => None,
    }
}

fn remedy(fault: &Fault) -> Option<&'static str> {
    match fault {
        Fault::CounterStart { .. } => Some(
            "pass `zeros(i32, [1])`: a launch that ends leaves 0, one that fails may leave another number",
        ),
        Fault::UnwrittenElement { .. } => Some(
            "`where` with a condition on `index` selects the elements that were written; or fill the tensor before the launch",
        ),
        Fault::SharedRace { .. } | Fault::GlobalRace { .. } => {
            Some("a `sync();` between the two orders them")
        }
        Fault::CopyInFlight { .. } => Some("`wait(0);` and a `sync();` between the two order them"),
        Fault::Unwaited { .. } => Some("wait for every stage: the memory belongs to other blocks afterwards"),
        Fault::StoreInFlight { .. } => Some("`wait_stores(0);` and a `sync();` between the two order them"),
        Fault::DestinationInFlight { .. } => {
            Some("`wait_stores(0, read: false);` and a `sync();` between the two order them")
        }
        Fault::BlockRace { in_flight: true, .. } => Some(
            "`wait_stores(0, read: false);` and a `sync();` before the release: without them the store is complete when the \
             kernel has ended",
        ),
        Fault::OperandInFlight { .. } | Fault::ProductInFlight { .. } => {
            Some("`gemm_wait(0);` between the two completes the product")
        }
        Fault::SourceInFlight { .. } => {
            Some("`commit();`, `wait(0);` and a `sync();` between the two order them")
        }
        Fault::Eval(EvalError::DivisionByZero(_)) => {
            Some("the result would be 0; a `where` clause of the kernel can demand another divisor")
        }
        Fault::DivisionByZero { .. } => Some(
            "choose another divisor where it is 0: `where(d == 0, 1, d)`; beyond the end of a tensor a tile holds 0, or \
             what `pad:` of its view says",
        ),
        Fault::BlockRace { narrow: true, .. } => {
            Some("leave out `scope:`: accesses are atomic among all threads of the device then")
        }
        Fault::BlockRace { .. } => Some(
            "one block releases after its access, as `atomic_store(flag, one, order: \"release\")` does, and the other acquires before \
             its own, as `atomic_load(flag, order: \"acquire\")` does; or each block has elements of its own",
        ),
        Fault::Deadlock { left_out: Some(_), .. } => Some(
            "a block may wait for those only that have begun: take the next part by a ticket, `atomic_add(ticket, one)`, or launch \
             no more blocks than the device holds, as `where … <= multiprocessors` says",
        ),
        Fault::NoMeaning { .. } => Some(
            "give it a body with the value that the PTX computes, or launch the kernel on a GPU: `--device cuda`",
        ),
        Fault::TooManyBlocks { .. } => Some("launch it with smaller tensors, or on a GPU: `--device cuda`"),
        _ => None,
    }
}

fn block([x, y, z]: [u32; 3]) -> String {
    format!("block [{x}, {y}, {z}]")
}

/// Returns the arguments of a launch. An input that is the same tensor as an output is that memory.
pub(super) fn arguments(bound: &Bound) -> Result<Vec<Argument>, LaunchError> {
    let mut arguments = bound.params.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
    for [input, output] in &bound.same {
        arguments[*input] = Argument::Same(*output);
    }
    Ok(arguments)
}

fn argument(param: &BoundParam) -> Result<Argument, LaunchError> {
    Ok(match param {
        BoundParam::Int(value) => Argument::Int(*value),
        BoundParam::Float(value) => Argument::Float(*value),
        BoundParam::Tensor(t) => Argument::Tensor {
            bytes: t.bytes().map_err(LaunchError::call)?,
            shape: t.shape.clone(),
            stride: t.stride.clone(),
            base_align: ALLOCATION_ALIGN,
        },
    })
}

/// Returns the code of a fault that the simulator found in a kernel.
fn code_of(fault: &Fault) -> &'static Code {
    match fault {
        Fault::TooManyBlocks { .. } | Fault::NoBlock { .. } => &codes::BAD_GRID,
        Fault::Eval(EvalError::DivisionByZero(_)) | Fault::DivisionByZero { .. } => &codes::DIVISION_BY_ZERO,
        Fault::Eval(EvalError::Overflow(_)) => &codes::INTEGER_OVERFLOW,
        Fault::Requirement(_) | Fault::CounterStart { .. } | Fault::CounterLimit { .. } => {
            &codes::BROKEN_REQUIREMENT
        }
        Fault::OutOfBounds { .. } => &codes::OUT_OF_BOUNDS,
        Fault::Misaligned { .. } => &codes::MISALIGNED_ACCESS,
        Fault::UninitializedShared { .. }
        | Fault::UninitializedRegister { .. }
        | Fault::UnwrittenElement { .. } => &codes::UNINITIALIZED_READ,
        Fault::SharedRace { .. }
        | Fault::GlobalRace { .. }
        | Fault::BlockRace { .. }
        | Fault::SourceInFlight { .. }
        | Fault::StoreInFlight { .. }
        | Fault::DestinationInFlight { .. }
        | Fault::Unwaited { .. }
        | Fault::CopyInFlight { .. } => &codes::RACE,
        Fault::OperandInFlight { .. } | Fault::ProductInFlight { .. } => &codes::OPERAND_IN_FLIGHT,
        Fault::NoMeaning { .. } => &codes::NO_MEANING,
        Fault::NoProgress { .. } | Fault::Deadlock { .. } => &codes::DEADLOCK,
        Fault::Cancelled | Fault::Argument(_) | Fault::Malformed(_) | Fault::Eval(EvalError::Unbound(_)) => {
            &codes::INTERNAL_ERROR
        }
    }
}
