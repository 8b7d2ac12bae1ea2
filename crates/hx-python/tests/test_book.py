"""The Python code of the book's page runs as it is written."""

from __future__ import annotations

import pathlib
import re

import pytest

BOOK = pathlib.Path(__file__).parents[3] / "book"
BLOCK = re.compile(r"^```python(,torch)?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run(monkeypatch, with_torch):
    monkeypatch.chdir(BOOK / "examples/python")
    scope = {"__name__": "book"}
    blocks = BLOCK.findall((BOOK / "src/python.md").read_text(encoding="utf-8"))
    assert len(blocks) == 10
    for needs_torch, code in blocks:
        if with_torch or not needs_torch:
            # Annotations of operators are read from the source of functions.
            exec(compile(code, "python.md", "exec", dont_inherit=True), scope)


def test_the_page(monkeypatch, capsys):
    run(monkeypatch, with_torch=False)
    printed = capsys.readouterr().out
    page = (BOOK / "src/python.md").read_text(encoding="utf-8")
    drawn = printed[printed.index("error[HX0604]") : printed.index("───╯")]
    assert drawn in page


def test_the_page_with_torch(monkeypatch):
    pytest.importorskip("torch")
    run(monkeypatch, with_torch=True)
