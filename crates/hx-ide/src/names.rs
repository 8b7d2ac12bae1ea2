//! Resolves every name in a file to its definition. Definitions, references, rename, highlights and colours build on this.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_dtype::DType;
use hx_hir::{Builtin, resolve_path};
use hx_hir::{
    Expr, ExprId, ExprStore, Item, ItemKey, ItemKind, Kind, Name, Names, Pat, PatId, Path, PathTarget,
    PtxPart, Resolution, SourceMap, StmtKind, TypeRef, absolute_path, body_names, body_of, body_source_map,
    family_names, family_source_map, file_items, fn_signature, item_range, kernel_family, kernel_signature,
    kernel_tune, ptx_operands, signature_names, signature_source_map, tune_names, tune_source_map,
};
use hx_syntax::ast::{self, AstNode as _};
use hx_syntax::{SyntaxKind, SyntaxNode};

use crate::FileRange;

/// The definition that a name refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Def {
    /// A value that an earlier cell of a session binds.
    Binding(Name),
    Local {
        item: ItemKey,
        pat: PatId,
    },
    Param {
        item: ItemKey,
        index: usize,
    },
    /// A compile-time parameter.
    Generic {
        item: ItemKey,
        index: usize,
    },
    /// A dimension or stride that the types of the parameters bind.
    Dim {
        item: ItemKey,
        name: Name,
    },
    /// The result of a function, in its `where` clause.
    Result(ItemKey),
    Item(ItemKey),
    Module(SourceFile),
    Builtin(Builtin),
    DType(DType),
    Kind(Kind),
    /// A name after a dot.
    Member(Name),
}

/// The role of a name at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Definition,
    Read,
    Write,
    /// The label of an argument.
    Label,
}

/// An occurrence of a name in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Occurrence {
    pub(crate) range: TextRange,
    pub(crate) def: Def,
    pub(crate) role: Role,
}

/// Returns every name of a file that resolves, in text order, with one occurrence for each place.
pub(crate) fn occurrences(db: &dyn Db, file: SourceFile) -> Vec<Occurrence> {
    let mut found = Finder::new(db, file);
    for item in &file_items(db, file).items {
        found.item(*item);
    }
    found.uses();
    found.by_start.into_values().collect()
}

/// Returns the name at an offset: the one that begins there, otherwise the one that contains it or ends there; `None` without
/// a name.
pub(crate) fn occurrence_at(db: &dyn Db, file: SourceFile, at: TextSize) -> Option<Occurrence> {
    let around = |item: &&Item<'_>| item_range(db, **item).contains_inclusive(at);
    let mut found = Finder::new(db, file);
    for item in file_items(db, file).items.iter().filter(around) {
        found.item(*item);
    }
    found.uses();
    let touching = found.by_start.into_values().filter(|o| o.range.contains_inclusive(at));
    touching.max_by_key(|o| (o.range.contains(at), o.range.start()))
}

struct Finder<'db> {
    db: &'db dyn Db,
    file: SourceFile,
    root: SyntaxNode,
    by_start: BTreeMap<TextSize, Occurrence>,
}

