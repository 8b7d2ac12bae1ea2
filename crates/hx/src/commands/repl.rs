//! `hx repl`.

use std::time::Duration;

use hx_repl::{Config, Outcome, Screen, Session, run_script};
use hx_workspace::Database;

use super::setup;
use crate::cli::ReplArgs;
use crate::output::Output;
use crate::{Exit, crash, interrupt};

pub(crate) fn run(args: &ReplArgs, output: &Output) -> Exit {
    ran(args, output).unwrap_or_else(|exit| exit)
}

fn ran(args: &ReplArgs, output: &Output) -> Result<Exit, Exit> {
    let setup = setup(args.device.device, &args.device.target, None, output)?;
    let config = Config {
        setup,
        timeout: args.timeout.map(Duration::from_secs_f64),
        seed: args.seed,
        interrupt: interrupt::flag(),
        report_bug: crash::write_report,
    };
    let mut session = Session::new(Database::default(), config);
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut screen = Screen::new(&mut out, &mut err, output.style());
    let outcome = run_script(&mut session, &mut std::io::stdin().lock(), args.keep_going, &mut screen);
    Ok(match outcome {
        Outcome::Good | Outcome::Quit => Exit::Good,
        Outcome::Environment => Exit::Environment,
        Outcome::Failed => Exit::Bad,
        Outcome::Interrupted => Exit::Interrupted,
    })
}
