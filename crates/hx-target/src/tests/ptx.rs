//! Runs conversions that are sequences of integer and floating-point instructions: for every value of each byte of their sources, and
//! for every 4-bit, 8-bit and 16-bit float and every scale.
//!
//! The interpreter knows only the instructions that these sequences use.

use hx_dtype::{DType, load, store};

use super::catalogue;
use crate::{ConvertRow, Target};

/// A source of an instruction.
enum Operand {
    Number(u32),
    /// The index of a register.
    Register(usize),
}

/// An instruction with the registers that it writes.
struct Instruction {
    name: String,
    results: Vec<usize>,
    sources: Vec<Operand>,
}

/// A sequence of instructions, which names its registers by indices.
struct Sequence {
    registers: Vec<String>,
    instructions: Vec<Instruction>,
}

impl Sequence {
    fn of(ptx: &str) -> Sequence {
        let mut sequence = Sequence { registers: Vec::new(), instructions: Vec::new() };
        let body = ptx.trim();
        let body = body.strip_prefix("{{").and_then(|body| body.strip_suffix("}}")).unwrap_or(body);
        for line in body.split(';').map(str::trim).filter(|l| !l.is_empty() && !l.starts_with(".reg")) {
            let (name, operands) = line.split_once(' ').expect("an instruction has operands");
            // A pair in braces is the halves of a word.
            let (results, sources) = match operands.strip_prefix("{{") {
                Some(pair) => pair.split_once("}},").expect("the pair is closed"),
                None => operands.split_once(',').expect("an instruction has sources"),
            };
            let results = results.split(',').map(|name| sequence.register(name.trim())).collect();
            let sources = sources.split(',').map(|text| sequence.operand(text.trim())).collect();
            sequence.instructions.push(Instruction { name: name.to_owned(), results, sources });
        }
        sequence
    }

    fn operand(&mut self, text: &str) -> Operand {
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0f"));
        match hex.map_or_else(|| text.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok()) {
            Some(number) => Operand::Number(number),
            None => Operand::Register(self.register(text)),
        }
    }

    fn register(&mut self, name: &str) -> usize {
        let known = self.registers.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.registers.push(name.to_owned());
            self.registers.len() - 1
        })
    }

    /// Runs the sequence, and returns the words of the results of a row for these source operands.
    fn results(&self, row: &ConvertRow, sources: &[u32]) -> Vec<u32> {
        let mut values: Vec<Option<u32>> = vec![None; self.registers.len()];
        let find = |name: &str| self.registers.iter().position(|known| known == name);
        for (i, source) in sources.iter().enumerate() {
            values[find(&format!("{{s{i}}}")).expect("the row reads its source")] = Some(*source);
        }
        for instruction in &self.instructions {
            let source = |operand: &Operand| match operand {
                Operand::Number(number) => *number,
                Operand::Register(at) => values[*at].unwrap_or_else(|| panic!("`{}`", self.registers[*at])),
            };
            let x: Vec<u32> = instruction.sources.iter().map(source).collect();
            match *instruction.results.as_slice() {
                [one] => values[one] = Some(value(&instruction.name, &x)),
                [low, high] => (values[low], values[high]) = (Some(x[0] & 0xffff), Some(x[0] >> 16)),
                _ => panic!("`{}` has one result, or the halves of a word", instruction.name),
            }
        }
        let words = row.values / row.each();
        let name = |i: u32| if words == 1 { "{d}".to_owned() } else { format!("{{d{i}}}") };
        (0..words)
            .map(|i| values[find(&name(i)).expect("the row has its result")].expect("it is written"))
            .collect()
    }
}

