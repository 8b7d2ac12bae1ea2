//! The order in which constants are evaluated, and the constants that need their own value.
//!
//! A constant builds on others, also through the functions that it calls. The evaluation of each is a query, so a value is
//! computed once however often it is named. [`constants_of`] reads names only and walks with a stack of its own: it finds circles
//! before anything is evaluated, and counts how deep a constant builds on others, so that [`constants_first`] can keep long
//! chains off the call stack.

use std::collections::HashMap;

use hx_base::SourceFile;

use crate::{
    Const, Db, Item, ItemKey, Resolution, Ty, body_names, body_of, file_items, infer_body, signature_names,
};

/// An evaluation recurses through at most this many constants.
const STRIDE: u32 = 32;

/// What is known of the constants of a file, and of all that they build on, before they are evaluated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Constants {
    /// Of each constant and function: the length of the longest chain of items that it builds on.
    depth: HashMap<ItemKey, u32>,
    /// Of each constant and function that needs itself: which circle it is on, by one of its items.
    circle: HashMap<ItemKey, ItemKey>,
}

impl Constants {
    /// The circle that the item is on, by one of its items; nothing if it does not need itself.
    pub(crate) fn circle(&self, item: &ItemKey) -> Option<&ItemKey> {
        self.circle.get(item)
    }
}

/// Walks from the constants of a file to all that they build on, in this file and others.
#[salsa::tracked]
pub(crate) fn constants_of(db: &dyn Db, file: SourceFile) -> Constants {
    let mut walk =
        Walk { db, nodes: Vec::new(), of: HashMap::new(), open: Vec::new(), found: Constants::default() };
    for &item in &file_items(db, file).items {
        if matches!(item, Item::Const(_)) {
            walk.from(item);
        }
    }
    walk.found
}

/// What [`constants_of`] knows of one constant, so that a constant that others do not build on leaves them as they are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The length of the longest chain of constants and functions that it builds on.
    pub depth: u32,
    /// Whether it needs its own value.
    pub is_circular: bool,
}

/// Where a constant stands among those that it builds on.
#[salsa::tracked]
pub fn standing<'db>(db: &'db dyn Db, constant: Const<'db>) -> Standing {
    let (known, key) = (constants_of(db, constant.file(db)), constant.key(db));
    Standing {
        depth: known.depth.get(&key).copied().unwrap_or(0),
        is_circular: known.circle.contains_key(&key),
    }
}

/// The type and value of a constant, as those that name it see it: its annotation says which type, its body which value.
#[salsa::tracked]
pub(crate) fn constant_type<'db>(db: &'db dyn Db, constant: Const<'db>) -> Ty {
    if standing(db, constant).is_circular {
        return Ty::Error;
    }
    for below in constants_first(db, constant) {
        constant_type(db, below);
    }
    let item = Item::Const(constant);
    let body = body_of(db, item);
    let inference = infer_body(db, item);
    let found = inference.exprs.get(body.root).cloned().unwrap_or(Ty::Unknown);
    match (inference.annotation.clone(), found) {
        (Some(Ty::Int(_)), Ty::Int(value)) => Ty::Int(value),
        (Some(Ty::Layout(_)), found @ Ty::Layout(_)) => found,
        (Some(Ty::DType(_)), found @ Ty::DType(_)) => found,
        (Some(wanted), _) => wanted,
        (None, found) => found,
    }
}

/// The constants to evaluate before this one, in this order, so that no evaluation recurses through more than [`STRIDE`] of
/// them: those below it whose depth is a multiple of the stride, if its own is. It must be on no circle.
pub fn constants_first<'db>(db: &'db dyn Db, constant: Const<'db>) -> Vec<Const<'db>> {
    let depth = standing(db, constant).depth;
    if depth == 0 || !depth.is_multiple_of(STRIDE) {
        return Vec::new();
    }
    let mut below = constants_below(db, constant);
    below.retain(|below| standing(db, *below).depth.is_multiple_of(STRIDE));
    below
}

/// All constants that a constant builds on, those that build on the others last, without those that need their own value.
pub fn constants_below<'db>(db: &'db dyn Db, constant: Const<'db>) -> Vec<Const<'db>> {
    let below = reached(db, Item::Const(constant)).into_iter();
    let constant = |item| if let Item::Const(it) = item { Some(it) } else { None };
    let mut below: Vec<Const<'db>> =
        below.filter_map(constant).filter(|it| !standing(db, *it).is_circular).collect();
    // The walk is in the order of the text, and sorting is stable: the order is the same each time.
    below.sort_by_key(|it| standing(db, *it).depth);
    below
}

