//! `hx build`: the code of one instance of a kernel, and a description of its launch that other programs read.
//!
//! The description is JSON. Its expressions are in Python's notation: `//` rounds down, as `/` of this language does. They
//! contain only integers, `min`, `max` and the names of dimensions, strides and scalars.
//!
//! With [`BuildKind::C`] the result is C that other programs compile, of one or several kernels: [`build_launcher`].

mod family;
mod launcher;
mod shape;

use std::collections::BTreeMap;

use hx_base::{Diagnostic, SourceFile};
use hx_codegen::{CudaSource, LaunchParam};
use hx_compile::{Db, Instance, cuda_source, instance_errors, launch_warnings, tile_program};
use hx_dtype::DType;
use hx_hir::{Kernel, Name, kernel_signature, signature_names};
use hx_index::Symbol;
use hx_lower::LaunchFacts;
use hx_tensor_map::Described;
use hx_worker::log::KernelResources;
use hx_worker::{Limits, Want};
use serde::Serialize;

use hx_inspect::{
    COMPILE_LIMIT, EmitError, Overrides, Setup, compile, instance, kernels, spilled_in, stopped,
};

pub use family::{Shapes, build_family};
pub use launcher::{BuiltLauncher, build_launcher};
pub use shape::{Shaped, kernel_for_shape};

/// Version of the description's format: raised by every incompatible change.
const FORMAT: u32 = 1;

/// The form of the code that is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BuildKind {
    /// Machine code, which a driver loads.
    #[default]
    Cubin,
    /// Assembly of the virtual machine, which the driver compiles when it loads the code.
    Ptx,
    /// CUDA C++.
    Cuda,
    /// Machine code in C, with functions that launch it.
    C,
}

impl BuildKind {
    /// The names of all kinds.
    pub const NAMES: [&str; 4] = ["cubin", "ptx", "cuda", "c"];

    /// Returns the kind of that name.
    pub fn parse(name: &str) -> Option<BuildKind> {
        let all = [BuildKind::Cubin, BuildKind::Ptx, BuildKind::Cuda, BuildKind::C];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name of the kind on the command line.
    pub fn name(self) -> &'static str {
        match self {
            BuildKind::Cubin => "cubin",
            BuildKind::Ptx => "ptx",
            BuildKind::Cuda => "cuda",
            BuildKind::C => "c",
        }
    }

    /// Returns the file extension of the kind.
    pub fn extension(self) -> &'static str {
        match self {
            BuildKind::Cubin => "cubin",
            BuildKind::Ptx => "ptx",
            BuildKind::Cuda => "cu",
            BuildKind::C => "c",
        }
    }
}

/// The kernel to build, and how.
#[derive(Clone, Debug)]
pub struct BuildRequest {
    /// The kernel's name; it may be left out if the file has exactly one kernel. [`build_launcher`] then builds all of them.
    pub kernel: Option<String>,
    /// Compile-time arguments that replace the defaults.
    pub overrides: Overrides,
    /// Facts that every launch guarantees; `None` assumes the best case of every fact.
    pub facts: Option<Vec<Fact>>,
    pub kind: BuildKind,
}

impl BuildRequest {
    /// Returns the number that divides a dimension of every launch.
    fn divisor(&self, name: &str) -> i64 {
        let Some(facts) = &self.facts else { return i64::from(LaunchFacts::MAX) };
        let of = |fact: &Fact| match fact {
            Fact::Divides(dim, divisor) if dim == name => Some(i64::from(*divisor)),
            _ => None,
        };
        facts.iter().find_map(of).unwrap_or(1)
    }
}

/// A property of the arguments that a built kernel relies on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// `k%16`: a dimension or stride is a multiple of the number.
    Divides(Name, u32),
    /// `a@16`: a tensor's pointer is aligned to that many bytes.
    Aligned(Name, u32),
    /// `lda=1`: a named stride is 1.
    Unit(Name),
}

