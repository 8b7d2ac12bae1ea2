//! Writes what threads do with the tiles of a step.

use hx_dtype::DType;

use super::super::super::write::number;
use super::super::sheet::Lines;
use super::plan::{Form, LeftOperand, Plan, Release, Source, Task, Work};

/// Less than every element of a tile.
pub(crate) const LOWEST: i64 = -100;

/// The part of a tile that one scope of threads works on: all threads of a role, or one of its groups.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    /// The rows of a tile that the scope has.
    pub(crate) rows: i64,
    /// The number of groups, if each group has its own rows of a tile.
    pub(crate) each: Option<i64>,
}

impl Scope {
    pub(crate) fn of(plan: &Plan) -> Scope {
        match plan.form {
            Form::Roles { each: true, groups, .. } => Scope { rows: plan.bm / groups, each: Some(groups) },
            _ => Scope { rows: plan.bm, each: None },
        }
    }

    /// Returns the number of the scope's row of tiles, as text.
    pub(crate) fn row(&self) -> String {
        self.each.map_or("bm".to_owned(), |groups| format!("bm * {groups} + g"))
    }
}

/// The lines of one task's work on a tile, by their place: `declared` before the loop over tiles, `begin` and `end` around the
/// steps of a tile.
pub(crate) struct Steps {
    pub(crate) declared: Lines,
    pub(crate) begin: Lines,
    /// Reads the stages of a step.
    pub(crate) reads: Lines,
    /// Computes with what was read.
    pub(crate) after: Lines,
    /// Gives stages back, if products in flight decide when.
    pub(crate) keeps: Option<Lines>,
    pub(crate) end: Lines,
    /// The result, in registers.
    pub(crate) result: String,
}

impl Plan {
    /// Returns the tile of a source in its stage, as the threads read it.
    fn staged(&self, source: &Source, scope: Scope) -> String {
        let stage = if self.has_stages() { format!(", q{}", source.ring) } else { String::new() };
        let whole = source.along != super::plan::Along::Rows || scope.each.is_none();
        let part = if whole {
            "..".to_owned()
        } else {
            let rows = scope.rows;
            format!("g * {rows}..g * {rows} + {rows}")
        };
        let at = source.at;
        if whole && stage.is_empty() {
            return if source.turned { format!("s{at}.T") } else { format!("s{at}") };
        }
        if source.turned {
            format!("s{at}[.., {part}{stage}].T")
        } else {
            format!("s{at}[{part}, ..{stage}]")
        }
    }

    /// Reports whether the shared tensors have an axis of stages, so that a stage is selected by its number.
    pub(crate) fn has_stages(&self) -> bool {
        !matches!(self.form, Form::Threads { stages: 1, .. })
    }

    /// Returns the index in the sources of the step with the number `ahead` in its tile, as text.
    pub(crate) fn step(&self, ahead: &str) -> String {
        let first = if self.trips == super::plan::Trips::Between { "first + " } else { "" };
        format!("{first}{ahead}")
    }

    /// Writes the lines of a work for the threads of a scope.
    pub(crate) fn work(&self, task: &Task, scope: Scope) -> Steps {
        match &task.work {
            Work::Product { .. } => self.product(task, scope),
            _ => self.reading(task, scope),
        }
    }

    fn product(&self, task: &Task, scope: Scope) -> Steps {
        let Work::Product { sums, left: operand, flight, second } = &task.work else {
            unreachable!("it is a product")
        };
        let [mut declared, mut begin, mut reads, mut end] = [(); 4].map(|()| Lines::default());
        let names: &[&str] = if second.is_some() { &["acc", "more"] } else { &["acc"] };
        let (rows, columns) = (scope.rows, self.bn);
        for name in names {
            declared.push(format!("let {name} = register_tensor({sums}, [{rows}, {columns}]);"));
            begin.push(format!("fill({name}, {});", number(0, *sums)));
        }
        let a = self.staged(&self.sources[0], scope);
        let left = match operand {
            LeftOperand::Shared => a,
            LeftOperand::Registers => {
                reads.push(format!("let a = load({a});"));
                "a".to_owned()
            }
            LeftOperand::Widened(_) => {
                let wide = self.sources[1].dtype;
                reads.push(format!("let a = cast(load({a}), {wide});"));
                "a".to_owned()
            }
        };
        let call = if *flight > 0 { "gemm_async" } else { "gemm" };
        for (name, source) in names.iter().zip(&self.sources[1..]) {
            reads.push(format!("{call}({name}, {left}, {});", self.staged(source, scope)));
        }
        let mut keeps = None;
        match flight {
            0 => {}
            1 => reads.push("gemm_wait(0);"),
            _ => {
                let mut lines = Lines::from(format!("gemm_wait({});", names.len()));
                self.rings().for_each(|ring| lines.push(format!("ring{ring}.release_previous();")));
                keeps = Some(lines);
                end.push("gemm_wait(0);");
            }
        }
        let result = match second {
            None => "acc".to_owned(),
            Some(factor) => format!("acc + more * {}", number(*factor, *sums)),
        };
        Steps { declared, begin, reads, after: Lines::default(), keeps, end, result }
    }

