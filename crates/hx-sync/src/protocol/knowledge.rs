//! Vector clocks: the events of other agents that an agent knows to have happened.

/// The time of an access: a component of the clocks, and the time on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epoch {
    pub(crate) component: usize,
    pub(crate) time: u32,
}

/// For each component the first time that is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Knowledge(Vec<u32>);

impl Knowledge {
    pub(crate) fn nothing(components: usize) -> Knowledge {
        Knowledge(vec![0; components])
    }

    pub(crate) fn join(&mut self, other: &Knowledge) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    /// Adds knowledge to that which arrived before; `None` if none did.
    pub(crate) fn add_to(self, before: &mut Option<Knowledge>) {
        match before {
            Some(before) => before.join(&self),
            None => *before = Some(self),
        }
    }

    /// Reports whether this knowledge includes all of `other`.
    pub(crate) fn covers(&self, other: &Knowledge) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine >= theirs)
    }

    /// Learns of everything on a component before `time`.
    pub(crate) fn learn(&mut self, component: usize, time: u32) {
        self.0[component] = self.0[component].max(time);
    }

    pub(crate) fn knows(&self, epoch: Epoch) -> bool {
        epoch.time < self.0[epoch.component]
    }
}
