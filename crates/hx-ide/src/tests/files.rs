//! Links, and files that move.

use expect_test::{Expect, expect};
use hx_base::SourceFile;
use hx_workspace::Database;

use super::{check_at, named};
use crate::{LinkTarget, MovedFile};

/// Returns a database with files, from a text with a line `//- /path` above each.
fn project(text: &str) -> Database {
    let mut db = Database::default();
    for part in text.split("//- ").skip(1) {
        let (path, text) = part.split_once('\n').expect("a path and a text");
        db.set_overlay(path.trim(), text);
    }
    db
}

fn file(db: &Database, path: &str) -> SourceFile {
    db.file(path).unwrap_or_else(|| panic!("{path} is there"))
}

/// Moves files, and compares the lines that change.
fn check_move(text: &str, moves: &[(&str, &str)], expected: Expect) {
    let db = project(text);
    let moved: Vec<MovedFile> =
        moves.iter().map(|(from, to)| MovedFile { file: file(&db, from), to: (*to).to_owned() }).collect();
    let mut edits = crate::moved_files(&db, &moved).expect("nothing is written");
    edits.sort_by_key(|edit| (edit.file.path(&db).to_owned(), std::cmp::Reverse(edit.range.start())));
    let mut texts = std::collections::BTreeMap::new();
    for edit in &edits {
        let text =
            texts.entry(edit.file.path(&db).to_owned()).or_insert_with(|| edit.file.text(&db).to_owned());
        text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
    }
    let mut out = String::new();
    for (path, text) in texts {
        let old = file(&db, &path).text(&db);
        for (new, _) in text.lines().zip(old.lines()).filter(|(new, old)| new != old) {
            out += &format!("{path}: {new}\n");
        }
    }
    expected.assert_eq(&out);
}

const PROJECT: &str = "\
//- /p/parts/tiles.hx
fn twice(x: f32) -> f32 { x * 2.0 }
fn thrice(x: f32) -> f32 { x * 3.0 }
//- /p/parts/other.hx
const SIZE = 64;
//- /p/main.hx
use parts::tiles::{twice, thrice as triple};
use parts::other::SIZE;
const A = parts::other::SIZE;
//- /p/second.hx
use parts::{tiles, other};
fn f(x: f32) -> f32 { tiles::twice(x) + parts::tiles::thrice(x) }
//- /p/tiles.hx
const tiles = 1;
";

#[test]
fn a_renamed_file_is_named_in_every_path() {
    check_move(
        PROJECT,
        &[("/p/parts/tiles.hx", "/p/parts/scales.hx")],
        expect![[r#"
            /p/main.hx: use parts::scales::{twice, thrice as triple};
            /p/second.hx: use parts::{scales, other};
            /p/second.hx: fn f(x: f32) -> f32 { scales::twice(x) + parts::scales::thrice(x) }
        "#]],
    );
}

#[test]
fn files_of_the_same_name_elsewhere_are_left_alone() {
    check_move(PROJECT, &[("/p/tiles.hx", "/p/scales.hx")], expect![[""]]);
}

#[test]
fn a_file_moves_to_another_folder() {
    check_move(
        PROJECT,
        &[("/p/parts/other.hx", "/p/sizes/all/other.hx")],
        expect![[r#"
            /p/main.hx: use sizes::all::other::SIZE;
            /p/main.hx: const A = sizes::all::other::SIZE;
        "#]],
    );
}

#[test]
fn paths_in_a_file_that_moves_still_lead_to_their_files() {
    check_move(
        "//- /p/a/main.hx\nuse near::X;\n//- /p/a/near.hx\nconst X = 1;\n",
        &[("/p/a/main.hx", "/p/b/main.hx")],
        expect![[r#"
            /p/a/main.hx: use a::near::X;
        "#]],
    );
}

#[test]
fn a_folder_moves_with_its_files() {
    check_move(
        PROJECT,
        &[("/p/parts/tiles.hx", "/p/bits/tiles.hx"), ("/p/parts/other.hx", "/p/bits/other.hx")],
        expect![[r#"
            /p/main.hx: use bits::tiles::{twice, thrice as triple};
            /p/main.hx: use bits::other::SIZE;
            /p/main.hx: const A = bits::other::SIZE;
            /p/second.hx: fn f(x: f32) -> f32 { tiles::twice(x) + bits::tiles::thrice(x) }
        "#]],
    );
}

#[test]
fn a_name_that_no_path_can_have_changes_nothing() {
    check_move(PROJECT, &[("/p/parts/tiles.hx", "/p/parts/my-tiles.hx")], expect![[""]]);
}

#[test]
fn links_lead_to_files_and_pages() {
    let db = project(
        "\
//- /p/k.hx
//! See [the page](https://example.org/a) and [notes](notes.md#top).
use std::math::LOG2E;
// [not a doc comment](x)
main {
    let a = load(\"a.npy\");
    let b = load(\"a\\\\b.npy\");
    print(\"c.npy\");
    save(\"out.safetensors\", [(\"a\", a)]);
}
",
    );
    let k = file(&db, "/p/k.hx");
    let mut out = String::new();
    for link in crate::links(&db, k).expect("nothing is written") {
        let to = match link.to {
            LinkTarget::Source(file) => file.path(&db).to_owned(),
            LinkTarget::Path(path) => format!("file {path}"),
            LinkTarget::Url(url) => format!("url {url}"),
        };
        out += &format!("{} -> {to}\n", &k.text(&db)[link.range]);
    }
    expect![[r#"
        https://example.org/a -> url https://example.org/a
        notes.md#top -> file notes.md#top
        math -> std/math.hx
        a.npy -> file a.npy
        out.safetensors -> file out.safetensors
    "#]]
    .assert_eq(&out);
}

fn check_type(text: &str, expected: Expect) {
    let ask = |db: &Database, file, at| {
        let found = crate::type_definition(db, file, at)?;
        Ok(found.map_or("nothing".to_owned(), |to| named(db, to.file, to.range)))
    };
    check_at(text, ask, expected);
}

#[test]
fn a_type_comes_from_a_parameter_or_a_function() {
    let text = "\
fn twice(x: f32) -> f32 { x * 2.0 }
kernel k<T: type = f16, BM = 64>(a: T[m, n], b: f16[m, n], c: mut f16[m, n]) grid [cdiv(m, BM)] threads 128 {
    let [bm] = block_idx;
    let r = load(tile(a, [BM, 16])[.., .., bm, 0]);
    let v = tile(b, [BM, 16])[.., .., bm, 0];
    let s = cast(r, f16);
    copy(s, tile(c, [BM, 16])[.., .., bm, 0]);
}
";
    let at = |place: &str| text.replacen(place, &format!("$0{place}"), 1);
    check_type(&at("r = load"), expect!["k.hx:2:10 T"]);
    check_type(&at("a: T"), expect!["k.hx:2:10 T"]);
    check_type(&at("v = tile"), expect!["k.hx:2:46 b"]);
    check_type(&at("s = cast"), expect!["nothing"]);
    check_type(&at("b: f16"), expect!["nothing"]);
}
