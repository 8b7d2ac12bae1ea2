//! The protocol machine: decides deadlock and order of pipelines, turns and asynchronous operations.
//!
//! A [`Protocol`] says what the groups of a block do to pipelines, turns, shared memory and asynchronous operations, and
//! nothing about elements. The groups, the copies that fill stages, the products and the stores are agents. All waits block
//! on counters that only grow, and no statement branches on an arrival. So the same things happen in every order of the
//! agents: one run decides deadlock, and vector clocks decide which accesses are ordered, for given loop counts.
//!
//! `trials` chooses launches with interesting loop counts, `script` unrolls the statements of each group under a launch,
//! `machine` runs the scripts, and `coverage` records what no launch ran through. Every finding is real: a launch with these loop
//! counts and data shows it. Shared memory is compared by ranges of coordinates. Accesses of threads within one scope are left
//! to the trace, which knows the layouts.
//!
//! Start at [`check`].

mod accesses;
mod cases;
mod coverage;
mod drawn;
mod expansion;
mod faults;
mod knowledge;
mod launch;
mod machine;
mod orders;
mod periods;
mod program;
mod reach;
mod remedies;
mod script;
#[cfg(test)]
mod tests;
mod translate;
mod trials;

use std::collections::{BTreeMap, BTreeSet};

use hx_index::{Cond, Expr, Facts, Symbol};
use hx_tile::{OpId, TileProgram};

pub use coverage::{Open, Why};
pub use drawn::Drawn;
pub use faults::{
    Blocked, Cause, Comings, Fault, Fix, FixAt, FixWith, Joint, Kind, RaceAccess, Rounds, Want,
};
pub use launch::{Counts, LEVEL};
pub use orders::{Orders, Wrong, orders};
pub use program::{Act, Far, NamedBarrier, Operands, Pipe, Place, Protocol, Role, Stmt, Turns};
pub use translate::translate;

use coverage::Coverage;
use launch::Launch;

/// The facts about the launches of a protocol.
#[derive(Clone, Debug, Default)]
pub struct Launchable {
    pub facts: Facts,
    /// The conditions that a launch must satisfy.
    pub requires: Vec<Cond>,
    /// The number of blocks along each axis.
    pub grid: Vec<Expr>,
    /// Symbols that a launch computes from others.
    pub derived: Vec<(Symbol, Expr)>,
    /// Symbols whose values are given, like the number of multiprocessors.
    pub given: Vec<(Symbol, i64)>,
    /// The number of blocks of a cluster along each axis.
    pub cluster: Vec<i64>,
    /// The counters over which the protocol loops.
    pub drawn: Vec<Drawn>,
}

/// The result of [`check`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// In the order in which they are found, smallest launches first.
    pub faults: Vec<Fault>,
    /// The number of launches that were followed.
    pub launches: usize,
    /// The parts that no launch decided. If there are any, nothing is proven.
    pub open: Vec<Open>,
}

/// Checks the protocol of a program, if it has one.
pub fn verdict(tile: &TileProgram, poll: &dyn Fn()) -> Verdict {
    let translated = translate(tile);
    translated.map_or_else(Verdict::default, |(protocol, launchable)| check(&protocol, &launchable, poll))
}

/// Returns the dimensions on whose divisors it may depend whether the roles of a program agree: none if all roles have the same loops
/// and conditions.
pub fn lengths(tile: &TileProgram) -> BTreeSet<Symbol> {
    let translated = translate(tile).filter(|(protocol, _)| !trials::are_alike(protocol));
    let Some((protocol, launchable)) = translated else { return BTreeSet::new() };
    let mut lengths = trials::deciding(&protocol, &launchable);
    lengths.retain(|symbol| matches!(symbol, Symbol::Dim(_)));
    lengths
}

/// Returns the barriers among `barriers` that the protocol of a program does without, all together; all of them if the program
/// has no protocol, and none if the protocol has a fault or no launch was followed.
pub(crate) fn spare(tile: &TileProgram, barriers: Vec<OpId>, poll: &dyn Fn()) -> Vec<OpId> {
    if barriers.is_empty() {
        return barriers;
    }
    let Some((mut protocol, launchable)) = translate(tile) else { return barriers };
    let launches = trials::launches(&protocol, &launchable);
    let verdict = follow(&protocol, &launches, None, &|_| false, poll);
    // Without a checked launch, any barrier may be needed. A program with a fault may need a barrier for the fix.
    if verdict.launches == 0 || !verdict.faults.is_empty() {
        return Vec::new();
    }
    let mut spare = Vec::new();
    for barrier in barriers {
        let mut without = protocol.clone();
        without
            .bodies_mut(&mut |body| body.retain(|stmt| !matches!(stmt, Stmt::Act(op, _) if *op == barrier)));
        let verdict = follow(&without, &launches, None, &|_| true, poll);
        if verdict.launches > 0 && verdict.faults.is_empty() {
            protocol = without;
            spare.push(barrier);
        }
    }
    spare
}

