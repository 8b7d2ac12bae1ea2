//! Kernels as Python objects.
//!
//! A call reads its arguments into a key and numbers. The first call with a key and facts of the numbers binds the arguments, solves,
//! compiles and loads. A later one with other numbers computes the grid and the parameters from them, and one with the same shapes only fills
//! addresses and numbers into the prepared parameters.

mod call;
mod facts;
pub(crate) mod instance;
pub(crate) mod order;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hx_hir::{Item, ItemKey, Name, TypeRef, item_named, kernel_signature, signature_source_map};
use hx_host::device::Device as _;
use hx_inspect::{EmitKind, Overrides, Solved, parse_override};
use hx_launch::{Launcher, Plans};
use hx_workspace::Database;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use self::instance::KernelInstance;
use crate::arguments::parse;
use crate::errors::{Class, Problem, raised};
use crate::lock::lock;
use crate::shared::Shared;
use crate::state::State;

/// A kernel of a file.
///
/// Call it with tensors and numbers in the order of its parameters, or by name. Compile-time arguments are given by name, as numbers,
/// element types, or texts such as `"relu"` and `"(8,8):(8,1)"`. Tensors on a GPU are used in place, on PyTorch's current stream or on
/// `stream`; arrays in host memory run on the simulator. `tune="first-call"` measures the fastest members of the kernel's family at the
/// first call of a shape; `tune="model"` takes the estimates.
#[pyclass(frozen, module = "hx", weakref)]
#[derive(Debug)]
pub(crate) struct Kernel {
    shared: Arc<Shared>,
    path: String,
    name: String,
    /// The compile-time arguments that `specialize` fixed, as they are written in hx.
    fixed: Vec<(String, String)>,
    state: Arc<Mutex<State>>,
}

impl Kernel {
    /// Makes the object of a kernel.
    ///
    /// # Errors
    /// If the file has no kernel of this name.
    pub(crate) fn new(py: Python<'_>, shared: Arc<Shared>, path: &str, name: &str) -> PyResult<Kernel> {
        let state = shared.state(path, name, &[]);
        let (path, name) = (path.to_owned(), name.to_owned());
        let kernel = Kernel { shared, path, name, fixed: Vec::new(), state };
        kernel.refresh(py)?;
        Ok(kernel)
    }

    /// Reads the parameters of the current text, and forgets the plans if something that they depend on has changed.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let generation = self.shared.generation();
        if lock(&self.state).generation == generation {
            return Ok(());
        }
        let read = py.detach(|| {
            self.with_kernel(|db, key| {
                let kernel = kernel_of(db, key)?;
                let signature = kernel_signature(db, kernel);
                let name = |param: &hx_hir::Param| param.name.to_string();
                let params: Arc<[String]> = signature.params.iter().map(name).collect();
                let is_mutable = |param: &hx_hir::Param| {
                    matches!(&signature.store[param.ty], TypeRef::Named { mutable: true, .. })
                };
                let mutable: Arc<[bool]> = signature.params.iter().map(is_mutable).collect();
                let mut identity = self.shared.identity(db, key.file);
                if self.fixed.iter().any(|(_, text)| call::is_path(text)) {
                    identity.text ^= generation;
                }
                Ok((params, mutable, identity))
            })
        });
        let (params, mutable, identity) = raised(py, read)?;
        let mut state = lock(&self.state);
        if state.identity != identity {
            state.plans = Plans::default();
        }
        (state.generation, state.identity) = (generation, identity);
        (state.params, state.mutable) = (params, mutable);
        Ok(())
    }

    /// Runs work on a handle of the database, with the key of the kernel in its current text.
    fn with_kernel<R>(
        &self,
        work: impl FnOnce(&Database, &ItemKey) -> Result<R, Problem>,
    ) -> Result<R, Problem> {
        self.shared.expect_own_process()?;
        self.shared.read(|db| work(db, &self.key(db)?))
    }

    fn key(&self, db: &Database) -> Result<ItemKey, Problem> {
        let file = Shared::file(db, &self.path)?;
        match item_named(db, file, Name::new(&self.name)) {
            Some(item @ Item::Kernel(_)) => Ok(item.key(db)),
            _ => {
                let text = format!("`{}` has no kernel `{}` any more", file.path(db), self.name);
                Err(Problem::new(Class::Launch, &hx_base::codes::HOST_ERROR, text))
            }
        }
    }

    /// Returns the compile-time arguments of an instance: the fixed ones, and `more`, which replace fixed ones of the same
    /// name.
    fn overrides(&self, more: &[(String, String)]) -> Result<Overrides, Problem> {
        let mut overrides = Overrides::new();
        for (name, value) in self.fixed.iter().chain(more) {
            let parsed = parse_override(&format!("{name}={value}"));
            let (name, value) = parsed.map_err(|reason| {
                Problem::new(Class::Launch, &hx_base::codes::HOST_ERROR, format!("`{name}`: {reason}"))
            })?;
            overrides.retain(|(other, _)| *other != name);
            overrides.push((name, value));
        }
        Ok(overrides)
    }

    /// Returns the text of a stage.
    fn stage(&self, py: Python<'_>, kind: EmitKind) -> PyResult<String> {
        let text = self.shared.interruptible(py, |db, _| {
            let file = Shared::file(db, &self.path)?;
            let overrides = self.overrides(&[])?;
            let emitted = hx_inspect::emit(db, file, Some(&self.name), &overrides, kind, &self.shared.setup);
            let emitted = emitted.map_err(|error| Problem::emit(db, &self.name, error))?;
            let Some(emitted) = emitted.into_iter().next() else { return Ok(String::new()) };
            // Return the text even of a kernel with a race, because the text shows the race; launches raise the exception.
            Ok(emitted.text)
        })?;
        raised(py, text)
    }
}

