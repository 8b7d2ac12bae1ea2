//! `hx.tuned.toml`: the compile-time arguments that `hx tune` found for shapes. A project commits it beside its `hx.toml`.
//!
//! Each `[[tuned]]` table is one result: a kernel, a device and a shape, with the arguments to use. Unknown keys are errors, so that
//! a misspelled key is not ignored silently. [`updated`] changes the file's text and keeps what the user wrote around the tables.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use hx_base::{Diagnostic, SourceFile, TextRange, codes, nearest};
use hx_compile::CtValue;
use toml::de::{DeTable, DeValue};

use crate::paths;

/// The name of the file, beside `hx.toml` or beside the `.hx` files.
pub const TUNED_NAME: &str = "hx.tuned.toml";
/// The version of the format; every incompatible change raises it.
const FORMAT: i64 = 1;
/// The line that begins each result.
const TABLE: &str = "[[tuned]]";
const KEYS: &[&str] = &[
    "kernel",
    "member",
    "text",
    "device",
    "target",
    "shape",
    "arguments",
    "median_us",
    "ratio",
    "baseline",
    "hx",
];

/// The contents of a tuned file.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedFile {
    /// The file itself, for places of diagnostics.
    pub file: SourceFile,
    /// The folder from which the kernels' paths start, an absolute path.
    pub folder: String,
    /// The results, in the order of the text.
    pub entries: Vec<TunedEntry>,
    /// The errors in the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// One result of tuning: the arguments that are fastest for a kernel, a device and a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedEntry {
    /// `path::name` of the kernel. The path is relative to the file's folder, or is `std/…`.
    pub kernel: String,
    /// The name of the kernel of its family that runs instead, with `arguments`; `None` if the kernel runs itself.
    pub member: Option<String>,
    /// The hash of the text of the kernel that runs, at the time of tuning; if the text has changed, the result is out of date.
    pub text: String,
    /// The name of the device.
    pub device: String,
    /// The architecture of the device.
    pub target: String,
    /// The dimensions, and the compile-time arguments that were not tuned. A name that is missing may have any value.
    pub shape: BTreeMap<String, Extent>,
    /// The tuned arguments.
    pub arguments: BTreeMap<String, CtValue>,
    /// The median time of a launch in microseconds.
    pub median_us: f64,
    /// The baseline's time divided by the time of the result; `None` without a baseline.
    pub ratio: Option<f64>,
    pub baseline: Option<String>,
    /// The version of the toolchain that measured the result.
    pub hx: String,
    /// The file of the result; `None` before it is written.
    pub file: Option<SourceFile>,
    /// The range of the `[[tuned]]` table in the file.
    pub range: TextRange,
}

/// The values of a dimension or argument for which a result holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Extent {
    Is(CtValue),
    /// The tile function with this name.
    Function(String),
    /// Any value, written `"*"`.
    Any,
    /// The integers of a range, both ends included, written `"65..=128"`.
    Between(i64, i64),
}

impl Extent {
    /// Returns the extent that holds only this value.
    pub fn of(value: &CtValue) -> Extent {
        match value {
            CtValue::Function(key) => Extent::Function(key.name.to_string()),
            other => Extent::Is(other.clone()),
        }
    }

    /// Reports whether the extent holds a single value.
    pub fn is_exact(&self) -> bool {
        matches!(self, Extent::Is(_) | Extent::Function(_))
    }

    /// Reports whether the result holds for a value.
    pub fn holds(&self, value: &CtValue) -> bool {
        match (self, value) {
            (Extent::Is(wanted), value) => wanted == value,
            (Extent::Function(name), CtValue::Function(key)) => *name == *key.name,
            (Extent::Function(_), _) => false,
            (Extent::Any, _) => true,
            (Extent::Between(low, high), CtValue::Int(value)) => (low..=high).contains(&value),
            (Extent::Between(..), _) => false,
        }
    }

