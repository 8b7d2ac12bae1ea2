//! Loads, copies and views: where padding begins, and where it moves to.

use hx_dtype::DType;
use hx_index::{Atom, Expr, Symbol};
use hx_tile::{Base, Constant, Op, OpId, Rows, TensorId, View};

use super::number::Number;
use super::region::{Region, along, axis_of, earlier};
use super::rings::Filled;
use super::tensor_state::{Edge, Form, Pad, TensorState};
use super::walk::Walk;

/// An edge of a view along dimension `dim` of its base: an element of the view exists if its coordinate is at least 0 and below
/// `end`.
pub(crate) struct Guard {
    dim: usize,
    /// The coordinate of an element of the view, and that of its first element.
    pub(crate) at: Expr,
    start: Expr,
    pub(crate) end: Expr,
    /// Whether the view names the end. Otherwise it is the end of the tensor.
    part: bool,
}

impl<'a> Walk<'a> {
    /// Follows a copy between a memory and registers, or between two memories.
    /// `stage` is the operation that acquired the stage of a pipeline that the copy fills.
    pub(crate) fn copy(&mut self, op: &'a Op, src: &View, dst: &View, stage: Option<OpId>) {
        match dst.base.tensor() {
            None => self.stored(op, src, dst, None),
            Some(_) => {
                let mut state = self.read(op, src);
                state.pads.iter_mut().for_each(|pad| pad.stage = stage);
                self.write(dst, state);
            }
        }
    }

    pub(crate) fn slice(&mut self, dst: TensorId, src: &View) {
        let Some(of) = src.base.tensor() else { return };
        let state = self.part(of, src);
        self.check_parts(&state, &src.shape());
        self.set(dst, state);
    }

    /// Returns the elements of a view, by the coordinates of its modes.
    pub(crate) fn read(&mut self, op: &'a Op, view: &View) -> TensorState {
        let mut state = match view.base {
            Base::Global(param) => match self.program.tensor_param(param) {
                Some(tensor) => self.beyond(op, view, tensor.dtype),
                None => TensorState::new(Number::any(DType::F32)),
            },
            Base::Register(tensor) | Base::Shared(tensor) => self.part(tensor, view),
        };
        self.picked(view, &mut state);
        state
    }

    /// Returns the elements of a view of global memory.
    fn beyond(&mut self, op: &'a Op, view: &View, dtype: DType) -> TensorState {
        let mut state = TensorState::new(Number::any(dtype));
        let shape = view.shape();
        self.ground.of_shape(&shape);
        let Base::Global(param) = view.base else { return state };
        let explicit =
            self.lowered.sources.view_call(op.origin, param).is_some_and(|call| call.pad.is_some());
        let value = Number::exact(dtype, dtype.encode(view.pad.value()));
        let value = if explicit || view.pad != Constant::ZERO { value.chosen() } else { value };
        let value =
            Number { padding: true, told: explicit, meant: explicit && view.pad == Constant::ZERO, ..value };
        for guard in self.guards(view) {
            let after = guard.at.clone() - guard.end.clone();
            let before = -guard.at.clone() - Expr::constant(1);
            for (region, is_before) in [(after, false), (before, true)] {
                // A part has no edge at its start: the view begins where its index says.
                if is_before && guard.part {
                    continue;
                }
                let Some(region) = self.edge(view, &guard, region, is_before) else { continue };
                let edge = Edge { load: op.id, param, dim: guard.dim, before: is_before, part: guard.part };
                state.add(Pad {
                    region,
                    value,
                    edge,
                    at: op.id,
                    certain: true,
                    mixed: None,
                    repeats: false,
                    carried: Default::default(),
                    ring: false,
                    stage: None,
                    aged: Default::default(),
                });
            }
        }
        state
    }

