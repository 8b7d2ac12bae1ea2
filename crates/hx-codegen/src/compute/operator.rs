//! Emits operators, by the rows of the catalogue and with the results that the language defines: integers wrap, and no shift and
//! no division is undefined.

use hx_dtype::{DType, Operator};
use hx_target::{ComputeRow, Feature};
use hx_tile::Scalar;

use super::value::{Form, Value, value_type, wrapped};
use super::{Result, Work};
use crate::asm::fill;
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Helper;
use crate::storage::scalar;

impl Emitter<'_> {
    pub(super) fn apply(
        &mut self,
        operator: Operator,
        dtype: DType,
        args: &[Scalar],
        work: &mut Work<'_>,
    ) -> Result<Value> {
        let mut values = args.iter().map(|a| self.scalar(a, work)).collect::<Result<Vec<_>>>()?;
        // Narrow integers are computed in 32 bits and truncated afterwards.
        let wide = match dtype {
            _ if dtype.is_int() && dtype.bits() < 32 && dtype.is_signed() => DType::I32,
            _ if dtype.is_int() && dtype.bits() < 32 => DType::U32,
            other => other,
        };
        // Signed sums and products must wrap. In C++ only unsigned ones do, with the same bits.
        let wraps = matches!(operator, Operator::Add | Operator::Sub | Operator::Mul | Operator::Neg);
        let unsigned = match wide {
            DType::I32 if wraps => DType::U32,
            DType::I64 if wraps => DType::U64,
            other => other,
        };
        if unsigned != wide {
            for (value, arg) in values.iter_mut().zip(args) {
                if !matches!(arg, Scalar::Const { .. }) || value.form != Form::Word {
                    *value = value.cast_to(scalar(unsigned));
                }
            }
        }
        if matches!(operator, Operator::Shl | Operator::Shr) && !self.is_small(args.get(1), wide.bits()) {
            return Ok(wrapped(dtype, self.shift(operator, wide, &values, work)));
        }
        if matches!(operator, Operator::Min | Operator::Max)
            && wide == DType::I32
            && self.program.target.has(Feature::FusedExtremes)
        {
            return Ok(wrapped(dtype, self.extreme(operator, &values)));
        }
        let none = || MalformedProgram::UnknownRow(format!("{} of {dtype}", operator.name()));
        let row = self.program.target.rows().compute(operator, unsigned).ok_or_else(none)?;
        if matches!(operator, Operator::Div | Operator::Rem)
            && wide.is_int()
            && !self.divides(args.get(1), wide)
        {
            return Ok(wrapped(dtype, self.division(operator, wide, &values)));
        }
        let result = self.row(row, operator, unsigned, values, work)?;
        let result = if unsigned == wide { result } else { result.cast_to(scalar(wide)) };
        Ok(if operator.is_comparison() { result } else { wrapped(dtype, result) })
    }

    /// Emits a shift whose amount may reach the width of the type, for which C++ defines no result.
    fn shift(&mut self, operator: Operator, dtype: DType, values: &[Value], work: &mut Work<'_>) -> Value {
        let [x, by] = [0, 1].map(|i| self.named(values[i].clone(), scalar(dtype), work).text);
        let bits = dtype.bits();
        let inside = format!("(unsigned long long){by} < {bits}");
        Value::phrase(match operator {
            Operator::Shl => format!("{inside} ? {x} << {by} : 0"),
            _ if dtype.is_signed() => format!("{x} >> ({inside} ? {by} : {})", bits - 1),
            _ => format!("{inside} ? {x} >> {by} : 0"),
        })
    }

    /// Reports whether the amount is known to be below the width of the type.
    fn is_small(&self, amount: Option<&Scalar>, bits: u32) -> bool {
        match amount {
            Some(Scalar::Const { bits: n, .. }) => *n < u64::from(bits),
            Some(Scalar::Integer { value, .. }) => {
                let (low, high) = self.printer.facts.range(value);
                low.is_some_and(|low| low >= 0) && high.is_some_and(|high| high < i64::from(bits))
            }
            _ => false,
        }
    }

    /// Emits a minimum or maximum of two signed integers. See [`Helper::Least`].
    fn extreme(&mut self, operator: Operator, values: &[Value]) -> Value {
        let (helper, name) = match operator {
            Operator::Min => (Helper::Least, "hx_least"),
            _ => (Helper::Most, "hx_most"),
        };
        self.printer.helpers.insert(helper);
        let [x, y] = [0, 1].map(|i| values.get(i).map_or_else(String::new, |value| value.text.clone()));
        Value::word(format!("{name}({x}, {y})"))
    }

    /// Reports whether C++ defines the quotient by this number for every dividend: the divisor is known to be neither 0 nor -1.
    fn divides(&self, divisor: Option<&Scalar>, dtype: DType) -> bool {
        match divisor {
            Some(Scalar::Const { bits, dtype: own }) => {
                *bits != 0 && !(dtype.is_signed() && own.sign_extend(*bits) == -1)
            }
            Some(Scalar::Integer { value, dtype: own }) => {
                let (low, high) = self.printer.facts.range(value);
                let held = |x: i64| own.bits() == 64 || x >> (own.bits() - 1) == 0;
                low.is_some_and(|low| low > 0) && high.is_some_and(held)
            }
            _ => false,
        }
    }

    /// Emits a quotient or remainder by a divisor that may be 0 or -1.
    fn division(&mut self, operator: Operator, dtype: DType, values: &[Value]) -> Value {
        let (wide, signed) = (dtype.bits() == 64, dtype.is_signed());
        let (helper, name) = match (operator, signed) {
            (Operator::Div, true) => (Helper::FloorDiv { wide }, "hx_floor_div"),
            (Operator::Div, false) => (Helper::Div { wide, signed }, "hx_div"),
            (_, true) => (Helper::FloorMod { wide }, "hx_floor_mod"),
            (_, false) => (Helper::Mod { wide, signed }, "hx_mod"),
        };
        self.printer.helpers.insert(helper);
        // The types of the arguments select the overload.
        let c_type = scalar(dtype);
        let typed = |v: &Value| match v.form {
            Form::Cast(own) if own == c_type => v.text.clone(),
            _ => v.cast_to(c_type).text,
        };
        let [x, y] = [0, 1].map(|i| values.get(i).map_or_else(String::new, typed));
        Value::word(format!("{name}({x}, {y})"))
    }

    fn row(
        &mut self,
        row: &ComputeRow,
        operator: Operator,
        dtype: DType,
        values: Vec<Value>,
        work: &mut Work<'_>,
    ) -> Result<Value> {
        let name = format!("{} of {dtype}", operator.name());
        let source = |name: &str| name.strip_prefix('s')?.parse::<usize>().ok();
        if let Some(template) = &row.c {
            let mut values = values;
            for (i, value) in values.iter_mut().enumerate() {
                let is_condition = operator == Operator::Select && i == 0;
                let c_type = if is_condition { "bool" } else { value_type(dtype) };
                if template.matches(&format!("{{s{i}}}")).count() > 1 {
                    *value = self.named(value.clone(), c_type, work);
                }
            }
            let text = fill(template, &|name, enclosed| {
                let value = values.get(source(name)?)?;
                Some(if enclosed { value.text.clone() } else { value.operand() })
            });
            return text
                .map(Value::phrase)
                .map_err(|placeholder| MalformedProgram::Template { row: name, placeholder });
        }
        let template = row.ptx.as_deref().unwrap_or_default();
        let result = operator.result(dtype);
        let values = values.into_iter().map(|v| (v, dtype)).collect();
        Ok(self.instruction(&name, template, result, values, work))
    }
}
