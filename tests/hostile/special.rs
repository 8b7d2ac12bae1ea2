//! Special files: pipes, devices, links in a loop or out of the project, unreadable files, and names with characters that a
//! terminal interprets.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::project::{Hostile, KERNEL};
use super::run;
use crate::lsp::client::{Client, Options};
use crate::support::Sandbox;

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo starts").success());
}

/// Returns a project with one special file of each kind, and one good file.
fn special() -> Hostile {
    let hostile = Hostile::plant();
    let sandbox = &hostile.sandbox;
    sandbox.write("p/hx.toml", b"");
    pipe(&hostile.path("p/pipe.hx"));
    pipe(&hostile.path("p/sub/pipe.hx"));
    sandbox.write("p/binary.hx", &[0xff, 0xfe, 0x00]);
    let link = |to: &str, name: &str| symlink(to, hostile.path(name)).expect("links can be made");
    link("/dev/zero", "p/zero.hx");
    link("round.hx", "p/round.hx");
    link(".", "p/itself");
    link("/", "p/everything");
    link("..", "p/sub/up");
    link("/nowhere/at/all", "p/dangling.hx");
    std::fs::create_dir(hostile.path("p/folder.hx")).expect("folders can be made");
    let large = std::fs::File::create(hostile.path("p/large.hx")).expect("files can be made");
    large.set_len(1 << 40).expect("a file may have holes");
    hostile
}

/// The files that cannot be read, each with the reported reason.
const REASONS: &[(&str, &str)] = &[
    ("binary.hx", "is not UTF-8 text"),
    ("large.hx", "larger than 16 MiB"),
    ("pipe.hx", "it is a pipe, expected a file"),
    ("sub/pipe.hx", "it is a pipe, expected a file"),
    ("zero.hx", "it is a device, expected a file"),
];

