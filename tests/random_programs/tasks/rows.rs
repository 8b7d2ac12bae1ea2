//! Reductions and scans of rows that end inside of a tile: the elements past the end are masked, padded, or reached in a part of
//! the loop of their own.

use hx_dtype::DType;

use super::super::program::Range;
use super::super::write::number;
use super::sheet::{Begin, Kernel, Lines, Sheet, Tensor};

/// The way to keep padding out of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mask {
    /// `where` the position is inside.
    Where,
    /// The view pads with the neutral element.
    Pad,
    /// Only the last tile is masked.
    Peeled,
}

/// A result of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    Max,
    Min,
    ArgMax,
    ArgMin,
    /// Number of elements that are larger than a number.
    Count(i64),
    Sum,
    /// Whether any element is larger than a number.
    Any(i64),
    All(i64),
    /// The largest magnitude, by a closure.
    Closure,
}

pub(super) fn write(sheet: &mut Sheet) {
    sheet.part("masked rows");
    let dtype = sheet.choices.pick(&[DType::I32, DType::F32, DType::F16, DType::I64, DType::F64]);
    let (rows, columns) = (sheet.choices.pick(&[4, 1, 8, 3]), sheet.choices.pick(&[64, 32, 128, 96]));
    let mask = sheet.choices.pick(&[Mask::Where, Mask::Pad, Mask::Peeled]);
    let least = sheet.choices.between(-5, 5);
    let fold = match sheet.choices.below(9) {
        0 => Fold::Max,
        1 => Fold::Min,
        2 => Fold::ArgMax,
        3 => Fold::ArgMin,
        4 => Fold::Count(least),
        5 => Fold::Any(least),
        6 => Fold::All(least),
        7 => Fold::Closure,
        _ => Fold::Sum,
    };
    let tiles = sheet.choices.between(1, 3);
    let m = rows * sheet.choices.between(1, 3) - sheet.choices.between(0, rows - 1);
    let n = (columns * tiles - sheet.choices.between(0, columns - 1)).max(1);
    // Often all elements are negative, or all positive: then padding would win.
    let (low, high) = sheet.choices.pick(&[(-9, 9), (-9, -1), (1, 9)]);
    let threads = sheet.choices.pick(&[64, 32, 128]);
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    sheet.input(&mut kernel, &Tensor::new("x", dtype, &[("m", m), ("n", n)]), Range::new(low, high));
    let to = match fold {
        Fold::ArgMax | Fold::ArgMin | Fold::Count(_) | Fold::Any(_) | Fold::All(_) => DType::I32,
        _ => dtype,
    };
    let y = Tensor::new("y", to, &[("m", m), ("1", 1)]);
    sheet.output(&mut kernel, &y, Begin::Unwritten);
    kernel.header.push(format!("grid [cdiv(m, {rows})]"));
    kernel.header.push(format!("threads {threads}"));
    let neutral = match fold {
        Fold::Max | Fold::ArgMax | Fold::Count(_) | Fold::Any(_) => -100,
        Fold::Min | Fold::ArgMin | Fold::All(_) => 100,
        Fold::Sum | Fold::Closure => 0,
    };
    let filler = number(neutral, dtype);
    let pad = if mask == Mask::Pad { format!(", pad: {filler}") } else { String::new() };
    let view = format!("tile(x, [{rows}, {columns}]{pad})[.., .., block_idx, j]");
    let masked = format!("v = where(index(v, 1) + j * {columns} < n, v, {filler});");
    let (start, step, result) = folded(fold, dtype, rows, columns);
    kernel.body.push(start);
    let mut lines = Lines::from(format!("let v = load({view});"));
    let peel = match mask {
        Mask::Where => {
            lines.push(masked);
            ""
        }
        Mask::Pad => "",
        Mask::Peeled => {
            lines.block(&format!("if (j + 1) * {columns} > n"), masked.as_str().into());
            "#[peel]"
        }
    };
    lines.push(step);
    kernel.body.push(peel);
    kernel.body.block(&format!("for j in 0..cdiv(n, {columns})"), lines);
    kernel.body.push(format!("copy({result}, tile(y, [{rows}, 1])[.., .., block_idx, 0]);"));
    sheet.test.push(kernel.launch());
    let h = "cast(x, f64)";
    let expected = match fold {
        Fold::Max => format!("max({h}, axis: 1, keepdims: true)"),
        Fold::Min => format!("min({h}, axis: 1, keepdims: true)"),
        Fold::ArgMax => format!("argmax({h}, axis: 1, keepdims: true)"),
        Fold::ArgMin => format!("argmin({h}, axis: 1, keepdims: true)"),
        Fold::Count(least) => format!("sum(where({h} > ({least}.0), 1.0, 0.0), axis: 1, keepdims: true)"),
        Fold::Any(least) => format!("max(where({h} > ({least}.0), 1.0, 0.0), axis: 1, keepdims: true)"),
        Fold::All(least) => format!("min(where({h} > ({least}.0), 1.0, 0.0), axis: 1, keepdims: true)"),
        Fold::Sum => format!("sum({h}, axis: 1, keepdims: true)"),
        Fold::Closure => format!("max(abs({h}), axis: 1, keepdims: true)"),
    };
    sheet.test.push(format!("assert_eq(y, {expected});"));
    sheet.finish(kernel);
}

/// Returns the declarations of a fold, the statement of a tile `v` with the number `j`, and the result.
fn folded(fold: Fold, dtype: DType, rows: i64, columns: i64) -> (String, String, &'static str) {
    let best = |value: i64| {
        format!("let best = register_tensor({dtype}, [{rows}, 1]);\nfill(best, {});", number(value, dtype))
    };
    let count = |value: i64| format!("let best = register_tensor(i32, [{rows}, 1]);\nfill(best, {value});");
    let position = |name: &str, how: &str| {
        format!(
            "let top = {name}(v, axis: 1);\nlet better = top {how} best;\n\
             at = where(better, arg{name}(v, axis: 1) + cast(j * {columns}, i32), at);\nbest = where(better, top, best);"
        )
    };
    let at = format!("\nlet at = register_tensor(i32, [{rows}, 1]);\nfill(at, 0);");
    let than = |least: i64| number(least, dtype);
    match fold {
        Fold::Max => (best(-100), "best = max(best, max(v, axis: 1));".to_owned(), "best"),
        Fold::Min => (best(100), "best = min(best, min(v, axis: 1));".to_owned(), "best"),
        Fold::Sum => (best(0), "best = best + sum(v, axis: 1);".to_owned(), "best"),
        Fold::Closure => {
            // A comparison with NaN is false, so the operator is associative only if it tests for NaN explicitly.
            let larger = if dtype.is_float() { "isnan(b) || a > b" } else { "a > b" };
            let of = format!("reduce(abs(v), axis: 1, op: |a, b| where({larger}, a, b))");
            (best(0), format!("best = max(best, {of});"), "best")
        }
        Fold::ArgMax => (best(-100) + &at, position("max", ">"), "at"),
        Fold::ArgMin => (best(100) + &at, position("min", "<"), "at"),
        Fold::Count(least) => (
            count(0),
            format!("best = best + sum(cast(where(v > {}, 1, 0), i32), axis: 1);", than(least)),
            "best",
        ),
        Fold::Any(least) => {
            (count(0), format!("best = where(any(v > {}, axis: 1), 1, best);", than(least)), "best")
        }
        Fold::All(least) => {
            (count(1), format!("best = where(all(v > {}, axis: 1), best, 0);", than(least)), "best")
        }
    }
}
