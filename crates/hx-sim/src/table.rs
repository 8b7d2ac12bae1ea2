//! Formats a report as text for the tests, one line for each operation.

use std::collections::BTreeMap;
use std::fmt::Write;

use hx_thread::{Body, Control, Stmt, ThreadProgram, visit};
use hx_tile::OpId;

use crate::report::{Counters, Report, byte_count};

const HEAD: [&str; 9] =
    ["op", "instructions", "bytes", "redundant", "sectors", "ideal", "wavefronts", "ideal", "operation"];

impl Report {
    /// Returns the report as a table: a line for each tile operation in the order of the program, a line for statements outside
    /// of operations, the sum, and remarks. `program` is the program that ran; it supplies the titles of the operations. Counts
    /// of 0 are left blank. The text ends with a line break.
    ///
    /// Sectors and wavefronts are followed by their ideal numbers. More sectors than the ideal mean uncoalesced or unaligned
    /// accesses; more wavefronts mean bank conflicts.
    pub fn table(&self, program: &ThreadProgram) -> String {
        let mut titles = Vec::new();
        operations(&program.body, &mut titles);
        let mut rest = self.ops.clone();
        let mut rows = vec![HEAD.map(String::from)];
        let mut total = self.other;
        for (op, title) in &titles {
            // An operation that occurs twice in the program has one line with all its counts.
            if let Some(counters) = rest.remove(op) {
                total += counters;
                rows.push(row(&format!("#{}", op.0), &counters, title));
            }
        }
        for (op, counters) in &rest {
            total += *counters;
            rows.push(row(&format!("#{}", op.0), counters, ""));
        }
        if self.other != Counters::default() {
            rows.push(row("", &self.other, "outside of operations"));
        }
        rows.push(row("", &total, "in all"));
        let mut out = aligned(&rows);
        let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let _ = writeln!(
            out,
            "{} of {}, {}",
            plural(self.blocks, "block"),
            plural(u64::from(program.block_threads()), "thread"),
            plural(self.barriers, "barrier")
        );
        for (op, c) in self.ops.iter().filter(|(_, c)| c.unwaited > 0) {
            let _ = writeln!(
                out,
                "#{}: {} never waited for",
                op.0,
                if c.unwaited == 1 {
                    "an asynchronous copy of a thread was".into()
                } else {
                    format!("{} asynchronous copies of threads were", c.unwaited)
                }
            );
        }
        out
    }
}

/// Collects the operations of a program with their titles.
fn operations<'p>(body: &'p Body, out: &mut Vec<(OpId, &'p str)>) {
    visit(body, &mut |stmt| {
        if let Stmt::Control(Control::Group(group)) = stmt {
            out.push((group.op, &group.title));
        }
    });
}

fn row(op: &str, c: &Counters, title: &str) -> [String; 9] {
    let number = |n: u64| if n == 0 { String::new() } else { n.to_string() };
    [
        op.into(),
        number(c.instructions),
        byte_count(c.bytes),
        byte_count(c.redundant_bytes),
        number(c.sectors),
        number(c.ideal_sectors),
        number(c.wavefronts),
        number(c.ideal_wavefronts),
        title.into(),
    ]
}

/// Aligns numbers to the right and titles to the left.
fn aligned(rows: &[[String; 9]]) -> String {
    let mut widths: BTreeMap<usize, usize> = BTreeMap::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = widths.entry(column).or_default();
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        for (column, cell) in row[..8].iter().enumerate() {
            let _ = write!(out, "{cell:>width$}  ", width = widths[&column]);
        }
        out.push_str(&row[8]);
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}
