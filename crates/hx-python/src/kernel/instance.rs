//! The instance that a launch takes, as a Python object: its code, its layouts, its registers.

use std::sync::Arc;

use hx_base::codes;
use hx_host::device::LaunchRequest;
use hx_inspect::{Choosing, EmitKind, Solved, compile, emit_instance};
use hx_launch::{ChosenInstance, InstanceText, Launcher};
use hx_worker::Want;
use hx_worker::log::KernelResources;
use hx_workspace::Database;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Class, Problem, raised};
use crate::shared::Shared;
use crate::state::Identity;

/// The instance of a kernel that a launch takes: the kernel with its compile-time arguments and with what is known of the launch's shapes.
///
/// `kernel.instance(x, y)` returns it, and launches nothing.
#[pyclass(frozen, module = "hx", name = "Instance")]
#[derive(Debug)]
pub(crate) struct KernelInstance {
    shared: Arc<Shared>,
    launch: InstanceLaunch,
    /// The texts for which the instance was chosen.
    identity: Identity,
    text: InstanceText,
    remarks: Vec<String>,
    device: String,
    target: &'static str,
}

/// The launch that takes an instance.
#[derive(Debug)]
pub(super) struct InstanceLaunch {
    /// The path of the file of the kernel that was called.
    pub(super) path: String,
    pub(super) request: LaunchRequest,
    /// The alignment of each argument's address in bytes.
    pub(super) align: Vec<u32>,
    /// `None` for the simulator.
    pub(super) device: Option<u32>,
    pub(super) choosing: Option<Choosing>,
}

/// Explains the layout of a tensor, or of all.
///
/// # Errors
/// If the kernel has no tensor of that name.
pub(super) fn explained(solved: &Solved<'_>, tensor: Option<&str>) -> Result<String, Problem> {
    if let Some(text) = tensor.and_then(|name| solved.order(name)) {
        return Ok(text);
    }
    let tensors = solved.tensors(tensor);
    let tensors = tensors.map_err(|text| Problem::new(Class::Launch, &codes::HOST_ERROR, text))?;
    Ok(if tensor.is_some() { solved.why(&tensors, None) } else { solved.why_all(0) })
}

impl KernelInstance {
    /// Chooses the instance of a launch.
    pub(super) fn new(
        py: Python<'_>,
        shared: Arc<Shared>,
        launch: InstanceLaunch,
    ) -> PyResult<KernelInstance> {
        type Parts = (Identity, InstanceText, Vec<String>, String, &'static str);
        let parts: Result<Parts, Problem> = shared.interruptible(py, |db, until| {
            let identity = shared.identity(db, Shared::file(db, &launch.path)?);
            let gpu = launch.device.map(|device| shared.gpus.get(&shared.setup, device)).transpose()?;
            let machine = gpu.as_ref().map_or(&shared.simulator, |gpu| &gpu.machine);
            let launcher = Launcher::new(db, machine, until).choosing(launch.choosing);
            let tuned = gpu.as_ref().map(|_| shared.tuned(db, &launch.path)).transpose()?;
            let launcher = launcher.with_tuned(tuned.as_deref());
            let chosen = launcher.instance(&launch.request, &launch.align);
            let ChosenInstance { text, remarks, .. } =
                chosen.map_err(|error| Problem::launch(db, Class::Compile, error))?;
            Ok((identity, text, remarks, machine.device(), machine.target().name()))
        })?;
        let (identity, text, remarks, device, target) = raised(py, parts)?;
        Ok(KernelInstance { shared, launch, identity, text, remarks, device, target })
    }

    /// Runs work on the instance.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&Database, ChosenInstance<'_>) -> Result<R, Problem>,
    ) -> PyResult<R> {
        let InstanceLaunch { path, request, align, device, choosing } = &self.launch;
        let shared = &self.shared;
        let done = shared.interruptible(py, |db, until| {
            if shared.identity(db, Shared::file(db, path)?) != self.identity {
                let kernel = &self.text.kernel;
                let text = format!("the text of `{kernel}` has changed: call `instance` again");
                return Err(Problem::new(Class::Launch, &codes::HOST_ERROR, text));
            }
            let gpu = device.map(|device| shared.gpus.get(&shared.setup, device)).transpose()?;
            let machine = gpu.as_ref().map_or(&shared.simulator, |gpu| &gpu.machine);
            let tuned = gpu.as_ref().map(|_| shared.tuned(db, path)).transpose()?;
            let launcher = Launcher::new(db, machine, until).choosing(*choosing);
            let chosen = launcher.with_tuned(tuned.as_deref()).instance(request, align);
            work(db, chosen.map_err(|error| Problem::launch(db, Class::Compile, error))?)
        })?;
        raised(py, done)
    }

