//! The state of the analysis: the elements that each tensor is known to hold, and the join of the states of two paths.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hx_index::{Cond, Expr, Symbol};
use hx_tile::{OpId, ParamId, TensorId, TileProgram};

use super::PaddingConsumer;
use super::number::Number;
use super::region::{Region, earlier};

/// The most kinds of padding that a tensor has. A tile of an unrolled loop may have one of each round.
const MOST: usize = 64;

/// The edge behind which padding lies: dimension `dim` of a parameter, in the view that an operation reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge {
    pub load: OpId,
    pub param: ParamId,
    pub dim: usize,
    /// Whether the elements lie before the start and not beyond the end.
    pub before: bool,
    /// Whether the part of the tensor that the view shows ends there, and not the tensor.
    pub part: bool,
}

impl Edge {
    /// Says where the padding lies: ``beyond the end of `x` ``.
    pub(crate) fn place(&self, program: &TileProgram) -> String {
        let name = program.tensor_param(self.param).map_or("the tensor", |tensor| tensor.name.as_str());
        let side = if self.before { "before the start" } else { "beyond the end" };
        let part = if self.part { "the part of " } else { "" };
        format!("{side} of {part}`{name}`")
    }
}

/// Elements of a tile that lie beyond an edge of its tensor, with what is known of their value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pad {
    pub(crate) region: Region,
    pub(crate) value: Number,
    pub(crate) edge: Edge,
    /// The operation that gave the elements this value.
    pub(crate) at: OpId,
    /// Whether the elements have this value on every path.
    pub(crate) certain: bool,
    /// The operation that combined elements of the tensor with the padding, which is no neutral element; `None` if none has.
    pub(crate) mixed: Option<(OpId, PaddingConsumer)>,
    /// Whether each element repeats one of the tensor, as the sums behind the last element of a scan do.
    pub(crate) repeats: bool,
    /// As [`TensorState::carried`], for these elements.
    pub(crate) carried: Carried,
    /// Whether the tensor has other elements of the same coordinates: stages of a ring, of which the coordinate is not followed.
    pub(crate) ring: bool,
    /// The operation that acquired the stage of a pipeline in which the elements are; `None` if they are in no stage that
    /// copies fill.
    pub(crate) stage: Option<OpId>,
    /// The counters and variables whose value before their last change the region mentions.
    pub(crate) aged: BTreeSet<Symbol>,
}

/// Tensors whose values of an earlier round took part, each with the depth of the loop.
pub(crate) type Carried = BTreeSet<(u32, TensorId)>;

/// The elements of a tensor of integers or truth values, by their coordinates.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Form {
    Integer(Expr),
    Truth(Cond),
    /// 1 where a condition holds, and 0 elsewhere.
    Bit(Cond),
}

/// The state of a tensor in the analysis: the values that its elements may have, and its padding.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TensorState {
    /// The values that the elements may have that are no padding.
    pub(crate) data: Number,
    pub(crate) form: Option<Form>,
    pub(crate) pads: Vec<Pad>,
    /// The tensors whose values of the round before took part, each with the depth of its loop.
    pub(crate) carried: Carried,
}

/// The tensors that have been written.
pub(crate) type State = BTreeMap<TensorId, Rc<TensorState>>;

impl TensorState {
    pub(crate) fn new(data: Number) -> TensorState {
        TensorState { data, form: None, pads: Vec::new(), carried: BTreeSet::new() }
    }

    /// Adds padding. Padding like it ([`Pad::is_like`]) is merged with it; a kind beyond [`MOST`] is dropped.
    pub(crate) fn add(&mut self, pad: Pad) {
        let more = self.pads.len() < MOST;
        match self.pads.iter_mut().find(|known| known.is_like(&pad)) {
            Some(known) => {
                known.certain &= pad.certain;
                known.carried.extend(pad.carried);
                known.aged.extend(pad.aged);
            }
            None if more => self.pads.push(pad),
            None => {}
        }
    }