    fn parse(value: CtValueText<'_>) -> Result<Extent, String> {
        let text = match value {
            CtValueText::Value(value) => return Ok(Extent::Is(value)),
            CtValueText::Text(text) => text.trim(),
        };
        if text == "*" {
            return Ok(Extent::Any);
        }
        let Some((low, high)) = text.split_once("..=") else {
            let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
            return match text.parse() {
                Ok(value) => Ok(Extent::Is(value)),
                Err(_) if is_name && !text.is_empty() => Ok(Extent::Function(text.to_owned())),
                Err(reason) => Err(reason),
            };
        };
        match (low.trim().parse(), high.trim().parse()) {
            (Ok(low), Ok(high)) if low <= high => Ok(Extent::Between(low, high)),
            _ => Err(format!("found `{text}`, expected a range such as `65..=128`")),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Is(value) => value.fmt(f),
            Extent::Function(name) => f.write_str(name),
            Extent::Any => f.write_str("*"),
            Extent::Between(low, high) => write!(f, "{low}..={high}"),
        }
    }
}

#[cfg(test)]
mod tests;

/// A value of the file: already a compile-time value, or text that has to be parsed as one.
enum CtValueText<'t> {
    Value(CtValue),
    Text(&'t str),
}

/// Returns the path of a source file from a folder: `std/…` for the standard library, otherwise relative if it lies below the folder.
pub fn path_from(db: &dyn hx_base::Db, folder: &str, file: SourceFile) -> String {
    let shown = file.path(db);
    if file.kind(db) == hx_base::FileKind::Std {
        return shown.to_owned();
    }
    paths::display(folder, &paths::absolute(db.workspace().current_dir(db), shown))
}

impl TunedFile {
    pub(crate) fn read(db: &dyn hx_base::Db, file: SourceFile, folder: String) -> TunedFile {
        let mut out = TunedFile { file, folder, entries: Vec::new(), diagnostics: Vec::new() };
        let (document, errors) = DeTable::parse_recoverable(file.text(db));
        for error in errors {
            out.report(error.span().unwrap_or_default(), error.message().to_owned());
        }
        // After a syntax error use no entry, because the recovered ones may not be what the user meant.
        if out.diagnostics.is_empty() {
            out.read_document(document.get_ref());
        }
        out.diagnostics.sort_by_key(|found| found.primary.range.start());
        out
    }

