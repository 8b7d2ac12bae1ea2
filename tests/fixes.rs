//! Every help that is offered as an edit is applied: the text is checked again, the finding is gone, and no error replaces it.
//!
//! The programs are those of the whole tree: planted bugs and right programs, programs without layouts, the blocks of the
//! specification and of the book, and the texts of the tests of all crates (`fixes/gather.rs`). A fix after which there is a
//! new error is a failure. The exceptions are programs with a second error that the mended one hid: somebody checked by hand
//! that the fix is right, and `fixes/uncovered.rs` names the program with its reason.
//!
//! A run takes every eighth program and every 401st mistake, which is some 20 seconds of CPU; `HX_TEST_SEED` decides where it begins, and
//! `HX_FIXES=all` takes all. `HX_FIXES_IN=FOLDER` names one more folder of programs; `--nocapture` shows the table.

mod gather;
mod mutate;
mod uncovered;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hx_base::testing::MemorySystem;
use hx_base::{Applicability, Diagnostic, FileKind, Fix, Severity, TextSize};
use hx_compile::check_file;
use hx_target::Target;
use hx_workspace::Database;

use crate::support::seed;
use gather::{Program, mutants, programs};

/// The minimal numbers of fixes: for all programs, and for all programs with a mistake. Fewer mean that programs were lost.
const OFFERED: usize = 400;
const OF_MISTAKES: usize = 800;
/// The distances from one program to the next in a run that does not take all: of the programs, and of those with a mistake.
const STEP: usize = 8;
const STEP_OF_MISTAKES: usize = 401;

/// A finding as it is compared before and after an edit.
#[derive(Clone, Debug)]
struct Found {
    file: String,
    start: TextSize,
    severity: Severity,
    code: &'static str,
    message: String,
    fixes: Vec<Change>,
}

/// The edits of a fix, by the paths of their files.
#[derive(Clone, Debug)]
struct Change {
    title: String,
    applicability: Applicability,
    edits: Vec<(String, Range<usize>, String)>,
}

/// The result of applying a fix.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    /// The finding is gone and no error is new.
    Holds,
    /// The finding is still there.
    Stays,
    /// The finding is gone, and these errors are new.
    Replaced(Vec<String>),
    /// The fix edits a text that its user does not own.
    Foreign,
}

/// A fix that was tried.
struct Tried {
    program: String,
    code: &'static str,
    title: String,
    applicability: Applicability,
    outcome: Outcome,
    text: String,
}

#[test]
fn every_fix_removes_its_finding_and_makes_no_error() {
    let (step, first) = sample(STEP);
    let chosen: Vec<Program> = programs().into_iter().skip(first).step_by(step).collect();
    check(&chosen, OFFERED / step / 2);
}

/// Fixes of mistakes that are made in right programs.
#[test]
fn fixes_of_mistakes_restore_the_program() {
    let (step, first) = sample(STEP_OF_MISTAKES);
    check(&mutants(step, first), OF_MISTAKES / step / 2);
}

/// Returns the distance between the programs that a run takes, and the number of the first.
fn sample(step: usize) -> (usize, usize) {
    let all = std::env::var("HX_FIXES").is_ok_and(|which| which == "all");
    if all { (1, 0) } else { (step, seed() as usize % step) }
}

fn check(programs: &[Program], least: usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share =
        |core: usize| -> Vec<Tried> { programs.iter().skip(core).step_by(cores).flat_map(tried).collect() };
    let share = &share;
    let tried: Vec<Tried> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(move || share(core))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a panic of the compiler is caught"))
            .collect()
    });
    println!("{} programs\n{}", programs.len(), table(&tried));
    assert!(tried.len() >= least, "{} fixes were offered, {least} were there", tried.len());
    let mut wrong: Vec<&Tried> = tried.iter().filter(|tried| tried.outcome != Outcome::Holds).collect();
    wrong.retain(|tried| !uncovered::UNCOVERED.iter().any(|mistake| mistake.is(&tried.program, tried.code)));
    let lines: String = wrong.iter().map(|tried| failure_text(tried)).collect();
    assert!(wrong.is_empty(), "{} fixes fail\n{lines}", wrong.len());
}

