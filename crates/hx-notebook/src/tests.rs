//! The messages that the outputs of a cell become.

use expect_test::{Expect, expect};
use hx_base::codes;
use hx_repl::{Display as _, Finding, Outcome, Picture, Shown};
use serde_json::json;

use crate::outputs::Outputs;
use crate::sockets::Port;

/// Shows outputs as those of the last entry of a cell with this outcome, and compares the published messages.
fn check(shown: &[Shown<'_>], outcome: Outcome, expected: Expect) {
    let (port, mut published) = Port::for_tests();
    let parent = json!({});
    let mut outputs = Outputs::new(Some(&port), &parent, 7);
    outputs.is_last = true;
    shown.iter().for_each(|shown| outputs.show(*shown));
    let failure = outputs.end(outcome);
    let lines = published().into_iter().map(|(kind, content)| format!("{kind} {content}\n"));
    let said = failure.map_or("good".to_owned(), |failure| format!("{}: {}", failure.name, failure.message));
    expected.assert_eq(&format!("{}{said}\n", lines.collect::<String>()));
}

fn finding<'a>(message: &'a str, text: &'a str) -> Shown<'a> {
    let code = &codes::ASSERTION_FAILED;
    Shown::Finding(Finding { code, severity: code.severity, message, text })
}

#[test]
fn outputs_are_published_in_order() {
    let value = Picture { text: "3\n".to_owned(), drawing: None };
    check(
        &[Shown::Printed("1"), Shown::Remark("2"), Shown::Value(&value)],
        Outcome::Good,
        expect![[r#"
            stream {"name":"stdout","text":"1\n"}
            stream {"name":"stdout","text":"2\n"}
            execute_result {"execution_count":7,"data":{"text/plain":"3"},"metadata":{}}
            good
        "#]],
    );
}

#[test]
fn the_first_error_names_the_failure() {
    check(
        &[finding("one", "error: one\n"), finding("two", "error: two\n")],
        Outcome::Failed,
        expect![[r#"
            error {"ename":"HX0612","evalue":"one","traceback":["error: one","error: two"]}
            HX0612: one
        "#]],
    );
}

#[test]
fn errors_before_other_output_keep_their_place() {
    check(
        &[finding("one", "error: one\n"), Shown::Printed("next ... ok")],
        Outcome::Failed,
        expect![[r#"
            stream {"name":"stderr","text":"error: one\n"}
            stream {"name":"stdout","text":"next ... ok\n"}
            error {"ename":"HX0612","evalue":"one","traceback":["\u001b[31merror[HX0612]\u001b[0m: one"]}
            HX0612: one
        "#]],
    );
    // An accepted entry may report an error: a dependent definition that does not fit the new one.
    check(
        &[finding("one", "error: one\n")],
        Outcome::Good,
        expect![[r#"
            stream {"name":"stderr","text":"error: one\n"}
            good
        "#]],
    );
}

#[test]
fn an_interrupt_is_an_error() {
    check(
        &[Shown::Printed("1"), Shown::Interrupted],
        Outcome::Interrupted,
        expect![[r#"
            stream {"name":"stdout","text":"1\n"}
            error {"ename":"interrupted","evalue":"the cell was stopped; every binding is as it was before","traceback":["\u001b[31minterrupted\u001b[0m: the cell was stopped; every binding is as it was before"]}
            interrupted: the cell was stopped; every binding is as it was before
        "#]],
    );
}

#[test]
fn a_silent_cell_publishes_nothing() {
    let parent = json!({});
    let mut outputs = Outputs::new(None, &parent, 7);
    outputs.show(Shown::Usage("wrong"));
    assert_eq!(outputs.end(Outcome::Failed).map(|failure| failure.message), Some("wrong".to_owned()));
}
