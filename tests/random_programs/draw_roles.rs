//! Draws what happens at the same time: products in flight, rings of stages, and roles.

use hx_dtype::DType;

use super::draw::Draw;
use super::program::{Feed, Fills, Op, Step, Store};
use crate::support::Random;

/// The rows of boxes, and the rows of tensors that contain boxes, are multiples of this number of bits.
const BOXED: i64 = 128;

/// Reports whether a tile can be stored in boxes.
fn is_boxed(step: &Step) -> bool {
    let bits = i64::from(step.value.dtype.bits());
    let is_whole = |columns: i64| columns * bits % BOXED == 0;
    bits >= 8 && step.margin.is_none() && is_whole(step.value.shape[1]) && is_whole(step.stored[1])
}

/// The most threads of the steps beside which a block has room for three other roles, with registers to spare.
const MANY_THREADS: i64 = 256;

/// The number of threads of a role is a multiple of this.
pub(super) const WARP_GROUP: i64 = 128;

impl Draw {
    /// Draws M, N and K of a product; of a ring often such that groups of warps can multiply the stages where they lie.
    pub(super) fn extents_of_product(&mut self, dtype: DType, ring: bool) -> [i64; 3] {
        if ring && self.threads % WARP_GROUP == 0 && self.percent(60) {
            let k = 256 / i64::from(dtype.bits()) * self.pick(&[1, 2, 4]);
            return [64 * self.pick(&[1, 1, 2]), 8 * self.pick(&[1, 2, 3, 4, 6, 8, 12]), k];
        }
        let [m, n] = self.shape();
        let k = match dtype.bits() {
            4 => self.pick(&[32, 64, 64]),
            8 => self.pick(&[16, 32, 32, 48, 64]),
            _ => self.pick(&[4, 8, 16, 16, 24, 32, 48]),
        };
        [m, n, k]
    }

    /// Draws pipelines, asynchronous products and roles, with random numbers of their own, so that the rest of a program does
    /// not depend on them. Returns whether the program has roles.
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
        let roles = self.threads % WARP_GROUP == 0 && self.threads <= 512 && self.percent(50);
        self.hand_on(roles && self.threads <= MANY_THREADS);
        roles
    }

    /// Draws the tiles that threads hand on. With `roles`, two further roles may take part.
    fn hand_on(&mut self, roles: bool) {
        for at in 0..self.steps.len() {
            let (stored, filled) = (self.percent(50), self.percent(50));
            let both = roles && self.percent(50);
            if roles && stored && self.steps[at].store == Store::Direct {
                self.steps[at].store = Store::Handed;
            }
            if let Op::Product { feed: Feed::Ring { fills, .. }, .. } = &mut self.steps[at].op
                && filled
            {
                *fills = if both { Fills::Both } else { Fills::Threads };
            }
        }
    }
}
