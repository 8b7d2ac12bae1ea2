//! Estimates: which resource bounds the loop of a kernel with roles.

use expect_test::{Expect, expect};
use hx_hir::file_items;
use hx_index::Symbol;
use hx_target::{Space, Target};
use hx_tile::Choice;

use crate::{Known, default_instance, estimate_as_text, forecast_of_launch, test_db::TestDb};

fn check(text: &str, expected: Expect) {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
    let found = super::super::solved(&db, instance).as_ref();
    assert!(found.is_ok(), "{found:?}");
    expected.assert_eq(&estimate_as_text(&db, instance).unwrap_or_default());
}

/// Returns a product of tiles of `m` by `n`, whose stages have 64 columns.
fn product(m: u32, n: u32, wait: &str) -> String {
    let groups = m / 64;
    format!(
        "kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [cdiv(m, {m}), cdiv(n, {n})] {{
    let [bm, bn] = block_idx;
    let (sa, sb) = (shared_tensor(f16, [{m}, 64, 4]), shared_tensor(f16, [{n}, 64, 4]));
    let pipe = pipeline(4);
    warp_groups {{
        producer {{
            for ki in 0..k / 64 {{
                let s = pipe.acquire();
                copy_async(tile(a, [{m}, 64])[.., .., bm, ki], sa[.., .., s], signal: pipe);
                copy_async(tile(b, [{n}, 64])[.., .., bn, ki], sb[.., .., s], signal: pipe);
            }}
        }}
        consumer {groups} {{
            let acc = register_tensor(f32, [{m}, {n}]);
            fill(acc, 0.0);
            for ki in 0..k / 64 {{
                let s = pipe.wait();
                gemm_async(acc, sa[.., .., s], sb[.., .., s]);
                {wait}
            }}
            gemm_wait(0);
            pipe.release();
            copy(acc, tile(c, [{m}, {n}])[.., .., bm, bn]);
        }}
    }}
}}
"
    )
}

const ONE_IN_FLIGHT: &str = "gemm_wait(1); pipe.release_previous();";

