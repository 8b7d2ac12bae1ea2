//! Writes the reference: the same tiles and steps, on whole tensors in f64.

use super::super::sheet::{Lines, SENTINEL, Sheet, Tensor};
use super::plan::{Along, Length, Plan, Source, Task, Trips, Walk, Work};
use super::work::LOWEST;

/// Writes the expected values of the outputs, and compares them.
pub(crate) fn expect(sheet: &mut Sheet, plan: &Plan, outputs: &[Tensor]) {
    let (whole_m, whole_n) = (plan.rows * plan.bm, plan.columns * plan.bn);
    let whole_k = plan.steps.max(plan.most()) * plan.bk;
    for source in &plan.sources {
        let across = if source.along == Along::Rows { whole_m } else { whole_n };
        let (at, [rows, columns]) = (source.at, plan.extents(source));
        let whole = if source.turned { [whole_k, across] } else { [across, whole_k] };
        sheet.test.push(format!("let p{at} = zeros(f64, [{}, {}]);", whole[0], whole[1]));
        let [rows, columns] = [rows.min(whole[0]), columns.min(whole[1])];
        sheet.test.push(format!("p{at}[..{rows}, ..{columns}] = x{at}[..{rows}, ..{columns}];"));
        if plan.plus() > 0 && at == 0 {
            sheet.test.push(format!("p{at} = p{at} + {}.0;", plan.plus()));
        }
    }
    let mut tile = Lines::from(plan.host_steps());
    for (at, task) in plan.works.iter().enumerate() {
        let [rows, columns] = plan.whole_output(task);
        let start = if task.work.is_stepwise() { format!("{SENTINEL}.0") } else { "0.0".to_owned() };
        sheet.test.push(format!("let e{at} = full(f64, [{rows}, {columns}], {start});"));
        tile.extend(plan.host_tile(at, task));
    }
    let mut rows = Lines::default();
    let inner = if plan.has_columns_on_host() {
        let mut inner = Lines::default();
        inner.block(&format!("for bn in 0..{}", plan.columns), tile);
        inner
    } else {
        tile
    };
    rows.block(&format!("for bm in 0..{}", plan.rows), inner);
    sheet.test.extend(rows);
    if let Walk::Counter(_) = plan.walk {
        sheet.test.push("assert(drawn[0] == 0);");
    }
    for (at, (task, tensor)) in plan.works.iter().zip(outputs).enumerate() {
        let turned = if task.out == super::plan::Out::Turned { ".T" } else { "" };
        let [rows, columns] = [0, 1].map(|axis| tensor.dims[axis].1);
        sheet.compare(tensor, &format!("e{at}{turned}[..{rows}, ..{columns}]"));
    }
}

impl Plan {
    fn has_columns_on_host(&self) -> bool {
        self.sources.iter().any(|source| source.along == Along::Columns)
    }

    /// Returns the extents of all tiles of an output.
    fn whole_output(&self, task: &Task) -> [i64; 2] {
        let m = self.rows * self.bm;
        match &task.work {
            Work::Product { .. } if Plan::adds(task) => [m, self.bn],
            Work::Product { .. } => [m, self.columns * self.bn],
            Work::Sum { turned: true, .. } => [self.bk, m],
            Work::Sum { .. } => [m, self.bk],
            Work::RowSum { .. } | Work::RowMax { .. } | Work::RowArg { .. } => [m, 1],
            Work::Each { .. } | Work::Carry { .. } => [m, self.steps.max(self.most()) * self.bk],
        }
    }

    /// Returns the lines that define `steps`, the number of steps of a tile, and `first` if its steps begin in the middle of
    /// the sources.
    fn host_steps(&self) -> String {
        match self.trips {
            Trips::Extent => format!("let steps = {};", self.steps),
            Trips::Fixed(n) | Trips::Number(n) => format!("let steps = {n};"),
            Trips::Table(Length::Guarded | Length::Equal | Length::AtLeast | Length::Clamped) => {
                "let steps = counts[bm];".to_owned()
            }
            Trips::Causal => format!("let steps = min({}, bm + 1);", self.steps),
            Trips::Odd(n) => format!("let steps = (bm + 1) % {n};"),
            Trips::Between => "let first = starts[bm];\nlet steps = starts[bm + 1] - first;".to_owned(),
        }
    }

