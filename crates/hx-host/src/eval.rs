//! The evaluator: runs the body of a `test`, `bench`, `main` or cell over host values, and launches kernels through a
//! [`Device`].
//!
//! It accepts only [`Sound`] items, so an item that has an error or uses one that has an error never runs. It reads bodies and
//! the meanings of their names, never text or positions: an [`EvalError`] names an expression, and [`EvalError::diagnostics`]
//! finds its place. Only the message of a failed assertion quotes the text. The evaluator knows no flags and does not decide
//! what a failure means.
//!
//! Start at [`Session`].

mod args;
mod assertion;
mod bench;
mod bits;
mod builtins;
mod call;
mod closures;
mod environment;
mod error;
mod forall;
mod layouts;
mod operators;
mod orders;
mod statements;
mod suspect;

use std::collections::HashMap;

use hx_base::interrupt::{self, Ended, look};
use hx_dtype::DType;
use hx_hir::{
    Body, Builtin, BuiltinValue, Const, Db, Expr, ExprId, GenericArg, Item, ItemKey, ItemKind, LayoutFn,
    Literal, Names, PatId, Resolution, Sound, UnaryOp, constants_below,
};
use la_arena::ArenaMap;

use crate::archive::Archive;
use crate::device::{Device, LaunchReport, LaunchRequest};
use crate::error::{HostError, HostResult};
use crate::index::Index;
use crate::picture::{Mark, Picture};
use crate::random;
use crate::show::Look;
use crate::tensor::Tensor;
use crate::value::Value;

/// The help for a test or bench whose list of cases is empty.
const NO_CASES: &str = "nothing would run: remove the test, or write a case";

pub use environment::{Checkpoint, Environment};
pub use error::{BodyPart, EvalError, range_of, without_launch};
pub use forall::Assignment;
pub use operators::{LAYOUT_FIELDS, TENSOR_FIELDS};
pub use suspect::Suspect;

/// The result of evaluating part of a body.
pub type EvalResult<T> = Result<T, EvalError>;

/// The options of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The value of `args`.
    pub args: Vec<String>,
    /// The seed of the random functions in calls that name none.
    pub seed: u64,
    /// Whether every assertion counts as true, for evaluations that do not run kernels.
    pub unchecked: bool,
    /// Whether a bench measures every candidate of its kernels, not only the compiler's choice.
    pub candidates: bool,
    /// Whether random tensors are filled with one number. Evaluations that only compile kernels need no contents, and drawing them
    /// would take most of the time.
    pub hollow: bool,
}

/// The receiver of an evaluation's output. A caller ends an evaluation early with [`hx_base::interrupt`].
pub trait Surroundings {
    /// Receives one printed line, without its newline.
    fn print(&mut self, line: &str);

    /// Returns the width and the digits of printed tensors.
    fn look(&self) -> Look {
        Look::default()
    }

    /// Receives the call of a kernel, an expression of an item, and the launch that it is about to make. [`range_of`] finds its place.
    fn launching(&mut self, _item: &ItemKey, _call: ExprId, _request: &LaunchRequest) {}

    /// Receives the report of a launch that has finished.
    fn launched(&mut self, _kernel: &str, _report: &LaunchReport) {}

    /// Receives the reason why an assertion could not be checked.
    fn unjudged(&mut self, _reason: &str) {}
}

/// Collects the printed lines.
impl Surroundings for Vec<String> {
    fn print(&mut self, line: &str) {
        self.push(line.to_owned());
    }
}

