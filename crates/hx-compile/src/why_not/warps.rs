//! Answers about the arrangement of warps of a product, and about candidates.

use hx_synth::Solved;
use hx_tile::{Choice, Control, GemmChoice, Leaf, Op, OpId, OpKind, Stmt, TileProgram, summary_text};

use super::{Asked, Subject, joined};
use crate::candidates;

/// The most other arrangements that an answer lists.
const MOST: usize = 10;

impl Asked<'_> {
    /// Answers why products of the subject do not arrange their warps in another way, or compares all arrangements.
    pub(super) fn warps(&self, wanted: Option<[i64; 3]>, subject: &Subject) -> Vec<String> {
        let groups = self.groups(subject, |op| matches!(self.choice(op.id), Some(Choice::Gemm(_))));
        if groups.is_empty() {
            return vec![format!("{} has no `gemm`: nothing else arranges warps", self.about(subject))];
        }
        joined(groups.len(), groups.iter().map(|ops| self.warps_of(wanted, ops)))
    }

    fn warps_of(&self, wanted: Option<[i64; 3]>, ops: &[&Op]) -> Vec<String> {
        let mut lines = vec![self.head(ops)];
        let Some((op, chosen)) = ops.first().and_then(|op| Some((op, self.choice(op.id)?.gemm()?))) else {
            return lines;
        };
        let program = &self.source.program;
        let OpKind::Gemm { c, .. } = op.kind else { return lines };
        let own = self.in_warps(chosen);
        let (scope, lanes) = (self.program().scope(op.scope), self.program().target.limits.lanes);
        let count = i64::from(scope.threads / lanes);
        lines.push(format!(
            "  `warps: {}` of {count} in the {}: {}",
            self.program().warps_text(c, own),
            scope.kind.name(),
            chosen.reason.text
        ));
        let ids: Vec<OpId> = ops.iter().map(|op| op.id).collect();
        if let Some(wanted) = wanted {
            let text = format!("`warps: {}`", self.program().warps_text(c, wanted));
            if wanted == own {
                lines.push("  that is the arrangement of the question".to_owned());
            } else {
                lines.extend(self.outcome(&text, self.solving(&with_warps(program, &ids, wanted))));
            }
            return lines;
        }
        let all = arrangements(count).filter(|found| *found != own).take(MOST);
        for found in all {
            let text = format!("`warps: {}`", self.program().warps_text(c, found));
            match self.solving(&with_warps(program, &ids, found)) {
                Ok(other) => {
                    let row = other.solution.choices.get(&op.id).and_then(Choice::gemm);
                    let row = row.map_or_else(String::new, |gemm| format!(", {}", gemm.row));
                    lines.push(format!("  {}{row}", self.verdict(&text, &other)));
                }
                Err(failure) => {
                    let why = failure.help.first().map_or(&failure.message, |help| &help.text);
                    lines.push(format!("  not {text}: {why}"));
                }
            }
        }
        lines
    }

    /// Returns the arrangement of a product in warps: an instruction may have several.
    fn in_warps(&self, chosen: &GemmChoice) -> [i64; 3] {
        let lanes = self.program().target.limits.lanes;
        let [m, n, batch] = chosen.arrangement;
        let [along_m, along_n] = chosen.row.get().warps(lanes);
        [m * along_m, n * along_n, batch]
    }

    /// Answers why a candidate is not chosen.
    pub(super) fn candidate(&self, number: usize) -> Vec<String> {
        let all = match candidates(self.db, self.instance.with_candidate(self.db, 0)) {
            Ok(all) => all,
            Err(_) => return vec!["the kernel has no candidates".to_owned()],
        };
        let Some(other) = all.get(number) else {
            let count = all.len();
            return vec![format!(
                "there is no candidate {number}: the kernel has {count}, counted from 0; `--candidates` lists them"
            )];
        };
        let summary = |solved: &Solved| summary_text(&solved.program, &solved.solution);
        let own = self.instance.candidate(self.db) as usize;
        let mut lines = vec![format!("candidate {own}, chosen: {}", summary(self.solved))];
        if number == own {
            lines.push("  that is the candidate of the question".to_owned());
            return lines;
        }
        lines.push(format!("candidate {number}: {}", summary(other)));
        if summary(self.solved) == summary(other) {
            lines.push("  the instructions are the same: layouts differ".to_owned());
        }
        let what = format!("candidate {number}");
        lines.extend(self.outcome(&what, Ok(other.clone())));
        lines
    }
}

/// Yields the arrangements of a number of warps along M and N in which no warp repeats the work of another.
fn arrangements(count: i64) -> impl Iterator<Item = [i64; 3]> {
    (1..=count).filter(move |m| count % m == 0).map(move |m| [m, count / m, 1])
}

/// Returns the program with the warps of some products pinned.
fn with_warps(program: &TileProgram, ops: &[OpId], wanted: [i64; 3]) -> TileProgram {
    let mut changed = program.clone();
    pin(&mut changed.body, ops, wanted);
    changed
}

fn pin(body: &mut [Stmt], ops: &[OpId], wanted: [i64; 3]) {
    for stmt in body {
        match stmt {
            Stmt::Leaf(Leaf::Op(Op { id, kind: OpKind::Gemm { warps, .. }, .. })) if ops.contains(id) => {
                *warps = Some(wanted);
            }
            Stmt::Control(
                Control::For { .. } | Control::If { .. } | Control::While { .. } | Control::Roles(_),
            ) => {
                stmt.bodies_mut().for_each(|body| pin(body, ops, wanted));
            }
            Stmt::Leaf(_) => {}
        }
    }
}
