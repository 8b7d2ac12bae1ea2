//! Checks copies in boxes and runs: writes every element of each to the place that the instruction gives it, and compares the result
//! with the solved layout.

use hx_index::Expr;
use hx_layout::Layout;
use hx_target::{Space, SwizzleMode};
use hx_tile::{Base, BulkChoice, Constant, PrefetchChoice, SharedLayout, TensorParam, View};

use crate::{Check, Checked, Walk};

impl Check<'_> {
    /// Checks a copy between global and shared memory: a load for some blocks of a cluster, a store, or one that adds.
    pub(crate) fn boxed(
        &self,
        global: &View,
        shared: &View,
        (is_load, adds, blocks): (bool, bool, u32),
        choice: &BulkChoice,
    ) -> Checked {
        let ends = if is_load { [Space::Global, Space::Shared] } else { [Space::Shared, Space::Global] };
        let row = Some(choice.row).filter(|row| [row.from, row.to] == ends);
        let row = row.ok_or_else(|| format!("`{}` is no such copy", choice.row))?;
        if !row.is_of(&self.program.target.rows().bulks) {
            return Err(format!("{} has no `{}`", self.program.target, row.name));
        }
        let (Base::Global(id), Base::Shared(tensor)) = (global.base, shared.base) else {
            return Err("a box is in global and in shared memory".into());
        };
        let param = self.program.tensor_param(id).ok_or("a box is of a tensor")?;
        let info = self.program.tensor(tensor);
        if param.dtype != info.dtype {
            return Err(format!("a box of {} is copied as {}", param.dtype, info.dtype));
        }
        if !row.moves(info.dtype, adds) {
            let wanted = if adds { "adds" } else { "writes" };
            return Err(format!("`{}` is not a copy that {wanted} elements of {}", row.name, info.dtype));
        }
        if choice.runs != row.run.is_some() {
            return Err(format!("`{}` takes {}", row.name, if choice.runs { "boxes" } else { "runs" }));
        }
        match row.run {
            Some(unit) => self.contiguous(param, global, choice, i64::from(unit))?,
            None => {
                self.mapped(param, global, (&choice.dims, &choice.extents))?;
                self.aligned(param, global, &choice.dims, !is_load)?;
            }
        }
        let layout =
            self.solution.shared.get(&tensor).ok_or_else(|| format!("`{}` has no layout", info.name))?;
        let mode = SwizzleMode::of(layout.swizzle, info.dtype.bits())
            .ok_or_else(|| format!("no box has the swizzle of `{}`", info.name))?;
        let width = i64::from(choice.extents[0]) * i64::from(info.dtype.bits()) / 8;
        if mode != SwizzleMode::Plain && (choice.runs || width != i64::from(mode.width_bytes())) {
            return Err(format!("the rows of a box have {width} B under {}", mode.phrase()));
        }
        let (shape, bits) = (&info.shape[..], i64::from(info.dtype.bits()));
        let blocks = match choice.share {
            None => 1,
            Some(_) if blocks > 1 => i64::from(blocks),
            Some(_) => return Err("blocks share a copy that is for one of them".into()),
        };
        if choice.share.is_some() && row.multicast.is_none() {
            return Err(format!("`{}` brings a box to one block only", row.name));
        }
        let align = row.run.map_or(i64::from(self.program.target.limits.wavefront_bytes()), i64::from);
        let block = param.block.as_ref();
        Boxes { block, global, shared, choice, layout, mode, shape, bits, blocks, align }.cover()
    }

    /// Checks that the elements of each run lie one after the other in global memory and inside of the tensor, and that runs begin and
    /// end at multiples of `unit` bytes.
    fn contiguous(&self, param: &TensorParam, global: &View, choice: &BulkChoice, unit: i64) -> Checked {
        let (rank, name, facts) = (param.stride.len(), &param.name, &self.program.facts);
        let mut dims = choice.dims.clone();
        dims.sort_unstable();
        if !dims.into_iter().eq(0..rank) || choice.extents.len() != rank {
            return Err(format!("the runs of `{name}` do not have its {rank} dimensions"));
        }
        if global.picked.is_some() {
            return Err(format!("`{name}` is not read as it lies in memory"));
        }
        let (bits, unit) = (i64::from(param.dtype.bits()), unit * 8);
        if let Some(block) = &param.block {
            self.whole(param, global, block, choice)?;
        }
        let mut length = 1;
        for (dim, extent) in choice.dims.iter().zip(&choice.extents) {
            let stride = &param.stride[*dim];
            // The elements of a block have an order of their own, and blocks follow each other.
            if param.block.is_some() {
                length *= i64::from(*extent);
                continue;
            }
            if *extent > 1 && stride.as_const() != Some(length) {
                return Err(format!("the stride `{stride}` of `{name}` interrupts a run"));
            }
            if *extent == 1 && facts.divisor(stride) * bits % unit != 0 && is_walked(global, *dim) {
                return Err(format!("runs of `{name}` begin at multiples of the stride `{stride}`"));
            }
            length *= i64::from(*extent);
        }
        let first = facts.divisor(&param.offset(&global.offsets, facts)) * bits;
        if [length * bits, first, i64::from(param.align) * 8].iter().any(|at| at % unit != 0) {
            return Err(format!(
                "a run of `{name}` of {} B begins at a multiple of {} B",
                length * bits / 8,
                first / 8
            ));
        }
        let own = global.ends.iter().map(|(dim, end)| (*dim, (&global.offsets[*dim], end)));
        for (dim, (offset, extent)) in global.offsets.iter().zip(&param.shape).enumerate().chain(own) {
            let along = global.modes.iter().filter(|mode| mode.dim == dim);
            let last = along.fold(offset.clone(), |last, mode| last + mode.factor.scale(mode.extent - 1));
            if !facts.proves_le(&Expr::default(), offset) || !facts.proves_lt(&last, extent) {
                return Err(format!("a run of `{name}` reaches `{last}` of `{extent}` in dimension {dim}"));
            }
        }
        Ok(())
    }

    /// Checks that runs of a tensor whose elements lie in blocks are whole blocks, from their first elements on.
    fn whole(&self, param: &TensorParam, global: &View, block: &Layout, choice: &BulkChoice) -> Checked {
        for (dim, extent) in choice.dims.iter().zip(&choice.extents) {
            let own = block.mode(*dim).size();
            if own != i64::from(*extent) || !self.program.facts.divides(own, &global.offsets[*dim]) {
                return Err(format!("a run of `{}` is no whole block along dimension {dim}", param.name));
            }
        }
        Ok(())
    }

    /// Checks that each row of a box begins at a multiple of [`MapLimits::corner`](hx_target::MapLimits::corner) bytes, and
    /// that no copy writes behind the end of a row of the tensor: no box reaches past the end, or the end is at a multiple of
    /// `tail` bytes. A load may only reach past an end at a whole byte.
    fn aligned(&self, param: &TensorParam, global: &View, dims: &[usize], writes: bool) -> Checked {
        let (limits, facts, name) = (&self.program.target.rows().map, &self.program.facts, &param.name);
        let bits = i64::from(param.dtype.bits());
        let Some(dim) = dims.first().copied() else { return Err("a box has no dimension".into()) };
        let (first, end) = (&global.offsets[dim], &param.shape[dim]);
        if facts.divisor(first) * bits % (limits.corner * 8) != 0 {
            return Err(format!("the rows of boxes of `{name}` begin at `{first}`"));
        }
        let along = global.modes.iter().filter(|mode| mode.dim == dim);
        let last = along.fold(first.clone(), |last, mode| last + mode.factor.scale(mode.extent - 1));
        let is_inside = facts.proves_lt(&last, end);
        if !is_inside && facts.divisor(end) * bits % 8 != 0 {
            return Err(format!("boxes of `{name}` end within a byte, at `{end}`"));
        }
        if writes && !is_inside && facts.divisor(end) * bits % (limits.tail * 8) != 0 {
            return Err(format!("boxes of `{name}` are written behind the end `{end}` of its rows"));
        }
        Ok(())
    }

    /// Checks the properties of boxes that do not depend on the shared tensor: the limits of a map, and that the view walks its
    /// dimensions one by one.
    fn mapped(&self, param: &TensorParam, global: &View, (along, extents): (&[usize], &[u32])) -> Checked {
        let (limits, rank, name) = (&self.program.target.rows().map, param.stride.len(), &param.name);
        let mut dims = along.to_vec();
        dims.sort_unstable();
        if rank > limits.dims || !dims.into_iter().eq(0..rank) || extents.len() != rank {
            return Err(format!("the boxes of `{name}` do not have its {rank} dimensions"));
        }
        if param.block.is_some() || global.picked.is_some() || global.pad != Constant::ZERO {
            return Err(format!("`{name}` is not read as it lies in memory"));
        }
        let bits = i64::from(param.dtype.bits());
        let facts = &self.program.facts;
        for (at, dim) in along.iter().enumerate() {
            let stride = &param.stride[*dim];
            let is_legal = match at {
                0 => stride.as_const() == Some(1),
                _ => facts.divisor(stride) * bits % (limits.stride * 8) == 0,
            };
            if !is_legal {
                return Err(format!("no map has the stride `{stride}` of `{name}` in place {at}"));
            }
        }
        // An end that copies state takes two dimensions of the map, and counts back from the end of the rows.
        for (dim, end) in &global.ends {
            let is_alone = global.ends.iter().all(|(other, _)| other == dim);
            let starts = facts.proves_le(&Expr::default(), &global.offsets[*dim]);
            if !is_alone || !starts || rank + 2 > limits.dims || along[0] == *dim {
                return Err(format!("no box of `{name}` ends at `{end}` in dimension {dim}"));
            }
        }
        let row = i64::from(extents[0]) * bits;
        // A map of elements narrower than a byte counts the bytes of its first dimension.
        let counts =
            extents.iter().enumerate().map(|(at, n)| if at == 0 { row / bits.max(8) } else { i64::from(*n) });
        let is_row = row % (i64::from(limits.row) * 8) == 0;
        if !is_row || counts.into_iter().any(|n| !(1..=i64::from(limits.r#box)).contains(&n)) {
            return Err(format!("boxes of `{name}` may not have the extents {extents:?}"));
        }
        if i64::from(param.align) % limits.stride != 0 {
            return Err(format!("`{name}` begins at a multiple of {} B only", param.align));
        }
        Ok(())
    }

    /// Checks that a prefetch fetches the whole tile: in boxes that tile it, or line by line.
    pub(crate) fn fetched(&self, view: &View, choice: &PrefetchChoice) -> Checked {
        let row = choice.row;
        if !row.is_of(&self.program.target.rows().prefetches) || row.boxes == choice.dims.is_empty() {
            return Err(format!("{} has no such `{}`", self.program.target, row.name));
        }
        if !row.boxes {
            return Ok(());
        }
        let param =
            view.base.param().and_then(|id| self.program.tensor_param(id)).ok_or("a box is of a tensor")?;
        self.mapped(param, view, (&choice.dims, &choice.extents))?;
        self.aligned(param, view, &choice.dims, false)?;
        for (dim, extent) in choice.dims.iter().zip(&choice.extents) {
            let mut modes = view.modes.iter().filter(|mode| mode.dim == *dim);
            let is_tiled = match (modes.next(), modes.next()) {
                (None, _) => *extent == 1,
                (Some(mode), None) => {
                    mode.factor.as_const() == Some(1) && mode.extent % i64::from(*extent) == 0
                }
                (Some(_), Some(_)) => false,
            };
            if !is_tiled {
                return Err(format!(
                    "boxes of {extent} along dimension {dim} do not tile the prefetch of `{}`",
                    param.name
                ));
            }
        }
        Ok(())
    }
}

/// Reports whether a view takes several steps along a dimension of its base.
fn is_walked(view: &View, dim: usize) -> bool {
    view.modes.iter().any(|mode| mode.dim == dim && mode.extent > 1)
}

/// Returns the place of a bit as text: `byte 4`, or `bit 36` within a byte.
fn place_text(bit: i64) -> String {
    if bit % 8 == 0 { format!("byte {}", bit / 8) } else { format!("bit {bit}") }
}

/// The boxes or runs of a copy.
struct Boxes<'a> {
    /// The layout of a block of the tensor in global memory, if its elements lie in blocks.
    block: Option<&'a Layout>,
    global: &'a View,
    shared: &'a View,
    choice: &'a BulkChoice,
    layout: &'a SharedLayout,
    mode: SwizzleMode,
    /// The shape of the shared tensor.
    shape: &'a [i64],
    /// Bits of an element.
    bits: i64,
    /// The number of blocks that divide the boxes among themselves.
    blocks: i64,
    /// The bytes that the address of a box or run in shared memory must be a multiple of.
    align: i64,
}

