//! Explains the wrong elements of a failed comparison by the kernel that wrote them: the operation, block, warp and thread, the
//! place in the inferred layout, and the regions that the block read.
//!
//! A test that fails runs once more with the same seed. The launch that wrote the compared tensor then runs on the simulator,
//! which records the accesses; earlier launches run where they ran before. So tests that pass cost nothing.

mod definitions;
mod traits;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hx_base::{Diagnostic, Label, TextRange, line_index};
use hx_compile::{solution, tile_program};
use hx_host::dense::show_shape;
use hx_host::eval::Suspect;
use hx_host::pattern::coordinate;
use hx_host::show::show_exact;
use hx_sim::{Reached, Wrote};
use hx_target::WARP;
use hx_tile::{Op, OpKind, Origin, Param, TensorId, TileProgram};
use hx_workspace::Database;

use crate::bounded::Each;
use crate::launch::{Launcher, Seen, Tuned, grid_label, stored_tensor};
use crate::machine::Machine;

/// The largest tensor whose writes are recorded, in elements. A record takes 16 bytes for each.
const LARGEST: usize = 1 << 22;

/// The relative difference between the simulator and a GPU that rounding explains.
const ROUNDING: f64 = 0.01;

/// The name of a register tensor that the text does not name.
const UNNAMED: &str = "value";

/// The time after which the search for the writer of a wrong element ends.
const LIMIT: Duration = Duration::from_secs(10);

/// The settings of the run that failed.
#[derive(Clone, Copy)]
pub(crate) struct Run<'r> {
    /// The order of events on the simulator.
    pub order: u64,
    pub stop: &'r AtomicBool,
    pub timeout: Option<Duration>,
    pub tuned: Option<&'r Tuned>,
}

/// Runs a failed case once more, up to the launch that wrote the compared tensor, and adds to the failure what that launch did.
/// `again` evaluates the case with a launcher.
pub(crate) fn blame(
    db: &Database,
    machine: &Machine,
    run: Run<'_>,
    suspect: &Suspect,
    found: &mut Diagnostic,
    again: impl Fn(&Database, &mut Launcher<'_>),
) {
    let Run { order, stop, timeout, tuned } = run;
    if suspect.tensor.len() > LARGEST {
        return;
    }
    let limit = timeout.map_or(LIMIT, |timeout| timeout.min(LIMIT));
    let until = Each { stop, limit: Some(limit) }.begins();
    let ran = until.run(db, |db| {
        let launcher = Launcher::new(db, machine, until).in_order(order).with_tuned(tuned);
        let mut launcher = launcher.watching(suspect);
        again(db, &mut launcher);
        explain(db, found, &launcher.seen()?, suspect, machine.is_gpu());
        Some(())
    });
    if !matches!(ran, Ok(Some(()))) && until.is_reached() && !stop.load(Ordering::Relaxed) {
        found.notes.push(format!(
            "the operation that wrote it was not found within {} s: a smaller shape shows it",
            limit.as_secs_f64()
        ));
    }
}

/// Adds to a failed comparison the places in the kernel that explain it. `on_gpu` says that the test ran on a GPU, so that the
/// simulator's result may differ.
fn explain(db: &Database, found: &mut Diagnostic, seen: &Seen<'_>, suspect: &Suspect, on_gpu: bool) {
    let Some(account) = Account::new(db, seen, suspect) else { return };
    found.notes.extend(account.writer());
    found.notes.extend(account.common());
    found.notes.extend(account.differs().filter(|_| on_gpu));
    found.secondary.extend(account.labels());
}

/// The first wrong element, and the program that should have written it.
struct Account<'a> {
    db: &'a Database,
    seen: &'a Seen<'a>,
    suspect: &'a Suspect,
    program: &'a TileProgram,
}

