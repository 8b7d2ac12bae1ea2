//! The ends of views that are not those of their tensor, as far as boxes can have them.

use hx_index::{Expr, Facts};

use crate::{TensorParam, View};

impl View {
    /// Returns the dimension in which boxes of the view end before its tensor does, and the first coordinate past their end. A tensor map
    /// knows only the ends of the tensor, and needs two more dimensions, of at most `most`, for an end that every copy states.
    ///
    /// # Errors
    /// The reason why no map has such an end.
    pub fn box_end(
        &self,
        param: &TensorParam,
        most: usize,
        facts: &Facts,
    ) -> Result<Option<(usize, Expr)>, String> {
        let Some((dim, first)) = self.ends.first() else { return Ok(None) };
        let (name, rank) = (&param.name, param.shape.len());
        if self.ends.iter().any(|(other, _)| other != dim) {
            return Err(format!("the part of `{name}` ends before the tensor in more than one dimension"));
        }
        if param.stride.get(*dim).and_then(Expr::as_const) == Some(1) {
            return Err(format!("the part of `{name}` ends at `{first}` in its contiguous dimension"));
        }
        if rank + 2 > most {
            return Err(format!(
                "the part of `{name}` ends at `{first}` in dimension {dim} of {rank}, and boxes with such an end have at most {}",
                most - 2
            ));
        }
        let start = &self.offsets[*dim];
        if !facts.proves_le(&Expr::default(), start) {
            return Err(format!("the part of `{name}` may begin before the tensor, at `{start}`"));
        }
        let inside = param.shape[*dim].clone();
        let end = self.ends.iter().fold(inside, |end, (_, own)| end.minimum(own, facts));
        // A coordinate below 0 of a box that is all outside its map is an illegal instruction on an H100.
        Ok(Some((*dim, end.maximum(&Expr::default(), facts))))
    }
}