#[test]
fn large_tiles_are_bound_by_the_tensor_cores() {
    check(
        &product(128, 256, ONE_IN_FLIGHT),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..384): the tensor cores bound it: 1024 of 1024 cycles
                tensor cores 1024 (100 %), shared memory 640 (62 %), L2 cache 826 (81 %), issue slots 8 (1 %)
                role of threads 0..128: 158
              role of threads 0..128: 16384 cycles, 2532 of them with instructions; about 24 of 24 registers
              role of threads 128..384: 20558 cycles, 3581 of them with instructions; about 152 of 240 registers
              a block: 20558 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// A tile of 64 by 32 asks for 96 bytes of global memory for each cycle of the tensor cores.
#[test]
fn small_tiles_are_bound_by_the_cache() {
    check(
        &product(64, 32, ONE_IN_FLIGHT),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..256): the L2 cache bounds it: 207 of 207 cycles
                tensor cores 64 (31 %), shared memory 96 (46 %), L2 cache 207 (100 %), issue slots 4 (2 %)
                role of threads 0..128: 158
              role of threads 0..128: 3304 cycles, 2532 of them with instructions; about 24 of 255 registers
              role of threads 128..256: 4241 cycles, 1021 of them with instructions; about 40 of 255 registers
              a block: 4441 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// Each product waits for its own result.
#[test]
fn the_latency_of_a_product_is_exposed_if_nothing_else_is_in_flight() {
    check(
        &product(128, 256, "gemm_wait(0); pipe.release();"),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..384): the tensor cores bound it: 1024 of 1153 cycles, 129 exposed at #8 gemm_wait(0)
                tensor cores 1024 (89 %), shared memory 640 (56 %), L2 cache 826 (72 %), issue slots 8 (1 %)
                role of threads 0..128: 158
              role of threads 0..128: 18444 cycles, 2532 of them with instructions; about 24 of 24 registers
              role of threads 128..384: 22495 cycles, 3581 of them with instructions; about 152 of 240 registers
              a block: 22495 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// With `a` in place for all stages, a product of 32 columns reads more shared memory than it multiplies.
#[test]
fn narrow_products_are_bound_by_shared_memory() {
    check(
        "kernel product(a: f16[64, 128], b: f16[n, 128], c: mut f32[64, 32]) grid [1] {
    let (sa, sb) = (shared_tensor(f16, [64, 128]), shared_tensor(f16, [32, 128, 4]));
    let (once, pipe) = (pipeline(1), pipeline(4));
    warp_groups {
        producer {
            once.acquire();
            copy_async(tile(a, [64, 128])[.., .., 0, 0], sa, signal: once);
            for i in 0..n / 32 {
                let s = pipe.acquire();
                copy_async(tile(b, [32, 128])[.., .., i, 0], sb[.., .., s], signal: pipe);
            }
        }
        consumer {
            let acc = register_tensor(f32, [64, 32]);
            fill(acc, 0.0);
            once.wait();
            for i in 0..n / 32 {
                let s = pipe.wait();
                gemm_async(acc, sa, sb[.., .., s]);
                gemm_wait(1);
                pipe.release_previous();
            }
            gemm_wait(0);
            pipe.release();
            once.release();
            copy(acc, tile(c, [64, 32])[.., .., 0, 0]);
        }
    }
}
",
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..256): shared memory bounds it: 192 of 192 cycles
                tensor cores 128 (67 %), shared memory 192 (100 %), L2 cache 138 (72 %), issue slots 8 (4 %)
                role of threads 0..128: 158
              role of threads 0..128: 3230 cycles, 2690 of them with instructions; about 24 of 255 registers
              role of threads 128..256: 4463 cycles, 1074 of them with instructions; about 40 of 255 registers
              a block: 4463 cycles, if loops of unknown length have 16 rounds
              the launch: 1 block in 1 wave of 1, 4463 cycles
        "#]],
    );
}

/// Between two products, each thread computes more than the tensor cores do.
#[test]
fn a_role_that_computes_bounds_its_loop() {
    let softened = "gemm_wait(0); pipe.release(); acc = exp2(sin(acc));";
    check(
        &product(64, 128, softened),
        expect![[r#"
            estimated cycles
              a round of `pipe` (role of threads 128..256): the role of threads 128..256 bounds it: 3509 cycles, of which arithmetic 2612
                tensor cores 256 (7 %), shared memory 192 (5 %), L2 cache 413 (12 %), special functions 512 (15 %), arithmetic 2612 (74 %), issue slots 132 (4 %)
                role of threads 0..128: 158
              role of threads 0..128: 56137 cycles, 2532 of them with instructions; about 24 of 255 registers
              role of threads 128..256: 57865 cycles, 51514 of them with instructions; about 88 of 255 registers
              a block: 57865 cycles, if loops of unknown length have 16 rounds
        "#]],
    );
}

/// A kernel without pipelines has no estimate besides the sum.
#[test]
fn a_kernel_without_pipelines_has_none() {
    check(
        "kernel twice(x: f32[64], y: mut f32[64]) grid [1] threads 32 { copy(load(x) * 2.0, y); }\n",
        expect![[""]],
    );
}

/// Returns the forecast cycles of a launch of 132 blocks, whose tensors are too small for DRAM to count. `read` gives the integers of the tensors.
fn launched(text: &str, read: &dyn Fn(&[i64]) -> Option<i64>) -> f64 {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
    let symbols = [("b", 132), ("n", 1 << 12)].map(|(name, value)| (Symbol::Dim(name.into()), value)).into();
    let known = Known { symbols: &symbols, read: &|_, at| read(at) };
    forecast_of_launch(&db, instance, known).expect("the grid is known").alone
}

const RAGGED: &str = "kernel sums(x: f32[n], counts: i32[b], y: mut f32[b, 128]) grid [b] threads 128 {
    let acc = register_tensor(f32, [128]);
    fill(acc, 0.0);
    let count = counts[block_idx];
    for i in 0..count { acc = acc + load(tile(x, [128])[.., i]); }
    copy(acc, y[block_idx]);
}
";

/// The number of rounds is in a tensor of the launch; without it, 16 rounds are assumed.
#[test]
fn rounds_come_from_the_data_of_the_launch() {
    let [few, assumed, many] = [Some(4), None, Some(64)].map(|count| launched(RAGGED, &|_| count));
    assert!((3.0..4.5).contains(&(assumed / few)), "{few}, {assumed}, {many}");
    assert!((3.0..4.5).contains(&(many / assumed)), "{few}, {assumed}, {many}");
}

/// One long block bounds a launch whose blocks all run at the same time, whatever the first block has to do.
#[test]
fn the_longest_of_ragged_blocks_bounds_the_launch() {
    let even = launched(RAGGED, &|_| Some(64));
    let ragged = launched(RAGGED, &|at| Some(if at == [131] { 64 } else { 1 }));
    assert!((0.98..1.02).contains(&(ragged / even)), "{ragged}, {even}");
}

/// A condition that the number of the block decides: the first block has no work.
#[test]
fn conditions_are_decided_block_by_block() {
    let text = |condition: &str| {
        format!(
            "kernel some(x: f32[n], y: mut f32[b, 128]) grid [b] threads 128 {{
    let acc = register_tensor(f32, [128]);
    fill(acc, 0.0);
    for i in 0..40 {{
        if {condition} {{ acc = acc + load(tile(x, [128])[.., i]); }}
    }}
    copy(acc, y[block_idx]);
}}
"
        )
    };
    let cycles = |condition: &str| launched(&text(condition), &|_| None);
    let (all, half, last) = (cycles("i >= 0"), cycles("i >= 20"), cycles("block_idx == 131"));
    assert!((1.8..2.2).contains(&(all / half)), "{all}, {half}");
    assert!((0.98..1.02).contains(&(all / last)), "{all}, {last}");
}

