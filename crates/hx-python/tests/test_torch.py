"""PyTorch's tensors: on a GPU if there is one, else on the CPU, where the simulator runs the kernels."""

from __future__ import annotations

import math
import threading

import pytest
from conftest import SCALE, SEED

import hx

torch = pytest.importorskip("torch")
from torch import library as operators  # noqa: E402

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
needs_gpu = pytest.mark.skipif(not CUDA, reason="needs a GPU")


@pytest.fixture(autouse=True)
def seeded():
    print(f"HX_TEST_SEED={SEED}")
    torch.manual_seed(SEED)


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def poisoned(*shape, dtype=torch.float32):
    return torch.full(shape, math.nan, device=DEVICE, dtype=dtype)


@pytest.mark.skipif(not hasattr(torch, "float4_e2m1fn_x2"), reason="PyTorch has no block-scaled types")
def test_block_scaled_weights():
    text = """kernel scaled(w: f4e2m1[n, k], s: f8e8m0[n, g], y: mut f32[n, k]) where k % 32 == 0, g == k / 32 grid [n] threads 32 {
        let t = cast(load(tile(w, [1, 64])[.., .., block_idx, 0]), f32);
        let by = cast(load(tile(s, [1, 2])[.., .., block_idx, 0]), f32);
        copy(reshape(reshape(t, [1, 2, 32]) * by[.., .., new], [1, 64]), tile(y, [1, 64])[.., .., block_idx, 0]);
    }"""
    packed = torch.randint(0, 256, (5, 32), dtype=torch.uint8, device=DEVICE)
    scale = torch.randint(100, 150, (5, 2), dtype=torch.uint8, device=DEVICE).view(torch.float8_e8m0fnu)
    y = poisoned(5, 64)
    hx.compile(text).scaled(packed.view(torch.float4_e2m1fn_x2), scale, y)
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], device=DEVICE)
    values = torch.cat([values, -values])
    wide = values[torch.stack([packed & 15, packed >> 4], -1).reshape(5, 64).long()]
    torch.testing.assert_close(y, wide * scale.float().repeat_interleave(32, 1), rtol=0, atol=0)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 16), (100, 72, 48), (257, 129, 80)])
