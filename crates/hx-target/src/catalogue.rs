//! The rows of a target, and the functions that find them.

use std::collections::BTreeSet;

use hx_dtype::{AtomicOp, DType, Operator};
use hx_layout::Layout;
use serde::Deserialize;

use crate::cache::{PolicyRow, PrefetchRow};
use crate::copy::{AtomicForm, CopyRow};
use crate::operand::optional_layout;
use crate::product::GemmRow;
use crate::{BulkRow, Completion, Feature, MapLimits, Named, Operand, ReachRow, Space, Wait, expand};

/// An instruction that converts consecutive elements of one thread.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertRow {
    pub name: String,
    pub from: DType,
    pub to: DType,
    /// The number of elements converted at once.
    pub values: u32,
    /// The number of elements in one source operand, the first in its lowest bits.
    #[serde(default = "one")]
    pub together: u32,
    /// For each element of the destination its number in the source. If empty, the order is the same.
    #[serde(default)]
    pub order: Vec<u32>,
    /// Cycles for which the instruction keeps its pipe.
    pub issue: f64,
    /// Cycles until the result can be used.
    pub latency: f64,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// PTX with `{d}` for the destination, or `{d0}`, `{d1}`, … for several, and `{s0}`, `{s1}`, … for the sources.
    pub ptx: String,
}

impl ConvertRow {
    /// Returns the number in the source of an element of the destination.
    pub fn source(&self, element: i64) -> i64 {
        usize::try_from(element).ok().and_then(|i| self.order.get(i)).map_or(element, |at| i64::from(*at))
    }

    /// Returns the number of elements in one destination operand: as many as fill a 32-bit word, or all of them if they do not
    /// fill one; 1 for wider elements.
    pub fn each(&self) -> u32 {
        (32 / self.to.bits()).clamp(1, self.values.max(1))
    }
}

/// The lane that an exchange reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The lane whose number differs by a mask.
    Xor,
    /// The lane a given distance below. A lane without such a lane reads its own value.
    Up,
    /// The lane with a given number.
    Lane,
    /// For each value, the lane that holds the same element of a tile.
    Tile,
}

/// An instruction that moves one register between lanes of a warp.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeRow {
    pub name: String,
    pub reach: Reach,
    /// Bits of the register.
    pub bits: u32,
    /// (lane, value) → element of the instruction's tile: `held` before the exchange, `given` after it. Both are there for
    /// [`Reach::Tile`] only.
    #[serde(default, deserialize_with = "optional_layout")]
    pub held: Option<Layout>,
    #[serde(default, deserialize_with = "optional_layout")]
    pub given: Option<Layout>,
    /// Cycles for which the instruction keeps its pipe.
    pub issue: f64,
    /// Cycles until the result can be used.
    pub latency: f64,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// PTX with `{d}`, `{s}` and `{x}` for the mask, the distance or the lane.
    pub ptx: String,
}

impl ExchangeRow {
    /// Returns for each value of each lane the lane that has it and its number there: `sources()[value][lane]`. Returns
    /// `None` unless the row is of [`Reach::Tile`].
    pub fn sources(&self) -> Option<Vec<Vec<(i64, i64)>>> {
        let (held, given) = (self.held.as_ref()?, self.given.as_ref()?);
        let (lanes, values) = (given.mode(0).size(), given.mode(1).size());
        let holder: std::collections::BTreeMap<i64, (i64, i64)> =
            (0..held.size()).map(|i| (held.eval(i), (i % lanes, i / lanes))).collect();
        let source = |lane, value| holder.get(&given.eval(lane + lanes * value)).copied();
        (0..values).map(|value| (0..lanes).map(|lane| source(lane, value)).collect()).collect()
    }
}

/// An instruction that commits groups of asynchronous instructions, waits for them, or is a fence: `commit`, `wait`,
/// `proxy.fence`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupRow {
    pub name: String,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    /// PTX with `{n}` for the number of groups left in flight.
    pub ptx: String,
}

