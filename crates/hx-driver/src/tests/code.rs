//! Assertions on the code of a kernel.

use expect_test::expect;

use super::check;

const KERNELS: &str = r#"
use std::matmul::matmul;

/// Through shared memory; `pinned` reads columns of a row-major buffer.
kernel flip<L: layout = (64, 64) : (1, 64)>(x: f32[n, m], y: mut f32[m, n])
    grid [1]
    threads 128
{
    let r = register_tensor(f32, [64, 64]);
    copy(global_view(x, (64, 64) : (m, 1)), r);
    let s = shared_tensor(f32, [64, 64], layout: L);
    copy(r, s);
    sync();
    let t = register_tensor(f32, [64, 64]);
    copy(s.T, t);
    copy(t, global_view(y, (64, 64) : (n, 1)));
}
"#;

#[test]
fn facts_of_the_last_kernel() {
    check(
        &format!(
            r#"{KERNELS}
test "a matmul" {{
    let (a, b) = (ones(f16, [64, 64]), ones(f16, [64, 64]));
    let c = empty(f16, [64, 64]);
    matmul(a, b, c);
    assert(uses("wgmma"), "by row");
    assert(uses("wgmma.mma_async"), "by instruction");
    assert(uses("stmatrix.x4") && uses("cp.async") && !uses("ld.global"));
    assert(conflicts() == 0 && redistributions() == 0);
    assert(bytes_per_access("rc1") == 16);
    assert(target() == "sm_90a");
    assert_eq(bytes_per_access("a"), 16);
    assert(spills() == 0, "skipped, as there is no compiler");
    assert_eq(spills(), 0);
}}
test "what does not hold" {{
    let c = empty(f16, [64, 64]);
    matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c);
    assert(bytes_per_access("ra") == 4);
}}
test "nothing ran" {{ assert(uses("mma")); }}
test "no instruction" {{ let c = empty(f16, [64, 64]); matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c); assert(!uses("ldmatrx")); }}
test "no tensor" {{ let c = empty(f16, [64, 64]); matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c); assert(bytes_per_access("rd") == 16); }}
test "not in an assertion" {{ let c = empty(f16, [64, 64]); matmul(ones(f16, [64, 64]), ones(f16, [64, 64]), c); print(spills()); }}
test "conflicts" {{
    let x = arange(f32, [64, 64]);
    let y = empty(f32, [64, 64]);
    flip<L = (64, 64) : (64, 1)>(x, y);
    assert_eq(y, x.T);
    assert(conflicts() == 0);
}}
"#
        ),
        expect![[r#"
            not judged: `spills` is not known: the CUDA compiler is not used here
            not judged: `spills` is not known: the CUDA compiler is not used here
            t.hx::a matmul: passed
            t.hx::what does not hold: failed
            HX0612 `bytes_per_access("ra") == 4`: `bytes_per_access("ra") == 4` does not hold
              note: left: 16
              note: right: 4
            t.hx::nothing ran: failed
            HX0614 `uses("mma")`: no kernel was launched before this
              help: launch one first: this speaks of the last one
            t.hx::no instruction: failed
            HX0614 `uses("ldmatrx")`: there is no instruction `ldmatrx` in the catalogue
              help: perhaps `ldmatrix` is meant
            t.hx::no tensor: failed
            HX0614 `bytes_per_access("rd")`: no copy of `matmul` moves a tensor `rd`
              help: perhaps `ra` is meant
            t.hx::not in an assertion: failed
            HX0630 `spills()`: `spills` is not known: the CUDA compiler is not used here
              help: in an `assert` this is a skip that is counted, and no failure
            t.hx::conflicts: failed
            HX0612 `conflicts() == 0`: `conflicts() == 0` does not hold
              note: left: 896
              note: right: 0
        "#]],
    );
}
