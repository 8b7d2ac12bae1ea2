//! Robustness of the server: bursts, cancellation, files that vanish, texts that are large or not text.

use serde_json::{Value, json};

use super::{Client, Options};
use crate::support::{Random, Sandbox, seed};

const MATMUL: &str = include_str!("../../std/matmul.hx");

/// A thousand single-character edits are sent at once: none is lost and none is reordered.
#[test]
fn a_burst_keeps_its_order() {
    let mut client = Client::start(&[]);
    client.open("k.hx", "");
    let written: String = (0..1000).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
    let mut version = 0;
    for (i, letter) in written.chars().enumerate() {
        let at = json!({ "line": 0, "character": i });
        version = client
            .change("k.hx", json!([{ "range": { "start": at, "end": at }, "text": letter.to_string() }]));
        if i % 100 == 50 {
            let document = client.document("k.hx");
            client.send("textDocument/documentSymbol", json!({ "textDocument": document }));
        }
    }
    client.diagnostics_of("k.hx", version);
    let tree = client.ask("hx/syntaxTree", json!({ "textDocument": client.document("k.hx") }));
    assert!(tree.as_str().unwrap_or_default().contains(&format!("{written:?}")), "{tree}");
    assert_eq!(client.said, Vec::<String>::new());
}

/// Every request is cancelled at once: each is still answered, and the server continues.
#[test]
fn a_client_that_cancels_everything() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    let mut ids = Vec::new();
    for i in 0..200 {
        client.replace("k.hx", &MATMUL.replace("BK = 16", &format!("BK = {}", 16 + 16 * (i % 3))));
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
        let params = json!({ "textDocument": client.document("k.hx"), "range": range });
        let id = client.send("textDocument/inlayHint", params);
        client.cancel(id);
        ids.push(id);
    }
    for id in ids {
        let answer = client.answer(id);
        let code = answer["error"]["code"].as_i64();
        assert!(answer.get("result").is_some() || code == Some(-32800), "{answer}");
    }
    client.replace("k.hx", MATMUL);
    assert!(client.hints("k.hx").contains("⟨"));
    assert_eq!(client.leave(), 0);
}

