//! Runs of one text at two levels of the assembler, with equal results: the assembler's optimizer has faults, too.

use hx_base::codes;
use hx_codegen::{CudaSource, LaunchParam};
use hx_compile::{Db, tile_program};
use hx_dtype::AtomicOp;
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_tile::{Base, Op, OpKind, ParamId};
use hx_worker::{Launch, LaunchResult};

use super::instance::{self, Checked};
use super::{Bound, BoundParam, BoundTensor, Launcher};
use crate::machine::Gpu;

/// The levels of the assembler at which kernels run on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Levels {
    /// This level, 0 to 3; the assembler's own without a number.
    One(Option<u8>),
    /// The assembler's own level and level 0. Their results are compared bit by bit.
    Compared,
}

impl Default for Levels {
    fn default() -> Levels {
        Levels::One(None)
    }
}

impl Levels {
    /// Returns the level whose results count.
    pub(super) fn first(self) -> Option<u8> {
        match self {
            Levels::One(level) => level,
            Levels::Compared => None,
        }
    }
}

/// The level without optimization.
const PLAIN: u8 = 0;

/// The first byte in which two runs differ, and its tensor's position among the parameters.
#[derive(Clone, Copy)]
struct Difference {
    position: usize,
    byte: usize,
}

impl<'a> Launcher<'a> {
    /// Runs a launch again at level 0, from the same arguments, and compares all tensors that it wrote. Returns a remark if the
    /// results differ and cannot be compared: they differ from run to run, or the kernel adds floats atomically.
    ///
    /// # Errors
    /// If a run fails, or if the results of the levels differ although each level repeats its own.
    pub(super) fn compare_levels(
        &self,
        gpu: &Gpu,
        (source, launch): (&CudaSource, &Launch<'_>),
        optimized: &LaunchResult,
        (checked, bound): (Checked<'a>, &Bound),
    ) -> Result<Option<String>, LaunchError> {
        let compiled = self.compile_at(&gpu.cuda, checked, Some(PLAIN)).map_err(at_plain)?;
        let plain_launch = Launch { cubin: &compiled.code, ..launch.clone() };
        let plain = self.launched(gpu, &plain_launch).map_err(at_plain)?;
        let Some(found) = difference(optimized, &plain, bound) else { return Ok(None) };
        let again = [self.launched(gpu, launch)?, self.launched(gpu, &plain_launch).map_err(at_plain)?];
        let repeats = |first, second| difference(first, second, bound).is_none();
        let kernel = instance::shown(self.db, checked);
        if !repeats(optimized, &again[0]) || !repeats(&plain, &again[1]) {
            return Ok(Some(format!(
                "the results of `{kernel}` differ from run to run, so those of two levels are not compared"
            )));
        }
        // Each level may repeat its own order of the additions.
        if adds_floats(self.db, checked) {
            return Ok(Some(format!(
                "the results of `{kernel}` differ between two levels, and are not compared: it adds floats atomically, in any order"
            )));
        }
        let Some(BoundParam::Tensor(tensor)) = bound.params.get(found.position) else { return Ok(None) };
        let [optimized, plain] =
            [optimized, &plain].map(|result| element(tensor, &result.outputs[&found.position], found.byte));
        let name = match source.launch.params.get(found.position) {
            Some(LaunchParam::Tensor(param)) => param.name.as_str(),
            _ => "",
        };
        let place = place(tensor, found.byte);
        let message =
            format!("`{kernel}` writes {optimized} to {place} of `{name}`, and {plain} without optimization");
        let error = HostError::new(&codes::LEVELS_DIFFER, message);
        Err(LaunchError::call(error.help("`--device sim` shows which of the two is right")))
    }
}

/// Reports whether a kernel adds floating-point numbers to memory atomically, so that the order of the additions may vary.
fn adds_floats(db: &dyn Db, checked: Checked<'_>) -> bool {
    let Ok(lowered) = tile_program(db, checked.get()) else { return false };
    let program = &lowered.program;
    let is_float = |param: ParamId| program.tensor_param(param).is_some_and(|param| param.dtype.is_float());
    let adds = |op: &Op| {
        if let OpKind::Atomic(atomic) = &op.kind {
            return atomic.op == AtomicOp::Add && program.tensor(atomic.value).dtype.is_float();
        }
        let OpKind::Store { dst, adds: true, .. } = &op.kind else { return false };
        matches!(dst.base, Base::Global(param) if is_float(param))
    };
    program.ops(1.0).into_iter().any(|(op, _)| adds(op))
}

/// Says of an error that the launch was the one without optimization.
fn at_plain(error: LaunchError) -> LaunchError {
    match error {
        LaunchError::Refused { error, place } => {
            let error = error.note("this was the launch without optimization, at level 0 of the assembler");
            LaunchError::Refused { error: Box::new(error), place }
        }
        other => other,
    }
}

/// Returns the first difference between the tensors that two runs wrote; `None` if they are equal.
fn difference(a: &LaunchResult, b: &LaunchResult, bound: &Bound) -> Option<Difference> {
    let is_tensor = |position: usize| matches!(bound.params.get(position), Some(BoundParam::Tensor(_)));
    a.outputs.iter().filter(|(position, _)| is_tensor(**position)).find_map(|(position, bytes)| {
        let other = b.outputs.get(position).map(Vec::as_slice).unwrap_or_default();
        let byte = bytes.iter().zip(other).position(|(a, b)| a != b);
        let byte = byte.or((bytes.len() != other.len()).then_some(bytes.len().min(other.len())));
        byte.map(|byte| Difference { position: *position, byte })
    })
}

/// Returns the number of the element that holds a byte.
fn index(tensor: &BoundTensor, byte: usize) -> usize {
    byte * 8 / tensor.tensor.dtype().bits() as usize
}

/// Returns the value of the element that holds a byte, with its bits, as text.
fn element(tensor: &BoundTensor, bytes: &[u8], byte: usize) -> String {
    let dtype = tensor.tensor.dtype();
    let bits = hx_dtype::load(dtype, bytes, index(tensor, byte));
    let digits = (dtype.bits() as usize).div_ceil(4);
    format!("{} ({bits:#0width$x})", dtype.decode(bits), width = digits + 2)
}

/// Returns the coordinate of the element that holds a byte, or its place in memory if it lies between the rows of a view.
fn place(tensor: &BoundTensor, byte: usize) -> String {
    let packed: Vec<i64>;
    let stride = if tensor.strided {
        &tensor.stride
    } else {
        let step = |at: usize| tensor.shape[at + 1..].iter().product();
        packed = (0..tensor.shape.len()).map(step).collect();
        &packed
    };
    let at = index(tensor, byte) as i64;
    match hx_sim::coordinate(&tensor.shape, stride, at) {
        Some(coordinate) if coordinate.iter().zip(&tensor.shape).all(|(at, extent)| at < extent) => {
            format!("element {coordinate:?}")
        }
        _ => format!("the element {at} behind the first"),
    }
}
