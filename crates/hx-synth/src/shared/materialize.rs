//! Free strides become numbers: every order of the dimensions, with and without padding, is a candidate.

use hx_layout::Layout;

use super::constraint::Constraint;

/// All layouts that fill the free strides of a constraint, densest first.
///
/// The free modes of a dimension keep their order; the dimensions take turns in every order. Those of which every access takes one
/// index, like stages, lie outermost first: their step is then added to an address and not swizzled with it. `pad` elements are left
/// free after the first dimension is complete in the padded variants.
pub(crate) fn candidates(constraint: &Constraint, indexed: &[bool], pad: i64) -> Vec<Layout> {
    let mut orders = orders(constraint.dims.len());
    orders.sort_by_key(|order| !order.is_sorted_by_key(|d| indexed[*d]));
    let mut out: Vec<Layout> = Vec::new();
    for pad in [0, pad] {
        for order in &orders {
            if let Some(layout) = fill(constraint, order, pad)
                && !out.contains(&layout)
            {
                out.push(layout);
            }
        }
    }
    out
}

fn orders(rank: usize) -> Vec<Vec<usize>> {
    if rank == 0 {
        return vec![vec![]];
    }
    // Last dimension innermost first: row-major is what people expect where cost does not decide.
    let mut out = Vec::new();
    for first in (0..rank).rev() {
        let others: Vec<usize> = (0..rank).filter(|d| *d != first).collect();
        for rest in orders(rank - 1) {
            out.push(std::iter::once(first).chain(rest.into_iter().map(|i| others[i])).collect());
        }
    }
    out
}

fn fill(constraint: &Constraint, order: &[usize], pad: i64) -> Option<Layout> {
    let mut dims = constraint.dims.clone();
    let mut known: Vec<(i64, i64)> =
        dims.iter().flatten().filter_map(|(e, s)| s.filter(|_| *e > 1).map(|s| (s, *e))).collect();
    known.sort();
    let mut known = known.into_iter().peekable();
    // Everything below `filled` is taken.
    let mut filled = 1;
    let mut pads = 0;
    for &d in order {
        let mut i = 0;
        while let Some(&(extent, stride)) = dims[d].get(i) {
            if stride.is_none() {
                while let Some(&(stride, known_extent)) = known.peek() {
                    if stride == filled {
                        filled *= known_extent;
                        known.next();
                        continue;
                    }
                    if stride % (filled * extent) != 0 {
                        // A part of the mode fills the gap, and the rest goes on above it.
                        let part = stride / filled;
                        if stride % filled != 0 || extent % part != 0 {
                            return None;
                        }
                        dims[d][i].0 = part;
                        dims[d].insert(i + 1, (extent / part, None));
                    }
                    break;
                }
                let mode = &mut dims[d][i];
                mode.1 = Some(if mode.0 == 1 { 0 } else { filled });
                filled *= mode.0;
            }
            i += 1;
        }
        if pad > 0 && pads == 0 && filled > 1 && known.peek().is_none() {
            filled += pad;
            pads += 1;
        }
    }
    let modes: Option<Vec<Layout>> = dims
        .iter()
        .map(|modes| Layout::flat(&modes.iter().map(|(e, s)| (*e, s.unwrap_or(0))).collect::<Vec<_>>()).ok())
        .collect();
    Layout::concat(&modes?.iter().map(Layout::coalesce).collect::<Vec<_>>()).ok()
}
