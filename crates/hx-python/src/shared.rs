//! The state that all threads of a Python process share: the database with the texts, the simulator, and the GPUs.
//!
//! A thread that solves, compiles or simulates releases the interpreter meanwhile, and Ctrl-C interrupts it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use hx_base::interrupt::Until;
use hx_base::{Db as _, Diagnostic, FileKind, SourceFile, codes, fnv};
use hx_hir::{PathTarget, absolute_path, family_of, file_items, imports, reached_tokens};
use hx_inspect::Setup;
use hx_launch::{Machine, Tuned};
use hx_workspace::Database;
use pyo3::prelude::*;

use crate::counters::Counters;
use crate::errors::{Class, Problem, raised};
use crate::gpu::Gpus;
use crate::lock::lock;
use crate::process::Process;
use crate::state::{Identity, State};

/// The interval at which a waiting call checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(20);
/// The stack of threads that compile and simulate, in bytes; the command `hx` has the same.
const STACK: usize = 256 << 20;

/// The number of kernels above which those that the program does not hold lose their plans.
const MOST_STATES: usize = 1024;

/// The path and the name of a kernel, and its fixed compile-time arguments.
type KernelName = (String, String, Vec<(String, String)>);

/// Results of tuning, with the text of the file of the project or folder that they were read from, which may be missing.
type TunedText = (Option<String>, Arc<Tuned>);

/// The state of the engine that all threads share.
pub(crate) struct Shared {
    db: Mutex<Database>,
    /// Locked for reading while a handle of the database is in use. A change of texts would cancel the queries of these handles,
    /// so it takes the lock for writing and waits for them.
    gate: RwLock<()>,
    /// Grows with each change of a text or of results of tuning. Starts at 1, because a new kernel has the generation 0, which counts as
    /// out of date.
    generation: AtomicU64,
    /// The hash of each text, by path.
    texts: Mutex<BTreeMap<String, u64>>,
    /// The state of each kernel. A kernel that is looked up again finds its plans.
    states: Mutex<BTreeMap<KernelName, Arc<Mutex<State>>>>,
    /// For each file, the hash of its items and of everything that they use, and the generation of that hash.
    identities: Mutex<BTreeMap<String, (u64, u64)>>,
    pub(crate) setup: Setup,
    pub(crate) simulator: Machine,
    pub(crate) gpus: Gpus,
    /// Results of tuning by the path of the file of the project or folder.
    tuned: Mutex<BTreeMap<String, TunedText>>,
    /// Grows with each change of results of tuning.
    tuned_version: AtomicU64,
    pub(crate) counters: Counters,
    process: Process,
    /// The instances whose code was made, as [`Shared::is_new`] knows them.
    compiled: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("setup", &self.setup).finish_non_exhaustive()
    }
}

impl Shared {
    /// Makes the state of a process with these settings.
    pub(crate) fn new(db: Database, setup: Setup) -> Shared {
        let simulator = Machine::Simulator { target: setup.target, instead_of: None, compiler: None };
        Shared {
            db: Mutex::new(db),
            gate: RwLock::default(),
            generation: AtomicU64::new(1),
            texts: Mutex::default(),
            states: Mutex::default(),
            identities: Mutex::default(),
            setup,
            simulator,
            gpus: Gpus::default(),
            tuned: Mutex::default(),
            tuned_version: AtomicU64::new(0),
            counters: Counters::default(),
            process: Process::default(),
            compiled: Mutex::default(),
        }
    }

    /// Refuses to go on in a process that was forked after threads, worker processes or CUDA were in use.
    pub(crate) fn expect_own_process(&self) -> Result<(), Problem> {
        self.process.check()
    }

    /// Notes that this process was forked just now. In the child, nothing of the parent ends with this state.
    pub(crate) fn forked(self: &Arc<Shared>) {
        std::mem::forget(Arc::clone(self));
        let is_busy = self.gate.try_write().is_err() || self.db.try_lock().is_err();
        self.process.forked(is_busy);
    }

    /// Notes that this process uses CUDA.
    pub(crate) fn uses_cuda(&self) {
        self.process.start();
    }

    /// Returns a number that grows with each change of texts. A kernel with another number must read its text again.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Runs work on a handle of the database.
    pub(crate) fn read<R>(&self, work: impl FnOnce(&Database) -> R) -> R {
        let _open = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let db = lock(&self.db).clone();
        work(&db)
    }

