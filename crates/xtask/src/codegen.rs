//! Generates the syntax kinds and the typed AST from `grammar/hx.ungram`.
//!
//! [`model`] parses the grammar to plain data, and [`emit`] turns the data into Rust. Neither knows the parser: tests of
//! `hx-syntax` check the parser's trees against the grammar. The generated files are committed, and a test here fails if they are
//! stale.

use std::{fs, path::PathBuf};

mod emit;
mod model;

const GRAMMAR: &str = "grammar/hx.ungram";

/// A generated file: its path below the workspace's root, and its text.
struct Generated {
    path: &'static str,
    text: String,
}

/// Writes the generated files, or with `--check` fails if one differs.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask codegen [--check]".to_owned()),
    };
    for file in generate()? {
        let path = crate::root().join(file.path);
        if is_fresh(&path, &file.text) {
            continue;
        }
        if check {
            return Err(stale(file.path));
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        fs::write(&path, file.text).map_err(|error| format!("{}: {error}", path.display()))?;
        crate::say(&format!("wrote {}", file.path));
    }
    Ok(())
}

fn generate() -> Result<Vec<Generated>, String> {
    let path = crate::root().join(GRAMMAR);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let model = model::Model::read(&text)?;
    Ok(vec![
        Generated { path: "crates/hx-syntax/src/kind/generated.rs", text: emit::kinds(&model) },
        Generated { path: "crates/hx-syntax/src/ast/generated.rs", text: emit::ast(&model) },
    ])
}

fn is_fresh(path: &PathBuf, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|old| old == text)
}

fn stale(path: &str) -> String {
    format!("{path} is not what {GRAMMAR} says: run `cargo xtask codegen` and commit the result")
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_fresh() {
        for file in super::generate().unwrap() {
            let path = crate::root().join(file.path);
            assert!(super::is_fresh(&path, &file.text), "{}", super::stale(file.path));
        }
    }
}
