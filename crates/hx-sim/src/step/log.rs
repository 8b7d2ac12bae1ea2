//! Records prints and assertions.

use hx_thread::LogKind;

use crate::block::Block;
use crate::code::{Put, SiteId};
use crate::error::{Fault, SimError};
use crate::formula::Test;

impl<'a> Block<'a> {
    pub(crate) fn put(&mut self, p: &'a Put) -> Result<(), SimError> {
        // The scratch is not put back on an error, because an error ends the block.
        let mut scratch = std::mem::take(&mut self.agent.scratch);
        let base = self.base(p.site, &p.value)?;
        match &p.guard {
            Test::Const(true) => scratch.mask.fill(true),
            guard => {
                guard
                    .lanes(&mut self.agent.env, None, &mut scratch.mask)
                    .map_err(|f| self.failed(p.site, f))?;
            }
        }
        if scratch.mask.contains(&true) {
            self.expect_written(p.site, &p.value, base)?;
            let mask = Some(&scratch.mask[..]);
            let done = p.position.lanes(&mut self.agent.env, mask, &mut scratch.offsets);
            done.map_err(|f| self.failed(p.site, f))?;
            let mut sides = Vec::with_capacity(p.sides.len());
            for side in &p.sides {
                let base = self.base(p.site, side)?;
                self.expect_written(p.site, side, base)?;
                sides.push((side.array, (base + side.offsets[0]) * self.agent.threads));
            }
            let first = (base + p.value.offsets[0]) * self.agent.threads;
            for (thread, (position, active)) in scratch.offsets.iter().zip(&scratch.mask).enumerate() {
                if *active {
                    let bits = self.agent.registers[p.value.array].bits[first + thread];
                    let side = |at: usize| {
                        let side = sides.get(at).map(|(array, first)| (*array, first + thread));
                        side.map_or(0, |(array, at)| self.agent.registers[array].bits[at])
                    };
                    let sides = [side(0), side(1)];
                    self.put_element(p, thread, *position, (bits, sides))?;
                }
            }
        }
        self.agent.scratch = scratch;
        Ok(())
    }

    fn put_element(
        &mut self,
        p: &Put,
        thread: usize,
        position: i64,
        (bits, sides): (u64, [u64; 2]),
    ) -> Result<(), SimError> {
        let position = match u64::try_from(position).ok().filter(|at| *at < p.elements) {
            Some(position) => position,
            None => return Err(self.outside(p.site, thread, position, p.elements)),
        };
        match self.code.log[p.entry].kind {
            LogKind::Print => {
                self.log.set_element(self.agent.number, position, &bits.to_le_bytes()[..p.width]);
            }
            LogKind::Assert if bits == 0 => {
                self.log.count_failure(self.agent.number, p.entry, position, sides);
            }
            LogKind::Assert => {}
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, site: SiteId, thread: usize, position: i64, elements: u64) -> SimError {
        let text = format!("position {position} of a record of {elements} elements");
        self.error(site, Some(thread), Fault::Malformed(text))
    }
}
