//! Products whose instructions read operands from shared memory by descriptor: their tilings, the swizzles and strides that they
//! share with the copies that fill the memory, and the routes that the cost decides between.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::{Expr, Facts, Symbol};
use hx_layout::{ComposedLayout, Layout, Swizzle};
use hx_target::{Field, Reached, ReachedStride, Target};
use hx_tile::{
    Base, Choice, Constant, Control, GemmChoice, GridAxis, Leaf, LoadIds, OpId, OpKind, Operand,
    OperandChoice, Rounds, Scope, Solution, Stmt, SyncOp, TensorId, TensorKind, TileProgram, View, ViewMode,
};

use super::build::{self, Ops, constant, param, register, tile_of};
use crate::constraints::System;
use crate::edits::Edits;
use crate::search::context::SolverContext;
use crate::search::pool::Pool;
use crate::shared::{self, Issued, Use};
use crate::solve::loads::Means;
use crate::solve::solve_with;
use crate::{Failure, Solved};

/// Solves a program whose products may read by descriptor and whose copies are not made in boxes.
fn solve_by_descriptor(program: &TileProgram) -> Result<Solved, Failure> {
    solve_with(program, Means { by_descriptor: true, in_boxes: false })
}

const PRODUCT: OpId = OpId(100);
pub(super) const SA: TensorId = TensorId(0);
pub(super) const SB: TensorId = TensorId(1);
const ACC: TensorId = TensorId(2);

/// A product of two tiles of shared memory, which asynchronous copies fill.
#[derive(Clone)]
pub(super) struct Tiles {
    pub(super) dtype: DType,
    pub(super) tile: [i64; 3],
    pub(super) threads: u32,
    pub(super) stages: i64,
    /// Stores A as `[k, m]` and B as `[k, n]`.
    pub(super) transposed: [bool; 2],
}

impl Default for Tiles {
    fn default() -> Tiles {
        Tiles { dtype: DType::Bf16, tile: [128, 256, 64], threads: 256, stages: 4, transposed: [false; 2] }
    }
}

/// Returns the tile of a shared operand at stage `s`, in the order of the product.
pub(super) fn staged(tensor: TensorId, extents: [i64; 2], transposed: bool) -> View {
    let dims = if transposed { [1, 0] } else { [0, 1] };
    let mode = |(dim, extent)| ViewMode { extent, dim, factor: constant(1) };
    let offsets = vec![constant(0), constant(0), Expr::symbol(Symbol::Var("s".into(), 0))];
    View {
        offsets,
        modes: dims.into_iter().zip(extents).map(mode).collect(),
        ..View::whole(Base::Shared(tensor), &[1])
    }
}

