//! Divides the log buffer among the blocks, and decodes it after the launch.
//!
//! Mostly the launch alone decides what a block prints: trip counts and conditions depend on the block's index. So a dry run
//! follows the control flow of each block without its work, and the block gets exactly the bytes that it will need. The block
//! gets an equal share of the rest if data decide, if roles or loops over a counter print, or if the dry runs get too long.

use std::cell::Cell;
use std::collections::BTreeMap;

use hx_index::{Cond, Expr, Symbol};
use hx_tile::ScopeId;

use super::{
    Failed, LOG_BLOCKS, LOG_DROPPED, LOG_WORD, LogContents, LogKind, POSITION_BITS, Printed, RUN_BITS,
    areas_word, assertion_word, record_bytes, sides_word, slice_bytes,
};
use crate::{Control, Drawn, Leaf, Stmt, ThreadProgram, assigned, visit_leaves};

/// The most bytes that the areas of all blocks take together.
const MOST_BYTES: u64 = 32 << 20;
/// The most bytes that a block gets if data decide how much it prints, unless one record needs more.
const MOST_UNKNOWN: u64 = 4 << 20;
/// The most blocks that have an area. Blocks with higher numbers keep no record.
const MOST_BLOCKS: u64 = 1 << 20;
/// The most statements that dry runs follow, over all blocks.
const MOST_STEPS: u64 = 1 << 22;

/// The buffer of one launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogPlan {
    grid: [u64; 3],
    /// The bytes of all words before the areas.
    head: u64,
    /// The area of block `i` is bytes `areas[i]..areas[i + 1]` of the buffer, for the first [`MOST_BLOCKS`] blocks.
    areas: Vec<u64>,
    /// The slices of each area.
    slices: u64,
}

impl LogPlan {
    /// Returns the plan for a launch of `program` on this grid. `symbols` returns the dimensions, strides and integer
    /// arguments of the launch, and `None` for any other symbol.
    pub fn new(program: &ThreadProgram, grid: [u64; 3], symbols: &dyn Fn(&Symbol) -> Option<i64>) -> LogPlan {
        let prints = program.log.iter().any(|e| e.kind == LogKind::Print);
        let blocks = grid.iter().product::<u64>().min(if prints { MOST_BLOCKS } else { 0 });
        let wanted = wanted(program, grid, blocks, symbols);
        let head = (areas_word(&program.log) as u64 + if prints { blocks + 1 } else { 0 }) * LOG_WORD;
        let known: u64 = wanted.iter().flatten().sum();
        let unknown = wanted.iter().filter(|w| w.is_none()).count() as u64;
        let largest = program.log.iter().map(record_bytes).max().unwrap_or(0);
        let share = MOST_BYTES.saturating_sub(known) / unknown.max(1);
        let slices = log_slices(program);
        let share = (share.min(MOST_UNKNOWN) / LOG_WORD * LOG_WORD).max(largest * slices);
        let (mut areas, mut at) = (Vec::new(), head);
        if prints {
            areas.push(at);
        }
        for bytes in wanted {
            let left = head + MOST_BYTES - at;
            at += bytes.unwrap_or(share).min(left);
            areas.push(at);
        }
        LogPlan { grid, head, areas, slices }
    }

    /// Returns the size of the buffer in bytes.
    pub fn bytes(&self) -> u64 {
        self.areas.last().copied().unwrap_or(self.head)
    }

    /// Returns the buffer to pass to the kernel.
    pub fn buffer(&self) -> Vec<u8> {
        let mut buffer = vec![0; self.bytes() as usize];
        put(&mut buffer, LOG_BLOCKS, self.areas.len().saturating_sub(1) as u64);
        let first = self.head as usize / LOG_WORD as usize - self.areas.len();
        for (i, at) in self.areas.iter().enumerate() {
            put(&mut buffer, first + i, *at);
        }
        buffer
    }

    /// Returns the range of bytes that block number `block` may write; empty for a block without an area.
    pub fn area(&self, block: u64) -> std::ops::Range<usize> {
        let at = |i: u64| self.areas.get(i as usize).map(|at| *at as usize);
        at(block).zip(at(block + 1)).map_or(0..0, |(start, end)| start..end)
    }

    /// Returns the range of bytes that a slice of the area of a block has.
    pub fn slice(&self, block: u64, slice: u64) -> std::ops::Range<usize> {
        let area = self.area(block);
        let each = slice_bytes(area.len() as u64, self.slices) as usize;
        let start = area.start + slice as usize * each;
        if slice < self.slices { start..start + each } else { area.end..area.end }
    }

    /// Returns the number of slices of each area.
    pub fn slices(&self) -> u64 {
        self.slices
    }

