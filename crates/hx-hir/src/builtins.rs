//! The table of built-in names, which every file knows without importing them: their parameters and documentation.
//!
//! The table does not say how anything is computed. Completion, hovers, arity checks and the host read it.

use crate::Item;

/// The code in which a built-in name has a meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// In `kernel` and `fn`.
    Device,
    /// In `test`, `bench`, `main` and the REPL.
    Host,
    /// In device code, in host code, and in constants.
    Both,
}

impl Place {
    /// Returns the place in which the names of an item are looked up.
    pub(crate) fn of(item: Item<'_>) -> Place {
        match item {
            Item::Kernel(_) | Item::Function(_) => Place::Device,
            Item::Test(_) | Item::Bench(_) | Item::Main(_) | Item::Cell(_) => Place::Host,
            Item::Const(_) | Item::Use(_) => Place::Both,
        }
    }
}

/// How an argument is passed to a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Need {
    /// By position, or by name.
    Required,
    /// By position or by name; may be omitted.
    Optional,
    /// By name only; may be omitted.
    Named,
    /// Any number of arguments, by position.
    Rest,
}

/// A parameter of a built-in function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BuiltinParam {
    pub name: &'static str,
    pub need: Need,
}

/// A built-in name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Builtin {
    /// The name, with `::` if it is a path.
    pub name: &'static str,
    pub place: Place,
    /// The parameters; `None` for a value such as `block_idx`.
    pub params: Option<&'static [BuiltinParam]>,
    /// The documentation: one line of Markdown.
    pub doc: &'static str,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BuiltinId(u16);

impl BuiltinId {
    /// Returns the row.
    pub fn get(self) -> &'static Builtin {
        &BUILTINS[usize::from(self.0)]
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        self.get().name
    }
}

impl std::fmt::Debug for BuiltinId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Finds the built-in of that name for code at `place`. [`Place::Both`] finds only names that have a meaning everywhere.
pub fn builtin(name: &str, place: Place) -> Option<BuiltinId> {
    let fits = |b: &Builtin| b.name == name && (b.place == place || b.place == Place::Both);
    BUILTINS.iter().position(fits).map(|i| BuiltinId(i as u16))
}

/// Returns every built-in name, in the order of the table.
pub fn builtins() -> impl Iterator<Item = BuiltinId> {
    (0..BUILTINS.len()).map(|i| BuiltinId(i as u16))
}

impl Builtin {
    /// Returns the signature as it would be declared, such as `copy(src, dst)`.
    pub fn signature(&self) -> String {
        let Some(params) = self.params else { return self.name.to_owned() };
        let mut text = format!("{}(", self.name);
        for (i, p) in params.iter().enumerate() {
            if i > 0 {
                text.push_str(", ");
            }
            text.push_str(p.name);
            text.push_str(match p.need {
                Need::Required => "",
                Need::Optional => "?",
                Need::Named => ": …",
                Need::Rest => ", …",
            });
        }
        text.push(')');
        text
    }
}

const fn required(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Required }
}
const fn optional(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Optional }
}
const fn named(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Named }
}
const fn rest(name: &'static str) -> BuiltinParam {
    BuiltinParam { name, need: Need::Rest }
}

const fn function(
    name: &'static str,
    place: Place,
    params: &'static [BuiltinParam],
    doc: &'static str,
) -> Builtin {
    Builtin { name, place, params: Some(params), doc }
}

const fn value(name: &'static str, place: Place, doc: &'static str) -> Builtin {
    Builtin { name, place, params: None, doc }
}

const UNARY: &[BuiltinParam] = &[required("x")];
const BINARY: &[BuiltinParam] = &[required("a"), required("b")];
const REDUCE: &[BuiltinParam] = &[required("t"), named("axis")];
const EXTREME: &[BuiltinParam] = &[required("a"), optional("b"), named("axis")];
// On the host a reduction removes the axis, as in NumPy. `keepdims:` keeps it with extent 1.
const HOST_REDUCE: &[BuiltinParam] = &[required("t"), named("axis"), named("keepdims")];
const HOST_EXTREME: &[BuiltinParam] = &[required("a"), optional("b"), named("axis"), named("keepdims")];
const TENSOR: &[BuiltinParam] = &[required("dtype"), required("shape"), named("layout")];
const RANDOM: &[BuiltinParam] = &[required("dtype"), required("shape"), named("seed")];
const FILLED: &[BuiltinParam] = &[required("dtype"), required("shape")];

