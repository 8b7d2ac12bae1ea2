//! Compares the solution with an alternative, or formats why there is none.

use hx_synth::{Failure, Help, Solved, compared, estimate_any};
use hx_tile::{OpCycles, OpId, Resource, choice_text, op_text};

use super::Asked;

/// The most operations whose cycles are compared.
const MOST_OPS: usize = 4;
/// The most parts or pieces of advice of a failure that are shown.
const MOST_PARTS: usize = 5;

impl Asked<'_> {
    /// Formats the result of solving with an alternative. `what` names it in a sentence.
    pub(super) fn outcome(&self, what: &str, solved: Result<Solved, Failure>) -> Vec<String> {
        match solved {
            Ok(other) => {
                let mut lines = vec![format!("  {}", self.verdict(what, &other))];
                lines.extend(self.differences(&other).into_iter().map(|line| format!("    {line}")));
                lines
            }
            Err(failure) => self.refused(what, &failure),
        }
    }

    /// Formats the estimates of the solution and of an alternative in one sentence.
    pub(super) fn verdict(&self, what: &str, other: &Solved) -> String {
        self.verdict_with(what, other, "of equal solutions, the first found is kept")
    }

    /// Formats [`Asked::verdict`]. `tie` says which one of equal solutions is kept.
    pub(super) fn verdict_with(&self, what: &str, other: &Solved, tie: &str) -> String {
        let [own, others] = [self.solved, other].map(|solved| compared(&solved.program, &solved.solution));
        let [sum, other_sum] = [self.solved, other].map(|solved| solved.solution.cost);
        let sums = format!(
            "the sum over all operations, by which the search compares, is {other_sum:.0} instead of {sum:.0}"
        );
        let is_dearer = other_sum.round() > sum.round();
        let numbers =
            format!("{others:.0} cycles of a block instead of {own:.0} (× {:.2})", others / own.max(1.0));
        if let Some(moved) = self.moved_in(other) {
            return format!(
                "{what} fits with `rearrange({moved}, auto)`, which is made only where the text says so: {numbers}"
            );
        }
        if others.round() > own.round() {
            format!("{what} fits and costs more: {numbers}")
        } else if others.round() == own.round() {
            let why = if is_dearer { sums.as_str() } else { tie };
            format!("{what} fits and costs the same, {own:.0} cycles of a block; {why}")
        } else if is_dearer {
            format!("{what} fits and its estimate is lower, {numbers}, but {sums}")
        } else {
            format!("{what} fits and its estimate is lower, but the search did not reach it: {numbers}")
        }
    }

    /// Returns the name of the first tensor that an alternative moves to other threads, and the solution does not.
    fn moved_in(&self, other: &Solved) -> Option<String> {
        if other.moves() <= self.solved.moves() {
            return None;
        }
        let program = &other.program;
        program.tensors.iter().find_map(|tensor| {
            let from = tensor.moved_from.filter(|_| tensor.is_register())?;
            let known = self.solved.program.tensors.iter().any(|own| own.name == tensor.name);
            (!known).then(|| program.tensor(from).name.clone())
        })
    }

    /// Lists what differs between the estimates of the solution and of an alternative: cycles of resources and operations, registers
    /// and shared memory.
    fn differences(&self, other: &Solved) -> Vec<String> {
        let own = self.solved;
        let [a, b] = [own, other].map(|solved| estimate_any(&solved.program, &solved.solution, &self.dims));
        let mut lines = Vec::new();
        let differs = |x: f64, y: f64| (x - y).abs() > 0.005 * a.block.max(b.block).max(1.0);
        let resources: Vec<String> = Resource::ALL
            .into_iter()
            .filter(|resource| differs(a.resources[*resource], b.resources[*resource]))
            .map(|resource| {
                format!("{} {:.0} → {:.0}", resource.name(), a.resources[resource], b.resources[resource])
            })
            .collect();
        if !resources.is_empty() {
            lines.push(format!("cycles that differ: {}", resources.join(", ")));
        }
        let measure = |cycles: &OpCycles| cycles.threads.max(cycles.resources.most().1);
        let of = |ops: &std::collections::BTreeMap<OpId, OpCycles>, op| ops.get(&op).map_or(0.0, measure);
        let mut ops: Vec<OpId> = a.ops.keys().chain(b.ops.keys()).copied().collect();
        ops.sort_unstable();
        ops.dedup();
        // A wait has the cycles of that which it waits for.
        let is_sync = |op: &OpId| {
            let found = other.program.op(*op).or_else(|| own.program.op(*op));
            found.is_none_or(|op| matches!(op.kind, hx_tile::OpKind::Sync(_)))
        };
        ops.retain(|op| differs(of(&a.ops, *op), of(&b.ops, *op)) && !is_sync(op));
        ops.sort_by(|x, y| {
            let change = |op: OpId| (of(&a.ops, op) - of(&b.ops, op)).abs();
            change(*y).total_cmp(&change(*x)).then(x.cmp(y))
        });
        for op in ops.into_iter().take(MOST_OPS) {
            let text =
                |solved: &Solved| {
                    let own = solved.program.op(op)?;
                    Some(choice_text(&solved.program, &solved.solution, own).map_or_else(
                        || format!("#{} {}", op.0, op_text(&solved.program, own)),
                        |(text, _)| text,
                    ))
                };
            let (before, after) = (of(&a.ops, op), of(&b.ops, op));
            lines.extend(match (text(own), text(other)) {
                (_, Some(text)) if own.program.op(op).is_none() => {
                    Some(format!("{text}: {after:.0} cycles, besides"))
                }
                (Some(text), None) => Some(format!("{text}: {before:.0} cycles less")),
                (_, Some(text)) => Some(format!("{text}: {before:.0} → {after:.0} cycles")),
                (None, None) => None,
            });
        }
        lines.extend(self.sizes(other, [&a, &b]));
        lines
    }

    /// Compares registers and shared memory.
    fn sizes(&self, other: &Solved, [a, b]: [&hx_tile::Estimate; 2]) -> Option<String> {
        let most = |estimate: &hx_tile::Estimate| {
            estimate.roles.iter().map(|role| role.registers).max_by_key(|registers| registers[0])
        };
        let mut texts = Vec::new();
        if let (Some([before, _]), Some([after, budget])) = (most(a), most(b))
            && before != after
        {
            texts.push(format!("registers of a thread about {before} → {after} of {budget}"));
        }
        let [before, after] = [self.solved, other].map(|solved| solved.solution.shared_bytes);
        if before != after {
            let limit = self.program().target.limits.shared_bytes;
            texts.push(format!("shared memory {before} → {after} of {limit} B"));
        }
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// Formats the failure of an alternative.
    pub(super) fn refused(&self, what: &str, failure: &Failure) -> Vec<String> {
        let message = &failure.message;
        // A failure of one instruction begins with its name.
        let head = if message.starts_with("not `") {
            format!("  {message}")
        } else {
            format!("  not {what}: {message}")
        };
        let mut lines = vec![head];
        let program = self.program();
        let name = |op: OpId| {
            let source = program.op(op).map(|own| (program, own));
            source.map_or_else(
                || format!("#{}", op.0),
                |(program, own)| format!("#{} {}", op.0, op_text(program, own)),
            )
        };
        for part in failure.parts.iter().take(MOST_PARTS) {
            lines.push(match part.op {
                Some(op) => format!("    {}: {}", name(op), part.text),
                None => format!("    {}", part.text),
            });
        }
        let help = failure.help.iter().map(|Help { text, .. }| format!("    {text}"));
        lines.extend(help.take(MOST_PARTS));
        lines
    }
}