def test_a_product(m, n, k):
    a, b, c = randn(m, k, dtype=torch.float16), randn(n, k, dtype=torch.float16), poisoned(m, n, dtype=torch.float16)
    hx.std.matmul(a, b, c)
    reference = a.double() @ b.double().T
    torch.testing.assert_close(c.double(), reference, rtol=4e-3, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_product_with_tensor_maps(dtype):
    if CUDA and torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs sm_90a")
    m, n, k = (500, 264, 200) if CUDA else (130, 72, 72)
    for a, b in [(randn(m, k, dtype=dtype), randn(n, k, dtype=dtype)), (randn(k, m + 4, dtype=dtype)[:, :m].T, randn(n, k, dtype=dtype))]:
        c = poisoned(m, n, dtype=dtype)
        hx.std.gemm.gemm(a, b, c)
        error = (c.double() - a.double() @ b.double().T).abs().max().item()
        assert error < (0.5 if dtype == torch.bfloat16 else 0.06), error


def test_rows_of_a_larger_tensor():
    x, y = randn(8, 256), torch.zeros(8, 256, device=DEVICE)
    scale = hx.compile(SCALE).scale
    scale(x[3, 5:], y[2, 5:], 2.0)
    torch.testing.assert_close(y[2, 5:], 2 * x[3, 5:], rtol=0, atol=0)
    assert not y[2, :5].any() and not y[3].any()


def test_floats_change_without_another_compile():
    scale, x, y = hx.compile(SCALE).scale, randn(100), poisoned(100)
    for by in (1.0, -2.5, 1e-3):
        scale(x, y, by)
        torch.testing.assert_close(y, x * by, rtol=0, atol=0)


def test_wrong_tensors_are_refused():
    scale = hx.compile(SCALE).scale
    x, y = randn(64), poisoned(64)
    for code, call in [
        ("HX0603", lambda: scale(x.double(), y, 1.0)),
        ("HX0637", lambda: scale(randn(128)[::2], y, 1.0)),
        ("HX0605", lambda: scale(x[:32], x[16:48], 1.0)),
        ("HX0604", lambda: scale(randn(65), y, 1.0)),
        ("HX0614", lambda: scale(x, y)),
        ("HX0603", lambda: scale(x.to(torch.complex64), y, 1.0)),
    ]:
        with pytest.raises(hx.LaunchError) as caught:
            call()
        assert caught.value.code == code, str(caught.value)
    freed = randn(64)
    freed.untyped_storage().resize_(0)
    with pytest.raises(hx.LaunchError, match="storage was freed or resized to 0"):
        scale(freed, y, 1.0)
    scale(x, y, 1.0)
    torch.testing.assert_close(y, x, rtol=0, atol=0)


@needs_gpu
def test_tensors_of_two_places_are_refused():
    scale = hx.compile(SCALE).scale
    with pytest.raises(hx.LaunchError, match="`x` is on cuda:0 and `y` in host memory"):
        scale(randn(64), torch.zeros(64), 1.0)
    if torch.cuda.device_count() > 1:
        with pytest.raises(hx.LaunchError, match="on cuda:1"):
            scale(randn(64), torch.zeros(64, device="cuda:1"), 1.0)
        x = torch.randn(64, device="cuda:1")
        y = torch.zeros_like(x)
        scale(x, y, 2.0)
        torch.testing.assert_close(y, 2 * x, rtol=0, atol=0)
        assert torch.cuda.current_device() == 0


CHECKED = """\
kernel checked(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
    let v = load(tile(x, [32])[.., 0]);
    print("sum", sum(v, axis: 0));
    assert(v < 3.0, "too large");
    copy(v, tile(y, [32])[.., 0]);
}
"""


def test_prints_and_assertions(capsys):
    checked, y = hx.compile(CHECKED).checked, poisoned(32)
    checked(torch.ones(32, device=DEVICE), y)
    assert (y == 1).all()
    with pytest.raises(AssertionError) as caught:
        checked(torch.full((32,), 4.0, device=DEVICE), y)
    assert isinstance(caught.value, hx.AssertionFailed) and "too large" in caught.value.message
    assert capsys.readouterr().out.count("sum(v, axis: 0)") == 2


# Operators.


def backward(ctx, grad):
    x, w = ctx.saved_tensors
    dx, dw = torch.ops.hxtest.rms_norm_backward(x, w, grad.contiguous(), ctx.eps)
    return dx, dw.to(w.dtype), None


def save(ctx, inputs, output):
    x, w, ctx.eps = inputs
    ctx.save_for_backward(x, w)


@pytest.fixture(scope="module")
def rms_norm():
    import hx.torch

    @hx.torch.op("hxtest::rms_norm_backward")
    def derivatives(x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
        dx, dw = torch.empty_like(x), torch.zeros(w.shape, device=w.device, dtype=torch.float32)
        hx.std.norm_backward.rmsnorm_backward(x, w, dy, dx, dw, eps)
        return dx, dw

    return hx.torch.op(hx.std.norm.rmsnorm, "hxtest::rms_norm", backward=backward, setup_context=save)


@pytest.fixture(scope="module")
def block():
    import hx.torch

    @hx.torch.op("hxtest::scaled_product")
    def scaled_product(a: torch.Tensor, b: torch.Tensor, by: float) -> torch.Tensor:
        c = torch.empty((a.shape[0], b.shape[0]), dtype=a.dtype, device=a.device)
        hx.std.matmul(a, b, c)
        scaled = torch.empty(c.shape, dtype=torch.float32, device=c.device)
        hx.compile(SCALE).scale(c.float().view(-1), scaled.view(-1), by)
        return scaled

    return scaled_product


def test_an_operator_of_a_kernel(rms_norm):
    for dtype, tolerance in [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)]:
        x, w = randn(7, 96, dtype=dtype), randn(96, dtype=dtype)
        y = rms_norm(x, w, 1e-5)
        reference = torch.nn.functional.rms_norm(x.double(), (96,), w.double(), 1e-5)
        torch.testing.assert_close(y.double(), reference, rtol=tolerance, atol=tolerance)


def test_an_operator_with_its_backward(rms_norm):
    x, w = randn(7, 96).requires_grad_(), randn(96).requires_grad_()
    grad = randn(7, 96)
    rms_norm(x, w, 1e-5).backward(grad)
    x64, w64 = x.detach().double().requires_grad_(), w.detach().double().requires_grad_()
    torch.nn.functional.rms_norm(x64, (96,), w64, 1e-5).backward(grad.double())
    torch.testing.assert_close(x.grad.double(), x64.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(w.grad.double(), w64.grad, rtol=1e-4, atol=1e-4)


def test_operators_pass_opcheck(rms_norm, block):
    x, w = randn(5, 96).requires_grad_(), randn(96).requires_grad_()
    operators.opcheck(rms_norm.overload, (x, w, 1e-5))
    a, b = randn(64, 32, dtype=torch.float16), randn(48, 32, dtype=torch.float16)
    operators.opcheck(block.overload, (a, b, 0.5))


def test_an_operator_that_changes_its_argument():
    import hx.torch

    text = """kernel add_to(y: mut f32[n], x: f32[n]) grid [cdiv(n, 64)] threads 64 {
        let t = tile(y, [64])[.., block_idx];
        copy(load(t) + load(tile(x, [64])[.., block_idx]), t);
    }"""
    add_to = hx.torch.op(hx.compile(text).add_to, "hxtest::add_to", mutates=["y"])
    y, x = torch.ones(100, device=DEVICE), randn(100)
    assert add_to(y, x) is None
    torch.testing.assert_close(y, 1 + x)
    operators.opcheck(add_to.overload, (y, x))


def test_an_extent_that_does_not_follow():
    import hx.torch

    text = "kernel first(x: f32[n], y: mut f32[m]) grid [1] threads 32 { copy(load(tile(x, [8])[.., 0]), tile(y, [8])[.., 0]); }"
    first = hx.compile(text).first
    with pytest.raises(ValueError, match="the extent `m` of `y` does not follow from the inputs"):
        hx.torch.op(first, "hxtest::first")
    made = hx.torch.op(first, "hxtest::first_of", outputs={"y": lambda x: x.new_empty(5)})
    x = randn(8)
    torch.testing.assert_close(made(x), x[:5])


@pytest.fixture(scope="module")
def examples():
    import importlib.util
    import pathlib

    path = pathlib.Path(__file__).parents[3] / "book/examples/python/operators.py"
    spec = importlib.util.spec_from_file_location("operators_of_the_book", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_operators_of_the_book(examples):
    q, k, v = (randn(2, 4, 200, 64, dtype=torch.float16) for _ in range(3))
    attention = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True, scale=0.125)
    x, w, b = randn(200, 64, dtype=torch.float16), randn(3, 64, 64, dtype=torch.float16) * 0.1, randn(3, 64, dtype=torch.float16)
    chain = x.double()
    for layer in range(3):
        chain = chain @ w[layer].double().T + b[layer].double()
        chain = torch.relu(chain) if layer < 2 else chain
    codes, scale, zero = examples.quantize(randn(128, 512, dtype=torch.float16))
    rows = randn(3, 5, 512, dtype=torch.float16)
    product = rows.double() @ examples.dequantize(codes, scale, zero).double().T
    n, g = randn(3, 7, 96, dtype=torch.float16), randn(96, dtype=torch.float16)
    norm = torch.nn.functional.rms_norm(n.double(), (96,), g.double(), 1e-5)
    for op, args, reference in [
        (examples.attention, (q, k, v, True, 0.125), attention),
        (examples.mlp, (x, w, b), chain),
        (examples.linear_w4a16, (rows, codes, scale, zero), product),
        (examples.rms_norm, (n, g, 1e-5), norm),
    ]:
        torch.testing.assert_close(op(*args).double(), reference, rtol=1e-2, atol=2e-2)
        if CUDA:
            compiled = torch.compile(lambda *args, op=op: op(*args) * 2, fullgraph=True)
            torch.testing.assert_close(compiled(*args).double(), reference * 2, rtol=1e-2, atol=4e-2)
            operators.opcheck(op.overload, args)


@needs_gpu
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_program_without_breaks(rms_norm, dynamic):
    def program(x, w):
        return rms_norm(torch.nn.functional.silu(x), w, 1e-5) + 1

    compiled = torch.compile(program, fullgraph=True, dynamic=dynamic)
    for rows in (8, 24, 56):
        x, w = randn(rows, 256).requires_grad_(), randn(256).requires_grad_()
        torch.testing.assert_close(compiled(x, w), program(x, w), rtol=1e-5, atol=1e-5)
        compiled(x, w).sum().backward()
        assert x.grad.isfinite().all()


# What only a GPU has: streams, graphs, threads, faults.


@needs_gpu
def test_the_current_stream_and_named_ones():
    scale, x = hx.compile(SCALE).scale, randn(1 << 20)
    outputs = [torch.zeros_like(x) for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in outputs]
    torch.cuda.synchronize()
    for number, (stream, y) in enumerate(zip(streams, outputs)):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(2_000_000)
            y.fill_(5)
            scale(x, y, float(number))
    side = torch.cuda.Stream()
    z = torch.zeros_like(x)
    torch.cuda.synchronize()
    for number, y in enumerate(outputs):
        torch.testing.assert_close(y, x * number, rtol=0, atol=0)
    scale(x, z, 7.0, stream=side)
    side.synchronize()
    torch.testing.assert_close(z, x * 7, rtol=0, atol=0)


@needs_gpu
def test_a_captured_graph():
    scale, x, y = hx.compile(SCALE).scale, randn(1000), poisoned(1000)
    scale(x, y, 2.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            scale(x, y, 2.0)
            x.copy_(y)
    start = randn(1000)
    x.copy_(start)
    graph.replay()
    torch.testing.assert_close(y, start * 8, rtol=0, atol=0)
    checked = hx.compile(CHECKED).checked
    a, b = torch.ones(32, device=DEVICE), poisoned(32)
    checked(a, b)
    with pytest.raises(hx.LaunchError, match="cannot be captured"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            checked(a, b)


@needs_gpu
def test_eight_threads():
    scale = hx.compile(SCALE).scale
    wrong = []

    def work(number):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for round in range(50):
                x = torch.full((1000 + number + 7 * (round % 5),), float(number), device="cuda")
                y = torch.empty_like(x)
                scale(x, y, 2.0)
                stream.synchronize()
                if not (y == 2 * number).all():
                    wrong.append((number, round))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_gpu
def test_memory_stays_the_same_over_many_calls():
    import resource

    scale, x, y = hx.compile(SCALE).scale, randn(1 << 16), poisoned(1 << 16)

    def calls(count):
        for number in range(count):
            scale(x[: 1000 + number % 700], y[: 1000 + number % 700], number * 0.5)
        torch.cuda.synchronize()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, torch.cuda.mem_get_info()[0]

    calls(2000)
    before = calls(2000)
    after = calls(10_000)
    assert after[0] - before[0] < 4 << 10, "KiB of host memory"
    assert before[1] - after[1] < 4 << 20, "bytes of device memory"


FAULT = """\
import torch, hx
kernel = hx.compile('''kernel wild(x: mut f32[n]) grid [1] threads 32 { fill(tile(x, [32])[.., 0], 1.0); }''').wild
x = torch.zeros(32, device="cuda")
kernel(x)

class Nowhere:
    __cuda_array_interface__ = {"data": (1 << 46, False), "shape": (32,), "typestr": "<f4", "strides": None, "version": 3}

try:
    kernel(Nowhere())
    torch.cuda.synchronize()
except RuntimeError as error:
    print(type(error).__name__)
try:
    kernel(x)
except hx.ContextLost as error:
    print(error)
"""


@needs_gpu
@pytest.mark.parametrize("blocking", [False, True])
def test_a_fault_names_the_kernel(blocking, tmp_path):
    import os
    import subprocess
    import sys

    script = tmp_path / "fault.py"
    script.write_text(FAULT)
    env = {**os.environ, "CUDA_LAUNCH_BLOCKING": "1" if blocking else "0"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "HX0639" in done.stdout and "`wild`" in done.stdout and "this process's CUDA context is lost" in done.stdout
