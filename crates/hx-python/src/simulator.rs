//! Launches on arrays in host memory: on the simulator, with every access checked.

use hx_base::codes;
use hx_base::interrupt::Until;
use hx_host::device::{Device as _, LaunchRequest};
use hx_host::tensor::Order;
use hx_host::{HostError, Tensor, Value};
use hx_launch::Launcher;
use hx_workspace::Database;

use crate::errors::{Class, Problem};
use crate::shared::Shared;

/// The effects of a launch on the simulator.
#[derive(Debug)]
pub(crate) struct Simulated {
    /// The lines that the kernel printed.
    pub(crate) printed: Vec<String>,
    /// The positions of the arguments that the kernel writes, each with the array's bytes from its first element to its last.
    pub(crate) written: Vec<(usize, Vec<u8>)>,
}

/// Checks a launch before its arrays are read. Returns the positions of the arguments that the kernel writes.
pub(crate) fn check(
    shared: &Shared,
    db: &Database,
    until: Until<'_>,
    request: &LaunchRequest,
) -> Result<Vec<usize>, Problem> {
    let launcher = Launcher::new(db, &shared.simulator, until);
    launcher.check_direct(request, &[]).map_err(|error| Problem::launch(db, Class::Compile, error))
}

/// Runs a launch whose tensors hold the elements of the arrays.
pub(crate) fn run(
    shared: &Shared,
    db: &Database,
    until: Until<'_>,
    request: &LaunchRequest,
) -> Result<Simulated, Problem> {
    let mut launcher = Launcher::new(db, &shared.simulator, until);
    let report = launcher.launch(request).map_err(|error| Problem::launch(db, Class::Kernel, error))?;
    let read = |at: &usize| match &request.args[*at].value {
        Value::Tensor(tensor) => Ok((*at, tensor.span_bytes()?)),
        _ => Err(HostError::new(&codes::INTERNAL_ERROR, "a kernel wrote a number")),
    };
    let written = report.written.iter().map(read).collect::<Result<_, _>>();
    let written = written.map_err(|error| Problem::host(db, Class::Kernel, &error))?;
    Ok(Simulated { printed: report.printed, written })
}

/// Returns the request with elements in its tensors: `contents` has the bytes of each array from its first element to its last,
/// and `None` for numbers.
pub(crate) fn filled(
    request: &LaunchRequest,
    contents: Vec<Option<Vec<u8>>>,
) -> Result<LaunchRequest, HostError> {
    let mut request = request.clone();
    for (arg, bytes) in request.args.iter_mut().zip(contents) {
        if let (Value::Tensor(tensor), Some(bytes)) = (&arg.value, bytes) {
            let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
            let filled = Tensor::from_span(tensor.dtype(), shape, strides, bytes)?;
            arg.value = Value::Tensor(match tensor.order() {
                Order::Blocks(block) => filled.in_order(&block),
                Order::Plain | Order::Part => filled,
            });
        }
    }
    Ok(request)
}
