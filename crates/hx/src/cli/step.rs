//! The flags of `hx step`.

use clap::Args;
use hx_base::limits::bytes;

use super::{CandidateArgs, OrderArgs, TargetArgs};

#[derive(Args, Debug)]
pub(crate) struct StepArgs {
    /// A file, and a part of the name of its test; a file's `main` is stepped through if the file has no test.
    #[arg(value_name = "PATHS|FILTER")]
    pub what: Vec<String>,
    /// The filter is a whole name.
    #[arg(long)]
    pub exact: bool,
    /// Step through a launch of this kernel instead of the launch that fails.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Step through this launch, counted from 1 over all kernels.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub launch: Option<u32>,
    /// Record this block instead of the one that fails, as in 3, 3,1 or 3,1,0.
    #[arg(long, value_name = "X,Y,Z", value_parser = block)]
    pub block: Option<Block>,
    /// Run this command of the session instead of reading commands; may be repeated. `-c help` lists them.
    #[arg(short, long = "command", value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Follow this thread of the block.
    #[arg(long, value_name = "N")]
    pub thread: Option<u32>,
    #[command(flatten)]
    pub order: OrderArgs,
    /// The seed of random functions whose call names none.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Limits the memory of the record, as in 64MiB; 256 MiB by default.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub record: Option<u64>,
    /// The `args` of a program.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub candidate: CandidateArgs,
}

/// The index of a block along each axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(pub [u32; 3]);

fn block(text: &str) -> Result<Block, String> {
    let axes: Result<Vec<u32>, _> = text.split(',').map(|axis| axis.trim().parse()).collect();
    match axes.as_deref() {
        Ok([x]) => Ok(Block([*x, 0, 0])),
        Ok([x, y]) => Ok(Block([*x, *y, 0])),
        Ok([x, y, z]) => Ok(Block([*x, *y, *z])),
        _ => Err("expected the index of a block along up to three axes, such as 3 or 3,1".to_owned()),
    }
}
