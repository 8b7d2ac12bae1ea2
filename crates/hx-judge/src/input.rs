//! Typed access to the fields of a case.

use std::str::FromStr;

use serde_json::{Map, Value};

/// Tables longer than this are sampled.
pub(super) const TABLE_LIMIT: i64 = 4096;

/// The inputs of a case.
pub(super) struct Input<'a> {
    fields: &'a Map<String, Value>,
    samples: Option<&'a Value>,
}

impl<'a> Input<'a> {
    pub(super) fn new(fields: &'a Map<String, Value>, samples: Option<&'a Value>) -> Input<'a> {
        Input { fields, samples }
    }

    pub(super) fn value(&self, name: &str) -> Result<&'a Value, String> {
        self.fields.get(name).ok_or_else(|| format!("the case has no input `{name}`"))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        self.value(name)?.as_str().ok_or_else(|| format!("input `{name}` is not text"))
    }

    /// Parses the text of an input. A number is read as its text.
    pub(super) fn parse<T: FromStr>(&self, name: &str) -> Result<T, String>
    where
        T::Err: ToString,
    {
        match self.value(name)? {
            Value::Number(number) => number.to_string().parse().map_err(|e: T::Err| e.to_string()),
            _ => self.text(name)?.parse().map_err(|e: T::Err| e.to_string()),
        }
    }

    pub(super) fn int(&self, name: &str) -> Result<i64, String> {
        self.value(name)?.as_i64().ok_or_else(|| format!("input `{name}` is not an integer"))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.fields.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], String> {
        let list = self.value(name)?.as_array().ok_or_else(|| format!("input `{name}` is not a list"))?;
        Ok(list)
    }

    pub(super) fn ints(&self, name: &str) -> Result<Vec<i64>, String> {
        let list = self.list(name)?;
        list.iter().map(|v| v.as_i64().ok_or_else(|| format!("input `{name}` holds no integer"))).collect()
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'a str>, String> {
        let list = self.list(name)?;
        list.iter().map(|v| v.as_str().ok_or_else(|| format!("input `{name}` holds no text"))).collect()
    }

    /// Returns the coordinates to show of a result of `size` that is too large for a table: those that the case lists, else some
    /// spread over the domain.
    pub(super) fn sample_coords(&self, size: i64) -> Vec<i64> {
        if let Some(list) = self.samples.and_then(Value::as_array) {
            return list
                .iter()
                .filter_map(|pair| pair.get(0)?.as_i64())
                .filter(|c| (0..size).contains(c))
                .collect();
        }
        let step = size / 64;
        (0..64).map(|i| i * step).chain([size - 1]).collect()
    }
}
