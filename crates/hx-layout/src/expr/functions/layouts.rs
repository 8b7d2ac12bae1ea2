//! Functions of layouts in expressions, for every kind of layout that they are defined for.

use super::{after, after_swizzle, from_composed, not_carried, plain, unswizzled};
use crate::expr::{Fault, Value};
use crate::labels::Labeled;
use crate::{ComposedLayout, Layout, LayoutError, Swizzle};

/// Applies an operation to a layout, or to the layout before a swizzle, which stays.
pub(super) fn mapped(
    a: &Value,
    f: impl FnOnce(&Layout) -> Result<Layout, LayoutError>,
) -> Result<Value, Fault> {
    composed(a, |composed| composed.try_map(f))
}

/// Applies an operation to a layout with or without a swizzle.
pub(super) fn composed(
    a: &Value,
    f: impl FnOnce(&ComposedLayout) -> Result<ComposedLayout, LayoutError>,
) -> Result<Value, Fault> {
    match a {
        Value::Composed(composed) => Ok(from_composed(f(composed)?)),
        Value::AfterSwizzle(after) => Err(not_carried(after)),
        _ => Ok(from_composed(f(&ComposedLayout::plain(plain(a)?))?)),
    }
}

/// Computes `compose(a, b)`: `a ∘ b`, or `a` composed with a tiler.
pub(super) fn compose(a: &Value, b: &Value) -> Result<Value, Fault> {
    match (a, b) {
        (
            _,
            Value::Layout(_)
            | Value::Composed(_)
            | Value::AfterSwizzle(_)
            | Value::Linear(_)
            | Value::Relation(_)
            | Value::Swizzle(_),
        ) => after(a, b),
        (Value::Layout(layout), _) => Ok(Value::Layout(layout.compose_tiler(&b.tiler()?)?)),
        _ => {
            let tiler = b.tiler()?;
            mapped(a, |layout| layout.compose_tiler(&tiler))
        }
    }
}

/// Returns the complement of a layout, or of the image of a relation, in the space of a second argument.
pub(super) fn complement(args: &[Value]) -> Result<Value, Fault> {
    let (a, cotarget) = match args {
        [a] => (a, None),
        [a, n] => (a, Some(n)),
        _ => return Err(Fault("`complement` takes a layout and how far it reaches".to_string())),
    };
    if let Value::Relation(relation) = a {
        let extents = cotarget.map(|n| n.tuple().map(|n| n.leaves())).transpose()?;
        return Ok(Value::Relation(relation.complement(extents.as_deref())?));
    }
    let cotarget = cotarget.map(Value::int).transpose()?;
    if let Value::Composed(composed) = a {
        return Ok(from_composed(composed.complement(cotarget.unwrap_or(composed.layout.cosize()))?));
    }
    let layout = plain(a)?;
    Ok(Value::from_layout(layout.complement(cotarget.unwrap_or(layout.cosize()))?))
}

pub(super) fn coalesce(args: &[Value]) -> Result<Value, Fault> {
    match args {
        [Value::Layout(a)] => Ok(Value::Layout(a.coalesce())),
        [a] => mapped(a, |layout| Ok(layout.coalesce())),
        [a, profile] => {
            let profile = profile.tuple()?;
            mapped(a, |layout| layout.coalesce_by(&profile))
        }
        _ => Err(Fault("`coalesce` takes a layout and at most a profile".to_string())),
    }
}

pub(super) fn inverse(a: &Value) -> Result<Value, Fault> {
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
        _ => return Ok(Value::from_layout(plain(a)?.inverse()?)),
    };
    // Fails unless the layout is a permutation.
    found.inverse()?;
    Ok(inverse)
}

pub(super) fn right_inverse(a: &Value) -> Result<Value, Fault> {
    Ok(match a {
        Value::Linear(linear) => Value::Linear(linear.pseudoinvert()?),
        Value::Relation(relation) => Value::Relation(relation.right_inverse()?),
        Value::Composed(composed) => {
            let inverse = composed.right_inverse()?;
            after_swizzle(inverse.layout, inverse.swizzle)
        }
        _ => Value::from_layout(plain(a)?.right_inverse()),
    })
}

pub(super) fn left_inverse(a: &Value) -> Result<Value, Fault> {
    Ok(match a {
        Value::Relation(relation) => Value::Relation(relation.left_inverse()?),
        Value::Composed(composed) => {
            let inverse = composed.left_inverse()?;
            after_swizzle(inverse.layout, inverse.swizzle)
        }
        _ => Value::from_layout(plain(a)?.left_inverse()?),
    })
}