/// An evaluation: the device, the surroundings and the state of the random functions.
pub struct Session<'a> {
    db: &'a dyn Db,
    device: &'a mut dyn Device,
    surroundings: &'a mut dyn Surroundings,
    options: Options,
    /// The number of calls of random functions without a seed so far; each draws from a stream of its own.
    draws: u64,
    /// The values of the constants that have been evaluated.
    constants: HashMap<ItemKey, Value>,
    /// The session's environment while a cell runs.
    environment: Option<Environment>,
    /// The recording while a bench runs.
    recording: Option<bench::Recording>,
    ledger: suspect::Ledger,
    suspect: Option<Suspect>,
    /// For each element of the last failed comparison, whether it is right, wrong or unwritten.
    marks: Vec<Mark>,
    /// The picture of the comparison that failed last.
    picture: Option<Picture>,
    /// `None` outside of a case of a `forall`; otherwise whether `assume` has refused the case.
    forall: Option<bool>,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("options", &self.options)
            .field("draws", &self.draws)
            .finish_non_exhaustive()
    }
}

/// A body under evaluation.
struct Frame<'s, 'a> {
    session: &'s mut Session<'a>,
    item: Sound<Item<'a>>,
    key: ItemKey,
    body: &'a Body,
    names: &'a Names,
    locals: ArenaMap<PatId, Value>,
}

impl<'a> Session<'a> {
    /// Makes an evaluation that has not begun.
    pub fn new(
        db: &'a dyn Db,
        device: &'a mut dyn Device,
        surroundings: &'a mut dyn Surroundings,
        options: Options,
    ) -> Session<'a> {
        Session {
            db,
            device,
            surroundings,
            options,
            draws: 0,
            constants: HashMap::new(),
            environment: None,
            recording: None,
            ledger: suspect::Ledger::default(),
            suspect: None,
            marks: Vec::new(),
            picture: None,
            forall: None,
        }
    }

    /// Reports whether the case that ran ended because an `assume` does not hold for it.
    pub fn is_refused(&self) -> bool {
        self.forall == Some(true)
    }

    /// Returns how many tensors were made from the session's seed instead of one of their own.
    pub fn unseeded_draws(&self) -> u64 {
        self.draws
    }

    /// Returns the launch that wrote the tensor of the comparison that failed last. `None` if the host computed the tensor.
    pub fn suspect(&self) -> Option<&Suspect> {
        self.suspect.as_ref()
    }

    /// Returns a picture of the tensor of the comparison that failed last; `None` if no comparison of tensors failed, or for a
    /// single element.
    pub fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// Returns the cases of a parameterized test or bench; `None` if it has none.
    ///
    /// # Errors
    /// If the cases are an empty list or range, are neither a list nor a range, or their evaluation fails.
    pub fn cases(&mut self, item: Sound<Item<'a>>) -> EvalResult<Option<Vec<Value>>> {
        let mut frame = self.frame(item);
        let Some(cases) = frame.body.cases else { return Ok(None) };
        match frame.expr(cases.values)? {
            Value::List(values) | Value::Tuple(values) if values.is_empty() => {
                let error = HostError::ty("found an empty list, expected at least one case");
                Err(frame.fail(cases.values, error.help(NO_CASES)))
            }
            Value::List(values) | Value::Tuple(values) => Ok(Some(values.to_vec())),
            Value::Range(start, end) if start >= end => {
                let message = format!("found the empty range `{start}..{end}`, expected at least one case");
                Err(frame.fail(cases.values, HostError::ty(message).help(NO_CASES)))
            }
            Value::Range(start, end) => {
                let count = usize::try_from(i128::from(end) - i128::from(start)).unwrap_or(0);
                let fits = frame.at(cases.values, Value::claim_count(count));
                fits.map(|()| Some((start..end).map(Value::Int).collect()))
            }
            other => {
                let error = HostError::ty(format!("found {}, a list of cases is needed", other.kind()));
                Err(frame.fail(cases.values, error))
            }
        }
    }

    /// Runs the body of an item. If the item has cases, `case` is bound to their pattern; if it has a `forall`, `case` is the tuple
    /// of the values of its variables.
    ///
    /// # Errors
    /// If a statement fails. The error has the place of the expression.
    pub fn run(&mut self, item: Sound<Item<'a>>, case: Option<Value>) -> EvalResult<Value> {
        let mut frame = self.frame(item);
        match (frame.body.cases, case) {
            (Some(cases), Some(case)) => frame.bind(cases.pat, case)?,
            (None, Some(Value::Tuple(values))) => frame.bind_variables(&values)?,
            (_, None) | (None, Some(_)) => {}
        }
        let root = frame.body.root;
        frame.expr(root)
    }

    fn frame<'s>(&'s mut self, item: Sound<Item<'a>>) -> Frame<'s, 'a> {
        let db = self.db;
        Frame {
            item,
            key: item.get().key(db),
            body: item.body(db),
            names: item.names(db),
            locals: ArenaMap::default(),
            session: self,
        }
    }
}

