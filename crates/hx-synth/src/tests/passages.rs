//! Copies between two memories, which move in rounds if the registers do not hold their tile.

use std::sync::Arc;

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Symbol;
use hx_tile::{
    Base, Control, Leaf, Op, OpKind, Origin, Rounds, Scope, Stmt, SyncOp, TensorId, TileProgram, View,
    emit_tile,
};

use super::build::{Ops, constant, param, register, shared, tile_of};
use crate::{Solved, solve};

/// Returns a program that moves a tile of f32 to shared memory and from there, as f16, to global memory.
fn program(shape: [i64; 2]) -> TileProgram {
    let tensors = vec![
        shared("s", DType::F32, &shape),
        register("x", DType::F32, &shape),
        register("y", DType::F32, &shape),
        register("h", DType::F16, &shape),
    ];
    let whole = |base| View::whole(base, &shape);
    let [x, y, h] = [1, 2, 3].map(|id| whole(Base::Register(TensorId(id))));
    let s = whole(Base::Shared(TensorId(0)));
    let tile = |param| tile_of(param, [constant(0), constant(0)], shape);
    let mut ops = Ops::new();
    let body = vec![
        ops.op(OpKind::Copy { src: tile(0), dst: x.clone() }),
        ops.op(OpKind::Copy { src: x, dst: s.clone() }),
        ops.op(OpKind::Sync(SyncOp::Scope)),
        ops.op(OpKind::Copy { src: s, dst: y }),
        ops.op(OpKind::Cast { dst: TensorId(3), src: TensorId(2) }),
        ops.op(OpKind::Copy { src: h, dst: tile(1) }),
    ];
    let mut program = TileProgram {
        name: "passages".into(),
        params: vec![param("a", DType::F32, ["m", "k"], false), param("c", DType::F16, ["m", "k"], false)],
        scopes: vec![Scope::block(128)],
        tensors,
        passing: [TensorId(1), TensorId(2)].into(),
        body,
        ..TileProgram::default()
    };
    // Rows begin at multiples of 16 bytes, so accesses are whole vectors.
    program.facts.divisible(Symbol::Dim("k".into()), 16);
    each_op(&mut program.body, &mut 0, &mut |_, op| op.origin = Origin(op.id.0));
    program
}

fn solved(program: &TileProgram) -> Solved {
    let solved = solve(program, &|| false).unwrap();
    assert_eq!(hx_verify::verify(program, &solved.program, &solved.solution), []);
    solved
}

#[test]
fn copies_move_in_rounds_of_what_the_registers_hold() {
    let program = program([100, 100]);
    let found = solved(&program);
    expect![[r#"
        kernel passages threads 128
          grid []
          param a: f32[m, k] : [k, 1] align 16
          param c: mut f16[m, k] : [k, 1] align 16
          fact k % 16 == 0
          shared s: f32[100, 100]
          register x: f32[40, 100]
          register y: f32[25, 100]
          register h: f16[25, 100]
          register x_rest: f32[20, 100]
          for chunk in 0..2
            #0 copy(a[chunk * 40 + 0..40, 0..100], x)
            #1 copy(x, s[chunk * 40 + 0..40, 0..100])
          #6 copy(a[80 + 0..20, 0..100], x_rest)
          #7 copy(x_rest, s[80 + 0..20, 0..100])
          #2 sync()
          for chunk in 0..4
            #3 copy(s[chunk * 25 + 0..25, 0..100], y)
            #4 h = cast(y, f16)
            #5 copy(h, c[chunk * 25 + 0..25, 0..100])
    "#]]
    .assert_eq(&emit_tile(&found.program));
    let rounds: Vec<String> = found.rounds().into_values().map(|chunks| format!("{chunks:?}")).collect();
    expect![[r#"
        Chunks { shape: [40, 100], count: 3, registers: 79 }
        Chunks { shape: [25, 100], count: 4, registers: 118 }"#]]
    .assert_eq(&rounds.join("\n"));
    // The program with rounds is cut no further, and the solution of it is the same.
    let again = solved(&found.program);
    assert_eq!((&again.program, again.rounds().len()), (&found.program, 0));
}

#[test]
fn a_tile_that_the_registers_hold_moves_at_once() {
    let program = program([64, 64]);
    assert_eq!(*solved(&program).program, program);
}

/// Says what the verifier finds in a solved program after a change.
fn spoiled(change: impl Fn(&mut TileProgram), expected: Expect) {
    let source = program([100, 100]);
    let Solved { mut program, solution, .. } = solved(&source);
    change(Arc::make_mut(&mut program));
    let found = hx_verify::verify(&source, &program, &solution);
    expected.assert_eq(&found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
}

/// Changes the operations of a program, with their position in the text.
fn each_op(stmts: &mut [Stmt], at: &mut usize, change: &mut dyn FnMut(usize, &mut Op)) {
    for stmt in stmts {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) => {
                change(*at, op);
                *at += 1;
            }
            control => control.bodies_mut().for_each(|body| each_op(body, at, change)),
        }
    }
}

#[test]
fn the_verifier_refuses_rounds_that_leave_elements_out() {
    spoiled(|_| {}, expect![]);
    // One round less.
    let fewer = |program: &mut TileProgram| {
        let Stmt::Control(Control::For { rounds: Rounds::Range { end, .. }, .. }) = &mut program.body[0]
        else {
            panic!()
        };
        *end = end.clone() - constant(1);
    };
    spoiled(fewer, expect!["the solved program has another statement than its source"]);
    // No last chunk.
    spoiled(
        |program| drop(program.body.drain(1..3)),
        expect!["the solved program lacks the operations of a chunk"],
    );
    // The first chunk twice, to two places.
    let same = |program: &mut TileProgram| {
        each_op(&mut program.body, &mut 0, &mut |at, op| {
            if let (0, OpKind::Copy { src, .. }) = (at, &mut op.kind) {
                src.offsets[0] = constant(0);
            }
        });
    };
    spoiled(same, expect!["operation #0 is not the one of the source"]);
    // Chunks of another shape than the loop has.
    spoiled(|program| program.tensors[1].shape[0] -= 1, expect!["`x_rest` cannot hold a chunk of `x`"]);
    spoiled(
        |program| program.tensors[1].shape[0] = 0,
        expect!["chunks of [0, 100] do not make up a tile of [100, 100]"],
    );
    // The range of a counter.
    let range = |program: &mut TileProgram| {
        let Stmt::Control(Control::For { var, .. }) = &program.body[0] else { panic!() };
        program.facts.at_most(var.clone(), constant(0));
    };
    spoiled(range, expect!["the solved program differs from its source outside of its body"]);
}
