//! The data of a thread program.

use hx_dtype::DType;
use hx_index::{Cond, Expr, Symbol};
use hx_tile::{OpId, Origin, Requirement, Scalar};

use crate::LogEntry;

/// One kernel, as every thread runs it.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadProgram {
    /// The kernel's name in the source.
    pub name: String,
    /// In launch order: for each tensor a pointer; then every symbol of [`ThreadProgram::symbols`] as a 32-bit integer.
    pub params: Vec<Param>,
    /// Dimensions and strides that the body, the grid or a requirement reads, in a fixed order; bound at launch, each below 2³¹.
    pub symbols: Vec<Symbol>,
    /// Blocks along x, y and z, from the symbols.
    pub grid: Vec<Expr>,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks that should fit a multiprocessor together, as far as registers go.
    pub blocks: u32,
    /// What a launch must satisfy.
    pub requires: Vec<Requirement>,
    pub shared: Vec<SharedBuffer>,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// Indexed by [`RegId`].
    pub registers: Vec<RegisterArray>,
    /// What it prints and asserts. If there is anything, the kernel takes the address of a buffer as its last argument.
    pub log: Vec<LogEntry>,
    pub body: Body,
}

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
    /// Bytes to which a launch must align the pointer.
    pub align: u32,
}

/// A tensor in shared memory.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedBuffer {
    pub name: String,
    pub dtype: DType,
    /// First byte in the block's shared memory.
    pub offset: u32,
    pub bytes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RegId(pub u32);

/// Elements that each thread holds of one register tensor. Elements narrower than 32 bits are packed, lowest first, into 32-bit words.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterArray {
    pub name: String,
    pub dtype: DType,
    /// Elements of one thread.
    pub len: u32,
}

pub type Body = Vec<Stmt>;

#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// What one tile operation became.
    Group(Group),
    /// A local integer, in scope until the end of the body it stands in.
    Let {
        var: Symbol,
        value: Expr,
    },
    /// `for var in start..end`. With `unroll`, the bounds are constant and register positions may depend on `var`.
    For {
        var: Symbol,
        start: Expr,
        end: Expr,
        unroll: bool,
        body: Body,
    },
    /// Uniform over the block.
    If {
        cond: Cond,
        then: Body,
        otherwise: Body,
    },
    /// Block barrier.
    Barrier,
    /// Barrier of each warp on its own.
    WarpBarrier,
    Transfer(Transfer),
    Multiply(Multiply),
    Convert(Convert),
    Fill(Fill),
    Compute(Compute),
    Exchange(Exchange),
    AsyncCopy(AsyncCopy),
    /// Closes the current group of asynchronous copies of each thread.
    Commit,
    /// Each thread waits until at most `groups` of its groups are in flight; what others copied needs a barrier besides.
    Wait {
        groups: u32,
    },
    /// Runs while the condition holds, which is uniform over the block.
    While {
        cond: Cond,
        body: Body,
    },
    /// Changes a local integer.
    Assign {
        var: Symbol,
        value: Expr,
    },
    /// A local number read from one element of a global tensor, the same for the block. Its type is the tensor's.
    LoadInteger {
        var: Symbol,
        address: Address,
    },
    /// An integer that each thread reads for itself, from a tensor that nobody writes meanwhile; -1 for threads for which the guard does
    /// not hold.
    LoadIndex {
        var: Symbol,
        address: Address,
        guard: Cond,
    },
    /// A local number of the value's type, the same for the block; its inputs are single elements. Where expressions of integers
    /// mention it, a truth value is 1 or 0.
    LetNumber {
        var: Symbol,
        value: Scalar,
        inputs: Vec<Registers>,
    },
    /// Changes a local number.
    AssignNumber {
        var: Symbol,
        value: Scalar,
    },
    Log(Log),
    Put(Put),
}

/// One execution of a print or an assertion. Control flow leads all threads here together, or none.
#[derive(Clone, PartialEq, Debug)]
pub struct Log {
    /// Position in [`ThreadProgram::log`].
    pub entry: u32,
    /// Loops around the [`Stmt::Put`]s of this entry, which stand nowhere else.
    pub body: Body,
}

