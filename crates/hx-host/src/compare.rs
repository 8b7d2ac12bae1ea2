//! The comparison of results: equality and closeness of tensors, and the report of a failure.
//!
//! The caller always states the tolerance; there is no default.

use hx_dtype::{Class, DType};

use crate::dense::{broadcast_strides, for_each_offset, show_shape};
use crate::error::{HostError, HostResult};
use crate::pattern::{coordinate, describe, is_scattered};
use crate::picture::{Mark, Picture};
use crate::show::{show_exact, show_number};
use crate::stretch::{for_each, generate, map};
use crate::tensor::{Tensor, integer, is_poison};

/// The allowed difference of `x` from `y`. An element passes if it satisfies either the form of `rtol` and `atol` or that of
/// `ulp`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Tolerance {
    /// Relative to `|y|`, together with `atol`: `|x − y| ≤ atol + rtol·|y|`.
    pub rtol: Option<f64>,
    /// The absolute tolerance.
    pub atol: Option<f64>,
    /// In units of the last place of `x`'s type at `max(|y|, rms(y))`.
    pub ulp: Option<f64>,
}

impl Tolerance {
    /// Checks that a tolerance is given.
    ///
    /// # Errors
    /// If the tolerance is empty, or a part of it is negative or NaN.
    pub fn check(&self) -> HostResult<()> {
        let given = [("rtol", self.rtol), ("atol", self.atol), ("ulp", self.ulp)];
        if given.iter().all(|(_, t)| t.is_none()) {
            return Err(HostError::call("`assert_close` needs a tolerance")
                .help("`ulp: 4` allows four units in the last place of the result's type"));
        }
        for (name, value) in given {
            if value.is_some_and(|v| v.is_nan() || v < 0.0) {
                return Err(HostError::call(format!(
                    "`{name}` is a tolerance and cannot be negative or NaN"
                )));
            }
        }
        Ok(())
    }

    fn show(&self) -> String {
        let mut parts = Vec::new();
        for (name, value) in [("ulp", self.ulp), ("rtol", self.rtol), ("atol", self.atol)] {
            if let Some(value) = value {
                parts.push(format!("{name}: {value}"));
            }
        }
        parts.join(", ")
    }
}

/// The difference of one element from its reference: absolute, in units of the last place, and whether the tolerance allows it.
#[derive(Clone, Copy)]
struct Distance {
    error: f64,
    ulps: f64,
    ok: bool,
}

/// Checks elements against a tolerance.
struct Judge {
    dtype: DType,
    tolerance: Tolerance,
    /// Root mean square of the reference's finite elements.
    rms: f64,
}

impl Judge {
    fn new(dtype: DType, tolerance: Tolerance, y: &[f64]) -> Judge {
        let finite: Vec<f64> = y.iter().copied().filter(|v| v.is_finite()).collect();
        // Scaling by the largest magnitude keeps the squares from overflowing.
        let scale = finite.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let squares: f64 = finite.iter().map(|v| if scale > 0.0 { (v / scale).powi(2) } else { 0.0 }).sum();
        let rms = if finite.is_empty() { 0.0 } else { scale * (squares / finite.len() as f64).sqrt() };
        Judge { dtype, tolerance, rms }
    }

    /// Returns the difference of two elements. Integers are subtracted exactly, before any rounding.
    fn between(&self, pair: &Sides, i: usize) -> Distance {
        let (x, y) = (pair.xs[i], pair.ys[i]);
        match pair.exact_difference(i) {
            Some(difference) => self.judged(difference.unsigned_abs() as f64, y),
            None => self.distance(x, y),
        }
    }

    fn distance(&self, x: f64, y: f64) -> Distance {
        if x.is_nan() || y.is_nan() {
            let ok = x.is_nan() && y.is_nan();
            let error = if ok { 0.0 } else { f64::NAN };
            return Distance { error, ulps: error, ok };
        }
        if x == y {
            return Distance { error: 0.0, ulps: 0.0, ok: true };
        }
        if x.is_infinite() || y.is_infinite() {
            return Distance { error: f64::INFINITY, ulps: f64::INFINITY, ok: false };
        }
        self.judged((x - y).abs(), y)
    }

