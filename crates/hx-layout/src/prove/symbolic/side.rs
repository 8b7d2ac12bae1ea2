//! A side of an equation with names: how it is read, its modes for all values, and its layout for some.

use std::collections::{BTreeMap, BTreeSet};

use super::modes::{self, Mode};
use super::monomial::Monomial;
use crate::parse::Cursor;
use crate::{Layout, LayoutError, Tiler};

/// A side of an equation.
#[derive(Clone, Debug)]
pub(super) enum Side {
    Layout(Vec<Mode>),
    Compose(Box<Side>, Box<Side>),
    Divide(Box<Side>, Box<Side>),
    Product(Box<Side>, Box<Side>),
    /// The complement up to the second entry, or up to the cosize.
    Complement(Box<Side>, Option<Monomial>),
}

/// A tuple of monomials.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Leaf(Monomial),
    Node(Vec<Tree>),
}

impl Tree {
    fn leaves(&self, out: &mut Vec<Monomial>) {
        match self {
            Tree::Leaf(m) => out.push(m.clone()),
            Tree::Node(entries) => entries.iter().for_each(|e| e.leaves(out)),
        }
    }

    fn congruent(&self, other: &Tree) -> bool {
        match (self, other) {
            (Tree::Leaf(_), Tree::Leaf(_)) => true,
            (Tree::Node(a), Tree::Node(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.congruent(b))
            }
            _ => false,
        }
    }
}

impl Side {
    /// Collects the names.
    pub(super) fn names(&self, out: &mut BTreeSet<String>) {
        match self {
            Side::Layout(modes) => {
                let both = modes.iter().flat_map(|(extent, stride)| [extent, stride]);
                out.extend(both.flat_map(|m| m.names().cloned()));
            }
            Side::Compose(a, b) | Side::Divide(a, b) | Side::Product(a, b) => {
                a.names(out);
                b.names(out);
            }
            Side::Complement(a, cotarget) => {
                a.names(out);
                out.extend(cotarget.iter().flat_map(|m| m.names().cloned()));
            }
        }
    }

    /// Returns the modes for all values, if divisibility of monomials determines them.
    pub(super) fn modes(&self) -> Option<Vec<Mode>> {
        match self {
            Side::Layout(modes) => Some(modes.clone()),
            Side::Compose(a, b) => {
                let (first, second) = (a.modes()?, b.modes()?);
                // Past its size, a composition continues by its last mode, and which mode is last may depend on the values. Only a
                // layout written out may therefore be left of values past its size.
                let written = matches!(a.as_ref(), Side::Layout(_));
                (written || modes::inside(&second, &first)).then(|| modes::compose(&first, &second)).flatten()
            }
            Side::Divide(a, tile) => modes::divide(&a.modes()?, &tile.modes()?),
            Side::Product(a, b) => modes::product(&a.modes()?, &b.modes()?),
            Side::Complement(a, cotarget) => modes::complement(&a.modes()?, cotarget.as_ref()),
        }
    }

    /// Returns the layout for these values; `None` if a number does not fit.
    pub(super) fn at(&self, values: &BTreeMap<String, i64>) -> Option<Result<Layout, LayoutError>> {
        let both = |a: &Side, b: &Side, f: fn(&Layout, &Layout) -> Result<Layout, LayoutError>| {
            Some(match (a.at(values)?, b.at(values)?) {
                (Ok(a), Ok(b)) => f(&a, &b),
                (Err(error), _) | (_, Err(error)) => Err(error),
            })
        };
        match self {
            Side::Layout(modes) => {
                let modes = modes.iter().map(|(s, d)| Some((s.at(values)?, d.at(values)?)));
                Some(Layout::flat(&modes.collect::<Option<Vec<_>>>()?))
            }
            Side::Compose(a, b) => both(a, b, Layout::compose),
            Side::Divide(a, b) => both(a, b, |a, b| a.logical_divide(&Tiler::Layout(b.clone()))),
            Side::Product(a, b) => both(a, b, |a, b| a.logical_product(&Tiler::Layout(b.clone()))),
            Side::Complement(a, cotarget) => {
                let cotarget = match cotarget {
                    Some(cotarget) => Some(cotarget.at(values)?),
                    None => None,
                };
                Some(a.at(values)?.and_then(|a| a.complement(cotarget.unwrap_or(a.cosize()))))
            }
        }
    }
}

