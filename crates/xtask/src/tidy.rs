//! `cargo xtask tidy`: checks rules of the workspace that no compiler checks.
//!
//! [`rows`] has the allowed dependencies as data and compares them with every `Cargo.toml`. [`text`] checks the text of every
//! file, [`arms`] the syntax of Rust files, and [`circles`] the uses between the files of a crate. This file finds the files for all of
//! them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use crate::{root, say};

mod arms;
mod circles;
mod rows;
mod text;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Path below the workspace's root, with forward slashes.
    path: String,
    /// Line from 1; 0 for the whole file.
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Folders that are not part of the project's text: build outputs, version control, third-party packages.
const SKIPPED: &[&str] = &["target", ".git", "node_modules", "dist", ".vscode-test"];

/// Checks the workspace, and fails if a rule is violated.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(arg) = args.first() {
        return Err(format!("`{arg}` is not understood, there are no arguments"));
    }
    let findings = findings(&root())?;
    for finding in &findings {
        say(&finding.to_string());
    }
    match findings.len() {
        0 => {
            say("tidy: every rule holds");
            Ok(())
        }
        1 => Err("1 broken rule".to_owned()),
        count => Err(format!("{count} broken rules")),
    }
}

fn findings(root: &Path) -> Result<Vec<Finding>, String> {
    let mut files = BTreeMap::new();
    collect(root, "", &mut files)?;
    let manifest = |path: &&String| path.ends_with("/Cargo.toml");
    let manifests: BTreeMap<String, String> =
        files.keys().filter(manifest).map(|path| (path.clone(), files[path].clone())).collect();
    let mut findings = rows::check(&manifests);
    findings.extend(circles::check(&files));
    for (path, text) in &files {
        findings.extend(text::check(path, text));
        findings.extend(arms::check(path, text));
    }
    findings.sort();
    Ok(findings)
}

/// Reads every text file below `folder`. Files that are not UTF-8 are skipped.
fn collect(root: &Path, folder: &str, files: &mut BTreeMap<String, String>) -> Result<(), String> {
    let here = root.join(folder);
    let entries = fs::read_dir(&here).map_err(|error| format!("cannot read {}: {error}", here.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(root, &path, files)?;
        } else if kind.is_file()
            && let Ok(bytes) = fs::read(entry.path())
            && let Ok(text) = String::from_utf8(bytes)
        {
            files.insert(path, text);
        }
    }
    Ok(())
}
