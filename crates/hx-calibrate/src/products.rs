//! Products of four warps: by n, by the place of A, by the reach of the operands, and beside other traffic of shared memory.

use hx_dtype::DType;
use hx_target::{Field, GemmRow, ReachRow, ReachedStride, Space, Target};

use crate::kernel::{Kernel, accumulators, await_phase, barriers, box_load, expect, product, sync};
use crate::probe::{MapShape, Probe};
use crate::shared::{self, Access};

/// Products in a round.
const PRODUCTS: usize = 8;
/// The offsets, in bytes of shared memory, of the second operand and of other traffic. A has 64 rows of 128 bytes for each of two groups,
/// B at most 256 rows.
const B_AT: u32 = 16384;
pub(crate) const FREE_AT: u32 = 65536;
const BYTES: u32 = 160 << 10;
/// The columns whose products are measured.
pub(crate) const COLUMNS: [i64; 10] = [8, 16, 32, 64, 96, 128, 160, 192, 224, 256];

/// Returns the row of the product of `n` columns whose operands have this type and that reads B by descriptor; `None` if the
/// target has none.
fn row(dtype: DType, n: i64, target: Target) -> Option<&'static GemmRow> {
    target.rows().gemms_by_descriptor([dtype, dtype, DType::F32]).find(|row| row.shape[1] == n)
}

/// Returns the constant bits of a descriptor of an operand that fills shared memory along its free strides without gaps.
fn descriptor(reach: &ReachRow, bits: u32, k: i64) -> Option<u64> {
    let [x, along_k] = reach.modes(bits)?;
    let bytes = |elements: i64| elements * i64::from(bits) / 8;
    let block = bytes(known(&x)?.max(known(&along_k)?));
    let both_free = x.iter().chain(&along_k).filter(|mode| mode.extent.is_none()).count() == 2;
    let steps = k / along_k.iter().find_map(|mode| mode.extent)?;
    let mut constant = reach.swizzle.code() << 62;
    for (modes, is_k) in [(&x, false), (&along_k, true)] {
        for mode in modes {
            let ReachedStride::Free(field) = mode.stride else { continue };
            // The free stride along K is the inner one, as the blocks of an operand follow each other along K first.
            let stride = if is_k || !both_free { block } else { block * steps.max(1) };
            let shift = if field == Field::Leading { 16 } else { 32 };
            constant |= ((stride / 16) as u64) << shift;
        }
    }
    Some(constant)
}

/// Returns the elements that the modes of known extent and stride span; `None` if there are none.
fn known(modes: &[hx_target::Reached]) -> Option<i64> {
    let spans = modes.iter().filter_map(|mode| match (mode.extent, mode.stride) {
        (Some(extent), ReachedStride::Known(stride)) => Some(extent * stride),
        _ => None,
    });
    spans.max()
}

/// Returns the declarations of accumulators and operands.
fn operands(row: &GemmRow, constant: u64, registers: bool) -> String {
    let a = if registers { "    unsigned a0 = 0, a1 = 0, a2 = 0, a3 = 0;\n" } else { "" };
    format!(
        "    float c[{n}];\n    #pragma unroll\n    for (int i = 0; i < {n}; i++) c[i] = 0.0f;\n{a}    const unsigned long long a = {constant:#x}ull | ((base + (warp / 4) * 8192) >> 4);\n    const unsigned long long b = {constant:#x}ull | ((base + {B_AT}) >> 4);\n",
        n = accumulators(row)
    )
}

fn keep(row: &GemmRow) -> String {
    format!(
        "    if (one == 2) {{\n    #pragma unroll\n    for (int i = 0; i < {}; i++) ((volatile float *)data)[thread * 256 + i] = c[i];\n    }}",
        accumulators(row)
    )
}

fn wait(target: Target, leave: u32) -> String {
    sync(target, "products.wait", &[("n", &leave.to_string())], &[])
}

