//! The values of a variable of a `forall`: which of them are drawn, how they are named, and which of them are simpler.
//!
//! A [`Choice`] selects a value of a domain. It stays meaningful if the domain changes, as that of `k` in
//! `forall m in 1..=300, k in 1..=m` does with `m`: [`Domain::nearest`] moves it back into the domain.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::counted::Parts;
use crate::error::{HostError, HostResult};
use crate::random::unit;
use crate::value::Value;

/// The values of a variable. It has at least one.
#[derive(Clone, Debug)]
pub enum Domain {
    /// Whole numbers, both ends included.
    Ints {
        low: i64,
        high: i64,
    },
    /// Real numbers from `low` to `high`. The domain has `high` if `closed`, or if it is the only number (`low == high`).
    Floats {
        low: f64,
        high: f64,
        closed: bool,
    },
    List(Parts),
}

/// A value of a domain: the number itself, or the position in a list.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Choice {
    Int(i64),
    Float(f64),
    At(usize),
}

impl Domain {
    /// Makes the domain of a range, as `start..end` or `start..=end`. It has whole numbers if both ends are integers, otherwise
    /// real numbers.
    ///
    /// # Errors
    /// If an end is not a number or not finite, the length of the range is not finite, or the range is empty.
    pub fn range(start: &Value, end: &Value, inclusive: bool) -> HostResult<Domain> {
        let dots = if inclusive { "..=" } else { ".." };
        let empty = || {
            let message = format!("found the empty range `{start}{dots}{end}`, expected at least one value");
            HostError::ty(message).help("`a..b` ends before `b`, `a..=b` includes it")
        };
        if let (Value::Int(low), Value::Int(end)) = (start, end) {
            let high = if inclusive { Some(*end) } else { end.checked_sub(1) };
            let high = high.filter(|high| low <= high).ok_or_else(empty)?;
            return Ok(Domain::Ints { low: *low, high });
        }
        let (low, high) = (start.float()?, end.float()?);
        if !(low.is_finite() && high.is_finite() && (high - low).is_finite()) {
            let message = format!("found the range `{start}{dots}{end}`, expected finite ends");
            return Err(HostError::ty(message));
        }
        if low > high || low == high && !inclusive {
            return Err(empty());
        }
        Ok(Domain::Floats { low, high, closed: inclusive })
    }

    /// Makes the domain of a value: a range of whole numbers, a list or a tuple.
    ///
    /// # Errors
    /// If it is another value, an empty range, list or tuple.
    pub fn of(value: &Value) -> HostResult<Domain> {
        match value {
            Value::Range(start, end) => Domain::range(&Value::Int(*start), &Value::Int(*end), false),
            Value::List(parts) | Value::Tuple(parts) if !parts.is_empty() => Ok(Domain::List(parts.clone())),
            Value::List(_) | Value::Tuple(_) => {
                Err(HostError::ty("found an empty list, expected at least one value"))
            }
            other => {
                let message = format!("found {}, expected a range or a list of values", other.kind());
                Err(HostError::ty(message).help("`forall m in 1..=300, T in [f16, bf16]`"))
            }
        }
    }

    /// Returns the number of values; `None` for real numbers.
    pub fn count(&self) -> Option<u64> {
        match self {
            Domain::Ints { low, high } => Some(high.abs_diff(*low).saturating_add(1)),
            Domain::Floats { .. } => None,
            Domain::List(parts) => Some(parts.len() as u64),
        }
    }

    /// Returns the value at a position counted from the low end; the last value if there are fewer. Real numbers have the low
    /// end at position 0 and the largest number at all others.
    pub fn nth(&self, position: u64) -> Choice {
        match self {
            Domain::Ints { low, high } => {
                Choice::Int(low.saturating_add_unsigned(position.min(high.abs_diff(*low))))
            }
            Domain::Floats { low, .. } => Choice::Float(if position == 0 { *low } else { self.last_float() }),
            Domain::List(parts) => Choice::At(position.min(parts.len() as u64 - 1) as usize),
        }
    }

    /// Returns the position of a choice, counted from the low end; `None` for real numbers and for a choice of another kind of
    /// domain.
    pub fn position(&self, choice: Choice) -> Option<u64> {
        match (self, choice) {
            (Domain::Ints { low, .. }, Choice::Int(value)) => Some(value.abs_diff(*low)),
            (Domain::List(_), Choice::At(index)) => Some(index as u64),
            _ => None,
        }
    }

    /// Returns the choice that all others are shrunk towards: the low end, the first of a list, or the number nearest to 0.
    pub fn simplest(&self) -> Choice {
        match self {
            Domain::Floats { .. } => self.nearest(Choice::Float(0.0)),
            Domain::Ints { .. } | Domain::List(_) => self.nth(0),
        }
    }

    /// Returns the choice of this domain that is nearest to `choice`, which may be of the same variable's domain in another case.
    pub fn nearest(&self, choice: Choice) -> Choice {
        match (self, choice) {
            (Domain::Ints { low, high }, Choice::Int(value)) => Choice::Int(value.clamp(*low, *high)),
            (Domain::Floats { low, .. }, Choice::Float(value)) => {
                Choice::Float(value.clamp(*low, self.last_float()))
            }
            (Domain::List(_), Choice::At(index)) => self.nth(index as u64),
            // The domain is of another kind now, as in `x in if m > 8 { [1, 2] } else { 0..4 }`.
            _ => self.nth(0),
        }
    }

