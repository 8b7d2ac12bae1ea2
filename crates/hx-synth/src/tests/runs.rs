//! Copies in runs, which need no tensor map: where they are chosen, and the reasons against them.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{Expr, Facts, Symbol};
use hx_layout::Layout;
use hx_tile::{
    Base, BulkChoice, Choice, Constant, OpId, OpKind, Param, Solution, SyncOp, TensorId, TensorParam,
    TileProgram, View,
};

use super::build::{Matmul, Ops, constant, dim, matmul, register, shared, tile_of};
use crate::{Solved, solve};

const STORE: OpId = OpId(3);

/// A tile of shared memory that is stored at an offset of a tensor with rows of `columns` numbers.
#[derive(Clone)]
struct Stored {
    tile: [i64; 2],
    rows: Expr,
    columns: i64,
    offset: [i64; 2],
    dtype: DType,
}

impl Default for Stored {
    fn default() -> Stored {
        Stored { tile: [8, 33], rows: constant(24), columns: 33, offset: [0; 2], dtype: DType::F32 }
    }
}

fn stored(config: &Stored) -> TileProgram {
    let Stored { tile, rows, columns, offset, dtype } = config.clone();
    let tensors = vec![register("r", dtype, &tile), shared("s", dtype, &tile)];
    let whole = |base| View::whole(base, &tile);
    let (r, s) = (whole(Base::Register(TensorId(0))), whole(Base::Shared(TensorId(1))));
    let dst = tile_of(0, offset.map(constant), tile);
    let mut ops = Ops::new();
    let body = vec![
        ops.op(OpKind::Fill { dst: TensorId(0), value: Constant::new(1.0) }),
        ops.op(OpKind::Copy { src: r, dst: s.clone() }),
        ops.op(OpKind::Sync(SyncOp::Scope)),
        ops.op(OpKind::Store { src: s, dst, adds: false }),
    ];
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("m".into()), 16);
    let param = TensorParam {
        name: "y".into(),
        dtype,
        mutable: true,
        shape: vec![rows, constant(columns)],
        stride: vec![constant(columns), constant(1)],
        block: None,
        align: 16,
    };
    let params = vec![Param::Tensor(param)];
    TileProgram { params, facts, tensors, body, ..matmul(&Matmul::default()) }
}

/// Compares the instructions of some stores, with their reasons, or the reasons against boxes and runs.
fn check(configs: &[Stored], expected: Expect) {
    let text = |config: &Stored| {
        let program = stored(config);
        match solve(&program, &|| false) {
            Ok(Solved { program: whole, solution, .. }) => {
                assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
                let Choice::Bulk(choice) = &solution.choices[&STORE] else { panic!("threads copy") };
                format!("{} {:?}: {}\n", choice.row, choice.extents, choice.reason.text)
            }
            Err(failure) => {
                let help: Vec<String> = failure.help.into_iter().map(|help| help.text).collect();
                format!("{}: {}\n", failure.message, help.join("; "))
            }
        }
    };
    expected.assert_eq(&configs.iter().map(text).collect::<String>());
}

