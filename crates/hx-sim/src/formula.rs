//! Compiled integer expressions: every expression of a program is compiled once for a launch.
//!
//! The symbols of the launch are constants by then. A subexpression that depends on the thread index alone becomes a table. A
//! uniform subexpression is computed once for all threads, and only the rest is computed for each thread. An expression without a
//! value (a division by zero, an overflow) is kept, so that its error appears only if it is evaluated.

mod compiler;
mod condition;
mod node;

use std::sync::Arc;

use hx_index::{EvalError, Expr};

pub(crate) use compiler::Compiler;
pub(crate) use condition::Test;
use node::{Node, Wrong};

/// The value of a symbol at compile time.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Known(i64),
    Table(Arc<[i64]>),
    /// A uniform integer that changes while the block runs.
    Slot(u32),
    /// An integer of each thread that changes while the block runs.
    Lanes(u32),
}

/// The integers of one agent at one point of its run.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    pub(crate) slots: Vec<i64>,
    pub(crate) lanes: Vec<Vec<i64>>,
    pool: Vec<Vec<i64>>,
    masks: Vec<Vec<bool>>,
    threads: usize,
}

impl Env {
    pub(crate) fn new(slots: usize, lanes: usize, threads: usize) -> Env {
        Env {
            slots: vec![0; slots],
            lanes: vec![vec![0; threads]; lanes],
            pool: Vec::new(),
            masks: Vec::new(),
            threads,
        }
    }

    fn take(&mut self) -> Vec<i64> {
        self.pool.pop().unwrap_or_else(|| vec![0; self.threads])
    }

    fn take_mask(&mut self) -> Vec<bool> {
        self.masks.pop().unwrap_or_else(|| vec![false; self.threads])
    }
}

/// The reason why an evaluation failed, and the thread in which it failed; `None` for a uniform expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Failure {
    pub(crate) error: EvalError,
    pub(crate) thread: Option<usize>,
}

/// Reports whether the mask is empty: then nothing is evaluated, and nothing can fail.
fn nobody(mask: Option<&[bool]>) -> bool {
    mask.is_some_and(|m| !m.contains(&true))
}

/// A compiled integer expression.
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    node: Node,
    /// The original expression, for messages.
    source: Expr,
}

impl Formula {
    /// Reports whether threads may get different values.
    pub(crate) fn varying(&self) -> bool {
        self.node.varying()
    }

    /// Returns the binding of a local integer with this value, if the value is known at compile time; otherwise `None`.
    pub(crate) fn known(&self) -> Option<Binding> {
        match &self.node {
            Node::Const(c) => Some(Binding::Known(*c)),
            Node::Table(t) => Some(Binding::Table(t.clone())),
            _ => None,
        }
    }

    /// Returns the value of each thread, if it stays the same while a block runs; otherwise `None`.
    pub(crate) fn as_table(&self, threads: usize) -> Option<Vec<i64>> {
        match &self.node {
            Node::Const(c) => Some(vec![*c; threads]),
            Node::Table(t) => Some(t.to_vec()),
            _ => None,
        }
    }

    pub(crate) fn as_const(&self) -> Option<i64> {
        match self.node {
            Node::Const(c) => Some(c),
            _ => None,
        }
    }

    /// Returns the value of a formula that does not vary.
    ///
    /// # Errors
    /// If it has no value: an overflow, or a division by 0.
    pub(crate) fn scalar(&self, env: &Env) -> Result<i64, Failure> {
        self.node.scalar(env).map_err(|w| self.failure(w))
    }

    /// Computes the value for each thread. Threads off the mask get an arbitrary value and never fail.
    pub(crate) fn lanes(&self, env: &mut Env, mask: Option<&[bool]>, out: &mut [i64]) -> Result<(), Failure> {
        if nobody(mask) {
            return Ok(());
        }
        self.node.lanes(env, mask, out).map_err(|w| self.failure(w))
    }

    fn failure(&self, (wrong, thread): (Wrong, Option<usize>)) -> Failure {
        let text = self.source.to_string();
        let error = match wrong {
            // The message names the division alone, if the expression has only one.
            Wrong::DivisionByZero => EvalError::DivisionByZero(match self.source.divisions().as_slice() {
                [only] => only.to_string(),
                _ => text,
            }),
            Wrong::Overflow => EvalError::Overflow(text),
        };
        Failure { error, thread }
    }
}
