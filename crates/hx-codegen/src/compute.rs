//! Emits elementwise expressions as C++: operators by the rows of the catalogue, and conversions.
//!
//! A value is a C++ expression. Its C++ type is `float`, `double`, `int`, `unsigned`, `long long`, `unsigned long long` or `bool`
//! for the types that C++ has, `int` or `unsigned` for narrower integers, `unsigned` for the bits of `tf32`, and `unsigned short`
//! for the bits of other floats. This module knows no control flow and no memory.

mod cast;
mod operator;
mod value;

use hx_dtype::{Class, DType};
use hx_index::Symbol;

use hx_thread::{Compute, Param, Registers};
use hx_tile::Scalar;

use crate::access::{Array, Elements};
use crate::asm::{Asm, Operand, Slots};
use crate::emit::{Emitter, MalformedProgram};
use crate::expr::Binding;
use crate::inlined::marked;
use crate::storage::{self, literal, scalar};

pub(crate) use value::value_type;
use value::{Form, Value, bitcast, constant, constraint, wrapped};

type Result<T> = std::result::Result<T, MalformedProgram>;

/// A statement of the sequence that evaluates an expression.
enum Step {
    Text(String),
    Instruction(Instruction),
}

/// An instruction with one result.
struct Instruction {
    row: String,
    template: String,
    result: DType,
    asm: Asm,
    /// The result goes to a variable of its own.
    declares: bool,
}

/// The statements that evaluate one expression.
struct Work<'a> {
    inputs: Vec<Elements<'a>>,
    steps: Vec<Step>,
    /// Subexpressions that already have a variable.
    known: Vec<(Scalar, Value)>,
    count: usize,
}

