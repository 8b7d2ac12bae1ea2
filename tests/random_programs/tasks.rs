//! Programs of tasks: kernels whose threads hand tiles to each other, to other blocks, and to later launches.
//!
//! Such a program is drawn and written in one pass over a sequence of choices (`choices.rs`), so the shrinker needs no knowledge of
//! it. Each family has a module, which writes the kernels and the test with its reference to a `Sheet`.

mod atomics;
mod attend;
mod chains;
pub(super) mod choices;
mod clusters;
mod handed;
mod parts;
mod rings;
mod rows;
mod runs;
mod sheet;

use choices::Choices;
use sheet::Sheet;

use super::write::Written;

/// A kind of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    /// Products by descriptor, of tiles in stages.
    Products,
    /// Sums, maxima and the like of the steps of a tensor.
    Streams,
    /// Sums over the blocks of clusters.
    Clusters,
    /// Launches one behind the other, and updates in place.
    Chains,
    /// Atomic accesses.
    Atomics,
    /// Products of products.
    Attend,
    /// Parts of tensors.
    Parts,
    /// Runs of bytes, and groups that take turns.
    Runs,
    /// Rows that end inside of a tile.
    Rows,
}

impl Family {
    /// Returns the name of the family on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Family::Products => "products",
            Family::Streams => "streams",
            Family::Clusters => "clusters",
            Family::Chains => "chains",
            Family::Atomics => "atomics",
            Family::Rows => "rows",
            Family::Runs => "runs",
            Family::Parts => "parts",
            Family::Attend => "attend",
        }
    }

    fn write(self, sheet: &mut Sheet) {
        match self {
            Family::Products => rings::products(sheet),
            Family::Streams => rings::streams(sheet),
            Family::Clusters => clusters::write(sheet),
            Family::Chains => chains::write(sheet),
            Family::Atomics => atomics::write(sheet),
            Family::Rows => rows::write(sheet),
            Family::Runs => runs::write(sheet),
            Family::Parts => parts::write(sheet),
            Family::Attend => attend::write(sheet),
        }
    }
}

/// A program as a sequence of choices.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    pub(super) family: Family,
    pub(super) case: u64,
    /// The number of the program among those of its family.
    pub(super) turn: u64,
    pub(super) taken: Vec<usize>,
}

impl Tasks {
    pub(super) fn drawn(family: Family, (seed, case, turn): (u64, u64, u64)) -> Tasks {
        let (_, taken) = written(family, case, turn, Choices::drawn(seed, case));
        Tasks { family, case, turn, taken }
    }

    pub(super) fn write(&self) -> Written {
        written(self.family, self.case, self.turn, Choices::given(self.taken.clone())).0
    }
}

fn written(family: Family, case: u64, turn: u64, choices: Choices) -> (Written, Vec<usize>) {
    let mut sheet = Sheet::new(choices, format!("random_{case}"), turn);
    family.write(&mut sheet);
    sheet.written()
}
