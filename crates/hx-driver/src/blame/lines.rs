//! The lines of the kernel that explain a wrong element: the accesses of the block that wrote it, the values that led to it, and the
//! definitions of the names in these lines.

use std::collections::BTreeMap;

use hx_base::{Label, TextRange, line_index};
use hx_compile::tile_program;
use hx_host::dense::show_shape;
use hx_host::show::show_exact;
use hx_launch::grid_label;
use hx_sim::{Reached, Wrote};
use hx_tile::{Op, OpKind, Origin, TensorId};

use super::account::{Account, Region, hull, show_region};
use super::definitions;

/// Marks the accesses of the block that wrote the first wrong element; if nothing wrote it, all writes to the tensor, and the grid.
pub(super) fn labels(account: &Account<'_>) -> Vec<Label> {
    match account.seen.write(account.seen.first) {
        Some(wrote) => account.of_block(wrote),
        None => account.of_grid(),
    }
}

/// The texts at each place.
type Texts = BTreeMap<Origin, Vec<String>>;

impl Account<'_> {
    /// Adds a text at the place of an operation, given by its position in [`hx_sim::Witness::places`].
    fn add(&self, texts: &mut Texts, site: u32, text: String) {
        let origin = self.seen.witness.places[site as usize].origin;
        if let Some(texts) = origin.map(|origin| texts.entry(origin).or_default())
            && !texts.contains(&text)
        {
            texts.push(text);
        }
    }

    /// Labels all writes to the tensor, and the grid.
    fn of_grid(&self) -> Vec<Label> {
        let (witness, param, mut texts) = (&self.seen.witness, self.seen.param, Texts::new());
        for site in 0..witness.places.len() as u32 {
            let of = |reached: &&Reached| reached.write && reached.param == param && reached.site == site;
            let Some(region) = hull(witness.reached.iter().filter(of)) else { continue };
            let region = show_region(self.param_name(param), &region);
            let text = match witness.grid {
                [1, 1, 1] => format!("the only block writes {region}"),
                _ => format!("all blocks together write {region}"),
            };
            self.add(&mut texts, site, text);
        }
        let axes = self.program.grid.len().max(1);
        let grid = witness.grid.iter().take(axes).map(|blocks| *blocks as usize).collect::<Vec<_>>();
        let label = grid_label(self.db, self.seen.instance, format!("the grid is {}", show_shape(&grid)));
        self.with_definitions(texts, label, None)
    }

    /// Labels the accesses of the block that wrote the element, and the values that led to it.
    fn of_block(&self, wrote: Wrote) -> Vec<Label> {
        let (witness, mut texts) = (&self.seen.witness, Texts::new());
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
            self.add(&mut texts, site, format!("block {block} {verb} {}", listed(&regions, show)));
        }
        for (site, text) in self.values() {
            self.add(&mut texts, site, text);
        }
        for (origin, text) in self.fills() {
            let texts = texts.entry(origin).or_default();
            if texts.is_empty() {
                texts.push(text);
            }
        }
        self.with_definitions(texts, None, Some(wrote.block))
    }

    /// Places the texts, and labels the definitions of the names that occur at these places. `more` is one further label.
    fn with_definitions(&self, texts: Texts, more: Option<Label>, block: Option<u32>) -> Vec<Label> {
        let origins: Vec<Origin> = texts.keys().copied().collect();
        let mut labels: Vec<Label> = self.placed(texts).into_iter().chain(more).collect();
        for label in definitions::definitions(self.db, self.seen, origins, block) {
            let lines = line_index(self.db, label.file);
            let line = |label: &Label| lines.line_col(label.range.start()).line;
            let shares = |other: &Label| other.file == label.file && line(other) == line(&label);
            // Skip the label if another one already shows its line.
            if !labels.iter().any(shares) {
                labels.push(label);
            }
        }
        labels.sort_by_key(|label| label.range.start());
        labels
    }

    /// Returns the values that led to the first wrong element, as texts. Each follows the operation that computed it, a
    /// position in [`hx_sim::Witness::places`].
    fn values(&self) -> Vec<(u32, String)> {
        let mut found: BTreeMap<(u32, usize), Vec<u64>> = BTreeMap::new();
        for change in &self.seen.witness.changes {
            found.entry((change.site, change.value)).or_default().push(change.bits);
        }
        let text = |((site, held), values): ((u32, usize), Vec<u64>)| {
            let dtype = self.program.tensor(self.seen.sources[held].tensor).dtype;
            let show = |bits: &u64| show_exact(dtype, *bits);
            let text = self.equals(self.seen.sources[held].tensor, &listed(&values, show), values.len());
            (site, text)
        };
        found.into_iter().map(text).collect()
    }

    /// Returns the fills of accumulators that the first product absorbs: the product begins with the value, so no statement of
    /// the program executes the fill.
    fn fills(&self) -> Vec<(Origin, String)> {
        let is_followed = |tensor: TensorId| self.seen.sources.iter().any(|source| source.tensor == tensor);
        let fill = |(op, _): (&Op, f64)| {
            let OpKind::Fill { dst, value } = op.kind else { return None };
            let dtype = self.program.tensor(dst).dtype;
            let value = show_exact(dtype, hx_host::tensor::convert_float(dtype, value.value()));
            is_followed(dst).then(|| (op.origin, self.equals(dst, &value, 1)))
        };
        self.program.ops(1.0).into_iter().filter_map(fill).collect()
    }

    fn placed(&self, texts: Texts) -> Vec<Label> {
        let Ok(lowered) = tile_program(self.db, self.seen.instance) else { return Vec::new() };
        let place = |origin: Origin| lowered.sources.origins.get(origin.0 as usize)?.place.range(self.db);
        let label = |(origin, texts): (Origin, Vec<String>)| {
            let (file, range): (_, TextRange) = place(origin)?;
            Some(Label { file, range, message: texts.join(", ") })
        };
        texts.into_iter().filter_map(label).collect()
    }
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
