//! `cargo xtask cuda`: puts the CUDA compiler library and the disassemblers under `target/cuda`.
//!
//! The pinned files come out of NVIDIA's own Python wheels, fetched by `pip` from wherever it is configured to fetch.
//! They need neither a GPU nor a driver, belong to NVIDIA, and are never part of the project.
//! A stamp with the pinned versions makes a second run do nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{root, say};

/// The compiler is of 13.0, whose PTX every 580-series driver takes. The disassemblers start at 13.2.51 and read the
/// cubins of the older compiler.
const WHEELS: &[Wheel] = &[
    Wheel { package: "nvidia-cuda-nvrtc", version: "13.0.88", gives: "libnvrtc" },
    Wheel { package: "nvidia-cuda-nvdisasm", version: "13.2.51", gives: "nvdisasm" },
    Wheel { package: "nvidia-cuda-cuobjdump", version: "13.2.51", gives: "cuobjdump" },
];

struct Wheel {
    package: &'static str,
    version: &'static str,
    /// How the name of its main file begins.
    gives: &'static str,
}

/// Fetches what is not there yet.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(arg) = args.first() {
        return Err(format!("`{arg}` is not understood, there are no arguments"));
    }
    let target = target_dir();
    let home = target.join("cuda");
    if is_complete(&home) {
        say(&format!("{} is complete: {}", home.display(), pinned()));
        return Ok(());
    }
    let python = find_python()?;
    // Everything is made beside the final place and renamed into it, so an interrupted run leaves no half of it.
    let work = target.join("cuda.new");
    remove(&work)?;
    remove(&home)?;
    for sub in ["wheels", "unpacked", "made/lib", "made/bin"] {
        fs::create_dir_all(work.join(sub)).map_err(|error| cannot("make", &work.join(sub), &error))?;
    }
    for wheel in WHEELS {
        say(&format!("fetching {} {}", wheel.package, wheel.version));
        download(python, wheel, &work.join("wheels"))?;
    }
    for wheel in entries(&work.join("wheels"))? {
        python_module(
            python,
            &["zipfile", "-e", text(&wheel)?, text(&work.join("unpacked"))?],
            "unpacking a wheel",
        )?;
    }
    collect(&work.join("unpacked"), &work.join("made"))?;
    let made = work.join("made");
    fs::write(made.join("stamp"), pinned()).map_err(|error| cannot("write", &made, &error))?;
    if !is_complete(&made) {
        return Err(format!("the wheels do not hold what was expected; see {}", work.display()));
    }
    fs::rename(&made, &home).map_err(|error| cannot("rename", &made, &error))?;
    remove(&work)?;
    say(&format!("{} holds {}", home.display(), pinned()));
    Ok(())
}

fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The pinned versions in one line, which is also the stamp.
fn pinned() -> String {
    let names: Vec<String> =
        WHEELS.iter().map(|wheel| format!("{} {}", wheel.package, wheel.version)).collect();
    names.join(", ")
}

fn is_complete(home: &Path) -> bool {
    let files = |sub: &str| -> Vec<String> {
        let paths = entries(&home.join(sub)).unwrap_or_default();
        paths.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
    };
    let names = [files("lib"), files("bin")].concat();
    fs::read_to_string(home.join("stamp")).is_ok_and(|stamp| stamp == pinned())
        && WHEELS.iter().all(|wheel| names.iter().any(|name| name.starts_with(wheel.gives)))
}

/// The Python interpreter, checked to have pip.
fn find_python() -> Result<&'static str, String> {
    let works =
        |python: &&str| Command::new(python).arg("--version").output().is_ok_and(|out| out.status.success());
    let python = ["python3", "python"].into_iter().find(works).ok_or(
        "Python was not found; install Python 3, or set HX_NVRTC to a libnvrtc that is there already",
    )?;
    let pip = Command::new(python).args(["-m", "pip", "--version"]).output();
    if pip.is_ok_and(|out| out.status.success()) {
        Ok(python)
    } else {
        Err(format!("`{python} -m pip` does not work; install pip for it"))
    }
}

fn download(python: &str, wheel: &Wheel, to: &Path) -> Result<(), String> {
    let requirement = format!("{}=={}", wheel.package, wheel.version);
    let args =
        ["pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", text(to)?, &requirement];
    python_module(
        python,
        &args,
        &format!("fetching {requirement} (is there a network, and a wheel for this system?)"),
    )
}

fn python_module(python: &str, args: &[&str], doing: &str) -> Result<(), String> {
    let output = Command::new(python)
        .arg("-m")
        .args(args)
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .output()
        .map_err(|error| format!("{doing}: {python} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = said[said.len().saturating_sub(3)..].join("\n  ");
    Err(format!("{doing} failed\n  {last}"))
}

/// Moves the files out of `nvidia/cu13/{lib,bin}`; the `alt` variants of the libraries are of no use here.
fn collect(unpacked: &Path, made: &Path) -> Result<(), String> {
    for home in entries(&unpacked.join("nvidia"))? {
        for sub in ["lib", "bin"] {
            for file in entries(&home.join(sub)).unwrap_or_default() {
                let Some(name) = file.file_name() else { continue };
                if name.to_string_lossy().contains(".alt.") {
                    continue;
                }
                let to = made.join(sub).join(name);
                fs::rename(&file, &to).map_err(|error| cannot("move", &file, &error))?;
                if sub == "bin" {
                    make_executable(&to)?;
                }
            }
        }
    }
    Ok(())
}

/// Unpacking with Python loses the permission.
#[cfg(unix)]
fn make_executable(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(|error| cannot("mark", path, &error))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<(), String> {
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let found = fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))?;
    let mut paths: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot("remove", folder, &error)),
        _ => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}
