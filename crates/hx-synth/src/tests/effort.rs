//! What solving takes, counted: it grows with the number of shared buffers no faster than they do.

use hx_dtype::DType;
use hx_index::{Facts, Symbol};
use hx_target::Arch;
use hx_tile::{Base, GridAxis, OpKind, TensorId, TileProgram, View};

use super::build::{Ops, constant, param, register, shared, tile_of};
use crate::{candidates, solve};

/// Tiles that go through so many shared buffers, each written by rows and read transposed.
fn buffers(count: u32) -> TileProgram {
    let mut facts = Facts::default();
    for name in ["m", "n"] {
        facts.divisible(Symbol::Dim(name.into()), 16);
    }
    let mut tensors = Vec::new();
    let mut body = Vec::new();
    let mut ops = Ops::new();
    for i in 0..count {
        let [x, s, y] = [0, 1, 2].map(|j| TensorId(3 * i + j));
        tensors.push(register(&format!("x{i}"), DType::F16, &[64, 64]));
        tensors.push(shared(&format!("s{i}"), DType::F16, &[64, 64]));
        tensors.push(register(&format!("y{i}"), DType::F16, &[64, 64]));
        let whole = |base| View::whole(base, &[64, 64]);
        let mut transposed = whole(Base::Shared(s));
        transposed.modes.reverse();
        let at = || [constant(64 * i64::from(i)), constant(0)];
        body.push(ops.op(OpKind::Copy { src: tile_of(0, at(), [64, 64]), dst: whole(Base::Register(x)) }));
        body.push(ops.op(OpKind::Copy { src: whole(Base::Register(x)), dst: whole(Base::Shared(s)) }));
        body.push(ops.op(OpKind::Sync));
        body.push(ops.op(OpKind::Copy { src: transposed, dst: whole(Base::Register(y)) }));
        body.push(ops.op(OpKind::Copy { src: whole(Base::Register(y)), dst: tile_of(1, at(), [64, 64]) }));
    }
    let params = vec![param("a", DType::F16, ["m", "n"], false), param("c", DType::F16, ["m", "n"], false)];
    let grid = vec![GridAxis { blocks: constant(1) }];
    TileProgram { name: "buffers".into(), params, facts, grid, threads: 128, requires: vec![], tensors, body }
}

#[test]
fn steps_are_linear_in_the_number_of_shared_buffers() {
    let steps = |count| solve(&buffers(count), Arch::Sm90a, &|| false).unwrap().steps;
    let one = steps(1);
    assert!(one > 0);
    assert_eq!([2, 4, 8, 16].map(steps), [2, 4, 8, 16].map(|count| count * one));
}

#[test]
fn buffers_take_turns() {
    // A barrier parts every second pair of neighbours: after x is written to s it is read, and s is free at the next barrier but one.
    let program = buffers(4);
    let solution = solve(&program, Arch::Sm90a, &|| false).unwrap();
    assert_eq!(hx_verify::verify(&program, &solution, Arch::Sm90a), []);
    let most: u32 = solution.shared.values().map(|s| s.bytes).max().unwrap();
    assert_eq!(solution.shared_bytes, 2 * most);
}

#[test]
fn candidates_differ_and_hold() {
    let program = super::build::matmul(&super::build::Matmul { tile: [128, 128, 32], ..Default::default() });
    let all = candidates(&program, Arch::Sm90a, &|| false).unwrap();
    assert!(all.len() >= 12, "{} candidates", all.len());
    assert_eq!(all[0], solve(&program, Arch::Sm90a, &|| false).unwrap());
    assert!(all.windows(2).skip(1).all(|pair| pair[0].cost <= pair[1].cost));
    for (i, solution) in all.iter().enumerate() {
        assert_eq!(hx_verify::verify(&program, solution, Arch::Sm90a), [], "candidate {i}");
        let texts = all[..i].iter().map(|other| hx_tile::emit_layouts(&program, other));
        let own = hx_tile::emit_layouts(&program, solution);
        assert!(texts.into_iter().all(|text| text != own), "candidate {i} occurs twice");
    }
}
