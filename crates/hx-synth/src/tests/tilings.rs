//! Compares tilings with those of the original system: with the same warps, ours hold as few values and issue as few
//! instructions.

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_index::Facts;
use hx_layout::Layout;
use hx_target::{Fragment, GemmRow, Operand, Target};
use hx_tile::{Choice, Constant, OpKind, Reason, Scope, TensorId, TileProgram};

use super::build::{Ops, product as gemm, register};
use crate::anchor::gemm::Shape;
use crate::anchor::tiling::{Dealing, tile};
use crate::search::pool::Pool;
use crate::{Solved, solve};

/// Returns a program with one product of register tensors, or a batch of them, with an arrangement of warps.
fn product(dtype: DType, [m, n, k]: [i64; 3], batch: Option<i64>, warps: [i64; 3]) -> TileProgram {
    let shape = |extents: [i64; 2]| extents.into_iter().chain(batch).collect::<Vec<_>>();
    let tensors = vec![
        register("c", DType::F32, &shape([m, n])),
        register("a", dtype, &shape([m, k])),
        register("b", dtype, &shape([n, k])),
    ];
    let [c, a, b] = [0, 1, 2].map(TensorId);
    let mut ops = Ops::new();
    let body = vec![
        ops.op(OpKind::Fill { dst: c, value: Constant::ZERO }),
        ops.op(OpKind::Fill { dst: a, value: Constant::new(1.0) }),
        ops.op(OpKind::Fill { dst: b, value: Constant::new(1.0) }),
        ops.op(gemm(&tensors, [c, a, b], Some(warps))),
    ];
    let threads = 32 * warps.iter().product::<i64>() as u32;
    let (params, facts, grid, requires) = (vec![], Facts::default(), vec![], vec![]);
    TileProgram {
        name: "product".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(threads)],
        requires,
        tensors,
        turns: vec![],
        body,
        ..TileProgram::default()
    }
}

/// Checks the values of A, B and C of each thread, and the instructions that a warp issues.
fn check(dtype: DType, shape: [i64; 3], [wm, wn]: [i64; 2], values: [i64; 3], issued: i64) {
    check_batch(dtype, shape, None, [wm, wn, 1], values, issued);
}

fn check_batch(
    dtype: DType,
    shape: [i64; 3],
    batch: Option<i64>,
    warps: [i64; 3],
    values: [i64; 3],
    issued: i64,
) {
    let program = product(dtype, shape, batch, warps);
    let Solved { program: whole, solution, .. } = solve(&program, &|| false).unwrap();
    assert_eq!(hx_verify::verify(&program, &whole, &solution), [], "{shape:?}");
    let held = [1, 2, 0].map(|t| solution.registers[&TensorId(t)].layout.mode(1).size());
    assert_eq!(held, values, "{shape:?} {warps:?}");
    let Some(Choice::Gemm(choice)) = solution.choices.values().next() else { panic!("no product") };
    assert_eq!((choice.arrangement, choice.issues.iter().product::<i64>()), (warps, issued), "{shape:?}");
}

