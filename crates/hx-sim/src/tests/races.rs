//! Tests races on tensors in global memory, between the threads of a block and between blocks.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Expr;
use hx_thread::{Control, Leaf, Stmt};
use hx_tile::Scalar;

use super::build::*;
use crate::Argument;

fn check(kernel: &Kernel, arguments: &mut [Argument], want: Expect) {
    want.assert_eq(&kernel.error(arguments));
}

/// An access of all threads of a block to an element of a tensor, by its offset.
enum Do {
    Read(Expr),
    Store(Expr, Expr),
    Add(Expr),
}

/// Builds accesses of one block to a tensor of 64 integers, in sequence, with a barrier after each or with none.
fn one_after_another(accesses: &[Do], barrier: bool) -> Kernel {
    let mut k = Kernel::new(64);
    let a = k.output("a", DType::I32, &[64], &[1]);
    let r = k.registers("r", DType::I32, 1);
    let set = |k: &mut Kernel, value: &Expr| {
        let value = Scalar::Integer { value: value.clone(), dtype: DType::I32 };
        k.push(compute(first(r, 1), Vec::new(), value));
    };
    for access in accesses {
        let (title, row, offset) = match access {
            Do::Read(offset) => ("copy(a, r)", "ld.global.b32", offset),
            Do::Store(offset, value) => {
                set(&mut k, value);
                ("copy(r, a)", "st.global.b32", offset)
            }
            Do::Add(offset) => {
                set(&mut k, &c(1));
                ("atomic_add(a, r)", "red.global.add.s32", offset)
            }
        };
        k.op(title, vec![transfer(row, first(r, 1), a, offset.clone())]);
        if barrier {
            k.push(Stmt::Leaf(Leaf::Barrier));
        }
    }
    k
}

