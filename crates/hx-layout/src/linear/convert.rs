//! Converts between shape:stride layouts and linear ones.
//!
//! A layout is linear over F2 iff its extents are powers of two and the indices of its bits are pairwise disjoint as bit sets:
//! sums are then xors. Conversely, a linear layout with disjoint values is a shape:stride layout.

use super::{InDim, LinearError, LinearLayout, OutDim, log2};
use crate::layout::Mode;
use crate::{AfterSwizzle, ComposedLayout, Layout};

/// Returns the index of each bit of a 1-D coordinate, lowest first.
fn bit_indices(layout: &Layout) -> Result<Vec<u64>, LinearError> {
    let mut out = Vec::new();
    for &(extent, stride) in layout.leaves() {
        for bit in 0..log2(extent)? {
            // The index lies within the span of the layout, so it fits.
            let index = stride << bit;
            out.push(
                u64::try_from(index)
                    .map_err(|_| LinearError::NotLinear(format!("stride {stride} is negative")))?,
            );
        }
    }
    Ok(out)
}

/// Refuses values if two of them share a bit.
fn check_disjoint(values: &[u64], fault: impl Fn(u64, u64) -> LinearError) -> Result<(), LinearError> {
    let mut seen = 0u64;
    for (i, &v) in values.iter().enumerate() {
        if v & seen != 0 {
            let other = values[..i].iter().find(|&&w| w & v != 0).copied().unwrap_or(seen);
            return Err(fault(other, v));
        }
        seen |= v;
    }
    Ok(())
}

fn sums_are_xors(values: &[u64]) -> Result<(), LinearError> {
    check_disjoint(values, |a, b| {
        LinearError::NotLinear(format!("indices {a} and {b} share bits, so their sum is not their xor"))
    })
}

/// Returns an output `index` of the smallest power of two above every xor of the values.
fn index_dim(values: &[u64]) -> OutDim {
    let top = values.iter().fold(0, |top, v| top | v);
    OutDim { name: "index".into(), bits: 64 - top.leading_zeros() }
}

impl LinearLayout {
    /// Converts a layout to bits, from input `coord` to output `index`.
    ///
    /// # Errors
    /// If a size is no power of two or the function is not xor-linear.
    pub fn from_layout(layout: &Layout) -> Result<LinearLayout, LinearError> {
        let bases = bit_indices(layout)?;
        sums_are_xors(&bases)?;
        let out = index_dim(&bases);
        LinearLayout::from_flat(vec![InDim { name: "coord".into(), bases }], vec![out])
    }

    /// Converts a layout to bits, with inputs `m0`, `m1`, .. for its top-level modes.
    ///
    /// # Errors
    /// As for [`LinearLayout::from_layout`].
    pub fn from_layout_by_mode(layout: &Layout) -> Result<LinearLayout, LinearError> {
        let all = bit_indices(layout)?;
        sums_are_xors(&all)?;
        let dims = layout.modes().into_iter().enumerate();
        let dims = dims.map(|(i, mode)| Ok(InDim { name: format!("m{i}"), bases: bit_indices(&mode)? }));
        LinearLayout::from_flat(dims.collect::<Result<_, LinearError>>()?, vec![index_dim(&all)])
    }

    /// Converts a composed layout to bits, from input `coord` to output `index`.
    ///
    /// # Errors
    /// As for [`LinearLayout::from_layout`]; and if the offset is not 0, because a linear function maps 0 to 0.
    pub fn from_composed(composed: &ComposedLayout) -> Result<LinearLayout, LinearError> {
        if composed.offset != 0 {
            return Err(LinearError::NotLinear(format!("the offset is {}", composed.offset)));
        }
        let indices = bit_indices(&composed.layout)?;
        sums_are_xors(&indices)?;
        let bases: Vec<u64> = indices.into_iter().map(|v| composed.swizzle.apply(v as i64) as u64).collect();
        let out = index_dim(&bases);
        LinearLayout::from_flat(vec![InDim { name: "coord".into(), bases }], vec![out])
    }

    /// Converts a layout after a swizzle to bits, from input `coord` to output `index`.
    ///
    /// # Errors
    /// As for [`LinearLayout::from_layout`]; and if the swizzle leaves the coordinates of the layout.
    pub fn from_after_swizzle(after: &AfterSwizzle) -> Result<LinearLayout, LinearError> {
        let layout = LinearLayout::from_layout(&after.layout)?;
        if after.size() != after.layout.size() {
            let why = format!("the swizzle takes {} beyond the layout", after.size());
            return Err(LinearError::NotLinear(why));
        }
        let value = |bit: u32| layout.apply_flat(after.swizzle.apply(1 << bit) as u64);
        let bases = (0..layout.in_bits()).map(value).collect();
        LinearLayout::from_flat(vec![InDim { name: "coord".into(), bases }], layout.outs)
    }

    /// Converts a thread-value layout into the column-major tile of `rows` by `cols`. Its two modes become the two inputs, and
    /// index `row + rows * col` becomes `(row, col)`.
    ///
    /// # Errors
    /// If the layout has not two modes, reaches beyond the tile, or is not xor-linear, or a size is no power of two.
    pub fn from_tv(
        tv: &Layout,
        tile: (i64, i64),
        in_dims: [&str; 2],
        out_dims: [&str; 2],
    ) -> Result<LinearLayout, LinearError> {
        let modes = tv.modes();
        let [threads, values] = modes.as_slice() else {
            return Err(LinearError::Size { found: modes.len() as u64, wanted: 2 });
        };
        sums_are_xors(&bit_indices(tv)?)?;
        let ins = vec![
            InDim { name: in_dims[0].into(), bases: bit_indices(threads)? },
            InDim { name: in_dims[1].into(), bases: bit_indices(values)? },
        ];
        let outs = vec![
            OutDim { name: out_dims[0].into(), bits: log2(tile.0)? },
            OutDim { name: out_dims[1].into(), bits: log2(tile.1)? },
        ];
        LinearLayout::from_flat(ins, outs)
    }

    /// Returns a shape:stride layout with the same flattened function: one mode for each input, or a plain layout for one input.
    ///
    /// # Errors
    /// If there is none.
    pub fn to_layout(&self) -> Result<Layout, LinearError> {
        check_disjoint(&self.columns(), LinearError::NotALayout)?;
        let mode = |dim: &InDim| {
            let bits: Vec<Mode> = dim.bases.iter().map(|&v| (2, v as i64)).collect();
            Layout::flat(&crate::algebra::coalesce::coalesced(&bits))
        };
        let modes = self.ins.iter().map(mode).collect::<Result<Vec<_>, _>>()?;
        Ok(match modes.as_slice() {
            [only] => only.clone(),
            _ => Layout::concat(&modes)?,
        })
    }
}
