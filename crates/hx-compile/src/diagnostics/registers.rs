//! Tensors that no thread has the registers for: one that alone takes more than there are, and those that are all held while
//! the block multiplies or waits. What the CUDA compiler does with the rest is its own business: it may compute the next value
//! before it has all of the last.

use hx_base::{Diagnostic, codes};
use hx_lower::Lowered;
use hx_tile::{Held, OpId, Solution, TensorId, TileProgram, registers_of};

use super::Places;

/// One warning for each register tensor that alone is too large for a thread.
pub(super) fn too_many(places: &Places<'_>, lowered: &Lowered, solution: &Solution) -> Vec<Diagnostic> {
    let arch = places.instance.arch(places.db);
    let limits = arch.limits();
    let threads = i64::from(lowered.program.threads.max(1));
    let most = i64::from(limits.registers_per_thread).min(i64::from(limits.registers) / threads);
    let program = solution.program(&lowered.program);
    let mut found = Vec::new();
    for (&id, distribution) in &solution.registers {
        let tensor = program.tensor(id);
        let values = distribution.layout.mode(1).size();
        let registers = registers(&program, solution, id);
        if registers <= most {
            continue;
        }
        let name = &tensor.name;
        let (file, range) = places.tensor(lowered, id).unwrap_or_else(|| places.kernel());
        let message =
            format!("`{name}` takes {registers} registers of each thread, which has {most} on {arch}");
        let diagnostic = Diagnostic::new(&codes::TOO_MANY_REGISTERS, file, range, message)
            .label(format!("{values} elements of {} a thread", tensor.dtype));
        found.push(diagnostic.help("a smaller tile or more threads"));
    }
    if found.is_empty() {
        found.extend(held_at_once(places, lowered, &program, solution, most));
    }
    found
}

/// A warning at the operation across which the most registers are held, if there are not so many.
fn held_at_once(
    places: &Places<'_>,
    lowered: &Lowered,
    program: &TileProgram,
    solution: &Solution,
    most: i64,
) -> Option<Diagnostic> {
    let (op, held) = pressure(program, solution)?;
    let all: i64 = held.iter().map(|(_, registers)| registers).sum();
    if all <= most {
        return None;
    }
    let arch = places.instance.arch(places.db);
    let (file, range) = places.op(lowered, op).unwrap_or_else(|| places.kernel());
    let message = format!(
        "tensors of {all} registers a thread are held across this `{}`, and a thread of {arch} has {most}",
        program.op(op).map_or("operation", |op| op.kind.name())
    );
    let mut found = Diagnostic::new(&codes::TOO_MANY_REGISTERS, file, range, message);
    for (tensor, count) in held.iter().take(SHOWN) {
        if let Some((file, range)) = places.tensor(lowered, *tensor) {
            found = found.also(file, range, format!("`{}` takes {count}", program.tensor(*tensor).name));
        }
    }
    Some(found.help("smaller tiles, more threads, or tensors that are made later and used sooner"))
}

/// So many of the tensors are shown, the largest first.
const SHOWN: usize = 4;

/// The operation across which most registers are held, with the tensors that hold them and how many each takes.
fn pressure(program: &TileProgram, solution: &Solution) -> Option<(OpId, Vec<(TensorId, i64)>)> {
    let mut worst: Option<(i64, OpId, Vec<(TensorId, i64)>)> = None;
    for (op, tensors) in Held::of(program).across {
        let mut held: Vec<(TensorId, i64)> =
            tensors.into_iter().map(|tensor| (tensor, registers(program, solution, tensor))).collect();
        held.sort_by_key(|(tensor, registers)| (-registers, *tensor));
        let total = held.iter().map(|(_, registers)| registers).sum();
        if worst.as_ref().is_none_or(|(most, _, _)| total > *most) {
            worst = Some((total, op.id, held));
        }
    }
    worst.map(|(_, op, held)| (op, held))
}

/// Registers of each thread that a tensor takes.
fn registers(program: &TileProgram, solution: &Solution, tensor: TensorId) -> i64 {
    let values = solution.registers.get(&tensor).map_or(0, |held| held.layout.mode(1).size());
    registers_of(program, tensor, values)
}
