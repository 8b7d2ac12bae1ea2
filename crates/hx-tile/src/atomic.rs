//! Atomic accesses: their operands, and what they order.

use hx_dtype::AtomicOp;

use crate::{TensorId, View};

/// An atomic access to every element of a view of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atomic {
    pub op: AtomicOp,
    /// The register tensor whose elements the operation stores or combines with memory; a load sets it.
    pub value: TensorId,
    /// The values that a compare-exchange expects in memory; `None` for another operation.
    pub compare: Option<TensorId>,
    /// Gets the elements as they were before; `None` if nobody uses them.
    pub old: Option<TensorId>,
    pub memory: View,
    pub order: MemoryOrder,
    pub scope: MemoryScope,
}

/// The order of an atomic access relative to other accesses of the same threads (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum MemoryOrder {
    Relaxed,
    /// Later accesses come after it.
    Acquire,
    /// Earlier accesses come before it.
    Release,
    AcquireRelease,
}

/// The threads for which an access is atomic and ordered (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum MemoryScope {
    Block,
    Cluster,
    Gpu,
    System,
}

impl MemoryOrder {
    /// All orders, the weaker ones first.
    pub const ALL: [MemoryOrder; 4] =
        [MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcquireRelease];

    /// Returns the word of the language.
    pub fn name(self) -> &'static str {
        match self {
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcquireRelease => "acq_rel",
        }
    }

    /// Reports whether later accesses of the thread stay after this one.
    pub fn acquires(self) -> bool {
        matches!(self, MemoryOrder::Acquire | MemoryOrder::AcquireRelease)
    }

    /// Reports whether earlier accesses of the thread stay before this one.
    pub fn releases(self) -> bool {
        matches!(self, MemoryOrder::Release | MemoryOrder::AcquireRelease)
    }
}

impl MemoryScope {
    /// All scopes, from the fewest threads to the most.
    pub const ALL: [MemoryScope; 4] =
        [MemoryScope::Block, MemoryScope::Cluster, MemoryScope::Gpu, MemoryScope::System];

    /// Returns the word of the language.
    pub fn name(self) -> &'static str {
        match self {
            MemoryScope::Block => "block",
            MemoryScope::Cluster => "cluster",
            MemoryScope::Gpu => "gpu",
            MemoryScope::System => "system",
        }
    }
}

impl Atomic {
    /// Reports whether the access is a load, whose register tensor is a result.
    pub fn is_load(&self) -> bool {
        self.op == AtomicOp::Load
    }

    /// Returns the register tensors that the operation sets: results before operands.
    pub fn results(&self) -> impl Iterator<Item = TensorId> {
        self.is_load().then_some(self.value).into_iter().chain(self.old)
    }

    /// Returns the register tensors that the operation reads: values, then the indices of the view.
    pub fn operands(&self) -> impl Iterator<Item = TensorId> {
        let value = (!self.is_load()).then_some(self.value);
        value.into_iter().chain(self.compare).chain(self.memory.picks().iter().map(|pick| pick.index))
    }

    /// Returns the register tensors beside the value, which have its distribution.
    pub fn companions(&self) -> impl Iterator<Item = TensorId> {
        let picks = self.memory.picks().iter().map(|pick| pick.index);
        self.old.into_iter().chain(self.compare).chain(picks)
    }

    /// Returns the order and scope as in the source, without those that are the default for this memory.
    pub fn meaning_text(&self) -> String {
        let mut out = String::new();
        if self.order != MemoryOrder::Relaxed {
            out += &format!(", order: {}", self.order.name());
        }
        if self.scope != MemoryScope::of(self.memory.base) {
            out += &format!(", scope: {}", self.scope.name());
        }
        out
    }
}

impl MemoryScope {
    /// Returns the scope of an atomic access that names none.
    pub fn of(base: crate::Base) -> MemoryScope {
        match base {
            crate::Base::Global(_) => MemoryScope::Gpu,
            crate::Base::Shared(_) | crate::Base::Register(_) => MemoryScope::Block,
        }
    }
}
