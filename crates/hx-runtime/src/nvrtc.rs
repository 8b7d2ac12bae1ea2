//! Calls the CUDA compiler library directly.
//!
//! Exactly the file that the search found is loaded. cudarc would ask the loader by name and take the first library on its path,
//! so its NVRTC half is not used. The eleven functions needed here have never changed. The companion library with the built-in
//! definitions is loaded first, by its full path: NVRTC asks the loader for it by name only, and the loader returns a library of
//! that name that is already loaded.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use hx_worker::protocol::{Absence, CompileJob, Component, NvrtcFiles, RemoteError, Want};
use libloading::Library;

use crate::library::{function, load_for_good};

const SUCCESS: c_int = 0;
const BUILTIN_OPERATION_FAILURE: c_int = 7;

type Program = *mut c_void;

/// The functions of the library. A status of 0 means success.
#[derive(Clone, Copy)]
struct Api {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    log_size: Size,
    log: Content,
    cubin_size: Size,
    cubin: Content,
    ptx_size: Size,
    ptx: Content,
}

type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Content = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// The loaded compiler library, with its functions and version.
pub(crate) struct Nvrtc {
    api: Api,
    files: NvrtcFiles,
    version: (u32, u32),
}

impl Nvrtc {
    /// Loads the library and its companion. Both stay loaded for the life of the process.
    pub(crate) fn load(files: &NvrtcFiles) -> Result<Nvrtc, Absence> {
        if let Some(builtins) = &files.builtins {
            load_for_good(builtins, Component::Nvrtc)?;
        }
        let library = load_for_good(&files.library, Component::Nvrtc)?;
        let api = find_functions(library).map_err(|error| {
            let reason = format!("`{}` is not an NVRTC library: {error}", files.library.display());
            Absence::new(Component::Nvrtc, reason)
        })?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers, which is all that the function asks for.
        let status = unsafe { (api.version)(&raw mut major, &raw mut minor) };
        match (status, u32::try_from(major), u32::try_from(minor)) {
            (SUCCESS, Ok(major), Ok(minor)) => {
                Ok(Nvrtc { api, files: files.clone(), version: (major, minor) })
            }
            _ => Err(Absence::new(Component::Nvrtc, "the library does not tell its version")),
        }
    }

    /// Returns the files from which it was loaded.
    pub(crate) fn files(&self) -> &NvrtcFiles {
        &self.files
    }

    /// Returns the major and minor version.
    pub(crate) fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Compiles a job. Returns the code and the log.
    pub(crate) fn compile(&self, job: &CompileJob) -> Result<(Vec<u8>, String), RemoteError> {
        let options = options_of(job)
            .into_iter()
            .map(|option| c_string("an option", option))
            .collect::<Result<Vec<CString>, RemoteError>>()?;
        let program = self.create(job)?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len())
            .map_err(|_| RemoteError::BadRequest("too many options".to_owned()))?;
        // SAFETY: the program is live, and `pointers` holds `count` strings that end in zero and outlive the call.
        let status = unsafe { (self.api.compile)(program.handle, count, pointers.as_ptr()) };
        let log = program.content(self.api.log_size, self.api.log).unwrap_or_default();
        let log = without_times(&String::from_utf8_lossy(without_final_zeros(&log)));
        if status == BUILTIN_OPERATION_FAILURE && self.files.builtins.is_none() {
            let folder = self.files.library.parent().unwrap_or(Path::new("")).display();
            let reason = format!("its companion `libnvrtc-builtins` is not beside it in `{folder}`");
            return Err(RemoteError::Absent(Absence::new(Component::Nvrtc, reason)));
        }
        if status != SUCCESS {
            return Err(RemoteError::Refused { status: self.name_of(status), log });
        }
        let code = match job.want {
            Want::Cubin => program.content(self.api.cubin_size, self.api.cubin),
            Want::Ptx => program.content(self.api.ptx_size, self.api.ptx),
        };
        match code {
            Ok(code) if job.want == Want::Ptx => Ok((without_final_zeros(&code).to_vec(), log)),
            Ok(code) => Ok((code, log)),
            Err(status) => Err(RemoteError::Refused { status: self.name_of(status), log }),
        }
    }

    fn create(&self, job: &CompileJob) -> Result<ProgramGuard<'_>, RemoteError> {
        let source = c_string("the text", job.source.clone())?;
        let name = c_string("the file name", job.file_name.clone())?;
        let mut handle: Program = ptr::null_mut();
        // SAFETY: both strings end in zero and outlive the call, which copies them; there are no headers, so their
        // two lists may be null; `handle` is a live place for the result.
        let status = unsafe {
            (self.api.create)(&raw mut handle, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        };
        if status == SUCCESS {
            Ok(ProgramGuard { nvrtc: self, handle })
        } else {
            Err(RemoteError::Refused { status: self.name_of(status), log: String::new() })
        }
    }

    fn name_of(&self, status: c_int) -> String {
        // SAFETY: the function takes any status and returns null or a static string that ends in zero.
        let text = unsafe {
            let text = (self.api.error_string)(status);
            if text.is_null() { None } else { Some(CStr::from_ptr(text)) }
        };
        text.map_or_else(|| format!("status {status}"), |text| text.to_string_lossy().into_owned())
    }
}

