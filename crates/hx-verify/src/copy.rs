//! Checks copies: both sides of the instruction agree, addresses are contiguous and aligned, and no element is left out.

use std::collections::BTreeSet;

use hx_index::{Expr, Facts, Symbol, gcd};
use hx_target::{AtomicForm, CopyAtom};
use hx_tile::{
    Atomic, Base, CopyChoice, Op, SharedLayout, Tensor, TensorId, TensorParam, View, coordinate, index,
};

use crate::starts::starts;
use crate::{Check, Checked, RegisterLayout, Walk};

/// A copy with everything it refers to.
struct Copied<'c> {
    choice: &'c CopyChoice,
    atom: CopyAtom,
    lanes: i64,
    threads: i64,
    issues: i64,
}

impl Copied<'_> {
    /// Returns the index in the tile of value `value` at the address of `thread` in issue `issue`.
    fn addressed(&self, thread: i64, value: i64, issue: i64) -> i64 {
        let memory = &self.choice.memory;
        memory.eval(thread + self.threads * (value + self.atom.access * issue))
    }

    fn position(&self, value: i64, issue: i64) -> i64 {
        self.choice.register.eval(value + self.atom.values * issue)
    }
}

impl Check<'_> {
    /// Checks an atomic access. It accesses the elements that a copy would access.
    pub(crate) fn atomic(&self, op: &Op, atomic: &Atomic, choice: &CopyChoice) -> Checked {
        let row = choice.row.get();
        let Tensor { dtype, shape, .. } = self.program.tensor(atomic.value);
        let wanted = AtomicForm { op: atomic.op, dtype: *dtype, returns: atomic.old.is_some() };
        if row.atomic != Some(wanted) {
            return Err(format!("`{}` is no {} of elements of type `{dtype}`", row.name, atomic.op.name()));
        }
        let register = View::whole(Base::Register(atomic.value), shape);
        let ends = if atomic.is_load() { [&atomic.memory, &register] } else { [&register, &atomic.memory] };
        let beside = [atomic.old, atomic.compare].into_iter().flatten().collect();
        self.transferred(ends, beside, choice)?;
        if let Some(old) = atomic.old {
            self.returned(old, choice)?;
        }
        atomic.results().next().map_or(Ok(()), |result| self.spread(op, result, choice))
    }

    /// Checks that the access sets every value of `old` that a thread holds.
    fn returned(&self, old: TensorId, choice: &CopyChoice) -> Checked {
        let (layout, info) = (self.register_layout(old)?, self.program.tensor(old));
        let mut positions: Vec<i64> =
            (0..choice.companions[0].size()).map(|i| choice.companions[0].eval(i)).collect();
        positions.sort_unstable();
        positions.dedup();
        if positions.len() as i64 != layout.values {
            return Err(format!(
                "{} of {} values of `{}` are set",
                positions.len(),
                layout.values,
                info.name
            ));
        }
        Ok(())
    }

    /// Checks that shared memory is set aside for a result of which threads share elements, of at least the bytes of the result
    /// for each group of threads: there they get the element from the thread that makes the access.
    fn spread(&self, op: &Op, result: TensorId, choice: &CopyChoice) -> Checked {
        let (layout, info) = (self.register_layout(result)?, self.program.tensor(result));
        let mut seen = BTreeSet::new();
        let shares = (0..layout.threads).any(|thread| !seen.insert(layout.coordinate(thread, 0)));
        let bytes = i64::from(self.scope(op.scope).groups) * info.size() * i64::from(info.dtype.bits()) / 8;
        match &choice.spread {
            Some(scratch) if i64::from(scratch.bytes) >= bytes => Ok(()),
            None if !shares => Ok(()),
            _ => Err(format!("threads share elements of `{}`, with no memory to pass them on", info.name)),
        }
    }

    pub(crate) fn copy(&self, src: &View, dst: &View, choice: &CopyChoice) -> Checked {
        if choice.row.atomic.is_some() {
            return Err(format!("`{}` is atomic, where a copy moves", choice.row));
        }
        self.transferred([src, dst], Vec::new(), choice)
    }

    /// Checks one instruction between registers and a memory. `beside` are the tensors beside the one that is moved, before the
    /// indices of the memory's view.
    fn transferred(&self, [src, dst]: [&View; 2], mut beside: Vec<TensorId>, choice: &CopyChoice) -> Checked {
        let row = choice.row.get();
        let (memory, register) = match (src.register(), dst.register()) {
            (None, Some(register)) if row.is_load() => (src, register),
            (Some(register), None) if !row.is_load() => (dst, register),
            _ => return Err(format!("`{}` moves the other way", row.name)),
        };
        if row.memory_space() != memory.base.space() || !choice.row.is_of(&self.program.target.rows().copies)
        {
            return Err(format!("`{}` cannot reach this memory on {}", row.name, self.program.target));
        }
        let dtype = self.program.tensor(register).dtype;
        let atom =
            row.atom(dtype).ok_or_else(|| format!("`{}` moves no elements of type `{dtype}`", row.name))?;
        beside.extend(memory.picks().iter().map(|pick| pick.index));
        let layout = self.register_layout(register)?;
        if layout.distribution.tile != choice.tile {
            return Err(format!(
                "the copy covers {:?}, its tensor {:?}",
                choice.tile, layout.distribution.tile
            ));
        }
        let threads = layout.threads;
        let issues = choice.memory.size() / (threads * atom.access);
        let sizes = choice.memory.mode(0).size() == threads && choice.memory.mode(1).size() == atom.access;
        if !sizes || choice.register.size() != atom.values * issues || layout.values != atom.values * issues {
            return Err("the modes do not count threads, values and issues".into());
        }
        let copied = Copied { choice, atom, lanes: i64::from(row.threads), threads, issues };
        self.exchange(&copied, &layout, register)?;
        self.every_position_once(&copied, layout.values)?;
        self.accompanied(&copied, &layout, &beside)?;
        if !memory.picks().is_empty() && (copied.atom.access != 1 || row.is_collective()) {
            return Err(format!("`{}` moves several elements at an address that is picked", row.name));
        }
        match memory.base {
            Base::Global(_) => self.global_access(&copied, memory, &self.program.tensor(register).shape),
            Base::Shared(_) => self.shared_access(&copied, memory, &self.program.tensor(register).shape),
            Base::Register(_) => Err("registers have no address".into()),
        }
    }

    /// Checks that each thread finds, beside each element that it moves, the same element of the tensors `beside`.
    fn accompanied(&self, c: &Copied<'_>, layout: &RegisterLayout<'_>, beside: &[TensorId]) -> Checked {
        if c.choice.companions.len() != beside.len() {
            return Err(format!("{} tensors, and positions for {}", beside.len(), c.choice.companions.len()));
        }
        for (tensor, positions) in beside.iter().zip(&c.choice.companions) {
            let (other, name) = (self.register_layout(*tensor)?, &self.program.tensor(*tensor).name);
            if positions.size() != c.issues || c.atom.values != 1 || other.threads != c.threads {
                return Err(format!("{} positions of `{name}` for {} values", positions.size(), c.issues));
            }
            for thread in 0..c.threads {
                for issue in 0..c.issues {
                    let moved = layout.coordinate(thread, c.position(0, issue));
                    let position = positions.eval(issue);
                    let found = position < other.values && other.coordinate(thread, position) == moved;
                    let outside = !within(&moved, &self.program.tensor(*tensor).shape);
                    if !found && !outside {
                        return Err(format!(
                            "thread {thread} does not find {moved:?} of `{name}` at position {position}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks `f ∘ p⁻¹ = g ∘ q⁻¹` (Hexcute, CGO 2026): each element of the instruction's tile is the same element of the tensor
    /// on both sides.
    fn exchange(&self, c: &Copied<'_>, layout: &RegisterLayout<'_>, register: TensorId) -> Checked {
        if c.threads % c.lanes != 0 {
            return Err(format!(
                "{} threads are not a multiple of the {} that execute it together",
                c.threads, c.lanes
            ));
        }
        // For each element of the instruction, the element of the tensor at its address.
        let mut addressed: Vec<Option<i64>> = vec![None; c.atom.memory.cosize() as usize];
        for issue in 0..c.issues {
            (self.poll)();
            for first in (0..c.threads).step_by(c.lanes as usize) {
                addressed.fill(None);
                for lane in 0..c.lanes {
                    for value in 0..c.atom.access {
                        let element = c.atom.memory.eval(lane + c.lanes * value);
                        let at = c.addressed(first + lane, value, issue);
                        let slot = addressed.get_mut(element as usize);
                        let slot = slot.ok_or("an element past those of the instruction")?;
                        if *slot.get_or_insert(at) != at {
                            return Err(format!("lanes disagree on element {element} of the instruction"));
                        }
                    }
                }
                for lane in 0..c.lanes {
                    for value in 0..c.atom.values {
                        let element = c.atom.register.eval(lane + c.lanes * value);
                        let held_at = layout.index(first + lane, c.position(value, issue));
                        if addressed.get(element as usize).copied().flatten() != Some(held_at) {
                            let at = coordinate(held_at, &c.choice.tile);
                            let name = &self.program.tensor(register).name;
                            return Err(format!(
                                "thread {} does not get element {at:?} of `{name}`",
                                first + lane
                            ));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that every element of the tile is moved, from an aligned address to an aligned address.
    pub(crate) fn copy_async(&self, op: &Op, src: &View, dst: &View, choice: &CopyChoice) -> Checked {
        let row = choice.row.get();
        let Base::Shared(tensor) = dst.base else {
            return Err("the destination is not shared memory".into());
        };
        let dtype = self.program.tensor(tensor).dtype;
        let atom =
            row.atom(dtype).ok_or_else(|| format!("`{}` moves no elements of type `{dtype}`", row.name))?;
        let threads = self.threads_of(op);
        let issues = choice.memory.size() / (threads * atom.access);
        if choice.memory.mode(0).size() != threads || choice.memory.mode(1).size() != atom.access {
            return Err("the modes do not count threads, values and issues".into());
        }
        let shape = src.shape();
        let copied = Copied { choice, atom, lanes: 1, threads, issues };
        let mut moved = vec![false; shape.iter().product::<i64>() as usize];
        // Of the threads that a mode of stride 0 sends to the same elements, only the lowest copies.
        let copies = |thread: i64| {
            let mut rest = thread;
            choice.memory.mode(0).leaves().iter().all(|(extent, stride)| {
                let digit = rest % extent;
                rest /= extent;
                *stride != 0 || digit == 0
            })
        };
        let copies: Vec<bool> = (0..threads).map(copies).collect();
        for i in (0..choice.memory.size()).filter(|i| copies[(i % threads) as usize]) {
            let at = coordinate(choice.memory.eval(i), &choice.tile);
            if within(&at, &shape) && std::mem::replace(&mut moved[index(&at, &shape) as usize], true) {
                return Err(format!("element {at:?} of the tile is copied twice"));
            }
        }
        if let Some(i) = moved.iter().position(|m| !m) {
            return Err(format!("element {:?} of the tile is not copied", coordinate(i as i64, &shape)));
        }
        self.global_access(&copied, src, &shape)?;
        self.shared_access(&copied, dst, &shape)
    }

    fn every_position_once(&self, c: &Copied<'_>, values: i64) -> Checked {
        let mut seen = vec![false; values as usize];
        for i in 0..c.choice.register.size() {
            let position = c.choice.register.eval(i);
            let slot = seen.get_mut(position as usize).ok_or("a position past the last value is moved")?;
            if std::mem::replace(slot, true) {
                return Err(format!("position {position} is moved twice"));
            }
        }
        Ok(())
    }

    /// Checks that the offsets at one address are contiguous and start at a multiple of the access, for every thread and
    /// issue, wherever the view may start.
    fn shared_access(&self, c: &Copied<'_>, view: &View, shape: &[i64]) -> Checked {
        let Base::Shared(tensor) = view.base else { return Err("not a shared tensor".into()) };
        let (info, place) =
            (self.program.tensor(tensor), self.solution.shared.get(&tensor).ok_or("no shared layout")?);
        if u64::from(place.offset) * 8 % (u64::from(info.dtype.bits()) * c.atom.access as u64) != 0 {
            return Err(format!(
                "`{}` starts at byte {}, which its accesses do not divide",
                info.name, place.offset
            ));
        }
        let constant = view.offsets.iter().all(|offset| offset.as_const().is_some());
        let starts = starts(&self.program.facts, view, &info.shape, place, c.atom.access);
        if constant && starts.is_empty() {
            return Err(format!("the view leaves `{}`", info.name));
        }
        for start in starts {
            let walk = Walk { start, ..Walk::of(view) };
            self.shared_access_from(c, &walk, (info, place), shape).map_err(|message| {
                if constant {
                    return message;
                }
                format!("{message}, where the view starts at {:?}", walk.start)
            })?;
        }
        Ok(())
    }

    fn shared_access_from(
        &self,
        c: &Copied<'_>,
        walk: &Walk,
        (info, place): (&Tensor, &SharedLayout),
        shape: &[i64],
    ) -> Checked {
        let offset = |i: i64| -> Option<i64> {
            let at = coordinate(i, &c.choice.tile);
            let at = within(&at, shape).then(|| walk.coordinate(&at))?;
            Some(place.swizzle.apply(place.layout.eval(index(&at, &info.shape))))
        };
        for issue in 0..c.issues {
            (self.poll)();
            for thread in 0..c.threads {
                let first = offset(c.addressed(thread, 0, issue));
                if let Some(first) = first.filter(|f| f % c.atom.access != 0) {
                    return Err(format!(
                        "thread {thread} accesses `{}` at element {first}, no multiple of {}",
                        info.name, c.atom.access
                    ));
                }
                for value in 1..c.atom.access {
                    let next = offset(c.addressed(thread, value, issue));
                    if next != first.map(|f| f + value) {
                        return Err(torn(thread, value, [first, next]));
                    }
                }
                if first.is_none() && c.lanes > 1 {
                    return Err(format!(
                        "thread {thread} has no address in a collective access of `{}`",
                        info.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that the values at one address are neighbours along a dimension of stride 1, and that every step between
    /// addresses is a multiple of the access.
    fn global_access(&self, c: &Copied<'_>, view: &View, shape: &[i64]) -> Checked {
        let Base::Global(id) = view.base else { return Err("not a global tensor".into()) };
        let param = self.program.tensor_param(id).ok_or("not a tensor parameter")?;
        let width = c.atom.access;
        if param.block.is_some() {
            return self.access_in_blocks(c, view, param, shape);
        }
        let strides: Vec<Expr> = view.modes.iter().map(|m| &m.factor * &param.stride[m.dim]).collect();
        let facts = &self.program.facts;
        if i64::from(param.align) * 8 % (width * i64::from(param.dtype.bits())) != 0 {
            return Err(format!("`{}` is aligned to {} B only", param.name, param.align));
        }
        begins_aligned(facts, view, param, width)?;
        let picked = |dim: usize| view.is_picked(dim);
        // For each dimension, the greatest common divisor of the coordinates of all addresses.
        let mut common = vec![0; c.choice.tile.len()];
        // Pairs of an element's number and its steps that are already checked: most accesses have the same.
        let mut right: BTreeSet<(i64, Vec<i64>)> = BTreeSet::new();
        for issue in 0..c.issues {
            (self.poll)();
            for thread in 0..c.threads {
                let at = coordinate(c.addressed(thread, 0, issue), &c.choice.tile);
                let ends = coordinate(c.addressed(thread, width - 1, issue), &c.choice.tile);
                if !within(&at, shape) && !within(&ends, shape) {
                    // Both ends are outside of the tensor, so the thread accesses nothing.
                    continue;
                }
                common.iter_mut().zip(&at).for_each(|(g, x)| *g = gcd(*g, *x));
                for value in 1..width {
                    let next = coordinate(c.addressed(thread, value, issue), &c.choice.tile);
                    let rows = view.modes.iter().zip(next.iter().zip(&at));
                    if rows.into_iter().any(|(m, (n, a))| picked(m.dim) && n != a) {
                        return Err(format!(
                            "element {value} of an access is in another row that was picked"
                        ));
                    }
                    let steps: Vec<i64> = next.iter().zip(&at).map(|(n, a)| n - a).collect();
                    let walked = (value, steps);
                    if !right.contains(&walked) {
                        let steps = walked.1.iter().zip(&strides);
                        let distance = steps.fold(Expr::default(), |sum, (n, s)| sum + s.scale(*n));
                        if distance.as_const() != Some(value) {
                            return Err(format!("element {value} of an access is {distance} elements away"));
                        }
                        right.insert(walked);
                    }
                    if within(&at, shape) != within(&next, shape) {
                        return Err(format!("an access at {at:?} runs over the edge of the tile"));
                    }
                }
            }
        }
        steps_aligned(facts, view, param, &strides, &common, width)
    }
}

/// Checks that a view begins at a multiple of the access along each dimension.
fn begins_aligned(facts: &Facts, view: &View, param: &TensorParam, width: i64) -> Checked {
    let picked = |dim: usize| view.is_picked(dim);
    for (dim, (offset, stride)) in view.offsets.iter().zip(&param.stride).enumerate() {
        // The table may select any row.
        if picked(dim) && !facts.divides(width, stride) {
            return Err(format!("rows `{stride}` apart are not known to be multiples of {width}"));
        }
        if !picked(dim) && !facts.divides(width, &(offset * stride)) {
            return Err(format!(
                "the view starts at `{offset}`, which is not known to be a multiple of {width}"
            ));
        }
    }
    Ok(())
}

/// Checks that addresses whose coordinates are multiples of `common` apart, one number for each mode of the view, are multiples
/// of `width` elements apart, and that no access runs over the edge of the tensor.
fn steps_aligned(
    facts: &Facts,
    view: &View,
    param: &TensorParam,
    strides: &[Expr],
    common: &[i64],
    width: i64,
) -> Checked {
    for ((g, stride), mode) in common.iter().zip(strides).zip(&view.modes) {
        if !facts.divides(width, &stride.scale(*g)) {
            return Err(format!(
                "addresses {g} apart along `{stride}` are not known to be multiples of {width}"
            ));
        }
        let last: Vec<Expr> = view.modes.iter().map(|m| Expr::constant(m.extent - 1)).collect();
        let unit = stride.as_const() == Some(1);
        let own = view.ends.iter().filter(|(dim, _)| *dim == mode.dim).map(|(_, end)| end);
        for extent in std::iter::once(&param.shape[mode.dim]).chain(own) {
            let provably_inside = facts.proves_lt(&view.coordinate(mode.dim, &last), extent);
            if unit && !provably_inside && !facts.divides(width, extent) {
                return Err(format!("an access may run over the edge `{extent}` of `{}`", param.name));
            }
        }
    }
    Ok(())
}

impl Check<'_> {
    /// As `global_access`, for a tensor whose elements lie in blocks. The tensor is taken to have three blocks along each
    /// dimension, and the tile to start anywhere in a block that the facts allow. Every address must be a multiple of the
    /// access, and its values contiguous.
    fn access_in_blocks(&self, c: &Copied<'_>, view: &View, param: &TensorParam, shape: &[i64]) -> Checked {
        let Some(block) = &param.block else { return Err("no blocks".into()) };
        let (width, facts) = (c.atom.access, &self.program.facts);
        if i64::from(param.align) * 8 % (width * i64::from(param.dtype.bits())) != 0 {
            return Err(format!("`{}` is aligned to {} B only", param.name, param.align));
        }
        let sizes: Vec<i64> = block.modes().iter().map(hx_layout::Layout::size).collect();
        let counted = (
            TensorParam { shape: sizes.iter().map(|s| Expr::constant(3 * s)).collect(), ..param.clone() },
            Facts::default(),
        );
        // A start may be any multiple of its divisor. Whole blocks change nothing but the block's number, so starts within
        // one block suffice.
        let steps: Vec<i64> =
            view.offsets.iter().zip(&sizes).map(|(o, size)| gcd(facts.divisor(o), *size).max(1)).collect();
        let mut starts = vec![vec![]];
        for (step, size) in steps.iter().zip(&sizes) {
            let along = |start: &Vec<i64>| {
                let start = start.clone();
                (0..size / step).map(move |i| start.iter().copied().chain([i * step]).collect::<Vec<i64>>())
            };
            starts = starts.iter().flat_map(along).collect();
        }
        let place = |start: &[i64], i: i64| -> Option<i64> {
            let at = coordinate(i, &c.choice.tile);
            if !within(&at, shape) {
                return None;
            }
            let at: Vec<Expr> = at.into_iter().map(Expr::constant).collect();
            let own = View { offsets: start.iter().map(|s| Expr::constant(*s)).collect(), ..view.clone() };
            let at: Vec<Expr> = (0..start.len()).map(|d| own.coordinate(d, &at)).collect();
            counted.0.offset(&at, &counted.1).eval(&|_: &Symbol| Some(0)).ok()
        };
        for start in &starts {
            (self.poll)();
            for i in 0..c.issues * c.threads {
                let (thread, issue) = (i % c.threads, i / c.threads);
                let first = place(start, c.addressed(thread, 0, issue));
                if let Some(first) = first.filter(|f| f % width != 0) {
                    return Err(format!("thread {thread} accesses element {first}, no multiple of {width}"));
                }
                for value in 1..width {
                    let next = place(start, c.addressed(thread, value, issue));
                    if next != first.map(|f| f + value) {
                        return Err(torn(thread, value, [first, next]));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Formats the error that an element of an access does not follow the first.
fn torn(thread: i64, value: i64, places: [Option<i64>; 2]) -> String {
    let text = |place: Option<i64>| place.map_or("outside of the tile".to_owned(), |at| format!("at {at}"));
    let [first, next] = places.map(text);
    format!("thread {thread} finds element {value} of its access {next}, and the first {first}")
}

fn within(at: &[i64], shape: &[i64]) -> bool {
    at.iter().zip(shape).all(|(c, extent)| c < extent)
}
