//! Demands on the swizzle of a shared tensor, and their disagreements.

use hx_dtype::DType;
use hx_layout::Swizzle;
use hx_target::SwizzleMode;
use hx_tile::{OpId, TensorId};

use crate::failure::{Failure, FailureKind};

/// A swizzle that a constraint demands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Demanded {
    /// An access demands a mode of the hardware. The swizzle says what the mode does to the offsets of elements.
    Mode(SwizzleMode, Swizzle),
    /// Any swizzle: the demand of a pin.
    Pinned(Swizzle),
}

impl Demanded {
    /// Returns the demand of an access on elements of this type; `None` if the mode tears such elements apart.
    pub(crate) fn mode(mode: SwizzleMode, dtype: DType) -> Option<Demanded> {
        Some(Demanded::Mode(mode, mode.of_elements(dtype.bits())?))
    }

    /// Returns the permutation of the offsets of elements.
    pub(crate) fn swizzle(self) -> Swizzle {
        match self {
            Demanded::Mode(_, swizzle) | Demanded::Pinned(swizzle) => swizzle,
        }
    }

    /// Returns the demand that meets both; `None` if they permute differently. A named swizzle keeps its name.
    pub(crate) fn unify(self, other: Demanded) -> Option<Demanded> {
        let is_named = matches!(self, Demanded::Mode(..));
        self.swizzle().permutes_as(other.swizzle()).then_some(if is_named { self } else { other })
    }

    /// Names the swizzle in a sentence: `the 128 B swizzle`, `no swizzle`, `swizzle<2, 0, 3>`.
    pub(crate) fn phrase(self) -> String {
        match self {
            Demanded::Mode(mode, _) => mode.phrase(),
            Demanded::Pinned(swizzle) if swizzle.is_identity() => "no swizzle".to_owned(),
            Demanded::Pinned(swizzle) => format!("`{}`", swizzle.source_form()),
        }
    }
}

impl std::fmt::Display for Demanded {
    /// Writes the swizzle as part of a layout; nothing for the identity.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Demanded::Mode(mode, swizzle) if !swizzle.is_identity() => {
                write!(f, "{} swizzle ∘ ", mode.name())
            }
            Demanded::Pinned(swizzle) if !swizzle.is_identity() => write!(f, "{} ∘ ", swizzle.source_form()),
            _ => Ok(()),
        }
    }
}

/// The swizzles that one party accepts.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Party {
    by: Demander,
    accepts: Vec<Demanded>,
}

/// The pin or the access that demands a swizzle.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Demander {
    /// The pin of the tensor.
    Pin,
    /// The alternative that the run must take.
    Wish,
    /// An access of an operation, by one of these instructions.
    Access(OpId, Vec<&'static str>),
}

impl Party {
    /// Returns the swizzles that a party accepts, given the demands of its candidates. Returns `None` if one of them takes any
    /// swizzle.
    pub(super) fn of(by: Demander, demands: impl Iterator<Item = Option<Demanded>>) -> Option<Party> {
        let mut accepts: Vec<Demanded> = Vec::new();
        for demanded in demands {
            let demanded = demanded?;
            if !accepts.contains(&demanded) {
                accepts.push(demanded);
            }
        }
        (!accepts.is_empty()).then_some(Party { by, accepts })
    }

    /// Names the swizzles: `the 128 B swizzle or no swizzle`.
    pub(super) fn phrase(&self) -> String {
        let names: Vec<String> = self.accepts.iter().map(|demanded| demanded.phrase()).collect();
        names.join(" or ")
    }
}

/// Returns the first two parties that accept no common swizzle; `None` if all pairs agree.
pub(super) fn disagreeing(parties: &[Party]) -> Option<[&Party; 2]> {
    let agree =
        |a: &Party, b: &Party| a.accepts.iter().any(|x| b.accepts.iter().any(|y| x.unify(*y).is_some()));
    let pairs = parties.iter().enumerate().flat_map(|(i, b)| parties[..i].iter().map(move |a| [a, b]));
    pairs.into_iter().find(|[a, b]| !agree(a, b))
}

/// Returns the failure of two parties that accept no common swizzle of a shared tensor.
pub(super) fn conflict(name: &str, tensor: TensorId, [one, other]: [&Party; 2]) -> Failure {
    let message = format!("no swizzle of the shared tensor `{name}` serves all of its accesses");
    let failure = Failure::new(FailureKind::Conflict, message);
    let failure = [one, other].into_iter().fold(failure, |failure, party| match &party.by {
        Demander::Access(op, instructions) => {
            let by: Vec<String> = instructions.iter().map(|name| format!("`{name}`")).collect();
            let text = format!("this access by {} demands {}", by.join(" or "), party.phrase());
            failure.part(Some(*op), Some(tensor), text)
        }
        Demander::Pin => {
            failure.part(None, Some(tensor), format!("`{name}` is pinned to {}", party.phrase()))
        }
        Demander::Wish => {
            failure.part(None, Some(tensor), format!("{} of `{name}` is asked for", party.phrase()))
        }
    });
    match [&one.by, &other.by] {
        [Demander::Access(..), Demander::Access(..)] => failure.help(format!(
            "give each of the two accesses a shared tensor of its own, and copy `{name}` to both"
        )),
        [Demander::Wish, _] | [_, Demander::Wish] => failure,
        _ => failure.help(format!("without the pin, `{name}` gets the swizzle that its accesses demand")),
    }
}
