//! Tests with a `forall`: draws cases, runs each, and shrinks a failure to the smallest case that fails in the same way.
//!
//! A case of such a test is named by its values, `path::title[m = 65, T = bf16]`, and runs alone under that name: no draw is
//! needed to repeat it, and its random tensors are the same as in the run that found it.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use hx_base::{Diagnostic, TextRange, TextSize, codes};
use hx_hir::{ForallVariable, Item, ItemKey, Sound};
use hx_host::HostResult;
use hx_host::domain::{Choice, Dice, Domain};
use hx_host::eval::{Assignment, EvalResult, Session};

use super::shrink::shrink;
use super::trial::{Drawn, Property, REFUSED, Run};
use super::{Case, CaseReport, Filter, Verdict, case_seed, was_stopped};
use crate::bounded::first_code;

/// The number of cases that are drawn for a test with a `forall`, unless another number is asked for.
pub const DRAWN_CASES: usize = 32;

/// The number of attempts to draw a case that differs from those before.
const ATTEMPTS: usize = 64;

/// The largest number of draws for each wanted case, because `assume` may refuse some of them.
const DRAWS_PER_CASE: usize = 10;

/// Returns the cases of a test with a `forall` that a filter wants: those that it names by their values, or else the test.
pub(super) fn wanted(filter: &Filter, plain: &str, test: &ItemKey) -> Vec<Case> {
    let case = |name: String, property| Case {
        name,
        test: test.clone(),
        index: None,
        property: Some(property),
        doc: None,
    };
    let mut seen = BTreeSet::new();
    let texts = filter.names.iter().filter_map(|name| {
        let text = name.strip_prefix(plain)?.strip_prefix('[')?.strip_suffix(']')?;
        seen.insert(text).then(|| text.to_owned())
    });
    let given: Vec<Case> =
        texts.map(|text| case(format!("{plain}[{text}]"), Property::Given(text))).collect();
    if given.is_empty() { vec![case(plain.to_owned(), Property::Drawn(Vec::new()))] } else { given }
}

/// Draws cases and runs them until one fails, and shrinks that one.
pub(super) fn run(run: Run<'_>) -> CaseReport {
    let mut draws = Draws {
        dice: Dice::new(case_seed(run.options.seed, &run.case.name)),
        cases: run.options.cases.max(1),
        seen: BTreeSet::new(),
        known: match &run.case.property {
            Some(Property::Drawn(known)) => known.iter().rev().cloned().collect(),
            _ => Vec::new(),
        },
        ready: Vec::new(),
        is_exhausted: false,
    };
    let (mut total, mut accepted, mut refused) = (run.failed(Vec::new()), 0, 0);
    total.verdict = Verdict::Skipped(REFUSED.to_owned());
    while accepted < draws.cases && accepted + refused < draws.cases * DRAWS_PER_CASE {
        let assignment = match draws.next(run) {
            Ok(Some(assignment)) => assignment,
            Ok(None) => break,
            Err(found) => return run.failed(found),
        };
        let report = run.one(Property::Trial, &assignment.text);
        if run.stop.load(Ordering::Relaxed) && was_stopped(&report) {
            return CaseReport { case: run.case.clone(), ..report };
        }
        match &report.verdict {
            Verdict::Skipped(reason) if reason == REFUSED => refused += 1,
            Verdict::Passed | Verdict::Skipped(_) => {
                accepted += 1;
                add(&mut total, report);
            }
            Verdict::Failed(_) => {
                let report = shrink(run, assignment, report);
                let drawn = report.drawn.map(|drawn| Drawn { cases: accepted + 1, ..drawn });
                return CaseReport { case: run.case.clone(), drawn, ..report };
            }
        }
    }
    if accepted == 0 {
        return run.failed(vec![all_refused(run, refused)]);
    }
    total.drawn = Some(Drawn { cases: accepted, failing: None });
    total
}

/// Adds the output and the findings of a case that did not fail to the report of the test.
fn add(total: &mut CaseReport, report: CaseReport) {
    if !matches!(total.verdict, Verdict::Passed) {
        total.verdict = report.verdict;
    }
    total.output.extend(report.output);
    total.unjudged.extend(report.unjudged);
    report.kernels.into_iter().for_each(|kernel| kernel.add_to(&mut total.kernels));
    let new = report.remarks.into_iter().filter(|line| !total.remarks.contains(line));
    total.remarks.extend(new.collect::<Vec<_>>());
    let new = report.findings.into_iter().filter(|finding| !total.findings.contains(finding));
    total.findings.extend(new.collect::<Vec<_>>());
}

