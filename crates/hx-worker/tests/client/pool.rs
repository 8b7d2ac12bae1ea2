//! Tests the pool of compilers. The fake compiler counts its compiles in the folder that the text names, and `meetsN.cu` is
//! finished once N compiles have begun.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hx_worker::toolkit::SearchEnv;
use hx_worker::{Cache, CompileError, CompileJob, Compiler, CompilerPool, Limits, Outcome, WorkerCommand};
use tempfile::TempDir;

use super::SECONDS;

/// A pool with a folder for the fake compiler, and a folder for its counts.
struct Fake {
    folder: TempDir,
    counts: TempDir,
    pool: CompilerPool,
}

/// Makes a pool of at most `most` workers with an empty cache.
fn fake(most: usize) -> Fake {
    let (folder, counts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let library = folder.path().join("libnvrtc.so.13");
    fs::write(&library, "a build of 13.0").unwrap();
    let env = SearchEnv { nvrtc: Some(library), ..SearchEnv::default() };
    let compiler = Compiler::new(&env, Some(Cache::open(folder.path().join("kernels"))));
    let command = WorkerCommand::new(env!("CARGO_BIN_EXE_hx-fake-worker")).arg("gpu");
    Fake { folder, counts, pool: CompilerPool::new(compiler, command, most) }
}

impl Fake {
    /// Compiles `name.cu` for an architecture.
    fn compile(&self, name: &str, arch: &str, limits: &Limits<'_>) -> Result<Outcome, CompileError> {
        let text = self.counts.path().to_str().unwrap();
        self.pool.compile(&CompileJob::of_kernel(text, name, arch), limits)
    }

    /// Returns the number of compiles that have begun.
    fn begun(&self) -> usize {
        files(self.counts.path())
    }

    /// Waits until so many compiles have begun.
    fn await_begun(&self, count: usize) {
        while self.begun() < count {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn texts_are_compiled_at_the_same_time() {
    let fake = fake(3);
    // Each of them is finished only when all three have begun.
    let arches = ["sm_80", "sm_89", "sm_90a"];
    let all = |arch| fake.compile("meets3", arch, &Limits::within(SECONDS));
    thread::scope(|scope| {
        let running = arches.map(|arch| scope.spawn(move || all(arch)));
        for thread in running {
            assert!(thread.join().unwrap().is_ok());
        }
    });
    assert_eq!(fake.begun(), 3);
}

#[test]
fn one_text_is_compiled_once() {
    let fake = fake(4);
    let compile = || fake.compile("meets1", "sm_90a", &Limits::within(SECONDS)).unwrap().compiled;
    let codes = thread::scope(|scope| {
        let running = [(); 8].map(|()| scope.spawn(compile));
        running.map(|thread| thread.join().unwrap())
    });
    assert!(codes.iter().all(|code| *code == codes[0]));
    assert_eq!(
        (fake.begun(), files(&fake.folder.path().join("kernels"))),
        (1, 2),
        "one entry and the compiler's hash"
    );
}

#[test]
fn a_caller_that_gives_up_leaves_the_job_to_the_others() {
    let fake = fake(2);
    let given_up = AtomicBool::new(false);
    thread::scope(|scope| {
        let leads = scope.spawn(|| {
            let cancelled = || given_up.load(Ordering::Relaxed);
            fake.compile("meets2", "sm_90a", &Limits { deadline: SECONDS, cancelled: &cancelled })
        });
        fake.await_begun(1);
        let follows = scope.spawn(|| fake.compile("meets2", "sm_90a", &Limits::within(SECONDS)));
        given_up.store(true, Ordering::Relaxed);
        assert_eq!(leads.join().unwrap().unwrap_err().to_string(), "cancelled while compiling `meets2.cu`");
        assert!(follows.join().unwrap().is_ok());
    });
    assert_eq!(fake.begun(), 2);
}

#[test]
fn a_full_pool_makes_callers_wait_within_their_limits() {
    let fake = fake(1);
    let error = |result: Result<Outcome, CompileError>| result.unwrap_err().to_string();
    thread::scope(|scope| {
        let busy = scope.spawn(|| fake.compile("meets2", "sm_80", &Limits::within(SECONDS)));
        fake.await_begun(1);
        let moment = Limits::within(Duration::from_millis(50));
        assert_eq!(
            error(fake.compile("meets2", "sm_90a", &moment)),
            "the worker gave no answer within 50ms while waiting to compile `meets2.cu` and was stopped"
        );
        let give_up = Limits { deadline: SECONDS, cancelled: &|| true };
        assert_eq!(
            error(fake.compile("meets2", "sm_90a", &give_up)),
            "cancelled while waiting to compile `meets2.cu`"
        );
        fs::write(fake.counts.path().join("another"), "").unwrap();
        assert!(busy.join().unwrap().is_ok());
    });
    assert!(fake.compile("meets1", "sm_90a", &Limits::within(SECONDS)).is_ok());
}

#[test]
fn a_compiler_that_crashes_ends_one_compile() {
    let fake = fake(1);
    let error = fake.compile("compiler_crash", "sm_90a", &Limits::within(SECONDS)).unwrap_err();
    assert!(matches!(error, CompileError::Worker(_)), "{error}");
    assert!(fake.compile("meets1", "sm_90a", &Limits::within(SECONDS)).is_ok());
}
