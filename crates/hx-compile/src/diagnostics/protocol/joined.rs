//! Diagnostics about barriers of several roles.

use hx_base::{Diagnostic, codes};
use hx_sync::protocol::Comings;
use hx_tile::OpId;

use super::Teller;

impl Teller<'_> {
    fn barrier(self, barrier: u32) -> String {
        self.lowered.program.named_barriers[barrier as usize].name.clone()
    }

    /// Describes a wait for groups that do not come to a barrier.
    pub(super) fn wants_all(
        self,
        (who, op): (&str, OpId),
        barrier: u32,
        (missing, hopeless): (&[String], bool),
        comings: &Comings,
    ) -> Diagnostic {
        let name = self.barrier(barrier);
        let message = format!("{who} waits for ever: {} not come to `{name}`", do_not(missing));
        let found = self.at(&codes::ENDLESS_WAIT, op, message);
        if !hopeless {
            return found.help("roles that share several barriers come to them in one order");
        }
        uneven(found, &name, comings)
    }

    /// Describes an arrival in a round to which others do not come.
    pub(super) fn unmet(
        self,
        arrive: OpId,
        barrier: u32,
        missing: &[String],
        comings: &Comings,
    ) -> Diagnostic {
        let name = self.barrier(barrier);
        let message = format!("this arrival at `{name}` is never met: {} not come", do_not(missing));
        uneven(self.at(&codes::DIVERGENT_BARRIER, arrive, message), &name, comings)
    }

    /// Describes a group that comes to a barrier before its last round is complete.
    pub(super) fn hurried(self, come: OpId, barrier: u32) -> Diagnostic {
        let name = self.barrier(barrier);
        let message = format!("threads can come to `{name}` again before its last round is complete");
        self.at(&codes::WRONG_PHASE, come, message)
            .note("a barrier counts threads: it takes a second arrival of one thread for the arrival of another")
            .help(format!(
                "wait for the others before the next arrival: `{name}.sync()` instead of `{name}.arrive()`, or a second barrier at which they tell that they have passed the first"
            ))
    }
}

fn do_not(missing: &[String]) -> String {
    format!("{} {}", missing.join(" and "), if missing.len() == 1 { "does" } else { "do" })
}

/// Says how often each group comes to a barrier.
fn uneven(found: Diagnostic, name: &str, comings: &Comings) -> Diagnostic {
    let times = |count: &u32| match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    };
    let each = |(group, count): &(String, u32)| format!("{group} comes {}", times(count));
    let each: Vec<String> = comings.iter().map(each).collect();
    found.note(format!("{} to `{name}`", each.join(", "))).help(format!(
        "every role that names `{name}` comes to it equally often: in loops of as many rounds, under the same conditions"
    ))
}
