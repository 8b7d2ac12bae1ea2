//! The grid, its clusters, and the numbers that a launch binds.

use expect_test::expect;

use super::{check, text_of};
use crate::LaunchFacts;

/// A grid of known size is a number in the body; another one is a symbol that bounds the index of the block.
#[test]
fn a_persistent_loop_counts_the_tiles_of_its_block() {
    let kernel = |grid: &str| {
        format!(
            "kernel walk(x: f32[n], y: mut f32[n])
    grid [{grid}]
    threads 32
{{
    for w in 0..cdiv(cdiv(n, 64) - block_idx, grid_dim) {{
        let t = block_idx + w * grid_dim;
        copy(load(tile(x, [64])[.., t]), tile(y, [64])[.., t]);
    }}
}}
"
        )
    };
    check(
        &kernel("min(multiprocessors, cdiv(n, 64))"),
        expect![[r#"
        kernel walk threads 32
          grid [min(multiprocessors, (n + 63) / 64)]
          param x: f32[n] : [1] align 16
          param y: mut f32[n] : [1] align 16
          fact n % 16 == 0
          register x_tile: f32[64]
          for w in 0..(grid_dim.x - block_idx.x + ((n + 63) / 64) - 1) / grid_dim.x
            #0 copy(x[grid_dim.x * w * 64 + block_idx.x * 64 + 0..64], x_tile)
            #1 copy(x_tile, y[grid_dim.x * w * 64 + block_idx.x * 64 + 0..64])
    "#]],
    );
    check(
        &kernel("8"),
        expect![[r#"
        kernel walk threads 32
          grid [8]
          param x: f32[n] : [1] align 16
          param y: mut f32[n] : [1] align 16
          fact n % 16 == 0
          register x_tile: f32[64]
          for w in 0..(-block_idx.x + ((n + 63) / 64) + 7) / 8
            #0 copy(x[block_idx.x * 64 + w * 512 + 0..64], x_tile)
            #1 copy(x_tile, y[block_idx.x * 64 + w * 512 + 0..64])
    "#]],
    );
}

#[test]
fn clusters_fit_the_grid() {
    let with = |grid: &str, cluster: &str| {
        format!(
            "kernel probe(c: mut f16[m, k])\n    grid {grid} threads 128 cluster {cluster} {{\n    let i = block_idx;\n}}\n"
        )
    };
    check(
        &with("[3]", "[2]"),
        expect![[r#"
            error[HX0508]: found a grid of `3` blocks along axis 0, expected a multiple of 2: clusters of 2 leave 1
                  grid [3] threads 128 cluster [2] {
                                               ^^^
        "#]],
    );
    check(
        &with("[m]", "[2, 1]"),
        expect![[r#"
            error[HX0508]: found 2 axes in `cluster`, expected 1, those of the `grid`
                  grid [m] threads 128 cluster [2, 1] {
                                               ^^^^^^
        "#]],
    );
    check(
        &with("[m]", "[k]"),
        expect![[r#"
            error[HX0508]: expected a constant, found `k` blocks of a cluster along axis 0
                  grid [m] threads 128 cluster [k] {
                                               ^^^
        "#]],
    );
    check(
        &with("[m, k]", "[4, 4]"),
        expect![[r#"
            error[HX0508]: found 16 blocks in a cluster, expected at most 8
                  grid [m, k] threads 128 cluster [4, 4] {
                                                  ^^^^^^
        "#]],
    );
    check(
        &with("[m]", "[9]"),
        expect![[r#"
            error[HX0508]: found 9 blocks of a cluster along axis 0, expected 1 to 8
                  grid [m] threads 128 cluster [9] {
                                               ^^^
        "#]],
    );
    check(
        &with("[2 * m, k]", "[2, 4]"),
        expect![[r#"
        kernel probe threads 128
          grid [m * 2, k] cluster [2, 4, 1]
          param c: mut f16[m, k] : [k, 1] align 16
          fact k % 16 == 0
          fact m % 16 == 0
    "#]],
    );
}

#[test]
fn the_grid_has_no_size_in_the_header() {
    check(
        "kernel probe(c: mut f16[m, k])\n    grid [grid_dim] threads 128 {\n}\n",
        expect![[r#"
        error[HX0220]: `grid_dim` has no value in the header: the `grid` defines it for the body
              grid [grid_dim] threads 128 {
                    ^^^^^^^^
    "#]],
    );
    check(
        "kernel probe(c: mut f16[m, k])\n    grid [block_idx] threads 128 {\n}\n",
        expect![[r#"
        error[HX0220]: `block_idx` has no value in the header: the `grid` defines it for the body
              grid [block_idx] threads 128 {
                    ^^^^^^^^^
    "#]],
    );
}

#[test]
fn a_multicast_names_an_axis_of_the_cluster() {
    let with = |cluster: &str, copy: &str| {
        let text = format!(
            "kernel pairs(x: f32[m]) grid [2 * m] threads 64 {cluster} {{
    let s = shared_tensor(f32, [256, 1]);
    let pipe = pipeline(1);
    let i = pipe.acquire();
    copy_async(tile(x, [256])[.., block_idx / 2], s[.., i]{copy});
    pipe.wait();
    pipe.release();
}}
"
        );
        text_of(&text, &[], &LaunchFacts::all_16())
    };
    expect![[r#"
        kernel pairs threads 64
          grid [m * 2] cluster [2, 1, 1]
          param x: f32[m] : [1] align 16
          fact m % 16 == 0
          shared s: f32[256, 1]
          pipeline pipe: 1 stages
          #0 i = pipe.acquire()
          #1 copy_async(x[(block_idx.x / 2) * 256 + 0..256], s[0..256, 0], signal: pipe, multicast: 0)
          #2 stage = pipe.wait()
          #3 pipe.release()
    "#]]
    .assert_eq(&with("cluster [2]", ", signal: pipe, multicast: 0"));
    let refused = [
        with("", ", signal: pipe, multicast: 0"),
        with("cluster [2]", ", signal: pipe, multicast: 1"),
        with("cluster [2]", ", multicast: 0"),
    ];
    expect![[r#"
        error[HX0508]: found a cluster of 1 block along axis 0, expected 2 or more for `multicast`
              copy_async(tile(x, [256])[.., block_idx / 2], s[.., i], signal: pipe, multicast: 0);
                                                                                               ^
        error[HX0508]: found a cluster of 1 block along axis 1, expected 2 or more for `multicast`
              copy_async(tile(x, [256])[.., block_idx / 2], s[.., i], signal: pipe, multicast: 1);
                                                                                               ^
          help: its 2 blocks lie along axis 0
        error[HX0208]: `multicast` without `signal` cannot be compiled yet
              copy_async(tile(x, [256])[.., block_idx / 2], s[.., i], multicast: 0);
                                                                                 ^
    "#]]
    .assert_eq(&refused.concat());
}

#[test]
fn a_sum_over_the_cluster_is_a_move_and_an_exchange() {
    let with = |cluster: &str, sum: &str| {
        let text = format!(
            "kernel sums(x: f32[64, 64], h: f16[64]) grid [4] threads 64 {cluster} {{
    let t = load(x);
    let s = sum({sum});
    print(s);
}}
"
        );
        text_of(&text, &[], &LaunchFacts::all_16())
    };
    let ops = |cluster: &str, sum: &str| -> String {
        let text = with(cluster, sum);
        let ops = text.lines().map(str::trim).filter(|line| line.starts_with('#'));
        ops.map(|line| format!("{line}\n")).collect()
    };
    expect![[r#"
          #0 copy(x[0..64, 0..64], t)
          #1 s = cast(t, f32)
          #2 s = sum(s, cluster: 0)
          #3 print(s)
    "#]]
    .assert_eq(&ops("cluster [4]", "t, cluster: 0"));
    expect![[r#"
          #0 copy(x[0..64, 0..64], t)
          #1 value = (t + 1.0)
          #2 s = cast(value, f32)
          #3 s = sum(s, cluster: 0, to: 3)
          #4 print(s)
    "#]]
    .assert_eq(&ops("cluster [4]", "t + 1.0, cluster: 0, to: 3"));
    expect![[r#"
          #0 copy(x[0..64, 0..64], t)
          #1 t_part = t[0..32, ..]
          #2 t_part_of_0 = t_part[.., 0..16]
          #3 t_part_of_1 = t_part[.., 16..32]
          #4 t_part_of_2 = t_part[.., 32..48]
          #5 t_part_of_3 = t_part[.., 48..64]
          #6 s = sum(t_part_of_0 | t_part_of_1 | t_part_of_2 | t_part_of_3, cluster: 0)
          #7 print(s)
    "#]]
    .assert_eq(&ops("cluster [4]", "t[..32, ..], cluster: 0, scatter: 1"));
    expect![[r#"
          #0 copy(x[0..64, 0..64], t)
          #1 s = cast(t, f32)
          #2 print(s)
    "#]]
    .assert_eq(&ops("cluster [1]", "t, cluster: 0, scatter: 1"));
    let refused = [
        with("", "t, cluster: 0"),
        with("cluster [4]", "t, cluster: 1"),
        with("cluster [4]", "t, cluster: 0, to: 4"),
        with("cluster [4]", "t[..30, ..], cluster: 0, scatter: 0"),
        with("cluster [4]", "t, cluster: 0, to: 1, scatter: 0"),
        with("cluster [4]", "t, axis: 0, cluster: 0"),
        with("cluster [4]", "load(h), cluster: 0"),
    ];
    let heads = refused.iter().flat_map(|text| text.lines().filter(|line| line.starts_with("error")));
    let heads: String = heads.map(|line| format!("{line}\n")).collect();
    expect![[r#"
        error[HX0508]: found a sum over the cluster in a kernel without `cluster`
        error[HX0508]: found axis 1 of the cluster, expected one below 1
        error[HX0508]: found block 4, expected one below 4: the cluster has 4 along this axis
        error[HX0205]: found the extent 30 along axis 0, expected a multiple of 4: each block of the cluster gets a part
        error[HX0218]: found `scatter` and `to` of one sum, expected one of them
        error[HX0218]: found `cluster` and `axis` of one sum, expected one of them
        error[HX0218]: found elements of type `f16`, expected `f32`, `f64` or `i32` for a sum over the cluster
    "#]]
    .assert_eq(&heads);
}
