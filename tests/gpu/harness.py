#!/usr/bin/env python3
"""Runs kernels that `hx build` made beside PyTorch's, on the same tensors and in one run.

A kernel is a file of code (`.cubin` or `.ptx`) and a description of its launch (`.json`). The code is loaded with the
CUDA driver through `ctypes`, so that PyTorch is the only thing needed besides. Everything is timed with CUDA events, the
contenders in turn, each run after the L2 cache was emptied. See README.md in this folder.
"""

from __future__ import annotations

import argparse
import ast
import ctypes
import json
import math
import statistics
import sys
from pathlib import Path

FORMAT = 1
SHARED_WITHOUT_ASKING = 48 << 10
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
FLUSH_BYTES = 256 << 20


class HarnessError(Exception):
    """Something that the user can put right."""


# ------------------------------------------------------------------------------------------------- expressions

_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.BitAnd: lambda a, b: a & b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
}


def evaluate(text, env):
    """The value of an integer expression or condition of a description."""

    def value(node):
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, bool)):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in env:
                raise HarnessError(f"`{node.id}` has no value, which `{text}` needs")
            return env[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
            return _OPERATORS[type(node.ops[0])](value(node.left), value(node.comparators[0]))
        if isinstance(node, ast.BoolOp):
            parts = (value(part) for part in node.values)
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            return {"min": min, "max": max}[node.func.id](*map(value, node.args))
        raise HarnessError(f"`{text}` is no expression of a launch")

    return value(ast.parse(text, mode="eval"))


# ------------------------------------------------------------------------------------------------- descriptions


class Description:
    """The launch of a kernel, as `hx build` describes it."""

    def __init__(self, data, folder=Path(".")):
        if data.get("format") != FORMAT:
            raise HarnessError(f"the description has format {data.get('format')}, this harness reads {FORMAT}")
        self.data = data
        self.name = data["kernel"]
        self.symbol = data["symbol"]
        self.params = data["params"]
        self.code = Path(folder) / data["code"]
        self.tensors = [p for p in self.params if p["kind"] == "tensor"]
        self.scalars = [p for p in self.params if p["kind"] == "scalar"]
        self.symbols = [p["name"] for p in self.params if p["kind"] == "symbol"]

    @staticmethod
    def load(path):
        path = Path(path)
        try:
            return Description(json.loads(path.read_text()), path.parent)
        except (OSError, json.JSONDecodeError, KeyError) as error:
            raise HarnessError(f"cannot read `{path}`: {error}") from error

    def bind(self, tensors, scalars=None):
        """The values of all names, from the tensors' shapes and strides and the scalars given.

        A launch that the kernel is not made for is refused with the reason.
        """
        if len(tensors) != len(self.tensors):
            names = ", ".join(p["name"] for p in self.tensors)
            raise HarnessError(f"`{self.name}` takes {len(self.tensors)} tensors ({names}), got {len(tensors)}")
        env = dict(scalars or {})
        if "multiprocessors" in self.symbols:
            env["multiprocessors"] = multiprocessors()
        for param, tensor in zip(self.tensors, tensors):
            self._bind_dims(param, "dimension", param["shape"], tuple(tensor.shape), env)
        for param, tensor in zip(self.tensors, tensors):
            # An extent of 1 has no stride to speak of.
            strides = [s if n > 1 else None for s, n in zip(tensor.stride(), tensor.shape)]
            self._bind_dims(param, "stride", param["stride"], strides, env)
        # A stride that nothing uses keeps every fact as a multiple of 16.
        for text in (text for param in self.tensors for text in param["stride"] if text in self.symbols):
            env.setdefault(text, 16)
        missing = [p["name"] for p in self.scalars if p["name"] not in env]
        if missing:
            raise HarnessError(f"`{self.name}` needs a value for {', '.join(missing)}")
        self._check(tensors, env)
        return env

    def _bind_dims(self, param, what, texts, values, env):
        name = param["name"]
        if len(texts) != len(values):
            raise HarnessError(f"`{name}` has rank {len(texts)}, got a tensor of rank {len(values)}")
        for axis, (text, found) in enumerate(zip(texts, values)):
            if text in self.symbols and text not in env:
                if found is not None:
                    env[text] = int(found)
                continue
            if found is not None and evaluate(text, env) != found:
                wanted = evaluate(text, env)
                raise HarnessError(f"{what} {axis} of `{name}` is {found}, and must be `{text}`, which is {wanted}")

    def _check(self, tensors, env):
        for condition in self.data["requires"]:
            if not evaluate(condition["python"], env):
                raise HarnessError(f"`{condition['text']}` does not hold ({condition['python']}) with {env}")
        for name, divisor in self.data["facts"]["dims"].items():
            if env.get(name, 0) % divisor != 0:
                raise HarnessError(f"the kernel was built for `{name} % {divisor} == 0`, and {name} is {env[name]}")
        for param, tensor in zip(self.tensors, tensors):
            if tensor.data_ptr() % param["align"] != 0:
                raise HarnessError(f"`{param['name']}` must be aligned to {param['align']} bytes")

    def grid(self, env):
        return [int(evaluate(text, env)) for text in self.data["grid"]]

    def arguments(self, tensors, env):
        """The kernel's arguments as C values, in order."""
        pointers = iter(tensors)
        out = []
        for param in self.params:
            if param["kind"] == "tensor":
                out.append(ctypes.c_uint64(next(pointers).data_ptr()))
            elif param["kind"] == "symbol":
                out.append(ctypes.c_int32(env[param["name"]]))
            elif param["kind"] == "tensor_map":
                out.append(self._tensor_map(param, tensors, env))
            elif param["kind"] == "log":
                out.append(ctypes.c_uint64(log_address(param["bytes"])))
            else:
                out.append(c_scalar(param["dtype"], env[param["name"]]))
        return out


    def _tensor_map(self, param, tensors, env):
        """The 128 bytes that the driver encodes for a tensor, which bulk copies address."""
        address = next(t.data_ptr() for p, t in zip(self.tensors, tensors) if p["name"] == param["param"])
        dims = [int(evaluate(text, env)) for text in param["dims"]]
        strides = [int(evaluate(text, env)) for text in param["strides"]]
        if 0 in dims:
            raise HarnessError(f"`{param['param']}` is empty, and the driver has no tensor maps of empty tensors")
        return Driver.get().tensor_map(param, address, dims, strides)


def multiprocessors():
    """The multiprocessors of the device."""
    import torch

    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count


_LOGS = []


def log_address(size):
    """Memory for what a kernel prints and asserts, which nobody reads here. It is never given back."""
    import torch

    _LOGS.append(torch.zeros(size, dtype=torch.uint8, device="cuda"))
    return _LOGS[-1].data_ptr()


_C_TYPES = {
    "bool": ctypes.c_uint8,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


def c_scalar(dtype, value):
    if dtype in _C_TYPES:
        return _C_TYPES[dtype](value)
    if dtype in ("f16", "bf16"):
        import torch

        bits = torch.tensor(value, dtype=torch_dtype(dtype)).view(torch.int16).item()
        return ctypes.c_int16(bits)
    raise HarnessError(f"scalars of type {dtype} cannot be passed")


def torch_dtype(dtype):
    import torch

    names = {
        "bool": "bool",
        "i8": "int8",
        "i16": "int16",
        "i32": "int32",
        "i64": "int64",
        "u8": "uint8",
        "f16": "float16",
        "bf16": "bfloat16",
        "f32": "float32",
        "f64": "float64",
        "f8e4m3": "float8_e4m3fn",
        "f8e5m2": "float8_e5m2",
    }
    if dtype not in names:
        raise HarnessError(f"PyTorch has no type for {dtype}")
    return getattr(torch, names[dtype])


_MAP_ELEMENTS = {"i32": 3, "i64": 5, "f16": 6, "f32": 7, "tf32": 7, "f64": 8, "bf16": 9}
_MAP_ELEMENTS_BY_BYTES = {1: 0, 2: 1, 4: 2, 8: 4}


def map_element(dtype):
    """The `CUtensorMapDataType` of an element type; types that the driver does not know are moved as integers."""
    if dtype in _MAP_ELEMENTS:
        return _MAP_ELEMENTS[dtype]
    sizes = {"bool": 1, "f8e4m3": 1, "f8e5m2": 1}
    size = sizes.get(dtype) or int("".join(filter(str.isdigit, dtype))) // 8
    if size not in _MAP_ELEMENTS_BY_BYTES:
        raise HarnessError(f"bulk copies have no elements of type {dtype}")
    return _MAP_ELEMENTS_BY_BYTES[size]


# ------------------------------------------------------------------------------------------------- the driver


class LaunchAttribute(ctypes.Structure):
    """`CUlaunchAttribute`; of its values only a number is used."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class LaunchConfig(ctypes.Structure):
    """`CUlaunchConfig`."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    ]


PROGRAMMATIC_STREAM_SERIALIZATION = 6


class Driver:
    """The few functions of the CUDA driver that loading and launching need."""

    _instance = None

    @classmethod
    def get(cls):
        if cls._instance is None:
            cls._instance = Driver()
        return cls._instance

    def __init__(self):
        for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
            try:
                self.cuda = ctypes.CDLL(name)
                break
            except OSError:
                continue
        else:
            raise HarnessError("the CUDA driver was not found")

    def check(self, during, status):
        if status != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            reason = text.value.decode() if text.value else f"status {status}"
            raise HarnessError(f"{during} failed: {reason}")

    def function(self, code, symbol):
        # PTX has to end with a zero; machine code has its length in it.
        buffer = ctypes.create_string_buffer(code + b"\0")
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check("loading the kernel", self.cuda.cuModuleLoadData(ctypes.byref(module), buffer))
        status = self.cuda.cuModuleGetFunction(ctypes.byref(function), module, symbol.encode())
        self.check(f"finding `{symbol}`", status)
        return function

    def allow_shared(self, function, shared_bytes):
        if shared_bytes > SHARED_WITHOUT_ASKING:
            status = self.cuda.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
            self.check("asking for shared memory", status)

    def tensor_map(self, param, address, dims, strides):
        """Encodes a tensor map, as the kernel takes it by value."""
        rank = param["rank"]
        space = ctypes.create_string_buffer(128 + 64)
        start = -ctypes.addressof(space) % 64
        encoded = (ctypes.c_byte * 128).from_buffer(space, start)
        status = self.cuda.cuTensorMapEncodeTiled(
            ctypes.byref(encoded),
            map_element(param["element"]),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*dims),
            (ctypes.c_uint64 * rank)(*strides),
            (ctypes.c_uint32 * rank)(*param["box"]),
            (ctypes.c_uint32 * rank)(*[1] * rank),
            0,  # CU_TENSOR_MAP_INTERLEAVE_NONE
            {0: 0, 32: 1, 64: 2, 128: 3}[param["swizzle"]],
            {0: 0, 64: 1, 128: 2, 256: 3}[param["l2"]],
            {"zero": 0, "nan": 1}[param["fill"]],
        )
        self.check(f"encoding the tensor map of `{param['param']}` ({dims} : {strides} B)", status)
        return encoded

    def launch(self, function, grid, threads, shared_bytes, stream, arguments, overlaps=False):
        """Launches a kernel; with `overlaps` it may start before the launches before it are complete."""
        # The size of a cluster is part of the code, and the driver takes it from there.
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments)
        )
        attributes = (LaunchAttribute * 1)(LaunchAttribute(id=PROGRAMMATIC_STREAM_SERIALIZATION, value=1))
        config = LaunchConfig(
            tuple(grid), (threads, 1, 1), shared_bytes, ctypes.c_void_p(stream), attributes, 1 if overlaps else 0
        )
        status = self.cuda.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None)
        self.check("launching", status)


