//! A launch from start to end: arguments to parameters, the instance, its program, the device, the results.
//!
//! A refused launch says what it found in the arguments and what the kernel declares. A kernel that fails while it runs reports
//! places in its own text.

mod bind;
mod code;
mod cuda;
mod data;
mod direct;
mod estimates;
mod family;
mod form;
mod in_place;
mod instance;
mod levels;
mod log;
mod maps;
mod orders;
mod peak;
mod plans;
mod race;
mod recipe;
mod regions;
mod remarks;
mod resident;
mod simulate;
mod step;
mod strides;
mod time;
mod tuned;
mod values;
mod witness;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use hx_base::interrupt::Until;
use hx_base::{Diagnostic, codes};
use hx_codegen::CudaSource;
use hx_compile::{Db, candidates, launch_warnings, tile_program};
use hx_hir::{Item, ItemKey, Kernel, Name, Sound, reached_errors};
use hx_host::compare::Difference;
use hx_host::device::{
    CodeAnswer, CodeQuestion, Device, GemmRequest, Kept, LaunchError, LaunchReport, LaunchRequest, NoDevice,
    OrderQuestion, Step, Times,
};
use hx_host::eval::Suspect;
use hx_host::{HostError, HostResult, Tensor};
use hx_index::Symbol;
use hx_inspect::{Choosing, KernelReport, stopped_at};
use hx_layout::Layout;
use hx_sim::{Counters, Report, SimError};
use hx_target::Target;

use crate::machine::{Gpu, Machine};
use crate::reporting::Reporting;

use code::Launched;
use cuda::cuda_text;
pub use data::DATA_TEXT;
pub use direct::{ChosenInstance, DirectLaunch, PreparedLaunch};
use family::{Adapt, Closed};
pub use family::{Choice, Considered, Fit, clear_choices, shown_member};
pub use form::{Given, LaunchForm, Read};
use instance::Errors;
pub use instance::{InstanceText, grid_label};
pub use levels::Levels;
pub use plans::{Found, Plans};
pub use race::{Launch, Racetrack, bound};
pub use recipe::{DirectParam, Recipe, Values, float_bytes, number_bytes};
pub use regions::{Region, may_share};
pub use simulate::Old;
use simulate::Simulated;
pub use step::{Recorded, Stepping};
pub use time::Timing;
pub use tuned::Tuned;
pub use tuned::text_hash;
pub use tuned::{fits, values};
pub use values::{host_value, integers};
pub use witness::{Seen, Source, stored_tensor};

/// Runs kernels for one evaluation, on one machine.
pub struct Launcher<'a> {
    db: &'a dyn Db,
    machine: &'a Machine,
    target: Target,
    until: Until<'a>,
    timing: Timing,
    /// The order of events on the simulator, a seed of [`hx_sim::Config`].
    order: u64,
    /// The levels of the assembler on a GPU.
    levels: Levels,
    /// Whether a launch so far has several orders of events.
    had_orders: bool,
    last: Option<Launched<'a>>,
    /// Arguments of kernels that were tuned for shapes.
    tuned: Option<&'a Tuned>,
    /// How launches choose between the members of a family, if not as the machine says.
    choosing: Option<Choosing>,
    /// The choices between the members of families, by the kernel and its bound arguments.
    members: RefCell<BTreeMap<String, Rc<Choice>>>,
    /// The kernel of the last launch.
    running: Option<Name>,
    /// The number of launches so far.
    launches: usize,
    watch: Option<&'a Suspect>,
    seen: Option<Seen<'a>>,
    errors: Errors,
    /// Whether the static checks refused a launch whose threads have a program.
    refused: Cell<bool>,
    /// The launch to hand over to a stepper.
    stepping: Option<Stepping<'a>>,
    /// The last fault that the simulator found, after the position of its launch among those so far.
    faulted: Option<(usize, SimError)>,
    reporting: Reporting<'a>,
    /// The atomic loads of the last launch that read the value before a write, because nothing orders the load after that
    /// write.
    old: Vec<Old>,
    /// The warnings about the kernels that were launched.
    findings: Vec<Diagnostic>,
    /// The tensors on a GPU, if results stay there.
    resident: Option<resident::Memory>,
}

