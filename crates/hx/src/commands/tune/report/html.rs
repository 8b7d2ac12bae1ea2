//! The report as one HTML page: for each shape a table and a plot, and plots over all shapes.

use hx_driver::Roofs;
use hx_driver::tune::{ROUNDS, Row, ShapeResult};

use super::plot::{Axis, Plot, Point, escape};
use super::{conclusions, micros, name, roof_at, verdict};

const STYLE: &str = "
:root { color-scheme: light dark; --fg: #1c2330; --bg: #fff; --soft: #5b6675; --line: #d8dde5; --a: #2563eb; --b: #d9480f; --c: #8a94a3; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6e9ef; --bg: #14171c; --soft: #9aa5b5; --line: #2d3440; --a: #6ea0ff; --b: #ff8a4c; --c: #76808f; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg); max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } p { color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(380px, 1fr)); gap: 1.2rem; }
figure { margin: 0; max-width: 640px; border: 1px solid var(--line); border-radius: 8px; padding: .8rem; } figcaption { font-size: .9rem; color: var(--soft); }
table { border-collapse: collapse; font-size: .9rem; margin-top: 1rem; white-space: nowrap; } td, th { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child, td:last-child, th:last-child { text-align: left; } tr.chosen { font-weight: 600; } .scroll { overflow-x: auto; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--soft); } text.x { text-anchor: middle; } text.y { text-anchor: end; }
text.label { fill: var(--fg); } .grid { stroke: var(--line); } circle { stroke: var(--bg); } circle.measured { fill: var(--a); } circle.dropped { fill: var(--c); }
circle.chosen { fill: var(--b); } polyline { fill: none; stroke-width: 1.5; } polyline.even { stroke: var(--c); stroke-dasharray: 5 4; } polyline.roof { stroke: var(--fg); }
.key span { margin-right: 1.2rem; } .key i { display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .4em; }
";

/// Returns the report of some shapes as a page that needs no other file. `roofs` are the machine's peaks, if they are stated.
pub(in crate::commands::tune) fn page(results: &[ShapeResult], roofs: &Roofs) -> String {
    let kernel = results.first().map_or("", |result| result.kernel.as_str());
    let device = results.first().map_or("", |result| result.device.as_str());
    let title = escape(&format!("{kernel} tuned on {device}"));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n\
         <p>Times are medians over cold caches, measured in turns with the baseline. A ratio above 1 is faster than the baseline.</p>\n\
         <p class=\"key\"><span><i style=\"background:var(--b)\"></i>chosen</span>\
         <span><i style=\"background:var(--a)\"></i>measured to the end</span>\
         <span><i style=\"background:var(--c)\"></i>dropped before</span></p>\n<div class=\"plots\">\n"
    );
    out += &figure(&ratios(results), "The chosen candidate's ratio to the baseline, over shapes.");
    out += &figure(&roofline(results, roofs), &roofline_caption(results, roofs));
    out += "</div>\n";
    for result in results {
        out += &section(result);
    }
    out + "</html>\n"
}

fn figure(plot: &Plot, caption: &str) -> String {
    format!("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", plot.svg(caption), escape(caption))
}

fn section(result: &ShapeResult) -> String {
    let mut out = format!("<h2>{}</h2>\n<p>{}</p>\n", escape(&result.shape), escape(&result.summary));
    out += "<div class=\"plots\">\n";
    out += &figure(
        &estimates(result),
        "Measured time against the model's estimate. On the dashed line both are equal.",
    );
    out += "</div>\n<div class=\"scroll\"><table>\n<tr><th>candidate</th><th>estimate</th><th>bound by</th><th>measured</th><th>ratio</th><th></th></tr>\n";
    for row in &result.rows {
        let cell = |text: Option<String>| format!("<td>{}</td>", escape(&text.unwrap_or_default()));
        out += if row.chosen { "<tr class=\"chosen\">" } else { "<tr>" };
        out += &cell(Some(name(row)));
        out += &cell(row.estimate_us.map(micros));
        out += &cell(row.bound.clone());
        out += &cell(row.sample.map(|sample| micros(sample.median_us)));
        out += &cell(row.ratio.map(|ratio| format!("{ratio:.3}×")));
        out += &cell(Some(verdict(row)));
        out += "</tr>\n";
    }
    out += "</table></div>\n";
    let lines: Vec<String> = conclusions(result).iter().map(|line| escape(line)).collect();
    out += &format!("<p>{}</p>\n", lines.join("<br>\n"));
    out
}

fn class(row: &Row) -> &'static str {
    match row.round {
        _ if row.chosen => "chosen",
        Some(round) if round >= ROUNDS => "measured",
        _ => "dropped",
    }
}

