//! Tunes a kernel for shapes: candidates from its `tune` clause, best estimate first, compiled at the same time, checked
//! against the results of one of them, and measured in rounds on a GPU.
//!
//! Times are kept on disk ([`store`]), so that an interrupted run goes on where it was.

mod check;
mod gpu;
mod members;
mod rounds;
mod sample;
mod shape;
mod space;
mod store;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hx_base::interrupt::Until;
use hx_base::{SourceFile, codes};
use hx_compile::{Instance, orders_of};
use hx_hir::{Item, ItemKey, Kernel, Name, Sound, open_orders, reached_errors};
use hx_host::HostError;
use hx_host::device::{LaunchError, LaunchRequest};
use hx_lower::{CtArgs, CtValue, LaunchFacts};
use hx_workspace::{Database, Extent, TunedEntry, shape_text};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use hx_inspect::{EmitError, Overrides, kernels};
use hx_launch::{Machine, bound, host_value, text_hash};

pub use sample::Sample;
pub(crate) use shape::FixedInputs;
pub use shape::parse_shape;

/// The number of rounds of measuring, each with half of the candidates of the round before, about.
pub const ROUNDS: usize = rounds::ROUNDS.len();
use shape::Inputs;
pub(crate) use shape::inputs;
pub use space::{Candidate, Space};

/// The name of the baseline that has the kernel's own defaults.
pub const DEFAULTS: &str = "defaults";
/// The baseline of the vendor's library.
pub const CUBLAS: &str = "cublas::gemm";

/// Removes all measured times from a cache folder, and no other files.
///
/// # Errors
/// The file that could not be removed and the reason, as text.
pub fn clear(cache: &Path) -> Result<(), String> {
    store::Store::clear(cache)
}

/// The kernel, the shape and the options of a tuning run.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    pub kernel: String,
    /// The number of candidates, unless all are measured.
    pub limit: usize,
    /// Measure every legal candidate, in every round.
    pub all: bool,
    /// Measure the members of the kernel's family alone.
    pub members: bool,
    pub baseline: Baseline,
    /// The folder of earlier results; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// Ignore earlier results, and remove them.
    pub fresh: bool,
    /// The number of copies of every tensor, which repeated runs take in turn.
    pub rotate: usize,
    /// Version of the toolchain.
    pub hx: String,
    /// Nothing is measured, so tensors need no contents.
    pub dry_run: bool,
}

/// The work that times are compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Baseline {
    None,
    Defaults,
    Cublas,
    /// Another kernel of the file, with its defaults.
    Kernel(String),
}

impl Baseline {
    /// Returns the baseline of that name: `none`, `defaults`, `cublas::gemm`, or a kernel.
    pub fn parse(name: &str) -> Baseline {
        match name {
            "none" => Baseline::None,
            DEFAULTS => Baseline::Defaults,
            CUBLAS => Baseline::Cublas,
            other => Baseline::Kernel(other.to_owned()),
        }
    }

    /// Returns the name on the command line.
    pub fn name(&self) -> &str {
        match self {
            Baseline::None => "none",
            Baseline::Defaults => DEFAULTS,
            Baseline::Cublas => CUBLAS,
            Baseline::Kernel(name) => name,
        }
    }
}

/// A step of tuning, for whoever shows progress.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Progress {
    /// Candidates that are solved and compiled, of all.
    Compiled { done: usize, of: usize },
    /// Candidates whose results are compared with those of the anchor, of all.
    Checked { done: usize, of: usize },
    /// Candidates that are measured in a round, of those that are left. Rounds count from 0.
    Measured { round: usize, rounds: usize, done: usize, of: usize },
}

/// The reason why nothing was tuned.
#[derive(Debug)]
pub enum TuneError {
    /// The request is invalid.
    Usage(String),
    Launch(LaunchError),
    /// Candidates compute something else than the anchor. Each has the difference.
    Wrong(Vec<(String, HostError)>),
}

