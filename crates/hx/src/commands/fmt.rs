//! `hx fmt`.
//!
//! A file with a syntax error is reported and left unchanged; the other files are still formatted. A file is replaced atomically,
//! so no reader sees half of it.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use hx_base::{Diagnostic, codes};
use hx_fmt::FormatError;
use hx_workspace::Database;

use crate::Exit;
use crate::cli::FmtArgs;
use crate::commands::files::fault;
use crate::output::Output;

/// The name of stdin in messages, if no flag names it.
const STDIN: &str = "stdin";

/// Folders nested deeper than this below a named folder are not searched.
const MAX_DEPTH: usize = 64;

pub(crate) fn run(args: &FmtArgs, output: &Output) -> Exit {
    let from_stdin = args.stdin_filepath.is_some() || args.paths.iter().any(|path| path == "-");
    if from_stdin && args.paths.len() > 1 {
        output.usage("`-` stands alone: stdin is formatted to stdout");
        return Exit::Usage;
    }
    if from_stdin {
        return stdin(args, output);
    }
    let mut job = Job { check: args.check, output, seen: BTreeSet::new(), changed: 0, same: 0, failed: 0 };
    let here = [".".to_owned()];
    for path in if args.paths.is_empty() { &here[..] } else { &args.paths } {
        job.path(Path::new(path));
    }
    job.summary();
    if job.failed > 0 || (job.check && job.changed > 0) { Exit::Bad } else { Exit::Good }
}

fn stdin(args: &FmtArgs, output: &Output) -> Exit {
    let name = args.stdin_filepath.as_deref().unwrap_or(STDIN);
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        return fault("read", Path::new(name), &error, output);
    }
    match hx_fmt::format(&text) {
        Ok(formatted) if args.check => {
            if formatted == text {
                return Exit::Good;
            }
            output.result(&format!("{name}\n"));
            Exit::Bad
        }
        Ok(formatted) => {
            output.result(&formatted);
            Exit::Good
        }
        Err(error) => {
            tell(name, &text, &error, output);
            Exit::Bad
        }
    }
}

/// Reports why a text was not formatted.
fn tell(name: &str, text: &str, error: &FormatError, output: &Output) {
    let FormatError::Syntax(error) = error else {
        let message = format!("`{name}`: {error}");
        output.placeless_parts(&codes::INTERNAL_ERROR, &message, &[], &["the file is as it was".to_owned()]);
        return;
    };
    let mut db = Database::default();
    let file = db.set_overlay(name, text);
    let code = hx_base::code(error.code).unwrap_or(&codes::UNEXPECTED_TOKEN);
    output.diagnostics(&db, &[Diagnostic::new(code, file, error.range, error.message.clone())]);
}

/// The settings of one `hx fmt`, and the numbers of its files by outcome.
struct Job<'a> {
    check: bool,
    output: &'a Output,
    /// The real paths of files that were visited, so that a file with several names is formatted once.
    seen: BTreeSet<PathBuf>,
    changed: usize,
    same: usize,
    failed: usize,
}

impl Job<'_> {
    /// Formats a file, or all `.hx` files below a folder.
    fn path(&mut self, path: &Path) {
        if path.is_dir() {
            let mut files = Vec::new();
            self.find(path, 0, &mut files);
            files.sort();
            files.iter().for_each(|file| self.file(file));
        } else {
            self.file(path);
        }
    }

    /// Finds the `.hx` files below a folder. Skips hidden folders, `target`, links to folders, and folders below [`MAX_DEPTH`];
    /// reports a folder that cannot be read. `depth` is the number of folders between the named one and this one.
    fn find(&mut self, folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.fail("open", folder, &error),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let path = if folder == Path::new(".") { PathBuf::from(&name) } else { folder.join(&name) };
            let name = name.to_string_lossy();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_dir && name.ends_with(".hx") {
                files.push(path);
            } else if is_dir && !name.starts_with('.') && name != "target" && depth < MAX_DEPTH {
                self.find(&path, depth + 1, files);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let shown = path.display();
        // Replace the file that a link leads to, so that the link stays.
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) => return self.fail("open", path, &error),
        };
        if !self.seen.insert(real.clone()) {
            return;
        }
        let text = match super::files::source(&real) {
            Ok(text) => text,
            Err(error) => return self.fail("open", path, &error),
        };
        match hx_fmt::format(&text) {
            Ok(formatted) if formatted == text => self.same += 1,
            Ok(_) if self.check => {
                self.changed += 1;
                self.output.result(&format!("{}\n", hx_base::printable(&shown.to_string())));
            }
            Ok(formatted) => match hx_base::replace_file(&real, formatted.as_bytes()) {
                Ok(()) => self.changed += 1,
                Err(error) => self.fail("write", path, &error),
            },
            Err(error) => {
                tell(&shown.to_string(), &text, &error, self.output);
                self.failed += 1;
            }
        }
    }

    fn fail(&mut self, what: &str, path: &Path, error: &std::io::Error) {
        fault(what, path, error, self.output);
        self.failed += 1;
    }

    fn summary(&self) {
        let files = |count: usize| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        let changed = if self.check { "would change" } else { "formatted" };
        let mut parts = Vec::new();
        for (count, what) in [(self.changed, changed), (self.same, "unchanged"), (self.failed, "left alone")]
        {
            if count > 0 {
                parts.push(format!("{} {what}", files(count)));
            }
        }
        let text = if parts.is_empty() { "there is no `.hx` file".to_owned() } else { parts.join(", ") };
        self.output.remark(&text);
    }
}
