//! The user's own folders: data, state and cache. A project cannot change where they are.
//!
//! Each is `HX_…_DIR` if that is set, else a folder `hx` in the system's folder of this kind: `XDG_…_HOME` or the default of the
//! XDG base directories, `LOCALAPPDATA` on Windows. Without a home folder there are none.

use std::path::PathBuf;

/// Returns the folder of the files that `hx setup` fetches and `hx calibrate` keeps: `HX_DATA_DIR`, else `$XDG_DATA_HOME/hx` or `~/.local/share/hx`;
/// `~/Library/Application Support/hx` on macOS.
///
/// Libraries are loaded from here. A relative `HX_DATA_DIR` would name a folder of whatever project is current, so it is ignored,
/// and there is no such folder.
pub fn data_folder() -> Option<PathBuf> {
    let default = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    folder("HX_DATA_DIR", "XDG_DATA_HOME", default).filter(|folder| folder.is_absolute())
}

/// Returns the folder of the files that sessions keep, such as the history of the prompt and the list of trusted projects:
/// `HX_STATE_DIR`, else `$XDG_STATE_HOME/hx` or `~/.local/state/hx`.
pub fn state_folder() -> Option<PathBuf> {
    folder("HX_STATE_DIR", "XDG_STATE_HOME", ".local/state")
}

/// Returns the folder of compiled kernels: `HX_CACHE_DIR`, else `$XDG_CACHE_HOME/hx/kernels` or `~/.cache/hx/kernels`.
pub fn cache_folder() -> Option<PathBuf> {
    variable("HX_CACHE_DIR").or_else(|| Some(user_cache()?.join("kernels")))
}

/// Returns the folder of hx in the user's cache, independent of `HX_CACHE_DIR`.
pub fn user_cache() -> Option<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache")
}

/// Returns the folder of the CUDA compiler and the disassemblers that `hx setup` fetches.
pub fn cuda_folder() -> Option<PathBuf> {
    Some(data_folder()?.join("cuda"))
}

/// Returns the folder of the files of costs that `hx calibrate --keep` writes, one a device.
pub fn costs_folder() -> Option<PathBuf> {
    Some(data_folder()?.join("costs"))
}

fn folder(own: &str, xdg: &str, below_home: &str) -> Option<PathBuf> {
    variable(own).or_else(|| user_folder(xdg, below_home))
}

/// Returns `hx` in the user's folder of a kind.
fn user_folder(xdg: &str, below_home: &str) -> Option<PathBuf> {
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        // The specification declares a relative path invalid.
        let set = variable(xdg).filter(|path| path.is_absolute());
        set.or_else(|| Some(variable("HOME")?.join(below_home)))
    };
    base.map(|base| base.join("hx"))
}

/// Returns a variable that names a file or folder; `None` if it is empty.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
