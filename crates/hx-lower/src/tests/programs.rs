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
          param a: f16[m, k] : [k, 1] align 1
          param b: f16[n, k] : [k, 1] align 1
          param c: mut f16[m, n] : [n, 1] align 1
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
