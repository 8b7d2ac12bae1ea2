//! Explains why an instance has no layouts: finds the smallest set of demands that conflict, and repairs.
//!
//! The solver does the work ([`hx_synth::explain`]). This module makes it a query, and tries values of compile-time
//! parameters, which the solver does not know.

use hx_hir::Name;
use hx_layout::ComposedLayout;
use hx_lower::CtValue;
use hx_synth::{Claim, Conflict, Failure, FailureKind, fits_registers};

use hx_tile::{Op, OpKind, Operand, TensorId, TensorKind, TileProgram, View};

use crate::{Db, Instance, Stop, solved, tile_program};

/// The most times that the value of a compile-time parameter is halved.
const VALUES: usize = 6;

/// Up to this value, the smaller values down to the half are tried one by one.
const COUNTED: i64 = 24;

/// Returns the conflict of an instance without layouts; `None` if there is a solution, or no tile program.
#[salsa::tracked]
pub fn conflict<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Option<Conflict> {
    let lowered = tile_program(db, instance).as_ref().ok()?;
    let Err(Stop::Layouts(_)) = solved(db, instance) else { return None };
    let poll = || {
        db.unwind_if_revision_cancelled();
        false
    };
    hx_synth::explain(&lowered.program, &poll)
}

/// A compile-time parameter with another value, with which an instance has layouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherValue {
    /// The name of the parameter.
    pub name: Name,
    /// The value with which the instance fails.
    pub old: i64,
    /// The nearest value of those tried with which it works.
    pub new: i64,
}

/// Returns values of single compile-time parameters with which an instance without layouts has layouts.
#[salsa::tracked]
pub fn other_values<'db>(db: &'db dyn Db, instance: Instance<'db>) -> Vec<OtherValue> {
    let (Ok(lowered), Err(Stop::Layouts(failure))) = (tile_program(db, instance), solved(db, instance))
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, value) in &lowered.sources.args {
        let CtValue::Int(old) = *value else { continue };
        let works = candidates(old, failure).into_iter().find(|new| {
            let other = with_value(db, instance, name, *new);
            let Ok(other_program) = tile_program(db, other) else { return false };
            let fits = failure.kind != FailureKind::Registers || fits_registers(&other_program.program);
            fits && solved(db, other).is_ok()
        });
        found.extend(works.map(|new| OtherValue { name: name.clone(), old, new }));
    }
    found
}

/// Returns the instance with another value of one compile-time parameter.
pub(crate) fn with_value<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
    name: &Name,
    value: i64,
) -> Instance<'db> {
    let mut args = instance.args(db).clone();
    args.insert(name.clone(), CtValue::Int(value));
    instance.with_args(db, args)
}

/// Returns the value halved once, twice and so on, down to 1 and at most [`VALUES`] times, as sizes of tiles are.
pub(crate) fn halves(old: i64) -> impl Iterator<Item = i64> {
    std::iter::successors(Some(old / 2), |x| Some(x / 2)).take(VALUES).take_while(|x| *x > 0)
}

/// Returns the values to try: smaller ones if something is too large, otherwise multiples that instructions need.
fn candidates(old: i64, failure: &Failure) -> Vec<i64> {
    // A parameter that counts, such as stages, takes the largest value that fits. Sizes of tiles are halved.
    let smaller = || {
        let fewer = if old <= COUNTED { old / 2 + 1..old } else { 0..0 };
        fewer.rev().chain(halves(old))
    };
    let mut values: Vec<i64> = match failure.kind {
        FailureKind::Resource | FailureKind::Registers => smaller().collect(),
        _ => [4, 8, 16, 32, 64].into_iter().map(|n| (old.max(1) + n - 1) / n * n).collect(),
    };
    values.retain(|value| *value != old);
    values.dedup();
    values
}

/// Names a claim in a few words, for text that explains its demand elsewhere.
pub(crate) fn claim_name(program: &TileProgram, claim: Claim) -> String {
    let tensor = |tensor: TensorId| format!("`{}`", program.tensor(tensor).name);
    match claim {
        Claim::Pin(pinned) => format!("the layout of {}", tensor(pinned)),
        Claim::Warps(_) => "the arrangement of the warps".to_owned(),
        Claim::Operation(op) => match program.op(op).map(|op| &op.kind) {
            Some(OpKind::Map(map)) => format!("the computation of {}", tensor(map.dst)),
            Some(OpKind::Reduce { src, .. }) => format!("the reduction of {}", tensor(*src)),
            Some(kind) => format!("the `{}`", kind.name()),
            None => "the operation".to_owned(),
        },
    }
}