/// A launch whose instance is chosen.
struct Chosen<'a> {
    checked: instance::Checked<'a>,
    bound: Bound,
    /// For each parameter, the position of its argument in the request.
    sources: Vec<usize>,
    /// Tuned arguments that the launch takes, and entries that it cannot take.
    remarks: Vec<String>,
}

impl std::fmt::Debug for Launcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launcher")
            .field("machine", self.machine)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// The error of a launch that contradicts its own program: a bug of ours.
fn internal(message: String) -> LaunchError {
    LaunchError::call(HostError::new(&codes::INTERNAL_ERROR, message))
}

/// A launch whose arguments match the kernel's parameters.
struct Bound {
    /// Dimensions, strides and integer arguments.
    symbols: BTreeMap<Symbol, i64>,
    params: Vec<BoundParam>,
    /// Pairs `[input, output]` of positions of parameters whose arguments are the same memory. The kernel is known to update it
    /// in place.
    same: Vec<[usize; 2]>,
}

/// The value of one parameter.
#[derive(Clone)]
enum BoundParam {
    Tensor(BoundTensor),
    Int(i64),
    Float(f64),
}

#[derive(Clone)]
struct BoundTensor {
    tensor: Tensor,
    mutable: bool,
    /// True if the parameter names its strides: the kernel then gets the memory as it is. Otherwise the elements are packed
    /// first.
    strided: bool,
    shape: Vec<i64>,
    stride: Vec<i64>,
}

impl BoundTensor {
    fn bytes(&self) -> HostResult<Vec<u8>> {
        if self.strided { self.tensor.span_bytes() } else { Ok(self.tensor.to_host().data) }
    }

    fn write_back(&self, bytes: &[u8]) -> HostResult<()> {
        if self.strided { self.tensor.write_span_bytes(bytes) } else { self.tensor.write_packed(bytes) }
    }
}

impl<'a> Launcher<'a> {
    /// Makes a launcher. Its launches end at the latest at `until`.
    pub fn new(db: &'a dyn Db, machine: &'a Machine, until: Until<'a>) -> Launcher<'a> {
        Launcher {
            db,
            machine,
            target: machine.target(),
            until,
            timing: Timing::default(),
            order: 0,
            levels: Levels::default(),
            had_orders: false,
            last: None,
            tuned: None,
            choosing: None,
            members: RefCell::default(),
            running: None,
            launches: 0,
            watch: None,
            seen: None,
            errors: Errors::Refused,
            refused: Cell::new(false),
            stepping: None,
            faulted: None,
            reporting: Reporting::Off,
            old: Vec::new(),
            findings: Vec::new(),
            resident: None,
        }
    }

    /// Returns the launcher with arguments of tuned kernels. A launch that states none of them takes those of its shape.
    #[must_use]
    pub fn with_tuned(self, tuned: Option<&'a Tuned>) -> Launcher<'a> {
        Launcher { tuned, ..self }
    }

    /// Returns the launcher with another way to choose between the members of a family; `None` is that of the machine.
    #[must_use]
    pub fn choosing(self, choosing: Option<Choosing>) -> Launcher<'a> {
        Launcher { choosing, ..self }
    }

    /// Returns the launcher with other timing options.
    #[must_use]
    pub fn timed(self, timing: Timing) -> Launcher<'a> {
        Launcher { timing, ..self }
    }

