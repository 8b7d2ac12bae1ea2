//! Checks where the accesses of a use begin: every address that an instruction takes through a view must be a multiple of its
//! width.

use hx_layout::ComposedLayout;
use hx_tile::TileProgram;

use super::buffer::Use;
use super::{pin_of, swizzle};
use crate::access::Access;
use crate::access::alignment::Widest;

/// Returns the reason why an access cannot be used through the view: for some iteration or launch, its address is not a
/// multiple of its width. Returns `None` if the access is aligned.
///
/// Without a pin, the constraint of the access makes it contiguous from every multiple of its width on, so only the start of the
/// view matters. Under a pinned layout every address is checked.
pub(super) fn bars(program: &TileProgram, u: &Use<'_>, access: &Access) -> Option<String> {
    let width = access.run.width();
    if width == 1 {
        return None;
    }
    let id = u.tensor()?;
    let info = program.tensor(id);
    if let Some(pin) = pin_of(program, id) {
        let why = || {
            let name = &info.name;
            format!(
                "the layout pinned to `{name}` does not keep {width} neighbours side by side from a multiple of {width} on"
            )
        };
        return (!meets(program, u, access, pin)).then(why);
    }
    let bounds = access.run.dims().into_iter().map(|own| (access.run.period(own), widest(program, u, own)));
    bounds.filter(|(period, widest)| !widest.allows(*period)).map(|(_, widest)| widest.limit).next()
}

/// Returns the widest access that the start of the view allows along its mode `own`.
pub(super) fn widest(program: &TileProgram, u: &Use<'_>, own: usize) -> Widest {
    let mut widest = Widest::any();
    if let Some(id) = u.tensor() {
        let info = program.tensor(id);
        widest.narrow_by_start(&program.facts, &u.view, own, &info.name, info.dtype);
    }
    widest
}

/// Reports whether, under a pinned layout, the elements of each address are contiguous and begin at a multiple of their number,
/// for every start of the view.
fn meets(program: &TileProgram, u: &Use<'_>, access: &Access, pin: &ComposedLayout) -> bool {
    let width = access.run.width();
    let modes = pin.layout.modes();
    let addressed: Vec<Vec<i64>> = (0..i64::from(program.threads_of(u.op)))
        .flat_map(|thread| (0..access.issues()).map(move |issue| access.coordinate(thread, issue)))
        .filter(|at| at.iter().zip(&u.shape).all(|(c, extent)| c < extent))
        .collect();
    let from = |start: &[i64]| {
        let at = |coordinate: &[i64]| {
            let mut place = start.to_vec();
            for (c, mode) in coordinate.iter().zip(&u.view.modes) {
                place[mode.dim] += c * mode.factor.as_const().unwrap_or(1);
            }
            pin.swizzle.apply(place.iter().zip(&modes).map(|(c, m)| m.eval(*c)).sum())
        };
        addressed.iter().all(|coordinate| {
            let first = at(coordinate);
            first % width == 0
                && (1..width).all(|i| {
                    let mut next = coordinate.clone();
                    access.run.walk(i, &mut next);
                    at(&next) == first + i
                })
        })
    };
    starts(program, u, pin, width).iter().all(|start| from(start))
}

/// Returns the coordinates at which a view may start, one for all that differ only by whole blocks of the swizzle and of the
/// access.
fn starts(program: &TileProgram, u: &Use<'_>, pin: &ComposedLayout, width: i64) -> Vec<Vec<i64>> {
    let period = swizzle::block(pin.swizzle).max(width);
    let mut all = vec![vec![]];
    for (dim, (offset, mode)) in u.view.offsets.iter().zip(pin.layout.modes()).enumerate() {
        let along: Vec<i64> = match offset.as_const() {
            Some(start) => vec![start],
            None => {
                let walked = u.view.modes.iter().filter(|m| m.dim == dim);
                let reach: i64 = walked.map(|m| m.factor.as_const().unwrap_or(1) * (m.extent - 1)).sum();
                let step = program.facts.divisor(offset).max(1);
                let mut met: Vec<Vec<i64>> = Vec::new();
                let is_new = |start: &i64| {
                    let first = mode.eval(*start);
                    let from = first.div_euclid(period) * period;
                    let places: Vec<i64> = (*start..=start + reach).map(|c| mode.eval(c) - from).collect();
                    let new = !met.contains(&places);
                    if new {
                        met.push(places);
                    }
                    new
                };
                (0..mode.size() - reach).step_by(step as usize).filter(is_new).collect()
            }
        };
        all = all
            .iter()
            .flat_map(|start: &Vec<i64>| {
                along.iter().map(|next| start.iter().copied().chain([*next]).collect::<Vec<i64>>())
            })
            .collect();
    }
    all
}
