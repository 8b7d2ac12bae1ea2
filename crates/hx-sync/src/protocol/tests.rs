//! Protocols as text, and what the machine says of them.
//!
//! ```text
//! pipe p 4 readers 1      a ring of 4 stages
//! turns t
//! barrier b             of all roles that have `sync b` or `arrive b`
//! counter c T            hands out the numbers of 0..T; after `cluster`
//! cluster 2
//! role load { … }         one group; `role use 2` has two groups that are one scope
//! each use 2 g { … }      two groups that are scopes of their own; `g` is their number
//! block 2 { … }           what all groups do before their roles
//! ```
//!
//! A statement fills a line; its line is its operation. `s[p]` is the stage of a shared tensor that the pipe `p` gave last,
//! `s[e]` the stage `e`, `s` the whole tensor, `%r` a register tensor. Names that nothing defines are dimensions of the launch.

mod drawn;
mod faults;
mod handing_on;
pub(super) mod joined;
pub(super) mod kernels;
mod laws;
mod text;
mod tiles;

use expect_test::Expect;

use super::{Fault, FixAt, FixWith, Kind, Verdict, Want, check};
pub(in crate::protocol) use laws::{rings, without_each};
pub(in crate::protocol) use text::{Parsed, parse};

/// Checks a protocol and compares the findings.
fn check_text(text: &str, want: Expect) {
    want.assert_eq(&text_of(text));
}

/// Returns the findings of a protocol as text.
fn text_of(text: &str) -> String {
    let parsed = parse(text);
    shown(&parsed, &verdict(&parsed))
}

/// Checks a protocol, also one of which no launch can be followed.
pub(in crate::protocol) fn check_of(parsed: &Parsed) -> Verdict {
    check(&parsed.protocol, &parsed.launchable, &|| ())
}

fn verdict(parsed: &Parsed) -> Verdict {
    let verdict = check(&parsed.protocol, &parsed.launchable, &|| ());
    assert!(verdict.launches > 0, "no launch was followed");
    verdict
}

/// Formats the faults, one after the other.
fn shown(parsed: &Parsed, verdict: &Verdict) -> String {
    verdict.faults.iter().map(|fault| one(parsed, fault)).collect()
}

