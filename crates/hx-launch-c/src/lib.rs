//! Launchers: kernels with their machine code as a C header and a C source, which other programs compile and call.
//!
//! A launcher checks at run time what its kernel relies on, encodes tensor maps, and loads the code once into each context. It
//! includes no header of CUDA, and links nothing: it loads the driver when it is first called.
//!
//! `runtime.c` is the part that is the same for every kernel; `source` writes a function for each kernel, and takes from
//! `runtime.c` what these call.
//!
//! Invariant: the crate compiles nothing, and knows no device and no source text.
//!
//! Start at [`launcher`].

mod expr;
mod front;
mod function;
mod header;
mod source;
#[cfg(test)]
mod tests;
mod text;

pub use front::{Front, FrontDim, Product};
use hx_codegen::{LaunchDescription, identifier, is_keyword};
use hx_target::Target;

use front::FrontFunction;

/// A kernel with its machine code.
#[derive(Clone, PartialEq, Debug)]
pub struct BuiltKernel {
    /// The name in the source.
    pub name: String,
    /// The name in the machine code.
    pub symbol: String,
    pub launch: LaunchDescription,
    /// The names that the header binds, in its order.
    pub dims: Vec<LaunchDim>,
    /// The name and the value of every compile-time argument.
    pub arguments: Vec<(String, String)>,
    /// The names of the tensors that hold the kernel's counters: they must be 0 before a launch, and are 0 after it.
    pub counters: Vec<String>,
    /// The messages of the kernel's assertions, in the order of their counts in the log.
    pub assertions: Vec<String>,
    /// Pairs `[input, output]` of names of tensor parameters that may get the same tensor.
    pub in_place: Vec<[String; 2]>,
    /// The machine code.
    pub code: Vec<u8>,
}

/// A dimension or stride that the launch gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchDim {
    pub name: String,
    pub is_stride: bool,
    /// A number that divides the value of every launch.
    pub divisor: u32,
    /// Whether the value is 1 in every launch.
    pub is_unit: bool,
}

/// Kernels that become one header and one source.
#[derive(Clone, Copy, Debug)]
pub struct LauncherRequest<'a> {
    /// The name of both files without their extensions. Every identifier of the header begins with `hx_` and this name.
    pub stem: &'a str,
    /// The name of the file with the kernels.
    pub file: &'a str,
    /// The version of the toolchain, which the files name.
    pub version: &'a str,
    pub target: Target,
    pub kernels: &'a [BuiltKernel],
    /// A function that chooses between the kernels, if they are members of a family.
    pub front: Option<&'a Front>,
}

/// The header and the source of a launcher, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LauncherText {
    pub header: String,
    pub source: String,
}

/// Writes the launcher of some kernels.
///
/// # Errors
/// If two functions would have the same name, or a kernel has a parameter that C cannot pass; as text.
pub fn launcher(request: &LauncherRequest<'_>) -> Result<LauncherText, String> {
    let functions = function::functions(request)?;
    let front = request.front.map(|front| FrontFunction::new(front, prefix(request.stem), &functions));
    let source = source::source(request, &functions, front.as_ref())?;
    Ok(LauncherText { header: header::header(request, &functions, front.as_ref()), source })
}

/// Returns the prefix of all identifiers. A single kernel's function has this name; with several kernels, the names of all
/// functions begin with it.
fn prefix(stem: &str) -> String {
    format!("hx_{}", word(stem))
}

/// Replaces the characters that C does not allow in a name.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Names that the headers which a launcher includes define as macros or types.
const TAKEN: &str = "stream log bool true false NULL EOF BUFSIZ stdin stdout stderr offsetof errno i386 \
    SEEK_SET SEEK_CUR SEEK_END size_t ptrdiff_t wchar_t va_list intptr_t uintptr_t intmax_t uintmax_t \
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t";

/// Returns the name of a parameter in C: that of the kernel's header, with underscores appended while it is taken.
fn parameter(wanted: &str, taken: &[String]) -> String {
    let mut name = identifier(wanted);
    while is_keyword(&name) || TAKEN.split_whitespace().any(|word| word == name) || taken.contains(&name) {
        name.push('_');
    }
    name
}
