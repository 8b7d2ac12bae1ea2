//! A scripted session in Neovim without a screen, in which the plugin acts as it would for a user.
//!
//! `HX_NVIM` names the program. Otherwise `nvim` on `PATH` is used, if it is new enough.

use std::path::Path;
use std::process::Command;

use crate::support::{Sandbox, hx, root, skip};

/// Returns the Neovim program from version 0.11 on, or reports why the test is skipped.
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

/// Runs a script of `tests/editors/` in its own session, with the plugin but without the user's configuration. Returns the report
/// that the script writes, which ends with `done`.
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

/// Opens a project, receives hints, hovers, shows layouts and code, renames, formats, repairs a race by its quick fix, runs a
/// test by its lens, and restarts the server.
#[test]
fn with_the_server() {
    let Some(program) = neovim("editors::neovim::with_the_server") else { return };
    let sandbox = Sandbox::new();
    let matmul = std::fs::read_to_string(root().join("std/matmul.hx")).expect("it is there");
    let kernel = matmul.split("test \"").next().expect("it has a test");
    let test = "test \"small\" for (m, n, k) in [(64, 64, 16), (64, 72, 32)] {
    let a = randn(f16, [m, k]);
    let b = randn(f16, [n, k]);
    let c = empty(f16, [m, n]);
    matmul(a, b, c);
    assert_close(c, a @ b.T, ulp: 4);
}
";
    sandbox.write("project/hx.toml", b"[package]\nname = \"project\"\nversion = \"0.1.0\"\n");
    sandbox.write("project/matmul.hx", format!("{kernel}{test}").as_bytes());
    let report = session(&program, &sandbox, "server.lua", "project/matmul.hx", true);
    let lacks: Vec<&str> = report.lines().filter_map(|line| line.strip_prefix("missing: ")).collect();
    if !lacks.is_empty() {
        let reason = format!("the server does not offer {}", lacks.join(", "));
        skip("editors::neovim::with_the_server, in part", &reason, "HX_REQUIRE_NVIM");
    }
}

#[test]
fn without_a_server() {
    let Some(program) = neovim("editors::neovim::without_a_server") else { return };
    let sandbox = Sandbox::new();
    let matmul = std::fs::read(root().join("std/matmul_pipelined.hx")).expect("it is there");
    sandbox.write("k.hx", &matmul);
    session(&program, &sandbox, "plain.lua", "k.hx", false);
}
