//! `cargo xtask wheel`: builds the Python wheel, which has the extension module, the Python files beside it, and the command `hx`.
//!
//! maturin builds and packs the module. It comes from the Python on `PATH`, or else into an environment below `target`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{root, say};

/// The Cargo profile for releases.
const RELEASE: &str = "dist";
/// The largest allowed size of a wheel for release, in bytes.
const MOST_BYTES: u64 = 15_000_000;

/// Builds the wheel.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut profile, mut out) = (RELEASE.to_owned(), root().join("target/wheels"));
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{arg}` takes a value"));
        match arg.as_str() {
            "--profile" => profile.clone_from(value()?),
            "--out" => out = PathBuf::from(value()?),
            other => return Err(format!("`{other}` is not understood: there are `--profile` and `--out`")),
        }
    }
    run_in_root(cargo().args(["build", "--quiet", "--package", "hx", "--profile", &profile]))?;
    let wheel = build(&profile, &[], &out)?;
    let bytes = fs::metadata(&wheel).map_err(|error| error.to_string())?.len();
    say(&format!("{} ({:.1} MB)", wheel.display(), bytes as f64 / 1e6));
    if profile == RELEASE && bytes > MOST_BYTES {
        return Err(format!("the wheel has {bytes} bytes, at most {MOST_BYTES} are expected"));
    }
    Ok(())
}

/// Builds a wheel for tests into a folder, from the unoptimized build of `cargo test`. Returns its path.
///
/// # Errors
/// If maturin cannot be installed, or a build fails.
pub(crate) fn build_for_tests(out: &Path) -> Result<PathBuf, String> {
    run_in_root(cargo().args(["test", "--quiet", "--workspace", "--no-run"]))?;
    build("dev", &["--features", "shared-build"], out)
}

fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// Builds the extension module with a Cargo profile, and packs it with the command `hx` of that profile. Returns the wheel's path.
fn build(profile: &str, more: &[&str], out: &Path) -> Result<PathBuf, String> {
    let python = with_maturin()?;
    let data = root().join("crates/hx-python/hx.data");
    let packed = place_command(profile, &data).and_then(|()| pack(&python, profile, more, out));
    // Remove the copy of the command, which only maturin needs.
    let removed = fs::remove_dir_all(&data);
    let wheel = packed?;
    removed.map_err(|error| format!("cannot remove `{}`: {error}", data.display()))?;
    Ok(wheel)
}

/// Returns a Python with maturin: that on `PATH`, or one in an environment below `target`, into which it installs maturin.
fn with_maturin() -> Result<PathBuf, String> {
    let has = |python: &Path| {
        let told = Command::new(python).args(["-m", "maturin", "--version"]).output();
        told.is_ok_and(|told| told.status.success())
    };
    let here = PathBuf::from("python3");
    if has(&here) {
        return Ok(here);
    }
    let tools = root().join("target/wheel-tools");
    let python = tools.join("bin/python3");
    if !has(&python) {
        run_in_root(Command::new(&here).args(["-m", "venv"]).arg(&tools))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "maturin>=1.9,<2"];
        run_in_root(Command::new(&python).args(pip))?;
    }
    Ok(python)
}

/// Copies the command `hx`, without its symbols if `strip` works, to the folder from which maturin takes scripts.
fn place_command(profile: &str, data: &Path) -> Result<(), String> {
    // Cargo writes the profile `dev` to the folder `debug`.
    let folder = if profile == "dev" { "debug" } else { profile };
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let (from, to) = (target.join(folder).join("hx"), data.join("scripts/hx"));
    let cannot = |error: std::io::Error| format!("cannot write `{}`: {error}", to.display());
    fs::create_dir_all(data.join("scripts")).map_err(cannot)?;
    let stripped = Command::new("strip").arg("-o").arg(&to).arg(&from).status();
    if stripped.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    fs::copy(&from, &to).map(drop).map_err(cannot)
}

/// Packs the wheel. Returns its path.
fn pack(python: &Path, profile: &str, more: &[&str], out: &Path) -> Result<PathBuf, String> {
    let before = wheels(out);
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "build", "--quiet", "--manifest-path", "crates/hx-python/Cargo.toml"]);
    maturin.args(["--profile", profile]).args(more).arg("--out").arg(out);
    if profile != RELEASE {
        maturin.args(["--compatibility", "linux"]);
    }
    run_in_root(&mut maturin)?;
    let newest = wheels(out).into_iter().max_by_key(|(_, changed)| *changed);
    let newest = newest.filter(|found| !before.contains(found));
    newest.map(|(path, _)| path).ok_or_else(|| format!("maturin wrote no wheel into `{}`", out.display()))
}

fn wheels(folder: &Path) -> Vec<(PathBuf, std::time::SystemTime)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let wheel = |entry: fs::DirEntry| {
        let path = entry.path();
        let changed = entry.metadata().and_then(|data| data.modified()).ok()?;
        path.extension().is_some_and(|extension| extension == "whl").then_some((path, changed))
    };
    entries.filter_map(wheel).collect()
}

fn run_in_root(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.current_dir(root()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}
