//! What can go wrong with a worker, as values.

use std::path::PathBuf;
use std::time::Duration;

use crate::protocol::{CudaFault, RemoteError};

/// Why a request to the worker came to nothing.
/// After each of these the client is usable: the next request starts a fresh worker where the old one is gone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The worker's executable could not be started.
    #[error("cannot start the worker `{}`: {reason}", program.display())]
    Spawn {
        /// The executable.
        program: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The worker died before it answered.
    #[error("the worker process died while {during}: {status}")]
    Crashed {
        /// What it was asked to do, as in `compiling`.
        during: String,
        /// How it ended: `signal 11`, `exit status 3`.
        status: String,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// The worker did not answer in time and was killed.
    #[error("the worker gave no answer within {after:?} while {during} and was stopped")]
    Deadline {
        /// What it was asked to do.
        during: String,
        /// The time that it had.
        after: Duration,
    },
    /// The caller gave up; the worker was killed.
    #[error("cancelled while {during}")]
    Cancelled {
        /// What the worker was asked to do.
        during: String,
    },
    /// The worker does not speak this protocol.
    #[error("the worker answered out of protocol while {during}: {reason}")]
    Protocol {
        /// What it was asked to do.
        during: String,
        /// What was wrong.
        reason: String,
    },
    /// A buffer was made by a worker that is gone.
    #[error("the buffer was lost when its worker was restarted")]
    LostBuffer,
    /// The worker's own report.
    #[error("{0}")]
    Remote(#[from] RemoteError),
}

impl WorkerError {
    /// The driver's fault, when it was one.
    pub fn cuda_fault(&self) -> Option<&CudaFault> {
        match self {
            WorkerError::Remote(RemoteError::Cuda(fault)) => Some(fault),
            _ => None,
        }
    }
}
