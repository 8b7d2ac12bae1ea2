//! The algebra on modes whose extents and strides are monomials.
//!
//! Every function here decides by divisibility of monomials, so its result is right for all values of the names. `None` means that
//! divisibility does not decide.

use super::monomial::Monomial;

/// A mode: extent and stride.
pub(super) type Mode = (Monomial, Monomial);

/// Returns the number of coordinates; `None` if a factor does not fit.
pub(super) fn size(modes: &[Mode]) -> Option<Monomial> {
    modes.iter().try_fold(Monomial::number(1), |size, (extent, _)| size.times(extent))
}

/// Merges neighbouring modes that continue one another, and drops those of extent 1. `None` if a factor does not fit. This is
/// sound for all values, because each merge is.
pub(super) fn coalesced(modes: &[Mode]) -> Option<Vec<Mode>> {
    let mut out: Vec<Mode> = Vec::new();
    for (extent, stride) in modes.iter().filter(|(extent, _)| !extent.is(1)) {
        match out.last_mut() {
            Some(last) if last.0.times(&last.1).as_ref() == Some(stride) => last.0 = last.0.times(extent)?,
            _ => out.push((extent.clone(), stride.clone())),
        }
    }
    Some(out)
}

/// A part of a mode of `b` within one mode of `a`: the place of that mode, the step in it, and the number of steps.
struct Piece {
    place: usize,
    step: Monomial,
    extent: Monomial,
}

/// Composes the modes, if every mode of `b` falls on modes of `a` by divisibility and no sum of steps carries.
pub(super) fn compose(a: &[Mode], b: &[Mode]) -> Option<Vec<Mode>> {
    let (last, bounded) = a.split_last()?;
    let mut places = coalesced(bounded)?;
    match places.last_mut() {
        Some(below) if below.0.times(&below.1).as_ref() == Some(&last.1) => {
            below.0 = below.0.times(&last.0)?
        }
        _ => places.push(last.clone()),
    }
    let mut units = vec![Monomial::number(1)];
    for (extent, _) in &places {
        units.push(units.last()?.times(extent)?);
    }
    let (mut out, mut pieces) = (Vec::new(), Vec::new());
    for (extent, stride) in b.iter().filter(|(extent, _)| !extent.is(1)) {
        if stride.is(0) {
            out.push((extent.clone(), Monomial::number(0)));
            continue;
        }
        let (mut left, mut stride) = (extent.clone(), stride.clone());
        while !left.is(1) {
            let place = (0..places.len()).rev().find(|&i| stride.over(&units[i]).is_some())?;
            let step = stride.over(&units[place])?;
            let open = place + 1 == places.len();
            let room = if open { None } else { Some(places[place].0.over(&step)?) };
            let run = match room {
                Some(room) if room.over(&left).is_none() => room,
                _ => left.clone(),
            };
            left = left.over(&run)?;
            stride = stride.times(&run)?;
            out.push((run.clone(), places[place].1.times(&step)?));
            pieces.push(Piece { place, step, extent: run });
        }
    }
    let fits = (0..places.len() - 1).all(|place| nested(&places[place].0, &pieces, place));
    fits.then_some(out)
}

/// Reports whether the pieces in one place nest: each steps over the ones below it, so their largest sum stays below the extent.
fn nested(extent: &Monomial, pieces: &[Piece], place: usize) -> bool {
    let mut here: Vec<&Piece> = pieces.iter().filter(|p| p.place == place).collect();
    here.sort_by_key(|p| p.step.weight());
    let mut filled = Monomial::number(1);
    for piece in here {
        let next = piece.step.over(&filled).and_then(|_| piece.step.times(&piece.extent));
        match next {
            Some(next) => filled = next,
            None => return false,
        }
    }
    extent.over(&filled).is_some()
}

/// The gaps that a layout leaves below its largest stride.
struct Gaps {
    /// The modes that list the starts of copies in the gaps.
    modes: Vec<Mode>,
    /// The largest extent times stride: the layout and the gaps fill the integers below it.
    filled: Monomial,
    /// Whether the mode of the largest stride has at least two coordinates for all values. Otherwise the algebra drops that mode
    /// for some values, and fills less.
    sure: bool,
}

/// Returns the gaps of a layout, if each stride is a multiple of what the smaller ones fill.
fn gaps(modes: &[Mode]) -> Option<Gaps> {
    let mut own: Vec<&Mode> =
        modes.iter().filter(|(extent, stride)| !extent.is(1) && !stride.is(0)).collect();
    own.sort_by_key(|(extent, stride)| (stride.weight(), extent.weight()));
    let mut out = Gaps { modes: Vec::new(), filled: Monomial::number(1), sure: true };
    for (extent, stride) in own {
        out.modes.push((stride.over(&out.filled)?, out.filled.clone()));
        out.filled = extent.times(stride)?;
        out.sure = extent.factor > 1;
    }
    Some(out)
}

/// Returns the complement up to `cotarget`, or up to the cosize.
///
/// A mode whose extent is 1 for some values is dropped there by the algebra, while `gaps` splits the gap around it. Both are the
/// same function if the last gap ends at `cotarget`. If `cotarget` lies below what the layout fills, they are only if no such mode
/// is the last.
pub(super) fn complement(modes: &[Mode], cotarget: Option<&Monomial>) -> Option<Vec<Mode>> {
    let gaps = gaps(modes)?;
    let last = match cotarget {
        Some(cotarget) => match cotarget.over(&gaps.filled) {
            Some(count) => count,
            None if gaps.sure && gaps.filled.over(cotarget).is_some() => Monomial::number(1),
            None => return None,
        },
        None if gaps.sure => Monomial::number(1),
        None => return None,
    };
    let mut out = gaps.modes;
    out.push((last, gaps.filled));
    Some(out)
}

/// Returns the divide of `a` by a tile, if the tile and its gaps fill a divisor of the size of `a`.
pub(super) fn divide(a: &[Mode], tile: &[Mode]) -> Option<Vec<Mode>> {
    let size = size(a)?;
    size.over(&gaps(tile)?.filled)?;
    let rest = complement(tile, Some(&size))?;
    // Tile and rest reach exactly the coordinates of `a`, so no value depends on which mode of `a` is last.
    compose(a, &[tile, &rest].concat())
}

/// Returns the product of `a` by `b`: `a`, then the starts of its copies at the values of `b`.
pub(super) fn product(a: &[Mode], b: &[Mode]) -> Option<Vec<Mode>> {
    let gaps = gaps(a)?;
    let mut starts = gaps.modes;
    // Above what `a` fills, copies begin at every multiple of it. The last mode of `compose` is open, so its extent does not count.
    starts.push((Monomial::number(1), gaps.filled));
    Some([a, &compose(&starts, b)?].concat())
}

/// Reports whether all values of `b` are coordinates of `a`, for all values of the names.
pub(super) fn inside(b: &[Mode], a: &[Mode]) -> bool {
    let reach = gaps(b).map(|gaps| gaps.filled);
    reach.zip(size(a)).is_some_and(|(reach, size)| size.over(&reach).is_some())
}
