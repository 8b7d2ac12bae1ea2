//! Lowers programs: a group of four warps in a block of eight, bulk stores, and loops over a counter.

use expect_test::expect;
use hx_dtype::{DType, Operator};
use hx_index::{Expr, Facts, Symbol};
use hx_target::SwizzleMode;
use hx_tile::{
    Base, Constant, Control, Counter, CounterId, GridAxis, Leaf, Op, OpId, OpKind, Origin, Param, ParamId,
    Role, RoleKind, Rounds, Scope, ScopeId, ScopeKind, Stmt, SyncOp, Tensor, TensorId, TensorKind,
    TensorParam, TileProgram, View, ViewMode,
};

use super::{LowerError, lower};
use crate::emit_thread;

const GROUP: ScopeId = ScopeId(1);

fn group() -> Scope {
    Scope { kind: ScopeKind::Group, first: 128, threads: 128, groups: 1 }
}

/// Returns a program that sums 512 numbers of `a` into one number of `c`. The operations and tensors are of `scope`, except for
/// a barrier of the block at the end.
fn sum(scopes: Vec<Scope>, scope: ScopeId) -> TileProgram {
    let param = |name: &str, extent: i64| {
        Param::Tensor(TensorParam {
            name: name.into(),
            dtype: DType::F32,
            mutable: name == "c",
            shape: vec![Expr::constant(1), Expr::constant(extent)],
            stride: vec![Expr::constant(extent), Expr::constant(1)],
            block: None,
            align: 16,
        })
    };
    let register = |name: &str, extent: i64| Tensor {
        name: name.into(),
        dtype: DType::F32,
        shape: vec![1, extent],
        kind: TensorKind::Register { pinned: None },
        scope,
        origin: Origin(0),
        binder: None,
        moved_from: None,
    };
    let global = |param: u32, extent: i64| {
        let mode = |dim: usize, extent: i64| ViewMode { extent, dim, factor: Expr::constant(1) };
        View {
            base: Base::Global(ParamId(param)),
            offsets: vec![Expr::default(), Expr::default()],
            modes: vec![mode(0, 1), mode(1, extent)],
            pad: Constant::ZERO,
            ends: Vec::new(),
            picked: None,
            cache: hx_target::Cache::default(),
        }
    };
    let own = |tensor: u32, extent: i64| View::whole(Base::Register(TensorId(tensor)), &[1, extent]);
    let [x, total] = [0, 1].map(TensorId);
    let kinds = [
        (OpKind::Copy { src: global(0, 512), dst: own(0, 512) }, scope),
        (OpKind::Reduce { dst: total, src: x, axis: 1, operator: Operator::Add }, scope),
        (OpKind::Sync(SyncOp::Scope), scope),
        (OpKind::Copy { src: own(1, 1), dst: global(1, 1) }, scope),
        (OpKind::Sync(SyncOp::Scope), ScopeId::BLOCK),
    ];
    let op = |(id, (kind, scope))| Stmt::Leaf(Leaf::Op(Op { id: OpId(id), kind, scope, origin: Origin(0) }));
    TileProgram {
        name: "sum".into(),
        params: vec![param("a", 512), param("c", 1)],
        grid: vec![GridAxis { blocks: Expr::constant(1) }],
        scopes,
        tensors: vec![register("x", 512), register("total", 1)],
        body: (0..).zip(kinds).map(op).collect(),
        ..TileProgram::default()
    }
}

fn lowered(program: &TileProgram) -> Result<String, LowerError> {
    let solved = hx_synth::solve(program, &|| false).unwrap();
    lower(&solved.program, &solved.solution, &|| ()).map(|program| emit_thread(&program))
}

