//! Writes scans, parts of tiles and gathered rows as text.

use super::program::{Binary, Compare, Fold, Input, Scanned, Shape, Value};
use super::write::Writer;

impl Writer<'_> {
    pub(super) fn reduce(&mut self, at: usize, from: usize, axis: usize, fold: Fold, closure: bool) {
        self.parts.insert(if axis == 0 { "reduce axis 0" } else { "reduce axis 1" });
        let (name, operator) = match fold {
            Fold::Sum => ("sum", "a + b"),
            Fold::Max => ("max", "max(a, b)"),
            Fold::Min => ("min", "min(a, b)"),
        };
        if closure {
            self.parts.insert("reduce with a closure");
            self.emit(format!("let v{at} = reduce(v{from}, {axis}, |a, b| {operator});"));
        } else {
            self.emit(format!("let v{at} = {name}(v{from}, axis: {axis});"));
        }
        self.expect(at, &format!("{name}(v{from}, axis: {axis}, keepdims: true)"));
    }

    /// Returns a barrier: of the warp, if the block has only one.
    pub(super) fn sync(&mut self) -> &'static str {
        if self.program.threads > 32 {
            return "sync();";
        }
        self.parts.insert("sync_warp");
        "sync_warp();"
    }

    /// Writes a product for each slice of K, and their sum.
    pub(super) fn batch(&mut self, at: usize, value: Value, [a, b]: [&Input; 2], slices: i64, staged: bool) {
        self.parts.insert("batch");
        let Value { shape: [m, n], dtype: out, .. } = value;
        let (whole, kd) = (a.tile[1], format!("k{at}"));
        let columns = whole / slices;
        let mut copies = Vec::new();
        let [left, right] = [("x", a), ("w", b)].map(|(name, input)| {
            let (name, rows, dim) = (format!("{name}{at}"), self.rows(input), format!("{name}m{at}"));
            self.input(&name, at, input, [rows, input.extent[1]], [dim, kd.clone()]);
            let block = if input.per_block { "b" } else { "0" };
            let of_tile = input.tile[0];
            let all = format!("tile({name}, [{of_tile}, {columns}])[.., .., {block}, ..]");
            let tile = format!("{of_tile}, {columns}, {slices}");
            let view = format!("tile({all}, [{tile}])[.., .., .., 0, 0, part]");
            let operand = if staged {
                self.emit(format!("let s{name} = shared_tensor({}, [{tile}]);", input.dtype));
                copies.push(format!("    copy_async({view}, s{name});"));
                format!("s{name}")
            } else {
                format!("load({view})")
            };
            let selector = self.selector(of_tile, rows, input.per_block);
            (operand, format!("({selector} @ cast({name}, f64))"))
        });
        self.emit(format!("let c{at} = register_tensor({out}, [{m}, {n}, {slices}]);\nfill(c{at}, 0);"));
        self.emit(format!("for part in 0..cdiv(cdiv({kd}, {columns}), {slices}) {{"));
        if staged {
            self.parts.insert("copy_async");
            let sync = self.sync();
            self.emit(format!("{}\n    commit();\n    wait(0);\n    {sync}", copies.join("\n")));
        }
        self.emit(format!("    gemm(c{at}, {}, {});", left.0, right.0));
        if staged {
            let sync = self.sync();
            self.emit(format!("    {sync}"));
        }
        self.emit(format!("}}\nlet v{at} = sum(c{at}, axis: 2)[.., .., 0];"));
        self.expect(at, &format!("{} @ {}.T", left.1, right.1));
    }

    pub(super) fn scan(&mut self, at: usize, from: &[usize], scanned: Scanned) {
        let Scanned { axis, fold, pair, reverse } = scanned;
        self.parts.insert(if reverse { "scan from the end" } else { "scan" });
        let reverse = if reverse { ", reverse: true" } else { "" };
        let operator = |a: &str, b: &str| match fold {
            Fold::Sum => format!("{a} + {b}"),
            Fold::Max => format!("max({a}, {b})"),
            Fold::Min => format!("min({a}, {b})"),
        };
        let first = from[0];
        if pair {
            let beside = from[1];
            let own = operator("a0", "a1");
            self.emit(format!(
                "let (v{at}, _) = scan((v{first}, v{beside}), axis: {axis}, \
                 op: |(a0, b0), (a1, b1)| ({own}, max(b0, b1)){reverse});"
            ));
        } else {
            self.emit(format!(
                "let v{at} = scan(v{first}, axis: {axis}, op: |a, b| {}{reverse});",
                operator("a", "b")
            ));
        }
        let own = operator("a", "b");
        self.expect(at, &format!("scan(v{first}, axis: {axis}, op: |a, b| {own}{reverse})"));
    }

    pub(super) fn part(&mut self, at: usize, from: usize, first: Shape, turned: bool) {
        self.parts.insert("part of registers");
        let Value { shape: whole, .. } = self.program.steps[from].value;
        let mut shape = self.program.steps[at].value.shape;
        if turned {
            shape.swap(0, 1);
        }
        let ranges: Vec<String> = (0..2)
            .map(|axis| match (first[axis], first[axis] + shape[axis]) {
                (0, end) if end == whole[axis] => "..".to_owned(),
                (begin, end) => format!("{begin}..{end}"),
            })
            .collect();
        let turned = if turned { ".T" } else { "" };
        let part = if ranges.iter().all(|range| range == "..") {
            format!("v{from}{turned}")
        } else {
            format!("v{from}[{}]{turned}", ranges.join(", "))
        };
        self.emit(format!("let v{at} = {part};"));
        self.expect(at, &part);
    }

    /// Writes the table of a gathered tile. Its row numbers range from just before the first row to just after the last.
    pub(super) fn table(
        &mut self,
        at: usize,
        input: &Input,
        [rows, count]: [i64; 2],
        shared: bool,
    ) -> String {
        self.parts.insert("gather");
        let name = format!("t{at}");
        self.params.push(format!("{name}: i32[h{at}]"));
        self.args.push(name.clone());
        self.dims.insert(format!("h{at}"), rows);
        let drawn = format!("floor(uniform(f64, [{rows}], seed: {}) * {}.0)", at + 100, count + 2);
        self.before.push(format!("let {name} = cast({drawn} - 1.0, i32);"));
        let block = if input.per_block { "b" } else { "0" };
        if !shared {
            return format!("tile({name}, [{}])[.., {block}]", input.tile[0]);
        }
        let table = format!("g{at}");
        let (extent, part) = self.rows_within(&table, input.place, input.tile[0]);
        self.emit(format!("let {table} = shared_tensor(i32, [{extent}]);"));
        self.emit(format!(
            "copy(tile({name}, [{}], pad: -1)[.., {block}], {table}{part});\nsync();",
            input.tile[0]
        ));
        format!("{table}{part}")
    }

    /// Writes a matrix that selects the rows that the table names. A number outside the tensor gives a row of zeros.
    pub(super) fn picked(&mut self, at: usize, input: &Input, [rows, count]: [i64; 2]) -> String {
        let own = self.selector(input.tile[0], rows, input.per_block);
        // Entries past the end of the table count as -1.
        let numbers = format!("({own} @ (cast(t{at}, f64) + 1.0)[.., new] - 1.0)");
        self.tiles
            .push(format!("let r{at} = where({numbers} == arange(f64, [{count}])[new, ..], 1.0, 0.0);"));
        format!("r{at}")
    }
}

pub(super) fn binary(op: Binary, x: &str, y: &str) -> String {
    match op {
        Binary::Add => format!("({x} + {y})"),
        Binary::Sub => format!("({x} - {y})"),
        Binary::Mul => format!("({x} * {y})"),
        Binary::Min => format!("min({x}, {y})"),
        Binary::Max => format!("max({x}, {y})"),
    }
}

pub(super) fn compare(how: Compare) -> &'static str {
    match how {
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
        Compare::Eq => "==",
        Compare::Ne => "!=",
    }
}
