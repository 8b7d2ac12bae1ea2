//! Emits elementwise expressions as C++: operators by the rows of the catalogue, and conversions.
//!
//! A value is a C++ expression. Its C++ type is `float`, `double`, `int`, `unsigned`, `long long`, `unsigned long long` or `bool`
//! for the types that C++ has, `int` or `unsigned` for narrower integers, `unsigned` for the bits of `tf32`, and `unsigned short`
//! for the bits of other floats. This module knows no control flow and no memory.

use hx_dtype::{DType, Operator};
use hx_index::Symbol;
use hx_target::{ComputeRow, ConvertRow, catalogue};
use hx_thread::{Compute, Param, Registers};
use hx_tile::Scalar;

use crate::access::{Array, Elements};
use crate::asm::{Asm, Operand, Slots, fill};
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::{Binding, Helper};
use crate::storage::{literal, scalar, word_literal};

type Result<T> = std::result::Result<T, MalformedProgram>;

/// A C++ expression.
#[derive(Clone, Debug)]
struct Value {
    text: String,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// A single word or a call: writing it twice costs nothing.
    Word,
    /// A cast of a word or a call.
    Cast,
    Phrase,
}

impl Value {
    fn word(text: impl Into<String>) -> Value {
        Value { text: text.into(), form: Form::Word }
    }

    fn phrase(text: impl Into<String>) -> Value {
        Value { text: text.into(), form: Form::Phrase }
    }

    /// Casts the value to another C++ type.
    fn cast_to(&self, c_type: &str) -> Value {
        Value { text: format!("({c_type}){}", self.operand()), form: Form::Cast }
    }

    /// Returns the text as an operand of an operator, in parentheses if necessary.
    fn operand(&self) -> String {
        if self.form == Form::Phrase { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// A statement of the sequence that evaluates an expression.
enum Step {
    Text(String),
    Instruction(Instruction),
}

/// An instruction whose result goes to a variable of its own.
struct Instruction {
    row: String,
    template: String,
    result: DType,
    asm: Asm,
}

/// The statements that evaluate one expression.
struct Work<'a> {
    inputs: Vec<Elements<'a>>,
    steps: Vec<Step>,
    /// Subexpressions that already have a variable.
    known: Vec<(Scalar, Value)>,
    count: usize,
}

impl Work<'_> {
    fn variable(&mut self) -> String {
        self.count += 1;
        format!("hx_v{}", self.count - 1)
    }

    /// Makes the instruction that computes `value` write to `place` directly. Works only if that instruction is the last step.
    fn redirect(&mut self, value: &Value, place: &str) -> bool {
        let Some(Step::Instruction(last)) = self.steps.last_mut() else { return false };
        let found = last.asm.outputs.iter_mut().find(|o| o.text == value.text);
        found.map(|output| output.text = place.to_owned()).is_some()
    }
}

impl Emitter<'_> {
    pub(crate) fn compute(&mut self, c: &Compute) -> Result<()> {
        let (index, dst) = self.array(&c.dst)?;
        let arrays = c.inputs.iter().map(|r| self.array(r).map(|(_, a)| a)).collect::<Result<Vec<_>>>()?;
        if c.dst.offsets.len() > 1 {
            return self.compute_packed(c, index, &dst, &arrays);
        }
        let one = |offsets: &[u32]| {
            let (operand, expected, found) = ("value", 1, offsets.len());
            let wrong = || MalformedProgram::Operands { row: "compute".into(), operand, expected, found };
            (found == 1).then_some(()).ok_or_else(wrong)
        };
        one(&c.dst.offsets)?;
        c.inputs.iter().try_for_each(|r| one(&r.offsets))?;
        if c.value.dtype() != dst.dtype {
            return Err(MalformedProgram::Types { left: c.value.dtype(), right: dst.dtype });
        }
        let inputs = arrays.iter().zip(&c.inputs).map(|(array, r)| Elements {
            array,
            base: &r.base,
            offsets: &r.offsets,
        });
        let mut work = Work { inputs: inputs.collect(), steps: Vec::new(), known: Vec::new(), count: 0 };
        let value = self.scalar(&c.value, &mut work)?;
        let target = Elements { array: &dst, base: &c.dst.base, offsets: &c.dst.offsets };
        let after = if dst.dtype.bits() < 32 {
            self.partial.insert(index);
            target.insert(&value.text, &mut self.printer)
        } else {
            let place = target.value(0, &mut self.printer);
            if work.redirect(&value, &place) {
                Vec::new()
            } else {
                vec![format!("{place} = {};", value.text)]
            }
        };
        let direct = |step: &Step| matches!(step, Step::Instruction(i) if after.is_empty() && i.asm.outputs[0].text != "hx_v0");
        if work.steps.is_empty() || matches!(work.steps.as_slice(), [one] if direct(one)) {
            return self.steps(work.steps, &after);
        }
        self.block("", |e| e.steps(work.steps, &after))
    }

