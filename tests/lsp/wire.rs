//! Bytes that are not messages, and messages in the wrong order: each is answered, and the server continues.

use serde_json::{Value, json};

use super::Client;
use super::client::framed;

const GOOD: &str = "const A = 1;\n";

/// Checks that the server still answers, and has exactly this item.
fn check_alive(client: &mut Client, item: &str) {
    let symbols = json!({ "textDocument": client.document("a.hx") });
    assert_eq!(client.ask("textDocument/documentSymbol", symbols)[0]["name"], item);
}

#[test]
fn what_cannot_be_read_is_answered_and_does_not_end_the_server() {
    let mut client = Client::start(&[]);
    client.open("a.hx", GOOD);
    let request = r#"{"jsonrpc":"2.0","id":900,"method":"hx/serverStatus"}"#;
    let damaged = [
        (framed(r#"{"jsonrpc":"2.0","id":900,"method":"#), -32700),
        (framed(""), -32700),
        (format!("Content-Length: many\r\n\r\n{request}"), -32700),
        (format!("Content-Length: 3\r\n\r\n{request}"), -32700),
        (format!("Content-Length: {}\r\n\r\n{request}", request.len() + 20), -32700),
        (format!("Content-Length: 100000000\r\n\r\n{request}"), -32700),
        (format!("No-Length: 1\r\n\r\n{request}"), -32700),
        (format!("Content-Type: x; charset=utf-16\r\n{}", framed(request)), -32700),
        (framed(&"[".repeat(1 << 20)), -32700),
        (framed("[]"), -32600),
        (framed("17"), -32600),
        (framed(r#"{"jsonrpc":"2.0","id":1.5,"method":"hx/serverStatus"}"#), -32600),
    ];
    for (bytes, code) in damaged {
        client.refusals.clear();
        client.write_raw(bytes.as_bytes());
        check_alive(&mut client, "A");
        let codes: Vec<Value> = client.refusals.iter().map(|error| error["code"].clone()).collect();
        assert_eq!(codes, [code], "{}", &bytes[..bytes.len().min(80)]);
    }
    assert_eq!(client.leave(), 0);
}

#[test]
fn header_names_in_any_case_and_more_headers() {
    let mut client = Client::start(&[]);
    client.open("a.hx", GOOD);
    let headers: [fn(usize) -> String; 4] = [
        |n| format!("content-length: {n}\r\n\r\n"),
        |n| format!("CONTENT-LENGTH:{n}\n\n"),
        |n| format!("X-A: 1\r\nX-B: 2\r\nX-C: 3\r\nContent-Length: {n}\r\n\r\n"),
        |n| format!("Content-Type: application/vscode-jsonrpc\r\nContent-length: {n}\r\n\r\n"),
    ];
    for header in headers {
        let id = client.next();
        let content = json!({ "jsonrpc": "2.0", "id": id, "method": "hx/serverStatus" }).to_string();
        client.write_raw(format!("{}{content}", header(content.len())).as_bytes());
        assert_eq!(client.result(id)["openDocuments"], 1);
    }
    assert_eq!(client.refusals, Vec::<Value>::new());
}

#[test]
fn every_request_of_a_batch_is_refused() {
    let mut client = Client::start(&[]);
    let (first, second) = (client.next(), client.next());
    let batch = json!([
        { "jsonrpc": "2.0", "id": first, "method": "hx/serverStatus" },
        { "jsonrpc": "2.0", "method": "initialized", "params": {} },
        { "jsonrpc": "2.0", "id": second, "method": "shutdown" },
    ]);
    client.write_raw(framed(&batch.to_string()).as_bytes());
    for id in [first, second] {
        assert_eq!(client.answer(id)["error"]["code"], -32600);
    }
    assert_eq!(client.leave(), 0);
}

/// Unknown requests of the protocol itself (`$/…`) are answered; unknown notifications are ignored, as the protocol requires.
#[test]
fn unknown_methods() {
    let mut client = Client::start(&[]);
    for method in ["$/unknown", "$/setTrace2", "hx/unknown", "textDocument/unknown", "exit2"] {
        assert_eq!(client.refused(method, json!({})).0, -32601, "{method}");
        client.tell(method, json!({}));
    }
    // Known notifications, sent as requests, are errors.
    for method in ["$/cancelRequest", "textDocument/didOpen"] {
        assert!(client.refused(method, json!({ "id": 12345 })).0 < 0, "{method}");
    }
    assert_eq!(client.leave(), 0);
}

#[test]
fn before_the_beginning_and_after_the_end() {
    let mut client = Client::silent();
    client.tell(
        "textDocument/didOpen",
        json!({ "textDocument": {
        "uri": client.uri("a.hx"), "languageId": "hx", "version": 1, "text": GOOD,
    } }),
    );
    client.tell("initialized", json!({}));
    client.tell("$/setTrace", json!({ "value": "off" }));
    assert_eq!(client.refused("hx/serverStatus", Value::Null).0, -32002);
    assert_eq!(client.refused("shutdown", Value::Null).0, -32002);
    client.say_hello(&super::Options::default());
    // Messages before `initialize` were dropped, as the protocol requires.
    assert_eq!(client.ask("hx/serverStatus", Value::Null)["openDocuments"], 0);
    assert_eq!(client.refused("initialize", json!({ "capabilities": {} })).0, -32600);
    let id = client.send("shutdown", Value::Null);
    client.result(id);
    assert_eq!(client.refused("hx/serverStatus", Value::Null).0, -32600);
    assert_eq!(client.refused("shutdown", Value::Null).0, -32600);
    client.tell("textDocument/didOpen", json!({}));
    client.tell("exit", Value::Null);
    assert_eq!(client.wait(), 0);
}

#[test]
fn an_exit_before_the_beginning() {
    let mut client = Client::silent();
    client.tell("exit", Value::Null);
    assert_eq!(client.wait(), 1, "an end without a shutdown is an error");
}

#[test]
fn an_exit_with_questions_that_wait() {
    let mut client = Client::start(&[]);
    client.open("k.hx", include_str!("../../std/matmul_pipelined.hx"));
    let ids: Vec<i64> = (0..50)
        .map(|_| {
            let document = json!({ "textDocument": client.document("k.hx") });
            client.send("textDocument/codeLens", document)
        })
        .collect();
    let shutdown = client.send("shutdown", Value::Null);
    client.tell("exit", Value::Null);
    client.result(shutdown);
    for id in ids {
        let answer = client.answer(id);
        assert!(answer["result"].is_array() || answer["error"]["code"] == -32800, "{answer}");
    }
    assert_eq!(client.wait(), 0);
}

#[test]
fn requests_with_one_id() {
    let mut client = Client::start(&[]);
    client.open("k.hx", include_str!("../../std/matmul_pipelined.hx"));
    let id = client.next();
    let params = json!({ "textDocument": client.document("k.hx") });
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "textDocument/codeLens", "params": params });
    client.write_raw(framed(&request.to_string()).repeat(2).as_bytes());
    // The second request has the id of a running one, so it is refused at once, before the first is answered.
    assert_eq!(client.answer(id)["error"]["code"], -32600);
    assert!(client.answer(id)["result"].is_array());
    assert_eq!(client.leave(), 0);
}

/// A change with an older version than the text is ignored.
#[test]
fn old_versions_are_not_applied() {
    let mut client = Client::start(&[]);
    let version = client.open("a.hx", GOOD);
    for back in [1, 2, 1_000_000] {
        client.turn_version(-back);
        client.replace("a.hx", "const OLD = 1;\n");
        client.turn_version(back - 1);
        check_alive(&mut client, "A");
    }
    client.wait_for("a word about each", |c| c.said.iter().filter(|s| s.contains("ignored")).count() == 3);
    let said = client.said[0].clone();
    assert!(
        said.contains(&format!("went from version {version} to {version}: the change is ignored")),
        "{said}"
    );
    client.turn_version(10);
    client.replace("a.hx", "const NEW = 1;\n");
    check_alive(&mut client, "NEW");
    assert_eq!(client.leave(), 0);
}

#[test]
fn documents_that_are_opened_twice_or_never() {
    let mut client = Client::start(&[("b.hx", "const ON_DISK = 1;\n")]);
    client.open("a.hx", GOOD);
    client.open("a.hx", "const AGAIN = 1;\n");
    check_alive(&mut client, "AGAIN");
    client.wait_for("a word about it", |c| c.said.iter().any(|s| s.contains("opened again")));
    client.replace("a.hx", "const CHANGED = 1;\n");
    check_alive(&mut client, "CHANGED");
    client.replace("b.hx", "const NEVER = 1;\n");
    let symbols = json!({ "textDocument": client.document("b.hx") });
    assert_eq!(client.ask("textDocument/documentSymbol", symbols)[0]["name"], "ON_DISK");
    client.tell("textDocument/didClose", json!({ "textDocument": client.document("b.hx") }));
    client.tell("textDocument/didSave", json!({ "textDocument": client.document("never.hx") }));
    check_alive(&mut client, "CHANGED");
    assert_eq!(client.leave(), 0);
}

/// A URI that is not a file is a document of its own.
#[test]
fn addresses_that_are_no_files() {
    let mut client = Client::start(&[]);
    let addresses = [
        "untitled:Untitled-1",
        "untitled:/folder/k.hx",
        "git:/folder/k.hx?%7B%22ref%22%3A%22~%22%7D",
        "file:///no%FFtext.hx",
        "file:///%00.hx",
        "file://server/share/k.hx",
        "file:relative.hx",
        "file:",
        "vscode-notebook-cell:/k.ipynb#W0",
        "http://example.com/k.hx",
        "x:",
    ];
    for uri in addresses {
        let document = json!({ "uri": uri, "languageId": "hx", "version": 1, "text": GOOD });
        client.tell("textDocument/didOpen", json!({ "textDocument": document }));
        let params = json!({ "textDocument": { "uri": uri } });
        assert_eq!(client.ask("textDocument/documentSymbol", params.clone())[0]["name"], "A", "{uri}");
        client.tell("textDocument/didClose", params);
    }
    for uri in ["", "no address", "file:///[", "::"] {
        let params = json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 0 } });
        assert_eq!(client.refused("textDocument/hover", params).0, -32602, "{uri}");
    }
    assert_eq!(client.leave(), 0);
}