/// One element for each thread whose guard holds: into the record of a print, or to be true for an assertion.
#[derive(Clone, PartialEq, Debug)]
pub struct Put {
    /// That of the [`Log`] around.
    pub entry: u32,
    /// One value.
    pub value: Registers,
    /// Row-major position in the entry's tensor. No two threads put the same one.
    pub position: Expr,
    pub guard: Cond,
}

/// An expression within each thread: one element from others, or several side by side, each from the operands' elements of its number.
#[derive(Clone, PartialEq, Debug)]
pub struct Compute {
    /// One value; or several, if every operator has a row for as many.
    pub dst: Registers,
    /// As many values each: what [`Scalar::Input`] refers to. No [`Scalar::Index`] is left; a [`Scalar::Integer`] may depend on the thread.
    pub inputs: Vec<Registers>,
    pub value: Scalar,
}

/// The lane that a thread gets a value from.
#[derive(Clone, PartialEq, Debug)]
pub enum Lane {
    /// The one whose number differs by a mask.
    Xor(u32),
    /// The one so many lanes below; a lane without one keeps its own value.
    Up(u32),
    /// The one of that number.
    At(Expr),
    /// For each value the one that the row's layouts say.
    Tile,
}

/// Each thread gets the values of another of its warp: one, or as many as fill a register.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchange {
    /// Name of the exchange row.
    pub row: String,
    pub dst: Registers,
    /// As many values.
    pub src: Registers,
    pub lane: Lane,
}

/// A copy from global to shared memory that no register takes part in; done when a [`Stmt::Wait`] covers its group.
#[derive(Clone, PartialEq, Debug)]
pub struct AsyncCopy {
    /// Name of the copy row.
    pub row: String,
    pub src: Address,
    pub dst: Address,
    /// Threads for which it does not hold do nothing.
    pub active: Cond,
    /// Where it does not hold, the destination becomes zero and the source is not read.
    pub inside: Cond,
}

/// The statements of one tile operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    pub op: OpId,
    pub origin: Origin,
    /// The operation as text, for a comment.
    pub title: String,
    pub body: Body,
}

/// Values of one register array that an instruction reads or writes: value `i` is element `base + offsets[i]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Registers {
    pub array: RegId,
    /// Constant once the counters of unrolled loops are.
    pub base: Expr,
    pub offsets: Vec<u32>,
}

/// A memory that threads address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// The tensor parameter at this position of [`ThreadProgram::params`].
    Global(u32),
    /// The buffer at this position of [`ThreadProgram::shared`].
    Shared(u32),
}

/// Where each thread reads or writes: element `offset` of the memory's tensor and those that follow it.
#[derive(Clone, PartialEq, Debug)]
pub struct Address {
    pub memory: Memory,
    /// In elements; depends on the thread.
    pub offset: Expr,
}

/// A copy instruction of the catalogue: a load or a store. For a collective row, the lanes of a warp exchange what they hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfer {
    /// Name of the copy row.
    pub row: String,
    pub registers: Registers,
    pub address: Address,
    /// Threads for which it does not hold do not access memory; a load gives them `pad`. Never on a collective row.
    pub guard: Cond,
    /// What a guarded load gives, as bits of the element type.
    pub pad: u64,
}

/// A matrix instruction of the catalogue; the accumulator is updated in place.
#[derive(Clone, PartialEq, Debug)]
pub struct Multiply {
    /// name of the gemm row.
    pub row: String,
    pub c: Registers,
    pub a: Registers,
    pub b: Registers,
}

/// A conversion within each thread.
#[derive(Clone, PartialEq, Debug)]
pub struct Convert {
    /// Name of the convert row; nothing for a move between equal types.
    pub row: Option<String>,
    pub dst: Registers,
    pub src: Registers,
}

/// Sets elements to a constant.
#[derive(Clone, PartialEq, Debug)]
pub struct Fill {
    pub dst: Registers,
    /// Bits of the element type.
    pub bits: u64,
}

impl ThreadProgram {
    pub fn array(&self, id: RegId) -> &RegisterArray {
        &self.registers[id.0 as usize]
    }

    /// The tensor behind an address, with its element type.
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