#[test]
fn files_come_and_go() {
    let user = "use lib::one;\nconst A = one();\nfn f(x: f32) -> f32 { one(x) }\n";
    let lib = "fn one(x: f32) -> f32 { x }\n";
    let mut client = Client::start(&[("lib.hx", lib), ("bad.hx", "const = 1;\n")]);
    client.wait_for("the diagnostics of a closed file", |c| c.diagnostics.contains_key(&c.uri("bad.hx")));
    let version = client.open("user.hx", &user.replace("const A = one();\n", ""));
    assert_eq!(client.diagnostics_of("user.hx", version).len(), 0);
    let gone = |client: &mut Client, name: &str| {
        std::fs::remove_file(client.sandbox.path(name)).expect("it is there");
        let changes = json!([{ "uri": client.uri(name), "type": 3 }]);
        client.tell("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    };
    gone(&mut client, "bad.hx");
    client.wait_for("that nothing is wrong with a file that is gone", |c| {
        c.diagnostics[&c.uri("bad.hx")]["diagnostics"] == json!([])
    });
    gone(&mut client, "lib.hx");
    client.wait_for("that a used file is missed", |c| {
        c.diagnostics.get(&c.uri("user.hx")).is_some_and(|d| d["diagnostics"] != json!([]))
    });
    client.sandbox.write("lib.hx", lib.as_bytes());
    let changes = json!([{ "uri": client.uri("lib.hx"), "type": 1 }]);
    client.tell("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    client.wait_for("that it is back", |c| c.diagnostics[&c.uri("user.hx")]["diagnostics"] == json!([]));
    // For an open file the editor's text counts, not the disk.
    std::fs::remove_dir_all(client.sandbox.path("")).expect("the folder can go");
    client.replace("user.hx", "const B = 1;\n");
    let symbols =
        client.ask("textDocument/documentSymbol", json!({ "textDocument": client.document("user.hx") }));
    assert_eq!(symbols[0]["name"], "B");
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_file_that_is_no_text_is_told_and_keeps_nothing_else_up() {
    let sandbox = Sandbox::with("good.hx", "const A = 1;\n");
    sandbox.write("bad.hx", &[b'c', 0xff, 0xfe, b'\n']);
    sandbox.write("hx.toml", b"[package]\nname = \"p\"\n");
    let mut client = Client::over(sandbox, &Options::default());
    client.wait_for("the diagnostic of a file that is not text", |c| {
        c.diagnostics.contains_key(&c.uri("bad.hx"))
    });
    let told = client.diagnostics[&client.uri("bad.hx")].to_string();
    assert!(told.contains("the file is not UTF-8 text"), "{told}");
    let version = client.open("good.hx", "const A = 1;\n");
    assert_eq!(client.diagnostics_of("good.hx", version).len(), 0);
    client.sandbox.write("bad.hx", b"const B = 1;\n");
    let changes = json!([{ "uri": client.uri("bad.hx"), "type": 2 }]);
    client.tell("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    client.wait_for("that it is text now", |c| c.diagnostics[&c.uri("bad.hx")]["diagnostics"] == json!([]));
    let found = client.ask("workspace/symbol", json!({ "query": "B" }));
    assert_eq!(found[0]["name"], "B");
}

#[test]
fn a_manifest_with_errors_has_them_where_they_are() {
    let mut client = Client::start(&[("hx.toml", "[build]\ntarget = \"sm_1\"\n"), ("a.hx", "")]);
    client.wait_for("the diagnostics of the manifest", |c| c.diagnostics.contains_key(&c.uri("hx.toml")));
    let told = client.diagnostics[&client.uri("hx.toml")]["diagnostics"].clone();
    assert_eq!(told[0]["range"]["start"]["line"], 1, "{told}");
    client.sandbox.write("hx.toml", b"[build]\ntarget = \"sm_80\"\n");
    let changes = json!([{ "uri": client.uri("hx.toml"), "type": 2 }]);
    client.tell("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    client.wait_for("that it is mended", |c| c.diagnostics[&c.uri("hx.toml")]["diagnostics"] == json!([]));
    let status = client.ask("hx/serverStatus", Value::Null);
    assert_eq!(status["target"], "sm_80");
}

/// A file with five megabytes of items: questions are answered and an edit takes effect.
#[test]
fn a_very_large_file() {
    let mut text = String::new();
    let mut i = 0;
    while text.len() < 5 << 20 {
        text.push_str(&format!("/// Number {i}.\nconst NUMBER_{i} = {i} + 1;\n"));
        i += 1;
    }
    let mut client = Client::start(&[]);
    client.open("large.hx", &text);
    let at = json!({ "line": 0, "character": 0 });
    client.change("large.hx", json!([{ "range": { "start": at, "end": at }, "text": "const FIRST = 0;\n" }]));
    let found = client.ask("workspace/symbol", json!({ "query": "FIRST" }));
    assert_eq!(found[0]["name"], "FIRST");
    client.replace("large.hx", "const SMALL = ;\n");
    let version = client.replace("large.hx", "const SMALL = 1;\n");
    assert_eq!(client.diagnostics_of("large.hx", version).len(), 0);
}

/// A file with five megabytes of kernels: questions about visible code are answered while thousands of kernels wait to be solved,
/// an edit takes effect, and the server ends when it is told to.
#[test]
fn a_very_large_file_of_kernels() {
    let mut text = String::new();
    let mut i = 0;
    while text.len() < 5 << 20 {
        text.push_str(&format!(
            "kernel add_{i}(x: f32[m], y: mut f32[m]) grid [cdiv(m, 128)] threads 32 {{\n    let r = load(tile(x, [128])[.., block_idx]);\n    copy(r + {i}.0, tile(y, [128])[.., block_idx]);\n}}\n"
        ));
        i += 1;
    }
    let mut client = Client::start(&[]);
    client.open("large.hx", &text);
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 8, "character": 0 } });
    let params = json!({ "textDocument": client.document("large.hx"), "range": range });
    let hints = client.ask("textDocument/inlayHint", params.clone());
    assert_eq!(hints.as_array().map(Vec::len), Some(6), "{hints}");
    let at = json!({ "line": 0, "character": 0 });
    client.change("large.hx", json!([{ "range": { "start": at, "end": at }, "text": "const FIRST = 0;\n" }]));
    let found = client.ask("workspace/symbol", json!({ "query": "FIRST" }));
    assert_eq!(found[0]["name"], "FIRST");
    let params = client.at("large.hx", 2, 8);
    let hover = client.ask("textDocument/hover", params);
    assert!(hover.to_string().contains("register f32[128]"), "{hover}");
    assert_eq!(client.leave(), 0);
}

/// Large and deep texts that are not programs: every question is answered.
#[test]
fn texts_that_are_deep_or_one_line() {
    let texts = [
        "x".repeat(5 << 20),
        "(".repeat(200_000),
        format!("fn f() {{ {} }}", "{".repeat(100_000)),
        format!("const A = {}1;", "-".repeat(200_000)),
        format!("const A = {};", vec!["1"; 200_000].join(" + ")),
        format!("const A: layout = {}1:1;", "compose(".repeat(50_000)),
    ];
    let mut client = Client::start(&[]);
    client.open("k.hx", "");
    for text in texts {
        let version = client.replace("k.hx", &text);
        let document = json!({ "textDocument": client.document("k.hx") });
        client.ask("textDocument/documentSymbol", document.clone());
        client.ask("textDocument/semanticTokens/full", document);
        client.hints("k.hx");
        client.diagnostics_of("k.hx", version);
    }
    let version = client.replace("k.hx", "const A = 1;\n");
    assert_eq!(client.diagnostics_of("k.hx", version).len(), 0);
    assert_eq!(client.leave(), 0);
}

/// A used file becomes invalid UTF-8 on disk, vanishes, and returns, while another file is edited.
#[test]
fn a_used_file_that_breaks_on_disk() {
    let lib = "fn one(x: f32) -> f32 { x }\n";
    let user = "use lib::one;\nfn f(x: f32) -> f32 { one(x) }\n";
    let mut client = Client::start(&[("lib.hx", lib)]);
    let version = client.open("user.hx", user);
    assert_eq!(client.diagnostics_of("user.hx", version).len(), 0);
    let changed = |client: &mut Client, kind: u32| {
        let changes = json!([{ "uri": client.uri("lib.hx"), "type": kind }]);
        client.tell("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    };
    client.sandbox.write("lib.hx", &[0xff, 0xfe, 0x00, b'f']);
    changed(&mut client, 2);
    client.wait_for("that the file is told to be no text", |c| {
        c.diagnostics.get(&c.uri("lib.hx")).is_some_and(|d| d["diagnostics"].to_string().contains("UTF-8"))
    });
    let version = client.replace("user.hx", &format!("{user}// more\n"));
    client.diagnostics_of("user.hx", version);
    std::fs::remove_file(client.sandbox.path("lib.hx")).expect("it is there");
    changed(&mut client, 3);
    client.wait_for("that it is missed", |c| c.diagnostics[&c.uri("user.hx")]["diagnostics"] != json!([]));
    client.sandbox.write("lib.hx", lib.as_bytes());
    changed(&mut client, 1);
    client.wait_for("that all is well", |c| c.diagnostics[&c.uri("user.hx")]["diagnostics"] == json!([]));
    assert_eq!(client.leave(), 0);
}

/// Every question is cancelled at once; then each is asked again and answered.
#[test]
fn every_question_is_cancelled() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    let asked = |client: &mut Client| {
        let document = json!({ "textDocument": client.document("k.hx") });
        let mut ids = Vec::new();
        for method in [
            "textDocument/documentSymbol",
            "textDocument/foldingRange",
            "textDocument/codeLens",
            "textDocument/semanticTokens/full",
            "hx/syntaxTree",
            "hx/costs",
        ] {
            ids.push((method, client.send(method, document.clone())));
        }
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
            let params = client.at("k.hx", 19, 9);
            ids.push((method, client.send(method, params)));
        }
        for stage in ["layouts", "cuda", "ptx", "sass"] {
            let mut params = document.clone();
            params["stage"] = json!(stage);
            ids.push(("hx/emit", client.send("hx/emit", params)));
        }
        let at = json!({ "line": 15, "character": 10 });
        let params = json!({
            "textDocument": client.document("k.hx"), "range": { "start": at, "end": at },
            "context": { "diagnostics": [] },
        });
        ids.push(("textDocument/codeAction", client.send("textDocument/codeAction", params)));
        ids
    };
    for round in 0..10 {
        client.replace("k.hx", &MATMUL.replace("BM = 64", &format!("BM = {}", 32 + 32 * (round % 4))));
        let ids = asked(&mut client);
        ids.iter().for_each(|(_, id)| client.cancel(*id));
        for (method, id) in ids {
            let answer = client.answer(id);
            let code = answer["error"]["code"].as_i64();
            // Allowed: answered before the cancellation, cancelled, overtaken by an edit, or no CUDA compiler on this machine.
            let fine = matches!(code, None | Some(-32800 | -32801 | -32602 | -32803));
            assert!(fine, "{method}: {answer}");
        }
    }
    client.replace("k.hx", MATMUL);
    for (method, id) in asked(&mut client) {
        let answer = client.answer(id);
        let fine = answer["error"].is_null() || method == "hx/emit";
        assert!(fine, "{method}: {answer}");
    }
    assert_eq!(client.leave(), 0);
}

#[test]
fn several_folders() {
    let options = Options { folders: vec!["one".to_owned(), "two".to_owned()], ..Options::default() };
    let files = [
        ("one/a.hx", "const IN_FOLDER_ONE = 1;\n"),
        ("two/b.hx", "const IN_FOLDER_TWO = 1;\n"),
        ("c.hx", "const IN_FOLDER_NONE = 1;\n"),
    ];
    let mut client = Client::start_with(&files, &options);
    let found = |client: &mut Client| {
        let found = client.ask("workspace/symbol", json!({ "query": "IN_FOLDER_" }));
        let names = found.as_array().into_iter().flatten().filter_map(|s| s["name"].as_str());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut client), ["IN_FOLDER_ONE", "IN_FOLDER_TWO"]);
    let folder = json!({ "uri": client.uri("two"), "name": "two" });
    let event = json!({ "event": { "added": [], "removed": [folder] } });
    client.tell("workspace/didChangeWorkspaceFolders", event);
    assert_eq!(found(&mut client), ["IN_FOLDER_ONE"]);
}

#[test]
fn a_client_that_goes_away() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    client.hang_up();
    assert_eq!(client.wait(), 1, "an end without a shutdown is an error");
}

#[test]
fn a_server_that_is_killed_leaves_nothing_broken() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    let hints = client.hints("k.hx");
    client.kill();
    let mut again = Client::start(&[]);
    again.open("k.hx", MATMUL);
    assert_eq!(again.hints("k.hx"), hints);
}

