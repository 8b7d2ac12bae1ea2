//! Tests with projects in memory, as text in and text out.

use std::sync::Arc;

use expect_test::{Expect, expect};
use hx_base::{Db as _, SourceFile, testing::MemorySystem};

use crate::Database;

fn database(files: &[(&str, &str)]) -> Database {
    Database::new(Arc::new(MemorySystem::new(files.iter().copied())))
}

fn paths(db: &Database, files: &[SourceFile]) -> Vec<String> {
    files.iter().map(|file| file.path(db).to_owned()).collect()
}

/// Opens a path and checks which files it lists, which files were loaded, and the contents of the manifest.
fn check(files: &[(&str, &str)], path: &str, expected: Expect) {
    let mut db = database(files);
    let text = match db.open(path) {
        Ok(opened) => {
            let mut text = format!("files: {}\n", paths(&db, &opened.files).join(" "));
            text.push_str(&format!("loaded: {}\n", paths(&db, &db.user_files()).join(" ")));
            if let Some(manifest) = opened.manifest {
                text.push_str(&format!("root: {} name: {:?}\n", manifest.root, manifest.name));
                text.push_str(&format!("target: {:?} seed: {:?}\n", manifest.target, manifest.seed));
                for found in &manifest.diagnostics {
                    let at = found.primary.range;
                    text.push_str(&format!("{:?} {}: {}", at, found.code.id, found.message));
                    found.fixes.iter().for_each(|fix| text.push_str(&format!(" [{}]", fix.title)));
                    found.help.iter().for_each(|help| text.push_str(&format!(" [{help}]")));
                    text.push('\n');
                }
            }
            text
        }
        Err(error) => format!("{}: {error}\n", error.code().id),
    };
    expected.assert_eq(&text);
}

