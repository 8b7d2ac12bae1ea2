//! A launch that is ready to be recorded.

use std::collections::BTreeMap;

use hx_index::Symbol;
use hx_thread::{LogPlan, ThreadProgram};

use crate::cluster::Cluster;
use crate::code::Code;
use crate::config::Config;
use crate::counter::expect_zero;
use crate::error::{Fault, Place, SimError};
use crate::global::Tensor;
use crate::grid::block_index;
use crate::launch::{Argument, Compiled, cluster, compiled, members, run_blocks, take_tensors};
use crate::log::LaunchLog;
use crate::told::Left;

/// A launch up to the first step of one block, or of the cluster of one block.
#[derive(Debug)]
pub struct Prepared {
    pub(super) code: Code,
    pub(super) tensors: Vec<Option<Tensor>>,
    grid: [u64; 3],
    /// The blocks that run together.
    members: Vec<u64>,
    symbols: BTreeMap<Symbol, i64>,
    plan: LogPlan,
    /// The marks of blocks at elements at the moment of the playback.
    pub(super) left: Left,
    /// The marks before the first step.
    pub(super) before: Left,
}

/// Prepares the playback of the block of a launch with this index. If blocks see the changes of those before them, these run first.
///
/// # Errors
/// An error of the launch or of the program, or of a block that must run first.
pub fn prepare(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
    mut arguments: Vec<Argument>,
    block: [u32; 3],
    config: &Config<'_>,
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
    let before = Left::default();
    if code.communicates {
        let mut log = LaunchLog::new(LogPlan::new(program, grid, &lookup));
        run_blocks((&code, &before), grid, run, &mut tensors, config, &mut log)?;
    }
    let members = members(code.cluster, grid, run);
    Ok(Prepared { code, tensors, grid, members, symbols, plan, left: Left::default(), before })
}

impl Prepared {
    /// Returns the blocks before their first step.
    pub(super) fn cluster<'p>(&'p self, config: &'p Config<'p>) -> Cluster<'p> {
        cluster((&self.code, &self.left), (self.grid, &self.members), &self.tensors, config, &self.plan)
    }

    /// Returns the operations of the program. A site is a position in this list; the first stands for no operation.
    pub fn places(&self) -> Vec<Place> {
        self.code.sites.iter().map(|site| site.place(None, None)).collect()
    }

    /// Returns the number of blocks along each axis.
    pub fn grid(&self) -> [u64; 3] {
        self.grid
    }

    /// Returns the indices of the blocks that run together, by their ranks.
    pub fn blocks(&self) -> Vec<[u32; 3]> {
        self.members.iter().map(|number| block_index(self.grid, *number)).collect()
    }

    /// Returns the dimensions, strides, integer arguments and the grid of the launch.
    pub fn symbols(&self) -> &BTreeMap<Symbol, i64> {
        &self.symbols
    }

    /// Returns the coordinate of the element of a tensor parameter at an offset, if its strides are nested.
    pub fn coordinate(&self, param: usize, offset: i64) -> Option<Vec<i64>> {
        self.tensors.get(param)?.as_ref()?.coordinate(offset)
    }

    /// Returns the shape and the strides of a tensor parameter.
    pub fn dims(&self, param: usize) -> Option<(&[i64], &[i64])> {
        let tensor = self.tensors.get(param)?.as_ref()?;
        Some((&tensor.shape, &tensor.stride))
    }
}
