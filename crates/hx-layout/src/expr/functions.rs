//! The functions that an expression can call.

mod layouts;
mod relations;
mod table;

use super::{Fault, Value};
use crate::isl::Relation;
use crate::{AfterSwizzle, ComposedLayout, Layout, LayoutError, Swizzle, equal_function};
use layouts::{composed, mapped, slice};
use relations::as_relation;
pub(super) use relations::{intersection, union};
use table::Does;
pub use table::{FUNCTIONS, Function};

/// Calls the function of this name. Fails if there is none, if the arguments do not fit it, or if it has no result for them.
pub(super) fn call(name: &str, args: &[Value]) -> Result<Value, Fault> {
    let function = FUNCTIONS.iter().find(|function| function.name == name);
    match function.ok_or_else(|| Fault(unknown(name)))?.does {
        Does::Layout(f) => {
            let [a] = count(name, args)?;
            Ok(Value::from_layout(f(&plain(a)?)?))
        }
        Does::Layouts(f) => {
            let [a, b] = count(name, args)?;
            Ok(Value::from_layout(f(&plain(a)?, &plain(b)?)?))
        }
        Does::Modes(f) => {
            let [a] = count(name, args)?;
            mapped(a, f)
        }
        Does::Divided(f) => {
            let [a, t] = count(name, args)?;
            let tiler = t.tiler()?;
            mapped(a, |layout| f(layout, &tiler))
        }
        Does::Repeated(f) => {
            let [a, t] = count(name, args)?;
            let tiler = t.tiler()?;
            composed(a, |a| f(a, &tiler))
        }
        Does::Copies(f) => {
            let [a, b] = count(name, args)?;
            let copies = plain(b)?;
            composed(a, |a| f(a, &copies))
        }
        Does::Number(f) => {
            let [a] = count(name, args)?;
            Ok(Value::Int(f(&unswizzled(a)?)))
        }
        Does::One(f) => {
            let [a] = count(name, args)?;
            f(a)
        }
        Does::Two(f) => {
            let [a, b] = count(name, args)?;
            f(a, b)
        }
        Does::Three(f) => {
            let [a, b, c] = count(name, args)?;
            f(a, b, c)
        }
        Does::All(f) => f(args),
    }
}

pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name == name)
}

pub(super) fn unknown(name: &str) -> String {
    let alike = |other: &str| name.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    match FUNCTIONS.iter().map(|function| function.name).rev().max_by_key(|other| alike(other)) {
        Some(near) if alike(near) >= 3 => format!("there is no function `{name}`; there is `{near}`"),
        _ => format!("there is no function `{name}`"),
    }
}

fn count<'a, const N: usize>(name: &str, args: &'a [Value]) -> Result<&'a [Value; N], Fault> {
    let wrong = |_| Fault(format!("`{name}` takes {N} arguments, and {} were given", args.len()));
    <&[Value; N]>::try_from(args).map_err(wrong)
}

fn plain(value: &Value) -> Result<Layout, Fault> {
    Ok(value.layout()?.layout)
}

/// Returns a layout, or the layout before a swizzle, whose coordinates are the same.
fn unswizzled(value: &Value) -> Result<Layout, Fault> {
    match value {
        Value::Composed(composed) => Ok(composed.layout.clone()),
        _ => plain(value),
    }
}

