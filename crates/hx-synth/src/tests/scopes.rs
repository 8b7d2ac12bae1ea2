//! Solves programs with a group of four warps in a block of eight, and checks that the verifier counts threads by scope.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_layout::Layout;
use hx_tile::{
    Base, Choice, Constant, Leaf, Op, OpKind, ReduceChoice, Scope, ScopeId, ScopeKind, Solution, Stmt,
    SyncOp, TensorId, TensorKind, TileProgram, View, emit_layouts,
};

use super::build::{Matmul, Ops, matmul, register, shared};
use super::rows::softmax;
use super::staged::staged;
use crate::{Solved, solve};

const GROUP: ScopeId = ScopeId(1);

/// Returns the program for a block of 256 threads, in which threads 128..256 hold these register tensors and execute the
/// operations on them.
fn grouped(mut program: TileProgram, tensors: &[u32]) -> TileProgram {
    program.scopes =
        vec![Scope::block(256), Scope { kind: ScopeKind::Group, first: 128, threads: 128, groups: 1 }];
    for tensor in tensors {
        program.tensors[*tensor as usize].scope = GROUP;
    }
    let of_group = |op: &Op| op.kind.registers().iter().any(|tensor| tensors.contains(&tensor.0));
    each_op(&mut program.body, &mut |op| {
        if of_group(op) {
            op.scope = GROUP;
        }
    });
    program
}

fn each_op(body: &mut [Stmt], change: &mut dyn FnMut(&mut Op)) {
    for stmt in body {
        match stmt {
            Stmt::Leaf(Leaf::Op(op)) => change(op),
            control => control.bodies_mut().for_each(|body| each_op(body, change)),
        }
    }
}

/// Returns a block of eight warps that stages two operands, of which the last four multiply them.
fn multiplied_by_four_warps() -> TileProgram {
    grouped(staged(DType::F16, false, [64, 64, 32]), &[4, 5, 6])
}

fn solved(program: &TileProgram) -> Solution {
    let Solved { program: whole, solution, .. } = solve(program, &|| false).unwrap();
    assert_eq!(hx_verify::verify(program, &whole, &solution), []);
    solution
}

#[test]
fn a_group_is_solved_as_a_block_of_its_threads() {
    let all = |program: &TileProgram| (0..program.tensors.len() as u32).collect::<Vec<u32>>();
    let programs: [&dyn Fn(u32) -> TileProgram; 2] =
        [&|threads| matmul(&Matmul { threads, ..Matmul::default() }), &|threads| softmax(4, 1024, threads)];
    for program in programs {
        let (block, whole) = (program(128), program(256));
        let group = grouped(whole, &all(&block));
        let [alone, within] = [&block, &group].map(|program| {
            let text =
                emit_layouts(program, &solved(program)).replace("across the group", "across the block");
            text.lines().skip(1).map(str::to_string).collect::<Vec<_>>()
        });
        assert_eq!(alone, within);
    }
}