    fn reading(&self, task: &Task, scope: Scope) -> Steps {
        let source = &self.sources[0];
        let dtype = match &task.work {
            Work::RowArg { dtype } => *dtype,
            work => work.dtype(),
        };
        let (rows, columns) = (scope.rows, self.bk);
        let [mut declared, mut begin, mut reads, mut after] = [(); 4].map(|()| Lines::default());
        let stage = self.staged(source, scope);
        let is_turned = matches!(task.work, Work::Sum { turned: true, .. });
        let stage = match (is_turned, stage.strip_suffix(".T")) {
            (true, Some(plain)) => plain.to_owned(),
            (true, None) => format!("{stage}.T"),
            (false, _) => stage,
        };
        let load = format!("load({stage})");
        let load = if source.dtype == dtype { load } else { format!("cast({load}, {dtype})") };
        reads.push(format!("let v = {load};"));
        let zero = number(0, dtype);
        let times =
            |factor: i64| if factor == 1 { String::new() } else { format!(" * {}", number(factor, dtype)) };
        let masked = {
            let (step, low) = (self.step("i"), number(LOWEST, dtype));
            format!("let v = where(index(v, 1) + ({step}) * {columns} < k, v, {low});")
        };
        let mut make = |name: &str, dtype: DType, [rows, columns]: [i64; 2], value: &str| {
            declared.push(format!("let {name} = register_tensor({dtype}, [{rows}, {columns}]);"));
            begin.push(format!("fill({name}, {value});"));
        };
        let result = match &task.work {
            Work::Sum { factor, .. } => {
                make("acc", dtype, if is_turned { [columns, rows] } else { [rows, columns] }, &zero);
                after.push(format!("acc = acc + v{};", times(*factor)));
                "acc".to_owned()
            }
            Work::RowSum { .. } => {
                make("acc", dtype, [rows, 1], &zero);
                after.push("acc = acc + sum(v, axis: 1);");
                "acc".to_owned()
            }
            Work::RowMax { .. } => {
                make("acc", dtype, [rows, 1], &number(LOWEST, dtype));
                after.push(masked);
                after.push("acc = max(acc, max(v, axis: 1));");
                "acc".to_owned()
            }
            Work::RowArg { .. } => {
                make("best", dtype, [rows, 1], &number(LOWEST, dtype));
                make("at", DType::I32, [rows, 1], "0");
                after.push(masked);
                let step = self.step("i");
                after.push("let largest = max(v, axis: 1);\nlet better = largest > best;");
                after.push(format!(
                    "at = where(better, argmax(v, axis: 1) + cast(({step}) * {columns}, i32), at);"
                ));
                after.push("best = where(better, largest, best);");
                "at".to_owned()
            }
            Work::Carry { .. } => {
                make("carry", dtype, [rows, 1], &zero);
                after.push("let sums = scan(v, axis: 1, op: |a, b| a + b) + carry;");
                after.push(format!("carry = sums[.., {}..];", columns - 1));
                "sums".to_owned()
            }
            Work::Each { factor, .. } => format!("v{}", times(*factor)),
            Work::Product { .. } => unreachable!("products have lines of their own"),
        };
        Steps { declared, begin, reads, after, keeps: None, end: Lines::default(), result }
    }

    /// Returns the numbers of the rings.
    pub(crate) fn rings(&self) -> std::ops::Range<usize> {
        0..self.stages.len()
    }

    /// Returns the lines of a step, in which the stages are given back in time, and those at the end of a tile.
    pub(crate) fn released(&self, steps: &Steps, out: Lines) -> (Lines, Lines) {
        let has_rings = !matches!(self.form, Form::Groups { .. } | Form::Threads { .. });
        let release = |how: &str| {
            let mut lines = Lines::default();
            if has_rings {
                self.rings().for_each(|ring| lines.push(format!("ring{ring}.{how}();")));
            }
            lines
        };
        let (mut step, mut end) = (steps.reads.clone(), steps.end.clone());
        match (&steps.keeps, self.release) {
            (Some(keeps), _) if has_rings => {
                step.extend(keeps.clone());
                end.extend(release("release"));
                step.extend(steps.after.clone());
                step.extend(out);
            }
            (Some(keeps), _) => {
                // Without a ring no stage is released, but products in flight must still be waited for.
                let mut waits = keeps.clone();
                waits.retain("gemm_wait");
                step.extend(waits);
            }
            (None, Release::Now) => {
                step.extend(release("release"));
                step.extend(steps.after.clone());
                step.extend(out);
            }
            (None, Release::Late) => {
                step.extend(steps.after.clone());
                step.extend(out);
                step.extend(release("release"));
            }
            (None, Release::Previous) => {
                step.extend(steps.after.clone());
                step.extend(out);
                step.extend(release("release_previous"));
                end.extend(release("release"));
            }
        }
        (step, end)
    }
}
