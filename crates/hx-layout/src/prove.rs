//! Deciding whether two layouts are the same function, with a counterexample where they are not.
//!
//! Plain layouts are decided by coalescing, whose result is unique; a swizzle where it is the same on both sides is left
//! out; other swizzled layouts are compared as linear maps or by enumeration, which is complete on tiles.

use std::fmt;

use crate::expr::{ExprError, Value, sides};
use crate::{ComposedLayout, Layout, LayoutError, LinearLayout, algebra, isl};

/// The answer to `left == right`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The two sides, evaluated.
    pub left: String,
    pub right: String,
    pub outcome: Outcome,
    /// Both sides as isl relations, for an outside checker.
    pub relations: [String; 2],
}

/// Whether the sides are one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Equal,
    /// The sizes.
    Sizes(i64, i64),
    /// The first coordinate at which they differ, and the two values there.
    Differ(Difference),
}

/// Where two functions differ first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The 1-D coordinate.
    pub at: i64,
    pub left: i64,
    pub right: i64,
}

impl Proof {
    /// Whether the sides are the same function.
    pub fn holds(&self) -> bool {
        self.outcome == Outcome::Equal
    }
}

/// Decides `A == B`, where each side is an expression such as `A ∘ B`.
///
/// # Errors
/// When the text is no equation of layouts, a side has no value, or enumeration would go too far.
pub fn prove(text: &str) -> Result<Proof, ExprError> {
    let (left, right) = sides(text)?;
    let fail = |message: String| ExprError { at: 0, message };
    let (a, b) = (function(&left).map_err(fail)?, function(&right).map_err(fail)?);
    let outcome = if a.size() != b.size() {
        Outcome::Sizes(a.size(), b.size())
    } else {
        match first_difference(&a, &b).map_err(|e| fail(e.to_string()))? {
            None => Outcome::Equal,
            Some(difference) => Outcome::Differ(difference),
        }
    };
    let relations = [isl::composed_map(&a), isl::composed_map(&b)];
    Ok(Proof { left: left.to_string(), right: right.to_string(), outcome, relations })
}

fn function(value: &Value) -> Result<ComposedLayout, String> {
    match value {
        Value::Layout(layout) => Ok(ComposedLayout::plain(layout.layout.clone())),
        Value::Composed(composed) => Ok(composed.clone()),
        Value::Linear(linear) => Ok(ComposedLayout::plain(linear.to_layout().map_err(|e| e.to_string())?)),
        _ => Err(format!("found {} where a layout was wanted", value.kind())),
    }
}

/// The first coordinate at which two functions differ, up to the smaller size; `None` where they agree.
pub(crate) fn first_difference(
    a: &ComposedLayout,
    b: &ComposedLayout,
) -> Result<Option<Difference>, LayoutError> {
    let show = |c: i64| Ok(Some(Difference { at: c, left: a.try_eval(c)?, right: b.try_eval(c)? }));
    if a.swizzle == b.swizzle && a.offset == b.offset {
        // A swizzle undoes itself, so it hides no difference.
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

/// The first coordinate at which two layouts differ: where their coalesced modes part.
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
        match &self.outcome {
            Outcome::Equal => write!(f, "{} == {} holds", self.left, self.right),
            Outcome::Sizes(a, b) => {
                write!(f, "{} == {} does not hold: the sizes are {a} and {b}", self.left, self.right)
            }
            Outcome::Differ(Difference { at, left, right }) => {
                write!(
                    f,
                    "{} == {} does not hold: at {at} the left is {left}, the right {right}",
                    self.left, self.right
                )
            }
        }
    }
}
