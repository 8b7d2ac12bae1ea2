//! Writes a plan as a kernel's text.

mod forms;

use super::super::sheet::{Kernel, Lines, Sheet, Tensor};
use super::plan::{Form, Length, Plan, Release, Source, Trips, Walk, Work};

/// The drawn spellings of one plan: kernels with different texts and the same results.
pub(crate) struct Spelling {
    /// The number of columns of tiles, as text: a literal, or `cdiv(n, BN)` of the launch's `n`.
    columns: String,
    /// Whether neighbouring tiles in the order lie along the rows, rather than along the columns.
    along_rows: bool,
    /// Whether the grid has one axis for the rows of tiles and one for the columns, rather than a single axis.
    two_axes: bool,
    /// Whether a list is read by index, rather than as a tile.
    by_index: bool,
}

pub(crate) fn write(sheet: &mut Sheet, plan: &Plan) {
    let mut kernel = Kernel { name: sheet.kernel_name(), ..Kernel::default() };
    for source in &plan.sources {
        let tensor = plan.tensor(source);
        sheet.input(&mut kernel, &tensor, source.range);
    }
    plan.tables(sheet, &mut kernel);
    let outputs: Vec<Tensor> = plan
        .works
        .iter()
        .enumerate()
        .map(|(at, task)| plan.add_output(sheet, &mut kernel, at, task))
        .collect();
    let spelling = plan.spelling(sheet);
    let one = if plan.columns == 1 && sheet.choices.percent(50) { "1".to_owned() } else { String::new() };
    let spelling = if one.is_empty() { spelling } else { Spelling { columns: one, ..spelling } };
    plan.header(sheet, &mut kernel, &spelling);
    kernel.body.extend(plan.front(&spelling));
    match plan.form {
        Form::Roles { .. } => plan.roles(sheet, &mut kernel, &spelling),
        Form::Turns { .. } => plan.in_turns(sheet, &mut kernel, &spelling),
        Form::Together { .. } | Form::Groups { .. } | Form::Threads { .. } => {
            plan.by_all(sheet, &mut kernel, &spelling);
        }
    }
    let launch = kernel.launch();
    plan.parts(sheet);
    sheet.test.push(launch);
    super::host::expect(sheet, plan, &outputs);
    sheet.finish(kernel);
}

impl Plan {
    fn spelling(&self, sheet: &mut Sheet) -> Spelling {
        let written = sheet.choices.percent(40);
        let columns = if written || !self.has_columns() {
            self.columns.to_string()
        } else {
            format!("cdiv(n, {})", self.bn)
        };
        Spelling {
            columns,
            along_rows: sheet.choices.percent(40),
            two_axes: sheet.choices.percent(50),
            by_index: sheet.choices.percent(50),
        }
    }

    fn has_columns(&self) -> bool {
        self.sources.iter().any(|source| source.along == super::plan::Along::Columns)
    }

    fn tensor(&self, source: &Source) -> Tensor {
        let across = if source.along == super::plan::Along::Rows { ("m", self.m) } else { ("n", self.n) };
        let steps = ("k", self.k);
        let dims = if source.turned { [steps, across] } else { [across, steps] };
        Tensor { around: source.around, ..Tensor::new(&format!("x{}", source.at), source.dtype, &dims) }
    }

