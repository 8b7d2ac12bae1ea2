//! Many accesses to one buffer: accesses whose wide forms unify keep them, and the search for them is bounded.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Facts;
use hx_tile::{
    Base, Choice, Constant, GridAxis, OpKind, Operand, Param, ParamId, Scope, Solution, SyncOp, Tensor,
    TensorId, TensorParam, TileProgram, View,
};

use super::build::{Ops, constant, register, shared};
use crate::edits::Edits;
use crate::search::pool::Pool;
use crate::solve::solver::Solver;
use crate::{Solved, candidates, second_buffer};

/// A read of the buffer.
#[derive(Clone)]
enum Read {
    /// A copy to global memory, with the dimensions in this order.
    Permuted(Vec<usize>),
    /// A product of the buffer with itself; each flag transposes one operand.
    Product(bool, bool),
}

/// Returns a program that writes a buffer once from global memory and then reads it as `reads` say.
fn program(dtype: DType, shape: &[i64], threads: u32, reads: &[Read]) -> TileProgram {
    let (mut tensors, mut params, mut body) = (Vec::<Tensor>::new(), Vec::new(), Vec::new());
    let mut ops = Ops::new();
    let mut param = |dtype: DType, shape: &[i64], mutable: bool| {
        let mut stride: Vec<i64> = vec![1; shape.len()];
        (1..shape.len()).rev().for_each(|d| stride[d - 1] = stride[d] * shape[d]);
        let id = ParamId(params.len() as u32);
        let [shape_of, stride] = [shape, &stride].map(|all| all.iter().map(|n| constant(*n)).collect());
        let name = format!("p{}", id.0);
        let param = TensorParam { name, dtype, mutable, shape: shape_of, stride, block: None, align: 16 };
        params.push(Param::Tensor(param));
        View::whole(Base::Global(id), shape)
    };
    let mut tensor = |tensor: Tensor| {
        tensors.push(tensor);
        TensorId(tensors.len() as u32 - 1)
    };
    let whole = |tensor, shape: &[i64]| View::whole(Base::Register(tensor), shape);
    let s = tensor(shared("s", dtype, shape));
    let permuted = |order: &[usize]| {
        let view = View::whole(Base::Shared(s), shape);
        View { modes: order.iter().map(|d| view.modes[*d].clone()).collect(), ..view }
    };
    let x = tensor(register("x", dtype, shape));
    body.push(ops.op(OpKind::Copy { src: param(dtype, shape, false), dst: whole(x, shape) }));
    body.push(ops.op(OpKind::Copy { src: whole(x, shape), dst: View::whole(Base::Shared(s), shape) }));
    body.push(ops.op(OpKind::Sync(SyncOp::Scope)));
    for (i, read) in reads.iter().enumerate() {
        match read {
            Read::Permuted(order) => {
                let shape: Vec<i64> = order.iter().map(|d| shape[*d]).collect();
                let y = tensor(register(&format!("y{i}"), dtype, &shape));
                body.push(ops.op(OpKind::Copy { src: permuted(order), dst: whole(y, &shape) }));
                body.push(ops.op(OpKind::Copy { src: whole(y, &shape), dst: param(dtype, &shape, true) }));
            }
            Read::Product(first, second) => {
                let [c, a, b] = ["c", "a", "b"].map(|name| {
                    let dtype = if name == "c" { DType::F32 } else { dtype };
                    tensor(register(&format!("{name}{i}"), dtype, shape))
                });
                body.push(ops.op(OpKind::Fill { dst: c, value: Constant::ZERO }));
                // A gemm multiplies by the transpose of `b`, so the flag of the second operand is negated.
                for (operand, transposed) in [(a, *first), (b, !*second)] {
                    let src = permuted(if transposed { &[1, 0] } else { &[0, 1] });
                    body.push(ops.op(OpKind::Copy { src, dst: whole(operand, shape) }));
                }
                let [a, b] = [a, b].map(|operand| Operand::register(operand, shape));
                body.push(ops.op(OpKind::Gemm { c, a, b, warps: None, asynchronous: false }));
                body.push(ops.op(OpKind::Copy { src: whole(c, shape), dst: param(DType::F32, shape, true) }));
            }
        }
    }
    let grid = vec![GridAxis { blocks: constant(1) }];
    let facts = Facts::default();
    TileProgram {
        name: "crowded".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(threads)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

/// Returns the bytes of each access to the buffer, in the order of the text.
fn bytes(program: &TileProgram, solution: &Solution) -> Vec<u32> {
    let accesses =
        program.ops(1.0).into_iter().filter_map(|(op, _)| match (&op.kind, solution.choices.get(&op.id)) {
            (OpKind::Copy { src, dst }, Some(Choice::Copy(copy))) => {
                let is_shared = |view: &View| matches!(view.base, Base::Shared(_));
                (is_shared(src) || is_shared(dst)).then_some(copy.bytes)
            }
            _ => None,
        });
    accesses.collect()
}

/// Checks that the verifier accepts the solution, that no candidate takes fewer cycles, and that the search stayed within its
/// budget.
fn check(program: &TileProgram, expected: &Expect) {
    let pool = Pool::default();
    let (draft, _) = Solver::new(program, &pool, &|| false).solve().unwrap();
    let Solved { program: whole, solution, .. } = draft.solved(program, &Edits::default());
    assert!(pool.looked.get() <= 60_000_000, "{} addresses", pool.looked.get());
    assert_eq!(hx_verify::verify(program, &whole, &solution), []);
    expected.assert_eq(&format!("{:?}", bytes(program, &solution)));
    let all = candidates(program, &|| false).unwrap();
    assert_eq!(all[0].solution, solution);
    assert!(
        all.iter().all(|other| other.solution.cost >= solution.cost * (1.0 - 1e-9)),
        "{:?}",
        all.iter().map(|s| s.solution.cost).collect::<Vec<_>>()
    );
}

#[test]
fn a_transposed_copy_and_two_products_keep_wide_accesses() {
    let reads = [Read::Permuted(vec![1, 0]), Read::Product(false, true), Read::Product(true, false)];
    check(&program(DType::F16, &[64, 64], 128, &reads), &expect!["[16, 2, 16, 16, 16, 16]"]);
}

#[test]
fn permuted_copies_of_three_dimensions() {
    let orders = [[2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 2, 1]];
    let reads = orders.map(|order| Read::Permuted(order.to_vec()));
    check(&program(DType::F16, &[24, 40, 56], 224, &reads), &expect!["[2, 8, 2, 2, 8]"]);
}

#[test]
fn seven_transposed_copies() {
    let orders = [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1], [1, 0]];
    let reads = orders.map(|order| Read::Permuted(order.to_vec()));
    for (dtype, expected) in [
        (DType::F16, expect!["[16, 16, 16, 16, 16, 16, 16, 16]"]),
        (DType::F32, expect!["[4, 16, 4, 16, 4, 16, 4, 16]"]),
        (DType::I8, expect!["[16, 1, 16, 1, 16, 1, 16, 1]"]),
    ] {
        check(&program(dtype, &[64, 96], 128, &reads), &expected);
    }
}

/// Returns reads with every order of the dimensions; consecutive orders differ by a swap of neighbours.
fn every_order(shape: &[i64], reads: usize) -> Vec<Read> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    let each = (0..reads).map(|i| {
        let at = i % (shape.len() - 1);
        order.swap(at, at + 1);
        Read::Permuted(order.clone())
    });
    each.collect()
}

