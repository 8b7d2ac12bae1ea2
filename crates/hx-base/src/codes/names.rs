//! HX01xx: names.

family! {
    "HX01", "names", "Names";

    /// Nothing in scope has this name. Scopes are the block and those around it, the parameters and dimensions of the kernel,
    /// the items of the file, the names that `use` imports, and the built-in names.
    ///
    /// ```hx fails
    /// const BYTES = TILE * 2;
    /// ```
    ///
    /// ```hx
    /// const TILE = 64;
    /// const BYTES = TILE * 2;
    /// ```
    ///
    /// If exactly one name has a similar spelling, it is offered.
    UNKNOWN_NAME = "HX0101", "unknown-name", Error, "nothing in scope has this name";

    /// Two items of a file, two parameters of a kernel, or two imports have the same name, so a use of it would be ambiguous.
    /// A `let` may reuse the name of an earlier `let`, which it hides.
    ///
    /// ```hx fails
    /// const TILE = 64;
    /// const TILE = 128;
    /// ```
    ///
    /// ```hx
    /// const TILE = 64;
    /// const WIDE_TILE = 128;
    /// ```
    DUPLICATE_DEFINITION = "HX0102", "duplicate-definition", Error, "one name is defined twice";

    /// The path of a `use` leads to no file or to no item of that file. `std::…` is the standard library; any other
    /// path is looked up from the file's own folder outwards.
    ///
    /// ```hx fails
    /// use std::math::LOG_2_E;
    /// ```
    ///
    /// It is called `std::math::LOG2E`. If a file or an item has a similar spelling, it is offered.
    UNRESOLVED_IMPORT = "HX0103", "unresolved-import", Error, "a `use` leads nowhere";

    /// Inside a `kernel` or `fn` only tile primitives, mathematical functions, operators and other `fn`s can be called.
    /// Host functions such as `randn` or `load("x.npy")` belong in `test`, `bench` and `main`, and a kernel is launched
    /// only from there.
    ///
    /// ```hx fails
    /// kernel noise(c: mut f16[m]) grid [1] threads 32 {
    ///     let x = randn(f16, [32]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel noise(x: f16[m], c: mut f16[m]) grid [cdiv(m, 256)] threads 32 {
    ///     let i = block_idx;
    ///     copy(load(tile(x, [256])[.., i]), tile(c, [256])[.., i]);
    /// }
    /// ```
    NOT_A_PRIMITIVE = "HX0104", "not-a-tile-primitive", Error, "a call that has no meaning on the device";

    /// Only functions, primitives and, on the host, kernels can be called.
    ///
    /// ```hx fails
    /// const TILE = 64;
    /// const TWICE = TILE(2);
    /// ```
    ///
    /// ```hx
    /// const TILE = 64;
    /// const TWICE = TILE * 2;
    /// ```
    NOT_CALLABLE = "HX0105", "not-callable", Error, "something that is not a function is called";

    /// Nothing uses the name of a local, a parameter of a `fn`, or an import. A leading `_` marks this as intended.
    ///
    /// ```hx
    /// fn first(x: register f32[M], _y: register f32[M]) -> f32[M] {
    ///     x
    /// }
    /// ```
    UNUSED_NAME = "HX0106", "unused-name", Warning, "a name that nothing uses";

    /// The compiler does not know the attribute, or the attribute has arguments without a meaning, so it would silently have no effect.
    ///
    /// `#[unroll]` and `#[peel]` stand before a `for`. `#[accept("narrow-access", "the reason")]` stands before a statement, a `kernel`
    /// or a `fn`, names a performance note by its name or number, and says why it is accepted there.
    ///
    /// ```hx fails
    /// #[inline]
    /// fn double(x: f32) -> f32 {
    ///     x * 2.0
    /// }
    /// ```
    ///
    /// Every `fn` is inlined where it is called:
    ///
    /// ```hx
    /// fn double(x: f32) -> f32 {
    ///     x * 2.0
    /// }
    /// ```
    UNKNOWN_ATTRIBUTE = "HX0107", "unknown-attribute", Error, "an attribute that the compiler does not know";

    /// A `fn` is inlined where it is called, so it cannot call itself, directly or by way of others. The same holds for a
    /// `const` that needs its own value.
    ///
    /// ```hx fails
    /// const A = B + 1;
    /// const B = A + 1;
    /// ```
    ///
    /// ```hx
    /// const A = 1;
    /// const B = A + 1;
    /// ```
    RECURSION = "HX0108", "recursion", Error, "an item needs itself";

    /// The name exists, but is of another kind: a type where a value is expected, or a value where a type is.
    ///
    /// ```hx fails
    /// const TILE = 64;
    /// kernel idle(c: mut TILE[m]) grid [1] threads 32 {
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m]) grid [1] threads 32 {
    /// }
    /// ```
    WRONG_KIND = "HX0109", "wrong-kind", Error, "a name of another kind was expected";

    /// A tensor parameter is marked `mut`, and the body uses it but never writes it. Without the mark its elements can be
    /// read as numbers of the block, and a launch can pass a value that no variable holds.
    ///
    /// ```hx
    /// kernel moved(x: f16[m], y: mut f16[m]) grid [cdiv(m, 256)] threads 32 {
    ///     copy(load(tile(x, [256])[.., block_idx]), tile(y, [256])[.., block_idx]);
    /// }
    /// ```
    UNUSED_MUT = "HX0110", "unused-mut", Warning, "a tensor that nothing writes is marked `mut`";
}
