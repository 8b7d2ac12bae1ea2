//! Draws layouts in a terminal: cropped to its size, coloured by thread or bank.

use hx_host::Value;
use hx_layout::draw::Drawing;

use crate::style::{Picture, Style};

/// Maximal rows and columns of a picture, unless everything is drawn.
const PICTURE: (usize, usize) = (64, 64);

/// Returns a drawing as a text and a picture, both cropped to the style.
pub(crate) fn picture(drawing: &Drawing, style: Style) -> Picture {
    Picture { text: self::drawing(drawing, style), drawing: Some(cropped(drawing, style)) }
}

/// Draws a value that is a layout; `None` for other values, and for a layout that is too large to draw or has no drawing.
pub(crate) fn value(value: &Value, style: Style) -> Option<Drawing> {
    let Value::Layout(layout) = value else { return None };
    let drawing = Drawing::memory(&layout.function().ok()?).ok()?;
    Some(cropped(&Drawing { title: layout.to_string(), ..drawing }, style))
}

fn cropped(drawing: &Drawing, style: Style) -> Drawing {
    if style.size.is_none() { drawing.clone() } else { drawing.cropped(PICTURE.0, PICTURE.1) }
}

/// Formats a drawing as text. A part that does not fit is left out, and the text says so.
pub(crate) fn drawing(drawing: &Drawing, style: Style) -> String {
    let last = |n: usize| n.max(1) - 1;
    let widest = drawing.cells.iter().map(|c| c.text.chars().count()).max().unwrap_or(1);
    let width = widest.max(last(drawing.cols).to_string().len());
    let margin = last(drawing.rows).to_string().len();
    let (cols, rows) = match style.size {
        None => (drawing.cols, drawing.rows),
        Some((columns, lines)) => {
            let cols = columns.saturating_sub(margin + 4) / (width + 1);
            (cols.clamp(1, drawing.cols.max(1)), lines.saturating_sub(6).clamp(4, drawing.rows.max(4)))
        }
    };
    let (cols, rows) = (cols.min(drawing.cols), rows.min(drawing.rows));
    let mut out = format!("{}\n{:indent$}", drawing.title, "", indent = margin + 1);
    for col in 0..cols {
        out += &format!(" {col:>width$}");
    }
    out.push('\n');
    for row in 0..rows {
        out += &format!("{row:>margin$} ");
        for col in 0..cols {
            let cell = &drawing.cells[row * drawing.cols + col];
            let text = format!("{:>width$}", cell.text);
            out.push(' ');
            match cell.group.filter(|_| style.color) {
                Some(group) => out += &format!("\x1b[30;48;5;{}m{text}\x1b[0m", color(group)),
                None => out += &text,
            }
        }
        out.push('\n');
    }
    if (cols, rows) != (drawing.cols, drawing.rows) {
        let (all_rows, all_cols) = (drawing.rows, drawing.cols);
        out += &format!(
            "{rows} of {all_rows} rows and {cols} of {all_cols} columns; `all` behind the name draws everything\n"
        );
    }
    out
}

/// Returns a light colour of a terminal's 256, from `group` modulo 32. Adjacent groups have different colours.
fn color(group: usize) -> u8 {
    // Steps of 11 around a circle of 32 hues visit each hue once, and give adjacent groups distant hues.
    let hue = (group * 11 % 32) as f64 / 32.0 * 6.0;
    let channel = |shift: f64| {
        let at = (hue + shift).rem_euclid(6.0);
        let rise = (2.0 - (at - 3.0).abs()).clamp(0.0, 1.0);
        // At least 2 of 5, so that black text stays readable.
        2 + (rise * 3.0).round() as u8
    };
    16 + 36 * channel(3.0) + 6 * channel(1.0) + channel(5.0)
}

#[cfg(test)]
mod tests {
    use hx_layout::ComposedLayout;

    use super::*;

    fn memory(text: &str) -> Drawing {
        Drawing::memory(&ComposedLayout::plain(text.parse().expect("a layout"))).expect("it can be drawn")
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let style = Style { size: Some((20, 10)), ..Style::default() };
        expect_test::expect![[r#"
            (8,8):(8,1)
                0  1  2  3  4
            0   0  1  2  3  4
            1   8  9 10 11 12
            2  16 17 18 19 20
            3  24 25 26 27 28
            4 of 8 rows and 5 of 8 columns; `all` behind the name draws everything
        "#]]
        .assert_eq(&drawing(&memory("(8,8):(8,1)"), style));
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        let layout = memory("(2,2):(2,1)");
        assert!(!drawing(&layout, Style::default()).contains('\x1b'));
        assert!(drawing(&layout, Style { color: true, ..Style::default() }).contains("\x1b[30;48;5;"));
    }

    #[test]
    fn groups_have_colours_of_the_cube() {
        let colors: std::collections::BTreeSet<u8> = (0..32).map(color).collect();
        assert!(colors.len() >= 12 && colors.iter().all(|c| *c >= 16));
    }
}
