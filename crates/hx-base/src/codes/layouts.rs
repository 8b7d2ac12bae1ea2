//! HX03xx: layouts.

use crate::Status;

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
    REDISTRIBUTION = "HX0305", "redistribution", Warning, "values change hands between threads";

    /// The access moves fewer than 16 bytes a thread, and the message says why: the alignment of the pointer, the
    /// divisibility of a dimension, or the layout on the other side.
    NARROW_ACCESS = "HX0306", "narrow-access", Note, "a narrow memory access", Status::Shown { by: "hx layout why" };

    /// The search for layouts fell short, for one of two reasons. It stopped at its budget: the solution is valid, and a
    /// cheaper one may exist among the candidates that the message counts. Or it found no layout of a shared tensor in which
    /// all accesses are as wide as each would be alone, and some move single elements: the message counts them. If a second
    /// shared tensor with the same writes, for the narrow reads, was solved and takes fewer cycles, the help suggests it.
    SEARCH_STOPPED = "HX0307", "search-stopped", Note, "the search for layouts stopped short";

    /// The independent checker rejected the compiler's own solution. This is an error of the compiler; nothing was built.
    /// Please report it with the kernel.
    UNSOUND_SOLUTION = "HX0308", "unsound-solution", Error, "the checker rejected the layouts";

    /// The target has matrix instructions for the types of this product, but none fits it, so threads multiply element by
    /// element, many times slower. The notes name the requirement of each instruction: most often that K of the tile is a
    /// multiple of its steps. Elements of a tile beyond the edge of a tensor are zeros, so a larger K computes the same.
    SCALAR_PRODUCT = "HX0309", "scalar-product", Note, "a product without matrix instructions";

    /// A tile reaches beyond the end of its tensor, holds 0 there, and a `max`, `min` or product reads these zeros: the
    /// maximum of a row of negative numbers is then 0. `pad:` of the view gives the elements beyond the end a value that does
    /// not change the result, and `where` replaces elements after the load. A condition in the header, such as
    /// `where n % 64 == 0`, says that no tile reaches beyond the end. If zeros are meant, `pad: 0` says so.
    ///
    /// ```hx fails
    /// kernel largest(x: f32[m, n], c: mut f32[m]) grid [cdiv(m, 8)] threads 128 {
    ///     let t = load(tile(x, [8, 128])[.., .., block_idx, 0]);
    ///     copy(max(t, axis: 1)[.., 0], tile(c, [8])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel largest(x: f32[m, n], c: mut f32[m]) grid [cdiv(m, 8)] threads 128 {
    ///     let t = load(tile(x, [8, 128], pad: -inf)[.., .., block_idx, 0]);
    ///     copy(max(t, axis: 1)[.., 0], tile(c, [8])[.., block_idx]);
    /// }
    /// ```
    PADDED_REDUCTION = "HX0310", "padded-reduction", Warning, "a reduction reads the zeros beyond the end of a tensor";
}
