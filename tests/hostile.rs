//! A project whose author wants it to run code: libraries, programs and Python modules in places where a compiler may search, an
//! `hx.toml` that names them, links, pipes and damaged files.
//!
//! The tests open, check, format, test and build it from the command line, and open and save it in an editor. No planted file
//! may run or be loaded, and every command must end. A planted file writes a marker when it runs, so no tracing of the process
//! is needed. [`a_trusted_project_brings_its_own`] shows that the markers work: a trusted project does run its own files.

#![cfg(unix)]

mod project;
mod special;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::lsp::client::{Client, Options};
use crate::support::{Ran, Sandbox};
use project::{Hostile, KERNEL};

/// A limit far above the time of any command here, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a command in the project, with all of the user's variables leading into it. Kills the command if it hangs.
pub(crate) fn run(hostile: &Hostile, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = hostile.sandbox.command(args, variables);
    command.current_dir(hostile.path("p"));
    ended(command, args)
}

/// Returns the result of a command. A command that hangs is a failure.
fn ended(mut command: Command, args: &[&str]) -> Ran {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let text = |stream: Option<Box<dyn std::io::Read + Send>>| {
        let mut stream = stream.expect("piped");
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = text(child.stdout.take().map(|s| Box::new(s) as _));
    let stderr = text(child.stderr.take().map(|s| Box::new(s) as _));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("`hx {}` hangs", args.join(" "));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let read = |thread: std::thread::JoinHandle<String>| thread.join().expect("the stream was read");
    Ran { code: status.code().unwrap_or(-1), stdout: read(stdout), stderr: read(stderr) }
}

/// Every verb that reads a project. Verbs that need the CUDA compiler must end with it and without it.
const VERBS: &[&[&str]] = &[
    &["check"],
    &["check", "k.hx", "--emit", "cuda"],
    &["check", "k.hx", "--emit", "ptx"],
    &["check", "k.hx", "--emit", "sass"],
    &["check", "sub/deep.hx", "--emit", "sass"],
    &["test"],
    &["test", "--no-run"],
    &["run", "k.hx"],
    &["build", "k.hx", "-o", "../out/k"],
    &["bench", "--no-run"],
    &["fmt", "--check"],
    &["layout", "why", "k.hx", "scaled"],
    &["doctor"],
    &["cache"],
    &["repl"],
];

#[test]
fn nothing_of_a_project_runs_on_the_command_line() {
    let hostile = Hostile::plant();
    let path = hostile.hostile_path();
    let home = hostile.path("p/evil").display().to_string();
    // First without variables, then with relative paths, links and `CUDA_HOME` that lead into the project.
    for variables in [&[][..], &[("PATH", path.as_str()), ("CUDA_HOME", home.as_str())][..]] {
        for args in VERBS {
            let ran = run(&hostile, args, variables);
            assert!([0, 1, 3, 4].contains(&ran.code), "hx {}: {}", args.join(" "), ran.text());
            hostile.nothing_ran(&args.join(" "));
        }
    }
    // A relative variable is refused, whatever it points to.
    let emit = ["check", "k.hx", "--emit", "ptx", "--target", "sm_80"];
    let ran = run(&hostile, &emit, &[("HX_NVRTC", "evil/lib")]);
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("HX_NVRTC is `evil/lib`, expected an absolute path"), "{}", ran.text());
    hostile.nothing_ran("HX_NVRTC");
}

/// Fetching runs Python, which searches the current folder for modules first. It must not find those of the project.
#[test]
fn fetching_runs_nothing_of_a_project() {
    let hostile = Hostile::plant();
    let data = hostile.path("data").display().to_string();
    let path = hostile.hostile_path();
    // Without an index the fetch fails. The test does not depend on how.
    let variables = [("HX_DATA_DIR", data.as_str()), ("PATH", path.as_str()), ("PIP_NO_INDEX", "1")];
    let ran = run(&hostile, &["setup"], &variables);
    assert_eq!(ran.code, 3, "{}", ran.text());
    hostile.nothing_ran("setup");
}

#[test]
fn nothing_of_a_project_runs_in_the_editor() {
    let hostile = Hostile::plant();
    let variables = vec![("PATH", hostile.hostile_path())];
    let folders = vec!["p".to_owned()];
    let mut client =
        Client::over_folder(hostile.sandbox.clone(), &Options { variables, folders, ..Options::default() });
    let version = client.open("p/k.hx", KERNEL);
    let found = client.diagnostics_of("p/k.hx", version);
    assert!(found.is_empty(), "{found:?}");
    // A save compiles, because the lens then shows the reported registers.
    client.tell("textDocument/didSave", json!({ "textDocument": client.document("p/k.hx") }));
    for stage in ["ptx", "sass"] {
        let params = json!({ "textDocument": client.document("p/k.hx"), "kernel": "scaled", "stage": stage });
        let id = client.send("hx/emit", params);
        client.answer(id);
    }
    client.ask("textDocument/codeLens", json!({ "textDocument": client.document("p/k.hx") }));
    let status = client.ask("hx/serverStatus", serde_json::Value::Null);
    let inside = hostile.path("p").display().to_string();
    assert!(!status["nvrtc"].as_str().unwrap_or_default().contains(&inside), "{status}");
    // The setting that has no effect is reported at its place in `hx.toml`.
    let manifest = client.uri("p/hx.toml");
    client.wait_for("what is wrong with hx.toml", |client| client.diagnostics.contains_key(&manifest));
    let found = client.diagnostics[&manifest].to_string();
    assert!(found.contains("HX0632") && found.contains("is not trusted"), "{found}");
    hostile.nothing_ran("the editor");
}