/// Describes the demand of a claim in words and layouts.
pub(crate) fn claim_text(program: &TileProgram, claim: Claim) -> String {
    let name = |tensor: TensorId| format!("`{}`", program.tensor(tensor).name);
    match claim {
        Claim::Pin(tensor) => {
            let info = program.tensor(tensor);
            match &info.kind {
                TensorKind::Register { pinned: Some(layout) } => {
                    // A pin of another rank is rejected for its rank, so there is nothing to count.
                    let counts = match &layout.modes()[..] {
                        [threads, values] => {
                            let s = if values.size() == 1 { "" } else { "s" };
                            format!(": {} threads with {} element{s} each", threads.size(), values.size())
                        }
                        _ => String::new(),
                    };
                    format!("{} is pinned to `{layout}`{counts}", name(tensor))
                }
                TensorKind::Shared { pinned: Some(layout) } => {
                    let steps = steps(layout, info.dtype.bits());
                    format!("{} is pinned to `{}`{steps}", name(tensor), written(layout))
                }
                TensorKind::Register { pinned: None } | TensorKind::Shared { pinned: None } => {
                    format!("{} has a layout", name(tensor))
                }
            }
        }
        Claim::Warps(op) => {
            let Some(Op { kind: OpKind::Gemm { warps: Some([m, n, batch]), .. }, scope, .. }) =
                program.op(op)
            else {
                return "arranges its warps".to_owned();
            };
            let scope = program.scope(*scope);
            let s = if *m == 1 { "" } else { "s" };
            let along_batch =
                if *batch > 1 { format!(" and {batch} along the batch") } else { String::new() };
            let and = if *batch > 1 { "," } else { " and" };
            format!(
                "asks for {m} warp{s} along M{and} {n} along N{along_batch}; the {} has {}",
                scope.kind.name(),
                scope.threads / program.target.limits.lanes
            )
        }
        Claim::Operation(op) => {
            program.op(op).map_or_else(String::new, |op| operation_text(program, &op.kind))
        }
    }
}

/// Formats the distance in bytes from one element to the next along each dimension; empty if a swizzle changes it.
fn steps(layout: &ComposedLayout, bits: u32) -> String {
    let modes = layout.layout.modes();
    if !layout.swizzle.is_identity() {
        return String::new();
    }
    let moves = modes.iter().enumerate().filter(|(_, mode)| mode.size() > 1);
    let steps: Vec<String> = moves
        .map(|(dim, mode)| format!("{} B along dimension {dim}", mode.eval(1) * i64::from(bits) / 8))
        .collect();
    if steps.is_empty() { String::new() } else { format!(": a step is {}", steps.join(", ")) }
}

/// Formats a memory layout in the syntax of the language.
pub(crate) fn written(layout: &ComposedLayout) -> String {
    let swizzle = layout.swizzle;
    if swizzle.is_identity() {
        return layout.layout.to_string();
    }
    format!("swizzle<{}, {}, {}> ∘ {}", swizzle.bits(), swizzle.base(), swizzle.shift(), layout.layout)
}

fn operation_text(program: &TileProgram, kind: &OpKind) -> String {
    let name = |tensor: &TensorId| format!("`{}`", program.tensor(*tensor).name);
    match kind {
        OpKind::Fill { dst, .. } => format!("fills {}", name(dst)),
        OpKind::Gemm { c, a, b, .. } => {
            let typed = |tensor: TensorId| format!("{} ({})", name(&tensor), program.tensor(tensor).dtype);
            let operand = |operand: &Operand| operand.tensor().map_or_else(String::new, typed);
            let k = a.view.modes.get(1).map_or(String::new(), |k| format!(", with K = {}", k.extent));
            format!("multiplies {} by {} into {}{k}", operand(a), operand(b), typed(*c))
        }
        OpKind::Cast { dst, src } => {
            format!("{} and {} are held by the same threads here", name(dst), name(src))
        }
        OpKind::Map(map) => {
            let others: Vec<String> =
                map.inputs.iter().filter(|input| **input != map.dst).map(name).collect();
            match others.as_slice() {
                [] if map.value.mentions_index() => format!("writes coordinates to {}", name(&map.dst)),
                [] => format!("writes {}", name(&map.dst)),
                others => {
                    format!(
                        "computes {} element by element from {}: each thread needs the same elements of both",
                        name(&map.dst),
                        others.join(" and ")
                    )
                }
            }
        }
        OpKind::Reduce { dst, src, axis, .. } => {
            format!("{} is held as {} is, without axis {axis}", name(dst), name(src))
        }
        OpKind::Copy { src, dst } => {
            format!("moves {} to {}", base_text(program, src), base_text(program, dst))
        }
        OpKind::CopyAsync { src, dst, signal, .. } => {
            let signals =
                signal.map_or(String::new(), |pipe| format!("signals `{}`, and ", program.pipe(pipe).name));
            format!(
                "{signals}needs 4 bytes or more that are contiguous in both {} and {}, and begin at a multiple of 4 B in each",
                base_text(program, src),
                base_text(program, dst)
            )
        }
        other => format!("`{}`", other.name()),
    }
}

fn base_text(program: &TileProgram, view: &View) -> String {
    match program.base_name(view.base) {
        "" => String::new(),
        name => format!("`{name}`"),
    }
}
