#!/usr/bin/env python3
"""Products and attention of `std` over many shapes, beside cuBLAS, cuBLASLt, cuDNN and Triton.

    python3 tests/gpu/sweep.py build out/sweep --hx target/release/hx       # where the CUDA compiler is
    python3 tests/gpu/sweep.py run out/sweep --json out/sweep.json          # where PyTorch and the GPU are

`build` asks `hx tune --dry-run` for the candidates with the best estimates for each shape, and compiles each instance once.
`run` checks the result of every candidate against one in 32 bits, measures all of them in turns with the peers, and then the
best few once more for longer. The share of a kernel is that of the fastest peer's speed; the last lines are geometric means.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness import HarnessError, race
from hopper import ROOT, TOLERANCES, Attention, Gemm, Problem, card, distance, ends

INDEX = "sweep.json"
SHAPES = [
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (16384, 1024, 4096),
    *(
        (m, n, k)
        for m in (16, 64, 128, 512, 2048, 4096, 8192)
        for n, k in ((14336, 4096), (4096, 14336), (6144, 4096), (28672, 8192), (7168, 2048))
    ),
]
TOKENS, WIDTH = 16384, 2048


# --------------------------------------------------------------------------------------------------- candidates


@dataclass(frozen=True)
class Source:
    """A kernel of `std` with a `tune` clause, and how many of its candidates take part in a case."""

    file: str
    kernel: str
    family: str
    count: int
    rows: tuple[int, int] = (1, 1 << 30)
    # Values of axes that the sweep does not vary.
    fixed: str = ""

    def takes(self, case):
        return case.family == self.family and (case.family != "gemm" or self.rows[0] <= case.m <= self.rows[1])


SOURCES = [
    Source("std/gemm.hx", "gemm", "gemm", 10, (65, 2048), "GROUP=8"),
    Source("std/gemm.hx", "gemm_pingpong", "gemm", 10, (33, 2048), "GROUP=8"),
    Source("std/gemm.hx", "gemm", "gemm", 6, (2049, 1 << 30), "BK=64"),
    Source("std/gemm.hx", "gemm_pingpong", "gemm", 6, (2049, 1 << 30), "BK=64"),
    Source("std/gemm.hx", "gemm_swapped", "gemm", 16, (1, 128)),
    Source("std/gemm_split.hx", "gemm_split", "gemm", 4, (33, 128)),
    Source("std/gemm_split.hx", "gemm_swapped_split", "gemm", 4, (1, 128)),
    Source("std/attention_hopper.hx", "attention_hopper", "attention", 0),
]
# Groups and keys of a block by the size of heads, the defaults first: fewer than the sizes of products, and the same for all lengths.
ATTENTION = {
    64: ((3, 128), (2, 128), (3, 112), (2, 176), (4, 64), (3, 96), (3, 64), (2, 64)),
    128: ((2, 128), (2, 176), (2, 160), (2, 96), (3, 64)),
    256: ((2, 80), (2, 64)),
}


def cases(args):
    """The shapes of a sweep: `--gemm TYPE` for products, `--attention` for attention."""
    out = [Gemm(dtype, m, n, k, 0.95) for dtype in args.gemm for m, n, k in SHAPES]
    if args.attention:
        out += [
            Attention("f16", TOKENS // positions, WIDTH // size, positions, size, causal, 0.93)
            for size in (64, 128, 256)
            for causal in (False, True)
            for positions in (1024, 2048, 4096, 8192, 16384)
        ]
    return [case for case in out if not args.only or any(text in case.name for text in args.only)]


def candidates(source, case, hx):
    """The candidates of a kernel for a case, best estimate first: tuples of `NAME=VALUE`."""
    if case.family == "attention":
        return [(f"GROUPS={groups}", f"BN={keys}") for groups, keys in ATTENTION[case.size]]
    # The estimates of `f16` and `bf16` are equal, so both get the same candidates.
    return ranked(source, f"m={case.m},n={case.n},k={case.k}", hx)


@cache
def ranked(source, wanted, hx):
    """The candidates with the best estimates for a shape, and the kernel's defaults: tuples of `NAME=VALUE`."""
    given = ",".join(text for text in (wanted, source.fixed) if text)
    command = [hx, "tune", source.file, source.kernel, "--shapes", given, "--target", "sm_90a"]
    command += ["--dry-run", "--limit", str(source.count), "--json", "-"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"left out: {source.kernel} for {wanted}: {done.stderr.strip().splitlines()[-1:]}")
        return []
    rows = json.loads(done.stdout)[0]["rows"]
    return [tuple(part.replace(" ", "") for part in row["candidate"].split(",")) for row in rows]