    /// Returns the ends of a view in global memory, along each dimension in which the view walks.
    pub(crate) fn guards(&self, view: &View) -> Vec<Guard> {
        let Base::Global(param) = view.base else { return Vec::new() };
        let Some(tensor) = self.program.tensor_param(param) else { return Vec::new() };
        let mut found = Vec::new();
        let plain = |e: &Expr| self.ground.plain(e);
        for (dim, (at, extent)) in coordinates(view).iter().zip(&tensor.shape).enumerate() {
            let (at, start) = (plain(at), plain(view.offsets.get(dim).unwrap_or(&Expr::default())));
            let guard =
                |end: &Expr, part| Guard { dim, at: at.clone(), start: start.clone(), end: plain(end), part };
            match view.rows().filter(|rows| rows.dim == dim) {
                Some(rows) => {
                    found.push(guard(&rows.extent, true));
                    found.extend(self.table(rows, dim, &at, &start));
                }
                None if view.is_picked(dim) => {}
                None => found.push(guard(extent, false)),
            }
            let ends = view.ends.iter().filter(|(of, _)| *of == dim && !view.is_picked(dim));
            found.extend(ends.map(|(_, end)| guard(end, true)));
        }
        found
    }

    /// Returns the ends of the index table that picks the rows of a view. The coordinates of these guards are those of the
    /// table.
    fn table(&self, rows: &Rows, dim: usize, at: &Expr, start: &Expr) -> Vec<Guard> {
        let Base::Global(param) = rows.base else { return Vec::new() };
        let Some(table) = self.program.tensor_param(param) else { return Vec::new() };
        let offset = self.ground.plain(rows.offsets.get(rows.along).unwrap_or(&Expr::default()));
        let within = |number: &Expr| offset.clone() + &rows.factor * number;
        let (at, start) = (within(at), within(start));
        let guard =
            |end: &Expr, part| Guard { dim, at: at.clone(), start: start.clone(), end: end.clone(), part };
        let own = table.shape.get(rows.along).map(|extent| guard(extent, false));
        let ends = rows.ends.iter().filter(|(of, _)| *of == rows.along).map(|(_, end)| guard(end, true));
        own.into_iter().chain(ends).collect()
    }

    /// Returns the region beyond an edge; `None` if no element of the view lies there, or if only data know whether one does.
    fn edge(&mut self, view: &View, guard: &Guard, beyond: Expr, before: bool) -> Option<Region> {
        let shape = view.shape();
        let start = guard.start.clone();
        let unknown = |symbol: &Symbol| matches!(symbol, Symbol::Scalar(_)) || self.ground.is_data(symbol);
        if !guard.part && start.symbols().iter().any(unknown) {
            return None;
        }
        let assigned = |symbol: &Symbol| {
            matches!(symbol, Symbol::Var(..)) && axis_of(symbol).is_none() && !self.is_counter(symbol)
        };
        if before && start.symbols().iter().any(assigned) {
            return None;
        }
        let region = Region(vec![beyond]);
        if self.ground.is_empty(&region, &shape) {
            return None;
        }
        // A tile that divides the dimension lies inside as a whole, or outside as a whole.
        let facts = &self.ground.facts;
        let whole = span(&guard.at, &shape)
            .is_some_and(|span| facts.divides(span, &start) && facts.divides(span, &guard.end));
        let region = match whole {
            true if before => Region(vec![-start - Expr::constant(1)]),
            true => Region(vec![start - guard.end.clone()]),
            false => region,
        };
        self.is_worth(&region).then_some(region)
    }

    /// Reports whether a region is worth following. A region that is all of a tile or nothing meets other elements only in the
    /// rounds of a loop. If data decide which of the two it is, the program is taken to be right.
    pub(crate) fn is_worth(&self, region: &Region) -> bool {
        if !region.axes().is_empty() {
            return true;
        }
        let symbols = region.symbols();
        let assigned = |symbol: &Symbol| matches!(symbol, Symbol::Var(..)) && !self.is_counter(symbol);
        symbols.iter().any(|symbol| self.is_counter(symbol))
            && !symbols.iter().any(|s| assigned(s) || matches!(s, Symbol::Scalar(_)))
    }

    /// Reports whether the symbol counts the rounds of a loop around.
    fn is_counter(&self, symbol: &Symbol) -> bool {
        self.ground.counters.iter().any(|(counter, _)| counter == symbol)
    }

