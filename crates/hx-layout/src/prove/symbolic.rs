//! Decides equations whose extents and strides hold names, for all values of the names at once.
//!
//! Extents and strides are monomials: a number times powers of names, each name at least 1. Coalescing and composition by
//! divisibility of monomials are sound for every value. If they do not decide, small values are tried; these can refute an
//! equation but not prove it. This module knows plain layouts, `∘` and `compose` only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Difference, Outcome, first_plain_difference};
use crate::parse::Cursor;
use crate::{Layout, LayoutError};

/// The values tried for each name.
const VALUES: [i64; 6] = [1, 2, 3, 4, 6, 8];

/// The largest number of instances tried.
const INSTANCES: usize = 4096;

/// A number times powers of names. The monomial 0 has no names.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Monomial {
    factor: i64,
    powers: BTreeMap<String, u32>,
}

impl Monomial {
    fn number(factor: i64) -> Monomial {
        Monomial { factor, powers: BTreeMap::new() }
    }

    fn name(name: &str) -> Monomial {
        Monomial { factor: 1, powers: BTreeMap::from([(name.to_string(), 1)]) }
    }

    fn is(&self, number: i64) -> bool {
        self.factor == number && self.powers.is_empty()
    }

    fn times(&self, other: &Monomial) -> Option<Monomial> {
        let factor = self.factor.checked_mul(other.factor)?;
        if factor == 0 {
            return Some(Monomial::number(0));
        }
        let mut powers = self.powers.clone();
        for (name, power) in &other.powers {
            *powers.entry(name.clone()).or_default() += power;
        }
        Some(Monomial { factor, powers })
    }

    /// Returns the quotient if it is a monomial with an integer factor.
    fn over(&self, other: &Monomial) -> Option<Monomial> {
        if other.factor <= 0 || self.factor % other.factor != 0 {
            return None;
        }
        let mut powers = self.powers.clone();
        for (name, power) in &other.powers {
            let left = powers.get(name)?.checked_sub(*power)?;
            powers.insert(name.clone(), left);
        }
        powers.retain(|_, power| *power > 0);
        Some(Monomial { factor: self.factor / other.factor, powers })
    }

    /// Returns a sort key that respects divisibility.
    fn weight(&self) -> (u32, i64) {
        (self.powers.values().sum(), self.factor)
    }

    fn at(&self, values: &BTreeMap<String, i64>) -> Option<i64> {
        self.powers.iter().try_fold(self.factor, |product, (name, power)| {
            product.checked_mul(values.get(name)?.checked_pow(*power)?)
        })
    }
}

impl fmt::Display for Monomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if self.factor != 1 || self.powers.is_empty() {
            parts.push(self.factor.to_string());
        }
        for (name, power) in &self.powers {
            parts.extend((0..*power).map(|_| name.clone()));
        }
        f.write_str(&parts.join("*"))
    }
}

/// A tuple of monomials.
#[derive(Clone, Debug)]
enum Tree {
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

/// A mode: extent and stride.
type Mode = (Monomial, Monomial);

/// A side of an equation.
#[derive(Clone, Debug)]
enum Side {
    Layout(Vec<Mode>),
    Compose(Box<Side>, Box<Side>),
}

/// A parsed equation, with its names and texts.
pub(super) struct Equation {
    sides: [Side; 2],
    texts: [String; 2],
    names: BTreeSet<String>,
}

impl Equation {
    /// Reads `left == right`, where a side is a layout such as `(a,b):(1,a)` or a composition `A ∘ B`. Returns `None` if the text
    /// has another form, or no names.
    pub(super) fn read(text: &str) -> Option<Equation> {
        let (left, right) = text.split_once("==")?;
        let read = |text: &str| {
            let mut cursor = Cursor::new(text);
            let side = side(&mut cursor, 0)?;
            cursor.finish()?;
            Ok::<Side, LayoutError>(side)
        };
        let sides = [read(left).ok()?, read(right).ok()?];
        let mut names = BTreeSet::new();
        sides.iter().for_each(|side| side.names(&mut names));
        let texts = [left.trim().to_string(), right.trim().to_string()];
        (!names.is_empty()).then_some(Equation { sides, texts, names })
    }

    pub(super) fn texts(&self) -> [String; 2] {
        self.texts.clone()
    }

    /// Proves the equation for all values, refutes it for some, or leaves it open.
    pub(super) fn decide(&self) -> Outcome {
        let [left, right] = &self.sides;
        if let (Some(a), Some(b)) = (left.modes(), right.modes())
            && let (Some(a), Some(b)) = (coalesced(&a), coalesced(&b))
            && a == b
        {
            return Outcome::Equal;
        }
        let mut tried = 0;
        for values in self.instances() {
            // For some values a side is not a layout. The equation says nothing about these values, so they are skipped.
            let (Some(Ok(a)), Some(Ok(b))) = (left.at(&values), right.at(&values)) else { continue };
            tried += 1;
            let values: Vec<(String, i64)> = values.into_iter().collect();
            if a.size() != b.size() {
                return Outcome::Instance(values, Box::new(Outcome::Sizes(a.size(), b.size())));
            }
            if let Some(at) = first_plain_difference(&a, &b) {
                let difference = Difference { at, left: a.eval(at), right: b.eval(at) };
                return Outcome::Instance(values, Box::new(Outcome::Differ(difference)));
            }
        }
        Outcome::Open(tried)
    }

    /// Yields assignments of values to the names; the last name varies fastest.
    fn instances(&self) -> impl Iterator<Item = BTreeMap<String, i64>> + '_ {
        let count = u32::try_from(self.names.len()).ok().and_then(|n| VALUES.len().checked_pow(n));
        (0..count.unwrap_or(INSTANCES).min(INSTANCES)).map(|mut i| {
            let value = |name: &String| {
                let value = VALUES[i % VALUES.len()];
                i /= VALUES.len();
                (name.clone(), value)
            };
            self.names.iter().rev().map(value).collect()
        })
    }
}

