//! The session in a terminal: editing, highlighting, completion, history.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::Ordering;

use hx_base::codes;
use hx_syntax::{Completeness, completeness};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::complete::{Completion, Word};
use crate::entries::is_command;
use crate::screen::Screen;
use crate::session::{Outcome, Session};
use crate::style::Style;

const PROMPT: &str = "hx> ";
const STYLED_PROMPT: &str = "\x1b[1;34mhx>\x1b[0m ";
/// Maximal number of entries in the history.
const HISTORY: usize = 10_000;

/// Reads and evaluates entries until the user leaves. `history` is the file that keeps the entries; if it cannot be used, the
/// history lasts only for the session.
pub fn run_prompt(session: &mut Session, history: Option<&Path>, style: Style) -> Outcome {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut screen = Screen::new(&mut out, &mut err, style);
    let interrupt = session.config.interrupt;
    let mut editor = match editor(session, style) {
        Ok(editor) => editor,
        Err(error) => {
            screen.report(&codes::IO_ERROR, &format!("the terminal cannot be used: {error}"), &[], &[]);
            return Outcome::Environment;
        }
    };
    let history = history.filter(|path| prepare(path, &mut editor));
    let version = env!("CARGO_PKG_VERSION");
    screen.remark(&format!("hx {version}, `:help` shows the commands, Ctrl-D leaves"));
    loop {
        let line =
            if style.color { editor.readline(&(PROMPT, STYLED_PROMPT)) } else { editor.readline(PROMPT) };
        interrupt.store(false, Ordering::Relaxed);
        let entry = match line {
            Ok(entry) => entry,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Outcome::Quit,
            Err(ReadlineError::Signal(_)) => continue,
            Err(error) => {
                screen.report(&codes::IO_ERROR, &format!("cannot read the terminal: {error}"), &[], &[]);
                return Outcome::Environment;
            }
        };
        if entry.trim().is_empty() {
            continue;
        }
        let _ = editor.add_history_entry(entry.trim_end());
        if let Some(path) = history {
            // Append the entry before it runs, so that a crash cannot lose it. Append, because other sessions write to the same
            // file.
            let _ = editor.append_history(path);
        }
        let size = editor.dimensions().map(|(columns, lines)| (usize::from(columns), usize::from(lines)));
        let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
        let mut screen = Screen::new(&mut out, &mut err, Style { size, ..style });
        let Some(helper) = editor.helper_mut() else { return Outcome::Quit };
        let outcome = helper.session.get_mut().enter(&entry, &mut screen);
        interrupt.store(false, Ordering::Relaxed);
        if outcome == Outcome::Quit {
            return outcome;
        }
    }
}

fn editor(session: &mut Session, style: Style) -> rustyline::Result<Editor<Typing<'_>, FileHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .auto_add_history(false)
        .bracketed_paste(true)
        .tab_stop(4)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Typing {
        color: style.color,
        session: RefCell::new(session),
        files: FilenameCompleter::new(),
    }));
    Ok(editor)
}

/// Reports whether this file can hold the history, and loads it.
fn prepare(path: &Path, editor: &mut Editor<Typing<'_>, FileHistory>) -> bool {
    if let Some(folder) = path.parent()
        && std::fs::create_dir_all(folder).is_err()
    {
        return false;
    }
    // A missing or damaged file leaves the history empty.
    let _ = editor.load_history(path);
    true
}

/// The helper of the line editor.
struct Typing<'s> {
    color: bool,
    /// A cell, because the line editor lends its helper only immutably.
    session: RefCell<&'s mut Session>,
    files: FilenameCompleter,
}

impl Helper for Typing<'_> {}

impl Hinter for Typing<'_> {
    type Hint = String;
}

impl Validator for Typing<'_> {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let entry = ctx.input();
        if is_command(entry) {
            return Ok(ValidationResult::Valid(None));
        }
        // Submit a text with errors, so that they are shown.
        Ok(match completeness(entry) {
            Completeness::Incomplete => ValidationResult::Incomplete,
            Completeness::Complete | Completeness::Invalid => ValidationResult::Valid(None),
        })
    }
}

impl Highlighter for Typing<'_> {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        // During a completion the session is already borrowed: leave the line uncoloured.
        match self.session.try_borrow_mut() {
            Ok(mut session) if self.color => Cow::Owned(session.colored(line)),
            _ => Cow::Borrowed(line),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        // Recolour after every edit, because any letter may change a token's meaning.
        self.color && kind != CmdKind::MoveCursor
    }
}

impl Completer for Typing<'_> {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, ctx: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let found = self.session.borrow_mut().complete(line, at);
        match found {
            Completion::File => self.files.complete(line, at, ctx),
            Completion::Words(start, words) => {
                let pair = |word: Word| Pair { display: word.text.clone(), replacement: word.text };
                Ok((start, words.into_iter().map(pair).collect()))
            }
        }
    }
}
