//! Finds the file that defines the item of a path.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

/// The modules of a crate, by their paths: `["shared", "place"]`. The root has no segments.
pub(super) type Modules = BTreeMap<Vec<String>, Module>;

/// A module that has a file of its own. Modules inside of the file belong to it.
#[derive(Default)]
pub(super) struct Module {
    /// The file below `src`.
    pub(super) file: String,
    /// Names of items that the file defines.
    defined: BTreeSet<String>,
    imports: Vec<Import>,
    /// The paths in the signatures and bodies of the file.
    named: BTreeSet<Vec<String>>,
}

/// A name that a `use` imports; a glob has the name `*`.
struct Import {
    name: String,
    path: Vec<String>,
    /// Whether other modules see the name. Then the import may be a re-export, which is not a use.
    is_public: bool,
}

/// Returns the path of a file's module: `tidy/rows.rs` is `["tidy", "rows"]`. `None` for files of tests.
pub(super) fn name(file: &str) -> Option<Vec<String>> {
    let module = file.strip_suffix(".rs")?;
    let mut segments: Vec<String> = module.split('/').map(str::to_owned).collect();
    if segments.iter().any(|segment| segment == "tests") {
        return None;
    }
    if segments.last().is_some_and(|last| last == "mod") || ["lib", "main"].contains(&module) {
        segments.pop();
    }
    Some(segments)
}

impl Module {
    pub(super) fn of(file: &str, parsed: &syn::File) -> Module {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        module.visit_file(parsed);
        module
    }

    fn add_import(&mut self, prefix: &[String], tree: &syn::UseTree, is_public: bool) {
        let with = |segment: String| prefix.iter().cloned().chain([segment]).collect::<Vec<_>>();
        let mut add = |name: String, path| self.imports.push(Import { name, path, is_public });
        match tree {
            syn::UseTree::Path(path) => self.add_import(&with(path.ident.to_string()), &path.tree, is_public),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_import(prefix, tree, is_public);
                }
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                add(prefix.last().cloned().unwrap_or_default(), prefix.to_vec());
            }
            syn::UseTree::Name(name) => add(name.ident.to_string(), with(name.ident.to_string())),
            syn::UseTree::Rename(name) => add(name.rename.to_string(), with(name.ident.to_string())),
            syn::UseTree::Glob(_) => add("*".to_owned(), prefix.to_vec()),
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    let is_test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string() == "test")
    };
    attributes.iter().any(is_test)
}

/// Returns the name that an item defines; `None` for items without a name, such as `impl`.
fn defined(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::TraitAlias(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        // A module with a body is part of this file; one without has a file of its own.
        syn::Item::Mod(item) if item.content.is_some() => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            self.defined.extend(defined(item));
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        self.add_import(&[], &item.tree, is_public);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.named.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

/// Returns the items that a module names, each with the module that defines it.
pub(super) fn uses(modules: &Modules, of: &[String]) -> BTreeSet<(Vec<String>, String)> {
    let module = &modules[of];
    let imported = module.imports.iter().filter(|import| !import.is_public && import.name != "*");
    let paths = imported.map(|import| &import.path).chain(&module.named);
    paths.filter_map(|path| Search { modules, seen: BTreeSet::new() }.definition(of, path)).collect()
}

/// A bound on the length of paths, which no path of our crates reaches.
const MAX_SEGMENTS: usize = 16;

/// A search for the module that defines an item.
struct Search<'m> {
    modules: &'m Modules,
    /// The lookups so far, each a module and a path: imports may refer to each other without end.
    seen: BTreeSet<(Vec<String>, Vec<String>)>,
}

impl Search<'_> {
    /// Resolves a path as written in the module `from`. Returns the module that defines the item, and the item's name. `None` if
    /// the path names a module, a local or another crate.
    fn definition(&mut self, from: &[String], path: &[String]) -> Option<(Vec<String>, String)> {
        // An import that begins with its own name, as `use serde::serde`, makes the path longer with every step.
        if path.len() > MAX_SEGMENTS || !self.seen.insert((from.to_vec(), path.to_vec())) {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.within(&[], rest),
            "self" => self.within(from, rest),
            "super" => self.within(from.split_last()?.1, rest),
            _ => self.within(from, path),
        }
    }

    fn within(&mut self, module: &[String], path: &[String]) -> Option<(Vec<String>, String)> {
        let (first, rest) = path.split_first()?;
        if first == "super" {
            return self.within(module.split_last()?.1, rest);
        }
        let child: Vec<String> = module.iter().cloned().chain([first.clone()]).collect();
        if self.modules.contains_key(&child) {
            return self.within(&child, rest);
        }
        let here = self.modules.get(module)?;
        if here.defined.contains(first) {
            return Some((module.to_vec(), first.clone()));
        }
        let follow =
            |import: &Import| import.path.iter().cloned().chain(rest.iter().cloned()).collect::<Vec<_>>();
        if let Some(import) = here.imports.iter().find(|import| import.name == *first) {
            return self.definition(module, &follow(import));
        }
        let through_glob = |import: &Import| import.path.iter().chain(path).cloned().collect::<Vec<_>>();
        let globs: Vec<Vec<String>> =
            here.imports.iter().filter(|import| import.name == "*").map(through_glob).collect();
        globs.iter().find_map(|path| self.definition(module, path))
    }
}
