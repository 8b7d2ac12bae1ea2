//! HX06xx: host code and launches.

family! {
    "HX06", "host", "Host and launch";

    /// The arguments of this launch break the kernel's `where`, which states what the kernel relies on. The message shows the
    /// clause with the values. Nothing was run.
    ///
    /// ```text
    /// kernel matmul<BK = 16>(a: f16[m, k], …) where k % BK == 0 …
    /// matmul(a, b, c)             with a: f16[64, 20], k % BK is 4
    /// ```
    ///
    /// Pad the argument, choose another `BK`, or drop the clause if the kernel handles partial tiles.
    BROKEN_REQUIREMENT = "HX0601", "broken-requirement", Error, "a launch breaks the kernel's `where`";

    /// An argument of the launch has more or fewer dimensions than the parameter.
    LAUNCH_RANK = "HX0602", "launch-rank", Error, "an argument has the wrong number of dimensions";

    /// An argument of the launch has another element type than the parameter. `cast(x, f16)` converts it, with explicit
    /// rounding.
    LAUNCH_DTYPE = "HX0603", "launch-dtype", Error, "an argument has the wrong element type";

    /// A dimension that occurs in several parameters has different extents in the arguments, or an extent differs from
    /// the one that the parameter names.
    LAUNCH_DIMENSION = "HX0604", "launch-dimension", Error, "the dimensions of the arguments disagree";

    /// An argument that the kernel writes shares memory with another argument, or repeats its own elements, as a result of
    /// `broadcast_to` does. Copy one of them first.
    ///
    /// An input may be the same tensor as an output, as in `relu(x, x)`, if the kernel is known to update it in place: each tile of the
    /// input is loaded where the same tile of the output is stored, before it, and each element by the thread that stores it, for the
    /// value that it stores there. The note says which of these is not known. Nothing is assumed of a tensor that a kernel with one
    /// parameter loads and stores.
    OVERLAPPING_ARGUMENTS = "HX0605", "overlapping-arguments", Error, "a written argument overlaps another";

    /// There is no file at this path. Relative paths start at the folder where the command was given.
    FILE_NOT_FOUND = "HX0606", "file-not-found", Error, "there is no such file";

    /// The file cannot be read as a `.npy` file: its header is damaged, its element type has no counterpart here, or it is
    /// shorter than its header says.
    MALFORMED_NPY = "HX0607", "malformed-npy", Error, "a `.npy` file cannot be read";

    /// The CUDA run-time compiler (NVRTC) was not found. It needs neither a GPU nor a driver. hx looks for it at `--nvrtc` or
    /// `HX_NVRTC`, beside the executable, in the user's data folder, where `hx setup` puts it, in `CUDA_HOME`, on the
    /// loader's path, and in the Python environment on `PATH`; in a project only if it is
    /// [trusted](#hx0632-untrusted-project). `hx doctor` lists what was tried. The simulator (`--device sim`) needs none of
    /// this.
    MISSING_NVRTC = "HX0608", "missing-nvrtc", Error, "the CUDA compiler was not found";

    /// There is no CUDA driver, or it sees no GPU. `--device sim` runs on the CPU; `hx doctor` says what was tried.
    NO_GPU = "HX0609", "no-gpu", Error, "there is no GPU";

    /// The process that compiles and runs kernels ended unexpectedly. It has been started again; values on the GPU are lost,
    /// those on the host are not. The usual cause is an access of a kernel outside a buffer: run the same test with
    /// `--device sim`, which names the place.
    WORKER_CRASHED = "HX0610", "worker-crashed", Error, "the worker process crashed";

    /// Compiled kernels could not be written to the cache, so they are compiled again each time. The message names the folder
    /// and the reason.
    CACHE_UNWRITABLE = "HX0611", "cache-unwritable", Warning, "the cache cannot be written";

    /// An `assert`, `assert_eq` or `assert_close` does not hold. A failed comparison shows the first wrong coordinate, the
    /// worst error, how many elements are wrong and in which pattern.
    ///
    /// In a kernel, an `assert` is checked for every element while the kernel runs, and fails the launch after the kernel has
    /// ended: the notes name the first block, the first coordinate in it, and the number of elements that failed. The
    /// kernel's output is discarded.
    ///
    /// ```hx
    /// test "doubling" {
    ///     let x = arange(f32, 8);
    ///     assert_close(x + x, x * 2.0, ulp: 0);
    /// }
    /// ```
    ASSERTION_FAILED = "HX0612", "assertion-failed", Error, "an assertion does not hold";

    /// The program or the test took longer than its limit and was stopped, in the compiler, on the host or in a launch.
    /// `--timeout` changes the limit.
    TIME_LIMIT = "HX0613", "time-limit", Error, "the time limit was reached";

    /// A host expression has no value: the arguments of a function do not fit it, or an index is outside its tensor.
    HOST_ERROR = "HX0614", "host-error", Error, "a host expression has no value";

    /// The shapes of two host tensors do not broadcast, or the inner dimensions of `@` differ.
    HOST_SHAPE_MISMATCH = "HX0615", "host-shape-mismatch", Error, "the shapes of host tensors do not fit";

    /// The simulator saw a thread read or write outside a tensor. The message names the thread, the coordinate and the
    /// operation.
    OUT_OF_BOUNDS = "HX0616", "out-of-bounds", Error, "a kernel accessed memory outside a tensor";

    /// The simulator saw a thread read an element that nothing had written. Registers and shared memory begin undefined:
    /// `fill` them, or copy into them first.
    UNINITIALIZED_READ = "HX0617", "uninitialized-read", Error, "a kernel read what nothing wrote";

    /// The simulator saw two threads access one element, one of them changing it, and nothing orders the accesses: in shared
    /// memory; in a tensor of the launch, if a thread of the block changes an element that another reads, stores or updates;
    /// or between blocks, which only atomic accesses order that release and acquire. Two blocks that write one element race whatever
    /// they write, and so do atomic accesses of two blocks with the scope `"block"`. A thread that changes the source of an
    /// asynchronous copy before the wait for it races with the copy.
    ///
    /// The finding shows both places. Within a block a `sync();` between them fixes the race. Between blocks, one releases after its
    /// access and the other acquires before its own: the acquire must find what the release left, or what updates made of it.
    /// Otherwise each block needs its own elements, or `atomic_add`.
    ///
    /// A release at the flag before the data are written, an acquire that is missing, or a lock whose values are swapped shows in some
    /// orders of events only: `hx test --orders 32` tries them.
    RACE = "HX0618", "race", Error, "a kernel raced at run time";

    /// The simulator saw an access whose address is not a multiple of its width.
    MISALIGNED_ACCESS = "HX0619", "misaligned-access", Error, "a kernel made a misaligned access";

    /// The simulator saw threads wait for something that nobody will do: every thread of a block, or a `while` that reads memory
    /// which no thread of any block changes any more. The finding is at the wait or at the condition of the loop, and says which
    /// element the loop reads and its value.
    ///
    /// Blocks that wait for each other must run at the same time. The simulator's device has 132 multiprocessors, each with the shared
    /// memory, registers and threads of the target; a block that finds no place begins when another has ended. A barrier over
    /// more blocks than the device holds at once ends with this error, and so does a block that waits for a later one. Blocks begin in
    /// any order on a GPU: with `hx test --orders`, they do so here. A block that takes its part by a ticket,
    /// `atomic_add(ticket, one)`, waits only for blocks that have begun.
    DEADLOCK = "HX0620", "deadlock", Error, "a kernel hangs";

    /// A dimension of an argument is 2³¹ or more. Kernels count coordinates in 32 bits, so such a launch is refused; split
    /// the argument and launch once for each part.
    DIMENSION_TOO_LARGE = "HX0621", "dimension-too-large", Error, "a dimension of an argument is too large";

    /// A compile-time parameter without a default was not given, and the arguments of the launch do not fix it: only an
    /// element type or a whole dimension is inferred.
    UNINFERRED_PARAMETER = "HX0622", "uninferred-parameter", Error, "a compile-time parameter has no value";

    /// The GPU reported an error for this launch. The message names the error and its usual meaning.
    LAUNCH_FAILED = "HX0623", "launch-failed", Error, "the GPU reported an error";

    /// The file cannot be read as a `.safetensors` file, or it has no tensor of that name.
    MALFORMED_SAFETENSORS = "HX0624", "malformed-safetensors", Error, "a `.safetensors` file cannot be read";

    /// `hx.toml` cannot be read: it is not TOML, or it has an unknown key. Unknown keys are errors, so that a misspelled key
    /// is not ignored silently. `build.cache` names a folder in the project or in the user's cache folder, links followed: a
    /// project that was only opened writes nowhere else.
    BAD_PROJECT_FILE = "HX0625", "bad-project-file", Error, "`hx.toml` cannot be read";

    /// The GPU does not have enough free memory for the tensors of this launch.
    OUT_OF_MEMORY = "HX0626", "out-of-memory", Error, "the GPU's memory does not suffice";

    /// A file could not be read or written, for a reason other than a missing file.
    IO_ERROR = "HX0627", "io-error", Error, "a file cannot be read or written";

    /// The compiler broke one of its own rules. The program is not to blame. Please report it with the kernel.
    INTERNAL_ERROR = "HX0628", "internal-error", Error, "the compiler made an error";

    /// The vendor's library of matrix products, cuBLASLt, was not found. Only `cublas::gemm` needs it: a bench with this
    /// baseline runs without the comparison. hx looks for it at `HX_CUBLASLT`, beside the executable, in the user's data
    /// folder, in `CUDA_HOME`, on the loader's path, and in the Python environment on `PATH`.
    MISSING_CUBLAS = "HX0629", "missing-cublas", Error, "the matrix library was not found";

    /// A fact of a kernel's code is not known on this machine: `spills()` needs the machine code of the CUDA compiler, and
    /// there is no compiler. In an `assert` this is no failure: the assertion is skipped, and the report counts it with the
    /// reason.
    UNKNOWN_FACT = "HX0630", "unknown-fact", Error, "a fact of a kernel's code is not known";

    /// An entry of the kernel's `grid` is not a possible number of blocks in this launch: it is negative, or exceeds the
    /// limit of the hardware (2³¹ - 1 along the first axis, 65535 along the others). An entry of 0 is valid: nothing runs.
    BAD_GRID = "HX0631", "bad-grid", Error, "a launch has no such number of blocks";

    /// `hx.toml` names a library to load, but the user has not trusted the project, so the setting has no effect. A library
    /// runs code as soon as it is loaded, and an editor loads the CUDA compiler when a file is saved, so opening somebody
    /// else's project would run their code.
    ///
    /// `hx setup --trust PATH` allows a project and all below it, once and outside of the project, to bring the library of
    /// `build.nvrtc`, and a Python environment or programs of the project that `PATH` leads to. `hx setup --distrust PATH`
    /// revokes that. `--nvrtc` and `HX_NVRTC` need no trust, because the user sets them.
    UNTRUSTED_PROJECT = "HX0632", "untrusted-project", Warning, "a project that is not trusted names a library";

    /// The values of the host program would take more memory than `--memory` allows, which is 4 GiB by default. Tensors, strings,
    /// tuples and lists count together. Arithmetic on the host is done in 64 bits, so a tensor of `f16` takes four times its own
    /// bytes to compute with.
    ///
    /// One string has at most 16 MiB, and one tuple or list at most 262144 parts, those of nested ones included.
    MEMORY_LIMIT = "HX0633", "memory-limit", Error, "the memory limit was reached";

    /// The simulator saw an integer divided by 0. The quotient and the remainder are then 0, on the simulator and on the GPU,
    /// but a kernel rarely relies on that on purpose, so the simulator stops. A division that `where` does not choose does
    /// not count:
    ///
    /// ```hx
    /// kernel ratios(x: i32[n], y: i32[n], out: mut i32[n]) grid [cdiv(n, 128)] threads 128 {
    ///     let a = load(tile(x, [128])[.., block_idx]);
    ///     let b = load(tile(y, [128])[.., block_idx]);
    ///     copy(where(b == 0, 0, a / b), tile(out, [128])[.., block_idx]);
    /// }
    /// ```
    ///
    /// Elements beyond the end of a tensor count too: a tile holds 0 there, or the `pad:` of its view.
    DIVISION_BY_ZERO = "HX0634", "division-by-zero", Error, "a kernel divided an integer by 0";

    /// A number of the block overflowed 64 bits. Numbers with a type (parameters, `cast`, annotated `let`) wrap as the
    /// elements of tensors do; dimensions, block indices and loop counters are unbounded to the compiler, so the simulator
    /// stops where one would wrap.
    INTEGER_OVERFLOW = "HX0635", "integer-overflow", Error, "a number of the block overflowed";

    /// The kernel moves a tensor by bulk copies, and the device cannot describe a tensor of these sizes: a stride is no
    /// multiple of 16 bytes, or a dimension is too large. The message names the tensor, the number and the limit.
    BAD_TENSOR_MAP = "HX0636", "bad-tensor-map", Error, "a tensor of a launch cannot be moved by bulk copies";

    /// The kernel takes a tensor packed in row-major order, and the argument has gaps or another order. A launch from Python uses
    /// the caller's memory as it is. Pass `x.contiguous()`, or name the strides in the header, so that the kernel takes any:
    ///
    /// ```hx
    /// kernel scaled(x: f32[m, n] : [ld, 1], y: mut f32[m, n]) grid [cdiv(n, 128), m] threads 128 {
    ///     let [bn, row] = block_idx;
    ///     copy(2.0 * load(tile(x, [1, 128])[.., .., row, bn]), tile(y, [1, 128])[.., .., row, bn]);
    /// }
    /// ```
    LAUNCH_STRIDES = "HX0637", "launch-strides", Error, "an argument is not packed";

    /// A tensor of the launch has no memory that the kernel could use: its storage was freed or resized to 0, its first element is
    /// not at a multiple of the size of an element, or it is on another device than the other arguments.
    LAUNCH_MEMORY = "HX0638", "launch-memory", Error, "an argument's memory cannot be used";

    /// A kernel failed on the GPU, most often by an access outside of a tensor, and the driver then refuses everything in the same
    /// process: its CUDA context is lost, with all tensors in it. Start the process again. Launches do not wait for kernels, so the
    /// failure is noticed later; with `CUDA_LAUNCH_BLOCKING=1` each launch waits, and the message names the kernel that failed. The
    /// same call with NumPy arrays runs on the simulator, which names the place.
    CONTEXT_LOST = "HX0639", "context-lost", Error, "this process's CUDA context is lost";

    /// The assembler of the CUDA compiler made two machine codes of one text, with and without optimization, and they write other
    /// bits, although each repeats its own. `hx test --compare-levels` runs every launch of the tests with both. One of the two is
    /// wrong: the assembler's optimizer has a fault that this kernel meets, or the text relies on something that it must not. The
    /// simulator shows which one: `hx test --device sim`. A kernel whose results differ from run to run, such as one that adds floats
    /// atomically, is not compared, and a remark says so.
    LEVELS_DIFFER = "HX0640", "levels-differ", Error, "optimized and plain machine code write different results";

    /// The elements of a tensor lie in another order than the kernel reads them in. `pack` makes a tensor whose elements lie in blocks,
    /// and the tensor remembers the block. A parameter `w: T[n, k] : W` takes a tensor in blocks of the layout `W`; without `W` it takes one
    /// in row-major order. If `W` is `infer`, the compiler chooses the order, and `pack` with the kernel itself makes such a tensor:
    ///
    /// ```hx
    /// kernel widened<W: layout = infer>(w: u4[n, k] : W, y: mut f16[n, k]) where n % 64 == 0, k % 64 == 0 grid [n / 64] threads 128 {
    ///     for i in 0..k / 64 {
    ///         copy(cast(load(tile(w, [64, 64])[.., .., block_idx, i]), f16), tile(y, [64, 64])[.., .., block_idx, i]);
    ///     }
    /// }
    ///
    /// test "weights of 4 bits are widened" {
    ///     let w = uniform(u4, [128, 64], low: 0, high: 16, seed: 1);
    ///     let y = empty(f16, [128, 64]);
    ///     widened(pack(w, widened), y);
    ///     assert_eq(y, w);
    /// }
    /// ```
    OTHER_ORDER = "HX0641", "other-order", Error, "a tensor's elements lie in another order";

    /// A kernel calls a function that is PTX alone: `#[ptx("…")]` before it, and `;` in place of a body. Only a GPU knows its result, so
    /// the simulator cannot run the kernel. A body says the value that the PTX computes, and the simulator, proofs and results that are known
    /// at compile time take that value:
    ///
    /// ```hx
    /// #[ptx("rcp.approx.ftz.f32 {result}, {x};")]
    /// fn reciprocal(x: f32) -> f32 { 1.0 / x }
    /// ```
    NO_MEANING = "HX0642", "no-meaning", Error, "the simulator does not know the result of an instruction";
}
