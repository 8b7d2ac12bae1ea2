//! The search space of a kernel's `tune` clause: its combinations, those that a launch of given dimensions allows, and the order
//! in which the cost model ranks them.
//!
//! [`axes`] is a query. [`ranked`] is a function: of hundreds of combinations it lowers and solves each once and keeps none of the
//! programs, so that the database does not fill with instances that nobody asks for again.
//!
//! Start at [`ranked`].

mod choice;
mod rank;
mod space;

use std::collections::BTreeMap;
use std::fmt;

use hx_hir::{Kernel, Name, Sound, TuneValue, tune_types};
use hx_index::Symbol;
use hx_lower::{CtArgs, CtValue, LaunchFacts};
use hx_target::Target;

pub use hx_synth::{Bottleneck, Forecast};

use crate::Db;

/// The largest number of combinations that are solved for one launch.
pub const MAX_COMBINATIONS: u64 = 100_000;

/// An axis of a `tune` clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    pub name: Name,
    /// In the order of the text; at least one.
    pub values: Vec<CtValue>,
}

/// Returns the axes of a kernel's `tune` clause, in the order of the text; none if the kernel has no clause.
///
/// # Errors
/// [`TuneError::Unsound`] if the kernel or the clause has errors.
#[salsa::tracked]
pub fn axes<'db>(db: &'db dyn Db, kernel: Kernel<'db>) -> Result<Vec<Axis>, TuneError> {
    Sound::of(db, kernel).ok_or(TuneError::Unsound)?;
    let axis = |(name, values): &(Name, Vec<TuneValue>)| Axis {
        name: name.clone(),
        values: values.iter().copied().map(CtValue::from).collect(),
    };
    Ok(tune_types(db, kernel).axes.iter().map(axis).collect())
}

/// The known part of a launch that is tuned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Compile-time arguments that are fixed. An axis of the same name has only this value.
    pub args: CtArgs,
    /// The dimensions and strides that the kernel binds.
    pub dims: BTreeMap<Name, i64>,
    /// The values of the integer parameters.
    pub ints: BTreeMap<Name, i64>,
}

impl Shape {
    /// Returns the facts that a launch of these dimensions has, so that both have the same instances.
    pub fn facts<'db>(&self, db: &'db dyn Db, kernel: Kernel<'db>) -> LaunchFacts {
        LaunchFacts::of_launch(db, kernel, &self.dims)
    }

    fn symbols(&self, target: Target) -> BTreeMap<Symbol, i64> {
        let dims = self.dims.iter().map(|(name, value)| (Symbol::Dim(name.clone()), *value));
        let ints = self.ints.iter().map(|(name, value)| (Symbol::Scalar(name.clone()), *value));
        let multiprocessors = (Symbol::Multiprocessors, i64::from(target.costs().multiprocessors));
        dims.chain(ints).chain([multiprocessors]).collect()
    }
}

/// A combination of compile-time arguments that the kernel's `where` and the target's limits allow, with its estimate.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The fixed arguments and those of the axes. Parameters that are neither keep their defaults.
    pub args: CtArgs,
    pub estimate: Forecast,
}

/// The combinations of a kernel for one launch, in the order of their estimates.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranked {
    /// The combinations of all axes.
    pub combinations: u64,
    /// The kept ones, the one with the least cycles first.
    pub candidates: Vec<Candidate>,
    /// The defaults of the kernel, with the fixed arguments; `None` if they are illegal.
    pub default: Option<Candidate>,
    /// The refused combinations by reason, in the order in which the reasons are checked.
    pub refused: Vec<(Reason, u64)>,
    /// The legal combinations that are not kept.
    pub dropped: u64,
}

impl Ranked {
    /// Returns a sentence about the numbers: ``312 combinations: 201 break `BM % 64 == 0`, 87 legal, of which 24 are kept``.
    pub fn summary(&self) -> String {
        let kept = self.candidates.len() as u64;
        let legal = kept + self.dropped;
        let mut parts: Vec<String> =
            self.refused.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        parts.push(if self.dropped == 0 {
            format!("{legal} legal")
        } else {
            format!("{legal} legal, of which {kept} are kept")
        });
        let combinations = if self.combinations == 1 { "combination" } else { "combinations" };
        format!("{} {combinations}: {}", self.combinations, parts.join(", "))
    }
}

