//! The rows of the table: one line for each built-in name, in families that are handled alike.
//!
//! A row is `Variant: "name", parameters, documentation`, and `method` if host code can also write it behind a value.

use super::{BuiltinParam, named, optional, required, rest};

const UNARY: [BuiltinParam; 1] = [required("x")];
const BINARY: [BuiltinParam; 2] = [required("a"), required("b")];
const REDUCE: [BuiltinParam; 2] = [required("t"), named("axis")];
const SUM: [BuiltinParam; 5] =
    [required("t"), named("axis"), named("cluster"), named("to"), named("scatter")];
const EXTREME: [BuiltinParam; 3] = [required("a"), optional("b"), named("axis")];
// On the host a reduction removes the axis, as in NumPy. `keepdims:` keeps it with extent 1.
const HOST_REDUCE: [BuiltinParam; 3] = [required("t"), named("axis"), named("keepdims")];
const HOST_EXTREME: [BuiltinParam; 4] = [required("a"), optional("b"), named("axis"), named("keepdims")];
const SCAN: [BuiltinParam; 4] = [required("t"), required("axis"), required("op"), named("reverse")];
const TENSOR: [BuiltinParam; 3] = [required("dtype"), required("shape"), named("layout")];
const RANDOM: [BuiltinParam; 3] = [required("dtype"), required("shape"), named("seed")];
const FILLED: [BuiltinParam; 2] = [required("dtype"), required("shape")];

const PICKED: [BuiltinParam; 4] = [required("t"), required("rows"), optional("j"), optional("k")];
const ATOMIC: [BuiltinParam; 4] = [required("view"), required("t"), named("order"), named("scope")];

