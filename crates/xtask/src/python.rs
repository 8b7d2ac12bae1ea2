//! `cargo xtask python`: builds the wheel, installs it into a fresh environment, and tests it there: the tests of `crates/hx-python`, and
//! its type stubs.
//!
//! The tools come from the Python on `PATH`; the fresh environment sees them behind its own packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use crate::counts::Counts;
use crate::{complain, root, say, wheel};

/// The modules that the tests need. Other modules, such as PyTorch, are optional: without them the tests that use them are
/// skipped.
const MODULES: [&str; 4] = ["maturin", "mypy", "numpy", "pytest"];
/// The folder of the tests.
const TESTS: &str = "crates/hx-python/tests";
/// The variable that makes a missing tool a failure.
const REQUIRED: &str = "HX_REQUIRE_WHEEL";

/// The checks of the stubs, each with the arguments of Python.
const CHECKS: [(&str, &[&str]); 2] = [
    ("types", &["-m", "mypy", "--strict", "--package", "hx"]),
    ("stubs", &["-m", "mypy.stubtest", "hx._hx", "--ignore-disjoint-bases"]),
];

/// Builds and tests the wheel, and prints the counts.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(arg) = args.first() {
        return Err(format!("`{arg}` is not understood, there are no arguments"));
    }
    let counts = counts()?;
    let summary = counts.summary();
    if counts.failed > 0 {
        return Err(format!("the Python package is not green\n{summary}"));
    }
    say(&summary);
    Ok(())
}

/// Tests the wheel, and returns the counts. Without the tools all tests count as skipped.
///
/// # Errors
/// If the wheel cannot be built or installed.
pub(crate) fn counts() -> Result<Counts, String> {
    if let Some(missing) = missing() {
        if env::var_os(REQUIRED).is_some_and(|value| value == "1") {
            return Err(format!("{REQUIRED} is set, but {missing}"));
        }
        let number = tests_of_package()? + CHECKS.len();
        complain(&format!("skipped: python, {number} tests: {missing}"));
        let skipped = Counts::skip(&format!("{missing} ({REQUIRED})"), number);
        return Ok(Counts { passed: number, ..skipped });
    }
    let folder = root().join("target/python");
    let wheels = folder.join("wheels");
    // Remove older wheels, so that the folder has only the new one.
    let _ = fs::remove_dir_all(&wheels);
    let wheel = wheel::build_for_tests(&wheels)?;
    let python = install(&wheel, &folder.join("environment"))?;
    let mut counts = tests(&python)?;
    for (name, arguments) in CHECKS {
        let output = output(Command::new(&python).args(arguments).current_dir(&folder))?;
        let is_fine = output.status.success();
        say(&format!("test python::{name} ... {}", if is_fine { "ok" } else { "FAILED" }));
        if is_fine {
            counts.passed += 1;
        } else {
            counts.failed += 1;
            complain(&text(&output));
        }
    }
    Ok(counts)
}

/// Describes what the tests need and the machine lacks; `None` if nothing is missing.
fn missing() -> Option<String> {
    let script =
        format!("import importlib.util as u; print(*[m for m in {MODULES:?} if u.find_spec(m) is None])");
    let told = match Command::new("python3").args(["-c", &script]).output() {
        Ok(told) => told,
        Err(error) => return Some(format!("python3 does not start: {error}")),
    };
    let absent = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    match (told.status.success(), absent.is_empty()) {
        (true, true) => None,
        (true, false) => {
            Some(format!("python3 lacks modules: `python3 -m pip install {absent}` brings them"))
        }
        (false, _) => Some(format!("python3 fails: {}", String::from_utf8_lossy(&told.stderr).trim())),
    }
}

/// Installs a wheel into a fresh environment, which also sees the packages of the outer Python. Returns the environment's
/// interpreter.
fn install(wheel: &Path, environment: &Path) -> Result<PathBuf, String> {
    let mut make = Command::new("python3");
    output_of(make.args(["-m", "venv", "--clear", "--without-pip"]).arg(environment))?;
    let python = environment.join("bin/python3");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--disable-pip-version-check", "--python"]).arg(&python);
    output_of(pip.args(["install", "--quiet", "--no-index", "--no-deps"]).arg(wheel))?;
    let packages = |python: &Path| {
        let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
        output_of(Command::new(python).args(["-c", script])).map(|path| PathBuf::from(path.trim()))
    };
    let (outer, inner) = (packages(Path::new("python3"))?, packages(&python)?);
    let link = inner.join("tools.pth");
    fs::write(&link, format!("{}\n", outer.display()))
        .map_err(|error| format!("cannot write `{}`: {error}", link.display()))?;
    Ok(python)
}

