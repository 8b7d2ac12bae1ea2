//! Every capability over the wire, on complete, half-typed and broken files.

use base64::Engine as _;
use expect_test::expect;
use serde_json::{Value, json};

use super::{Client, Options};

const TEXT: &str = "\
use std::math::LOG2E;

/// Doubles.
fn twice(x: f32) -> f32 { x * 2.0 }

kernel k<BM = 64>(a: f16[m, n], c: mut f16[m, n]) grid [cdiv(m, BM)] threads 128 {
    let [bm] = block_idx;
    let r = load(tile(a, [BM, 16])[.., .., bm, 0]);
    let s = twice(cast(r, f32));
    copy(cast(s, f16), tile(c, [BM, 16])[.., .., bm, 0]);
}

test \"t\" for (m, n) in [(64, 16)] {
    let a = randn(f16, [m, n], seed: 1);
    let c = empty(f16, [m, n]);
    k<BM = 32>(a, c);
    assert_close(c, a * 2.0, ulp: 2);
}
";

/// Returns the line and column of the first occurrence of `what`, from 0. Columns are bytes.
fn find(text: &str, what: &str) -> (u32, u32) {
    let at = text.find(what).expect("it is there");
    let before = &text[..at];
    let line = before.matches('\n').count();
    (line as u32, (at - before.rfind('\n').map_or(0, |i| i + 1)) as u32)
}

fn started() -> Client {
    let mut client = Client::start(&[]);
    client.open("k.hx", TEXT);
    client
}

fn ask_at(client: &mut Client, method: &str, what: &str) -> Value {
    let (line, character) = find(TEXT, what);
    let params = client.at("k.hx", line, character);
    client.ask(method, params)
}

