//! Lowers coordinates to addresses: element offsets in a global tensor, or in a shared buffer with its layout and swizzle.

use hx_index::{Expr, Facts};
use hx_layout::Swizzle;
use hx_tile::{Base, Op, SharedLayout, TensorId, View};

use super::layout::digits;
use super::{LowerError, Lowering, is_counter};
use crate::{Address, Memory};

impl Lowering<'_> {
    /// Returns the address of the element at coordinates `at` of the view's base.
    pub(super) fn address(
        &self,
        op: &Op,
        view: &View,
        at: &[Expr],
        facts: &Facts,
    ) -> Result<Address, LowerError> {
        let coordinates = at.iter().cloned();
        match view.base {
            Base::Global(id) => {
                let param = self.program.tensor_param(id).ok_or_else(|| self.error(op, "not a tensor"))?;
                let coordinates: Vec<Expr> = coordinates.collect();
                let offset = param.offset(&coordinates, facts);
                Ok(Address { memory: Memory::Global(id.0), offset: offset.simplify(facts) })
            }
            Base::Shared(tensor) => {
                let layout =
                    self.solution.shared.get(&tensor).ok_or_else(|| self.error(op, "no shared layout"))?;
                let coordinates: Vec<Expr> = coordinates.collect();
                Ok(Address {
                    memory: Memory::Shared(self.buffers[&tensor]),
                    offset: swizzled(
                        layout.swizzle,
                        &(linear_offset(layout, &coordinates, facts)
                            + self.first_of_copy(op, tensor, layout)),
                        facts,
                    ),
                })
            }
            Base::Register(_) => Err(self.error(op, "registers have no address")),
        }
    }

    /// Returns the first element of the executing group's copy of a tensor.
    fn first_of_copy(&self, op: &Op, tensor: TensorId, layout: &SharedLayout) -> Expr {
        match self.program.copies_of(tensor) {
            1 => Expr::default(),
            copies => {
                let bits = i64::from(self.program.tensor(tensor).dtype.bits());
                self.first_of_group(op, i64::from(layout.bytes / copies) * 8 / bits)
            }
        }
    }

    /// Returns the place of the element at coordinates `at` of the base of a view of shared memory, before the swizzle.
    pub(super) fn unswizzled(
        &self,
        op: &Op,
        view: &View,
        at: &[Expr],
        facts: &Facts,
    ) -> Result<Address, LowerError> {
        let Base::Shared(tensor) = view.base else {
            return Err(self.error(op, "only shared memory has a swizzle"));
        };
        let layout = self.solution.shared.get(&tensor).ok_or_else(|| self.error(op, "no shared layout"))?;
        let offset = linear_offset(layout, at, facts) + self.first_of_copy(op, tensor, layout);
        let offset = offset.simplify(facts);
        Ok(Address { memory: Memory::Shared(self.buffers[&tensor]), offset })
    }
}

/// Returns the offset of an element before the swizzle.
fn linear_offset(layout: &SharedLayout, coordinates: &[Expr], facts: &Facts) -> Expr {
    layout.layout.modes().iter().zip(coordinates).fold(Expr::default(), |sum, (mode, coordinate)| {
        digits(coordinate, mode.leaves(), facts)
            .into_iter()
            .zip(mode.leaves())
            .fold(sum, |sum, (digit, (_, stride))| sum + digit.scale(*stride))
    })
}

