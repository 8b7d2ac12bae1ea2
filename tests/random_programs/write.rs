//! Writes a program as text: a kernel, and a test that computes the same on whole tiles with host arithmetic in f64.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hx_dtype::DType;

use super::program::{
    Input, Inset, LoadPath, Node, Op, Program, Shape, Step, Store, Value, ViewKind, is_narrow,
};
use super::write_expressions::host;
use super::write_integers::counter;

/// A program's text, with the features that it contains.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) launches: Vec<Launch>,
    /// The parts of the language that the program uses.
    pub(super) parts: BTreeSet<&'static str>,
    /// The [`integers::draws`] that the program contains.
    pub(super) draws: BTreeSet<String>,
    /// Whether the simulator must report a division by 0.
    pub(super) divides_by_zero: bool,
    /// The program runs in the orders of events from 0 to this one, inclusive.
    pub(super) orders: u64,
}

/// A launch of a program.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) kernel: String,
    /// The dimensions and strides that the launch binds.
    pub(super) dims: BTreeMap<String, i64>,
}

/// The instructions that accesses name. They may not fit the elements of a thread.
pub(super) const NAMED: [&str; 2] = [", by: \"ld.global\"", ", by: \"ld.global.v2.b32\""];

/// Every part of the language that the programs of tiles must cover.
pub(super) const PARTS: &[&str] = &[
    "copy",
    "load",
    "fill",
    "elementwise",
    "broadcast",
    "where",
    "index",
    "integers that wrap",
    "bits",
    "bits of truth values",
    "PTX",
    "numbers of the block",
    "division of tiles",
    "unsigned comparison",
    "function",
    "cast",
    "narrow types",
    "reduce axis 0",
    "reduce axis 1",
    "reduce with a closure",
    "gemm",
    "gemm onto a tile",
    "gemm from shared memory",
    "chained gemm",
    "batch",
    "loop over K",
    "pipeline",
    "pipelined loop",
    "ring of stages",
    "publish",
    "gemm_async",
    "stores in boxes",
    "roles",
    "copy_async",
    "cache hints",
    "named instructions",
    "prefetch",
    "shared memory",
    "transpose",
    "sync_warp",
    "rearrange",
    "scan",
    "scan from the end",
    "assignment to a part",
    "counter as an axis",
    "argmax",
    "any and all",
    "split and concat",
    "flip",
    "part of an expression",
    "choice between literals",
    "gathered elements",
    "scattered elements",
    "atomic accesses",
    "guarded read",
    "view with a halo",
    "starts at run time",
    "gather",
    "atomic_add",
    "part of registers",
    "pinned registers",
    "pinned shared memory",
    "loop",
    "if",
    "padding",
    "ragged",
    "strided",
    "vector",
    "global_view",
    "inferred order",
    "slices of shared memory",
    "slices of global memory",
    "slices from the launch",
    "slices in a loop",
    "several blocks",
];

pub(super) fn write(program: &Program) -> Written {
    let mut writer = Writer {
        program,
        functions: String::new(),
        generics: Vec::new(),
        params: Vec::new(),
        args: Vec::new(),
        wheres: Vec::new(),
        kernel: Vec::new(),
        front: Vec::new(),
        producer: Vec::new(),
        writer: Vec::new(),
        storer: Vec::new(),
        before: Vec::new(),
        tiles: Vec::new(),
        after: Vec::new(),
        selectors: BTreeMap::new(),
        dims: BTreeMap::new(),
        parts: BTreeSet::new(),
        draws: BTreeSet::new(),
        numbers: 0,
        in_number: false,
        divides_by_zero: false,
    };
    for (at, step) in program.kept() {
        writer.step(at, step);
    }
    for at in program.results() {
        writer.result(at, &program.steps[at]);
    }
    if program.roles {
        writer.task();
    }
    if program.blocks > 1 {
        writer.parts.insert("several blocks");
    }
    writer.finish()
}