#[test]
fn what_the_server_can_do() {
    let client = Client::start(&[]);
    let capabilities = client.initialized["capabilities"].as_object().expect("it has some");
    let mut names: Vec<&str> = capabilities.keys().map(String::as_str).collect();
    // Some builds keep JSON objects in insertion order, so sort.
    names.sort_unstable();
    expect![[r#"
        callHierarchyProvider
        codeActionProvider
        codeLensProvider
        completionProvider
        definitionProvider
        documentFormattingProvider
        documentHighlightProvider
        documentLinkProvider
        documentOnTypeFormattingProvider
        documentRangeFormattingProvider
        documentSymbolProvider
        executeCommandProvider
        foldingRangeProvider
        hoverProvider
        inlayHintProvider
        positionEncoding
        referencesProvider
        renameProvider
        selectionRangeProvider
        semanticTokensProvider
        signatureHelpProvider
        textDocumentSync
        typeDefinitionProvider
        workspace
        workspaceSymbolProvider"#]]
    .assert_eq(&names.join("\n"));
    assert_eq!(capabilities["positionEncoding"], "utf-8");
    assert_eq!(client.initialized["serverInfo"]["name"], "hx");
}

#[test]
fn hovers_show_layouts_as_the_client_can() {
    let mut client = started();
    let hover = ask_at(&mut client, "textDocument/hover", "r = load");
    let text = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(text.contains("let r: register f16[BM, 16]") && text.contains("┌"), "{text}");
    let options = Options { initialization: json!({ "drawings": "svg" }), ..Options::default() };
    let mut client = Client::start_with(&[], &options);
    client.open("k.hx", TEXT);
    let hover = ask_at(&mut client, "textDocument/hover", "r = load");
    let text = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(text.contains("(data:image/svg+xml;base64,") && text.len() < 100_000, "{}", text.len());
}

/// A hover on a launch of a kernel with a family begins with the member that it runs.
#[test]
fn hovers_on_launches_show_the_choice_of_a_family() {
    let text = "#[family(moved<B = 1024>, moved<B = 64>)]
kernel moved<B = 128>(x: f32[n], y: mut f32[n]) where n % B == 0 grid [n / B] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
test \"t\" { let x = ones(f32, [64]); let y = empty(f32, [64]); moved(x, y); }
";
    let mut client = Client::start(&[]);
    client.open("k.hx", text);
    let (line, character) = find(text, "moved(x, y)");
    let hover = client.ask("textDocument/hover", client.at("k.hx", line, character));
    let shown = hover["contents"]["value"].as_str().unwrap_or_default();
    let lines: Vec<&str> = shown.lines().take(8).collect();
    expect![[r#"
        `f32[64]`, `f32[64]`: `moved` runs as `moved<B = 64>`, 0.3 µs by the cost model, the one member of its family that fits

        | member | µs | |
        |---|--:|--:|
        | `moved<B = 64>` | 0.3 | 1.00 |

        1 does not fit
    "#]].assert_eq(&lines.join("\n"));
}

/// Returns the drawing in the hover over a tensor, as SVG.
fn drawn(client: &mut Client) -> String {
    let hover = ask_at(client, "textDocument/hover", "r = load");
    let text = hover["contents"]["value"].as_str().unwrap_or_default();
    let data = text.split_once("(data:image/svg+xml;base64,").expect("it is drawn").1;
    let data = data.split_once(')').expect("the link ends").0;
    let svg = base64::engine::general_purpose::STANDARD.decode(data).expect("it is base64");
    String::from_utf8(svg).expect("it is text")
}

#[test]
fn drawings_follow_the_theme_and_fit_a_hover() {
    let mut settings = json!({ "drawings": "svg" });
    let mut client =
        Client::start_with(&[], &Options { initialization: settings.clone(), ..Options::default() });
    client.open("k.hx", TEXT);
    // Without a theme, the drawing paints its own background.
    let svg = drawn(&mut client);
    assert!(svg.contains("fill=\"#ffffff\"/>"), "{svg}");
    for (theme, ink) in [("dark", "#cccccc"), ("light", "#222222")] {
        settings["theme"] = theme.into();
        client.tell("workspace/didChangeConfiguration", json!({ "settings": { "hx": settings } }));
        let svg = drawn(&mut client);
        assert!(
            !svg.contains("fill=\"#ffffff\"/>") && svg.contains(&format!("fill=\"{ink}\">thread")),
            "{svg}"
        );
        let width = svg.split_once("width=\"").and_then(|(_, rest)| rest.split_once('"'));
        let width = width.and_then(|(width, _)| width.parse::<usize>().ok());
        assert!(width.is_some_and(|width| width <= 470), "{svg}");
    }
}

#[test]
fn codes_lead_to_their_pages() {
    let settings = json!({ "codePages": "pages:/{code}.md" });
    let mut client = Client::start_with(&[], &Options { initialization: settings, ..Options::default() });
    let version = client.open("k.hx", "const A = b;\n");
    let found = client.diagnostics_of("k.hx", version);
    assert_eq!(found[0]["codeDescription"]["href"], "pages:/HX0101.md", "{found:?}");
    let page = client.ask("hx/explainCode", json!({ "code": "HX0101" }));
    assert!(page["text"].as_str().unwrap_or_default().starts_with("# HX0101: "), "{page}");
    assert_eq!(client.ask("hx/explainCode", json!({ "code": page["name"] })), page);
    let (code, message) = client.refused("hx/explainCode", json!({ "code": "HX9999" }));
    assert!(code == -32602 && message.starts_with("there is no code `HX9999`"), "{message}");
}

#[test]
fn completion_with_docs_when_they_are_wanted() {
    let mut client = started();
    let version = client.replace("k.hx", &TEXT.replace("    let s = twice", "    let s = twi"));
    client.diagnostics_of("k.hx", version);
    let (line, character) = find(TEXT, "twice(cast");
    let params = client.at("k.hx", line, character + 3);
    let list = client.ask("textDocument/completion", params);
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let twice = items.iter().find(|item| item["label"] == "twice").expect("the function is offered").clone();
    assert!(twice.get("documentation").is_none(), "{twice}");
    let whole = client.ask("completionItem/resolve", twice);
    assert!(whole["documentation"]["value"].as_str().unwrap_or_default().contains("Doubles."), "{whole}");
}

#[test]
fn signatures_definitions_references() {
    let mut client = started();
    let help = ask_at(&mut client, "textDocument/signatureHelp", "r, f32)");
    assert_eq!(help["signatures"][0]["label"], "cast(t, dtype)");
    assert_eq!(help["activeParameter"], 0);
    let to = ask_at(&mut client, "textDocument/definition", "twice(cast");
    assert_eq!(to["range"]["start"], json!({ "line": 3, "character": 3 }));
    // A definition in the standard library leads to a copy that an editor can open.
    let to = ask_at(&mut client, "textDocument/definition", "LOG2E");
    let uri = to["uri"].as_str().unwrap_or_default().to_owned();
    let path = uri.strip_prefix("file://").expect("it is a file");
    assert!(path.ends_with("std/math.hx"), "{uri}");
    let text = std::fs::read_to_string(path).expect("it was written");
    assert!(text.contains("const LOG2E"));
    let (line, character) = find(TEXT, "BM = 64");
    let mut params = client.at("k.hx", line, character);
    params["context"] = json!({ "includeDeclaration": false });
    let found = client.ask("textDocument/references", params);
    assert_eq!(found.as_array().map(Vec::len), Some(4), "{found}");
    let found = ask_at(&mut client, "textDocument/documentHighlight", "bm] = block_idx");
    assert_eq!(found.as_array().map(Vec::len), Some(3), "{found}");
}

#[test]
fn a_copy_of_the_library_can_be_opened() {
    let mut client = started();
    let to = ask_at(&mut client, "textDocument/definition", "LOG2E");
    let uri = to["uri"].clone();
    let path = uri.as_str().and_then(|uri| uri.strip_prefix("file://")).expect("it is a file");
    let text = std::fs::read_to_string(path).expect("it was written");
    let document = json!({ "uri": uri, "languageId": "hx", "version": 1, "text": text });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let symbols = client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } }));
    assert!(symbols.to_string().contains("LOG2E"), "{symbols}");
}

