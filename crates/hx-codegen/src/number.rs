//! Emits the reads of single numbers from tensors.

use hx_dtype::DType;
use hx_index::{Cond, Symbol};
use hx_thread::{Address, Registers};

use crate::access::Elements;
use crate::emit::{Emitter, MalformedProgram};
use crate::storage::scalar;

impl Emitter<'_> {
    /// Reads one element of a tensor into a local number of the block: an integer of at least 8 bits, a float of at least 16
    /// bits, or a bool.
    pub(crate) fn load_integer(&mut self, var: &Symbol, address: &Address) -> Result<(), MalformedProgram> {
        let (element, dtype) = self.element_of(address)?;
        let (bits, signed) = (dtype.bits(), dtype.is_signed_int());
        let changes = self.changes(var);
        if dtype.is_float() && bits >= 16 || dtype == DType::Bool {
            let name = self.declare(var, false);
            let c_type = crate::compute::value_type(dtype);
            let truth = if dtype == DType::Bool { " != 0" } else { "" };
            let constant = if changes { "" } else { "const " };
            self.statement(&format!("{constant}{c_type} {name} = {element}{truth};"));
            return Ok(());
        }
        if bits < 8 || dtype.is_float() {
            return Err(MalformedProgram::Width { row: "a local number".into(), dtype });
        }
        let wide = changes || bits == 64 || (bits == 32 && !signed);
        let name = self.declare(var, wide);
        let range = match (bits, signed) {
            _ if changes => (None, None),
            (64, _) => (None, None),
            (_, true) => (Some(-1 << (bits - 1)), Some((1 << (bits - 1)) - 1)),
            (_, false) => (Some(0), Some((1 << bits) - 1)),
        };
        self.printer.bound(var, range);
        let constant = if changes { "" } else { "const " };
        let c_type = if wide { "long long" } else { "int" };
        // Memory holds narrow integers as unsigned words.
        let cut = if signed && bits < 32 { format!("({})", scalar(dtype)) } else { String::new() };
        self.statement(&format!("{constant}{c_type} {name} = {cut}{element};"));
        Ok(())
    }

    /// Reads an integer in each thread for which `guard` holds; the other threads get -1.
    pub(crate) fn load_index(
        &mut self,
        var: &Symbol,
        address: &Address,
        guard: &Cond,
    ) -> Result<(), MalformedProgram> {
        let (element, dtype) = self.element_of(address)?;
        let (bits, signed) = (dtype.bits(), dtype.is_signed_int());
        if bits < 8 || !dtype.is_int() {
            return Err(MalformedProgram::Width { row: "a local integer".into(), dtype });
        }
        let wide = bits == 64 || (bits == 32 && !signed);
        let cond = match guard {
            Cond::True => None,
            guard => Some(self.cond(guard)?),
        };
        let c_type = if wide { "long long" } else { "int" };
        let cut = if signed && bits < 32 { scalar(dtype) } else { c_type };
        let name = self.declare(var, wide);
        let range = match (bits, signed) {
            (64, _) => (None, None),
            (_, true) => (Some(-1 << (bits - 1)), Some((1 << (bits - 1)) - 1)),
            (_, false) => (Some(-1), Some((1 << bits) - 1)),
        };
        self.printer.bound(var, range);
        let value = format!("({cut}){element}");
        let value = cond.map_or(value.clone(), |cond| format!("({cond}) ? {value} : -1"));
        self.statement(&format!("const {c_type} {name} = {value};"));
        Ok(())
    }

    /// Reads an integer of each thread from its registers.
    pub(crate) fn read_index(&mut self, var: &Symbol, src: &Registers) -> Result<(), MalformedProgram> {
        let (_, array) = self.array(src)?;
        let (dtype, bits, signed) = (array.dtype, array.dtype.bits(), array.dtype.is_signed_int());
        if bits < 8 || !dtype.is_int() {
            return Err(MalformedProgram::Width { row: "a local integer".into(), dtype });
        }
        let element = Elements { array: &array, base: &src.base, offsets: &src.offsets };
        let text = element.value(0, &mut self.printer);
        let wide = bits == 64 || (bits == 32 && !signed);
        let c_type = if wide { "long long" } else { "int" };
        // Registers hold the bits of an element in a wider word.
        let cut = match (bits, signed) {
            (32, false) => "(unsigned)",
            (..32, true) => &format!("({})", scalar(dtype)),
            _ => "",
        };
        let name = self.declare(var, wide);
        let range = match (bits, signed) {
            (64, _) => (None, None),
            (_, true) => (Some(-1 << (bits - 1)), Some((1 << (bits - 1)) - 1)),
            (_, false) => (Some(0), Some((1 << bits) - 1)),
        };
        self.printer.bound(var, range);
        let value = if cut.is_empty() { text } else { format!("{cut}({text})") };
        self.statement(&format!("const {c_type} {name} = {value};"));
        Ok(())
    }
}