pub(super) struct Writer<'p> {
    pub(super) program: &'p Program,
    pub(super) functions: String,
    /// The kernel's compile-time parameters.
    generics: Vec<String>,
    /// The kernel's parameters; `args` are the test's arguments for them.
    pub(super) params: Vec<String>,
    pub(super) args: Vec<String>,
    /// The conditions that the kernel relies on.
    pub(super) wheres: Vec<String>,
    /// The statements of the kernel, or of the role that has its steps.
    pub(super) kernel: Vec<String>,
    /// Statements in front of the roles, and those of the other roles: of the one that copies, of the one that fills stages beside it, and
    /// of the one that stores.
    pub(super) front: Vec<String>,
    pub(super) producer: Vec<String>,
    pub(super) writer: Vec<String>,
    pub(super) storer: Vec<String>,
    /// Statements of the test: before the launch, for each block (`tiles`), and after the launch.
    pub(super) before: Vec<String>,
    pub(super) tiles: Vec<String>,
    pub(super) after: Vec<String>,
    /// Matrices of zeros and ones that select a tile's rows or columns, by tile, extent, and whether blocks differ.
    selectors: BTreeMap<(i64, i64, bool), String>,
    pub(super) dims: BTreeMap<String, i64>,
    pub(super) parts: BTreeSet<&'static str>,
    pub(super) draws: BTreeSet<String>,
    /// Number of named scalars of the block and integers of the launch.
    pub(super) numbers: usize,
    /// Whether the current expression consists of scalars.
    pub(super) in_number: bool,
    pub(super) divides_by_zero: bool,
}

