//! Checks products that read operands from shared memory by descriptor: follows the descriptor of each instruction through the
//! address function of the hardware, and compares every place with that of the element in the solved layout.

use hx_target::{Field, GemmRow, ReachRow, Reached, ReachedStride};
use hx_tile::{Base, GemmChoice, Op, Operand, OperandChoice, SharedLayout, TensorId};

use crate::{Check, Checked, RegisterLayout, Walk};

/// The largest number in a field of a descriptor, in bytes: 14 bits, in units of 16 bytes.
const LARGEST: i64 = (1 << 18) - UNIT;
/// Bytes of the unit of the fields of a descriptor.
const UNIT: i64 = 16;

impl Check<'_> {
    pub(crate) fn gemm_by_descriptor(
        &self,
        op: &Op,
        c: TensorId,
        [a, b]: [&Operand; 2],
        g: &GemmChoice,
    ) -> Checked {
        let row = self.row_of(c, [a, b], g)?;
        let scope = self.scope(op.scope);
        if !row.is_by_descriptor() || !scope.first.is_multiple_of(row.threads) {
            return Err(format!("`{}` is not a product of whole groups of warps by descriptor", row.name));
        }
        let layout = self.register_layout(c)?;
        self.accumulates_once(&layout, g, row)?;
        let a = self.reached(a, &g.a, row, 0)?;
        let b = self.reached(b, &g.b, row, 1)?;
        let depth = match &a {
            Reading::Registers(a, _) => self.program.tensor(*a).shape[1],
            Reading::Shared(at) => at.extents[1],
        };
        for first in (0..layout.threads).step_by(row.threads as usize) {
            let product = Product { check: self, c, layout: &layout, g, row, operands: [&a, &b], first };
            for issue in issues(g) {
                (self.poll)();
                product.each_step_once(issue, depth)?;
            }
        }
        Ok(())
    }

    /// Returns the place from which an instruction reads operand `number`: 0 for A, 1 for B.
    ///
    /// # Errors
    /// If the choice and the operand do not fit the instruction.
    fn reached<'a>(
        &'a self,
        operand: &Operand,
        choice: &OperandChoice,
        row: &'a GemmRow,
        number: usize,
    ) -> Result<Reading<'a>, String> {
        let side = if number == 0 { &row.a } else { &row.b };
        let misfit = || format!("operand {} is not where its instruction reads it", ["A", "B"][number]);
        match (choice, operand.view.base) {
            (OperandChoice::Registers(_), Base::Register(tensor)) if side.fragment().is_some() => {
                Ok(Reading::Registers(tensor, self.register_layout(tensor)?))
            }
            (OperandChoice::Descriptor { reach }, Base::Shared(tensor))
                if side.reach().contains(&reach.name) =>
            {
                let reach = reach.get();
                let info = self.program.tensor(tensor);
                let bits = info.dtype.bits();
                let modes = reach.modes(bits).ok_or_else(misfit)?;
                let shared = self.solution.shared.get(&tensor).ok_or_else(misfit)?;
                if i64::from(shared.offset) % i64::from(reach.swizzle.block_bytes()) != 0 {
                    return Err(format!(
                        "`{}` begins at {}, which is not a multiple of {} B",
                        info.name,
                        shared.offset,
                        reach.swizzle.block_bytes()
                    ));
                }
                let view = &operand.view;
                Ok(Reading::Shared(Place {
                    name: &info.name,
                    shape: &info.shape,
                    shared,
                    walk: Walk::of(view),
                    extents: view.shape(),
                    reach,
                    modes,
                    bits: i64::from(bits),
                }))
            }
            (OperandChoice::Registers(_) | OperandChoice::Descriptor { .. }, _) => Err(misfit()),
        }
    }
}

/// The place of an operand.
enum Reading<'a> {
    Registers(TensorId, RegisterLayout<'a>),
    Shared(Place<'a>),
}

/// An operand in shared memory.
struct Place<'a> {
    name: &'a str,
    shape: &'a [i64],
    shared: &'a SharedLayout,
    walk: Walk,
    /// The extents of the view.
    extents: Vec<i64>,
    reach: &'a ReachRow,
    /// The modes of the reach along the rows or columns, and along K.
    modes: [Vec<Reached>; 2],
    bits: i64,
}

