//! PTX and machine code over the wire, and the registers that the CUDA compiler reports. Needs NVRTC and `nvdisasm`.

use std::collections::BTreeSet;

use hx_worker::protocol::NvrtcFiles;
use hx_worker::toolkit::{find_nvdisasm, find_nvrtc};
use serde_json::{Value, json};

use super::{Client, Options};
use crate::support;

const MATMUL: &str = include_str!("../../std/matmul.hx");

/// Starts a server that finds the CUDA compiler. Without one, reports why the test is skipped.
fn client(test: &str) -> Option<Client> {
    let search = support::search_env();
    let found = find_nvrtc(&search).and_then(|nvrtc| Ok((nvrtc, find_nvdisasm(&search)?)));
    match found {
        Ok((NvrtcFiles { library: nvrtc, .. }, nvdisasm)) => {
            let variables = vec![
                ("HX_NVRTC", nvrtc.display().to_string()),
                ("HX_NVDISASM", nvdisasm.display().to_string()),
            ];
            Some(Client::start_with(&[], &Options { variables, ..Options::default() }))
        }
        Err(absence) => {
            support::skip(test, &absence.to_string(), "HX_REQUIRE_NVRTC");
            None
        }
    }
}

/// Returns the source lines, from 0, of the emitted lines that contain a word.
fn sources(emitted: &Value, word: &str) -> BTreeSet<u64> {
    let text: Vec<&str> = emitted["text"].as_str().unwrap_or_default().lines().collect();
    let pairs = emitted["lines"].as_array().into_iter().flatten();
    let of_word =
        pairs.filter(|pair| text[pair["emitted"].as_u64().unwrap_or_default() as usize].contains(word));
    of_word.filter_map(|pair| pair["source"].as_u64()).collect()
}

fn line_of(text: &str, wanted: &str) -> u64 {
    text.lines().position(|line| line.contains(wanted)).expect("the text has it") as u64
}

/// Checks the source lines of words in the code, for a kernel at the start of the file and for one further down.
fn check(test: &str, stage: &str, words: &[(&str, &[&str])]) {
    let Some(mut client) = client(test) else { return };
    for text in [MATMUL.to_owned(), format!("const MORE = 1;\n\n{MATMUL}")] {
        client.open("k.hx", &text);
        let params = json!({ "textDocument": client.document("k.hx"), "kernel": "matmul", "stage": stage });
        let emitted = client.ask("hx/emit", params);
        for (word, lines) in words {
            let wanted: BTreeSet<u64> = lines.iter().map(|line| line_of(&text, line)).collect();
            assert_eq!(sources(&emitted, word), wanted, "{stage} {word}\n{}", emitted["text"]);
        }
        client.tell("textDocument/didClose", json!({ "textDocument": client.document("k.hx") }));
    }
}

#[test]
fn ptx_beside_the_source() {
    let words: [(&str, &[&str]); 3] = [
        ("wgmma.mma_async", &["gemm(rc, ra, rb)"]),
        ("stmatrix", &["copy(cast(rc, f16), sc)"]),
        ("st.global", &["copy(rc1, global_view"]),
    ];
    check("lsp::ptx_beside_the_source", "ptx", &words);
}

#[test]
fn machine_code_beside_the_source() {
    let words: [(&str, &[&str]); 3] = [
        ("HGMMA.64x64x16", &["gemm(rc, ra, rb)"]),
        ("STSM", &["copy(cast(rc, f16), sc)"]),
        ("STG.E", &["copy(rc1, global_view"]),
    ];
    check("lsp::machine_code_beside_the_source", "sass", &words);
}

/// `nvdisasm` reports no live registers for a kernel that uses all registers. The code then comes without them and says so.
#[test]
fn machine_code_of_a_kernel_with_all_registers() {
    let Some(mut client) = client("lsp::machine_code_of_a_kernel_with_all_registers") else { return };
    let text = "\
kernel k(x: f32[m, n], y: mut f32[m, n]) grid [1] threads 32 {
    let a = load(tile(x, [32, 256])[.., .., 0, 0]);
    let s = shared_tensor(f32, [32, 256]);
    copy(a, s);
    sync();
    copy(a * 2.0, tile(y, [32, 256])[.., .., 0, 0]);
    copy(s, a);
    copy(a, tile(y, [32, 256])[.., .., 1, 0]);
}
";
    client.open("k.hx", text);
    let params = json!({ "textDocument": client.document("k.hx"), "kernel": "k", "stage": "sass" });
    let emitted = client.ask("hx/emit", params);
    let text = emitted["text"].as_str().unwrap_or_default();
    assert!(text.contains("STG.E"), "{text}");
    assert!(emitted["lines"].as_array().is_some_and(|lines| lines.len() > 100), "{emitted}");
    assert!(text.starts_with("// "), "{text}");
}

#[test]
fn registers_are_the_compilers_after_a_save() {
    let Some(mut client) = client("lsp::registers_are_the_compilers_after_a_save") else { return };
    client.open("k.hx", MATMUL);
    let document = json!({ "textDocument": client.document("k.hx") });
    let lens = |client: &mut Client| {
        let lenses = client.ask("textDocument/codeLens", document.clone());
        lenses[0]["command"]["title"].as_str().unwrap_or_default().to_owned()
    };
    assert!(lens(&mut client).contains("registers (estimated)"), "an estimate");
    client.tell("textDocument/didSave", document.clone());
    // The server also sends refresh requests for other reasons, so count them.
    let refreshed = |c: &Client| c.asked.iter().filter(|m| *m == "workspace/codeLens/refresh").count();
    let said = loop {
        let before = refreshed(&client);
        let said = lens(&mut client);
        if !said.contains("(estimated)") {
            break said;
        }
        client.wait_for("a request to ask for lenses again", |c| refreshed(c) > before);
    };
    assert!(said.contains(" registers"), "{said}");
    let costs = client.ask("hx/costs", document.clone());
    assert_eq!(costs[0]["estimated"], false, "{costs}");
    // A new text is estimated again; the registers of the first are remembered.
    client.replace("k.hx", &MATMUL.replace("BK = 16", "BK = 32"));
    assert!(lens(&mut client).contains("registers (estimated)"), "an estimate");
    client.replace("k.hx", MATMUL);
    assert_eq!(lens(&mut client), said);
}

/// The compiling process ends with the server, even if the server is killed.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_server_leaves_no_worker() {
    let Some(mut client) = client("lsp::a_killed_server_leaves_no_worker") else { return };
    client.open("k.hx", MATMUL);
    let params = json!({ "textDocument": client.document("k.hx"), "kernel": "matmul", "stage": "ptx" });
    client.ask("hx/emit", params);
    let workers = client.children();
    assert!(!workers.is_empty(), "a worker compiles");
    client.kill();
    workers.into_iter().for_each(super::client::wait_for_the_end_of);
}