/// A loop of more rounds than are walked has the condition of its middle, not of its first round.
#[test]
fn a_condition_on_the_round_of_a_long_loop_is_that_of_most_rounds() {
    let text = |condition: &str| {
        format!(
            "kernel some(x: f32[n], y: mut f32[b, 128]) grid [b] threads 128 {{
    let acc = register_tensor(f32, [128]);
    fill(acc, 0.0);
    for i in 0..1000 {{
        if {condition} {{ acc = acc + load(tile(x, [128])[.., i]); }}
    }}
    copy(acc, y[block_idx]);
}}
"
        )
    };
    let cycles = |condition: &str| launched(&text(condition), &|_| None);
    let (all, most) = (cycles("i >= 0"), cycles("i > 0"));
    assert!((0.98..1.02).contains(&(most / all)), "{all}, {most}");
}

/// Loads are in flight together until their values are used: two take the latency of one, and a sum after each takes it twice.
#[test]
fn loads_overlap_until_their_values_are_used() {
    let text = |body: &str| {
        format!(
            "kernel sums(x: f32[n], z: f32[n], y: mut f32[b, 128]) grid [b] threads 128 {{
    let (gx, gz) = (tile(x, [128]), tile(z, [128]));
    let acc = register_tensor(f32, [128]);
    fill(acc, 0.0);
    for i in 0..40 {{ {body} }}
    copy(acc, y[block_idx]);
}}
"
        )
    };
    let cycles = |body: &str| launched(&text(body), &|_| None);
    let one = cycles("acc = acc + load(gx[.., i]);");
    let together = cycles("let a = load(gx[.., i]); let b = load(gz[.., i]); acc = acc + a; acc = acc + b;");
    let apart = cycles("acc = acc + load(gx[.., i]); acc = acc + load(gz[.., i]);");
    assert!((1.0..1.1).contains(&(together / one)), "{one}, {together}");
    assert!((1.9..2.1).contains(&(apart / one)), "{one}, {apart}");
}

/// The product of a column and a row has as many values as the tile, and an operator of it is computed for each.
#[test]
fn an_outer_product_is_computed_for_each_element() {
    let text = |value: &str| {
        format!(
            "kernel outer(x: f32[n], y: mut f32[b, 64, 64]) grid [b] threads 128 {{
    let (row, column) = (load(tile(x, [64])[.., 0])[new, ..], load(tile(x, [64])[.., 1])[.., new]);
    copy(cast({value}, f32) + 0.0 * (row + column), y[block_idx]);
}}
"
        )
    };
    let cycles = |value: &str| launched(&text(value), &|_| None);
    let (outer, apart) = (cycles("exp(exp(exp(row + column)))"), cycles("exp(exp(exp(row))) + column"));
    assert!(outer > 1.1 * apart, "{outer}, {apart}");
}

