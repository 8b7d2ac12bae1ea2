//! Loads the vendor's libraries from exactly the files that the search found.

#![allow(unsafe_code)]

use std::path::Path;

use hx_worker::protocol::{Absence, Component};
use libloading::Library;

/// Loads a library for the life of the process, so that later loads by name find it too.
pub(crate) fn load_for_good(path: &Path, component: Component) -> Result<&'static Library, Absence> {
    // SAFETY: the file is an NVIDIA library that the user's settings or the documented search led to; its
    // initializers are as trusted as those of any library of the toolkit.
    let library = unsafe { open(path) };
    match library {
        // The library is never unloaded, because it keeps threads and state that do not survive unloading.
        Ok(library) => Ok(Box::leak(Box::new(library))),
        Err(error) => {
            let reason = format!("`{}` cannot be loaded: {}", path.display(), one_line(&error));
            Err(Absence::new(component, reason))
        }
    }
}

/// Looks up a function of a library by its name.
///
/// # Safety
/// `F` must be the type that the library documents for a function of that name.
pub(crate) unsafe fn function<F: Copy>(library: &'static Library, name: &str) -> Result<F, String> {
    // SAFETY: as promised by the caller; the library is never unloaded.
    unsafe { library.get::<F>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|error| one_line(&error))
}

#[cfg(unix)]
unsafe fn open(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library as UnixLibrary, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: as promised by the caller.
    unsafe { UnixLibrary::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map(Library::from)
}

#[cfg(not(unix))]
unsafe fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: as promised by the caller.
    unsafe { Library::new(path) }
}

fn one_line(error: &libloading::Error) -> String {
    error.to_string().replace('\n', " ")
}
