//! Layouts of tensors that `reshape` gives several shapes. The elements keep their row-major order and their threads.
//!
//! [`ThreadValueLayout::reshaped`] rewrites a layout for another shape. [`reshapable_layouts`]
//! makes layouts that have a form under several shapes.

use std::ops::Range;

use hx_index::gcd;
use hx_layout::Layout;
use hx_tile::{Reason, TileMode, tile_modes};

use crate::anchor::gemm::ceil_div;
use crate::distribution::ThreadValueLayout;

/// Neighbouring dimensions of two shapes that have the same number of elements.
struct Group {
    from: Range<usize>,
    to: Range<usize>,
}

/// Returns the smallest groups of two shapes, slowest first: `[6, 20]` and `[2, 3, 20]` have the groups `6 = 2 · 3` and `20 = 20`.
/// `None` if the shapes differ in the number of elements.
fn groups(from: &[i64], to: &[i64]) -> Option<Vec<Group>> {
    let (mut i, mut j) = (0, 0);
    let mut out: Vec<Group> = Vec::new();
    while i < from.len() || j < to.len() {
        // Dimensions of one element at the end of one shape belong to the group before them: the other shape has none to walk.
        if let Some(last) = out.last_mut().filter(|_| i == from.len() || j == to.len()) {
            let is_one = |extent: &i64| *extent == 1;
            *last = Group { from: last.from.start..from.len(), to: last.to.start..to.len() };
            return from[i..].iter().chain(&to[j..]).all(is_one).then_some(out);
        }
        let (first, second) = (i, j);
        let (mut a, mut b) = (from.get(i).copied().unwrap_or(1), to.get(j).copied().unwrap_or(1));
        (i, j) = ((i + 1).min(from.len()), (j + 1).min(to.len()));
        while a != b {
            if a < b {
                a *= from.get(i)?;
                i += 1;
            } else {
                b *= to.get(j)?;
                j += 1;
            }
        }
        out.push(Group { from: first..i, to: second..j });
    }
    Some(out)
}

/// Returns the slowest dimension of a group that a layout can walk.
fn slowest(shape: &[i64], group: &Range<usize>) -> usize {
    group.clone().find(|d| shape[*d] > 1).unwrap_or(group.start)
}

/// Reports whether a tile is larger than the shape at most along the slowest dimension of each group. An element outside of such a
/// group has a row-major index past the group's last one, under either shape.
fn numbers_alike<'g>(tile: &[i64], shape: &[i64], groups: impl Iterator<Item = &'g Range<usize>>) -> bool {
    let mut groups = groups;
    groups.all(|group| {
        let slowest = slowest(shape, group);
        group.clone().all(|d| d == slowest || tile[d] == shape[d])
    })
}

impl ThreadValueLayout {
    /// Returns the layout of a tensor of the shape `to` whose elements have the same row-major indices. `None` if the tile is
    /// larger than the tensor along a dimension that another one continues, or if a mode steps over the end of a new dimension
    /// unevenly.
    pub(crate) fn reshaped(&self, from: &[i64], to: &[i64]) -> Option<ThreadValueLayout> {
        let groups = groups(from, to)?;
        if !numbers_alike(&self.tile, from, groups.iter().map(|group| &group.from)) {
            return None;
        }
        let side = |modes: &[TileMode]| -> Option<Vec<TileMode>> {
            let walks = joined(modes, &groups, from)?;
            let split = walks.iter().map(|walk| split(walk, to));
            Some(split.collect::<Option<Vec<_>>>()?.concat())
        };
        let layout = ThreadValueLayout::covering(to, side(&self.thread)?, side(&self.value)?);
        numbers_alike(&layout.tile, to, groups.iter().map(|group| &group.to)).then_some(layout)
    }
}

/// A mode as a walk through the row-major order of a group. The mode stays at one element if there is no group.
struct Walk<'g> {
    extent: i64,
    group: Option<&'g Group>,
    step: i64,
}

/// Returns modes as walks, each as long as possible: `(2, 3) : (10, 20)` is one walk of six steps. `None` if a mode walks along several
/// groups.
fn joined<'g>(modes: &[TileMode], groups: &'g [Group], from: &[i64]) -> Option<Vec<Walk<'g>>> {
    let mut out: Vec<Walk<'g>> = Vec::new();
    for mode in modes {
        let step = |group: &Group| group.from.clone().fold(0, |step, d| step * from[d] + mode.strides[d]);
        let mut walked = groups.iter().filter(|group| step(group) != 0);
        let (group, None) = (walked.next(), walked.next()) else { return None };
        let walk = Walk { extent: mode.extent, group, step: group.map_or(0, step) };
        match out.last_mut() {
            Some(last)
                if last.group.map(|group| group.from.start) == group.map(|group| group.from.start)
                    && walk.step == last.extent * last.step =>
            {
                last.extent *= walk.extent;
            }
            _ => out.push(walk),
        }
    }
    Some(out)
}

