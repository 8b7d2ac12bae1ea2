//! Rows whose shape has a parameter: one row of a file stands for a row of each value.
//!
//! A row with `n = [from, to, step]` is repeated for `n` = from, from + step, …, to. In its texts `{n}` is the value and
//! `{n/2}` its half; any other divisor works alike. A text that becomes digits by it is a number, as in
//! `shape = [64, '{n}', 16]`.

use toml::{Table, Value};

/// Returns the rows of a file with each family in place of the row that stands for it.
///
/// # Errors
/// If `n` is not three positive numbers in this order, or a divisor does not divide its value.
pub(crate) fn expanded(rows: &[Value]) -> Result<Vec<Value>, String> {
    let mut out = Vec::new();
    for row in rows {
        let Some(range) = row.get("n") else {
            out.push(row.clone());
            continue;
        };
        let numbers: Option<Vec<i64>> =
            range.as_array().and_then(|all| all.iter().map(Value::as_integer).collect());
        let refused =
            || format!("`n` is [from, to, step], all positive and `from` at most `to`, not {range}");
        let Some(&[from, to, step]) = numbers.as_deref() else { return Err(refused()) };
        let is_range = 1 <= from && from <= to;
        let step = usize::try_from(step).ok().filter(|step| is_range && *step > 0).ok_or_else(refused)?;
        for n in (from..=to).step_by(step) {
            let mut table: Table = row.as_table().cloned().unwrap_or_default();
            table.remove("n");
            out.push(with(Value::Table(table), n)?);
        }
    }
    Ok(out)
}

fn with(value: Value, n: i64) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => {
            let written = written(&text, n)?;
            match written.parse::<i64>() {
                Ok(number) if written != text => Value::Integer(number),
                _ => Value::String(written),
            }
        }
        Value::Array(parts) => {
            Value::Array(parts.into_iter().map(|part| with(part, n)).collect::<Result<_, _>>()?)
        }
        Value::Table(fields) => {
            let fields = fields.into_iter().map(|(name, field)| Ok((name, with(field, n)?)));
            Value::Table(fields.collect::<Result<_, String>>()?)
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => value,
    })
}

/// Writes the value at each `{n}`, and its `D`th part at each `{n/D}`.
///
/// # Errors
/// If a brace is not closed, or `D` does not divide the value.
fn written(text: &str, n: i64) -> Result<String, String> {
    let mut parts = text.split("{n");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (divisor, rest) =
            part.split_once('}').ok_or_else(|| format!("`{{n` is not closed in `{text}`"))?;
        let divisor = match divisor.strip_prefix('/') {
            Some(number) => number.parse::<i64>().ok().filter(|d| *d > 0 && n % d == 0),
            None => divisor.is_empty().then_some(1),
        };
        let divisor = divisor.ok_or_else(|| format!("`{{n{part}` is not a whole part of {n}"))?;
        out += &(n / divisor).to_string();
        out += rest;
    }
    Ok(out)
}
