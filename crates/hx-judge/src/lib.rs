//! The conformance runner of the layout algebra: answers reference cases, and judges answers by their `check` words.
//!
//! A case is one line of JSON; the format is described in `tests/vectors/README.md` at the root of the project.
//! Judging looks only at the answer's JSON, never at how it was found, so it also judges answers of other programs.
//!
//! Invariant: the crate reads no files: text comes in, a [`Report`] comes out.
//!
//! Start at [`check`].

mod input;
mod layouts;
mod linear;
mod relations;
mod verify;
mod verify_linear;

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use input::Input;

/// The fields of an answer, or the reason why there is none.
pub type Answer = Result<Map<String, Value>, String>;

/// A reference case.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    pub id: String,
    pub op: String,
    #[serde(rename = "in")]
    pub input: Map<String, Value>,
    /// The expected fields; absent if the operation must fail.
    #[serde(default)]
    pub out: Option<Map<String, Value>>,
    /// The conditions on `out` that an answer must meet.
    #[serde(default)]
    pub check: Vec<String>,
    /// Present if the operation must fail.
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default = "strict_by_default")]
    pub strict: bool,
    #[serde(default)]
    pub may_error: bool,
    /// Further answers that are equally good.
    #[serde(default)]
    pub alt: Vec<Map<String, Value>>,
}

fn strict_by_default() -> bool {
    true
}

/// The judgement of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Passed,
    /// The answer differs, but the definition leaves room: no fault.
    Differs(String),
    Failed(String),
}

/// A case with its answer and verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    pub id: String,
    pub op: String,
    pub answer: Answer,
    pub verdict: Verdict,
}

/// The judged cases of a file, in its order.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub cases: Vec<Judged>,
}

/// A line that is not a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CaseError {
    /// The line number, counted from 1.
    pub line: usize,
    pub message: String,
}

/// Reads cases, one a line; empty lines are skipped.
///
/// # Errors
/// At the first line that is not a case.
pub fn read_cases(text: &str) -> Result<Vec<Case>, CaseError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(i, line)| {
        serde_json::from_str(line)
            .map_err(|e: serde_json::Error| CaseError { line: i + 1, message: e.to_string() })
    };
    lines.map(read).collect()
}

/// Answers and judges every case of a file.
///
/// # Errors
/// At the first line that is not a case.
pub fn check(text: &str) -> Result<Report, CaseError> {
    let cases = read_cases(text)?;
    let judged = cases.into_iter().map(|case| {
        let answer = answer(&case);
        let verdict = judge(&case, &answer);
        Judged { id: case.id, op: case.op, answer, verdict }
    });
    Ok(Report { cases: judged.collect() })
}

/// Answers a case with this crate. Reads only `in`, and from `out` the coordinates at which the case wants samples.
pub fn answer(case: &Case) -> Answer {
    let samples = case.out.as_ref().and_then(|out| out.get("samples"));
    let input = Input::new(&case.input, samples);
    if is_relation(case) {
        return relations::answer(&case.op, &input);
    }
    let known = layouts::answer(&case.op, &input).or_else(|| linear::answer(&case.op, &input));
    known.unwrap_or_else(|| Err(format!("operation `{}` is not known", case.op)))
}

/// Reports whether a case wants a relation. Some operations occur both for a layout and for its relation.
fn is_relation(case: &Case) -> bool {
    let only_relation =
        ["layout_map", "index_map", "coord_map", "inverse", "image", "composed_map", "linear_map"];
    case.check.iter().any(|word| word == "isl")
        || case.id.starts_with("isl-")
        || only_relation.contains(&case.op.as_str())
}

/// Judges an answer to a case.
pub fn judge(case: &Case, answer: &Answer) -> Verdict {
    let fault = match (answer, &case.error, &case.out) {
        (Err(_), Some(_), _) => return Verdict::Passed,
        (Err(_), None, _) if case.may_error => return Verdict::Passed,
        (Err(reason), None, _) => format!("no answer: {reason}"),
        (Ok(_), Some(word), _) => format!("an answer where an error ({word}) was expected"),
        (Ok(_), None, None) => "the case has neither `out` nor `error`".to_string(),
        (Ok(answer), None, Some(out)) => {
            let wanted = std::iter::once(out).chain(&case.alt);
            let mut faults = Vec::new();
            for out in wanted {
                match verify::meets(case, out, answer) {
                    Ok(()) => return Verdict::Passed,
                    Err(fault) => faults.push(fault),
                }
            }
            faults.swap_remove(0)
        }
    };
    if case.strict { Verdict::Failed(fault) } else { Verdict::Differs(fault) }
}

impl Report {
    /// Returns how many cases passed. Answers that differ without fault count as passed.
    pub fn passed(&self) -> usize {
        self.cases.len() - self.failed()
    }

    /// Returns how many strict cases failed.
    pub fn failed(&self) -> usize {
        self.cases.iter().filter(|c| matches!(c.verdict, Verdict::Failed(_))).count()
    }

    /// Returns how many answers differ where the definition leaves room.
    pub fn differing(&self) -> usize {
        self.cases.iter().filter(|c| matches!(c.verdict, Verdict::Differs(_))).count()
    }

    /// Returns the answers as JSON lines, `{"id": .., "out": {..}}` or `{"id": .., "error": ..}`.
    pub fn answers_jsonl(&self) -> String {
        let line = |case: &Judged| match &case.answer {
            Ok(out) => json!({"id": case.id, "out": out}).to_string() + "\n",
            Err(error) => json!({"id": case.id, "error": error}).to_string() + "\n",
        };
        self.cases.iter().map(line).collect()
    }

    /// Returns the relations among the answers as lines of case id, tab, isl text.
    pub fn answers_tsv(&self) -> String {
        let relation = |case: &Judged| {
            let isl = case.answer.as_ref().ok()?.get("isl")?.as_str()?;
            Some(format!("{}\t{isl}\n", case.id))
        };
        self.cases.iter().filter_map(relation).collect()
    }
}

impl fmt::Display for Report {
    /// Writes one line for each answer that is not as expected, then `N passed, N failed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in &self.cases {
            match &case.verdict {
                Verdict::Passed => {}
                Verdict::Differs(why) => {
                    writeln!(f, "{} {}: differs, which is no fault: {why}", case.id, case.op)?
                }
                Verdict::Failed(why) => writeln!(f, "{} {}: {why}", case.id, case.op)?,
            }
        }
        write!(f, "{} passed, {} failed", self.passed(), self.failed())
    }
}
