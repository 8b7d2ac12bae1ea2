//! Checks the properties that must hold for an input.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use hx_base::{Diagnostic, SourceFile};
use hx_compile::check_file;
use hx_fmt::FormatError;
use hx_syntax::TextRange;
use hx_target::Target;
use hx_workspace::Database;

/// A violated property. Faults of one kind most likely have the same cause.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: String,
    pub(super) details: String,
}

impl Fault {
    pub(super) fn new(kind: impl Into<String>, details: impl Into<String>) -> Fault {
        Fault { kind: kind.into(), details: details.into() }
    }
}

thread_local! {
    /// The place and message of this thread's panic while it judges.
    static PANIC: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
    static JUDGES: RefCell<bool> = const { RefCell::new(false) };
}

/// Records the panics of judging threads for their reports. Other panics are printed as before.
fn catch_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !JUDGES.with_borrow(|judges| *judges) {
                return before(info);
            }
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
            PANIC.set(Some((place, text)));
        }));
    });
}

/// Number of inputs after which the database is renewed, because it never frees memory.
const RENEWAL: usize = 400;

/// Interval, in inputs, at which the results after edits are compared with those of a fresh database.
const FRESH: usize = 16;

/// Number of diagnostics of an input that are rendered. Rendering takes time in proportion to the line, and broken texts have
/// long lines.
const DRAWN: usize = 5;

/// Judges inputs one after the other on the same database, so that edits of a file are tested as well.
pub(super) struct Judge {
    db: Database,
    used: usize,
}

impl Judge {
    pub(super) fn new() -> Judge {
        catch_messages();
        Judge { db: Database::default(), used: 0 }
    }

    /// Returns the fault in the handling of a text, if there is one.
    pub(super) fn judge(&mut self, text: &str) -> Option<Fault> {
        self.used += 1;
        if self.used > RENEWAL {
            *self = Judge::new();
        }
        JUDGES.set(true);
        let caught = catch_unwind(AssertUnwindSafe(|| self.demands(text)));
        JUDGES.set(false);
        match caught {
            Ok(demands) => demands.err(),
            Err(_) => {
                let (place, text) = PANIC.take().unwrap_or_default();
                // After a panic the database is in an unknown state, so replace it. If dropping it panics, it leaks.
                let old = std::mem::take(&mut self.db);
                let _ = catch_unwind(AssertUnwindSafe(|| drop(old)));
                Some(Fault::new(format!("panicked at {place}"), text))
            }
        }
    }

    fn demands(&mut self, text: &str) -> Result<(), Fault> {
        lexing(text)?;
        let good = parsing(text)?;
        hx_syntax::completeness(text);
        let formatted = formatting(text, good)?;
        let codes = self.checking(text)?;
        if self.used.is_multiple_of(FRESH) {
            let fresh = Judge::new().checking(text)?;
            if codes != fresh {
                let details = format!("after edits: {codes:?}\nfresh: {fresh:?}");
                return Err(Fault::new("edits before change what the checker finds", details));
            }
        }
        match formatted {
            Some(formatted) if formatted != text => {
                let after = self.checking(&formatted)?;
                if codes == after {
                    return Ok(());
                }
                let details = format!("before: {codes:?}\nafter: {after:?}\n{formatted}");
                Err(Fault::new("formatting changes what the checker finds", details))
            }
            _ => Ok(()),
        }
    }

    /// Checks a text and each of its diagnostics, and returns the sorted codes of the diagnostics.
    fn checking(&mut self, text: &str) -> Result<Vec<&'static str>, Fault> {
        let file = self.db.set_overlay("fuzz.hx", text);
        let found = check_file(&self.db, file, Target::usual());
        for (at, diagnostic) in found.iter().enumerate() {
            self.diagnostic(diagnostic, file, text)?;
            if at < DRAWN {
                hx_report::render(&self.db, diagnostic, hx_report::Config::default());
            }
        }
        let mut codes: Vec<&'static str> = found.iter().map(|found| found.code.id).collect();
        codes.sort_unstable();
        Ok(codes)
    }

    /// Checks that places are inside the text and between characters, and that no diagnostic is an internal error.
    fn diagnostic(&self, found: &Diagnostic, file: SourceFile, text: &str) -> Result<(), Fault> {
        let labels = std::iter::once(&found.primary).chain(&found.secondary);
        let edits = found.fixes.iter().flat_map(|fix| &fix.edits);
        let places =
            labels.map(|label| (label.file, label.range)).chain(edits.map(|edit| (edit.file, edit.range)));
        let outside =
            |range: TextRange| text.get(usize::from(range.start())..usize::from(range.end())).is_none();
        let mut ours = places.filter(|(of, _)| *of == file).map(|(_, range)| range);
        if let Some(range) = ours.find(|range| outside(*range)) {
            let kind = format!("{} has a place that is not in the text", found.code.id);
            return Err(Fault::new(kind, format!("{range:?}: {}", found.message)));
        }
        if found.code == &hx_base::codes::INTERNAL_ERROR || found.code == &hx_base::codes::UNSOUND_SOLUTION {
            return Err(Fault::new(format!("{}: {}", found.code.name, found.message), String::new()));
        }
        Ok(())
    }
}

/// Checks that every byte belongs to exactly one token, and that tokens consist of whole characters.
fn lexing(text: &str) -> Result<(), Fault> {
    let mut at = 0;
    for token in hx_syntax::lex(text) {
        let end = at + usize::from(token.len);
        if end == at || text.get(at..end).is_none() {
            return Err(Fault::new("a token is empty or splits a character", format!("{token:?} at {at}")));
        }
        at = end;
    }
    if at == text.len() { Ok(()) } else { Err(Fault::new("tokens do not cover the text", at.to_string())) }
}

/// Checks that the tree has the whole text and that errors are inside it. Returns whether there are no errors.
fn parsing(text: &str) -> Result<bool, Fault> {
    let parse = hx_syntax::parse(text);
    let cell = hx_syntax::parse_cell(text);
    for (name, root, errors) in
        [("file", parse.syntax_node(), parse.errors()), ("cell", cell.syntax_node(), cell.errors())]
    {
        if root.text() != text {
            return Err(Fault::new(
                format!("the tree of a {name} has another text"),
                root.text().to_string(),
            ));
        }
        for error in errors {
            if text.get(usize::from(error.range.start())..usize::from(error.range.end())).is_none() {
                return Err(Fault::new(
                    format!("an error of a {name} is not in the text"),
                    format!("{error:?}"),
                ));
            }
        }
    }
    Ok(parse.is_ok())
}

/// Checks that the formatter accepts exactly the texts that parse, and does not change its own output. Returns the formatted
/// text; `None` for a text with a syntax error.
fn formatting(text: &str, good: bool) -> Result<Option<String>, Fault> {
    match hx_fmt::format(text) {
        Ok(formatted) if good => match hx_fmt::format(&formatted) {
            Ok(again) if again == formatted => Ok(Some(formatted)),
            Ok(again) => {
                let details = format!("once:\n{formatted}\ntwice:\n{again}");
                Err(Fault::new("formatting is not idempotent", details))
            }
            Err(error) => Err(Fault::new("formatting adds an error", format!("{error}\n{formatted}"))),
        },
        Ok(_) => Err(Fault::new("a text with a syntax error is formatted", String::new())),
        Err(FormatError::Syntax(_)) if !good => Ok(None),
        Err(error) => Err(Fault::new("a good text is not formatted", error.to_string())),
    }
}