super::families! {
    /// Names for values.
    Value(BuiltinValue) {
        BlockIdx: "block_idx", [], "The index of the block along each axis of the grid.";
        GridDim: "grid_dim", [], "The number of blocks along each axis of the grid.";
        Multiprocessors: "multiprocessors", [],
            "The multiprocessors of the device that runs the kernel, for grids such as `[min(multiprocessors, tiles)]`.";
        Nan: "nan", [], "Not a number: the floating-point value that no comparison holds for.";
        Auto: "auto", [], "The compiler's choice; of a global layout, row-major.";
        Infer: "infer", [],
            "As the default of a layout that a packed tensor has: the order in which the kernel's own accesses are cheapest.";
        Args: "args", [], "The arguments of `hx run FILE.hx -- ARGS`, as strings.";
    }

    /// Functions that only `kernel` and `fn` have.
    Kernel(KernelFn) {
        // Tensors and views.
        GlobalView: "global_view", [required("buffer"), required("layout"), named("pad")],
            "A global buffer or part of one as a tensor with that layout; copies through it stay inside the buffer.";
        Tile: "tile", [required("t"), required("shape"), named("pad")],
            "The view `[BM, BK, ⌈m/BM⌉, ⌈k/BK⌉]` of a global tensor, bounds kept.";
        RegisterTensor: "register_tensor", TENSOR,
            "A tensor held in registers; its layout is inferred unless `layout:` pins it.";
        SharedTensor: "shared_tensor", TENSOR,
            "A tensor in shared memory; its layout is inferred unless `layout:` pins it.";
        Gather: "gather", PICKED,
            "A view whose rows a tensor in memory picks, or whose elements register tensors pick, one for each mode; to read.";
        Scatter: "scatter", PICKED,
            "As `gather`, to write: for `copy` and atomic accesses. Elements outside of `t` are dropped.";
        // Data movement and conversion.
        Copy: "copy", [required("src"), required("dst"), named("l1"), named("l2"), named("by")],
            "Moves a tile between any two memories. `l1:` and `l2:` are hints for the caches of global memory; `by:` names the instruction.";
        CopyAsync: "copy_async",
            [required("src"), required("dst"), named("signal"), named("multicast"), named("add"), named("l1"), named("l2"), named("by")],
            "Moves a tile without waiting for it; with `add: true` a store adds the tile to memory, element by element. `l2:` is a hint for the cache of global memory; there is none for L1, which these copies go past. `by:` names the instruction.";
        Prefetch: "prefetch", [required("view")],
            "Fetches the lines of a tile of global memory into L2 and waits for nothing; what loads it later finds it there.";
        Load: "load", [required("view"), named("l1"), named("l2"), named("by")],
            "A new register tensor with the elements of the view. `l1:` and `l2:` are hints for the caches of global memory; `by:` names the instruction.";
        Rearrange: "rearrange", [required("t"), required("layout")],
            "Redistributes a register tensor across threads.";
        Fill: "fill", [required("t"), required("x")], "Writes one number to every element.";
        Index: "index", [required("t"), required("axis")],
            "The logical coordinate of each element along an axis.";
        Scalar: "scalar", [required("t")], "The only element of a tensor, the same for all threads.";
        // Matrix product.
        Gemm: "gemm", [required("c"), required("a"), required("b"), named("warps"), named("by")],
            "`c[M, N] += a[M, K] · b[N, K]ᵀ`, for each index of a third mode; complete on return. `by:` names the instruction.";
        GemmAsync: "gemm_async", [required("c"), required("a"), required("b"), named("warps"), named("by")],
            "A matrix product that `gemm_wait` completes.";
        GemmWait: "gemm_wait", [required("n")], "Waits until at most `n` matrix products are in flight.";
        // Synchronization.
        Sync: "sync", [], "Block barrier.";
        SyncWarp: "sync_warp", [], "Barrier of each warp on its own: orders the accesses of its 32 threads.";
        Commit: "commit", [], "Closes a group of asynchronous copies.";
        Wait: "wait", [required("n")], "Waits until at most `n` groups of copies are in flight.";
        WaitStores: "wait_stores", [required("n"), named("read")],
            "Waits until at most `n` asynchronous stores still read shared memory; with `read: false`, until at most `n` are in flight: what the others wrote is in global memory.";
        WaitForPrevious: "wait_for_previous", [],
            "Waits until the launches before this one are complete and their writes are visible; until then the launch overlaps them.";
        AllowNext: "allow_next", [],
            "Lets the next launch start once all blocks have come here; it waits by itself before it touches memory.";
        Pipeline: "pipeline", [required("stages"), named("readers")],
            "A ring of stages that copies fill and others read; `readers:` groups of a block release each stage.";
        Turns: "turns", [], "The order in which the groups of a role with `each` take turns, from group 0 on.";
        Barrier: "barrier", [],
            "A barrier of all threads of the roles that come to it: `sync()` waits there for the others, `arrive()` does not.";
        Counter: "counter", [required("c"), required("n")],
            "The numbers from 0 up to `n`, which the blocks of the launch draw from `c` one at a time; `c` is a `mut i32[1]` of 0.";
        Mbarrier: "mbarrier", [required("count")], "Raw barriers in shared memory. Not compiled yet.";
        Arrive: "arrive", [required("barrier"), optional("count")], "Arrives on a barrier. Not compiled yet.";
        Expect: "expect", [required("barrier"), required("bytes")],
            "Tells a barrier how many bytes will arrive. Not compiled yet.";
        Reshape: "reshape", [required("t"), required("shape")],
            "The elements of a register or shared tensor in row-major order under another shape.", method;
        Concat: "concat",
            [required("a"), required("b"), optional("c"), optional("d"), named("axis")],
            "A register tensor of the elements of two to four others, one after the other along `axis:`.";
        Split: "split", [required("t"), required("n"), named("axis")],
            "A tuple of `n` equal parts of a register or shared tensor, cut along `axis:`.";
        // Reductions.
        Min: "min", EXTREME, "The smaller of two, or the smallest along `axis:`.";
        Max: "max", EXTREME, "The larger of two, or the largest along `axis:`.";
        Sum: "sum", SUM,
            "The sum along `axis:`; that extent becomes 1. Truth values are counted as `i32`. With `cluster:`, element by element over the blocks along an axis of the cluster: in all of them, in the block `to:`, or cut along the axis `scatter:` of the tensor, a part for each block.";
        Argmax: "argmax", REDUCE, "The position of the largest element along `axis:`, the first of several, as `i32`. NaN is skipped, as `max` does.";
        Argmin: "argmin", REDUCE, "The position of the least element along `axis:`, the first of several, as `i32`. NaN is skipped, as `min` does.";
        Any: "any", REDUCE,
            "Reports whether any element of a tensor of truth values is true: along `axis:`, or over all elements as a truth value of the block.";
        All: "all", REDUCE,
            "Reports whether every element of a tensor of truth values is true: along `axis:`, or over all elements as a truth value of the block.";
        Reduce: "reduce", [required("t"), required("axis"), required("op")],
            "Reduction along an axis by an associative operator, in the order of the axis.";
        Scan: "scan", SCAN,
            "Inclusive scan along an axis by an associative operator; with `reverse: true` from the last element to the first.";
    }

    /// Atomic accesses to memory, which only `kernel` and `fn` have.
    Atomic(AtomicFn) {
        Add: "atomic_add", ATOMIC,
            "Adds a register tensor to memory, element by element; returns the elements as they were before.";
        Min: "atomic_min", ATOMIC,
            "Replaces elements of memory by the smaller of them and a register tensor; returns them as they were before.";
        Max: "atomic_max", ATOMIC,
            "Replaces elements of memory by the larger of them and a register tensor; returns them as they were before.";
        And: "atomic_and", ATOMIC,
            "Combines the bits of integers in memory and of a register tensor by and; returns them as they were before.";
        Or: "atomic_or", ATOMIC,
            "Combines the bits of integers in memory and of a register tensor by or; returns them as they were before.";
        Xor: "atomic_xor", ATOMIC,
            "Combines the bits of integers in memory and of a register tensor by exclusive or; returns them as they were before.";
        Exchange: "atomic_exchange", ATOMIC,
            "Writes a register tensor to memory, and returns the elements as they were before.";
        CompareExchange: "atomic_cas",
            [required("view"), required("expected"), required("t"), named("order"), named("scope")],
            "Writes the elements of `t` where memory holds those of `expected`; returns the elements as they were before.";
        Load: "atomic_load", [required("view"), named("order"), named("scope")],
            "A new register tensor with the elements of the view, which other threads may be changing.";
        Store: "atomic_store", ATOMIC,
            "Writes a register tensor to memory that other threads may be reading.";
    }

    /// Methods of pipelines and turns.
    Method(Method) {
        Acquire: "acquire", [], "Waits until the next stage is free, and returns its number.";
        Publish: "publish", [], "Hands on the stage acquired last: the threads of the role have written their part of it.";
        WaitStage: "wait", [], "Waits until the next stage is full, and returns its number.";
        Release: "release", [], "Gives back the stages that were waited for.";
        ReleasePrevious: "release_previous", [], "Gives back the stages that were waited for, except the newest.";
        Skip: "skip", [required("n")], "Leaves the next `n` stages to others.";
        Take: "take", [], "Waits until it is the group's turn.";
        Pass: "pass", [], "Ends the turn: it is the next group's.";
        SyncAt: "sync", [], "Comes to the barrier and waits until all threads of its roles have come.";
        ArriveAt: "arrive", [], "Comes to the barrier and does not wait for the others.";
    }

    /// Functions that device code and host code have.
    Common(CommonFn) {
        Permute: "permute", [required("t"), required("order")],
            "The modes of a tensor in another order: a view.", method;
        Flip: "flip", [required("t"), required("axis")],
            "The elements of a register tensor in reverse order along `axis:`.", method;
        Cast: "cast", [required("t"), required("dtype")],
            "Elementwise conversion, rounding to nearest into floats and toward zero into integers.", method;
        Where: "where", [required("c"), required("x"), required("y")],
            "Element by element: `x` where `c` holds, else `y`.";
        Bitcast: "bitcast", [required("t"), required("dtype"), named("axis")],
            "The bits of each element as elements of another type; those of another width lie along `axis:`, the last one by default.", method;
        Pow: "pow", BINARY, "`a` to the power of `b`.", method;
        Atan2: "atan2", [required("y"), required("x")], "The angle of the point `(x, y)`, from -π to π.";
        Fmod: "fmod", BINARY, "The remainder of `a / b`, with the sign of `a`; `a % b` has that of `b`.";
        Copysign: "copysign", BINARY, "The magnitude of `a` with the sign of `b`.";
        Clamp: "clamp", [required("x"), required("low"), required("high")],
            "`x`, but at least `low` and at most `high`.", method;
        Mulhi: "mulhi", BINARY, "The upper half of the product of two integers, as wide as they are.";
        Fma: "fma", [required("a"), required("b"), required("c")], "`a · b + c`, rounded once.";
        Cdiv: "cdiv", BINARY, "Quotient rounded up.";
        Print: "print", [rest("x")], "Prints values, on the simulator and the GPU alike.";
        Assert: "assert", [required("c"), optional("message")],
            "Fails the launch or the test unless the condition holds.";
    }

    /// Functions of one number, which apply to every element of a tensor, in device code and in host code.
    Math(MathFn) {
        Exp2: "exp2", UNARY, "2 to the power of x.", method;
        Exp: "exp", UNARY, "e to the power of x.", method;
        Log2: "log2", UNARY, "Logarithm to base 2.", method;
        Log: "log", UNARY, "Natural logarithm.", method;
        Sqrt: "sqrt", UNARY, "Square root.", method;
        Rsqrt: "rsqrt", UNARY, "One over the square root.", method;
        Tanh: "tanh", UNARY, "Hyperbolic tangent.", method;
        Sigmoid: "sigmoid", UNARY, "`1 / (1 + exp(-x))`.", method;
        Erf: "erf", UNARY, "The error function.", method;
        Log10: "log10", UNARY, "Logarithm to base 10.", method;
        Exp10: "exp10", UNARY, "10 to the power of x.", method;
        Expm1: "expm1", UNARY, "`exp(x) - 1`, exact for a small x.", method;
        Log1p: "log1p", UNARY, "`log(1 + x)`, exact for a small x.", method;
        Cbrt: "cbrt", UNARY, "Cube root.", method;
        Sinh: "sinh", UNARY, "Hyperbolic sine.", method;
        Cosh: "cosh", UNARY, "Hyperbolic cosine.", method;
        Tan: "tan", UNARY, "Tangent.", method;
        Asin: "asin", UNARY, "The angle whose sine is x.", method;
        Acos: "acos", UNARY, "The angle whose cosine is x.", method;
        Atan: "atan", UNARY, "The angle whose tangent is x.", method;
        Erfinv: "erfinv", UNARY, "The number whose error function is x.", method;
        Lgamma: "lgamma", UNARY, "The logarithm of the magnitude of the gamma function.", method;
        Sin: "sin", UNARY, "Sine.", method;
        Cos: "cos", UNARY, "Cosine.", method;
        Floor: "floor", UNARY, "Rounds down.", method;
        Ceil: "ceil", UNARY, "Rounds up.", method;
        Round: "round", UNARY, "Rounds to nearest, ties to even.", method;
        Trunc: "trunc", UNARY, "Rounds toward zero.", method;
        Sign: "sign", UNARY, "1 or -1 by the sign of x; x itself if that is a zero or NaN.", method;
        Abs: "abs", UNARY, "Magnitude.", method;
        Isnan: "isnan", UNARY, "Whether x is not a number.", method;
        Popcount: "popcount", UNARY, "The number of bits that are 1.", method;
        Clz: "clz", UNARY, "The number of zeros above the highest bit that is 1.", method;
    }

    /// Functions of layouts, in device code and in host code.
    Layout(LayoutFn) {
        Compose: "compose", BINARY, "The layout `a ∘ b`.";
        Complement: "complement", [required("l"), optional("size")],
            "The layout of the indices that `l` leaves out; of a relation, the set of the values that it does not take.";
        Inverse: "inverse", [required("l")], "The inverse of a layout.";
        RightInverse: "right_inverse", [required("l")], "The layout `r` with `l ∘ r` the identity.";
        LeftInverse: "left_inverse", [required("l")], "The layout `r` with `r ∘ l` the identity.";
        Coalesce: "coalesce", [required("l"), optional("by")], "The same function in fewer modes.";
        Divide: "divide", [required("l"), required("tiler")], "A layout divided by a tiler: tile and rest.";
        Product: "product", [required("l"), required("by")], "A layout repeated by another.";
        TileToShape: "tile_to_shape", [required("l"), required("shape"), optional("order")],
            "A layout repeated to a shape, along the modes in this order.";
        Swizzle: "swizzle", [], "`swizzle<bits, base, shift>`: exclusive or of address bits.";
        Size: "size", [required("l")], "The number of elements of a layout or tensor, or of points of a relation.";
        Cosize: "cosize", [required("l")], "One more than the largest index of a layout.";
    }

    /// Functions of layouts that only host code has.
    HostLayout(HostLayoutFn) {
        ZippedDivide: "zipped_divide", [required("l"), required("tiler")],
            "A layout divided by a tiler, tiles in one mode and the rest in another.";
        TiledDivide: "tiled_divide", [required("l"), required("tiler")],
            "As `zipped_divide`, the modes of the rest beside the tile.";
        FlatDivide: "flat_divide", [required("l"), required("tiler")],
            "As `zipped_divide`, all modes beside each other.";
        ZippedProduct: "zipped_product", [required("l"), required("by")],
            "A layout repeated by another, layout in one mode and repetitions in another.";
        TiledProduct: "tiled_product", [required("l"), required("by")],
            "As `zipped_product`, the modes of the repetitions beside the layout.";
        FlatProduct: "flat_product", [required("l"), required("by")],
            "As `zipped_product`, all modes beside each other.";
        BlockedProduct: "blocked_product", BINARY, "`a` repeated by `b`, block beside block.";
        RakedProduct: "raked_product", BINARY, "`a` repeated by `b`, interleaved.";
        Flatten: "flatten", [required("l")], "The same function without nesting.";
        Filter: "filter", [required("l")], "A layout without modes of stride 0 or extent 1.";
        Nullspace: "nullspace", [required("l")], "The layout of the coordinates that a layout takes to 0.";
        MaxCommonLayout: "max_common_layout", BINARY, "The largest layout on which two agree as a vector.";
        MaxCommonVector: "max_common_vector", BINARY,
            "The number of elements that are contiguous in both layouts.";
        Recast: "recast", [required("l"), required("old_bits"), required("new_bits")],
            "A layout of elements of one width, in elements of another.";
        Upcast: "upcast", [required("l"), required("n")], "A layout in elements `n` times as wide.";
        Downcast: "downcast", [required("l"), required("n")], "A layout in elements `n` times as narrow.";
        Mode: "mode", [required("l"), required("i")], "Mode `i` of a layout.";
        Rank: "rank", [required("l")], "The number of modes of a layout.";
        Depth: "depth", [required("l")], "The depth to which the modes of a layout nest.";
        RowMajor: "row_major", [required("shape")], "The row-major layout of a shape.";
        ColumnMajor: "column_major", [required("shape")], "The column-major layout of a shape.";
        IsInjective: "is_injective", [required("l")],
            "Whether a layout or relation takes no two coordinates to one index.";
        Congruent: "congruent", BINARY, "Whether two tuples nest alike.";
        Compatible: "compatible", BINARY, "Whether every coordinate of `a` is a coordinate of `b`.";
        Crd2idx: "crd2idx", [required("shape"), required("coord")],
            "The colexicographic index of a coordinate in a shape.";
        Idx2crd: "idx2crd", [required("shape"), required("index")],
            "The coordinate of a colexicographic index in a shape.";
        Table: "table", [required("l")], "Every index of a layout, in order.";
        Linear: "linear", [required("l"), optional("outs")],
            "A layout as a linear map of bits, or the linear map of these bases and outputs.";
        ToLayout: "to_layout", [required("l")], "A linear map of bits, or a relation, as a layout.";
        Domain: "domain", [required("r")], "The set of the coordinates of a relation or layout.";
        Image: "image", [required("r")], "The set of the values of a relation or layout.";
        Union: "union", BINARY, "The points of either of two relations.";
        Intersection: "intersection", BINARY, "The points that two relations share.";
        Isl: "isl", [required("l")], "A layout as a relation in the notation of isl.";
        FromIsl: "from_isl", [required("text")],
            "The relation that a text in the notation of isl describes.";
    }

    /// The other functions that only host code has.
    Host(HostFn) {
        // New tensors.
        Randn: "randn", RANDOM, "A tensor of normally distributed numbers.";
        Uniform: "uniform", [required("dtype"), required("shape"), named("seed"), named("low"), named("high")],
            "A tensor of evenly distributed numbers.";
        Arange: "arange", [required("dtype"), required("shape")],
            "The numbers 0, 1, 2, … in row-major order.";
        Zeros: "zeros", FILLED, "A tensor of zeros.";
        Ones: "ones", FILLED, "A tensor of ones.";
        Empty: "empty", FILLED, "A tensor to be written.";
        Full: "full", [required("dtype"), required("shape"), required("x")], "A tensor of one number.";
        Eye: "eye", FILLED, "A matrix with ones on its diagonal.";
        // Files.
        Load: "load", [required("path")], "Reads a `.npy` or `.safetensors` file.";
        Save: "save", [required("path"), required("x")],
            "Writes a tensor as a `.npy` file, or names and tensors as a `.safetensors` file.";
        // Assertions.
        AssertEq: "assert_eq", [required("x"), required("y")], "Fails the test unless both are equal.";
        AssertClose: "assert_close", [required("x"), required("y"), named("rtol"), named("atol"), named("ulp")],
            "Fails the test unless `x` is near `y`.";
        Assume: "assume", [required("condition")],
            "Leaves out the drawn case of a test with `forall` unless this holds.";
        // Questions about the code of the kernel that was launched last.
        Uses: "uses", [required("instruction")],
            "Whether the last kernel's code has an instruction whose name begins with this, or reads an operand of a product in such a form, as in `a.k.128B`.";
        Supports: "supports", [required("instruction")],
            "Whether the target has an instruction whose name begins with this, so that an assertion about the code holds on every target.";
        Conflicts: "conflicts", [], "Extra wavefronts that bank conflicts cost a block of the last kernel.";
        Redistributions: "redistributions", [],
            "Tensors that the compiler moves between the threads of the last kernel, because two operations need them in two layouts.";
        Spills: "spills", [], "Bytes that each thread of the last kernel spills.";
        Target: "target", [], "The architecture of the last kernel's code, as in `target() == \"sm_90a\"`.";
        BytesPerAccess: "bytes_per_access", [required("tensor")],
            "Bytes of the narrowest access to a tensor of the last kernel, by name.";
        // Reductions.
        Min: "min", HOST_EXTREME,
            "The smaller of two, or the smallest of all elements or along `axis:`.", method;
        Max: "max", HOST_EXTREME,
            "The larger of two, or the largest of all elements or along `axis:`.", method;
        Sum: "sum", HOST_REDUCE, "The sum of all elements, or along `axis:`.", method;
        Mean: "mean", HOST_REDUCE, "The mean of all elements, or along `axis:`.", method;
        Prod: "prod", HOST_REDUCE, "The product of all elements, or along `axis:`.", method;
        Any: "any", HOST_REDUCE, "Reports whether any element is true, of all or along `axis:`.", method;
        All: "all", HOST_REDUCE, "Reports whether every element is true, of all or along `axis:`.", method;
        Reduce: "reduce", [required("t"), required("axis"), required("op")],
            "All slices along an axis combined by `op`, a closure on two of them; the axis goes away.";
        Scan: "scan", SCAN,
            "Every prefix of the slices along an axis combined by `op`; with `reverse: true` every suffix, from the last slice on.";
        Argmax: "argmax", HOST_REDUCE, "The position of the largest element along `axis:`, the first of several. NaN is skipped, as in kernels.", method;
        Argmin: "argmin", HOST_REDUCE, "The position of the least element along `axis:`, the first of several. NaN is skipped, as in kernels.", method;
        Sort: "sort", REDUCE, "The elements along `axis:`, the last unless it is named, from the least to the largest.", method;
        Cumsum: "cumsum", [required("x"), required("axis")], "The running sum along an axis.", method;
        Softmax: "softmax", REDUCE, "`exp(x)` over its sum along `axis:`.", method;
        // Numbers.
        Isinf: "isinf", UNARY, "Whether x is infinite.", method;
        Isfinite: "isfinite", UNARY, "Whether x is neither infinite nor NaN.", method;
        // Other shapes and kinds.
        Reshape: "reshape", [required("x"), required("shape")],
            "The elements in row-major order under another shape.", method;
        BroadcastTo: "broadcast_to", [required("x"), required("shape")],
            "A view of this shape that repeats the elements along new dimensions and along those of extent 1, with strides of 0.",
            method;
        Pack: "pack", [required("x"), required("layout"), named("of")],
            "The elements rearranged into blocks of this layout, for a parameter `w: T[n, k] : L`. With a kernel for the layout, the order that the compiler infers for it; `of:` names the parameter, if it infers several.";
        Unpack: "unpack", [required("x"), required("layout"), named("of")],
            "The elements of a result of `pack` with the same layout or kernel, in row-major order again.";
        Copy: "copy", [required("x")],
            "A new tensor with the same elements. As a baseline, `copy(bytes)` copies device memory.", method;
        Len: "len", [required("x")], "The number of entries.", method;
        Int: "int", [required("x")], "A whole number from a string or number.";
        Float: "float", [required("x")], "A number from a string or number.";
        // Baselines.
        CublasGemm: "cublas::gemm", [required("a"), required("b"), required("c")],
            "The vendor's matrix product `c = a · b`, as a baseline.";
    }
}
