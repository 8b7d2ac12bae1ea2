//! Instructions that move elements between memories and registers, atomic ones among them.

use hx_dtype::{AtomicOp, DType};
use hx_layout::Layout;
use serde::Deserialize;

use crate::operand::optional_layout;
use crate::{Cache, Feature, Space};

/// An instruction that moves elements between a memory and registers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyRow {
    pub name: String,
    pub from: Space,
    pub to: Space,
    /// The number of lanes that execute one instruction together.
    pub threads: u32,
    /// The operation and element type of an atomic instruction; `None` for other instructions.
    pub atomic: Option<AtomicForm>,
    /// The width in bits of the elements that `memory` and `register` count. Only collective instructions have any of the
    /// three.
    pub element_bits: Option<u32>,
    /// Bytes moved for each lane.
    pub bytes: u32,
    /// Bytes that a lane's address covers; the address is aligned to them.
    pub access: u32,
    /// Bits of one register operand.
    pub word: u32,
    /// Number of register operands.
    pub words: u32,
    /// Byte permutations that a lane makes besides the access, before a store or after a load.
    #[serde(default)]
    pub permutes: u32,
    /// (lane, value) → element of the instruction's tile, as lanes address memory.
    #[serde(default, deserialize_with = "optional_layout")]
    pub memory: Option<Layout>,
    /// (lane, value) → element of the instruction's tile, as lanes hold it in registers.
    #[serde(default, deserialize_with = "optional_layout")]
    pub register: Option<Layout>,
    /// Cycles until the next instruction of the warp can issue on the same pipe.
    pub issue: f64,
    /// Cycles until the result can be used.
    pub latency: f64,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// The part of the opcode behind which the qualifiers of cache hints stand; `None` if the instruction takes no hints.
    #[serde(default)]
    pub hints: Option<String>,
    /// PTX with `{r}` for the registers, `{r0}`, `{r1}`, … for single ones, and `{a}` for the address. An atomic instruction also has `{m}` for its order and scope,
    /// `{o}` for the element as it was before, and `{c}` for the value to compare with.
    pub ptx: String,
}

/// The effect of an atomic instruction on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtomicForm {
    pub op: AtomicOp,
    pub dtype: DType,
    /// Whether the instruction returns the element as it was before. Loads, which only read it, do not count.
    #[serde(default)]
    pub returns: bool,
}

/// A copy row for one element type.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyAtom {
    /// (lane, value) → element of the instruction's tile, in memory. Values are contiguous, beginning at the lane's address.
    pub memory: Layout,
    /// (lane, value) → element of the instruction's tile, in registers.
    pub register: Layout,
    /// Elements that each lane holds in registers.
    pub values: i64,
    /// Elements that each lane's address covers.
    pub access: i64,
}

impl CopyRow {
    /// Returns the memory side: `from` of a load, `to` of a store or of an asynchronous copy.
    pub fn memory_space(&self) -> Space {
        if self.to == Space::Register { self.from } else { self.to }
    }

    /// Reports whether the row moves data from a memory to registers.
    pub fn is_load(&self) -> bool {
        self.to == Space::Register
    }

    /// Reports whether lanes exchange data: a lane then holds other elements than those at its address.
    pub fn is_collective(&self) -> bool {
        self.threads > 1
    }

    /// Returns the number of lanes that execute one instruction, and how many of them, counted from the first, supply an
    /// address that counts.
    pub fn addressing(&self) -> (u32, u32) {
        (self.threads, self.threads * self.bytes / self.access)
    }

    /// Reports whether the row moves data from memory to memory without registers.
    pub fn is_async(&self) -> bool {
        self.from != Space::Register && self.to != Space::Register
    }

    /// Returns the PTX with the qualifiers of cache hints, if there are any, and with `{p}` for the policy of L2. `None` if the instruction takes no hints, or
    /// none for L1: a copy without registers goes past that cache, or always allocates.
    pub fn hinted(&self, cache: Cache) -> Option<String> {
        if cache.is_default() {
            return Some(self.ptx.clone());
        }
        let opcode = self.hints.as_deref().filter(|_| cache.l1.is_none() || !self.is_async())?;
        cache.hinted(&self.ptx, opcode)
    }

    /// Returns the row for elements of `dtype`; `None` if they do not fit it.
    pub fn atom(&self, dtype: DType) -> Option<CopyAtom> {
        let bits = dtype.bits();
        match (&self.memory, &self.register, self.element_bits) {
            (Some(memory), Some(register), Some(element)) => {
                let packed = i64::from(element / bits);
                if packed == 0 || element % bits != 0 {
                    return None;
                }
                // Each lane addresses a row of the instruction's tile. The tile is column-major, so the step from value to
                // value is the number of rows.
                let rows = memory.mode(1).leaves().first()?.1;
                Some(CopyAtom {
                    memory: split_columns(memory, rows, packed)?,
                    register: split_columns(register, rows, packed)?,
                    values: i64::from(self.bytes * 8 / bits),
                    access: i64::from(self.access * 8 / bits),
                })
            }
            _ if self.atomic.is_some_and(|atomic| atomic.dtype != dtype) => None,
            _ => {
                let values = i64::from(self.bytes * 8 / bits);
                if values == 0 || !(self.bytes * 8).is_multiple_of(bits) {
                    return None;
                }
                let own = Layout::flat(&[(1, 0), (values, 1)]).ok()?;
                Some(CopyAtom { memory: own.clone(), register: own, values, access: values })
            }
        }
    }
}

/// Splits each element of a thread-value layout over a column-major tile of `rows` rows into `packed` narrower elements that
/// are neighbours along the columns: `(row, col)` becomes `(row, packed · col + j)`. Each lane's values begin with the
/// `packed` parts of its first element.
fn split_columns(layout: &Layout, rows: i64, packed: i64) -> Option<Layout> {
    if packed == 1 {
        return Some(layout.clone());
    }
    let wider = |mode: &Layout| -> Vec<(i64, i64)> {
        let stride = |s: i64| s % rows + s / rows * rows * packed;
        mode.leaves().iter().map(|(extent, s)| (*extent, stride(*s))).collect()
    };
    let values: Vec<(i64, i64)> = std::iter::once((packed, rows)).chain(wider(&layout.mode(1))).collect();
    let [lanes, values] =
        [wider(&layout.mode(0)), values].map(|modes| Layout::flat(&modes).map(|l| l.coalesce()));
    Layout::concat(&[lanes.ok()?, values.ok()?]).ok()
}
