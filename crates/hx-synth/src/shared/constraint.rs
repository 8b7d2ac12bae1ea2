//! Layout constraints: strides and a swizzle that accesses or a pin require, and those that are still free.

use hx_layout::{Layout, Swizzle};
use hx_tile::tile_modes;

use super::demanded::Demanded;
use super::mode::{self, Mode, Stride};
use crate::access::{Run, Step};

/// The demands on the layout of a shared tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Constraint {
    /// For each dimension, its modes from the inside out.
    pub(crate) dims: Vec<Vec<Mode>>,
    /// The swizzle of element offsets, `None` while it is free. The identity is a demand too: no swizzle may be added.
    pub(crate) swizzle: Option<Demanded>,
}

impl Constraint {
    /// Returns the constraint that every layout meets.
    pub(crate) fn free(shape: &[i64]) -> Constraint {
        Constraint { dims: shape.iter().map(|extent| vec![Mode::free(*extent)]).collect(), swizzle: None }
    }

    /// Requires the swizzle of a pin, and leaves the strides free.
    pub(crate) fn pinned(shape: &[i64], swizzle: Swizzle) -> Constraint {
        Constraint { swizzle: Some(Demanded::Pinned(swizzle)), ..Constraint::free(shape) }
    }

    /// Requires the elements of a run to be contiguous, in its order. Returns `None` if the run does not divide the dimension's
    /// extent.
    pub(crate) fn run(shape: &[i64], run: &Run) -> Option<Constraint> {
        let unit = |dim: usize| shape[..dim].iter().product::<i64>();
        let mode = |step: &Step| (step.extent, if step.extent > 1 { unit(step.dim) * step.by } else { 0 });
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
            let mut out: Vec<Mode> = Vec::new();
            let mut done = 1;
            for (_, step, count, stride) in modes {
                if step % done != 0 {
                    return None;
                }
                if *step > done {
                    out.push(Mode::free(step / done));
                }
                done = step * count;
                // Steps that continue the previous mode extend it.
                match out.last_mut() {
                    Some(Mode { extent, stride: Stride::Known(first) }) if *first * *extent == *stride => {
                        *extent *= count;
                    }
                    _ => out.push(Mode::known(*count, *stride)),
                }
            }
            if extent % done != 0 {
                return None;
            }
            if extent > done || out.is_empty() {
                out.push(Mode::free(extent / done));
            }
            dims.push(out);
        }
        Some(Constraint { dims, swizzle: None })
    }

    /// Unifies two constraints: the common refinement of each dimension, with known strides in place of free ones, and the swizzle
    /// of either. Returns `None` if strides contradict each other, or if the swizzles differ.
    pub(crate) fn unify(&self, other: &Constraint) -> Option<Constraint> {
        let dims =
            self.dims.iter().zip(&other.dims).map(|(a, b)| mode::unify(a, b)).collect::<Option<_>>()?;
        let swizzle = match (self.swizzle, other.swizzle) {
            (Some(one), Some(other)) => Some(one.unify(other)?),
            (one, other) => one.or(other),
        };
        let unified = Constraint { dims, swizzle };
        unified.is_consistent().then_some(unified)
    }

    /// Returns the same constraint in the fewest modes: joins neighbouring modes that continue each other, which unification had
    /// cut.
    pub(crate) fn merged(&self) -> Constraint {
        Constraint {
            dims: self.dims.iter().map(|modes| mode::merged(modes)).collect(),
            swizzle: self.swizzle,
        }
    }

    /// Reports whether every layout that meets this constraint meets `other`.
    pub(crate) fn implies(&self, other: &Constraint) -> bool {
        self.unify(other).is_some_and(|both| both.merged() == self.merged())
    }

    /// Reports whether a layout with one mode for each dimension has these strides. The swizzle does not matter.
    pub(crate) fn is_met_by(&self, layout: &Layout) -> bool {
        let meets = |(modes, own): (&Vec<Mode>, &Layout)| {
            // The stride that each mode has in the layout.
            let mut unit = 1;
            let mut strides: Vec<(i64, i64)> = Vec::new();
            for mode in modes {
                let stride = if mode.extent > 1 { own.eval(unit) } else { 0 };
                let is_wanted = match mode.stride {
                    Stride::Known(known) => mode.extent == 1 || known == stride,
                    Stride::Free | Stride::Single => true,
                    Stride::Follows => strides.last().is_some_and(|(extent, inner)| extent * inner == stride),
                };
                let is_single = mode.stride == Stride::Free
                    || (1..mode.extent).all(|at| own.eval(at * unit) == at * stride);
                if !is_wanted || !is_single {
                    return false;
                }
                unit *= mode.extent;
                strides.push((mode.extent, stride));
            }
            // The outer modes add to the inner ones.
            let inner: i64 = modes.first().map_or(1, |mode| mode.extent);
            (0..own.size()).all(|at| own.eval(at) == own.eval(at % inner) + own.eval(at - at % inner))
        };
        self.dims.iter().zip(&layout.modes()).all(meets)
    }

    /// Reports whether known modes never map two elements to one place. Gaps between them remain for free modes.
    fn is_consistent(&self) -> bool {
        let mut known: Vec<(i64, i64)> = self
            .dims
            .iter()
            .flatten()
            .filter(|mode| mode.extent > 1)
            .filter_map(|m| Some((m.stride()?, m.extent)))
            .collect();
        known.sort();
        known.windows(2).all(|w| w[1].0 % (w[0].0 * w[0].1) == 0)
    }
}

impl std::fmt::Display for Constraint {
    /// Writes the paper's notation, with `D` for a free stride: `((8,8),64):((1,D),D)`. `S` is a single free stride, and a stride
    /// after it that follows is `F`. A demanded swizzle stands before the modes, as in `128B swizzle ∘ (64,(8,8)):(D,(1,D))`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let write = |f: &mut std::fmt::Formatter<'_>, text: &dyn Fn(&Mode) -> String| {
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
        if let Some(swizzle) = self.swizzle {
            write!(f, "{swizzle}")?;
        }
        write(f, &|mode| mode.extent.to_string())?;
        write!(f, ":")?;
        write(f, &|mode| match mode.stride {
            Stride::Known(stride) => stride.to_string(),
            Stride::Free => "D".into(),
            Stride::Single => "S".into(),
            Stride::Follows => "F".into(),
        })
    }
}
