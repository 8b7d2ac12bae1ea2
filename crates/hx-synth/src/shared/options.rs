//! One shared tensor: which instructions its accesses use, and the layout that serves them all at least cost.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use hx_dtype::DType;
use hx_layout::{ComposedLayout, Layout, Swizzle};
use hx_target::{CopyRow, Space, WAVEFRONT_BYTES, catalogue};
use hx_tile::{Base, Conflicts, Op, OpId, Tensor, TensorId, TileProgram, View};

use super::conflicts::{Places, Requests};
use super::constraint::Constraint;
use super::{asynchronous, materialize, pin_of, start, swizzle};
use crate::access::alignment::{amount, by_way_of_bytes, parts_bytes};
use crate::access::{Access, Run, Transfer, collective, is_packed, vector};
use crate::cost;
use crate::distribution::Tv;
use crate::failure::{Failure, FailureKind};
use crate::pool::{LayoutKey, Pool, key};
use crate::search::Cx;

/// A copy to or from the tensor.
#[derive(Clone, Debug)]
pub(crate) struct Use<'p> {
    pub(crate) op: &'p Op,
    /// The view of the shared tensor.
    pub(super) view: Cow<'p, View>,
    /// Extents of the tile that is copied.
    pub(super) shape: Vec<i64>,
    pub(super) reads: bool,
    pub(super) end: End<'p>,
    trips: f64,
}

/// The other end of a copy.
#[derive(Clone, Debug)]
pub(super) enum End<'p> {
    /// A register tensor with its layout.
    Register(Rc<Tv>),
    /// A view of global memory, of an asynchronous copy.
    Global(&'p View),
}

