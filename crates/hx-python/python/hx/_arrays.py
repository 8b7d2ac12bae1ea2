"""Arrays of other libraries, by the protocols that they offer."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

from ._dtypes import PACKED_BITS, PAIRS, DType, name_of
from ._hx import dlpack_dtype, packed

if TYPE_CHECKING:
    import numpy

    from ._errors import LaunchError
    from ._hx import Kernel

#: Place, address, element type, extents, strides in elements, and for host memory the object that reads and writes the elements, for
#: memory of a GPU what its protocol says; a number is the last part alone.
Described = tuple[int, int, str, tuple[int, ...], tuple[int, ...], Any]

#: The place of host memory, that of a tensor without elements, and that of a number.
HOST, FAKE, NUMBER = -1, -2, -3


class View:
    """The memory of an array with elements of another type or in another order; see `view` and `pack`."""

    __slots__ = ("__hx_base__", "__hx_order__", "dtype")

    def __init__(self, base: Any, dtype: str | None, order: str | None = None) -> None:
        self.__hx_base__ = base
        self.__hx_order__ = order
        self.dtype = dtype

    @property
    def array(self) -> Any:
        """The array that holds the memory."""
        return self.__hx_base__

    @property
    def order(self) -> str | None:
        """The block in which the elements lie, such as `(64,64):(64,1)`; `None` for the order of the array."""
        return self.__hx_order__

    def __repr__(self) -> str:
        order = f", order={self.order!r}" if self.order else ""
        dtype = f", {self.dtype!r}" if self.dtype else ""
        return f"hx.view({type(self.__hx_base__).__name__}{dtype}{order})"


def view(array: Any, dtype: str | None = None, order: str | None = None) -> View:
    """Returns the memory of an array with elements of another type, or in another order.

    The last dimension changes with the width of the elements: two `u4` in each byte, the first in the lower bits.

    >>> packed = numpy.zeros((64, 32), numpy.uint8)
    >>> kernel(hx.view(packed, "u4"), ...)    # u4[64, 64]

    `order` is the block in which the elements lie, as `pack` has put them there: `View.order` of an array that was packed before and kept
    in a file.
    """
    name = None if dtype is None else DType(name_of(dtype) or str(dtype))
    return View(array, name, order)


def pack(array: Any, layout: Kernel | str, of: str | None = None) -> View:
    """Returns the elements of an array in blocks, as a parameter `w: T[n, k] : W` of a kernel has them.

    `layout` is the block, such as `"(64,64):(64,1)"`, or a kernel: the order is then the one that the compiler infers for its parameter, for
    the device of the array. `of` names the parameter, if the kernel infers several orders. The result carries the order, and a launch
    refuses it where the kernel reads another one.

    >>> w = hx.pack(hx.view(packed, "u4"), kernel)
    >>> kernel(x, w, y)
    """
    base, dtype = (array.array, array.dtype) if isinstance(array, View) else (array, None)
    if isinstance(array, View) and array.order is not None:
        raise _refused("HX0641", f"found an array that was packed as {array.order}: `hx.unpack` reverts it")
    host, place = _on_host(base)
    found = describe(host)
    if found is None:
        raise _refused("HX0603", f"found an object of the class {type(base).__name__}, expected an array or a tensor")
    order = layout if isinstance(layout, str) else layout._order(dtype or found[2], place, of)
    if order is None:
        return View(base, dtype)
    return _of_bytes(packed(View(host, dtype), order, False), base, dtype or found[2], dtype, order)


def unpack(view: View) -> Any:
    """Returns the array of a result of `pack` with its elements in the order of the array again."""
    if not isinstance(view, View) or view.order is None:
        raise _refused("HX0641", "found an array without an order, expected a result of `hx.pack`")
    host, _ = _on_host(view.array)
    moved = _of_bytes(packed(View(host, view.dtype), view.order, True), view.array, "", view.dtype, None)
    return moved if view.dtype else moved.array


def _on_host(base: Any) -> tuple[Any, int]:
    """The array in host memory, and the number of the CUDA device that it is on, `HOST` for host memory."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(base, torch.Tensor):
        return base.detach().cpu().contiguous(), base.get_device() if base.is_cuda else HOST
    return base, HOST


