//! Programs with one bug each, which must fail, and unusual programs without a bug, which must pass.
//!
//! A program is a file of `tests/planted/bugs` or `tests/planted/right`, or a folder there with a `main.hx` and its modules. The
//! first line of a program with a bug names the error's code, and the command that first reports it:
//!
//! ```text
//! // planted: HX0401 in check
//! ```
//!
//! `in test` means that `hx check` finds nothing, `in orders` that `hx test` finds nothing in its own order of events, and
//! `hx test --orders 32` does. Right programs pass in all of these orders. A code in [`WARNINGS`] is found as a warning, which
//! `hx test` shows, too.
//!
//! Names with `__` are from a corpus: right programs of six families, and copies of them with one mistake each, which were made without
//! knowledge of the checks and drawn at random. A drawn bug that no command finds begins with `// planted: nothing`, and its comment
//! says why. There are at most [`PASSING`] of these.
//!
//! To plant another bug, add a file; no list has to change.

use std::path::{Path, PathBuf};

use expect_test::expect;

use crate::support::{Ran, Sandbox, cores, root};

/// The minimal numbers of programs: fewer mean that some were lost.
const BUGS: usize = 382;
const RIGHT: usize = 198;

/// The most bugs that pass.
const PASSING: usize = 3;

/// The warnings that say that a result is wrong.
const WARNINGS: [&str; 1] = ["HX0310"];

/// The command that first reports a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Check,
    Test,
    Orders,
    /// Nothing reports it.
    Never,
}

/// The expected error of a program.
#[derive(Debug)]
struct Planted {
    code: String,
    stage: Stage,
}

#[test]
fn bugs_are_reported() {
    let programs = programs("bugs");
    assert!(programs.len() >= BUGS, "{} programs with a bug, {BUGS} were there", programs.len());
    report(each(&programs, bug));
    let passes = |path: &&PathBuf| header(path).is_ok_and(|planted| planted.stage == Stage::Never);
    let passing = programs.iter().filter(passes).count();
    assert!(passing <= PASSING, "{passing} bugs pass, at most {PASSING} may");
}

#[test]
fn right_programs_pass_without_alarm() {
    let programs = programs("right");
    assert!(programs.len() >= RIGHT, "{} right programs, {RIGHT} were there", programs.len());
    report(each(&programs, right));
}

