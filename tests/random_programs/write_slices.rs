//! Writes slices as text: of larger tensors, at starts from the text or from the launch, and in loops.

use hx_dtype::DType;

use super::integers::limits;
use super::program::{Inset, Shape, Start, Step, Value, Walk, is_unsigned};
use super::write::{Writer, list, number};

impl Writer<'_> {
    /// Returns the extents of the tensor that contains a tile, and the indices that cut the tile out of it, `[1..9, 2..10]`;
    /// empty for a whole tensor. Integers of the launch are named after `name`.
    pub(super) fn within(&mut self, name: &str, inset: Option<Inset>, shape: Shape) -> (Shape, String) {
        let Some(inset) = inset else { return (shape, String::new()) };
        let whole = inset.whole(shape);
        if inset.start != Start::Written {
            self.parts.insert("slices from the launch");
        }
        self.parts.insert("slices of shared memory");
        let ranges = [0, 1].map(|axis| {
            let room = whole[axis] - shape[axis];
            self.range(&format!("{name}_{axis}"), (inset, axis), room, shape[axis])
        });
        (whole, format!("[{}]", ranges.join(", ")))
    }

    /// Like [`Writer::within`], for rows only.
    pub(super) fn rows_within(&mut self, name: &str, inset: Option<Inset>, rows: i64) -> (i64, String) {
        let Some(inset) = inset else { return (rows, String::new()) };
        let room = inset.before[0] + inset.after[0];
        let range = self.range(&format!("{name}_0"), (inset, 0), room, rows);
        (rows + room, format!("[{range}]"))
    }

    /// Returns the indices of the part of a global tensor from a start on, `[1.., o2 * 4..]`; empty for a whole tensor.
    pub(super) fn from(&mut self, name: &str, inset: Option<Inset>) -> String {
        let Some(inset) = inset else { return String::new() };
        self.parts.insert("slices of global memory");
        let starts =
            [0, 1].map(|axis| format!("{}..", self.start(&format!("{name}_{axis}"), (inset, axis), None)));
        format!("[{}]", starts.join(", "))
    }

    fn range(&mut self, name: &str, at: (Inset, usize), room: i64, extent: i64) -> String {
        let start = self.start(name, at, Some(room));
        match start.parse::<i64>() {
            Ok(start) => format!("{start}..{}", start + extent),
            Err(_) => format!("{start}..{start} + {extent}"),
        }
    }

    /// Returns the start of a slice. A requirement on the launch keeps it within the available room.
    fn start(&mut self, name: &str, (inset, axis): (Inset, usize), room: Option<i64>) -> String {
        if let Some(step) = inset.step(axis) {
            self.launched(
                name,
                inset.before[axis] / step,
                (room.map(|room| room / step), step),
                inset.integer,
            );
        }
        self.named(name, inset, axis)
    }

    /// Like `start`, with an integer of the launch that already exists.
    fn named(&self, name: &str, inset: Inset, axis: usize) -> String {
        match inset.step(axis) {
            None => inset.before[axis].to_string(),
            Some(1) => name.to_owned(),
            Some(step) => format!("{name} * {step}"),
        }
    }

    /// Adds an integer of the launch between 0 and `most`, which the text multiplies by `times`.
    fn launched(&mut self, name: &str, value: i64, (most, times): (Option<i64>, i64), dtype: DType) {
        // Without a bound a multiple may not fit the type, and a number that wraps cannot be proven to stay inside.
        let most = most.unwrap_or(4096);
        let dtype = if limits(dtype).high >= most * times { dtype } else { DType::I32 };
        self.draws.insert(format!("starts of type {dtype}"));
        self.params.push(format!("{name}: {dtype}"));
        self.args.push(value.to_string());
        if !is_unsigned(dtype) {
            self.wheres.push(format!("{name} >= 0"));
        }
        self.wheres.push(format!("{name} <= {most}"));
    }

    pub(super) fn window(
        &mut self,
        at: usize,
        step: &Step,
        first: Shape,
        walk: Walk,
        (axis, by): (usize, i64),
        start: Start,
    ) {
        self.parts.insert("shared memory");
        self.parts.insert("slices of shared memory");
        let (Value { shape, dtype, .. }, from) = (step.value, step.from[0]);
        let whole = self.program.steps[from].value.shape;
        let sync = self.sync();
        self.emit(format!(
            "let s{at} = shared_tensor({dtype}, [{}]);\ncopy(v{from}, s{at});\n{sync}",
            list(whole)
        ));
        let after = [0, 1].map(|d| whole[d] - first[d] - shape[d]);
        let inset = Inset { before: first, after, start, integer: DType::U8 };
        if walk.count == 1 {
            let (_, part) = self.within(&format!("s{at}"), Some(inset), shape);
            self.emit(format!("let v{at} = load(s{at}{part});"));
        } else {
            self.parts.insert("slices in a loop");
            let slice = slice(first, shape, axis, by);
            let unroll = if walk.unroll { "#[unroll]\n" } else { "" };
            let zero = number(0, dtype);
            self.emit(format!(
                "let v{at} = register_tensor({dtype}, [{}]);\nfill(v{at}, {zero});",
                list(shape)
            ));
            self.emit(format!(
                "{unroll}for {} in 0..{} {{\n    v{at} = v{at} + load(s{at}{slice});\n}}",
                counter(&slice),
                walk.count
            ));
        }
        self.expect(at, &format!("zeros(f64, [{}])", list(shape)));
        let slice = slice(first, shape, axis, by);
        let (i, count) = (counter(&slice), walk.count);
        self.tiles.push(format!("for {i} in 0..{count} {{\n    v{at} = v{at} + v{from}{slice};\n}}"));
    }

    /// Writes a product of staged operands, slice by slice along K.
    pub(super) fn walked(
        &mut self,
        at: usize,
        walk: Walk,
        k: i64,
        names: [(String, Option<Inset>, i64); 2],
        pinned: &str,
    ) {
        self.parts.insert("slices in a loop");
        let each = k / walk.count;
        let operands = names.map(|(name, inset, rows)| {
            let (rows, from) = match inset {
                None => ("..".to_owned(), "0".to_owned()),
                Some(inset) => {
                    let [row, column] = [0, 1].map(|axis| self.named(&format!("{name}_{axis}"), inset, axis));
                    (format!("{row}..{row} + {rows}"), column)
                }
            };
            format!("{name}[{rows}, {from} + i * {each}..{from} + i * {each} + {each}]")
        });
        let unroll = if walk.unroll { "#[unroll]\n" } else { "" };
        let product = format!("gemm(v{at}, {}{pinned});", operands.join(", "));
        self.emit(format!("{unroll}for i in 0..{} {{\n    {product}\n}}", walk.count));
    }
}

/// Returns the name of the counter of a loop over slices: `_` if all slices are the same, because nothing uses it then.
fn counter(slice: &str) -> &'static str {
    if slice.contains('i') { "i" } else { "_" }
}

/// Returns slice number `i` of a loop.
fn slice(first: Shape, shape: Shape, axis: usize, by: i64) -> String {
    let range = |d: usize| match (d == axis && by > 0, first[d], shape[d]) {
        (true, first, extent) => format!("i * {by} + {first}..i * {by} + {}", first + extent),
        (false, first, extent) => format!("{first}..{}", first + extent),
    };
    format!("[{}, {}]", range(0), range(1))
}
