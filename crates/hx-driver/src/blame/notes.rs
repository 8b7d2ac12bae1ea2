//! The notes of a failed comparison: who wrote the first wrong element, what the wrong elements have in common, and what the simulator
//! computes.

use hx_compile::{TookPart, solved, tile_program, took_part};
use hx_host::dense::show_shape;
use hx_host::show::show_exact;
use hx_index::Symbol;
use hx_launch::stored_tensor;
use hx_sim::Wrote;

use hx_tile::{Origin, TensorId};

use super::account::{Account, show_region};
use super::traits;

/// The relative difference between the simulator and a GPU that rounding explains.
const ROUNDING: f64 = 0.01;

/// Returns the notes. `on_gpu` says that the test ran on a GPU, so that the simulator's result may differ.
pub(super) fn notes(account: &Account<'_>, on_gpu: bool) -> Vec<String> {
    let differs = account.differs().filter(|_| on_gpu);
    account.writer().into_iter().chain(account.padding()).chain(account.common()).chain(differs).collect()
}

impl Account<'_> {
    /// Describes the block and thread that wrote the first wrong element, and its place in the layout of the stored tensor, or
    /// says that nothing wrote it. `None` if the argument does not have the element.
    fn writer(&self) -> Option<String> {
        self.seen.positions[self.seen.first]?;
        let (element, name) = (self.compared(), self.param_name(self.seen.param));
        let Some(wrote) = self.seen.write(self.seen.first) else {
            let blocks = match self.seen.witness.grid.iter().product::<u64>() {
                0 => return Some(format!("nothing wrote {element}: the grid has no blocks")),
                1 => "the only block".to_owned(),
                blocks => format!("the {blocks} blocks"),
            };
            let stored = self.stored().map(|region| show_region(name, &region));
            let stored = stored.unwrap_or_else(|| format!("nothing to `{name}`"));
            return Some(format!("nothing wrote {element}: {blocks} wrote {stored}"));
        };
        let block = show_shape(&self.block(wrote.block));
        let (thread, warp) = (wrote.thread, wrote.thread / self.program.target.limits.lanes);
        let Some((value, tensor)) = wrote.value.zip(self.stored_tensor(wrote)) else {
            return Some(format!(
                "{element} was written in block {block}, by a copy that thread {thread} issued"
            ));
        };
        let by = match self.seen.witness.writers.len() {
            0 | 1 => String::new(),
            blocks => format!("by {blocks} blocks, last "),
        };
        let mut text = format!("{element} was written {by}in block {block} by thread {thread} (warp {warp})");
        let solved = solved(self.db, self.seen.instance).as_ref().ok();
        if let Some(layout) = solved.and_then(|solved| solved.solution.registers.get(&tensor)) {
            let tensor = match self.tensor_name(tensor) {
                None => "the stored tile".to_owned(),
                Some(name) => format!("`{name}`"),
            };
            text += &format!(", from value {value} of {tensor} in its layout {}", layout.layout);
        }
        if !self.seen.sources.is_empty() {
            text += "; the lines show the values that led to it";
        }
        Some(text)
    }

    /// Says which elements of padding took part in the first wrong element.
    fn padding(&self) -> Vec<String> {
        let Some(wrote) = self.seen.write(self.seen.first) else { return Vec::new() };
        let Some(stored) = self.seen.witness.places[wrote.site as usize].op else { return Vec::new() };
        let index = self.seen.witness.block_index(wrote.block);
        let grid = self.seen.witness.grid;
        let known = |symbol: &Symbol| match symbol {
            Symbol::BlockIdx(axis) => index.get(usize::from(*axis)).map(|index| *index as i64),
            Symbol::GridDim(axis) => grid.get(usize::from(*axis)).map(|blocks| *blocks as i64),
            other => self.seen.symbols.get(other).copied(),
        };
        let found = took_part(self.db, self.seen.instance, stored, &known);
        let note = |found: &TookPart| {
            let elements = match found.count {
                Some(1) => "an element of padding".to_owned(),
                Some(count) => format!("{count} elements of padding"),
                None => "padding".to_owned(),
            };
            let value = found.value.as_ref().map(|value| format!(", as {value}")).unwrap_or_default();
            let by = self.text(found.origin).map(|text| format!(" in `{text}`")).unwrap_or_default();
            format!("{elements} {} took part in {}{by}{value}", found.place, self.compared())
        };
        found.iter().map(note).collect()
    }

    /// Returns the source text of an origin, on one line; `None` if the source has no place for it.
    fn text(&self, origin: Origin) -> Option<String> {
        let lowered = tile_program(self.db, self.seen.instance).as_ref().ok()?;
        let (file, range) = lowered.sources.origins.get(origin.0 as usize)?.place.range(self.db)?;
        let text = file.text(self.db).get(std::ops::Range::<usize>::from(range))?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Returns the tensor whose element a write stored; `None` if the write is not part of an operation that stores a tensor.
    fn stored_tensor(&self, wrote: Wrote) -> Option<TensorId> {
        stored_tensor(self.program.op(self.seen.witness.places[wrote.site as usize].op?)?)
    }

    /// Names what the wrong elements have in common and nearly no right element has; `None` if there is nothing
    /// ([`traits::common`]).
    fn common(&self) -> Option<String> {
        let writes =
            (0..self.seen.positions.len()).filter_map(|i| Some((self.seen.write(i)?, self.suspect.wrong[i])));
        traits::common(
            self.program.target.limits.lanes,
            writes.collect(),
            &self.seen.witness.places,
            |block| self.block(block),
        )
    }

    /// Says what the simulator computes for the first wrong element, if it differs from the GPU's result by more than the rounding
    /// of sums in another order.
    fn differs(&self) -> Option<String> {
        let dtype = self.suspect.tensor.dtype();
        let bits = hx_dtype::load(dtype, &self.seen.bytes, self.seen.positions[self.seen.first]?);
        let found = *self.suspect.tensor.bits().get(self.seen.first)?;
        let [simulated, measured] = [bits, found].map(|bits| dtype.decode(bits));
        let is_rounding = dtype.is_float()
            && (simulated - measured).abs() <= ROUNDING * simulated.abs().max(measured.abs());
        (bits != found && !is_rounding)
            .then(|| format!("the simulator computes {} there", show_exact(dtype, bits)))
    }
}
