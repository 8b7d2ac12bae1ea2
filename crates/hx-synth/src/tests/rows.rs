//! Solves reductions along rows: within threads, between lanes, across warps.

use expect_test::{Expect, expect};
use hx_dtype::{DType, Operator};
use hx_index::{Facts, Symbol};
use hx_tile::{
    Base, Constant, GridAxis, Map, OpKind, Scalar, Scope, TensorId, TileProgram, View, emit_layouts,
};

use super::build::{Ops, constant, dim, param, register, tile_of};
use crate::{Solved, solve};

/// Returns `c = softmax(a)` along rows of `n` elements, with `rows` rows in each block.
pub(super) fn softmax(rows: i64, n: i64, threads: u32) -> TileProgram {
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("n".into()), 16);
    let tensors = vec![
        register("x", DType::F16, &[rows, n]),
        register("x_f32", DType::F32, &[rows, n]),
        register("top", DType::F32, &[rows, 1]),
        register("p", DType::F32, &[rows, n]),
        register("total", DType::F32, &[rows, 1]),
        register("y", DType::F32, &[rows, n]),
        register("y_f16", DType::F16, &[rows, n]),
    ];
    let [x, x32, top, p, total, y, y16] = [0, 1, 2, 3, 4, 5, 6].map(TensorId);
    let whole = |t: TensorId| View::whole(Base::Register(t), &tensors[t.0 as usize].shape);
    let input = |index: u32| Scalar::Input { index, dtype: DType::F32 };
    let row = || hx_index::Expr::symbol(Symbol::BlockIdx(0)).scale(rows);
    let log2e = Scalar::constant(std::f64::consts::LOG2_E, DType::F32);
    let centred = Scalar::apply(Operator::Sub, DType::F32, [input(0), input(1)]);
    let scaled = Scalar::apply(Operator::Mul, DType::F32, [centred, log2e]);
    let exponential = Scalar::apply(Operator::Exp2, DType::F32, [scaled]);
    let quotient = Scalar::apply(Operator::Div, DType::F32, [input(0), input(1)]);
    let mut outside = tile_of(0, [row(), constant(0)], [rows, n]);
    outside.pad = Constant::new(f64::NEG_INFINITY);
    let mut ops = Ops::new();
    let body = vec![
        ops.op(OpKind::Copy { src: outside, dst: whole(x) }),
        ops.op(OpKind::Cast { dst: x32, src: x }),
        ops.op(OpKind::Reduce { dst: top, src: x32, axis: 1, operator: Operator::Max }),
        ops.op(OpKind::Map(Map { dst: p, inputs: vec![x32, top], value: exponential })),
        ops.op(OpKind::Reduce { dst: total, src: p, axis: 1, operator: Operator::Add }),
        ops.op(OpKind::Map(Map { dst: y, inputs: vec![p, total], value: quotient })),
        ops.op(OpKind::Cast { dst: y16, src: y }),
        ops.op(OpKind::Copy { src: whole(y16), dst: tile_of(1, [row(), constant(0)], [rows, n]) }),
    ];
    let blocks = dim("m").ceil_div(&constant(rows), &facts);
    facts.at_most(Symbol::BlockIdx(0), blocks.clone() - constant(1));
    let mut c = param("c", DType::F16, ["m", "n"], false);
    if let hx_tile::Param::Tensor(t) = &mut c {
        t.mutable = true;
    }
    let params = vec![param("a", DType::F16, ["m", "n"], false), c];
    let grid = vec![GridAxis { blocks }];
    TileProgram {
        name: "softmax".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(threads)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

fn check(program: TileProgram, expected: Expect) {
    let Solved { program: whole, solution, .. } = solve(&program, &|| false).unwrap();
    assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
    let text = emit_layouts(&whole, &solution);
    let lines = text.lines().filter(|l| l.contains("x: ") || l.contains("top") || l.contains('#'));
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_row_for_each_warp() {
    check(
        softmax(4, 256, 128),
        expect![[r#"
        x: register f16[4, 256] = ((32,4),8):((32,1),4)
            coalesced along dimension 1 of `a` (#0)
            elementwise: as its operand (#1)
        top: register f32[4, 1] = ((32,4),1):((0,1),0)
            the projection of its operand along [1] (#2)
            elementwise: as its operand (#3)
            the projection of its operand along [1] (#4)
            elementwise: as its operand (#5)
            elementwise: as its operand (#6)
        #0 copy(a[block_idx.x * 4 + 0..4, 0..256], x): ld.global.v4.b32, 16 B an access
        #1 x_f32 = cast(x, f32): cvt.f32.f16
        #2 top = reduce(x_f32, axis: 1, max): within threads, 5 exchanges between lanes
        #3 p = exp2(((x_f32 - top) * 1.4426950216293335)): elementwise
        #4 total = reduce(p, axis: 1, +): within threads, 5 exchanges between lanes
        #5 y = (p / total): elementwise
        #6 y_f16 = cast(y, f16): cvt.f16x2.f32
        #7 copy(y_f16, c[block_idx.x * 4 + 0..4, 0..256]): st.global.v4.b32, 16 B an access"#]],
    );
}

#[test]
fn a_row_for_a_block() {
    check(
        softmax(1, 2048, 128),
        expect![[r#"
        x: register f16[1, 2048] = (128,(8,2)):(8,(1,1024))
            coalesced along dimension 1 of `a` (#0)
            elementwise: as its operand (#1)
        top: register f32[1, 1] = ((32,4),1):((0,0),0)
            the projection of its operand along [1] (#2)
            elementwise: as its operand (#3)
            the projection of its operand along [1] (#4)
            elementwise: as its operand (#5)
            elementwise: as its operand (#6)
        #0 copy(a[block_idx.x + 0..1, 0..2048], x): ld.global.v4.b32, 16 B an access
        #1 x_f32 = cast(x, f32): cvt.f32.f16
        #2 top = reduce(x_f32, axis: 1, max): within threads, 5 exchanges between lanes, across warps through 16 B of shared memory
        #3 p = exp2(((x_f32 - top) * 1.4426950216293335)): elementwise
        #4 total = reduce(p, axis: 1, +): within threads, 5 exchanges between lanes, across warps through 16 B of shared memory
        #5 y = (p / total): elementwise
        #6 y_f16 = cast(y, f16): cvt.f16x2.f32
        #7 copy(y_f16, c[block_idx.x + 0..1, 0..2048]): st.global.v4.b32, 16 B an access"#]],
    );
}

#[test]
fn columns_that_threads_do_not_divide() {
    check(
        softmax(2, 1000, 96),
        expect![[r#"
        x: register f16[2, 1000] = ((48,2),(8,3)):((16,1),(2,768)) over [2, 1152]
            coalesced along dimension 1 of `a` (#0)
            elementwise: as its operand (#1)
        top: register f32[2, 1] = ((48,2),1):((0,1),0)
            the projection of its operand along [1] (#2)
            elementwise: as its operand (#3)
            the projection of its operand along [1] (#4)
            elementwise: as its operand (#5)
            elementwise: as its operand (#6)
        #0 copy(a[block_idx.x * 2 + 0..2, 0..1000], x): ld.global.v4.b32, 16 B an access
        #1 x_f32 = cast(x, f32): cvt.f32.f16
        #2 top = reduce(x_f32, axis: 1, max): within threads, across warps through 384 B of shared memory
        #3 p = exp2(((x_f32 - top) * 1.4426950216293335)): elementwise
        #4 total = reduce(p, axis: 1, +): within threads, across warps through 384 B of shared memory
        #5 y = (p / total): elementwise
        #6 y_f16 = cast(y, f16): cvt.f16x2.f32
        #7 copy(y_f16, c[block_idx.x * 2 + 0..2, 0..1000]): st.global.v4.b32, 16 B an access"#]],
    );
}
