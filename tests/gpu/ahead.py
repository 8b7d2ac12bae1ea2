#!/usr/bin/env python3
"""Calls launchers that `hx build --emit c` wrote, by ctypes on PyTorch tensors, and compares their results.

    python3 tests/gpu/ahead.py build out/ahead --hx target/release/hx    # anywhere that has the CUDA compiler
    python3 tests/gpu/ahead.py run out/ahead                             # where PyTorch, a C compiler and the GPU are

`build` writes a header and a source for each launcher. `run` compiles each source into a shared library with warnings as errors, as C
and as C++, and needs neither hx nor the CUDA toolkit. Outputs hold NaN before a launch, and lie in memory whose other elements must
not change. Each case prints one line; the exit code is 1 if a case fails. The last cases are arguments that must be refused,
threads, streams, a captured graph, and the programs of `book/examples/c`.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import shutil
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Name of the files, then what `hx build` gets.
LAUNCHERS = {
    "matmul": ["std/matmul.hx", "--kernel", "matmul", "--facts", "k%16"],
    "gemm": [
        "std/gemm.hx",
        "--kernel",
        "gemm",
        "--facts",
        "k%8,n%8,a0%8,b0%8,c0%8,a1=1,b1=1",
    ],
    "elementwise": ["std/elementwise.hx", "--set", "T=f32", "--facts", "none"],
    "clusters": ["tests/kernels_sm_90a/clusters.hx", "--kernel", "shared_tile", "--facts", "m%4"],
    "dependent": ["tests/kernels_sm_90a/dependent.hx", "--kernel", "passed"],
    "scale": ["book/examples/scale.hx", "--facts", "none"],
}

OK, DIMENSION, FACT, REQUIREMENT, POINTER, GRID, TENSOR_MAP, DRIVER, NO_CONTEXT, ARCHITECTURE, CUDA = range(11)

_C_TYPES = {
    "const void *": ctypes.c_void_p,
    "void *": ctypes.c_void_p,
    "int64_t ": ctypes.c_int64,
    "int32_t ": ctypes.c_int32,
    "float ": ctypes.c_float,
    "double ": ctypes.c_double,
}


class Failed(Exception):
    """A case that is not as expected."""


# ---------------------------------------------------------------------------------------------------- build


def build(args):
    out = Path(args.folder)
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, arguments in LAUNCHERS.items():
        command = [str(Path(args.hx).resolve()), "build", *arguments, "--target", args.target, "--emit", "c"]
        command += ["-o", str((out / name).resolve())]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        failed += done.returncode != 0
        print(done.stderr.strip() if done.returncode == 0 else f"FAILED: {' '.join(command)}\n{done.stderr.strip()}")
    for name in ("main.c", "main.cpp", "driver.h"):
        shutil.copy(ROOT / "book/examples/c" / name, out / name)
    return 1 if failed else 0


# ---------------------------------------------------------------------------------------------------- launchers


class Launcher:
    """A compiled launcher: its functions take arguments by the names of the header."""

    def __init__(self, folder, name, compiler, flags, suffix):
        self.name = name
        library = folder / f"lib{name}{suffix}.so"
        command = [compiler, *flags, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library)]
        command += [str(folder / f"{name}.c"), "-x", "none", "-ldl", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}\n{done.stderr}")
        self.binary = ctypes.CDLL(str(library.resolve()))
        self.message = getattr(self.binary, f"hx_{name}_error")
        self.message.restype = ctypes.c_char_p
        self.message.argtypes = []
        self.load = getattr(self.binary, f"hx_{name}_load")
        header = (folder / f"{name}.h").read_text()
        self.functions = {}
        for function, parameters in re.findall(r"^enum hx_status (\w+)\(([^)]*)\);", header, re.MULTILINE):
            if parameters.strip() == "void":
                continue
            found = re.findall(r"(const void \*|void \*|\w+ )(\w+)", " ".join(parameters.split()))
            call = getattr(self.binary, function)
            call.argtypes = [_C_TYPES[kind] for kind, _ in found]
            self.functions[function] = (call, [name for _, name in found])

    def status(self, function=None, **arguments):
        """Launches, and returns the status. Tensors become pointers; `stream` is PyTorch's if it is left out."""
        import torch

        call, names = self.functions[function or f"hx_{self.name}"]
        arguments.setdefault("stream", torch.cuda.current_stream().cuda_stream or None)
        if set(arguments) != set(names):
            raise Failed(f"the header has {names}, the case has {sorted(arguments)}")
        values = [arguments[name] for name in names]
        return call(*(v.data_ptr() or None if isinstance(v, torch.Tensor) else v for v in values))

    def __call__(self, function=None, **arguments):
        status = self.status(function, **arguments)
        if status != OK:
            raise Failed(f"status {status}: {self.text()}")

    def refuses(self, status, words, function=None, **arguments):
        found = self.status(function, **arguments)
        if found != status or words not in self.text():
            raise Failed(f"expected {status} with `{words}`, found {found}: {self.text()}")

    def text(self):
        return (self.message() or b"").decode()


