//! The errors of a simulated launch, and their places.

use std::fmt;

use hx_dtype::DType;
use hx_index::EvalError;
use hx_tile::{OpId, Origin};

/// The reason why a launch has no result.
#[derive(Clone, PartialEq, Debug)]
pub struct SimError {
    pub fault: Fault,
    /// The place of the fault; `None` for an error of the launch itself.
    pub place: Option<Box<Place>>,
}

/// A point of the run: an operation, and the block and thread that executed it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The tile operation that was running. `None` if the statements belong to no operation.
    pub op: Option<OpId>,
    pub origin: Option<Origin>,
    /// The operation as text, or outside of operations a `while` or a draw; empty for other statements.
    pub title: String,
    /// Index of the block along x, y and z; `None` for an error found before any block ran.
    pub block: Option<[u32; 3]>,
    /// The number in its block; `None` for an error of the whole block or of the launch.
    pub thread: Option<u32>,
}

/// The kind of an access to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessMode {
    Read,
    Write,
    /// Updates it atomically, as `atomic_add` does.
    Atomic,
    /// Reads it atomically, as `atomic_load` does.
    Peek,
}

impl AccessMode {
    /// Returns the verb in the past tense: "wrote".
    pub fn past(self) -> &'static str {
        match self {
            AccessMode::Read => "read",
            AccessMode::Write => "wrote",
            AccessMode::Atomic => "updated",
            AccessMode::Peek => "atomically read",
        }
    }
}

/// The earlier access of a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    pub thread: u32,
    pub mode: AccessMode,
    /// The thread supplied the address, and all lanes of the instruction share the addressed elements.
    pub collective: bool,
    pub op: Option<OpId>,
    pub origin: Option<Origin>,
    pub title: String,
}

/// An asynchronous copy, store or product in flight, and the thread that issued it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copying {
    pub thread: u32,
    pub op: Option<OpId>,
    pub origin: Option<Origin>,
    pub title: String,
}

/// Threads that wait for an event that never happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The first of them, and the one after the last, as numbers in their block.
    pub threads: [u32; 2],
    /// The block, if blocks run together.
    pub block: Option<[u32; 3]>,
    /// The event that the threads wait for, as text.
    pub event: String,
    /// A place that helps to find the cause, with its label: the last arrival for the event, the last write of the polled
    /// element, or the declaration of the pipeline if nothing has arrived. `None` for other events.
    pub last: Option<(Origin, &'static str)>,
    pub op: Option<OpId>,
    pub origin: Option<Origin>,
    pub title: String,
}

/// Blocks of a grid that wait for a place on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// The number of blocks that have not begun.
    pub blocks: u64,
    /// The number of blocks that have begun and not ended.
    pub running: u64,
    /// The room of the device; `None` if other launches hold a part of it.
    pub room: Option<Room>,
}

/// The number of blocks that a device holds at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    pub multiprocessors: u32,
    /// The blocks that one multiprocessor holds at once.
    pub each: u32,
    /// The resource that limits them: `threads`, `blocks`, `registers` or `shared memory`.
    pub limited_by: &'static str,
}

impl Room {
    /// Returns the number of blocks that the whole device holds at once.
    pub fn blocks(self) -> u64 {
        u64::from(self.multiprocessors) * u64::from(self.each)
    }
}

