//! Modes of a constraint: extents with strides that are known, free, or tied to each other.

/// A mode of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode {
    pub(crate) extent: i64,
    pub(crate) stride: Stride,
}

/// The stride of a mode, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stride {
    Known(i64),
    /// Free. If another access cuts the mode, the strides of its pieces are independent.
    Free,
    /// Free, but a single one: if another access cuts the mode, the outer pieces follow the inner ones.
    Single,
    /// Goes on where the mode inside it ends: its extent times its stride.
    Follows,
}

impl Mode {
    pub(crate) fn known(extent: i64, stride: i64) -> Mode {
        Mode { extent, stride: Stride::Known(stride) }
    }

    pub(crate) fn free(extent: i64) -> Mode {
        Mode { extent, stride: Stride::Free }
    }

    pub(crate) fn single(extent: i64) -> Mode {
        Mode { extent, stride: Stride::Single }
    }

    /// Returns the stride if it is known, otherwise `None`.
    pub(crate) fn stride(self) -> Option<i64> {
        match self.stride {
            Stride::Known(stride) => Some(stride),
            Stride::Free | Stride::Single | Stride::Follows => None,
        }
    }

    /// Cuts the mode into an inner piece of this extent, which divides its own, and the rest.
    fn cut(self, extent: i64) -> (Mode, Mode) {
        let outer = match self.stride {
            Stride::Known(stride) => Stride::Known(stride * extent),
            Stride::Free => Stride::Free,
            Stride::Single | Stride::Follows => Stride::Follows,
        };
        (Mode { extent, ..self }, Mode { extent: self.extent / extent, stride: outer })
    }
}

/// Returns the common refinement of two lists of modes of one dimension; `None` if their strides contradict each other.
pub(super) fn unify(a: &[Mode], b: &[Mode]) -> Option<Vec<Mode>> {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    a.reverse();
    b.reverse();
    let mut out: Vec<Mode> = Vec::new();
    while let (Some(x), Some(y)) = (a.pop(), b.pop()) {
        let extent = x.extent.min(y.extent);
        if x.extent % extent != 0 || y.extent % extent != 0 {
            return None;
        }
        let [x, y] = [(x, &mut a), (y, &mut b)].map(|(mode, rest)| {
            if mode.extent == extent {
                return mode.stride;
            }
            let (inner, outer) = mode.cut(extent);
            rest.push(outer);
            inner.stride
        });
        let stride = meet(&mut out, x, y)?;
        out.push(Mode { extent, stride });
    }
    (a.is_empty() && b.is_empty()).then_some(out)
}

/// Returns the stride of a mode that has both strides, after the modes `inside` it, which it may determine. `None` if the
/// strides contradict each other.
fn meet(inside: &mut [Mode], x: Stride, y: Stride) -> Option<Stride> {
    let known = match (x, y) {
        (Stride::Known(s), Stride::Known(t)) if s != t => return None,
        (Stride::Known(s), _) | (_, Stride::Known(s)) => Some(s),
        _ => None,
    };
    if x != Stride::Follows && y != Stride::Follows {
        let is_single = x == Stride::Single || y == Stride::Single;
        return Some(known.map_or(if is_single { Stride::Single } else { Stride::Free }, Stride::Known));
    }
    let continued = inside.last().and_then(|mode| Some(mode.stride()? * mode.extent));
    match (known, continued) {
        (Some(known), Some(continued)) => (known == continued).then_some(Stride::Known(known)),
        (None, Some(continued)) => Some(Stride::Known(continued)),
        (Some(known), None) => ends_at(inside, known).then_some(Stride::Known(known)),
        (None, None) => Some(Stride::Follows),
    }
}

/// Gives the last of these modes the stride with which it ends at `end`, and the modes that it follows the strides with which
/// they end at its stride. Reports whether these strides are whole numbers that agree with the known ones.
fn ends_at(modes: &mut [Mode], end: i64) -> bool {
    let Some((mode, inside)) = modes.split_last_mut() else { return false };
    if end % mode.extent != 0 {
        return false;
    }
    let stride = end / mode.extent;
    match std::mem::replace(&mut mode.stride, Stride::Known(stride)) {
        Stride::Known(known) => known == stride,
        Stride::Free | Stride::Single => true,
        Stride::Follows => ends_at(inside, stride),
    }
}

/// Joins neighbouring modes that continue each other, which unification had cut.
pub(super) fn merged(modes: &[Mode]) -> Vec<Mode> {
    let mut out: Vec<Mode> = Vec::new();
    for mode in modes {
        let last = out.last_mut();
        match (last, mode.stride) {
            (Some(Mode { extent, stride: Stride::Free }), Stride::Free) => *extent *= mode.extent,
            (Some(Mode { extent, stride: Stride::Single | Stride::Follows }), Stride::Follows) => {
                *extent *= mode.extent;
            }
            (Some(Mode { extent, stride: Stride::Known(inner) }), Stride::Known(outer))
                if outer == *inner * *extent =>
            {
                *extent *= mode.extent;
            }
            _ if mode.extent == 1 && modes.len() > 1 => {}
            _ => out.push(*mode),
        }
    }
    out
}

/// Joins each mode with a single stride and the modes that follow it.
pub(super) fn joined(modes: &[Mode]) -> Vec<Mode> {
    let mut out: Vec<Mode> = Vec::new();
    for mode in modes {
        match out.last_mut() {
            Some(inner) if mode.stride == Stride::Follows => inner.extent *= mode.extent,
            _ => out.push(*mode),
        }
    }
    out
}
