//! Definitions, references, rename, highlights, calls, colours.

use expect_test::{Expect, expect};
use hx_base::{SourceFile, TextRange, TextSize};
use hx_workspace::Database;

use super::{MATMUL, check_at, named, with_cursor, with_text};
use crate::Access;

const TEXT: &str = "\
const SCALE = 2.0;
fn twice(x: f32) -> f32 { x * SCALE }
kernel k<BM = 64>(a: f16[m, n], c: mut f16[m, n]) grid [cdiv(m, BM)] threads 128 {
    let [bm] = block_idx;
    let r = load(tile(a, [BM, 16])[.., .., bm, 0]);
    let s = cast(r, f32);
    s = twice(s);
    copy(cast(s, f16), tile(c, [BM, 16])[.., .., bm, 0]);
}
test \"t\" for (m, n) in [(1, 2)] {
    let a = randn(f16, [m, n], seed: 1);
    let c = empty(f16, [m, n]);
    k<BM = 32>(a: a, c: c);
}
";

fn at(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "{from}");
    TEXT.replacen(from, to, 1)
}

fn check_definition(text: &str, expected: Expect) {
    let ask = |db: &Database, file, at| {
        let found = crate::definition(db, file, at)?;
        Ok(found.map_or("nothing".to_owned(), |(_, to)| named(db, to.file, to.range)))
    };
    check_at(text, ask, expected);
}

fn check_references(text: &str, expected: Expect) {
    let ask = |db: &Database, file, at| {
        let found = crate::references(db, file, at, true)?;
        Ok(found.iter().map(|at| format!("{}\n", named(db, at.file, at.range))).collect())
    };
    check_at(text, ask, expected);
}

fn check_rename(text: &str, new_name: &str, expected: Expect) {
    let ask = |db: &Database, file: SourceFile, at| {
        Ok(match crate::rename(db, file, at, new_name)? {
            Err(error) => error,
            Ok(mut edits) => {
                edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
                let old = file.text(db);
                let mut text = old.to_owned();
                for edit in edits {
                    text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
                }
                let lines = text.lines().zip(old.lines()).filter(|(new, old)| new != old);
                lines.map(|(new, _)| format!("{}\n", new.trim())).collect()
            }
        })
    };
    check_at(text, ask, expected);
}

#[test]
fn names_lead_to_their_definitions() {
    check_definition(&at("x * SCALE", "x * SC$0ALE"), expect!["k.hx:1:7 SCALE"]);
    check_definition(&at("cast(r, f32)", "cast($0r, f32)"), expect!["k.hx:5:9 r"]);
    check_definition(&at("tile(a, [BM", "tile(a, [B$0M"), expect!["k.hx:3:10 BM"]);
    check_definition(&at("[cdiv(m, BM)]", "[cdiv(m$0, BM)]"), expect!["k.hx:3:26 m"]);
    check_definition(&at("s = twice(s)", "s = twi$0ce(s)"), expect!["k.hx:2:4 twice"]);
    check_definition(&at("k<BM = 32>", "k<$0BM = 32>"), expect!["k.hx:3:10 BM"]);
    check_definition(&at("(a: a, c: c)", "(a$0: a, c: c)"), expect!["k.hx:3:19 a"]);
    check_definition(&at("k<BM = 32>", "$0k<BM = 32>"), expect!["k.hx:3:8 k"]);
    check_definition("use std::math::LO$0G2E;\n", expect!["std/math.hx:4:7 LOG2E"]);
    check_definition("use std::ma$0th::LOG2E;\n", expect!["std/math.hx:1:1 "]);
    check_definition(&at("cast(r, f32)", "ca$0st(r, f32)"), expect!["nothing"]);
}

