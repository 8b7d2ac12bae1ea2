//! Loops over many elements. They run in stretches and check between two stretches whether the work should end
//! ([`hx_base::interrupt`]). The loop over a stretch has no such check, so the compiler can vectorize it.

use hx_base::interrupt::look;

/// The number of elements between two checks. The slowest functions take a few milliseconds for one stretch.
pub(crate) const STRETCH: usize = 1 << 13;

/// Returns `f` of each element.
pub(crate) fn map<A: Copy, B>(a: &[A], f: impl Fn(A) -> B) -> Vec<B> {
    let mut out = Vec::with_capacity(a.len());
    for a in a.chunks(STRETCH) {
        look();
        out.extend(a.iter().map(|&a| f(a)));
    }
    out
}

/// Returns `f` of each pair of elements of two slices of equal length.
pub(crate) fn zip<A: Copy, B: Copy, C>(a: &[A], b: &[B], f: impl Fn(A, B) -> C) -> Vec<C> {
    let mut out = Vec::with_capacity(a.len());
    for (a, b) in a.chunks(STRETCH).zip(b.chunks(STRETCH)) {
        look();
        out.extend(a.iter().zip(b).map(|(&a, &b)| f(a, b)));
    }
    out
}

/// Returns `f` of `0, 1, …` below `count`.
pub(crate) fn generate<T>(count: usize, mut f: impl FnMut(usize) -> T) -> Vec<T> {
    let mut out = Vec::with_capacity(count);
    for_each(0..count, |i| out.push(f(i)));
    out
}

/// Calls `f` with each number of a range.
pub(crate) fn for_each(range: std::ops::Range<usize>, mut f: impl FnMut(usize)) {
    let mut start = range.start;
    while start < range.end {
        look();
        let end = range.end.min(start.saturating_add(STRETCH));
        (start..end).for_each(&mut f);
        start = end;
    }
}
