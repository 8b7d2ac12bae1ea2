#!/usr/bin/env python3
"""The products and the attention of `std` beside cuBLAS and cuDNN, in turns and in one process.

    python3 tests/gpu/hopper.py build out/hopper --hx target/release/hx     # where the CUDA compiler is
    python3 tests/gpu/hopper.py run out/hopper --json out/hopper.json       # where PyTorch and the GPU are

`build` makes machine code with `hx build`, and needs no GPU. `run` checks every result against one in 32 bits, then times the
kernels of a case in turns with PyTorch's own. The peer takes part twice: the distance between its two figures is what a
difference means on this machine and day. Each case has a goal, the share of the peer's speed that its best kernel must reach.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from harness import HarnessError, Kernel, quantile, race, torch_dtype

ROOT = Path(__file__).resolve().parents[2]
INDEX = "index.json"
SECONDS_TO_HANG = 10.0
TOLERANCES = {"f16": 2e-2, "bf16": 1e-1}


# --------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class Gemm:
    """`c[m, n] = a[m, k] · b[n, k]ᵀ`, beside cuBLAS."""

    dtype: str
    m: int
    n: int
    k: int
    goal: float
    family = "gemm"
    peer = "cublas"

    @property
    def name(self):
        return f"gemm-{self.dtype}-{self.m}x{self.n}x{self.k}"

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k

    @property
    def generics(self):
        return {"T": self.dtype}


@dataclass(frozen=True)
class Attention:
    """`o = softmax(scale · q · kᵀ) · v`, beside cuDNN."""

    dtype: str
    batch: int
    heads: int
    positions: int
    size: int
    causal: bool
    goal: float
    family = "attention"
    peer = "cudnn"

    @property
    def name(self):
        shape = f"{self.batch}x{self.heads}x{self.positions}x{self.size}"
        return f"attention-{self.dtype}-{shape}-{'causal' if self.causal else 'full'}"

    @property
    def flops(self):
        full = 4 * self.batch * self.heads * self.positions**2 * self.size
        return full // 2 if self.causal else full

    @property
    def generics(self):
        return {"T": self.dtype, "D": str(self.size), "CAUSAL": "true" if self.causal else "false"}


CASES = [
    *(
        Gemm(dtype, m, n, k, 0.96)
        for dtype in ("f16", "bf16")
        for m, n, k in ((4096, 4096, 4096), (8192, 8192, 4096))
    ),
    *(
        Attention("f16", 16, 16, 4096, size, causal, 0.80 if causal else 0.85)
        for size in (64, 128)
        for causal in (False, True)
    ),
]


@dataclass(frozen=True)
class Contender:
    """A kernel that takes part in the cases of a family, with compile-time arguments besides those of the case."""

    name: str
    family: str
    file: str
    kernel: str
    generics: tuple[tuple[str, str], ...] = ()

    def is_there(self):
        path = ROOT / self.file
        return path.is_file() and has_kernel(path.read_text(encoding="utf-8"), self.kernel)


CONTENDERS = [
    Contender("gemm", "gemm", "std/gemm.hx", "gemm"),
    Contender("gemm_pingpong", "gemm", "std/gemm.hx", "gemm_pingpong"),
    Contender("matmul_pipelined", "gemm", "std/matmul_pipelined.hx", "matmul_pipelined"),
    Contender("attention_hopper", "attention", "std/attention_hopper.hx", "attention_hopper"),
    Contender("attention", "attention", "std/attention.hx", "attention"),
]


def has_kernel(text, name):
    return re.search(rf"^\s*(?:pub\s+)?kernel\s+{re.escape(name)}\b", text, re.MULTILINE) is not None


def contender(text):
    """Reads `NAME=FAMILY:FILE::KERNEL`, with `:BM=128,BN=256` behind it for compile-time arguments."""
    found = re.fullmatch(r"([\w-]+)=(gemm|attention):(.+?)::(\w+)(?::(.+))?", text)
    if not found:
        raise HarnessError(f"found `{text}`, expected NAME=gemm:FILE::KERNEL or NAME=attention:FILE::KERNEL:BM=128,…")
    name, family, file, kernel, given = found.groups()
    pairs = [part.partition("=") for part in (given or "").split(",") if part]
    return Contender(name, family, file, kernel, tuple((key.strip(), value.strip()) for key, _, value in pairs))


def chosen(cases, only):
    """The cases whose names contain one of the texts; all without a text."""
    return [case for case in cases if not only or any(text in case.name for text in only)]


# --------------------------------------------------------------------------------------------------- build


def build(args):
    out = Path(args.folder)
    out.mkdir(parents=True, exist_ok=True)
    every = CONTENDERS + [contender(text) for text in args.add]
    there = [one for one in every if one.is_there()]
    for one in every:
        if one not in there:
            print(f"left out: `{one.file}` has no kernel `{one.kernel}`")
    index, failed = [], 0
    for case in chosen(CASES, args.only):
        for one in (one for one in there if one.family == case.family):
            code = out / f"{case.name}-{one.name}.cubin"
            command = [args.hx, "build", one.file, "--kernel", one.kernel, "--target", "sm_90a", "-o", str(code.resolve())]
            for key, value in {**case.generics, **dict(one.generics)}.items():
                command += ["--set", f"{key}={value}"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                failed += 1
                print(f"FAILED: {' '.join(command)}\n{done.stderr.strip()}")
                continue
            description = code.with_suffix(".json")
            found = json.loads(description.read_text(encoding="utf-8")).get("resources") or {}
            known = ", ".join(f"{key} {value}" for key, value in found.items() if isinstance(value, int) and value)
            print(f"{code.name}: {known or 'built'}")
            index.append({"case": case.name, "contender": one.name, "description": description.name})
    (out / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    print(f"{len(index)} kernels built, {failed} failed")
    return 1 if failed or not index else 0


# --------------------------------------------------------------------------------------------------- run


def normal(shape, dtype, seed):
    import torch

    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(torch_dtype(dtype))


class Problem:
    """The tensors of a case by the names of the kernels' parameters, its reference, its peer and its scalars."""

    def __init__(self, case):
        import torch

        self.case = case
        if case.family == "gemm":
            a, b = normal((case.m, case.k), case.dtype, 1), normal((case.n, case.k), case.dtype, 2)
            self.tensors, self.output, self.scalars = {"a": a, "b": b}, "c", {}
            shape = (case.m, case.n)
        else:
            shape = (case.batch, case.heads, case.positions, case.size)
            self.tensors = {name: normal(shape, case.dtype, seed) for seed, name in enumerate("qkv", 1)}
            self.output, self.scalars = "o", {"scale": 1.0 / math.sqrt(case.size)}
        self.tensors[self.output] = torch.empty(shape, dtype=torch_dtype(case.dtype), device="cuda")

    def peer(self):
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        t = self.tensors
        if self.case.family == "gemm":
            turned = t["b"].t()
            return lambda: torch.matmul(t["a"], turned, out=t["c"])

        def attention():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                run = torch.nn.functional.scaled_dot_product_attention
                return run(t["q"], t["k"], t["v"], is_causal=self.case.causal)

        return attention

    def reference(self):
        import torch

        t = self.tensors
        if self.case.family == "gemm":
            return t["a"].float() @ t["b"].float().t()
        q, k, v = (t[name].float() for name in "qkv")
        out = torch.empty_like(q)
        for batch in range(q.shape[0]):
            x = q[batch] @ k[batch].transpose(1, 2) * self.scalars["scale"]
            if self.case.causal:
                x.masked_fill_(torch.ones(x.shape[1:], dtype=torch.bool, device="cuda").triu(1), -math.inf)
            out[batch] = torch.softmax(x, -1) @ v[batch]
        return out

    def launch(self, path):
        import torch

        kernel = Kernel(path)
        names = [param["name"] for param in kernel.description.tensors]
        # A counter from which blocks draw their tiles: it is zero before each launch, and the kernel leaves it so.
        counters = {
            param["name"]: torch.zeros(1, dtype=torch.int32, device="cuda")
            for param in kernel.description.tensors
            if (param["dtype"], param["shape"]) == ("i32", ["1"])
        }
        tensors = {**self.tensors, **counters}
        unknown = [name for name in names if name not in tensors]
        if unknown:
            raise HarnessError(f"`{path.name}` has tensors that the case lacks: {', '.join(unknown)}")
        wanted = {param["name"] for param in kernel.description.scalars}
        scalars = {name: value for name, value in self.scalars.items() if name in wanted}
        return kernel.prepare(*(tensors[name] for name in names), **scalars)


