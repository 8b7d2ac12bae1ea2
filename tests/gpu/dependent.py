"""Launches that overlap the ones before them: right results, and the time of a chain with and without the overlap.

    python3 tests/gpu/dependent.py build out/dependent --hx target/release/hx    # anywhere that has the CUDA compiler
    python3 tests/gpu/dependent.py run out/dependent                             # where the GPU is; PyTorch is not needed

The kernels are those of `tests/kernels_sm_90a/dependent.hx`. Each launch of `passed` adds 1 to what another block of the launch
before has written, so a chain of n launches makes n of every 0, unless a block reads too early. `passed_alone` has no wait: with
the attribute of the overlap it may read too early, which shows that the test can fail.
"""

import argparse
import ctypes
import subprocess
import sys
from pathlib import Path

from harness import Description, Driver, HarnessError, quantile

SOURCE = Path(__file__).resolve().parent.parent / "kernels_sm_90a" / "dependent.hx"
LAUNCHES = 64
NON_BLOCKING = 1


def build(folder, hx):
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("passed", "passed_alone"):
        for shift in (1, 3):
            out = folder / f"{name}{shift}.cubin"
            command = [hx, "build", SOURCE, "--kernel", name, "--set", f"SHIFT={shift}", "--target", "sm_90a", "-o", out]
            subprocess.run([str(part) for part in command], check=True)
    return 0


class Gpu:
    """The first device, through the driver alone."""

    def __init__(self):
        self.driver = Driver.get()
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        self.driver.check(name, getattr(self.driver.cuda, name)(*args))

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        return stream.value

    def event(self, stream):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        self.call("cuEventRecord", event, ctypes.c_void_p(stream))
        return event

    def elapsed(self, start, stop):
        ms = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(ms), start, stop)
        return ms.value * 1e3


class Numbers:
    """A tensor of 32-bit integers."""

    def __init__(self, gpu, count):
        self.gpu, self.shape, self.address = gpu, (count,), ctypes.c_uint64()
        gpu.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(4 * count))

    def stride(self):
        return (1,)

    def data_ptr(self):
        return self.address.value

    def fill(self, value):
        self.gpu.call("cuMemsetD32_v2", self.address, ctypes.c_uint(value), ctypes.c_size_t(self.shape[0]))

    def wrong(self, value):
        read = (ctypes.c_int32 * self.shape[0])()
        self.gpu.call("cuMemcpyDtoH_v2", read, self.address, ctypes.c_size_t(4 * self.shape[0]))
        return self.shape[0] - bytes_equal(read, value)

    def free(self):
        self.gpu.call("cuMemFree_v2", self.address)


def bytes_equal(read, value):
    """The number of elements that are `value`."""
    whole = bytes(ctypes.c_int32(value)) * len(read)
    return len(read) if bytes(read) == whole else sum(element == value for element in read)


class Chain:
    """Launches on `x` and `y` in turn, which end in `x`."""

    def __init__(self, gpu, folder, name, x, y, stream, overlaps=None):
        self.gpu, self.stream, self.steps = gpu, stream, []
        for shift, tensors in ((1, (x, y)), (3, (y, x))):
            description = Description.load(folder / f"{name}{shift}.json")
            function = gpu.driver.function(description.code.read_bytes(), description.symbol)
            env = description.bind(tensors)
            self.steps.append((function, description.grid(env), description.arguments(tensors, env)))
        self.threads, self.shared_bytes = description.data["threads"], description.data["shared_bytes"]
        self.overlaps = description.data["waits_for_previous"] if overlaps is None else overlaps

    def run(self):
        for at in range(LAUNCHES):
            function, grid, arguments = self.steps[at % 2]
            self.gpu.driver.launch(
                function, grid, self.threads, self.shared_bytes, self.stream, arguments, self.overlaps
            )


def check(gpu, folder, rounds):
    failed = False
    for title, stream in (("the default stream", None), ("a stream", gpu.stream())):
        for m in (1 << 10, 1 << 17, 1 << 24):
            x, y = Numbers(gpu, m), Numbers(gpu, m)
            counts = []
            for name, overlaps in (("passed", None), ("passed_alone", False), ("passed_alone", True)):
                chain, count = Chain(gpu, folder, name, x, y, stream, overlaps), 0
                for _ in range(rounds):
                    x.fill(0)
                    y.fill(0x7FFFFFFF)
                    gpu.call("cuCtxSynchronize")
                    chain.run()
                    gpu.call("cuCtxSynchronize")
                    count += x.wrong(LAUNCHES)
                counts.append(count)
            failed |= counts[0] > 0 or counts[1] > 0
            print(f"{title}, {m} elements: {counts[0]} wrong with the wait, {counts[1]} launched alone, "
                  f"{counts[2]} with the overlap and without the wait")
            x.free()
            y.free()
    print("WRONG" if failed else "all right")
    return failed


def measure(gpu, folder, repeats):
    for title, stream in (("the default stream", None), ("a stream", gpu.stream())):
        for m in (1 << 14, 1 << 20, 1 << 24):
            x, y = Numbers(gpu, m), Numbers(gpu, m)
            contenders = {
                "overlap": Chain(gpu, folder, "passed", x, y, stream),
                "the same code, launched alone": Chain(gpu, folder, "passed", x, y, stream, False),
                "no wait, launched alone": Chain(gpu, folder, "passed_alone", x, y, stream),
            }
            x.fill(0)
            y.fill(0)
            events = {name: [] for name in contenders}
            for at in range(repeats + 10):
                for name, chain in contenders.items():
                    # The host is ahead of the GPU: the chain is enqueued while the one before runs.
                    start = gpu.event(stream)
                    chain.run()
                    pair = (start, gpu.event(stream))
                    if at >= 10:
                        events[name].append(pair)
            gpu.call("cuCtxSynchronize")
            for name, pairs in events.items():
                samples = [gpu.elapsed(*pair) / LAUNCHES for pair in pairs]
                low, mid, high = (quantile(samples, q) for q in (0.2, 0.5, 0.8))
                print(f"{title}, {m} elements, {name}: {mid:.3f} us a launch ({low:.3f} to {high:.3f})")
            x.free()
            y.free()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hx", default="hx")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=100)
    args = parser.parse_args()
    try:
        if args.what == "build":
            return build(args.folder, args.hx)
        gpu = Gpu()
        failed = check(gpu, args.folder, args.rounds)
        measure(gpu, args.folder, args.repeats)
        return 1 if failed else 0
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