/// Computes `a ∘ b` for layouts of any kind, relations, swizzles and offsets. Fails if the two do not compose.
pub(super) fn after(a: &Value, b: &Value) -> Result<Value, Fault> {
    let composed = match (a, b) {
        (Value::Layout(a), Value::Layout(b)) => return Ok(Value::Layout(a.compose(b)?)),
        (Value::Relation(_), _) | (_, Value::Relation(_)) => return relations::after(a, b),
        (Value::Linear(second), _) => return Ok(Value::Linear(b.linear()?.compose_by_position(second)?)),
        (Value::Int(offset), Value::Layout(b)) => {
            ComposedLayout { offset: *offset, ..ComposedLayout::plain(b.layout.clone()) }
        }
        (Value::Swizzle(swizzle), Value::Layout(b)) => ComposedLayout::swizzled(*swizzle, b.layout.clone()),
        (Value::Swizzle(swizzle), Value::Composed(b)) => {
            ComposedLayout { swizzle: joined(*swizzle, b.swizzle)?, ..b.clone() }
        }
        (Value::Composed(a), Value::Layout(b)) => {
            ComposedLayout { layout: a.layout.compose(&b.layout)?, ..a.clone() }
        }
        (Value::Layout(a), Value::Swizzle(swizzle)) => return Ok(after_swizzle(a.layout.clone(), *swizzle)),
        (Value::Layout(a), Value::Composed(b)) => {
            through(Swizzle::identity(), &a.layout, Swizzle::identity(), b)?
        }
        (Value::AfterSwizzle(a), Value::Layout(b)) => {
            let b = ComposedLayout::plain(b.layout.clone());
            through(Swizzle::identity(), &a.layout, a.swizzle, &b)?
        }
        (Value::AfterSwizzle(a), Value::Composed(b)) => {
            through(Swizzle::identity(), &a.layout, a.swizzle, b)?
        }
        (Value::Composed(a), Value::Composed(b)) if a.offset == 0 => {
            through(a.swizzle, &a.layout, Swizzle::identity(), b)?
        }
        (Value::Composed(a), Value::AfterSwizzle(b)) if a.offset == 0 => {
            let inner = AfterSwizzle { layout: a.layout.compose(&b.layout)?, swizzle: b.swizzle };
            let carried = inner.carried().ok_or_else(|| not_carried(&inner))?;
            ComposedLayout { swizzle: joined(a.swizzle, carried.swizzle)?, ..carried }
        }
        _ => return Err(Fault(format!("{} cannot follow {} in a composition", a.kind(), b.kind()))),
    };
    Ok(from_composed(composed))
}

/// Computes `outer ∘ a ∘ inner ∘ b`. The swizzles between `a` and the layout of `b` cancel, or carry over to the left of `a`.
fn through(outer: Swizzle, a: &Layout, inner: Swizzle, b: &ComposedLayout) -> Result<ComposedLayout, Fault> {
    let between = joined(inner, b.swizzle)?;
    if between.is_identity() && b.offset == 0 {
        return Ok(ComposedLayout::swizzled(outer, a.compose(&b.layout)?));
    }
    let text = b.source_form();
    if b.offset != 0 {
        return Err(Fault(format!("`{text}` has an offset, and `{a}` cannot follow it")));
    }
    if b.layout.min_index() < 0 || b.layout.cosize() > a.size() {
        return Err(Fault(format!("`{text}` leaves the {} coordinates of `{a}`", a.size())));
    }
    let inner = AfterSwizzle { layout: a.clone(), swizzle: between };
    let carried = inner.carried().ok_or_else(|| not_carried(&inner))?;
    Ok(ComposedLayout::swizzled(joined(outer, carried.swizzle)?, a.compose(&b.layout)?))
}

/// Returns the swizzle `a ∘ b`: the other one if one of them is the identity, and the identity if they undo each other. Fails
/// otherwise.
fn joined(a: Swizzle, b: Swizzle) -> Result<Swizzle, Fault> {
    match (a.is_identity(), b.is_identity()) {
        (true, _) => Ok(b),
        (_, true) => Ok(a),
        _ if a.permutes_as(b) => Ok(Swizzle::identity()),
        _ => {
            let (a, b) = (a.source_form(), b.source_form());
            Err(Fault(format!("`{a}` after `{b}` is not a swizzle; `linear` of the operands may do")))
        }
    }
}

fn not_carried(after: &AfterSwizzle) -> Fault {
    let (layout, swizzle) = (&after.layout, after.swizzle.source_form());
    Fault(format!("`{layout}` moves the bits of `{swizzle}` apart, so no swizzle follows their composition"))
}

/// Makes a value of a layout with swizzle and offset: a plain layout if it has neither.
fn from_composed(composed: ComposedLayout) -> Value {
    match composed.swizzle.is_identity() && composed.offset == 0 {
        true => Value::from_layout(composed.layout),
        false => Value::Composed(composed),
    }
}

