//! Calls of kernels.

use std::sync::Arc;
use std::time::Instant;

use hx_base::codes;
use hx_base::interrupt::Until;
use hx_hir::{ItemKey, Name};
use hx_host::device::{LaunchArg, LaunchRequest};
use hx_host::{Tensor, Value};
use hx_inspect::Choosing;
use hx_launch::{Considered, Found, Given, Launcher, Machine, PreparedLaunch, host_value};
use hx_lower::WrittenArg;
use hx_workspace::Database;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

use super::instance::{InstanceLaunch, KernelInstance};
use super::{Kernel, order};
use crate::arguments::{Argument, Protocol, Reader, read};
use crate::errors::{Class, Problem, raised};
use crate::events::{self, Compiled};
use crate::gpu::Gpu;
use crate::lock::lock;
use crate::plan::{Plan, Ready, overlaps};
use crate::shared::Shared;
use crate::simulator;
use crate::torch::Torch;

/// A call of a kernel: its arguments, and the key of its form.
pub(super) struct Call<'py> {
    args: Vec<Argument<'py>>,
    /// For each argument, the block in which its elements lie, as it is written in hx; `None` for the order of its strides.
    orders: Vec<Option<String>>,
    /// For each argument, its name if it was given by name.
    names: Vec<Option<String>>,
    /// The compile-time arguments, as they are written in hx.
    generics: Vec<(String, String)>,
    stream: Option<u64>,
    /// How the call chooses between the members of a family; `None` is the choice of the process.
    choosing: Option<Choosing>,
    key: Vec<u64>,
    params: Arc<[String]>,
    generation: u64,
}

impl<'py> Call<'py> {
    /// Adds an argument, and everything that its form depends on to the key.
    fn push(&mut self, arg: Argument<'py>, order: Option<String>, name: Option<String>) {
        if let Some(name) = &name {
            identify(name, &mut self.key);
        }
        arg.identify(&mut self.key);
        if let Some(order) = &order {
            identify(order, &mut self.key);
        }
        self.args.push(arg);
        self.orders.push(order);
        self.names.push(name);
    }

    /// Returns the name of the parameter that the argument at a position is for.
    fn name(&self, at: usize) -> String {
        let named = self.names.get(at).cloned().flatten();
        named.or_else(|| self.params.get(at).cloned()).unwrap_or_else(|| format!("argument {}", at + 1))
    }

    /// Returns the device of the tensors; `None` for the host, or without tensors.
    ///
    /// # Errors
    /// If the tensors are in several places.
    fn place(&self) -> Result<Option<u32>, Problem> {
        let mut place: Option<(usize, Option<u32>)> = None;
        for (at, arg) in self.args.iter().enumerate() {
            let here = match arg {
                Argument::Device { device, .. } => Some(*device),
                Argument::Host { .. } => None,
                _ => continue,
            };
            match place {
                None => place = Some((at, here)),
                Some((_, first)) if first == here => {}
                Some((first_at, first)) => {
                    let text = |place: Option<u32>| match place {
                        Some(device) => format!("on cuda:{device}"),
                        None => "in host memory".to_owned(),
                    };
                    let (first_name, name) = (self.name(first_at), self.name(at));
                    let message = format!("`{first_name}` is {} and `{name}` {}", text(first), text(here));
                    return Err(Problem::new(Class::Launch, &codes::LAUNCH_MEMORY, message));
                }
            }
        }
        Ok(place.and_then(|(_, place)| place))
    }

    /// Refuses memory of a GPU that its owner declares as read-only, for a parameter that the kernel writes.
    fn expect_writable(&self, mutable: &[bool]) -> Result<(), Problem> {
        for (at, arg) in self.args.iter().enumerate() {
            let Argument::Device { protocol: Protocol { is_read_only: true, .. }, .. } = arg else {
                continue;
            };
            let name = self.name(at);
            let position = self.params.iter().position(|param| *param == name);
            if position.and_then(|position| mutable.get(position)) == Some(&true) {
                return Err(read_only(&name));
            }
        }
        Ok(())
    }

