//! Compiling through the cache: a hit starts neither the worker nor the compiler.
//!
//! Start at [`Compiler::compile`].

use crate::cache::{Cache, CacheWarning, Lookup};
use crate::client::{Limits, WorkerClient};
use crate::error::WorkerError;
use crate::protocol::{Absence, CompileJob, Compiled, NvrtcFiles, RemoteError};
use crate::toolkit::{SearchEnv, find_nvrtc};

/// The compiler library, wherever it is, with a cache in front of it.
#[derive(Debug, Clone)]
pub struct Compiler {
    nvrtc: Result<NvrtcFiles, Absence>,
    cache: Option<Cache>,
}

/// Compiled code and how it was come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The code.
    pub compiled: Compiled,
    /// True when the cache had it.
    pub from_cache: bool,
    /// What the cache could not do.
    pub cache_warnings: Vec<CacheWarning>,
}

/// Why there is no compiled code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// There is no compiler.
    #[error("{0}")]
    Absent(Absence),
    /// The compiler refused the text; generated text must not come to that.
    #[error("the CUDA compiler refused `{file_name}` ({status})")]
    Refused {
        /// The name in the job.
        file_name: String,
        /// The compiler's name of the failure.
        status: String,
        /// Its log.
        log: String,
    },
    /// The worker failed.
    #[error("{0}")]
    Worker(WorkerError),
}

impl Compiler {
    /// A compiler found by `env`; without a cache, everything is compiled anew.
    pub fn new(env: &SearchEnv, cache: Option<Cache>) -> Compiler {
        Compiler { nvrtc: find_nvrtc(env), cache }
    }

    /// The library, or why there is none.
    pub fn nvrtc(&self) -> Result<&NvrtcFiles, &Absence> {
        self.nvrtc.as_ref()
    }

    /// The cache, when there is one.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Compiles a job, or finds it in the cache.
    ///
    /// Where there is no compiler, what any compiler left in the cache is used: a kernel once compiled runs on.
    pub fn compile(
        &self,
        worker: &mut WorkerClient,
        job: &CompileJob,
        limits: &Limits<'_>,
    ) -> Result<Outcome, CompileError> {
        let mut cache_warnings = Vec::new();
        let mut id = None;
        if let Some(cache) = &self.cache {
            let compilers = match &self.nvrtc {
                Ok(nvrtc) => match cache.compiler_id(nvrtc) {
                    Ok((found, unremembered)) => {
                        id = Some((found.clone(), unremembered));
                        vec![found]
                    }
                    Err(warning) => {
                        cache_warnings.push(warning);
                        Vec::new()
                    }
                },
                Err(_) => cache.known_compilers(),
            };
            for compiler in &compilers {
                match cache.get(&Cache::key(job, compiler)) {
                    Lookup::Hit(compiled) => {
                        return Ok(Outcome { compiled: *compiled, from_cache: true, cache_warnings });
                    }
                    Lookup::Miss => {}
                    Lookup::Damaged(warning) | Lookup::Foreign(warning) => cache_warnings.push(warning),
                }
            }
        }
        let nvrtc = self.nvrtc.as_ref().map_err(|absence| CompileError::Absent(absence.clone()))?;
        let compiled = worker.compile(nvrtc, job, limits).map_err(|error| match error {
            WorkerError::Remote(RemoteError::Refused { status, log }) => {
                CompileError::Refused { file_name: job.file_name.clone(), status, log }
            }
            WorkerError::Remote(RemoteError::Absent(absence)) => CompileError::Absent(absence),
            other => CompileError::Worker(other),
        })?;
        if let (Some(cache), Some((id, unremembered))) = (&self.cache, id) {
            let stored = cache.put(&Cache::key(job, &id), job.want, &compiled);
            // Both fail for the same reason; once is enough.
            let failed = stored.err().or(unremembered);
            cache_warnings.extend(failed.filter(|warning| !cache_warnings.contains(warning)));
        }
        Ok(Outcome { compiled, from_cache: false, cache_warnings })
    }
}
