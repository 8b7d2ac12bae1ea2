//! The user's own folders: data, state and cache. Nothing of a project decides where they are.
//!
//! Each is `HX_…_DIR` where that is set, else a folder `hx` where the system keeps such things: `XDG_…_HOME` or the
//! default of the XDG base directories, `LOCALAPPDATA` on Windows. There is none where there is no home folder.

use std::path::PathBuf;

/// What `hx setup` fetched: `HX_DATA_DIR`, else `$XDG_DATA_HOME/hx` or `~/.local/share/hx`; `~/Library/Application
/// Support/hx` on macOS.
///
/// Libraries are loaded from here. A relative `HX_DATA_DIR` would mean a folder of whatever project is at hand, and counts
/// as none.
pub fn data_folder() -> Option<PathBuf> {
    let default = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    folder("HX_DATA_DIR", "XDG_DATA_HOME", default).filter(|folder| folder.is_absolute())
}

/// What sessions leave behind, such as the history of the prompt and the projects that are trusted: `HX_STATE_DIR`, else
/// `$XDG_STATE_HOME/hx` or `~/.local/state/hx`.
pub fn state_folder() -> Option<PathBuf> {
    folder("HX_STATE_DIR", "XDG_STATE_HOME", ".local/state")
}

/// Compiled kernels: `HX_CACHE_DIR`, else `$XDG_CACHE_HOME/hx/kernels` or `~/.cache/hx/kernels`.
pub fn cache_folder() -> Option<PathBuf> {
    variable("HX_CACHE_DIR").or_else(|| Some(user_cache()?.join("kernels")))
}

/// What is ours of the user's cache, whatever `HX_CACHE_DIR` says.
pub fn user_cache() -> Option<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache")
}

/// The CUDA compiler and the disassemblers that `hx setup` fetched.
pub fn cuda_folder() -> Option<PathBuf> {
    Some(data_folder()?.join("cuda"))
}

fn folder(own: &str, xdg: &str, below_home: &str) -> Option<PathBuf> {
    variable(own).or_else(|| user_folder(xdg, below_home))
}

/// `hx` in the user's folder for things of a kind.
fn user_folder(xdg: &str, below_home: &str) -> Option<PathBuf> {
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        // A relative path is invalid there, says the specification.
        let set = variable(xdg).filter(|path| path.is_absolute());
        set.or_else(|| Some(variable("HOME")?.join(below_home)))
    };
    base.map(|base| base.join("hx"))
}

/// A variable that names a file or folder; an empty one names none.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