def distance(found, wanted):
    """The largest `|found - wanted| / (|wanted| + rms)`: rounding counts by the size of an element, noise by that of all.
    The first rows of causal attention are far larger than the rest. Infinite where a value is no number."""
    gap = (found.float() - wanted).abs()
    rms = wanted.square().mean().sqrt()
    return (gap / (wanted.abs() + rms)).nan_to_num(nan=math.inf, posinf=math.inf).max().item()


def ends(run, what):
    """Runs once. A kernel that does not end can only be left by ending the process: exit code 7 and the name say which it was."""
    import torch

    value = run()
    event = torch.cuda.Event()
    event.record()
    begin = time.perf_counter()
    while not event.query():
        if time.perf_counter() - begin > SECONDS_TO_HANG:
            print(f"HANG in {what}: run again with `--skip {what}`", flush=True)
            os._exit(7)
        time.sleep(0.001)
    return value


def summary(case, samples):
    """Rows of a case: name, median and quantiles in µs, TFLOP/s, and the share of the peer's speed."""
    medians = {name: statistics.median(times) for name, times in samples.items()}
    peer = math.sqrt(medians[case.peer] * medians[f"{case.peer} again"])
    rows = []
    for name, times in samples.items():
        median = medians[name]
        rows.append(
            {
                "name": name,
                "median_us": median,
                "low_us": quantile(times, 0.2),
                "high_us": quantile(times, 0.8),
                "tflops": case.flops / median * 1e-6,
                "of_peer": peer / median,
                "samples_us": times,
            }
        )
    return rows


