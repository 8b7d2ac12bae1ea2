"""Kernels as operators of PyTorch: `hx.torch.op`.

An operator has a schema, an implementation for CUDA and for the CPU (where the simulator runs it), a form on tensors without elements
for `torch.compile`, and a backward if one is given.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import torch  # type: ignore[import-not-found, unused-ignore]
from torch import library as operators  # type: ignore[import-not-found, unused-ignore]

from ._dtypes import NAMES, PAIRS, name_of
from ._hx import Kernel
from ._modules import Module, Parameter, parameters

__all__ = ["Op", "op"]

#: The libraries of operators by namespace. An operator lives as long as its library.
_LIBRARIES: dict[str, operators.Library] = {}

#: PyTorch's element types by their names in hx.
_DTYPES = {name: getattr(torch, theirs) for theirs, name in NAMES.items() if hasattr(torch, theirs)}
_DTYPES["tf32"] = torch.float32


class Op:
    """An operator. Call it as a function; `overload` is PyTorch's object for `opcheck` and dispatch."""

    def __init__(self, name: str, overload: Any) -> None:
        self.name = name
        self.overload = overload
        self.__name__ = name.rpartition("::")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.overload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


@overload
def op(
    kernel: Kernel | Module,
    name: str,
    *,
    mutates: Sequence[str] = ...,
    outputs: dict[str, Callable[..., torch.Tensor]] | None = ...,
    backward: Callable[..., Any] | None = ...,
    setup_context: Callable[..., None] | None = ...,
) -> Op: ...
@overload
def op(
    kernel: str,
    *,
    mutates: Sequence[str] = ...,
    backward: Callable[..., Any] | None = ...,
    setup_context: Callable[..., None] | None = ...,
) -> Callable[[Callable[..., Any]], Op]: ...
def op(
    kernel: Any,
    name: str | None = None,
    *,
    mutates: Sequence[str] = (),
    outputs: dict[str, Callable[..., torch.Tensor]] | None = None,
    backward: Callable[..., Any] | None = None,
    setup_context: Callable[..., None] | None = None,
) -> Any:
    """Registers an operator.

    Of a kernel, `op(kernel, "mine::scale")`: the tensors that the kernel writes become new tensors that the operator returns, with the
    extents and element types of the kernel's header. `mutates` names those that the caller passes instead, to be changed in place.
    `outputs` makes tensors whose extents do not follow from those of the inputs: `{"y": lambda x, w: x.new_empty(...)}`.

    Of a Python function over several kernels, as a decorator: `@op("mine::mlp")`. Its annotations give the schema. It also serves as the
    form without elements: kernels that are called on such tensors do nothing.

    `backward(ctx, *grads)` returns a gradient for each input; `setup_context(ctx, inputs, output)` saves what it needs, as for
    PyTorch's `register_autograd`.
    """
    if isinstance(kernel, str):
        if name is not None or outputs is not None:
            raise TypeError("a function's operator takes its name and its mutated arguments only: `@op(\"mine::mlp\")`")

        def decorate(function: Callable[..., Any]) -> Op:
            schema = operators.infer_schema(function, mutates_args=tuple(mutates))
            return _register(kernel, schema, function, function, backward, setup_context)

        return decorate
    if isinstance(kernel, Module):
        kernel = kernel.own()
    if name is None:
        raise TypeError("an operator needs a name with a namespace: `op(kernel, \"mine::scale\")`")
    made = _KernelOp(kernel, tuple(mutates), outputs or {})
    return _register(name, made.schema, made.run, made.fake, backward, setup_context)


def _register(
    name: str,
    schema: str,
    run: Callable[..., Any],
    fake: Callable[..., Any],
    backward: Callable[..., Any] | None,
    setup_context: Callable[..., None] | None,
) -> Op:
    namespace, _, short = name.partition("::")
    if not short:
        raise ValueError(f"found the name `{name}`, expected a namespace before it, as in `mine::{name}`")
    library = _LIBRARIES.get(namespace)
    if library is None:
        library = _LIBRARIES.setdefault(namespace, operators.Library(namespace, "FRAGMENT"))
    library.define(short + schema)
    for key in ("CUDA", "CPU"):
        library.impl(short, run, key)
    operators.register_fake(name, fake, lib=library)
    if backward is not None:
        operators.register_autograd(name, backward, setup_context=setup_context, lib=library)
    return Op(name, getattr(getattr(torch.ops, namespace), short).default)