    /// Judges a finite absolute difference `error` from the reference `y`.
    fn judged(&self, error: f64, y: f64) -> Distance {
        if error == 0.0 {
            return Distance { error, ulps: 0.0, ok: true };
        }
        let unit = self.dtype.ulp(y.abs().max(self.rms));
        let plain = self.tolerance.rtol.is_some() || self.tolerance.atol.is_some();
        let bound = self.tolerance.atol.unwrap_or(0.0) + self.tolerance.rtol.unwrap_or(0.0) * y.abs();
        let within_ulp = self.tolerance.ulp.is_some_and(|n| error <= n * unit);
        Distance { error, ulps: error / unit, ok: within_ulp || (plain && error <= bound) }
    }
}

/// A failed comparison.
#[derive(Clone, Debug)]
pub struct Mismatch {
    pub error: HostError,
    /// The result for each element of the first tensor, in row-major order. Empty if the tensors cannot be compared.
    pub marks: Vec<Mark>,
}

impl Mismatch {
    /// Makes the mismatch of `x`. With `draw`, it has a picture if the wrong elements have no simple pattern and at least a tenth
    /// of the elements is right.
    fn new(error: HostError, x: &Tensor, wrong: &[bool], draw: bool) -> Mismatch {
        let bits = x.bits();
        let mark = |(bits, wrong): (&u64, &bool)| match wrong {
            false => Mark::Right,
            true if is_poison(x.dtype(), *bits) => Mark::Unwritten,
            true => Mark::Wrong,
        };
        let marks: Vec<Mark> = bits.iter().zip(wrong).map(mark).collect();
        let right = wrong.iter().filter(|wrong| !**wrong).count();
        let draw = draw && right * 10 >= wrong.len() && is_scattered(x.shape(), wrong);
        let picture = Picture::new(x.shape(), &marks).filter(|_| draw);
        let error = match picture {
            Some(picture) => error.note(format!("{}\n{}", picture.legend(), picture.lines.join("\n"))),
            None => error,
        };
        Mismatch { error, marks }
    }
}

impl From<HostError> for Mismatch {
    fn from(error: HostError) -> Mismatch {
        Mismatch { error, marks: Vec::new() }
    }
}

impl From<Mismatch> for HostError {
    fn from(mismatch: Mismatch) -> HostError {
        mismatch.error
    }
}

/// Checks that every element of `x` is within the tolerance of that of `y`.
///
/// NaN is close only to NaN, an infinity only to itself. `y` has the shape of `x` or is a single number.
///
/// # Errors
/// If an element is not within the tolerance, the shapes differ, nothing was written to `y`, or the tolerance is not valid.
#[expect(clippy::result_large_err, reason = "a mismatch ends the test, and is built once")]
pub fn assert_close(x: &Tensor, y: &Tensor, tolerance: Tolerance) -> Result<(), Mismatch> {
    tolerance.check()?;
    let pair = Sides::new(x, y)?;
    let judge = Judge::new(x.dtype(), tolerance, &pair.ys);
    let distances = generate(pair.xs.len(), |i| judge.between(&pair, i));
    if distances.iter().all(|d| d.ok) {
        return Ok(());
    }
    let wrong: Vec<bool> = distances.iter().map(|d| !d.ok).collect();
    let mut error = header(x, &wrong, &format!("not within {} of the reference", tolerance.show()));
    error = error.note(first_bad(x, &pair, &wrong));
    error.notes.extend(worst(x.shape(), &pair, &distances));
    if !x.shape().is_empty() {
        error = error.note(format!("wrong: {}", describe(x.shape(), &wrong)));
    }
    let hints = hints(x, &pair.xs, &pair.ys, &wrong, &judge);
    error.notes.extend(hints.notes);
    Err(Mismatch::new(error, x, &wrong, !hints.explains))
}

/// Checks that `x` and `y` have equal elements. NaN equals NaN. Integers are compared exactly. `y` has the shape of `x` or is a single
/// number.
///
/// # Errors
/// If an element differs, the shapes do, or nothing was written to `y`.
#[expect(clippy::result_large_err, reason = "a mismatch ends the test, and is built once")]
pub fn assert_equal(x: &Tensor, y: &Tensor) -> Result<(), Mismatch> {
    let pair = Sides::new(x, y)?;
    let differ = |i: usize| match pair.exact_difference(i) {
        Some(difference) => difference != 0,
        None => pair.xs[i] != pair.ys[i] && !(pair.xs[i].is_nan() && pair.ys[i].is_nan()),
    };
    let wrong = generate(pair.xs.len(), differ);
    if !wrong.contains(&true) {
        return Ok(());
    }
    let mut error = header(x, &wrong, "not equal");
    error = error.note(first_bad(x, &pair, &wrong));
    if !x.shape().is_empty() {
        error = error.note(format!("wrong: {}", describe(x.shape(), &wrong)));
    }
    let judge = Judge::new(x.dtype(), Tolerance { ulp: Some(0.0), ..Tolerance::default() }, &pair.ys);
    let hints = hints(x, &pair.xs, &pair.ys, &wrong, &judge);
    error.notes.extend(hints.notes);
    Err(Mismatch::new(error, x, &wrong, !hints.explains))
}

