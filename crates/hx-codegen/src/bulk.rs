//! Emits bulk copies and the tensor maps that they address.

use hx_index::{Cond, Expr, Symbol};
use hx_target::BulkRow;
use hx_thread::{Bulk, BulkStore, Fetched, Leaf, Param, Part, Prefetch, Stmt};

use crate::asm::{Operand, Slots};
use crate::emit::{Emitter, MalformedProgram};
use crate::instruction::Sequence;
use crate::pipe::steps;

type Result<T> = std::result::Result<T, MalformedProgram>;

impl Emitter<'_> {
    /// Gives every tensor map the name of its tensor with `_map`.
    pub(crate) fn name_maps(&mut self) {
        for map in &self.program.maps {
            let tensor = match self.program.params.get(map.param as usize) {
                Some(Param::Tensor(t)) => t.name.as_str(),
                Some(Param::Scalar { .. }) | None => "tensor",
            };
            let name = self.names.local(&format!("{tensor}_map"));
            self.maps.push(name);
        }
    }

    /// Writes the statements by which one thread prefetches all tensor maps.
    pub(crate) fn prefetched_maps(&mut self) -> Result<()> {
        if self.maps.is_empty() {
            return Ok(());
        }
        let row = "bulk.prefetch";
        let prefetch =
            self.program.target.rows().group(row).ok_or_else(|| MalformedProgram::UnknownRow(row.into()))?;
        self.block("if (threadIdx.x == 0)", |e| {
            for map in e.maps.clone() {
                let mut sequence = Sequence::default();
                sequence.asm.effects = true;
                sequence.asm.inputs = vec![map_operand(&map)];
                e.sequence(row, &prefetch.ptx, sequence, &|name| (name == "m").then_some(Slots::Input(0)))?;
            }
            Ok(())
        })
    }

    pub(crate) fn bulk(&mut self, copy: &Bulk) -> Result<()> {
        let row = copy.row.get();
        if !row.is_load() {
            return Err(MalformedProgram::UnknownRow(row.name.clone()));
        }
        let is_multicast = !copy.blocks.is_empty();
        let ptx = row.hinted(copy.cache, is_multicast).ok_or_else(|| {
            let form = if is_multicast { "into blocks" } else { "with cache hints" };
            MalformedProgram::UnknownRow(format!("{} {form}", row.name))
        })?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.guard = self.one_thread()?;
        let part = self.part(row, &copy.from)?;
        let barrier = self.barrier_address(copy.barrier.0, &copy.barrier.1)?;
        let word = |text| Operand { constraint: 'r', text };
        sequence.asm.inputs = vec![self.address(&copy.address)?, part.base, word(barrier)];
        if !copy.blocks.is_empty() {
            let text = self.mask(&copy.blocks)?;
            sequence.asm.inputs.push(Operand { constraint: 'h', text });
        }
        let (rank, first) = (part.coordinates.len(), sequence.asm.inputs.len());
        sequence.asm.inputs.extend(part.coordinates);
        let policy = sequence.asm.inputs.len();
        sequence.asm.inputs.extend(self.policy(copy.cache)?);
        self.sequence(&row.name, &ptx, sequence, &|name| match name {
            "p" => Some(Slots::Input(policy)),
            "s" => Some(Slots::Input(0)),
            "m" | "a" => Some(Slots::Input(1)),
            "n" => Some(Slots::Number(part.bytes)),
            "b" => Some(Slots::Input(2)),
            "k" => Some(Slots::Input(3)),
            "c" => Some(Slots::Vector(first..first + rank)),
            "r" => Some(Slots::Number(rank as i64)),
            _ => None,
        })
    }

    /// Prints a 16-bit mask of blocks of the cluster: bit `r` stands for the block of rank `r`.
    fn mask(&mut self, ranks: &[Expr]) -> Result<String> {
        if let (Some(step), Some(first)) = (steps(ranks), ranks.first()) {
            let bits = (0..ranks.len() as i64).fold(0u16, |bits, at| bits | 1 << (at * step));
            return Ok(match first.as_const() {
                Some(first) => format!("(unsigned short){}", bits << first),
                None => format!("(unsigned short)({bits} << ({}))", self.expr(first)?.text),
            });
        }
        let bit = |rank: &Expr| Ok(format!("1 << ({})", self.expr(rank)?.text));
        let bits = ranks.iter().map(bit).collect::<Result<Vec<String>>>()?;
        Ok(format!("(unsigned short)({})", bits.join(" | ")))
    }

    pub(crate) fn bulk_store(&mut self, store: &BulkStore) -> Result<()> {
        let row = store.row.get();
        if row.is_load() {
            return Err(MalformedProgram::UnknownRow(row.name.clone()));
        }
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.guard = self.one_thread()?;
        let part = self.part(row, &store.to)?;
        sequence.asm.inputs = vec![part.base, self.address(&store.address)?];
        let rank = part.coordinates.len();
        sequence.asm.inputs.extend(part.coordinates);
        let policy = sequence.asm.inputs.len();
        sequence.asm.inputs.extend(self.policy(store.cache)?);
        let hintless = || MalformedProgram::UnknownRow(format!("{} with cache hints", row.name));
        let ptx = row.hinted(store.cache, false).ok_or_else(hintless)?;
        self.sequence(&row.name, &ptx, sequence, &|name| match name {
            "p" => Some(Slots::Input(policy)),
            "m" | "a" => Some(Slots::Input(0)),
            "n" => Some(Slots::Number(part.bytes)),
            "s" => Some(Slots::Input(1)),
            "c" => Some(Slots::Vector(2..2 + rank)),
            "r" => Some(Slots::Number(rank as i64)),
            _ => None,
        })
    }

    /// Writes a fetch into the L2 cache: of a box by one thread, or of a line by each thread.
    pub(crate) fn prefetch(&mut self, fetch: &Prefetch) -> Result<()> {
        let row = fetch.row.get();
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        match &fetch.of {
            Fetched::Box { map, coordinates } => {
                sequence.asm.guard = self.one_thread()?;
                let (base, coordinates) = self.box_operands(*map, coordinates)?;
                sequence.asm.inputs = vec![base];
                sequence.asm.inputs.extend(coordinates);
            }
            Fetched::Line { guard: Cond::False, .. } => return Ok(()),
            Fetched::Line { address, guard } => {
                sequence.asm.inputs = vec![self.address(address)?];
                sequence.asm.guard = match guard {
                    Cond::True => None,
                    guard => Some(self.cond(guard)?),
                };
            }
        }
        let rank = sequence.asm.inputs.len() - 1;
        self.sequence(&row.name, &row.ptx, sequence, &|name| match name {
            "m" | "a" => Some(Slots::Input(0)),
            "c" => Some(Slots::Vector(1..1 + rank)),
            "r" => Some(Slots::Number(rank as i64)),
            _ => None,
        })
    }

    /// Returns the operands for the part of global memory that a row copies: a run or a box. It is an error if the row copies
    /// the other kind.
    fn part(&mut self, row: &BulkRow, part: &Part) -> Result<PartOperands> {
        match part {
            Part::Box { map, coordinates } if row.run.is_none() => {
                let (base, coordinates) = self.box_operands(*map, coordinates)?;
                Ok(PartOperands { base, coordinates, bytes: 0 })
            }
            Part::Run { first, elements } if row.run.is_some() => {
                let dtype = self.program.memory_dtype(first.memory);
                let dtype = dtype.ok_or_else(|| MalformedProgram::Missing("the tensor of a run".into()))?;
                let bytes = i64::from(*elements) * i64::from(dtype.bits()) / 8;
                Ok(PartOperands { base: self.address(first)?, coordinates: Vec::new(), bytes })
            }
            Part::Box { .. } | Part::Run { .. } => Err(MalformedProgram::UnknownRow(row.name.clone())),
        }
    }

    /// Returns the operands for a box: its map, and its coordinates.
    fn box_operands(&mut self, map: u32, coordinates: &[Expr]) -> Result<(Operand, Vec<Operand>)> {
        let name = self.maps.get(map as usize).cloned();
        let name = name.ok_or_else(|| MalformedProgram::Missing(format!("the tensor map {map}")))?;
        let mut out = Vec::with_capacity(coordinates.len());
        for coordinate in coordinates {
            // The operand is a signed 32-bit integer. A box whose coordinate does not fit lies outside of the tensor, and no
            // thread copies it.
            let text = self.expr(coordinate)?.cast(false).text;
            out.push(Operand { constraint: 'r', text });
        }
        Ok((map_operand(&name), out))
    }

    /// Returns how many statements at the start of a body one thread executes while the others do nothing; 0 if one thread
    /// alone executes the body already.
    pub(crate) fn run_by_one_thread(&self, body: &[Stmt]) -> usize {
        let is_alone = |stmt: &&Stmt| {
            matches!(
                stmt,
                Stmt::Leaf(Leaf::Expect { .. } | Leaf::Bulk(_) | Leaf::BulkStore(_) | Leaf::BulkCommit)
            )
        };
        if self.elected { 0 } else { body.iter().take_while(is_alone).count() }
    }

    /// Writes statements that one thread executes under a single condition, instead of one condition for each statement.
    pub(crate) fn by_one_thread(&mut self, body: &[Stmt]) -> Result<()> {
        let Some(thread) = self.one_thread()? else {
            return body.iter().try_for_each(|stmt| self.stmt(stmt));
        };
        self.block(&format!("if ({thread})"), |e| {
            e.elected = true;
            let done = body.iter().try_for_each(|stmt| e.stmt(stmt));
            e.elected = false;
            done
        })
    }

    /// Returns the condition that holds for one thread of those that execute the statement; `None` if only one executes it.
    pub(crate) fn one_thread(&mut self) -> Result<Option<String>> {
        if self.elected {
            return Ok(None);
        }
        let thread = self.expr(&Expr::symbol(Symbol::Thread))?.text;
        Ok(Some(format!("{thread} == 0")))
    }
}

/// The operands of an instruction for the part of global memory that it copies.
struct PartOperands {
    /// The tensor map of a box, or the address of a run.
    base: Operand,
    /// Empty for a run.
    coordinates: Vec<Operand>,
    /// The length of a run in bytes; 0 for a box.
    bytes: i64,
}

fn map_operand(name: &str) -> Operand {
    Operand { constraint: 'l', text: format!("&{name}") }
}
