"""The cell magic `%%hx` of Python notebooks: a cell in hx, whose kernels become variables."""

from __future__ import annotations

from typing import Any

from ._errors import Error
from ._modules import Module, compile


def register(ipython: Any) -> None:
    """Adds `%%hx` to an IPython shell."""

    def hx(line: str, cell: str) -> None:
        """Compiles the cell, and binds each of its kernels to a variable.

        `%%hx NAME` also binds the module to `NAME`. A later cell redefines kernels by their names.
        """
        name = line.strip()
        if name and not name.isidentifier():
            from IPython.core.error import UsageError

            raise UsageError(f"found `{name}`, expected a name for the module of this cell: `%%hx NAME`")
        number = ipython.execution_count
        try:
            module = compile(cell, f"<cell {number}>.hx")
        except Error as error:
            drawn = str(error)
            # The cell's text is in the drawing; the frames of this package say nothing more.
            error._render_traceback_ = lambda: [drawn]  # type: ignore[attr-defined]
            raise
        found: dict[str, Any] = {kernel: getattr(module, kernel) for kernel in module.kernels}
        if name:
            found[name] = module
        ipython.push(found)
        print(_told(module))

    ipython.register_magic_function(hx, magic_kind="cell", magic_name="hx")


def _told(module: Module) -> str:
    count = len(module.kernels)
    names = ", ".join(module.kernels)
    return f"{count} kernel{'' if count == 1 else 's'}: {names}" if count else "no kernel"
