"""Tuning from Python: `hx tune` in a process of its own, which measures on the GPU without the caller's memory and faults."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from ._arrays import written
from ._errors import CompileError, DeviceError, FileError, LaunchError, MissingError
from ._hx import Kernel
from ._modules import command, engine

#: The classes of failures by the exit code of the command.
_FAILURES = {1: CompileError, 2: LaunchError, 3: MissingError}


def tune(
    kernel: Kernel,
    shapes: tuple[str | dict[str, Any], ...],
    *,
    limit: int | None = None,
    baseline: str | None = None,
    dry_run: bool = False,
    write: bool = True,
    device: str | None = None,
) -> list[dict[str, Any]]:
    """Tunes a kernel for shapes: `tune("m=4096,n=4096,k=4096")` or `tune({"m": 4096, …})`.

    Returns a dictionary for each shape: the candidates in `rows`, the best first, each with its arguments and its time.
    """
    if not kernel.path.startswith("std/") and not os.path.isfile(kernel.path):
        text = f"`{kernel.name}` was compiled from a text, and results of tuning name a file: write it to a file first"
        raise FileError(text, "HX0606", text)
    if not shapes:
        raise TypeError("tune takes at least one shape, as in `m=4096,n=4096,k=4096`")
    args = [command(), "tune", kernel.path, kernel.name, "--json", "-"]
    for shape in shapes:
        if not isinstance(shape, str):
            shape = ",".join(f"{name}={written(value)}" for name, value in {**kernel.fixed, **shape}.items())
        args += ["--shapes", shape]
    if limit is not None:
        args += ["--limit", str(limit)]
    if baseline is not None:
        args += ["--baseline", baseline]
    if device is not None:
        args += ["--device", device]
    if dry_run:
        args.append("--dry-run")
    if not write:
        args += ["--out", "-"]
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = done.stderr.strip()
        raise _FAILURES.get(done.returncode, DeviceError)(text, "", text.splitlines()[0] if text else "")
    engine().forget_tuned()
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
