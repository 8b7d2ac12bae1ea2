//! `hx fmt`: files, folders, stdin, and files that are left unchanged.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

use super::{check, hx};

const UGLY: &str = "const   N=4;\ntest \"t\" { assert(N==4) ; }\n";
const PRETTY: &str = "const N = 4;\n\ntest \"t\" {\n    assert(N == 4);\n}\n";
const BROKEN: &str = "const N = ;\nfn f( {\n";

/// Formats in a folder with these files, and compares the exit, the streams and the files afterwards.
fn check_files(files: &[(&str, &str)], args: &[&str], want: Expect) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders can be made");
        std::fs::write(path, text).expect("writable");
    }
    let output = hx(folder.path(), args);
    let mut shown = format!("exit {}\n", output.status.code().unwrap_or(-1));
    shown += &String::from_utf8_lossy(&output.stdout);
    shown += "--\n";
    shown += &String::from_utf8_lossy(&output.stderr);
    for (name, before) in files {
        let after = std::fs::read_to_string(folder.path().join(name)).expect("it is still there");
        let state = match after.as_str() {
            PRETTY if *before != PRETTY => "formatted",
            after if after == *before => "as it was",
            _ => "something else",
        };
        shown += &format!("{name}: {state}\n");
    }
    want.assert_eq(&shown);
}

#[test]
fn files_and_folders_are_formatted() {
    let files = [
        ("a.hx", UGLY),
        ("deep/er/b.hx", UGLY),
        ("good.hx", PRETTY),
        ("notes.txt", UGLY),
        (".hidden/c.hx", UGLY),
        ("target/d.hx", UGLY),
    ];
    check_files(
        &files,
        &["fmt"],
        expect![[r#"
        exit 0
        --
        2 files formatted, 1 file unchanged
        a.hx: formatted
        deep/er/b.hx: formatted
        good.hx: as it was
        notes.txt: as it was
        .hidden/c.hx: as it was
        target/d.hx: as it was
    "#]],
    );
    check_files(
        &files,
        &["fmt", "deep", "deep/er/b.hx", "target/d.hx"],
        expect![[r#"
        exit 0
        --
        2 files formatted
        a.hx: as it was
        deep/er/b.hx: formatted
        good.hx: as it was
        notes.txt: as it was
        .hidden/c.hx: as it was
        target/d.hx: formatted
    "#]],
    );
    check_files(
        &files,
        &["fmt", "--check", "."],
        expect![[r#"
        exit 1
        a.hx
        deep/er/b.hx
        --
        2 files would change, 1 file unchanged
        a.hx: as it was
        deep/er/b.hx: as it was
        good.hx: as it was
        notes.txt: as it was
        .hidden/c.hx: as it was
        target/d.hx: as it was
    "#]],
    );
    check_files(
        &[("good.hx", PRETTY)],
        &["fmt", "--check"],
        expect![[r#"
        exit 0
        --
        1 file unchanged
        good.hx: as it was
    "#]],
    );
    check_files(
        &[],
        &["fmt"],
        expect![[r#"
        exit 0
        --
        there is no `.hx` file
    "#]],
    );
}

#[test]
fn broken_files_are_told_and_left_alone() {
    let files = [("a.hx", UGLY), ("b.hx", BROKEN), ("c.hx", UGLY)];
    check_files(
        &files,
        &["fmt"],
        expect![[r#"
        exit 1
        --
        error[HX0001]: found `;` where an expression was expected
           ╭─[ b.hx:1:11 ]
           │
         1 │ const N = ;
           │           ┬
           │           ╰── here
        ───╯

        2 files formatted, 1 file left alone
        a.hx: formatted
        b.hx: as it was
        c.hx: formatted
    "#]],
    );
    check_files(
        &files,
        &["fmt", "--check", "--message-format", "short"],
        expect![[r#"
        exit 1
        a.hx
        c.hx
        --
        b.hx:1:11: error[HX0001]: found `;` where an expression was expected
        2 files would change, 1 file left alone
        a.hx: as it was
        b.hx: as it was
        c.hx: as it was
    "#]],
    );
    check(
        &[],
        &["fmt", "none.hx"],
        expect![[r#"
        exit 1
        --
        error[HX0606]: cannot open `none.hx`: there is no such file
        1 file left alone
    "#]],
    );
    check(
        &[],
        &["fmt", "-", "none.hx"],
        expect![[r#"
        exit 2
        --
        error: `-` stands alone: stdin is formatted to stdout

        For more information, try '--help'.
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("a.txt"), folder.path().join("a.hx"));
    std::fs::write(&file, UGLY).expect("writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("it is ours");
    std::os::unix::fs::symlink("a.txt", &link).expect("links can be made");
    assert!(hx(folder.path(), &["fmt", "a.hx"]).status.success());
    assert!(link.symlink_metadata().expect("it is there").is_symlink());
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), PRETTY);
    assert_eq!(file.metadata().expect("it is there").permissions().mode() & 0o777, 0o640);
}

/// Formats stdin, and compares the exit and both streams.
fn check_stdin(text: &str, args: &[&str], want: Expect) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hx"));
    command.arg("fmt").args(args).env("NO_COLOR", "1").current_dir(Path::new("/"));
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().expect("the binary starts");
    child.stdin.take().expect("it is a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    want.assert_eq(&format!("exit {code}\n{}--\n{}", shown(&output.stdout), shown(&output.stderr)));
}

#[test]
fn stdin_goes_to_stdout() {
    check_stdin(
        UGLY,
        &["-"],
        expect![[r#"
        exit 0
        const N = 4;

        test "t" {
            assert(N == 4);
        }
        --
    "#]],
    );
    check_stdin(
        UGLY,
        &["--stdin-filepath", "kernels/a.hx", "--check"],
        expect![[r#"
        exit 1
        kernels/a.hx
        --
    "#]],
    );
    check_stdin(
        PRETTY,
        &["-", "--check"],
        expect![[r#"
        exit 0
        --
    "#]],
    );
    check_stdin(
        BROKEN,
        &["--stdin-filepath", "kernels/a.hx", "--message-format", "short"],
        expect![[r#"
        exit 1
        --
        kernels/a.hx:1:11: error[HX0001]: found `;` where an expression was expected
    "#]],
    );
    check_stdin(
        "",
        &["-"],
        expect![[r#"
        exit 0
        --
    "#]],
    );
}