/// A tiled product of the original system: how each dimension of the tile is divided, and its thread-value layouts of A, B and C.
struct Original {
    dtype: DType,
    /// M, N, K.
    shape: [i64; 3],
    /// The extents of its instruction along M and N.
    atom: [i64; 2],
    /// Consecutive instructions of one warp along M and N, before those of the next warp.
    repeat: [i64; 2],
    warps: [i64; 2],
    /// Values of A, B and C of each thread; `issued` are the instructions of a warp.
    values: [i64; 3],
    issued: i64,
    layouts: [&'static str; 3],
}

/// The original's instructions of 8 rows and 16 columns equal ours of 16 rows and 8 columns with exchanged operands.
const ORIGINALS: [Original; 8] = [
    Original {
        dtype: DType::F16,
        shape: [128, 128, 16],
        atom: [16, 8],
        repeat: [1, 2],
        warps: [2, 2],
        values: [32, 32, 128],
        issued: 32,
        layouts: [
            "((4,8,2,2),(2,2,2,4)):((256,1,16,0),(128,8,1024,32))",
            "((4,8,2,2),(2,2,2,4)):((256,1,0,16),(128,1024,8,32))",
            "((4,8,2,2),(2,2,2,4,4)):((256,1,16,2048),(128,8,1024,32,4096))",
        ],
    },
    Original {
        dtype: DType::F16,
        shape: [64, 128, 16],
        atom: [16, 8],
        repeat: [1, 2],
        warps: [4, 1],
        values: [8, 64, 64],
        issued: 16,
        layouts: [
            "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))",
            "((4,8,4),(2,2,16)):((256,1,0),(128,1024,8))",
            "((4,8,4),(2,2,16)):((128,1,16),(64,8,512))",
        ],
    },
    Original {
        dtype: DType::F16,
        shape: [256, 128, 16],
        atom: [16, 8],
        repeat: [2, 4],
        warps: [4, 2],
        values: [32, 32, 128],
        issued: 32,
        layouts: [
            "((4,8,4,2),(2,2,2,2,2)):((512,1,32,0),(256,8,2048,16,128))",
            "((4,8,4,2),(2,2,4,2)):((256,1,0,32),(128,1024,8,64))",
            "((4,8,4,2),(2,4,4,2,2)):((512,1,32,8192),(256,8,2048,128,16384))",
        ],
    },
    Original {
        dtype: DType::F16,
        shape: [64, 256, 16],
        atom: [16, 8],
        repeat: [4, 4],
        warps: [1, 8],
        values: [32, 16, 64],
        issued: 16,
        layouts: [
            "((4,8,8),(2,2,2,4)):((128,1,0),(64,8,512,16))",
            "((4,8,8),(2,2,4)):((512,1,32),(256,2048,8))",
            "((4,8,8),(2,8,4)):((128,1,2048),(64,8,512))",
        ],
    },
    Original {
        dtype: DType::F16,
        shape: [96, 192, 16],
        atom: [16, 8],
        repeat: [1, 2],
        warps: [2, 2],
        values: [24, 48, 144],
        issued: 36,
        layouts: [
            "((4,8,2,2),(2,2,2,3)):((192,1,16,0),(96,8,768,32))",
            "((4,8,2,2),(2,2,2,6)):((384,1,0,16),(192,1536,8,32))",
            "((4,8,2,2),(2,2,2,3,6)):((192,1,16,1536),(96,8,768,32,3072))",
        ],
    },
    Original {
        dtype: DType::Bf16,
        shape: [128, 64, 16],
        atom: [8, 16],
        repeat: [4, 1],
        warps: [2, 2],
        values: [32, 16, 64],
        issued: 16,
        layouts: [
            "((4,8,2,2),(2,2,4,2)):((256,1,32,0),(128,1024,8,64))",
            "((4,8,2,2),(2,2,2,2)):((128,1,0,16),(64,8,512,32))",
            "((4,8,2,2),(2,2,4,2,2)):((2,128,32,2048),(1,1024,8,64,4096))",
        ],
    },
    Original {
        dtype: DType::F16,
        shape: [8, 128, 16],
        atom: [8, 16],
        repeat: [1, 2],
        warps: [1, 4],
        values: [4, 16, 8],
        issued: 2,
        layouts: [
            "((4,8,4),(2,2)):((16,1,0),(8,64))",
            "((4,8,4),(2,2,2,2)):((256,1,32),(128,8,1024,16))",
            "((32,4),(2,4)):((2,256),(1,64))",
        ],
    },
    Original {
        dtype: DType::F8E4m3,
        shape: [128, 128, 32],
        atom: [16, 8],
        repeat: [1, 2],
        warps: [2, 2],
        values: [64, 64, 128],
        issued: 32,
        layouts: [
            "((4,8,2,2),(4,2,2,4)):((512,1,16,0),(128,8,2048,32))",
            "((4,8,2,2),(4,2,2,4)):((512,1,0,16),(128,2048,8,32))",
            "((4,8,2,2),(2,2,2,4,4)):((256,1,16,2048),(128,8,1024,32,4096))",
        ],
    },
];

#[test]
fn values_and_instructions_are_those_of_the_original() {
    for Original { dtype, shape: [m, n, k], atom, warps: [wm, wn], values, issued, .. } in &ORIGINALS {
        if *atom == [16, 8] {
            check(*dtype, [*m, *n, *k], [*wm, *wn], *values, *issued);
        } else {
            check(*dtype, [*n, *m, *k], [*wn, *wm], [values[1], values[0], values[2]], *issued);
        }
    }
    // Without the exchange of the operands the numbers are the same.
    check(DType::Bf16, [128, 64, 16], [2, 2], [32, 16, 64], 16);
}

/// Returns the elements that each thread holds under a layout over a column-major tile of `rows` rows.
fn held(layout: &Layout, rows: i64) -> Vec<BTreeSet<(i64, i64)>> {
    let (threads, values) = (layout.mode(0), layout.mode(1));
    let of = |t: i64| (0..values.size()).map(move |v| (t, v));
    let place = |(t, v): (i64, i64)| threads.eval(t) + values.eval(v);
    (0..threads.size()).map(|t| of(t).map(place).map(|i| (i % rows, i / rows)).collect()).collect()
}

/// Maps coordinate `at` of a dimension in our tiling to the original's. Both deal instructions to `warps`: ours one at a time,
/// the original `repeat` consecutive ones at a time.
fn renumbered(at: i64, atom: i64, repeat: i64, warps: i64) -> i64 {
    let (within, block) = (at % atom, at / atom);
    let (warp, round) = (block % warps, block / warps);
    atom * (round % repeat + repeat * (warp + warps * (round / repeat))) + within
}

/// Every thread holds the same elements as in the original, up to the numbering of whole instructions along M and N. The rows of
/// A and C and the columns of B and C are renumbered alike, so the product is the same.
#[test]
fn threads_hold_what_they_hold_in_the_original() {
    for original in &ORIGINALS {
        let Original { dtype, shape: [m, n, k], atom, repeat, warps, layouts, .. } = original;
        let exchanged = *atom != [16, 8];
        let (tile, arrangement) = if exchanged {
            ([*n, *m, *k], [warps[1], warps[0], 1])
        } else {
            ([*m, *n, *k], [warps[0], warps[1], 1])
        };
        let program = product(*dtype, tile, None, arrangement);
        let solution = solve(&program, &|| false).unwrap().solution;
        let ours = |tensor: u32| &solution.registers[&TensorId(tensor)].layout;
        let along = |dim: usize| move |at: i64| renumbered(at, atom[dim], repeat[dim], warps[dim]);
        let same = |tensor: u32, rows: i64, text: &str, place: &dyn Fn((i64, i64)) -> (i64, i64)| {
            let found = held(ours(tensor), program.tensor(TensorId(tensor)).shape[0]);
            let wanted = held(&Layout::literal(text), rows);
            for (thread, wanted) in wanted.iter().enumerate() {
                // The first dimension of the warps runs fastest, also in the exchanged product.
                let (lane, warp) = (thread as i64 % 32, thread as i64 / 32);
                let (first, second) = (warp % warps[0], warp / warps[0]);
                let warp = if exchanged { second + warps[1] * first } else { warp };
                let found = &found[(lane + 32 * warp) as usize];
                let found: BTreeSet<(i64, i64)> = found.iter().map(|at| place(*at)).collect();
                assert_eq!(&found, wanted, "{text} thread {thread}");
            }
        };
        let (of_a, of_b) = if exchanged { (2, 1) } else { (1, 2) };
        same(of_a, *m, layouts[0], &|(row, step)| (along(0)(row), step));
        same(of_b, *n, layouts[1], &|(row, step)| (along(1)(row), step));
        same(0, *m, layouts[2], &|(x, y)| {
            let (row, column) = if exchanged { (y, x) } else { (x, y) };
            (along(0)(row), along(1)(column))
        });
    }
}

/// Warps divide a batch of products as they divide M and N; a warp with several products computes them one after the other.
#[test]
fn a_batch_is_dealt_to_warps_as_well() {
    check_batch(DType::F16, [64, 16, 16], Some(8), [1, 1, 8], [32, 8, 32], 8);
    check_batch(DType::F16, [64, 16, 16], Some(8), [2, 1, 4], [32, 16, 32], 8);
    check_batch(DType::F16, [64, 16, 32], Some(3), [1, 1, 3], [64, 16, 32], 16);
    // The tile has room for a fourth product beside the third.
    check_batch(DType::F16, [16, 8, 8], Some(3), [1, 1, 2], [8, 4, 8], 2);
}

/// Returns a matrix instruction of a warp group as the original defines it: every thread holds the whole of an operand that
/// lies in shared memory. The catalogue has no such row.
fn warp_group(shape: [i64; 3], a: &str, b: &str, c: &str) -> &'static GemmRow {
    let fragment = |dtype, text: &str| Fragment { dtype, layout: Layout::literal(text) };
    Box::leak(Box::new(GemmRow {
        name: "wgmma".into(),
        shape,
        threads: 128,
        a: Operand::in_registers(fragment(DType::F16, a)),
        b: Operand::in_registers(fragment(DType::F16, b)),
        c: fragment(DType::F32, c),
        issue: 1.0,
        latency: 1.0,
        needs: None,
        form: hx_target::Form::Product,
        ptx_registers: None,
        ptx: String::new(),
        is_swapped: false,
    }))
}

