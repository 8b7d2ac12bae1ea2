//! `cargo xtask site`: the book as a site, with the playground in its folder `playground`.
//!
//! The playground is `hx-web` as WebAssembly, in the page of `editors/web`. The chore runs other programs: a Rust toolchain with
//! the library for wasm32, `wasm-bindgen` of the version in `Cargo.lock`, Node.js, and mdBook.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{root, say};

/// The variable that names the cargo whose toolchain has the library for wasm32.
const CARGO: &str = "HX_WASM_CARGO";
const TARGET: &str = "wasm32-unknown-unknown";
/// The Cargo profile for the published module.
const RELEASE: &str = "web";
/// The largest allowed size of the module, in bytes after compression with brotli.
const MOST_BYTES: u64 = 4_000_000;

const USAGE: &str = "usage: cargo xtask site [--out DIR] [--profile NAME] [--no-book] [--test]

  --out DIR       the folder of the site; target/site without it
  --profile NAME  the profile of the module: `web` without it, `dev` for work on the module
  --no-book       the playground alone
  --test          then drives the playground in the browser that HX_CHROMIUM names";

/// The arguments of the chore.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    out: PathBuf,
    profile: String,
    book: bool,
    test: bool,
}

/// Builds the site.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let request = read(args)?;
    let (web, page) = (root().join("editors/web"), request.out.join("playground"));
    if !web.join("node_modules").is_dir() {
        return Err(
            "the page needs its packages: run `npm install --no-package-lock` in editors/web".to_owned()
        );
    }
    module(&request.profile, &web.join("dist/parts"))?;
    run_in(&web, Command::new("node").arg("esbuild.js"), "Node.js")?;
    // Build the book first, because mdBook empties its folder.
    if request.book {
        let book =
            Command::new("mdbook").arg("build").arg("book").arg("--dest-dir").arg(&request.out).status();
        finished(book, "mdBook: `cargo install mdbook`, or `--no-book`")?;
    }
    copy(&web.join("dist"), &page)?;
    if request.profile == RELEASE {
        let bytes = compressed(&page.join("hx_web.wasm"))?;
        say(&format!("{}: the module has {:.2} MB in brotli", page.display(), bytes as f64 / 1e6));
        if bytes > MOST_BYTES {
            return Err(format!("the module has {bytes} bytes in brotli, at most {MOST_BYTES} are expected"));
        }
    }
    if request.test {
        if env::var_os("HX_CHROMIUM").is_none() {
            return Err("`--test` needs a browser: HX_CHROMIUM names the program of Chromium".to_owned());
        }
        let mut node = Command::new("node");
        node.args(["--test", "test/"]).env("HX_SITE", &page);
        run_in(&web, &mut node, "Node.js")?;
    }
    Ok(())
}

fn read(args: &[String]) -> Result<Request, String> {
    let mut request =
        Request { out: root().join("target/site"), profile: RELEASE.to_owned(), book: true, test: false };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{arg}` takes a value\n{USAGE}"));
        match arg.as_str() {
            "--out" => {
                let given = value()?;
                request.out = std::path::absolute(given).map_err(|error| format!("`{given}`: {error}"))?;
            }
            "--profile" => request.profile.clone_from(value()?),
            "--no-book" => request.book = false,
            "--test" => request.test = true,
            other => return Err(format!("`{other}` is not understood\n{USAGE}")),
        }
    }
    Ok(request)
}

/// Builds the WebAssembly module and its JavaScript into a folder.
fn module(profile: &str, out: &Path) -> Result<(), String> {
    let cargo =
        env::var_os(CARGO).or_else(|| env::var_os("CARGO")).unwrap_or_else(|| OsString::from("cargo"));
    // Use a separate folder, because the toolchain may differ from the workspace's.
    let target = root().join("target/wasm");
    let mut build = Command::new(&cargo);
    build.args(["build", "--target", TARGET, "--package", "hx-web", "--lib", "--profile", profile]);
    let built = build.env("CARGO_TARGET_DIR", &target).current_dir(root()).status();
    finished(
        built,
        &format!(
            "the library for {TARGET}: `rustup target add {TARGET}`, or {CARGO} names a cargo that has it"
        ),
    )?;
    // Cargo writes the profile `dev` to the folder `debug`.
    let folder = if profile == "dev" { "debug" } else { profile };
    let built = target.join(TARGET).join(folder).join("hx_web.wasm");
    let bindgen = Command::new("wasm-bindgen")
        .args(["--target", "web", "--no-typescript", "--remove-name-section", "--out-dir"])
        .arg(out)
        .arg(&built)
        .status();
    let version = bindgen_version()?;
    finished(bindgen, &format!("wasm-bindgen: `cargo install wasm-bindgen-cli --version {version}`"))
}

/// Returns the version of wasm-bindgen in `Cargo.lock`; the command `wasm-bindgen` must have the same version.
fn bindgen_version() -> Result<String, String> {
    let text =
        fs::read_to_string(root().join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    let lock: toml::Table = text.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let mut found =
        packages.filter(|package| package.get("name").and_then(toml::Value::as_str) == Some("wasm-bindgen"));
    let version = found.next().and_then(|package| package.get("version")?.as_str());
    version.map(str::to_owned).ok_or_else(|| "Cargo.lock has no wasm-bindgen".to_owned())
}

/// Copies the files of the page. Its subfolder is left out, because its modules are bundled into the files.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot write `{}`: {error}", to.display());
    fs::create_dir_all(to).map_err(cannot)?;
    for entry in fs::read_dir(from).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if entry.file_type().map_err(cannot)?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).map_err(cannot)?;
        }
    }
    Ok(())
}

/// Returns the size of a file in bytes after compression with brotli, by Node.js.
fn compressed(file: &Path) -> Result<u64, String> {
    let script = "const bytes = require('node:fs').readFileSync(process.argv[1]);\
        console.log(require('node:zlib').brotliCompressSync(bytes).length)";
    let output = Command::new("node").arg("-e").arg(script).arg(file).output();
    let output = output.map_err(|error| format!("Node.js: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .map_err(|_| format!("Node.js measured no size: {}", String::from_utf8_lossy(&output.stderr)))
}

fn run_in(folder: &Path, command: &mut Command, what: &str) -> Result<(), String> {
    finished(command.current_dir(folder).status(), what)
}

/// Returns an error if a program has failed or is missing. `what` names the program and the way to install it.
fn finished(status: std::io::Result<std::process::ExitStatus>, what: &str) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}; this needs {what}")),
        Err(error) => Err(format!("{error}; this needs {what}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_wasm_bindgen_is_that_of_the_lock_file() {
        let version = bindgen_version().expect("the lock file is there");
        assert!(version.split('.').count() == 3, "{version}");
    }

    #[test]
    fn arguments() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let request = read(&words("--profile dev --no-book --test")).expect("they are understood");
        assert_eq!((request.profile.as_str(), request.book, request.test), ("dev", false, true));
        assert!(
            read(&words("--profile")).is_err_and(|message| message.starts_with("`--profile` takes a value"))
        );
        assert!(
            read(&words("--fast")).is_err_and(|message| message.starts_with("`--fast` is not understood"))
        );
    }
}
