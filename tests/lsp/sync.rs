//! Synchronization of texts: edits, bursts, cancellation, files that appear and vanish.

use serde_json::json;

use super::{Client, Options};

const GOOD: &str = "const A = 1;\n";
const BAD: &str = "const A = ;\n";

#[test]
fn diagnostics_follow_the_text() {
    let mut client = Client::start(&[]);
    let version = client.open("a.hx", BAD);
    assert_eq!(client.diagnostics_of("a.hx", version).len(), 1);
    let version = client.replace("a.hx", GOOD);
    assert_eq!(client.diagnostics_of("a.hx", version).len(), 0);
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_client_may_ask_for_diagnostics() {
    let options = Options { pulls: true, ..Options::default() };
    let mut client = Client::start_with(&[("b.hx", BAD)], &options);
    client.open("a.hx", BAD);
    let params = json!({ "textDocument": client.document("a.hx") });
    let report = client.ask("textDocument/diagnostic", params);
    assert_eq!(report["kind"], "full");
    assert_eq!(report["items"].as_array().map(Vec::len), Some(1));
    let id = report["resultId"].clone();
    let params = json!({ "textDocument": client.document("a.hx"), "previousResultId": id });
    assert_eq!(client.ask("textDocument/diagnostic", params)["kind"], "unchanged");
    let report = client.ask("workspace/diagnostic", json!({ "previousResultIds": [] }));
    assert_eq!(report["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(client.published, 0, "nothing is sent to a client that asks");
}
