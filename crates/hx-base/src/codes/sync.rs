//! HX04xx: synchronization.

use crate::Status;

family! {
    "HX04", "synchronization", "Synchronization";

    /// Two threads touch the same element of a shared tensor, at least one of them writes, and nothing orders the two. The
    /// compiler knows the layouts, so it examines every pair of threads and does not guess.
    ///
    /// ```hx fails
    /// kernel through_shared(x: f32[m], c: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     let i = block_idx;
    ///     let s = shared_tensor(f32, [256]);
    ///     copy(load(tile(x, [256])[.., i]), s);
    ///     let r = register_tensor(f32, [256], layout: (64, 4) : (1, 64));
    ///     copy(s, r);
    ///     copy(r, tile(c, [256])[.., i]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel through_shared(x: f32[m], c: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     let i = block_idx;
    ///     let s = shared_tensor(f32, [256]);
    ///     copy(load(tile(x, [256])[.., i]), s);
    ///     sync();
    ///     let r = register_tensor(f32, [256], layout: (64, 4) : (1, 64));
    ///     copy(s, r);
    ///     copy(r, tile(c, [256])[.., i]);
    /// }
    /// ```
    SHARED_RACE = "HX0401", "shared-race", Error, "threads race on shared memory";

    /// The barrier orders no accesses, whatever the layouts: without it the kernel computes the same and waits less. The
    /// usual case is a second `sync()` with no shared access since the first. A barrier between a copy to shared memory and a
    /// load from it is not reported, even if each thread reads back only its own writes: the layouts of another instance may
    /// need it.
    IDLE_BARRIER = "HX0402", "idle-barrier", Warning, "a barrier orders nothing";

    /// The data of an asynchronous copy are used before a wait for the copy. `commit()` closes a group of copies, `wait(n)`
    /// waits until at most `n` groups are in flight, and `sync()` makes the data visible to the other threads.
    ///
    /// ```text
    /// copy_async(tile(x, [256])[.., 0], s);
    /// commit();
    /// wait(0);
    /// sync();
    /// copy(s, r);
    /// ```
    MISSING_WAIT = "HX0403", "missing-wait", Error, "a copy is used before it was waited for";

    /// No later operation can complete this wait: the kernel would hang. Every `acquire` needs a `release` by the consumers,
    /// every `wait` a copy that signals the stage.
    ENDLESS_WAIT = "HX0404", "endless-wait", Error, "a wait can never be satisfied", Status::Reserved;

    /// Data written by ordinary stores is read by the asynchronous proxy (or the other way round) with no fence between.
    MISSING_FENCE = "HX0405", "missing-fence", Error, "two proxies meet without a fence", Status::Reserved;

    /// Between `gemm_async` and the `gemm_wait` that completes it, no other operation may touch its operands, on every
    /// target.
    ///
    /// ```text
    /// gemm_async(acc, sa, sb);
    /// gemm_wait(0);
    /// copy(cast(acc, f16), sc);
    /// ```
    OPERAND_IN_FLIGHT = "HX0406", "operand-in-flight", Error, "an operand is touched while its gemm runs", Status::Reserved;

    /// Not all threads of the barrier reach it, so those that do would wait for ever.
    DIVERGENT_BARRIER = "HX0407", "divergent-barrier", Error, "not all threads reach a barrier";

    /// A copy that signals a pipeline stage is conditional: if it is skipped, the stage never fills. Copy always and let
    /// bounds make the tile empty, or acquire the stage under the same condition.
    CONDITIONAL_SIGNAL = "HX0408", "conditional-signal", Error, "a signalled copy stands under a condition", Status::Reserved;

    /// The kernel starts a copy and ends without a wait for it, so nothing can rely on its data. `commit()` closes its group,
    /// and `wait(n)` waits until at most `n` groups are in flight. Remove a copy whose data nothing reads.
    ///
    /// ```text
    /// copy_async(tile(x, [256])[.., 0], s);
    /// commit();
    /// wait(0);
    /// ```
    UNWAITED_COPY = "HX0409", "unwaited-copy", Warning, "nothing waits for an asynchronous copy";

    /// Whenever this `wait(n)` is reached, at most `n` groups of copies are in flight, so it never waits. The usual case is a
    /// second `wait` with no `commit()` since the first. Empty groups count.
    ///
    /// ```text
    /// commit();
    /// wait(0);
    /// wait(0);
    /// ```
    IDLE_WAIT = "HX0410", "idle-wait", Warning, "a wait waits for nothing";

    /// A shared tensor is read, and no statement of the kernel writes it. Shared memory begins undefined: `copy` into it or
    /// `fill` it first.
    ///
    /// ```hx fails
    /// kernel out(c: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     let i = block_idx;
    ///     let s = shared_tensor(f32, [256]);
    ///     copy(s, tile(c, [256])[.., i]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel out(c: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     let i = block_idx;
    ///     let s = shared_tensor(f32, [256]);
    ///     fill(s, 0.0);
    ///     sync();
    ///     copy(s, tile(c, [256])[.., i]);
    /// }
    /// ```
    UNWRITTEN_SHARED = "HX0411", "unwritten-shared", Error, "a shared tensor is read but never written";
}
