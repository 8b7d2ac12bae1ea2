//! Makes the report of a launch: finds the text of each operation, its instructions and its part of the estimate.

use std::collections::{BTreeMap, BTreeSet};

use hx_base::{Diagnostic, line_index, printable};
use hx_compile::{Db, Instance, estimate_of_launch, performance_notes, tile_program};
use hx_hir::{ItemKey, signature_source_map};
use hx_lower::{Lowered, Place};
use hx_sim::{Counters, Report};
use hx_target::Form;
use hx_thread::{Control, Description, Group, Leaf, Stmt, ThreadProgram, visit};
use hx_tile::{OpCycles, OpId, Origin, op_text};

use super::advice::Advice;
use super::{KernelReport, Moves, Note, Part, Row, Spot};
use crate::why::Solved;

/// A gap of at most this many lines between two operations is shown whole. Of a longer gap only the last line is shown, which
/// often is the header of a loop or a condition.
const GAP: u32 = 3;

/// A launch that has run.
pub struct Ran<'l, 'db> {
    pub db: &'db dyn Db,
    pub instance: Instance<'db>,
    /// The instance as text.
    pub kernel: String,
    pub program: &'l ThreadProgram,
    /// Dimensions and strides of the launch.
    pub dims: &'l [(String, i64)],
    pub counted: &'l Report,
}

impl std::fmt::Debug for Ran<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ran").field("kernel", &self.kernel).field("dims", &self.dims).finish_non_exhaustive()
    }
}

impl Ran<'_, '_> {
    /// Returns the report of the launch; `None` if the instance has no program.
    pub fn report(&self) -> Option<KernelReport> {
        let lowered = tile_program(self.db, self.instance).as_ref().ok()?;
        let solved = Solved::of(self.db, self.instance, self.dims)?;
        let estimate = estimate_of_launch(self.db, self.instance, self.dims);
        let blocks = self.counted.blocks as f64;
        let mut places = Places { db: self.db, lowered, items: Vec::new(), shown: BTreeMap::new() };
        places.kernel(self.instance);
        let cycles = |op| estimate.as_ref().and_then(|estimate| estimate.ops.get(&op)).copied();
        let mut rows: Vec<Row> = Vec::new();
        for (group, code) in operations(self.program) {
            let cycles = cycles(group.op).unwrap_or_default() * blocks;
            rows.extend(self.row(group, code, cycles, &solved, &mut places));
        }
        Some(KernelReport {
            kernel: self.kernel.clone(),
            target: self.instance.target(self.db),
            launches: 1,
            blocks: self.counted.blocks,
            threads: self.program.block_threads(),
            barriers: self.counted.barriers,
            cycles: estimate.as_ref().map_or(0.0, |estimate| estimate.block * blocks),
            other: self.rest(&rows),
            notes: performance_notes(self.db, self.instance).map(|found| Note::of(self.db, found)).collect(),
            parts: places.parts(),
            rows,
        })
    }

    /// Returns the counters that belong to no row.
    fn rest(&self, rows: &[Row]) -> Counters {
        let listed: BTreeSet<OpId> = rows.iter().map(|row| row.op).collect();
        let mut rest = self.counted.other;
        for (op, counters) in &self.counted.ops {
            if !listed.contains(op) {
                rest += *counters;
            }
        }
        rest
    }

    fn row(
        &self,
        group: &Group,
        code: Code,
        cycles: OpCycles,
        solved: &Solved<'_>,
        places: &mut Places<'_, '_>,
    ) -> Option<Row> {
        let (spot, calls) = places.of(group.origin)?;
        let counters = self.counted.ops.get(&group.op).copied().unwrap_or_default();
        let op = solved.program().op(group.op);
        Some(Row {
            op: group.op,
            spot,
            calls,
            title: op.map_or_else(|| group.title.clone(), |op| op_text(solved.program(), op)),
            instructions: code.rows,
            moves: code.moves,
            counters,
            cycles,
            advice: op
                .map(|op| Advice::of(self.db, self.instance, solved, op, &counters))
                .unwrap_or_default(),
        })
    }
}

impl Note {
    fn of(db: &dyn Db, found: &Diagnostic) -> Note {
        let file = found.primary.file;
        let at = line_index(db, file).line_col(found.primary.range.start());
        let fixes = found.fixes.iter().map(|fix| fix.title.clone());
        Note {
            code: found.code.id,
            path: file.path(db).to_owned(),
            line: at.line + 1,
            column: at.col + 1,
            message: found.message.clone(),
            notes: found.notes.clone(),
            help: fixes.chain(found.help.iter().cloned()).collect(),
        }
    }
}

/// The instructions of an operation.
#[derive(Debug)]
struct Code {
    /// The rows of the catalogue, each once in the order of the program.
    rows: Vec<String>,
    moves: Moves,
}

