//! The operands of matrix instructions: in the registers of lanes, in shared memory, or in either.

use hx_dtype::DType;
use hx_layout::Layout;
use serde::Deserialize;
use serde::de::Error;

use crate::ReachRow;

/// An operand of a matrix product: its element type, and the lane that holds each element.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fragment {
    #[serde(rename = "type")]
    pub dtype: DType,
    /// (lane, value) → element of the column-major operand tile.
    #[serde(deserialize_with = "layout")]
    pub layout: Layout,
}

pub(crate) fn layout<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Layout, D::Error> {
    let text = String::deserialize(d)?;
    text.parse().map_err(serde::de::Error::custom)
}

pub(crate) fn optional_layout<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Layout>, D::Error> {
    layout(d).map(Some)
}

impl Fragment {
    /// Returns the number of elements that each lane holds.
    pub fn values(&self) -> i64 {
        self.layout.mode(1).size()
    }
}

/// An operand of a matrix product, with all ways in which the instruction takes it: at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    dtype: DType,
    fragment: Option<Fragment>,
    /// The names of the reaches by which the instruction reads the operand from shared memory.
    reach: Vec<String>,
}

impl Operand {
    /// Returns an operand that is in registers.
    pub fn in_registers(fragment: Fragment) -> Operand {
        Operand { dtype: fragment.dtype, fragment: Some(fragment), reach: Vec::new() }
    }

    /// Returns an operand that the instruction reads from shared memory, by one of the reaches of these names.
    pub fn by_reach(dtype: DType, reach: &[&str]) -> Operand {
        Operand { dtype, fragment: None, reach: reach.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// Returns the element type, whether the operand is in registers or in shared memory.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the lane that holds each element, if the operand may be in registers; otherwise `None`.
    pub fn fragment(&self) -> Option<&Fragment> {
        self.fragment.as_ref()
    }

    /// Returns the names of the reaches, in the order of the catalogue; none if the operand is in registers only.
    pub fn reach(&self) -> &[String] {
        &self.reach
    }

    /// Returns the number of elements in registers of each lane: 0 for an operand that is always in shared memory.
    pub fn values(&self) -> i64 {
        self.fragment().map_or(0, Fragment::values)
    }

    /// Replaces the names that end in `*` by those of the rows that they stand for and that reach such elements.
    ///
    /// # Errors
    /// If a name stands for no row.
    pub(crate) fn resolve(&mut self, rows: &[ReachRow]) -> Result<(), String> {
        let fits = |row: &&ReachRow| row.modes(self.dtype.bits()).is_some();
        let is_meant = |row: &ReachRow, name: &String| match name.strip_suffix('*') {
            Some(head) => row.name.starts_with(head),
            None => row.name == *name,
        };
        for name in &self.reach {
            if !rows.iter().filter(fits).any(|row| is_meant(row, name)) {
                return Err(format!("no reach of elements of type {} is `{name}`", self.dtype));
            }
        }
        let is_named = |row: &&ReachRow| self.reach.iter().any(|name| is_meant(row, name));
        self.reach = rows.iter().filter(fits).filter(is_named).map(|row| row.name.clone()).collect();
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Operand {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Operand, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            #[serde(rename = "type")]
            dtype: DType,
            #[serde(default)]
            layout: Option<String>,
            #[serde(default)]
            reach: Vec<String>,
        }
        let Written { dtype, layout, reach } = Deserialize::deserialize(d)?;
        if layout.is_none() && reach.is_empty() {
            return Err(D::Error::custom("an operand needs a `layout`, a `reach`, or both"));
        }
        let layout = layout.map(|text| text.parse::<Layout>()).transpose().map_err(D::Error::custom)?;
        Ok(Operand { dtype, fragment: layout.map(|layout| Fragment { dtype, layout }), reach })
    }
}
