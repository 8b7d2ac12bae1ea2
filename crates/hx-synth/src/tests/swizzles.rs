//! Swizzles that are part of a demand: they are taken as they are, and the others are searched for.

use std::collections::BTreeSet;
use std::rc::Rc;

use expect_test::expect;
use hx_layout::{ComposedLayout, Layout, Swizzle};
use hx_tile::{TensorId, TensorKind, TileProgram};

use super::build::{Matmul, matmul};
use crate::access::Transfer;
use crate::constraints::System;
use crate::distribution::pinned;
use crate::search::context::SolverContext;
use crate::search::pool::Pool;
use crate::shared::{Constraint, Use, solve_under};
use crate::solve;

const SC: TensorId = TensorId(3);
const SHAPE: [i64; 2] = [64, 64];

/// Returns the swizzle and the layout of `sc` under a demand.
fn served(program: &TileProgram, demand: Constraint) -> String {
    let solution = solve(program, &|| false).expect("the program has layouts").solution;
    let (system, pool) = (System::of(program, &BTreeSet::new()), Pool::default());
    let context = SolverContext::new(&system, &pool, &|| false);
    let used = |op| {
        let transfer = Transfer::of(op).filter(|transfer| transfer.shared() == Some(SC))?;
        let held = &solution.registers[&transfer.register].layout;
        let layout = pinned::read(held, &program.tensor(transfer.register).shape, 128).expect("a layout");
        Some(Use::register(program, transfer, Rc::new(layout), 1.0))
    };
    let uses: Vec<Use<'_>> = program.ops(1.0).into_iter().filter_map(|(op, _)| used(op)).collect();
    let Some(buffer) = solve_under(&context, SC, &uses, demand).expect("instructions") else {
        return "none".to_owned();
    };
    let bytes: BTreeSet<u32> =
        buffer.accesses.iter().filter_map(|access| Some(access.by.access()?.row.bytes)).collect();
    format!("{}: {}, accesses of {bytes:?} B", buffer.swizzle.source_form(), buffer.layout)
}

#[test]
fn a_demanded_swizzle_is_taken_and_a_free_one_is_searched_for() {
    let program = matmul(&Matmul::default());
    let lines = [
        served(&program, Constraint::free(&SHAPE)),
        served(&program, Constraint::pinned(&SHAPE, Swizzle::new(2, 3, 3).expect("a swizzle"))),
        served(&program, Constraint::pinned(&SHAPE, Swizzle::identity())),
        // This swizzle moves single elements, so no access may be wider.
        served(&program, Constraint::pinned(&SHAPE, Swizzle::new(2, 0, 3).expect("a swizzle"))),
    ];
    expect![[r#"
        swizzle<3, 3, 3>: (64,64):(64,1), accesses of {16} B
        swizzle<2, 3, 3>: (64,64):(64,1), accesses of {16} B
        swizzle<0, 0, 0>: (64,(8,8)):(8,(1,520)), accesses of {16} B
        swizzle<2, 0, 3>: (64,64):(1,66), accesses of {2} B"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn the_swizzle_of_a_pin_is_part_of_what_its_accesses_unify_to() {
    let mut program = matmul(&Matmul::default());
    let swizzle = Swizzle::new(2, 3, 3).expect("a swizzle");
    let pin = ComposedLayout::swizzled(swizzle, Layout::literal("(64,64):(64,1)"));
    program.tensors[SC.0 as usize].kind = TensorKind::Shared { pinned: Some(pin) };
    let solution = solve(&program, &|| false).expect("the program has layouts").solution;
    assert_eq!(solution.shared[&SC].swizzle, swizzle);
    expect!["the accesses unify to `swizzle<2, 3, 3> ∘ (64,(8,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles"].assert_eq(&solution.shared[&SC].reason.text);
}
