//! Tests composition, complement and inverses of known layouts, as text.

use expect_test::{Expect, expect};
use hx_layout::{Layout, LayoutError};

fn check(result: Result<Layout, LayoutError>, want: Expect) {
    let text = match result {
        Ok(layout) => layout.to_string(),
        Err(error) => format!("error: {error}"),
    };
    want.assert_eq(&text);
}

fn l(text: &str) -> Layout {
    Layout::literal(text)
}

#[test]
fn composition() {
    let check = |a: &str, b: &str, want: Expect| check(l(a).compose(&l(b)), want);
    check("(6,2):(8,2)", "(4,3):(3,1)", expect!["((2,2),3):((24,2),8)"]);
    check("(4,3):(3,1)", "6:2", expect!["(2,3):(6,1)"]);
    check("(4,3,1):(3,1,0)", "24:1", expect!["(4,3,2):(3,1,0)"]);
    check("(5,2):(1,100)", "4:3", expect!["(2,2):(3,101)"]);
    check("(48,24,5):(1,128,3072)", "32:1", expect!["32:1"]);
    check(
        "(48,24,5):(1,128,3072)",
        "64:1",
        expect![[
            r#"error: `(48,24,5):(1,128,3072)` after `64:1` is not a layout: along mode 64:1 its stride changes after 48 steps, which do not divide 64"#
        ]],
    );
    check(
        "(4,6,8):(2,3,5)",
        "6:3",
        expect![[
            r#"error: `(4,6,8):(2,3,5)` after `6:3` is not a layout: along mode 6:3 its stride changes after 4 steps, which do not divide 6"#
        ]],
    );
    check(
        "(4,4):(1,100)",
        "(2,2):(3,1)",
        expect![[
            r#"error: `(4,4):(1,100)` after `(2,2):(3,1)` is not a layout: its modes do not add up: at 3 the index is 100, the modes give 4"#
        ]],
    );
}

#[test]
fn complement_and_inverses() {
    check(l("(2,4,8):(8,1,64)").complement(460), expect!["(2,4):(4,16)"]);
    check(l("(4,6,8):(1,4,7)").complement(73), expect!["error: `(4,6,8):(1,4,7)` takes a value twice"]);
    check(Ok(l("((4,8),(2,4)):((64,1),(32,8))").right_inverse()), expect!["(8,4,2,4):(4,64,32,1)"]);
    check(l("((4,8),(2,4)):((64,1),(32,8))").left_inverse(), expect!["(8,4,2,4):(4,64,32,1)"]);
    check(l("(2,2):(1,3)").left_inverse(), expect!["(3,2):(1,2)"]);
}

#[test]
fn text() {
    let check = |text: &str, want: Expect| check(text.parse(), want);
    check(" ( 4 , (2,) ) : (1,(-4,)) ", expect!["(4,(2,)):(1,(-4,))"]);
    check("(8):(1)", expect!["error: a tuple of one entry is written with a comma, `(8,)` at byte 2"]);
    check("(4,2):(1,2,3)", expect!["error: shape `(4,2)` and stride `(1,2,3)` differ in structure"]);
    check(
        "(4,2):(1,(2,3))",
        expect![
            "error: stride `(1,(2,3))` has a tuple where shape `(4,2)` has an integer, and a layout has one integer a mode: for values with several coordinates, write one layout for each coordinate, or a relation such as `{ [i, j] -> [i, j] : 0 <= i < 4 and 0 <= j < 8 }`"
        ],
    );
    check("0:1", expect!["error: extent 0 is less than 1: a layout has at least one coordinate"]);
    check(
        "9223372036854775807:2",
        expect!["error: the largest index of the layout does not fit a 64-bit integer"],
    );
    check("():()", expect!["error: a tuple needs at least one entry at byte 1"]);
    check("4:1 x", expect!["error: unexpected `x` at byte 4"]);
}

/// As in CuTe: a tiler that is a layout leaves the modes of the tile and of the rest separate.
#[test]
fn tiled_and_flat_forms_have_the_modes_beside_each_other() {
    let by = |text: &str| hx_layout::Tiler::Layout(l(text));
    let block = l("(2,2):(1,2)");
    check(block.zipped_product(&by("(3,4):(4,1)")), expect!["((2,2),(3,4)):((1,2),(16,4))"]);
    check(block.tiled_product(&by("(3,4):(4,1)")), expect!["((2,2),3,4):((1,2),16,4)"]);
    check(block.flat_product(&by("(3,4):(4,1)")), expect!["(2,2,3,4):(1,2,16,4)"]);
    let whole = l("(8,(3,4)):(1,(8,24))");
    check(whole.zipped_divide(&by("(2,2):(1,4)")), expect!["((2,2),(2,12)):((1,4),(2,8))"]);
    check(whole.tiled_divide(&by("(2,2):(1,4)")), expect!["((2,2),2,12):((1,4),2,8)"]);
    check(whole.flat_divide(&by("(2,2):(1,4)")), expect!["(2,2,2,12):(1,4,2,8)"]);
    check(l("16:1").tiled_divide(&by("4:1")), expect!["(4,4):(1,4)"]);
    check(l("4:1").flat_product(&by("3:1")), expect!["(4,3):(1,4)"]);
}
