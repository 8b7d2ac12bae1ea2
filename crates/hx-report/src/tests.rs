//! Tests the rendered text. Only a few tests compare ariadne's drawing, in ASCII and without colour, because its boxes may
//! change.

use expect_test::{Expect, expect};
use hx_base::{
    Applicability, Diagnostic, Edit, Fix, Severity, SourceFile, TextRange, codes, sort_diagnostics,
    testing::TestDb,
};

use crate::{Config, Renderer, explain, render, render_placeless, short, summary};

const PLAIN: Config = Config { color: false, ascii: true, width: None };

/// Returns the range of occurrence `n` (from 0) of a word.
fn nth(text: &str, word: &str, n: usize) -> TextRange {
    let at = text.match_indices(word).nth(n).map(|(at, _)| at as u32);
    let start = at.unwrap_or_else(|| panic!("{word} does not occur {} times", n + 1));
    TextRange::new(start.into(), (start + word.len() as u32).into())
}

fn check(db: &TestDb, diagnostic: &Diagnostic, expected: Expect) {
    expected.assert_eq(&render(db, diagnostic, PLAIN));
}

#[test]
fn labels_in_two_files_with_notes_help_and_a_fix() {
    let db = TestDb::default();
    let text = "// größer – naïve\nkernel k(x: f16[m]) grid [1] threads 32 {\n    copy(s, r);\n    // é\n    copy(r, s);\n}\n";
    let other_text = "// ∘∘∘∘∘∘∘∘\nconst Ω: layout = 64 : 1;\n";
    let file = SourceFile::workspace(&db, "kernels/k.hx", text);
    let other = SourceFile::std(&db, "std/o.hx", other_text);
    let line = nth(text, "    copy(r, s);", 0);
    let diagnostic =
        Diagnostic::new(&codes::SHARED_RACE, file, nth(text, "copy(r, s)", 0), "threads race on `s`")
            .label("written here")
            .also(file, nth(text, "copy(s, r)", 0), "read here")
            .also(other, nth(other_text, "64 : 1", 0), "the layout is pinned here")
            .note("thread 0 and thread 32 both touch `s[0]`\nnothing orders the two")
            .help("put a barrier between the two")
            .fix("insert `sync()`", TextRange::empty(line.start()), "    sync();\n", Applicability::Verified);
    check(
        &db,
        &diagnostic,
        expect![[r#"
        error[HX0401]: threads race on `s`
           ,-[ kernels/k.hx:5:5 ]
           |
         3 |     copy(s, r);
           |     ^^^^^|^^^^
           |          `------ read here
           |
         5 |     copy(r, s);
           |     ^^^^^|^^^^
           |          `------ written here
           |
           |-[ std/o.hx:2:19 ]
           |
         2 | const Ω: layout = 64 : 1;
           |                   ^^^|^^
           |                      `---- the layout is pinned here
           |
           | Help 1: put a barrier between the two
           |
           | Help 2: insert `sync()`
           |         5 +     sync();
           |
           | Note: thread 0 and thread 32 both touch `s[0]`
           |       nothing orders the two
        ---'
    "#]],
    );
    expect![[r#"
        kernels/k.hx:5:5: error[HX0401]: threads race on `s`
    "#]]
    .assert_eq(&short(&db, &diagnostic));
    expect![[r#"
        {"code":"HX0401","name":"shared-race","severity":"error","message":"threads race on `s`","spans":[{"path":"kernels/k.hx","primary":true,"label":"written here","start":{"byte":95,"line":5,"column":5},"end":{"byte":105,"line":5,"column":15}},{"path":"kernels/k.hx","primary":false,"label":"read here","start":{"byte":69,"line":3,"column":5},"end":{"byte":79,"line":3,"column":15}},{"path":"std/o.hx","primary":false,"label":"the layout is pinned here","start":{"byte":47,"line":2,"column":19},"end":{"byte":53,"line":2,"column":25}}],"children":[{"severity":"note","message":"thread 0 and thread 32 both touch `s[0]`\nnothing orders the two"},{"severity":"help","message":"put a barrier between the two"}],"suggestions":[{"title":"insert `sync()`","applicability":"verified","edits":[{"path":"kernels/k.hx","start":{"byte":91,"line":5,"column":1},"end":{"byte":91,"line":5,"column":1},"replacement":"    sync();\n"}]}],"rendered":"error[HX0401]: threads race on `s`\n   ╭─[ kernels/k.hx:5:5 ]\n   │\n 3 │     copy(s, r);\n   │     ─────┬────\n   │          ╰────── read here\n   │\n 5 │     copy(r, s);\n   │     ─────┬────\n   │          ╰────── written here\n   │\n   ├─[ std/o.hx:2:19 ]\n   │\n 2 │ const Ω: layout = 64 : 1;\n   │                   ───┬──\n   │                      ╰──── the layout is pinned here\n   │\n   │ Help 1: put a barrier between the two\n   │\n   │ Help 2: insert `sync()`\n   │         5 +     sync();\n   │\n   │ Note: thread 0 and thread 32 both touch `s[0]`\n   │       nothing orders the two\n───╯\n"}
    "#]].assert_eq(&Renderer::new(&db, Config::default()).json(&diagnostic));
}

#[test]
fn places_of_no_width_and_at_the_end_are_drawn() {
    let db = TestDb::default();
    let file = SourceFile::workspace(&db, "a.hx", "const A =\nconst B = 1;\n");
    let at = |offset: u32| TextRange::empty(offset.into());
    check(
        &db,
        &Diagnostic::new(
            &codes::UNEXPECTED_TOKEN,
            file,
            at(9),
            "found the end of the line, expected a value",
        ),
        expect![[r#"
        error[HX0001]: found the end of the line, expected a value
           ,-[ a.hx:1:10 ]
           |
         1 | const A =
           |          |
           |          `- here
        ---'
    "#]],
    );
    check(
        &db,
        &Diagnostic::new(&codes::UNEXPECTED_TOKEN, file, at(23), "found the end of the file")
            .label("it ends here"),
        expect![[r#"
        error[HX0001]: found the end of the file
           ,-[ a.hx:2:14 ]
           |
         2 | const B = 1;
           |              |
           |              `- it ends here
        ---'
    "#]],
    );
    let empty = SourceFile::workspace(&db, "empty.hx", "");
    check(
        &db,
        &Diagnostic::new(&codes::UNEXPECTED_TOKEN, empty, at(0), "nothing is here"),
        expect![[r#"
        error[HX0001]: nothing is here
           ,-[ empty.hx:1:1 ]
           |
         1 |
           | |
           | `- here
        ---'
    "#]],
    );
}

#[test]
fn a_fix_shows_what_becomes_of_the_lines() {
    let db = TestDb::default();
    let text = "let a = x + y;\nlet b = x * y;\nlet c = 1;\n";
    let file = SourceFile::workspace(&db, "a.hx", text);
    let edit = |range, text: &str| Edit { file, range, text: text.to_owned() };
    let edits = vec![
        edit(nth(text, "y", 0), "cast(y, f32)"),
        edit(nth(text, "x", 0), "(x)"),
        edit(nth(text, "let c = 1;\n", 0), ""),
    ];
    let fix = Fix { title: "convert `y`".to_owned(), edits, applicability: Applicability::Maybe };
    let diagnostic =
        Diagnostic::new(&codes::DTYPE_MISMATCH, file, nth(text, "x + y", 0), "`f32` meets `f16`")
            .with_fix(fix);
    check(
        &db,
        &diagnostic,
        expect![[r#"
            error[HX0204]: `f32` meets `f16`
               ,-[ a.hx:1:9 ]
               |
             1 | let a = x + y;
               |         ^^|^^
               |           `---- here
               |
               | Help: convert `y`
               |       1 - let a = x + y;
               |       1 + let a = (x) + cast(y, f32);
               |       3 - let c = 1;
            ---'
        "#]],
    );
}

#[test]
fn a_label_over_several_lines() {
    let db = TestDb::default();
    let text = "fn f() {\n    if c {\n        sync();\n    }\n}\n";
    let file = SourceFile::workspace(&db, "a.hx", text);
    let range = TextRange::new(nth(text, "if", 0).start(), nth(text, "    }", 0).end());
    let diagnostic =
        Diagnostic::new(&codes::DIVERGENT_BARRIER, file, nth(text, "sync()", 0), "not all threads come by")
            .also(file, range, "only some threads\nenter");
    check(
        &db,
        &diagnostic,
        expect![[r#"
            error[HX0407]: not all threads come by
               ,-[ a.hx:3:9 ]
               |
             2 | ,->     if c {
             3 | |           sync();
               | |           ^^^|^^
               | |              `---- here
             4 | |->     }
               | |
               | `----------- only some threads enter
            ---'
        "#]],
    );
}

#[test]
fn without_a_place() {
    let help = ["`--device sim` runs on the CPU".to_owned()];
    expect![[r#"
        error[HX0609]: there is no CUDA driver
          = help: `--device sim` runs on the CPU
    "#]]
    .assert_eq(&render_placeless(&codes::NO_GPU, "there is no CUDA driver", &[], &help, PLAIN));
}

#[test]
fn colour_only_when_asked() {
    let db = TestDb::default();
    let file = SourceFile::workspace(&db, "a.hx", "const A = B;\n");
    let diagnostic = Diagnostic::new(
        &codes::UNKNOWN_NAME,
        file,
        TextRange::new(10.into(), 11.into()),
        "nothing is called `B`",
    );
    assert!(!render(&db, &diagnostic, Config::default()).contains('\x1b'));
    let colored = render(&db, &diagnostic, Config { color: true, ..Config::default() });
    assert!(colored.starts_with("\x1b[1;31merror[HX0101]\x1b[0m"), "{colored:?}");
}

#[test]
fn the_summary_counts() {
    let db = TestDb::default();
    let file = SourceFile::workspace(&db, "a.hx", "x");
    let at = TextRange::empty(0.into());
    let error = |message: &str| Diagnostic::new(&codes::UNKNOWN_NAME, file, at, message);
    let mut all = vec![error("a"), error("b"), error("c").with_severity(Severity::Warning), error("a")];
    sort_diagnostics(&db, &mut all);
    assert_eq!(summary(&all).as_deref(), Some("2 errors, 1 warning"));
    assert_eq!(summary(&[]), None);
}

/// The lines of a file are counted once, however many diagnostics it has, so drawing takes time proportional to their number.
#[test]
fn many_diagnostics_read_their_file_once() {
    let db = TestDb::default();
    let text: String = (0..4000).map(|i| format!("let é{i} = 1;\n")).collect();
    let file = SourceFile::workspace(&db, "a.hx", text.as_str());
    let mut renderer = Renderer::new(&db, PLAIN);
    let mut last = String::new();
    for (at, word) in text.match_indices('é') {
        let range = TextRange::at((at as u32).into(), (word.len() as u32).into());
        let name = Diagnostic::new(&codes::UNUSED_NAME, file, range, "nothing uses it");
        last = renderer.render(&name.fix("remove it", range, "", Applicability::Maybe));
    }
    assert_eq!(renderer.sources.len(), 1);
    expect![[r#"
        warning[HX0106]: nothing uses it
              ,-[ a.hx:4000:5 ]
              |
         4000 | let é3999 = 1;
              |     |
              |     `-- here
              |
              | Help: remove it
              |       4000 - let é3999 = 1;
              |       4000 + let 3999 = 1;
        ------'
    "#]]
    .assert_eq(&last);
}

#[test]
fn a_page_is_text_without_marks_of_markdown() {
    expect![[r#"
        HX0101: unknown-name

        nothing in scope has this name (error)

        Nothing in scope has this name. Scopes are the block and those around it, the parameters and dimensions of the kernel,
        the items of the file, the names that `use` imports, and the built-in names.

        Wrong:

            const BYTES = TILE * 2;

        Right:

            const TILE = 64;
            const BYTES = TILE * 2;

        If exactly one name has a similar spelling, it is offered.
    "#]].assert_eq(&explain(&codes::UNKNOWN_NAME, PLAIN));
    let colored = explain(&codes::UNKNOWN_NAME, Config { color: true, ..Config::default() });
    assert!(colored.contains("\x1b[1mHX0101: unknown-name\x1b[0m\n"), "{colored}");
    assert!(colored.contains("\x1b[36m    const TILE = 64;\x1b[0m\n"), "{colored}");
}

/// In a terminal, long lines are cut around their labels, messages are broken into lines, and no line is longer than the width.
#[test]
fn long_lines_fit_a_terminal() {
    let db = TestDb::default();
    let text = "let first = 1;\nlet very_long_name_of_a_tensor = ones(f32, [128, 128]) @ ones(f32, [128, 64]) + zeros(f32, [128, 128]) * missing_name + ones(f32, [128, 128]);\n\tlet tabs = 1 + missing;\n";
    let file = SourceFile::workspace(&db, "a.hx", text);
    let check = |diagnostic: &Diagnostic, width: usize, expected: Expect| {
        let drawn = render(&db, diagnostic, Config { width: Some(width), ..PLAIN });
        assert!(drawn.lines().all(|line| line.chars().count() <= width), "{drawn}");
        expected.assert_eq(&drawn);
    };
    let at = |word| nth(text, word, 0);
    let short =
        Diagnostic::new(&codes::UNKNOWN_NAME, file, at("missing_name"), "nothing is called `missing_name`");
    check(
        &short,
        80,
        expect![[r#"
        error[HX0101]: nothing is called `missing_name`
           ,-[ a.hx:2:106 ]
           |
         2 | …28]) @ ones(f32, [128, 64]) + zeros(f32, [128, 128]) * missing_name + one…
           |                                                         ^^^^^^|^^^^^
           |                                                               `------- here
        ---'
    "#]],
    );
    let huge = format!("let x = {}missing;", "1 + ".repeat(500_000));
    let huge_file = SourceFile::workspace(&db, "huge.hx", huge.as_str());
    let diagnostic = Diagnostic::new(&codes::UNKNOWN_NAME, huge_file, nth(&huge, "missing", 0), "nothing");
    check(
        &diagnostic,
        60,
        expect![[r#"
        error[HX0101]: nothing
           ,-[ huge.hx:1:2000009 ]
           |
         1 | …1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + missing;
           |                                          ^^^|^^^
           |                                             `----- here
        ---'
    "#]],
    );
    let colored = render(&db, &short, Config { width: Some(80), color: true, ascii: false });
    assert!(colored.contains(" a.hx:2:106 "), "{colored}");
    let talks = Diagnostic::new(
        &codes::UNKNOWN_NAME,
        file,
        at("missing_name"),
        "nothing in scope is called `missing_name`, and this message is longer than the terminal is wide",
    )
    .label("a message of the label that is long enough to need more than one line beside the caret")
    .also(file, at("*"), "the product, which has a message of some length")
    .also(file, at("first"), "short")
    .note("a note that goes on and on, with `code in it` and more words than one line of sixty columns has")
    .fix(
        "insert something with a title that is too long for the line",
        at("missing_name"),
        "present",
        Applicability::Maybe,
    );
    check(
        &talks,
        60,
        expect![[r#"
        error[HX0101]: nothing in scope is called `missing_name`,
            and this message is longer than the terminal is wide
           ,-[ a.hx:2:106 ]
           |
         1 | let first = 1;
           |     ^^|^^
           |       `---- short
         2 | …28, 128]) * missing_name + ones(f32, [128, 128]);
           |            | ^^^^^^|^^^^^
           |            `--------------- the product, which has a
           |                             message of some length
           |                    |
           |                    `------- a message of the label that
           |                             is long enough to need more
           |                             than one line beside the
           |                             caret
           |
           | Help: insert something with a title that is too long
           |       for the line
           |       2 - …[128, 128]) * missing_name + ones(f32, […
           |       2 + …[128, 128]) * present + ones(f32, [128, …
           |
           | Note: a note that goes on and on, with `code in it`
           |       and more words than one line of sixty columns
           |       has
        ---'
    "#]],
    );
    let tabs = Diagnostic::new(&codes::UNKNOWN_NAME, file, at("missing;"), "nothing is called `missing`");
    check(
        &tabs,
        30,
        expect![[r#"
        error[HX0101]: nothing is
            called `missing`
           ,-[ a.hx:3:17 ]
           |
         3 | …bs = 1 + missing;
           |           ^^^^|^^^
           |               `----- here
        ---'
    "#]],
    );
    let wide = TextRange::new(at("very").start(), at("tabs").end());
    check(
        &Diagnostic::new(&codes::UNKNOWN_NAME, file, wide, "over lines").label("from here to there"),
        60,
        expect![[r#"
            error[HX0101]: over lines
               ,-[ a.hx:2:5 ]
               |
             2 | ,-> let very_long_name_of_a_tensor = ones(f32, [128, 1…
             3 | |->     let tabs = 1 + missing;
               | |
               | `-------------------------------- from here to there
            ---'
        "#]],
    );
    let notes = ["a note without a place that is longer than the forty columns".to_owned()];
    expect![[r#"
        error[HX0627]: cannot read
          = note: a note without a place that is
                  longer than the forty columns
    "#]]
    .assert_eq(&render_placeless(
        &codes::IO_ERROR,
        "cannot read",
        &notes,
        &[],
        Config { width: Some(40), ..PLAIN },
    ));
}
