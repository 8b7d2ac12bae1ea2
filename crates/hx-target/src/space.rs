//! The memories, with the properties by which stages treat tensors in them.

use std::sync::LazyLock;

use serde::Deserialize;

/// The memory in which a tensor lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    Global,
    Shared,
    Register,
}

/// A memory with its properties: a row of `catalogue/space.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpaceRow {
    #[serde(rename = "name")]
    pub space: Space,
    pub holder: Holder,
    /// By whom an element is addressed; none if instructions name its place.
    pub addressed: Vec<Addressing>,
    pub allocation: Allocation,
}

/// The threads that have an element of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// One thread has it as a value.
    Thread,
    Block,
    Grid,
}

/// The one that computes the address of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Addressing {
    /// Each thread that accesses it.
    Thread,
    /// The instruction, from a descriptor of the whole operand.
    Descriptor,
}

/// The one that reserves the memory of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allocation {
    /// The CUDA compiler: the tensor is an array of variables.
    Compiler,
    /// The launch, for each block: the solver places the tensor in the bytes of the block.
    Launch,
    /// The caller of the kernel.
    Caller,
}

impl Space {
    /// Returns the word for the memory in the catalogue and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Register => "register",
        }
    }

    /// Returns the properties of the memory. They do not depend on the target, as those of a form of instructions do not: a target without
    /// the memory has no instructions that access it.
    pub fn row(self) -> &'static SpaceRow {
        &table()[self as usize]
    }

    /// Reports whether a thread has each element as a value. Elements of other memories have an address, and operations on values load
    /// them first.
    pub fn is_held(self) -> bool {
        self.row().holder == Holder::Thread
    }
}

/// Returns the table of `catalogue/space.toml`, in the order of the enumeration, which a test compares.
pub(crate) fn table() -> &'static [SpaceRow] {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        space: Vec<SpaceRow>,
    }
    static TABLE: LazyLock<Vec<SpaceRow>> = LazyLock::new(|| {
        let read = toml::from_str(include_str!("../catalogue/space.toml"));
        let File { space } = read.unwrap_or_else(|e| panic!("space.toml is malformed: {e}"));
        space
    });
    &TABLE
}