    fn read_document(&mut self, document: &DeTable<'_>) {
        for (key, value) in document.iter() {
            match key.get_ref().as_ref() {
                "format" => {
                    let number = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<i64>().ok());
                    if number != Some(FORMAT) {
                        self.report(value.span(), format!("this version reads the format {FORMAT}"));
                    }
                }
                "tuned" => match value.get_ref().as_array() {
                    Some(tables) => tables.iter().for_each(|table| match table.get_ref().as_table() {
                        Some(entry) => self.read_entry(entry, table.span()),
                        None => self.report(table.span(), format!("expected a table, `{TABLE}`")),
                    }),
                    None => self.report(value.span(), format!("expected tables, each begun by `{TABLE}`")),
                },
                other => self.unknown(other, key.span(), &["format", "tuned"]),
            }
        }
    }

    fn read_entry(&mut self, table: &DeTable<'_>, span: Range<usize>) {
        let before = self.diagnostics.len();
        for (key, _) in table.iter() {
            if !KEYS.contains(&key.get_ref().as_ref()) {
                self.unknown(key.get_ref(), key.span(), KEYS);
            }
        }
        let mut text = |key: &str| match table.get(key) {
            Some(value) => match value.get_ref().as_str() {
                Some(text) => text.to_owned(),
                None => self.mistaken(value.span(), value.get_ref(), "a string"),
            },
            None => self.missing(key, span.clone()),
        };
        let (kernel, hash, device) = (text("kernel"), text("text"), text("device"));
        let (target, hx) = (text("target"), text("hx"));
        let shape = self.read_values(table, "shape", &span, Extent::parse);
        let arguments = self.read_values(table, "arguments", &span, |value| match value {
            CtValueText::Value(value) => Ok(value),
            CtValueText::Text(text) => text.parse(),
        });
        let median_us = match table.get("median_us") {
            Some(value) => number(value.get_ref()).unwrap_or_else(|| {
                self.mistaken(value.span(), value.get_ref(), "a number of microseconds");
                f64::NAN
            }),
            None => {
                self.missing("median_us", span.clone());
                f64::NAN
            }
        };
        let ratio = table.get("ratio").and_then(|value| {
            let found = number(value.get_ref());
            if found.is_none() {
                self.mistaken(value.span(), value.get_ref(), "a number");
            }
            found
        });
        let optional =
            |key: &str| table.get(key).and_then(|value| value.get_ref().as_str()).map(str::to_owned);
        let (baseline, member) = (optional("baseline"), optional("member"));
        if self.diagnostics.len() == before {
            let range = range(span);
            let entry = TunedEntry {
                kernel,
                member,
                text: hash,
                device,
                target,
                shape,
                arguments,
                median_us,
                ratio,
                baseline,
                hx,
                file: Some(self.file),
                range,
            };
            self.entries.push(entry);
        }
    }

    /// Reads the table of names and values at a key of a result. Reports what is missing or wrong, and leaves it out.
    fn read_values<T>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        span: &Range<usize>,
        parse: impl Fn(CtValueText<'_>) -> Result<T, String>,
    ) -> BTreeMap<String, T> {
        let mut out = BTreeMap::new();
        let Some(found) = table.get(key) else {
            self.missing(key, span.clone());
            return out;
        };
        let Some(values) = found.get_ref().as_table() else {
            self.mistaken(found.span(), found.get_ref(), "a table of names and values");
            return out;
        };
        for (name, value) in values.iter() {
            let parsed = match value.get_ref() {
                DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
                    Ok(n) => parse(CtValueText::Value(CtValue::Int(n))),
                    Err(_) => Err(format!("found `{}`, which does not fit 64 bits", n.as_str())),
                },
                DeValue::Boolean(b) => parse(CtValueText::Value(CtValue::Bool(*b))),
                DeValue::Float(x) => parse(CtValueText::Text(x.as_str())),
                DeValue::String(text) => parse(CtValueText::Text(text)),
                other => Err(format!(
                    "found a value of type {}, expected a number, a bool or a string",
                    other.type_str()
                )),
            };
            match parsed {
                Ok(value) => _ = out.insert(name.get_ref().to_string(), value),
                Err(reason) => self.report(value.span(), reason),
            }
        }
        out
    }

    fn report(&mut self, at: Range<usize>, message: String) {
        self.diagnostics.push(Diagnostic::new(&codes::BAD_PROJECT_FILE, self.file, range(at), message));
    }

    fn mistaken(&mut self, at: Range<usize>, found: &DeValue<'_>, wanted: &str) -> String {
        self.report(at, format!("found a value of type {}, expected {wanted}", found.type_str()));
        String::new()
    }

    fn missing(&mut self, key: &str, at: Range<usize>) -> String {
        self.report(at, format!("this result lacks the key `{key}`"));
        String::new()
    }

    fn unknown(&mut self, key: &str, at: Range<usize>, known: &[&str]) {
        let message = format!("found the key `{key}`, which means nothing");
        let found = Diagnostic::new(&codes::BAD_PROJECT_FILE, self.file, range(at), message);
        self.diagnostics.push(match nearest(key, known.iter().copied()) {
            Some(near) => found.help(format!("perhaps `{near}` is meant")),
            None => found.help(format!("known are {}", known.join(", "))),
        });
    }
}

/// Formats a shape as `k = 4096, m = 4096, T = bf16`.
pub fn shape_text(shape: &BTreeMap<String, Extent>) -> String {
    let shown: Vec<String> = in_order(shape).into_iter().map(|(name, is)| format!("{name} = {is}")).collect();
    shown.join(", ")
}

/// Returns the names of a shape in the order of display: dimensions, which are in lower case, then compile-time arguments.
fn in_order(shape: &BTreeMap<String, Extent>) -> Vec<(&String, &Extent)> {
    let mut out: Vec<_> = shape.iter().collect();
    out.sort_by_key(|(name, _)| name.starts_with(char::is_uppercase));
    out
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let text = value.as_float().map(|x| x.as_str()).or(value.as_integer().map(|n| n.as_str()))?;
    text.replace('_', "").parse::<f64>().ok().filter(|x| x.is_finite())
}