/// The constants and functions that an item builds on, without itself.
fn reached<'db>(db: &'db dyn Db, from: Item<'db>) -> Vec<Item<'db>> {
    let (mut seen, mut found, mut next) = (std::collections::HashSet::from([from]), Vec::new(), vec![from]);
    while let Some(item) = next.pop() {
        for below in named(db, item) {
            if seen.insert(below) {
                found.push(below);
                next.push(below);
            }
        }
    }
    found
}

/// The constants and functions that an item names, in the order of its text.
fn named<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Item<'db>> {
    let names = [&signature_names(db, item).names, body_names(db, item)];
    let keys = names.into_iter().flat_map(|names| names.exprs.iter()).filter_map(|(_, found)| match found {
        Resolution::Item(key) => Some(key),
        _ => None,
    });
    let mut found: Vec<Item<'db>> = Vec::new();
    for key in keys {
        match key.find(db) {
            Some(item @ (Item::Const(_) | Item::Function(_))) if !found.contains(&item) => found.push(item),
            _ => {}
        }
    }
    found
}

/// Tarjan's search for circles, with a stack of its own.
struct Walk<'db> {
    db: &'db dyn Db,
    nodes: Vec<Node<'db>>,
    of: HashMap<Item<'db>, usize>,
    /// Items whose circle is not complete yet.
    open: Vec<usize>,
    found: Constants,
}

struct Node<'db> {
    item: Item<'db>,
    below: Vec<Item<'db>>,
    /// How many of `below` have been walked.
    walked: usize,
    /// The earliest open node that is reached from here.
    lowest: usize,
    open: bool,
    depth: u32,
}

impl<'db> Walk<'db> {
    fn from(&mut self, root: Item<'db>) {
        if self.of.contains_key(&root) {
            return;
        }
        let mut path = vec![self.enter(root)];
        while let Some(&at) = path.last() {
            let node = &mut self.nodes[at];
            if let Some(&below) = node.below.get(node.walked) {
                node.walked += 1;
                match self.of.get(&below) {
                    None => path.push(self.enter(below)),
                    Some(&known) if self.nodes[known].open => {
                        self.nodes[at].lowest = self.nodes[at].lowest.min(known);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let lowest = node.lowest;
            if let Some(&above) = path.last() {
                self.nodes[above].lowest = self.nodes[above].lowest.min(lowest);
            }
            if lowest == at {
                self.close(at);
            }
        }
    }

    fn enter(&mut self, item: Item<'db>) -> usize {
        // A file may have very many.
        self.db.unwind_if_revision_cancelled();
        let at = self.nodes.len();
        let below = named(self.db, item);
        self.nodes.push(Node { item, below, walked: 0, lowest: at, open: true, depth: 0 });
        self.of.insert(item, at);
        self.open.push(at);
        at
    }

    /// Takes the items that reach each other from the open ones: those since `first`. One that does not name itself is no circle.
    fn close(&mut self, first: usize) {
        let split = self.open.iter().position(|&at| at == first).unwrap_or(0);
        let members = self.open.split_off(split);
        let outside = members.iter().flat_map(|&at| &self.nodes[at].below).map(|below| self.of[below]);
        let depth = outside.filter(|at| !members.contains(at)).map(|at| self.nodes[at].depth + 1).max();
        let on_circle = members.len() > 1 || self.nodes[first].below.contains(&self.nodes[first].item);
        let keys: Vec<ItemKey> = members.iter().map(|&at| self.nodes[at].item.key(self.db)).collect();
        let name = |key: &ItemKey| (key.file, key.kind, key.name.clone(), key.nth);
        let circle = keys.iter().min_by_key(|key| name(key)).cloned().filter(|_| on_circle);
        for (at, key) in members.into_iter().zip(keys) {
            self.nodes[at].open = false;
            self.nodes[at].depth = depth.unwrap_or(0);
            self.found.depth.insert(key.clone(), depth.unwrap_or(0));
            if let Some(circle) = &circle {
                self.found.circle.insert(key, circle.clone());
            }
        }
    }
}