/// A cluster lies in one group of multiprocessors, so clusters of four leave some of them idle: 30 run at once, and the others after
/// them. Numbers of an H200.
#[test]
fn clusters_fill_whole_groups_of_multiprocessors() {
    let text = |size: u32, clusters: u32| {
        format!(
            "kernel sums(x: f32[n], y: mut f32[b, 128]) grid [{}] cluster [{size}] threads 1024 {{
    let acc = register_tensor(f32, [1024]);
    fill(acc, 0.0);
    for i in 0..40 {{ acc = acc + load(tile(x, [1024])[.., i]); }}
    let kept = shared_tensor(f32, [40960]);
    copy(acc, kept[0..1024]);
    sync();
    copy(load(kept[0..128]), y[block_idx]);
}}
",
            size * clusters
        )
    };
    let cycles = |size, clusters| launched(&text(size, clusters), &|_| None);
    let (fits, beyond, pairs) = (cycles(4, 30), cycles(4, 31), cycles(2, 62));
    assert!((1.9..2.1).contains(&(beyond / fits)), "{fits}, {beyond}");
    assert!((0.98..1.02).contains(&(pairs / fits)), "{fits}, {pairs}");
}

/// DRAM moves bytes in a time that no clock changes, so a launch that it bounds takes more cycles at a faster clock.
#[test]
fn bytes_take_time_not_cycles() {
    let text = "kernel twice(x: f32[b, n], y: mut f32[b, n]) grid [cdiv(n, 1024), b] threads 128 {
    let [i, j] = block_idx;
    copy(load(tile(x[j], [1024])[.., i]) * 2.0, tile(y[j], [1024])[.., i]);
}
";
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
    let symbols = [("b", 132), ("n", 1 << 20)].map(|(name, value)| (Symbol::Dim(name.into()), value)).into();
    let found = forecast_of_launch(&db, instance, Known::symbols(&symbols)).expect("the grid is known");
    let per_cycle = 2.0 * 132.0 * f64::from(1 << 22) / found.cycles_at(found.clock);
    assert!((1850.0..2200.0).contains(&per_cycle), "{per_cycle} bytes a cycle");
    let faster = found.cycles_at(1.25 * found.clock) / found.cycles;
    assert!((1.1..1.26).contains(&faster), "{faster}");
}

/// A tensor that is updated in place crosses the pins of DRAM twice, one that is read or written once, and an unused one never.
#[test]
fn each_direction_of_a_tensor_counts() {
    let bytes = |params: &str, from: &str, to: &str| {
        let text = format!(
            "kernel move({params}) grid [cdiv(n, 1024)] threads 128 {{
    copy(load(tile({from}, [1024])[.., block_idx]), tile({to}, [1024])[.., block_idx]);
}}
"
        );
        let (db, file) = TestDb::with_file(&text);
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
        let symbols = [(Symbol::Dim("n".into()), 1 << 20)].into();
        forecast_of_launch(&db, instance, Known::symbols(&symbols)).expect("the grid is known").bytes
    };
    let size = f64::from(4 << 20);
    assert_eq!(bytes("x: f32[n], y: mut f32[n]", "x", "y"), 2.0 * size);
    assert_eq!(bytes("x: mut f32[n]", "x", "x"), 2.0 * size);
    assert_eq!(bytes("x: mut f32[n], y: f32[n]", "x", "x"), 2.0 * size);
}

/// Weights of 4 bits as they lie row by row: a product of warps reads them 16 bytes at a time. The product of a group of warps takes
/// less time itself, but its operand comes byte by byte, and each byte is put into its register by itself.
#[test]
fn packed_weights_are_read_whole() {
    let text =
        "kernel w4<BM = 16, BN = 64, BK = 128>(x: f16[m, k], w: u4[n, k], scale: f16[n, g], y: mut f32[n, m])
    where g == k / BK grid [cdiv(n, BN), cdiv(m, BM)] threads 128
{
    let [bn, bm] = block_idx;
    let (sx, sw) = (shared_tensor(f16, [BM, BK]), shared_tensor(u4, [BN, BK]));
    let acc = register_tensor(f32, [BN, BM]);
    fill(acc, 0.0);
    for i in 0..cdiv(k, BK) {
        sync();
        copy_async(tile(x, [BM, BK])[.., .., bm, i], sx);
        copy_async(tile(w, [BN, BK])[.., .., bn, i], sw);
        commit();
        wait(0);
        sync();
        gemm(acc, cast(load(sw), f16) * load(tile(scale, [BN, 1])[.., .., bn, i]), sx);
    }
    copy(acc, tile(y, [BN, BM])[.., .., bn, bm]);
}
";
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
    let solved = super::super::solved(&db, instance).as_ref().expect("it has layouts");
    let rows = solved.solution.choices.values().filter_map(|choice| match choice {
        Choice::Gemm(gemm) => Some(gemm.row.name()),
        Choice::Copy(copy) if copy.row.from == Space::Shared => Some(copy.row.name()),
        _ => None,
    });
    let rows: std::collections::BTreeSet<&str> = rows.collect();
    expect!["ld.shared.v4.b32 mma.m16n8k16.f32.f16"]
        .assert_eq(&rows.into_iter().collect::<Vec<_>>().join(" "));
}

