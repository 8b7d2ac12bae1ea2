//! Operations on linear layouts: properties, composition, inverses, products, selections, reshapes.

use super::gf2::Echelon;
use super::{InDim, LinearError, LinearLayout, OutDim, check_unique, list, log2};

impl LinearLayout {
    /// Returns the number of linearly independent values of input bits.
    pub fn rank(&self) -> u32 {
        Echelon::new(&self.columns()).rank()
    }

    /// Reports whether every output is a value.
    pub fn is_surjective(&self) -> bool {
        self.rank() == self.out_bits()
    }

    /// Reports whether no value occurs twice.
    pub fn is_injective(&self) -> bool {
        self.rank() == self.in_bits()
    }

    /// Reports whether the layout is one-to-one and onto.
    pub fn is_invertible(&self) -> bool {
        self.is_injective() && self.is_surjective()
    }

    /// Returns how many elements are contiguous: the largest power of two *V* such that, along the first input and first output
    /// dimension, *L(aV + v, ..) = L(aV, ..) + (v, 0, ..)* for each *v* below *V*.
    pub fn num_consecutive(&self) -> u64 {
        let (Some(first), Some(out)) = (self.ins.first(), self.outs.first()) else { return 1 };
        let columns = self.columns();
        let fits = |bits: usize| {
            let low = (1u64 << bits) - 1;
            let own = (0..bits).all(|b| first.bases[b] == 1 << b);
            own && columns[bits..].iter().all(|v| v & low == 0)
        };
        let most = first.bases.len().min(out.bits as usize);
        (0..=most).rev().find(|&bits| fits(bits)).map_or(1, |bits| 1 << bits)
    }

    /// Returns, for each input, the mask of its bits whose value is a combination of those of lower bits in flattened order.
    pub fn free_masks(&self) -> Vec<(String, u64)> {
        let columns = self.columns();
        let echelon = Echelon::new(&columns);
        let mut start = 0;
        let mask = |dim: &InDim| {
            let end = start + dim.bases.len();
            let own = echelon.free().iter().filter(|&&i| (start..end).contains(&i));
            let mask = own.fold(0, |mask, &i| mask | 1 << (i - start));
            start = end;
            (dim.name.clone(), mask)
        };
        self.ins.iter().map(mask).collect()
    }

    /// Returns *x -> second(self(x))*, with dimensions matched by name.
    ///
    /// # Errors
    /// If the names differ or an output of `self` is larger than the input of `second`.
    pub fn compose(&self, second: &LinearLayout) -> Result<LinearLayout, LinearError> {
        let names = |dims: Vec<&str>| list(dims);
        let mismatch = || LinearError::Dims {
            found: names(self.outs.iter().map(|d| d.name.as_str()).collect()),
            wanted: names(second.ins.iter().map(|d| d.name.as_str()).collect()),
        };
        if self.outs.len() != second.ins.len() {
            return Err(mismatch());
        }
        // For each bit of the flattened output of `self`, the value of `second` at that bit.
        let mut through = Vec::with_capacity(self.out_bits() as usize);
        for out in &self.outs {
            let dim = second.ins.iter().find(|d| d.name == out.name).ok_or_else(mismatch)?;
            if out.bits as usize > dim.bases.len() {
                return Err(LinearError::Size { found: out.size(), wanted: 1 << dim.bases.len() });
            }
            through.extend_from_slice(&dim.bases[..out.bits as usize]);
        }
        let image = |v: &u64| {
            through.iter().enumerate().filter(|(b, _)| (v >> b) & 1 == 1).fold(0, |x, (_, y)| x ^ y)
        };
        let map = |d: &InDim| InDim { name: d.name.clone(), bases: d.bases.iter().map(image).collect() };
        LinearLayout::from_flat(self.ins.iter().map(map).collect(), second.outs.clone())
    }

    /// Returns the inverse: inputs and outputs change places.
    ///
    /// # Errors
    /// If there is none.
    pub fn invert(&self) -> Result<LinearLayout, LinearError> {
        if !self.is_injective() {
            return Err(LinearError::NotInvertible("a value occurs twice"));
        }
        self.pseudoinvert().map_err(|_| LinearError::NotInvertible("some output is not a value"))
    }

    /// Returns the layout *R* with *self(R(y)) = y*. Each value of *R* is the smallest possible.
    ///
    /// # Errors
    /// If `self` is not surjective.
    pub fn pseudoinvert(&self) -> Result<LinearLayout, LinearError> {
        let echelon = Echelon::new(&self.columns());
        let mut ins = Vec::with_capacity(self.outs.len());
        let mut bit = 0;
        for out in &self.outs {
            let solve = |b: u32| echelon.solve(1 << (bit + b)).ok_or(LinearError::NotSurjective);
            let bases = (0..out.bits).map(solve).collect::<Result<_, _>>()?;
            ins.push(InDim { name: out.name.clone(), bases });
            bit += out.bits;
        }
        LinearLayout::from_flat(ins, self.ins_as_outs())
    }

