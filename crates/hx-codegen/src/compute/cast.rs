//! Emits conversions between element types.

use hx_dtype::{Class, DType};
use hx_target::ConvertRow;

use super::value::{Value, value_type, wrapped};
use super::{Result, Work};
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Helper;
use crate::storage::{self, CType, scalar, word_literal};

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
        let computes = |dtype: DType| matches!(storage::value(dtype), CType::Float | CType::Double);
        Ok(match (from.class(), to.class()) {
            (_, Class::Bool) => self.truth(from, &value),
            (Class::Bool, Class::Float) if !computes(to) => {
                let one = to.encode(1.0);
                Value::phrase(match storage::value(to) {
                    CType::Unsigned => format!("{} ? {} : 0u", value.operand(), word_literal(one as u32)),
                    pattern => format!("({})({} ? {one:#x} : 0)", pattern.name(), value.operand()),
                })
            }
            (Class::Float, Class::Float) if (from, to) == (DType::F32, DType::Tf32) => {
                self.printer.helpers.insert(Helper::Tf32);
                Value::word(format!("hx_tf32({})", value.text))
            }
            (Class::Float, Class::Float) if (from, to) == (DType::Tf32, DType::F32) => {
                Value::word(format!("__uint_as_float({} & 0xffffe000u)", value.operand()))
            }
            (Class::Float, Class::Int) if computes(from) => self.truncated(from, to, &value, work),
            (Class::Bool | Class::Int, Class::Float) if computes(to) => value.cast_to(scalar(to)),
            (Class::Bool | Class::Int, Class::Int) => wrapped(to, value.cast_to(value_type(to))),
            // A source with more digits than f32 is first rounded to odd in f32. The lost digits then still influence the second
            // rounding.
            (Class::Float, Class::Float) if from == DType::F64 => {
                let odd = self.odd(&value);
                self.cast(DType::F32, to, odd, work)?
            }
            (Class::Bool | Class::Int, Class::Float) => {
                let odd = if from.bits() > 16 { self.odd(&value) } else { value.cast_to("float") };
                self.cast(DType::F32, to, odd, work)?
            }
            (Class::Float, Class::Int | Class::Float) if from != DType::F32 && self.has_f32(from) => {
                let wide = self.cast(from, DType::F32, value, work)?;
                self.cast(DType::F32, to, wide, work)?
            }
            (Class::Float, Class::Int | Class::Float) => return Err(none),
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
    fn truth(&self, from: DType, value: &Value) -> Value {
        let x = value.operand();
        if from.is_scale() {
            // No scale is 0.
            return Value::word("true".to_owned());
        }
        Value::phrase(match (from.float(), storage::value(from)) {
            (Some(_), CType::Float) => format!("{x} != 0.0f"),
            (Some(_), CType::Double) => format!("{x} != 0.0"),
            // The mask covers all bits but the sign, so that -0 counts as 0.
            (Some(format), CType::Unsigned) => format!("({x} & {:#x}u) != 0", format.magnitude_mask()),
            (Some(format), _) => format!("({x} & {:#x}) != 0", format.magnitude_mask()),
            (None, _) => format!("{x} != 0"),
        })
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
