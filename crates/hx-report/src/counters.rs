//! Draws a report for a terminal: the lines of the kernel, and below each line its operations with their counters.
//!
//! The widths of the columns follow from the numbers. On a narrow terminal the least important columns are left out, and no
//! line is longer than the terminal is wide.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hx_inspect::{FormatReport, KernelReport, Row, Spot};
use hx_sim::{Counters, byte_count};
use hx_tile::OpCycles;
use textwrap::core::display_width;

use crate::wrap::{cut, filled};

/// The least room for names of instructions. Columns are left out until there is that much.
const LEAST_NAME: usize = 26;
/// The most room that names get, so that the numbers stay near them.
const MOST_NAME: usize = 44;
/// The columns between two numbers.
const GUTTER: usize = 2;
/// The columns before the text of a remark.
const INDENT: usize = 7;

/// The columns, from left to right.
const COLUMNS: [Column; 7] = [
    Column { head: "issued", rank: 4 },
    Column { head: "bytes", rank: 1 },
    Column { head: "sectors", rank: 2 },
    Column { head: "conflicts", rank: 3 },
    Column { head: "redundant", rank: 6 },
    Column { head: "unit", rank: 5 },
    Column { head: "share", rank: 0 },
];

/// A column of numbers. On a narrow terminal the column with the highest rank is left out first.
struct Column {
    head: &'static str,
    rank: usize,
}

/// A line of the listing.
enum Line {
    /// The path and the item whose lines follow.
    Part(String),
    /// A line of the text, with its number.
    Source(u32, String),
    /// Lines of the text are left out.
    Gap,
    /// Numbers with a label and a name.
    Numbers {
        label: String,
        name: String,
        cells: [String; COLUMNS.len()],
    },
    /// A further name of the row above.
    Name(String),
    Remark(String),
}

/// The form of the report of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportForm {
    /// Lines of at most this many columns.
    Text { width: usize },
    /// A JSON object on one line.
    Json,
}

impl FormatReport for ReportForm {
    fn of_launch(&self, number: usize, report: &KernelReport) -> String {
        match *self {
            ReportForm::Text { width } => Drawing(report).text(&format!("launch {number} of"), width),
            ReportForm::Json => {
                let mut object = report.json();
                object["type"] = "report".into();
                object["launch"] = number.into();
                format!("{object}\n")
            }
        }
    }
}

/// Draws the report of all launches of an instance, as lines of at most `width` columns.
pub fn summed_counters(report: &KernelReport, width: usize) -> String {
    let title = match report.launches {
        1 => "1 launch of".to_owned(),
        n => format!("{n} launches of"),
    };
    Drawing(report).text(&title, width)
}

/// A report that is drawn.
struct Drawing<'r>(&'r KernelReport);

impl std::ops::Deref for Drawing<'_> {
    type Target = KernelReport;

    fn deref(&self) -> &KernelReport {
        self.0
    }
}