#[test]
fn one_bad_file_stops_no_answer_on_the_command_line() {
    let hostile = special();
    for args in
        [&["check"][..], &["test", "--device", "sim"], &["test", "--list"], &["check", "--emit", "cuda"]]
    {
        let ran = run(&hostile, args, &[]);
        assert_eq!(ran.code, 1, "{}", ran.text());
        for (file, reason) in REASONS {
            let told =
                ran.stderr.lines().any(|line| line.contains(&format!("`{file}`")) && line.contains(reason));
            assert!(told, "hx {}: {file}: {}", args.join(" "), ran.text());
        }
        assert!(!ran.stderr.contains("everything") && !ran.stderr.contains("itself"), "{}", ran.text());
    }
    let ran = run(&hostile, &["test", "--device", "sim"], &[]);
    assert!(ran.stdout.contains("test k.hx::nothing spills ... ok"), "{}", ran.text());
    // A good file checks without errors, whatever files lie beside it.
    let ran = run(&hostile, &["check", "k.hx"], &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let ran = run(&hostile, &["check", "k.hx", "pipe.hx"], &[]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stderr.contains("checked 1 file"), "{}", ran.text());
    let ran = run(&hostile, &["fmt", "--check"], &[]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stderr.contains("`pipe.hx`: it is a pipe, expected a file"), "{}", ran.text());
}

#[test]
fn a_pipe_for_a_manifest_or_a_tensor() {
    let sandbox = std::rc::Rc::new(Sandbox::with("p/k.hx", KERNEL));
    sandbox.write("p/load.hx", b"main { print(load(args[0])); }\n");
    pipe(&sandbox.path("p/hx.toml"));
    pipe(&sandbox.path("p/x.npy"));
    let hostile = Hostile { sandbox };
    let ran = run(&hostile, &["check", "k.hx"], &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let ran = run(&hostile, &["check"], &[]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(
        ran.stderr.contains("`hx.toml`: it is a pipe") && ran.stderr.contains("checked 2 files"),
        "{}",
        ran.text()
    );
    for file in ["x.npy", "/dev/zero"] {
        let ran = run(&hostile, &["run", "load.hx", "--device", "sim", "--", file], &[]);
        assert_eq!(ran.code, 1, "{}", ran.text());
        let reason = if file == "x.npy" { "it is a pipe" } else { "it is a device" };
        assert!(
            ran.stderr.contains(&format!("cannot read `{file}`: {reason}, expected a file")),
            "{}",
            ran.text()
        );
    }
}

#[test]
fn one_bad_file_stops_no_answer_in_the_editor() {
    let hostile = special();
    let folders = vec!["p".to_owned()];
    let mut client = Client::over_folder(hostile.sandbox.clone(), &Options { folders, ..Options::default() });
    let version = client.open("p/k.hx", KERNEL);
    let found = client.diagnostics_of("p/k.hx", version);
    assert!(found.is_empty(), "{found:?}");
    for (file, reason) in REASONS {
        let uri = client.uri(&format!("p/{file}"));
        client.wait_for(file, |client| client.diagnostics.contains_key(&uri));
        assert!(client.diagnostics[&uri].to_string().contains(reason), "{}", client.diagnostics[&uri]);
    }
    assert!(!client.hints("p/k.hx").is_empty());
}

/// Characters that a terminal interprets are escaped in titles, messages, shown lines, and file names.
#[test]
fn nothing_of_a_project_reaches_the_terminal_as_it_is() {
    let text = "// \u{1b}]0;owned\u{7}\ntest \"clear \u{1b}[2J and \u{202e}turn\" { assert(1 == 2); \u{9b}\u{1b}[31m }\n\
                test \"passes \u{1b}[1m\" { assert(1 == 1); }\n";
    let sandbox = Sandbox::with("a\u{1b}[5m.hx", text);
    let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    for args in [
        &["check"][..],
        &["check", "--message-format", "short"],
        &["test", "--device", "sim"],
        &["test", "--device", "sim", "--format", "json"],
        &["test", "--device", "sim", "--format", "junit"],
        &["test", "--list"],
        &["fmt", "--check"],
        &["check", "none\u{1b}[5m.hx"],
        &["build", "a\u{1b}[5m.hx", "-o", "x\u{1b}[5m"],
    ] {
        let ran = sandbox.run(args);
        let text = ran.text();
        assert!(!text.contains(acts), "hx {args:?}: {text:?}");
        assert!(ran.code != 101, "{text}");
    }
    let listed = Sandbox::with("a.hx", "test \"a\u{1b}[2Jb\" { assert(1 == 1); }\n");
    let ran = listed.run(&["test", "--list"]);
    assert_eq!(ran.stdout, "a.hx::a\\u{1b}[2Jb\n");
    // The escaped name that is shown also selects the test.
    let ran = listed.run(&["test", "a.hx::a\\u{1b}[2Jb", "--exact", "--device", "sim"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

/// A build replaces the code and the description of its launch together, or neither.
#[test]
fn a_build_replaces_both_files_or_none() {
    let sandbox = Sandbox::with("k.hx", KERNEL);
    let build = ["build", "k.hx", "--emit", "cuda", "-o", "out/k"];
    sandbox.write("out/k.cu", b"the old code");
    std::fs::create_dir(sandbox.path("out/k.json")).expect("folders can be made");
    let ran = sandbox.run(&build);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stderr.contains("cannot write `out/k.json`: it is a folder"), "{}", ran.text());
    assert_eq!(std::fs::read(sandbox.path("out/k.cu")).expect("it is there"), b"the old code");
    std::fs::remove_dir(sandbox.path("out/k.json")).expect("it is empty");
    // The build writes through a link, which stays a link.
    sandbox.write("elsewhere/launch.json", b"old");
    symlink("../elsewhere/launch.json", sandbox.path("out/k.json")).expect("links can be made");
    let ran = sandbox.run(&build);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(std::fs::read(sandbox.path("out/k.cu")).expect("it is there").len() > 100);
    assert!(sandbox.path("out/k.json").is_symlink());
    assert!(std::fs::read(sandbox.path("elsewhere/launch.json")).expect("it is there").len() > 100);
    // No temporary files remain beside them.
    let left: Vec<_> =
        sandbox.path("out").read_dir().expect("it is there").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
