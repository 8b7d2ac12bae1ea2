//! Forbids circles between the files of a crate: files that use each other can only be understood together.
//!
//! A file uses the file that defines an item which it names by path or import. Re-exports are followed: an item named
//! `crate::Type` counts as a use of the file that defines it. Tests do not count. Nor do calls of methods, because the syntax
//! does not show which file defines them.
//!
//! [`ALLOWED`] has the exceptions as data, each with its reason.

mod allowed;
mod paths;

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use allowed::ALLOWED;
use paths::Modules;

/// A circle that is allowed, if it consists of exactly these files.
struct Allowed {
    /// The crate's folder.
    folder: &'static str,
    /// The files below `src`, in order.
    files: &'static [&'static str],
    /// The reason for the exception, as a message shows it.
    because: &'static str,
}

/// For each pair of a file and a file that it uses, by their paths below `src`: the items that it uses.
type Edges = BTreeMap<(String, String), BTreeSet<String>>;

/// Checks all crates. `files` has the texts by their paths below the workspace's root.
pub(super) fn check(files: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for (path, text) in files {
        let Some((folder, file)) = path.split_once("/src/") else { continue };
        if folder.starts_with("crates/") && file.ends_with(".rs") {
            crates.entry(folder).or_default().insert(file, text);
        }
    }
    let mut findings = Vec::new();
    for (folder, sources) in &crates {
        let edges = edges(sources);
        let mut allowed: Vec<&Allowed> = ALLOWED.iter().filter(|allowed| allowed.folder == *folder).collect();
        let finding =
            |file: &str, message| Finding { path: format!("{folder}/src/{file}"), line: 0, message };
        for circle in circles(&edges) {
            let before = allowed.len();
            allowed.retain(|allowed| allowed.files != circle);
            if allowed.len() == before {
                findings.push(finding(circle[0], describe(&edges, &circle)));
            }
        }
        for Allowed { files, because, .. } in allowed {
            let message = format!("no circle of {} is there to allow ({because})", files.join(", "));
            findings.push(finding(files[0], message));
        }
    }
    findings
}

/// Returns the uses between the files of one crate. `sources` has the texts by their paths below `src`.
///
/// A file may use the modules that contain it: a folder's own file defines the terms of the folder.
fn edges(sources: &BTreeMap<&str, &str>) -> Edges {
    // Ignore a file that is not valid Rust: the compiler reports it.
    let parsed = sources.iter().filter_map(|(file, text)| Some((*file, syn::parse_file(text).ok()?)));
    let named =
        parsed.filter_map(|(file, parsed)| Some((paths::name(file)?, paths::Module::of(file, &parsed))));
    let modules: Modules = named.collect();
    let mut edges = Edges::new();
    for (from, module) in &modules {
        for (to, item) in paths::uses(&modules, from) {
            if !from.starts_with(&to) {
                let edge = (module.file.clone(), modules[&to].file.clone());
                edges.entry(edge).or_default().insert(item);
            }
        }
    }
    edges
}

/// Returns the largest sets of files that use each other, directly or indirectly. Each set is in order.
fn circles(edges: &Edges) -> Vec<Vec<&str>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in edges.keys() {
        next.entry(from).or_default().push(to);
    }
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for start in next.keys() {
        let mut stack = vec![*start];
        let mut seen = BTreeSet::new();
        while let Some(file) = stack.pop() {
            stack.extend(next.get(file).into_iter().flatten().filter(|to| seen.insert(**to)));
        }
        reached.insert(start, seen);
    }
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|seen| seen.contains(to));
    let mut done = BTreeSet::new();
    let mut circles = Vec::new();
    for &file in next.keys() {
        if reaches(file, file) && !done.contains(file) {
            let both = |other: &&str| reaches(file, other) && reaches(other, file);
            let circle: Vec<&str> = next.keys().copied().filter(both).collect();
            done.extend(circle.iter().copied());
            circles.push(circle);
        }
    }
    circles
}

/// Describes a circle: each file with the files that it uses, and the used items.
fn describe(edges: &Edges, circle: &[&str]) -> String {
    let of = |from: &&str| {
        let used = edges.iter().filter(|((one, to), _)| one == from && circle.contains(&to.as_str()));
        let used = used.map(|((_, to), items)| {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            format!("{to} ({})", items.join(", "))
        });
        format!("{from} uses {}", used.collect::<Vec<_>>().join(", "))
    };
    let files: Vec<String> = circle.iter().map(of).collect();
    format!("{} files use each other: {}", circle.len(), files.join("; "))
}

#[cfg(test)]
mod tests;
