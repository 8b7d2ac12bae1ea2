//! Completion: what the word before the cursor may become.

use std::collections::BTreeSet;

use hx_base::{Db as _, FileKind};
use hx_driver::EmitKind;
use hx_dtype::DType;
use hx_hir::{Place, builtins, file_items, names_in_scope};
use hx_target::Arch;

use crate::commands::COMMANDS;
use crate::session::Session;

/// Words that start or build statements and items.
const KEYWORDS: &[&str] = &[
    "assert", "bench", "const", "else", "false", "fn", "for", "grid", "if", "in", "inf", "kernel", "let",
    "main", "test", "threads", "true", "use", "where", "while",
];

/// What every value or tensor answers to behind a dot.
const MEMBERS: &[&str] = &[
    "T", "all", "any", "cast", "copy", "cumsum", "dtype", "len", "max", "mean", "min", "permute", "prod",
    "rank", "reshape", "shape", "softmax", "sum",
];

/// The words that a session knows, gathered before each line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// Names in scope, built-in names and types.
    names: BTreeSet<String>,
    /// Paths of modules and of what is in them.
    paths: BTreeSet<String>,
}

/// Where the completed word starts, and what it may become.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Completion {
    Words(usize, Vec<String>),
    /// The rest is the name of a file.
    File,
}

impl Session {
    /// The words that the next line may be completed with.
    pub(crate) fn words(&self) -> Words {
        let db = &self.db;
        let mut names: BTreeSet<String> = KEYWORDS.iter().map(|w| (*w).to_owned()).collect();
        names.extend(names_in_scope(db, self.scratch(), true).iter().map(ToString::to_string));
        names.extend(self.environment.values.keys().map(ToString::to_string));
        let host = builtins().map(|b| b.get()).filter(|b| b.place != Place::Device);
        names.extend(host.map(|b| b.name.to_owned()));
        names.extend(DType::ALL.iter().map(|d| d.name().to_owned()));
        let mut paths = BTreeSet::new();
        for &file in db.workspace().files(db) {
            if file.kind(db) == FileKind::Cell {
                continue;
            }
            let module = file.path(db).trim_end_matches(".hx").replace('/', "::");
            for item in file_items(db, file).named() {
                paths.insert(format!("{module}::{}", item.name(db)));
            }
            paths.insert(module);
        }
        Words { names, paths }
    }
}

impl Words {
    /// What may stand at the cursor.
    pub(crate) fn complete(&self, line: &str, at: usize) -> Completion {
        let before = line.get(..at).unwrap_or(line);
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let start = before
            .rfind(|c| !is_word(c))
            .map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        // One colon ends a label; two are part of a path.
        let alone = |i: &usize| !before[..*i].ends_with(':') && !before[i + 1..].starts_with(':');
        let labels = before.match_indices(':').map(|(i, _)| i).filter(alone);
        let start = labels.filter(|i| *i >= start).last().map_or(start, |i| i + 1);
        let word = &before[start..];
        if let Some(command) = before.strip_prefix(':') {
            return match command.split_once(char::is_whitespace) {
                None => {
                    let fits = COMMANDS
                        .iter()
                        .map(|c| format!(":{}", c.name))
                        .filter(|name| name.starts_with(before));
                    Completion::Words(0, fits.collect())
                }
                Some(("load" | "save" | "save!", _)) => Completion::File,
                Some((command, _)) => {
                    let mut options = arguments(command);
                    options.extend(self.names.iter().cloned());
                    Completion::Words(start, fitting(options, word))
                }
            };
        }
        if before.matches('"').count() % 2 == 1 {
            return Completion::File;
        }
        if before[..start].ends_with('.') && !before[..start].ends_with("..") {
            let members = MEMBERS.iter().map(|m| (*m).to_owned());
            return Completion::Words(start, fitting(members, word));
        }
        if word.contains("::") || before.trim_start().starts_with("use ") {
            return Completion::Words(start, fitting(self.paths.iter().cloned(), word));
        }
        Completion::Words(start, fitting(self.names.iter().cloned(), word))
    }
}

fn fitting(options: impl IntoIterator<Item = String>, word: &str) -> Vec<String> {
    options.into_iter().filter(|option| option.starts_with(word)).collect()
}

/// What a command takes besides names.
fn arguments(command: &str) -> Vec<String> {
    let words: Vec<&str> = match command {
        "device" => vec!["auto", "sim", "cuda"],
        "target" => Arch::ALL.iter().map(|a| a.name()).collect(),
        "emit" => EmitKind::NAMES.to_vec(),
        "set" => vec!["seed", "timeout"],
        "help" => COMMANDS.iter().map(|c| c.name).collect(),
        _ => Vec::new(),
    };
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let set = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
        let words = Words {
            names: set(&["weights", "where", "arange"]),
            paths: set(&["std::matmul", "std::matmul::matmul", "std::gemv"]),
        };
        match words.complete(line, line.len()) {
            Completion::Words(start, found) => {
                let lines: Vec<String> =
                    found.iter().map(|word| format!("{}{word}", &line[..start])).collect();
                assert_eq!(lines, expected, "{line}");
            }
            Completion::File => assert_eq!(expected, ["FILE"], "{line}"),
        }
    }

    #[test]
    fn words_fit_their_place() {
        check("let x = w", &["let x = weights", "let x = where"]);
        check("x.me", &["x.mean"]);
        check("x.sum(axis:ara", &["x.sum(axis:arange"]);
        check("use std::m", &["use std::matmul", "use std::matmul::matmul"]);
        check("std::matmul::", &["std::matmul::matmul"]);
        check(":la", &[":layout"]);
        check(":device s", &[":device sim"]);
        check(":layout wei", &[":layout weights"]);
        check(":load ke", &["FILE"]);
        check("let w = load(\"we", &["FILE"]);
        check("é.ran", &["é.rank"]);
    }
}
