//! The items of a file, without their bodies. They separate edits in one body from the rest of the project.
//!
//! An item is identified by its file, kind, name, and its index among the items of that kind and name. Its position and its
//! text are tracked fields: an item that only moves keeps its text, and queries that read only the text do not run again.

use std::collections::HashMap;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_syntax::{GreenNode, SyntaxNode, ast, ast::AstNode as _};

use crate::{Db, Name, collect};

/// The tree of an item. Its comparison is fast for items that an edit leaves as they are.
#[derive(Clone, Eq, Debug)]
pub struct ItemTree(GreenNode);

impl PartialEq for ItemTree {
    fn eq(&self, other: &Self) -> bool {
        hx_syntax::is_same_tree(&self.0, &other.0)
    }
}

macro_rules! items {
    ($($(#[$doc:meta])* $name:ident: $node:ident, $word:literal;)*) => {
        $(
            $(#[$doc])*
            #[salsa::tracked(debug)]
            pub struct $name<'db> {
                /// The file of the item.
                #[returns(copy)]
                pub file: SourceFile,
                /// The name. A test or bench has its title; an item without a name has the word that it starts with.
                #[returns(ref)]
                pub name: Name,
                /// The index among the items of this kind and name in the file, from 0.
                #[returns(copy)]
                pub nth: u32,
                #[tracked]
                #[returns(ref)]
                green: ItemTree,
                /// The start of the item's node in the file. Offsets within the item are relative to it.
                #[tracked]
                #[returns(copy)]
                pub offset: TextSize,
            }

            impl<'db> $name<'db> {
                /// Returns the identity of the item as plain data.
                pub fn key(self, db: &'db dyn Db) -> ItemKey {
                    ItemKey { file: self.file(db), kind: ItemKind::$name, name: self.name(db).clone(), nth: self.nth(db) }
                }

                /// Returns the item's own syntax tree, cut out of the file.
                pub fn syntax(self, db: &'db dyn Db) -> Option<ast::$node> {
                    ast::$node::cast(SyntaxNode::new_root(self.green(db).0.clone()))
                }
            }
        )*

        /// Any item of a file.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, salsa::Supertype, salsa::SalsaValue)]
        pub enum Item<'db> {
            $($(#[$doc])* $name($name<'db>),)*
        }

        /// The kind of an item.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ItemKind {
            $($(#[$doc])* $name,)*
        }

        impl ItemKind {
            /// Returns the keyword that starts such an item.
            pub fn word(self) -> &'static str {
                match self { $(ItemKind::$name => $word,)* }
            }
        }

        impl<'db> Item<'db> {
            fn make(db: &'db dyn Db, file: SourceFile, kind: ItemKind, name: Name, nth: u32, node: &SyntaxNode) -> Item<'db> {
                let (green, offset) = (ItemTree(node.green().to_owned()), node.text_range().start());
                match kind { $(ItemKind::$name => Item::$name($name::new(db, file, name, nth, green, offset)),)* }
            }

            /// Returns the kind of the item.
            pub fn kind(self) -> ItemKind {
                match self { $(Item::$name(_) => ItemKind::$name,)* }
            }

            /// Returns the file of the item.
            pub fn file(self, db: &'db dyn Db) -> SourceFile {
                match self { $(Item::$name(it) => it.file(db),)* }
            }

            /// Returns the item's own syntax tree, cut out of the file.
            fn green(self, db: &'db dyn Db) -> &'db GreenNode {
                match self { $(Item::$name(it) => &it.green(db).0,)* }
            }

            /// Returns the name. A test or bench has its title; an item without a name has the word that it starts with.
            pub fn name(self, db: &'db dyn Db) -> &'db Name {
                match self { $(Item::$name(it) => it.name(db),)* }
            }

            /// Returns the start of the item's node in the file. Offsets within the item are relative to it.
            pub fn offset(self, db: &'db dyn Db) -> TextSize {
                match self { $(Item::$name(it) => it.offset(db),)* }
            }

            /// Returns the identity of the item as plain data.
            pub fn key(self, db: &'db dyn Db) -> ItemKey {
                match self { $(Item::$name(it) => it.key(db),)* }
            }
        }

        $(
            impl<'db> From<$name<'db>> for Item<'db> {
                fn from(item: $name<'db>) -> Item<'db> {
                    Item::$name(item)
                }
            }
        )*
    };
}

items! {
    /// `use std::gemm::gemm;`
    Use: Use, "use";
    /// `const LOG2E: f32 = 1.44;`
    Const: Const, "const";
    /// A tile function.
    Function: Fn, "fn";
    /// A kernel.
    Kernel: Kernel, "kernel";
    /// A test.
    Test: Test, "test";
    /// A bench.
    Bench: Bench, "bench";
    /// The entry point of `hx run`.
    Main: Main, "main";
    /// The statements of one REPL entry.
    Cell: Cell, "cell";
}

/// The identity of an item as plain data. It may be stored in results and across revisions.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ItemKey {
    pub file: SourceFile,
    pub kind: ItemKind,
    pub name: Name,
    pub nth: u32,
}

impl ItemKey {
    /// Returns the item, if the file still contains it.
    pub fn find<'db>(&self, db: &'db dyn Db) -> Option<Item<'db>> {
        find_item(db, self.file, self.kind, self.name.clone(), self.nth)
    }
}

/// The items of a file in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub struct FileItems<'db> {
    pub items: Vec<Item<'db>>,
    /// The positions in `items` of the items of each kind and name, in the order of the text.
    called: HashMap<(ItemKind, Name), Vec<usize>>,
}

impl<'db> FileItems<'db> {
    /// Returns the kernels in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel<'db>> {
        self.items.iter().filter_map(|item| if let Item::Kernel(it) = item { Some(*it) } else { None })
    }

    /// Returns the tests in the order of the text.
    pub fn tests(&self) -> impl Iterator<Item = Test<'db>> {
        self.items.iter().filter_map(|item| if let Item::Test(it) = item { Some(*it) } else { None })
    }

    /// Returns the benches in the order of the text.
    pub fn benches(&self) -> impl Iterator<Item = Bench<'db>> {
        self.items.iter().filter_map(|item| if let Item::Bench(it) = item { Some(*it) } else { None })
    }

    /// Returns the `use` items in the order of the text.
    pub fn uses(&self) -> impl Iterator<Item = Use<'db>> {
        self.items.iter().filter_map(|item| if let Item::Use(it) = item { Some(*it) } else { None })
    }

    /// Returns all items `main`. A valid file has at most one.
    pub fn mains(&self) -> impl Iterator<Item = Main<'db>> {
        self.items.iter().filter_map(|item| if let Item::Main(it) = item { Some(*it) } else { None })
    }

    /// Returns the first `main`; `None` if the file has none.
    pub fn main(&self) -> Option<Main<'db>> {
        self.mains().next()
    }

    /// Returns the statements of a cell, if it has any.
    pub fn cell(&self) -> Option<Cell<'db>> {
        self.items.iter().find_map(|item| if let Item::Cell(it) = item { Some(*it) } else { None })
    }

    /// Returns the items that paths can name (`const`, `fn`, `kernel`).
    pub fn named(&self) -> impl Iterator<Item = Item<'db>> {
        let named = |item: &Item<'db>| matches!(item, Item::Const(_) | Item::Function(_) | Item::Kernel(_));
        self.items.iter().copied().filter(named)
    }

    /// Returns the item with index `nth` of that kind and name, from 0; `None` if there are fewer.
    fn nth(&self, kind: ItemKind, name: &Name, nth: u32) -> Option<Item<'db>> {
        self.items.get(*self.called.get(&(kind, name.clone()))?.get(nth as usize)?).copied()
    }

    /// Returns the first constant, function or kernel of that name. `None` if there is none.
    fn first_named(&self, name: &Name) -> Option<Item<'db>> {
        let first = |kind| self.called.get(&(kind, name.clone()))?.first();
        let kinds = [ItemKind::Const, ItemKind::Function, ItemKind::Kernel];
        self.items.get(*kinds.into_iter().filter_map(first).min()?).copied()
    }
}