# ---------------------------------------------------------------------------------------------------- tensors

GUARD = 4096


class Output:
    """A tensor of NaN in the middle of memory that must not change."""

    def __init__(self, shape, dtype, columns=None):
        import torch

        self.shape = shape
        self.columns = columns or shape[-1]
        rows = 1
        for extent in shape[:-1]:
            rows *= extent
        self.elements = rows * self.columns
        self.memory = torch.full((self.elements + 2 * GUARD,), float("nan"), dtype=dtype, device="cuda")
        self.inside = self.memory[GUARD : GUARD + self.elements].view(*shape[:-1], self.columns)
        self.tensor = self.inside[..., : shape[-1]]

    def check(self, reference, tolerance):
        import torch

        torch.cuda.synchronize()
        outside = [self.memory[:GUARD], self.memory[GUARD + self.elements :], self.inside[..., self.shape[-1] :]]
        if not all(bool(torch.isnan(part).all()) for part in outside):
            raise Failed("the kernel wrote outside of its output")
        found, wanted = self.tensor.double(), reference.double()
        gap = (found - wanted).abs()
        if gap.numel() == 0:
            return "empty"
        scale = wanted.abs() + torch.sqrt((wanted**2).mean())
        ratio = torch.where(scale > 0, gap / scale, gap).nan_to_num(nan=float("inf"))
        worst = ratio.max().item()
        if not worst <= tolerance:
            raise Failed(f"the largest difference is {worst:.3e}, expected at most {tolerance:g}")
        return f"largest difference {worst:.1e}"


def normal(shape, dtype, seed):
    import torch

    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)


# ---------------------------------------------------------------------------------------------------- cases


def matmul(launcher, m, n, k):
    import torch

    a, b = normal((m, k), torch.float16, 1), normal((n, k), torch.float16, 2)
    c = Output((m, n), torch.float16)
    launcher(a=a, b=b, c=c.tensor, m=m, n=n, k=k)
    return c.check(a.double() @ b.double().T, 2e-3)


def gemm_arguments(m, n, k, spare):
    import torch

    a, b = normal((m, k + spare), torch.bfloat16, 3), normal((n, k), torch.bfloat16, 4)
    c = Output((m, n), torch.bfloat16, n + spare)
    arguments = {"a": a, "b": b, "c": c.tensor, "m": m, "n": n, "k": k}
    arguments.update(a0=k + spare, a1=1, b0=max(k, 8), b1=1, c0=n + spare)
    return a[:, :k], b, c, arguments


def gemm(launcher, m, n, k, spare=0):
    a, b, c, arguments = gemm_arguments(m, n, k, spare)
    launcher(**arguments)
    return c.check(a.double() @ b.double().T, 1.6e-2)


def elementwise(launcher, n):
    import torch

    x, y = normal((n,), torch.float32, 5), normal((n,), torch.float32, 6)
    z = Output((n,), torch.float32)
    launcher("hx_elementwise_add", x=x, y=y, z=z.tensor, n=n)
    text = z.check(x + y, 0.0)
    r = Output((n,), torch.float32)
    launcher("hx_elementwise_relu", x=x, y=r.tensor, n=n)
    r.check(torch.relu(x), 0.0)
    g = Output((n,), torch.float32)
    launcher("hx_elementwise_gelu", x=x, y=g.tensor, n=n)
    g.check(torch.nn.functional.gelu(x.double()), 1e-5)
    return text


def clusters(launcher, m):
    import torch

    x = normal((m,), torch.float32, 7)
    y = Output((2, m), torch.float32)
    launcher(x=x, y=y.tensor, m=m)
    return y.check(torch.stack([x, 2 * x]), 0.0)


def dependent(launcher, m):
    """A chain of launches that may overlap: each adds 1 to what another block of the launch before has written."""
    import torch

    x = torch.zeros(m, dtype=torch.int32, device="cuda")
    y = torch.zeros_like(x)
    torch.cuda.synchronize()
    for _ in range(50):
        launcher(x=x, y=y, m=m)
        launcher(x=y, y=x, m=m)
    torch.cuda.synchronize()
    if not bool((x == 100).all()):
        raise Failed(f"expected 100 everywhere, found {x.unique().tolist()[:5]}")
    return "100 launches"


