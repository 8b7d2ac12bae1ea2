//! Follows a program's statements: branches, loops to a fixpoint, roles, and the integers that change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use hx_dtype::DType;
use hx_index::{Atom, CmpOp, Cond, Expr, Symbol};
use hx_lower::Lowered;
use hx_tile::{
    Base, Control, Leaf, Op, OpId, OpKind, PipeId, Role, Rounds, Stmt, SyncOp, TensorId, TileProgram, View,
};

use super::number::Number;
use super::region::{Ground, Region};
use super::rings::{Filled, Rings};
use super::tensor_state::{Edge, Pad, Replace, State, TensorState, change, join};
use super::{Followed, Mixture, PaddingConsumer};

/// The most passes over a loop. A pass beyond the second makes what is known of a symbol or of bounds coarser, so few are needed.
const PASSES: usize = 8;

/// The number of passes after which bounds that still grow are given up.
const GROWING: usize = 2;

/// A walk over a program.
pub(crate) struct Walk<'a> {
    pub(crate) program: &'a TileProgram,
    pub(crate) lowered: &'a Lowered,
    pub(crate) ground: Ground,
    pub(crate) state: State,
    found: BTreeMap<(OpId, PaddingConsumer, Edge), Mixture>,
    /// For each loop, by the address of its body, the state before it and the state after it in the last pass.
    known: HashMap<usize, (State, State)>,
    /// The number of loops around.
    depth: u32,
    /// The integers that are assigned to.
    assigned: BTreeSet<Symbol>,
    /// The copies that filled the stages of pipelines.
    rings: Rings,
    /// For each pipeline, the operation that acquired the stage that copies fill now.
    acquired: BTreeMap<PipeId, OpId>,
    /// For each number of a stage, the wait that returned it.
    waited: BTreeMap<Symbol, OpId>,
    /// The numbers that are read from global memory, by the place of the element.
    numbers: BTreeMap<(Base, Vec<Expr>), Symbol>,
}

impl<'a> Walk<'a> {
    /// Follows a program and returns the results that padding enters.
    pub(crate) fn run(lowered: &'a Lowered) -> Followed {
        let program = &lowered.program;
        let mut data = BTreeSet::new();
        // An integer may come from data by way of one that is assigned later in the text.
        while from_data(&program.body, &mut data) {}
        let mut walk = Walk {
            program,
            lowered,
            ground: Ground::new(program.facts.clone(), data),
            state: State::new(),
            found: BTreeMap::new(),
            known: HashMap::new(),
            depth: 0,
            assigned: BTreeSet::new(),
            rings: Rings::default(),
            acquired: BTreeMap::new(),
            waited: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        assigned(&program.body, &mut walk.assigned);
        dimensions(program, &mut walk);
        definitions(&program.body, &mut walk);
        // A part of a tensor does not end before it begins.
        for length in &lowered.sources.parts {
            let length = walk.ground.plain(length);
            walk.ground.state(&length);
        }
        walk.rings = Rings::of(program, &walk.ground);
        walk.body(&program.body);
        Followed { is_whole: walk.ground.is_decided(), mixtures: walk.found.into_values().collect() }
    }

    /// Records that padding enters a result.
    pub(crate) fn report(&mut self, op: OpId, consumer: PaddingConsumer, pad: &Pad, shape: &[i64]) {
        if !self.ground.is_decided() {
            return;
        }
        let mixture = Mixture {
            op,
            consumer,
            edge: pad.edge,
            value: pad.value,
            at: pad.at,
            region: pad.region.clone(),
            shape: shape.to_vec(),
        };
        self.found.entry((op, consumer, pad.edge)).or_insert(mixture);
    }

    pub(crate) fn shape(&self, tensor: TensorId) -> &'a [i64] {
        &self.program.tensor(tensor).shape
    }

    pub(crate) fn dtype(&self, tensor: TensorId) -> DType {
        self.program.tensor(tensor).dtype
    }

    /// Returns the elements of a tensor. Nothing is known of those that the program has not written.
    pub(crate) fn state_of(&self, tensor: TensorId) -> Rc<TensorState> {
        match self.state.get(&tensor) {
            Some(tensor_state) => tensor_state.clone(),
            None => Rc::new(TensorState::new(Number::any(self.dtype(tensor)))),
        }
    }

    pub(crate) fn set(&mut self, tensor: TensorId, tensor_state: TensorState) {
        self.state.insert(tensor, Rc::new(tensor_state));
    }

