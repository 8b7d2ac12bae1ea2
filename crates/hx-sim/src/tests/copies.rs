//! Tests asynchronous copies: when they complete, which threads may read them, and what they count.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Expr;
use hx_thread::{Leaf, Memory, RegId, Stmt};

use super::build::*;
use crate::{Config, run};

/// A kernel of 64 threads with tensors `a` and `b`, a shared tensor `s` and registers `r` of 4 elements, all f32.
struct Staged {
    k: Kernel,
    a: Memory,
    b: Memory,
    s: Memory,
    r: RegId,
}

const N: usize = 256;

fn staged() -> Staged {
    let mut k = Kernel::new(64);
    let a = k.input("a", DType::F32, &[N as i64], &[1]);
    let b = k.output("b", DType::F32, &[N as i64], &[1]);
    let s = k.shared("s", DType::F32, N as u32);
    let r = k.registers("r", DType::F32, 4);
    Staged { k, a, b, s, r }
}

impl Staged {
    /// Copies 4 elements in each thread, from `from` to `to` in the shared tensor.
    fn issue(&mut self, from: Expr, to: Expr) {
        let copy = async_copy("cp.async.cg.16", (self.a, from), (self.s, to));
        self.k.op("copy_async(a, s)", vec![Stmt::Leaf(Leaf::AsyncCopy(copy))]);
    }

    fn commit(&mut self) {
        self.k.op("commit()", vec![Stmt::Leaf(Leaf::Commit)]);
    }

    fn wait(&mut self, groups: u32) {
        self.k.op(&format!("wait({groups})"), vec![Stmt::Leaf(Leaf::Wait { groups })]);
    }

    fn sync(&mut self) {
        self.k.push(Stmt::Leaf(Leaf::Barrier));
    }

    fn read(&mut self, from: Expr) {
        self.k.op("copy(s, r)", vec![transfer("ld.shared.v4.b32", first(self.r, 4), self.s, from)]);
    }

    fn write_out(&mut self) {
        let to = thread() * c(4);
        self.k.op("copy(r, b)", vec![transfer("st.global.v4.b32", first(self.r, 4), self.b, to)]);
    }

    fn arguments() -> [crate::Argument; 2] {
        [vector(DType::F32, &counting(N)), vector(DType::F32, &[0.0; N])]
    }

    fn check(&self, want: Expect) {
        want.assert_eq(&self.k.error(&mut Staged::arguments()));
    }

    fn output(&self) -> Vec<f64> {
        let mut arguments = Staged::arguments();
        self.k.run(&mut arguments).unwrap();
        values(DType::F32, &arguments[1])
    }
}

fn own() -> Expr {
    thread() * c(4)
}

/// Returns the position of the mirror thread: thread `t` gets that of thread `63 - t`.
fn other() -> Expr {
    c(252) - own()
}

#[test]
fn a_copy_lands_at_the_wait() {
    let mut p = staged();
    p.issue(own(), own());
    p.commit();
    p.wait(0);
    p.read(own());
    p.write_out();
    assert_eq!(p.output(), counting(N));

    // After a barrier, every thread may read the bytes.
    let mut p = staged();
    p.issue(own(), own());
    p.commit();
    p.wait(0);
    p.sync();
    p.read(other());
    p.write_out();
    let want: Vec<f64> = (0..N).map(|i| (252 - i / 4 * 4 + i % 4) as f64).collect();
    assert_eq!(p.output(), want);
}