/// An error that ends a run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Fault {
    #[error("the run was cancelled")]
    Cancelled,
    /// An argument that does not fit its parameter.
    #[error("{0}")]
    Argument(String),
    /// A `where` clause or an implied demand does not hold.
    #[error("the launch breaks `{0}`")]
    Requirement(String),
    /// A thread program that contradicts itself or the catalogue.
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Eval(EvalError),
    /// A function of the source that is PTX alone. The origin is that of the PTX.
    #[error("`{function}` has no body, so only a GPU knows its result")]
    NoMeaning { function: String, origin: Origin },
    /// An integer division by 0. The language defines the result as 0, but no kernel intends it.
    #[error("an integer of type `{dtype}` is divided by 0")]
    DivisionByZero { dtype: DType },
    /// A grid with more blocks than the simulator runs.
    #[error("a grid of {blocks:?} blocks, too many to simulate")]
    TooManyBlocks { blocks: [u64; 3] },
    /// The block to play back is not in the grid.
    #[error("there is no block {block:?} in a grid of {blocks:?} blocks")]
    NoBlock { block: [u32; 3], blocks: [u64; 3] },
    #[error("{} element {element}{} of `{tensor}`, {extent}", verb(*.write), coordinate(.coord))]
    OutOfBounds {
        tensor: String,
        /// The first element of the access that lies outside.
        element: i64,
        /// The coordinate of `element`, if the strides determine it.
        coord: Option<Vec<i64>>,
        /// The bounds of the tensor, as text.
        extent: String,
        write: bool,
    },
    #[error("{} element {element} of `{tensor}` at {}, which is not a multiple of the {access} bytes of the access", verb(*.write), byte_and_bit(*.address, *.bit))]
    Misaligned {
        tensor: String,
        element: i64,
        /// In bytes, counted from the simulated address 0 or from the start of shared memory.
        address: i64,
        /// Bits past that address, for elements narrower than a byte.
        bit: u32,
        access: u32,
        write: bool,
    },
    #[error("reads byte {byte} (element {element}) of the shared tensor `{tensor}`, which was never written")]
    UninitializedShared { tensor: String, byte: i64, element: i64 },
    #[error("reads element {element} of the registers `{array}`, which was never written")]
    UninitializedRegister { array: String, element: u32 },
    /// A maximum or minimum of memory never written, whose fill is a NaN, and of other elements.
    #[error(
        "`{operator}` leaves out element {element} of the registers `{array}`, which comes from memory that nothing has written"
    )]
    UnwrittenElement { operator: &'static str, array: String, element: u32 },
    /// Two threads access the same byte of shared memory, no barrier orders the accesses, and one of them writes.
    #[error("{}{} element {element} of the shared tensor `{tensor}`, which {earlier}, with no barrier in between", verb(*.write), for_all(*.collective))]
    SharedRace {
        tensor: String,
        element: i64,
        /// Whether the later access, at the place of the error, writes.
        write: bool,
        /// Whether the later access is for all lanes of the instruction.
        collective: bool,
        earlier: Box<Access>,
    },
    /// A thread accesses bytes of shared memory while an asynchronous copy is still filling them.
    #[error("{}{} element {element} of the shared tensor `{tensor}` before the asynchronous copy into it by {copy} was waited for", verb(*.write), for_all(*.collective))]
    CopyInFlight {
        tensor: String,
        element: i64,
        /// Whether the later access, at the place of the error, writes.
        write: bool,
        /// Whether the later access is for all lanes of the instruction.
        collective: bool,
        copy: Box<Copying>,
    },
    /// A thread writes bytes of shared memory that a bulk store may still read.
    #[error("writes{} element {element} of the shared tensor `{tensor}`, which the store by {copy} may still read", for_all(*.collective))]
    StoreInFlight {
        tensor: String,
        element: i64,
        /// Whether the write, at the place of the error, is for all lanes of the instruction.
        collective: bool,
        copy: Box<Copying>,
    },
    /// The block can end before a bulk copy has arrived, at the place of the error: nothing waited for the stage that it fills.
    #[error("nothing waits for this copy into the shared tensor `{tensor}` before the block ends")]
    Unwaited { tensor: String },
    /// A thread writes bytes of shared memory that an asynchronous product may still read.
    #[error("writes element {element} of the shared tensor `{tensor}` before the asynchronous product {} that reads it was waited for", product_of(.product))]
    OperandInFlight { tensor: String, element: i64, product: Box<Copying> },
    /// A statement accesses the accumulator of a product that is not complete, or writes an operand of it.
    #[error("{} element {element} of the registers `{array}` before the asynchronous product {} was waited for", verb(*.write), product_of(.product))]
    ProductInFlight { array: String, element: u32, write: bool, product: Box<Copying> },
    /// A loop that cannot end, or that did not end within [`Config::while_limit`](crate::Config::while_limit).
    #[error("no progress: `while {cond}` {}", endless(*.iterations, *.repeats))]
    NoProgress {
        cond: String,
        iterations: u64,
        /// The last iteration changed no number, register or memory, and read no memory that others may change, so every
        /// further iteration would repeat it.
        repeats: bool,
    },
    /// Some threads have not ended, and each of them waits for others.
    #[error("deadlock: {}{}", listed(.blocked), left_out_text(.left_out))]
    Deadlock {
        /// In the order of the blocks and their threads.
        blocked: Vec<Blocked>,
        /// Blocks that have not begun because the device holds no more; `None` if there are none, or the room of the device is
        /// not given.
        left_out: Option<LeftOut>,
    },
    /// Two threads of a block access an element of a tensor and no barrier orders the accesses. One thread stores to the
    /// element and the other reads, stores or updates it, or one updates it atomically and the other reads it.
    #[error("{} element {element}{} of `{tensor}`, which {earlier}, with no barrier in between", present(*.mode), coordinate(.coord))]
    GlobalRace {
        tensor: String,
        element: i64,
        coord: Option<Vec<i64>>,
        /// The kind of the later access, at the place of the error.
        mode: AccessMode,
        earlier: Box<Access>,
    },
    /// A thread changes an element of a tensor while an asynchronous copy from it may still read the element.
    #[error("{} element {element}{} of `{tensor}` before the asynchronous copy from it by {copy} was waited for", present(*.mode), coordinate(.coord))]
    SourceInFlight {
        tensor: String,
        element: i64,
        coord: Option<Vec<i64>>,
        /// The kind of the later access, at the place of the error.
        mode: AccessMode,
        copy: Box<Copying>,
    },
    /// A thread accesses an element of a tensor that a bulk store writes, and the store is not complete.
    #[error("{} element {element}{} of `{tensor}` before the store to it by {store} is complete", present(*.mode), coordinate(.coord))]
    DestinationInFlight {
        tensor: String,
        element: i64,
        coord: Option<Vec<i64>>,
        /// The kind of the later access, at the place of the error.
        mode: AccessMode,
        store: Box<Copying>,
    },
    /// The tensor of a counter is not 0 before the launch, so the blocks would not draw its first numbers.
    #[error("the counter `{counter}` is {value} before the launch, expected 0")]
    CounterStart { counter: String, tensor: String, value: i32 },
    /// The limit of a counter is negative, or `limit + blocks` draws do not fit its type `i32`: each block draws once more than
    /// its numbers.
    #[error(
        "the counter `{counter}` hands out {limit} numbers to {blocks} blocks, expected at least 0 and no more draws than an `i32` counts"
    )]
    CounterLimit { counter: String, limit: i64, blocks: u64 },
    /// Two blocks access the same element of a tensor, one of them changes it, and no atomic accesses order them.
    #[error("{} element {element}{} of `{tensor}`, which block {} {}{}", present(*.mode), coordinate(.coord), Block(.earlier.block.unwrap_or_default()), other_block(*.mode, *.earlier_mode), between(*.narrow))]
    BlockRace {
        tensor: String,
        element: i64,
        coord: Option<Vec<i64>>,
        /// The kind of access by the block at the place of the error.
        mode: AccessMode,
        /// The block that ran or was merged earlier, and one of its operations on the element.
        earlier: Box<Place>,
        earlier_mode: AccessMode,
        /// Whether the earlier operation is a bulk store that the block at the place of the error knows of, but not that it is
        /// complete.
        in_flight: bool,
        /// Both accesses are atomic, but one only among the threads of its own block or cluster.
        narrow: bool,
    },
}

