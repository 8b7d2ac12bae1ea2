//! Formats a test run as JUnit XML, which build servers read: a suite for each file, a case for each test.

use std::fmt::Write as _;

/// A test with its result, and the seconds that it took.
pub(super) struct Case {
    /// `path::title[case]`.
    pub name: String,
    pub seconds: f64,
    pub outcome: Outcome,
    /// Lines that the test printed.
    pub output: Vec<String>,
}

/// The result of a test.
pub(super) enum Outcome {
    Passed,
    /// The reason why the test was skipped.
    Skipped(String),
    Failed {
        message: String,
        kind: &'static str,
        /// The whole report of the failure.
        text: String,
    },
}

/// Formats the whole document: a suite for each file, with its cases.
pub(super) fn document(cases: &[Case]) -> String {
    let mut suites: Vec<(&str, Vec<(&str, &Case)>)> = Vec::new();
    for case in cases {
        let (path, title) = case.name.split_once("::").unwrap_or(("", &case.name));
        match suites.iter_mut().find(|(suite, _)| *suite == path) {
            Some((_, members)) => members.push((title, case)),
            None => suites.push((path, vec![(title, case)])),
        }
    }
    let all: Vec<&Case> = cases.iter().collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites {}>", numbers(&all));
    for (path, members) in &suites {
        let of_suite: Vec<&Case> = members.iter().map(|(_, case)| *case).collect();
        let _ = writeln!(out, "  <testsuite name=\"{}\" {}>", escaped(path), numbers(&of_suite));
        members.iter().for_each(|(title, case)| element(&mut out, path, title, case));
        out += "  </testsuite>\n";
    }
    out += "</testsuites>\n";
    out
}

fn numbers(cases: &[&Case]) -> String {
    let count = |test: &dyn Fn(&Outcome) -> bool| cases.iter().filter(|c| test(&c.outcome)).count();
    let failed = count(&|o| matches!(o, Outcome::Failed { .. }));
    let skipped = count(&|o| matches!(o, Outcome::Skipped(_)));
    // A sum of no numbers is -0.
    let seconds = cases.iter().map(|c| c.seconds).sum::<f64>() + 0.0;
    let total = cases.len();
    format!(
        "tests=\"{total}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{seconds:.6}\""
    )
}

fn element(out: &mut String, path: &str, title: &str, case: &Case) {
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6}\"",
        escaped(path),
        escaped(title),
        case.seconds
    );
    if matches!(case.outcome, Outcome::Passed) && case.output.is_empty() {
        *out += "/>\n";
        return;
    }
    *out += ">\n";
    match &case.outcome {
        Outcome::Passed => {}
        Outcome::Skipped(reason) => {
            let _ = writeln!(out, "      <skipped message=\"{}\"/>", escaped(reason));
        }
        Outcome::Failed { message, kind, text } => {
            let (message, text) = (escaped(message), escaped_text(text));
            let _ = writeln!(out, "      <failure message=\"{message}\" type=\"{kind}\">{text}</failure>");
        }
    }
    if !case.output.is_empty() {
        let lines: String = case.output.iter().map(|line| format!("{line}\n")).collect();
        let _ = writeln!(out, "      <system-out>{}</system-out>", escaped_text(&lines));
    }
    *out += "    </testcase>\n";
}

/// Escapes text between tags. Characters that XML cannot contain become U+FFFD.
fn escaped_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\t' | '\n' => out.push(c),
            '\r' => out += "&#13;",
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes text in an attribute, where a raw line end would become a space.
fn escaped(text: &str) -> String {
    escaped_text(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document() {
        let case = |name: &str, outcome, output: &[&str]| Case {
            name: name.to_owned(),
            seconds: 0.25,
            outcome,
            output: output.iter().map(|l| (*l).to_owned()).collect(),
        };
        let failed = Outcome::Failed {
            message: "1 < 2 & \"so\"\non".to_owned(),
            kind: "assertion-failed",
            text: "a <b>\n\u{1b}[0m".to_owned(),
        };
        expect_test::expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites tests="4" failures="1" errors="0" skipped="1" time="1.000000">
              <testsuite name="a.hx" tests="3" failures="1" errors="0" skipped="0" time="0.750000">
                <testcase classname="a.hx" name="x[1]" time="0.250000"/>
                <testcase classname="a.hx" name="x[2]" time="0.250000">
                  <failure message="1 &lt; 2 &amp; &quot;so&quot;&#10;on" type="assertion-failed">a &lt;b&gt;
            �[0m</failure>
                </testcase>
                <testcase classname="a.hx" name="y" time="0.250000">
                  <system-out>one
            </system-out>
                </testcase>
              </testsuite>
              <testsuite name="b.hx" tests="1" failures="0" errors="0" skipped="1" time="0.250000">
                <testcase classname="b.hx" name="z" time="0.250000">
                  <skipped message="needs sm_90a"/>
                </testcase>
              </testsuite>
            </testsuites>
        "#]]
        .assert_eq(&document(&[
            case("a.hx::x[1]", Outcome::Passed, &[]),
            case("b.hx::z", Outcome::Skipped("needs sm_90a".to_owned()), &[]),
            case("a.hx::x[2]", failed, &[]),
            case("a.hx::y", Outcome::Passed, &["one"]),
        ]));
    }
}
