//! Records the loops and conditions that the launches of a protocol run through, so that a verdict names the parts that no launch decided.

use std::collections::{BTreeMap, BTreeSet};

use hx_index::Expr;
use hx_tile::OpId;

use super::cases::{Case, Cases, Goal, Values};
use super::script::{Sight, Unfollowed};
use super::{Act, Launchable, Protocol, Stmt, address, periods};

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
    /// The condition never held under which a minimum, a maximum or a condition of several parts, `of`, has another form.
    Case { cond: String, of: String },
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
    cases: Cases,
    /// The waits for flags that several writes may end.
    flags: BTreeSet<OpId>,
    /// The operations with accesses at unknown places.
    places: BTreeMap<OpId, String>,
    unfollowed: Option<Unfollowed>,
    followed: usize,
    /// The facts about the launch that is being followed.
    noted: BTreeSet<Note>,
}

/// A fact about a statement, given by its address, that a launch shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Note {
    Rounds(usize, i64),
    Truth(usize, bool),
    Case(usize, usize),
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

impl Coverage {
    /// Returns the coverage of no launch.
    pub(crate) fn new(protocol: &Protocol, known: &Launchable) -> Coverage {
        let most = |start: &Expr, end: &Expr| known.facts.range(&(end.clone() - start.clone())).1;
        let (mut sites, mut number) = (BTreeMap::new(), 0);
        protocol.visit(&mut |stmt| {
            number += 1;
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
            let op = stmt.first_op();
            let truths = [false; 2];
            sites.insert(
                address(stmt),
                Site { number, op, text, wanted, most, rounds: None, drawn: None, truths, is_loop },
            );
        });
        let cases = Cases::of(protocol, known);
        Coverage {
            sites,
            cases,
            flags: BTreeSet::new(),
            places: BTreeMap::new(),
            unfollowed: None,
            followed: 0,
            noted: BTreeSet::new(),
        }
    }

    /// Notes a fact about a statement that a launch runs through. It counts once the launch is followed to its end.
    pub(super) fn see(&mut self, sight: Sight<'_>) {
        let site = |of: &Stmt| self.sites.get(&address(of)).map(|site| (address(of), site));
        match sight {
            Sight::Rounds { of, rounds } => {
                let more = site(of).filter(|(_, site)| site.rounds < Some(rounds));
                self.noted.extend(more.map(|(at, _)| Note::Rounds(at, rounds)));
            }
            Sight::Truth { of, holds } => {
                let new = site(of).filter(|(_, site)| !site.truths[usize::from(holds)]);
                self.noted.extend(new.map(|(at, _)| Note::Truth(at, holds)));
            }
            Sight::At { of, values } => {
                let cases = self.lacks_cases(of, values).into_iter();
                self.noted.extend(cases.map(|(at, case)| Note::Case(at, case)));
            }
            Sight::Place { op, at } => {
                self.places.entry(op).or_insert_with(|| at.to_string());
            }
        }
    }

    fn count(&mut self, note: Note) {
        match note {
            Note::Rounds(at, rounds) => {
                if let Some(site) = self.sites.get_mut(&at) {
                    site.rounds = site.rounds.max(Some(rounds));
                }
            }
            Note::Truth(at, holds) => {
                if let Some(site) = self.sites.get_mut(&at) {
                    site.truths[usize::from(holds)] = true;
                }
            }
            Note::Case(at, case) => self.cases.close((at, case)),
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

    /// Returns the cases of a statement that no launch showed and that these values show, by the statement and a position.
    pub(super) fn lacks_cases(&self, stmt: &Stmt, values: Values<'_>) -> Vec<(usize, usize)> {
        let at = address(stmt);
        self.cases.lacking(at, values).into_iter().map(|case| (at, case)).collect()
    }

    /// Reports whether a loop or a condition is not decided yet, so that further launches may show more.
    pub(super) fn is_open(&self) -> bool {
        self.sites.values().any(Site::is_open) || self.cases.open().next().is_some()
    }

    /// Notes that no launch was found for a goal.
    pub(super) fn give_up(&mut self, goal: &Goal) {
        goal.case.into_iter().for_each(|case| self.cases.give_up(case));
    }

    /// Returns the goals of launches that would show the cases and the truths of conditions that are not decided yet.
    pub(super) fn goals(&self) -> Vec<Goal> {
        let truths = self.sites.iter().filter(|(_, site)| !site.is_loop).flat_map(|(at, site)| {
            let lacking = [false, true].into_iter().filter(|holds| !site.truths[usize::from(*holds)]);
            lacking.filter_map(|holds| self.cases.truth(*at, holds))
        });
        truths.chain(self.cases.open().map(|case| case.goal.clone())).collect()
    }

    /// Records waits whose order a launch did not decide.
    pub(super) fn undecided(&mut self, waits: BTreeSet<OpId>) {
        self.flags.extend(waits);
    }

    /// Records a launch that was followed, or the reason why it was not.
    pub(super) fn launch(&mut self, unfollowed: Option<Unfollowed>) {
        let noted = std::mem::take(&mut self.noted);
        match unfollowed {
            None => {
                self.followed += 1;
                noted.into_iter().for_each(|note| self.count(note));
            }
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
        let told = |site: &Site| {
            let why = match (site.is_loop, site.truths) {
                (true, _) => {
                    let (count, seen) = (site.text.clone(), site.rounds.unwrap_or(0));
                    Why::Rounds { count, seen, wanted: site.wanted() }
                }
                (false, [_, always]) => Why::Branch { cond: site.text.clone(), always },
            };
            (site.number, Open { op: site.op, why })
        };
        let case = |case: &Case| {
            let why = Why::Case { cond: case.cond_text.clone(), of: case.of.clone() };
            (case.number, Open { op: case.op, why })
        };
        let sites = self.sites.values().filter(|site| site.is_open()).map(told);
        let mut open: Vec<(usize, Open)> = sites.chain(self.cases.open().map(case)).collect();
        open.sort_by_key(|(number, _)| *number);
        let sites = open.into_iter().map(|(_, open)| open);
        let places =
            self.places.iter().map(|(op, at)| Open { op: Some(*op), why: Why::Unknown { text: at.clone() } });
        let flags = self.flags.iter().map(|op| Open { op: Some(*op), why: Why::Flag });
        sites.chain(places).chain(flags).collect()
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
