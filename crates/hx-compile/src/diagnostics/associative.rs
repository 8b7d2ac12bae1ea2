//! Tries the operators of `reduce` and `scan` on values: the result of three elements must not depend on which two are combined
//! first, because the layout decides that.
//!
//! Rounding is no difference: floats are computed as `f64` and compared with a tolerance. A counterexample among small numbers that
//! are not negative is an error, because nearly every use has such numbers. One that needs negative numbers, infinities or NaN is a
//! warning, because the data may have none; so is one that holds for some numbers of the block only.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, Severity, codes};
use hx_dtype::{DType, Operator};
use hx_lower::Lowered;
use hx_tile::{Op, OpKind, Scalar};

use super::Places;

/// The number of triples that are tried in a tier, if it has more.
const TRIALS: u64 = 400;

/// Two results differ if they are further apart than this, in relation to the larger one.
const TOLERANCE: f64 = 1e-6;

/// Returns a diagnostic for each operator of the program with a counterexample.
pub(super) fn operators(places: &Places<'_>, lowered: &Lowered) -> Vec<Diagnostic> {
    // The rounds of an unrolled loop have one place.
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for (op, _) in lowered.program.ops(1.0) {
        if let OpKind::Scan { op: parts, .. } = &op.kind
            && told.insert(op.origin)
            && let Some(example) = counterexample(parts)
        {
            found.push(diagnostic(places, lowered, op, &example));
        }
    }
    found
}

fn diagnostic(places: &Places<'_>, lowered: &Lowered, op: &Op, example: &Counterexample) -> Diagnostic {
    let (file, range) = places.op(lowered, op.id).unwrap_or_else(|| places.kernel());
    let [a, b, c, left, right] = example.texts();
    let message = format!(
        "this operator is not associative: of {a}, {b} and {c} it makes {left} if it combines the first two first, and {right} otherwise"
    );
    let severity = match example.tier {
        Tier::Plain if example.numbers.is_empty() => Severity::Error,
        Tier::Plain | Tier::Negative | Tier::Nan | Tier::Infinite => Severity::Warning,
    };
    let mut found = Diagnostic::new(&codes::NOT_ASSOCIATIVE, file, range, message).with_severity(severity);
    if !example.numbers.is_empty() {
        found = found.note(format!("this is so if {}", example.numbers.join(" and ")));
    }
    found
        .note("the layout decides which elements are combined first, so the result depends on it")
        .help(example.help())
}

/// A class of values to search for a counterexample, the plainest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tier {
    /// Small numbers, none of them negative, with finite results.
    Plain,
    /// Small numbers with finite results.
    Negative,
    /// NaN among small numbers.
    Nan,
    /// Infinities and -0, too.
    Infinite,
}

impl Tier {
    /// Returns the values of an operand of a type, as bits of its [`wide`] type. The components of a tuple often depend on each
    /// other, as a flag and a value do, so fewer are tried there.
    fn values(self, dtype: DType, tuple: bool) -> Vec<u64> {
        let numbers: &[f64] = match (self, dtype.is_float()) {
            _ if dtype == DType::Bool => &[0.0, 1.0],
            (Tier::Nan, true) => &[6.0, f64::NAN, 8.0],
            (Tier::Infinite, true) => &[6.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 8.0],
            (Tier::Plain | Tier::Negative, true) if tuple => &[1.0, 0.0, 2.0],
            (_, false) if tuple => &[1.0, 0.0],
            (Tier::Plain, true) => &[1.0, 2.0, 0.0, 3.0, 0.5, 5.0],
            (Tier::Plain, false) => &[1.0, 2.0, 0.0, 3.0, 5.0, 100.0],
            (Tier::Negative, true) => &[1.0, -2.0, 3.0, -0.5, 0.0],
            (Tier::Negative | Tier::Nan | Tier::Infinite, false) => &[1.0, -2.0, 3.0, -5.0, 0.0],
        };
        let of_type = |x: &&f64| dtype.is_float() || dtype.holds(**x);
        numbers.iter().filter(of_type).map(|x| wide(dtype).encode(*x)).collect()
    }

