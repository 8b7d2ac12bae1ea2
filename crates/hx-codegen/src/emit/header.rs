//! Names the parameters of a kernel, and writes its header and declarations.

use hx_dtype::DType;
use hx_index::{Expr, Symbol};

use hx_thread::Param;
use hx_tile::ScopeId;

use super::{Emitter, THREAD};
use crate::log;
use crate::names::SHARED_MEMORY;
use crate::storage::{pointee, scalar};

const AXES: [&str; 3] = ["x", "y", "z"];
/// The largest number of blocks along x. The limits along y and z are lower.
const MOST_BLOCKS: i64 = i32::MAX as i64;

impl Emitter<'_> {
    pub(super) fn name_params(&mut self) {
        for param in &self.program.params {
            let name = match param {
                Param::Tensor(t) => self.names.local(&t.name),
                Param::Scalar { name: own, dtype } => {
                    let name = self.names.local(own);
                    let symbol = Symbol::Scalar(own.as_str().into());
                    match dtype.bits() {
                        _ if !dtype.is_int() => {}
                        64 => self.printer.name(symbol, name.clone(), true),
                        32 if *dtype == DType::U32 => {
                            self.printer.bound(&symbol, (Some(0), Some(i64::from(u32::MAX))));
                            self.printer.name(symbol, format!("(long long){name}"), true);
                        }
                        _ => {
                            self.printer
                                .bound(&symbol, (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))));
                            self.printer.name(symbol, name.clone(), false);
                        }
                    }
                    name
                }
            };
            self.params.push(name);
        }
        for symbol in &self.program.symbols {
            let name = self.names.local(&symbol.to_string());
            let lowest = match symbol {
                Symbol::Dim(_) => 0,
                Symbol::Multiprocessors => 1,
                _ => i64::from(i32::MIN),
            };
            self.printer.bound(symbol, (Some(lowest), Some(i64::from(i32::MAX))));
            self.printer.name(symbol.clone(), name.clone(), false);
            self.symbol_params.push(name);
        }
    }

    pub(super) fn name_indices(&mut self) {
        for word in SHARED_MEMORY {
            self.names.local(word);
        }
        let thread = self.names.local(THREAD);
        self.printer.name(Symbol::Thread, thread, false);
        self.printer.bound(&Symbol::Thread, (Some(0), Some(i64::from(self.program.block_threads()) - 1)));
        for (axis, letter) in AXES.iter().enumerate() {
            let symbol = Symbol::BlockIdx(axis as u8);
            let name = self.names.local(&format!("block_{letter}"));
            self.printer.name(symbol.clone(), name, false);
            let blocks = self.program.grid.get(axis).map_or(Some(1), |e| self.printer.facts.range(e).1);
            let most = blocks.map_or(MOST_BLOCKS, |b| b.clamp(1, MOST_BLOCKS));
            self.printer.bound(&symbol, (Some(0), Some(most - 1)));
            let count = Symbol::GridDim(axis as u8);
            let name = self.names.local(&format!("blocks_{letter}"));
            self.printer.name(count.clone(), name, false);
            self.printer.bound(&count, (Some(1), Some(most)));
            let last = Expr::symbol(count) - Expr::constant(1);
            self.printer.facts.ordered(&Expr::symbol(symbol), &last);
        }
    }

    pub(super) fn header(&mut self, symbol: &str) {
        let mut params: Vec<String> = Vec::new();
        // The compiler may move a read through a `__restrict__` pointer above the wait for earlier launches.
        let alone = if self.overlaps_previous { "" } else { "__restrict__ " };
        for (param, name) in self.program.params.iter().zip(&self.params) {
            params.push(match param {
                Param::Tensor(t) => {
                    let constant = if t.mutable { "" } else { "const " };
                    format!("{constant}{}* {alone}{name}", pointee(t.dtype))
                }
                Param::Scalar { dtype, .. } => format!("{} {name}", scalar(*dtype)),
            });
        }
        params.extend(self.symbol_params.iter().map(|name| format!("int {name}")));
        params.extend(self.maps.iter().map(|name| format!("const __grid_constant__ TensorMap {name}")));
        if !self.program.log.is_empty() {
            params.push(log::parameter());
        }
        let cluster = match self.program.cluster {
            [1, 1, 1] => String::new(),
            [x, y, z] => format!("__cluster_dims__({x}, {y}, {z}) "),
        };
        self.statement(&format!(
            "extern \"C\" __global__ void {cluster}__launch_bounds__({}, {}) {symbol}(\n    {}) {{",
            self.program.block_threads(),
            self.program.blocks,
            params.join(",\n    ")
        ));
    }

    pub(super) fn declarations(&mut self) {
        self.depth = 1;
        let used = self.printer.used.clone();
        let own = |s: &Symbol| self.printer.name_of(s).unwrap_or_default().to_owned();
        let mut lines = Vec::new();
        if used.contains(&Symbol::Thread) {
            lines.push(format!("const int {} = (int)threadIdx.x;", own(&Symbol::Thread)));
        }
        for (axis, letter) in AXES.iter().enumerate() {
            let symbol = Symbol::BlockIdx(axis as u8);
            if used.contains(&symbol) {
                lines.push(format!("const int {} = (int)blockIdx.{letter};", own(&symbol)));
            }
            let symbol = Symbol::GridDim(axis as u8);
            if used.contains(&symbol) {
                lines.push(format!("const int {} = (int)gridDim.{letter};", own(&symbol)));
            }
        }
        if !self.program.shared.is_empty() || !self.program.barriers.is_empty() {
            let [memory, base] = SHARED_MEMORY;
            let align = self.program.target.limits.swizzle_block_bytes;
            lines.push(format!("extern __shared__ __align__({align}) unsigned char {memory}[];"));
            lines.push(format!("const unsigned {base} = (unsigned)__cvta_generic_to_shared({memory});"));
            for (buffer, name) in self.program.shared.iter().zip(&self.shared) {
                let offset = if buffer.offset == 0 { String::new() } else { format!(" + {}", buffer.offset) };
                lines.push(format!(
                    "const unsigned {name} = {base}{offset}; // {}, {} bytes",
                    buffer.dtype, buffer.bytes
                ));
            }
        }
        lines.extend(self.barrier_addresses());
        lines.extend(self.ticket_addresses());
        lines.extend(self.array_declarations(ScopeId::BLOCK));
        lines.extend(log::declarations(self.program));
        for line in lines {
            self.statement(&line);
        }
    }
}