/// The arguments of `restored`: path, name and fixed arguments, by which another process finds the kernel again.
type Restored<'k, 'py> = (&'k str, &'k str, Bound<'py, PyDict>);

/// Finds the kernel with this key in the current text.
fn kernel_of<'db>(db: &'db Database, key: &ItemKey) -> Result<hx_hir::Kernel<'db>, Problem> {
    match key.find(db) {
        Some(Item::Kernel(kernel)) => Ok(kernel),
        _ => Err(Problem::new(
            Class::Launch,
            &hx_base::codes::HOST_ERROR,
            format!("the kernel `{}` is gone", key.name),
        )),
    }
}

#[pymethods]
impl Kernel {
    /// The name of the kernel in its file.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter(__name__)]
    fn dunder_name(&self) -> &str {
        &self.name
    }

    /// The path of the file, `std/…` for the standard library.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    /// The doc comment.
    #[getter]
    fn doc(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let doc = py.detach(|| {
            self.with_kernel(|db, key| Ok(hx_ide::item_docs(db, Item::Kernel(kernel_of(db, key)?))))
        });
        raised(py, doc)
    }

    /// The header as it is written.
    #[getter]
    fn header(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.detach(|| {
            self.with_kernel(|db, key| {
                let item = Item::Kernel(kernel_of(db, key)?);
                let range = signature_source_map(db, item).map(|map| map.header + item.offset(db));
                let text =
                    range.and_then(|range| key.file.text(db).get(std::ops::Range::<usize>::from(range)));
                Ok(text.unwrap_or_default().trim().to_owned())
            })
        });
        raised(py, text)
    }

