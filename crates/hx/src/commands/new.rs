//! `hx new` and `hx init`: make a project with a kernel, a test and a program.

use std::path::Path;

use hx_workspace::MANIFEST_NAME;

use super::files::{fault, write};
use crate::Exit;
use crate::cli::NewArgs;
use crate::output::Output;

/// The first source file of a new project.
const MAIN: &str = "main.hx";
const KERNEL: &str = include_str!("new.hx");

/// Makes a folder with a project. Refuses an empty path, a file, and a folder that is not empty.
pub(crate) fn new(args: &NewArgs, output: &Output) -> Exit {
    if args.path.trim().is_empty() {
        output.usage("a project needs a name or a path, and this one is empty");
        return Exit::Usage;
    }
    let folder = Path::new(&args.path);
    let is_taken = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_taken || folder.is_file() {
        output.usage(&format!("`{}` is there already; `hx init` makes a project of a folder", args.path));
        return Exit::Usage;
    }
    if let Err(error) = std::fs::create_dir_all(folder) {
        return fault("write", folder, &error, output);
    }
    made(folder, output).unwrap_or_else(|exit| exit)
}

/// Makes the current folder a project.
pub(crate) fn init(output: &Output) -> Exit {
    let here = match std::env::current_dir() {
        Ok(here) => here,
        Err(error) => return fault("open", Path::new("."), &error, output),
    };
    if here.join(MANIFEST_NAME).exists() {
        output.usage(&format!("this folder is a project already: it has an `{MANIFEST_NAME}`"));
        return Exit::Usage;
    }
    made(&here, output).unwrap_or_else(|exit| exit)
}

fn made(folder: &Path, output: &Output) -> Result<Exit, Exit> {
    let name = std::path::absolute(folder).ok();
    let name =
        name.as_deref().and_then(Path::file_name).map_or("kernels".into(), |name| name.to_string_lossy());
    // The name as a basic string of TOML.
    let quoted: String = name
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            _ if c.is_control() => format!("\\u{:04X}", u32::from(c)),
            _ => c.to_string(),
        })
        .collect();
    write(
        &folder.join(MANIFEST_NAME),
        &format!("[package]\nname = \"{quoted}\"\nversion = \"0.1.0\"\n"),
        output,
    )?;
    let main = folder.join(MAIN);
    // Never overwrite a file that already exists.
    if !main.exists() {
        write(&main, KERNEL, output)?;
    }
    output.remark(&format!("made the project `{name}`: `hx test` and `hx run {MAIN}` work in its folder"));
    Ok(Exit::Good)
}
