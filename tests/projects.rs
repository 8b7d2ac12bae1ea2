//! Verbs that manage a project: `new`, `init`, `cache`, `clean`, `completions`.

use expect_test::expect;

use crate::support::Sandbox;

#[test]
fn a_new_project_passes_its_test_and_runs() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "some/first"]).check(expect![[r#"
        exit 0
        --- stderr
        made the project `first`: `hx test` and `hx run main.hx` work in its folder
    "#]]);
    let ran = sandbox.run_with(&["test", "some/first"], &[("HX_DEVICE", "sim")]);
    assert_eq!(ran.stdout.lines().last(), Some("2 passed, 0 failed, 0 skipped"), "{}", ran.text());
    let ran = sandbox.run_with(&["run", "some/first/main.hx"], &[("HX_DEVICE", "sim")]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.starts_with("f32[4, 8]\n"), "{}", ran.text());
    let formatted = sandbox.run(&["fmt", "--check", "some/first"]);
    assert_eq!(formatted.code, 0, "{}", formatted.text());
    // Existing files are kept.
    sandbox.run(&["new", "some"]).check(expect![[r#"
        exit 2
        --- stderr
        error: `some` is there already; `hx init` makes a project of a folder

        For more information, try '--help'.
    "#]]);
}

#[test]
fn a_folder_becomes_a_project_once() {
    let sandbox = Sandbox::with("main.hx", "const MINE = 1;\n");
    assert_eq!(sandbox.run(&["init"]).code, 0);
    assert_eq!(std::fs::read_to_string(sandbox.path("main.hx")).ok().as_deref(), Some("const MINE = 1;\n"));
    sandbox.run(&["init"]).check(expect![[r#"
        exit 2
        --- stderr
        error: this folder is a project already: it has an `hx.toml`

        For more information, try '--help'.
    "#]]);
}

#[test]
fn the_cache_is_shown_and_emptied() {
    let sandbox = Sandbox::new();
    let entry = format!("cache/ab/{}.kernel", "c".repeat(62));
    sandbox.write(&entry, &[0; 1 << 20]);
    sandbox.write("cache/ab/cd.kernel", b"not made by hx");
    sandbox.write("cache/tests/00000000000000ab.json", b"{}");
    sandbox.run(&["cache"]).check(expect![[r#"
        exit 0
        --- stdout
        $DIR/cache
        1 kernel, 1.0 MiB
    "#]]);
    sandbox.run(&["cache", "clear"]).check(expect![[r#"
        exit 0
        --- stderr
        removed 1 kernel, 1.0 MiB
    "#]]);
    assert!(!sandbox.path(&entry).exists() && sandbox.path("cache/ab/cd.kernel").exists());
    assert!(sandbox.path("cache/tests/00000000000000ab.json").exists());
    assert_eq!(sandbox.run(&["clean"]).code, 0);
    assert!(!sandbox.path("cache/tests").exists());
}

#[test]
fn shells_learn_the_verbs() {
    let ran = Sandbox::new().run(&["completions", "bash"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("--keep-going") && ran.stdout.contains("completions"));
    assert_eq!(Sandbox::new().run(&["completions", "tcsh"]).code, 2);
}

/// Imports do not depend on the current folder.
#[test]
fn a_file_is_checked_from_any_folder_of_its_project() {
    let sandbox = Sandbox::with("hx.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\n");
    sandbox.write("a.hx", b"const A = 1;\n");
    sandbox.write("sub/deep/c.hx", b"use a::A;\nuse sub::b::B;\nconst C = A + B;\n");
    sandbox.write("sub/b.hx", b"const B = 2;\n");
    for (folder, file) in [(".", "sub/deep/c.hx"), ("sub", "deep/c.hx"), ("sub/deep", "c.hx")] {
        let mut command = sandbox.command(&["check", file], &[]);
        let ran = command.current_dir(sandbox.path(folder)).output().expect("hx runs");
        assert!(ran.status.success(), "in {folder}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn nothing_to_check_is_a_mistake() {
    let sandbox = Sandbox::with("notes.txt", "");
    sandbox.run(&["check"]).check(expect![[r#"
        exit 2
        --- stderr
        error: there is no `.hx` file in `.`

        For more information, try '--help'.
    "#]]);
    sandbox.run(&["new", ""]).check(expect![[r#"
        exit 2
        --- stderr
        error: a project needs a name or a path, and this one is empty

        For more information, try '--help'.
    "#]]);
}

/// The name of a folder may hold characters that a string of TOML does not.
#[test]
fn a_project_whose_folder_has_an_odd_name() {
    let sandbox = Sandbox::new();
    let folder = "tab\tand \"quotes\"";
    assert_eq!(sandbox.run(&["new", folder]).code, 0);
    let ran = sandbox.run_with(&["test", folder], &[("HX_DEVICE", "sim")]);
    assert_eq!(ran.stdout.lines().last(), Some("2 passed, 0 failed, 0 skipped"), "{}", ran.text());
}