/// Returns the forecast cycles of a launch of a product with these dimensions, without DRAM.
fn product_cycles(text: &str, [m, n, k]: [i64; 3]) -> f64 {
    let (db, file) = TestDb::with_file(text);
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
    let symbols =
        [("m", m), ("n", n), ("k", k)].map(|(name, value)| (Symbol::Dim(name.into()), value)).into();
    forecast_of_launch(&db, instance, Known::symbols(&symbols)).expect("the grid is known").alone
}

/// Rows of 4096 elements begin with lines of the cache. Of rows that are 4112 elements apart, a box of 128 bytes a row reads 1.75 lines
/// on average.
#[test]
fn rows_that_begin_within_lines_take_longer() {
    let text = product(128, 128, ONE_IN_FLIGHT);
    let [aligned, shifted] = [4096, 4112].map(|k| product_cycles(&text, [2048, 2048, k]));
    assert!((1.25..1.75).contains(&(shifted / aligned)), "{aligned}, {shifted}");
    // Elements behind the end of a row are not fetched: rows of 8 elements never cross a line.
    let short = text.replace("0..k / 64", "0..cdiv(k, 64)");
    let [aligned, shifted] = [64, 8].map(|k| product_cycles(&short, [2048, 2048, k]));
    assert!((0.99..1.01).contains(&(shifted / aligned)), "{aligned}, {shifted}");
}

/// A producer of 40 registers computes the addresses of narrow copies one after the other, one of 152 several at once.
#[test]
fn addresses_take_long_in_threads_with_few_registers() {
    let text = |registers: u32| {
        product(64, 32, ONE_IN_FLIGHT)
            .replace("producer {", &format!("producer registers {registers} {{"))
            .replace("tile(a, ", "tile(a[.., 2..], ")
    };
    let [few, many] = [40, 152].map(|registers| product_cycles(&text(registers), [2048, 2048, 4096]));
    assert!(few > 1.5 * many, "{few}, {many}");
}

/// Copies of blocks in clusters wait longer for DRAM, and no longer where tensors stay in the cache.
#[test]
fn copies_in_clusters_wait_longer_for_dram() {
    let alone = product(128, 128, ONE_IN_FLIGHT);
    let pairs = alone.replace("cdiv(n, 128)] {", "cdiv(n, 128)] cluster [2, 1] {");
    let slower = |shape| product_cycles(&pairs, shape) / product_cycles(&alone, shape);
    let (from_dram, from_cache) = (slower([256, 4096, 16384]), slower([2048, 2048, 16384]));
    assert!(from_dram > 1.1, "{from_dram}");
    assert!(from_cache < 1.1, "{from_cache}");
}

/// Returns a kernel whose blocks load tiles of `tile` elements from a matrix, 40 times.
fn loads(tile: [i64; 2]) -> String {
    let [rows, columns] = tile;
    format!(
        "kernel sums(x: f16[m, n] : [a, 1], y: mut f32[b, {rows}, {columns}]) grid [b] threads 128 {{
    let acc = register_tensor(f32, [{rows}, {columns}]);
    fill(acc, 0.0);
    for i in 0..40 {{ acc = acc + cast(load(tile(x, [{rows}, {columns}])[.., .., i, 0]), f32); }}
    copy(acc, y[block_idx]);
}}
"
    )
}

