//! Answers operations on linear layouts.

use hx_layout::{ComposedLayout, IntTuple, Layout, LinearError, LinearLayout};
use serde_json::{Map, Value, json};

use crate::Answer;
use crate::input::{Input, TABLE_LIMIT};
use crate::layouts::fields;

/// Answers an operation on linear layouts; `None` for an operation of another kind.
pub(super) fn answer(op: &str, input: &Input<'_>) -> Option<Answer> {
    Some(match op {
        "apply" => apply(input),
        "table" => linear(input, "L").map(|l| with_table(Map::new(), &l)),
        "props" => linear(input, "L").map(|l| properties(&l)),
        "compose" => made(input, ["first", "second"], LinearLayout::compose),
        "invert" => unary(input, LinearLayout::invert),
        "pseudoinvert" => unary(input, LinearLayout::pseudoinvert),
        "invert_and_compose" => made(input, ["a", "b"], LinearLayout::invert_and_compose),
        "product" => made(input, ["inner", "outer"], LinearLayout::product),
        "divide_left" => divided(input, LinearLayout::divide_left),
        "divide_right" => divided(input, LinearLayout::divide_right),
        "sublayout" => sublayout(input),
        "sublayout_is_zero" => sublayout_is_zero(input),
        "transpose_ins" => transposed(input, LinearLayout::transpose_ins),
        "transpose_outs" => transposed(input, LinearLayout::transpose_outs),
        "reshape_ins" => reshaped(input, LinearLayout::reshape_ins),
        "reshape_outs" => reshaped(input, LinearLayout::reshape_outs),
        "is_trivial_over" => is_trivial_over(input),
        "quotient" => quotient(input),
        "from_layout" => from_layout(input),
        "from_composed" => from_composed(input),
        "from_tv" => from_tv(input),
        "to_layout" => to_layout(input),
        _ => return None,
    })
}

/// Reads a linear layout of the case.
pub(super) fn linear(input: &Input<'_>, name: &str) -> Result<LinearLayout, String> {
    serde_json::from_value(input.value(name)?.clone()).map_err(|e| e.to_string())
}

fn text(error: LinearError) -> String {
    error.to_string()
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_string(), value)])
}

fn with_table(mut out: Map<String, Value>, l: &LinearLayout) -> Map<String, Value> {
    if l.in_bits() <= TABLE_LIMIT.trailing_zeros() {
        out.insert("table".into(), l.table().collect::<Vec<_>>().into());
    }
    out
}

fn result(layout: Result<LinearLayout, LinearError>) -> Answer {
    let layout = layout.map_err(text)?;
    Ok(with_table(one("L", json!(layout)), &layout))
}

fn optional(layout: Option<LinearLayout>) -> Answer {
    layout.map_or_else(|| Ok(one("none", json!(true))), |l| result(Ok(l)))
}

type Unary = fn(&LinearLayout) -> Result<LinearLayout, LinearError>;
type Binary = fn(&LinearLayout, &LinearLayout) -> Result<LinearLayout, LinearError>;

fn unary(input: &Input<'_>, f: Unary) -> Answer {
    result(f(&linear(input, "L")?))
}

fn made(input: &Input<'_>, names: [&str; 2], f: Binary) -> Answer {
    result(f(&linear(input, names[0])?, &linear(input, names[1])?))
}

fn divided(input: &Input<'_>, f: fn(&LinearLayout, &LinearLayout) -> Option<LinearLayout>) -> Answer {
    optional(f(&linear(input, "a")?, &linear(input, "b")?))
}

fn apply(input: &Input<'_>) -> Answer {
    let l = linear(input, "L")?;
    let mut values = Vec::new();
    for point in input.list("points")? {
        let point: Vec<i64> = serde_json::from_value(point.clone()).map_err(|e| e.to_string())?;
        values.push(l.apply(&point).map_err(text)?);
    }
    Ok(one("values", json!(values)))
}

fn properties(l: &LinearLayout) -> Map<String, Value> {
    let masks: Map<String, Value> =
        l.free_masks().into_iter().map(|(name, mask)| (name, json!(mask))).collect();
    let mut out = one("rank", json!(l.rank()));
    out.insert("in_bits".into(), json!(l.in_bits()));
    out.insert("out_bits".into(), json!(l.out_bits()));
    out.insert("surjective".into(), json!(l.is_surjective()));
    out.insert("injective".into(), json!(l.is_injective()));
    out.insert("invertible".into(), json!(l.is_invertible()));
    out.insert("num_consecutive".into(), json!(l.num_consecutive()));
    out.insert("free_masks".into(), masks.into());
    out
}

fn sublayout(input: &Input<'_>) -> Answer {
    result(linear(input, "L")?.sublayout(&input.texts("in_dims")?, &input.texts("out_dims")?))
}

fn sublayout_is_zero(input: &Input<'_>) -> Answer {
    let zero = linear(input, "L")?.sublayout_is_zero(&input.texts("in_dims")?, &input.texts("out_dims")?);
    Ok(one("value", json!(zero.map_err(text)?)))
}

fn transposed(
    input: &Input<'_>,
    f: fn(&LinearLayout, &[&str]) -> Result<LinearLayout, LinearError>,
) -> Answer {
    result(f(&linear(input, "L")?, &input.texts("order")?))
}

type Reshape = fn(&LinearLayout, &[(&str, i64)]) -> Result<LinearLayout, LinearError>;

fn reshaped(input: &Input<'_>, f: Reshape) -> Answer {
    let dims: Vec<(String, i64)> =
        serde_json::from_value(input.value("dims")?.clone()).map_err(|e| e.to_string())?;
    let dims: Vec<(&str, i64)> = dims.iter().map(|(name, size)| (name.as_str(), *size)).collect();
    result(f(&linear(input, "L")?, &dims))
}

fn is_trivial_over(input: &Input<'_>) -> Answer {
    let trivial = linear(input, "L")?.is_trivial_over(&input.texts("dims")?);
    Ok(one("value", json!(trivial.map_err(text)?)))
}

fn quotient(input: &Input<'_>) -> Answer {
    optional(linear(input, "L")?.quotient(&input.texts("dims")?).map_err(text)?)
}

fn from_layout(input: &Input<'_>) -> Answer {
    let layout: Layout = input.parse("layout")?;
    result(match input.flag("by_mode") {
        true => LinearLayout::from_layout_by_mode(&layout),
        false => LinearLayout::from_layout(&layout),
    })
}

fn from_composed(input: &Input<'_>) -> Answer {
    let composed: ComposedLayout = input.parse("a")?;
    result(LinearLayout::from_composed(&composed))
}

fn from_tv(input: &Input<'_>) -> Answer {
    let (tv, tile): (Layout, IntTuple) = (input.parse("tv")?, input.parse("tile")?);
    let (ins, outs) = (input.texts("in_dims")?, input.texts("out_dims")?);
    match (tile.leaves().as_slice(), ins.as_slice(), outs.as_slice()) {
        (&[rows, cols], &[thread, value], &[row, col]) => {
            result(LinearLayout::from_tv(&tv, (rows, cols), [thread, value], [row, col]))
        }
        _ => Err("a tile and two names for each side were expected".to_string()),
    }
}

fn to_layout(input: &Input<'_>) -> Answer {
    Ok(fields(&linear(input, "L")?.to_layout().map_err(text)?, input))
}