/// Returns the items of a file.
#[salsa::tracked]
pub fn file_items<'db>(db: &'db dyn Db, file: SourceFile) -> FileItems<'db> {
    let tree = hx_base::parse(db, file).tree();
    let cell = tree.cell();
    let nodes = match &cell {
        Some(cell) => cell.items(),
        None => tree.items(),
    };
    let mut called: HashMap<(ItemKind, Name), Vec<usize>> = HashMap::new();
    let mut items = Vec::new();
    for node in nodes {
        let (kind, name) = identify(&node);
        let same = called.entry((kind, name.clone())).or_default();
        items.push(Item::make(db, file, kind, name, same.len() as u32, node.syntax()));
        same.push(items.len() - 1);
    }
    // The statements come last, because they see every item of their cell.
    if let Some(cell) = cell.filter(|cell| cell.statements().next().is_some() || cell.tail_expr().is_some()) {
        let kind = ItemKind::Cell;
        called.insert((kind, kind.word().into()), vec![items.len()]);
        items.push(Item::make(db, file, kind, kind.word().into(), 0, cell.syntax()));
    }
    FileItems { items, called }
}

fn identify(node: &ast::Item) -> (ItemKind, Name) {
    let titled =
        |title: Option<String>, kind: ItemKind| (kind, title.map_or_else(|| kind.word().into(), Name::from));
    match node {
        ast::Item::Use(it) => {
            let text = it.use_tree().map(|t| collect::plain_text(t.syntax()));
            titled(text, ItemKind::Use)
        }
        ast::Item::Const(it) => (ItemKind::Const, collect::name_of(ast::HasName::name(it))),
        ast::Item::Fn(it) => (ItemKind::Function, collect::name_of(ast::HasName::name(it))),
        ast::Item::Kernel(it) => (ItemKind::Kernel, collect::name_of(ast::HasName::name(it))),
        ast::Item::Test(it) => titled(it.title(), ItemKind::Test),
        ast::Item::Bench(it) => titled(it.title(), ItemKind::Bench),
        ast::Item::Main(_) => titled(None, ItemKind::Main),
    }
}