/// Returns a table with a line for each code and certainty: the number of fixes that were offered, and the number of those that
/// hold.
fn table(tried: &[Tried]) -> String {
    let mut rows: BTreeMap<(&str, Applicability), [usize; 2]> = BTreeMap::new();
    for tried in tried {
        let row = rows.entry((tried.code, tried.applicability)).or_default();
        row[0] += 1;
        row[1] += usize::from(tried.outcome == Outcome::Holds);
    }
    let mut text = String::from("code    certainty  offered  hold\n");
    for ((code, applicability), [offered, hold]) in &rows {
        let _ = writeln!(text, "{code}  {:<9}  {offered:>7}  {hold:>4}", applicability.as_str());
    }
    let [offered, hold] =
        rows.values().fold([0, 0], |[offered, hold], row| [offered + row[0], hold + row[1]]);
    let _ = writeln!(text, "all                {offered:>7}  {hold:>4}");
    text
}

fn failure_text(tried: &Tried) -> String {
    let what = match &tried.outcome {
        Outcome::Holds => return String::new(),
        Outcome::Stays => "the finding stays".to_owned(),
        Outcome::Foreign => "it edits a file of the library".to_owned(),
        Outcome::Replaced(new) => format!("new errors:\n    {}", new.join("\n    ")),
    };
    let kind = tried.applicability.as_str();
    let shown = tried.text.replace('\n', "\n    | ");
    format!("\n{}: [{}] `{}` ({kind}): {what}\n    | {shown}\n", tried.program, tried.code, tried.title)
}

/// Applies each fix of a program by itself.
fn tried(program: &Program) -> Vec<Tried> {
    let Some(before) = found(program) else { return Vec::new() };
    let mut tried = Vec::new();
    for finding in &before {
        for fix in &finding.fixes {
            let (outcome, text) = outcome(program, &before, finding, fix);
            let (code, applicability) = (finding.code, fix.applicability);
            let (program, title) = (program.name.clone(), fix.title.clone());
            tried.push(Tried { program, code, title, applicability, outcome, text });
        }
    }
    tried
}

fn outcome(program: &Program, before: &[Found], finding: &Found, fix: &Change) -> (Outcome, String) {
    let Some(changed) = applied(program, fix) else { return (Outcome::Foreign, String::new()) };
    let text: String = changed.files.iter().map(|(_, text)| text.as_str()).collect();
    let Some(mut after) = found(&changed) else {
        return (Outcome::Replaced(vec!["a panic of the compiler".to_owned()]), text);
    };
    // Match the findings after the edit with those before it, so that only new ones remain: first by message and place, then by
    // message, then by place. The mended finding is matched last, and only at its place.
    let same = |old: &Found, new: &Found| new.code == old.code && new.file == old.file;
    let at_its_place = |old: &Found, new: &Found| new.start == moved(&old.file, old.start, fix);
    type Matching<'w> = &'w dyn Fn(&Found, &Found) -> bool;
    let matchings: [Matching<'_>; 3] = [
        &|old, new| new.message == old.message && at_its_place(old, new),
        &|old, new| new.message == old.message,
        &at_its_place,
    ];
    let is_mended = |old: &&Found| std::ptr::eq(*old, finding);
    let mut unmet: Vec<&Found> = before.iter().filter(|old| !is_mended(old)).collect();
    unmet.push(finding);
    for matching in matchings {
        let fits = |old: &Found, new: &Found| {
            same(old, new) && matching(old, new) && (!is_mended(&old) || at_its_place(old, new))
        };
        unmet.retain(|old| match after.iter().position(|new| fits(old, new)) {
            Some(at) => {
                after.remove(at);
                false
            }
            None => true,
        });
    }
    let stays = !unmet.iter().any(is_mended);
    let new: Vec<String> = after
        .iter()
        .filter(|new| new.severity == Severity::Error)
        .map(|new| format!("{}[{}]: {}", new.severity.as_str(), new.code, new.message))
        .collect();
    match (stays, new.is_empty()) {
        (true, _) => (Outcome::Stays, text),
        (false, true) => (Outcome::Holds, text),
        (false, false) => (Outcome::Replaced(new), text),
    }
}

/// Returns the position after the edits of a byte of the old text.
fn moved(file: &str, at: TextSize, fix: &Change) -> TextSize {
    let at = usize::from(at);
    let own = fix.edits.iter().filter(|(of, range, _)| of == file && range.start <= at);
    let shifted =
        own.fold(
            at as i64,
            |sum, (_, range, text)| {
                if range.end <= at { sum + text.len() as i64 - range.len() as i64 } else { sum }
            },
        );
    TextSize::new(shifted.max(0) as u32)
}

