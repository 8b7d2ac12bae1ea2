//! Questions that an edit overtakes: a question about a place is answered while the user types after the place.

use serde_json::{Value, json};

use super::Client;

const MATMUL: &str = include_str!("../../std/matmul.hx");

/// Returns a kernel with an empty line for a statement, and the number of that line.
fn kernel() -> (String, u32) {
    let text = MATMUL.replace("    fill(rc, 0.0);", "    \n    fill(rc, 0.0);");
    let line = text.lines().position(|line| line == "    ").expect("the text has an empty line");
    (text, u32::try_from(line).expect("the text is short"))
}

/// Types one more character at a place.
fn press(client: &mut Client, line: u32, column: u32, key: char) {
    let at = json!({ "line": line, "character": column });
    client.change("k.hx", json!([{ "range": { "start": at, "end": at }, "text": key.to_string() }]));
}

/// Types a statement, and after each key sends all requests of an editor without waiting. Each gets an answer. Only questions
/// about words that the cursor has left may have no entries: an editor with entries would not ask about the next word.
#[test]
fn typing_loses_no_answer() {
    let mut client = Client::start(&[]);
    let (text, line) = kernel();
    client.open("k.hx", &text);
    for round in 0..10 {
        let mut ids = Vec::new();
        let mut typed = String::new();
        let statement = "gemm(rc, ra, shared";
        for (column, key) in (4..).zip(statement.chars()) {
            press(&mut client, line, column, key);
            typed.push(key);
            let place = client.at("k.hx", line, column + 1);
            for method in ["completion", "signatureHelp", "hover", "definition", "documentHighlight"] {
                let id = client.send(&format!("textDocument/{method}"), place.clone());
                ids.push((method, typed.clone(), id));
            }
            let range = json!({ "start": place["position"], "end": place["position"] });
            let params = json!({ "textDocument": place["textDocument"], "range": range, "context": { "diagnostics": [] } });
            ids.push(("codeAction", typed.clone(), client.send("textDocument/codeAction", params)));
        }
        for (method, typed, id) in ids {
            let answer = client.answer(id);
            let is_left = statement[typed.len()..].contains(|c: char| !c.is_alphanumeric());
            if method == "completion" && is_left && answer["error"]["code"] == -32801 {
                continue;
            }
            assert!(answer["error"].is_null(), "round {round}: {method} after `{typed}`: {answer}");
            let wanted = match (method, typed.as_str()) {
                ("completion", "ge") => "gemm",
                ("completion", "gemm(rc, ra, sh") => "shared_tensor",
                ("completion", "gemm(r") => "\"rc\"",
                ("signatureHelp", "gemm(rc, ra") => "\"activeParameter\":1",
                ("signatureHelp", "gemm(rc, ra,") => "\"activeParameter\":2",
                _ => continue,
            };
            assert!(answer.to_string().contains(wanted), "{method} after `{typed}` lacks {wanted}: {answer}");
        }
        client.replace("k.hx", &text);
    }
    assert_eq!(client.leave(), 0);
}

/// After a trigger character that is followed by a space, editors match the entries against the space and show none. Such a
/// question must not get an answer, because it would suppress the next question.
#[test]
fn characters_that_ask_for_items() {
    let mut client = Client::start(&[]);
    let offered = &client.initialized["capabilities"]["completionProvider"]["triggerCharacters"];
    assert!(offered.as_array().is_some_and(|offered| !offered.contains(&json!(","))), "{offered}");
    client.open("k.hx", "use std::\nfn f(x: ) { }\n");
    let ask = |client: &mut Client, line: u32, column: u32| {
        let mut params = client.at("k.hx", line, column);
        params["context"] = json!({ "triggerKind": 2, "triggerCharacter": ":" });
        client.ask("textDocument/completion", params)
    };
    assert!(ask(&mut client, 0, 9).to_string().contains("\"matmul\""));
    assert_eq!(ask(&mut client, 1, 7), Value::Null);
    let types = client.at("k.hx", 1, 8);
    assert!(client.ask("textDocument/completion", types).to_string().contains("\"f32\""));
}

