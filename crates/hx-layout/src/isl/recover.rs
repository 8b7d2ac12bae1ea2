//! Finds the layout whose relation a relation is.
//!
//! The relation is listed, and must be a function of a box of coordinates that begins at 0. Its values are then those of at most
//! one layout with the fewest modes, which follows from the values themselves. A swizzle is found by trying: undone by the right
//! swizzle, the values are those of a layout.

use super::relation::{Relation, RelationError, list};
use crate::layout::Mode;
use crate::linear::{InDim, OutDim};
use crate::{ComposedLayout, Layout, LinearLayout, Swizzle};

/// The most index bits for which swizzles are tried.
const SWIZZLED_BITS: u32 = 24;

/// The values of a relation that is a function, in colexicographic order of the coordinates.
struct Function {
    /// The extents of the inputs.
    extents: Vec<i64>,
    /// The values, one list for each output.
    outputs: Vec<Vec<i64>>,
}

/// The first value that is not the one of the layout: the 1-D coordinate, the value, and the value of the layout.
pub(super) struct Fault {
    at: usize,
    found: i64,
    wanted: i64,
}

impl Relation {
    /// Returns the values of the outputs at one point of the inputs, one entry for each value that the relation has there.
    ///
    /// # Errors
    /// If the relation cannot be listed.
    pub fn values_at(&self, point: &[i64]) -> Result<Vec<Vec<i64>>, RelationError> {
        let inputs = self.arity().0.unwrap_or(0);
        let points = self.points()?;
        let here = points.into_iter().filter(|p| &p[..inputs] == point);
        Ok(here.map(|p| p[inputs..].to_vec()).collect())
    }

    /// Returns the values of a function with one output, in order of the coordinates.
    ///
    /// # Errors
    /// If the relation cannot be listed, is no function of a box of coordinates that begins at 0, or has more than one output.
    pub fn table(&self) -> Result<Vec<i64>, RelationError> {
        let function = self.function()?;
        function.only_output().map(<[i64]>::to_vec)
    }

    /// Returns the layout whose relation this is: with a mode for each input, and with a swizzle or an offset if it has one.
    ///
    /// # Errors
    /// If there is none, or the relation cannot be listed.
    pub fn to_layout(&self) -> Result<ComposedLayout, RelationError> {
        let function = self.function()?;
        let values = function.only_output()?;
        let fault = match recovered(&function.extents, &|c| values[c], values.len()) {
            Ok((offset, layout)) => {
                return Ok(ComposedLayout { swizzle: Swizzle::identity(), offset, layout });
            }
            Err(fault) => fault,
        };
        for swizzle in swizzles(values) {
            let undone = |c: usize| swizzle.apply(values[c]);
            if let Ok((offset, layout)) = recovered(&function.extents, &undone, values.len()) {
                return Ok(ComposedLayout { swizzle, offset, layout });
            }
        }
        let at = function.coordinate(fault.at);
        Err(RelationError::NotALayout(format!(
            "no layout has this relation: the value at {at} is {}, and after the values before it a layout has {}",
            fault.found, fault.wanted
        )))
    }

