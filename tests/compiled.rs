//! The gate of the machine code: every instance that is launched on `sm_90a` compiles without a note of the assembler on lost
//! performance (`C75xx`), without a spill outside of a known list, with the instructions of warp groups and bulk copies that its
//! text has, and without a loop that counts up the base of shared memory.
//!
//! It needs the CUDA compiler and its disassembler, and no GPU. The instances are those of `std`, `tests/kernels` and
//! `book/examples`, so the gate grows with their tests. Of the instances of a kernel the one with the longest text is compiled,
//! and the one with the shortest too if it has instructions of warp groups or bulk copies; with `HX_EVERY_INSTANCE=1` all are.
//! A text that the [`crate::ledger`] knows is not compiled again.

pub(crate) mod base;
mod data;
mod probes;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use hx_target::Target;

use crate::emitted::normal;
use crate::instances::{Launched, launched};
use crate::ledger::{Asked, CodeReport, Extent, Outcome, outcomes};

/// The architecture whose machine code the gate judges.
pub(crate) fn judged() -> Target {
    Target::usual()
}

/// An instruction of inline assembly, and the opcodes to which the assembler translates it.
struct Family {
    /// The beginning of the PTX name. Between it and `then` the name may have a number of dimensions.
    ptx: &'static str,
    then: &'static str,
    /// An opcode of the machine code must begin as one of these.
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

/// Returns the request for a report with opcodes on a text, for the judged architecture.
fn asked(text: &str) -> Asked<'_> {
    Asked { text, target: judged(), extent: Extent::Code }
}

/// Judges the machine code of a text: it has the instructions of all families that the text has.
fn verdict(text: &str, outcome: Outcome) -> Verdict {
    let wanted = families(text);
    let has_families = !wanted.is_empty();
    let CodeReport { spilled, opcodes, .. } = match outcome {
        Ok(report) => report,
        Err(complaints) => return Verdict { complaints, spilled: 0, has_families },
    };
    let is_missing = |family: &&Family| {
        !family.opcodes.iter().any(|name| opcodes.iter().any(|found| found.starts_with(name)))
    };
    let missing = wanted.into_iter().filter(is_missing).map(|family| {
        let opcodes = family.opcodes.join(" or ");
        format!("no {opcodes} in the machine code, `{}…{}` in the text", family.ptx, family.then)
    });
    Verdict { complaints: missing.collect(), spilled, has_families }
}

/// Returns the families whose instructions are in the inline assembly of a text: in its string literals.
fn families(text: &str) -> Vec<&'static Family> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let literals: Vec<&str> = code.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
    FAMILIES.iter().filter(|family| literals.iter().any(|literal| family.is_in(literal))).collect()
}

/// Reports whether `HX_EVERY_INSTANCE=1` is set: then all instances are judged, which takes several times as long.
pub(crate) fn every_instance() -> bool {
    std::env::var_os("HX_EVERY_INSTANCE").is_some_and(|value| value == "1")
}

/// Returns the instance with the longest text of each kernel. If it has instructions of [`FAMILIES`], which lose the most
/// performance to a bad compile, the instance with the shortest text is returned as well. Of equal lengths the first one
/// counts.
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

/// Returns the verdicts by the names of instances. Of instances with the same normalized text only the first is judged. Returns
/// `None` after printing the reason if the CUDA compiler or its disassembler is missing.
fn verdicts(test: &str) -> Option<BTreeMap<&'static str, Verdict>> {
    let mut texts: BTreeSet<String> = BTreeSet::new();
    let all =
        if every_instance() { launched(judged()).iter().collect() } else { extremes(launched(judged())) };
    let all: Vec<_> = all.into_iter().filter(|found| texts.insert(normal(&found.text))).collect();
    let asked: Vec<Asked<'_>> = all.iter().map(|found| asked(&found.text)).collect();
    let outcomes = outcomes(test, &asked)?;
    let verdicts = all.into_iter().zip(outcomes);
    Some(verdicts.map(|(found, outcome)| (found.name.as_str(), verdict(&found.text, outcome))).collect())
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