/// The report of a race shows both accesses, their threads, the element, and what would order them.
#[test]
fn races_show_both_accesses() {
    let said = |name: &str| {
        let path = root().join(format!("tests/planted/bugs/{name}.hx"));
        let path = path.to_str().expect("a path in UTF-8");
        let ran = Sandbox::new().run(&["test", path, "--device", "sim"]);
        ran.stderr
            .lines()
            .filter(|line| !line.contains("rerun:") && !line.contains("step: "))
            .fold(String::new(), |all, line| all + line + "\n")
    };
    expect![[r#"
        device: simulator (sm_90a)
        error[HX0618]: writes element 1 ([1]) of `y`, which thread 0 read in #0 `copy(y[1 + 0..64], a)`, with no barrier in between
            ╭─[ $ROOT/tests/planted/bugs/in_place_rotate.hx:8:5 ]
            │
          7 │     let a = load(global_view(y[1..], (64) : (1)));
            │             ──────────────────┬──────────────────
            │                               ╰──────────────────── thread 0 read it here
          8 │     copy(a, y);
            │     ─────┬────
            │          ╰────── here
            │
         14 │     rotate(y);
            │     ────┬────
            │         ╰────── in this launch
            │
            │ Help: a `sync();` between the two orders them
            │
            │ Note: seen in thread 1 of block [0, 0, 0]
        ────╯


    "#]].assert_eq(&said("in_place_rotate"));
    expect![[r#"
        device: simulator (sm_90a)
        error[HX0618]: updates element 1 ([1]) of `y`, which thread 0 wrote in #1 `copy(t, y[0..128])`, with no barrier in between
            ╭─[ $ROOT/tests/planted/bugs/sum_onto_a_store.hx:12:5 ]
            │
          9 │     copy(t, y);
            │     ─────┬────
            │          ╰────── thread 0 wrote it here
            │
         12 │     atomic_add(y, one);
            │     ─────────┬────────
            │              ╰────────── here
            │
         18 │     bias(x, y);
            │     ─────┬────
            │          ╰────── in this launch
            │
            │ Help: a `sync();` between the two orders them
            │
            │ Note: seen in thread 1 of block [0, 0, 0]
        ────╯


    "#]].assert_eq(&said("sum_onto_a_store"));
    expect![[r#"
        device: simulator (sm_90a)
        error[HX0618]: writes element 0 ([0]) of `x` before the asynchronous copy from it by thread 0 in #0 `copy_async(x[0..128], s[0..128])` was waited for
            ╭─[ $ROOT/tests/planted/bugs/source_of_a_copy_overwritten.hx:12:5 ]
            │
          8 │     copy_async(x, s);
            │     ────────┬───────
            │             ╰───────── thread 0 copies from it here
            │
         12 │     copy(zero, x);
            │     ──────┬──────
            │           ╰──────── here
            │
         22 │     take(x, y);
            │     ─────┬────
            │          ╰────── in this launch
            │
            │ Help: `commit();`, `wait(0);` and a `sync();` between the two order them
            │
            │ Note: seen in thread 0 of block [0, 0, 0]
        ────╯


    "#]].assert_eq(&said("source_of_a_copy_overwritten"));
    expect![[r#"
        device: simulator (sm_90a)
        error[HX0618]: reads element 0 ([0]) of `y`, which block [0, 0, 0] updates
            ╭─[ $ROOT/tests/planted/bugs/sums_of_blocks_read_early.hx:11:14 ]
            │
          9 │     atomic_add(y, sum(t, axis: 0));
            │     ───────────────┬──────────────
            │                    ╰──────────────── block [0, 0, 0] updated it here
            │
         11 │     copy(t / load(y), tile(z, [64])[.., i]);
            │              ───┬───
            │                 ╰───── here
            │
         18 │     total(x, y, z);
            │     ───────┬──────
            │            ╰──────── in this launch
            │
            │ Help: one block releases after its access, as `atomic_store(flag, one, order: "release")` does, and the other acquires before its own, as `atomic_load(flag, order: "acquire")` does; or each block has elements of its own
            │
            │ Note: seen in block [1, 0, 0]
        ────╯


    "#]]
    .assert_eq(&said("sums_of_blocks_read_early"));
}

/// Returns the main files, ordered by name.
fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/planted").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let main = |path: PathBuf| if path.is_dir() { path.join("main.hx") } else { path };
    let mut files: Vec<PathBuf> = entries.map(|entry| main(entry.expect("an entry").path())).collect();
    files.sort();
    files
}

/// Judges the programs on as many threads as there are cores, and returns the failures.
fn each(programs: &[PathBuf], judge: impl Fn(&Path) -> Result<(), String> + Sync) -> Vec<String> {
    let cores = cores();
    let judge = &judge;
    let share = |core: usize| {
        let own = programs.iter().skip(core).step_by(cores);
        own.filter_map(|path| Some(format!("{}: {}", path.display(), judge(path).err()?))).collect::<Vec<_>>()
    };
    let share = &share;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(move || share(core))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no program panics its judge")).collect()
    })
}

fn report(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} programs\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Checks that the expected command reports the expected error, and that the program passes in no command.
fn bug(path: &Path) -> Result<(), String> {
    let planted = header(path)?;
    let checked = hx(path, &["check"])?;
    match planted.stage {
        Stage::Check => expect_error(&checked, &planted.code)?,
        _ if checked.code != 0 || warns(&checked) => {
            return Err(format!("`hx check` already reports something\n{}", checked.text()));
        }
        Stage::Test | Stage::Orders | Stage::Never => {}
    }
    let tested = hx(path, &["test", "--device", "sim"])?;
    match planted.stage {
        Stage::Check if warns(&tested) => return Ok(()),
        Stage::Check => {}
        Stage::Test => expect_error(&tested, &planted.code)?,
        Stage::Orders if tested.code != 0 => {
            return Err(format!("`hx test` already fails\n{}", tested.text()));
        }
        Stage::Orders => return expect_error(&in_orders(path)?, &planted.code),
        Stage::Never => {
            let ran = in_orders(path)?;
            return if ran.code == 0 { Ok(()) } else { Err(format!("it is found\n{}", ran.text())) };
        }
    }
    if tested.code == 0 { Err(format!("`hx test` passes\n{}", tested.text())) } else { Ok(()) }
}

fn in_orders(path: &Path) -> Result<Ran, String> {
    hx(path, &["test", "--device", "sim", "--orders", "32"])
}

fn right(path: &Path) -> Result<(), String> {
    let checked = hx(path, &["check"])?;
    if checked.code != 0 || checked.stderr.contains("warning") {
        return Err(checked.text());
    }
    let tested = in_orders(path)?;
    let passed = tested.code == 0 && tested.stdout.contains("... ok") && tested.stdout.contains(" 0 skipped");
    if passed { Ok(()) } else { Err(tested.text()) }
}

fn header(path: &Path) -> Result<Planted, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let first = text.lines().next().unwrap_or_default();
    let planted = first.strip_prefix("// planted: ").and_then(|rest| rest.split_once(" in "));
    let (code, stage) = match planted {
        Some((code, "check")) => (code, Stage::Check),
        Some((code, "test")) => (code, Stage::Test),
        Some((code, "orders")) => (code, Stage::Orders),
        None if first == "// planted: nothing" => ("", Stage::Never),
        _ => {
            return Err(format!(
                "expected `// planted: HX0401 in check`, `… in test` or `… in orders`, found `{first}`"
            ));
        }
    };
    Ok(Planted { code: code.into(), stage })
}

/// Runs the command on a program. A panic or an internal error is a failure, whatever the program.
fn hx(path: &Path, args: &[&str]) -> Result<Ran, String> {
    let path = path.to_str().ok_or("a path that is not UTF-8")?;
    let ran = Sandbox::new().run(&[args, &[path, "--message-format", "short"]].concat());
    let blamed = ran.text().contains("HX0628");
    if blamed || !matches!(ran.code, 0 | 1) { Err(ran.text()) } else { Ok(ran) }
}

/// Reports whether the output has one of [`WARNINGS`].
fn warns(ran: &Ran) -> bool {
    WARNINGS.iter().any(|code| ran.text().contains(&format!("warning[{code}]")))
}

fn expect_error(ran: &Ran, code: &str) -> Result<(), String> {
    let found = match WARNINGS.contains(&code) {
        true => warns(ran),
        false => ran.text().contains(&format!("error[{code}]")) && ran.code == 1,
    };
    if found { Ok(()) } else { Err(format!("expected {code}\n{}", ran.text())) }
}