impl From<LaunchError> for TuneError {
    fn from(error: LaunchError) -> TuneError {
        TuneError::Launch(error)
    }
}

impl From<HostError> for TuneError {
    fn from(error: HostError) -> TuneError {
        TuneError::Launch(LaunchError::call(error))
    }
}

/// The candidates of one shape.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// `m = 4096, n = 4096, T = bf16`: the dimensions and the compile-time arguments that are not tuned.
    pub shape: BTreeMap<String, Extent>,
    pub space: Space,
    /// The candidates to measure, best estimate first. The defaults are among them, if they are legal.
    pub entrants: Vec<Entrant>,
    /// The entrant to which times are relative: the defaults, or else the best estimate.
    pub anchor: usize,
    /// Lines for the user, such as tensors that hold only zeros.
    pub remarks: Vec<String>,
    request: LaunchRequest,
    /// The launch of the kernel's family: with what the shape states and nothing else. `None` if no member is a candidate.
    of_members: Option<LaunchRequest>,
    inputs: Inputs,
}

/// A candidate that is measured.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// `BM = 128, BN = 256`: the tuned arguments; `gemm_split<BN = 128>` for a member of the kernel's family.
    pub name: String,
    /// The kernel that runs with them, if it is a member of the tuned kernel's family.
    pub member: Option<ItemKey>,
    /// The tuned arguments.
    pub arguments: CtArgs,
    /// The estimated time in microseconds.
    pub estimate: Option<f64>,
    /// The resource that bounds it; `None` for a member of a family.
    pub bound: Option<String>,
    /// Whether these are the kernel's defaults.
    pub is_default: bool,
}

/// A measured candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub candidate: String,
    /// The name of the kernel that runs, if it is a member of the tuned kernel's family.
    pub member: Option<String>,
    /// The tuned arguments by name: numbers, truth values, and other arguments as they are written.
    #[serde(serialize_with = "arguments_as_json")]
    pub arguments: CtArgs,
    pub is_default: bool,
    /// The estimated time in microseconds.
    pub estimate_us: Option<f64>,
    pub bound: Option<String>,
    pub sample: Option<Sample>,
    /// The median divided by that of the anchor ([`Prepared::anchor`]) in the same interleaved run.
    pub relative: Option<f64>,
    /// The baseline's time divided by this time.
    pub ratio: Option<f64>,
    /// The last round that measured it, counted from 1.
    pub round: Option<usize>,
    /// Whether the time is of an earlier run.
    pub stored: bool,
    /// The reason why the candidate has no code.
    pub refused: Option<String>,
    pub chosen: bool,
}

impl Row {
    /// Returns the row of a candidate that was not measured.
    pub(crate) fn of(entrant: &Entrant) -> Row {
        Row {
            candidate: entrant.name.clone(),
            member: entrant.member.as_ref().map(|member| member.name.to_string()),
            arguments: entrant.arguments.clone(),
            is_default: entrant.is_default,
            estimate_us: entrant.estimate,
            bound: entrant.bound.clone(),
            sample: None,
            relative: None,
            ratio: None,
            round: None,
            stored: false,
            refused: None,
            chosen: false,
        }
    }
}

fn arguments_as_json<S: Serializer>(arguments: &CtArgs, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(arguments.len()))?;
    for (name, value) in arguments {
        match value {
            CtValue::Int(value) => map.serialize_entry(name.as_str(), value)?,
            CtValue::Bool(value) => map.serialize_entry(name.as_str(), value)?,
            CtValue::Float(value) => map.serialize_entry(name.as_str(), &value.value())?,
            other => map.serialize_entry(name.as_str(), &other.to_string())?,
        }
    }
    map.end()
}

