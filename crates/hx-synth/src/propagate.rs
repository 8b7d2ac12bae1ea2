//! Propagation: layouts that follow from those already known.

use std::collections::BTreeMap;

use hx_tile::{OpKind, Reason, TensorId};

use crate::component::Component;
use crate::distribution::Tv;
use crate::failure::{Failure, FailureKind};

/// A layout with the reason for it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) tv: Tv,
    pub(crate) reason: Reason,
}

pub(crate) type Layouts = BTreeMap<TensorId, Known>;

/// Fires every elementwise constraint with one unknown side, in the order of the text, until nothing changes.
pub(crate) fn elementwise(component: &Component<'_>, known: &mut Layouts) {
    loop {
        let mut changed = false;
        for (op, _) in &component.ops {
            let OpKind::Cast { dst, src } = op.kind else { continue };
            let (from, to) = match (known.contains_key(&src), known.contains_key(&dst)) {
                (true, false) => (src, dst),
                (false, true) => (dst, src),
                _ => continue,
            };
            let tv = known[&from].tv.clone();
            let reason = Reason { text: "elementwise: as its operand".into(), from: vec![op.id] };
            known.insert(to, Known { tv, reason });
            changed = true;
        }
        if !changed {
            return;
        }
    }
}

/// Checks that both sides of each elementwise operation are held alike.
pub(crate) fn check(component: &Component<'_>, known: &Layouts) -> Result<(), Failure> {
    for (op, _) in &component.ops {
        let OpKind::Cast { dst, src } = op.kind else { continue };
        let (Some(d), Some(s)) = (known.get(&dst), known.get(&src)) else { continue };
        if d.tv.positions_of(&s.tv).is_none() {
            let demand = |k: &Known| match (k.tv.thread_layout(), k.tv.value_layout()) {
                (Ok(t), Ok(v)) => format!("({t}, {v})"),
                _ => "a layout too large to print".into(),
            };
            let failure = Failure::new(
                FailureKind::Conflict,
                "the two sides of this operation are held by different threads".to_string(),
            );
            return Err(failure
                .at(op.id)
                .part(
                    s.reason.from.first().copied(),
                    Some(src),
                    format!("the source is held as {}: {}", demand(s), s.reason.text),
                )
                .part(
                    d.reason.from.first().copied(),
                    Some(dst),
                    format!("the result is held as {}: {}", demand(d), d.reason.text),
                )
                .help("`rearrange` moves a tensor to another layout"));
        }
    }
    Ok(())
}
