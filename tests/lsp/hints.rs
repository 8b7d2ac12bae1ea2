//! Hints over the wire: which are shown, and which remain while a kernel has errors.

use expect_test::{Expect, expect};
use serde_json::json;

use super::{Client, Options};

const MATMUL: &str = include_str!("../../std/matmul.hx");

fn check(client: &mut Client, name: &str, expected: Expect) {
    expected.assert_eq(&client.hints(name));
}

#[test]
fn the_example_has_layouts_and_instructions() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    check(
        &mut client,
        "k.hx",
        expect![[r#"
            9:10 ⟨32B swizzle⟩
            10:10 ⟨32B swizzle⟩
            11:10 ⟨wgmma.C 1×1⟩
            15:33 cp.async.cg · 16 B
            16:33 cp.async.cg · 16 B
            17:25 wgmma.m64n64k16
            19:10 ⟨128B swizzle⟩
            20:28 stmatrix.x4 · 16 B
            22:11 ⟨4 × 16 B⟩
            23:18 ld.shared.v4 · 16 B
            24:71 st.global.v4 · 16 B
        "#]],
    );
}

/// The order that the compiler inferred for a packed tensor is behind the `infer` of the header.
#[test]
fn an_inferred_order_has_a_hint() {
    let mut client = Client::start(&[]);
    let text =
        "kernel widened<W: layout = infer>(w: u4[64, 64] : W, y: mut f16[64, 64]) grid [1] threads 128 {
    copy(cast(load(w), f16), y);
}
";
    client.open("k.hx", text);
    check(
        &mut client,
        "k.hx",
        expect![[r#"
        0:32 ⟨((16,4),(2,4,8)):((256,8),(4,1,32))⟩
        1:32 ld.global.v4 · 16 B, st.global.v4 · 16 B
    "#]],
    );
}

#[test]
fn hints_stay_while_a_kernel_has_errors() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    let whole = client.hints("k.hx");
    client.replace("k.hx", &MATMUL.replace("fill(rc, 0.0);", "fill(rc, "));
    let stale = client.hints("k.hx");
    assert!(stale.contains("~ ⟨wgmma.C 1×1⟩"), "{stale}");
    client.replace("k.hx", MATMUL);
    assert_eq!(client.hints("k.hx"), whole);
}

#[test]
fn a_client_may_ask_for_tooltips_later() {
    let options = Options { resolves: true, ..Options::default() };
    let mut client = Client::start_with(&[], &options);
    client.open("k.hx", MATMUL);
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let params = json!({ "textDocument": client.document("k.hx"), "range": range });
    let hints = client.ask("textDocument/inlayHint", params);
    let hint = &hints[0];
    assert!(hint["label"][0].get("tooltip").is_none(), "{hint}");
    let whole = client.ask("inlayHint/resolve", hint.clone());
    let tooltip = whole["label"][0]["tooltip"]["value"].as_str().unwrap_or_default();
    assert!(tooltip.contains("Because: "), "{whole}");
    assert!(whole["label"][0]["location"]["range"].is_object(), "{whole}");
}

/// A click on a hint leads to the operation that forced the layout, or that became the instruction.
#[test]
fn a_click_leads_to_the_operation() {
    let mut client = Client::start(&[]);
    client.open("k.hx", MATMUL);
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let params = json!({ "textDocument": client.document("k.hx"), "range": range });
    let hints = client.ask("textDocument/inlayHint", params);
    let lines: Vec<&str> = MATMUL.lines().collect();
    let mut text = String::new();
    for part in
        hints.as_array().into_iter().flatten().flat_map(|hint| hint["label"].as_array().into_iter().flatten())
    {
        let at = &part["location"];
        assert_eq!(at["uri"], client.uri("k.hx"), "{part}");
        let (start, end) = (&at["range"]["start"], &at["range"]["end"]);
        assert_eq!(start["line"], end["line"], "{part}");
        let number = |value: &serde_json::Value| value.as_u64().unwrap_or_default() as usize;
        let written = &lines[number(&start["line"])][number(&start["character"])..number(&end["character"])];
        text.push_str(&format!("{} → {written}\n", part["value"].as_str().unwrap_or_default()));
    }
    expect![[r#"
        ⟨32B swizzle⟩ → copy(ga[.., .., ki], ra)
        ⟨32B swizzle⟩ → copy(gb[.., .., ki], rb)
        ⟨wgmma.C 1×1⟩ → gemm(rc, ra, rb)
        cp.async.cg · 16 B → copy(ga[.., .., ki], ra)
        cp.async.cg · 16 B → copy(gb[.., .., ki], rb)
        wgmma.m64n64k16 → gemm(rc, ra, rb)
        ⟨128B swizzle⟩ → copy(cast(rc, f16), sc)
        stmatrix.x4 · 16 B → copy(cast(rc, f16), sc)
        ⟨4 × 16 B⟩ → copy(rc1, global_view(c[bm * BM.., bn * BN..], (BM, BN) : (n, 1)))
        ld.shared.v4 · 16 B → copy(sc, rc1)
        st.global.v4 · 16 B → copy(rc1, global_view(c[bm * BM.., bn * BN..], (BM, BN) : (n, 1)))
    "#]]
    .assert_eq(&text);
}
