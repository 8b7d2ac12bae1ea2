//! Tile programs written by hand, for tests.

use hx_dtype::DType;
use hx_index::{Expr, Facts, Symbol};
use hx_tile::{
    Base, Constant, Control, GridAxis, Leaf, Op, OpId, OpKind, Operand, Origin, Param, ParamId, Rounds,
    Scope, ScopeId, Stmt, SyncOp, Tensor, TensorId, TensorKind, TensorParam, TileProgram, View, ViewMode,
};

/// The configuration of [`matmul`]: the tile's extents m, n and k, the threads of the block, and the type of the operands.
#[derive(Clone)]
pub(super) struct Matmul {
    pub(super) tile: [i64; 3],
    pub(super) threads: u32,
    pub(super) dtype: DType,
    /// Known divisors of m, n and k.
    pub(super) divisor: [i64; 3],
    /// Stores `b` with n contiguous.
    pub(super) b_transposed: bool,
}

impl Default for Matmul {
    fn default() -> Matmul {
        Matmul { tile: [64, 64, 16], threads: 128, dtype: DType::F16, divisor: [16; 3], b_transposed: false }
    }
}

pub(super) fn dim(name: &str) -> Expr {
    Expr::dim(name)
}

pub(super) fn constant(x: i64) -> Expr {
    Expr::constant(x)
}

pub(super) fn param(name: &str, dtype: DType, shape: [&str; 2], transposed: bool) -> Param {
    let stride = if transposed { [constant(1), dim(shape[0])] } else { [dim(shape[1]), constant(1)] };
    let shape = shape.map(dim).to_vec();
    Param::Tensor(TensorParam {
        name: name.into(),
        dtype,
        mutable: name == "c",
        shape,
        stride: stride.to_vec(),
        block: None,
        align: 16,
    })
}

pub(super) fn register(name: &str, dtype: DType, shape: &[i64]) -> Tensor {
    let kind = TensorKind::Register { pinned: None };
    Tensor {
        name: name.into(),
        dtype,
        shape: shape.to_vec(),
        kind,
        scope: ScopeId::BLOCK,
        origin: Origin(0),
        binder: None,
        moved_from: None,
    }
}

pub(super) fn shared(name: &str, dtype: DType, shape: &[i64]) -> Tensor {
    Tensor { kind: TensorKind::Shared { pinned: None }, ..register(name, dtype, shape) }
}

/// Returns a tile of a parameter with these extents at these offsets.
pub(super) fn tile_of(param: u32, offsets: [Expr; 2], extents: [i64; 2]) -> View {
    let modes = extents.iter().enumerate();
    let modes = modes.map(|(dim, &extent)| ViewMode { extent, dim, factor: constant(1) }).collect();
    View {
        base: Base::Global(ParamId(param)),
        offsets: offsets.to_vec(),
        modes,
        pad: Constant::ZERO,
        ends: Vec::new(),
        picked: None,
        cache: hx_target::Cache::default(),
    }
}

pub(super) struct Ops(u32);

impl Ops {
    pub(super) fn new() -> Ops {
        Ops(0)
    }
    pub(super) fn op(&mut self, kind: OpKind) -> Stmt {
        self.0 += 1;
        Stmt::Leaf(Leaf::Op(Op { id: OpId(self.0 - 1), kind, scope: ScopeId::BLOCK, origin: Origin(0) }))
    }
}

/// Returns a product of register tensors, into the first of them.
pub(super) fn product(tensors: &[Tensor], [c, a, b]: [TensorId; 3], warps: Option<[i64; 3]>) -> OpKind {
    let [a, b] = [a, b].map(|id| Operand::register(id, &tensors[id.0 as usize].shape));
    OpKind::Gemm { c, a, b, warps, asynchronous: false }
}

/// Returns the matmul of the language's first page.
pub(super) fn matmul(config: &Matmul) -> TileProgram {
    let Matmul { tile: [bm, bn, bk], threads, dtype, divisor, b_transposed } = config.clone();
    let mut facts = Facts::default();
    for (name, d) in ["m", "n", "k"].into_iter().zip(divisor) {
        facts.divisible(Symbol::Dim(name.into()), d);
    }
    facts.divisible(Symbol::Dim("k".into()), bk);
    let grid = [dim("m").ceil_div(&constant(bm), &facts), dim("n").ceil_div(&constant(bn), &facts)];
    for (axis, blocks) in grid.iter().enumerate() {
        facts.at_most(Symbol::BlockIdx(axis as u8), blocks.clone() - constant(1));
    }
    let ki = Symbol::Var("ki".into(), 0);
    let steps = dim("k").div(&constant(bk), &facts);
    facts.at_most(ki.clone(), steps.clone() - constant(1));
    let block = |axis: u8, by: i64| Expr::symbol(Symbol::BlockIdx(axis)).scale(by);
    let tensors = vec![
        register("ra", dtype, &[bm, bk]),
        register("rb", dtype, &[bn, bk]),
        register("rc", DType::F32, &[bm, bn]),
        shared("sc", dtype, &[bm, bn]),
        register("rc_cast", dtype, &[bm, bn]),
        register("rc1", dtype, &[bm, bn]),
    ];
    let [ra, rb, rc, sc, cast, rc1] = [0, 1, 2, 3, 4, 5].map(TensorId);
    let whole = |t: TensorId| {
        let base = if t == sc { Base::Shared(t) } else { Base::Register(t) };
        View::whole(base, &tensors[t.0 as usize].shape)
    };
    let at = Expr::symbol(ki.clone()).scale(bk);
    let mut ops = Ops::new();
    let fill = ops.op(OpKind::Fill { dst: rc, value: Constant::ZERO });
    let body = vec![
        ops.op(OpKind::Copy { src: tile_of(0, [block(0, bm), at.clone()], [bm, bk]), dst: whole(ra) }),
        ops.op(OpKind::Copy { src: tile_of(1, [block(1, bn), at], [bn, bk]), dst: whole(rb) }),
        ops.op(product(&tensors, [rc, ra, rb], None)),
    ];
    let body = vec![
        fill,
        Stmt::Control(Control::For { var: ki, rounds: Rounds::range(constant(0), steps), body }),
        ops.op(OpKind::Cast { dst: cast, src: rc }),
        ops.op(OpKind::Copy { src: whole(cast), dst: whole(sc) }),
        ops.op(OpKind::Sync(SyncOp::Scope)),
        ops.op(OpKind::Copy { src: whole(sc), dst: whole(rc1) }),
        ops.op(OpKind::Copy { src: whole(rc1), dst: tile_of(2, [block(0, bm), block(1, bn)], [bm, bn]) }),
    ];
    let params = vec![
        param("a", dtype, ["m", "k"], false),
        param("b", dtype, ["n", "k"], b_transposed),
        param("c", dtype, ["m", "n"], false),
    ];
    let grid = grid.into_iter().map(|blocks| GridAxis { blocks }).collect();
    TileProgram {
        name: "matmul".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(threads)],
        tensors,
        body,
        ..TileProgram::default()
    }
}
