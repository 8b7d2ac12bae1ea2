//! Completion of the word before the cursor. `hx-ide` supplies names, members and arguments, as in an editor; the prompt adds its
//! commands.

use hx_ide::CompletionKind;
use hx_inspect::EmitKind;
use hx_target::Target;
use rustyline::completion::FilenameCompleter;

use crate::commands::{COMMANDS, SETTINGS};
use crate::session::Session;

/// The start of the completed word, and its possible completions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Completion {
    Words(usize, Vec<Word>),
    /// The caller completes the name of a file at the cursor.
    File,
}

/// A possible completion.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Word {
    pub text: String,
    /// A short description; may be empty.
    pub what: String,
    /// The kind of the name in one word; empty if it has none.
    pub kind: &'static str,
}

impl Word {
    fn new(text: String, kind: &'static str) -> Word {
        Word { text, what: String::new(), kind }
    }
}

/// Possible completions, and the byte offset in the line of the word that they replace, which ends at the cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completions {
    pub start: usize,
    pub words: Vec<Word>,
}

impl Session {
    /// Returns the possible completions at a byte offset of a line, names of files included.
    pub fn completions(&mut self, line: &str, at: usize) -> Completions {
        match self.complete(line, at) {
            Completion::Words(start, words) => Completions { start, words },
            Completion::File => {
                let found = FilenameCompleter::new().complete_path(line, at);
                let (start, files) = found.unwrap_or((at, Vec::new()));
                let words = files.into_iter().map(|file| Word::new(file.replacement, "path")).collect();
                Completions { start, words }
            }
        }
    }

    /// Returns the possible completions at a byte offset of a line.
    pub(crate) fn complete(&mut self, line: &str, at: usize) -> Completion {
        let before = line.get(..at).unwrap_or(line);
        if let Some(command) = before.strip_prefix(':') {
            return match command.split_once(char::is_whitespace) {
                None => {
                    let fits = COMMANDS.iter().filter(|c| c.name.starts_with(command));
                    let word = |c: &crate::commands::Command| Word {
                        text: format!(":{}", c.name),
                        what: c.what.to_owned(),
                        kind: "command",
                    };
                    Completion::Words(0, fits.map(word).collect())
                }
                Some(("load" | "save" | "save!", _)) => Completion::File,
                Some((command, rest)) => {
                    let start = at - rest.len();
                    let takes_an_entry = matches!(command, "type" | "layout" | "why" | "emit" | "time");
                    let (word, mut words) = if takes_an_entry {
                        self.entries(&line[start..], rest.len())
                    } else {
                        (rest.rfind(char::is_whitespace).map_or(0, |space| space + 1), Vec::new())
                    };
                    if matches!(command, "layout" | "why") {
                        let last = rest.rfind(char::is_whitespace).map_or(0, |space| space + 1);
                        let names = self.tensor_names(&rest[last..]);
                        let fit = names.into_iter().filter(|name| name.starts_with(&rest[last..]));
                        let mut fit: Vec<Word> = fit.map(|text| Word::new(text, "layout")).collect();
                        // `:why` takes no expressions, and after `KERNEL.` only tensors of the kernel fit: offer no names of
                        // expressions.
                        if command == "why" || rest[last..].contains('.') && !fit.is_empty() {
                            return Completion::Words(start + last, fit);
                        }
                        if last == word {
                            words.retain(|other| !fit.iter().any(|known| known.text == other.text));
                            fit.append(&mut words);
                            return Completion::Words(start + last, fit);
                        }
                    }
                    let own = arguments(command).into_iter().filter(|text| text.starts_with(&rest[word..]));
                    words.splice(0..0, own.map(|text| Word::new(text, "keyword")));
                    Completion::Words(start + word, words)
                }
            };
        }
        if let Some(name) = before.strip_prefix('?') {
            let (word, words) = self.entries(name, name.len());
            return Completion::Words(1 + word, words);
        }
        if before.matches('"').count() % 2 == 1 {
            return Completion::File;
        }
        let (start, words) = self.entries(line, at);
        Completion::Words(start, words)
    }

    /// Returns the possible completions of code at a byte offset, and the offset at which the completed word starts.
    fn entries(&mut self, text: &str, at: usize) -> (usize, Vec<Word>) {
        let (file, at32) = (self.typed(text), hx_base::TextSize::try_from(at).unwrap_or_default());
        let Ok(found) = hx_ide::completions(&self.db, file, at32) else { return (at, Vec::new()) };
        let Some(start) = found.first().map(|entry| usize::from(entry.range.start())) else {
            return (at, Vec::new());
        };
        let typed = text.get(start..at).unwrap_or_default();
        let mut words: Vec<Word> = Vec::new();
        // Skip names that need a `use`, because the prompt cannot insert one.
        for entry in found.into_iter().filter(|entry| entry.also.is_empty() && entry.label.starts_with(typed))
        {
            // Insert only the name of a snippet: its placeholders are for editors.
            let text = match (entry.kind, entry.is_snippet) {
                (CompletionKind::Argument, _) => entry.insert.trim_end().to_owned(),
                (_, true) => entry.label.clone(),
                _ => entry.insert.trim_end().to_owned(),
            };
            let what = if entry.kind == CompletionKind::Snippet { String::new() } else { entry.detail };
            if !words.iter().any(|known| known.text == text) {
                words.push(Word { text, what, kind: kind_of(entry.kind) });
            }
        }
        (start, words)
    }
}

/// Names the kind of a completion in one word.
fn kind_of(kind: CompletionKind) -> &'static str {
    match kind {
        CompletionKind::Keyword | CompletionKind::Snippet => "keyword",
        CompletionKind::Kernel => "kernel",
        CompletionKind::Function | CompletionKind::Builtin => "function",
        CompletionKind::Constant => "constant",
        CompletionKind::Local => "variable",
        CompletionKind::Parameter | CompletionKind::Argument => "parameter",
        CompletionKind::TypeParameter | CompletionKind::Dimension | CompletionKind::Type => "type",
        CompletionKind::Module => "module",
        CompletionKind::Member => "member",
    }
}

/// Returns the words that a command takes besides names, such as `sim` or `timeout`.
fn arguments(command: &str) -> Vec<String> {
    let words: Vec<&str> = match command {
        "device" => vec!["auto", "sim", "cuda"],
        "target" => Target::all().iter().map(|a| a.name()).collect(),
        "emit" => EmitKind::NAMES.to_vec(),
        "set" => SETTINGS.to_vec(),
        "help" => COMMANDS.iter().map(|c| c.name).collect(),
        _ => Vec::new(),
    };
    words.into_iter().map(str::to_owned).collect()
}