    /// Adds the tables and numbers that decide about the steps and the order of tiles.
    fn tables(&self, sheet: &mut Sheet, kernel: &mut Kernel) {
        let (rows, steps) = (self.rows, self.steps);
        let range = super::super::super::program::Range::new(0, steps);
        let i32 = hx_dtype::DType::I32;
        if matches!(self.trips, Trips::Extent | Trips::Causal) {
            kernel.wheres.push("k >= 1".to_owned());
        }
        // The compiler knows of a dimension only that it is a multiple of at most 16, and 16 single bits are not 4 bytes. Rows of
        // whole pieces of 16 bytes may move in boxes.
        if let Some(bits) = self.sources.iter().map(|source| source.dtype.bits()).find(|bits| *bits < 8) {
            let whole = i64::from(128 / bits);
            if self.k % whole == 0 {
                kernel.wheres.push(format!("k % {whole} == 0"));
            } else if bits == 1 {
                kernel.wheres.push("k % 32 == 0".to_owned());
            }
        }
        match self.trips {
            Trips::Extent | Trips::Fixed(_) | Trips::Causal | Trips::Odd(_) => {}
            Trips::Number(n) => {
                kernel.number("rounds", i32, n);
                if sheet.choices.percent(50) {
                    kernel.wheres.push("rounds >= 0".to_owned());
                }
            }
            Trips::Table(length) => {
                sheet.part("trip counts from memory");
                let extra = if length == Length::Equal { 0 } else { sheet.choices.between(0, 2) };
                let table = Tensor::new("counts", i32, &[("e", rows + extra)]);
                sheet.input(kernel, &table, range);
                match length {
                    Length::Equal => kernel.wheres.push(format!("e == cdiv(m, {})", self.bm)),
                    Length::AtLeast => kernel.wheres.push(format!("e >= cdiv(m, {})", self.bm)),
                    Length::Clamped => kernel.wheres.push("e >= 1".to_owned()),
                    Length::Guarded => {}
                }
            }
            Trips::Between => {
                sheet.part("trip counts from memory");
                let cuts: Vec<String> =
                    (0..=rows).map(|_| sheet.choices.between(0, steps).to_string()).collect();
                sheet.test.push(format!("let starts = cast(sort([{}], axis: 0), i32);", cuts.join(", ")));
                kernel.params.push("starts: i32[e]".to_owned());
                kernel.args.push("starts".to_owned());
                kernel.dims.insert("e".to_owned(), rows + 1);
                kernel.wheres.push(format!("e == cdiv(m, {}) + 1", self.bm));
            }
        }
        match self.walk {
            Walk::Counter(_) => {
                kernel.params.push("drawn: mut i32[1]".to_owned());
                kernel.args.push("drawn".to_owned());
                sheet.test.push("let drawn = zeros(i32, [1]);");
            }
            Walk::Listed => {
                let tiles = rows * self.columns;
                sheet.test.push(format!("let list = full(i32, [{}], -1);", tiles + 1));
                sheet.test.push(format!("list[..{tiles}] = {} - arange(i32, [{tiles}]);", tiles - 1));
                kernel.params.push("list: i32[l]".to_owned());
                kernel.args.push("list".to_owned());
                kernel.dims.insert("l".to_owned(), tiles + 1);
            }
            Walk::One | Walk::Persistent(_) | Walk::Pairs { .. } => {}
        }
    }

    /// Returns the number of tiles, as text.
    fn tiles(&self, spelling: &Spelling) -> String {
        let rows = format!("cdiv(m, {})", self.bm);
        if spelling.columns == "1" { rows } else { format!("{rows} * {}", spelling.columns) }
    }

    fn header(&self, _: &mut Sheet, kernel: &mut Kernel, spelling: &Spelling) {
        let Spelling { columns, two_axes, .. } = spelling;
        let (bm, bn) = (self.bm, self.bn);
        let tiles = self.tiles(spelling);
        let pairs = format!("cdiv(m, {})", 2 * bm);
        let grid = match self.walk {
            Walk::One if *two_axes && self.has_columns() => format!("[cdiv(m, {bm}), {columns}]"),
            Walk::One => format!("[{tiles}]"),
            Walk::Persistent(Some(blocks)) | Walk::Counter(Some(blocks)) => format!("[{blocks}]"),
            Walk::Persistent(None) | Walk::Counter(None) => format!("[min(multiprocessors, {tiles})]"),
            Walk::Listed => "[1]".to_owned(),
            Walk::Pairs { both: true, .. } => format!("[2 * {pairs}, 2 * cdiv(n, {})]", 2 * bn),
            Walk::Pairs { persistent: true, .. } => {
                format!("[2 * min(multiprocessors / 2, {pairs} * {columns})]")
            }
            Walk::Pairs { .. } => format!("[2 * {pairs}, {columns}]"),
        };
        kernel.header.push(format!("grid {grid}"));
        match self.walk {
            Walk::Pairs { both: true, .. } => kernel.header.push("cluster [2, 2]".to_owned()),
            Walk::Pairs { persistent: true, .. } => kernel.header.push("cluster [2]".to_owned()),
            Walk::Pairs { .. } => kernel.header.push("cluster [2, 1]".to_owned()),
            _ => {}
        }
        match self.form {
            Form::Roles { .. } | Form::Turns { .. } => {}
            Form::Together { threads, .. } | Form::Groups { threads, .. } | Form::Threads { threads, .. } => {
                kernel.header.push(format!("threads {threads}"));
            }
        }
    }

