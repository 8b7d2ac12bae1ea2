//! Short constructors for thread programs, and the function with which all tests run them.

use std::collections::BTreeMap;

use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_target::Target;
use hx_thread::{
    Address, AsyncCopy, AtomicUse, Compute, Control, Convert, Exchange, Fill, Group, Lane, Leaf, Memory,
    Multiply, Param, RegId, RegisterArray, Registers, SharedBuffer, Stmt, TensorParam, ThreadProgram,
    Transfer,
};
use hx_tile::{MemoryOrder, MemoryScope, OpId, Origin, Scalar, Scope, ScopeId};

use crate::{Argument, Config, Report, SimError, run};

pub(super) fn c(value: i64) -> Expr {
    Expr::constant(value)
}

pub(super) fn thread() -> Expr {
    Expr::symbol(Symbol::Thread)
}

pub(super) fn block(axis: u8) -> Expr {
    Expr::symbol(Symbol::BlockIdx(axis))
}

pub(super) fn var(name: &str) -> Expr {
    Expr::symbol(symbol(name))
}

pub(super) fn symbol(name: &str) -> Symbol {
    Symbol::Var(name.into(), 0)
}

pub(super) fn div(a: Expr, b: i64) -> Expr {
    a.div(&c(b), &Facts::default())
}

pub(super) fn rem(a: Expr, b: i64) -> Expr {
    a.rem(&c(b), &Facts::default())
}

pub(super) fn lt(a: Expr, b: Expr) -> Cond {
    Cond::Cmp(CmpOp::Lt, a, b)
}

/// Returns the registers `base + 0..count`.
pub(super) fn at(array: RegId, base: Expr, count: u32) -> Registers {
    Registers { array, base, offsets: (0..count).collect() }
}

/// Returns the registers `0..count`.
pub(super) fn first(array: RegId, count: u32) -> Registers {
    at(array, c(0), count)
}

pub(super) fn transfer(row: &str, registers: Registers, memory: Memory, offset: Expr) -> Stmt {
    guarded(row, registers, memory, offset, Cond::True, 0)
}

pub(super) fn guarded(
    row: &str,
    registers: Registers,
    memory: Memory,
    offset: Expr,
    guard: Cond,
    pad: u64,
) -> Stmt {
    let address = Address { memory, offset };
    let (order, scope) = (MemoryOrder::Relaxed, MemoryScope::Gpu);
    let form = Target::usual().rows().copy(row).and_then(|row| row.atomic);
    let atomic = form.map(|_| AtomicUse { compare: None, old: None, order, scope });
    Stmt::Leaf(Leaf::Transfer(Transfer {
        row: hx_target::row(row),
        registers,
        address,
        guard,
        pad,
        atomic,
        cache: hx_target::Cache::default(),
    }))
}

pub(super) fn multiply(row: &str, c: Registers, a: Registers, b: Registers) -> Stmt {
    Stmt::Leaf(Leaf::Multiply(Multiply { row: hx_target::row(row), c, a, b }))
}

pub(super) fn convert(row: Option<&str>, dst: Registers, src: Registers) -> Stmt {
    Stmt::Leaf(Leaf::Convert(Convert { row: row.map(hx_target::row), dst, src }))
}

pub(super) fn fill(dst: Registers, bits: u64) -> Stmt {
    Stmt::Leaf(Leaf::Fill(Fill { dst, bits }))
}

pub(super) fn compute(dst: Registers, inputs: Vec<Registers>, value: Scalar) -> Stmt {
    Stmt::Leaf(Leaf::Compute(Compute { dst, inputs, value }))
}

pub(super) fn input(index: u32, dtype: DType) -> Scalar {
    Scalar::Input { index, dtype }
}

/// Gives each `lane` the value of `lane ^ mask`.
pub(super) fn exchange(dst: Registers, src: Registers, mask: u32) -> Stmt {
    Stmt::Leaf(Leaf::Exchange(Exchange {
        row: hx_target::row("shfl.bfly.b32"),
        dst,
        src,
        lane: Lane::Xor(mask),
    }))
}

pub(super) fn async_copy(row: &str, src: (Memory, Expr), dst: (Memory, Expr)) -> AsyncCopy {
    let address = |(memory, offset)| Address { memory, offset };
    let (src, dst) = (address(src), address(dst));
    AsyncCopy {
        row: hx_target::row(row),
        signals: None,
        src,
        dst,
        active: Cond::True,
        inside: Cond::True,
        cache: hx_target::Cache::default(),
    }
}

pub(super) fn repeat(name: &str, end: Expr, unroll: bool, body: Vec<Stmt>) -> Stmt {
    Stmt::Control(Control::For { var: symbol(name), start: c(0), end, unroll, body })
}

/// A program under construction.
pub(super) struct Kernel {
    pub(super) program: ThreadProgram,
    ops: u32,
}

