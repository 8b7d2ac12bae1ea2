//! Pages as data: the `hx` blocks of a page, the files of each block, and the assertions in their comments.
//!
//! A comment is an assertion if it has the form `// KIND: …` or `// KIND(SUBJECT): …` with a word in lower case. A word that is
//! no kind of assertion is an error, so that a misspelt assertion cannot pass. Assertions behind code are about their own
//! line; an assertion on a line without code is about the next line with code.

use std::str::FromStr;

use hx_base::Severity;
use hx_target::Target;

use crate::manual::blocks;

/// The name of a block's file, unless a line `// file: NAME.hx` names another.
const MAIN: &str = "main.hx";

/// An `hx` block of a page.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) target: Target,
    /// In the order of the text; at least one.
    pub(super) files: Vec<File>,
}

/// A file of a block.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) text: String,
    /// Number in the page, from 1, of the file's first line.
    pub(super) first_line: usize,
    pub(super) assertions: Vec<Assertion>,
}

/// A claim about a line.
#[derive(Debug)]
pub(super) struct Assertion {
    /// Index in the file, from 0, of the line with the comment.
    pub(super) written: usize,
    /// Index in the file of the line that the claim is about.
    pub(super) line: usize,
    pub(super) claim: Claim,
}

/// The claim of an assertion about its line.
#[derive(Debug)]
pub(super) enum Claim {
    /// A finding with its place here. The message contains the words, which may be empty.
    Finding { severity: Severity, code: String, words: String },
    /// A related place of some finding lies here, and its remark contains the words.
    Label(String),
    /// A note of a finding with its place here contains the words.
    Because(String),
    /// A remedy of a finding with its place here, in words or as a fix, contains the words.
    Help(String),
    /// The type of the name that a `let` of this line binds, or of the subject: any name or expression of the line.
    Type { subject: Option<String>, text: String },
    /// The layout of the tensor that a `let` of this line binds, or of the tensor with this name that the line makes.
    Layout { subject: Option<String>, text: String },
    /// An operation of this line became this instruction.
    Instruction(String),
    /// The reason for a layout or an instruction of this line contains the words.
    Reason(String),
}

/// Returns the `hx` blocks of a page.
///
/// # Errors
/// Every line that has no meaning: its number in the page and what is wrong.
pub(super) fn parse(text: &str) -> Result<Vec<Block>, Vec<(usize, String)>> {
    let (mut parsed, mut wrong) = (Vec::new(), Vec::new());
    for block in blocks(text) {
        let mut words = block.tag.split(',');
        match words.next() {
            Some("hx") => {}
            Some("text") => continue,
            _ => {
                wrong.push((
                    block.line - 1,
                    format!("expected the tag `hx` or `text`, found `{}`", block.tag),
                ));
                continue;
            }
        }
        let mut target = Target::usual();
        for word in words {
            match word.strip_prefix("target=").map(Target::from_str) {
                Some(Ok(named)) => target = named,
                _ => wrong
                    .push((block.line - 1, format!("expected `target=sm_80` or the like, found `{word}`"))),
            }
        }
        let files = files(&block.text, block.line, &mut wrong);
        parsed.push(Block { target, files });
    }
    if wrong.is_empty() { Ok(parsed) } else { Err(wrong) }
}

/// Splits a block at its lines `// file: NAME.hx`.
fn files(text: &str, first_line: usize, wrong: &mut Vec<(usize, String)>) -> Vec<File> {
    let mut files = vec![File::new(MAIN, first_line)];
    for (at, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("// file: ") {
            files.push(File::new(name.trim(), first_line + at + 1));
        } else if let Some(file) = files.last_mut() {
            file.text.extend([line, "\n"]);
        }
    }
    files.retain(|file| !file.text.is_empty());
    for file in &mut files {
        file.assertions = assertions(&file.text, file.first_line, wrong);
    }
    files
}

impl File {
    fn new(name: &str, first_line: usize) -> File {
        File { name: name.to_owned(), text: String::new(), first_line, assertions: Vec::new() }
    }
}

