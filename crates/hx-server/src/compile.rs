//! Calls the CUDA compiler through the worker process: PTX, machine code, and the registers of kernels. A compile holds no
//! snapshot, so a slow one delays no edit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use hx_ide::CudaText;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{
    Cache, CompileError, CompileJob, Compiled, Compiler, CompilerId, Limits, Want, WorkerClient, disassemble,
};

use crate::cancel::CancelSlot;
use crate::protocol::{Emitted, LinePair};

/// Time limit of a request for code. It includes the wait for the worker, its start, the compile, and the disassembler.
const LIMIT: Duration = Duration::from_secs(120);

/// Interval at which a waiting request checks whether the worker is free.
const POLL: Duration = Duration::from_millis(5);

/// The maximal number of texts whose registers are remembered. Above it, all are forgotten.
const MOST_SEEN: usize = 4096;

/// The search paths of a file's CUDA compiler, and the cache for its output.
#[derive(Debug, Clone)]
pub(crate) struct Toolchain {
    pub(crate) search: SearchEnv,
    pub(crate) cache: Option<Cache>,
}

impl Toolchain {
    fn compiler(&self) -> Compiler {
        Compiler::new(&self.search, self.cache.clone())
    }

    /// Reports whether the CUDA compiler was found.
    pub(crate) fn has_compiler(&self) -> bool {
        self.compiler().nvrtc().is_ok()
    }
}

/// The registers that ptxas reported for texts that this process compiled or found in the cache.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<BTreeMap<String, u32>>>);

/// Returns registers without compiling: from this process's memory, or from the cache on disk. Loads and starts nothing, so it is
/// cheap enough for every opened file.
#[derive(Debug, Clone)]
pub(crate) struct Reports {
    seen: Seen,
    compiler: Compiler,
    fingerprint: Option<CompilerId>,
}

impl Seen {
    /// Returns the reports for a toolchain.
    pub(crate) fn reports(&self, toolchain: &Toolchain) -> Reports {
        let compiler = toolchain.compiler();
        Reports { seen: self.clone(), fingerprint: compiler.fingerprint(), compiler }
    }
}

impl Reports {
    pub(crate) fn get(&self, cuda: &CudaText) -> Option<u32> {
        let key = self.key(cuda);
        if let Some(known) = key.as_ref().and_then(|key| self.known().get(key).copied()) {
            return Some(known);
        }
        let registers = self.compiler.cached(&job(cuda, Want::Cubin))?.kernel(&cuda.symbol)?.registers;
        self.put(cuda, registers);
        Some(registers)
    }

