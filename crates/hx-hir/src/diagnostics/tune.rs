//! HX0228 and others: errors in the `tune` clause of a kernel.

use hx_base::{Code, Diagnostic, codes};

use super::{Reporter, names::replaced, nearest};
use crate::{MAX_AXIS, TuneProblem, ValuesFault};

pub(super) fn report(at: &Reporter<'_>, problems: &[TuneProblem], out: &mut Vec<Diagnostic>) {
    out.extend(problems.iter().map(|problem| diagnostic(at, problem)));
}

fn diagnostic(at: &Reporter<'_>, problem: &TuneProblem) -> Diagnostic {
    match problem {
        TuneProblem::UnknownParam { expr, name, known } => {
            let range = at.expr(*expr);
            let message = format!("the kernel has no compile-time parameter `{name}`");
            let found = at.diagnostic(&codes::UNKNOWN_NAME, range, message);
            let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
            match nearest(name, known.iter().copied()) {
                Some(near) => replaced(found.help(format!("`{near}` is near in spelling")), range, near),
                None if known.is_empty() => found.help("only parameters between `<` and `>` can be tuned"),
                None => found.help(format!(
                    "its compile-time parameters without an axis are `{}`",
                    known.join("`, `")
                )),
            }
        }
        TuneProblem::AtLaunch { expr, name, what } => {
            let message = format!("expected a compile-time parameter, found `{name}`, {what}");
            at.diagnostic(&codes::WRONG_KIND, at.expr(*expr), message)
                .help("`tune` names parameters between `<` and `>`")
        }
        TuneProblem::Twice { expr, first, name } => at
            .diagnostic(&codes::BAD_TUNE, at.expr(*expr), format!("`{name}` has two axes"))
            .also(at.file(), at.expr(*first), "the first one is here")
            .help("write all its values in one list"),
        TuneProblem::ValueTwice { expr, first } => at
            .diagnostic(&codes::BAD_TUNE, at.expr(*expr), "a value is listed twice")
            .also(at.file(), at.expr(*first), "listed here first"),
        TuneProblem::Undetermined { name, index } => {
            let range = at.absolute(at.signature.and_then(|s| s.generics.get(*index)).copied());
            let message =
                format!("`{name}` has no default, no axis of `tune` names it, and no tensor determines it");
            at.diagnostic(&codes::BAD_TUNE, range, message)
                .help(format!("give it a default, `{name} = …`, or an axis, `{name} in […]`"))
        }
        TuneProblem::NoValues { name, index } => {
            let range = at.absolute(at.signature.and_then(|s| s.generics.get(*index)).copied());
            let message = format!("`auto` has no values for `{name}` to choose from");
            at.diagnostic(&codes::BAD_TUNE, range, message)
                .help(format!("list them after the parameters: `tune {name} in […]`"))
        }
        TuneProblem::Values { expr, fault } => {
            let (code, message, help) = of_values(fault);
            at.diagnostic(code, at.expr(*expr), message).help(help)
        }
    }
}

/// Returns the code, the message and the help of an error in the values of an axis.
fn of_values(fault: &ValuesFault) -> (&'static Code, String, &'static str) {
    match fault {
        ValuesFault::Range { name, wanted } => {
            let message = format!("expected a list with {wanted} in each place, found a range for `{name}`");
            (&codes::TYPE_MISMATCH, message, "only integers have ranges")
        }
        ValuesFault::Untunable { name, kind } => {
            let message = format!("`{name}` is {kind}, expected a parameter that can be tuned");
            (
                &codes::TYPE_MISMATCH,
                message,
                "integers, `bool` and `type` can be tuned; `auto` without a type, as in `B = auto`, is a layout",
            )
        }
        ValuesFault::NotConstant => {
            let message = "expected a constant, found a value that only an instance or a launch knows";
            let help = "write a number, `true` or `false`, an element type, or what follows from constants";
            (&codes::NOT_CONSTANT, message.to_owned(), help)
        }
        ValuesFault::StepOfList => {
            let message = "found a step after a list, expected it after a range";
            (&codes::BAD_TUNE, message.to_owned(), "write a range, as in `8..=64 step 8`")
        }
        ValuesFault::Single => {
            let message = "expected a list or a range, found a single value";
            (&codes::BAD_TUNE, message.to_owned(), "write `[64, 128]`, or `64..=256 step 8`")
        }
        ValuesFault::Open => {
            let message = "found an open range, expected one with both ends";
            (&codes::BAD_TUNE, message.to_owned(), "write `2..=6`, or `2..7` without the end")
        }
        ValuesFault::Step(found) => {
            let message = format!("found the step {found}, expected at least 1");
            (&codes::BAD_TUNE, message, "values are tried from the start of the range upwards")
        }
        ValuesFault::Empty => {
            let message = "found no values, expected at least one";
            (&codes::BAD_TUNE, message.to_owned(), "`a..b` ends before `b`, `a..=b` includes it")
        }
        ValuesFault::TooMany(found) => {
            let message = format!("found {found} values, expected at most {MAX_AXIS}");
            (&codes::BAD_TUNE, message, "a larger `step` leaves fewer values")
        }
    }
}