    /// Returns the lines before the roles: the stages, the rings, and the numbers of blocks.
    fn front(&self, spelling: &Spelling) -> Lines {
        let mut lines = Lines::default();
        for source in &self.sources {
            let [rows, columns] = self.tile(source);
            let stages = match self.form {
                Form::Threads { stages, .. } => stages,
                _ => self.stages[source.ring],
            };
            let mode = if self.has_stages() { format!(", {stages}") } else { String::new() };
            let Source { at, dtype, .. } = source;
            lines.push(format!("let s{at} = shared_tensor({dtype}, [{rows}, {columns}{mode}]);"));
        }
        let readers = if let Form::Turns { .. } = self.form { ", readers: 1" } else { "" };
        if !matches!(self.form, Form::Groups { .. } | Form::Threads { .. }) {
            for ring in self.rings() {
                lines.push(format!("let ring{ring} = pipeline({}{readers});", self.stages[ring]));
            }
        }
        if let Form::Turns { .. } = self.form {
            lines.push("let order = turns();");
        }
        match self.walk {
            Walk::Counter(_) => lines.push(format!("let work = counter(drawn, {});", self.tiles(spelling))),
            Walk::Pairs { persistent: true, .. } => {
                lines.push("let (rank, pair, pairs) = (block_idx % 2, block_idx / 2, grid_dim / 2);");
            }
            Walk::Pairs { .. } => lines.push("let [bm, bn] = block_idx;"),
            Walk::One if spelling.two_axes && self.has_columns() => lines.push("let [bm, bn] = block_idx;"),
            Walk::One | Walk::Persistent(_) | Walk::Listed => {}
        }
        lines
    }

    /// Returns the copies of the sources of some rings for a step.
    fn copies(&self, rings: &[usize], step: &str, signals: bool) -> Lines {
        let mut lines = Lines::default();
        for source in &self.sources {
            if rings.contains(&source.ring) {
                lines.push(self.copied(source, step, signals));
            }
        }
        lines
    }

    fn copied(&self, source: &Source, step: &str, signals: bool) -> String {
        let Source { at, ring, turned, multicast, .. } = source;
        let [rows, columns] = self.tile(source);
        let across = if source.along == super::plan::Along::Rows { "bm" } else { "bn" };
        let step = self.step(step);
        let place = if *turned { format!("{step}, {across}") } else { format!("{across}, {step}") };
        let view = format!("tile(x{at}, [{rows}, {columns}])[.., .., {place}]");
        let stage = if self.has_stages() { format!("s{at}[.., .., p{ring}]") } else { format!("s{at}") };
        if let Form::Threads { plus, .. } = self.form {
            return match plus {
                0 => format!("copy({view}, {stage});"),
                _ if *at == 0 => {
                    let one = super::super::super::write::number(plus, source.dtype);
                    format!("copy(load({view}) + {one}, {stage});")
                }
                _ => format!("copy({view}, {stage});"),
            };
        }
        let signal = if signals { format!(", signal: ring{ring}") } else { String::new() };
        let shared = multicast.map_or(String::new(), |axis| format!(", multicast: {axis}"));
        format!("copy_async({view}, {stage}{signal}{shared});")
    }

