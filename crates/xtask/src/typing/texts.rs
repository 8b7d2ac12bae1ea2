//! The texts into which the chore types: files and workspaces made of the standard library.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::EDITED;
use crate::root;

/// Returns the modules of the library, ordered by path: the name of each, and the whole text of its file.
pub(super) fn library() -> Result<Vec<(String, String)>, String> {
    let folder = root().join("std");
    let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read std: {error}"))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut library = Vec::new();
    for path in files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "hx")) {
        let text =
            fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        library.push((name, text));
    }
    Ok(library)
}

/// Returns one file that contains these modules of the library, and the name of its first kernel.
pub(super) fn file_of(names: &[String]) -> Result<(String, String), String> {
    let library = library()?;
    let mut text = String::new();
    for name in names {
        let module = library.iter().find(|(module, _)| module == name);
        append(&mut text, &module.ok_or_else(|| format!("the library has no module `{name}`"))?.1);
    }
    let name = first_kernel(&text)?;
    Ok((text, name))
}

fn first_kernel(text: &str) -> Result<String, String> {
    let header = text.lines().find_map(|line| line.strip_prefix("kernel "));
    let name = header.and_then(|header| words(header).next());
    Ok(name.ok_or("the modules have no kernel to type into")?.to_owned())
}

/// Appends a module to a file, without its header and repeated `use` items.
fn append(text: &mut String, module: &str) {
    for line in module.lines().filter(|line| !line.starts_with("//!")) {
        if !(line.starts_with("use ") && text.contains(line)) {
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// Returns a file of at least 500 lines and five kernels, in which the edited kernel is the first.
pub(super) fn long_file() -> Result<(String, String), String> {
    let mut library = library()?;
    let edited = EDITED.iter().find(|name| library.iter().any(|(file, _)| file == *name));
    let edited = *edited.ok_or("the library has no kernel to type into")?;
    library.sort_by_key(|(name, _)| (name != edited, !EDITED.contains(&name.as_str()), name.clone()));
    let mut text = String::new();
    for (_, file) in &library {
        let kernels = text.lines().filter(|line| line.starts_with("kernel ")).count();
        if text.lines().count() >= 500 && kernels >= 5 {
            break;
        }
        append(&mut text, file);
    }
    // The text is valid: `use` items may be anywhere, and names of the same file need no `use`.
    Ok((text, edited.to_owned()))
}

/// Returns the line and column of a byte, both from 0; the column counts bytes.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    (before.matches('\n').count(), at - before.rfind('\n').map_or(0, |i| i + 1))
}

/// A workspace: its files by path, and the name of the kernel to type into.
pub(super) struct Workspace {
    /// The files; the first one contains the kernel.
    pub(super) files: Vec<(String, String)>,
    pub(super) kernel: String,
}

/// A module in one of several copies of the library.
struct Copy<'a> {
    module: &'a str,
    text: &'a str,
    /// The number of the copy of the library, from 0.
    number: usize,
}

/// Returns copies of modules with at least `lines` lines in all. The module to type into is the first.
fn copies(library: &mut [(String, String)], lines: usize) -> Vec<Copy<'_>> {
    library.sort_by_key(|(name, _)| (name != EDITED[0], name.clone()));
    let mut copies: Vec<Copy<'_>> = Vec::new();
    let mut have = 0;
    for (number, (module, text)) in (0..).flat_map(|number| library.iter().map(move |file| (number, file))) {
        if have >= lines {
            break;
        }
        have += text.lines().count();
        copies.push(Copy { module, text, number });
    }
    copies
}

/// Returns copies of the library with at least `lines` lines in all, each module in a file. The modules of a copy use items of the
/// same copy: `use gemm_1::feed` instead of `use std::gemm::feed`.
pub(super) fn many_files(lines: usize) -> Result<Workspace, String> {
    let mut library = library()?;
    let copies = copies(&mut library, lines);
    let there: BTreeSet<(&str, usize)> = copies.iter().map(|copy| (copy.module, copy.number)).collect();
    let file = |copy: &Copy<'_>| {
        let mut text = copy.text.to_owned();
        for (module, number) in there.iter().filter(|(_, number)| *number == copy.number) {
            text = text.replace(&format!("use std::{module}::"), &format!("use {module}_{number}::"));
        }
        (format!("{}_{}.hx", copy.module, copy.number), text)
    };
    let files: Vec<(String, String)> = copies.iter().map(file).collect();
    let (_, text) = files.first().ok_or("the library has no modules")?;
    let kernel = first_kernel(text)?;
    Ok(Workspace { files, kernel })
}

/// Returns one file with copies of the library, of at least `lines` lines. Each item of each copy has a name of its own.
pub(super) fn one_file(lines: usize) -> Result<Workspace, String> {
    let mut library = library()?;
    let copies = copies(&mut library, lines);
    let there: BTreeMap<(&str, usize), usize> =
        copies.iter().enumerate().map(|(i, copy)| ((copy.module, copy.number), i)).collect();
    let items: BTreeMap<&str, BTreeSet<&str>> =
        copies.iter().map(|copy| (copy.module, items_of(copy.text))).collect();
    let mut whole = String::new();
    for (i, copy) in copies.iter().enumerate() {
        let mut names: BTreeMap<&str, usize> = items[copy.module].iter().map(|name| (*name, i)).collect();
        let mut text = String::new();
        for line in copy.text.lines() {
            let used = line.strip_prefix("use std::").and_then(|rest| rest.split_once("::"));
            let used = used.and_then(|(module, rest)| Some((there.get(&(module, copy.number))?, rest)));
            match used {
                // Drop the `use`: the items are in this file, with the number of their copy in their names.
                Some((number, rest)) => names.extend(words(rest).map(|word| (word, *number))),
                None => text += &format!("{line}\n"),
            }
        }
        append(&mut whole, &renamed(&text, &names, i));
    }
    let kernel = first_kernel(&whole)?;
    Ok(Workspace { files: vec![("typed.hx".to_owned(), whole)], kernel })
}

/// Returns the names of the constants, functions and kernels of a module.
fn items_of(text: &str) -> BTreeSet<&str> {
    let named = |line| {
        let rest = ["const ", "fn ", "kernel "].iter().find_map(|word| str::strip_prefix(line, word))?;
        words(rest).next()
    };
    text.lines().filter_map(named).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

/// Appends `_` and its number to each of `names` in a text, and `number` to the title of each test and bench.
fn renamed(text: &str, names: &BTreeMap<&str, usize>, number: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let titled = line.starts_with("test \"") || line.starts_with("bench \"");
        let line = if titled { line.replacen("\" ", &format!(" {number}\" "), 1) } else { line.to_owned() };
        let mut rest = line.as_str();
        while let Some(c) = rest.chars().next() {
            let len =
                if is_word(c) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
            let (word, after) = rest.split_at(len);
            out.push_str(word);
            if let Some(number) = names.get(word) {
                out.push_str(&format!("_{number}"));
            }
            rest = after;
        }
    }
    out
}