/// Applies the swizzle to an offset. Terms that are multiples of the swizzle's block are added afterwards. If the terms with
/// counters of unrolled loops share no bit with the other terms, they are swizzled separately and xor-ed in. Each thread
/// then computes the other terms once, and the counters' terms become constants.
fn swizzled(swizzle: Swizzle, offset: &Expr, facts: &Facts) -> Expr {
    if swizzle.is_identity() {
        return offset.clone();
    }
    let block = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs());
    let (mut outside, mut thread, mut walked) = (Expr::default(), Expr::default(), Expr::default());
    for (monomial, coefficient) in offset.terms() {
        let term = monomial.iter().fold(Expr::constant(coefficient), |p, a| &p * &Expr::atom(a.clone()));
        if facts.divides(block, &term) {
            outside = outside + term;
        } else if term.symbols().iter().all(is_counter) {
            walked = walked + term;
        } else {
            thread = thread + term;
        }
    }
    let apart = bits(&thread, facts).zip(bits(&walked, facts)).is_some_and(|(a, b)| a & b == 0);
    if apart {
        outside + permuted(swizzle, &thread, facts).xor(&permuted(swizzle, &walked, facts))
    } else {
        outside + permuted(swizzle, &(thread + walked), facts)
    }
}

fn permuted(swizzle: Swizzle, offset: &Expr, facts: &Facts) -> Expr {
    let unread = bits(offset, facts).is_some_and(|bits| bits & swizzle.source_mask() == 0);
    if unread {
        return offset.clone();
    }
    let read = offset.and(swizzle.source_mask());
    let distance = Expr::constant(1i64 << swizzle.shift().unsigned_abs());
    let moved = if swizzle.shift() >= 0 { read.div(&distance, &Facts::default()) } else { &read * &distance };
    offset.xor(&moved)
}

/// Returns the bits that a value may have set; `None` if it may be negative or has no known upper bound.
fn bits(value: &Expr, facts: &Facts) -> Option<i64> {
    let span = |value: &Expr| {
        let (Some(0..), Some(most)) = facts.range(value) else { return None };
        let below = |bits: u32| (1i64 << bits.min(62)) - 1;
        let low = facts.divisor(value).trailing_zeros();
        Some(if most == 0 { 0 } else { below(64 - most.leading_zeros()) & !below(low) })
    };
    let terms = value.terms().map(|(monomial, coefficient)| {
        span(&monomial.iter().fold(Expr::constant(coefficient), |p, a| &p * &Expr::atom(a.clone())))
    });
    let apart = terms
        .collect::<Option<Vec<i64>>>()
        .and_then(|masks| masks.iter().try_fold(0, |all, mask| (all & mask == 0).then_some(all | mask)));
    // If terms may carry into each other, bound the sum as a whole.
    apart.or_else(|| span(value))
}

#[cfg(test)]
mod tests {
    use hx_index::Symbol;

    use super::*;
    use crate::lower::{COUNTED, LOCALS};

    /// Checks whether the counter is xor-ed in, and compares the address with the swizzle at every value of its symbols.
    fn check(swizzle: Swizzle, row: i64, steps: i64, expected: bool) {
        let (thread, counter) =
            (Symbol::Var("row".into(), LOCALS), Symbol::Var("k".into(), LOCALS + COUNTED));
        let mut facts = Facts::default();
        facts.at_most(thread.clone(), Expr::constant(15));
        facts.at_most(counter.clone(), Expr::constant(steps - 1));
        let at = Expr::symbol(thread.clone()).scale(row);
        let walked = Expr::symbol(counter.clone()).scale(16);
        let found = swizzled(swizzle, &(at.clone() + walked.clone()), &facts);
        let apart = permuted(swizzle, &at, &facts).xor(&permuted(swizzle, &walked, &facts));
        assert_eq!(found == apart, expected, "{found}");
        for (t, k) in (0..16).flat_map(|t| (0..steps).map(move |k| (t, k))) {
            let value = |s: &Symbol| Some(if *s == thread { t } else { k });
            assert_eq!(found.eval(&value).unwrap(), swizzle.apply(t * row + k * 16), "{t} {k}");
        }
    }

    #[test]
    fn counters_are_swizzled_apart_where_they_share_no_bits() {
        let swizzle = Swizzle::new(3, 3, 3).unwrap();
        check(swizzle, 64, 4, true);
        check(swizzle, 24, 4, false);
    }
}
