//! A kernel that brings tiles through shared memory, as data.
//!
//! Each tile of the result belongs to a pair of numbers: `bm` along the rows, and `bn` along the columns. For each, the kernel
//! walks over several steps, brings the tiles of its sources for each step into a stage, and works on them.

use hx_dtype::DType;

use super::super::super::program::Range;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Tiles of the result along its rows and columns.
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    /// Steps that the sources have tiles for.
    pub(crate) steps: i64,
    /// Rows and columns of a tile of the result, and elements of a step.
    pub(crate) bm: i64,
    pub(crate) bn: i64,
    pub(crate) bk: i64,
    /// Elements of the sources along the rows, the columns and the steps.
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    pub(crate) sources: Vec<Source>,
    /// Stages of each ring.
    pub(crate) stages: Vec<i64>,
    /// The work of each role that reads the stages.
    pub(crate) works: Vec<Task>,
    pub(crate) form: Form,
    pub(crate) walk: Walk,
    pub(crate) trips: Trips,
    pub(crate) release: Release,
}

/// A tensor whose tiles are brought into stages.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The number of the source: its tensor is `x0`, its stages are `s0`.
    pub(crate) at: usize,
    pub(crate) dtype: DType,
    pub(crate) range: Range,
    pub(crate) along: Along,
    /// The tensor is stored with its steps along the rows.
    pub(crate) turned: bool,
    /// The ring whose stages its tiles fill.
    pub(crate) ring: usize,
    /// Elements before and after each row, in a larger tensor.
    pub(crate) around: Option<[i64; 2]>,
    /// The axis of the cluster along which blocks share its tiles.
    pub(crate) multicast: Option<usize>,
}

/// The tiles of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Along {
    /// Those of the rows of the result: `bm × bk`.
    Rows,
    /// Those of its columns: `bn × bk`.
    Columns,
}

/// The work of one role, and what becomes of its results.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) work: Work,
    pub(crate) out: Out,
    /// The type of the results in memory.
    pub(crate) to: DType,
    pub(crate) around: Option<[i64; 2]>,
}

#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// A product of two sources.
    Product {
        sums: DType,
        left: LeftOperand,
        /// The steps whose products may be in flight at once. With 0 the product is a `gemm`. With 1 a step waits for its own
        /// products, with 2 for those of the step before.
        flight: i64,
        /// A second product, by the columns of source 2, that is added with this factor.
        second: Option<i64>,
    },
    /// The sum of all tiles, element by element.
    Sum { dtype: DType, turned: bool, factor: i64 },
    /// The sum of each row.
    RowSum { dtype: DType },
    /// The largest element of each row.
    RowMax { dtype: DType },
    /// The position of the largest element of each row.
    RowArg { dtype: DType },
    /// Every tile, times a factor.
    Each { dtype: DType, factor: i64 },
    /// The running sums of each row.
    Carry { dtype: DType },
}

/// The left operand of a product, by the memory that it is read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LeftOperand {
    Shared,
    Registers,
    /// From a narrower type, through registers.
    Widened(DType),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// One role copies, others work.
    Roles {
        /// A role for each ring.
        split: bool,
        groups: i64,
        each: bool,
        registers: Option<i64>,
    },
    /// Groups of one role take tiles in turns.
    Turns { groups: i64, counted: bool },
    /// All threads copy and work. Copies are `ahead` steps ahead of the work.
    Together { threads: i64, ahead: i64 },
    /// All threads copy and work, with groups of copies that are awaited. Copies are `ahead` steps ahead of the work.
    Groups { threads: i64, ahead: i64 },
    /// The threads write the stages themselves. `plus` is added on the way.
    Threads { threads: i64, stages: i64, plus: i64 },
}

/// The order in which a block gets its tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walk {
    /// Each block has one tile.
    One,
    /// Each block has several tiles, as many tiles apart as there are blocks. The number is that of the blocks; `None` launches
    /// as many as fit.
    Persistent(Option<i64>),
    /// Each block draws its tiles from a counter. The number is that of the blocks; `None` launches as many as fit.
    Counter(Option<i64>),
    /// One block works on the tiles of a list in memory, which ends at a negative number.
    Listed,
    /// Pairs of blocks of a cluster, along the rows or along both axes.
    Pairs { both: bool, persistent: bool },
}

/// The steps of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trips {
    Extent,
    Fixed(i64),
    /// A parameter of the kernel, with this value in the launch.
    Number(i64),
    /// A table has the number of steps for each row of tiles. Its length equals the number of rows or is at least that, the
    /// read is guarded, or the index is clamped.
    Table(Length),
    /// One step more than the number of the row of tiles, but no more than the sources have.
    Causal,
    /// A remainder: `(bm + 1) % n` for the row `bm`.
    Odd(i64),
    /// The steps from one entry of a table to the next.
    Between,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    Equal,
    AtLeast,
    Guarded,
    Clamped,
}

/// The point at which a role gives a stage back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    /// As soon as it was read.
    Now,
    /// After the work.
    Late,
    /// All but the newest.
    Previous,
}

/// The way of a result to global memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Out {
    Direct,
    /// Into a tensor stored along its columns.
    Turned,
    Shared,
    /// In boxes through `slots` slots of shared memory. A box is as wide as the tile divided by `cut`.
    Boxes {
        slots: i64,
        cut: i64,
    },
    /// Added to memory, in boxes, for all columns of tiles.
    BoxesAdded {
        slots: i64,
    },
    /// Added to memory by the threads, for all columns of tiles.
    Added,
}

impl Plan {
    /// Returns the rows and columns of a source's tile.
    pub(crate) fn tile(&self, source: &Source) -> [i64; 2] {
        let across = if source.along == Along::Rows { self.bm } else { self.bn };
        if source.turned { [self.bk, across] } else { [across, self.bk] }
    }

    /// Returns the extents of a source.
    pub(crate) fn extents(&self, source: &Source) -> [i64; 2] {
        let across = if source.along == Along::Rows { self.m } else { self.n };
        if source.turned { [self.k, across] } else { [across, self.k] }
    }

    /// Reports whether each block has several tiles.
    pub(crate) fn loops(&self) -> bool {
        !matches!(self.walk, Walk::One | Walk::Pairs { persistent: false, .. })
    }

    /// Reports whether the blocks form clusters.
    pub(crate) fn is_clustered(&self) -> bool {
        matches!(self.walk, Walk::Pairs { .. })
    }

    /// Returns a bound of the number of steps of a tile.
    pub(crate) fn most(&self) -> i64 {
        match self.trips {
            Trips::Extent | Trips::Table(_) | Trips::Causal | Trips::Between => self.steps,
            Trips::Fixed(n) | Trips::Number(n) => n,
            Trips::Odd(n) => n,
        }
    }

    /// Returns the number that is added to each element on its way into a stage.
    pub(crate) fn plus(&self) -> i64 {
        if let Form::Threads { plus, .. } = self.form { plus } else { 0 }
    }
}

impl Work {
    /// Returns the type of the results in registers.
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Work::Product { sums, .. } => *sums,
            Work::RowArg { .. } => DType::I32,
            Work::Sum { dtype, .. }
            | Work::RowSum { dtype }
            | Work::RowMax { dtype }
            | Work::Each { dtype, .. }
            | Work::Carry { dtype } => *dtype,
        }
    }

    /// Reports whether each step has a result of its own.
    pub(crate) fn is_stepwise(&self) -> bool {
        matches!(self, Work::Each { .. } | Work::Carry { .. })
    }
}