/// Returns the forecast cycles of `blocks` blocks of [`loads`] on a matrix of `m` by `n` elements whose rows are `apart` elements apart.
fn load_cycles(tile: [i64; 2], blocks: i64, [m, n, apart]: [i64; 3]) -> f64 {
    let (db, file) = TestDb::with_file(&loads(tile));
    let kernel = file_items(&db, file).kernels().next().expect("a kernel");
    let (args, target) = (crate::CtArgs::default(), Target::usual());
    let dims = [("m", m), ("n", n), ("b", blocks), ("a", apart)].map(|(name, value)| (name.into(), value));
    let facts = crate::LaunchFacts::of_launch(&db, kernel, &dims.clone().into());
    let instance = crate::Instance::chosen(&db, kernel, args, target, facts);
    let symbols = dims.map(|(name, value)| (Symbol::Dim(name), value)).into();
    forecast_of_launch(&db, instance, Known::symbols(&symbols)).expect("the grid is known").alone
}

/// A loaded row of 128 bytes that begins within a line of the cache lies in two.
#[test]
fn loaded_rows_that_begin_within_lines_take_longer() {
    // Eight blocks of a multiprocessor share its way to the cache.
    let [aligned, shifted] = [64, 72].map(|apart| load_cycles([64, 64], 132 * 8, [16, 64, apart]));
    assert!((1.3..2.0).contains(&(shifted / aligned)), "{aligned}, {shifted}");
}

/// Loads wait longer if their tensor comes from DRAM than if it stays in the cache.
#[test]
fn loads_wait_longer_for_dram() {
    let [cached, from_dram] = [64, 1 << 20].map(|m| load_cycles([64, 64], 132, [m, 64, 64]));
    assert!(from_dram > 1.5 * cached, "{cached}, {from_dram}");
}

/// Narrow accesses of a thread in one row share the address of the row.
#[test]
fn accesses_in_one_row_share_its_address() {
    let [rows, row] = [[32, 128], [1, 4096]].map(|tile| load_cycles(tile, 132 * 8, [4096, 4097, 4097]));
    assert!(rows > 1.3 * row, "{rows}, {row}");
}

/// A launch of a kernel with roles takes longer by the same cycles at every clock.
#[test]
fn roles_start_later() {
    let start = |text: &str| {
        let (db, file) = TestDb::with_file(text);
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
        let dims = [("m", 128), ("n", 128), ("k", 64), ("b", 1), ("a", 64)];
        let symbols = dims.map(|(name, value)| (Symbol::Dim(name.into()), value)).into();
        let found = forecast_of_launch(&db, instance, Known::symbols(&symbols)).expect("the grid is known");
        assert!(found.cycles >= found.start + found.alone.max(found.dram), "{found:?}");
        found.start
    };
    let cost = Target::usual().costs().role_start;
    assert_eq!([start(&product(128, 128, ONE_IN_FLIGHT)), start(&loads([16, 64]))], [cost, 0.0]);
    assert!(cost > 0.0);
}

/// Returns a kernel whose loop begins at `start` and ends with the rows of `x`.
fn rounds_from(start: &str) -> String {
    format!(
        "kernel sums(x: f32[m], y: mut f32[b, m]) grid [cdiv(m, 32), b] threads 32 {{
    let [column, row] = block_idx;
    let acc = register_tensor(f32, [32]);
    fill(acc, 0.0);
    for i in {start}..m {{ acc = acc + cast(i % 3, f32); }}
    copy(acc, tile(y[row], [32])[.., column]);
}}
"
    )
}

/// Numbers at the ends of 64 bits, as rounds and as blocks, are estimated or unknown. None of them overflows.
#[test]
fn numbers_at_the_ends_of_their_range_are_estimated() {
    for start in ["9223372036854775807", "m + 9223372036854775000", "0", "-9223372036854775807"] {
        let (db, file) = TestDb::with_file(&rounds_from(start));
        let kernel = file_items(&db, file).kernels().next().expect("a kernel");
        let instance = default_instance(&db, kernel, Target::usual()).expect("no open parameters");
        let solved = crate::solved(&db, instance).as_ref();
        assert!(solved.is_ok(), "{start}: {solved:?}");
        assert!(crate::estimate_of_launch(&db, instance, &[]).is_some(), "{start}");
        for (m, b) in [(64, 1), (i64::MAX, 1), (1, i64::MAX), (i64::MAX, i64::MAX)] {
            let symbols = [("m", m), ("b", b)].map(|(name, value)| (Symbol::Dim(name.into()), value)).into();
            let found = forecast_of_launch(&db, instance, Known::symbols(&symbols));
            assert!(found.is_none_or(|found| found.cycles >= 0.0), "{start}, {m}, {b}");
        }
    }
}