/// A built kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    pub kernel: Name,
    /// Machine code or text.
    pub code: Vec<u8>,
    /// The launch's description. It lacks the code's file name, which [`Built::description`] fills in.
    description: Description,
    /// Failures that did not stop the build, such as a cache that cannot be written.
    pub warnings: Vec<String>,
    /// Warnings about the kernel: padding in results, pipelines that were not checked, registers of the machine code that were spilled.
    pub found: Vec<Diagnostic>,
}

/// Parses `k%16,lda=1,a@4`, or `all` (which returns `None`), or `none`. Numbers are powers of two up to 16.
///
/// # Errors
/// The problem with the text, as text.
pub fn parse_facts(text: &str) -> Result<Option<Vec<Fact>>, String> {
    match text.trim() {
        "all" => return Ok(None),
        "none" | "" => return Ok(Some(Vec::new())),
        _ => {}
    }
    let fact = |part: &str| {
        let (name, number, make): (_, _, fn(Name, u32) -> Fact) =
            match (part.split_once('%'), part.split_once('@')) {
                (Some((name, number)), None) => (name, number, Fact::Divides),
                (None, Some((name, number))) => (name, number, Fact::Aligned),
                _ => match part.split_once('=') {
                    Some((name, number)) if number.trim() == "1" => {
                        return Ok(Fact::Unit(Name::new(name.trim())));
                    }
                    _ => {
                        let expected = "`NAME%DIVISOR`, `STRIDE=1` or `POINTER@BYTES`";
                        return Err(format!("found `{part}`, expected {expected}"));
                    }
                },
            };
        let parsed = number.trim().parse::<u32>().ok();
        let allowed = parsed.filter(|n| n.is_power_of_two() && *n <= LaunchFacts::MAX);
        let number = allowed.ok_or_else(|| {
            format!("found `{}` in `{part}`, expected 1, 2, 4, 8 or {}", number.trim(), LaunchFacts::MAX)
        })?;
        Ok(make(Name::new(name.trim()), number))
    };
    text.split(',').map(|part| fact(part.trim())).collect::<Result<_, _>>().map(Some)
}

/// Builds one instance of a kernel. A request for [`BuildKind::C`] builds the machine code alone.
///
/// # Errors
/// If the kernel is not found or has errors, or if the compiler cannot run.
pub fn build(
    db: &dyn Db,
    file: SourceFile,
    request: &BuildRequest,
    setup: &Setup,
) -> Result<Built, EmitError> {
    let chosen = kernels(db, file, request.kernel.as_deref())?;
    let &[kernel] = chosen.as_slice() else {
        let names: Vec<String> = chosen.iter().map(|k| format!("`{}`", k.name(db))).collect();
        let path = file.path(db);
        return Err(EmitError::Usage(match names.len() {
            0 => format!("`{path}` has no kernel"),
            _ => format!("`{path}` has {}; `--kernel NAME` says which", names.join(", ")),
        }));
    };
    let instance = requested(db, kernel, &request.overrides, request, setup)?;
    let source = checked_source(db, instance)?;
    check_names(db, &[(kernel, source)], request.facts.as_deref().unwrap_or_default())?;
    compiled(db, instance, request.kind, setup)
}

/// Returns the instance of a kernel with the facts of a request.
fn requested<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    overrides: &Overrides,
    request: &BuildRequest,
    setup: &Setup,
) -> Result<Instance<'db>, EmitError> {
    let best = instance(db, kernel, overrides, setup)?;
    let Some(facts) = &request.facts else { return Ok(best) };
    let pointers = kernel_signature(db, kernel).params.iter().map(|p| p.name.clone());
    let facts = launch_facts(pointers, facts);
    Ok(Instance::chosen(db, kernel, best.args(db).clone(), best.target(db), facts))
}

/// Returns the CUDA text of an instance without errors. A kernel with a race has a text too, but it must not be built.
fn checked_source<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Result<&'db CudaSource, EmitError> {
    let source = cuda_source(db, instance).as_ref().map_err(|stop| stopped(db, instance, stop))?;
    let errors = instance_errors(db, instance);
    if errors.is_empty() { Ok(source) } else { Err(EmitError::Found(errors.clone())) }
}

