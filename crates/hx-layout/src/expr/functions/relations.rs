//! Relations in expressions: composition, union, intersection, and what a relation maps to what.
//!
//! Every layout counts as its relation, and so does a swizzle and an offset, which are relations of all integers.

use crate::expr::{Fault, Value};
use crate::isl::{self, Relation};

/// Returns the relation of a value: of 1-D coordinates, or of one coordinate for each mode if `like` is a relation with as many
/// inputs.
pub(super) fn as_relation(value: &Value, like: &Value) -> Result<Relation, Fault> {
    let inputs = match like {
        Value::Relation(relation) => relation.arity().0,
        _ => None,
    };
    Ok(match value {
        Value::Relation(relation) => relation.clone(),
        Value::Layout(layout) if inputs == Some(layout.layout.leaves().len()) => {
            Relation::parse(&isl::index_map(&layout.layout))?
        }
        _ => Relation::parse(&written(value)?)?,
    })
}

/// Computes `a ∘ b` for relations, or for a relation and a function of another kind. A layout with as many modes as `b` has
/// outputs is a relation of one coordinate for each mode.
pub(super) fn after(a: &Value, b: &Value) -> Result<Value, Fault> {
    let first = open_relation(b, None)?;
    let (inputs, dims) = first.arity();
    let second = open_relation(a, Some(dims - inputs.unwrap_or(0)))?;
    Ok(Value::Relation(first.then(&second)?))
}

/// Returns the relation of a function, that of a swizzle or an offset for all integers; of one coordinate for each mode of a
/// layout with `inputs` modes.
fn open_relation(value: &Value, inputs: Option<usize>) -> Result<Relation, Fault> {
    Ok(match value {
        Value::Relation(relation) => relation.clone(),
        Value::Swizzle(swizzle) => Relation::parse(&isl::open_swizzle_map(*swizzle))?,
        Value::Int(offset) => Relation::parse(&format!("{{ [i] -> [j] : j = i + {offset} }}"))?,
        Value::Layout(layout) if inputs.is_some_and(|n| n > 1 && n == layout.layout.leaves().len()) => {
            Relation::parse(&isl::index_map(&layout.layout))?
        }
        Value::Layout(_) | Value::Composed(_) | Value::AfterSwizzle(_) | Value::Linear(_) => {
            Relation::parse(&written(value)?)?
        }
        Value::Bool(_) | Value::Keep | Value::List(_) | Value::Tiler(_) | Value::Text(_) => {
            return Err(value.wanted("a relation or a layout"));
        }
    })
}

/// Returns the points of either of two relations.
pub(in crate::expr) fn union(a: &Value, b: &Value) -> Result<Value, Fault> {
    let (first, second) = (bounded(a, b)?, bounded(b, a)?);
    Ok(Value::Relation(first.union(&second)?))
}

/// Returns the points that two relations share.
pub(in crate::expr) fn intersection(a: &Value, b: &Value) -> Result<Value, Fault> {
    let (first, second) = (bounded(a, b)?, bounded(b, a)?);
    Ok(Value::Relation(first.intersection(&second)?))
}

/// Returns a relation, or that of a layout of any kind, as [`as_relation`] does.
fn bounded(value: &Value, like: &Value) -> Result<Relation, Fault> {
    match value {
        Value::Relation(_)
        | Value::Layout(_)
        | Value::Composed(_)
        | Value::AfterSwizzle(_)
        | Value::Linear(_) => as_relation(value, like),
        Value::Int(_)
        | Value::Bool(_)
        | Value::Keep
        | Value::List(_)
        | Value::Tiler(_)
        | Value::Swizzle(_)
        | Value::Text(_) => Err(value.wanted("a relation or a layout")),
    }
}

pub(super) fn domain(a: &Value) -> Result<Value, Fault> {
    Ok(Value::Relation(bounded(a, a)?.domain()?))
}

pub(super) fn image(a: &Value) -> Result<Value, Fault> {
    Ok(Value::Relation(bounded(a, a)?.image()?))
}

pub(super) fn from_isl(text: &Value) -> Result<Value, Fault> {
    match text {
        Value::Text(text) => Ok(Value::Relation(Relation::parse(text)?)),
        Value::Relation(relation) => Ok(Value::Relation(relation.clone())),
        _ => Err(Fault(format!("found {} where a relation in quotes was expected", text.kind()))),
    }
}

pub(super) fn relation(value: &Value) -> Result<Value, Fault> {
    Ok(Value::Text(written(value)?))
}

/// Writes a value as a relation.
pub(super) fn written(value: &Value) -> Result<String, Fault> {
    Ok(match value {
        Value::Layout(layout) => isl::layout_map(&layout.layout),
        Value::Composed(composed) => isl::composed_map(composed),
        Value::AfterSwizzle(after) => isl::swizzled_layout_map(after),
        Value::Linear(linear) => isl::linear_map(linear),
        Value::Relation(relation) => relation.to_string(),
        _ => isl::coord_map(&value.tuple()?)?,
    })
}
