//! Elementwise operators, conversions and exchanges: the cycles of a warp in its quarter of the multiprocessor.

use hx_dtype::{DType, Operator};
use hx_target::{ComputeRow, Target};

use crate::kernel::{Kernel, asm, fill};
use crate::probe::Probe;

const WARPS: u32 = 16;
/// Each warp has this many independent registers. A round executes `TIMES` instructions on each of them.
const CHAINS: usize = 8;
const TIMES: usize = 4;

/// The operators that are measured: those of the inner loops of kernels.
pub(crate) const OPERATORS: [(Operator, DType); 10] = [
    (Operator::Add, DType::F32),
    (Operator::Sub, DType::F32),
    (Operator::Mul, DType::F32),
    (Operator::Fma, DType::F32),
    (Operator::Max, DType::F32),
    (Operator::Exp2, DType::F32),
    (Operator::Floor, DType::F32),
    (Operator::Mul, DType::I32),
    (Operator::Shl, DType::I32),
    (Operator::Add, DType::I64),
];

pub(crate) fn name(operator: Operator, dtype: DType) -> String {
    format!("{operator:?} {dtype}")
}

/// Returns the C type and the constraint letter of a register; `None` for types that no probe uses.
fn register(dtype: DType) -> Option<(&'static str, &'static str)> {
    Some(match dtype {
        DType::F32 => ("float", "f"),
        DType::I32 | DType::U32 => ("unsigned", "r"),
        DType::I64 | DType::U64 => ("long long", "l"),
        DType::F16 | DType::Bf16 => ("unsigned short", "h"),
        DType::Bool
        | DType::I1
        | DType::I2
        | DType::I4
        | DType::I8
        | DType::I16
        | DType::U1
        | DType::U2
        | DType::U4
        | DType::U8
        | DType::U16
        | DType::Tf32
        | DType::F64
        | DType::F8E4m3
        | DType::F8E5m2
        | DType::F4E2m1
        | DType::F8E8m0 => return None,
    })
}

/// Returns the statement of an operator on the register of a chain. The second operand of integers is the register of
/// the next chain: the assembler would join repeated operations with the same operand.
fn operation(row: &ComputeRow, chain: usize, letter: &str) -> String {
    let name = &format!("r{chain}");
    // Operations on integers with the same operand would be joined.
    let other = &if letter == "f" { "q0".to_owned() } else { format!("r{}", (chain + 1) % CHAINS) };
    match (&row.ptx, &row.c) {
        (Some(ptx), _) => {
            let text = fill(ptx, &[("d", "%0"), ("s0", "%0"), ("s1", "%1"), ("s2", "%2")]);
            asm(
                &text,
                &[format!("\"+{letter}\"({name})")],
                &[format!("\"{letter}\"({other})"), format!("\"{letter}\"(q1)")],
            )
        }
        // The compiler can neither fold nor hoist a value that passes through an empty `asm` statement.
        (None, Some(c)) => {
            let value = fill(c, &[("s0", name), ("s1", other), ("s2", "q1")]);
            format!("        {name} = {value}; asm volatile(\"\" : \"+{letter}\"({name}));\n")
        }
        (None, None) => String::new(),
    }
}

fn declared(kind: &str, chains: usize) -> String {
    let names: Vec<String> = (0..chains).map(|chain| format!("r{chain} = ({kind})(one + lane)")).collect();
    format!("    {kind} q0 = ({kind})one, q1 = ({kind})one;\n    {kind} {};\n", names.join(", "))
}

fn kept(chains: usize) -> String {
    let sum: Vec<String> = (0..chains).map(|chain| format!("r{chain}")).collect();
    format!("    if (one == 2) data[thread] = (unsigned char)(int)({});\n", sum.join(" + "))
}

/// Returns a kernel of 16 warps. Each round executes the statement that `one` returns for a chain, `TIMES` times for each
/// chain.
fn kernel(name: String, setup: String, sink: String, one: impl Fn(usize) -> String) -> Kernel {
    let round: String = (0..TIMES).flat_map(|_| (0..CHAINS).map(&one).collect::<Vec<_>>()).collect();
    // The four quarters of a multiprocessor work side by side, so the units are those of one quarter.
    let units = TIMES * CHAINS * WARPS as usize / 4;
    Kernel { setup, round, sink, units: units as f64, ..Kernel::new(name, 32 * WARPS) }
}

pub(crate) const EXCHANGE: &str = "exchange of lanes";
pub(crate) const SOFTEN: &str = "weight of a score";