    /// Computes several elements at once: each operator takes whole words.
    fn compute_packed(&mut self, c: &Compute, index: usize, dst: &Array, arrays: &[Array]) -> Result<()> {
        let values = c.dst.offsets.len();
        for registers in &c.inputs {
            if registers.offsets.len() != values {
                let (operand, found) = ("value", registers.offsets.len());
                return Err(MalformedProgram::Operands {
                    row: "compute".into(),
                    operand,
                    expected: values as i64,
                    found,
                });
            }
        }
        if c.value.dtype() != dst.dtype || dst.dtype.bits() * values as u32 != 32 {
            return Err(MalformedProgram::Types { left: c.value.dtype(), right: dst.dtype });
        }
        let inputs = arrays.iter().zip(&c.inputs).map(|(array, r)| Elements {
            array,
            base: &r.base,
            offsets: &r.offsets,
        });
        let mut work = Work { inputs: inputs.collect(), steps: Vec::new(), known: Vec::new(), count: 0 };
        let value = self.packed(&c.value, values, &mut work)?;
        let target = Elements { array: dst, base: &c.dst.base, offsets: &c.dst.offsets };
        let whole = target.words(&mut self.printer);
        let after = match whole.as_deref() {
            Some([word]) if work.redirect(&value, word) => Vec::new(),
            _ => {
                self.partial.insert(index);
                target.insert(&value.text, &mut self.printer)
            }
        };
        match work.steps.as_slice() {
            [_] if after.is_empty() => self.steps(work.steps, &after),
            _ => self.block("", |e| e.steps(work.steps, &after)),
        }
    }

    /// Returns a word with the values of an expression for `values` elements.
    fn packed(&mut self, value: &Scalar, values: usize, work: &mut Work<'_>) -> Result<Value> {
        if let Some((_, known)) = work.known.iter().find(|(s, _)| s == value) {
            return Ok(known.clone());
        }
        match value {
            Scalar::Input { index, dtype } => {
                let missing = || MalformedProgram::Missing(format!("input {index} of an expression"));
                let input = *work.inputs.get(*index as usize).ok_or_else(missing)?;
                if input.array.dtype != *dtype {
                    return Err(MalformedProgram::Types { left: input.array.dtype, right: *dtype });
                }
                Ok(Value::phrase(input.read(&mut self.printer).text))
            }
            Scalar::Const { bits, dtype } => Ok(Value::word(literal(*dtype, *bits))),
            Scalar::Apply { operator, dtype, args } => {
                let name = format!("{} of {values} {dtype}", operator.name());
                let row = catalogue().compute_packed(*operator, *dtype);
                let row = row.filter(|row| row.values as usize == values);
                let row = row.ok_or_else(|| MalformedProgram::UnknownRow(name.clone()))?;
                let args: Vec<(Value, DType)> = args
                    .iter()
                    .map(|arg| Ok((self.packed(arg, values, work)?, DType::U32)))
                    .collect::<Result<_>>()?;
                let template = row.ptx.as_deref().unwrap_or_default();
                let result = self.instruction(&name, template, DType::U32, args, work);
                Ok(self.remember(value, result, work))
            }
            _ => Err(MalformedProgram::Missing(format!("`{value}` for {values} elements at once"))),
        }
    }

