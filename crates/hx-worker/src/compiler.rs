//! Compiles through the cache. A hit starts neither the worker nor the compiler.
//!
//! Start at [`Compiler::compile`].

use crate::cache::{Cache, CacheWarning, CompilerId, Lookup};
use crate::client::WorkerClient;
use crate::error::WorkerError;
use crate::limits::Limits;
use crate::protocol::{Absence, CompileJob, Compiled, NvrtcFiles, RemoteError};
use crate::toolkit::{SearchEnv, find_nvrtc};

/// The compiler library, if it is found, with a cache in front of it.
#[derive(Debug, Clone)]
pub struct Compiler {
    nvrtc: Result<NvrtcFiles, Absence>,
    cache: Option<Cache>,
}

/// Compiled code and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The code, with the log and the resources of its kernels.
    pub compiled: Compiled,
    /// Whether the code came from the cache.
    pub from_cache: bool,
    /// The operations of the cache that failed; the code is right nevertheless.
    pub cache_warnings: Vec<CacheWarning>,
}

/// The reason why there is no compiled code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// No compiler is installed, and the cache does not have the code.
    #[error("{0}")]
    Absent(Absence),
    /// The compiler refused the text. Generated text must never cause this.
    #[error("the CUDA compiler refused `{file_name}` ({status})")]
    Refused {
        /// [`CompileJob::file_name`].
        file_name: String,
        /// The compiler's name for the failure.
        status: String,
        /// The compiler's log, unchanged.
        log: String,
    },
    /// The worker crashed, ran out of time or was cancelled.
    #[error("{0}")]
    Worker(WorkerError),
}

impl Compiler {
    /// Makes a compiler with the library that `env` finds. Without a cache, everything is compiled anew.
    pub fn new(env: &SearchEnv, cache: Option<Cache>) -> Compiler {
        Compiler { nvrtc: find_nvrtc(env), cache }
    }

    /// Returns the library.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn nvrtc(&self) -> Result<&NvrtcFiles, &Absence> {
        self.nvrtc.as_ref()
    }

    /// Returns the cache, if there is one.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Returns an id that distinguishes this compiler from others as long as its files do not change. It does not read them.
    /// `None` if there is no compiler.
    pub fn fingerprint(&self) -> Option<CompilerId> {
        let nvrtc = self.nvrtc.as_ref().ok()?;
        crate::cache::fingerprint(nvrtc)
    }

    /// Returns the cached code of a job, which [`Compiler::compile`] would return without compiling. Loads and starts nothing. It
    /// does not even hash the libraries: a compiler whose hash is not remembered has put nothing into the cache.
    pub fn cached(&self, job: &CompileJob) -> Option<Compiled> {
        let cache = self.cache.as_ref()?;
        let compilers = match &self.nvrtc {
            Ok(nvrtc) => cache.remembered_id(nvrtc).into_iter().collect(),
            Err(_) => cache.known_compilers(),
        };
        // The warnings are dropped here, because compiling or launching reports them.
        look_up(cache, job, &compilers, &mut Vec::new())
    }

    /// Compiles a job, or finds it in the cache.
    ///
    /// If there is no compiler, code of any compiler in the cache is used, so that a kernel that was compiled once still runs.
    ///
    /// # Errors
    /// If the code is not in the cache and there is no compiler, the compiler refuses the text, or the worker fails.
    pub fn compile(
        &self,
        worker: &mut WorkerClient,
        job: &CompileJob,
        limits: &Limits<'_>,
    ) -> Result<Outcome, CompileError> {
        match self.look_up(job) {
            Ok(outcome) => Ok(outcome),
            Err(searched) => {
                let nvrtc = self.nvrtc().map_err(|absence| CompileError::Absent(absence.clone()))?;
                self.compile_with(worker, nvrtc, job, limits, searched)
            }
        }
    }

    /// Finds a job in the cache.
    ///
    /// # Errors
    /// If there is no entry: what the search found out, for [`Compiler::compile_with`].
    pub(crate) fn look_up(&self, job: &CompileJob) -> Result<Outcome, Searched> {
        let mut searched = Searched::default();
        let Some(cache) = &self.cache else { return Err(searched) };
        let compilers = match &self.nvrtc {
            Ok(nvrtc) => match cache.compiler_id(nvrtc) {
                Ok((found, unremembered)) => {
                    searched.id = Some((found.clone(), unremembered));
                    vec![found]
                }
                Err(warning) => {
                    searched.warnings.push(warning);
                    Vec::new()
                }
            },
            Err(_) => cache.known_compilers(),
        };
        match look_up(cache, job, &compilers, &mut searched.warnings) {
            Some(compiled) => Ok(Outcome { compiled, from_cache: true, cache_warnings: searched.warnings }),
            None => Err(searched),
        }
    }

    /// Compiles a job that is not in the cache, and puts it there.
    pub(crate) fn compile_with(
        &self,
        worker: &mut WorkerClient,
        nvrtc: &NvrtcFiles,
        job: &CompileJob,
        limits: &Limits<'_>,
        searched: Searched,
    ) -> Result<Outcome, CompileError> {
        let compiled = worker.compile(nvrtc, job, limits).map_err(|error| match error {
            WorkerError::Remote(RemoteError::Refused { status, log }) => {
                CompileError::Refused { file_name: job.file_name.clone(), status, log }
            }
            WorkerError::Remote(RemoteError::Absent(absence)) => CompileError::Absent(absence),
            other => CompileError::Worker(other),
        })?;
        let Searched { id, warnings: mut cache_warnings } = searched;
        if let (Some(cache), Some((id, unremembered))) = (&self.cache, id) {
            let stored = cache.put(&Cache::key(job, &id), job.want, &compiled);
            // Both fail for the same reason, so one warning suffices.
            let failed = stored.err().or(unremembered);
            cache_warnings.extend(failed.filter(|warning| !cache_warnings.contains(warning)));
        }
        Ok(Outcome { compiled, from_cache: false, cache_warnings })
    }
}

