//! `hx build --emit c`: kernels of a file as C that launches them.

use std::collections::BTreeMap;

use hx_base::SourceFile;
use hx_compile::{Db, Instance, thread_program, tile_program};
use hx_hir::{kernel_signature, signature_names};
use hx_inspect::{EmitError, Overrides, Setup, kernels, stopped};
use hx_launch_c::{BuiltKernel, Front, LaunchDim, LauncherRequest, LauncherText, launcher};
use hx_lower::usual_units;
use hx_target::Target;
use hx_thread::{LogKind, Param};

use super::{BuildKind, BuildRequest, Built, check_names, checked_source, compiled, requested};

/// Kernels that were built to one header and one source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuiltLauncher {
    /// The kernels, in the order of the file.
    pub kernels: Vec<Built>,
    pub text: LauncherText,
}

/// Builds a launcher of the requested kernel, or of every kernel of the file. `stem` is the name of both files without their
/// extensions. Compile-time arguments and facts apply to each kernel that has their names.
///
/// # Errors
/// If a kernel is not found or has errors, if an argument or a fact is of no kernel, or if the compiler cannot run.
pub fn build_launcher(
    db: &dyn Db,
    file: SourceFile,
    request: &BuildRequest,
    stem: &str,
    setup: &Setup,
) -> Result<BuiltLauncher, EmitError> {
    let chosen = kernels(db, file, request.kernel.as_deref())?;
    if chosen.is_empty() {
        return Err(EmitError::Usage(format!("`{}` has no kernel", file.path(db))));
    }
    let takes = |kernel: &hx_hir::Kernel<'_>, name: &hx_hir::Name| {
        kernel_signature(db, *kernel).generics.iter().any(|generic| generic.name == *name)
    };
    let mut instances = Vec::new();
    for kernel in &chosen {
        // An argument that no kernel has is passed to each of them, so that the error names it.
        let own = request
            .overrides
            .iter()
            .filter(|(name, _)| takes(kernel, name) || !chosen.iter().any(|other| takes(other, name)));
        let own: Overrides = own.cloned().collect();
        instances.push(requested(db, *kernel, &own, request, setup)?);
    }
    let mut launches = Vec::new();
    for (kernel, instance) in chosen.iter().zip(&instances) {
        launches.push((*kernel, checked_source(db, *instance)?));
    }
    check_names(db, &launches, request.facts.as_deref().unwrap_or_default())?;
    let (mut built, mut all) = (Vec::new(), Vec::new());
    for instance in instances {
        let kernel = compiled(db, instance, BuildKind::C, setup)?;
        all.push(with_launch(db, instance, &kernel)?);
        built.push(kernel);
    }
    let text = text_of(db, file, (stem, setup.target), &all, None)?;
    Ok(BuiltLauncher { kernels: built, text })
}

/// Writes the launcher of kernels of a file. `stem` is the name of both files without their extensions.
pub(super) fn text_of(
    db: &dyn Db,
    file: SourceFile,
    (stem, target): (&str, Target),
    kernels: &[BuiltKernel],
    front: Option<&Front>,
) -> Result<LauncherText, EmitError> {
    let path = file.path(db);
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let request = LauncherRequest { stem, file, version: env!("CARGO_PKG_VERSION"), target, kernels, front };
    launcher(&request).map_err(EmitError::Usage)
}

/// Returns a built kernel with the description of its launches.
pub(super) fn with_launch<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    built: &Built,
) -> Result<BuiltKernel, EmitError> {
    let kernel = instance.kernel(db);
    let source = checked_source(db, instance)?;
    let lowered = tile_program(db, instance).as_ref().map_err(|stop| stopped(db, instance, stop))?;
    let program = thread_program(db, instance).as_ref().map_err(|stop| stopped(db, instance, stop))?;
    let facts = instance.facts(db);
    let units = facts.units.clone().unwrap_or_else(|| usual_units(db, kernel));
    let dims = signature_names(db, kernel.into()).dims.iter().map(|dim| LaunchDim {
        name: dim.name.to_string(),
        is_stride: dim.stride,
        divisor: facts.divisor(&dim.name),
        is_unit: dim.stride && units.contains(&dim.name),
    });
    let counters =
        program.counters.iter().filter_map(|counter| match program.params.get(counter.param as usize)? {
            Param::Tensor(tensor) => Some(tensor.name.clone()),
            Param::Scalar { .. } => None,
        });
    let assertions = program.log.iter().filter(|entry| entry.kind == LogKind::Assert);
    let arguments: BTreeMap<_, _> =
        lowered.sources.args.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Ok(BuiltKernel {
        name: kernel.name(db).to_string(),
        symbol: source.symbol.clone(),
        launch: source.launch.clone(),
        dims: dims.collect(),
        arguments: arguments.into_iter().collect(),
        counters: counters.collect(),
        assertions: assertions.map(|entry| entry.text.clone()).collect(),
        in_place: hx_inspect::pairs_in_place(db, instance),
        code: built.code.clone(),
    })
}
