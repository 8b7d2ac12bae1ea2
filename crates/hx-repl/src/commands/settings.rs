//! `:device`, `:target`, `:set` and `:reset`.

use std::time::Duration;

use hx_base::limits;
use hx_host::eval::Environment;
use hx_inspect::{DeviceChoice, Setup};
use hx_target::Target;

use crate::machines::Machines;
use crate::screen::Screen;
use crate::session::{Outcome, Session};
use crate::style::Precision;

pub(super) fn device(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    if text.is_empty() {
        let machines = session.machines.clone();
        return shown(session, machines, screen);
    }
    match text.parse::<DeviceChoice>() {
        Ok(DeviceChoice::AllCuda) => {
            screen.usage("the prompt runs on one device: `:device cuda` is the first GPU, `:device cuda:N` another one");
            Outcome::Failed
        }
        Ok(device) => {
            let setup = Setup { device, ..session.machines.setup().clone() };
            changed(session, setup, screen)
        }
        Err(error) => {
            screen.usage(&error.to_string());
            Outcome::Failed
        }
    }
}

pub(super) fn target(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    if text.is_empty() {
        screen.result(&session.setup().target.to_string());
        return Outcome::Good;
    }
    match text.parse::<Target>() {
        Ok(target) => {
            let setup = session.machines.setup().clone();
            let setup = Setup { target: setup.costed(target), ..setup };
            changed(session, setup, screen)
        }
        Err(error) => {
            screen.usage(&error.to_string());
            Outcome::Failed
        }
    }
}

/// Opens another machine. If this fails, the session keeps its machine.
fn changed(session: &mut Session, setup: Setup, screen: &mut Screen<'_>) -> Outcome {
    let machines = Machines::open(setup);
    let outcome = shown(session, machines.clone(), screen);
    if outcome == Outcome::Good {
        session.machines = machines;
    } else {
        screen.remark("the device stays as it was");
    }
    outcome
}

fn shown(session: &mut Session, machines: Machines, screen: &mut Screen<'_>) -> Outcome {
    let deadline = session.deadline();
    let opened = session.work(screen, deadline, move |_, inside| machines.wait(&|| inside.stopped()));
    match opened {
        Err(outcome) => outcome,
        Ok(None) => {
            screen.interrupted();
            Outcome::Interrupted
        }
        Ok(Some(Err(error))) => {
            screen.placeless(&error.0);
            Outcome::Environment
        }
        Ok(Some(Ok(machine))) => {
            let text = machine.describe();
            screen.result(&text);
            session.announced = Some(text);
            Outcome::Good
        }
    }
}

/// The names of the settings, in the order in which they are shown.
pub(crate) const SETTINGS: [&str; 4] = ["memory", "precision", "seed", "timeout"];
/// The largest number of significant digits that `:set precision` accepts; 17 digits identify every `f64`.
const MOST_DIGITS: usize = 17;

pub(super) fn set(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    let words: Vec<&str> = text.split_whitespace().collect();
    let changed = match words.as_slice() {
        [] => {
            let values = SETTINGS.map(|name| format!("{name:<11}{}", setting(session, name, screen)));
            screen.result(&values.join("\n"));
            return Outcome::Good;
        }
        [name] if SETTINGS.contains(name) => {
            let value = setting(session, name, screen);
            screen.result(&value);
            return Outcome::Good;
        }
        [name, value] => change(session, name, value),
        [name, ..] => Err(unknown(name, text)),
    };
    match changed {
        Ok(()) => Outcome::Good,
        Err(text) => {
            screen.usage(&text);
            Outcome::Failed
        }
    }
}

/// Returns the value of a setting as text.
fn setting(session: &Session, name: &str, screen: &Screen<'_>) -> String {
    match name {
        "memory" => limits::byte_text(hx_host::memory::limit()),
        "precision" => session.precision.digits(screen.style()).map_or("full".to_owned(), |n| n.to_string()),
        "seed" => session.config.seed.to_string(),
        _ => session.config.timeout.map_or("off".to_owned(), |limit| format!("{} s", limit.as_secs_f64())),
    }
}

/// Changes a setting, or returns why it cannot be changed.
fn change(session: &mut Session, name: &str, value: &str) -> Result<(), String> {
    match (name, value) {
        ("precision", "full") => session.precision = Precision::Full,
        ("precision", value) => match value.parse() {
            Ok(digits @ 1..=MOST_DIGITS) => session.precision = Precision::Digits(digits),
            _ => {
                return Err(format!(
                    "found the precision `{value}`, expected a number of digits from 1 to {MOST_DIGITS}, or `full`"
                ));
            }
        },
        ("seed", value) => {
            session.config.seed =
                value.parse().map_err(|_| format!("found the seed `{value}`, expected a whole number"))?;
            // Restart the sequence of random numbers, so that the entries after `:set seed 1` always draw the same numbers.
            session.environment.draws = 0;
        }
        ("timeout", "off") => session.config.timeout = None,
        ("timeout", value) => {
            let seconds = limits::seconds(value)
                .map_err(|wanted| format!("found the timeout `{value}`, {wanted}, or `off`"))?;
            session.config.timeout = Some(Duration::from_secs_f64(seconds));
        }
        ("memory", value) => {
            let bytes =
                limits::bytes(value).map_err(|wanted| format!("found the memory `{value}`, {wanted}"))?;
            hx_host::memory::set_limit(bytes);
        }
        _ => return Err(unknown(name, &format!("{name} {value}"))),
    }
    Ok(())
}

fn unknown(name: &str, text: &str) -> String {
    let hint = match hx_base::nearest(name, SETTINGS) {
        Some(near) => format!("perhaps `{near} VALUE` is meant"),
        None => "`memory`, `precision`, `seed` and `timeout`".to_owned(),
    };
    format!("there is no such setting as `{text}`; {hint}")
}

pub(super) fn reset(session: &mut Session, _: &str, screen: &mut Screen<'_>) -> Outcome {
    session.scope = None;
    session.environment = Environment::default();
    session.texts.clear();
    session.left_values.clear();
    session.loaded.clear();
    screen.remark("every cell, value and loaded file is forgotten");
    Outcome::Good
}