/// Compiles a checked instance to the code of a kind.
fn compiled<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    kind: BuildKind,
    setup: &Setup,
) -> Result<Built, EmitError> {
    let source = checked_source(db, instance)?;
    let mut warnings = Vec::new();
    let mut resources = None;
    let mut found = launch_warnings(db, instance).clone();
    let code = match kind {
        BuildKind::Cuda => source.text.clone().into_bytes(),
        BuildKind::Ptx => compile(db, instance, Want::Ptx, setup, &mut warnings)?.code,
        BuildKind::Cubin | BuildKind::C => {
            let compiled = compile(db, instance, Want::Cubin, setup, &mut warnings)?;
            resources = compiled.kernel(&source.symbol).cloned();
            let limits = Limits::within(COMPILE_LIMIT);
            found.extend(spilled_in(db, instance, resources.as_ref(), &compiled.code, setup, &limits));
            compiled.code
        }
    };
    let description = describe(db, instance, source, kind, resources)?;
    Ok(Built { kernel: instance.kernel(db).name(db).clone(), code, description, warnings, found })
}

/// Collects the facts of a launch. A dimension or stride without a fact is unknown. A pointer without one counts as fully
/// aligned, because allocators align their memory. If no fact states a stride to be 1, those of `hx_lower::usual_units` are 1.
fn launch_facts(pointers: impl Iterator<Item = Name>, facts: &[Fact]) -> LaunchFacts {
    let mut out = LaunchFacts::none();
    out.align.extend(pointers.map(|name| (name, LaunchFacts::MAX)));
    for fact in facts {
        match fact {
            Fact::Divides(name, divisor) => _ = out.dims.insert(name.clone(), *divisor),
            Fact::Aligned(name, bytes) => _ = out.align.insert(name.clone(), *bytes),
            Fact::Unit(name) => _ = out.units.get_or_insert_default().insert(name.clone()),
        }
    }
    out
}

