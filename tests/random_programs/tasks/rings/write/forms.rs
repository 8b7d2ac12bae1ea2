//! The forms of kernels: roles, groups that take turns, and threads that all do the same.

use super::super::super::sheet::{Kernel, Lines, Sheet};
use super::super::plan::{Form, Plan, Trips, Walk, Work};
use super::super::work::{Scope, Steps};
use super::Spelling;

impl Plan {
    /// Writes the roles of a kernel in which one copies and others work.
    pub(super) fn roles(&self, sheet: &mut Sheet, kernel: &mut Kernel, spelling: &Spelling) {
        let Form::Roles { split, groups, each, registers } = self.form else { return };
        let mut roles = Lines::default();
        let all: Vec<usize> = self.rings().collect();
        let shares: Vec<&[usize]> = if split { all.chunks(1).collect() } else { vec![&all] };
        for share in shares {
            let mut step = Lines::default();
            step.block("for i in 0..steps", self.filled(share, "i"));
            let given = registers.map_or(String::new(), |n| format!(" registers {n}"));
            roles.block(&format!("producer{given}"), self.walked(spelling, step, None));
        }
        for (at, task) in self.works.iter().enumerate() {
            let scope = Scope::of(self);
            let steps = self.work(task, scope);
            let (declared, tile) = self.tile_of(sheet, at, &steps);
            let mut body = declared;
            body.extend(self.walked(spelling, tile, None));
            let head = match (each, groups) {
                (true, groups) => format!("consumer each {groups} (g)"),
                (false, 1) => "consumer".to_owned(),
                (false, groups) => format!("consumer {groups}"),
            };
            roles.block(&head, body);
        }
        kernel.body.block("warp_groups", roles);
    }

    /// Returns the declarations of a work, and its lines for a tile.
    fn tile_of(&self, sheet: &mut Sheet, at: usize, steps: &Steps) -> (Lines, Lines) {
        let task = &self.works[at];
        let stored = self.stored(sheet, at, task, &steps.result);
        let stepwise = task.work.is_stepwise();
        let (out, last) =
            if stepwise { (stored.lines, Lines::default()) } else { (Lines::default(), stored.lines) };
        let (released, end) = self.released(steps, out);
        let mut step = Lines::default();
        for ring in self.rings() {
            step.push(format!("let q{ring} = ring{ring}.wait();"));
        }
        step.extend(released);
        let mut tile = steps.begin.clone();
        let counter = if step.uses("i") { "i" } else { "_" };
        tile.block(&format!("for {counter} in 0..steps"), step);
        tile.extend(end);
        tile.extend(last);
        let mut declared = steps.declared.clone();
        declared.extend(stored.declared);
        if stored.counts {
            declared.push("let stored = 0;");
        }
        (declared, tile)
    }

    /// Writes the roles of a kernel whose groups take tiles in turns.
    pub(super) fn in_turns(&self, sheet: &mut Sheet, kernel: &mut Kernel, spelling: &Spelling) {
        let Form::Turns { groups, counted } = self.form else { return };
        sheet.part("turns");
        let mut roles = Lines::default();
        let mut copying = Lines::default();
        let all: Vec<usize> = self.rings().collect();
        copying.block("for i in 0..steps", self.filled(&all, "i"));
        roles.block("producer", self.walked(spelling, copying, None));
        let steps = self.work(&self.works[0], Scope::of(self));
        let (declared, tile) = self.tile_of(sheet, 0, &steps);
        let tile = in_order(tile);
        let mut body = declared;
        let skip = |n: &str| -> Lines {
            let mut lines = Lines::default();
            all.iter().for_each(|ring| lines.push(format!("ring{ring}.skip({n});")));
            lines
        };
        let uniform = matches!(self.trips, Trips::Extent | Trips::Fixed(_) | Trips::Number(_));
        if let (false, true, Walk::Persistent(_)) = (counted, uniform, self.walk) {
            let count = match self.trips {
                Trips::Extent => format!("cdiv(k, {})", self.bk),
                Trips::Fixed(n) => n.to_string(),
                _ => "rounds".to_owned(),
            };
            body.extend(skip(&format!("g * {}", paren(&count))));
            let rounds = format!("cdiv({} - block_idx, grid_dim)", self.tiles(spelling));
            let mut inner = Lines::from(format!("let t = block_idx + ({groups} * r + g) * grid_dim;"));
            inner.extend(self.numbers(spelling, &tile));
            inner.extend(tile);
            inner.extend(skip(&match groups {
                2 => paren(&count),
                _ => format!("{} * {}", groups - 1, paren(&count)),
            }));
            body.block(&format!("for r in 0..cdiv({rounds} - g, {groups})"), inner);
        } else {
            body.push("let round = 0;");
            let mut chosen = Lines::default();
            chosen.block(&format!("if round % {groups} == g"), tile);
            let mut other = Lines::default();
            other.block("else", skip("steps"));
            chosen.join(other);
            body.extend(self.walked(spelling, chosen, Some("round += 1;")));
        }
        roles.block(&format!("consumer each {groups} (g)"), body);
        kernel.body.block("warp_groups", roles);
    }

