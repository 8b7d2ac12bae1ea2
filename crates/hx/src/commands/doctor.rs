//! `hx doctor`: lists what the machine has, and what each missing part disables.

use hx_launch::{State, doctor};
use hx_workspace::Database;

use super::{project_here, setup};
use crate::Exit;
use crate::cli::DoctorArgs;
use crate::output::Output;

pub(crate) fn run(args: DoctorArgs, output: &Output) -> Exit {
    let manifest = match project_here(&mut Database::default(), output) {
        Ok(manifest) => manifest,
        Err(exit) => return exit,
    };
    let setup = match setup(None, &args.target, manifest.as_ref(), output) {
        Ok(setup) => setup,
        Err(exit) => return exit,
    };
    let version = concat!(env!("CARGO_PKG_VERSION"), " (the hx kernel language toolchain)");
    let findings = doctor(&setup, version);
    if output.json() {
        for finding in &findings {
            let object = serde_json::json!({
                "part": finding.part,
                "good": finding.state == State::Good,
                "text": finding.text,
                "details": finding.details,
            });
            output.result(&format!("{object}\n"));
        }
        return Exit::Good;
    }
    for finding in findings {
        let good = finding.state == State::Good;
        let mark = output.paint(if good { "ok     " } else { "missing" }, good);
        output.result(&format!("{mark}  {:<10} {}\n", finding.part, finding.text));
        for detail in finding.details {
            output.result(&format!("{:21}{detail}\n", ""));
        }
    }
    Exit::Good
}
