//! The machine and all orders agree.

use proptest::prelude::*;

use super::super::tests::joined::{BOTH, SPLIT};
use super::super::tests::kernels::{ATTENTION, COOPERATIVE, PING_PONG};
use super::super::tests::{Parsed, check_of, parse, rings, without_each};
use super::{Follow, all_orders};

/// The most states of a launch.
const LIMIT: usize = 8_000;

fn orders(parsed: &Parsed) -> super::Orders {
    all_orders(&parsed.protocol, &parsed.launchable, (LIMIT, Follow::Needed), &|| ())
}

const CLUSTER: &str = "\
cluster 2
pipe p 2
role load 2 {
    for k in K {
        acquire p
        fill s[p] 16
    }
    sync_cluster
}
role use {
    for k in K {
        wait p
        read s[p]
        release p
    }
    sync_cluster
}
";

#[test]
fn a_ring_is_followed_in_all_orders() {
    let text = "\
pipe p 2
role load {
    for k in K {
        acquire p
        fill s[p] 16
    }
}
role use 2 {
    for k in K {
        wait p
        read s[p]
        release p
    }
}
";
    let found = orders(&parse(text));
    expect_test::expect!["Orders { launches: 5, states: 95, wrong: None, cut: false }"]
        .assert_eq(&format!("{found:?}"));
}

/// The roles of a block come to the barrier of the cluster at the end, each with its own scope. The groups of a role that fills stages
/// are never late for one.
#[test]
fn roles_of_two_blocks_end_together() {
    let found = orders(&parse(CLUSTER));
    assert_eq!((found.wrong, found.launches > 0), (None, true), "{}", found.states);
}

/// A kernel without one of its operations is wrong in some order exactly if it is wrong in some order of the persistent sets.
#[test]
fn orders_that_are_left_out_are_like_others() {
    let mut compared = 0;
    for text in [COOPERATIVE, PING_PONG, ATTENTION, CLUSTER, BOTH, SPLIT] {
        let parsed = parse(&text.replace("pipe p 4", "pipe p 2"));
        let found = all_orders(&parsed.protocol, &parsed.launchable, (LIMIT, Follow::Needed), &|| ());

        assert_eq!((found.wrong, found.cut), (None, false), "{text}");
        for changed in without_each(&parsed) {
            let with = |which| all_orders(&changed.protocol, &changed.launchable, (LIMIT, which), &|| ());
            let (needed, all) = (with(Follow::Needed), with(Follow::All));
            if !all.cut || all.wrong.is_some() {
                assert_eq!(needed.wrong.is_some(), all.wrong.is_some(), "{text}\n{needed:?}\n{all:?}");
                compared += 1;
            }
        }
    }

    assert!(compared > 20, "{compared}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// A ring without one of its operations is wrong in some order exactly if the machine finds a fault, and exactly if it is
    /// wrong in some order of the persistent sets.
    #[test]
    fn the_machine_says_of_one_order_what_all_orders_show(text in rings(), which in 0usize..16) {
        let parsed = parse(&text);
        prop_assert!(orders(&parsed).wrong.is_none(), "{text}\n{:?}", orders(&parsed));
        let mut changed = without_each(&parsed);
        if changed.is_empty() {
            return Ok(());
        }
        let changed = changed.swap_remove(which % changed.len());
        let found = orders(&changed);
        let all = all_orders(&changed.protocol, &changed.launchable, (LIMIT, Follow::All), &|| ());
        if !all.cut {
            let kind = |found: &super::Orders| found.wrong.as_ref().map(std::mem::discriminant);
            prop_assert_eq!(kind(&found).is_some(), kind(&all).is_some(), "{}\n{:?}\n{:?}", text, found, all);
            prop_assert!(found.states <= all.states);
        }
        if !found.cut {
            let machine = check_of(&changed);
            prop_assert_eq!(found.wrong.is_some(), !machine.faults.is_empty(), "{}\n{:?}\n{:?}", text, found, machine);
        }
    }
}
