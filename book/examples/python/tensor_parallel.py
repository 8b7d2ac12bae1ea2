"""An MLP over several GPUs: each holds a part of the hidden units, and the parts of the result are added by NCCL.

    torchrun --nproc-per-node 2 tensor_parallel.py
"""

import hx
import hx.torch
import torch
import torch.distributed as dist


@hx.torch.op("hx_examples::linear")
def linear(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """x[m, k] · w[n, k]ᵀ, on the device of its tensors."""
    y = torch.empty((x.shape[0], w.shape[0]), dtype=x.dtype, device=x.device)
    hx.std.gemm.gemm(x, w, y)
    return y


class ParallelMLP(torch.nn.Module):
    """y = relu(x · upᵀ) · downᵀ, with the rows of `up` and the columns of `down` split over the processes."""

    def __init__(self, up: torch.Tensor, down: torch.Tensor) -> None:
        super().__init__()
        rank, world = dist.get_rank(), dist.get_world_size()
        self.up = torch.nn.Buffer(up.chunk(world, 0)[rank].contiguous())
        self.down = torch.nn.Buffer(down.chunk(world, 1)[rank].contiguous())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = linear(torch.relu(linear(x, self.up)), self.down)
        dist.all_reduce(y)
        return y


def main() -> None:
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    m, width, hidden = 1000, 2048, 8192
    x = torch.randn(m, width, device=device, dtype=torch.bfloat16)
    up = torch.randn(hidden, width, device=device, dtype=torch.bfloat16) / width**0.5
    down = torch.randn(width, hidden, device=device, dtype=torch.bfloat16) / hidden**0.5
    y = ParallelMLP(up, down)(x)
    whole = linear(torch.relu(linear(x, up)), down)
    reference = torch.relu(x.double() @ up.double().T) @ down.double().T
    parts, single = ((it.double() - reference).abs().max().item() for it in (y, whole))
    print(f"rank {rank} on {device}: largest error {parts:.4f} over {dist.get_world_size()} GPUs, {single:.4f} on one")
    assert parts < 2 * single + 1e-3, "the parallel result is wrong"
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