/// Returns the program after the edits; `None` if an edited file does not belong to the program.
fn applied(program: &Program, fix: &Change) -> Option<Program> {
    let mut program = program.clone();
    let mut edits = fix.edits.clone();
    edits.sort_by_key(|(_, range, _)| std::cmp::Reverse(range.start));
    for (file, range, text) in edits {
        let (_, old) = program.files.iter_mut().find(|(name, _)| *name == file)?;
        old.replace_range(range, &text);
    }
    Some(program)
}

/// Checks a program as `hx check` does. `None` if the compiler panics, which other suites report.
fn found(program: &Program) -> Option<Vec<Found>> {
    catch_unwind(AssertUnwindSafe(|| {
        let texts = program.files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let mut db = Database::new(Arc::new(MemorySystem::new(texts)));
        let mut all = Vec::new();
        for (name, _) in &program.files {
            for file in db.open(name).map(|opened| opened.files).unwrap_or_default() {
                let found: Vec<Diagnostic> = check_file(&db, file, program.target).clone();
                all.extend(found.iter().map(|found| seen(&db, found)));
            }
        }
        all
    }))
    .ok()
}

fn seen(db: &Database, found: &Diagnostic) -> Found {
    let path = |file: hx_base::SourceFile| match file.kind(db) {
        FileKind::Workspace => file.path(db).to_owned(),
        FileKind::Std | FileKind::Cell => "a file of the library".to_owned(),
    };
    let change = |fix: &Fix| Change {
        title: fix.title.clone(),
        applicability: fix.applicability,
        edits: fix
            .edits
            .iter()
            .map(|edit| (path(edit.file), Range::<usize>::from(edit.range), edit.text.clone()))
            .collect(),
    };
    Found {
        file: path(found.primary.file),
        start: found.primary.range.start(),
        severity: found.severity,
        code: found.code.id,
        message: found.message.clone(),
        fixes: found.fixes.iter().map(change).collect(),
    }
}

/// The formulas that stand for functions of other languages have no error.
#[test]
fn formulas_for_missing_functions_compile() {
    let formulas = [
        "min(max(x, -1.0), 1.0)",
        "cast(x > 0.0, f32) - cast(x < 0.0, f32)",
        "where(x < 0.0, -abs(y), abs(y))",
        "where(x < 0.0, ceil(x), floor(x))",
        "x - where(x / y < 0.0, ceil(x / y), floor(x / y)) * y",
        "sin(x) / cos(x)",
        "(exp(x) - exp(-x)) * 0.5",
        "(exp(x) + exp(-x)) * 0.5",
        "exp2(x * 3.3219281)",
        "log2(x) * 0.30103",
        "log(1.0 + x)",
        "exp(x) - 1.0",
        "pow(abs(x), 0.33333334)",
        "sqrt(x * x + y * y)",
        "scan(x, 0, |a, b| a + b)",
        "scan(x, 0, |a, b| a * b)",
        "scan(x, 0, |a, b| max(a, b))",
        "reduce(x, 0, |a, b| a * b) * y",
        "load(gather(u, n - 1 - index(x, 0)))",
        "reshape(concat(load(u[..32])[.., new], load(u[32..64])[.., new], axis: 1), [64])",
        "silu(x)",
    ];
    let statements: String = formulas
        .iter()
        .map(|formula| format!("    copy({formula}, tile(v, [64])[.., 0]);\n    sync();\n"))
        .collect();
    let text = format!(
        "use std::activations::silu;
kernel formulas(u: f32[n], v: mut f32[n]) where n >= 64 grid [1] threads 32 {{
    let (x, y) = (load(tile(u, [64])[.., 0]), load(tile(u, [64])[.., 1]));
{statements}}}
"
    );
    let mut db = Database::default();
    let file = db.set_overlay("formulas.hx", &text);
    let found: Vec<String> = check_file(&db, file, Target::usual())
        .iter()
        .filter(|found| found.is_error())
        .map(|found| hx_report::short(&db, found))
        .collect();
    assert!(found.is_empty(), "{text}\n{}", found.join(""));
}
