//! The places in the source that operations and tensors come from.

use std::collections::HashMap;

use hx_tile::Origin;

use crate::error::Place;

/// The place in the source that an operation or tensor comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OriginPlace {
    pub place: Place,
    /// The call that inlined the function around `place`; `None` if `place` is in the kernel itself.
    pub call: Option<Origin>,
}

/// Gives each place one number.
#[derive(Default)]
pub(crate) struct Origins {
    /// Indexed by [`Origin`].
    places: Vec<OriginPlace>,
    known: HashMap<OriginPlace, Origin>,
}

impl Origins {
    /// Returns the number of a place.
    pub(crate) fn number(&mut self, place: OriginPlace) -> Origin {
        let next = Origin(self.places.len() as u32);
        let known = *self.known.entry(place.clone()).or_insert(next);
        if known == next {
            self.places.push(place);
        }
        known
    }

    /// Returns the place of a number.
    pub(crate) fn get(&self, origin: Origin) -> &OriginPlace {
        &self.places[origin.0 as usize]
    }

    /// Returns the places of a call and of the calls around it, innermost first.
    pub(crate) fn calls(&self, call: Option<Origin>) -> Vec<Place> {
        let calls =
            std::iter::successors(call.map(|call| self.get(call)), |at| at.call.map(|call| self.get(call)));
        calls.map(|at| at.place.clone()).collect()
    }

    /// Returns the place of each number.
    pub(crate) fn into_places(self) -> Vec<OriginPlace> {
        self.places
    }
}
