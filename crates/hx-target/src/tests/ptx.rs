//! Runs conversions that are sequences of integer and floating-point instructions, for every value of each byte of their
//! sources.
//!
//! The interpreter knows only the instructions that these sequences use.

use std::collections::BTreeMap;

use hx_dtype::{DType, load, store};

use super::catalogue;
use crate::ConvertRow;

/// Registers by name.
type Registers = BTreeMap<String, u32>;

fn operand(registers: &Registers, text: &str) -> u32 {
    if let Some(hex) = text.strip_prefix("0x") {
        return u32::from_str_radix(hex, 16).expect("a hexadecimal number");
    }
    if let Some(hex) = text.strip_prefix("0f") {
        return u32::from_str_radix(hex, 16).expect("the bits of a float");
    }
    text.parse().unwrap_or_else(|_| *registers.get(text).unwrap_or_else(|| panic!("`{text}` has no value")))
}

/// Builds a word from the values of its elements of this type.
fn each(dtype: DType, f: impl Fn(usize) -> f64) -> u32 {
    let mut bytes = [0; 4];
    for i in 0..32 / dtype.bits() as usize {
        store(dtype, &mut bytes, i, dtype.encode(f(i)));
    }
    u32::from_le_bytes(bytes)
}

fn part(dtype: DType, word: u32, i: usize) -> f64 {
    dtype.decode(load(dtype, &word.to_le_bytes(), i))
}

fn fma(dtype: DType, x: &[u32]) -> u32 {
    each(dtype, |i| part(dtype, x[0], i).mul_add(part(dtype, x[1], i), part(dtype, x[2], i)))
}

fn add(dtype: DType, x: &[u32]) -> u32 {
    each(dtype, |i| part(dtype, x[0], i) + part(dtype, x[1], i))
}

/// PTX ISA 9.7.9.7: each digit of the selector picks a byte of the two words.
fn prmt(x: &[u32]) -> u32 {
    let bytes = u64::from(x[0]) | u64::from(x[1]) << 32;
    (0..4).map(|i| (bytes >> (8 * (x[2] >> (4 * i) & 7)) & 0xff) as u32 * (1 << (8 * i))).sum()
}

/// PTX ISA 9.7.8.6: the table has a bit for each combination of the operands' bits.
fn lop3(x: &[u32]) -> u32 {
    (0..32).map(|i| (x[3] >> ((x[0] >> i & 1) * 4 + (x[1] >> i & 1) * 2 + (x[2] >> i & 1)) & 1) << i).sum()
}

/// Runs a sequence. The registers then hold its results.
fn run(ptx: &str, registers: &mut Registers) {
    let body = ptx.trim().trim_start_matches("{{").trim_end_matches("}}");
    for line in body.split(';').map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(".reg")) {
        let (name, operands) = line.split_once(' ').expect("an instruction has operands");
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        let x: Vec<u32> = operands[1..].iter().map(|o| operand(registers, o)).collect();
        let value = match name {
            "mov.b32" => x[0],
            "xor.b32" => x[0] ^ x[1],
            "and.b32" => x[0] & x[1],
            "or.b32" => x[0] | x[1],
            "shr.u32" => x[0] >> x[1],
            "mul.lo.u32" => x[0].wrapping_mul(x[1]),
            "prmt.b32" => prmt(&x),
            "lop3.b32" => lop3(&x),
            "add.rn.f16x2" => add(DType::F16, &x),
            "fma.rn.f16x2" => fma(DType::F16, &x),
            "fma.rn.bf16x2" => fma(DType::Bf16, &x),
            "add.rn.f32" => add(DType::F32, &x),
            other => panic!("the interpreter does not know `{other}`"),
        };
        registers.insert(operands[0].to_owned(), value);
    }
}

/// Returns the words of a conversion's results for one source word.
fn results(row: &ConvertRow, word: u32) -> Vec<u32> {
    let mut registers = Registers::from([("{s0}".to_owned(), word)]);
    run(&row.ptx, &mut registers);
    let words = row.values / row.each();
    (0..words).map(|i| registers[&if words == 1 { "{d}".to_owned() } else { format!("{{d{i}}}") }]).collect()
}

#[test]
fn packed_conversions_are_exact_for_every_byte() {
    let mut rows = 0;
    for row in catalogue().converts.iter().filter(|r| r.from.is_int() && r.values > 1) {
        assert_eq!(row.together, row.values, "{}", row.name);
        assert_eq!(row.values * row.from.bits(), 32, "{}", row.name);
        rows += 1;
        // Each byte of the word takes every value, next to neighbours of several kinds.
        for byte in 0..=u8::MAX {
            for neighbours in [0u32, 0xffff_ffff, 0x8f70_1ae5] {
                for place in 0..4 {
                    let shift = 8 * place;
                    let word = neighbours & !(0xff << shift) | u32::from(byte) << shift;
                    let found = results(row, word);
                    for v in 0..row.values as usize {
                        let each = row.each() as usize;
                        let source = row.source(v as i64) as usize;
                        let want = row.from.decode(load(row.from, &word.to_le_bytes(), source));
                        let bits = load(row.to, &found[v / each].to_le_bytes(), v % each);
                        assert_eq!(row.to.decode(bits), want, "{} of {word:#x}, element {v}", row.name);
                    }
                }
            }
        }
    }
    assert_eq!(rows, 23);
}
