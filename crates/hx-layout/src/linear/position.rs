//! Composition and comparison of linear layouts whose dimensions have different names: by position.

use super::{InDim, LinearError, LinearLayout, list};

impl LinearLayout {
    /// Returns *x -> second(self(x))*. The outputs of `self` and the inputs of `second` match by name if both have the same names,
    /// and otherwise by position. The result has the input names of `self` and the output names of `second`.
    ///
    /// # Errors
    /// If the numbers of dimensions differ, an output of `self` is larger than the input of `second`, or a name of both is at two
    /// positions while other names differ.
    pub fn compose_by_position(&self, second: &LinearLayout) -> Result<LinearLayout, LinearError> {
        let found: Vec<&str> = self.outs().iter().map(|d| d.name.as_str()).collect();
        let wanted: Vec<&str> = second.ins().iter().map(|d| d.name.as_str()).collect();
        if found.len() != wanted.len() {
            return Err(LinearError::Dims { found: list(found), wanted: list(wanted) });
        }
        if found.iter().all(|name| wanted.contains(name)) {
            return self.compose(second);
        }
        if let Some(name) = moved(&found, &wanted) {
            return Err(LinearError::Moved {
                name: name.to_string(),
                found: list(found),
                wanted: list(wanted),
            });
        }
        let renamed = found.iter().zip(second.ins());
        let renamed =
            renamed.map(|(name, dim)| InDim { name: (*name).to_string(), bases: dim.bases.clone() });
        self.compose(&LinearLayout::from_flat(renamed.collect(), second.outs().to_vec())?)
    }

    /// Reports whether both are the same function of their dimensions by position, of the same sizes. Names may differ, but a name
    /// that both have is at the same position in both.
    pub fn equals_by_position(&self, other: &LinearLayout) -> bool {
        let ins = |l: &LinearLayout| l.ins().iter().map(|d| d.bases.clone()).collect::<Vec<_>>();
        let outs = |l: &LinearLayout| l.outs().iter().map(|d| d.bits).collect::<Vec<_>>();
        let in_names = |l: &'_ LinearLayout| l.ins().iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        let out_names = |l: &'_ LinearLayout| l.outs().iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        ins(self) == ins(other)
            && outs(self) == outs(other)
            && moved(&in_names(self), &in_names(other)).is_none()
            && moved(&out_names(self), &out_names(other)).is_none()
    }
}

/// Returns the first name that both lists have at different positions.
fn moved<'a, T: PartialEq>(first: &'a [T], second: &[T]) -> Option<&'a T> {
    first
        .iter()
        .enumerate()
        .find(|(i, name)| second.iter().position(|other| other == *name).is_some_and(|j| j != *i))
        .map(|(_, name)| name)
}
