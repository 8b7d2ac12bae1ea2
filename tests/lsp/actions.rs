//! Code actions over the wire: their kinds, their edits at once or on demand, and that the edited text matches the title.

use serde_json::{Value, json};

use super::{Client, Options};

const MATMUL: &str = include_str!("../../std/matmul.hx");

/// Returns the range of the first occurrence of `wanted`, which has no line break, in `text`. Columns are bytes.
fn range_of(text: &str, wanted: &str) -> Value {
    let at = text.find(wanted).expect("the text has it");
    let line = text[..at].matches('\n').count();
    let column = at - text[..at].rfind('\n').map_or(0, |i| i + 1);
    json!({
        "start": { "line": line, "character": column },
        "end": { "line": line, "character": column + wanted.len() },
    })
}

fn ask(client: &mut Client, wanted: &str, context: Value) -> Vec<Value> {
    let params = json!({
        "textDocument": client.document("k.hx"), "range": range_of(MATMUL, wanted), "context": context,
    });
    client.ask("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
}

fn titles(actions: &[Value]) -> Vec<&str> {
    actions.iter().filter_map(|action| action["title"].as_str()).collect()
}

fn edited(edit: &Value, uri: &str) -> String {
    let edit = &edit["changes"][uri][0];
    let place = |at: &Value| {
        let line = at["line"].as_u64().expect("a line") as usize;
        let before: usize = MATMUL.split_inclusive('\n').take(line).map(str::len).sum();
        before + at["character"].as_u64().expect("a column") as usize
    };
    let (start, end) = (place(&edit["range"]["start"]), place(&edit["range"]["end"]));
    let mut text = MATMUL.to_owned();
    text.replace_range(start..end, edit["newText"].as_str().expect("a text"));
    text
}

#[test]
fn a_layout_is_pinned_as_it_is() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    let before = client.hints("k.hx");
    let actions = ask(&mut client, "let sc = shared", json!({ "diagnostics": [] }));
    assert_eq!(titles(&actions), ["pin this layout of `sc`, for BK = 16, BM = 64, BN = 64"]);
    assert_eq!(actions[0]["kind"], "refactor.rewrite");
    let pinned = edited(&actions[0]["edit"], &client.uri("k.hx"));
    assert!(pinned.contains("[BM, BN], layout: swizzle<3, 3, 3> ∘ (64, 64) : (64, 1));"), "{pinned}");
    let version = client.replace("k.hx", &pinned);
    assert_eq!(client.diagnostics_of("k.hx", version), Vec::<Value>::new());
    // Only the text after the pin on its own line has moved.
    assert_eq!(client.hints("k.hx"), before);
}

#[test]
fn only_the_kinds_that_are_asked_for() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    for (only, count) in
        [("quickfix", 0), ("refactor", 1), ("refactor.rewrite", 1), ("refactor.extract", 0), ("", 1)]
    {
        let actions = ask(&mut client, "let rc = reg", json!({ "diagnostics": [], "only": [only] }));
        assert_eq!(actions.len(), count, "{only}: {actions:?}");
    }
}

/// Searching for access widths is too slow for a light bulb, so the server does it only when a person asks for actions.
#[test]
fn widths_when_a_person_asks_and_edits_when_one_is_chosen() {
    let options = Options { resolves: true, ..Options::default() };
    let mut client = Client::start_with(&[], &options);
    // A product of computed values leaves the loads narrow.
    let narrow = MATMUL.replace("gemm(rc, ra, rb)", "gemm(rc, abs(ra), abs(rb))");
    client.open("k.hx", &narrow);
    let place = "copy(ga[.., .., ki], ra)";
    let automatic = ask(&mut client, place, json!({ "diagnostics": [], "triggerKind": 2 }));
    assert_eq!(titles(&automatic), Vec::<&str>::new());
    let invoked = ask(&mut client, place, json!({ "diagnostics": [], "triggerKind": 1 }));
    let wide = invoked.iter().find(|action| {
        action["title"].as_str().is_some_and(|title| title.starts_with("use 16 B accesses: pin `ra`"))
    });
    let wide = wide.expect("it can be wider");
    assert!(wide.get("edit").is_none(), "{wide}");
    let whole = client.ask("codeAction/resolve", wide.clone());
    let text = edited(&whole["edit"], &client.uri("k.hx"));
    assert!(text.contains("let ra = register_tensor(f16, [BM, BK], layout: "), "{text}");
    client.replace("k.hx", &text);
    assert!(client.hints("k.hx").contains("15:33 ld.global.v4 · 16 B"));
    // After a change of the text the action no longer resolves.
    client.replace("k.hx", "const A = 1;\n");
    let (code, message) = client.refused("codeAction/resolve", wide.clone());
    assert!(code == -32602 && message.starts_with("the text is another one by now"), "{code} {message}");
}
