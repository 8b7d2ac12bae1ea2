"""Launches on NumPy arrays: on the simulator, compared with NumPy in f64, into poisoned outputs."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from conftest import SCALE

import hx


def poisoned(shape, dtype=np.float32):
    return np.full(shape, np.nan, dtype)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 16), (100, 72, 48), (1, 200, 16), (65, 1, 80)])
def test_a_product_of_ragged_sizes(rng, m, n, k):
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    c = poisoned((m, n), np.float16)
    hx.std.matmul(a, b, c)
    reference = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c, reference, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("n", [0, 1, 127, 128, 300])
def test_numbers_and_sizes(rng, n):
    x, y = rng.standard_normal(n).astype(np.float32), poisoned(n)
    hx.compile(SCALE).scale(x, y, 2.5)
    np.testing.assert_array_equal(y, x * np.float32(2.5))


def test_arguments_by_name(rng):
    x, y = rng.standard_normal(100).astype(np.float32), poisoned(100)
    scale = hx.compile(SCALE).scale
    scale(x, by=3, y=y)
    np.testing.assert_array_equal(y, x * 3)
    scale(by=-1.0, y=y, x=x)
    np.testing.assert_array_equal(y, -x)
    for by in (np.float32(0.5), np.float64(0.5), np.int64(2)):
        scale(x, y, by)
        np.testing.assert_array_equal(y, x * np.float32(by))


def test_compile_time_arguments(rng):
    x, y = rng.standard_normal(100).astype(np.float32), poisoned(100)
    scale = hx.compile(SCALE).scale
    scale(x, y, 2.0, B=256)
    np.testing.assert_array_equal(y, x * 2)
    fixed = scale.specialize(B=64)
    assert fixed.fixed == {"B": "64"} and scale.fixed == {}
    fixed(x, y, 4.0)
    np.testing.assert_array_equal(y, x * 4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_element_types_are_inferred_from_arrays(rng, dtype):
    x, w = rng.standard_normal((5, 100)).astype(dtype), rng.standard_normal(100).astype(dtype)
    y = poisoned((5, 100), dtype)
    hx.std.norm.rmsnorm(x, w, y, 1e-5)
    wide = x.astype(np.float64)
    reference = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * w
    np.testing.assert_allclose(y, reference, rtol=4e-3 if dtype == np.float16 else 1e-5, atol=1e-3)


def test_an_element_type_as_an_argument(rng):
    text = """kernel widened<T: type>(x: T[n], y: mut f32[n]) grid [1] threads 32 {
        copy(cast(load(tile(x, [64])[.., 0]), f32), tile(y, [64])[.., 0]);
    }"""
    widened = hx.compile(text).widened
    x, y = rng.standard_normal(50).astype(np.float16), poisoned(50)
    for given in (hx.f16, "f16", np.float16, np.dtype("float16")):
        widened(x, y, T=given)
        np.testing.assert_array_equal(y, x.astype(np.float32))
    with pytest.raises(hx.LaunchError, match="found f16 elements"):
        widened(x, y, T=hx.f32)


def test_a_function_as_an_argument(rng):
    text = """use std::activations::{identity, relu};
    fn negated(x: register f32[N]) -> register f32[N] { -x }
    kernel mapped<F: fn = identity>(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
        copy(F(load(tile(x, [64])[.., 0])), tile(y, [64])[.., 0]);
    }"""
    module = hx.compile(text)
    x, y = rng.standard_normal(64).astype(np.float32), poisoned(64)
    module.mapped(x, y)
    np.testing.assert_array_equal(y, x)
    module.mapped(x, y, F="relu")
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    module.mapped(x, y, F="negated")
    np.testing.assert_array_equal(y, -x)


STRIDED = """\
kernel doubled(x: f32[m, n] : [ld, 1], y: mut f32[m, n] : [out, 1]) grid [cdiv(n, 32), m] threads 32 {
    let [column, row] = block_idx;
    copy(2.0 * load(tile(x, [1, 32])[.., .., row, column]), tile(y, [1, 32])[.., .., row, column]);
}
"""


def test_strides_are_taken_as_they_are(rng):
    x = rng.standard_normal((6, 100)).astype(np.float32)
    y = np.zeros((6, 64), np.float32)
    hx.compile(STRIDED).doubled(x[:, 10:50], y[:, 4:44])
    np.testing.assert_array_equal(y[:, 4:44], 2 * x[:, 10:50])
    assert not y[:, :4].any() and not y[:, 44:].any()


def test_columns_of_one_array_do_not_overlap(rng):
    x = rng.standard_normal((6, 100)).astype(np.float32)
    before = x.copy()
    hx.compile(STRIDED).doubled(x[:, :50], x[:, 50:])
    np.testing.assert_array_equal(x[:, 50:], 2 * before[:, :50])
    np.testing.assert_array_equal(x[:, :50], before[:, :50])


def test_integers_and_bytes(rng):
    text = """kernel add<T: type>(x: T[n], y: T[n], z: mut T[n]) grid [cdiv(n, 64)] threads 64 {
        copy(load(tile(x, [64])[.., block_idx]) + load(tile(y, [64])[.., block_idx]), tile(z, [64])[.., block_idx]);
    }"""
    add = hx.compile(text).add
    for dtype in (np.int8, np.int32, np.int64, np.uint8):
        x, y = (rng.integers(0, 60, 77).astype(dtype) for _ in range(2))
        z = np.zeros(77, dtype)
        add(x, y, z)
        np.testing.assert_array_equal(z, x + y)


def test_four_bits_in_each_half_of_a_byte(rng):
    text = """kernel widened(x: u4[m, n], y: mut i32[m, n]) grid [m] threads 32 {
        copy(cast(load(tile(x, [1, 64])[.., .., block_idx, 0]), i32), tile(y, [1, 64])[.., .., block_idx, 0]);
    }"""
    packed = rng.integers(0, 256, (3, 32), dtype=np.uint8)
    y = np.zeros((3, 64), np.int32)
    hx.compile(text).widened(hx.view(packed, "u4"), y)
    np.testing.assert_array_equal(y, np.stack([packed & 15, packed >> 4], -1).reshape(3, 64))


def test_bfloat16_of_ml_dtypes(rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = rng.standard_normal((4, 80)).astype(ml_dtypes.bfloat16)
    w, y = np.ones(80, ml_dtypes.bfloat16), np.zeros((4, 80), ml_dtypes.bfloat16)
    hx.std.norm.rmsnorm(x, w, y, 1e-5)
    wide = x.astype(np.float64)
    reference = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y.astype(np.float64), reference, rtol=2e-2, atol=1e-2)


WIDENED = """kernel widened<S: type, T: type>(x: S[m, n], y: mut T[m, n]) where n % 2 == 0 grid [m] threads 32 {
    copy(cast(load(tile(x, [1, 64])[.., .., block_idx, 0]), T), tile(y, [1, 64])[.., .., block_idx, 0]);
}"""


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float8_e8m0fnu", "float8_e5m2"])
def test_narrow_numbers_of_ml_dtypes(rng, name):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name)
    kernel = hx.compile(WIDENED).widened
    bits = 2 if name.endswith("int2") else 4 if "4" in name[:6] else 8
    patterns = rng.integers(0, 1 << bits, (3, 64), dtype=np.uint8)
    if name.startswith("int"):
        patterns = np.where(patterns >> (bits - 1), patterns | (256 - (1 << bits)), patterns).astype(np.uint8)
    # The rows of an array in columns are not contiguous.
    for x in [patterns.view(dtype), np.asfortranarray(patterns).view(dtype) if bits < 8 else patterns.view(dtype)]:
        y = np.zeros((3, 64), np.float32)
        kernel(x, y)
        np.testing.assert_array_equal(y, x.astype(np.float32))
        back = np.zeros((3, 64), dtype)
        kernel(np.nan_to_num(y, nan=1.0, posinf=1.0, neginf=1.0), back)
        finite = np.isfinite(y)
        np.testing.assert_array_equal(back.astype(np.float32)[finite], y[finite])


def test_names_of_block_scaled_types():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kernel = hx.compile(WIDENED).widened
    x, y = np.ones((1, 64), ml_dtypes.float4_e2m1fn), np.zeros((1, 64), ml_dtypes.float8_e8m0fnu)
    kernel(x, y, S=hx.f4e2m1, T=ml_dtypes.float8_e8m0fnu)
    np.testing.assert_array_equal(y.view(np.uint8), 127)
    packed = np.full((1, 32), 0x2C, np.uint8)
    wide = np.zeros((1, 64), np.float32)
    kernel(hx.view(packed, "f4e2m1"), wide)
    np.testing.assert_array_equal(wide[0, :2], [-2, 1])


def test_an_array_of_another_library(rng):
    class Wrapped:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    x, y = rng.standard_normal(100).astype(np.float32), poisoned(100)
    hx.compile(SCALE).scale(Wrapped(x), y, 2.0)
    np.testing.assert_array_equal(y, x * 2)


def test_prints_of_a_kernel(capsys):
    text = """kernel told(x: f32[n]) grid [2] threads 32 {
        print("block", cast(block_idx, i32));
        print("all", load(tile(x, [4])[.., 0]));
    }"""
    hx.compile(text).told(np.arange(4, dtype=np.float32))
    printed = capsys.readouterr().out
    assert "told block [1]: block cast(block_idx, i32) = 1" in printed
    assert printed.count("[0.0, 1.0, 2.0, 3.0]") == 2


def test_threads_launch_at_the_same_time(rng):
    scale = hx.compile(SCALE).scale
    results, errors = {}, []

    def work(number):
        try:
            for size in (50, 150, 250):
                x, y = np.full(size, number, np.float32), poisoned(size)
                scale(x, y, 2.0)
                results[number, size] = (y == 2 * number).all()
        except Exception as error:  # The thread has no other way to tell.
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(results) == 24 and all(results.values())


FAMILY = """
#[family(moved<B = 1024>, moved<B = 64>, rows)]
kernel moved<B: int = 128>(x: f32[n], y: mut f32[n]) where n % B == 0 grid [n / B] threads 32 {
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
    if block_idx == 0 { print("moved", B); }
}
kernel rows(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
    for i in 0..cdiv(n, 32) {
        copy(load(tile(x, [32])[.., i]), tile(y, [32])[.., i]);
    }
    print("rows");
}
"""


@pytest.mark.parametrize(
    ("n", "given", "printed"),
    [
        (2048, {}, "moved B = 64"),
        (96, {}, "rows"),
        (2048, {"B": 1024}, "moved B = 1024"),
        (2048, {"tune": "first-call"}, "moved B = 64"),
    ],
)
def test_a_call_runs_the_fastest_member_of_a_family(rng, capsys, n, given, printed):
    x, y = rng.standard_normal(n).astype(np.float32), poisoned(n)
    moved = hx.compile(FAMILY).moved
    moved.warmup(x, y, **given)
    assert capsys.readouterr().out == ""
    moved(x, y, **given)
    np.testing.assert_array_equal(y, x)
    assert printed in capsys.readouterr().out


def test_the_members_of_a_family(rng):
    x, y = rng.standard_normal(96).astype(np.float32), poisoned(96)
    moved = hx.compile(FAMILY).moved
    first, *others = moved.members(x, y)
    assert first["name"] == "rows" and first["microseconds"] > 0 and not first["measured"]
    assert [other["name"] for other in others] == ["moved<B = 1024>", "moved<B = 64>"]
    assert "n % B == 0" in others[0]["unfit"] and others[0]["microseconds"] is None
    assert moved.members(x, y, B=64) == []
    with pytest.raises(hx.LaunchError, match="expected `model` or `first-call`"):
        moved(x, y, tune="often")


def test_the_plain_product_of_any_shape(rng):
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((17, 45), (24, 45)))
    c = poisoned((17, 24), np.float16)
    hx.std.gemm(a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=4e-3, atol=4e-3)
    names = [member["name"] for member in hx.std.gemm.gemm.members(a, b, c) if member["unfit"] is None]
    assert all(name.startswith(("gemm_any", "gemm_skinny")) for name in names) and len(names) > 1
