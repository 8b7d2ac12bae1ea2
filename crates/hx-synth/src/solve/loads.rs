//! The first decision about a program: how operands of products that lie in shared memory reach their instruction.

use std::collections::BTreeMap;

use hx_tile::{OpId, OpKind, TileProgram};

use crate::anchor::descriptor::is_possible;
use crate::anchor::gemm::Gemm;
use crate::edits::{Edits, Load};
use crate::search::pool::Pool;
use crate::solve::rounds::cuts;

/// The means that a run of the solver may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    /// Instructions read operands from shared memory by descriptor.
    pub(crate) by_descriptor: bool,
    /// Copies that signal a pipeline may be made in boxes, as stores always are.
    pub(crate) in_boxes: bool,
}

impl Means {
    /// Every means. Tests of the solver leave some out.
    pub(crate) const ALL: Means = Means { by_descriptor: true, in_boxes: true };
}

/// The products that read B by descriptor; `true` for a product whose A is loaded into registers.
type ByDescriptor = BTreeMap<OpId, bool>;

/// Returns the program with rounds of copies, and with loads of all operands in shared memory, so that every product reads registers.
/// Failures, conflicts and constraints are those of this program.
pub fn loaded(program: &TileProgram) -> TileProgram {
    loads_except(program, &ByDescriptor::new()).loaded(program).into_owned()
}

/// Returns the routes of the operands to try. The first lets all products read by descriptor whose instructions can, the second
/// does so with each A in registers, the next ones are the first without one of the products. The last one loads all operands.
pub(crate) fn routes(program: &TileProgram, pool: &Pool, by_descriptor: bool) -> Vec<Edits> {
    // With A where it is, and with A loaded.
    let mut possible = [ByDescriptor::new(), ByDescriptor::new()];
    let ops = if by_descriptor { program.ops(1.0) } else { Vec::new() };
    for gemm in ops.into_iter().filter_map(|(op, _)| Gemm::of(program, op)) {
        let [staged, loaded] = [false, true].map(|loads_a| is_possible(program, &gemm, pool, loads_a));
        if staged || loaded {
            possible[0].insert(gemm.op.id, !staged);
            possible[1].insert(gemm.op.id, loaded);
        }
    }
    let mut routes: Vec<Edits> = Vec::new();
    let mut add = |route: Edits| {
        if !routes.contains(&route) {
            routes.push(route)
        }
    };
    let [first, _] = &possible;
    possible.iter().for_each(|all| add(loads_except(program, all)));
    for gemm in first.keys() {
        let others = first.iter().filter(|(other, _)| *other != gemm);
        add(loads_except(program, &others.map(|(op, loads_a)| (*op, *loads_a)).collect()));
    }
    add(loads_except(program, &ByDescriptor::new()));
    routes
}

/// Returns the rounds of copies, and the loads of the operands in shared memory, except for those that products read by descriptor.
fn loads_except(program: &TileProgram, by_descriptor: &ByDescriptor) -> Edits {
    let mut loads = Vec::new();
    for (op, _) in program.ops(1.0) {
        let OpKind::Gemm { a, b, .. } = &op.kind else { continue };
        let staged = [a, b].into_iter().enumerate().filter(|(_, operand)| operand.view.register().is_none());
        let is_loaded =
            |operand: usize| by_descriptor.get(&op.id).is_none_or(|loads_a| *loads_a && operand == 0);
        let loaded = staged.map(|(operand, _)| operand).filter(|operand| is_loaded(*operand));
        loads.extend(loaded.map(|operand| Load { gemm: op.id, operand }));
    }
    Edits { cuts: cuts(program), loads, ..Edits::default() }
}
