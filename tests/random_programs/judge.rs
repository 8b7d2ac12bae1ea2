//! Judges a program on the simulator: the verifier must accept its layouts, and its results must match the reference.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use hx_base::testing::MemorySystem;
use hx_base::{Diagnostic, SourceFile, codes};
use hx_compile::{CtArgs, Db, Instance, LaunchFacts, candidates, cuda_source, solved, violations};
use hx_driver::{Filter, TestOptions, Verdict, WorkLimit, list_tests, run_tests};
use hx_hir::{Name, file_items};
use hx_launch::Machine;
use hx_target::Target;
use hx_tile::{Choice, OpKind, OperandChoice, Solution, TileProgram};
use hx_workspace::Database;

use super::coverage::{computed, family};
use super::write::{Launch, NAMED, Written};

/// Stack of a judging thread: as much as `hx` itself uses.
const STACK: usize = 256 << 20;

fn target() -> Target {
    Target::usual()
}

/// The result of a program.
pub(super) struct Judged {
    pub(super) fault: Option<Fault>,
    /// The warning of `hx check` that it did not follow the pipelines.
    pub(super) unchecked: Option<Fault>,
    /// Rows of the catalogue that the solution uses.
    pub(super) rows: BTreeSet<String>,
    pub(super) time: Duration,
}

/// The findings of a judging thread.
#[derive(Default)]
struct Found {
    fault: Option<Fault>,
    unchecked: Option<Fault>,
    rows: BTreeSet<String>,
}

impl From<Fault> for Found {
    fn from(fault: Fault) -> Found {
        Found { fault: Some(fault), ..Found::default() }
    }
}

/// A failure of a program. Faults of one kind most likely have the same cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) kind: String,
    pub(super) details: String,
}

impl Fault {
    /// Reports whether the solver found no layouts, which is better than wrong ones.
    pub(super) fn is_refusal(&self) -> bool {
        let kind = self.kind.trim_start_matches(CHECKED);
        ["HX0301", "HX0302"].iter().any(|code| kind.starts_with(code))
    }

    fn new(kind: &str, details: impl Into<String>) -> Fault {
        Fault { kind: kind.to_owned(), details: details.into() }
    }
}

/// Judges a program on its own thread. The thread is abandoned if it takes longer than `limit`.
pub(super) fn judge(written: &Written, limit: Duration) -> Judged {
    let (send, receive) = mpsc::channel();
    let (text, launches) = (written.text.clone(), written.launches.clone());
    let (reports, orders) = (written.divides_by_zero, written.orders);
    let start = Instant::now();
    let work = move || {
        let _ = send.send(judge_here(&text, &launches, orders));
    };
    let handle = thread::Builder::new().stack_size(STACK).spawn(work).expect("threads can be started");
    let Found { fault, unchecked, rows } = match receive.recv_timeout(limit) {
        Ok(found) => found,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let details = format!("it takes longer than {} s", limit.as_secs());
            Fault::new("does not end", details).into()
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = handle.join().err();
            let text = panic.as_ref().and_then(|p| p.downcast_ref::<String>().cloned());
            let text = text.or_else(|| Some((*panic.as_ref()?.downcast_ref::<&str>()?).to_owned()));
            Fault::new("panic", text.unwrap_or_default()).into()
        }
    };
    let fault = match fault {
        Some(fault) if reports && fault.kind.starts_with(codes::DIVISION_BY_ZERO.id) => None,
        None if reports => Some(Fault::new("passes", "a division by 0 is not reported")),
        fault => fault,
    };
    Judged { fault, unchecked, rows, time: start.elapsed() }
}

/// The prefix of the kinds that `hx check` finds.
const CHECKED: &str = "check: ";

/// Findings that a right program may have: an operation costs time, a name is not used, or padding takes part in a result or may. The
/// reference of a program of tiles counts the padding in.
const ALLOWED: &[&str] = &[
    "HX0106", "HX0305", "HX0306", "HX0307", "HX0309", "HX0310", "HX0311", "HX0418", "HX0423", "HX0503",
    "HX0706", "HX0707", "HX0701", "HX0702", "HX0703", "HX0704", "HX0705",
];

/// A program whose named instructions are refused is judged without them: whether a name fits is known only after the layouts are.
fn judge_here(text: &str, launches: &[Launch], orders: u64) -> Found {
    let found = judge_text(text, launches, orders);
    let unnamed = NAMED.iter().fold(text.to_owned(), |text, name| text.replace(name, ""));
    let is_named = unnamed != text;
    if is_named && found.fault.as_ref().is_some_and(Fault::is_refusal) {
        return judge_text(&unnamed, launches, orders);
    }
    found
}

