//! Requests in, answers out.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::Playground;

const SCALE: &str = include_str!("../../../book/examples/scale.hx");

fn page(text: &str) -> Playground {
    let mut page = Playground::new();
    assert_eq!(ask(&mut page, json!({ "ask": "edit", "text": text })), Value::Null);
    page
}

fn answer(page: &mut Playground, request: &Value) -> Value {
    serde_json::from_str(&page.answer(&request.to_string())).expect("an answer is JSON")
}

fn ask(page: &mut Playground, request: Value) -> Value {
    let answer = answer(page, &request);
    answer.get("ok").cloned().unwrap_or_else(|| panic!("{request} has no answer: {answer}"))
}

fn refused(page: &mut Playground, request: Value) -> String {
    let answer = answer(page, &request);
    answer["error"].as_str().unwrap_or_else(|| panic!("{request} has an answer: {answer}")).to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the offset of a word in UTF-16 units.
fn unit(text: &str, word: &str) -> usize {
    let byte = text.find(word).expect("the word is in the text");
    text[..byte].encode_utf16().count()
}

/// Returns the part of a text between two offsets in UTF-16 units, as a page reads it.
fn between(text: &str, from: &Value, to: &Value) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |value: &Value| value.as_u64().expect("an offset") as usize;
    String::from_utf16(&units[at(from)..at(to)]).expect("whole characters")
}

/// Applies the edits of a fix to a text, as a page does.
fn edited(text: &str, edits: &Value) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let (mut out, mut done) = (String::new(), 0);
    let at = |edit: &Value, end: &str| edit[end].as_u64().expect("an offset") as usize;
    let mut edits: Vec<&Value> = list(edits).iter().collect();
    edits.sort_by_key(|edit| at(edit, "from"));
    for edit in edits {
        out += &String::from_utf16(&units[done..at(edit, "from")]).expect("whole characters");
        out += edit["insert"].as_str().expect("a text");
        done = at(edit, "to");
    }
    out + &String::from_utf16(&units[done..]).expect("whole characters")
}

fn check_tokens(text: &str, expected: Expect) {
    let found = ask(&mut page(text), json!({ "ask": "tokens" }));
    let line = |token: &Value| {
        let word = between(text, &token[0], &token[1]);
        format!("{word}: {}\n", token[2].as_str().unwrap_or_default())
    };
    expected.assert_eq(&list(&found).iter().map(line).collect::<String>());
}