/// Only the layouts of the block and the words for the group differ from a block of four warps, whose solution is in
/// `operands_come_by_matrix_loads`.
#[test]
fn the_block_stages_and_the_group_multiplies() {
    let (block, program) = (staged(DType::F16, false, [64, 64, 32]), multiplied_by_four_warps());
    let alone = emit_layouts(&block, &solved(&block));
    let within = emit_layouts(&program, &solved(&program));
    assert_eq!(alone.lines().count(), within.lines().count());
    let differs = |(alone, within): (&str, &str)| (alone != within).then(|| format!("{within}\n"));
    let differing: String = alone.lines().zip(within.lines()).filter_map(differs).collect();
    expect![[r#"
        kernel staged threads 256
        ga: register f16[64, 32] = ((4,64),8):((512,1),64)
        gb: register f16[64, 32] = ((4,64),8):((512,1),64)
        #8 gemm(rc, ra, rb): mma.m16n8k16.f32.f16, 2×2 across the group, 2×4×2 each
    "#]]
    .assert_eq(&differing);
}

#[test]
fn pins_and_warps_are_judged_against_the_scope() {
    let check = |change: &dyn Fn(&mut TileProgram), expected: Expect| {
        let mut program = multiplied_by_four_warps();
        change(&mut program);
        let answer = solve(&program, &|| false);
        let text = answer.map_or_else(|failure| failure.message, |_| "solved".into());
        expected.assert_eq(&text);
    };
    let warps = |warps| {
        move |program: &mut TileProgram| {
            each_op(&mut program.body, &mut |op| {
                if let OpKind::Gemm { warps: given, .. } = &mut op.kind {
                    *given = Some(warps);
                }
            });
        }
    };
    check(&warps([4, 1, 1]), expect!["solved"]);
    check(&warps([4, 2, 1]), expect!["`warps: [4, 2]` are 8 warps, which do not divide the group's 4"]);
    let pinned = |layout: &'static str| {
        move |program: &mut TileProgram| {
            let kind = TensorKind::Register { pinned: Some(Layout::literal(layout)) };
            program.tensors[6].kind = kind;
        }
    };
    check(&pinned("((4,8,2,2),(2,2,4,2)):((128,1,16,512),(64,8,1024,32))"), expect!["solved"]);
    check(
        &pinned("((4,8,2,4),(2,2,4)):((128,1,16,512),(64,8,1024))"),
        expect![
            "the layout `((4,8,2,4),(2,2,4)):((128,1,16,512),(64,8,1024))` pinned to `rc` does not deal the [64, 64] elements of `rc` to 128 threads: its first mode counts 256 threads"
        ],
    );
}

#[test]
fn operations_reach_no_tensors_of_other_threads() {
    let mut program = multiplied_by_four_warps();
    // The group multiplies an operand that the whole block holds.
    program.tensors[4].scope = ScopeId::BLOCK;
    let failure = solve(&program, &|| false).unwrap_err();
    expect![
        "found `ra` in an operation of the group of threads 128..256, and the tensor belongs to the block"
    ]
    .assert_eq(&failure.message);
}

#[test]
fn reductions_of_two_scopes_have_scratch_memory_of_their_own() {
    let (block, group) = (softmax(1, 1024, 256), softmax(1, 1024, 256));
    let tensors = block.tensors.len() as u32;
    let program = both(block, group);
    let second: Vec<u32> = (tensors..2 * tensors).collect();
    let program = grouped(program, &second);
    let solution = solved(&program);
    expect![[r#"
        #2 of the block: 32 B at 0
        #4 of the block: 32 B at 0
        #10 of the group of threads 128..256: 16 B at 128
        #12 of the group of threads 128..256: 16 B at 128"#]]
    .assert_eq(&scratch(&program, &solution).join("\n"));
    // The verifier checks the places of scratch memory by itself: it finds two scopes that share one place.
    let mut wrong = solution.clone();
    for (op, _) in program.ops(1.0).into_iter().filter(|(op, _)| op.scope == GROUP) {
        if let Some(Choice::Reduce(ReduceChoice { across: Some(across), .. })) = wrong.choices.get_mut(&op.id)
        {
            across.offset = 16;
        }
    }
    expect!["operations #2 and #10 of two scopes use the same memory for themselves"]
        .assert_eq(&violations(&program, &wrong));
}

/// Formats the scratch memory of each reduction, as in `#2 of the block: 32 B at 0`.
fn scratch(program: &TileProgram, solution: &Solution) -> Vec<String> {
    let of = |(op, _): (&Op, f64)| match solution.choices.get(&op.id) {
        Some(Choice::Reduce(ReduceChoice { across: Some(across), .. })) => {
            let scope = program.scope(op.scope);
            Some(format!("#{} of the {scope}: {} B at {}", op.id.0, across.bytes, across.offset))
        }
        _ => None,
    };
    program.ops(1.0).into_iter().filter_map(of).collect()
}

fn violations(program: &TileProgram, solution: &Solution) -> String {
    let found = hx_verify::verify(program, program, solution);
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns a program that moves a tile through `s`, then another through `t`, with a barrier of `scope` between them.
fn two_buffers(scope: ScopeId) -> TileProgram {
    let tensors = vec![
        register("x", DType::F16, &[64, 32]),
        shared("s", DType::F16, &[64, 32]),
        register("y", DType::F16, &[64, 32]),
        shared("t", DType::F16, &[64, 32]),
    ];
    let whole = |i: u32| {
        let (id, tensor) = (TensorId(i), &tensors[i as usize]);
        let base = if tensor.is_register() { Base::Register(id) } else { Base::Shared(id) };
        View::whole(base, &tensor.shape)
    };
    let mut ops = Ops::new();
    let mut body = vec![
        ops.op(OpKind::Fill { dst: TensorId(0), value: Constant::ZERO }),
        ops.op(OpKind::Copy { src: whole(0), dst: whole(1) }),
        ops.op(OpKind::Copy { src: whole(1), dst: whole(2) }),
        ops.op(OpKind::Sync(SyncOp::Scope)),
        ops.op(OpKind::Copy { src: whole(2), dst: whole(3) }),
    ];
    each_op(&mut body, &mut |op| {
        if op.kind == OpKind::Sync(SyncOp::Scope) {
            op.scope = scope;
        }
    });
    let program = staged(DType::F16, false, [64, 64, 32]);
    grouped(TileProgram { name: "buffers".into(), params: vec![], tensors, body, ..program }, &[])
}

#[test]
fn only_a_barrier_of_the_block_lets_one_buffer_take_the_place_of_another() {
    let [all, some] = [ScopeId::BLOCK, GROUP].map(two_buffers);
    let (reused, apart) = (solved(&all), solved(&some));
    assert_eq!([reused.shared_bytes, apart.shared_bytes], [4096, 8192]);
    expect!["`s` and `t` overlap in shared memory"].assert_eq(&violations(&some, &reused));
}

#[test]
fn the_verifier_refuses_threads_of_other_scopes() {
    let program = multiplied_by_four_warps();
    let solution = solved(&program);
    let check = |change: &dyn Fn(&mut TileProgram), expected: Expect| {
        let mut program = program.clone();
        change(&mut program);
        expected.assert_eq(&violations(&program, &solution));
    };
    let multiplied_in = |program: &mut TileProgram, scope: ScopeId| {
        each_op(&mut program.body, &mut |op| {
            if let OpKind::Gemm { .. } = op.kind {
                op.scope = scope;
            }
        });
    };
    check(
        &|program| multiplied_in(program, ScopeId::BLOCK),
        expect!["operation #8: the block uses `rc` of the group of threads 128..256"],
    );
    let other = Scope { kind: ScopeKind::Group, first: 0, threads: 128, groups: 1 };
    check(
        &|program| {
            program.scopes.push(other);
            multiplied_in(program, ScopeId(2));
        },
        expect!["operation #8: the group of threads 0..128 uses `rc` of the group of threads 128..256"],
    );
    // Only the group may access the operands in shared memory.
    check(
        &|program| program.tensors[2].scope = GROUP,
        expect!["operation #1: the block uses `sa` of the group of threads 128..256"],
    );
    // The layout of `ga` is for the threads of the block, not for those of the group.
    check(
        &|program| program.tensors[0].scope = GROUP,
        expect![[r#"
        the layout of `ga` is for 256 threads, the group has 128
        operation #0: the block uses `ga` of the group of threads 128..256
        operation #1: the block uses `ga` of the group of threads 128..256"#]],
    );
}

#[test]
fn the_verifier_refuses_scopes_that_are_no_warps_of_the_block() {
    let program = multiplied_by_four_warps();
    let solution = solved(&program);
    let check = |first: u32, threads: u32, expected: Expect| {
        let mut program = program.clone();
        program.scopes.push(Scope { kind: ScopeKind::Role, first, threads, groups: 1 });
        expected.assert_eq(&violations(&program, &solution));
    };
    check(0, 128, expect![""]);
    check(128, 64, expect![""]);
    check(64, 128, expect!["the group of threads 128..256 and the role of threads 64..192 share 64 threads"]);
    check(0, 48, expect!["the role of threads 0..48 does not consist of whole warps"]);
    check(192, 128, expect!["the role of threads 192..320 lies outside of the block's 256 threads"]);
    let mut program = program.clone();
    program.tensors[0].scope = ScopeId(3);
    expect!["there is no scope 3"].assert_eq(&violations(&program, &solution));
}

/// Returns the program that executes one program after another; they have the same parameters.
fn both(mut first: TileProgram, mut second: TileProgram) -> TileProgram {
    let tensors = first.tensors.len() as u32;
    let ops = first.ops(1.0).len() as u32;
    each_op(&mut second.body, &mut |op| {
        op.id.0 += ops;
        for (operand, tensor) in op.kind.registers().into_iter().enumerate() {
            op.kind.replace(operand, TensorId(tensor.0 + tensors));
        }
    });
    first.tensors.extend(second.tensors);
    first.body.extend(second.body);
    first
}
