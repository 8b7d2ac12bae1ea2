//! Compares the meanings of names before and after edits: a rename is refused if any name would mean something else.
//!
//! The edited texts are resolved in a database of their own. Nothing is guessed about scopes: a name counts as unchanged if it leads to
//! the same definition, in the same file, at the place to which the edits move it.

use std::collections::BTreeMap;

use hx_base::{Edit, FileKind, Scope, SourceFile, TextRange, TextSize, Workspace};
use hx_compile::Db;

use crate::FileRange;
use crate::names::{Def, Occurrence, definition_of, occurrences};

/// A database of edited copies of files.
#[salsa::db]
#[derive(Clone, Default)]
struct Copies {
    storage: salsa::Storage<Self>,
}

#[salsa::db]
impl salsa::Database for Copies {}

#[salsa::db]
impl hx_base::Db for Copies {
    fn workspace(&self) -> Workspace {
        Workspace::get(self)
    }
}

#[salsa::db]
impl hx_hir::Db for Copies {}

#[salsa::db]
impl Db for Copies {
    fn fork(&self) -> Box<dyn Db> {
        Box::new(self.clone())
    }
}

/// The edits that give a name to a definition.
pub(crate) struct Renaming<'a> {
    pub(crate) db: &'a dyn Db,
    /// The file in which the rename was asked for.
    pub(crate) file: SourceFile,
    pub(crate) definition: FileRange,
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) edits: &'a [Edit],
}

/// Something that a name leads to: a definition by its place, or a name of the language.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Target {
    Place(FileRange),
    Language(Def),
}

fn target(db: &dyn Db, def: &Def) -> Target {
    match definition_of(db, def) {
        Some(place) => Target::Place(place),
        None => Target::Language(def.clone()),
    }
}

