//! The memories.

use serde::Deserialize;

/// The memory in which a tensor lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    Global,
    Shared,
    Register,
}

impl Space {
    /// Reports whether each thread holds its own elements, as values. Elements of other memories have an address, and operations
    /// on values load them first.
    pub fn is_held(self) -> bool {
        match self {
            Space::Register => true,
            Space::Global | Space::Shared => false,
        }
    }

    /// Returns the word for the memory in the catalogue and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Register => "register",
        }
    }
}