/// If the search ends at its budget, only solutions that may be cheaper count as unexplored.
#[test]
fn what_cannot_be_cheaper_is_not_left_unexplored() {
    let unexplored = |dtype, shape: &[i64], reads: usize| {
        let program = program(dtype, shape, 128, &every_order(shape, reads));
        crate::solve(&program, &|| false).unwrap().solution.unexplored
    };
    let all =
        [(DType::I8, 5), (DType::I8, 6), (DType::F16, 5), (DType::F16, 6), (DType::F16, 7), (DType::F32, 5)];
    expect!["[2, 0, 6, 1, 1, 7]"]
        .assert_eq(&format!("{:?}", all.map(|(dtype, reads)| unexplored(dtype, &[8, 24, 40], reads))));
}

/// In one buffer, alternating reads by rows and by columns make one kind expensive; with a buffer for each kind both are wide.
#[test]
fn a_second_buffer_is_offered_where_it_was_solved_and_is_cheaper() {
    let reads: Vec<Read> =
        (0..6).map(|i| Read::Permuted(if i % 2 == 0 { vec![1, 0] } else { vec![0, 1] })).collect();
    let crowded = program(DType::F16, &[64, 64], 128, &reads);
    let solved = crate::solve(&crowded, &|| false).unwrap();
    let second = second_buffer(&crowded, &solved, TensorId(0), &|| false);
    let second = second.expect("it is cheaper");
    let cost = solved.solution.cost;
    assert!(second.cost < cost, "{} and {cost}", second.cost);
    let few = program(DType::F16, &[64, 64], 128, &reads[..1]);
    let solved = crate::solve(&few, &|| false).unwrap();
    assert_eq!(second_buffer(&few, &solved, TensorId(0), &|| false), None);
}
