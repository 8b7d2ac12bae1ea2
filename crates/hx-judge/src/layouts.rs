//! Answers operations on shape:stride layouts.

use hx_layout::{ComposedLayout, Coord, IntTuple, Layout, LayoutError, Swizzle};
use serde_json::{Map, Value, json};

use crate::Answer;
use crate::input::{Input, TABLE_LIMIT};

/// Answers a layout operation; `None` for an operation of another kind.
pub(super) fn answer(op: &str, input: &Input<'_>) -> Option<Answer> {
    Some(match op {
        "parse" => input.parse("text").map(|layout| parsed(&layout)),
        "measure" => input.parse("a").map(|layout| measures(&layout)),
        "eval_coords" => eval_coords(input),
        "idx2crd" => index_to_coords(input),
        "crd2idx" => coords_to_index(input),
        "congruent" => structure(input, IntTuple::congruent),
        "compatible" => structure(input, IntTuple::compatible),
        "slice" => sliced(input),
        "swizzle" => swizzled(input),
        "composed_eval" => composed(input),
        "max_common_vector" => max_common_vector(input),
        "left_inverse" => left_inverse(input),
        _ => return made(op, input).map(|layout| layout.map(|l| fields(&l, input))),
    })
}

/// Returns the layout that an operation makes; `None` for an operation that makes none.
pub(super) fn made(op: &str, input: &Input<'_>) -> Option<Result<Layout, String>> {
    type Unary = fn(&Layout) -> Result<Layout, LayoutError>;
    type Binary = fn(&Layout, &Layout) -> Result<Layout, LayoutError>;
    type Tiled = fn(&Layout, &hx_layout::Tiler) -> Result<Layout, LayoutError>;
    type Scaled = fn(&Layout, i64) -> Result<Layout, LayoutError>;
    let text = |e: LayoutError| e.to_string();
    let unary = |f: Unary| f(&input.parse("a")?).map_err(text);
    let binary = |f: Binary| f(&input.parse("a")?, &input.parse("b")?).map_err(text);
    let tiled = |f: Tiled| f(&input.parse("a")?, &input.parse("tiler")?).map_err(text);
    let scaled = |f: Scaled, by: &str| f(&input.parse("a")?, input.int(by)?).map_err(text);
    Some(match op {
        "eval" => unary(|a| Ok(a.clone())),
        "coalesce" => unary(|a| Ok(a.coalesce())),
        "coalesce_by" => coalesce_by(input),
        "filter" => unary(|a| Ok(a.filter())),
        "composition" => binary(Layout::compose),
        "composition_tiler" => tiled(Layout::compose_tiler),
        "complement" => scaled(Layout::complement, "cotarget"),
        "right_inverse" => unary(|a| Ok(a.right_inverse())),
        "logical_divide" => tiled(Layout::logical_divide),
        "zipped_divide" => tiled(Layout::zipped_divide),
        "tiled_divide" => tiled(Layout::tiled_divide),
        "flat_divide" => tiled(Layout::flat_divide),
        "logical_product" => tiled(Layout::logical_product),
        "zipped_product" => tiled(Layout::zipped_product),
        "tiled_product" => tiled(Layout::tiled_product),
        "flat_product" => tiled(Layout::flat_product),
        "blocked_product" => binary(Layout::blocked_product),
        "raked_product" => binary(Layout::raked_product),
        "nullspace" => unary(|a| Ok(a.nullspace())),
        "max_common_layout" => binary(Layout::max_common_layout),
        "upcast" => scaled(Layout::upcast, "n"),
        "downcast" => scaled(Layout::downcast, "n"),
        "recast" => recast(input),
        _ => return None,
    })
}

/// Returns `layout`, `size`, and the table or samples of it.
pub(super) fn fields(layout: &Layout, input: &Input<'_>) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("layout".into(), json!(layout.to_string()));
    insert_table(&mut out, layout.size(), |c| layout.eval(c), input);
    out.insert("rank".into(), json!(layout.rank()));
    out
}

/// Inserts `size`, and `table` or `samples` of a function.
pub(super) fn insert_table(
    out: &mut Map<String, Value>,
    size: i64,
    f: impl Fn(i64) -> i64,
    input: &Input<'_>,
) {
    out.insert("size".into(), json!(size));
    if size <= TABLE_LIMIT {
        out.insert("table".into(), (0..size).map(&f).collect::<Vec<_>>().into());
    } else {
        let samples: Vec<Value> = input.sample_coords(size).into_iter().map(|c| json!([c, f(c)])).collect();
        out.insert("samples".into(), samples.into());
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_string(), other)]),
    }
}