    fn last_float(&self) -> f64 {
        match self {
            Domain::Floats { high, closed: true, .. } => *high,
            Domain::Floats { low, high, closed: false } => high.next_down().max(*low),
            Domain::Ints { .. } | Domain::List(_) => f64::NAN,
        }
    }

    /// Returns the choices at which errors are likeliest, in ascending order: for whole numbers the ends, and ±2ⁿ with their
    /// neighbours; for real numbers the ends, 0 and ±1; all entries of a list.
    pub fn boundaries(&self) -> Vec<Choice> {
        match self {
            Domain::Ints { low, high } => {
                let powers = (0..62).map(|bit| 1_i64 << bit);
                let near = powers.flat_map(|power| [power - 1, power, power + 1]);
                let mut found: Vec<i64> = near.flat_map(|n| [n, -n]).chain([*low, *high]).collect();
                found.retain(|n| low <= n && n <= high);
                found.sort_unstable();
                found.dedup();
                found.into_iter().map(Choice::Int).collect()
            }
            Domain::Floats { low, .. } => {
                let last = self.last_float();
                let inside = [-1.0, 0.0, 1.0].into_iter().filter(|x| low < x && *x < last);
                std::iter::once(*low).chain(inside).chain([last]).map(Choice::Float).collect()
            }
            Domain::List(parts) => (0..parts.len()).map(Choice::At).collect(),
        }
    }

    /// Draws a choice; all are equally likely.
    pub fn draw(&self, dice: &mut Dice) -> Choice {
        match self {
            Domain::Ints { low, high } => match high.abs_diff(*low).checked_add(1) {
                Some(count) => self.nth(dice.below(count)),
                None => Choice::Int(dice.0.next_u64().cast_signed()),
            },
            Domain::Floats { low, high, .. } => {
                self.nearest(Choice::Float(low + (high - low) * unit(&mut dice.0)))
            }
            Domain::List(parts) => self.nth(dice.below(parts.len() as u64)),
        }
    }

    /// Returns the value of a choice.
    pub fn value(&self, choice: Choice) -> Value {
        match (self, choice) {
            (Domain::List(parts), Choice::At(index)) => parts.get(index).cloned().unwrap_or(Value::Unit),
            (_, Choice::Int(value)) => Value::Int(value),
            (_, Choice::Float(value)) => Value::Float(value),
            (_, Choice::At(_)) => Value::Unit,
        }
    }

    /// Returns the text of a choice in the name of a case. Of several list entries with equal text, the second is `text#2`.
    pub fn text(&self, choice: Choice) -> String {
        let brief = |value: &Value| hx_base::printable(&value.brief()).into_owned();
        let text = brief(&self.value(choice));
        let (Domain::List(parts), Choice::At(index)) = (self, choice) else { return text };
        match parts.iter().take(index).filter(|part| brief(part) == text).count() {
            0 => text,
            same => format!("{text}#{}", same + 1),
        }
    }

    /// Reads a choice from the start of the name of a case. Returns the choice and the rest of the name, which is empty or begins
    /// with the comma. `None` if the text is not a value of this domain.
    pub fn read<'t>(&self, text: &'t str) -> Option<(Choice, &'t str)> {
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(", ");
        let number = || text.split_at(text.find(',').unwrap_or(text.len()));
        match self {
            Domain::Ints { low, high } => {
                let (number, rest) = number();
                let value = number.trim().parse().ok().filter(|value| low <= value && value <= high)?;
                Some((Choice::Int(value), rest))
            }
            Domain::Floats { low, .. } => {
                let (number, rest) = number();
                let value: f64 = number.trim().parse().ok()?;
                (*low <= value && value <= self.last_float()).then_some((Choice::Float(value), rest))
            }
            Domain::List(parts) => (0..parts.len()).find_map(|index| {
                let rest = text.strip_prefix(&self.text(Choice::At(index)))?;
                ends(rest).then_some((Choice::At(index), rest))
            }),
        }
    }
}

/// Describes the values, for messages.
impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Domain::Ints { low, high } => write!(f, "a number of `{low}..={high}`"),
            Domain::Floats { low, high, closed } => {
                write!(f, "a number of `{low:?}{}{high:?}`", if *closed { "..=" } else { ".." })
            }
            Domain::List(parts) => {
                const SHOWN: usize = 8;
                let more = if parts.len() > SHOWN { ", …" } else { "" };
                let texts: Vec<String> =
                    (0..parts.len().min(SHOWN)).map(|i| self.text(Choice::At(i))).collect();
                write!(f, "one of `{}`{more}", texts.join("`, `"))
            }
        }
    }
}

/// The random numbers of the draws of one test.
#[derive(Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// Seeds the generator; equal seeds draw equal numbers.
    pub fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Draws a number below `count`, which is positive.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(count)) >> 64) as u64
    }
}