pub(crate) fn probes(target: Target) -> Vec<Probe> {
    let mut out = Vec::new();
    for (operator, dtype) in OPERATORS {
        let (Some(row), Some((kind, letter))) = (target.rows().compute(operator, dtype), register(dtype))
        else {
            continue;
        };
        let one = |chain: usize| operation(row, chain, letter);
        out.push(kernel(name(operator, dtype), declared(kind, CHAINS), kept(CHAINS), one).probe());
    }
    out.extend(conversions(target));
    if let Some(row) = target.rows().exchange_of(32) {
        let one = |chain: usize| {
            let name = format!("r{chain}");
            let text = fill(&row.ptx, &[("d", "%0"), ("s", "%0"), ("x", "1")]);
            asm(&text, &[format!("\"+r\"({name})")], &[])
        };
        let kernel = kernel(EXCHANGE.to_owned(), declared("unsigned", CHAINS), kept(CHAINS), one);
        // All quarters share one exchange unit, so the units of all four count.
        out.push(Kernel { units: kernel.units * 4.0, ..kernel }.probe());
    }
    out.extend(weights(target).map(Kernel::probe));
    out
}

/// Returns the probes of instructions that convert two f32 values at once.
fn conversions(target: Target) -> Vec<Probe> {
    let mut out = Vec::new();
    for to in [DType::F16, DType::Bf16] {
        let Some(row) = target.rows().converts_of(DType::F32, to).find(|row| row.values == 2) else {
            continue;
        };
        let one = |chain: usize| {
            let text = fill(&row.ptx, &[("d", "%0"), ("s0", "%1"), ("s1", "%2")]);
            // The same register as a number is the next source.
            let next = format!("        r{chain} = __uint_as_float(w{chain});\n");
            let inputs = [format!("\"f\"(r{chain})"), "\"f\"(q0)".to_owned()];
            asm(&text, &[format!("\"=r\"(w{chain})")], &inputs) + &next
        };
        let words: Vec<String> = (0..CHAINS).map(|chain| format!("w{chain} = 0")).collect();
        let setup = declared("float", CHAINS) + &format!("    unsigned {};\n", words.join(", "));
        let sum: Vec<String> = (0..CHAINS).map(|chain| format!("w{chain}")).collect();
        let sink = format!("    if (one == 2) data[thread] = (unsigned char)({});\n", sum.join(" + "));
        out.push(kernel(format!("convert two f32 to {to}"), setup, sink, one).probe());
    }
    out
}

/// Returns the kernel of the work on a score of attention: a maximum, a multiplication joined with a subtraction, a power of
/// two, and an addition. It shows which units work side by side. `None` if the target lacks a row for one of them.
fn weights(target: Target) -> Option<Kernel> {
    let row = |operator| target.rows().compute(operator, DType::F32);
    let (max, fma, exp2, add) =
        (row(Operator::Max)?, row(Operator::Fma)?, row(Operator::Exp2)?, row(Operator::Add)?);
    let ptx = |row: &ComputeRow, to: &str, from: [&str; 3]| {
        let [a, b, c] = from;
        let text = fill(
            row.ptx.as_deref().unwrap_or_default(),
            &[("d", "%0"), ("s0", "%1"), ("s1", "%2"), ("s2", "%3")],
        );
        let inputs = [a, b, c].map(|name| format!("\"f\"({name})"));
        asm(&text, &[format!("\"=f\"({to})")], &inputs)
    };
    let one = |chain: usize| {
        // The sum so far is the next score: with the same score the assembler would compute it once.
        let r = format!("sum{chain}");
        let mut text = ptx(max, &format!("top{chain}"), [&format!("top{chain}"), &r, "q1"]);
        text += &ptx(fma, &format!("t{chain}"), [&r, "q0", "q1"]);
        text += &ptx(exp2, &format!("t{chain}"), [&format!("t{chain}"), "q0", "q1"]);
        let sum = fill(
            add.c.as_deref().unwrap_or_default(),
            &[("s0", &format!("sum{chain}")), ("s1", &format!("t{chain}"))],
        );
        text + &format!("        sum{chain} = {sum}; asm volatile(\"\" : \"+f\"(sum{chain}));\n")
    };
    let more: String = (0..CHAINS)
        .map(|chain| format!("    float top{chain} = one, sum{chain} = 0, t{chain} = 0;\n"))
        .collect();
    let sums: Vec<String> = (0..CHAINS).map(|chain| format!("top{chain} + sum{chain}")).collect();
    let sink = format!("    if (one == 2) data[thread] = (unsigned char)(int)({});\n", sums.join(" + "));
    Some(kernel(SOFTEN.to_owned(), declared("float", 1) + &more, sink, one))
}