    /// The run-time parameters, in the order of the header.
    #[getter(params)]
    fn parameters<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("hx._modules")?.call_method1("parameters", (slf.clone(),))
    }

    /// The compile-time arguments that `specialize` fixed, as they are written.
    #[getter]
    fn fixed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in &self.fixed {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Returns the run-time parameters: name, text of the type, element type, extents, strides, and whether the kernel writes
    /// the parameter.
    #[pyo3(name = "_params")]
    fn params(&self, py: Python<'_>) -> PyResult<Vec<facts::ParamText>> {
        let found = py.detach(|| self.with_kernel(|db, key| Ok(facts::params(db, kernel_of(db, key)?))));
        raised(py, found)
    }

    /// Returns the compile-time parameters: name and default as written.
    #[pyo3(name = "_generics")]
    fn generics(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        let found = py.detach(|| self.with_kernel(|db, key| Ok(facts::generics(db, kernel_of(db, key)?))));
        raised(py, found)
    }

    /// Returns each compile-time parameter with its value as text. The value is that in `given`, otherwise the fixed one,
    /// otherwise the default.
    #[pyo3(name = "_compile_time")]
    fn compile_time(&self, py: Python<'_>, given: Vec<(String, String)>) -> PyResult<Vec<(String, String)>> {
        let found = py.detach(|| {
            self.with_kernel(|db, key| {
                let kernel = kernel_of(db, key)?;
                let overrides = self.overrides(&given)?;
                facts::compile_time(db, kernel, &overrides, &self.shared.setup)
                    .map_err(|error| Problem::emit(db, &self.name, error))
            })
        });
        raised(py, found)
    }

    /// Returns this kernel with some compile-time arguments fixed.
    #[pyo3(signature = (**arguments))]
    fn specialize(&self, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Kernel> {
        let mut fixed = self.fixed.clone();
        for (name, value) in arguments.into_iter().flatten() {
            let name: String = name.extract()?;
            let value = call::written(&value)?;
            fixed.retain(|(other, _)| *other != name);
            fixed.push((name, value));
        }
        let state = self.shared.state(&self.path, &self.name, &fixed);
        let (shared, path, name) = (Arc::clone(&self.shared), self.path.clone(), self.name.clone());
        Ok(Kernel { shared, path, name, fixed, state })
    }

    /// Returns the text of a stage: `tile`, `constraints`, `layouts`, `thread`, `cuda`, `ptx` or `sass`.
    fn emit(&self, py: Python<'_>, stage: &str) -> PyResult<String> {
        let kind = instance::stage(py, stage)?;
        self.stage(py, kind)
    }

    /// Returns the layout of every tensor and the instruction of every operation.
    fn layouts(&self, py: Python<'_>) -> PyResult<String> {
        self.emit(py, "layouts")
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

    /// Explains the layout of a tensor, or of all.
    #[pyo3(signature = (tensor = None))]
    fn why(&self, py: Python<'_>, tensor: Option<&str>) -> PyResult<String> {
        let text = self.shared.interruptible(py, |db, _| {
            let kernel = kernel_of(db, &self.key(db)?)?;
            let solved = Solved::new(db, kernel, &self.overrides(&[])?, &self.shared.setup);
            let solved = solved.map_err(|error| Problem::emit(db, &self.name, error))?;
            instance::explained(&solved, tensor)
        })?;
        raised(py, text)
    }

    /// Returns the order that the compiler infers for a tensor of this element type, as it is written in hx; `None` for row-major order.
    /// `place` is the CUDA device that the order is for, negative for the one of the simulator; `of` names the parameter, if the kernel
    /// infers several orders.
    #[pyo3(signature = (dtype, place, of = None))]
    fn _order(&self, py: Python<'_>, dtype: &str, place: i64, of: Option<&str>) -> PyResult<Option<String>> {
        let dtype = parse(py, dtype)?;
        let order = self.shared.interruptible(py, |db, until| {
            let gpu = u32::try_from(place).ok();
            let gpu = gpu.map(|device| self.shared.gpus.get(&self.shared.setup, device)).transpose()?;
            let machine = gpu.as_ref().map_or(&self.shared.simulator, |gpu| &gpu.machine);
            let kernel = self.key(db)?;
            let question = order::question(db, kernel, &self.fixed, (dtype, of))?;
            let order = Launcher::new(db, machine, until).packed_order(&question);
            order.map_err(|error| Problem::launch(db, Class::Launch, error))
        })?;
        Ok(raised(py, order)?.map(|block| block.to_string()))
    }

    /// Returns the resources of a block, and the estimated cycles of a launch with these dimensions and strides.
    #[pyo3(signature = (**dims))]
    fn cost<'py>(
        &self,
        py: Python<'py>,
        dims: Option<BTreeMap<String, i64>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dims: Vec<(String, i64)> = dims.into_iter().flatten().collect();
        let cost = self.shared.interruptible(py, |db, _| {
            let kernel = kernel_of(db, &self.key(db)?)?;
            facts::cost(db, kernel, &self.overrides(&[])?, &dims, &self.shared.setup)
                .map_err(|error| Problem::emit(db, &self.name, error))
        })?;
        facts::cost_dict(py, &raised(py, cost)?)
    }

    /// Measures the candidates of the kernel's `tune` clause for shapes, and keeps the best in `hx.tuned.toml`, from which launches of
    /// those shapes take them.
    #[pyo3(signature = (*shapes, **options))]
    fn tune<'py>(
        slf: &Bound<'py, Self>,
        shapes: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let args = (slf.clone(), shapes.clone());
        py.import("hx._tune")?.getattr("tune")?.call(args, options)
    }

    /// Checks the arguments of a launch, and launches nothing. On tensors without elements, as in a trace of PyTorch, nothing is
    /// checked.
    #[pyo3(signature = (*args, **kwargs))]
    fn check(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.read(py, args, kwargs)?.map_or(Ok(()), |call| self.checked(py, &call))
    }

    /// Prepares a launch, and launches nothing: chooses the member of the kernel's family, compiles it and loads it. Calls with arguments of
    /// the same types, and with shapes and strides of the same plan, then launch at once.
    #[pyo3(signature = (*args, **kwargs))]
    fn warmup(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.read(py, args, kwargs)?.map_or(Ok(()), |call| self.warmed(py, &call))
    }

    /// Returns the members of the kernel's family for a launch, which does not happen: those that the launch fits by time, the first of
    /// which it runs, then the others. Empty if the launch leaves nothing open.
    #[pyo3(signature = (*args, **kwargs))]
    fn members<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let Some(call) = self.read(py, args, kwargs)? else { return Ok(Vec::new()) };
        self.considered(py, &call)?.iter().map(|member| facts::member_dict(py, member)).collect()
    }

    /// Returns the instance that a launch with these arguments takes, which does not happen: its code, its layouts and its registers.
    #[pyo3(signature = (*args, **kwargs))]
    fn instance(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<KernelInstance> {
        match self.read(py, args, kwargs)? {
            Some(call) => self.instance_of(py, &call),
            None => {
                let text = "found a tensor without elements, expected the tensors of a launch";
                Err(Problem::new(Class::Launch, &hx_base::codes::LAUNCH_MEMORY, text).raise(py))
            }
        }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.read(py, args, kwargs)?.map_or(Ok(()), |call| self.called(py, &call))
    }

    /// Copies and pickles name the kernel again; another process loads its file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Restored<'_, 'py>)> {
        Ok((py.import("hx._modules")?.getattr("restored")?, (&self.path, &self.name, self.fixed(py)?)))
    }

    fn __repr__(&self) -> String {
        let fixed: Vec<String> = self.fixed.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let fixed = if fixed.is_empty() { String::new() } else { format!("<{}>", fixed.join(", ")) };
        format!("<hx kernel {}{fixed} of {}>", self.name, self.path)
    }
}