class Kernel:
    """A kernel that `hx build` made; call it with tensors in the order of its parameters."""

    def __init__(self, path):
        import torch

        self.description = Description.load(path)
        if self.description.data["kind"] == "cuda":
            raise HarnessError(f"`{path}` describes CUDA C++; build it with `--emit cubin` or `--emit ptx`")
        # Makes PyTorch's context the current one.
        torch.zeros(1, device="cuda")
        self.driver = Driver.get()
        self.function = self.driver.function(self.description.code.read_bytes(), self.description.symbol)
        self.shared_bytes = self.description.data["shared_bytes"]
        self.driver.allow_shared(self.function, self.shared_bytes)

    def prepare(self, *tensors, overlaps=None, **scalars):
        """A launch with everything checked and bound; calling it puts the kernel on PyTorch's current stream.

        A kernel that waits for the launches before it may overlap them; `overlaps` decides otherwise.
        """
        import torch

        d = self.description
        for param, tensor in zip(d.tensors, tensors):
            wanted = torch_dtype(param["dtype"])
            if tensor.dtype != wanted or not tensor.is_cuda:
                raise HarnessError(f"`{param['name']}` is a {wanted} tensor on the GPU, got {tensor.dtype}")
        env = d.bind(tensors, scalars)
        grid, arguments = d.grid(env), d.arguments(tensors, env)
        threads = d.data["threads"]
        overlaps = d.data.get("waits_for_previous", False) if overlaps is None else overlaps
        empty = 0 in grid

        def launch():
            if not empty:
                stream = torch.cuda.current_stream().cuda_stream
                self.driver.launch(self.function, grid, threads, self.shared_bytes, stream, arguments, overlaps)

        launch.tensors = tensors  # keeps the memory alive
        return launch

    def __call__(self, *tensors, **scalars):
        self.prepare(*tensors, **scalars)()