/// Edits of another document, and other events, do not affect a question about this document.
#[test]
fn other_documents_keep_no_answer_away() {
    let mut client = Client::start(&[("hx.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\n")]);
    client.open("k.hx", MATMUL);
    client.open("other.hx", "");
    for round in 0..20 {
        let document = client.document("k.hx");
        let options = json!({ "tabSize": 4, "insertSpaces": true });
        let place = client.at("k.hx", 10, 9);
        let mut rename = place.clone();
        rename["newName"] = json!("renamed");
        let ids = [
            client.send("textDocument/formatting", json!({ "textDocument": document, "options": options })),
            client.send("textDocument/rename", rename),
            client.send("textDocument/hover", place),
        ];
        client.replace("other.hx", &format!("const A = {round};\n"));
        client.tell("textDocument/didSave", json!({ "textDocument": document }));
        client.tell("workspace/didChangeConfiguration", json!({ "settings": { "hx": {} } }));
        for id in ids {
            client.result(id);
        }
    }
    assert_eq!(client.leave(), 0);
}

/// If the text before the place has changed, or the answer would edit a text that no longer exists, the client gets an error code
/// that editors do not show.
#[test]
fn a_question_about_an_old_text_is_told_so() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    let mut codes = Vec::new();
    for i in 0..20 {
        let document = client.document("k.hx");
        let options = json!({ "tabSize": 4, "insertSpaces": true });
        let place = client.at("k.hx", 10, 9);
        let hover = client.send("textDocument/hover", place);
        let format =
            client.send("textDocument/formatting", json!({ "textDocument": document, "options": options }));
        client.replace("k.hx", &format!("// {i}\n{MATMUL}"));
        codes.extend([hover, format].map(|id| client.answer(id)["error"]["code"].as_i64()));
    }
    assert!(codes.iter().all(|code| matches!(code, None | Some(-32801))), "{codes:?}");
    assert!(codes.contains(&Some(-32801)), "no edit overtook a question");
}

/// Lenses remain while the typed line is not yet a statement.
#[test]
fn lenses_stay_while_one_types() {
    let mut client = Client::start(&[]);
    let (text, line) = kernel();
    client.open("k.hx", &text);
    let lenses = |client: &mut Client| {
        let lenses = client.ask("textDocument/codeLens", json!({ "textDocument": client.document("k.hx") }));
        let line =
            |lens: &Value| format!("{} {}", lens["range"]["start"]["line"], lens["command"]["command"]);
        lenses.as_array().into_iter().flatten().map(line).collect::<Vec<_>>()
    };
    let whole = lenses(&mut client);
    assert!(whole.len() >= 4, "{whole:?}");
    for (column, key) in (4..).zip("let more = load(tile(a, [8, \"".chars()) {
        press(&mut client, line, column, key);
        assert_eq!(lenses(&mut client), whole, "after `{key}`");
    }
    client.replace("k.hx", &text);
    assert_eq!(lenses(&mut client), whole);
}

/// A file with many kernels has the findings of names and types first. Once findings about layouts are shown, no edit lets them
/// disappear for a moment.
#[test]
fn a_large_file_has_its_diagnostics_in_stages() {
    // The copy may begin at an odd element.
    let mut text = "kernel part(x: f16[16, 32], y: mut f16[16, 64], o: i32)
    where o >= 0, o <= 32
    grid [1]
    threads 32
{
    let s = shared_tensor(f16, [16, 64]);
    copy_async(x, s[.., o..o + 32]);
    commit();
    wait(0);
    sync();
    copy(s[.., o..o + 32], y[.., 0..32]);
}
"
    .to_owned();
    for i in 0..9 {
        text += &format!("kernel k{i}(x: f32[m]) grid [1] threads 32 {{ let unused = 1; }}\n");
    }
    let mut client = Client::start(&[]);
    client.open("k.hx", &text);
    let has_layouts = |codes: &[String]| codes.iter().any(|code| code == "HX0302");
    client.wait_for("a finding about layouts", |client| {
        client.history.iter().any(|(_, codes)| has_layouts(codes))
    });
    let codes: Vec<usize> = client.history.iter().map(|(_, codes)| codes.len()).collect();
    assert_eq!(codes, [9, 10], "{:?}", client.history);
    client.replace("k.hx", &text.replacen("let unused = 1;", "", 1));
    client.diagnostics_of("k.hx", 2);
    client.replace("k.hx", &text);
    client.diagnostics_of("k.hx", 3);
    assert!(client.history[1..].iter().all(|(_, codes)| has_layouts(codes)), "{:?}", client.history);
    assert_eq!(client.leave(), 0);
}
