//! The order in which constants are evaluated, and the constants and functions that depend on themselves.
//!
//! A constant depends on other constants, directly or through the functions that it calls. Each evaluation is a query, so a
//! value is computed once even if many items name the constant. `constants_of` reads only names and walks with an explicit
//! stack. It finds circles before anything is evaluated, and computes the depth of each constant: the longest chain that it
//! depends on.
//!
//! An evaluation recurses through the constants that it depends on, so a long chain would overflow the call stack. Constants
//! are therefore evaluated in strips of [`STRIDE`] depths: all constants of lower strips are evaluated first
//! ([`Standing::strips_below`], [`steps_below`]), and the recursion stays within the constant's own strip. Other queries that
//! lead from item to item take the same steps.

use std::collections::{HashMap, HashSet};

use hx_base::SourceFile;

use crate::{
    Const, Db, Item, ItemKey, Resolution, Ty, body_names, body_of, file_items, infer_body, signature_names,
};

/// The number of depths in a strip. An evaluation recurses through at most this many constants, and through at most this many
/// strips for each digit of the number of strips in this base.
const STRIDE: u32 = 32;

/// Facts about the constants of a file, and all that they depend on, found before anything is evaluated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Constants {
    /// The depth of each constant and function: the length of the longest chain of items that it depends on.
    depth: HashMap<ItemKey, u32>,
    /// The circle of each constant and function that depends on itself, represented by one of the circle's items.
    circle: HashMap<ItemKey, ItemKey>,
    /// The items of each strip, without those that depend on themselves. An item follows the items that it depends on.
    strips: HashMap<u32, Vec<ItemKey>>,
}

impl Constants {
    /// Returns the circle of the item, represented by one of its items; `None` if the item does not depend on itself.
    pub(crate) fn circle(&self, item: &ItemKey) -> Option<&ItemKey> {
        self.circle.get(item)
    }
}

/// Returns the depth, circle and strip of each constant and function of a file, and of all that they depend on, in this file and
/// others. Nothing is evaluated.
#[salsa::tracked]
pub(crate) fn constants_of(db: &dyn Db, file: SourceFile) -> Constants {
    let mut walk =
        Walk { db, nodes: Vec::new(), of: HashMap::new(), open: Vec::new(), found: Constants::default() };
    for &item in &file_items(db, file).items {
        if matches!(item, Item::Const(_) | Item::Function(_)) {
            walk.from(item);
        }
    }
    walk.found
}

/// The part of `constants_of` that concerns one constant or function. It is a query of its own, so that an edit of an
/// unrelated item does not change it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The length of the longest chain of constants and functions that the item depends on.
    pub depth: u32,
    /// The circle of an item that depends on itself, represented by one of the circle's items.
    pub circle: Option<ItemKey>,
}

impl Standing {
    /// Returns the number of strips below the item's own.
    pub fn strips_below(&self) -> u32 {
        self.depth / STRIDE
    }
}

/// Returns the depth and the circle of a constant or function.
#[salsa::tracked]
pub fn standing<'db>(db: &'db dyn Db, item: Item<'db>) -> Standing {
    let (known, key) = (constants_of(db, item.file(db)), item.key(db));
    Standing { depth: known.depth.get(&key).copied().unwrap_or(0), circle: known.circle(&key).cloned() }
}

/// Returns the type and value of a constant as seen by code that names it. The annotation determines the type, the body
/// determines the value.
#[salsa::tracked]
pub(crate) fn constant_type<'db>(db: &'db dyn Db, constant: Const<'db>) -> Ty {
    let item = Item::Const(constant);
    if standing(db, item).circle.is_some() {
        return Ty::Error;
    }
    types_of_strips(db, constant.file(db), standing(db, item).strips_below());
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

/// Infers the types of the constants in the first `strips` strips of a file, so that long chains do not overflow the call stack.
#[salsa::tracked(returns(copy))]
fn types_of_strips(db: &dyn Db, file: SourceFile, strips: u32) {
    for step in steps_below(db, file, strips) {
        match step {
            Step::Strips(first) => types_of_strips(db, file, first),
            Step::Item(Item::Const(constant)) => {
                constant_type(db, constant);
            }
            Step::Item(_) => {}
        }
    }
}

/// A step of an evaluation that proceeds strip by strip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'db> {
    /// Evaluate this many first strips.
    Strips(u32),
    /// Evaluate this constant or function; the strips below its own are complete.
    Item(Item<'db>),
}

/// Returns the steps that evaluate the first strips of a file, in order. The strips hold the constants and functions of the
/// file and all that they depend on.
///
/// A step of fewer strips takes its own steps from this function. For 70 strips the steps are the first 69 strips and the items
/// of the last one. For 96 strips they are the first 64, 65, 66, … 95 strips and the items of the last one. Steps therefore
/// nest at most [`STRIDE`] deep for each digit of the number in this base, not as deep as the number of strips.
pub fn steps_below<'db>(db: &'db dyn Db, file: SourceFile, strips: u32) -> Vec<Step<'db>> {
    if strips == 0 {
        return Vec::new();
    }
    let mut unit = 1;
    while strips.is_multiple_of(unit * STRIDE) {
        unit *= STRIDE;
    }
    let mut done = strips - unit;
    let mut steps = Vec::new();
    if done > 0 {
        steps.push(Step::Strips(done));
    }
    while unit > 1 {
        unit /= STRIDE;
        for _ in 1..STRIDE {
            done += unit;
            steps.push(Step::Strips(done));
        }
    }
    steps.extend(strip(db, file, done).iter().filter_map(|key| key.find(db)).map(Step::Item));
    steps
}