# ------------------------------------------------------------------------------------------------- timing


def quantile(samples, q):
    ordered = sorted(samples)
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def race(contenders, repeats=100, warmup_ms=200.0, cold=True):
    """Times callables in turn; the samples of each in microseconds, by name."""
    import time

    import torch

    flush = torch.zeros(FLUSH_BYTES // 8, dtype=torch.int64, device="cuda") if cold else None
    begin = time.perf_counter()
    while (time.perf_counter() - begin) * 1e3 < warmup_ms:
        for run in contenders.values():
            run()
        torch.cuda.synchronize()
    event = lambda: torch.cuda.Event(enable_timing=True)
    events = {name: [(event(), event()) for _ in range(repeats)] for name in contenders}
    for at in range(repeats):
        for name, run in contenders.items():
            if flush is not None:
                # Not timed; it also keeps the GPU busy until everything below is enqueued. The cache is filled by reading: lines
                # that were written would be sent to memory in the time of the next contender.
                flush.sum()
            start, stop = events[name][at]
            start.record()
            run()
            stop.record()
    torch.cuda.synchronize()
    return {name: [a.elapsed_time(b) * 1e3 for a, b in pairs] for name, pairs in events.items()}


# ------------------------------------------------------------------------------------------------- the command


def key_values(text, convert):
    out = {}
    for part in filter(None, (text or "").split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise HarnessError(f"found `{part}`, expected NAME=VALUE")
        try:
            out[name.strip()] = convert(value.strip())
        except ValueError as error:
            raise HarnessError(f"`{value}` is no value of `{name.strip()}`") from error
    return out


def number(text):
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def make_tensor(param, env, generator):
    """A tensor of a parameter's shape: normal numbers to read, NaN or a pattern to write."""
    import torch

    shape = [int(evaluate(text, env)) for text in param["shape"]]
    stride = []
    packed = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    for text, usual in zip(param["stride"], packed):
        names = [node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)]
        stride.append(int(evaluate(text, env)) if all(name in env for name in names) else usual)
    dtype = torch_dtype(param["dtype"])
    tensor = torch.empty_strided(shape, stride, dtype=dtype, device="cuda")
    if param["mutable"]:
        return tensor.fill_(math.nan) if dtype.is_floating_point else tensor.zero_()
    if dtype.is_floating_point:
        values = torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32)
        return tensor.copy_(values)
    high = 2 if dtype == torch.bool else 100
    return tensor.copy_(torch.randint(0, high, shape, generator=generator, device="cuda"))