    /// Changes texts, once no handle of the database is in use. If a text or a result of tuning has changed, raises the generation, so that
    /// kernels compare what their plans depend on.
    pub(crate) fn write<R>(&self, work: impl FnOnce(&mut Database) -> R) -> R {
        let _closed = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let mut db = lock(&self.db);
        let done = work(&mut db);
        let have_results_changed = self.have_results_changed(&db);
        if self.have_texts_changed(&db) || have_results_changed {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        done
    }

    fn have_texts_changed(&self, db: &Database) -> bool {
        let own = db.workspace().files(db).iter().filter(|file| file.kind(db) != FileKind::Std);
        let now: BTreeMap<String, u64> =
            own.map(|file| (file.path(db).to_owned(), fnv(file.text(db).bytes()))).collect();
        let mut texts = lock(&self.texts);
        // A new file may stand before another one of its name. The texts of `hx.compile` have names that no `use` has.
        let may_be_named = |path: &str| !path.starts_with('<');
        let has_changed = texts.iter().any(|(path, hash)| now.get(path) != Some(hash))
            || now.keys().any(|path| may_be_named(path) && !texts.contains_key(path));
        *texts = now;
        has_changed
    }

    /// Drops the results of tuning whose file has changed.
    fn have_results_changed(&self, db: &Database) -> bool {
        let mut tuned = lock(&self.tuned);
        let count = tuned.len();
        tuned.retain(|place, (text, _)| db.system().read_to_string(place).ok() == *text);
        let have_changed = tuned.len() < count;
        if have_changed {
            self.tuned_version.fetch_add(1, Ordering::AcqRel);
        }
        have_changed
    }

    /// Returns the state of a kernel.
    pub(crate) fn state(&self, path: &str, name: &str, fixed: &[(String, String)]) -> Arc<Mutex<State>> {
        let key = (path.to_owned(), name.to_owned(), fixed.to_vec());
        let mut states = lock(&self.states);
        if states.len() >= MOST_STATES && !states.contains_key(&key) {
            // The program holds no kernel of these.
            states.retain(|_, state| Arc::strong_count(state) > 1);
        }
        Arc::clone(states.entry(key).or_default())
    }

    /// Returns everything that the plans of a file's kernels depend on besides their calls.
    pub(crate) fn identity(&self, db: &Database, file: SourceFile) -> Identity {
        let (path, generation) = (file.path(db), self.generation());
        let tuned = self.tuned_version.load(Ordering::Acquire);
        if let Some((known, text)) = lock(&self.identities).get(path)
            && *known == generation
        {
            return Identity { text: *text, tuned };
        }
        let items = files_named_in(db, file).into_iter().flat_map(|file| file_items(db, file).items.iter());
        let tokens = items.map(|item| reached_tokens(db, *item));
        let text = fnv(tokens.collect::<Vec<String>>().join("\n").bytes());
        lock(&self.identities).insert(path.to_owned(), (generation, text));
        Identity { text, tuned }
    }

    /// Reports whether code of an instance is made for the first time in this process, and counts it. `instance` names the instance, its
    /// text and its machine.
    pub(crate) fn is_new(&self, instance: String, is_cached: bool) -> bool {
        let is_new = lock(&self.compiled).insert(instance);
        if is_new {
            let count = if is_cached { &self.counters.cache_hits } else { &self.counters.compiles };
            count.add();
        }
        is_new
    }

    /// Runs work with a handle of the database on another thread, and releases the interpreter meanwhile. Ctrl-C ends the work
    /// and raises `KeyboardInterrupt`.
    pub(crate) fn interruptible<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Database, Until<'_>) -> R + Send,
    ) -> PyResult<R> {
        raised(py, self.process.begin())?;
        let stop = AtomicBool::new(false);
        let (done, mut wait) = channel();
        std::thread::scope(|scope| {
            let stop = &stop;
            let run = move || {
                let until = Until { stop, deadline: None };
                let result = self.read(|db| until.run(db, |db| work(db, until)));
                // The receiver outlives the thread, so sending cannot fail.
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
                    // Raise the interrupt even if the work ended before it saw the request to stop.
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
                    // The thread panicked. The panic hook has printed a report on standard error.
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

    /// Returns the file with this key.
    ///
    /// # Errors
    /// If the file is not loaded any more.
    pub(crate) fn file(db: &Database, path: &str) -> Result<SourceFile, Problem> {
        db.file(path).ok_or_else(|| {
            Problem::new(Class::File, &codes::FILE_NOT_FOUND, format!("`{path}` is not loaded any more"))
        })
    }

    /// Returns the results of tuning for the kernels of a file: those of its project or folder, and those of the standard library.
    ///
    /// # Errors
    /// If the file of results cannot be read or has errors.
    pub(crate) fn tuned(&self, db: &Database, path: &str) -> Result<Arc<Tuned>, Problem> {
        let place = db.tuned_path(path);
        if let Some((_, known)) = lock(&self.tuned).get(&place) {
            return Ok(known.clone());
        }
        let text = db.system().read_to_string(&place).ok();
        let file = db.tuned(&place).map_err(|error| Problem::open(&error))?;
        if let Some(file) = &file
            && file.diagnostics.iter().any(Diagnostic::is_error)
        {
            return Err(Problem::found(db, Class::Compile, &file.diagnostics));
        }
        let files = file.into_iter().chain([db.results_of_std()]);
        let found = Arc::new(Tuned::new(files.collect()));
        lock(&self.tuned).insert(place, (text, found.clone()));
        Ok(found)
    }
}

/// Returns the files whose items a launch of a file's kernels may name: the file itself, those that it imports from, whose functions may be
/// compile-time arguments, and those of the members of its families; and so on from each of these. A path with `::` among the arguments of
/// a launch may name items of any other file.
fn files_named_in(db: &Database, file: SourceFile) -> Vec<SourceFile> {
    let mut files = vec![file];
    let mut next = 0;
    while let Some(file) = files.get(next).copied() {
        next += 1;
        let imported = imports(db, file).iter().filter_map(|import| {
            Some(match absolute_path(db, file, &import.path.segments)? {
                PathTarget::Item(item) => item.file(db),
                PathTarget::Module(module) => module,
            })
        });
        let kernels = file_items(db, file).kernels();
        let members =
            kernels.flat_map(|kernel| family_of(db, kernel).members.iter().map(|member| member.kernel.file));
        let found: Vec<SourceFile> =
            imported.chain(members).filter(|file| file.kind(db) != FileKind::Std).collect();
        for file in found {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}
