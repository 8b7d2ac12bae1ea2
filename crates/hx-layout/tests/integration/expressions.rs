//! Tests expressions and proofs, as text.

use expect_test::{Expect, expect};
use hx_layout::{eval_expr, expr::ExprError, prove};

/// Formats the piece of the text at fault, and the error.
fn fault(text: &str, error: &ExprError) -> String {
    let range = error.range.clone().unwrap_or(0..text.len());
    format!("`{}` at {}: {error}", &text[range.clone()], range.start)
}

fn check(text: &str, want: Expect) {
    let answer = match eval_expr(text) {
        Ok(value) => value.to_string(),
        Err(error) => fault(text, &error),
    };
    want.assert_eq(&answer);
}

fn check_proof(text: &str, want: Expect) {
    let answer = match prove::prove(text) {
        Ok(proof) => proof.to_string(),
        Err(error) => fault(text, &error),
    };
    want.assert_eq(&answer);
}

#[test]
fn algebra() {
    check("compose((4,8):(8,1), 8:2)", expect!["(2,4):(16,1)"]);
    check("(6,2):(8,2) ∘ (4,3):(3,1)", expect!["((2,2),3):((24,2),8)"]);
    check("a = (8,16):(1,8); logical_divide(a, (4:1, _))", expect!["((4,2),16):((1,4),8)"]);
    check("zipped_divide((16,32):(1,16), <16,8>)", expect!["((16,8),(1,4)):((1,16),(0,128))"]);
    check("compose((8,8):(8,1), (4, 2))", expect!["(4,2):(8,1)"]);
    check("complement(4:2, 16)", expect!["(2,2):(1,8)"]);
    check("inverse((4,8):(8,1))", expect!["(8,4):(4,1)"]);
    check(
        "inverse((4,8):(9,1))",
        expect![
            "`inverse((4,8):(9,1))` at 0: `(4,8):(9,1)` is not a permutation of 0..32: it reaches 0..8; `right_inverse` or `left_inverse` may do"
        ],
    );
    check("product(4:1, 6)", expect!["(4,6):(1,4)"]);
    check("row_major((4,(2,3)))", expect!["(4,(2,3)):(6,(3,1))"]);
    check("recast((3,2):(2,1), 8, 16)", expect!["(3,1):(1,1)"]);
    check("concat(4:1, (2,3):(4,8))", expect!["(4,(2,3)):(1,(4,8))"]);
    check("size((4,8):(8,1))", expect!["32"]);
    check("table(6:2)", expect!["(0, 2, 4, 6, 8, 10)"]);
}

#[test]
fn application() {
    check("((2,2),8):((1,16),2) (13)", expect!["7"]);
    check("a = ((2,2),8):((1,16),2); a((1,0), 3)", expect!["7"]);
    check("a = (4,8):(1,4); a(_, 3)", expect!["(layout: (4,):(1,), offset: 12)"]);
    check("swizzle<3,3,3>(200)", expect!["208"]);
    check("linear((4,8):(8,1))(1, 2)", expect!["(10,)"]);
    check("(4,8):(8,1) == ((2,2),8):((8,16),1)", expect!["true"]);
}

#[test]
fn swizzles_and_other_forms() {
    check("swizzle<3, 3, 3> ∘ (8,64):(64,1)", expect!["swizzle<3, 3, 3> ∘ (8,64):(64,1)"]);
    check("Sw<1,2,1> o 4 o 16:1", expect!["swizzle<1, 2, 1> ∘ 4 ∘ 16:1"]);
    check("linear(swizzle<1,2,1> ∘ 16:1)", expect!["linear((coord: [1, 2, 4, 12]), (index: 16))"]);
    check("to_layout(linear((4,8):(8,1)))", expect!["(4,8):(8,1)"]);
    check("isl((4,8):(8,1))", expect!["{ [c] -> [i] : 0 <= c < 32 and i = 8*(c mod 4) + floor(c/4) }"]);
    check(
        "swizzle<1,1,0>",
        expect![
            "`swizzle<1,1,0>` at 0: `Sw<1,1,0>` needs the size of its shift to be at least its number of bits, and all bits below 63"
        ],
    );
}

#[test]
fn labels() {
    check("(warp: 4, lane: 8) : (32, 1)", expect!["(warp: 4, lane: 8):(32,1)"]);
    check(
        "(8,8):(8,1) ∘ (warp: 4, lane: (x: 2, y: 4)) : (2, (1, 8))",
        expect!["(warp: 4, lane: (x: 2, y: 4)):(16,(8,1))"],
    );
    check("slice((warp: 4, lane: 8) : (32, 1), (2, _))", expect!["(layout: (lane: 8,):(1,), offset: 64)"]);
    check("coalesce((warp: 4, one: 1, lane: 8) : (32, 7, 1))", expect!["(warp: 4, lane: 8):(32,1)"]);
    check("coalesce((a: 4, b: 8, c: 2) : (1, 4, 64))", expect!["(32, c: 2):(1,64)"]);
    check("divide((m: 8, n: 16) : (1, 8), (2, _))", expect!["(m: (2,4), n: 16):((1,2),8)"]);
    check("downcast((m: 8, n: 16) : (1, 8), 2)", expect!["(m: 16, n: 16):(1,16)"]);
    check("(8,):(1,)", expect!["(8,):(1,)"]);
    check("(8):1", expect!["8:1"]);
}

