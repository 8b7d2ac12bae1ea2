//! Settings from flags, `HX_*` variables and `hx.toml`, in that order of precedence.

use std::path::{Path, PathBuf};

use hx_target::Arch;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{Cache, WorkerCommand};
use hx_workspace::Manifest;

use crate::machine::{DeviceChoice, Setup};

/// The architecture that is checked where nothing names one.
const DEFAULT_TARGET: Arch = Arch::Sm90a;

/// Puts a setup together. `device` and `target` are what flags say; the folder is where the search for a project's own
/// `target/cuda` begins.
///
/// # Errors
/// A variable with a value that means nothing, as text.
pub fn setup(
    device: Option<DeviceChoice>,
    target: Option<Arch>,
    nvrtc: Option<PathBuf>,
    manifest: Option<&Manifest>,
    folder: &Path,
    worker: WorkerCommand,
) -> Result<Setup, String> {
    let device = match (device, variable("HX_DEVICE")) {
        (Some(device), _) => device,
        (None, Some(text)) => text.parse().map_err(|e| format!("HX_DEVICE: {e}"))?,
        (None, None) => {
            // The manifest has been checked; a text that means nothing was reported there.
            manifest.and_then(|m| m.device.as_deref()?.parse().ok()).unwrap_or_default()
        }
    };
    let target = match (target, variable("HX_TARGET")) {
        (Some(target), _) => target,
        (None, Some(text)) => text.parse().map_err(|e| format!("HX_TARGET: {e}"))?,
        (None, None) => manifest.and_then(|m| m.target).unwrap_or(DEFAULT_TARGET),
    };
    let mut search = SearchEnv::of_process(folder);
    let in_project = |text: &str| {
        let root = manifest.map_or(Path::new("."), |m| Path::new(&m.root));
        root.join(text)
    };
    search.nvrtc =
        nvrtc.or(search.nvrtc).or_else(|| manifest.and_then(|m| m.nvrtc.as_deref().map(in_project)));
    let cache = match manifest.and_then(|m| m.cache.as_deref()) {
        Some(text) if variable("HX_CACHE_DIR").is_none() => Some(in_project(text)),
        _ => cache_folder(),
    };
    Ok(Setup { device, target, worker, search, cache: cache.map(Cache::open) })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The folder for what sessions leave behind, such as the history of the prompt: `HX_STATE_DIR`, else `hx` in the user's
/// folder for such things. Nothing where there is no home.
pub fn state_folder() -> Option<PathBuf> {
    if let Some(folder) = variable("HX_STATE_DIR") {
        return Some(PathBuf::from(folder));
    }
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else {
        let home = || variable("HOME").map(|home| Path::new(&home).join(".local").join("state"));
        variable("XDG_STATE_HOME").map(PathBuf::from).filter(|p| p.is_absolute()).or_else(home)
    };
    base.map(|folder| folder.join("hx"))
}

/// The folder for compiled kernels: `HX_CACHE_DIR`, else `hx` in the user's cache folder. Nothing where there is no home.
pub fn cache_folder() -> Option<PathBuf> {
    if let Some(folder) = variable("HX_CACHE_DIR") {
        return Some(PathBuf::from(folder));
    }
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else {
        let home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
        variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute()).or_else(home)
    };
    base.map(|folder| folder.join("hx").join("kernels"))
}
