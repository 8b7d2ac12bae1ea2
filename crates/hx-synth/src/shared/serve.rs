//! Finds the layout and the swizzle that serve all uses of a shared tensor at least cost.

use std::rc::Rc;

use hx_layout::{ComposedLayout, Layout, Swizzle};

use hx_tile::{Conflicts, TensorId, TileProgram};

use super::addresses::{Addressed, measured};
use super::buffer::{Buffer, By, Candidate, Chosen, End, Joint, Joints, Options, Use};
use super::conflicts::{Requests, sampled};
use super::demanded::Demanded;
use super::measured::How;
use super::swizzle::{self, AccessCost, Served, SwizzleBudget};
use super::{demand_in, materialize};
use crate::cost;
use crate::search::context::SolverContext;

/// Limit on the addresses of lanes that are counted for one tensor, in all layouts and swizzles together.
const ADDRESSES: u64 = 8_000_000;
/// Cost of computing the address of a lane, in counted addresses.
const MADE: u64 = 4;
/// A layout that was counted on a sample is counted exactly if its cycles are within this factor of the best layout's.
const CLOSE: f64 = 1.1;

/// The inputs of the layout of one tensor.
struct Serve<'a, 'c, 'p> {
    context: &'a SolverContext<'c, 'p>,
    tensor: TensorId,
    uses: &'a [Use<'p>],
    options: &'a [Options],
    budget: SwizzleBudget,
}

/// Returns the cheapest buffer over all constraints that the uses can meet together, if it takes less than `limit` cycles.
pub(super) fn cheapest(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    options: &[Options],
    joints: &Joints,
    limit: f64,
) -> Option<Buffer> {
    let mut left = joints.left;
    let serve = Serve { context, tensor, uses, options, budget: SwizzleBudget::default() };
    let mut best: Option<Buffer> = None;
    for (i, joint) in joints.all.iter().enumerate() {
        let limit = best.as_ref().map_or(limit, |b| b.cost);
        if (context.cancelled)() {
            break;
        }
        if limit <= joint.least {
            continue;
        }
        let looked = serve.budget.looked.get();
        if looked >= ADDRESSES && (best.is_some() || limit.is_finite()) {
            left += joints.all[i..].iter().filter(|joint| joint.least < limit).count() as u64;
            break;
        }
        // Spend at most half of the remaining budget on this constraint, so that the following ones are searched as well.
        serve.budget.most.set(looked + ADDRESSES.saturating_sub(looked) / 2);
        context.steps.set(context.steps.get() + 1);
        if let Some(buffer) = serve.joint(joint, limit)
            && buffer.cost < limit
        {
            best = Some(buffer);
        }
    }
    context.pool.looked.set(context.pool.looked.get() + serve.budget.looked.get());
    let mut best = best?;
    best.left = left;
    Some(best)
}

/// Returns the buffer with the layout that the user pinned, or `None` if some use has no instruction that fits it.
pub(super) fn pinned(
    context: &SolverContext<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    options: &[Options],
    pin: &ComposedLayout,
) -> Option<Buffer> {
    context.steps.set(context.steps.get() + 1);
    let serve = Serve { context, tensor, uses, options, budget: SwizzleBudget::default() };
    // Accesses that do not fit the pinned layout are barred, so every usable candidate fits.
    let admitted: Vec<Vec<usize>> = options.iter().map(|o| (0..o.usable.len()).collect()).collect();
    if admitted.iter().any(Vec::is_empty) {
        return None;
    }
    let served = serve.served(&admitted, &pin.layout, true);
    serve.buffer(&admitted, &served, &pin.layout, pin.swizzle, How::Exact)
}