/// An instruction that synchronizes threads. The head of `catalogue/sync.toml` lists the operands.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncRow {
    pub name: String,
    /// The ability of a target that has the row; every target has a row without one.
    #[serde(default)]
    pub needs: Option<Feature>,
    pub ptx: String,
}

fn one() -> u32 {
    1
}

/// The code of an operator on one element, or on several that are packed in a word.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeRow {
    /// The name of the operator's variant.
    pub operator: String,
    /// The type of the operands.
    #[serde(rename = "type")]
    pub dtype: DType,
    /// The number of elements in each operand.
    #[serde(default = "one")]
    pub values: u32,
    /// A C++ expression with `{s0}`, `{s1}`, `{s2}`; `None` if the code is `ptx`.
    pub c: Option<String>,
    /// PTX with `{d}` and `{s0}`, `{s1}`, `{s2}`; `None` if the code is `c`.
    pub ptx: Option<String>,
    /// Cycles for which the instruction keeps its pipe.
    pub issue: f64,
    /// The cycles of `issue` in the unit of special functions.
    #[serde(default)]
    pub special: f64,
    /// Cycles until the result can be used.
    pub latency: f64,
}

/// All rows. Within each kind the widest and fastest come first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(default, rename = "copy")]
    pub copies: Vec<CopyRow>,
    #[serde(default, rename = "gemm")]
    pub gemms: Vec<GemmRow>,
    #[serde(default, rename = "reach")]
    pub reaches: Vec<ReachRow>,
    #[serde(default, rename = "convert")]
    pub converts: Vec<ConvertRow>,
    #[serde(default, rename = "exchange")]
    pub exchanges: Vec<ExchangeRow>,
    #[serde(default, rename = "group")]
    pub groups: Vec<GroupRow>,
    #[serde(default, rename = "compute")]
    pub computes: Vec<ComputeRow>,
    #[serde(default, rename = "bulk")]
    pub bulks: Vec<BulkRow>,
    /// The limits of the tensors that bulk copies address.
    #[serde(default)]
    pub map: MapLimits,
    #[serde(default, rename = "sync")]
    pub syncs: Vec<SyncRow>,
    #[serde(default, rename = "prefetch")]
    pub prefetches: Vec<PrefetchRow>,
    #[serde(default, rename = "policy")]
    pub policies: Vec<PolicyRow>,
    /// The instructions that wait for completions.
    #[serde(default, rename = "wait")]
    pub waits: Vec<Wait>,
}

/// Reads rows, with each family of rows in place of the row that stands for it.
///
/// # Errors
/// If the text is no TOML, a row lacks a field or has one that is unknown, or an operand names a reach that is not there. The error
/// names the row.
pub(crate) fn read(text: &str) -> Result<Catalogue, String> {
    let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    if let Some(toml::Value::Array(rows)) = file.get_mut("gemm") {
        *rows = expand::expanded(rows)?;
    }
    let mut read: Catalogue = file
        .clone()
        .try_into()
        .map_err(|e: toml::de::Error| refused_row(&file).unwrap_or_else(|| e.to_string()))?;
    for GemmRow { name, a, b, .. } in &mut read.gemms {
        let resolve = |operand: &mut Operand| operand.resolve(&read.reaches);
        resolve(a).and_then(|()| resolve(b)).map_err(|error| format!("gemm `{name}`: {error}"))?;
    }
    Ok(read)
}

/// Returns the error of the first row of a file that cannot be read alone, after the kind and the name of the row; `None` if
/// every row can.
fn refused_row(file: &toml::Table) -> Option<String> {
    let rows = |(kind, rows): (&String, &toml::Value)| {
        let alone = |row: &toml::Value| (kind.clone(), row.clone());
        rows.as_array().into_iter().flatten().map(alone).collect::<Vec<_>>()
    };
    file.iter().flat_map(rows).find_map(|(kind, row)| {
        let name = row.get("name").and_then(toml::Value::as_str).unwrap_or("without a name").to_owned();
        let alone = toml::Table::from_iter([(kind.clone(), toml::Value::Array(vec![row]))]);
        let error = alone.try_into::<Catalogue>().err()?;
        Some(format!("{kind} `{name}`: {}", error.to_string().trim_end().replace('\n', " ")))
    })
}

