//! Fills the free strides of a constraint: every order of the dimensions, with and without padding, is a candidate.

use hx_layout::Layout;

use super::constraint::Constraint;
use super::demanded::Demanded;
use super::mode::{self, Mode, Stride};
use super::swizzle;

/// Returns all layouts that fill the free strides of a constraint: dense layouts, then dense layouts in chunks, then padded ones.
///
/// The free modes of a dimension keep their order, and the dimensions are tried in every order. Every access takes a single index
/// of an `indexed` dimension, such as the stages of a pipeline. Orders with these dimensions outermost come first: their step is
/// then added to an address and not swizzled with it. In the layouts in chunks, the innermost dimension is cut into pieces of
/// `chunks` elements and the other dimensions lie inside the pieces. The bits of an offset that a swizzle combines are then
/// adjacent. In the padded layouts, `pad` elements stay free after the first complete dimension.
///
/// Under a swizzle that an access demands by name, each index of an indexed dimension begins with a block of the swizzle, because
/// the hardware swizzles addresses, and its patterns begin at multiples of the block. No layout is padded then: strides of
/// descriptors are multiples of 16 bytes, and boxes are compact.
pub(crate) fn candidates(constraint: &Constraint, indexed: &[bool], chunks: &[i64], pad: i64) -> Vec<Layout> {
    let mut orders = orders(constraint.dims.len());
    orders.sort_by_key(|order| !order.is_sorted_by_key(|d| indexed[*d]));
    let mut out: Vec<Layout> = Vec::new();
    let mut add = |layout: Option<Layout>| match layout {
        Some(layout) if !out.contains(&layout) => out.push(layout),
        _ => {}
    };
    let filling = Filling::of(constraint, indexed);
    for order in &orders {
        add(filling.fill(&constraint.dims, order, 0).and_then(layout));
    }
    for order in orders.iter().filter(|order| order.is_sorted_by_key(|d| indexed[*d])) {
        for chunk in chunks {
            add(filling.in_chunks(&constraint.dims, order, *chunk));
        }
    }
    for order in orders.iter().filter(|_| !filling.is_named) {
        add(filling.fill(&constraint.dims, order, pad).and_then(layout));
    }
    out
}

/// The properties that all fillings of a constraint share.
struct Filling<'a> {
    indexed: &'a [bool],
    /// An access demands a swizzle by name.
    is_named: bool,
    /// Elements of the block of the swizzle that an access demands; 1 if there is none.
    block: i64,
}

impl Filling<'_> {
    fn of<'a>(constraint: &Constraint, indexed: &'a [bool]) -> Filling<'a> {
        let block = match constraint.swizzle {
            Some(Demanded::Mode(_, swizzle)) => swizzle::block(swizzle),
            Some(Demanded::Pinned(_)) | None => 1,
        };
        Filling { indexed, block, is_named: matches!(constraint.swizzle, Some(Demanded::Mode(..))) }
    }

    fn is_indexed(&self, dim: usize) -> bool {
        self.indexed.get(dim).copied().unwrap_or(false)
    }

    /// Returns the dense layout with the innermost dimension cut into pieces of `chunk` elements; `None` if it does not
    /// divide into several. The pieces lie outside of the other dimensions and inside of the indexed ones.
    fn in_chunks(&self, dims: &[Vec<Mode>], order: &[usize], chunk: i64) -> Option<Layout> {
        let cut = *order.first().filter(|d| !self.is_indexed(**d))?;
        let mut dims = dims.to_vec();
        let (outer, inner) = dims[cut].split_last()?;
        let inside: i64 = inner.iter().map(|mode| mode.extent).product();
        let extent = outer.extent;
        if outer.stride != Stride::Free
            || chunk % inside != 0
            || chunk <= inside
            || (inside * extent) % chunk != 0
        {
            return None;
        }
        let pieces = inside * extent / chunk;
        if pieces == 1 {
            return None;
        }
        if let Some(last) = dims[cut].last_mut() {
            last.extent = chunk / inside;
        }
        dims.push(vec![Mode::free(pieces)]);
        let mut order = order.to_vec();
        let place = order.iter().position(|d| self.is_indexed(*d)).unwrap_or(order.len());
        order.insert(place, dims.len() - 1);
        let mut filled = self.fill(&dims, &order, 0)?;
        let pieces = filled.pop()?;
        filled[cut].extend(pieces);
        layout(filled)
    }

    fn fill(&self, dims: &[Vec<Mode>], order: &[usize], pad: i64) -> Option<Vec<Modes>> {
        let mut dims: Vec<Vec<Mode>> = dims.iter().map(|modes| mode::joined(modes)).collect();
        let known = dims.iter().flatten().filter(|mode| mode.extent > 1);
        let mut known: Vec<(i64, i64)> = known.filter_map(|m| Some((m.stride()?, m.extent))).collect();
        known.sort();
        let mut known = known.into_iter().peekable();
        // All offsets below `filled` are taken.
        let mut filled = 1;
        let mut pads = 0;
        for &d in order {
            let mut i = 0;
            while let Some(&Mode { extent, stride }) = dims[d].get(i) {
                if !matches!(stride, Stride::Known(_)) {
                    while let Some(&(next, known_extent)) = known.peek() {
                        if next == filled {
                            filled *= known_extent;
                            known.next();
                            continue;
                        }
                        if next % (filled * extent) != 0 {
                            // An inner part of the mode fills the gap; the rest of the mode continues above it. A mode with a
                            // single stride has no such parts.
                            let part = next / filled;
                            if next % filled != 0 || extent % part != 0 || stride != Stride::Free {
                                return None;
                            }
                            dims[d][i].extent = part;
                            dims[d].insert(i + 1, Mode::free(extent / part));
                        }
                        break;
                    }
                    let mode = &mut dims[d][i];
                    if self.is_indexed(d) && mode.extent > 1 && known.peek().is_none() {
                        filled = (filled + self.block - 1) / self.block * self.block;
                    }
                    mode.stride = Stride::Known(if mode.extent == 1 { 0 } else { filled });
                    filled *= mode.extent;
                }
                i += 1;
            }
            if pad > 0 && pads == 0 && filled > 1 && known.peek().is_none() {
                filled += pad;
                pads += 1;
            }
        }
        let modes =
            |modes: Vec<Mode>| modes.into_iter().map(|m| (m.extent, m.stride().unwrap_or(0))).collect();
        Some(dims.into_iter().map(modes).collect())
    }
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