/// Returns the operations of a program in the order of their numbers. One whose statements are at several places is one operation.
fn operations(program: &ThreadProgram) -> Vec<(&Group, Code)> {
    let mut found: Vec<(&Group, Code)> = Vec::new();
    visit(&program.body, &mut |stmt| {
        let Stmt::Control(Control::Group(group)) = stmt else { return };
        let at = found.iter().position(|(other, _)| other.op == group.op).unwrap_or_else(|| {
            found.push((group, Code { rows: Vec::new(), moves: Moves::Nothing }));
            found.len() - 1
        });
        found[at].1.body(&group.body);
    });
    // A product that loads its operands slice by slice contains the loads, which come before it in the tile program.
    found.sort_by_key(|(group, _)| group.op);
    found
}

impl Code {
    /// Adds the statements of a body, without those of other operations in it.
    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Leaf(leaf) => self.add(leaf),
                Stmt::Control(Control::Group(_)) => {}
                Stmt::Control(control) => control.bodies().for_each(|body| self.body(body)),
            }
        }
    }

    fn add(&mut self, leaf: &Leaf) {
        let Description { row, form, touches, .. } = leaf.description();
        let moves = match form {
            Some(Form::CopyInGroup | Form::CopyToBarrier) => Moves::AsyncCopies,
            Some(Form::BulkLoad | Form::BulkStore | Form::BulkAdd | Form::Send) => Moves::Bulk,
            Some(Form::Product) => Moves::Nothing,
            None if matches!(leaf, Leaf::Transfer(transfer) if transfer.atomic.is_some()) => Moves::Atomics,
            None if touches.is_empty() => Moves::Nothing,
            None => Moves::Registers,
        };
        self.moves = self.moves.max(moves);
        if let Some(row) = row.filter(|row| !self.rows.iter().any(|known| known == row)) {
            self.rows.push(row.to_owned());
        }
    }
}

/// The items in whose text the operations are, with the lines to show.
struct Places<'l, 'db> {
    db: &'db dyn Db,
    lowered: &'l Lowered,
    items: Vec<ItemKey>,
    /// For each item, by its position, the lines with operations, from 1.
    shown: BTreeMap<usize, BTreeSet<u32>>,
}

impl Places<'_, '_> {
    /// Makes the kernel the first of the items.
    fn kernel(&mut self, instance: Instance<'_>) {
        self.items.push(instance.kernel(self.db).key(self.db));
    }

    /// Returns the place of an operation, and those of the calls around it, the innermost first; `None` if the text lacks one
    /// of them.
    fn of(&mut self, origin: Origin) -> Option<(Spot, Vec<Spot>)> {
        let lowered = self.lowered;
        let mut at = lowered.sources.origins.get(origin.0 as usize)?;
        let spot = self.spot(&at.place)?;
        let mut calls = Vec::new();
        while let Some(call) = at.call {
            at = lowered.sources.origins.get(call.0 as usize)?;
            calls.push(self.spot(&at.place)?);
        }
        Some((spot, calls))
    }

    fn spot(&mut self, place: &Place) -> Option<Spot> {
        let (file, range) = place.range(self.db)?;
        let part = match self.items.iter().position(|item| *item == place.item) {
            Some(part) => part,
            None => {
                self.items.push(place.item.clone());
                self.items.len() - 1
            }
        };
        let at = line_index(self.db, file).line_col(range.start());
        let (line, column) = (at.line + 1, at.col + 1);
        self.shown.entry(part).or_default().insert(line);
        Some(Spot { part, line, column })
    }

    fn parts(&self) -> Vec<Part> {
        self.items.iter().enumerate().map(|(at, item)| self.part(at, item)).collect()
    }

    fn part(&self, at: usize, key: &ItemKey) -> Part {
        let db = self.db;
        let index = line_index(db, key.file);
        let header = key.find(db).and_then(|item| {
            let range = signature_source_map(db, item)?.header;
            Some(index.line_col(range.start() + item.offset(db)).line + 1)
        });
        let mut wanted = self.shown.get(&at).cloned().unwrap_or_default();
        wanted.extend(header);
        let text: Vec<&str> = key.file.text(db).lines().collect();
        let line = |number: u32| text.get(number as usize - 1).copied().unwrap_or_default();
        let lines =
            with_gaps(&wanted).into_iter().map(|number| (number, printable(line(number)).into_owned()));
        Part {
            path: key.file.path(db).to_owned(),
            kind: key.kind.word(),
            name: key.name.to_string(),
            lines: lines.collect(),
        }
    }
}

/// Adds the lines between wanted lines: all of a short gap, the last one of a long one.
fn with_gaps(wanted: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut out = wanted.clone();
    for (from, to) in wanted.iter().zip(wanted.iter().skip(1)) {
        let between = from + 1..*to;
        if between.len() as u32 <= GAP {
            out.extend(between);
        } else {
            out.insert(to - 1);
        }
    }
    out
}