    /// Declares a number of the block, or assigns its new value.
    pub(crate) fn number(
        &mut self,
        var: &Symbol,
        value: &Scalar,
        inputs: &[Registers],
        declares: bool,
    ) -> Result<()> {
        let arrays = inputs.iter().map(|r| self.array(r).map(|(_, a)| a)).collect::<Result<Vec<_>>>()?;
        let elements = arrays.iter().zip(inputs);
        let elements = elements.map(|(array, r)| Elements { array, base: &r.base, offsets: &r.offsets });
        let mut work = Work { inputs: elements.collect(), steps: Vec::new(), known: Vec::new(), count: 0 };
        let dtype = value.dtype();
        let value = self.scalar(value, &mut work)?;
        if !declares {
            let unbound = || MalformedProgram::Unbound(var.to_string());
            let name = self.printer.name_of(var).ok_or_else(unbound)?.to_owned();
            let set = [format!("{name} = {};", value.text)];
            return self.block("", |e| e.steps(work.steps, &set));
        }
        let changes = self.changes(var);
        let wide = dtype.is_int() && (dtype.bits() == 64 || dtype == DType::U32);
        let narrow = dtype.is_int() && dtype.bits() < 32;
        let c_type = match dtype {
            _ if wide => "long long",
            // As `unsigned`, it would make C++ convert the signed integers of an expression to unsigned.
            _ if narrow => "int",
            dtype => value_type(dtype),
        };
        let name = self.declare(var, wide);
        if dtype == DType::Bool {
            self.printer.bound(var, (Some(0), Some(1)));
        }
        if work.steps.is_empty() {
            let constant = if changes { "" } else { "const " };
            self.statement(&format!("{constant}{c_type} {name} = {};", value.text));
            return Ok(());
        }
        self.statement(&format!("{c_type} {name};"));
        let set = [format!("{name} = {};", value.text)];
        self.block("", |e| e.steps(work.steps, &set))
    }

    fn steps(&mut self, steps: Vec<Step>, after: &[String]) -> Result<()> {
        for step in steps {
            match step {
                Step::Text(text) => self.statement(&text),
                Step::Instruction(Instruction { row, template, result, asm }) => {
                    let count = asm.inputs.len();
                    let slots = |name: &str| match name {
                        "d" => Some(Slots::Outputs(0..1)),
                        _ => name.strip_prefix('s')?.parse().ok().filter(|i| *i < count).map(Slots::Input),
                    };
                    let malformed = |placeholder| MalformedProgram::Template { row, placeholder };
                    let text = asm.statement(&template, &slots, self.indent()).map_err(malformed)?;
                    let name = &asm.outputs[0].text;
                    if name.starts_with("hx_v") {
                        self.statement(&format!("{} {name};", value_type(result)));
                    }
                    self.statement(&text);
                }
            }
        }
        after.iter().for_each(|text| self.statement(text));
        Ok(())
    }

