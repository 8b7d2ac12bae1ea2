//! The forms of diagnostics. JSON has one object per line, with places in bytes and in lines and columns.

use serde_json::Value;

use super::MATMUL;
use crate::support::Sandbox;

/// Returns the byte range of an object with a start and an end.
fn range(object: &Value) -> std::ops::Range<usize> {
    let at = |name: &str| object[name]["byte"].as_u64().expect("an offset") as usize;
    at("start")..at("end")
}

#[test]
fn as_json() {
    let text = MATMUL.replace("    sync();\n", "");
    let sandbox = Sandbox::with("a.hx", &text);
    let ran = sandbox.run(&["check", "a.hx", "--message-format", "json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{}", ran.text());
    let [line] = ran.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{}", ran.stdout) };
    let found: Value = serde_json::from_str(line).expect("a JSON object");
    assert_eq!((&found["code"], &found["severity"]), (&"HX0401".into(), &"error".into()), "{found:#}");
    let spans = found["spans"].as_array().expect("a list");
    let texts: Vec<&str> = spans.iter().map(|span| &text[range(span)]).collect();
    assert_eq!(texts, ["copy(sc, rc1)", "copy(cast(rc, f16), sc)"], "{found:#}");
    let human = sandbox.run(&["check", "a.hx"]).stderr;
    let rendered = found["rendered"].as_str().expect("a text");
    assert!(human.starts_with(rendered.trim_end()), "{human}\nis not\n{rendered}");
    assert_eq!(found["suggestions"].as_array().expect("a list").len(), 1, "{found:#}");
}

/// Diagnostics without a place, and those of a launch, are objects as well. Every line of output is an object.
#[test]
fn every_line_is_an_object() {
    let sandbox = Sandbox::with("a.hx", "main {\n    print(load(\"x.npy\"));\n}\n");
    for args in [
        &["check", "nowhere.hx"][..],
        &["run", "a.hx", "--device", "sim"],
        &["run", "a.hx", "--device", "cuda:99"],
    ] {
        let ran = sandbox.run(&[args, &["--message-format", "json"]].concat());
        assert_ne!(ran.code, 0, "{}", ran.text());
        assert_eq!(ran.stderr, "", "{}", ran.text());
        assert!(!ran.stdout.is_empty(), "{args:?} says nothing");
        for line in ran.stdout.lines() {
            let found: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(found["code"].as_str().is_some_and(|code| code.starts_with("HX06")), "{found:#}");
        }
    }
}

/// Applying the suggested fix for the missing barrier makes the file valid.
#[test]
fn the_offered_fix_works() {
    let mut text = MATMUL.replace("    sync();\n", "");
    let sandbox = Sandbox::with("a.hx", &text);
    let ran = sandbox.run(&["check", "a.hx", "--message-format", "json"]);
    let found: Value = serde_json::from_str(ran.stdout.trim()).expect("a JSON object");
    for edit in found["suggestions"][0]["edits"].as_array().expect("a list") {
        text.replace_range(range(edit), edit["replacement"].as_str().expect("a text"));
    }
    sandbox.write("a.hx", text.as_bytes());
    assert_eq!(sandbox.run(&["check", "a.hx"]).code, 0);
}
