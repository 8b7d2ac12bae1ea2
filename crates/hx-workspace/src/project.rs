//! Opens paths: a project, a folder, or a single file without a project.

use std::collections::BTreeSet;

use hx_base::{SourceFile, SystemError, parse};
use hx_syntax::{SyntaxKind, SyntaxNode, ast, ast::AstNode as _};
use hx_worker::trust::Trust;

use crate::{Database, MANIFEST_NAME, Manifest, OpenError, paths};

/// The result of opening a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The files that the path names: one file, or all `.hx` files below the folder, ordered by path. The files that they use
    /// are loaded but not listed.
    pub files: Vec<SourceFile>,
    /// The project of the path: the nearest folder at or above it that has an `hx.toml`. `None` without one, or if it cannot be
    /// read.
    pub manifest: Option<Manifest>,
    /// The files that could not be read: the project's `hx.toml`, files that the path names, and files that these use.
    pub unreadable: Vec<OpenError>,
}

/// The contents of an editor's folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpenedFolder {
    /// The files that could be read, ordered by path.
    pub files: Vec<SourceFile>,
    /// The projects within the folder, and the one that contains it.
    pub manifests: Vec<Manifest>,
    /// The files that could not be read, an `hx.toml` included, and the opened folder itself if it could not be listed.
    pub unreadable: Vec<OpenError>,
}

/// The largest number of nested folders. Deeper folders are treated as a loop of links and skipped.
const MAX_DEPTH: usize = 64;

impl Database {
    /// Loads a path. A folder, or a path inside a project, loads the `.hx` files of the whole folder or project. A file without
    /// a project loads itself and the files that it uses. `std/…` is the standard library.
    ///
    /// # Errors
    /// If the path names nothing, or cannot be read. Other files that cannot be read are in [`Opened::unreadable`].
    pub fn open(&mut self, path: &str) -> Result<Opened, OpenError> {
        let fail = |reason: SystemError| OpenError { path: path.to_owned(), reason };
        let absolute = self.absolute(path);
        let is_dir = self.system().is_dir(&absolute);
        if !is_dir && !self.system().is_file(&absolute) {
            // The path may still name a file that exists only in an editor, or a file of the embedded standard library.
            let known = self.file(path).ok_or_else(|| {
                // For a pipe or a device, report what it is instead of `not found`.
                fail(self.system().read_to_string(&absolute).err().unwrap_or(SystemError::NotFound))
            })?;
            return Ok(Opened { files: vec![known], manifest: None, unreadable: Vec::new() });
        }
        let folder = if is_dir { absolute.as_str() } else { paths::parent(&absolute) };
        let root = self.project_root(folder);
        let mut unreadable = Vec::new();
        let mut manifest = None;
        if let Some(root) = &root {
            match self.read_manifest(root) {
                Ok(found) => manifest = Some(found),
                Err(reason) => unreadable.push(self.unreadable(&paths::join(root, MANIFEST_NAME), reason)),
            }
            // Ignore errors elsewhere in the project, because the user named only this path.
            let _ = self.load_folder(root, &mut Vec::new());
        }
        let files = if is_dir {
            self.load_folder(&absolute, &mut unreadable)?
        } else {
            let file = self.load(&absolute).map_err(fail)?;
            self.load_used(file, &absolute, &mut unreadable);
            vec![file]
        };
        Ok(Opened { files, manifest, unreadable })
    }

    /// Loads everything below a folder, including projects inside it. A file that cannot be read does not prevent others from
    /// being loaded.
    pub fn open_folder(&mut self, path: &str) -> OpenedFolder {
        let absolute = self.absolute(path);
        let mut opened = OpenedFolder::default();
        let mut found = Vec::new();
        let mut roots: BTreeSet<String> = self.project_root(&absolute).into_iter().collect();
        if let Err(reason) = self.find_all_files(&absolute, 0, &mut found, &mut roots) {
            opened.unreadable.push(OpenError { path: absolute, reason });
        }
        for root in roots {
            match self.read_manifest(&root) {
                Ok(manifest) => opened.manifests.push(manifest),
                Err(reason) => {
                    opened.unreadable.push(OpenError { path: paths::join(&root, MANIFEST_NAME), reason });
                }
            }
        }
        found.sort();
        for path in found {
            match self.load(&path) {
                Ok(file) => opened.files.push(file),
                Err(reason) => opened.unreadable.push(OpenError { path, reason }),
            }
        }
        opened
    }

