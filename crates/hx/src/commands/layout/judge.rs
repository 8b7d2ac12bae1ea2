//! `hx layout check`: answers reference cases of the algebra.

use hx_base::codes;
use hx_judge::check;

use crate::Exit;
use crate::cli::JudgeArgs;
use crate::commands::files::{read, write};
use crate::output::Output;

pub(super) fn run(args: &JudgeArgs, output: &Output) -> Result<Exit, Exit> {
    let text = read(&args.file, output)?;
    let report = check(&text).map_err(|error| {
        output.placeless_parts(&codes::IO_ERROR, &format!("`{}`, {error}", args.file.display()), &[], &[]);
        Exit::Bad
    })?;
    if let Some(path) = &args.answers {
        let relations = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
        write(path, &if relations { report.answers_tsv() } else { report.answers_jsonl() }, output)?;
    }
    output.result(&format!("{report}\n"));
    Ok(if report.failed() == 0 { Exit::Good } else { Exit::Bad })
}
