//! The ledger of machine code: the report of the CUDA compiler on texts that it compiled before, in `tests/compiled/ledger.txt`.
//!
//! A report is a function of the text, the architecture and the libraries of the compiler. So a text is compiled only if the
//! ledger has no line with its hash. Only reports without a complaint have a line: a text with a complaint is compiled in every
//! run, and its message is complete. Comments and the names of locals are not hashed.
//!
//! `cargo xtask machine-code` compiles all texts and compares the reports with the ledger; with `UPDATE_EXPECT=1` it renews the
//! ledger. New texts are kept in `target/tmp`, so a second run compiles none of them again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hx_target::Target;
use hx_worker::toolkit::find_nvdisasm;
use hx_worker::{Cache, CompileJob, Compiler, Want, WorkerClient, disassemble};

use crate::compiled::base;
use crate::emitted::normal;
use crate::support::{self, LIMITS};

const LEDGER: &str = include_str!("compiled/ledger.txt");

/// The variable with the file to which `cargo xtask machine-code` wants the lines written. If it is set, every text is
/// compiled.
const IN_FULL: &str = "HX_MACHINE_CODE";

/// The version of reports. It must change whenever the report of an unchanged text changes: with the options of the compile,
/// the instructions that [`base::changes`] finds, or the form of a line.
const FORMAT: &str = "1";

/// The beginnings of the opcodes that tests ask for. Reports leave out all others, so that lines are short.
const OPCODES: [&str; 23] = [
    "ACQBULK",
    "HGMMA",
    "HMMA.16816.F32",
    "IGMMA",
    "LDG.E.128",
    "LDGSTS.E.BYPASS.128",
    "LDL",
    "LDS.128",
    "LDSM.16.M88.4",
    "PREEXIT",
    "QGMMA",
    "STAS.128",
    "STG.E.128",
    "STL",
    "STSM.16.M88.4",
    "STSM.16.MT88.4",
    "SYNCS.ARRIVE.TRANS64.RED",
    "UBLKCP",
    "UCGABAR_ARV",
    "USETMAXREG",
    "UTMALDG",
    "UTMAREDG",
    "UTMASTG",
];

/// The extent of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extent {
    /// Registers, stack and spills.
    Resources,
    /// The same as `Resources`, and the opcodes and the changes of the base of shared memory in PTX.
    Code,
}

/// A text whose machine code a test judges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) text: &'a str,
    pub(crate) target: Target,
    pub(crate) extent: Extent,
}

/// The report on a text that the compiler accepts without a complaint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CodeReport {
    /// Registers of a thread: of the kernel with the most, if the text has several.
    pub(crate) registers: u32,
    /// Bytes of local memory of a thread, summed over the kernels of the text.
    pub(crate) stack: u32,
    /// Bytes that a thread stores and loads because registers were spilled, summed over the kernels of the text.
    pub(crate) spilled: u32,
    /// The number of warnings that are no complaint, such as one about a variable that is not used.
    pub(crate) warnings: u32,
    /// The opcodes that begin as one of [`OPCODES`]: `HGMMA.64x128x16.F32`, `UTMALDG.2D`.
    pub(crate) opcodes: BTreeSet<String>,
}

/// A report, or the complaints: a refusal, notes on lost performance, a loop that changes the base of shared memory.
pub(crate) type Outcome = Result<CodeReport, Vec<String>>;

impl CodeReport {
    /// Returns the report as it is in the ledger, behind the hash.
    fn line(&self) -> String {
        let mut line = format!("{} {} {} {}", self.registers, self.stack, self.spilled, self.warnings);
        self.opcodes.iter().for_each(|opcode| {
            let _ = write!(line, " {opcode}");
        });
        line
    }

    fn parse(line: &str) -> Option<CodeReport> {
        let mut words = line.split(' ');
        let mut number = || words.next()?.parse().ok();
        let (registers, stack, spilled, warnings) = (number()?, number()?, number()?, number()?);
        Some(CodeReport { registers, stack, spilled, warnings, opcodes: words.map(str::to_owned).collect() })
    }
}