    /// Reports whether the tier can add something to the tiers before it.
    fn is_tried(self, op: &[Scalar], dtypes: &[DType]) -> bool {
        match self {
            Tier::Plain => true,
            Tier::Negative => dtypes.len() == 1 && dtypes[0].is_signed(),
            // Sums and products propagate infinities and NaN. Only a comparison or a choice may drop them.
            Tier::Nan | Tier::Infinite => {
                dtypes.iter().any(|dtype| dtype.is_float()) && op.iter().any(chooses)
            }
        }
    }
}

/// Reports whether an expression contains a comparison or a choice.
fn chooses(value: &Scalar) -> bool {
    let mut operators = Vec::new();
    value.operators(&mut operators);
    let mut inlined = Vec::new();
    value.inlined(&mut inlined);
    let by_meaning = inlined.iter().any(|inlined| inlined.meaning.as_ref().is_some_and(chooses));
    by_meaning
        || operators.iter().any(|(operator, _)| {
            operator.is_comparison() || matches!(operator, Operator::Min | Operator::Max | Operator::Select)
        })
}

/// Three operands that an operator combines to different results.
#[derive(Debug)]
struct Counterexample {
    tier: Tier,
    dtypes: Vec<DType>,
    /// The components of the three operands, as [`wide`] bits.
    operands: Vec<u64>,
    left: Vec<u64>,
    right: Vec<u64>,
    /// The numbers of the block that the results depend on, as `n = 2`.
    numbers: Vec<String>,
}

impl Counterexample {
    /// Returns the three operands and the two results as text.
    fn texts(&self) -> [String; 5] {
        let n = self.dtypes.len();
        let operand = |i: usize| &self.operands[i * n..][..n];
        [operand(0), operand(1), operand(2), &self.left, &self.right].map(|values| {
            let texts: Vec<String> = values.iter().zip(&self.dtypes).map(|(x, d)| text(*x, *d)).collect();
            match &texts[..] {
                [single] => format!("`{single}`"),
                all => format!("`({})`", all.join(", ")),
            }
        })
    }

    fn help(&self) -> &'static str {
        match self.tier {
            Tier::Plain => {
                "an operator combines results as it combines elements: change the elements before the reduction, or its result behind it"
            }
            Tier::Negative => "an unsigned type says that no element is negative",
            Tier::Nan => {
                "no comparison holds for NaN: `isnan(a) || a < b` in place of `a < b` prefers every number to NaN"
            }
            Tier::Infinite => "`where` can choose another result for such values",
        }
    }
}

/// Searches for operands that disprove that an operator is associative; `None` if none of those that are tried does.
fn counterexample(op: &[Scalar]) -> Option<Counterexample> {
    let dtypes: Vec<DType> = op.iter().map(Scalar::dtype).collect();
    let mut numbers = Vec::new();
    for part in op {
        part.map_leaves(&mut |leaf| {
            if unknown(leaf) && !numbers.contains(leaf) {
                numbers.push(leaf.clone());
            }
            None
        });
    }
    let firsts: &[i64] = if numbers.is_empty() { &[0] } else { &[2, 1, 3] };
    [Tier::Plain, Tier::Negative, Tier::Nan, Tier::Infinite]
        .into_iter()
        .filter(|tier| tier.is_tried(op, &dtypes))
        .flat_map(|tier| firsts.iter().map(move |first| (tier, *first)))
        .find_map(|(tier, first)| Trial { op, dtypes: &dtypes, numbers: &numbers, first }.search(tier))
}

/// Reports whether a leaf is a number that only a launch knows.
fn unknown(leaf: &Scalar) -> bool {
    match leaf {
        Scalar::Integer { value, .. } => value.as_const().is_none(),
        Scalar::Var { .. } | Scalar::Param { .. } => true,
        Scalar::Input { .. }
        | Scalar::Index { .. }
        | Scalar::Const { .. }
        | Scalar::Apply { .. }
        | Scalar::Cast { .. }
        | Scalar::Bitcast { .. }
        | Scalar::Inlined(_) => false,
    }
}

