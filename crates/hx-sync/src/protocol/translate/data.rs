//! The numbers that data decide: which of them decide the statements of a protocol, and from which data they come.

use std::collections::BTreeSet;

use hx_dtype::DType;
use hx_index::{Expr, Symbol};
use hx_tile::{Base, Mode, Op, OpKind, ParamId, Picked, Region, Scalar, TensorId, TileProgram, View};

use super::super::program::{Identity, Number, Stmt, Value};

/// The register tensors whose data decide numbers of the program.
pub(super) struct Data<'a> {
    tile: &'a TileProgram,
    tensors: BTreeSet<TensorId>,
    /// The parameters that the program writes, so that two reads of an element may differ.
    written: BTreeSet<ParamId>,
}

impl<'a> Data<'a> {
    pub(super) fn of(tile: &'a TileProgram) -> Data<'a> {
        let ops = tile.ops(1.0);
        let mut tensors: BTreeSet<TensorId> = ops
            .iter()
            .filter_map(
                |(op, _)| if let OpKind::ReadNumber { src, .. } = &op.kind { Some(*src) } else { None },
            )
            .collect();
        // Follow the data from each number back to the memory that it comes from.
        while !tensors.is_empty() {
            let before = tensors.len();
            for (op, _) in &ops {
                let accesses = op.kind.description().accesses;
                let of = |wanted: fn(Mode) -> bool| {
                    let all = accesses.iter().filter(move |access| wanted(access.mode));
                    all.filter_map(|access| access.register()).collect::<Vec<_>>()
                };
                if of(Mode::writes).iter().any(|tensor| tensors.contains(tensor)) {
                    tensors.extend(of(Mode::reads));
                }
            }
            if tensors.len() == before {
                break;
            }
        }
        let mut written = BTreeSet::new();
        for (op, _) in &ops {
            for access in op.kind.description().accesses {
                if let (Base::Global(param), true) = (access.base(), access.mode.writes()) {
                    written.insert(param);
                }
            }
        }
        Data { tile, tensors, written }
    }

    /// Returns the statement that defines `var` as the element of a tensor that `src` shows.
    pub(super) fn element(&self, var: &Symbol, src: &View) -> Stmt {
        let source = self.tile.base_name(src.base).to_owned();
        let dtype = self.tile.base_dtype(src.base).unwrap_or(DType::I64);
        let number =
            Number::Element { source, at: src.offsets.clone(), dtype, identity: self.identity(src.base) };
        Stmt::Number { var: var.clone(), changes: false, number }
    }

    /// Appends the statements for the number that an operation reads from registers, and for the data that decide numbers in
    /// the registers that it writes.
    pub(super) fn op(&self, op: &Op, out: &mut Vec<Stmt>) {
        if let OpKind::ReadNumber { var, src } = &op.kind {
            let number = Number::Register { tensor: *src, dtype: self.tile.tensor(*src).dtype };
            out.push(Stmt::Number { var: var.clone(), changes: false, number });
        }
        let accesses = op.kind.description().accesses;
        let results = accesses.iter().filter(|access| access.mode.writes()).filter_map(|a| a.register());
        let results: Vec<TensorId> = results.filter(|tensor| self.tensors.contains(tensor)).collect();
        if results.is_empty() {
            return;
        }
        let inputs = accesses.iter().filter(|access| access.mode.reads()).filter_map(|a| a.register());
        let inputs: Vec<TensorId> = inputs.collect();
        let mut identity = if matches!(op.kind, OpKind::Atomic(_)) { Identity::Own } else { Identity::Data };
        let mut at = Vec::new();
        for access in &accesses {
            if access.register().is_none() && access.mode.reads() {
                identity = identity.max(self.identity(access.base()));
            }
            match access.region {
                Region::View(view) => at.extend(coordinates(view)),
                Region::Table(rows) => at.extend(rows.offsets.iter().cloned()),
                Region::Whole(_) => {}
            }
        }
        let kind = self.kind(op, &mut at);
        for (result, tensor) in results.into_iter().enumerate() {
            let kind = format!("{result} {kind}");
            let (inputs, at) = (inputs.clone(), at.clone());
            out.push(Stmt::Value(Value { tensor, kind, inputs, at, identity }));
        }
    }

    fn identity(&self, base: Base) -> Identity {
        match base {
            Base::Global(param) if self.written.contains(&param) => Identity::Own,
            Base::Global(_) | Base::Register(_) => Identity::Data,
            Base::Shared(_) => Identity::Turn,
        }
    }

    /// Describes the parts of an operation that are the same in all launches, and adds the others to `at`.
    fn kind(&self, op: &Op, at: &mut Vec<Expr>) -> String {
        let scalars = |scalars: &mut dyn Iterator<Item = &Scalar>, at: &mut Vec<Expr>| -> String {
            scalars.map(|scalar| format!(" {}", without_symbols(scalar, at))).collect()
        };
        let base = |view: &View| match view.base {
            Base::Global(param) => format!("global {}", param.0),
            Base::Shared(tensor) => format!("shared {}", tensor.0),
            Base::Register(_) => "registers".to_owned(),
        };
        let detail = match &op.kind {
            OpKind::Fill { value, .. } => value.to_string(),
            OpKind::Copy { src, dst } => format!("{} to {} {:?}", base(src), base(dst), src.shape()),
            OpKind::Atomic(atomic) => base(&atomic.memory),
            OpKind::Map(map) => scalars(&mut std::iter::once(&map.value), at),
            OpKind::Scan { axis, op, reverse, .. } => {
                format!("{axis} {reverse}{}", scalars(&mut op.iter(), at))
            }
            OpKind::Reduce { axis, operator, .. } => format!("{axis} {operator:?}"),
            OpKind::ClusterSum { axis, to, .. } => format!("{axis} {to:?}"),
            OpKind::Slice { src, .. } => format!("{:?}", src.shape()),
            OpKind::Insert { dst, .. } => format!("{:?}", dst.shape()),
            OpKind::Gemm { .. }
            | OpKind::Rearrange { .. }
            | OpKind::CopyAsync { .. }
            | OpKind::Store { .. } => String::new(),
            // The others have no expressions that a launch decides: they are the same if they differ in their tensors only.
            other => {
                let mut same = other.clone();
                same.each_tensor(&mut |tensor| *tensor = TensorId(0));
                format!("{same:?}")
            }
        };
        format!("{} {detail}", op.kind.name())
    }
}

/// Returns everything about a view that the launch decides.
fn coordinates(view: &View) -> Vec<Expr> {
    let factors = view.modes.iter().map(|mode| mode.factor.clone());
    let ends = view.ends.iter().map(|(_, end)| end.clone());
    let mut all: Vec<Expr> = view.offsets.iter().cloned().chain(factors).chain(ends).collect();
    match &view.picked {
        Some(Picked::Rows(rows)) => all.extend(rows.offsets.iter().cloned()),
        Some(Picked::Elements(picks)) => all.extend(picks.iter().map(|pick| pick.factor.clone())),
        None => {}
    }
    all
}

/// Formats an expression with 0 in place of each integer that the launch decides, and adds these integers to `at`.
fn without_symbols(scalar: &Scalar, at: &mut Vec<Expr>) -> String {
    let same = |dtype: &DType| Some(Scalar::Const { bits: 0, dtype: *dtype });
    let shown = scalar.map_leaves(&mut |leaf| match leaf {
        Scalar::Integer { value, dtype } => {
            at.push(value.clone());
            same(dtype)
        }
        Scalar::Var { var, dtype } => {
            at.push(Expr::symbol(var.clone()));
            same(dtype)
        }
        _ => None,
    });
    shown.to_string()
}