/// The reason why a combination is refused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// A condition of the `where`, by position, does not hold.
    Where { index: usize, text: String },
    /// The kernel has no tile program; the code and the first message.
    Program { code: &'static str, message: String },
    /// The block needs more shared memory or threads than the target has. `shared_bytes` is the limit of the target.
    Resources { shared_bytes: u32 },
    /// The tensors of a thread exceed its registers.
    Registers,
    /// No layouts or no instructions exist.
    NoLayout,
    /// The architecture lacks an ability.
    Target,
    /// The static checks find an error; its code.
    Check { code: &'static str },
    /// The dimensions do not determine the number of blocks.
    Grid,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Where { text, .. } => write!(f, "break `{text}`"),
            Reason::Program { code, message } => write!(f, "have no program ({code}: {message})"),
            Reason::Resources { shared_bytes } => {
                write!(
                    f,
                    "need more than the target's {} KiB of shared memory or its threads",
                    shared_bytes / 1024
                )
            }
            Reason::Registers => f.write_str("have tensors that exceed the registers of a thread"),
            Reason::NoLayout => f.write_str("have no layouts or instructions"),
            Reason::Target => f.write_str("need another architecture"),
            Reason::Check { code } => write!(f, "have errors ({code})"),
            Reason::Grid => f.write_str("have a grid that the dimensions do not determine"),
        }
    }
}

/// The reason why a kernel cannot be tuned for a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TuneError {
    /// The kernel or its clause has errors: [`hx_hir::reached_errors()`].
    Unsound,
    /// The kernel has no `tune` clause.
    NoClause,
    /// More combinations than [`MAX_COMBINATIONS`] fulfil the `where`.
    TooMany { combinations: u64 },
    /// The launch lacks a dimension.
    MissingDim(Name),
    /// A compile-time parameter has no value.
    MissingArgument(Name),
    /// All combinations are refused.
    NoneLegal { combinations: u64, refused: Vec<(Reason, u64)> },
}

impl fmt::Display for TuneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuneError::Unsound => f.write_str("the kernel has errors"),
            TuneError::NoClause => f.write_str("the kernel has no `tune` clause"),
            TuneError::TooMany { combinations } => write!(
                f,
                "found {combinations} combinations of which more than {MAX_COMBINATIONS} fulfil the `where`: larger steps, fewer values or more conditions leave fewer"
            ),
            TuneError::MissingDim(name) => write!(f, "the dimension `{name}` has no value"),
            TuneError::MissingArgument(name) => {
                write!(f, "the compile-time parameter `{name}` has no default, no axis and no value")
            }
            TuneError::NoneLegal { combinations, refused } => {
                let parts: Vec<String> =
                    refused.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
                write!(f, "none of {combinations} combinations is legal: {}", parts.join(", "))
            }
        }
    }
}

impl std::error::Error for TuneError {}

/// Ranks the combinations of a kernel's `tune` clause for a launch, and keeps at most `limit`. Combinations that break the
/// `where` are refused first, those that the target cannot hold next. The result is the same for the same text.
///
/// # Errors
/// See [`TuneError`].
pub fn ranked<'db>(
    db: &'db dyn Db,
    kernel: Kernel<'db>,
    target: Target,
    shape: &Shape,
    limit: usize,
) -> Result<Ranked, TuneError> {
    let axes = axes(db, kernel).as_ref().map_err(TuneError::clone)?;
    if axes.is_empty() {
        return Err(TuneError::NoClause);
    }
    let sound = Sound::of(db, kernel).ok_or(TuneError::Unsound)?;
    let space = space::Space::new(db, sound, axes, shape, target)?;
    let found = space.allowed()?;
    let mut refused = found.refused;
    let ranking = rank::Ranking::new(db, sound, target, shape);
    let mut legal = ranking.legal(found.allowed, &mut refused);
    let (default, full) = ranking.default(&shape.args);
    let order = space.order(full.as_ref());
    // Combinations whose threads have too few registers come last: a spill in a loop costs more than any choice of tiles gains.
    let spills = |candidate: &Candidate| candidate.estimate.beyond > 0;
    legal.sort_by(|a, b| {
        let cycles = a.estimate.cycles.total_cmp(&b.estimate.cycles);
        spills(a).cmp(&spills(b)).then(cycles).then_with(|| order.compare(a, b))
    });
    let count = legal.len() as u64;
    let candidates = choice::choose(legal, limit, |candidate| ranking.checked(candidate, &mut refused), axes);
    let refused: Vec<(Reason, u64)> = refused.into_iter().collect();
    let combinations = found.combinations;
    if candidates.is_empty() {
        return Err(TuneError::NoneLegal { combinations, refused });
    }
    let broken: u64 =
        refused.iter().map(|(reason, n)| if let Reason::Check { .. } = reason { *n } else { 0 }).sum();
    let dropped = count - broken - candidates.len() as u64;
    Ok(Ranked { combinations, candidates, default, refused, dropped })
}
