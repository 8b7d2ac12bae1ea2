//! Answers cases about layouts as relations, and checks the answers.

use hx_layout::isl::{self, Relation};
use hx_layout::{Layout, Swizzle};
use serde_json::{Map, json};

use crate::Answer;
use crate::input::Input;
use crate::layouts::made;
use crate::linear::linear;
use crate::verify::Judge;

/// Answers an operation with a relation. The caller decides by the case's `check` whether a relation is wanted.
pub(super) fn answer(op: &str, input: &Input<'_>) -> Answer {
    let layout = |name: &str| input.parse::<Layout>(name);
    let (kind, text) = match op {
        "layout_map" => ("map", isl::layout_map(&layout("layout")?)),
        "index_map" => ("map", isl::index_map(&layout("layout")?)),
        "inverse" => ("map", isl::inverse(&layout("layout")?)),
        "image" => ("set", isl::image(&layout("layout")?)),
        "coord_map" => ("map", isl::coord_map(&input.parse("shape")?).map_err(|e| e.to_string())?),
        "swizzle" => ("map", isl::swizzle_map(input.parse::<Swizzle>("sw")?, input.int("size")?)),
        "composed_map" => ("map", isl::composed_map(&input.parse("a")?)),
        "linear_map" => ("map", isl::linear_map(&linear(input, "L")?)),
        _ => match made(op, input) {
            Some(layout) => ("map", isl::layout_map(&layout?)),
            None => return Err(format!("operation `{op}` is not known")),
        },
    };
    Ok(Map::from_iter([("kind".to_string(), json!(kind)), ("isl".to_string(), json!(text))]))
}

/// Checks that the answer denotes the same relation, by listing the points of both.
pub(super) fn same(judge: &Judge<'_>) -> Result<(), String> {
    let text = |fields: &Map<String, serde_json::Value>| {
        let text = fields.get("isl").and_then(|v| v.as_str()).ok_or("there is no relation")?;
        Relation::parse(text).map_err(|e| format!("`{text}`: {e}"))
    };
    let (want, got) = (text(judge.out)?, text(judge.answer)?);
    if want.arity() != got.arity() {
        return Err("the number of dimensions differs".to_string());
    }
    let (want, got) = (want.points().map_err(|e| e.to_string())?, got.points().map_err(|e| e.to_string())?);
    if let Some(point) = want.difference(&got).next() {
        return Err(format!("{point:?} is lacking"));
    }
    match got.difference(&want).next() {
        Some(point) => Err(format!("{point:?} should not be there")),
        None => Ok(()),
    }
}
