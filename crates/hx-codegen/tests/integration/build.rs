//! Short constructors for hand-made thread programs. They look up instructions by their properties.

use hx_dtype::DType;
use hx_index::{Cond, Expr, Facts, Symbol};
use hx_target::{CopyRow, Row, Space, Target};
use hx_thread::{
    Address, Body, Control, Convert, Fill, Group, Leaf, Memory, Multiply, Param, RegId, RegisterArray,
    Registers, Stmt, TensorParam, ThreadProgram, Transfer,
};
use hx_tile::{OpId, Origin, Scope, ScopeId};

pub(crate) fn c(value: i64) -> Expr {
    Expr::constant(value)
}

pub(crate) fn dim(name: &str) -> Expr {
    Expr::dim(name)
}

pub(crate) fn thread() -> Expr {
    Expr::symbol(Symbol::Thread)
}

pub(crate) fn block(axis: u8) -> Expr {
    Expr::symbol(Symbol::BlockIdx(axis))
}

pub(crate) fn var(name: &str, number: u32) -> Symbol {
    Symbol::Var(name.into(), number)
}

pub(crate) fn div(e: &Expr, by: i64) -> Expr {
    e.div(&c(by), &Facts::default())
}

pub(crate) fn rem(e: &Expr, by: i64) -> Expr {
    e.rem(&c(by), &Facts::default())
}

pub(crate) fn lt(a: Expr, b: Expr) -> Cond {
    Cond::cmp(hx_index::CmpOp::Lt, a, b, &Facts::default())
}

pub(crate) fn tensor(name: &str, dtype: DType, mutable: bool, shape: &[Expr], stride: &[Expr]) -> Param {
    Param::Tensor(TensorParam {
        name: name.into(),
        dtype,
        mutable,
        shape: shape.to_vec(),
        stride: stride.to_vec(),
        block: None,
        align: 16,
    })
}

pub(crate) fn array(name: &str, dtype: DType, len: u32) -> RegisterArray {
    RegisterArray { name: name.into(), dtype, len, scope: ScopeId::BLOCK, tensor: None }
}

pub(crate) fn regs(array: u32, base: Expr, offsets: impl IntoIterator<Item = u32>) -> Registers {
    Registers { array: RegId(array), base, offsets: offsets.into_iter().collect() }
}

fn row(from: Space, to: Space, what: &dyn Fn(&CopyRow) -> bool) -> Row<CopyRow> {
    let found = Target::usual().rows().copies.iter().find(|r| r.from == from && r.to == to && what(r));
    found.expect("there is such a row").into()
}

fn space(memory: Memory) -> Space {
    if matches!(memory, Memory::Global(_)) { Space::Global } else { Space::Shared }
}

fn transfer(row: Row<CopyRow>, registers: Registers, memory: Memory, offset: Expr) -> Transfer {
    Transfer {
        row,
        registers,
        address: Address { memory, offset },
        guard: Cond::True,
        pad: 0,
        atomic: None,
        cache: hx_target::Cache::default(),
    }
}

/// Loads `bytes` bytes in each thread.
pub(crate) fn load(bytes: u32, registers: Registers, memory: Memory, offset: Expr) -> Transfer {
    let row = row(space(memory), Space::Register, &|r| !r.is_collective() && r.bytes == bytes);
    transfer(row, registers, memory, offset)
}

/// Loads four matrices by a warp.
pub(crate) fn load_matrices(registers: Registers, memory: Memory, offset: Expr) -> Transfer {
    transfer(
        row(Space::Shared, Space::Register, &|r| r.is_collective() && r.bytes == 16),
        registers,
        memory,
        offset,
    )
}

pub(crate) fn store(bytes: u32, registers: Registers, memory: Memory, offset: Expr) -> Transfer {
    let row = row(Space::Register, space(memory), &|r| !r.is_collective() && r.bytes == bytes);
    transfer(row, registers, memory, offset)
}

pub(crate) fn guarded(mut t: Transfer, guard: Cond, pad: u64) -> Stmt {
    (t.guard, t.pad) = (guard, pad);
    Stmt::Leaf(Leaf::Transfer(t))
}

/// Multiplies matrices of `shape` and of these element types.
pub(crate) fn product(shape: [i64; 3], types: [DType; 2], c: Registers, a: Registers, b: Registers) -> Stmt {
    let found = Target::usual()
        .rows()
        .gemms
        .iter()
        .find(|r| r.shape == shape && r.a.dtype() == types[0] && r.c.dtype == types[1]);
    let row = found.expect("there is such a row").into();
    Stmt::Leaf(Leaf::Multiply(Multiply { row, c, a, b }))
}

/// Converts `values` values at once.
pub(crate) fn convert(from: DType, to: DType, values: u32, dst: Registers, src: Registers) -> Stmt {
    let found =
        Target::usual().rows().converts.iter().find(|r| r.from == from && r.to == to && r.values == values);
    let row = Some(found.expect("there is such a row").into());
    Stmt::Leaf(Leaf::Convert(Convert { row, dst, src }))
}

pub(crate) fn fill(dst: Registers, bits: u64) -> Stmt {
    Stmt::Leaf(Leaf::Fill(Fill { dst, bits }))
}

pub(crate) fn unrolled(var: &Symbol, count: i64, body: Body) -> Stmt {
    Stmt::Control(Control::For { var: var.clone(), start: c(0), end: c(count), unroll: true, body })
}

pub(crate) fn group(op: u32, title: &str, body: Body) -> Stmt {
    Stmt::Control(Control::Group(Group {
        op: OpId(op),
        scope: ScopeId::BLOCK,
        origin: Origin(op),
        title: title.into(),
        body,
    }))
}

/// Builds a kernel of 128 threads.
pub(crate) fn kernel(
    name: &str,
    params: Vec<Param>,
    dims: &[&str],
    grid: Vec<Expr>,
    registers: Vec<RegisterArray>,
    body: Body,
) -> ThreadProgram {
    ThreadProgram {
        name: name.into(),
        params,
        symbols: dims.iter().map(|d| Symbol::Dim((*d).into())).collect(),
        grid,
        scopes: vec![Scope::block(128)],
        registers,
        body,
        ..ThreadProgram::default()
    }
}
