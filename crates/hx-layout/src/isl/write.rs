//! Writes layouts and swizzles as relations in isl's notation.

use crate::layout::Mode;
use crate::{AfterSwizzle, ComposedLayout, IntTuple, Layout, LayoutError, LinearLayout, Swizzle};

/// Writes `{ [c] -> [i] }`: 1-D coordinate to index.
pub fn layout_map(layout: &Layout) -> String {
    format!("{{ [c] -> [i] : {} }}", graph(layout))
}

/// Writes `{ [i] -> [c] }`: the reverse relation. It is not a function if the layout repeats a value.
pub fn inverse(layout: &Layout) -> String {
    format!("{{ [i] -> [c] : {} }}", graph(layout))
}

/// Writes `{ [i] }`: the set of indices.
pub fn image(layout: &Layout) -> String {
    format!("{{ [i] : exists (c : {}) }}", graph(layout))
}

/// Writes `{ [c0,c1,..] -> [i] }`: one input for each integer of the shape, size 1 included.
pub fn index_map(layout: &Layout) -> String {
    let names: Vec<String> = (0..layout.leaves().len()).map(|i| format!("c{i}")).collect();
    let bounds =
        names.iter().zip(layout.leaves()).map(|(name, mode)| format!("0 <= {name} < {} and ", mode.0));
    let terms = names.iter().zip(layout.leaves()).filter(|(_, mode)| mode.0 > 1);
    let terms: Vec<(i64, String)> = terms.map(|(name, mode)| (mode.1, name.clone())).collect();
    format!("{{ [{}] -> [i] : {}i = {} }}", names.join(", "), bounds.collect::<String>(), sum(&terms, 0))
}

/// Writes `{ [c] -> [c0,c1,..] }`: the coordinate with one entry for each integer of the shape.
///
/// # Errors
/// If the tuple is no shape.
pub fn coord_map(shape: &IntTuple) -> Result<String, LayoutError> {
    let layout = Layout::column_major(shape.clone())?;
    let digits = digits("c", layout.leaves());
    let names: Vec<String> = (0..digits.len()).map(|i| format!("c{i}")).collect();
    let equations: String =
        names.iter().zip(&digits).map(|(name, digit)| format!(" and {name} = {digit}")).collect();
    Ok(format!("{{ [c] -> [{}] : 0 <= c < {}{equations} }}", names.join(", "), layout.size()))
}

/// Writes `{ [i] -> [j] }` for each *i* below `size`.
pub fn swizzle_map(swizzle: Swizzle, size: i64) -> String {
    format!("{{ [i] -> [j] : 0 <= i < {size} and j = {} }}", swizzled(swizzle, "i"))
}

/// Writes `{ [c] -> [i] }` of a layout with offset and swizzle.
pub fn composed_map(composed: &ComposedLayout) -> String {
    let layout = &composed.layout;
    if composed.swizzle.is_identity() && composed.offset == 0 {
        return layout_map(layout);
    }
    let x = sum(&terms(layout), composed.offset);
    let i = swizzled(composed.swizzle, "x");
    format!("{{ [c] -> [i] : exists (x : 0 <= c < {} and x = {x} and i = {i}) }}", layout.size())
}

/// Writes `{ [c] -> [i] }` of a layout after a swizzle.
pub fn swizzled_layout_map(after: &AfterSwizzle) -> String {
    let x = swizzled(after.swizzle, "c");
    let i = sum(&terms_of("x", &after.layout), 0);
    format!("{{ [c] -> [i] : exists (x : 0 <= c < {} and x = {x} and i = {i}) }}", after.size())
}

/// Writes the relation of a linear layout: one input for each input dimension, one output for each output dimension, in their
/// order.
pub fn linear_map(layout: &LinearLayout) -> String {
    let ins: Vec<String> = (0..layout.ins().len()).map(|i| format!("x{i}")).collect();
    let outs: Vec<String> = (0..layout.outs().len()).map(|i| format!("y{i}")).collect();
    let mut clauses: Vec<String> = Vec::new();
    for (name, dim) in ins.iter().zip(layout.ins()) {
        clauses.push(format!("0 <= {name} < {}", 1u64 << dim.bases.len()));
    }
    let mut shift = 0;
    for (name, out) in outs.iter().zip(layout.outs()) {
        let bits: Vec<(i64, String)> =
            (0..out.bits).map(|b| (1i64 << b, parity(layout, &ins, shift + b))).collect();
        let bits: Vec<(i64, String)> = bits.into_iter().filter(|(_, bit)| bit != "0").collect();
        clauses.push(format!("{name} = {}", sum(&bits, 0)));
        shift += out.bits;
    }
    format!("{{ [{}] -> [{}] : {} }}", ins.join(", "), outs.join(", "), clauses.join(" and "))
}

