//! The items of a file, without their bodies: the wall between typing in one body and the rest of the project.
//!
//! An item is identified by its file, kind, name and which of that name it is. Where it is and what it says are tracked
//! fields: an item that only moves keeps its text, and whoever reads only its text runs no more.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange, TextSize};
use hx_syntax::{GreenNode, SyntaxNode, ast, ast::AstNode as _};

use crate::{Db, Name, collect};

macro_rules! items {
    ($($(#[$doc:meta])* $name:ident: $node:ident, $word:literal;)*) => {
        $(
            $(#[$doc])*
            #[salsa::tracked(debug)]
            pub struct $name<'db> {
                /// The file that it is in.
                #[returns(copy)]
                pub file: SourceFile,
                /// Its name: of a test or bench the title, of what has none the word it starts with.
                #[returns(ref)]
                pub name: Name,
                /// Which of the items of that kind and name in the file, from 0.
                #[returns(copy)]
                pub nth: u32,
                #[tracked]
                #[returns(ref)]
                green: GreenNode,
                /// Where its node begins in the file. What is in an item is counted from here.
                #[tracked]
                #[returns(copy)]
                pub offset: TextSize,
            }

            impl<'db> $name<'db> {
                /// Its identity as plain data.
                pub fn key(self, db: &'db dyn Db) -> ItemKey {
                    ItemKey { file: self.file(db), kind: ItemKind::$name, name: self.name(db).clone(), nth: self.nth(db) }
                }

                /// Its own syntax tree, cut out of the file.
                pub(crate) fn syntax(self, db: &'db dyn Db) -> Option<ast::$node> {
                    ast::$node::cast(SyntaxNode::new_root(self.green(db).clone()))
                }
            }
        )*

        /// Any item of a file.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, salsa::Supertype, salsa::SalsaValue)]
        pub enum Item<'db> {
            $($(#[$doc])* $name($name<'db>),)*
        }

        /// What an item is.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ItemKind {
            $($(#[$doc])* $name,)*
        }

        impl ItemKind {
            /// The word of the language that starts such an item.
            pub fn word(self) -> &'static str {
                match self { $(ItemKind::$name => $word,)* }
            }
        }

        impl<'db> Item<'db> {
            fn make(db: &'db dyn Db, file: SourceFile, kind: ItemKind, name: Name, nth: u32, node: &SyntaxNode) -> Item<'db> {
                let (green, offset) = (node.green().to_owned(), node.text_range().start());
                match kind { $(ItemKind::$name => Item::$name($name::new(db, file, name, nth, green, offset)),)* }
            }

            /// What it is.
            pub fn kind(self) -> ItemKind {
                match self { $(Item::$name(_) => ItemKind::$name,)* }
            }

            /// The file that it is in.
            pub fn file(self, db: &'db dyn Db) -> SourceFile {
                match self { $(Item::$name(it) => it.file(db),)* }
            }

            /// Its own syntax tree, cut out of the file.
            fn green(self, db: &'db dyn Db) -> &'db GreenNode {
                match self { $(Item::$name(it) => it.green(db),)* }
            }

            /// Its name: of a test or bench the title, of what has none the word it starts with.
            pub fn name(self, db: &'db dyn Db) -> &'db Name {
                match self { $(Item::$name(it) => it.name(db),)* }
            }

            /// Where its node begins in the file. What is in an item is counted from here.
            pub fn offset(self, db: &'db dyn Db) -> TextSize {
                match self { $(Item::$name(it) => it.offset(db),)* }
            }

            /// Its identity as plain data.
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
    /// What `hx run` executes.
    Main: Main, "main";
    /// The statements of an entry of the REPL.
    Cell: Cell, "cell";
}

/// The identity of an item as plain data: it may be kept in results and across revisions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ItemKey {
    pub file: SourceFile,
    pub kind: ItemKind,
    pub name: Name,
    pub nth: u32,
}

impl ItemKey {
    /// The item, if the file still has it.
    pub fn find<'db>(&self, db: &'db dyn Db) -> Option<Item<'db>> {
        find_item(db, self.file, self.kind, self.name.clone(), self.nth)
    }
}

/// The items of a file in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub struct FileItems<'db> {
    pub items: Vec<Item<'db>>,
}

impl<'db> FileItems<'db> {
    /// The kernels in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel<'db>> {
        self.items.iter().filter_map(|item| if let Item::Kernel(it) = item { Some(*it) } else { None })
    }

    /// The tests in the order of the text.
    pub fn tests(&self) -> impl Iterator<Item = Test<'db>> {
        self.items.iter().filter_map(|item| if let Item::Test(it) = item { Some(*it) } else { None })
    }

    /// The benches in the order of the text.
    pub fn benches(&self) -> impl Iterator<Item = Bench<'db>> {
        self.items.iter().filter_map(|item| if let Item::Bench(it) = item { Some(*it) } else { None })
    }

    /// The `use` items in the order of the text.
    pub fn uses(&self) -> impl Iterator<Item = Use<'db>> {
        self.items.iter().filter_map(|item| if let Item::Use(it) = item { Some(*it) } else { None })
    }

    /// All that are called `main`; a file has one at most.
    pub fn mains(&self) -> impl Iterator<Item = Main<'db>> {
        self.items.iter().filter_map(|item| if let Item::Main(it) = item { Some(*it) } else { None })
    }

    /// The first `main`.
    pub fn main(&self) -> Option<Main<'db>> {
        self.mains().next()
    }

    /// The statements of a cell, if it has some.
    pub fn cell(&self) -> Option<Cell<'db>> {
        self.items.iter().find_map(|item| if let Item::Cell(it) = item { Some(*it) } else { None })
    }

    /// The items that are called by a name (`const`, `fn`, `kernel`).
    pub fn named(&self) -> impl Iterator<Item = Item<'db>> {
        let named = |item: &Item<'db>| matches!(item, Item::Const(_) | Item::Function(_) | Item::Kernel(_));
        self.items.iter().copied().filter(named)
    }
}

