"""The stub of the native module says what the module takes where Python finishes a method."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "hx"


def function(path: Path, name: str, of: str | None = None) -> ast.FunctionDef:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    if of is not None:
        body = next(item for item in body if isinstance(item, ast.ClassDef) and item.name == of).body
    return next(item for item in body if isinstance(item, ast.FunctionDef) and item.name == name)


def options(found: ast.FunctionDef) -> dict[str, tuple[str, str]]:
    """The keyword-only arguments with their types and defaults."""
    pairs = zip(found.args.kwonlyargs, found.args.kw_defaults, strict=True)
    return {arg.arg: (ast.unparse(arg.annotation), ast.unparse(default)) for arg, default in pairs}


def test_tune_has_the_options_of_its_implementation() -> None:
    stub = function(PACKAGE / "_hx.pyi", "tune", of="Kernel")
    own = function(PACKAGE / "_tune.py", "tune")
    assert options(stub) == options(own)
    assert ast.unparse(stub.returns) == ast.unparse(own.returns)
