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

/// A tile of shared memory that is stored at an offset of a tensor with rows of `columns` numbers, which lie in blocks if `block` is the
/// layout of one.
#[derive(Clone)]
struct Stored {
    tile: [i64; 2],
    rows: Expr,
    columns: i64,
    offset: [i64; 2],
    dtype: DType,
    block: Option<&'static str>,
}

impl Default for Stored {
    fn default() -> Stored {
        let (rows, dtype) = (constant(24), DType::F32);
        Stored { tile: [8, 33], rows, columns: 33, offset: [0; 2], dtype, block: None }
    }
}

fn stored(config: &Stored) -> TileProgram {
    let Stored { tile, rows, columns, offset, dtype, block } = config.clone();
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
        block: block.map(Layout::literal),
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
            Stored { dtype: DType::U4, columns: 34, tile: [8, 34], ..Stored::default() },
            Stored { dtype: DType::U4, columns: 72, tile: [8, 72], offset: [1, 0], ..Stored::default() },
            // Rows apart are no run, so no reason against runs is reported.
            Stored { tile: [8, 32], ..Stored::default() },
        ],
        expect![[r#"
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; not `bulk.store`: the tile may pass the end `m` of dimension 0 of `y`; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; not `bulk.store`: a run of `y` has 792 B, no multiple of 16 B; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; not `bulk.store`: the runs of `y` begin at multiples of 792 B, not of 16 B; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: stride `34` of `y` is 17 B, no multiple of 16 B; not `bulk.store`: a run of `y` has 136 B, no multiple of 16 B; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: stride `72` of `y` is 36 B, no multiple of 16 B; not `bulk.store`: the runs of `y` begin at multiples of 36 B, not of 16 B; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: stride `33` of `y` is 132 B, no multiple of 16 B; `copy` goes through registers and takes any tile
        "#]],
    );
}

/// A tile of two by two blocks, in which eight rows of two columns follow each other.
fn in_blocks() -> Stored {
    let (rows, dtype, block) = (constant(32), DType::U4, Some("(8,(2,16)):(2,(1,16))"));
    Stored { tile: [16, 64], rows, columns: 128, dtype, block, ..Stored::default() }
}

#[test]
fn a_tile_of_whole_blocks_is_runs() {
    let right = in_blocks();
    check(
        &[
            right.clone(),
            Stored { offset: [8, 32], ..right.clone() },
            Stored { dtype: DType::U8, ..right.clone() },
            Stored { rows: dim("m"), ..right.clone() },
            Stored { offset: [4, 0], ..right.clone() },
            Stored { tile: [16, 16], ..right.clone() },
            Stored { block: Some("(8,(2,16)):(2,(1,32))"), ..right.clone() },
            Stored { block: Some("(4,4):(4,1)"), ..right.clone() },
        ],
        expect![[r#"
            bulk.store [32, 8]: not `tma.store`: the elements of `y` lie in blocks, of which no box is made; asks for `((8,2),(2,16,2)):((2,D),(1,16,D))`; 4 runs of 256 contiguous elements by one thread, without a tensor map
            bulk.store [32, 8]: not `tma.store`: the elements of `y` lie in blocks, of which no box is made; asks for `((8,2),(2,16,2)):((2,D),(1,16,D))`; 4 runs of 256 contiguous elements by one thread, without a tensor map
            bulk.store [32, 8]: not `tma.store`: the elements of `y` lie in blocks, of which no box is made; asks for `((8,2),(2,16,2)):((2,D),(1,16,D))`; 4 runs of 256 contiguous elements by one thread, without a tensor map
            `tma.store` does not store `s` in boxes: the elements of `y` lie in blocks, of which no box is made; not `bulk.store`: the tile may pass the end `m` of dimension 0 of `y`; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: the elements of `y` lie in blocks, of which no box is made; not `bulk.store`: the tile begins at `4` in dimension 0 of `y`, which is no multiple of the 8 of a block; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: the elements of `y` lie in blocks, of which no box is made; not `bulk.store`: a tile of 16 does not consist of whole blocks of 32 along dimension 1 of `y`; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: the elements of `y` lie in blocks, of which no box is made; not `bulk.store`: the block `(8,(2,16)):(2,(1,32))` of `y` has gaps; `copy` goes through registers and takes any tile
            `tma.store` does not store `s` in boxes: the elements of `y` lie in blocks, of which no box is made; not `bulk.store`: a run of `y` has 8 B, no multiple of 16 B; `copy` goes through registers and takes any tile
        "#]],
    );
}

#[test]
fn wrong_blocks_are_found() {
    let found = |config: &Stored, spoil: &dyn Fn(&mut Solution, &mut BulkChoice)| {
        spoiled(&in_blocks(), config, spoil)
    };
    let right = in_blocks();
    let lines = [
        found(&right, &|_, _| ()),
        found(&right, &|_, choice| choice.extents = vec![32, 16]),
        found(&right, &|_, choice| choice.extents = vec![16, 8]),
        found(&right, &|solution, _| {
            solution.shared.get_mut(&TensorId(1)).unwrap().layout = Layout::literal("(16,64):(64,1)");
        }),
        found(&Stored { block: Some("(8,(2,16)):(32,(16,1))"), ..right.clone() }, &|_, _| ()),
        found(&Stored { block: Some("(8,(2,16)):(2,(1,32))"), ..right.clone() }, &|_, _| ()),
        found(&Stored { offset: [4, 0], ..right.clone() }, &|_, _| ()),
        found(&Stored { rows: dim("m"), ..right.clone() }, &|_, _| ()),
    ];
    expect![[r#"
        nothing
        a run of `y` is no whole block along dimension 0
        a run of `y` is no whole block along dimension 1
        a box puts element [0, 2] at byte 8, and it lies at byte 1
        a box puts element [0, 1] at byte 8, and it lies at bit 4
        a box puts element [0, 2] at byte 16, and it lies at byte 8
        a run of `y` is no whole block along dimension 0
        a run of `y` reaches `15` of `m` in dimension 0
    "#]]
    .assert_eq(&lines.concat());
}

/// Returns the first violation at the store of the program of `config` under a spoiled solution of another one.
fn spoiled(solved: &Stored, config: &Stored, spoil: &dyn Fn(&mut Solution, &mut BulkChoice)) -> String {
    let mut solution = solve(&stored(solved), &|| false).expect("layouts").solution;
    let Some(Choice::Bulk(mut choice)) = solution.choices.remove(&STORE) else { panic!("a run") };
    spoil(&mut solution, &mut choice);
    solution.choices.insert(STORE, Choice::Bulk(choice));
    let program = stored(config);
    let all = hx_verify::verify(&program, &program, &solution);
    let own = all.iter().find(|violation| violation.op == Some(STORE));
    format!("{}\n", own.map_or("nothing", |violation| &violation.message))
}

#[test]
fn wrong_runs_are_found() {
    let found = |config: &Stored, spoil: &dyn Fn(&mut Solution, &mut BulkChoice)| {
        spoiled(&Stored::default(), config, spoil)
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