/// The findings of a search in the cache that found no entry.
#[derive(Debug, Default)]
pub(crate) struct Searched {
    /// The compiler's id, with the reason if it could not be remembered; `None` without a cache or a readable compiler.
    id: Option<(CompilerId, Option<CacheWarning>)>,
    warnings: Vec<CacheWarning>,
}

/// Returns the first entry of a job among those of these compilers.
fn look_up(
    cache: &Cache,
    job: &CompileJob,
    compilers: &[CompilerId],
    warnings: &mut Vec<CacheWarning>,
) -> Option<Compiled> {
    for compiler in compilers {
        match cache.get(&Cache::key(job, compiler)) {
            Lookup::Hit(compiled) => return Some(*compiled),
            Lookup::Miss => {}
            Lookup::Damaged(warning) | Lookup::Foreign(warning) => warnings.push(warning),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiler is a mere file here, and the cache is filled beforehand.
    #[test]
    fn the_cache_answers_without_touching_the_compiler() {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("libnvrtc.so.13");
        std::fs::write(&library, "a build of 13.0").unwrap();
        let env = SearchEnv { nvrtc: Some(library.clone()), ..SearchEnv::default() };
        let folder = dir.path().join("kernels");
        let cache = Cache::open(&folder);
        let compiler = Compiler::new(&env, Some(cache.clone()));
        let job = CompileJob::of_kernel("text", "k", "sm_90a");
        // The lookup hashes nothing and writes nothing.
        assert_eq!(compiler.cached(&job), None);
        assert!(!folder.exists());
        let log =
            "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Used 47 registers\n";
        let compiled = Compiled {
            code: vec![1],
            log: log.to_owned(),
            kernels: crate::log::kernel_resources(log),
            warnings: Vec::new(),
            nvrtc_version: (13, 0),
        };
        let (id, _) = cache.compiler_id(compiler.nvrtc().unwrap()).unwrap();
        cache.put(&Cache::key(&job, &id), job.want, &compiled).unwrap();
        let registers =
            |compiler: &Compiler, job: &CompileJob| Some(compiler.cached(job)?.kernel("k")?.registers);
        assert_eq!(registers(&compiler, &job), Some(47));
        // A job with another text, architecture or compiler finds no cached kernel.
        for other in [("texts", "sm_90a"), ("text", "sm_80")] {
            assert_eq!(registers(&compiler, &CompileJob::of_kernel(other.0, "k", other.1)), None);
        }
        std::fs::write(&library, "another build of 13.0").unwrap();
        assert_eq!(registers(&Compiler::new(&env, Some(cache.clone())), &job), None);
        assert_ne!(Compiler::new(&env, None).fingerprint(), None);
        // Without a compiler, cached kernels of any compiler run, so their resources are shown too.
        let none = SearchEnv { nvrtc: Some("/nowhere".into()), ..SearchEnv::default() };
        assert_eq!(registers(&Compiler::new(&none, Some(cache)), &job), Some(47));
    }
}