/// Returns the items of one strip. It is a query of its own, so that an item of another strip does not change it.
#[salsa::tracked]
fn strip(db: &dyn Db, file: SourceFile, nth: u32) -> Vec<ItemKey> {
    constants_of(db, file).strips.get(&nth).cloned().unwrap_or_default()
}

/// Returns all constants that a constant depends on, each after those that it depends on itself. It leaves out constants that
/// depend on themselves. It also leaves out `known` constants and does not look behind them.
pub fn constants_below<'db>(
    db: &'db dyn Db,
    constant: Const<'db>,
    known: &dyn Fn(Const<'db>) -> bool,
) -> Vec<Const<'db>> {
    let is_known = |item: Item<'db>| matches!(item, Item::Const(it) if known(it));
    let below = reached(db, Item::Const(constant), &is_known).into_iter();
    let constant = |item| if let Item::Const(it) = item { Some(it) } else { None };
    let mut below: Vec<Const<'db>> =
        below.filter_map(constant).filter(|it| standing(db, (*it).into()).circle.is_none()).collect();
    // The walk follows the order of the text, and the sort is stable, so the order is deterministic.
    below.sort_by_key(|it| standing(db, (*it).into()).depth);
    below
}

/// Returns the constants and functions that an item depends on, without the item itself and those that are known.
fn reached<'db>(db: &'db dyn Db, from: Item<'db>, known: &dyn Fn(Item<'db>) -> bool) -> Vec<Item<'db>> {
    let (mut seen, mut found, mut next) = (HashSet::from([from]), Vec::new(), vec![from]);
    while let Some(item) = next.pop() {
        db.unwind_if_revision_cancelled();
        for below in named(db, item) {
            if !known(below) && seen.insert(below) {
                found.push(below);
                next.push(below);
            }
        }
    }
    found
}

/// Returns the constants and functions that an item names, in the order of its text.
fn named<'db>(db: &'db dyn Db, item: Item<'db>) -> Vec<Item<'db>> {
    let names = [&signature_names(db, item).names, body_names(db, item)];
    let keys = names.into_iter().flat_map(|names| names.exprs.iter()).filter_map(|(_, found)| match found {
        Resolution::Item(key) => Some(key),
        _ => None,
    });
    let items = keys.filter_map(|key| key.find(db));
    let mut seen = HashSet::new();
    items.filter(|it| matches!(it, Item::Const(_) | Item::Function(_)) && seen.insert(*it)).collect()
}

/// Tarjan's algorithm for strongly connected components, with an explicit stack.
struct Walk<'db> {
    db: &'db dyn Db,
    nodes: Vec<Node<'db>>,
    of: HashMap<Item<'db>, usize>,
    /// Nodes whose component is not complete yet.
    open: Vec<usize>,
    found: Constants,
}

struct Node<'db> {
    item: Item<'db>,
    below: Vec<Item<'db>>,
    /// The number of entries of `below` that have been walked.
    walked: usize,
    /// The earliest open node that is reachable from here.
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
        // A file may have very many items.
        self.db.unwind_if_revision_cancelled();
        let at = self.nodes.len();
        let below = named(self.db, item);
        self.nodes.push(Node { item, below, walked: 0, lowest: at, open: true, depth: 0 });
        self.of.insert(item, at);
        self.open.push(at);
        at
    }

    /// Closes a component: the open nodes from `first` on. A component of one item is a circle only if the item names itself.
    fn close(&mut self, first: usize) {
        // The component is on top of the stack of open nodes.
        let split = self.open.iter().rposition(|&at| at == first).unwrap_or(0);
        let members = self.open.split_off(split);
        // Each item that a member names is a member too, or closed.
        let below =
            members.iter().flat_map(|&at| &self.nodes[at].below).map(|below| &self.nodes[self.of[below]]);
        let depth = below.filter(|node| !node.open).map(|node| node.depth + 1).max().unwrap_or(0);
        let on_circle = members.len() > 1 || self.nodes[first].below.contains(&self.nodes[first].item);
        let keys: Vec<ItemKey> = members.iter().map(|&at| self.nodes[at].item.key(self.db)).collect();
        let name = |key: &ItemKey| (key.file, key.kind, key.name.clone(), key.nth);
        let circle = keys.iter().min_by_key(|key| name(key)).cloned().filter(|_| on_circle);
        for (at, key) in members.into_iter().zip(keys) {
            self.nodes[at].open = false;
            self.nodes[at].depth = depth;
            self.found.depth.insert(key.clone(), depth);
            match &circle {
                Some(circle) => {
                    self.found.circle.insert(key, circle.clone());
                }
                None => self.found.strips.entry(depth / STRIDE).or_default().push(key),
            }
        }
    }
}