    fn resources(&self, py: Python<'_>) -> PyResult<Option<KernelResources>> {
        self.with(py, |db, chosen| {
            let compiled = compile(db, chosen.instance, Want::Cubin, &self.shared.setup, &mut Vec::new());
            let compiled = compiled.map_err(|error| Problem::emit(db, &self.text.kernel, error))?;
            Ok(compiled.kernels.into_iter().next())
        })
    }
}

#[pymethods]
impl KernelInstance {
    /// The name of the kernel that runs: the member, if the called kernel has a family.
    #[getter]
    fn kernel(&self) -> &str {
        &self.text.kernel
    }

    /// All compile-time arguments, as they are written in hx.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in &self.text.arguments {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// The facts that the code relies on: the divisors of dimensions and strides below 16, as in `k % 8`, and strides that are 1.
    #[getter]
    fn facts(&self) -> Vec<String> {
        self.text.facts.clone()
    }

    /// Why the launch takes these arguments: the tuned result or the member of the family, one line each. Empty if nothing was chosen.
    #[getter]
    fn chosen(&self) -> Vec<String> {
        self.remarks.clone()
    }

    /// `sim` or `cuda:0`.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// The architecture, such as `sm_90a`.
    #[getter]
    fn target(&self) -> &str {
        self.target
    }

    /// Returns the text of a stage, as `Kernel.emit` does.
    fn emit(&self, py: Python<'_>, stage: &str) -> PyResult<String> {
        let kind = self::stage(py, stage)?;
        self.with(py, |db, chosen| {
            let emitted = emit_instance(db, chosen.instance, kind, &self.shared.setup);
            Ok(emitted.map_err(|error| Problem::emit(db, &self.text.kernel, error))?.text)
        })
    }

    /// The CUDA C++ text.
    #[getter]
    fn cuda(&self, py: Python<'_>) -> PyResult<String> {
        self.emit(py, "cuda")
    }

    /// The assembly of the virtual machine. It needs the CUDA compiler, and no GPU.
    #[getter]
    fn ptx(&self, py: Python<'_>) -> PyResult<String> {
        self.emit(py, "ptx")
    }

    /// The machine code, disassembled. It needs the CUDA compiler, and no GPU.
    #[getter]
    fn sass(&self, py: Python<'_>) -> PyResult<String> {
        self.emit(py, "sass")
    }

    /// The registers of a thread, as the assembler reports them. It needs the CUDA compiler, and no GPU.
    #[getter]
    fn registers(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.resources(py)?.map(|found| found.registers))
    }

    /// The bytes that each thread stores and loads because registers do not suffice. It needs the CUDA compiler, and no GPU.
    #[getter]
    fn spills(&self, py: Python<'_>) -> PyResult<Option<(u32, u32)>> {
        Ok(self.resources(py)?.map(|found| (found.spill_store_bytes, found.spill_load_bytes)))
    }

    /// Explains the layout of a tensor, or of all.
    #[pyo3(signature = (tensor = None))]
    fn why(&self, py: Python<'_>, tensor: Option<&str>) -> PyResult<String> {
        self.with(py, |db, chosen| {
            let solved = Solved::of(db, chosen.instance, &chosen.dims);
            let missing = || {
                let text = format!("`{}` has no layouts", self.text.kernel);
                Problem::new(Class::Compile, &codes::INTERNAL_ERROR, text)
            };
            explained(&solved.ok_or_else(missing)?, tensor)
        })
    }

    fn __repr__(&self) -> String {
        format!("<hx instance {} on {}>", self.text, self.device)
    }
}

/// Returns the stage of that name.
///
/// # Errors
/// An exception that lists all names.
pub(super) fn stage(py: Python<'_>, name: &str) -> PyResult<EmitKind> {
    EmitKind::parse(name).ok_or_else(|| {
        let known = EmitKind::NAMES.join(", ");
        let text = format!("found the stage `{name}`, expected one of {known}");
        Problem::new(Class::Launch, &codes::HOST_ERROR, text).raise(py)
    })
}
