use expect_test::expect;

use super::check;

#[test]
fn launches_are_checked_as_far_as_the_text_goes() {
    check(
        "kernel f<BM = 64>(a: f16[m], c: mut f16[m]) grid [m / BM] threads 32 {}\n\
         test \"t\" for (m, n) in [(1, 2)] {\n\
         let a = randn(f16, [m], sede: n);\nf(a);\nf<BN = 2>(a, a);\nf<BM = 2>(a, a, a);\nf(c: a, a: a);\nassert_close(a);\n}\n\
         bench \"b\" { let a = empty(f16, [2, 2]); measure flops 8 { f(a, a) } baseline cublas::gemm(a, a, a) }\n\
         main { print(args[0]); let _x = b; }\n",
        expect![[r#"
            error[HX0202]: `randn` has no parameter `sede`
              let a = randn(f16, [m], sede: n);
                                      ^^^^
              note: `randn(dtype, shape, seed: …)`
              help: `seed` is near in spelling
              fix: replace it by `seed` (`sede` → `seed`)
            error[HX0222]: `f` lacks the argument `c`
              f(a);
              ^^^^
            error[HX0202]: `f` has no compile-time parameter `BN`
              f<BN = 2>(a, a);
                ^^
              help: `BM` is near in spelling
              fix: replace it by `BM` (`BN` → `BM`)
            error[HX0201]: expected 2, found 3 arguments
              f<BM = 2>(a, a, a);
                              ^ `f` takes 2 arguments
            error[HX0222]: `assert_close` lacks the argument `y`
              assert_close(a);
              ^^^^^^^^^^^^^^^
              note: `assert_close(x, y, rtol: …, atol: …, ulp: …)`
            error[HX0101]: nothing in scope is called `b`
              main { print(args[0]); let _x = b; }
                                              ^
        "#]],
    );
}

#[test]
fn a_domain_knows_the_variables_before_it() {
    check(
        "const MOST = 8;\n\
         test \"t\" forall m in 1..=MOST, (k, _l) in [(m, 1)], _j in 1..=n, n in k..m { print(m, k, n); }\n",
        expect![[r#"
            error[HX0101]: nothing in scope is called `n`
              test "t" forall m in 1..=MOST, (k, _l) in [(m, 1)], _j in 1..=n, n in k..m { print(m, k, n); }
                                                                            ^
        "#]],
    );
}