fn judge_text(text: &str, launches: &[Launch], orders: u64) -> Found {
    let system = MemorySystem::new([("random.hx", text)]);
    let mut db = Database::new(Arc::new(system));
    let file = db.open("random.hx").expect("the file is there").files[0];
    let listing = list_tests(&db, &[file], &Filter::default(), WorkLimit::unlimited());
    if let Some(found) = listing.diagnostics.iter().find(|found| found.is_error()) {
        return fault_of(&db, found).into();
    }
    let (open, found): (Vec<Diagnostic>, Vec<Diagnostic>) = hx_inspect::check(&db, file, target(), false)
        .into_iter()
        .partition(|found| found.code.id == codes::UNCHECKED_PIPELINES.id);
    let unchecked = open.first().map(|found| fault_of(&db, found));
    let finding = found.iter().find(|found| !ALLOWED.contains(&found.code.id));
    if let Some(found) = found.iter().find(|found| found.is_error()).or(finding) {
        // The finding at an order that cannot be inferred quotes the reason. That of the row-major kernel is the reason.
        let row_major = text.replace("= infer", "= auto");
        if found.code.id == codes::UNINFERRED_PARAMETER.id && row_major != text {
            let reason = judge_text(&row_major, &[], orders);
            if reason.fault.as_ref().is_some_and(Fault::is_refusal) {
                return reason;
            }
        }
        let fault = fault_of(&db, found);
        return Fault { kind: format!("{CHECKED}{}", fault.kind), ..fault }.into();
    }
    let machine = Machine::Simulator { target: target(), instead_of: None, compiler: None };
    let options = TestOptions { orders: 0..=orders, ..TestOptions::default() };
    let mut fault = None;
    run_tests(&db, &listing.cases, &machine, &options, &AtomicBool::new(false), |report| {
        if let Verdict::Failed(found) = report.verdict {
            fault = found.first().map(|found| fault_of(&db, found));
        }
    });
    let mut used = BTreeSet::new();
    for launch in launches {
        let Some(instance) = instance_of(&db, file, launch) else { continue };
        if let Some(violation) = violations(&db, instance).first() {
            let kind = format!("unsound: {}", shape_of(&violation.message));
            return Fault::new(&kind, violation.message.clone()).into();
        }
        let text = cuda_source(&db, instance).as_ref().map_or("", |cuda| &cuda.text);
        if let Ok(solved) = solved(&db, instance) {
            used.extend(rows(&solved.program, &solved.solution, text));
        }
        used.extend(emitted(text));
    }
    Found { fault, unchecked, rows: used }
}

/// Returns the instance of a kernel for a launch; `None` if the file has no such kernel.
fn instance_of<'db>(db: &'db dyn Db, file: SourceFile, launch: &Launch) -> Option<Instance<'db>> {
    let mut kernels = file_items(db, file).kernels();
    let kernel = kernels.find(|kernel| kernel.name(db).as_str() == launch.kernel)?;
    let dims = launch.dims.iter().map(|(name, value)| (Name::new(name), LaunchFacts::divisor_of(*value)));
    let facts = LaunchFacts { dims: dims.collect(), ..LaunchFacts::all_16() };
    Some(Instance::chosen(db, kernel, CtArgs::new(), target(), facts))
}

/// Returns the estimated cycles of the chosen solution and of the candidates that move no more values between threads than it does;
/// empty for a program without layouts.
pub(super) fn costs(written: &Written) -> Vec<f64> {
    let system = MemorySystem::new([("random.hx", written.text.as_str())]);
    let mut db = Database::new(Arc::new(system));
    let file = db.open("random.hx").expect("the file is there").files[0];
    let Some(instance) = written.launches.first().and_then(|launch| instance_of(&db, file, launch)) else {
        return Vec::new();
    };
    let Ok(all) = candidates(&db, instance) else { return Vec::new() };
    let alike = all.iter().filter(|solved| solved.moves_within(&all[0]));
    alike.map(|solved| solved.solution.cost).collect()
}

fn fault_of(db: &Database, found: &Diagnostic) -> Fault {
    let details = hx_report::render(db, found, hx_report::Config::default());
    Fault { kind: format!("{}: {}", found.code.id, shape_of(&found.message)), details }
}