    /// Adds the padding of elements that an index tensor picks: the index is padding itself.
    fn picked(&mut self, view: &View, state: &mut TensorState) {
        let dtype = state.data.dtype;
        for pick in view.picks() {
            let index = self.state_of(pick.index);
            state.carried.extend(index.carried.iter().copied());
            for pad in index.pads.iter().filter(|pad| pad.value.padding || pad.value.bits.is_some()) {
                let outside = self.is_outside(&pad.value, &pick.extent);
                let value = match outside {
                    true => Number::exact(dtype, dtype.encode(view.pad.value())),
                    false => Number::any(dtype),
                };
                let told = pad.value.told || !pad.value.padding;
                state.add(Pad { value: Number { padding: true, told, ..value }, ..pad.clone() });
            }
        }
    }

    /// Reports whether an index with this value picks no element.
    pub(crate) fn is_outside(&self, index: &Number, extent: &Expr) -> bool {
        let most = self.ground.facts.range(extent).1;
        index.high < 0.0 || most.is_some_and(|most| index.low >= most as f64)
    }

    /// Returns the state of the part of a register or shared tensor that a view shows.
    pub(crate) fn part(&mut self, tensor: TensorId, view: &View) -> TensorState {
        let state = self.state_of(tensor);
        if view.picked.is_some() {
            return TensorState { form: None, pads: Vec::new(), ..(*state).clone() };
        }
        let shape = self.shape(tensor);
        let state = match self.filled(view) {
            Some(filled) => self.of_stage(&state, &filled),
            None => (*state).clone(),
        };
        if is_whole(view, shape) {
            return state;
        }
        self.moved(&state, &coordinates(view), &view.shape())
    }

    /// Returns the elements of the stage that a wait returned: the copies of that stage wrote them, in the round of the wait.
    fn of_stage(&self, state: &TensorState, filled: &[Filled]) -> TensorState {
        let mut now = TensorState { pads: Vec::new(), ..state.clone() };
        for pad in &state.pads {
            let Some(stage) = pad.stage else {
                now.add(pad.clone());
                continue;
            };
            for filled in filled.iter().filter(|filled| filled.acquire == stage) {
                let round = |s: &Symbol| {
                    let own = filled.counters.iter().find(|(counter, _)| *s == earlier(counter));
                    own.map(|(_, now)| now.clone())
                };
                let region = pad.region.map(|e| e.substitute(&self.ground.facts, &round));
                let region = self.ground.reduced(&region).with(&filled.rounds);
                now.add(Pad { region, ring: false, stage: None, certain: true, ..pad.clone() });
            }
        }
        now
    }

    /// Returns elements under other coordinates: `map` has the old ones in terms of the new, for a tensor of this shape.
    pub(crate) fn moved(&mut self, state: &TensorState, map: &[Expr], shape: &[i64]) -> TensorState {
        self.ground.of_shape(shape);
        let mut moved = TensorState { form: None, pads: Vec::new(), ..state.clone() };
        let to = |s: &Symbol| axis_of(s).and_then(|axis| map.get(axis).cloned());
        moved.form = match &state.form {
            Some(Form::Integer(e)) => Some(Form::Integer(e.substitute(&self.ground.facts, &to))),
            Some(Form::Truth(_) | Form::Bit(_)) | None => None,
        };
        for pad in &state.pads {
            let region = self.through(&pad.region, map);
            if self.ground.is_empty(&region, shape) {
                continue;
            }
            let axes = region.axes();
            // This is a single element of a scan, which repeats the last element that exists: drop it.
            if pad.repeats && axes.is_empty() {
                continue;
            }
            moved.add(Pad { region, ..pad.clone() });
        }
        moved
    }

