//! The C++ form of element types: words in registers, pointers to memory, literals for constants.

use hx_dtype::DType;

/// A fundamental type of C++.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CType {
    Bool,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    Unsigned,
    LongLong,
    UnsignedLongLong,
    Float,
    Double,
}

impl CType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CType::Bool => "bool",
            CType::SignedChar => "signed char",
            CType::UnsignedChar => "unsigned char",
            CType::Short => "short",
            CType::UnsignedShort => "unsigned short",
            CType::Int => "int",
            CType::Unsigned => "unsigned",
            CType::LongLong => "long long",
            CType::UnsignedLongLong => "unsigned long long",
            CType::Float => "float",
            CType::Double => "double",
        }
    }

    /// Returns the constraint letter of an inline-assembly operand of this type.
    pub(crate) fn constraint(self) -> char {
        match self {
            CType::Float => 'f',
            CType::Double => 'd',
            CType::LongLong | CType::UnsignedLongLong => 'l',
            CType::Short | CType::UnsignedShort => 'h',
            CType::Bool | CType::SignedChar | CType::UnsignedChar | CType::Int | CType::Unsigned => 'r',
        }
    }
}

/// The C++ forms of an element type.
struct Forms {
    /// The variable that holds elements in registers. Elements narrower than 32 bits share one.
    variable: CType,
    /// A value of an expression. A float without arithmetic in C++ is its bit pattern.
    value: CType,
    /// An element in memory; the byte that has it if it is narrower.
    element: CType,
    /// A run-time number of the kernel.
    number: CType,
}

fn forms(dtype: DType) -> Forms {
    use CType::*;
    let (variable, value, element, number) = match dtype {
        DType::Bool => (Unsigned, Bool, UnsignedChar, UnsignedChar),
        DType::I1 | DType::I2 | DType::I4 | DType::I8 => (Unsigned, Int, UnsignedChar, SignedChar),
        DType::I16 => (Unsigned, Int, UnsignedShort, Short),
        DType::I32 => (Int, Int, Int, Int),
        DType::I64 => (LongLong, LongLong, LongLong, LongLong),
        DType::U1 | DType::U2 | DType::U4 | DType::U8 => (Unsigned, Unsigned, UnsignedChar, UnsignedChar),
        DType::U16 => (Unsigned, Unsigned, UnsignedShort, UnsignedShort),
        DType::U32 => (Unsigned, Unsigned, Unsigned, Unsigned),
        DType::U64 => (LongLong, UnsignedLongLong, UnsignedLongLong, UnsignedLongLong),
        DType::F4E2m1 | DType::F8E4m3 | DType::F8E5m2 | DType::F8E8m0 => {
            (Unsigned, UnsignedShort, UnsignedChar, UnsignedChar)
        }
        DType::F16 | DType::Bf16 => (Unsigned, UnsignedShort, UnsignedShort, UnsignedShort),
        // The instructions take bit patterns.
        DType::Tf32 => (Unsigned, Unsigned, Unsigned, Unsigned),
        DType::F32 => (Float, Float, Float, Float),
        DType::F64 => (Double, Double, Double, Double),
    };
    Forms { variable, value, element, number }
}

/// Returns the type of the variables that hold elements of this type.
pub(crate) fn variable(dtype: DType) -> CType {
    forms(dtype).variable
}

/// Returns the type of a value of an expression.
pub(crate) fn value(dtype: DType) -> CType {
    forms(dtype).value
}

/// Returns the number of elements in one variable.
pub(crate) fn per_word(dtype: DType) -> u32 {
    (32 / dtype.bits()).max(1)
}

/// Returns the C++ type to which a tensor's pointer points; bytes for elements narrower than a byte.
pub(crate) fn pointee(dtype: DType) -> &'static str {
    forms(dtype).element.name()
}

/// Returns the C++ type of a run-time number of the kernel.
pub(crate) fn scalar(dtype: DType) -> &'static str {
    forms(dtype).number.name()
}

/// Returns the literal for a variable whose elements all have these bits.
pub(crate) fn literal(dtype: DType, bits: u64) -> String {
    let bits = bits & dtype.mask();
    number_literal(variable(dtype), bits).unwrap_or_else(|| word_literal(repeated(dtype, bits)))
}

/// Returns the literal for a number of this C++ type with these bits; `None` if the type is for patterns of bits.
pub(crate) fn number_literal(c_type: CType, bits: u64) -> Option<String> {
    Some(match c_type {
        CType::Float => float_literal(bits as u32),
        CType::Double => double_literal(bits),
        CType::Int => signed_literal(i64::from(bits as u32 as i32), i64::from(i32::MIN), ""),
        CType::LongLong => signed_literal(bits as i64, i64::MIN, "LL"),
        CType::UnsignedLongLong => format!("{bits}ULL"),
        CType::Bool
        | CType::SignedChar
        | CType::UnsignedChar
        | CType::Short
        | CType::UnsignedShort
        | CType::Unsigned => return None,
    })
}

/// Returns a packed word whose elements all have these bits.
fn repeated(dtype: DType, bits: u64) -> u32 {
    (0..per_word(dtype)).fold(0, |word, i| word | (bits as u32) << (i * dtype.bits()))
}

/// Returns a word as a literal: small numbers in decimal, bit patterns in hexadecimal.
pub(crate) fn word_literal(word: u32) -> String {
    if word < 10 { format!("{word}u") } else { format!("{word:#x}u") }
}

fn signed_literal(value: i64, lowest: i64, suffix: &str) -> String {
    if value == lowest { format!("-{}{suffix} - 1", lowest.abs_diff(-1)) } else { format!("{value}{suffix}") }
}

fn float_literal(bits: u32) -> String {
    let x = f32::from_bits(bits);
    if x.is_finite() { format!("{x:?}f") } else { format!("__int_as_float({bits:#x})") }
}

fn double_literal(bits: u64) -> String {
    let x = f64::from_bits(bits);
    if x.is_finite() { format!("{x:?}") } else { format!("__longlong_as_double({bits:#x}LL)") }
}

/// The type of the parameters that hold tensor maps. A kernel uses such a parameter by its address only.
pub(crate) const MAP_TYPE: &str = "struct alignas(64) TensorMap {\n    unsigned long long x[16];\n};\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let of = |dtype: DType, x: f64| literal(dtype, dtype.encode(x));
        assert_eq!(of(DType::F32, 0.0), "0.0f");
        assert_eq!(of(DType::F32, 1e-30), "1e-30f");
        assert_eq!(of(DType::F32, f64::NEG_INFINITY), "__int_as_float(0xff800000)");
        assert_eq!(of(DType::F64, -2.5), "-2.5");
        assert_eq!(of(DType::F16, 1.0), "0x3c003c00u");
        assert_eq!(of(DType::F16, 0.0), "0u");
        assert_eq!(of(DType::I32, -2147483648.0), "-2147483647 - 1");
        assert_eq!(of(DType::I64, -3.0), "-3LL");
        assert_eq!(of(DType::U8, 255.0), "0xffffffffu");
    }
}