#[test]
fn faults() {
    check(
        "compose((4,6,8):(2,3,5), 6:3)",
        expect![
            "`compose((4,6,8):(2,3,5), 6:3)` at 0: `(4,6,8):(2,3,5)` after `6:3` is not a layout: along mode 6:3 its stride changes after 4 steps, which do not divide 6"
        ],
    );
    check(
        "composition(4:1, 4:1)",
        expect!["`composition` at 0: there is no function `composition`; there is `compose`"],
    );
    check("foo(1)", expect!["`foo` at 0: there is no function `foo`"]);
    check("compose(4:1)", expect!["`compose(4:1)` at 0: `compose` takes 2 arguments, and 1 were given"]);
    check("compose(4:1, 4:1", expect!["`` at 16: found the end where `)` was expected"]);
    check("(4,8):(8,1", expect!["`` at 10: found the end where `)` was expected"]);
    check("(4,8):(8,1) extra", expect!["`e` at 12: unexpected `e`"]);
    check("x ∘ 4:1", expect!["`x` at 0: `x` is not known"]);
    check("5 ∘ 6", expect!["`5 ∘ 6` at 0: an integer cannot follow an integer in a composition"]);
    check("", expect!["`` at 0: found the end where an expression was expected"]);
    check(&"(".repeat(500), expect!["`(` at 64: nesting deeper than 64"]);
}

#[test]
fn proofs() {
    check_proof("(4,8):(8,1) ∘ (8,4):(4,1) == 32:1", expect!["(8,4):(1,8) == 32:1 holds"]);
    check_proof("(4,3):(3,1) ∘ 12:1 == (4,3):(3,1)", expect!["(4,3):(3,1) == (4,3):(3,1) holds"]);
    check_proof(
        "(4,3):(3,1) == (4,4):(3,1)",
        expect!["(4,3):(3,1) == (4,4):(3,1) does not hold: the sizes are 12 and 16"],
    );
    check_proof(
        "(8192,8192):(8192,1) == (8192,(64,128)):(8192,(1,64))",
        expect!["(8192,8192):(8192,1) == (8192,(64,128)):(8192,(1,64)) holds"],
    );
    check_proof(
        "(8192,8192):(8192,1) == (8192,(64,128)):(8192,(1,65))",
        expect![
            "(8192,8192):(8192,1) == (8192,(64,128)):(8192,(1,65)) does not hold: at 524288 the left is 64, the right 65"
        ],
    );
    check_proof(
        "swizzle<3,3,3> ∘ (8,64):(64,1) == swizzle<3,3,3> ∘ (8,(8,8)):(64,(1,8))",
        expect!["swizzle<3, 3, 3> ∘ (8,64):(64,1) == swizzle<3, 3, 3> ∘ (8,(8,8)):(64,(1,8)) holds"],
    );
    check_proof(
        "swizzle<1,2,1> ∘ 16:1 == 16:1",
        expect!["swizzle<1, 2, 1> ∘ 16:1 == 16:1 does not hold: at 8 the left is 12, the right 8"],
    );
    check_proof("(4,8):(8,1)", expect!["`(4,8):(8,1)` at 0: `==` between two layouts was expected"]);
    check_proof("4 == 4", expect!["`4 == 4` at 0: found an integer where a layout was expected"]);
}

#[test]
fn symbolic_proofs() {
    check_proof("(M,N):(1,M) == M*N:1", expect!["(M,N):(1,M) == M*N:1 holds for all values"]);
    check_proof(
        "(M,N):(N,1) ∘ (N,M):(M,1) == M*N:1",
        expect!["(M,N):(N,1) ∘ (N,M):(M,1) == M*N:1 holds for all values"],
    );
    check_proof(
        "(M,N):(N,1) == (N,M):(1,N)",
        expect!["(M,N):(N,1) == (N,M):(1,N) does not hold: for M = 2, N = 2 at 1 the left is 2, the right 1"],
    );
    check_proof(
        "(M,(8,N)):(8*N,(1,8)) == (M,8*N):(8*N,1)",
        expect!["(M,(8,N)):(8*N,(1,8)) == (M,8*N):(8*N,1) holds for all values"],
    );
    check_proof(
        "(8*M,N):(N,1) ∘ (8,M*N):(1,8) == (8,(M,N)):(N,(8*N,1))",
        expect!["(8*M,N):(N,1) ∘ (8,M*N):(1,8) == (8,(M,N)):(N,(8*N,1)) holds for all values"],
    );
    check_proof(
        "compose((M,N):(N,1), (M,4):(1,M)) == (M,4):(N,1)",
        expect!["compose((M,N):(N,1), (M,4):(1,M)) == (M,4):(N,1) holds for all values"],
    );
    check_proof(
        "(M,N):(1,K) == (M,N):(1,2*K)",
        expect![
            "(M,N):(1,K) == (M,N):(1,2*K) does not hold: for K = 1, M = 1, N = 2 at 1 the left is 1, the right 2"
        ],
    );
    check_proof(
        "(M,2*N):(1,M) ∘ 3*M:1 == 3*M:1",
        expect!["(M,2*N):(1,M) ∘ 3*M:1 == 3*M:1 holds for all values"],
    );
    check_proof(
        "(M,2,N):(1,M,5*M) ∘ M*N:1 == M*N:1",
        expect![
            "(M,2,N):(1,M,5*M) ∘ M*N:1 == M*N:1 does not hold: for M = 1, N = 4 at 2 the left is 5, the right 2"
        ],
    );
    check_proof(
        "(M,N):(1,M) == foo(M)",
        expect![
            "`M` at 1: `M` is not known: names stand for integers in layouts, `∘`, `compose`, `coalesce`, `complement`, and `divide` and `product` by a layout"
        ],
    );
}