    fn scalar(&mut self, value: &Scalar, work: &mut Work<'_>) -> Result<Value> {
        if let Some((_, known)) = work.known.iter().find(|(s, _)| s == value) {
            return Ok(known.clone());
        }
        match value {
            Scalar::Input { index, dtype } => {
                let missing = || MalformedProgram::Missing(format!("input {index} of an expression"));
                let input = *work.inputs.get(*index as usize).ok_or_else(missing)?;
                if input.array.dtype != *dtype {
                    return Err(MalformedProgram::Types { left: input.array.dtype, right: *dtype });
                }
                Ok(self.element(input))
            }
            Scalar::Index { .. } => Err(MalformedProgram::Missing("the coordinate of an element".into())),
            Scalar::Integer { value, dtype } => {
                let text = self.expr(value)?;
                let from = if text.wide { DType::I64 } else { DType::I32 };
                let form = if text.is_word() { Form::Word } else { Form::Phrase };
                let value = Value { form, text: text.text };
                self.cast(from, *dtype, value, work)
            }
            Scalar::Param { name, dtype } => {
                let is_it = |p: &Param| matches!(p, Param::Scalar { name: own, .. } if own == name);
                let at = self.program.params.iter().position(is_it);
                let at = at.ok_or_else(|| MalformedProgram::Missing(format!("the parameter `{name}`")))?;
                let name = self.params[at].clone();
                Ok(if *dtype == DType::Bool {
                    Value::phrase(format!("{name} != 0"))
                } else {
                    Value::word(name)
                })
            }
            Scalar::Var { var, dtype } => {
                let unbound = || MalformedProgram::Unbound(var.to_string());
                let word = Value::word(self.printer.name_of(var).ok_or_else(unbound)?);
                // Numbers of 64 bits are held as signed integers.
                Ok(if *dtype == DType::U64 { word.cast_to(scalar(DType::U64)) } else { word })
            }
            Scalar::Const { bits, dtype } => Ok(constant(*bits, *dtype)),
            Scalar::Apply { operator, dtype, args } => {
                let result = self.apply(*operator, *dtype, args, work)?;
                Ok(self.remember(value, result, work))
            }
            Scalar::Cast { to, arg } => {
                let from = arg.dtype();
                let arg = self.scalar(arg, work)?;
                let result = self.cast(from, *to, arg, work)?;
                Ok(self.remember(value, result, work))
            }
        }
    }

    /// Records the variable of an expression, so that a later occurrence of the expression reuses it.
    fn remember(&mut self, scalar: &Scalar, value: Value, work: &mut Work<'_>) -> Value {
        if value.form == Form::Word && value.text.starts_with("hx_v") {
            work.known.push((scalar.clone(), value.clone()));
        }
        value
    }

    fn element(&mut self, input: Elements<'_>) -> Value {
        let dtype = input.array.dtype;
        match dtype {
            DType::U64 => Value::word(input.value(0, &mut self.printer)).cast_to("unsigned long long"),
            _ if dtype.bits() >= 32 => Value::word(input.value(0, &mut self.printer)),
            DType::Bool => Value::phrase(format!("{} != 0", input.value(0, &mut self.printer))),
            _ if dtype.is_int() => {
                let bits = Value::word(input.value(0, &mut self.printer));
                if dtype.is_signed() { wrapped(dtype, bits) } else { bits }
            }
            _ => Value::phrase(input.read(&mut self.printer).text),
        }
    }

