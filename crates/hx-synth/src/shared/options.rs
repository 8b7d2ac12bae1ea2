//! One shared tensor: which instructions its accesses use, and the layout that serves them all at least cost.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use hx_dtype::DType;
use hx_layout::{ComposedLayout, Layout, Swizzle};
use hx_target::{CopyRow, Space, catalogue};
use hx_tile::{Base, Conflicts, Op, OpId, Tensor, TensorId, TileProgram, View};

use super::conflicts::{Places, Sample};
use super::constraint::Constraint;
use super::joint::{Joints, joints};
use super::{asynchronous, pin_of, serve, start};
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
    pub(super) trips: f64,
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
    /// Uses that would have a wider access if there were no others.
    pub(crate) narrowed: Vec<OpId>,
    /// Choices of instructions, layouts and swizzles that were not looked at any more.
    pub(crate) left: u64,
}

/// One way for one use.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) access: Access,
    pub(super) constraint: Constraint,
    /// Cycles of all executions, without bank conflicts.
    pub(super) cost: f64,
    /// The part of them that global memory takes, of an asynchronous copy.
    pub(super) global: f64,
    /// Cycles of one execution without that part.
    pub(super) alone: f64,
    /// Made when first asked for.
    places: OnceCell<Places>,
    sample: OnceCell<Sample>,
}

impl Candidate {
    /// What the lanes of all its instructions address.
    pub(super) fn places(&self, program: &TileProgram, u: &Use<'_>) -> &Places {
        self.places.get_or_init(|| places(program, u, &self.access))
    }

    /// Some of them in place of all.
    pub(super) fn sample(&self, program: &TileProgram, u: &Use<'_>) -> &Sample {
        self.sample.get_or_init(|| self.places(program, u).sample())
    }
}

/// An instruction that could serve a use but for its addresses.
#[derive(Debug)]
struct Barred {
    access: Access,
    /// What it would ask of the tensor, if some layout could do that.
    constraint: Option<Constraint>,
    why: String,
}

/// The instructions for one use.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// Cheapest first.
    pub(super) usable: Vec<Candidate>,
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

/// What was found for a shared tensor.
#[derive(Debug)]
struct Asked {
    /// For each use its instructions.
    options: Vec<Options>,
    joints: Joints,
    /// The answer with the steps that it took, once there is one.
    answer: RefCell<Option<(Result<Buffer, Failure>, u64)>>,
    /// There is none of fewer cycles than these.
    more_than: Cell<f64>,
}

/// Answers for shared tensors. Programs that differ in redistributions ask for many of them again.
#[derive(Debug, Default)]
pub(crate) struct Known(Vec<(Question, Result<Rc<Asked>, Failure>)>);

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

/// Solves one shared tensor on its own: tensors that share no access do not interact. Nothing where it takes `limit` cycles or more.
///
/// # Errors
/// Where no layout serves all uses.
pub(crate) fn solve(
    cx: &Cx<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    limit: f64,
) -> Result<Option<Buffer>, Failure> {
    let asked = asked(cx, tensor, uses)?;
    let before = cx.steps.get();
    if let Some((answer, steps)) = &*asked.answer.borrow() {
        cx.steps.set(before + steps);
        return answer.clone().map(|buffer| Some(buffer).filter(|buffer| buffer.cost < limit));
    }
    if limit <= asked.more_than.get() {
        return Ok(None);
    }
    match solved(cx, tensor, uses, &asked, limit) {
        Err(failure) if failure.kind == FailureKind::Cancelled => Err(failure),
        Err(_) if limit.is_finite() => {
            asked.more_than.set(limit);
            Ok(None)
        }
        answer => {
            asked.answer.replace(Some((answer.clone(), cx.steps.get() - before)));
            answer.map(Some)
        }
    }
}

/// The least cycles that the uses of a shared tensor take, whatever its layout: without bank conflicts, but with instructions that can live
/// together.
///
/// # Errors
/// Where no instruction makes one of the copies.
pub(crate) fn least_cycles(cx: &Cx<'_, '_>, tensor: TensorId, uses: &[Use<'_>]) -> Result<f64, Failure> {
    let Asked { options, joints, .. } = &*asked(cx, tensor, uses)?;
    let least = joints.all.iter().map(|joint| joint.least).fold(f64::INFINITY, f64::min);
    let alone = |c: &Candidate| c.cost - c.global;
    let each = options.iter().map(|o| o.usable.iter().map(alone).fold(f64::INFINITY, f64::min)).sum();
    Ok(if pin_of(cx.program(), tensor).is_some() || joints.all.is_empty() { each } else { least })
}

/// The instructions that the uses of a shared tensor have, made once.
fn asked(cx: &Cx<'_, '_>, tensor: TensorId, uses: &[Use<'_>]) -> Result<Rc<Asked>, Failure> {
    let question = Question::of(cx, tensor, uses);
    if let Some((_, known)) = cx.pool.buffers.borrow().0.iter().find(|(q, _)| *q == question) {
        return known.clone();
    }
    let options = uses.iter().map(|u| candidates(cx, tensor, u, uses)).collect::<Result<Vec<_>, _>>();
    let asked = options.map(|options| {
        let joints = joints(&cx.program().tensor(tensor).shape, &options);
        Rc::new(Asked { options, joints, answer: RefCell::default(), more_than: Cell::new(0.0) })
    });
    cx.pool.buffers.borrow_mut().0.push((question, asked.clone()));
    asked
}

fn solved(
    cx: &Cx<'_, '_>,
    tensor: TensorId,
    uses: &[Use<'_>],
    asked: &Asked,
    limit: f64,
) -> Result<Buffer, Failure> {
    let (program, options) = (cx.program(), &asked.options);
    let best = match pin_of(program, tensor) {
        Some(pin) => {
            fits(program, tensor, pin)?;
            serve::pinned(cx, tensor, uses, options, pin)
        }
        None => serve::cheapest(cx, tensor, uses, options, &asked.joints, limit),
    };
    if (cx.cancelled)() {
        return Err(Failure::cancelled());
    }
    let mut buffer = best.ok_or_else(|| unsatisfied(program, tensor, uses, options))?;
    explain(&mut buffer, options);
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
                return Ok(cost::shared_ideal(program, access, &used.shape));
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
            let all: Vec<_> = rows.map(|row| row_accesses(cx.pool, u, tv, dtype, row)).collect();
            // Counted where they are kept, and not in each copy.
            all.iter().flat_map(|all| all.iter()).for_each(|a| {
                a.phases(program.threads, &u.shape);
            });
            all.iter().flat_map(|all| all.to_vec()).collect()
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
        let global = match &u.end {
            End::Global(view) => cost::global(program, view, &access) * u.trips,
            End::Register(_) => 0.0,
        };
        let alone = cost::shared_ideal(program, &access, &u.shape);
        let cost = alone * u.trips + global;
        let (places, sample) = (OnceCell::new(), OnceCell::new());
        options.usable.push(Candidate { access, constraint, cost, global, alone, places, sample });
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
        if unaligned.is_none() && excluded.is_some() {
            buffer.narrowed.push(buffer.accesses[i].0);
        }
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
