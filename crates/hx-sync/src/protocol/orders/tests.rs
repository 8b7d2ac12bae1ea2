//! The machine and all orders agree.

use proptest::prelude::*;

use super::super::tests::{Parsed, check_of, parse, rings, without_each};
use super::all_orders;

/// The most states of a launch.
const LIMIT: usize = 8_000;

fn orders(parsed: &Parsed) -> super::Orders {
    all_orders(&parsed.protocol, &parsed.launchable, LIMIT, &|| ())
}

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
    expect_test::expect!["Orders { launches: 5, states: 581, wrong: None, cut: false }"]
        .assert_eq(&format!("{found:?}"));
}

/// The roles of a block come to the barrier of the cluster at the end, each with its own scope. The groups of a role that fills stages
/// are never late for one.
#[test]
fn roles_of_two_blocks_end_together() {
    let text = "\
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
    let found = orders(&parse(text));
    assert_eq!((found.wrong, found.launches > 0), (None, true), "{}", found.states);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Without one of its operations, a ring is wrong in some order exactly if the machine says so.
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
        if !found.cut {
            let machine = check_of(&changed);
            prop_assert_eq!(found.wrong.is_some(), !machine.faults.is_empty(), "{}\n{:?}\n{:?}", text, found, machine);
        }
    }
}
