//! Formats values for the prompt.

use hx_host::Value;
use hx_host::show::{Look, show_tensor_at};

use crate::style::Style;

/// Formats a value: strings in quotes, tensors with their place. With colour, NaN and infinities are highlighted.
pub(crate) fn value(value: &Value, style: Style, look: Look) -> String {
    let text = match value {
        Value::Str(text) => format!("{text:?}"),
        Value::Tensor(tensor) => show_tensor_at(tensor, " on host", look),
        other => other.to_string(),
    };
    match value {
        Value::Tensor(_) | Value::Float(_) if style.color => mark(&text),
        _ => text,
    }
}

/// Describes the kind of a value; for a tensor its element type, shape, place and strides.
pub(crate) fn kind(value: &Value) -> String {
    let Value::Tensor(tensor) = value else {
        let kind = value.kind();
        return kind.strip_prefix("an ").or_else(|| kind.strip_prefix("a ")).unwrap_or(&kind).to_owned();
    };
    let what = format!("{} on host", value.brief());
    if tensor.is_contiguous() { what } else { format!("{what}, strides {:?}", tensor.strides()) }
}

/// Colours the words `nan`, `inf` and `-inf` red.
fn mark(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        match word.as_str() {
            "nan" | "inf" | "-inf" => *out += &format!("\x1b[31m{word}\x1b[0m"),
            other => out.push_str(other),
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_alphanumeric() || c == '-' {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}
