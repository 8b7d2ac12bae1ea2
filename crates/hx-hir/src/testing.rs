//! Support for tests: a database of this crate's layer, and the drawing of diagnostics with carets.

use hx_base::{Diagnostic, SourceFile};

hx_base::test_database! {
    /// A database with the queries of this crate and of those below it.
    pub struct TestDb: [crate::Db]
}

impl TestDb {
    /// Makes a database of one file, `a.hx`.
    pub fn with_file(text: &str) -> (TestDb, SourceFile) {
        let mut db = TestDb::default();
        let file = db.add("a.hx", text);
        (db, file)
    }

    /// Adds a file: one of the standard library if its path begins with `std/`.
    pub fn add(&mut self, path: &str, text: &str) -> SourceFile {
        let file = match path.starts_with("std/") {
            true => SourceFile::std(self, path, text),
            false => SourceFile::workspace(self, path, text),
        };
        let workspace = hx_base::Db::workspace(self);
        workspace.add_files(self, [file]);
        file
    }
}

/// Draws each diagnostic below the line that it is about: `^^^` marks the primary place, `---` the others.
pub fn draw(db: &TestDb, diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in diagnostics {
        out.push_str(&format!("{}[{}]: {}\n", d.severity.as_str(), d.code.id, d.message));
        let others = d.secondary.iter().map(|label| (label, '-'));
        for (label, mark) in std::iter::once((&d.primary, '^')).chain(others) {
            let text = label.file.text(db);
            let (start, end) = (usize::from(label.range.start()), usize::from(label.range.end()));
            let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
            let line = text[line_start..].lines().next().unwrap_or_default();
            let column = text[line_start..start].chars().count();
            let width = text[start..end.min(line_start + line.len()).max(start)].chars().count().max(1);
            let path = label.file.path(db);
            let prefix = if path == "a.hx" { String::new() } else { format!("{path}: ") };
            let marks = std::iter::repeat_n(mark, width).collect::<String>();
            let gap = " ".repeat(column + prefix.chars().count());
            out.push_str(format!("  {prefix}{line}\n  {gap}{marks} {}", label.message).trim_end());
            out.push('\n');
        }
        for note in &d.notes {
            out.push_str(&format!("  note: {note}\n"));
        }
        for help in &d.help {
            out.push_str(&format!("  help: {help}\n"));
        }
        for fix in &d.fixes {
            let edits: Vec<String> =
                fix.edits.iter().map(|e| format!("`{}` → `{}`", &e.file.text(db)[e.range], e.text)).collect();
            out.push_str(&format!("  fix: {} ({})\n", fix.title, edits.join(", ")));
        }
    }
    out
}
