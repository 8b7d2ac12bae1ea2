//! Formats numbers and tensors.
//!
//! A number is written with the fewest digits that identify it in its type. Large tensors are abbreviated.

use hx_dtype::DType;

use crate::dense::{Class, element_count, show_shape};
use crate::tensor::{Tensor, is_poison};

/// The number of elements shown at each end of an abbreviated dimension.
const EDGE: usize = 3;
/// Tensors with more elements than this are abbreviated.
const WHOLE: usize = 64;

/// Returns the shortest decimal form that rounds back to `x` in `dtype`; at most 9 digits for `f64`.
pub fn show_number(dtype: DType, x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if Class::of(dtype) != Class::Float {
        return format!("{x}");
    }
    let most = if dtype == DType::F64 { 8 } else { 16 };
    let digits = (0..most)
        .find(|&p| format!("{x:.p$e}").parse::<f64>().is_ok_and(|y| dtype.encode(y) == dtype.encode(x)))
        .unwrap_or(most);
    let scientific = format!("{x:.digits$e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if (-4..=7).contains(&exponent) {
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
    match Class::of(dtype) {
        Class::Bool => (bits & 0xff != 0).to_string(),
        Class::Int if dtype.is_signed_int() => dtype.sign_extend(bits).to_string(),
        Class::Int => (bits & dtype.mask()).to_string(),
        Class::Float => show_number(dtype, dtype.decode(bits)),
    }
}

/// Formats one stored element with the digits that `f32` has, if its type is narrower. The shortest text of a narrow type may be
/// another number: 26.75 is `26.8` in `bf16`.
pub fn show_exact(dtype: DType, bits: u64) -> String {
    match Class::of(dtype) {
        Class::Float if dtype.bits() < 32 => show_number(DType::F32, dtype.decode(bits)),
        _ => show_bits(dtype, bits),
    }
}

/// Formats a tensor: `f16[100, 72]`, a remark on NaN, infinities and memory never written, and the elements.
pub fn show_tensor(tensor: &Tensor) -> String {
    show_tensor_at(tensor, "")
}

/// Formats a tensor like [`show_tensor`], with `place` after the shape. A tensor without dimensions is shown as a number.
pub fn show_tensor_at(tensor: &Tensor, place: &str) -> String {
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
    let cut = bits.len() > WHOLE;
    let width =
        shown(shape, cut).iter().map(|&i| show_bits(dtype, bits[i]).chars().count()).max().unwrap_or(1);
    let cell = |i: usize| format!("{:>width$}", show_bits(dtype, bits[i]));
    out.push('\n');
    write_level(&mut out, shape, 0, cut, 0, &cell);
    out
}

/// Counts the exceptional elements, such as NaN, infinities and memory never written.
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

/// Returns the positions along one dimension that are shown, with `None` for the gap.
fn positions(extent: usize, cut: bool) -> Vec<Option<usize>> {
    if cut && extent > 2 * EDGE + 1 {
        let start = (0..EDGE).map(Some);
        start.chain([None]).chain((extent - EDGE..extent).map(Some)).collect()
    } else {
        (0..extent).map(Some).collect()
    }
}

/// Returns the row-major indices of the elements that are shown.
fn shown(shape: &[usize], cut: bool) -> Vec<usize> {
    let mut indices = vec![0];
    for &extent in shape {
        let at: Vec<usize> = positions(extent, cut).into_iter().flatten().collect();
        indices = indices.iter().flat_map(|&base| at.iter().map(move |&i| base * extent + i)).collect();
    }
    indices
}

fn write_level(
    out: &mut String,
    shape: &[usize],
    base: usize,
    cut: bool,
    depth: usize,
    cell: &dyn Fn(usize) -> String,
) {
    let Some((&extent, inner)) = shape.split_first() else {
        out.push_str(&cell(base));
        return;
    };
    out.push('[');
    for (n, at) in positions(extent, cut).into_iter().enumerate() {
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
            Some(i) => write_level(out, inner, base * extent + i, cut, depth + 1, cell),
            None => out.push('…'),
        }
    }
    out.push(']');
}