#[test]
fn renaming() {
    let mut client = started();
    let prepared = ask_at(&mut client, "textDocument/prepareRename", "twice(cast");
    assert_eq!(prepared["placeholder"], "twice");
    let (line, character) = find(TEXT, "twice(cast");
    let mut params = client.at("k.hx", line, character);
    params["newName"] = json!("double");
    let edit = client.ask("textDocument/rename", params);
    let edits = edit["changes"][client.uri("k.hx")].as_array().map(Vec::len);
    assert_eq!(edits, Some(2), "{edit}");
    let (line, character) = find(TEXT, "cast(r");
    let params = client.at("k.hx", line, character);
    let refused = client.refused("textDocument/prepareRename", params);
    assert_eq!(refused, (-32602, "`cast` is part of the language".to_owned()));
}

#[test]
fn symbols_calls_folds_selections() {
    let mut client = started();
    let document = json!({ "textDocument": client.document("k.hx") });
    let symbols = client.ask("textDocument/documentSymbol", document.clone());
    let names: Vec<&str> =
        symbols.as_array().into_iter().flatten().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["twice", "k", "t"]);
    let found = client.ask("workspace/symbol", json!({ "query": "twice" }));
    assert_eq!(found[0]["name"], "twice");
    let item = ask_at(&mut client, "textDocument/prepareCallHierarchy", "twice(cast")[0].clone();
    let callers = client.ask("callHierarchy/incomingCalls", json!({ "item": item }));
    assert_eq!(callers[0]["from"]["name"], "k");
    let called = client.ask("callHierarchy/outgoingCalls", json!({ "item": callers[0]["from"] }));
    assert_eq!(called[0]["to"]["name"], "twice");
    let folds = client.ask("textDocument/foldingRange", document.clone());
    assert_eq!(folds.as_array().map(Vec::len), Some(2), "{folds}");
    let mut params = document;
    params["positions"] = json!([{ "line": 3, "character": 27 }]);
    let selected = client.ask("textDocument/selectionRange", params);
    assert_eq!(selected[0]["range"]["start"]["character"], 26, "{selected}");
}

