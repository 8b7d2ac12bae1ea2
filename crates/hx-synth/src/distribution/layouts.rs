//! The layouts of register tensors, as far as the solver knows them.

use std::ops::Index;
use std::rc::Rc;

use hx_tile::{Reason, TensorId};

use crate::distribution::ThreadValueLayout;

/// A layout with the reason for it.
#[derive(Clone, Debug)]
pub(crate) struct ReasonedLayout {
    pub(crate) layout: Rc<ThreadValueLayout>,
    pub(crate) reason: Reason,
    /// The pinned tensor, if the layout follows from that pin alone.
    pub(crate) pin: Option<TensorId>,
}

/// The layouts of a program's register tensors, as far as they are known. Clones share the known layouts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layouts(Vec<Option<Rc<ReasonedLayout>>>);

impl Layouts {
    pub(crate) fn new(tensors: usize) -> Layouts {
        Layouts(vec![None; tensors])
    }

    pub(crate) fn get(&self, tensor: TensorId) -> Option<&Rc<ReasonedLayout>> {
        self.0[tensor.0 as usize].as_ref()
    }

    pub(crate) fn set(&mut self, tensor: TensorId, reasoned: Rc<ReasonedLayout>) {
        self.0[tensor.0 as usize] = Some(reasoned);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (TensorId, &Rc<ReasonedLayout>)> {
        self.0.iter().zip(0u32..).filter_map(|(reasoned, i)| Some((TensorId(i), reasoned.as_ref()?)))
    }
}

impl Index<TensorId> for Layouts {
    type Output = ReasonedLayout;

    /// Returns the layout of a tensor, which must be known.
    fn index(&self, tensor: TensorId) -> &ReasonedLayout {
        self.0[tensor.0 as usize].as_ref().expect("the layout of every register tensor is known by now")
    }
}