    fn body(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            // The budget of proofs is spent, so nothing more can be reported.
            if !self.ground.is_decided() {
                return;
            }
            match stmt {
                Stmt::Leaf(Leaf::Op(op)) => self.op(op),
                Stmt::Control(Control::If { cond, then, otherwise }) => self.branches(cond, then, otherwise),
                Stmt::Control(Control::For { var, rounds, body }) => self.rounds(var, rounds, body),
                Stmt::Control(Control::While { cond, body, .. }) => self.while_loop(cond, body),
                Stmt::Control(Control::Roles(roles)) => self.roles(roles),
                Stmt::Leaf(Leaf::Let { var, value }) => self.define(var, value),
                Stmt::Leaf(Leaf::LoadScalar { var, src, .. }) => self.load_number(var, src),
                Stmt::Leaf(Leaf::LetNumber { var, .. }) => self.replaced(var, None),
                Stmt::Leaf(Leaf::Assign { var, value }) => self.assign(var, value),
                Stmt::Leaf(Leaf::AssignNumber { var, .. }) => self.replaced(var, None),
            }
        }
    }

    fn op(&mut self, op: &'a Op) {
        match &op.kind {
            OpKind::Fill { dst, value } => {
                let dtype = self.dtype(*dst);
                self.set(*dst, TensorState::new(Number::exact(dtype, dtype.encode(value.value()))));
            }
            OpKind::Copy { src, dst } => self.copy(op, src, dst, None),
            OpKind::CopyAsync { src, dst, signal, .. } => {
                let stage = signal.and_then(|pipe| self.acquired.get(&pipe).copied());
                self.copy(op, src, dst, stage);
            }
            OpKind::Store { src, dst, adds } => self.store(op, src, dst, *adds),
            OpKind::Gemm { c, a, b, .. } => self.product(op, *c, a, b),
            OpKind::Cast { dst, src } => self.cast(op, *dst, *src),
            OpKind::Map(map) => self.map(op, map),
            OpKind::Rearrange { dst, src, .. } => {
                let tensor_state = self.state_of(*src);
                self.state.insert(*dst, tensor_state);
            }
            OpKind::Reduce { dst, src, axis, operator } => self.reduce(op, *dst, *src, *axis, *operator),
            OpKind::Slice { dst, src } => self.slice(*dst, src),
            OpKind::Insert { dst, src } => {
                let tensor_state = self.state_of(*src);
                self.write(dst, (*tensor_state).clone());
            }
            OpKind::Scan { dst, src, axis, op: operator, reverse } => {
                self.scan(op, (dst, src), (*axis, *reverse), operator);
            }
            OpKind::Atomic(atomic) => self.atomic(op, atomic),
            OpKind::ClusterSum { x, parts, axis, .. } => self.cluster_sum(op, *x, parts, *axis),
            OpKind::ReadNumber { var, src } => {
                self.read_number(*src);
                self.replaced(var, None);
            }
            OpKind::Sync(sync) => self.sync(op, sync),
            OpKind::Prefetch { .. } | OpKind::Print { .. } | OpKind::Assert { .. } => {}
        }
    }

    /// Follows the stages of pipelines.
    fn sync(&mut self, op: &'a Op, sync: &'a SyncOp) {
        if let SyncOp::Acquire { pipe, .. } = sync {
            self.acquired.insert(*pipe, op.id);
        } else if let SyncOp::WaitStage { var, .. } = sync {
            self.waited.insert(var.clone(), op.id);
        }
    }

    /// Returns the acquires that may have filled the stage that a view shows; `None` if no wait returned the stage, or they are
    /// not known.
    pub(crate) fn filled(&self, view: &View) -> Option<Vec<Filled>> {
        let symbols = view.offsets.iter().flat_map(Expr::symbols);
        let mut waits = symbols.filter_map(|symbol| self.waited.get(&symbol));
        self.rings.filled(*waits.next()?).map(<[Filled]>::to_vec)
    }

    fn branches(&mut self, cond: &Cond, then: &'a [Stmt], otherwise: &'a [Stmt]) {
        let cond = &self.ground.plain_cond(cond);
        let before = self.state.clone();
        let opposite = cond.clone().negate();
        self.under(cond, then);
        let one = std::mem::replace(&mut self.state, before);
        self.under(&opposite, otherwise);
        let two = std::mem::take(&mut self.state);
        let Walk { ground, program, .. } = self;
        let [held_one, held_two] = [cond, &opposite].map(|cond| {
            let stated = ground.holds(cond);
            ground.facts.forget(&stated);
            stated
        });
        // Reports whether a region is empty under the condition of a branch. The join then keeps padding certain that this
        // branch does not have.
        let mut empty = |first: bool, id: &TensorId, region: &Region| {
            let stated = ground.holds(if first { cond } else { &opposite });
            let empty = ground.is_empty(region, &program.tensor(*id).shape);
            ground.facts.forget(&stated);
            empty
        };
        self.state = join(&one, &two, [&held_one, &held_two], &mut empty);
    }

    /// Walks statements that run only under a condition, under which some padding does not exist.
    fn under(&mut self, cond: &Cond, stmts: &'a [Stmt]) {
        let stated = self.ground.holds(cond);
        if !stated.is_empty() {
            let symbols: BTreeSet<Symbol> = stated.iter().flat_map(Expr::symbols).collect();
            self.prune(&symbols);
        }
        self.body(stmts);
        self.ground.facts.forget(&stated);
    }

    /// Drops the padding that does not exist here, if its region mentions one of the symbols.
    fn prune(&mut self, symbols: &BTreeSet<Symbol>) {
        let Walk { ground, program, state, .. } = self;
        for (id, tensor_state) in state.iter_mut() {
            let shape = &program.tensor(*id).shape;
            let mut gone = |pad: &Pad| {
                let concerned = pad.region.symbols().iter().any(|symbol| symbols.contains(symbol));
                concerned && ground.is_empty(&pad.region, shape)
            };
            let keep: Vec<bool> = tensor_state.pads.iter().map(|pad| !gone(pad)).collect();
            if keep.contains(&false) {
                let tensor_state = Rc::make_mut(tensor_state);
                let mut kept = keep.into_iter();
                tensor_state.pads.retain(|_| kept.next() != Some(false));
            }
        }
    }

    fn rounds(&mut self, var: &Symbol, rounds: &Rounds, body: &'a [Stmt]) {
        let before = self.state.clone();
        let key = body.as_ptr() as usize;
        if let Some((known, after)) = self.known.get(&key)
            && *known == before
        {
            self.state = after.clone();
            return;
        }
        let first = match rounds {
            Rounds::Range { start, .. } => self.ground.plain(start),
            Rounds::Drawn { .. } => Expr::default(),
        };
        self.ground.counters.push((var.clone(), first));
        let mut bounds = Vec::new();
        let (runs, next) = match rounds {
            Rounds::Range { start, end, .. } => {
                let (start, end) = (self.ground.plain(start), self.ground.plain(end));
                // The facts of the program bound the counter by a quotient, such as the rounds of a persistent loop.
                bounds = self.ground.holds(&Cond::Cmp(CmpOp::Lt, Expr::symbol(var.clone()), end.clone()));
                let one = Expr::constant(1);
                let previous = Expr::symbol(var.clone()) - one.clone();
                let more = Cond::Cmp(CmpOp::Lt, Expr::symbol(var.clone()) + one, end.clone());
                (self.ground.facts.proves_lt(&start, &end), Some((previous, more)))
            }
            Rounds::Drawn { .. } => (false, None),
        };
        self.repeat(body, |_| Vec::new(), Some((var, next.as_ref())));
        self.ground.facts.forget(&bounds);
        self.ground.counters.pop();
        if !runs {
            self.state = join(&before, &self.state, [&[], &[]], &mut |_, _, _| false);
        }
        self.known.insert(key, (before, self.state.clone()));
    }

    /// Walks the body of a loop until nothing changes. `counter` is the loop's counter, with its value of the round before in terms
    /// of the value of this round, and with the condition that another round follows.
    fn repeat(
        &mut self,
        body: &'a [Stmt],
        begin: impl Fn(&mut Walk<'a>) -> Vec<Expr>,
        counter: Option<(&Symbol, Option<&(Expr, Cond)>)>,
    ) {
        let before = self.state.clone();
        let mut head = before.clone();
        self.depth += 1;
        for pass in 0..PASSES {
            self.state = head.clone();
            for (id, tensor_state) in &mut self.state {
                Rc::make_mut(tensor_state).carried.insert((self.depth, *id));
            }
            let stated = begin(self);
            self.body(body);
            self.ground.facts.forget(&stated);
            if let Some((counter, _)) = counter {
                self.mark(counter);
            }
            let last = self.state.clone();
            if let Some((counter, Some((_, more)))) = counter {
                let stated = self.ground.holds(more);
                let mut symbols: BTreeSet<Symbol> = stated.iter().flat_map(Expr::symbols).collect();
                symbols.insert(counter.clone());
                self.prune(&symbols);
                self.ground.facts.forget(&stated);
            }
            let mut back = std::mem::replace(&mut self.state, last);
            if let Some((counter, next)) = counter {
                self.substitute(&mut back, counter, next.map(|(previous, _)| previous));
            }
            self.left(&mut back);
            let mut next = join(&before, &back, [&[], &[]], &mut |_, _, _| false);
            if pass >= GROWING {
                widen(&head, &mut next);
            }
            if next == head {
                break;
            }
            head = next;
        }
        let mut after = std::mem::take(&mut self.state);
        if let Some((counter, _)) = counter {
            self.substitute(&mut after, counter, None);
        } else {
            after = join(&before, &after, [&[], &[]], &mut |_, _, _| false);
        }
        self.left(&mut after);
        self.state = after;
        self.depth -= 1;
    }

    /// Forgets which values depend on earlier rounds of the innermost loop.
    fn left(&self, state: &mut State) {
        let inner = |(depth, _): &(u32, TensorId)| *depth == self.depth;
        for tensor_state in state.values_mut() {
            if tensor_state.carried.iter().any(inner)
                || tensor_state.pads.iter().any(|pad| pad.carried.iter().any(inner))
            {
                let tensor_state = Rc::make_mut(tensor_state);
                tensor_state.carried.retain(|of| !inner(of));
                tensor_state.pads.iter_mut().for_each(|pad| pad.carried.retain(|of| !inner(of)));
            }
        }
    }

    /// Marks the padding of tensors that each round of a loop adds to: it lies elsewhere in every round, so it meets elements
    /// of other rounds.
    fn mark(&mut self, counter: &Symbol) {
        let depth = self.depth;
        for (id, tensor_state) in &mut self.state {
            let moves = |pad: &Pad| {
                pad.mixed.is_none()
                    && pad.value.padding
                    && pad.carried.contains(&(depth, *id))
                    && pad.region.mentions(counter)
            };
            if tensor_state.pads.iter().any(moves) {
                for pad in Rc::make_mut(tensor_state).pads.iter_mut().filter(|pad| moves(pad)) {
                    pad.mixed = Some((pad.at, PaddingConsumer::Rounds));
                }
            }
        }
    }

    fn roles(&mut self, roles: &'a [Role]) {
        let mut shared = self.state.clone();
        for _ in 0..PASSES {
            let mut all = shared.clone();
            for role in roles {
                self.state = shared.clone();
                self.body(&role.body);
                all = join(&all, &self.state, [&[], &[]], &mut |_, _, _| false);
            }
            if all == shared {
                break;
            }
            shared = all;
        }
        self.state = shared;
    }

    fn while_loop(&mut self, cond: &Cond, body: &'a [Stmt]) {
        let cond = self.ground.plain_cond(cond);
        self.repeat(body, |walk| walk.ground.holds(&cond), None);
    }

    /// Follows the definition of an integer. If neither the integer nor a symbol of its value is assigned later, expressions use the
    /// value.
    fn define(&mut self, var: &Symbol, value: &Expr) {
        let value = self.ground.plain(value);
        if self.is_fixed(var) && value.symbols().iter().all(|symbol| self.is_fixed(symbol)) {
            self.ground.defined.insert(var.clone(), value);
        } else {
            self.replaced(var, None);
        }
    }

    fn is_fixed(&self, symbol: &Symbol) -> bool {
        !self.assigned.contains(symbol)
    }

    /// Follows a number that is read from global memory. Two reads of one element that nothing writes give the same number.
    fn load_number(&mut self, var: &Symbol, src: &View) {
        self.replaced(var, None);
        let offsets: Vec<Expr> = src.offsets.iter().map(|offset| self.ground.plain(offset)).collect();
        let known = self.numbers.entry((src.base, offsets)).or_insert_with(|| var.clone()).clone();
        if known != *var {
            self.ground.defined.insert(var.clone(), Expr::symbol(known));
        }
    }

    fn assign(&mut self, var: &Symbol, value: &Expr) {
        // After `var = var + k`, the old value is `var - k`.
        let own = Expr::symbol(var.clone());
        let step = self.ground.plain(value) - own.clone();
        let old = (!step.mentions(var)).then(|| own - step);
        self.replaced(var, old.as_ref());
    }

    /// Follows a change of an integer. `old` is its value before the change, in terms of the new one.
    fn replaced(&mut self, var: &Symbol, old: Option<&Expr>) {
        if self.assigned.contains(var) {
            self.ground.facts.forget_symbol(var);
        }
        if self.depth > 0 {
            self.mark(var);
        }
        let mut state = std::mem::take(&mut self.state);
        self.substitute(&mut state, var, old);
        self.state = state;
    }

    fn substitute(&mut self, state: &mut State, symbol: &Symbol, now: Option<&Expr>) {
        self.ground.facts.like(super::region::earlier(symbol), symbol);
        let ground = &self.ground;
        let replace = Replace {
            symbol: &|e, now| e.substitute(&ground.facts, &|s| (s == symbol).then(|| now.clone())),
            same: &|region| ground.same_quotient(region),
        };
        change(state, symbol, now, &replace);
    }

    /// Returns a region with its coordinates replaced by expressions of others, one for each axis.
    pub(crate) fn through(&self, region: &Region, map: &[Expr]) -> Region {
        let to = |s: &Symbol| super::region::axis_of(s).and_then(|axis| map.get(axis).cloned());
        region.map(|e| e.substitute(&self.ground.facts, &to))
    }
}

