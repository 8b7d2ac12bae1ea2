//! Errors as Python exceptions of `hx._errors`, with the drawn diagnostic as their text and its parts as attributes.

use std::fmt;

use hx_base::{Code, Diagnostic, codes};
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_inspect::EmitError;
use hx_report::{Config, Renderer, render_placeless};
use hx_worker::RemoteError;
use hx_workspace::{Database, OpenError};
use pyo3::prelude::*;

/// The exception class of `hx._errors` that an error becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// The text has errors, or the kernel has no program for these arguments.
    Compile,
    /// The call is wrong: its arguments do not fit the kernel, or it names something that does not exist.
    Launch,
    /// The kernel ran and did something wrong: the simulator found an error, or an assertion failed.
    Kernel,
    /// The driver reported an error.
    Device,
    /// The machine lacks something: the compiler, a GPU.
    Missing,
    /// A file cannot be read.
    File,
    /// The process was forked from one that used hx.
    Fork,
}

/// An error with the texts of its exception, so that it needs no database.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    class: Class,
    code: &'static Code,
    message: String,
    rendered: String,
    /// Each diagnostic as a JSON object; empty for an error without a place.
    json: Vec<String>,
    /// The lines that the kernel printed before it failed.
    pub(crate) printed: Vec<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered)
    }
}

impl Problem {
    /// Makes an error without a place.
    pub(crate) fn new(class: Class, code: &'static Code, message: impl Into<String>) -> Problem {
        Problem::placeless(class, &in_python(HostError::new(code, message)))
    }

    /// Makes an error of the host. Its first label, such as the declaration of a parameter, becomes the place of the error.
    pub(crate) fn host(db: &Database, class: Class, error: &HostError) -> Problem {
        let Some((first, rest)) = error.labels.split_first() else { return Problem::placeless(class, error) };
        let mut found = Diagnostic::new(error.code, first.file, first.range, error.message.clone());
        found.primary.message.clone_from(&first.message);
        found = rest
            .iter()
            .fold(found, |found, label| found.also(label.file, label.range, label.message.clone()));
        found = error.notes.iter().fold(found, |found, note| found.note(note.clone()));
        found = error.help.iter().fold(found, |found, help| found.help(help.clone()));
        Problem::found(db, class, &[found])
    }

    fn placeless(class: Class, error: &HostError) -> Problem {
        let help: Vec<String> = error.help.iter().cloned().collect();
        let rendered = render_placeless(error.code, &error.message, &error.notes, &help, Config::default());
        let class = if hx_launch::is_environmental(error.code) { Class::Missing } else { class };
        Problem {
            class,
            code: error.code,
            message: error.message.clone(),
            rendered,
            json: Vec::new(),
            printed: Vec::new(),
        }
    }

    /// Makes an error from diagnostics. Warnings are left out.
    pub(crate) fn found(db: &Database, class: Class, found: &[Diagnostic]) -> Problem {
        let mut renderer = Renderer::new(db, Config::default());
        let errors: Vec<&Diagnostic> = found.iter().filter(|found| found.is_error()).collect();
        let Some(first) = errors.first() else {
            return Problem::new(class, &codes::INTERNAL_ERROR, "a launch failed, and nothing says why");
        };
        Problem {
            class,
            code: first.code,
            message: first.message.clone(),
            rendered: errors.iter().map(|error| renderer.render(error)).collect::<Vec<_>>().join("\n"),
            json: errors.iter().map(|error| renderer.json(error)).collect(),
            printed: Vec::new(),
        }
    }

    /// Makes an error of a launch. `class` is the class for diagnostics in the kernel's text.
    pub(crate) fn launch(db: &Database, class: Class, error: LaunchError) -> Problem {
        match error {
            LaunchError::After { printed, error } => {
                Problem { printed, ..Problem::launch(db, class, *error) }
            }
            LaunchError::Found(found) => Problem::found(db, class, &found),
            LaunchError::Refused { error, .. } => Problem::host(db, Class::Launch, &in_python(*error)),
        }
    }

