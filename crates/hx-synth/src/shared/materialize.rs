//! Fills the free strides of a constraint: every order of the dimensions, with and without padding, is a candidate.

use hx_layout::Layout;

use super::constraint::Constraint;

/// Returns all layouts that fill the free strides of a constraint: dense layouts, then dense layouts in chunks, then padded ones.
///
/// The free modes of a dimension keep their order, and the dimensions are tried in every order. Every access takes a single index
/// of an `indexed` dimension, such as the stages of a pipeline. Orders with these dimensions outermost come first: their step is
/// then added to an address and not swizzled with it. In the layouts in chunks, the innermost dimension is cut into pieces of
/// `chunks` elements and the other dimensions lie inside the pieces. The bits of an offset that a swizzle combines are then
/// adjacent. In the padded layouts, `pad` elements stay free after the first complete dimension.
pub(crate) fn candidates(constraint: &Constraint, indexed: &[bool], chunks: &[i64], pad: i64) -> Vec<Layout> {
    let mut orders = orders(constraint.dims.len());
    orders.sort_by_key(|order| !order.is_sorted_by_key(|d| indexed[*d]));
    let mut out: Vec<Layout> = Vec::new();
    let mut add = |layout: Option<Layout>| match layout {
        Some(layout) if !out.contains(&layout) => out.push(layout),
        _ => {}
    };
    for order in &orders {
        add(fill(constraint, order, 0).and_then(layout));
    }
    for order in orders.iter().filter(|order| order.is_sorted_by_key(|d| indexed[*d])) {
        for chunk in chunks {
            add(in_chunks(constraint, order, indexed, *chunk));
        }
    }
    for order in &orders {
        add(fill(constraint, order, pad).and_then(layout));
    }
    out
}

/// Returns the dense layout with the innermost dimension cut into pieces of `chunk` elements. The pieces lie outside of the other
/// dimensions and inside of the indexed ones.
fn in_chunks(constraint: &Constraint, order: &[usize], indexed: &[bool], chunk: i64) -> Option<Layout> {
    let cut = *order.first().filter(|d| !indexed[**d])?;
    let mut dims = constraint.dims.clone();
    let (outer, inner) = dims[cut].split_last()?;
    let inside: i64 = inner.iter().map(|(extent, _)| extent).product();
    let extent = outer.0;
    if outer.1.is_some() || chunk % inside != 0 || chunk <= inside || (inside * extent) % chunk != 0 {
        return None;
    }
    let pieces = inside * extent / chunk;
    if pieces == 1 {
        return None;
    }
    if let Some(last) = dims[cut].last_mut() {
        last.0 = chunk / inside;
    }
    dims.push(vec![(pieces, None)]);
    let mut order = order.to_vec();
    let place = order.iter().position(|d| indexed[*d]).unwrap_or(order.len());
    order.insert(place, dims.len() - 1);
    let mut filled = fill(&Constraint { dims, ..constraint.clone() }, &order, 0)?;
    let pieces = filled.pop()?;
    filled[cut].extend(pieces);
    layout(filled)
}

fn orders(rank: usize) -> Vec<Vec<usize>> {
    if rank == 0 {
        return vec![vec![]];
    }
    // The last dimension is innermost in the first order: if costs are equal, users expect row-major.
    let mut out = Vec::new();
    for first in (0..rank).rev() {
        let others: Vec<usize> = (0..rank).filter(|d| *d != first).collect();
        for rest in orders(rank - 1) {
            out.push(std::iter::once(first).chain(rest.into_iter().map(|i| others[i])).collect());
        }
    }
    out
}

/// The modes of a dimension from the inside out: extent and stride.
type Modes = Vec<(i64, i64)>;

fn layout(dims: Vec<Modes>) -> Option<Layout> {
    let modes: Option<Vec<Layout>> = dims.iter().map(|modes| Layout::flat(modes).ok()).collect();
    Layout::concat(&modes?.iter().map(Layout::coalesce).collect::<Vec<_>>()).ok()
}

fn fill(constraint: &Constraint, order: &[usize], pad: i64) -> Option<Vec<Modes>> {
    let mut dims = constraint.dims.clone();
    let mut known: Vec<(i64, i64)> =
        dims.iter().flatten().filter_map(|(e, s)| s.filter(|_| *e > 1).map(|s| (s, *e))).collect();
    known.sort();
    let mut known = known.into_iter().peekable();
    // All offsets below `filled` are taken.
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
                        // An inner part of the mode fills the gap; the rest of the mode continues above it.
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
    Some(
        dims.into_iter().map(|modes| modes.into_iter().map(|(e, s)| (e, s.unwrap_or(0))).collect()).collect(),
    )
}
