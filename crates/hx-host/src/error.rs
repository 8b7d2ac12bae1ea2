//! Errors of the host side as plain data: a code, a message and further lines.
//!
//! A [`HostError`] has no place. The evaluator adds the expression ([`crate::eval::EvalError`]).

use std::fmt;

use hx_base::{Code, Label, codes};

/// A host error: one line of message, then notes and possibly a help line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostError {
    pub code: &'static Code,
    /// Starts in lower case, ends without a full stop, with code in backticks.
    pub message: String,
    /// Further lines of explanation, in order.
    pub notes: Vec<String>,
    /// Other places that are involved, such as the declaration of a kernel's parameter.
    pub labels: Vec<Label>,
    /// A suggestion that resolves the error.
    pub help: Option<String>,
}

/// The result of a host operation.
pub type HostResult<T> = Result<T, HostError>;

impl HostError {
    /// Makes an error with a message only.
    pub fn new(code: &'static Code, message: impl Into<String>) -> HostError {
        HostError { code, message: message.into(), notes: Vec::new(), labels: Vec::new(), help: None }
    }

    /// Reports a value of the wrong type.
    pub fn ty(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// Reports shapes that do not fit together.
    pub fn shape(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_SHAPE_MISMATCH, message)
    }

    /// Reports an index or a range outside of its dimension.
    pub fn index(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// Reports integer overflow or division by zero.
    pub fn arithmetic(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// Reports a call with missing, unknown or unsuitable arguments.
    pub fn call(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// Reports a part of the language that this version does not evaluate.
    pub fn unsupported(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// Reports an `.npy` file with invalid contents.
    pub fn npy(message: impl Into<String>) -> HostError {
        HostError::new(&codes::MALFORMED_NPY, message)
    }

    /// Reports an assertion that does not hold.
    pub fn assertion(message: impl Into<String>) -> HostError {
        HostError::new(&codes::ASSERTION_FAILED, message)
    }

    /// Reports that the evaluation was ended early.
    pub fn stopped() -> HostError {
        HostError::new(&codes::TIME_LIMIT, "stopped here, before the end")
            .help("`--timeout SECONDS` changes the limit")
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> HostError {
        self.notes.push(note.into());
        self
    }

    /// Adds a label at another place.
    #[must_use]
    pub fn label(mut self, label: Label) -> HostError {
        self.labels.push(label);
        self
    }

    /// Adds a help line.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> HostError {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        for note in &self.notes {
            write!(f, "\n  {}", note.replace('\n', "\n  "))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for HostError {}
