//! Absent libraries, drivers and devices as errors.

use hx_base::{Code, codes};
use hx_host::HostError;
use hx_worker::{Absence, Component};

/// Converts an absence to an error with the matching code.
pub fn absence_error(absence: &Absence) -> HostError {
    let code: &'static Code = match absence.component {
        Component::Nvrtc | Component::Disassembler => &codes::MISSING_NVRTC,
        Component::Driver | Component::Device => &codes::NO_GPU,
        Component::Cublas => &codes::MISSING_CUBLAS,
    };
    let mut error = HostError::new(code, absence.to_string());
    if !absence.looked_in.is_empty() {
        error = error.note(format!("looked in {}", absence.looked_in.join("; ")));
    }
    match &absence.help {
        Some(help) => error.help(help.clone()),
        None => error,
    }
}
