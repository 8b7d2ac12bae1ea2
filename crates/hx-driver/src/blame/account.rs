//! The first wrong element of a failed comparison, and the program that should have written it.

use hx_compile::{solved, tile_program};
use hx_hir::{Item, Pat, body_of};
use hx_host::dense::show_shape;
use hx_host::eval::Suspect;
use hx_host::pattern::coordinate;
use hx_sim::Reached;
use hx_tile::{Param, TensorId, TileProgram};
use hx_workspace::Database;

use hx_launch::Seen;
use hx_lower::ItemPart;

/// The first wrong element, and the program that should have written it.
pub(super) struct Account<'a> {
    pub(super) db: &'a Database,
    pub(super) seen: &'a Seen<'a>,
    pub(super) suspect: &'a Suspect,
    /// The solved program: the followed tensors may be moved ones, which the text does not have.
    pub(super) program: &'a TileProgram,
}

impl<'a> Account<'a> {
    pub(super) fn new(db: &'a Database, seen: &'a Seen<'a>, suspect: &'a Suspect) -> Option<Account<'a>> {
        let program = &solved(db, seen.instance).as_ref().ok()?.program;
        Some(Account { db, seen, suspect, program })
    }

    /// Formats the first wrong element with its coordinates in the parameter: `c[64, 0]`.
    pub(super) fn element(&self) -> String {
        let at = self.seen.coordinate.iter().map(i64::to_string).collect::<Vec<_>>();
        format!("`{}[{}]`", self.param_name(self.seen.param), at.join(", "))
    }

    /// Formats the first wrong element as the comparison does, and as the kernel does if that differs: `[0], which is `y[16, 0]``.
    pub(super) fn compared(&self) -> String {
        if self.suspect.tensor.shape().is_empty() {
            return self.element();
        }
        let compared = coordinate(self.suspect.tensor.shape(), self.seen.first);
        let is_same = compared.iter().map(|at| *at as i64).eq(self.seen.coordinate.iter().copied());
        let compared = show_shape(&compared);
        if is_same { compared } else { format!("{compared}, which is {},", self.element()) }
    }

    pub(super) fn param_name(&self, param: usize) -> &str {
        match self.program.params.get(param) {
            Some(Param::Tensor(tensor)) => &tensor.name,
            Some(Param::Int { name, .. } | Param::Float { name, .. }) => name,
            None => "",
        }
    }

    /// Returns the name of a tensor, if a pattern of the kernel binds it. Lowering names the others itself.
    pub(super) fn tensor_name(&self, tensor: TensorId) -> Option<&str> {
        let lowered = tile_program(self.db, self.seen.instance).as_ref().ok()?;
        let binder = lowered.sources.origins.get(self.program.tensor(tensor).binder?.0 as usize)?;
        let kernel = self.seen.instance.kernel(self.db);
        let ItemPart::Pat(pat) = binder.place.part else { return None };
        match &body_of(self.db, Item::Kernel(kernel)).store[pat] {
            Pat::Bind(name) if binder.place.item == kernel.key(self.db) => Some(name),
            _ => None,
        }
    }

    /// Formats `count` values of a tensor, which `values` lists: `acc = 1.5`, or `value 1.5` if the source does not name the tensor.
    pub(super) fn equals(&self, tensor: TensorId, values: &str, count: usize) -> String {
        match self.tensor_name(tensor) {
            None if count > 1 => format!("values {values}"),
            None => format!("value {values}"),
            Some(name) => format!("`{name}` = {values}"),
        }
    }

    /// Returns the index of a block along the axes of the grid that the kernel states.
    pub(super) fn block(&self, number: u32) -> Vec<usize> {
        let axes = self.program.grid.len().max(1);
        self.seen.witness.block_index(number).iter().take(axes).map(|index| *index as usize).collect()
    }

    /// Returns the smallest box around all elements that the launch wrote to the compared tensor; `None` if it wrote none.
    pub(super) fn stored(&self) -> Option<Region> {
        let reached = self.seen.witness.reached.iter();
        hull(reached.filter(|reached| reached.write && reached.param == self.seen.param))
    }
}

/// The first coordinate along each dimension, and one past the last.
pub(super) type Region = [Vec<i64>; 2];

/// Returns the smallest box around regions; `None` if there are none.
pub(super) fn hull<'r>(regions: impl Iterator<Item = &'r Reached>) -> Option<Region> {
    let both = |mut all: Region, next: Region| {
        all[0].iter_mut().zip(&next[0]).for_each(|(a, b)| *a = (*a).min(*b));
        all[1].iter_mut().zip(&next[1]).for_each(|(a, b)| *a = (*a).max(*b));
        all
    };
    regions.map(|reached| reached.region.clone()).reduce(both)
}

/// Formats a region: `c[64..128, 0]`.
pub(super) fn show_region(name: &str, [from, to]: &Region) -> String {
    let range = |(from, to): (&i64, &i64)| {
        if from + 1 == *to { from.to_string() } else { format!("{from}..{to}") }
    };
    let ranges: Vec<String> = from.iter().zip(to).map(range).collect();
    format!("`{name}[{}]`", ranges.join(", "))
}
