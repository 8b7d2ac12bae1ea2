//! Sessions in a real terminal: a pseudo-terminal, keys as a person types them, and the contents of the screen.

use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{Sandbox, busy, hx};

/// A limit above the time of anything that ends at all.
const PATIENCE: Duration = Duration::from_secs(600);
const SIZE: (u16, u16) = (50, 110);

/// A session in a terminal.
struct Terminal {
    child: std::process::Child,
    keys: std::fs::File,
    screen: Arc<Mutex<vt100::Parser>>,
    sandbox: Sandbox,
}

impl Terminal {
    fn start(sandbox: Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Terminal {
        let (pty, pts) = pty_process::blocking::open().expect("a pseudo-terminal");
        pty.resize(pty_process::Size::new(SIZE.0, SIZE.1)).expect("it has a size");
        let mut command = pty_process::blocking::Command::new(hx());
        for name in crate::support::own_variables() {
            command = command.env_remove(name);
        }
        let state = sandbox.path("state");
        command = command
            .args(args)
            .current_dir(sandbox.path("."))
            .env("HX_CACHE_DIR", sandbox.path("cache"))
            .env("HX_STATE_DIR", state)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied());
        let child = command.spawn(pts).expect("the command starts");
        let keys = std::fs::File::from(std::os::fd::OwnedFd::from(pty));
        let mut output = keys.try_clone().expect("the terminal can be read");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(nonzero(SIZE.0), nonzero(SIZE.1), 2000)));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when the other side has closed.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().expect("nobody panics here").process(&bytes[..count]);
            }
        });
        let mut terminal = Terminal { child, keys, screen, sandbox };
        terminal.wait(|text| text.ends_with("hx>"));
        terminal
    }

    /// Starts a session on the simulator.
    fn simulator() -> Terminal {
        Terminal::start(Sandbox::new(), &["repl", "--device", "sim"], &[])
    }

    /// Starts a session with a fake GPU, whose kernels misbehave according to their names.
    fn fake_gpu() -> Terminal {
        let sandbox = Sandbox::new();
        sandbox.write("nvrtc/libnvrtc.so.13", b"");
        let worker = fake_worker();
        let worker = worker.to_str().expect("a path of letters");
        let args = ["repl", "--device", "cuda", "--nvrtc", "nvrtc", "--worker", worker];
        Terminal::start(sandbox, &args, &[("HX_FAKE_WORKER", "gpu")])
    }

    fn text(&self) -> String {
        let screen = self.screen.lock().expect("nobody panics here");
        screen.screen().contents().trim_end().to_owned()
    }

    fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until the screen satisfies a condition, and returns the elapsed time.
    fn wait(&mut self, reached: impl Fn(&str) -> bool) -> Duration {
        let start = Instant::now();
        loop {
            let text = self.text();
            if reached(&text) {
                return start.elapsed();
            }
            assert!(start.elapsed() < PATIENCE, "this is not what was waited for:\n{text}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Types an entry, waits for the next prompt, and returns the text between them.
    fn enter(&mut self, entry: &str) -> String {
        self.clear();
        self.keys(entry);
        self.keys("\r");
        self.wait(|text| text.ends_with("\nhx>"));
        let text = self.text();
        let answer = text.strip_suffix("hx>").unwrap_or(&text);
        // Skip the echo of the entry, which has as many lines as the entry.
        let lines = entry.matches('\n').count() + 1;
        answer.lines().skip(lines).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    fn clear(&mut self) {
        // Ctrl-L makes the line editor clear the screen and draw its prompt again.
        self.keys("\x0c");
        self.wait(|text| text == "hx>");
    }

    fn ends(mut self) -> (i32, Sandbox) {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                return (status.code().unwrap_or(-1), self.sandbox);
            }
            assert!(start.elapsed() < PATIENCE, "the session does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn nonzero(extent: u16) -> NonZero<u16> {
    NonZero::new(extent).expect("a screen has an extent")
}

fn fake_worker() -> PathBuf {
    let path = hx().with_file_name(format!("hx-fake-worker{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "`{}` is not built: `cargo build -p hx-worker --bins` does", path.display());
    path
}

fn contains(text: &str, what: &str) {
    assert!(text.contains(what), "`{what}` is not in\n{text}");
}

const KERNEL: &str = "kernel double(a: f32[m], c: mut f32[m]) grid [cdiv(m, 128)] threads 32 {
    let x = load(tile(a, [128])[.., block_idx]);
    copy(x + x, tile(c, [128])[.., block_idx]);
}";

/// A whole session: define, run, inspect, break, repair, redefine, crash, continue.
#[test]
fn a_session_from_start_to_end() {
    let mut t = Terminal::simulator();
    // The prompt reads lines until the parser has a complete entry.
    assert_eq!(t.enter(KERNEL), "");
    assert_eq!(t.enter("let (u, v) = (ones(f32, [130]), empty(f32, [130]))"), "");
    contains(&t.enter("double(u, v)"), "device: simulator");
    contains(&t.enter("v[0..3]"), "[2.0, 2.0, 2.0]");
    assert_eq!(t.enter("_.sum()"), "6.0");
    // Inspect.
    contains(&t.enter(":layout x"), "T0V0");
    contains(&t.enter(":why x"), "because:");
    assert_eq!(t.enter(":type v"), "f32[130] on host");
    contains(&t.enter("?double"), "kernel double(");
    // Break: the old definition stays.
    let broken = t.enter(&KERNEL.replace("x + x", "x + nope"));
    contains(&broken, "nothing in scope is called `nope`");
    assert_eq!(t.enter("double(u, v); v[129]"), "2.0");
    contains(&t.enter("v[200]"), "error[HX");
    contains(&t.enter("let z = )"), "error[HX");
    // Repair and redefine.
    assert_eq!(t.enter(&KERNEL.replace("x + x", "x * x + x")), "");
    assert_eq!(t.enter("let w = cast(u * 3.0, f32); double(w, v); v[0]"), "12.0");
    // Misspell a command.
    contains(&t.enter(":layot x"), "perhaps `:layout` is meant");
    // Ctrl-C clears the line, Ctrl-D leaves.
    t.keys("let half =");
    t.wait(|text| text.ends_with("let half ="));
    t.keys("\x03");
    t.wait(|text| text.ends_with("hx>"));
    assert_eq!(t.enter("v[0]"), "12.0");
    t.keys("\x04");
    let (code, sandbox) = t.ends();
    assert_eq!(code, 0);
    // The next session has the history.
    let mut t = Terminal::start(sandbox, &["repl", "--device", "sim"], &[]);
    t.keys("\x1b[A");
    t.wait(|text| text.ends_with("hx> v[0]"));
    t.keys("\x03");
    t.wait(|text| text.ends_with("hx>"));
    t.keys("\x04");
    assert_eq!(t.ends().0, 0);
}

/// Lines of an open bracket have a prompt of their own and are indented, and the entry is recalled as a whole.
#[test]
fn an_entry_of_several_lines() {
    let mut t = Terminal::simulator();
    t.clear();
    for line in ["fn f(x: f32) -> f32 {", "if x > 0.0 {", "x", "} else {", "(", "-x", ")", "}"] {
        t.keys(line);
        t.keys("\r");
    }
    t.keys("}");
    let entry = "hx> fn f(x: f32) -> f32 {
...     if x > 0.0 {
...         x
...     } else {
...         (
...             -x
...         )
...     }
... }";
    t.wait(|text| text == entry);
    t.keys("\r");
    t.wait(|text| text.ends_with("... }\nhx>"));
    assert_eq!(t.enter(":type f"), "fn f(x: f32) -> f32");
    // The history has the whole entry, and the margin is not part of its text.
    t.clear();
    t.keys("\x1b[A\x1b[A");
    t.wait(|text| text == entry);
    t.keys("\r");
    t.wait(|text| text.ends_with("... }\nhx>"));
    assert_eq!(t.enter(":save f.hx"), "wrote f.hx");
    let saved = std::fs::read_to_string(t.sandbox.path("f.hx")).expect("it was written");
    contains(&saved, "\n    if x > 0.0 {\n        x\n");
}

/// A syntax error inside of a brace does not end the entry. Two empty lines or Ctrl-C do, and lose nothing.
#[test]
fn ways_out_of_an_open_brace() {
    let mut t = Terminal::simulator();
    assert_eq!(t.enter("let kept = 41"), "");
    t.clear();
    t.keys("fn g(x: f32) -> f32 {\rlet y = ];\r}\r");
    t.wait(|text| text.contains("error[") && text.ends_with("\nhx>"));
    let text = t.text();
    assert_eq!(text.matches("error[").count(), 1, "{text}");
    contains(&text, "cell 2:2:13");
    t.clear();
    t.keys("fn g(x: f32) -> f32 {\r\r\r");
    t.wait(|text| text.contains("found the end of the text") && text.ends_with("hx>"));
    t.clear();
    t.keys("fn h(x: f32) -> f32 {\rx");
    t.wait(|text| text.ends_with("...     x"));
    t.keys("\x03");
    t.wait(|text| text.ends_with("\nhx>"));
    assert_eq!(t.enter("kept + 1"), "42");
    t.clear();
    t.keys("\x1b[A\x1b[A");
    t.wait(|text| text == "hx> fn h(x: f32) -> f32 {\n...     x");
    t.keys("\r}\r");
    t.wait(|text| text.ends_with("... }\nhx>"));
    assert_eq!(t.enter(":type h"), "fn h(x: f32) -> f32");
}

/// Keys at the start of a continuation line skip its margin.
#[test]
fn keys_skip_the_margin() {
    let mut t = Terminal::simulator();
    t.clear();
    // Backspace removes the level of indentation, and then the line.
    t.keys("let a = [\r\x7f\x7f");
    t.wait(|text| text == "hx> let a = [");
    t.keys("\r\t1");
    t.wait(|text| text == "hx> let a = [\n...         1");
    // Home goes to the first letter; Left leaves the margin at once; Delete joins the lines.
    t.keys("\x012");
    t.wait(|text| text == "hx> let a = [\n...         21");
    t.keys("\x01\x7f\x7f\x1b[D\x1b[3~");
    t.wait(|text| text == "hx> let a = [21");
    t.keys("\x1b\r1]");
    t.wait(|text| text == "hx> let a = [\n...     1]21");
    t.keys("\x03");
    t.wait(|text| text.ends_with("\nhx>"));
}

/// A pasted transcript loses its prompts and outputs; commands in a pasted text run on their own.
#[test]
fn pasted_sessions() {
    let mut t = Terminal::simulator();
    t.keys("\x1b[200~hx> let a = [1,\n...     2]\nhx> :type a\nlist\nhx> a\n[1, 2]\x1b[201~");
    t.wait(|text| text.ends_with("[1, 2]"));
    t.keys("\r");
    t.wait(|text| text.ends_with("\n[1, 2]\nhx>"));
}

/// Values, diagnostics and help fit the terminal: it breaks no line.
#[test]
fn output_fits_the_terminal() {
    let mut t = Terminal::simulator();
    // The contents of the screen have a line that the terminal breaks as one line.
    let fits = |text: &str| {
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(SIZE.1)), "{text}");
    };
    let tensor = t.enter("randn(f32, [40, 60])");
    fits(&tensor);
    assert_eq!(tensor.lines().count(), 8, "{tensor}");
    contains(&t.enter("print(randn(f32, [40, 60]))"), "…");
    assert_eq!(t.enter(":set precision 2"), "");
    assert_eq!(t.enter("full(f32, [2], 1.0 / 3.0)"), "f32[2] on host\n[0.33, 0.33]");
    let long = "let x = ones(f32, [128, 128]) @ ones(f32, [128, 64]) + zeros(f32, [128, 128]) * ones(f32, [128, 128]) + missing + 1";
    t.clear();
    t.keys(long);
    t.keys("\r");
    t.wait(|text| text.contains("error[") && text.ends_with("\nhx>"));
    let text = t.text();
    let found: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("error[")).collect();
    fits(&found.join("\n"));
    contains(found[1], "[ cell 4:1:105 ]");
    let name = found[3].find("missing").expect("the line");
    assert_eq!(
        found[3][..name].chars().count(),
        found[4].find('─').map_or(0, |at| found[4][..at].chars().count())
    );
    fits(&t.enter(":help"));
    fits(&t.enter(":help layout"));
}

/// Results have colours in a terminal, unless the user disables them.
#[test]
fn layouts_are_coloured() {
    let colored = |t: &Terminal| {
        let screen = t.screen.lock().expect("nobody panics here");
        let screen = screen.screen();
        let colored =
            |row, col| screen.cell(row, col).is_some_and(|cell| cell.bgcolor() != vt100::Color::Default);
        (0..SIZE.0)
            .flat_map(|row| (0..SIZE.1).map(move |col| (row, col)))
            .filter(|&(r, c)| colored(r, c))
            .count()
    };
    let mut t = Terminal::simulator();
    contains(&t.enter(":layout (4,8):(8,1)"), "31");
    assert!(colored(&t) > 32);
    let mut plain = Terminal::start(Sandbox::new(), &["repl", "--device", "sim"], &[("NO_COLOR", "1")]);
    contains(&plain.enter(":layout (4,8):(8,1)"), "31");
    assert_eq!(colored(&plain), 0);
}

/// A paste of several lines is one entry.
#[test]
fn pasted_lines_are_one_entry() {
    let mut t = Terminal::simulator();
    t.keys("\x1b[200~let a = 20\nlet b = 22\na + b\x1b[201~");
    t.wait(|text| text.ends_with("a + b"));
    t.keys("\r");
    t.wait(|text| text.ends_with("42\nhx>"));
}

#[test]
fn tab_completes() {
    let mut t = Terminal::simulator();
    assert_eq!(t.enter("let weights = 3"), "");
    t.keys("weig\t");
    t.wait(|text| text.ends_with("weights"));
    t.keys(" + 1\r");
    t.wait(|text| text.ends_with("4\nhx>"));
}

/// Tab lists the words that fit, and the typed line stays.
#[test]
fn tab_lists_what_fits() {
    let mut t = Terminal::simulator();
    assert_eq!(t.enter("let weights = arange(f32, 8)"), "");
    t.clear();
    t.keys("weights.m\t\t");
    t.wait(|text| text.contains("mean") && text.contains("max") && text.ends_with("weights.m"));
    t.keys("e\t");
    t.wait(|text| text.ends_with("weights.mean"));
    t.keys("()\r");
    t.wait(|text| text.ends_with("3.5\nhx>"));
    t.clear();
    t.keys(":lay\t");
    t.wait(|text| text.ends_with("hx> :layout"));
    t.keys("\x03");
}

/// A word has the colour of its meaning while it is typed.
#[test]
fn words_are_coloured_by_meaning() {
    let mut t = Terminal::simulator();
    assert_eq!(t.enter("let exp = 3"), "");
    t.clear();
    t.keys("exp + sqrt");
    t.wait(|text| text.ends_with("exp + sqrt"));
    let color = |t: &Terminal, col: u16| {
        let screen = t.screen.lock().expect("nobody panics here");
        screen.screen().cell(0, col).map(|cell| cell.fgcolor())
    };
    // In `hx> exp + sqrt`, the first is a value with the name of a function, the second is a function.
    let start = Instant::now();
    while color(&t, 10) == color(&t, 4) {
        assert!(start.elapsed() < PATIENCE, "one colour for both");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(color(&t, 4), Some(vt100::Color::Default));
    t.keys("\x03");
}

/// Diagnostics at a prompt have the format of the flag.
#[test]
fn message_formats() {
    let start = |format: &str| {
        let args = ["repl", "--device", "sim", "--message-format", format];
        Terminal::start(Sandbox::new(), &args, &[])
    };
    let mut t = start("short");
    assert_eq!(t.enter("missing"), "cell 1:1:1: error[HX0101]: nothing in scope is called `missing`");
    assert_eq!(t.enter("1 + 1"), "2");
    contains(&start("json").enter("missing"), "{\"code\":\"HX0101\",\"name\":\"unknown-name\"");
}

/// Every command, one after the other, in one session.
#[test]
fn every_command() {
    let mut t = Terminal::simulator();
    let module = "kernel double(a: f32[m], c: mut f32[m]) grid [cdiv(m, 128)] threads 32 {\n    let x = load(tile(a, [128])[.., block_idx]);\n    copy(x + x, tile(c, [128])[.., block_idx]);\n}\ntest \"twice\" {\n    let c = empty(f32, [8]);\n    double(ones(f32, [8]), c);\n    assert(c[7] == 2.0);\n}\n";
    t.sandbox.write("lib.hx", module.as_bytes());
    contains(&t.enter(":help"), ":layout X [all]");
    contains(&t.enter(":help why"), "the chain of reasons");
    contains(&t.enter(":load lib.hx"), "loaded `double`");
    contains(&t.enter(":type double"), "kernel double(a: f32[m], c: mut f32[m])");
    contains(&t.enter(":type 1 + 2.5"), "float");
    contains(&t.enter("?double"), "32 threads");
    contains(&t.enter("?arange"), "The numbers 0, 1, 2");
    contains(&t.enter("?HX0301"), "layout-conflict");
    contains(&t.enter(":layout double"), "(32,4):(4,1)");
    contains(&t.enter(":layout double.x"), "T31V3");
    contains(&t.enter(":why x"), "because: coalesced");
    contains(&t.enter(":emit tile"), "copy(");
    contains(&t.enter(":emit nothing"), "error: ");
    contains(&t.enter(":run"), "lib.hx::twice");
    contains(&t.enter(":bench"), "the session has no bench");
    contains(&t.enter(":device"), "device: simulator (sm_90a)");
    contains(&t.enter(":device cuda:7x"), "error");
    contains(&t.enter(":target sm_80"), "device: simulator (sm_80)");
    assert_eq!(t.enter(":target"), "sm_80");
    assert_eq!(t.enter(":set seed 7"), "");
    contains(&t.enter(":set"), "seed       7");
    contains(&t.enter("randn(f32, [2])"), "f32[2] on host");
    assert_eq!(t.enter("let c = empty(f32, [8]); double(ones(f32, [8]), c)"), "");
    contains(&t.enter(":time double(ones(f32, [8]), c)"), "ms to check");
    t.sandbox.write("lib.hx", module.replace("x + x", "x + x + x").as_bytes());
    contains(&t.enter(":reload"), "changed: lib.hx");
    assert_eq!(t.enter("double(ones(f32, [8]), c); c[0]"), "3.0");
    t.sandbox.write("lib.hx", b"kernel double(");
    contains(&t.enter(":reload"), "the session goes on with the files as they were");
    assert_eq!(t.enter("double(ones(f32, [8]), c); c[0]"), "3.0");
    contains(&t.enter(":save session.hx"), "wrote session.hx");
    let saved = std::fs::read_to_string(t.sandbox.path("session.hx")).expect("it was written");
    contains(&saved, "use lib::");
    contains(&saved, "double(ones(f32, [8]), c);");
    contains(&t.enter(":reset"), "is forgotten");
    contains(&t.enter("c"), "nothing in scope is called `c`");
    assert_eq!(t.enter(":target"), "sm_80");
    t.keys(":quit\r");
    assert_eq!(t.ends().0, 0);
}

/// Ctrl-C returns the prompt within 100 ms, whatever runs, and every binding is kept.
#[test]
fn ctrl_c_returns_the_prompt() {
    let spin = "kernel spin(c: mut f32[m]) grid [1] threads 32 {
    let i = 0.0;
    let r = register_tensor(f32, [4096]);
    fill(r, 1.0);
    while i >= 0.0 { i = i + 1.0; r = r * 1.5; }
    copy(r, tile(c, [4096])[.., 0]);
}";
    let mut t = Terminal::simulator();
    assert_eq!(t.enter("let a = 41"), "");
    assert_eq!(t.enter(spin), "");
    assert_eq!(t.enter("let x = ones(f64, [700, 700])"), "");
    assert_eq!(t.enter("let o = empty(f32, [4096])"), "");
    // A kernel, host code, and a single long host operation that does not check for Ctrl-C.
    let mut worst = Duration::ZERO;
    for entry in ["spin(o)", "while true { }", "let y = x; for i in 0..1000 { y = (y @ x) * 0.001; }"] {
        t.clear();
        t.keys(entry);
        t.keys("\r");
        std::thread::sleep(Duration::from_millis(400));
        t.keys("\x03");
        let took = t.wait(|text| text.ends_with("interrupted\nhx>"));
        worst = worst.max(took);
        assert_eq!(t.enter("a + 1"), "42");
    }
    let _ = writeln!(std::io::stderr(), "from Ctrl-C to the prompt: {worst:?} at most");
    // The limit is twenty times the promised time.
    assert!(worst < Duration::from_secs(2) * busy(), "it took {worst:?}");
}

/// Every failure of a worker is reported as its kind, and the session continues.
#[test]
fn the_session_outlives_its_worker() {
    let kernel = |name: &str| KERNEL.replace("double", name).replace('\n', " ");
    let mut t = Terminal::fake_gpu();
    assert_eq!(t.enter("let (u, v) = (ones(f32, [130]), zeros(f32, [130]))"), "");
    for name in ["fine", "crash", "hang", "fault", "lost", "compiler_crash"] {
        assert_eq!(t.enter(&kernel(name)), "");
    }
    contains(&t.enter("fine(u, v)"), "device: cuda:0, Fake GPU (sm_90a)");
    let again = "the worker process is started again; every binding is still there";
    for (name, said) in [
        ("crash", "the worker process died while running"),
        ("fault", "an illegal memory access was encountered"),
        ("lost", "busy or unavailable"),
        ("compiler_crash", "the worker process died while compiling"),
    ] {
        let text = t.enter(&format!("let k = 1; {name}(u, v)"));
        contains(&text, said);
        // Compiles have workers of their own, so a crash of the compiler leaves the GPU's worker alive.
        assert_eq!(text.contains(again), name != "compiler_crash", "after {name}: {text}");
        assert_eq!(t.enter("fine(u, v); u.sum()"), "130.0", "after {name}");
        contains(&t.enter("k"), "nothing in scope is called `k`");
    }
    // Ctrl-C ends a kernel that never ends by itself.
    t.clear();
    t.keys("hang(u, v)\r");
    std::thread::sleep(Duration::from_millis(400));
    t.keys("\x03");
    let took = t.wait(|text| text.ends_with("every binding is still there\nhx>"));
    let _ = writeln!(std::io::stderr(), "from Ctrl-C to the prompt, the worker hanging: {took:?}");
    assert!(took < Duration::from_secs(2) * busy(), "it took {took:?}");
    // The time limit ends it as well.
    assert_eq!(t.enter(":set timeout 0.3"), "");
    contains(&t.enter("hang(u, v)"), "did not end within the time limit");
    assert_eq!(t.enter("fine(u, v); u.sum()"), "130.0");
    // The simulator works without the worker.
    contains(&t.enter(":device sim"), "device: simulator (sm_90a)");
    assert_eq!(t.enter("crash(u, v); v[3]"), "2.0");
    t.keys(":quit\r");
    assert_eq!(t.ends().0, 0);
}