    /// Returns the streams that the launch must wait for.
    fn producers(&self) -> impl Iterator<Item = u64> {
        self.args.iter().filter_map(|arg| match arg {
            Argument::Device { protocol, .. } => protocol.produced_on,
            _ => None,
        })
    }

    /// Returns the launch as a request. Its tensors have types, shapes and strides, but no elements.
    fn request(
        &self,
        db: &Database,
        kernel: ItemKey,
        fixed: &[(String, String)],
    ) -> Result<LaunchRequest, Problem> {
        let mut args = Vec::new();
        for ((arg, order), name) in self.args.iter().zip(&self.orders).zip(&self.names) {
            let value = match arg {
                Argument::Device { memory, .. } | Argument::Host { memory, .. } => {
                    let sizes =
                        |dims: &[i64]| dims.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
                    let (shape, strides) = (sizes(memory.shape.as_slice()), sizes(memory.strides.as_slice()));
                    let tensor = Tensor::elsewhere(memory.dtype, shape, strides);
                    Value::Tensor(match order {
                        Some(order) => tensor.in_order(&order::parsed(order)?),
                        None => tensor,
                    })
                }
                Argument::Int(value) => Value::Int(*value),
                Argument::Float(value) => Value::Float(*value),
                Argument::Bool(value) => Value::Bool(*value),
                Argument::Fake => Value::Unit,
            };
            args.push(LaunchArg { name: name.as_deref().map(Name::new), value, temporary: false });
        }
        let mut generics: Vec<(Name, Value)> = Vec::new();
        for (name, text) in fixed.iter().chain(&self.generics) {
            let refuse = |reason: String| {
                Problem::new(Class::Launch, &codes::HOST_ERROR, format!("`{name}`: {reason}"))
            };
            let written: WrittenArg = text.parse().map_err(refuse)?;
            let value = host_value(&written.resolve(db, kernel.file).map_err(refuse)?);
            let name = Name::new(name);
            generics.retain(|(other, _)| *other != name);
            generics.push((name, value));
        }
        Ok(LaunchRequest { kernel, generics, args, candidate: None })
    }

    fn given(&self) -> Vec<Given<'_>> {
        self.args.iter().map(Argument::given).collect()
    }

    fn align(&self) -> Vec<u32> {
        self.args.iter().map(|arg| arg.memory().map_or(16, crate::arguments::Memory::align)).collect()
    }
}

/// A plan that was made, and how.
struct Made {
    plan: Plan,
    prepared: PreparedLaunch,
    /// The code that was made for it; `None` if the process had it.
    compiled: Option<Compiled>,
    /// The time from the arguments to the plan.
    seconds: f64,
}

impl Made {
    fn of(
        shared: &Shared,
        (machine, identity): (&Machine, u64),
        prepared: PreparedLaunch,
        plan: Plan,
        (start, is_cached): (Instant, bool),
    ) -> Made {
        let device = machine.device();
        let is_new = shared.is_new(format!("{device} {identity:x} {}", prepared.instance), is_cached);
        let compiled = is_new.then(|| Compiled { device, target: machine.target().name(), is_cached });
        Made { plan, prepared, compiled, seconds: start.elapsed().as_secs_f64() }
    }
}

/// Converts a compile-time argument to its text in hx: `128`, `f16`, `(8,8):(8,1)`.
pub(super) fn written(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
    {
        return value.str()?.extract();
    }
    if let Some(torch) = Torch::loaded(py)?
        && let Some(dtype) = torch.dtype(value)
    {
        return Ok(dtype.name().to_owned());
    }
    py.import("hx._arrays")?.call_method1("written", (value,))?.extract()
}

/// Marks a text in a key. No argument begins with it: see [`Argument::identify`].
const TEXT: u64 = 7;

/// Reports whether an argument may name an item of a file that the kernel's file does not import. Its plans hold for one generation of texts.
pub(super) fn is_path(text: &str) -> bool {
    text.contains("::")
}