    /// Acquires a stage of each ring and fills it.
    fn filled(&self, rings: &[usize], step: &str) -> Lines {
        let mut lines = Lines::default();
        for ring in rings {
            lines.push(format!("let p{ring} = ring{ring}.acquire();"));
            lines.extend(self.copies(&[*ring], step, true));
        }
        lines
    }

    /// Puts the lines of a tile into the loop over tiles. `bm`, `bn` and the number of steps are known inside.
    fn walked(&self, spelling: &Spelling, tile: Lines, per_round: Option<&str>) -> Lines {
        let mut inner = Lines::default();
        let by_index = spelling.by_index;
        let listed = |at: &str| {
            if by_index {
                format!("list[{at}] else (-1)")
            } else {
                format!("scalar(load(tile(list, [1], pad: -1)[.., {at}]))")
            }
        };
        match self.walk {
            Walk::One | Walk::Counter(_) | Walk::Listed => {}
            Walk::Persistent(_) => inner.push("let t = block_idx + w * grid_dim;"),
            Walk::Pairs { persistent: true, .. } => inner.push("let t = pair + w * pairs;"),
            Walk::Pairs { .. } => {}
        }
        inner.extend(self.numbers(spelling, &tile));
        inner.extend(tile);
        if let Some(counted) = per_round {
            inner.push(counted);
        }
        let mut lines = Lines::default();
        match self.walk {
            Walk::One | Walk::Pairs { persistent: false, .. } => return inner,
            Walk::Persistent(_) => {
                let tiles = self.tiles(spelling);
                lines.block(&format!("for w in 0..cdiv({tiles} - block_idx, grid_dim)"), inner);
            }
            Walk::Counter(_) => lines.block("for t in work", inner),
            Walk::Listed => {
                inner.push("j = j + 1;");
                inner.push(format!("t = {};", listed("j")));
                lines.push("let j = 0;");
                lines.push(format!("let t = {};", listed("0")));
                lines.block("while t >= 0", inner);
            }
            Walk::Pairs { .. } => {
                let tiles = format!("cdiv(m, {}) * {}", 2 * self.bm, spelling.columns);
                lines.block(&format!("for w in 0..cdiv({tiles} - pair, pairs)"), inner);
            }
        }
        lines
    }

    /// Returns the numbers of a tile: its place, and its steps.
    fn numbers(&self, spelling: &Spelling, tile: &Lines) -> Lines {
        let Spelling { columns, along_rows, two_axes, .. } = spelling;
        let mut lines = Lines::default();
        match self.trips {
            Trips::Extent => lines.push(format!("let steps = cdiv(k, {});", self.bk)),
            Trips::Fixed(n) => lines.push(format!("let steps = {n};")),
            Trips::Number(_) => lines.push("let steps = rounds;"),
            Trips::Table(Length::Equal | Length::AtLeast) if self.is_row_proven(spelling) => {
                lines.push("let steps = counts[bm];");
            }
            Trips::Table(Length::Clamped) if self.walk != Walk::Listed => {
                lines.push("let steps = counts[min(bm, e - 1)];");
            }
            Trips::Table(_) => lines.push("let steps = counts[bm] else 0;"),
            Trips::Causal => lines.push(format!("let steps = min(cdiv(k, {}), bm + 1);", self.bk)),
            Trips::Odd(n) => lines.push(format!("let steps = (bm + 1) % {n};")),
            Trips::Between if self.is_row_proven(spelling) => {
                lines.push("let first = starts[bm];\nlet steps = starts[bm + 1] - first;");
            }
            Trips::Between => {
                lines.push("let first = starts[bm] else 0;\nlet steps = (starts[bm + 1] else 0) - first;");
            }
        }
        let names = ["bm", "bn"].map(|name| tile.uses(name) || lines.uses(name));
        let both = |row: &str, column: &str| match names {
            [true, true] => format!("let (bm, bn) = ({row}, {column});"),
            [true, false] => format!("let bm = {row};"),
            [false, true] => format!("let bn = {column};"),
            [false, false] => String::new(),
        };
        let rows = format!("cdiv(m, {})", self.bm);
        let place = match self.walk {
            Walk::One if *two_axes && self.has_columns() => String::new(),
            Walk::One if columns == "1" => both("block_idx", "0"),
            Walk::One if *along_rows => both(&format!("block_idx % {rows}"), &format!("block_idx / {rows}")),
            Walk::One => both(&format!("block_idx / {columns}"), &format!("block_idx % {columns}")),
            Walk::Persistent(_) | Walk::Counter(_) | Walk::Listed if columns == "1" => both("t", "0"),
            Walk::Persistent(_) | Walk::Counter(_) | Walk::Listed if *along_rows => {
                both(&format!("t % {rows}"), &format!("t / {rows}"))
            }
            Walk::Persistent(_) | Walk::Counter(_) | Walk::Listed => {
                both(&format!("t / {columns}"), &format!("t % {columns}"))
            }
            Walk::Pairs { persistent: true, .. } => {
                let pairs = format!("cdiv(m, {})", 2 * self.bm);
                both(&format!("2 * (t % {pairs}) + rank"), &format!("t / {pairs}"))
            }
            Walk::Pairs { .. } => String::new(),
        };
        let mut all = Lines::from(place);
        all.extend(lines);
        all
    }

