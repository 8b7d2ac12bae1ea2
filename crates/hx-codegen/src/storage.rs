//! The C++ form of element types: words in registers, pointers to memory, literals for constants.

use hx_dtype::DType;

/// The C++ variable that holds elements in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Storage {
    pub(crate) c_type: &'static str,
    /// Width in bits: 32 or 64.
    pub(crate) bits: u32,
    /// The constraint letter of an inline-assembly operand of this type.
    pub(crate) constraint: char,
}

const WORD: Storage = Storage { c_type: "unsigned", bits: 32, constraint: 'r' };

/// Returns the variable type for elements of this type. Elements narrower than 32 bits share a word. `tf32` is held as a bit
/// pattern, because the instructions take it so.
pub(crate) fn storage(dtype: DType) -> Storage {
    match dtype {
        DType::F32 => Storage { c_type: "float", bits: 32, constraint: 'f' },
        DType::I32 => Storage { c_type: "int", bits: 32, constraint: 'r' },
        DType::F64 => Storage { c_type: "double", bits: 64, constraint: 'd' },
        DType::I64 | DType::U64 => Storage { c_type: "long long", bits: 64, constraint: 'l' },
        _ => WORD,
    }
}

/// Returns the number of elements in one variable.
pub(crate) fn per_word(dtype: DType) -> u32 {
    (32 / dtype.bits()).max(1)
}

/// Returns the C++ type to which a tensor's pointer points; bytes for elements narrower than a byte.
pub(crate) fn pointee(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::I32 => "int",
        DType::U32 | DType::Tf32 => "unsigned",
        DType::I64 => "long long",
        DType::U64 => "unsigned long long",
        _ if dtype.bits() == 16 => "unsigned short",
        _ => "unsigned char",
    }
}

/// Returns the C++ type of a run-time number of the kernel.
pub(crate) fn scalar(dtype: DType) -> &'static str {
    match dtype {
        DType::I16 => "short",
        _ if dtype.is_signed_int() && dtype.bits() <= 8 => "signed char",
        _ => pointee(dtype),
    }
}

/// Returns the literal for a variable whose elements all have these bits.
pub(crate) fn literal(dtype: DType, bits: u64) -> String {
    let bits = bits & dtype.mask();
    match dtype {
        DType::F32 => float_literal(bits as u32),
        DType::F64 => double_literal(bits),
        DType::I32 => signed_literal(i64::from(bits as u32 as i32), i64::from(i32::MIN), ""),
        DType::I64 | DType::U64 => signed_literal(bits as i64, i64::MIN, "LL"),
        _ => word_literal(repeated(dtype, bits)),
    }
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