    /// Writes the body of a kernel whose threads all copy and work.
    pub(super) fn by_all(&self, sheet: &mut Sheet, kernel: &mut Kernel, spelling: &Spelling) {
        let task = &self.works[0];
        let steps = self.work(task, Scope::of(self));
        let stored = self.stored(sheet, 0, task, &steps.result);
        let stepwise = task.work.is_stepwise();
        let (out, last) =
            if stepwise { (stored.lines, Lines::default()) } else { (Lines::default(), stored.lines) };
        let (released, end) = self.released(&steps, out);
        let mut tile = steps.begin.clone();
        tile.extend(match self.form {
            Form::Together { ahead, .. } => self.together(ahead, released),
            Form::Groups { ahead, .. } => self.in_groups(ahead, released),
            _ => self.by_threads(released),
        });
        tile.extend(end);
        if let Form::Groups { .. } = self.form {
            tile.push("wait(0);");
        }
        // Threads must have read the last stages before the next tile fills them.
        if self.loops() && self.reads_at_the_end() && !last.mention("sync()") {
            tile.push("sync();");
        }
        tile.extend(last);
        kernel.body.extend(steps.declared);
        kernel.body.extend(stored.declared);
        if stored.counts {
            kernel.body.push("let stored = 0;");
        }
        let walked = self.walked(spelling, tile, None);
        kernel.body.extend(walked);
    }

    /// Reports whether threads may still read a stage at the end of a tile that others fill at the beginning of the next one.
    fn reads_at_the_end(&self) -> bool {
        let (stages, first) = match self.form {
            Form::Groups { ahead, .. } => (self.stages[0], ahead),
            Form::Threads { stages: stages @ 2.., .. } => (stages, 1),
            _ => return false,
        };
        // With two products in flight, other warps may still read the stage of the product before the last.
        let late =
            i64::from(self.works.iter().any(|task| matches!(task.work, Work::Product { flight: 2, .. })));
        let Trips::Fixed(n) = self.trips else { return true };
        (n - 1 - late..n).any(|step| step.rem_euclid(stages) < first)
    }

    fn together(&self, ahead: i64, work: Lines) -> Lines {
        let all: Vec<usize> = self.rings().collect();
        let mut lines = Lines::default();
        let mut step = Lines::default();
        if ahead == 0 {
            step.extend(self.filled(&all, "i"));
        } else {
            lines.block(&format!("for i in 0..min(steps, {ahead})"), self.filled(&all, "i"));
            step.block(&format!("if i + {ahead} < steps"), self.filled(&all, &format!("i + {ahead}")));
        }
        for ring in &all {
            step.push(format!("let q{ring} = ring{ring}.wait();"));
        }
        step.extend(work);
        lines.block("for i in 0..steps", step);
        lines
    }

    fn in_groups(&self, ahead: i64, work: Lines) -> Lines {
        let all: Vec<usize> = self.rings().collect();
        let stages = self.stages[0];
        let copy = |stage: &str, step: &str| {
            let mut lines = Lines::default();
            all.iter().for_each(|ring| lines.push(format!("let p{ring} = {stage};")));
            lines.extend(self.copies(&all, step, false));
            lines.push("commit();");
            lines
        };
        let mut lines = Lines::default();
        lines.block(&format!("for i in 0..{ahead}"), copy("i", "i"));
        let mut step = Lines::from(format!("wait({});\nsync();", ahead - 1));
        step.extend(copy(&format!("(i + {ahead}) % {stages}"), &format!("i + {ahead}")));
        all.iter().for_each(|ring| step.push(format!("let q{ring} = i % {stages};")));
        step.extend(work);
        lines.block("for i in 0..steps", step);
        lines
    }

    fn by_threads(&self, work: Lines) -> Lines {
        let all: Vec<usize> = self.rings().collect();
        let Form::Threads { stages, .. } = self.form else { return Lines::default() };
        let mut step = Lines::default();
        if stages > 1 {
            all.iter().for_each(|ring| step.push(format!("let p{ring} = i % {stages};")));
        }
        step.extend(self.copies(&all, "i", false));
        step.push("sync();");
        if stages > 1 {
            all.iter().for_each(|ring| step.push(format!("let q{ring} = i % {stages};")));
        }
        // A barrier inside the work also comes after the last read of the stage.
        let meets = work.mention("sync();");
        step.extend(work);
        if stages == 1 && !meets {
            step.push("sync();");
        }
        let mut lines = Lines::default();
        lines.block("for i in 0..steps", step);
        lines
    }
}

/// Takes a group's turn for the steps of a tile.
fn in_order(tile: Lines) -> Lines {
    let mut lines = Lines::default();
    lines.extend(tile.around("for ", "order.take();", "order.pass();"));
    lines
}

fn paren(text: &str) -> String {
    if text.contains(' ') && !text.starts_with("cdiv(") { format!("({text})") } else { text.to_owned() }
}