/// Returns those of some pairs of operations of one scope that the protocol orders: in every launch that is followed, the threads that
/// make the later access know that all threads have made the earlier one, a write, because other scopes told them.
pub(crate) fn ordered(
    tile: &TileProgram,
    pairs: &BTreeSet<(OpId, OpId)>,
    poll: &dyn Fn(),
) -> BTreeSet<(OpId, OpId)> {
    match translate(tile).filter(|_| !pairs.is_empty()) {
        Some((protocol, launchable)) => ordered_in(&protocol, &launchable, pairs, poll),
        None => BTreeSet::new(),
    }
}

/// As [`ordered`], for a protocol.
fn ordered_in(
    protocol: &Protocol,
    launchable: &Launchable,
    pairs: &BTreeSet<(OpId, OpId)>,
    poll: &dyn Fn(),
) -> BTreeSet<(OpId, OpId)> {
    let (mut met, mut unordered) = (BTreeSet::new(), BTreeSet::new());
    for launch in followed(protocol, launchable, poll).1 {
        poll();
        let Ok(scripts) = script::scripts(protocol, &launch, &mut |_| {}) else { continue };
        machine::order(protocol, &scripts, pairs, [&mut met, &mut unordered]);
    }
    &met - &unordered
}

/// Follows a protocol under launches with few rounds of each loop. Returns the faults, each once, with a change of the program that
/// removes it if one was found. `poll` is called now and then, and may unwind.
pub fn check(protocol: &Protocol, launchable: &Launchable, poll: &dyn Fn()) -> Verdict {
    let (mut verdict, launches) = followed(protocol, launchable, poll);
    remedies::add(protocol, &launches, &mut verdict, poll);
    leave_out_consequences(&mut verdict.faults);
    verdict
}

/// Follows a protocol under launches that run through all of its statements, as far as some are found. Returns them, too.
fn followed(protocol: &Protocol, launchable: &Launchable, poll: &dyn Fn()) -> (Verdict, Vec<Launch>) {
    let mut launches = trials::launches(protocol, launchable);
    let mut coverage = Coverage::new(protocol, launchable);
    let mut verdict = follow(protocol, &launches, Some(&mut coverage), &|_| false, poll);
    let searches: [Further; 3] = [
        &|_| trials::uneven(protocol, launchable),
        &|coverage| trials::aimed(protocol, launchable, coverage),
        &|coverage| trials::more(protocol, launchable, coverage),
    ];
    for search in searches {
        let mut more = search(&mut coverage);
        more.retain(|launch| !launches.contains(launch));
        let found = follow(protocol, &more, Some(&mut coverage), &|_| false, poll);
        verdict.launches += found.launches;
        let known: BTreeSet<Key> = verdict.faults.iter().map(|fault| fault.kind.key()).collect();
        verdict.faults.extend(found.faults.into_iter().filter(|fault| !known.contains(&fault.kind.key())));
        launches.extend(more);
    }
    verdict.open = coverage.open();
    (verdict, launches)
}

/// Finds further launches for what the followed ones left open.
type Further<'a> = &'a dyn Fn(&mut Coverage) -> Vec<Launch>;

/// Returns the number of a statement: the protocol does not move while it is followed.
fn address(stmt: &Stmt) -> usize {
    std::ptr::from_ref(stmt) as usize
}