impl Writer<'_> {
    fn finish(mut self) -> Written {
        self.kernel = without_unused(&self.kernel);
        let Program { name, threads, blocks, .. } = self.program;
        let lines = |lines: &[String], indent: &str| -> String {
            lines.iter().flat_map(|l| l.lines()).map(|line| format!("{indent}{line}\n")).collect()
        };
        let mut text = format!("//! A random program.\n\n{}", self.functions);
        let params = lines(&self.params.iter().map(|p| format!("{p},")).collect::<Vec<_>>(), "    ");
        let wheres = match self.wheres.as_slice() {
            [] => String::new(),
            all => format!("    where {}\n", all.join(", ")),
        };
        let (threads, body) = if self.program.roles {
            (String::new(), self.in_roles("    "))
        } else {
            (format!("\n    threads {threads}"), lines(&self.kernel, "    "))
        };
        let generics = match self.generics.as_slice() {
            [] => String::new(),
            all => format!("<{}>", all.join(", ")),
        };
        let header = format!("kernel {name}{generics}(\n{params})\n{wheres}    grid [{blocks}]{threads}");
        let _ = write!(text, "{header}\n{{\n");
        let _ = write!(text, "    let [b] = block_idx;\n{body}}}\n\n");
        let _ = write!(text, "test \"{name}\" {{\n{}", lines(&self.before, "    "));
        let _ = writeln!(text, "    {name}({});", self.args.join(", "));
        let tiles = without_unused(&self.tiles);
        let _ = writeln!(text, "    for b in 0..{blocks} {{\n{}    }}", lines(&tiles, "        "));
        let _ = writeln!(text, "{}}}", lines(&self.after, "    "));
        let launches = vec![Launch { kernel: name.clone(), dims: self.dims }];
        let Writer { parts, draws, divides_by_zero, .. } = self;
        Written { text, launches, parts, draws, divides_by_zero, orders: 2 }
    }

    pub(super) fn emit(&mut self, line: impl Into<String>) {
        self.kernel.push(line.into());
    }

    /// Writes the tile's value on the host.
    pub(super) fn expect(&mut self, at: usize, value: &str) {
        self.tiles.push(format!("let v{at} = {value};"));
    }

    fn step(&mut self, at: usize, step: &Step) {
        let Value { shape, dtype, .. } = step.value;
        if is_narrow(dtype) {
            self.parts.insert("narrow types");
        }
        let first = step.from.first().copied().unwrap_or(0);
        match &step.op {
            Op::Load { input, path } => self.load(at, input, *path),
            Op::Fill { value, pin } => {
                self.parts.insert("fill");
                let layout = pin.as_ref().map_or(String::new(), |pin| format!(", layout: {pin}"));
                if pin.is_some() {
                    self.parts.insert("pinned registers");
                }
                let tensor = format!("register_tensor({dtype}, [{}]{layout})", list(shape));
                self.emit(format!("let v{at} = {tensor};\nfill(v{at}, {});", number(*value, dtype)));
                self.expect(at, &format!("full(f64, [{}], {value}.0)", list(shape)));
            }
            Op::Map { node, function } => self.map(at, step, node, *function),
            Op::Cast => {
                self.parts.insert("cast");
                self.emit(format!("let v{at} = cast(v{first}, {dtype});"));
                self.expect(at, &format!("cast(cast(v{first}, {dtype}), f64)"));
            }
            Op::Reduce { axis, fold, closure } => self.reduce(at, first, *axis, *fold, *closure),
            Op::Gemm { .. } => self.gemm(at, step),
            Op::Product { .. } => self.product(at, step),
            Op::Batch { a, b, slices, staged } => self.batch(at, step.value, [a, b], *slices, *staged),
            Op::Stage { transposed, permute, pin, place } => {
                self.stage(at, first, (*transposed, *permute), pin.as_deref(), *place);
            }
            Op::Window { first: begin, walk, axis, step: by, start } => {
                self.window(at, step, *begin, *walk, (*axis, *by), *start);
            }
            Op::Rearrange { layout } => {
                self.parts.insert("rearrange");
                let to = layout.as_deref().unwrap_or("auto");
                self.emit(format!("let v{at} = rearrange(v{first}, {to});"));
                self.expect(at, &format!("v{first}"));
            }
            Op::Changed(change) => self.change(at, step, change),
            Op::Placed(place) => self.place(at, step, place),
            Op::Viewed(view) => self.view(at, step, view),
            Op::Scan(scanned) => self.scan(at, &step.from, *scanned),
            Op::Part { first: begin, turned } => self.part(at, first, *begin, *turned),
            Op::Repeat { node, count, at_launch } => self.repeat(at, step, node, *count, *at_launch),
            Op::Branch { yes, no, flag } => self.branch(at, step, yes, no, *flag),
        }
    }

    /// Writes a tensor of the test with random integers, and its parameter.
    pub(super) fn input(&mut self, name: &str, at: usize, input: &Input, shape: Shape, dims: [String; 2]) {
        let Input { dtype, range, .. } = *input;
        let random = |shape: String| {
            let seed = at * 2 + name.len() % 2 + usize::from(name.starts_with('w'));
            let draw = format!("uniform(f64, [{shape}], seed: {seed}) * {}.0", range.high - range.low + 1);
            format!("cast(floor({draw}) + {}, {dtype})", float(range.low))
        };
        let (stored, names) = if input.transposed {
            ([shape[1], shape[0]], [dims[1].clone(), dims[0].clone()])
        } else {
            (shape, dims)
        };
        if let ViewKind::Paired { values, places } = input.view {
            let [rows, columns] = input.tile;
            let places = &places[..values.ilog2() as usize];
            let twos = places.iter().map(|_| "2, ").collect::<String>();
            let places = places.iter().map(|place| format!("{place}, ")).collect::<String>();
            let order = format!("({rows}, ({twos}{})) : ({columns}, ({places}{values}))", columns / values);
            self.params.push(format!("{name}: {dtype}[{}, {}] : {order}", names[0], names[1]));
            self.before.push(format!("let {name} = {};", random(list(stored))));
            self.dims.extend([(names[0].clone(), stored[0]), (names[1].clone(), stored[1])]);
            self.args.push(format!("pack({name}, {order})"));
            return;
        }
        if input.view == ViewKind::Inferred {
            self.parts.insert("inferred order");
            self.generics.push(format!("W{at}: layout = infer"));
            self.params.push(format!("{name}: {dtype}[{}, {}] : W{at}", names[0], names[1]));
            self.before.push(format!("let {name} = {};", random(list(stored))));
            self.dims.extend([(names[0].clone(), stored[0]), (names[1].clone(), stored[1])]);
            self.args.push(format!("pack({name}, {}, of: \"{name}\")", self.program.name));
            return;
        }
        if input.view == ViewKind::Vector {
            self.parts.insert("vector");
            self.params.push(format!("{name}: {dtype}[{}]", names[1]));
            self.before.push(format!("let {name} = {};", random(stored[1].to_string())));
            self.dims.insert(names[1].clone(), stored[1]);
        } else if let Some([left, right]) = input.around {
            self.parts.insert("strided");
            let ld = format!("l{at}");
            self.params.push(format!("{name}: {dtype}[{}, {}] : [{ld}, 1]", names[0], names[1]));
            let wide = left + stored[1] + right;
            self.before.push(format!("let {name}_wide = {};", random(format!("{}, {wide}", stored[0]))));
            self.before.push(format!("let {name} = {name}_wide[.., {left}..{}];", left + stored[1]));
            self.dims.extend([(names[0].clone(), stored[0]), (names[1].clone(), stored[1]), (ld, wide)]);
        } else if let Some(skip) = input.skip {
            let whole = skip.whole(stored);
            self.params.push(format!("{name}: {dtype}[{}, {}]", names[0], names[1]));
            self.before.push(format!("let {name}_whole = {};", random(list(whole))));
            let [rows, columns] = skip.before;
            self.before.push(format!(
                "let {name} = {name}_whole[{rows}..{}, {columns}..{}];",
                rows + stored[0],
                columns + stored[1]
            ));
            self.dims.extend([(names[0].clone(), whole[0]), (names[1].clone(), whole[1])]);
            self.args.push(format!("{name}_whole"));
            return;
        } else {
            self.params.push(format!("{name}: {dtype}[{}, {}]", names[0], names[1]));
            self.before.push(format!("let {name} = {};", random(list(stored))));
            self.dims.extend([(names[0].clone(), stored[0]), (names[1].clone(), stored[1])]);
        }
        self.args.push(name.to_owned());
    }

    /// Returns the rows of the whole tensor.
    pub(super) fn rows(&self, input: &Input) -> i64 {
        if input.per_block {
            (self.program.blocks - 1) * input.tile[0] + input.extent[0]
        } else {
            input.extent[0]
        }
    }

    /// Returns a matrix, `tile × extent`, that selects rows of a tensor for a tile.
    pub(super) fn selector(&mut self, tile: i64, extent: i64, per_block: bool) -> String {
        if let Some(name) = self.selectors.get(&(tile, extent, per_block)) {
            return name.clone();
        }
        let name = format!("s{}", self.selectors.len());
        let moved = if per_block { format!(" + b * {tile}.0") } else { String::new() };
        let rows = format!("arange(f64, [{tile}])[.., new]{moved}");
        let line = format!("let {name} = where({rows} == arange(f64, [{extent}])[new, ..], 1.0, 0.0);");
        self.tiles.push(line);
        self.selectors.insert((tile, extent, per_block), name.clone());
        name
    }

    /// Returns the cache hints of the access of a step, by its number; none for most. `is_plain` is false for a copy that goes past L1.
    fn hints(&mut self, at: usize, is_plain: bool) -> &'static str {
        let (l2, both) = (
            [", l2: \"evict_first\"", ", l2: \"evict_last\""],
            [", l1: \"no_allocate\"", ", l1: \"evict_last\", l2: \"evict_first\""],
        );
        let hints = match (at + self.program.steps.len()) % 6 {
            0 => l2[at % 2],
            1 if is_plain => both[at % 2],
            _ => return "",
        };
        self.parts.insert("cache hints");
        hints
    }

    /// Returns the instruction of the access of a step, by its number; none for most.
    fn instruction(&mut self, at: usize, path: LoadPath) -> &'static str {
        if !matches!(path, LoadPath::Load | LoadPath::Copy) || (at + self.program.steps.len()) % 5 != 2 {
            return "";
        }
        self.parts.insert("named instructions");
        NAMED[at % 2]
    }

    fn load(&mut self, at: usize, input: &Input, path: LoadPath) {
        let Input { dtype, tile, per_block, .. } = *input;
        let hints = format!("{}{}", self.hints(at, path != LoadPath::Async), self.instruction(at, path));
        let (name, rows) = (format!("x{at}"), self.rows(input));
        let extent = [rows, input.extent[1]];
        let stored =
            if let ViewKind::Gathered { rows, .. } = input.view { [rows, extent[1]] } else { extent };
        self.input(&name, at, input, stored, [format!("m{at}"), format!("n{at}")]);
        if input.extent != tile {
            self.parts.insert("ragged");
        }
        let pad = input.pad.map_or(String::new(), |pad| format!(", pad: {}", number(pad, dtype)));
        if input.pad.is_some() {
            self.parts.insert("padding");
        }
        let part = self.from(&format!("o{name}"), input.skip);
        let turned = if input.transposed { format!("{name}.T") } else { format!("{name}{part}") };
        let block = if per_block { "b" } else { "0" };
        let kind = match input.skip {
            Some(skip) if !skip.is_tiled(tile) => ViewKind::GlobalView,
            _ => input.view,
        };
        let view = match kind {
            ViewKind::Tile | ViewKind::Paired { .. } | ViewKind::Inferred => {
                format!("tile({turned}, [{}]{pad})[.., .., {block}, 0]", list(tile))
            }
            ViewKind::Vector => format!("tile({name}, [{}]{pad})[.., 0][new, ..]", tile[1]),
            ViewKind::Gathered { rows: count, shared } => {
                let table = self.table(at, input, [rows, count], shared);
                format!("tile(gather({name}, {table}), [{}]{pad})[.., .., 0, 0]", list(tile))
            }
            ViewKind::GlobalView => {
                self.parts.insert("global_view");
                let from = if per_block { format!("b * {}", tile[0]) } else { "0".to_owned() };
                let ld = if input.around.is_some() { format!("l{at}") } else { format!("n{at}") };
                format!("global_view({name}{part}[{from}.., ..], ({}) : ({ld}, 1){pad})", list(tile))
            }
        };
        // Which inputs are fetched follows from what is drawn already.
        let is_packed = matches!(input.view, ViewKind::Inferred | ViewKind::Paired { .. });
        let is_gathered = matches!(input.view, ViewKind::Gathered { .. });
        if (at + self.program.steps.len()) % 4 == 3 && !is_packed && !is_gathered {
            self.parts.insert("prefetch");
            self.emit(format!("prefetch({view});"));
        }
        let place = if matches!(path, LoadPath::Shared | LoadPath::Async) { input.place } else { None };
        let (whole, slice) = self.within(&format!("s{at}"), place, tile);
        let shared = format!("let s{at} = shared_tensor({dtype}, [{}]);", list(whole));
        match path {
            LoadPath::Load => {
                self.parts.insert("load");
                self.emit(format!("let v{at} = load({view}{hints});"));
            }
            LoadPath::Copy => {
                self.parts.insert("copy");
                self.emit(format!(
                    "let v{at} = register_tensor({dtype}, [{}]);\ncopy({view}, v{at}{hints});",
                    list(tile)
                ));
            }
            LoadPath::Shared => {
                self.parts.insert("shared memory");
                let sync = self.sync();
                self.emit(format!("{shared}\ncopy({view}, s{at}{slice}{hints});\n{sync}"));
                self.emit(format!("let v{at} = load(s{at}{slice});"));
            }
            LoadPath::Async => {
                self.parts.insert("copy_async");
                let sync = self.sync();
                self.emit(format!(
                    "{shared}\ncopy_async({view}, s{at}{slice}{hints});\ncommit();\nwait(0);\n{sync}"
                ));
                self.emit(format!("let v{at} = load(s{at}{slice});"));
            }
        }
        let right = self.selector(tile[1], input.extent[1], false);
        let left = match input.view {
            ViewKind::Gathered { rows: count, .. } => self.picked(at, input, [rows, count]),
            _ => self.selector(tile[0], rows, per_block),
        };
        let whole = match (input.view, input.transposed) {
            (ViewKind::Vector, _) => format!("cast({name}, f64)[new, ..]"),
            (_, true) => format!("cast({name}, f64).T"),
            (_, false) => format!("cast({name}, f64)"),
        };
        let value = format!("{left} @ {whole} @ {right}.T");
        match input.pad {
            None => self.expect(at, &value),
            Some(pad) => {
                let there = format!("{left} @ ones(f64, [{}]) @ {right}.T == 1.0", list(stored));
                self.expect(at, &format!("where({there}, {value}, {pad}.0)"));
            }
        }
    }

    fn stage(
        &mut self,
        at: usize,
        from: usize,
        (transposed, permute): (bool, bool),
        pin: Option<&str>,
        place: Option<Inset>,
    ) {
        self.parts.insert("shared memory");
        let Value { shape, dtype, .. } = self.program.steps[from].value;
        let layout = pin.map_or(String::new(), |pin| format!(", layout: {pin}"));
        if pin.is_some() {
            self.parts.insert("pinned shared memory");
        }
        let (whole, slice) = self.within(&format!("s{at}"), place, shape);
        self.emit(format!("let s{at} = shared_tensor({dtype}, [{}]{layout});", list(whole)));
        let sync = self.sync();
        self.emit(format!("copy(v{from}, s{at}{slice});\n{sync}"));
        let (seen, expected) = match (transposed, permute) {
            (true, true) => (format!("permute(s{at}{slice}, [1, 0])"), format!("v{from}.T")),
            (true, false) => (format!("s{at}{slice}.T"), format!("v{from}.T")),
            (false, _) => (format!("s{at}{slice}"), format!("v{from}")),
        };
        if transposed {
            self.parts.insert("transpose");
        }
        self.emit(format!("let v{at} = load({seen});"));
        self.expect(at, &expected);
    }

    fn repeat(&mut self, at: usize, step: &Step, node: &Node, count: i64, at_launch: bool) {
        self.parts.insert("loop");
        let Value { shape, dtype, .. } = step.value;
        let mut names: Vec<String> = step.from.iter().map(|from| format!("v{from}")).collect();
        let first = names[0].clone();
        names[0] = format!("v{at}");
        let text = self.device(node, dtype, &names, &names[0]);
        let trips = if at_launch {
            self.params.push(format!("c{at}: {}", counter(at)));
            self.args.push(count.to_string());
            format!("c{at}")
        } else {
            count.to_string()
        };
        self.emit(format!("let v{at} = {first};\nfor _ in 0..{trips} {{\n    v{at} = {text};\n}}"));
        self.expect(at, &first);
        let text = host(node, &names, shape);
        self.tiles.push(format!("for _ in 0..{count} {{\n    v{at} = {text};\n}}"));
    }

    fn branch(&mut self, at: usize, step: &Step, yes: &Node, no: &Node, flag: bool) {
        self.parts.insert("if");
        let Value { shape, dtype, .. } = step.value;
        let names = [format!("v{}", step.from[0])];
        let [a, b] = [yes, no].map(|node| self.device(node, dtype, &names, &names[0]));
        self.params.push(format!("c{at}: {}", counter(at)));
        self.args.push(u8::from(flag).to_string());
        let (first, own) = (&names[0], format!("v{at}"));
        self.emit(format!("let {own} = {first};"));
        self.emit(format!("if c{at} == 1 {{\n    {own} = {a};\n}} else {{\n    {own} = {b};\n}}"));
        self.expect(at, &host(if flag { yes } else { no }, &names, shape));
    }

    /// Stores a tile and compares the whole tensor.
    fn result(&mut self, at: usize, step: &Step) {
        let Value { shape, dtype, .. } = step.value;
        let [rows, columns] = step.stored;
        let added = step.store == Store::Added;
        let total = if added { rows } else { (self.program.blocks - 1) * shape[0] + rows };
        if step.stored != shape {
            self.parts.insert("ragged");
        }
        let (rd, cd) = (format!("r{at}"), format!("d{at}"));
        let turned = step.store == Store::Transposed;
        // The margin of a transposed tensor is that of its view.
        let margin = step.margin.map(|margin| Inset { after: [0, 0], ..margin });
        let [rows_before, columns_before] = margin.map_or([0, 0], |margin| margin.before);
        let whole = [total + rows_before, columns + columns_before];
        self.dims.extend([(rd.clone(), whole[0]), (cd.clone(), whole[1])]);
        let (dims, stored) =
            if turned { ([cd, rd], [whole[1], whole[0]]) } else { ([rd, cd], [whole[0], whole[1]]) };
        self.params.push(format!("y{at}: mut {dtype}[{}, {}]", dims[0], dims[1]));
        self.args.push(format!("y{at}"));
        let made = if added { "zeros" } else { "empty" };
        self.before.push(format!("let y{at} = {made}({dtype}, [{}]);", list(stored)));
        let part = self.from(&format!("oy{at}"), margin);
        let seen = if turned { format!("y{at}.T{part}") } else { format!("y{at}{part}") };
        let block = if added { "0" } else { "b" };
        let view = if margin.is_none_or(|margin| margin.is_tiled(shape)) {
            format!("tile({seen}, [{}])[.., .., {block}, 0]", list(shape))
        } else {
            self.parts.insert("global_view");
            let strides = if turned { format!("1, r{at}") } else { format!("d{at}, 1") };
            let rows = if added { "0".to_owned() } else { format!("b * {}", shape[0]) };
            format!("global_view({seen}[{rows}.., ..], ({}) : ({strides}))", list(shape))
        };
        if added {
            self.parts.insert("atomic_add");
            self.emit(format!("atomic_add({view}, v{at});"));
        } else if step.store == Store::ThroughShared {
            let hints = self.hints(at, true);
            self.parts.insert("shared memory");
            let (whole, slice) = self.within(&format!("o{at}"), step.place, shape);
            self.emit(format!("let o{at} = shared_tensor({dtype}, [{}]);", list(whole)));
            self.emit(format!("copy(v{at}, o{at}{slice});\nsync();\ncopy(o{at}{slice}, {view}{hints});"));
        } else if step.store == Store::Handed && self.program.roles {
            self.handed(at, &list(shape), dtype, &view);
        } else if step.store == Store::Boxes {
            let hints = self.hints(at, false);
            self.parts.insert("stores in boxes");
            self.emit(format!("let o{at} = shared_tensor({dtype}, [{}]);", list(shape)));
            self.emit(format!("copy(v{at}, o{at});\nsync();\ncopy_async(o{at}, {view}{hints});"));
            self.emit("wait_stores(0);\nsync();");
        } else {
            self.parts.insert("copy");
            let hints = self.hints(at, true);
            self.emit(format!("copy(v{at}, {view}{hints});"));
        }
        self.before.push(format!("let e{at} = zeros(f64, [{total}, {columns}]);"));
        let (left, right) = (self.selector(shape[0], total, !added), self.selector(shape[1], columns, false));
        self.tiles.push(format!("e{at} = e{at} + {left}.T @ v{at} @ {right};"));
        let seen = if turned { format!("y{at}.T") } else { format!("y{at}") };
        let part = match margin {
            None => String::new(),
            Some(_) => format!("[{rows_before}..{}, {columns_before}..{}]", whole[0], whole[1]),
        };
        self.after.push(format!("assert_eq({seen}{part}, e{at});"));
    }
}