fn range(at: Range<usize>) -> TextRange {
    TextRange::new((at.start as u32).into(), (at.end as u32).into())
}

/// Returns the text of a tuned file with `results` added. A result replaces the earlier result of the same kernel, device and
/// shape. All other lines stay as they are. `None` for `file` starts a new file.
pub fn updated(db: &dyn hx_base::Db, file: Option<&TunedFile>, results: &[TunedEntry]) -> String {
    let mut text = match file {
        Some(file) => file.file.text(db).to_owned(),
        None => format!(
            "# Compile-time arguments for shapes, measured by `hx tune`. `hx bench`, `hx run` and `hx build` take them from here.\n\
             format = {FORMAT}\n"
        ),
    };
    let old = file.map(|file| file.entries.as_slice()).unwrap_or_default();
    // Replace from the end of the text, so that the ranges of earlier results stay valid.
    let same =
        |a: &TunedEntry, b: &TunedEntry| (&a.kernel, &a.device, &a.shape) == (&b.kernel, &b.device, &b.shape);
    let mut added = vec![true; results.len()];
    for entry in old.iter().rev() {
        let Some(at) = results.iter().position(|new| same(entry, new)) else { continue };
        let block = block(&text, entry.range);
        // If the file has several results of one shape, replace the first and remove the others.
        let is_first =
            !old.iter().any(|other| other.range.start() < entry.range.start() && same(entry, other));
        let new = if is_first { results[at].to_toml() } else { String::new() };
        text.replace_range(block, &new);
        added[at] = false;
    }
    for (result, _) in results.iter().zip(&added).filter(|(_, added)| **added) {
        let gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
        text += &format!("{gap}{}", result.to_toml());
    }
    text
}

/// Returns the byte range of the lines of a result: from its `[[tuned]]` to its last key, without the comments and blank lines
/// that follow.
fn block(text: &str, table: TextRange) -> Range<usize> {
    let within = usize::from(table.start());
    let start = text[..within.max(TABLE.len()).min(text.len())]
        .rfind(TABLE)
        .or_else(|| text[within..].starts_with(TABLE).then_some(within))
        .unwrap_or(within);
    let mut end = start;
    let mut last = start;
    for (number, line) in text[start..].split_inclusive('\n').enumerate() {
        if number > 0 && line.trim_start().starts_with('[') {
            break;
        }
        end += line.len();
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            last = end;
        }
    }
    start..last
}

impl TunedEntry {
    fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let value = |value: &CtValue| match value {
            CtValue::Int(_) | CtValue::Bool(_) => value.to_string(),
            other => quoted(&other.to_string()),
        };
        let extent = |extent: &Extent| match extent {
            Extent::Is(known) => value(known),
            other => quoted(&other.to_string()),
        };
        let shape: Vec<String> =
            in_order(&self.shape).into_iter().map(|(name, is)| format!("{name} = {}", extent(is))).collect();
        let arguments: Vec<String> =
            self.arguments.iter().map(|(name, is)| format!("{name} = {}", value(is))).collect();
        let mut out = format!("{TABLE}\nkernel = {}\n", quoted(&self.kernel));
        if let Some(member) = &self.member {
            out += &format!("member = {}\n", quoted(member));
        }
        out += &format!("shape = {{ {} }}\narguments = {{ {} }}\n", shape.join(", "), arguments.join(", "));
        out += &format!("device = {}\ntarget = {}\n", quoted(&self.device), quoted(&self.target));
        out += &format!("median_us = {:?}\n", self.median_us);
        if let (Some(ratio), Some(baseline)) = (self.ratio, &self.baseline) {
            out += &format!("ratio = {ratio:?}\nbaseline = {}\n", quoted(baseline));
        }
        out + &format!("text = {}\nhx = {}\n", quoted(&self.text), quoted(&self.hx))
    }
}
