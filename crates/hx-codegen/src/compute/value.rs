//! The C++ expression of a value, its type, and its literals.

use hx_dtype::DType;

use crate::storage::{self, CType, number_literal, word_literal};

/// A C++ expression, and the form of its text, which decides where it needs parentheses.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A variable of the sequence that evaluates the expression.
    Variable,
    /// A single word or a call: it needs no parentheses and no variable of its own.
    Word,
    /// A cast of a word or a call to this C++ type.
    Cast(&'static str),
    Phrase,
}

impl Value {
    pub(super) fn variable(name: String) -> Value {
        Value { text: name, form: Form::Variable }
    }

    pub(super) fn word(text: impl Into<String>) -> Value {
        Value { text: text.into(), form: Form::Word }
    }

    pub(super) fn phrase(text: impl Into<String>) -> Value {
        Value { text: text.into(), form: Form::Phrase }
    }

    /// Casts the value to another C++ type.
    pub(super) fn cast_to(&self, c_type: &'static str) -> Value {
        Value { text: format!("({c_type}){}", self.operand()), form: Form::Cast(c_type) }
    }

    /// Returns the text as an operand of an operator, in parentheses if necessary.
    pub(super) fn operand(&self) -> String {
        if self.form == Form::Phrase { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// Sign- or zero-extends the low bits of a narrow integer. Other types stay as they are.
pub(super) fn wrapped(dtype: DType, value: Value) -> Value {
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

/// Returns the same bits as a value of another type of this width. Floats narrower than 32 bits are held as their bits.
pub(super) fn bitcast(from: DType, to: DType, value: &Value) -> Value {
    let call = |name: &str| Value::word(format!("{name}({})", value.text));
    let is_register = |dtype: DType| matches!(dtype, DType::F32 | DType::F64);
    match (is_register(from), is_register(to)) {
        (true, false) if from == DType::F32 => {
            call(if to == DType::I32 { "__float_as_int" } else { "__float_as_uint" })
        }
        (true, false) => call("__double_as_longlong").cast_to(value_type(to)),
        (false, true) if to == DType::F32 => call("__uint_as_float"),
        (false, true) => call("__longlong_as_double"),
        (..) if from.is_int() && to.is_float() => {
            wrapped(unsigned(from), value.clone()).cast_to(value_type(to))
        }
        (..) => wrapped(to, value.cast_to(value_type(to))),
    }
}

/// Returns the unsigned type of the same width for an integer of 4, 8 or 16 bits, the widths that floats of few bits have. Other
/// types stay as they are.
fn unsigned(dtype: DType) -> DType {
    match dtype {
        DType::I4 => DType::U4,
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        other => other,
    }
}

/// Returns the C++ type of the expressions that hold values of this type. Registers hold narrow values in another type: see
/// `storage`.
pub(crate) fn value_type(dtype: DType) -> &'static str {
    storage::value(dtype).name()
}

/// Returns the constraint letter of an inline-assembly operand that holds a value of this type.
pub(super) fn constraint(dtype: DType) -> char {
    storage::value(dtype).constraint()
}

pub(super) fn constant(bits: u64, dtype: DType) -> Value {
    let bits = bits & dtype.mask();
    let text = match storage::value(dtype) {
        CType::Bool => (bits != 0).to_string(),
        CType::Unsigned => word_literal(bits as u32),
        CType::Int if dtype.bits() < 32 => dtype.sign_extend(bits).to_string(),
        c_type => match number_literal(c_type, bits) {
            Some(text) => text,
            None => return Value::phrase(format!("({}){bits:#x}", c_type.name())),
        },
    };
    Value { form: if text.starts_with('-') { Form::Phrase } else { Form::Word }, text }
}
