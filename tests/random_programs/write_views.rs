//! Writes the steps of `draw_views.rs` as text.

use super::draw_views::View;
use super::program::{Shape, Step, Value};
use super::write::{Writer, list, number};

impl Writer<'_> {
    pub(super) fn view(&mut self, at: usize, step: &Step, view: &View) {
        match view {
            View::Guarded { .. } => self.guarded(at, step, view),
            View::Halo { extent, start, launched, pad, of_block } => {
                self.halo(at, step.value, *extent, (*start, *launched, *of_block), *pad);
            }
            View::Windows { .. } => self.windows(at, step.value, view),
            View::Pixels { extent, start, tile, launched } => {
                self.pixels(at, step.value, [*extent, *start, *tile], *launched);
            }
        }
    }

    fn guarded(&mut self, at: usize, step: &Step, view: &View) {
        let View::Guarded { extent, index, of_block, other, range } = view else { return };
        self.parts.insert("guarded read");
        let (from, dtype) = (step.from[0], step.value.dtype);
        self.drawn(
            &format!("x{at}"),
            &format!("q{at}"),
            &extent.to_string(),
            Value { range: *range, ..step.value },
            at + 400,
        );
        self.dims.insert(format!("q{at}"), *extent);
        self.params.push(format!("begin{at}: i32"));
        self.args.push(index.to_string());
        let (moved, host) = if *of_block { (" + b", "+ b") } else { ("", "+ 0.0") };
        let other_text = number(*other, dtype);
        self.emit(format!("let v{at} = v{from} + (x{at}[begin{at}{moved}] else {other_text});"));
        let chosen = format!("where(arange(f64, [{extent}]) == {index}.0 {host}, 1.0, 0.0)");
        self.tiles.push(format!("let h{at} = {chosen};"));
        let read = format!("sum(h{at} * cast(x{at}, f64)) + (1.0 - sum(h{at})) * {other}.0");
        self.expect(at, &format!("v{from} + ({read})"));
    }

    /// Returns the row and the column at which a view begins, as text. With `tile`, block `b` begins `b * tile` rows further.
    fn start_of_view(&mut self, at: usize, start: Shape, launched: bool, tile: Option<i64>) -> [String; 2] {
        if launched {
            self.parts.insert("starts at run time");
        }
        [0, 1].map(|axis| {
            let own = if launched {
                self.params.push(format!("begin{at}_{axis}: i32"));
                self.args.push(start[axis].to_string());
                format!("begin{at}_{axis}")
            } else {
                start[axis].to_string()
            };
            match tile.filter(|_| axis == 0) {
                Some(tile) => format!("b * {tile} + {own}"),
                None => own,
            }
        })
    }

    /// Writes the tensor of a view, and returns its value on the host.
    fn viewed(&mut self, at: usize, value: Value, extent: Shape) -> String {
        let dims = format!("m{at}, n{at}");
        self.drawn(&format!("x{at}"), &dims, &list(extent), value, at + 500);
        self.dims.extend([(format!("m{at}"), extent[0]), (format!("n{at}"), extent[1])]);
        format!("cast(x{at}, f64)")
    }

    fn halo(
        &mut self,
        at: usize,
        value: Value,
        extent: Shape,
        (start, launched, of_block): (Shape, bool, bool),
        pad: Option<i64>,
    ) {
        self.parts.insert("view with a halo");
        let Value { shape, dtype, .. } = value;
        let [i, j] = self.start_of_view(at, start, launched, of_block.then_some(shape[0]));
        let x = self.viewed(at, value, extent);
        let text = pad.map_or(String::new(), |pad| format!(", pad: {}", number(pad, dtype)));
        self.emit(format!(
            "let v{at} = load(global_view(x{at}[{i}.., {j}..], ({}) : (n{at}, 1){text}));",
            list(shape)
        ));
        let moved = if of_block { format!(" + b * {}.0", shape[0]) } else { String::new() };
        let [left, right] = [(0, moved), (1, String::new())].map(|(axis, moved)| {
            let from = format!("arange(f64, [{}])[.., new] + {}.0{moved}", shape[axis], start[axis]);
            format!("where({from} == arange(f64, [{}])[new, ..], 1.0, 0.0)", extent[axis])
        });
        self.tiles.push(format!("let a{at} = {left};\nlet c{at} = {right};"));
        let read = format!("a{at} @ {x} @ c{at}.T");
        match pad {
            None => self.expect(at, &read),
            Some(pad) => {
                let there = format!("a{at} @ ones(f64, [{}]) @ c{at}.T == 1.0", list(extent));
                self.expect(at, &format!("where({there}, {read}, {pad}.0)"));
            }
        }
    }

    fn windows(&mut self, at: usize, value: Value, view: &View) {
        let View::Windows { extent, start, launched, size, stride, dilation, range } = view else { return };
        self.parts.insert("windows");
        let shape = value.shape;
        let [i, j] = self.start_of_view(at, *start, *launched, None);
        let x = self.viewed(at, Value { range: *range, ..value }, *extent);
        let ld = format!("n{at}");
        let strides = format!("({stride} * {ld}, {stride}, {dilation} * {ld}, {dilation})");
        let modes = format!("({}, {size}, {size}) : {strides}", list(shape));
        self.emit(format!("let w{at} = load(global_view(x{at}[{i}.., {j}..], {modes}));"));
        self.emit(format!("let v{at} = sum(sum(w{at}, axis: 3), axis: 2)[.., .., 0, 0];"));
        let [left, right] = [0, 1].map(|axis| {
            let ones = (0..*size).map(|k| {
                let first = start[axis] + k * dilation;
                let from = format!("arange(f64, [{}])[.., new] * {stride}.0 + {first}.0", shape[axis]);
                format!("where({from} == arange(f64, [{}])[new, ..], 1.0, 0.0)", extent[axis])
            });
            ones.collect::<Vec<_>>().join(" + ")
        });
        self.tiles.push(format!("let a{at} = {left};\nlet c{at} = {right};"));
        self.expect(at, &format!("a{at} @ {x} @ c{at}.T"));
    }

    fn pixels(&mut self, at: usize, value: Value, [extent, start, tile]: [Shape; 3], launched: bool) {
        self.parts.insert("modes of several parts");
        let channels = value.shape[1];
        let [i, j] = self.start_of_view(at, start, launched, None);
        let [h, w] = extent;
        let extents = format!("{h}, {w}, {channels}");
        self.drawn(&format!("x{at}"), &format!("m{at}, n{at}, {channels}"), &extents, value, at + 600);
        self.dims.extend([(format!("m{at}"), h), (format!("n{at}"), w)]);
        let modes = format!("(({}, {}), {channels})", tile[1], tile[0]);
        let strides = format!("(({channels}, {channels} * n{at}), 1)");
        self.emit(format!("let v{at} = load(global_view(x{at}[{i}.., {j}.., ..], {modes} : {strides}));"));
        let numbers = format!("arange(f64, [{}])", value.shape[0]);
        let [rows, columns] = [
            format!("floor({numbers} / {}.0) + {}.0", tile[1], start[0]),
            format!("{numbers} % {}.0 + {}.0", tile[1], start[1]),
        ];
        self.tiles.push(format!("let a{at} = {rows};\nlet c{at} = {columns};"));
        let outside = format!("(c{at} < 0.0) || (c{at} >= {w}.0)");
        self.tiles.push(format!("let h{at} = where({outside}, -1.0, a{at} * {w}.0 + c{at})[.., new];"));
        let chosen = format!("where(h{at} == arange(f64, [{}])[new, ..], 1.0, 0.0)", h * w);
        self.expect(at, &format!("{chosen} @ reshape(cast(x{at}, f64), [{}, {channels}])", h * w));
    }
}
