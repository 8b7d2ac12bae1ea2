//! Results of tuning as a table for terminals and as an HTML page with plots that needs no other file.

mod html;
mod plot;
#[cfg(test)]
mod tests;

use hx_driver::Roofs;
use hx_driver::tune::{ROUNDS, Row, ShapeResult};

pub(super) use html::page;

/// Formats the candidates of a shape as a table: estimate, median, ratio, and which one is chosen.
pub(super) fn table(result: &ShapeResult) -> String {
    let mut lines = vec![["candidate", "estimate", "measured", "ratio", ""].map(str::to_owned)];
    for row in &result.rows {
        let or_nothing = |text: Option<String>| text.unwrap_or_default();
        lines.push([
            name(row),
            or_nothing(row.estimate_us.map(micros)),
            or_nothing(row.sample.map(|sample| micros(sample.median_us))),
            or_nothing(row.ratio.map(|ratio| format!("{ratio:.3}×"))),
            verdict(row),
        ]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let mut out = format!("{} for {} on {}\n", result.kernel, result.shape, result.device);
    out += &format!("  {}\n", result.summary);
    for [candidate, estimate, measured, ratio, verdict] in &lines {
        let [a, b, c, d] = widths;
        let line = format!("  {candidate:a$}  {estimate:>b$}  {measured:>c$}  {ratio:>d$}  {verdict}");
        out += &format!("{}\n", line.trim_end());
    }
    for line in conclusions(result) {
        out += &format!("  {line}\n");
    }
    out
}

/// Returns sentences about a result: the baseline, the quality of the model's first choice, an early end.
fn conclusions(result: &ShapeResult) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(time) = result.baseline_us {
        out.push(format!("the baseline, {}, takes {}", result.baseline, micros(time)));
    }
    if let Some(ratio) = first_choice(result) {
        out.push(format!("the model's first choice takes {ratio:.3}× the time of the chosen candidate"));
    }
    if result.stopped {
        out.push("stopped: the same command goes on from here".to_owned());
    }
    out
}

/// Returns the time of the candidate with the best estimate divided by that of the chosen candidate. `None` if no candidate is
/// chosen or one of the two was not measured.
fn first_choice(result: &ShapeResult) -> Option<f64> {
    let estimated = |row: &&Row| row.estimate_us.is_some() && row.refused.is_none();
    let estimate = |row: &Row| row.estimate_us.unwrap_or(f64::INFINITY);
    let first = result.rows.iter().filter(estimated).min_by(|a, b| estimate(a).total_cmp(&estimate(b)))?;
    let chosen = result.rows.iter().find(|row| row.chosen)?;
    Some(first.relative? / chosen.relative?)
}

fn name(row: &Row) -> String {
    let candidate = if row.candidate.is_empty() { "the kernel" } else { &row.candidate };
    if row.is_default { format!("{candidate} (defaults)") } else { candidate.to_owned() }
}

fn verdict(row: &Row) -> String {
    let earlier = if row.stored { ", of an earlier run" } else { "" };
    match (row.chosen, row.round, &row.refused) {
        (true, ..) => format!("chosen{earlier}"),
        (_, _, Some(reason)) => format!("no code: {reason}"),
        (_, Some(round), _) if round < ROUNDS => {
            format!("dropped in round {round}{earlier}")
        }
        (_, Some(_), _) => earlier.trim_start_matches(", ").to_owned(),
        (_, None, _) => "not measured".to_owned(),
    }
}

fn micros(us: f64) -> String {
    if us >= 1000.0 { format!("{us:.1} µs") } else { format!("{us:.2} µs") }
}

/// Returns the highest speed in FLOP/s that the stated peaks allow at an intensity in FLOP per byte: a point of the roofline.
/// `None` unless both peaks are stated.
fn roof_at(intensity: f64, roofs: &Roofs) -> Option<f64> {
    let (flops, bytes) = (roofs.flops?, roofs.bytes?);
    Some(flops.min(bytes * intensity))
}
