"""The notebook of the book, run by a real client of Jupyter."""

from __future__ import annotations

import pathlib
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


def test_a_notebook_with_cells_in_hx(tmp_path):
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    path = pathlib.Path(__file__).parents[3] / "book/examples/python/notebook.ipynb"
    notebook = nbformat.read(path, 4)
    manager = AsyncKernelManager()
    manager._kernel_spec = KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], display_name="Python", language="python"
    )
    client = nbclient.NotebookClient(notebook, km=manager, timeout=120, resources={"metadata": {"path": tmp_path}})
    client.execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert outputs[1][0].text == "1 kernel: softmax\n"
    assert outputs[2][0].data["text/plain"] == "True"
    assert "row: register f32[1, 256]" in outputs[3][0].text
    (error,) = outputs[4]
    assert error.output_type == "error" and error.ename == "CompileError"
    drawn = "\n".join(error.traceback)
    assert "nothing in scope is called `one`" in drawn and "<cell 6>.hx:2:32" in drawn and "Traceback" not in drawn
