//! Layout constraints: strides and a swizzle that accesses or a pin require, and those that are still free.

use hx_layout::{Layout, Swizzle};
use hx_tile::tile_modes;

use crate::access::Run;

/// The demands on the layout of a shared tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Constraint {
    /// For each dimension, its modes from the inside out, as `(extent, stride)`. The stride is `None` while it is free.
    pub(crate) dims: Vec<Vec<(i64, Option<i64>)>>,
    /// The swizzle of element offsets, `None` while it is free. The identity is a demand too: no swizzle may be added.
    pub(crate) swizzle: Option<Swizzle>,
}

impl Constraint {
    /// Returns the constraint that every layout meets.
    pub(crate) fn free(shape: &[i64]) -> Constraint {
        Constraint { dims: shape.iter().map(|extent| vec![(*extent, None)]).collect(), swizzle: None }
    }

    /// Requires this swizzle, and leaves the strides free.
    pub(crate) fn swizzled(shape: &[i64], swizzle: Swizzle) -> Constraint {
        Constraint { swizzle: Some(swizzle), ..Constraint::free(shape) }
    }

    /// Requires the elements of a run to be contiguous, in its order. Returns `None` if the run does not divide the dimension's
    /// extent.
    pub(crate) fn run(shape: &[i64], run: &Run) -> Option<Constraint> {
        let unit: i64 = shape[..run.dim].iter().product();
        let mode = |(extent, step): &(i64, i64)| (*extent, if *extent > 1 { unit * step } else { 0 });
        let modes: Vec<(i64, i64)> = run.steps.iter().map(mode).collect();
        Constraint::of_values(shape, &Layout::flat(&modes).ok()?)
    }

    /// Requires the values of one instruction to be contiguous in memory. Each value mode is a step along a dimension, and its
    /// stride is its stride among the values. Returns `None` if a mode does not divide its dimension.
    pub(crate) fn of_values(shape: &[i64], values: &Layout) -> Option<Constraint> {
        // (dimension, first step, extent, stride in memory)
        let mut known: Vec<(usize, i64, i64, i64)> = Vec::new();
        let mut unit = 1;
        for mode in tile_modes(values, shape)? {
            if mode.extent > 1 {
                let (dim, step) = mode.along()?;
                known.push((dim, step, mode.extent, unit));
            }
            unit *= mode.extent;
        }
        let mut dims = Vec::new();
        for (dim, &extent) in shape.iter().enumerate() {
            let mut modes: Vec<_> = known.iter().filter(|k| k.0 == dim).collect();
            modes.sort_by_key(|k| k.1);
            let mut out: Vec<(i64, Option<i64>)> = Vec::new();
            let mut done = 1;
            for (_, step, count, stride) in modes {
                if step % done != 0 {
                    return None;
                }
                if *step > done {
                    out.push((step / done, None));
                }
                done = step * count;
                // Steps that continue the previous mode extend it.
                match out.last_mut() {
                    Some((inner, Some(first))) if *first * *inner == *stride => *inner *= count,
                    _ => out.push((*count, Some(*stride))),
                }
            }
            if extent % done != 0 {
                return None;
            }
            if extent > done || out.is_empty() {
                out.push((extent / done, None));
            }
            dims.push(out);
        }
        Some(Constraint { dims, swizzle: None })
    }

    /// Unifies two constraints: the common refinement of each dimension, with known strides in place of free ones, and the swizzle
    /// of either. Returns `None` if strides contradict each other, or if the swizzles differ.
    pub(crate) fn unify(&self, other: &Constraint) -> Option<Constraint> {
        let dims = self.dims.iter().zip(&other.dims).map(|(a, b)| unify_dim(a, b)).collect::<Option<_>>()?;
        let swizzle = match (self.swizzle, other.swizzle) {
            (Some(one), Some(other)) if one != other => return None,
            (one, other) => one.or(other),
        };
        let unified = Constraint { dims, swizzle };
        unified.is_consistent().then_some(unified)
    }

    /// Returns the same constraint in the fewest modes: joins neighbouring modes that continue each other, which unification had
    /// cut.
    pub(crate) fn merged(&self) -> Constraint {
        let merge = |modes: &Vec<(i64, Option<i64>)>| {
            let mut out: Vec<(i64, Option<i64>)> = Vec::new();
            for &(extent, stride) in modes {
                match out.last_mut() {
                    Some((inner, None)) if stride.is_none() => *inner *= extent,
                    Some((inner, Some(first))) if stride == Some(*first * *inner) => *inner *= extent,
                    _ if extent == 1 && modes.len() > 1 => {}
                    _ => out.push((extent, stride)),
                }
            }
            out
        };
        Constraint { dims: self.dims.iter().map(merge).collect(), swizzle: self.swizzle }
    }

    /// Reports whether every layout that meets this constraint meets `other`.
    pub(crate) fn implies(&self, other: &Constraint) -> bool {
        self.unify(other).is_some_and(|both| both.merged() == self.merged())
    }

    /// Reports whether known modes never map two elements to one place. Gaps between them remain for free modes.
    fn is_consistent(&self) -> bool {
        let mut known: Vec<(i64, i64)> =
            self.dims.iter().flatten().filter_map(|(e, s)| s.filter(|_| *e > 1).map(|s| (s, *e))).collect();
        known.sort();
        known.windows(2).all(|w| w[1].0 % (w[0].0 * w[0].1) == 0)
    }
}

fn unify_dim(a: &[(i64, Option<i64>)], b: &[(i64, Option<i64>)]) -> Option<Vec<(i64, Option<i64>)>> {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    a.reverse();
    b.reverse();
    let mut out = Vec::new();
    while let (Some(x), Some(y)) = (a.pop(), b.pop()) {
        let extent = x.0.min(y.0);
        let stride = match (x.1, y.1) {
            (Some(s), Some(t)) if s != t => return None,
            (s, t) => s.or(t),
        };
        for (mode, rest) in [(x, &mut a), (y, &mut b)] {
            if mode.0 % extent != 0 {
                return None;
            }
            if mode.0 > extent {
                rest.push((mode.0 / extent, mode.1.map(|s| s * extent)));
            }
        }
        out.push((extent, stride));
    }
    (a.is_empty() && b.is_empty()).then_some(out)
}

impl std::fmt::Display for Constraint {
    /// Writes the paper's notation, with `D` for a free stride: `((8,8),64):((1,D),D)`. A demanded swizzle stands before it, as in
    /// `swizzle<3, 3, 3> ∘ (64,(8,8)):(D,(1,D))`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let write = |f: &mut std::fmt::Formatter<'_>, text: &dyn Fn(&(i64, Option<i64>)) -> String| {
            let dims: Vec<String> = self
                .dims
                .iter()
                .map(|modes| {
                    let modes: Vec<String> = modes.iter().map(text).collect();
                    if modes.len() == 1 { modes[0].clone() } else { format!("({})", modes.join(",")) }
                })
                .collect();
            write!(f, "({})", dims.join(","))
        };
        if let Some(swizzle) = self.swizzle.filter(|swizzle| !swizzle.is_identity()) {
            write!(f, "{} ∘ ", swizzle.source_form())?;
        }
        write(f, &|(extent, _)| extent.to_string())?;
        write!(f, ":")?;
        write(f, &|(_, stride)| stride.map_or("D".into(), |s| s.to_string()))
    }
}
