//! The key of an instance of a kernel: its compile-time arguments and the facts known of its launches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hx_dtype::DType;
use hx_hir::{
    Expr, ExprId, Float, ItemKey, Kernel, Literal, Name, TuneValue, TypeRef, kernel_signature,
    signature_names,
};
use hx_layout::Layout;

/// A compile-time value.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CtValue {
    Int(i64),
    Float(Float),
    Bool(bool),
    DType(DType),
    Layout(Layout),
    /// A choice of the compiler; for a global layout, row-major.
    Auto,
    /// A tile function. The identity of an instance is that of the function; queries read its text, so an edit of the function
    /// changes the results of the instance.
    Function(ItemKey),
    Tuple(Vec<CtValue>),
}

impl From<TuneValue> for CtValue {
    fn from(value: TuneValue) -> CtValue {
        match value {
            TuneValue::Int(value) => CtValue::Int(value),
            TuneValue::Bool(value) => CtValue::Bool(value),
            TuneValue::DType(value) => CtValue::DType(value),
        }
    }
}

impl fmt::Display for CtValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CtValue::Int(x) => write!(f, "{x}"),
            CtValue::Float(x) => write!(f, "{:?}", x.value()),
            CtValue::Bool(x) => write!(f, "{x}"),
            CtValue::DType(x) => write!(f, "{x}"),
            CtValue::Layout(x) => write!(f, "{x}"),
            CtValue::Auto => f.write_str("auto"),
            CtValue::Function(key) => f.write_str(&key.name),
            CtValue::Tuple(parts) => {
                f.write_str("(")?;
                for (i, part) in parts.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{part}")?;
                }
                f.write_str(if parts.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

impl std::str::FromStr for CtValue {
    type Err = String;

    /// Parses a value as it is written on a command line: `128`, `bf16`, `true`, `auto`, `0.5`, `(8,8):(8,1)`. The error is a
    /// sentence for the user.
    fn from_str(text: &str) -> Result<CtValue, String> {
        let text = text.trim();
        Ok(if let Ok(i) = text.parse::<i64>() {
            CtValue::Int(i)
        } else if let Some(dtype) = DType::parse(text) {
            CtValue::DType(dtype)
        } else if let Ok(b) = text.parse::<bool>() {
            CtValue::Bool(b)
        } else if text == "auto" {
            CtValue::Auto
        } else if let Ok(x) = text.parse::<f64>() {
            CtValue::Float(Float::new(x))
        } else {
            let reason = |e| format!("`{text}` is not a number, element type or layout ({e})");
            CtValue::Layout(text.parse::<Layout>().map_err(reason)?)
        })
    }
}

/// Compile-time arguments by name. Omitted parameters take their defaults.
pub type CtArgs = BTreeMap<Name, CtValue>;

/// The facts that an instance assumes of its launches.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LaunchFacts {
    /// A divisor of each dimension or stride symbol: a power of two, at most 16.
    pub dims: BTreeMap<Name, u32>,
    /// The alignment of each tensor's pointer in bytes: a power of two, at most 16.
    pub align: BTreeMap<Name, u32>,
    /// The divisor of every dimension and stride, and the alignment in bytes of every pointer, that the maps do not contain.
    pub rest: u32,
    /// The named strides that are 1. `None` means those of [`usual_units`], which the instance that editors show has too.
    pub units: Option<BTreeSet<Name>>,
}

/// Returns the named strides of a kernel that are 1 unless a launch says otherwise: if all strides of a tensor are written and
/// none of them is the number 1, the last one, as in a row-major tensor.
pub fn usual_units<'db>(db: &'db dyn hx_hir::Db, kernel: Kernel<'db>) -> BTreeSet<Name> {
    units(db, kernel, |_, is_last| is_last)
}

/// Returns for each tensor the last of its named strides for which `is_one` says so; none if one of its strides is the number 1.
/// `is_one` takes the name, and whether the stride is that of the last dimension.
fn units<'db>(
    db: &'db dyn hx_hir::Db,
    kernel: Kernel<'db>,
    is_one: impl Fn(&Name, bool) -> bool,
) -> BTreeSet<Name> {
    let sig = kernel_signature(db, kernel);
    let mut found = BTreeMap::new();
    for dim in signature_names(db, kernel.into()).dims.iter().filter(|dim| dim.stride) {
        let ty = sig.params.get(dim.param as usize).map(|param| &sig.store[param.ty]);
        let Some(TypeRef::Named { layout: Some(layout), .. }) = ty else { continue };
        let Expr::Array(all) = &sig.store[*layout] else { continue };
        let is_number = |at: &ExprId| matches!(sig.store[*at], Expr::Literal(Literal::Int(1)));
        let is_last = all.len() == dim.axis as usize + 1;
        if !all.iter().any(is_number) && is_one(&dim.name, is_last) {
            found.insert(dim.param, dim.name.clone());
        }
    }
    found.into_values().collect()
}

impl LaunchFacts {
    /// The greatest divisor and alignment for which launches are specialized.
    pub const MAX: u32 = 16;

    /// Returns facts in which every divisor and alignment is 16: the instance that editors show.
    pub fn all_16() -> LaunchFacts {
        LaunchFacts { dims: BTreeMap::new(), align: BTreeMap::new(), rest: Self::MAX, units: None }
    }

    /// Returns the facts of a launch with these dimensions and strides. A name without a value has the usual facts.
    pub fn of_launch<'db>(
        db: &'db dyn hx_hir::Db,
        kernel: Kernel<'db>,
        values: &BTreeMap<Name, i64>,
    ) -> LaunchFacts {
        let usual = usual_units(db, kernel);
        let units = units(db, kernel, |name, is_last| values.get(name).map_or(is_last, |value| *value == 1));
        let others = values.iter().filter(|(name, _)| !units.contains(*name));
        let dims: BTreeMap<Name, u32> =
            others.map(|(name, value)| (name.clone(), LaunchFacts::divisor_of(*value))).collect();
        // The default instance has these facts, so that the launch shares the solution that `hx check` has found.
        let dims = if dims.values().all(|divisor| *divisor == Self::MAX) { BTreeMap::new() } else { dims };
        let units = (units != usual).then_some(units);
        LaunchFacts { dims, units, ..LaunchFacts::all_16() }
    }

    /// Returns facts that promise nothing: every divisor and alignment is 1.
    pub fn none() -> LaunchFacts {
        LaunchFacts { dims: BTreeMap::new(), align: BTreeMap::new(), rest: 1, units: None }
    }

    /// Returns the known divisor of a dimension or stride.
    pub fn divisor(&self, dim: &str) -> u32 {
        self.dims.get(dim).copied().unwrap_or(self.rest).max(1)
    }

    /// Returns the known alignment of a parameter's pointer in bytes.
    pub fn alignment(&self, param: &str) -> u32 {
        self.align.get(param).copied().unwrap_or(self.rest).max(1)
    }

    /// Returns the divisor that a launch with this extent allows: the largest power of two that divides it, at most 16.
    pub fn divisor_of(extent: i64) -> u32 {
        let low = extent & extent.wrapping_neg();
        if extent == 0 { Self::MAX } else { low.clamp(1, i64::from(Self::MAX)) as u32 }
    }
}

impl Default for LaunchFacts {
    fn default() -> LaunchFacts {
        LaunchFacts::all_16()
    }
}