fn between(narrow: bool) -> &'static str {
    if narrow { ", and one of the two is atomic among the threads of its own block only" } else { "" }
}

fn present(mode: AccessMode) -> &'static str {
    match mode {
        AccessMode::Read => "reads",
        AccessMode::Write => "writes",
        AccessMode::Atomic => "updates",
        AccessMode::Peek => "atomically reads",
    }
}

fn other_block(mode: AccessMode, earlier: AccessMode) -> &'static str {
    match (mode, earlier) {
        (AccessMode::Write, AccessMode::Write) => "writes",
        (_, AccessMode::Write) => "changes",
        (_, AccessMode::Atomic) => "updates",
        (_, AccessMode::Read) => "reads",
        (_, AccessMode::Peek) => "atomically reads",
    }
}

fn endless(iterations: u64, repeats: bool) -> String {
    if repeats {
        format!("holds after an iteration that changed nothing (number {iterations})")
    } else {
        format!("still holds after {iterations} iterations")
    }
}

fn verb(write: bool) -> &'static str {
    if write { "writes" } else { "reads" }
}

/// Returns the waits as text. Of blocks that wait at one place it names the first and the last.
fn listed(blocked: &[Blocked]) -> String {
    let mut texts = Vec::new();
    let mut waits = blocked.iter().enumerate().peekable();
    while let Some((at, wait)) = waits.next() {
        let first = blocked[..at].iter().rposition(|other| !other.is_beside(wait)).map_or(0, |at| at + 1);
        let is_last = waits.peek().is_none_or(|(_, next)| !next.is_beside(wait));
        match at - first {
            0 => texts.push(wait.to_string()),
            _ if is_last => {
                let between = at - first - 1;
                if between > 0 {
                    texts.push(format!("so {} {between} more", if between == 1 { "does" } else { "do" }));
                }
                texts.push(wait.to_string());
            }
            _ => {}
        }
    }
    texts.join("; ")
}

