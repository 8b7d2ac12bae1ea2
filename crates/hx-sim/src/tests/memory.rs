//! Tests copies, guards, padding, and the errors of memory accesses.

use expect_test::{Expect, expect};
use hx_dtype::DType;
use hx_index::Facts;
use hx_thread::{Control, Leaf, Stmt};

use super::build::*;
use crate::{Argument, Config, Fault, run};

fn check(kernel: &Kernel, arguments: &mut [Argument], want: Expect) {
    want.assert_eq(&kernel.error(arguments));
}

/// Builds a copy of `a` to `b`, eight elements a thread, over two blocks.
fn vector_copy(len: i64, pad: u64) -> Kernel {
    let mut k = Kernel::new(64);
    k.grid(2, 1);
    let a = k.input("a", DType::F16, &[len], &[1]);
    let b = k.output("b", DType::F16, &[len], &[1]);
    let r = k.registers("r", DType::F16, 8);
    let offset = (block(0) * c(64) + thread()) * c(8);
    let guard = lt(offset.clone() + c(7), c(len));
    let load = guarded("ld.global.v4.b32", first(r, 8), a, offset.clone(), guard.clone(), pad);
    k.op("copy(a, r)", vec![load]);
    k.op("copy(r, b)", vec![guarded("st.global.v4.b32", first(r, 8), b, offset, guard, 0)]);
    k
}