    pub(crate) fn put(&self, cuda: &CudaText, registers: u32) {
        let Some(key) = self.key(cuda) else { return };
        let mut known = self.known();
        if known.len() >= MOST_SEEN {
            known.clear();
        }
        known.insert(key, registers);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the key under which a text's registers are remembered, made of text, architecture, options and compiler. `None`
    /// without a compiler: nothing is remembered, and the disk cache is read each time.
    fn key(&self, cuda: &CudaText) -> Option<String> {
        Some(Cache::key(&job(cuda, Want::Cubin), self.fingerprint.as_ref()?))
    }
}

fn job(cuda: &CudaText, want: Want) -> CompileJob {
    CompileJob { want, ..CompileJob::of_kernel(cuda.text.clone(), &cuda.symbol, cuda.target.clone()) }
}

/// The worker process. It runs one compile at a time.
#[derive(Debug, Clone)]
pub(crate) struct CudaCompiler {
    worker: Arc<Mutex<WorkerClient>>,
    /// Number of users who wait for the worker. Measuring registers lets them go first, because nobody waits for it.
    users: Arc<AtomicUsize>,
    limit: Duration,
}

/// Counts a waiting user for as long as this value lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(users: &'a AtomicUsize) -> Waiting<'a> {
        users.fetch_add(1, Ordering::SeqCst);
        Waiting(users)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl CudaCompiler {
    pub(crate) fn new(config: &crate::Config) -> CudaCompiler {
        let worker = WorkerClient::new(config.worker.clone());
        CudaCompiler { worker: Arc::new(Mutex::new(worker)), users: Arc::default(), limit: LIMIT }
    }

    /// Returns the PTX of a text if `stage` is `ptx`, otherwise the disassembled machine code.
    ///
    /// # Errors
    /// The reason as text, if the request was withdrawn, the worker stays busy until the time limit, or the compile or the
    /// disassembly fails.
    pub(crate) fn emit(
        &self,
        cuda: &CudaText,
        stage: &str,
        toolchain: &Toolchain,
        cancel: &CancelSlot,
    ) -> Result<Emitted, String> {
        let want = if stage == "ptx" { Want::Ptx } else { Want::Cubin };
        let start = Instant::now();
        let waiting = Waiting::begin(&self.users);
        let mut worker = self.worker(&|| self.give_up(start, cancel))?;
        drop(waiting);
        let (compiled, warnings) = self.compile(&mut worker, cuda, want, toolchain, start, cancel)?;
        drop(worker);
        let (text, lines) = if stage == "ptx" {
            // NVRTC ends the PTX text with a zero byte, as C strings do.
            let text = String::from_utf8_lossy(&compiled.code).trim_end_matches('\0').to_owned();
            let lines = ptx_lines(&text);
            (text, lines)
        } else {
            let left = self.limit.saturating_sub(start.elapsed());
            let limits = Limits { deadline: left, cancelled: &|| cancel.is_cancelled() };
            let listing = disassemble(&toolchain.search, &compiled.code, &limits)
                .map_err(|absence| absence.to_string())?;
            let first = listing.preface().len();
            let numbered = (first as u32..).zip(&listing.lines);
            let lines = numbered.filter_map(|(number, line)| Some((number, line.source?))).collect();
            (listing.text(), lines)
        };
        let pair = |(emitted, source): (u32, u32)| LinePair {
            emitted,
            source: cuda.first_line + source.saturating_sub(1),
        };
        Ok(Emitted {
            kernel: cuda.kernel.clone(),
            stage: stage.to_owned(),
            language: stage.to_owned(),
            text,
            lines: lines.into_iter().map(pair).collect(),
            warnings,
        })
    }

    /// Returns the registers per thread, as the compiler reports them; `None` if the text cannot be compiled within the time
    /// limit.
    pub(crate) fn registers(&self, cuda: &CudaText, toolchain: &Toolchain) -> Option<u32> {
        while self.users.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(POLL);
        }
        let (start, cancel) = (Instant::now(), CancelSlot::default());
        let mut worker = self.worker(&|| self.give_up(start, &cancel)).ok()?;
        let (compiled, _) = self.compile(&mut worker, cuda, Want::Cubin, toolchain, start, &cancel).ok()?;
        compiled.kernel(&cuda.symbol).map(|kernel| kernel.registers)
    }

    /// Returns a reason to give up for a request that has waited since `start`, or `None` if it should continue to wait.
    fn give_up(&self, start: Instant, cancel: &CancelSlot) -> Option<String> {
        if cancel.is_cancelled() {
            return Some("the request was withdrawn".to_owned());
        }
        let late = start.elapsed() >= self.limit;
        late.then(|| format!("the CUDA compiler was busy for {} s", self.limit.as_secs_f64()))
    }

