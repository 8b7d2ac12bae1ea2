//! The whole way: components, anchors, propagation, shared memory, choices.

use std::collections::BTreeMap;

use hx_dtype::DType;
use hx_target::{Arch, catalogue};
use hx_tile::{
    Choice, ConvertChoice, Demand, GemmChoice, MapChoice, OpKind, Reason, SharedLayout, Solution, TensorId,
    TensorKind, TileProgram,
};

use crate::access::{Transfer, global};
use crate::anchor::copy::coalesced;
use crate::anchor::gemm::{Gemm, Tiling, tilings};
use crate::component::{Component, components};
use crate::distribution::{Tv, layout_of_table};
use crate::failure::{Failure, FailureKind};
use crate::propagate::{self, Known, Layouts};
use crate::{cost, pinned, reduce, shared, size};

/// Bytes to which each shared buffer is placed.
const SHARED_ALIGN: u32 = 128;

/// Finds layouts and instructions for a program, the same ones every time.
///
/// # Errors
/// A [`Failure`] that says what conflicts or lacks an instruction, or that `cancelled` returned true.
pub fn solve(program: &TileProgram, arch: Arch, cancelled: &dyn Fn() -> bool) -> Result<Solution, Failure> {
    size::check(program, arch)?;
    let mut solution = Solution::default();
    let mut known = Layouts::new();
    for component in components(program) {
        if cancelled() {
            return Err(Failure::cancelled());
        }
        let solved = solve_component(program, &component, arch, cancelled)?;
        solution.cost += solved.cost;
        for (op, tiling) in &solved.tilings {
            let choice = gemm_choice(op, tiling, &solved.layouts)?;
            solution.constraints.extend(gemm_demands(program, op, tiling));
            solution.choices.insert(op.op.id, Choice::Gemm(choice));
        }
        known.extend(solved.layouts);
    }
    global_choices(program, &known, arch, &mut solution)?;
    convert_choices(program, &known, arch, &mut solution)?;
    map_choices(program, &known, &mut solution)?;
    shared_choices(program, &known, arch, cancelled, &mut solution)?;
    reduce_choices(program, &known, arch, &mut solution)?;
    fits(program, arch, &solution)?;
    for (tensor, Known { tv, reason }) in known {
        let distribution = tv.to_distribution(reason).map_err(|e| too_large(e.to_string()))?;
        solution.registers.insert(tensor, distribution);
    }
    solution.constraints.sort_by_key(|d| d.op);
    Ok(solution)
}

fn too_large(error: String) -> Failure {
    Failure::new(FailureKind::Resource, format!("a layout is too large: {error}"))
}

/// A component's answer.
struct Solved<'p> {
    layouts: Layouts,
    tilings: Vec<(Gemm<'p>, Tiling)>,
    cost: f64,
}

fn solve_component<'p>(
    program: &TileProgram,
    component: &Component<'p>,
    arch: Arch,
    cancelled: &dyn Fn() -> bool,
) -> Result<Solved<'p>, Failure> {
    let mut start = Layouts::new();
    for &tensor in &component.tensors {
        let info = program.tensor(tensor);
        if let TensorKind::Register { pinned: Some(layout) } = &info.kind {
            let tv = pinned::read(layout, &info.shape, i64::from(program.threads)).map_err(|problem| {
                let message = format!(
                    "the pinned layout `{layout}` of `{}` is no thread-value layout of {} threads over {:?}: {problem}",
                    info.name, program.threads, info.shape
                );
                Failure::new(FailureKind::Conflict, message).part(None, Some(tensor), "pinned here")
            })?;
            start.insert(tensor, Known { tv, reason: Reason { text: "pinned".into(), from: vec![] } });
        }
    }
    propagate::propagate(program, component, &mut start);
    let gemms: Vec<Gemm<'p>> = component.gemms().filter_map(|(op, _)| Gemm::of(program, op)).collect();
    let mut best: Option<Solved<'p>> = None;
    let mut failure: Option<Failure> = None;
    let search = Search { program, component, arch, gemms: &gemms, cancelled };
    search.descend(start, Vec::new(), &mut best, &mut failure)?;
    best.ok_or_else(|| failure.unwrap_or_else(|| Failure::new(FailureKind::Conflict, "no layout was found")))
}