/// A program of the library. It is destroyed when dropped.
struct ProgramGuard<'a> {
    nvrtc: &'a Nvrtc,
    handle: Program,
}

impl ProgramGuard<'_> {
    /// Reads one of the results, or returns the status of the failure.
    fn content(&self, size_of: Size, content_of: Content) -> Result<Vec<u8>, c_int> {
        let mut size = 0usize;
        // SAFETY: the program is live and `size` is a live place for the result.
        let status = unsafe { size_of(self.handle, &raw mut size) };
        if status != SUCCESS {
            return Err(status);
        }
        let mut bytes = vec![0u8; size];
        // SAFETY: the program is live and `bytes` has the room that the library just asked for.
        let status = unsafe { content_of(self.handle, bytes.as_mut_ptr().cast()) };
        if status == SUCCESS { Ok(bytes) } else { Err(status) }
    }
}

impl Drop for ProgramGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` and is destroyed only here.
        unsafe { (self.nvrtc.api.destroy)(&raw mut self.handle) };
    }
}

/// Returns the options of a job. PTX is compiled for a virtual architecture, without the assembler's options.
fn options_of(job: &CompileJob) -> Vec<String> {
    let arch = match job.want {
        Want::Cubin => job.arch.clone(),
        Want::Ptx => job.arch.replacen("sm_", "compute_", 1),
    };
    let mut options = vec![format!("--gpu-architecture={arch}")];
    let for_assembler = |option: &&String| option.starts_with("--ptxas-options");
    options.extend(
        job.options.iter().filter(|option| job.want == Want::Cubin || !for_assembler(option)).cloned(),
    );
    options
}

fn c_string(what: &str, text: String) -> Result<CString, RemoteError> {
    CString::new(text).map_err(|_| RemoteError::BadRequest(format!("{what} to compile holds a zero byte")))
}

fn without_final_zeros(mut bytes: &[u8]) -> &[u8] {
    while let Some(shorter) = bytes.strip_suffix(b"\0") {
        bytes = shorter;
    }
    bytes
}

/// Removes the assembler's own timing from the log. It is the only part that differs between runs.
fn without_times(log: &str) -> String {
    log.split_inclusive('\n').filter(|line| !line.contains(": Compile time = ")).collect()
}

fn find_functions(library: &'static Library) -> Result<Api, String> {
    fn get<F: Copy>(library: &'static Library, name: &str) -> Result<F, String> {
        // SAFETY: each caller below names a function together with its type in the library's documentation.
        unsafe { function(library, name) }
    }
    Ok(Api {
        version: get(library, "nvrtcVersion")?,
        error_string: get(library, "nvrtcGetErrorString")?,
        create: get(library, "nvrtcCreateProgram")?,
        destroy: get(library, "nvrtcDestroyProgram")?,
        compile: get(library, "nvrtcCompileProgram")?,
        log_size: get(library, "nvrtcGetProgramLogSize")?,
        log: get(library, "nvrtcGetProgramLog")?,
        cubin_size: get(library, "nvrtcGetCUBINSize")?,
        cubin: get(library, "nvrtcGetCUBIN")?,
        ptx_size: get(library, "nvrtcGetPTXSize")?,
        ptx: get(library, "nvrtcGetPTX")?,
    })
}