/// Returns the known reports by hash.
///
/// # Panics
/// If a line of the ledger is not `HASH REGISTERS STACK SPILLED WARNINGS OPCODES`, or the lines are not in order.
fn known(ledger: &str) -> BTreeMap<&str, CodeReport> {
    assert!(ledger.lines().is_sorted(), "the lines of the ledger are in order");
    let read = |line| {
        let (hash, report): (&str, &str) = str::split_once(line, ' ')?;
        Some((hash, CodeReport::parse(report)?))
    };
    ledger
        .lines()
        .map(|line| read(line).unwrap_or_else(|| panic!("a line of the ledger: `{line}`")))
        .collect()
}

/// Compiles texts without looking into the ledger.
pub(crate) struct Judge {
    compiler: Compiler,
    worker: WorkerClient,
}

impl Judge {
    /// Starts a judge. Returns `None` after printing the reason if the compiler or the disassembler is missing.
    pub(crate) fn new(test: &str, kept: Option<Cache>) -> Option<Judge> {
        let (_, worker) = support::compiler(test)?;
        let env = support::search_env();
        if let Err(absence) = find_nvdisasm(&env) {
            support::skip(test, &absence.to_string(), "HX_REQUIRE_NVRTC");
            return None;
        }
        Some(Judge { compiler: Compiler::new(&env, kept), worker })
    }

