//! The form of launches: how the shapes, the strides and the whole numbers of a call become the names of a kernel's header.
//!
//! Calls of one form have the same kernel, compile-time arguments, element types, ranks and alignments. Two such calls have the same
//! instance if their numbers have the same facts: [`Read::facts`].
//!
//! Invariant: [`LaunchForm::read`] accepts only numbers that [`bind`](super::bind) accepts, and reads the same values from them. It may
//! refuse more; the caller then binds the launch anew, which also says what is wrong.

use hx_compile::Db;
use hx_dtype::DType;
use hx_hir::{Expr, ExprId, Item, Kernel, Literal, Name, Resolution, TypeRef, signature_names};
use hx_host::Value;
use hx_host::device::LaunchRequest;
use hx_lower::{CtArgs, LaunchFacts};

use super::bind::{Header, declared_dtype, integer_fits};
use super::strides::{DIM_LIMIT, Declared, is_packed, steps_over, with_free};

/// The numbers of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given<'n> {
    /// The extents and the strides of a tensor, in elements.
    Tensor { shape: &'n [i64], strides: &'n [i64] },
    /// A whole number, or a bool as 0 or 1.
    Number(i64),
    /// An argument without a whole number.
    Other,
}

/// The numbers of a call that fits a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    /// The values of the form's names.
    pub(super) dims: Vec<i64>,
    /// Everything about the numbers on which the instance depends: the divisor of each name and whether a stride is 1, and the numbers that
    /// have no name, such as literals and compile-time parameters.
    pub facts: Vec<u64>,
}

/// A form of launches: it reads their numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchForm {
    /// For each parameter, the position of its argument, and the reading of it.
    params: Vec<(usize, Kind)>,
    /// The dimensions and strides that the header names.
    pub(super) names: Vec<Name>,
    /// For each name, whether it is a stride.
    is_stride: Vec<bool>,
    /// Whether every number counts as a fact, because the choice of the instance depends on values.
    pub(super) is_exact: bool,
}

#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Tensor {
        shape: Vec<Entry>,
        /// `None` if the tensor is packed.
        strides: Option<(Vec<Declared>, Vec<Entry>)>,
        mutable: bool,
    },
    /// A number that was whole in the first call.
    Whole {
        dtype: Option<DType>,
        is_bool: bool,
    },
    Float,
}

/// An entry of a shape or of strides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    /// A name, by its position.
    Named(usize),
    /// A literal.
    Literal(i128),
    /// A compile-time parameter: the instance depends on the value.
    Exact,
    /// An expression, which the instance compares with the extent.
    Computed,
}

