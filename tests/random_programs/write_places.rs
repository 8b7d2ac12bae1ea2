//! Writes the steps of `draw_places.rs` as text.

use super::draw_places::{Atomic, Meet, Place};
use super::program::{Fold, Range, Shape, Step, Value};
use super::write::{Writer, float, list, number};
use super::write_bits::{name, shared_bits};

/// A number above all others of the reference.
const ABOVE: &str = "9007199254740992.0";

impl Writer<'_> {
    pub(super) fn place(&mut self, at: usize, step: &Step, place: &Place) {
        match place {
            Place::Gather { extent, two, range } => self.gathered(at, step, (*extent, *two), *range),
            Place::Scatter { times, plus, minus, start, shared } => {
                self.scattered(at, step, [*times, *plus, *minus], (*start, *shared));
            }
            Place::Atomic { op, meet: Some(meet), start, shared, .. } => {
                self.met(at, step, *op, *meet, (*start, *shared));
            }
            Place::Atomic { op, start, shared, returned, .. } => {
                self.alone(at, step, *op, (*start, *shared), *returned);
            }
        }
    }

    /// Writes a tensor of the test with random integers, and its parameter of these extents.
    pub(super) fn drawn(&mut self, name: &str, dims: &str, extents: &str, value: Value, seed: usize) {
        let Value { dtype, range: Range { low, high }, .. } = value;
        self.params.push(format!("{name}: {dtype}[{dims}]"));
        self.args.push(name.to_owned());
        let random = format!("uniform(f64, [{extents}], seed: {seed}) * {}.0", high - low + 1);
        self.before.push(format!("let {name} = cast(floor({random}) + {}, {dtype});", float(low)));
    }

    fn gathered(&mut self, at: usize, step: &Step, ([rows, columns], two): (Shape, bool), range: Range) {
        self.parts.insert("gathered elements");
        let (x, value) = (format!("x{at}"), Value { range, ..step.value });
        let extents = if two { list([rows, columns]) } else { columns.to_string() };
        self.drawn(&x, &extents, &extents, value, at + 300);
        let mut picks = Vec::new();
        let modes = if two { vec![rows, columns] } else { vec![columns] };
        for (mode, (extent, from)) in modes.iter().zip(&step.from).enumerate() {
            let own = self.program.steps[*from].value.dtype;
            // Indices leave the tensor at its end; those of a signed type also take the value -1.
            let less = i64::from(!super::program::is_unsigned(own));
            let pick = format!("pick{at}_{mode}");
            self.emit(format!("let {pick} = v{from} % {} - {less};", extent + 2));
            let by = float(extent + 2);
            self.tiles.push(format!("let {pick} = v{from} - floor(v{from} / {by}) * {by} - {less}.0;"));
            picks.push(pick);
        }
        self.emit(format!("let v{at} = load(gather({x}, {}));", picks.join(", ")));
        let shape = step.value.shape;
        let place = match picks.as_slice() {
            [i, j] => {
                let outside = format!("({j} < 0.0) || ({j} >= {columns}.0)");
                format!("where({outside}, -1.0, {i} * {columns}.0 + {j})")
            }
            [i] => i.clone(),
            _ => String::new(),
        };
        let (all, count) = (shape[0] * shape[1], rows * columns);
        self.tiles.push(format!("let h{at} = reshape({place}, [{all}])[.., new];"));
        let chosen = format!("where(h{at} == arange(f64, [{count}])[new, ..], 1.0, 0.0)");
        let elements = format!("reshape(cast({x}, f64), [{count}, 1])");
        self.expect(at, &format!("reshape({chosen} @ {elements}, [{}])", list(shape)));
    }

    /// Writes memory whose elements are `start`, and returns its name and the barrier that orders its accesses.
    fn memory(
        &mut self,
        at: usize,
        value: Value,
        extents: &str,
        (start, shared): (i64, bool),
    ) -> (String, &'static str) {
        let Value { dtype, .. } = value;
        if !shared {
            let blocks = self.program.blocks;
            self.params.push(format!("mem{at}: mut {dtype}[{blocks}, {extents}]"));
            self.args.push(format!("mem{at}"));
            self.before.push(format!("let mem{at} = full({dtype}, [{blocks}, {extents}], {start});"));
            return (format!("mem{at}[b]"), "sync();");
        }
        self.parts.insert("shared memory");
        let sync = self.sync();
        self.emit(format!("let mem{at} = shared_tensor({dtype}, [{extents}]);"));
        self.emit(format!("let start{at} = register_tensor({dtype}, [{extents}]);"));
        self.emit(format!("fill(start{at}, {});\ncopy(start{at}, mem{at});\n{sync}", number(start, dtype)));
        (format!("mem{at}"), sync)
    }

    /// Returns the number of each element, counted row by row, as a kernel's expression and as a host vector, and the shape of
    /// the tile.
    fn numbered(&self, from: usize) -> (String, String, Shape) {
        let shape = self.program.steps[from].value.shape;
        let numbers = format!("(index(v{from}, 0) * {} + index(v{from}, 1))", shape[1]);
        (numbers, format!("arange(f64, [{}])", shape[0] * shape[1]), shape)
    }

    fn scattered(
        &mut self,
        at: usize,
        step: &Step,
        [times, plus, minus]: [i64; 3],
        (start, shared): (i64, bool),
    ) {
        self.parts.insert("scattered elements");
        let from = step.from[0];
        let (numbers, host, shape) = self.numbered(from);
        let count = shape[0] * shape[1];
        let (memory, sync) = self.memory(at, step.value, &list(shape), (start, shared));
        self.emit(format!("let pick{at} = ({numbers} * {times} + {plus}) % {count} - {minus};"));
        self.emit(format!(
            "copy(v{from}, scatter({memory}, pick{at} / {0}, pick{at} % {0}));\n{sync}",
            shape[1]
        ));
        self.emit(format!("let v{at} = load({memory});"));
        let places = format!("({host} * {times}.0 + {plus}.0) % {count}.0 - {minus}.0");
        self.tiles.push(format!(
            "let h{at} = where(({places})[new, ..] == arange(f64, [{count}])[.., new], 1.0, 0.0);"
        ));
        let rest = format!("(1.0 - sum(h{at}, axis: 1, keepdims: true)) * {start}.0");
        self.expect(
            at,
            &format!("reshape(h{at} @ reshape(v{from}, [{count}, 1]) + {rest}, [{}])", list(shape)),
        );
    }

    fn atomic(&mut self, call: &str, shared: bool, returned: bool) {
        self.parts.insert("atomic accesses");
        self.draws.insert(format!("atomic_{call} in {} memory", if shared { "shared" } else { "global" }));
        if returned {
            self.draws.insert(format!("results of atomic_{call}"));
        }
    }

    /// Writes atomic accesses, of which several access the same element.
    fn met(&mut self, at: usize, step: &Step, op: Atomic, meet: Meet, to: (i64, bool)) {
        let Atomic::Fold(fold) = op else { return };
        self.atomic(folds(fold), to.1, false);
        self.parts.insert("scattered elements");
        let (from, Meet { times, count }, start) = (step.from[0], meet, to.0);
        let (numbers, host, shape) = self.numbered(from);
        let (memory, sync) = self.memory(at, step.value, &list([1, count]), to);
        self.emit(format!("let pick{at} = {numbers} * {times} % {} - 1;", count + 2));
        self.emit(format!(
            "atomic_{}(scatter({memory}, pick{at} - pick{at}, pick{at}), v{from});\n{sync}",
            folds(fold)
        ));
        self.emit(format!("let v{at} = load({memory});"));
        let places = format!("({host} * {times}.0 % {}.0 - 1.0)", count + 2);
        self.tiles.push(format!("let h{at} = {places}[new, ..] == arange(f64, [{count}])[.., new];"));
        let flat = format!("reshape(v{from}, [1, {}])", shape[0] * shape[1]);
        let found = match fold {
            Fold::Sum => format!("sum(where(h{at}, {flat}, 0.0), axis: 1) + {start}.0"),
            Fold::Max => format!("max(max(where(h{at}, {flat}, 0.0 - {ABOVE}), axis: 1), {start}.0)"),
            Fold::Min => format!("min(min(where(h{at}, {flat}, {ABOVE}), axis: 1), {start}.0)"),
        };
        self.expect(at, &format!("reshape({found}, [1, {count}])"));
    }

    /// Writes one atomic access to each element. With `returned`, adds the previous value that it returns to the new element.
    fn alone(&mut self, at: usize, step: &Step, op: Atomic, to: (i64, bool), returned: bool) {
        let (from, start) = (step.from[0], float(to.0));
        let (memory, sync) = self.memory(at, step.value, &list(step.value.shape), to);
        let (call, host) = match op {
            Atomic::Fold(Fold::Sum) => ("add", format!("v{from} + {start}")),
            Atomic::Fold(fold) => (folds(fold), format!("{}(v{from}, {start})", folds(fold))),
            Atomic::Bits(bit) => {
                let both = shared_bits(&format!("v{from}"), &start);
                match name(bit) {
                    "&" => ("and", both),
                    "|" => ("or", format!("v{from} + {start} - {both}")),
                    _ => ("xor", format!("v{from} + {start} - 2.0 * {both}")),
                }
            }
        };
        self.atomic(call, to.1, returned);
        let access = format!("atomic_{call}({memory}, v{from})");
        if returned {
            self.emit(format!("let old{at} = {access};\n{sync}\nlet v{at} = load({memory}) + old{at};"));
            self.expect(at, &format!("{host} + {start}"));
        } else {
            self.emit(format!("{access};\n{sync}\nlet v{at} = load({memory});"));
            self.expect(at, &host);
        }
    }
}

fn folds(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "add",
        Fold::Max => "max",
        Fold::Min => "min",
    }
}
