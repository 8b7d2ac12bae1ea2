"""The exceptions. Their text is the drawn diagnostic; its parts are attributes."""

from __future__ import annotations

import json
from typing import Any


class Error(Exception):
    """The base of all exceptions of hx."""

    #: The code, as in `HX0604`. `hx explain HX0604` prints its page.
    code: str
    #: The message of the first diagnostic, in one line.
    message: str
    #: All diagnostics, as `hx check --message-format json` prints them: spans, children and suggestions.
    diagnostics: list[dict[str, Any]]

    def __init__(self, rendered: str, code: str = "", message: str = "", diagnostics: list[str] | None = None) -> None:
        super().__init__(rendered)
        self.code = code
        self.message = message or rendered
        self._json = diagnostics or []
        self.diagnostics = [json.loads(text) for text in self._json]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.code, self.message, self._json)

    def _primary(self) -> dict[str, Any]:
        spans: list[dict[str, Any]] = self.diagnostics[0]["spans"] if self.diagnostics else []
        return spans[0] if spans else {}

    @property
    def file(self) -> str | None:
        """The file of the place, if the error has one."""
        return self._primary().get("path")

    @property
    def line(self) -> int | None:
        """The line of the place, counted from 1."""
        line: int | None = self._primary().get("start", {}).get("line")
        return line

    @property
    def column(self) -> int | None:
        """The column of the place in characters, counted from 1."""
        column: int | None = self._primary().get("start", {}).get("column")
        return column


class CompileError(Error):
    """A text has errors, or a kernel has no program for these arguments."""


class LaunchError(Error, ValueError):
    """The arguments do not fit the kernel. Nothing was run."""


class KernelError(Error, RuntimeError):
    """A kernel did something wrong on the simulator: an access outside of a tensor, a race, a deadlock."""


class AssertionFailed(KernelError, AssertionError):
    """An `assert` of a kernel does not hold."""


class DeviceError(Error, RuntimeError):
    """The GPU's driver reported an error."""


class ContextLost(DeviceError):
    """A kernel failed on the GPU, and this process cannot use the GPU any more."""


class MissingError(Error, RuntimeError):
    """The machine lacks something: the CUDA compiler, a driver, a GPU."""


class FileError(Error, OSError):
    """A file cannot be read."""


class ForkError(Error, RuntimeError):
    """This process was forked from one that had launched or compiled kernels: start it by the method spawn."""