    /// Returns the launcher with another order of events on the simulator.
    #[must_use]
    pub fn in_order(self, order: u64) -> Launcher<'a> {
        Launcher { order, ..self }
    }

    /// Returns the atomic loads of the last launch that read the value before a write, because nothing orders the load after
    /// it.
    pub fn old(&self) -> &[Old] {
        &self.old
    }

    /// Returns the launcher with other levels of the assembler on a GPU.
    #[must_use]
    pub fn at(self, levels: Levels) -> Launcher<'a> {
        Launcher { levels, ..self }
    }

    /// Returns the launcher with reports of its launches on the simulator.
    #[must_use]
    pub fn reporting(self, reporting: Reporting<'a>) -> Launcher<'a> {
        Launcher { reporting, ..self }
    }

    /// Takes the warnings about the kernels that were launched so far.
    pub fn take_findings(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.findings)
    }

    /// Returns the reports of all launches so far, one for each instance; none unless the launches add up
    /// ([`Reporting::Summed`]).
    pub fn into_reports(self) -> Vec<KernelReport> {
        match self.reporting {
            Reporting::Summed(reports) => reports,
            Reporting::Off | Reporting::Each(_) => Vec::new(),
        }
    }

    /// Makes the report of a launch that has run. Returns its text if each launch has one of its own.
    fn report(&mut self, checked: instance::Checked<'a>, bound: &Bound, counted: &Report) -> Option<String> {
        if matches!(self.reporting, Reporting::Off) {
            return None;
        }
        let report = self.reported(checked, bound, counted)?;
        match &mut self.reporting {
            Reporting::Off => None,
            Reporting::Each(form) => Some(form.of_launch(self.launches, &report)),
            Reporting::Summed(reports) => {
                report.add_to(reports);
                None
            }
        }
    }

    /// Compiles the kernel of a launch, and does not run it. On the simulator it only checks the arguments and chooses an instance. A
    /// machine for texts keeps the CUDA text.
    ///
    /// # Errors
    /// If the arguments do not fit, the kernel has errors, or the CUDA compiler is absent or refuses the text.
    pub fn compile_only(&self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        let Chosen { checked, bound, sources, remarks } = self.chosen(request)?;
        match self.machine {
            Machine::Simulator { .. } => {}
            Machine::Gpu(gpu) => drop(self.compile(&gpu.cuda, checked)?),
            Machine::CompileOnly(cuda) => drop(self.compile(cuda, checked)?),
            Machine::TextOnly(texts) => {
                let text = cuda_text(self.db, checked)?.text.clone();
                texts.add(instance::shown(self.db, checked), text);
            }
        }
        Ok(LaunchReport { written: written(&bound, &sources), remarks, ..LaunchReport::default() })
    }

    /// Returns the cycles of a launch by the cost model, at its clock; `None` if its instance has no estimate. Nothing is compiled or
    /// run.
    ///
    /// # Errors
    /// If the arguments do not fit, or the kernel has errors.
    pub fn estimated_cycles(&self, request: &LaunchRequest) -> Result<Option<f64>, LaunchError> {
        let Chosen { checked, bound, .. } = self.chosen(request)?;
        Ok(estimates::launch(self.db, checked, &bound).map(|forecast| forecast.cycles))
    }

    /// Returns the choice between the members that a launch leaves open; `None` if it leaves nothing open. A tuned result is not considered.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel, or a member has errors.
    pub fn choice(&self, request: &LaunchRequest) -> Result<Option<Rc<Choice>>, LaunchError> {
        self.choice_after(request, &|_, _| Ok(()))
    }

    /// As [`Launcher::choice`], after `adapt` has seen what was bound.
    fn choice_after(
        &self,
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Option<Rc<Choice>>, LaunchError> {
        let kernel = find_kernel(self.db, request)?;
        let closed = Closed::of(self.db, kernel, request)?;
        let mut prepared = bind::bind(self.db, kernel, &closed.request)?;
        adapt(kernel, &mut prepared)?;
        let choice = self.between(kernel, &closed, (&prepared, adapt))?;
        Ok(choice.map(|(_, choice)| choice))
    }

    /// Returns what the tuned results say about a launch, a line for each device that has one for it.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel, or a result does not.
    pub fn results(&self, request: &LaunchRequest) -> Result<Vec<String>, LaunchError> {
        let Some(tuned) = self.tuned else { return Ok(Vec::new()) };
        let kernel = find_kernel(self.db, request)?;
        let closed = Closed::of(self.db, kernel, request)?;
        let bound = bind::bind(self.db, kernel, &closed.request)?;
        tuned.of_devices(self.db, kernel, self.target, &bound.dims, &bound.args)
    }

    /// Reports whether launches run, rather than only compile.
    pub fn runs(&self) -> bool {
        self.machine.runs()
    }

    /// Reports whether one of the launches so far has several orders of events.
    pub fn had_orders(&self) -> bool {
        self.had_orders
    }

    /// Returns the CUDA text of a candidate of a launch.
    fn candidate_text(&self, request: &LaunchRequest, candidate: u32) -> Result<&'a CudaSource, LaunchError> {
        let request = LaunchRequest { candidate: Some(candidate), ..request.clone() };
        cuda_text(self.db, self.chosen(&request)?.checked)
    }

    /// Binds the arguments of a launch, and chooses its instance.
    fn chosen(&self, request: &LaunchRequest) -> Result<Chosen<'a>, LaunchError> {
        let db: &'a dyn Db = self.db;
        self.chosen_of(find_kernel(db, request)?, request, &|_, _| Ok(()))
    }

    /// Binds the arguments of a launch, and chooses its kernel, if that has a family, and its instance after `adapt` has seen what was
    /// bound.
    fn chosen_of(
        &self,
        kernel: Kernel<'a>,
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Chosen<'a>, LaunchError> {
        let db: &'a dyn Db = self.db;
        let closed = Closed::of(db, kernel, request)?;
        let mut prepared = bind::bind(db, kernel, &closed.request)?;
        adapt(kernel, &mut prepared)?;
        orders::check_inferred(db, kernel, &prepared, self.target)?;
        let stated = prepared.args.len();
        let (member, mut remarks) = match self.tuned {
            Some(tuned) => tuned.apply(db, kernel, self.machine, &mut prepared)?,
            None => (None, Vec::new()),
        };
        if let (Some(entry), Some(tuned)) = (member, self.tuned) {
            let runs = tuned.kernel_of(db, kernel, entry)?;
            match self.of_result(runs, entry, &closed.request, adapt) {
                Ok(mut chosen) => {
                    chosen.remarks.splice(0..0, remarks);
                    return Ok(chosen);
                }
                Err(error) => remarks = vec![tuned.unfit(db, kernel, entry, error)],
            }
        }
        let is_tuned = prepared.args.len() > stated;
        if !is_tuned && let Some(mut chosen) = self.of_family(kernel, &closed, (&prepared, adapt))? {
            chosen.remarks.splice(0..0, remarks);
            return Ok(chosen);
        }
        self.instantiated(kernel, &closed.request, prepared, remarks)
    }

    /// Chooses the instance of a kernel whose arguments are bound.
    fn instantiated(
        &self,
        kernel: Kernel<'a>,
        request: &LaunchRequest,
        prepared: bind::Prepared,
        remarks: Vec<String>,
    ) -> Result<Chosen<'a>, LaunchError> {
        let db: &'a dyn Db = self.db;
        let sources = prepared.sources.clone();
        let instance = instance::choose(db, kernel, self.machine, &prepared);
        let bound = instance::check_launch(db, instance, self.machine, prepared)?;
        let checked = self.checked(instance)?;
        for pair in &bound.same {
            if let Err(reason) = hx_inspect::in_place(db, instance, *pair) {
                let header = bind::Header::new(db, kernel);
                return Err(bind::refused(&header, (request, &sources), *pair, (pair[1], &reason)));
            }
        }
        Ok(Chosen { checked, bound, sources, remarks })
    }

    fn stopped(&self) -> bool {
        self.until.is_reached()
    }

    /// Returns the error of an evaluation that was stopped or ran out of time.
    fn stop_reason(&self) -> HostError {
        let kernel = self.running.as_ref().map_or("the kernel".to_owned(), |name| format!("`{name}`"));
        if self.until.stop.load(Ordering::Relaxed) {
            HostError::new(&codes::TIME_LIMIT, format!("{kernel} was stopped"))
        } else {
            HostError::new(&codes::TIME_LIMIT, format!("{kernel} did not end within the time limit"))
                .help("`--timeout SECONDS` changes the limit")
        }
    }
}

