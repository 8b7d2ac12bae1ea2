//! Tests the layout of each rule.

use expect_test::{Expect, expect};
use hx_fmt::{FormatError, format};

fn check(text: &str, expected: Expect) {
    let formatted = format(text).unwrap();
    expected.assert_eq(&formatted);
    assert_eq!(format(&formatted).unwrap(), formatted, "formatting again changes nothing");
}

#[test]
fn spaces() {
    check(
        "fn  f( x:f32,y :f32 )->f32{x+y*2}\nconst N:int=4;const M = - 1;\nuse a :: b::{c,d as e};use x;",
        expect![[r#"
            fn f(x: f32, y: f32) -> f32 { x + y * 2 }

            const N: int = 4;
            const M = -1;

            use a::b::{c, d as e};
            use x;
        "#]],
    );
}

/// A file whose lines end with carriage returns and line feeds keeps them.
#[test]
fn lines_end_as_the_first_one_does() {
    let formatted = |text: &str| hx_fmt::format(text).expect("it parses");
    let text = "fn f(x: f32) -> f32 {\n    // A comment.\n    x\n}\n";
    let with_returns = text.replace('\n', "\r\n");
    assert_eq!(formatted(text), text);
    assert_eq!(formatted(&with_returns), with_returns);
    assert_eq!(formatted(&with_returns.replace("    ", "  ")), with_returns);
    assert_eq!(formatted(&with_returns.replacen("\r\n", "\n", 1)), text);
}

#[test]
fn operators() {
    check(
        "main{let a=b@c.T;let l=swizzle<3,3,3>∘(8,8):(8,1);let t=(warp:4,lane:8):(32,1);let r=x[a..b,..,c ..,new,..2*k];let z= !c&&-x==y||inf>1.0e30;let o=(8 ,);let u=();f<BM=1,T=f16>(x);}",
        expect![[r#"
            main {
                let a = b @ c.T;
                let l = swizzle<3, 3, 3> ∘ (8, 8) : (8, 1);
                let t = (warp: 4, lane: 8) : (32, 1);
                let r = x[a..b, .., c.., new, ..2 * k];
                let z = !c && -x == y || inf > 1.0e30;
                let o = (8,);
                let u = ();
                f<BM = 1, T = f16>(x);
            }
        "#]],
    );
}

#[test]
fn statements() {
    check(
        "main { let [a,b]=c;x=1;x+=2;for i in 0..3{f(i);}while a<b{}if c{f();}else if d{g();}else{h();} x }",
        expect![[r#"
            main {
                let [a, b] = c;
                x = 1;
                x += 2;
                for i in 0..3 {
                    f(i);
                }
                while a < b {}
                if c {
                    f();
                } else if d {
                    g();
                } else {
                    h();
                }
                x
            }
        "#]],
    );
}

#[test]
fn header_with_clauses() {
    check(
        "kernel f<BM=64>(a:f16[m,k]:[lda,1],b:mut f16[m])where m%BM==0,m>0, grid[m/BM]threads 128 cluster[2,1]{}\nfn g(x: register T[M,N]) -> f32[M] where M>0 { x }",
        expect![[r#"
            kernel f<BM = 64>(a: f16[m, k] : [lda, 1], b: mut f16[m])
                where m % BM == 0, m > 0
                grid [m / BM]
                threads 128
                cluster [2, 1]
            {}

            fn g(x: register T[M, N]) -> f32[M]
                where M > 0
            {
                x
            }
        "#]],
    );
}

#[test]
fn a_long_header() {
    check(
        "kernel attention<BM = 128, BN = 64, D = 128, CAUSAL = true>(q: f16[b, h, s, D], k: f16[b, hk, t, D], v: f16[b, hk, t, D], o: mut f16[b, h, s, D], scale: f32) threads 128 {}",
        expect![[r#"
            kernel attention<BM = 128, BN = 64, D = 128, CAUSAL = true>(
                q: f16[b, h, s, D],
                k: f16[b, hk, t, D],
                v: f16[b, hk, t, D],
                o: mut f16[b, h, s, D],
                scale: f32,
            )
                threads 128
            {}
        "#]],
    );
}

#[test]
fn a_long_call() {
    check(
        "main { copy(rearrange(cast(where(row_sum == 0.0, 0.0, accumulator / row_sum), f16), auto), output_tile, width: 128, other: 3); }",
        expect![[r#"
            main {
                copy(
                    rearrange(cast(where(row_sum == 0.0, 0.0, accumulator / row_sum), f16), auto),
                    output_tile,
                    width: 128,
                    other: 3,
                );
            }
        "#]],
    );
}

#[test]
fn a_long_chain() {
    check(
        "main { let x = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa * bbbbbbbbbbbbbbbbbbbbbbbbbbb + cccccccccccccccccccccccccccc - dddddddddddddddddddddddddddd * eeeeeeeeeeeeeeeeeeeeeeeeee; }",
        expect![[r#"
            main {
                let x = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa * bbbbbbbbbbbbbbbbbbbbbbbbbbb
                    + cccccccccccccccccccccccccccc
                    - dddddddddddddddddddddddddddd * eeeeeeeeeeeeeeeeeeeeeeeeee;
            }
        "#]],
    );
}

#[test]
fn a_long_where() {
    check(
        "kernel f(a: f16[m]) where aaaaaaaaaaaaaaaaaaaaaaaaaa % 64 == 0, bbbbbbbbbbbbbbbbbbbbbbbbbbbbb % 64 == 0, cccccccccccccccccccccccccccc % 64 == 0 threads 1 {}",
        expect![[r#"
            kernel f(a: f16[m])
                where aaaaaaaaaaaaaaaaaaaaaaaaaa % 64 == 0,
                    bbbbbbbbbbbbbbbbbbbbbbbbbbbbb % 64 == 0,
                    cccccccccccccccccccccccccccc % 64 == 0
                threads 1
            {}
        "#]],
    );
}

#[test]
fn an_if_on_one_line() {
    check(
        "main { let t = if C { cdiv(a, b) } else { cdiv(t, b) };\nlet u = if C {\n a } else { b }; if c { f() } }",
        expect![[r#"
            main {
                let t = if C { cdiv(a, b) } else { cdiv(t, b) };
                let u = if C {
                    a
                } else {
                    b
                };
                if c { f() }
            }
        "#]],
    );
}

#[test]
fn a_long_if() {
    check(
        "main { let tiles = if CAUSAL { cdiv(min(t, (bm + 1) * BM + offset), BN) } else { cdiv(t, BN) + another_rather_long_name }; }",
        expect![[r#"
            main {
                let tiles = if CAUSAL {
                    cdiv(min(t, (bm + 1) * BM + offset), BN)
                } else {
                    cdiv(t, BN) + another_rather_long_name
                };
            }
        "#]],
    );
}

#[test]
fn blank_lines() {
    check(
        "\n\nuse a;\nuse b;\n\n\nuse c;\nfn f() {\n\n\n    a();\n\n\n    b();\n    c();\n\n}\nfn g() {}\n\n\n\nfn h() {}\n\n",
        expect![[r#"
            use a;
            use b;

            use c;

            fn f() {
                a();

                b();
                c();
            }

            fn g() {}

            fn h() {}
        "#]],
    );
}

#[test]
fn comments() {
    check(
        "//! File.\n\n\n// free\n\n/// Doc.\n#[a] #[b(1)]   \nfn f() { // open\n  // own\n  a(); // after a\n\n  /* inline */ b(/* in */ 1, // one\n 2); /* end */\n  // last\n}\n// tail",
        expect![[r#"
            //! File.

            // free

            /// Doc.
            #[a]
            #[b(1)]
            fn f() { // open
                // own
                a(); // after a

                /* inline */ b(
                    /* in */ 1, // one
                    2,
                ); /* end */
                // last
            }
            // tail
        "#]],
    );
}

#[test]
fn comments_in_lists() {
    check(
        "fn f(\n    // first\n    a: f32, // about a\n\n    // second\n    b: f32 // about b\n    // done\n) {}\nmain { f(x // x\n , y); }",
        expect![[r#"
            fn f(
                // first
                a: f32, // about a
                // second
                b: f32, // about b
                // done
            ) {}

            main {
                f(
                    x, // x
                    y,
                );
            }
        "#]],
    );
}

#[test]
fn comments_keep_their_column() {
    check(
        "main {\n  let a = 1;            // one\n  let bbbbbbbbbbb = 2;  // two\n  let c = f(1,2,3,4,5,6,7,8,9); // three\n}",
        expect![[r#"
            main {
                let a = 1;           // one
                let bbbbbbbbbbb = 2; // two
                let c = f(1, 2, 3, 4, 5, 6, 7, 8, 9); // three
            }
        "#]],
    );
}

#[test]
fn empty_blocks() {
    check(
        "main { }\nfn f() {\n\n}\nfn g() { /* nothing */ }\nfn h() {\n// nothing\n}",
        expect![[r#"
        main {}

        fn f() {}

        fn g() {
            /* nothing */
        }

        fn h() {
            // nothing
        }
    "#]],
    );
}

#[test]
fn bench_and_test() {
    check(
        "test \"a\" for (m,n) in [(1,2),(3,4)] { f(); }\nbench \"b\" { let a=1;  let b=2;\n measure flops 2*m bytes m { f(a) }\n baseline g(a) }",
        expect![[r#"
            test "a" for (m, n) in [(1, 2), (3, 4)] {
                f();
            }

            bench "b" {
                let a = 1;
                let b = 2;
                measure flops 2 * m bytes m { f(a) }
                baseline g(a)
            }
        "#]],
    );
}

#[test]
fn roles() {
    check(
        "main { warp_groups { producer registers 40 { a(); }\n\n\n consumer each 2 (g) registers 232 { b(); } // end\n } }",
        expect![[r#"
            main {
                warp_groups {
                    producer registers 40 {
                        a();
                    }

                    consumer each 2 (g) registers 232 {
                        b();
                    } // end
                }
            }
        "#]],
    );
}

#[test]
fn closures() {
    check(
        "main { let (p,h)=scan((decay,input),axis:2,op:|(p0,h0),(p1,h1)|(p0*p1,h0*p1+h1)); }",
        expect![[r#"
            main {
                let (p, h) = scan((decay, input), axis: 2, op: |(p0, h0), (p1, h1)| (p0 * p1, h0 * p1 + h1));
            }
        "#]],
    );
}

#[test]
fn tables() {
    check(
        "const T = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40];\nmain { f([aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccccccccccccccccccc]); }",
        expect![[r#"
            const T = [
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
            ];

            main {
                f([
                    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
                    bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
                    cccccccccccccccccccccccccccccccccccc,
                ]);
            }
        "#]],
    );
}

#[test]
fn trailing_commas() {
    check(
        "fn f(a: f32,) { g(a,); let (x,) = (1,); let y = [1,2,]; h<N = 1,>(); }",
        expect![[r#"
        fn f(a: f32) {
            g(a);
            let (x,) = (1,);
            let y = [1, 2];
            h<N = 1>();
        }
    "#]],
    );
}

#[test]
fn broken_text_is_refused() {
    let error = format("fn f() { let x = ; }\nfn g( {").unwrap_err();
    let FormatError::Syntax(first) = &error else { panic!("{error}") };
    assert_eq!(first.code, "HX0001");
    expect!["HX0001: found `;` where an expression was expected"].assert_eq(&error.to_string());
}

#[test]
fn nothing_stays_nothing() {
    check("", expect![[""]]);
    check(" \n\n", expect![[""]]);
    check("// only", expect![["// only\n"]]);
}

#[test]
fn a_comma_that_parts_a_clause_from_a_range_stays() {
    check(
        "kernel f() where a.., grid [1] threads 32 {}",
        expect![[r#"
        kernel f()
            where a..,
            grid [1]
            threads 32
        {}
    "#]],
    );
}

/// Code of the maximal depth and length that the parser allows is formatted.
#[test]
fn deep_code_is_formatted() {
    let deep = [
        format!("main {{ {}x{}; }}", "f(a, ".repeat(120), ")".repeat(120)),
        format!("main {{ x{}; }}", ".field".repeat(500)),
        format!("main {{ x{}; }}", " + yyyyyyy".repeat(500)),
        format!("main {{ {} }}", "if c { ".repeat(60) + "x();" + &"}".repeat(60)),
        format!("main {{ let x = {}; }}", "[".repeat(120) + &"]".repeat(120)),
    ];
    for text in deep {
        let formatted = format(&text).unwrap();
        assert_eq!(format(&formatted).unwrap(), formatted);
    }
}

#[test]
fn drawn_cases() {
    check(
        "test \"a\"   forall m  in 1 ..= 300,T in[f16,bf16],{ }",
        expect![[r#"
            test "a" forall m in 1..=300, T in [f16, bf16] {}
        "#]],
    );
    check(
        "test \"a product of ragged shapes\" forall rows in 1..=300, columns in 1..=300, depth in 1..=300, T in [f16, bf16] { f(rows); }\n\
         /// Documented.\n#[slow] test \"attributes\" forall m in 1..=300, n in 1..=300 // here\n{ f(m) }",
        expect![[r#"
            test "a product of ragged shapes"
                forall rows in 1..=300, columns in 1..=300, depth in 1..=300, T in [f16, bf16]
            {
                f(rows);
            }

            /// Documented.
            #[slow]
            test "attributes" forall m in 1..=300, n in 1..=300 // here
            { f(m) }
        "#]],
    );
}
