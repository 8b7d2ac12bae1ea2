//! The engine of a process: the database with the texts, the simulator, and the GPUs.
//!
//! Python's threads share it. Whoever needs it for longer lets the interpreter go on meanwhile, and can be interrupted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use hx_base::interrupt::Until;
use hx_base::{Db as _, Diagnostic, FileKind, SourceFile, codes};
use hx_driver::{DeviceChoice, Machine, Setup, Tuned, front_diagnostics};
use hx_hir::file_items;
use hx_worker::WorkerCommand;
use hx_workspace::{Database, Manifest};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{Class, Problem, raised};
use crate::gpu::Gpus;
use crate::kernel::Kernel;

/// The interval at which a waiting call looks for Ctrl-C.
const POLL: Duration = Duration::from_millis(20);
/// The stack of threads that compile and simulate, in bytes. It is that of the command.
const STACK: usize = 256 << 20;

/// The engine, for the package's own files.
#[pyclass(frozen, module = "hx._hx")]
#[derive(Debug)]
pub(crate) struct Engine(Arc<Shared>);

/// The state of the engine.
pub(crate) struct Shared {
    db: Mutex<Database>,
    /// Held for reading while a handle of the database is in use. A change of texts waits for all of them, because it would cancel
    /// their queries.
    gate: RwLock<()>,
    /// The number of changes of texts so far.
    generation: AtomicU64,
    pub(crate) setup: Setup,
    pub(crate) simulator: Machine,
    pub(crate) gpus: Gpus,
    /// Results of tuning by the path of their file; `None` where there is no such file.
    tuned: Mutex<BTreeMap<String, Option<Arc<Tuned>>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("setup", &self.setup).finish_non_exhaustive()
    }
}

