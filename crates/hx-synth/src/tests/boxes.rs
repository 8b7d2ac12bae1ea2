//! Copies in boxes: the form that boxes and descriptors agree on, and the reasons for copies that are not made so.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Expr;
use hx_target::SwizzleMode;
use hx_tile::{
    Base, BulkChoice, Choice, Constant, Control, Leaf, Op, OpId, OpKind, Param, PipeId, Solution, Stmt,
    SyncOp, TileProgram, View, ViewMode,
};

use super::build::{constant, shared, tile_of};
use super::descriptors::{SA, SB, Tiles, addresses, described, staged, tiles};
use crate::solve::loads::Means;
use crate::solve::solve_with;
use crate::{Failure, Solved, solve};

/// Returns the view that the first copy of a product reads.
fn source(program: &mut TileProgram) -> &mut View {
    let Some(Stmt::Control(Control::For { body, .. })) = program.body.get_mut(1) else { panic!("a loop") };
    match body.first_mut() {
        Some(Stmt::Leaf(Leaf::Op(Op { kind: OpKind::CopyAsync { src, .. }, .. }))) => src,
        _ => panic!("a copy"),
    }
}

/// Returns a product whose copies signal a pipeline.
fn signalled(config: &Tiles) -> TileProgram {
    let mut program = tiles(config);
    let Some(Stmt::Control(Control::For { body, .. })) = program.body.get_mut(1) else { panic!("a loop") };
    for stmt in body {
        if let Stmt::Leaf(Leaf::Op(Op { kind: OpKind::CopyAsync { signal, .. }, .. })) = stmt {
            *signal = Some(PipeId(0));
        }
    }
    program
}

fn solved(program: &TileProgram) -> Result<Solved, Failure> {
    solve_with(program, Means::ALL)
}

/// Returns the coordinates of a box of extents `extents`, in order, the first fastest.
fn coordinates(extents: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for extent in extents.iter().rev() {
        all = (0..*extent)
            .flat_map(|at| all.iter().map(move |rest: &Vec<i64>| [&[at], rest.as_slice()].concat()))
            .collect();
    }
    all.sort_by(|a, b| a.iter().rev().cmp(b.iter().rev()));
    all
}

/// Compares every box with the places of its elements, and checks that the boxes cover the tile once.
fn covered(program: &TileProgram, solution: &Solution, op: &Op, choice: &BulkChoice) {
    let (memory, global) = match &op.kind {
        OpKind::CopyAsync { src, dst, .. } => (dst, src),
        OpKind::Store { src, dst, .. } => (src, dst),
        _ => panic!("no copy"),
    };
    let Base::Shared(tensor) = memory.base else { panic!("no shared tensor") };
    let (layout, bits) = (&solution.shared[&tensor], i64::from(program.tensor(tensor).dtype.bits()));
    let mode = SwizzleMode::of(layout.swizzle, bits as u32).expect("a swizzle of the hardware");
    let extents: Vec<i64> = choice.extents.iter().map(|e| i64::from(*e)).collect();
    // The mode of the view that walks each dimension of the map.
    let walked: Vec<Option<usize>> =
        choice.dims.iter().map(|dim| global.modes.iter().position(|m| m.dim == *dim)).collect();
    let counts: Vec<i64> = walked
        .iter()
        .zip(&extents)
        .map(|(mode, extent)| mode.map_or(1, |mode| global.modes[mode].extent / extent))
        .collect();
    let place = |at: &[i64]| -> i64 {
        let start = memory.offsets.iter().enumerate().map(|(dim, start)| {
            let along =
                memory.modes.iter().zip(at).filter(|(m, _)| m.dim == dim).map(|(_, at)| at).sum::<i64>();
            layout.layout.mode(dim).eval(start.as_const().unwrap_or(0) + along)
        });
        start.sum()
    };
    let mut met = BTreeMap::new();
    for number in coordinates(&counts) {
        let tile = |inside: &[i64]| {
            let mut at = vec![0; global.modes.len()];
            for (i, mode) in walked.iter().enumerate() {
                if let Some(mode) = mode {
                    at[*mode] = number[i] * extents[i] + inside[i];
                }
            }
            at
        };
        let first = place(&tile(&vec![0; extents.len()]));
        let align = i64::from(mode.block_bytes().max(128)) * 8 / bits;
        assert_eq!(first % align, 0, "box {number:?} begins at {first}");
        for (i, inside) in (0..).zip(coordinates(&extents)) {
            let at = tile(&inside);
            assert_eq!(layout.swizzle.apply(first + i), layout.swizzle.apply(place(&at)), "{at:?}");
            *met.entry(at).or_insert(0) += 1;
        }
    }
    let all: i64 = global.modes.iter().map(|mode| mode.extent).product();
    assert!(met.len() as i64 == all && met.values().all(|times| *times == 1));
}

