//! Products of linear layouts, and their inverse operation: division from either side.

use super::{InDim, LinearError, LinearLayout, OutDim, list};

impl LinearLayout {
    /// Returns the direct sum: `self` on the low bits and `outer` on the high bits of each dimension, of inputs and outputs
    /// alike. The dimensions keep the order of both operands; where both allow it, those of `self` come first.
    ///
    /// # Errors
    /// If no order of the dimensions keeps both, or there are too many bits.
    pub fn product(&self, outer: &LinearLayout) -> Result<LinearLayout, LinearError> {
        let in_names = |l: &LinearLayout| l.ins.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        let out_names = |l: &LinearLayout| l.outs.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        let inputs = merge(&in_names(self), &in_names(outer))?;
        let outputs = merge(&out_names(self), &out_names(outer))?;
        let bits =
            |l: &LinearLayout, name: &str| l.outs.iter().find(|d| d.name == name).map_or(0, |d| d.bits);
        let outs: Vec<OutDim> = outputs
            .into_iter()
            .map(|name| OutDim { bits: bits(self, &name) + bits(outer, &name), name })
            .collect();
        let place = |layout: &LinearLayout, v: u64, high: bool| {
            let entries = layout.unflatten_out(v);
            let mut shift = 0;
            outs.iter().fold(0u64, |flat, out| {
                let entry = layout.outs.iter().zip(&entries).find(|(d, _)| d.name == out.name);
                let up = if high { bits(self, &out.name) } else { 0 };
                shift += out.bits;
                flat | entry.map_or(0, |(_, e)| *e) << (shift - out.bits + up)
            })
        };
        let bases = |layout: &LinearLayout, name: &str, high: bool| {
            let dim = layout.ins.iter().find(|d| d.name == *name);
            dim.into_iter().flat_map(|d| &d.bases).map(|&v| place(layout, v, high)).collect::<Vec<_>>()
        };
        let total: u64 = outs.iter().map(|d| u64::from(d.bits)).sum();
        if total > u64::from(super::MAX_BITS) {
            return Err(LinearError::TooManyBits { what: "the output of the product", bits: total });
        }
        let ins = inputs.into_iter().map(|name| {
            let mut both = bases(self, &name, false);
            both.extend(bases(outer, &name, true));
            InDim { name, bases: both }
        });
        LinearLayout::from_flat(ins.collect(), outs.clone())
    }

    /// Returns the layout *c* over the dimensions of `self` with *self = b x c*, *x* being the product; `None` if there is none.
    pub fn divide_left(&self, b: &LinearLayout) -> Option<LinearLayout> {
        let quotient = self.part(b, true)?;
        (b.product(&quotient).as_ref() == Ok(self)).then_some(quotient)
    }

    /// Returns the layout *c* over the dimensions of `self` with *self = c x b*; `None` if there is none.
    pub fn divide_right(&self, b: &LinearLayout) -> Option<LinearLayout> {
        let quotient = self.part(b, false)?;
        (quotient.product(b).as_ref() == Ok(self)).then_some(quotient)
    }

    /// Returns the other factor of `self` if one factor has the sizes of `b`. In each dimension it takes the bits above those
    /// of `b` (`above`), or as many low bits as `b` leaves. `None` if a dimension of `b` has more bits than that of `self`.
    fn part(&self, b: &LinearLayout, above: bool) -> Option<LinearLayout> {
        let in_bits = |name: &str| b.ins.iter().find(|d| d.name == name).map_or(0, |d| d.bases.len());
        let out_bits = |name: &str| b.outs.iter().find(|d| d.name == name).map_or(0, |d| d.bits);
        let mut outs = Vec::with_capacity(self.outs.len());
        for out in &self.outs {
            outs.push(OutDim { name: out.name.clone(), bits: out.bits.checked_sub(out_bits(&out.name))? });
        }
        let shrink = |v: u64| {
            let mut shift = 0;
            self.unflatten_out(v).into_iter().zip(&outs).fold(0u64, |flat, (entry, out)| {
                let kept = if above { entry >> out_bits(&out.name) } else { entry & (out.size() - 1) };
                shift += out.bits;
                flat | kept << (shift - out.bits)
            })
        };
        let mut ins = Vec::with_capacity(self.ins.len());
        for dim in &self.ins {
            let taken = in_bits(&dim.name);
            let left = dim.bases.len().checked_sub(taken)?;
            let kept = if above { &dim.bases[taken..] } else { &dim.bases[..left] };
            ins.push(InDim { name: dim.name.clone(), bases: kept.iter().map(|&v| shrink(v)).collect() });
        }
        LinearLayout::from_flat(ins, outs.clone()).ok()
    }
}

/// Merges two lists of names into one order that keeps both. Names of `first` come as early as possible.
fn merge(first: &[String], second: &[String]) -> Result<Vec<String>, LinearError> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::with_capacity(first.len() + second.len());
    while i < first.len() || j < second.len() {
        let conflict = || LinearError::Order {
            first: list(first.iter().map(String::as_str)),
            second: list(second.iter().map(String::as_str)),
        };
        if i < first.len() && !second[j..].contains(&first[i]) {
            if second[..j].contains(&first[i]) {
                return Err(conflict());
            }
            out.push(first[i].clone());
            i += 1;
        } else if i < first.len() && first[i] == second[j] {
            out.push(first[i].clone());
            i += 1;
            j += 1;
        } else {
            if first[i..].contains(&second[j]) {
                return Err(conflict());
            }
            out.push(second[j].clone());
            j += 1;
        }
    }
    Ok(out)
}
