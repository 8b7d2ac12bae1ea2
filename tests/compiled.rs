//! The gate of the machine code: every instance that is launched on `sm_90a` compiles without a note of the assembler on lost
//! performance (`C75xx`), without a spill outside of a known list, with the instructions of warp groups and bulk copies that its
//! text has, and without a loop that counts up the base of shared memory.
//!
//! It needs the CUDA compiler and its disassembler, and no GPU. The instances are those of `std`, `tests/kernels` and
//! `book/examples`, so the gate grows with their tests. Of the instances of a kernel the one with the longest text is compiled,
//! and the one with the shortest too if it has instructions of warp groups or bulk copies; with `HX_EVERY_INSTANCE=1` all are.
//! Machine code is kept in `target/tmp`: a second run compiles only the texts that changed.

mod base;
mod probes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use expect_test::expect_file;
use hx_target::Target;
use hx_worker::toolkit::find_nvdisasm;
use hx_worker::{Cache, CompileJob, Compiler, Want, WorkerClient, disassemble};

use crate::emitted::normal;
use crate::instances::{Launched, launched};
use crate::support::{self, LIMITS};

/// The architecture whose machine code the gate judges.
pub(crate) fn judged() -> Target {
    Target::usual()
}

/// An instruction of inline assembly, and the opcodes to which the assembler translates it.
struct Family {
    /// The beginning of the PTX name. Between it and `then` the name may have a number of dimensions.
    ptx: &'static str,
    then: &'static str,
    /// One of these begins an opcode of the machine code.
    opcodes: &'static [&'static str],
}

/// The end of the name of a bulk copy into several blocks, and the opcodes for each number of dimensions.
const MULTICAST: &str = "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast";
const MULTICASTS: [&str; 5] = [
    "UTMALDG.1D.MULTICAST",
    "UTMALDG.2D.MULTICAST",
    "UTMALDG.3D.MULTICAST",
    "UTMALDG.4D.MULTICAST",
    "UTMALDG.5D.MULTICAST",
];

const FAMILIES: [Family; 13] = [
    Family { ptx: "wgmma.mma_async", then: "", opcodes: &["HGMMA", "IGMMA", "QGMMA"] },
    Family { ptx: "cp.async.bulk.tensor.", then: "d.shared::", opcodes: &["UTMALDG"] },
    Family { ptx: "cp.async.bulk.tensor.", then: MULTICAST, opcodes: &MULTICASTS },
    Family { ptx: "mbarrier.arrive.shared::cluster", then: "", opcodes: &["SYNCS.ARRIVE.TRANS64.RED"] },
    Family { ptx: "st.async.shared::cluster", then: "", opcodes: &["STAS.128"] },
    Family { ptx: "barrier.cluster.arrive", then: "", opcodes: &["UCGABAR_ARV"] },
    Family { ptx: "cp.async.bulk.tensor.", then: "d.global.", opcodes: &["UTMASTG"] },
    Family { ptx: "cp.reduce.async.bulk.tensor.", then: "d.global.", opcodes: &["UTMAREDG"] },
    Family { ptx: "cp.async.bulk.", then: "shared::", opcodes: &["UBLKCP"] },
    Family { ptx: "cp.async.bulk.", then: "global.", opcodes: &["UBLKCP"] },
    Family { ptx: "setmaxnreg.", then: "", opcodes: &["USETMAXREG"] },
    Family { ptx: "griddepcontrol.wait", then: "", opcodes: &["ACQBULK"] },
    Family { ptx: "griddepcontrol.launch_dependents", then: "", opcodes: &["PREEXIT"] },
];

impl Family {
    /// Reports whether a statement of inline assembly names the instruction.
    fn is_in(&self, literal: &str) -> bool {
        literal.match_indices(self.ptx).any(|(at, found)| {
            let rest = literal[at + found.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
            rest.starts_with(self.then)
        })
    }
}

/// The judgement of the machine code of one text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    /// Refusals, notes on lost performance, and instructions of the text that the machine code lacks.
    complaints: Vec<String>,
    /// Bytes that a thread stores and loads because registers were spilled.
    spilled: u32,
    /// Whether the text has instructions of [`FAMILIES`].
    has_families: bool,
}

/// Compiles texts and judges their machine code.
struct Gate {
    compiler: Compiler,
    worker: WorkerClient,
}

impl Gate {
    /// Starts a gate. Returns `None` after printing the reason if the compiler or the disassembler is missing.
    fn new(test: &str) -> Option<Gate> {
        let (_, worker) = support::compiler(test)?;
        let env = support::search_env();
        if let Err(absence) = find_nvdisasm(&env) {
            support::skip(test, &absence.to_string(), "HX_REQUIRE_NVRTC");
            return None;
        }
        let kept = Cache::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
        Some(Gate { compiler: Compiler::new(&env, Some(kept)), worker })
    }

