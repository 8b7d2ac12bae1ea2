//! Records the loops and conditions that the launches of a protocol run through, so that a verdict names the parts that no launch decided.

use std::collections::{BTreeMap, BTreeSet};

use hx_tile::OpId;

use super::script::{Sight, Unfollowed};
use super::{Act, Protocol, Stmt, periods};

/// A part of a protocol that no launch decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// An operation of the part; `None` if it has none.
    pub op: Option<OpId>,
    pub why: Why,
}

/// The reason why a part of a protocol was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// No launch satisfies all conditions.
    NoLaunch,
    /// A loop ran for at most `seen` rounds; `wanted` rounds would show how its rings behave.
    Rounds { count: String, seen: i64, wanted: i64 },
    /// A condition always had the same truth.
    Branch { cond: String, always: bool },
    /// A launch does not decide an expression.
    Unknown { text: String },
    /// Several writes may end a wait for a flag.
    Flag,
    /// The smallest launches have too many operations.
    Long,
    /// A loop does not end with any data.
    Endless,
}

/// The loops and conditions of a protocol that contain operations which others wait for.
#[derive(Debug)]
pub(crate) struct Coverage {
    /// By the address of the statement: the protocol does not move while it is followed.
    sites: BTreeMap<usize, Site>,
    /// The waits for flags that several writes may end.
    flags: BTreeSet<OpId>,
    /// The operations with accesses at unknown places.
    places: BTreeMap<OpId, String>,
    unfollowed: Option<Unfollowed>,
    followed: usize,
}

#[derive(Debug)]
struct Site {
    /// The position among the statements, in the order of the text.
    number: usize,
    op: Option<OpId>,
    text: String,
    /// For a loop, the number of rounds that some launch has to run.
    wanted: i64,
    /// The most rounds that are possible, if that is known.
    most: Option<i64>,
    rounds: Option<i64>,
    /// The most rounds of any drawn launch; `None` before the first.
    drawn: Option<i64>,
    /// Whether the condition was ever false, and whether it was ever true.
    truths: [bool; 2],
    is_loop: bool,
}

impl Site {
    /// Returns the number of rounds that some launch has to show: `wanted`, or the most possible rounds if these are fewer.
    fn wanted(&self) -> i64 {
        // Drawn launches have short loops, so they say nothing about loops that must be long.
        let drawn = self.drawn.filter(|_| self.wanted <= 2 * periods::LONGEST + 1);
        let possible = [self.most, drawn].into_iter().flatten().min().unwrap_or(self.wanted);
        possible.min(self.wanted)
    }

    fn is_open(&self) -> bool {
        match self.is_loop {
            true => self.rounds.unwrap_or(0) < self.wanted(),
            false => self.truths != [true, true],
        }
    }
}

fn address(stmt: &Stmt) -> usize {
    std::ptr::from_ref(stmt) as usize
}

impl Coverage {
    /// Returns the coverage of no launch. `most` returns the most rounds of a loop from one bound to another, if that is known.
    pub(crate) fn new(
        protocol: &Protocol,
        most: &dyn Fn(&hx_index::Expr, &hx_index::Expr) -> Option<i64>,
    ) -> Coverage {
        let mut sites = BTreeMap::new();
        protocol.visit(&mut |stmt| {
            if !stmt.counts() {
                return;
            }
            let wanted = rounds_of(protocol, stmt);
            let (text, most, is_loop) = match stmt {
                Stmt::For { start, end, .. } => {
                    ((end.clone() - start.clone()).to_string(), most(start, end), true)
                }
                Stmt::While { cond, .. } => (cond.to_string(), None, true),
                Stmt::If { cond, .. } => (cond.to_string(), None, false),
                Stmt::Act(..)
                | Stmt::Let { .. }
                | Stmt::Assign { .. }
                | Stmt::Number { .. }
                | Stmt::Value(_) => {
                    return;
                }
            };
            let number = sites.len();
            let op = stmt.first_op();
            let truths = [false; 2];
            sites.insert(
                address(stmt),
                Site { number, op, text, wanted, most, rounds: None, drawn: None, truths, is_loop },
            );
        });
        Coverage { sites, flags: BTreeSet::new(), places: BTreeMap::new(), unfollowed: None, followed: 0 }
    }