fn side(cursor: &mut Cursor<'_>, depth: usize) -> Result<Side, LayoutError> {
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
    match cursor.word() {
        Some("compose") if cursor.eat("(") => {
            let first = side(cursor, depth + 1)?;
            cursor.expect(",")?;
            let second = side(cursor, depth + 1)?;
            cursor.expect(")")?;
            return Ok(Side::Compose(Box::new(first), Box::new(second)));
        }
        _ => cursor.rewind(start),
    }
    if let Ok(layout) = layout(cursor) {
        return Ok(layout);
    }
    cursor.rewind(start);
    cursor.expect("(")?;
    let inner = side(cursor, depth + 1)?;
    cursor.expect(")")?;
    Ok(inner)
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

impl Side {
    fn names(&self, out: &mut BTreeSet<String>) {
        match self {
            Side::Layout(modes) => {
                let both = modes.iter().flat_map(|(extent, stride)| [extent, stride]);
                out.extend(both.flat_map(|m| m.powers.keys().cloned()));
            }
            Side::Compose(a, b) => {
                a.names(out);
                b.names(out);
            }
        }
    }

    /// Returns the modes for all values, if divisibility of monomials determines them.
    fn modes(&self) -> Option<Vec<Mode>> {
        match self {
            Side::Layout(modes) => Some(modes.clone()),
            // Past its size, a composition continues by its last mode, and which mode is last may depend on the values. Therefore
            // only a layout written out may be the left operand.
            Side::Compose(a, b) => match a.as_ref() {
                Side::Layout(modes) => compose(modes, &b.modes()?),
                Side::Compose(..) => None,
            },
        }
    }

    /// Returns the layout for these values; `None` if a number does not fit.
    fn at(&self, values: &BTreeMap<String, i64>) -> Option<Result<Layout, LayoutError>> {
        match self {
            Side::Layout(modes) => {
                let modes = modes.iter().map(|(s, d)| Some((s.at(values)?, d.at(values)?)));
                Some(Layout::flat(&modes.collect::<Option<Vec<_>>>()?))
            }
            Side::Compose(a, b) => match (a.at(values)?, b.at(values)?) {
                (Ok(a), Ok(b)) => Some(a.compose(&b)),
                (Err(e), _) | (_, Err(e)) => Some(Err(e)),
            },
        }
    }
}

/// Merges neighbouring modes that continue one another, and drops those of extent 1. `None` if a factor does not fit. This is
/// sound for all values, because each merge is.
fn coalesced(modes: &[Mode]) -> Option<Vec<Mode>> {
    let mut out: Vec<Mode> = Vec::new();
    for (extent, stride) in modes.iter().filter(|(extent, _)| !extent.is(1)) {
        match out.last_mut() {
            Some(last) if last.0.times(&last.1).as_ref() == Some(stride) => last.0 = last.0.times(extent)?,
            _ => out.push((extent.clone(), stride.clone())),
        }
    }
    Some(out)
}

/// A part of a mode of `b` within one mode of `a`: the place of that mode, the step in it, and the number of steps.
struct Piece {
    place: usize,
    step: Monomial,
    extent: Monomial,
}

/// Composes the modes, if every mode of `b` falls on modes of `a` by divisibility and no sum of steps carries.
fn compose(a: &[Mode], b: &[Mode]) -> Option<Vec<Mode>> {
    let (last, bounded) = a.split_last()?;
    let mut places = coalesced(bounded)?;
    match places.last_mut() {
        Some(below) if below.0.times(&below.1).as_ref() == Some(&last.1) => {
            below.0 = below.0.times(&last.0)?
        }
        _ => places.push(last.clone()),
    }
    let mut units = vec![Monomial::number(1)];
    for (extent, _) in &places {
        units.push(units.last()?.times(extent)?);
    }
    let (mut out, mut pieces) = (Vec::new(), Vec::new());
    for (extent, stride) in b.iter().filter(|(extent, _)| !extent.is(1)) {
        if stride.is(0) {
            out.push((extent.clone(), Monomial::number(0)));
            continue;
        }
        let (mut left, mut stride) = (extent.clone(), stride.clone());
        while !left.is(1) {
            let place = (0..places.len()).rev().find(|&i| stride.over(&units[i]).is_some())?;
            let step = stride.over(&units[place])?;
            let open = place + 1 == places.len();
            let room = if open { None } else { Some(places[place].0.over(&step)?) };
            let run = match room {
                Some(room) if room.over(&left).is_none() => room,
                _ => left.clone(),
            };
            left = left.over(&run)?;
            stride = stride.times(&run)?;
            out.push((run.clone(), places[place].1.times(&step)?));
            pieces.push(Piece { place, step, extent: run });
        }
    }
    let fits = (0..places.len() - 1).all(|place| nested(&places[place].0, &pieces, place));
    fits.then_some(out)
}

/// Reports whether the pieces in one place nest: each steps over the ones below it, so their largest sum stays below the extent.
fn nested(extent: &Monomial, pieces: &[Piece], place: usize) -> bool {
    let mut here: Vec<&Piece> = pieces.iter().filter(|p| p.place == place).collect();
    here.sort_by_key(|p| p.step.weight());
    let mut filled = Monomial::number(1);
    for piece in here {
        let next = piece.step.over(&filled).and_then(|_| piece.step.times(&piece.extent));
        match next {
            Some(next) => filled = next,
            None => return false,
        }
    }
    extent.over(&filled).is_some()
}
