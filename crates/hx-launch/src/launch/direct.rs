//! Launches that the caller makes by itself, on tensors that it holds in device memory: the machine code, the sizes, and the bytes
//! of every parameter that does not depend on an address or a number.

use std::rc::Rc;

use hx_base::codes;
use hx_codegen::{LaunchDescription, LaunchParam};
use hx_compile::{Db, Instance, thread_program, tile_program};
use hx_hir::{Kernel, open_orders};
use hx_host::device::{LaunchArg, LaunchError, LaunchRequest};
use hx_host::tensor::Order;
use hx_host::{HostError, Value};
use hx_index::Symbol;
use hx_lower::LaunchFacts;
use hx_thread::LogPlan;
use hx_worker::Arg;

use super::bind::{Header, Prepared, bind};
use super::cuda::{arguments, cuda_text, grid_of};
use super::family::Closed;
use super::form::{LaunchForm, Numbers, Read};
use super::instance::InstanceText;
use super::recipe::{DirectParam, Recipe, Values};
use super::{BoundParam, Choice, Chosen, Launcher, find_kernel, internal, stopped_at, written};
use crate::machine::Machine;

/// A launch whose arguments are checked and whose instance is chosen, without code.
#[derive(Clone, Debug)]
pub struct PreparedLaunch {
    /// Name of the kernel in its text.
    pub kernel: String,
    /// The kernel that runs, with its compile-time arguments and facts.
    pub instance: InstanceText,
    /// The form of the launch, which reads its numbers, and the numbers that it has read.
    pub form: LaunchForm,
    pub read: Read,
    /// The values of every launch with the same facts.
    pub recipe: Recipe,
    /// The values of this launch.
    pub values: Values,
    /// The arguments that the kernel writes, by position in the request.
    pub written: Vec<usize>,
    /// Pairs `[input, output]` of positions in the request whose arguments may be the same tensor.
    pub in_place: Vec<[usize; 2]>,
    /// Lines for the user about the compile-time arguments.
    pub remarks: Vec<String>,
}

/// The instance of a launch.
#[derive(Clone, Debug)]
pub struct ChosenInstance<'a> {
    pub instance: Instance<'a>,
    pub text: InstanceText,
    /// The dimensions and strides of the launch.
    pub dims: Vec<(String, i64)>,
    /// Lines for the user about the compile-time arguments.
    pub remarks: Vec<String>,
}

