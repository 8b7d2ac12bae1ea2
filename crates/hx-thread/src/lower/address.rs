//! Addresses: element offsets in a global tensor or in a shared buffer with its layout and swizzle.

use hx_index::{Expr, Facts};
use hx_layout::Swizzle;
use hx_tile::{Base, Op, SharedLayout, View};

use super::layout::digits;
use super::{LowerError, Lowering};
use crate::{Address, Memory};

impl Lowering<'_> {
    /// The address of the view's element at a coordinate.
    pub(super) fn address(
        &self,
        op: &Op,
        view: &View,
        at: &[Expr],
        facts: &Facts,
    ) -> Result<Address, LowerError> {
        let coordinates = (0..view.offsets.len()).map(|dim| view.coordinate(dim, at));
        match view.base {
            Base::Global(id) => {
                let param = self.program.tensor_param(id).ok_or_else(|| self.error(op, "not a tensor"))?;
                let offset = coordinates.zip(&param.stride).fold(Expr::default(), |sum, (c, s)| sum + &c * s);
                Ok(Address { memory: Memory::Global(id.0), offset: offset.simplify(facts) })
            }
            Base::Shared(tensor) => {
                let layout =
                    self.solution.shared.get(&tensor).ok_or_else(|| self.error(op, "no shared layout"))?;
                let coordinates: Vec<Expr> = coordinates.collect();
                Ok(Address {
                    memory: Memory::Shared(self.buffers[&tensor]),
                    offset: shared_offset(layout, &coordinates, facts),
                })
            }
            Base::Register(_) => Err(self.error(op, "registers have no address")),
        }
    }
}

fn shared_offset(layout: &SharedLayout, coordinates: &[Expr], facts: &Facts) -> Expr {
    let linear =
        layout.layout.modes().iter().zip(coordinates).fold(Expr::default(), |sum, (mode, coordinate)| {
            digits(coordinate, mode.leaves(), facts)
                .into_iter()
                .zip(mode.leaves())
                .fold(sum, |sum, (digit, (_, stride))| sum + digit.scale(*stride))
        });
    swizzled(layout.swizzle, &linear, facts)
}

/// The swizzle of an offset. Terms that are whole blocks of the swizzle stay outside of it.
fn swizzled(swizzle: Swizzle, offset: &Expr, facts: &Facts) -> Expr {
    if swizzle.is_identity() {
        return offset.clone();
    }
    let block = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs());
    let (mut outside, mut inside) = (Expr::default(), Expr::default());
    for (monomial, coefficient) in offset.terms() {
        let term = monomial.iter().fold(Expr::constant(coefficient), |p, a| &p * &Expr::atom(a.clone()));
        if facts.divides(block, &term) {
            outside = outside + term;
        } else {
            inside = inside + term;
        }
    }
    let read = inside.and(swizzle.source_mask());
    let distance = Expr::constant(1i64 << swizzle.shift().unsigned_abs());
    let moved = if swizzle.shift() >= 0 { read.div(&distance, &Facts::default()) } else { &read * &distance };
    outside + inside.xor(&moved)
}