impl<'a> Account<'a> {
    fn new(db: &'a Database, seen: &'a Seen<'a>, suspect: &'a Suspect) -> Option<Account<'a>> {
        let program = &tile_program(db, seen.instance).as_ref().ok()?.program;
        Some(Account { db, seen, suspect, program })
    }

    /// Formats the first wrong element with its coordinates in the parameter: `c[64, 0]`.
    fn element(&self) -> String {
        let at = self.seen.coordinate.iter().map(i64::to_string).collect::<Vec<_>>();
        format!("`{}[{}]`", self.param_name(self.seen.param), at.join(", "))
    }

    /// Formats the first wrong element as the comparison does, and as the kernel does if that differs: `[0], which is `y[16, 0]``.
    fn compared(&self) -> String {
        let compared = coordinate(self.suspect.tensor.shape(), self.seen.first);
        let is_same = compared.iter().map(|at| *at as i64).eq(self.seen.coordinate.iter().copied());
        let compared = show_shape(&compared);
        if is_same { compared } else { format!("{compared}, which is {},", self.element()) }
    }

    fn param_name(&self, param: usize) -> &str {
        match self.program.params.get(param) {
            Some(Param::Tensor(tensor)) => &tensor.name,
            Some(Param::Int { name, .. } | Param::Float { name, .. }) => name,
            None => "",
        }
    }

    /// Describes the block and thread that wrote the first wrong element, and its place in the layout of the stored tensor.
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
        let (thread, warp) = (wrote.thread, wrote.thread / WARP);
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
        let layout = solution(self.db, self.seen.instance).as_ref().ok();
        if let Some(layout) = layout.and_then(|solution| solution.registers.get(&tensor)) {
            let tensor = match self.tensor_name(tensor) {
                "" => "the stored tile".to_owned(),
                name => format!("`{name}`"),
            };
            text += &format!(", from value {value} of {tensor} in its layout {}", layout.layout);
        }
        if !self.seen.sources.is_empty() {
            text += "; the lines show the values that led to it";
        }
        Some(text)
    }

    /// Returns the name of a tensor in the text; an empty one if the text does not name it.
    fn tensor_name(&self, tensor: TensorId) -> &str {
        match self.program.tensor(tensor).name.as_str() {
            UNNAMED => "",
            name => name,
        }
    }

    /// Formats the values of a tensor: `acc = 1.5`.
    fn equals(&self, tensor: TensorId, values: &str) -> String {
        match self.tensor_name(tensor) {
            "" => format!("= {values}"),
            name => format!("`{name}` = {values}"),
        }
    }

    /// Returns the tensor whose elements an operation stores.
    fn stored_tensor(&self, wrote: Wrote) -> Option<TensorId> {
        stored_tensor(self.program.op(self.seen.witness.places[wrote.site as usize].op?)?)
    }

    fn block(&self, number: u32) -> Vec<usize> {
        let axes = self.program.grid.len().max(1);
        self.seen.witness.block_index(number).iter().take(axes).map(|index| *index as usize).collect()
    }

    /// Returns the smallest box around all elements that the launch wrote to the compared tensor.
    fn stored(&self) -> Option<Region> {
        let reached = self.seen.witness.reached.iter();
        hull(reached.filter(|reached| reached.write && reached.param == self.seen.param))
    }

    /// Names what the wrong elements have in common and no right element has.
    fn common(&self) -> Option<String> {
        let writes =
            (0..self.seen.positions.len()).filter_map(|i| Some((self.seen.write(i)?, self.suspect.wrong[i])));
        traits::common(writes.collect(), &self.seen.witness.places, |block| self.block(block))
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

    /// Marks the accesses of the block that wrote the first wrong element; if nothing wrote it, all writes to the tensor and the
    /// grid.
    fn labels(&self) -> Vec<Label> {
        let (witness, param) = (&self.seen.witness, self.seen.param);
        let mut texts: BTreeMap<Origin, Vec<String>> = BTreeMap::new();
        let mut add = |site: u32, text: String| {
            let texts = witness.places[site as usize].origin.map(|origin| texts.entry(origin).or_default());
            if let Some(texts) = texts.filter(|texts| !texts.contains(&text)) {
                texts.push(text);
            }
        };
        let Some(wrote) = self.seen.write(self.seen.first) else {
            for site in 0..witness.places.len() as u32 {
                let of = |reached: &&Reached| reached.write && reached.param == param && reached.site == site;
                if let Some(region) = hull(witness.reached.iter().filter(of)) {
                    let region = show_region(self.param_name(param), &region);
                    add(
                        site,
                        match witness.grid {
                            [1, 1, 1] => format!("the only block writes {region}"),
                            _ => format!("all blocks together write {region}"),
                        },
                    );
                }
            }
            let axes = self.program.grid.len().max(1);
            let grid = witness.grid.iter().take(axes).map(|blocks| *blocks as usize).collect::<Vec<_>>();
            let label = grid_label(self.db, self.seen.instance, format!("the grid is {}", show_shape(&grid)));
            return self.with_definitions(texts, label, None);
        };
        let block = show_shape(&self.block(wrote.block));
        let mut regions: BTreeMap<(u32, usize, bool), Vec<&Region>> = BTreeMap::new();
        for reached in witness.reached.iter().filter(|reached| reached.block == wrote.block) {
            let key = (reached.site, reached.param, reached.write);
            let known = regions.entry(key).or_default();
            if known.last() != Some(&&reached.region) {
                known.push(&reached.region);
            }
        }
        for ((site, param, write), regions) in regions {
            let show = |region: &&Region| show_region(self.param_name(param), region);
            let verb = if write { "writes" } else { "reads" };
            add(site, format!("block {block} {verb} {}", listed(&regions, show)));
        }
        for (site, text) in self.values() {
            add(site, text);
        }
        for (origin, text) in self.fills() {
            let texts = texts.entry(origin).or_default();
            if texts.is_empty() {
                texts.push(text);
            }
        }
        self.with_definitions(texts, None, Some(wrote.block))
    }

    /// Places the texts, and labels the definitions of the names at their places that are not part of a place.
    fn with_definitions(
        &self,
        texts: BTreeMap<Origin, Vec<String>>,
        more: Option<Label>,
        block: Option<u32>,
    ) -> Vec<Label> {
        let origins: Vec<Origin> = texts.keys().copied().collect();
        let mut labels: Vec<Label> = self.placed(texts).into_iter().chain(more).collect();
        for label in definitions::definitions(self.db, self.seen, origins, block) {
            let lines = line_index(self.db, label.file);
            let line = |label: &Label| lines.line_col(label.range.start()).line;
            let shares = |other: &Label| other.file == label.file && line(other) == line(&label);
            // A line that is drawn anyway needs no remark that it gives a name.
            if !labels.iter().any(shares) {
                labels.push(label);
            }
        }
        labels.sort_by_key(|label| label.range.start());
        labels
    }

    /// Returns the values that led to the first wrong element, each with the operation that computed it.
    fn values(&self) -> Vec<(u32, String)> {
        let mut found: BTreeMap<(u32, usize), Vec<u64>> = BTreeMap::new();
        for change in &self.seen.witness.changes {
            found.entry((change.site, change.held)).or_default().push(change.bits);
        }
        let text = |((site, held), values): ((u32, usize), Vec<u64>)| {
            let dtype = self.program.tensor(self.seen.sources[held].tensor).dtype;
            let show = |bits: &u64| show_exact(dtype, *bits);
            let values = listed(&values, show);
            (site, self.equals(self.seen.sources[held].tensor, &values))
        };
        found.into_iter().map(text).collect()
    }

    /// Returns the fills of accumulators with which the first product begins, so that no statement executes them.
    fn fills(&self) -> Vec<(Origin, String)> {
        let is_followed = |tensor: TensorId| self.seen.sources.iter().any(|source| source.tensor == tensor);
        let fill = |(op, _): (&Op, f64)| {
            let OpKind::Fill { dst, value } = op.kind else { return None };
            let dtype = self.program.tensor(dst).dtype;
            let value = show_exact(dtype, hx_host::tensor::convert_float(dtype, value));
            is_followed(dst).then(|| (op.origin, self.equals(dst, &value)))
        };
        self.program.ops(1.0).into_iter().filter_map(fill).collect()
    }

    fn placed(&self, texts: BTreeMap<Origin, Vec<String>>) -> Vec<Label> {
        let Ok(lowered) = tile_program(self.db, self.seen.instance) else { return Vec::new() };
        let place = |origin: Origin| lowered.origins.get(origin.0 as usize)?.place.range(self.db);
        let label = |(origin, texts): (Origin, Vec<String>)| {
            let (file, range): (_, TextRange) = place(origin)?;
            Some(Label { file, range, message: texts.join(", ") })
        };
        texts.into_iter().filter_map(label).collect()
    }
}

