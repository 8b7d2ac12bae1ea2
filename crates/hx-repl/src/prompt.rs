//! The session in a terminal: editing, highlighting, completion, history.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::Ordering;

use hx_base::codes;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::line_buffer::LineBuffer;
use rustyline::validate::Validator;
use rustyline::{Changeset, CompletionType, Config, Context, DefaultEditor, Editor, Helper};

use crate::complete::{Completion, Word};
use crate::entries::entries;
use crate::keys::Keys;
use crate::lines::{self, PROMPT};
use crate::screen::Screen;
use crate::session::{Outcome, Session};
use crate::style::Style;

const STYLED_PROMPT: &str = "\x1b[1;34mhx>\x1b[0m ";
/// The start of the colour of the continuation prompt.
const CONTINUATION_COLOR: &str = "\x1b[34m";
/// Maximal number of entries in the history.
const HISTORY: usize = 10_000;

/// A prompt for lines, with editing and a history that lasts as long as the prompt.
pub struct LinePrompt(DefaultEditor);

impl std::fmt::Debug for LinePrompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinePrompt").finish_non_exhaustive()
    }
}

impl LinePrompt {
    /// Makes a prompt.
    ///
    /// # Errors
    /// If the terminal cannot be used.
    pub fn new() -> std::io::Result<LinePrompt> {
        DefaultEditor::new().map(LinePrompt).map_err(std::io::Error::other)
    }

    /// Reads a line; `None` once the user leaves with Ctrl-D. Ctrl-C drops the line.
    ///
    /// # Errors
    /// If the terminal cannot be read.
    pub fn line(&mut self, prompt: &str) -> std::io::Result<Option<String>> {
        loop {
            match self.0.readline(prompt) {
                Ok(line) => {
                    // A failure to extend the history must not lose the line.
                    let _ = self.0.add_history_entry(&line);
                    return Ok(Some(line));
                }
                Err(ReadlineError::Signal(_) | ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(std::io::Error::other(error)),
            }
        }
    }
}

/// Reads and evaluates entries until the user leaves. `history` is the file that keeps the entries; if it cannot be used, the
/// history lasts only for the session.
pub fn run_prompt(session: &mut Session, history: Option<&Path>, style: Style) -> Outcome {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut screen = Screen::new(&mut out, &mut err, style);
    let interrupt = session.config.interrupt;
    let keys = Keys::default();
    let mut editor = match editor(session, style, &keys) {
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
        let text = match line {
            Ok(text) => lines::without_prompts(&lines::without_margin(text.trim_end())),
            Err(ReadlineError::Interrupted) => {
                if let Some(text) = keys.take_dropped() {
                    keep(&mut editor, history, &lines::without_margin(text.trim_end()));
                }
                continue;
            }
            Err(ReadlineError::Eof) => return Outcome::Quit,
            Err(ReadlineError::Signal(_)) => continue,
            Err(error) => {
                screen.report(&codes::IO_ERROR, &format!("cannot read the terminal: {error}"), &[], &[]);
                return Outcome::Environment;
            }
        };
        if text.trim().is_empty() {
            continue;
        }
        keep(&mut editor, history, &text);
        let size = editor.dimensions().map(|(columns, lines)| (usize::from(columns), usize::from(lines)));
        let Some(helper) = editor.helper_mut() else { return Outcome::Quit };
        if enter(helper.session.get_mut(), &text, Style { size, ..style }) == Outcome::Quit {
            return Outcome::Quit;
        }
        interrupt.store(false, Ordering::Relaxed);
    }
}

/// Runs the entries of a text until one fails. A pasted text can have several, if it has commands.
fn enter(session: &mut Session, text: &str, style: Style) -> Outcome {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut screen = Screen::new(&mut out, &mut err, style);
    let mut outcome = Outcome::Good;
    for entry in entries(text) {
        outcome = session.enter(entry.text, &mut screen);
        if outcome != Outcome::Good {
            break;
        }
    }
    outcome
}

/// Adds a text to the history, and to its file. The margins make it editable when it is recalled.
fn keep(editor: &mut Editor<Typing<'_>, FileHistory>, history: Option<&Path>, text: &str) {
    let _ = editor.add_history_entry(lines::with_margin(text));
    if let Some(path) = history {
        // Append the entry before it runs, so that a crash cannot lose it. Append, because other sessions write to the same file.
        let _ = editor.append_history(path);
    }
}

fn editor<'s>(
    session: &'s mut Session,
    style: Style,
    keys: &Keys,
) -> rustyline::Result<Editor<Typing<'s>, FileHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .auto_add_history(false)
        .bracketed_paste(true)
        .tab_stop(4)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Typing {
        color: style.color,
        session: RefCell::new(session),
        keys: keys.clone(),
        files: FilenameCompleter::new(),
    }));
    for (key, reaction) in keys.bindings() {
        editor.bind_sequence(key, reaction);
    }
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
    keys: Keys,
    files: FilenameCompleter,
}

impl Helper for Typing<'_> {}

impl Hinter for Typing<'_> {
    type Hint = String;
}

/// The keys decide whether an entry is complete, so the line editor needs no validator.
impl Validator for Typing<'_> {}

impl Highlighter for Typing<'_> {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        // During a completion the session is already borrowed: leave the line uncoloured.
        let colored = match self.session.try_borrow_mut() {
            Ok(mut session) if self.color => Cow::Owned(session.colored(line)),
            _ => Cow::Borrowed(line),
        };
        if !line.contains('\n') || !lines::has_margin(line) {
            return colored;
        }
        let paint = |text: &str| match self.color {
            true => format!("{CONTINUATION_COLOR}{text}\x1b[0m"),
            false => text.to_owned(),
        };
        Cow::Owned(lines::marked(&colored, &paint))
    }

    fn highlight_char(&self, line: &str, _: usize, kind: CmdKind) -> bool {
        // Recolour after every edit, because any letter may change a token's meaning.
        (self.color || line.contains('\n')) && kind != CmdKind::MoveCursor
    }
}

impl Completer for Typing<'_> {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, ctx: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        if self.keys.has_edit(line) {
            // A key has stored an edit: return one empty candidate, which `update` replaces by the edit.
            return Ok((at, vec![Pair { display: String::new(), replacement: String::new() }]));
        }
        let found = self.session.borrow_mut().complete(line, at);
        match found {
            Completion::File => self.files.complete(line, at, ctx),
            Completion::Words(start, words) => {
                let pair = |word: Word| Pair { display: word.text.clone(), replacement: word.text };
                Ok((start, words.into_iter().map(pair).collect()))
            }
        }
    }

    fn update(&self, line: &mut LineBuffer, start: usize, elected: &str, changes: &mut Changeset) {
        match self.keys.take_edit(line.as_str()) {
            Some(edit) => {
                line.replace(edit.range, &edit.text, changes);
                line.set_pos(edit.cursor);
            }
            None => line.replace(start..line.pos(), elected, changes),
        }
    }
}
