//! Checks that the verifier reports defects of a solution, one at a time.

use expect_test::{Expect, expect};
use hx_layout::{Layout, Swizzle};
use hx_tile::{Choice, OpId, Solution, TensorId};

use super::build::{Matmul, matmul};
use crate::{Solved, solve};

const RA: TensorId = TensorId(0);
const SC: TensorId = TensorId(3);

fn check(spoil: impl Fn(&mut Solution), expected: Expect) {
    let program = matmul(&Matmul::default());
    let Solved { program: whole, mut solution, .. } = solve(&program, &|| false).unwrap();
    spoil(&mut solution);
    let lines: Vec<String> =
        hx_verify::verify(&program, &whole, &solution).iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn more_blocks_than_a_multiprocessor_holds() {
    check(
        |solution| solution.resident_blocks = 33,
        expect!["33 blocks should run together on a multiprocessor, which holds 16"],
    );
}

#[test]
fn an_element_that_no_thread_holds() {
    check(
        |s| {
            s.registers.get_mut(&RA).unwrap().layout =
                Layout::literal("((4,8,2,2),(2,2,2,2)):((128,1,16,0),(64,8,512,0))")
        },
        expect![[r#"
            thread 0 holds an element of `ra` twice
            operation #1: thread 0 does not get element [0, 0] of `ra`
            operation #3: [32, 0] is increased by A[0, 0] · B[0, 0]"#]],
    );
}

#[test]
fn fragments_that_do_not_meet() {
    check(
        |s| {
            s.registers.get_mut(&RA).unwrap().layout =
                Layout::literal("((4,8,2,2),(2,2,2,2)):((128,1,0,16),(64,8,512,32))")
        },
        expect![[r#"
            operation #1: thread 32 does not get element [0, 0] of `ra`
            operation #3: [16, 0] is increased by A[0, 0] · B[0, 0]"#]],
    );
}

#[test]
fn a_swizzle_that_tears_accesses_apart() {
    check(
        |s| s.shared.get_mut(&SC).unwrap().swizzle = Swizzle::new(3, 2, 3).unwrap(),
        expect![[r#"
            operation #5: thread 0 accesses `sc` at element 36, no multiple of 8
            operation #7: thread 4 accesses `sc` at element 36, no multiple of 8"#]],
    );
}

#[test]
fn two_elements_in_one_place() {
    check(
        |s| s.shared.get_mut(&SC).unwrap().layout = Layout::literal("(64,64):(32,1)"),
        expect!["two elements of `sc` lie at 32"],
    );
}

#[test]
fn a_wider_load_than_the_registers_hold() {
    check(
        |s| {
            let Some(Choice::Copy(c)) = s.choices.get_mut(&OpId(1)) else { panic!() };
            c.row = hx_target::row("ld.global.v2.b32");
        },
        expect!["operation #1: the modes do not count threads, values and issues"],
    );
}

#[test]
fn an_operation_without_an_instruction() {
    check(|s| drop(s.choices.remove(&OpId(3))), expect!["operation #3: no instruction was chosen"]);
}

/// A counter takes 40 B behind the buffers: four barriers of 8 B and two tickets of 4 B.
#[test]
fn tickets_have_memory_of_their_own() {
    let mut program = matmul(&Matmul::default());
    let limit = hx_index::Expr::dim("m");
    let origin = hx_tile::Origin(0);
    program.counters.push(hx_tile::Counter {
        name: "work".into(),
        param: hx_tile::ParamId(0),
        limit,
        origin,
    });
    let Solved { program: whole, solution: right, .. } = solve(&program, &|| false).unwrap();
    let found = |bytes: u32| {
        let solution = Solution { shared_bytes: bytes, ..right.clone() };
        let found = hx_verify::verify(&program, &whole, &solution);
        found.iter().map(|violation| violation.message.clone()).collect::<Vec<_>>().join("\n")
    };
    let end = right.shared_bytes;
    expect![[r#"

        --
        `sc` ends at 8192, and the barriers begin at 8184
        --
        barriers begin at 8196, which is not a multiple of 8
        --
        `sc` ends at 8192 of 8 B of shared memory"#]]
    .assert_eq(&[found(end), found(end - 8), found(end + 4), found(8)].join("\n--\n"));
}