/// The first coordinate along each dimension, and one past the last.
type Region = [Vec<i64>; 2];

/// Returns the smallest box around regions.
fn hull<'r>(regions: impl Iterator<Item = &'r Reached>) -> Option<Region> {
    let both = |mut all: Region, next: Region| {
        all[0].iter_mut().zip(&next[0]).for_each(|(a, b)| *a = (*a).min(*b));
        all[1].iter_mut().zip(&next[1]).for_each(|(a, b)| *a = (*a).max(*b));
        all
    };
    regions.map(|reached| reached.region.clone()).reduce(both)
}

/// Formats a series: all of at most four, otherwise the first two and the last, with the number.
fn listed<T>(series: &[T], show: impl Fn(&T) -> String) -> String {
    match series {
        [first, second, _, _, .., last] if series.len() > 4 => {
            format!("{}, {}, …, {} ({} times)", show(first), show(second), show(last), series.len())
        }
        few => few.iter().map(show).collect::<Vec<_>>().join(", "),
    }
}

/// Formats a region: `c[64..128, 0]`.
fn show_region(name: &str, [from, to]: &Region) -> String {
    let range = |(from, to): (&i64, &i64)| {
        if from + 1 == *to { from.to_string() } else { format!("{from}..{to}") }
    };
    let ranges: Vec<String> = from.iter().zip(to).map(range).collect();
    format!("`{name}[{}]`", ranges.join(", "))
}