fn one(parsed: &Parsed, fault: &Fault) -> String {
    let line = |op: hx_tile::OpId| format!("{} `{}`", op.0, parsed.lines[op.0 as usize - 1]);
    let pipe = |pipe: u32| &parsed.protocol.pipes[pipe as usize].name;
    let turns = |turns: u32| &parsed.protocol.turns[turns as usize].name;
    let mut out = match &fault.kind {
        Kind::Stuck(blocked) => {
            let one = |blocked: &super::Blocked| {
                let wants = match &blocked.wants {
                    Want::Release { pipe: p, readers, given, needed, .. } => {
                        let by = if readers.is_empty() { "nobody".to_owned() } else { readers.join(", ") };
                        format!("a release of {} by {by}: {given} of {needed}", pipe(*p))
                    }
                    Want::Fill { pipe: p, number, acquired, .. } => {
                        format!("a copy into {}: stage {number} of {acquired}", pipe(*p))
                    }
                    Want::Turn { turns: t, from, .. } => format!("{} from {from}", turns(*t)),
                    Want::Flag { .. } => "a flag".to_owned(),
                    Want::Sum { own: true } => "a sum with its own scope".to_owned(),
                    Want::Sum { own: false } => "a sum with another block".to_owned(),
                    Want::All { barrier, missing, .. } => {
                        format!(
                            "{} of {}",
                            parsed.protocol.barriers[*barrier as usize].name,
                            missing.join(", ")
                        )
                    }
                    Want::Barrier { missing } => format!("a barrier of {}", missing.join(", ")),
                };
                format!("stuck: {} at {} wants {wants}\n", blocked.who, line(blocked.op))
            };
            blocked.iter().map(one).collect()
        }
        Kind::Slip { wait, pipe: p, other } => {
            let other = other.map(|op| format!(", overtaken by {}", line(op))).unwrap_or_default();
            format!("slip: {} of {}{other}\n", line(*wait), pipe(*p))
        }
        Kind::Crowded { release, pipe: p, readers } => {
            format!("crowded: {} by more than {readers} groups of {}\n", line(*release), pipe(*p))
        }
        Kind::Doubled { acquire, pipe: p, other } => {
            format!("doubled: {} of {}, also by {}\n", line(*acquire), pipe(*p), line(*other))
        }
        Kind::Hurried { come, .. } => format!("too early: {}\n", line(*come)),
        Kind::Unmet { arrive, missing, .. } => {
            format!("never met: {} by {}\n", line(*arrive), missing.join(", "))
        }
        Kind::Repassed { pass, .. } => format!("passed twice: {}\n", line(*pass)),
        Kind::Race { earlier, later, cause, .. } => {
            format!("race: {} and {}, {cause:?}\n", line(earlier.op), line(later.op))
        }
        Kind::InFlight { product, later, release, .. } => {
            let how = if *release { "released" } else { "used" };
            format!("in flight: {} {how} at {}\n", line(*product), line(*later))
        }
        Kind::Unequal { pipe: p, acquire, bytes, other, expected } => {
            let (a, b) = (line(*acquire), line(*other));
            format!("unequal: {bytes} bytes to {} at {a}, {expected} at {b}\n", pipe(*p))
        }
        Kind::Unstored { store, access, .. } => {
            format!("not stored: {} at {}\n", line(*store), line(*access))
        }
        Kind::Divided { copy } => format!("divided: {}\n", line(*copy)),
        Kind::Gone { copy } => format!("gone: {}\n", line(*copy)),
        Kind::Unwaited { copy, pipe: p, .. } => format!("unwaited: {} into {}\n", line(*copy), pipe(*p)),
    };
    let counts: Vec<String> =
        fault.counts.iter().map(|(count, value)| format!("{count} = {value}")).collect();
    if !counts.is_empty() {
        out += &format!("  with {}\n", counts.join(", "));
    }
    if let Some(fix) = &fault.fix {
        let with = |with: &FixWith| match with {
            FixWith::Release(p) => format!("release {}", pipe(*p)),
            FixWith::ReleasePrevious(p) => format!("release_previous {}", pipe(*p)),
            FixWith::WaitProducts(leave) => format!("gemm_wait {leave}"),
            FixWith::WaitCopies(leave) => format!("wait_copies {leave}"),
            FixWith::WaitStores(leave) => format!("wait_stores {leave}"),
            FixWith::WaitWrites(leave) => format!("wait_writes {leave}"),
            FixWith::Sync => "sync".to_owned(),
            FixWith::Pass(t) => format!("pass {}", turns(*t)),
        };
        let with: Vec<String> = fix.with.iter().map(with).collect();
        let with = with.join(", ");
        out += &match fix.at {
            FixAt::Before(op) => format!("  fix: {with} before {}\n", line(op)),
            FixAt::After(op) => format!("  fix: {with} after {}\n", line(op)),
            FixAt::Behind(op) => format!("  fix: {with} behind the loop of {}\n", line(op)),
            FixAt::Move { op, after } => format!("  fix: {} behind {}\n", line(op), line(after)),
            FixAt::Join { earlier, later, outside, joint } => {
                let ops = format!("{} and {}", line(earlier), line(later));
                format!("  fix: a barrier {joint:?} {ops}, outside: {outside:?}\n")
            }
            FixAt::Complete(op) => format!("  fix: {} waits for writes\n", line(op)),
            FixAt::Leave { op, leave } => format!("  fix: {} leaves {leave}\n", line(op)),
        };
    }
    if fault.others > 0 {
        out += &format!("  and {} more\n", fault.others);
    }
    out
}