#[test]
fn a_vector_copy_moves_every_element_and_counts() {
    let mut arguments = [vector(DType::F16, &counting(1024)), vector(DType::F16, &[0.0; 1024])];
    let report = vector_copy(1024, 0).run(&mut arguments).unwrap();
    assert_eq!(values(DType::F16, &arguments[1]), counting(1024));
    expect![[r#"
        Report {
            ops: {
                OpId(
                    0,
                ): Counters {
                    instructions: 4,
                    bytes: 2048,
                    redundant_bytes: 0,
                    requests: 4,
                    sectors: 64,
                    ideal_sectors: 64,
                    wavefronts: 0,
                    ideal_wavefronts: 0,
                    unwaited: 0,
                    written: Written {
                        requests: 0,
                        sectors: 0,
                        wavefronts: 0,
                        ideal_wavefronts: 0,
                    },
                },
                OpId(
                    1,
                ): Counters {
                    instructions: 4,
                    bytes: 2048,
                    redundant_bytes: 0,
                    requests: 4,
                    sectors: 64,
                    ideal_sectors: 64,
                    wavefronts: 0,
                    ideal_wavefronts: 0,
                    unwaited: 0,
                    written: Written {
                        requests: 4,
                        sectors: 64,
                        wavefronts: 0,
                        ideal_wavefronts: 0,
                    },
                },
            },
            other: Counters {
                instructions: 0,
                bytes: 0,
                redundant_bytes: 0,
                requests: 0,
                sectors: 0,
                ideal_sectors: 0,
                wavefronts: 0,
                ideal_wavefronts: 0,
                unwaited: 0,
                written: Written {
                    requests: 0,
                    sectors: 0,
                    wavefronts: 0,
                    ideal_wavefronts: 0,
                },
            },
            blocks: 2,
            barriers: 0,
            witness: None,
            old: [],
        }
    "#]]
    .assert_debug_eq(&report);
}

#[test]
fn a_ragged_guard_leaves_the_rest_alone() {
    let mut arguments = [vector(DType::F16, &counting(600)), vector(DType::F16, &[-1.0; 600])];
    let report = vector_copy(600, 0).run(&mut arguments).unwrap();
    assert_eq!(values(DType::F16, &arguments[1]), counting(600));
    // 75 threads of 128 take part: all of the first block, and 11 of one warp in the second.
    let load = report.ops.values().next().unwrap();
    assert_eq!((load.instructions, load.bytes, load.sectors), (3, 1200, 38));
}

#[test]
fn a_guarded_load_gives_the_padding() {
    let mut k = Kernel::new(32);
    let a = k.input("a", DType::F32, &[20], &[1]);
    let b = k.output("b", DType::F32, &[32], &[1]);
    let r = k.registers("r", DType::F32, 1);
    let pad = DType::F32.encode(-7.0);
    k.push(guarded("ld.global.b32", first(r, 1), a, thread(), lt(thread(), c(20)), pad));
    k.push(transfer("st.global.b32", first(r, 1), b, thread()));
    let mut arguments = [vector(DType::F32, &counting(20)), vector(DType::F32, &[0.0; 32])];
    k.run(&mut arguments).unwrap();
    let want: Vec<f64> = (0..32).map(|i| if i < 20 { f64::from(i) } else { -7.0 }).collect();
    assert_eq!(values(DType::F32, &arguments[1]), want);
}

/// Builds a 32 x 32 transpose of f32 through shared memory, one warp a row.
fn transpose(barrier: bool) -> Kernel {
    let mut k = Kernel::new(128);
    let a = k.input("a", DType::F32, &[32, 32], &[32, 1]);
    let b = k.output("b", DType::F32, &[32, 32], &[32, 1]);
    let s = k.shared("s", DType::F32, 32 * 32);
    let r = k.registers("r", DType::F32, 8);
    let (lane, warp) = (rem(thread(), 32), div(thread(), 32));
    let row = var("i") * c(4) + warp;
    let (straight, crossed) = (row.clone() * c(32) + lane.clone(), lane * c(32) + row);
    let held = || at(r, var("i"), 1);
    let down = vec![
        transfer("ld.global.b32", held(), a, straight.clone()),
        transfer("st.shared.b32", held(), s, straight.clone()),
    ];
    k.op("copy(a, s)", vec![repeat("i", c(8), true, down)]);
    if barrier {
        k.push(Stmt::Leaf(Leaf::Barrier));
    }
    let up =
        vec![transfer("ld.shared.b32", held(), s, crossed), transfer("st.global.b32", held(), b, straight)];
    k.op("copy(s.T, b)", vec![repeat("i", c(8), true, up)]);
    k
}

#[test]
fn a_transpose_through_shared_memory() {
    let mut arguments = [
        tensor(DType::F32, &[32, 32], &[32, 1], &counting(1024)),
        tensor(DType::F32, &[32, 32], &[32, 1], &[0.0; 1024]),
    ];
    let report = transpose(true).run(&mut arguments).unwrap();
    let want: Vec<f64> = (0..1024).map(|i| f64::from(i % 32 * 32 + i / 32)).collect();
    assert_eq!(values(DType::F32, &arguments[1]), want);
    let counts: Vec<_> = report.ops.values().map(|c| (c.wavefronts, c.ideal_wavefronts)).collect();
    assert_eq!(counts, [(32, 32), (1024, 32)]);
    assert_eq!(report.barriers, 1);
}

#[test]
fn a_missing_barrier_is_a_race() {
    let t = || tensor(DType::F32, &[32, 32], &[32, 1], &counting(1024));
    check(
        &transpose(false),
        &mut [t(), t()],
        expect![[r#"
        reads element 32 of the shared tensor `s`, which thread 32 wrote in #0 `copy(a, s)`, with no barrier in between
          thread 1, block [0, 0, 0], #1 `copy(s.T, b)`
    "#]],
    );
}

/// A barrier of warps orders the accesses of one warp's threads only.
#[test]
fn a_barrier_of_warps_parts_no_warps() {
    let handed = |distance: i64| {
        let mut k = Kernel::new(64);
        let s = k.shared("s", DType::F32, 64);
        let r = k.registers("r", DType::F32, 1);
        let from = (thread() + c(distance)).rem(&c(64), &Facts::default());
        k.op("copy(r, s)", vec![fill(first(r, 1), 0), transfer("st.shared.b32", first(r, 1), s, thread())]);
        k.push(Stmt::Leaf(Leaf::WarpBarrier));
        k.op("copy(s, r)", vec![transfer("ld.shared.b32", first(r, 1), s, from)]);
        k
    };
    check(&handed(0), &mut [], expect!["no error"]);
    check(
        &handed(1),
        &mut [],
        expect![[r#"
        reads element 32 of the shared tensor `s`, which thread 32 wrote in #0 `copy(r, s)`, with no barrier in between
          thread 31, block [0, 0, 0], #1 `copy(s, r)`
    "#]],
    );
}

#[test]
fn lanes_that_exchange_count_as_all_lanes() {
    // Every lane wrote the row that it addresses, but other lanes read the row.
    let mut k = Kernel::new(32);
    let s = k.shared("s", DType::F16, 256);
    let r = k.registers("r", DType::F16, 8);
    k.push(fill(first(r, 8), 0));
    k.op("copy(r, s)", vec![transfer("st.shared.v4.b32", first(r, 8), s, thread() * c(8))]);
    k.op("copy(s, r)", vec![transfer("ldmatrix.x4", first(r, 8), s, thread() * c(8))]);
    check(
        &k,
        &mut [],
        expect![[r#"
        reads for its whole warp element 0 of the shared tensor `s`, which thread 0 wrote in #0 `copy(r, s)`, with no barrier in between
          thread 0, block [0, 0, 0], #1 `copy(s, r)`
    "#]],
    );
    k.program.body.insert(2, Stmt::Leaf(Leaf::Barrier));
    k.op("copy(r, s)", vec![transfer("st.shared.v4.b32", first(r, 8), s, thread() * c(8))]);
    check(
        &k,
        &mut [],
        expect![[r#"
        writes element 0 of the shared tensor `s`, which thread 0 read for its whole warp in #1 `copy(s, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #2 `copy(r, s)`
    "#]],
    );
    // A read by the thread alone does not hide that the other lanes read.
    let alone = vec![transfer("ld.shared.v4.b32", first(r, 8), s, thread() * c(8))];
    let alone = k.group("load(s)", alone);
    k.program.body.insert(3, alone);
    check(
        &k,
        &mut [],
        expect![[r#"
        writes element 0 of the shared tensor `s`, which thread 0 read for its whole warp in #1 `copy(s, r)`, with no barrier in between
          thread 0, block [0, 0, 0], #2 `copy(r, s)`
    "#]],
    );
}

#[test]
fn reads_of_what_was_never_written() {
    let mut k = Kernel::new(32);
    let s = k.shared("s", DType::F16, 64);
    let r = k.registers("r", DType::F16, 2);
    k.op("fill(r, 0)", vec![fill(first(r, 1), 0)]);
    k.op("copy(r, s)", vec![transfer("st.shared.b16", first(r, 1), s, thread() * c(2))]);
    k.op("copy(s, r)", vec![transfer("ld.shared.b32", first(r, 2), s, thread() * c(2))]);
    check(
        &k,
        &mut [],
        expect![[r#"
        reads byte 2 (element 1) of the shared tensor `s`, which was never written
          thread 0, block [0, 0, 0], #2 `copy(s, r)`
    "#]],
    );

    let mut k = Kernel::new(32);
    let b = k.output("b", DType::F16, &[64], &[1]);
    let r = k.registers("r", DType::F16, 2);
    k.push(fill(first(r, 1), 0));
    k.op("copy(r, b)", vec![transfer("st.global.b32", first(r, 2), b, thread() * c(2))]);
    check(
        &k,
        &mut [vector(DType::F16, &[0.0; 64])],
        expect![[r#"
            reads element 1 of the registers `r`, which was never written
              block [0, 0, 0], #0 `copy(r, b)`
        "#]],
    );
}

#[test]
fn a_buffer_does_not_inherit_what_another_left() {
    let mut k = Kernel::new(32);
    let s = k.shared("s", DType::F16, 32);
    let t = k.shared("t", DType::F16, 32);
    k.program.shared[1].offset = 0;
    let r = k.registers("r", DType::F16, 1);
    k.push(fill(first(r, 1), 0));
    k.push(transfer("st.shared.b16", first(r, 1), s, thread()));
    k.push(Stmt::Leaf(Leaf::Barrier));
    k.op("copy(t, r)", vec![transfer("ld.shared.b16", first(r, 1), t, thread())]);
    check(
        &k,
        &mut [],
        expect![[r#"
        reads byte 0 (element 0) of the shared tensor `t`, which was never written
          thread 0, block [0, 0, 0], #0 `copy(t, r)`
    "#]],
    );
}

/// Builds a 16-byte load of `f16` elements from `offset` on, from a tensor with that alignment.
fn wide_load(
    shape: &[i64],
    stride: &[i64],
    len: usize,
    offset: hx_index::Expr,
    base_align: u32,
    want: Expect,
) {
    let mut k = Kernel::new(4);
    let a = k.input("a", DType::F16, shape, stride);
    let r = k.registers("r", DType::F16, 8);
    k.op("copy(a, r)", vec![transfer("ld.global.v4.b32", first(r, 8), a, offset)]);
    let mut a = tensor(DType::F16, shape, stride, &counting(len));
    if let Argument::Tensor { base_align: align, .. } = &mut a {
        *align = base_align;
    }
    check(&k, &mut [a], want);
}

#[test]
fn alignment_and_bounds() {
    wide_load(&[64], &[1], 64, thread() * c(8), 16, expect!["no error"]);
    wide_load(
        &[64],
        &[1],
        64,
        thread() * c(4),
        16,
        expect![[r#"
            reads element 4 of `a` at address 24, which is not a multiple of the 16 bytes of the access
              thread 1, block [0, 0, 0], #0 `copy(a, r)`
        "#]],
    );
    wide_load(
        &[64],
        &[1],
        64,
        thread() * c(8),
        8,
        expect![[r#"
            reads element 0 of `a` at address 8, which is not a multiple of the 16 bytes of the access
              thread 0, block [0, 0, 0], #0 `copy(a, r)`
        "#]],
    );
    wide_load(
        &[4, 10],
        &[10, 1],
        40,
        thread() * c(16),
        16,
        expect![[r#"
        reads element 48 ([4, 8]) of `a`, whose shape is [4, 10] : [10, 1]
          thread 3, block [0, 0, 0], #0 `copy(a, r)`
    "#]],
    );
    wide_load(
        &[4, 10],
        &[16, 1],
        64,
        thread() * c(8),
        16,
        expect![[r#"
        reads element 10 ([0, 10]) of `a`, whose shape is [4, 10] : [16, 1]
          thread 1, block [0, 0, 0], #0 `copy(a, r)`
    "#]],
    );
    wide_load(
        &[64],
        &[1],
        64,
        thread() * c(8) - c(8),
        16,
        expect![[r#"
        reads element -8 of `a`, whose shape is [64] : [1]
          thread 0, block [0, 0, 0], #0 `copy(a, r)`
    "#]],
    );
    wide_load(&[64], &[1], 60, thread() * c(8), 16, expect!["`a` has 120 bytes, too few for f16[64] : [1]"]);
}

#[test]
fn shared_memory_has_bounds_and_alignment() {
    let mut k = Kernel::new(32);
    let s = k.shared("s", DType::F32, 16);
    let r = k.registers("r", DType::F32, 2);
    k.push(fill(first(r, 2), 0));
    k.op("copy(r, s)", vec![transfer("st.shared.b32", first(r, 1), s, thread())]);
    check(
        &k,
        &mut [],
        expect![[r#"
        writes element 16 of `s`, which has 16 elements in shared memory
          thread 16, block [0, 0, 0], #0 `copy(r, s)`
    "#]],
    );
    k.program.body.pop();
    k.op("copy(r, s)", vec![transfer("st.shared.v2.b32", first(r, 2), s, rem(thread(), 4))]);
    check(
        &k,
        &mut [],
        expect![[r#"
            writes element 1 of `s` at address 4, which is not a multiple of the 8 bytes of the access
              thread 1, block [0, 0, 0], #1 `copy(r, s)`
        "#]],
    );
}

/// Builds a kernel in which each block reads element `read` and writes its own value to element `write` of `a`.
fn between_blocks(read: Option<hx_index::Expr>, write: hx_index::Expr, bits: u64) -> Kernel {
    let mut k = Kernel::new(1);
    k.grid(2, 2);
    let a = k.output("a", DType::U32, &[2, 8], &[8, 1]);
    let r = k.registers("r", DType::U32, 1);
    if let Some(read) = read {
        k.op("copy(a, r)", vec![transfer("ld.global.b32", first(r, 1), a, read)]);
    }
    // The blocks write `bits` or 1, by their index along x.
    let set = |bits| vec![fill(first(r, 1), bits)];
    let cond = lt(block(0), c(1));
    k.push(Stmt::Control(Control::If { cond, then: set(bits), otherwise: set(1) }));
    k.op("copy(r, a)", vec![transfer("st.global.b32", first(r, 1), a, write)]);
    k
}

#[test]
fn blocks_that_disagree_race() {
    let arguments = || [tensor(DType::U32, &[2, 8], &[8, 1], &[1.0; 16])];
    check(
        &between_blocks(None, block(1) * c(8) + c(3), 0),
        &mut arguments(),
        expect![[r#"
            writes element 3 ([0, 3]) of `a`, which block [0, 0, 0] writes
              block [1, 0, 0], #0 `copy(r, a)`
        "#]],
    );
    check(&between_blocks(None, block(1) * c(8) + c(3), 1), &mut arguments(), expect!["no error"]);
    check(
        &between_blocks(Some(c(5)), block(0) * c(2) + block(1) + c(5), 0),
        &mut arguments(),
        expect![[r#"
            reads element 5 ([0, 5]) of `a`, which block [0, 0, 0] changes
              block [1, 0, 0], #0 `copy(a, r)`
        "#]],
    );
    check(
        &between_blocks(Some(c(0)), block(0) * c(2) + block(1) + c(5), 0),
        &mut arguments(),
        expect!["no error"],
    );
}

#[test]
fn without_the_check_the_last_block_wins() {
    let config = Config { check_races: false, ..Config::default() };
    let program = between_blocks(None, block(1) * c(8) + c(3), 0).program;
    let mut arguments = [tensor(DType::U32, &[2, 8], &[8, 1], &[5.0; 16])];
    run(&program, &Default::default(), &mut arguments, &config).unwrap();
    let found = values(DType::U32, &arguments[0]);
    assert_eq!((found[3], found[11], found[4]), (1.0, 1.0, 5.0));
    let t = || tensor(DType::F32, &[32, 32], &[32, 1], &counting(1024));
    let mut arguments = [t(), t()];
    assert!(run(&transpose(false).program, &Default::default(), &mut arguments, &config).is_ok());
}

#[test]
fn the_first_block_in_order_reports() {
    // Blocks from 300 on read out of bounds. Earlier batches have run and written by then.
    let mut k = Kernel::new(1);
    k.grid(1000, 1);
    let a = k.input("a", DType::U32, &[300], &[1]);
    let b = k.output("b", DType::U32, &[1000], &[1]);
    let r = k.registers("r", DType::U32, 1);
    k.op("copy(a, r)", vec![transfer("ld.global.b32", first(r, 1), a, block(0))]);
    k.op("copy(r, b)", vec![transfer("st.global.b32", first(r, 1), b, block(0))]);
    let mut arguments = [vector(DType::U32, &counting(300)), vector(DType::U32, &[0.0; 1000])];
    let before = arguments.clone();
    let text = k.error(&mut arguments);
    assert_eq!(values(DType::U32, &arguments[1])[255], 255.0);
    for _ in 0..4 {
        let mut again = before.clone();
        assert_eq!(k.error(&mut again), text);
        assert_eq!(again, arguments);
    }
    expect![[r#"
        reads element 300 ([300]) of `a`, whose shape is [300] : [1]
          thread 0, block [300, 0, 0], #0 `copy(a, r)`
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_block_sees_its_own_writes() {
    let mut k = Kernel::new(32);
    let a = k.output("a", DType::F32, &[32], &[1]);
    let r = k.registers("r", DType::F32, 1);
    let one = DType::F32.encode(1.0);
    k.push(fill(first(r, 1), one));
    k.push(transfer("st.global.b32", first(r, 1), a, thread()));
    k.push(fill(first(r, 1), 0));
    k.push(Stmt::Leaf(Leaf::Barrier));
    k.push(transfer("ld.global.b32", first(r, 1), a, c(31) - thread()));
    k.push(multiply("fma.f32", first(r, 1), first(r, 1), first(r, 1)));
    k.push(transfer("st.global.b32", first(r, 1), a, c(31) - thread()));
    let mut arguments = [vector(DType::F32, &[0.0; 32])];
    k.run(&mut arguments).unwrap();
    assert_eq!(values(DType::F32, &arguments[0]), [2.0; 32]);
}

#[test]
fn an_empty_grid_runs_nothing() {
    let mut k = vector_copy(1024, 0);
    k.grid(0, 4);
    let mut arguments = [vector(DType::F16, &counting(1024)), vector(DType::F16, &[5.0; 1024])];
    assert_eq!(k.run(&mut arguments).unwrap().blocks, 0);
    assert_eq!(values(DType::F16, &arguments[1]), [5.0; 1024]);
}

#[test]
fn a_cancelled_run_gives_the_arguments_back() {
    let mut arguments = [vector(DType::F16, &counting(1024)), vector(DType::F16, &[5.0; 1024])];
    let before = arguments.clone();
    let program = vector_copy(1024, 0).program;
    let config = Config { cancel: &|| true, ..Config::default() };
    let error = run(&program, &Default::default(), &mut arguments, &config).unwrap_err();
    assert_eq!(error.fault, Fault::Cancelled);
    assert_eq!(arguments, before);
}

#[test]
fn elements_narrower_than_a_byte() {
    let mut k = Kernel::new(8);
    let a = k.input("a", DType::U4, &[64], &[1]);
    let b = k.output("b", DType::U4, &[64], &[1]);
    let r = k.registers("r", DType::U4, 8);
    k.push(transfer("ld.global.b32", first(r, 8), a, thread() * c(8)));
    k.push(transfer("st.global.b32", first(r, 8), b, c(56) - thread() * c(8)));
    let numbers: Vec<f64> = (0..64).map(|i| f64::from(i % 16)).collect();
    let mut arguments = [vector(DType::U4, &numbers), vector(DType::U4, &[0.0; 64])];
    k.run(&mut arguments).unwrap();
    let want: Vec<f64> = (0..64).map(|i| numbers[(7 - i / 8) * 8 + i % 8]).collect();
    assert_eq!(values(DType::U4, &arguments[1]), want);
    k.push(transfer("ld.global.b8", first(r, 2), hx_thread::Memory::Global(0), thread()));
    check(
        &k,
        &mut arguments,
        expect![[r#"
            reads element 1 of `a` at address 256 and bit 4, which is not a multiple of the 1 bytes of the access
              thread 1, block [0, 0, 0]
        "#]],
    );
}
