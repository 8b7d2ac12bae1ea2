//! Resolves register operands and checks them against what an instruction takes.

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_thread::{RegId, Registers};

use super::Compilation;
use crate::code::Regs;
use crate::error::SimError;

impl Compilation<'_> {
    pub(super) fn regs(&self, r: &Registers) -> Result<Regs, SimError> {
        let RegId(array) = r.array;
        let Some(a) = self.program.registers.get(array as usize) else {
            return self.malformed(format!("there is no register array {array}"));
        };
        self.own.borrow_mut()[array as usize] = true;
        let base = self.uniform(&r.base, "the register position")?;
        if !self.is_fixed(&r.base) {
            return self.malformed(format!(
                "the position `{}` in the registers `{}` depends on more than counters of unrolled loops",
                r.base, a.name
            ));
        }
        if let (Some(base), Some(&top)) = (base.as_const(), r.offsets.iter().max())
            && (base < 0 || base.saturating_add(i64::from(top)) >= i64::from(a.len))
        {
            let at = if base < 0 { base } else { base.saturating_add(i64::from(top)) };
            return self
                .malformed(format!("position {at} of the registers `{}`, of {} elements", a.name, a.len));
        }
        Ok(Regs { array: array as usize, base, offsets: r.offsets.iter().map(|o| *o as usize).collect() })
    }

    /// Resolves registers that an instruction writes.
    ///
    /// # Errors
    /// If a register occurs twice, or the program has no such registers.
    pub(super) fn written(&self, r: &Registers) -> Result<Regs, SimError> {
        let regs = self.regs(r)?;
        let mut seen = BTreeSet::new();
        match regs.offsets.iter().find(|o| !seen.insert(**o)) {
            Some(o) => {
                let name = &self.program.array(r.array).name;
                self.malformed(format!(
                    "offset {o} occurs twice among registers of `{name}` that are written"
                ))
            }
            None => Ok(regs),
        }
    }

    pub(super) fn expect_values(
        &self,
        row: impl std::fmt::Display,
        what: &str,
        found: usize,
        want: i64,
    ) -> Result<(), SimError> {
        if found as i64 == want {
            return Ok(());
        }
        self.malformed(format!("{found} {what} where `{row}` takes {want}"))
    }

    pub(super) fn expect_type(
        &self,
        row: impl std::fmt::Display,
        r: &Registers,
        want: DType,
    ) -> Result<(), SimError> {
        let found = self.program.array(r.array);
        if found.dtype == want {
            return Ok(());
        }
        self.malformed(format!(
            "the registers `{}` hold {} where `{row}` takes {want}",
            found.name, found.dtype
        ))
    }

    pub(super) fn expect_lanes(&self, row: impl std::fmt::Display, lanes: u32) -> Result<(), SimError> {
        if lanes > 0 && self.threads.is_multiple_of(lanes as usize) {
            return Ok(());
        }
        self.malformed(format!("{} threads do not divide among the {lanes} lanes of `{row}`", self.threads))
    }
}