fn left_out_text(left_out: &Option<LeftOut>) -> String {
    let Some(LeftOut { blocks, running, room }) = left_out else { return String::new() };
    let (s, have) = if *blocks == 1 { ("", "has") } else { ("s", "have") };
    let because = match room {
        Some(Room { multiprocessors, each, limited_by }) => format!(
            "the device holds {running} at once: {each} on each of {multiprocessors} multiprocessors, limited by {limited_by}"
        ),
        None => format!(
            "other launches leave room for {running} at once in this order, which blocks begin first is not known, and no \
             `multiprocessors` in the header says that all run at the same time"
        ),
    };
    format!("; {blocks} block{s} of the grid {have} not begun, because {because}")
}

fn for_all(collective: bool) -> &'static str {
    if collective { " for its whole warp" } else { "" }
}

/// Formats the operation of a product, as in "#3 `gemm_async(acc, a, b)`".
fn product_of(product: &Copying) -> String {
    match product.op {
        Some(op) => format!("#{} `{}`", op.0, product.title),
        None => "of its registers".to_owned(),
    }
}

fn byte_and_bit(address: i64, bit: u32) -> String {
    if bit == 0 { format!("address {address}") } else { format!("address {address} and bit {bit}") }
}

fn coordinate(coord: &Option<Vec<i64>>) -> String {
    match coord {
        Some(c) => format!(" ({c:?})"),
        None => String::new(),
    }
}

/// A block index along x, y and z.
struct Block([u32; 3]);

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "[{x}, {y}, {z}]")
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} {}", self.thread, self.mode.past())?;
        write!(f, "{}", for_all(self.collective))?;
        if let Some(op) = self.op {
            write!(f, " in #{} `{}`", op.0, self.title)?;
        }
        Ok(())
    }
}

impl Blocked {
    /// Reports whether threads of two blocks wait at one place.
    pub fn is_beside(&self, other: &Blocked) -> bool {
        self.block.is_some()
            && self.block != other.block
            && (self.op, self.origin) == (other.op, other.origin)
    }

    /// Returns the threads with the verb: "threads 0 to 31 wait".
    pub fn who(&self) -> String {
        let [first, end] = self.threads;
        let of = self.block.map_or_else(String::new, |block| format!(" of block {}", Block(block)));
        match end - first {
            1 => format!("thread {first}{of} waits"),
            _ => format!("threads {first} to {}{of} wait", end - 1),
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who())?;
        match self.op {
            Some(op) => write!(f, " in #{} `{}`", op.0, self.title)?,
            None if !self.title.is_empty() => write!(f, " in `{}`", self.title)?,
            None => {}
        }
        write!(f, " for {}", self.event)
    }
}

impl fmt::Display for Copying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.thread)?;
        if let Some(op) = self.op {
            write!(f, " in #{} `{}`", op.0, self.title)?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(thread) = self.thread {
            parts.push(format!("thread {thread}"));
        }
        if let Some(block) = self.block {
            parts.push(format!("block {}", Block(block)));
        }
        if let Some(op) = self.op {
            parts.push(format!("#{} `{}`", op.0, self.title));
        }
        write!(f, "{}", parts.join(", "))
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) if place.op.is_some() || place.block.is_some() => {
                write!(f, "{place}: {}", self.fault)
            }
            _ => write!(f, "{}", self.fault),
        }
    }
}

impl std::error::Error for SimError {}

impl From<Fault> for SimError {
    fn from(fault: Fault) -> SimError {
        SimError { fault, place: None }
    }
}