def refusals(launchers):
    import torch

    a, b, c, good = gemm_arguments(200, 136, 72, 0)
    launcher = launchers["gemm"]
    before = c.memory.clone()
    launcher.refuses(DIMENSION, "`m` is -1", **{**good, "m": -1})
    launcher.refuses(DIMENSION, "`n` is 4294967296", **{**good, "n": 1 << 32})
    launcher.refuses(DIMENSION, "elements of `c` share memory", **{**good, "c0": 128})
    launcher.refuses(FACT, "`k` is 71", **{**good, "k": 71})
    launcher.refuses(FACT, "`a1` is 2", **{**good, "a1": 2})
    launcher.refuses(POINTER, "`a` is ", **{**good, "a": a.data_ptr() + 2})
    launcher.refuses(POINTER, "`b` is a null pointer", **{**good, "b": None})
    x = normal((4096,), torch.float32, 1)
    together = {"x": x, "y": x[1024:], "n": 2048}
    launchers["elementwise"].refuses(POINTER, "share memory", "hx_elementwise_relu", **together)
    launchers["matmul"].refuses(FACT, "`k` is 8", a=a, b=b, c=c.tensor, m=16, n=16, k=8)
    launchers["dependent"].refuses(REQUIREMENT, "m % B == 0", x=x, y=x[2048:], m=1040)
    launcher(**{**good, "m": 0})
    torch.cuda.synchronize()
    if not torch.equal(before.view(torch.int16), c.memory.view(torch.int16)):
        raise Failed("a refused launch wrote something")
    launcher(**good)
    return c.check(a.double() @ b.double().T, 1.6e-2)


