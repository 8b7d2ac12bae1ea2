//! Lists the points of a relation by enumeration.

use std::collections::BTreeSet;

use super::relation::{Atom, Op, Part, Relation, RelationError, Term};

/// The points of a relation. The inputs of a point come before its outputs.
pub type Points = BTreeSet<Vec<i64>>;

/// The largest number of candidates that listing tries.
const LIMIT: u64 = 1 << 22;

impl Relation {
    /// Lists all points, inputs before outputs. Constants, or variables that are bounded themselves, must bound every variable
    /// from both sides.
    ///
    /// # Errors
    /// If a variable is not bounded, there are too many candidates, or a number does not fit.
    pub fn points(&self) -> Result<Points, RelationError> {
        let mut out = Points::new();
        for part in &self.parts {
            // A variable of `exists` that no comparison reads may have any value.
            let value = |v: usize| (v >= part.dims && !part.uses(v)).then_some(0);
            let values = (0..part.names.len()).map(value).collect();
            Listing { part, values, tried: 0, out: &mut out }.extend()?;
        }
        Ok(out)
    }
}

/// Assigns variables one after the other, always the one with the fewest candidates left.
struct Listing<'a> {
    part: &'a Part,
    values: Vec<Option<i64>>,
    tried: u64,
    out: &'a mut Points,
}

impl Listing<'_> {
    fn extend(&mut self) -> Result<(), RelationError> {
        self.tried += 1;
        if self.tried > LIMIT {
            return Err(RelationError::TooLarge(LIMIT));
        }
        if self.part.atoms.iter().any(|atom| atom.holds(&self.values) == Some(false)) {
            return Ok(());
        }
        let Some(next) = self.values.iter().position(Option::is_none) else {
            if self.part.atoms.iter().any(|atom| atom.holds(&self.values).is_none()) {
                return Err(RelationError::NoValue);
            }
            let point = self.values[..self.part.dims].iter().flatten().copied().collect();
            self.out.insert(point);
            return Ok(());
        };
        let Some((v, low, high)) = self.fewest(&self.bounds(1)).or_else(|| {
            // No variable has two constant bounds. Variables that bound each other may follow, as in `0 <= i <= j < 3`.
            self.fewest(&self.bounds(self.values.len() + 1))
        }) else {
            return Err(RelationError::Unbounded(self.part.names[next].clone()));
        };
        for value in low..=high {
            self.values[v] = Some(value);
            self.extend()?;
        }
        self.values[v] = None;
        Ok(())
    }

    /// Returns the open variable with the fewest candidates, and the least and greatest of them. `None` if no open variable has
    /// two bounds.
    fn fewest(&self, bounds: &[Range]) -> Option<(usize, i64, i64)> {
        let open = bounds.iter().enumerate().filter(|(v, _)| self.values[*v].is_none());
        let closed = open.filter_map(|(v, &(low, high))| Some((v, low?, high?)));
        closed.min_by_key(|(_, low, high)| high.saturating_sub(*low))
    }

    /// Returns the range of each variable. A comparison bounds a variable if all others of it have a value, or, from the second
    /// round on, a bound from the rounds before.
    fn bounds(&self, rounds: usize) -> Vec<Range> {
        let mut bounds: Vec<Range> = vec![(None, None); self.values.len()];
        let links = self.part.atoms.iter().flat_map(Atom::links);
        let sums: Vec<(Sum, Op)> = links
            .filter_map(|(left, op, right)| {
                let mut sum = Sum::default();
                sum.add(left, 1, &self.values)?;
                sum.add(right, -1, &self.values)?;
                Some((sum, op))
            })
            .collect();
        for round in 0..rounds {
            let before = bounds.clone();
            for (sum, op) in &sums {
                if round == 0 && sum.open.len() > 1 {
                    continue;
                }
                for &(v, factor) in &sum.open {
                    let (least, most) = sum.without(v, &bounds);
                    let from_least = least.map_or((None, None), |rest| bound(factor, rest, *op, true));
                    let from_most = most.map_or((None, None), |rest| bound(factor, rest, *op, false));
                    for (low, high) in [from_least, from_most] {
                        let own = &mut bounds[v];
                        *own = (own.0.max(low), [own.1, high].into_iter().flatten().min());
                    }
                }
            }
            if bounds == before {
                break;
            }
        }
        bounds
    }
}

/// The least and greatest value of a variable, as far as they are known.
type Range = (Option<i64>, Option<i64>);

/// A term as a sum of multiples of open variables and a constant.
#[derive(Default)]
struct Sum {
    constant: i64,
    open: Vec<(usize, i64)>,
}