#[test]
fn messages_that_make_no_sense() {
    let mut client = Client::start(&[]);
    client.tell("textDocument/didChange", json!({ "nonsense": true }));
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": "file:///never/opened.hx" } }));
    client.tell("workspace/didChangeConfiguration", json!({ "settings": { "hx": { "target": "sm_3" } } }));
    assert_eq!(client.refused("hx/unknown", json!({})).0, -32601);
    let params = json!({ "textDocument": { "uri": "untitled:Untitled-1" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(client.refused("textDocument/hover", params).0, -32602);
    let document =
        json!({ "uri": "untitled:Untitled-1", "languageId": "hx", "version": 1, "text": "const A = 1;\n" });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let params = json!({ "textDocument": { "uri": "untitled:Untitled-1" } });
    assert_eq!(client.ask("textDocument/documentSymbol", params)[0]["name"], "A");
    client.wait_for("a word about the settings", |c| c.said.iter().any(|s| s.contains("sm_3")));
}

/// Returns a random change: characters that break the text, or a valid change that affects the solution.
fn random_change(random: &mut Random, text: &str) -> (std::ops::Range<usize>, &'static str) {
    let ends: Vec<usize> = text.match_indices(";\n").map(|(at, _)| at + 1).collect();
    let digits: Vec<usize> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
    match below(random, 10) {
        kind @ 0..4 if !ends.is_empty() => {
            let at = ends[below(random, ends.len())];
            (at..at, ["\n    sync();", " // a note", "\n    let _q = 1;", "\n\n"][kind])
        }
        4 if !digits.is_empty() => {
            let at = digits[below(random, digits.len())];
            (at..at + 1, ["0", "1", "2", "4", "6", "8"][below(random, 6)])
        }
        _ => {
            let boundary =
                |at: usize| (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            let start = boundary(below(random, text.len() + 1));
            let length = below(random, 6).min(text.len() - start);
            let pieces = ["", "", "x", " ", ";", "(", "}", "0", "let y = ", "∘", "copy(", "\n", "kernel "];
            (start..boundary(start + length), pieces[below(random, pieces.len())])
        }
    }
}

/// Makes random edits, mixed with cancelled requests. After each batch a fresh server must give the same answers for the same
/// text, except for stale hints of broken kernels, which only the old server has. Half of the edits are undone, so that texts
/// without errors recur.
#[test]
fn random_edits_lead_to_what_a_fresh_server_says() {
    let seed = seed();
    let mut random = Random::new(seed);
    let batches =
        std::env::var("HX_RANDOM_EDITS").ok().and_then(|n| n.parse::<usize>().ok()).unwrap_or(120) / 40;
    let original = format!("{MATMUL}\n{}", include_str!("../../std/softmax.hx"));
    let mut text = original.clone();
    let mut before: Vec<String> = Vec::new();
    let mut client = Client::start(&[]);
    client.open("k.hx", &text);
    for batch in 0..batches {
        for _ in 0..40 {
            let old = match below(&mut random, 20) {
                0..9 => before.pop(),
                // Undo many edits at once, and drop the ones after them.
                9 if !before.is_empty() => {
                    before.truncate(below(&mut random, before.len()) + 1);
                    before.pop()
                }
                10 if batch % 3 == 2 => Some(original.clone()),
                _ => None,
            };
            match old {
                Some(old) => {
                    text = old;
                    client.replace("k.hx", &text);
                }
                None => {
                    before.push(text.clone());
                    let (range, piece) = random_change(&mut random, &text);
                    let place =
                        json!({ "start": position(&text, range.start), "end": position(&text, range.end) });
                    client.change("k.hx", json!([{ "range": place, "text": piece }]));
                    text.replace_range(range, piece);
                }
            }
            ask_something(&mut client, &mut random);
        }
        let version = client.replace("k.hx", &text);
        let mut fresh = Client::start(&[]);
        let fresh_version = fresh.open("k.hx", &text);
        let note = format!("seed {seed}, batch {batch}");
        let without_places = |found: Vec<Value>| {
            found.iter().map(|d| format!("{} {} {}", d["range"], d["code"], d["message"])).collect::<Vec<_>>()
        };
        let found = without_places(client.diagnostics_of("k.hx", version));
        assert_eq!(found, without_places(fresh.diagnostics_of("k.hx", fresh_version)), "{note}");
        let fresh_hints = fresh.hints("k.hx");
        let hints = client.hints("k.hx");
        let current = hints.lines().filter(|line| !line.contains(" ~ ")).map(|line| format!("{line}\n"));
        assert_eq!(current.collect::<String>(), fresh_hints, "{note}");
        let at = |random: &mut Random, client: &Client| {
            client.at("k.hx", below(random, 60) as u32, below(random, 40) as u32)
        };
        for method in
            ["documentSymbol", "foldingRange", "semanticTokens/full", "codeLens", "hover", "definition", "hx"]
        {
            let method =
                if method == "hx" { "hx/syntaxTree".into() } else { format!("textDocument/{method}") };
            let place = at(&mut random, &client);
            let [old, new] = [&mut client, &mut fresh].map(|client| {
                let mut params = place.clone();
                params["textDocument"] = client.document("k.hx");
                let mut answer = client.ask(&method, params);
                // The result id counts earlier answers, so ignore it.
                answer.as_object_mut().map(|answer| answer.remove("resultId"));
                // Ignore stale content, which only the old server has.
                let shown = answer["contents"]["value"].as_str();
                let current = shown.and_then(|shown| shown.split_once("\n*The kernel has errors. Before"));
                if let Some(current) = current.map(|(current, _)| current.to_owned()) {
                    answer["contents"]["value"] = current.into();
                }
                answer.to_string().replace(&client.uri(""), "")
            });
            let old = if method == "textDocument/codeLens" { without_stale(&old, &new) } else { old };
            assert_eq!(old, new, "{method} at {place}, {note}");
        }
        assert_eq!(client.said, Vec::<String>::new(), "{note}");
    }
}

/// Removes the lenses that a fresh server does not have, because they are stale.
fn without_stale(old: &str, fresh: &str) -> String {
    let [mut old, fresh] =
        [old, fresh].map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap_or_default());
    old.retain(|lens| fresh.contains(lens));
    Value::from(old).to_string()
}

fn below(random: &mut Random, end: usize) -> usize {
    (random.next() % end.max(1) as u64) as usize
}

fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let line = before.matches('\n').count();
    json!({ "line": line, "character": at - before.rfind('\n').map_or(0, |i| i + 1) })
}

/// Sends a request whose answer nobody waits for, and cancels it half of the time.
fn ask_something(client: &mut Client, random: &mut Random) {
    let document = client.document("k.hx");
    let at = client.at("k.hx", below(random, 60) as u32, below(random, 40) as u32);
    let id = match below(random, 6) {
        0 => client.send("textDocument/hover", at),
        1 => client.send("textDocument/completion", at),
        2 => client.send("textDocument/semanticTokens/full", json!({ "textDocument": document })),
        3 => client.send("textDocument/codeLens", json!({ "textDocument": document })),
        4 => client.send("hx/costs", json!({ "textDocument": document })),
        _ => return,
    };
    if below(random, 2) == 0 {
        client.cancel(id);
    }
}