    /// Joins the elements that two paths leave. `paths` are expressions that are at least 0 on the path of `self` and of `other`.
    /// `empty` reports whether a region is empty on the first path, or on the second.
    fn join(
        &self,
        other: &TensorState,
        paths: [&[Expr]; 2],
        empty: &mut dyn FnMut(bool, &Region) -> bool,
    ) -> TensorState {
        let mut joined = TensorState {
            data: self.data.or(other.data),
            form: self.form.clone().filter(|form| other.form.as_ref() == Some(form)),
            pads: Vec::new(),
            carried: self.carried.union(&other.carried).copied().collect(),
        };
        for (one, two, first) in [(self, other, true), (other, self, false)] {
            let path = paths[usize::from(!first)];
            for pad in &one.pads {
                let both = two.pads.iter().find(|known| known.is_like(pad));
                let certain = match both {
                    Some(known) => known.certain,
                    None => {
                        two.data.bits.is_some() && two.data.bits == pad.value.bits
                            || empty(!first, &pad.region)
                    }
                };
                let region = if both.is_some() { pad.region.clone() } else { pad.region.with(path) };
                joined.add(Pad { certain: pad.certain && certain, region, ..pad.clone() });
            }
        }
        joined
    }

    /// Replaces a symbol whose value changes. `now` is the old value in terms of the new one. Without it, and in padding that
    /// holds an older value already, an unknown earlier value takes the place of the symbol.
    fn changed(&self, symbol: &Symbol, now: Option<&Expr>, replace: &Replace<'_>) -> TensorState {
        let form = match &self.form {
            Some(Form::Integer(e)) if e.mentions(symbol) => None,
            Some(Form::Truth(cond) | Form::Bit(cond)) if cond.symbols().contains(symbol) => None,
            form => form.clone(),
        };
        let mut tensor_state = TensorState { form, pads: Vec::new(), ..self.clone() };
        for pad in &self.pads {
            if !pad.region.mentions(symbol) {
                tensor_state.add(pad.clone());
                continue;
            }
            let gone = Expr::symbol(earlier(symbol));
            let known = now.filter(|_| !pad.ring && !pad.aged.contains(symbol));
            let region = pad.region.map(|e| (replace.symbol)(e, known.unwrap_or(&gone)));
            if let Some(region) = known.and_then(|_| (replace.same)(&region)) {
                tensor_state.add(Pad { region, ..pad.clone() });
                continue;
            }
            let mut aged = pad.aged.clone();
            aged.insert(symbol.clone());
            tensor_state.add(Pad { region, aged, ..pad.clone() });
        }
        tensor_state
    }

    fn mentions(&self, symbol: &Symbol) -> bool {
        let form = match &self.form {
            Some(Form::Integer(e)) => e.mentions(symbol),
            Some(Form::Truth(cond) | Form::Bit(cond)) => cond.symbols().contains(symbol),
            None => false,
        };
        form || self.pads.iter().any(|pad| pad.region.mentions(symbol))
    }
}

impl Pad {
    /// Returns the padding with another value, which an operation gave it.
    pub(crate) fn with(&self, value: Number, at: OpId) -> Pad {
        Pad { value, at, ..self.clone() }
    }

    /// Reports whether two paddings are equal but for the operation `at`, `certain`, `carried` and `aged`.
    fn is_like(&self, other: &Pad) -> bool {
        self.edge == other.edge
            && self.region == other.region
            && self.value == other.value
            && self.mixed == other.mixed
            && self.repeats == other.repeats
            && (self.ring, self.stage) == (other.ring, other.stage)
    }
}

/// Joins the states of two paths. A tensor that only one path has written has the elements of that path.
pub(crate) fn join(
    one: &State,
    two: &State,
    paths: [&[Expr]; 2],
    empty: &mut dyn FnMut(bool, &TensorId, &Region) -> bool,
) -> State {
    let mut joined = one.clone();
    for (id, theirs) in two {
        match joined.get_mut(id) {
            Some(mine) if Rc::ptr_eq(mine, theirs) || mine == theirs => {}
            Some(mine) => {
                *mine = Rc::new(mine.join(theirs, paths, &mut |first, region| empty(first, id, region)));
            }
            None => drop(joined.insert(*id, theirs.clone())),
        }
    }
    joined
}

/// Replaces a symbol in the state.
pub(crate) struct Replace<'r> {
    /// Replaces the symbol in the first expression by the second expression.
    pub(crate) symbol: &'r dyn Fn(&Expr, &Expr) -> Expr,
    /// Returns a region of the old value in terms of the new one, if it is the same for both.
    pub(crate) same: &'r dyn Fn(&Region) -> Option<Region>,
}

/// Replaces a symbol whose value changes; see [`TensorState::changed`].
pub(crate) fn change(state: &mut State, symbol: &Symbol, now: Option<&Expr>, replace: &Replace<'_>) {
    for tensor_state in state.values_mut().filter(|tensor_state| tensor_state.mentions(symbol)) {
        *tensor_state = Rc::new(tensor_state.changed(symbol, now, replace));
    }
}