impl<'db> Finder<'db> {
    fn new(db: &'db dyn Db, file: SourceFile) -> Finder<'db> {
        let root = hx_base::parse(db, file).syntax_node();
        Finder { db, file, root, by_start: BTreeMap::new() }
    }

    /// Records an occurrence. A definition replaces a use at the same place: the first use of a dimension is its definition.
    fn add(&mut self, range: TextRange, def: Def, role: Role) {
        if range.is_empty() {
            return;
        }
        let new = Occurrence { range, def, role };
        match self.by_start.get(&range.start()) {
            Some(known) if known.role == Role::Definition || role == Role::Read => {}
            _ => {
                self.by_start.insert(range.start(), new);
            }
        }
    }

    fn item(&mut self, item: Item<'db>) {
        let db = self.db;
        let (key, offset) = (item.key(db), item.offset(db));
        if let Some(name) = item_name(db, &self.root, item) {
            self.add(name, Def::Item(key.clone()), Role::Definition);
        }
        if let Some(map) = signature_source_map(db, item) {
            for (index, range) in map.generics.iter().enumerate() {
                self.add(*range + offset, Def::Generic { item: key.clone(), index }, Role::Definition);
            }
            for (index, range) in map.params.iter().enumerate() {
                self.add(*range + offset, Def::Param { item: key.clone(), index }, Role::Definition);
            }
            let names = signature_names(db, item);
            for dim in &names.dims {
                if let Some(range) = map.map.expr(dim.at) {
                    let def = Def::Dim { item: key.clone(), name: dim.name.clone() };
                    self.add(range + offset, def, Role::Definition);
                }
            }
            if let Some(store) = signature_store(db, item) {
                self.store(item, store, &map.map, &names.names);
            }
        }
        if let Item::Kernel(kernel) = item
            && let Some(map) = tune_source_map(db, kernel)
        {
            self.store(item, &kernel_tune(db, kernel).store, map, tune_names(db, kernel));
        }
        if let Item::Kernel(kernel) = item
            && let Some(map) = family_source_map(db, kernel)
        {
            self.store(item, &kernel_family(db, kernel).store, map, family_names(db, kernel));
        }
        if let Item::Function(function) = item {
            for (range, part) in ptx_operands(db, function) {
                let (item, range) = (key.clone(), range + offset);
                match part {
                    PtxPart::Param(index) => {
                        self.add(range, Def::Param { item, index: index as usize }, Role::Read)
                    }
                    PtxPart::Generic(index) => {
                        self.add(range, Def::Generic { item, index: index as usize }, Role::Read);
                    }
                    PtxPart::Result | PtxPart::Text(_) => {}
                }
            }
        }
        let Some(map) = body_source_map(db, item) else { return };
        let body = body_of(db, item);
        for (pat, found) in body.store.pats.iter() {
            if let (Pat::Bind(_), Some(range)) = (found, map.pat(pat)) {
                self.add(range + offset, Def::Local { item: key.clone(), pat }, Role::Definition);
            }
        }
        self.store(item, &body.store, map, body_names(db, item));
    }

    /// Records the names in a signature or body.
    fn store(&mut self, item: Item<'db>, store: &ExprStore, map: &SourceMap, names: &Names) {
        let (key, offset) = (item.key(self.db), item.offset(self.db));
        let mut written: Vec<ExprId> = Vec::new();
        for stmt in store.stmts.values() {
            if let StmtKind::Assign { place, .. } = stmt.kind {
                written.push(place);
            }
        }
        for (expr, resolution) in names.exprs.iter() {
            let (Some(range), Expr::Path { path, .. }) = (map.expr(expr), &store[expr]) else { continue };
            let role = if written.contains(&expr) { Role::Write } else { Role::Read };
            let Some(def) = def_of(&key, resolution) else { continue };
            self.path(range + offset, path, def, role);
        }
        for (ty, resolution) in names.types.iter() {
            let (Some(range), TypeRef::Named { path, .. }) = (map.type_ref(ty), &store[ty]) else { continue };
            let Some(def) = def_of(&key, resolution) else { continue };
            self.path(range + offset, path, def, Role::Read);
        }
        for (expr, data) in store.exprs.iter() {
            match data {
                Expr::Field { name, .. } | Expr::MethodCall { name, .. } => {
                    if let Some(range) = map.label(expr, 0) {
                        self.add(range + offset, Def::Member(name.clone()), Role::Read);
                    }
                }
                Expr::Call { callee, args } => {
                    let target = names.exprs.get(*callee).cloned();
                    let labels: Vec<(usize, &Name)> =
                        args.iter().enumerate().filter_map(|(i, a)| Some((i, a.name.as_ref()?))).collect();
                    for (i, name) in labels {
                        let range = map.label(expr, i);
                        self.label(range.map(|r| r + offset), target.as_ref(), name, false);
                    }
                }
                Expr::Path { generics, .. } if !generics.is_empty() => {
                    let target = names.exprs.get(expr).cloned();
                    for (i, generic) in generics.iter().enumerate() {
                        let Some(name) = &generic.name else { continue };
                        let range = map.label(expr, i);
                        self.label(range.map(|r| r + offset), target.as_ref(), name, true);
                    }
                }
                _ => {}
            }
        }
    }

    /// Records the label of an argument, which names a parameter of the callee.
    fn label(&mut self, range: Option<TextRange>, target: Option<&Resolution>, name: &Name, generic: bool) {
        let (Some(range), Some(Resolution::Item(key))) = (range, target) else { return };
        let Some(callee) = key.find(self.db) else { return };
        let def = if generic {
            let index = generics_of(self.db, callee).iter().position(|known| known == name);
            index.map(|index| Def::Generic { item: key.clone(), index })
        } else {
            let index = params_of(self.db, callee).iter().position(|known| known == name);
            index.map(|index| Def::Param { item: key.clone(), index })
        };
        if let Some(def) = def {
            self.add(range, def, Role::Label);
        }
    }

    /// Records a path that begins in a range: its last name means `def`, the names before it are modules.
    fn path(&mut self, range: TextRange, path: &Path, def: Def, role: Role) {
        let text = self.file.text(self.db);
        if let Some(name) = path.as_name()
            && text.get(usize::from(range.start())..).is_some_and(|rest| rest.starts_with(name.as_str()))
        {
            return self.add(TextRange::at(range.start(), TextSize::of(name.as_str())), def, role);
        }
        let Some(node) = path_node(&self.root, range, path) else { return };
        let segments: Vec<TextRange> = node.segments().map(|s| s.syntax().text_range()).collect();
        let Some((last, modules)) = segments.split_last() else { return };
        self.add(*last, def, role);
        self.modules(&path.segments, modules, true);
    }

    /// Records the modules that the leading names of a path mean.
    fn modules(&mut self, names: &[Name], ranges: &[TextRange], through_imports: bool) {
        for (i, range) in ranges.iter().enumerate() {
            let Some(prefix) = names.get(..=i) else { return };
            let target = if through_imports {
                resolve_path(self.db, self.file, &Path { segments: prefix.to_vec() })
                    .or_else(|| absolute_path(self.db, self.file, prefix))
            } else {
                absolute_path(self.db, self.file, prefix)
            };
            if let Some(PathTarget::Module(file)) = target {
                self.add(*range, Def::Module(file), Role::Read);
            }
        }
    }

    fn uses(&mut self) {
        let trees: Vec<ast::UseTree> =
            self.root.children().filter_map(ast::Use::cast).filter_map(|it| it.use_tree()).collect();
        for tree in trees {
            self.use_tree(&tree, &[]);
        }
    }

    fn use_tree(&mut self, tree: &ast::UseTree, prefix: &[Name]) {
        let mut names = prefix.to_vec();
        for segment in tree.path().into_iter().flat_map(|path| path.segments().collect::<Vec<_>>()) {
            names.push(Name::from(segment.text()));
            let def = match absolute_path(self.db, self.file, &names) {
                Some(PathTarget::Item(item)) => Def::Item(item.key(self.db)),
                Some(PathTarget::Module(file)) => Def::Module(file),
                None => continue,
            };
            self.add(segment.syntax().text_range(), def.clone(), Role::Read);
            if let Some(alias) = tree.rename().and_then(|rename| rename.name()) {
                self.add(alias.syntax().text_range(), def, Role::Read);
            }
        }
        for inner in tree.use_tree_list().into_iter().flat_map(|list| list.use_trees().collect::<Vec<_>>()) {
            self.use_tree(&inner, &names);
        }
    }
}

/// Returns the node of the path with these names that begins in a range; `None` if the tree has none.
fn path_node(root: &SyntaxNode, range: TextRange, path: &Path) -> Option<ast::Path> {
    let covering = match root.covering_element(range.intersect(root.text_range())?) {
        hx_syntax::NodeOrToken::Node(node) => node,
        hx_syntax::NodeOrToken::Token(token) => token.parent()?,
    };
    let same = |node: &ast::Path| {
        let mut segments = node.segments();
        path.segments.iter().all(|name| segments.next().is_some_and(|s| s.text() == name.as_str()))
            && segments.next().is_none()
    };
    let inside = covering.descendants().filter_map(ast::Path::cast);
    inside.filter(|node| range.contains_range(node.syntax().text_range())).find(same)
}

fn def_of(item: &ItemKey, resolution: &Resolution) -> Option<Def> {
    let item = || item.clone();
    Some(match resolution {
        Resolution::Local(pat) => Def::Local { item: item(), pat: *pat },
        Resolution::Binding(name) => Def::Binding(name.clone()),
        Resolution::Param(index) => Def::Param { item: item(), index: *index as usize },
        Resolution::Generic(index) => Def::Generic { item: item(), index: *index as usize },
        Resolution::Dim(name) => Def::Dim { item: item(), name: name.clone() },
        Resolution::Result => Def::Result(item()),
        Resolution::Item(key) => Def::Item(key.clone()),
        Resolution::Module(file) => Def::Module(*file),
        Resolution::Builtin(builtin) => Def::Builtin(*builtin),
        Resolution::DType(dtype) => Def::DType(*dtype),
        Resolution::Kind(kind) => Def::Kind(*kind),
    })
}

fn signature_store<'db>(db: &'db dyn Db, item: Item<'db>) -> Option<&'db ExprStore> {
    match item {
        Item::Kernel(it) => Some(&kernel_signature(db, it).store),
        Item::Function(it) => Some(&fn_signature(db, it).store),
        _ => None,
    }
}

/// Returns the names of the run-time parameters of a kernel or function.
pub(crate) fn params_of(db: &dyn Db, item: Item<'_>) -> Vec<Name> {
    match item {
        Item::Kernel(it) => kernel_signature(db, it).params.iter().map(|p| p.name.clone()).collect(),
        Item::Function(it) => fn_signature(db, it).params.iter().map(|p| p.name.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Returns the names of the compile-time parameters of a kernel or function.
pub(crate) fn generics_of(db: &dyn Db, item: Item<'_>) -> Vec<Name> {
    match item {
        Item::Kernel(it) => kernel_signature(db, it).generics.iter().map(|p| p.name.clone()).collect(),
        Item::Function(it) => fn_signature(db, it).generics.iter().map(|p| p.name.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Returns the node of an item in its file's tree; `None` if no node has the item's range.
pub(crate) fn item_node(db: &dyn Db, root: &SyntaxNode, item: Item<'_>) -> Option<SyntaxNode> {
    let range = item_range(db, item);
    // A cell is the whole tree.
    if root.text_range() == range && item.kind() == ItemKind::Cell {
        return Some(root.clone());
    }
    let node = root.child_or_token_at_range(range)?.into_node()?;
    (node.text_range() == range).then_some(node)
}

/// Returns the range of an item's name in its file. `use`, tests, benches, `main` and cells have none.
pub(crate) fn item_name(db: &dyn Db, root: &SyntaxNode, item: Item<'_>) -> Option<TextRange> {
    let node = item_node(db, root, item)?;
    match item.kind() {
        ItemKind::Use => None,
        ItemKind::Test | ItemKind::Bench | ItemKind::Main | ItemKind::Cell => None,
        ItemKind::Const | ItemKind::Function | ItemKind::Kernel => {
            let name = node.children().find_map(ast::Name::cast)?;
            Some(name.syntax().text_range())
        }
    }
}

/// Returns the range that represents an item in lists: its name, the title of a test or bench, or the keyword of `main`.
pub(crate) fn item_heading(db: &dyn Db, root: &SyntaxNode, item: Item<'_>) -> Option<TextRange> {
    let node = item_node(db, root, item)?;
    item_name(db, root, item).or_else(|| {
        let tokens = || node.children_with_tokens().filter_map(|it| it.into_token());
        let title = tokens().find(|token| token.kind() == SyntaxKind::STRING);
        title.or_else(|| tokens().find(|token| token.kind().is_keyword())).map(|token| token.text_range())
    })
}

/// Returns the place of a definition. `None` for names without one in a file: those of the language, members, and values of a
/// session.
pub(crate) fn definition_of(db: &dyn Db, def: &Def) -> Option<FileRange> {
    let at = |key: &ItemKey, range: Option<TextRange>| {
        let item = key.find(db)?;
        Some(FileRange { file: key.file, range: range? + item.offset(db) })
    };
    match def {
        Def::Local { item, pat } => at(item, body_source_map(db, item.find(db)?)?.pat(*pat)),
        Def::Param { item, index } => {
            at(item, signature_source_map(db, item.find(db)?)?.params.get(*index).copied())
        }
        Def::Generic { item, index } => {
            at(item, signature_source_map(db, item.find(db)?)?.generics.get(*index).copied())
        }
        Def::Dim { item, name } => {
            let found = item.find(db)?;
            let dim = signature_names(db, found).dims.iter().find(|dim| dim.name == *name)?;
            at(item, signature_source_map(db, found)?.map.expr(dim.at))
        }
        Def::Item(key) => {
            let item = key.find(db)?;
            let root = hx_base::parse(db, key.file).syntax_node();
            let range = item_name(db, &root, item).unwrap_or_else(|| item_range(db, item));
            Some(FileRange { file: key.file, range })
        }
        Def::Module(file) => Some(FileRange { file: *file, range: TextRange::default() }),
        Def::Result(item) => {
            let found @ Item::Function(function) = item.find(db)? else { return None };
            at(item, signature_source_map(db, found)?.map.type_ref(fn_signature(db, function).ret?))
        }
        Def::Binding(_) | Def::Builtin(_) | Def::DType(_) | Def::Kind(_) | Def::Member(_) => None,
    }
}

impl Def {
    /// Returns the item that the definition is, or that contains it; `None` for modules, members, values of a session and
    /// names of the language.
    pub(crate) fn item(&self) -> Option<&ItemKey> {
        match self {
            Def::Local { item, .. }
            | Def::Param { item, .. }
            | Def::Generic { item, .. }
            | Def::Dim { item, .. }
            | Def::Result(item)
            | Def::Item(item) => Some(item),
            _ => None,
        }
    }

    /// Reports whether names outside of the definition's item can refer to it.
    pub(crate) fn is_visible_outside(&self) -> bool {
        matches!(self, Def::Item(_) | Def::Module(_) | Def::Param { .. } | Def::Generic { .. })
    }
}
