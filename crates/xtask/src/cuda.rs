//! `cargo xtask cuda`: fetches the CUDA compiler library and the disassemblers to the user's data folder, as `hx setup` does.

use hx_worker::toolkit::SearchEnv;
use hx_worker::{fetch, folders};

use crate::say;

/// Fetches the parts of the CUDA compiler that the user's data folder lacks.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(arg) = args.first() {
        return Err(format!("`{arg}` is not understood, there are no arguments"));
    }
    let home =
        folders::cuda_folder().ok_or("there is no home folder: set HX_DATA_DIR to an absolute path")?;
    fetch::fetch(&home, &SearchEnv::of_process(), &|line| say(line))
}
