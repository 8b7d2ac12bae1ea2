//! Plots as SVG text: points and lines over axes that are linear or logarithmic.

use std::fmt::Write as _;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;
/// Room for the labels of the axes, in pixels: left, top, right, bottom.
const MARGINS: [f64; 4] = [64.0, 16.0, 20.0, 48.0];

/// The range of an axis in the units of its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub label: &'static str,
    pub log: bool,
    low: f64,
    high: f64,
}

/// A point with the text that the browser shows above it.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
    pub class: &'static str,
    pub title: String,
}

/// Points and lines over two axes; [`Plot::svg`] draws them.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub x: Axis,
    pub y: Axis,
    pub points: Vec<Point>,
    /// Lines through points, each with its class.
    pub lines: Vec<(Vec<(f64, f64)>, &'static str)>,
    /// Names of positions along x that replace its numbers.
    pub names: Vec<(f64, String)>,
}

impl Axis {
    /// Returns an axis that covers the finite values with a margin. A logarithmic axis ignores values that are not positive.
    /// Without values it ends at 1.
    pub(super) fn over(label: &'static str, log: bool, values: impl Iterator<Item = f64>) -> Axis {
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return Axis { label, log, low: if log { 0.1 } else { 0.0 }, high: 1.0 };
        }
        if log {
            return Axis { label, log, low: low / 1.15, high: high * 1.15 };
        }
        let room = ((high - low) * 0.08).max(high.abs() * 0.02).max(1e-9);
        Axis { label, log, low: low - room, high: high + room }
    }

    /// Returns the position of a value on the axis: 0 at the low end, 1 at the high end.
    fn at(&self, value: f64) -> f64 {
        let scale = |v: f64| if self.log { v.log10() } else { v };
        (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
    }

    /// Returns round values within the axis.
    fn ticks(&self) -> Vec<f64> {
        let range = if self.log { self.log_ticks() } else { self.linear_ticks() };
        range.into_iter().filter(|v| (self.low..=self.high).contains(v)).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let (from, to) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = self.high.log10() - self.low.log10();
        if decades < 0.7 {
            return self.linear_ticks();
        }
        let parts: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        (from..=to).flat_map(|decade| parts.iter().map(move |part| part * 10f64.powi(decade))).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 7.0;
        let base = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * base).find(|s| *s >= rough).unwrap_or(base);
        let from = (self.low / step).ceil() as i64;
        (from..from + 12).map(|i| i as f64 * step).collect()
    }
}

fn number(value: f64) -> String {
    let digits =
        if value.abs() >= 100.0 || value == 0.0 { 0 } else { (2.0 - value.abs().log10().floor()) as usize };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl Plot {
    /// Returns the plot as an SVG element; `described` is its text for screen readers.
    pub(super) fn svg(&self, described: &str) -> String {
        let [left, top, right, bottom] = MARGINS;
        let px = |v: f64| left + self.x.at(v) * (WIDTH - left - right);
        let py = |v: f64| HEIGHT - bottom - self.y.at(v) * (HEIGHT - top - bottom);
        let (x0, x1, y0, y1) = (left, WIDTH - right, HEIGHT - bottom, top);
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(described)
        );
        for tick in self.y.ticks() {
            let y = py(tick);
            let _ =
                writeln!(out, "<line class=\"grid\" x1=\"{x0}\" y1=\"{y:.1}\" x2=\"{x1}\" y2=\"{y:.1}\"/>");
            let _ = writeln!(
                out,
                "<text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x0 - 6.0,
                y + 4.0,
                number(tick)
            );
        }
        let named = self.names.iter().map(|(at, name)| (*at, name.clone()));
        let ticks: Vec<(f64, String)> = if self.names.is_empty() {
            self.x.ticks().into_iter().map(|tick| (tick, number(tick))).collect()
        } else {
            named.collect()
        };
        for (tick, name) in ticks {
            let x = px(tick);
            let _ =
                writeln!(out, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{y0}\" x2=\"{x:.1}\" y2=\"{y1}\"/>");
            let _ = writeln!(
                out,
                "<text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                y0 + 16.0,
                escape(&name)
            );
        }
        let clip = "clip-path=\"inset(0)\"";
        for (line, class) in &self.lines {
            let points: Vec<String> =
                line.iter().map(|(x, y)| format!("{:.1},{:.1}", px(*x), py(*y))).collect();
            let _ = writeln!(out, "<polyline class=\"{class}\" {clip} points=\"{}\"/>", points.join(" "));
        }
        for point in self.points.iter().filter(|p| px(p.x).is_finite() && py(p.y).is_finite()) {
            let _ = writeln!(
                out,
                "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"><title>{}</title></circle>",
                point.class,
                px(point.x),
                py(point.y),
                escape(&point.title)
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"x label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            (x0 + x1) / 2.0,
            HEIGHT - 8.0,
            self.x.label
        );
        let middle = (y0 + y1) / 2.0;
        let _ = writeln!(
            out,
            "<text class=\"x label\" transform=\"translate(14 {middle:.1}) rotate(-90)\">{}</text>",
            self.y.label
        );
        out + "</svg>\n"
    }
}

/// Escapes text for HTML: between tags and in attributes in double quotes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