impl Boxes<'_> {
    /// Checks that each element of the tile is in one box, at its place, for every index of the dimensions that the tile does not
    /// walk.
    fn cover(&self) -> Checked {
        let tile = self.global.shape();
        if tile != self.shared.shape() {
            return Err(format!("a tile of {tile:?} is copied to one of {:?}", self.shared.shape()));
        }
        // The extent of a box along each mode of the tile.
        let mut steps = Vec::with_capacity(tile.len());
        for (at, mode) in self.global.modes.iter().enumerate() {
            let is_plain = mode.factor.as_const() == Some(1)
                && self.global.modes[..at].iter().all(|other| other.dim != mode.dim);
            let place = self.choice.dims.iter().position(|dim| *dim == mode.dim);
            let extent = place.filter(|_| is_plain).map(|place| i64::from(self.choice.extents[place]));
            let extent = extent.ok_or("a box holds neighbours of the tensor only")?;
            if mode.extent % extent != 0 {
                return Err(format!("boxes of {extent} do not tile {}", mode.extent));
            }
            steps.push(extent);
        }
        let is_walked = |dim: usize| self.global.modes.iter().any(|mode| mode.dim == dim);
        let beside = |(dim, extent): (&usize, &u32)| is_walked(*dim) || *extent == 1;
        if !self.choice.dims.iter().zip(&self.choice.extents).all(beside) {
            return Err("a box is longer than one element where its tile is not".into());
        }
        let still: Vec<i64> = (0..self.shape.len())
            .map(|dim| if self.shared.modes.iter().any(|mode| mode.dim == dim) { 1 } else { self.shape[dim] })
            .collect();
        let count = |extents: &[i64]| extents.iter().product::<i64>();
        let boxes: Vec<i64> = tile.iter().zip(&steps).map(|(all, step)| all / step).collect();
        let brought = self.brought(&boxes)?;
        for index in 0..count(&still) {
            let index = hx_tile::coordinate(index, &still);
            for number in &brought {
                let first: Vec<i64> = number.iter().zip(&steps).map(|(n, step)| n * step).collect();
                self.compare(&index, &first)?;
            }
        }
        Ok(())
    }

    /// Returns the coordinates of all boxes that the blocks bring, counted in boxes along each mode.
    ///
    /// # Errors
    /// If not exactly one block brings each box of the tile.
    fn brought(&self, boxes: &[i64]) -> Result<Vec<Vec<i64>>, String> {
        let mut own = boxes.to_vec();
        if let Some(mode) = self.choice.share {
            *own.get_mut(mode).ok_or("the tile has no such mode")? /= self.blocks;
        }
        let mut times = vec![0u32; boxes.iter().product::<i64>() as usize];
        let mut all = Vec::with_capacity(times.len());
        for block in 0..self.blocks {
            for number in 0..own.iter().product::<i64>() {
                let mut number = hx_tile::coordinate(number, &own);
                if let Some(mode) = self.choice.share {
                    number[mode] += block * own[mode];
                }
                times[hx_tile::index(&number, boxes) as usize] += 1;
                all.push(number);
            }
        }
        match times.iter().position(|times| *times != 1) {
            None => Ok(all),
            Some(at) => {
                let (number, times) = (hx_tile::coordinate(at as i64, boxes), times[at]);
                Err(format!("{times} of {} blocks bring the box {number:?}", self.blocks))
            }
        }
    }

    /// Checks that a box, whose first element is `first` of the tile, begins at a multiple of `align` bytes and puts each of
    /// its elements where the solved layout has it. `index` is as in `place`.
    fn compare(&self, index: &[i64], first: &[i64]) -> Checked {
        let start = self.plain(index, first)?;
        if start % (self.align * 8) != 0 {
            return Err(format!("the box at {first:?} begins at {}", place_text(start)));
        }
        let mut order = Vec::new();
        for (dim, extent) in self.choice.dims.iter().zip(&self.choice.extents) {
            let mode = self.global.modes.iter().position(|mode| mode.dim == *dim);
            order.extend(mode.map(|mode| (mode, i64::from(*extent))));
        }
        let extents: Vec<i64> = order.iter().map(|(_, extent)| *extent).collect();
        let all = extents.iter().product::<i64>();
        for number in 0..all {
            let mut at = first.to_vec();
            let inside = hx_tile::coordinate(number, &extents);
            order.iter().zip(&inside).for_each(|((mode, _), step)| at[*mode] += step);
            // The first dimension of a map or of a run without blocks runs fastest.
            let in_block = |block: &Layout| {
                let along = order.iter().zip(&inside);
                along.map(|((mode, _), step)| block.mode(self.global.modes[*mode].dim).eval(*step)).sum()
            };
            let linear: i64 = self.block.map_or(number, in_block);
            if linear >= all {
                return Err(format!("a block has element {at:?} at {linear}, behind its {all} elements"));
            }
            // The hardware swizzles addresses of shared memory, which count bytes.
            let plain = start + linear * self.bits;
            let found = self.mode.of_bytes().apply(plain / 8) * 8 + plain % 8;
            let wanted = self.bit(index, &at)?;
            if found != wanted {
                let (found, wanted) = (place_text(found), place_text(wanted));
                return Err(format!("a box puts element {at:?} at {found}, and it lies at {wanted}"));
            }
        }
        Ok(())
    }

    /// Returns the first bit in shared memory of an element of the tile, before the swizzle; fails as `place` does.
    fn plain(&self, index: &[i64], at: &[i64]) -> Result<i64, String> {
        Ok(i64::from(self.layout.offset) * 8 + self.place(index, at)? * self.bits)
    }

    /// Returns the first bit in shared memory of an element of the tile; fails as `place` does.
    fn bit(&self, index: &[i64], at: &[i64]) -> Result<i64, String> {
        let place = self.layout.swizzle.apply(self.place(index, at)?);
        Ok(i64::from(self.layout.offset) * 8 + place * self.bits)
    }

    /// Returns the offset in the shared tensor, in elements and before the swizzle, of the element `at` of the tile. `index`
    /// has the coordinates of the dimensions that the tile does not walk.
    ///
    /// # Errors
    /// If the element lies past the end of the shared tensor.
    fn place(&self, index: &[i64], at: &[i64]) -> Result<i64, String> {
        let walk = Walk::of(self.shared);
        let mut coordinate = walk.coordinate(at);
        for (dim, own) in index.iter().enumerate() {
            if self.shared.modes.iter().all(|mode| mode.dim != dim) {
                coordinate[dim] = *own;
            }
        }
        if coordinate.iter().zip(self.shape).any(|(c, extent)| !(0..*extent).contains(c)) {
            return Err(format!("element {at:?} lies past the end of the shared tensor"));
        }
        Ok(self.layout.layout.eval(hx_tile::index(&coordinate, self.shape)))
    }
}
