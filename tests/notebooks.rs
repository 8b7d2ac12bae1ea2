//! Notebooks: `hx notebook` with Jupyter's own client, which needs a Python with `nbclient`.

use std::path::PathBuf;
use std::process::Command;

use expect_test::{expect, expect_file};

use crate::support::{Sandbox, hx, own_variables, root, skip};

/// The example in the book.
const EXAMPLE: &str = "book/examples/notebook.ipynb";

/// Returns a Python with Jupyter's client. If there is none, prints why the test is skipped.
fn python(test: &str) -> Option<&'static str> {
    let has_client = |python: &&str| {
        let imported =
            Command::new(python).args(["-c", "import nbclient, nbformat, jupyter_client"]).output();
        imported.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "python"].into_iter().find(has_client);
    if found.is_none() {
        skip(test, "there is no Python with nbclient", "HX_REQUIRE_JUPYTER");
    }
    found
}

/// Runs a script of `tests/notebooks` with the kernel installed in a fresh folder. Returns its output.
fn script(python: &str, name: &str, args: &[&str]) -> String {
    let sandbox = Sandbox::new();
    sandbox.write("work/here.hx", b"// A file beside the notebook.\n");
    let prefix = sandbox.path("prefix");
    let prefix = prefix.to_str().expect("a path in UTF-8");
    let installed = sandbox.run(&["notebook", "install", "--prefix", prefix]);
    assert_eq!(installed.code, 0, "{}", installed.text());
    let mut command = Command::new(python);
    own_variables().for_each(|name| {
        command.env_remove(name);
    });
    let output = command
        .arg(root().join("tests/notebooks").join(name))
        .args(args)
        .current_dir(sandbox.path("work"))
        .env("HX_DEVICE", "sim")
        .env("HX_CACHE_DIR", sandbox.path("cache"))
        .env("HX_STATE_DIR", sandbox.path("state"))
        .env("JUPYTER_PATH", sandbox.path("prefix/share/jupyter"))
        .env("JUPYTER_RUNTIME_DIR", sandbox.path("runtime"))
        .env("JUPYTER_DATA_DIR", sandbox.path("data"))
        .env("JUPYTER_CONFIG_DIR", sandbox.path("config"))
        .env("IPYTHONDIR", sandbox.path("ipython"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("the script starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).replace(&sandbox.path("").display().to_string(), "$DIR/")
}

#[test]
fn a_client_gets_every_answer() {
    let Some(python) = python("notebooks::a_client_gets_every_answer") else { return };
    let said = script(python, "client.py", &[]);
    expect_file!["./notebooks/client.txt"].assert_eq(&said);
}

#[test]
fn the_example_has_the_outputs_of_its_cells() {
    let Some(python) = python("notebooks::the_example_has_the_outputs_of_its_cells") else { return };
    let sandbox = Sandbox::new();
    let (from, to) = (root().join(EXAMPLE), sandbox.path("executed.ipynb"));
    let path = |path: &PathBuf| path.to_str().expect("a path in UTF-8").to_owned();
    script(python, "execute.py", &[&path(&from), &path(&to)]);
    let executed = std::fs::read_to_string(to).expect("the script wrote it");
    expect_file!["../book/examples/notebook.ipynb"].assert_eq(&executed);
}

#[test]
fn the_kernel_is_installed_and_removed() {
    let sandbox = Sandbox::new();
    let prefix = sandbox.path("p");
    let prefix = prefix.to_str().expect("a path in UTF-8");
    sandbox.run(&["notebook", "install", "--prefix", prefix, "--name", "hx-2"]).check(expect![[r#"
        exit 0
        --- stdout
        wrote $DIR/p/share/jupyter/kernels/hx-2/kernel.json
        Jupyter now offers the kernel `hx-2`; `hx notebook uninstall --prefix $DIR/p --name hx-2` removes it
    "#]]);
    let spec = std::fs::read_to_string(sandbox.path("p/share/jupyter/kernels/hx-2/kernel.json"));
    let spec: serde_json::Value = serde_json::from_str(&spec.expect("it is there")).expect("JSON");
    let path = hx().canonicalize().expect("the command is there");
    assert_eq!(spec["argv"][0], path.to_str().expect("a path in UTF-8"));
    sandbox.run(&["notebook", "uninstall", "--prefix", prefix, "--name", "hx-2"]).check(expect![[r#"
        exit 0
        --- stdout
        removed $DIR/p/share/jupyter/kernels/hx-2
    "#]]);
    sandbox.run(&["notebook", "uninstall", "--prefix", prefix]).check(expect![[r#"
        exit 1
        --- stderr
        error[HX0627]: there is no kernel `$DIR/p/share/jupyter/kernels/hx`
    "#]]);
    sandbox.run(&["notebook", "install", "--prefix", prefix, "--name", "a/b"]).check(expect![[r#"
        exit 2
        --- stderr
        error: found the kernel name `a/b`, expected letters, digits, `.`, `-` and `_`

        For more information, try '--help'.
    "#]]);
    let nowhere = [("HOME", ""), ("JUPYTER_DATA_DIR", ""), ("XDG_DATA_HOME", "")];
    sandbox.run_with(&["notebook", "install"], &nowhere).check(expect![[r#"
        exit 3
        --- stderr
        error[HX0627]: there is no home folder: set JUPYTER_DATA_DIR to an absolute path, or name a folder with `--prefix`
    "#]]);
    let outside = [("VIRTUAL_ENV", ""), ("CONDA_PREFIX", "")];
    sandbox.run_with(&["notebook", "install", "--sys-prefix"], &outside).check(expect![[r#"
        exit 3
        --- stderr
        error[HX0627]: no virtual environment is active: activate one, or name its folder with `--prefix`; neither VIRTUAL_ENV nor CONDA_PREFIX is set
    "#]]);
    let data = sandbox.path("data").display().to_string();
    sandbox.run_with(&["notebook", "install"], &[("JUPYTER_DATA_DIR", &data)]).check(expect![[r#"
        exit 0
        --- stdout
        wrote $DIR/data/kernels/hx/kernel.json
        Jupyter now offers the kernel `hx`; `hx notebook uninstall` removes it
    "#]]);
}

#[test]
fn a_connection_file_that_is_of_no_use() {
    let sandbox = Sandbox::with("wrong.json", "{}");
    sandbox.run(&["notebook", "kernel", "none.json"]).check(expect![[r#"
        exit 3
        --- stderr
        error[HX0627]: cannot read the connection file `none.json`: No such file or directory (os error 2)
    "#]]);
    sandbox.run(&["notebook", "kernel", "wrong.json"]).check(expect![[r#"
        exit 3
        --- stderr
        error[HX0627]: `wrong.json` is not a connection file of Jupyter: missing field `transport` at line 1 column 2
    "#]]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("it has an address").port();
    sandbox.write(
        "taken.json",
        format!(
            "{{\"transport\": \"tcp\", \"ip\": \"127.0.0.1\", \"shell_port\": {port}, \"iopub_port\": 0, \"stdin_port\": 0, \
             \"control_port\": 0, \"hb_port\": 0, \"key\": \"\", \"signature_scheme\": \"hmac-sha256\"}}"
        )
        .as_bytes(),
    );
    let ran = sandbox.run(&["notebook", "kernel", "taken.json"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains(&format!("cannot listen at `tcp://127.0.0.1:{port}`: ")), "{}", ran.text());
}