class _KernelOp:
    """The operator of one kernel."""

    def __init__(self, kernel: Kernel, mutates: tuple[str, ...], outputs: dict[str, Callable[..., torch.Tensor]]) -> None:
        self.kernel = kernel
        self.outputs = outputs
        self.parameters = parameters(kernel)
        self.generics = dict(kernel._generics())
        known = {parameter.name for parameter in self.parameters if parameter.mutable}
        for name in (*mutates, *outputs):
            if name not in known:
                raise ValueError(f"`{kernel.name}` writes no parameter `{name}`; it writes {', '.join(sorted(known)) or 'none'}")
        self.results = [p for p in self.parameters if p.mutable and p.name not in mutates]
        self.inputs = [p for p in self.parameters if p not in self.results]
        self.extents = {p.name: self.__extents(p) for p in self.results if p.name not in outputs}
        takes = ", ".join(f"{_schema_type(p, self.__scalar(p))} {p.name}" for p in self.inputs)
        returns = ", ".join("Tensor" for _ in self.results)
        self.schema = f"({takes}) -> {returns if len(self.results) == 1 else f'({returns})'}"

    def __scalar(self, parameter: Parameter) -> str:
        return "float" if parameter.dtype.startswith(("f", "bf", "tf")) else "bool" if parameter.dtype == "bool" else "int"

    def __extents(self, result: Parameter) -> list[Any]:
        """Compiles the extents of a result, and checks that the inputs bind all of their names."""
        bound = {entry for p in self.inputs for entry in (p.shape or ()) if entry.isidentifier()}
        bound |= {p.name for p in self.inputs if p.shape is None} | set(self.generics)
        compiled = []
        for entry in result.shape or ():
            names, code = _extent(entry)
            missing = sorted(names - bound) if code is not None else [entry]
            if missing:
                raise ValueError(
                    f"the extent `{entry}` of `{result.name}` does not follow from the inputs of `{self.kernel.name}`: pass "
                    f"`outputs={{\"{result.name}\": lambda …: …}}` with a function of the inputs that makes the tensor"
                )
            compiled.append(code)
        return compiled

    def __bind(self, args: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the values of dimensions and numbers, and the element types of compile-time parameters."""
        values: dict[str, Any] = {}
        types: dict[str, str] = {}
        for parameter, arg in zip(self.inputs, args):
            if parameter.shape is None:
                values.setdefault(parameter.name, arg)
                continue
            shape = tuple(arg.shape)
            if str(arg.dtype).removeprefix("torch.") in PAIRS and shape:
                shape = (*shape[:-1], 2 * shape[-1])
            for entry, extent in zip(parameter.shape, shape):
                if entry.isidentifier():
                    values.setdefault(entry, extent)
            if parameter.dtype in self.generics:
                types.setdefault(parameter.dtype, name_of(arg.dtype) or str(arg.dtype))
        return values, types

    def __new(self, args: tuple[Any, ...]) -> list[torch.Tensor]:
        """Makes the results."""
        if not self.results:
            return []
        values, types = self.__bind(args)
        known = _compile_time(self.kernel, tuple(sorted(types.items())))
        for name, text in known.items():
            if text.lstrip("-").isdigit():
                values.setdefault(name, int(text))
        like = next((arg for arg in args if isinstance(arg, torch.Tensor)), None)
        made = []
        for result in self.results:
            if result.name in self.outputs:
                made.append(self.outputs[result.name](*args))
                continue
            dtype = _DTYPES.get(known.get(result.dtype, result.dtype))
            if dtype is None:
                raise TypeError(f"PyTorch has no elements of type {known.get(result.dtype, result.dtype)} for `{result.name}`")
            shape = [eval(code, {"__builtins__": {}}, {**_FUNCTIONS, **values}) for code in self.extents[result.name]]
            made.append(torch.empty(shape, dtype=dtype, device=None if like is None else like.device))
        return made

    def run(self, *args: Any) -> Any:
        """Makes the results and launches the kernel."""
        made = self.__new(args)
        results, inputs = iter(made), iter(args)
        self.kernel(*(next(results) if p in self.results else next(inputs) for p in self.parameters))
        return self.__returned(made)

    def fake(self, *args: Any) -> Any:
        """Makes the results on tensors without elements."""
        return self.__returned(self.__new(args))

    @staticmethod
    def __returned(made: list[torch.Tensor]) -> Any:
        return None if not made else made[0] if len(made) == 1 else tuple(made)


def _schema_type(parameter: Parameter, scalar: str) -> str:
    if parameter.shape is None:
        return scalar
    return "Tensor(a!)".replace("a", parameter.name) if parameter.mutable else "Tensor"


@functools.lru_cache(maxsize=1024)
def _compile_time(kernel: Kernel, types: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(kernel._compile_time(list(types)))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cdiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "next_pow2": lambda n: 1 << max(int(n) - 1, 0).bit_length(),
}

_ALLOWED = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.USub,
)


class _Floor(ast.NodeTransformer):
    """A division of extents rounds down."""

    def visit_Div(self, _: ast.Div) -> ast.FloorDiv:
        return ast.FloorDiv()


def _extent(text: str) -> tuple[set[str], Any]:
    """Compiles an extent such as `cdiv(n, BN) * 2`. Returns its names; without code if it is more than arithmetic."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return set(), None
    if not all(isinstance(node, _ALLOWED) for node in ast.walk(tree)):
        return set(), None
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - calls
    if not calls <= _FUNCTIONS.keys():
        return set(), None
    tree = ast.fix_missing_locations(_Floor().visit(tree))
    return names, compile(tree, text, "eval")