#[test]
fn semantic_tokens_whole_part_and_change() {
    let mut client = started();
    let document = json!({ "textDocument": client.document("k.hx") });
    let whole = client.ask("textDocument/semanticTokens/full", document.clone());
    let count = whole["data"].as_array().map_or(0, Vec::len);
    assert!(count > 5 * 80, "{count}");
    let mut params = document.clone();
    params["range"] = json!({ "start": { "line": 3, "character": 0 }, "end": { "line": 4, "character": 0 } });
    let part = client.ask("textDocument/semanticTokens/range", params);
    assert!(part["data"].as_array().map_or(0, Vec::len) < count);
    client.replace("k.hx", &TEXT.replace("x * 2.0", "x * 2.0 + x"));
    let mut params = document;
    params["previousResultId"] = whole["resultId"].clone();
    let delta = client.ask("textDocument/semanticTokens/full/delta", params);
    let edits = delta["edits"].as_array().expect("it is a change");
    assert_eq!((edits.len(), edits[0]["data"].as_array().map(Vec::len)), (1, Some(10)), "{delta}");
}

#[test]
fn formatting_the_file_a_range_and_while_typing() {
    let mut client = started();
    let ugly = TEXT.replace("let s = twice", "let s=twice");
    client.replace("k.hx", &ugly);
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let params = json!({ "textDocument": client.document("k.hx"), "options": options });
    let edits = client.ask("textDocument/formatting", params);
    assert!(edits.to_string().contains(r#""newText":"    let s = twice(cast(r, f32));\n""#), "{edits}");
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 2, "character": 0 } });
    let params = json!({ "textDocument": client.document("k.hx"), "options": options, "range": range });
    assert_eq!(client.ask("textDocument/rangeFormatting", params), json!([]));
    let (line, character) = find(&ugly, ";\n    copy(cast(s");
    let mut params = client.at("k.hx", line, character + 1);
    (params["ch"], params["options"]) = (json!(";"), options.clone());
    let edits = client.ask("textDocument/onTypeFormatting", params);
    assert_eq!(edits.as_array().map(Vec::len), Some(1), "{edits}");
    client.replace("k.hx", "kernel (");
    let params = json!({ "textDocument": client.document("k.hx"), "options": options });
    let (code, message) = client.refused("textDocument/formatting", params);
    assert!(code == -32602 && message.starts_with("the file is left as it is: "), "{message}");
}

