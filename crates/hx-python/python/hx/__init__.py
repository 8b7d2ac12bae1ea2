"""Tile-level GPU kernels, written in `.hx` files and called on PyTorch tensors and NumPy arrays.

    import hx

    gemm = hx.load("gemm.hx").gemm
    gemm(a, b, c, BM=128)          # tensors on a GPU: in place, on the current stream
    print(gemm.why("acc"))         # why the accumulator has its layout

Arrays in host memory run on the simulator, which checks every access. `hx.std` is the standard library.
"""

from __future__ import annotations

from ._dtypes import (
    DType,
    bf16,
    bool_,
    f4e2m1,
    f8e4m3,
    f8e5m2,
    f8e8m0,
    f16,
    f32,
    f64,
    i1,
    i2,
    i4,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u1,
    u2,
    u4,
    u8,
    u16,
    u32,
    u64,
)
from ._errors import (
    AssertionFailed,
    CompileError,
    ContextLost,
    DeviceError,
    Error,
    FileError,
    ForkError,
    KernelError,
    LaunchError,
    MissingError,
)
from ._events import Compile, Counters, counters, on_compile
from ._hx import Instance, Kernel, __version__
from ._modules import Module, Parameter, compile, devices, load, std
from ._arrays import View, pack, unpack, view
from ._results import Cost, Member, TunedRow, TunedShape

__all__ = [
    "AssertionFailed",
    "Compile",
    "CompileError",
    "ContextLost",
    "Cost",
    "Counters",
    "DType",
    "DeviceError",
    "Error",
    "FileError",
    "ForkError",
    "Instance",
    "Kernel",
    "KernelError",
    "LaunchError",
    "Member",
    "MissingError",
    "Module",
    "Parameter",
    "TunedRow",
    "TunedShape",
    "View",
    "__version__",
    "bf16",
    "bool_",
    "compile",
    "counters",
    "devices",
    "f16",
    "f32",
    "f4e2m1",
    "f64",
    "f8e4m3",
    "f8e5m2",
    "f8e8m0",
    "i1",
    "i16",
    "i2",
    "i32",
    "i4",
    "i64",
    "i8",
    "load",
    "on_compile",
    "pack",
    "std",
    "tf32",
    "u1",
    "u16",
    "u2",
    "u32",
    "u4",
    "u64",
    "u8",
    "unpack",
    "view",
]


def load_ipython_extension(ipython: object) -> None:
    """Adds the cell magic `%%hx` to a notebook: `%load_ext hx`."""
    from ._notebook import register

    register(ipython)
