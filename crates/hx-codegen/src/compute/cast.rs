//! Emits conversions between element types.

use hx_dtype::DType;
use hx_target::ConvertRow;

use super::value::{Value, value_type, wrapped};
use super::{Result, Work};
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Helper;
use crate::storage::{scalar, word_literal};

impl Emitter<'_> {
    /// Converts a value. A conversion to a float rounds to nearest even. A float becomes an integer toward zero, saturated to
    /// the range of the type; an integer wraps to a narrower one. A bool says whether the value is not 0.
    pub(super) fn cast(
        &mut self,
        from: DType,
        to: DType,
        value: Value,
        work: &mut Work<'_>,
    ) -> Result<Value> {
        if from == to {
            return Ok(value);
        }
        let single = |row: &&ConvertRow| row.values == 1;
        if let Some(row) = self.program.target.rows().converts_of(from, to).find(single) {
            self.emitted.insert(row.name.clone());
            return Ok(self.instruction(&row.name, &row.ptx, to, vec![(value, from)], work));
        }
        let none = MalformedProgram::UnknownRow(format!("a conversion from {from} to {to}"));
        Ok(match (from, to) {
            (_, DType::Bool) => self.truth(from, &value)?,
            (DType::Bool, _) if to.bits() < 32 && to.is_float() => {
                let one = to.encode(1.0);
                Value::phrase(format!("(unsigned short)({} ? {one:#x} : 0)", value.operand()))
            }
            (DType::Bool, DType::Tf32) => {
                Value::phrase(format!("{} ? {} : 0u", value.operand(), word_literal(to.encode(1.0) as u32)))
            }
            (DType::F32, DType::Tf32) => {
                self.printer.helpers.insert(Helper::Tf32);
                Value::word(format!("hx_tf32({})", value.text))
            }
            (DType::Tf32, DType::F32) => {
                Value::word(format!("__uint_as_float({} & 0xffffe000u)", value.operand()))
            }
            (DType::F32 | DType::F64, _) if to.is_int() => self.truncated(from, to, &value, work),
            (_, DType::F32 | DType::F64) if !from.is_float() => value.cast_to(scalar(to)),
            (_, _) if !from.is_float() && to.is_int() => wrapped(to, value.cast_to(value_type(to))),
            // A source with more digits than f32 is first rounded to odd in f32. The lost digits then still influence the second
            // rounding.
            (DType::F64, _) if to.is_float() => {
                let odd = self.odd(&value);
                self.cast(DType::F32, to, odd, work)?
            }
            (_, _) if !from.is_float() && to.is_float() => {
                let odd = if from.bits() > 16 { self.odd(&value) } else { value.cast_to("float") };
                self.cast(DType::F32, to, odd, work)?
            }
            (_, _) if from != DType::F32 && self.has_f32(from) => {
                let wide = self.cast(from, DType::F32, value, work)?;
                self.cast(DType::F32, to, wide, work)?
            }
            _ => return Err(none),
        })
    }

    /// Reports whether this type converts to f32 directly.
    fn has_f32(&self, from: DType) -> bool {
        let mut rows = self.program.target.rows().converts_of(from, DType::F32);
        from == DType::Tf32 || rows.any(|row| row.values == 1)
    }

    fn odd(&mut self, value: &Value) -> Value {
        self.printer.helpers.insert(Helper::Odd);
        Value::word(format!("hx_odd({})", value.text))
    }

    /// Returns a C++ condition: the value is not 0.
    fn truth(&mut self, from: DType, value: &Value) -> Result<Value> {
        let x = value.operand();
        Ok(Value::phrase(match from {
            DType::F32 => format!("{x} != 0.0f"),
            DType::F64 => format!("{x} != 0.0"),
            DType::Tf32 => format!("({x} & 0x7fffe000u) != 0"),
            _ if from.is_int() => format!("{x} != 0"),
            // The mask covers all bits but the sign, so that -0 counts as 0.
            _ => format!("({x} & {:#x}) != 0", from.mask() >> 1),
        }))
    }

    /// Truncates toward zero and saturates to the range of the type; NaN becomes 0. From `f64`, and to 64 bits, the instruction gives
    /// another number for NaN: the lowest one, or half of the range of an unsigned type (PTX ISA, `cvt`).
    fn truncated(&mut self, from: DType, to: DType, value: &Value, work: &mut Work<'_>) -> Value {
        let source = if from == DType::F32 { "float" } else { "double" };
        let wide = match (to.bits(), to.is_signed()) {
            (64, true) => "ll",
            (64, false) => "ull",
            (32, false) => "uint",
            _ => "int",
        };
        let whole = if from == DType::F64 || to.bits() == 64 {
            let x = self.named(value.clone(), source, work).text;
            Value::phrase(format!("{x} == {x} ? __{source}2{wide}_rz({x}) : 0"))
        } else {
            Value::word(format!("__{source}2{wide}_rz({})", value.text))
        };
        if to.bits() >= 32 {
            return whole;
        }
        let (lo, hi) = if to.is_signed() {
            (-(1i64 << (to.bits() - 1)), (1i64 << (to.bits() - 1)) - 1)
        } else {
            (0, (1i64 << to.bits()) - 1)
        };
        let whole = self.named(whole, "int", work);
        let clamped = format!("max({lo}, min({hi}, {}))", whole.text);
        if to.is_signed() { Value::word(clamped) } else { Value::phrase(format!("(unsigned){clamped}")) }
    }
}
