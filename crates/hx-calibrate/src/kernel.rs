//! The parts of which the texts of probes consist.

use hx_target::{BulkRow, GemmRow, Target};

use crate::probe::{Blocks, Figure, MapShape, Probe};

/// A kernel before its text is joined.
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) threads: u32,
    pub(crate) blocks: Blocks,
    pub(crate) cluster: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) map: Option<MapShape>,
    /// Statements before the clock is read.
    pub(crate) setup: String,
    /// The statements of a round.
    pub(crate) round: String,
    /// Statements after the rounds that are timed, such as a last wait.
    pub(crate) finish: String,
    /// Statements after the clock is read, which keep results alive.
    pub(crate) sink: String,
    /// The C condition of the threads that run the rounds. All other threads run `others`, or do nothing.
    pub(crate) only: Option<&'static str>,
    /// The statements of a round of the other threads, which repeat until the timed threads are through, and the units of work
    /// in such a round.
    pub(crate) others: Option<(String, f64)>,
    pub(crate) units: f64,
    pub(crate) figure: Figure,
    pub(crate) rounds: [u32; 2],
}

impl Kernel {
    /// Returns a kernel of one block without shared memory.
    pub(crate) fn new(name: impl Into<String>, threads: u32) -> Kernel {
        Kernel {
            name: name.into(),
            threads,
            blocks: Blocks::One,
            cluster: 1,
            shared_bytes: 0,
            map: None,
            setup: String::new(),
            round: String::new(),
            finish: String::new(),
            sink: String::new(),
            only: None,
            others: None,
            units: 1.0,
            figure: Figure::Cycles,
            rounds: [64, 192],
        }
    }

    pub(crate) fn probe(self) -> Probe {
        let symbol: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let symbol = format!("probe_{symbol}");
        let text = self.text(&symbol);
        let Kernel { name, threads, blocks, cluster, shared_bytes, map, units, figure, rounds, .. } = self;
        let beside = self.others.map(|(_, units)| units);
        Probe {
            name,
            symbol,
            text,
            threads,
            blocks,
            cluster,
            shared_bytes,
            map,
            units,
            beside,
            figure,
            rounds,
        }
    }

    fn text(&self, symbol: &str) -> String {
        let map = if self.map.is_some() { ", const __grid_constant__ Map map" } else { "" };
        let cluster = match self.cluster {
            1 => String::new(),
            n => format!("__cluster_dims__({n}, 1, 1) "),
        };
        let rounds = format!(
            "start = clock64();\n    #pragma unroll 1\n    for (int i = 0; i < loops; i++) {{\n{}\n    }}\n{}\n    end = clock64();",
            self.round, self.finish
        );
        let body = match (&self.only, &self.others) {
            (Some(only), Some((others, _))) => format!(
                "if ({only}) {{\n{rounds}\n    flag[0] = 1;\n    }} else {{\n    long long rounds = 0;\n    while (flag[0] == 0) {{\n{others}\n    rounds++;\n    }}\n    start = -1; end = rounds;\n    }}"
            ),
            (Some(only), None) => format!("if ({only}) {{\n{rounds}\n    }}"),
            _ => rounds,
        };
        format!(
            "extern \"C\" __global__ void {cluster}__launch_bounds__({}, 1) {symbol}(long long *clocks, unsigned char *data, int loops, int one{map}) {{
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ volatile int flag[1];
    const unsigned base = (unsigned)__cvta_generic_to_shared(shared);
    const unsigned thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    long long start = 0, end = 0;
    flag[0] = 0;
{}
    __syncthreads();
    {body}
{}
    if (lane == 0) {{
        clocks[(blockIdx.x * 32 + warp) * 2] = start;
        clocks[(blockIdx.x * 32 + warp) * 2 + 1] = end;
    }}
}}",
            self.threads, self.setup, self.sink
        )
    }
}

/// Replaces the operands of a template of the catalogue. An operand that is not given becomes empty; doubled braces become
/// single ones.
pub(crate) fn fill(template: &str, operands: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
        if after.starts_with(brace) {
            out.push_str(brace);
            rest = &after[1..];
            continue;
        }
        let Some((name, after)) = after.split_once('}') else { break };
        let value = operands.iter().find(|(operand, _)| *operand == name).map_or("", |(_, value)| value);
        out.push_str(value);
        rest = after;
    }
    out + rest
}

/// Returns an `asm` statement that the compiler neither moves nor drops.
pub(crate) fn asm(text: &str, outputs: &[String], inputs: &[String]) -> String {
    format!(
        "        asm volatile(\"{text}\" : {} : {} : \"memory\");\n",
        outputs.join(", "),
        inputs.join(", ")
    )
}

/// Returns the statement of a row that synchronizes or orders; empty if there is no such row.
pub(crate) fn sync(target: Target, name: &str, operands: &[(&str, &str)], inputs: &[&str]) -> String {
    let rows = target.rows();
    let ptx = rows.sync(name).map(|row| &row.ptx).or_else(|| rows.group(name).map(|row| &row.ptx));
    let mut all = operands.to_vec();
    all.push(("u", "%="));
    let inputs: Vec<String> = inputs.iter().map(|input| (*input).to_owned()).collect();
    ptx.map_or_else(String::new, |ptx| asm(&fill(ptx, &all), &[], &inputs))
}