/// The largest difference between the elements of two tensors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// Infinite if a NaN or an infinity is on one side only.
    pub absolute: f64,
    /// In units of the last place of the first tensor's type at `max(|y|, rms(y))`.
    pub ulps: f64,
}

impl Difference {
    /// Returns the larger difference in each measure.
    pub fn larger(self, other: Difference) -> Difference {
        Difference { absolute: self.absolute.max(other.absolute), ulps: self.ulps.max(other.ulps) }
    }
}

/// Returns the largest difference of `x` from `y`, which must have the same shape or be a single number.
///
/// # Errors
/// If the shapes differ and `y` is not a single number, nothing was written to `y`, or the machine has no room for the numbers.
pub fn difference(x: &Tensor, y: &Tensor) -> HostResult<Difference> {
    let pair = Sides::new(x, y)?;
    let judge = Judge::new(x.dtype(), Tolerance::default(), &pair.ys);
    let known = |v: f64| if v.is_nan() { f64::INFINITY } else { v };
    let mut largest = Difference { absolute: 0.0, ulps: 0.0 };
    for_each(0..pair.xs.len(), |i| {
        let d = judge.between(&pair, i);
        largest = largest.larger(Difference { absolute: known(d.error), ulps: known(d.ulps) });
    });
    Ok(largest)
}

/// The elements of both sides in the order of `x`. If `y` is a single number, it is repeated.
struct Sides {
    /// The elements as floats; integers beyond 2^53 are rounded.
    xs: Vec<f64>,
    ys: Vec<f64>,
    x_bits: Vec<u64>,
    y_bits: Vec<u64>,
    dtypes: [DType; 2],
}

impl Sides {
    fn new(x: &Tensor, y: &Tensor) -> HostResult<Sides> {
        if x.shape() != y.shape() && !y.shape().is_empty() {
            return Err(HostError::assertion(format!(
                "the shapes differ: {} and {}",
                show_shape(x.shape()),
                show_shape(y.shape())
            )));
        }
        if unwritten(y)? {
            return Err(HostError::assertion("nothing was written to the reference")
                .help("it comes second; what a kernel computed comes first"));
        }
        crate::dense::element_count(x.shape())?;
        let (x_bits, once) = (x.bits(), y.bits());
        let mut y_bits = Vec::with_capacity(x_bits.len());
        for_each_offset(x.shape(), &broadcast_strides(y.shape(), x.shape()), 0, |i| y_bits.push(once[i]));
        let floats = |dtype: DType, bits: &[u64]| map(bits, |bits| as_float(dtype, bits));
        let (xs, ys) = (floats(x.dtype(), &x_bits), floats(y.dtype(), &y_bits));
        Ok(Sides { xs, ys, x_bits, y_bits, dtypes: [x.dtype(), y.dtype()] })
    }

    /// Returns `x - y` of element `i`; `None` if both types are floats or an element is not a whole number.
    fn exact_difference(&self, i: usize) -> Option<i128> {
        if self.dtypes.iter().all(|dtype| dtype.class() == Class::Float) {
            return None;
        }
        let x = as_whole(self.dtypes[0], self.x_bits[i])?;
        Some(x - as_whole(self.dtypes[1], self.y_bits[i])?)
    }
}

fn as_integer(dtype: DType, bits: u64) -> Option<i128> {
    match dtype.class() {
        Class::Float => None,
        Class::Bool => Some(i128::from(bits & 0xff != 0)),
        Class::Int => Some(integer(dtype, bits)),
    }
}

/// Returns the element if it is a whole number: any integer, or a float below 2^65 in magnitude. `None` otherwise.
fn as_whole(dtype: DType, bits: u64) -> Option<i128> {
    as_integer(dtype, bits).or_else(|| {
        let x = dtype.decode(bits);
        (x.fract() == 0.0 && x.abs() < 2.0f64.powi(65)).then_some(x as i128)
    })
}

fn as_float(dtype: DType, bits: u64) -> f64 {
    as_integer(dtype, bits).map_or_else(|| dtype.decode(bits), |x| x as f64)
}

