//! The values that an interactive session keeps between its cells, and their restoration after a cell fails.

use std::collections::BTreeMap;

use hx_hir::{Item, Name, Sound, top_level_pats};

use super::{EvalResult, Session};
use crate::tensor::{Saved, Tensor};
use crate::value::Value;

/// The values of a session.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The values that cells bound, by name.
    pub values: BTreeMap<Name, Value>,
    /// `_`: the last value of a cell.
    pub last: Option<Value>,
    /// The number of random calls without a seed so far, so that each cell draws new numbers.
    pub draws: u64,
}

/// An environment with the contents of its tensors.
#[derive(Debug)]
pub struct Checkpoint {
    environment: Environment,
    /// The contents of the tensors' buffers, by [`Tensor::buffer_id`].
    contents: BTreeMap<u64, Saved>,
}

impl Environment {
    /// Saves the environment and its tensors. No bytes are copied until something writes them.
    pub fn checkpoint(&self) -> Checkpoint {
        let mut contents = BTreeMap::new();
        let mut save = |tensor: &Tensor| {
            contents.entry(tensor.buffer_id()).or_insert_with(|| tensor.save());
            tensor.clone()
        };
        let environment = self.map_tensors(&mut save);
        Checkpoint { environment, contents }
    }

    fn map_tensors(&self, map: &mut dyn FnMut(&Tensor) -> Tensor) -> Environment {
        Environment {
            values: self.values.iter().map(|(name, v)| (name.clone(), v.map_tensors(map))).collect(),
            last: self.last.as_ref().map(|v| v.map_tensors(map)),
            draws: self.draws,
        }
    }
}

impl Checkpoint {
    /// Returns the environment as it was. Its tensors have new buffers, so an abandoned evaluation that still writes does not
    /// reach them.
    pub fn restore(self) -> Environment {
        let Checkpoint { environment, mut contents } = self;
        environment.map_tensors(&mut |tensor| match contents.get_mut(&tensor.buffer_id()) {
            Some(saved) => saved.view(tensor),
            None => tensor.clone(),
        })
    }
}

impl<'a> Session<'a> {
    /// Runs the statements of a cell. On success the environment receives their bindings and their value.
    ///
    /// # Errors
    /// If a statement fails. The environment is then unchanged, but writes into tensors remain; a [`Checkpoint`] can undo them.
    pub fn run_cell(&mut self, item: Sound<Item<'a>>, environment: &mut Environment) -> EvalResult<Value> {
        self.draws = environment.draws;
        self.environment = Some(environment.clone());
        let mut frame = self.frame(item);
        let (body, root) = (frame.body, frame.body.root);
        let result = frame.expr(root);
        let locals = frame.locals;
        let after = self.environment.take();
        let value = result?;
        let mut after = after.unwrap_or_default();
        for (pat, name) in top_level_pats(&body.store, root) {
            if let Some(value) = locals.get(pat) {
                after.values.insert(name, value.clone());
            }
        }
        if !matches!(value, Value::Unit) {
            after.last = Some(value.clone());
        }
        after.draws = self.draws;
        *environment = after;
        Ok(value)
    }
}
