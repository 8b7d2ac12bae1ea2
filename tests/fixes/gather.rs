//! The programs of the tree: files, blocks of pages, and the texts in the tests of the crates.

use std::path::{Path, PathBuf};

use hx_target::Target;

use super::mutate;
use crate::manual;
use crate::spec;
use crate::support::root;

/// A program to check: its files by their paths, in memory.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// The origin of the program, such as `tests/spec/types/casts.md:12`.
    pub(super) name: String,
    pub(super) files: Vec<(String, String)>,
    pub(super) target: Target,
}

/// Folders of files with one program each, or of folders with a program.
const FOLDERS: [&str; 3] = ["tests/planted/bugs", "tests/planted/right", "tests/unsatisfiable"];

/// Folders of Rust whose string literals are programs.
const TESTS: [&str; 12] = [
    "tests/bad_input",
    "tests/printing.rs",
    "tests/lsp",
    "crates/hx-compile/src/tests",
    "crates/hx-compile/src/tests.rs",
    "crates/hx-driver/src/tests",
    "crates/hx-hir/src/tests",
    "crates/hx-ide/src/tests",
    "crates/hx-lower/src/tests",
    "crates/hx-repl/src/tests",
    "crates/hx-syntax/tests",
    "crates/hx/tests",
];

/// Folders of right programs, into which mistakes are made.
const RIGHT: [&str; 5] =
    ["std", "tests/kernels", "tests/kernels_sm_89", "tests/kernels_sm_90a", "tests/planted/right"];

/// Returns right programs with one mistake each, in a fixed order: every `step`-th of them from `first` on.
pub(super) fn mutants(step: usize, first: usize) -> Vec<Program> {
    let mut right = Vec::new();
    RIGHT.iter().for_each(|folder| of_folder(&root().join(folder), &mut right));
    right.iter().flat_map(mutate::mutants).skip(first).step_by(step).collect()
}

/// Returns all programs, in a fixed order.
pub(super) fn programs() -> Vec<Program> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        of_folder(&root().join(folder), &mut all);
    }
    if let Some(folder) = std::env::var_os("HX_FIXES_IN") {
        of_folder(Path::new(&folder), &mut all);
    }
    for page in spec::all_pages() {
        of_page(&page, &mut all);
    }
    for page in manual::pages().into_iter().chain(below(&root().join("book/src/diagnostics"), "md")) {
        of_book(&page, &mut all);
    }
    for place in TESTS {
        for file in below(&root().join(place), "rs") {
            of_tests(&file, &mut all);
        }
    }
    all
}

/// Returns the files with an extension in a folder and below, or the file itself.
fn below(place: &Path, extension: &str) -> Vec<PathBuf> {
    let (mut files, mut places) = (Vec::new(), vec![place.to_owned()]);
    while let Some(place) = places.pop() {
        if place.is_dir() {
            let entries = std::fs::read_dir(&place).expect("the folder can be listed");
            places.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if place.extension().is_some_and(|found| found == extension) {
            files.push(place);
        }
    }
    files.sort();
    files
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Adds each file as a program, and each folder of files as one.
fn of_folder(folder: &Path, all: &mut Vec<Program>) {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        let files: Vec<(String, String)> = below(&path, "hx")
            .iter()
            .filter_map(|file| {
                let name = file.strip_prefix(if path.is_dir() { &path } else { folder }).ok()?;
                Some((name.to_str()?.to_owned(), std::fs::read_to_string(file).ok()?))
            })
            .collect();
        if !files.is_empty() {
            all.push(Program { name: shown(&path), files, target: Target::usual() });
        }
    }
}

/// Adds the blocks of a page of the specification.
fn of_page(page: &Path, all: &mut Vec<Program>) {
    for block in spec::blocks_of(&manual::read(page)) {
        let name = format!("{}:{}", shown(page), block.line);
        all.push(Program { name, files: block.files, target: block.target });
    }
}

/// Adds the blocks of a page of the book.
fn of_book(page: &Path, all: &mut Vec<Program>) {
    for block in manual::blocks(&manual::read(page)) {
        if block.tag.split([',', ' ']).next() == Some("hx") {
            let name = format!("{}:{}", shown(page), block.line);
            let files = vec![("main.hx".to_owned(), manual::source(page, &block))];
            all.push(Program { name, files, target: Target::usual() });
        }
    }
}

/// Adds the string literals of a Rust file that are programs: those with files (`//- /path`), those with an item of the
/// language, and in `tests/bad_input` those that end with `;`, as the body of a kernel. A template of `format!`, which has `{{`, is no
/// program.
fn of_tests(file: &Path, all: &mut Vec<Program>) {
    for (line, text) in literals(&manual::read(file)) {
        let text = text.replace("$0", "");
        let has_item = text.lines().any(|line| {
            ["kernel ", "fn ", "test ", "main ", "const ", "bench "].iter().any(|word| line.starts_with(word))
        });
        if text.contains("{{") {
            continue;
        }
        let files = if text.contains("//- /") {
            parts(&text)
        } else if has_item {
            vec![("main.hx".to_owned(), text)]
        } else if file.starts_with(root().join("tests/bad_input")) && text.trim_end().ends_with(';') {
            // The same header as that of `kernel` in `tests/bad_input.rs`.
            let header = "kernel k(x: f16[m, n], y: mut f16[m, n]) grid [cdiv(m, 16)] threads 64";
            vec![("main.hx".to_owned(), format!("{header} {{\n{text}\n}}\n"))]
        } else {
            continue;
        };
        all.push(Program { name: format!("{}:{line}", shown(file)), files, target: Target::usual() });
    }
}

/// Splits the text of a fixture at its lines `//- /path`.
fn parts(text: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("//- /") {
            files.push((path.trim().to_owned(), String::new()));
        } else if let Some((_, text)) = files.last_mut() {
            text.extend([line, "\n"]);
        }
    }
    files.retain(|(path, _)| path.ends_with(".hx") && !path.contains(' '));
    files
}

/// Returns the values of the string literals of a Rust text, each with its line, from 1.
fn literals(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    let line_of = |rest: &str| text[..text.len() - rest.len()].matches('\n').count() + 1;
    while let Some(at) = rest.find(['"', '/', '\'', 'r']) {
        let (before, here) = rest.split_at(at);
        let in_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let hashes = here[1..].chars().take_while(|c| *c == '#').count();
        if here.starts_with("//") {
            rest = here.find('\n').map_or("", |end| &here[end..]);
        } else if here.starts_with('r') && !in_word && here[1 + hashes..].starts_with('"') {
            let (inner, close) = (&here[2 + hashes..], format!("\"{}", "#".repeat(hashes)));
            let Some(end) = inner.find(&close) else { return found };
            found.push((line_of(here), inner[..end].to_owned()));
            rest = &inner[end + close.len()..];
        } else if let Some(quoted) = here.strip_prefix('"') {
            let (literal, after) = escaped(quoted);
            found.push((line_of(here), literal));
            rest = after;
        } else if let Some(after) = here.strip_prefix("'\"'") {
            rest = after;
        } else if let Some(escape) = here.strip_prefix("'\\") {
            rest = escape.find('\'').map_or("", |end| &escape[end + 1..]);
        } else {
            rest = &here[1..];
        }
    }
    found
}

/// Reads a string literal with escapes, from behind its quote. Returns its value and the text behind it.
fn escaped(text: &str) -> (String, &str) {
    let (mut value, mut chars) = (String::new(), text.char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, '\n')) => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some((_, other)) => value.push(other),
                None => break,
            },
            c => value.push(c),
        }
    }
    (value, "")
}
