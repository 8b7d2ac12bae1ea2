//! The arguments of a call, as the function takes them.

use std::collections::VecDeque;

use hx_hir::Name;

use crate::error::{HostError, HostResult};
use crate::value::Value;

/// The arguments of one call, taken in the order of the parameters.
#[derive(Debug)]
pub(super) struct Args {
    function: String,
    positional: VecDeque<Value>,
    named: Vec<(Name, Value)>,
}

impl Args {
    /// Makes the arguments of a call of `function`; the value that a method is called on comes first.
    pub(super) fn new(function: &str, receiver: Option<Value>) -> Args {
        Args { function: function.to_owned(), positional: receiver.into_iter().collect(), named: Vec::new() }
    }

    /// Adds an argument, by its name if it has one.
    pub(super) fn push(&mut self, name: Option<&Name>, value: Value) {
        match name {
            Some(name) => self.named.push((name.clone(), value)),
            None => self.positional.push_back(value),
        }
    }

    /// Takes the next positional argument, or else the one of that name. `None` without either.
    pub(super) fn optional(&mut self, name: &str) -> Option<Value> {
        self.positional.pop_front().or_else(|| self.named(name))
    }

    /// Takes an argument like [`Args::optional`].
    ///
    /// # Errors
    /// If the argument is missing.
    pub(super) fn required(&mut self, name: &str) -> HostResult<Value> {
        let missing = || HostError::call(format!("`{}` lacks its argument `{name}`", self.function));
        let error = missing();
        self.optional(name).ok_or(error)
    }

    /// Takes the argument of that name. `None` if the call has none, or it was taken before.
    pub(super) fn named(&mut self, name: &str) -> Option<Value> {
        let at = self.named.iter().position(|(n, _)| n == name)?;
        Some(self.named.remove(at).1)
    }

    /// Puts a value in the place of the argument of that name, or else of the first positional argument; does nothing without
    /// either.
    pub(super) fn replace(&mut self, name: &str, value: Value) {
        let named = self.named.iter_mut().find(|(n, _)| n == name).map(|(_, found)| found);
        if let Some(found) = named.or(self.positional.front_mut()) {
            *found = value;
        }
    }

    /// Takes all positional arguments.
    pub(super) fn rest(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.positional).into()
    }

    /// Checks that every argument was taken.
    ///
    /// # Errors
    /// If one was not; the error names it, or counts the positional ones.
    pub(super) fn finish(&self) -> HostResult<()> {
        if let Some((name, _)) = self.named.first() {
            return Err(HostError::call(format!("`{}` has no argument `{name}:` here", self.function)));
        }
        if !self.positional.is_empty() {
            let extra = self.positional.len();
            let s = if extra == 1 { "" } else { "s" };
            return Err(HostError::call(format!("`{}` has {extra} argument{s} too many", self.function)));
        }
        Ok(())
    }
}
