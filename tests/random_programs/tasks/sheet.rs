//! The text of a program while it is written: kernels, and the test that launches them and computes their results on the host.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hx_dtype::DType;

use super::super::program::Range;
use super::super::write::{Launch, Written, float};
use super::choices::Choices;

/// Lines of a text, indented by what they are put into.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lines(Vec<String>);

impl Lines {
    /// Adds the lines of a text.
    pub(crate) fn push(&mut self, text: impl AsRef<str>) {
        self.0.extend(text.as_ref().lines().map(str::to_owned));
    }

    pub(crate) fn extend(&mut self, lines: Lines) {
        self.0.extend(lines.0);
    }

    /// Adds `head {`, the inner lines, and `}`.
    pub(crate) fn block(&mut self, head: &str, inner: Lines) {
        self.0.push(format!("{head} {{"));
        self.0.extend(inner.0.iter().map(|line| format!("    {line}")));
        self.0.push("}".to_owned());
    }

    /// Reports whether a line contains a text.
    pub(crate) fn mention(&self, text: &str) -> bool {
        self.0.iter().any(|line| line.contains(text))
    }

    /// Reports whether a line uses a name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        self.0.iter().any(|line| line.split(|c| !is_part(c)).any(|word| word == name))
    }

    /// Adds a block such as `else { … }` behind the closing brace of the last one.
    pub(crate) fn join(&mut self, other: Lines) {
        let mut other = other.0.into_iter();
        if let (Some(last), Some(first)) = (self.0.last_mut(), other.next()) {
            last.push(' ');
            last.push_str(&first);
        }
        self.0.extend(other);
    }

    /// Puts one line before the first block whose head begins with `head`, and another line after its end.
    pub(crate) fn around(self, head: &str, before: &str, after: &str) -> Lines {
        let mut lines = Vec::new();
        let mut state = 0;
        for line in self.0 {
            if state == 0 && line.starts_with(head) {
                lines.push(before.to_owned());
                state = 1;
            }
            let ends = state == 1 && line == "}";
            lines.push(line);
            if ends {
                lines.push(after.to_owned());
                state = 2;
            }
        }
        Lines(lines)
    }

    /// Returns the lines that do not begin with `head`.
    pub(crate) fn without(mut self, head: &str) -> Lines {
        self.0.retain(|line| !line.starts_with(head));
        self
    }

    /// Keeps the lines that contain a text.
    pub(crate) fn retain(&mut self, text: &str) {
        self.0.retain(|line| line.contains(text));
    }

    fn write(&self, indent: &str) -> String {
        self.0.iter().map(|line| format!("{indent}{line}\n")).collect()
    }
}

impl From<&str> for Lines {
    fn from(text: &str) -> Lines {
        let mut lines = Lines::default();
        lines.push(text);
        lines
    }
}

impl From<String> for Lines {
    fn from(text: String) -> Lines {
        text.as_str().into()
    }
}

/// A kernel, and the arguments of its launch.
#[derive(Default)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) params: Vec<String>,
    pub(crate) args: Vec<String>,
    pub(crate) wheres: Vec<String>,
    /// The clauses behind `where`, as in `grid [4]`.
    pub(crate) header: Vec<String>,
    pub(crate) body: Lines,
    /// The dimensions and strides that the launch binds.
    pub(crate) dims: BTreeMap<String, i64>,
}

impl Kernel {
    /// Returns the launch of the kernel with its arguments.
    pub(crate) fn launch(&self) -> String {
        format!("{}({});", self.name, self.args.join(", "))
    }

    /// Adds an integer parameter and its argument.
    pub(crate) fn number(&mut self, name: &str, dtype: DType, value: i64) {
        self.params.push(format!("{name}: {dtype}"));
        self.args.push(value.to_string());
    }

