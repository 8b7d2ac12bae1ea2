"""Files of kernels as objects."""

from __future__ import annotations

import inspect
import keyword
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._errors import MissingError
from ._hx import Engine, Kernel

_engine: Engine | None = None
_opening = threading.Lock()
#: The names of the texts that were compiled without one.
_texts: dict[str, str] = {}


def command() -> str:
    """Returns the path of the program `hx` that belongs to this package.

    `HX_COMMAND` names another one. Without a program beside this Python, one on `PATH` is taken if it says that it is ours.

    Raises `MissingError` if there is none. Another program may have the same name.
    """
    named = os.environ.get("HX_COMMAND")
    if named:
        return named
    name = "hx.exe" if os.name == "nt" else "hx"
    folders = [sysconfig.get_path("scripts"), os.path.join(sys.prefix, "bin")]
    user = sysconfig.get_preferred_scheme("user")
    folders.append(sysconfig.get_path("scripts", user))
    # A folder given to `pip install --target` has the program beside the package.
    folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    found = shutil.which(name)
    if found:
        told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        if "the hx kernel language toolchain" in told:
            return found
    text = "the program `hx` of this package is missing: install the package again, or name the program in `HX_COMMAND`"
    raise MissingError(f"error[HX0606]: {text}", "HX0606", text)


def engine() -> Engine:
    """Returns the engine of this process."""
    global _engine
    with _opening:
        if _engine is None:
            _engine = Engine(command())
        return _engine


def _forked() -> None:
    """Runs in a process that was forked just now."""
    _opening.release()
    if _engine is not None:
        _engine.forked()


if hasattr(os, "register_at_fork"):
    # No process is forked while another thread makes the engine: its child would wait for that thread.
    os.register_at_fork(before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_forked)


@dataclass(frozen=True)
class Parameter:
    """A run-time parameter of a kernel."""

    name: str
    #: The type as it is written: `mut f16[m, n] : [ld, 1]`.
    type: str
    #: The element type, which may be a compile-time parameter.
    dtype: str
    #: The extents as they are written; `None` for a number.
    shape: tuple[str, ...] | None
    #: The strides as they are written; `None` for a packed tensor and for a number.
    strides: tuple[str, ...] | None
    #: Whether the kernel writes the tensor.
    mutable: bool


def parameters(kernel: Kernel) -> list[Parameter]:
    """Returns the run-time parameters of a kernel."""
    return [
        Parameter(name, text, dtype, None if shape is None else tuple(shape), None if strides is None else tuple(strides), mutable)
        for name, text, dtype, shape, strides, mutable in kernel._params()
    ]


def signature(kernel: Kernel) -> inspect.Signature:
    """Returns the signature of a call: the run-time parameters, then the compile-time ones with their defaults as they are written."""
    found = parameters(kernel)
    # A word of Python's own cannot be a name in a call.
    is_word = any(keyword.iskeyword(parameter.name) for parameter in found)
    kind = inspect.Parameter.POSITIONAL_ONLY if is_word else inspect.Parameter.POSITIONAL_OR_KEYWORD
    run_time = [inspect.Parameter(parameter.name, kind, annotation=parameter.type) for parameter in found]
    generics = kernel._generics()
    named = {name: kernel.fixed.get(name, default) for name, default in generics if not keyword.iskeyword(name)}
    compile_time = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if text is None else Written(text))
        for name, text in named.items()
    ]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in ("stream", "tune")
        if name not in named and name not in {parameter.name for parameter in run_time}
    ]
    return inspect.Signature([*run_time, *compile_time, *options])


class Written(str):
    """A default as it is written in hx."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _OfKernel:
    """An attribute of kernels that the class itself has in another form, as Python's own `__doc__` is."""

    def __init__(self, of_class: Any, of_kernel: Callable[[Kernel], Any]) -> None:
        self.of_class, self.of_kernel = of_class, of_kernel

    def __get__(self, kernel: Kernel | None, _: type) -> Any:
        return self.of_class if kernel is None else self.of_kernel(kernel)


def _documented(kernel: Kernel) -> str:
    """The header of a kernel, and its doc comment."""
    return f"{kernel.header}\n\n{kernel.doc}" if kernel.doc else kernel.header


# `help`, `inspect.signature` and notebooks read them.
setattr(Kernel, "__doc__", _OfKernel(Kernel.__doc__, _documented))
setattr(Kernel, "__signature__", _OfKernel(None, signature))


