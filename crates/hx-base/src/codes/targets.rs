//! HX05xx: targets and resources.

use crate::Status;

family! {
    "HX05", "targets", "Targets and resources";

    /// The kernel's shared tensors need more memory than a block may have on the target. The message lists each with its
    /// size. Use smaller tiles or fewer stages; tensors whose uses are separated by a `sync()` share memory.
    TOO_MUCH_SHARED_MEMORY = "HX0501", "too-much-shared-memory", Error, "a block needs too much shared memory";

    /// A block has at most 1024 threads.
    ///
    /// ```hx fails
    /// kernel idle(c: mut f16[m]) grid [1] threads 2048 {
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m]) grid [1] threads 1024 {
    /// }
    /// ```
    TOO_MANY_THREADS = "HX0502", "too-many-threads", Error, "a block has too many threads";

    /// A thread holds more values at once than it has registers, so some would be spilled to slow local memory. Use smaller
    /// tiles, more threads, or free tensors earlier by giving them shorter scopes. A tensor of more than 512 registers a
    /// thread, twice the most that a thread has, is refused.
    TOO_MANY_REGISTERS = "HX0503", "too-many-registers", Performance, "a thread needs too many registers";

    /// The program uses something that the chosen target does not have. The message names the first target that has it;
    /// `--target` chooses another.
    NEEDS_TARGET = "HX0504", "needs-target", Error, "the target cannot do this";

    /// The name is not one of the targets: `sm_80`, `sm_89`, `sm_90a`.
    UNKNOWN_TARGET = "HX0505", "unknown-target", Error, "there is no such target";

    /// Threads come in warps of 32, so their number is a multiple of 32; roles in `warp_groups` come in groups of 128.
    ///
    /// ```hx fails
    /// kernel idle(c: mut f16[m]) grid [1] threads 100 {
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m]) grid [1] threads 96 {
    /// }
    /// ```
    BAD_THREAD_COUNT = "HX0506", "bad-thread-count", Error, "the number of threads is not a multiple of 32";

    /// The assembler reported that values of the kernel were spilled to local memory. The kernel is correct, but slower than
    /// it looks. The warning shows the lines whose instructions spill, and their roles.
    ///
    /// Only a compile knows it, so `hx build` and `hx check --emit sass` report it, and `hx check` alone, which does not compile, does
    /// not; it warns if the tensors alone do not fit ([HX0503](#hx0503-too-many-registers)).
    /// `assert(spills() == 0)` in a test asserts that an instance has none.
    SPILLS = "HX0507", "spills", Performance, "registers were spilled";

    /// A cluster has at most 8 blocks, and along each axis the grid is a multiple of it. If only a launch knows the grid, the
    /// launch that breaks this is refused with `HX0601`. A copy with `multicast:` names an axis along which the cluster has
    /// several blocks.
    ///
    /// ```hx fails
    /// kernel idle(c: mut f16[m]) grid [3] threads 32 cluster [2] {
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m]) grid [4] threads 32 cluster [2] {
    /// }
    /// ```
    BAD_CLUSTER = "HX0508", "bad-cluster", Error, "the cluster does not fit the device, the grid or a copy";

    /// NVRTC refused the CUDA text that the compiler wrote. This is an error of the compiler; its log is shown with the
    /// lines of the kernel. Please report it.
    NVRTC_REFUSED = "HX0509", "nvrtc-refused", Error, "the CUDA compiler refused the generated text", Status::Reserved;

    /// The `registers` of the roles do not fit the registers that a launch gives the block: ⌊65536 / threads⌋ for each thread,
    /// rounded down to a multiple of 8. Threads can only pass registers on to others of their block, so a group that asks for
    /// more than others give back would wait for ever. A role may have 24 to 256 registers a thread, in steps of 8.
    ///
    /// ```hx fails
    /// kernel idle(c: mut f16[m]) grid [1] {
    ///     warp_groups {
    ///         producer registers 32 {}
    ///         consumer 2 registers 240 {}
    ///     }
    /// }
    /// ```
    ///
    /// ```hx
    /// kernel idle(c: mut f16[m]) grid [1] {
    ///     warp_groups {
    ///         producer registers 24 {}
    ///         consumer 2 registers 240 {}
    ///     }
    /// }
    /// ```
    REGISTER_BUDGET = "HX0510", "register-budget", Error, "the registers of the roles exceed those of the block";

    /// A block has 16 named barriers. The block, each role, each group of a role with `each`, and each group that takes turns
    /// has one, and so has each `barrier()`.
    TOO_MANY_BARRIERS = "HX0511", "too-many-barriers", Error, "a block needs too many named barriers";
}
