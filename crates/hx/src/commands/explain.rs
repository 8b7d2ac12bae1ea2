//! `hx explain`: prints the page about a code, or the list of codes.

use hx_base::{all_codes, code, nearest_code};

use crate::Exit;
use crate::cli::ExplainArgs;
use crate::output::Output;

pub(crate) fn run(args: &ExplainArgs, output: &Output) -> Exit {
    let Some(text) = &args.code else {
        let line = |c: &hx_base::Code| format!("{}  {}: {}{}\n", c.id, c.name, c.summary, c.status.aside());
        output.result(&all_codes().map(line).collect::<String>());
        return Exit::Good;
    };
    match code(text) {
        Some(code) => {
            output.explain(code);
            Exit::Good
        }
        None => {
            let near = nearest_code(text);
            let hint = near.map_or_else(String::new, |c| format!("; perhaps {} ({}) is meant", c.id, c.name));
            output.usage(&format!("there is no code `{text}`{hint}; `hx explain` lists all"));
            Exit::Usage
        }
    }
}
