//! Findings about results that depend on padding: the elements of a tile beyond the end of its tensor.

mod fix;

use std::collections::BTreeSet;

use hx_base::{Diagnostic, SourceFile, TextRange, codes};
use hx_dtype::{AtomicOp, DType, Operator};
use hx_lower::Lowered;

use super::Places;
use crate::padding::{Edge, Mixture, PaddingConsumer, padded_program};

/// Returns a diagnostic for each result of an instance that padding enters.
pub(super) fn results(places: &Places<'_>) -> Vec<Diagnostic> {
    let Some((lowered, followed)) = padded_program(places.db, places.instance) else { return Vec::new() };
    let mixtures = &followed.mixtures;
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for mixture in mixtures {
        // An unrolled loop has the operation several times, and several loads of a loop may have one edge.
        let origin = lowered.program.op(mixture.op).map(|op| op.origin);
        let diagnostic = diagnostic(places, lowered, mixtures, mixture);
        if told.insert((origin, diagnostic.message.clone())) {
            found.push(diagnostic);
        }
    }
    if !followed.is_whole {
        let (file, range) = places.kernel();
        let message = "padding of this kernel was not followed to all results";
        let note = Diagnostic::new(&codes::PADDING_NOT_FOLLOWED, file, range, message);
        found.push(note.note("the conditions on which padding depends are too large to decide"));
    }
    found
}

fn diagnostic(places: &Places<'_>, lowered: &Lowered, all: &[Mixture], mixture: &Mixture) -> Diagnostic {
    let edge = Ends::of(lowered, mixture.edge);
    let at = places.op(lowered, mixture.op).unwrap_or_else(|| places.kernel());
    let (file, range) = at;
    let called = called(places, at);
    let subject = match mixture.consumer {
        PaddingConsumer::Reduce { operator, axis } => {
            format!("`{}` along axis {axis} reads", operator.name())
        }
        PaddingConsumer::Scan { axis } => format!("`{called}` along axis {axis} reads"),
        PaddingConsumer::Product => "this product adds up".to_owned(),
        PaddingConsumer::Atomic(_) => format!("`{called}` gives elements of memory"),
        PaddingConsumer::Cluster => "this sum over the cluster adds up".to_owned(),
        PaddingConsumer::Rounds => "the rounds of the loop combine elements with".to_owned(),
        PaddingConsumer::Elements(operator) => format!("`{}` compares elements with", operator.name()),
        PaddingConsumer::Index => "an element is picked by".to_owned(),
    };
    let value = match mixture.value.shown() {
        Some(value) => format!("which is {value} here"),
        None => "whose value here depends on data".to_owned(),
    };
    let message = format!("{subject} padding {}, {value}", mixture.edge.place(&lowered.program));
    let mut found = Diagnostic::new(&codes::PADDED_REDUCTION, file, range, message);
    let ends = edge.ends();
    found = match places.op(lowered, mixture.edge.load).filter(|load| *load != at) {
        Some((file, range)) => found.also(file, range, ends),
        None => found.note(ends),
    };
    if let Some((file, range)) = changed(places, lowered, mixture, at) {
        let becomes = match mixture.value.shown() {
            Some(value) => format!("the padding becomes {value}"),
            None => "the value of the padding depends on data from here on".to_owned(),
        };
        found = found.also(file, range, becomes);
    }
    if let Some(neutral) = neutral(mixture) {
        found = found.note(neutral);
    }
    match fix::fix(places, lowered, all, mixture) {
        Some(fix) => found = found.with_fix(fix),
        None => found = found.help(advice(mixture)),
    }
    if mixture.value.is(0.0)
        && matches!(mixture.consumer, PaddingConsumer::Reduce { .. })
        && mixture.at == mixture.edge.load
    {
        found = found.help("`pad: 0` in the view says that zeros are meant");
    }
    found
}

/// The end or the start behind which padding lies, in words.
struct Ends<'l> {
    lowered: &'l Lowered,
    edge: Edge,
}

impl<'l> Ends<'l> {
    fn of(lowered: &'l Lowered, edge: Edge) -> Ends<'l> {
        Ends { lowered, edge }
    }

    fn name(&self) -> &'l str {
        self.lowered.program.tensor_param(self.edge.param).map_or("the tensor", |tensor| tensor.name.as_str())
    }

