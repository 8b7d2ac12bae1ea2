//! Counts the work of solving: it must grow at most linearly with the number of shared buffers.

use expect_test::expect;
use hx_dtype::{DType, Operator};
use hx_index::{Facts, Symbol};
use hx_tile::{Base, Constant, GridAxis, Map, OpKind, Scalar, Scope, SyncOp, TensorId, TileProgram, View};

use super::build::{Ops, constant, param, product, register, shared, tile_of};
use crate::search::ALL;
use crate::search::pool::Pool;
use crate::solve::counted;
use crate::solve::solver::Solver;
use crate::{Solved, candidates, solve};

/// Returns a program with tiles that move through `count` shared buffers, each written by rows and read transposed.
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
        body.push(ops.op(OpKind::Sync(SyncOp::Scope)));
        body.push(ops.op(OpKind::Copy { src: transposed, dst: whole(Base::Register(y)) }));
        body.push(ops.op(OpKind::Copy { src: whole(Base::Register(y)), dst: tile_of(1, at(), [64, 64]) }));
    }
    let params = vec![param("a", DType::F16, ["m", "n"], false), param("c", DType::F16, ["m", "n"], false)];
    let grid = vec![GridAxis { blocks: constant(1) }];
    TileProgram {
        name: "buffers".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(128)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

#[test]
fn steps_are_linear_in_the_number_of_shared_buffers() {
    let steps = |count| solve(&buffers(count), &|| false).unwrap().solution.steps;
    let one = steps(1);
    assert!(one > 0);
    assert_eq!([2, 4, 8, 16].map(steps), [2, 4, 8, 16].map(|count| count * one));
}

/// Returns a program with `count` pairs of tiles in shared memory, all multiplied into one accumulator: `2 · count` buffers tied
/// together.
fn products(count: u32) -> TileProgram {
    let mut facts = Facts::default();
    for name in ["m", "n"] {
        facts.divisible(Symbol::Dim(name.into()), 16);
    }
    let whole = |base| View::whole(base, &[32, 32]);
    let (mut tensors, mut body, mut ops) =
        (vec![register("c", DType::F32, &[32, 32])], Vec::new(), Ops::new());
    let c = TensorId(0);
    body.push(ops.op(OpKind::Fill { dst: c, value: Constant::ZERO }));
    for i in 0..count {
        let first = tensors.len() as u32;
        let [x, s, a, y, t, b] = [0, 1, 2, 3, 4, 5].map(|j| TensorId(first + j));
        for (from, via, to) in [("x", "s", "a"), ("y", "t", "b")] {
            tensors.push(register(&format!("{from}{i}"), DType::F16, &[32, 32]));
            tensors.push(shared(&format!("{via}{i}"), DType::F16, &[32, 32]));
            tensors.push(register(&format!("{to}{i}"), DType::F16, &[32, 32]));
        }
        let at = |column: u32| [constant(0), constant(32 * i64::from(column))];
        for (column, from, via) in [(2 * i, x, s), (2 * i + 1, y, t)] {
            let src = tile_of(0, at(column), [32, 32]);
            body.push(ops.op(OpKind::Copy { src, dst: whole(Base::Register(from)) }));
            body.push(
                ops.op(OpKind::Copy { src: whole(Base::Register(from)), dst: whole(Base::Shared(via)) }),
            );
        }
        body.push(ops.op(OpKind::Sync(SyncOp::Scope)));
        for (via, to) in [(s, a), (t, b)] {
            body.push(ops.op(OpKind::Copy { src: whole(Base::Shared(via)), dst: whole(Base::Register(to)) }));
        }
        body.push(ops.op(product(&tensors, [c, a, b], None)));
    }
    let dst = tile_of(1, [constant(0), constant(0)], [32, 32]);
    body.push(ops.op(OpKind::Copy { src: whole(Base::Register(c)), dst }));
    let params = vec![param("x", DType::F16, ["m", "n"], false), param("y", DType::F32, ["m", "n"], false)];
    let grid = vec![GridAxis { blocks: constant(1) }];
    TileProgram {
        name: "products".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(128)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

/// Products that share an accumulator are chosen together. The lower bound on the cost of the remaining products keeps the search
/// from trying all combinations.
#[test]
fn branches_are_linear_in_the_number_of_products() {
    let branches = |count| {
        let program = products(count);
        let (solution, branches) = counted(&program, &|| false);
        let Solved { program: whole, solution, .. } = solution.unwrap();
        assert_eq!(hx_verify::verify(&program, &whole, &solution), [], "{count} products");
        assert_eq!(solution.unexplored, 0, "{count} products");
        branches
    };
    assert_eq!([2, 4, 8, 16, 32].map(branches), [25, 37, 61, 109, 205]);
}

#[test]
fn buffers_take_turns() {
    // No barrier separates the uses of neighbouring buffers. The barrier of buffer `i + 1` separates buffers `i` and `i + 2`, so
    // every second buffer shares memory.
    let program = buffers(4);
    let Solved { program: whole, solution, .. } = solve(&program, &|| false).unwrap();
    assert_eq!(hx_verify::verify(&program, &whole, &solution), []);
    let most: u32 = solution.shared.values().map(|s| s.bytes).max().unwrap();
    assert_eq!(solution.shared_bytes, 2 * most);
}

#[test]
fn candidates_differ_and_hold() {
    let program = super::build::matmul(&super::build::Matmul { tile: [128, 128, 32], ..Default::default() });
    let all = candidates(&program, &|| false).unwrap();
    assert!(all.len() >= 12, "{} candidates", all.len());
    assert_eq!(all[0], solve(&program, &|| false).unwrap());
    assert!(all.windows(2).skip(1).all(|pair| pair[0].solution.cost <= pair[1].solution.cost));
    for (i, solved) in all.iter().enumerate() {
        assert_eq!(hx_verify::verify(&program, &solved.program, &solved.solution), [], "candidate {i}");
        let text = |solved: &Solved| hx_tile::emit_layouts(&solved.program, &solved.solution);
        let (texts, own) = (all[..i].iter().map(text), text(solved));
        assert!(texts.into_iter().all(|text| text != own), "candidate {i} occurs twice");
    }
}

/// Returns a program with `count` tiles of several widths. Each is summed along axis 0 or 1 and, multiplied by these sums, along
/// axis 1; the results are added.
fn sums(count: u32) -> TileProgram {
    let (mut tensors, mut body, mut ops) = (Vec::new(), Vec::new(), Ops::new());
    let mut tensor = |name: String, shape: &[i64]| {
        tensors.push(register(&name, DType::F32, shape));
        TensorId(tensors.len() as u32 - 1)
    };
    let joined = |operator, dst, inputs: [TensorId; 2]| {
        let args = [0, 1].map(|index| Scalar::Input { index, dtype: DType::F32 });
        let value = Scalar::apply(operator, DType::F32, args.to_vec());
        OpKind::Map(Map { dst, inputs: inputs.to_vec(), value })
    };
    let whole = |tensor, shape: [i64; 2]| View::whole(Base::Register(tensor), &shape);
    let mut total = None;
    for i in 0..count {
        let shape = [64, [8, 16, 32, 64][i as usize % 4]];
        let axis = i as usize % 2;
        let v = tensor(format!("v{i}"), &shape);
        let s = tensor(format!("s{i}"), &[[1, shape[1]], [shape[0], 1]][axis]);
        let w = tensor(format!("w{i}"), &shape);
        let r = tensor(format!("r{i}"), &[64, 1]);
        let at = [constant(0), constant(64 * i64::from(i))];
        body.push(ops.op(OpKind::Copy { src: tile_of(0, at, shape), dst: whole(v, shape) }));
        body.push(ops.op(OpKind::Reduce { dst: s, src: v, axis, operator: Operator::Add }));
        body.push(ops.op(joined(Operator::Mul, w, [v, s])));
        body.push(ops.op(OpKind::Reduce { dst: r, src: w, axis: 1, operator: Operator::Add }));
        total = Some(match total {
            None => r,
            Some(before) => {
                let sum = tensor(format!("a{i}"), &[64, 1]);
                body.push(ops.op(joined(Operator::Add, sum, [before, r])));
                sum
            }
        });
    }
    if let Some(total) = total {
        let dst = tile_of(1, [constant(0), constant(0)], [64, 1]);
        body.push(ops.op(OpKind::Copy { src: whole(total, [64, 1]), dst }));
    }
    let params = vec![param("a", DType::F32, ["m", "n"], false), param("c", DType::F32, ["m", "n"], false)];
    let grid = vec![GridAxis { blocks: constant(1) }];
    let facts = Facts::default();
    TileProgram {
        name: "sums".into(),
        params,
        facts,
        grid,
        scopes: vec![Scope::block(128)],
        tensors,
        body,
        ..TileProgram::default()
    }
}

/// The register layouts alone rule out most leaves as dearer, so few whole solutions are made.
#[test]
fn few_solutions_are_made() {
    let made = |program: &TileProgram| {
        let pool = Pool::default();
        Solver::new(program, &pool, &|| false).solve().unwrap();
        pool.made.get()
    };
    let all = [buffers(2), buffers(8), products(2), products(8), sums(4), sums(12)];
    expect!["[1, 3, 1, 1, 6, 2]"].assert_eq(&format!("{:?}", all.each_ref().map(made)));
}

/// The dependent choices exceed the budget: the search stops, still has a solution, and reports how much it left unexplored.
#[test]
fn a_search_that_stops_has_a_solution() {
    for count in [4, 12, 24, 48] {
        let program = sums(count);
        let (solution, branches) = counted(&program, &|| false);
        let Solved { program: whole, solution, .. } = solution.unwrap();
        assert_eq!(hx_verify::verify(&program, &whole, &solution), [], "{count} tiles");
        assert!(branches <= 2 * ALL, "{count} tiles take {branches} branches");
        assert!(count < 12 || solution.unexplored > 0, "{count} tiles take {branches} branches");
    }
}

/// A candidate without collective copies reports its higher cost: its copies take more instructions.
#[test]
fn candidates_without_collective_copies_are_dearer() {
    let program = products(1);
    let all = candidates(&program, &|| false).unwrap();
    let is_collective = |choice: &hx_tile::Choice| match choice {
        hx_tile::Choice::Copy(copy) => copy.row.is_collective(),
        _ => false,
    };
    let collective = |solved: &Solved| solved.solution.choices.values().any(is_collective);
    let least = |some: bool| {
        let costs = all.iter().filter(|solved| collective(solved) == some).map(|solved| solved.solution.cost);
        costs.fold(f64::INFINITY, f64::min)
    };
    assert!(least(true) < least(false) && least(false).is_finite(), "{} and {}", least(true), least(false));
}