/// The launches of a persistent kernel in clusters: loop counts follow from dimensions, the grid and the multiprocessors.
#[test]
fn launches_are_chosen_by_their_loop_counts() {
    use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
    let facts = Facts::default();
    let dim = |name: &str| Expr::symbol(Symbol::Dim(name.into()));
    let cdiv = |a: Expr, b: i64| a.ceil_div(&Expr::constant(b), &facts);
    let tiles = &cdiv(dim("m"), 128) * &cdiv(dim("n"), 256);
    let halves = Expr::symbol(Symbol::Multiprocessors).div(&Expr::constant(2), &facts);
    let grid = halves.minimum(&tiles, &facts).scale(2);
    let pair = Expr::symbol(Symbol::BlockIdx(0)).div(&Expr::constant(2), &facts);
    let pairs = Expr::symbol(Symbol::GridDim(0)).div(&Expr::constant(2), &facts);
    let rounds = (tiles - pair).ceil_div(&pairs, &facts);
    let Parsed { mut protocol, .. } = parse(kernels::COOPERATIVE);
    let with = |from: &str, to: &Expr, body: &mut Vec<super::Stmt>| {
        for stmt in body {
            if let super::Stmt::For { end, .. } = stmt
                && *end == dim(from)
            {
                *end = to.clone();
            }
        }
    };
    protocol.bodies_mut(&mut |body| {
        with("R", &rounds, body);
        with("K", &cdiv(dim("k"), 64), body);
    });
    let known = super::Launchable {
        requires: vec![Cond::Cmp(CmpOp::Le, Expr::constant(1), dim("n"))],
        derived: vec![(Symbol::GridDim(0), grid.clone())],
        grid: vec![grid],
        given: vec![(Symbol::Multiprocessors, 4)],
        cluster: vec![2],
        drawn: Vec::new(),
        facts,
    };
    let launches = super::trials::launches(&protocol, &known);
    let counts = |launch: &super::launch::Launch| {
        let values: Vec<String> = launch.counts.iter().map(|(_, value)| value.to_string()).collect();
        format!("{}: {} blocks\n", values.join(" "), launch.blocks.len())
    };
    let all: String = launches.iter().map(counts).collect();
    expect_test::expect![[r#"
        1 0: 2 blocks
        1 0: 2 blocks
        1 1: 2 blocks
        1 1: 2 blocks
        2 0: 2 blocks
        2 0: 2 blocks
        2 1: 2 blocks
        2 1: 2 blocks
        3 0: 2 blocks
        3 0: 2 blocks
        1 2: 2 blocks
        1 2: 2 blocks
        3 1: 2 blocks
        3 1: 2 blocks
        4 0: 2 blocks
        4 0: 2 blocks
        1 3: 2 blocks
        1 3: 2 blocks
        2 2: 2 blocks
        2 2: 2 blocks
        4 1: 2 blocks
        4 1: 2 blocks
        5 0: 2 blocks
        5 0: 2 blocks
        1 4: 2 blocks
        1 4: 2 blocks
        2 3: 2 blocks
        2 3: 2 blocks
        3 2: 2 blocks
        3 2: 2 blocks
        1 5: 2 blocks
        1 5: 2 blocks
        5 1: 2 blocks
        5 1: 2 blocks
        6 0: 2 blocks
        2 4: 2 blocks
        2 4: 2 blocks
        3 3: 2 blocks
        3 3: 2 blocks
        4 2: 2 blocks
        4 2: 2 blocks
        2 5: 2 blocks
        2 5: 2 blocks
        6 1: 2 blocks
        3 4: 2 blocks
        3 4: 2 blocks
        4 3: 2 blocks
        4 3: 2 blocks
        1 6: 2 blocks
        1 6: 2 blocks
        5 2: 2 blocks
        5 2: 2 blocks
        3 5: 2 blocks
        3 5: 2 blocks
        8 0: 2 blocks
        4 4: 2 blocks
        4 4: 2 blocks
        5 3: 2 blocks
        5 3: 2 blocks
        2 6: 2 blocks
        2 6: 2 blocks
        6 2: 2 blocks
        4 5: 2 blocks
        4 5: 2 blocks
        8 1: 2 blocks
        9 0: 2 blocks
        5 4: 2 blocks
        5 4: 2 blocks
        6 3: 2 blocks
        3 6: 2 blocks
        3 6: 2 blocks
        5 5: 2 blocks
        5 5: 2 blocks
        9 1: 2 blocks
        1 9: 2 blocks
        1 9: 2 blocks
        6 4: 2 blocks
        4 6: 2 blocks
        4 6: 2 blocks
        8 2: 2 blocks
        6 5: 2 blocks
        2 9: 2 blocks
        2 9: 2 blocks
        8 3: 2 blocks
        5 6: 2 blocks
        5 6: 2 blocks
        9 2: 2 blocks
        3 9: 2 blocks
        3 9: 2 blocks
        8 4: 2 blocks
        9 3: 2 blocks
        6 6: 2 blocks
        8 5: 2 blocks
        4 9: 2 blocks
        4 9: 2 blocks
        9 4: 2 blocks
        9 5: 2 blocks
        5 9: 2 blocks
        5 9: 2 blocks
        8 6: 2 blocks
        6 9: 2 blocks
        9 6: 2 blocks
        8 9: 2 blocks
        9 9: 2 blocks
    "#]]
    .assert_eq(&all);
    expect_test::expect![""]
        .assert_eq(&shown(&parse(kernels::COOPERATIVE), &check(&protocol, &known, &|| ())));
}