    /// Sets the elements of a view of a register or shared tensor.
    pub(crate) fn write(&mut self, view: &View, state: TensorState) {
        let Some(tensor) = view.base.tensor() else { return };
        let shape = self.shape(tensor);
        if is_whole(view, shape) {
            return self.set(tensor, state);
        }
        let (map, inside) = self.inverse(view, shape);
        let mut moved = self.moved(&state, &map, shape);
        for pad in &mut moved.pads {
            pad.region = pad.region.with(&inside);
        }
        let all: i64 = view.modes.iter().map(|mode| mode.extent).product();
        if all == shape.iter().product::<i64>() {
            return self.set(tensor, moved);
        }
        moved.form = None;
        for pad in &mut moved.pads {
            pad.ring = matches!(view.base, Base::Shared(_));
        }
        if let Some(old) = self.state.get(&tensor) {
            moved.data = moved.data.or(old.data);
            moved.carried.extend(old.carried.iter().copied());
            old.pads.iter().for_each(|pad| moved.add(pad.clone()));
        }
        self.set(tensor, moved);
    }

    /// Returns the coordinates in a view in terms of those of its base, and expressions that are at least 0 inside of the view.
    fn inverse(&mut self, view: &View, shape: &[i64]) -> (Vec<Expr>, Vec<Expr>) {
        self.ground.of_shape(shape);
        let facts = &self.ground.facts;
        let mut map = vec![Expr::default(); view.modes.len()];
        let mut inside = Vec::new();
        for (dim, &extent) in shape.iter().enumerate() {
            let offset = view.offsets.get(dim).cloned().unwrap_or_default();
            let at = Expr::symbol(along(dim)) - offset.clone();
            let mut own: Vec<(usize, i64)> = Vec::new();
            for (i, mode) in view.modes.iter().enumerate().filter(|(_, mode)| mode.dim == dim) {
                if mode.extent > 1 {
                    own.push((i, mode.factor.as_const().unwrap_or(1)));
                }
            }
            own.sort_by_key(|(_, factor)| std::cmp::Reverse(*factor));
            let mut rest = at.clone();
            for &(i, factor) in own.iter().filter(|(_, factor)| *factor > 0) {
                let by = Expr::constant(factor);
                map[i] = rest.div(&by, facts);
                rest = rest.rem(&by, facts);
            }
            let last: i64 = own.iter().map(|(i, factor)| factor * (view.modes[*i].extent - 1)).sum();
            if last + 1 < extent && offset.as_const().is_some() {
                inside.push(at.clone());
                inside.push(Expr::constant(last) - at);
            }
        }
        inside.retain(|e| !facts.proves_le(&Expr::default(), e));
        (map, inside)
    }
}

/// Returns the number of coordinates from the first one of a view to the last one; `None` if the coordinate does not grow along
/// each axis by a constant step.
fn span(at: &Expr, shape: &[i64]) -> Option<i64> {
    let region = Region(vec![at.clone()]);
    region.axes().into_iter().try_fold(1, |sum, axis| {
        let last = shape.get(axis)? - 1;
        let step = at.terms().find(|(monomial, _)| **monomial == [Atom::Symbol(along(axis))])?.1;
        (region.direction(axis)? > 0).then_some(sum + step.checked_mul(last)?)
    })
}

/// Returns the coordinates of the base in terms of those of the view.
pub(crate) fn coordinates(view: &View) -> Vec<Expr> {
    let own: Vec<Expr> = view
        .modes
        .iter()
        .enumerate()
        .map(|(i, mode)| if mode.extent == 1 { Expr::default() } else { Expr::symbol(along(i)) })
        .collect();
    (0..view.offsets.len()).map(|dim| view.coordinate(dim, &own)).collect()
}

/// Reports whether a view shows a tensor of this shape as it is.
fn is_whole(view: &View, shape: &[i64]) -> bool {
    let straight = |(i, mode): (usize, &hx_tile::ViewMode)| {
        mode.dim == i && shape.get(i) == Some(&mode.extent) && mode.factor.as_const() == Some(1)
            || mode.extent == 1 && shape.get(i) == Some(&1)
    };
    view.picked.is_none()
        && view.modes.len() == shape.len()
        && view.offsets.iter().all(Expr::is_zero)
        && view.modes.iter().enumerate().all(straight)
}