impl Renaming<'_> {
    /// Describes the first name that would mean something else after the edits; `None` if every name keeps its meaning.
    pub(crate) fn changed(&self) -> Option<String> {
        let (copies, to) = self.copies();
        let from: BTreeMap<SourceFile, SourceFile> = to.iter().map(|(file, copy)| (*copy, *file)).collect();
        for (&file, &copy) in &to {
            self.db.unwind_if_revision_cancelled();
            // A text without either name has the same names with the same meanings.
            let text = file.text(self.db);
            if file.kind(self.db) == FileKind::Std || !(text.contains(self.old) || text.contains(self.new)) {
                continue;
            }
            let before = occurrences(self.db, file);
            let mut after: BTreeMap<TextSize, Occurrence> =
                occurrences(&copies, copy).into_iter().map(|o| (o.range.start(), o)).collect();
            for old in &before {
                let wanted = self.moved_target(target(self.db, &old.def), &to);
                let new = after.remove(&self.moved(file, old.range).start());
                let found = new.as_ref().map(|o| target(&copies, &o.def));
                if found.as_ref() != Some(&wanted) {
                    return Some(self.describe(file, old, new.map(|o| self.what(&copies, &o.def, &from))));
                }
            }
            // A name that means nothing before the edits would mean something after them.
            if let Some(new) = after.into_values().next() {
                let line = line_of(copy.text(&copies), new.range.start());
                return Some(format!(
                    "`{}`{} has no meaning yet, and would mean {}",
                    self.new,
                    self.place(file, line),
                    self.what(&copies, &new.def, &from)
                ));
            }
        }
        None
    }

    /// Copies all files, with the edits, into a database of their own.
    fn copies(&self) -> (Copies, BTreeMap<SourceFile, SourceFile>) {
        let copies = Copies::default();
        let mut files = self.db.workspace().files(self.db).to_vec();
        for file in [self.file, self.definition.file] {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let mut to = BTreeMap::new();
        let listed = files.iter().map(|file| self.copy(&copies, *file, &mut to)).collect();
        let current_dir = self.db.workspace().current_dir(self.db).to_owned();
        let _workspace = Workspace::builder(listed).current_dir(current_dir).new(&copies);
        (copies, to)
    }

    fn copy(
        &self,
        copies: &Copies,
        file: SourceFile,
        to: &mut BTreeMap<SourceFile, SourceFile>,
    ) -> SourceFile {
        if let Some(copy) = to.get(&file) {
            return *copy;
        }
        let (path, text) = (file.path(self.db), self.edited(file));
        let copy = match file.kind(self.db) {
            FileKind::Std => SourceFile::std(copies, path, text),
            FileKind::Workspace => SourceFile::workspace(copies, path, text),
            FileKind::Cell => {
                let chain: Vec<SourceFile> = Scope::files(self.db, file.outer(self.db)).collect();
                let mut outer = None;
                for before in chain.into_iter().rev() {
                    outer = Some(Scope::after(copies, outer, self.copy(copies, before, to)));
                }
                SourceFile::cell(copies, path, text, outer)
            }
        };
        to.insert(file, copy);
        copy
    }

    /// Returns the edits of a file in the order of the text.
    fn edits_of(&self, file: SourceFile) -> Vec<&Edit> {
        let mut edits: Vec<&Edit> = self.edits.iter().filter(|edit| edit.file == file).collect();
        edits.sort_by_key(|edit| edit.range.start());
        edits
    }

    fn edited(&self, file: SourceFile) -> String {
        let mut text = file.text(self.db).to_owned();
        for edit in self.edits_of(file).into_iter().rev() {
            text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
        }
        text
    }

    /// Returns the range to which the edits move a range.
    fn moved(&self, file: SourceFile, range: TextRange) -> TextRange {
        let place = |at: TextSize| {
            let before = self.edits_of(file).into_iter().filter(|edit| edit.range.end() <= at);
            before.fold(at, |at, edit| at + TextSize::of(edit.text.as_str()) - edit.range.len())
        };
        TextRange::new(place(range.start()), place(range.end()))
    }

    fn moved_target(&self, target: Target, to: &BTreeMap<SourceFile, SourceFile>) -> Target {
        let copy = |file: SourceFile| to.get(&file).copied().unwrap_or(file);
        match target {
            Target::Place(FileRange { file, range }) => {
                Target::Place(FileRange { file: copy(file), range: self.moved(file, range) })
            }
            Target::Language(def) => Target::Language(def),
        }
    }

    fn describe(&self, file: SourceFile, old: &Occurrence, would: Option<String>) -> String {
        let line = line_of(file.text(self.db), old.range.start());
        let would = would.map_or("have no meaning".to_owned(), |what| format!("mean {what}"));
        let name = &file.text(self.db)[old.range];
        if definition_of(self.db, &old.def) == Some(self.definition) {
            return format!("`{}`{} would {would}", self.new, self.place(file, line));
        }
        let is = self.what(self.db, &old.def, &BTreeMap::new());
        format!("`{name}`{} means {is}, and would {would}", self.place(file, line))
    }

    fn place(&self, file: SourceFile, line: usize) -> String {
        if file == self.file {
            format!(" in line {line}")
        } else {
            format!(" in line {line} of {}", file.path(self.db))
        }
    }

    /// Describes a definition. `from` leads from copies back to files.
    fn what(&self, db: &dyn Db, def: &Def, from: &BTreeMap<SourceFile, SourceFile>) -> String {
        let owner = |kind: &str| match def.item() {
            Some(key) if key.name.is_empty() => kind.to_owned(),
            Some(key) => format!("{kind} of `{}`", key.name),
            None => kind.to_owned(),
        };
        let place = definition_of(db, def);
        let renamed = place.is_some_and(|place| {
            let file = from.get(&place.file).copied().unwrap_or(place.file);
            file == self.definition.file
                && place.range.start() == self.moved(file, self.definition.range).start()
        });
        if renamed && !from.is_empty() {
            return format!("the renamed `{}`", self.old);
        }
        match def {
            Def::Item(key) => format!("the {} `{}`", key.kind.word(), key.name),
            Def::Local { .. } => "a local".to_owned(),
            Def::Param { .. } => owner("a parameter"),
            Def::Generic { .. } => owner("a compile-time parameter"),
            Def::Dim { .. } => owner("a dimension"),
            Def::Result(_) => "the result of a function".to_owned(),
            Def::Module(file) => format!("the file {}", file.path(db)),
            Def::Binding(_) => "a value of the session".to_owned(),
            Def::Builtin(_) => "a built-in name".to_owned(),
            Def::DType(_) | Def::Kind(_) => "a type".to_owned(),
            Def::Member(_) => "a member".to_owned(),
        }
    }
}

/// Returns the line of a place, counted from 1.
fn line_of(text: &str, at: TextSize) -> usize {
    text[..usize::from(at)].matches('\n').count() + 1
}