def build(args):
    out = Path(args.folder)
    out.mkdir(parents=True, exist_ok=True)
    there = [source for source in SOURCES if (ROOT / source.file).is_file() and source.kernel in (ROOT / source.file).read_text()]
    index, wanted = [], {}
    pairs = {(source, case) for case in cases(args) for source in there if source.takes(case)}
    with ThreadPoolExecutor(args.jobs) as pool:
        # Rankings are kept, so that the loop below finds them.
        list(pool.map(lambda pair: candidates(*pair, args.hx), sorted(pairs, key=repr)))
    for case in cases(args):
        entries = []
        for source in (source for source in there if source.takes(case)):
            for rank, given in enumerate(candidates(source, case, args.hx)):
                sets = [*given, *(f"{key}={value}" for key, value in case.generics.items())]
                name = "-".join([source.kernel, *(text.replace("=", "") for text in sets)])
                wanted[name] = (source, sets)
                entries.append({"name": name, "kernel": source.kernel, "rank": rank})
        index.append({"case": case.name, "candidates": entries})
        print(f"{case.name}: {len(entries)} candidates", flush=True)

    def compile(item):
        name, (source, sets) = item
        if (out / f"{name}.json").is_file() and not args.fresh:
            return None
        command = [args.hx, "build", source.file, "--kernel", source.kernel, "--target", "sm_90a", "-o", str((out / f"{name}.cubin").resolve())]
        for text in sets:
            command += ["--set", text]
        if source.family == "attention":
            # Batches and heads are few. Their strides are multiples of 16 all the same, because the size of a head is.
            command += ["--facts", "s%16,t%16,q@16,k@16,v@16,o@16"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else f"FAILED: {' '.join(command)}\n{done.stderr.strip()}"

    with ThreadPoolExecutor(args.jobs) as pool:
        failed = [text for text in pool.map(compile, wanted.items()) if text]
    print(*failed, sep="\n")
    (out / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    print(f"{len(wanted)} instances, {len(failed)} failed")
    return 1 if failed else 0


# --------------------------------------------------------------------------------------------------- peers


def peers(problem, triton):
    """The peers of a case by name, the vendor's first."""
    import torch

    t, case = problem.tensors, problem.case
    if case.family == "attention":
        out = {"cudnn": problem.peer()}
        if triton:
            out["triton"] = lambda: triton.attention(t["q"], t["k"], t["v"], t["o"], problem.scalars["scale"], case.causal)
        return out
    turned = t["b"].t()

    def by(library):
        def run():
            torch.backends.cuda.preferred_blas_library(library)
            return torch.matmul(t["a"], turned, out=t["c"])

        return run

    out = {"cublas": by("cublas"), "cublaslt": by("cublaslt")}
    if triton and case.m > 16:
        out["triton"] = lambda: triton.matmul(t["a"], t["b"], t["c"])
    return out


class Swept(Problem):
    """A problem whose reference is made head by head: scores of 16384 positions are a gigabyte each."""

    def reference(self):
        import torch

        if self.case.family == "gemm":
            return super().reference()
        t = self.tensors
        out = torch.empty_like(t["q"], dtype=torch.float32)
        for batch in range(t["q"].shape[0]):
            for head in range(t["q"].shape[1]):
                q, k, v = (t[name][batch, head].float() for name in "qkv")
                x = q @ k.t() * self.scalars["scale"]
                if self.case.causal:
                    x.masked_fill_(torch.ones(x.shape, dtype=torch.bool, device="cuda").triu(1), -math.inf)
                out[batch, head] = torch.softmax(x, -1) @ v
        return out


# --------------------------------------------------------------------------------------------------- run


def right(problem, paths, wrong):
    """The candidates that compute the right result, as launches by name."""
    import torch

    case = problem.case
    reference, output = problem.reference(), problem.tensors[problem.output]
    out = {}
    for name, path in paths.items():
        run = problem.launch(path)
        output.fill_(math.nan)
        ends(run, f"{case.name}-{name}")
        gap = distance(output, reference)
        if gap <= TOLERANCES[case.dtype]:
            out[name] = run
        else:
            wrong.append(f"{case.name}-{name}")
            print(f"   {name} lies {gap:.2e} from 32 bits: WRONG")
    del reference
    torch.cuda.empty_cache()
    return out


def medians(samples):
    return {name: statistics.median(times) for name, times in samples.items()}


def run_case(case, entry, folder, triton, args, wrong):
    paths = {one["name"]: folder / f"{one['name']}.json" for one in entry["candidates"]}
    problem = Swept(case)
    candidates, others = right(problem, {n: p for n, p in paths.items() if p.is_file()}, wrong), peers(problem, triton)
    first = medians(race({**others, **candidates}, args.screening, args.warmup_ms, True))
    best = sorted(candidates, key=lambda name: first[name])[: args.final]
    # The model's first choice of each kernel stays, so that its distance from the best is known.
    chosen = [one["name"] for one in entry["candidates"] if one["rank"] == 0 and one["name"] in candidates]
    last = medians(race({**others, **{name: candidates[name] for name in dict.fromkeys(best + chosen)}}, args.repeats, args.warmup_ms, True))
    own = {name: last[name] for name in last if name not in others}
    if not own:
        print("   no candidate is right", flush=True)
        return None
    fastest = min(own, key=own.get)
    vendor = min((name for name in others if name != "triton"), key=lambda name: last[name])
    ratio = last[vendor] / own[fastest]
    line = f"{case.name:38} {own[fastest]:9.1f} µs {case.flops / own[fastest] * 1e-6:7.1f} TFLOP/s  {ratio:.3f} of {vendor}"
    if "triton" in last:
        line += f"  {last['triton'] / own[fastest]:.3f} of triton"
    first_choice = min((own[name] for name in chosen if name in own), default=None)
    if first_choice:
        line += f"  first choice {first_choice / own[fastest]:.3f}"
    print(f"{line}  {fastest}", flush=True)
    return {"case": case.name, "best": fastest, "ratio": ratio, "vendor": vendor, "medians": last, "screening": first}


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(results):
    groups = {
        "f16 products": lambda r: r["case"].startswith("gemm-f16"),
        "bf16 products": lambda r: r["case"].startswith("gemm-bf16"),
        "products of at most 64 rows": lambda r: r["case"].startswith("gemm") and int(r["case"].split("-")[2].split("x")[0]) <= 64,
        **{
            f"attention, heads of {size}": lambda r, size=size: r["case"].startswith("attention") and f"x{size}-" in r["case"]
            for size in (64, 128, 256)
        },
    }
    for title, holds in groups.items():
        some = [r for r in results if holds(r)]
        if not some:
            continue
        least = min(some, key=lambda r: r["ratio"])
        line = f"{title}: {len(some)} cases, {mean(r['ratio'] for r in some):.3f}, least {least['ratio']:.3f} ({least['case']})"
        triton = [r["medians"]["triton"] / r["medians"][r["best"]] for r in some if "triton" in r["medians"]]
        print(line + (f"; {mean(triton):.3f} of triton over {len(triton)}" if triton else ""))


def run(args):
    import torch

    if not torch.cuda.is_available():
        raise HarnessError("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    triton = None
    if args.triton:
        sys.path.insert(0, args.triton)
        import triton_peers as triton
    folder, begin = Path(args.folder), time.perf_counter()
    index = {entry["case"]: entry for entry in json.loads((folder / INDEX).read_text(encoding="utf-8"))}
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}; {card()}")
    results, wrong, left = [], [], []
    for case in (case for case in cases(args) if case.name in index):
        if time.perf_counter() - begin > args.seconds:
            left.append(case.name)
            continue
        result = run_case(case, index[case.name], folder, triton, args, wrong)
        results += [result] if result else []
        torch.cuda.empty_cache()
        if args.json:
            Path(args.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    summary(results)
    print(f"wrong: {', '.join(wrong) or 'none'}\nleft for want of time: {', '.join(left) or 'none'}")
    return 1 if wrong else 0


# --------------------------------------------------------------------------------------------------- the command


def parser():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = p.add_subparsers(dest="verb", required=True)
    b = verbs.add_parser("build", help="choose and compile the candidates; needs the CUDA compiler and no GPU")
    r = verbs.add_parser("run", help="check and time; needs PyTorch and a GPU")
    for verb in (b, r):
        verb.add_argument("folder", help="the folder of the machine code")
        verb.add_argument("--gemm", action="append", default=[], choices=sorted(TOLERANCES), help="the shapes of products, in this type")
        verb.add_argument("--attention", action="store_true", help="the shapes of attention")
        verb.add_argument("--only", action="append", default=[], metavar="TEXT", help="cases whose name contains this")
    b.add_argument("--hx", default="hx", help="the command")
    b.add_argument("--jobs", type=int, default=2, help="compilations at the same time")
    b.add_argument("--fresh", action="store_true", help="compile instances again that are there")
    r.add_argument("--triton", metavar="FOLDER", help="the folder of a module `triton_peers` with `matmul` and `attention`")
    r.add_argument("--screening", type=int, default=8, help="runs of every candidate")
    r.add_argument("--final", type=int, default=4, help="candidates that are measured for longer")
    r.add_argument("--repeats", type=int, default=40, help="their runs")
    r.add_argument("--warmup-ms", type=float, default=60.0)
    r.add_argument("--seconds", type=float, default=math.inf, help="begin no case after this time")
    r.add_argument("--json", metavar="FILE", help="write the medians to this file")
    return p


def main(argv=None):
    args = parser().parse_args(argv)
    try:
        return build(args) if args.verb == "build" else run(args)
    except ImportError as error:
        print(f"{error.name} is not installed", file=sys.stderr)
        return 3
    except (HarnessError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
