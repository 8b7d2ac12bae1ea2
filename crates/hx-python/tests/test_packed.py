"""Arrays in blocks: packed for a kernel or in a given layout, and refused where a kernel reads another order."""

import numpy as np
import pytest

import hx

KERNEL = """\
kernel widened<W: layout = infer>(w: u4[n, k] : W, y: mut f16[n, k])
    where n % 64 == 0, k % 64 == 0
    grid [n / 64]
    threads 128
{
    for i in 0..k / 64 {
        copy(cast(load(tile(w, [64, 64])[.., .., block_idx, i]), f16), tile(y, [64, 64])[.., .., block_idx, i]);
    }
}

kernel copied<T: type, W: layout>(w: T[n, k] : W, y: mut T[n, k]) grid [1] threads 32 {
    copy(load(tile(w, [16, 32])[.., .., 0, 0]), tile(y, [16, 32])[.., .., 0, 0]);
}
"""


def weights(n: int, k: int) -> np.ndarray:
    """Two elements of 4 bits in each byte."""
    return np.random.default_rng(0).integers(0, 256, (n, k // 2), np.uint8)


def widened(packed: np.ndarray) -> np.ndarray:
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(packed.shape[0], -1).astype(np.float16)


def test_packed_for_a_kernel():
    kernel = hx.compile(KERNEL).widened
    w = weights(128, 64)
    packed = hx.pack(hx.view(w, "u4"), kernel)
    assert packed.order in kernel.why("w")
    y = np.full((128, 64), np.nan, np.float16)
    kernel(packed, y)
    assert (y == widened(w)).all()
    assert (hx.unpack(packed).array == w).all()
    assert (hx.pack(hx.view(w, "u4"), kernel, of="w").array == packed.array).all()
    kernel(hx.view(packed.array.copy(), "u4", order=packed.order), y)


def test_other_orders_are_refused():
    module = hx.compile(KERNEL)
    w, y = weights(128, 64), np.zeros((128, 64), np.float16)
    with pytest.raises(hx.LaunchError, match="lies in row-major order") as raised:
        module.widened(hx.view(w, "u4"), y)
    assert raised.value.code == "HX0641"
    with pytest.raises(hx.LaunchError, match=r"lies in blocks `\(64,64\):\(64,1\)`"):
        module.widened(hx.pack(hx.view(w, "u4"), "(64,64):(64,1)"), y)
    with pytest.raises(hx.LaunchError, match="infers no order for `y`"):
        hx.pack(hx.view(w, "u4"), module.widened, of="y")
    with pytest.raises(hx.LaunchError, match="infers the order of no tensor"):
        hx.pack(hx.view(w, "u4"), module.copied)
    with pytest.raises(hx.LaunchError, match="already|was packed"):
        hx.pack(hx.pack(hx.view(w, "u4"), module.widened), module.widened)
    with pytest.raises(hx.LaunchError, match="without an order"):
        hx.unpack(hx.view(w, "u4"))
    with pytest.raises(hx.LaunchError, match="is no layout"):
        hx.pack(w, "blocks")


def test_packed_in_a_layout():
    kernel = hx.compile(KERNEL).copied
    w = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    y = np.zeros_like(w)
    packed = hx.pack(w, "(8,8):(8,1)")
    assert packed.dtype is None and packed.array.dtype == np.float32
    kernel(packed, y, W="(8,8):(8,1)")
    assert (y == w).all()
    # Memory that was not packed here is taken as the launch declares it.
    kernel(packed.array, y, W="(8,8):(8,1)")
    assert (y == w).all()
    assert (hx.unpack(packed) == w).all()
