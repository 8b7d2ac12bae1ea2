//! `hx layout check`: reference cases of the algebra.

use std::io::ErrorKind;

use hx_base::codes;
use hx_layout::judge::check;

use super::write;
use crate::Exit;
use crate::cli::JudgeArgs;
use crate::output::Output;

pub(super) fn run(args: &JudgeArgs, output: &Output) -> Result<Exit, Exit> {
    let shown = args.file.display();
    let text = std::fs::read_to_string(&args.file).map_err(|error| {
        let code =
            if error.kind() == ErrorKind::NotFound { &codes::FILE_NOT_FOUND } else { &codes::IO_ERROR };
        output.placeless_parts(code, &format!("cannot open `{shown}`: {error}"), &[], &[]);
        Exit::Bad
    })?;
    let report = check(&text).map_err(|error| {
        output.placeless_parts(&codes::IO_ERROR, &format!("`{shown}`, {error}"), &[], &[]);
        Exit::Bad
    })?;
    if let Some(path) = &args.answers {
        let relations = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
        write(path, &if relations { report.answers_tsv() } else { report.answers_jsonl() }, output)?;
    }
    output.result(&format!("{report}\n"));
    Ok(if report.failed() == 0 { Exit::Good } else { Exit::Bad })
}