/// The result of tuning a kernel for one shape.
#[derive(Clone, Debug, Serialize)]
pub struct ShapeResult {
    pub kernel: String,
    pub shape: String,
    pub device: String,
    /// The combinations of the clause, and how many were refused for which reason.
    pub summary: String,
    pub baseline: String,
    /// The baseline's median in microseconds.
    pub baseline_us: Option<f64>,
    /// Floating-point operations of a launch, if the kernel multiplies matrices of known sizes.
    pub flops: Option<f64>,
    /// Bytes of all tensors, each once.
    pub bytes: f64,
    /// The candidates: the chosen one first, then those of later rounds first, each round by relative time. Without
    /// measurements, by estimate.
    pub rows: Vec<Row>,
    /// Whether the run was stopped before a candidate was chosen.
    pub stopped: bool,
    #[serde(skip)]
    pub entry: Option<TunedEntry>,
}

/// Returns the kernel of a request, which must have no errors.
///
/// # Errors
/// If the file has no such kernel or the kernel has errors.
pub fn kernel_of<'db>(db: &'db Database, file: SourceFile, name: &str) -> Result<Kernel<'db>, TuneError> {
    let found = kernels(db, file, Some(name)).map_err(|error| match error {
        EmitError::Usage(text) => TuneError::Usage(text),
        EmitError::Found(found) => TuneError::Launch(LaunchError::Found(found)),
        EmitError::Host(error) => error.into(),
        EmitError::Open { .. } => TuneError::Usage(format!("`{name}` has a parameter without a value")),
    })?;
    let &[kernel] = found.as_slice() else {
        return Err(TuneError::Usage(format!("`{}` has several kernels `{name}`", file.path(db))));
    };
    match Sound::of(db, Item::Kernel(kernel)) {
        Some(_) => Ok(kernel),
        None => Err(LaunchError::Found(reached_errors(db, Item::Kernel(kernel)).clone()).into()),
    }
}

