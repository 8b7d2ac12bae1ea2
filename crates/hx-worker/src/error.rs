//! The errors of a worker, as values.

use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::{CudaFault, RemoteError};

/// The reason why a request to the worker failed. After each of these errors the client is usable: if the worker is gone, the
/// next request starts a new one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The worker's executable could not be started.
    #[error("cannot start the worker `{}`: {reason}", program.display())]
    Spawn {
        /// The path of the executable.
        program: PathBuf,
        /// The system's reason, as text.
        reason: String,
    },
    /// The worker died before it answered.
    #[error("the worker process died while {during}: {status}")]
    Crashed {
        /// The operation, such as `compiling`.
        during: String,
        /// The exit of the worker: `signal 11`, `exit status 3`.
        status: String,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// The worker did not answer in time and was killed.
    #[error("the worker gave no answer within {after:?} while {during} and was stopped")]
    Deadline {
        /// The operation, such as `compiling`.
        during: String,
        /// The time limit of the whole request.
        after: Duration,
    },
    /// The caller cancelled, and the worker was killed.
    #[error("cancelled while {during}")]
    Cancelled {
        /// The operation, such as `compiling`.
        during: String,
    },
    /// The worker does not speak this protocol.
    #[error("the worker answered out of protocol while {during}: {reason}")]
    Protocol {
        /// The operation, such as `compiling`.
        during: String,
        /// The violation, as text for the user.
        reason: String,
    },
    /// The buffer belongs to a worker that is gone.
    #[error("the buffer was lost when its worker was restarted")]
    LostBuffer,
    /// An error that the worker reported.
    #[error("{0}")]
    Remote(#[from] RemoteError),
}

impl WorkerError {
    /// Returns the driver's fault, if the error is one.
    pub fn cuda_fault(&self) -> Option<&CudaFault> {
        match self {
            WorkerError::Remote(RemoteError::Cuda(fault)) => Some(fault),
            _ => None,
        }
    }
}