    /// Decodes the buffer that a kernel has written.
    pub fn read(&self, program: &ThreadProgram, buffer: &[u8]) -> LogContents {
        let mut contents = LogContents { dropped: get(buffer, LOG_DROPPED), ..LogContents::default() };
        for (entry, info) in program.log.iter().enumerate() {
            let word = assertion_word(&program.log, entry);
            if info.kind == LogKind::Assert && get(buffer, word) > 0 {
                contents.failed.push(self.failure(program, entry, buffer));
            }
        }
        for block in 0..self.areas.len().saturating_sub(1) as u64 {
            for slice in 0..self.slices {
                let records = buffer.get(self.slice(block, slice)).unwrap_or_default();
                self.read_slice(program, block, records, &mut contents.printed);
            }
        }
        contents
    }

    fn read_slice(&self, program: &ThreadProgram, block: u64, mut area: &[u8], out: &mut Vec<Printed>) {
        // The records end at the last byte of their slice, or before a word that is zero.
        while let Some(number) = get(area, 0).checked_sub(1) {
            let entry = number as usize;
            let Some(info) = program.log.get(entry) else { return };
            let bytes = record_bytes(info) as usize;
            let Some(payload) = area.get(LOG_WORD as usize..bytes) else { return };
            let bytes_of = |value: &super::LogValue| {
                let (width, count) = (value.element_bytes() as usize, value.elements() as usize);
                let mut packed = vec![0; hx_dtype::packed_bytes(value.dtype, count)];
                for (i, element) in payload.chunks_exact(width).take(count).enumerate() {
                    let mut bits = [0; 8];
                    bits[..width].copy_from_slice(element);
                    hx_dtype::store(value.dtype, &mut packed, i, u64::from_le_bytes(bits));
                }
                packed
            };
            let bytes_of = info.value.as_ref().map_or_else(Vec::new, bytes_of);
            out.push(Printed { block: self.index(block), entry, bytes: bytes_of });
            area = &area[bytes..];
        }
    }

    fn failure(&self, program: &ThreadProgram, entry: usize, buffer: &[u8]) -> Failed {
        let word = assertion_word(&program.log, entry);
        let [count, key] = [get(buffer, word), !get(buffer, word + 1)];
        let mut rest = (key & ((1 << POSITION_BITS) - 1)) as i64;
        let shape = program.log[entry].value.as_ref().map_or(&[][..], |v| &v.shape);
        let mut coordinate: Vec<i64> = shape
            .iter()
            .rev()
            .map(|extent| {
                let c = rest % extent.max(&1);
                rest /= extent.max(&1);
                c
            })
            .collect();
        coordinate.reverse();
        let sides = sides_word(&program.log, entry);
        let sides =
            (1..).map(|side| get(buffer, sides + side)).take(program.log[entry].sides.len()).collect();
        let above = key >> POSITION_BITS;
        let run = (above & ((1 << RUN_BITS) - 1)) as u32;
        Failed { entry, count, block: self.index(above >> RUN_BITS), run, coordinate, sides }
    }

    /// Returns the index of a block along x, y and z.
    fn index(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(|extent| extent.max(1));
        [number % x, number / x % y, number / x / y].map(|i| i as u32)
    }
}

/// Returns the number of slices of each area: 1 unless a role prints.
pub fn log_slices(program: &ThreadProgram) -> u64 {
    let roles = program.roles();
    if roles.iter().all(|role| !prints(program, &role.body)) {
        return 1;
    }
    1 + roles.iter().map(|role| u64::from(program.scope(role.scope).groups)).sum::<u64>()
}

/// Returns the number of the slice of the first group of a role.
pub fn log_slice(program: &ThreadProgram, scope: ScopeId) -> u64 {
    let before = program.roles().iter().take_while(|role| role.scope != scope);
    1 + before.map(|role| u64::from(program.scope(role.scope).groups)).sum::<u64>()
}

/// Returns word number `word` of a buffer; 0 past its end.
fn get(buffer: &[u8], word: usize) -> u64 {
    let at = word * LOG_WORD as usize;
    let bytes = buffer.get(at..at + LOG_WORD as usize).and_then(|b| b.try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}

fn put(buffer: &mut [u8], word: usize, value: u64) {
    let at = word * LOG_WORD as usize;
    if let Some(bytes) = buffer.get_mut(at..at + LOG_WORD as usize) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}

/// Returns the bytes that each of the first `blocks` blocks prints; `None` for a block that a dry run cannot follow.
fn wanted(
    program: &ThreadProgram,
    grid: [u64; 3],
    blocks: u64,
    symbols: &dyn Fn(&Symbol) -> Option<i64>,
) -> Vec<Option<u64>> {
    let mut out = Vec::with_capacity(blocks as usize);
    let mut steps = MOST_STEPS;
    for number in 0..blocks {
        let block = [number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]];
        let index_read = Cell::new(false);
        let mut run = DryRun {
            program,
            symbols,
            grid,
            block,
            index_read: &index_read,
            vars: BTreeMap::new(),
            steps,
            bytes: 0,
        };
        let bytes = run.body(&program.body).map(|()| run.bytes);
        steps = run.steps;
        out.push(bytes);
        if number == 0 && !index_read.get() {
            // No block depends on its index, so all blocks print the same number of bytes.
            out.resize(blocks as usize, bytes);
            break;
        }
    }
    out
}

