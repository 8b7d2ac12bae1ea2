//! HX02xx: types and shapes.

family! {
    "HX02", "types", "Types and shapes";

    /// A call has more positional arguments than the function takes. A call with too few lacks an argument (`HX0222`).
    ///
    /// ```hx fails
    /// fn scale(x: f32, by: f32) -> f32 {
    ///     x * by
    /// }
    /// fn twice(x: f32) -> f32 {
    ///     scale(x, 2.0, 1.0)
    /// }
    /// ```
    ///
    /// ```hx
    /// fn scale(x: f32, by: f32) -> f32 {
    ///     x * by
    /// }
    /// fn twice(x: f32) -> f32 {
    ///     scale(x, 2.0)
    /// }
    /// ```
    WRONG_ARGUMENT_COUNT = "HX0201", "wrong-argument-count", Error, "a call has too many arguments";

    /// The callee has no parameter of this name. Compile-time parameters are always passed by name, in `<…>`;
    /// options of primitives are passed by name, in `(…)`.
    ///
    /// ```hx fails
    /// fn total(x: register f32[M, N]) -> f32[M, 1] {
    ///     sum(x, dim: 1)
    /// }
    /// ```
    ///
    /// ```hx
    /// fn total(x: register f32[M, N]) -> f32[M, 1] {
    ///     sum(x, axis: 1)
    /// }
    /// ```
    UNKNOWN_ARGUMENT = "HX0202", "unknown-argument", Error, "the callee has no parameter of this name";

    /// The value has another kind than expected here: a tensor instead of a number, a layout instead of a shape, and so on.
    ///
    /// ```hx fails
    /// const ROW: layout = 64;
    /// ```
    ///
    /// ```hx
    /// const ROW: layout = 64 : 1;
    /// ```
    TYPE_MISMATCH = "HX0203", "type-mismatch", Error, "a value of another type was expected";

    /// Two element types occur where one is required. There is no implicit conversion: `cast` makes it explicit, with its
    /// rounding. Literals adapt to their context.
    ///
    /// ```hx fails
    /// kernel move_tile(x: f32[m, n], c: mut f32[m, n])
    ///     grid [cdiv(m, 16), cdiv(n, 16)]
    ///     threads 32
    /// {
    ///     let [i, j] = block_idx;
    ///     let r = register_tensor(f16, [16, 16]);
    ///     copy(tile(x, [16, 16])[.., .., i, j], r);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel move_tile(x: f32[m, n], c: mut f32[m, n])
    ///     grid [cdiv(m, 16), cdiv(n, 16)]
    ///     threads 32
    /// {
    ///     let [i, j] = block_idx;
    ///     let r = register_tensor(f32, [16, 16]);
    ///     copy(tile(x, [16, 16])[.., .., i, j], r);
    ///     copy(r, tile(c, [16, 16])[.., .., i, j]);
    /// }
    /// ```
    DTYPE_MISMATCH = "HX0204", "dtype-mismatch", Error, "two element types meet";

    /// Extents differ where they must agree. Elementwise operations broadcast an extent of 1 and nothing else; `copy` and
    /// assignment require the same shape; `gemm(c, a, b)` requires `c[M, N]`, `a[M, K]`, `b[N, K]`.
    ///
    /// ```hx fails
    /// kernel move_tile(x: f32[m, n], c: mut f32[m, n])
    ///     grid [cdiv(m, 16), cdiv(n, 16)]
    ///     threads 32
    /// {
    ///     let [i, j] = block_idx;
    ///     let r = register_tensor(f32, [16, 8]);
    ///     copy(tile(x, [16, 16])[.., .., i, j], r);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel move_tile(x: f32[m, n], c: mut f32[m, n])
    ///     grid [cdiv(m, 16), cdiv(n, 16)]
    ///     threads 32
    /// {
    ///     let [i, j] = block_idx;
    ///     let r = register_tensor(f32, [16, 16]);
    ///     copy(tile(x, [16, 16])[.., .., i, j], r);
    ///     copy(r, tile(c, [16, 16])[.., .., i, j]);
    /// }
    /// ```
    SHAPE_MISMATCH = "HX0205", "shape-mismatch", Error, "extents differ where they must agree";

    /// A tensor has more or fewer dimensions than expected here. An integer index drops a dimension, `new` adds one of extent
    /// 1, and trailing dimensions may be left out of an index.
    ///
    /// ```hx fails
    /// kernel move_tile(x: f32[m, n], c: mut f32[m, n])
    ///     grid [cdiv(m, 16), cdiv(n, 16)]
    ///     threads 32
    /// {
    ///     let [i, j] = block_idx;
    ///     let r = register_tensor(f32, [16, 16]);
    ///     copy(tile(x, [16, 16])[.., .., i, j, 0], r);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel move_tile(x: f32[m, n], c: mut f32[m, n])
    ///     grid [cdiv(m, 16), cdiv(n, 16)]
    ///     threads 32
    /// {
    ///     let [i, j] = block_idx;
    ///     let r = register_tensor(f32, [16, 16]);
    ///     copy(tile(x, [16, 16])[.., .., i, j], r);
    ///     copy(r, tile(c, [16, 16])[.., .., i, j]);
    /// }
    /// ```
    RANK_MISMATCH = "HX0206", "rank-mismatch", Error, "the number of dimensions is another";

    /// The parameter is not marked `mut`, so nothing may write it. The mark is part of the signature because launches refuse
    /// overlapping arguments that are written, and because reads of other parameters may be kept and reordered. The view that
    /// `gather` makes is read-only even if the parameter is `mut`, because two of its rows may be the same row.
    ///
    /// ```hx fails
    /// kernel zero(c: f32[m]) grid [cdiv(m, 64)] threads 32 {
    ///     let i = block_idx;
    ///     let z = register_tensor(f32, [64]);
    ///     fill(z, 0.0);
    ///     copy(z, tile(c, [64])[.., i]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel zero(c: mut f32[m]) grid [cdiv(m, 64)] threads 32 {
    ///     let i = block_idx;
    ///     let z = register_tensor(f32, [64]);
    ///     fill(z, 0.0);
    ///     copy(z, tile(c, [64])[.., i]);
    /// }
    /// ```
    NOT_MUTABLE = "HX0207", "not-mutable", Error, "something that may not be written is written";

    /// The program is valid `.hx`, but this compiler cannot build it yet. The message names the construct. The compiler
    /// refuses such a construct, and never builds a wrong program from it.
    UNSUPPORTED = "HX0208", "unsupported", Error, "the compiler cannot do this yet";

    /// The shape of a register or shared tensor, the length of a range in an index and the extents of a view's tile have
    /// to be known at compile time: numbers, constants and compile-time parameters. A dimension bound at launch is not.
    ///
    /// ```hx fails
    /// kernel whole(x: f32[m], c: mut f32[m]) grid [1] threads 32 {
    ///     let r = register_tensor(f32, [m]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel whole<BM = 128>(x: f32[m], c: mut f32[m]) grid [cdiv(m, BM)] threads 32 {
    ///     let i = block_idx;
    ///     let r = register_tensor(f32, [BM]);
    ///     copy(tile(x, [BM])[.., i], r);
    ///     copy(r, tile(c, [BM])[.., i]);
    /// }
    /// ```
    NOT_CONSTANT = "HX0209", "not-constant", Error, "this has to be known at compile time";

    /// The compiler cannot prove that the view is inside its buffer, and the modes of the view do not follow the dimensions
    /// of the buffer, so they cannot be guarded one by one either. A `where` that bounds the dimensions provides the proof;
    /// `tile` and views with the strides of the buffer are guarded without one. An element that is read as a number needs a
    /// proof as well, from a `where`, an `if` or an `assert`, or a guard: `t[i] else 0.0`.
    ///
    /// ```hx fails
    /// kernel diagonal(x: f32[m, n], c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     let i = block_idx;
    ///     let r = register_tensor(f32, [32]);
    ///     copy(global_view(x, (32) : (n + 1)), r);
    ///     copy(r, tile(c, [32])[.., i]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel column(x: f32[m, n], c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     let i = block_idx;
    ///     let r = register_tensor(f32, [32]);
    ///     copy(global_view(x[i * 32.., 0], (32) : (n)), r);
    ///     copy(r, tile(c, [32])[.., i]);
    /// }
    /// ```
    ///
    /// ```hx fails
    /// kernel shift(x: f32[m], by: f32[n], i: i32, c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     copy(load(tile(x, [32])[.., block_idx]) + by[i], tile(c, [32])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel shift(x: f32[m], by: f32[n], i: i32, c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     copy(load(tile(x, [32])[.., block_idx]) + (by[i] else 0.0), tile(c, [32])[.., block_idx]);
    /// }
    /// ```
    VIEW_OUTSIDE_BUFFER = "HX0210", "view-outside-buffer", Error, "a view is not provably inside its buffer";

    /// A constant index or range is outside the extent of the mode.
    ///
    /// ```hx fails
    /// kernel third(x: f32[4, m], c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     let i = block_idx;
    ///     let r = register_tensor(f32, [32]);
    ///     copy(tile(x[4], [32])[.., i], r);
    ///     copy(r, tile(c, [32])[.., i]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel third(x: f32[4, m], c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     let i = block_idx;
    ///     let r = register_tensor(f32, [32]);
    ///     copy(tile(x[3], [32])[.., i], r);
    ///     copy(r, tile(c, [32])[.., i]);
    /// }
    /// ```
    INDEX_OUT_OF_RANGE = "HX0211", "index-out-of-range", Error, "an index is outside its dimension";

    /// An argument is given twice, by name or by position and by name. A compile-time argument too has one value.
    ///
    /// ```hx fails
    /// fn total(x: register f32[M, N]) -> f32[M, 1] {
    ///     sum(x, axis: 1, axis: 1)
    /// }
    /// ```
    ///
    /// ```hx
    /// fn total(x: register f32[M, N]) -> f32[M, 1] {
    ///     sum(x, axis: 1)
    /// }
    /// ```
    DUPLICATE_ARGUMENT = "HX0212", "duplicate-argument", Error, "an argument is given twice";

    /// The value has no member of this name.
    ///
    /// ```hx fails
    /// fn flip(x: register f32[M, N]) -> f32[N, M] {
    ///     x.transpose
    /// }
    /// ```
    ///
    /// ```hx
    /// fn flip(x: register f32[M, N]) -> f32[N, M] {
    ///     x.T
    /// }
    /// ```
    UNKNOWN_MEMBER = "HX0213", "unknown-member", Error, "the value has nothing of this name";

    /// The condition of `if` and `while` and the bounds of `for` must be the same for all threads of the block. A tensor is
    /// not: choose element by element with `where(c, x, y)`, or make a one-element tensor uniform with `scalar(t)`.
    ///
    /// ```hx fails
    /// fn relu(x: register f32[M]) -> f32[M] {
    ///     if x > 0.0 { x } else { 0.0 }
    /// }
    /// ```
    ///
    /// ```hx
    /// fn relu(x: register f32[M]) -> f32[M] {
    ///     where(x > 0.0, x, 0.0)
    /// }
    /// ```
    NOT_UNIFORM = "HX0214", "not-uniform", Error, "a value that differs between threads decides control flow";

    /// The operation needs a tensor in another memory: elementwise operations and reductions work on registers, `gemm` on
    /// registers or shared memory, views are made of global tensors. `copy` and `load` move tiles.
    ///
    /// ```hx fails
    /// kernel double(x: f32[m], c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     let i = block_idx;
    ///     copy(tile(x, [32])[.., i] * 2.0, tile(c, [32])[.., i]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel double(x: f32[m], c: mut f32[m]) grid [cdiv(m, 32)] threads 32 {
    ///     let i = block_idx;
    ///     copy(load(tile(x, [32])[.., i]) * 2.0, tile(c, [32])[.., i]);
    /// }
    /// ```
    WRONG_MEMORY = "HX0215", "wrong-memory", Error, "a tensor in another memory was expected";

    /// The number does not fit the element type, or the type cannot hold its kind (a fraction in an integer type), or it is a count
    /// that shifts every bit of the type out.
    ///
    /// ```hx fails
    /// const SMALL: i8 = 300;
    /// ```
    ///
    /// ```hx
    /// const SMALL: i16 = 300;
    /// ```
    LITERAL_OUT_OF_RANGE = "HX0216", "literal-out-of-range", Error, "a number does not fit its type";

    /// A compile-time expression has no value: it divides by zero or overflows 64 bits.
    ///
    /// ```hx fails
    /// kernel fill_half(c: mut f32[m]) grid [cdiv(m, 64)] threads 32 {
    ///     let z = register_tensor(f32, [64 / 0]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel fill_half(c: mut f32[m]) grid [cdiv(m, 64)] threads 32 {
    ///     let z = register_tensor(f32, [64 / 2]);
    /// }
    /// ```
    CONSTANT_ERROR = "HX0217", "constant-error", Error, "a constant has no value";

    /// The operator or function has no meaning for operands of these types.
    ///
    /// ```hx fails
    /// const SUM = "a" * 2.0;
    /// ```
    ///
    /// ```hx
    /// const SUM = 1.0 + 2.0;
    /// ```
    NO_SUCH_OPERATION = "HX0218", "no-such-operation", Error, "the operation has no meaning for these types";

    /// Registers have no addresses, so the index of a register tensor must be known at compile time. Unroll the loop with
    /// constant bounds or `#[unroll]`, go through shared memory, or choose with `where(index(t, 0) == i, …)`.
    REGISTER_INDEX = "HX0219", "register-index", Error, "a register tensor is indexed by a run-time value";

    /// A clause of the kernel's header is missing or has no meaning: every kernel has a `grid`, and `threads` unless its body
    /// has `warp_groups`.
    ///
    /// ```hx fails
    /// kernel idle(c: mut f16[m]) threads 32 {
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m]) grid [1] threads 32 {
    /// }
    /// ```
    BAD_HEADER = "HX0220", "bad-header", Error, "a clause of the header is missing or wrong";

    /// The statement computes a value that nothing uses.
    ///
    /// ```hx
    /// fn keep(x: register f32[M]) -> f32[M] {
    ///     x * 2.0
    /// }
    /// ```
    UNUSED_RESULT = "HX0221", "unused-result", Warning, "a value is computed and dropped";

    /// A required argument is missing.
    ///
    /// ```hx fails
    /// fn total(x: register f32[M, N]) -> f32[M, 1] {
    ///     reduce(x, axis: 1)
    /// }
    /// ```
    ///
    /// ```hx
    /// fn total(x: register f32[M, N]) -> f32[M, 1] {
    ///     reduce(x, axis: 1, op: |a, b| a + b)
    /// }
    /// ```
    MISSING_ARGUMENT = "HX0222", "missing-argument", Error, "a required argument is missing";

    /// The value has another number of parts than the pattern, or none.
    ///
    /// ```hx fails
    /// kernel idle(c: mut f16[m, n]) grid [1, 1] threads 32 {
    ///     let [bm, bn, bk] = block_idx;
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m, n]) grid [1, 1] threads 32 {
    ///     let [bm, bn] = block_idx;
    /// }
    /// ```
    PATTERN_MISMATCH = "HX0223", "pattern-mismatch", Error, "a pattern does not fit its value";

    /// Evaluating this at compile time exceeds the compiler's bounds on work or space. The bounds are counted, not timed, so
    /// a program passes on every machine or on none. Functions that call others twice at each level, tuples that double from
    /// line to line, and unrolled loops with very many iterations reach them.
    ///
    /// ```hx fails
    /// const T0 = (1, 1, 1, 1, 1, 1, 1, 1);
    /// const T1 = (T0, T0, T0, T0, T0, T0, T0, T0);
    /// const T2 = (T1, T1, T1, T1, T1, T1, T1, T1);
    /// const T3 = (T2, T2, T2, T2, T2, T2, T2, T2);
    /// const T4 = (T3, T3, T3, T3, T3, T3, T3, T3);
    /// ```
    ///
    /// ```hx
    /// const T0 = (1, 1, 1, 1, 1, 1, 1, 1);
    /// const T1 = (T0, T0, T0, T0, T0, T0, T0, T0);
    /// ```
    COMPILE_TIME_LIMIT = "HX0224", "compile-time-limit", Error, "this takes too much work at compile time";

    /// `warp_groups` divides the threads of a block into roles for the rest of the kernel, so it is the last statement of the
    /// kernel's body, and the only one of its kind. Each role is run by at least one group of 128 threads. A group has a number
    /// only in a role of `each`.
    ///
    /// ```hx fails
    /// kernel halves(c: mut f32[m]) grid [cdiv(m, 256)] {
    ///     warp_groups {
    ///         producer {}
    ///         consumer {}
    ///     }
    ///     sync();
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel halves(c: mut f32[m]) grid [cdiv(m, 256)] {
    ///     sync();
    ///     warp_groups {
    ///         producer {}
    ///         consumer {}
    ///     }
    /// }
    /// ```
    MISPLACED_ROLES = "HX0225", "misplaced-roles", Error, "`warp_groups` cannot stand here, or a role is malformed";

    /// A register tensor is held by the threads that made it, and only they can use it. Threads of a role have none of the
    /// tensors from before `warp_groups`: make the tensor inside of the role, or pass its elements through a shared tensor.
    ///
    /// ```hx fails
    /// kernel halves(c: mut f32[m]) grid [cdiv(m, 128)] {
    ///     let i = block_idx;
    ///     let x = register_tensor(f32, [128]);
    ///     fill(x, 1.0);
    ///     warp_groups {
    ///         consumer 2 {
    ///             copy(x, tile(c, [128])[.., i]);
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel halves(c: mut f32[m]) grid [cdiv(m, 128)] {
    ///     let i = block_idx;
    ///     warp_groups {
    ///         consumer 2 {
    ///             let x = register_tensor(f32, [128]);
    ///             fill(x, 1.0);
    ///             copy(x, tile(c, [128])[.., i]);
    ///         }
    ///     }
    /// }
    /// ```
    OTHER_THREADS = "HX0226", "other-threads", Error, "other threads hold this register tensor";

    /// `#[peel]` splits a loop at the round in which the condition of an `if` changes. The condition has to change once as the
    /// counter grows, at a round that is known before the loop: it compares the counter with a number that the loop does not
    /// change. An equality changes once if it holds in the first or the last round only.
    ///
    /// ```hx fails
    /// kernel stripes(c: mut f32[m]) grid [1] threads 32 {
    ///     let x = register_tensor(f32, [64]);
    ///     fill(x, 1.0);
    ///     #[peel]
    ///     for j in 0..cdiv(m, 64) {
    ///         if j % 2 == 0 {
    ///             copy(x, tile(c, [64])[.., j]);
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel head_and_tail(c: mut f32[m]) grid [1] threads 32 {
    ///     let x = register_tensor(f32, [64]);
    ///     fill(x, 1.0);
    ///     #[peel]
    ///     for j in 0..cdiv(m, 64) {
    ///         if j < 2 {
    ///             x = x + 1.0;
    ///         }
    ///         copy(x, tile(c, [64])[.., j]);
    ///     }
    /// }
    /// ```
    NOTHING_TO_PEEL = "HX0227", "nothing-to-peel", Error, "no condition of a peeled loop changes once";

    /// `tune` names the values that `hx tune` tries for compile-time parameters: a list, or a range of integers with a step. Each
    /// parameter has one axis with at least one value. A parameter without a default needs an axis, unless the tensors of a
    /// launch determine it.
    ///
    /// ```hx fails
    /// kernel zeros<BM = 64>(c: mut f32[m]) tune BM in 64..32 grid [cdiv(m, BM)] threads 32 {
    ///     let x = register_tensor(f32, [BM]);
    ///     fill(x, 0.0);
    ///     copy(x, tile(c, [BM])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel zeros<BM = 64>(c: mut f32[m]) tune BM in 32..=64 step 32 grid [cdiv(m, BM)] threads 32 {
    ///     let x = register_tensor(f32, [BM]);
    ///     fill(x, 0.0);
    ///     copy(x, tile(c, [BM])[.., block_idx]);
    /// }
    /// ```
    BAD_TUNE = "HX0228", "bad-tune", Error, "an axis of `tune` has no values, or wrong ones";

    /// Two modes of a view step along the same dimension, and their steps may meet: the view is a window, whose elements
    /// overlap. It can be read, but a copy to it would write an element several times, in an order that nothing defines. The same
    /// holds for a mode of stride 0.
    ///
    /// ```hx fails
    /// kernel spread(x: f32[32, 3], y: mut f32[m]) grid [1] threads 32 {
    ///     copy(load(x), global_view(y, (32, 3) : (2, 1)));
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel spread(x: f32[32, 3], y: mut f32[m]) grid [1] threads 32 {
    ///     copy(load(x), global_view(y, (32, 3) : (3, 1)));
    /// }
    /// ```
    OVERLAPPING_WRITE = "HX0229", "overlapping-write", Error, "a copy would write an element several times";

    /// The operator of a `reduce` or a `scan` is not associative: three elements have another result if the last two are combined
    /// first. The layout decides which elements are combined first, so the result would depend on it. The message has three elements
    /// that show it; rounding does not count. If the elements are small numbers that are not negative, this is an error. If they are
    /// negative, infinite or NaN, it is a warning, because the data may have none of them.
    ///
    /// No comparison holds for NaN, so `where(a < b, b, a)` keeps a NaN that comes first and drops one that comes second. `max(a, b)`
    /// takes the number in both cases, and so does `where(isnan(a) || a < b, b, a)`.
    ///
    /// ```hx fails
    /// kernel norms(x: f32[m, 64], y: mut f32[m]) grid [m] threads 32 {
    ///     let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    ///     let total = reduce(t, axis: 1, op: |a, b| a * a + b * b);
    ///     copy(sqrt(total)[0, ..], tile(y, [1])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel norms(x: f32[m, 64], y: mut f32[m]) grid [m] threads 32 {
    ///     let t = load(tile(x, [1, 64])[.., .., block_idx, 0]);
    ///     let total = reduce(t * t, axis: 1, op: |a, b| a + b);
    ///     copy(sqrt(total)[0, ..], tile(y, [1])[.., block_idx]);
    /// }
    /// ```
    NOT_ASSOCIATIVE = "HX0230", "not-associative", Error, "the operator of a reduction is not associative";

    /// A member in the `#[family(…)]` of a kernel is no kernel, takes other arguments than the kernel before which it is listed, or has a
    /// compile-time argument that is no constant.
    ///
    /// ```hx fails
    /// #[family(whole<B = 64>, parts)]
    /// kernel whole<B = 128>(x: f32[n], y: mut f32[n]) grid [cdiv(n, B)] threads 32 {
    ///     copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
    /// }
    ///
    /// fn parts(x: f32) -> f32 { x }
    /// ```
    ///
    /// ```hx
    /// #[family(whole<B = 64>, whole)]
    /// kernel whole<B = 128>(x: f32[n], y: mut f32[n]) grid [cdiv(n, B)] threads 32 {
    ///     copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
    /// }
    /// ```
    BAD_FAMILY = "HX0231", "bad-family", Error, "a member of a family is wrong";

    /// A loop with `pipelined(n)` makes the loads of its body `n - 1` rounds ahead, into a ring of `n` stages of shared memory. It can do
    /// so for a `load` or `copy` from global memory to registers that is a statement of the body itself, or a part of one, if its place
    /// follows from the counter and from values from before the loop, and if the loop does not write the tensor. The loop has no
    /// groups of asynchronous copies of its own.
    ///
    /// ```hx fails
    /// kernel looked_up(x: f32[m], at: i32[m], y: mut f32[128]) grid [1] threads 128 {
    ///     let sum_of_tiles = register_tensor(f32, [128]);
    ///     fill(sum_of_tiles, 0.0);
    ///     for i in 0..m pipelined(3) {
    ///         sum_of_tiles = sum_of_tiles + load(tile(x, [128])[.., at[i]]);
    ///     }
    ///     copy(sum_of_tiles, y);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel summed(x: f32[m], y: mut f32[128]) grid [1] threads 128 {
    ///     let sum_of_tiles = register_tensor(f32, [128]);
    ///     fill(sum_of_tiles, 0.0);
    ///     for i in 0..cdiv(m, 128) pipelined(3) {
    ///         sum_of_tiles = sum_of_tiles + load(tile(x, [128])[.., i]);
    ///     }
    ///     copy(sum_of_tiles, y);
    /// }
    /// ```
    NOTHING_AHEAD = "HX0232", "nothing-ahead", Error, "a loop with `pipelined` has nothing to load ahead";

    /// A function with `#[ptx("…")]` is one instruction, or a few, that the source writes itself. The text computes one number from
    /// numbers in registers. `{x}` is the parameter `x`, `{result}` the result, and `{N}` the value of a compile-time parameter; `{{` and
    /// `}}` are the braces of PTX. Parameters and the result are `f16`, `bf16`, `f32`, `f64`, and integers of 32 and 64 bits. The
    /// checks of bounds and races see no memory access of such a text and no order that it imposes, so it may have none. A text that
    /// reads a special register is `volatile`.
    ///
    /// ```hx fails
    /// #[ptx("ld.global.f32 {result}, [{at}];")]
    /// fn loaded(at: u64) -> f32;
    /// ```
    ///
    /// ```hx
    /// #[ptx("lop3.b32 {result}, {a}, {b}, {c}, {TABLE};")]
    /// fn either_two<TABLE = 0xe8>(a: u32, b: u32, c: u32) -> u32 { (a & b) | (a & c) | (b & c) }
    ///
    /// #[ptx("mov.u32 {result}, %smid;", volatile)]
    /// fn multiprocessor(of: i32) -> u32;
    /// ```
    BAD_PTX = "HX0233", "bad-ptx", Error, "an instruction that the source writes is wrong";
}
