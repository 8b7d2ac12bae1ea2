//! `hx layout why`: the reasons of a kernel's layouts, causes of slow accesses, and the other solutions.

use expect_test::{Expect, expect};

use crate::check;

const KERNEL: &str =
    "kernel double<N = 64>(x: f32[m, k], y: mut f32[m, k]) grid [cdiv(m, 32), cdiv(k, N)] threads 64 {
    let [bm, bk] = block_idx;
    let t = register_tensor(f32, [32, N]);
    copy(global_view(x[bm * 32.., bk * N..], (32, N) : (k, 1)), t);
    let u = t + t;
    copy(u, global_view(y[bm * 32.., bk * N..], (32, N) : (k, 1)));
}
kernel open<N: int>(x: f32[m]) grid [1] threads 32 { let t = register_tensor(f32, [N]); fill(t, 0.0); }
";

#[test]
fn a_kernel_tells_why() {
    let why = |args: &[&str], want: Expect| {
        check(&[("k.hx", KERNEL)], &[&["layout", "why", "k.hx"], args].concat(), want);
    };
    why(
        &["double", "--target", "sm_80"],
        expect![[r#"
            exit 0
            kernel double<N = 64>: 64 threads, sm_80
            assuming that all dimensions and strides are multiples of 16

            layouts
              t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                  coalesced along dimension 1 of `x` (#0)
              u: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                  elementwise: as its operand (#1)

            operations
              #0 copy(x[block_idx.x * 32 + 0..32, block_idx.y * 64 + 0..64], t): ld.global.v4.b32, 16 B an access  at k.hx:4:5
                  the widest access
              #1 u = (t + t): elementwise  at k.hx:5:13
                  32 elements of each thread
              #2 copy(u, y[block_idx.x * 32 + 0..32, block_idx.y * 64 + 0..64]): st.global.v4.b32, 16 B an access  at k.hx:6:5
                  the widest access
            --
        "#]],
    );
    why(
        &["double", "v"],
        expect![[r#"
        exit 2
        --
        error: `double` has no register or shared tensor `v`; it has `t`, `u`

        For more information, try '--help'.
    "#]],
    );
    why(
        &["double", "x"],
        expect![[r#"
        exit 2
        --
        error: `x` is a parameter of `double`: its layout is given, not chosen

        For more information, try '--help'.
    "#]],
    );
    why(
        &["treble"],
        expect![[r#"
        exit 2
        --
        error: `k.hx` has no kernel `treble`; it has `double`, `open`

        For more information, try '--help'.
    "#]],
    );
    why(
        &["open"],
        expect![[r#"
            exit 2
            --
            error: `open` has a compile-time parameter without a default, so it has no default instance: `--set N=…` gives it a value

            For more information, try '--help'.
        "#]],
    );
}

#[test]
fn a_kernel_tells_what_is_narrow_and_what_conflicts() {
    let text = "\
kernel turn(x: f32[m, n], y: mut f32[n, m]) grid [cdiv(m, 32), cdiv(n, 32)] threads 64 {
    let [bm, bn] = block_idx;
    let s = shared_tensor(f32, [32, 32], layout: (32, 32) : (32, 1));
    copy(tile(x, [32, 32])[.., .., bm, bn], s);
    sync();
    copy(s.T, tile(y, [32, 32])[.., .., bn, bm]);
}
";
    check(
        &[("k.hx", text)],
        &["layout", "why", "k.hx", "turn", "s", "--dim", "n=4098"],
        expect![[r#"
            exit 0
            kernel turn: 64 threads, sm_90a
            assuming n = 4098, and that all other dimensions and strides are multiples of 16

            notes
              #1 8 B an access  at k.hx:4:5
                  asks for `(32,(2,16)):(D,(1,D))`; each thread holds 2 elements in a row
              #3 4 B an access  at k.hx:6:10
                  asks for `(32,32):(D,D)`; not `ld.shared.v4.b32`: the layout pinned to `s` does not keep 4 neighbours side by side from a multiple of 4 on
              #3 bank conflicts: 8.0 times the wavefronts  at k.hx:6:10
                  the layout of `s` is pinned to `(32,32):(32,1)`; without `layout:` the compiler chooses one

            s: shared f32[32, 32] = (32,32):(32,1), 4096 B at 0
              #1 copy(x_tile, s[0..32, 0..32]): st.shared.v2.b32, 8 B an access, no bank conflicts  at k.hx:4:5
                  asks for `(32,(2,16)):(D,(1,D))`; each thread holds 2 elements in a row
              #3 copy(s[0..32, 0..32] permuted [1, 0], s_tile): ld.shared.b32, 4 B an access, bank conflicts: 256 wavefronts instead of 32  at k.hx:6:10
                  asks for `(32,32):(D,D)`; not `ld.shared.v4.b32`: the layout pinned to `s` does not keep 4 neighbours side by side from a multiple of 4 on
              because: the accesses unify to `(32,(2,16)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#1, #3)
                #1 copy(x_tile, s[0..32, 0..32])
                  x_tile: register f32[32, 32] = ((16,4),(2,8)):((64,1),(32,4))
                      coalesced along dimension 1 of `x` (#0)
                    #0 copy(x[block_idx.x * 32 + 0..32, block_idx.y * 32 + 0..32], x_tile): ld.global.v2.b32, 8 B an access  at k.hx:4:10
                        8 B: the stride `n` of `x` is known to be divisible by 2 only
                #3 copy(s[0..32, 0..32] permuted [1, 0], s_tile)
                  s_tile: register f32[32, 32] = ((8,8),(4,4)):((128,1),(32,8))
                      coalesced along dimension 1 of `y` (#4)
                    #4 copy(s_tile, y[block_idx.y * 32 + 0..32, block_idx.x * 32 + 0..32]): st.global.v4.b32, 16 B an access  at k.hx:6:5
                        the widest access
            --
        "#]],
    );
    check(
        &[("k.hx", text)],
        &["layout", "why", "k.hx", "turn", "s", "--dim", "q=4098"],
        expect![[r#"
        exit 2
        --
        error: `turn` has no dimension or stride `q`; it has `m`, `n`

        For more information, try '--help'.
    "#]],
    );
    check(
        &[("k.hx", text)],
        &["layout", "why", "k.hx", "turn", "s", "--set", "N=8"],
        expect![[r#"
        exit 2
        --
        error: `turn` has no compile-time parameter `N`; it has none

        For more information, try '--help'.
    "#]],
    );
}

/// Rows begin at any multiple of an odd stride. The reported cause must be the stride, not the first row of the tile.
#[test]
fn an_odd_stride_is_to_blame() {
    let text = "\
kernel rows(x: f16[m, n], y: mut f16[m, n]) grid [m] threads 32 {
    let [b] = block_idx;
    copy(tile(x, [1, 256])[.., .., b, 0], tile(y, [1, 256])[.., .., b, 0]);
}
";
    check(
        &[("k.hx", text)],
        &["layout", "why", "k.hx", "rows", "--dim", "n=33"],
        expect![[r#"
            exit 0
            kernel rows: 32 threads, sm_90a
            assuming n = 33, and that all other dimensions and strides are multiples of 16

            notes
              #0 2 B an access  at k.hx:3:10
                  the stride `n` of `x` is not known to be even
              #1 2 B an access  at k.hx:3:5
                  the stride `n` of `y` is not known to be even

            layouts
              x_tile: register f16[1, 256] = (32,8):(1,32)
                  coalesced along dimension 1 of `x` (#0)

            operations
              #0 copy(x[block_idx.x + 0..1, 0..256], x_tile): ld.global.b16, 2 B an access  at k.hx:3:10
                  2 B: the stride `n` of `x` is not known to be even
              #1 copy(x_tile, y[block_idx.x + 0..1, 0..256]): st.global.b16, 2 B an access  at k.hx:3:5
                  2 B: the stride `n` of `y` is not known to be even
            --
        "#]],
    );
}

#[test]
fn a_broken_kernel_shows_its_errors() {
    let broken = KERNEL.replace("t + t", "t + q");
    check(
        &[("k.hx", &broken)],
        &["--message-format", "short", "layout", "why", "k.hx", "double"],
        expect![[r#"
            exit 1
            --
            k.hx:5:17: error[HX0101]: nothing in scope is called `q`
            1 error
        "#]],
    );
}

/// The table shows the differences between solutions with the same instructions. With a name it shows that tensor's layouts.
#[test]
fn candidates_are_told_apart() {
    let text = "\
kernel sums(x: f32[m, n], y: mut f32[m, p]) grid [cdiv(m, 32)] threads 64 {
    let [bm] = block_idx;
    let t = register_tensor(f32, [32, 64]);
    copy(tile(x, [32, 64])[.., .., bm, 0], t);
    copy(sum(t, axis: 1), tile(y, [32, 1])[.., .., bm, 0]);
}
";
    let why = |args: &[&str], want: Expect| {
        check(
            &[("k.hx", text)],
            &[&["layout", "why", "k.hx", "sums"], args, &["--candidates"]].concat(),
            want,
        );
    };
    why(
        &[],
        expect![[r#"
            exit 0
            candidate     cycles   × best  choices
                    0       1502     1.00  ld.global.v4.b32, st.global.b32
                       t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
                    1       1546     1.03  ld.global.v4.b32, st.global.b32
                       t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
            --
        "#]],
    );
    why(
        &["t"],
        expect![[r#"
            exit 0
            candidate     cycles   × best  choices
                    0       1502     1.00  ld.global.v4.b32, st.global.b32
                       t: register f32[32, 64] = ((8,8),(4,2,4)):((128,1),(32,1024,8))
                       #0 copy(x[block_idx.x * 32 + 0..32, 0..64], t): ld.global.v4.b32, 16 B an access
                       #1 reduced = reduce(t, axis: 1, +): within threads, 3 exchanges between lanes
                    1       1546     1.03  ld.global.v4.b32, st.global.b32
                       t: register f32[32, 64] = ((16,4),(4,8)):((128,1),(32,4))
                       #0 copy(x[block_idx.x * 32 + 0..32, 0..64], t): ld.global.v4.b32, 16 B an access
                       #1 reduced = reduce(t, axis: 1, +): within threads, 4 exchanges between lanes
            --
        "#]],
    );
    why(
        &["s"],
        expect![[r#"
        exit 2
        --
        error: `sums` has no register or shared tensor `s`; it has `t`, `reduced`

        For more information, try '--help'.
    "#]],
    );
}

/// Twelve tiles of several widths, each summed along one axis and then the other: more choices than the search explores.
fn many_choices() -> String {
    let tile = |i: usize| {
        let (columns, axis) = ([8, 16, 32, 64][i % 4], i % 2);
        format!(
            "    let v{i} = register_tensor(f32, [64, {columns}]);
    copy(tile(x, [64, {columns}])[.., .., 0, {i}], v{i});
    total = total + sum(v{i} * sum(v{i}, axis: {axis}), axis: 1);
"
        )
    };
    let tiles: String = (0..12).map(tile).collect();
    format!(
        "\
kernel sums(x: f32[m, n], y: mut f32[m, p]) grid [1] threads 128 {{
    let total = register_tensor(f32, [64, 1]);
    fill(total, 0.0);
{tiles}    copy(total, tile(y, [64, 1])[.., .., 0, 0]);
}}
"
    )
}

/// Every display of a solution says that its search stopped early.
#[test]
fn a_search_that_stopped_is_said() {
    let text = many_choices();
    let hx = |args: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.hx"), &text).expect("writable");
        let output = crate::hx(folder.path(), args);
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
    };
    let (checked, why) = (hx(&["check", "k.hx"]), hx(&["layout", "why", "k.hx", "sums", "total"]));
    let candidates = hx(&["layout", "why", "k.hx", "sums", "--candidates"]);
    let note: Vec<&str> = checked.lines().take_while(|line| !line.is_empty()).collect();
    expect![[r#"
        note[HX0307]: the search for layouts left 32 branches unexplored: there may be a cheaper solution
           ╭─[ k.hx:1:8 ]
           │
         1 │ kernel sums(x: f32[m, n], y: mut f32[m, p]) grid [1] threads 128 {
           │        ──┬─
           │          ╰─── here
           │
           │ Help: a pinned layout, or `warps:` of a `gemm`, leaves less to search
        ───╯"#]]
    .assert_eq(&note.join("\n"));
    expect![[r#"
        kernel sums: 128 threads, sm_90a
        assuming that all dimensions and strides are multiples of 16
        the search for layouts left 32 branches unexplored: there may be a cheaper solution"#]]
    .assert_eq(&why.lines().take(3).collect::<Vec<_>>().join("\n"));
    expect!["the search for layouts left 32 branches unexplored: there may be a cheaper solution"]
        .assert_eq(candidates.lines().last().unwrap_or_default());
}

/// A list of candidates that was cut short says so.
#[test]
fn a_long_list_of_candidates_ends() {
    let text = "\
kernel many(x: f16[m, n], w: f16[k, l], c: mut i4[r, s], d: mut f16[p, q], e: mut f32[u, v]) grid [1] threads 192 {
    let whole = load(tile(x, [32, 16])[.., .., 0, 0]);
    let narrow = rearrange(cast(whole, i4), auto);
    let below = max(whole, axis: 1) - whole;
    let t = shared_tensor(f16, [32, 16]);
    copy(whole, t);
    sync();
    let sums = register_tensor(f32, [32, 16]);
    fill(sums, 2.0);
    gemm(sums, t, load(tile(w, [16, 16])[.., .., 0, 0]));
    copy(narrow, tile(c, [32, 16])[.., .., 0, 0]);
    copy(below, tile(d.T, [32, 16])[.., .., 0, 0]);
    copy(sums, tile(e, [32, 16])[.., .., 0, 0]);
}
";
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.hx"), text).expect("writable");
    let output = crate::hx(folder.path(), &["layout", "why", "k.hx", "many", "--candidates"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    expect!["the list ends after 64 others; there may be more"]
        .assert_eq(shown.lines().last().unwrap_or_default());
}

/// If the stride and the start of a row limit the width of an access equally, the report names the stride, because no start makes
/// up for it. If the start is a product, the report names the factor whose divisibility is unknown.
#[test]
fn an_odd_stride_is_to_blame_before_the_start() {
    let text = "\
kernel pitch(x: f16[m], y: mut f16[m], n: i32) grid [4] threads 32 {
    let b = block_idx;
    let t = load(global_view(x[b * 33..], (4, 64) : (33, 1)));
    copy(t, global_view(y[b * 256..], (4, 64) : (64, 1)));
}
kernel column(x: f16[m, n] : [1, s], y: mut f16[m, n] : [1, s]) grid [n] threads 32 {
    let b = block_idx;
    copy(load(global_view(x[1.., b..], (256, 1) : (1, s))), global_view(y[0.., b * 16..], (256, 1) : (1, s)));
}
kernel flat(x: f16[m], y: mut f16[n, m]) grid [n] threads 32 {
    let b = block_idx;
    copy(load(global_view(x[b * n..], (256) : (1))), tile(y, [1, 256])[0, .., b, 0]);
}
kernel turned(x: f16[m, n], y: mut f16[m, n]) grid [m] threads 32 {
    let b = block_idx;
    let t = load(tile(x.T, [256, 1])[.., .., 0, b]);
    copy(t.T, tile(y, [1, 256])[.., .., b, 0]);
}
kernel rows(x: f16[m, n], i: i32[m], y: mut f16[m, n]) grid [m] threads 32 {
    let b = block_idx;
    let r = shared_tensor(i32, [8]);
    copy(load(tile(i, [8])[.., b]), r);
    sync();
    copy(load(tile(gather(x, r), [8, 64])[.., .., 0, 1]), tile(y, [8, 64])[.., .., b, 0]);
}
kernel ranks(x: f16[l, m, n], y: mut f16[l, m, n]) grid [l, m] threads 32 {
    let [a, b] = block_idx;
    copy(load(tile(x[a, .., 1..], [1, 256])[.., .., b, 0]), tile(y[a], [1, 256])[.., .., b, 0]);
}
";
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.hx"), text).expect("writable");
    let why = |kernel: &str, dims: &[&str]| {
        let mut args = vec!["layout", "why", "k.hx", kernel];
        dims.iter().for_each(|dim| args.extend(["--dim", dim]));
        let ran = crate::hx(folder.path(), &args);
        let out = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let notes = out.lines().skip_while(|line| *line != "notes").skip(1);
        let notes: String = notes
            .filter(|line| line.starts_with("      "))
            .map(|line| format!("{}\n", line.trim()))
            .collect();
        format!("{kernel}\n{notes}")
    };
    let told = [
        why("pitch", &[]),
        why("column", &["s=33"]),
        why("flat", &["n=33"]),
        why("flat", &["n=2"]),
        why("turned", &["n=33"]),
        why("rows", &["n=33"]),
        why("ranks", &["n=33"]),
    ];
    expect![[r#"
        pitch
        the stride `33` of `x` is odd
        each thread holds 1 neighbour along the contiguous dimension
        `rearrange(t, auto)` here: 16 B an access, estimated cycles 1168 → 1257
        coalesced along dimension 1 of `x` (#0)
        2 B: the stride `33` of `x` is odd
        2 B: each thread holds 1 neighbour along the contiguous dimension
        column
        the stride `s` of `x` is not known to be even
        each thread holds 1 neighbour along the contiguous dimension
        `rearrange(x_tile, auto)` here: 16 B an access, estimated cycles 1168 → 1257
        coalesced along dimension 0 of `x` (#0)
        2 B: the stride `s` of `x` is not known to be even
        2 B: each thread holds 1 neighbour along the contiguous dimension
        flat
        the tile starts at `n * block_idx.x` in dimension 0 of `x`, a multiple of 1: `n` is not known to be even
        each thread holds 1 neighbour along the contiguous dimension
        `rearrange(x_tile, auto)` here: 16 B an access, estimated cycles 1168 → 1257
        coalesced along dimension 0 of `x` (#0)
        2 B: the tile starts at `n * block_idx.x` in dimension 0 of `x`, a multiple of 1: `n` is not known to be even
        2 B: each thread holds 1 neighbour along the contiguous dimension
        flat
        the tile starts at `n * block_idx.x` in dimension 0 of `x`, a multiple of 2: `n` is known to be divisible by 2 only
        each thread holds 2 neighbours along the contiguous dimension
        `rearrange(x_tile, auto)` here: 16 B an access, estimated cycles 1141 → 1225
        coalesced along dimension 0 of `x` (#0)
        4 B: the tile starts at `n * block_idx.x` in dimension 0 of `x`, a multiple of 2: `n` is known to be divisible by 2 only
        4 B: each thread holds 2 neighbours along the contiguous dimension
        turned
        the stride `n` of `x` is not known to be even
        the stride `n` of `y` is not known to be even
        coalesced along dimension 0 of `x` (#0)
        2 B: the stride `n` of `x` is not known to be even
        2 B: the stride `n` of `y` is not known to be even
        rows
        rows of `x` are picked, `n` apart, a multiple of 1
        the stride `n` of `y` is not known to be even
        the accesses unify to `((4,2)):((1,D))`; fewest wavefronts of the orders and swizzles (#1)
        coalesced along dimension 0 of `i` (#0)
        coalesced along dimension 1 of `x` (#3)
        the widest access
        asks for `((4,2)):((1,D))`; the widest access
        2 B: rows of `x` are picked, `n` apart, a multiple of 1
        2 B: the stride `n` of `y` is not known to be even
        ranks
        the stride `n` of `x` is not known to be even
        the stride `n` of `y` is not known to be even
        coalesced along dimension 1 of `x` (#0)
        2 B: the stride `n` of `x` is not known to be even
        2 B: the stride `n` of `y` is not known to be even
    "#]].assert_eq(&told.concat());
}

#[test]
fn a_store_without_boxes_tells_why_it_goes_through_registers() {
    let text = "kernel stored(x: f16[m, n], y: mut f16[m, n]) grid [cdiv(m, 64)] threads 128 {
    let s = shared_tensor(f16, [64, 32]);
    copy(load(tile(x, [64, 32])[.., .., block_idx, 0]), s);
    sync();
    copy_async(s, tile(y, [64, 32])[.., .., block_idx, 0]);
}
";
    let args = ["layout", "why", "k.hx", "stored", "s", "--dim", "n=36"];
    check(
        &[("k.hx", text)],
        &args,
        expect![[r#"
            exit 0
            kernel stored: 128 threads, sm_90a
            assuming n = 36, and that all other dimensions and strides are multiples of 16

            notes
              #1 8 B an access  at k.hx:3:5
                  asks for `(64,(4,8)):(D,(1,D))`; each thread holds 4 elements in a row
              #3 the store goes through registers  at k.hx:5:16
                  stride `n` of `y` is a multiple of 8 B, not of 16 B
              #3 8 B an access  at k.hx:5:16
                  asks for `(64,(4,8)):(D,(1,D))`; each thread holds 4 elements in a row

            s: shared f16[64, 32] = (64,32):(32,1), 4096 B at 0
              #1 copy(x_tile, s[0..64, 0..32]): st.shared.v2.b32, 8 B an access, no bank conflicts  at k.hx:3:5
                  asks for `(64,(4,8)):(D,(1,D))`; each thread holds 4 elements in a row
              #3 copy(s[0..64, 0..32], s_tile): ld.shared.v2.b32, 8 B an access, no bank conflicts  at k.hx:5:16
                  asks for `(64,(4,8)):(D,(1,D))`; each thread holds 4 elements in a row
              because: the accesses unify to `(64,(4,8)):(D,(1,D))`; fewest wavefronts of the orders and swizzles (#1, #3)
                #1 copy(x_tile, s[0..64, 0..32])
                  x_tile: register f16[64, 32] = ((8,16),(4,4)):((256,1),(64,16))
                      coalesced along dimension 1 of `x` (#0)
                    #0 copy(x[block_idx.x * 64 + 0..64, 0..32], x_tile): ld.global.v2.b32, 8 B an access  at k.hx:3:10
                        8 B: the stride `n` of `x` is known to be divisible by 4 only
                #3 copy(s[0..64, 0..32], s_tile)
                  s_tile: register f16[64, 32] = ((8,16),(4,4)):((256,1),(64,16))
                      coalesced along dimension 1 of `y` (#4)
                    #4 copy(s_tile, y[block_idx.x * 64 + 0..64, 0..32]): st.global.v2.b32, 8 B an access  at k.hx:5:5
                        8 B: the stride `n` of `y` is known to be divisible by 4 only
            --
        "#]],
    );
}

/// The whole of a kernel lists each layout and each operation once. A number of operations to follow adds chains.
#[test]
fn a_whole_kernel_is_short() {
    let kernels = [
        ("attention", include_str!("../../../../std/attention.hx")),
        ("attention_hopper", include_str!("../../../../std/attention_hopper.hx")),
        ("attention_varlen", include_str!("../../../../std/attention_varlen.hx")),
        ("lstm_cell", include_str!("../../../../std/lstm_cell.hx")),
        ("selective_scan", include_str!("../../../../std/selective_scan.hx")),
    ];
    for (name, text) in kernels {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.hx"), text).expect("writable");
        let lines = |args: &[&str]| {
            let output = crate::hx(folder.path(), &[&["layout", "why", "k.hx", name], args].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).lines().count()
        };
        let short = lines(&[]);
        assert!(short <= 150, "{name}: {short} lines");
        assert_eq!(lines(&["--depth", "0"]), short);
        assert!(lines(&["--depth", "2"]) > short);
    }
}

#[test]
fn a_family_tells_its_members_for_a_shape() {
    let text = "#[family(moved<B = 1024>, moved<B = 64>, rows)]
kernel moved<B = 128>(x: f32[n], y: mut f32[n]) where n % B == 0 grid [n / B] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
kernel rows(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
    for i in 0..cdiv(n, 32) { copy(load(tile(x, [32])[.., i]), tile(y, [32])[.., i]); }
}
";
    let why = |args: &[&str], want: Expect| {
        check(&[("k.hx", text)], &[&["layout", "why", "k.hx"], args].concat(), want);
    };
    why(
        &["moved", "--members", "--dim", "n=4096"],
        expect![[r#"
            exit 0
            `moved` runs as `moved<B = 64>`, 0.4 µs by the cost model, the fastest of 3 members of its family that fit; next is `moved<B = 1024>`, 0.4 µs

                   0.4 µs   1.00  moved<B = 64>    estimated
                   0.4 µs   1.18  moved<B = 1024>  estimated
                  44.0 µs  122.08  rows             estimated
            --
        "#]],
    );
    why(
        &["moved", "--members", "--dim", "n=96"],
        expect![[r#"
        exit 0
        `moved` runs as `rows`, 1.0 µs by the cost model, the one member of its family that fits

               1.0 µs   1.00  rows             estimated
                 -             moved<B = 1024>  `n % B == 0` does not hold with n = 96, B = 1024
                 -             moved<B = 64>    `n % B == 0` does not hold with n = 96, B = 64
        --
    "#]],
    );
    why(
        &["moved", "--members", "--dim", "n=4096", "--set", "B=64"],
        expect![[r#"
        exit 2
        --
        error: a parameter of `--set` decides between the members of the family, so a launch that states it runs the kernel itself

        For more information, try '--help'.
    "#]],
    );
    why(
        &["moved", "--members"],
        expect![[r#"
        exit 2
        --
        error: the shape lacks a value for `n` of `moved`

        For more information, try '--help'.
    "#]],
    );
    why(
        &["rows", "--members", "--dim", "n=4096"],
        expect![[r#"
        exit 2
        --
        error: `rows` has no family; `#[family(…)]` before a kernel lists one

        For more information, try '--help'.
    "#]],
    );
}
