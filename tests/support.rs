//! Helpers that the suites share: the built command, a folder to run it in, skips, and random numbers.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use expect_test::Expect;
use hx_target::Feature;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{Compiler, Limits, WorkerClient, WorkerCommand};

/// A limit far above the time of any compile, also on a machine with ten builds, where some took two minutes.
pub(crate) const LIMITS: Limits<'static> =
    Limits { deadline: Duration::from_secs(1200), cancelled: &|| false };

/// Returns the root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is a folder of the project").to_owned()
}

/// The folders of kernels that need a feature.
pub(crate) const NEWER: [(Feature, &str); 2] =
    [(Feature::Fp8, "tests/kernels_sm_89"), (Feature::GroupProducts, "tests/kernels_sm_90a")];

/// A target of each generation that the library was made on.
pub(crate) const GENERATIONS: [&str; 3] = ["sm_80", "sm_89", "sm_90a"];

/// Returns the files of the standard library whose kernels compile for an architecture, as in `std/norm.hx`. Those with roles
/// need the feature.
pub(crate) fn std_files(target: hx_target::Target) -> Vec<String> {
    let entries = std::fs::read_dir(root().join("std")).expect("there is a standard library");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "hx"));
    files.sort();
    // Roles, and stores by boxes.
    let of_hopper = ["    warp_groups {", "    copy_async(sc, tile(c"];
    let needs_hopper = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("a text in UTF-8");
        of_hopper.iter().any(|part| text.contains(part))
    };
    let compile = files.iter().filter(|file| target.has(Feature::Roles) || !needs_hopper(file));
    let names = compile.filter_map(|file| file.file_name()).map(|name| name.to_string_lossy());
    names.map(|name| format!("std/{name}")).collect()
}

/// Returns the command that was built beside this program.
pub(crate) fn hx() -> PathBuf {
    let here = std::env::current_exe().expect("this program has a path");
    let folder = here.ancestors().nth(2).expect("it lies in target/PROFILE/deps");
    let hx = folder.join(format!("hx{}", std::env::consts::EXE_SUFFIX));
    assert!(
        hx.exists(),
        "`{}` is not built: `cargo build -p hx` does, and so does `cargo xtask test`",
        hx.display()
    );
    hx
}

/// Returns the user's settings that tests remove: every `HX_*` variable except the place of the CUDA compiler.
pub(crate) fn own_variables() -> impl Iterator<Item = std::ffi::OsString> {
    let is_ours = |name: &str| name.starts_with("HX_") && name != "HX_DATA_DIR";
    std::env::vars_os().map(|(name, _)| name).filter(move |name| is_ours(&name.to_string_lossy()))
}

/// A fresh folder with files, in which the command runs without the user's settings.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

/// The exit code and output of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    pub(crate) fn with(file: &str, text: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write(file, text.as_bytes());
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        std::fs::write(path, bytes).expect("files can be written");
    }

    /// Returns the command with arguments: without colour, with its own cache and state, and without `HX_*` variables except the
    /// given ones and the one with the place of the fetched CUDA compiler.
    pub(crate) fn command(&self, args: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(hx());
        own_variables().for_each(|name| {
            command.env_remove(name);
        });
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("HX_CACHE_DIR", self.path("cache")).env("HX_STATE_DIR", self.path("state"));
        command.env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value))));
        command
    }

    /// Runs the command to its end. Replaces the paths of the folder and of the project by `$DIR` and `$ROOT`.
    pub(crate) fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let output = self.command(args, variables).output().expect("the command starts");
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let text = text.replace(&self.folder.path().display().to_string(), "$DIR");
            text.replace(&root().display().to_string(), "$ROOT")
        };
        let code = output.status.code().unwrap_or(-1);
        Ran { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }
}

impl Ran {
    /// Formats the run as a text: its exit code, then stdout and stderr unless they are empty.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("exit {}\n", self.code);
        for (name, said) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !said.is_empty() {
                let _ = write!(text, "--- {name}\n{said}");
            }
        }
        text
    }

    pub(crate) fn check(&self, expected: Expect) {
        assert_ne!(self.code, 101, "the compiler panicked\n{}", self.text());
        expected.assert_eq(&self.text());
    }
}

/// Returns a compiler without a cache and its worker process. `None` if the library is missing, after printing the reason.
pub(crate) fn compiler(test: &str) -> Option<(Compiler, WorkerClient)> {
    let compiler = Compiler::new(&search_env(), None);
    match compiler.nvrtc() {
        Ok(_) => Some((compiler, WorkerClient::new(WorkerCommand::new(hx()).arg("worker")))),
        Err(absence) => {
            skip(test, &absence.to_string(), "HX_REQUIRE_NVRTC");
            None
        }
    }
}

/// Returns the search paths of the CUDA compiler and the disassembler.
pub(crate) fn search_env() -> SearchEnv {
    SearchEnv::of_process()
}

/// Prints why a test is skipped on stderr directly, because the test harness captures normal output. `required_by` is the variable
/// that makes the skip a failure; `cargo xtask test` groups skips by it.
pub(crate) fn skip(test: &str, reason: &str, required_by: &str) {
    use std::io::Write as _;
    let required = std::env::var_os(required_by).is_some_and(|value| value == "1");
    assert!(!required, "{required_by} is set, but {reason}");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason} ({required_by})");
}

/// Returns the number of threads that this machine runs at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns how many times longer than alone a thread takes now, because others use the processors: 1 on an idle machine. Limits
/// of answers that a user waits for are multiplied by it.
pub(crate) fn busy() -> u32 {
    // The first number is the time in nanoseconds that the thread has run.
    let ran = || -> Option<u128> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    };
    let (start, before) = (Instant::now(), ran());
    while start.elapsed() < Duration::from_millis(300) {
        std::hint::spin_loop();
    }
    let (Some(before), Some(after)) = (before, ran()) else { return 1 };
    let ran = (after - before).max(1);
    u32::try_from((start.elapsed().as_nanos() + ran / 2) / ran).unwrap_or(u32::MAX).clamp(1, 100)
}

/// Random numbers from a seed (SplitMix64).
pub(crate) struct Random(u64);

/// Returns the seed of this run: `HX_TEST_SEED`, or a fixed one.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("HX_TEST_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(20_260)
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Returns a roughly normal number with variance 1: the sum of twelve uniform numbers, shifted to mean 0.
    pub(crate) fn normal(&mut self) -> f64 {
        let unit = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        (0..12).map(|_| unit(self.next())).sum::<f64>() - 6.0
    }
}
