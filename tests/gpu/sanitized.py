"""A few launches from Python for compute-sanitizer: products with tensor maps, empty tensors, a reduction.

    compute-sanitizer --tool memcheck python3 tests/gpu/sanitized.py
"""

import hx
import torch


def randn(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def main():
    a, b, c = randn(300, 136), randn(200, 136), torch.empty(300, 200, device="cuda", dtype=torch.bfloat16)
    hx.std.gemm.gemm(a, b, c)
    hx.std.gemm.gemm(randn(0, 136), b, randn(0, 200))
    hx.std.gemm.gemm(a[:, :0], b[:, :0], c)
    assert not c.any(), "a product over nothing is zero"
    hx.std.matmul(randn(100, 48, dtype=torch.float16), randn(72, 48, dtype=torch.float16), randn(100, 72, dtype=torch.float16))
    x = randn(7, 96, dtype=torch.float32)
    y = torch.empty_like(x)
    hx.std.norm.rmsnorm(x, randn(96, dtype=torch.float32), y, 1e-5)
    torch.cuda.synchronize()
    assert y.isfinite().all()
    print("launched")


if __name__ == "__main__":
    main()