use Place::{Both, Device, Host};

static BUILTINS: &[Builtin] = &[
    // Values.
    value("block_idx", Device, "The index of the block along each axis of the grid."),
    value("auto", Both, "The compiler's choice; of a global layout, row-major."),
    value("args", Host, "The arguments of `hx run FILE.hx -- ARGS`, as strings."),
    // Tensors and views.
    function(
        "global_view",
        Device,
        &[required("buffer"), required("layout"), named("pad")],
        "A global buffer or part of one as a tensor with that layout; copies through it stay inside the buffer.",
    ),
    function(
        "tile",
        Device,
        &[required("t"), required("shape"), named("pad")],
        "The view `[BM, BK, ⌈m/BM⌉, ⌈k/BK⌉]` of a global tensor, bounds kept.",
    ),
    function(
        "register_tensor",
        Device,
        TENSOR,
        "A tensor held in registers; its layout is inferred unless `layout:` pins it.",
    ),
    function(
        "shared_tensor",
        Device,
        TENSOR,
        "A tensor in shared memory; its layout is inferred unless `layout:` pins it.",
    ),
    function(
        "permute",
        Both,
        &[required("t"), required("order")],
        "The modes of a tensor in another order: a view.",
    ),
    function(
        "gather",
        Device,
        &[required("t"), required("rows")],
        "A global view whose rows are picked by an index tensor.",
    ),
    // Data movement and conversion.
    function("copy", Device, &[required("src"), required("dst")], "Moves a tile between any two memories."),
    function(
        "copy_async",
        Device,
        &[required("src"), required("dst"), named("signal"), named("multicast")],
        "Moves a tile without waiting for it.",
    ),
    function("load", Device, &[required("view")], "A new register tensor with what the view holds."),
    function(
        "cast",
        Both,
        &[required("t"), required("dtype")],
        "Elementwise conversion, rounding to nearest.",
    ),
    function(
        "rearrange",
        Device,
        &[required("t"), required("layout")],
        "Redistributes a register tensor across threads.",
    ),
    function("fill", Device, &[required("t"), required("x")], "Writes one number to every element."),
    function(
        "index",
        Device,
        &[required("t"), required("axis")],
        "The logical coordinate of each element along an axis.",
    ),
    function("scalar", Device, &[required("t")], "The only element of a tensor, the same for all threads."),
    function(
        "atomic_add",
        Device,
        &[required("view"), required("t")],
        "Adds a register tensor to global memory, element by element.",
    ),
    // Matrix product.
    function(
        "gemm",
        Device,
        &[required("c"), required("a"), required("b"), named("warps")],
        "`c[M, N] += a[M, K] · b[N, K]ᵀ`, for each index of a third mode; complete on return.",
    ),
    function(
        "gemm_async",
        Device,
        &[required("c"), required("a"), required("b"), named("warps")],
        "A matrix product that `gemm_wait` completes.",
    ),
    function("gemm_wait", Device, &[required("n")], "Waits until at most `n` matrix products are in flight."),
    // Synchronization.
    function("sync", Device, &[], "Block barrier."),
    function("sync_warp", Device, &[], "Barrier of each warp on its own: orders what its 32 threads do."),
    function("commit", Device, &[], "Closes a group of asynchronous copies."),
    function("wait", Device, &[required("n")], "Waits until at most `n` groups of copies are in flight."),
    function(
        "wait_stores",
        Device,
        &[required("n")],
        "Waits until at most `n` groups of asynchronous stores are in flight.",
    ),
    function("pipeline", Device, &[required("stages")], "A ring of stages with full and empty barriers."),
    function("mbarrier", Device, &[required("count")], "Raw barriers in shared memory."),
    function("arrive", Device, &[required("barrier"), optional("count")], "Arrives on a barrier."),
    function(
        "expect",
        Device,
        &[required("barrier"), required("bytes")],
        "Tells a barrier how many bytes will arrive.",
    ),
    // Elementwise and reductions.
    function(
        "where",
        Both,
        &[required("c"), required("x"), required("y")],
        "Element by element: `x` where `c` holds, else `y`.",
    ),
    function("exp2", Both, UNARY, "2 to the power of x."),
    function("exp", Both, UNARY, "e to the power of x."),
    function("log2", Both, UNARY, "Logarithm to base 2."),
    function("log", Both, UNARY, "Natural logarithm."),
    function("sqrt", Both, UNARY, "Square root."),
    function("rsqrt", Both, UNARY, "One over the square root."),
    function("tanh", Both, UNARY, "Hyperbolic tangent."),
    function("sigmoid", Both, UNARY, "`1 / (1 + exp(-x))`."),
    function("erf", Both, UNARY, "The error function."),
    function("sin", Both, UNARY, "Sine."),
    function("cos", Both, UNARY, "Cosine."),
    function("floor", Both, UNARY, "Rounds down."),
    function("ceil", Both, UNARY, "Rounds up."),
    function("round", Both, UNARY, "Rounds to nearest, ties to even."),
    function("abs", Both, UNARY, "Magnitude."),
    function("fma", Both, &[required("a"), required("b"), required("c")], "`a · b + c`, rounded once."),
    function("min", Device, EXTREME, "The smaller of two, or the smallest along `axis:`."),
    function(
        "min",
        Host,
        HOST_EXTREME,
        "The smaller of two, or the smallest of all elements or along `axis:`.",
    ),
    function("max", Device, EXTREME, "The larger of two, or the largest along `axis:`."),
    function(
        "max",
        Host,
        HOST_EXTREME,
        "The larger of two, or the largest of all elements or along `axis:`.",
    ),
    function("sum", Device, REDUCE, "The sum along `axis:`; that extent becomes 1."),
    function("sum", Host, HOST_REDUCE, "The sum of all elements, or along `axis:`."),
    function(
        "reduce",
        Device,
        &[required("t"), required("axis"), required("op")],
        "Reduction along an axis by an associative and commutative operator.",
    ),
    function(
        "scan",
        Device,
        &[required("t"), required("axis"), required("op")],
        "Inclusive scan along an axis by an associative operator.",
    ),
    function("cdiv", Both, BINARY, "Quotient rounded up."),
    // Debugging.
    function("print", Both, &[rest("x")], "Prints values, on the simulator and the GPU alike."),
    function(
        "assert",
        Both,
        &[required("c"), optional("message")],
        "Fails the launch or the test unless the condition holds.",
    ),
    // Layouts.
    function("compose", Both, BINARY, "The layout `a ∘ b`."),
    function("complement", Both, &[required("l"), optional("size")], "The layout of what `l` leaves out."),
    function("inverse", Both, &[required("l")], "The inverse of a layout."),
    function("right_inverse", Both, &[required("l")], "The layout `r` with `l ∘ r` the identity."),
    function("left_inverse", Both, &[required("l")], "The layout `r` with `r ∘ l` the identity."),
    function("coalesce", Both, &[required("l"), optional("by")], "The same function in fewer modes."),
    function(
        "divide",
        Both,
        &[required("l"), required("tiler")],
        "A layout divided by a tiler: tile and rest.",
    ),
    function("product", Both, &[required("l"), required("by")], "A layout repeated by another."),
    function("swizzle", Both, &[], "`swizzle<bits, base, shift>`: exclusive or of address bits."),
    function("size", Both, &[required("l")], "The number of elements of a layout or tensor."),
    function("cosize", Both, &[required("l")], "One more than the largest index of a layout."),
    function(
        "zipped_divide",
        Host,
        &[required("l"), required("tiler")],
        "A layout divided by a tiler, tiles in one mode and the rest in another.",
    ),
    function(
        "tiled_divide",
        Host,
        &[required("l"), required("tiler")],
        "As `zipped_divide`, the modes of the rest beside the tile.",
    ),
    function(
        "flat_divide",
        Host,
        &[required("l"), required("tiler")],
        "As `zipped_divide`, all modes beside each other.",
    ),
    function(
        "zipped_product",
        Host,
        &[required("l"), required("by")],
        "A layout repeated by another, layout in one mode and repetitions in another.",
    ),
    function(
        "tiled_product",
        Host,
        &[required("l"), required("by")],
        "As `zipped_product`, the modes of the repetitions beside the layout.",
    ),
    function(
        "flat_product",
        Host,
        &[required("l"), required("by")],
        "As `zipped_product`, all modes beside each other.",
    ),
    function("blocked_product", Host, BINARY, "`a` repeated by `b`, block beside block."),
    function("raked_product", Host, BINARY, "`a` repeated by `b`, interleaved."),
    function("flatten", Host, &[required("l")], "The same function without nesting."),
    function("filter", Host, &[required("l")], "A layout without modes of stride 0 or extent 1."),
    function("nullspace", Host, &[required("l")], "The layout of the coordinates that a layout takes to 0."),
    function("max_common_layout", Host, BINARY, "The largest layout on which two agree as a vector."),
    function("max_common_vector", Host, BINARY, "The number of elements that both layouts keep together."),
    function(
        "recast",
        Host,
        &[required("l"), required("old_bits"), required("new_bits")],
        "A layout of elements of one width, in elements of another.",
    ),
    function("upcast", Host, &[required("l"), required("n")], "A layout in elements `n` times as wide."),
    function("downcast", Host, &[required("l"), required("n")], "A layout in elements `n` times as narrow."),
    function("mode", Host, &[required("l"), required("i")], "Mode `i` of a layout."),
    function("rank", Host, &[required("l")], "The number of modes of a layout."),
    function("depth", Host, &[required("l")], "How deep the modes of a layout nest."),
    function("row_major", Host, &[required("shape")], "The row-major layout of a shape."),
    function("column_major", Host, &[required("shape")], "The column-major layout of a shape."),
    function(
        "is_injective",
        Host,
        &[required("l")],
        "Whether a layout takes no two coordinates to one index.",
    ),
    function("congruent", Host, BINARY, "Whether two tuples nest alike."),
    function("compatible", Host, BINARY, "Whether a coordinate of `a` is one of `b`."),
    function(
        "crd2idx",
        Host,
        &[required("shape"), required("coord")],
        "The colexicographic index of a coordinate in a shape.",
    ),
    function(
        "idx2crd",
        Host,
        &[required("shape"), required("index")],
        "The coordinate of a colexicographic index in a shape.",
    ),
    function("table", Host, &[required("l")], "Every index of a layout, in order."),
    function("linear", Host, &[required("l")], "A layout as a linear map of bits."),
    function("to_layout", Host, &[required("l")], "A linear map of bits as a layout."),
    // Host functions.
    function("randn", Host, RANDOM, "A tensor of normally distributed numbers."),
    function(
        "uniform",
        Host,
        &[required("dtype"), required("shape"), named("seed"), named("low"), named("high")],
        "A tensor of evenly distributed numbers.",
    ),
    function(
        "arange",
        Host,
        &[required("dtype"), required("shape")],
        "The numbers 0, 1, 2, … in row-major order.",
    ),
    function("zeros", Host, FILLED, "A tensor of zeros."),
    function("ones", Host, FILLED, "A tensor of ones."),
    function("empty", Host, FILLED, "A tensor to be written."),
    function("full", Host, &[required("dtype"), required("shape"), required("x")], "A tensor of one number."),
    function("load", Host, &[required("path")], "Reads a `.npy` or `.safetensors` file."),
    function(
        "save",
        Host,
        &[required("path"), required("x")],
        "Writes a `.npy` file, or of names and tensors a `.safetensors` file.",
    ),
    function("assert_eq", Host, &[required("x"), required("y")], "Fails the test unless both are equal."),
    function(
        "assert_close",
        Host,
        &[required("x"), required("y"), named("rtol"), named("atol"), named("ulp")],
        "Fails the test unless `x` is near `y`.",
    ),
    // Questions about the code of the kernel that was launched last.
    function(
        "uses",
        Host,
        &[required("instruction")],
        "Whether the last kernel's code has an instruction whose name begins so.",
    ),
    function("conflicts", Host, &[], "Extra wavefronts that bank conflicts cost a block of the last kernel."),
    function(
        "redistributions",
        Host,
        &[],
        "Tensors that the compiler moves between the threads of the last kernel, since two operations want it in two layouts.",
    ),
    function("spills", Host, &[], "Bytes that each thread of the last kernel spills."),
    function(
        "bytes_per_access",
        Host,
        &[required("tensor")],
        "Bytes of the narrowest access to a tensor of the last kernel, by name.",
    ),
    function("mean", Host, HOST_REDUCE, "The mean of all elements, or along `axis:`."),
    function(
        "reduce",
        Host,
        &[required("t"), required("axis"), required("op")],
        "All slices along an axis combined by `op`, a closure on two of them; the axis goes away.",
    ),
    function(
        "scan",
        Host,
        &[required("t"), required("axis"), required("op")],
        "Every prefix of the slices along an axis combined by `op`.",
    ),
    function("prod", Host, HOST_REDUCE, "The product of all elements, or along `axis:`."),
    function("any", Host, HOST_REDUCE, "Whether some element holds, of all or along `axis:`."),
    function("all", Host, HOST_REDUCE, "Whether every element holds, of all or along `axis:`."),
    function("cumsum", Host, &[required("x"), required("axis")], "The running sum along an axis."),
    function("pow", Host, BINARY, "`a` to the power of `b`."),
    function("log10", Host, UNARY, "Logarithm to base 10."),
    function("isnan", Host, UNARY, "Whether x is not a number."),
    function("isinf", Host, UNARY, "Whether x is infinite."),
    function("isfinite", Host, UNARY, "Whether x is neither infinite nor NaN."),
    function("eye", Host, FILLED, "A matrix with ones on its diagonal."),
    function("softmax", Host, REDUCE, "`exp(x)` over its sum along `axis:`."),
    function(
        "reshape",
        Host,
        &[required("x"), required("shape")],
        "The elements in row-major order under another shape.",
    ),
    function(
        "pack",
        Host,
        &[required("x"), required("layout")],
        "The elements in memory as blocks of this layout have them, for a parameter `w: T[n, k] : L`.",
    ),
    function(
        "unpack",
        Host,
        &[required("x"), required("layout")],
        "The elements that `pack` with the same layout rearranged, in row-major order again.",
    ),
    function("len", Host, &[required("x")], "The number of entries."),
    function("int", Host, &[required("x")], "A whole number from a string or number."),
    function("float", Host, &[required("x")], "A number from a string or number."),
    function(
        "copy",
        Host,
        &[required("x")],
        "A tensor of its own with the same elements. As a baseline, `copy(bytes)` copies device memory.",
    ),
    function(
        "cublas::gemm",
        Host,
        &[required("a"), required("b"), required("c")],
        "The vendor's matrix product `c = a · b`, as a baseline.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_thing_at_each_place() {
        for place in [Device, Host] {
            let mut names: Vec<&str> =
                BUILTINS.iter().filter(|b| b.place == place || b.place == Both).map(|b| b.name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn signatures_read_as_declarations() {
        let text = |name| builtin(name, Device).map(|b| b.get().signature());
        assert_eq!(text("copy").as_deref(), Some("copy(src, dst)"));
        assert_eq!(text("max").as_deref(), Some("max(a, b?, axis: …)"));
        assert_eq!(text("block_idx").as_deref(), Some("block_idx"));
        assert_eq!(text("randn"), None);
    }
}