#[test]
fn what_was_not_waited_for_may_not_be_touched() {
    let mut p = staged();
    p.issue(own(), own());
    p.commit();
    p.read(own());
    p.check(expect![[r#"
        reads element 0 of the shared tensor `s` before the asynchronous copy into it by thread 0 in #0 `copy_async(a, s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(s, r)`
    "#]]);

    // A barrier alone does not complete the copy.
    let mut p = staged();
    p.issue(own(), own());
    p.commit();
    p.sync();
    p.read(other());
    p.check(expect![[r#"
        reads element 252 of the shared tensor `s` before the asynchronous copy into it by thread 63 in #0 `copy_async(a, s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(s, r)`
    "#]]);

    // A wait does not cover a group that was not committed.
    let mut p = staged();
    p.issue(own(), own());
    p.wait(0);
    p.read(own());
    p.check(expect![[r#"
        reads element 0 of the shared tensor `s` before the asynchronous copy into it by thread 0 in #0 `copy_async(a, s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(s, r)`
    "#]]);

    let mut p = staged();
    let (s, r) = (p.s, p.r);
    p.k.push(fill(first(r, 4), 0));
    p.issue(own(), own());
    p.k.op("copy(r, s)", vec![transfer("st.shared.v4.b32", first(r, 4), s, own())]);
    p.check(expect![[r#"
        writes element 0 of the shared tensor `s` before the asynchronous copy into it by thread 0 in #0 `copy_async(a, s)` was waited for
          thread 0, block [0, 0, 0], #1 `copy(r, s)`
    "#]]);

    let mut p = staged();
    p.issue(own(), own());
    p.issue(own(), other());
    p.check(expect![[r#"
        writes element 252 of the shared tensor `s` before the asynchronous copy into it by thread 63 in #0 `copy_async(a, s)` was waited for
          thread 0, block [0, 0, 0], #1 `copy_async(a, s)`
    "#]]);
}

#[test]
fn a_wait_is_not_a_barrier() {
    let mut p = staged();
    p.issue(own(), own());
    p.commit();
    p.sync();
    p.wait(0);
    p.read(other());
    p.check(expect![[r#"
        reads element 252 of the shared tensor `s`, which thread 63 wrote in #0 `copy_async(a, s)`, with no barrier in between
          thread 0, block [0, 0, 0], #3 `copy(s, r)`
    "#]]);
}

/// Builds a copy from `b`, which the kernel writes, to shared memory, followed by `between` and a store to `b` at `to`.
fn overwritten_source(to: Expr, between: impl Fn(&mut Staged)) -> Staged {
    let mut p = staged();
    let (b, s, r) = (p.b, p.s, p.r);
    p.k.push(fill(first(r, 4), 1));
    p.k.op(
        "copy_async(b, s)",
        vec![Stmt::Leaf(Leaf::AsyncCopy(async_copy("cp.async.cg.16", (b, own()), (s, own()))))],
    );
    between(&mut p);
    p.k.op("copy(r, b)", vec![transfer("st.global.v4.b32", first(r, 4), b, to)]);
    p
}

#[test]
fn the_source_stays_until_the_wait() {
    overwritten_source(own(), |p| p.commit()).check(expect![[r#"
        writes element 0 ([0]) of `b` before the asynchronous copy from it by thread 0 in #0 `copy_async(b, s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(r, b)`
    "#]]);
    // Neither a barrier nor a wait for an earlier group completes the copy.
    overwritten_source(other(), |p| {
        p.commit();
        p.sync();
    })
    .check(expect![[r#"
        writes element 252 ([252]) of `b` before the asynchronous copy from it by thread 63 in #0 `copy_async(b, s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(r, b)`
    "#]]);
    overwritten_source(own(), |p| p.wait(0)).check(expect![[r#"
        writes element 0 ([0]) of `b` before the asynchronous copy from it by thread 0 in #0 `copy_async(b, s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(r, b)`
    "#]]);
    let two_groups = |left: u32| {
        overwritten_source(own(), move |p| {
            p.commit();
            p.commit();
            p.wait(left);
        })
    };
    two_groups(2).check(expect![[r#"
        writes element 0 ([0]) of `b` before the asynchronous copy from it by thread 0 in #0 `copy_async(b, s)` was waited for
          thread 0, block [0, 0, 0], #4 `copy(r, b)`
    "#]]);
    two_groups(1).check(expect!["no error"]);
    // After the wait, the copy counts as a read of the thread that issued it.
    let waited = |to: Expr, barrier: bool| {
        overwritten_source(to, move |p| {
            p.commit();
            p.wait(0);
            if barrier {
                p.sync();
            }
        })
    };
    waited(own(), false).check(expect!["no error"]);
    waited(other(), false).check(expect![[r#"
        writes element 252 ([252]) of `b`, which thread 63 read in #0 `copy_async(b, s)`, with no barrier in between
          thread 0, block [0, 0, 0], #3 `copy(r, b)`
    "#]]);
    waited(other(), true).check(expect!["no error"]);
}

#[test]
fn a_stage_is_refilled_after_all_have_read_it() {
    let refill = |barrier: bool| {
        let mut p = staged();
        p.issue(own(), own());
        p.commit();
        p.wait(0);
        p.sync();
        p.read(other());
        if barrier {
            p.sync();
        }
        p.issue(own(), own());
        p.commit();
        p.wait(0);
        p
    };
    refill(true).check(expect!["no error"]);
    refill(false).check(expect![[r#"
        writes element 0 of the shared tensor `s`, which thread 63 read in #3 `copy(s, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #4 `copy_async(a, s)`
    "#]]);
}

/// Fills the two halves of the shared tensor, one group of copies each. Then waits until at most `left` groups are in flight, and
/// synchronizes the block.
fn two_groups(left: u32) -> Staged {
    let mut p = staged();
    let (a, s) = (p.a, p.s);
    for half in 0..2 {
        let place = || thread() * c(2) + c(128 * half);
        let copy = async_copy("cp.async.ca.8", (a, place()), (s, place()));
        p.k.op("copy_async(a, s)", vec![Stmt::Leaf(Leaf::AsyncCopy(copy))]);
        p.commit();
    }
    p.wait(left);
    p.sync();
    p
}

#[test]
fn groups_land_in_order() {
    let read_half = |left: u32, half: i64| {
        let mut p = two_groups(left);
        let (s, r) = (p.s, p.r);
        let load = transfer("ld.shared.v2.b32", first(r, 2), s, c(126 + 128 * half) - thread() * c(2));
        p.k.op("copy(s, r)", vec![load]);
        p
    };
    read_half(1, 0).check(expect!["no error"]);
    read_half(0, 1).check(expect!["no error"]);
    read_half(1, 1).check(expect![[r#"
        reads element 254 of the shared tensor `s` before the asynchronous copy into it by thread 63 in #2 `copy_async(a, s)` was waited for
          thread 0, block [0, 0, 0], #5 `copy(s, r)`
    "#]]);
    // Empty groups count as groups.
    let mut p = two_groups(2);
    p.commit();
    p.commit();
    p.wait(2);
    p.sync();
    p.read(own());
    p.check(expect!["no error"]);
}

#[test]
fn copies_that_nobody_waits_for_are_counted() {
    let report = two_groups(1).k.run(&mut Staged::arguments()).unwrap();
    let unwaited: Vec<u64> = report.ops.values().map(|c| c.unwaited).collect();
    assert_eq!(unwaited, [0, 0, 64, 0, 0]);
    let p = two_groups(1);
    expect![[r##"
        op  instructions   bytes  redundant  sectors  ideal  wavefronts  ideal  operation
        #0             2   512 B                  16     16           4      4  copy_async(a, s)
        #1             2                                                        commit()
        #2             2   512 B                  16     16           4      4  copy_async(a, s)
        #3             2                                                        commit()
        #4             2                                                        wait(1)
                      10  1024 B                  32     32           8      8  in all
        1 block of 64 threads, 1 barrier
        #2: 64 asynchronous copies of threads were never waited for
    "##]]
    .assert_eq(&report.table(&p.k.program));
}

#[test]
fn outside_is_zero_and_the_inactive_do_nothing() {
    let mut p = staged();
    let (a, s) = (p.a, p.s);
    // The source address is out of bounds for threads that are not inside, the destination for threads that are not active.
    let far = |limit: i64| div(thread(), limit) * c(100_000);
    let mut copy = async_copy("cp.async.cg.16", (a, own() + far(40)), (s, own() + far(50)));
    copy.inside = lt(thread(), c(40));
    copy.active = lt(thread(), c(50));
    p.k.op("copy_async(a, s)", vec![Stmt::Leaf(Leaf::AsyncCopy(copy))]);
    p.commit();
    p.wait(0);
    let (r, b) = (p.r, p.b);
    let active = lt(thread(), c(50));
    p.k.push(guarded("ld.shared.v4.b32", first(r, 4), s, own(), active, DType::F32.encode(-1.0)));
    p.k.push(transfer("st.global.v4.b32", first(r, 4), b, own()));
    let mut arguments = Staged::arguments();
    let report = p.k.run(&mut arguments).unwrap();
    let want: Vec<f64> = (0..N)
        .map(|i| [i as f64, 0.0, -1.0][[i < 160, i < 200, true].iter().position(|x| *x).unwrap()])
        .collect();
    assert_eq!(values(DType::F32, &arguments[1]), want);
    let counts = report.ops.values().next().unwrap();
    assert_eq!((counts.instructions, counts.bytes, counts.requests), (2, 640, 2));
    assert_eq!((counts.sectors, counts.ideal_sectors), (20, 20));
    // The first warp takes four phases of 8 lanes; the 18 active lanes of the second take three.
    assert_eq!((counts.wavefronts, counts.ideal_wavefronts), (7, 7));
}

#[test]
fn conflicts_and_sectors_are_counted() {
    let mut p = staged();
    let (a, s) = (p.a, p.s);
    // Addresses lie 4 elements apart in source and destination.
    let place = || rem(thread(), 64) * c(4);
    let copy = async_copy("cp.async.ca.4", (a, place()), (s, place()));
    p.k.op("copy_async(a, s)", vec![Stmt::Leaf(Leaf::AsyncCopy(copy))]);
    let report = p.k.run(&mut Staged::arguments()).unwrap();
    let counts = report.ops.values().next().unwrap();
    assert_eq!((counts.sectors, counts.ideal_sectors), (32, 8));
    assert_eq!((counts.wavefronts, counts.ideal_wavefronts), (8, 2));
}

#[test]
fn addresses_of_both_sides_are_checked() {
    let mut p = staged();
    p.issue(own() + c(4), own());
    p.check(expect![[r#"
        reads element 256 ([256]) of `a`, whose shape is [256] : [1]
          thread 63, block [0, 0, 0], #0 `copy_async(a, s)`
    "#]]);
    let mut p = staged();
    p.issue(own(), own() + c(4));
    p.check(expect![[r#"
        writes element 256 of `s`, which has 256 elements in shared memory
          thread 63, block [0, 0, 0], #0 `copy_async(a, s)`
    "#]]);
    let mut p = staged();
    p.issue(own(), thread());
    p.check(expect![[r#"
        writes element 1 of `s` at address 4, which is not a multiple of the 16 bytes of the access
          thread 1, block [0, 0, 0], #0 `copy_async(a, s)`
    "#]]);
    let mut p = staged();
    p.issue(thread(), own());
    p.check(expect![[r#"
        reads element 1 of `a` at address 260, which is not a multiple of the 16 bytes of the access
          thread 1, block [0, 0, 0], #0 `copy_async(a, s)`
    "#]]);
}

#[test]
fn malformed_copies() {
    let wrong = |row: &str, swap: bool, want: Expect| {
        let mut p = staged();
        let (mut from, mut to) = ((p.a, own()), (p.s, own()));
        if swap {
            std::mem::swap(&mut from, &mut to);
        }
        p.k.op("copy_async(a, s)", vec![Stmt::Leaf(Leaf::AsyncCopy(async_copy(row, from, to)))]);
        p.check(want);
    };
    wrong(
        "ld.global.b32",
        false,
        expect![[r#"
        `ld.global.b32` moves registers, not from memory to memory
          #0 `copy_async(a, s)`
    "#]],
    );
    wrong(
        "cp.async.cg.16",
        true,
        expect![[r#"
        `cp.async.cg.16` copies from a global to a shared tensor
          #0 `copy_async(a, s)`
    "#]],
    );
    let mut p = staged();
    let h = p.k.shared("h", DType::F16, 256);
    let copy = async_copy("cp.async.cg.16", (p.a, own()), (h, own()));
    p.k.op("copy_async(a, h)", vec![Stmt::Leaf(Leaf::AsyncCopy(copy))]);
    p.check(expect![[r#"
        `cp.async.cg.16` copies elements of f32 to a tensor of f16
          #0 `copy_async(a, h)`
    "#]]);
    let mut p = staged();
    let (a, r) = (p.a, p.r);
    p.k.op("copy(a, r)", vec![transfer("cp.async.cg.16", first(r, 4), a, own())]);
    p.check(expect![[r#"
        `cp.async.cg.16` does not move registers
          #0 `copy(a, r)`
    "#]]);
}

/// Builds a pipelined kernel over a ring of stages: tile `i` of `tiles` goes to stage `i % stages`, in a group of its own.
fn pipeline(tiles: i64, stages: i64, left: u32) -> (Kernel, Vec<f64>) {
    let mut k = Kernel::new(32);
    let len = tiles * 128;
    let a = k.input("a", DType::F32, &[len], &[1]);
    let b = k.output("b", DType::F32, &[len], &[1]);
    let s = k.shared("s", DType::F32, (stages * 128) as u32);
    let r = k.registers("r", DType::F32, 4);
    let lane = || thread() * c(4);
    let issue = |tile: Expr| {
        let stage = rem(tile.clone(), stages) * c(128);
        let mut copy = async_copy("cp.async.cg.16", (a, tile.clone() * c(128) + lane()), (s, stage + lane()));
        copy.active = lt(tile, c(tiles));
        Stmt::Leaf(Leaf::AsyncCopy(copy))
    };
    let prologue = k.group("copy_async(a[0..], s)", vec![issue(var("p")), Stmt::Leaf(Leaf::Commit)]);
    k.push(repeat("p", c(stages - 1), false, vec![prologue]));
    let body = vec![
        Stmt::Leaf(Leaf::Wait { groups: left }),
        Stmt::Leaf(Leaf::Barrier),
        k.group("copy_async(a, s)", vec![issue(var("i") + c(stages - 1)), Stmt::Leaf(Leaf::Commit)]),
        k.group(
            "copy(s, r)",
            vec![transfer(
                "ld.shared.v4.b32",
                first(r, 4),
                s,
                rem(var("i"), stages) * c(128) + c(124) - lane(),
            )],
        ),
        k.group("copy(r, b)", vec![transfer("st.global.v4.b32", first(r, 4), b, var("i") * c(128) + lane())]),
    ];
    k.push(repeat("i", c(tiles), false, body));
    let want = (0..len).map(|i| (i / 128 * 128 + 124 - i % 128 / 4 * 4 + i % 4) as f64).collect();
    (k, want)
}

#[test]
fn a_ring_of_stages() {
    for (tiles, stages) in [(9, 2), (9, 3), (4, 4), (2, 4)] {
        let (k, want) = pipeline(tiles, stages, stages as u32 - 2);
        let len = want.len();
        let mut arguments = [vector(DType::F32, &counting(len)), vector(DType::F32, &vec![0.0; len])];
        let report = k.run(&mut arguments).unwrap();
        assert_eq!(values(DType::F32, &arguments[1]), want, "{tiles} tiles, {stages} stages");
        assert!(report.ops.values().all(|c| c.unwaited == 0));
    }
    // The wait leaves one group too many in flight.
    let (k, want) = pipeline(9, 3, 2);
    let zeros = vec![0.0; want.len()];
    let mut arguments = [vector(DType::F32, &counting(want.len())), vector(DType::F32, &zeros)];
    expect![[r#"
        reads element 124 of the shared tensor `s` before the asynchronous copy into it by thread 31 in #0 `copy_async(a[0..], s)` was waited for
          thread 0, block [0, 0, 0], #2 `copy(s, r)`
    "#]]
    .assert_eq(&k.error(&mut arguments));
}

#[test]
fn copies_in_flight_are_found_without_the_check_of_races() {
    let config = Config { check_races: false, ..Config::default() };
    let mut p = staged();
    p.issue(own(), own());
    p.read(own());
    assert!(run(&p.k.program, &Default::default(), &mut Staged::arguments(), &config).is_err());
}
