//! A scripted session in Neovim without a screen: what the plugin does there is what a person would see.
//!
//! `HX_NVIM` names the program, else `nvim` on `PATH` is taken if it is new enough.

use std::path::Path;
use std::process::Command;

use crate::support::{Sandbox, hx, root, skip};

/// Neovim from 0.11 on, or `None` with the reason said.
fn neovim(test: &str) -> Option<String> {
    let program = std::env::var("HX_NVIM").unwrap_or_else(|_| "nvim".to_owned());
    let script = "+lua io.stdout:write(vim.fn.has('nvim-0.11'))";
    let output = Command::new(&program).args(["--headless", "--clean", script, "+qa!"]).output();
    let is_new = output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == "1");
    if !is_new {
        skip(test, "there is no Neovim 0.11 or newer (HX_NVIM names one)", "HX_REQUIRE_NVIM");
        return None;
    }
    Some(program)
}

/// Runs a script of `tests/editors/` in a session of its own, with the plugin and nothing of the user's. What the script writes
/// to the report is its verdict, and ends with `done`.
fn session(program: &str, sandbox: &Sandbox, script: &str, file: &str, server: bool) -> String {
    let report = sandbox.path("report.txt");
    let path = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let output = Command::new(program)
        .args(["--headless", "-u", "NONE", "-i", "NONE", "-n"])
        .args(["--cmd", &format!("set runtimepath^={}", path(&root().join("editors/nvim")))])
        .args(["--cmd", "filetype plugin indent on | syntax on"])
        .args(["--cmd", &format!("let g:hx_path = '{}'", path(&hx()))])
        .args(["--cmd", "let g:hx_device = 'sim'"])
        .args(["--cmd", &format!("let g:hx_lsp = v:{server}")])
        .args(["--cmd", "runtime plugin/hx.lua"])
        .arg(sandbox.path(file))
        .args(["-S", &path(&root().join("tests/editors").join(script))])
        .env("HX_REPORT", &report)
        .env("HX_GRAMMAR", root().join("grammar/tree-sitter-hx"))
        .env("HX_CACHE_DIR", sandbox.path("cache"))
        .envs(
            ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"]
                .map(|it| (it, sandbox.path("home"))),
        )
        .current_dir(sandbox.path(""))
        .output()
        .expect("Neovim starts");
    let report = std::fs::read_to_string(report).unwrap_or_default();
    let said = format!("{report}{}", String::from_utf8_lossy(&output.stderr));
    assert!(report.ends_with("done\n"), "the session ended early:\n{said}");
    assert!(!report.contains("FAILED"), "{said}");
    report
}

#[test]
fn without_a_server() {
    let Some(program) = neovim("editors::neovim::without_a_server") else { return };
    let sandbox = Sandbox::new();
    let matmul = std::fs::read(root().join("std/matmul_pipelined.hx")).expect("it is there");
    sandbox.write("k.hx", &matmul);
    session(&program, &sandbox, "plain.lua", "k.hx", false);
}
