//! The keys of the line editor that know the lines of an entry. Their decisions are in [`crate::lines`].
//!
//! A binding answers with one command of the line editor, and the commands neither replace a range of text nor move the cursor to an
//! offset. A completion does both. So a key leaves its edit in [`Keys`] and answers with a completion, which takes the edit.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustyline::{
    Cmd, ConditionalEventHandler, Event, EventContext, EventHandler, KeyCode, KeyEvent, Modifiers,
    RepeatCount,
};

use crate::lines::{self, MARGIN, Return};

/// The state that the keys share with the prompt.
#[derive(Clone, Default)]
pub(crate) struct Keys(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    edit: Option<(String, Edit)>,
    /// The last entry that Ctrl-C dropped, if it had several lines; the history keeps it.
    dropped: Option<String>,
}

/// A replacement in the entry that moves the cursor, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Edit {
    /// The bytes that the text replaces.
    pub range: Range<usize>,
    pub text: String,
    /// The offset of the cursor after the replacement.
    pub cursor: usize,
}

impl Edit {
    /// Replaces the text from `start` to the cursor, which is at `at`, by `text`.
    fn before(at: usize, (start, text): (usize, String)) -> Edit {
        let cursor = start + text.len();
        Edit { range: start..at, text, cursor }
    }

    fn moves_to(cursor: usize) -> Edit {
        Edit { range: cursor..cursor, text: String::new(), cursor }
    }
}

impl Keys {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the entry that Ctrl-C dropped; `None` if it had one line or none was dropped.
    pub(crate) fn take_dropped(&self) -> Option<String> {
        self.state().dropped.take()
    }

    /// Reports whether a key has stored an edit of this text.
    pub(crate) fn has_edit(&self, text: &str) -> bool {
        self.state().edit.as_ref().is_some_and(|(known, _)| known == text)
    }

    /// Takes the edit that a key stored; `None` if it was for another text.
    pub(crate) fn take_edit(&self, text: &str) -> Option<Edit> {
        self.state().edit.take().filter(|(known, _)| known == text).map(|(_, edit)| edit)
    }

    /// Returns the keys with their reactions.
    pub(crate) fn bindings(&self) -> Vec<(KeyEvent, EventHandler)> {
        let key = |code| KeyEvent(code, Modifiers::NONE);
        let mut bound = vec![
            (KeyEvent(KeyCode::Enter, Modifiers::ALT), self.on(|_, before, _| Some(new_line(before)))),
            (key(KeyCode::Tab), self.on(|_, before, _| tab(before))),
            (key(KeyCode::Left), self.on_edit(left)),
            (key(KeyCode::Right), self.on_edit(right)),
            (key(KeyCode::Delete), self.on_edit(delete)),
            (KeyEvent::ctrl('C'), self.on(interrupt)),
        ];
        // Some terminals send Ctrl-J for the return key, and Ctrl-H for backspace.
        for enter in [key(KeyCode::Enter), KeyEvent::ctrl('J')] {
            bound.push((enter, self.on(enter_key)));
        }
        for back in [key(KeyCode::Backspace), KeyEvent::ctrl('H')] {
            let react =
                |before: &str, _: &str| Some(Edit::before(before.len(), lines::on_backspace(before)?));
            bound.push((back, self.on_edit(react)));
        }
        for home in [key(KeyCode::Home), KeyEvent::ctrl('A')] {
            bound.push((home, self.on_edit(home_key)));
        }
        for bracket in ['}', ')', ']'] {
            let react = move |before: &str, _: &str| {
                Some(Edit::before(before.len(), lines::dedented(before, bracket)?))
            };
            bound.push((key(KeyCode::Char(bracket)), self.on_edit(react)));
        }
        bound
    }

    /// Stores an edit of a text, and returns the command that applies it.
    fn edit(&self, text: String, edit: Edit) -> Cmd {
        self.state().edit = Some((text, edit));
        Cmd::Complete
    }

    fn on_edit<F>(&self, react: F) -> EventHandler
    where
        F: Fn(&str, &str) -> Option<Edit> + Send + Sync + 'static,
    {
        self.on(move |keys, before, after| Some(keys.edit(format!("{before}{after}"), react(before, after)?)))
    }

    fn on<F>(&self, react: F) -> EventHandler
    where
        F: Fn(&Keys, &str, &str) -> Option<Cmd> + Send + Sync + 'static,
    {
        EventHandler::Conditional(Box::new(On { keys: self.clone(), react }))
    }
}

fn enter_key(keys: &Keys, before: &str, after: &str) -> Option<Cmd> {
    let text = format!("{before}{after}");
    Some(match lines::on_return(&text, before.len()) {
        Return::Run => Cmd::AcceptLine,
        Return::Insert(text) => Cmd::Insert(1, text),
        Return::Replace(new) => {
            let edit = Edit { range: 0..text.len(), cursor: new.len(), text: new };
            keys.edit(text, edit)
        }
    })
}

fn new_line(before: &str) -> Cmd {
    Cmd::Insert(1, format!("\n{}", lines::start_of_line(before)))
}

/// Inserts four spaces in the indentation of a continuation line; elsewhere the key completes.
fn tab(before: &str) -> Option<Cmd> {
    let (_, line) = before.rsplit_once('\n')?;
    line.trim().is_empty().then(|| Cmd::Insert(1, MARGIN.to_owned()))
}

/// Moves to the first letter of a continuation line.
fn home_key(before: &str, after: &str) -> Option<Edit> {
    let (above, line) = before.rsplit_once('\n')?;
    let rest = after.split('\n').next().unwrap_or_default();
    let blanks = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let indentation = if line.trim().is_empty() { line.len() + blanks(rest) } else { blanks(line) };
    Some(Edit::moves_to(above.len() + 1 + indentation))
}

/// Moves from the start of a continuation line to the end of the line above.
fn left(before: &str, _: &str) -> Option<Edit> {
    let (above, line) = before.rsplit_once('\n')?;
    (line == MARGIN).then(|| Edit::moves_to(above.len()))
}

/// Moves from the end of a line to the start of the next line, after its margin.
fn right(before: &str, after: &str) -> Option<Edit> {
    let line = after.strip_prefix('\n')?;
    line.starts_with(MARGIN).then(|| Edit::moves_to(before.len() + 1 + MARGIN.len()))
}

/// At the end of a line, joins it with the next line.
fn delete(before: &str, after: &str) -> Option<Edit> {
    let line = after.strip_prefix('\n')?.trim_start_matches(' ');
    let (cursor, removed) = (before.len(), after.len() - line.len());
    Some(Edit { range: cursor..cursor + removed, text: String::new(), cursor })
}

/// Remembers an entry of several lines for the history; the line editor then drops it.
fn interrupt(keys: &Keys, before: &str, after: &str) -> Option<Cmd> {
    let text = format!("{before}{after}");
    keys.state().dropped = text.contains('\n').then_some(text);
    None
}

/// A reaction to a key, which depends on the texts before and after the cursor. If it is `None`, the line editor reacts.
struct On<F> {
    keys: Keys,
    react: F,
}

impl<F> ConditionalEventHandler for On<F>
where
    F: Fn(&Keys, &str, &str) -> Option<Cmd> + Send + Sync,
{
    fn handle(&self, _: &Event, _: RepeatCount, is_positive: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let (before, after) = ctx.line().split_at_checked(ctx.pos())?;
        if is_positive { (self.react)(&self.keys, before, after) } else { None }
    }
}
