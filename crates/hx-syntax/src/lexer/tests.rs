use expect_test::{Expect, expect};

use super::lex;

fn check(text: &str, expected: Expect) {
    let mut rest = text;
    let mut out = String::new();
    for token in lex(text) {
        let (head, tail) = rest.split_at(usize::from(token.len));
        rest = tail;
        if !token.kind.is_trivia() {
            out.push_str(&format!("{:?} {head}\n", token.kind));
        }
    }
    assert_eq!(rest, "");
    expected.assert_eq(&out);
}

#[test]
fn a_range_is_no_point() {
    check(
        "0..k 1.5..2",
        expect![[r#"
        INT_NUMBER 0
        DOT2 ..
        IDENT k
        FLOAT_NUMBER 1.5
        DOT2 ..
        INT_NUMBER 2
    "#]],
    );
}

#[test]
fn the_longest_token_wins() {
    check(
        "a::b:c->d<=e>==f||g|h&&!i!=j",
        expect![[r#"
        IDENT a
        COLON2 ::
        IDENT b
        COLON :
        IDENT c
        THIN_ARROW ->
        IDENT d
        LTEQ <=
        IDENT e
        GTEQ >=
        EQ =
        IDENT f
        PIPE2 ||
        IDENT g
        PIPE |
        IDENT h
        AMP2 &&
        BANG !
        IDENT i
        NEQ !=
        IDENT j
    "#]],
    );
}

#[test]
fn words() {
    check(
        "kernel kernels grid _ _x x_ where inf f16",
        expect![[r#"
        KERNEL_KW kernel
        IDENT kernels
        IDENT grid
        UNDERSCORE _
        IDENT _x
        IDENT x_
        WHERE_KW where
        INF_KW inf
        IDENT f16
    "#]],
    );
}

#[test]
fn comments_nest() {
    check(
        "a /* b /* c */ d */ e // f\r\ng",
        expect![[r#"
        IDENT a
        IDENT e
        IDENT g
    "#]],
    );
}