def _of_bytes(data: bytes, base: Any, name: str, dtype: str | None, order: str | None) -> View:
    """The view of a new array with this memory, of the kind and on the device of another array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(base, torch.Tensor):
        flat = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return View(flat.view(base.dtype).reshape(base.shape).to(base.device), dtype, order)
    import numpy

    made = numpy.asarray(base)
    if len(data) == made.nbytes:
        return View(numpy.frombuffer(bytearray(data), made.dtype).reshape(made.shape), dtype, order)
    # An array with an element in each byte: its packed elements are bytes of another array.
    rows = (*made.shape[:-1], -1)
    return View(numpy.frombuffer(bytearray(data), numpy.uint8).reshape(rows), DType(name), order)


class HostArray:
    """The elements of an array in host memory. `could_move` says that it is of a library that also has arrays on GPUs."""

    __slots__ = ("array", "could_move", "writable")

    def __init__(self, array: numpy.ndarray[Any, Any], could_move: bool = False) -> None:
        self.array = array
        self.could_move = could_move
        self.writable = bool(array.flags.writeable)

    def _span(self) -> numpy.ndarray[Any, Any]:
        """The memory from the first element to the last."""
        import numpy

        array = self.array
        reach = sum((n - 1) * s for n, s in zip(array.shape, array.strides))
        count = 0 if array.size == 0 else reach // array.itemsize + 1
        return numpy.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,), writeable=False)

    def read(self) -> bytes:
        """Returns the bytes from the first element to the last."""
        array = self.array
        return array.tobytes() if array.flags.c_contiguous else self._span().tobytes()

    def write(self, data: bytes) -> None:
        """Writes the elements. The bytes between them stay."""
        import numpy

        array = self.array
        flat = numpy.frombuffer(data, array.dtype)
        if array.flags.c_contiguous:
            array[...] = flat.reshape(array.shape)
        elif array.size:
            array[...] = numpy.lib.stride_tricks.as_strided(flat, array.shape, array.strides)


class PackedArray(HostArray):
    """The elements of a NumPy array that has each in a byte of its own, where hx packs several into one, the first lowest."""

    __slots__ = ("bits",)

    def __init__(self, array: numpy.ndarray[Any, Any], bits: int) -> None:
        super().__init__(array)
        self.bits = bits

    def read(self) -> bytes:
        """Returns the bytes of the packed elements, in row-major order."""
        import numpy

        per_byte = 8 // self.bits
        single = numpy.frombuffer(self.array.tobytes(), numpy.uint8) & ((1 << self.bits) - 1)
        padded = numpy.zeros(-(-single.size // per_byte) * per_byte, numpy.uint8)
        padded[: single.size] = single
        packed = numpy.zeros(padded.size // per_byte, numpy.uint8)
        for place in range(per_byte):
            packed |= padded[place::per_byte] << (place * self.bits)
        return packed.tobytes()

    def write(self, data: bytes) -> None:
        """Writes the elements of these packed bytes."""
        import numpy

        packed = numpy.frombuffer(data, numpy.uint8)
        shifts = numpy.arange(0, 8, self.bits, dtype=numpy.uint8)
        single = ((packed[:, None] >> shifts) & ((1 << self.bits) - 1)).ravel()[: self.array.size]
        if self.array.dtype.name.startswith("int"):
            # A byte holds a signed number with all its signs.
            half = numpy.uint8(1 << (self.bits - 1))
            single = (single ^ half) - half
        self.array[...] = single.view(self.array.dtype).reshape(self.array.shape)


class DeviceArray:
    """The promises of a protocol about memory on a GPU, besides its place and form."""

    __slots__ = ("produced_on", "read_only")

    def __init__(self, read_only: bool, produced_on: int | None) -> None:
        self.read_only = read_only
        #: The stream on which the elements were written, if the launch must wait for it.
        self.produced_on = produced_on


class LaunchStream:
    """The stream of a launch on arrays of other libraries than PyTorch: the one that the call names, or the current one of the library."""

    __slots__ = ("arguments", "chosen")

    def __init__(self, arguments: list[Any], given: int | None) -> None:
        self.arguments = [getattr(argument, "__hx_base__", argument) for argument in arguments]
        #: The stream, once it was needed.
        self.chosen = given

    def on(self, device: int) -> int:
        """Returns the stream. The arrays are on this device."""
        if self.chosen is None:
            self.chosen = self._current(device)
        return self.chosen

    def _current(self, device: int) -> int:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch is None or not any(isinstance(argument, torch.Tensor) for argument in self.arguments):
            if cupy is not None and any(isinstance(argument, cupy.ndarray) for argument in self.arguments):
                return int(cupy.cuda.get_current_stream(device).ptr)
        # A program that has not started CUDA through PyTorch has no other stream than the default one.
        if torch is None or not torch.cuda.is_initialized():
            return 0
        return int(torch.cuda.current_stream(device).cuda_stream)


def describe(array: Any, stream: LaunchStream | None = None) -> Described | None:
    """Describes an array or a tensor; `None` for other objects. Its elements are complete for a launch on `stream`."""
    stream = stream or LaunchStream([array], None)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch(torch, array)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.generic):
        return NUMBER, 0, "", (), (), array.item()
    if numpy is not None and isinstance(array, numpy.ndarray):
        # NumPy imports this module at its first use: a masked array exists only after that.
        masked = sys.modules.get("numpy.ma")
        if masked is not None and isinstance(array, masked.MaskedArray):
            raise _refused("HX0638", "found an array with a mask, which a kernel would ignore: pass `x.filled(value)`")
        return _numpy(array, array.dtype)
    if hasattr(array, "__cuda_array_interface__"):
        return _cuda_interface(array, stream)
    if hasattr(array, "__dlpack_device__") and hasattr(array, "__dlpack__"):
        return _dlpack(array, stream)
    if hasattr(array, "__array_interface__"):
        import numpy as np

        made = np.asarray(array)
        return _numpy(made, made.dtype)
    return None


def _numpy(array: numpy.ndarray[Any, Any], dtype: Any) -> Described | None:
    name = name_of(dtype)
    if name is None:
        name = str(dtype)
    elif array.dtype.byteorder == ">":
        name = f"{name} with bytes in big-endian order"
    width = array.itemsize
    bits = PACKED_BITS.get(name)
    if bits is not None:
        return HOST, array.ctypes.data, name, array.shape, _packed(array.shape), PackedArray(array, bits)
    if any(stride % width for stride in array.strides):
        # The strides of such an array are no numbers of elements: a field of records, or a view of bytes.
        raise _refused("HX0637", f"found an array with strides of {array.strides} bytes for elements of {width}: pass a copy")
    strides = tuple(stride // width for stride in array.strides)
    return HOST, array.ctypes.data, name, array.shape, strides, HostArray(array)


def _torch(torch: Any, tensor: Any) -> Described | None:
    if tensor.is_meta:
        return FAKE, 0, "f32", (), (), None
    try:
        address = tensor.data_ptr()
    except RuntimeError as error:
        raise _refused(
            "HX0638",
            "found a tensor without memory: PyTorch traces the program. Register the kernel with `hx.torch.op`, and call the operator",
        ) from error
    name = name_of(tensor.dtype) or str(tensor.dtype)
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    if str(tensor.dtype).removeprefix("torch.") in PAIRS:
        shape, strides = _paired(shape, strides)
    if tensor.device.type == "cuda":
        return tensor.get_device(), address, name, shape, strides, None
    if tensor.device.type != "cpu":
        text = f"found a tensor on the device {tensor.device}, expected one on a CUDA device or the CPU"
        raise _refused("HX0638", text)
    if tensor.numel() and address == 0:
        return HOST, 0, name, shape, strides, None
    plain = tensor.detach()
    if name in ("bf16", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1"):
        # NumPy has no such elements: it moves them as integers.
        plain = plain.view(torch.int16 if name == "bf16" else torch.uint8)
    return HOST, address, name, shape, strides, HostArray(plain.numpy(), could_move=True)


def _refused(code: str, text: str) -> LaunchError:
    from ._errors import LaunchError

    return LaunchError(f"error[{code}]: {text}", code, text)


def _cuda_interface(array: Any, stream: LaunchStream) -> Described | None:
    facts = array.__cuda_array_interface__
    import numpy

    if facts.get("mask") is not None:
        raise _refused("HX0638", "found an array with a mask, which a kernel would ignore: pass an array without one")
    dtype = numpy.dtype(facts["typestr"])
    name = name_of(getattr(array, "dtype", dtype)) or name_of(dtype) or str(dtype)
    shape = tuple(facts["shape"])
    width = dtype.itemsize
    given = facts.get("strides")
    if given is None:
        strides = _packed(shape)
    elif any(stride % width for stride in given):
        raise _refused("HX0637", f"found an array with strides of {tuple(given)} bytes for elements of {width}: pass a copy")
    else:
        strides = tuple(stride // width for stride in given)
    address, read_only = facts["data"]
    produced_on = facts.get("stream")
    if produced_on == 0:
        raise _refused("HX0638", "found an array whose `__cuda_array_interface__` names the stream 0, expected `None`, 1, 2 or a handle")
    device = _device_of(array)
    stream.on(device)
    protocol = DeviceArray(bool(read_only), None if produced_on is None else int(produced_on))
    return device, int(address or 0), name, shape, strides, protocol


def _device_of(array: Any) -> int:
    device = getattr(array, "device", None)
    number = getattr(device, "id", None)
    if isinstance(number, int):
        return number
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[1])
    return 0


def _paired(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and strides in elements of an array of pairs."""
    if not shape or strides[-1] != 1:
        raise _refused("HX0637", "found pairs of elements that are no rows: pass a copy whose last dimension is contiguous")
    return (*shape[:-1], 2 * shape[-1]), (*(2 * stride for stride in strides[:-1]), 1)


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class _DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DLTensor(ctypes.Structure):
    """The first member of a `DLManagedTensor`, as `dlpack.h` has it, and the last one of a `DLManagedTensorVersioned`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """A `DLManagedTensorVersioned` of `dlpack.h`, from version 1 on."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