/// Reports whether the tensor still holds the fill of `empty`: for floats, whether any element has the fill pattern, which no
/// computation produces; for other types, whether all of several elements have it.
fn unwritten(tensor: &Tensor) -> HostResult<bool> {
    let (dtype, bits) = (tensor.dtype(), tensor.bits());
    Ok(if dtype.is_float() {
        bits.iter().any(|bits| is_poison(dtype, *bits))
    } else {
        bits.len() > 1 && bits.iter().all(|bits| is_poison(dtype, *bits))
    })
}

fn header(x: &Tensor, wrong: &[bool], what: &str) -> HostError {
    let count = wrong.iter().filter(|w| **w).count();
    let (dtype, shape) = (x.dtype(), show_shape(x.shape()));
    let message = if x.shape().is_empty() {
        format!("the value is {what}")
    } else {
        format!("{count} of {} elements of {dtype}{shape} are {what}", wrong.len())
    };
    HostError::assertion(message)
}

/// Formats the stored value of element `i`. A kernel that read unwritten memory may have stored it here, so the text does not
/// claim that nothing wrote the element.
fn show_element(x: &Tensor, bits: &[u64], i: usize) -> String {
    if is_poison(x.dtype(), bits[i]) && x.dtype().is_float() {
        return "unwritten memory".to_owned();
    }
    show_exact(x.dtype(), bits[i])
}

fn first_bad(x: &Tensor, pair: &Sides, wrong: &[bool]) -> String {
    let Some(i) = wrong.iter().position(|w| *w) else { return String::new() };
    let got = show_element(x, &pair.x_bits, i);
    let want = show_exact(pair.dtypes[1], pair.y_bits[i]);
    if x.shape().is_empty() {
        return format!("got {got}, expected {want}");
    }
    format!("first at {}: got {got}, expected {want}", show_shape(&coordinate(x.shape(), i)))
}

/// Describes the wrong element with the largest difference in units of the last place; `None` if each wrong element is NaN on
/// one side.
fn worst(shape: &[usize], pair: &Sides, distances: &[Distance]) -> Option<String> {
    let measured = |d: &&(usize, Distance)| !d.1.error.is_nan();
    let all: Vec<(usize, Distance)> = distances.iter().copied().enumerate().filter(|(_, d)| !d.ok).collect();
    let by = |a: &&(usize, Distance), b: &&(usize, Distance)| a.1.ulps.total_cmp(&b.1.ulps);
    // `max_by` returns the last of equal elements. The reversed order makes it the first in the tensor.
    let &(i, d) = all.iter().rev().filter(measured).max_by(by)?;
    let [dtype, reference] = pair.dtypes;
    let relative = d.error / pair.ys[i].abs();
    let at =
        if shape.is_empty() { String::new() } else { format!(" at {}", show_shape(&coordinate(shape, i))) };
    let expected = match reference.class() {
        Class::Float => show_number(DType::F64, pair.ys[i]),
        _ => show_exact(reference, pair.y_bits[i]),
    };
    Some(format!(
        "worst{at}: absolute {}, relative {}, {} ulp of {dtype} (got {}, expected {expected})",
        short(d.error),
        short(relative),
        short(d.ulps),
        show_exact(dtype, pair.x_bits[i]),
    ))
}

/// Formats an error: with two decimals from 0.01 on, as in `0.12`; without decimals from 100 on, as in `123`; otherwise as
/// `1.23e-4`.
fn short(x: f64) -> String {
    if !x.is_finite() {
        return show_number(DType::F64, x);
    }
    if (0.01..1e6).contains(&x.abs()) {
        let decimals = if x.abs() >= 100.0 { 0 } else { 2 };
        return format!("{x:.decimals$}");
    }
    format!("{x:.2e}")
}

/// Notes about properties that all or some of the wrong elements share.
struct Hints {
    notes: Vec<String>,
    /// Whether a note relates each wrong element to the reference, such as "all of them are 0". A picture would add nothing then.
    explains: bool,
}