fn all_refused(run: Run<'_>, refused: usize) -> Diagnostic {
    let start = run.case.test.find(run.db).map(|item| first_code(run.db, item)).unwrap_or_default();
    let range = TextRange::at(start, TextSize::of("test"));
    let message = format!("`assume` holds for none of the {refused} cases that were drawn");
    Diagnostic::new(&codes::HOST_ERROR, run.case.test.file, range, message)
        .help("narrow the values of the `forall` instead")
}

/// The cases of one test, each drawn once.
struct Draws {
    dice: Dice,
    /// The number of cases that are wanted.
    cases: usize,
    /// The texts of the cases so far.
    seen: BTreeSet<String>,
    /// The texts of cases that failed before and are still to run, the next one last.
    known: Vec<String>,
    /// If the domain is so small that every case runs: the cases that are still to run, the next one last.
    ready: Vec<Assignment>,
    is_exhausted: bool,
}

impl Draws {
    fn next(&mut self, run: Run<'_>) -> Result<Option<Assignment>, Vec<Diagnostic>> {
        while let Some(text) = self.known.pop() {
            // A case of a domain that has changed since may not exist any more.
            if let Ok(known) = run.host(|session, item| session.assignment_of(item, &text)) {
                return Ok(Some(known));
            }
        }
        if self.seen.is_empty()
            && let Some(all) = run.host(|session, item| all(session, item, self.cases))?
        {
            (self.ready, self.is_exhausted) = (all.into_iter().rev().collect(), true);
        }
        if self.is_exhausted {
            let next = self.ready.pop();
            self.seen.extend(next.iter().map(|next| next.text.clone()));
            return Ok(next);
        }
        let number = self.seen.len();
        let drawn = run.host(|session, item| {
            for attempt in 0..ATTEMPTS {
                let wish = self.wish(number, attempt);
                let dice = &mut self.dice;
                let made = session.assign(item, &mut |_, _, domain| Ok(wish.choose(domain, dice)))?;
                if !self.seen.contains(&made.text) {
                    return Ok(Some(made));
                }
            }
            Ok(None)
        })?;
        self.seen.extend(drawn.iter().map(|drawn| drawn.text.clone()));
        Ok(drawn)
    }

    /// Returns which values a case shall have: all lowest, all highest, then mostly boundaries, and random ones at the end.
    fn wish(&self, number: usize, attempt: usize) -> Wish {
        match number {
            0 if attempt == 0 => Wish::Low,
            1 if attempt == 0 => Wish::High,
            _ if number < self.cases.saturating_mul(3) / 4 => Wish::Boundary,
            _ => Wish::Any,
        }
    }
}

#[derive(Clone, Copy)]
enum Wish {
    Low,
    High,
    Boundary,
    Any,
}

impl Wish {
    fn choose(self, domain: &Domain, dice: &mut Dice) -> Choice {
        match self {
            Wish::Low => domain.nth(0),
            Wish::High => domain.nth(u64::MAX),
            Wish::Boundary => {
                let boundaries = domain.boundaries();
                boundaries[dice.below(boundaries.len() as u64) as usize]
            }
            Wish::Any => domain.draw(dice),
        }
    }
}

/// Returns all cases of a test in order, the last variable fastest; `None` if there are more than `most`.
fn all<'s>(
    session: &mut Session<'s>,
    item: Sound<Item<'s>>,
    most: usize,
) -> EvalResult<Option<Vec<Assignment>>> {
    let (mut found, mut positions) = (Vec::new(), Vec::<u64>::new());
    loop {
        let mut counts = Vec::new();
        let mut choose = |index: usize, _: &ForallVariable, domain: &Domain| -> HostResult<Choice> {
            counts.push(domain.count());
            Ok(domain.nth(positions.get(index).copied().unwrap_or(0)))
        };
        found.push(session.assign(item, &mut choose)?);
        let is_large = counts.iter().any(|count| count.is_none_or(|count| count > most as u64));
        if is_large || found.len() > most {
            return Ok(None);
        }
        positions.resize(counts.len(), 0);
        let more = |index: &usize| counts[*index].is_some_and(|count| positions[*index] + 1 < count);
        let Some(next) = (0..counts.len()).rev().find(more) else { return Ok(Some(found)) };
        positions.truncate(next + 1);
        positions[next] += 1;
    }
}
