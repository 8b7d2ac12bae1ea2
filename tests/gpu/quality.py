#!/usr/bin/env python3
"""How good the compiler's choices are: a table from the results of `hx bench tests/gpu/quality.hx --json FILE`.

The first kernel of each shape is what the compiler chose, the others are candidates made by hand. With `--code FOLDER`, a
folder of `.cubin` or of cached `.kernel` files, it also counts how many of all kernels differ in machine code, the name of
the kernel and everything beside the instructions left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
from pathlib import Path

ELF = b"\x7fELF"


def instructions(data):
    """The bytes of all `.text` sections of the first 64-bit ELF file in the data."""
    start = data.find(ELF)
    if start < 0:
        return None
    data = data[start:]
    if data[4] != 2:
        return None
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * i) for i in range(count)]
    strings = headers[names][4]
    text = b""
    for name, _, _, _, offset, length in headers:
        end = data.index(b"\0", strings + name)
        if data[strings + name:end].startswith(b".text"):
            text += data[offset:offset + length]
    return text or None


def distinct(folder):
    """How many files hold machine code, and how many of them differ."""
    files = [path for path in sorted(Path(folder).rglob("*")) if path.suffix in (".cubin", ".kernel")]
    texts = [instructions(path.read_bytes()) for path in files]
    hashes = [hashlib.sha256(text).hexdigest() for text in texts if text]
    return len(hashes), len(set(hashes))


def rows(results):
    """Of each shape: its name, the number of candidates, the medians of the chosen, the best and the worst, and which is best."""
    for bench in results["benches"]:
        for group in bench["groups"]:
            timed = [work for work in group["measures"] if work["median_us"] is not None]
            if len(timed) < 2:
                continue
            # The candidates are the chosen one and the others.
            by_time = sorted(timed, key=lambda work: work["median_us"])
            best, worst = by_time[0], by_time[-1]
            yield bench["name"].split("[")[-1].rstrip("]"), len(timed), timed[0], best, worst


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="the file that `hx bench --json` wrote")
    parser.add_argument("--code", help="a folder of machine code")
    args = parser.parse_args(argv)
    results = json.loads(Path(args.results).read_text(encoding="utf-8"))
    print(f"{results['device']}, {results['target']}")
    print("| m, n, k, BM, BN, BK, stages, threads | candidates | chosen µs | TFLOP/s | chosen / best | worst / best | best |")
    print("|---|---|---|---|---|---|---|")
    ratios = []
    for shape, count, chosen, best, worst in rows(results):
        ratio = chosen["median_us"] / best["median_us"]
        ratios.append(ratio)
        spread = worst["median_us"] / best["median_us"]
        tflops = chosen["tflops"]
        shown = f"{tflops:.0f}" if tflops is not None else "?"
        label = "the choice" if best is chosen else best["label"].split("THREADS = ")[-1].rstrip(">")
        print(f"| {shape} | {count} | {chosen['median_us']:.1f} | {shown} | {ratio:.3f} | {spread:.2f} | {label} |")
    if ratios:
        product = 1.0
        for ratio in ratios:
            product *= ratio
        mean = product ** (1 / len(ratios))
        print(f"\n{len(ratios)} shapes; chosen / best: geometric mean {mean:.3f}, largest {max(ratios):.3f}")
    if args.code:
        kernels, different = distinct(args.code)
        print(f"{kernels} kernels, {different} of them distinct in machine code")
    return 0 if ratios else 1


if __name__ == "__main__":
    sys.exit(main())