/// Looks for properties of the wrong elements that point to a cause.
fn hints(x: &Tensor, xs: &[f64], ys: &[f64], wrong: &[bool], judge: &Judge) -> Hints {
    let (dtype, bits) = (x.dtype(), x.bits());
    let bad: Vec<usize> = (0..wrong.len()).filter(|&i| wrong[i]).collect();
    let count = |test: &dyn Fn(usize) -> bool| bad.iter().filter(|&&i| test(i)).count();
    let of = |n: usize| if n == bad.len() { "all of them".to_owned() } else { format!("{n} of them") };
    let mut out = Vec::new();
    let poison = count(&|i| is_poison(dtype, bits[i]));
    if poison > 0 {
        let sure =
            if dtype.is_float() { "are unwritten memory" } else { "hold the fill of unwritten memory" };
        out.push(format!("{} {sure}", of(poison)));
    }
    let nan = count(&|i| xs[i].is_nan() && !is_poison(dtype, bits[i]));
    if nan > 0 {
        out.push(format!("{} are NaN", of(nan)));
    }
    let overflow = count(&|i| xs[i].is_infinite() && ys[i].abs() > dtype.max_value());
    if overflow > 0 {
        let limit = show_number(dtype, dtype.max_value());
        out.push(format!("{} overflowed: the reference exceeds {limit}, the largest {dtype}", of(overflow)));
    }
    let found = out.len();
    if bad.len() > 1 && count(&|i| xs[i] == 0.0) == bad.len() {
        out.push("all of them are 0".to_owned());
    } else if let Some(hint) = common_factor(xs, ys, &bad, judge) {
        out.push(hint);
    } else if is_transpose(x.shape(), xs, ys, judge) {
        out.push("the result agrees with the reference transposed".to_owned());
    } else if let Some(hint) = moved(x.shape(), xs, ys, &bad, judge) {
        out.push(hint);
    }
    Hints { explains: out.len() > found, notes: out }
}

/// Describes a dimension and a step of ±1 or ±2 such that each wrong element equals the reference that many positions further
/// along the dimension; `None` if there are none. Elements whose counterpart lies outside of the tensor are ignored; at least
/// three elements, and more than half of the wrong ones, must have a counterpart.
fn moved(shape: &[usize], xs: &[f64], ys: &[f64], bad: &[usize], judge: &Judge) -> Option<String> {
    let fits = |d: usize, step: isize| {
        let stride = shape[d + 1..].iter().product::<usize>();
        let mut inside = 0;
        for &i in bad {
            let to = (i / stride % shape[d]).checked_add_signed(step);
            if to.is_none_or(|to| to >= shape[d]) {
                continue;
            }
            let from = i.checked_add_signed(step * stride as isize);
            if !from.is_some_and(|from| judge.distance(xs[i], ys[from]).ok) {
                return false;
            }
            inside += 1;
        }
        inside >= 3 && inside * 2 > bad.len()
    };
    let ways = (0..shape.len()).flat_map(|d| [1, -1, 2, -2].map(|step| (d, step)));
    let (along, step) = ways.into_iter().find(|(d, step)| fits(*d, *step))?;
    let at: Vec<String> = (0..shape.len()).map(|d| format!("i{d}")).collect();
    let mut from = at.clone();
    from[along] = format!("i{along} {} {}", if step > 0 { "+" } else { "-" }, step.abs());
    Some(format!("element [{}] agrees with the reference at [{}]", at.join(", "), from.join(", ")))
}

/// Describes a factor, such as 2 or -1, by which all of at least three wrong elements differ from their references. `None` if
/// no factor of a short list fits.
fn common_factor(xs: &[f64], ys: &[f64], bad: &[usize], judge: &Judge) -> Option<String> {
    let largest = bad.iter().copied().max_by(|&a, &b| ys[a].abs().total_cmp(&ys[b].abs()))?;
    let factor = xs[largest] / ys[largest];
    let rounded = [-1.0, 2.0, 0.5, 1.5, 3.0, 4.0, 0.25]
        .into_iter()
        .find(|f: &f64| (factor - f).abs() <= 0.02 * f.abs())?;
    let loose = Judge {
        tolerance: Tolerance { ulp: Some(judge.tolerance.ulp.unwrap_or(0.0).max(8.0)), ..judge.tolerance },
        ..*judge
    };
    let fits = bad.len() >= 3 && bad.iter().all(|&i| loose.distance(xs[i], rounded * ys[i]).ok);
    fits.then(|| format!("all of them are {rounded} times the reference"))
}

/// Reports whether the elements of `x`, in the order of memory, are those of the transposed reference. For a square matrix that is
/// `x = yᵀ`; otherwise a transposed result was stored with the wrong shape.
fn is_transpose(shape: &[usize], xs: &[f64], ys: &[f64], judge: &Judge) -> bool {
    let &[n, m] = shape else { return false };
    n > 1 && m > 1 && (0..n * m).all(|i| judge.distance(xs[i], ys[i % n * m + i / n]).ok)
}