    fn ends(&self) -> String {
        let Edge { param, dim, before, part, .. } = self.edge;
        let tensor = self.lowered.program.tensor_param(param);
        let extent = tensor.and_then(|tensor| tensor.shape.get(dim));
        let extent = extent.map(|extent| format!(", `{extent}`,")).unwrap_or_default();
        let name = self.name();
        match (before, part) {
            (true, _) => format!("this tile may begin before dimension {dim} of `{name}`"),
            (false, true) => format!("the part of `{name}` may end inside this tile, in dimension {dim}"),
            (false, false) => format!("dimension {dim} of `{name}`{extent} may end inside this tile"),
        }
    }
}

/// Returns the name of the function with which the text of an operation begins; `scan` if it begins with no name.
fn called(places: &Places<'_>, (file, range): (SourceFile, TextRange)) -> String {
    let text = file.text(places.db).get(std::ops::Range::<usize>::from(range)).unwrap_or_default();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name: String = text.chars().take_while(|c| is_name(*c)).collect();
    if name.is_empty() { "scan".to_owned() } else { name }
}

/// Returns the place where the padding got the value that it enters with; `None` if that is at the load, at the operation, or
/// at `at`.
fn changed(
    places: &Places<'_>,
    lowered: &Lowered,
    mixture: &Mixture,
    at: (SourceFile, TextRange),
) -> Option<(SourceFile, TextRange)> {
    if [mixture.op, mixture.edge.load].contains(&mixture.at) {
        return None;
    }
    let place = places.op(lowered, mixture.at)?;
    let load = places.op(lowered, mixture.edge.load);
    (place != at && Some(place) != load).then_some(place)
}

/// Says which value of the padding changes no result; `None` if that depends on the operator or the loop.
fn neutral(mixture: &Mixture) -> Option<String> {
    let dtype = mixture.value.dtype;
    let least = if dtype.is_float() { "-inf".to_owned() } else { format!("{}", dtype.min_value()) };
    let most = if dtype.is_float() { "inf".to_owned() } else { format!("{}", dtype.max_value()) };
    let of_operator = |operator: Operator| match operator {
        Operator::Max => Some(format!("padding of {least} changes no maximum")),
        Operator::Min => Some(format!("padding of {most} changes no minimum")),
        Operator::Add => Some("padding of 0 changes no sum".to_owned()),
        Operator::Mul => Some("padding of 1 changes no product".to_owned()),
        Operator::And if dtype == DType::Bool => Some("padding of true changes no `all`".to_owned()),
        Operator::Or if dtype == DType::Bool => Some("padding of false changes no `any`".to_owned()),
        _ => None,
    };
    match mixture.consumer {
        PaddingConsumer::Reduce { operator, .. } | PaddingConsumer::Elements(operator) => {
            of_operator(operator)
        }
        PaddingConsumer::Product => Some(
            "padding of 0 in both operands, or of 0 in one and of finite numbers in the other, adds nothing"
                .to_owned(),
        ),
        PaddingConsumer::Atomic(AtomicOp::Add) | PaddingConsumer::Cluster => of_operator(Operator::Add),
        PaddingConsumer::Atomic(AtomicOp::Max) => of_operator(Operator::Max),
        PaddingConsumer::Atomic(AtomicOp::Min) => of_operator(Operator::Min),
        PaddingConsumer::Index => {
            Some("an index outside of the tensor, such as -1, picks no element".to_owned())
        }
        PaddingConsumer::Scan { .. } | PaddingConsumer::Atomic(_) | PaddingConsumer::Rounds => None,
    }
}

/// Returns advice for a mixture that no fix removes.
fn advice(mixture: &Mixture) -> String {
    let axis = match mixture.consumer {
        PaddingConsumer::Reduce { axis, .. } | PaddingConsumer::Scan { axis } => axis,
        PaddingConsumer::Product
        | PaddingConsumer::Atomic(_)
        | PaddingConsumer::Cluster
        | PaddingConsumer::Rounds
        | PaddingConsumer::Elements(_)
        | PaddingConsumer::Index => mixture.region.axes().first().copied().unwrap_or(0),
    };
    format!(
        "`where` with a condition on `index(…, {axis})` replaces the padding; `pad:` in the view gives it another value"
    )
}
