//! Propagation: layouts that follow from those already known.

use std::collections::BTreeMap;

use hx_tile::{Map, OpId, OpKind, Reason, TensorId, TileProgram};

use crate::component::Component;
use crate::distribution::Tv;
use crate::failure::{Failure, FailureKind};

/// A layout with the reason for it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) tv: Tv,
    pub(crate) reason: Reason,
}

pub(crate) type Layouts = BTreeMap<TensorId, Known>;

/// Fires every constraint with one unknown side, in the order of the text, until nothing changes.
pub(crate) fn propagate(program: &TileProgram, component: &Component<'_>, known: &mut Layouts) {
    loop {
        let before = known.len();
        for (op, _) in &component.ops {
            match &op.kind {
                OpKind::Cast { dst, src } => equal(op.id, *dst, *src, known),
                OpKind::Map(map) => elementwise(program, op.id, map, known),
                // The result follows from the source; the source could be dealt in many ways.
                OpKind::Reduce { dst, src, axis, .. } => project(op.id, *src, *dst, &[*axis], known),
                _ => {}
            }
        }
        if known.len() == before {
            return;
        }
    }
}

/// Both sides are held alike.
fn equal(op: OpId, a: TensorId, b: TensorId, known: &mut Layouts) {
    let (from, to) = match (known.contains_key(&a), known.contains_key(&b)) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return,
    };
    let reason = Reason { text: "elementwise: as its operand".into(), from: vec![op] };
    known.insert(to, Known { tv: known[&from].tv.clone(), reason });
}

/// `to` has extent 1 along the axes and is held by every thread that holds an element of `from` there.
fn project(op: OpId, from: TensorId, to: TensorId, axes: &[usize], known: &mut Layouts) {
    if let (Some(k), false) = (known.get(&from), known.contains_key(&to)) {
        let text = format!("the projection of its operand along {axes:?}");
        let known_to = Known { tv: k.tv.project(axes), reason: Reason { text, from: vec![op] } };
        known.insert(to, known_to);
    }
}

fn elementwise(program: &TileProgram, op: OpId, map: &Map, known: &mut Layouts) {
    for input in &map.inputs {
        if broadcast(program, map, *input).is_empty() {
            equal(op, map.dst, *input, known);
        }
    }
    for input in &map.inputs {
        let axes = broadcast(program, map, *input);
        if !axes.is_empty() {
            project(op, map.dst, *input, &axes, known);
        }
    }
}

/// The axes along which an input of an expression is broadcast.
pub(crate) fn broadcast(program: &TileProgram, map: &Map, input: TensorId) -> Vec<usize> {
    let (from, to) = (&program.tensor(input).shape, &program.tensor(map.dst).shape);
    (0..to.len()).filter(|d| from[*d] == 1 && to[*d] != 1).collect()
}

/// Checks that every operation finds its operands where it works.
pub(crate) fn check(
    program: &TileProgram,
    component: &Component<'_>,
    known: &Layouts,
) -> Result<(), Failure> {
    for (op, _) in &component.ops {
        match &op.kind {
            OpKind::Cast { dst, src } => meet(program, op.id, *dst, *src, &[], known)?,
            OpKind::Map(map) => {
                for input in &map.inputs {
                    meet(program, op.id, map.dst, *input, &broadcast(program, map, *input), known)?;
                }
            }
            OpKind::Reduce { dst, src, axis, .. } => meet(program, op.id, *src, *dst, &[*axis], known)?,
            _ => {}
        }
    }
    Ok(())
}

/// Every thread that works on an element of `at`, projected along the axes, holds that element of `operand`.
fn meet(
    program: &TileProgram,
    op: OpId,
    at: TensorId,
    operand: TensorId,
    axes: &[usize],
    known: &Layouts,
) -> Result<(), Failure> {
    let (Some(d), Some(s)) = (known.get(&at), known.get(&operand)) else { return Ok(()) };
    let wanted = if axes.is_empty() { d.tv.clone() } else { d.tv.project_values(axes) };
    if s.tv.positions_of(&wanted).is_some() {
        return Ok(());
    }
    let demand = |k: &Known| match (k.tv.thread_layout(), k.tv.value_layout()) {
        (Ok(t), Ok(v)) => format!("({t}, {v})"),
        _ => "a layout too large to print".into(),
    };
    let [at_name, operand_name] = [at, operand].map(|t| program.tensor(t).name.as_str());
    let failure = Failure::new(
        FailureKind::Conflict,
        format!("`{at_name}` and `{operand_name}` are held by different threads here"),
    );
    let part = |failure: Failure, tensor: TensorId, name: &str, k: &Known| {
        let text = format!("`{name}` is held as {}: {}", demand(k), k.reason.text);
        failure.part(k.reason.from.first().copied(), Some(tensor), text)
    };
    let failure = part(part(failure.at(op), at, at_name, d), operand, operand_name, s);
    Err(failure.help(format!("`rearrange({operand_name}, auto)` moves it to the threads that need it")))
}