    pub(crate) fn emit(db: &Database, kernel: &str, error: EmitError) -> Problem {
        match error {
            EmitError::Usage(text) => Problem::new(Class::Launch, &codes::HOST_ERROR, text),
            EmitError::Open { parameter, .. } => Problem::new(
                Class::Launch,
                &codes::UNINFERRED_PARAMETER,
                format!("`{kernel}` needs a value for `{parameter}`: `{kernel}.specialize({parameter}=...)`"),
            ),
            EmitError::Found(found) => Problem::found(db, Class::Compile, &found),
            EmitError::Host(error) => Problem::host(db, Class::Compile, &error),
        }
    }

    pub(crate) fn open(error: &OpenError) -> Problem {
        Problem::new(Class::File, error.code(), error.to_string())
    }

    /// Makes an error of the driver. `recent` are the names of the last launched kernels, one of which may have caused it.
    pub(crate) fn driver(error: &RemoteError, recent: &[String]) -> Problem {
        if let RemoteError::Absent(absence) = error {
            return Problem::new(Class::Missing, &codes::NO_GPU, absence.reason.clone());
        }
        let RemoteError::Cuda(fault) = error else {
            return Problem::new(Class::Device, &codes::LAUNCH_FAILED, error.to_string());
        };
        let text = format!("{}: {} ({})", fault.during, fault.text, fault.name);
        if !fault.sticky {
            return Problem::new(Class::Device, &codes::LAUNCH_FAILED, text);
        }
        let launched: Vec<String> = recent.iter().map(|name| format!("`{name}`")).collect();
        let error = HostError::new(&codes::CONTEXT_LOST, text)
            .note(match launched.len() {
                0 => "no kernel of hx was launched before".to_owned(),
                1 => format!("the last kernel of hx that was launched is {}", launched[0]),
                _ => format!("the last kernels of hx that were launched are {}", launched.join(", ")),
            })
            .note("this process's CUDA context is lost: start the process again")
            .help("`CUDA_LAUNCH_BLOCKING=1` names the kernel that failed; the same call with NumPy arrays runs on the simulator, which checks every access");
        Problem::placeless(Class::Device, &error)
    }

    /// Makes the error of a process that was forked after its parent had used hx.
    pub(crate) fn forked() -> Problem {
        let text = "this process was forked from one that had launched or compiled kernels of hx, and its threads, worker processes and CUDA \
                    do not survive a fork";
        let error = HostError::new(&codes::HOST_ERROR, text).help(
            "start it by the method spawn, as in `multiprocessing.get_context(\"spawn\")`, or fork before the first launch",
        );
        Problem::placeless(Class::Fork, &error)
    }

    /// Makes the Python exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let build = || {
            let errors = py.import("hx._errors")?;
            let class = match (self.class, self.code) {
                (_, code) if code == &codes::ASSERTION_FAILED => "AssertionFailed",
                (_, code) if code == &codes::CONTEXT_LOST => "ContextLost",
                (Class::Compile, _) => "CompileError",
                (Class::Launch, _) => "LaunchError",
                (Class::Kernel, _) => "KernelError",
                (Class::Device, _) => "DeviceError",
                (Class::Missing, _) => "MissingError",
                (Class::File, _) => "FileError",
                (Class::Fork, _) => "ForkError",
            };
            let args = (self.rendered.trim_end(), self.code.id, &self.message, &self.json);
            errors.getattr(class)?.call1(args)
        };
        match build() {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

/// Replaces the help of an error by advice for a caller in Python, if its help is about the command `hx`.
fn in_python(error: HostError) -> HostError {
    let help = match error.code {
        code if code == &codes::LAUNCH_DTYPE => "`x.to(…)` of PyTorch and `x.astype(…)` of NumPy convert",
        code if code == &codes::OVERLAPPING_ARGUMENTS => {
            "`x.clone()` of PyTorch and `x.copy()` of NumPy make a tensor of its own"
        }
        code if code == &codes::LAUNCH_STRIDES => {
            let named = error.help.unwrap_or_default();
            return HostError { help: Some(format!("pass `x.contiguous()`, or {named}")), ..error };
        }
        code if code == &codes::UNINFERRED_PARAMETER => "give it by name, as in `kernel(x, y, BN=64)`",
        _ => return error,
    };
    HostError { help: Some(help.to_owned()), ..error }
}

/// Converts the error of a result to its exception.
pub(crate) fn raised<T>(py: Python<'_>, result: Result<T, Problem>) -> PyResult<T> {
    result.map_err(|problem| problem.raise(py))
}