impl Catalogue {
    /// Returns the rows that a target with these features and warps of `lanes` lanes has. If two rows of a kind have the same name, the
    /// first wins. A product of one warp is followed by the same instruction with its operands exchanged.
    #[must_use]
    pub fn of(&self, features: &BTreeSet<Feature>, lanes: u32) -> Catalogue {
        fn had<T: Clone + Named>(rows: &[T], has: impl Fn(&T) -> bool) -> Vec<T> {
            let mut names = BTreeSet::new();
            rows.iter().filter(|row| has(row) && names.insert(row.name())).cloned().collect()
        }
        let has = |needs: Option<Feature>| needs.is_none_or(|feature| features.contains(&feature));
        let mut bulks = had(&self.bulks, |row| has(row.needs));
        if !has(Some(Feature::Multicast)) {
            bulks.iter_mut().for_each(|row| row.multicast = None);
        }
        let both = |row: GemmRow| {
            let swapped = row.swapped(lanes);
            std::iter::once(row).chain(swapped)
        };
        Catalogue {
            copies: had(&self.copies, |row| has(row.needs)),
            gemms: had(&self.gemms, |row| has(row.needs)).into_iter().flat_map(both).collect(),
            reaches: had(&self.reaches, |row| has(row.needs)),
            converts: had(&self.converts, |row| has(row.needs)),
            exchanges: had(&self.exchanges, |row| has(row.needs)),
            groups: had(&self.groups, |row| has(row.needs)),
            bulks,
            syncs: had(&self.syncs, |row| has(row.needs)),
            prefetches: had(&self.prefetches, |row| has(row.needs)),
            ..self.clone()
        }
    }

    /// Returns the copy row of this name; `None` if the target has none.
    pub fn copy(&self, name: &str) -> Option<&CopyRow> {
        self.copies.iter().find(|r| r.name == name)
    }

    /// Returns the row of a matrix product of this name; `None` if the target has none.
    pub fn gemm(&self, name: &str) -> Option<&GemmRow> {
        self.gemms.iter().find(|r| r.name == name)
    }

    /// Returns the conversion row of this name; `None` if the target has none.
    pub fn convert(&self, name: &str) -> Option<&ConvertRow> {
        self.converts.iter().find(|r| r.name == name)
    }

    /// Returns the row of this name that exchanges registers between the lanes of a warp; `None` if the target has none.
    pub fn exchange(&self, name: &str) -> Option<&ExchangeRow> {
        self.exchanges.iter().find(|r| r.name == name)
    }

    /// Returns the instruction that exchanges registers of `bits` bits between lanes whose numbers differ by a mask; `None` if
    /// the target has none.
    pub fn exchange_of(&self, bits: u32) -> Option<&ExchangeRow> {
        self.exchanges.iter().find(|r| r.reach == Reach::Xor && r.bits == bits)
    }

    /// Returns the exchanges of this reach, in the order of the catalogue.
    pub fn exchanges_by(&self, reach: Reach) -> impl Iterator<Item = &ExchangeRow> {
        self.exchanges.iter().filter(move |r| r.reach == reach)
    }

    /// Returns the weakest wait for a completion: the one that covers the fewest others.
    ///
    /// # Panics
    /// If no row waits for it, which a test excludes.
    pub fn wait_for(&self, completion: Completion) -> &Wait {
        let waits = self.waits.iter().filter(|wait| wait.completes.contains(&completion));
        let weakest = waits.min_by_key(|wait| wait.completes.len());
        weakest.unwrap_or_else(|| panic!("the table of waits lacks {completion:?}"))
    }

    /// Returns the group row of this name, such as `commit`, `bulk.wait` or `proxy.fence`; `None` if the target has none.
    pub fn group(&self, name: &str) -> Option<&GroupRow> {
        self.groups.iter().find(|r| r.name == name)
    }