    /// Reports whether the compiler can prove `bm` to be below the number of rows of tiles. It knows nothing of a number from a
    /// list. In a loop over tiles it needs the number of columns as a literal.
    fn is_row_proven(&self, spelling: &Spelling) -> bool {
        let is_known = spelling.columns.parse::<i64>().is_ok() && !spelling.along_rows;
        match self.walk {
            Walk::One => true,
            Walk::Persistent(_) | Walk::Counter(_) => spelling.columns == "1" || is_known,
            Walk::Listed | Walk::Pairs { .. } => false,
        }
    }

    /// Records the parts of the language that the plan has.
    fn parts(&self, sheet: &mut Sheet) {
        sheet.part(match self.form {
            Form::Roles { each: true, .. } => "roles of single groups",
            Form::Roles { split: true, .. } => "two producers",
            Form::Roles { .. } => "roles",
            Form::Turns { .. } => "groups that skip stages",
            Form::Together { .. } => "ring of all threads",
            Form::Groups { .. } => "groups of copies",
            Form::Threads { .. } => "stages that threads write",
        });
        sheet.part(match self.walk {
            Walk::One => "one tile a block",
            Walk::Persistent(_) => "persistent loop",
            Walk::Counter(_) => "counter",
            Walk::Listed => "tiles that memory lists",
            Walk::Pairs { both: true, .. } => "cluster along two axes",
            Walk::Pairs { .. } => "cluster",
        });
        if self.is_clustered() {
            sheet.part("multicast");
        }
        if self.release == Release::Previous {
            sheet.part("release of all stages but one");
        }
        if self.works.len() > 1 {
            sheet.part("two roles that read");
        }
        for task in &self.works {
            sheet.part(match &task.work {
                Work::Product { flight: 0, .. } => "product by descriptor",
                Work::Product { .. } => "product in flight",
                Work::Sum { .. } => "sum of stages",
                Work::RowSum { .. } | Work::RowMax { .. } => "reduced stages",
                Work::RowArg { .. } => "running argmax",
                Work::Each { .. } => "stages copied out",
                Work::Carry { .. } => "running sums",
            });
        }
        if let Some(source) = self.sources.iter().find(|source| source.dtype.bits() < 8) {
            sheet.part("packed stages");
            let whole = i64::from(128 / source.dtype.bits());
            let is_signalled = !matches!(self.form, Form::Groups { .. } | Form::Threads { .. });
            if is_signalled && self.k % whole == 0 && self.bk % whole == 0 {
                sheet.part("packed stages in boxes");
            }
        }
    }
}
