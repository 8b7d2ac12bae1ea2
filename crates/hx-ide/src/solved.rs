//! A kernel with its layouts and instructions, and their places in the text.

use hx_base::TextRange;
use hx_compile::{Db, Instance, Lowered, routed_program, solved};
use hx_hir::{Kernel, Sound};
use hx_layout::ComposedLayout;
use hx_lower::Place;
use hx_tile::{
    Choice, Conflicts, Distribution, Op, OpId, OpKind, Origin, Reason, Solution, Tensor, TensorId,
};

use crate::{FileRange, Shown};

/// A solved kernel without errors.
#[derive(Clone, Copy)]
pub(crate) struct Solved<'db> {
    pub(crate) db: &'db dyn Db,
    pub(crate) kernel: Kernel<'db>,
    pub(crate) instance: Instance<'db>,
    pub(crate) lowered: &'db Lowered,
    pub(crate) solution: &'db Solution,
}

/// Reports whether neither a kernel nor the items that it uses have errors that prevent its compilation.
pub(crate) fn is_whole(db: &dyn Db, kernel: Kernel<'_>) -> bool {
    Sound::of(db, kernel).is_some()
}

impl<'db> Solved<'db> {
    /// Solves the shown instance of a kernel; `None` if the kernel has errors or no instance.
    pub(crate) fn of(db: &'db dyn Db, kernel: Kernel<'db>, shown: &Shown) -> Option<Solved<'db>> {
        Solved::of_instance(db, shown.instance(db, kernel)?)
    }

    /// Solves an instance; `None` if its kernel has errors.
    pub(crate) fn of_instance(db: &'db dyn Db, instance: Instance<'db>) -> Option<Solved<'db>> {
        let kernel = instance.kernel(db);
        if !is_whole(db, kernel) {
            return None;
        }
        let lowered = routed_program(db, instance).as_ref().ok()?;
        let solution = &solved(db, instance).as_ref().ok()?.solution;
        Some(Solved { db, kernel, instance, lowered, solution })
    }

    pub(crate) fn tensor(&self, id: TensorId) -> &'db Tensor {
        self.lowered.program.tensor(id)
    }

    /// Returns the range of an origin in the kernel's own text. For an operation in a function this is the range of the call.
    /// `None` if the origin is unknown.
    pub(crate) fn in_kernel(&self, origin: Origin) -> Option<TextRange> {
        Some(self.in_item(origin)? + self.kernel.offset(self.db))
    }

    /// Returns the range of an origin as [`Solved::in_kernel`] does, from the beginning of the kernel's item; `None` if the
    /// origin is unknown.
    pub(crate) fn in_item(&self, origin: Origin) -> Option<TextRange> {
        let key = self.kernel.key(self.db);
        let mut at = self.lowered.sources.origins.get(origin.0 as usize)?;
        while at.place.item != key {
            at = self.lowered.sources.origins.get(at.call?.0 as usize)?;
        }
        at.place.range_in_item(self.db)
    }

    /// Returns the place where an operation is written, which may be inside a function; `None` if its origin is unknown.
    pub(crate) fn place(&self, op: OpId) -> Option<FileRange> {
        self.written_at(op)?.range(self.db).map(|(file, range)| FileRange { file, range })
    }

    /// Returns the part of an item as which an operation is written; `None` if its origin is unknown.
    pub(crate) fn written_at(&self, op: OpId) -> Option<&'db Place> {
        let origin = self.lowered.program.op(op)?.origin;
        Some(&self.lowered.sources.origins.get(origin.0 as usize)?.place)
    }

    /// Returns the operations in text order.
    pub(crate) fn ops(&self) -> Vec<&'db Op> {
        self.lowered.program.ops(1.0).into_iter().map(|(op, _)| op).collect()
    }

    /// Returns the tensors that a pattern of the kernel names, each with the range of its name, relative to the start of the item. A name
    /// has several tensors if its body is unrolled.
    pub(crate) fn named_tensors(&self) -> Vec<(TextRange, TensorId)> {
        let key = self.kernel.key(self.db);
        let named = |id: TensorId| {
            let binder = self.lowered.sources.origins.get(self.tensor(id).binder?.0 as usize)?;
            let own = binder.place.item == key;
            own.then(|| binder.place.range_in_item(self.db)).flatten().map(|at| (at, id))
        };
        self.lowered.program.tensor_ids().filter_map(named).collect()
    }

    /// Returns the tensors of the local that is bound at a range.
    pub(crate) fn tensors_bound_at(&self, pat: TextRange) -> Vec<TensorId> {
        let named = self.named_tensors().into_iter();
        let offset = self.kernel.offset(self.db);
        named.filter(|(at, _)| *at + offset == pat).map(|(_, id)| id).collect()
    }

    pub(crate) fn reason(&self, id: TensorId) -> Option<&'db Reason> {
        let register = self.solution.registers.get(&id).map(|d| &d.reason);
        register.or_else(|| self.solution.shared.get(&id).map(|s| &s.reason))
    }

    /// Returns the layout in source form; `None` for a tensor without a layout.
    pub(crate) fn layout(&self, id: TensorId) -> Option<String> {
        if let Some(d) = self.solution.registers.get(&id) {
            return Some(d.layout.to_string());
        }
        let shared = self.solution.shared.get(&id)?;
        Some(if shared.swizzle.is_identity() {
            shared.layout.to_string()
        } else {
            format!("{} ∘ {}", shared.swizzle.source_form(), shared.layout)
        })
    }

    /// Returns the memory layout of a shared tensor; `None` for a register tensor.
    pub(crate) fn composed(&self, id: TensorId) -> Option<ComposedLayout> {
        let shared = self.solution.shared.get(&id)?;
        Some(ComposedLayout { swizzle: shared.swizzle, offset: 0, layout: shared.layout.clone() })
    }

    /// Describes a layout in about twenty characters: the fragment of a matrix instruction, `4 × 16 B`, `128B swizzle`.
    /// `None` for a tensor without a layout.
    pub(crate) fn alias(&self, id: TensorId) -> Option<String> {
        if let Some(d) = self.solution.registers.get(&id) {
            return Some(self.register_alias(id, d));
        }
        let shared = self.solution.shared.get(&id)?;
        let tensor = self.tensor(id);
        if !shared.swizzle.is_identity() {
            // The swizzle permutes rows of `2^(bits + base)` elements.
            let elements = 1_u64 << (shared.swizzle.bits() + shared.swizzle.base()).min(32);
            return Some(format!("{}B swizzle", elements * u64::from(tensor.dtype.bits()) / 8));
        }
        let padded = shared.layout.cosize() > shared.layout.size();
        let unit = (0..shared.layout.rank()).find(|i| {
            shared.layout.mode(*i).leaves().iter().any(|(extent, stride)| *extent > 1 && *stride == 1)
        });
        let rank = tensor.shape.len();
        let order = match unit {
            Some(0) if rank > 1 => "column-major",
            Some(_) if rank > 1 => "row-major",
            _ => "contiguous",
        };
        Some(if padded { format!("{order}, padded") } else { order.to_owned() })
    }

    fn register_alias(&self, id: TensorId, d: &Distribution) -> String {
        if let Some(alias) = self.fragment_alias(id, d) {
            return alias;
        }
        let values = d.layout.mode(1).size();
        let bits = i64::from(self.tensor(id).dtype.bits());
        let access = self
            .ops()
            .into_iter()
            .filter(|op| op.kind.registers().contains(&id))
            .find_map(|op| Some(i64::from(self.solution.choices.get(&op.id)?.copy()?.bytes)));
        match access {
            Some(bytes) if bytes > 0 && (values * bits) % (8 * bytes) == 0 => {
                format!("{} × {bytes} B", values * bits / (8 * bytes))
            }
            _ => format!("{values} a thread"),
        }
    }

    /// Names the fragment of a matrix instruction that a tensor is held as: its own, or one with the same layout. `None` if
    /// no product has such a fragment.
    fn fragment_alias(&self, id: TensorId, d: &Distribution) -> Option<String> {
        let alike = |other: TensorId| {
            let same = |o: &Distribution| o.layout == d.layout && o.tile == d.tile;
            other == id || self.solution.registers.get(&other).is_some_and(same)
        };
        let mut own = None;
        let mut given = None;
        for op in self.ops() {
            let OpKind::Gemm { c, a, b, .. } = &op.kind else { continue };
            let Some(Choice::Gemm(choice)) = self.solution.choices.get(&op.id) else { continue };
            let operands = [(Some(*c), 'C'), (a.view.register(), 'A'), (b.view.register(), 'B')];
            for (operand, letter) in operands {
                let Some(operand) = operand else { continue };
                let family = choice.row.name().split('.').next().unwrap_or(choice.row.name());
                let text = || format!("{family}.{letter} {}", choice.across());
                if operand == id {
                    own.get_or_insert_with(text);
                } else if alike(operand) {
                    given.get_or_insert_with(text);
                }
            }
        }
        own.or(given)
    }

    /// Returns the instruction of an operation for a hint (such as the catalogue's row, and the bytes of an access), with its
    /// rank. A conversion and a rearrangement that moves nothing have rank 0: they are shown only if the statement has no
    /// other instruction. `None` if the operation has no instruction to show.
    pub(crate) fn instruction(&self, op: OpId) -> Option<(String, u8)> {
        Some(match self.solution.choices.get(&op)? {
            Choice::Copy(copy) => {
                let conflicts = copy.conflicts.and_then(conflict_factor);
                let conflicts = conflicts.map_or_else(String::new, |times| format!(" · conflicts ×{times}"));
                (format!("{} · {} B{conflicts}", short_row(copy.row.name()), copy.bytes), 1)
            }
            Choice::Gemm(gemm) => {
                let mut parts = gemm.row.name().splitn(3, '.');
                let name: Vec<&str> = parts.by_ref().take(2).collect();
                (name.join("."), 1)
            }
            Choice::Reduce(reduce) => {
                let mut text = "reduce".to_owned();
                if !reduce.lanes.is_empty() {
                    text.push_str(&format!(" · {} lane steps", reduce.lanes.len()));
                }
                if let Some(across) = &reduce.across {
                    text.push_str(&format!(" · {} B shared", across.bytes));
                }
                (text, 1)
            }
            Choice::Rearrange(moved) => match &moved.route {
                hx_tile::Route::Within(_) | hx_tile::Route::Renamed(_) => ("stays".to_owned(), 0),
                route => {
                    let rows: Vec<_> = route.rows().into_iter().map(short_row).collect();
                    (rows.join(" · "), 1)
                }
            },
            Choice::Slice(slice) => match &slice.through {
                Some(through) => (format!("part · {} B shared", through.bytes), 1),
                None if slice.lanes.is_empty() => return None,
                None => ("part · lane step".to_owned(), 1),
            },
            Choice::Scan(scan) => {
                let bytes: u32 = scan.scratch.iter().map(|s| s.bytes).sum();
                let shared = if bytes == 0 { String::new() } else { format!(" · {bytes} B shared") };
                (format!("scan{shared}"), 1)
            }
            Choice::Bulk(bulk) => {
                let extents: Vec<String> = bulk.extents.iter().map(u32::to_string).collect();
                let program = &self.lowered.program;
                let blocks = program.op(op).filter(|_| bulk.share.is_some()).map(|op| program.blocks_of(op));
                let shared = blocks.map_or_else(String::new, |blocks| format!(" · shared by {blocks}"));
                (format!("{} {}{shared}", bulk.row, extents.join("×")), 1)
            }
            Choice::Prefetch(prefetch) => (prefetch.row.to_string(), 1),
            Choice::Convert(convert) => (convert.row?.to_string(), 0),
            Choice::Map(_) => return None,
        })
    }
}

/// Returns the access's slowdown from bank conflicts: its wavefronts divided by the minimum. `None` without conflicts.
pub(crate) fn conflict_factor(conflicts: Conflicts) -> Option<String> {
    if conflicts.wavefronts <= conflicts.ideal || conflicts.ideal == 0 {
        return None;
    }
    let times = conflicts.wavefronts as f64 / conflicts.ideal as f64;
    Some(if times.fract() == 0.0 { format!("{times}") } else { format!("{times:.1}") })
}

/// Drops the width from a row's name, because the bytes already state it.
fn short_row(row: &str) -> &str {
    match row.rsplit_once('.') {
        Some((rest, last)) if last.trim_start_matches('b').bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => row,
    }
}