    /// Waits until the worker is free, and locks it.
    ///
    /// # Errors
    /// The reason that `give_up` returns, which is called at each interval.
    fn worker(&self, give_up: &dyn Fn() -> Option<String>) -> Result<MutexGuard<'_, WorkerClient>, String> {
        loop {
            match self.worker.try_lock() {
                Ok(worker) => return Ok(worker),
                Err(TryLockError::Poisoned(worker)) => return Ok(worker.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if let Some(reason) = give_up() {
                return Err(reason);
            }
            std::thread::sleep(POLL);
        }
    }

    fn compile(
        &self,
        worker: &mut WorkerClient,
        cuda: &CudaText,
        want: Want,
        toolchain: &Toolchain,
        start: Instant,
        cancel: &CancelSlot,
    ) -> Result<(Compiled, Vec<String>), String> {
        let compiler = toolchain.compiler();
        let left = self.limit.saturating_sub(start.elapsed());
        let limits = Limits { deadline: left, cancelled: &|| cancel.is_cancelled() };
        match compiler.compile(worker, &job(cuda, want), &limits) {
            Ok(outcome) => {
                Ok((outcome.compiled, outcome.cache_warnings.iter().map(ToString::to_string).collect()))
            }
            Err(CompileError::Refused { log, .. }) => {
                Err(format!("the CUDA compiler refused the generated text, which is a bug of hx:\n{log}"))
            }
            Err(_) if start.elapsed() >= self.limit => {
                let limit = self.limit.as_secs_f64();
                Err(format!("the CUDA compiler gave no answer within {limit} s, and was stopped"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns pairs of a PTX line (from 0) with an instruction and its source line (from 1), from `.loc FILE LINE COLUMN` marks.
fn ptx_lines(text: &str) -> Vec<(u32, u32)> {
    let mut at = None;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix(".loc") {
            at = rest.split_whitespace().nth(1).and_then(|line| line.parse().ok());
        } else if let Some(source) = at.filter(|_| line.contains(';') && !line.starts_with(['.', '/'])) {
            // Instructions of inline assembly in braces end with `;` as well.
            lines.push((number as u32, source));
        }
    }
    lines
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsString;

    use expect_test::{Expect, expect};
    use hx_worker::WorkerCommand;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(300);

    /// Returns a compiler whose worker is a shell script.
    fn scripted(script: &str) -> (CudaCompiler, Toolchain, CudaText) {
        let command = WorkerCommand::new("/bin/sh").arg("-c").arg(OsString::from(script));
        let compiler = CudaCompiler { limit: LIMIT, ..CudaCompiler::new(&crate::Config::new(command)) };
        // The path needs to exist, but is never loaded: the script replaces the worker that would load it.
        let library = std::env::current_exe().expect("a test is a file");
        let search = SearchEnv { nvrtc: Some(library), ..SearchEnv::default() };
        let cuda = CudaText {
            kernel: "k".to_owned(),
            text: "text".to_owned(),
            symbol: "k".to_owned(),
            target: "sm_90a".to_owned(),
            first_line: 0,
        };
        (compiler, Toolchain { search, cache: None }, cuda)
    }

    fn check(script: &str, expected: Expect) {
        let (compiler, toolchain, cuda) = scripted(script);
        let start = Instant::now();
        for stage in ["ptx", "sass"] {
            let emitted = compiler.emit(&cuda, stage, &toolchain, &CancelSlot::default());
            expected.assert_eq(&emitted.map_or_else(|error| error, |emitted| emitted.text));
        }
        assert!(start.elapsed() < 10 * LIMIT, "{:?}", start.elapsed());
    }

    #[test]
    fn a_worker_that_is_stopped_ends_with_the_deadline() {
        check("kill -STOP $$", expect!["the CUDA compiler gave no answer within 0.3 s, and was stopped"]);
    }

    #[test]
    fn a_worker_that_says_nothing_ends_with_the_deadline() {
        check("exec sleep 60", expect!["the CUDA compiler gave no answer within 0.3 s, and was stopped"]);
    }

    #[test]
    fn a_worker_that_is_busy_keeps_nobody_longer_than_the_deadline() {
        let (compiler, toolchain, cuda) = scripted("exec sleep 60");
        let held = compiler.worker(&|| None).expect("it is free");
        let emitted = compiler.emit(&cuda, "ptx", &toolchain, &CancelSlot::default());
        expect!["the CUDA compiler was busy for 0.3 s"].assert_eq(&emitted.err().unwrap_or_default());
        let withdrawn = CancelSlot::default();
        withdrawn.cancel();
        let emitted = compiler.emit(&cuda, "ptx", &toolchain, &withdrawn);
        expect!["the request was withdrawn"].assert_eq(&emitted.err().unwrap_or_default());
        drop(held);
    }
}