#[test]
fn words_have_kinds_at_offsets_of_javascript() {
    check_tokens(
        "// 𝄞é\nfn f(n: int) { n + 1 } // ⟨⟩",
        expect![[r#"
        // 𝄞é: comment
        fn: keyword
        f: function declaration
        n: parameter declaration
        int: type defaultLibrary
        n: parameter
        +: operator
        1: number
        // ⟨⟩: comment
    "#]],
    );
}

#[test]
fn hints_stand_behind_names_and_statements() {
    let found = ask(&mut page(SCALE), json!({ "ask": "hints" }));
    let mut out = String::new();
    for hint in list(&found["hints"]) {
        let line = between(SCALE, &json!(0), &hint["at"]).lines().last().unwrap_or_default().to_owned();
        let parts: String = list(&hint["parts"]).iter().filter_map(|part| part["text"].as_str()).collect();
        out += &format!("{}  {parts}\n", line.trim_start());
    }
    for lens in list(&found["lenses"]) {
        out += &format!(
            "{}: {}\n",
            lens["kind"].as_str().unwrap_or_default(),
            lens["title"].as_str().unwrap_or_default()
        );
    }
    expect![[r#"
        let t  ⟨2 × 16 B⟩
        copy(global_view(x[bm * BM.., bn * BN..], (BM, BN) : (n, 1)), t);  ld.global.v4 · 16 B
        copy(t, global_view(y[bm * BM.., bn * BN..], (BM, BN) : (n, 1)));  st.global.v4 · 16 B
        costs: 0 B shared · about 24 registers (estimated)
        show: CUDA
        test: ▶ Run test
    "#]]
    .assert_eq(&out);
}

/// No barrier orders the copies before the product, or the product before the copies of the next iteration.
const RACE: &str = r"/// c[m, n] = a[m, k] · b[n, k]ᵀ
kernel product<BM = 64, BN = 64, BK = 32>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let ga = tile(a, [BM, BK])[.., .., bm, ..];
    let gb = tile(b, [BN, BK])[.., .., bn, ..];
    let sa = shared_tensor(f16, [BM, BK]);
    let sb = shared_tensor(f16, [BN, BK]);
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for ki in 0..cdiv(k, BK) {
        copy(ga[.., .., ki], sa);
        copy(gb[.., .., ki], sb);
        gemm(acc, sa, sb);
    }
    copy(cast(acc, f16), tile(c, [BM, BN])[.., .., bm, bn]);
}
";

#[test]
fn fixes_remove_their_findings() {
    let (mut page, mut text, mut fixes) = (page(RACE), RACE.to_owned(), 0);
    loop {
        let found = ask(&mut page, json!({ "ask": "diagnostics" }));
        let Some(first) = list(&found).first() else { break };
        assert_eq!((&first["code"], &first["severity"]), (&json!("HX0401"), &json!("error")), "{first}");
        text = edited(&text, &first["fixes"][0]["edits"]);
        fixes += 1;
        assert!(fixes < 3, "{text}");
        ask(&mut page, json!({ "ask": "edit", "text": text }));
    }
    assert_eq!((fixes, text.matches("sync();").count()), (2, 2), "{text}");
}

#[test]
fn hovers_and_layouts_are_drawn() {
    let mut page = page(SCALE);
    let at = unit(SCALE, "t = t");
    let hover = ask(&mut page, json!({ "ask": "hover", "at": at, "theme": "dark" }));
    assert_eq!(between(SCALE, &hover["at"]["from"], &hover["at"]["to"]), "t");
    assert!(
        hover["text"].as_str().is_some_and(|text| text.contains("data:image/svg+xml;base64,")),
        "{hover}"
    );
    let found = ask(&mut page, json!({ "ask": "layout", "at": at }));
    let tensor = &found["layout"]["tensors"][0];
    let drawing = &tensor["drawings"][0];
    let count = drawing["rows"].as_u64().zip(drawing["cols"].as_u64()).map(|(rows, cols)| rows * cols);
    assert_eq!((&tensor["name"], &drawing["kind"], count), (&json!("t"), &json!("threads"), Some(16 * 64)));
    assert_eq!([list(&drawing["texts"]).len(), list(&drawing["owners"]).len()], [16 * 64; 2]);
    assert!(!list(&found["reasons"]["steps"]).is_empty(), "{found}");
    let nothing = ask(&mut page, json!({ "ask": "layout", "at": 0 }));
    assert_eq!(nothing, json!({ "layout": null, "reasons": null }));
}

#[test]
fn stages_are_texts() {
    let mut page = page(SCALE);
    let at = unit(SCALE, "let t");
    let cuda = ask(&mut page, json!({ "ask": "emit", "at": at, "stage": "cuda" }));
    assert!(cuda["text"].as_str().is_some_and(|text| text.contains("__global__")), "{cuda}");
    let unknown = refused(&mut page, json!({ "ask": "emit", "at": at, "stage": "ptx" }));
    expect!["there is no stage `ptx`; known are tile, constraints, layouts, thread, cuda"]
        .assert_eq(&unknown);
}

#[test]
fn tests_run_on_the_simulator() {
    let text = format!("{SCALE}\ntest \"two\" {{ print(1 + 1); assert_eq(1 + 1, 3); }}\n");
    let mut page = page(&text);
    let found = ask(&mut page, json!({ "ask": "tests" }));
    let mut out = String::new();
    for case in list(&found["cases"]) {
        let report = ask(&mut page, json!({ "ask": "test", "name": case["name"] }));
        let at = between(&text, &case["at"], &json!(text.encode_utf16().count()));
        let line = at.lines().next().unwrap_or_default();
        out += &format!(
            "{}: {} `{line}`\n",
            case["name"].as_str().unwrap_or_default(),
            report["verdict"].as_str().unwrap_or_default()
        );
        list(&report["output"])
            .iter()
            .for_each(|line| out += &format!("| {}\n", line.as_str().unwrap_or_default()));
        for found in list(&report["found"]) {
            let word = between(&text, &found["at"]["from"], &found["at"]["to"]);
            out += &format!("`{word}`: {}\n", found["message"].as_str().unwrap_or_default());
        }
    }
    expect![[r#"
        playground.hx::scale multiplies every element[16, 64]: passed `test "scale multiplies every element" for (m, n) in [(16, 64), (33, 100), (1, 7)] {`
        playground.hx::scale multiplies every element[33, 100]: passed `test "scale multiplies every element" for (m, n) in [(16, 64), (33, 100), (1, 7)] {`
        playground.hx::scale multiplies every element[1, 7]: passed `test "scale multiplies every element" for (m, n) in [(16, 64), (33, 100), (1, 7)] {`
        playground.hx::two: failed `test "two" { print(1 + 1); assert_eq(1 + 1, 3); }`
        | 2
        `assert_eq(1 + 1, 3)`: the value is not equal
    "#]].assert_eq(&out);
    let unknown = refused(&mut page, json!({ "ask": "test", "name": "playground.hx::three" }));
    expect!["there is no test `playground.hx::three`, or it has errors"].assert_eq(&unknown);
}

#[test]
fn main_prints() {
    let mut page = page("main {\n    print(1 + 1);\n    assert_eq(1, 2);\n}\n");
    let answer = ask(&mut page, json!({ "ask": "run" }));
    assert_eq!(answer["output"], json!(["2"]));
    assert_eq!(list(&answer["found"]).len(), 1, "{answer}");
}

#[test]
fn definitions_in_the_library_come_with_their_text() {
    let text = "use std::matmul::matmul;\n";
    let answer = ask(&mut page(text), json!({ "ask": "definition", "at": unit(text, "matmul;") }));
    assert_eq!(answer["path"], "std/matmul.hx");
    let line = answer["line"].as_u64().expect("a line") as usize;
    let source = answer["text"].as_str().expect("the text of the file");
    assert!(source.lines().nth(line - 1).is_some_and(|line| line.starts_with("kernel matmul")), "{line}");
    assert!(list(&answer["tokens"]).len() > 100, "{answer}");
}

#[test]
fn completion_signature_format_and_pages() {
    let text = "kernel k(x: f32[n]) grid [1] threads 128 { let t = load(x); exp( }";
    let mut page = page(text);
    let found = ask(&mut page, json!({ "ask": "complete", "at": unit(text, "ad(x)") }));
    assert!(list(&found).iter().any(|entry| entry["label"] == "load"), "{found}");
    let signature = ask(&mut page, json!({ "ask": "signature", "at": unit(text, " }") }));
    assert!(signature["label"].as_str().is_some_and(|label| label.starts_with("exp(")), "{signature}");
    expect!["a text with errors of syntax is not formatted"]
        .assert_eq(&refused(&mut page, json!({ "ask": "format" })));
    let explained = ask(&mut page, json!({ "ask": "explain", "code": "HX0401" }));
    assert_eq!(explained["name"], "shared-race");
    let text = "fn f( n:int ){n}\n";
    ask(&mut page, json!({ "ask": "edit", "text": text }));
    let changes = ask(&mut page, json!({ "ask": "format" }));
    expect![[r#"
        fn f(n: int) { n }
    "#]]
    .assert_eq(&edited(text, &changes));
}

#[test]
fn orders_and_errors() {
    let mut page = page(SCALE);
    ask(&mut page, json!({ "ask": "target", "name": "sm_80" }));
    let messages = [
        refused(&mut page, json!({ "ask": "target", "name": "sm_1" })),
        refused(&mut page, json!({ "ask": "sing" })),
        refused(&mut page, json!({ "ask": "explain", "code": "HX9999" })),
    ];
    expect![[r#"
        unknown target `sm_1`; known are sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_100f, sm_100a, sm_103, sm_103a, sm_110, sm_110a, sm_120, sm_120f, sm_120a, sm_121, sm_121a; GPUs of compute capability 0.1, before Ampere, are not supported
        the request cannot be read: unknown variant `sing`, expected one of `edit`, `target`, `tokens`, `diagnostics`, `hints`, `hover`, `complete`, `docs`, `signature`, `definition`, `actions`, `format`, `layout`, `emit`, `tests`, `test`, `run`, `explain` at line 1 column 13
        there is no code `HX9999`"#]].assert_eq(&messages.join("\n"));
}
