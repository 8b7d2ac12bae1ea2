"""Element types, as compile-time arguments and for `hx.view`."""

from __future__ import annotations

from typing import Any

#: The names in hx of NumPy's and PyTorch's element types.
NAMES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0",
    "float4_e2m1fn": "f4e2m1",
    "int2": "i2",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint2": "u2",
    "uint4": "u4",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "bool",
}

#: The names in hx of PyTorch's types whose element is two of hx, in one byte.
PAIRS = {"float4_e2m1fn_x2": "f4e2m1"}

#: The bits of the types that hx packs into bytes.
PACKED_BITS = {"i2": 2, "u2": 2, "i4": 4, "u4": 4, "f4e2m1": 4}


class DType(str):
    """An element type: its name in hx, as in `T=hx.bf16`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"hx.{'bool_' if self == 'bool' else str(self)}"


bool_ = DType("bool")
i1, i2, i4, i8, i16, i32, i64 = map(DType, ("i1", "i2", "i4", "i8", "i16", "i32", "i64"))
u1, u2, u4, u8, u16, u32, u64 = map(DType, ("u1", "u2", "u4", "u8", "u16", "u32", "u64"))
f16, bf16, tf32, f32, f64 = map(DType, ("f16", "bf16", "tf32", "f32", "f64"))
f4e2m1, f8e4m3, f8e5m2, f8e8m0 = map(DType, ("f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0"))


def name_of(dtype: Any) -> str | None:
    """Returns the name in hx of an element type of NumPy or PyTorch; `None` if it has none."""
    if isinstance(dtype, str):
        return str(dtype)
    text = getattr(dtype, "name", None)
    if text is None:
        text = str(dtype).removeprefix("torch.")
    return NAMES.get(text) or PAIRS.get(text)
