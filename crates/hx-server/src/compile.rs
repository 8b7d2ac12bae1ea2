//! The CUDA compiler, reached through the worker process: PTX, machine code, and the registers of kernels. Runs outside of
//! any snapshot, so that a slow compile keeps no edit waiting.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use hx_ide::CudaText;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{
    Cache, CompileError, CompileJob, Compiled, Compiler, Limits, Want, WorkerClient, disassemble,
};

use crate::protocol::{Emitted, LinePair};
use crate::task::CancelSlot;

/// How long a user waits for code: for the worker to be free, to start, and to compile, and for the disassembler.
const LIMIT: Duration = Duration::from_secs(120);

/// How often somebody who waits for the worker looks whether it is free.
const POLL: Duration = Duration::from_millis(5);

/// The most texts whose registers are remembered.
const MOST_MEASURED: usize = 4096;

/// The registers that the compiler reported, by the text that it compiled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured(Arc<Mutex<BTreeMap<u64, u32>>>);

impl Measured {
    pub(crate) fn get(&self, text: &str) -> Option<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key(text)).copied()
    }

    pub(crate) fn put(&self, text: &str, registers: u32) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_MEASURED {
            known.clear();
        }
        known.insert(key(text), registers);
    }
}

fn key(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The worker process, one compile at a time.
#[derive(Debug, Clone)]
pub(crate) struct CudaCompiler {
    worker: Arc<Mutex<WorkerClient>>,
    /// Users who wait for the worker. Measuring, for which nobody waits, lets them go first.
    users: Arc<AtomicUsize>,
    cache: Option<Cache>,
    limit: Duration,
}

/// A user who waits, while this lives.
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
        CudaCompiler {
            worker: Arc::new(Mutex::new(worker)),
            users: Arc::default(),
            cache: config.cache.clone(),
            limit: LIMIT,
        }
    }

    /// PTX or disassembled machine code of a text.
    pub(crate) fn emit(
        &self,
        cuda: &CudaText,
        stage: &str,
        search: &SearchEnv,
        cancel: &CancelSlot,
    ) -> Result<Emitted, String> {
        let want = if stage == "ptx" { Want::Ptx } else { Want::Cubin };
        let start = Instant::now();
        let waiting = Waiting::begin(&self.users);
        let mut worker = self.worker(&|| self.give_up(start, cancel))?;
        drop(waiting);
        let (compiled, warnings) = self.compile(&mut worker, cuda, want, search, start, cancel)?;
        drop(worker);
        let (text, lines) = if stage == "ptx" {
            // The text ends with a zero byte, as C strings do.
            let text = String::from_utf8_lossy(&compiled.code).trim_end_matches('\0').to_owned();
            let lines = ptx_lines(&text);
            (text, lines)
        } else {
            let left = self.limit.saturating_sub(start.elapsed());
            let limits = Limits { deadline: left, cancelled: &|| cancel.is_cancelled() };
            let listing =
                disassemble(search, &compiled.code, &limits).map_err(|absence| absence.to_string())?;
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

    /// The registers of a thread, as the compiler reports them.
    pub(crate) fn registers(&self, cuda: &CudaText, search: &SearchEnv) -> Option<u32> {
        while self.users.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(POLL);
        }
        let (start, cancel) = (Instant::now(), CancelSlot::default());
        let mut worker = self.worker(&|| self.give_up(start, &cancel)).ok()?;
        let compiled = self.compile(&mut worker, cuda, Want::Cubin, search, start, &cancel);
        let kernels = compiled.ok()?.0.kernels;
        kernels.iter().find(|kernel| kernel.symbol == cuda.symbol).map(|kernel| kernel.registers)
    }

    /// Why somebody who has waited since `start` waits no longer.
    fn give_up(&self, start: Instant, cancel: &CancelSlot) -> Option<String> {
        if cancel.is_cancelled() {
            return Some("the request was withdrawn".to_owned());
        }
        let late = start.elapsed() >= self.limit;
        late.then(|| format!("the CUDA compiler was busy for {} s", self.limit.as_secs_f64()))
    }

    /// The worker, once it is free.
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
        search: &SearchEnv,
        start: Instant,
        cancel: &CancelSlot,
    ) -> Result<(Compiled, Vec<String>), String> {
        let name = format!("{}.cu", cuda.symbol);
        let job = CompileJob { want, ..CompileJob::new(cuda.text.clone(), name, cuda.arch.clone()) };
        let compiler = Compiler::new(search, self.cache.clone());
        let left = self.limit.saturating_sub(start.elapsed());
        let limits = Limits { deadline: left, cancelled: &|| cancel.is_cancelled() };
        match compiler.compile(worker, &job, &limits) {
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

/// Of PTX with `.loc FILE LINE COLUMN` marks: the line of each instruction, from 1.
fn ptx_lines(text: &str) -> Vec<(u32, u32)> {
    let mut at = None;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix(".loc") {
            at = rest.split_whitespace().nth(1).and_then(|line| line.parse().ok());
        } else if let Some(source) = at.filter(|_| line.contains(';') && !line.starts_with(['.', '/'])) {
            // What inline assembly puts in braces ends with one.
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

    /// A compiler whose worker is a script.
    fn scripted(script: &str) -> (CudaCompiler, SearchEnv, CudaText) {
        let command = WorkerCommand::new("/bin/sh").arg("-c").arg(OsString::from(script));
        let compiler = CudaCompiler { limit: LIMIT, ..CudaCompiler::new(&crate::Config::new(command)) };
        // Any file will do: the worker that would load it is a script.
        let library = std::env::current_exe().expect("a test is a file");
        let search = SearchEnv { nvrtc: Some(library), ..SearchEnv::default() };
        let cuda = CudaText {
            kernel: "k".to_owned(),
            text: "text".to_owned(),
            symbol: "k".to_owned(),
            arch: "sm_90a".to_owned(),
            first_line: 0,
        };
        (compiler, search, cuda)
    }

    fn check(script: &str, expected: Expect) {
        let (compiler, search, cuda) = scripted(script);
        let start = Instant::now();
        for stage in ["ptx", "sass"] {
            let emitted = compiler.emit(&cuda, stage, &search, &CancelSlot::default());
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
        let (compiler, search, cuda) = scripted("exec sleep 60");
        let held = compiler.worker(&|| None).expect("it is free");
        let emitted = compiler.emit(&cuda, "ptx", &search, &CancelSlot::default());
        expect!["the CUDA compiler was busy for 0.3 s"].assert_eq(&emitted.err().unwrap_or_default());
        let withdrawn = CancelSlot::default();
        withdrawn.cancel();
        let emitted = compiler.emit(&cuda, "ptx", &search, &withdrawn);
        expect!["the request was withdrawn"].assert_eq(&emitted.err().unwrap_or_default());
        drop(held);
    }
}