#[test]
fn lenses_and_what_they_show() {
    let mut client = started();
    let params = json!({ "textDocument": client.document("k.hx") });
    let lenses = client.ask("textDocument/codeLens", params.clone());
    let titles: Vec<String> = lenses
        .as_array()
        .into_iter()
        .flatten()
        .map(|l| {
            format!("{} {}", l["command"]["command"].as_str().unwrap_or_default(), l["command"]["title"])
        })
        .collect();
    expect![[r#"
        hx.showCosts "0 B shared · about 24 registers (estimated)"
        hx.showCuda "CUDA"
        hx.showPtx "PTX"
        hx.showSass "SASS"
        hx.runTest "▶ Run test"
        hx.showInstance "Show k<BM = 32>""#]]
    .assert_eq(&titles.join("\n"));
    let instance =
        lenses.as_array().into_iter().flatten().find(|l| l["command"]["title"] == "Show k<BM = 32>");
    let argument = instance.expect("a launch has a lens")["command"]["arguments"][0].clone();
    let run = json!({ "command": "hx.showInstance", "arguments": [argument] });
    client.ask("workspace/executeCommand", run);
    client.wait_for("a request to ask again", |c| c.asked.iter().any(|m| m == "workspace/inlayHint/refresh"));
    let costs = client.ask("hx/costs", params);
    assert_eq!(costs[0]["args"]["BM"], "32");
    assert_eq!(costs[0]["estimated"], true);
}

#[test]
fn fixes_come_with_their_edits() {
    let mut client = Client::start(&[]);
    let text = TEXT.replace("twice(cast", "twcie(cast");
    let version = client.open("k.hx", &text);
    let found = client.diagnostics_of("k.hx", version);
    let unknown = found.iter().find(|found| found["code"] == "HX0101");
    let range = unknown.expect("a name is unknown")["range"].clone();
    let params = json!({
        "textDocument": client.document("k.hx"), "range": range, "context": { "diagnostics": found },
    });
    let actions = client.ask("textDocument/codeAction", params);
    let edit = &actions[0]["edit"]["changes"][client.uri("k.hx")][0];
    assert_eq!(edit["newText"], "twice", "{actions}");
}

#[test]
fn requests_of_our_own() {
    let mut client = started();
    let (line, character) = find(TEXT, "r = load");
    let params = client.at("k.hx", line, character);
    let layout = client.ask("hx/layout", params.clone());
    assert_eq!(layout["kernel"], "k");
    let drawing = &layout["tensors"][0]["drawings"][0];
    assert!(drawing["svg"].as_str().unwrap_or_default().starts_with("<svg"), "{drawing}");
    let mut cells = params.clone();
    cells["form"] = "cells".into();
    let cells = client.ask("hx/layout", cells)["tensors"][0]["drawings"][0].clone();
    let count = cells["rows"].as_u64().zip(cells["cols"].as_u64()).map_or(0, |(rows, cols)| rows * cols);
    assert_eq!(count, 64 * 16);
    for list in ["texts", "groups", "owners"] {
        assert_eq!(cells[list].as_array().map_or(0, Vec::len), 64 * 16, "{list}");
    }
    assert!(cells["svg"].is_null() && cells["texts"][0] == "T0V0" && cells["owners"][0] == json!([[0, 0]]));
    let explained = client.ask("hx/explainLayout", params);
    assert!(explained["text"].as_str().unwrap_or_default().contains("because: "), "{explained}");
    for stage in ["tile", "constraints", "layouts", "thread", "cuda"] {
        let params = json!({ "textDocument": client.document("k.hx"), "stage": stage });
        let emitted = client.ask("hx/emit", params);
        assert!(emitted["text"].as_str().is_some_and(|text| text.len() > 50), "{stage}: {emitted}");
        assert_eq!(emitted["lines"].as_array().is_some_and(|l| !l.is_empty()), stage == "cuda");
    }
    let params = json!({ "textDocument": client.document("k.hx"), "stage": "nothing" });
    assert_eq!(client.refused("hx/emit", params).0, -32602);
    let params = json!({ "textDocument": client.document("k.hx"), "kernel": "kk", "stage": "cuda" });
    assert_eq!(client.refused("hx/emit", params).1, "`k.hx` has no kernel `kk`");
    let tree = client.ask("hx/syntaxTree", json!({ "textDocument": client.document("k.hx") }));
    assert!(tree.as_str().unwrap_or_default().starts_with("SOURCE_FILE@0.."), "{tree}");
    let status = client.ask("hx/serverStatus", Value::Null);
    assert_eq!((&status["openDocuments"], &status["target"]), (&json!(1), &json!("sm_90a")));
}

#[test]
fn links_and_moved_files() {
    let sizes = "const SIZE = 64;\n";
    let main = "use parts::sizes::SIZE;\nconst A = SIZE;\nmain { let a = load(\"a.npy\"); let b = load(\"b.npy\"); }\n";
    let second = "const B = parts::sizes::SIZE;\n";
    let files =
        [("hx.toml", ""), ("parts/sizes.hx", sizes), ("main.hx", main), ("second.hx", second), ("a.npy", "")];
    let mut client = Client::start(&files);
    client.open("main.hx", main);
    let links =
        client.ask("textDocument/documentLink", json!({ "textDocument": client.document("main.hx") }));
    let targets: Vec<&str> =
        links.as_array().into_iter().flatten().filter_map(|link| link["target"].as_str()).collect();
    // A file that is missing has no link.
    assert_eq!(targets, [client.uri("parts/sizes.hx"), client.uri("a.npy")]);
    let moved = |client: &mut Client, from: &str, to: &str| {
        let files = json!([{ "oldUri": client.uri(from), "newUri": client.uri(to) }]);
        client.ask("workspace/willRenameFiles", json!({ "files": files }))
    };
    let edit = moved(&mut client, "parts/sizes.hx", "parts/extents.hx");
    for file in ["main.hx", "second.hx"] {
        assert_eq!(edit["changes"][client.uri(file)][0]["newText"], "extents", "{edit}");
    }
    let edit = moved(&mut client, "parts", "shared_parts");
    assert_eq!(edit["changes"][client.uri("main.hx")][0]["newText"], "shared_parts::sizes", "{edit}");
    // No file imports `main.hx` or `elsewhere.hx`.
    assert_eq!(moved(&mut client, "main.hx", "first.hx"), Value::Null);
    assert_eq!(moved(&mut client, "elsewhere.hx", "sizes.hx"), Value::Null);
}

#[test]
fn the_place_of_a_type() {
    let mut client = started();
    let to = ask_at(&mut client, "textDocument/typeDefinition", "bm] = block");
    assert_eq!(to, Value::Null);
    let text =
        "kernel k<T: type = f16>(a: T[m]) grid [1] threads 32 { let r = load(tile(a, [64])[.., 0]); }\n";
    client.open("t.hx", text);
    let (line, character) = find(text, "r = load");
    let params = client.at("t.hx", line, character);
    let to = client.ask("textDocument/typeDefinition", params);
    assert_eq!(to["range"]["start"], json!({ "line": 0, "character": 9 }));
}

/// Asks every question about truncated and damaged texts: those about a position in the middle of every third line. Each must
/// get an answer or an error.
#[test]
fn every_question_has_an_answer_on_broken_texts() {
    let mut client = Client::start(&[]);
    client.open("k.hx", "");
    let cuts = [0, 30, 120, 211, 300, 420, TEXT.len() - 40];
    for cut in cuts {
        let end = (0..=cut).rev().find(|at| TEXT.is_char_boundary(*at)).unwrap_or_default();
        for text in [TEXT[..end].to_owned(), format!("{}) }} {}", &TEXT[..end], &TEXT[end..])] {
            client.replace("k.hx", &text);
            let mut asked = Vec::new();
            for (line, length) in text.lines().map(str::len).enumerate().step_by(3) {
                let params = client.at("k.hx", line as u32, (length / 2) as u32);
                for method in [
                    "textDocument/hover",
                    "textDocument/completion",
                    "textDocument/signatureHelp",
                    "textDocument/definition",
                    "textDocument/typeDefinition",
                    "textDocument/documentHighlight",
                    "textDocument/prepareRename",
                    "textDocument/prepareCallHierarchy",
                    "hx/layout",
                    "hx/explainLayout",
                ] {
                    asked.push((method, client.send(method, params.clone())));
                }
            }
            let document = json!({ "textDocument": client.document("k.hx") });
            for method in [
                "textDocument/documentSymbol",
                "textDocument/documentLink",
                "textDocument/foldingRange",
                "textDocument/codeLens",
                "textDocument/semanticTokens/full",
                "hx/syntaxTree",
                "hx/costs",
            ] {
                asked.push((method, client.send(method, document.clone())));
            }
            client.hints("k.hx");
            for (method, id) in asked {
                let answer = client.answer(id);
                let code = answer["error"]["code"].as_i64();
                assert!(matches!(code, None | Some(-32602)), "{method}: {answer}");
            }
        }
    }
    assert_eq!(client.said, Vec::<String>::new());
}

#[test]
fn columns_in_utf16() {
    let options = Options { utf8: false, ..Options::default() };
    let mut client = Client::start_with(&[], &options);
    assert_eq!(client.initialized["capabilities"]["positionEncoding"], "utf-16");
    let text = "/* 𝄞∘ */ const A = B;\n";
    let version = client.open("k.hx", text);
    let found = client.diagnostics_of("k.hx", version);
    assert_eq!(found[0]["range"]["start"]["character"], 20, "{found:?}");
    let change = json!([{
        "range": { "start": { "line": 0, "character": 20 }, "end": { "line": 0, "character": 21 } }, "text": "1",
    }]);
    let version = client.change("k.hx", change);
    assert_eq!(client.diagnostics_of("k.hx", version).len(), 0);
}