/// Makes a value of `layout ∘ swizzle`: a layout that a swizzle follows if there is one.
fn after_swizzle(layout: Layout, swizzle: Swizzle) -> Value {
    let after = AfterSwizzle { layout, swizzle };
    match after.carried() {
        Some(composed) => from_composed(composed),
        None => Value::AfterSwizzle(after),
    }
}

/// Applies a layout, swizzle or relation to a coordinate. Returns an index, or a tuple for a linear layout and for a relation
/// with several outputs. If `_` occurs in the coordinate of a layout, returns the kept modes and their offset.
pub(super) fn apply(function: &Value, args: &[Value]) -> Result<Value, Fault> {
    let coord = match args {
        [one] => one.clone(),
        _ => Value::List(args.iter().map(|v| (None, v.clone())).collect()),
    };
    match function {
        Value::Layout(layout) => match coord.tuple() {
            Ok(tuple) => Ok(Value::Int(layout.layout.eval_coord(&tuple)?)),
            Err(_) => slice(function, &coord),
        },
        Value::Composed(composed) => match coord.tuple() {
            Ok(tuple) => Ok(Value::Int(composed.try_eval(composed.layout.shape().coord_to_index(&tuple)?)?)),
            Err(_) => slice(function, &coord),
        },
        Value::Swizzle(swizzle) => Ok(Value::Int(swizzle.apply(coord.int()?))),
        Value::AfterSwizzle(after) => Ok(Value::Int(after.try_eval(coord.int()?)?)),
        Value::Relation(relation) => value_at(relation, &coord.tuple()?.leaves()),
        Value::Linear(linear) => {
            let point = coord.tuple()?.leaves();
            let value = linear.apply(&point)?;
            Ok(Value::List(value.into_iter().map(|v| (None, Value::Int(v as i64))).collect()))
        }
        _ => Err(Fault(format!("{} cannot be applied to a coordinate", function.kind()))),
    }
}

/// Returns the value of a relation at a point: a number, or a tuple unless there is exactly one output. Fails unless the
/// relation has exactly one value there.
fn value_at(relation: &Relation, point: &[i64]) -> Result<Value, Fault> {
    let inputs = relation.arity().0.unwrap_or(0);
    if point.len() != inputs {
        return Err(Fault(format!("the relation has {inputs} inputs, and {} were given", point.len())));
    }
    match relation.values_at(point)?.as_slice() {
        [value] => Ok(match value.as_slice() {
            [only] => Value::Int(*only),
            more => Value::List(more.iter().map(|v| (None, Value::Int(*v))).collect()),
        }),
        values => Err(Fault(format!("the relation has {} values at this point", values.len()))),
    }
}

