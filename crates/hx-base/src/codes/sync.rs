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
    /// need it. Barriers of roles are not judged.
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

    /// No later operation can complete this wait: the kernel would hang. Every `acquire` needs a `release` by the readers of
    /// the stage, every `wait` a copy that signals the stage, every `take` the `pass` of the group before, and every `sync` of a
    /// barrier of roles all groups of these roles. The compiler follows all groups of a block through launches with few rounds of each loop, so a launch with the counts of the note hangs.
    ///
    /// ```text
    /// for k in 0..steps {
    ///     let s = pipe.wait();
    ///     gemm(acc, sa[.., .., s], sb[.., .., s]);
    ///     pipe.release();
    /// }
    /// ```
    ENDLESS_WAIT = "HX0404", "endless-wait", Error, "a wait can never be satisfied";

    /// Data written by ordinary stores is read by the asynchronous proxy (or the other way round) with no fence between.
    MISSING_FENCE = "HX0405", "missing-fence", Error, "two proxies meet without a fence", Status::Reserved;

    /// Between `gemm_async` and the `gemm_wait` that completes it, no other operation may touch its sum, write its operands or
    /// give back the stage that holds them, on every target. Further `gemm_async` may add to the sum.
    ///
    /// ```text
    /// gemm_async(acc, sa, sb);
    /// gemm_wait(0);
    /// copy(cast(acc, f16), sc);
    /// ```
    OPERAND_IN_FLIGHT = "HX0406", "operand-in-flight", Error, "an operand is touched while its gemm runs";

    /// Not all threads of the barrier reach it. A barrier of several roles waits for all groups of the roles that name it, so they come to
    /// it equally often, and at least one of them waits there. A single role needs `sync()` alone.
    ///
    /// ```hx fails
    /// kernel square(x: f32[m], y: mut f32[m]) grid [1] {
    ///     let s = shared_tensor(f32, [256]);
    ///     let (full, free) = (barrier(), barrier());
    ///     warp_groups {
    ///         producer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 if i > 0 { free.sync(); }
    ///                 copy(load(tile(x, [256])[.., i]), s);
    ///                 full.arrive();
    ///             }
    ///         }
    ///         consumer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 full.sync();
    ///                 let v = load(s);
    ///                 free.arrive();
    ///                 copy(v * v, tile(y, [256])[.., i]);
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel square(x: f32[m], y: mut f32[m]) grid [1] {
    ///     let s = shared_tensor(f32, [256]);
    ///     let (full, free) = (barrier(), barrier());
    ///     warp_groups {
    ///         producer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 if i > 0 { free.sync(); }
    ///                 copy(load(tile(x, [256])[.., i]), s);
    ///                 full.arrive();
    ///             }
    ///         }
    ///         consumer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 full.sync();
    ///                 let v = load(s);
    ///                 if i + 1 < cdiv(m, 256) { free.arrive(); }
    ///                 copy(v * v, tile(y, [256])[.., i]);
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    DIVERGENT_BARRIER = "HX0407", "divergent-barrier", Error, "not all threads reach a barrier";

    /// The copies into a stage depend on the way to it, so that some stages get fewer bytes than others and are never full. Copy
    /// always and let bounds make the tile empty, or acquire the stage under the same condition. In the same way each stage that a role
    /// acquires is published once, or none is.
    ///
    /// ```hx fails
    /// kernel pass(x: f32[m], c: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     let i = block_idx;
    ///     let s = shared_tensor(f32, [256]);
    ///     let pipe = pipeline(1);
    ///     pipe.acquire();
    ///     if m > 256 { copy_async(tile(x, [256])[.., i], s, signal: pipe); }
    ///     pipe.wait();
    ///     copy(load(s), tile(c, [256])[.., i]);
    ///     pipe.release();
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel pass(x: f32[m], c: mut f32[m]) where m % 4 == 0 grid [cdiv(m, 256)] threads 64 {
    ///     let i = block_idx;
    ///     let s = shared_tensor(f32, [256]);
    ///     let pipe = pipeline(1);
    ///     pipe.acquire();
    ///     copy_async(tile(x, [256])[.., i], s, signal: pipe);
    ///     pipe.wait();
    ///     copy(load(s), tile(c, [256])[.., i]);
    ///     pipe.release();
    /// }
    /// ```
    CONDITIONAL_SIGNAL = "HX0408", "conditional-signal", Error, "stages of a pipeline get different copies";

    /// The kernel starts a copy and ends without a wait for it, so nothing can rely on its data. `commit()` closes its group,
    /// and `wait(n)` waits until at most `n` groups are in flight. Remove a copy whose data nothing reads. A copy that signals a
    /// pipeline can arrive after the end of its block, in memory that belongs to another block then, so this is an error.
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

    /// A copy that signals a pipeline fills the stage acquired last: some stage must be acquired before it, and its
    /// destination must be indexed by that stage. `publish` hands on the stage acquired last, too.
    ///
    /// ```text
    /// let s = pipe.acquire();
    /// copy_async(tile(x, [256])[.., ki], stages[.., s], signal: pipe);
    /// ```
    FOREIGN_STAGE = "HX0412", "foreign-stage", Error, "a signalled copy does not fill the stage acquired last";

    /// A wait or an arrival can count for another round than the one it is meant for. A barrier of a pipeline or of turns knows
    /// only whether its round is even or odd, so nobody may be more than one round away from it. Groups that share a ring leave
    /// each other's stages alone with `skip`, and take turns so that each knows how far the ring has come. A group passes only a
    /// turn that it took. A barrier of several roles counts threads: a group arrives there again once it knows that the last round is
    /// complete.
    ///
    /// ```text
    /// pipe.skip(g * steps);
    /// for i in 0..rounds {
    ///     turn.take();
    ///     multiply(acc, sa, sb, pipe, steps);
    ///     turn.pass();
    ///     pipe.skip(steps);
    /// }
    /// ```
    WRONG_PHASE = "HX0413", "wrong-phase", Error, "a barrier counts for another round than the one meant";

    /// The blocks of a cluster each bring a share of a multicast copy to all of them, so all must read the same tile. Its
    /// coordinates may not depend on the position of a block in its cluster.
    ///
    /// ```text
    /// let pair = block_idx / 2;
    /// copy_async(tile(b, [128, 64])[.., .., pair, k], sb[.., .., s], signal: pipe, multicast: 0);
    /// ```
    DIVIDED_MULTICAST = "HX0414", "divided-multicast", Error, "blocks share a copy of different tiles";

    /// All threads of a block that loop over a counter take the same numbers, and wait for each other. So the counter is made in
    /// the statements of the block, and each role, or the block, loops over it once, outside of other loops and of `if`. Nothing
    /// else in the kernel accesses the tensor of the counter.
    ///
    /// ```hx fails
    /// kernel double(x: f32[m], y: mut f32[m], c: mut i32[1]) grid [4] threads 64 {
    ///     let work = counter(c, cdiv(m, 256));
    ///     if m > 4096 {
    ///         for t in work { copy(load(tile(x, [256])[.., t]) * 2.0, tile(y, [256])[.., t]); }
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel double(x: f32[m], y: mut f32[m], c: mut i32[1]) grid [4] threads 64 {
    ///     let work = counter(c, cdiv(m, 256));
    ///     for t in work { copy(load(tile(x, [256])[.., t]) * 2.0, tile(y, [256])[.., t]); }
    /// }
    /// ```
    MISUSED_COUNTER = "HX0415", "misused-counter", Error, "a counter cannot be used like this";

    /// A kernel with `wait_for_previous()` starts while the launches before it may still run. Until a thread has waited for them,
    /// what they write is not there yet, and what they read must stay. So each thread waits before its first access to a tensor of
    /// the parameters: a wait in the statements of the block counts for all threads, a wait in a role for the threads of the role.
    /// Work that touches no such tensor may stand before the wait: shared memory, registers, pipelines.
    ///
    /// ```hx fails
    /// kernel next(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     let t = load(tile(x, [256])[.., block_idx]);
    ///     wait_for_previous();
    ///     copy(t * 2.0, tile(y, [256])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel next(x: f32[m], y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     wait_for_previous();
    ///     let t = load(tile(x, [256])[.., block_idx]);
    ///     copy(t * 2.0, tile(y, [256])[.., block_idx]);
    /// }
    /// ```
    EARLY_ACCESS = "HX0416", "early-access", Error, "memory is accessed before the wait for earlier launches";

    /// A launch is complete for those after it only if it waited for those before it. If it may end without its wait, a later
    /// launch can start while an earlier one still runs. So `wait_for_previous()` stands outside of loops and conditions.
    ///
    /// ```hx fails
    /// kernel next(y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     if m > 4096 {
    ///         wait_for_previous();
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel next(y: mut f32[m]) grid [cdiv(m, 256)] threads 64 {
    ///     wait_for_previous();
    ///     if m > 4096 {
    ///         let t = register_tensor(f32, [256]);
    ///         fill(t, 0.0);
    ///         copy(t, tile(y, [256])[.., block_idx]);
    ///     }
    /// }
    /// ```
    UNCERTAIN_LAUNCH_WAIT = "HX0417", "uncertain-launch-wait", Error, "a launch may end without its wait for earlier ones";

    /// Asynchronous copies and products of a loop stand beside each other, and the estimate of the kernel is at least a tenth lower
    /// for the other order. Copies ahead of products are in flight while these run, so the products hide their latency: this counts
    /// in rings of two or three stages. Copies behind products in flight are started while these run.
    ///
    /// The other order was tried: it has layouts, and the checks of synchronization find nothing in it. The estimate knows waits,
    /// latencies and resources, but not the order in which the CUDA compiler issues instructions; measure where it matters.
    ///
    /// ```hx fails
    /// kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [cdiv(m, 128), cdiv(n, 128)] threads 256 {
    ///     let [bm, bn] = block_idx;
    ///     let (sa, sb) = (shared_tensor(f16, [128, 64, 2]), shared_tensor(f16, [128, 64, 2]));
    ///     let acc = register_tensor(f32, [128, 128]);
    ///     fill(acc, 0.0);
    ///     copy_async(tile(a, [128, 64])[.., .., bm, 0], sa[.., .., 0]);
    ///     copy_async(tile(b, [128, 64])[.., .., bn, 0], sb[.., .., 0]);
    ///     commit();
    ///     for ki in 0..cdiv(k, 64) {
    ///         wait(0);
    ///         sync();
    ///         gemm(acc, sa[.., .., ki % 2], sb[.., .., ki % 2]);
    ///         copy_async(tile(a, [128, 64])[.., .., bm, ki + 1], sa[.., .., (ki + 1) % 2]);
    ///         copy_async(tile(b, [128, 64])[.., .., bn, ki + 1], sb[.., .., (ki + 1) % 2]);
    ///         commit();
    ///     }
    ///     wait(0);
    ///     copy(acc, tile(c, [128, 128])[.., .., bm, bn]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [cdiv(m, 128), cdiv(n, 128)] threads 256 {
    ///     let [bm, bn] = block_idx;
    ///     let (sa, sb) = (shared_tensor(f16, [128, 64, 2]), shared_tensor(f16, [128, 64, 2]));
    ///     let acc = register_tensor(f32, [128, 128]);
    ///     fill(acc, 0.0);
    ///     copy_async(tile(a, [128, 64])[.., .., bm, 0], sa[.., .., 0]);
    ///     copy_async(tile(b, [128, 64])[.., .., bn, 0], sb[.., .., 0]);
    ///     commit();
    ///     for ki in 0..cdiv(k, 64) {
    ///         wait(0);
    ///         sync();
    ///         copy_async(tile(a, [128, 64])[.., .., bm, ki + 1], sa[.., .., (ki + 1) % 2]);
    ///         copy_async(tile(b, [128, 64])[.., .., bn, ki + 1], sb[.., .., (ki + 1) % 2]);
    ///         commit();
    ///         gemm(acc, sa[.., .., ki % 2], sb[.., .., ki % 2]);
    ///     }
    ///     wait(0);
    ///     copy(acc, tile(c, [128, 128])[.., .., bm, bn]);
    /// }
    /// ```
    SLOWER_ORDER = "HX0418", "slower-order", Performance, "copies and products would overlap more in the other order";

    /// The compiler follows pipelines, turns, asynchronous products and barriers under launches that it chooses: with 0, 1, 2 and as
    /// many rounds of each loop as the rings have stages, one and two more, for lengths that a launch passes and for numbers that the
    /// kernel reads. The source may count slots itself: `out[.., i % 8]` uses a slot again after 8 rounds, and first in a later round
    /// than 0, so such a loop runs for 17 rounds. A condition has to hold in one launch and to fail in another, and each operand of
    /// a `min` or `max` in a bound has to be its value, unless all roles have the same bound. What goes wrong in one of these launches
    /// is an error. This warning says that a part of the kernel was not decided, and which expression stood in the way: no launch
    /// satisfies all `where` clauses, a loop cannot be made to run for enough rounds, a condition never changes, or the launches that
    /// would show it are too long to follow. Such a kernel may hang or race on a GPU.
    ///
    /// ```hx fails
    /// kernel sums(x: f32[m], y: mut f32[m]) where m % 7 == 3, m % 7 == 4 grid [1] {
    ///     let s = shared_tensor(f32, [256, 2]);
    ///     let pipe = pipeline(2);
    ///     warp_groups {
    ///         producer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 let k = pipe.acquire();
    ///                 copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
    ///             }
    ///         }
    ///         consumer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 let k = pipe.wait();
    ///                 copy(load(s[.., k]), tile(y, [256])[.., i]);
    ///                 pipe.release();
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel sums(x: f32[m], y: mut f32[m]) where m % 7 == 3 grid [1] {
    ///     let s = shared_tensor(f32, [256, 2]);
    ///     let pipe = pipeline(2);
    ///     warp_groups {
    ///         producer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 let k = pipe.acquire();
    ///                 copy_async(tile(x, [256])[.., i], s[.., k], signal: pipe);
    ///             }
    ///         }
    ///         consumer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 let k = pipe.wait();
    ///                 copy(load(s[.., k]), tile(y, [256])[.., i]);
    ///                 pipe.release();
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// Bounds that differ only in launches that are too long to follow:
    ///
    /// ```hx fails
    /// kernel sums(x: f32[m], y: mut f32[m]) grid [1] {
    ///     let s = shared_tensor(f32, [256]);
    ///     let (full, free) = (barrier(), barrier());
    ///     warp_groups {
    ///         producer {
    ///             for i in 0..min(cdiv(m, 256), 1000000) {
    ///                 copy(load(tile(x, [256])[.., i]), s);
    ///                 full.sync();
    ///                 free.sync();
    ///             }
    ///         }
    ///         consumer {
    ///             for i in 0..cdiv(m, 256) {
    ///                 full.sync();
    ///                 copy(load(s), tile(y, [256])[.., i]);
    ///                 free.sync();
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel sums(x: f32[m], y: mut f32[m]) grid [1] {
    ///     let s = shared_tensor(f32, [256]);
    ///     let (full, free) = (barrier(), barrier());
    ///     let rounds = min(cdiv(m, 256), 1000000);
    ///     warp_groups {
    ///         producer {
    ///             for i in 0..rounds {
    ///                 copy(load(tile(x, [256])[.., i]), s);
    ///                 full.sync();
    ///                 free.sync();
    ///             }
    ///         }
    ///         consumer {
    ///             for i in 0..rounds {
    ///                 full.sync();
    ///                 copy(load(s), tile(y, [256])[.., i]);
    ///                 free.sync();
    ///             }
    ///         }
    ///     }
    /// }
    /// ```
    UNCHECKED_PIPELINES = "HX0419", "unchecked-pipelines", Warning, "pipelines or barriers of a kernel were not checked";

    /// A register tensor is read before anything has written it: on every path, or on a path whose condition the note names. Its
    /// elements are what the registers held before. The accumulator of a product is read, too: `fill` it before the loop. A part
    /// that nothing wrote counts, if the read needs it; a branch of `where` is read only where it is chosen.
    ///
    /// ```hx fails
    /// kernel total(x: f32[m, n], y: mut f32[m]) grid [cdiv(m, 64)] threads 128 {
    ///     let acc = register_tensor(f32, [64, 64]);
    ///     for j in 0..cdiv(n, 64) {
    ///         acc += load(tile(x, [64, 64])[.., .., block_idx, j]);
    ///     }
    ///     copy(sum(acc, axis: 1)[.., 0], tile(y, [64])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel total(x: f32[m, n], y: mut f32[m]) grid [cdiv(m, 64)] threads 128 {
    ///     let acc = register_tensor(f32, [64, 64]);
    ///     fill(acc, 0.0);
    ///     for j in 0..cdiv(n, 64) {
    ///         acc += load(tile(x, [64, 64])[.., .., block_idx, j]);
    ///     }
    ///     copy(sum(acc, axis: 1)[.., 0], tile(y, [64])[.., block_idx]);
    /// }
    /// ```
    UNWRITTEN_REGISTERS = "HX0420", "unwritten-registers", Error, "a register tensor is read before it is written";

    /// An atomic access to global memory has the scope `"block"`, and other blocks access the same elements. It is atomic among the
    /// threads of its own block only, so what other blocks do is lost, and a release or an acquire tells them nothing.
    ///
    /// It is an error if all blocks access the same elements, and a warning if data or counters choose them. Without `scope:` an access
    /// to global memory is atomic among all threads of the device. The simulator reports what is left as a race.
    ///
    /// ```hx,fails=HX0421
    /// kernel count(x: i32[m], n: mut i32[1]) grid [cdiv(m, 256)] threads 64 {
    ///     atomic_add(n, sum(load(tile(x, [256])[.., block_idx]), axis: 0), scope: "block");
    /// }
    /// ```
    NARROW_SCOPE = "HX0421", "narrow-scope", Error, "an atomic access leaves out blocks that share its elements";

    /// Elements of global memory are used while a store of the copy unit still writes them. `wait_stores(n)` waits until stores have
    /// read shared memory, so that it may be written again; what they write is then on its way. `wait_stores(n, read: false)` waits
    /// until it is in global memory, and a `sync()` behind it tells the other threads of the block. In a role, `sync()` tells the threads
    /// of that role: another role hears of it at a barrier of both, or with a stage of a pipeline. Only sums may meet: stores with
    /// `add: true` and atomic sums of threads.
    ///
    /// ```hx fails
    /// kernel twice(x: f32[m], y: mut f32[m], z: mut f32[m]) where m % 4 == 0 grid [cdiv(m, 256)] threads 64 {
    ///     let s = shared_tensor(f32, [256]);
    ///     copy(tile(x, [256])[.., block_idx], s);
    ///     sync();
    ///     copy_async(s, tile(y, [256])[.., block_idx]);
    ///     wait_stores(0);
    ///     sync();
    ///     copy(load(tile(y, [256])[.., block_idx]) * 2.0, tile(z, [256])[.., block_idx]);
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel twice(x: f32[m], y: mut f32[m], z: mut f32[m]) where m % 4 == 0 grid [cdiv(m, 256)] threads 64 {
    ///     let s = shared_tensor(f32, [256]);
    ///     copy(tile(x, [256])[.., block_idx], s);
    ///     sync();
    ///     copy_async(s, tile(y, [256])[.., block_idx]);
    ///     wait_stores(0, read: false);
    ///     sync();
    ///     copy(load(tile(y, [256])[.., block_idx]) * 2.0, tile(z, [256])[.., block_idx]);
    /// }
    /// ```
    STORE_IN_FLIGHT = "HX0422", "store-in-flight", Error, "global memory is used while a store writes it";

    /// An operation touches registers of a product that is still in flight on some path, in no launch that was followed. The
    /// compiler then waits for all products before the operation, on every path. A `gemm_wait` of your own leaves products in
    /// flight that the operation does not need.
    ///
    /// ```hx,fails=HX0423
    /// kernel product(a: f16[m, k], b: f16[n, k], c: mut f32[m, n]) grid [cdiv(m, 64), cdiv(n, 128)] threads 128 {
    ///     let sa = shared_tensor(f16, [64, 64]);
    ///     let sb = shared_tensor(f16, [128, 64]);
    ///     let acc = register_tensor(f32, [64, 128]);
    ///     fill(acc, 0.0);
    ///     copy(tile(a, [64, 64])[.., .., block_idx.x, 0], sa);
    ///     copy(tile(b, [128, 64])[.., .., block_idx.y, 0], sb);
    ///     sync();
    ///     if m > 64 {
    ///         gemm_async(acc, sa, sb);
    ///     }
    ///     if m > 64 {
    ///         gemm_wait(0);
    ///     }
    ///     copy(acc, tile(c, [64, 128])[.., .., block_idx.x, block_idx.y]);
    /// }
    /// ```
    ADDED_WAIT = "HX0423", "added-wait", Performance, "the compiler waits for products in flight";
}