    /// Returns the bulk copy row of this name; `None` if the target has none.
    pub fn bulk(&self, name: &str) -> Option<&BulkRow> {
        self.bulks.iter().find(|r| r.name == name)
    }

    /// Returns the row of this name that synchronizes threads; `None` if the target has none.
    pub fn sync(&self, name: &str) -> Option<&SyncRow> {
        self.syncs.iter().find(|r| r.name == name)
    }

    /// Returns the policy of the L2 cache of this name; `None` if the target has none.
    pub fn policy(&self, name: &str) -> Option<&PolicyRow> {
        self.policies.iter().find(|r| r.name == name)
    }

    /// Returns the row of an operator on operands of this type; `None` if the type has no row of its own.
    pub fn compute(&self, operator: Operator, dtype: DType) -> Option<&ComputeRow> {
        let name = format!("{operator:?}");
        self.computes.iter().find(|r| r.dtype == dtype && r.operator == name && r.values == 1)
    }

    /// Reports whether one instruction computes a product of this type and its sum with a third number, and rounds once. A
    /// thread program then fuses product and sum; integers wrap, so nothing is gained for them.
    pub fn fuses(&self, dtype: DType) -> bool {
        dtype.is_float() && self.compute(Operator::Fma, dtype).is_some()
    }

    /// Returns the row of an operator on several elements at once, which are packed in a word; `None` if the type has none.
    pub fn compute_packed(&self, operator: Operator, dtype: DType) -> Option<&ComputeRow> {
        let name = format!("{operator:?}");
        self.computes.iter().find(|r| r.dtype == dtype && r.operator == name && r.values > 1)
    }

    /// Returns the copies between two memories, in the order of the catalogue: widest first.
    pub fn copies_between(&self, from: Space, to: Space) -> impl Iterator<Item = &CopyRow> {
        let plain = self.copies.iter().filter(|r| r.atomic.is_none());
        plain.filter(move |r| r.from == from && r.to == to)
    }

    /// Returns the atomic instructions of this form on a memory, in the order of the catalogue: widest first.
    pub fn atomics_of(&self, form: AtomicForm, space: Space) -> impl Iterator<Item = &CopyRow> {
        let fits = move |r: &&CopyRow| r.atomic == Some(form) && r.memory_space() == space;
        self.copies.iter().filter(fits)
    }

    /// Reports whether an instruction accesses elements of this type by this operation in this memory.
    pub fn has_atomic(&self, op: AtomicOp, dtype: DType, space: Space) -> bool {
        let is = |row: &CopyRow| {
            row.memory_space() == space && row.atomic.is_some_and(|a| a.op == op && a.dtype == dtype)
        };
        self.copies.iter().any(is)
    }

    /// Returns the products of these element types that read both operands from registers.
    pub fn gemms_of(&self, a: DType, b: DType, c: DType) -> impl Iterator<Item = &GemmRow> {
        self.products_of([a, b, c]).filter(|row| !row.is_by_descriptor())
    }

    /// Returns the products of these element types, given as `[a, b, c]`, that read B from shared memory.
    pub fn gemms_by_descriptor(&self, types: [DType; 3]) -> impl Iterator<Item = &GemmRow> {
        self.products_of(types).filter(|row| row.is_by_descriptor())
    }

    fn products_of(&self, types: [DType; 3]) -> impl Iterator<Item = &GemmRow> {
        let has_types = move |r: &&GemmRow| [r.a.dtype(), r.b.dtype(), r.c.dtype] == types;
        self.gemms.iter().filter(has_types)
    }

    /// Returns the reach of this name, a way in which an instruction reads an operand from shared memory; `None` if the target
    /// has none.
    pub fn reach(&self, name: &str) -> Option<&ReachRow> {
        self.reaches.iter().find(|r| r.name == name)
    }

    /// Returns the conversions, those of the most values at once first.
    pub fn converts_of(&self, from: DType, to: DType) -> impl Iterator<Item = &ConvertRow> {
        self.converts.iter().filter(move |r| r.from == from && r.to == to)
    }
}