/// Depth-first over the tilings of the component's gemms, in the order of the text.
struct Search<'s, 'p> {
    program: &'s TileProgram,
    component: &'s Component<'p>,
    arch: Arch,
    gemms: &'s [Gemm<'p>],
    cancelled: &'s dyn Fn() -> bool,
}

impl<'p> Search<'_, 'p> {
    fn descend(
        &self,
        known: Layouts,
        chosen: Vec<(Gemm<'p>, Tiling)>,
        best: &mut Option<Solved<'p>>,
        failure: &mut Option<Failure>,
    ) -> Result<(), Failure> {
        if (self.cancelled)() {
            return Err(Failure::cancelled());
        }
        let Some(gemm) = self.gemms.get(chosen.len()) else {
            match self.finish(known, chosen) {
                Ok(solved) if best.as_ref().is_none_or(|b| solved.cost < b.cost) => *best = Some(solved),
                Ok(_) => {}
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
            return Ok(());
        };
        let mut fits = false;
        for tiling in tilings(self.program, gemm, self.arch)? {
            let mut next = known.clone();
            let reason = |what: &str| Reason {
                text: format!("{what} fragment of `{}`", tiling.row.name),
                from: vec![gemm.op.id],
            };
            let operands =
                [(gemm.c, &tiling.c, "accumulator"), (gemm.a, &tiling.a, "A"), (gemm.b, &tiling.b, "B")];
            let agree =
                operands.iter().all(|(t, tv, _)| next.get(t).is_none_or(|k| k.tv.positions_of(tv).is_some()));
            if !agree {
                continue;
            }
            fits = true;
            for (tensor, tv, what) in operands {
                next.entry(tensor).or_insert_with(|| Known { tv: tv.clone(), reason: reason(what) });
            }
            propagate::propagate(self.program, self.component, &mut next);
            let chosen = chosen.iter().cloned().chain([(*gemm, tiling)]).collect();
            self.descend(next, chosen, best, failure)?;
        }
        if !fits && failure.is_none() {
            *failure = Some(self.no_tiling_fits(gemm, &known));
        }
        Ok(())
    }

    fn no_tiling_fits(&self, gemm: &Gemm<'_>, known: &Layouts) -> Failure {
        let message =
            "no instruction and arrangement of warps fits the layouts that this gemm's tensors already have";
        let mut failure = Failure::new(FailureKind::Conflict, message).at(gemm.op.id);
        for tensor in [gemm.c, gemm.a, gemm.b] {
            if let Some(k) = known.get(&tensor) {
                let text = format!("`{}` is fixed here: {}", self.program.tensor(tensor).name, k.reason.text);
                failure = failure.part(k.reason.from.first().copied(), Some(tensor), text);
            }
        }
        failure.help("`rearrange` moves a tensor to another layout")
    }

    /// Anchors what no gemm reaches, in the ways that a copy can be dealt; the cheapest counts.
    fn finish(&self, known: Layouts, tilings: Vec<(Gemm<'p>, Tiling)>) -> Result<Solved<'p>, Failure> {
        let Some(missing) = self.component.tensors.iter().find(|t| !known.contains_key(t)) else {
            propagate::check(self.program, self.component, &known)?;
            let cost = self.cost(&known, &tilings)?;
            return Ok(Solved { layouts: known, tilings, cost });
        };
        let mut best: Option<Solved<'p>> = None;
        let mut failure = None;
        let (tensor, ways, reason) = self.anchor_copy(*missing, &known);
        for tv in ways {
            let mut next = known.clone();
            next.insert(tensor, Known { tv, reason: reason.clone() });
            propagate::propagate(self.program, self.component, &mut next);
            match self.finish(next, tilings.clone()) {
                Ok(solved) if best.as_ref().is_none_or(|b| solved.cost < b.cost) => best = Some(solved),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        best.ok_or_else(|| {
            failure.unwrap_or_else(|| Failure::new(FailureKind::Conflict, "no layout was found"))
        })
    }

    fn cost(&self, known: &Layouts, tilings: &[(Gemm<'p>, Tiling)]) -> Result<f64, Failure> {
        let mut cost = 0.0;
        for (op, trips) in &self.component.ops {
            cost += trips
                * match &op.kind {
                    OpKind::Gemm { .. } => {
                        let tiling = tilings.iter().find(|(g, _)| g.op.id == op.id);
                        tiling.map_or(0.0, |(_, t)| cost::gemm(t, self.program.threads))
                    }
                    OpKind::Copy { .. } => self.copy_cost(op, known)?,
                    OpKind::Map(map) => cost::map(self.program, &map.value, known[&map.dst].tv.values()),
                    OpKind::Reduce { dst, src, axis, .. } => {
                        let (d, s) = (&known[dst].tv, &known[src].tv);
                        let steps = reduce::steps(self.program, s, *axis, self.arch);
                        let across = !steps.digits.is_empty();
                        cost::reduce(self.program, s.values(), d.values(), steps.lanes.len(), across)
                    }
                    _ => 0.0,
                };
        }
        Ok(cost)
    }

    fn copy_cost(&self, op: &'p hx_tile::Op, known: &Layouts) -> Result<f64, Failure> {
        let Some(transfer) = Transfer::of(op) else { return Ok(0.0) };
        let dtype = self.program.tensor(transfer.register).dtype;
        let tv = &known[&transfer.register].tv;
        Ok(match transfer.shared() {
            None => {
                let (access, _) = global::best(self.program, &transfer, tv, dtype, self.arch)?;
                cost::global(self.program, transfer.memory, &access)
            }
            // What the buffer's layout adds is counted when it is solved.
            Some(_) => tv.values() as f64,
        })
    }

    /// The copy that moves most bytes among those of tensors without a layout; global memory before shared.
    fn anchor_copy(&self, missing: TensorId, known: &Layouts) -> (TensorId, Vec<Tv>, Reason) {
        let unknown = self.component.copies().filter_map(|(op, trips)| Some((Transfer::of(op)?, trips)));
        let unknown = unknown.filter(|(t, _)| !known.contains_key(&t.register));
        let weight = |t: &Transfer<'_>, trips: f64| {
            let tensor = self.program.tensor(t.register);
            let bytes = tensor.size() as f64 * f64::from(tensor.dtype.bits()) * trips;
            (t.shared().is_none(), bytes)
        };
        // The first of equal weight wins.
        let mut heaviest: Option<(Transfer<'_>, (bool, f64))> = None;
        for (transfer, trips) in unknown {
            let w = weight(&transfer, trips);
            if heaviest.as_ref().is_none_or(|(_, h)| w.0 & !h.0 || (w.0 == h.0 && w.1 > h.1)) {
                heaviest = Some((transfer, w));
            }
        }
        match heaviest {
            Some((transfer, _)) => {
                let dtype = self.program.tensor(transfer.register).dtype;
                let (ways, text) = coalesced(self.program, &transfer, dtype, self.arch);
                (transfer.register, ways, Reason { text, from: vec![transfer.op.id] })
            }
            // Never moved: any layout does, best the one with the whole extent.
            None => {
                let unknown = self.component.tensors.iter().filter(|t| !known.contains_key(t));
                let largest =
                    unknown.max_by_key(|t| (self.program.tensor(**t).size(), std::cmp::Reverse(**t)));
                let tensor = *largest.unwrap_or(&missing);
                let shape = &self.program.tensor(tensor).shape;
                let tv = crate::anchor::copy::deal_plain(shape, i64::from(self.program.threads));
                let text = "touched by no copy and no gemm".into();
                (tensor, vec![tv], Reason { text, from: vec![] })
            }
        }
    }
}

/// The positions that the instructions of a gemm read, given the layouts its tensors ended up with.
fn gemm_choice(gemm: &Gemm<'_>, tiling: &Tiling, layouts: &Layouts) -> Result<GemmChoice, Failure> {
    let [im, i_n, ik] = tiling.issues;
    let (c_order, c_extents) = tiling.c_by_issue();
    let positions = |tensor: TensorId, wanted: &Tv, extents: &[i64]| {
        let table = layouts[&tensor].tv.positions_of(wanted);
        table.and_then(|t| layout_of_table(extents, &t)).ok_or_else(|| {
            Failure::new(FailureKind::Conflict, "the values of a fragment lie in no regular order")
                .at(gemm.op.id)
        })
    };
    let [wm, wn] = tiling.arrangement;
    let repeat =
        if tiling.copies > 1 { format!("; {} times the same work", tiling.copies) } else { String::new() };
    let text =
        format!("lowest estimated cost of the arrangements that fit: {wm} along M, {wn} along N{repeat}");
    Ok(GemmChoice {
        row: tiling.row.name.clone(),
        arrangement: tiling.arrangement,
        a: positions(gemm.a, &tiling.a, &[tiling.row.a.values(), im, ik])?,
        b: positions(gemm.b, &tiling.b, &[tiling.row.b.values(), i_n, ik])?,
        c: positions(gemm.c, &c_order, &c_extents)?,
        issues: tiling.issues,
        reason: Reason { text, from: vec![] },
    })
}

/// The three constraints of a gemm in the paper's notation (figure 19).
fn gemm_demands(program: &TileProgram, gemm: &Gemm<'_>, tiling: &Tiling) -> Vec<Demand> {
    let [a, b, c] = [gemm.a, gemm.b, gemm.c].map(|t| program.tensor(t).name.as_str());
    let row = &tiling.row;
    let fragment = |name: &str, f: &hx_target::Fragment| format!("p_{name} = {}", f.layout);
    let demand = |text: String| Demand { op: gemm.op.id, text };
    vec![
        demand(format!(
            "instruction {}: {}, {}, {}",
            row.name,
            fragment("A", &row.a),
            fragment("B", &row.b),
            fragment("C", &row.c)
        )),
        demand(format!("π_M ∘ f_{a} ∘ p_A⁻¹ = π_M ∘ f_{c} ∘ p_C⁻¹")),
        demand(format!("π_N ∘ f_{b} ∘ p_B⁻¹ = π_N ∘ f_{c} ∘ p_C⁻¹")),
        demand(format!("π_K ∘ f_{a} ∘ p_A⁻¹ = π_K ∘ f_{b} ∘ p_B⁻¹")),
    ]
}

fn global_choices(
    program: &TileProgram,
    known: &Layouts,
    arch: Arch,
    solution: &mut Solution,
) -> Result<(), Failure> {
    for (op, _) in program.ops(1.0) {
        let Some(transfer) = Transfer::of(op).filter(|t| t.shared().is_none()) else { continue };
        let info = program.tensor(transfer.register);
        let (access, text) =
            global::best(program, &transfer, &known[&transfer.register].tv, info.dtype, arch)?;
        let param = global::param_of(program, transfer.memory).map_or("?", |p| p.name.as_str());
        solution.constraints.push(copy_demand(op.id, &info.name, param, &access.row.name));
        let choice = access.to_choice(Reason { text, from: vec![] }).map_err(|e| too_large(e.to_string()))?;
        solution.choices.insert(op.id, Choice::Copy(choice));
    }
    Ok(())
}

fn copy_demand(op: hx_tile::OpId, register: &str, memory: &str, row: &str) -> Demand {
    Demand { op, text: format!("f_{register} ∘ q⁻¹ = m_{memory} ∘ p⁻¹ with {row}") }
}

fn convert_choices(
    program: &TileProgram,
    known: &Layouts,
    arch: Arch,
    solution: &mut Solution,
) -> Result<(), Failure> {
    for (op, _) in program.ops(1.0) {
        let OpKind::Cast { dst, src } = op.kind else { continue };
        let (d, s) = (program.tensor(dst), program.tensor(src));
        let values = known[&dst].tv.values();
        let table = known[&src].tv.positions_of(&known[&dst].tv).unwrap_or_default();
        let rows = catalogue().converts_of(s.dtype, d.dtype, arch);
        let fits = |n: i64| {
            values % n == 0 && table.chunks(n as usize).all(|c| c.windows(2).all(|w| w[1] == w[0] + 1))
        };
        let row = rows.filter(|r| fits(i64::from(r.values))).max_by_key(|r| r.values);
        // What has no row is converted in C++, except for the 8-bit floats, which C++ does not know.
        let plain = |t: DType| !matches!(t, DType::F8E4m3 | DType::F8E5m2);
        if row.is_none() && s.dtype != d.dtype && !(plain(s.dtype) && plain(d.dtype)) {
            let message = format!("no instruction of {arch} converts `{}` to `{}`", s.dtype, d.dtype);
            return Err(Failure::new(FailureKind::NoInstruction, message).at(op.id));
        }
        let step = row.map_or(1, |r| i64::from(r.values));
        let irregular =
            || Failure::new(FailureKind::Conflict, "the values of a cast lie in no regular order").at(op.id);
        let extents = [step, values / step];
        let identity: Vec<i64> = (0..values).collect();
        solution.constraints.push(Demand { op: op.id, text: format!("f_{} = f_{}", d.name, s.name) });
        let text = match row {
            Some(r) if r.values > 1 => format!("{} elements at once into one register", r.values),
            _ => "one element at once".to_string(),
        };
        solution.choices.insert(
            op.id,
            Choice::Convert(ConvertChoice {
                row: row.map(|r| r.name.clone()),
                src: layout_of_table(&extents, &table).ok_or_else(irregular)?,
                dst: layout_of_table(&extents, &identity).ok_or_else(irregular)?,
                reason: Reason { text, from: vec![] },
            }),
        );
    }
    Ok(())
}

fn shared_choices(
    program: &TileProgram,
    known: &Layouts,
    arch: Arch,
    cancelled: &dyn Fn() -> bool,
    solution: &mut Solution,
) -> Result<(), Failure> {
    let ops = program.ops(crate::component::UNKNOWN_TRIPS);
    let mut uses: BTreeMap<TensorId, Vec<shared::Use<'_>>> = BTreeMap::new();
    for tensor in program.tensor_ids().filter(|t| !program.tensor(*t).is_register()) {
        uses.insert(tensor, Vec::new());
    }
    for (op, trips) in ops {
        if let OpKind::CopyAsync { src, dst } = &op.kind {
            let hx_tile::Base::Shared(tensor) = dst.base else { continue };
            uses.entry(tensor).or_default().push(shared::Use::asynchronous(op, src, dst, trips));
        } else if let Some(transfer) = Transfer::of(op)
            && let Some(tensor) = transfer.shared()
        {
            let tv = known[&transfer.register].tv.clone();
            uses.entry(tensor).or_default().push(shared::Use::register(program, transfer, tv, trips));
        }
    }
    for (tensor, uses) in uses {
        let buffer = shared::solve(program, tensor, &uses, arch, cancelled)?;
        let name = &program.tensor(tensor).name;
        let from = buffer.accesses.iter().map(|a| a.0).collect();
        for (op, access, constraint, conflicts, text) in &buffer.accesses {
            let other = uses.iter().find(|u| u.op.id == *op).map_or("?", |u| u.other_name(program));
            solution.constraints.push(copy_demand(*op, other, name, &access.row.name));
            solution.constraints.push(Demand { op: *op, text: format!("m_{name} = {constraint}") });
            let reason = Reason { text: text.clone(), from: vec![] };
            let mut choice = access.to_choice(reason).map_err(|e| too_large(e.to_string()))?;
            choice.conflicts = Some(*conflicts);
            solution.choices.insert(*op, Choice::Copy(choice));
        }
        let offset = solution.shared_bytes.next_multiple_of(SHARED_ALIGN);
        solution.shared_bytes = offset + buffer.bytes;
        solution.cost += buffer.cost;
        let text = format!(
            "the accesses unify to `{}`; fewest wavefronts of the orders and swizzles",
            buffer.constraint
        );
        solution.shared.insert(
            tensor,
            SharedLayout {
                layout: buffer.layout,
                swizzle: buffer.swizzle,
                offset,
                bytes: buffer.bytes,
                reason: Reason { text, from },
            },
        );
    }
    Ok(())
}

/// Whether the block has as much shared memory as the solution asks for.
fn fits(program: &TileProgram, arch: Arch, solution: &Solution) -> Result<(), Failure> {
    let limit = arch.limits().shared_bytes;
    if solution.shared_bytes > limit {
        let message =
            format!("the block needs {} B of shared memory, and {arch} has {limit} B", solution.shared_bytes);
        let mut failure = Failure::new(FailureKind::Resource, message);
        for (tensor, layout) in &solution.shared {
            failure = failure.part(
                None,
                Some(*tensor),
                format!("`{}` takes {} B", program.tensor(*tensor).name, layout.bytes),
            );
        }
        return Err(failure.help("smaller tiles or fewer stages"));
    }
    Ok(())
}

fn map_choices(program: &TileProgram, known: &Layouts, solution: &mut Solution) -> Result<(), Failure> {
    for (op, _) in program.ops(1.0) {
        let OpKind::Map(map) = &op.kind else { continue };
        let dst = &known[&map.dst].tv;
        let extents: Vec<i64> = dst.value.iter().map(|m| m.extent).collect();
        let name = &program.tensor(map.dst).name;
        let mut inputs = Vec::new();
        for input in &map.inputs {
            let axes = propagate::broadcast(program, map, *input);
            let wanted = if axes.is_empty() { dst.clone() } else { dst.project_values(&axes) };
            let table = known[input].tv.positions_of(&wanted);
            inputs.push(table.and_then(|t| layout_of_table(&extents, &t)).ok_or_else(|| {
                let message = "the operands of this expression lie in no common order";
                Failure::new(FailureKind::Conflict, message).at(op.id)
            })?);
            let other = &program.tensor(*input).name;
            let text = if axes.is_empty() {
                format!("f_{name} = f_{other}")
            } else {
                format!("π_{axes:?} ∘ f_{name} = f_{other}")
            };
            solution.constraints.push(Demand { op: op.id, text });
        }
        let text =
            format!("{} element{} of each thread", dst.values(), if dst.values() == 1 { "" } else { "s" });
        solution
            .choices
            .insert(op.id, Choice::Map(MapChoice { inputs, reason: Reason { text, from: vec![] } }));
    }
    Ok(())
}

fn reduce_choices(
    program: &TileProgram,
    known: &Layouts,
    arch: Arch,
    solution: &mut Solution,
) -> Result<(), Failure> {
    for (op, _) in program.ops(1.0) {
        let OpKind::Reduce { dst, src, axis, .. } = op.kind else { continue };
        let offset = solution.shared_bytes.next_multiple_of(SHARED_ALIGN);
        let choice = reduce::choice(program, op, [dst, src], axis, known, offset, arch)?;
        if let Some(across) = &choice.across {
            solution.shared_bytes = offset + across.bytes;
        }
        let [d, s] = [dst, src].map(|t| program.tensor(t).name.as_str());
        solution.constraints.push(Demand { op: op.id, text: format!("f_{d} = π_{axis} ∘ f_{s}") });
        solution.choices.insert(op.id, Choice::Reduce(choice));
    }
    Ok(())
}
