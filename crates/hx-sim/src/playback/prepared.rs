//! A launch that is ready to be recorded.

use std::collections::BTreeMap;

use hx_index::Symbol;
use hx_thread::{LogPlan, ThreadProgram};

use crate::code::Code;
use crate::config::Config;
use crate::counter::expect_zero;
use crate::error::{Fault, Place, SimError};
use crate::global::Tensor;
use crate::grid::{block_index, members};
use crate::launch::{Argument, Compiled, compiled, take_tensors};
use crate::schedule::{Grid, Launch};

/// A launch up to its first step.
#[derive(Debug)]
pub struct Prepared {
    pub(super) code: Code,
    pub(super) tensors: Vec<Option<Tensor>>,
    /// The number of the run that the playback looks at.
    run: u64,
    symbols: BTreeMap<Symbol, i64>,
    plan: LogPlan,
}

/// Prepares the playback of the block of a launch with this index. If blocks see what others do, the playback is that of all.
///
/// # Errors
/// An error of the launch or of the program.
pub fn prepare(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
    mut arguments: Vec<Argument>,
    block: [u32; 3],
) -> Result<Prepared, SimError> {
    let Compiled { code, grid, symbols } = compiled(program, symbols, &arguments)?;
    let lookup = |s: &Symbol| symbols.get(s).copied();
    let mut tensors = Vec::new();
    take_tensors(program, &mut arguments, &lookup, &mut tensors)?;
    expect_zero(&code, &tensors)?;
    let plan = LogPlan::new(program, grid, &lookup);
    let runs = grid.iter().product::<u64>() / u64::from(code.cluster.iter().product::<u32>());
    if block.iter().zip(grid).any(|(index, blocks)| u64::from(*index) >= blocks) {
        return Err(Fault::NoBlock { block, blocks: grid }.into());
    }
    let [x, y, z] = block.map(u64::from);
    let number = x + grid[0] * (y + grid[1] * z);
    let contains = |run: &u64| members(code.cluster, grid, *run).contains(&number);
    let run = (0..runs).find(contains).unwrap_or_default();
    Ok(Prepared { code, tensors, run, symbols, plan })
}

impl Prepared {
    /// Returns the blocks before their first step.
    pub(super) fn grid<'p>(&'p self, config: &'p Config<'p>) -> Grid<'p> {
        let Prepared { code, tensors, plan, .. } = self;
        Grid::new(Launch { code, tensors, config, plan }, Some(self.run))
    }

    /// Returns the operations of the program. A site is a position in this list; the first stands for no operation.
    pub fn places(&self) -> Vec<Place> {
        self.code.sites.iter().map(|site| site.place(None, None)).collect()
    }

    /// Returns the number of blocks along each axis.
    pub fn grid_shape(&self) -> [u64; 3] {
        self.code.grid
    }

    /// Returns the indices of the blocks of the playback: of the cluster, or of all blocks if they communicate.
    pub fn blocks(&self) -> Vec<[u32; 3]> {
        let grid = self.code.grid;
        let all = match self.code.communicates {
            true => (0..grid.iter().product()).collect(),
            false => members(self.code.cluster, grid, self.run),
        };
        all.into_iter().map(|number| block_index(grid, number)).collect()
    }

    /// Returns the dimensions, strides, integer arguments and the grid of the launch.
    pub fn symbols(&self) -> &BTreeMap<Symbol, i64> {
        &self.symbols
    }

    /// Returns the coordinate of the element of a tensor parameter at an offset, in elements; `None` as for
    /// [`crate::coordinate`], and for a parameter that is no tensor.
    pub fn coordinate(&self, param: usize, offset: i64) -> Option<Vec<i64>> {
        self.tensors.get(param)?.as_ref()?.coordinate(offset)
    }

    /// Returns the shape and the strides, in elements, of a tensor parameter; `None` for other parameters.
    pub fn dims(&self, param: usize) -> Option<(&[i64], &[i64])> {
        let tensor = self.tensors.get(param)?.as_ref()?;
        Some((&tensor.shape, &tensor.stride))
    }
}
