//! Words of other languages and their replacements: one table for the parser, which meets them where the grammar does not allow a
//! name, and for names that resolve to nothing.
//!
//! The words are those of CUDA, Triton, Python and Rust programmers. None of them is reserved: if a program defines such a name,
//! its definition counts.

/// The place of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignPlace {
    /// At the start of an item.
    Item,
    /// At the start of a statement.
    Statement,
    /// Before the name of a local, if the word says more than `let`.
    Declaration,
    /// After a `#` that begins no attribute.
    Hash,
    /// As a name: a function, a value, a module.
    Name,
    /// As a type.
    Type,
}

/// A word of another language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    pub word: &'static str,
    pub place: ForeignPlace,
    /// The word of the language with the same meaning, if there is one.
    pub instead: Option<&'static str>,
    /// The hint for messages: lower-case start, no final stop. Empty if `instead` suffices.
    pub hint: &'static str,
}

/// Returns the row of a word at a place.
pub fn foreign(word: &str, place: ForeignPlace) -> Option<&'static Foreign> {
    WORDS.iter().find(|row| row.place == place && row.word == word)
}

/// Returns all rows.
pub fn foreign_words() -> &'static [Foreign] {
    WORDS
}

const fn same(place: ForeignPlace, word: &'static str, instead: &'static str) -> Foreign {
    Foreign { word, place, instead: Some(instead), hint: "" }
}

const fn other(place: ForeignPlace, word: &'static str, hint: &'static str) -> Foreign {
    Foreign { word, place, instead: None, hint }
}

const fn near(word: &'static str, instead: &'static str, hint: &'static str) -> Foreign {
    Foreign { word, place: Name, instead: Some(instead), hint }
}

use ForeignPlace::{Declaration, Hash, Item, Name, Statement, Type};

const NO_PREFIX: &str = "functions need no prefix: `sqrt(x)`, `randn(f16, [m, n])`";
const FILLED: &str = "a tensor of one number is `register_tensor(f32, [64])` and a `fill` of it";
const GRID: &str = "the place of a block in the grid is `block_idx`: a number if the grid has one axis, else `let [i, j] = block_idx;`";
const THREADS: &str = "threads are not named, the block works on whole tiles: `index(t, axis)` gives the coordinate of each element";
const LANES: &str = "values change threads in reductions, scans and `rearrange`";
const HEADER: &str = "how many there are is said in the kernel's header: `grid [cdiv(m, 64)] threads 128`";