impl<'a> Frame<'_, 'a> {
    fn fail(&self, at: ExprId, error: HostError) -> EvalError {
        EvalError {
            item: self.key.clone(),
            at: BodyPart::Expr(at),
            error: Box::new(error),
            found: Vec::new(),
        }
    }

    fn at<T>(&self, at: ExprId, result: HostResult<T>) -> EvalResult<T> {
        result.map_err(|error| self.fail(at, error))
    }

    /// Evaluates an expression. If the evaluation should end, queries, arithmetic and launches unwind. The innermost expression
    /// catches the unwinding and reports where the evaluation ended.
    ///
    /// # Errors
    /// If the evaluation fails or is ended. The error has the place of the innermost expression.
    fn expr(&mut self, id: ExprId) -> EvalResult<Value> {
        match interrupt::catch(|| self.evaluated(id)) {
            Ok(result) => result,
            Err(Ended) => Err(self.fail(id, HostError::stopped())),
        }
    }

    fn evaluated(&mut self, id: ExprId) -> EvalResult<Value> {
        look();
        let body = self.body;
        match &body.store[id] {
            Expr::Missing => Err(self.fail(id, HostError::unsupported("something is missing here"))),
            Expr::Literal(literal) => self.at(id, literal_value(literal)),
            Expr::Path { generics, .. } => {
                let value = self.path(id, generics)?;
                self.brought(id, value)
            }
            Expr::Unary { op: UnaryOp::Neg, operand } if is_least(&body.store[*operand]) => {
                Ok(Value::Int(i64::MIN))
            }
            Expr::Unary { op, operand } => {
                let value = self.expr(*operand)?;
                self.at(id, operators::unary(*op, &value))
            }
            Expr::Binary { op, lhs, rhs } => self.binary(id, *op, *lhs, *rhs),
            Expr::Call { callee, args } => self.call(id, *callee, args),
            Expr::MethodCall { receiver, name, args } => self.method(id, *receiver, name, args),
            Expr::Field { base, name } => {
                let base = self.expr(*base)?;
                self.at(id, operators::field(&base, name))
            }
            Expr::Index { base, args } => self.index(id, *base, args),
            Expr::Guarded { read, otherwise } => self.guarded(id, *read, *otherwise),
            Expr::Tuple(fields) => self.tuple(id, fields),
            Expr::Array(elements) => {
                let values: EvalResult<Vec<Value>> = elements.iter().map(|e| self.expr(*e)).collect();
                self.at(id, Value::compound(values?, Value::List))
            }
            Expr::Layout { shape, stride } => self.layout(id, *shape, *stride),
            Expr::Range { start: Some(start), end: Some(end) } => {
                let (start, end) = (self.int(*start)?, self.int(*end)?);
                Ok(Value::Range(start, end))
            }
            Expr::Range { .. } => {
                Err(self.fail(id, HostError::ty("a range without both ends only stands in an index")))
            }
            Expr::New => Err(self.fail(id, HostError::ty("`new` only stands in an index"))),
            Expr::Wildcard if self.key.kind == ItemKind::Cell => self.last_value(id),
            Expr::Wildcard => Ok(Value::Wildcard),
            Expr::Closure { params, body } => Ok(self.closure(params, *body)),
            Expr::If { condition, then, otherwise } => {
                if self.condition(*condition)? {
                    self.expr(*then)
                } else {
                    otherwise.map_or(Ok(Value::Unit), |e| self.expr(e))
                }
            }
            Expr::Block(block) => self.block(id, block),
        }
    }

    /// Brings the contents of the tensors in a variable to the host, if only the device has them.
    ///
    /// # Errors
    /// If the device fails.
    fn brought(&mut self, id: ExprId, value: Value) -> EvalResult<Value> {
        let mut away = Vec::new();
        if self.session.recording.is_some() {
            value.each_tensor(&mut |tensor| away.extend(tensor.is_away().then(|| tensor.clone())));
        }
        for tensor in away {
            let brought = self.session.device.bring(&tensor);
            self.on_device(id, brought)?;
        }
        Ok(value)
    }

    fn index(&mut self, id: ExprId, base: ExprId, args: &[ExprId]) -> EvalResult<Value> {
        let base = self.expr(base)?;
        if let Value::Archive(archive) = &base {
            return self.tensor_of(id, archive, args);
        }
        let indices = self.indices(args)?;
        self.at(id, operators::index(&base, &indices))
    }

    /// Evaluates `read else otherwise`. Unlike in other reads, a negative index does not count from the end: it is outside.
    ///
    /// # Errors
    /// If the read is not that of one element of a tensor, or an operand cannot be evaluated.
    fn guarded(&mut self, id: ExprId, read: ExprId, otherwise: ExprId) -> EvalResult<Value> {
        let body = self.body;
        let Expr::Index { base, args } = &body.store[read] else { return self.expr(read) };
        let base = self.expr(*base)?;
        let indices = self.indices(args)?;
        let Value::Tensor(t) = &base else {
            let message = format!("expected an element of a tensor, found {} before `else`", base.kind());
            return Err(self.fail(id, HostError::ty(message)));
        };
        let at: Option<Vec<i64>> = indices
            .iter()
            .map(|index| match index {
                Index::At(i) => Some(*i),
                _ => None,
            })
            .collect();
        let shape = t.shape();
        let Some(at) = at.filter(|at| at.len() == shape.len()) else {
            let message = "`else` guards the read of one element: it takes an index for each mode";
            return Err(self.fail(id, HostError::ty(message)));
        };
        let inside = at.iter().zip(shape).all(|(i, extent)| usize::try_from(*i).is_ok_and(|i| i < *extent));
        if inside { self.at(id, operators::index(&base, &indices)) } else { self.expr(otherwise) }
    }

    /// Evaluates a tuple. An entry `_` is a mode that a tiler keeps, even in a cell, where `_` alone is the last value.
    ///
    /// # Errors
    /// If an entry cannot be evaluated, or the tuple has too many parts.
    fn tuple(&mut self, id: ExprId, fields: &[hx_hir::TupleField]) -> EvalResult<Value> {
        let body = self.body;
        let field = |this: &mut Self, value| match body.store[value] {
            Expr::Wildcard => Ok(Value::Wildcard),
            _ => this.expr(value),
        };
        let values: EvalResult<Vec<Value>> = fields.iter().map(|f| field(self, f.value)).collect();
        let values = values?;
        if values.is_empty() {
            return Ok(Value::Unit);
        }
        self.at(id, Value::compound(values, Value::Tuple))
    }

    /// Evaluates `_`: the value of the cell before this one.
    ///
    /// # Errors
    /// If no cell before this one has left a value.
    fn last_value(&self, id: ExprId) -> EvalResult<Value> {
        let last = self.session.environment.as_ref().and_then(|e| e.last.clone());
        last.ok_or_else(|| self.fail(id, HostError::ty("no value came before this one, so `_` is none")))
    }

    fn path(&mut self, id: ExprId, generics: &[GenericArg]) -> EvalResult<Value> {
        let found = self.names.exprs.get(id);
        if found == Some(&Resolution::Builtin(Builtin::Layout(LayoutFn::Swizzle))) {
            return self.swizzle(id, generics);
        }
        if !generics.is_empty() {
            let message = "a kernel with compile-time arguments is only called, not a value";
            return Err(self.fail(id, HostError::ty(message)));
        }
        let Some(resolution) = found else {
            // The unknown name has already been reported; this error covers its use.
            return Err(self.fail(id, HostError::ty("this name means nothing here")));
        };
        match resolution {
            Resolution::Local(pat) => match self.locals.get(*pat) {
                Some(value) => Ok(value.clone()),
                None => Err(self.fail(id, HostError::ty("this variable has no value yet"))),
            },
            Resolution::Binding(name) => {
                let bound = self.session.environment.as_ref().and_then(|e| e.values.get(name));
                bound.cloned().ok_or_else(|| self.fail(id, HostError::ty("this variable has no value yet")))
            }
            Resolution::DType(dtype) => Ok(Value::DType(*dtype)),
            Resolution::Builtin(Builtin::Value(BuiltinValue::Args)) => Ok(Value::List(
                self.session.options.args.iter().map(|arg| Value::Str(arg.as_str().into())).collect(),
            )),
            Resolution::Builtin(Builtin::Value(BuiltinValue::Auto)) => Ok(Value::Auto),
            Resolution::Builtin(Builtin::Value(BuiltinValue::Infer)) => {
                let message = "`infer` is only the default of a layout of a kernel";
                let help = "leave the argument out: the launch then takes the order that the compiler infers";
                Err(self.fail(id, HostError::ty(message).help(help)))
            }
            Resolution::Builtin(Builtin::Value(BuiltinValue::Nan)) => Ok(Value::Float(f64::NAN)),
            Resolution::Builtin(builtin) => {
                let message = format!("`{}` is a function and only called", builtin.name());
                let help = format!("a launch takes a `fn` that calls `{}`", builtin.name());
                Err(self.fail(id, HostError::ty(message).help(help)))
            }
            Resolution::Item(key) if key.kind == ItemKind::Const => {
                let key = key.clone();
                self.constant(id, &key)
            }
            Resolution::Item(key) if key.kind == ItemKind::Function => Ok(Value::Function(key.clone())),
            Resolution::Item(key) => {
                let what = key.kind.word();
                let error = HostError::ty(format!("the {what} `{}` is only called, not a value", key.name));
                let is_kernel = key.kind == ItemKind::Kernel;
                let help = format!(
                    "a launch is a call, `{}(…)`: the kernel's header says in how many blocks",
                    key.name
                );
                Err(self.fail(id, if is_kernel { error.help(help) } else { error }))
            }
            Resolution::Module(_) => Err(self.fail(id, HostError::ty("a module is not a value"))),
            Resolution::Param(_)
            | Resolution::Generic(_)
            | Resolution::Dim(_)
            | Resolution::Result
            | Resolution::Kind(_) => Err(self.fail(id, HostError::ty("this name has no value on the host"))),
        }
    }

    /// Returns the value of a constant; the first use in the session evaluates it.
    ///
    /// # Errors
    /// If its evaluation fails, or the text of the constant is gone.
    fn constant(&mut self, id: ExprId, key: &ItemKey) -> EvalResult<Value> {
        let db = self.session.db;
        let Some(item) = self.item.used(db, key) else {
            return Err(self.fail(id, HostError::ty(format!("the constant `{}` is gone", key.name))));
        };
        if let Some(value) = self.session.constants.get(key) {
            return Ok(value.clone());
        }
        let Item::Const(constant) = item.get() else { return self.session.run(item, None) };
        // Evaluate the constants that this one uses first, innermost first, so that long chains do not recurse.
        let known = |below: Const<'a>| self.session.constants.contains_key(&below.key(db));
        for next in constants_below(db, constant, &known).into_iter().chain([constant]) {
            let key = next.key(db);
            let next = Sound::of(db, Item::Const(next));
            let next = next.ok_or_else(|| {
                self.fail(id, HostError::ty(format!("the constant `{}` is gone", key.name)))
            })?;
            let value = self.session.run(next, None)?;
            self.session.constants.insert(key, value);
        }
        let value = self.session.constants.get(key);
        value.cloned().ok_or_else(|| self.fail(id, HostError::ty("this name means nothing here")))
    }

    /// Evaluates `load("x.safetensors")["w"]`.
    ///
    /// # Errors
    /// If there is not one index that is a string, or as for [`Archive::tensor`].
    fn tensor_of(&mut self, id: ExprId, archive: &Archive, args: &[ExprId]) -> EvalResult<Value> {
        let &[arg] = args else {
            let count = args.len();
            let error = HostError::index(format!("a file of tensors takes one name, and has {count}"));
            return Err(self.fail(id, error));
        };
        let name = match self.expr(arg)? {
            Value::Str(text) => text,
            other => {
                let error = HostError::ty(format!("found {}, the name of a tensor is needed", other.kind()));
                return Err(self.fail(arg, error));
            }
        };
        let tensor = self.at(arg, archive.tensor(&name))?;
        Ok(Value::Tensor(Tensor::from_host(tensor)))
    }

    fn int(&mut self, id: ExprId) -> EvalResult<i64> {
        let value = self.expr(id)?;
        self.at(id, value.int())
    }

    fn condition(&mut self, id: ExprId) -> EvalResult<bool> {
        match self.expr(id)? {
            Value::Bool(b) => Ok(b),
            Value::Tensor(t) => {
                let shape = crate::dense::show_shape(t.shape());
                let error =
                    HostError::ty(format!("the condition is a tensor of shape {shape}, not one bool"));
                Err(self.fail(id, error.help("say which is meant: `(x == y).all()` or `.any()`")))
            }
            other => Err(self.fail(id, HostError::ty(format!("found {}, a bool is needed", other.kind())))),
        }
    }

    fn indices(&mut self, args: &[ExprId]) -> EvalResult<Vec<Index>> {
        let body = self.body;
        let mut out = Vec::with_capacity(args.len());
        for &arg in args {
            out.push(match &body.store[arg] {
                Expr::New => Index::New,
                Expr::Range { start, end } => {
                    let start = start.map(|e| self.int(e)).transpose()?;
                    let end = end.map(|e| self.int(e)).transpose()?;
                    Index::Range(start, end)
                }
                _ => match self.expr(arg)? {
                    Value::Int(i) => Index::At(i),
                    Value::Range(start, end) => Index::Range(Some(start), Some(end)),
                    other => {
                        let error =
                            HostError::ty(format!("found {}, an integer or a range is needed", other.kind()));
                        return Err(self.fail(arg, error));
                    }
                },
            });
        }
        Ok(out)
    }
}

/// Reports whether the expression is the literal 9223372036854775808, which `i64` holds only after a negation.
fn is_least(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(Literal::Int(x)) if *x == -i128::from(i64::MIN))
}

/// Returns the value of a literal. An integer above the range of `i64` becomes a `u64` tensor without dimensions.
///
/// # Errors
/// If an integer exceeds 64 bits.
fn literal_value(literal: &Literal) -> HostResult<Value> {
    Ok(match literal {
        Literal::Int(i) => match (i64::try_from(*i), u64::try_from(*i)) {
            (Ok(i), _) => Value::Int(i),
            (_, Ok(bits)) => Value::Tensor(Tensor::from_host(random::full_bits(DType::U64, &[], bits)?)),
            _ => return Err(HostError::arithmetic(format!("{i} does not fit 64 bits"))),
        },
        Literal::Float(x) => Value::Float(x.value()),
        Literal::String(s) => Value::Str(s.to_string().into()),
        Literal::Bool(b) => Value::Bool(*b),
        Literal::Inf => Value::Float(f64::INFINITY),
    })
}