impl Place<'_> {
    /// Returns the index of an element of the view in the tensor's layout.
    ///
    /// # Errors
    /// If the element lies past the end of the view or of the tensor.
    fn index(&self, at: &[i64]) -> Result<i64, String> {
        let at_base = self.walk.coordinate(at);
        let inside = at.iter().zip(&self.extents).all(|(c, extent)| c < extent)
            && at_base.iter().zip(self.shape).all(|(c, extent)| c < extent);
        if !inside {
            return Err(format!("element {at:?} is read, past the end of `{}`", self.name));
        }
        Ok(hx_tile::index(&at_base, self.shape))
    }

    /// Returns the byte in shared memory of an element, before the swizzle; fails as `index` does.
    fn plain(&self, at: &[i64]) -> Result<i64, String> {
        Ok(i64::from(self.shared.offset) + self.shared.layout.eval(self.index(at)?) * self.bits / 8)
    }

    /// Returns the byte in shared memory of an element; fails as `index` does.
    fn byte(&self, at: &[i64]) -> Result<i64, String> {
        let offset = self.shared.swizzle.apply(self.shared.layout.eval(self.index(at)?));
        Ok(i64::from(self.shared.offset) + offset * self.bits / 8)
    }

    /// Checks one instruction: `at(x, k)` is the element of the view that row or column `x` and step `k` must be.
    fn follow(&self, [xs, ks]: [i64; 2], at: &dyn Fn(i64, i64) -> Vec<i64>) -> Checked {
        let start = self.plain(&at(0, 0))?;
        let mut fields = [None, None];
        for (modes, (extent, along)) in self.modes.iter().zip([(xs, [1, 0]), (ks, [0, 1])]) {
            let mut unit = 1;
            for mode in modes {
                if let ReachedStride::Free(field) = mode.stride
                    && unit < extent
                {
                    let next = self.plain(&at(unit * along[0], unit * along[1]))? - start;
                    fields[usize::from(field == Field::Stride)] = Some(next);
                }
                unit *= mode.extent.unwrap_or(extent);
            }
        }
        let is_legal = |bytes: i64| (0..=LARGEST).contains(&bytes) && bytes % UNIT == 0;
        if let Some(bytes) = fields.iter().flatten().chain([&start]).find(|bytes| !is_legal(**bytes)) {
            return Err(format!("{bytes} B do not fit a descriptor of `{}`", self.name));
        }
        let swizzle = self.reach.swizzle.of_bytes();
        for (x, k) in (0..ks).flat_map(|k| (0..xs).map(move |x| (x, k))) {
            let sides = self.modes.iter().zip([(x, xs), (k, ks)]);
            let offset: i64 =
                sides.map(|(modes, (at, extent))| self.distance(modes, at, extent, fields)).sum();
            let (found, wanted) = (swizzle.apply(start + offset), self.byte(&at(x, k))?);
            if found != wanted {
                let element = at(x, k);
                let name = self.name;
                return Err(format!(
                    "`{}` reads byte {found} for element {element:?} of `{name}`, which lies at {wanted}",
                    self.reach.name
                ));
            }
        }
        Ok(())
    }

    /// Returns the distance in bytes from the start that the hardware computes for coordinate `at`. A mode without an extent
    /// has `whole` elements, and `fields` are the free strides: leading, then stride.
    fn distance(&self, modes: &[Reached], at: i64, whole: i64, fields: [Option<i64>; 2]) -> i64 {
        let mut left = at;
        let mut sum = 0;
        for mode in modes {
            let extent = mode.extent.unwrap_or(whole);
            let stride = match mode.stride {
                ReachedStride::Known(elements) => elements * self.bits / 8,
                ReachedStride::Free(field) => fields[usize::from(field == Field::Stride)].unwrap_or(0),
            };
            sum += left % extent * stride;
            left /= extent;
        }
        sum
    }
}

/// The products that a group of threads computes.
struct Product<'a> {
    check: &'a Check<'a>,
    c: TensorId,
    layout: &'a RegisterLayout<'a>,
    g: &'a GemmChoice,
    row: &'a GemmRow,
    operands: [&'a Reading<'a>; 2],
    /// The first of the threads.
    first: i64,
}

