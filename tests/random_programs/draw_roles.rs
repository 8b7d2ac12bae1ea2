//! Draws what happens at the same time: products in flight, rings of stages, and roles.

use super::draw::Draw;
use super::program::{Feed, Op, Step, Store};
use crate::support::Random;

/// The rows of boxes, and the rows of tensors that boxes are part of, are multiples of so many bits.
const BOXED: i64 = 128;

/// Reports whether a tile can be stored in boxes.
fn is_boxed(step: &Step) -> bool {
    let bits = i64::from(step.value.dtype.bits());
    let is_whole = |columns: i64| columns * bits % BOXED == 0;
    bits >= 8 && step.margin.is_none() && is_whole(step.value.shape[1]) && is_whole(step.stored[1])
}

/// The threads of a role are a multiple of so many.
pub(super) const WARP_GROUP: i64 = 128;

impl Draw {
    /// Draws pipelines, asynchronous products and roles. The numbers are separate ones, so that the rest of a program does not
    /// depend on them. Returns whether the program has roles.
    pub(super) fn in_flight(&mut self, seed: u64, case: u64) -> bool {
        self.random = Random::new(!seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if self.percent(30) {
            self.product(true);
        }
        for at in 0..self.steps.len() {
            let late = self.percent(50);
            if self.percent(25) && is_boxed(&self.steps[at]) {
                self.steps[at].store = Store::Boxes;
            }
            if let Op::Product { feed, asynchronous, .. } = &mut self.steps[at].op {
                *asynchronous = late && *feed != Feed::Registers;
            }
        }
        self.threads % WARP_GROUP == 0 && self.threads <= 512 && self.percent(50)
    }
}
