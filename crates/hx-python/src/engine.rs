//! The engine of a process, for the package's own files: it loads texts and hands out kernels.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hx_base::{Db as _, Diagnostic, FileKind, SourceFile, codes};
use hx_hir::file_items;
use hx_inspect::{DeviceChoice, front_diagnostics};
use hx_worker::WorkerCommand;
use hx_workspace::{Database, Manifest};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{Class, Problem, raised};
use crate::kernel::Kernel;
use crate::shared::Shared;

/// The engine, for the package's own files.
#[pyclass(frozen, module = "hx._hx")]
#[derive(Debug)]
pub(crate) struct Engine(Arc<Shared>);

/// Returns the errors of a file's syntax, names and types as a problem.
fn front(db: &Database, file: SourceFile, manifest: Option<&Manifest>) -> Result<(), Problem> {
    let mut found = manifest.map(|manifest| manifest.diagnostics.clone()).unwrap_or_default();
    found.extend(front_diagnostics(db, file));
    match found.iter().any(Diagnostic::is_error) {
        true => Err(Problem::found(db, Class::Compile, &found)),
        false => Ok(()),
    }
}

/// Returns the key by which Python names a file: its absolute path, or `std/gemm.hx`.
fn key(db: &Database, file: SourceFile) -> String {
    db.path_on_disk(file).map_or_else(|| file.path(db).to_owned(), str::to_owned)
}

/// The number, the name and the compute capability of a GPU, as in `(0, "NVIDIA H200", (9, 0))`.
type Device = (u32, String, (u32, u32));

#[pymethods]
impl Engine {
    /// Makes the engine. `command` is the program `hx`, which compiles CUDA texts.
    #[new]
    fn new(command: PathBuf) -> PyResult<Engine> {
        let worker = WorkerCommand::new(command).arg("worker");
        let mut db = Database::default();
        let manifest = db.project(".");
        let setup = hx_inspect::setup(Some(DeviceChoice::Sim), None, None, None, manifest.as_ref(), worker);
        let setup = setup.map_err(PyValueError::new_err)?;
        Ok(Engine(Arc::new(Shared::new(db, setup))))
    }

    /// Loads a file. Returns its key.
    fn open(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        raised(py, self.0.expect_own_process())?;
        let opened = py.detach(|| {
            self.0.write(|db| {
                let opened = db.open(path).map_err(|error| Problem::open(&error))?;
                let &[file] = opened.files.as_slice() else {
                    let text = format!("`{path}` is a folder, expected a file");
                    return Err(Problem::new(Class::File, &codes::IO_ERROR, text));
                };
                if let Some(error) = opened.unreadable.first() {
                    return Err(Problem::open(error));
                }
                let key = key(db, file);
                if db.path_on_disk(file).is_some() {
                    // The database keeps the text of a file that was loaded before, so read it again.
                    db.reload(&key).map_err(|error| Problem::open(&error))?;
                    db.load_uses(&key);
                }
                front(db, file, opened.manifest.as_ref())?;
                Ok(key)
            })
        });
        raised(py, opened)
    }

    /// Loads a text under a name. Returns its key.
    fn text(&self, py: Python<'_>, name: &str, text: &str) -> PyResult<String> {
        raised(py, self.0.expect_own_process())?;
        let opened = py.detach(|| {
            self.0.write(|db| {
                let file = db.set_overlay(name, text);
                db.load_uses(name);
                front(db, file, None)?;
                Ok(key(db, file))
            })
        });
        raised(py, opened)
    }

    /// Reads a file again. Kernels of it go on with the new text.
    fn reload(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        raised(py, self.0.expect_own_process())?;
        let reloaded = py.detach(|| {
            self.0.write(|db| {
                db.reload(path).map_err(|error| Problem::open(&error))?;
                db.load_uses(path);
                let file = Shared::file(db, path)?;
                front(db, file, None)
            })
        });
        raised(py, reloaded)
    }

    /// Reads results of tuning again, from the next launch on.
    fn forget_tuned(&self, py: Python<'_>) {
        py.detach(|| self.0.write(|_| ()));
    }

    /// Returns the names of a file's kernels, the names of its functions, each in the order of the text, and its doc comment,
    /// which is empty if there is none.
    fn items(&self, py: Python<'_>, path: &str) -> PyResult<(Vec<String>, Vec<String>, String)> {
        raised(py, self.0.expect_own_process())?;
        let items = py.detach(|| {
            self.0.read(|db| {
                let file = Shared::file(db, path)?;
                let items = file_items(db, file);
                let kernels = items.kernels().map(|kernel| kernel.name(db).to_string()).collect();
                let functions = items.items.iter().filter_map(|item| match item {
                    hx_hir::Item::Function(function) => Some(function.name(db).to_string()),
                    _ => None,
                });
                let docs = hx_ide::file_docs(db, file).unwrap_or_default();
                Ok((kernels, functions.collect(), docs))
            })
        });
        raised(py, items)
    }

    /// Returns the names of the standard library's modules.
    fn std_modules(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| {
            self.0.read(|db| {
                let files = db.workspace().files(db);
                let std = files.iter().filter(|file| file.kind(db) == FileKind::Std);
                let name = |file: &SourceFile| {
                    file.path(db).trim_start_matches("std/").trim_end_matches(".hx").to_owned()
                };
                std.map(name).collect()
            })
        })
    }

    /// Notes that this process was forked just now.
    fn forked(&self) {
        self.0.forked();
    }

    /// Returns the counts of what this process has done.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.0.counters.all().into_iter().collect()
    }

    /// Returns a kernel of a file.
    fn kernel(&self, py: Python<'_>, path: &str, name: &str) -> PyResult<Kernel> {
        Kernel::new(py, Arc::clone(&self.0), path, name)
    }

    /// Returns number, name and compute capability of each GPU.
    fn devices(&self, py: Python<'_>) -> PyResult<Vec<Device>> {
        raised(py, self.0.expect_own_process())?;
        let found = py.detach(hx_runtime::direct::devices);
        if found.is_ok() {
            self.0.uses_cuda();
        }
        let found = found
            .map_err(|absence| Problem::new(Class::Missing, &codes::NO_GPU, absence.reason).raise(py))?;
        Ok(found.iter().map(|info| (info.ordinal, info.name.clone(), info.capability)).collect())
    }
}