/// Returns the steps of a walk along the dimensions of the shape `to`; `None` if it has no regular steps there.
fn split(walk: &Walk<'_>, to: &[i64]) -> Option<Vec<TileMode>> {
    let Walk { extent, group: Some(group), step } = *walk else {
        return Some(vec![TileMode::new(walk.extent, vec![0; to.len()])]);
    };
    // The mode may step past the end of the slowest dimension.
    let mut extents = to.to_vec();
    extents[slowest(to, &group.to)] = step * extent + 1;
    // Layouts index a tile colexicographically, which is the row-major order of its dimensions in reverse.
    let extents: Vec<i64> = extents[group.to.clone()].iter().rev().copied().collect();
    let modes = tile_modes(&Layout::flat(&[(extent, step)]).ok()?, &extents)?;
    let placed = |mode: TileMode| {
        let mut strides = vec![0; to.len()];
        strides[group.to.clone()].iter_mut().zip(mode.strides.iter().rev()).for_each(|(to, s)| *to = *s);
        TileMode::new(mode.extent, strides)
    };
    Some(modes.into_iter().map(placed).collect())
}

/// Returns layouts of a tensor that have a form under all of its shapes, if it has several: of the widest vectors, and of the
/// narrowest. `reason` names the copy that needs them.
pub(crate) fn reshapable_layouts(
    shapes: &[Vec<i64>],
    bits: u32,
    threads: u32,
    reason: &Reason,
) -> Vec<(ThreadValueLayout, Reason)> {
    if shapes.len() < 2 {
        return Vec::new();
    }
    let of_bytes = |bytes: u32| dealt(shapes, i64::from((8 * bytes / bits).max(1)), i64::from(threads));
    let mut layouts: Vec<ThreadValueLayout> = [16, 8, 4, 2, 1].into_iter().filter_map(of_bytes).collect();
    layouts.dedup();
    if layouts.len() > 2 {
        layouts.drain(1..layouts.len() - 1);
    }
    let names: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
    let text = format!("dealt so that it has a form under each of the shapes {}", names.join(", "));
    let reason = Reason { text, from: reason.from.clone() };
    layouts.into_iter().map(|layout| (layout, reason.clone())).collect()
}

/// Returns the layout of a tensor of the first shape that has a form under all shapes, in which each thread holds vectors of
/// `width` neighbours. `None` if no such vector fits the fastest dimension of every shape.
///
/// The row-major order is cut where a dimension of some shape ends: `[6, 20]` and `[12, 10]` are cut at 10 and 20. Between two cuts
/// the elements are dealt to as many threads as divide them; after the last cut to all threads that are left. Cuts that do not
/// divide each other, such as 20 and 30, have one mode that reaches from their greatest common divisor to their least common
/// multiple.
pub(crate) fn dealt(shapes: &[Vec<i64>], width: i64, threads: i64) -> Option<ThreadValueLayout> {
    let own = shapes.first()?;
    let size: i64 = own.iter().product();
    let (mut thread, mut value) = (Vec::new(), vec![TileMode::new(width, vec![1])]);
    let (mut at, mut left) = (1, threads);
    for (low, high) in cuts(shapes, size) {
        let vector = if at == 1 { width } else { 1 };
        if low / at % vector != 0 {
            return None;
        }
        let free = low / at / vector;
        let along = if low == size { left } else { gcd(left, free) };
        thread.push(TileMode::new(along, vec![at * vector]));
        value.push(TileMode::new(ceil_div(free, along), vec![at * vector * along]));
        let whole = TileMode::new(high / low, vec![low]);
        left /= along;
        if left % whole.extent == 0 {
            left /= whole.extent;
            thread.push(whole);
        } else {
            value.push(whole);
        }
        at = high;
    }
    ThreadValueLayout::covering(&[size], thread, value).reshaped(&[size], own)
}

