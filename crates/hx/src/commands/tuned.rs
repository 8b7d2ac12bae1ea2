//! `hx.tuned.toml` for the commands that take compile-time arguments from it.

use std::collections::BTreeSet;

use hx_base::{Diagnostic, codes};
use hx_launch::{Machine, Tuned};
use hx_workspace::{Database, TunedFile};

use super::Loaded;
use crate::Exit;
use crate::cli::TunedArgs;
use crate::output::Output;

/// Reads the tuned file of a command. `named` is the value of `--tuned`; `None` or an empty value means the file of the project or
/// folder that contains `path`. `None` if that file does not exist and `--tuned` was not given.
///
/// # Errors
/// `Exit::Bad` if the file has errors or cannot be read, or if the file of `--tuned` does not exist; the reason has been
/// reported.
fn read(
    loaded: &Loaded,
    path: &str,
    named: Option<&str>,
    output: &Output,
) -> Result<Option<TunedFile>, Exit> {
    let place = match named.filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => loaded.db.tuned_path(path),
    };
    let file = loaded.db.tuned(&place).map_err(|error| {
        output.placeless_parts(error.code(), &error.to_string(), &[], &[]);
        Exit::Bad
    })?;
    let Some(file) = file else {
        if named.is_none() {
            return Ok(None);
        }
        let help = ["`hx tune FILE KERNEL --shapes …` writes one".to_owned()];
        output.placeless_parts(&codes::FILE_NOT_FOUND, &format!("there is no file `{place}`"), &[], &help);
        return Err(Exit::Bad);
    };
    output.diagnostics(&loaded.db, &file.diagnostics);
    if file.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Exit::Bad);
    }
    Ok(Some(file))
}

/// Reads the tuned file of a command, as [`read`].
///
/// # Errors
/// As for [`read`].
pub(super) fn tuned(
    loaded: &Loaded,
    path: &str,
    named: Option<&str>,
    output: &Output,
) -> Result<Option<Tuned>, Exit> {
    Ok(read(loaded, path, named, output)?.map(|file| Tuned::new(vec![file])))
}

/// Reads the tuned file of a command that takes tuned arguments without `--tuned`, as [`read`], and after it the results that come with the
/// standard library; `None` with `--no-tuned`.
///
/// # Errors
/// As for [`read`].
pub(super) fn tuned_by_default(
    loaded: &Loaded,
    path: &str,
    args: &TunedArgs,
    output: &Output,
) -> Result<Option<Tuned>, Exit> {
    if args.no_tuned {
        return Ok(None);
    }
    let own = read(loaded, path, args.tuned.as_deref(), output)?;
    Ok(Some(Tuned::new(own.into_iter().chain([loaded.db.results_of_std()]).collect())))
}

/// Returns the results for launches on a machine. The simulator takes them only if `--tuned` was given: results of a GPU must
/// not change those of another machine unasked. `None` without a tuned file.
pub(super) fn on<'t>(machine: &Machine, tuned: Option<&'t Tuned>, args: &TunedArgs) -> Option<&'t Tuned> {
    tuned.filter(|_| machine.is_gpu() || args.tuned.is_some())
}

/// Prints lines and reports findings, each once in a command.
#[derive(Debug, Default)]
pub(super) struct Once {
    lines: BTreeSet<String>,
    found: Vec<Diagnostic>,
}

impl Once {
    pub(super) fn remark(&mut self, lines: &[String], output: &Output) {
        for line in lines {
            if self.lines.insert(line.clone()) {
                output.remark(line);
            }
        }
    }

    /// Reports the findings that have not been reported.
    pub(super) fn findings(&mut self, found: &[Diagnostic], db: &Database, output: &Output) {
        let new: Vec<Diagnostic> = found.iter().filter(|one| !self.found.contains(one)).cloned().collect();
        output.diagnostics(db, &new);
        self.found.extend(new);
    }
}
