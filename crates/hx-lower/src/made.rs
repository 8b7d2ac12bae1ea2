//! The calls of the source that made the views of global memory.

use std::sync::Arc;

use hx_tile::{Base, OpKind, Origin, ParamId};

use crate::cx::Cx;
use crate::error::Place;
use crate::value::SymView;

/// A call of `tile` or `global_view`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    pub call: Place,
    /// The value of its argument `pad:`, if it has one.
    pub pad: Option<Place>,
}

/// The call that made a view, if one did. Equality ignores it, so views of the same elements are equal wherever they were made.
#[derive(Clone, Default, Debug)]
pub(crate) struct MadeBy(pub(crate) Option<Arc<Made>>);

impl PartialEq for MadeBy {
    fn eq(&self, _: &MadeBy) -> bool {
        true
    }
}

impl Cx<'_> {
    /// Remembers the call that made a view, until an operation reads the view.
    pub(crate) fn note_made(&mut self, view: &SymView) {
        if let (Base::Global(param), Some(made)) = (view.base, &view.made.0) {
            self.noted.push((param, made.clone()));
        }
    }

    /// Records the call that made the view, for an operation that reads global memory through it.
    pub(crate) fn record_made(&mut self, kind: &OpKind, origin: Origin) {
        let read = if let OpKind::Copy { src, .. } | OpKind::CopyAsync { src, .. } = kind {
            src.base
        } else if let OpKind::Atomic(atomic) = kind {
            atomic.memory.base
        } else {
            return;
        };
        let Base::Global(param) = read else { return };
        let Some(at) = self.noted.iter().rposition(|(of, _)| *of == param) else { return };
        let (_, made) = self.noted.remove(at);
        let known = self.made.entry(origin).or_default();
        if !known.iter().any(|(of, other)| *of == param && *other == *made) {
            known.push((param, (*made).clone()));
        }
    }
}

impl crate::Sources {
    /// Returns the call that made the view of a parameter that operations of this origin read; `None` if it is a part of the parameter
    /// itself, or if there are several.
    pub fn made(&self, origin: Origin, param: ParamId) -> Option<&Made> {
        let mut own = self.made.get(&origin)?.iter().filter(|(of, _)| *of == param);
        let (_, made) = own.next()?;
        own.next().is_none().then_some(made)
    }
}