    /// Collects every `.hx` file below a folder, and the folders that are projects of their own.
    fn find_all_files(
        &self,
        folder: &str,
        depth: usize,
        found: &mut Vec<String>,
        roots: &mut BTreeSet<String>,
    ) -> Result<(), SystemError> {
        let mut own = Vec::new();
        self.find_files(folder, depth, &mut own)?;
        found.append(&mut own);
        self.find_projects(folder, depth, found, roots);
        Ok(())
    }

    fn find_projects(
        &self,
        folder: &str,
        depth: usize,
        found: &mut Vec<String>,
        roots: &mut BTreeSet<String>,
    ) {
        for entry in self.system().read_dir(folder).unwrap_or_default() {
            let hidden = entry.name.starts_with('.') || entry.name == "target";
            if !entry.is_dir || hidden || depth >= MAX_DEPTH {
                continue;
            }
            let inner = paths::join(folder, &entry.name);
            if self.system().is_file(&paths::join(&inner, MANIFEST_NAME)) {
                roots.insert(inner.clone());
                // Ignore a folder that cannot be listed, because only its own files are missing then.
                let _ = self.find_all_files(&inner, depth + 1, found, roots);
            } else {
                self.find_projects(&inner, depth + 1, found, roots);
            }
        }
    }

    /// Loads the files that a loaded file uses, directly or indirectly. A use is a path of a module in its text.
    pub fn load_uses(&mut self, path: &str) {
        let absolute = self.absolute(path);
        if let Some(file) = self.file(&absolute) {
            self.load_used(file, &absolute, &mut Vec::new());
        }
    }

    /// Returns the folder of the project that contains a path; `None` if no folder above the path has an `hx.toml`.
    pub fn project_of(&self, path: &str) -> Option<String> {
        self.project_root(paths::parent(&self.absolute(path)))
    }

    /// Returns the project of a folder without loading its files; `None` if there is none or its `hx.toml` cannot be read.
    pub fn project(&mut self, folder: &str) -> Option<Manifest> {
        let root = self.project_root(&self.absolute(folder))?;
        self.read_manifest(&root).ok()
    }

    /// Loads the files that a REPL entry uses, directly or indirectly. The entry's paths start at the current folder.
    pub fn load_used_by_cell(&mut self, cell: SourceFile) {
        let path = self.absolute("cell");
        self.load_used(cell, &path, &mut Vec::new());
    }

    /// Finds the nearest folder with an `hx.toml`, from this folder, an absolute path, upwards; `None` if there is none.
    fn project_root(&self, folder: &str) -> Option<String> {
        let mut folder = folder;
        loop {
            if self.system().is_file(&paths::join(folder, MANIFEST_NAME)) {
                return Some(folder.to_owned());
            }
            let above = paths::parent(folder);
            if above == folder {
                return None;
            }
            folder = above;
        }
    }

    fn read_manifest(&mut self, root: &str) -> Result<Manifest, SystemError> {
        let path = paths::join(root, MANIFEST_NAME);
        let text = self.system().read_to_string(&path)?;
        // Make the manifest an input, so that its errors have places. The workspace does not list it, because it is not a module.
        let shown = paths::display(&self.system().current_dir(), &path);
        let file = SourceFile::workspace(self, shown, text.as_str());
        let read = |path: &str| self.system().read_to_string(path);
        Ok(Manifest::read(self, file, root, &Trust::of_user(), &read))
    }

    /// Loads every `.hx` file below a folder. It skips hidden folders, `target`, links to folders, and folders that are
    /// projects of their own. A file that cannot be read goes to `unreadable`, and the others are loaded.
    ///
    /// # Errors
    /// If the folder itself cannot be listed.
    fn load_folder(
        &mut self,
        folder: &str,
        unreadable: &mut Vec<OpenError>,
    ) -> Result<Vec<SourceFile>, OpenError> {
        let mut found = Vec::new();
        self.find_files(folder, 0, &mut found).map_err(|reason| self.unreadable(folder, reason))?;
        found.sort();
        let mut files = Vec::new();
        for path in found {
            match self.load(&path) {
                Ok(file) => files.push(file),
                Err(reason) => unreadable.push(self.unreadable(&path, reason)),
            }
        }
        Ok(files)
    }

