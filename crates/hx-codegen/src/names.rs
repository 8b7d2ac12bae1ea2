//! Chooses identifiers: every name of the program becomes one that neither C++ nor the CUDA compiler uses.
//!
//! This module knows words only, not what they name.

use std::collections::BTreeSet;

use hx_thread::Barrier;

/// A pointer to the start of shared memory, and its address in the shared address space.
pub(crate) const SHARED_MEMORY: [&str; 2] = ["smem", "smem_base"];

/// Words that a local name must not be: keywords, and names to which the emitted text itself refers.
const RESERVED: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class \
    compl concept const const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default delete do double \
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not \
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static \
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned \
    using virtual void volatile wchar_t while xor xor_eq restrict linux unix \
    threadIdx blockIdx blockDim gridDim warpSize min max NULL INFINITY NAN CUDART_VERSION";

/// Functions of the C library and of CUDA that the compiler declares without a header. A kernel cannot have such a name, and a
/// local of that name would hide the function from the text that calls it.
const DECLARED: &str = "main abs acos acosh asin asinh assert atan atan2 atanh calloc cbrt ceil clock clock64 copysign cos cosh cospi \
    cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod fprintf \
    free frexp hypot ilogb isfinite isinf isnan j0 j1 jn labs ldexp lgamma llabs llmax llmin llrint llround log log10 log1p log2 logb \
    lrint lround malloc memcpy memmove memset modf nan nearbyint nextafter norm norm3d norm4d normcdf normcdfinv pow powi printf \
    puts rcbrt realloc remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt saturate scalbln scalbn signbit sin sincos sincospi \
    sinh sinpi sqrt strcmp strcpy strlen tan tanh tgamma trap trunc ullmax ullmin umax umin vprintf y0 y1 yn";

/// Types and variables that the CUDA compiler declares without a header. A local may hide one; a kernel of that name would be a second
/// declaration.
const TYPES: &str = "dim3 size_t ptrdiff_t clock_t va_list wint_t max_align_t nullptr_t";

/// Chooses names, each once in its scope.
#[derive(Debug)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// The names in the order in which they were chosen.
    given: Vec<String>,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names { taken: RESERVED.split_whitespace().map(str::to_owned).collect(), given: Vec::new() }
    }

    /// Returns `wanted` if it is free, else `wanted` with underscores appended.
    pub(crate) fn local(&mut self, wanted: &str) -> String {
        let mut name = identifier(wanted);
        while self.is_taken(&name) {
            name.push('_');
        }
        self.take(name)
    }

    /// Returns `wanted` if no enclosing scope uses it, else `wanted` with a number appended.
    pub(crate) fn scoped(&mut self, wanted: &str) -> String {
        let plain = identifier(wanted);
        let mut name = plain.clone();
        for number in 2.. {
            if !self.is_taken(&name) {
                break;
            }
            name = format!("{plain}_{number}");
        }
        self.take(name)
    }

    fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name) || is_declared(name)
    }

    fn take(&mut self, name: String) -> String {
        self.taken.insert(name.clone());
        self.given.push(name.clone());
        name
    }

    /// Opens a scope and returns its mark. [`Names::leave`] with this mark frees the names that are chosen from here on.
    pub(crate) fn enter(&self) -> usize {
        self.given.len()
    }

    pub(crate) fn leave(&mut self, scope: usize) {
        for name in self.given.drain(scope..) {
            self.taken.remove(&name);
        }
    }
}

/// Reports whether the word is reserved: a keyword of C or C++, or a name to which the emitted text refers, such as
/// `threadIdx`.
pub fn is_keyword(name: &str) -> bool {
    RESERVED.split_whitespace().any(|word| word == name)
}

/// Returns the symbol of a kernel of this name.
pub(crate) fn kernel_symbol(name: &str) -> String {
    let mut symbol = identifier(name);
    let is_type = TYPES.split_whitespace().chain(SHARED_MEMORY).any(|name| name == symbol);
    let is_of_headers = symbol.ends_with("_t") || symbol.to_ascii_lowercase().starts_with("cuda");
    if is_declared(&symbol) || is_keyword(&symbol) || is_type || is_of_headers || is_vector(&symbol) {
        symbol.push('_');
    }
    symbol
}

/// Reports whether this is the name of a vector type of CUDA or of a function that makes one, as `float4` and `make_uint2`.
fn is_vector(name: &str) -> bool {
    let stem =
        name.strip_prefix("make_").unwrap_or(name).trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    let of = |stem: &str| matches!(stem, "char" | "short" | "int" | "long" | "longlong");
    stem != name && (of(stem) || stem.strip_prefix('u').is_some_and(of) || matches!(stem, "float" | "double"))
}

/// Reports whether the compiler declares this name. The library names its `float` functions with a final `f` and its
/// `long double` functions with a final `l`.
fn is_declared(name: &str) -> bool {
    let library = |stem: &str| DECLARED.split_whitespace().any(|d| d == stem);
    library(name) || name.strip_suffix(['f', 'l']).is_some_and(library)
}

/// Replaces the characters that an identifier cannot hold. The emitter's own names that start with `hx_` do not end with an
/// underscore. A result that starts with `hx_` does, so it never equals one of them.
pub fn identifier(text: &str) -> String {
    let mut name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || name.starts_with('_') {
        name.insert(0, 'v');
    }
    // C++ reserves identifiers with two consecutive underscores.
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    if name.starts_with("hx_") && !name.ends_with('_') {
        name.push('_');
    }
    name
}

/// Returns the name of the variable that holds the address of the first stage's barrier.
pub(crate) fn barrier_name(barrier: &Barrier) -> String {
    format!("{}_{}", barrier.pipe, barrier.kind.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free_and_differ() {
        let mut names = Names::new();
        let given = ["int", "a", "a", "größe", "hx_t", "2d", "x.y", "threadIdx"].map(|n| names.local(n));
        assert_eq!(given, ["int_", "a", "a_", "gr_e", "hx_t_", "v2d", "x_y", "threadIdx_"]);
        let scope = names.enter();
        assert_eq!(["i", "i", "a"].map(|n| names.scoped(n)), ["i", "i_2", "a_2"]);
        names.leave(scope);
        assert_eq!(names.scoped("i"), "i");
        assert_eq!(["gemm", "exp", "expf", "int"].map(kernel_symbol), ["gemm", "exp_", "expf_", "int_"]);
        assert_eq!(
            ["smem", "size_t", "dim3", "uint4", "make_float2", "cudaError_t", "CUstream", "double1x"]
                .map(kernel_symbol),
            ["smem_", "size_t_", "dim3_", "uint4_", "make_float2_", "cudaError_t_", "CUstream", "double1x"]
        );
    }
}
