//! The functions that an expression can call.

use super::{Fault, Value};
use crate::labels::Labeled;
use crate::{ComposedLayout, Layout, LayoutError, Swizzle, Tiler, equal_function, isl};

/// The names of all functions, for messages and completion.
pub(super) const NAMES: &[&str] = &[
    "blocked_product",
    "coalesce",
    "column_major",
    "compatible",
    "complement",
    "compose",
    "concat",
    "congruent",
    "cosize",
    "crd2idx",
    "depth",
    "divide",
    "downcast",
    "filter",
    "flat_divide",
    "flat_product",
    "flatten",
    "idx2crd",
    "inverse",
    "is_injective",
    "isl",
    "left_inverse",
    "linear",
    "logical_divide",
    "logical_product",
    "max_common_layout",
    "max_common_vector",
    "mode",
    "nullspace",
    "product",
    "raked_product",
    "rank",
    "recast",
    "right_inverse",
    "row_major",
    "shape",
    "size",
    "slice",
    "stride",
    "swizzle",
    "table",
    "tiled_divide",
    "tiled_product",
    "to_layout",
    "upcast",
    "zipped_divide",
    "zipped_product",
];

type Tiled = fn(&Layout, &Tiler) -> Result<Layout, LayoutError>;
type Binary = fn(&Layout, &Layout) -> Result<Layout, LayoutError>;

/// Calls a function.
pub(super) fn call(name: &str, args: &[Value]) -> Result<Value, Fault> {
    let known = making(name, args).or_else(|| measuring(name, args)).or_else(|| converting(name, args));
    known.unwrap_or_else(|| Err(Fault(unknown(name))))
}

pub(super) fn is_function(name: &str) -> bool {
    NAMES.contains(&name)
}

pub(super) fn unknown(name: &str) -> String {
    let alike = |other: &str| name.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    match NAMES.iter().rev().max_by_key(|other| alike(other)) {
        Some(near) if alike(near) >= 3 => format!("there is no function `{name}`; there is `{near}`"),
        _ => format!("there is no function `{name}`"),
    }
}

fn count<const N: usize>(name: &str, args: &[Value]) -> Result<[Value; N], Fault> {
    let wrong = |_| Fault(format!("`{name}` takes {N} arguments, and {} were given", args.len()));
    <[Value; N]>::try_from(args.to_vec()).map_err(wrong)
}

/// Calls functions that make layouts.
fn making(name: &str, args: &[Value]) -> Option<Result<Value, Fault>> {
    let tiled = |f: Tiled| {
        let [a, t] = count(name, args)?;
        Ok(Value::from_layout(f(&a.layout()?.layout, &t.tiler()?)?))
    };
    let binary = |f: Binary| {
        let [a, b] = count(name, args)?;
        Ok(Value::from_layout(f(&a.layout()?.layout, &b.layout()?.layout)?))
    };
    let unary = |f: fn(&Layout) -> Result<Layout, LayoutError>| {
        let [a] = count(name, args)?;
        Ok(Value::from_layout(f(&a.layout()?.layout)?))
    };
    Some(match name {
        "compose" => compose(args),
        "complement" => complement(args),
        "coalesce" => coalesce(args),
        "filter" => unary(|a| Ok(a.filter())),
        "inverse" => inverse(args),
        "right_inverse" => unary(|a| Ok(a.right_inverse())),
        "left_inverse" => unary(Layout::left_inverse),
        "nullspace" => unary(|a| Ok(a.nullspace())),
        "flatten" => unary(|a| Layout::flat(a.leaves())),
        "logical_divide" | "divide" => divide(args),
        "zipped_divide" => tiled(Layout::zipped_divide),
        "tiled_divide" => tiled(Layout::tiled_divide),
        "flat_divide" => tiled(Layout::flat_divide),
        "logical_product" | "product" => product(args),
        "zipped_product" => tiled(Layout::zipped_product),
        "tiled_product" => tiled(Layout::tiled_product),
        "flat_product" => tiled(Layout::flat_product),
        "blocked_product" => binary(Layout::blocked_product),
        "raked_product" => binary(Layout::raked_product),
        "max_common_layout" => binary(Layout::max_common_layout),
        "slice" => count(name, args).and_then(|[a, c]| slice(&a, &c)),
        "upcast" => recast(name, args, Layout::upcast),
        "downcast" => recast(name, args, Layout::downcast),
        "recast" => recast_bits(args),
        "concat" => concat(args),
        "mode" => mode(args),
        "row_major" | "column_major" => order(name, args),
        _ => return None,
    })
}

/// Calls functions that measure or compare.
fn measuring(name: &str, args: &[Value]) -> Option<Result<Value, Fault>> {
    let measure = |f: fn(&Layout) -> i64| {
        let [a] = count(name, args)?;
        Ok(Value::Int(f(&plain(&a)?)))
    };
    Some(match name {
        "size" => measure(Layout::size),
        "cosize" => measure(Layout::cosize),
        "rank" => measure(|a| a.rank() as i64),
        "depth" => measure(|a| a.depth() as i64),
        "shape" => count(name, args).and_then(|[a]| Ok(Value::from_tuple(plain(&a)?.shape()))),
        "stride" => count(name, args).and_then(|[a]| Ok(Value::from_tuple(plain(&a)?.stride()))),
        "is_injective" => count(name, args).and_then(|[a]| Ok(Value::Bool(plain(&a)?.is_injective()?))),
        "max_common_vector" => {
            count(name, args).and_then(|[a, b]| Ok(Value::Int(plain(&a)?.max_common_vector(&plain(&b)?)?)))
        }
        "congruent" => {
            count(name, args).and_then(|[a, b]| Ok(Value::Bool(a.tuple()?.congruent(&b.tuple()?))))
        }
        "compatible" => {
            count(name, args).and_then(|[a, b]| Ok(Value::Bool(a.tuple()?.compatible(&b.tuple()?))))
        }
        "idx2crd" => count(name, args)
            .and_then(|[shape, i]| Ok(Value::from_tuple(&shape.tuple()?.index_to_coord(i.int()?)?))),
        "crd2idx" => count(name, args)
            .and_then(|[shape, c]| Ok(Value::Int(shape.tuple()?.coord_to_index(&c.tuple()?)?))),
        "table" => table(args),
        _ => return None,
    })
}

