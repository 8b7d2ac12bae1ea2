//! The inputs: source files and the list of them. The caller supplies their text; this module does not read the disk.

use std::sync::Arc;

use salsa::{Durability, Setter as _};

use crate::Db;
use crate::last_parse::LastParse;

/// The origin of a file, which determines how often its text is expected to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// The standard library in the binary. It does not change while the process runs.
    Std,
    /// A file of the user.
    Workspace,
    /// An entry of the REPL: items and statements. It sees the names of the entries before it.
    Cell,
}

/// A `.hx` file. Files are ordered by the time at which they became known.
#[salsa::input(debug)]
#[derive(PartialOrd, Ord)]
pub struct SourceFile {
    /// The path for messages and for the lookup of modules: relative if possible, separated by `/`.
    #[returns(deref)]
    pub path: String,
    #[returns(deref)]
    pub text: Arc<str>,
    #[returns(copy)]
    pub kind: FileKind,
    /// The text and the tree of the last parse, for files of the user only.
    #[default]
    #[returns(ref)]
    pub(crate) parsed: LastParse,
    /// For a cell: the files whose names it sees besides its own, nearest first. `None` for other files.
    #[returns(copy)]
    pub outer: Option<Scope>,
}

/// The files whose names a cell sees, as a linked list: the nearest earlier cell or loaded file, and the list before it.
///
/// Each element is an input of its own that never changes, so a new cell invalidates no result of an earlier one.
#[salsa::input(debug)]
#[derive(PartialOrd, Ord)]
pub struct Scope {
    #[returns(copy)]
    pub file: SourceFile,
    /// The rest of the list. `None` at its end.
    #[returns(copy)]
    pub before: Option<Scope>,
}

impl Scope {
    /// Makes the list that begins with `file` and continues with `before`.
    pub fn after(db: &dyn Db, before: Option<Scope>, file: SourceFile) -> Scope {
        Scope::builder(file, before).durability(Durability::HIGH).new(db)
    }

    /// Yields the files of the list, nearest first.
    pub fn files(db: &dyn Db, scope: Option<Scope>) -> impl Iterator<Item = SourceFile> {
        std::iter::successors(scope, |scope| scope.before(db)).map(|scope| scope.file(db))
    }
}

impl SourceFile {
    /// Makes a file of the standard library; `path` begins with `std/`. Its text has high durability.
    pub fn std(db: &dyn Db, path: impl Into<String>, text: impl Into<Arc<str>>) -> SourceFile {
        let file = SourceFile::builder(path.into(), text.into(), FileKind::Std, None);
        file.durability(Durability::HIGH).new(db)
    }

    /// Makes an entry of the REPL, with high durability. An accepted entry never changes: a later cell shadows its names.
    pub fn cell(
        db: &dyn Db,
        path: impl Into<String>,
        text: impl Into<Arc<str>>,
        outer: Option<Scope>,
    ) -> SourceFile {
        let file = SourceFile::builder(path.into(), text.into(), FileKind::Cell, outer);
        file.durability(Durability::HIGH).new(db)
    }

    /// Makes a file of the user. Its text has low durability; its path and kind never change.
    pub fn workspace(db: &dyn Db, path: impl Into<String>, text: impl Into<Arc<str>>) -> SourceFile {
        SourceFile::builder(path.into(), text.into(), FileKind::Workspace, None)
            .outer_durability(Durability::HIGH)
            .path_durability(Durability::HIGH)
            .kind_durability(Durability::HIGH)
            .text_durability(Durability::LOW)
            .parsed_durability(Durability::HIGH)
            .new(db)
    }

    /// Replaces the text, unless it is the same: then nothing is invalidated. Returns whether it changed.
    pub fn update_text(self, db: &mut dyn Db, text: impl Into<Arc<str>>) -> bool {
        let text = text.into();
        if self.text(db) == &*text {
            return false;
        }
        self.set_text(db).to(text);
        true
    }

    /// Returns the last part of the path without `.hx`.
    pub fn stem(self, db: &dyn Db) -> &str {
        let path = self.path(db);
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        name.strip_suffix(".hx").unwrap_or(name)
    }
}

/// All known files: the standard library, the files of the project, and single files that were opened.
#[salsa::input(singleton, debug)]
pub struct Workspace {
    /// The files in the order in which they became known, each once.
    #[returns(deref)]
    pub files: Vec<SourceFile>,
    /// The number of the candidate that is built of every kernel, unless a kernel is built with another. 0 is the cheapest
    /// candidate.
    #[default]
    #[returns(copy)]
    pub candidate: u32,
    /// The absolute path of the folder where relative paths start; empty if there is none. Files outside of it have absolute
    /// paths.
    #[default]
    #[returns(deref)]
    pub current_dir: String,
}

impl Workspace {
    /// Adds the files that the list lacks, at its end. The order affects only the order of reports.
    pub fn add_files(self, db: &mut dyn Db, files: impl IntoIterator<Item = SourceFile>) {
        let mut all = self.files(db).to_vec();
        let before = all.len();
        for file in files {
            if !all.contains(&file) {
                all.push(file);
            }
        }
        if all.len() != before {
            self.set_files(db).with_durability(Durability::MEDIUM).to(all);
        }
    }

    /// Sets the number of the candidate that is built of every kernel from now on.
    pub fn choose(self, db: &mut dyn Db, candidate: u32) {
        if self.candidate(db) != candidate {
            self.set_candidate(db).to(candidate);
        }
    }

    /// Removes a file from the list. The [`SourceFile`] stays valid and may be added again.
    pub fn remove_file(self, db: &mut dyn Db, file: SourceFile) {
        let mut all = self.files(db).to_vec();
        all.retain(|&known| known != file);
        if all.len() != self.files(db).len() {
            self.set_files(db).with_durability(Durability::MEDIUM).to(all);
        }
    }

    /// Returns the file with this display path: a file of the user, or else one of the standard library. `None` for an unknown
    /// path and for a cell.
    pub fn file(self, db: &dyn Db, path: &str) -> Option<SourceFile> {
        let files = crate::module_files(db, self);
        let of = |kind: FileKind| files.get(&(kind, path.to_owned())).copied();
        of(FileKind::Workspace).or_else(|| of(FileKind::Std))
    }
}