/// Locks state that stays usable if a thread panicked in it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Returns the number of changes of texts so far.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Runs work on a handle of the database.
    pub(crate) fn read<R>(&self, work: impl FnOnce(&Database) -> R) -> R {
        let _open = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let db = lock(&self.db).clone();
        work(&db)
    }

    fn write<R>(&self, work: impl FnOnce(&mut Database) -> R) -> R {
        let _closed = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let done = work(&mut lock(&self.db));
        lock(&self.tuned).clear();
        self.generation.fetch_add(1, Ordering::AcqRel);
        done
    }

    /// Runs work on a handle of the database, on a thread of its own, without the interpreter. Ctrl-C ends it.
    pub(crate) fn interruptible<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Database, Until<'_>) -> R + Send,
    ) -> PyResult<R> {
        let stop = AtomicBool::new(false);
        let (done, mut wait) = channel();
        std::thread::scope(|scope| {
            let stop = &stop;
            let run = move || {
                let until = Until { stop, deadline: None };
                let result = self.read(|db| until.run(db, |db| work(db, until)));
                // The receiver lives as long as this scope.
                let _ = done.send(result);
            };
            let thread = std::thread::Builder::new().name("hx".to_owned()).stack_size(STACK);
            let thread = thread.spawn_scoped(scope, run)?;
            let mut interrupted = None;
            loop {
                let received = py.detach(|| {
                    let wait = &mut wait;
                    wait.recv_timeout(POLL)
                });
                match received {
                    // What was asked to end may have come to its end first.
                    Ok(result) => {
                        break match (interrupted, result) {
                            (Some(error), _) => Err(error),
                            (None, Ok(result)) => Ok(result),
                            (None, Err(_)) => Err(PyErr::new::<pyo3::exceptions::PyKeyboardInterrupt, _>(())),
                        };
                    }
                    Err(RecvTimeoutError::Timeout) if interrupted.is_none() => {
                        if let Err(error) = py.check_signals() {
                            stop.store(true, Ordering::Relaxed);
                            interrupted = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    // The thread panicked, and has reported that on standard error.
                    Err(RecvTimeoutError::Disconnected) => {
                        let _ = thread.join();
                        let text = "the compiler made an error, which its report on standard error describes";
                        let problem = Problem::new(Class::Compile, &codes::INTERNAL_ERROR, text);
                        break Err(interrupted.unwrap_or_else(|| problem.raise(py)));
                    }
                }
            }
        })
    }

    /// Returns the file of a key.
    pub(crate) fn file(db: &Database, path: &str) -> Result<SourceFile, Problem> {
        db.file(path).ok_or_else(|| {
            Problem::new(Class::File, &codes::FILE_NOT_FOUND, format!("`{path}` is not loaded any more"))
        })
    }

    /// Returns the results of tuning for a file's kernels, if its project has any.
    pub(crate) fn tuned(&self, db: &Database, path: &str) -> Result<Option<Arc<Tuned>>, Problem> {
        let place = db.tuned_path(path);
        if let Some(known) = lock(&self.tuned).get(&place) {
            return Ok(known.clone());
        }
        let file = db.tuned(&place).map_err(|error| Problem::open(&error))?;
        if let Some(file) = &file
            && file.diagnostics.iter().any(Diagnostic::is_error)
        {
            return Err(Problem::found(db, Class::Compile, &file.diagnostics));
        }
        let found = file.map(|file| Arc::new(Tuned::new(file)));
        lock(&self.tuned).insert(place, found.clone());
        Ok(found)
    }
}

/// Returns the errors of a file's syntax, names and types as a problem.
fn front(db: &Database, file: SourceFile, manifest: Option<&Manifest>) -> Result<(), Problem> {
    let mut found = manifest.map(|manifest| manifest.diagnostics.clone()).unwrap_or_default();
    found.extend(front_diagnostics(db, file));
    match found.iter().any(Diagnostic::is_error) {
        true => Err(Problem::found(db, Class::Compile, &found)),
        false => Ok(()),
    }
}

/// Returns the key of a file: its absolute path, or `std/gemm.hx`.
fn key(db: &Database, file: SourceFile) -> String {
    db.path_on_disk(file).map_or_else(|| file.path(db).to_owned(), str::to_owned)
}

#[pymethods]
impl Engine {
    /// Makes the engine. `command` is the program `hx`, which compiles CUDA texts.
    #[new]
    fn new(command: PathBuf) -> PyResult<Engine> {
        let worker = WorkerCommand::new(command).arg("worker");
        let mut db = Database::default();
        let manifest = db.project(".");
        let setup = hx_driver::setup(Some(DeviceChoice::Sim), None, None, manifest.as_ref(), worker);
        let setup = setup.map_err(PyValueError::new_err)?;
        let simulator = Machine::Simulator { arch: setup.target, instead_of: None, compiler: None };
        let shared = Shared {
            db: Mutex::new(db),
            gate: RwLock::default(),
            generation: AtomicU64::new(1),
            setup,
            simulator,
            gpus: Gpus::default(),
            tuned: Mutex::default(),
        };
        Ok(Engine(Arc::new(shared)))
    }

    /// Loads a file. Returns its key.
    fn open(&self, py: Python<'_>, path: &str) -> PyResult<String> {
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
                    // A file that was loaded before may have changed.
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

    /// Returns the names of a file's kernels and functions, in the order of the text, and its doc comment.
    fn items(&self, py: Python<'_>, path: &str) -> PyResult<(Vec<String>, Vec<String>, String)> {
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

    /// Returns a kernel of a file.
    fn kernel(&self, py: Python<'_>, path: &str, name: &str) -> PyResult<Kernel> {
        Kernel::new(py, Arc::clone(&self.0), path, name)
    }

    /// Returns number, name and compute capability of each GPU.
    #[expect(clippy::unused_self, reason = "a method in Python")]
    fn devices(&self, py: Python<'_>) -> PyResult<Vec<(u32, String, (u32, u32))>> {
        let found = py.detach(hx_runtime::direct::devices);
        let found = found
            .map_err(|absence| Problem::new(Class::Missing, &codes::NO_GPU, absence.reason).raise(py))?;
        Ok(found.iter().map(|info| (info.ordinal, info.name.clone(), info.capability)).collect())
    }
}