def compiled_peer(text, scope):
    """A peer's code as a callable; the value of an expression is its result."""
    try:
        code = compile(text, "<peer>", "eval")
    except SyntaxError:
        code = compile(text, "<peer>", "exec")
    return lambda: eval(code, scope)


TOLERANCES = {"f64": 1e-10, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1}


def difference(found, wanted):
    """The largest difference in units of the reference's root mean square; infinite for NaN on one side."""
    import torch

    x, y = found.double(), wanted.double()
    gap = (x - y).abs()
    both_nan = torch.isnan(x) & torch.isnan(y)
    gap = torch.where(both_nan | (x == y), torch.zeros_like(gap), gap)
    gap = gap.nan_to_num(nan=math.inf, posinf=math.inf)
    rms = torch.sqrt((y.nan_to_num(0.0, 0.0, 0.0) ** 2).mean()).item()
    worst = gap.max().item() if gap.numel() else 0.0
    return worst, worst / rms if rms > 0 else worst


class Contest:
    """Kernels and peers over one set of tensors."""

    def __init__(self, args):
        import torch

        self.args = args
        self.kernels = {}
        for path in args.kernels:
            stem = Path(path).stem
            self.kernels[stem if stem not in self.kernels else f"{stem}#{len(self.kernels)}"] = Kernel(path)
        first = next(iter(self.kernels.values())).description
        self.scalars = key_values(args.scalars, number)
        self.env = {**key_values(args.dims, int), **self.scalars}
        generator = torch.Generator(device="cuda").manual_seed(args.seed)
        self.tensors = {p["name"]: make_tensor(p, self.env, generator) for p in first.tensors}
        self.outputs = [p["name"] for p in first.tensors if p["mutable"]]
        self.dtypes = {p["name"]: p["dtype"] for p in first.tensors}
        self.scope = {**self.env, **self.tensors, "torch": torch, "F": torch.nn.functional}
        self.contenders = {}
        for name, kernel in self.kernels.items():
            arguments = [self.tensors[p["name"]] for p in kernel.description.tensors]
            wanted = {p["name"] for p in kernel.description.scalars}
            scalars = {k: v for k, v in self.scalars.items() if k in wanted}
            self.contenders[name] = kernel.prepare(*arguments, **scalars)
        for text in args.peer:
            name, equals, code = text.partition("=")
            if not equals or not name.strip().replace(".", "").replace("-", "").replace("_", "").isalnum():
                raise HarnessError(f"found `{text}`, expected NAME=CODE")
            self.contenders[name.strip()] = compiled_peer(code.strip(), self.scope)
        self.copied = args.copy
        if self.copied:
            source = torch.randint(0, 256, (self.copied,), dtype=torch.uint8, device="cuda")
            target = torch.empty_like(source)
            self.contenders["copy"] = lambda: target.copy_(source)

    def results(self):
        """What one run of each contender leaves in the outputs, the outputs poisoned before."""
        import torch

        out = {}
        initial = {name: self.tensors[name].clone() for name in self.outputs}
        for name, run in self.contenders.items():
            if name == "copy" and self.copied:
                continue
            for output in self.outputs:
                self.tensors[output].copy_(initial[output])
            value = run()
            torch.cuda.synchronize()
            values = [self.tensors[output].clone() for output in self.outputs]
            if isinstance(value, torch.Tensor) and len(self.outputs) == 1:
                values = [value.clone()]
            out[name] = values
        return out

    def check(self):
        """Prints how far the results lie apart; true where all agree."""
        results = self.results()
        if self.args.check:
            values = eval(self.args.check, self.scope)
            reference, wanted = "the check", list(values) if isinstance(values, (tuple, list)) else [values]
        else:
            peers = [name for name in results if name not in self.kernels] or list(results)
            reference, wanted = peers[0], results[peers[0]]
        good = True
        for name, found in results.items():
            if name == reference:
                continue
            for output, x, y in zip(self.outputs, found, wanted):
                if tuple(x.shape) != tuple(y.shape):
                    raise HarnessError(f"`{name}` gives {tuple(x.shape)}, {reference} {tuple(y.shape)}")
                worst, relative = difference(x, y)
                tolerance = self.args.tolerance or TOLERANCES.get(self.dtypes[output], 0.0)
                fine = relative <= tolerance
                good &= fine
                verdict = "" if fine else f"  NOT within {tolerance:g}"
                print(f"{output} of {name} against {reference}: {worst:.3e} ({relative:.3e} of its rms){verdict}")
        return good

    def race(self):
        args = self.args
        samples = race(self.contenders, args.repeats, args.warmup_ms, not args.warm_l2)
        flops = eval(args.flops, dict(self.scope)) if args.flops else None
        moved = eval(args.bytes, dict(self.scope)) if args.bytes else None
        width = max(map(len, samples))
        table = {}
        for name, times in samples.items():
            median = statistics.median(times)
            row = {"median_us": median, "low_us": quantile(times, 0.2), "high_us": quantile(times, 0.8)}
            is_copy = name == "copy" and self.copied
            if flops and not is_copy:
                row["tflops"] = flops / median * 1e-6
            if is_copy:
                row["gbs"] = 2 * self.copied / median * 1e-3
            elif moved:
                row["gbs"] = moved / median * 1e-3
            table[name] = {**row, "samples_us": times}
            rates = [f"{row['tflops']:8.1f} TFLOP/s"] if "tflops" in row else []
            rates += [f"{row['gbs']:8.0f} GB/s"] if "gbs" in row else []
            spread = f"[{row['low_us']:.2f}, {row['high_us']:.2f}]"
            print(f"{name:{width}}  {median:10.2f} µs {spread:24} {'  '.join(rates)}")
        for name in self.kernels:
            for other in table:
                if other not in self.kernels:
                    self.ratio(name, other, table)
        return table

    def ratio(self, name, other, table):
        mine, theirs = table[name], table[other]
        if other == "copy" and self.copied:
            if "gbs" in mine:
                print(f"{name} reaches {mine['gbs'] / theirs['gbs']:.3f} of the bandwidth of {other}")
            return
        print(f"{name} is {theirs['median_us'] / mine['median_us']:.3f}× as fast as {other}")