/// Calls functions between layouts, linear layouts, swizzles and relations.
fn converting(name: &str, args: &[Value]) -> Option<Result<Value, Fault>> {
    Some(match name {
        "linear" => count(name, args).and_then(|[a]| Ok(Value::Linear(a.linear()?))),
        "to_layout" => count(name, args).and_then(|[a]| Ok(Value::from_layout(a.linear()?.to_layout()?))),
        "isl" => count(name, args).and_then(|[a]| relation(&a)),
        "swizzle" => count(name, args).and_then(|[b, m, s]| {
            let out = |_| Fault("a swizzle's numbers are small".to_string());
            let (b, m) = (u32::try_from(b.int()?).map_err(out)?, u32::try_from(m.int()?).map_err(out)?);
            Ok(Value::Swizzle(Swizzle::new(b, m, i32::try_from(s.int()?).map_err(out)?)?))
        }),
        _ => return None,
    })
}

fn plain(value: &Value) -> Result<Layout, Fault> {
    Ok(value.layout()?.layout)
}

fn compose(args: &[Value]) -> Result<Value, Fault> {
    let [a, b] = count("compose", args)?;
    match &b {
        Value::Layout(_) | Value::Composed(_) | Value::Linear(_) => after(&a, &b),
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

fn inverse(args: &[Value]) -> Result<Value, Fault> {
    let [a] = count("inverse", args)?;
    if let Value::Linear(linear) = &a {
        return Ok(Value::Linear(linear.invert()?));
    }
    let layout = plain(&a)?;
    let inverse = layout.right_inverse();
    if inverse.size() != layout.size() {
        let reach = inverse.size();
        let why = format!("`{layout}` is no permutation of 0..{}: it reaches 0..{reach}", layout.size());
        return Err(Fault(format!("{why}; `right_inverse` or `left_inverse` may do")));
    }
    Ok(Value::from_layout(inverse))
}

fn divide(args: &[Value]) -> Result<Value, Fault> {
    let [a, t] = count("logical_divide", args)?;
    Ok(Value::Layout(a.layout()?.logical_divide(&t.tiler()?)?))
}

fn product(args: &[Value]) -> Result<Value, Fault> {
    let [a, b] = count("logical_product", args)?;
    match (&a, &b) {
        (Value::Layout(a), Value::Layout(b)) => Ok(Value::Layout(a.logical_product(b)?)),
        (Value::Linear(a), _) => Ok(Value::Linear(a.product(&b.linear()?)?)),
        _ => Ok(Value::from_layout(plain(&a)?.logical_product(&b.tiler()?)?)),
    }
}

fn slice(a: &Value, coord: &Value) -> Result<Value, Fault> {
    let (kept, offset) = a.layout()?.slice(&coord.coord()?)?;
    let name = |text: &str| Some(text.to_string());
    Ok(Value::List(vec![(name("layout"), Value::Layout(kept)), (name("offset"), Value::Int(offset))]))
}

fn recast(
    name: &str,
    args: &[Value],
    f: fn(&Layout, i64) -> Result<Layout, LayoutError>,
) -> Result<Value, Fault> {
    let [a, n] = count(name, args)?;
    let a = a.layout()?;
    Ok(Value::Layout(a.relabel(f(&a.layout, n.int()?)?)))
}

fn recast_bits(args: &[Value]) -> Result<Value, Fault> {
    let [a, old, new] = count("recast", args)?;
    let a = a.layout()?;
    Ok(Value::Layout(a.relabel(a.layout.recast(old.int()?, new.int()?)?)))
}

fn concat(args: &[Value]) -> Result<Value, Fault> {
    let modes = args.iter().map(Value::layout).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::Layout(Labeled::concat(&modes)?))
}

fn mode(args: &[Value]) -> Result<Value, Fault> {
    let [a, i] = count("mode", args)?;
    let (a, i) = (a.layout()?, i.int()?);
    match usize::try_from(i) {
        Ok(i) if i < a.layout.rank() => Ok(Value::Layout(a.mode(i))),
        _ => Err(Fault(format!("`{a}` has {} modes, and mode {i} was asked", a.layout.rank()))),
    }
}

fn order(name: &str, args: &[Value]) -> Result<Value, Fault> {
    let [shape] = count(name, args)?;
    let make = if name == "row_major" { Layout::row_major } else { Layout::column_major };
    Ok(Value::from_layout(make(shape.tuple()?)?))
}

/// The largest number of entries that `table` shows.
const TABLE_LIMIT: i64 = 4096;

fn table(args: &[Value]) -> Result<Value, Fault> {
    let [a] = count("table", args)?;
    let entry = |v: i64| (None, Value::Int(v));
    let too_large = |n: i64| Err(Fault(format!("the table has {n} entries, more than {TABLE_LIMIT}")));
    match &a {
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
