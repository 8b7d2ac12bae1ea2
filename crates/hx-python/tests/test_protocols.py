"""Arrays of other libraries, as small classes that offer the protocols. None has memory on a GPU."""

from __future__ import annotations

import ctypes
import sys
import types

import numpy as np
import pytest
from conftest import SCALE

import hx
from hx._arrays import LaunchStream, _DLDevice, _DLTensor, _Versioned, describe


class Cuda:
    """An array with `__cuda_array_interface__`."""

    def __init__(self, **facts):
        plain = {"shape": (4, 8), "typestr": "<f4", "data": (4096, False), "version": 3}
        self.__cuda_array_interface__ = {**plain, **facts}


def test_strides_in_bytes_become_strides_in_elements():
    *found, protocol = describe(Cuda(strides=(64, 4)))
    assert found == [0, 4096, "f32", (4, 8), (16, 1)]
    assert (protocol.read_only, protocol.produced_on) == (False, None)
    assert describe(Cuda())[4] == (8, 1)


@pytest.mark.parametrize(
    ("facts", "code", "reason"),
    [
        ({"strides": (48, 6)}, "HX0637", r"strides of \(48, 6\) bytes for elements of 4"),
        ({"mask": Cuda(typestr="|b1")}, "HX0638", "a mask, which a kernel would ignore"),
        ({"stream": 0}, "HX0638", "names the stream 0"),
    ],
)
def test_what_is_refused(facts, code, reason):
    with pytest.raises(hx.LaunchError, match=reason) as caught:
        hx.compile(SCALE).scale(Cuda(**facts), Cuda(), 2.0)
    assert caught.value.code == code


def test_the_stream_of_the_producer_is_waited_for():
    assert describe(Cuda(stream=1))[5].produced_on == 1
    assert describe(Cuda(stream=0x7F00))[5].produced_on == 0x7F00
    assert describe(Cuda(stream=None))[5].produced_on is None


def managed(version: int | None, read_only: bool = False, dtype: tuple[int, int, int] = (2, 32, 1)):
    """A capsule of DLPack with a tensor of shape 4 × 8 at the address 4096, and what must outlive it."""
    shape, strides = (ctypes.c_int64 * 2)(4, 8), (ctypes.c_int64 * 2)(16, 1)
    tensor = _DLTensor(4096, _DLDevice(2, 0), 2, *dtype, shape, strides, 64)
    held = tensor if version is None else _Versioned(version, 0, None, None, int(read_only), tensor)
    name = ctypes.create_string_buffer(b"dltensor" if version is None else b"dltensor_versioned")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(held), ctypes.cast(name, ctypes.c_char_p), None), (held, shape, strides, name)


class Dlpack:
    """An array with DLPack of version 1."""

    def __init__(self, version: int = 1, read_only: bool = False):
        self.version, self.read_only, self.streams = version, read_only, []

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None, max_version=None):
        assert max_version == (1, 0)
        self.streams.append(stream)
        capsule, self.held = managed(self.version, self.read_only)
        return capsule


class OldDlpack(Dlpack):
    """An array with DLPack of before version 1."""

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        capsule, self.held = managed(None)
        return capsule


@pytest.mark.parametrize("array", [Dlpack(), OldDlpack(), Dlpack(read_only=True)])
def test_a_tensor_of_dlpack(array):
    *found, protocol = describe(array)
    assert found == [0, 4096 + 64, "f32", (4, 8), (16, 1)]
    assert protocol.read_only == array.read_only and array.streams == [1]
    describe(array, LaunchStream([array], 0x7F00))
    assert array.streams == [1, 0x7F00]


def test_a_later_version_of_dlpack():
    with pytest.raises(hx.LaunchError, match="version 2 of DLPack, expected version 1"):
        describe(Dlpack(version=2))


ROWS = """\
kernel rows(x: f32[m, n] : [ld, 1], y: mut f32[m, n] : [out, 1]) grid [m] threads 32 {
    copy(load(tile(x, [1, 32])[.., .., block_idx, 0]), tile(y, [1, 32])[.., .., block_idx, 0]);
}
"""


@pytest.mark.parametrize("array", [Cuda(data=(4096, True)), Dlpack(read_only=True)])
def test_a_read_only_array_is_not_written(array):
    rows = hx.compile(ROWS).rows
    for call in (rows, rows.check, rows.warmup):
        for arguments, named in [((Cuda(), array), {}), ((), {"y": array, "x": Cuda()})]:
            with pytest.raises(hx.LaunchError, match="the array for `y` is read-only, and the kernel writes it") as caught:
                call(*arguments, **named)
            assert caught.value.code == "HX0638"
    # It may be read: the launch goes on, and finds no GPU.
    if not gpu():
        with pytest.raises(hx.MissingError):
            rows.check(array, Cuda(data=(8192, False)))


def gpu() -> bool:
    try:
        return bool(hx.devices())
    except hx.MissingError:
        return False


def test_a_masked_array():
    y = np.zeros(4, np.float32)
    with pytest.raises(hx.LaunchError, match=r"a mask, which a kernel would ignore: pass `x.filled\(value\)`") as caught:
        hx.compile(SCALE).scale(np.ma.masked_greater(np.arange(4, dtype=np.float32), 2), y, 2.0)
    assert caught.value.code == "HX0638"


@pytest.fixture
def cupy(monkeypatch):
    """A module that says of itself that it is CuPy."""

    class ndarray(Cuda):
        pass

    module = types.ModuleType("cupy")
    module.ndarray = ndarray
    asked = []

    def current(device):
        asked.append(device)
        return types.SimpleNamespace(ptr=0x5000)

    module.cuda = types.SimpleNamespace(get_current_stream=current)
    module.asked = asked
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_the_current_stream_of_cupy(cupy):
    array = cupy.ndarray()
    assert LaunchStream([array, 2.0], None).on(1) == 0x5000 and cupy.asked == [1]
    assert LaunchStream([hx.view(array, "u4")], None).on(0) == 0x5000
    # The call has named a stream.
    assert LaunchStream([array], 0x6000).on(0) == 0x6000
    # An array of another library in the same launch waits for that stream.
    other = Dlpack()
    stream = LaunchStream([array, other], None)
    describe(array, stream)
    describe(other, stream)
    assert other.streams == [0x5000] and cupy.asked == [1, 0, 0]


def test_the_stream_of_a_launch_on_other_arrays(cupy):
    assert LaunchStream([Cuda()], None).on(0) in (0, 1)
    assert cupy.asked == []


def test_the_stream_of_a_launch_with_tensors_of_pytorch(cupy):
    torch = pytest.importorskip("torch")
    LaunchStream([torch.zeros(1), cupy.ndarray()], 7).on(0)
    if torch.cuda.is_available():
        torch.cuda.init()
        expected = torch.cuda.current_stream(0).cuda_stream
        assert LaunchStream([torch.zeros(1), cupy.ndarray()], None).on(0) == expected
    assert cupy.asked == []
