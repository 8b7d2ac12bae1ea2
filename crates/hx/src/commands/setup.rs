//! `hx setup`: the CUDA compiler for this user, and the projects that the user trusts.

use std::path::{Path, PathBuf};

use hx_base::codes;
use hx_worker::fetch::fetch;
use hx_worker::folders::cuda_folder;
use hx_worker::toolkit::SearchEnv;
use hx_worker::trust::Trust;
use hx_workspace::Database;

use crate::Exit;
use crate::cli::SetupArgs;
use crate::output::Output;

pub(crate) fn run(args: &SetupArgs, output: &Output) -> Exit {
    let mut trust = Trust::of_user();
    let done = if let Some(path) = &args.trust {
        trusted(&mut trust, path, output)
    } else if let Some(path) = &args.distrust {
        distrusted(&mut trust, path, output)
    } else if args.list {
        for folder in trust.folders() {
            output.result(&format!("{}\n", folder.display()));
        }
        Ok(())
    } else {
        fetched(output)
    };
    match done {
        Ok(()) => Exit::Good,
        Err(reason) => {
            output.placeless_parts(&codes::IO_ERROR, &reason, &[], &[]);
            Exit::Environment
        }
    }
}

fn fetched(output: &Output) -> Result<(), String> {
    let home = cuda_folder().ok_or("there is no home folder: set HX_DATA_DIR to an absolute path")?;
    // An untrusted project must not supply the Python either, so leave out its programs.
    let project = Database::default().project(".").filter(|project| !project.trusted);
    let untrusted = project.map(|project| PathBuf::from(project.root));
    fetch(&home, &SearchEnv { untrusted, ..SearchEnv::of_process() }, &|line| output.remark(line))
}

fn trusted(trust: &mut Trust, path: &Path, output: &Output) -> Result<(), String> {
    let folder = trust.add(path)?;
    output.remark(&format!(
        "trusted: `{}`; the library that its `hx.toml` names, and what PATH leads to in it, may be loaded and run",
        folder.display()
    ));
    Ok(())
}

fn distrusted(trust: &mut Trust, path: &Path, output: &Output) -> Result<(), String> {
    let was_trusted = trust.remove(path)?;
    let path = path.display();
    output.remark(&match was_trusted {
        true => format!("not trusted any more: `{path}`"),
        false => format!("`{path}` was not on the list; `hx setup --list` shows it"),
    });
    Ok(())
}
