use expect_test::expect;

use super::{check, check_instance};
use crate::{CtValue, LaunchFacts};

const MATMUL: &str = "
kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    where k % BK == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let ga = global_view(a[bm * BM.., ..], (BM, BK, k / BK) : (k, 1, BK));
    let gb = global_view(b[bn * BN.., ..], (BN, BK, k / BK) : (k, 1, BK));
    let ra = register_tensor(f16, [BM, BK]);
    let rb = register_tensor(f16, [BN, BK]);
    let rc = register_tensor(f32, [BM, BN]);
    fill(rc, 0.0);
    for ki in 0..k / BK {
        copy(ga[.., .., ki], ra);
        copy(gb[.., .., ki], rb);
        gemm(rc, ra, rb);
    }
    let sc = shared_tensor(f16, [BM, BN]);
    copy(cast(rc, f16), sc);
    sync();
    let rc1 = register_tensor(f16, [BM, BN]);
    copy(sc, rc1);
    copy(rc1, global_view(c[bm * BM.., bn * BN..], (BM, BN) : (n, 1)));
}
";

#[test]
fn matmul_of_the_first_page() {
    check(
        MATMUL,
        expect![[r#"
        kernel matmul threads 128
          grid [(m + 63) / 64, (n + 63) / 64]
          param a: f16[m, k] : [k, 1] align 16
          param b: f16[n, k] : [k, 1] align 16
          param c: mut f16[m, n] : [n, 1] align 16
          where k % BK == 0
          fact k % 16 == 0
          fact m % 16 == 0
          fact n % 16 == 0
          register ra: f16[64, 16]
          register rb: f16[64, 16]
          register rc: f32[64, 64]
          shared sc: f16[64, 64]
          register rc_f16: f16[64, 64]
          register rc1: f16[64, 64]
          #0 fill(rc, 0.0)
          for ki in 0..k / 16
            #1 copy(a[block_idx.x * 64 + 0..64, ki * 16 + 0..16], ra)
            #2 copy(b[block_idx.y * 64 + 0..64, ki * 16 + 0..16], rb)
            #3 gemm(rc, ra, rb)
          #4 rc_f16 = cast(rc, f16)
          #5 copy(rc_f16, sc[0..64, 0..64])
          #6 sync()
          #7 copy(sc[0..64, 0..64], rc1)
          #8 copy(rc1, c[block_idx.x * 64 + 0..64, block_idx.y * 64 + 0..64])
    "#]],
    );
}

#[test]
fn another_instance_with_nothing_known() {
    let args = [("BM", CtValue::Int(96)), ("BN", CtValue::Int(80)), ("BK", CtValue::Int(48))];
    check_instance(
        MATMUL,
        &args,
        &LaunchFacts::none(),
        expect![[r#"
        kernel matmul threads 128
          grid [(m + 95) / 96, (n + 79) / 80]
          param a: f16[m, k] : [k, 1] align 2
          param b: f16[n, k] : [k, 1] align 2
          param c: mut f16[m, n] : [n, 1] align 2
          where k % BK == 0
          fact k % 48 == 0
          register ra: f16[96, 48]
          register rb: f16[80, 48]
          register rc: f32[96, 80]
          shared sc: f16[96, 80]
          register rc_f16: f16[96, 80]
          register rc1: f16[96, 80]
          #0 fill(rc, 0.0)
          for ki in 0..k / 48
            #1 copy(a[block_idx.x * 96 + 0..96, ki * 48 + 0..48], ra)
            #2 copy(b[block_idx.y * 80 + 0..80, ki * 48 + 0..48], rb)
            #3 gemm(rc, ra, rb)
          #4 rc_f16 = cast(rc, f16)
          #5 copy(rc_f16, sc[0..96, 0..80])
          #6 sync()
          #7 copy(sc[0..96, 0..80], rc1)
          #8 copy(rc1, c[block_idx.x * 96 + 0..96, block_idx.y * 80 + 0..80])
    "#]],
    );
}

/// Returns a kernel of two matrices with these statements.
pub(super) fn kernel(statements: &str) -> String {
    format!(
        "kernel probe<BM = 64, BK = 16>(a: f16[m, k], c: mut f16[m, k])\n\
         grid [cdiv(m, BM), cdiv(k, BK)] threads 128 {{\nlet [bm, bk] = block_idx;\n{statements}\n}}\n"
    )
}

#[test]
fn tiles_of_any_rank_keep_their_bounds() {
    check(
        "kernel rows<D = 8>(x: f32[b, h, s, D], c: mut f32[b, h, s, D]) grid [cdiv(s, 32), h, b] threads 32 {
            let [i, head, batch] = block_idx;
            let gx = tile(x[batch, head], [32, D])[.., .., i, 0];
            copy(load(gx), tile(c[batch, head], [32, D])[.., .., i, 0]);
        }",
        expect![[r#"
            kernel rows threads 32
              grid [(s + 31) / 32, h, b]
              param x: f32[b, h, s, 8] : [h * s * 8, s * 8, 8, 1] align 16
              param c: mut f32[b, h, s, 8] : [h * s * 8, s * 8, 8, 1] align 16
              fact b % 16 == 0
              fact h % 16 == 0
              fact s % 16 == 0
              register x_tile: f32[32, 8]
              #0 copy(x[block_idx.z, block_idx.y, block_idx.x * 32 + 0..32, 0..8], x_tile)
              #1 copy(x_tile, c[block_idx.z, block_idx.y, block_idx.x * 32 + 0..32, 0..8])
        "#]],
    );
    check(
        "kernel line(x: f16[m], c: mut f16[m]) grid [cdiv(m, 256)] threads 32 {
            let i = block_idx;
            copy(load(tile(x, [256])[.., i]), tile(c, [256])[.., i]);
        }",
        expect![[r#"
            kernel line threads 32
              grid [(m + 255) / 256]
              param x: f16[m] : [1] align 16
              param c: mut f16[m] : [1] align 16
              fact m % 16 == 0
              register x_tile: f16[256]
              #0 copy(x[block_idx.x * 256 + 0..256], x_tile)
              #1 copy(x_tile, c[block_idx.x * 256 + 0..256])
        "#]],
    );
}

#[test]
fn transposed_views_reorder_the_memory_side() {
    check(
        &kernel(
            "let r = register_tensor(f16, [BK, BM]);
            copy(tile(a, [BM, BK])[.., .., bm, bk].T, r);
            copy(r.T, tile(c, [BM, BK])[.., .., bm, bk]);
            let s = shared_tensor(f16, [BK, BM]);
            copy(r, s);
            copy(permute(s, [1, 0]), tile(c, [BM, BK])[.., .., bm, bk]);",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register r: f16[16, 64]
              shared s: f16[16, 64]
              register s_tile: f16[64, 16]
              #0 copy(a[block_idx.x * 64 + 0..64, block_idx.y * 16 + 0..16] permuted [1, 0], r)
              #1 copy(r, c[block_idx.x * 64 + 0..64, block_idx.y * 16 + 0..16] permuted [1, 0])
              #2 copy(r, s[0..16, 0..64])
              #3 copy(s[0..16, 0..64] permuted [1, 0], s_tile)
              #4 copy(s_tile, c[block_idx.x * 64 + 0..64, block_idx.y * 16 + 0..16])
        "#]],
    );
}

#[test]
fn operands_stay_in_shared_memory() {
    check(
        &kernel(
            "let sa = shared_tensor(f16, [BM, BK, 2]);
            let sb = shared_tensor(f16, [BK, 32]);
            let acc = register_tensor(f32, [BM, 32]);
            fill(acc, 0);
            fill(sb, 1.0);
            copy(tile(a, [BM, BK])[.., .., bm, bk], sa[.., .., 0]);
            sync();
            for i in 0..4 { gemm(acc, sa[.., .., i % 2], sb.T, warps: [2, 2]); }",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              shared sa: f16[64, 16, 2]
              shared sb: f16[16, 32]
              register acc: f32[64, 32]
              register sb_fill: f16[16, 32]
              register a_tile: f16[64, 16]
              #0 fill(acc, 0.0)
              #1 fill(sb_fill, 1.0)
              #2 copy(sb_fill, sb[0..16, 0..32])
              #3 copy(a[block_idx.x * 64 + 0..64, block_idx.y * 16 + 0..16], a_tile)
              #4 copy(a_tile, sa[0..64, 0..16, 0])
              #5 sync()
              for i in 0..4
                #8 gemm(acc, sa[0..64, 0..16, i % 2], sb[0..16, 0..32] permuted [1, 0], warps: [2, 2])
        "#]],
    );
}

#[test]
fn values_of_registers_are_copied() {
    check(
        &kernel(
            "let x = register_tensor(f16, [8, 4]);
            fill(x, 0.5);
            let y = x;
            x = y;
            let z = cast(cast(x, f32), bf16);
            let t = z.T;
            copy(cast(t, f16), tile(c.T, [4, 8])[.., .., 0, 0]);",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register x: f16[8, 4]
              register y: f16[8, 4]
              register x_f32: f32[8, 4]
              register z: bf16[8, 4]
              register t: bf16[8, 4]
              register t_f16: f16[8, 4]
              #0 fill(x, 0.5)
              #1 y = cast(x, f16)
              #2 x = cast(y, f16)
              #3 x_f32 = cast(x, f32)
              #4 z = cast(x_f32, bf16)
              #5 t = cast(z, bf16)
              #6 t_f16 = cast(t, f16)
              #7 copy(t_f16, c[0..8, 0..4])
        "#]],
    );
}

#[test]
fn control_flow_is_decided_where_it_can_be() {
    check(
        &kernel(
            "let x = register_tensor(f32, [8]);
            let n = if BM == 64 { 2 } else { m };
            if n == 2 { fill(x, 1.0); } else { fill(x, 2.0); }
            if bm * BM + BM <= m && bk > 0 { fill(x, 3.0); } else if k < 8 { fill(x, 4.0); }
            #[unroll]
            for i in 0..n { for j in i..k / BK { fill(x, 5.0); } }
            for i in 0..0 { fill(x, 6.0); }
            for i in 0..m { let unused = i; }
            let t = 1; t += 2; t = t * n;
            if t == 6 { sync(); }",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register x: f32[8]
              #0 fill(x, 1.0)
              if block_idx.x * 64 + 64 <= m && 0 < block_idx.y
                #1 fill(x, 3.0)
              for i in 0..2 unroll
                for j in i..k / 16
                  #2 fill(x, 5.0)
              #3 sync()
        "#]],
    );
}

#[test]
fn parameters_of_every_kind() {
    let text = "
kernel f<T: type = f16, N = 4, W: layout = auto>(
    a: T[m, N] : [lda, 1], w: T[n, k] : W, s: f32, i: i32, c: mut T[m, N])
    where m >= 8, n % 2 == 0 && k < 100, i >= 0, i < m, N > 2
    grid [1] threads 32
{
    let r = load(a[i..i + 8, ..]);
    copy(r, c[0..8, ..]);
}";
    check(
        text,
        expect![[r#"
        kernel f threads 32
          grid [1]
          param a: f16[m, 4] : [lda, 1] align 16
          param w: f16[n, k] : [k, 1] align 16
          param s: f32
          param i: i32
          param c: mut f16[m, 4] : [4, 1] align 16
          where m >= 8
          where n % 2 == 0 && k < 100
          where i >= 0
          where i < m
          fact k % 16 == 0
          fact lda % 16 == 0
          fact m % 16 == 0
          fact n % 16 == 0
          register r: f16[8, 4]
          #0 copy(a[i + 0..8, 0..4], r)
          #1 copy(r, c[0..8, 0..4])
    "#]],
    );
    let mut facts = LaunchFacts::none();
    facts.dims.insert("lda".into(), 8);
    facts.align.insert("a".into(), 4);
    let args = [("T", CtValue::DType(hx_dtype::DType::F32)), ("N", CtValue::Int(8))];
    check_instance(
        text,
        &args,
        &facts,
        expect![[r#"
        kernel f threads 32
          grid [1]
          param a: f32[m, 8] : [lda, 1] align 4
          param w: f32[n, k] : [k, 1] align 4
          param s: f32
          param i: i32
          param c: mut f32[m, 8] : [8, 1] align 4
          where m >= 8
          where n % 2 == 0 && k < 100
          where i >= 0
          where i < m
          fact lda % 8 == 0
          fact n % 2 == 0
          register r: f32[8, 8]
          #0 copy(a[i + 0..8, 0..8], r)
          #1 copy(r, c[0..8, 0..8])
    "#]],
    );
}

#[test]
fn functions_are_inlined() {
    check(
        "const HALF = 0.5;
        fn start<N = 1>(x: register mut f32[R, C], s: shared mut f16[R, K]) -> f32[R, C] where R % 4 == 0 {
            fill(x, HALF * N);
            zero(s);
            x
        }
        fn zero(s: shared mut f16[R, K]) { fill(s, 0.0); }
        fn tiles(x: global f16[m, k], b: i32) -> i32 { cdiv(m, b) }
        kernel f(a: f16[m, k]) grid [1] threads 32 {
            let x = register_tensor(f32, [8, 4]);
            let s = shared_tensor(f16, [8, 2]);
            let y = start<N = 3>(x, s);
            fill(y, 1.0);
            for i in 0..tiles(a, 16) { fill(x, 2.0); }
        }",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param a: f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register x: f32[8, 4]
              shared s: f16[8, 2]
              register s_fill: f16[8, 2]
              register y: f32[8, 4]
              #0 fill(x, 1.5)
              #1 fill(s_fill, 0.0)
              #2 copy(s_fill, s[0..8, 0..2])
              #3 y = cast(x, f32)
              #4 fill(y, 1.0)
              for i in 0..m / 16
                #5 fill(x, 2.0)
        "#]],
    );
}

#[test]
fn an_index_past_the_last_tile_reads_zeros() {
    check(
        &kernel(
            "let _unused = shared_tensor(f16, [4096]);
            for i in 0..0 { sync(); }
            copy(load(tile(a, [BM, 24])[.., .., bm, 3]), tile(c, [BM, 24])[.., .., bm, 3]);",
        ),
        expect![[r#"
            kernel probe threads 128
              grid [(m + 63) / 64, k / 16]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register a_tile: f16[64, 24]
              #0 copy(a[block_idx.x * 64 + 0..64, 72 + 0..24], a_tile)
              #1 copy(a_tile, c[block_idx.x * 64 + 0..64, 72 + 0..24])
        "#]],
    );
}

#[test]
fn expressions_on_tensors_are_one_operation() {
    check(
        "fn gelu(x: f32) -> f32 { 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))) }
        kernel f<CAUSAL = true>(a: f16[m, k], c: mut f16[m, k], s: f32, n: i32) grid [m / 8] threads 32 {
            let i = block_idx;
            let x = cast(load(tile(a, [8, 64])[.., .., i, 0]), f32);
            let top = max(x, axis: 1);
            let p = exp2((x - top) * (s * 1.5));
            let total = sum(p, axis: 1);
            let row = index(p, 0) + i * 8;
            let seen = if CAUSAL { index(p, 1) <= row && row < n } else { row < n };
            p = where(seen, p / total, 0.0);
            p += 1.0;
            p = gelu(p);
            let q = where(total == 0.0 || !seen, -inf, max(p, 0.5));
            let lost = reduce(q, axis: 0, op: |a, b| min(b, a));
            fill(lost, s);
            copy(cast(where(i > 3, q, -q), f16), tile(c, [8, 64])[.., .., i, 0]);
        }",
        expect![[r#"
            kernel f threads 32
              grid [m / 8]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              param s: f32
              param n: i32
              fact k % 16 == 0
              fact m % 16 == 0
              register a_tile: f16[8, 64]
              register x: f32[8, 64]
              register top: f32[8, 1]
              register p: f32[8, 64]
              register total: f32[8, 1]
              register q: f32[8, 64]
              register lost: f32[1, 64]
              register value: f16[8, 64]
              #0 copy(a[block_idx.x * 8 + 0..8, 0..64], a_tile)
              #1 x = cast(a_tile, f32)
              #2 top = reduce(x, axis: 1, max)
              #3 p = exp2(((x - top) * (s * 1.5)))
              #4 total = reduce(p, axis: 1, +)
              #5 p = where(((index(1) <= (index(0) + (block_idx.x * 8))) & ((index(0) + (block_idx.x * 8)) < (n))), (p / total), 0.0)
              #6 p = (p + 1.0)
              #7 p = ((0.5 * p) * (1.0 + tanh((0.7978845834732056 * (p + (((0.044714998453855515 * p) * p) * p))))))
              #8 q = where(((total == 0.0) | !((index(1) <= (index(0) + (block_idx.x * 8))) & ((index(0) + (block_idx.x * 8)) < (n)))), -inf, max(p, 0.5))
              #9 lost = reduce(q, axis: 0, min)
              #10 lost = s
              #11 value = cast(where(((3) < (block_idx.x)), q, -q), f16)
              #12 copy(value, c[block_idx.x * 8 + 0..8, 0..64])
        "#]],
    );
}

#[test]
fn integers_that_change_are_variables() {
    check(
        "kernel f(a: f16[m, k], table: i32[t], c: mut f16[m, k]) where m >= t, t % 8 == 0 grid [t] threads 32 {
            let i = block_idx;
            let e = table[i];
            let r = register_tensor(f16, [64]);
            let n = 0;
            let stage = 0;
            while n < e {
                let now = n;
                copy(a[e, n * 64..n * 64 + 64], r);
                n += 1;
                if n % 2 == 0 { stage = n + now; }
                fill(r, 0.0);
            }
            let last = if e < 4 { 4 } else { e };
            for j in n..last { copy(r, c[j, stage..stage + 64]); }
            fill(r, cast(n, f16));
        }",
        expect![[r#"
            kernel f threads 32
              grid [t]
              param a: f16[m, k] : [k, 1] align 16
              param table: i32[t] : [1] align 16
              param c: mut f16[m, k] : [k, 1] align 16
              where m >= t
              where t % 8 == 0
              fact k % 16 == 0
              fact m % 16 == 0
              fact t % 16 == 0
              register r: f16[64]
              let table_value = table[block_idx.x]
              let n = 0
              let stage = 0
              while n < table_value
                let n_now = n
                #0 copy(a[table_value, n * 64 + 0..64], r)
                n = n + 1
                if n % 2 == 0
                  stage = n + n_now
                #1 fill(r, 0.0)
              let picked = 0
              if table_value < 4
                picked = 4
              else
                picked = table_value
              let n_now = n
              for j in n_now..picked
                #2 copy(r, c[j, stage + 0..64])
              #3 r = cast((n), f16)
        "#]],
    );
}

#[test]
fn asynchronous_copies_join_groups() {
    check(
        "kernel f<BK = 16, STAGES = 3>(a: f16[m, k], c: mut f32[m, k]) where k % BK == 0 grid [m / 64] threads 128 {
            let i = block_idx;
            let ga = tile(a, [64, BK])[.., .., i, ..];
            let sa = shared_tensor(f16, [64, BK, STAGES]);
            let acc = register_tensor(f32, [64, 64]);
            fill(acc, 0.0);
            for s in 0..STAGES - 1 { copy_async(ga[.., .., s], sa[.., .., s]); commit(); }
            for ki in 0..k / BK {
                wait(STAGES - 2);
                sync();
                gemm(acc, sa[.., .., ki % STAGES], sa[.., .., ki % STAGES]);
                let next = ki + STAGES - 1;
                if next < k / BK { copy_async(ga[.., .., next], sa[.., .., next % STAGES]); }
                commit();
            }
            copy(acc, tile(c, [64, 64])[.., .., i, 0]);
        }",
        expect![[r#"
            kernel f threads 128
              grid [m / 64]
              param a: f16[m, k] : [k, 1] align 16
              param c: mut f32[m, k] : [k, 1] align 16
              where k % BK == 0
              fact k % 16 == 0
              fact m % 16 == 0
              shared sa: f16[64, 16, 3]
              register acc: f32[64, 64]
              #0 fill(acc, 0.0)
              for s in 0..2
                #1 copy_async(a[block_idx.x * 64 + 0..64, s * 16 + 0..16], sa[0..64, 0..16, s])
                #2 commit()
              for ki in 0..k / 16
                #3 wait(1)
                #4 sync()
                #7 gemm(acc, sa[0..64, 0..16, ki % 3], sa[0..64, 0..16, ki % 3])
                if ki + 2 < k / 16
                  #8 copy_async(a[block_idx.x * 64 + 0..64, ki * 16 + 32 + 0..16], sa[0..64, 0..16, (ki + 2) % 3])
                #9 commit()
              #10 copy(acc, c[block_idx.x * 64 + 0..64, 0..64])
        "#]],
    );
}

#[test]
fn coordinates_are_held_only_where_they_change() {
    check(
        "kernel f(c: mut i32[m, k]) grid [1] threads 32 {
            let x = register_tensor(i32, [8, 4]);
            let row = index(x, 0) * 4;
            let once = index(x, 1);
            for i in 0..4 { row += i; }
            once = row;
            copy(row + once, tile(c, [8, 4])[.., .., 0, 0]);
        }",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param c: mut i32[m, k] : [k, 1] align 16
              fact k % 16 == 0
              fact m % 16 == 0
              register row: i32[8, 4]
              register once: i32[8, 4]
              register value: i32[8, 4]
              #0 row = (index(0) * (4))
              for i in 0..4
                #1 row = (row + (i))
              #2 once = index(1)
              #3 once = cast(row, i32)
              #4 value = (row + once)
              #5 copy(value, c[0..8, 0..4])
        "#]],
    );
}

#[test]
fn numbers_with_a_type_wrap() {
    check(
        "fn twice(a: i8) -> i8 { a + a }
        kernel f(x: i32[n], i: i32, b: i8, u: u32, w: u64, y: mut i32[n]) where i >= 0, i < n grid [1] threads 32 {
            let narrow = cast(i, i8);
            let below = i - 1;
            let above = i + 1;
            let wide = i + n;
            let changes: u8 = 250;
            for j in 0..i { changes += 3; }
            let e = if i < 3 { b } else { twice(100) };
            let least = min(b, 5) / b;
            let e64 = cast(b, i64) * 3;
            print(narrow, below, above, wide, changes, e, least, twice(b), u * u, -b, abs(b), e64, w + 1, w > 3);
        }",
        expect![[r#"
            kernel f threads 32
              grid [1]
              param x: i32[n] : [1] align 16
              param i: i32
              param b: i8
              param u: u32
              param w: u64
              param y: mut i32[n] : [1] align 16
              where i >= 0
              where i < n
              fact n % 16 == 0
              register narrow: i8[1]
              register below: i32[1]
              register above: i32[1]
              register wide: i64[1]
              register changes: u8[1]
              register e: i8[1]
              register least: i8[1]
              register shown: i8[1]
              register shown_1: u32[1]
              register shown_2: i8[1]
              register shown_3: i8[1]
              register e64: i64[1]
              register shown_4: u64[1]
              register shown_5: bool[1]
              let changes = 250
              for j in 0..i
                changes = cast(changes + 3, u8)
              let picked = 0
              if i < 3
                picked = b
              else
                picked = -56
              let least = cast(min(5, b) / b, i8)
              #0 narrow = (cast(i, i8))
              #1 print(narrow)
              #2 below = (i - 1)
              #3 print(below)
              #4 above = (i + 1)
              #5 print(above)
              #6 wide = (n + i)
              #7 print(wide)
              #8 changes = (changes)
              #9 print(changes)
              #10 e = (picked)
              #11 print(e)
              #12 least = (least)
              #13 print(least)
              #14 shown = (cast(b * 2, i8))
              #15 print(shown)
              #16 shown_1 = (cast(u * u, u32))
              #17 print(shown_1)
              #18 shown_2 = (cast(-b, i8))
              #19 print(shown_2)
              #20 shown_3 = (max(b, cast(-b, i8)))
              #21 print(shown_3)
              #22 e64 = (b * 3)
              #23 print(e64)
              #24 shown_4 = ((w) + (1))
              #25 print(shown_4)
              #26 shown_5 = ((3) < (w))
              #27 print(shown_5)
        "#]],
    );
}
