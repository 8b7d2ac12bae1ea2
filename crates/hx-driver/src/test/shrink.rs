//! The search for the smallest case of a `forall` that fails in the same way.
//!
//! One variable shrinks at a time, in the order of the text, until no step of any variable fails any more. Each step runs the
//! case, so the search depends on nothing but the test. Only a failure with the code of the first one counts.

use std::collections::BTreeSet;
use std::time::Duration;

use hx_base::{Code, codes};
use hx_host::domain::{Choice, Domain};
use hx_host::eval::Assignment;
use hx_launch::is_environmental;
use web_time::Instant;

use super::trial::{Drawn, Property, Run};
use super::{CaseReport, Verdict};

/// The largest number of cases that one search runs.
const MOST_RUNS: usize = 200;
/// The time after which no further case of a search begins.
const MOST_TIME: Duration = Duration::from_secs(30);
/// The number of entries of a list that are tried in order.
const MOST_ENTRIES: u64 = 16;
/// The number of halvings of the distance between a real number that fails and one that does not.
const HALVINGS: usize = 12;

/// Shrinks a case that failed, and returns the report of the smallest one that fails.
pub(super) fn shrink(run: Run<'_>, first: Assignment, report: CaseReport) -> CaseReport {
    // Every case would fail at a missing GPU, and each at the time limit would take that long.
    let is_of_the_case = |code: &&Code| *code != &codes::TIME_LIMIT && !is_environmental(code);
    let Some(code) = code_of(&report).filter(is_of_the_case) else {
        return CaseReport { drawn: Some(failing(&first)), ..report };
    };
    let mut search = Search {
        run,
        code,
        tried: BTreeSet::from([first.text.clone()]),
        current: first.clone(),
        runs: 0,
        until: Instant::now() + MOST_TIME,
        has_ended: false,
    };
    search.all();
    let Search { current, runs, has_ended, .. } = search;
    // Run the smallest case once more, because a trial does not explain its failure.
    let mut last = run.one(Property::Given, &current.text);
    let fails_again = code_of(&last) == Some(code);
    if !fails_again {
        last = report;
    }
    let smallest = if fails_again { &current } else { &first };
    if let Verdict::Failed(found) = &mut last.verdict
        && let Some(found) = found.first_mut()
    {
        found.notes.insert(0, note(&first, smallest, runs, has_ended));
        if !fails_again {
            found.notes.insert(1, format!("{} failed once and passed when it ran again", current.text));
        }
    }
    CaseReport { drawn: Some(failing(smallest)), ..last }
}

fn failing(assignment: &Assignment) -> Drawn {
    Drawn { cases: 0, failing: Some(assignment.text.clone()) }
}

fn note(first: &Assignment, smallest: &Assignment, runs: usize, has_ended: bool) -> String {
    let s = if runs == 1 { "" } else { "s" };
    let origin = match first.text == smallest.text {
        true => String::new(),
        false => format!(", shrunk from {} in {runs} run{s}", first.text),
    };
    let limit = if has_ended { "; the search ended at its limit" } else { "" };
    format!("the smallest case that fails: {}{origin}{limit}", smallest.text)
}

fn code_of(report: &CaseReport) -> Option<&'static Code> {
    match &report.verdict {
        Verdict::Failed(found) => found.first().map(|found| found.code),
        Verdict::Passed | Verdict::Skipped(_) => None,
    }
}

struct Search<'r> {
    run: Run<'r>,
    /// The code of the failure.
    code: &'static Code,
    /// The smallest case that fails so far.
    current: Assignment,
    /// The texts of the cases that ran.
    tried: BTreeSet<String>,
    runs: usize,
    until: Instant,
    /// Whether a case was left out because of a limit.
    has_ended: bool,
}

impl Search<'_> {
    fn all(&mut self) {
        let mut is_first_round = true;
        loop {
            let before = self.current.text.clone();
            for variable in 0..self.current.choices.len() {
                let domain = self.current.domains[variable].clone();
                match domain.position(self.current.choices[variable]) {
                    Some(_) => self.shrink_position(variable, &domain),
                    // A real number gets fewer digits, not less. No order bounds such steps, so it shrinks only in the first
                    // round.
                    None if is_first_round => self.shrink_float(variable, &domain),
                    None => {}
                }
            }
            if self.has_ended || self.current.text == before {
                return;
            }
            is_first_round = false;
        }
    }

    /// Runs the current case with another value of one variable. If it fails with the searched code, it becomes the current
    /// case, and the result is true. Each case runs once, and none after a limit is reached. The other variables keep their
    /// values, or take the nearest ones of their domains.
    fn attempt(&mut self, variable: usize, choice: Choice) -> bool {
        let mut choices = self.current.choices.clone();
        choices[variable] = choice;
        let assign = self.run.host(|session, item| {
            session.assign(item, &mut |index, _, domain| Ok(domain.nearest(choices[index])))
        });
        let Ok(assignment) = assign else { return false };
        if self.tried.contains(&assignment.text) {
            return false;
        }
        if self.runs == MOST_RUNS || Instant::now() >= self.until {
            self.has_ended = true;
            return false;
        }
        self.runs += 1;
        self.tried.insert(assignment.text.clone());
        let fails = code_of(&self.run.one(Property::Trial, &assignment.text)) == Some(self.code);
        if fails {
            self.current = assignment;
        }
        fails
    }

    fn position(&self, variable: usize) -> u64 {
        let (domain, choice) = (&self.current.domains[variable], self.current.choices[variable]);
        domain.position(choice).unwrap_or(0)
    }

    /// Shrinks a whole number towards the low end, or an entry of a list towards the first: the lowest, then by bisection, then
    /// the powers of two and their neighbours below, then by small steps.
    fn shrink_position(&mut self, variable: usize, domain: &Domain) {
        let start = self.position(variable);
        if start == 0 || self.attempt(variable, domain.nth(0)) {
            return;
        }
        if let Domain::List(_) = domain {
            for position in 1..start.min(MOST_ENTRIES) {
                if self.attempt(variable, domain.nth(position)) {
                    return;
                }
            }
        }
        let mut passes = 0;
        while self.position(variable) > passes + 1 {
            let middle = passes + (self.position(variable) - passes) / 2;
            if !self.attempt(variable, domain.nth(middle)) {
                passes = middle;
            }
        }
        for choice in domain.boundaries() {
            let is_below = domain.position(choice).is_some_and(|position| position < self.position(variable));
            if is_below && self.attempt(variable, choice) {
                break;
            }
        }
        for step in 1..=3 {
            if let Some(below) = self.position(variable).checked_sub(step) {
                self.attempt(variable, domain.nth(below));
            }
        }
    }

    /// Shrinks a real number towards the one nearest to 0, and to few digits.
    fn shrink_float(&mut self, variable: usize, domain: &Domain) {
        let simplest = domain.simplest();
        if self.current.choices[variable] == simplest || self.attempt(variable, simplest) {
            return;
        }
        let (Choice::Float(mut passes), Choice::Float(mut fails)) =
            (simplest, self.current.choices[variable])
        else {
            return;
        };
        for _ in 0..HALVINGS {
            let middle = passes + (fails - passes) / 2.0;
            if self.attempt(variable, Choice::Float(middle)) { fails = middle } else { passes = middle }
        }
        for digits in 0..6 {
            let scale = 10_f64.powi(digits);
            // Round away from the numbers that pass.
            let away = if fails < passes { f64::floor } else { f64::ceil };
            let rounded = domain.nearest(Choice::Float(away(fails * scale) / scale));
            if self.attempt(variable, rounded) {
                return;
            }
        }
    }
}
