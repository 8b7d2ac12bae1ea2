//! Slices of shared tensors: no access is wider than the start of its slice allows, and the verifier reports one that is.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{Expr, Facts, Symbol};
use hx_tile::{
    Base, Choice, Control, GridAxis, Leaf, OpId, OpKind, Rounds, Scope, Stmt, SyncOp, TensorId, TensorKind,
    TileProgram, View, ViewMode,
};

use super::build::{Ops, constant, param, register, shared, tile_of};
use crate::{Solved, solve};

/// Returns the counter of the loop around a slice, which runs from 0 to 3.
fn counter() -> Expr {
    Expr::symbol(Symbol::Var("i".into(), 0))
}

/// Returns a program that copies `a` to a shared tensor of 16 × 64 elements and, four times in a loop, 16 × `extent` of them from
/// `start` on to `c`.
fn sliced(dtype: DType, start: &Expr, extent: i64, unroll: bool) -> TileProgram {
    let mut facts = Facts::default();
    for name in ["m", "n"] {
        facts.divisible(Symbol::Dim(name.into()), 16);
    }
    let var = Symbol::Var("i".into(), 0);
    facts.at_most(var.clone(), constant(3));
    let tensors = vec![
        register("r", dtype, &[16, 64]),
        shared("s", dtype, &[16, 64]),
        register("t", dtype, &[16, extent]),
    ];
    let whole =
        |i: u32, base: fn(TensorId) -> Base| View::whole(base(TensorId(i)), &tensors[i as usize].shape);
    let modes = [16, extent].into_iter().enumerate();
    let modes = modes.map(|(dim, extent)| ViewMode { extent, dim, factor: constant(1) }).collect();
    let slice = View { offsets: vec![constant(0), start.clone()], modes, ..whole(1, Base::Shared) };
    let zero = || [constant(0), constant(0)];
    let mut ops = Ops::new();
    let mut body = vec![
        ops.op(OpKind::Copy { src: tile_of(0, zero(), [16, 64]), dst: whole(0, Base::Register) }),
        ops.op(OpKind::Copy { src: whole(0, Base::Register), dst: whole(1, Base::Shared) }),
        ops.op(OpKind::Sync(SyncOp::Scope)),
    ];
    let inner = vec![
        ops.op(OpKind::Copy { src: slice, dst: whole(2, Base::Register) }),
        ops.op(OpKind::Copy { src: whole(2, Base::Register), dst: tile_of(1, zero(), [16, extent]) }),
    ];
    let rounds = Rounds::Range { start: constant(0), end: constant(4), unroll };
    body.push(Stmt::Control(Control::For { var, rounds, body: inner }));
    let params = vec![param("a", dtype, ["m", "n"], false), param("c", dtype, ["m", "n"], false)];
    let grid = vec![GridAxis { blocks: constant(1) }];
    TileProgram {
        name: "sliced".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(32)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

const SLICED: OpId = OpId(3);

/// Compares the instruction that reads the slice, and the reason why it is not wider, in a rolled and in an unrolled loop.
fn check(dtype: DType, start: &Expr, expected: Expect) {
    let texts = [false, true].map(|unroll| {
        let program = sliced(dtype, start, 16, unroll);
        match solve(&program, &|| false) {
            Ok(Solved { program: whole, solution, .. }) => {
                assert_eq!(hx_verify::verify(&program, &whole, &solution), [], "{dtype} {start}");
                let Some(Choice::Copy(copy)) = solution.choices.get(&SLICED) else { panic!("no copy") };
                format!("{}: {}", copy.row, copy.reason.text)
            }
            Err(failure) => {
                let help: Vec<String> = failure.help.into_iter().map(|help| help.text).collect();
                format!("{}\n{}", failure.message, help.join("\n"))
            }
        }
    });
    assert_eq!(texts[0], texts[1], "a loop unrolled and not");
    expected.assert_eq(&texts[0]);
}

#[test]
fn the_start_of_a_slice_limits_its_accesses() {
    check(
        DType::F32,
        &constant(0),
        expect!["ld.shared.v4.b32: asks for `(16,(4,16)):(D,(1,D))`; the widest access"],
    );
    check(
        DType::F32,
        &constant(4),
        expect!["ld.shared.v4.b32: asks for `(16,(4,16)):(D,(1,D))`; the widest access"],
    );
    check(
        DType::F32,
        &constant(2),
        expect![
            "ld.shared.v2.b32: asks for `(16,(2,32)):(D,(1,D))`; not `ld.shared.v4.b32`: the slice of `s` starts at `2` in dimension 1, so addresses are multiples of 8 B only"
        ],
    );
    check(
        DType::F32,
        &constant(33),
        expect![
            "ld.shared.b32: asks for `(16,64):(D,D)`; not `ld.shared.v4.b32`: the slice of `s` starts at `33` in dimension 1, so addresses are multiples of 4 B only"
        ],
    );
    check(
        DType::F16,
        &constant(4),
        expect![
            "ld.shared.v2.b32: asks for `(16,(4,16)):(D,(1,D))`; not `ld.shared.v4.b32`: the slice of `s` starts at `4` in dimension 1, so addresses are multiples of 8 B only"
        ],
    );
    check(
        DType::F16,
        &counter().scale(11),
        expect![
            "ld.shared.b16: asks for `(16,64):(D,D)`; not `ld.shared.v4.b32`: the slice of `s` starts at `i * 11` in dimension 1, so addresses are known to be multiples of 2 B only"
        ],
    );
    check(
        DType::F16,
        &(counter().scale(12) + constant(2)),
        expect![
            "ld.shared.b32: asks for `(16,(2,32)):(D,(1,D))`; not `ld.shared.v4.b32`: the slice of `s` starts at `i * 12 + 2` in dimension 1, so addresses are known to be multiples of 4 B only"
        ],
    );
    check(
        DType::F16,
        &counter().scale(16),
        expect!["ld.shared.v4.b32: asks for `(16,(8,8)):(D,(1,D))`; the widest access"],
    );
    check(
        DType::U4,
        &constant(2),
        expect![
            "ld.shared.b8: asks for `(16,(2,32)):(D,(1,D))`; not `ld.shared.b32`: the slice of `s` starts at `2` in dimension 1, so addresses are multiples of 1 B only"
        ],
    );
    check(
        DType::U4,
        &constant(1),
        expect![[r#"
        no instruction of sm_90a loads single elements of type `u4` from shared memory
        bytes are moved whole, 2 neighbours from a multiple of 2 on: the slice of `s` starts at `1` in dimension 1, so addresses are multiples of 4 bits only
        bytes can be parted: `cast` to 8 bits first, and back to `u4` last"#]],
    );
}

/// Checks the violations that the verifier reports if the solution for start 0 is used for the program with `start`.
fn check_wrong(start: &Expr, unroll: bool, expected: Expect) {
    let solution = solve(&sliced(DType::F16, &constant(0), 16, unroll), &|| false).unwrap().solution;
    let program = sliced(DType::F16, start, 16, unroll);
    let lines: Vec<String> =
        hx_verify::verify(&program, &program, &solution).iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn the_verifier_sees_every_iteration() {
    check_wrong(&constant(16), false, expect![[""]]);
    check_wrong(
        &constant(33),
        false,
        expect!["operation #3: thread 0 accesses `s` at element 33, no multiple of 8"],
    );
    // The first iteration is aligned, the others are not.
    check_wrong(
        &counter().scale(11),
        true,
        expect![
            "operation #3: thread 0 accesses `s` at element 11, no multiple of 8, where the view starts at [0, 11]"
        ],
    );
    check_wrong(
        &counter().scale(11),
        false,
        expect![
            "operation #3: thread 0 accesses `s` at element 11, no multiple of 8, where the view starts at [0, 11]"
        ],
    );
    check_wrong(
        &(counter().scale(12) + constant(2)),
        false,
        expect![
            "operation #3: thread 0 accesses `s` at element 2, no multiple of 8, where the view starts at [0, 2]"
        ],
    );
    // Only the last iteration is not aligned.
    check_wrong(
        &counter().div(&constant(3), &Facts::default()).scale(2),
        true,
        expect![
            "operation #3: thread 0 accesses `s` at element 2, no multiple of 8, where the view starts at [0, 2]"
        ],
    );
    // The start is known only at launch, and none of its divisors is known.
    let launch = Expr::symbol(Symbol::Scalar("o".into()));
    check_wrong(
        &launch,
        false,
        expect![
            "operation #3: thread 0 accesses `s` at element 1, no multiple of 8, where the view starts at [0, 1]"
        ],
    );
    check_wrong(&launch.scale(8), false, expect![[""]]);
    check_wrong(
        &(launch.scale(8) + constant(4)),
        false,
        expect![
            "operation #3: thread 0 accesses `s` at element 4, no multiple of 8, where the view starts at [0, 4]"
        ],
    );
}

/// A pinned layout with rows 66 elements apart aligns runs of eight elements only at every fourth row.
#[test]
fn starts_in_a_pinned_layout() {
    let rows = |start: Expr| {
        let mut program = sliced(DType::F16, &constant(0), 16, false);
        let TensorKind::Shared { pinned } = &mut program.tensors[1].kind else { panic!() };
        *pinned = Some("(16, 64) : (66, 1)".parse().unwrap());
        let Some(Stmt::Control(Control::For { body, .. })) = program.body.last_mut() else { panic!() };
        let Stmt::Leaf(Leaf::Op(op)) = &mut body[0] else { panic!() };
        let OpKind::Copy { src, dst } = &mut op.kind else { panic!() };
        src.offsets[0] = start;
        src.modes[0].extent = 1;
        let whole = View::whole(dst.base, &[1, 16]);
        *dst = whole.clone();
        program.tensors[2].shape = vec![1, 16];
        let Stmt::Leaf(Leaf::Op(op)) = &mut body[1] else { panic!() };
        op.kind = OpKind::Copy { src: whole, dst: tile_of(1, [constant(0), constant(0)], [1, 16]) };
        let Solved { program: whole, solution, .. } = solve(&program, &|| false).unwrap();
        assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
        let Some(Choice::Copy(copy)) = solution.choices.get(&SLICED) else { panic!("no copy") };
        copy.bytes
    };
    let found = [constant(0), constant(1), constant(2), constant(4), counter(), counter().scale(4)].map(rows);
    assert_eq!(found, [16, 4, 8, 16, 4, 16]);
}