#[test]
fn threads_of_a_block_that_disagree_race() {
    let zeros = || [vector(DType::I32, &[0.0; 64])];
    let turned = || c(63) - thread();
    // A thread reads an element that another thread has changed.
    let reads = [Do::Store(thread(), thread() + c(1)), Do::Read(turned())];
    check(
        &one_after_another(&reads, false),
        &mut zeros(),
        expect![[r#"
            reads element 63 ([63]) of `a`, which thread 63 wrote in #0 `copy(r, a)`, with no barrier in between
              thread 0, block [0, 0, 0], #1 `copy(a, r)`
        "#]],
    );
    check(&one_after_another(&reads, true), &mut zeros(), expect!["no error"]);
    // Two stores, and then one store, write different values to one element.
    let twice = [Do::Store(thread(), c(1)), Do::Store(turned(), c(2))];
    check(
        &one_after_another(&twice, false),
        &mut zeros(),
        expect![[r#"
            writes element 63 ([63]) of `a`, which thread 63 wrote in #0 `copy(r, a)`, with no barrier in between
              thread 0, block [0, 0, 0], #1 `copy(r, a)`
        "#]],
    );
    check(&one_after_another(&twice, true), &mut zeros(), expect!["no error"]);
    check(
        &one_after_another(&[Do::Store(c(3), thread())], false),
        &mut zeros(),
        expect![[r#"
        writes element 3 ([3]) of `a`, which thread 0 wrote in #0 `copy(r, a)`, with no barrier in between
          thread 1, block [0, 0, 0], #0 `copy(r, a)`
    "#]],
    );
    // Two operations race whatever they store. The threads of one may store the same value, and each thread its own element.
    let same = [Do::Store(thread(), c(1)), Do::Store(turned(), c(1))];
    check(
        &one_after_another(&same, false),
        &mut zeros(),
        expect![[r#"
        writes element 63 ([63]) of `a`, which thread 63 wrote in #0 `copy(r, a)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy(r, a)`
    "#]],
    );
    check(&one_after_another(&[Do::Store(c(3), c(1))], false), &mut zeros(), expect!["no error"]);
    let own = [Do::Store(thread(), c(1)), Do::Read(thread()), Do::Store(thread(), c(2))];
    check(&one_after_another(&own, false), &mut zeros(), expect!["no error"]);
}

/// Runs accesses without barriers, which must race, and with barriers, which must not and must leave `want` in element 0.
fn check_order(accesses: &[Do], race: Expect, want: f64) {
    let zeros = || [vector(DType::I32, &[0.0; 64])];
    check(&one_after_another(accesses, false), &mut zeros(), race);
    let mut arguments = zeros();
    one_after_another(accesses, true).run(&mut arguments).unwrap();
    assert_eq!(values(DType::I32, &arguments[0])[0], want);
}

#[test]
fn a_store_after_the_read_of_another_thread_races() {
    let turned = || c(63) - thread();
    check_order(
        &[Do::Read(turned()), Do::Store(thread(), thread() + c(1))],
        expect![[r#"
        writes element 0 ([0]) of `a`, which thread 63 read in #0 `copy(a, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy(r, a)`
    "#]],
        1.0,
    );
    // Of many readers, the check remembers one of another warp.
    check_order(
        &[Do::Read(c(0)), Do::Store(div(thread(), 64), c(7))],
        expect![[r#"
        writes element 0 ([0]) of `a`, which thread 63 read in #0 `copy(a, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy(r, a)`
    "#]],
        7.0,
    );
    // A store of the value already there races, too. A store to an element that only its own thread reads does not.
    let zeros = || [vector(DType::I32, &[0.0; 64])];
    check(
        &one_after_another(&[Do::Read(turned()), Do::Store(thread(), c(0))], false),
        &mut zeros(),
        expect![[r#"
            writes element 0 ([0]) of `a`, which thread 63 read in #0 `copy(a, r)`, with no barrier in between
              thread 0, block [0, 0, 0], #1 `copy(r, a)`
        "#]],
    );
    check(
        &one_after_another(&[Do::Read(thread()), Do::Store(thread(), c(5))], false),
        &mut zeros(),
        expect!["no error"],
    );
}

#[test]
fn sums_race_with_all_but_sums() {
    let turned = || c(63) - thread();
    check_order(
        &[Do::Store(thread(), c(5)), Do::Add(turned())],
        expect![[r#"
        updates element 63 ([63]) of `a`, which thread 63 wrote in #0 `copy(r, a)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `atomic_add(a, r)`
    "#]],
        6.0,
    );
    check_order(
        &[Do::Add(turned()), Do::Store(thread(), c(5))],
        expect![[r#"
        writes element 0 ([0]) of `a`, which thread 63 updated in #0 `atomic_add(a, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy(r, a)`
    "#]],
        5.0,
    );
    // A store races with a sum whatever its value, because it may undo the sum.
    check_order(
        &[Do::Add(turned()), Do::Store(thread(), c(0))],
        expect![[r#"
        writes element 0 ([0]) of `a`, which thread 63 updated in #0 `atomic_add(a, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy(r, a)`
    "#]],
        0.0,
    );
    check_order(
        &[Do::Read(thread()), Do::Add(turned())],
        expect![[r#"
        updates element 63 ([63]) of `a`, which thread 63 read in #0 `copy(a, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `atomic_add(a, r)`
    "#]],
        1.0,
    );
    check_order(
        &[Do::Add(turned()), Do::Read(thread())],
        expect![[r#"
        reads element 0 ([0]) of `a`, which thread 63 updated in #0 `atomic_add(a, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy(a, r)`
    "#]],
        1.0,
    );
    let zeros = || [vector(DType::I32, &[0.0; 64])];
    check(&one_after_another(&[Do::Add(c(3)), Do::Add(turned())], false), &mut zeros(), expect!["no error"]);
    let own = [Do::Store(thread(), c(5)), Do::Add(thread()), Do::Read(thread())];
    check(&one_after_another(&own, false), &mut zeros(), expect!["no error"]);
}

/// A thread that reads an element after its own sums gets the sums.
#[test]
fn a_block_sees_its_own_sums() {
    let accesses = [Do::Store(thread(), c(5)), Do::Add(thread()), Do::Add(c(0)), Do::Add(c(0))];
    let mut arguments = [vector(DType::I32, &[0.0; 64])];
    one_after_another(&accesses, true).run(&mut arguments).unwrap();
    assert_eq!(values(DType::I32, &arguments[0])[..2], [134.0, 6.0]);

    let mut k = one_after_another(&[Do::Add(thread()), Do::Add(thread()), Do::Read(thread())], false);
    let b = k.output("b", DType::I32, &[64], &[1]);
    let read = match &k.program.body[..] {
        [.., last] => last.clone(),
        [] => unreachable!("there are accesses"),
    };
    k.push(read);
    k.op("copy(r, b)", vec![transfer("st.global.b32", first(hx_thread::RegId(0), 1), b, thread())]);
    let mut arguments = [vector(DType::I32, &counting(64)), vector(DType::I32, &[0.0; 64])];
    k.run(&mut arguments).unwrap();
    let want: Vec<f64> = (0..64).map(|i| f64::from(i + 2)).collect();
    assert_eq!(values(DType::I32, &arguments[0]), want);
    assert_eq!(values(DType::I32, &arguments[1]), want);
}

/// A block that adds to an element races with blocks that read or store it.
#[test]
fn sums_race_with_other_blocks() {
    let blocks = |first_block: Vec<Do>, others: Vec<Do>| {
        let mut k = one_after_another(&first_block, true);
        let mut other = one_after_another(&others, true);
        let then = std::mem::take(&mut k.program.body);
        let otherwise = std::mem::take(&mut other.program.body);
        k.push(Stmt::Control(Control::If { cond: lt(block(0), c(1)), then, otherwise }));
        k.grid(3, 1);
        k
    };
    let zeros = || [vector(DType::I32, &[0.0; 64])];
    let check =
        |first: Vec<Do>, others: Vec<Do>, want: Expect| check(&blocks(first, others), &mut zeros(), want);
    check(vec![Do::Add(thread())], vec![Do::Add(c(3))], expect!["no error"]);
    check(
        vec![Do::Add(thread())],
        vec![Do::Read(c(3))],
        expect![[r#"
        reads element 3 ([3]) of `a`, which block [0, 0, 0] updates
          block [1, 0, 0], #0 `copy(a, r)`
    "#]],
    );
    check(
        vec![Do::Read(thread())],
        vec![Do::Read(c(3)), Do::Add(c(3))],
        expect![[r#"
        updates element 3 ([3]) of `a`, which block [0, 0, 0] reads
          block [1, 0, 0], #1 `atomic_add(a, r)`
    "#]],
    );
    check(
        vec![Do::Add(thread())],
        vec![Do::Add(c(3)), Do::Read(c(3))],
        expect![[r#"
            reads element 3 ([3]) of `a`, which block [0, 0, 0] updates
              block [1, 0, 0], #1 `copy(a, r)`
        "#]],
    );
    check(
        vec![Do::Add(thread())],
        vec![Do::Store(c(3), c(0))],
        expect![[r#"
        writes element 3 ([3]) of `a`, which block [0, 0, 0] updates
          block [1, 0, 0], #0 `copy(r, a)`
    "#]],
    );
}
