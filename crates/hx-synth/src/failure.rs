//! Failures: the reasons why a program has no solution.

use std::collections::BTreeSet;

use hx_target::Target;
use hx_tile::{OpId, TensorId};

use crate::edits::Move;

/// The reason why a program has no layouts: the demand that fails, the operations that take part, and what would help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// The message, in one sentence: what was found, then what was expected.
    pub message: String,
    /// The operation at which the failure shows; `None` if it shows at no single one.
    pub op: Option<OpId>,
    /// The other operations and tensors that take part, each with its demand.
    pub parts: Vec<Part>,
    /// Changes that would resolve the failure.
    pub help: Vec<Help>,
}

/// Advice for a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Help {
    pub text: String,
    /// The advice is about the warps that the source pins.
    pub of_warps: bool,
}

/// The kind of a failure. It decides the code of the diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// Demands on one layout that contradict each other.
    Conflict,
    /// A pinned layout that does not fit its tensor, regardless of other demands.
    Pin,
    /// No instruction of the target implements an operation.
    NoInstruction,
    /// The block needs more shared memory or threads than the target has.
    Resource,
    /// A register tensor exceeds the registers of a block.
    Registers,
    /// The caller cancelled.
    Cancelled,
}

/// A failure with the moves of values between threads that might repair it.
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub(crate) failure: Failure,
    pub(crate) moves: BTreeSet<Move>,
}

impl From<Failure> for Blocked {
    fn from(failure: Failure) -> Blocked {
        Blocked { failure, moves: BTreeSet::new() }
    }
}

/// An operation or tensor that takes part in a conflict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub op: Option<OpId>,
    pub tensor: Option<TensorId>,
    pub text: String,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), op: None, parts: Vec::new(), help: Vec::new() }
    }

    /// Reports that a program lacks the requested candidate.
    pub fn no_candidate(number: usize, count: usize) -> Failure {
        let all = if count == 1 { "1 candidate".to_owned() } else { format!("{count} candidates") };
        let message = format!("found {all}, counted from 0, expected number {number}");
        Failure::new(FailureKind::NoInstruction, message)
            .help("`hx layout why FILE KERNEL --candidates` lists them")
    }

    pub(crate) fn cancelled() -> Failure {
        Failure::new(FailureKind::Cancelled, "the search was cancelled")
    }

    pub(crate) fn at(mut self, op: OpId) -> Failure {
        self.op = Some(op);
        self
    }

    pub(crate) fn part(
        mut self,
        op: Option<OpId>,
        tensor: Option<TensorId>,
        text: impl Into<String>,
    ) -> Failure {
        self.parts.push(Part { op, tensor, text: text.into() });
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Failure {
        self.help.push(Help { text: text.into(), of_warps: false });
        self
    }

    /// Adds a help that names the first later architecture for which `can` holds, if there is one.
    pub(crate) fn or_later(self, target: Target, can: impl Fn(Target) -> bool) -> Failure {
        match first_later(target, can) {
            Some(text) => self.help(text),
            None => self,
        }
    }
}

/// Returns a text that names the first architecture after `target` for which `can` holds; `None` if there is none.
pub fn first_later(target: Target, can: impl Fn(Target) -> bool) -> Option<String> {
    let mut later = Target::all().iter().filter(|other| other.capability > target.capability);
    later.find(|other| can(**other)).map(|first| {
        let [major, minor] = first.capability;
        format!("there is one from sm_{major}{minor} on")
    })
}