/// Plots measured times against estimates. The chosen candidate is drawn last, so that no other covers it.
fn estimates(result: &ShapeResult) -> Plot {
    let mut points: Vec<Point> = result
        .rows
        .iter()
        .filter_map(|row| {
            let (x, y) = (row.estimate_us?, row.sample?.median_us);
            Some(Point {
                x,
                y,
                class: class(row),
                title: format!("{}: {}, estimate {}", name(row), micros(y), micros(x)),
            })
        })
        .collect();
    points.sort_by_key(|point| point.class == "chosen");
    let x = Axis::over("estimate, µs", true, points.iter().map(|p| p.x));
    let y = Axis::over("measured, µs", true, points.iter().map(|p| p.y));
    // The line of equality, where it crosses the plot.
    let all = || points.iter().map(|p| p.x);
    let (from, to) = all().fold((f64::INFINITY, 0f64), |(l, h), v| (l.min(v), h.max(v)));
    let inside = |v: f64| points.iter().any(|p| p.y <= v * 1.15) && points.iter().any(|p| p.y >= v / 1.15);
    let steps = (0..=32).map(|i| from * (to / from).powf(f64::from(i) / 32.0)).filter(|v| inside(*v));
    let even: Vec<(f64, f64)> = steps.map(|v| (v, v)).collect();
    Plot { x, y, points, lines: vec![(even, "even")], names: Vec::new() }
}

/// Plots the ratio of the chosen candidates over the shapes.
fn ratios(results: &[ShapeResult]) -> Plot {
    let chosen = |result: &ShapeResult| result.rows.iter().find(|row| row.chosen).and_then(|row| row.ratio);
    let points: Vec<Point> = results
        .iter()
        .enumerate()
        .filter_map(|(at, result)| {
            let ratio = chosen(result)?;
            let title = format!("{}: {ratio:.3}× {}", result.shape, result.baseline);
            Some(Point { x: at as f64, y: ratio, class: "chosen", title })
        })
        .collect();
    let ends = (-0.5, results.len() as f64 - 0.5);
    let x = Axis::over("shape", false, [ends.0, ends.1].into_iter());
    let y = Axis::over("× baseline", false, points.iter().map(|p| p.y).chain([1.0]));
    let names = results.iter().enumerate().map(|(at, result)| (at as f64, short(&result.shape))).collect();
    Plot { x, y, points, lines: vec![(vec![(ends.0, 1.0), (ends.1, 1.0)], "even")], names }
}

/// Returns the integers of a shape: `4096×512` for `m = 4096, n = 512, T = bf16`.
fn short(shape: &str) -> String {
    let values = shape.split(", ").filter_map(|part| part.split_once(" = "));
    let numbers: Vec<&str> = values.map(|(_, value)| value).filter(|v| v.parse::<i64>().is_ok()).collect();
    numbers.join("×")
}

/// Plots the chosen candidates' speed over their arithmetic intensity, below the machine's peaks.
fn roofline(results: &[ShapeResult], roofs: &Roofs) -> Plot {
    let mut points = Vec::new();
    for result in results {
        let Some(flops) = result.flops else { continue };
        for row in result.rows.iter().rev() {
            let Some(sample) = row.sample else { continue };
            let (x, y) = (flops / result.bytes, flops / sample.median_us * 1e-6);
            let title = format!("{}: {}, {y:.1} TFLOP/s", result.shape, name(row));
            points.push(Point { x, y, class: class(row), title });
        }
    }
    points.sort_by_key(|point| point.class == "chosen");
    let mut x =
        Axis::over("floating-point operations per byte of the tensors", true, points.iter().map(|p| p.x));
    let knee = roofs.flops.zip(roofs.bytes).map(|(flops, bytes)| flops / bytes);
    if let Some(knee) = knee {
        x = Axis::over(x.label, true, points.iter().map(|p| p.x).chain([knee / 4.0, knee * 4.0]));
    }
    let ends: Vec<f64> =
        points.iter().map(|p| p.x).chain(knee.into_iter().flat_map(|k| [k / 4.0, k, k * 4.0])).collect();
    let mut roof: Vec<(f64, f64)> =
        ends.iter().filter_map(|x| Some((*x, roof_at(*x, roofs)? * 1e-12))).collect();
    roof.sort_by(|a, b| a.0.total_cmp(&b.0));
    let y = Axis::over("TFLOP/s", true, points.iter().map(|p| p.y).chain(roof.iter().map(|p| p.1)));
    Plot { x, y, points, lines: vec![(roof, "roof")], names: Vec::new() }
}

fn roofline_caption(results: &[ShapeResult], roofs: &Roofs) -> String {
    if results.iter().all(|result| result.flops.is_none()) {
        return "Roofline: empty, because the operations of this kernel are not known.".to_owned();
    }
    match (roofs.flops, roofs.bytes) {
        (Some(flops), Some(bytes)) => {
            format!("Roofline: peaks of {:.0} TFLOP/s and {:.0} GB/s.", flops * 1e-12, bytes * 1e-9)
        }
        _ => "Roofline without roofs: `--roof-tflops` and `--roof-gbs` state the machine's peaks.".to_owned(),
    }
}