/// Returns the statement of a product with accumulators `c`, and operands given as C expressions. `a` is a descriptor, or the
/// registers `a0` to `a3`.
pub(crate) fn product(row: &GemmRow, a: Option<&str>, b: &str, transposed: [bool; 2]) -> String {
    let count = accumulators(row);
    let list = |from: usize, n: usize| {
        let names: Vec<String> = (from..from + n).map(|i| format!("%{i}")).collect();
        names.join(", ")
    };
    let outputs: Vec<String> = (0..count).map(|i| format!("\"+f\"(c[{i}])")).collect();
    let mut inputs = Vec::new();
    let a_text = match a {
        Some(a) => {
            inputs.push(format!("\"l\"({a})"));
            format!("%{count}")
        }
        None => {
            inputs.extend((0..4).map(|i| format!("\"r\"(a{i})")));
            format!("{{{}}}", list(count, 4))
        }
    };
    let b_text = format!("%{}", count + inputs.len());
    inputs.push(format!("\"l\"({b})"));
    let c_text = format!("{{{}}}", list(0, count));
    let bit = |on: bool| if on { "1" } else { "0" };
    let template = match (&row.ptx_registers, a) {
        (Some(ptx), None) => ptx,
        _ => &row.ptx,
    };
    let operands = [
        ("c", c_text.as_str()),
        ("a", &a_text),
        ("b", &b_text),
        ("d", "p"),
        ("ta", bit(transposed[0])),
        ("tb", bit(transposed[1])),
    ];
    let text = format!("{{ .reg .pred p; setp.ne.b32 p, 1, 0; {} }}", fill(template, &operands));
    asm(&text, &outputs, &inputs)
}

/// Returns the registers of the accumulator of a product of four warps.
pub(crate) fn accumulators(row: &GemmRow) -> usize {
    (row.shape[0] * row.shape[1] / i64::from(row.threads)) as usize
}

/// Returns the statement that starts the load of a box at row `at` of the map; `to` and `barrier` are addresses in shared
/// memory. With `blocks`, a mask of ranks in the cluster, these blocks all receive the box.
pub(crate) fn box_load(row: &BulkRow, to: &str, at: &str, barrier: &str, blocks: Option<&str>) -> String {
    let template = match (&row.multicast, blocks) {
        (Some(ptx), Some(_)) => ptx,
        _ => &row.ptx,
    };
    let operands = [("r", "2"), ("s", "%0"), ("m", "%1"), ("c", "{%2, %3}"), ("b", "%4"), ("k", "%5")];
    let mut inputs =
        vec![format!("\"r\"({to})"), "\"l\"(&map)".to_owned(), "\"r\"(0)".to_owned(), format!("\"r\"({at})")];
    inputs.push(format!("\"r\"({barrier})"));
    inputs.extend(blocks.map(|mask| format!("\"h\"((unsigned short){mask})")));
    asm(&fill(template, &operands), &[], &inputs)
}

/// Returns the statement that starts the store of a box from an address in shared memory to row `at` of the map.
pub(crate) fn box_store(row: &BulkRow, from: &str, at: &str) -> String {
    let operands = [("r", "2"), ("s", "%0"), ("m", "%1"), ("c", "{%2, %3}")];
    let inputs =
        [format!("\"r\"({from})"), "\"l\"(&map)".to_owned(), "\"r\"(0)".to_owned(), format!("\"r\"({at})")];
    asm(&fill(&row.ptx, &operands), &[], &inputs)
}

/// Returns the statements that make `count` barriers of `arrivals` arrivals at `base + from`, 8 bytes each.
pub(crate) fn barriers(target: Target, from: u32, count: u32, arrivals: u32) -> String {
    let init = sync(
        target,
        "barrier.init",
        &[("b", "%0"), ("n", "%1")],
        &["\"r\"(at)", &format!("\"r\"({arrivals})")],
    );
    let ready = sync(target, "barrier.ready", &[], &[]);
    format!(
        "    if (thread == 0) {{\n    for (unsigned at = base + {from}; at < base + {from} + 8 * {count}; at += 8) {{\n{init}    }}\n{ready}    }}\n"
    )
}

/// Returns the statement that waits at a barrier until the phase of a parity is complete. Both are C expressions: an address in
/// shared memory, and 0 or 1.
pub(crate) fn await_phase(target: Target, barrier: &str, parity: &str) -> String {
    let (barrier, parity) = (format!("\"r\"({barrier})"), format!("\"r\"({parity})"));
    sync(target, "barrier.await", &[("b", "%0"), ("p", "%1")], &[&barrier, &parity])
}

/// Returns the statement that expects bytes at a barrier.
pub(crate) fn expect(target: Target, barrier: &str, bytes: u32) -> String {
    let (barrier, bytes) = (format!("\"r\"({barrier})"), format!("\"r\"({bytes})"));
    sync(target, "barrier.expect", &[("b", "%0"), ("n", "%1")], &[&barrier, &bytes])
}