#[test]
fn statements_of_a_group_count_its_own_threads() {
    let text = lowered(&sum(vec![Scope::block(256), group()], GROUP)).unwrap();
    expect![[r#"
        kernel sum threads 256 grid [1]
          param a: f32[1, 512] : [512, 1] align 16
          param c: mut f32[1, 1] : [1, 1] align 16
          scope 1: group of threads 128..256
          shared total_parts: f32[16 B] at 0
          registers x: f32[4]
          registers total: f32[1]
          registers total_other: f32[1]
          // #0 copy(a[0..1, 0..512], x) in scope 1
          let col = thread * 4
          ld.global.v4.b32 x[0..=3] <> a[col]
          // #1 total = reduce(x, axis: 1, +) in scope 1
          fill total[0] = 0.0
          for i in 0..4 unroll
            total[0] = (total[0] + x[i + {0}])
          shfl.bfly.b32 total_other[0] = total[0] of lane ^ 1
          total[0] = (total[0] + total_other[0])
          shfl.bfly.b32 total_other[0] = total[0] of lane ^ 2
          total[0] = (total[0] + total_other[0])
          shfl.bfly.b32 total_other[0] = total[0] of lane ^ 4
          total[0] = (total[0] + total_other[0])
          shfl.bfly.b32 total_other[0] = total[0] of lane ^ 8
          total[0] = (total[0] + total_other[0])
          shfl.bfly.b32 total_other[0] = total[0] of lane ^ 16
          total[0] = (total[0] + total_other[0])
          barrier
          st.shared.b32 total[0] <> total_parts[thread / 32] if thread % 32 == 0
          barrier
          fill total[0] = 0.0
          for part in 0..4 unroll
            ld.shared.b32 total_other[0] <> total_parts[part]
            total[0] = (total[0] + total_other[0])
          // #2 sync() in scope 1
          barrier
          // #3 copy(total, c[0..1, 0..1]) in scope 1
          st.global.b32 total[0] <> c[0] if thread % 32 == 0 && thread / 32 == 0
          // #4 sync()
          barrier
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_group_runs_the_statements_of_a_block_of_its_threads() {
    let alone = lowered(&sum(vec![Scope::block(128)], ScopeId::BLOCK)).unwrap();
    let within = lowered(&sum(vec![Scope::block(256), group()], GROUP)).unwrap();
    let within = within.replace("threads 256", "threads 128").replace(" in scope 1", "");
    let within: Vec<&str> = within.lines().filter(|line| !line.starts_with("  scope")).collect();
    assert_eq!(alone.lines().collect::<Vec<_>>(), within);
}

#[test]
fn a_number_belongs_to_the_block() {
    let mut program = sum(vec![Scope::block(256), group()], GROUP);
    let kind = OpKind::ReadNumber { var: Symbol::Var("n".into(), 0), src: TensorId(1) };
    program.body.push(Stmt::Leaf(Leaf::Op(Op { id: OpId(9), kind, scope: GROUP, origin: Origin(0) })));
    expect!["operation 9: a number belongs to the block, and the group of threads 128..256 reads it"]
        .assert_eq(&lowered(&program).unwrap_err().to_string());
}

/// Returns a program that fills a tile of 64 × 128 numbers in shared memory and stores it to row 64 of tile column
/// `block_idx` of `c`, whose edges cut it.
fn stored() -> TileProgram {
    let n = || Expr::dim("n");
    let param = TensorParam {
        name: "c".into(),
        dtype: DType::F16,
        mutable: true,
        shape: vec![Expr::dim("m"), n()],
        stride: vec![n(), Expr::constant(1)],
        block: None,
        align: 16,
    };
    let tensor = |name: &str, kind| Tensor {
        name: name.into(),
        dtype: DType::F16,
        shape: vec![64, 128],
        kind,
        scope: ScopeId::BLOCK,
        origin: Origin(0),
        binder: None,
        moved_from: None,
    };
    let [r, s] = [0, 1].map(TensorId);
    let whole = |base| View::whole(base, &[64, 128]);
    let corner = vec![Expr::constant(64), Expr::symbol(Symbol::BlockIdx(0)).scale(128)];
    let dst = View { offsets: corner, ..whole(Base::Global(ParamId(0))) };
    let kinds = [
        OpKind::Fill { dst: r, value: Constant::new(1.0) },
        OpKind::Copy { src: whole(Base::Register(r)), dst: whole(Base::Shared(s)) },
        OpKind::Sync(SyncOp::Scope),
        OpKind::Store { src: whole(Base::Shared(s)), dst, adds: false },
        OpKind::Sync(SyncOp::WaitStores { leave: 0, read: true }),
    ];
    let op = |(id, kind)| {
        Stmt::Leaf(Leaf::Op(Op { id: OpId(id), kind, scope: ScopeId::BLOCK, origin: Origin(0) }))
    };
    let mut facts = Facts::default();
    facts.divisible(Symbol::Dim("n".into()), 16);
    TileProgram {
        name: "stored".into(),
        params: vec![Param::Tensor(param)],
        facts,
        grid: vec![GridAxis { blocks: Expr::constant(2) }],
        scopes: vec![Scope::block(128)],
        tensors: vec![
            tensor("r", TensorKind::Register { pinned: None }),
            tensor("s", TensorKind::Shared { pinned: None }),
        ],
        body: (0..).zip(kinds).map(op).collect(),
        ..TileProgram::default()
    }
}

#[test]
fn a_store_is_boxes_of_a_map() {
    expect![[r#"
        kernel stored threads 128 grid [2]
          param c: mut f16[m, n] : [n, 1] align 16
          shared s: f16[16384 B] at 0
          map of c: [n, m] : [n * 2] B box [128, 64] swizzle none
          registers r: f16[64]
          // #0 fill(r, 1.0)
          for i in 0..32 unroll
            fill r[i * 2 + {0..=1}] = 1.0
          // #1 copy(r, s[0..64, 0..128])
          let row = thread / 16
          let col = (thread % 16) * 8
          for i in 0..8 unroll
            st.shared.v4.b32 r[i * 8 + {0..=7}] <> s[col + i * 1024 + row * 128]
          // #2 sync()
          fence proxy
          barrier
          // #3 copy_async(s[0..64, 0..128], c[64 + 0..64, block_idx.x * 128 + 0..128])
          tma.store c{block_idx.x * 128, 64} <- s[0]
          bulk commit
          // #4 wait_stores(0)
          bulk wait 0 read
          bulk wait 0
    "#]]
    .assert_eq(&lowered(&stored()).unwrap());
}

/// Threads load the tile before a bulk store replaces it: the loads come first only behind a fence of global memory.
#[test]
fn loads_before_a_bulk_store_to_their_tensor_are_fenced() {
    let mut program = stored();
    let Stmt::Leaf(Leaf::Op(Op { kind: OpKind::Store { dst, .. }, .. })) = &program.body[3] else {
        panic!("a store")
    };
    let (src, dst) = (dst.clone(), View::whole(Base::Register(TensorId(0)), &[64, 128]));
    let kind = OpKind::Copy { src, dst };
    program.body[0] =
        Stmt::Leaf(Leaf::Op(Op { id: OpId(0), kind, scope: ScopeId::BLOCK, origin: Origin(0) }));
    let text = lowered(&program).unwrap();
    let order: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let barrier = order.iter().position(|line| *line == "barrier").unwrap();
    assert_eq!(order[barrier - 2..barrier], ["fence proxy", "fence proxy of global memory"]);
}

/// Each element of the tile is in exactly one box, at the place that its layout gives it.
#[test]
fn boxes_cover_a_tile_once() {
    let program = stored();
    let solution = hx_synth::solve(&program, &|| false).unwrap().solution;
    let threads = lower(&program, &solution, &|| ()).unwrap();
    let layout = &solution.shared[&TensorId(1)];
    let mut seen = std::collections::BTreeMap::new();
    let symbols = |_: &Symbol| Some(0);
    crate::visit_leaves(&threads.body, &mut |leaf| {
        let crate::Leaf::BulkStore(store) = leaf else { return };
        let crate::Part::Box { map, coordinates } = &store.to else { panic!("a box") };
        let map = &threads.maps[*map as usize];
        let first: Vec<i64> = coordinates.iter().map(|c| c.eval(&symbols).unwrap()).collect();
        let start = store.address.offset.eval(&symbols).unwrap();
        let permuted = SwizzleMode::of_map(map.swizzle).unwrap().of_elements(16).unwrap();
        for (linear, (row, column)) in (0..i64::from(map.extents[1]))
            .flat_map(|r| (0..i64::from(map.extents[0])).map(move |c| (r, c)))
            .enumerate()
        {
            let element = (first[1] + row - 64, first[0] + column);
            let place = permuted.apply(start + linear as i64);
            assert_eq!(seen.insert(element, place), None, "{element:?} twice");
        }
    });
    assert_eq!(seen.len(), 64 * 128);
    for ((row, column), place) in seen {
        let modes = layout.layout.modes();
        let linear = modes[0].eval(row) + modes[1].eval(column);
        assert_eq!(place, layout.swizzle.apply(linear), "{row} {column}");
    }
}

/// Returns a program in which a role and two groups loop over the numbers that their block draws.
fn drawn() -> TileProgram {
    let [t, u, g] = [("t", 0), ("u", 1), ("g", 2)].map(|(n, i)| Symbol::Var(n.into(), i));
    let limit = Expr::dim("m").ceil_div(&Expr::constant(64), &Facts::default());
    let param = |name: &str, dtype, extent| {
        Param::Tensor(TensorParam {
            name: name.into(),
            dtype,
            mutable: true,
            shape: vec![extent],
            stride: vec![Expr::constant(1)],
            block: None,
            align: 4,
        })
    };
    let role = |scope: u32, var: &Symbol, index: Option<Symbol>| {
        let scope = ScopeId(scope);
        let kind = OpKind::Sync(SyncOp::Scope);
        let body = vec![Stmt::Leaf(Leaf::Op(Op { id: OpId(scope.0 - 1), kind, scope, origin: Origin(1) }))];
        let rounds = Rounds::Drawn { counter: CounterId(0), scope, origin: Origin(2) };
        let body = vec![Stmt::Control(Control::For { var: var.clone(), rounds, body })];
        Role { scope, kind: RoleKind::Consumer, registers: None, index, body }
    };
    TileProgram {
        name: "drawn".into(),
        params: vec![param("x", DType::F32, Expr::dim("m")), param("c", DType::I32, Expr::constant(1))],
        grid: vec![GridAxis { blocks: Expr::constant(4) }],
        scopes: vec![
            Scope::block(384),
            Scope { kind: ScopeKind::Group, first: 0, threads: 128, groups: 2 },
            Scope { kind: ScopeKind::Role, first: 256, threads: 128, groups: 1 },
        ],
        counters: vec![Counter { name: "work".into(), param: ParamId(1), limit, origin: Origin(0) }],
        body: vec![Stmt::Control(Control::Roles(vec![role(1, &t, Some(g)), role(2, &u, None)]))],
        ..TileProgram::default()
    }
}

#[test]
fn the_first_scope_draws_one_ticket_ahead() {
    expect![[r#"
        kernel drawn threads 384 grid [4]
          param x: mut f32[m] : [1] align 4
          param c: mut i32[1] : [1] align 4
          scope 1: 2 groups of threads 0..256
          scope 2: role of threads 256..384
          barriers work full: 2 of 1 at 0
          barriers work empty: 2 of 12 at 16
          tickets work: 0..(m + 63) / 64 of c at 32
          roles
          2 groups of threads 0..256 for g
            let work_ticket = 0
            let work_parity = 0
            if g == 0
              draw work[0] when empty, parity 1
            for t from work[work_ticket] when full, parity work_parity
              work_ticket = work_ticket + 1
              if work_ticket == 2
                work_ticket = 0
                work_parity = -work_parity + 1
              if g == 0
                draw work[work_ticket] when empty, parity -work_parity + 1
              // #0 sync() in scope 1
              barrier
          role of threads 256..384
            let work_ticket = 0
            let work_parity = 0
            for u from work[work_ticket] when full, parity work_parity
              work_ticket = work_ticket + 1
              if work_ticket == 2
                work_ticket = 0
                work_parity = -work_parity + 1
              // #1 sync() in scope 2
              barrier
    "#]]
    .assert_eq(&lowered(&drawn()).unwrap());
}

#[test]
fn without_the_first_scope_the_next_one_draws() {
    let mut program = drawn();
    if let Some(Stmt::Control(Control::Roles(roles))) = program.body.last_mut() {
        roles[0].body.clear();
    }
    expect![[r#"
        kernel drawn threads 384 grid [4]
          param x: mut f32[m] : [1] align 4
          param c: mut i32[1] : [1] align 4
          scope 1: 2 groups of threads 0..256
          scope 2: role of threads 256..384
          barriers work full: 2 of 1 at 0
          barriers work empty: 2 of 4 at 16
          tickets work: 0..(m + 63) / 64 of c at 32
          roles
          2 groups of threads 0..256 for g, 240 registers, first warp
          role of threads 256..384, 24 registers
            let work_ticket = 0
            let work_parity = 0
            draw work[0] when empty, parity 1
            for u from work[work_ticket] when full, parity work_parity
              work_ticket = work_ticket + 1
              if work_ticket == 2
                work_ticket = 0
                work_parity = -work_parity + 1
              draw work[work_ticket] when empty, parity -work_parity + 1
              // #1 sync() in scope 2
              barrier
    "#]]
    .assert_eq(&lowered(&program).unwrap());
}