    fn judge(&mut self, text: &str) -> Verdict {
        let job = CompileJob::of_kernel(text, "kernel", judged().name());
        let compiled = match self.compiler.compile(&mut self.worker, &job, &LIMITS) {
            Ok(outcome) => outcome.compiled,
            Err(error) => return Verdict { complaints: vec![format!("{error:?}")], ..Verdict::default() },
        };
        let lost = compiled.warnings.iter().filter(|warning| warning.is_lost_performance());
        let mut complaints: Vec<String> = lost.map(|warning| warning.text.clone()).collect();
        let job = CompileJob { want: Want::Ptx, ..job };
        match self.compiler.compile(&mut self.worker, &job, &LIMITS) {
            Ok(outcome) => complaints.extend(base::changes(&String::from_utf8_lossy(&outcome.compiled.code))),
            Err(error) => complaints.push(format!("{error:?}")),
        }
        let [kernel] = compiled.kernels.as_slice() else {
            complaints.push(format!("the assembler reports {} kernels, not one", compiled.kernels.len()));
            return Verdict { complaints, ..Verdict::default() };
        };
        let wanted = families(text);
        if !wanted.is_empty() {
            let found = opcodes(&compiled.code);
            let is_missing = |family: &&Family| {
                !family.opcodes.iter().any(|name| found.iter().any(|found| found.starts_with(name)))
            };
            complaints.extend(wanted.iter().copied().filter(is_missing).map(|family| {
                let opcodes = family.opcodes.join(" or ");
                format!("no {opcodes} in the machine code, `{}…{}` in the text", family.ptx, family.then)
            }));
        }
        let spilled = kernel.spill_store_bytes + kernel.spill_load_bytes;
        Verdict { complaints, spilled, has_families: !wanted.is_empty() }
    }
}

/// Returns the families whose instructions are in the inline assembly of a text: in its string literals.
fn families(text: &str) -> Vec<&'static Family> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let literals: Vec<&str> = code.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
    FAMILIES.iter().filter(|family| literals.iter().any(|literal| family.is_in(literal))).collect()
}

/// Returns the opcodes of a cubin, as the disassembler names them: `HGMMA.64x128x16.F32`, `UTMALDG.2D`.
fn opcodes(cubin: &[u8]) -> BTreeSet<String> {
    let listing =
        disassemble(&support::search_env(), cubin, &LIMITS).expect("the disassembler reads the code");
    let words = listing.lines.iter().flat_map(|line| line.text.split_whitespace());
    let opcodes = words.map(|word| word.trim_end_matches(';'));
    opcodes.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())).map(str::to_owned).collect()
}

/// Reports whether all instances are judged, which takes several times as long.
pub(crate) fn every_instance() -> bool {
    std::env::var_os("HX_EVERY_INSTANCE").is_some_and(|value| value == "1")
}

/// Returns of each kernel the instance with the longest text, and if it has instructions of [`FAMILIES`], which lose most, the
/// one with the shortest text too. Of equal lengths the first counts.
fn extremes(all: &[Launched]) -> Vec<&Launched> {
    let mut chosen: BTreeMap<&str, [&Launched; 2]> = BTreeMap::new();
    for found in all {
        // `path::kernel<BM = 64>`, without the facts behind it, or only `path::kernel`.
        let end = found.name.find(['<', ' ']).unwrap_or(found.name.len());
        let [longest, shortest] = chosen.entry(&found.name[..end]).or_insert([found, found]);
        if found.text.len() > longest.text.len() {
            *longest = found;
        }
        if found.text.len() < shortest.text.len() {
            *shortest = found;
        }
    }
    let mut judged = Vec::new();
    for [longest, shortest] in chosen.into_values() {
        judged.push(longest);
        if !families(&longest.text).is_empty() {
            judged.push(shortest);
        }
    }
    judged
}

/// Compiles the texts of all instances in two threads, equal ones once. Returns the verdict on the first instance of each text.
fn verdicts(test: &str) -> Option<BTreeMap<&'static str, Verdict>> {
    let mut gates = [Gate::new(test)?, Gate::new(test)?];
    let mut texts: BTreeSet<String> = BTreeSet::new();
    let all =
        if every_instance() { launched(judged()).iter().collect() } else { extremes(launched(judged())) };
    let all: Vec<_> = all.into_iter().filter(|found| texts.insert(normal(&found.text))).collect();
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for gate in &mut gates {
            let (all, next, verdicts) = (&all, &next, &verdicts);
            scope.spawn(move || {
                while let Some(found) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = gate.judge(&found.text);
                    let mut verdicts = verdicts.lock().unwrap_or_else(PoisonError::into_inner);
                    verdicts.insert(found.name.as_str(), verdict);
                }
            });
        }
    });
    Some(verdicts.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The list of instances that spill, `compiled/spills.txt`, may become shorter; a new entry needs a reason in its commit. No
/// instance with instructions of [`FAMILIES`] belongs on it.
#[test]
fn machine_code_on_sm_90a() {
    let Some(verdicts) = verdicts("compiled::machine_code_on_sm_90a") else { return };
    assert!(verdicts.len() >= 40, "{} texts", verdicts.len());
    let complaints: Vec<_> = verdicts.iter().filter(|(_, verdict)| !verdict.complaints.is_empty()).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let spilling = |has_families: bool| -> String {
        let all = verdicts.iter().filter(|(_, v)| v.spilled > 0 && v.has_families == has_families);
        all.map(|(name, _)| format!("{name}\n")).collect()
    };
    assert_eq!(spilling(true), "");
    let spilling = spilling(false);
    if every_instance() {
        expect_file!["compiled/spills.txt"].assert_eq(&spilling);
        return;
    }
    let listed = include_str!("compiled/spills.txt").lines().filter(|name| verdicts.contains_key(name));
    let listed: String = listed.map(|name| format!("{name}\n")).collect();
    assert_eq!(spilling, listed, "`HX_EVERY_INSTANCE=1 UPDATE_EXPECT=1` writes tests/compiled/spills.txt");
}