impl<'a> Work<'a> {
    /// Starts the evaluation of an expression. Its input `i` is `registers[i]`, which `arrays[i]` holds.
    fn of(arrays: &'a [Array], registers: &'a [Registers]) -> Work<'a> {
        let inputs = arrays.iter().zip(registers);
        let inputs = inputs.map(|(array, r)| Elements { array, base: &r.base, offsets: &r.offsets });
        Work { inputs: inputs.collect(), steps: Vec::new(), known: Vec::new(), count: 0 }
    }

    fn input(&self, index: u32, dtype: DType) -> Result<Elements<'a>> {
        let missing = || MalformedProgram::Missing(format!("input {index} of an expression"));
        let input = *self.inputs.get(index as usize).ok_or_else(missing)?;
        if input.array.dtype != dtype {
            return Err(MalformedProgram::Types { left: input.array.dtype, right: dtype });
        }
        Ok(input)
    }

    fn variable(&mut self) -> String {
        self.count += 1;
        format!("hx_v{}", self.count - 1)
    }

    /// Makes the instruction that computes `value` write to `place` directly. Returns false, without a change, if that
    /// instruction is not the last step.
    fn redirect(&mut self, value: &Value, place: &str) -> bool {
        let Some(Step::Instruction(last)) = self.steps.last_mut() else { return false };
        let Some(output) = last.asm.outputs.iter_mut().find(|o| o.text == value.text) else { return false };
        output.text = place.to_owned();
        last.declares = false;
        true
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
        let mut work = Work::of(&arrays, &c.inputs);
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
        let direct = |step: &Step| matches!(step, Step::Instruction(i) if after.is_empty() && !i.declares);
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
        let mut work = Work::of(arrays, &c.inputs);
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

    /// Returns a 32-bit word that packs the `values` results of an expression.
    fn packed(&mut self, value: &Scalar, values: usize, work: &mut Work<'_>) -> Result<Value> {
        if let Some((_, known)) = work.known.iter().find(|(s, _)| s == value) {
            return Ok(known.clone());
        }
        match value {
            Scalar::Input { index, dtype } => {
                let input = work.input(*index, *dtype)?;
                Ok(Value::phrase(input.read(&mut self.printer).text))
            }
            Scalar::Const { bits, dtype } => Ok(Value::word(literal(*dtype, *bits))),
            Scalar::Apply { operator, dtype, args } => {
                let name = format!("{} of {values} {dtype}", operator.name());
                let row = self.program.target.rows().compute_packed(*operator, *dtype);
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
        let mut work = Work::of(&arrays, inputs);
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
            // An `unsigned` number would make C++ convert the signed integers of an expression to unsigned.
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
                Step::Instruction(Instruction { row, template, result, asm, declares }) => {
                    let count = asm.inputs.len();
                    let slots = |name: &str| match name {
                        "d" => Some(Slots::Outputs(0..1)),
                        _ => name.strip_prefix('s')?.parse().ok().filter(|i| *i < count).map(Slots::Input),
                    };
                    let name = &asm.outputs[0].text;
                    if declares {
                        self.statement(&format!("{} {name};", value_type(result)));
                    }
                    self.assembly(&row, &template, &asm, &slots)?;
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
                let input = work.input(*index, *dtype)?;
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
                } else if dtype.is_float() && dtype.bits() <= 8 {
                    // No operand of an instruction has the byte of the parameter.
                    Value::word(name).cast_to(value_type(*dtype))
                } else {
                    Value::word(name)
                })
            }
            Scalar::Var { var, dtype } => {
                let unbound = || MalformedProgram::Unbound(var.to_string());
                let word = Value::word(self.printer.mention(var).ok_or_else(unbound)?);
                // Numbers of 64 bits are held as signed integers.
                Ok(if *dtype == DType::U64 { word.cast_to(scalar(DType::U64)) } else { word })
            }
            Scalar::Const { bits, dtype } => Ok(constant(*bits, *dtype)),
            Scalar::Apply { operator, dtype, args } => {
                let result = self.apply(*operator, *dtype, args, work)?;
                Ok(self.remember(value, result, work))
            }
            Scalar::Inlined(inlined) => {
                let inline = &inlined.inline;
                let args = inlined.args.iter().map(|arg| Ok((self.scalar(arg, work)?, arg.dtype())));
                let args = args.collect::<Result<Vec<_>>>()?;
                self.inlined.insert(inline.name.clone(), inline.origin);
                let ptx = marked(&inline.ptx, &inline.name);
                let result = self.instruction(&inline.name, &ptx, inline.dtype, args, work);
                if let Some(Step::Instruction(last)) = work.steps.last_mut() {
                    last.asm.early = inline.instructions > 1;
                    last.asm.effects = inline.is_volatile;
                }
                Ok(self.remember(value, result, work))
            }
            Scalar::Bitcast { to, arg } => {
                let from = arg.dtype();
                let arg = self.scalar(arg, work)?;
                Ok(bitcast(from, *to, &arg))
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
        if value.form == Form::Variable && !scalar.is_volatile() {
            work.known.push((scalar.clone(), value.clone()));
        }
        value
    }

    fn element(&mut self, input: Elements<'_>) -> Value {
        let dtype = input.array.dtype;
        if dtype.bits() >= 32 {
            let held = Value::word(input.value(0, &mut self.printer));
            let is_value = storage::variable(dtype) == storage::value(dtype);
            return if is_value { held } else { held.cast_to(value_type(dtype)) };
        }
        match dtype.class() {
            Class::Bool => Value::phrase(format!("{} != 0", input.value(0, &mut self.printer))),
            Class::Int => {
                let bits = Value::word(input.value(0, &mut self.printer));
                if dtype.is_signed() { wrapped(dtype, bits) } else { bits }
            }
            Class::Float => Value::phrase(input.read(&mut self.printer).text),
        }
    }

    /// Returns the value as a word, in a new variable if necessary.
    fn named(&mut self, value: Value, c_type: &str, work: &mut Work<'_>) -> Value {
        if matches!(value.form, Form::Word | Form::Variable) {
            return value;
        }
        let name = work.variable();
        work.steps.push(Step::Text(format!("const {c_type} {name} = {};", value.text)));
        Value::variable(name)
    }

    /// Adds an instruction to the steps, and returns the new variable that holds its result.
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
        work.steps.push(Step::Instruction(Instruction { row, template, result, asm, declares: true }));
        Value::variable(name)
    }
}

impl crate::expr::Text {
    fn is_word(&self) -> bool {
        self.operand(Binding::Word) == self.text
    }
}