impl Drawing<'_> {
    /// Returns the report as lines of at most `width` columns. `title` says which launches it is about, as in `launch 1 of`.
    fn text(&self, title: &str, width: usize) -> String {
        let lines = self.lines();
        let columns = Columns::of(&lines, width);
        let mut out = String::new();
        let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut head = format!(
            "{title} {} on {}: {} of {}, {}",
            self.kernel,
            self.target,
            plural(self.blocks, "block"),
            plural(u64::from(self.threads), "thread"),
            plural(self.barriers, "barrier")
        );
        if self.cycles > 0.0 {
            let _ = write!(head, ", about {:.0} cycles a block", self.cycles / self.blocks.max(1) as f64);
        }
        out += &filled(&head, width, "", "  ");
        let heads = COLUMNS.map(|column| column.head.to_owned());
        columns.numbers(("", ""), &heads, &mut out);
        for line in &lines {
            columns.line(line, &mut out);
        }
        for note in &self.notes {
            let at = format!("{}:{}:{}", note.path, note.line, note.column);
            out += &filled(&format!("{at}: performance[{}]: {}", note.code, note.message), width, "", "  ");
            for (word, texts) in [("note", &note.notes), ("help", &note.help)] {
                for text in texts {
                    out += &filled(&format!("{word}: {text}"), width, "  ", "    ");
                }
            }
        }
        out
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in 0..self.parts.len() {
            self.part(part, &mut lines);
        }
        let numbers = |name: &str, counters: &Counters| Line::Numbers {
            label: String::new(),
            name: name.to_owned(),
            cells: self.cells(counters, &OpCycles::default()),
        };
        if self.other != Counters::default() {
            lines.push(numbers("outside of operations", &self.other));
        }
        lines.push(numbers("in all", &self.total()));
        lines
    }

    /// Adds the lines of a part, each with its operations and its calls.
    fn part(&self, at: usize, out: &mut Vec<Line>) {
        let part = &self.parts[at];
        out.push(Line::Part(format!("{}, {} {}", part.path, part.kind, part.name)));
        let calls = self.calls(at);
        let mut last = None;
        for (number, text) in &part.lines {
            if last.is_some_and(|last| last + 1 < *number) {
                out.push(Line::Gap);
            }
            last = Some(*number);
            // The edges of a gap that are blank say nothing.
            if text.trim().is_empty() {
                continue;
            }
            out.push(Line::Source(*number, text.replace('\t', "    ")));
            let here = |spot: &Spot| spot.part == at && spot.line == *number;
            let rows = joined(self.rows.iter().filter(|row| here(&row.spot)));
            rows.iter().for_each(|row| self.row(row, out));
            for ((_, callee), (counters, cycles)) in calls.range((*number, 0)..(*number + 1, 0)) {
                let name = &self.parts[*callee].name;
                out.push(Line::Numbers {
                    label: "→".to_owned(),
                    name: format!("{name}, below"),
                    cells: self.cells(counters, cycles),
                });
            }
        }
    }

    /// Returns the counters of all that a part calls, by the line of the call and the part that is called.
    fn calls(&self, at: usize) -> BTreeMap<(u32, usize), (Counters, OpCycles)> {
        let mut calls: BTreeMap<(u32, usize), (Counters, OpCycles)> = BTreeMap::new();
        for row in &self.rows {
            let mut callee = row.spot.part;
            for call in &row.calls {
                if call.part == at {
                    let (counters, cycles) = calls.entry((call.line, callee)).or_default();
                    *counters += row.counters;
                    *cycles += row.cycles;
                }
                callee = call.part;
            }
        }
        calls
    }

    fn row(&self, (row, count): &(Row, usize), out: &mut Vec<Line>) {
        let mut names = row.instructions.iter().cloned();
        let name = names.next().unwrap_or_else(|| row.title.clone());
        out.push(Line::Numbers {
            label: format!("#{}", row.op.0),
            name: if *count > 1 { format!("{count} × {name}") } else { name },
            cells: self.cells(&row.counters, &row.cycles),
        });
        out.extend(names.map(Line::Name));
        out.extend(row.advice.remarks(&row.counters).into_iter().map(Line::Remark));
    }

    /// Returns the cells of a row. Counts of 0 are blank, but no conflicts in an access to shared memory are `0`.
    fn cells(&self, c: &Counters, cycles: &OpCycles) -> [String; COLUMNS.len()] {
        let count = |n: u64| if n == 0 { String::new() } else { n.to_string() };
        let sectors = match c.sectors {
            0 => String::new(),
            found => format!("{found} {:.1}x", found as f64 / c.ideal_sectors.max(1) as f64),
        };
        let conflicts = if c.wavefronts == 0 { String::new() } else { c.conflicts().to_string() };
        let (busiest, most) = cycles.resources.most();
        let unit = match self.percent(most) {
            percent if percent.is_empty() => percent,
            percent => format!("{} {percent}", busiest.word()),
        };
        let (moved, again) = (byte_count(c.bytes), byte_count(c.redundant_bytes));
        [count(c.instructions), moved, sectors, conflicts, again, unit, self.percent(cycles.threads)]
    }

    /// Returns the part of the estimate that `cycles` are. Less than half a percent is blank.
    fn percent(&self, cycles: f64) -> String {
        let percent = (self.share(cycles) * 100.0).round();
        if percent < 1.0 { String::new() } else { format!("{percent}%") }
    }
}

