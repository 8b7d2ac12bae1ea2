//! The facts about a block that assertions are compared with: findings, types, layouts and instructions, each with its line.
//!
//! The compiler finds all of them; this module only asks and sorts by line.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hx_base::testing::MemorySystem;
use hx_base::{Diagnostic, Severity, SourceFile, TextRange, line_index};
use hx_compile::{check_file, default_instance, solved, tile_program};
use hx_driver::{Filter, TestOptions, Verdict, WorkLimit, list_tests, run_tests};
use hx_hir::{
    Item, Kernel, Pat, body_of, body_source_map, file_items, infer_body, signature_source_map,
    signature_types,
};
use hx_launch::Machine;
use hx_target::Target;
use hx_tile::{Origin, choice_text, layout_text};
use hx_workspace::Database;

use super::page::Block;

/// A place: the index of a file in its block, and of a line in the file.
pub(super) type Place = (usize, usize);

/// A diagnostic.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) place: Place,
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) notes: Vec<String>,
    /// Advice in words, and the titles of fixes.
    pub(super) help: Vec<String>,
    /// Related places with their remarks.
    pub(super) labels: Vec<(Place, String)>,
}

/// A fact about a name, an expression or a tensor of a line.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) place: Place,
    /// The text of the name or expression, or the name of the tensor.
    pub(super) subject: String,
    /// A `let` binds the subject here.
    pub(super) bound: bool,
    pub(super) text: String,
}

/// All facts about a block.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) findings: Vec<Finding>,
    pub(super) types: Vec<Fact>,
    pub(super) layouts: Vec<Fact>,
    pub(super) instructions: Vec<(Place, String)>,
    pub(super) reasons: Vec<(Place, String)>,
    /// Tests that neither passed nor failed, each with the reason.
    pub(super) unjudged: Vec<String>,
}

/// Checks a block as `hx check` does. If it has no errors, runs its tests on the simulator, as `hx test` does.
pub(super) fn facts(block: &Block) -> Facts {
    let texts = block.files.iter().map(|file| (file.name.as_str(), file.text.as_str()));
    let mut db = Database::new(Arc::new(MemorySystem::new(texts)));
    let names = block.files.iter().map(|file| file.name.as_str());
    let files: Vec<SourceFile> =
        names.flat_map(|name| db.open(name).map(|opened| opened.files).unwrap_or_default()).collect();
    let mut collected = Collector { db: &db, files: &files, facts: Facts::default() };
    for file in &files {
        check_file(&db, *file, block.target).iter().for_each(|found| collected.finding(found));
        for item in &file_items(&db, *file).items {
            collected.types(*item);
        }
        for kernel in file_items(&db, *file).kernels() {
            collected.solution(kernel, block.target);
        }
    }
    if collected.facts.findings.iter().all(|found| found.severity != Severity::Error) {
        collected.tests(block.target);
    }
    collected.facts
}

struct Collector<'db> {
    db: &'db Database,
    files: &'db [SourceFile],
    facts: Facts,
}

impl<'db> Collector<'db> {
    /// Returns the place where a range begins; `None` if it is not in a file of the block.
    fn place(&self, file: SourceFile, range: TextRange) -> Option<Place> {
        let at = self.files.iter().position(|known| *known == file)?;
        Some((at, line_index(self.db, file).line_col(range.start()).line as usize))
    }

    fn finding(&mut self, found: &Diagnostic) {
        // A finding in another file than those of the block is shown at the first line.
        let place = self.place(found.primary.file, found.primary.range).unwrap_or_default();
        let fixes = found.fixes.iter().map(|fix| fix.title.clone());
        let primary = std::iter::once(&found.primary).chain(&found.secondary);
        let labels = primary.filter_map(|at| Some((self.place(at.file, at.range)?, at.message.clone())));
        let finding = Finding {
            place,
            severity: found.severity,
            code: found.code.id,
            message: found.message.clone(),
            notes: found.notes.clone(),
            help: found.help.iter().cloned().chain(fixes).collect(),
            labels: labels.collect(),
        };
        self.facts.findings.push(finding);
    }

