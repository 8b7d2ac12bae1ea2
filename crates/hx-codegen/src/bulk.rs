//! Emits bulk copies and the tensor maps that they address.

use hx_index::{Expr, Symbol};
use hx_target::catalogue;
use hx_thread::{Bulk, BulkStore, Param};

use crate::asm::{Operand, Slots};
use crate::emit::{Emitter, MalformedProgram};
use crate::instruction::Sequence;

type Result<T> = std::result::Result<T, MalformedProgram>;

/// The type of the parameters that hold tensor maps. A kernel uses such a parameter by its address only.
pub(crate) const MAP_TYPE: &str = "struct alignas(64) TensorMap {\n    unsigned long long x[16];\n};\n";

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

    /// Returns the statements by which one thread fetches all tensor maps ahead of their first use.
    pub(crate) fn prefetched_maps(&mut self) -> Result<()> {
        if self.maps.is_empty() {
            return Ok(());
        }
        let row = "bulk.prefetch";
        let prefetch = catalogue().group(row).ok_or_else(|| MalformedProgram::UnknownRow(row.into()))?;
        self.check_arch(row, prefetch.arch)?;
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
        let row = catalogue().bulk(&copy.row).filter(|row| row.is_load());
        let row = row.ok_or_else(|| MalformedProgram::UnknownRow(copy.row.clone()))?;
        Err(MalformedProgram::Missing(format!("the barrier of `{}`", row.name)))
    }

    pub(crate) fn bulk_store(&mut self, store: &BulkStore) -> Result<()> {
        let row = catalogue().bulk(&store.row).filter(|row| !row.is_load());
        let row = row.ok_or_else(|| MalformedProgram::UnknownRow(store.row.clone()))?;
        self.check_arch(&row.name, row.arch)?;
        let mut sequence = Sequence::default();
        sequence.asm.effects = true;
        sequence.asm.guard = self.one_thread()?;
        let (map, coordinates) = self.box_operands(store.map, &store.coordinates)?;
        sequence.asm.inputs = vec![map, self.address(&store.address)?];
        let rank = coordinates.len();
        sequence.asm.inputs.extend(coordinates);
        self.sequence(&row.name, &row.ptx, sequence, &|name| match name {
            "m" => Some(Slots::Input(0)),
            "s" => Some(Slots::Input(1)),
            "c" => Some(Slots::Vector(2..2 + rank)),
            "r" => Some(Slots::Number(rank as i64)),
            _ => None,
        })
    }

    /// Returns the operands for a box: its map, and its coordinates.
    fn box_operands(&mut self, map: u32, coordinates: &[Expr]) -> Result<(Operand, Vec<Operand>)> {
        let name = self.maps.get(map as usize).cloned();
        let name = name.ok_or_else(|| MalformedProgram::Missing(format!("the tensor map {map}")))?;
        let mut out = Vec::with_capacity(coordinates.len());
        for coordinate in coordinates {
            // A coordinate that lies outside of the tensor by more than 2³¹ has no copy.
            let text = self.expr(coordinate)?.cast(false).text;
            out.push(Operand { constraint: 'r', text });
        }
        Ok((map_operand(&name), out))
    }

    /// Returns the condition that holds for one thread of those that execute the statement; `None` if only one executes it.
    fn one_thread(&mut self) -> Result<Option<String>> {
        if self.elected {
            return Ok(None);
        }
        let thread = self.expr(&Expr::symbol(Symbol::Thread))?.text;
        Ok(Some(format!("{thread} == 0")))
    }
}

fn map_operand(name: &str) -> Operand {
    Operand { constraint: 'l', text: format!("&{name}") }
}
