//! Diagnostics about barriers of several roles.

use hx_base::{Diagnostic, Edit, TextRange, codes};
use hx_sync::protocol::{Comings, Joint};
use hx_tile::OpId;

use super::super::sync::{lines_before, statement_of};
use super::{Teller, lines_after};

impl Teller<'_> {
    fn barrier(self, barrier: u32) -> String {
        self.lowered.program.named_barriers[barrier as usize].word.clone()
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

    /// Returns the edits that make a barrier before the roles and let both roles come to it, with their title; `None` if one of the places
    /// is not in the kernel's own text.
    pub(super) fn joins(
        self,
        [earlier, later]: [OpId; 2],
        outside: [bool; 2],
        joint: Joint,
    ) -> Option<(String, Vec<Edit>)> {
        let Teller { places, lowered } = self;
        let statement = |op: OpId, outside: bool| {
            let stmt = statement_of(places, lowered, op)?;
            if outside { places.statement_around(stmt) } else { Some(stmt) }
        };
        let (first, second) = (statement(earlier, outside[0])?, statement(later, outside[1])?);
        let mut roles: TextRange = first;
        while let Some(around) = places.statement_around(roles) {
            roles = around;
        }
        let name = self.new_name()?;
        let call = format!("{name}.sync()");
        let mut edits = vec![lines_before(places, roles, &[format!("let {name} = barrier()")])?];
        let scope = |op: OpId| lowered.program.op(op).map(|op| op.scope);
        let alone = scope(earlier) == scope(later);
        let [behind_first, before, behind] = joint.times().map(|times| vec![call.clone(); times]);
        if !alone {
            edits.push(lines_after(places, first, &behind_first)?);
        }
        if !before.is_empty() {
            edits.push(lines_before(places, second, &before)?);
        }
        if !behind.is_empty() {
            edits.push(lines_after(places, second, &behind)?);
        }
        let who = if alone { "all groups" } else { "both roles" };
        Some((format!("insert `let {name} = barrier()`, and `{call}` in {who}"), edits))
    }

    /// Returns a name for a barrier that the file does not mention.
    fn new_name(self) -> Option<String> {
        let text = self.places.kernel().0.text(self.places.db);
        let word = |c: char| !(c.is_alphanumeric() || c == '_');
        let taken = |name: &String| text.split(word).any(|found| found == name);
        let numbered = (2..100).map(|n| format!("ready_{n}"));
        std::iter::once("ready".to_owned()).chain(numbered).find(|name| !taken(name))
    }
}

fn do_not(missing: &[String]) -> String {
    format!("{} {}", missing.join(" and "), if missing.len() == 1 { "does" } else { "do" })
}

/// Says how often each group comes to a barrier.
fn uneven(found: Diagnostic, name: &str, comings: &Comings) -> Diagnostic {
    let each = |(group, count): &(String, u32)| match count {
        1 => format!("{group} comes once"),
        n => format!("{group} comes {n} times"),
    };
    let each: Vec<String> = comings.iter().map(each).collect();
    let each = each.join(", ");
    found.note(format!("at `{name}`: {each}")).help(format!(
        "every role that names `{name}` comes to it equally often: in loops of as many rounds, under the same conditions"
    ))
}