#[test]
fn the_cache_of_a_project_stays_in_it() {
    let hostile = Hostile::plant();
    std::os::unix::fs::symlink(hostile.path("outside"), hostile.path("p/link")).expect("links can be made");
    for (cache, is_allowed) in [
        ("target/kernels", true),
        ("../outside", false),
        ("link", false),
        ("link/deeper", false),
        ("sub/../../outside", false),
        ("/tmp/somewhere", false),
    ] {
        hostile.sandbox.write("p/hx.toml", format!("[build]\ncache = \"{cache}\"\n").as_bytes());
        let mut command = hostile.sandbox.command(&["check"], &[]);
        command.current_dir(hostile.path("p")).env_remove("HX_CACHE_DIR");
        let ran = ended(command, &["check"]);
        let place = "hx.toml:2:9";
        let is_refused =
            ran.stderr.contains(place) && ran.stderr.contains("expected a folder in the project");
        assert_eq!(!is_refused, is_allowed, "{cache}: {}", ran.text());
        assert_eq!(ran.code == 0, is_allowed, "{cache}: {}", ran.text());
    }
}

/// `hx cache clear` and `hx clean` remove only files that hx made, and follow no link.
#[test]
fn clearing_removes_only_what_hx_made() {
    let hostile = Hostile::plant();
    let sandbox = &hostile.sandbox;
    let hash = "0123456789abcdef".repeat(4);
    let own = format!("cache/{}/{}.kernel", &hash[..2], &hash[2..]);
    let foreign = ["cache/ab/photo.kernel", "cache/notes/x.kernel", "cache/readme", "cache/tests/mine.txt"];
    sandbox.write(&own, b"an entry");
    sandbox.write("cache/tests/0123456789abcdef.json", b"{}");
    foreign.iter().for_each(|name| sandbox.write(name, b"mine"));
    // A folder behind a link, with a name like those in the cache.
    sandbox.write(&format!("outside/{}.kernel", &hash[2..]), b"mine");
    std::os::unix::fs::symlink(sandbox.path("outside"), sandbox.path("cache/cd")).expect("links can be made");
    let ran = sandbox.run(&["clean"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(!sandbox.path(&own).exists() && !sandbox.path("cache/tests/0123456789abcdef.json").exists());
    for name in foreign {
        assert!(sandbox.path(name).exists(), "{name} is gone");
    }
    assert!(sandbox.path(&format!("outside/{}.kernel", &hash[2..])).exists());
    assert!(sandbox.path("cache/cd").exists());
}

/// The markers work: once the user trusts the project, it runs its own files. So trust is what decides.
#[test]
fn a_trusted_project_brings_its_own() {
    let hostile = Hostile::plant();
    let emit = ["check", "k.hx", "--emit", "ptx"];
    let said = run(&hostile, &["setup", "--trust", "."], &[]);
    assert_eq!(said.code, 0, "{}", said.text());
    let listed = run(&hostile, &["setup", "--list"], &[]);
    assert!(listed.stdout.trim_end().ends_with("/p"), "{}", listed.text());
    run(&hostile, &emit, &[]);
    assert!(hostile.has_run(), "the planted library of a trusted project was not loaded");

    let hostile = Hostile::plant();
    run(&hostile, &["setup", "--trust", "."], &[]);
    let said = run(&hostile, &["setup", "--distrust", "."], &[]);
    assert_eq!(said.code, 0, "{}", said.text());
    run(&hostile, &emit, &[]);
    hostile.nothing_ran("after it was taken back");
    // A list that everybody can write is ignored.
    run(&hostile, &["setup", "--trust", "."], &[]);
    use std::os::unix::fs::PermissionsExt as _;
    let list = hostile.path("state/trusted-projects");
    std::fs::set_permissions(&list, std::fs::Permissions::from_mode(0o666)).expect("it is ours");
    run(&hostile, &emit, &[]);
    hostile.nothing_ran("a list that others may write");
}

/// A worker whose library hangs while loading ends at the request's deadline, and with its parent.
#[test]
fn a_library_that_hangs_does_not_outlive_its_parent() {
    let sandbox = Sandbox::with("k.hx", KERNEL);
    let pid = sandbox.path("pid").display().to_string();
    project::library(
        &sandbox.path("lib/libnvrtc.so.13"),
        &format!(
            "#include <stdio.h>\n#include <unistd.h>\n#include <signal.h>\n\
             __attribute__((constructor)) static void hang(void) {{\n\
               FILE *f = fopen(\"{pid}.new\", \"w\"); fprintf(f, \"%d\", (int)getpid()); fclose(f);\n\
               rename(\"{pid}.new\", \"{pid}\");\n\
               for (;;) pause();\n}}\n"
        ),
    );
    let nvrtc = sandbox.path("lib").display().to_string();
    let mut child = sandbox
        .command(&["check", "k.hx", "--emit", "ptx", "--nvrtc", &nvrtc], &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < deadline, "{what} did not happen");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    until("loading the library", &|| sandbox.path("pid").exists());
    let worker = std::fs::read_to_string(sandbox.path("pid")).expect("the library wrote it");
    let is_alive = || {
        // A process that has ended without being waited for is a zombie.
        let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
        status.contains("State:") && !status.contains("State:\tZ")
    };
    if !cfg!(target_os = "linux") {
        let _ = child.kill();
        let _ = child.wait();
        return;
    }
    assert!(is_alive(), "the worker hangs in its library");
    child.kill().expect("it can be killed");
    let _ = child.wait();
    until("the end of the worker", &|| !is_alive());
}
