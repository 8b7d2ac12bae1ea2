//! HX07xx: kernels that are right and slower than they have to be.

family! {
    "HX07", "performance", "Performance";

    /// The target has a faster matrix instruction for products of this kind, and this product does not use it: on Hopper, the
    /// instructions of single warps reach about two thirds of the throughput of those that groups of warps execute, and their operands
    /// have to be loaded first. The note names the rule that keeps the product from it, and the change.
    ///
    /// Hopper's instructions are executed by groups of 128 threads, read B from shared memory, and compute 64 rows and a multiple of 8
    /// columns at a time with operands of 8 or 16 bits. Operands of 8 bits lie contiguously along K.
    ///
    /// ```hx fails
    /// kernel product<BM = 96, BN = 128, BK = 64>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    ///     grid [cdiv(m, BM), cdiv(n, BN)] threads 128 {
    ///     let [i, j] = block_idx;
    ///     let sa = shared_tensor(f16, [BM, BK]);
    ///     let sb = shared_tensor(f16, [BN, BK]);
    ///     let acc = register_tensor(f32, [BM, BN]);
    ///     fill(acc, 0.0);
    ///     for p in 0..cdiv(k, BK) {
    ///         copy_async(tile(a, [BM, BK])[.., .., i, p], sa);
    ///         copy_async(tile(b, [BN, BK])[.., .., j, p], sb);
    ///         commit();
    ///         wait(0);
    ///         sync();
    ///         gemm(acc, sa, sb);
    ///         sync();
    ///     }
    ///     copy(cast(acc, f16), tile(c, [BM, BN])[.., .., i, j]);
    /// }
    /// ```
    SLOW_PRODUCT = "HX0701", "slow-product", Performance, "a product does not use the best matrix instruction";

    /// Several groups of threads compute the same product: the instruction's tile and the arrangement of the warps do not divide the
    /// work among all of them. Larger tiles, fewer threads, a role with `each`, or `warps:` of the `gemm` divide it.
    ///
    /// ```hx fails
    /// kernel power(a: f16[m, 64], b: f16[n, 64], c: mut f32[m, n], rounds: i32) grid [cdiv(m, 16), cdiv(n, 8)] threads 64 {
    ///     let [i, j] = block_idx;
    ///     let x = load(tile(a, [16, 64])[.., .., i, 0]);
    ///     let y = load(tile(b, [8, 64])[.., .., j, 0]);
    ///     let acc = register_tensor(f32, [16, 8]);
    ///     fill(acc, 0.0);
    ///     for _ in 0..rounds {
    ///         gemm(acc, x, y);
    ///     }
    ///     copy(acc, tile(c, [16, 8])[.., .., i, j]);
    /// }
    /// ```
    REPEATED_WORK = "HX0702", "repeated-work", Performance, "several groups of threads compute the same product";

    /// An operator of C with a slow path, such as the division of IEEE 754, computes a value that is then rounded to a floating-point type
    /// of 16 bits or fewer, so most of its bits are lost. `std::math` has forms that are good for these types and take less time:
    /// `div_approx`, `sigmoid_approx` and `pow_approx`, whose doc comments give their errors. The cycles in the note are
    /// those measured for one warp's quarter of a multiprocessor.
    ///
    /// ```hx fails
    /// kernel powers(x: f16[n], y: f32, z: mut f16[n]) grid [cdiv(n, 1024)] threads 128 {
    ///     let v = cast(load(tile(x, [1024])[.., block_idx]), f32);
    ///     copy(cast(pow(abs(v), y), f16), tile(z, [1024])[.., block_idx]);
    /// }
    /// ```
    ///
    /// `std::math::pow_approx(abs(v), y)` takes half of the time.
    ///
    /// The compiler chooses an approximation by itself if its error is at most one unit of the type of 16 bits. It cannot bound the error if a
    /// sum between the operator and the rounding may cancel leading bits, or if the exponent of `pow` is an argument. These operators stay
    /// exact, and have this note.
    SLOW_ARITHMETIC = "HX0703", "slow-arithmetic", Performance, "arithmetic is more precise than its result";

    /// A reduction or a scan in a loop has its axis dealt to several warps, which meet in shared memory in every round: each round
    /// waits at two barriers. If the loop carries the result, as a running maximum or sum does, each thread can carry its own part,
    /// and one reduction after the loop joins them. If the rounds are independent, fewer threads a row need no barrier.
    ///
    /// ```hx fails
    /// kernel sums(x: f32[m, n], y: mut f32[m]) grid [m] threads 128 {
    ///     let sum_of_row = register_tensor(f32, [1]);
    ///     fill(sum_of_row, 0.0);
    ///     for j in 0..cdiv(n, 1024) {
    ///         sum_of_row = sum_of_row + sum(load(tile(x, [1, 1024])[.., .., block_idx, j]), axis: 1)[.., 0];
    ///     }
    ///     copy(sum_of_row, tile(y, [1])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel sums(x: f32[m, n], y: mut f32[m]) grid [m] threads 128 {
    ///     let sums_of_threads = register_tensor(f32, [1, 1024]);
    ///     fill(sums_of_threads, 0.0);
    ///     for j in 0..cdiv(n, 1024) {
    ///         sums_of_threads = sums_of_threads + load(tile(x, [1, 1024])[.., .., block_idx, j]);
    ///     }
    ///     copy(sum(sums_of_threads, axis: 1)[.., 0], tile(y, [1])[.., block_idx]);
    /// }
    /// ```
    BARRIER_IN_LOOP = "HX0704", "barrier-in-loop", Performance, "warps meet in shared memory in every round of a loop";

    /// A multiprocessor holds one block of the kernel, and two are estimated to be faster: while the threads of one block wait, the
    /// other works. The note names the resource that leaves no room for a second block, and a value of a parameter with which the
    /// estimate is lower.
    LOW_RESIDENCY = "HX0705", "low-residency", Performance, "a multiprocessor holds one block where two are faster";

    /// A loop with `pipelined` makes a load in its own round, so the threads wait for global memory there, although other loads of the loop
    /// are made ahead. The note says why: the place of the tile is known only in its round, the loop writes the tensor, or no asynchronous
    /// copy moves the tile.
    ///
    /// ```hx fails
    /// kernel picked_sums(x: f32[m, 128], w: f32[t, 128], at: i32[t], y: mut f32[128]) grid [1] threads 128 {
    ///     let sum_of_rows = register_tensor(f32, [1, 128]);
    ///     fill(sum_of_rows, 0.0);
    ///     for i in 0..t pipelined(3) {
    ///         let row = at[i];
    ///         sum_of_rows = sum_of_rows + load(tile(x, [1, 128])[.., .., row, 0]) * load(tile(w, [1, 128])[.., .., i, 0]);
    ///     }
    ///     copy(sum(sum_of_rows, axis: 0)[0, ..], y);
    /// }
    /// ```
    LATE_LOAD = "HX0706", "late-load", Performance, "a load of a loop that reads ahead waits in its round";

    /// The threads wait for the loads of every round before they multiply. A loop with `pipelined(n)` makes them `n - 1` rounds ahead, so that
    /// they are in flight while the products run.
    ///
    /// ```hx fails
    /// kernel product(a: f16[m, k], b: f16[n, k], c: mut f16[m, n]) grid [cdiv(m, 64), cdiv(n, 64)] threads 128 {
    ///     let [i, j] = block_idx;
    ///     let acc = register_tensor(f32, [64, 64]);
    ///     fill(acc, 0.0);
    ///     for p in 0..cdiv(k, 64) {
    ///         gemm(acc, load(tile(a, [64, 64])[.., .., i, p]), load(tile(b, [64, 64])[.., .., j, p]));
    ///     }
    ///     copy(cast(acc, f16), tile(c, [64, 64])[.., .., i, j]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel product(a: f16[m, k], b: f16[n, k], c: mut f16[m, n]) grid [cdiv(m, 64), cdiv(n, 64)] threads 128 {
    ///     let [i, j] = block_idx;
    ///     let acc = register_tensor(f32, [64, 64]);
    ///     fill(acc, 0.0);
    ///     for p in 0..cdiv(k, 64) pipelined(3) {
    ///         gemm(acc, load(tile(a, [64, 64])[.., .., i, p]), load(tile(b, [64, 64])[.., .., j, p]));
    ///     }
    ///     copy(cast(acc, f16), tile(c, [64, 64])[.., .., i, j]);
    /// }
    /// ```
    WAITING_LOOP = "HX0707", "waiting-loop", Performance, "a loop of products waits for its loads in every round";
}
