use expect_test::{Expect, expect};

use super::*;

const INIT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

fn framed(content: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{content}", content.len())
}

/// Compares the messages of a stream, one per line. Also checks that splitting the stream into pieces does not change them.
fn check(stream: impl AsRef<[u8]>, expected: Expect) {
    let stream = stream.as_ref();
    let read = |piece: usize| {
        let mut frames = Frames::default();
        let mut found = String::new();
        for bytes in stream.chunks(piece) {
            frames.push(bytes);
            while let Some(frame) = frames.next() {
                incoming(frame).iter().for_each(|message| found.push_str(&line(message)));
            }
        }
        found
    };
    let whole = read(stream.len());
    for piece in [1, 2, 3, 7, 64] {
        assert_eq!(read(piece), whole, "in pieces of {piece}");
    }
    expected.assert_eq(&whole);
}

fn line(message: &Incoming) -> String {
    match message {
        Incoming::Request(request) => match request.id() {
            Some(id) => format!("request {id} {}\n", request.method()),
            None => format!("notification {}\n", request.method()),
        },
        Incoming::Response(response) => {
            format!("response {} {}\n", response.id(), if response.is_ok() { "ok" } else { "error" })
        }
        Incoming::Refused(refusal) => {
            let (code, reason) =
                refusal.error().map(|e| (e.code.code(), e.message.clone())).unwrap_or_default();
            format!("refused {} {code} {reason}\n", refusal.id())
        }
    }
}

#[test]
fn messages() {
    let response = r#"{"jsonrpc":"2.0","id":"a","result":null}"#;
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"},"result":null}"#;
    check(
        [INIT, NOTE, response, error].map(framed).concat(),
        expect![[r#"
            request 1 initialize
            notification note
            response "a" ok
            response 2 error
        "#]],
    );
}

#[test]
fn headers_in_any_case_and_order() {
    let n = NOTE.len();
    check(
        format!(
            "content-length: {n}\r\n\r\n{NOTE}CONTENT-LENGTH:{n}\nX-More: 1\nX-Other: 2\n\n{NOTE}\
             Content-Type: application/vscode-jsonrpc\r\nContent-Length : {n} \r\n\r\n{NOTE}\r\n\
             content-type: x; Charset=\"UTF-8\"\r\ncontent-length: {n}\r\n\r\n{NOTE}"
        ),
        expect![[r#"
            notification note
            notification note
            notification note
            notification note
        "#]],
    );
}

#[test]
fn content_that_is_no_json() {
    let mut stream: Vec<u8> = ["{\"jsonrpc\":", "", "nonsense", &"[".repeat(100_000)]
        .map(|content| framed(content) + &framed(NOTE))
        .concat()
        .into();
    stream.extend(b"Content-Length: 4\r\n\r\n\"\xff\xfe\"");
    stream.extend(framed(NOTE).bytes());
    check(
        stream,
        expect![[r#"
            refused null -32700 the message is not JSON: EOF while parsing a value at line 1 column 11
            notification note
            refused null -32700 the message is not JSON: EOF while parsing a value at line 1 column 0
            notification note
            refused null -32700 the message is not JSON: expected ident at line 1 column 2
            notification note
            refused null -32700 the message is not JSON: recursion limit exceeded at line 1 column 128
            notification note
            refused null -32700 the message is not JSON: invalid unicode code point at line 1 column 2
            notification note
        "#]],
    );
}

#[test]
fn lengths_that_are_wrong() {
    let n = INIT.len();
    let after = framed(NOTE);
    let lengths = ["0", "5", "many", "-3", "1073741825", "99999999999999999999999", "1073741824"];
    let wrong = lengths.map(|length| format!("Content-Length: {length}\r\n\r\n{INIT}{after}"));
    let near = [n - 1, n + 1, n + 10, n + 40].map(|n| format!("Content-Length: {n}\r\n\r\n{INIT}{after}"));
    check(
        wrong.concat() + &near.concat(),
        expect![[r#"
            refused null -32700 the message is not JSON: EOF while parsing a value at line 1 column 0
            notification note
            refused null -32700 the message is not JSON: EOF while parsing a string at line 1 column 5
            notification note
            refused null -32700 found `Content-Length: many`, expected a number of bytes
            notification note
            refused null -32700 found `Content-Length: -3`, expected a number of bytes
            notification note
            refused null -32700 found `Content-Length: 1073741825`, expected at most 1073741824
            notification note
            refused null -32700 found `Content-Length: 99999999999999999999999`, expected a number of bytes
            notification note
            refused null -32700 found another header within the 1073741824 bytes of a message
            notification note
            refused null -32700 the message is not JSON: EOF while parsing an object at line 1 column 57
            notification note
            refused null -32700 the message is not JSON: trailing characters at line 1 column 59
            notification note
            refused null -32700 the message is not JSON: trailing characters at line 1 column 59
            notification note
            refused null -32700 found another header within the 98 bytes of a message
            notification note
        "#]],
    );
}

#[test]
fn headers_that_are_wrong() {
    let n = NOTE.len();
    check(
        format!(
            "X-More: 1\r\n\r\n{NOTE}{after}garbage{after}\
             Content-Length: {n}\r\nContent-Length: 3\r\n\r\n{NOTE}{after}\
             Content-Type: x; charset=utf-16\r\nContent-Length: {n}\r\n\r\n{NOTE}{after}{}{after}",
            "x".repeat(3 * MOST_HEADERS),
            after = framed(NOTE),
        ),
        expect![[r#"
            refused null -32700 found headers without `Content-Length`
            notification note
            refused null -32700 found headers without `Content-Length`
            notification note
            refused null -32700 found two `Content-Length` headers that differ
            notification note
            refused null -32700 found the charset `utf-16`, expected `utf-8`
            notification note
            refused null -32700 found no blank line in 8192 bytes, expected headers
            notification note
        "#]],
    );
}

#[test]
fn json_that_is_no_message() {
    let messages = [
        "[]",
        "[1]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","id":"c","method":"c"}]"#,
        "1",
        "{}",
        r#"{"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"1.0","id":2,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":4}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"a","params":1}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"a","params":null}"#,
        r#"{"jsonrpc":"2.0","id":6}"#,
        r#"{"jsonrpc":"2.0","result":1}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":"no error"}"#,
    ];
    check(
        messages.map(framed).concat(),
        expect![[r#"
            refused null -32600 found a batch, expected one message: the protocol has no batches
            refused null -32600 found a batch, expected one message: the protocol has no batches
            refused 1 -32600 found a batch, expected one message: the protocol has no batches
            refused "c" -32600 found a batch, expected one message: the protocol has no batches
            refused null -32600 found no `"jsonrpc": "2.0"` in the message
            refused null -32600 found no `"jsonrpc": "2.0"` in the message
            refused 1 -32600 found no `"jsonrpc": "2.0"` in the message
            refused 2 -32600 found no `"jsonrpc": "2.0"` in the message
            refused null -32600 found an `id` that is neither a whole number nor a string
            refused null -32600 found an `id` that is neither a whole number nor a string
            refused 3 -32600 found a `method` that is not a string
            refused 4 -32600 found `params` that are neither an object nor an array
            request 5 a
            refused 6 -32600 found no `method` in the message, and it is not an answer
            refused null -32600 found no `method` in the message, and it is not an answer
            refused 7 -32600 found no `method` in the message, and it is not an answer
        "#]],
    );
}
