//! HX03xx: layouts.

family! {
    "HX03", "layouts", "Layouts";

    /// No choice of layouts satisfies all demands of the program. The message names a minimal set of operations that
    /// contradict each other, the demand of each in `shape : stride` form, and the place where the demands meet: without any
    /// one of them, the others have layouts. Most often one demand is a pinned layout: drop the pin, or redistribute the
    /// values with `rearrange`. Every fix was solved before it is offered.
    ///
    /// ```text
    /// let l: layout = (32, 4) : (1, 32);
    /// let x = register_tensor(f16, [128], layout: l);       demands one distribution
    /// let y = register_tensor(f16, [128], layout: l2);      demands another
    /// y = x;                                                here they meet
    /// ```
    ///
    /// ```text
    /// y = rearrange(x, l2);
    /// ```
    LAYOUT_CONFLICT = "HX0301", "layout-conflict", Error, "no layouts satisfy all demands";

    /// No instruction of the target does the operation on these element types, extents and layouts. The message lists the
    /// nearest instructions and the requirement of each.
    NO_INSTRUCTION = "HX0302", "no-instruction", Error, "no instruction fits the operation";

    /// A pinned layout does not fit its tensor. A thread-value layout has as many threads in its first mode as the scope has,
    /// and its values cover the tile; a memory layout maps no two elements to one offset.
    BAD_PINNED_LAYOUT = "HX0303", "bad-pinned-layout", Error, "a pinned layout does not fit";

    /// An operation of the layout algebra is undefined for these operands: a composition whose strides do not divide, a
    /// complement of a layout that repeats itself, an inverse of one that is not injective.
    ///
    /// ```hx fails
    /// kernel tiled(c: mut f32[m]) grid [1] threads 32 {
    ///     let r = register_tensor(f32, [24], layout: compose((4, 6) : (6, 1), 5 : 3));
    /// }
    /// ```
    LAYOUT_ALGEBRA = "HX0304", "layout-algebra", Error, "the layout operation is undefined here";

    /// The operation needs the value in another distribution over threads, so the compiler moves it, by shuffles or through
    /// shared memory. The cost is part of the solution's cost. Write `rearrange(t, auto)` to mark this as intended.
    REDISTRIBUTION = "HX0305", "redistribution", Performance, "values change hands between threads";

    /// An access moves fewer bytes at a time than its memory allows, so it takes at least twice as many instructions. The note names
    /// the cause: the alignment of the pointer, the divisibility of a dimension or of a stride, a layout that another operation
    /// demands of the same register tensor, or the other accesses to the same shared tensor. The widest access moves 16 bytes a thread.
    ///
    /// - A condition such as `where n % 8 == 0` lets the compiler rely on a divisor.
    /// - A load that feeds a `gemm` has the layout of its instruction. By way of a `shared_tensor`, or of `rearrange(t, auto)`, it is
    ///   wide.
    /// - A second shared tensor with the same writes serves reads that no layout of the first one makes wide.
    ///
    /// The compiler solves each change before it offers it, as a fix or in the help, and offers only changes that lower the estimate.
    /// Accesses that take less than a twentieth of the kernel's time have no note.
    NARROW_ACCESS = "HX0306", "narrow-access", Performance, "a memory access is narrower than its memory allows";

    /// The search for layouts stopped at its budget: the solution is valid, and a cheaper one may exist among the candidates that the
    /// message counts.
    SEARCH_STOPPED = "HX0307", "search-stopped", Note, "the search for layouts stopped short";

    /// The independent checker rejected the compiler's own solution. This is an error of the compiler; nothing was built.
    /// Please report it with the kernel.
    UNSOUND_SOLUTION = "HX0308", "unsound-solution", Error, "the checker rejected the layouts";

    /// The target has matrix instructions for the types of this product, but none fits it, so threads multiply element by
    /// element, many times slower. The notes name the requirement of each instruction: most often that K of the tile is a
    /// multiple of its steps. Elements of a tile beyond the edge of a tensor are zeros, so a larger K computes the same.
    SCALAR_PRODUCT = "HX0309", "scalar-product", Performance, "a product without matrix instructions";

    /// A tile reaches beyond an edge of its tensor, and the elements there have a part in a result. They are 0, or what `pad:` of
    /// the view says, and every operation on the tile computes with them: after `exp` they are 1, after `t - mean` they are anything.
    /// This is right as long as nothing but elements beyond the edge comes of them, which no store writes.
    ///
    /// The compiler follows the value of the padding through arithmetic, conversions, shapes, shared memory, pipelines and loops. It
    /// reports where padding that is not neutral meets elements of the tensor: in `sum`, `max`, `min`, `any`, `all`, `reduce`, in
    /// `argmax` and `argmin`, in the last element of a `scan`, along K of a product, in an atomic access or a sum over a cluster, as
    /// the index of a `scatter`, and in a loop that carries a sum or a maximum. The label says which value the padding has there. 0
    /// is neutral in a sum, `-inf` in a maximum, 1 in a product, `true` in `all`.
    ///
    /// - `pad:` of the view gives the padding another value: `-inf` before a softmax, `-1` for indices.
    /// - `where(index(t, 1) < n, t, 0.0)` replaces it after the arithmetic. In a loop over tiles the index counts from the beginning of
    ///   the tile: `index(t, 1) + j * 64 < n`.
    /// - A condition in the header, such as `where n % 64 == 0`, says that no tile reaches beyond the end.
    /// - If zeros are meant, `pad: 0` says so.
    ///
    /// The finding is about all launches of the kernel, whatever the dimensions of one are.
    ///
    /// Some of what the compiler takes for granted is not proven. Tensors hold finite numbers: zeros along K of one operand of a product
    /// add nothing only then, and an infinity or NaN beside them makes a NaN. A factor that is a number of the kernel is positive, so it
    /// keeps the sign of `-inf`. A negative number that the source puts in the place of padding is less than all elements, and one of
    /// -10⁴ or less stands for `-inf`. A mask by a length that is read from a tensor, or given by the caller, is taken to end before the
    /// tensor does. A maximum or sum over rows that are padding as a whole is not reported, because no store writes it.
    ///
    /// ```hx fails
    /// kernel log_sums(x: f32[m, n], c: mut f32[m]) grid [cdiv(m, 8)] threads 128 {
    ///     let t = load(tile(x, [8, 128])[.., .., block_idx, 0]);
    ///     copy(log(sum(exp(t), axis: 1))[.., 0], tile(c, [8])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel log_sums(x: f32[m, n], c: mut f32[m]) grid [cdiv(m, 8)] threads 128 {
    ///     let t = load(tile(x, [8, 128], pad: -inf)[.., .., block_idx, 0]);
    ///     copy(log(sum(exp(t), axis: 1))[.., 0], tile(c, [8])[.., block_idx]);
    /// }
    /// ```
    PADDED_REDUCTION = "HX0310", "padded-reduction", Warning, "padding beyond the end of a tensor enters a result";

    /// The search for results that padding enters ended before it had judged all of them: the conditions that decide where padding
    /// lies are too large, or there are too many. Later results of the kernel may contain padding; a test over ragged sizes shows it.
    PADDING_NOT_FOLLOWED = "HX0311", "padding-not-followed", Note, "padding was not followed to all results of a kernel";
}
