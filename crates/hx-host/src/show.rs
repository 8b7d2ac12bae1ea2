//! Formats numbers and tensors.
//!
//! A number is written with the fewest digits that identify it in its type, or rounded for a reader ([`Look`]). Large tensors are
//! abbreviated: to six elements of each dimension, or to the width of a terminal.

use hx_dtype::{Class, DType};

use crate::dense::{element_count, show_shape};
use crate::tensor::{Tensor, is_poison};

/// The number of elements shown at each end of an abbreviated dimension.
const EDGE: usize = 3;
/// Tensors with more elements than this are abbreviated.
const WHOLE: usize = 64;

/// The width of a tensor's text, and the number of digits of its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// The width of the terminal in characters: rows are abbreviated to it. `None` abbreviates large tensors to a number of
    /// elements.
    pub width: Option<usize>,
    /// Maximal number of significant digits, at least 1. `None` writes as many digits as identify the number.
    pub digits: Option<usize>,
}

/// Returns the shortest decimal form that rounds back to `x` in `dtype`; at most 9 digits for `f64`.
pub fn show_number(dtype: DType, x: f64) -> String {
    show_rounded(dtype, x, None)
}

/// Formats a number like [`show_number`], with at most `most` significant digits.
fn show_rounded(dtype: DType, x: f64, most: Option<usize>) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if dtype.class() != Class::Float {
        return format!("{x}");
    }
    let enough = if dtype == DType::F64 { 8 } else { 16 };
    let identifying = (0..enough)
        .find(|&p| format!("{x:.p$e}").parse::<f64>().is_ok_and(|y| dtype.encode(y) == dtype.encode(x)))
        .unwrap_or(enough);
    let digits = most.map_or(identifying, |most| identifying.min(most.saturating_sub(1)));
    let scientific = format!("{x:.digits$e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    // A number that was rounded to fewer digits than it has before the point needs an exponent: 1234567 with 4 digits is
    // `1.235e6`.
    let is_exact = digits == identifying || exponent <= digits as i32;
    if is_exact && (-4..=7).contains(&exponent) {
        let decimals = usize::try_from(digits as i32 - exponent).unwrap_or(0).max(1);
        let plain = format!("{x:.decimals$}");
        let trimmed = plain.trim_end_matches('0');
        return if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() };
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}e{exponent}")
}

/// Formats one stored element.
pub fn show_bits(dtype: DType, bits: u64) -> String {
    show_element(dtype, bits, None)
}

fn show_element(dtype: DType, bits: u64, digits: Option<usize>) -> String {
    match dtype.class() {
        Class::Bool => (bits & 0xff != 0).to_string(),
        Class::Int if dtype.is_signed_int() => dtype.sign_extend(bits).to_string(),
        Class::Int => (bits & dtype.mask()).to_string(),
        // The shortest text that is rounded up to a power of two may lie far below it.
        Class::Float if dtype.is_scale() => show_rounded(DType::F32, dtype.decode(bits), digits),
        Class::Float => show_rounded(dtype, dtype.decode(bits), digits),
    }
}

/// Formats one stored element with the digits that `f32` has, if its type is narrower. The shortest text of a narrow type may be
/// another number: 26.75 is `26.8` in `bf16`.
pub fn show_exact(dtype: DType, bits: u64) -> String {
    match dtype.class() {
        Class::Float if dtype.bits() < 32 => show_number(DType::F32, dtype.decode(bits)),
        _ => show_bits(dtype, bits),
    }
}

/// Formats a tensor: `f16[100, 72]`, a remark on NaN, infinities and memory never written, and the elements.
pub fn show_tensor(tensor: &Tensor) -> String {
    show_tensor_at(tensor, "", Look::default())
}

