#!/usr/bin/env python3
"""How good the compiler's choices are: a table from the results of `hx bench tests/gpu/quality.hx --json FILE`.

The first kernel of each shape is what the compiler chose, the others are its other candidates or made by hand. `--code FOLDER`
has a folder of `.cubin` or of cached `.kernel` files for each shape, named like it: then the table says how many of the shape's
kernels differ in machine code, the name of the kernel and everything beside the instructions left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
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


def shape_of(bench):
    """The values of a bench's case."""
    return bench["name"].split("[")[-1].rstrip("]")


def rows(results):
    """Of each shape its name and what was timed for it: first the choice."""
    for bench in results["benches"]:
        for group in bench["groups"]:
            timed = [work for work in group["measures"] if work["median_us"] is not None]
            if len(timed) > 1:
                yield shape_of(bench), timed


def named(work, chosen):
    """A candidate by its number, one made by hand by what it was given."""
    if work is chosen:
        return "the choice"
    if work.get("candidate") is not None:
        return f"candidate {work['candidate']}"
    return work["label"].split("THREADS = ")[-1].rstrip(">")


def difference(timed):
    """How far the results of candidates lie from that of the choice, in units of the last place; nothing where none was compared."""
    found = [against["max_ulps"] for work in timed for against in work["against"] if against["compared"]]
    if not found:
        return "-"
    return "infinite" if None in found else f"{max(found):.1f}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="the file that `hx bench --json` wrote")
    parser.add_argument("--code", help="a folder with a folder of machine code for each shape")
    args = parser.parse_args(argv)
    results = json.loads(Path(args.results).read_text(encoding="utf-8"))
    print(f"{results['device']}, {results['target']}")
    print("| m, n, k, BM, BN, BK, stages, threads | candidates | distinct | chosen µs | TFLOP/s "
          "| chosen / best | worst / best | best | ulp apart |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios, spreads = [], []
    for shape, timed in rows(results):
        chosen = timed[0]
        by_time = sorted(timed, key=lambda work: work["median_us"])
        best, worst = by_time[0], by_time[-1]
        ratios.append(chosen["median_us"] / best["median_us"])
        spreads.append(worst["median_us"] / best["median_us"])
        folder = Path(args.code or "") / shape
        different = distinct(folder)[1] if args.code and folder.is_dir() else "-"
        tflops = "-" if chosen["tflops"] is None else f"{chosen['tflops']:.0f}"
        print(f"| {shape} | {len(timed)} | {different} | {chosen['median_us']:.1f} | {tflops} | {ratios[-1]:.3f} "
              f"| {spreads[-1]:.2f} | {named(best, chosen)} | {difference(timed)} |")
    if not ratios:
        return 1
    mean = math.prod(ratios) ** (1 / len(ratios))
    print(f"\n{len(ratios)} shapes; chosen / best: geometric mean {mean:.3f}, largest {max(ratios):.3f}; "
          f"worst / best: least {min(spreads):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
