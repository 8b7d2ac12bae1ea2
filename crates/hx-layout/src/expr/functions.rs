//! The functions that an expression can call.

mod table;

use super::{Fault, Value};
use crate::isl::Relation;
use crate::labels::Labeled;
use crate::{AfterSwizzle, ComposedLayout, Layout, LayoutError, Swizzle, equal_function, isl};
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
        Does::Tiled(f) => {
            let [a, t] = count(name, args)?;
            Ok(Value::from_layout(f(&plain(a)?, &t.tiler()?)?))
        }
        Does::Number(f) => {
            let [a] = count(name, args)?;
            Ok(Value::Int(f(&plain(a)?)))
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

fn compose(a: &Value, b: &Value) -> Result<Value, Fault> {
    match b {
        Value::Layout(_) | Value::Composed(_) | Value::Linear(_) => after(a, b),
        _ => Ok(Value::Layout(a.layout()?.compose_tiler(&b.tiler()?)?)),
    }
}

/// Computes `a ∘ b` for layouts of any kind, swizzles and offsets. Fails if the two do not compose.
pub(super) fn after(a: &Value, b: &Value) -> Result<Value, Fault> {
    let composed = match (a, b) {
        (Value::Layout(a), Value::Layout(b)) => return Ok(Value::Layout(a.compose(b)?)),
        (Value::Linear(second), _) => return Ok(Value::Linear(b.linear()?.compose(second)?)),
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
/// with several outputs. If `_` occurs in the coordinate of a plain layout, returns the kept modes and their offset.
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
        Value::Composed(composed) => {
            let c = composed.layout.shape().coord_to_index(&coord.tuple()?)?;
            Ok(Value::Int(composed.try_eval(c)?))
        }
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
        (Value::Linear(_), _) | (_, Value::Linear(_)) => Ok(a.linear()? == b.linear()?),
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

/// Returns the relation of a value: of 1-D coordinates, or of one coordinate for each mode if `like` is a relation with as many
/// inputs.
fn as_relation(value: &Value, like: &Value) -> Result<Relation, Fault> {
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

fn complement(args: &[Value]) -> Result<Value, Fault> {
    let (a, cotarget) = match args {
        [a] => (a, None),
        [a, n] => (a, Some(n.int()?)),
        _ => return Err(Fault("`complement` takes a layout and how far it reaches".to_string())),
    };
    if let Value::Composed(composed) = a {
        return Ok(from_composed(composed.complement(cotarget.unwrap_or(composed.layout.cosize()))?));
    }
    let layout = plain(a)?;
    Ok(Value::from_layout(layout.complement(cotarget.unwrap_or(layout.cosize()))?))
}

fn coalesce(args: &[Value]) -> Result<Value, Fault> {
    match args {
        [a] => Ok(Value::Layout(a.layout()?.coalesce())),
        [a, profile] => Ok(Value::from_layout(plain(a)?.coalesce_by(&profile.tuple()?)?)),
        _ => Err(Fault("`coalesce` takes a layout and at most a profile".to_string())),
    }
}

fn inverse(a: &Value) -> Result<Value, Fault> {
    let (found, inverse) = match a {
        Value::Linear(linear) => return Ok(Value::Linear(linear.invert()?)),
        Value::Relation(relation) => return Ok(Value::Relation(relation.inverse())),
        // The inverse of a layout after a swizzle is the swizzle after the inverse of the layout.
        Value::AfterSwizzle(after) if after.size() == after.layout.size() => {
            let inverse = ComposedLayout::swizzled(after.swizzle, after.layout.right_inverse());
            (after.layout.clone(), from_composed(inverse))
        }
        Value::AfterSwizzle(after) => {
            let (text, beyond) = (after.source_form(), after.size());
            return Err(Fault(format!("`{text}` is not a permutation: it has no value at {beyond}")));
        }
        Value::Composed(composed) => {
            let inverse = composed.right_inverse()?;
            let (size, beyond) = (inverse.layout.size(), inverse.size());
            if size == composed.size() && beyond != size {
                let to = composed.swizzle.apply(beyond);
                let why = format!("is not a permutation of 0..{size}: the swizzle takes {beyond} to {to}");
                let text = composed.source_form();
                return Err(Fault(format!("`{text}` {why}; `right_inverse` or `left_inverse` may do")));
            }
            (composed.layout.clone(), after_swizzle(inverse.layout, inverse.swizzle))
        }
        _ => {
            let layout = plain(a)?;
            let inverse = layout.right_inverse();
            (layout, Value::from_layout(inverse))
        }
    };
    let reach = found.right_inverse().size();
    if reach != found.size() {
        let why = format!("`{found}` is not a permutation of 0..{}: it reaches 0..{reach}", found.size());
        return Err(Fault(format!("{why}; `right_inverse` or `left_inverse` may do")));
    }
    Ok(inverse)
}

fn right_inverse(a: &Value) -> Result<Value, Fault> {
    Ok(match a {
        Value::Linear(linear) => Value::Linear(linear.pseudoinvert()?),
        Value::Composed(composed) => {
            let inverse = composed.right_inverse()?;
            after_swizzle(inverse.layout, inverse.swizzle)
        }
        _ => Value::from_layout(plain(a)?.right_inverse()),
    })
}

fn left_inverse(a: &Value) -> Result<Value, Fault> {
    Ok(match a {
        Value::Composed(composed) => {
            let inverse = composed.left_inverse()?;
            after_swizzle(inverse.layout, inverse.swizzle)
        }
        _ => Value::from_layout(plain(a)?.left_inverse()?),
    })
}

fn divide(a: &Value, t: &Value) -> Result<Value, Fault> {
    Ok(Value::Layout(a.layout()?.logical_divide(&t.tiler()?)?))
}

fn product(a: &Value, b: &Value) -> Result<Value, Fault> {
    match (a, b) {
        (Value::Layout(a), Value::Layout(b)) => Ok(Value::Layout(a.logical_product(b)?)),
        (Value::Linear(a), _) => Ok(Value::Linear(a.product(&b.linear()?)?)),
        _ => Ok(Value::from_layout(plain(a)?.logical_product(&b.tiler()?)?)),
    }
}

fn slice(a: &Value, coord: &Value) -> Result<Value, Fault> {
    let (kept, offset) = a.layout()?.slice(&coord.coord()?)?;
    let name = |text: &str| Some(text.to_string());
    Ok(Value::List(vec![(name("layout"), Value::Layout(kept)), (name("offset"), Value::Int(offset))]))
}

fn recast(a: &Value, n: &Value, f: fn(&Layout, i64) -> Result<Layout, LayoutError>) -> Result<Value, Fault> {
    let a = a.layout()?;
    Ok(Value::Layout(a.relabel(f(&a.layout, n.int()?)?)))
}

fn recast_bits(a: &Value, old: &Value, new: &Value) -> Result<Value, Fault> {
    let a = a.layout()?;
    Ok(Value::Layout(a.relabel(a.layout.recast(old.int()?, new.int()?)?)))
}

fn swizzle(bits: &Value, base: &Value, shift: &Value) -> Result<Value, Fault> {
    let out = |_| Fault("a swizzle's numbers are small".to_string());
    let (bits, base) = (u32::try_from(bits.int()?).map_err(out)?, u32::try_from(base.int()?).map_err(out)?);
    Ok(Value::Swizzle(Swizzle::new(bits, base, i32::try_from(shift.int()?).map_err(out)?)?))
}

fn concat(args: &[Value]) -> Result<Value, Fault> {
    let modes = args.iter().map(Value::layout).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::Layout(Labeled::concat(&modes)?))
}

fn mode(a: &Value, i: &Value) -> Result<Value, Fault> {
    let (a, i) = (a.layout()?, i.int()?);
    match usize::try_from(i) {
        Ok(i) if i < a.layout.rank() => Ok(Value::Layout(a.mode(i))),
        _ => Err(Fault(format!("`{a}` has {} modes, and mode {i} was asked", a.layout.rank()))),
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
        _ => plain(a)?.size(),
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

fn from_isl(text: &Value) -> Result<Value, Fault> {
    match text {
        Value::Text(text) => Ok(Value::Relation(Relation::parse(text)?)),
        Value::Relation(relation) => Ok(Value::Relation(relation.clone())),
        _ => Err(Fault(format!("found {} where a relation in quotes was expected", text.kind()))),
    }
}

fn relation(value: &Value) -> Result<Value, Fault> {
    Ok(Value::Text(written(value)?))
}

/// Writes a value as a relation.
fn written(value: &Value) -> Result<String, Fault> {
    Ok(match value {
        Value::Layout(layout) => isl::layout_map(&layout.layout),
        Value::Composed(composed) => isl::composed_map(composed),
        Value::AfterSwizzle(after) => isl::swizzled_layout_map(after),
        Value::Linear(linear) => isl::linear_map(linear),
        Value::Relation(relation) => relation.to_string(),
        _ => isl::coord_map(&value.tuple()?)?,
    })
}