/// Reports whether two values are equal. Layouts of every kind are compared as functions, a relation with anything by the
/// points of both.
pub(super) fn equal(a: &Value, b: &Value) -> Result<bool, Fault> {
    match (a, b) {
        (Value::Layout(a), Value::Layout(b)) => Ok(equal_function(&a.layout, &b.layout)),
        (Value::Layout(_) | Value::Composed(_), Value::Layout(_) | Value::Composed(_)) => {
            Ok(crate::prove::first_difference(&a.composed()?, &b.composed()?)?.is_none())
        }
        (Value::Relation(_), _) | (_, Value::Relation(_)) => {
            let (a, b) = (as_relation(a, b)?, as_relation(b, a)?);
            Ok(a.arity() == b.arity() && a.points()? == b.points()?)
        }
        (Value::Linear(_), _) | (_, Value::Linear(_)) => Ok(a.linear()?.equals_by_position(&b.linear()?)),
        (Value::AfterSwizzle(_), _) | (_, Value::AfterSwizzle(_)) => {
            let (a, b) = (Listed::of(a)?, Listed::of(b)?);
            if a.size() != b.size() {
                return Ok(false);
            }
            crate::algebra::check_count("comparing the two functions", a.size())?;
            for c in 0..a.size() {
                if a.at(c)? != b.at(c)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(a == b),
    }
}

/// A layout of any kind as a function of 1-D coordinates.
enum Listed {
    Composed(ComposedLayout),
    AfterSwizzle(AfterSwizzle),
}

impl Listed {
    fn of(value: &Value) -> Result<Listed, Fault> {
        match value {
            Value::AfterSwizzle(after) => Ok(Listed::AfterSwizzle(after.clone())),
            _ => Ok(Listed::Composed(value.composed()?)),
        }
    }

    fn size(&self) -> i64 {
        match self {
            Listed::Composed(composed) => composed.size(),
            Listed::AfterSwizzle(after) => after.size(),
        }
    }

    fn at(&self, c: i64) -> Result<i64, LayoutError> {
        match self {
            Listed::Composed(composed) => composed.try_eval(c),
            Listed::AfterSwizzle(after) => after.try_eval(c),
        }
    }
}

/// The largest number of entries that `table` shows.
const TABLE_LIMIT: i64 = 4096;

fn table(a: &Value) -> Result<Value, Fault> {
    let entry = |v: i64| (None, Value::Int(v));
    let too_large = |n: i64| Err(Fault(format!("the table has {n} entries, more than {TABLE_LIMIT}")));
    match a {
        Value::Linear(l) if l.in_bits() > TABLE_LIMIT.trailing_zeros() => too_large(1 << l.in_bits()),
        Value::Linear(l) => Ok(Value::List(l.table().map(|v| entry(v as i64)).collect())),
        Value::Relation(relation) => match relation.table()? {
            values if values.len() as i64 > TABLE_LIMIT => too_large(values.len() as i64),
            values => Ok(Value::List(values.into_iter().map(entry).collect())),
        },
        _ => {
            let listed = Listed::of(a)?;
            match listed.size() {
                n @ 0..=TABLE_LIMIT => {
                    let entries = (0..n).map(|c| Ok(entry(listed.at(c)?)));
                    Ok(Value::List(entries.collect::<Result<_, Fault>>()?))
                }
                n => too_large(n),
            }
        }
    }
}

fn size(a: &Value) -> Result<Value, Fault> {
    Ok(Value::Int(match a {
        Value::Linear(linear) => 1 << linear.in_bits(),
        Value::Composed(_) | Value::AfterSwizzle(_) => Listed::of(a)?.size(),
        Value::Relation(relation) => relation.size()?,
        _ => plain(a)?.size(),
    }))
}

/// Returns one more than the largest index. Only a swizzled layout is enumerated.
fn cosize(a: &Value) -> Result<Value, Fault> {
    let Value::Composed(composed) = a else { return Ok(Value::Int(plain(a)?.cosize())) };
    crate::algebra::check_count("finding the largest index", composed.size())?;
    let indices = (0..composed.size()).map(|c| composed.try_eval(c));
    let largest = indices.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(0);
    Ok(Value::Int(largest.checked_add(1).ok_or(LayoutError::Overflow("the cosize"))?))
}

fn is_injective(a: &Value) -> Result<Value, Fault> {
    Ok(Value::Bool(match a {
        Value::Relation(relation) => relation.is_injective()?,
        Value::Linear(linear) => linear.is_injective(),
        // A swizzle and an offset take no two indices to one.
        Value::Composed(composed) => composed.layout.is_injective()?,
        Value::AfterSwizzle(after) => after.layout.is_injective()?,
        _ => plain(a)?.is_injective()?,
    }))
}

/// Makes a linear layout: of a layout or relation, or of bases and outputs.
fn linear(args: &[Value]) -> Result<Value, Fault> {
    Ok(Value::Linear(match args {
        [bases @ Value::List(_)] => bases.with_outputs(None)?,
        [layout] => layout.linear()?,
        [bases, outs] => bases.with_outputs(Some(outs))?,
        _ => return Err(Fault("`linear` takes a layout, or bases and outputs".to_string())),
    }))
}

fn to_layout(a: &Value) -> Result<Value, Fault> {
    match a {
        Value::Relation(relation) => Ok(from_composed(relation.to_layout()?)),
        Value::AfterSwizzle(after) => {
            let carried = after.carried().ok_or_else(|| not_carried(after))?;
            Ok(from_composed(carried))
        }
        Value::Composed(composed) => Ok(from_composed(composed.clone())),
        _ => Ok(Value::from_layout(a.linear()?.to_layout()?)),
    }
}
