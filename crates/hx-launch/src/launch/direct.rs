//! Launches that the caller makes by itself, on tensors that it holds in device memory: the machine code, the sizes, and the bytes
//! of every parameter that does not depend on an address.

use std::rc::Rc;

use hx_base::codes;
use hx_codegen::LaunchParam;
use hx_compile::{Db, thread_program};
use hx_dtype::DType;
use hx_hir::Kernel;
use hx_host::device::{LaunchError, LaunchRequest};
use hx_host::{HostError, Value};
use hx_index::Symbol;
use hx_lower::LaunchFacts;
use hx_thread::LogPlan;
use hx_worker::Arg;

use super::bind::{Header, Prepared};
use super::cuda::{arguments, cuda_text, grid_of};
use super::{BoundParam, Choice, Chosen, Launcher, find_kernel, internal, stopped_at, written};
use crate::machine::Machine;

/// A launch without its addresses. It holds for every launch with the same element types, shapes, strides, alignments, integers
/// and compile-time arguments.
#[derive(Clone, Debug)]
pub struct DirectLaunch {
    /// Name of the kernel in its text.
    pub kernel: String,
    /// Name of the kernel in the machine code.
    pub symbol: String,
    /// Machine code. Launches of one instance share it.
    pub code: Vec<u8>,
    /// Number of blocks along x, y and z. If one is 0, nothing is to be launched.
    pub grid: [u32; 3],
    pub cluster: [u32; 3],
    pub threads: u32,
    pub shared_bytes: u32,
    pub waits_for_previous: bool,
    /// In the order of the kernel's parameters.
    pub params: Vec<DirectParam>,
    /// The arguments that the kernel writes, by position in the request.
    pub written: Vec<usize>,
    /// Pairs `[input, output]` of positions in the request whose arguments may be the same tensor.
    pub in_place: Vec<[usize; 2]>,
    /// Lines for the user about the compile-time arguments.
    pub remarks: Vec<String>,
}

/// A parameter of a direct launch. `arg` is a position in the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DirectParam {
    /// The address of a tensor's first element.
    Tensor { arg: usize },
    /// A number, with the bytes that it has in the request.
    Scalar { arg: usize, dtype: DType, bytes: Vec<u8> },
    /// The value of a parameter that is the same in every launch.
    Value(Vec<u8>),
    /// The map of a tensor, which the driver encodes with the tensor's address.
    Map { arg: usize, map: hx_worker::TensorMap },
    /// The address of a buffer for prints and assertions with these contents.
    Log(Vec<u8>),
}

impl<'a> Launcher<'a> {
    /// Prepares a launch on tensors in device memory, which the request describes with [`hx_host::Tensor::elsewhere`]. `align` has
    /// the alignment of each argument's address in bytes.
    ///
    /// # Errors
    /// If the machine is no GPU, the arguments do not fit the kernel, a tensor that the kernel takes as packed is not, or the
    /// kernel does not compile.
    pub fn direct(&self, request: &LaunchRequest, align: &[u32]) -> Result<DirectLaunch, LaunchError> {
        let chosen = self.placed(request, align)?;
        let in_place = chosen.pairs_in_place(self.db);
        let Chosen { checked, bound, sources, remarks } = chosen;
        let Machine::Gpu(gpu) = self.machine else {
            return Err(internal("a direct launch without a GPU".to_owned()));
        };
        let (db, instance) = (self.db, checked.get());
        let source = cuda_text(db, checked)?;
        let grid = grid_of(source, &bound)?;
        let declared = &source.launch.params;
        // The addresses come with each call.
        let args = arguments(instance.target(db), declared, &bound, |_| Arg::Value(Vec::new()))?;
        let params = declared.iter().zip(args).enumerate().map(|(position, (param, arg))| {
            Ok(match (param, arg) {
                (LaunchParam::Tensor(_), _) => DirectParam::Tensor { arg: sources[position] },
                (LaunchParam::Scalar { dtype, .. }, Arg::Value(bytes)) => {
                    DirectParam::Scalar { arg: sources[position], dtype: *dtype, bytes }
                }
                (LaunchParam::Log { .. }, _) => {
                    let program = thread_program(db, instance);
                    let program = program.as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
                    let lookup = |s: &Symbol| bound.symbols.get(s).copied();
                    DirectParam::Log(LogPlan::new(program, grid.map(u64::from), &lookup).buffer())
                }
                (_, Arg::Value(bytes)) => DirectParam::Value(bytes),
                (_, Arg::TensorMap(map)) => DirectParam::Map { arg: sources[map.param as usize], map },
                (_, Arg::Buffer { .. } | Arg::Resident { .. }) => {
                    return Err(internal("a direct launch with memory of the worker".to_owned()));
                }
            })
        });
        let params = params.collect::<Result<_, LaunchError>>()?;
        let compiled = self.compile(&gpu.cuda, checked)?;
        Ok(DirectLaunch {
            kernel: request.kernel.name.to_string(),
            symbol: source.symbol.clone(),
            code: compiled.code,
            grid,
            cluster: source.launch.cluster,
            threads: source.launch.threads,
            shared_bytes: source.launch.shared_bytes,
            waits_for_previous: source.launch.waits_for_previous,
            params,
            written: written(&bound, &sources),
            in_place,
            remarks,
        })
    }