/// Instructions of warp groups are dealt like those of warps: every thread holds what it holds in the original.
#[test]
fn warp_groups_hold_what_they_hold_in_the_original() {
    let pool = Pool::default();
    let check = |row: &'static GemmRow, [m, n]: [i64; 2], [wm, wn]: [i64; 2], layouts: [&str; 3]| {
        let shape = Shape { m, n, k: 16, batch: None };
        let tiling = tile(row, [wm, wn, 1], wm * wn, &shape, Dealing::OWN, &pool).unwrap();
        let [a, b] =
            tiling.operands.each_ref().map(|operand| &operand.as_ref().expect("in registers").layout);
        for ((layout, rows), text) in [(a, m), (b, n), (&tiling.c, m)].into_iter().zip(layouts) {
            let reason = Reason { text: String::new(), from: vec![] };
            let found = layout.to_distribution(reason).unwrap().layout;
            assert_eq!(held(&found, rows), held(&Layout::literal(text), rows), "{text}");
        }
    };
    let a = "(128,(64,16)):(0,(1,64))";
    let row = warp_group([64, 96, 16], a, "(128,1536):(0,1)", "((4,8,4),(2,2,12)):((128,1,16),(64,8,512))");
    let c = "((4,8,8),(2,2,12)):((256,1,16),(128,8,1024))";
    check(row, [128, 96], [2, 1], ["((128,2),(64,16)):((0,64),(1,128))", "(256,1536):(0,1)", c]);
    let row = warp_group([64, 176, 16], a, "(128,2816):(0,1)", "((4,8,4),(2,2,22)):((128,1,16),(64,8,512))");
    let c = "((4,8,8),(2,2,22)):((256,1,16),(128,8,1024))";
    check(row, [128, 176], [2, 1], ["((128,2),(64,16)):((0,64),(1,128))", "(256,2816):(0,1)", c]);
    // A in registers: four groups, two along M.
    let a = "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))";
    let row =
        warp_group([64, 64, 16], a, "(128,(64,16)):(0,(1,64))", "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))");
    let a = "((4,8,8,2),(2,2,2)):((256,1,16,0),(128,8,1024))";
    let b = "((256,2),(64,16)):((0,64),(1,128))";
    let c = "((4,8,8,2),(2,2,8)):((256,1,16,8192),(128,8,1024))";
    check(row, [128, 128], [2, 2], [a, b, c]);
}