fn assertions(text: &str, first_line: usize, wrong: &mut Vec<(usize, String)>) -> Vec<Assertion> {
    let lines: Vec<(&str, Option<&str>)> = text.lines().map(split_comment).collect();
    let mut found = Vec::new();
    for (written, (code, comment)) in lines.iter().enumerate() {
        let Some(comment) = comment else { continue };
        let has_code = |at: &usize| !lines[*at].0.trim().is_empty();
        let about =
            if code.trim().is_empty() { (written..lines.len()).find(has_code) } else { Some(written) };
        match (assertion(comment), about) {
            (Ok(None), _) => {}
            (Ok(Some(claim)), Some(line)) => found.push(Assertion { written, line, claim }),
            (Ok(Some(_)), None) => {
                wrong.push((first_line + written, "expected a line of code below this assertion".to_owned()));
            }
            (Err(message), _) => wrong.push((first_line + written, message)),
        }
    }
    found
}

/// Splits a line into its code and the text of its comment. Documentation belongs to the code.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if !quoted && line[at..].starts_with("//") {
            let text = &line[at + 2..];
            return if text.starts_with(['/', '!']) {
                (line, None)
            } else {
                (&line[..at], Some(text.trim()))
            };
        }
    }
    (line, None)
}

/// Parses the text of a comment. `None` if it does not have the form of an assertion. Fails with a message if its word is no
/// kind of assertion, or the rest does not fit the kind.
fn assertion(comment: &str) -> Result<Option<Claim>, String> {
    let word = comment.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    let rest = &comment[word.len()..];
    let (subject, text) = match (rest.strip_prefix('('), rest.strip_prefix(": ")) {
        (Some(rest), _) => match rest.split_once("): ") {
            Some((subject, text)) => (Some(subject.to_owned()), text.trim()),
            None => return Ok(None),
        },
        (None, Some(text)) if !word.is_empty() => (None, text.trim()),
        (None, _) => return Ok(None),
    };
    let claim = match (word, &subject) {
        ("type", _) => Claim::Type { subject, text: text.to_owned() },
        ("layout", _) => Claim::Layout { subject, text: text.to_owned() },
        ("instruction", None) => Claim::Instruction(text.to_owned()),
        ("error", None) => finding(Severity::Error, text)?,
        ("warning", None) => finding(Severity::Warning, text)?,
        ("performance", None) => finding(Severity::Performance, text)?,
        ("note", None) => finding(Severity::Note, text)?,
        ("label", None) => Claim::Label(quoted(text)?),
        ("because", None) => Claim::Because(quoted(text)?),
        ("help", None) => Claim::Help(quoted(text)?),
        ("reason", None) => Claim::Reason(quoted(text)?),
        _ => {
            return Err(format!(
                "expected an assertion (`error: [HX0301] \"…\"`, `warning: …`, `performance: …`, `note: …`, `label: \"…\"`, `because: \"…\"`, \
                 `help: \"…\"`, `type: …`, `type(x): …`, `layout: …`, `layout(x): …`, `instruction: …`, `reason: \"…\"`), \
                 found `{comment}`"
            ));
        }
    };
    Ok(Some(claim))
}

/// Parses `[HX0301]` with words in quotes behind it, which may be left out. Fails if there is no known code, or the words are
/// not in quotes.
fn finding(severity: Severity, text: &str) -> Result<Claim, String> {
    let parts = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (code, words) = parts.ok_or_else(|| format!("expected a code such as `[HX0301]`, found `{text}`"))?;
    if !hx_base::all_codes().any(|known| known.id == code) {
        return Err(format!("expected a code, found `{code}`"));
    }
    let words = if words.is_empty() { String::new() } else { quoted(words.trim())? };
    Ok(Claim::Finding { severity, code: code.to_owned(), words })
}

fn quoted(text: &str) -> Result<String, String> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inner = inner.filter(|inner| !inner.is_empty());
    inner.map(str::to_owned).ok_or_else(|| format!("expected words in quotes, found `{text}`"))
}