/// Appends the length and the bytes of a text to a key, so that different sequences of texts give different keys.
fn identify(text: &str, key: &mut Vec<u64>) {
    key.push(TEXT | (text.len() as u64) << 8);
    for part in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        key.push(u64::from_le_bytes(word));
    }
}

impl Kernel {
    /// Reads the arguments of a call; `None` if some tensor has no elements, as in a trace of PyTorch.
    pub(super) fn read<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Call<'py>>> {
        raised(py, self.shared.expect_own_process())?;
        if lock(&self.state).generation != self.shared.generation() {
            self.refresh(py)?;
        }
        let (params, mutable, generation) = {
            let state = lock(&self.state);
            (Arc::clone(&state.params), Arc::clone(&state.mutable), state.generation)
        };
        let torch = Torch::loaded(py)?;
        // A parameter of that name is the kernel's own.
        let of_call = kwargs.filter(|_| !params.iter().any(|name| name == "stream"));
        let named = of_call.map(|kwargs| kwargs.get_item(intern!(py, "stream"))).transpose()?.flatten();
        let named = named.map(|value| stream(&value)).transpose()?.flatten();
        let reader = Reader::of_call(torch, args, kwargs, named);
        let mut call = Call {
            args: Vec::with_capacity(params.len()),
            orders: Vec::with_capacity(params.len()),
            names: Vec::with_capacity(params.len()),
            generics: Vec::new(),
            stream: None,
            choosing: None,
            key: Vec::with_capacity(64),
            params,
            generation,
        };
        for (at, arg) in args.iter_borrowed().enumerate() {
            let which = || match call.params.get(at) {
                Some(name) => format!("the argument for `{name}`"),
                None => format!("argument {}", at + 1),
            };
            let read = read(&arg, &reader, &which)?;
            let order = order::of(&arg, &read, torch)?;
            call.push(read, order, None);
        }
        for (name, value) in kwargs.into_iter().flatten() {
            let name: String = name.extract()?;
            if call.params.contains(&name) {
                let arg = read(&value, &reader, &|| format!("the argument for `{name}`"))?;
                let order = order::of(&value, &arg, torch)?;
                call.push(arg, order, Some(name));
            } else if name == "stream" {
                continue;
            } else if name == "tune" {
                let text: String = value.extract()?;
                identify(&name, &mut call.key);
                identify(&text, &mut call.key);
                let refused =
                    |reason| Problem::new(Class::Launch, &codes::HOST_ERROR, format!("`tune`: {reason}"));
                call.choosing = Some(text.parse().map_err(|reason: String| refused(reason).raise(py))?);
            } else {
                let text = written(&value)?;
                identify(&name, &mut call.key);
                identify(&text, &mut call.key);
                if is_path(&text) {
                    call.key.push(generation);
                }
                call.generics.push((name, text));
            }
        }
        call.stream = reader.stream()?;
        raised(py, call.expect_writable(&mutable))?;
        let is_fake = call.args.iter().any(|arg| matches!(arg, Argument::Fake));
        Ok((!is_fake).then_some(call))
    }

    /// Launches the kernel, on the GPU of its tensors or on the simulator.
    pub(super) fn called(&self, py: Python<'_>, call: &Call<'_>) -> PyResult<()> {
        let device = raised(py, call.place())?;
        let ready = self.ready(py, call, device)?;
        raised(py, ready.plan.check_overlaps(&call.args, &|at| call.name(at)))?;
        let Some(device) = device else { return self.simulated(py, call, &ready.plan.written) };
        let stream = match (call.stream, Torch::loaded(py)?) {
            (Some(stream), _) => stream,
            (None, Some(torch)) => torch.stream(py, device)?,
            (None, None) => 0,
        };
        raised(py, ready.wait_for(&self.shared.gpus, call.producers(), stream))?;
        let logged = raised(py, ready.launch(&self.shared.gpus, &call.args, stream))?;
        self.shared.counters.launches.add();
        match logged {
            Some(bytes) => self.logged(py, call, device, &bytes),
            None => Ok(()),
        }
    }

    /// Prepares the launch of a call, so that the call itself neither chooses nor compiles. On the simulator it also checks that written
    /// arguments share no memory.
    pub(super) fn warmed(&self, py: Python<'_>, call: &Call<'_>) -> PyResult<()> {
        let device = raised(py, call.place())?;
        let ready = self.ready(py, call, device)?;
        if device.is_none() {
            raised(py, ready.plan.check_overlaps(&call.args, &|at| call.name(at)))?;
        }
        Ok(())
    }

    /// Returns the prepared launch of a call: that of an earlier call with the same numbers, one that an earlier plan computes from the
    /// numbers, or a new one.
    fn ready(&self, py: Python<'_>, call: &Call<'_>, device: Option<u32>) -> PyResult<Arc<Ready>> {
        let given = call.given();
        let found = lock(&self.state).plans.find(&call.key, &given);
        let (plan, values) = match found {
            Found::Ready(ready) => {
                self.shared.counters.plan_hits.add();
                return Ok(ready);
            }
            Found::Plan(plan, values) => {
                self.shared.counters.plan_hits.add();
                (plan, values)
            }
            Found::Nothing => return self.plan(py, call, device),
        };
        let ready = Arc::new(raised(py, Ready::new(&self.shared.gpus, &plan, values))?);
        let mut state = lock(&self.state);
        if state.generation == call.generation {
            state.plans.keep(&call.key, &given, Arc::clone(&ready));
        }
        Ok(ready)
    }

    /// Returns the members that a call leaves open, fastest first.
    pub(super) fn considered(&self, py: Python<'_>, call: &Call<'_>) -> PyResult<Vec<Considered>> {
        let device = raised(py, call.place())?;
        let (request, align, choosing) = (self.requested(py, call)?, call.align(), call.choosing);
        let choice = self.shared.interruptible(py, |db, until| {
            let gpu = device.map(|device| self.shared.gpus.get(&self.shared.setup, device)).transpose()?;
            let machine = gpu.as_ref().map_or(&self.shared.simulator, |gpu| &gpu.machine);
            let launcher = Launcher::new(db, machine, until).choosing(choosing);
            let choice = launcher.choice_direct(&request, &align);
            let choice = choice.map_err(|error| Problem::launch(db, Class::Compile, error))?;
            Ok(choice.map(|choice| choice.members.clone()).unwrap_or_default())
        })?;
        raised(py, choice)
    }

    /// Prepares the launch of a call: binds the arguments, compiles the kernel, loads it, and keeps the plan for calls of the same form
    /// with the same facts.
    fn plan(&self, py: Python<'_>, call: &Call<'_>, device: Option<u32>) -> PyResult<Arc<Ready>> {
        let (align, choosing) = (call.align(), call.choosing);
        let request = self.requested(py, call)?;
        let made = self.shared.interruptible(py, |db, until| {
            let start = Instant::now();
            let of_launch = |error| Problem::launch(db, Class::Compile, error);
            let identity = lock(&self.state).identity.text;
            let Some(device) = device else {
                let machine = &self.shared.simulator;
                let launcher = Launcher::new(db, machine, until).choosing(choosing);
                let prepared = launcher.prepared(&request, &[]).map_err(of_launch)?;
                let plan = Plan::simulated(&prepared);
                return Ok(Made::of(&self.shared, (machine, identity), prepared, plan, (start, false)));
            };
            let gpu = self.shared.gpus.get(&self.shared.setup, device)?;
            let tuned = self.shared.tuned(db, &self.path)?;
            let launcher = launcher(db, &gpu, until).with_tuned(Some(&*tuned)).choosing(choosing);
            let launch = launcher.direct(&request, &align).map_err(of_launch)?;
            let plan = Plan::loaded(&self.shared.gpus, &gpu, &launch)?;
            let is_cached = launch.from_cache;
            Ok(Made::of(&self.shared, (&gpu.machine, identity), launch.prepared, plan, (start, is_cached)))
        })?;
        let Made { plan, prepared, compiled, seconds } = raised(py, made)?;
        let plan = Arc::new(plan);
        let ready = Arc::new(raised(py, Ready::new(&self.shared.gpus, &plan, prepared.values))?);
        self.shared.counters.plans.add();
        {
            let (mut state, given) = (lock(&self.state), call.given());
            // The texts that were planned with may be newer than those of the call.
            if state.generation == call.generation && self.shared.generation() == call.generation {
                state.plans.insert(&call.key, (prepared.form, &prepared.read, prepared.recipe), plan);
                state.plans.keep(&call.key, &given, Arc::clone(&ready));
            }
        }
        events::planned(py, &self.name, &prepared.instance, seconds, compiled.as_ref())?;
        Ok(ready)
    }

    /// Returns the instance that a call takes.
    pub(super) fn instance_of(&self, py: Python<'_>, call: &Call<'_>) -> PyResult<KernelInstance> {
        let device = raised(py, call.place())?;
        let (request, align) = (self.requested(py, call)?, call.align());
        let launch =
            InstanceLaunch { path: self.path.clone(), request, align, device, choosing: call.choosing };
        KernelInstance::new(py, Arc::clone(&self.shared), launch)
    }

    fn requested(&self, py: Python<'_>, call: &Call<'_>) -> PyResult<LaunchRequest> {
        // Keep the interpreter locked, because the arguments hold Python's objects; binding names takes microseconds.
        raised(py, self.shared.read(|db| call.request(db, self.key(db)?, &self.fixed)))
    }

    /// Prints the lines in the log buffer of a launch, and raises its failed assertions. `bytes` are the contents of the buffer.
    fn logged(&self, py: Python<'_>, call: &Call<'_>, device: u32, bytes: &[u8]) -> PyResult<()> {
        let (request, align, choosing) = (self.requested(py, call)?, call.align(), call.choosing);
        let printed = self.shared.interruptible(py, |db, until| {
            let gpu = self.shared.gpus.get(&self.shared.setup, device)?;
            let tuned = self.shared.tuned(db, &self.path)?;
            let launcher = launcher(db, &gpu, until).with_tuned(Some(&*tuned)).choosing(choosing);
            launcher
                .read_log(&request, &align, bytes)
                .map_err(|error| Problem::launch(db, Class::Kernel, error))
        })?;
        print(py, &after_prints(py, printed)?)
    }

    /// Runs the kernel on the simulator.
    fn simulated(&self, py: Python<'_>, call: &Call<'_>, written: &[usize]) -> PyResult<()> {
        let request = self.requested(py, call)?;
        for &at in written {
            if let Some(Argument::Host { array, .. }) = call.args.get(at)
                && !array.getattr(intern!(py, "writable"))?.extract::<bool>()?
            {
                return Err(read_only(&call.name(at)).raise(py));
            }
        }
        self.warn_of_simulator(py, call)?;
        let contents = call.args.iter().map(|arg| match arg {
            Argument::Host { array, .. } => {
                array.call_method0(intern!(py, "read"))?.extract::<Vec<u8>>().map(Some)
            }
            _ => Ok(None),
        });
        let contents = contents.collect::<PyResult<Vec<_>>>()?;
        let ran = self.shared.interruptible(py, |db, until| {
            let filled = simulator::filled(&request, contents);
            let filled = filled.map_err(|error| Problem::host(db, Class::Launch, &error))?;
            simulator::run(&self.shared, db, until, &filled)
        })?;
        let ran = after_prints(py, ran)?;
        self.shared.counters.launches.add();
        print(py, &ran.printed)?;
        for (at, bytes) in ran.written {
            if let Some(Argument::Host { array, .. }) = call.args.get(at) {
                array.call_method1(intern!(py, "write"), (bytes.as_slice(),))?;
            }
        }
        Ok(())
    }

    /// Warns once that the kernel runs on the simulator, if a tensor could be on a GPU.
    fn warn_of_simulator(&self, py: Python<'_>, call: &Call<'_>) -> PyResult<()> {
        if lock(&self.state).is_warned {
            return Ok(());
        }
        for arg in &call.args {
            if let Argument::Host { array, .. } = arg
                && array.getattr(intern!(py, "could_move"))?.extract::<bool>()?
            {
                lock(&self.state).is_warned = true;
                return events::simulated(py, &self.name);
            }
        }
        Ok(())
    }

    /// Checks the arguments of a launch, and that no written argument shares memory with another one, without launching.
    pub(super) fn checked(&self, py: Python<'_>, call: &Call<'_>) -> PyResult<()> {
        let device = raised(py, call.place())?;
        let (request, align) = (self.requested(py, call)?, call.align());
        let written = self.shared.interruptible(py, |db, until| {
            let Some(device) = device else { return simulator::check(&self.shared, db, until, &request) };
            let gpu = self.shared.gpus.get(&self.shared.setup, device)?;
            let checked = launcher(db, &gpu, until).check_direct(&request, &align);
            checked.map_err(|error| Problem::launch(db, Class::Compile, error))
        })?;
        let written = raised(py, written)?;
        self.expect_apart(py, call, (&request, &align), (&written, device))
    }

    /// Raises an exception if a written argument shares memory with another one, unless the kernel updates that argument in place.
    fn expect_apart(
        &self,
        py: Python<'_>,
        call: &Call<'_>,
        (request, align): (&LaunchRequest, &[u32]),
        (written, device): (&[usize], Option<u32>),
    ) -> PyResult<()> {
        let refused = |in_place: &[[usize; 2]]| overlaps(written, in_place, &call.args, &|at| call.name(at));
        if refused(&[]).is_ok() {
            return Ok(());
        }
        let in_place = self.shared.interruptible(py, |db, until| {
            let gpu = device.map(|device| self.shared.gpus.get(&self.shared.setup, device)).transpose()?;
            let machine = gpu.as_ref().map_or(&self.shared.simulator, |gpu| &gpu.machine);
            let pairs = Launcher::new(db, machine, until).in_place(request, align);
            pairs.map_err(|error| Problem::launch(db, Class::Compile, error))
        })?;
        let in_place = raised(py, in_place)?;
        raised(py, refused(&in_place))
    }
}

