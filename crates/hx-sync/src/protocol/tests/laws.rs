//! Laws of the machine, for random rings and random orders of the groups.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::{Act, Kind, Protocol, Stmt, machine, script, trials};
use super::kernels::{ATTENTION, COOPERATIVE, PING_PONG};
use super::text::{Parsed, parse};
use super::{shown, verdict};

/// A ring through which a role hands stages to groups that share them or own them, with constant loop counts.
#[derive(Debug, Clone)]
struct Ring {
    stages: u32,
    groups: u32,
    each: bool,
    rounds: u32,
    asynchronous: bool,
    /// Whether the threads of the role write the stages, in place of copies.
    published: bool,
}

impl Ring {
    fn text(&self) -> String {
        let Ring { stages, groups, rounds, .. } = self;
        let fill = if self.published { "write s[p]\npublish p" } else { "fill s[p] 16" };
        let role = if self.each { format!("each use {groups} g") } else { format!("role use {groups}") };
        let multiply = match self.asynchronous {
            true => "gemm_async acc, s[p]\ngemm_wait 1\nrelease_previous p\n}\ngemm_wait 0\nrelease p",
            false => "read s[p]\nrelease p\n}",
        };
        format!(
            "pipe p {stages}\nrole load {{\nfor w in R {{\nfor k in {rounds} {{\nacquire p\n{fill}\n}}\n}}\n}}\n\
             {role} {{\nfor w in R {{\nfor k in {rounds} {{\nwait p\n{multiply}\nuse acc\n}}\n}}\n"
        )
    }
}

fn ring() -> impl Strategy<Value = Ring> {
    (1u32..6, 1u32..4, any::<bool>(), 1u32..7, any::<bool>(), any::<bool>()).prop_map(
        |(stages, groups, each, rounds, asynchronous, published)| Ring {
            // A product that is left in flight holds a stage while the next one is waited for.
            stages: stages + u32::from(asynchronous),
            groups,
            each,
            rounds,
            asynchronous,
            published,
        },
    )
}

/// Draws the text of a right ring.
pub(in crate::protocol) fn rings() -> impl Strategy<Value = String> {
    ring().prop_map(|ring| ring.text())
}

/// Returns one variant of the protocol for each of its operations that order others: the protocol without that operation.
pub(in crate::protocol) fn without_each(parsed: &Parsed) -> Vec<Parsed> {
    let orders = |act: &Act| {
        !matches!(act, Act::Fill { .. } | Act::Touch { .. } | Act::Access { .. } | Act::Multiply(_))
    };
    let changed = without(&parsed.protocol, &orders).into_iter();
    let (launchable, lines) = (&parsed.launchable, &parsed.lines);
    changed
        .map(|(_, protocol)| Parsed { protocol, launchable: launchable.clone(), lines: lines.clone() })
        .collect()
}

/// Returns, for each act that `wanted` accepts, its operation and the protocol without that operation.
fn without(protocol: &Protocol, wanted: &dyn Fn(&Act) -> bool) -> Vec<(hx_tile::OpId, Protocol)> {
    let mut ops = Vec::new();
    protocol.visit(&mut |stmt| match stmt {
        Stmt::Act(op, act) if wanted(act) => ops.push(*op),
        _ => {}
    });
    let remove = |op| {
        let mut changed = protocol.clone();
        changed.bodies_mut(&mut |body| body.retain(|stmt| !matches!(stmt, Stmt::Act(of, _) if *of == op)));
        (op, changed)
    };
    ops.into_iter().map(remove).collect()
}

/// Returns what goes wrong in each launch if the groups step in the order that `choose` gives: whether they all come to their
/// ends, and the pairs of operations.
fn outcome(parsed: &Parsed, choose: &mut dyn FnMut(&[usize]) -> usize) -> Vec<(bool, BTreeSet<Vec<u32>>)> {
    let launches = trials::launches(&parsed.protocol, &parsed.launchable);
    let mut outcomes = Vec::new();
    for launch in &launches {
        let Ok(scripts) = script::scripts(&parsed.protocol, launch, &mut |_| ()) else { continue };
        let kinds = machine::run(&parsed.protocol, &scripts, choose).faults;
        let ends = !kinds.iter().any(|kind| matches!(kind, Kind::Stuck(_)));
        let wrong = kinds.iter().filter(|kind| !matches!(kind, Kind::Stuck(_))).map(Kind::key);
        let places = wrong.map(|(_, ops)| ops.iter().map(|op| op.0).collect()).collect();
        outcomes.push((ends, places));
    }
    outcomes
}

