//! Checks of the registers that a step reads or writes.

use crate::block::Block;
use crate::block::products::Issued;
use crate::code::{Regs, SiteId};
use crate::error::{Fault, SimError};

impl Block<'_> {
    /// Returns the base of `regs`: the element of its array that offset 0 names.
    ///
    /// # Errors
    /// If the base or an offset lies outside of the array.
    pub(crate) fn base(&self, site: SiteId, regs: &Regs) -> Result<usize, SimError> {
        let base = regs.base.scalar(&self.agent.env).map_err(|f| self.failed(site, f))?;
        let array = &self.code.arrays[regs.array];
        let outside = |o: &usize| usize::try_from(base + *o as i64).map_or(true, |at| at >= array.len);
        // Offsets are below 2³². A base outside `0..2³²` is refused here, so that the sums below cannot overflow.
        if !(0..=i64::from(u32::MAX)).contains(&base) || regs.offsets.iter().any(outside) {
            let last = regs.offsets.iter().max().copied().unwrap_or(0) as i64;
            let at = if base < 0 { base } else { base.saturating_add(last) };
            let text = format!("position {at} of the registers `{}`, of {} elements", array.name, array.len);
            return Err(self.error(site, None, Fault::Malformed(text)));
        }
        Ok(base as usize)
    }

    /// Fails if one of these registers was never written, or if a product in flight updates it.
    #[inline]
    pub(crate) fn expect_written(&self, site: SiteId, regs: &Regs, base: usize) -> Result<(), SimError> {
        self.expect_complete(site, regs, base, false)?;
        let written = &self.agent.registers[regs.array].written;
        match regs.offsets.iter().find(|o| !written[base + **o]) {
            None => Ok(()),
            Some(offset) => Err(self.unwritten(site, regs.array, base + offset)),
        }
    }

    #[cold]
    pub(crate) fn unwritten(&self, site: SiteId, array: usize, element: usize) -> SimError {
        let array = self.code.arrays[array].name.clone();
        self.error(site, None, Fault::UninitializedRegister { array, element: element as u32 })
    }

    /// Records a write to these registers.
    ///
    /// # Errors
    /// If one of them belongs to a product in flight.
    #[inline]
    pub(crate) fn set_written(&mut self, site: SiteId, regs: &Regs, base: usize) -> Result<(), SimError> {
        self.expect_complete(site, regs, base, true)?;
        let written = &mut self.agent.registers[regs.array].written;
        for offset in &regs.offsets {
            written[base + offset] = true;
        }
        Ok(())
    }

    /// Fails if an element of these registers belongs to a product in flight: to its accumulator, or to an operand that the
    /// statement writes.
    #[inline]
    pub(crate) fn expect_complete(
        &self,
        site: SiteId,
        regs: &Regs,
        base: usize,
        write: bool,
    ) -> Result<(), SimError> {
        if self.agent.products.is_empty() {
            return Ok(());
        }
        let meets = |offset: &usize| self.in_flight(regs.array, base + offset, write);
        match regs.offsets.iter().find_map(meets) {
            None => Ok(()),
            Some(fault) => Err(self.error(site, None, fault)),
        }
    }

    #[cold]
    fn in_flight(&self, array: usize, element: usize, write: bool) -> Option<Fault> {
        let meets =
            |issued: &&Issued<'_>| issued.updates(array, element) || write && issued.reads(array, element);
        let issued = self.agent.products.issued().find(meets)?;
        Some(Fault::ProductInFlight {
            array: self.code.arrays[array].name.clone(),
            element: element as u32,
            write,
            product: Box::new(self.code.sites[issued.product.site as usize].copying(self.first_thread())),
        })
    }
}