impl Sum {
    /// Adds `by * term`. Returns `None` if the term is not of this form, or a number does not fit.
    fn add(&mut self, term: &Term, by: i64, values: &[Option<i64>]) -> Option<()> {
        if let Some(value) = term.eval(values) {
            self.constant = self.constant.checked_add(value.checked_mul(by)?)?;
            return Some(());
        }
        match term {
            Term::Variable(v) => {
                match self.open.iter_mut().find(|(w, _)| w == v) {
                    Some((_, factor)) => *factor = factor.checked_add(by)?,
                    None => self.open.push((*v, by)),
                }
                Some(())
            }
            Term::Add(a, b) => self.add(a, by, values).and_then(|()| self.add(b, by, values)),
            Term::Subtract(a, b) => {
                self.add(a, by, values).and_then(|()| self.add(b, by.checked_neg()?, values))
            }
            Term::Multiply(a, b) => match (a.eval(values), b.eval(values)) {
                (Some(a), _) => self.add(b, by.checked_mul(a)?, values),
                (_, Some(b)) => self.add(a, by.checked_mul(b)?, values),
                _ => None,
            },
            Term::Number(_) | Term::Floor(..) | Term::Modulo(..) => None,
        }
    }

    /// Returns the range of the sum without variable `v`.
    fn without(&self, v: usize, bounds: &[Range]) -> Range {
        let (mut least, mut most) = (Some(self.constant), Some(self.constant));
        for &(w, factor) in self.open.iter().filter(|(w, _)| *w != v) {
            let times = |bound: Option<i64>| bound.and_then(|bound| bound.checked_mul(factor));
            let (mut low, mut high) = (times(bounds[w].0), times(bounds[w].1));
            if factor < 0 {
                std::mem::swap(&mut low, &mut high);
            }
            least = least.and_then(|sum| sum.checked_add(low?));
            most = most.and_then(|sum| sum.checked_add(high?));
        }
        (least, most)
    }
}

/// Returns the range of `v` that `factor * v + rest op 0` demands. If `least` holds, `rest` is the least value of a sum, and the
/// result has only what holds for all greater ones; else `rest` is the greatest.
fn bound(factor: i64, rest: i64, op: Op, least: bool) -> Range {
    let demanded = || {
        let rest = rest.checked_neg()?;
        let (factor, rest, turned) = match factor {
            0 => return None,
            1.. => (factor, rest, op),
            _ => (factor.checked_neg()?, rest.checked_neg()?, op.turned()),
        };
        let down = rest.div_euclid(factor);
        let exact = rest.rem_euclid(factor) == 0;
        let up = if exact { down } else { down.checked_add(1)? };
        Some(match turned {
            Op::LessEqual => (None, Some(down)),
            Op::Less => (None, Some(if exact { down.checked_sub(1)? } else { down })),
            Op::GreaterEqual => (Some(up), None),
            Op::Greater => (Some(if exact { up.checked_add(1)? } else { up }), None),
            Op::Equal => (Some(up), Some(down)),
            Op::NotEqual => (None, None),
        })
    };
    // `factor * v <= -rest` is weakest for the least rest, `factor * v >= -rest` for the greatest.
    let above = match op {
        Op::Less | Op::LessEqual => least,
        Op::Greater | Op::GreaterEqual => !least,
        Op::NotEqual => false,
        Op::Equal => {
            let (low, high) = demanded().unwrap_or_default();
            return if least == (factor > 0) { (None, high) } else { (low, None) };
        }
    };
    if above { demanded().unwrap_or_default() } else { (None, None) }
}

impl Op {
    fn turned(self) -> Op {
        match self {
            Op::Less => Op::Greater,
            Op::LessEqual => Op::GreaterEqual,
            Op::Greater => Op::Less,
            Op::GreaterEqual => Op::LessEqual,
            Op::Equal => Op::Equal,
            Op::NotEqual => Op::NotEqual,
        }
    }
}

impl Atom {
    /// Reports whether the comparison holds; `None` while a variable is open or if a number does not fit.
    fn holds(&self, values: &[Option<i64>]) -> Option<bool> {
        let mut all = true;
        for (left, op, right) in self.links() {
            let (left, right) = (left.eval(values)?, right.eval(values)?);
            all &= match op {
                Op::Less => left < right,
                Op::LessEqual => left <= right,
                Op::Greater => left > right,
                Op::GreaterEqual => left >= right,
                Op::Equal => left == right,
                Op::NotEqual => left != right,
            };
        }
        Some(all)
    }
}

impl Term {
    /// Returns the value; `None` while a variable is open or if a number does not fit.
    fn eval(&self, values: &[Option<i64>]) -> Option<i64> {
        match self {
            Term::Number(n) => Some(*n),
            Term::Variable(v) => values[*v],
            Term::Add(a, b) => a.eval(values)?.checked_add(b.eval(values)?),
            Term::Subtract(a, b) => a.eval(values)?.checked_sub(b.eval(values)?),
            Term::Multiply(a, b) => a.eval(values)?.checked_mul(b.eval(values)?),
            Term::Floor(a, b) => a.eval(values)?.checked_div_euclid(b.eval(values)?),
            Term::Modulo(a, b) => a.eval(values)?.checked_rem_euclid(b.eval(values)?),
        }
    }
}
