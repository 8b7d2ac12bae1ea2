"""Bad input: each is an exception with code, place and drawing, and the process goes on."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from conftest import SCALE

import hx

F32 = np.float32


@pytest.fixture
def scale():
    return hx.compile(SCALE, "scale.hx").scale


def refused(code, call, *args, **kwargs):
    with pytest.raises(hx.LaunchError) as caught:
        call(*args, **kwargs)
    assert caught.value.code == code, caught.value
    return caught.value


def test_errors_have_code_place_and_drawing(scale):
    error = refused("HX0603", scale, np.zeros(8, np.float64), np.zeros(8, F32), 1.0)
    assert error.message == "found f64 elements, the parameter `x` has f32"
    assert (error.file, error.line, error.column) == ("scale.hx", 2, 26)
    assert "scale.hx:2:26" in str(error) and "declared here" in str(error) and "x.astype(…)" in str(error)
    assert error.diagnostics[0]["spans"][0]["label"] == "declared here"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, str(again)) == (hx.LaunchError, error.code, str(error))


def test_wrong_number_of_arguments(scale):
    assert "takes 3: x, y, by" in refused("HX0614", scale, np.zeros(8, F32)).message
    refused("HX0614", scale, np.zeros(8, F32), np.zeros(8, F32), 1.0, 2.0)


def test_wrong_rank(scale):
    refused("HX0602", scale, np.zeros((8, 8), F32), np.zeros(8, F32), 1.0)


def test_sizes_that_disagree(scale):
    assert "but `n` is 8 in `x`" in refused("HX0604", scale, np.zeros(8, F32), np.zeros(9, F32), 1.0).message


def test_a_tensor_that_is_not_packed(scale):
    error = refused("HX0637", scale, np.zeros(16, F32)[::2], np.zeros(8, F32), 1.0)
    assert "x.contiguous()" in str(error)


def test_negative_strides(scale):
    refused("HX0638", scale, np.zeros(8, F32)[::-1], np.zeros(8, F32), 1.0)


def test_written_memory_that_another_argument_shares(scale):
    x = np.zeros(16, F32)
    error = refused("HX0605", scale, x[:8], x[4:12], 1.0)
    assert error.message == "the arguments for `x` and `y` share memory, and the kernel writes `y`"
    assert "x.copy()" in str(error)


def test_a_result_whose_elements_overlap():
    text = """kernel filled(x: mut f32[m, n] : [ld, 1]) grid [m] threads 32 {
        fill(tile(x, [1, 32])[.., .., block_idx, 0], 1.0);
    }"""
    filled = hx.compile(text).filled
    x = np.zeros(40, F32)
    rows = np.lib.stride_tricks.as_strided(x, (4, 8), (16, 4))
    assert "repeats elements" in refused("HX0605", filled, rows).message
    filled(np.lib.stride_tricks.as_strided(x, (4, 8), (32, 4)))
    assert x[:32].all() and not x[32:].any()


def test_a_read_only_result(scale):
    y = np.zeros(8, F32)
    y.flags.writeable = False
    assert "read-only" in refused("HX0638", scale, np.zeros(8, F32), y, 1.0).message
    # A read-only input is fine.
    scale(y, np.zeros(8, F32), 1.0)


def test_an_object_that_is_no_array(scale):
    refused("HX0603", scale, "text", np.zeros(8, F32), 1.0)
    refused("HX0603", scale, np.zeros(8, F32), np.zeros(8, F32), np.zeros(1, F32))


def test_elements_without_a_counterpart(scale):
    refused("HX0603", scale, np.zeros(8, np.complex64), np.zeros(8, F32), 1.0)
    refused("HX0603", scale, np.zeros(8, ">f4"), np.zeros(8, F32), 1.0)


def test_an_unknown_compile_time_argument(scale):
    refused("HX0614", scale, np.zeros(8, F32), np.zeros(8, F32), 1.0, BB=3)


def test_a_number_that_does_not_fit():
    text = "kernel f(x: mut i32[n], by: i32) grid [1] threads 32 { fill(tile(x, [32])[.., 0], by); }"
    kernel = hx.compile(text).f
    refused("HX0603", kernel, np.zeros(8, np.int32), 1 << 40)
    refused("HX0603", kernel, np.zeros(8, np.int32), 1 << 80)
    refused("HX0603", kernel, np.zeros(8, np.int32), 0.5)


def test_a_broken_requirement():
    error = refused("HX0601", hx.std.matmul, np.zeros((8, 20), np.float16), np.zeros((8, 20), np.float16), np.zeros((8, 8), np.float16))
    assert "k % BK == 0" in error.message


def test_errors_in_a_text():
    with pytest.raises(hx.CompileError) as caught:
        hx.compile("kernel f(x: f32[n]) grid [1] threads 32 { let y = z; let w = v; }", "bad.hx")
    assert (caught.value.code, caught.value.line, len(caught.value.diagnostics)) == ("HX0101", 1, 2)


MATMUL = """\
kernel matmul<BM = 64, BN = 64, BK = 16>(a: f16[m, k], b: f16[n, k], c: mut f16[m, n])
    where k % BK == 0
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let acc = register_tensor(f32, [BM, BN]);
    fill(acc, 0.0);
    for ki in 0..k / BK {
        gemm(acc, load(tile(a, [BM, BK])[.., .., bm, ki]), load(tile(b, [BN, BK])[.., .., bn, ki]));
    }
    let s = shared_tensor(f16, [BM, BN]);
    copy(cast(acc, f16), s);
    sync();
    copy(load(s), tile(c, [BM, BN])[.., .., bm, bn]);
}
"""


def test_a_race_in_a_kernel():
    text = MATMUL.replace("    sync();\n", "", 1)
    a, b, c = (np.zeros(shape, np.float16) for shape in ((64, 16), (64, 16), (64, 64)))
    kernel = hx.compile(text, "race.hx").matmul
    with pytest.raises(hx.CompileError) as caught:
        kernel(a, b, c)
    assert (caught.value.code, caught.value.file) == ("HX0401", "race.hx")
    assert "insert `sync()`" in str(caught.value)


def test_an_assertion_of_a_kernel(capsys):
    text = """kernel checked(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
        let v = load(tile(x, [32])[.., 0]);
        print("sum", sum(v, axis: 0));
        assert(v < 3.0, "too large");
        copy(v, tile(y, [32])[.., 0]);
    }"""
    checked = hx.compile(text).checked
    y = np.zeros(32, F32)
    checked(np.ones(32, F32), y)
    assert (y == 1).all()
    with pytest.raises(AssertionError) as caught:
        checked(np.full(32, 4, F32), y)
    assert isinstance(caught.value, hx.AssertionFailed) and "too large" in caught.value.message
    assert "sum" in capsys.readouterr().out
    assert (y == 1).all()


def test_a_file_that_does_not_exist():
    with pytest.raises(OSError) as caught:
        hx.load("nowhere.hx")
    assert caught.value.code == "HX0606"


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="has no kernel `missing`; it has `scale`"):
        _ = hx.compile(SCALE).missing
    with pytest.raises(AttributeError, match="no module `missing`"):
        _ = hx.std.missing
    with pytest.raises(AttributeError, match='EPILOGUE="relu"'):
        _ = hx.std.activations.relu


ENDLESS = """kernel endless(x: mut i32[n]) grid [4096] threads 128 {
    let v = register_tensor(i32, [128]);
    fill(v, 0);
    for i in 0..100000 { v = v + cast(i, i32); }
    copy(v, tile(x, [128])[.., block_idx]);
}"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_simulation(scale):
    endless, x = hx.compile(ENDLESS).endless, np.zeros(128 * 4096, np.int32)
    endless.check(x)
    # A job that a shell runs in the background ignores the signal unless it sets a handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        endless(x)
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 10
    assert not x.any()
    y = np.zeros(8, F32)
    scale(np.ones(8, F32), y, 2.0)
    assert (y == 2).all()