fn parsed(layout: &Layout) -> Map<String, Value> {
    object(json!({
        "layout": layout.to_string(),
        "shape": layout.shape().to_string(),
        "stride": layout.stride().to_string(),
    }))
}

fn measures(layout: &Layout) -> Map<String, Value> {
    object(json!({
        "size": layout.size(),
        "cosize": layout.cosize(),
        "rank": layout.rank(),
        "depth": layout.depth(),
    }))
}

fn coords(input: &Input<'_>) -> Result<Vec<IntTuple>, String> {
    let parse = |text: &str| text.parse().map_err(|e: LayoutError| e.to_string());
    input.texts("coords")?.into_iter().map(parse).collect()
}

fn eval_coords(input: &Input<'_>) -> Answer {
    let layout: Layout = input.parse("a")?;
    let values = coords(input)?.iter().map(|c| layout.eval_coord(c)).collect::<Result<Vec<_>, _>>();
    Ok(object(json!({"values": values.map_err(|e| e.to_string())?})))
}

fn index_to_coords(input: &Input<'_>) -> Answer {
    let shape: IntTuple = input.parse("shape")?;
    let coords = input.ints("idx")?.into_iter().map(|i| shape.index_to_coord(i).map(|c| c.to_string()));
    let coords = coords.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    Ok(object(json!({"coords": coords})))
}

fn coords_to_index(input: &Input<'_>) -> Answer {
    let shape: IntTuple = input.parse("shape")?;
    let values = coords(input)?.iter().map(|c| shape.coord_to_index(c)).collect::<Result<Vec<_>, _>>();
    Ok(object(json!({"values": values.map_err(|e| e.to_string())?})))
}

fn structure(input: &Input<'_>, relation: fn(&IntTuple, &IntTuple) -> bool) -> Answer {
    Ok(object(json!({"value": relation(&input.parse("a")?, &input.parse("b")?)})))
}

fn sliced(input: &Input<'_>) -> Answer {
    let (layout, coord): (Layout, Coord) = (input.parse("a")?, input.parse("coord")?);
    let (kept, offset) = layout.slice(&coord).map_err(|e| e.to_string())?;
    let mut out = fields(&kept, input);
    out.insert("offset".into(), json!(offset));
    Ok(out)
}

fn swizzled(input: &Input<'_>) -> Answer {
    let swizzle: Swizzle = input.parse("sw")?;
    let values: Vec<i64> = input.ints("values")?.into_iter().map(|x| swizzle.apply(x)).collect();
    Ok(object(json!({"values": values})))
}

fn composed(input: &Input<'_>) -> Answer {
    let layout: ComposedLayout = input.parse("a")?;
    let mut out = Map::new();
    // The indices of the layout lie in a bounded range, so checking its ends decides whether the offset fits.
    let ends = [layout.layout.min_index(), layout.layout.cosize()];
    if ends.iter().any(|end| end.checked_add(layout.offset).is_none()) {
        return Err("the index does not fit a 64-bit integer".to_string());
    }
    insert_table(&mut out, layout.size(), |c| layout.eval(c), input);
    Ok(out)
}

fn coalesce_by(input: &Input<'_>) -> Result<Layout, String> {
    let layout: Layout = input.parse("a")?;
    layout.coalesce_by(&input.parse("profile")?).map_err(|e| e.to_string())
}

fn recast(input: &Input<'_>) -> Result<Layout, String> {
    let layout: Layout = input.parse("a")?;
    layout.recast(input.int("old_bits")?, input.int("new_bits")?).map_err(|e| e.to_string())
}

fn max_common_vector(input: &Input<'_>) -> Answer {
    let (a, b): (Layout, Layout) = (input.parse("a")?, input.parse("b")?);
    Ok(object(json!({"value": a.max_common_vector(&b).map_err(|e| e.to_string())?})))
}

fn left_inverse(input: &Input<'_>) -> Answer {
    let layout: Layout = input.parse("a")?;
    let inverse = layout.left_inverse().map_err(|e| e.to_string())?;
    let mut out = fields(&inverse, input);
    if layout.size() <= TABLE_LIMIT {
        out.insert("image".into(), layout.table().collect::<Vec<_>>().into());
    }
    Ok(out)
}