/// Counts the tests in the package's files; a test with parameters counts once.
fn tests_of_package() -> Result<usize, String> {
    let folder = root().join(TESTS);
    let cannot = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    let mut number = 0;
    for entry in fs::read_dir(&folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "py") {
            number += tests_in(&fs::read_to_string(&path).map_err(cannot)?);
        }
    }
    Ok(number)
}

/// Counts the lines of a file that define a test.
fn tests_in(text: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with("def test_")).count()
}

/// Runs the tests of the package.
fn tests(python: &Path) -> Result<Counts, String> {
    let folder = root().join(TESTS);
    let mut pytest = Command::new(python);
    pytest.args(["-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--color=no"]).arg(&folder);
    // The tests must use the wheel's own command, not one that the caller has set.
    let output = output(pytest.current_dir(root()).env_remove("HX_COMMAND"))?;
    let told = text(&output);
    let mut counts = counts_in(&told);
    for line in told.lines().filter_map(|line| line.strip_prefix("SKIPPED ")) {
        complain(&format!("skipped: python: {line}"));
        let file = |path: &str| fs::read_to_string(root().join(path)).ok();
        if let (Some(counts), Some((number, reason))) = (&mut counts, skipped_in(line, file)) {
            // pytest counts a skipped file as one test. Count the skipped tests as passed too, as the harness of Rust does.
            counts.add(Counts { passed: number, ..Counts::skip(reason, number) });
        }
    }
    match counts {
        Some(counts) if counts.failed == 0 && output.status.success() => {
            say(&format!("test python::tests ... ok ({})", counts.summary()));
            Ok(counts)
        }
        Some(counts) => {
            complain(&told);
            Ok(Counts { failed: counts.failed.max(1), ..counts })
        }
        None => Err(format!("pytest told no counts:\n{told}")),
    }
}

/// Reads the counts from pytest's last line: `60 passed, 10 skipped in 9.12s`. `None` if there is no such line.
fn counts_in(told: &str) -> Option<Counts> {
    let last = told.lines().rev().find(|line| line.contains(" in ") && line.contains("passed"))?;
    let count = |word: &str| {
        let words: Vec<&str> = last.split_whitespace().collect();
        let at = words.iter().position(|found| found.trim_end_matches(',') == word)?;
        words.get(at.checked_sub(1)?)?.parse::<usize>().ok()
    };
    let broken = count("failed").unwrap_or(0) + count("error").or(count("errors")).unwrap_or(0);
    Some(Counts { passed: count("passed")?, failed: broken, ..Counts::default() })
}

/// Reads a line of pytest about skipped tests: `[2] tests/test_torch.py:13: could not import 'torch'`. Returns their number and
/// the reason. A skip at the top level of a file skips all of its tests. `file` returns the text of a file.
fn skipped_in(line: &str, file: impl Fn(&str) -> Option<String>) -> Option<(usize, &str)> {
    let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let (place, reason) = rest.split_once(": ")?;
    let number = number.parse().ok()?;
    let whole = || {
        let (path, at) = place.rsplit_once(':')?;
        let text = file(path)?;
        let line = text.lines().nth(at.parse::<usize>().ok()?.checked_sub(1)?)?;
        (!line.starts_with([' ', '@', 'd'])).then(|| tests_in(&text))
    };
    Some((whole().unwrap_or(number), reason))
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| format!("{command:?}: {error}"))
}

/// Runs a command, and returns its standard output; if it fails, its output is the error.
fn output_of(command: &mut Command) -> Result<String, String> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {}\n{}", output.status, text(&output)))
}

#[cfg(test)]
mod tests {
    use super::{counts_in, skipped_in};
    use crate::counts::Counts;

    #[test]
    fn counts_of_pytest() {
        let check = |line: &str, passed, failed| {
            let counts = Counts { passed, failed, ..Counts::default() };
            assert_eq!(counts_in(&format!("....\n{line}\n")), Some(counts));
        };
        check("60 passed in 9.12s", 60, 0);
        check("2 failed, 57 passed, 10 skipped, 3 warnings in 9.12s", 57, 2);
        check("1 failed, 57 passed, 2 errors in 69.12s (0:01:09)", 57, 3);
        assert_eq!(counts_in("no tests ran in 0.01s"), None);
    }

    #[test]
    fn skips_of_pytest() {
        let text = "torch = pytest.importorskip('torch')\n\ndef test_one():\n    pytest.skip('no GPU')\n\ndef test_two():\n";
        let skipped = |line| skipped_in(line, |_| Some(text.to_owned()));
        let all = "[1] tests/test_torch.py:1: could not import 'torch'";
        assert_eq!(skipped(all), Some((2, "could not import 'torch'")));
        assert_eq!(skipped("[1] tests/test_torch.py:4: no GPU"), Some((1, "no GPU")));
        assert_eq!(skipped("nothing"), None);
    }
}