#[test]
fn a_tile_that_is_contiguous_is_one_run() {
    check(
        &[
            Stored::default(),
            Stored { offset: [16, 0], ..Stored::default() },
            // The tile has more rows than one box can have.
            Stored { tile: [512, 64], rows: constant(512), columns: 64, ..Stored::default() },
            // The tile is one box as well as one run, and the box is as good.
            Stored { tile: [128, 64], rows: constant(512), columns: 64, ..Stored::default() },
        ],
        expect![[r#"
            bulk.store [33, 8]: not `tma.store`: stride `33` of `y` is 132 B, no multiple of 16 B; asks for `(8,33):(33,1)`; 1 run of 264 contiguous elements by one thread, without a tensor map
            bulk.store [33, 8]: not `tma.store`: stride `33` of `y` is 132 B, no multiple of 16 B; asks for `(8,33):(33,1)`; 1 run of 264 contiguous elements by one thread, without a tensor map
            bulk.store [64, 512]: asks for `(512,64):(64,1)`; 1 run of 32768 contiguous elements by one thread, without a tensor map, instead of 2 boxes
            tma.store [64, 128]: asks for `(128,64):(64,1)`; whole boxes by one thread
        "#]],
    );
}

#[test]
fn a_tile_that_is_no_run_says_why() {
    check(
        &[
            Stored { rows: dim("m"), ..Stored::default() },
            Stored { tile: [6, 33], ..Stored::default() },
            Stored { offset: [6, 0], ..Stored::default() },
            Stored { dtype: DType::U4, columns: 64, tile: [8, 64], ..Stored::default() },
            // Rows apart are no run, so no reason against runs is reported.
            Stored { tile: [8, 32], ..Stored::default() },
        ],
        expect![[r#"
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; not `bulk.store`: the tile may pass the end `m` of dimension 0 of `y`; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; not `bulk.store`: a run of `y` has 792 B, no multiple of 16 B; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; not `bulk.store`: the runs of `y` begin at multiples of 792 B, not of 16 B; `copy` goes through registers and takes any tile
            tma.store [64, 8]: asks for `32B swizzle ∘ (8,64):(64,1)`; whole boxes by one thread
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; `copy` goes through registers and takes any tile
        "#]],
    );
}

#[test]
fn wrong_runs_are_found() {
    let found = |config: &Stored, spoil: &dyn Fn(&mut Solution, &mut BulkChoice)| {
        let mut solution = solve(&stored(&Stored::default()), &|| false).expect("layouts").solution;
        let Some(Choice::Bulk(mut choice)) = solution.choices.remove(&STORE) else { panic!("a run") };
        spoil(&mut solution, &mut choice);
        solution.choices.insert(STORE, Choice::Bulk(choice));
        let program = stored(config);
        let all = hx_verify::verify(&program, &program, &solution);
        let own = all.iter().find(|violation| violation.op == Some(STORE));
        format!("{}\n", own.map_or("nothing", |violation| &violation.message))
    };
    let layout = |text: &'static str| {
        move |solution: &mut Solution, _: &mut BulkChoice| {
            solution.shared.get_mut(&TensorId(1)).unwrap().layout = Layout::literal(text);
        }
    };
    let right = Stored::default();
    let lines = [
        found(&right, &|_, _| ()),
        found(&right, &|_, choice| choice.row = hx_target::row("tma.store")),
        found(&right, &|_, choice| choice.row = hx_target::row("bulk.load")),
        found(&right, &|_, choice| choice.extents = vec![33, 4]),
        found(&right, &|_, choice| choice.extents = vec![33, 1]),
        found(&right, &layout("(8,33):(1,8)")),
        found(&right, &|solution, _| solution.shared.get_mut(&TensorId(1)).unwrap().offset += 8),
        found(&Stored { rows: dim("m"), ..right.clone() }, &|_, _| ()),
        found(&Stored { columns: 34, ..right.clone() }, &|_, _| ()),
        found(&Stored { offset: [2, 0], ..right.clone() }, &|_, _| ()),
        found(&Stored { offset: [20, 0], ..right.clone() }, &|_, _| ()),
    ];
    expect![[r#"
        nothing
        `tma.store` takes boxes
        `bulk.load` is no such copy
        nothing
        runs of `y` begin at multiples of the stride `33`
        a box puts element [0, 1] at byte 4, and it lies at byte 32
        the box at [0, 0] begins at byte 8
        a run of `y` reaches `7` of `m` in dimension 0
        the stride `34` of `y` interrupts a run
        a run of `y` of 1056 B begins at a multiple of 264 B
        a run of `y` reaches `27` of `24` in dimension 0
    "#]]
    .assert_eq(&lines.concat());
}
