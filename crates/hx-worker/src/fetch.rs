//! Fetches the CUDA compiler library and the disassemblers into a folder, for `hx setup` and `cargo xtask cuda`.
//!
//! The pinned files come out of NVIDIA's own Python wheels. `pip` fetches them from its configured source. They need neither a
//! GPU nor a driver, belong to NVIDIA, and are never part of the project. A stamp with the pinned versions makes a second run do
//! nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::own_files::create_folder;
use crate::toolkit::SearchEnv;

/// The compiler is version 13.0, whose PTX every 580-series driver accepts. The disassemblers start at 13.2.51 and read cubins of
/// the older compiler.
const WHEELS: &[Wheel] = &[
    Wheel { package: "nvidia-cuda-nvrtc", version: "13.0.88", gives: "libnvrtc" },
    Wheel { package: "nvidia-cuda-nvdisasm", version: "13.2.51", gives: "nvdisasm" },
    Wheel { package: "nvidia-cuda-cuobjdump", version: "13.2.51", gives: "cuobjdump" },
];

struct Wheel {
    package: &'static str,
    version: &'static str,
    /// The prefix of the name of its main file.
    gives: &'static str,
}

/// Fetches the pinned files into a folder, unless they are there already, with the Python that `env` finds. `say` receives a line
/// for each step.
///
/// # Errors
/// The cause, as text; the folder is then unchanged.
pub fn fetch(home: &Path, env: &SearchEnv, say: &dyn Fn(&str)) -> Result<(), String> {
    if is_complete(home) {
        say(&format!("{} is complete: {}", home.display(), pinned()));
        return Ok(());
    }
    let parent = home.parent().ok_or_else(|| format!("{} is not a folder for it", home.display()))?;
    create_folder(parent).map_err(|error| cannot("make", parent, &error))?;
    // Everything is made beside the final place and renamed into it, so an interrupted run leaves no partial folder.
    let work = tempfile::Builder::new().prefix(".cuda-").tempdir_in(parent);
    let work = work.map_err(|error| cannot("make a folder in", parent, &error))?;
    let work = work.path();
    for sub in ["wheels", "unpacked", "made/lib", "made/bin"] {
        fs::create_dir_all(work.join(sub)).map_err(|error| cannot("make", &work.join(sub), &error))?;
    }
    let python = Python::find(work, env)?;
    for wheel in WHEELS {
        say(&format!("fetching {} {}", wheel.package, wheel.version));
        download(&python, wheel)?;
    }
    for wheel in entries(&work.join("wheels"))? {
        python.module(&["zipfile", "-e", text(&wheel)?, "unpacked"], "unpacking a wheel")?;
    }
    collect(&work.join("unpacked"), &work.join("made"))?;
    let made = work.join("made");
    fs::write(made.join("stamp"), pinned()).map_err(|error| cannot("write", &made, &error))?;
    if !is_complete(&made) {
        return Err("the wheels do not hold the files that were expected".to_owned());
    }
    remove(home)?;
    match fs::rename(&made, home) {
        // Another run may have finished first.
        Err(error) if !is_complete(home) => return Err(cannot("rename", &made, &error)),
        _ => {}
    }
    say(&format!("{} holds {}", home.display(), pinned()));
    Ok(())
}

/// Returns the pinned versions in one line, which is also the stamp.
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

/// The interpreter, run in a folder of ours. `python -m` looks for modules in its current folder first, and a project may contain
/// a file `pip.py`.
struct Python<'a> {
    program: PathBuf,
    folder: &'a Path,
}

impl<'a> Python<'a> {
    /// Finds the first interpreter on PATH that has pip. Skips folders of an untrusted project, as the search for the compiler
    /// does.
    fn find(folder: &'a Path, env: &SearchEnv) -> Result<Python<'a>, String> {
        let bins: Vec<&PathBuf> = env.path.iter().filter(|bin| env.is_usable(bin)).collect();
        let named = |name: &str| -> Vec<PathBuf> {
            let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
            bins.iter().map(|bin| bin.join(&name)).filter(|path| path.is_file()).collect()
        };
        let mut first = None;
        for program in [named("python3"), named("python")].concat() {
            let python = Python { program, folder };
            if python.module(&["pip", "--version"], "asking for pip").is_ok() {
                return Ok(python);
            }
            first = first.or(Some(python.program));
        }
        Err(match first {
            Some(program) => format!("`{} -m pip` does not work; install pip for it", program.display()),
            None => {
                "Python was not found; install Python 3, or set HX_NVRTC to a libnvrtc that is there already"
                    .to_owned()
            }
        })
    }

    fn module(&self, args: &[&str], doing: &str) -> Result<(), String> {
        let output = Command::new(&self.program)
            .arg("-m")
            .args(args)
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .current_dir(self.folder)
            .output()
            .map_err(|error| format!("{doing}: {} cannot be started: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = said[said.len().saturating_sub(3)..].join("\n  ");
        Err(format!("{doing} failed\n  {last}"))
    }
}

fn download(python: &Python<'_>, wheel: &Wheel) -> Result<(), String> {
    let requirement = format!("{}=={}", wheel.package, wheel.version);
    let args =
        ["pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", "wheels", &requirement];
    let doing = format!("fetching {requirement} (is there a network, and a wheel for this system?)");
    python.module(&args, &doing)
}

/// Moves the files out of `nvidia/cu13/{lib,bin}`. The `alt` variants of the libraries are not needed.
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

/// Makes a file executable, because unpacking with Python loses the permission.
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
