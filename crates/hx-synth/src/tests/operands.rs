//! Operands of products that lie in shared memory: the solver records their loads, and the verifier checks the route.

use std::sync::Arc;

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_target::Target;
use hx_tile::{
    Base, Choice, Constant, GridAxis, Leaf, LoadIds, Op, OpId, OpKind, Operand, Scope, Stmt, SyncOp,
    TensorId, TileProgram, View, emit_tile, op_text,
};

use super::build::{Ops, constant, register, shared};
use crate::edits::{Edits, Load};
use crate::{Solved, solve};

const PRODUCT: OpId = OpId(7);

/// Returns a product of two shared tensors with `k` steps. The numbers 5 and 6 of operations, and 3 and 4 of tensors, are kept
/// free for loads.
fn program(k: i64) -> TileProgram {
    let tensors = vec![
        shared("sa", DType::F16, &[64, k]),
        shared("sb", DType::F16, &[64, k]),
        register("fill", DType::F16, &[64, k]),
        register("sa_tile", DType::F16, &[64, k]),
        register("sb_tile", DType::F16, &[64, k]),
        register("acc", DType::F32, &[64, 64]),
    ];
    let [sa, sb, fill, sa_tile, sb_tile, acc] = [0, 1, 2, 3, 4, 5].map(TensorId);
    let memory = |tensor| View::whole(Base::Shared(tensor), &[64, k]);
    let whole = View::whole(Base::Register(fill), &[64, k]);
    let mut ops = Ops::new();
    let mut body = vec![
        ops.op(OpKind::Fill { dst: fill, value: Constant::new(1.0) }),
        ops.op(OpKind::Copy { src: whole.clone(), dst: memory(sa) }),
        ops.op(OpKind::Copy { src: whole, dst: memory(sb) }),
        ops.op(OpKind::Sync(SyncOp::Scope)),
        ops.op(OpKind::Fill { dst: acc, value: Constant::ZERO }),
    ];
    let operand =
        |base, op, tensor| Operand { view: memory(base), load: Some(LoadIds { op: OpId(op), tensor }) };
    let (a, b) = (operand(sa, 5, sa_tile), operand(sb, 6, sb_tile));
    let Stmt::Leaf(Leaf::Op(product)) =
        ops.op(OpKind::Gemm { c: acc, a, b, warps: None, asynchronous: false })
    else {
        panic!("an operation")
    };
    body.push(Stmt::Leaf(Leaf::Op(hx_tile::Op { id: PRODUCT, ..product })));
    TileProgram {
        name: "product".into(),
        target: Target::builtin("sm_89"),
        grid: vec![GridAxis { blocks: constant(1) }],
        scopes: vec![Scope::block(128)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

fn solved(program: &TileProgram) -> Solved {
    let solved = solve(program, &|| false).expect("the program has layouts");
    assert_eq!(hx_verify::verify(program, &solved.program, &solved.solution), []);
    solved
}

#[test]
fn the_solution_loads_operands_with_the_numbers_kept_free() {
    let program = program(64);
    expect![[r#"
        kernel product threads 128
          grid [1]
          shared sa: f16[64, 64]
          shared sb: f16[64, 64]
          register fill: f16[64, 64]
          register acc: f32[64, 64]
          #0 fill(fill, 1.0)
          #1 copy(fill, sa[0..64, 0..64])
          #2 copy(fill, sb[0..64, 0..64])
          #3 sync()
          #4 fill(acc, 0.0)
          #7 gemm(acc, sa[0..64, 0..64], sb[0..64, 0..64])
    "#]]
    .assert_eq(&emit_tile(&program));
    let Solved { program: routed, edits, .. } = solved(&program);
    let loads = [0, 1].map(|operand| Load { gemm: PRODUCT, operand });
    assert_eq!(edits, Edits { loads: loads.into(), ..Edits::default() });
    let ops = routed.ops(1.0);
    let last: Vec<String> =
        ops[5..].iter().map(|(op, _)| format!("#{} {}", op.id.0, op_text(&routed, op))).collect();
    expect![[r#"
        #5 copy(sa[0..64, 0..64], sa_tile)
        #6 copy(sb[0..64, 0..64], sb_tile)
        #7 gemm(acc, sa_tile, sb_tile)"#]]
    .assert_eq(&last.join("\n"));
    // The program with loads has nothing left to load.
    assert_eq!(*edits.apply(&routed), *routed);
    assert_eq!(solved(&routed).edits, Edits::default());
}

/// Returns the loads of the product's stream and the depth of its slices; `None` for a product without a stream.
fn stream(k: i64) -> Option<(Vec<u32>, i64)> {
    let Some(Choice::Gemm(choice)) = solved(&program(k)).solution.choices.remove(&PRODUCT) else {
        panic!("no product")
    };
    choice.stream.map(|stream| (stream.loads.iter().map(|load| load.0).collect(), stream.depth))
}

#[test]
fn operands_are_streamed_if_the_product_has_several_slices() {
    assert_eq!(stream(16), None);
    assert_eq!(stream(64), Some((vec![5, 6], 16)));
}

fn check_spoiled(spoil: impl Fn(&mut Solved), expected: Expect) {
    let program = program(64);
    let mut spoiled = solved(&program);
    spoil(&mut spoiled);
    let found = hx_verify::verify(&program, &spoiled.program, &spoiled.solution);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn an_operand_without_a_route() {
    check_spoiled(
        |spoiled| {
            spoiled.edits.loads.truncate(1);
            spoiled.program = Arc::new(spoiled.edited(&program(64)));
        },
        expect![
            "operation #7: `mma.m16n8k16.f32.f16` is not a product of whole groups of warps by descriptor"
        ],
    );
}

/// Checks what the verifier reports if the statements of the solved program are changed.
fn check_changed(change: impl Fn(&mut Vec<Stmt>), expected: Expect) {
    check_spoiled(|spoiled| change(&mut Arc::make_mut(&mut spoiled.program).body), expected);
}

fn id_of(stmt: &Stmt) -> Option<u32> {
    match stmt {
        Stmt::Leaf(Leaf::Op(op)) => Some(op.id.0),
        _ => None,
    }
}

#[test]
fn a_load_that_no_operand_needs() {
    check_changed(
        |body| {
            let copy = body.iter().find(|stmt| id_of(stmt) == Some(5)).cloned();
            let Some(Stmt::Leaf(Leaf::Op(mut copy))) = copy else { panic!("a load") };
            copy.id = OpId(100);
            body.push(Stmt::Leaf(Leaf::Op(copy)));
        },
        expect!["the solved program adds other loads and moves than its operations need"],
    );
}

#[test]
fn a_load_that_is_left_out() {
    check_changed(
        |body| body.retain(|stmt| id_of(stmt) != Some(6)),
        expect!["the solved program adds other loads and moves than its operations need"],
    );
}

#[test]
fn an_operation_that_is_left_out() {
    check_changed(
        |body| body.retain(|stmt| id_of(stmt) != Some(3)),
        expect!["operation #3 is not the one of the source"],
    );
}

#[test]
fn an_operation_that_is_repeated() {
    check_changed(
        |body| {
            let Some(Stmt::Leaf(Leaf::Op(mut last))) = body.last().cloned() else { panic!("a product") };
            last.id = OpId(100);
            body.push(Stmt::Leaf(Leaf::Op(last)));
        },
        expect!["the added operation #100 is no load and no move"],
    );
}

#[test]
fn a_fill_with_nan_is_the_one_of_the_source() {
    let mut program = program(64);
    let Some(Stmt::Leaf(Leaf::Op(Op { kind: OpKind::Fill { value, .. }, .. }))) = program.body.first_mut()
    else {
        panic!("a fill")
    };
    *value = Constant::new(f64::NAN);
    solved(&program);
}

#[test]
fn an_operation_with_another_operand() {
    check_changed(
        |body| {
            let Some(Stmt::Leaf(Leaf::Op(Op { kind: OpKind::Copy { src, .. }, .. }))) = body.get_mut(1)
            else {
                panic!("a copy")
            };
            *src = View::whole(Base::Register(TensorId(3)), &[64, 64]);
        },
        expect!["operation #1 is not the one of the source"],
    );
}

fn spoil_stream(spoil: impl Fn(&mut hx_tile::Stream), expected: Expect) {
    let spoil = |spoiled: &mut Solved| match spoiled.solution.choices.get_mut(&PRODUCT) {
        Some(Choice::Gemm(choice)) => choice.stream.iter_mut().for_each(&spoil),
        _ => panic!("no product"),
    };
    check_spoiled(spoil, expected);
}

#[test]
fn slices_that_do_not_divide_k() {
    spoil_stream(
        |stream| stream.depth = 48,
        expect!["operation #7: slices of 48 do not divide 64 steps of K"],
    );
}

#[test]
fn slices_that_an_instruction_straddles() {
    spoil_stream(
        |stream| stream.depth = 8,
        expect!["operation #7: an instruction loads more than one slice of `sa_tile`"],
    );
}

#[test]
fn streamed_loads_that_are_not_those_before_the_product() {
    spoil_stream(
        |stream| stream.loads = vec![OpId(2), OpId(6)],
        expect!["operation #7: other operations stand between a streamed load and its product"],
    );
}
