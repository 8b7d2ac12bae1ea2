//! Settings from flags, `HX_*` variables and `hx.toml`, in that order of precedence.
//!
//! A command replaces [`Setup::choosing`] by its flag `--tune`.

use std::path::PathBuf;

use hx_target::Target;
use hx_worker::folders::cache_folder;
use hx_worker::toolkit::SearchEnv;
use hx_worker::{Cache, WorkerCommand};
use hx_workspace::Manifest;

use crate::costs::{self, ChosenCosts, CostsSource};
use crate::setup::{Choosing, DeviceChoice, Setup};

/// Combines the settings. `device`, `target`, `nvrtc` and `costs` are the values of flags.
///
/// # Errors
/// A variable whose value cannot be parsed, or `costs` that cannot be read, as text.
pub fn setup(
    device: Option<DeviceChoice>,
    target: Option<Target>,
    nvrtc: Option<PathBuf>,
    costs: Option<&str>,
    manifest: Option<&Manifest>,
    worker: WorkerCommand,
) -> Result<Setup, String> {
    let device = match (device, variable("HX_DEVICE")) {
        (Some(device), _) => device,
        (None, Some(text)) => text.parse().map_err(|e| format!("HX_DEVICE: {e}"))?,
        (None, None) => {
            // Ignore a text that does not parse: the check of the manifest has already reported it.
            manifest.and_then(|m| m.device.as_deref()?.parse().ok()).unwrap_or_default()
        }
    };
    let target = match (target, variable("HX_TARGET")) {
        (Some(target), _) => target,
        (None, Some(text)) => text.parse().map_err(|e| format!("HX_TARGET: {e}"))?,
        (None, None) => manifest.and_then(|m| m.target).unwrap_or_default(),
    };
    let mut search = SearchEnv::of_process();
    // A flag is typed for this command, so its path is relative to the current folder.
    let flag = nvrtc.map(|path| std::path::absolute(&path).unwrap_or(path));
    search.nvrtc = flag.or(search.nvrtc).or_else(|| manifest?.nvrtc.clone());
    search.untrusted = manifest.filter(|m| !m.trusted).map(|m| PathBuf::from(&m.root));
    let cache = Cache::chosen(cache_folder().map(Cache::open), manifest.and_then(|m| m.cache.clone()));
    let project = || manifest.and_then(|m| m.costs.clone());
    let costs = match costs {
        Some(text) => Some(costs::named(text).map_err(|error| format!("--costs: {error}"))?)
            .map(|costs| ChosenCosts { costs, source: CostsSource::Flag }),
        None => project().map(|costs| ChosenCosts { costs, source: CostsSource::Project }),
    };
    let choosing = match variable("HX_TUNE") {
        Some(text) => text.parse().map_err(|e| format!("HX_TUNE: {e}"))?,
        None => Choosing::default(),
    };
    let setup = Setup { device, target, costs, worker, search, cache, choosing };
    Ok(Setup { target: setup.costed(target), ..setup })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
