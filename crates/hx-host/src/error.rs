//! What can go wrong on the host side, as plain data: a code, a message, and lines of detail.
//!
//! A [`HostError`] knows no place of its own: the evaluator adds the expression ([`crate::eval::EvalError`]).

use std::fmt;

use hx_base::{Code, Label, codes};

/// A host error: one line of message, then notes and perhaps a way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostError {
    pub code: &'static Code,
    /// Lower-case start, no final stop, code in backticks.
    pub message: String,
    /// Further lines, in order.
    pub notes: Vec<String>,
    /// Places that take part, such as the declaration of a kernel's parameter.
    pub labels: Vec<Label>,
    /// What would resolve it.
    pub help: Option<String>,
}

/// The result of a host operation.
pub type HostResult<T> = Result<T, HostError>;

impl HostError {
    /// An error with a message only.
    pub fn new(code: &'static Code, message: impl Into<String>) -> HostError {
        HostError { code, message: message.into(), notes: Vec::new(), labels: Vec::new(), help: None }
    }

    /// A value of the wrong type.
    pub fn ty(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// Shapes that do not fit together.
    pub fn shape(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_SHAPE_MISMATCH, message)
    }

    /// An index or a range outside of its dimension.
    pub fn index(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// Integer overflow or division by zero.
    pub fn arithmetic(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// A call with missing, unknown or unfit arguments.
    pub fn call(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// A part of the language that this version does not evaluate.
    pub fn unsupported(message: impl Into<String>) -> HostError {
        HostError::new(&codes::HOST_ERROR, message)
    }

    /// A file that does not hold what its name says.
    pub fn npy(message: impl Into<String>) -> HostError {
        HostError::new(&codes::MALFORMED_NPY, message)
    }

    /// An assertion that does not hold.
    pub fn assertion(message: impl Into<String>) -> HostError {
        HostError::new(&codes::ASSERTION_FAILED, message)
    }

    /// The evaluation was stopped from outside.
    pub fn stopped() -> HostError {
        HostError::new(&codes::TIME_LIMIT, "stopped here, before the end")
            .help("`--timeout SECONDS` changes the limit")
    }

    /// The same with one more note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> HostError {
        self.notes.push(note.into());
        self
    }

    /// The same with one more place.
    #[must_use]
    pub fn label(mut self, label: Label) -> HostError {
        self.labels.push(label);
        self
    }

    /// The same with a way out.
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
