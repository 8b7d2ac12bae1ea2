//! What can go wrong on the host side, as plain data: a kind, a message, and lines of detail.
//!
//! It knows no places in the source: the evaluator adds the expression, the driver the span.

use std::fmt;

/// The family of a host error; each has one stable code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ErrorKind {
    /// A value of the wrong type.
    Type,
    /// Shapes that do not fit together.
    Shape,
    /// An index or a range outside of its dimension.
    Index,
    /// Integer overflow, division by zero.
    Arithmetic,
    /// A call with missing, unknown or unfit arguments.
    Call,
    /// A name that the host side does not know.
    Name,
    /// A file that cannot be read or written, or that does not hold what its name says.
    File,
    /// An `assert`, `assert_eq` or `assert_close` that does not hold.
    Assertion,
    /// A part of the language that this version does not evaluate.
    Unsupported,
    /// A launch that does not satisfy the kernel's signature or its `where` clauses.
    Launch,
    /// A kernel that failed while it ran.
    Run,
    /// A kernel that has no program, because checking it found errors.
    Kernel,
    /// Something that the machine lacks.
    Environment,
    /// The evaluation was stopped from outside.
    Cancelled,
}

impl ErrorKind {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            ErrorKind::Type => "HX0601",
            ErrorKind::Shape => "HX0602",
            ErrorKind::Index => "HX0603",
            ErrorKind::Arithmetic => "HX0604",
            ErrorKind::Call => "HX0605",
            ErrorKind::Name => "HX0606",
            ErrorKind::File => "HX0607",
            ErrorKind::Assertion => "HX0608",
            ErrorKind::Unsupported => "HX0609",
            ErrorKind::Launch => "HX0610",
            ErrorKind::Run => "HX0611",
            ErrorKind::Kernel => "HX0612",
            ErrorKind::Environment => "HX0613",
            ErrorKind::Cancelled => "HX0614",
        }
    }
}

/// A host error: one line of message, then notes and perhaps a way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostError {
    pub kind: ErrorKind,
    /// Lower-case start, no final stop, code in backticks.
    pub message: String,
    /// Further lines, in order.
    pub notes: Vec<String>,
    /// What would resolve it.
    pub help: Option<String>,
}

/// The result of a host operation.
pub type HostResult<T> = Result<T, HostError>;

impl HostError {
    /// An error with a message only.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> HostError {
        HostError { kind, message: message.into(), notes: Vec::new(), help: None }
    }

    /// [`ErrorKind::Type`].
    pub fn ty(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::Type, message)
    }

    /// [`ErrorKind::Shape`].
    pub fn shape(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::Shape, message)
    }

    /// [`ErrorKind::Index`].
    pub fn index(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::Index, message)
    }

    /// [`ErrorKind::Arithmetic`].
    pub fn arithmetic(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::Arithmetic, message)
    }

    /// [`ErrorKind::Call`].
    pub fn call(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::Call, message)
    }

    /// [`ErrorKind::File`].
    pub fn file(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::File, message)
    }

    /// [`ErrorKind::Launch`].
    pub fn launch(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::Launch, message)
    }

    /// [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> HostError {
        HostError::new(ErrorKind::Unsupported, message)
    }

    /// The same with one more note.
    pub fn note(mut self, note: impl Into<String>) -> HostError {
        self.notes.push(note.into());
        self
    }

    /// The same with a way out.
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
