//! Follows the elements beyond the ends of tensors through a tile program, to the results that they enter.
//!
//! A tile may reach beyond the end of its tensor. The elements there have the value of `pad:`, 0 by default, and every operation on
//! the tile computes with them. This is right as long as no store writes what they become, and no operation combines them with
//! elements of the tensor, or does so with a value that changes nothing: 0 in a sum, `-inf` in a maximum.
//!
//! The analysis is an abstract interpretation. For each tensor it knows regions of elements, as conditions on their coordinates, with
//! the value of the elements in each ([`tensor_state`]). Regions move through views and shapes; values move through expressions
//! ([`number`]), where masks replace them. Loops run to a fixpoint ([`walk`]).
//!
//! Some of what it takes for granted is not proven, so that right programs raise nothing: tensors hold finite numbers, data name
//! elements that exist, and a mask that data decide begins where the padding does. See [`region::Ground`] for masks.
//!
//! Start at [`follow`].

mod combine;
mod count;
mod elementwise;
mod moves;
mod number;
mod region;
mod rings;
mod stores;
mod tensor_state;
mod walk;

use hx_dtype::{AtomicOp, Operator};
use hx_index::Symbol;
use hx_lower::{LaunchFacts, Lowered};
use hx_tile::{OpId, Origin};

use crate::stages::written_form;
use crate::{Db, Instance, solved};

pub(crate) use self::number::{Number, literal};
pub(crate) use self::region::{Region, along, axis_of};
pub(crate) use self::tensor_state::Edge;

/// The kind of operation through which padding enters a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PaddingConsumer {
    Reduce {
        operator: Operator,
        axis: usize,
    },
    Scan {
        axis: usize,
    },
    /// A product sums it along K with elements.
    Product,
    /// An atomic access or an adding store combines it with an element of memory.
    Atomic(AtomicOp),
    /// A sum over a cluster adds it to elements that other blocks have at the same coordinates.
    Cluster,
    /// The rounds of a loop combine it with elements of other rounds.
    Rounds,
    /// A maximum or minimum of two tensors combines it with an element of the other tensor.
    Elements(Operator),
    /// It is an index, and names an element that exists.
    Index,
}

/// A result that padding enters.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Mixture {
    /// The operation that combines the padding with elements.
    pub(crate) op: OpId,
    pub(crate) consumer: PaddingConsumer,
    /// The end of the tensor behind which the padding lies.
    pub(crate) edge: Edge,
    /// The value of the padding where it enters.
    pub(crate) value: Number,
    /// The operation that gave it this value.
    pub(crate) at: OpId,
    /// The elements, by their coordinates in a tensor of this shape.
    pub(crate) region: Region,
    pub(crate) shape: Vec<i64>,
}

/// The results of a program that padding enters, in program order.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Followed {
    pub(crate) mixtures: Vec<Mixture>,
    /// Whether all results were judged. A program may need too many proofs.
    pub(crate) is_whole: bool,
}

/// Padding that took part in an element of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TookPart {
    /// The place of the padding in words, such as `beyond the end of x`.
    pub place: String,
    /// The value with which it took part, if that is known.
    pub value: Option<String>,
    /// The origin of the operation that combined it with elements.
    pub origin: Origin,
    /// The number of its elements, if it is known without data.
    pub count: Option<u64>,
}

/// Returns the padding that took part in what an operation of an instance stored. `env` has the dimensions of the launch and the index
/// of the block.
pub fn took_part(
    db: &dyn Db,
    instance: Instance<'_>,
    stored: OpId,
    env: &dyn Fn(&Symbol) -> Option<i64>,
) -> Vec<TookPart> {
    let (Ok(written), Ok(solved)) = (written_form(db, instance.form(db)), solved(db, instance)) else {
        return Vec::new();
    };
    // The operations of both programs have the same origins.
    let program = &written.program;
    let Some(origin) = solved.program.op(solved.program.source_op(stored)).map(|op| op.origin) else {
        return Vec::new();
    };
    let stores = program.ops(1.0).into_iter().map(|(op, _)| op).filter(|op| op.origin == origin);
    let Some(stored) = stores.map(|op| op.id).next_back() else { return Vec::new() };
    let mixtures = of_form::followed(db, instance.form(db)).mixtures.iter();
    let mut found: Vec<TookPart> = Vec::new();
    for mixture in mixtures.filter(|mixture| count::leads_to(program, mixture.op, stored)) {
        let count = mixture.count(program, env);
        let Some(origin) = program.op(mixture.op).map(|op| op.origin) else { continue };
        let known = found.iter().any(|known| known.origin == origin);
        if count == Some(0) || known {
            continue;
        }
        let value = mixture.value.shown();
        found.push(TookPart { place: mixture.edge.place(program), value, origin, count });
    }
    found
}

/// Follows the padding of a program.
pub(crate) fn follow(lowered: &Lowered) -> Followed {
    walk::Walk::run(lowered)
}

/// Returns the tile program of an instance under the weakest facts about its launches, and the results that padding enters: a launch
/// may have dimensions of any length. If the kernel has no such program, that of the instance itself serves. `None` if it has none.
pub(crate) fn padded_program<'db>(
    db: &'db dyn Db,
    instance: Instance<'db>,
) -> Option<(&'db Lowered, &'db Followed)> {
    let weakest = instance
        .with_facts(db, LaunchFacts { units: instance.facts(db).units.clone(), ..LaunchFacts::none() });
    let with = |instance: Instance<'db>| {
        let lowered = written_form(db, instance.form(db)).as_ref().ok()?;
        Some((lowered, of_form::followed(db, instance.form(db))))
    };
    with(weakest).or_else(|| with(instance))
}

mod of_form {
    use super::{Db, Followed, follow};
    use crate::instance::Form;
    use crate::stages::written_form;

    /// Follows the program of a form once.
    #[salsa::tracked]
    pub(super) fn followed<'db>(db: &'db dyn Db, form: Form<'db>) -> Followed {
        written_form(db, form).as_ref().map(follow).unwrap_or_default()
    }
}
