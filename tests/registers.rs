//! Registers per thread: the accuracy of the estimate compared with ptxas, and the reuse of a compile's report in every tool.

use hx_base::{Db as _, FileKind};
use hx_compile::{cuda_source, default_instance, estimated_registers};
use hx_hir::file_items;
use hx_target::Target;
use hx_worker::toolkit::find_nvrtc;
use hx_workspace::Database;
use serde_json::json;

use crate::ledger::{Asked, Extent, outcomes};
use crate::lsp::client::{Client, Options};
use crate::repl::script;
use crate::support::{self, Sandbox};

/// Returns, for every default instance of the standard library whose roles leave the registers alone, its name, the estimate,
/// and the registers that ptxas reports. `None` if the CUDA compiler is missing.
fn measured(test: &str) -> Option<Vec<(String, u32, u32)>> {
    let (db, target) = (Database::default(), Target::usual());
    let mut found = Vec::new();
    for &file in db.workspace().files(&db).iter().filter(|file| file.kind(&db) == FileKind::Std) {
        for kernel in file_items(&db, file).kernels() {
            let Some(instance) = default_instance(&db, kernel, target) else { continue };
            let source = cuda_source(&db, instance).as_ref().expect("kernels of `std` have CUDA text");
            // If roles set their own registers, ptxas reports the share of a thread at the launch, not the need of the code.
            if source.text.contains("setmaxnreg") {
                continue;
            }
            let estimate = estimated_registers(&db, instance).expect("it has layouts").min(255);
            found.push((format!("{} {}", file.path(&db), kernel.name(&db)), estimate, &source.text));
        }
    }
    let asked = found.iter().map(|(_, _, text)| Asked { text, target, extent: Extent::Resources });
    let outcomes = outcomes(test, &asked.collect::<Vec<_>>())?;
    let reported = outcomes.into_iter().map(|outcome| outcome.expect("it compiles").registers);
    let measured = found.into_iter().zip(reported);
    Some(measured.map(|((name, estimate, _), reported)| (name, estimate, reported)).collect())
}

/// The estimate is within 0.5 to 1.5 times the number that ptxas reports, and within 20 % for 3 of 5 kernels. That suffices
/// to find large kernels, but not to draw conclusions.
#[test]
fn the_estimate_is_within_half_of_ptxas() {
    let Some(measured) = measured("registers::the_estimate_is_within_half_of_ptxas") else { return };
    assert!(measured.len() >= 26, "{} kernels", measured.len());
    let ratio = |(_, estimate, reported): &(String, u32, u32)| f64::from(*estimate) / f64::from(*reported);
    let far: Vec<_> = measured.iter().filter(|found| !(0.5..=1.5).contains(&ratio(found))).collect();
    assert!(far.is_empty(), "{far:?}");
    let near = measured.iter().filter(|found| (ratio(found) - 1.0).abs() <= 0.2).count();
    assert!(5 * near >= 3 * measured.len(), "{near} of {} within 20 %: {measured:?}", measured.len());
}

const KERNEL: &str = "kernel twice(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    let r = load(tile(x, [256])[.., block_idx]);
    copy(r + r, tile(y, [256])[.., block_idx]);
}
";

/// The editor and the prompt know the registers of a kernel that `hx build` compiled. They start no worker to open a file or to
/// ask.
#[cfg(target_os = "linux")]
#[test]
fn a_compile_on_the_command_line_is_known_in_the_editor_and_at_the_prompt() {
    let test = "registers::a_compile_on_the_command_line_is_known_in_the_editor_and_at_the_prompt";
    let nvrtc = match find_nvrtc(&support::search_env()) {
        Ok(found) => found.library.display().to_string(),
        Err(absence) => return support::skip(test, &absence.to_string(), "HX_REQUIRE_NVRTC"),
    };
    let sandbox = Sandbox::with("k.hx", KERNEL);
    let variables = [("HX_NVRTC", nvrtc.as_str()), ("HX_DEVICE", "sim")];
    let estimated = script(&sandbox, &[], ":load k.hx\n?twice\n").text();
    assert!(estimated.contains(" registers (estimated)\n"), "{estimated}");
    let built = sandbox.run_with(&["build", "k.hx", "-o", "k"], &variables);
    let said = built.stderr.lines().find_map(|line| line.split_once("; ")).map(|(_, said)| said.to_owned());
    let said = said.filter(|said| said.ends_with(" registers (ptxas)")).expect("it tells registers");
    let known = script(&sandbox, &[], ":load k.hx\n?twice\n").text();
    assert!(known.contains(&said) && known.contains(" a multiprocessor ("), "{known}");
    let options = Options { variables: vec![("HX_NVRTC", nvrtc.clone())], ..Options::default() };
    let mut client = Client::over(sandbox, &options);
    client.open("k.hx", KERNEL);
    let document = json!({ "textDocument": client.document("k.hx") });
    let lenses = client.ask("textDocument/codeLens", document.clone());
    assert!(lenses[0]["command"]["title"].as_str().is_some_and(|title| title.contains(&said)), "{lenses}");
    let at = json!({ "textDocument": client.document("k.hx"), "position": { "line": 0, "character": 8 } });
    let hover = client.ask("textDocument/hover", at);
    assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.contains(&said)), "{hover}");
    let costs = client.ask("hx/costs", document);
    assert!(costs[0]["summary"].as_str().is_some_and(|text| text.contains(&said)), "{costs}");
    assert_eq!(costs[0]["estimated"], false);
    assert_eq!(client.children(), [] as [u32; 0], "nothing is compiled to open a file");
    // The changed text has not been compiled, so its registers are estimated.
    client.replace("k.hx", &KERNEL.replace("r + r", "r * r"));
    let costs = client.ask("hx/costs", json!({ "textDocument": client.document("k.hx") }));
    assert_eq!(
        (costs[0]["estimated"].as_bool(), &costs[0]["limitedBy"]),
        (Some(true), &serde_json::Value::Null)
    );
}