/// Reads operands joined by `∘`.
pub(super) fn side(cursor: &mut Cursor<'_>, depth: usize) -> Result<Side, LayoutError> {
    if depth > 32 {
        return Err(cursor.error("nesting deeper than 32"));
    }
    let first = operand(cursor, depth)?;
    if cursor.after() {
        return Ok(Side::Compose(Box::new(first), Box::new(side(cursor, depth + 1)?)));
    }
    Ok(first)
}

fn operand(cursor: &mut Cursor<'_>, depth: usize) -> Result<Side, LayoutError> {
    let start = cursor.position();
    if let Some(call) = call(cursor, depth)? {
        return Ok(call);
    }
    cursor.rewind(start);
    if let Ok(layout) = layout(cursor) {
        return Ok(layout);
    }
    cursor.rewind(start);
    cursor.expect("(")?;
    let inner = side(cursor, depth + 1)?;
    cursor.expect(")")?;
    Ok(inner)
}

/// Reads a call of a function that names may be in; `None`, with a word read, if there is none.
fn call(cursor: &mut Cursor<'_>, depth: usize) -> Result<Option<Side>, LayoutError> {
    let Some(word) = cursor.word() else { return Ok(None) };
    if !cursor.eat("(") {
        return Ok(None);
    }
    let first = Box::new(side(cursor, depth + 1)?);
    let made = match word {
        // These keep the function, and an equation compares functions.
        "coalesce" | "flatten" => *first,
        "complement" if cursor.eat(",") => Side::Complement(first, Some(monomial(cursor)?)),
        "complement" => Side::Complement(first, None),
        "compose" => Side::Compose(first, second(cursor, depth)?),
        // By a layout, the kinds of divides and products differ in the grouping of their modes, and the function is the same.
        "divide" | "logical_divide" | "zipped_divide" | "tiled_divide" | "flat_divide" => {
            Side::Divide(first, second(cursor, depth)?)
        }
        "product" | "logical_product" | "zipped_product" | "tiled_product" | "flat_product" => {
            Side::Product(first, second(cursor, depth)?)
        }
        other => return Err(cursor.error(format!("names cannot be in `{other}`"))),
    };
    cursor.expect(")")?;
    Ok(Some(made))
}

/// Reads `, side`. An integer or a name alone is the layout with stride 1.
fn second(cursor: &mut Cursor<'_>, depth: usize) -> Result<Box<Side>, LayoutError> {
    cursor.expect(",")?;
    let start = cursor.position();
    if let Ok(extent) = monomial(cursor)
        && cursor.at(")")
        && extent.factor >= 1
    {
        return Ok(Box::new(Side::Layout(vec![(extent, Monomial::number(1))])));
    }
    cursor.rewind(start);
    side(cursor, depth + 1).map(Box::new)
}

fn layout(cursor: &mut Cursor<'_>) -> Result<Side, LayoutError> {
    let shape = tree(cursor)?;
    cursor.expect(":")?;
    let stride = tree(cursor)?;
    let (mut extents, mut strides) = (Vec::new(), Vec::new());
    shape.leaves(&mut extents);
    stride.leaves(&mut strides);
    if !shape.congruent(&stride)
        || extents.iter().any(|m| m.factor < 1)
        || strides.iter().any(|m| m.factor < 0)
    {
        return Err(cursor.error("shape and stride do not make a layout"));
    }
    Ok(Side::Layout(extents.into_iter().zip(strides).collect()))
}

/// Reads a tuple of monomials. `(M*K)` is the monomial `M*K`, as in the language.
fn tree(cursor: &mut Cursor<'_>) -> Result<Tree, LayoutError> {
    let start = cursor.position();
    if cursor.eat("(")
        && let Ok(only) = monomial(cursor)
        && cursor.eat(")")
    {
        return Ok(Tree::Leaf(only));
    }
    cursor.rewind(start);
    cursor.tree(&mut |c| Ok(Tree::Leaf(monomial(c)?)), &Tree::Node, 0)
}

fn monomial(cursor: &mut Cursor<'_>) -> Result<Monomial, LayoutError> {
    let mut product = factor(cursor)?;
    while cursor.eat("*") {
        let next = factor(cursor)?;
        product = product.times(&next).ok_or(LayoutError::Overflow("a product"))?;
    }
    Ok(product)
}

fn factor(cursor: &mut Cursor<'_>) -> Result<Monomial, LayoutError> {
    match cursor.word() {
        Some(name) => Ok(Monomial::name(name)),
        None => cursor.integer().map(Monomial::number),
    }
}
