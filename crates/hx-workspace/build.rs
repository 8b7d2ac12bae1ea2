//! Generates the list of the standard library's files, each path below `std/` with its text, and the text of its results of tuning.

#![allow(clippy::disallowed_methods, reason = "a build script reads files")]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../std");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    if root.is_dir() {
        collect(&root.canonicalize()?, "std", &mut files)?;
    }
    files.sort();
    let mut text = String::from("pub(crate) static FILES: &[(&str, &str)] = &[\n");
    for (name, path) in &files {
        text.push_str(&format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string()));
    }
    text.push_str("];\n");
    let tuned = root.join("hx.tuned.toml");
    let tuned = if tuned.is_file() {
        format!("include_str!({:?})", tuned.canonicalize()?)
    } else {
        "\"\"".to_owned()
    };
    text.push_str(&format!(
        "/// The results of tuning that come with the library.\npub(crate) static TUNED: &str = {tuned};\n"
    ));
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("std_files.rs"), text)
}

fn collect(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(last) = path.file_name().and_then(|last| last.to_str()) else { continue };
        let name = format!("{name}/{last}");
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, &name, files)?;
        } else if last.ends_with(".hx") {
            files.push((name, path));
        }
    }
    Ok(())
}
