//! Decides whether boxes can end where a view does: at ends that are not those of its tensor, and at ends of rows.

use hx_index::{Expr, Facts};
use hx_target::MapLimits;

use crate::{TensorParam, View};

impl View {
    /// Returns the dimension in which boxes of the view end before its tensor does, and the first coordinate past their end.
    /// `None` if they end with the tensor. A tensor map knows only the ends of the tensor. For any other end it needs two
    /// dimensions more than the tensor has, and it has at most `most`.
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

    /// Checks that the rows of boxes of the view begin where the hardware takes them, that they end with a whole byte and, with
    /// `writes`, that no box writes behind the end of a row of the tensor. Facts of the kernel and of the launch decide.
    ///
    /// # Errors
    /// A text about the start or end of a row that is not known to be a multiple of `limits.corner` or `limits.tail` bytes, or of whole
    /// bytes.
    pub fn box_rows(
        &self,
        param: &TensorParam,
        limits: &MapLimits,
        writes: bool,
        facts: &Facts,
    ) -> Result<(), String> {
        let is_row = |dim: &usize| param.stride.get(*dim).and_then(Expr::as_const) == Some(1);
        let Some(dim) = self.modes.iter().map(|mode| mode.dim).find(is_row) else { return Ok(()) };
        let (name, bits) = (&param.name, i64::from(param.dtype.bits()));
        let known = |e: &Expr| facts.divisor(&e.scale(bits));
        let is_no_multiple = |e: &Expr, unit: i64| match e.as_const() {
            Some(_) => format!("which is {} and no multiple of {unit} B", bytes_text(known(e))),
            None => {
                let known = bytes_text(known(e));
                format!("which is known to be a multiple of {known} only, not of {unit} B")
            }
        };
        let (first, end) = (&self.offsets[dim], &param.shape[dim]);
        if known(first) % (limits.corner * 8) != 0 {
            return Err(format!(
                "the rows of the tile begin at `{first}` in `{name}`, {}",
                is_no_multiple(first, limits.corner)
            ));
        }
        let last = self
            .modes
            .iter()
            .filter(|mode| mode.dim == dim)
            .fold(first.clone(), |last, mode| last + mode.factor.scale(mode.extent - 1));
        let is_inside = facts.proves_lt(&last, end);
        if writes && known(end) % (limits.tail * 8) != 0 && !is_inside {
            return Err(format!(
                "the rows of `{name}` end at `{end}`, {}, and boxes are written up to one",
                is_no_multiple(end, limits.tail)
            ));
        }
        // The hardware clips whole bytes. If a row ended within one, its last byte would bring elements behind the end, which are not 0.
        if known(end) % 8 != 0 && !is_inside {
            let (may, is) = match end.as_const() {
                Some(_) => ("end", "is no multiple"),
                None => ("may end", "is not known to be a multiple"),
            };
            let (each, dtype) = (param.dtype.per_byte(), param.dtype);
            return Err(format!(
                "the rows of `{name}` {may} within a byte, at `{end}`, which {is} of {each} elements of type `{dtype}`"
            ));
        }
        Ok(())
    }
}

/// Returns a number of bits as text: `4 B`, or `4 bits` if they are no whole bytes.
pub fn bytes_text(bits: i64) -> String {
    if bits % 8 == 0 { format!("{} B", bits / 8) } else { format!("{bits} bits") }
}