/// Writes the sum mod 2 of the input bits whose value has output bit `bit`.
fn parity(layout: &LinearLayout, ins: &[String], bit: u32) -> String {
    let mut bits = Vec::new();
    for (name, dim) in ins.iter().zip(layout.ins()) {
        let set = dim.bases.iter().enumerate().filter(|(_, v)| (**v >> bit) & 1 == 1);
        bits.extend(set.map(|(b, _)| bit_of(name, b as u32)));
    }
    match bits.as_slice() {
        [] => "0".to_string(),
        [only] => only.clone(),
        _ => format!("(({}) mod 2)", bits.join(" + ")),
    }
}

fn bit_of(name: &str, bit: u32) -> String {
    match bit {
        0 => format!("({name} mod 2)"),
        _ => format!("(floor({name}/{}) mod 2)", 1u64 << bit),
    }
}

/// Writes `0 <= c < size and i = ..`.
fn graph(layout: &Layout) -> String {
    format!("0 <= c < {} and i = {}", layout.size(), sum(&terms(layout), 0))
}

/// Writes an offset plus the value of a layout at 1-D coordinate `name`.
pub(super) fn digits_sum(name: &str, layout: &Layout, offset: i64) -> String {
    sum(&terms_of(name, layout), offset)
}

/// Writes the relation of a swizzle of all integers: `{ [i] -> [j] }`.
pub fn open_swizzle_map(swizzle: Swizzle) -> String {
    format!("{{ [i] -> [j] : j = {} }}", swizzled(swizzle, "i"))
}

fn terms(layout: &Layout) -> Vec<(i64, String)> {
    terms_of("c", layout)
}

/// Returns stride and digit of 1-D coordinate `name` for each mode larger than 1.
fn terms_of(name: &str, layout: &Layout) -> Vec<(i64, String)> {
    let digits = digits(name, layout.leaves()).into_iter();
    let terms = layout.leaves().iter().map(|m| m.1).zip(digits).zip(layout.leaves());
    terms.filter(|(_, mode)| mode.0 > 1).map(|(term, _)| term).collect()
}

/// Writes the digit of 1-D coordinate `name` for each mode.
fn digits(name: &str, modes: &[Mode]) -> Vec<String> {
    // The last mode that is not of size 1 needs no `mod`, since the coordinate is below the size.
    let last = modes.iter().rposition(|m| m.0 > 1);
    let mut unit = 1i64;
    let digit = |(i, mode): (usize, &Mode)| {
        let quotient = if unit == 1 { name.to_string() } else { format!("floor({name}/{unit})") };
        unit *= mode.0;
        match mode.0 {
            1 => "0".to_string(),
            _ if Some(i) == last => quotient,
            extent => format!("({quotient} mod {extent})"),
        }
    };
    modes.iter().enumerate().map(digit).collect()
}

fn sum(terms: &[(i64, String)], constant: i64) -> String {
    let terms = terms.iter().filter(|(factor, _)| *factor != 0);
    let mut parts: Vec<String> = terms
        .map(|(factor, term)| match factor {
            1 => term.clone(),
            _ => format!("{factor}*{term}"),
        })
        .collect();
    if constant != 0 || parts.is_empty() {
        parts.push(constant.to_string());
    }
    parts.join(" + ")
}

/// Writes the swizzled value of `name`. Each target bit changes by its xor with the source bit, minus itself.
fn swizzled(swizzle: Swizzle, name: &str) -> String {
    let (up, down) = (swizzle.shift().max(0) as u32, (-swizzle.shift()).max(0) as u32);
    let change = |b: u32| {
        let source = bit_of(name, swizzle.base() + up + b);
        let target = bit_of(name, swizzle.base() + down + b);
        let weight = 1i64 << (swizzle.base() + down + b);
        format!(" + {weight}*((({source} + {target}) mod 2) - {target})")
    };
    name.to_string() + &(0..swizzle.bits()).map(change).collect::<String>()
}