impl LaunchForm {
    /// Returns the form of a launch whose arguments were bound. `args` are the compile-time arguments; `is_exact` says that the choice of the
    /// instance depends on the values of the numbers.
    pub(super) fn new<'db>(
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        request: &LaunchRequest,
        (sources, args): (&[usize], &CtArgs),
        is_exact: bool,
    ) -> LaunchForm {
        let header = Header::new(db, kernel);
        let dims = &signature_names(db, Item::Kernel(kernel)).dims;
        let mut form = LaunchForm {
            params: Vec::new(),
            names: dims.iter().map(|dim| dim.name.clone()).collect(),
            is_stride: dims.iter().map(|dim| dim.stride).collect(),
            is_exact,
        };
        if is_exact {
            // The launch may run another kernel, with other parameters.
            return form;
        }
        for (index, &source) in sources.iter().enumerate() {
            let kind = match &request.args[source].value {
                Value::Tensor(_) => form.tensor(&header, index),
                value @ (Value::Int(_) | Value::Bool(_)) => {
                    let is_bool = matches!(value, Value::Bool(_));
                    Some(Kind::Whole { dtype: declared_dtype(&header, index, args).ok().flatten(), is_bool })
                }
                _ => Some(Kind::Float),
            };
            match kind {
                Some(kind) => form.params.push((source, kind)),
                None => form.is_exact = true,
            }
        }
        form
    }

    /// Returns the form in which every number counts.
    pub(super) fn exact(self) -> LaunchForm {
        LaunchForm { params: Vec::new(), is_exact: true, ..self }
    }

    /// Returns the reading of a tensor; `None` if its values cannot be read from the header alone.
    fn tensor(&self, header: &Header<'_>, index: usize) -> Option<Kind> {
        let param = &header.signature.params[index];
        let TypeRef::Named { mutable, shape: Some(shape), layout, .. } = &header.signature.store[param.ty]
        else {
            return None;
        };
        let entry = |at: &ExprId| self.entry(header, *at);
        let strides = match layout.map(|layout| &header.signature.store[layout]) {
            Some(Expr::Array(strides)) => {
                let entries: Vec<Entry> = strides.iter().map(entry).collect();
                if entries.contains(&Entry::Computed) {
                    return None;
                }
                Some((header.declared_strides(strides), entries))
            }
            _ => None,
        };
        Some(Kind::Tensor { shape: shape.iter().map(entry).collect(), strides, mutable: *mutable })
    }

    fn entry(&self, header: &Header<'_>, at: ExprId) -> Entry {
        match (&header.signature.store[at], header.resolution(at)) {
            (Expr::Literal(Literal::Int(value)), _) => Entry::Literal(*value),
            (_, Some(Resolution::Generic(_))) => Entry::Exact,
            (_, Some(Resolution::Dim(name))) => match self.names.iter().position(|known| known == name) {
                Some(position) => Entry::Named(position),
                None => Entry::Exact,
            },
            _ => Entry::Computed,
        }
    }

    /// Reads the numbers of a call; `None` if they do not fit the header, or it is not known that they do.
    pub fn read(&self, given: &[Given<'_>]) -> Option<Read> {
        if self.is_exact {
            return Some(Read { dims: Vec::new(), facts: everything(given) });
        }
        let mut reading = Reading { dims: vec![None; self.names.len()], facts: Vec::new() };
        for (arg, kind) in &self.params {
            match (kind, given.get(*arg)?) {
                (
                    Kind::Tensor { shape, strides, mutable },
                    Given::Tensor { shape: extents, strides: actual },
                ) => {
                    reading.tensor((shape, strides.as_ref(), *mutable), extents, actual)?;
                }
                (Kind::Whole { .. }, Given::Number(_)) | (Kind::Float, Given::Other) => {}
                _ => return None,
            }
        }
        if !self.takes(given) {
            return None;
        }
        let dims = reading.dims.into_iter().collect::<Option<Vec<i64>>>()?;
        let mut facts = reading.facts;
        for (value, is_stride) in dims.iter().zip(&self.is_stride) {
            let is_unit = *is_stride && *value == 1;
            facts.push(u64::from(LaunchFacts::divisor_of(*value)) | u64::from(is_unit) << 8);
        }
        Some(Read { dims, facts })
    }

    /// Reports whether the whole numbers of a call fit the types of their parameters.
    pub fn takes(&self, given: &[Given<'_>]) -> bool {
        self.params.iter().all(|(arg, kind)| match (kind, given.get(*arg)) {
            (Kind::Whole { dtype: Some(dtype), is_bool: false }, Some(Given::Number(value))) => {
                dtype.is_float() || integer_fits(*dtype, *value)
            }
            (Kind::Whole { dtype, is_bool: true }, _) => *dtype == Some(DType::Bool),
            (Kind::Whole { dtype, .. }, _) => dtype.is_some(),
            _ => true,
        })
    }
}

/// Returns all numbers of a call.
fn everything(given: &[Given<'_>]) -> Vec<u64> {
    let mut all = Vec::new();
    for given in given {
        match given {
            Given::Tensor { shape, strides } => all.extend(shape.iter().chain(*strides).map(|n| *n as u64)),
            Given::Number(value) => all.push(*value as u64),
            Given::Other => {}
        }
    }
    all
}

/// The values that were read so far.
struct Reading {
    dims: Vec<Option<i64>>,
    facts: Vec<u64>,
}

/// The entries of a tensor's shape, those of its strides, and whether the kernel writes it.
type TensorEntries<'f> = (&'f [Entry], Option<&'f (Vec<Declared>, Vec<Entry>)>, bool);

impl Reading {
    fn tensor(
        &mut self,
        (shape, strides, mutable): TensorEntries<'_>,
        extents: &[i64],
        actual: &[i64],
    ) -> Option<()> {
        if shape.len() != extents.len() || extents.iter().any(|extent| *extent >= DIM_LIMIT) {
            return None;
        }
        for (entry, extent) in shape.iter().zip(extents) {
            self.bind(*entry, *extent)?;
        }
        let Some((declared, entries)) = strides else { return is_packed(extents, actual).then_some(()) };
        if entries.len() != actual.len() || mutable && !steps_over(extents, actual) {
            return None;
        }
        let values = with_free(declared, extents, actual);
        for ((entry, value), extent) in entries.iter().zip(values).zip(extents) {
            if value >= DIM_LIMIT {
                return None;
            }
            // The stride of a dimension with one element is never used, so a literal need not match.
            if *extent > 1 || !matches!(entry, Entry::Literal(_)) {
                self.bind(*entry, value)?;
            }
        }
        Some(())
    }

    /// Gives a name its value, or compares the value with the one that the name has.
    fn bind(&mut self, entry: Entry, value: i64) -> Option<()> {
        match entry {
            Entry::Named(name) => (*self.dims.get_mut(name)?.get_or_insert(value) == value).then_some(()),
            Entry::Literal(literal) => (i128::from(value) == literal).then_some(()),
            Entry::Exact => {
                self.facts.push(value as u64);
                Some(())
            }
            Entry::Computed => Some(()),
        }
    }
}

/// The numbers of a request, which [`Numbers::given`] borrows.
pub(super) struct Numbers(Vec<Number>);

enum Number {
    Tensor(Vec<i64>, Vec<i64>),
    Whole(i64),
    Other,
}

impl Numbers {
    pub(super) fn of(request: &LaunchRequest) -> Numbers {
        let list = |sizes: &[usize]| sizes.iter().map(|n| *n as i64).collect();
        let number = |value: &Value| match value {
            Value::Tensor(tensor) => Number::Tensor(list(tensor.shape()), list(tensor.strides())),
            Value::Int(value) => Number::Whole(*value),
            Value::Bool(value) => Number::Whole(i64::from(*value)),
            _ => Number::Other,
        };
        Numbers(request.args.iter().map(|arg| number(&arg.value)).collect())
    }

    pub(super) fn given(&self) -> Vec<Given<'_>> {
        self.0.iter().map(Number::given).collect()
    }
}

impl Number {
    fn given(&self) -> Given<'_> {
        match self {
            Number::Tensor(shape, strides) => Given::Tensor { shape, strides },
            Number::Whole(value) => Given::Number(*value),
            Number::Other => Given::Other,
        }
    }
}