impl<'a> Device for Launcher<'a> {
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        self.running = Some(request.kernel.name.clone());
        let Chosen { checked, bound, sources, mut remarks } = self.chosen(request)?;
        for finding in launch_warnings(self.db, checked.get()) {
            if !self.findings.contains(finding) {
                self.findings.push(finding.clone());
            }
        }
        let nth = self.launches;
        self.launches += 1;
        if let Some(suspect) = self.watch.filter(|suspect| suspect.launch == nth) {
            let param = sources.iter().position(|source| *source == suspect.arg);
            return Err(self.watched(checked, &bound, (param, suspect)));
        }
        if self.stepping.as_ref().is_some_and(|stepping| stepping.wants(nth, &request.kernel.name)) {
            return Err(self.stepped(checked, &bound));
        }
        let mut launched = Launched { checked, extra_wavefronts: None };
        let mut counters = None;
        let printed = match self.machine {
            Machine::Simulator { .. } => {
                let Simulated { counted, printed: lines } = self.simulate(checked, &bound)?;
                let all = counted.ops.values().chain([&counted.other]);
                launched.extra_wavefronts = Some(all.map(Counters::conflicts).sum());
                counters = self.report(checked, &bound, &counted);
                lines
            }
            Machine::Gpu(gpu) => {
                let at_home = |launcher: &Launcher<'a>, gpu: &Gpu, memory: &mut resident::Memory| {
                    launcher.run_at_home(gpu, checked, &bound, memory)
                };
                if self.on_resident(at_home).transpose()?.unwrap_or(false) {
                    Vec::new()
                } else {
                    let (lines, remark) = self.run_on_gpu(gpu, checked, &bound)?;
                    remarks.extend(remark);
                    lines
                }
            }
            Machine::CompileOnly(_) | Machine::TextOnly(_) => {
                let report = self.compile_only(request)?;
                self.last = Some(launched);
                return Ok(report);
            }
        };
        if let Ok(lowered) = tile_program(self.db, checked.get()) {
            orders::mark_written(&bound.params, &lowered.program.params);
        }
        self.last = Some(launched);
        Ok(LaunchReport { printed, written: written(&bound, &sources), counters, remarks })
    }

    fn gemm(&mut self, request: &GemmRequest) -> Result<(), LaunchError> {
        match self.machine {
            Machine::Simulator { .. } => NoDevice.gemm(request),
            Machine::Gpu(gpu) => {
                let at_home = |launcher: &Launcher<'a>, gpu: &Gpu, memory: &mut resident::Memory| {
                    launcher.multiply_at_home(gpu, request, memory)
                };
                match self.on_resident(at_home).transpose()? {
                    Some(true) => Ok(()),
                    Some(false) | None => self.multiply(gpu, request),
                }
            }
            Machine::CompileOnly(_) | Machine::TextOnly(_) => Ok(()),
        }
    }

    fn candidates(&mut self, request: &LaunchRequest) -> Result<u32, LaunchError> {
        let instance = self.chosen(request)?.checked.get();
        let all = candidates(self.db, instance.with_candidate(self.db, 0)).as_ref();
        let all = all.map_err(|stop| stopped_at(self.db, instance, stop))?;
        Ok(u32::try_from(all.len()).unwrap_or(u32::MAX))
    }

    fn packed_order(&mut self, question: &OrderQuestion) -> Result<Option<Layout>, LaunchError> {
        orders::answer(self.db, kernel_of(self.db, &question.kernel)?, question, self.target)
    }

    fn announce(&mut self, request: &LaunchRequest, count: u32) {
        let cuda = match self.machine {
            Machine::Gpu(gpu) => &gpu.cuda,
            Machine::CompileOnly(cuda) => cuda,
            Machine::Simulator { .. } | Machine::TextOnly(_) => return,
        };
        let sources: Vec<_> =
            (0..count).filter_map(|index| self.candidate_text(request, index).ok()).collect();
        self.compile_all(cuda, &sources);
    }

    fn code(&mut self, question: &CodeQuestion) -> HostResult<CodeAnswer> {
        self.answer(question)
    }

    fn can_time(&self) -> HostResult<()> {
        match self.machine {
            Machine::Simulator { .. } => NoDevice.can_time(),
            Machine::Gpu(_) | Machine::CompileOnly(_) | Machine::TextOnly(_) => Ok(()),
        }
    }

    fn time(&mut self, works: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        self.can_time().map_err(LaunchError::call)?;
        match self.machine {
            Machine::Gpu(gpu) => {
                let timed =
                    self.on_resident(|launcher, gpu, memory| launcher.time_on_gpu(gpu, works, memory));
                timed.unwrap_or_else(|| {
                    let mut memory = resident::Memory::default();
                    let timed = self.time_on_gpu(gpu, works, &mut memory);
                    let released = self.release(gpu, memory);
                    let times = timed?;
                    released.map(|()| times)
                })
            }
            // The kernels that make tensors are compiled, too: the next run finds them in the cache.
            Machine::CompileOnly(_) => self.compile_data().map(|()| Vec::new()),
            Machine::Simulator { .. } | Machine::TextOnly(_) => Ok(Vec::new()),
        }
    }

    fn bring(&mut self, tensor: &Tensor) -> Result<(), LaunchError> {
        let brought = self.on_resident(|launcher, gpu, memory| launcher.bring_home(gpu, tensor, memory));
        brought.unwrap_or(Ok(()))
    }

    fn keep(&mut self, tensor: &Tensor) -> Result<Kept, LaunchError> {
        let kept = self.on_resident(|launcher, gpu, memory| launcher.keep_on(gpu, tensor, memory));
        kept.unwrap_or_else(|| Ok(Kept::Here(tensor.to_host())))
    }

    fn put_back(&mut self, tensor: &Tensor, kept: &Kept) -> Result<(), LaunchError> {
        let put = self.on_resident(|launcher, gpu, memory| launcher.put_back_on(gpu, tensor, kept, memory));
        put.unwrap_or_else(|| NoDevice.put_back(tensor, kept))
    }

    fn difference(&mut self, tensor: &Tensor, x: &Kept, y: &Kept) -> Result<Difference, LaunchError> {
        let found =
            self.on_resident(|launcher, gpu, memory| launcher.difference_on(gpu, tensor, (x, y), memory));
        found.unwrap_or_else(|| NoDevice.difference(tensor, x, y))
    }

    fn forget(&mut self) -> Result<(), LaunchError> {
        self.on_resident(|launcher, gpu, memory| launcher.forget_on(gpu, memory)).unwrap_or(Ok(()))
    }
}

/// Returns the arguments that a launch writes, by position in the request.
fn written(bound: &Bound, sources: &[usize]) -> Vec<usize> {
    let mutable = |p: &BoundParam| matches!(p, BoundParam::Tensor(t) if t.mutable);
    let params = bound.params.iter().zip(sources);
    params.filter(|(p, _)| mutable(p)).map(|(_, source)| *source).collect()
}

/// Returns the kernel of a launch if it has no errors.
fn find_kernel<'db>(db: &'db dyn Db, request: &LaunchRequest) -> Result<Kernel<'db>, LaunchError> {
    kernel_of(db, &request.kernel)
}

/// Returns a kernel if it has no errors.
fn kernel_of<'db>(db: &'db dyn Db, key: &ItemKey) -> Result<Kernel<'db>, LaunchError> {
    match key.find(db) {
        Some(item @ Item::Kernel(kernel)) => match Sound::of(db, item) {
            Some(_) => Ok(kernel),
            None => Err(LaunchError::Found(reached_errors(db, item).clone())),
        },
        _ => Err(LaunchError::call(HostError::call(format!("the kernel `{}` is gone", key.name)))),
    }
}