#[test]
fn references_are_found_in_every_form() {
    check_references(
        &at("<BM = 64>", "<B$0M = 64>"),
        expect![[r#"
        k.hx:3:10 BM
        k.hx:3:65 BM
        k.hx:5:27 BM
        k.hx:8:33 BM
        k.hx:13:7 BM
    "#]],
    );
    check_references(
        &at("let s = cast", "let $0s = cast"),
        expect![[r#"
        k.hx:6:9 s
        k.hx:7:5 s
        k.hx:7:15 s
        k.hx:8:15 s
    "#]],
    );
    check_references(
        &at("a: f16[m, n]", "a: f16[$0m, n]"),
        expect![[r#"
        k.hx:3:26 m
        k.hx:3:44 m
        k.hx:3:62 m
    "#]],
    );
}

#[test]
fn highlights_tell_reading_from_writing() {
    let (db, file, at) = with_cursor(&at("let s = cast", "let $0s = cast"));
    let found = crate::highlights(&db, file, at).expect("nothing is written");
    let access: Vec<Access> = found.iter().map(|h| h.access).collect();
    assert_eq!(access, [Access::Write, Access::Write, Access::Read, Access::Read]);
}

#[test]
fn renaming_changes_every_use() {
    check_rename(
        &at("<BM = 64>", "<B$0M = 64>"),
        "ROWS",
        expect![[r#"
        kernel k<ROWS = 64>(a: f16[m, n], c: mut f16[m, n]) grid [cdiv(m, ROWS)] threads 128 {
        let r = load(tile(a, [ROWS, 16])[.., .., bm, 0]);
        copy(cast(s, f16), tile(c, [ROWS, 16])[.., .., bm, 0]);
        k<ROWS = 32>(a: a, c: c);
    "#]],
    );
    check_rename(
        &at("kernel k", "kernel $0k"),
        "scale",
        expect![[r#"
        kernel scale<BM = 64>(a: f16[m, n], c: mut f16[m, n]) grid [cdiv(m, BM)] threads 128 {
        scale<BM = 32>(a: a, c: c);
    "#]],
    );
    check_rename(
        &at("(a: f16", "($0a: f16"),
        "input",
        expect![[r#"
        kernel k<BM = 64>(input: f16[m, n], c: mut f16[m, n]) grid [cdiv(m, BM)] threads 128 {
        let r = load(tile(input, [BM, 16])[.., .., bm, 0]);
        k<BM = 32>(input: a, c: c);
    "#]],
    );
    check_rename(
        &at("let s = cast", "let $0s = cast"),
        "r",
        expect!["`r` is taken: there is a local of that name"],
    );
    check_rename(
        &at("let s = cast", "let $0s = cast"),
        "let",
        expect!["`let` is not a name: names are made of ASCII letters, digits and `_`, and are not keywords"],
    );
    check_rename(&at("cast(r, f32)", "ca$0st(r, f32)"), "x", expect!["`cast` is part of the language"]);
    check_rename("use std::math::LO$0G2E;\n", "L", expect!["`LOG2E` is defined in the standard library"]);
}

#[test]
fn calls_go_both_ways() {
    let (db, file, at) = with_cursor(&at("fn twice", "fn tw$0ice"));
    let item = crate::prepare_calls(&db, file, at).expect("nothing is written").expect("it is a function");
    assert_eq!(item.name, "twice");
    let callers = crate::incoming_calls(&db, file, item.name_range.start()).expect("nothing is written");
    let told = |call: &crate::Call| format!("{} × {}", call.item.name, call.places.len());
    assert_eq!(callers.iter().map(told).collect::<Vec<_>>(), ["k × 1"]);
    let kernel = callers[0].item.name_range.start();
    let called = crate::outgoing_calls(&db, file, kernel).expect("nothing is written");
    assert_eq!(called.iter().map(told).collect::<Vec<_>>(), ["twice × 1"]);
    let callers = crate::incoming_calls(&db, file, kernel).expect("nothing is written");
    assert_eq!(callers.iter().map(told).collect::<Vec<_>>(), ["t × 1"]);
}

#[test]
fn colours_say_what_names_mean() {
    let (db, file) = with_text(TEXT);
    let whole = TextRange::up_to(TextSize::of(TEXT));
    let tokens = crate::semantic_tokens(&db, file, whole).expect("nothing is written");
    let line = |token: &crate::SemanticToken| {
        let mut text = format!("{} {}", &TEXT[token.range], token.kind.name());
        for (bit, name) in crate::Modifiers::NAMES.iter().enumerate() {
            if token.modifiers.0 & (1 << bit) != 0 {
                text.push_str(&format!(" {name}"));
            }
        }
        text + "\n"
    };
    // Keep the first token of each kind.
    let mut seen = Vec::new();
    let mut out = String::new();
    for token in &tokens {
        if !seen.contains(&(token.kind, token.modifiers)) {
            seen.push((token.kind, token.modifiers));
            out.push_str(&line(token));
        }
    }
    expect![[r#"
        const keyword
        SCALE variable declaration readonly static
        = operator
        2.0 number
        twice function declaration
        x parameter declaration
        f32 type defaultLibrary
        x parameter
        SCALE variable readonly static
        k function declaration static
        BM typeParameter declaration readonly
        m enumMember declaration readonly
        m enumMember readonly
        cdiv function defaultLibrary
        BM typeParameter readonly
        bm variable declaration
        block_idx variable readonly defaultLibrary
        bm variable
        s variable modification
        twice function
        "t" string test
        seed property
        k function static
    "#]]
    .assert_eq(&out);
    let ordered = tokens.windows(2).all(|pair| pair[0].range.end() <= pair[1].range.start());
    assert!(ordered, "tokens do not overlap");
}

#[test]
fn every_word_of_the_example_has_a_colour() {
    let (db, file) = with_text(MATMUL);
    let whole = TextRange::up_to(TextSize::of(MATMUL));
    let tokens = crate::semantic_tokens(&db, file, whole).expect("nothing is written");
    let coloured = |at: usize| {
        tokens.iter().any(|t| usize::from(t.range.start()) <= at && at < usize::from(t.range.end()))
    };
    for (at, c) in MATMUL.char_indices() {
        assert!(
            !c.is_alphanumeric() || coloured(at),
            "no colour at {at}: {:?}",
            &MATMUL[at..(at + 20).min(MATMUL.len())]
        );
    }
}

const CAPTURES: &str = "\
use std::activations::silu;
const LIMIT = 3;
fn twice(x: f32) -> f32 { x + x }
fn outer(v: f32, w: f32) -> f32 {
    let p = v * 2.0;
    let r = w; let q = where(w > 0.0, r + p, p);
    twice(q) + max(p, w)
}
kernel k<B = 32>(x: f32[n], y: mut f32[n]) grid [cdiv(n, B)] threads 32 {
    let i = block_idx;
    let t = load(tile(x, [B])[.., i]);
    let u = silu(outer(t, t));
    for j in 0..LIMIT { u = u + cast(j, f32); }
    copy(u, tile(y, [B])[.., block_idx]);
}
test \"k\" {
    let (a, b) = (ones(f32, [40]), empty(f32, [40]));
    k(a, b);
    assert_eq(b, full(f32, [40], 11.0));
}
";

/// A name in an inner scope, and uses of the new name elsewhere, are captures.
#[test]
fn renaming_captures_no_name() {
    let ask = |name: &str, new: &str| {
        let (line, name) = name.split_once(' ').expect("a line and a name");
        let above = CAPTURES.split_inclusive('\n').take(line.parse::<usize>().expect("a line") - 1);
        let start: usize = above.map(str::len).sum();
        let at = start + CAPTURES[start..].find(name).expect("the name");
        let (db, file) = with_text(CAPTURES);
        let at = TextSize::try_from(at).expect("a short text");
        match crate::rename(&db, file, at, new).expect("nothing is written") {
            Err(reason) => format!("{name} to {new}: {reason}\n"),
            Ok(edits) => format!("{name} to {new}: {} edits\n", edits.len()),
        }
    };
    let cases = [
        ("2 LIMIT", "B"),
        ("2 LIMIT", "n"),
        ("2 LIMIT", "u"),
        ("2 LIMIT", "j"),
        ("2 LIMIT", "k"),
        ("2 LIMIT", "f32"),
        ("2 LIMIT", "block_idx"),
        ("2 LIMIT", "é"),
        ("2 LIMIT", "a"),
        ("2 LIMIT", "p"),
        ("3 twice", "max"),
        ("3 twice", "silu"),
        ("3 twice", "outer"),
        ("3 twice", "p"),
        ("3 twice", "q"),
        ("5 p ", "twice"),
        ("5 p ", "max"),
        ("5 p ", "v"),
        ("5 p ", "load"),
        ("9 B", "n"),
        ("9 B", "x"),
        ("9 B", "LIMIT"),
        ("9 x:", "y"),
        ("9 x:", "tile"),
        ("9 n]", "cdiv"),
        ("9 k<", "b"),
        ("9 k<", "load"),
        ("9 k<", "empty"),
        ("9 k<", "ones"),
        ("10 i ", "block_idx"),
        ("10 i ", "copy"),
        ("10 i ", "sum"),
        ("11 t =", "outer"),
        ("11 t =", "load"),
        ("11 t =", "silu"),
        ("13 j ", "u"),
        ("13 j ", "LIMIT"),
        ("13 j ", "cast"),
        ("13 j ", "x"),
        ("17 a,", "k"),
        ("17 a,", "full"),
        ("17 a,", "zeros"),
    ];
    let said: String = cases.iter().map(|(name, new)| ask(name, new)).collect();
    expect![[r#"
        LIMIT to B: `B` in line 13 would mean a compile-time parameter of `k`
        LIMIT to n: `n` in line 9 means a dimension of `k`, and would mean the renamed `LIMIT`
        LIMIT to u: `u` in line 13 would mean a local
        LIMIT to j: 2 edits
        LIMIT to k: `k` is taken: there is a kernel of that name
        LIMIT to f32: `f32` in line 13 means a type, and would mean the renamed `LIMIT`
        LIMIT to block_idx: `block_idx` in line 10 means a built-in name, and would mean the renamed `LIMIT`
        LIMIT to é: `é` is not a name: names are made of ASCII letters, digits and `_`, and are not keywords
        LIMIT to a: 2 edits
        LIMIT to p: 2 edits
        twice to max: `max` in line 7 means a built-in name, and would mean the renamed `twice`
        twice to silu: `silu` in line 12 means the fn `silu`, and would mean the renamed `twice`
        twice to outer: `outer` is taken: there is a fn of that name
        twice to p: `p` in line 7 would mean a local
        twice to q: `q` in line 7 would mean a local
        p  to twice: `twice` in line 7 means the fn `twice`, and would mean the renamed `p`
        p  to max: `max` in line 7 means a built-in name, and would mean the renamed `p`
        p  to v: `v` is taken: there is a parameter of that name
        p  to load: 4 edits
        B to n: `n` is taken: there is a dimension of that name
        B to x: `x` is taken: there is a parameter of that name
        B to LIMIT: `LIMIT` in line 13 means the const `LIMIT`, and would mean the renamed `B`
        x: to y: `y` is taken: there is a parameter of that name
        x: to tile: `tile` in line 11 means a built-in name, and would mean the renamed `x`
        n] to cdiv: `cdiv` in line 9 means a built-in name, and would mean the renamed `n`
        k< to b: `b` in line 18 would mean a local
        k< to load: `load` in line 11 means a built-in name, and would mean the renamed `k`
        k< to empty: `empty` in line 17 means a built-in name, and would mean the renamed `k`
        k< to ones: `ones` in line 17 means a built-in name, and would mean the renamed `k`
        i  to block_idx: `block_idx` in line 14 means a built-in name, and would mean the renamed `i`
        i  to copy: `copy` in line 14 means a built-in name, and would mean the renamed `i`
        i  to sum: 2 edits
        t = to outer: `outer` in line 12 means the fn `outer`, and would mean the renamed `t`
        t = to load: 3 edits
        t = to silu: `silu` in line 12 means the fn `silu`, and would mean the renamed `t`
        j  to u: `u` is taken: there is a local of that name
        j  to LIMIT: 2 edits
        j  to cast: `cast` in line 13 means a built-in name, and would mean the renamed `j`
        j  to x: `x` is taken: there is a parameter of that name
        a, to k: `k` in line 18 means the kernel `k`, and would mean the renamed `a`
        a, to full: `full` in line 19 means a built-in name, and would mean the renamed `a`
        a, to zeros: 2 edits
    "#]]
    .assert_eq(&said);
}

/// An accepted rename causes no finding about names or types.
#[test]
fn accepted_renames_compile() {
    let (db, file) = with_text(CAPTURES);
    let mut names = crate::names::occurrences(&db, file);
    let words: std::collections::BTreeSet<&str> = names.iter().map(|o| &CAPTURES[o.range]).collect();
    names.retain(|o| o.role == crate::names::Role::Definition);
    let mut accepted = 0;
    // Only every sixth pair is tried, because all pairs take too long.
    for (i, name) in names.iter().enumerate() {
        for (j, new) in words.iter().enumerate().skip(i % 6).step_by(6) {
            let Ok(edits) = crate::rename(&db, file, name.range.start(), new).expect("nothing is written")
            else {
                continue;
            };
            accepted += 1;
            let mut text = CAPTURES.to_owned();
            for edit in edits.iter().rev() {
                text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
            }
            let (db, file) = with_text(&text);
            let found = hx_compile::check_front(&db, file);
            assert!(found.is_empty(), "{i} {j}: {} to {new}\n{text}\n{found:#?}", &CAPTURES[name.range]);
        }
    }
    assert!(accepted > 25, "{accepted} renames were accepted");
}

#[test]
fn operands_of_ptx_are_uses_of_parameters() {
    let text = "#[ptx(\"prmt.b32 {result}, {first}, {other}, {BYTES};\")]\nfn bytes<BYTES = 0x5410>(fir$0st: u32, other: u32) -> u32;\n";
    check_rename(
        text,
        "x",
        expect![[r##"
        #[ptx("prmt.b32 {result}, {x}, {other}, {BYTES};")]
        fn bytes<BYTES = 0x5410>(x: u32, other: u32) -> u32;
    "##]],
    );
    check_references(
        "#[ptx(\"prmt.b32 {result}, {x}, {x}, {BYT$0ES};\")]\nfn bytes<BYTES = 0x5410>(x: u32) -> u32;\n",
        expect![[r#"
            k.hx:1:38 BYTES
            k.hx:2:10 BYTES
        "#]],
    );
    check_definition("#[ptx(\"abs.f32 {result}, {$0x};\")]\nfn f(x: f32) -> f32;\n", expect!["k.hx:2:6 x"]);
}

#[test]
fn a_result_leads_to_its_type() {
    let text = "fn f(n: i64) -> (i64, i64) where 0 <= $0result[0] { (n, n) }\n";
    check_definition(text, expect!["k.hx:1:17 (i64, i64)"]);
    super::shows::check_hover(
        text,
        expect![[r#"
        k.hx:1:39 result
        ```hx
        result: (int, int)
        ```

        the result of `f`"#]],
    );
    check_rename(text, "both", expect!["`result` is part of the language"]);
    // A parameter of that name would be meant instead.
    check_rename(
        "fn f($0n: i64) -> i64 where 0 <= result { n }\n",
        "result",
        expect!["`result` in line 1 means the result of a function, and would mean the renamed `n`"],
    );
}
