//! Requests that the standard protocol does not have: layouts, reasons, stages, costs.

use hx_ide::{Costs, CudaText, Emit, ReasonStep, Registers, TensorLayout, Wanted};
use hx_layout::draw::Drawing;

use super::with_file;
use crate::compile::{Reports, Toolchain};
use crate::protocol::{self, DrawingForm, Drawn};
use crate::state::{Snapshot, user_files};
use crate::task::{Handled, invalid};
use crate::to_proto;

pub(crate) fn layout(
    snapshot: &Snapshot,
    params: &protocol::LayoutParams,
) -> Handled<Option<protocol::Layout>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let at = snapshot.positions(file).offset(params.position);
        let layouts = hx_ide::layouts(&snapshot.db, file, at, &snapshot.shown(file))?;
        Ok(Ok(layouts.map(|layouts| protocol::Layout {
            kernel: layouts.kernel,
            tensors: layouts.tensors.iter().map(|t| tensor(snapshot, t, params.form)).collect(),
        })))
    })
}

/// The largest number of cells of a drawing that the server draws itself: a larger one is legible only if the client scales it and
/// shows parts.
const MOST_FINISHED: usize = 4096;

fn tensor(snapshot: &Snapshot, tensor: &TensorLayout, form: DrawingForm) -> protocol::Tensor {
    let drawing = |named: &hx_ide::NamedDrawing| {
        let drawing = &named.drawing;
        let drawn = match form {
            DrawingForm::Finished if drawing.cells.len() > MOST_FINISHED => return None,
            DrawingForm::Finished => Drawn::Finished { unicode: drawing.unicode(), svg: drawing.svg() },
            DrawingForm::Cells => Drawn::Cells(cells(drawing)),
        };
        Some(protocol::Drawing { kind: named.kind.to_owned(), title: drawing.title.clone(), drawn })
    };
    protocol::Tensor {
        name: tensor.name.clone(),
        space: tensor.space.to_owned(),
        dtype: tensor.dtype.clone(),
        shape: tensor.shape.clone(),
        alias: tensor.alias.clone(),
        layout: tensor.layout.clone(),
        reason: tensor.reason.clone(),
        forced_by: tensor.forced_by.and_then(|at| to_proto::location(snapshot, at)),
        drawings: tensor.drawings.iter().filter_map(drawing).collect(),
    }
}

fn cells(drawing: &Drawing) -> protocol::Cells {
    let cells = &drawing.cells;
    let has_owners = cells.iter().any(|cell| !cell.owners.is_empty());
    protocol::Cells {
        rows: drawing.rows,
        cols: drawing.cols,
        row_step: drawing.row_step,
        col_step: drawing.col_step,
        texts: cells.iter().map(|cell| cell.text.clone()).collect(),
        groups: cells.iter().map(|cell| cell.group).collect(),
        owners: if has_owners { cells.iter().map(|cell| cell.owners.clone()).collect() } else { Vec::new() },
    }
}

pub(crate) fn explain_layout(
    snapshot: &Snapshot,
    params: &protocol::LayoutParams,
) -> Handled<Option<protocol::Explanation>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let at = snapshot.positions(file).offset(params.position);
        let steps = hx_ide::explain_layout(&snapshot.db, file, at, &snapshot.shown(file))?;
        Ok(Ok(steps.map(|steps| {
            let mut text = String::new();
            steps.iter().for_each(|step| write_step(step, 0, &mut text));
            let steps = steps.iter().map(|s| step(snapshot, s)).collect();
            protocol::Explanation { text, steps }
        })))
    })
}

fn step(snapshot: &Snapshot, from: &ReasonStep) -> protocol::Step {
    protocol::Step {
        what: from.what.clone(),
        reason: from.reason.clone(),
        location: from.place.and_then(|at| to_proto::location(snapshot, at)),
        from: from.from.iter().map(|below| step(snapshot, below)).collect(),
    }
}

fn write_step(step: &ReasonStep, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    text.push_str(&format!("{indent}{}\n", step.what));
    if let Some(reason) = &step.reason {
        text.push_str(&format!("{indent}    because: {reason}\n"));
    }
    step.from.iter().for_each(|below| write_step(below, depth + 1, text));
}

/// A finished text, or one that the CUDA compiler has to produce after the snapshot is released.
#[derive(Debug)]
pub(crate) enum Emission {
    Done(protocol::Emitted),
    Compile { cuda: CudaText, stage: String, toolchain: Box<Toolchain> },
}

