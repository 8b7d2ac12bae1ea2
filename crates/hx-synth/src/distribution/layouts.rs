//! The layouts of register tensors, as far as the solver knows them.

use std::ops::Index;
use std::rc::Rc;

use hx_tile::{Reason, TensorId};

use crate::distribution::Tv;

/// A layout with the reason for it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) tv: Rc<Tv>,
    pub(crate) reason: Reason,
    /// The pinned tensor, if the layout follows from that pin alone.
    pub(crate) pin: Option<TensorId>,
}

/// The layouts of a program's register tensors, as far as they are known. Clones share the known layouts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layouts(Vec<Option<Rc<Known>>>);

impl Layouts {
    pub(crate) fn new(tensors: usize) -> Layouts {
        Layouts(vec![None; tensors])
    }

    pub(crate) fn get(&self, tensor: TensorId) -> Option<&Rc<Known>> {
        self.0[tensor.0 as usize].as_ref()
    }

    pub(crate) fn set(&mut self, tensor: TensorId, known: Rc<Known>) {
        self.0[tensor.0 as usize] = Some(known);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (TensorId, &Rc<Known>)> {
        self.0.iter().zip(0u32..).filter_map(|(known, i)| Some((TensorId(i), known.as_ref()?)))
    }
}

impl Index<TensorId> for Layouts {
    type Output = Known;

    /// Returns the layout of a tensor, which must be known.
    fn index(&self, tensor: TensorId) -> &Known {
        self.0[tensor.0 as usize].as_ref().expect("the layout of every register tensor is known by now")
    }
}