pub(super) fn divide(a: &Value, t: &Value) -> Result<Value, Fault> {
    let tiler = t.tiler()?;
    match a {
        Value::Layout(layout) => Ok(Value::Layout(layout.logical_divide(&tiler)?)),
        _ => composed(a, |a| a.logical_divide(&tiler)),
    }
}

pub(super) fn product(a: &Value, b: &Value) -> Result<Value, Fault> {
    match (a, b) {
        (Value::Layout(a), Value::Layout(b)) => Ok(Value::Layout(a.logical_product(b)?)),
        (Value::Linear(a), _) => Ok(Value::Linear(a.product(&b.linear()?)?)),
        _ => {
            let tiler = b.tiler()?;
            composed(a, |a| a.logical_product(&tiler))
        }
    }
}

/// Returns the layout of a shape that is made of copies of a tile, in the order of a third argument.
pub(super) fn tile_to_shape(args: &[Value]) -> Result<Value, Fault> {
    let (a, shape, order) = match args {
        [a, shape] => (a, shape.tuple()?, None),
        [a, shape, order] => (a, shape.tuple()?, Some(order.tuple()?)),
        _ => return Err(Fault("`tile_to_shape` takes a layout, a shape, and at most an order".to_string())),
    };
    composed(a, |a| a.tile_to_shape(&shape, order.as_ref()))
}

/// Returns the kept modes and their offset. A swizzle acts on the sum, so after one the offset stays between the two.
pub(super) fn slice(a: &Value, coord: &Value) -> Result<Value, Fault> {
    let coord = coord.coord()?;
    if let Value::Composed(composed) = a {
        let (layout, start) = composed.layout.slice(&coord)?;
        let offset = composed.offset.checked_add(start).ok_or(LayoutError::Overflow("the offset"))?;
        return Ok(from_composed(ComposedLayout { layout, offset, ..composed.clone() }));
    }
    let (kept, offset) = a.layout()?.slice(&coord)?;
    let name = |text: &str| Some(text.to_string());
    Ok(Value::List(vec![(name("layout"), Value::Layout(kept)), (name("offset"), Value::Int(offset))]))
}

pub(super) fn upcast(a: &Value, n: &Value) -> Result<Value, Fault> {
    let n = n.int()?;
    recast_by(a, |layout| layout.upcast(n), |composed| composed.upcast(n))
}

pub(super) fn downcast(a: &Value, n: &Value) -> Result<Value, Fault> {
    let n = n.int()?;
    recast_by(a, |layout| layout.downcast(n), |composed| composed.downcast(n))
}

pub(super) fn recast_bits(a: &Value, old: &Value, new: &Value) -> Result<Value, Fault> {
    let (old, new) = (old.int()?, new.int()?);
    recast_by(a, |layout| layout.recast(old, new), |composed| composed.recast(old, new))
}

/// Recasts a layout, whose modes keep their names, or one with a swizzle.
fn recast_by(
    a: &Value,
    plainly: impl FnOnce(&Layout) -> Result<Layout, LayoutError>,
    swizzled: impl FnOnce(&ComposedLayout) -> Result<ComposedLayout, LayoutError>,
) -> Result<Value, Fault> {
    match a {
        Value::Layout(a) => Ok(Value::Layout(a.relabel(plainly(&a.layout)?))),
        _ => composed(a, swizzled),
    }
}

pub(super) fn swizzle(bits: &Value, base: &Value, shift: &Value) -> Result<Value, Fault> {
    let out = |_| Fault("a swizzle's numbers are small".to_string());
    let (bits, base) = (u32::try_from(bits.int()?).map_err(out)?, u32::try_from(base.int()?).map_err(out)?);
    Ok(Value::Swizzle(Swizzle::new(bits, base, i32::try_from(shift.int()?).map_err(out)?)?))
}

pub(super) fn concat(args: &[Value]) -> Result<Value, Fault> {
    let modes = args.iter().map(Value::layout).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::Layout(Labeled::concat(&modes)?))
}

pub(super) fn mode(a: &Value, i: &Value) -> Result<Value, Fault> {
    let rank = unswizzled(a)?.rank();
    match usize::try_from(i.int()?) {
        Ok(i) if i < rank => match a {
            Value::Layout(a) => Ok(Value::Layout(a.mode(i))),
            _ => mapped(a, |layout| Ok(layout.mode(i))),
        },
        _ => Err(Fault(format!("`{a}` has {rank} modes, and mode {} was asked", i.int()?))),
    }
}