/// An operator with values for the numbers of the block: the first is `first`, the next one more, and so on.
struct Trial<'a> {
    op: &'a [Scalar],
    dtypes: &'a [DType],
    numbers: &'a [Scalar],
    first: i64,
}

impl Trial<'_> {
    fn search(&self, tier: Tier) -> Option<Counterexample> {
        let n = self.dtypes.len();
        let choices: Vec<Vec<u64>> = self.dtypes.iter().map(|d| tier.values(*d, n > 1)).collect();
        let total = choices.iter().try_fold(1u64, |product, c| product.checked_mul((c.len() as u64).pow(3)));
        let all = total.filter(|total| *total <= TRIALS);
        // An odd multiplier with well mixed bits spreads the trials over more triples than can be tried.
        let draw = |i: u64| if all.is_some() { i } else { i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8 };
        (0..all.unwrap_or(TRIALS)).find_map(|i| {
            let mut rest = draw(i + 1);
            let operands: Vec<u64> = (0..3 * n)
                .map(|k| {
                    let of = &choices[k % n];
                    let value = of[(rest % of.len() as u64) as usize];
                    rest /= of.len() as u64;
                    value
                })
                .collect();
            self.disproves(tier, operands)
        })
    }

    fn disproves(&self, tier: Tier, operands: Vec<u64>) -> Option<Counterexample> {
        let n = self.dtypes.len();
        let [a, b, c] = [0, 1, 2].map(|i| &operands[i * n..][..n]);
        let left = self.combined(&self.combined(a, b)?, c)?;
        let right = self.combined(a, &self.combined(b, c)?)?;
        let any_nan =
            |values: &[u64]| values.iter().zip(self.dtypes.iter().cycle()).any(|(x, d)| is_nan(*x, *d));
        let differs = match tier {
            Tier::Plain | Tier::Negative => {
                let finite = |(x, d): (&u64, &DType)| !d.is_float() || DType::F64.decode(*x).is_finite();
                left.iter().zip(self.dtypes).chain(right.iter().zip(self.dtypes)).all(finite)
                    && self.components(&left, &right).any(|(l, r, d)| differ(l, r, d))
            }
            // NaN may follow from a NaN operand in any order. Only results that differ and are both numbers count.
            Tier::Nan | Tier::Infinite if any_nan(&operands) => self
                .components(&left, &right)
                .any(|(l, r, d)| differ(l, r, d) && !is_nan(l, d) && !is_nan(r, d)),
            Tier::Nan | Tier::Infinite => self.components(&left, &right).any(|(l, r, d)| differ(l, r, d)),
        };
        let name = |(i, number): (usize, &Scalar)| match number {
            Scalar::Integer { value, .. } => format!("`{value}` is {}", self.first + i as i64),
            other => format!("`{other}` is {}", self.first + i as i64),
        };
        differs.then(|| Counterexample {
            tier,
            dtypes: self.dtypes.to_vec(),
            numbers: self.numbers.iter().enumerate().map(name).collect(),
            operands,
            left,
            right,
        })
    }

    fn components<'b>(
        &'b self,
        left: &'b [u64],
        right: &'b [u64],
    ) -> impl Iterator<Item = (u64, u64, DType)> {
        left.iter().zip(right).zip(self.dtypes).map(|((l, r), d)| (*l, *r, *d))
    }

    /// Combines two operands, component by component; `None` if the operator depends on an index.
    fn combined(&self, a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
        let inputs: Vec<u64> = a.iter().chain(b).copied().collect();
        self.op.iter().map(|part| self.eval(part, &inputs)).collect()
    }

    /// Evaluates an expression: integers as their type computes them, floats as `f64`. `None` if it depends on an index, or on
    /// an input or a number without a value.
    fn eval(&self, value: &Scalar, inputs: &[u64]) -> Option<u64> {
        let number = |leaf: &Scalar, dtype: DType| {
            let at = self.numbers.iter().position(|n| n == leaf)?;
            Some(wide(dtype).encode((self.first + at as i64) as f64))
        };
        Some(match value {
            Scalar::Input { index, .. } => *inputs.get(*index as usize)?,
            Scalar::Index { .. } => return None,
            Scalar::Integer { value: known, dtype } => match known.as_const() {
                Some(x) if dtype.is_float() => DType::F64.encode(x as f64),
                Some(x) => x as u64 & dtype.mask(),
                None => number(value, *dtype)?,
            },
            Scalar::Var { dtype, .. } | Scalar::Param { dtype, .. } => number(value, *dtype)?,
            Scalar::Const { bits, dtype } => widened(*bits, *dtype),
            Scalar::Apply { operator, dtype, args } => {
                let args: Option<Vec<u64>> = args.iter().map(|arg| self.eval(arg, inputs)).collect();
                operator.eval(wide(*dtype), &args?)
            }
            Scalar::Inlined(inlined) => self.eval(inlined.meaning.as_ref()?, inputs)?,
            Scalar::Cast { to, arg } => cast(self.eval(arg, inputs)?, arg.dtype(), *to),
            Scalar::Bitcast { to, arg } => {
                let bits = self.eval(arg, inputs)?;
                let from = arg.dtype();
                let bits = if from.is_float() { from.encode(DType::F64.decode(bits)) } else { bits };
                widened(bits, *to)
            }
        })
    }
}

