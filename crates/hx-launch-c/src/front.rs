//! A function that chooses between the kernels of a launcher, by the dimensions of a launch.
//!
//! The choice was made for samples of the dimensions. A launch takes the kernel of the nearest sample, by ratios, and another one if that
//! kernel was not built for the launch.

use std::fmt::Write as _;

use hx_codegen::LaunchParam;

use crate::function::{Function, Own};
use crate::text::{declared_columns, wrapped};

/// The choice between the kernels of a launcher. Tensors are in row-major order without gaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Front {
    /// The name of the kernel whose family the kernels are.
    pub name: String,
    pub dims: Vec<FrontDim>,
    /// For each combination of samples, those of the last dimension fastest, the position of the kernel in the launcher.
    pub table: Vec<u8>,
    /// For each kernel, the value of each of its dimensions and strides.
    pub passed: Vec<Vec<Product>>,
}

/// A dimension of the launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrontDim {
    pub name: String,
    /// A number that divides the value of every launch.
    pub divisor: i64,
    /// The values for which the choice was made, ascending; one if every launch has the same.
    pub samples: Vec<i64>,
}

/// A number times dimensions of the front, by their positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    pub number: i64,
    pub dims: Vec<usize>,
}

impl FrontDim {
    /// Returns the last value that belongs to each sample but the last one: the geometric mean of neighbours.
    fn limits(&self) -> Vec<i64> {
        let between = |pair: &[i64]| (pair[0] as f64 * pair[1] as f64).sqrt() as i64;
        self.samples.windows(2).map(between).collect()
    }
}

impl Product {
    /// Returns the product in C. It stops at the greatest number, which every check refuses.
    fn text(&self, names: &[String]) -> String {
        let mut factors = self.dims.iter().filter_map(|dim| names.get(*dim)).cloned();
        let first = match (self.number, factors.next()) {
            (number, None) => return number.to_string(),
            (1, Some(first)) => first,
            (number, Some(first)) => format!("hx_times({number}, {first})"),
        };
        factors.fold(first, |product, factor| format!("hx_times({product}, {factor})"))
    }
}

/// The front as a function in C.
pub(super) struct FrontFunction<'a> {
    pub(super) front: &'a Front,
    pub(super) name: String,
    functions: &'a [Function<'a>],
    /// The names in C of the dimensions.
    dims: Vec<String>,
}

impl<'a> FrontFunction<'a> {
    /// Makes the function of a front between `functions`.
    pub(super) fn new(front: &'a Front, name: String, functions: &'a [Function<'a>]) -> FrontFunction<'a> {
        let mut taken: Vec<String> =
            functions.first().map(|f| f.own.iter().map(|own| own.name.clone()).collect()).unwrap_or_default();
        let mut dims = Vec::new();
        for dim in &front.dims {
            let name = crate::parameter(&dim.name, &taken);
            taken.push(name.clone());
            dims.push(name);
        }
        FrontFunction { front, name, functions, dims }
    }

    fn own(&self) -> &'a [Own<'a>] {
        self.functions.first().map(|function| function.own.as_slice()).unwrap_or_default()
    }

    /// Returns the parameters in C: those of the kernels, the dimensions, and the stream.
    pub(super) fn parameters(&self) -> Vec<String> {
        let own = self.own().iter().map(Own::declared);
        let dims = self.dims.iter().map(|name| format!("int64_t {name}"));
        own.chain(dims).chain(["void *stream".to_owned()]).collect()
    }

    fn arguments(&self) -> String {
        let own = self.own().iter().map(|own| own.name.clone());
        own.chain(self.dims.iter().cloned()).chain(["stream".to_owned()]).collect::<Vec<_>>().join(", ")
    }

    /// Describes the function for the header.
    pub(super) fn documentation(&self) -> String {
        let mut lines = vec![
            format!(
                "Launches the member of the family of `{}` that is the fastest for the dimensions by the cost model.",
                self.front.name
            ),
            String::new(),
        ];
        for Own { name, param } in self.own() {
            match param {
                LaunchParam::Tensor(tensor) => {
                    let rank = tensor.shape.len();
                    let written = if tensor.mutable { ", written" } else { "" };
                    let place = match &tensor.block {
                        Some(block) => {
                            format!("in blocks {block}, which follow each other in row-major order")
                        }
                        None => "in row-major order without gaps".to_owned(),
                    };
                    lines.push(format!("{name}: {}, {rank} dimensions {place}{written}", tensor.dtype));
                }
                LaunchParam::Scalar { dtype, .. } => lines.push(format!("{name}: {dtype}")),
                LaunchParam::Symbol(_) | LaunchParam::TensorMap(_) | LaunchParam::Log { .. } => {}
            }
        }
        for (dim, name) in self.front.dims.iter().zip(&self.dims) {
            let of = match dim.samples.as_slice() {
                [only] => format!("the choice is for {only}"),
                [first, .., last] => format!("the choice is for {first} to {last}"),
                [] => String::new(),
            };
            let multiple =
                if dim.divisor > 1 { format!(", a multiple of {}", dim.divisor) } else { String::new() };
            lines.push(format!("{name}: dimension{multiple}; {of}"));
        }
        lines.push(String::new());
        lines.push(
            "A launch with dimensions outside of these takes the member for the nearest ones.".to_owned(),
        );
        lines.join("\n")
    }

    /// Returns the text of the function.
    pub(super) fn text(&self) -> String {
        let parameters = wrapped(&self.parameters(), declared_columns(&self.name));
        let arguments = self.arguments();
        let mut out = format!(
            "static enum hx_status hx_member(int hx_number, {parameters}) {{\n    switch (hx_number) {{\n"
        );
        for (at, (function, passed)) in self.functions.iter().zip(&self.front.passed).enumerate() {
            let own = function.own.iter().map(|own| own.name.clone());
            let dims = passed.iter().map(|product| product.text(&self.dims));
            let all = own.chain(dims).chain(["stream".to_owned()]).collect::<Vec<_>>().join(", ");
            let label =
                if at + 1 == self.functions.len() { "default".to_owned() } else { format!("case {at}") };
            let _ = writeln!(out, "    {label}: return {}({all});", function.name);
        }
        let _ = write!(out, "    }}\n}}\n\nenum hx_status {}({parameters}) {{\n", self.name);
        for (at, dim) in self.front.dims.iter().enumerate().filter(|(_, dim)| dim.samples.len() > 1) {
            let limits: Vec<String> = dim.limits().iter().map(i64::to_string).collect();
            let _ = writeln!(out, "    static const int64_t hx_limits_{at}[] = {{{}}};", limits.join(", "));
        }
        let table: Vec<String> = self.front.table.iter().map(u8::to_string).collect();
        let _ = writeln!(
            out,
            "    static const unsigned char hx_table[] = {{\n        {}}};",
            wrapped(&table, 8)
        );
        out += "    int hx_at = 0, hx_other;\n    enum hx_status hx_result;\n";
        for (at, dim) in self.front.dims.iter().enumerate().filter(|(_, dim)| dim.samples.len() > 1) {
            let (name, count) = (&self.dims[at], dim.samples.len());
            let _ = writeln!(
                out,
                "    hx_at = hx_at * {count} + hx_nearest({name}, hx_limits_{at}, {});",
                count - 1
            );
        }
        let count = self.functions.len();
        out += &format!(
            "    hx_result = hx_member(hx_table[hx_at], {arguments});\n    \
             for (hx_other = 0; hx_other < {count} && hx_is_unfit(hx_result); hx_other++)\n        \
             hx_result = hx_member(hx_other, {arguments});\n    return hx_result;\n}}\n"
        );
        out
    }
}
