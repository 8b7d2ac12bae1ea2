//! Instructions that are not complete when they are issued: their accesses, the proxies of these, and the waits that complete them.
//!
//! The effects of operations and statements, the checks of synchronization, the simulator and the fences of the emitter read this
//! table, so that they cannot disagree.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::Space;

/// The effect of an access on the elements of its region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Read,
    Write,
    /// Each thread reads the elements that it holds and writes them again: an accumulator.
    Update,
    /// An atomic sum. It is ordered with other atomic sums, and with no other access.
    Add,
}

impl Mode {
    /// Reports whether the access reads the elements of its region.
    pub fn reads(self) -> bool {
        self != Mode::Write
    }

    /// Reports whether the access changes the elements of its region.
    pub fn writes(self) -> bool {
        self != Mode::Read
    }
}

/// The path by which an access reaches memory (PTX ISA, "Proxies"). Accesses of different proxies to the same memory need a
/// fence between them, in addition to their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proxy {
    /// Loads, stores, collective loads and stores of matrices, copies in groups, atomic sums.
    Generic,
    /// Bulk copies, and matrix operands that the instruction reads from shared memory by descriptor. A copy that signals a
    /// pipeline counts as a bulk copy: the solution may make it one.
    Asynchronous,
}

/// The time from which the thread that issued an access may rely on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// At the end of the operation.
    AtOnce,
    /// At a wait for copies that covers its group.
    Group,
    /// At a wait for products that covers it.
    Product,
    /// When a barrier in memory has counted it.
    Barrier,
    /// At a wait for bulk stores that covers it: the elements of global memory are written.
    Store,
    /// At a wait for bulk stores, or for their reads alone, that covers it: shared memory is read.
    StoreRead,
}

/// The forms of instructions that are not complete when they are issued.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A copy without registers that joins a group.
    CopyInGroup,
    /// A copy without registers that arrives at a barrier in memory once it is complete.
    CopyToBarrier,
    BulkLoad,
    BulkStore,
    BulkAdd,
    Product,
    Send,
}

/// The accesses that instructions of a form make after they were issued.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asynchronous {
    #[serde(rename = "name")]
    pub form: Form,
    /// The rows of the form: all whose names begin with one of these.
    pub rows: Vec<String>,
    pub accesses: Vec<AsynchronousAccess>,
}

/// An access that an instruction makes after it was issued.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsynchronousAccess {
    pub space: Space,
    pub mode: Mode,
    pub proxy: Proxy,
    /// The completion from which the issuing thread may rely on the access.
    pub until: Completion,
}

/// An instruction that waits for completions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Name of the row that waits.
    pub row: String,
    /// Name of the row that closes a group of the instructions issued before it; `None` if a barrier in memory counts instead.
    pub closes: Option<String>,
    pub completes: Vec<Completion>,
}

impl Form {
    /// All forms, in the order of the enumeration.
    pub const ALL: [Form; 7] = [
        Form::CopyInGroup,
        Form::CopyToBarrier,
        Form::BulkLoad,
        Form::BulkStore,
        Form::BulkAdd,
        Form::Product,
        Form::Send,
    ];

    /// Returns the accesses of instructions of the form. They belong to the form, whichever target has such an instruction.
    ///
    /// # Panics
    /// If the table lacks the form, which a test excludes.
    pub fn asynchronous(self) -> &'static Asynchronous {
        let found = table().iter().find(|entry| entry.form == self);
        found.unwrap_or_else(|| panic!("the table of asynchronous instructions lacks {self:?}"))
    }
}

/// Returns the table of `catalogue/asynchronous.toml`.
pub(crate) fn table() -> &'static [Asynchronous] {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        asynchronous: Vec<Asynchronous>,
    }
    static TABLE: LazyLock<Vec<Asynchronous>> = LazyLock::new(|| {
        let read = toml::from_str(include_str!("../catalogue/asynchronous.toml"));
        let File { asynchronous } = read.unwrap_or_else(|e| panic!("asynchronous.toml is malformed: {e}"));
        asynchronous
    });
    &TABLE
}

impl Asynchronous {
    /// Returns the access to a memory; the first if there are several.
    ///
    /// # Panics
    /// If instructions of the form make none.
    pub fn access(&self, space: Space) -> AsynchronousAccess {
        let access = self.accesses.iter().find(|access| access.space == space);
        *access.unwrap_or_else(|| panic!("{:?} does not access {} memory", self.form, space.name()))
    }
}