/// Returns the cuts of the row-major order in ascending order, the last at the end. Each is the greatest common divisor and the least
/// common multiple of the ends of dimensions that do not divide each other; it divides the next.
fn cuts(shapes: &[Vec<i64>], size: i64) -> Vec<(i64, i64)> {
    let mut ends = vec![size];
    for shape in shapes {
        let mut end = 1;
        ends.extend(shape.iter().rev().map(|extent| {
            end *= extent;
            end
        }));
    }
    ends.sort_unstable();
    ends.dedup();
    let mut out: Vec<(i64, i64)> = Vec::new();
    for end in ends.into_iter().filter(|end| *end > 1) {
        let (mut low, mut high) = (end, end);
        while let Some((l, h)) = out.pop_if(|(_, h)| low % *h != 0) {
            (low, high) = (gcd(low, l), high / gcd(high, h) * h);
        }
        out.push((low, high));
    }
    if out.is_empty() { vec![(1, 1)] } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a layout dealt for these shapes holds each element, the same under every shape, and returns it.
    fn check(shapes: &[&[i64]], width: i64, threads: i64) -> String {
        let shapes: Vec<Vec<i64>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        let Some(layout) = dealt(&shapes, width, threads) else { return "none".to_owned() };
        let size = shapes[0].iter().product::<i64>();
        let number = |shape: &[i64], at: &[i64]| {
            let inside = at.iter().zip(shape).all(|(c, extent)| c < extent);
            inside.then(|| at.iter().zip(shape).fold(0, |number, (c, extent)| number * extent + c))
        };
        let all = |layout: &ThreadValueLayout, shape: &[i64]| -> Vec<Option<i64>> {
            let held = |i: i64| number(shape, &layout.coordinate(i % threads, i / threads));
            (0..threads * layout.values()).map(held).collect()
        };
        let first = all(&layout, &shapes[0]);
        for shape in &shapes {
            let other =
                layout.reshaped(&shapes[0], shape).unwrap_or_else(|| panic!("no form under {shape:?}"));
            assert_eq!(all(&other, shape), first, "{shape:?}");
        }
        let mut held: Vec<i64> = first.into_iter().flatten().collect();
        held.sort_unstable();
        held.dedup();
        assert_eq!(held, (0..size).collect::<Vec<_>>());
        assert_eq!(layout.threads(), threads);
        layout.text()
    }

    #[test]
    fn layouts_have_a_form_under_every_shape() {
        let all = [
            check(&[&[6, 20], &[120]], 4, 32),
            check(&[&[120], &[6, 20]], 4, 32),
            check(&[&[30, 20], &[20, 30]], 2, 128),
            check(&[&[16, 100], &[16, 10, 10]], 2, 128),
            check(&[&[7, 24], &[7, 8, 3]], 1, 64),
            check(&[&[48, 40], &[16, 3, 40], &[1, 1920]], 8, 128),
            check(&[&[5], &[5, 1]], 1, 32),
            check(&[&[12, 3], &[36]], 2, 96),
        ];
        expect_test::expect![[r#"
            (32:1, 20:32)
            (32:20, 20:1)
            (128:3, (20,3):(384,1))
            ((2,64):(640,1), (10,5):(64,1280))
            ((8,8):(24,1), 3:8)
            (128:3, (40,3):(384,1))
            (32:1, 1:0)
            none"#]]
        .assert_eq(&all.join("\n"));
    }

    #[test]
    fn an_overhang_stays_outside_under_another_shape() {
        // Eight rows of threads for six rows of 20.
        let along = |extent, strides: [i64; 2]| TileMode::new(extent, strides.to_vec());
        let layout = ThreadValueLayout::covering(
            &[6, 20],
            vec![along(4, [0, 5]), along(8, [1, 0])],
            vec![along(5, [0, 1])],
        );
        assert_eq!(layout.tile, [8, 20]);
        let flat = layout.reshaped(&[6, 20], &[120]).map(|layout| layout.tile);
        assert_eq!(flat, Some(vec![160]));
        assert_eq!(layout.reshaped(&[6, 20], &[2, 3, 20]), None);
        assert_eq!(layout.reshaped(&[6, 20], &[6, 4, 5]).map(|layout| layout.tile), Some(vec![8, 4, 5]));
        // The tile has 8 columns, the tensor 1. Neither `[2, 8]` nor `[16]` has a dimension for the other 7.
        let column = ThreadValueLayout::covering(&[16, 1], vec![along(16, [1, 0])], vec![along(8, [0, 1])]);
        assert_eq!(column.tile, [16, 8]);
        assert_eq!(column.reshaped(&[16, 1], &[2, 8]), None);
        assert_eq!(column.reshaped(&[16, 1], &[16]), None);
        // Columns past the end of a row would be elements of the next row.
        let wide = ThreadValueLayout::covering(&[6, 20], vec![along(32, [0, 1])], vec![along(6, [1, 0])]);
        assert_eq!(wide.reshaped(&[6, 20], &[120]), None);
        assert_eq!(wide.reshaped(&[6, 20], &[3, 2, 20]).map(|layout| layout.tile), Some(vec![3, 2, 32]));
    }
}