    fn ins_as_outs(&self) -> Vec<OutDim> {
        let out = |d: &InDim| OutDim { name: d.name.clone(), bits: d.bases.len() as u32 };
        self.ins.iter().map(out).collect()
    }

    /// Returns the layout *C* with *b(C(x)) = self(x)*, with outputs matched by name. Each value of *C* is the smallest possible.
    ///
    /// # Errors
    /// If the output names differ or a value of `self` is not one of `b`.
    pub fn invert_and_compose(&self, b: &LinearLayout) -> Result<LinearLayout, LinearError> {
        let names = |l: &LinearLayout| list(l.outs.iter().map(|d| d.name.as_str()));
        let mut width = Vec::with_capacity(b.outs.len());
        for out in &b.outs {
            let own = self.outs.iter().find(|d| d.name == out.name);
            width.push((out.name.clone(), own.map_or(0, |d| d.bits).max(out.bits), own.is_some()));
        }
        if self.outs.len() != b.outs.len() || width.iter().any(|w| !w.2) {
            return Err(LinearError::Dims { found: names(self), wanted: names(b) });
        }
        let spread = |layout: &LinearLayout, value: u64| {
            let entries = layout.unflatten_out(value);
            let mut shift = 0;
            width.iter().fold(0u64, |flat, (name, bits, _)| {
                let entry =
                    layout.outs.iter().zip(&entries).find(|(d, _)| d.name == *name).map_or(0, |(_, e)| *e);
                shift += bits;
                flat | entry << (shift - bits)
            })
        };
        let bits: u64 = width.iter().map(|w| u64::from(w.1)).sum();
        if bits > u64::from(super::MAX_BITS) {
            return Err(LinearError::TooManyBits { what: "the common output", bits });
        }
        let columns: Vec<u64> = b.columns().into_iter().map(|v| spread(b, v)).collect();
        let echelon = Echelon::new(&columns);
        let mut ins = Vec::with_capacity(self.ins.len());
        for dim in &self.ins {
            let solve = |(bit, &v): (usize, &u64)| {
                let missing = || LinearError::NotInImage { dim: dim.name.clone(), bit };
                echelon.solve(spread(self, v)).ok_or_else(missing)
            };
            let bases = dim.bases.iter().enumerate().map(solve).collect::<Result<_, _>>()?;
            ins.push(InDim { name: dim.name.clone(), bases });
        }
        LinearLayout::from_flat(ins, b.ins_as_outs())
    }

    /// Restricts the layout to the named inputs, the others at 0, and to the named outputs. The order stays.
    ///
    /// # Errors
    /// If a name is unknown.
    pub fn sublayout(&self, in_dims: &[&str], out_dims: &[&str]) -> Result<LinearLayout, LinearError> {
        self.check_ins(in_dims)?;
        self.check_outs(out_dims)?;
        let outs: Vec<OutDim> =
            self.outs.iter().filter(|d| out_dims.contains(&d.name.as_str())).cloned().collect();
        let keep = |&v: &u64| self.select(v, &outs);
        let ins = self.ins.iter().filter(|d| in_dims.contains(&d.name.as_str()));
        let ins = ins.map(|d| InDim { name: d.name.clone(), bases: d.bases.iter().map(keep).collect() });
        LinearLayout::from_flat(ins.collect(), outs)
    }

    /// Restricts a flattened output to the dimensions `outs`, in their order.
    fn select(&self, value: u64, outs: &[OutDim]) -> u64 {
        let entries = self.unflatten_out(value);
        let mut shift = 0;
        outs.iter().fold(0, |flat, out| {
            let entry =
                self.outs.iter().zip(&entries).find(|(d, _)| d.name == out.name).map_or(0, |(_, e)| *e);
            shift += out.bits;
            flat | entry << (shift - out.bits)
        })
    }

    /// Reports whether the named inputs alone map everything to 0 in the named outputs.
    ///
    /// # Errors
    /// If a name is unknown.
    pub fn sublayout_is_zero(&self, in_dims: &[&str], out_dims: &[&str]) -> Result<bool, LinearError> {
        Ok(self.sublayout(in_dims, out_dims)?.columns().iter().all(|&v| v == 0))
    }

    /// Reorders the inputs.
    ///
    /// # Errors
    /// If `order` is not a permutation of their names.
    pub fn transpose_ins(&self, order: &[&str]) -> Result<LinearLayout, LinearError> {
        self.check_ins(order)?;
        self.check_permutation(order, self.ins.len())?;
        let ins = order.iter().filter_map(|name| self.ins.iter().find(|d| d.name == *name)).cloned();
        LinearLayout::from_flat(ins.collect(), self.outs.clone())
    }

