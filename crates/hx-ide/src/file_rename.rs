//! Edits of paths after files moved, so that each path still leads to its file.

use std::collections::BTreeMap;

use hx_base::{Edit, FileKind, SourceFile, TextRange};
use hx_compile::Db;
use hx_hir::{Name, Path, PathTarget, absolute_path, resolve_path};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::is_identifier;

use crate::{Cancellable, catch};

/// A file that moves, and its new absolute path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedFile {
    pub file: SourceFile,
    pub to: String,
}

/// Returns the edits after which every path that names a moved file names it at its new place, and every path in a moved file
/// means the same file as before. A path stays as it is if a name on the new way is no identifier, or if the path shares its
/// folders with others in a list; `hx check` then reports it.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn moved_files(db: &dyn Db, moved: &[MovedFile]) -> Cancellable<Vec<Edit>> {
    catch(|| {
        let to: BTreeMap<&str, &str> = moved.iter().map(|it| (it.file.path(db), it.to.as_str())).collect();
        let mut edits = Vec::new();
        for &file in db.workspace().files(db).iter().filter(|file| file.kind(db) == FileKind::Workspace) {
            db.unwind_if_revision_cancelled();
            Moving { db, file, to: &to }.edits(&mut edits);
        }
        edits
    })
}

struct Moving<'a> {
    db: &'a dyn Db,
    /// The file that contains the paths.
    file: SourceFile,
    /// New paths by old ones.
    to: &'a BTreeMap<&'a str, &'a str>,
}

/// The names of a path that lead to a file, with their places.
struct Segments {
    names: Vec<Name>,
    ranges: Vec<TextRange>,
    /// The number of leading names that paths of the same list share. They cannot be changed for one of them.
    shared: usize,
}

impl Moving<'_> {
    fn edits(&self, edits: &mut Vec<Edit>) {
        let root = hx_base::parse(self.db, self.file).syntax_node();
        for node in root.children() {
            if let Some(tree) = ast::Use::cast(node.clone()).and_then(|it| it.use_tree()) {
                self.use_tree(&tree, &Segments { names: Vec::new(), ranges: Vec::new(), shared: 0 }, edits);
                continue;
            }
            for path in node.descendants().filter_map(ast::Path::cast) {
                self.path(&segments_of(&path), edits);
            }
        }
    }

    /// Edits a path outside of `use`: its first names lead to a file, or its first name is one that `use` brought in.
    fn path(&self, path: &Segments, edits: &mut Vec<Edit>) {
        for count in 1..=path.names.len() {
            let names = path.names[..count].to_vec();
            let Some(PathTarget::Module(target)) =
                resolve_path(self.db, self.file, &Path { segments: names.clone() })
            else {
                continue;
            };
            if count > 1 {
                self.renamed(&path.first(count), target, edits);
            } else if let (Some(old), Some(new)) = (stem(target.path(self.db)), self.new_stem(target))
                && names[0] == old
            {
                edits.push(Edit { file: self.file, range: path.ranges[0], text: new.to_owned() });
            }
            return;
        }
    }

    fn use_tree(&self, tree: &ast::UseTree, before: &Segments, edits: &mut Vec<Edit>) {
        let own = tree.path().map(|path| segments_of(&path));
        let mut path = Segments {
            names: before.names.clone(),
            ranges: before.ranges.clone(),
            shared: before.names.len(),
        };
        if let Some(own) = own {
            path.names.extend(own.names);
            path.ranges.extend(own.ranges);
        }
        let module = (path.shared + 1..=path.names.len()).find_map(|count| {
            match absolute_path(self.db, self.file, &path.names[..count])? {
                PathTarget::Module(target) => Some((count, target)),
                PathTarget::Item(_) => None,
            }
        });
        if let Some((count, target)) = module {
            return self.renamed(&path.first(count), target, edits);
        }
        for inner in tree.use_tree_list().into_iter().flat_map(|list| list.use_trees().collect::<Vec<_>>()) {
            self.use_tree(&inner, &path, edits);
        }
    }

    /// Edits the names that lead to a file.
    fn renamed(&self, path: &Segments, target: SourceFile, edits: &mut Vec<Edit>) {
        let (old_user, old_target) = (self.file.path(self.db), target.path(self.db));
        let moves = self.to.contains_key(old_user) || self.to.contains_key(old_target);
        if !moves || target.kind(self.db) != FileKind::Workspace {
            return;
        }
        let (user, new) = (self.after(old_user), self.after(old_target));
        let Some(names) = self.names(path, &user, &self.absolute(old_target), &new) else { return };
        let same = names.iter().zip(&path.names).take_while(|(new, old)| **new == old.as_str()).count();
        let is_same = same == names.len() && same == path.names.len();
        if is_same || same < path.shared || !names.iter().all(|name| is_identifier(name)) {
            return;
        }
        // Equal leading names are not edited. At least one name is replaced, so that the edit has a place.
        let start = same.min(path.ranges.len() - 1).min(names.len() - 1);
        let (Some(first), Some(last)) = (path.ranges.get(start), path.ranges.last()) else { return };
        edits.push(Edit { file: self.file, range: first.cover(*last), text: names[start..].join("::") });
    }

    /// Returns the names that lead from a file to another one: from the folder where the path began, or else from the nearest
    /// folder that has both. `None` if no folder has both.
    fn names(&self, path: &Segments, user: &str, old: &str, new: &str) -> Option<Vec<String>> {
        let new = new.strip_suffix(".hx")?;
        let written = path.names.iter().map(Name::as_str).collect::<Vec<_>>().join("/");
        let began = old.strip_suffix(".hx")?.strip_suffix(written.as_str())?;
        let is_around = |folder: &str| user.starts_with(folder) && new.starts_with(folder);
        let mut folder = began;
        if !is_around(folder) {
            folder = &user[..=user.rfind('/')?];
            while !is_around(folder) {
                folder = &folder[..=folder.strip_suffix('/')?.rfind('/')?];
            }
        }
        Some(new.strip_prefix(folder)?.split('/').map(str::to_owned).collect())
    }

    fn new_stem(&self, target: SourceFile) -> Option<&str> {
        let new = stem(self.to.get(target.path(self.db))?)?;
        (is_identifier(new) && Some(new) != stem(target.path(self.db))).then_some(new)
    }

    /// Returns the absolute path of a file after the move.
    fn after(&self, path: &str) -> String {
        self.absolute(self.to.get(path).copied().unwrap_or(path))
    }

    /// Files below the current folder are known by paths relative to it.
    fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') {
            return path.to_owned();
        }
        format!("{}/{path}", self.db.workspace().current_dir(self.db))
    }
}

impl Segments {
    fn first(&self, count: usize) -> Segments {
        Segments {
            names: self.names[..count].to_vec(),
            ranges: self.ranges[..count].to_vec(),
            shared: self.shared,
        }
    }
}

fn segments_of(path: &ast::Path) -> Segments {
    let segments: Vec<ast::NameRef> = path.segments().collect();
    Segments {
        names: segments.iter().map(|it| Name::from(it.text())).collect(),
        ranges: segments.iter().map(|it| it.syntax().text_range()).collect(),
        shared: 0,
    }
}

/// Returns the name of a file without its folder and extension; `None` for a file of another extension.
fn stem(path: &str) -> Option<&str> {
    path.strip_suffix(".hx")?.rsplit('/').next()
}