/// The items of a file.
#[salsa::tracked]
pub fn file_items<'db>(db: &'db dyn Db, file: SourceFile) -> FileItems<'db> {
    let tree = hx_base::parse(db, file).tree();
    let cell = tree.cell();
    let nodes = match &cell {
        Some(cell) => cell.items(),
        None => tree.items(),
    };
    let mut seen: BTreeMap<(ItemKind, Name), u32> = BTreeMap::new();
    let mut items = Vec::new();
    for node in nodes {
        let (kind, name) = identify(&node);
        let count = seen.entry((kind, name.clone())).or_default();
        items.push(Item::make(db, file, kind, name, *count, node.syntax()));
        *count += 1;
    }
    // The statements come last: they see every item of their cell.
    if let Some(cell) = cell.filter(|cell| cell.statements().next().is_some() || cell.tail_expr().is_some()) {
        let kind = ItemKind::Cell;
        items.push(Item::make(db, file, kind, kind.word().into(), 0, cell.syntax()));
    }
    FileItems { items }
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
    let items = &file_items(db, file).items;
    items.iter().copied().filter(|it| it.kind() == kind && *it.name(db) == name).nth(nth as usize)
}

/// The first constant, function or kernel of that name in a file.
#[salsa::tracked(returns(copy))]
pub fn item_named<'db>(db: &'db dyn Db, file: SourceFile, name: Name) -> Option<Item<'db>> {
    file_items(db, file).named().find(|item| *item.name(db) == name)
}

/// The names of the constants, functions and kernels of a file, in the order of the text.
#[salsa::tracked]
pub fn item_names(db: &dyn Db, file: SourceFile) -> Vec<Name> {
    file_items(db, file).named().map(|item| item.name(db).clone()).collect()
}

/// The range of an item in its file, trivia at its edges included.
pub fn item_range<'db>(db: &'db dyn Db, item: Item<'db>) -> TextRange {
    TextRange::at(item.offset(db), item.green(db).text_len())
}

/// The range of an item in its file, from its first token to the end of its last.
pub(crate) fn tokens_range<'db>(db: &'db dyn Db, item: Item<'db>) -> TextRange {
    collect::tokens_range(&SyntaxNode::new_root(item.green(db).clone())) + item.offset(db)
}