    pub(crate) fn judge(&mut self, asked: &Asked<'_>) -> Outcome {
        let job = CompileJob::of_kernel(asked.text, "kernel", asked.target.name());
        let mut compile = |job: &CompileJob| {
            let outcome = self.compiler.compile(&mut self.worker, job, &LIMITS);
            outcome.map(|outcome| outcome.compiled).map_err(|error| vec![format!("{error:?}")])
        };
        let compiled = compile(&job)?;
        let (lost, warnings): (Vec<_>, Vec<_>) =
            compiled.warnings.iter().partition(|warning| warning.is_lost_performance());
        let mut complaints: Vec<String> = lost.iter().map(|warning| warning.text.clone()).collect();
        let opcodes = match asked.extent {
            Extent::Resources => BTreeSet::new(),
            Extent::Code => {
                let ptx = compile(&CompileJob { want: Want::Ptx, ..job })?;
                complaints.extend(base::changes(&String::from_utf8_lossy(&ptx.code)));
                opcodes(&compiled.code)
            }
        };
        let kernels = compiled.kernels;
        let (reported, written) = (kernels.len(), asked.text.matches(" __global__ ").count());
        if reported != written || written == 0 {
            complaints.push(format!("the assembler reports {reported} kernels, the text has {written}"));
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        Ok(CodeReport {
            registers: kernels.iter().map(|kernel| kernel.registers).max().unwrap_or_default(),
            stack: kernels.iter().map(|kernel| kernel.stack_bytes).sum(),
            spilled: kernels.iter().map(|kernel| kernel.spill_store_bytes + kernel.spill_load_bytes).sum(),
            warnings: u32::try_from(warnings.len()).unwrap_or(u32::MAX),
            opcodes,
        })
    }
}

/// Returns the opcodes of a cubin that begin as one of [`OPCODES`].
fn opcodes(cubin: &[u8]) -> BTreeSet<String> {
    let listing =
        disassemble(&support::search_env(), cubin, &LIMITS).expect("the disassembler reads the code");
    let words = listing.lines.iter().flat_map(|line| line.text.split_whitespace());
    let opcodes = words.map(|word| word.trim_end_matches(';'));
    let is_asked = |word: &&str| OPCODES.iter().any(|begin| word.starts_with(begin));
    opcodes.filter(is_asked).map(str::to_owned).collect()
}

/// Returns the hash of everything on which a report depends. `compiler` is the hash of the compiler's libraries.
fn hash(compiler: &str, asked: &Asked<'_>) -> String {
    let extent = match asked.extent {
        Extent::Resources => "resources".to_owned(),
        Extent::Code => OPCODES.join(" "),
    };
    let options = CompileJob::OPTIONS.join(" ");
    let parts = [FORMAT, compiler, asked.target.name(), &options, &extent, &normal(asked.text)];
    blake3::hash(parts.join("\n").as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the outcomes for texts, in their order. Those that the ledger does not know are compiled. Returns `None` after printing
/// the reason if the compiler or the disassembler is missing.
pub(crate) fn outcomes(test: &str, asked: &[Asked<'_>]) -> Option<Vec<Outcome>> {
    let in_full = std::env::var_os(IN_FULL).map(PathBuf::from);
    let kept = Cache::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
    let judge = || Judge::new(test, in_full.is_none().then(|| kept.clone()));
    let judges = (0..support::cores()).map(|_| judge()).collect::<Option<Vec<_>>>()?;
    let libraries = judges[0].compiler.nvrtc().ok()?;
    let (compiler, _) = kept.compiler_id(libraries).expect("the libraries of the compiler can be read");
    let hashes: Vec<String> = asked.iter().map(|asked| hash(compiler.as_str(), asked)).collect();
    let known = if in_full.is_some() { BTreeMap::new() } else { known(LEDGER) };
    let all: BTreeMap<&str, &Asked<'_>> = hashes.iter().map(String::as_str).zip(asked).collect();
    let unknown = all.into_iter().filter(|(hash, _)| !known.contains_key(hash)).collect();
    let compiled = compile(judges, unknown);
    match in_full {
        Some(file) => record(&file, &compiled),
        None if !compiled.is_empty() => {
            let said = format!("{test}: {} texts are compiled that the ledger does not know", compiled.len());
            let _ = writeln!(std::io::stderr(), "note: {said}; `cargo xtask machine-code` records them");
        }
        None => {}
    }
    let outcome = |hash: &String| match known.get(hash.as_str()) {
        Some(report) => Ok(report.clone()),
        None => compiled[hash.as_str()].clone(),
    };
    Some(hashes.iter().map(outcome).collect())
}

/// Compiles texts with as many threads as there are judges.
fn compile<'a>(mut judges: Vec<Judge>, texts: Vec<(&'a str, &Asked<'_>)>) -> BTreeMap<&'a str, Outcome> {
    let (next, compiled) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for judge in &mut judges {
            let (texts, next, compiled) = (&texts, &next, &compiled);
            scope.spawn(move || {
                while let Some((hash, asked)) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = judge.judge(asked);
                    compiled.lock().unwrap_or_else(PoisonError::into_inner).insert(*hash, outcome);
                }
            });
        }
    });
    compiled.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Appends the lines of reports to a file.
fn record(file: &Path, compiled: &BTreeMap<&str, Outcome>) {
    let lines = compiled.iter().filter_map(|(hash, outcome)| {
        outcome.as_ref().ok().map(|report| format!("{hash} {}\n", report.line()))
    });
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file)
        .expect("the file for the lines of the ledger opens");
    // One write, so that the lines of tests that run at once are not mixed.
    file.write_all(lines.collect::<String>().as_bytes()).expect("the lines can be written");
}

#[test]
fn lines_are_read_as_they_are_written() {
    let line = "47 0 16 0 HGMMA.64x128x16.F32 UTMALDG.2D";
    let ledger = format!("0123456789abcdef {line}\n1123456789abcdef 8 0 0 2\n");
    let known = known(&ledger);
    assert_eq!(known["0123456789abcdef"].line(), line);
    assert_eq!(known["1123456789abcdef"], CodeReport { registers: 8, warnings: 2, ..CodeReport::default() });
}

#[test]
fn a_hash_depends_on_the_code_and_not_on_names() {
    let asked = Asked { text: "void f() { int a = 1; }", target: Target::usual(), extent: Extent::Resources };
    let same = hash("13.0", &asked);
    assert_eq!(hash("13.0", &Asked { text: "void f() { int b = 1; } // one", ..asked }), same);
    let others = [
        hash("13.1", &asked),
        hash("13.0", &Asked { text: "void f() { int a = 2; }", ..asked }),
        hash("13.0", &Asked { target: Target::builtin("sm_80"), ..asked }),
        hash("13.0", &Asked { extent: Extent::Code, ..asked }),
    ];
    assert!(others.iter().all(|other| *other != same), "{others:?}");
}