/// Drops the pairs: which of several races is met first depends on the order, but not whether there is one.
fn verdicts(outcomes: &[(bool, BTreeSet<Vec<u32>>)]) -> Vec<(bool, bool)> {
    outcomes.iter().map(|(ends, wrong)| (*ends, wrong.is_empty())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_right_ring_is_clean(ring in ring()) {
        let parsed = parse(&ring.text());
        let found = verdict(&parsed);
        prop_assert!(found.faults.is_empty(), "{}\n{}", ring.text(), shown(&parsed, &found));
    }

    #[test]
    fn a_missing_wait_or_release_is_found(ring in ring()) {
        let Parsed { protocol, launchable, lines } = parse(&ring.text());
        let wanted = |act: &Act| matches!(act, Act::Wait { .. } | Act::Acquire { .. } | Act::Release { .. });
        for (op, protocol) in without(&protocol, &wanted) {
            // With more than one stage, the wait of the next tile gives back the last stage of this one. A tile that fits the
            // ring can give back its stages together.
            let line = lines[op.0 as usize - 1].as_str();
            let fits = line == "release_previous p" && ring.rounds <= ring.stages;
            let kept = ring.asynchronous && (fits || line == "release p" && ring.stages > 1);
            let parsed = Parsed { protocol, launchable: launchable.clone(), lines: lines.clone() };
            let found = verdict(&parsed);
            prop_assert!(kept || !found.faults.is_empty(), "line {} of\n{}", op.0, ring.text());
        }
    }

    #[test]
    fn every_order_of_the_groups_gives_the_same_verdict(seed in any::<u64>(), ring in ring()) {
        let rings = ring.text();
        for text in [rings.as_str(), COOPERATIVE, PING_PONG, ATTENTION] {
            let parsed = parse(text);
            let drops = |act: &Act| !matches!(act, Act::Fill { .. } | Act::Touch { .. } | Act::Access { .. });
            let mut changed = without(&parsed.protocol, &drops);
            let which = seed as usize % (changed.len() + 1);
            let protocol = changed.drain(..).nth(which).map_or(parsed.protocol, |(_, changed)| changed);
            let parsed = Parsed { protocol, ..parsed };
            let mut state = seed | 1;
            let mut random = |ready: &[usize]| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ready[(state >> 33) as usize % ready.len()]
            };
            let usual = outcome(&parsed, &mut |ready| ready[0]);
            let other = outcome(&parsed, &mut random);
            prop_assert_eq!(verdicts(&usual), verdicts(&other), "{}", text);
        }
    }
}

/// In the kernels of `kernels`, every operation that orders others is needed, except those that the expectation lists.
#[test]
fn nothing_can_be_left_out_of_the_kernels() {
    let mut spare = String::new();
    for (name, text) in [("cooperative", COOPERATIVE), ("ping-pong", PING_PONG), ("attention", ATTENTION)] {
        let Parsed { protocol, launchable, lines } = parse(text);
        let moves = |act: &Act| match act {
            Act::Fill { .. } | Act::Touch { .. } | Act::Access { .. } | Act::Store { .. } => true,
            act => matches!(act, Act::Multiply(_)),
        };
        let wanted = |act: &Act| !moves(act);
        for (op, protocol) in without(&protocol, &wanted) {
            let parsed = Parsed { protocol, launchable: launchable.clone(), lines: lines.clone() };
            if verdict(&parsed).faults.is_empty() {
                spare += &format!("{name}: {} `{}`\n", op.0, lines[op.0 as usize - 1]);
            }
        }
    }
    expect_test::expect![[r#"
        cooperative: 20 `release p`
    "#]]
    .assert_eq(&spare);
}