pub(super) fn tiles(config: &Tiles) -> TileProgram {
    let Tiles { dtype, tile: [m, n, k], threads, stages, transposed: [ta, tb] } = config.clone();
    let mut facts = Facts::default();
    for name in ["m", "n", "k"] {
        facts.divisible(Symbol::Dim(name.into()), 16);
    }
    facts.at_most(Symbol::Var("s".into(), 0), constant(stages - 1));
    let stored = |x: i64, transposed: bool| if transposed { [k, x] } else { [x, k] };
    let (in_a, in_b) = (stored(m, ta), stored(n, tb));
    let sum = if dtype.is_int() { DType::I32 } else { DType::F32 };
    let tensors = vec![
        build::shared("sa", dtype, &[in_a[0], in_a[1], stages]),
        build::shared("sb", dtype, &[in_b[0], in_b[1], stages]),
        register("acc", sum, &[m, n]),
        register("sa_tile", dtype, &[m, k]),
        register("sb_tile", dtype, &[n, k]),
    ];
    let load = |op, tensor| Some(LoadIds { op: OpId(op), tensor: TensorId(tensor) });
    let a = Operand { view: staged(SA, [m, k], ta), load: load(101, 3) };
    let b = Operand { view: staged(SB, [n, k], tb), load: load(102, 4) };
    let zero = || [constant(0), constant(0)];
    let mut ops = Ops::new();
    let copy = |src, dst| OpKind::CopyAsync { src, dst, signal: None, multicast: None };
    let copied = |stored: [i64; 2], tensor| staged(tensor, stored, false);
    let mut inner = vec![
        ops.op(copy(tile_of(0, zero(), in_a), copied(in_a, SA))),
        ops.op(copy(tile_of(1, zero(), in_b), copied(in_b, SB))),
        ops.op(OpKind::Sync(SyncOp::Commit)),
        ops.op(OpKind::Sync(SyncOp::Wait { groups: 0 })),
        ops.op(OpKind::Sync(SyncOp::Scope)),
    ];
    let product = OpKind::Gemm { c: ACC, a, b, warps: None, asynchronous: false };
    let Stmt::Leaf(Leaf::Op(product)) = ops.op(product) else { panic!("an operation") };
    inner.push(Stmt::Leaf(Leaf::Op(hx_tile::Op { id: PRODUCT, ..product })));
    let acc = View::whole(Base::Register(ACC), &[m, n]);
    let var = Symbol::Var("s".into(), 0);
    let body = vec![
        ops.op(OpKind::Fill { dst: ACC, value: Constant::ZERO }),
        Stmt::Control(Control::For {
            var,
            rounds: Rounds::range(constant(0), constant(stages)),
            body: inner,
        }),
        ops.op(OpKind::Copy { src: acc, dst: tile_of(2, zero(), [m, n]) }),
    ];
    let names = |x, transposed: bool| if transposed { ["k", x] } else { [x, "k"] };
    let params = vec![
        param("a", dtype, names("m", ta), false),
        param("b", dtype, names("n", tb), false),
        param("c", sum, ["m", "n"], false),
    ];
    TileProgram {
        name: "tiles".into(),
        params,
        facts,
        grid: vec![GridAxis { blocks: constant(1) }],
        scopes: vec![Scope::block(threads)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

fn gemm(solution: &Solution) -> &GemmChoice {
    match &solution.choices[&PRODUCT] {
        Choice::Gemm(choice) => choice,
        other => panic!("no product: {other:?}"),
    }
}

/// Describes the instruction of the product, and the layout of each tensor that it reads by descriptor.
pub(super) fn described(program: &TileProgram, solution: &Solution) -> String {
    let choice = gemm(solution);
    let mut out = format!("{} {}, issues {:?}\n", choice.row, choice.across(), choice.issues);
    for (tensor, operand) in [(SA, &choice.a), (SB, &choice.b)] {
        let layout = &solution.shared[&tensor];
        let name = &program.tensor(tensor).name;
        match operand {
            OperandChoice::Registers(_) => out += &format!("{name} in registers\n"),
            OperandChoice::Descriptor { reach } => {
                out += &format!("{name} by {reach}: {} {}\n", layout.swizzle, layout.layout);
            }
        }
    }
    out
}

/// Compares the instruction of each product, and the layouts of its operands in shared memory, with `expected`. Checks the
/// addresses of their descriptors.
fn check(configs: &[Tiles], expected: Expect) {
    let text = |config: &Tiles| {
        let program = tiles(config);
        let solution = solve_by_descriptor(&program).expect("the program has layouts").solution;
        addresses(&program, &solution);
        described(&program, &solution) + "\n"
    };
    expected.assert_eq(&configs.iter().map(text).collect::<String>());
}

/// Compares, for every instruction, the descriptor's addresses of an operand with the places of its elements. The free strides are
/// read off the layout at the first instruction.
pub(super) fn addresses(program: &TileProgram, solution: &Solution) {
    let choice = gemm(solution);
    let row = choice.row;
    let OpKind::Gemm { a, b, .. } = &program.op(PRODUCT).expect("the product").kind else {
        panic!("a product")
    };
    for (operand, chosen, x) in [(a, &choice.a, row.shape[0]), (b, &choice.b, row.shape[1])] {
        let (OperandChoice::Descriptor { reach }, Base::Shared(tensor)) = (chosen, operand.view.base) else {
            continue;
        };
        let (bits, layout) = (program.tensor(tensor).dtype.bits(), &solution.shared[&tensor]);
        let modes = reach.modes(bits).expect("elements of this width");
        assert_eq!(reach.swizzle.of_elements(bits), Some(layout.swizzle));
        assert_eq!(layout.offset % reach.swizzle.block_bytes(), 0);
        let dims = [operand.view.modes[0].dim, operand.view.modes[1].dim];
        let [along_x, along_k] = dims.map(|dim| layout.layout.mode(dim));
        let place = |x: i64, k: i64| along_x.eval(x) + along_k.eval(k);
        // A free stride begins where the modes inside it end.
        let free = |modes: &[Reached], own: &Layout| {
            let end: i64 = modes.iter().filter_map(|mode| mode.extent).product();
            if end < own.size() { own.eval(end) } else { 0 }
        };
        let free = [free(&modes[0], &along_x), free(&modes[1], &along_k)];
        // The fields of a descriptor count pieces of 16 bytes.
        assert!(free.iter().all(|stride| stride * i64::from(bits) % 128 == 0), "{free:?}");
        let offset = |modes: &[Reached], free: i64, mut at: i64| {
            let mut sum = 0;
            for mode in modes {
                let digit = mode.extent.map_or(at, |extent| at % extent);
                at = mode.extent.map_or(0, |extent| at / extent);
                sum += digit * if let ReachedStride::Known(s) = mode.stride { s } else { free };
            }
            sum
        };
        let [all_x, all_k] = [0, 1].map(|mode| operand.view.modes[mode].extent);
        for from_x in (0..all_x).step_by(x as usize) {
            for from_k in (0..all_k).step_by(row.shape[2] as usize) {
                let start = place(from_x, from_k);
                for i in 0..x * row.shape[2] {
                    let (i, j) = (i % x, i / x);
                    let reached = start + offset(&modes[0], free[0], i) + offset(&modes[1], free[1], j);
                    let (found, want) = (layout.swizzle.apply(reached), place(from_x + i, from_k + j));
                    assert_eq!(found, layout.swizzle.apply(want), "({}, {})", from_x + i, from_k + j);
                }
            }
        }
        for stage in 0..program.tensor(tensor).shape[2] {
            let start = layout.layout.mode(2).eval(stage) * i64::from(bits) / 8;
            assert_eq!(start % i64::from(reach.swizzle.block_bytes()), 0, "stage {stage}");
        }
        let fields = modes.iter().flatten().filter_map(|mode| match mode.stride {
            ReachedStride::Free(field) => Some(field),
            ReachedStride::Known(_) => None,
        });
        let fields: Vec<Field> = fields.collect();
        assert!(fields.contains(&Field::Stride), "{}", reach.name);
    }
}

#[test]
fn operands_contiguous_along_k_share_the_widest_swizzle_with_their_copies() {
    check(
        &[
            Tiles::default(),
            Tiles { dtype: DType::F16, tile: [64, 96, 96], threads: 128, ..Tiles::default() },
            Tiles { dtype: DType::F8E4m3, tile: [128, 128, 128], ..Tiles::default() },
            Tiles { dtype: DType::I8, tile: [64, 48, 32], threads: 128, ..Tiles::default() },
            Tiles { dtype: DType::Tf32, tile: [128, 176, 32], ..Tiles::default() },
        ],
        expect![[r#"
            wgmma.m64n256k16.f32.bf16 2×1, issues [1, 1, 4, 1]
            sa by k.128B: Sw<3,3,3> (128,64,4):(64,1,8192)
            sb by k.128B: Sw<3,3,3> (256,64,4):(64,1,16384)

            wgmma.m64n96k16.f32.f16 1×1, issues [1, 1, 6, 1]
            sa by k.64B: Sw<2,3,3> ((8,8),(32,3),4):((32,768),(1,256),6144)
            sb by k.64B: Sw<2,3,3> ((8,12),(32,3),4):((32,768),(1,256),9216)

            wgmma.m64n128k32.f32.f8e4m3 2×1, issues [1, 1, 4, 1]
            sa by k.128B: Sw<3,4,3> (128,128,4):(128,1,16384)
            sb by k.128B: Sw<3,4,3> (128,128,4):(128,1,16384)

            wgmma.m64n48k32.i32.i8 1×1, issues [1, 1, 1, 1]
            sa by k.32B: Sw<1,4,3> (64,32,4):(32,1,2048)
            sb by k.32B: Sw<1,4,3> (48,32,4):(32,1,1536)

            wgmma.m64n176k8.f32.tf32 2×1, issues [1, 1, 4, 1]
            sa by k.128B: Sw<3,2,3> (128,32,4):(32,1,4096)
            sb by k.128B: Sw<3,2,3> (176,32,4):(32,1,5632)

        "#]],
    );
}

#[test]
fn operands_contiguous_along_m_or_n_are_read_transposed() {
    check(
        &[
            Tiles { transposed: [true, true], ..Tiles::default() },
            Tiles { transposed: [false, true], tile: [128, 176, 64], ..Tiles::default() },
        ],
        expect![[r#"
            wgmma.m64n256k16.f32.bf16 2×1, issues [1, 1, 4, 1]
            sa by mn.128B: Sw<3,3,3> ((8,8),(64,2),4):((64,1024),(1,512),8192)
            sb by mn.128B: Sw<3,3,3> ((8,8),(64,4),4):((64,2048),(1,512),16384)

            wgmma.m64n176k16.f32.bf16 2×1, issues [1, 1, 4, 1]
            sa by k.128B: Sw<3,3,3> (128,64,4):(64,1,8192)
            sb by mn.32B: Sw<1,3,3> ((8,8),(16,11),4):((16,1408),(1,128),11264)

        "#]],
    );
}

/// Only 16-bit elements may be contiguous along M or N. An A of other elements is loaded into registers. Copies of 4 bytes can turn
/// a B of tf32, and nothing turns bytes.
#[test]
fn operands_of_other_types_are_loaded_if_they_are_not_contiguous_along_k() {
    let loads = |dtype, k, transposed| {
        let program = tiles(&Tiles { dtype, tile: [128, 64, k], transposed, ..Tiles::default() });
        let Solved { solution, edits, .. } = solve_by_descriptor(&program).expect("layouts");
        addresses(&program, &solution);
        edits.loads.iter().map(|load| load.operand).collect::<Vec<_>>()
    };
    assert_eq!(loads(DType::Tf32, 32, [false, false]), [0; 0]);
    assert_eq!(loads(DType::Tf32, 32, [true, false]), [0]);
    assert_eq!(loads(DType::Tf32, 32, [false, true]), [0; 0]);
    assert_eq!(loads(DType::I8, 64, [false, false]), [0; 0]);
    assert_eq!(loads(DType::I8, 64, [true, false]), [0]);
    assert_eq!(loads(DType::I8, 64, [false, true]), [0, 1]);
}

#[test]
fn products_without_a_group_or_a_fitting_tile_read_registers() {
    let reads_registers = |config: Tiles, target| {
        let solution =
            solve_by_descriptor(&TileProgram { target, ..tiles(&config) }).expect("layouts").solution;
        matches!(gemm(&solution).b, OperandChoice::Registers(_))
    };
    let small = Tiles { tile: [64, 64, 64], threads: 128, ..Tiles::default() };
    assert!(!reads_registers(small.clone(), Target::usual()));
    assert!(reads_registers(small.clone(), Target::builtin("sm_80")));
    assert!(reads_registers(Tiles { threads: 64, ..small.clone() }, Target::usual()));
    assert!(reads_registers(Tiles { tile: [32, 64, 64], ..small.clone() }, Target::usual()));
    assert!(reads_registers(Tiles { tile: [64, 64, 8], stages: 2, ..small }, Target::usual()));
}

#[test]
fn the_reasons_name_the_swizzle_and_the_size() {
    let program = tiles(&Tiles::default());
    let solution = solve_by_descriptor(&program).expect("layouts").solution;
    let demands: Vec<&str> = solution.constraints.iter().map(|d| d.text.as_str()).collect();
    let lines = [gemm(&solution).reason.text.as_str(), &solution.shared[&SA].reason.text];
    expect![[r#"
        lowest estimated cost of the arrangements that fit: 2 along M, 1 along N; n = 256: fewest shared bytes (10240 B for 64×256 results)
        128 B swizzle: `cp.async.cg.16` of `a` and `wgmma.m64n256k16.f32.bf16` of `acc` agree on `(128,64,4):(64,1,8192)`
        m_sa ∘ p⁻¹ = m_a ∘ p⁻¹
        with cp.async.cg.16
        m_sa = (128,(8,8),4):(D,(1,D),D)
        m_sb ∘ p⁻¹ = m_b ∘ p⁻¹
        with cp.async.cg.16
        m_sb = (256,(8,8),4):(D,(1,D),D)
        f_acc ∘ q⁻¹ = m_c ∘ p⁻¹
        with st.global.v2.b32
        with wgmma.m64n256k16.f32.bf16: p_C = ((4,8,4),(2,2,32)):((128,1,16),(64,8,512))
        m_sa = 128B swizzle ∘ ((8,16),64,4):((64,S),1,D)
        m_sb = 128B swizzle ∘ ((8,32),64,4):((64,S),1,D)"#]].assert_eq(&lines.into_iter().chain(demands).collect::<Vec<_>>().join("\n"));
}

/// Pins A to a layout, with the layouts of the third mode's stages one after the other.
fn pinned(swizzle: Swizzle, layout: &str) -> TileProgram {
    let mut program = tiles(&Tiles::default());
    let pin = ComposedLayout::swizzled(swizzle, Layout::literal(layout));
    program.tensors[SA.0 as usize].kind = TensorKind::Shared { pinned: Some(pin) };
    program
}

#[test]
fn a_pin_of_the_form_of_a_reach_is_read_by_descriptor() {
    let by = |program: &TileProgram| match &gemm(&solve_by_descriptor(program).expect("layouts").solution).a {
        OperandChoice::Descriptor { reach } => reach.to_string(),
        OperandChoice::Registers(_) => "registers".to_owned(),
    };
    let swizzle = |bits| Swizzle::new(bits, 3, 3).expect("a swizzle");
    assert_eq!(by(&pinned(swizzle(3), "(128,64,4):(64,1,8192)")), "k.128B");
    assert_eq!(by(&pinned(swizzle(2), "(128,(32,2),4):(32,(1,4096),8192)")), "k.64B");
    // Rows of 64 elements are no rows of the 64 B swizzle.
    assert_eq!(by(&pinned(swizzle(2), "(128,64,4):(64,1,8192)")), "registers");
    assert_eq!(by(&pinned(Swizzle::identity(), "(128,64,4):(64,1,8192)")), "registers");
}

fn message(failure: &Failure) -> String {
    let parts = failure.parts.iter().map(|part| format!("{:?}: {}", part.op.map(|op| op.0), part.text));
    let lines = std::iter::once(failure.message.clone())
        .chain(parts)
        .chain(failure.help.iter().map(|help| help.text.clone()));
    lines.collect::<Vec<_>>().join("\n")
}

/// Solves A alone, read by descriptor under a pin.
fn pinned_alone(swizzle: Swizzle, layout: &str) -> String {
    let program = pinned(swizzle, layout);
    let (system, pool) = (System::of(&program, &BTreeSet::new()), Pool::default());
    let context = SolverContext::new(&system, &pool, &|| false);
    let op = program.op(PRODUCT).expect("the product");
    let OpKind::Gemm { a, .. } = &op.kind else { panic!("a product") };
    let issued = Issued::of(
        Target::usual(),
        Target::usual().rows().gemm("wgmma.m64n256k16.f32.bf16").expect("a row"),
        0,
    );
    let uses = [Use::operand(op, &a.view, issued, 1.0)];
    match shared::solve(&context, SA, &uses, f64::INFINITY) {
        Ok(_) => "solved".to_owned(),
        Err(failure) => message(&failure),
    }
}

#[test]
fn a_pin_that_no_reach_meets_says_what_differs() {
    let swizzle = Swizzle::new(2, 0, 3).expect("a swizzle");
    expect![[r#"
        no swizzle of the shared tensor `sa` serves all of its accesses
        None: `sa` is pinned to `swizzle<2, 0, 3>`
        Some(100): this access by `wgmma.m64n256k16.f32.bf16` demands the 128 B swizzle or the 64 B swizzle or the 32 B swizzle or no swizzle
        without the pin, `sa` gets the swizzle that its accesses demand"#]]
    .assert_eq(&pinned_alone(swizzle, "(128,64,4):(64,1,8192)"));
    expect![[r#"
        operand A lies in no form in which the instruction reads it from shared memory
        not `k.128B`: the layout pinned to `sa` has another form
        not `k.64B`: the layout pinned to `sa` has another form
        not `k.32B`: the layout pinned to `sa` has another form
        not `k.16B`: the layout pinned to `sa` has another form
        not `mn.128B`: the layout pinned to `sa` has another form
        not `mn.64B`: the layout pinned to `sa` has another form
        not `mn.32B`: the layout pinned to `sa` has another form
        not `mn.16B`: the layout pinned to `sa` has another form"#]]
    .assert_eq(&pinned_alone(Swizzle::identity(), "(128,64,4):(64,1,8192)"));
}

/// The weights of attention: a product whose accumulator, converted, is operand A of a second product.
fn chained() -> TileProgram {
    let mut program =
        tiles(&Tiles { dtype: DType::F16, tile: [128, 128, 128], stages: 2, ..Tiles::default() });
    let p = TensorId(program.tensors.len() as u32);
    program.tensors.push(register("p", DType::F16, &[128, 128]));
    program.tensors.push(register("o", DType::F32, &[128, 128]));
    let o = TensorId(p.0 + 1);
    program.tensors.push(register("v_tile", DType::F16, &[128, 128]));
    let load = Some(LoadIds { op: OpId(105), tensor: TensorId(p.0 + 2) });
    // The values are read transposed: contiguous along N.
    let b = Operand { view: staged(SB, [128, 128], true), load };
    let a = Operand::register(p, &[128, 128]);
    let scope = hx_tile::ScopeId::BLOCK;
    let op = |id, kind| {
        Stmt::Leaf(Leaf::Op(hx_tile::Op { id: OpId(id), kind, scope, origin: hx_tile::Origin(0) }))
    };
    let Some(Stmt::Control(Control::For { body, .. })) = program.body.get_mut(1) else { panic!("a loop") };
    body.push(op(103, OpKind::Cast { dst: p, src: ACC }));
    body.push(op(104, OpKind::Gemm { c: o, a, b, warps: None, asynchronous: false }));
    let view = View::whole(Base::Register(o), &[128, 128]);
    program.body.insert(0, op(106, OpKind::Fill { dst: o, value: Constant::ZERO }));
    program
        .body
        .push(op(107, OpKind::Copy { src: view, dst: tile_of(2, [constant(0), constant(0)], [128, 128]) }));
    program
}

/// A converted accumulator is operand A as it is: no value moves between threads, and none goes through shared memory.
#[test]
fn an_accumulator_is_the_operand_of_the_next_product() {
    let program = chained();
    let Solved { solution, edits, .. } = solve_by_descriptor(&program).expect("layouts");
    addresses(&program, &solution);
    assert_eq!(edits, Edits::default());
    assert_eq!(solution.shared.len(), 2);
    let Some(Choice::Gemm(second)) = solution.choices.get(&OpId(104)) else { panic!("a product") };
    let OperandChoice::Registers(a) = &second.a else { panic!("A is in registers") };
    let b = &solution.shared[&SB];
    let lines = [
        described(&program, &solution),
        format!("{} {}: A at {a}, B by {:?}", second.row, second.across(), second.b),
        b.reason.text.clone(),
    ];
    expect![[r#"
        wgmma.m64n128k16.f32.f16 2×1, issues [1, 1, 8, 1]
        sa by k.128B: Sw<3,3,3> ((8,16),(64,2),2):((64,1024),(1,512),16384)
        sb by k.128B: Sw<3,3,3> ((8,16),(64,2),2):((64,1024),(1,512),16384)

        wgmma.m64n128k16.f32.f16 2×1: A at (8,1,8,1):(1,0,8,0), B by Descriptor { reach: "mn.128B" }
        128 B swizzle: `cp.async.cg.16` of `b`, `wgmma.m64n128k16.f32.f16` of `acc` and `wgmma.m64n128k16.f32.f16` of `o` agree on `((8,16),(64,2),2):((64,1024),(1,512),16384)`"#]].assert_eq(&lines.join("\n"));
}