    /// Records a fact about a statement that a launch runs through.
    pub(super) fn see(&mut self, sight: Sight<'_>) {
        match sight {
            Sight::Rounds { of, rounds } => {
                if let Some(site) = self.sites.get_mut(&address(of)) {
                    site.rounds = site.rounds.max(Some(rounds));
                }
            }
            Sight::Truth { of, holds } => {
                if let Some(site) = self.sites.get_mut(&address(of)) {
                    site.truths[usize::from(holds)] = true;
                }
            }
            Sight::Place { op, at } => {
                self.places.entry(op).or_insert_with(|| at.to_string());
            }
        }
    }

    /// Records the rounds of a loop in a drawn launch. Returns the loop's site and the wanted number of rounds, if following
    /// the launch would show more rounds than were seen; otherwise `None`.
    pub(super) fn drawn(&mut self, stmt: &Stmt, rounds: i64) -> Option<(usize, i64)> {
        let at = address(stmt);
        let site = self.sites.get_mut(&at)?;
        site.drawn = site.drawn.max(Some(rounds));
        (site.is_open() && rounds > site.rounds.unwrap_or(0)).then_some((at, site.wanted()))
    }

    /// Returns the site of a condition, if no launch showed this truth; otherwise `None`.
    pub(super) fn lacks(&self, stmt: &Stmt, holds: bool) -> Option<usize> {
        let at = address(stmt);
        self.sites.get(&at).filter(|site| !site.truths[usize::from(holds)]).map(|_| at)
    }

    /// Reports whether a loop or a condition is not decided yet, so that further launches may show more.
    pub(super) fn is_open(&self) -> bool {
        self.sites.values().any(Site::is_open)
    }

    /// Records waits whose order a launch did not decide.
    pub(super) fn undecided(&mut self, waits: BTreeSet<OpId>) {
        self.flags.extend(waits);
    }

    /// Records a launch that was followed, or the reason why it was not.
    pub(super) fn launch(&mut self, unfollowed: Option<Unfollowed>) {
        match unfollowed {
            None => self.followed += 1,
            Some(why) => self.unfollowed = self.unfollowed.take().or(Some(why)),
        }
    }

    /// Returns the parts that no launch decided, in the order of the text.
    pub(super) fn open(&self) -> Vec<Open> {
        if self.followed == 0 {
            let open = |op: &Option<OpId>, why: Why| vec![Open { op: *op, why }];
            return match &self.unfollowed {
                None => open(&None, Why::NoLaunch),
                Some(Unfollowed::Long) => open(&None, Why::Long),
                Some(Unfollowed::Endless(op)) => open(op, Why::Endless),
                Some(Unfollowed::Unknown { text, op }) => open(op, Why::Unknown { text: text.clone() }),
            };
        }
        let mut sites: Vec<&Site> = self.sites.values().collect();
        sites.sort_by_key(|site| site.number);
        let open = |site: &&Site| site.is_open();
        let told = |site: &Site| {
            let why = match (site.is_loop, site.truths) {
                (true, _) => {
                    let (count, seen) = (site.text.clone(), site.rounds.unwrap_or(0));
                    Why::Rounds { count, seen, wanted: site.wanted() }
                }
                (false, [_, always]) => Why::Branch { cond: site.text.clone(), always },
            };
            Open { op: site.op, why }
        };
        let places =
            self.places.iter().map(|(op, at)| Open { op: Some(*op), why: Why::Unknown { text: at.clone() } });
        let flags = self.flags.iter().map(|op| Open { op: Some(*op), why: Why::Flag });
        sites.into_iter().filter(open).map(told).chain(places).chain(flags).collect()
    }
}

/// Returns the number of rounds of a loop that fill its rings and then reach every position of the rings again.
fn rounds_of(protocol: &Protocol, stmt: &Stmt) -> i64 {
    let mut rounds = 2;
    let probe = Protocol { body: vec![stmt.clone()], ..Protocol::default() };
    rounds = rounds.max(periods::rounds(protocol, &probe).into_iter().max().unwrap_or(0));
    probe.visit(&mut |stmt| {
        if let Stmt::Act(_, Act::Acquire { pipe, .. } | Act::Wait { pipe, .. }) = stmt {
            rounds = rounds.max(i64::from(protocol.pipes[*pipe as usize].stages) + 1);
        }
    });
    rounds
}