    /// Returns the linear layout whose relation this is, with the names of the relation.
    ///
    /// # Errors
    /// If a size is no power of two, the function is not linear in the bits, or the relation cannot be listed.
    pub fn to_linear(&self) -> Result<LinearLayout, RelationError> {
        let function = self.function()?;
        let fail = |why: String| RelationError::NotALayout(why);
        let bits = |n: i64| n.is_positive().then(|| u64::BITS - (n as u64 - 1).leading_zeros());
        let mut outs: Vec<OutDim> = Vec::with_capacity(function.outputs.len());
        for (name, values) in self.output_names().into_iter().zip(&function.outputs) {
            if let Some(&least) = values.iter().min().filter(|v| **v < 0) {
                return Err(fail(format!("a linear layout has no negative values, and {least} is one")));
            }
            let most = values.iter().max().copied().unwrap_or(0);
            outs.push(OutDim { name, bits: u64::BITS - (most as u64).leading_zeros() });
        }
        let flat = |c: usize| {
            let mut shift = 0;
            outs.iter().zip(&function.outputs).fold(0u64, |flat, (out, values)| {
                shift += out.bits;
                flat | (values[c] as u64) << (shift - out.bits)
            })
        };
        if outs.iter().map(|out| out.bits).sum::<u32>() > u64::BITS - 2 {
            return Err(fail("the values have too many bits for a linear layout".to_string()));
        }
        let (mut ins, mut unit) = (Vec::with_capacity(function.extents.len()), 1usize);
        for (name, &extent) in self.input_names().into_iter().zip(&function.extents) {
            let size = usize::try_from(extent).unwrap_or(0);
            let (true, Some(count)) = (size.is_power_of_two(), bits(extent)) else {
                return Err(fail(format!("input `{name}` has {extent} values, which is not a power of two")));
            };
            ins.push(InDim { name, bases: (0..count).map(|b| flat(unit << b)).collect() });
            unit *= size;
        }
        let linear = LinearLayout::from_flat(ins, outs.clone()).map_err(|e| fail(e.to_string()))?;
        match (0..unit).find(|&c| linear.apply_flat(c as u64) != flat(c)) {
            None => Ok(linear),
            Some(c) => Err(fail(format!(
                "the function is not linear in the bits of its inputs: at {} it is not the exclusive or of its values at the bits",
                function.coordinate(c)
            ))),
        }
    }

    fn function(&self) -> Result<Function, RelationError> {
        let fail = |why: String| Err(RelationError::NotALayout(why));
        let (Some(inputs), dims) = self.arity() else {
            return fail("a set is not a function of coordinates: it has no `->`".to_string());
        };
        if inputs == 0 || inputs == dims {
            return fail("a layout has inputs and an output, and the relation lacks one of them".to_string());
        }
        let points = self.points()?;
        let mut extents = vec![0i64; inputs];
        let mut before: Option<&Vec<i64>> = None;
        for point in &points {
            let (at, value) = point.split_at(inputs);
            if let Some(before) = before.filter(|before| &before[..inputs] == at) {
                let (at, first, second) = (list(at), list(&before[inputs..]), list(value));
                return fail(format!(
                    "the relation is not a function: at {at} it has both {first} and {second}"
                ));
            }
            if at.iter().any(|&c| c < 0) {
                return fail(format!("coordinates begin at 0, and the relation has {}", list(at)));
            }
            for (extent, &c) in extents.iter_mut().zip(at) {
                *extent = (*extent).max(c.saturating_add(1));
            }
            before = Some(point);
        }
        let mut function = Function { extents, outputs: vec![vec![0; points.len()]; dims - inputs] };
        let size = function.extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent));
        if points.is_empty() {
            return fail("the relation is empty".to_string());
        }
        if size != i64::try_from(points.len()).ok() {
            let mut wanted = vec![0i64; inputs];
            let missing = points.iter().find(|point| {
                let lacking = point[..inputs] != wanted[..];
                if !lacking {
                    function.next(&mut wanted);
                }
                lacking
            });
            let at = missing.map_or(String::new(), |_| format!(": {} has no value", list(&wanted)));
            let box_of: Vec<String> = function.extents.iter().map(i64::to_string).collect();
            return fail(format!("the inputs do not fill the box ({}){at}", box_of.join(",")));
        }
        for point in &points {
            let place = point[..inputs].iter().zip(&function.extents).rev();
            let c = place.fold(0i64, |c, (x, extent)| c * extent + x) as usize;
            for (values, &value) in function.outputs.iter_mut().zip(&point[inputs..]) {
                values[c] = value;
            }
        }
        Ok(function)
    }
}

impl Function {
    fn only_output(&self) -> Result<&[i64], RelationError> {
        match self.outputs.as_slice() {
            [only] => Ok(only),
            more => Err(RelationError::NotALayout(format!(
                "a layout has one output, and the relation has {}; `linear` reads relations with more",
                more.len()
            ))),
        }
    }