    /// Returns the part of a source that belongs to the current tile and step.
    fn host_part(&self, source: &Source) -> String {
        let (across, width) = if source.along == Along::Rows { ("bm", self.bm) } else { ("bn", self.bn) };
        let rows = format!("{across} * {width}..{across} * {width} + {width}");
        let steps = format!("q..q + {}", self.bk);
        let at = source.at;
        if source.turned { format!("p{at}[{steps}, {rows}].T") } else { format!("p{at}[{rows}, {steps}]") }
    }

    fn host_tile(&self, at: usize, task: &Task) -> Lines {
        let (bm, bn, bk, k) = (self.bm, self.bn, self.bk, self.k);
        let rows = format!("bm * {bm}..bm * {bm} + {bm}");
        let mut lines = Lines::default();
        let mut step = Lines::from(format!("let q = ({}) * {bk};", self.step("i")));
        let part = self.host_part(&self.sources[0]);
        let (own, place) = (format!("acc{at}"), format!("e{at}"));
        let last = match &task.work {
            Work::Product { second, .. } => {
                lines.push(format!("let {own} = zeros(f64, [{bm}, {bn}]);"));
                let mut sum = format!("{part} @ {}.T", self.host_part(&self.sources[1]));
                if let Some(factor) = second {
                    let other = self.host_part(&self.sources[2]);
                    sum = format!("{sum} + ({part} @ {other}.T) * ({factor}.0)");
                }
                step.push(format!("{own} = {own} + {sum};"));
                if Plan::adds(task) {
                    format!("{place}[{rows}, ..] = {place}[{rows}, ..] + {own};")
                } else {
                    format!("{place}[{rows}, bn * {bn}..bn * {bn} + {bn}] = {own};")
                }
            }
            Work::Sum { turned, factor, .. } => {
                lines.push(format!("let {own} = zeros(f64, [{bm}, {bk}]);"));
                step.push(format!("{own} = {own} + {part} * {factor}.0;"));
                if *turned {
                    format!("{place}[.., {rows}] = {own}.T;")
                } else {
                    format!("{place}[{rows}, ..] = {own};")
                }
            }
            Work::RowSum { .. } => {
                lines.push(format!("let {own} = zeros(f64, [{bm}, 1]);"));
                step.push(format!("{own} = {own} + sum({part}, axis: 1, keepdims: true);"));
                format!("{place}[{rows}, ..] = {own};")
            }
            Work::RowMax { .. } | Work::RowArg { .. } => {
                lines.push(format!("let {own} = full(f64, [{bm}, 1], {LOWEST}.0);"));
                lines.push(format!("let at{at} = zeros(f64, [{bm}, 1]);"));
                let valid = format!("p0[{rows}, q..min(q + {bk}, {k})]");
                let mut there = Lines::from(format!("let largest = max({valid}, axis: 1, keepdims: true);"));
                there.push(format!("let position = argmax({valid}, axis: 1, keepdims: true) + q;"));
                there.push(format!("at{at} = where(largest > {own}, position, at{at});"));
                there.push(format!("{own} = max({own}, largest);"));
                step.block(&format!("if q < {k}"), there);
                let result = if let Work::RowArg { .. } = task.work { format!("at{at}") } else { own };
                format!("{place}[{rows}, ..] = {result};")
            }
            Work::Each { factor, .. } => {
                step.push(format!("{place}[{rows}, q..q + {bk}] = {part} * {factor}.0;"));
                String::new()
            }
            Work::Carry { .. } => {
                lines.push(format!("let {own} = zeros(f64, [{bm}, 1]);"));
                step.push(format!("{place}[{rows}, q..q + {bk}] = cumsum({part}, 1) + {own};"));
                step.push(format!("{own} = {own} + sum({part}, axis: 1, keepdims: true);"));
                String::new()
            }
        };
        lines.block("for i in 0..steps", step);
        lines.push(last);
        lines
    }
}
