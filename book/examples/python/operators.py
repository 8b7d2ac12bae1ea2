"""Kernels of the standard library as operators of PyTorch: RMSNorm with its backward, attention, an MLP, and products with weights of
4 bits.

They run on the GPU, and on the CPU in the simulator. `torch.compile` sees them as whole operators.
"""

import hx
import hx.torch
import torch


def power_of_two(n: int) -> int:
    """Returns the least power of two that is at least `n`."""
    return 1 << max(int(n) - 1, 0).bit_length()


# RMSNorm. The backward is an operator, too, so that PyTorch can trace it.


@hx.torch.op("hx_examples::rms_norm_backward")
def rms_norm_backward(
    x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    dx = torch.empty_like(x)
    dw = torch.zeros(w.shape, dtype=torch.float32, device=w.device)
    hx.std.norm_backward.rmsnorm_backward(x, w, dy, dx, dw, eps, BN=power_of_two(x.shape[-1]))
    return dx, dw


def _save(ctx, inputs, output):
    x, w, ctx.eps = inputs
    ctx.save_for_backward(x, w)


def _backward(ctx, dy):
    x, w = ctx.saved_tensors
    rows = (-1, x.shape[-1])
    dx, dw = rms_norm_backward(x.reshape(rows), w, dy.reshape(rows).contiguous(), ctx.eps)
    return dx.view(x.shape), dw.to(w.dtype), None


@hx.torch.op("hx_examples::rms_norm", backward=_backward, setup_context=_save)
def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = (-1, x.shape[-1])
    hx.std.norm.rmsnorm(x.reshape(rows), w, y.view(rows), eps, BN=power_of_two(x.shape[-1]))
    return y


# Attention: warp groups and tensor maps on Hopper, else the kernel for all architectures.


@hx.torch.op("hx_examples::attention")
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> torch.Tensor:
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    is_hopper = q.device.type == "cuda" and torch.cuda.get_device_capability(q.device) == (9, 0)
    kernel = hx.std.attention_hopper.attention_hopper if is_hopper else hx.std.attention.attention
    kernel(q, k, v, o, scale, D=q.shape[-1], CAUSAL=causal)
    return o


# A chain of layers in one kernel. Result, extents and element type come from the kernel's header.

mlp = hx.torch.op(hx.std.mlp.mlp, "hx_examples::mlp")


# Products with weights of 4 bits, in groups of 128 with a scale and a zero.

GROUP, BLOCK = 128, 64
#: Blocks of 64 rows and a group lie in one piece, the even weights of each word before its odd ones.
PACKED = f"({BLOCK},(2,4,{GROUP // 8})):({GROUP},(4,1,8))"


def quantize(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the weights of 4 bits as bytes `[n, k / 2]`, and their scales and zeros `[n, k / 128]`."""
    n, k = weight.shape
    groups = weight.float().view(n, k // GROUP, GROUP)
    low, high = groups.amin(-1), groups.amax(-1)
    scale = ((high - low) / 15).clamp(min=1e-6).to(weight.dtype)
    zero = (-low / scale.float()).round().clamp(0, 15).to(weight.dtype)
    codes = (groups / scale.float()[..., None] + zero.float()[..., None]).round().clamp(0, 15).to(torch.uint8)
    blocks = codes.view(n // BLOCK, BLOCK, k // GROUP, GROUP // 8, 4, 2).permute(0, 2, 1, 3, 5, 4).reshape(-1, 2)
    return (blocks[:, 0] | blocks[:, 1] << 4).view(n, k // 2).contiguous(), scale, zero


def dequantize(codes: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Returns the weights that `quantize` kept."""
    n, k = codes.shape[0], codes.shape[1] * 2
    pairs = torch.stack([codes & 15, codes >> 4], -1)
    codes = pairs.view(n // BLOCK, k // GROUP, BLOCK, GROUP // 8, 2, 4).permute(0, 2, 1, 3, 5, 4).reshape(n, -1, GROUP)
    return ((codes.float() - zero.float()[..., None]) * scale.float()[..., None]).view(n, k).to(scale.dtype)


@hx.torch.op("hx_examples::linear_w4a16")
def linear_w4a16(x: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    y = torch.empty((*x.shape[:-1], codes.shape[0]), dtype=x.dtype, device=x.device)
    rows = x.reshape(-1, x.shape[-1])
    hx.std.w4a16.w4a16(rows, hx.view(codes, "u4"), scale, zero, y.view(-1, codes.shape[0]), W=PACKED)
    return y


class LinearW4A16(torch.nn.Module):
    """Takes the place of an `nn.Linear` without a bias."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        for name, tensor in zip(("codes", "scale", "zero"), quantize(linear.weight.data)):
            self.register_buffer(name, tensor)

    @staticmethod
    def fits(linear: torch.nn.Linear) -> bool:
        """Reports whether the kernel takes weights of this shape."""
        n, k = linear.weight.shape
        return linear.bias is None and k % (2 * GROUP) == 0 and n % BLOCK == 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear_w4a16(x, self.codes, self.scale, self.zero)
