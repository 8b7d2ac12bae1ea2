//! Tests drawings as text.

use expect_test::{Expect, expect};
use hx_layout::draw::{Drawing, Ground, SvgStyle};
use hx_layout::{ComposedLayout, Layout, LayoutError};

fn check(drawing: Result<Drawing, LayoutError>, want: Expect) {
    want.assert_eq(&match drawing {
        Ok(drawing) => drawing.unicode(),
        Err(error) => format!("error: {error}\n"),
    });
}

fn composed(text: &str) -> ComposedLayout {
    text.parse().expect("a layout")
}

#[test]
fn memory() {
    check(
        Drawing::memory(&composed("(4,8):(8,1)")),
        expect![[r#"
        (4,8):(8,1)
             0  1  2  3  4  5  6  7
          ┌─────────────────────────┐
        0 │  0  1  2  3  4  5  6  7 │
        1 │  8  9 10 11 12 13 14 15 │
        2 │ 16 17 18 19 20 21 22 23 │
        3 │ 24 25 26 27 28 29 30 31 │
          └─────────────────────────┘
    "#]],
    );
    check(
        Drawing::memory(&composed("((2,2),(4,2)):((1,4),(8,2))")),
        expect![[r#"
        ((2,2),(4,2)):((1,4),(8,2))
             0  1  2  3    4  5  6  7
          ┌─────────────┬─────────────┐
        0 │  0  8 16 24 │  2 10 18 26 │
        1 │  1  9 17 25 │  3 11 19 27 │
          ├─────────────┼─────────────┤
        2 │  4 12 20 28 │  6 14 22 30 │
        3 │  5 13 21 29 │  7 15 23 31 │
          └─────────────┴─────────────┘
    "#]],
    );
    check(
        Drawing::memory(&composed("Sw<2,0,2> o 0 o (4,4):(4,1)")),
        expect![[r#"
        swizzle<2, 0, 2> ∘ (4,4):(4,1)
             0  1  2  3
          ┌─────────────┐
        0 │  0  1  2  3 │
        1 │  5  4  7  6 │
        2 │ 10 11  8  9 │
        3 │ 15 14 13 12 │
          └─────────────┘
    "#]],
    );
    check(
        Drawing::memory(&composed("6:3")),
        expect![[r#"
        6:3
             0  1  2  3  4  5
          ┌───────────────────┐
        0 │  0  3  6  9 12 15 │
          └───────────────────┘
    "#]],
    );
    check(
        Drawing::memory(&composed("(1000,1000):(1,1000)")),
        expect![[r#"
        error: a drawing would need 1000000 evaluations, more than 65536
    "#]],
    );
}

#[test]
fn threads_and_values() {
    check(
        Drawing::thread_value(&Layout::literal("((2,4),(2,2)):((16,1),(8,4))"), (8, 4)),
        expect![[r#"
        ((2,4),(2,2)):((16,1),(8,4)) over (8,4)
               0    1    2    3
          ┌─────────────────────┐
        0 │ T0V0 T0V1 T1V0 T1V1 │
        1 │ T2V0 T2V1 T3V0 T3V1 │
        2 │ T4V0 T4V1 T5V0 T5V1 │
        3 │ T6V0 T6V1 T7V0 T7V1 │
        4 │ T0V2 T0V3 T1V2 T1V3 │
        5 │ T2V2 T2V3 T3V2 T3V3 │
        6 │ T4V2 T4V3 T5V2 T5V3 │
        7 │ T6V2 T6V3 T7V2 T7V3 │
          └─────────────────────┘
    "#]],
    );
    check(
        Drawing::thread_value(&Layout::literal("((4,2),2):((1,0),4)"), (4, 3)),
        expect![[r#"
        ((4,2),2):((1,0),4) over (4,3)
                0     1     2
          ┌───────────────────┐
        0 │ T0V0+ T0V1+     · │
        1 │ T1V0+ T1V1+     · │
        2 │ T2V0+ T2V1+     · │
        3 │ T3V0+ T3V1+     · │
          └───────────────────┘
    "#]],
    );
    check(
        Drawing::thread_value(&Layout::literal("(4,2):(1,4)"), (4, 1)),
        expect![[r#"
        error: coordinate `index 7` does not fit shape `(4,1)`
    "#]],
    );
    check(
        Drawing::thread_value(&Layout::literal("4:1"), (4, 1)),
        expect![[r#"
            error: a thread-value layout has 2 modes, and 1 were given
        "#]],
    );
}

#[test]
fn banks() {
    check(
        Drawing::banks(&composed("(4,8):(64,8)"), 16),
        expect![[r#"
        banks of (4,8):(64,8) in 16-bit elements
             0  1  2  3  4  5  6  7
          ┌─────────────────────────┐
        0 │  0  4  8 12 16 20 24 28 │
        1 │  0  4  8 12 16 20 24 28 │
        2 │  0  4  8 12 16 20 24 28 │
        3 │  0  4  8 12 16 20 24 28 │
          └─────────────────────────┘
    "#]],
    );
    check(
        Drawing::banks(&composed("Sw<3,3,3> o 0 o (4,8):(64,8)"), 16),
        expect![[r#"
        banks of swizzle<3, 3, 3> ∘ (4,8):(64,8) in 16-bit elements
             0  1  2  3  4  5  6  7
          ┌─────────────────────────┐
        0 │  0  4  8 12 16 20 24 28 │
        1 │  4  0 12  8 20 16 28 24 │
        2 │  8 12  0  4 24 28 16 20 │
        3 │ 12  8  4  0 28 24 20 16 │
          └─────────────────────────┘
    "#]],
    );
}

#[test]
fn svg() {
    let drawing = Drawing::memory(&composed("(1,2):(0,1)")).expect("two cells");
    expect![[r##"
        <svg xmlns="http://www.w3.org/2000/svg" width="130" height="90" viewBox="0 0 130 90" font-family="monospace" font-size="12" text-anchor="middle">
        <title>(1,2):(0,1)</title>
        <rect width="130" height="90" fill="#ffffff"/>
        <text x="32" y="18" text-anchor="start" fill="#222222">(1,2):(0,1)</text>
        <text x="44" y="56" fill="#777777">0</text>
        <text x="68" y="56" fill="#777777">1</text>
        <text x="16" y="80" fill="#777777">0</text>
        <rect x="32" y="64" width="24" height="24" fill="hsl(0,70%,78%)" stroke="#bbbbbb"/><text x="44" y="80" fill="#222222">0</text>
        <rect x="56" y="64" width="24" height="24" fill="hsl(137,70%,78%)" stroke="#bbbbbb"/><text x="68" y="80" fill="#222222">1</text>
        <line x1="32" y1="64" x2="80" y2="64" stroke="#222222" stroke-width="2"/>
        <line x1="32" y1="88" x2="80" y2="88" stroke="#222222" stroke-width="2"/>
        <line x1="32" y1="64" x2="32" y2="88" stroke="#222222" stroke-width="2"/>
        <line x1="80" y1="64" x2="80" y2="88" stroke="#222222" stroke-width="2"/>
        </svg>
    "##]].assert_eq(&drawing.svg());
}

#[test]
fn a_clear_svg_is_readable_on_black_and_white() {
    let drawing = Drawing::memory(&composed("(2,2):(2,1)")).expect("it can be drawn");
    let svg = drawing.svg_in(SvgStyle { ground: Ground::Unknown, width: Some(100) });
    assert!(svg.contains("width=\"100\" height=\"88\" viewBox=\"0 0 130 114\""), "{svg}");
    assert!(!svg.contains("#ffffff") && svg.contains("fill=\"#7f7f7f\">(2,2):(2,1)"), "{svg}");
    // A drawing that would be too small keeps a readable size, and scrolls.
    let svg = drawing.svg_in(SvgStyle { width: Some(10), ..SvgStyle::default() });
    assert!(svg.contains("width=\"91\" height=\"80\""), "{svg}");
}

#[test]
fn the_first_cells_of_a_drawing() {
    let drawing = Drawing::memory(&composed("(3,4):(4,1)")).expect("it can be drawn");
    assert_eq!(drawing.cropped(3, 9), drawing);
    let cropped = drawing.cropped(2, 3);
    assert_eq!(cropped.title, "first 2 × 3 of (3,4):(4,1)");
    let texts: Vec<&str> = cropped.cells.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!((cropped.rows, cropped.cols, texts), (2, 3, vec!["0", "1", "2", "4", "5", "6"]));
}