impl<'p> Use<'p> {
    pub(crate) fn register(program: &TileProgram, transfer: Transfer<'p>, tv: Rc<Tv>, trips: f64) -> Use<'p> {
        let shape = program.tensor(transfer.register).shape.clone();
        let (view, end) = (Cow::Borrowed(transfer.memory), End::Register(tv));
        Use { op: transfer.op, view, shape, reads: transfer.is_load, end, trips }
    }

    /// One end of an exchange between threads.
    pub(crate) fn exchange(op: &'p Op, view: View, tv: Rc<Tv>, reads: bool, trips: f64) -> Use<'p> {
        Use { op, shape: view.shape(), view: Cow::Owned(view), reads, end: End::Register(tv), trips }
    }

    pub(crate) fn asynchronous(op: &'p Op, src: &'p View, dst: &'p View, trips: f64) -> Use<'p> {
        Use { op, view: Cow::Borrowed(dst), shape: src.shape(), reads: false, end: End::Global(src), trips }
    }

    /// The shared tensor.
    pub(super) fn tensor(&self) -> Option<TensorId> {
        match self.view.base {
            Base::Shared(tensor) => Some(tensor),
            _ => None,
        }
    }
}

/// The answer for one shared tensor.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) layout: Layout,
    pub(crate) swizzle: Swizzle,
    pub(crate) bytes: u32,
    /// Bytes of a whole block of the swizzle.
    pub(crate) block: u32,
    pub(crate) constraint: Constraint,
    /// For each use its access, its constraint, its conflicts and why it is not wider.
    pub(crate) accesses: Vec<(OpId, Access, Constraint, Conflicts, String)>,
    pub(crate) cost: f64,
}

/// One way for one use.
struct Candidate {
    access: Access,
    constraint: Constraint,
    cost: f64,
    /// Made when first asked for.
    places: OnceCell<Places>,
}

/// An instruction that could serve a use but for its addresses.
struct Barred {
    access: Access,
    /// What it would ask of the tensor, if some layout could do that.
    constraint: Option<Constraint>,
    why: String,
}

/// The instructions for one use.
#[derive(Default)]
struct Options {
    /// Cheapest first.
    usable: Vec<Candidate>,
    /// Widest first.
    barred: Vec<Barred>,
}

impl Options {
    /// The instruction that moves the fewest neighbours at once.
    fn least(&self) -> Option<&Access> {
        let usable = self.usable.iter().map(|candidate| &candidate.access);
        usable.chain(self.barred.iter().map(|barred| &barred.access)).min_by_key(|access| access.run.width())
    }
}

/// Combinations tried before the search stops with the best so far.
const BUDGET: usize = 512;

/// All that the answer for a shared tensor depends on.
#[derive(Clone, PartialEq, Debug)]
struct Question {
    id: TensorId,
    tensor: Tensor,
    single: bool,
    uses: Vec<(OpId, View, Vec<i64>, bool, Other, f64)>,
}

/// [`End`], as it is compared.
#[derive(Clone, PartialEq, Debug)]
enum Other {
    Register(LayoutKey),
    Global(View),
}

/// Answers for shared tensors, each with the steps that it took. Programs that differ in redistributions ask for many of them again.
#[derive(Debug, Default)]
pub(crate) struct Known(Vec<(Question, Result<Buffer, Failure>, u64)>);

impl Question {
    fn of(cx: &Cx<'_, '_>, id: TensorId, uses: &[Use<'_>]) -> Question {
        let asked = |u: &Use<'_>| {
            let end = match &u.end {
                End::Register(tv) => Other::Register(key(tv)),
                End::Global(view) => Other::Global((*view).clone()),
            };
            (u.op.id, u.view.clone().into_owned(), u.shape.clone(), u.reads, end, u.trips)
        };
        let tensor = cx.program().tensor(id).clone();
        Question { id, tensor, single: cx.single, uses: uses.iter().map(asked).collect() }
    }
}

/// Solves one shared tensor on its own: tensors that share no access do not interact.
pub(crate) fn solve(cx: &Cx<'_, '_>, tensor: TensorId, uses: &[Use<'_>]) -> Result<Buffer, Failure> {
    let question = Question::of(cx, tensor, uses);
    let before = cx.steps.get();
    if let Some((_, answer, steps)) = cx.pool.buffers.borrow().0.iter().find(|(q, ..)| *q == question) {
        cx.steps.set(before + steps);
        return answer.clone();
    }
    let answer = solved(cx, tensor, uses);
    if !matches!(&answer, Err(failure) if failure.kind == FailureKind::Cancelled) {
        let steps = cx.steps.get() - before;
        cx.pool.buffers.borrow_mut().0.push((question, answer.clone(), steps));
    }
    answer
}

fn solved(cx: &Cx<'_, '_>, tensor: TensorId, uses: &[Use<'_>]) -> Result<Buffer, Failure> {
    let program = cx.program();
    let shape = &program.tensor(tensor).shape;
    if let Some(pin) = pin_of(program, tensor) {
        fits(program, tensor, pin)?;
    }
    let options: Vec<Options> =
        uses.iter().map(|u| candidates(cx, tensor, u, uses)).collect::<Result<_, _>>()?;
    let mut best: Option<Buffer> = None;
    for combination in combinations(&options) {
        if (cx.cancelled)() {
            return Err(Failure::cancelled());
        }
        let bound: f64 = combination.iter().zip(&options).map(|(i, o)| o.usable[*i].cost).sum();
        if best.as_ref().is_some_and(|b| b.cost <= bound) {
            break;
        }
        let chosen: Vec<&Candidate> = combination.iter().zip(&options).map(|(i, o)| &o.usable[*i]).collect();
        let unified = chosen.iter().try_fold(Constraint::free(shape), |all, c| all.unify(&c.constraint));
        let Some(constraint) = unified else { continue };
        cx.steps.set(cx.steps.get() + 1);
        if let Some(buffer) = place(cx, tensor, uses, &chosen, constraint)
            && best.as_ref().is_none_or(|b| buffer.cost < b.cost)
        {
            best = Some(buffer);
        }
    }
    if (cx.cancelled)() {
        return Err(Failure::cancelled());
    }
    let mut buffer = best.ok_or_else(|| unsatisfied(program, tensor, uses, &options))?;
    explain(&mut buffer, &options);
    Ok(buffer)
}

/// What each use of a tensor asks of it at least, by the instruction that can do with the fewest neighbours.
pub(crate) fn least(cx: &Cx<'_, '_>, tensor: TensorId, uses: &[Use<'_>]) -> Vec<(OpId, Constraint)> {
    let of = |u: &Use<'_>| {
        let options = candidates(cx, tensor, u, uses).ok()?;
        let constraint = constraint_of(u, options.least()?, cx.program().tensor(tensor)).ok()?;
        Some((u.op.id, constraint))
    };
    uses.iter().filter_map(of).collect()
}

/// The least cycles of one execution of a use, whatever the layout of the tensor: those of the fastest instruction that fits. Rows
/// are tried by the least that they can take.
///
/// # Errors
/// Where no instruction makes the copy.
pub(crate) fn ideal(cx: &Cx<'_, '_>, tensor: TensorId, used: &Use<'_>) -> Result<f64, Failure> {
    let (program, info) = (cx.program(), cx.program().tensor(tensor));
    let dtype = info.dtype;
    let pinned = pin_of(program, tensor).is_some();
    if let End::Register(tv) = &used.end {
        let (from, to) = ends(used);
        let mut rows: Vec<(f64, &'static CopyRow)> = catalogue()
            .copies_between(from, to, cx.arch)
            .filter(|row| !cx.single || !row.is_collective())
            .filter_map(|row| {
                Some((cost::shared_least(program, row, tv.values() / row.atom(dtype)?.values), row))
            })
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, row) in rows {
            let accesses = row_accesses(cx.pool, used, tv, dtype, row);
            // What a pinned layout makes of an address is for the tensor's own solution to say.
            let aligned = |a: &Access| pinned || start::bars(program, used, a).is_none();
            let fits = accesses.iter().find(|a| constraint_of(used, a, info).is_ok() && aligned(a));
            if let Some(access) = fits {
                return Ok(cost::shared_ideal(program, access));
            }
        }
    }
    let options = candidates(cx, tensor, used, &[])?;
    Ok(options.usable.first().map_or(0.0, |c| c.cost))
}

/// Whether a pinned layout is one of the tensor: a mode for each dimension, no place taken twice, and none before the tensor's memory.
fn fits(program: &TileProgram, tensor: TensorId, pin: &ComposedLayout) -> Result<(), Failure> {
    let info = program.tensor(tensor);
    let extents: Vec<i64> = pin.layout.modes().iter().map(Layout::size).collect();
    let problem = if extents != info.shape {
        format!("its modes have the extents {extents:?}")
    } else if !pin.layout.is_injective().unwrap_or(false) {
        overlap(&pin.layout).unwrap_or_else(|| "it puts several elements in one place".to_string())
    } else if pin.offset + pin.layout.min_index() < 0 {
        below(pin)
    } else {
        return Ok(());
    };
    let message = format!(
        "the layout `{}` pinned to `{}` of shape {:?} does not fit: {problem}",
        pin.source_form(),
        info.name,
        info.shape
    );
    Err(Failure::new(FailureKind::Pin, message).part(None, Some(tensor), "pinned here"))
}

/// The coordinate of an element, one number for each mode of the layout.
fn coordinate(layout: &Layout, mut index: i64) -> Vec<i64> {
    let along = |mode: &Layout| {
        let at = index % mode.size();
        index /= mode.size();
        at
    };
    layout.modes().iter().map(along).collect()
}

/// The element that lies farthest before the first place.
fn below(pin: &ComposedLayout) -> String {
    let layout = &pin.layout;
    let at = |index: &i64| pin.offset + layout.eval(*index);
    let least = (0..layout.size()).min_by_key(at).unwrap_or(0);
    format!(
        "it puts the element {:?} at offset {} (in elements), before the memory of the tensor, which begins at 0: \
         strides may not be negative",
        coordinate(layout, least),
        at(&least)
    )
}

/// Two elements that a layout puts in one place.
fn overlap(layout: &Layout) -> Option<String> {
    let mut seen = HashMap::new();
    (0..layout.size()).find_map(|index| {
        let place = layout.eval(index);
        let other = seen.insert(place, index)?;
        let [first, second] = [other, index].map(|index| coordinate(layout, index));
        Some(format!("it puts the elements {first:?} and {second:?} both at offset {place} (in elements)"))
    })
}

/// Every instruction that can serve a use, and those that could but for their addresses.
///
/// # Errors
/// Where there is none for any layout of the tensor.
fn candidates(cx: &Cx<'_, '_>, tensor: TensorId, u: &Use<'_>, uses: &[Use<'_>]) -> Result<Options, Failure> {
    let (program, arch) = (cx.program(), cx.arch);
    let info = program.tensor(tensor);
    let dtype = info.dtype;
    let accesses = match &u.end {
        End::Register(tv) => {
            let (from, to) = ends(u);
            let rows = catalogue().copies_between(from, to, arch);
            let rows = rows.filter(|row| !cx.single || !row.is_collective());
            rows.flat_map(|row| row_accesses(cx.pool, u, tv, dtype, row).to_vec()).collect()
        }
        End::Global(view) => asynchronous::accesses(program, (u, view), uses, dtype, arch)?,
    };
    let mut options = Options::default();
    for access in accesses {
        let constraint = match constraint_of(u, &access, info) {
            Ok(constraint) => constraint,
            Err(why) => {
                options.barred.push(Barred { access, constraint: None, why });
                continue;
            }
        };
        if let Some(why) = start::bars(program, u, &access) {
            options.barred.push(Barred { access, constraint: Some(constraint), why });
            continue;
        }
        let mut cost = cost::shared_ideal(program, &access);
        if let End::Global(view) = &u.end {
            cost += cost::global(program, view, &access);
        }
        options.usable.push(Candidate { access, constraint, cost: cost * u.trips, places: OnceCell::new() });
    }
    // Equal costs keep the order of the catalogue.
    options.usable.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    options.barred.sort_by_key(|barred| std::cmp::Reverse(barred.access.run.width()));
    if options.usable.is_empty() && (options.barred.is_empty() || pin_of(program, tensor).is_none()) {
        return Err(no_candidate(cx, tensor, u, &options));
    }
    Ok(options)
}

/// No layout of the tensor lets an instruction make the copy.
fn no_candidate(cx: &Cx<'_, '_>, tensor: TensorId, u: &Use<'_>, options: &Options) -> Failure {
    let info = cx.program().tensor(tensor);
    let (name, dtype, arch) = (&info.name, info.dtype, cx.arch);
    let failure = |message| Failure::new(FailureKind::NoInstruction, message).at(u.op.id);
    let Some(Barred { access, why, .. }) = options.barred.last() else {
        return failure(format!(
            "no instruction of {arch} makes this copy of elements of type `{dtype}` in shared memory"
        ));
    };
    if let End::Global(_) = &u.end {
        let (known, width) = (start::widest(cx.program(), u, access.run.dim), access.run.width());
        let known = (!known.allows(width)).then(|| amount(known.elements, dtype));
        return asynchronous::unaligned(u.op.id, name, dtype, width, known.as_deref(), why);
    }
    let (what, place) = if u.reads { ("loads", "from") } else { ("stores", "to") };
    let message =
        format!("no instruction of {arch} {what} single elements of type `{dtype}` {place} shared memory");
    failure(message).help(parts_bytes(dtype, why)).help(by_way_of_bytes(dtype))
}

/// Where the elements of a use come from, and where they go.
fn ends(u: &Use<'_>) -> (Space, Space) {
    if u.reads { (Space::Shared, Space::Register) } else { (Space::Register, Space::Shared) }
}

/// The ways in which one instruction makes the copy.
fn row_accesses(pool: &Pool, u: &Use<'_>, tv: &Rc<Tv>, dtype: DType, row: &'static CopyRow) -> Rc<[Access]> {
    pool.accesses(tv, &u.shape, dtype, row, || made_accesses(&u.shape, tv, dtype, row))
}

fn made_accesses(shape: &[i64], tv: &Tv, dtype: DType, row: &'static CopyRow) -> Vec<Access> {
    let Some(atom) = row.atom(dtype) else { return vec![] };
    let mut out = Vec::new();
    if row.is_collective() {
        // Lanes that hold elements outside of the tensor have nothing to address.
        let exact = tv.is_exact(shape);
        out.extend(exact.then(|| collective::collective(tv, row, &atom)).flatten());
    } else {
        let dims = if atom.values == 1 { 0..1 } else { 0..tv.tile.len() };
        for dim in dims {
            let whole = atom.values == 1 || shape[dim] % atom.values == 0;
            out.extend(whole.then(|| vector::vector(tv, row, Run::plain(dim, atom.values))).flatten());
        }
        let own = Run::leading(tv, atom.values).filter(|run| is_packed(dtype) && !run.is_plain());
        let own = own.filter(|run| shape[run.dim] % atom.values == 0);
        out.extend(own.and_then(|run| vector::vector(tv, row, run)));
    }
    out.retain(|a| vector::fills_words(&a.values, &a.issue, dtype.bits(), a.row.bytes));
    out
}

/// What an access asks of the tensor: its elements lie one after the other, through the view.
///
/// # Errors
/// Why no layout can do that.
fn constraint_of(u: &Use<'_>, access: &Access, info: &Tensor) -> Result<Constraint, String> {
    let (mode, width) = (&u.view.modes[access.run.dim], access.run.width());
    if width > 1 && mode.factor.as_const() != Some(1) {
        return Err(format!(
            "the view of `{}` steps by `{}` in dimension {}",
            info.name, mode.factor, mode.dim
        ));
    }
    let run = Run { dim: mode.dim, steps: access.run.steps.clone() };
    Constraint::run(&info.shape, &run).ok_or_else(|| {
        let (name, extent) = (&info.name, info.shape[mode.dim]);
        format!("dimension {} of `{name}` has {extent} elements, no multiple of {width}", mode.dim)
    })
}

/// Indices of candidates, cheapest sum first.
fn combinations(options: &[Options]) -> Vec<Vec<usize>> {
    let mut all: Vec<(f64, Vec<usize>)> = vec![(0.0, Vec::new())];
    for Options { usable: candidates, .. } in options {
        let mut next: Vec<(f64, Vec<usize>)> = Vec::new();
        for (cost, chosen) in &all {
            for (i, c) in candidates.iter().enumerate() {
                next.push((cost + c.cost, chosen.iter().copied().chain([i]).collect()));
            }
        }
        next.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        // Single elements fit any layout: keep that way out whatever is cut off.
        let narrow = next
            .iter()
            .rev()
            .find(|(_, c)| c.iter().zip(options).all(|(i, o)| o.usable[*i].access.run.width() == 1))
            .cloned();
        next.truncate(BUDGET);
        next.extend(narrow);
        all = next;
    }
    all.into_iter().map(|(_, chosen)| chosen).collect()
}

/// The cheapest layout that meets the unified constraint; of those looked at before a cancellation.
fn place(
    cx: &Cx<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    chosen: &[&Candidate],
    constraint: Constraint,
) -> Option<Buffer> {
    let program = cx.program();
    let info = program.tensor(tensor);
    let bits = info.dtype.bits();
    let vector = chosen.iter().map(|c| c.access.run.width()).max().unwrap_or(1);
    let pin = pin_of(program, tensor);
    let layouts = match pin {
        Some(pin) => vec![pin.layout.clone()],
        None => {
            let sliced = |dim: usize| uses.iter().all(|u| u.view.modes.iter().all(|m| m.dim != dim));
            let indexed: Vec<bool> = (0..info.shape.len()).map(sliced).collect();
            // Pieces of a row that fill the banks once, or half of them, or twice.
            let line = i64::from(WAVEFRONT_BYTES * 8 / bits);
            let pad = vector.max(i64::from(32 / bits.min(32)));
            materialize::candidates(&constraint, &indexed, &[line, line / 2, line * 2], pad)
        }
    };
    let dense = (info.shape.iter().product::<i64>() * i64::from(bits) + 7) / 8;
    let mut best: Option<Buffer> = None;
    // Cycles without conflicts, which are the same for every layout.
    let mut least = None;
    for layout in layouts {
        if (cx.cancelled)() {
            break;
        }
        // Nothing is better than no conflicts in the places that the layout takes at least.
        let bytes = layout.cosize() * i64::from(bits) / 8;
        if best.as_ref().is_some_and(|b| least.is_some_and(|l| b.cost <= l) && i64::from(b.bytes) <= bytes) {
            continue;
        }
        let requests: Vec<(Requests, f64)> = uses
            .iter()
            .zip(chosen)
            .map(|(u, c)| {
                let places = c.places.get_or_init(|| places(program, u, &c.access));
                (Requests::new(places, &layout, bits), u.trips)
            })
            .collect();
        least.get_or_insert_with(|| {
            let cycles = |(c, (r, trips)): (&&Candidate, &(Requests, f64))| {
                trips * cost::shared(program, &c.access, r.ideal() as f64)
            };
            chosen.iter().zip(&requests).map(cycles).sum::<f64>()
        });
        let swizzle = pin.map_or_else(|| swizzle::best(&layout, &requests, vector, bits), |pin| pin.swizzle);
        let bytes = swizzle::footprint(&layout, swizzle) * i64::from(bits) / 8;
        let further_lines = |(u, (r, _)): (&Use<'_>, &(Requests, f64))| match u.end {
            End::Global(_) => r.further_lines(swizzle) as f64,
            End::Register(_) => 0.0,
        };
        let further: Vec<f64> = uses.iter().zip(&requests).map(further_lines).collect();
        let cycles = |((c, (r, trips)), further): ((&&Candidate, &(Requests, f64)), &f64)| {
            let wavefronts = r.count(swizzle).wavefronts as f64;
            trips * cost::shared(program, &c.access, wavefronts + hx_target::machine().further_line * further)
        };
        let cost: f64 = chosen.iter().zip(&requests).zip(&further).map(cycles).sum();
        let scattered = further.iter().any(|lines| *lines > 0.0);
        let better = best.as_ref().is_none_or(|b| (cost, bytes) < (b.cost, i64::from(b.bytes)));
        if better {
            let counted = chosen.iter().zip(&requests).zip(uses).map(|((c, (r, _)), u)| {
                (u.op.id, c.access.clone(), c.constraint.clone(), r.count(swizzle), String::new())
            });
            let accesses = counted.collect();
            let bytes = u32::try_from(bytes).ok()?;
            let block = swizzle::block(swizzle) * i64::from(bits) / 8;
            let block = u32::try_from(block).ok()?.max(1);
            let constraint = constraint.clone();
            best = Some(Buffer { layout, swizzle, bytes, block, constraint, accesses, cost });
        }
        // One without conflicts, scattered lines and gaps cannot be bettered.
        let done = |b: &Buffer| {
            !scattered
                && i64::from(b.bytes) <= dense
                && b.accesses.iter().all(|a| a.3.wavefronts == a.3.ideal)
        };
        if best.as_ref().is_some_and(done) {
            break;
        }
    }
    best
}

/// What the lanes of a use address; offsets that are known only at run time count as 0.
fn places(program: &TileProgram, u: &Use<'_>, access: &Access) -> Places {
    let (shape, view) = (&u.shape, &u.view);
    let offsets: Vec<i64> = view.offsets.iter().map(|o| o.as_const().unwrap_or(0)).collect();
    let factors: Vec<(usize, i64)> =
        view.modes.iter().map(|m| (m.dim, m.factor.as_const().unwrap_or(1))).collect();
    let place = |at: &[i64], out: &mut [i64]| {
        out[..offsets.len()].copy_from_slice(&offsets);
        for (c, (dim, factor)) in at.iter().zip(&factors) {
            out[*dim] += c * factor;
        }
        at.iter().zip(shape).all(|(c, extent)| c < extent)
    };
    Places::of(access, program.threads, u.reads, offsets.len(), &place)
}

/// One line for each access: why it is no wider.
fn explain(buffer: &mut Buffer, options: &[Options]) {
    for (i, Options { usable, barred }) in options.iter().enumerate() {
        let (_, access, constraint, _, _) = &buffer.accesses[i];
        let is_wider = |other: &Access| other.row.bytes > access.row.bytes;
        let wider = usable.iter().filter(|c| is_wider(&c.access));
        let fits = |asked: &Constraint| buffer.constraint.unify(asked).is_some();
        let excluded = wider.clone().find(|c| !fits(&c.constraint));
        let barred = || barred.iter().filter(|b| is_wider(&b.access));
        // The layout would do, so it is the address alone.
        let unaligned = barred().find(|b| b.constraint.as_ref().is_some_and(fits));
        let text = if let Some(Barred { access: other, why, .. }) = unaligned {
            format!("asks for `{constraint}`; not `{}`: {why}", other.row.name)
        } else if let Some(other) = excluded {
            format!(
                "`{}` would ask for `{}`, which `{}` excludes",
                other.access.row.name, other.constraint, buffer.constraint
            )
        } else if let Some(other) = wider.clone().next() {
            format!("asks for `{constraint}`; `{}` fits too and costs more", other.access.row.name)
        } else if let Some(Barred { access: other, why, .. }) = barred().next() {
            format!("asks for `{constraint}`; not `{}`: {why}", other.row.name)
        } else if access.row.access >= 16 {
            format!("asks for `{constraint}`; the widest access")
        } else {
            format!(
                "asks for `{constraint}`; each thread holds {} element{} in a row",
                access.run.width(),
                if access.run.width() == 1 { "" } else { "s" }
            )
        };
        buffer.accesses[i].4 = text;
    }
}

/// Each access with the least that it asks for: what all of its instructions can do without is no part of the conflict.
fn unsatisfied(program: &TileProgram, tensor: TensorId, uses: &[Use<'_>], options: &[Options]) -> Failure {
    let name = &program.tensor(tensor).name;
    let message = match pin_of(program, tensor) {
        Some(_) => format!("`{name}` is pinned to a layout that one of its accesses cannot use"),
        None => format!("no layout of the shared tensor `{name}` serves all of its accesses"),
    };
    let failure = Failure::new(FailureKind::Conflict, message);
    uses.iter().zip(options).fold(failure, |f, (u, options)| {
        let text = match options.least().filter(|access| access.run.width() > 1) {
            Some(Access { row, run, .. }) => format!(
                "moves at least {} B at once: {} neighbours along dimension {} of `{name}` have to lie side by side",
                row.access,
                run.width(),
                u.view.modes[run.dim].dim
            ),
            None => format!("this access of `{name}` takes part"),
        };
        f.part(Some(u.op.id), Some(tensor), text)
    })
}
