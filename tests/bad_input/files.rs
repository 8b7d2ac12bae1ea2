//! Files that are missing, are not regular files, or have the wrong content.

use expect_test::{Expect, expect};

use crate::support::Sandbox;

/// Runs `load("x.npy")` on a file with these bytes.
fn check_load(bytes: &[u8], expected: Expect) {
    let sandbox = Sandbox::with("a.hx", "main { print(load(args[0])); }\n");
    sandbox.write("x.npy", bytes);
    sandbox
        .run(&["run", "a.hx", "--device", "sim", "--message-format", "short", "--", "x.npy"])
        .check(expected);
}

/// Returns the bytes of a version-1 `.npy` file.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut header = header.to_owned();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), data].concat()
}

const HEADER: &str = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }";

#[test]
fn a_good_one_for_comparison() {
    check_load(
        &npy(HEADER, &[0; 12]),
        expect![[r#"
        exit 0
        --- stdout
        f16[2, 3]
        [[0.0, 0.0, 0.0],
         [0.0, 0.0, 0.0]]
        --- stderr
        device: simulator (sm_90a)
    "#]],
    );
}

/// A file whose name is not UTF-8 is no module. `hx` reports it instead of skipping it silently.
#[cfg(target_os = "linux")]
#[test]
fn a_file_name_that_is_not_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::with("part/a.hx", "test \"a\" { }\n");
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.hx");
    std::fs::write(sandbox.path("part").join(name), "test \"b\" { }\n").expect("it is written");
    sandbox.run(&["check", "part", "--message-format", "short"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0627]: cannot open `part/bad�.hx`: the name of the file is not UTF-8 text, so no module can name it: rename it
        checked 1 file for sm_90a: no errors
    "#]]);
    let tested = sandbox.run(&["test", "part", "--device", "sim"]).text();
    let told = "bad\u{fffd}.hx`: the name of the file is not UTF-8 text";
    assert!(tested.starts_with("exit 1\n") && tested.contains(told), "{tested}");
}

#[test]
fn a_path_in_the_text_is_relative_to_its_file() {
    let text = "main { print(load(\"x.npy\")); save(\"y.npy\", load(args[0])); print(load(\"y.npy\")); }\n";
    let sandbox = Sandbox::with("part/a.hx", text);
    sandbox.write("part/x.npy", &npy(HEADER, &[0; 12]));
    sandbox.write("z.npy", &npy(HEADER, &[0; 12]));
    sandbox.run(&["run", "part/a.hx", "--device", "sim", "--message-format", "short", "--", "z.npy"]).check(
        expect![[r#"
            exit 0
            --- stdout
            f16[2, 3]
            [[0.0, 0.0, 0.0],
             [0.0, 0.0, 0.0]]
            f16[2, 3]
            [[0.0, 0.0, 0.0],
             [0.0, 0.0, 0.0]]
            --- stderr
            device: simulator (sm_90a)
        "#]],
    );
}

#[test]
fn a_truncated_npy() {
    let sandbox = Sandbox::with("a.hx", "main { print(load(args[0])); }\n");
    sandbox.write("x.npy", &npy(HEADER, &[0; 11]));
    sandbox.run(&["run", "a.hx", "--device", "sim", "--", "x.npy"]).check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        error[HX0607]: `x.npy`: the file is truncated: f16[2, 3] takes 12 bytes of data, and there are 11
           ╭─[ a.hx:1:14 ]
           │
         1 │ main { print(load(args[0])); }
           │              ──────┬──────
           │                    ╰──────── here
        ───╯

        1 error
    "#]]);
    check_load(
        &npy(HEADER, &[0; 12])[..40],
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: it ends within the header
        1 error
    "#]],
    );
    check_load(
        b"\x93NUMPY\x01",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: it ends within the version
        1 error
    "#]],
    );
    check_load(
        b"",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: it does not begin with the .npy magic
        1 error
    "#]],
    );
}

#[test]
fn not_an_npy() {
    check_load(
        b"a,b\n1,2\n",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: it does not begin with the .npy magic
        1 error
    "#]],
    );
    check_load(
        b"\x93NUMPY\x09\x00\x10\x00",
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: version 9.0 is unknown
        1 error
    "#]],
    );
    check_load(
        &npy("what is this", &[0; 12]),
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: the header has 'what is th' where '{' belongs
        1 error
    "#]],
    );
}

#[test]
fn an_npy_with_another_content() {
    check_load(
        &npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", &[0; 16]),
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: the element type '<c8' is not supported: complex numbers
        1 error
    "#]],
    );
    check_load(
        &npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", &[0; 16]),
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: the element type '|O' is not supported: pickled Python objects
        1 error
    "#]],
    );
    check_load(
        &npy("{'descr': '<f2', 'fortran_order': False, }", &[0; 16]),
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: the header lacks 'shape'
        1 error
    "#]],
    );
    check_load(
        &npy("{'descr': '<f2', 'fortran_order': False, 'shape': (-2,), }", &[0; 16]),
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:1:14: error[HX0607]: `x.npy`: not a valid .npy file: the shape holds something that is not an extent
            1 error
        "#]],
    );
    check_load(
        &npy(HEADER, &[0; 14]),
        expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0607]: `x.npy`: the file has trailing bytes: f16[2, 3] takes 12 bytes of data, and there are 14
        1 error
    "#]],
    );
    let huge = "{'descr': '<f2', 'fortran_order': False, 'shape': (4000000000, 4000000000, 4000000000), }";
    check_load(
        &npy(huge, &[0; 16]),
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:1:14: error[HX0633]: `x.npy`: a tensor of shape [4000000000, 4000000000, 4000000000] is too large for this machine
            1 error
        "#]],
    );
    let large = "{'descr': '<f2', 'fortran_order': False, 'shape': (4000000000, 4), }";
    check_load(
        &npy(large, &[0; 16]),
        expect![[r#"
            exit 1
            --- stderr
            device: simulator (sm_90a)
            a.hx:1:14: error[HX0633]: `x.npy`: found a tensor of shape [4000000000, 4], which takes 29.8 GiB to compute with, expected at most 4.0 GiB more
            1 error
        "#]],
    );
}

#[test]
fn a_missing_npy() {
    let sandbox = Sandbox::with("a.hx", "main { print(load(args[0])); }\n");
    let run = |path: &str| {
        sandbox.run(&["run", "a.hx", "--device", "sim", "--message-format", "short", "--", path])
    };
    run("x.npy").check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0606]: cannot read `x.npy`: no such file
        1 error
    "#]]);
    run(".").check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0627]: cannot read `.`: it is a folder
        1 error
    "#]]);
    run("x.csv").check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0606]: cannot read `x.csv`: no such file
        1 error
    "#]]);
    run("").check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:14: error[HX0606]: cannot read ``: no such file
        1 error
    "#]]);
}

#[test]
fn a_place_that_cannot_be_written() {
    let sandbox = Sandbox::with("a.hx", "main { save(args[0], zeros(f16, [2])); }\n");
    let run = |path: &str| {
        sandbox.run(&["run", "a.hx", "--device", "sim", "--message-format", "short", "--", path])
    };
    run("nowhere/x.npy").check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:8: error[HX0627]: cannot write `nowhere/x.npy`: no such folder
        1 error
    "#]]);
    run("a.hx/x.npy").check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:8: error[HX0627]: cannot write `a.hx/x.npy`: not a directory
        1 error
    "#]]);
    run(".").check(expect![[r#"
        exit 1
        --- stderr
        device: simulator (sm_90a)
        a.hx:1:8: error[HX0627]: cannot write `.`: it is a folder
        1 error
    "#]]);
}

#[test]
fn a_missing_source_file() {
    let sandbox = Sandbox::with("a.hx", "");
    sandbox.run(&["check", "b.hx"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0606]: cannot open `b.hx`: no such file or folder
    "#]]);
    sandbox.run(&["run", "b.hx"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0606]: cannot open `b.hx`: no such file or folder
    "#]]);
    sandbox.run(&["test", "b.hx"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0606]: cannot open `b.hx`: no such file or folder
    "#]]);
}

#[test]
fn a_folder_instead_of_a_file() {
    let sandbox = Sandbox::with("folder/a.hx", "main { }\n");
    sandbox.run(&["run", "folder", "--device", "sim"]).check(expect![[r#"
        exit 2
        --- stderr
        error: `folder` is a folder; `hx run` takes one file

        For more information, try '--help'.
    "#]]);
    sandbox.run(&["check", "folder/a.hx/b.hx"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0606]: cannot open `folder/a.hx/b.hx`: no such file or folder
    "#]]);
    sandbox.write("folder/b.hx/c.hx", b"");
    sandbox.run(&["check", "folder/b.hx"]).check(expect![[r#"
        exit 0
        --- stderr
        checked 1 file for sm_90a: no errors
    "#]]);
}

#[test]
fn a_file_of_another_kind() {
    let sandbox = Sandbox::with("notes.txt", "hello\n");
    sandbox.write("a.npy", &npy(HEADER, &[0; 12]));
    sandbox.run(&["check", "notes.txt"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0001]: found `hello` where an item was expected (`use`, `const`, `fn`, `kernel`, `test`, `bench` or `main`)
           ╭─[ notes.txt:1:1 ]
           │
         1 │ hello
           │ ──┬──
           │   ╰──── here
        ───╯

        1 error
    "#]]);
    sandbox.run(&["run", "a.npy"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0627]: cannot open `a.npy`: the file is not UTF-8 text: the byte at offset 0 begins no character
    "#]]);
}

#[test]
fn a_bad_project_file() {
    let sandbox = Sandbox::with("a.hx", "main { }\n");
    sandbox.write("hx.toml", b"[package]\nname = \"a\"\n\n[test]\ndevise = \"sim\"\n");
    sandbox.run(&["check", "a.hx"]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0625]: found the key `devise`, which means nothing
           ╭─[ hx.toml:5:1 ]
           │
         5 │ devise = "sim"
           │ ───┬──
           │    ╰──── here
           │
           │ Help: known are `cases`, `seed`, `timeout`
        ───╯

    "#]]);
    sandbox.write("hx.toml", b"[package\n");
    sandbox.run(&["check", "a.hx", "--message-format", "short"]).check(expect![[r#"
        exit 1
        --- stderr
        hx.toml:1:9: error[HX0625]: unclosed table, expected `]`
    "#]]);
}