/// Returns the message without numbers and names.
fn shape_of(message: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in message.chars() {
        match c {
            '`' => {
                quoted = !quoted;
                out.push_str(if quoted { "`" } else { "…`" });
            }
            _ if quoted => {}
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

/// Returns the names of the rows that no solution chooses and whose PTX the kernel's text contains. These rows close and await
/// groups, and synchronize threads.
fn emitted(text: &str) -> BTreeSet<String> {
    let all = Target::usual().rows();
    let groups = all.groups.iter().map(|row| (&row.name, &row.ptx));
    let rows = groups.chain(all.syncs.iter().map(|row| (&row.name, &row.ptx)));
    rows.filter(|(_, ptx)| text.contains(longest(ptx))).map(|(name, _)| name.clone()).collect()
}

/// Returns the rows of an operator that a text uses: that of single elements, and that of several if the text has its instruction.
fn operated(operator: &str, dtype: &str, text: &str) -> Vec<String> {
    let rows = Target::usual().rows().computes.iter();
    let rows = rows.filter(|row| row.operator == operator && row.dtype.to_string() == dtype);
    let used = rows
        .filter(|row| row.values == 1 || row.ptx.as_deref().is_some_and(|ptx| text.contains(longest(ptx))));
    used.map(|row| computed(operator, dtype, row.values)).collect()
}

/// Returns the longest part of an instruction's text between its operands, which stand in braces.
fn longest(ptx: &str) -> &str {
    ptx.split(['{', '}']).max_by_key(|part| part.len()).unwrap_or("")
}

/// Returns the names of the catalogue's rows that a solution uses; for elementwise expressions `operator.type`.
fn rows(program: &TileProgram, solution: &Solution, text: &str) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for (id, choice) in &solution.choices {
        match choice {
            Choice::Copy(copy) => {
                rows.insert(copy.row.to_string());
            }
            Choice::Gemm(gemm) => {
                rows.insert(gemm.row.to_string());
                rows.insert(family(gemm.row.name()));
                for (side, operand) in [("a", &gemm.a), ("b", &gemm.b)] {
                    if let OperandChoice::Descriptor { reach } = operand {
                        rows.insert(format!("{side}.{reach}"));
                    }
                }
            }
            Choice::Bulk(bulk) => {
                let shared = if bulk.share.is_some() { ".multicast" } else { "" };
                rows.insert(format!("{}{shared}", bulk.row));
            }
            Choice::Prefetch(prefetch) => {
                rows.insert(prefetch.row.to_string());
            }
            Choice::Convert(convert) => rows.extend(convert.row.map(|row| row.to_string())),
            Choice::Rearrange(moved) => {
                rows.extend(moved.route.rows().into_iter().map(str::to_owned));
            }
            Choice::Reduce(reduce) if !reduce.lanes.is_empty() => {
                rows.insert("shfl.bfly.b32".to_owned());
            }
            Choice::Slice(slice) if slice.mirrored != 0 => {
                rows.insert("shfl.bfly.b32".to_owned());
            }
            Choice::Slice(slice) if !slice.lanes.is_empty() => {
                rows.insert("shfl.idx.b32".to_owned());
            }
            Choice::Scan(scan)
                if scan.levels.iter().any(|l| matches!(l, hx_tile::ScanLevel::Lanes { .. })) =>
            {
                let reverse =
                    matches!(program.op(*id).map(|op| &op.kind), Some(OpKind::Scan { reverse: true, .. }));
                rows.insert(if reverse { "shfl.idx.b32" } else { "shfl.up.b32" }.to_owned());
            }
            Choice::Map(_) | Choice::Reduce(_) | Choice::Slice(_) | Choice::Scan(_) => {}
        }
    }
    for (op, _) in program.ops(1.0) {
        match &op.kind {
            OpKind::Map(map) => {
                let mut operators = Vec::new();
                map.value.operators(&mut operators);
                let named = operators.into_iter().map(|(op, dtype)| (format!("{op:?}"), dtype.to_string()));
                rows.extend(named.flat_map(|(op, dtype)| operated(&op, &dtype, text)));
            }
            OpKind::Reduce { dst, operator, .. } => {
                rows.extend(operated(
                    &format!("{operator:?}"),
                    &program.tensor(*dst).dtype.to_string(),
                    text,
                ));
            }
            _ => {}
        }
    }
    rows
}