/// Gives up the bounds that still grow from pass to pass.
fn widen(before: &State, now: &mut State) {
    for (id, tensor_state) in now {
        let Some(old) = before.get(id).filter(|old| old.data != tensor_state.data) else { continue };
        let any = Number::any(tensor_state.data.dtype);
        let tensor_state = Rc::make_mut(tensor_state);
        let low = if tensor_state.data.low < old.data.low { any.low } else { tensor_state.data.low };
        let high = if tensor_state.data.high > old.data.high { any.high } else { tensor_state.data.high };
        tensor_state.data = Number { low, high, ..tensor_state.data };
    }
}

/// Collects the integers that come from data. Returns whether there are more than before.
fn from_data(stmts: &[Stmt], out: &mut BTreeSet<Symbol>) -> bool {
    let mut more = false;
    for stmt in stmts {
        let found = match stmt {
            Stmt::Leaf(
                Leaf::LoadScalar { var, .. } | Leaf::LetNumber { var, .. } | Leaf::AssignNumber { var, .. },
            ) => Some(var),
            Stmt::Leaf(Leaf::Let { var, value } | Leaf::Assign { var, value }) => {
                value.symbols().iter().any(|symbol| out.contains(symbol)).then_some(var)
            }
            Stmt::Leaf(Leaf::Op(op)) => {
                if let OpKind::ReadNumber { var, .. } = &op.kind {
                    Some(var)
                } else {
                    None
                }
            }
            Stmt::Control(
                Control::For { .. } | Control::While { .. } | Control::If { .. } | Control::Roles(_),
            ) => None,
        };
        more |= found.is_some_and(|var| out.insert(var.clone()));
        for body in stmt.bodies() {
            more |= from_data(body, out);
        }
    }
    more
}