    fn unreadable(&self, path: &str, reason: SystemError) -> OpenError {
        OpenError { path: paths::display(&self.system().current_dir(), path), reason }
    }

    fn find_files(&self, folder: &str, depth: usize, found: &mut Vec<String>) -> Result<(), SystemError> {
        for entry in self.system().read_dir(folder)? {
            let path = paths::join(folder, &entry.name);
            if !entry.is_dir {
                // An `hx.toml` that is not a regular file does not make a project. Add it to `found`, so that loading it reports
                // the error.
                let is_no_manifest = entry.name == MANIFEST_NAME && !self.system().is_file(&path);
                if entry.name.ends_with(".hx") || is_no_manifest {
                    found.push(path);
                }
                continue;
            }
            let skipped = entry.name.starts_with('.')
                || entry.name == "target"
                || depth >= MAX_DEPTH
                || self.system().is_file(&paths::join(&path, MANIFEST_NAME));
            if !skipped {
                // Ignore a folder that cannot be listed, because only its own files are missing then.
                let _ = self.find_files(&path, depth + 1, found);
            }
        }
        Ok(())
    }

    /// Loads the files that a file uses, directly or indirectly. Skips paths without a file: name resolution reports them.
    fn load_used(&mut self, file: SourceFile, path: &str, unreadable: &mut Vec<OpenError>) {
        let mut work = vec![(file, path.to_owned())];
        let mut seen = BTreeSet::from([path.to_owned()]);
        while let Some((file, path)) = work.pop() {
            let tree = parse(self, file).syntax_node();
            for module in modules_named(&tree) {
                let Some(found) = self.find_module(&path, &module) else { continue };
                if !seen.insert(found.clone()) {
                    continue;
                }
                match self.load(&found) {
                    Ok(file) => work.push((file, found)),
                    Err(reason) => unreadable.push(self.unreadable(&found, reason)),
                }
            }
        }
    }

    /// Finds the file of a module on disk, in the folder of the file `from` or in a folder above it, up to the project or the
    /// current folder. The order is that of `hx_base::resolve_module`. `None` if there is no such file.
    pub fn find_module(&self, from: &str, module: &[String]) -> Option<String> {
        let relative = format!("{}.hx", module.join("/"));
        let mut folder = paths::parent(from);
        let root = self.project_root(folder);
        let last = root.unwrap_or_else(|| self.system().current_dir());
        loop {
            let path = paths::join(folder, &relative);
            if self.system().is_file(&path) {
                return Some(path);
            }
            let above = paths::parent(folder);
            if above == folder || folder == last {
                return None;
            }
            folder = above;
        }
    }
}

/// Returns the paths in a tree that may be modules: `use a::b::c;` may name the module `a::b` or `a::b::c`.
fn modules_named(tree: &SyntaxNode) -> BTreeSet<Vec<String>> {
    let mut modules = BTreeSet::new();
    let mut add = |words: &[String]| {
        if words.first().is_some_and(|first| first == "std") {
            return;
        }
        for len in words.len().saturating_sub(1).max(1)..=words.len() {
            modules.insert(words[..len].to_vec());
        }
    };
    for node in tree.descendants() {
        match node.kind() {
            SyntaxKind::USE => {
                if let Some(tree) = ast::Use::cast(node).and_then(|it| it.use_tree()) {
                    use_paths(&tree, &[], &mut add);
                }
            }
            SyntaxKind::PATH => {
                let words = ast::Path::cast(node).map(|path| words(&path)).unwrap_or_default();
                if words.len() > 1 {
                    add(&words);
                }
            }
            _ => {}
        }
    }
    modules
}

fn words(path: &ast::Path) -> Vec<String> {
    path.segments().map(|segment| segment.text()).collect()
}

fn use_paths(tree: &ast::UseTree, prefix: &[String], add: &mut dyn FnMut(&[String])) {
    let mut path = prefix.to_vec();
    path.extend(tree.path().map(|path| words(&path)).unwrap_or_default());
    match tree.use_tree_list() {
        Some(list) => list.use_trees().for_each(|tree| use_paths(&tree, &path, add)),
        None if !path.is_empty() => add(&path),
        None => {}
    }
}