fn launcher<'a>(db: &'a Database, gpu: &'a Gpu, until: Until<'a>) -> Launcher<'a> {
    Launcher::new(db, &gpu.machine, until)
}

/// Returns the error of an array that the kernel must not write.
fn read_only(name: &str) -> Problem {
    let text = format!("the array for `{name}` is read-only, and the kernel writes it");
    Problem::new(Class::Launch, &codes::LAUNCH_MEMORY, text)
}

/// Returns the handle of a stream, given as a number or as an object with `cuda_stream` (PyTorch) or `__cuda_stream__`. `None`
/// means the current stream.
fn stream(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = value.py();
    if value.is_none() {
        return Ok(None);
    }
    if let Some(handle) = value.getattr_opt(intern!(py, "cuda_stream"))? {
        return handle.extract().map(Some);
    }
    if let Some(method) = value.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let (_, handle): (i64, u64) = method.call0()?.extract()?;
        return Ok(Some(handle));
    }
    value.extract().map(Some)
}

/// Converts an error of a kernel to its exception, after printing the lines that the kernel printed before it failed.
fn after_prints<T>(py: Python<'_>, result: Result<T, Problem>) -> PyResult<T> {
    if let Err(problem) = &result {
        print(py, &problem.printed)?;
    }
    raised(py, result)
}

/// Prints lines as Python's `print` does, so that notebooks and tests see them.
fn print(py: Python<'_>, lines: &[String]) -> PyResult<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let print = py.import("builtins")?.getattr("print")?;
    for line in lines {
        print.call1((line,))?;
    }
    Ok(())
}
