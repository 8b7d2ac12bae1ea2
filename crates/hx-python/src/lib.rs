//! The extension module `hx._hx`: kernels as Python objects, called on the tensors of their callers.
//!
//! Tensors on a GPU stay where they are: the launch happens in the caller's process, on the caller's stream. This is the one
//! exception to the rule that only the worker process uses CUDA; kernels are still compiled in worker processes, into the cache that
//! all fronts share. Arrays in host memory go to the simulator.
//!
//! Invariant: the crate computes no layout and formats no diagnostic, and only [`exchange`] has `unsafe` code. The Python files beside
//! it add what needs no engine.
//!
//! Start at [`kernel::Kernel`]; [`shared::Shared`] owns the database and the devices.

mod arguments;
mod counters;
mod engine;
mod errors;
mod events;
mod exchange;
mod gpu;
mod kernel;
mod lock;
mod plan;
mod process;
mod shared;
mod simulator;
mod state;
mod torch;

use pyo3::prelude::*;

/// The compiler, the simulator and the launches of the package `hx`.
#[pymodule(gil_used = true)]
fn _hx(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<engine::Engine>()?;
    module.add_class::<kernel::Kernel>()?;
    module.add_class::<kernel::instance::KernelInstance>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(dlpack_dtype, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::order::packed, module)?)?;
    Ok(())
}

/// Returns the name of an element type of DLPack; `None` if it has no counterpart.
#[pyfunction]
fn dlpack_dtype(code: u8, bits: u8, lanes: u16) -> Option<&'static str> {
    exchange::dtype(code, bits, lanes).map(hx_dtype::DType::name)
}
