//! Matrix instructions that read their operands from registers or from shared memory.

use hx_layout::Layout;
use serde::Deserialize;

use crate::{Feature, Form, Fragment, Limits, Mode, Operand, Space};

/// An instruction that computes `C[m, n] += A[m, k] · B[n, k]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmRow {
    pub name: String,
    /// `[m, n, k]`.
    pub shape: [i64; 3],
    pub threads: u32,
    pub a: Operand,
    pub b: Operand,
    /// The accumulator, in the memory that the form of the instruction updates.
    pub c: Fragment,
    /// The form of the instruction, by which the table of asynchronous instructions lists its accesses and their completions.
    #[serde(default = "product")]
    pub form: Form,
    /// Cycles for which the instruction keeps its unit.
    pub issue: f64,
    /// Cycles until the result can be used.
    pub latency: f64,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// PTX with `{a}`, `{b}`, `{c}` for the registers of the fragments or the descriptors. An asynchronous instruction also has
    /// `{d}`, a predicate that is false if the accumulator counts as 0, and `{ta}` and `{tb}`, which are 1 if the operand is
    /// contiguous along its rows or columns instead of along K.
    pub ptx: String,
    /// The PTX text that reads A from registers, if the instruction can read A from shared memory too.
    #[serde(default)]
    pub ptx_registers: Option<String>,
    /// The row is that of an instruction whose operands are exchanged ([`GemmRow::swapped`]); no file says so.
    #[serde(skip)]
    pub is_swapped: bool,
}

fn product() -> Form {
    Form::Product
}

impl GemmRow {
    /// The end of the name of a row whose operands are exchanged.
    pub(crate) const SWAPPED: &str = ".swapped";

    /// Returns the memory of the accumulator.
    ///
    /// # Panics
    /// If the form updates no memory, which a test excludes.
    pub fn accumulates_in(&self) -> Space {
        let update = self.form.asynchronous().accesses.iter().find(|access| access.mode == Mode::Update);
        update.unwrap_or_else(|| panic!("`{}` updates no memory", self.name)).space
    }

    /// Returns the fragments of A and B, if the instruction can read both from registers; otherwise `None`.
    pub fn fragments(&self) -> Option<[&Fragment; 2]> {
        Some([self.a.fragment()?, self.b.fragment()?])
    }

    /// Returns the multiplications and additions of a multiprocessor in a cycle in which it issues nothing but this instruction.
    pub fn operations_in_a_cycle(&self, limits: &Limits) -> f64 {
        let operations = 2.0 * self.shape.iter().map(|extent| *extent as f64).product::<f64>();
        let (lanes, threads) = (f64::from(limits.lanes), f64::from(self.threads));
        // An instruction of several warps keeps a part of the multiprocessor for each of them. One of fewer lanes is issued for the lanes of
        // a warp in turn, and one of a single thread for all of them at once.
        let parts = f64::from(limits.partitions);
        let at_once = if self.threads == 1 { parts * lanes } else { parts * lanes / threads.max(lanes) };
        operations / self.issue * at_once
    }

    /// Returns the rank of the instruction's class, the best one last: of single threads, of warps, and of those that read operands by
    /// descriptor.
    pub fn class(&self) -> u32 {
        if self.is_by_descriptor() { 2 } else { u32::from(self.threads > 1) }
    }

    /// Reports whether the instruction reads B from shared memory, by descriptor.
    pub fn is_by_descriptor(&self) -> bool {
        self.b.fragment().is_none()
    }

    /// Returns the numbers of warps along M and N that execute one instruction, for warps of `lanes` lanes; `[1, 1]` for a row of one warp
    /// or less.
    pub fn warps(&self, lanes: u32) -> [i64; 2] {
        let rows = self.shape[0].max(1);
        let warps = i64::from(self.threads.div_ceil(lanes));
        let first = |warp: i64| self.c.layout.mode(0).eval(warp * i64::from(lanes));
        let starts: Vec<i64> = (0..warps).map(first).collect();
        let distinct = |of: &dyn Fn(i64) -> i64| {
            let mut found: Vec<i64> = starts.iter().map(|at| of(*at)).collect();
            found.sort_unstable();
            found.dedup();
            found.len() as i64
        };
        [distinct(&|at| at % rows), distinct(&|at| at / rows)]
    }

    /// Returns the row that computes `Cᵀ = B · Aᵀ` with the same instruction: its M is the N of this row. A product with few
    /// rows fills such an instruction better. Only instructions of one warp that read both operands from registers have one,
    /// and of these the ones with different M and N; for others it is `None`.
    pub(crate) fn swapped(&self, lanes: u32) -> Option<GemmRow> {
        let ([m, n, k], Some(_)) = (self.shape, self.fragments()) else { return None };
        if self.threads != lanes || m == n {
            return None;
        }
        let transposed = |(extent, stride): &(i64, i64)| (*extent, stride % m * n + stride / m);
        let mode =
            |i| Layout::flat(&self.c.layout.mode(i).leaves().iter().map(transposed).collect::<Vec<_>>());
        let c = Layout::concat(&[mode(0).ok()?, mode(1).ok()?]).ok()?;
        Some(GemmRow {
            name: format!("{}{}", self.name, GemmRow::SWAPPED),
            shape: [n, m, k],
            a: self.b.clone(),
            b: self.a.clone(),
            c: Fragment { dtype: self.c.dtype, layout: c },
            ptx: self.ptx.replace("{a}", "{}").replace("{b}", "{a}").replace("{}", "{b}"),
            is_swapped: true,
            ..self.clone()
        })
    }

    /// Reports whether the row suits a tile of `[m, n]`. A row with exchanged operands does where it computes fewer elements past
    /// the edges than the instruction as it is; elsewhere the two cost the same.
    pub fn suits(&self, tile: [i64; 2]) -> bool {
        let [m, n, _] = self.shape;
        !self.is_swapped || covered(tile, [m, n]) < covered(tile, [n, m])
    }
}

/// Returns the number of elements that instructions of a shape compute for a tile, those past its edges counted.
fn covered(tile: [i64; 2], shape: [i64; 2]) -> i64 {
    let along = |i: usize| (tile[i] + shape[i] - 1) / shape[i] * shape[i];
    along(0) * along(1)
}
