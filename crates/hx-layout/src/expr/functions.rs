//! The functions that an expression can call.

mod table;

use super::{Fault, Value};
use crate::labels::Labeled;
use crate::{ComposedLayout, Layout, LayoutError, Swizzle, equal_function, isl};
use table::Does;
pub use table::{FUNCTIONS, Function};

/// Calls a function.
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

/// Computes `a ∘ b`.
pub(super) fn after(a: &Value, b: &Value) -> Result<Value, Fault> {
    let plain = |c: &ComposedLayout| c.swizzle.is_identity() && c.offset == 0;
    let composed = match (a, b) {
        (Value::Layout(a), Value::Layout(b)) => return Ok(Value::Layout(a.compose(b)?)),
        (Value::Linear(second), _) => return Ok(Value::Linear(b.linear()?.compose(second)?)),
        (Value::Swizzle(swizzle), Value::Layout(b)) => ComposedLayout::swizzled(*swizzle, b.layout.clone()),
        (Value::Swizzle(swizzle), Value::Composed(b)) if b.swizzle.is_identity() => {
            ComposedLayout { swizzle: *swizzle, ..b.clone() }
        }
        (Value::Int(offset), Value::Layout(b)) => {
            ComposedLayout { offset: *offset, ..ComposedLayout::plain(b.layout.clone()) }
        }
        (Value::Composed(a), Value::Layout(b)) => {
            ComposedLayout { layout: a.layout.compose(&b.layout)?, ..a.clone() }
        }
        (Value::Layout(a), Value::Composed(b)) if plain(b) => {
            ComposedLayout::plain(a.layout.compose(&b.layout)?)
        }
        _ => return Err(Fault(format!("{} cannot follow {} in a composition", a.kind(), b.kind()))),
    };
    Ok(Value::Composed(composed))
}

/// Applies a layout to a coordinate. Returns an index, or, if `_` occurs, the kept modes and their offset.
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
        Value::Linear(linear) => {
            let point = coord.tuple()?.leaves();
            let value = linear.apply(&point)?;
            Ok(Value::List(value.into_iter().map(|v| (None, Value::Int(v as i64))).collect()))
        }
        _ => Err(Fault(format!("{} cannot be applied to a coordinate", function.kind()))),
    }
}

/// Reports whether two values are equal. Layouts are compared as functions.
pub(super) fn equal(a: &Value, b: &Value) -> Result<bool, Fault> {
    match (a, b) {
        (Value::Layout(a), Value::Layout(b)) => Ok(equal_function(&a.layout, &b.layout)),
        (Value::Layout(_) | Value::Composed(_), Value::Layout(_) | Value::Composed(_)) => {
            Ok(crate::prove::first_difference(&a.composed()?, &b.composed()?)?.is_none())
        }
        (Value::Linear(_), _) | (_, Value::Linear(_)) => Ok(a.linear()? == b.linear()?),
        _ => Ok(a == b),
    }
}

fn complement(args: &[Value]) -> Result<Value, Fault> {
    let (a, cotarget) = match args {
        [a] => (plain(a)?, plain(a)?.cosize()),
        [a, n] => (plain(a)?, n.int()?),
        _ => return Err(Fault("`complement` takes a layout and how far it reaches".to_string())),
    };
    Ok(Value::from_layout(a.complement(cotarget)?))
}

fn coalesce(args: &[Value]) -> Result<Value, Fault> {
    match args {
        [a] => Ok(Value::Layout(a.layout()?.coalesce())),
        [a, profile] => Ok(Value::from_layout(plain(a)?.coalesce_by(&profile.tuple()?)?)),
        _ => Err(Fault("`coalesce` takes a layout and at most a profile".to_string())),
    }
}

fn inverse(a: &Value) -> Result<Value, Fault> {
    if let Value::Linear(linear) = a {
        return Ok(Value::Linear(linear.invert()?));
    }
    let layout = plain(a)?;
    let inverse = layout.right_inverse();
    if inverse.size() != layout.size() {
        let reach = inverse.size();
        let why = format!("`{layout}` is no permutation of 0..{}: it reaches 0..{reach}", layout.size());
        return Err(Fault(format!("{why}; `right_inverse` or `left_inverse` may do")));
    }
    Ok(Value::from_layout(inverse))
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
        _ => {
            let composed = a.composed()?;
            match composed.size() {
                n @ 0..=TABLE_LIMIT => {
                    let entries = (0..n).map(|c| Ok(entry(composed.try_eval(c)?)));
                    Ok(Value::List(entries.collect::<Result<_, Fault>>()?))
                }
                n => too_large(n),
            }
        }
    }
}

fn relation(value: &Value) -> Result<Value, Fault> {
    Ok(Value::Text(match value {
        Value::Layout(layout) => isl::layout_map(&layout.layout),
        Value::Composed(composed) => isl::composed_map(composed),
        Value::Linear(linear) => isl::linear_map(linear),
        _ => isl::coord_map(&value.tuple()?)?,
    }))
}
