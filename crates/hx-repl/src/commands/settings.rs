//! `:device`, `:target`, `:set` and `:reset`.

use std::time::Duration;

use hx_base::limits;
use hx_driver::{DeviceChoice, Setup};
use hx_host::eval::Environment;
use hx_target::Arch;

use crate::machines::Machines;
use crate::screen::Screen;
use crate::session::{Outcome, Session};

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
    match text.parse::<Arch>() {
        Ok(target) => {
            let setup = Setup { target, ..session.machines.setup().clone() };
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

pub(super) fn set(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    let words: Vec<&str> = text.split_whitespace().collect();
    let fail = |screen: &mut Screen<'_>, text: String| {
        screen.usage(&text);
        Outcome::Failed
    };
    match words.as_slice() {
        [] => {
            let timeout =
                session.config.timeout.map_or("off".to_owned(), |limit| format!("{} s", limit.as_secs_f64()));
            let memory = limits::byte_text(hx_host::memory::limit());
            screen
                .result(&format!("memory   {memory}\nseed     {}\ntimeout  {timeout}", session.config.seed));
            Outcome::Good
        }
        ["seed", value] => match value.parse() {
            Ok(seed) => {
                session.config.seed = seed;
                // Restart the sequence of random numbers, so that a seed always gives the same numbers.
                session.environment.draws = 0;
                Outcome::Good
            }
            Err(_) => fail(screen, format!("found the seed `{value}`, expected a whole number")),
        },
        ["timeout", "off"] => {
            session.config.timeout = None;
            Outcome::Good
        }
        ["timeout", value] => match limits::seconds(value) {
            Ok(seconds) => {
                session.config.timeout = Some(Duration::from_secs_f64(seconds));
                Outcome::Good
            }
            Err(wanted) => fail(screen, format!("found the timeout `{value}`, {wanted}, or `off`")),
        },
        ["memory", value] => match limits::bytes(value) {
            Ok(bytes) => {
                hx_host::memory::set_limit(bytes);
                Outcome::Good
            }
            Err(wanted) => fail(screen, format!("found the memory `{value}`, {wanted}")),
        },
        [name, ..] => {
            let hint = hx_base::nearest(name, ["memory", "seed", "timeout"])
                .map_or("`memory`, `seed` and `timeout`".to_owned(), |near| {
                    format!("perhaps `{near} VALUE` is meant")
                });
            fail(screen, format!("there is no such setting as `{text}`; {hint}"))
        }
    }
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