#: The flag of a tensor that must not be written.
_READ_ONLY = 1

#: The kinds of devices whose memory the GPU addresses: CUDA, and CUDA's managed memory.
_CUDA, _MANAGED = 2, 13


#: The code, bits and lanes of two 4-bit floats in a byte.
_F4E2M1_PAIR = (17, 4, 2)


def _dlpack(array: Any, stream: LaunchStream) -> Described | None:
    kind, number = (int(part) for part in array.__dlpack_device__())
    if kind not in (_CUDA, _MANAGED):
        import numpy

        made = numpy.from_dlpack(array)
        found = _numpy(made, made.dtype)
        if found is not None:
            found[5].could_move = True
        return found
    # The array makes this stream wait for its elements. The protocol has no stream 0: 1 is the default one.
    waiting = stream.on(number) or 1
    try:
        capsule = array.__dlpack__(stream=waiting, max_version=(1, 0))
    except TypeError:
        # A library from before version 1 knows no `max_version`.
        capsule = array.__dlpack__(stream=waiting)
    tensor, read_only = _tensor_of(capsule)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else _packed(shape)
    if (tensor.code, tensor.bits, tensor.lanes) == _F4E2M1_PAIR:
        shape, strides = _paired(shape, strides)
        return number, (tensor.data or 0) + tensor.byte_offset, "f4e2m1", shape, strides, DeviceArray(read_only, None)
    name = dlpack_dtype(tensor.code, tensor.bits, tensor.lanes) or f"{tensor.bits} bits of kind {tensor.code}"
    data = (tensor.data or 0) + tensor.byte_offset
    # The array owns the memory, and outlives the call; the capsule is given back unused.
    return number, data, name, shape, strides, DeviceArray(read_only, None)


