//! `hx repl`: starts a session on a terminal, or runs a script from stdin.

use std::io::IsTerminal as _;
use std::time::Duration;

use hx_repl::{Config, Outcome, Screen, Session, run_prompt, run_script};
use hx_worker::WorkerCommand;
use hx_workspace::Database;

use super::{limit_memory, one_device, project_here, setup_choosing};
use crate::cli::ReplArgs;
use crate::output::Output;
use crate::{Exit, crash, interrupt};

/// Reports whether a person types and reads: stdin and stdout are both terminals.
pub(crate) fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub(crate) fn run(args: &ReplArgs, output: &Output) -> Exit {
    ran(args, output).unwrap_or_else(|exit| exit)
}

fn ran(args: &ReplArgs, output: &Output) -> Result<Exit, Exit> {
    let mut db = Database::default();
    let manifest = project_here(&mut db, output)?;
    let mut setup =
        setup_choosing(args.choosing, (args.device.device, &args.device.target), manifest.as_ref(), output)?;
    one_device(&setup, output)?;
    if let Some(program) = &args.worker {
        setup.worker = WorkerCommand::new(program);
    }
    limit_memory(args.memory, manifest.as_ref());
    let at_terminal = is_at_terminal();
    let config = Config {
        setup,
        timeout: args.timeout.or(manifest.and_then(|m| m.timeout)).map(Duration::from_secs_f64),
        seed: args.seed,
        interrupt: if at_terminal { interrupt::prompt_flag() } else { interrupt::flag() },
        report_bug: crash::write_report,
    };
    let mut session = Session::new(db, config);
    if at_terminal {
        let history = hx_worker::folders::state_folder().map(|folder| folder.join("history"));
        return Ok(match run_prompt(&mut session, history.as_deref(), output.style()) {
            Outcome::Environment => Exit::Environment,
            _ => Exit::Good,
        });
    }
    let (mut out, mut err) = (output.stdout(), std::io::stderr());
    let mut screen = Screen::new(&mut out, &mut err, output.style());
    let outcome = run_script(&mut session, &mut std::io::stdin().lock(), args.keep_going, &mut screen);
    Ok(match outcome {
        Outcome::Good | Outcome::Quit => Exit::Good,
        Outcome::Environment => Exit::Environment,
        Outcome::Failed => Exit::Bad,
        Outcome::Interrupted => Exit::Interrupted,
    })
}
