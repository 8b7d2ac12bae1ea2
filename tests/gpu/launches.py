"""The host's time of a launch from Python: hx beside Triton, cuda-python and PyTorch, on small tensors.

    python3 tests/gpu/launches.py

Every call writes z = x + y for three contiguous tensors. The times are medians over rounds of the loop's time for a call; the GPU is
idle at the start of each round, and a round is short enough for the queue of the driver.
"""

import itertools
import statistics
import time

import hx
import torch

N, CALLS, ROUNDS = 1024, 300, 60

ADD = """\
kernel add(x: f32[n], y: f32[n], z: mut f32[n]) grid [cdiv(n, 1024)] threads 128 {
    copy(load(tile(x, [1024])[.., block_idx]) + load(tile(y, [1024])[.., block_idx]), tile(z, [1024])[.., block_idx]);
}
"""

SHIFTED = """\
kernel shifted(x: f32[n], y: f32[n], z: mut f32[n], by: i32) grid [cdiv(n, 1024)] threads 128 {
    let sum = load(tile(x, [1024])[.., block_idx]) + load(tile(y, [1024])[.., block_idx]);
    copy(sum + cast(by - by, f32), tile(z, [1024])[.., block_idx]);
}
"""

#: More lengths than a kernel keeps results for, all with one plan.
LENGTHS = range(16, 16 * 1500, 16)


def timed(call):
    for _ in range(CALLS):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times), min(times)


def triton_call(x, y, z):
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, z, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = at < n
        tl.store(z + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)

    return lambda: add[(1,)](x, y, z, N, BLOCK=1024)


def cuda_python_call(x, y, z):
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, Stream, launch

    device = Device()
    device.set_current()
    text = """extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) z[i] = x[i] + y[i]; }"""
    major, minor = device.compute_capability
    code = Program(text, "c++", ProgramOptions(arch=f"sm_{major}{minor}")).compile("cubin")
    kernel = code.get_kernel("add")
    config = LaunchConfig(grid=1, block=128)
    import ctypes

    stream = Stream.from_handle(torch.cuda.current_stream().cuda_stream)

    def call():
        launch(stream, config, kernel, x.data_ptr(), y.data_ptr(), z.data_ptr(), ctypes.c_int(N))

    return call


def with_new_numbers(kernel, x, y, z):
    numbers = itertools.count()
    return lambda: kernel(x, y, z, next(numbers))


def in_turns(kernel, x, y, z):
    """Calls of ever other lengths; the last tensors are whole."""
    long = [torch.randn(LENGTHS[-1], device="cuda") for _ in range(3)]
    slices = itertools.cycle([tuple(tensor[:length] for tensor in long) for length in LENGTHS] + [(x, y, z)])
    return lambda: kernel(*next(slices))


def after_a_compile(kernel, x, y, z):
    """Each call follows the loading of another module, which costs most of the time."""
    texts = itertools.count()

    def call():
        hx.compile(ADD, f"other{next(texts) % 8}.hx")
        kernel(x, y, z)

    return call


def main():
    x, y = torch.randn(N, device="cuda"), torch.randn(N, device="cuda")
    z = torch.empty_like(x)
    add = hx.compile(ADD).add
    a, b = (torch.randn(128, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty(128, 128, device="cuda", dtype=torch.bfloat16)
    gemm = hx.std.gemm.gemm
    sums, products = (z, lambda: torch.equal(z, x + y)), (c, lambda: (c - a @ b.T).abs().max() < 0.5)
    # The tensor that the call writes, the check of it, and a function that makes the call.
    works = {
        "hx": (sums, lambda: lambda: add(x, y, z)),
        "hx, by name": (sums, lambda: lambda: add(x=x, y=y, z=z)),
        "hx, a new whole number": (sums, lambda: with_new_numbers(hx.compile(SHIFTED).shifted, x, y, z)),
        "hx, 1500 lengths in turns": (sums, lambda: in_turns(add, x, y, z)),
        "hx, after another hx.compile": (sums, lambda: after_a_compile(add, x, y, z)),
        "hx, a compile-time argument": (products, lambda: lambda: gemm(a, b, c, STAGES=3)),
        "hx, two tensor maps": (products, lambda: lambda: gemm(a, b, c)),
        "Triton": (sums, lambda: triton_call(x, y, z)),
        "cuda-python (cuda.core)": (sums, lambda: cuda_python_call(x, y, z)),
        "torch.add(out=)": (sums, lambda: lambda: torch.add(x, y, out=z)),
    }
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    is_right = True
    for name, ((written, check), make) in works.items():
        try:
            call = make()
            written.fill_(float("nan"))
            median, least = timed(call)
        except ImportError as error:
            print(f"{name:32} not measured: {error}")
            continue
        fine = bool(check())
        is_right &= fine
        print(f"{name:32} {median:6.2f} us, least {least:6.2f} us{'' if fine else '  WRONG RESULT'}")
    raise SystemExit(0 if is_right else 1)


if __name__ == "__main__":
    main()