/// Returns the type in which elements of `dtype` are computed here.
fn wide(dtype: DType) -> DType {
    if dtype.is_float() { DType::F64 } else { dtype }
}

fn widened(bits: u64, dtype: DType) -> u64 {
    if dtype.is_float() { DType::F64.encode(dtype.decode(bits)) } else { bits }
}

fn integer(bits: u64, dtype: DType) -> i128 {
    if dtype.is_signed() { i128::from(dtype.sign_extend(bits)) } else { i128::from(bits) }
}

fn cast(bits: u64, from: DType, to: DType) -> u64 {
    match (from.is_float(), to.is_float()) {
        (true, true) => bits,
        (true, false) if to == DType::Bool => u64::from(DType::F64.decode(bits) != 0.0),
        (true, false) if to.is_signed() => {
            let top = (to.mask() >> 1) as i64;
            (DType::F64.decode(bits) as i64).clamp(-top - 1, top) as u64 & to.mask()
        }
        (true, false) => (DType::F64.decode(bits) as u64).min(to.mask()),
        (false, true) => DType::F64.encode(integer(bits, from) as f64),
        (false, false) if to == DType::Bool => u64::from(bits != 0),
        (false, false) => integer(bits, from) as u64 & to.mask(),
    }
}

fn is_nan(bits: u64, dtype: DType) -> bool {
    dtype.is_float() && DType::F64.decode(bits).is_nan()
}

fn differ(left: u64, right: u64, dtype: DType) -> bool {
    if !dtype.is_float() {
        return left != right;
    }
    let [left, right] = [left, right].map(|bits| DType::F64.decode(bits));
    if left.is_nan() || right.is_nan() || left.is_infinite() || right.is_infinite() {
        return !(left == right || left.is_nan() && right.is_nan());
    }
    (left - right).abs() > TOLERANCE * left.abs().max(right.abs()).max(1.0)
}

/// Returns a number as the language writes it.
fn text(bits: u64, dtype: DType) -> String {
    if dtype == DType::Bool {
        return (bits != 0).to_string();
    }
    if !dtype.is_float() {
        return integer(bits, dtype).to_string();
    }
    match DType::F64.decode(bits) {
        x if x.is_nan() => "nan".to_owned(),
        x => format!("{:?}", (x * 1e6).round() / 1e6),
    }
}
