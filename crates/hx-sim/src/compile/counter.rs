//! Compiles loops over counters.

use std::collections::BTreeMap;

use hx_dtype::DType;
use hx_index::Symbol;
use hx_thread::{Draw, Drawn, Param, ThreadProgram};

use super::{Compilation, Local};
use crate::code::{CounterCode, DrawCode, DrawnCode, Site, SiteId, Step};
use crate::error::{Fault, SimError};
use crate::formula::Binding;

/// Evaluates the counters of a launch.
///
/// # Errors
/// If a counter counts in no mutable `i32` tensor or lacks its barriers, or its limit has no value.
pub(super) fn counters(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
) -> Result<Vec<CounterCode>, SimError> {
    let counter = |counter: &hx_thread::Counter| {
        let malformed = |text: String| SimError::from(Fault::Malformed(text));
        let name = counter.name.clone();
        let is_counter =
            |param: &&Param| matches!(param, Param::Tensor(t) if t.mutable && t.dtype == DType::I32);
        let param = program.params.get(counter.param as usize);
        param
            .filter(is_counter)
            .ok_or_else(|| malformed(format!("`{name}` counts in no mutable `i32` tensor")))?;
        let (full, empty) = (counter.full as usize, counter.empty as usize);
        let stages = [full, empty].map(|at| program.barriers.get(at).map(|barrier| barrier.stages));
        if stages[0].is_none() || stages[0] != stages[1] {
            return Err(malformed(format!("`{name}` has no two barriers for each ticket")));
        }
        let limit = counter.limit.eval(&|s: &Symbol| symbols.get(s).copied()).map_err(Fault::Eval)?;
        let (tensor, origin) = (counter.param as usize, counter.origin);
        Ok(CounterCode { name, tensor, limit, full, empty, origin })
    };
    program.counters.iter().map(counter).collect()
}

impl<'a> Compilation<'a> {
    fn counter(&self, counter: u32) -> Result<&'a hx_thread::Counter, SimError> {
        match self.program.counters.get(counter as usize) {
            Some(counter) => Ok(counter),
            None => self.malformed(format!("there is no counter {counter}")),
        }
    }

    pub(super) fn draw(&mut self, draw: &Draw) -> Result<Step, SimError> {
        let counter = self.counter(draw.counter)?;
        let site = self.sites.len() as SiteId;
        self.sites.push(Site {
            op: None,
            origin: Some(counter.origin),
            title: format!("draw {}", counter.name),
            acquires: false,
        });
        Ok(Step::Draw(DrawCode {
            site,
            counter: draw.counter as usize,
            index: self.uniform(&draw.index, "the ticket")?,
            parity: self.uniform(&draw.parity, "the parity")?,
        }))
    }

    pub(super) fn drawn(&mut self, drawn: &'a Drawn) -> Result<Step, SimError> {
        let counter = self.counter(drawn.counter)?;
        let site = self.sites.len() as SiteId;
        let title = format!("for {} in {}", drawn.var, counter.name);
        self.sites.push(Site { op: None, origin: Some(drawn.origin), title, acquires: false });
        let index = self.uniform(&drawn.index, "the ticket")?;
        let parity = self.uniform(&drawn.parity, "the parity")?;
        let slot = self.new_slot(&drawn.var);
        let local = Local { binding: Binding::Slot(slot), fixed: false, changes: false };
        let outer = self.scope.insert(drawn.var.clone(), local);
        let body = self.body(&drawn.body);
        match outer {
            Some(local) => self.scope.insert(drawn.var.clone(), local),
            None => self.scope.remove(&drawn.var),
        };
        let counter = drawn.counter as usize;
        Ok(Step::Drawn(Box::new(DrawnCode { site, counter, index, parity, slot, body: body? })))
    }
}