    fn fact(&self, file: SourceFile, range: TextRange, bound: bool, text: String) -> Option<Fact> {
        let subject = file.text(self.db).get(std::ops::Range::<usize>::from(range))?.to_owned();
        Some(Fact { place: self.place(file, range)?, subject, bound, text })
    }

    /// Collects the types of an item's parameters, names and expressions.
    fn types(&mut self, item: Item<'db>) {
        let (db, file, offset) = (self.db, item.file(self.db), item.offset(self.db));
        if let Some(map) = signature_source_map(db, item) {
            let params = map.params.iter().zip(&signature_types(db, item).params);
            let facts =
                params.filter_map(|(range, ty)| self.fact(file, *range + offset, false, ty.to_string()));
            let facts: Vec<Fact> = facts.collect();
            self.facts.types.extend(facts);
        }
        let Some(map) = body_source_map(db, item) else { return };
        let (body, inferred) = (body_of(db, item), infer_body(db, item));
        let bound = inferred.pats.iter().filter(|(pat, _)| matches!(body.store[*pat], Pat::Bind(_)));
        let bound = bound.filter_map(|(pat, ty)| Some((map.pat(pat)?, true, ty)));
        let exprs = inferred.exprs.iter().filter_map(|(expr, ty)| Some((map.expr(expr)?, false, ty)));
        let facts = bound
            .chain(exprs)
            .filter_map(|(range, bound, ty)| self.fact(file, range + offset, bound, ty.to_string()));
        let facts: Vec<Fact> = facts.collect();
        self.facts.types.extend(facts);
    }

    /// Collects the layouts and instructions of a kernel's default instance.
    fn solution(&mut self, kernel: Kernel<'db>, target: Target) {
        let db = self.db;
        let Some(instance) = default_instance(db, kernel, target) else { return };
        let Ok(lowered) = tile_program(db, instance) else { return };
        let Ok(solved) = solved(db, instance) else { return };
        let place = |origin: Origin| {
            let (file, range) = lowered.sources.origins.get(origin.0 as usize)?.place.range(db)?;
            self.place(file, range)
        };
        let (program, solution) = (&*solved.program, &solved.solution);
        let (mut layouts, mut instructions, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
        for id in program.tensor_ids() {
            let tensor = program.tensor(id);
            let Some(place) = place(tensor.origin) else { continue };
            let Some((text, reason)) = layout_text(program, solution, id) else { continue };
            let text = text.split_once(" = ").map_or(text.clone(), |(_, layout)| layout.to_owned());
            let is_binding = |fact: &&Fact| fact.bound && fact.place == place && fact.subject == tensor.name;
            let bound = self.facts.types.iter().any(|fact| is_binding(&fact));
            layouts.push(Fact { place, subject: tensor.name.clone(), bound, text });
            reasons.push((place, reason.text.clone()));
        }
        for (op, _) in program.ops(1.0) {
            let Some(place) = place(op.origin) else { continue };
            let Some((text, reason)) = choice_text(program, solution, op) else { continue };
            // The line repeats the operation before the instruction.
            let what = format!("#{} {}: ", op.id.0, hx_tile::op_text(program, op));
            instructions.push((place, text.strip_prefix(&what).unwrap_or(&text).to_owned()));
            reasons.push((place, reason.text.clone()));
        }
        self.facts.layouts.extend(layouts);
        self.facts.instructions.extend(instructions);
        self.facts.reasons.extend(reasons);
    }

    /// Runs the tests of the block on the simulator, and collects what the failed ones found.
    fn tests(&mut self, target: Target) {
        let machine = Machine::Simulator { target, instead_of: None, compiler: None };
        let listing = list_tests(self.db, self.files, &Filter::default(), WorkLimit::unlimited());
        let options = TestOptions::default();
        run_tests(self.db, &listing.cases, &machine, &options, &AtomicBool::new(false), |report| {
            match &report.verdict {
                Verdict::Passed => {}
                Verdict::Failed(found) => found.iter().for_each(|found| self.finding(found)),
                Verdict::Skipped(reason) => {
                    self.facts.unjudged.push(format!("{}: {reason}", report.case.name))
                }
            }
            let unjudged = report.unjudged.iter().map(|reason| format!("{}: {reason}", report.case.name));
            self.facts.unjudged.extend(unjudged);
        });
    }
}
