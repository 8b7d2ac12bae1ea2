//! The remarks about waste: bank conflicts, scattered sectors, redundant bytes, copies without a wait.

use hx_compile::{Db, Instance, staging};
use hx_sim::{Counters, byte_count};
use hx_tile::{Choice, Op};

use crate::why::Solved;

/// A count of less than this multiple of the ideal gets no remark: the table shows it as `1.0x`.
const NOTABLE: f64 = 1.05;

/// The causes of waste and the ways out, as far as the compiler knows them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Advice {
    /// The cause of bank conflicts.
    conflicts: Option<String>,
    /// The cause of scattered sectors.
    sectors: Option<String>,
    /// The cause of redundant bytes.
    redundant: Option<String>,
}

impl Advice {
    /// Returns the causes of an operation's waste that the compiler knows; empty if the operation wastes nothing.
    pub(super) fn of<'db>(
        db: &'db dyn Db,
        instance: Instance<'db>,
        solved: &Solved<'db>,
        op: &Op,
        counters: &Counters,
    ) -> Advice {
        let sectors = || match solved.solution().choices.get(&op.id).and_then(Choice::copy) {
            Some(copy) if solved.is_narrow(copy) => {
                let way = staging(db, instance, op.id).map(|way| solved.staged(&way));
                let cause = format!("{} B an access: {}", copy.bytes, solved.narrow_cause(copy));
                Some(way.map_or(cause.clone(), |way| format!("{cause}; {way}")))
            }
            Some(_) => Some("the rows of the tile are shorter than a sector or begin within one".to_owned()),
            None => None,
        };
        let held = || {
            let program = solved.program();
            let tensors = op.kind.tensors();
            let tensor = tensors.iter().map(|id| program.tensor(*id)).find(|tensor| tensor.is_register())?;
            let name = if tensor.name.is_empty() { "the tile" } else { &format!("`{}`", tensor.name) };
            Some(format!(
                "several threads hold the same elements of {name}, because an operation needs them there"
            ))
        };
        Advice {
            conflicts: (counters.conflicts() > 0).then(|| solved.conflict_cause(op)),
            sectors: notable(counters.sectors, counters.ideal_sectors).and_then(|_| sectors()),
            redundant: (counters.redundant_bytes > 0).then(held).flatten(),
        }
    }

    /// Adds the causes that another launch shows.
    pub fn join(&mut self, other: Advice) {
        self.conflicts = self.conflicts.take().or(other.conflicts);
        self.sectors = self.sectors.take().or(other.sectors);
        self.redundant = self.redundant.take().or(other.redundant);
    }

    /// Returns the remarks about the counters of an operation, a sentence each.
    pub fn remarks(&self, counters: &Counters) -> Vec<String> {
        let with = |text: String, cause: &Option<String>| match cause {
            Some(cause) => format!("{text}: {cause}"),
            None => text,
        };
        let mut remarks = Vec::new();
        if counters.conflicts() > 0 {
            let times = counters.wavefronts as f64 / counters.ideal_wavefronts.max(1) as f64;
            remarks.push(with(format!("bank conflicts, {times:.1} times the wavefronts"), &self.conflicts));
        }
        if let Some(times) = notable(counters.sectors, counters.ideal_sectors) {
            remarks
                .push(with(format!("uncoalesced, {times:.1} times the sectors of its bytes"), &self.sectors));
        }
        if counters.redundant_bytes > 0 {
            let (again, all) = (byte_count(counters.redundant_bytes), byte_count(counters.bytes));
            remarks.push(with(format!("{again} of {all} moved by more than one thread"), &self.redundant));
        }
        if counters.unwaited > 0 {
            let copies = match counters.unwaited {
                1 => "an asynchronous copy of a thread was".to_owned(),
                n => format!("{n} asynchronous copies of threads were"),
            };
            remarks.push(format!(
                "{copies} never waited for, and nothing reads the bytes: leave the copies out, or wait for them"
            ));
        }
        remarks
    }
}

/// Returns the factor by which a count exceeds its ideal, if the table shows it.
fn notable(found: u64, ideal: u64) -> Option<f64> {
    let times = found as f64 / ideal.max(1) as f64;
    (found > ideal && times >= NOTABLE).then_some(times)
}
