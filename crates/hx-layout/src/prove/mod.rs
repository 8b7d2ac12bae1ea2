//! Decides whether two layouts are the same function, and finds a counterexample if they are not.
//!
//! Plain layouts are decided by coalescing, whose result is unique. A swizzle that is the same on both sides is dropped. Other
//! swizzled layouts are compared as linear maps or by enumeration, which is complete on tiles. If extents or strides hold names,
//! `symbolic` decides for all values of the names.

mod symbolic;

use std::fmt;

use crate::expr::{ExprError, UNKNOWN, sides};
use crate::{ComposedLayout, Layout, LayoutError, LinearLayout, algebra, isl};

/// The answer to `left == right`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The two sides after evaluation.
    pub left: String,
    pub right: String,
    pub outcome: Outcome,
    /// Both sides as isl relations, for an external checker; `None` if the sides hold names, because isl cannot multiply
    /// parameters.
    pub relations: Option<[String; 2]>,
}

/// The relation between the sides as functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Equal,
    /// The two sizes, which differ.
    Sizes(i64, i64),
    /// The first coordinate at which the sides differ, and their values there.
    Differ(Difference),
    /// The sides differ for these values of the names.
    Instance(Vec<(String, i64)>, Box<Outcome>),
    /// Neither proven nor refuted: the sides agree for this number of choices of small values.
    Open(usize),
}

/// The first difference of two functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The 1-D coordinate.
    pub at: i64,
    pub left: i64,
    pub right: i64,
}

impl Proof {
    /// Reports whether the sides are the same function.
    pub fn holds(&self) -> bool {
        self.outcome == Outcome::Equal
    }
}

/// Decides `A == B`, where each side is an expression such as `A ∘ B`.
///
/// # Errors
/// If the text is no equation of layouts, a side has no value, or enumeration would go too far.
pub fn prove(text: &str) -> Result<Proof, ExprError> {
    let (left, right) = match sides(text) {
        Ok(sides) => sides,
        Err(error) => return prove_symbolic(text).ok_or_else(|| named(error)),
    };
    let (a, b) = (left.function()?, right.function()?);
    let outcome = if a.size() != b.size() {
        Outcome::Sizes(a.size(), b.size())
    } else {
        match first_difference(&a, &b).map_err(|e| ExprError::whole(e.to_string()))? {
            None => Outcome::Equal,
            Some(difference) => Outcome::Differ(difference),
        }
    };
    let relations = Some([isl::composed_map(&a), isl::composed_map(&b)]);
    Ok(Proof { left: left.to_string(), right: right.to_string(), outcome, relations })
}

/// Says where names may be, in an error about an unknown name.
fn named(error: ExprError) -> ExprError {
    match error.message.strip_suffix(UNKNOWN) {
        Some(name) => {
            let functions =
                "`∘`, `compose`, `coalesce`, `complement`, and `divide` and `product` by a layout";
            let message = format!("{name}{UNKNOWN}: names stand for integers in layouts, {functions}");
            ExprError { message, ..error }
        }
        None => error,
    }
}

fn prove_symbolic(text: &str) -> Option<Proof> {
    let equation = symbolic::Equation::read(text)?;
    let [left, right] = equation.texts();
    Some(Proof { left, right, outcome: equation.decide(), relations: None })
}

/// Returns the first coordinate at which two functions differ, up to the smaller size; `None` if they agree.
///
/// # Errors
/// If a value does not fit an `i64`, or only enumeration decides and the size exceeds its limit.
pub(crate) fn first_difference(
    a: &ComposedLayout,
    b: &ComposedLayout,
) -> Result<Option<Difference>, LayoutError> {
    let show = |c: i64| Ok(Some(Difference { at: c, left: a.try_eval(c)?, right: b.try_eval(c)? }));
    if a.swizzle == b.swizzle && a.offset == b.offset {
        // A swizzle is a bijection. If both sides have the same one, it cannot hide a difference.
        return first_plain_difference(&a.layout, &b.layout).map_or(Ok(None), show);
    }
    let size = a.size().min(b.size());
    if a.size() == b.size()
        && let (Ok(left), Ok(right)) = (LinearLayout::from_composed(a), LinearLayout::from_composed(b))
    {
        let columns = left.columns().into_iter().zip(right.columns());
        let first = columns.enumerate().find(|(_, (x, y))| x != y);
        return first.map_or(Ok(None), |(bit, _)| show(1 << bit));
    }
    algebra::check_count("comparing the two functions", size)?;
    for c in 0..size {
        if a.try_eval(c)? != b.try_eval(c)? {
            return show(c);
        }
    }
    Ok(None)
}

/// Returns the first coordinate at which two layouts differ. It is where their coalesced modes diverge.
fn first_plain_difference(a: &Layout, b: &Layout) -> Option<i64> {
    let (a_modes, b_modes) =
        (algebra::coalesce::coalesced(a.leaves()), algebra::coalesce::coalesced(b.leaves()));
    let size = a.size().min(b.size());
    let mut unit = 1i64;
    for (&(s, d), &(t, e)) in a_modes.iter().zip(&b_modes) {
        if d != e {
            return Some(unit);
        }
        if s != t {
            let at = unit * s.min(t);
            return (at < size).then_some(at);
        }
        unit *= s;
    }
    None
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equation = format!("{} == {}", self.left, self.right);
        match &self.outcome {
            Outcome::Equal if self.relations.is_none() => write!(f, "{equation} holds for all values"),
            Outcome::Equal => write!(f, "{equation} holds"),
            Outcome::Open(tried) => {
                write!(f, "{equation} is open: neither proven nor refuted, and true in {tried} instances")
            }
            other => write!(f, "{equation} does not hold: {other}"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Equal => f.write_str("the sides are equal"),
            Outcome::Sizes(a, b) => write!(f, "the sizes are {a} and {b}"),
            Outcome::Differ(Difference { at, left, right }) => {
                write!(f, "at {at} the left is {left}, the right {right}")
            }
            Outcome::Instance(values, outcome) => {
                let values: Vec<String> =
                    values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                write!(f, "for {} {outcome}", values.join(", "))
            }
            Outcome::Open(tried) => write!(f, "true in {tried} instances"),
        }
    }
}
