//! Asynchronous copies whose threads do not divide the tile.

use expect_test::expect;
use hx_dtype::DType;
use hx_index::{Facts, Symbol};
use hx_layout::Layout;
use hx_target::Target;
use hx_tile::{Base, Choice, OpId, OpKind, Scope, Solution, SyncOp, TensorId, TileProgram, View};

use super::build::{Ops, constant, param, register, shared, tile_of};
use crate::solve;

/// Returns the copy of a tile of f16 to shared memory, and from there to registers.
fn staged(shape: [i64; 2], threads: u32) -> TileProgram {
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("k".into()), 16);
    let tensors = vec![shared("s", DType::F16, &shape), register("r", DType::F16, &shape)];
    let whole = |base| View::whole(base, &shape);
    let mut ops = Ops::new();
    let src = tile_of(0, [constant(0), constant(0)], shape);
    let dst = whole(Base::Shared(TensorId(0)));
    let body = vec![
        ops.op(OpKind::CopyAsync { src, dst: dst.clone(), signal: None, multicast: None }),
        ops.op(OpKind::Sync(SyncOp::Commit)),
        ops.op(OpKind::Sync(SyncOp::Wait { groups: 0 })),
        ops.op(OpKind::Sync(SyncOp::Scope)),
        ops.op(OpKind::Copy { src: dst, dst: whole(Base::Register(TensorId(1))) }),
    ];
    TileProgram {
        name: "staged".into(),
        target: Target::builtin("sm_80"),
        params: vec![param("a", DType::F16, ["m", "k"], false)],
        facts,
        scopes: vec![Scope::block(threads)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

fn solved(program: &TileProgram) -> Solution {
    solve(program, &|| false).unwrap().solution
}

fn copy(solution: &Solution) -> String {
    let Some(Choice::Copy(copy)) = solution.choices.get(&OpId(0)) else { panic!() };
    format!("{} {} over {:?}: {}", copy.row, copy.memory, copy.tile, copy.reason.text)
}

#[test]
fn the_last_round_may_be_partly_filled() {
    let text = [
        // The tiles have 160, 120, 96 and 24 vectors of 16 bytes.
        copy(&solved(&staged([40, 32], 128))),
        copy(&solved(&staged([40, 24], 128))),
        copy(&solved(&staged([24, 32], 64))),
        copy(&solved(&staged([6, 32], 128))),
    ];
    expect![[r#"
        cp.async.cg.16 ((4,32),8,2):((512,1),64,32) over [64, 32]: asks for `(40,(8,4)):(D,(1,D))`; the widest access; the last of 2 rounds is partly filled: 32 of 128 threads copy
        cp.async.cg.16 ((4,32),8,2):((512,1),64,32) over [64, 32]: asks for `(40,(8,3)):(D,(1,D))`; the widest access; 2 rounds of 128 threads are partly filled with 120 accesses
        cp.async.cg.16 ((4,16),8,2):((256,1),32,16) over [32, 32]: asks for `(24,(8,4)):(D,(1,D))`; the widest access; the last of 2 rounds is partly filled: 32 of 64 threads copy
        cp.async.ca.4 ((16,8),2,1):((16,1),8,0) over [8, 32]: asks for `(6,(2,16)):(D,(1,D))`; `cp.async.ca.8` fits too and costs more; 96 of 128 threads copy"#]].assert_eq(&text.join("\n"));
}

#[test]
fn no_element_is_copied_twice_or_left_out() {
    let program = staged([40, 32], 128);
    let found = |memory: &str, tile: &[i64]| {
        let mut solution = solved(&program);
        let Some(Choice::Copy(copy)) = solution.choices.get_mut(&OpId(0)) else { panic!() };
        (copy.memory, copy.tile) = (Layout::literal(memory), tile.to_vec());
        let found = hx_verify::verify(&program, &program, &solution);
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let all = [
        found("((4,32),8,2):((512,1),64,32)", &[64, 32]),
        // In turn: pairs of threads copy the same vectors, which is allowed; the second round begins eight rows early; it is
        // missing.
        found("((4,2,16),8,3):((384,0,1),48,16)", &[48, 32]),
        found("((4,32),8,2):((448,1),56,24)", &[56, 32]),
        found("((4,32),8,1):((320,1),40,0)", &[40, 32]),
    ];
    expect![[r#"

        --

        --
        operation #0: element [24, 0] of the tile is copied twice
        --
        operation #0: element [32, 0] of the tile is not copied"#]]
    .assert_eq(&all.join("\n--\n"));
}
