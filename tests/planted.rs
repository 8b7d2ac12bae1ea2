//! Programs with one bug each, none of which passes, and unusual programs without a bug, none of which alarms.
//!
//! A program is a file of `tests/planted/bugs` or `tests/planted/right`, or a folder there with a `main.hx` and the modules that it
//! uses. The first line of a program with a bug names the code of the error, and the command that is the first to report it:
//!
//! ```text
//! // planted: HX0401 in check
//! ```
//!
//! To plant one more bug, add a file; nothing lists them.

use std::path::{Path, PathBuf};

use crate::support::{Ran, Sandbox, root};

/// Fewer programs than these would mean that some were lost.
const BUGS: usize = 16;
const RIGHT: usize = 9;

/// The command that reports a bug first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Check,
    Test,
}

/// What a program should be told.
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
}

#[test]
fn right_programs_pass_without_alarm() {
    let programs = programs("right");
    assert!(programs.len() >= RIGHT, "{} right programs, {RIGHT} were there", programs.len());
    report(each(&programs, right));
}

/// The main files, by name.
fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/planted").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let main = |path: PathBuf| if path.is_dir() { path.join("main.hx") } else { path };
    let mut files: Vec<PathBuf> = entries.map(|entry| main(entry.expect("an entry").path())).collect();
    files.sort();
    files
}

/// What is wrong with each program, on as many threads as there are cores.
fn each(programs: &[PathBuf], judge: impl Fn(&Path) -> Result<(), String> + Sync) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
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

/// The error is the expected one in the command that should find it first, and in no command does the program pass.
fn bug(path: &Path) -> Result<(), String> {
    let planted = header(path)?;
    let checked = hx(path, &["check"])?;
    match planted.stage {
        Stage::Check => expect_error(&checked, &planted.code)?,
        Stage::Test if checked.code != 0 => {
            return Err(format!("`hx check` already fails\n{}", checked.text()));
        }
        Stage::Test => {}
    }
    let tested = hx(path, &["test", "--device", "sim"])?;
    if planted.stage == Stage::Test {
        expect_error(&tested, &planted.code)?;
    }
    if tested.code == 0 { Err(format!("`hx test` passes\n{}", tested.text())) } else { Ok(()) }
}

fn right(path: &Path) -> Result<(), String> {
    let checked = hx(path, &["check"])?;
    if checked.code != 0 || checked.stderr.contains("warning") {
        return Err(checked.text());
    }
    let tested = hx(path, &["test", "--device", "sim"])?;
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
        _ => return Err(format!("expected `// planted: HX0401 in check` or `… in test`, found `{first}`")),
    };
    Ok(Planted { code: code.into(), stage })
}

/// Runs the command on a program. A panic and an error of the compiler are wrong whatever the program is.
fn hx(path: &Path, args: &[&str]) -> Result<Ran, String> {
    let path = path.to_str().ok_or("a path that is not UTF-8")?;
    let ran = Sandbox::new().run(&[args, &[path, "--message-format", "short"]].concat());
    let blamed = ran.text().contains("HX0628");
    if blamed || !matches!(ran.code, 0 | 1) { Err(ran.text()) } else { Ok(ran) }
}

fn expect_error(ran: &Ran, code: &str) -> Result<(), String> {
    let found = ran.text().contains(&format!("error[{code}]"));
    if found && ran.code == 1 { Ok(()) } else { Err(format!("expected {code}\n{}", ran.text())) }
}