def in_threads(launcher):
    """A thread without a context is refused; one with a context launches on a stream of its own."""
    import torch

    outputs, problems = [], []
    a, b, _, good = gemm_arguments(512, 256, 128, 0)
    address = {name: v.data_ptr() if isinstance(v, torch.Tensor) else v for name, v in good.items()}
    call, names = launcher.functions["hx_gemm"]

    def without():
        status = call(*(address.get(name) for name in names))
        if status != NO_CONTEXT:
            problems.append(f"expected {NO_CONTEXT} without a context, found {status}: {launcher.text()}")

    def launch(seed):
        try:
            torch.cuda.set_device(torch.cuda.current_device())
            torch.zeros(1, device="cuda")
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                c = Output((512, 256), torch.bfloat16)
                stream.synchronize()
                for _ in range(100):
                    launcher(**{**good, "c": c.tensor})
                stream.synchronize()
            outputs.append(c)
        except Exception as error:  # noqa: BLE001: every problem of a thread is reported by the main one
            problems.append(f"thread {seed}: {error}")

    torch.cuda.synchronize()
    lonely = threading.Thread(target=without)
    lonely.start()
    lonely.join()
    threads = [threading.Thread(target=launch, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise Failed("; ".join(problems))
    return [c.check(a.double() @ b.double().T, 1.6e-2) for c in outputs][0]


def graph(launcher):
    import torch

    a, b, c, good = gemm_arguments(512, 256, 128, 8)
    if launcher.load() != OK:
        raise Failed(launcher.text())
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        launcher(**good)
    if not bool(torch.isnan(c.memory).all()):
        raise Failed("the capture already ran the kernel")
    captured.replay()
    return c.check(a.double() @ b.double().T, 1.6e-2)


def overhead(launcher):
    """The time that the host needs for a launch; it is printed, not judged."""
    import torch

    a, b, c, good = gemm_arguments(128, 256, 64, 0)
    call, names = launcher.functions["hx_gemm"]
    good["stream"] = torch.cuda.current_stream().cuda_stream or None
    values = [v.data_ptr() if isinstance(v, torch.Tensor) else v for v in (good[name] for name in names)]
    times = []
    for _ in range(20):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(100):
            call(*values)
        times.append((time.perf_counter() - begin) / 100 * 1e6)
    text = c.check(a.double() @ b.double().T, 1.6e-2)
    return f"{min(times):.1f} µs of the host for each launch through ctypes; {text}"


def program(folder, source, compiler, flags, elements):
    binary = folder / f"scale_{source.replace('.', '_')}"
    launcher_object = folder / "scale.o"
    cc = ["gcc", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c", str(folder / "scale.c")]
    link = [compiler, *flags, "-Wall", "-Wextra", "-Werror", str(folder / source), str(launcher_object)]
    link += ["-o", str(binary), loaded_driver(), "-ldl", "-lpthread"]
    for command in ([*cc, "-o", str(launcher_object)], link, [str(binary)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    if f"{elements} elements are right" not in done.stdout:
        raise Failed(done.stdout)
    return done.stdout.strip()


def loaded_driver():
    """The path of the CUDA driver that PyTorch has loaded into this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if re.search(r"/libcuda\.so[.\d]*$", path):
            return path
    raise Failed("PyTorch has loaded no libcuda.so")


def with_cmake(folder, hx, target):
    """Builds the project of the book, which runs `hx build` itself."""
    if hx is None or shutil.which("cmake") is None:
        return "skipped: it needs --hx and cmake"
    build_folder = folder / "cmake"
    shutil.rmtree(build_folder, ignore_errors=True)
    configure = ["cmake", "-S", str(ROOT / "book/examples/c"), "-B", str(build_folder)]
    configure += [f"-DHX={Path(hx).resolve()}", f"-DHX_TARGET={target}", f"-DCUDA_DRIVER={loaded_driver()}"]
    programs = [[str(build_folder / name)] for name in ("scale_c", "scale_cpp")]
    for command in (configure, ["cmake", "--build", str(build_folder)], *programs):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return "built, and both programs ran"


def run(args):
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU", file=sys.stderr)
        return 3
    if args.hx and build(args) != 0:
        return 1
    folder = Path(args.folder).resolve()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    failed = 0

    def case(name, work, *arguments, **named):
        nonlocal failed
        try:
            print(f"ok      {name}: {work(*arguments, **named)}")
        except Exception as error:  # noqa: BLE001: a case must not stop the others
            failed += 1
            print(f"FAILED  {name}: {error}")
            if not isinstance(error, Failed):
                traceback.print_exc(file=sys.stdout)

    launchers = {}
    for suffix, compiler, flags in (
        ("", "gcc", ["-std=c11", "-pedantic"]),
        ("_cpp", "g++", ["-x", "c++", "-std=c++17"]),
    ):
        for name in LAUNCHERS:
            try:
                launchers[name + suffix] = Launcher(folder, name, compiler, flags, suffix)
            except Exception as error:  # noqa: BLE001: the other launchers are of use without this one
                failed += 1
                print(f"FAILED  compiling {name} with {compiler}: {error}")
    for suffix in ("", "_cpp"):
        mine = {name: launchers.get(name + suffix) for name in LAUNCHERS}
        if None in mine.values():
            continue
        for m, n, k in ((64, 64, 16), (100, 72, 48), (1, 1, 16), (1000, 333, 4096)):
            case(f"matmul{suffix} {m}x{n}x{k}", matmul, mine["matmul"], m, n, k)
        for m, n, k in ((128, 256, 64), (1, 8, 8), (200, 136, 72), (1111, 2056, 1032), (4096, 4096, 4096)):
            case(f"gemm{suffix} {m}x{n}x{k}", gemm, mine["gemm"], m, n, k)
        case(f"gemm{suffix} with gaps between rows", gemm, mine["gemm"], 300, 264, 136, spare=24)
        case(f"gemm{suffix} without a k", gemm, mine["gemm"], 200, 136, 0)
        for n in (2048, 5000, 31, 1, 0, 1 << 22):
            case(f"elementwise{suffix} {n}", elementwise, mine["elementwise"], n)
        for m in (4, 256, 1000):
            case(f"clusters{suffix} {m}", clusters, mine["clusters"], m)
        case(f"dependent{suffix}", dependent, mine["dependent"], 1 << 20)
        case(f"refusals{suffix}", refusals, mine)
        case(f"threads{suffix}", in_threads, mine["gemm"])
        case(f"graph{suffix}", graph, mine["gemm"])
        case(f"overhead{suffix}", overhead, mine["gemm"])
    case("program in C", program, folder, "main.c", "gcc", ["-std=c11", "-pedantic"], 3300)
    case("program in C++", program, folder, "main.cpp", "g++", ["-std=c++17"], 7)
    case("project with CMake", with_cmake, folder, args.hx, args.target)
    print(f"{failed} failed" if failed else "all good")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description="Calls launchers that `hx build --emit c` wrote.")
    verbs = parser.add_subparsers(required=True)
    for name, work in (("build", build), ("run", run)):
        verb = verbs.add_parser(name)
        verb.add_argument("folder")
        verb.add_argument("--hx", required=name == "build", help="the command; `run` builds with it first")
        verb.add_argument("--target", default="sm_90a")
        verb.set_defaults(work=work)
    args = parser.parse_args()
    return args.work(args)


if __name__ == "__main__":
    sys.exit(main())
