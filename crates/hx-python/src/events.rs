//! Reports of compiles and plans to `hx._events`, which logs them and calls the functions of `hx.on_compile`.

use hx_launch::InstanceText;
use pyo3::prelude::*;

/// The code of an instance that was made or taken from the cache on disk.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// `sim` or `cuda:0`.
    pub(crate) device: String,
    pub(crate) target: &'static str,
    pub(crate) is_cached: bool,
}

/// Reports a plan, and the compile that it took, if there was one.
///
/// # Errors
/// An exception of a function of `hx.on_compile`.
pub(crate) fn planned(
    py: Python<'_>,
    kernel: &str,
    instance: &InstanceText,
    seconds: f64,
    compiled: Option<&Compiled>,
) -> PyResult<()> {
    let events = py.import("hx._events")?;
    let InstanceText { path, kernel: runs, arguments, facts, .. } = instance;
    events.call_method1("planned", (kernel, instance.to_string(), seconds))?;
    if let Some(Compiled { device, target, is_cached }) = compiled {
        let parts = (runs, path, arguments, facts, device, target, seconds, is_cached);
        events.call_method1("compiled", parts)?;
    }
    Ok(())
}

/// Reports the first launch of a kernel on the simulator with tensors that could be on a GPU.
///
/// # Errors
/// The warning, if the program makes warnings exceptions.
pub(crate) fn simulated(py: Python<'_>, kernel: &str) -> PyResult<()> {
    py.import("hx._events")?.call_method1("simulated", (kernel,)).map(drop)
}
