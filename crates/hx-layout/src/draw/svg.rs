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
    pub ground: Ground,
    /// Scale a wider drawing to this many pixels, as long as it stays readable; `None` never scales.
    pub width: Option<usize>,
}

/// The background of a drawing. It decides the colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ground {
    /// The drawing paints a white background itself.
    #[default]
    White,
    /// The drawing paints no background, and lies on a light page.
    Light,
    /// The drawing paints no background, and lies on a dark page.
    Dark,
    /// The drawing paints no background, and the page is unknown: lines and texts have greys that are readable on white and on
    /// black.
    Unknown,
}

/// The colours of a drawing.
struct Inks {
    title: &'static str,
    numbers: &'static str,
    lines: &'static str,
    /// The text and the border of a cell, and the fill of an empty one.
    cell: [&'static str; 3],
    /// Saturation of all fills, and lightness of the fills of the first eight groups, in percent.
    fill: [usize; 2],
}

const LIGHT_CELLS: [&str; 3] = ["#222222", "#bbbbbb", "#f4f4f4"];
const ON_WHITE: Inks =
    Inks { title: "#222222", numbers: "#777777", lines: "#222222", cell: LIGHT_CELLS, fill: [70, 78] };
const ON_DARK: Inks = Inks {
    title: "#cccccc",
    numbers: "#9d9d9d",
    lines: "#9d9d9d",
    cell: ["#e8e8e8", "#5a5a5a", "#2b2b2b"],
    fill: [45, 24],
};
const ON_ANY: Inks =
    Inks { title: "#7f7f7f", numbers: "#7f7f7f", lines: "#7f7f7f", cell: LIGHT_CELLS, fill: [70, 78] };

impl Drawing {
    /// Renders the drawing as a complete SVG file on white. Texts are dark on light fills.
    pub fn svg(&self) -> String {
        self.svg_in(SvgStyle::default())
    }

    /// Renders the drawing as a complete SVG file in a style.
    pub fn svg_in(&self, style: SvgStyle) -> String {
        let inks = match style.ground {
            Ground::White | Ground::Light => ON_WHITE,
            Ground::Dark => ON_DARK,
            Ground::Unknown => ON_ANY,
        };
        let cell = self.cell_width();
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
        if style.ground == Ground::White {
            let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
        }
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"18\" text-anchor=\"start\" fill=\"{}\">{title}</text>",
            inks.title,
        );
        self.numbers(&mut out, cell, inks.numbers);
        self.cells_svg(&mut out, cell, &inks);
        self.lines(&mut out, cell, inks.lines);
        out + "</svg>\n"
    }

    /// Returns the width of a column, in user units.
    fn cell_width(&self) -> usize {
        (self.width() + 2) * CHARACTER
    }

    /// Returns the number of columns that fit a width in pixels without scaling below a readable size.
    pub fn columns_within(&self, width: usize) -> usize {
        ((width as f64 / SMALLEST) as usize).saturating_sub(MARGIN + 2) / self.cell_width()
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

    fn cells_svg(&self, out: &mut String, cell: usize, inks: &Inks) {
        let [text, border, _] = inks.cell;
        for row in 0..self.rows {
            for col in 0..self.cols {
                let (x, y) = (MARGIN + col * cell, 2 * MARGIN + row * HEIGHT);
                let here = self.cell(row, col);
                let _ = writeln!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{cell}\" height=\"{HEIGHT}\" fill=\"{}\" stroke=\"{border}\"/>\
                     <text x=\"{}\" y=\"{}\" fill=\"{text}\">{}</text>",
                    fill(here.group, inks),
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

/// Returns the colour of a group. Hues are a golden angle apart, so that neighbouring groups differ.
fn fill(group: Option<usize>, inks: &Inks) -> String {
    match group {
        None => inks.cell[2].to_string(),
        Some(group) => {
            let hue = (group * 137) % 360;
            let [saturation, first] = inks.fill;
            let lightness = first + (group / 8 % 3) * 5;
            format!("hsl({hue},{saturation}%,{lightness}%)")
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