/// A launch without its addresses and numbers.
#[derive(Clone, Debug)]
pub struct DirectLaunch {
    pub prepared: PreparedLaunch,
    /// Name of the kernel in the machine code.
    pub symbol: String,
    /// Machine code. Launches of one instance share it.
    pub code: Vec<u8>,
    /// Whether the code came from the cache.
    pub from_cache: bool,
    pub cluster: [u32; 3],
    pub threads: u32,
    pub shared_bytes: u32,
    pub waits_for_previous: bool,
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
        let Machine::Gpu(gpu) = self.machine else {
            return Err(internal("a direct launch without a GPU".to_owned()));
        };
        let prepared = self.prepared_as(&chosen, request)?;
        let source = cuda_text(self.db, chosen.checked)?;
        let outcome = self.compile_outcome(&gpu.cuda, chosen.checked)?;
        Ok(DirectLaunch {
            prepared,
            symbol: source.symbol.clone(),
            code: outcome.compiled.code,
            from_cache: outcome.from_cache,
            cluster: source.launch.cluster,
            threads: source.launch.threads,
            shared_bytes: source.launch.shared_bytes,
            waits_for_previous: source.launch.waits_for_previous,
        })
    }

    /// As [`Launcher::direct`], on any machine and without code.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel, or a tensor that the kernel takes as packed is not.
    pub fn prepared(&self, request: &LaunchRequest, align: &[u32]) -> Result<PreparedLaunch, LaunchError> {
        self.prepared_as(&self.placed(request, align)?, request)
    }

    /// Returns the instance that a launch takes. Compiles nothing.
    ///
    /// # Errors
    /// As for [`Launcher::prepared`].
    pub fn instance(
        &self,
        request: &LaunchRequest,
        align: &[u32],
    ) -> Result<ChosenInstance<'a>, LaunchError> {
        let Chosen { checked, bound, remarks, .. } = self.placed(request, align)?;
        let dim = |(symbol, value): (&Symbol, &i64)| match symbol {
            Symbol::Dim(name) => Some((name.to_string(), *value)),
            _ => None,
        };
        let dims = bound.symbols.iter().filter_map(dim).collect();
        Ok(ChosenInstance {
            instance: checked.get(),
            text: InstanceText::of(self.db, checked),
            dims,
            remarks,
        })
    }

    fn prepared_as(
        &self,
        chosen: &Chosen<'a>,
        request: &LaunchRequest,
    ) -> Result<PreparedLaunch, LaunchError> {
        let Chosen { checked, bound, sources, remarks } = chosen;
        let (db, instance) = (self.db, checked.get());
        let program = thread_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
        let tile = tile_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
        let description = LaunchDescription::of(program);
        let form = self.form(request, sources)?;
        let numbers = Numbers::of(request);
        let given = numbers.given();
        // The form refuses some numbers that a binding accepts, such as strides of which it does not know that no two elements meet.
        let form = if form.read(&given).is_some() { form } else { form.exact() };
        let read =
            form.read(&given).ok_or_else(|| internal("a launch does not fit its own form".to_owned()))?;
        let parts = (&*tile.program, &description);
        let mut recipe = Recipe::new(&form, parts, sources, self.machine.multiprocessors());
        let values = self.values(chosen, &description)?;
        if recipe.values(&given, &read).is_none_or(|computed| computed != values) {
            recipe.fix();
        }
        Ok(PreparedLaunch {
            kernel: request.kernel.name.to_string(),
            instance: InstanceText::of(db, *checked),
            form,
            read,
            recipe,
            values,
            written: written(bound, sources),
            in_place: chosen.pairs_in_place(db),
            remarks: remarks.clone(),
        })
    }

    /// Returns the form of a launch that was bound. Results of tuning, families and packed orders depend on the values of its numbers.
    fn form(&self, request: &LaunchRequest, sources: &[usize]) -> Result<LaunchForm, LaunchError> {
        let kernel = find_kernel(self.db, request)?;
        let closed = Closed::of(self.db, kernel, request)?;
        let is_plain = |arg: &LaunchArg| match &arg.value {
            Value::Tensor(tensor) => matches!(tensor.order(), Order::Plain),
            _ => true,
        };
        let is_exact = request.candidate.is_some()
            || !self.members_of(kernel, &closed).is_empty()
            || self.tuned.is_some_and(|tuned| tuned.of(self.db, kernel).next().is_some())
            || !open_orders(self.db, kernel).is_empty()
            || !request.args.iter().all(is_plain);
        let args = bind(self.db, kernel, &closed.request)?.args;
        Ok(LaunchForm::new(self.db, kernel, request, (sources, &args), is_exact))
    }

    /// Returns the grid and the parameters of a launch.
    fn values(&self, chosen: &Chosen<'a>, description: &LaunchDescription) -> Result<Values, LaunchError> {
        let Chosen { checked, bound, sources, .. } = chosen;
        let (db, instance) = (self.db, checked.get());
        let grid = grid_of(description, bound)?;
        // The addresses come with each call.
        let args = arguments(instance.target(db), &description.params, bound, |_| Arg::Value(Vec::new()))?;
        let params = description.params.iter().zip(args).enumerate().map(|(position, (param, arg))| {
            Ok(match (param, arg) {
                (LaunchParam::Tensor(_), _) => DirectParam::Tensor { arg: sources[position] },
                (LaunchParam::Scalar { dtype, .. }, _) => {
                    DirectParam::Scalar { arg: sources[position], dtype: *dtype }
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
        Ok(Values { grid, params: params.collect::<Result<_, LaunchError>>()? })
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
        let grid = grid_of(&cuda_text(db, checked)?.launch, &bound)?;
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