/// Returns the result of an instruction.
fn value(name: &str, x: &[u32]) -> u32 {
    match name {
        "mov.b32" | "cvt.u32.u16" => x[0],
        "cvt.u16.u32" => x[0] & 0xffff,
        "xor.b32" => x[0] ^ x[1],
        "and.b32" => x[0] & x[1],
        "or.b32" => x[0] | x[1],
        "shl.b32" => x[0] << x[1],
        "shl.b16" => x[0] << x[1] & 0xffff,
        "shr.u32" => x[0] >> x[1],
        "add.u32" => x[0].wrapping_add(x[1]),
        "min.u32" => x[0].min(x[1]),
        "max.u32" => x[0].max(x[1]),
        "mul.lo.u32" => x[0].wrapping_mul(x[1]),
        "prmt.b32" => prmt(x),
        "lop3.b32" => lop3(x),
        "add.rn.f16x2" => both(DType::F16, x, |a, b| a + b),
        "sub.rn.f16x2" => both(DType::F16, x, |a, b| a - b),
        "mul.rn.f16x2" => both(DType::F16, x, |a, b| a * b),
        // Of a number and NaN, the result is the number.
        "min.f16x2" => both(DType::F16, x, f64::min),
        "max.f16x2" => both(DType::F16, x, f64::max),
        "max.bf16x2" => both(DType::Bf16, x, f64::max),
        "fma.rn.f16x2" => fma(DType::F16, x),
        "fma.rn.bf16x2" => fma(DType::Bf16, x),
        "fma.rn.f32" => fma(DType::F32, x),
        "add.rn.f32" => both(DType::F32, x, |a, b| a + b),
        "sub.rn.f32" => both(DType::F32, x, |a, b| a - b),
        "mul.rn.f32" => both(DType::F32, x, |a, b| a * b),
        "cvt.f32.f16" => DType::F32.encode(part(DType::F16, x[0], 0)) as u32,
        // The first operand is the upper half.
        "cvt.rn.bf16x2.f32" => each(DType::Bf16, |i| part(DType::F32, x[1 - i], 0)),
        "cvt.rn.f16x2.f32" => each(DType::F16, |i| part(DType::F32, x[1 - i], 0)),
        other => panic!("the interpreter does not know `{other}`"),
    }
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

/// Applies an operation to the elements of two words. A sum, difference or product of these types rounds once, although `f64` is
/// between.
fn both(dtype: DType, x: &[u32], operation: impl Fn(f64, f64) -> f64) -> u32 {
    each(dtype, |i| operation(part(dtype, x[0], i), part(dtype, x[1], i)))
}

/// PTX ISA 9.7.9.7: each digit of the selector picks a byte of the two words, or with its highest bit the byte's sign in all bits.
fn prmt(x: &[u32]) -> u32 {
    let bytes = u64::from(x[0]) | u64::from(x[1]) << 32;
    let byte = |digit: u32| {
        let byte = (bytes >> (8 * (digit & 7)) & 0xff) as u32;
        if digit & 8 == 0 { byte } else { 0xff * (byte >> 7) }
    };
    (0..4).map(|i| byte(x[2] >> (4 * i) & 0xf) << (8 * i)).sum()
}

/// PTX ISA 9.7.8.6: the table has a bit for each combination of the operands' bits.
fn lop3(x: &[u32]) -> u32 {
    (0..32).map(|i| (x[3] >> ((x[0] >> i & 1) * 4 + (x[1] >> i & 1) * 2 + (x[2] >> i & 1)) & 1) << i).sum()
}

#[test]
fn packed_conversions_are_exact_for_every_byte() {
    let mut rows = 0;
    let is_packed = |row: &&ConvertRow| {
        let is_packed = row.from.is_int() || matches!(row.from, DType::F4E2m1 | DType::F8E8m0);
        is_packed && row.values > 1
    };
    for row in catalogue().converts.iter().filter(is_packed) {
        assert_eq!(row.together, row.values, "{}", row.name);
        assert_eq!(row.values * row.from.bits(), 32, "{}", row.name);
        rows += 1;
        let sequence = Sequence::of(&row.ptx);
        // Each byte of the word takes every value, next to neighbours of several kinds.
        for byte in 0..=u8::MAX {
            for neighbours in [0u32, 0xffff_ffff, 0x8f70_1ae5] {
                for place in 0..4 {
                    let shift = 8 * place;
                    let word = neighbours & !(0xff << shift) | u32::from(byte) << shift;
                    let found = sequence.results(row, &[word]);
                    for v in 0..row.values as usize {
                        let each = row.each() as usize;
                        let source = row.source(v as i64) as usize;
                        let want = row.from.decode(load(row.from, &word.to_le_bytes(), source));
                        let bits = load(row.to, &found[v / each].to_le_bytes(), v % each);
                        // The sign of 0 counts, that of NaN does not. A scale may be beyond the range of f16.
                        let is_same =
                            bits == row.to.encode(want) || want.is_nan() && row.to.decode(bits).is_nan();
                        assert!(is_same, "{} of {word:#x} ({want}), element {v}: {bits:#x}", row.name);
                    }
                }
            }
        }
    }
    assert_eq!(rows, 39);
}

/// Returns the conversions of floats of up to 8 bits by sequences, which targets without instructions for them have.
fn sequences_of_narrow_floats() -> impl Iterator<Item = &'static ConvertRow> {
    let is_narrow = |dtype: DType| dtype.is_float() && dtype.bits() <= 8;
    let rows = &Target::named("sm_80").expect("the target is built in").rows().converts;
    rows.iter().filter(move |row| is_narrow(row.from) || is_narrow(row.to))
}