#[test]
fn a_single_file_needs_no_project_and_brings_what_it_uses() {
    let files = [
        ("k/main.hx", "use gemm::tile; use util::{a::x, b}; test \"t\" { deep::er::f(1); }"),
        ("k/gemm.hx", "use outer::y;"),
        ("k/util/a.hx", ""),
        ("k/util/b.hx", ""),
        ("k/unrelated.hx", ""),
        ("deep/er.hx", ""),
        ("outer.hx", "use k::main::nothing;"),
    ];
    check(
        &files,
        "k/main.hx",
        expect![[r#"
        files: k/main.hx
        loaded: deep/er.hx k/gemm.hx k/main.hx k/util/a.hx k/util/b.hx outer.hx
    "#]],
    );
}

#[test]
fn a_project_is_found_upwards_and_loaded_whole() {
    let files = [
        ("p/hx.toml", "[package]\nname = \"p\"\n[build]\ntarget = \"sm_90a\"\n[test]\nseed = 7\n"),
        ("p/a.hx", ""),
        ("p/src/b.hx", ""),
        ("p/src/deep/c.hx", ""),
        ("p/target/old.hx", ""),
        ("p/.hidden/x.hx", ""),
        ("p/nested/hx.toml", ""),
        ("p/nested/d.hx", ""),
        ("other.hx", ""),
    ];
    check(
        &files,
        "p/src/b.hx",
        expect![[r#"
        files: p/src/b.hx
        loaded: p/a.hx p/src/b.hx p/src/deep/c.hx
        root: /p name: Some("p")
        target: Some(sm_90a) seed: Some(7)
    "#]],
    );
    check(
        &files,
        "p/src",
        expect![[r#"
        files: p/src/b.hx p/src/deep/c.hx
        loaded: p/a.hx p/src/b.hx p/src/deep/c.hx
        root: /p name: Some("p")
        target: Some(sm_90a) seed: Some(7)
    "#]],
    );
    check(
        &files,
        "p",
        expect![[r#"
        files: p/a.hx p/src/b.hx p/src/deep/c.hx
        loaded: p/a.hx p/src/b.hx p/src/deep/c.hx
        root: /p name: Some("p")
        target: Some(sm_90a) seed: Some(7)
    "#]],
    );
    check(
        &files,
        "p/nested",
        expect![[r#"
        files: p/nested/d.hx
        loaded: p/nested/d.hx
        root: /p/nested name: None
        target: None seed: None
    "#]],
    );
}

#[test]
fn what_is_wrong_in_a_manifest_has_a_place() {
    let toml = "[pakage]\nname = \"p\"\n[build]\ntarget = \"sm_70\"\nturbo = true\n[run]\ndevice = \"gpu\"\n[test]\nsead = 1\ntimeout = \"long\"\n";
    check(
        &[("hx.toml", toml), ("a.hx", "")],
        "a.hx",
        expect![[r#"
            files: a.hx
            loaded: a.hx
            root: / name: None
            target: None seed: None
            1..7 HX0625: found the table `pakage`, which means nothing [write `package`]
            37..44 HX0505: unknown target `sm_70`; known are sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_100f, sm_100a, sm_103, sm_103a, sm_110, sm_110a, sm_120, sm_120f, sm_120a, sm_121, sm_121a; GPUs of compute capability 7.0, before Ampere, are not supported
            45..50 HX0625: found the key `turbo`, which means nothing [known are `target`, `costs`, `nvrtc`, `cache`]
            73..78 HX0625: found the device `gpu`, expected `auto`, `sim`, `cuda` or `cuda:N`
            86..90 HX0625: found the key `sead`, which means nothing [write `seed`]
            105..111 HX0625: found a value of type string, expected a positive number of seconds
        "#]],
    );
    check(
        &[("hx.toml", "[build\ntarget = 1"), ("a.hx", "")],
        "a.hx",
        expect![[r#"
        files: a.hx
        loaded: a.hx
        root: / name: None
        target: None seed: None
        6..6 HX0625: unclosed table, expected `]`
    "#]],
    );
}

#[test]
fn what_is_not_there_is_an_error() {
    check(
        &[("a.hx", "")],
        "b.hx",
        expect![[r#"
        HX0606: cannot open `b.hx`: no such file or folder
    "#]],
    );
}

#[test]
fn an_overlay_hides_the_disk_until_it_is_removed() {
    let mut db = database(&[("a.hx", "disk")]);
    let file = db.open("a.hx").map(|opened| opened.files[0]).ok();
    let shown = |db: &Database| db.file("a.hx").map(|file| file.text(db).to_owned());
    assert_eq!(Some(db.set_overlay("/a.hx", "editor")), file);
    assert_eq!(db.reload("a.hx"), Ok(()));
    assert_eq!(shown(&db).as_deref(), Some("editor"));
    db.remove_overlay("a.hx");
    assert_eq!(shown(&db).as_deref(), Some("disk"));

    db.set_overlay("new.hx", "unsaved");
    assert_eq!(db.open("new.hx").map(|opened| opened.files.len()).ok(), Some(1));
    db.remove_overlay("new.hx");
    assert!(db.file("new.hx").is_none());
}

#[test]
fn the_standard_library_is_embedded() {
    let mut db = database(&[]);
    let std = db.workspace().files(&db).to_vec();
    for file in std {
        assert!(file.path(&db).starts_with("std/"), "{}", file.path(&db));
        let path = file.path(&db).to_owned();
        assert_eq!(db.open(&path).map(|opened| opened.files).ok(), Some(vec![file]));
    }
}

#[test]
fn the_standard_library_has_no_errors() {
    let db = database(&[]);
    for &file in db.workspace().files(&db) {
        for target in ["sm_80", "sm_89", "sm_90a"].map(hx_target::Target::builtin) {
            let found = hx_compile::check_file(&db, file, target);
            // Targets without roles refuse kernels with roles, and stores by boxes. Nothing else has errors.
            let of_hopper = ["    warp_groups {", "    copy_async(sc, tile(c"];
            let needs = of_hopper.iter().any(|text| file.text(&db).contains(text));
            let expected =
                if needs && !target.has(hx_target::Feature::Roles) { Some("HX0504") } else { None };
            // These kernels have a note that the conditions on their padding are too large to decide.
            let large = ["attention_persistent.hx", "attention_varlen.hx"];
            let is_told =
                |id: &str| id == "HX0311" && large.iter().any(|name| file.path(&db).ends_with(name));
            let found: Vec<_> = found.iter().filter(|one| !is_told(one.code.id)).collect();
            let unexpected = found.iter().any(|one| Some(one.code.id) != expected);
            assert!(
                !unexpected && found.is_empty() == expected.is_none(),
                "{} on {target}: {found:#?}",
                file.path(&db)
            );
        }
    }
}
