//! The data of a thread program.

use std::collections::BTreeMap;

use hx_dtype::DType;
use hx_index::{Expr, Symbol};
use hx_layout::Layout;
use hx_target::Target;
use hx_tile::{Origin, Requirement, Scope, ScopeId, TensorId, barriers_of};

use crate::{Body, Control, Counter, LogEntry, Memory, RegId, Role, Stmt, TensorMap};

/// A kernel, as every thread runs it.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadProgram {
    /// The kernel's name in the source.
    pub name: String,
    /// The architecture that the program is for.
    pub target: Target,
    /// In launch order: a pointer for each tensor, a value for each number. The kernel takes every symbol of
    /// [`ThreadProgram::symbols`] after them, as a 32-bit integer.
    pub params: Vec<Param>,
    /// The dimensions and strides that a parameter or the grid names, and the number of multiprocessors if the program reads
    /// it, in a fixed order. A launch binds them to values below 2³¹.
    pub symbols: Vec<Symbol>,
    /// The number of blocks along x, y and z, in terms of the symbols.
    pub grid: Vec<Expr>,
    /// The number of blocks of a cluster along x, y and z; `[1, 1, 1]` without clusters.
    pub cluster: [u32; 3],
    /// The scopes of the block, indexed by [`ScopeId`]. The first is the block.
    pub scopes: Vec<Scope>,
    /// The number of blocks that should fit a multiprocessor together, as far as registers go.
    pub blocks: u32,
    /// The conditions that a launch must satisfy.
    pub requires: Vec<Requirement>,
    pub shared: Vec<SharedBuffer>,
    /// The bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The tensors of global memory that bulk copies address. The kernel takes them after the symbols.
    pub maps: Vec<TensorMap>,
    /// The barriers in shared memory. They are ready before the body begins.
    pub barriers: Vec<Barrier>,
    /// The names of the named barriers that the source makes, by their numbers.
    pub named: BTreeMap<u32, String>,
    /// The counters that blocks draw from.
    pub counters: Vec<Counter>,
    /// The least and the greatest value of some locals that change.
    pub ranges: BTreeMap<Symbol, (i64, i64)>,
    /// The register tensors and the temporaries, indexed by [`RegId`].
    pub registers: Vec<RegisterArray>,
    /// The prints and assertions. If there are any, the kernel takes the address of a buffer as its last argument.
    pub log: Vec<LogEntry>,
    pub body: Body,
}

/// A parameter of the kernel that the source names. A launch also passes [`ThreadProgram::symbols`] and [`ThreadProgram::maps`].
#[derive(Clone, PartialEq, Debug)]
pub enum Param {
    Tensor(TensorParam),
    /// A run-time number, passed by value.
    Scalar {
        name: String,
        dtype: DType,
    },
}

/// A tensor in global memory.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorParam {
    pub name: String,
    pub dtype: DType,
    pub mutable: bool,
    pub shape: Vec<Expr>,
    pub stride: Vec<Expr>,
    /// The block in which the elements lie, if they do; the strides are then those of no element. Addresses of accesses contain it, and
    /// callers must know it.
    pub block: Option<Layout>,
    /// The alignment in bytes that a launch must give the pointer.
    pub align: u32,
}

/// A tensor in shared memory, or memory through which threads or blocks exchange values.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedBuffer {
    pub name: String,
    pub dtype: DType,
    /// The offset of the first byte in the block's shared memory.
    pub offset: u32,
    pub bytes: u32,
}

/// Barriers in shared memory that count arrivals: one of 8 bytes for each stage of a pipeline, for each ticket of a counter,
/// or for each group of a sum over the cluster. The barriers *empty* of a sum are one for each group and each target.
#[derive(Clone, PartialEq, Debug)]
pub struct Barrier {
    pub kind: BarrierKind,
    /// The name of the pipeline or the counter, or `sum`.
    pub pipe: String,
    pub stages: u32,
    /// The arrivals that complete a phase.
    pub count: u32,
    /// The offset of the first stage's barrier in the block's shared memory.
    pub at: u32,
    /// The place where the pipeline or the counter was made, or the first sum.
    pub origin: Origin,
    /// Whether it is a barrier of sums over the cluster. Then other blocks arrive at it.
    pub sums: bool,
}

/// The event for which a barrier counts arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BarrierKind {
    /// The copies into a stage have arrived, the number of a ticket is there, or the slots of a sum are full.
    Full,
    /// The readers have released a stage, have read a ticket, or have added the slots of a sum.
    Empty,
}

impl BarrierKind {
    /// Returns the word for the event, as in `full`.
    pub fn word(self) -> &'static str {
        match self {
            BarrierKind::Full => "full",
            BarrierKind::Empty => "empty",
        }
    }
}

/// The elements that each thread holds of a register tensor or a temporary. Elements narrower than 32 bits are packed, lowest
/// first, into 32-bit words.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterArray {
    pub name: String,
    pub dtype: DType,
    /// The number of elements of one thread.
    pub len: u32,
    /// The threads that hold them.
    pub scope: ScopeId,
    /// The register tensor of the tile program; `None` for temporaries.
    pub tensor: Option<TensorId>,
}

impl Default for ThreadProgram {
    /// Returns a program for the usual target without parameters, scopes and statements.
    fn default() -> ThreadProgram {
        ThreadProgram {
            name: String::new(),
            target: Target::usual(),
            params: Vec::new(),
            symbols: Vec::new(),
            grid: Vec::new(),
            cluster: [1, 1, 1],
            scopes: Vec::new(),
            blocks: 1,
            requires: Vec::new(),
            shared: Vec::new(),
            shared_bytes: 0,
            maps: Vec::new(),
            barriers: Vec::new(),
            named: BTreeMap::new(),
            counters: Vec::new(),
            ranges: BTreeMap::new(),
            registers: Vec::new(),
            log: Vec::new(),
            body: Vec::new(),
        }
    }
}

impl ThreadProgram {
    /// Returns a scope of the program.
    ///
    /// # Panics
    /// If the program has no such id among its scopes.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    /// Returns the roles with which the body ends; none if all threads run the same statements.
    pub fn roles(&self) -> &[Role] {
        if let Some(Stmt::Control(Control::Roles(roles))) = self.body.last() { roles } else { &[] }
    }

    /// Returns the numbers of the named barriers of a scope, one for each group.
    pub fn barriers_of(&self, id: ScopeId) -> std::ops::Range<u32> {
        barriers_of(&self.scopes, id)
    }

    /// Returns the number of threads of a block.
    pub fn block_threads(&self) -> u32 {
        self.scope(ScopeId::BLOCK).threads
    }

    /// Returns a register tensor of the program.
    ///
    /// # Panics
    /// If the program has no such id among its register tensors.
    pub fn array(&self, id: RegId) -> &RegisterArray {
        &self.registers[id.0 as usize]
    }

    /// Returns the element type of the tensor in a memory; `None` if the program has no such tensor.
    pub fn memory_dtype(&self, memory: Memory) -> Option<DType> {
        match memory {
            Memory::Global(p) => match self.params.get(p as usize)? {
                Param::Tensor(t) => Some(t.dtype),
                Param::Scalar { .. } => None,
            },
            Memory::Shared(s) => self.shared.get(s as usize).map(|b| b.dtype),
        }
    }
}