    /// Reads the buffer of prints and assertions after a direct launch. Returns the printed lines. `request` and `align` are
    /// those of [`Launcher::direct`].
    ///
    /// # Errors
    /// The assertions that failed, as diagnostics; and as for [`Launcher::direct`].
    pub fn read_log(
        &self,
        request: &LaunchRequest,
        align: &[u32],
        bytes: &[u8],
    ) -> Result<Vec<String>, LaunchError> {
        let Chosen { checked, bound, .. } = self.placed(request, align)?;
        let (db, instance) = (self.db, checked.get());
        let program = thread_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
        let grid = grid_of(cuda_text(db, checked)?, &bound)?;
        let lookup = |s: &Symbol| bound.symbols.get(s).copied();
        let log = LogPlan::new(program, grid.map(u64::from), &lookup).read(program, bytes);
        self.launch_log(instance, program, &log).finish(Ok(())).map(|((), printed)| printed)
    }

    /// Checks a launch as [`hx_host::device::Device::launch`] does, and also that its packed tensors are packed. Compiles nothing. Returns
    /// the arguments that the kernel, or the member of its family that the launch takes, writes, by position in the request.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel, or a tensor that the kernel takes as packed is not.
    pub fn check_direct(&self, request: &LaunchRequest, align: &[u32]) -> Result<Vec<usize>, LaunchError> {
        let chosen = self.placed(request, align)?;
        Ok(written(&chosen.bound, &chosen.sources))
    }

    /// As [`Launcher::choice`], for tensors in device memory.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel, or a member has errors.
    pub fn choice_direct(
        &self,
        request: &LaunchRequest,
        align: &[u32],
    ) -> Result<Option<Rc<Choice>>, LaunchError> {
        self.choice_after(request, &|kernel, prepared| placed(self.db, kernel, request, align, prepared))
    }

    pub(super) fn placed(&self, request: &LaunchRequest, align: &[u32]) -> Result<Chosen<'a>, LaunchError> {
        self.chosen_of(find_kernel(self.db, request)?, request, &|kernel, prepared| {
            placed(self.db, kernel, request, align, prepared)
        })
    }
}

/// Checks that the packed tensors of a direct launch are packed, and notes where their data lie.
fn placed<'a>(
    db: &'a dyn Db,
    kernel: Kernel<'a>,
    request: &LaunchRequest,
    align: &[u32],
    prepared: &mut Prepared,
) -> Result<(), LaunchError> {
    let header = Header::new(db, kernel);
    packed(&header, request, prepared)?;
    for (declared, &source) in header.signature.params.iter().zip(&prepared.sources) {
        if let (Value::Tensor(_), Some(&bytes)) = (&request.args[source].value, align.get(source))
            && bytes < LaunchFacts::MAX
        {
            prepared.align.insert(declared.name.clone(), bytes);
        }
    }
    Ok(())
}

/// Refuses tensors with gaps or in another order where the kernel declares no strides: nothing packs them on the way.
fn packed(header: &Header<'_>, request: &LaunchRequest, prepared: &Prepared) -> Result<(), LaunchError> {
    for (index, (param, &source)) in prepared.params.iter().zip(&prepared.sources).enumerate() {
        let BoundParam::Tensor(bound) = param else { continue };
        if bound.strided || bound.tensor.is_contiguous() {
            continue;
        }
        let declared = &header.signature.params[index];
        let (name, kernel) = (&declared.name, header.name());
        let (shape, strides) = (&bound.shape, bound.tensor.strides());
        let error = HostError::new(
            &codes::LAUNCH_STRIDES,
            format!(
                "the argument for `{name}` has the strides {strides:?} for the shape {shape:?}, `{kernel}` takes it packed in \
                 row-major order"
            ),
        );
        let error = error.help(format!("name the strides in the header, as in `{name}: T[m, n] : [ld, 1]`"));
        let error = match header.at_type(index, "declared here") {
            Some(label) => error.label(label),
            None => error,
        };
        debug_assert!(source < request.args.len());
        return Err(LaunchError::arg(source, error));
    }
    Ok(())
}