def verdict(case, rows):
    """Whether the best kernel reaches the goal; None where no kernel took part."""
    own = [row["of_peer"] for row in rows if not row["name"].startswith(case.peer)]
    return max(own) >= case.goal if own else None


def card():
    """What the driver says about clocks and power, in one line."""
    query = "clocks.sm,power.draw,power.limit,temperature.gpu,clocks_throttle_reasons.active"
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
            capture_output=True, text=True, check=False, timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "nvidia-smi did not answer"
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "nvidia-smi did not answer"


def run_case(case, paths, args):
    import torch

    problem = Problem(case)
    reference = problem.reference()
    output = problem.tensors[problem.output]
    contenders, wrong = {}, []
    for name in (case.peer, f"{case.peer} again"):
        contenders[name] = problem.peer()
    found = ends(contenders[case.peer], case.peer)
    print(f"   {case.peer} lies {distance(found, reference):.2e} from 32 bits")
    for name, path in paths.items():
        try:
            run = problem.launch(path)
        except HarnessError as error:
            wrong.append(name)
            print(f"   {name}: {error}")
            continue
        output.fill_(math.nan)
        ends(run, f"{case.name}-{name}")
        relative = distance(output, reference)
        agrees = relative <= TOLERANCES[case.dtype]
        print(f"   {name} lies {relative:.2e} from 32 bits{'' if agrees else ': WRONG'}")
        if agrees:
            contenders[name] = run
        else:
            wrong.append(name)
    del reference
    torch.cuda.empty_cache()
    before = card()
    rows = summary(case, race(contenders, args.repeats, args.warmup_ms, not args.warm_l2))
    print(f"   card before: {before}; after: {card()}")
    for row in rows:
        spread = f"[{row['low_us']:.1f}, {row['high_us']:.1f}]"
        print(
            f"   {row['name']:20} {row['median_us']:9.1f} µs {spread:18} "
            f"{row['tflops']:7.1f} TFLOP/s  {row['of_peer']:.3f}"
        )
    met = verdict(case, rows)
    words = {True: "met", False: "NOT met", None: "no kernel took part"}
    print(f"   goal {case.goal:.2f} of {case.peer}: {words[met]}", flush=True)
    return {"case": case.name, "goal": case.goal, "met": met, "wrong": wrong, "rows": rows}


def run(args):
    import torch

    if not torch.cuda.is_available():
        raise HarnessError("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    folder = Path(args.folder)
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    device = torch.cuda.get_device_name()
    print(
        f"{device}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, "
        f"{'warm' if args.warm_l2 else 'cold'} L2, {args.repeats} runs in turns"
    )
    results = []
    for case in chosen(CASES, args.only):
        print(f"== {case.name}", flush=True)
        paths = {
            entry["contender"]: folder / entry["description"]
            for entry in index
            if entry["case"] == case.name and f"{case.name}-{entry['contender']}" not in args.skip
        }
        results.append(run_case(case, paths, args))
    if args.json:
        Path(args.json).write_text(json.dumps({"device": device, "results": results}, indent=1) + "\n", encoding="utf-8")
    wrong = [f"{result['case']}-{name}" for result in results for name in result["wrong"]]
    short = [result["case"] for result in results if not result["met"]]
    print(f"wrong: {', '.join(wrong) or 'none'}\ngoals not met: {', '.join(short) or 'none'}")
    return 1 if wrong or (args.goals and short) else 0


# --------------------------------------------------------------------------------------------------- the command


def parser():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = p.add_subparsers(dest="verb", required=True)
    b = verbs.add_parser("build", help="make machine code; needs the CUDA compiler and no GPU")
    r = verbs.add_parser("run", help="check and time; needs PyTorch and a GPU")
    for verb in (b, r):
        verb.add_argument("folder", help="the folder of the machine code")
        verb.add_argument("--only", action="append", default=[], metavar="TEXT", help="cases whose name contains this")
    b.add_argument("--hx", default="hx", help="the command")
    b.add_argument("--add", action="append", default=[], metavar="NAME=FAMILY:FILE::KERNEL:BM=128,…", help="one more kernel")
    r.add_argument("--skip", action="append", default=[], metavar="CASE-NAME", help="leave a kernel out of a case")
    r.add_argument("--repeats", type=int, default=60)
    r.add_argument("--warmup-ms", type=float, default=300.0)
    r.add_argument("--warm-l2", action="store_true", help="do not empty the L2 cache before each run")
    r.add_argument("--goals", action="store_true", help="exit with 1 if a goal is not met")
    r.add_argument("--json", metavar="FILE", help="write every sample to this file")
    return p


def main(argv=None):
    args = parser().parse_args(argv)
    try:
        return build(args) if args.verb == "build" else run(args)
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
        return 3
    except (HarnessError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