/// Formats a tensor like [`show_tensor`], with `place` after the shape, in the width and digits of `look`. A tensor without
/// dimensions is shown as its number alone, with all digits.
pub fn show_tensor_at(tensor: &Tensor, place: &str, look: Look) -> String {
    let (dtype, shape) = (tensor.dtype(), tensor.shape());
    let mut out = format!("{dtype}{}{place}", show_shape(shape));
    if element_count(shape).is_err() {
        return out + " (too large to look at)";
    }
    let bits = tensor.bits();
    if let ([], &[number]) = (shape, bits.as_slice()) {
        return show_bits(dtype, number);
    }
    if let Some(remark) = remark(dtype, &bits) {
        out += &format!("  ({remark})");
    }
    if bits.is_empty() {
        return out + " []";
    }
    let picked = Picked::of(dtype, shape, &bits, look);
    let cells = Cells::of(dtype, &bits, &picked, look);
    out.push('\n');
    match picked.line {
        Some(line) => write_lines(&mut out, bits.len(), line, &cells),
        None => write_level(&mut out, &picked.dims, 0, 0, &cells),
    }
    out
}

/// Counts the exceptional elements of a float tensor: `2 nan, 1 inf, 8 never written`. `None` if there are none.
fn remark(dtype: DType, bits: &[u64]) -> Option<String> {
    let poison = bits.iter().filter(|&&b| is_poison(dtype, b)).count();
    let mut parts = Vec::new();
    if dtype.is_float() {
        let nan = bits.iter().filter(|&&b| dtype.decode(b).is_nan()).count() - poison;
        let inf = bits.iter().filter(|&&b| dtype.decode(b).is_infinite()).count();
        if nan > 0 {
            parts.push(format!("{nan} nan"));
        }
        if inf > 0 {
            parts.push(format!("{inf} inf"));
        }
        if poison > 0 {
            parts.push(format!("{poison} never written"));
        }
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A dimension with the number of elements that are shown at its start and its end; `None` shows all.
#[derive(Clone, Copy)]
struct Dim {
    extent: usize,
    ends: Option<(usize, usize)>,
}

impl Dim {
    /// Shows at most `most` elements of a dimension, half of them at each end.
    fn at_most(extent: usize, most: usize) -> Dim {
        let ends = (extent > most).then_some((most.div_ceil(2), most / 2));
        Dim { extent, ends }
    }

    /// Returns the positions that are shown, with `None` for the gap.
    fn positions(self) -> Vec<Option<usize>> {
        match self.ends {
            Some((start, end)) => {
                let last = self.extent - end..self.extent;
                (0..start).map(Some).chain([None]).chain(last.map(Some)).collect()
            }
            None => (0..self.extent).map(Some).collect(),
        }
    }
}

/// Selects the elements of a tensor that its text shows.
struct Picked {
    dims: Vec<Dim>,
    /// The number of elements of each line, if a tensor of one dimension is shown whole in several lines.
    line: Option<usize>,
}

impl Picked {
    fn of(dtype: DType, shape: &[usize], bits: &[u64], look: Look) -> Picked {
        let is_cut = bits.len() > WHOLE;
        let cut = |&extent: &usize| {
            let dim = Dim { extent, ends: None };
            if is_cut && extent > 2 * EDGE + 1 { Dim { ends: Some((EDGE, EDGE)), ..dim } } else { dim }
        };
        let mut picked = Picked { dims: shape.iter().map(cut).collect(), line: None };
        let (Some(width), Some(&extent)) = (look.width, shape.last()) else { return picked };
        // Each line has at most as many brackets at its start and at its end as the tensor has dimensions.
        let room = width.saturating_sub(2 * shape.len());
        if let [_] = shape
            && !is_cut
        {
            picked.dims = vec![Dim { extent, ends: None }];
            let cell = Cells::of(dtype, bits, &picked, look).width();
            picked.line = Some(((room + 2) / (cell + 2)).max(1));
            return picked;
        }
        // The width of a cell depends on the elements that are shown: take the largest number of columns that fits. No cell is
        // narrower than one character, and two columns are always shown.
        let last = picked.dims.len() - 1;
        let most = extent.min(room.div_ceil(3)).max(2);
        for columns in (2..=most).rev() {
            picked.dims[last] = Dim::at_most(extent, columns);
            let cell = Cells::of(dtype, bits, &picked, look).width();
            let gap = if columns < extent { 3 } else { 0 };
            if columns * (cell + 2) - 2 + gap <= room {
                break;
            }
        }
        picked
    }

    /// Returns the row-major indices of the elements that are shown.
    fn indices(&self) -> Vec<usize> {
        let mut indices = vec![0];
        for dim in &self.dims {
            let at: Vec<usize> = dim.positions().into_iter().flatten().collect();
            indices =
                indices.iter().flat_map(|&base| at.iter().map(move |&i| base * dim.extent + i)).collect();
        }
        indices
    }
}

/// The texts of the elements, all of one width. Rounded numbers are aligned at their points.
struct Cells<'a> {
    dtype: DType,
    bits: &'a [u64],
    digits: Option<usize>,
    /// The largest number of characters before the point, and from the point on. Texts that are not aligned at points count as
    /// characters before it.
    before: usize,
    after: usize,
}

impl<'a> Cells<'a> {
    fn of(dtype: DType, bits: &'a [u64], picked: &Picked, look: Look) -> Cells<'a> {
        let mut cells = Cells { dtype, bits, digits: look.digits, before: 0, after: 0 };
        let mut widest = 0;
        for at in picked.indices() {
            let text = cells.text(at);
            let (before, after) = cells.parts(&text);
            match after {
                Some(after) => {
                    cells.before = cells.before.max(before.len());
                    cells.after = cells.after.max(after.len());
                }
                None => widest = widest.max(before.len()),
            }
        }
        cells.before = cells.before.max(widest.saturating_sub(cells.after));
        cells
    }

    fn width(&self) -> usize {
        self.before + self.after
    }

    fn text(&self, at: usize) -> String {
        show_element(self.dtype, self.bits[at], self.digits)
    }

    /// Splits a text before its point or exponent; the second part is `None` for a text that is aligned at its end.
    fn parts<'t>(&self, text: &'t str) -> (&'t str, Option<&'t str>) {
        let point = text.find(['.', 'e']).filter(|_| self.digits.is_some());
        point.map_or((text, None), |point| (&text[..point], Some(&text[point..])))
    }

    fn cell(&self, at: usize) -> String {
        let text = self.text(at);
        match self.parts(&text) {
            (before, Some(after)) => {
                format!(
                    "{before:>before_width$}{after:<after_width$}",
                    before_width = self.before,
                    after_width = self.after
                )
            }
            (text, None) => format!("{text:>width$}", width = self.width()),
        }
    }
}

/// Writes all elements of a tensor of one dimension, `line` of them in each line.
fn write_lines(out: &mut String, count: usize, line: usize, cells: &Cells<'_>) {
    let lines: Vec<String> = (0..count)
        .step_by(line)
        .map(|start| {
            let texts: Vec<String> = (start..count.min(start + line)).map(|at| cells.cell(at)).collect();
            texts.join(", ")
        })
        .collect();
    *out += &format!("[{}]", lines.join(",\n "));
}

fn write_level(out: &mut String, dims: &[Dim], base: usize, depth: usize, cells: &Cells<'_>) {
    let Some((dim, inner)) = dims.split_first() else {
        out.push_str(&cells.cell(base));
        return;
    };
    out.push('[');
    for (n, at) in dim.positions().into_iter().enumerate() {
        if n > 0 {
            out.push(',');
            if inner.is_empty() {
                out.push(' ');
            } else {
                // Blank lines separate the matrices of a stack, as in NumPy.
                out.push_str(&"\n".repeat(inner.len()));
                out.push_str(&" ".repeat(depth + 1));
            }
        }
        match at {
            Some(i) => write_level(out, inner, base * dim.extent + i, depth + 1, cells),
            None => out.push('…'),
        }
    }
    out.push(']');
}
