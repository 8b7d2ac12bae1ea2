//! Facts about a kernel that Python shows: its parameters, its compile-time arguments, and its costs.

use std::collections::BTreeMap;

use hx_base::TextRange;
use hx_compile::{Instance, LaunchFacts, Registers, Resources, launch_cycles, resources, tile_program};
use hx_hir::{Expr, Item, Kernel, Name, TypeRef, kernel_signature, signature_source_map};
use hx_inspect::{EmitError, Overrides, Setup, instance, stopped};
use hx_launch::{Considered, Fit};
use hx_workspace::Database;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A run-time parameter: name, text of the type, element type, extents (`None` for a number), strides (`None` unless the type
/// lists them), and whether the kernel writes it. Extents and strides are written as in the kernel.
pub(super) type ParamText = (String, String, String, Option<Vec<String>>, Option<Vec<String>>, bool);

/// Returns the text of a range, which is relative to the kernel, with single spaces between its words; empty without a range.
fn text(db: &Database, kernel: Kernel<'_>, range: Option<TextRange>) -> String {
    let range = range.map(|range| range + kernel.offset(db));
    let text = range.and_then(|range| kernel.file(db).text(db).get(std::ops::Range::<usize>::from(range)));
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the run-time parameters of a kernel.
pub(super) fn params(db: &Database, kernel: Kernel<'_>) -> Vec<ParamText> {
    let signature = kernel_signature(db, kernel);
    let Some(map) = signature_source_map(db, Item::Kernel(kernel)) else { return Vec::new() };
    let entries = |list: &[hx_hir::ExprId]| {
        list.iter().map(|at| text(db, kernel, map.map.expr(*at))).collect::<Vec<_>>()
    };
    let param = |param: &hx_hir::Param| {
        let written = text(db, kernel, map.map.type_ref(param.ty));
        let (mut element, mut shape, mut strides, mut mutable) = (String::new(), None, None, false);
        if let TypeRef::Named { mutable: is_mutable, path, shape: extents, layout, .. } =
            &signature.store[param.ty]
        {
            element = path.to_string();
            shape = extents.as_deref().map(entries);
            mutable = *is_mutable;
            strides = layout.and_then(|layout| match &signature.store[layout] {
                Expr::Array(list) => Some(entries(list)),
                _ => None,
            });
        }
        (param.name.to_string(), written, element, shape, strides, mutable)
    };
    signature.params.iter().map(param).collect()
}

/// Returns the compile-time parameters of a kernel, each with its default as it is written; `None` without a default.
pub(super) fn generics(db: &Database, kernel: Kernel<'_>) -> Vec<(String, Option<String>)> {
    let signature = kernel_signature(db, kernel);
    let map = signature_source_map(db, Item::Kernel(kernel));
    let default = |at| map.map(|map| text(db, kernel, map.map.expr(at)));
    signature.generics.iter().map(|g| (g.name.to_string(), g.default.and_then(default))).collect()
}

/// Returns each compile-time parameter of the instance with these arguments, with its value as text.
pub(super) fn compile_time(
    db: &Database,
    kernel: Kernel<'_>,
    overrides: &Overrides,
    setup: &Setup,
) -> Result<Vec<(String, String)>, EmitError> {
    let instance = instance(db, kernel, overrides, setup)?;
    let lowered = tile_program(db, instance).as_ref().map_err(|stop| stopped(db, instance, stop))?;
    Ok(lowered.sources.args.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
}

/// The resources of a block, and the estimated cycles of a launch; `None` for what is not known.
#[derive(Debug)]
pub(super) struct Cost {
    resources: Option<Resources>,
    cycles: Option<f64>,
}

/// Returns the costs of the instance with these arguments, for a launch with these dimensions and strides. Without dimensions,
/// the cycles are `None`.
pub(super) fn cost(
    db: &Database,
    kernel: Kernel<'_>,
    overrides: &Overrides,
    dims: &[(String, i64)],
    setup: &Setup,
) -> Result<Cost, EmitError> {
    let instance = instance(db, kernel, overrides, setup)?;
    let values: BTreeMap<Name, i64> = dims.iter().map(|(name, value)| (Name::new(name), *value)).collect();
    let facts = LaunchFacts::of_launch(db, kernel, &values);
    let instance = Instance::chosen(db, kernel, instance.args(db).clone(), setup.target, facts);
    let cuda = hx_compile::cuda_source(db, instance).as_ref().ok();
    let reported = cuda.and_then(|c| setup.reported_registers(&c.text, &c.symbol, setup.target.name()));
    Ok(Cost {
        resources: resources(db, instance, reported),
        cycles: if dims.is_empty() { None } else { launch_cycles(db, instance, dims) },
    })
}

/// Converts costs to a Python dictionary.
pub(super) fn cost_dict<'py>(py: Python<'py>, cost: &Cost) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let Some(found) = &cost.resources {
        dict.set_item("threads", found.threads)?;
        dict.set_item("shared_bytes", found.shared_bytes)?;
        dict.set_item("registers", found.registers.count())?;
        dict.set_item("registers_reported", matches!(found.registers, Registers::Reported(_)))?;
        dict.set_item("blocks_per_multiprocessor", found.residency.map(|residency| residency.blocks))?;
    }
    dict.set_item("cycles", cost.cycles)?;
    Ok(dict)
}

/// Returns a member that a choice considered: its `name`, its time in `microseconds`, whether that time was `measured`, and the reason why
/// the launch does not fit it, `unfit`.
pub(super) fn member_dict<'py>(py: Python<'py>, member: &Considered) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &member.name)?;
    dict.set_item("microseconds", member.micros())?;
    dict.set_item("measured", matches!(member.fit, Fit::Measured { .. }))?;
    dict.set_item("unfit", if let Fit::Unfit(reason) = &member.fit { Some(reason) } else { None })?;
    Ok(dict)
}
