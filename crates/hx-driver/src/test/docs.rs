//! Code in doc comments as tests.
//!
//! A block is a cell behind its file, as at the prompt: statements and items that see the items of the file. The text of the
//! cell is the file with everything but the block blanked, so each place in the cell is the same place in the file, and only
//! the file of a diagnostic has to be replaced.

use hx_base::{Diagnostic, Scope, SourceFile, TextRange, TextSize, codes, line_index};
use hx_hir::{
    DocBlock, ItemKey, ItemKind, Sound, all_reached_errors, doc_blocks, file_doc_blocks, file_items,
};
use hx_launch::is_environmental;
use hx_workspace::Database;

use super::{COMPILED, Case, CaseReport, Filter, Listing, Verdict};

/// A block of code in a doc comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocTest {
    /// The file of the comment.
    pub file: SourceFile,
    /// The opening fence.
    pub fence: TextRange,
    pub mode: DocMode,
}

/// The use of a block, which the words after its fence select.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DocMode {
    Run,
    /// `no_run`: the block has no errors, and does not run.
    Check,
    /// `should_fail`: the block fails when it runs.
    Fails,
    /// `ignore`: the block may have errors.
    Ignore,
    /// The fence has a word that is no mode. The case fails and names the word.
    Unknown(String),
}

impl DocMode {
    fn of(words: &[String]) -> DocMode {
        let mut mode = DocMode::Run;
        for word in words {
            mode = match word.as_str() {
                "no_run" => DocMode::Check,
                "should_fail" => DocMode::Fails,
                "ignore" => return DocMode::Ignore,
                other => return DocMode::Unknown(other.to_owned()),
            };
        }
        mode
    }
}

/// The place of a comment.
struct Home<'h> {
    file: SourceFile,
    /// The name of the documented item.
    of: &'h str,
    /// The start of the item.
    offset: TextSize,
}

/// Adds the blocks in the `//!` comment of a file to a listing.
pub(super) fn list_file(db: &Database, file: SourceFile, filter: &Filter, listing: &mut Listing) {
    let home = Home { file, of: "file", offset: TextSize::from(0) };
    file_doc_blocks(db, file).iter().for_each(|block| list_block(db, &home, block, filter, listing));
}

/// Adds the blocks in the `///` comment of an item to a listing.
pub(super) fn list_item(db: &Database, item: &ItemKey, filter: &Filter, listing: &mut Listing) {
    let Some(item) = item.find(db) else { return };
    let home = Home { file: item.file(db), of: item.name(db), offset: item.offset(db) };
    doc_blocks(db, item).iter().for_each(|block| list_block(db, &home, block, filter, listing));
}

fn list_block(db: &Database, home: &Home<'_>, block: &DocBlock, filter: &Filter, listing: &mut Listing) {
    let (file, fence) = (home.file, block.fence + home.offset);
    let line = line_index(db, file).line_col(fence.start()).line + 1;
    let path = file.path(db);
    let name = hx_base::printable(&format!("{path}::{} (line {line})", home.of)).into_owned();
    if !filter.wants(&name) {
        return;
    }
    let text = blanked(file.text(db), block.lines.iter().map(|line| *line + home.offset));
    let cell = SourceFile::cell(db, path, text, Some(Scope::after(db, None, file)));
    let doc = DocTest { file, fence, mode: DocMode::of(&block.words) };
    if matches!(doc.mode, DocMode::Run | DocMode::Check | DocMode::Fails)
        && let Some(errors) = errors(db, cell)
    {
        listing.diagnostics.extend(errors.into_iter().map(|found| moved(found, cell, file)));
        listing.broken.push(name);
        return;
    }
    let kind = ItemKind::Cell;
    let test = ItemKey { file: cell, kind, name: kind.word().into(), nth: 0 };
    listing.cases.push(Case { name, test, index: None, property: None, doc: Some(doc) });
}