const WORDS: &[Foreign] = &[
    same(Item, "def", "fn"),
    same(Item, "func", "fn"),
    same(Item, "function", "fn"),
    same(Item, "import", "use"),
    same(Item, "from", "use"),
    same(Item, "static", "const"),
    same(Item, "__global__", "kernel"),
    same(Item, "__device__", "fn"),
    same(Item, "prim_func", "kernel"),
    same(Item, "benchmark", "bench"),
    same(Item, "tests", "test"),
    other(Statement, "return", "the last expression of a body, without `;`, is its value"),
    other(Statement, "break", "loops run to their end: use a condition in `while`"),
    other(Statement, "continue", "loops have no `continue`: use `if`"),
    other(Statement, "loop", "a loop is written `while true`"),
    other(Declaration, "__shared__", "shared memory is `let s = shared_tensor(f16, [64, 64]);`"),
    other(Hash, "include", "another file's items are brought in with `use`"),
    other(Hash, "define", "a number with a name is a `const`"),
    other(Hash, "pragma", "a loop is unrolled by `#[unroll]` before it"),
    other(Hash, "unroll", "a loop is unrolled by `#[unroll]` before it"),
    other(Hash, "", "a comment begins with `//`"),
    near("__syncthreads", "sync", "the barrier of the block is `sync()`"),
    near("barrier", "sync", "the barrier of the block is `sync()`"),
    near("debug_barrier", "sync", "the barrier of the block is `sync()`"),
    near("__syncwarp", "sync_warp", "the barrier of each warp on its own is `sync_warp()`"),
    near("blockIdx", "block_idx", GRID),
    other(Name, "program_id", GRID),
    other(Name, "threadIdx", THREADS),
    other(Name, "laneid", THREADS),
    other(Name, "blockDim", HEADER),
    other(Name, "gridDim", HEADER),
    other(Name, "num_programs", HEADER),
    other(Name, "__shfl_sync", LANES),
    other(Name, "__shfl_down_sync", LANES),
    other(Name, "__shfl_xor_sync", LANES),
    near("atomicAdd", "atomic_add", ""),
    near("atomicMin", "atomic_min", ""),
    near("atomicMax", "atomic_max", ""),
    near("atomicExch", "atomic_exchange", ""),
    near("atomicCAS", "atomic_cas", ""),
    near("printf", "print", ""),
    near("fabs", "abs", ""),
    near("fabsf", "abs", ""),
    near("fmax", "max", ""),
    near("fmaxf", "max", ""),
    near("maximum", "max", ""),
    near("fmin", "min", ""),
    near("fminf", "min", ""),
    near("minimum", "min", ""),
    near("expf", "exp", ""),
    near("__expf", "exp", ""),
    near("exp2f", "exp2", ""),
    near("logf", "log", ""),
    near("__logf", "log", ""),
    near("log2f", "log2", ""),
    near("sqrtf", "sqrt", ""),
    near("rsqrtf", "rsqrt", ""),
    near("tanhf", "tanh", ""),
    near("sinf", "sin", ""),
    near("cosf", "cos", ""),
    near("erff", "erf", ""),
    near("fmaf", "fma", ""),
    near("__fmaf_rn", "fma", ""),
    near("floorf", "floor", ""),
    near("ceilf", "ceil", ""),
    near("rintf", "round", ""),
    near("__float2half", "cast", "a conversion is `cast(t, f16)`"),
    near("__half2float", "cast", "a conversion is `cast(t, f32)`"),
    other(Name, "store", "a tile is written by `copy(t, view)`"),
    other(Name, "dot", "`gemm(c, a, b)` adds the product of `a` and the transpose of `b` to `c`"),
    other(Name, "trans", "the transpose is `t.T`"),
    other(Name, "constexpr", "compile-time parameters stand behind the name: `kernel k<BM = 64>(…)`"),
    other(Name, "tl", "functions need no prefix: `load(view)`, `exp2(t)`, `block_idx`"),
    other(Name, "np", NO_PREFIX),
    other(Name, "numpy", NO_PREFIX),
    other(Name, "torch", NO_PREFIX),
    other(Name, "math", "functions need no prefix: `sqrt(x)`; constants are in `std::math`"),
    other(Name, "range", "a range is written `0..n`"),
    other(Name, "static_range", "a loop `for i in 0..4` is unrolled by `#[unroll]` before it"),
    other(Name, "not", "the negation is `!x`"),
    other(Name, "lambda", "a closure is written `|a, b| a + b`"),
    near("True", "true", ""),
    near("False", "false", ""),
    other(Name, "zeros", FILLED),
    other(Name, "ones", FILLED),
    other(Name, "full", FILLED),
    other(Name, "arange", THREADS),
    same(Type, "half", "f16"),
    same(Type, "__half", "f16"),
    same(Type, "float16", "f16"),
    same(Type, "fp16", "f16"),
    same(Type, "bfloat16", "bf16"),
    same(Type, "__nv_bfloat16", "bf16"),
    same(Type, "float", "f32"),
    same(Type, "float32", "f32"),
    same(Type, "fp32", "f32"),
    same(Type, "double", "f64"),
    same(Type, "float64", "f64"),
    same(Type, "int8", "i8"),
    same(Type, "int8_t", "i8"),
    same(Type, "char", "i8"),
    same(Type, "uint8", "u8"),
    same(Type, "uint8_t", "u8"),
    same(Type, "int16", "i16"),
    same(Type, "uint16", "u16"),
    same(Type, "int32", "i32"),
    same(Type, "int32_t", "i32"),
    same(Type, "uint32", "u32"),
    same(Type, "uint32_t", "u32"),
    same(Type, "int64", "i64"),
    same(Type, "int64_t", "i64"),
    same(Type, "size_t", "i64"),
    same(Type, "uint64", "u64"),
    same(Type, "fp8", "f8e4m3"),
    same(Type, "float8_e4m3fn", "f8e4m3"),
    same(Type, "float8_e5m2", "f8e5m2"),
];

#[cfg(test)]
mod tests {
    use super::{WORDS, foreign};

    #[test]
    fn a_word_has_one_row_at_each_place() {
        for row in WORDS {
            assert_eq!(foreign(row.word, row.place), Some(row), "{}", row.word);
            assert!(row.instead.is_some() || !row.hint.is_empty(), "{} says nothing", row.word);
        }
    }
}