def _tensor_of(capsule: Any) -> tuple[_DLTensor, bool]:
    """Returns the tensor in a capsule of DLPack, and whether it must not be written."""
    name_in, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_in.restype, name_in.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_in(capsule)
    if name == b"dltensor":
        return ctypes.cast(pointer(capsule, name), ctypes.POINTER(_DLTensor)).contents, False
    if name != b"dltensor_versioned":
        raise _refused("HX0638", f"found a capsule `{name!r}` of DLPack, expected `dltensor` or `dltensor_versioned`")
    versioned = ctypes.cast(pointer(capsule, name), ctypes.POINTER(_Versioned)).contents
    if versioned.major != 1:
        raise _refused("HX0638", f"found a tensor of version {versioned.major} of DLPack, expected version 1")
    return versioned.tensor, bool(versioned.flags & _READ_ONLY)


def written(value: Any) -> str:
    """Returns a compile-time argument as it is written in hx."""
    if value is None:
        return "auto"
    name = name_of(value)
    if name is not None:
        return name
    dtype = getattr(value, "dtype", None)
    if dtype is not None and isinstance(value, type):
        found = name_of(dtype)
        if found is not None:
            return found
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, type) and issubclass(value, numpy.generic):
            return name_of(numpy.dtype(value)) or str(value)
        if isinstance(value, (numpy.integer, numpy.floating, numpy.bool_)):
            return written(value.item())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "(" + ", ".join(written(part) for part in value) + ("," if len(value) == 1 else "") + ")"
    return str(value)