impl Product<'_> {
    /// Checks one tile of the accumulator: over all instructions along K, each of its elements is combined with each step once.
    fn each_step_once(&self, [im, i_n, il]: [i64; 3], depth: i64) -> Checked {
        let [rows, columns, steps] = self.row.shape;
        let elements = self.accumulator([im, i_n, il]);
        let corner = &elements[0];
        // Registers may hold any rows of A, in the order in which the accumulator has them.
        let in_registers = matches!(self.operands[0], Reading::Registers(..));
        let row_at = |row: i64| if in_registers { elements[row as usize][0] } else { corner[0] + row };
        let own: Vec<i64> = (0..rows).map(row_at).collect();
        for (at, element) in (0..).zip(&elements) {
            let moved = [own[(at % rows) as usize], corner[1] + at / rows];
            if element[..2] != moved || element[2..] != corner[2..] {
                return Err(format!("the accumulator has {element:?} where its instruction has {moved:?}"));
            }
            if !self.check.inside(self.c, element) {
                return Err(format!("element {element:?} is past the end of the accumulator"));
            }
        }
        let mut met = vec![false; depth as usize];
        for ik in 0..self.g.issues[2] {
            let firsts = self.first_steps([im, ik, il], &own, corner)?;
            for k in firsts..firsts + steps {
                let slot = met.get_mut(k as usize).ok_or_else(|| format!("step {k} is past K = {depth}"))?;
                if std::mem::replace(slot, true) {
                    return Err(format!("step {k} of K is added twice"));
                }
            }
            for (operand, (corner_at, extent)) in
                self.operands.into_iter().zip([(corner[0], rows), (corner[1], columns)])
            {
                let Reading::Shared(place) = operand else { continue };
                let element = |x: i64, k: i64| {
                    let plane = [corner_at + x, firsts + k];
                    plane.into_iter().chain(corner[2..].iter().copied()).collect()
                };
                place.follow([extent, steps], &element)?;
            }
        }
        match met.iter().position(|met| !met) {
            Some(k) => Err(format!("step {k} of K is never added")),
            None => Ok(()),
        }
    }

    /// Returns the coordinates of the accumulator's elements, by the element's index in the instruction's tile.
    fn accumulator(&self, [im, i_n, il]: [i64; 3]) -> Vec<Vec<i64>> {
        let (lanes, g) = (i64::from(self.row.threads), self.g);
        let mut out = vec![Vec::new(); (self.row.shape[0] * self.row.shape[1]) as usize];
        for (lane, v) in (0..self.row.c.values()).flat_map(|v| (0..lanes).map(move |lane| (lane, v))) {
            let position = g.c.eval(v + self.row.c.values() * (im + g.issues[0] * (i_n + g.issues[1] * il)));
            let at = self.layout.coordinate(self.first + lane, position);
            out[self.row.c.layout.eval(lane + lanes * v) as usize] = at;
        }
        out
    }

    /// Returns the first step of K of an instruction.
    ///
    /// # Errors
    /// If A is in registers, and they do not hold the instruction's rows `own` with steps that follow each other.
    fn first_steps(&self, [im, ik, il]: [i64; 3], own: &[i64], corner: &[i64]) -> Result<i64, String> {
        let [rows, _, steps] = self.row.shape;
        let (Reading::Registers(_, layout), Some(positions)) = (self.operands[0], self.g.a.registers())
        else {
            return Ok(ik * steps);
        };
        let fragment = self.row.a.fragment().ok_or("the instruction reads no registers")?;
        let (lanes, mut first) = (i64::from(self.row.threads), None);
        for (lane, v) in (0..fragment.values()).flat_map(|v| (0..lanes).map(move |lane| (lane, v))) {
            let position = positions
                .eval(v + fragment.values() * (im + self.g.issues[0] * (ik + self.g.issues[2] * il)));
            let at = layout.coordinate(self.first + lane, position);
            let element = fragment.layout.eval(lane + lanes * v);
            let begin = at[1] - element / rows;
            if at[0] != own[(element % rows) as usize]
                || at[2..] != corner[2..]
                || *first.get_or_insert(begin) != begin
            {
                return Err(format!("A{at:?} is read where row {} is", own[(element % rows) as usize]));
            }
        }
        first.ok_or_else(|| "the instruction reads no element of A".into())
    }
}

fn issues(g: &GemmChoice) -> impl Iterator<Item = [i64; 3]> {
    let [im, i_n, _, il] = g.issues;
    (0..il).flat_map(move |l| (0..i_n).flat_map(move |n| (0..im).map(move |m| [m, n, l])))
}
