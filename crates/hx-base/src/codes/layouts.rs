//! HX03xx: layouts.

use crate::Status;

family! {
    /// No choice of layouts satisfies all that the program demands. The message names the smallest set of operations that
    /// cannot live together, what each of them demands in `shape : stride` form, and where the demands meet: without any one of
    /// them, the others have layouts. Most often a pinned layout is one of them: drop the pin, or let the values change hands
    /// with `rearrange`. The fixes that are offered were solved before.
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

    /// No instruction of the target does the operation on these element types, extents and layouts. The message lists
    /// those that came nearest and what each of them wants.
    NO_INSTRUCTION = "HX0302", "no-instruction", Error, "no instruction fits the operation";

    /// A pinned layout does not fit what it is pinned to. A thread-value layout has as many threads in its first mode as
    /// the scope has, and its values cover the tile; a memory layout puts no two elements at one place.
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

    /// The value has one distribution over threads and the place needs another, so the compiler moves it, by shuffles or
    /// through shared memory. The cost is part of the solution's cost. Write `rearrange(t, auto)` to say that it is meant.
    REDISTRIBUTION = "HX0305", "redistribution", Warning, "values change hands between threads";

    /// The access moves fewer than 16 bytes a thread, and the message says why: the alignment of the pointer, the
    /// divisibility of a dimension, or the layout on the other side.
    NARROW_ACCESS = "HX0306", "narrow-access", Note, "a narrow memory access", Status::Shown { by: "hx layout why" };

    /// The search for layouts stopped short of what was wanted. Either it stopped at its budget: the solution is valid, and a cheaper
    /// one may exist among the candidates that the message counts. Or it found no layout of a shared tensor in which all accesses are
    /// as wide as each would be alone, and some move single elements: the message counts them. A second shared tensor with the same
    /// writes, for the reads that are narrow, is told as a help where it was solved and takes fewer cycles.
    SEARCH_STOPPED = "HX0307", "search-stopped", Note, "the search for layouts stopped short";

    /// The independent checker rejected the compiler's own solution. This is an error of the compiler; nothing was built.
    /// Please report it with the kernel.
    UNSOUND_SOLUTION = "HX0308", "unsound-solution", Error, "the checker rejected the layouts";

    /// There are matrix instructions for the types of a product, but none of them fits it, so threads multiply one by one,
    /// many times slower. The notes say what each instruction asks for: most often that K of the tile is a multiple of its
    /// steps. What a tile has beyond the edge of a tensor is filled with zeros, so a larger K computes the same.
    SCALAR_PRODUCT = "HX0309", "scalar-product", Note, "a product without matrix instructions";
}