    fn write(&self) -> String {
        let mut text = format!("kernel {}(\n", self.name);
        self.params.iter().for_each(|param| {
            let _ = writeln!(text, "    {param},");
        });
        text.push_str(")\n");
        if !self.wheres.is_empty() {
            let _ = writeln!(text, "    where {}", self.wheres.join(", "));
        }
        self.header.iter().for_each(|clause| {
            let _ = writeln!(text, "    {clause}");
        });
        let _ = write!(text, "{{\n{}}}\n\n", self.body.write("    "));
        text
    }
}

/// A tensor of global memory: its name, and its dimensions with their names.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) dims: Vec<(String, i64)>,
    /// Elements before and after each row, in a larger tensor of the test. The parameter then names its strides.
    pub(crate) around: Option<[i64; 2]>,
}

impl Tensor {
    pub(crate) fn new(name: &str, dtype: DType, dims: &[(&str, i64)]) -> Tensor {
        let dims = dims.iter().map(|(name, extent)| ((*name).to_owned(), *extent)).collect();
        Tensor { name: name.to_owned(), dtype, dims, around: None }
    }

    pub(crate) fn extents(&self) -> String {
        self.dims.iter().map(|(_, extent)| extent.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the extents of the larger tensor in which it lies.
    fn whole(&self) -> String {
        let last = self.dims.len() - 1;
        let [before, after] = self.around.unwrap_or_default();
        let extent = |(at, (_, extent)): (usize, &(String, i64))| {
            (extent + if at == last { before + after } else { 0 }).to_string()
        };
        self.dims.iter().enumerate().map(extent).collect::<Vec<_>>().join(", ")
    }

    /// Returns the indices that cut the tensor out of the larger one.
    fn cut(&self) -> String {
        let last = self.dims.len() - 1;
        let [before, _] = self.around.unwrap_or_default();
        let all = self.dims.iter().enumerate().map(|(at, (_, extent))| {
            if at == last { format!("{before}..{}", before + extent) } else { "..".to_owned() }
        });
        format!("[{}]", all.collect::<Vec<_>>().join(", "))
    }
}

/// The value that fills what a kernel must not write.
pub(crate) const SENTINEL: i64 = 77;

/// A program that is being written.
pub(crate) struct Sheet {
    pub(crate) choices: Choices,
    /// The number of the program. It selects among alternatives that programs take in turns, such as instructions.
    pub(crate) turn: u64,
    pub(crate) kernels: Vec<Kernel>,
    /// The body of the test.
    pub(crate) test: Lines,
    pub(crate) parts: BTreeSet<&'static str>,
    title: String,
    seeds: usize,
}

impl Sheet {
    pub(crate) fn new(choices: Choices, title: String, turn: u64) -> Sheet {
        Sheet {
            choices,
            turn,
            kernels: Vec::new(),
            test: Lines::default(),
            parts: BTreeSet::new(),
            title,
            seeds: 0,
        }
    }

    /// Records that the program has a part of the language.
    pub(crate) fn part(&mut self, name: &'static str) {
        self.parts.insert(name);
    }

    /// Returns a name for a kernel of the program.
    pub(crate) fn kernel_name(&self) -> String {
        match self.kernels.len() {
            0 => self.title.clone(),
            n => format!("{}_{n}", self.title),
        }
    }

    /// Returns a host expression for a tensor of `dtype` with the extents `extents` (as in `100, 64`) and random integers of
    /// `range`.
    pub(crate) fn random(&mut self, dtype: DType, extents: &str, range: Range) -> String {
        self.seeds += 1;
        let draw =
            format!("uniform(f64, [{extents}], seed: {}) * {}.0", self.seeds, range.high - range.low + 1);
        format!("cast(floor({draw}) + {}, {dtype})", float(range.low))
    }

    /// Adds a tensor that a kernel reads, with random integers.
    pub(crate) fn input(&mut self, kernel: &mut Kernel, tensor: &Tensor, range: Range) {
        let name = &tensor.name;
        if tensor.around.is_some() {
            let random = self.random(tensor.dtype, &tensor.whole(), range);
            self.test
                .push(format!("let {name}_whole = {random};\nlet {name} = {name}_whole{};", tensor.cut()));
        } else {
            let random = self.random(tensor.dtype, &tensor.extents(), range);
            self.test.push(format!("let {name} = {random};"));
        }
        self.param(kernel, tensor, "");
    }

    /// Adds a tensor that a kernel writes, with the elements that it has before the launch. Elements beside it are a sentinel.
    pub(crate) fn output(&mut self, kernel: &mut Kernel, tensor: &Tensor, start: Begin) {
        let Tensor { name, dtype, .. } = tensor;
        let extents = tensor.extents();
        let sentinel = float(SENTINEL.min(super::super::program::exact(*dtype)));
        if tensor.around.is_some() {
            self.part("gaps between rows");
            let whole = tensor.whole();
            self.test.push(format!(
                "let {name}_whole = full({dtype}, [{whole}], {sentinel});\nlet {name} = {name}_whole{};",
                tensor.cut()
            ));
            if start == Begin::Zeros {
                self.test.push(format!("{name}_whole{} = zeros(f64, [{extents}]);", tensor.cut()));
            }
        } else {
            let made = match start {
                Begin::Unwritten => format!("empty({dtype}, [{extents}])"),
                Begin::Zeros => format!("zeros({dtype}, [{extents}])"),
                Begin::Kept => format!("full({dtype}, [{extents}], {sentinel})"),
            };
            self.test.push(format!("let {name} = {made};"));
        }
        self.param(kernel, tensor, "mut ");
    }

    fn param(&mut self, kernel: &mut Kernel, tensor: &Tensor, mutable: &str) {
        let Tensor { name, dtype, dims, around } = tensor;
        let shape: Vec<&str> = dims.iter().map(|(dim, _)| dim.as_str()).collect();
        let strides = match (around, dims.len()) {
            (Some([before, after]), 2) => {
                let ld = format!("l{name}");
                kernel.dims.insert(ld.clone(), dims[1].1 + before + after);
                format!(" : [{ld}, 1]")
            }
            _ => String::new(),
        };
        kernel.params.push(format!("{name}: {mutable}{dtype}[{}]{strides}", shape.join(", ")));
        kernel.args.push(name.clone());
        let named = dims.iter().filter(|(dim, _)| dim.parse::<i64>().is_err());
        kernel.dims.extend(named.cloned());
    }

    /// Compares a tensor, and what lies beside it, with the values of the test's tensor `expected`.
    pub(crate) fn compare(&mut self, tensor: &Tensor, expected: &str) {
        let Tensor { name, dtype, .. } = tensor;
        if tensor.around.is_none() {
            return self.test.push(format!("assert_eq({name}, {expected});"));
        }
        let sentinel = float(SENTINEL.min(super::super::program::exact(*dtype)));
        let (whole, cut) = (tensor.whole(), tensor.cut());
        self.test.push(format!(
            "let all_{name} = full(f64, [{whole}], {sentinel});\nall_{name}{cut} = {expected};\n\
             assert_eq({name}_whole, all_{name});"
        ));
    }

    /// Adds a kernel, without a launch.
    pub(crate) fn finish(&mut self, kernel: Kernel) {
        self.kernels.push(kernel);
    }

    /// Returns the program and the choices that it consists of.
    pub(crate) fn written(self) -> (Written, Vec<usize>) {
        let mut text = "//! A random program.\n\n".to_owned();
        self.kernels.iter().for_each(|kernel| text.push_str(&kernel.write()));
        let _ = write!(text, "test \"{}\" {{\n{}}}\n", self.title, self.test.write("    "));
        let launches = self
            .kernels
            .into_iter()
            .map(|kernel| Launch { kernel: kernel.name, dims: kernel.dims })
            .collect();
        let written = Written {
            text,
            launches,
            parts: self.parts,
            draws: BTreeSet::new(),
            divides_by_zero: false,
            orders: 3,
        };
        (written, self.choices.into_taken())
    }
}

/// The elements of an output before the launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    Unwritten,
    Zeros,
    /// A sentinel, where the kernel need not write all.
    Kept,
}