/// Leaves out the faults that follow from others.
fn leave_out_consequences(faults: &mut Vec<Fault>) {
    let pipes = |wanted: &dyn Fn(&Kind) -> Option<u32>| -> BTreeSet<u32> {
        faults.iter().filter_map(|fault| wanted(&fault.kind)).collect()
    };
    let crowded = pipes(&|kind| match kind {
        Kind::Crowded { pipe, .. } => Some(*pipe),
        _ => None,
    });
    let slips = pipes(&|kind| match kind {
        Kind::Slip { pipe, .. } | Kind::Crowded { pipe, .. } | Kind::Doubled { pipe, .. } => Some(*pipe),
        _ => None,
    });
    // A group that writes an operand of its own product in flight also races with the products of other groups. Report one of the two: the
    // race if it was found, because its fix contains the barrier, otherwise the write to the operand.
    let pairs = |wanted: &dyn Fn(&Kind) -> Option<(OpId, OpId)>| -> BTreeSet<(OpId, OpId)> {
        faults.iter().filter_map(|fault| wanted(&fault.kind)).collect()
    };
    let races = pairs(&|kind| match kind {
        Kind::Race { earlier, later, cause: Cause::Product, .. } => Some((earlier.op, later.op)),
        _ => None,
    });
    let in_flight = pairs(&|kind| match kind {
        Kind::InFlight { product, later, release: false, .. } => Some((*product, *later)),
        _ => None,
    });
    // Without the wait, a group does not know that its stage was filled or given back, and the block may end too early.
    let early = pipes(&|kind| match kind {
        Kind::Race { cause: Cause::BeforeWait, pipe, .. } => *pipe,
        _ => None,
    });
    let stuck = pipes(&|kind| match kind {
        Kind::Stuck(blocked) => blocked.first().and_then(|first| first.wants.pipe()),
        _ => None,
    });
    let misplaced: BTreeSet<OpId> = pairs(&|kind| match kind {
        Kind::Race { earlier, later, cause: Cause::AfterRelease(_), .. } => Some((earlier.op, later.op)),
        _ => None,
    })
    .into_iter()
    .flat_map(|(earlier, later)| [earlier, later])
    .collect();
    // Groups that do not take their turns race as a consequence.
    let repassed = faults.iter().any(|fault| matches!(fault.kind, Kind::Repassed { .. }));
    let hurried = pipes(&|kind| match kind {
        Kind::Hurried { barrier, .. } => Some(*barrier),
        _ => None,
    });
    // Roles that come to a barrier in different rounds do not order their accesses there.
    let astray = faults.iter().any(|fault| match &fault.kind {
        Kind::Stuck(blocked) => blocked.first().is_some_and(|first| matches!(first.wants, Want::All { .. })),
        _ => false,
    });
    let uneven =
        astray || faults.iter().any(|fault| matches!(fault.kind, Kind::Hurried { .. } | Kind::Unmet { .. }));
    let mut met = BTreeSet::new();
    let mut read = BTreeSet::new();
    faults.retain(|fault| match &fault.kind {
        // A group that waits for ever keeps others waiting, at other places in other launches. Wrong positions in a ring make
        // groups wait as well.
        Kind::Stuck(_) => slips.is_empty() && met.insert((0, 0)),
        Kind::Crowded { pipe, .. } => met.insert((1, *pipe)),
        Kind::Slip { pipe, .. } => !crowded.contains(pipe),
        Kind::Race { cause: Cause::BeforeRelease, pipe: Some(pipe), .. } => {
            !slips.contains(pipe) && !early.contains(pipe)
        }
        // One missing wait is reported once, whatever the number of operands.
        Kind::Race { earlier, later, cause: Cause::BeforeWait, pipe: Some(pipe), .. } => {
            read.insert((*pipe, RaceAccess::used(*earlier, *later).op))
        }
        Kind::Race { earlier, later, cause: Cause::NoBarrier, .. } => {
            let joins = fault.fix.as_ref().is_some_and(|fix| matches!(fix.at, FixAt::Join { .. }));
            (fault.fix.is_some() || !repassed && !in_flight.contains(&(later.op, earlier.op)))
                && !(uneven && (joins || fault.fix.is_none()))
        }
        // A product that reads another stage than the one waited for is also in flight when that stage is given back.
        Kind::InFlight { product, release: true, .. } if misplaced.contains(product) => false,
        Kind::InFlight { product, later, .. } => !races.contains(&(*product, *later)),
        // The copies into one stage are waited for together.
        Kind::Unwaited { pipe, .. } => {
            !early.contains(pipe) && !stuck.contains(pipe) && met.insert((2, *pipe))
        }
        // A group that comes too early makes the rounds uneven.
        Kind::Unmet { barrier, .. } => !astray && !hurried.contains(barrier) && met.insert((3, *barrier)),
        Kind::Hurried { .. }
        | Kind::Repassed { .. }
        | Kind::Doubled { .. }
        | Kind::Race { .. }
        | Kind::Unequal { .. }
        | Kind::Divided { .. }
        | Kind::Unstored { .. }
        | Kind::Gone { .. } => true,
    });
}

/// Follows a protocol under each launch, up to the first that shows a fault which `enough` accepts. Faults are reported for the
/// first launch that shows them.
fn follow(
    protocol: &Protocol,
    launches: &[Launch],
    mut coverage: Option<&mut Coverage>,
    enough: &dyn Fn(&Kind) -> bool,
    poll: &dyn Fn(),
) -> Verdict {
    let mut verdict = Verdict::default();
    let mut met = BTreeSet::new();
    let mut bytes = BTreeMap::new();
    for launch in launches {
        poll();
        let scripts = script::scripts(protocol, launch, &mut |sight| {
            if let Some(coverage) = &mut coverage {
                coverage.see(sight);
            }
        });
        if let Some(coverage) = &mut coverage {
            coverage.launch(scripts.as_ref().err().cloned());
        }
        let Ok(scripts) = scripts else { continue };
        verdict.launches += 1;
        let unequal = machine::unequal(protocol, &scripts, &mut bytes);
        let stuck_by_bytes = unequal.is_some();
        let ran = machine::run(protocol, &scripts, &mut |ready| ready[0]);
        if let Some(coverage) = &mut coverage {
            coverage.undecided(ran.undecided);
        }
        let mut done = false;
        for kind in unequal.into_iter().chain(ran.faults) {
            // A stage that is filled with too few bytes also blocks its readers: report only the cause.
            let follows = stuck_by_bytes && matches!(kind, Kind::Stuck(_));
            if !follows && met.insert(kind.key()) {
                done |= enough(&kind);
                verdict.faults.push(Fault { kind, counts: launch.counts.clone(), fix: None, others: 0 });
            }
        }
        if done {
            break;
        }
    }
    verdict
}

/// The number of a fault's kind, and the operations that identify the fault in different launches.
pub(crate) type Key = (u8, Vec<OpId>);