/// A place outside the text means the nearest place in it.
#[test]
fn places_out_of_range() {
    for utf8 in [true, false] {
        let options = super::Options { utf8, ..super::Options::default() };
        let mut client = Client::start_with(&[], &options);
        client.open("a.hx", "const A = 1; // ∘𝄞\n");
        let far = u32::MAX;
        for (line, character) in [(0, far), (far, 0), (far, far), (0, 17), (1, 1)] {
            for method in [
                "textDocument/hover",
                "textDocument/completion",
                "textDocument/signatureHelp",
                "textDocument/definition",
                "textDocument/documentHighlight",
                "textDocument/prepareCallHierarchy",
                "hx/layout",
                "hx/explainLayout",
            ] {
                let params = client.at("a.hx", line, character);
                client.ask(method, params);
            }
            // Ranges with swapped ends must be harmless, too.
            let place = json!({ "line": line, "character": character });
            let range = json!({ "start": place, "end": { "line": 0, "character": 0 } });
            let document = client.document("a.hx");
            let params = json!({ "textDocument": document, "range": range });
            client.ask("textDocument/inlayHint", params.clone());
            client.ask("textDocument/semanticTokens/range", params.clone());
            client.ask("hx/syntaxTree", params);
            client.change("a.hx", json!([{ "range": range, "text": "" }]));
            client.replace("a.hx", "const A = 1; // ∘𝄞\n");
        }
        for place in
            [json!({ "line": -1, "character": 0 }), json!({ "line": 4_294_967_296_u64, "character": 0 })]
        {
            let params = json!({ "textDocument": client.document("a.hx"), "position": place });
            assert_eq!(client.refused("textDocument/hover", params).0, -32602);
        }
        check_alive(&mut client, "A");
        assert_eq!(client.said, Vec::<String>::new());
    }
}
