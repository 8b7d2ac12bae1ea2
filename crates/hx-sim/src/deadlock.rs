//! The report of a deadlock: the agents that wait, and the event that each waits for, as text.

use hx_dtype::DType;
use hx_thread::BarrierKind;
use hx_tile::Origin;

use crate::block::Block;
use crate::block::agent::Agent;
use crate::block::polling::{Polled, Spot};
use crate::block::waiting::{NamedBarrier, Until, Waiting};
use crate::cast::number_of_bits;
use crate::code::{Mem, SiteId};
use crate::error::{Blocked, Fault, LeftOut, SimError};

impl Block<'_> {
    /// Fails with [`Fault::Deadlock`] if an agent has not ended. To be called when no agent can go on.
    pub(crate) fn expect_ended(&self) -> Result<(), SimError> {
        let blocked = self.blocked(None);
        match blocked.first() {
            None => Ok(()),
            Some((site, _)) => Err(self.error_of(*site, None, deadlock(blocked, None))),
        }
    }

    /// Returns the waits of the agents that are left, each with its operation. None of them can go on. `index` is the block's if blocks
    /// run together.
    pub(crate) fn blocked(&self, index: Option<[u32; 3]>) -> Vec<(SiteId, Blocked)> {
        let agents = self.parked.iter().chain([&self.agent]);
        let mut left: Vec<&Agent<'_>> = agents.filter(|a| !a.has_ended()).collect();
        left.sort_by_key(|agent| agent.number);
        // The agent of the block waits for those of the roles, which are the cause.
        left.retain(|agent| agent.waiting.as_ref().is_some_and(|w| w.until != Until::Others));
        let first_of = |agent: &Agent<'_>| self.code.own(agent.first as u32);
        let blocked = |threads: [u32; 2], waiting: &Waiting| {
            let site = &self.code.sites[waiting.site as usize];
            let blocked = Blocked {
                threads,
                block: index,
                event: match &waiting.until {
                    until @ Until::Change(_) => format!("{}, which nobody will do", self.event(until)),
                    until => self.event(until),
                },
                last: self.last_arrival(&waiting.until),
                op: site.op,
                origin: site.origin,
                title: site.title.clone(),
            };
            (waiting.site, blocked)
        };
        let all = left.iter().flat_map(|agent| {
            let first = first_of(agent);
            let waiting = agent.waiting.as_ref();
            let own = waiting.map(|waiting| blocked([first, first + agent.threads as u32], waiting));
            // If the agent waits for its draw, the thread that draws is one of those.
            let draw = self.draw_of(agent).filter(|draw| Some(draw) != waiting);
            let warps = first + (agent.warps() as u32 - 1) * self.code.target.limits.lanes;
            own.into_iter().chain(draw.map(|draw| blocked([warps, warps + 1], &draw)))
        });
        all.collect()
    }

    /// Returns an event as text that follows "wait for".
    pub(crate) fn event(&self, until: &Until) -> String {
        match until {
            Until::Others => "the roles".to_owned(),
            Until::Named(id) => {
                let NamedBarrier { arrived, wanted, .. } = &self.named[*id];
                let name = self.code.named.get(&(*id as u32));
                let name =
                    name.map_or_else(|| format!("barrier {id}"), |name| format!("the barrier `{name}`"));
                format!("{} of the {wanted} threads of {name}", wanted - arrived)
            }
            Until::Phase { barrier, stage, .. }
            | Until::Ticket { barrier, stage, .. }
            | Until::Drawn { barrier, stage } => self.phase_text(*barrier, *stage),
            Until::Change(polled) => self.change_text(polled),
        }
    }

    /// Returns the event of a wait for a phase, as text that follows "wait for".
    pub(crate) fn phase_text(&self, barrier: usize, stage: usize) -> String {
        let hx_thread::Barrier { kind, pipe, count, sums, .. } = &self.code.barriers[barrier];
        let phase = &self.phases.barriers[barrier][stage];
        let pending = phase.pending();
        let missing = match (pending, phase.bytes()) {
            (0, bytes) => format!("{bytes} bytes are missing"),
            _ => format!("{pending} of {count} arrivals are missing"),
        };
        if *sums {
            return match kind {
                BarrierKind::Full => format!("the elements of other blocks ({missing})"),
                BarrierKind::Empty => format!("another block to read its elements ({missing})"),
            };
        }
        let event = match (self.code.counter_of(barrier), kind) {
            (None, BarrierKind::Full) => format!("the copies into stage {stage}"),
            (None, BarrierKind::Empty) => format!("the release of stage {stage}"),
            (Some(_), BarrierKind::Full) => format!("the number in ticket {stage}"),
            (Some(_), BarrierKind::Empty) => format!("the scopes that read ticket {stage}"),
        };
        format!("{event} of `{pipe}` ({missing})")
    }

    /// Returns the place of the last operation that arrived for an event, or wrote the element that a loop polls, with a label.
    /// If nothing has arrived, it is the place where the pipeline was made. `None` if the operation has no place, and for other
    /// events.
    pub(crate) fn last_arrival(&self, until: &Until) -> Option<(Origin, &'static str)> {
        if let Until::Change(polled) = until {
            let site = &self.code.sites[self.change_site(polled)? as usize];
            return Some((site.origin?, "it was written last here"));
        }
        let (Until::Phase { barrier, stage, .. }
        | Until::Ticket { barrier, stage, .. }
        | Until::Drawn { barrier, stage }) = until
        else {
            return None;
        };
        let last = self.phases.last[*barrier][*stage];
        match last {
            Some(site) => Some((self.code.sites[site as usize].origin?, "the last arrival for it is here")),
            None => {
                let what = match self.code.counter_of(*barrier) {
                    None => "nothing has arrived at this pipeline for it",
                    Some(_) => "nobody has drawn from this counter or read its number",
                };
                Some((self.code.barriers[*barrier].origin, what))
            }
        }
    }

    /// Returns the change that a loop waits for, as text that follows "wait for".
    pub(crate) fn change_text(&self, polled: &Polled) -> String {
        let Some(spot) = reported_spot(polled) else { return "memory to change".to_owned() };
        let (name, element, coordinate) = match spot.memory {
            Mem::Shared(s) => {
                let shared = &self.code.shared[s];
                let element = spot.at.saturating_sub(shared.offset) * 8 / shared.bits;
                (&shared.name, element as i64, None)
            }
            Mem::Global(p) => match &self.tensors[p] {
                None => return "memory to change".to_owned(),
                Some(tensor) => {
                    let element = tensor.element_of(spot.at);
                    (&tensor.name, element, tensor.coordinate(element))
                }
            },
        };
        let coordinate = coordinate.map_or(String::new(), |at| format!(" ({at:?})"));
        let bits = shown(spot.bits, spot.dtype);
        format!("element {element}{coordinate} of `{name}` to change from {bits}")
    }

    /// Returns the operation that last wrote the element that a loop waits for; `None` if that is not known.
    pub(crate) fn change_site(&self, polled: &Polled) -> Option<SiteId> {
        let spot = reported_spot(polled)?;
        let Mem::Global(p) = spot.memory else { return None };
        Some(self.world.as_ref()?.last_writer((p, spot.at))?.0)
    }
}

/// Returns the fault of agents that wait for ever.
pub(crate) fn deadlock(blocked: Vec<(SiteId, Blocked)>, left_out: Option<LeftOut>) -> Fault {
    Fault::Deadlock { blocked: blocked.into_iter().map(|(_, blocked)| blocked).collect(), left_out }
}

/// Returns the element that a report names: the last one that was read atomically, or else the last one; `None` if the list is
/// empty.
fn reported_spot(polled: &Polled) -> Option<&Spot> {
    let mut spots = polled.spots.iter().rev();
    spots.clone().find(|spot| spot.is_atomic).or_else(|| spots.next())
}

/// Formats the bits of an element as a decimal number.
pub(crate) fn shown(bits: u64, dtype: DType) -> String {
    if dtype.is_float() {
        return dtype.decode(bits).to_string();
    }
    number_of_bits(bits, dtype).to_string()
}