/// Ranks the candidates of a kernel for a shape. This needs no GPU.
///
/// # Errors
/// If the shape does not fit the kernel, or no candidate is legal.
pub fn prepare<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    machine: &Machine,
    shape: &Overrides,
    request: &TuneRequest,
) -> Result<Prepared, TuneError> {
    let given = FixedInputs::new(db, kernel, shape).map_err(TuneError::Usage)?;
    let axes = if request.members { &[] } else { space::axes(db, kernel)? };
    if let Some(axis) = axes.iter().find(|axis| given.args.contains_key(&axis.name)) {
        // A value in the shape fixes the axis. It must be a value of the axis; any other is probably a mistake.
        let value = &given.args[&axis.name];
        if !axis.values.contains(value) {
            let text = format!("`{} = {value}` is not among the values of the `tune` clause", axis.name);
            return Err(TuneError::Usage(text));
        }
    }
    let tuned: Vec<_> = axes.iter().map(|axis| axis.name.clone()).collect();
    // Parameters without a default take the first value of their axis while the tensors are made.
    let mut args = given.args.clone();
    for axis in axes {
        let open = hx_hir::kernel_signature(db, kernel)
            .generics
            .iter()
            .any(|g| g.name == axis.name && g.default.is_none());
        if let (true, Some(first)) = (open, axis.values.first()) {
            args.entry(axis.name.clone()).or_insert_with(|| first.clone());
        }
    }
    let inputs = inputs(db, kernel, machine.target(), args.clone(), &given, request.dry_run)?;
    let first = launch_of(db, kernel, &args, &inputs);
    let launch = bound(db, &first)?;
    let ints = given.ints();
    let limit = if request.all { usize::MAX } else { request.limit };
    let fixed: CtArgs = launch
        .args
        .iter()
        .filter(|(name, _)| !tuned.contains(name) || given.args.contains_key(*name))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    let space = if request.members {
        Space { candidates: Vec::new(), default: None, summary: "no values of the clause".to_owned() }
    } else {
        space::ranked(db, kernel, machine, &fixed, &launch.dims, &ints, limit)?
    };
    let all = full_args(db, kernel, machine, &args)?;
    let mut shape: BTreeMap<String, Extent> =
        given.dims.iter().map(|(n, v)| (n.to_string(), Extent::Is(hx_lower::CtValue::Int(*v)))).collect();
    // An order that is inferred follows from the kernel, so it is no part of the shape.
    let inferred = open_orders(db, kernel).into_iter().map(|order| order.name);
    let inferred: Vec<Name> = inferred.filter(|name| !given.args.contains_key(name)).collect();
    for (name, value) in all.iter().filter(|(name, _)| !tuned.contains(name) && !inferred.contains(name)) {
        shape.insert(name.to_string(), Extent::of(launch.args.get(name).unwrap_or(value)));
    }
    let (entrants, anchor, varied) = entrants(db, kernel, machine, &space, &tuned)?;
    // A parameter whose default depends on tuned ones is not part of the shape: it follows from the result.
    shape.retain(|name, _| !varied.contains(name));
    let mut remarks = Vec::new();
    if !inputs.zeros.is_empty() {
        remarks.push(format!("{} holds zeros: its elements may be positions", inputs.zeros.join(", ")));
    }
    if !request.members && !entrants.iter().any(|entrant| entrant.is_default) {
        remarks.push(
            "the defaults are not legal for this shape: results are compared with those of the best estimate"
                .to_owned(),
        );
    }
    // The inputs lie in the orders that this kernel infers, for the members too.
    let own = Instance::chosen(db, kernel, given.args.clone(), machine.target(), LaunchFacts::all_16());
    let orders = orders_of(db, own).into_iter().flatten().map(|order| (order.name.clone(), order.value()));
    let of_members = launch_of(db, kernel, &given.args.clone().into_iter().chain(orders).collect(), &inputs);
    let prepared =
        Prepared { shape, space, entrants, anchor, remarks, request: first, of_members: None, inputs };
    let prepared = prepared.with_members(db, kernel, machine, of_members, limit)?;
    if prepared.entrants.is_empty() {
        let name = kernel.name(db);
        let text = format!("`{name}` has no family with a member that fits {}", prepared.shape_text());
        return Err(HostError::call(text)
            .help("without `--members`, the values of the clause are measured")
            .into());
    }
    Ok(prepared)
}

/// Returns the candidates with their names, the position of the anchor, and the parameters that have several values over them.
fn entrants<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    machine: &Machine,
    space: &Space,
    tuned: &[hx_hir::Name],
) -> Result<(Vec<Entrant>, usize, BTreeSet<String>), TuneError> {
    let mut out: Vec<Entrant> = Vec::new();
    let (mut known, mut varied) = (CtArgs::new(), BTreeSet::new());
    for (candidate, is_default) in
        space.candidates.iter().map(|c| (c, false)).chain(space.default.iter().map(|c| (c, true)))
    {
        let all = full_args(db, kernel, machine, &candidate.args)?;
        for (name, value) in &all {
            if known.entry(name.clone()).or_insert_with(|| value.clone()) != value {
                varied.insert(name.to_string());
            }
        }
        let arguments: CtArgs = all.into_iter().filter(|(name, _)| tuned.contains(name)).collect();
        let shown: Vec<String> =
            tuned.iter().filter_map(|name| Some(format!("{name} = {}", arguments.get(name)?))).collect();
        let name = shown.join(", ");
        match out.iter_mut().find(|other| other.name == name) {
            Some(same) => same.is_default |= is_default,
            None => {
                let (estimate, bound) = (Some(candidate.micros), Some(candidate.bound.clone()));
                out.push(Entrant { name, member: None, arguments, estimate, bound, is_default });
            }
        }
    }
    let anchor = out.iter().position(|entrant| entrant.is_default).unwrap_or(0);
    Ok((out, anchor, varied))
}