/// No register holds an operand that the instruction reads from shared memory, so the solver has no tiling for it.
#[test]
fn an_operand_in_shared_memory_has_no_fragment_to_deal() {
    let a = "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))";
    let c = "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))";
    let row = warp_group([64, 64, 16], a, "(128,(64,16)):(0,(1,64))", c);
    let shape = Shape { m: 64, n: 64, k: 16, batch: None };
    assert!(tile(row, [1, 1, 1], 1, &shape, Dealing::OWN, &Pool::default()).is_some());
    let b = Operand::by_reach(DType::F16, &["k.128B"]);
    let staged: &'static GemmRow = Box::leak(Box::new(GemmRow { b, ..row.clone() }));
    assert!(tile(staged, [1, 1, 1], 1, &shape, Dealing::OWN, &Pool::default()).is_none());
}

/// An instruction of four warps takes its cycles once, and `warps:` counts its warps by their arrangement in the instruction's
/// tile.
#[test]
fn an_instruction_of_four_warps_costs_its_issues() {
    let a = "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))";
    let c = "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))";
    let row = warp_group([64, 64, 16], a, "(128,(64,16)):(0,(1,64))", c);
    assert_eq!(row.warps(32), [4, 1]);
    let shape = Shape { m: 128, n: 64, k: 64, batch: None };
    let cost = |units: i64| {
        let tiling =
            tile(row, [units, 1, 1], units, &shape, Dealing::OWN, &Pool::default()).expect("the row fits");
        crate::cost::gemm(Target::usual(), &tiling, 128 * units as u32)
    };
    // Four steps along K: two instructions from one unit, or one instruction from each of two units on the same matrix units.
    assert_eq!([cost(1), cost(2)], [3.0 * 2.0 + 2.0 + 1.0; 2]);
}