    /// Writes a 1-D coordinate as a coordinate with one entry for each input: `(1,2)`.
    fn coordinate(&self, at: usize) -> String {
        let mut rest = at as i64;
        let digit = |extent: &i64| {
            let here = rest % extent;
            rest /= extent;
            here
        };
        list(&self.extents.iter().map(digit).collect::<Vec<_>>())
    }

    /// Steps to the next coordinate in the order of the points: the last input moves fastest.
    fn next(&self, at: &mut [i64]) {
        for (c, extent) in at.iter_mut().zip(&self.extents).rev() {
            *c += 1;
            if *c < *extent {
                return;
            }
            *c = 0;
        }
    }
}

/// Returns the layout with these values, and its value at 0, which is an offset. It has a mode for each extent, or is plain for
/// one extent.
fn recovered(extents: &[i64], values: &dyn Fn(usize) -> i64, size: usize) -> Result<(i64, Layout), Fault> {
    let offset = values(0);
    let mut modes = Vec::with_capacity(extents.len());
    let mut unit = 1usize;
    for &extent in extents {
        let along = |x: usize| values(x * unit).wrapping_sub(offset);
        let own = modes_of(&along, extent as usize).map_err(|fault| Fault {
            at: fault.at * unit,
            found: fault.found.wrapping_add(offset),
            wanted: fault.wanted.wrapping_add(offset),
        })?;
        modes.push(Layout::flat(&own).map_err(|_| fault_at(unit, values(unit), offset))?);
        unit *= extent as usize;
    }
    let layout = match modes.as_slice() {
        [only] => only.clone(),
        _ => Layout::concat(&modes).map_err(|_| fault_at(0, offset, offset))?,
    };
    let value = |c: usize| layout.eval(c as i64).wrapping_add(offset);
    match (0..size).find(|&c| value(c) != values(c)) {
        None => Ok((offset, layout)),
        Some(c) => Err(fault_at(c, values(c), value(c))),
    }
}

fn fault_at(at: usize, found: i64, wanted: i64) -> Fault {
    Fault { at, found, wanted }
}

/// Returns the fewest modes with these values; the value at 0 is 0. Each mode is the longest run of equal steps, because two
/// modes that continue each other are one.
pub(super) fn modes_of(values: &dyn Fn(usize) -> i64, size: usize) -> Result<Vec<Mode>, Fault> {
    let (mut modes, mut unit): (Vec<Mode>, usize) = (Vec::new(), 1);
    while unit < size {
        let stride = values(unit);
        let next = |count: usize| (count as i64).checked_mul(stride);
        let mut extent = 2;
        while unit * extent < size && next(extent) == Some(values(unit * extent)) {
            extent += 1;
        }
        if !size.is_multiple_of(unit * extent) {
            // No mode of this extent tiles the size: either the run of equal steps ends early, or the earlier modes do not
            // repeat a whole number of times.
            let at = unit * extent;
            let before = modes.last().map_or(0, |&(extent, stride)| extent.wrapping_mul(stride));
            return Err(match at < size {
                true => fault_at(at, values(at), next(extent).unwrap_or(0)),
                false => fault_at(unit, stride, before),
            });
        }
        modes.push((extent as i64, stride));
        unit *= extent;
    }
    Ok(modes)
}

/// Returns the swizzles that may permute these values, those of few bits first; none if a value is negative.
fn swizzles(values: &[i64]) -> Vec<Swizzle> {
    let most = values.iter().fold(0, |all, v| all | v);
    if most < 0 {
        return Vec::new();
    }
    let top = (i64::BITS - most.leading_zeros()).min(SWIZZLED_BITS);
    let mut all = Vec::new();
    for bits in 1..=top / 2 {
        for base in 0..=top - 2 * bits {
            for distance in bits..=top - bits - base {
                let shift = distance as i32;
                all.extend([shift, -shift].into_iter().filter_map(|s| Swizzle::new(bits, base, s).ok()));
            }
        }
    }
    all
}