    /// Reorders the outputs.
    ///
    /// # Errors
    /// If `order` is not a permutation of their names.
    pub fn transpose_outs(&self, order: &[&str]) -> Result<LinearLayout, LinearError> {
        self.check_outs(order)?;
        self.check_permutation(order, self.outs.len())?;
        let outs = order.iter().filter_map(|name| self.outs.iter().find(|d| d.name == *name)).cloned();
        let outs: Vec<OutDim> = outs.collect();
        let turn = |&v: &u64| self.select(v, &outs);
        let ins = self
            .ins
            .iter()
            .map(|d| InDim { name: d.name.clone(), bases: d.bases.iter().map(turn).collect() });
        LinearLayout::from_flat(ins.collect(), outs.clone())
    }

    /// Returns the same flattened function with other input dimensions.
    ///
    /// # Errors
    /// If a size is no power of two or the sizes do not multiply to that of the inputs.
    pub fn reshape_ins(&self, dims: &[(&str, i64)]) -> Result<LinearLayout, LinearError> {
        let shape = new_dims(dims, self.in_bits())?;
        let mut columns = self.columns().into_iter();
        let ins = shape
            .into_iter()
            .map(|d| InDim { bases: columns.by_ref().take(d.bits as usize).collect(), name: d.name });
        LinearLayout::from_flat(ins.collect(), self.outs.clone())
    }

    /// Returns the same flattened function with other output dimensions.
    ///
    /// # Errors
    /// If a size is no power of two or the sizes do not multiply to that of the outputs.
    pub fn reshape_outs(&self, dims: &[(&str, i64)]) -> Result<LinearLayout, LinearError> {
        LinearLayout::from_flat(self.ins.clone(), new_dims(dims, self.out_bits())?)
    }

    /// Reports whether the layout is the identity on each of `dims`, no other input reaches them, and they reach no other output.
    ///
    /// # Errors
    /// If a name is not both an input and an output.
    pub fn is_trivial_over(&self, dims: &[&str]) -> Result<bool, LinearError> {
        self.check_ins(dims)?;
        self.check_outs(dims)?;
        for dim in &self.ins {
            let named = dims.contains(&dim.name.as_str());
            for (bit, &v) in dim.bases.iter().enumerate() {
                for (out, entry) in self.outs.iter().zip(self.unflatten_out(v)) {
                    let own = named && out.name == dim.name;
                    let right = match (own, named || dims.contains(&out.name.as_str())) {
                        (true, _) => entry == 1 << bit,
                        (false, true) => entry == 0,
                        (false, false) => true,
                    };
                    if !right {
                        return Ok(false);
                    }
                }
            }
        }
        let same_size = |name: &str| {
            let bits = self.ins.iter().find(|d| d.name == name).map(|d| d.bases.len() as u32);
            bits == self.outs.iter().find(|d| d.name == name).map(|d| d.bits)
        };
        Ok(dims.iter().all(|name| same_size(name)))
    }

    /// Returns the layout of the remaining dimensions if `self` is trivial over `dims`, else `None`.
    ///
    /// # Errors
    /// If a name is not both an input and an output.
    pub fn quotient(&self, dims: &[&str]) -> Result<Option<LinearLayout>, LinearError> {
        if !self.is_trivial_over(dims)? {
            return Ok(None);
        }
        let ins: Vec<&str> = self.ins.iter().map(|d| d.name.as_str()).filter(|n| !dims.contains(n)).collect();
        let outs: Vec<&str> =
            self.outs.iter().map(|d| d.name.as_str()).filter(|n| !dims.contains(n)).collect();
        self.sublayout(&ins, &outs).map(Some)
    }

    fn check_ins(&self, names: &[&str]) -> Result<(), LinearError> {
        let unknown = names.iter().find(|n| !self.ins.iter().any(|d| d.name == **n));
        unknown.map_or(Ok(()), |n| Err(LinearError::UnknownDim(n.to_string())))
    }

    fn check_outs(&self, names: &[&str]) -> Result<(), LinearError> {
        let unknown = names.iter().find(|n| !self.outs.iter().any(|d| d.name == **n));
        unknown.map_or(Ok(()), |n| Err(LinearError::UnknownDim(n.to_string())))
    }

    fn check_permutation(&self, order: &[&str], count: usize) -> Result<(), LinearError> {
        let names: Vec<String> = order.iter().map(|n| n.to_string()).collect();
        check_unique(names.iter())?;
        if order.len() != count {
            return Err(LinearError::Size { found: order.len() as u64, wanted: count as u64 });
        }
        Ok(())
    }
}

fn new_dims(dims: &[(&str, i64)], bits: u32) -> Result<Vec<OutDim>, LinearError> {
    let shape = dims.iter().map(|&(name, size)| Ok(OutDim { name: name.into(), bits: log2(size)? }));
    let shape = shape.collect::<Result<Vec<_>, LinearError>>()?;
    let found: u32 = shape.iter().map(|d| d.bits).sum();
    if found != bits {
        return Err(LinearError::Size { found: 1u64 << found.min(63), wanted: 1 << bits });
    }
    Ok(shape)
}
