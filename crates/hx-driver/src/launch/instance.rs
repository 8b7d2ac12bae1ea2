//! The instance of a launch, and what only the instance can check: computed shapes and `where` clauses.

use std::collections::BTreeMap;

use hx_base::codes;
use hx_compile::{Db, Instance, tile_program};
use hx_hir::Kernel;
use hx_host::HostError;
use hx_host::device::LaunchError;
use hx_index::{Cond, Expr, Symbol};
use hx_lower::{LaunchFacts, Lowered};
use hx_target::Arch;

use super::bind::{Header, Prepared};
use super::{Bound, BoundParam, BoundTensor, stopped_at};

/// The instance that a launch needs, with the launch's symbols bound.
pub(super) fn choose<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    arch: Arch,
    prepared: Prepared,
) -> Result<(Instance<'db>, Bound), LaunchError> {
    let facts = facts(&prepared);
    let instance = Instance::new(db, kernel, prepared.args, arch, facts);
    let lowered = tile_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
    let header = Header::new(db, kernel);
    let mut symbols: BTreeMap<Symbol, i64> =
        prepared.dims.iter().map(|(name, value)| (Symbol::Dim(name.clone()), *value)).collect();
    for (declared, param) in header.signature.params.iter().zip(&prepared.params) {
        if let BoundParam::Int(value) = param {
            symbols.insert(Symbol::Scalar(declared.name.clone()), *value);
        }
    }
    let lookup = |s: &Symbol| symbols.get(s).copied();
    for (index, param) in prepared.params.iter().enumerate() {
        if let (BoundParam::Tensor(bound), Some(hx_tile::Param::Tensor(declared))) =
            (param, lowered.program.params.get(index))
        {
            extents(&header, index, bound, &declared.shape, &lookup)
                .map_err(|error| LaunchError::arg(prepared.sources[index], error))?;
        }
    }
    requirements(&header, lowered, &prepared.dims, &lookup).map_err(LaunchError::call)?;
    Ok((instance, Bound { symbols, params: prepared.params }))
}

/// What the launch is specialized on. Tensors go into fresh memory, so pointers are aligned as far as facts go.
fn facts(prepared: &Prepared) -> LaunchFacts {
    let dims: BTreeMap<_, _> =
        prepared.dims.iter().map(|(name, value)| (name.clone(), LaunchFacts::divisor_of(*value))).collect();
    if dims.values().all(|d| *d == LaunchFacts::MAX) {
        // The same instance as the one that `hx check` solves.
        return LaunchFacts::all_16();
    }
    LaunchFacts { dims, ..LaunchFacts::all_16() }
}

/// Compares the argument with shapes that are computed, as `f16[BM * 2]`.
fn extents(
    header: &Header<'_>,
    index: usize,
    bound: &BoundTensor,
    declared: &[Expr],
    lookup: &dyn Fn(&Symbol) -> Option<i64>,
) -> Result<(), HostError> {
    let name = &header.signature.params[index].name;
    for (axis, (expr, &found)) in declared.iter().zip(&bound.shape).enumerate() {
        let value = expr.eval(lookup).map_err(|e| HostError::new(&codes::LAUNCH_DIMENSION, e.to_string()))?;
        if value != found {
            let error = HostError::new(
                &codes::LAUNCH_DIMENSION,
                format!("dimension {axis} of `{name}` is {found}, and must be `{expr}`, which is {value}"),
            );
            return Err(match header.at_type(index, "declared here") {
                Some(label) => error.label(label),
                None => error,
            });
        }
    }
    Ok(())
}

/// The `where` clauses with the values of this launch.
fn requirements(
    header: &Header<'_>,
    lowered: &Lowered,
    dims: &BTreeMap<hx_hir::Name, i64>,
    lookup: &dyn Fn(&Symbol) -> Option<i64>,
) -> Result<(), HostError> {
    for requirement in &lowered.program.requires {
        let refuse = |what: &str| {
            let values = values_in(&requirement.text, lowered, dims);
            let with = if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) };
            let error =
                HostError::new(&codes::BROKEN_REQUIREMENT, format!("`{}` {what}{with}", requirement.text));
            let clause = header.signature.wheres.iter().find(|p| p.text == requirement.text);
            match clause
                .and_then(|p| header.at_expr(p.condition, format!("`{}` relies on this", header.name())))
            {
                Some(label) => error.label(label),
                None => error,
            }
        };
        match requirement.cond.eval(lookup) {
            Ok(true) => {}
            Ok(false) => {
                let error = refuse("does not hold");
                return Err(match sides(&requirement.cond, lookup) {
                    Some((left, right)) => {
                        error.note(format!("the left side is {left}, the right side is {right}"))
                    }
                    None => error,
                });
            }
            Err(e) => return Err(refuse("cannot be decided").note(e.to_string())),
        }
    }
    Ok(())
}

/// The values of a comparison's sides.
fn sides(cond: &Cond, lookup: &dyn Fn(&Symbol) -> Option<i64>) -> Option<(i64, i64)> {
    match cond {
        Cond::Cmp(_, a, b) => Some((a.eval(lookup).ok()?, b.eval(lookup).ok()?)),
        _ => None,
    }
}

/// `k = 20, BK = 16`: the names in a clause that have values, each once.
fn values_in(text: &str, lowered: &Lowered, dims: &BTreeMap<hx_hir::Name, i64>) -> Vec<String> {
    let mut seen = Vec::new();
    let mut out = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.is_empty() || seen.contains(&word) {
            continue;
        }
        seen.push(word);
        let value = dims.get(word).map(i64::to_string);
        if let Some(value) = value.or_else(|| lowered.args.get(word).map(ToString::to_string)) {
            out.push(format!("{word} = {value}"));
        }
    }
    out
}