pub(crate) fn emit(snapshot: &Snapshot, params: &protocol::EmitParams) -> Handled<Emission> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let at = params.position.map(|position| snapshot.positions(file).offset(position));
        let wanted = Wanted { kernel: params.kernel.clone(), at, args: params.args.clone() };
        let (db, shown) = (&snapshot.db, snapshot.shown(file));
        let stage = params.stage.as_str();
        if matches!(stage, "ptx" | "sass") {
            let cuda = hx_ide::cuda(db, file, &wanted, &shown)?;
            return Ok(cuda.map_err(invalid).map(|cuda| Emission::Compile {
                cuda,
                stage: stage.to_owned(),
                toolchain: Box::new(snapshot.toolchain(Some(file))),
            }));
        }
        let Some(known) = Emit::ALL.into_iter().find(|known| known.name() == stage) else {
            let names: Vec<&str> =
                Emit::ALL.iter().map(|known| known.name()).chain(["ptx", "sass"]).collect();
            return Ok(Err(invalid(format!("there is no stage `{stage}`; known are {}", names.join(", ")))));
        };
        let emitted = hx_ide::emit(db, file, &wanted, known, &shown)?;
        Ok(emitted.map_err(invalid).map(|emitted| {
            let pair =
                |(emitted, source): &(u32, u32)| protocol::LinePair { emitted: *emitted, source: *source };
            Emission::Done(protocol::Emitted {
                kernel: emitted.kernel,
                stage: stage.to_owned(),
                language: if known == Emit::Cuda { "cuda-cpp" } else { "hx" }.to_owned(),
                text: emitted.text,
                lines: emitted.lines.iter().map(pair).collect(),
                warnings: Vec::new(),
            })
        }))
    })
}

pub(crate) fn costs(snapshot: &Snapshot, params: &protocol::CostsParams) -> Handled<Vec<protocol::Costs>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let (shown, reports) = (snapshot.shown(file), snapshot.reports(file));
        let reported = |cuda: &CudaText| reports.get(cuda);
        let costs = hx_ide::costs(&snapshot.db, file, params.kernel.as_deref(), &shown, &reported)?;
        let converted = |c: Costs| protocol::Costs {
            range: positions.range(c.range),
            kernel: c.kernel,
            target: c.target.name().to_owned(),
            args: c.args,
            summary: c.resources.to_string(),
            threads: c.resources.threads,
            shared_bytes: c.resources.shared_bytes,
            registers: c.resources.registers.count(),
            estimated: matches!(c.resources.registers, Registers::Estimated(_)),
            blocks_per_multiprocessor: c.resources.residency.map(|found| found.blocks),
            limited_by: c.resources.residency.map(|found| found.limited_by.to_owned()),
            cycles: c.estimate.map(cycles),
        };
        Ok(costs.map(|costs| costs.into_iter().map(converted).collect()).map_err(invalid))
    })
}

fn cycles(estimate: hx_ide::Cycles) -> protocol::Cycles {
    let of_loop = |found: hx_ide::LoopCycles| protocol::LoopCycles {
        pipes: found.pipes,
        threads: found.threads,
        cycles: found.cycles,
        exposed: found.exposed,
        bound: found.bound,
        resources: found.resources,
    };
    let of_role = |role: hx_ide::RoleCycles| protocol::RoleCycles {
        threads: role.threads,
        cycles: role.cycles,
        busy: role.busy,
        needed_registers: role.registers[0],
        registers: role.registers[1],
        resources: role.resources,
    };
    protocol::Cycles {
        text: estimate.text,
        block: estimate.block,
        loops: estimate.loops.into_iter().map(of_loop).collect(),
        roles: estimate.roles.into_iter().map(of_role).collect(),
    }
}

pub(crate) fn syntax_tree(snapshot: &Snapshot, params: &protocol::SyntaxTreeParams) -> Handled<String> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let range = params.range.map(|range| snapshot.positions(file).text_range(range));
        Ok(Ok(hx_ide::syntax_tree(&snapshot.db, file, range)?))
    })
}

pub(crate) fn server_status(snapshot: &Snapshot, (): &()) -> Handled<protocol::Status> {
    let shared = &snapshot.shared;
    let first = user_files(&snapshot.db).first().copied();
    let nvrtc = match hx_worker::toolkit::find_nvrtc(&snapshot.toolchain(first).search) {
        Ok(hx_worker::protocol::NvrtcFiles { library, .. }) => library.display().to_string(),
        Err(absence) => absence.to_string(),
    };
    Ok(Ok(protocol::Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: first.map_or_else(
            || hx_target::Target::usual().name().to_owned(),
            |file| snapshot.shown(file).target.name().to_owned(),
        ),
        open_documents: shared.documents.len(),
        files: user_files(&snapshot.db).len(),
        kept_kernels: shared.last_good.len(),
        projects: shared.projects.keys().cloned().collect(),
        nvrtc,
    }))
}

/// The CUDA texts of a file whose registers are unknown, with the toolchain that can determine them.
#[derive(Debug)]
pub(crate) struct Unreported {
    pub(crate) texts: Vec<CudaText>,
    pub(crate) reports: Reports,
    pub(crate) toolchain: Toolchain,
}

/// Returns the texts with unknown registers. `None` if all registers are known, or if there is no compiler.
pub(crate) fn unreported(
    snapshot: &Snapshot,
    uri: &tower_lsp::ls_types::Uri,
) -> Handled<Option<Box<Unreported>>> {
    with_file(snapshot, uri, |file| {
        let toolchain = snapshot.toolchain(Some(file));
        if !toolchain.has_compiler() {
            return Ok(Ok(None));
        }
        let reports = snapshot.reports(file);
        let mut texts = hx_ide::cuda_texts(&snapshot.db, file, &snapshot.shown(file))?;
        texts.retain(|text| reports.get(text).is_none());
        Ok(Ok((!texts.is_empty()).then(|| Box::new(Unreported { texts, reports, toolchain }))))
    })
}
