//! Writes the way of results to global memory.

use super::super::sheet::{Begin, Kernel, Lines, Sheet, Tensor};
use super::plan::{Form, Out, Plan, Task, Trips, Work};
use super::work::Scope;

/// The lines that store results.
pub(crate) struct Stored {
    /// Tensors that the role declares.
    pub(crate) declared: Lines,
    pub(crate) lines: Lines,
    /// Whether the lines count the stores in the variable `stored`.
    pub(crate) counts: bool,
}

impl Plan {
    /// Returns the rows and columns of the part of a result that one scope of threads holds.
    fn result(&self, task: &Task, scope: Scope) -> [i64; 2] {
        match &task.work {
            Work::Product { .. } => [scope.rows, self.bn],
            Work::Sum { turned: true, .. } => [self.bk, scope.rows],
            Work::Sum { .. } | Work::Each { .. } | Work::Carry { .. } => [scope.rows, self.bk],
            Work::RowSum { .. } | Work::RowMax { .. } | Work::RowArg { .. } => [scope.rows, 1],
        }
    }

    /// Reports whether the results of all columns of tiles are added up.
    pub(crate) fn adds(task: &Task) -> bool {
        matches!(task.out, Out::Added | Out::BoxesAdded { .. })
    }

    /// Returns the extents of the output of a task, with their names.
    pub(crate) fn output(&self, at: usize, task: &Task) -> Tensor {
        let literal = |n: i64| (n.to_string(), n);
        let m = ("m".to_owned(), self.m);
        let (rows, columns) = match &task.work {
            Work::Product { .. } if Plan::adds(task) => (m, literal(self.bn)),
            Work::Product { .. } => (m, ("n".to_owned(), self.n)),
            Work::Sum { turned: true, .. } => (literal(self.bk), m),
            Work::Sum { .. } => (m, literal(self.bk)),
            Work::Each { .. } | Work::Carry { .. } => (m, ("k".to_owned(), self.k)),
            Work::RowSum { .. } | Work::RowMax { .. } | Work::RowArg { .. } => (m, literal(1)),
        };
        let dims = if task.out == Out::Turned { vec![columns, rows] } else { vec![rows, columns] };
        let around = task.around.filter(|_| task.out != Out::Turned);
        Tensor { name: format!("y{at}"), dtype: task.to, dims, around }
    }

    /// Adds the output of a task to a kernel.
    pub(crate) fn add_output(
        &self,
        sheet: &mut Sheet,
        kernel: &mut Kernel,
        at: usize,
        task: &Task,
    ) -> Tensor {
        let tensor = self.output(at, task);
        let start = match () {
            () if Plan::adds(task) => Begin::Zeros,
            () if task.work.is_stepwise() => Begin::Kept,
            () => Begin::Unwritten,
        };
        sheet.output(kernel, &tensor, start);
        tensor
    }

    /// Writes the store of a result. `at` is the position of the task.
    pub(crate) fn stored(&self, sheet: &mut Sheet, at: usize, task: &Task, result: &str) -> Stored {
        let scope = Scope::of(self);
        let [rows, columns] = self.result(task, scope);
        let row = scope.row();
        let (first, second) = match &task.work {
            Work::Product { .. } if Plan::adds(task) || self.columns_are_one() => (row, "0".to_owned()),
            Work::Product { .. } => (row, "bn".to_owned()),
            Work::Sum { turned: true, .. } => ("0".to_owned(), row),
            Work::Each { .. } | Work::Carry { .. } => (row, self.step("i")),
            _ => (row, "0".to_owned()),
        };
        let name = if task.out == Out::Turned { format!("y{at}.T") } else { format!("y{at}") };
        let value = if task.work.dtype() == task.to {
            result.to_owned()
        } else {
            format!("cast({result}, {})", task.to)
        };
        let view = format!("tile({name}, [{rows}, {columns}])[.., .., {first}, {second}]");
        let (mut declared, mut lines) = (Lines::default(), Lines::default());
        let again = self.loops() || task.work.is_stepwise();
        let to = task.to;
        let mut counts = false;
        match task.out {
            Out::Direct | Out::Turned => lines.push(format!("copy({value}, {view});")),
            Out::Added => {
                sheet.part("atomic_add");
                lines.push(format!("atomic_add({view}, {value});"));
            }
            Out::Shared => {
                declared.push(format!("let o{at} = shared_tensor({to}, [{rows}, {columns}]);"));
                lines.push(format!("copy({value}, o{at});\nsync();\ncopy(o{at}, {view});"));
                if again && !self.meets_before_results(task) {
                    lines.push("sync();");
                }
            }
            Out::Boxes { slots, cut: 1 } | Out::BoxesAdded { slots } => {
                sheet.part("stores in boxes");
                let add = if Plan::adds(task) { ", add: true" } else { "" };
                counts = again && slots > 1;
                let slots = if again { slots } else { 1 };
                let (whole, slot) = match (slots, counts) {
                    (1, _) => (format!("[{rows}, {columns}]"), format!("o{at}")),
                    _ => {
                        (format!("[{rows}, {columns}, {slots}]"), format!("o{at}[.., .., stored % {slots}]"))
                    }
                };
                declared.push(format!("let o{at} = shared_tensor({to}, {whole});"));
                if again {
                    lines.push(format!("wait_stores({});\nsync();", slots - 1));
                }
                lines.push(format!("copy({value}, {slot});\nsync();\ncopy_async({slot}, {view}{add});"));
                if add.is_empty() {
                    sheet.part("bulk stores");
                } else {
                    sheet.part("bulk sums");
                }
            }
            Out::Boxes { cut, .. } => {
                sheet.part("stores in boxes");
                let wide = columns / cut;
                declared.push(format!("let o{at} = shared_tensor({to}, [{rows}, {wide}, 2]);"));
                let mut each = Lines::default();
                let slot = if again { "(stored + j) % 2" } else { "j" };
                if again {
                    counts = true;
                    each.push("wait_stores(1);\nsync();");
                }
                each.push(format!(
                    "copy({}, o{at}[.., .., {slot}]);\nsync();",
                    value.replacen(result, &format!("result[.., j * {wide}..(j + 1) * {wide}]"), 1)
                ));
                let column = format!("({second}) * {cut} + j");
                each.push(format!(
                    "copy_async(o{at}[.., .., {slot}], tile({name}, [{rows}, {wide}])[.., .., {first}, {column}]);"
                ));
                lines.push(format!("let result = {result};\n#[unroll]"));
                lines.block(&format!("for j in 0..{cut}"), each);
            }
        }
        if counts {
            let by = if let Out::Boxes { cut, .. } = task.out { cut } else { 1 };
            lines.push(format!("stored += {by};"));
        }
        Stored { declared, lines, counts }
    }

    /// Reports whether a barrier of the next step always precedes the next result.
    fn meets_before_results(&self, task: &Task) -> bool {
        let has_barriers = matches!(self.form, Form::Groups { .. } | Form::Threads { .. });
        has_barriers && (task.work.is_stepwise() || self.has_steps())
    }

    /// Reports whether each tile has a step, in every launch.
    pub(crate) fn has_steps(&self) -> bool {
        matches!(self.trips, Trips::Extent | Trips::Causal | Trips::Fixed(1..))
    }

    fn columns_are_one(&self) -> bool {
        self.columns == 1 && self.n == self.bn && matches!(self.walk, super::plan::Walk::One)
    }
}