/// Converts elements, all at once as a row does, and compares them with the conversions of [`DType`]. Each is in turn at every place of
/// the row. All NaNs are equal.
fn check(row: &ConvertRow, elements: &[u32]) {
    let sequence = Sequence::of(&row.ptx);
    let (values, together, each) = (row.values as usize, row.together as usize, row.each() as usize);
    let operands = values / together;
    let bits = row.from.bits();
    for at in 0..elements.len() {
        // Neighbours in the row are far from each other in the list.
        let own: Vec<u32> = (0..values).map(|v| elements[(at + v * 7919) % elements.len()]).collect();
        let word = |o: usize| (0..together).map(|i| own[o * together + i] << (bits * i as u32)).sum();
        let sources: Vec<u32> = (0..operands).map(word).collect();
        let found = sequence.results(row, &sources);
        for v in 0..values {
            let element = &own[row.source(v as i64) as usize];
            let value = row.from.decode(u64::from(*element));
            let got = load(row.to, &found[v / each].to_le_bytes(), v % each);
            let is_same = got == row.to.encode(value) || value.is_nan() && row.to.decode(got).is_nan();
            assert!(is_same, "{} of {element:#x} ({value}), element {v}: {got:#x}", row.name);
        }
    }
}

/// Returns the bits of `f32` at which the rounding to a narrow float may change, and some drawn ones.
fn interesting(to: DType) -> Vec<u32> {
    let mut all: Vec<u32> =
        vec![0, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7f80_0001, 0x7fff_ffff];
    let positive = if to.is_signed() { to.mask() >> 1 } else { to.mask() };
    let magnitudes: Vec<f64> = (0..=positive).map(|bits| to.decode(bits)).filter(|x| x.is_finite()).collect();
    let middles = magnitudes.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    let beyond = magnitudes.last().map(|last| last + to.ulp(*last) / 2.0);
    for value in magnitudes.iter().copied().chain(middles).chain(beyond) {
        let bits = (value as f32).to_bits();
        all.extend([bits.saturating_sub(1), bits, bits + 1]);
    }
    all.extend((0..=0xff).flat_map(|exponent| [exponent << 23, exponent << 23 | 0x0055_5555]));
    let mut drawn = 0x9e37_79b9u32;
    all.extend((0..20_000).map(|_| {
        drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        drawn ^ drawn >> 15
    }));
    let negative: Vec<u32> = all.iter().map(|bits| bits ^ 0x8000_0000).collect();
    [all, negative].concat()
}

/// Every narrow float, every 16-bit float, and each `f32` next to a boundary between two narrow floats. A conversion to 8 bits rounds
/// once: between `f16` and its result lies no other rounding.
#[test]
fn narrow_floats_are_converted_exactly_without_instructions_for_them() {
    let mut names = Vec::new();
    for row in sequences_of_narrow_floats() {
        assert_eq!(row.needs, None, "{}", row.name);
        let all: Vec<u32> = match row.from {
            DType::F32 => interesting(row.to),
            narrow => (0..1 << narrow.bits()).collect(),
        };
        check(row, &all);
        names.push(row.name.as_str());
    }
    assert_eq!(names.len(), 28, "{names:?}");
}
