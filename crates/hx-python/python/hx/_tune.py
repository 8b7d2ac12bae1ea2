"""Tuning from Python: `hx tune` in a process of its own, which measures on the GPU without the caller's memory and faults."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any

from ._arrays import written
from ._errors import CompileError, DeviceError, Error, FileError, LaunchError, MissingError
from ._hx import Kernel
from ._modules import command, engine
from ._results import TunedShape

#: The classes of failures by the exit code of the command.
_FAILURES: dict[int, type[Error]] = {1: CompileError, 2: LaunchError, 3: MissingError}

#: The code of a call that names something that does not exist.
_WRONG_CALL = "HX0614"


def tune(
    kernel: Kernel,
    shapes: tuple[str | dict[str, Any], ...],
    *,
    limit: int | None = None,
    baseline: str | None = None,
    dry_run: bool = False,
    write: bool = True,
    device: str | None = None,
) -> list[TunedShape]:
    """Tunes a kernel for shapes: `tune("m=4096,n=4096,k=4096")` or `tune({"m": 4096, …})`.

    Returns a dictionary for each shape: the candidates in `rows`, the best first, each with its `arguments` and its times in `sample`.

    Raises the exceptions of a launch: `CompileError`, `LaunchError`, and `MissingError` without a GPU.
    """
    if not kernel.path.startswith("std/") and not os.path.isfile(kernel.path):
        text = f"`{kernel.name}` was compiled from a text, and results of tuning name a file: write it to a file first"
        raise FileError(text, "HX0606", text)
    if not shapes:
        raise TypeError("tune takes at least one shape, as in `m=4096,n=4096,k=4096`")
    args = [command(), "tune", kernel.path, kernel.name, "--message-format", "json"]
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
    with tempfile.TemporaryDirectory(prefix="hx-tune-") as folder:
        # Diagnostics go to the standard output, so the rows go to a file.
        rows = os.path.join(folder, "rows.json")
        done = subprocess.run([*args, "--json", rows], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise _failure(done)
        with open(rows, encoding="utf-8") as file:
            found: list[TunedShape] = json.load(file)
    engine().forget_tuned()
    return found


def _failure(done: subprocess.CompletedProcess[str]) -> Error:
    """The exception of a command that failed: of its diagnostics, or of its message about wrong arguments."""
    failed = _FAILURES.get(done.returncode, DeviceError)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    errors = [line for line in lines if json.loads(line)["severity"] == "error"]
    if errors:
        first = json.loads(errors[0])
        rendered = "\n".join(json.loads(line)["rendered"].rstrip() for line in errors)
        return failed(rendered, first["code"], first["message"], errors)
    told = [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.startswith("error: ")]
    if told:
        return failed(f"error[{_WRONG_CALL}]: {told[0]}", _WRONG_CALL, told[0])
    ended = f"`hx tune` ended with {done.returncode}"
    return DeviceError(f"{ended}:\n{done.stderr.strip()}", "", ended)