/// Returns the values of all compile-time parameters.
fn full_args<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    machine: &Machine,
    args: &CtArgs,
) -> Result<CtArgs, LaunchError> {
    let facts = hx_lower::LaunchFacts::all_16();
    let instance = hx_compile::Instance::chosen(db, kernel, args.clone(), machine.target(), facts);
    let lowered = hx_compile::tile_program(db, instance).as_ref();
    let lowered = lowered.map_err(|stop| hx_inspect::stopped_at(db, instance, stop))?;
    Ok(lowered.sources.args.clone())
}

/// Returns a launch with these compile-time arguments.
pub(crate) fn launch_of<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    args: &CtArgs,
    inputs: &Inputs,
) -> LaunchRequest {
    let generics = args.iter().map(|(name, value)| (name.clone(), host_value(value)));
    LaunchRequest {
        kernel: Item::Kernel(kernel).key(db),
        generics: generics.collect(),
        args: inputs.args.clone(),
        candidate: None,
    }
}

impl Prepared {
    /// Returns the launch of an entrant.
    fn launch(&self, entrant: &Entrant) -> LaunchRequest {
        let (kernel, launch) = match (&entrant.member, &self.of_members) {
            (Some(member), Some(launch)) => (member, launch),
            _ => (&self.request.kernel, &self.request),
        };
        let mut generics = launch.generics.clone();
        for (name, value) in &entrant.arguments {
            generics.retain(|(other, _)| other != name);
            generics.push((name.clone(), host_value(value)));
        }
        LaunchRequest { kernel: kernel.clone(), generics, ..launch.clone() }
    }

    /// Returns the hash of the texts of the kernel and of the members among the candidates.
    fn text_hash<'db>(&self, db: &'db Database, kernel: Kernel<'db>) -> String {
        let members: BTreeSet<_> =
            self.entrants.iter().filter_map(|entrant| entrant.member.as_ref()).collect();
        let members = members.into_iter().filter_map(|key| match key.find(db) {
            Some(Item::Kernel(member)) => Some(text_hash(db, member)),
            _ => None,
        });
        std::iter::once(text_hash(db, kernel)).chain(members).collect::<Vec<_>>().join(" ")
    }

    /// Formats the shape as `m = 4096, n = 4096, T = bf16`.
    pub fn shape_text(&self) -> String {
        shape_text(&self.shape)
    }

    /// Returns the candidates with their estimates and without times, best estimate first. `device` is the machine that the
    /// candidates are ranked for.
    pub fn unmeasured(&self, kernel: &str, device: &str) -> ShapeResult {
        ShapeResult {
            kernel: kernel.to_owned(),
            shape: self.shape_text(),
            device: device.to_owned(),
            summary: self.space.summary.clone(),
            baseline: Baseline::None.name().to_owned(),
            baseline_us: None,
            flops: None,
            bytes: self.inputs.bytes(),
            rows: self.entrants.iter().map(Row::of).collect(),
            stopped: false,
            entry: None,
        }
    }
}

/// Tunes a kernel for one shape on a GPU.
///
/// # Errors
/// If the machine is no GPU, a launch fails, or a candidate computes something else than the anchor.
pub fn tune<'db>(
    db: &'db Database,
    kernel: Kernel<'db>,
    machine: &Machine,
    prepared: &Prepared,
    request: &TuneRequest,
    stop: &AtomicBool,
    on_progress: &(dyn Fn(Progress) + Sync),
) -> Result<(ShapeResult, Option<String>), TuneError> {
    let Machine::Gpu(gpu) = machine else {
        let error = HostError::new(&codes::NO_GPU, "tuning needs a GPU; the simulator does not time");
        return Err(error.help("`--dry-run` ranks the candidates by their estimates on any machine").into());
    };
    let until = Until { stop, deadline: None };
    let run = gpu::Run { db, kernel, machine, gpu, prepared, request, until, on_progress };
    run.tuned(&prepared.text_hash(db, kernel))
}