/// Collects the integers that are assigned to.
fn assigned(stmts: &[Stmt], out: &mut BTreeSet<Symbol>) {
    for stmt in stmts {
        if let Stmt::Leaf(Leaf::Assign { var, .. } | Leaf::AssignNumber { var, .. }) = stmt {
            out.insert(var.clone());
        }
        stmt.bodies().for_each(|body| assigned(body, out));
    }
}

/// States the dimensions that the header gives as quotients of others: `where b == cdiv(n, 64)`.
fn dimensions(program: &TileProgram, walk: &mut Walk<'_>) {
    for required in &program.requires {
        let Cond::Cmp(CmpOp::Eq, a, b) = &required.cond else { continue };
        for (one, other) in [(a, b), (b, a)] {
            let is_quotient = other.terms().any(|(monomial, _)| matches!(monomial[..], [Atom::Div(..)]));
            if let Some(Atom::Symbol(dim @ Symbol::Dim(_))) = one.as_atom()
                && is_quotient
                && !other.mentions(dim)
                && !walk.ground.defined.contains_key(dim)
            {
                let other = walk.ground.plain(other);
                walk.ground.defined.insert(dim.clone(), other);
            }
        }
    }
    if !walk.ground.defined.is_empty() {
        for (axis, blocks) in (0u8..).zip(&program.grid) {
            let last = walk.ground.plain(&blocks.blocks) - Expr::constant(1);
            walk.ground.facts.at_most(Symbol::BlockIdx(axis), last);
        }
    }
}

/// States the integers that never change, in the order of the text.
fn definitions(stmts: &[Stmt], walk: &mut Walk<'_>) {
    for stmt in stmts {
        if let Stmt::Leaf(Leaf::Let { var, value }) = stmt {
            walk.define(var, value);
        }
        stmt.bodies().for_each(|body| definitions(body, walk));
    }
}