/// Describes the copies of a program, after checking those in boxes.
fn copies(program: &TileProgram, solution: &Solution) -> String {
    let mut out = String::new();
    for (op, _) in program.ops(1.0) {
        let memory = match &op.kind {
            OpKind::CopyAsync { dst, .. } => dst,
            OpKind::Store { src, .. } => src,
            _ => continue,
        };
        let Base::Shared(tensor) = memory.base else { panic!("no shared tensor") };
        let layout = &solution.shared[&tensor];
        let choice = match &solution.choices[&op.id] {
            Choice::Bulk(choice) => {
                covered(program, solution, op, choice);
                format!("{} {:?} of dimensions {:?}", choice.row, choice.extents, choice.dims)
            }
            Choice::Copy(choice) => format!("{}: {}", choice.row, choice.reason.text),
            other => panic!("no copy: {other:?}"),
        };
        out += &format!("{}: {choice}, {} {}\n", program.tensor(tensor).name, layout.swizzle, layout.layout);
    }
    out
}

/// Checks the layouts of some products: their copies and operands, and the reason of the first operand's layout.
fn check(configs: &[Tiles], expected: Expect) {
    let text = |config: &Tiles| {
        let program = signalled(config);
        let solution = solved(&program).expect("the program has layouts").solution;
        addresses(&program, &solution);
        assert_eq!(hx_verify::verify(&program, &program, &solution), []);
        let reason = &solution.shared[&SA].reason.text;
        format!("{}{}{reason}\n\n", copies(&program, &solution), described(&program, &solution))
    };
    expected.assert_eq(&configs.iter().map(text).collect::<String>());
}

