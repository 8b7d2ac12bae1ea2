//! An evaluator of its own for the tests of the algebra: it tabulates functions from their definitions.
//!
//! It shares no code with the crate. Layouts are read from the text of an answer; swizzles act bit by bit; complements are found by
//! taking the next integer that no copy reaches. Only the points of a relation come from the crate's own listing, which other
//! tests compare with isl.

use std::collections::BTreeSet;

use hx_layout::expr::Value;
use hx_layout::{eval_expr, prove};

/// A table of values at the 1-D coordinates.
pub(crate) type Table = Vec<i64>;

/// A relation or set as its points, inputs before outputs.
pub(crate) type Points = BTreeSet<Vec<i64>>;

/// A shape, or a stride.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Int(i64),
    Node(Vec<Tree>),
}

impl Tree {
    /// Reads an integer or a tuple from the front of `text`.
    fn read(text: &mut &str) -> Tree {
        *text = text.trim_start();
        if let Some(rest) = text.strip_prefix('(') {
            *text = rest;
            let mut entries = Vec::new();
            loop {
                *text = text.trim_start();
                if let Some(rest) = text.strip_prefix(')') {
                    *text = rest;
                    return Tree::Node(entries);
                }
                entries.push(Tree::read(text));
                *text = text.trim_start().trim_start_matches(',');
            }
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
        let number = text[..end].parse().unwrap_or_else(|_| panic!("no number: {text}"));
        *text = &text[end..];
        Tree::Int(number)
    }

    fn leaves(&self) -> Vec<i64> {
        match self {
            Tree::Int(i) => vec![*i],
            Tree::Node(entries) => entries.iter().flat_map(Tree::leaves).collect(),
        }
    }

    /// Returns the sizes of the top-level modes.
    fn sizes(&self) -> Vec<i64> {
        match self {
            Tree::Int(i) => vec![*i],
            Tree::Node(entries) => entries.iter().map(|entry| entry.leaves().iter().product()).collect(),
        }
    }
}

/// A swizzle as its three numbers.
pub(crate) type Bits = (u32, u32, i32);

/// Swizzles bit by bit: target bit `b` becomes its exclusive or with source bit `b`.
pub(crate) fn swizzled((bits, base, shift): Bits, x: i64) -> i64 {
    let (up, down) = if shift >= 0 { (shift as u32, 0) } else { (0, shift.unsigned_abs()) };
    (0..bits).fold(x, |out, b| out ^ (((x >> (base + up + b)) & 1) << (base + down + b)))
}

/// Returns the values of modes, leftmost fastest.
pub(crate) fn strided(modes: &[(i64, i64)]) -> Table {
    let size: i64 = modes.iter().map(|mode| mode.0).product();
    let value = |mut c: i64| {
        modes.iter().fold(0, |sum, (extent, stride)| {
            let digit = c % extent;
            c /= extent;
            sum + digit * stride
        })
    };
    (0..size).map(value).collect()
}

/// The answer of an expression: its table, and the sizes of its top-level modes.
pub(crate) struct Answer {
    pub(crate) table: Table,
    pub(crate) sizes: Vec<i64>,
}

/// Evaluates an expression and tabulates the layout that its answer spells, with swizzle and offset.
pub(crate) fn answer(text: &str) -> Result<Answer, String> {
    let value = eval_expr(text).map_err(|error| error.to_string())?;
    let written = value.to_string();
    let mut rest = written.as_str();
    let (mut swizzle, mut offset) = ((0, 0, 0), 0);
    if let Some(inside) = rest.strip_prefix("swizzle<") {
        let (numbers, after) = inside.split_once('>').expect("a swizzle ends");
        let numbers: Vec<i64> = numbers.split(',').map(|n| n.trim().parse().expect("a number")).collect();
        swizzle = (numbers[0] as u32, numbers[1] as u32, numbers[2] as i32);
        rest = after.trim_start().strip_prefix('∘').expect("a layout follows").trim_start();
    }
    if let Some((number, after)) = rest.split_once(" ∘ ") {
        offset = number.parse().expect("an offset");
        rest = after;
    }
    let shape = Tree::read(&mut rest);
    rest = rest.strip_prefix(':').unwrap_or_else(|| panic!("no layout: {written}"));
    let stride = Tree::read(&mut rest);
    assert_eq!(rest, "", "{written}");
    let modes: Vec<(i64, i64)> = shape.leaves().into_iter().zip(stride.leaves()).collect();
    let table = strided(&modes).into_iter().map(|v| swizzled(swizzle, v + offset)).collect();
    Ok(Answer { table, sizes: shape.sizes() })
}

/// Returns the first `count` starts of copies of a table that fill the integers without overlap: the next start is the least
/// integer that no copy reaches. `None` if copies overlap.
pub(crate) fn starts(table: &[i64], count: usize) -> Option<Vec<i64>> {
    let own: BTreeSet<i64> = table.iter().copied().collect();
    let (mut reached, mut found) = (BTreeSet::new(), Vec::new());
    let mut next = 0;
    while found.len() < count {
        if !reached.contains(&next) {
            if own.iter().any(|x| !reached.insert(x + next)) {
                return None;
            }
            found.push(next);
        }
        next += 1;
    }
    Some(found)
}

/// Returns the coordinates that a tile lists, then those of its rest: `t(x) + rest(y)`, `x` fastest. The tile divides `size`.
pub(crate) fn tiles(tile: &[i64], size: i64) -> Option<Vec<i64>> {
    let own = tile.iter().collect::<BTreeSet<_>>().len();
    let rests = starts(tile, size as usize / own)?;
    Some(rests.iter().flat_map(|rest| tile.iter().map(move |t| t + rest)).collect())
}

/// Evaluates an expression to a relation and lists its points.
pub(crate) fn points(text: &str) -> Result<Points, String> {
    match eval_expr(text).map_err(|error| error.to_string())? {
        Value::Relation(relation) => {
            // The text reads back as the same relation.
            let again = hx_layout::isl::Relation::parse(&relation.to_string()).expect("its own text");
            let points = relation.points().map_err(|error| error.to_string())?;
            assert_eq!(again.points().as_ref(), Ok(&points), "{text}: {relation}");
            assert_eq!(again.arity(), relation.arity(), "{text}: {relation}");
            Ok(points)
        }
        other => panic!("{text}: {} is no relation", other.kind()),
    }
}

/// Returns `second` after `first`, each with this number of inputs.
pub(crate) fn after(second: (&Points, usize), first: (&Points, usize)) -> Points {
    let pairs = first.0.iter().flat_map(|p| second.0.iter().map(move |q| (p, q)));
    let meet = pairs.filter(|(p, q)| p[first.1..] == q[..second.1]);
    meet.map(|(p, q)| [&p[..first.1], &q[second.1..]].concat()).collect()
}

/// Decides `left == right` for names: whether it is said to hold for all values.
pub(crate) fn holds(equation: &str) -> bool {
    let proof = prove::prove(equation).unwrap_or_else(|error| panic!("{equation}: {error}"));
    proof.holds()
}

/// A source of numbers, the same for the same seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    /// Returns a number of `0..below`.
    pub(crate) fn below(&mut self, below: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % below as u64) as i64
    }

    /// Returns one of the entries.
    pub(crate) fn of<T: Copy>(&mut self, entries: &[T]) -> T {
        entries[self.below(entries.len() as i64) as usize]
    }
}

/// Writes modes in the notation: `(8,64):(64,1)`, always a tuple.
pub(crate) fn text(modes: &[(i64, i64)]) -> String {
    let list = |part: fn(&(i64, i64)) -> i64| {
        let parts: Vec<String> = modes.iter().map(|mode| part(mode).to_string()).collect();
        if parts.len() == 1 { format!("({},)", parts[0]) } else { format!("({})", parts.join(",")) }
    };
    format!("{}:{}", list(|mode| mode.0), list(|mode| mode.1))
}