/// Joins the operations that the same place of the text has several times, as in an unrolled loop, if they use the same
/// instructions. Returns each with the number of its operations.
fn joined<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<(Row, usize)> {
    let mut out: Vec<(Row, usize)> = Vec::new();
    for row in rows {
        let like = |(other, _): &&mut (Row, usize)| {
            other.spot == row.spot && other.moves == row.moves && other.instructions == row.instructions
        };
        match out.iter_mut().find(like) {
            Some((joined, count)) => {
                joined.counters += row.counters;
                joined.cycles += row.cycles;
                joined.advice.join(row.advice.clone());
                *count += 1;
            }
            None => out.push((row.clone(), 1)),
        }
    }
    out
}

/// The columns of a listing.
struct Columns {
    width: usize,
    /// The columns of the longest line number.
    number: usize,
    /// The columns of the longest label.
    label: usize,
    /// The columns for names.
    name: usize,
    /// The width of each column of numbers; `None` for one that is left out.
    widths: [Option<usize>; COLUMNS.len()],
}

impl Columns {
    /// Chooses the columns for these lines. A column without a number is left out.
    fn of(lines: &[Line], width: usize) -> Columns {
        let mut widths = [None; COLUMNS.len()];
        let (mut number, mut label, mut name) = (1, 1, 0);
        for line in lines {
            match line {
                Line::Source(at, _) => number = number.max(at.to_string().len()),
                Line::Name(text) => name = name.max(display_width(text)),
                Line::Numbers { label: own, name: text, cells } => {
                    label = label.max(display_width(own));
                    name = name.max(display_width(text));
                    for ((cell, widest), column) in cells.iter().zip(&mut widths).zip(COLUMNS) {
                        if !cell.is_empty() {
                            let least = widest.unwrap_or(column.head.len());
                            *widest = Some(least.max(cell.len()));
                        }
                    }
                }
                Line::Part(_) | Line::Gap | Line::Remark(_) => {}
            }
        }
        let before = label + 3;
        loop {
            let taken: usize = widths.iter().flatten().map(|cell| cell + GUTTER).sum();
            let room = width.saturating_sub(before + taken);
            let last =
                (0..widths.len()).filter(|at| widths[*at].is_some()).max_by_key(|at| COLUMNS[*at].rank);
            match last {
                Some(at) if room < LEAST_NAME.min(name) => widths[at] = None,
                _ => return Columns { width, number, label, name: room.min(name).min(MOST_NAME), widths },
            }
        }
    }

    fn line(&self, line: &Line, out: &mut String) {
        match line {
            Line::Part(text) => {
                out.push_str(&cut(text, self.width));
                out.push('\n');
            }
            Line::Source(number, text) => {
                let line = format!("{number:>width$} │ {text}", width = self.number);
                out.push_str(cut(&line, self.width).trim_end());
                out.push('\n');
            }
            Line::Gap => {
                let _ = writeln!(out, "{:>width$} ⋮", "", width = self.number);
            }
            Line::Numbers { label, name, cells } => self.numbers((label, name), cells, out),
            Line::Name(text) => self.numbers(("", text), &Default::default(), out),
            Line::Remark(text) => {
                let first = format!("{:INDENT$}", "");
                out.push_str(&filled(text, self.width, &first, &first));
            }
        }
    }

    fn numbers(&self, (label, name): (&str, &str), cells: &[String; COLUMNS.len()], out: &mut String) {
        let name = cut(name, self.name);
        let pad = " ".repeat(self.name - display_width(&name));
        let _ = write!(out, "  {label:>width$} {name}{pad}", width = self.label);
        for (cell, width) in cells.iter().zip(self.widths) {
            if let Some(width) = width {
                let _ = write!(out, "{:GUTTER$}{cell:>width$}", "");
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
}
