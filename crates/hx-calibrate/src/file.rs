//! The file of the cost model: written from results, and compared with them.

use std::fmt::Write;

use hx_target::{Basis, Costs, Target};
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::probe::Results;
use crate::rows::{Row, rows};
use crate::{compute, global, products, shared};

/// Columns of a line of the file.
const COLUMNS: usize = 132;

/// A measured number beside the known one.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    pub name: String,
    pub measured: f64,
    pub known: f64,
}

impl Compared {
    /// Returns the measured number divided by the known one.
    pub fn ratio(&self) -> f64 {
        self.measured / self.known
    }

    /// Reports whether the numbers differ by more than 10 %, and by more than 0.05, which may be rounding.
    pub fn differs(&self) -> bool {
        !(0.9..=1.1).contains(&self.ratio()) && (self.measured - self.known).abs() > 0.05
    }
}

/// A measured GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device<'a> {
    /// The name that its driver says: `NVIDIA H200`.
    pub name: &'a str,
    /// The compute capability: `[major, minor]`.
    pub capability: [u32; 2],
    pub multiprocessors: u32,
}

/// Returns the text of the file of a device: that of `base`, with the measured numbers in place of its own. Numbers that no probe
/// measured keep their paragraph. The file is `measured` if `base` is: numbers that are still published ones keep it `published`.
///
/// # Errors
/// If `base` is no file of the cost model, or the name of the device cannot be part of one.
pub fn written(base: &str, results: &Results, target: Target, device: &Device<'_>) -> Result<String, String> {
    let known = Costs::read(base)?;
    let all = rows(target);
    let Device { name, capability: [major, minor], multiprocessors } = device;
    let head = format!(
        "Costs of a multiprocessor besides its instructions, in cycles of an {name}. `hx calibrate` wrote the numbers with measured probes; the others are explained where they are."
    );
    let mut out = wrapped(&head);
    let body = base.split("\n\n").skip(1);
    for paragraph in body {
        let keys: Vec<&str> = paragraph.lines().filter_map(key).collect();
        let found: Vec<(&Row, f64)> = keys
            .iter()
            .filter_map(|key| {
                let row = all.iter().find(|row| row.key == *key)?;
                Some((row, row.value(results, target)?))
            })
            .collect();
        out.push('\n');
        if keys == ["multiprocessors"] {
            comment(paragraph, &mut out);
            let _ = writeln!(out, "multiprocessors = {multiprocessors}");
        } else if keys.contains(&"device") {
            comment(paragraph, &mut out);
            let basis = match known.basis {
                Basis::Measured => "measured",
                Basis::Published => "published",
            };
            let _ = writeln!(out, "device = '{name}'\ncapability = [{major}, {minor}]\nbasis = '{basis}'");
        } else if found.len() == keys.len() && !keys.is_empty() {
            let texts = found.iter().map(|(row, value)| measured(row, *value, results));
            out.push_str(&texts.collect::<Vec<_>>().join("\n"));
        } else {
            let _ = writeln!(out, "{}", paragraph.trim_end());
        }
    }
    Costs::read(&out)?;
    Ok(out)
}

/// Writes the comment of a paragraph.
fn comment(paragraph: &str, out: &mut String) {
    for line in paragraph.lines().filter(|line| line.starts_with('#')) {
        let _ = writeln!(out, "{line}");
    }
}

/// Returns the key of a line that has one.
fn key(line: &str) -> Option<&str> {
    if line.starts_with('#') { None } else { line.split_once('=').map(|(key, _)| key.trim()) }
}

/// Returns the paragraph of a number: a comment with its meaning and the figures of its probes, and the line `KEY = VALUE`.
fn measured(row: &Row, value: f64, results: &Results) -> String {
    let probe = |name: &String| results.get(name).map(|figure| format!("{name} {}", digits(figure)));
    let from: Vec<String> = row.probes.iter().filter_map(probe).collect();
    let text = format!("{} Measured: {}.", row.meaning, from.join(", "));
    format!("{}{} = {value:?}\n", wrapped(&text), row.key)
}

/// Formats a figure: `1234` from 100 on, otherwise with two digits after the point, `12.34`.
fn digits(figure: f64) -> String {
    if figure.abs() >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}

/// Returns a text as lines of a comment.
fn wrapped(text: &str) -> String {
    let options = Options::new(COLUMNS)
        .initial_indent("# ")
        .subsequent_indent("# ")
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options) + "\n"
}

/// Compares the results with the numbers of a file, and with the rows of the catalogue.
///
/// # Errors
/// If `text` is no file of the cost model.
pub fn compare(text: &str, results: &Results, target: Target) -> Result<Vec<Compared>, String> {
    Costs::read(text)?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let number = |key: &str| {
        let value = table.get(key)?;
        value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
    };
    let mut out = Vec::new();
    for row in rows(target) {
        if let (Some(measured), Some(known)) = (row.value(results, target), number(row.key)) {
            out.push(Compared { name: row.key.to_owned(), measured, known });
        }
    }
    out.extend(against_catalogue(results, target));
    Ok(out)
}

fn against_catalogue(results: &Results, target: Target) -> Vec<Compared> {
    let mut out = Vec::new();
    let mut add = |name: String, known: Option<f64>| {
        if let (Some(measured), Some(known)) = (results.get(&name), known) {
            out.push(Compared { name, measured, known });
        }
    };
    for n in products::COLUMNS {
        for registers in [false, true] {
            add(products::name(n, registers), products::expected(n, registers, target));
        }
    }
    for row in shared::rows(target) {
        add(shared::name(row, 1), Some(row.issue));
    }
    for (operator, dtype) in compute::OPERATORS {
        add(compute::name(operator, dtype), target.rows().compute(operator, dtype).map(|row| row.issue));
    }
    add(compute::EXCHANGE.to_owned(), target.rows().exchange_of(32).map(|row| row.issue));
    let load = target
        .rows()
        .copies_between(hx_target::Space::Global, hx_target::Space::Register)
        .find(|row| row.words == 1 && row.word == 32);
    add(global::LATENCY.to_owned(), load.map(|row| row.latency));
    out
}