/// Replaces everything but some ranges by blanks, byte for byte, so that all places stay. The text ends with the last range.
fn blanked(text: &str, kept: impl Iterator<Item = TextRange>) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for range in kept {
        let (start, end) = (usize::from(range.start()), usize::from(range.end()));
        for c in text[at..start].chars() {
            match c {
                '\n' => out.push('\n'),
                _ => out.extend(std::iter::repeat_n(' ', c.len_utf8())),
            }
        }
        out += &text[start..end];
        at = end;
    }
    out
}

/// Returns the errors in the text of a cell, if it has some or uses an item that has some; `None` if it can run.
fn errors(db: &Database, cell: SourceFile) -> Option<Vec<Diagnostic>> {
    let items = &file_items(db, cell).items;
    if items.iter().all(|item| Sound::of(db, *item).is_some()) {
        let syntax = hx_base::syntax_diagnostics(db, cell);
        return syntax.iter().any(Diagnostic::is_error).then(|| syntax.clone());
    }
    let mut found = all_reached_errors(db, items.iter().copied());
    // The errors of the file itself are reported with it.
    found.retain(|found| found.primary.file == cell);
    Some(found)
}

/// Moves a diagnostic of a cell to the comment that the cell was made of.
fn moved(mut found: Diagnostic, cell: SourceFile, home: SourceFile) -> Diagnostic {
    let labels = std::iter::once(&mut found.primary).chain(&mut found.secondary);
    let places = labels.map(|label| &mut label.file);
    let edits = found.fixes.iter_mut().flat_map(|fix| &mut fix.edits).map(|edit| &mut edit.file);
    places.chain(edits).filter(|file| **file == cell).for_each(|file| *file = home);
    // A fix that inserts a line break would add a line without the slashes of the comment, so it is dropped.
    found.fixes.retain(|fix| fix.edits.iter().all(|edit| edit.file != home || !edit.text.contains('\n')));
    found
}

/// Runs a block in the mode that the words after its fence select. `run` runs its code. `runs` is false on a machine that only
/// compiles kernels.
pub(super) fn run(
    db: &Database,
    case: &Case,
    doc: &DocTest,
    runs: bool,
    run: impl FnOnce() -> CaseReport,
) -> CaseReport {
    let failed = |message: String, help: &str| {
        let found = Diagnostic::new(&codes::HOST_ERROR, doc.file, doc.fence, message).help(help);
        super::failed(case, vec![found])
    };
    let ended = |verdict| CaseReport { verdict, ..super::failed(case, Vec::new()) };
    let passed = || ended(if runs { Verdict::Passed } else { Verdict::Skipped(COMPILED.to_owned()) });
    let has_statements = file_items(db, case.test.file).cell().is_some();
    let mut report = match &doc.mode {
        DocMode::Ignore => return ended(Verdict::Skipped("marked `ignore`".to_owned())),
        DocMode::Unknown(word) => {
            let message = format!("found `{word}` behind the fence, which means nothing");
            return failed(message, "expected `no_run`, `should_fail` or `ignore`");
        }
        DocMode::Check => return passed(),
        DocMode::Run if !has_statements => return passed(),
        DocMode::Run | DocMode::Fails => run(),
    };
    if let Verdict::Failed(found) = report.verdict {
        let found = found.into_iter().map(|found| moved(found, case.test.file, doc.file));
        report.verdict = Verdict::Failed(found.collect());
    }
    if doc.mode != DocMode::Fails {
        return report;
    }
    match &report.verdict {
        Verdict::Failed(found) if found.iter().all(is_expected) => passed(),
        Verdict::Failed(_) | Verdict::Skipped(_) => report,
        Verdict::Passed => {
            let message = "the code passes, and its fence says `should_fail`".to_owned();
            CaseReport { output: report.output, ..failed(message, "remove the word, or correct the code") }
        }
    }
}

/// Reports whether a failure is one that `should_fail` can mean: of the code, and not of the machine or the compiler.
fn is_expected(found: &Diagnostic) -> bool {
    found.code != &codes::TIME_LIMIT && found.code != &codes::INTERNAL_ERROR && !is_environmental(found.code)
}