def parser():
    p = argparse.ArgumentParser(description="Time kernels built by `hx build` beside PyTorch's.")
    p.add_argument("kernels", nargs="+", metavar="LAUNCH.json", help="descriptions of kernels with equal tensors")
    p.add_argument("--dims", metavar="m=4096,n=…", help="dimensions and strides")
    p.add_argument("--scalars", metavar="eps=1e-5,…", help="scalar parameters")
    p.add_argument("--peer", action="append", default=[], metavar="NAME=CODE", help="Python over the tensors' names")
    p.add_argument("--check", metavar="EXPR", help="the reference, instead of the first peer")
    p.add_argument("--tolerance", type=float, help="largest difference in units of the reference's rms")
    p.add_argument("--copy", type=lambda t: int(t, 0), metavar="BYTES", help="time a device-to-device copy as well")
    p.add_argument("--flops", metavar="EXPR", help="floating-point operations, over the dimensions")
    p.add_argument("--bytes", metavar="EXPR", help="bytes read and written, over the dimensions")
    p.add_argument("--repeats", type=int, default=100)
    p.add_argument("--warmup-ms", type=float, default=200.0)
    p.add_argument("--warm-l2", action="store_true", help="do not empty the L2 cache before each run")
    p.add_argument("--no-time", action="store_true", help="only compare the results")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", metavar="FILE", help="write every sample to this file")
    return p


def main(argv=None):
    args = parser().parse_args(argv)
    try:
        import torch

        if not torch.cuda.is_available():
            print("PyTorch sees no GPU", file=sys.stderr)
            return 3
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
        return 3
    try:
        contest = Contest(args)
        device = torch.cuda.get_device_name()
        print(f"{device}, PyTorch {torch.__version__}, {'warm' if args.warm_l2 else 'cold'} L2, {args.repeats} runs")
        good = contest.check()
        table = {} if args.no_time else contest.race()
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if args.json:
        Path(args.json).write_text(json.dumps({"device": device, "agree": good, "results": table}, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