/// Rejects facts about dimensions, strides and tensors that none of the launches has.
fn check_names<'db>(
    db: &'db dyn Db,
    launches: &[(Kernel<'db>, &CudaSource)],
    facts: &[Fact],
) -> Result<(), EmitError> {
    for fact in facts {
        let (what, name) = match fact {
            Fact::Divides(name, _) => ("dimension or stride", name),
            Fact::Aligned(name, _) => ("tensor", name),
            Fact::Unit(name) => ("named stride", name),
        };
        let mut names: Vec<String> = Vec::new();
        for (kernel, source) in launches {
            let strides = signature_names(db, (*kernel).into()).dims.iter().filter(|dim| dim.stride);
            let strides = strides.filter(|_| matches!(fact, Fact::Unit(_))).map(|dim| dim.name.to_string());
            let others = source.launch.params.iter().filter_map(|param| match (fact, param) {
                (Fact::Divides(..), LaunchParam::Symbol(symbol @ Symbol::Dim(_))) => Some(symbol.to_string()),
                (Fact::Aligned(..), LaunchParam::Tensor(tensor)) => Some(tensor.name.clone()),
                _ => None,
            });
            let fresh: Vec<String> = strides.chain(others).filter(|name| !names.contains(name)).collect();
            names.extend(fresh);
        }
        if !names.iter().any(|n| n == name.as_str()) {
            let near = hx_base::nearest(name, names.iter().map(String::as_str));
            let hint = match near {
                Some(near) => format!("; perhaps `{near}` is meant"),
                None => format!("; it has {}", names.join(", ")),
            };
            return Err(EmitError::Usage(format!("the launch has no {what} `{name}`{hint}")));
        }
        let mut params = launches.iter().flat_map(|(_, source)| &source.launch.params);
        if let Fact::Aligned(_, bytes) = fact
            && let Some((dtype, least)) = params.find_map(|param| match param {
                LaunchParam::Tensor(t) if t.name == name.as_str() && t.align > *bytes => {
                    Some((t.dtype, t.align))
                }
                _ => None,
            })
        {
            return Err(EmitError::Usage(format!(
                "found `{name}@{bytes}`, but elements of `{dtype}` begin at multiples of {least} bytes"
            )));
        }
    }
    Ok(())
}

/// The launch's description, as other programs read it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Description {
    format: u32,
    hx: &'static str,
    kernel: String,
    /// The kernel's symbol in the code.
    symbol: String,
    target: &'static str,
    kind: &'static str,
    /// Name of the code's file, which lies beside the description.
    code: String,
    /// Every compile-time argument.
    arguments: BTreeMap<String, String>,
    /// The parameters, in the order in which the kernel takes them.
    params: Vec<Parameter>,
    grid: [String; 3],
    cluster: [u32; 3],
    threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    shared_bytes: u32,
    /// Whether the kernel waits for the launches before it, so that it may be launched while they run.
    waits_for_previous: bool,
    requires: Vec<Condition>,
    facts: Facts,
    /// Resources that the kernel uses; only for machine code.
    resources: Option<KernelResources>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Parameter {
    /// A pointer to device memory.
    Tensor {
        name: String,
        dtype: String,
        mutable: bool,
        shape: Vec<String>,
        /// Strides in elements, in Python's notation.
        stride: Vec<String>,
        /// Bytes to which the pointer must be aligned.
        align: u32,
    },
    /// A number by value.
    Scalar { name: String, dtype: String },
    /// A dimension, a stride or `multiprocessors`, by value as a signed 32-bit integer.
    Symbol { name: String, dtype: &'static str },
    /// A tensor map by value: 128 bytes, aligned to 64, that the driver encodes for the pointer of `param` without
    /// interleaving and with element strides of 1.
    TensorMap(Described),
    /// A pointer to at least `bytes` bytes of zeros, into which the kernel counts its prints and failed assertions.
    Log { bytes: u64 },
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Condition {
    /// The condition's text in the kernel's header.
    text: String,
    /// The condition in Python's notation, with the compile-time arguments substituted.
    python: String,
}

/// Facts that the code relies on besides the requirements.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
struct Facts {
    /// A divisor of each dimension and stride.
    dims: BTreeMap<String, u32>,
}

impl Built {
    /// Returns the launch as JSON, for code in the file `code` beside it.
    ///
    /// # Errors
    /// Never: the description holds texts and integers only.
    pub fn description(&self, code: &str) -> Result<String, String> {
        let description = Description { code: code.to_owned(), ..self.description.clone() };
        serde_json::to_string_pretty(&description).map(|text| text + "\n").map_err(|e| e.to_string())
    }

    /// Describes in one phrase the facts that the code relies on besides the kernel's own `where`; `None` if there are none.
    pub fn assumed(&self) -> Option<String> {
        let mut divisors: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for (name, divisor) in &self.description.facts.dims {
            divisors.entry(*divisor).or_default().push(name);
        }
        let mut aligned: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for param in &self.description.params {
            if let Parameter::Tensor { name, dtype, align, .. } = param
                && DType::parse(dtype).is_none_or(|dtype| align * 8 > dtype.bits())
            {
                aligned.entry(*align).or_default().push(name);
            }
        }
        let quoted = |names: &[&str]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let multiple = |(n, names): (&u32, &Vec<&str>)| format!("{} multiples of {n}", quoted(names));
        let address = |(n, names): (&u32, &Vec<&str>)| format!("{} aligned to {n} bytes", quoted(names));
        let facts: Vec<String> =
            divisors.iter().rev().map(multiple).chain(aligned.iter().rev().map(address)).collect();
        (!facts.is_empty()).then(|| facts.join("; "))
    }

    /// Returns the hardware resources that the machine code uses, if machine code was built.
    pub fn resources(&self) -> Option<&KernelResources> {
        self.description.resources.as_ref()
    }
}

fn describe<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    source: &CudaSource,
    kind: BuildKind,
    resources: Option<KernelResources>,
) -> Result<Description, EmitError> {
    let lowered = tile_program(db, instance).as_ref().map_err(|stop| stopped(db, instance, stop))?;
    let launch = &source.launch;
    let facts = instance.facts(db);
    // The divisors of the dimensions, as far as the code relies on them.
    let mut dims = BTreeMap::new();
    for param in &launch.params {
        if let LaunchParam::Symbol(symbol @ Symbol::Dim(_)) = param {
            let name = symbol.to_string();
            let divisor = facts.divisor(&name);
            if divisor > 1 {
                dims.insert(name, divisor);
            }
        }
    }
    let axis = |at: usize| launch.grid.get(at).map_or_else(|| "1".to_owned(), |e| python(&e.to_string()));
    let requires = launch.requires.iter();
    Ok(Description {
        format: FORMAT,
        hx: env!("CARGO_PKG_VERSION"),
        kernel: instance.kernel(db).name(db).to_string(),
        symbol: source.symbol.clone(),
        target: instance.target(db).name(),
        kind: kind.name(),
        code: String::new(),
        arguments: lowered
            .sources
            .args
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        params: launch.params.iter().map(parameter).collect(),
        grid: [axis(0), axis(1), axis(2)],
        cluster: launch.cluster,
        threads: launch.threads,
        shared_bytes: launch.shared_bytes,
        waits_for_previous: launch.waits_for_previous,
        requires: requires
            .map(|r| Condition { text: r.text.clone(), python: python(&r.cond.to_string()) })
            .collect(),
        facts: Facts { dims },
        resources,
    })
}

fn parameter(param: &LaunchParam) -> Parameter {
    match param {
        LaunchParam::Tensor(tensor) => Parameter::Tensor {
            name: tensor.name.clone(),
            dtype: tensor.dtype.to_string(),
            mutable: tensor.mutable,
            shape: tensor.shape.iter().map(|e| python(&e.to_string())).collect(),
            stride: tensor.stride.iter().map(|e| python(&e.to_string())).collect(),
            align: tensor.align,
        },
        LaunchParam::Scalar { name, dtype } => {
            Parameter::Scalar { name: name.clone(), dtype: dtype.to_string() }
        }
        LaunchParam::Symbol(symbol) => Parameter::Symbol { name: symbol.to_string(), dtype: "i32" },
        LaunchParam::TensorMap(map) => Parameter::TensorMap(map.described(|e| python(&e.to_string()))),
        LaunchParam::Log { bytes } => Parameter::Log { bytes: *bytes },
    }
}

/// Translates integer expressions and conditions to Python's notation. The input must have spaces around every operator, and
/// parentheses around operands wherever precedence matters.
fn python(text: &str) -> String {
    match text {
        "true" => return "True".to_owned(),
        "false" => return "False".to_owned(),
        _ => {}
    }
    text.replace(" / ", " // ").replace(" && ", " and ").replace(" || ", " or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_as_written() {
        assert_eq!(parse_facts("all"), Ok(None));
        assert_eq!(parse_facts("none"), Ok(Some(Vec::new())));
        let facts = parse_facts("k%16, m % 8,a@4").map(Option::unwrap_or_default);
        let expected =
            vec![Fact::Divides("k".into(), 16), Fact::Divides("m".into(), 8), Fact::Aligned("a".into(), 4)];
        assert_eq!(facts, Ok(expected));
        assert_eq!(parse_facts("k%3"), Err("found `3` in `k%3`, expected 1, 2, 4, 8 or 16".to_owned()));
        assert_eq!(
            parse_facts("k"),
            Err("found `k`, expected `NAME%DIVISOR`, `STRIDE=1` or `POINTER@BYTES`".to_owned())
        );
        let known =
            launch_facts(["a".into(), "b".into()].into_iter(), &parse_facts("k%16,a@4").unwrap().unwrap());
        assert_eq!((known.divisor("k"), known.divisor("m")), (16, 1));
        assert_eq!(parse_facts("lda = 1"), Ok(Some(vec![Fact::Unit("lda".into())])));
        assert!(parse_facts("lda=2").is_err());
        assert_eq!((known.alignment("a"), known.alignment("b")), (4, 16));
    }

    #[test]
    fn expressions_in_python() {
        assert_eq!(python("(m + 127) / 128"), "(m + 127) // 128");
        assert_eq!(python("k % 32 == 0 && (m < 4 || n != 1)"), "k % 32 == 0 and (m < 4 or n != 1)");
        assert_eq!(python("true"), "True");
    }
}