    fn apply(
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
        if matches!(operator, Operator::Shl | Operator::Shr) && !is_small(args.get(1), wide.bits()) {
            return Ok(wrapped(dtype, self.shift(operator, wide, &values, work)));
        }
        let none = || MalformedProgram::UnknownRow(format!("{} of {dtype}", operator.name()));
        let row = catalogue().compute(operator, unsigned).ok_or_else(none)?;
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

    /// Reports whether C++ defines the quotient by this number for every dividend: the divisor is neither 0 nor -1.
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
            Form::Cast if v.text.starts_with(&format!("({c_type})")) => v.text.clone(),
            _ => v.cast_to(c_type).text,
        };
        let [x, y] = [0, 1].map(|i| values.get(i).map_or_else(String::new, typed));
        Value::word(format!("{name}({x}, {y})"))
    }

    /// Returns the value as a word, in a new variable if necessary.
    fn named(&mut self, value: Value, c_type: &str, work: &mut Work<'_>) -> Value {
        if value.form == Form::Word {
            return value;
        }
        let name = work.variable();
        work.steps.push(Step::Text(format!("const {c_type} {name} = {};", value.text)));
        Value::word(name)
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

    /// Emits one instruction whose result goes into a variable.
    fn instruction(
        &self,
        row: &str,
        template: &str,
        result: DType,
        values: Vec<(Value, DType)>,
        work: &mut Work<'_>,
    ) -> Value {
        let name = work.variable();
        let operand = |dtype, text| Operand { constraint: constraint(dtype), text };
        let asm = Asm {
            outputs: vec![operand(result, name.clone())],
            inputs: values.into_iter().map(|(v, dtype)| operand(dtype, v.text)).collect(),
            ..Asm::default()
        };
        let (row, template) = (row.to_owned(), template.to_owned());
        work.steps.push(Step::Instruction(Instruction { row, template, result, asm }));
        Value::word(name)
    }

    /// Converts a value: to nearest even, or toward zero to an integer.
    fn cast(&mut self, from: DType, to: DType, value: Value, work: &mut Work<'_>) -> Result<Value> {
        if from == to {
            return Ok(value);
        }
        let single = |row: &&ConvertRow| row.values == 1;
        if let Some(row) = catalogue().converts_of(from, to, self.arch).find(single) {
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
        let mut rows = catalogue().converts_of(from, DType::F32, self.arch);
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

    /// Truncates toward zero and saturates to the range of the type.
    fn truncated(&mut self, from: DType, to: DType, value: &Value, work: &mut Work<'_>) -> Value {
        let source = if from == DType::F32 { "float" } else { "double" };
        let wide = match (to.bits(), to.is_signed()) {
            (64, true) => "ll",
            (64, false) => "ull",
            (32, false) => "uint",
            _ => "int",
        };
        let whole = Value::word(format!("__{source}2{wide}_rz({})", value.text));
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

/// Reports whether the amount is a constant below the width of the type.
fn is_small(amount: Option<&Scalar>, bits: u32) -> bool {
    matches!(amount, Some(Scalar::Const { bits: n, .. }) if *n < u64::from(bits))
}

/// Sign- or zero-extends the low bits of a narrow integer. Other types stay as they are.
fn wrapped(dtype: DType, value: Value) -> Value {
    let bits = dtype.bits();
    if !dtype.is_int() || bits >= 32 {
        return value;
    }
    let x = value.operand();
    match (dtype.is_signed(), bits) {
        (true, 8) => Value::phrase(format!("(int)(signed char){x}")),
        (true, 16) => Value::phrase(format!("(int)(short){x}")),
        (true, _) => Value::phrase(format!("(int)((unsigned){x} << {0}) >> {0}", 32 - bits)),
        (false, _) => Value::phrase(format!("{x} & {}", word_literal(dtype.mask() as u32))),
    }
}

/// Returns the C++ type of a value.
pub(crate) fn value_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        _ if dtype.is_int() && dtype.bits() < 32 => {
            if dtype.is_signed() {
                "int"
            } else {
                "unsigned"
            }
        }
        _ if dtype.is_float() && dtype.bits() < 32 => "unsigned short",
        _ => scalar(dtype),
    }
}

/// Returns the constraint letter of an inline-assembly operand that holds a value of this type.
fn constraint(dtype: DType) -> char {
    match dtype {
        DType::F32 => 'f',
        DType::F64 => 'd',
        DType::I64 | DType::U64 => 'l',
        _ if dtype.is_float() && dtype.bits() < 32 => 'h',
        _ => 'r',
    }
}

fn constant(bits: u64, dtype: DType) -> Value {
    let text = match dtype {
        DType::Bool => (bits != 0).to_string(),
        DType::Tf32 | DType::U32 => word_literal(bits as u32),
        DType::U64 => format!("{bits}ULL"),
        _ if dtype.is_int() && dtype.bits() < 32 => {
            if dtype.is_signed() {
                (dtype.decode(bits) as i64).to_string()
            } else {
                word_literal((bits & dtype.mask()) as u32)
            }
        }
        _ if dtype.is_float() && dtype.bits() < 32 => {
            return Value::phrase(format!("(unsigned short){bits:#x}"));
        }
        _ => literal(dtype, bits),
    };
    Value { form: if text.starts_with('-') { Form::Phrase } else { Form::Word }, text }
}

impl crate::expr::Text {
    fn is_word(&self) -> bool {
        self.operand(Binding::Word) == self.text
    }
}
