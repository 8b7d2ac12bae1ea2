//! Errors of requests and of the driver.

use cudarc::driver::result::DriverError;
use hx_worker::protocol::{CudaFault, RemoteError};

/// Makes the error of an invalid request.
pub(crate) fn bad(reason: &str) -> RemoteError {
    RemoteError::BadRequest(reason.to_owned())
}

/// Converts a driver error to a value.
pub(crate) fn fault(during: &str, error: DriverError) -> RemoteError {
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(|_| "unknown error".to_owned(), |text| text.to_string_lossy().into_owned())
    };
    let code = error.0 as u32;
    RemoteError::Cuda(CudaFault {
        during: during.to_owned(),
        code,
        name: text(error.error_name()),
        text: text(error.error_string()),
        sticky: is_sticky(code),
    })
}

/// Reports whether a context returns this error for every later call: faults of a kernel and of the memory.
fn is_sticky(code: u32) -> bool {
    matches!(code, 214 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 999)
}
