//! What can go wrong in a simulated launch, and where.

use std::fmt;

use hx_index::EvalError;
use hx_tile::{OpId, Origin};

/// Why a launch gave no result.
#[derive(Clone, PartialEq, Debug)]
pub struct SimError {
    pub fault: Fault,
    /// Where it happened; nothing for an error of the launch itself.
    pub place: Option<Box<Place>>,
}

/// A point of the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The tile operation whose statements were running, if they belong to one.
    pub op: Option<OpId>,
    pub origin: Option<Origin>,
    /// The operation as text.
    pub title: String,
    /// Index of the block along x, y and z; nothing for an error found before any block ran.
    pub block: Option<[u32; 3]>,
    /// Nothing for an error of the whole block.
    pub thread: Option<u32>,
}

/// One thread's access that takes part in a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    pub thread: u32,
    pub write: bool,
    pub op: Option<OpId>,
    pub origin: Option<Origin>,
    pub title: String,
}

/// What went wrong.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Fault {
    #[error("the run was cancelled")]
    Cancelled,
    /// An argument does not fit its parameter.
    #[error("{0}")]
    Argument(String),
    /// A `where` clause or an implied demand does not hold.
    #[error("the launch breaks `{0}`")]
    Requirement(String),
    /// The thread program contradicts itself or the catalogue.
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Eval(EvalError),
    #[error("{} element {element}{} of `{tensor}`, {extent}", verb(*.write), coordinate(.coord))]
    OutOfBounds {
        tensor: String,
        /// The first element of the access that is outside.
        element: i64,
        /// The same as a coordinate, where the strides tell.
        coord: Option<Vec<i64>>,
        /// The bounds, as text.
        extent: String,
        write: bool,
    },
    #[error("{} `{tensor}` at address {address}, which is no multiple of the {access} bytes of the access", verb(*.write))]
    Misaligned {
        tensor: String,
        /// In bytes from the pretended address of the tensor, or from the start of shared memory.
        address: i64,
        access: u32,
        write: bool,
    },
    #[error("reads byte {byte} (element {element}) of the shared tensor `{tensor}`, which was never written")]
    UninitializedShared { tensor: String, byte: i64, element: i64 },
    #[error("reads element {element} of the registers `{array}`, which was never written")]
    UninitializedRegister { array: String, element: u32 },
    /// Two threads touch the same byte of shared memory between two barriers, and one of them writes.
    #[error("{later} element {element} of the shared tensor `{tensor}`, which {earlier}, with no barrier in between")]
    SharedRace { tensor: String, element: i64, earlier: Box<Access>, later: Box<Access> },
    /// Two blocks touch the same byte of a tensor, and one of them changes it.
    #[error("writes element {element}{} of `{tensor}`, which block {} {} too", coordinate(.coord), Block(*.other), if *.other_writes { "writes with another value" } else { "reads" })]
    BlockRace { tensor: String, element: i64, coord: Option<Vec<i64>>, other: [u32; 3], other_writes: bool },
}

fn verb(write: bool) -> &'static str {
    if write { "writes" } else { "reads" }
}

fn coordinate(coord: &Option<Vec<i64>>) -> String {
    match coord {
        Some(c) => format!(" ({c:?})"),
        None => String::new(),
    }
}

/// A block index as people read it: trailing zeros of unused axes are left in, so that it is always a triple.
struct Block([u32; 3]);

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "[{x}, {y}, {z}]")
    }
}

impl fmt::Display for Access {
    /// The later access reads as "thread 3 reads", the earlier one as "thread 0 wrote (in #4 `copy`)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} {}", self.thread, if self.write { "writes" } else { "reads" })?;
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
            Some(place) if place.op.is_some() || place.block.is_some() => write!(f, "{place}: {}", self.fault),
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
