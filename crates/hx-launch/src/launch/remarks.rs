//! Kernels and refusals as remarks about launches write them.

use hx_host::device::LaunchError;

/// Formats a kernel with compile-time arguments, of which there may be none.
pub(super) fn with_arguments(kernel: &str, arguments: &str) -> String {
    if arguments.is_empty() { kernel.to_owned() } else { format!("{kernel}<{arguments}>") }
}

/// Returns the reason of a refused launch in one line.
pub(super) fn reason(error: LaunchError) -> String {
    let (error, found) = error.into_parts();
    found.into_iter().next().map_or(error.message, |first| first.message)
}