/// Follows control flow without the work.
struct DryRun<'r> {
    program: &'r ThreadProgram,
    symbols: &'r dyn Fn(&Symbol) -> Option<i64>,
    grid: [u64; 3],
    block: [u64; 3],
    /// Set once the control flow reads the index of the block.
    index_read: &'r Cell<bool>,
    /// Local integers; `None` for an integer that data decide.
    vars: BTreeMap<Symbol, Option<i64>>,
    /// The number of statements that may still be followed.
    steps: u64,
    bytes: u64,
}

impl DryRun<'_> {
    fn lookup(&self, symbol: &Symbol) -> Option<i64> {
        match symbol {
            Symbol::BlockIdx(axis) => {
                self.index_read.set(true);
                self.block.get(usize::from(*axis)).map(|i| *i as i64)
            }
            Symbol::GridDim(axis) => self.grid.get(usize::from(*axis)).map(|n| *n as i64),
            _ => match self.vars.get(symbol) {
                Some(value) => *value,
                None => (self.symbols)(symbol),
            },
        }
    }

    fn value(&self, e: &Expr) -> Option<i64> {
        e.eval(&|s: &Symbol| self.lookup(s)).ok()
    }

    /// Follows a body. Returns `None` if data decide what it prints, if roles or loops over a counter print, or if no step is
    /// left.
    fn body(&mut self, body: &[Stmt]) -> Option<()> {
        for stmt in body {
            self.steps = self.steps.checked_sub(1)?;
            self.stmt(stmt)?;
        }
        Some(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Control(control) => return self.control(control),
            Stmt::Leaf(Leaf::Log(log)) => {
                let entry = self.program.log.get(log.entry as usize)?;
                if entry.kind == LogKind::Print {
                    self.bytes += record_bytes(entry);
                }
            }
            Stmt::Leaf(leaf) => {
                if let Some(local) = leaf.description().local {
                    let value = local.value.and_then(|value| self.value(value));
                    self.vars.insert(local.var.clone(), value);
                }
            }
        }
        Some(())
    }

    fn control(&mut self, control: &Control) -> Option<()> {
        match control {
            Control::Group(group) => return self.body(&group.body),
            Control::For { var, start, end, body, .. } if prints(self.program, body) => {
                for value in self.value(start)?..self.value(end)? {
                    self.vars.insert(var.clone(), Some(value));
                    self.body(body)?;
                }
            }
            Control::If { cond, then, otherwise } => return self.branch(cond, then, otherwise),
            Control::While { body, .. } | Control::Drawn(Drawn { body, .. })
                if prints(self.program, body) =>
            {
                return None;
            }
            Control::For { body, .. } | Control::While { body, .. } | Control::Drawn(Drawn { body, .. }) => {
                self.forget(body);
            }
            // Roles that print take equal slices of the area, whatever they print.
            Control::Roles(roles) => {
                return roles.iter().all(|role| !prints(self.program, &role.body)).then_some(());
            }
        }
        Some(())
    }

    fn branch(&mut self, cond: &Cond, then: &[Stmt], otherwise: &[Stmt]) -> Option<()> {
        match cond.eval(&|s: &Symbol| self.lookup(s)).ok() {
            Some(true) => self.body(then),
            Some(false) => self.body(otherwise),
            None if prints(self.program, then) || prints(self.program, otherwise) => None,
            None => {
                self.forget(then);
                self.forget(otherwise);
                Some(())
            }
        }
    }

    /// Makes the integers unknown that a body changes. Call it for a body that is not followed.
    fn forget(&mut self, body: &[Stmt]) {
        self.vars.extend(assigned(body).into_iter().map(|var| (var, None)));
    }
}

/// Reports whether a body prints anything.
fn prints(program: &ThreadProgram, body: &[Stmt]) -> bool {
    let mut prints = false;
    visit_leaves(body, &mut |leaf| {
        if let Leaf::Log(log) = leaf {
            prints |= program.log.get(log.entry as usize).is_some_and(|e| e.kind == LogKind::Print);
        }
    });
    prints
}