impl Serve<'_, '_, '_> {
    fn program(&self) -> &TileProgram {
        self.context.program()
    }

    fn bits(&self) -> u32 {
        self.program().tensor(self.tensor).dtype.bits()
    }

    /// Returns the cheapest buffer that meets a constraint, if it takes at most `limit` cycles. After a cancellation it is the
    /// cheapest of those tried.
    fn joint(&self, joint: &Joint, limit: f64) -> Option<Buffer> {
        let shape = &self.program().tensor(self.tensor).shape;
        let bits = self.bits();
        let chosen = self.options.iter().zip(&joint.chosen).map(|(o, i)| &o.usable[*i]);
        let vector = chosen.map(|c| c.by.width()).max().unwrap_or(1);
        let admitted = self.admitted(joint, vector);
        let layouts = self.layouts(joint, vector);
        let dense = (shape.iter().product::<i64>() * i64::from(bits) + 7) / 8;
        let mut best: Option<Buffer> = None;
        // Cycles without conflicts, which are the same for every layout.
        let mut least = None;
        for layout in layouts {
            if (self.context.cancelled)() || best.is_some() && self.budget.is_over() {
                break;
            }
            // Skip the layout if the best buffer has no conflicts and this layout needs at least as many bytes.
            let bytes = layout.cosize() * i64::from(bits) / 8;
            let is_better = |b: &Buffer| least.is_none_or(|l| b.cost > l) || i64::from(b.bytes) > bytes;
            if !best.as_ref().is_none_or(is_better) {
                continue;
            }
            if !self.begins_boxes(joint, &layout) {
                continue;
            }
            let served = self.served(&admitted, &layout, false);
            least.get_or_insert_with(|| served.iter().map(|used| used.first()).sum::<f64>());
            let beside: f64 = served.iter().map(|s| s.trips * s.costs[0].beside).sum();
            // `limit` bounds exact counts only: a sampled layout is compared with the best buffer alone. The tolerance keeps ties
            // that rounding would break.
            let is_sample = served.iter().any(Served::is_sample);
            let known = best.as_ref().map_or(f64::INFINITY, |b| b.cost);
            let most =
                if is_sample { CLOSE * (known - beside) } else { known.min(limit) - beside + 1e-9 * beside };
            let made = |used: &Served<'_>| MADE * used.addresses();
            self.budget.add(served.iter().map(made).sum());
            let search = || {
                swizzle::best(
                    self.context.target().limits(),
                    &layout,
                    &served,
                    vector,
                    bits,
                    most,
                    &self.budget,
                )
            };
            let demanded = joint.constraint.swizzle.map(Demanded::swizzle);
            // A swizzle of smaller pieces than the vectors would tear them apart.
            if demanded.is_some_and(|s| !s.is_identity() && s.base() < vector.trailing_zeros()) {
                continue;
            }
            let Some(swizzle) = demanded.or_else(search) else { continue };
            let buffer = self.buffer(&admitted, &served, &layout, swizzle, How::Words);
            let Some(buffer) = buffer.filter(|b| b.cost <= limit) else { continue };
            if best.as_ref().is_none_or(|b| (buffer.cost, buffer.bytes) < (b.cost, b.bytes)) {
                best = Some(buffer);
            }
            // A layout without bank conflicts, scattered lines or padding is optimal; stop searching.
            let done = |b: &Buffer| {
                i64::from(b.bytes) <= dense
                    && b.accesses.iter().all(|a| a.conflicts.wavefronts == a.conflicts.ideal)
                    && least.is_some_and(|least| b.cost <= least)
            };
            if best.as_ref().is_some_and(done) {
                break;
            }
        }
        best
    }

    /// Returns the layouts that meet a constraint, with their padding.
    fn layouts(&self, joint: &Joint, vector: i64) -> Vec<Layout> {
        let shape = &self.program().tensor(self.tensor).shape;
        let bits = self.bits();
        let sliced = |dim: usize| self.uses.iter().all(|u| u.view.modes.iter().all(|m| m.dim != dim));
        let indexed: Vec<bool> = (0..shape.len()).map(sliced).collect();
        // Pieces of a row that fill the banks once, half, or twice.
        let line = i64::from(self.context.target().limits.wavefront_bytes() * 8 / bits);
        let pad = vector.max(i64::from(32 / bits.min(32)));
        materialize::candidates(&joint.constraint, &indexed, &[line, line / 2, line * 2], pad)
    }

    /// Reports whether boxes begin at multiples of their alignment at each index of the dimensions that their tile does not walk.
    fn begins_boxes(&self, joint: &Joint, layout: &Layout) -> bool {
        let begins = |((u, options), chosen): ((&Use<'_>, &Options), &usize)| {
            let By::Boxes(boxes) = &options.usable[*chosen].by else { return true };
            let align = (i64::from(boxes.align) * 8 / i64::from(self.bits())).max(1);
            let mut others = layout.modes().into_iter().enumerate();
            others.all(|(dim, mode)| {
                let is_walked = u.view.modes.iter().any(|m| m.dim == dim);
                is_walked || (0..mode.size()).all(|at| mode.eval(at) % align == 0)
            })
        };
        self.uses.iter().zip(self.options).zip(&joint.chosen).all(begins)
    }

    /// Returns, for each use, the candidates that the constraint implies, with vectors no wider than `vector`. The chosen
    /// candidate comes first.
    fn admitted(&self, joint: &Joint, vector: i64) -> Vec<Vec<usize>> {
        let admitted = |(chosen, candidates): (&usize, &Options)| -> Vec<usize> {
            let fits = |i: &usize| {
                let Candidate { by, constraint, .. } = &candidates.usable[*i];
                i != chosen && by.width() <= vector && joint.constraint.implies(constraint)
            };
            std::iter::once(*chosen).chain((0..candidates.usable.len()).filter(fits)).collect()
        };
        joint.chosen.iter().zip(self.options).map(admitted).collect()
    }

    /// Returns the costs of the admitted candidates of all uses under a layout: counted exactly over all phases, or in whole words
    /// over a sample.
    fn served<'b>(&'b self, admitted: &[Vec<usize>], layout: &'b Layout, exact: bool) -> Vec<Served<'b>> {
        let (context, program, bits) = (self.context, self.program(), self.bits());
        let served = |((u, candidates), admitted): ((&'b Use<'_>, &'b Options), &Vec<usize>)| {
            let cost_of = |i: &usize| {
                let candidate = &candidates.usable[*i];
                let Some(access) = candidate.by.access() else {
                    return AccessCost::free(candidate.alone, context.target().limits());
                };
                let threads = program.threads_of(u.op);
                let beside = cost::shared(context.target(), threads, access, 0.0);
                let least = candidate.alone - beside;
                let (each, how) = match exact {
                    true => (1.0, How::Exact),
                    false => (sampled(access.phases(threads, &u.shape)), How::Sample),
                };
                // Most candidates lose by `least` alone, so their addresses are computed only if they are asked for.
                let requests = move || match measured(context, candidate, u) {
                    Some(Addressed { addresses, .. }) => {
                        debug_assert_eq!(addresses.phases(), access.phases(threads, &u.shape));
                        addresses.requests(how, layout, bits)
                    }
                    None => Rc::new(Requests::none(context.target().limits())),
                };
                AccessCost::new([least, beside, each], requests)
            };
            Served { costs: admitted.iter().map(cost_of).collect(), trips: u.trips }
        };
        self.uses.iter().zip(self.options).zip(admitted).map(served).collect()
    }

    /// Returns the buffer with a layout and a swizzle, with the cheapest admitted candidate for each use. Returns `None` if
    /// its bytes exceed `u32`.
    fn buffer(
        &self,
        admitted: &[Vec<usize>],
        served: &[Served<'_>],
        layout: &Layout,
        swizzle: Swizzle,
        how: How,
    ) -> Option<Buffer> {
        let (program, bits) = (self.program(), self.bits());
        let demand = demand_in(self.context, self.tensor);
        let (mut cost, mut accesses, mut constraint) = (0.0, Vec::new(), demand);
        for (((u, candidates), admitted), served) in
            self.uses.iter().zip(self.options).zip(admitted).zip(served)
        {
            let at = served.best(swizzle);
            let candidate = &candidates.usable[admitted[at]];
            // The constraints unify, because one constraint implies them all or one layout meets them all.
            constraint = constraint.unify(&candidate.constraint).unwrap_or(constraint);
            let (op, by) = (u.op.id, candidate.by.clone());
            let own = candidate.constraint.clone();
            let Some(Addressed { access, addresses }) = measured(self.context, candidate, u) else {
                cost += u.trips * candidate.alone;
                let conflicts = Conflicts::default();
                accesses.push(Chosen { op, by, constraint: own, conflicts, why: String::new() });
                continue;
            };
            let requests = addresses.requests(how, layout, bits);
            self.budget.add(MADE * requests.addresses());
            let further = match u.end {
                End::Global(_) => requests.further_lines(swizzle) as f64,
                End::Register(_) | End::Operand(_) => 0.0,
            };
            let conflicts = requests.count(swizzle);
            let wavefronts =
                conflicts.wavefronts as f64 + self.context.target().costs().further_line * further;
            cost +=
                u.trips * cost::shared(self.context.target(), program.threads_of(u.op), access, wavefronts);
            accesses.push(Chosen { op, by, constraint: own, conflicts, why: String::new() });
        }
        let bytes = swizzle::footprint(layout, swizzle) * i64::from(bits) / 8;
        let block = swizzle::block(swizzle) * i64::from(bits) / 8;
        let (bytes, block) = (u32::try_from(bytes).ok()?, u32::try_from(block).ok()?.max(1));
        let (layout, narrowed) = (layout.clone(), Vec::new());
        Some(Buffer { layout, swizzle, bytes, block, constraint, accesses, cost, narrowed, left: 0 })
    }
}