impl Kernel {
    pub(super) fn new(threads: u32) -> Kernel {
        let program = ThreadProgram {
            name: "test".into(),
            grid: vec![c(1)],
            scopes: vec![Scope::block(threads)],
            ..ThreadProgram::default()
        };
        Kernel { program, ops: 0 }
    }

    pub(super) fn grid(&mut self, x: i64, y: i64) {
        self.program.grid = vec![c(x), c(y)];
    }

    fn param(&mut self, name: &str, dtype: DType, mutable: bool, shape: &[i64], stride: &[i64]) -> Memory {
        let exprs = |v: &[i64]| v.iter().map(|x| c(*x)).collect();
        let name = name.into();
        let tensor = TensorParam {
            name,
            dtype,
            mutable,
            shape: exprs(shape),
            stride: exprs(stride),
            block: None,
            align: 1,
        };
        self.program.params.push(Param::Tensor(tensor));
        Memory::Global(self.program.params.len() as u32 - 1)
    }

    pub(super) fn input(&mut self, name: &str, dtype: DType, shape: &[i64], stride: &[i64]) -> Memory {
        self.param(name, dtype, false, shape, stride)
    }

    pub(super) fn output(&mut self, name: &str, dtype: DType, shape: &[i64], stride: &[i64]) -> Memory {
        self.param(name, dtype, true, shape, stride)
    }

    pub(super) fn shared(&mut self, name: &str, dtype: DType, len: u32) -> Memory {
        let bytes = len * dtype.bits() / 8;
        let offset = self.program.shared_bytes.next_multiple_of(16);
        self.program.shared.push(SharedBuffer { name: name.into(), dtype, offset, bytes });
        self.program.shared_bytes = offset + bytes;
        Memory::Shared(self.program.shared.len() as u32 - 1)
    }

    pub(super) fn registers(&mut self, name: &str, dtype: DType, len: u32) -> RegId {
        self.program.registers.push(RegisterArray {
            name: name.into(),
            dtype,
            len,
            scope: ScopeId::BLOCK,
            tensor: None,
        });
        RegId(self.program.registers.len() as u32 - 1)
    }

    pub(super) fn number(&mut self, name: &str, dtype: DType) {
        self.program.params.push(Param::Scalar { name: name.into(), dtype });
    }

    /// Wraps statements in a group for the next tile operation.
    pub(super) fn group(&mut self, title: &str, body: Vec<Stmt>) -> Stmt {
        self.ops += 1;
        Stmt::Control(Control::Group(Group {
            op: OpId(self.ops - 1),
            scope: ScopeId::BLOCK,
            origin: Origin(self.ops),
            title: title.into(),
            body,
        }))
    }

    pub(super) fn op(&mut self, title: &str, body: Vec<Stmt>) {
        let group = self.group(title, body);
        self.program.body.push(group);
    }

    pub(super) fn push(&mut self, stmt: Stmt) {
        self.program.body.push(stmt);
    }

    pub(super) fn run(&self, arguments: &mut [Argument]) -> Result<Report, SimError> {
        run(&self.program, &BTreeMap::new(), arguments, &Config::default())
    }

    /// Returns the error of a run as text.
    pub(super) fn error(&self, arguments: &mut [Argument]) -> String {
        error_text(self.run(arguments))
    }
}

/// Formats the fault and, on a line of its own, the place.
pub(super) fn error_text(result: Result<Report, SimError>) -> String {
    match result {
        Ok(_) => "no error".into(),
        Err(SimError { fault, place: Some(place) }) => format!("{fault}\n  {place}\n"),
        Err(SimError { fault, place: None }) => format!("{fault}"),
    }
}

/// Returns a tensor argument with these values, aligned to 256 bytes.
pub(super) fn tensor(dtype: DType, shape: &[i64], stride: &[i64], values: &[f64]) -> Argument {
    let mut bytes = vec![0; hx_dtype::packed_bytes(dtype, values.len())];
    for (i, x) in values.iter().enumerate() {
        hx_dtype::store(dtype, &mut bytes, i, dtype.encode(*x));
    }
    Argument::Tensor { bytes, shape: shape.to_vec(), stride: stride.to_vec(), base_align: 256 }
}

pub(super) fn vector(dtype: DType, values: &[f64]) -> Argument {
    tensor(dtype, &[values.len() as i64], &[1], values)
}

/// Returns `0, 1, 2, …`.
pub(super) fn counting(len: usize) -> Vec<f64> {
    (0..len).map(|i| i as f64).collect()
}

/// Returns pseudo-random small numbers that every float type represents exactly.
pub(super) fn noise(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 60) as f64 - 8.0) / 8.0
    };
    (0..len).map(|_| next()).collect()
}

/// Returns the values of an argument.
pub(super) fn values(dtype: DType, argument: &Argument) -> Vec<f64> {
    match argument {
        Argument::Tensor { bytes, .. } => {
            let count = bytes.len() * 8 / dtype.bits() as usize;
            (0..count).map(|i| dtype.decode(hx_dtype::load(dtype, bytes, i))).collect()
        }
        _ => Vec::new(),
    }
}