class Module:
    """The kernels of a file, each an attribute.

    A module with a kernel of its own name, or with a single kernel, can be called as that kernel.
    """

    def __init__(self, path: str, name: str) -> None:
        self.__path = path
        self.__name__ = name
        self.__read()

    def __read(self) -> None:
        kernels, functions, docs = engine().items(self.__path)
        self.__names, self.__functions = kernels, functions
        self.__doc__ = docs or None

    @property
    def path(self) -> str:
        """The path of the file; `std/…` for the standard library."""
        return self.__path

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels, in the order of the text."""
        return list(self.__names)

    def reload(self) -> None:
        """Reads the file again. The kernels that the program holds go on with the new text."""
        engine().reload(self.__path)
        self.__read()
        for name, value in list(self.__dict__.items()):
            if isinstance(value, Kernel) and name not in self.__names:
                del self.__dict__[name]

    def __getattr__(self, name: str) -> Kernel:
        # An attribute that was found once is found without this method.
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.__names:
            raise AttributeError(self.__missing(name))
        found: Kernel = self.__dict__.setdefault(name, engine().kernel(self.__path, name))
        return found

    def __getitem__(self, name: str) -> Kernel:
        """Returns the kernel of that name, also where the name is one of this class."""
        if name not in self.__names:
            raise KeyError(self.__missing(name))
        return engine().kernel(self.__path, name)

    def __missing(self, name: str) -> str:
        names = ", ".join(f"`{name}`" for name in self.__names) or "none"
        text = f"`{self.__path}` has no kernel `{name}`; it has {names}"
        if name in self.__functions:
            text = f"`{name}` of `{self.__path}` is a function, which kernels take by its name: `EPILOGUE=\"{name}\"`"
        return text

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__names})

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.own()(*args, **kwargs)

    def own(self) -> Kernel:
        """Returns the kernel of the module's name, or its only one."""
        name = self.__name__ if self.__name__ in self.__names else self.__names[0] if len(self.__names) == 1 else None
        if name is None:
            raise TypeError(self.__missing(self.__name__))
        found: Kernel = getattr(self, name)
        return found

    def __repr__(self) -> str:
        return f"<hx module {self.__path}: {', '.join(self.__names)}>"


def load(path: str | os.PathLike[str]) -> Module:
    """Loads a `.hx` file, and the files that it uses.

    Raises `CompileError` if the text has errors of syntax, names or types. Layouts are inferred at the first launch.
    """
    text = os.fspath(path)
    name = os.path.splitext(os.path.basename(text))[0]
    return Module(engine().open(text), name)


def compile(text: str, name: str | None = None) -> Module:
    """Loads kernels from a text. `name` is the name of the file in diagnostics; a later text of that name takes its place.

    The same text without a name is the same module again, with all that its kernels have prepared.
    """
    if name is None:
        with _opening:
            # A text that was compiled before keeps its kernels and their plans.
            name = _texts.setdefault(text, f"<text {len(_texts) + 1}>.hx")
    return Module(engine().text(name, text), os.path.splitext(os.path.basename(name))[0])


def restored(path: str, name: str, fixed: dict[str, str]) -> Kernel:
    """Returns the kernel that was copied or pickled."""
    key = path if path.startswith("std/") or not os.path.isfile(path) else engine().open(path)
    kernel = engine().kernel(key, name)
    return kernel.specialize(**fixed) if fixed else kernel


def devices() -> list[tuple[int, str, tuple[int, int]]]:
    """Returns number, name and compute capability of each GPU.

    Raises `MissingError` if there is no driver, or no GPU.
    """
    return engine().devices()


class Std:
    """The standard library: `hx.std.gemm` is the module `std/gemm.hx`."""

    def __getattr__(self, name: str) -> Module:
        # An attribute that was found once is found without this method.
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in engine().std_modules():
            names = ", ".join(engine().std_modules())
            raise AttributeError(f"the standard library has no module `{name}`; it has {names}")
        found: Module = self.__dict__.setdefault(name, Module(f"std/{name}.hx", name))
        return found

    def __dir__(self) -> list[str]:
        return engine().std_modules()

    def __repr__(self) -> str:
        return f"<the standard library of hx: {', '.join(engine().std_modules())}>"


std = Std()