#[salsa::tracked(returns(copy))]
fn find_item<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    kind: ItemKind,
    name: Name,
    nth: u32,
) -> Option<Item<'db>> {
    file_items(db, file).nth(kind, &name, nth)
}

/// Returns the first constant, function or kernel of that name in a file. `None` if there is none.
#[salsa::tracked(returns(copy))]
pub fn item_named<'db>(db: &'db dyn Db, file: SourceFile, name: Name) -> Option<Item<'db>> {
    file_items(db, file).first_named(&name)
}

/// Returns the names of the constants, functions and kernels of a file, in the order of the text.
#[salsa::tracked]
pub fn item_names(db: &dyn Db, file: SourceFile) -> Vec<Name> {
    file_items(db, file).named().map(|item| item.name(db).clone()).collect()
}

/// Returns the range of an item in its file, including the trivia at its edges.
pub fn item_range<'db>(db: &'db dyn Db, item: Item<'db>) -> TextRange {
    TextRange::at(item.offset(db), item.green(db).text_len())
}

/// Returns the text of an item, including the trivia at its edges.
pub fn item_text<'db>(db: &'db dyn Db, item: Item<'db>) -> String {
    item.green(db).to_string()
}

/// Returns the syntax of an item, a tree of its own.
pub(crate) fn item_syntax<'db>(db: &'db dyn Db, item: Item<'db>) -> SyntaxNode {
    SyntaxNode::new_root(item.green(db).clone())
}

/// Returns the range of an item in its file, from its first token to the end of its last.
pub(crate) fn tokens_range<'db>(db: &'db dyn Db, item: Item<'db>) -> TextRange {
    collect::tokens_range(&item_syntax(db, item)) + item.offset(db)
}
