//! Compiles the definitions of names: expressions, numbers computed from data, and integers read from memory.

use hx_index::{Cond, Expr, Symbol};
use hx_thread::{Address, Memory, Param, Registers};

use super::{Compilation, Local};
use crate::code::{LoadIndex, LoadInteger, Mem, ReadIndex, SetNumber, Step};
use crate::error::SimError;
use crate::formula::Binding;

impl Compilation<'_> {
    pub(super) fn local(&mut self, var: &Symbol, value: &Expr) -> Result<(Local, Option<Step>), SimError> {
        let site = self.site;
        if self.changing.contains(var) {
            let value = self.uniform(value, &format!("the value of `{var}`, which changes,"))?;
            let slot = self.new_slot(var);
            let local = Local { binding: Binding::Slot(slot), fixed: false, changes: true };
            return Ok((local, Some(Step::SetSlot { site, slot, value })));
        }
        let (formula, fixed) = (self.formula(value)?, self.is_fixed(value));
        if let Some(binding) = formula.known() {
            return Ok((Local { binding, fixed, changes: false }, None));
        }
        let (binding, step) = if formula.varying() {
            let lanes = self.lanes;
            self.lanes += 1;
            (Binding::Lanes(lanes), Step::SetLanes { site, lanes, value: formula })
        } else {
            let slot = self.new_slot(var);
            (Binding::Slot(slot), Step::SetSlot { site, slot, value: formula })
        };
        Ok((Local { binding, fixed, changes: false }, Some(step)))
    }

    pub(super) fn let_number(
        &mut self,
        var: &Symbol,
        value: &hx_tile::Scalar,
        inputs: &[Registers],
    ) -> Result<(Local, Step), SimError> {
        let slot = self.new_slot(var);
        let step = self.number(var, slot, value, inputs)?;
        let changes = self.changing.contains(var);
        Ok((Local { binding: Binding::Slot(slot), fixed: false, changes }, step))
    }

    pub(super) fn assign_number(&mut self, var: &Symbol, value: &hx_tile::Scalar) -> Result<Step, SimError> {
        match self.scope.get(var) {
            Some(Local { binding: Binding::Slot(slot), changes: true, .. }) => {
                let slot = *slot;
                self.number(var, slot, value, &[])
            }
            _ => self.malformed(format!("`{var}` is changed, but is not a local number")),
        }
    }

    fn number(
        &mut self,
        var: &Symbol,
        slot: u32,
        value: &hx_tile::Scalar,
        inputs: &[Registers],
    ) -> Result<Step, SimError> {
        let dtype = value.dtype();
        let value = self.evaluate(value, inputs)?;
        Ok(Step::SetNumber(Box::new(SetNumber { slot, dtype, name: var.to_string(), value })))
    }

    pub(super) fn assign(&mut self, var: &Symbol, value: &Expr) -> Result<Step, SimError> {
        let value = self.uniform(value, &format!("the value of `{var}`, which changes,"))?;
        match self.scope.get(var) {
            Some(Local { binding: Binding::Slot(slot), changes: true, .. }) => {
                Ok(Step::SetSlot { site: self.site, slot: *slot, value })
            }
            Some(_) => self.malformed(format!("`{var}` is changed, but is not a local integer")),
            None => self.malformed(format!("`{var}` is changed where there is no such integer")),
        }
    }

    pub(super) fn load_index(
        &mut self,
        var: &Symbol,
        address: &Address,
        guard: &Cond,
    ) -> Result<(Local, Step), SimError> {
        let lanes = self.lanes;
        self.lanes += 1;
        let (memory, dtype) = match address.memory {
            Memory::Global(p) => match self.program.params.get(p as usize) {
                Some(Param::Tensor(t)) if !t.mutable => (Mem::Global(p as usize), t.dtype),
                Some(Param::Tensor(t)) => {
                    return self.malformed(format!("`{var}` is read from `{}`, which is `mut`", t.name));
                }
                _ => return self.malformed(format!("parameter {p} is not a tensor")),
            },
            Memory::Shared(s) => match self.program.shared.get(s as usize) {
                Some(buffer) => (Mem::Shared(s as usize), buffer.dtype),
                None => return self.malformed(format!("there is no shared tensor {s}")),
            },
        };
        if !dtype.is_int() || dtype.bits() < 8 {
            return self.malformed(format!("`{var}` is an integer, but is read from elements of {dtype}"));
        }
        if matches!(memory, Mem::Shared(_)) {
            self.granule = self.granule.min(dtype.bits() as usize / 8);
        }
        let (offset, guard) = (self.formula(&address.offset)?, self.test(guard)?);
        let load = LoadIndex { site: self.site, lanes, memory, offset, guard, dtype };
        Ok((Local::new(Binding::Lanes(lanes)), Step::LoadIndex(Box::new(load))))
    }

    pub(super) fn read_index(&mut self, var: &Symbol, src: &Registers) -> Result<(Local, Step), SimError> {
        let lanes = self.lanes;
        self.lanes += 1;
        let (regs, dtype) = (self.regs(src)?, self.program.array(src.array).dtype);
        self.expect_values("an index", "registers", regs.offsets.len(), 1)?;
        if !dtype.is_int() || dtype.bits() < 8 {
            return self.malformed(format!("`{var}` is an integer, but is read from elements of {dtype}"));
        }
        let read = ReadIndex { site: self.site, lanes, regs, dtype };
        Ok((Local::new(Binding::Lanes(lanes)), Step::ReadIndex(Box::new(read))))
    }

    pub(super) fn load_integer(
        &mut self,
        var: &Symbol,
        address: &Address,
    ) -> Result<(Local, Step), SimError> {
        let Memory::Global(p) = address.memory else {
            return self.malformed(format!("`{var}` is read from shared memory, where it may differ"));
        };
        let Some(Param::Tensor(t)) = self.program.params.get(p as usize) else {
            return self.malformed(format!("parameter {p} is not a tensor"));
        };
        if t.mutable {
            let text = "whose elements are not the same for all threads, as it is `mut`";
            return self.malformed(format!("`{var}` is read from `{}`, {text}", t.name));
        }
        if t.dtype.bits() < 8 {
            return self.malformed(format!("`{var}` is a number, but `{}` holds {}", t.name, t.dtype));
        }
        let offset = self.uniform(&address.offset, "the position")?;
        let slot = self.new_slot(var);
        let changes = self.changing.contains(var);
        let load = LoadInteger { site: self.site, slot, tensor: p as usize, offset, dtype: t.dtype };
        Ok((Local { binding: Binding::Slot(slot), fixed: false, changes }, Step::LoadInteger(Box::new(load))))
    }

    pub(super) fn new_slot(&mut self, name: &Symbol) -> u32 {
        self.names.push((self.slots, name.clone()));
        self.slots += 1;
        self.slots - 1
    }
}
