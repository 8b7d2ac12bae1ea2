//! The CUDA compiler, reached through the worker process: PTX, machine code, and the registers of kernels. Runs outside of
//! any snapshot, so that a slow compile keeps no edit waiting.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hx_ide::CudaText;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{
    Cache, CompileError, CompileJob, Compiled, Compiler, Limits, Want, WorkerClient, disassemble,
};

use crate::protocol::{Emitted, LinePair};
use crate::task::CancelSlot;

/// How long the CUDA compiler may take.
const LIMIT: Duration = Duration::from_secs(120);

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
    cache: Option<Cache>,
}

impl CudaCompiler {
    pub(crate) fn new(config: &crate::Config) -> CudaCompiler {
        let worker = WorkerClient::new(config.worker.clone());
        CudaCompiler { worker: Arc::new(Mutex::new(worker)), cache: config.cache.clone() }
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
        let (compiled, warnings) = self.compile(cuda, want, search, cancel)?;
        let (text, lines) = if stage == "ptx" {
            // The text ends with a zero byte, as C strings do.
            let text = String::from_utf8_lossy(&compiled.code).trim_end_matches('\0').to_owned();
            let lines = ptx_lines(&text);
            (text, lines)
        } else {
            let listing = disassemble(search, &compiled.code).map_err(|absence| absence.to_string())?;
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
        let (compiled, _) = self.compile(cuda, Want::Cubin, search, &CancelSlot::default()).ok()?;
        compiled.kernels.iter().find(|kernel| kernel.symbol == cuda.symbol).map(|kernel| kernel.registers)
    }

    fn compile(
        &self,
        cuda: &CudaText,
        want: Want,
        search: &SearchEnv,
        cancel: &CancelSlot,
    ) -> Result<(Compiled, Vec<String>), String> {
        let name = format!("{}.cu", cuda.symbol);
        let job = CompileJob { want, ..CompileJob::new(cuda.text.clone(), name, cuda.arch.clone()) };
        let compiler = Compiler::new(search, self.cache.clone());
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = Limits { deadline: LIMIT, cancelled: &|| cancel.is_cancelled() };
        match compiler.compile(&mut worker, &job, &limits) {
            Ok(outcome) => {
                Ok((outcome.compiled, outcome.cache_warnings.iter().map(ToString::to_string).collect()))
            }
            Err(CompileError::Refused { log, .. }) => {
                Err(format!("the CUDA compiler refused the generated text, which is a bug of hx:\n{log}"))
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