#[test]
fn boxes_and_descriptors_agree_on_a_layout() {
    check(
        &[
            Tiles::default(),
            Tiles { tile: [128, 128, 128], transposed: [false, true], stages: 2, ..Tiles::default() },
            Tiles { dtype: DType::F16, tile: [64, 64, 96], threads: 128, ..Tiles::default() },
            Tiles { transposed: [true, true], ..Tiles::default() },
        ],
        expect![[r#"
            sa: tma.load [64, 128] of dimensions [1, 0], Sw<3,3,3> (128,64,4):(64,1,8192)
            sb: tma.load [64, 256] of dimensions [1, 0], Sw<3,3,3> (256,64,4):(64,1,16384)
            wgmma.m64n256k16.f32.bf16 2×1, issues [1, 1, 4, 1]
            sa by k.128B: Sw<3,3,3> (128,64,4):(64,1,8192)
            sb by k.128B: Sw<3,3,3> (256,64,4):(64,1,16384)
            128 B swizzle: `tma.load` of `a` and `wgmma.m64n256k16.f32.bf16` of `acc` agree on `(128,64,4):(64,1,8192)`

            sa: tma.load [64, 128] of dimensions [1, 0], Sw<3,3,3> (128,(64,2),2):(64,(1,8192),16384)
            sb: tma.load [64, 128] of dimensions [1, 0], Sw<3,3,3> (128,(64,2),2):(64,(1,8192),16384)
            wgmma.m64n128k16.f32.bf16 2×1, issues [1, 1, 8, 1]
            sa by k.128B: Sw<3,3,3> (128,(64,2),2):(64,(1,8192),16384)
            sb by mn.128B: Sw<3,3,3> (128,(64,2),2):(64,(1,8192),16384)
            128 B swizzle: `tma.load` of `a` and `wgmma.m64n128k16.f32.bf16` of `acc` agree on `(128,(64,2),2):(64,(1,8192),16384)`

            sa: tma.load [32, 64] of dimensions [1, 0], Sw<2,3,3> (64,(32,3),4):(32,(1,2048),6144)
            sb: tma.load [32, 64] of dimensions [1, 0], Sw<2,3,3> (64,(32,3),4):(32,(1,2048),6144)
            wgmma.m64n64k16.f32.f16 1×1, issues [1, 1, 6, 1]
            sa by k.64B: Sw<2,3,3> (64,(32,3),4):(32,(1,2048),6144)
            sb by k.64B: Sw<2,3,3> (64,(32,3),4):(32,(1,2048),6144)
            64 B swizzle: `tma.load` of `a` and `wgmma.m64n64k16.f32.f16` of `acc` agree on `(64,(32,3),4):(32,(1,2048),6144)`

            sa: tma.load [64, 64] of dimensions [1, 0], Sw<3,3,3> (64,(64,2),4):(64,(1,4096),8192)
            sb: tma.load [64, 64] of dimensions [1, 0], Sw<3,3,3> (64,(64,4),4):(64,(1,4096),16384)
            wgmma.m64n256k16.f32.bf16 2×1, issues [1, 1, 4, 1]
            sa by mn.128B: Sw<3,3,3> (64,(64,2),4):(64,(1,4096),8192)
            sb by mn.128B: Sw<3,3,3> (64,(64,4),4):(64,(1,4096),16384)
            128 B swizzle: `tma.load` of `a` and `wgmma.m64n256k16.f32.bf16` of `acc` agree on `(64,(64,2),4):(64,(1,4096),8192)`

        "#]],
    );
}

#[test]
fn copies_without_a_signal_are_made_by_all_threads() {
    let program = tiles(&Tiles::default());
    let solution = solved(&program).expect("layouts").solution;
    assert!(copies(&program, &solution).starts_with("sa: cp.async.cg.16"));
    let program = signalled(&Tiles { tile: [64, 64, 64], threads: 128, ..Tiles::default() });
    let solution = solve(&program, &|| false).expect("layouts").solution;
    assert!(copies(&program, &solution).starts_with("sa: tma.load [64, 64]"));
}

#[test]
fn a_copy_that_is_not_made_in_boxes_says_why() {
    let with = |change: &dyn Fn(&mut TileProgram)| {
        let mut program = signalled(&Tiles { stages: 2, ..Tiles::default() });
        change(&mut program);
        let solution = solved(&program).expect("layouts").solution;
        let lines = copies(&program, &solution);
        lines.lines().next().unwrap_or_default().to_owned()
    };
    let param = |program: &mut TileProgram, change: &dyn Fn(&mut hx_tile::TensorParam)| {
        let Param::Tensor(param) = &mut program.params[0] else { panic!("a tensor") };
        change(param);
    };
    let view = |program: &mut TileProgram, change: &dyn Fn(&mut View)| change(source(program));
    let end = || Expr::dim("end");
    let lines = [
        with(&|program| param(program, &|a| a.stride[0] = Expr::dim("lda").scale(4))),
        with(&|program| param(program, &|a| a.align = 8)),
        with(&|program| view(program, &|src| src.pad = Constant::new(1.0))),
        with(&|program| view(program, &|src| src.ends = vec![(0, end())])),
        with(&|program| view(program, &|src| src.ends = vec![(1, end().scale(8))])),
        with(&|program| view(program, &|src| src.ends = vec![(0, end()), (1, end().scale(8))])),
        with(&|program| {
            view(program, &|src| {
                src.offsets[0] = src.offsets[0].clone() - Expr::dim("before");
                src.ends = vec![(0, end())];
            });
        }),
        with(&|program| {
            view(program, &|src| src.offsets[1] = src.offsets[1].clone() + Expr::dim("first").scale(4));
        }),
        with(&|program| {
            param(program, &|a| {
                for dim in ["x", "y"] {
                    a.shape.insert(0, Expr::dim(dim));
                    a.stride.insert(0, a.stride[0].scale(16));
                }
            });
            view(program, &|src| {
                src.modes.iter_mut().for_each(|mode| mode.dim += 2);
                src.offsets.splice(0..0, [constant(0), constant(0)]);
                src.ends = vec![(2, end())];
            });
        }),
    ];
    expect![[r#"
        sa: cp.async.ca.8: not `tma.load`: stride `lda * 4` of `a` is known to be a multiple of 8 B only, not of 16 B; asks for `(128,(4,16),2):(D,(1,D),D)`; each thread holds 4 elements in a row, Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: cp.async.ca.8: not `tma.load`: `a` begins at a multiple of 8 B, not of 16 B; asks for `(128,(4,16),2):(D,(1,D),D)`; each thread holds 4 elements in a row, Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: cp.async.cg.16: not `tma.load`: elements outside of `a` read as 1; asks for `(128,(8,8),2):(D,(1,D),D)`; the widest access, Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: tma.load [64, 128] of dimensions [1, 0], Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: cp.async.cg.16: not `tma.load`: the part of `a` ends at `end * 8` in its contiguous dimension; asks for `(128,(8,8),2):(D,(1,D),D)`; the widest access, Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: cp.async.cg.16: not `tma.load`: the part of `a` ends before the tensor in more than one dimension; asks for `(128,(8,8),2):(D,(1,D),D)`; the widest access, Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: cp.async.cg.16: not `tma.load`: the part of `a` may begin before the tensor, at `-before`; asks for `(128,(8,8),2):(D,(1,D),D)`; the widest access, Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: cp.async.ca.8: not `tma.load`: the rows of the tile begin at `first * 4` in `a`, which is known to be a multiple of 8 B only, not of 16 B; asks for `(128,(4,16),2):(D,(1,D),D)`; each thread holds 4 elements in a row, Sw<3,3,3> (128,64,2):(64,1,8192)
        sa: cp.async.cg.16: not `tma.load`: the part of `a` ends at `end` in dimension 2 of 4, and boxes with such an end have at most 3; asks for `(128,(8,8),2):(D,(1,D),D)`; the widest access, Sw<3,3,3> (128,64,2):(64,1,8192)"#]].assert_eq(&lines.join("\n"));
}

/// A product whose result leaves through shared memory, two slices of 64 columns at a time.
fn stored(pad: i64) -> TileProgram {
    let mut program = tiles(&Tiles { stages: 2, ..Tiles::default() });
    let sc = hx_tile::TensorId(program.tensors.len() as u32);
    program.tensors.push(shared("sc", DType::F32, &[128, 256, 1]));
    let op = |id, kind| {
        Stmt::Leaf(Leaf::Op(Op {
            id: OpId(id),
            kind,
            scope: hx_tile::ScopeId::BLOCK,
            origin: hx_tile::Origin(0),
        }))
    };
    let view = View {
        modes: [128, 256]
            .into_iter()
            .enumerate()
            .map(|(dim, extent)| ViewMode { extent, dim, factor: constant(1) })
            .collect(),
        offsets: vec![constant(0); 3],
        ..staged(sc, [128, 256], false)
    };
    let Some(Stmt::Leaf(Leaf::Op(last))) = program.body.pop() else { panic!("the copy of the result") };
    let OpKind::Copy { src, .. } = last.kind else { panic!("a copy") };
    program.body.push(op(103, OpKind::Copy { src, dst: view.clone() }));
    program.body.push(op(104, OpKind::Sync(SyncOp::Scope)));
    let dst = View {
        offsets: vec![constant(0), constant(pad)],
        ..tile_of(2, [constant(0), constant(0)], [128, 256])
    };
    program.body.push(op(105, OpKind::Store { src: view, dst, adds: false }));
    program
}

#[test]
fn stores_are_made_in_boxes() {
    let program = stored(0);
    let solution = solved(&program).expect("layouts").solution;
    let line = copies(&program, &solution);
    expect!["sc: tma.store [8, 128] of dimensions [1, 0], Sw<1,2,3> (128,(8,32),1):(8,(1,1024),0)"]
        .assert_eq(line.lines().last().unwrap_or_default());
    assert!(solution.shared.contains_key(&SB));
    // Boxes begin at multiples of 16 bytes of a row.
    assert!(solved(&stored(4)).is_ok());
    let refused = |change: &dyn Fn(&mut TileProgram), first| {
        let mut program = stored(first);
        change(&mut program);
        let failure = solved(&program).expect_err("a number that is not known to be aligned");
        let help = failure.help.into_iter().map(|help| help.text).collect();
        [vec![failure.message], help].concat().join("\n") + "\n"
    };
    let c_of = |program: &mut TileProgram, change: &dyn Fn(&mut hx_tile::TensorParam)| {
        let Param::Tensor(c) = &mut program.params[2] else { panic!("a tensor") };
        change(c);
    };
    let refusals = [
        refused(&|program| c_of(program, &|c| c.stride[0] = Expr::dim("ldc")), 0),
        refused(&|_| (), 3),
        refused(&|program| c_of(program, &|c| c.shape[1] = Expr::dim("columns")), 0),
    ];
    expect![[r#"
        `tma.store` does not store `sc` in boxes
        stride `ldc` of `c` is known to be a multiple of 4 B only, not of 16 B
        `copy` goes through registers and takes any tile
        `tma.store` does not store `sc` in boxes
        the rows of the tile begin at `3` in `c`, which is 12 B and no multiple of 16 B
        `copy` goes through registers and takes any tile
        `tma.store` does not store `sc` in boxes
        the rows of `c` end at `columns`, which is known to be a multiple of 4 B only, not of 16 B, and boxes are written up to one
        `copy` goes through registers and takes any tile
    "#]]
    .assert_eq(&refusals.concat());
}

/// The verifier finds every element that a wrong box puts elsewhere, and boxes that no instruction has.
#[test]
fn wrong_boxes_are_found() {
    let program = signalled(&Tiles { tile: [128, 128, 128], stages: 2, ..Tiles::default() });
    let found = |spoil: &dyn Fn(&mut Solution, &mut BulkChoice)| {
        let mut solution = solved(&program).expect("the program has layouts").solution;
        let mut copies = program.ops(1.0).into_iter().map(|(op, _)| op.id);
        let boxed = |id: &OpId| matches!(solution.choices.get(id), Some(Choice::Bulk(_)));
        let id = copies.find(boxed).expect("a copy in boxes");
        let Some(Choice::Bulk(mut choice)) = solution.choices.remove(&id) else { panic!("boxes") };
        spoil(&mut solution, &mut choice);
        solution.choices.insert(id, Choice::Bulk(choice));
        let all = hx_verify::verify(&program, &program, &solution);
        let own = all.iter().find(|violation| violation.op == Some(id));
        own.map_or("nothing".to_owned(), |violation| violation.message.clone())
    };
    let lines = [
        found(&|_, _| ()),
        found(&|_, choice| choice.row = hx_target::row("tma.store")),
        // Smaller boxes are right as well.
        found(&|_, choice| choice.extents = vec![64, 64]),
        found(&|_, choice| choice.extents = vec![32, 128]),
        found(&|_, choice| choice.extents = vec![64, 96]),
        found(&|_, choice| choice.dims.reverse()),
        found(&|solution, _| solution.shared.get_mut(&SA).unwrap().offset += 128),
        found(&|solution, _| {
            let layout = &mut solution.shared.get_mut(&SA).unwrap().layout;
            *layout = hx_layout::Layout::literal("(128,(64,2),2):(1,(128,8192),16384)");
        }),
    ];
    expect![[r#"
        nothing
        `tma.store` is no such copy
        nothing
        the rows of a box have 64 B under the 128 B swizzle
        boxes of 96 do not tile 128
        no map has the stride `k` of `a` in place 0
        a box puts element [0, 0] at byte 144, and it lies at byte 128
        a box puts element [0, 1] at byte 2, and it lies at byte 288"#]]
    .assert_eq(&lines.join("\n"));
}

/// The verifier finds ends of a part that no box has.
#[test]
fn wrong_ends_are_found() {
    let config = Tiles { tile: [128, 128, 128], stages: 2, ..Tiles::default() };
    let solution = solved(&signalled(&config)).expect("the program has layouts").solution;
    let found = |ends: &[(usize, &str)], before: i64| {
        let mut program = signalled(&config);
        let src = source(&mut program);
        src.ends = ends.iter().map(|(dim, end)| (*dim, Expr::dim(*end))).collect();
        src.offsets[0] = src.offsets[0].clone() - constant(before);
        let all = hx_verify::verify(&program, &program, &solution);
        all.first().map_or("nothing".to_owned(), |violation| violation.message.clone())
    };
    let lines = [
        found(&[(0, "e")], 0),
        found(&[(0, "e"), (0, "f")], 0),
        found(&[(1, "e")], 0),
        found(&[(0, "e"), (1, "f")], 0),
        found(&[(0, "e")], 1),
    ];
    expect![[r#"
        nothing
        nothing
        no box of `a` ends at `e` in dimension 1
        no box of `a` ends at `e` in dimension 0
        no box of `a` ends at `e` in dimension 0"#]]
    .assert_eq(&lines.join("\n"));
}

/// Returns a product whose blocks in a pair share the tiles of both factors.
fn shared_by_two(config: &Tiles) -> TileProgram {
    let mut program = signalled(config);
    program.cluster = [2, 1, 1];
    let Some(Stmt::Control(Control::For { body, .. })) = program.body.get_mut(1) else { panic!("a loop") };
    for stmt in body {
        if let Stmt::Leaf(Leaf::Op(Op { kind: OpKind::CopyAsync { multicast, .. }, .. })) = stmt {
            *multicast = Some(0);
        }
    }
    program
}

/// The parts of the blocks are whole boxes: half of the rows if these are whole blocks of the swizzle, and half of the columns
/// otherwise, under a narrower swizzle if the tile was one box wide.
#[test]
fn blocks_share_boxes() {
    let text = |tile: [i64; 3]| {
        let program = shared_by_two(&Tiles { tile, stages: 2, ..Tiles::default() });
        let solution = solved(&program).expect("the program has layouts").solution;
        assert_eq!(hx_verify::verify(&program, &program, &solution), []);
        let choices = program.ops(1.0).into_iter().filter_map(|(op, _)| {
            let Some(Choice::Bulk(choice)) = solution.choices.get(&op.id) else { return None };
            let BulkChoice { extents, share, reason, .. } = choice;
            Some(format!("{extents:?} shared along {share:?}: {}\n", reason.text))
        });
        format!("{tile:?}\n{}", choices.collect::<String>())
    };
    expect![[r#"
        [128, 128, 64]
        [64, 64] shared along Some(0): asks for `128B swizzle ∘ ((64,2),64,2):((64,D),1,D)`; whole boxes by one thread; each block of the cluster brings its share to all
        [64, 64] shared along Some(0): asks for `128B swizzle ∘ ((64,2),64,2):((64,D),1,D)`; whole boxes by one thread; each block of the cluster brings its share to all
        [64, 8, 128]
        [64, 32] shared along Some(0): asks for `128B swizzle ∘ ((32,2),(64,2),2):((64,D),(1,D),D)`; whole boxes by one thread; each block of the cluster brings its share to all
        [64, 8] shared along Some(1): asks for `128B swizzle ∘ (8,(64,2),2):(64,(1,D),D)`; whole boxes by one thread; each block of the cluster brings its share to all
        [64, 8, 64]
        [64, 32] shared along Some(0): asks for `128B swizzle ∘ ((32,2),64,2):((64,D),1,D)`; whole boxes by one thread; each block of the cluster brings its share to all
        [32, 8] shared along Some(1): asks for `64B swizzle ∘ (8,(32,2),2):(32,(1,D),D)`; whole boxes by one thread; each block of the cluster brings its share to all
        [64, 8, 16]
        [16, 32] shared along Some(0): asks for `32B swizzle ∘ ((32,2),16,2):((16,D),1,D)`; whole boxes by one thread; each block of the cluster brings its share to all
        [8, 8] shared along Some(1): asks for `(8,(8,2),2):(8,(1,D),D)`; whole boxes by one thread; each block of the cluster brings its share to all
    "#]].assert_eq(&[[128, 128, 64], [64, 8, 128], [64, 8, 64], [64, 8, 16]].map(text).concat());
}

/// The verifier finds shares that leave out boxes, or that no cluster has.
#[test]
fn wrong_shares_are_found() {
    let right = shared_by_two(&Tiles { tile: [128, 128, 128], stages: 2, ..Tiles::default() });
    let found = |spoil: &dyn Fn(&mut TileProgram, &mut BulkChoice)| {
        let (mut program, mut solution) =
            (right.clone(), solved(&right).expect("the program has layouts").solution);
        let boxed = |choice: &&mut Choice| matches!(choice, Choice::Bulk(_));
        let Some(Choice::Bulk(choice)) = solution.choices.values_mut().find(boxed) else { panic!("boxes") };
        spoil(&mut program, choice);
        let all = hx_verify::verify(&program, &program, &solution);
        all.first().map_or("nothing".to_owned(), |violation| violation.message.clone())
    };
    let lines = [
        found(&|_, _| ()),
        found(&|_, choice| choice.share = Some(1)),
        found(&|_, choice| choice.extents = vec![64, 128]),
        found(&|_, choice| choice.share = Some(2)),
        found(&|program, _| program.cluster = [1, 1, 1]),
        found(&|program, _| program.cluster = [4, 1, 1]),
        // Each block copies the tile for itself.
        found(&|_, choice| choice.share = None),
    ];
    expect![[r#"
        nothing
        nothing
        0 of 2 blocks bring the box [0, 0]
        the tile has no such mode
        blocks share a copy that is for one of them
        0 of 4 blocks bring the box [0, 0]
        nothing"#]]
    .assert_eq(&lines.join("\n"));
}