/// Returns the statements of a round: a group of `count` products that accumulate in one tile, and a wait until at most `leave`
/// groups are in flight.
fn round(
    target: Target,
    row: &GemmRow,
    reach: &ReachRow,
    registers: bool,
    count: usize,
    leave: u32,
) -> String {
    let transposed = [!reach.is_k_major(); 2];
    // Successive steps along K lie 32 bytes apart in a row of 128 bytes.
    let steps = if reach.name == "k.128B" { 4 } else { 1 };
    let mut text = sync(target, "products.fence", &[], &[]);
    for i in 0..count {
        let step = 2 * (i % steps);
        let (a, b) = (format!("a + {step}"), format!("b + {step}"));
        text += &product(row, (!registers).then_some(a.as_str()), &b, transposed);
    }
    text + &sync(target, "products.commit", &[], &[]) + &wait(target, leave)
}

fn kernel(
    target: Target,
    name: String,
    row: &GemmRow,
    reach: &ReachRow,
    registers: bool,
    groups: u32,
) -> Option<Kernel> {
    let constant = descriptor(reach, row.b.dtype().bits(), row.shape[2])?;
    Some(Kernel {
        shared_bytes: BYTES,
        setup: operands(row, constant, registers),
        round: round(target, row, reach, registers, PRODUCTS, 1),
        finish: wait(target, 0),
        sink: keep(row),
        units: PRODUCTS as f64 * f64::from(groups),
        ..Kernel::new(name, 128 * groups)
    })
}

/// The name of the probe of products with both operands in shared memory, or with A in registers.
pub(crate) fn name(n: i64, registers: bool) -> String {
    format!("product f16 n{n} {}", if registers { "registers" } else { "shared" })
}

/// The name of the probe of products of which each is waited for.
pub(crate) fn latency_name(n: i64) -> String {
    format!("product f16 n{n} latency")
}

pub(crate) fn probes(target: Target) -> Vec<Probe> {
    let mut out = Vec::new();
    let rows = target.rows();
    let Some(usual) = rows.reach("k.128B") else { return out };
    let mut add = |kernel: Option<Kernel>| out.extend(kernel.map(Kernel::probe));
    for n in COLUMNS {
        let Some(row) = row(DType::F16, n, target) else { continue };
        add(kernel(target, name(n, false), row, usual, false, 1));
        if [8, 16, 64, 128, 256].contains(&n) {
            add(kernel(target, name(n, true), row, usual, true, 1));
        }
        if [64, 128, 256].contains(&n) {
            for reach in rows.reaches.iter().filter(|reach| reach.name != usual.name) {
                add(kernel(target, format!("product f16 n{n} {}", reach.name), row, reach, false, 1));
            }
            add(kernel(target, format!("product f16 n{n} two groups"), row, usual, false, 2));
            let alone = kernel(target, latency_name(n), row, usual, false, 1);
            add(alone.map(|kernel| Kernel {
                round: round(target, row, usual, false, 1, 0),
                finish: String::new(),
                units: 1.0,
                ..kernel
            }));
        }
    }
    for (dtype, text) in [(DType::F8E4m3, "f8e4m3"), (DType::Tf32, "tf32")] {
        for n in [128, 256] {
            let Some(row) = row(dtype, n, target) else { continue };
            add(kernel(target, format!("product {text} n{n} shared"), row, usual, false, 1));
        }
    }
    out
}

/// Returns the probes of products while other warps load from and store to shared memory, and while boxes arrive there.
pub(crate) fn beside(target: Target) -> Vec<Probe> {
    let mut out = Vec::new();
    let rows = target.rows();
    let Some(usual) = rows.reach("k.128B") else { return out };
    for n in [128, 256] {
        let Some(row) = row(DType::F16, n, target) else { continue };
        let copies = rows.copies.iter().filter(|copy| copy.bytes == 16);
        for copy in copies.filter(|copy| {
            [copy.from, copy.to].contains(&Space::Shared) && [copy.from, copy.to].contains(&Space::Register)
        }) {
            if copy.name.contains("trans") {
                continue;
            }
            let Some(plain) =
                kernel(target, format!("product f16 n{n} beside {}", copy.name), row, usual, false, 1)
            else {
                continue;
            };
            let access = Access { at: FREE_AT, degree: 1 };
            let (setup, others, sink) = shared::work(copy, access);
            let bytes = shared::CHAINS as f64 * 32.0 * f64::from(copy.bytes);
            out.push(
                Kernel {
                    threads: 256,
                    setup: plain.setup.clone() + &setup,
                    sink: plain.sink.clone() + "\n" + &sink,
                    only: Some("warp < 4"),
                    others: Some((others, bytes)),
                    ..plain
                }
                .probe(),
            );
        }
        out.extend(beside_group(target, row, usual));
        let Some(plain) = kernel(target, format!("product f16 n{n} beside boxes"), row, usual, false, 1)
        else {
            continue;
        };
        let Some(load) = rows.bulk("tma.load") else { continue };
        out.push(beside_boxes(target, plain, load).probe());
    }
    out
}

