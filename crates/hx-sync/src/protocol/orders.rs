//! Runs a launch in every order of its events: acquires, arrivals of copies, waits, releases, turns and barriers.
//!
//! The protocol machine runs a launch in one order and concludes the others from vector clocks. This module concludes less: it visits the
//! states that the groups can reach, and leaves out only orders of events that do not matter to each other (`persistent.rs`). Barriers are
//! modelled as the hardware has them, with the parity of a phase, and shared memory holds the name of the last operation that wrote each
//! part of a tensor. A launch is right if all orders come to their ends, no operation writes what another one in flight uses, and every
//! read finds the same writer in all orders.
//!
//! This search takes too long for an editor. The mutation tests compare the verdict of the machine with it.
//!
//! The module shares only the scripts with the machine. Accesses of threads of one scope to each other's elements are not
//! compared: layouts decide them.

mod memory;
mod persistent;
mod state;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use hx_tile::{OpId, TileProgram};

use self::memory::Writer;
use self::persistent::Effects;
use self::state::State;
use self::table::Table;
use super::launch::Launch;
use super::script::Script;
use super::{Act, Launchable, Protocol, Stmt, script, translate, trials};

/// The result of [`orders`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// The number of launches that were followed in all orders.
    pub launches: usize,
    /// The number of different states of all launches.
    pub states: usize,
    /// The first fault that some order of some launch shows; `None` if none does.
    pub wrong: Option<Wrong>,
    /// Whether a launch had more states than the limit, or no launch could be followed.
    pub cut: bool,
}

/// An error that some order of events shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Groups wait for ever, at these operations.
    Stuck(Vec<OpId>),
    /// An operation uses a part of a tensor while another one writes it, or writes what another one uses.
    Race { earlier: OpId, later: OpId },
    /// A read finds different data in different orders.
    Unsteady { read: OpId },
    /// A block ends before a copy into its memory arrives.
    Outlived { copy: OpId },
}

/// Follows launches of a program in all orders: one in which every loop over a ring has at least two rounds more than the ring
/// has stages, and smaller ones. Visits at most `limit` states of each. Returns `None` for a program without a protocol.
pub fn orders(tile: &TileProgram, limit: usize, poll: &dyn Fn()) -> Option<Orders> {
    let (protocol, launchable) = translate(tile)?;
    Some(all_orders(&protocol, &launchable, (limit, Follow::Needed), poll))
}

/// The events of a state that are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// A persistent set.
    Needed,
    /// All of them, which the tests compare with.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare with it"))]
    All,
}

pub(crate) fn all_orders(
    protocol: &Protocol,
    launchable: &Launchable,
    limit: (usize, Follow),
    poll: &dyn Fn(),
) -> Orders {
    // A launch in which a loop over data does not end has no scripts.
    let scripts = |launch: &Launch| script::scripts(protocol, launch, &mut |_| ()).ok();
    let mut launches = trials::launches(protocol, launchable);
    launches.retain(|launch| scripts(launch).is_some());
    let launches = chosen(protocol, launches);
    let mut orders = Orders { launches: 0, states: 0, wrong: None, cut: launches.is_empty() };
    for scripts in launches.iter().filter_map(scripts) {
        let found = follow(protocol, &scripts, limit, poll);
        orders.launches += 1;
        orders.states += found.states;
        orders.cut |= found.cut;
        orders.wrong = orders.wrong.or(found.wrong);
        if orders.wrong.is_some() {
            break;
        }
    }
    orders
}

/// The most launches that are followed, besides the large one.
const SMALL: usize = 4;

/// Returns the smallest launch whose loops all have enough rounds, behind a few smaller ones.
fn chosen(protocol: &Protocol, launches: Vec<Launch>) -> Vec<Launch> {
    let mut rings = 1;
    protocol.visit(&mut |stmt| {
        if let Stmt::Act(_, Act::Acquire { pipe, .. }) = stmt {
            rings = rings.max(i64::from(protocol.pipes[*pipe as usize].stages));
        }
    });
    // A loop whose count never reaches the wanted number of rounds must not exclude every launch: its largest count suffices.
    let mut most: BTreeMap<&String, i64> = BTreeMap::new();
    for (count, value) in launches.iter().flat_map(|launch| &launch.counts) {
        most.entry(count).and_modify(|most| *most = (*most).max(*value)).or_insert(*value);
    }
    let is_large = |launch: &&Launch| {
        let enough = |(count, value): &(String, i64)| *value >= most[count].min(rings + 2);
        launch.counts.iter().all(enough)
    };
    let size = |launch: &&Launch| launch.counts.iter().map(|(_, value)| *value).sum::<i64>();
    let large = launches.iter().filter(is_large).min_by_key(size);
    let rounds = |launch: &&Launch| launch.counts.iter().all(|(_, value)| *value <= 3);
    let small = launches.iter().filter(rounds).take(SMALL);
    small.chain(large).cloned().collect()
}

struct Found {
    states: usize,
    wrong: Option<Wrong>,
    cut: bool,
}

/// Visits the states of a launch, depth first.
fn follow(
    protocol: &Protocol,
    scripts: &[Script],
    (limit, which): (usize, Follow),
    poll: &dyn Fn(),
) -> Found {
    let table = Table::new(protocol, scripts);
    let effects = Effects::new(&table);
    let mut met: HashSet<u128> = HashSet::new();
    let mut reads: BTreeMap<(usize, usize, usize), Vec<Writer>> = BTreeMap::new();
    let mut open = vec![State::new(&table)];
    let mut found = Found { states: 0, wrong: None, cut: false };
    while let Some(mut state) = open.pop() {
        if let Err(wrong) = state.run_alone(&table, &mut reads) {
            found.wrong = Some(wrong);
            return found;
        }
        if !met.insert(mark(&state)) {
            continue;
        }
        found.states += 1;
        if found.states.is_multiple_of(256) {
            poll();
        }
        if found.states > limit {
            found.cut = true;
            return found;
        }
        if let Some(copy) = state.outlives(&table) {
            found.wrong = Some(Wrong::Outlived { copy });
            return found;
        }
        let events = state.events(&table);
        if events.is_empty() && !state.is_ended(&table) {
            found.wrong = Some(Wrong::Stuck(state.waiting(&table)));
            return found;
        }
        let needed = match which {
            Follow::Needed => effects.persistent(&state, &table, &events),
            Follow::All => events,
        };
        for event in &needed {
            let mut next = state.clone();
            if let Err(wrong) = next.apply(&table, *event, &mut reads) {
                found.wrong = Some(wrong);
                return found;
            }
            open.push(next);
        }
    }
    found
}

/// Returns a number that stands for a state: a state has thousands of bytes, and a launch has millions of states. Two states of a
/// launch have the same number with a probability below 10⁻²⁰.
fn mark(state: &State) -> u128 {
    let half = |first: u8| {
        let mut hasher = DefaultHasher::new();
        (first, state).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