/// Marks the names of tiles that nothing else uses: expressions drop some of their arguments, and the host takes one of two branches.
fn without_unused(tiles: &[String]) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = |text: &str| text.split(|c| !is_part(c)).map(str::to_owned).collect::<Vec<_>>();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    tiles.iter().flat_map(|text| words(text)).for_each(|word| *counts.entry(word).or_default() += 1);
    let unused = |text: &String| {
        let name = text.strip_prefix("let v").and_then(|rest| rest.split(' ').next());
        name.is_some_and(|name| counts.get(&format!("v{name}")) == Some(&1))
    };
    let marked =
        |text: &String| if unused(text) { text.replacen("let v", "let _v", 1) } else { text.clone() };
    tiles.iter().map(marked).collect()
}

pub(super) fn list([rows, columns]: Shape) -> String {
    format!("{rows}, {columns}")
}

/// Returns an integer as a kernel's literal of this type: `3`, `(-3)`, or `3.0` for a float.
pub(super) fn number(x: i64, dtype: DType) -> String {
    match x {
        _ if dtype.is_float() => float(x),
        ..0 => format!("({x})"),
        _ => x.to_string(),
    }
}

pub(super) fn float(x: i64) -> String {
    if x < 0 { format!("({x}.0)") } else { format!("{x}.0") }
}