/// The name of the probe of eight products that are waited for.
pub(crate) fn group_name(n: i64, beside: bool) -> String {
    format!("eight products f16 n{n}{}", if beside { " beside a group" } else { "" })
}

/// Returns the probes of eight products that a group of threads waits for: alone, and while another group multiplies all the
/// time.
fn beside_group(target: Target, row: &GemmRow, reach: &ReachRow) -> Vec<Probe> {
    let n = row.shape[1];
    let alone = kernel(target, group_name(n, false), row, reach, false, 1);
    let beside = kernel(target, group_name(n, true), row, reach, false, 2);
    let waited = |kernel: Kernel| Kernel {
        round: round(target, row, reach, false, PRODUCTS, 0),
        units: 1.0,
        ..kernel
    };
    // Accumulators of its own: the compiler serializes products whose accumulators two branches share.
    let others = round(target, row, reach, false, PRODUCTS, 0).replace("(c[", "(e[");
    let both = beside.map(|kernel| Kernel {
        setup: kernel.setup.clone()
            + &kernel
                .setup
                .replace("c[", "e[")
                .lines()
                .take(3)
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
        only: Some("warp < 4"),
        // Each of the four warps counts the rounds.
        others: Some((others.clone(), PRODUCTS as f64 / 4.0)),
        ..kernel
    });
    [alone, both].into_iter().flatten().map(|kernel| waited(kernel).probe()).collect()
}

/// Rows of a box of 16 KiB.
const BOX_ROWS: u32 = 128;

/// Returns `plain` with one more warp, which loads boxes into shared memory until the products are through.
fn beside_boxes(target: Target, plain: Kernel, load: &hx_target::BulkRow) -> Kernel {
    let barrier = format!("base + {} + 8 * stage", BYTES - 64);
    let bytes = BOX_ROWS * 128;
    let others = format!(
        "        if (lane == 0) {{\n        unsigned stage = (unsigned)rounds & 3;\n        if (rounds >= 4) {{\n{}        }}\n{}{}        }}\n",
        await_phase(target, &barrier, "((unsigned)rounds / 4 + 1) & 1"),
        expect(target, &barrier, bytes),
        box_load(
            load,
            &format!("base + {FREE_AT} + {bytes} * (stage & 3)"),
            &format!("(int)(rounds & 127) * {BOX_ROWS}"),
            &barrier,
            None
        ),
    );
    let drain = format!(
        "    if (warp == 4 && lane == 0) {{\n    for (unsigned last = 0; last < 4; last++) {{\n    unsigned rounds = (unsigned)end + last;\n    unsigned stage = rounds & 3;\n    if (rounds >= 4) {{\n{}    }}\n    }}\n    }}\n",
        await_phase(target, &barrier, "(rounds / 4 + 1) & 1")
    );
    Kernel {
        threads: 160,
        map: Some(MapShape { rows: 131_072, extent: BOX_ROWS }),
        setup: plain.setup.clone() + &barriers(target, BYTES - 64, 4, 1),
        sink: drain + &plain.sink,
        only: Some("warp < 4"),
        others: Some((others, f64::from(bytes))),
        ..plain
    }
}

/// Returns the cycles of a product by the catalogue: those of the matrix units, or of the operands that shared memory delivers.
pub(crate) fn expected(n: i64, registers: bool, target: Target) -> Option<f64> {
    let row = row(DType::F16, n, target)?;
    let [m, n, k] = row.shape;
    let read = if registers { n } else { m + n } * k * 2;
    Some(row.issue.max(read as f64 / f64::from(target.limits.wavefront_bytes())))
}
