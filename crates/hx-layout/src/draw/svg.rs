//! Renders a drawing as an SVG file.

use std::fmt::Write;

use super::Drawing;

/// Width of a character and height of a cell, in user units.
const CHARACTER: usize = 8;
const HEIGHT: usize = 24;
const MARGIN: usize = 32;

/// The smallest factor by which a drawing is scaled to a width: below it, numbers are too small to read.
const SMALLEST: f64 = 0.7;

/// The form of an SVG file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SvgStyle {
    /// Leave out the white ground, and write in greys that are readable on white and on black.
    pub clear: bool,
    /// Scale a wider drawing to this many pixels, as long as it stays readable.
    pub width: Option<usize>,
}

/// The colours of a drawing outside of its cells.
struct Inks {
    title: &'static str,
    numbers: &'static str,
    lines: &'static str,
}

const ON_WHITE: Inks = Inks { title: "#222222", numbers: "#777777", lines: "#222222" };
const ON_ANY: Inks = Inks { title: "#7f7f7f", numbers: "#7f7f7f", lines: "#7f7f7f" };

impl Drawing {
    /// Renders the drawing as a complete SVG file on white. Texts are dark on light fills.
    pub fn svg(&self) -> String {
        self.svg_in(SvgStyle::default())
    }

    /// Renders the drawing as a complete SVG file in a style.
    pub fn svg_in(&self, style: SvgStyle) -> String {
        let inks = if style.clear { ON_ANY } else { ON_WHITE };
        let cell = (self.width() + 2) * CHARACTER;
        let heading = (self.title.chars().count() + 1) * CHARACTER;
        let (width, height) =
            (MARGIN + (self.cols * cell).max(heading) + 2, 2 * MARGIN + self.rows * HEIGHT + 2);
        let scale = style.width.map_or(1.0, |most| (most as f64 / width as f64).clamp(SMALLEST, 1.0));
        let shown = |extent: usize| (extent as f64 * scale).round() as usize;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\" text-anchor=\"middle\">\n",
            shown(width),
            shown(height),
        );
        let title = escape(&self.title);
        let _ = writeln!(out, "<title>{title}</title>");
        if !style.clear {
            let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
        }
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"18\" text-anchor=\"start\" fill=\"{}\">{title}</text>",
            inks.title,
        );
        self.numbers(&mut out, cell, inks.numbers);
        self.cells_svg(&mut out, cell);
        self.lines(&mut out, cell, inks.lines);
        out + "</svg>\n"
    }

    fn numbers(&self, out: &mut String, cell: usize, ink: &str) {
        for col in 0..self.cols {
            let x = MARGIN + col * cell + cell / 2;
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{}\" fill=\"{ink}\">{col}</text>", 2 * MARGIN - 8);
        }
        for row in 0..self.rows {
            let y = 2 * MARGIN + row * HEIGHT + 16;
            let _ = writeln!(out, "<text x=\"{}\" y=\"{y}\" fill=\"{ink}\">{row}</text>", MARGIN / 2);
        }
    }

    fn cells_svg(&self, out: &mut String, cell: usize) {
        for row in 0..self.rows {
            for col in 0..self.cols {
                let (x, y) = (MARGIN + col * cell, 2 * MARGIN + row * HEIGHT);
                let here = self.cell(row, col);
                let _ = writeln!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{cell}\" height=\"{HEIGHT}\" fill=\"{}\" stroke=\"#bbbbbb\"/>\
                     <text x=\"{}\" y=\"{}\" fill=\"#222222\">{}</text>",
                    fill(here.group),
                    x + cell / 2,
                    y + 16,
                    escape(&here.text),
                );
            }
        }
    }

    /// Draws strong lines around the grid and at the end of the innermost part of a mode.
    fn lines(&self, out: &mut String, cell: usize, ink: &str) {
        let (left, top) = (MARGIN, 2 * MARGIN);
        let (right, bottom) = (left + self.cols * cell, top + self.rows * HEIGHT);
        let mut line = |x1, y1, x2, y2| {
            let _ = writeln!(
                out,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{ink}\" stroke-width=\"2\"/>"
            );
        };
        for row in (0..=self.rows).filter(|r| r % self.row_step == 0 || *r == self.rows) {
            line(left, top + row * HEIGHT, right, top + row * HEIGHT);
        }
        for col in (0..=self.cols).filter(|c| c % self.col_step == 0 || *c == self.cols) {
            line(left + col * cell, top, left + col * cell, bottom);
        }
    }
}

/// Returns a light colour. Hues are a golden angle apart, so that neighbouring groups differ.
fn fill(group: Option<usize>) -> String {
    match group {
        None => "#f4f4f4".to_string(),
        Some(group) => {
            let hue = (group * 137) % 360;
            let lightness = 78 + (group / 8 % 3) * 5;
            format!("hsl({hue},70%,{lightness}%)")
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
