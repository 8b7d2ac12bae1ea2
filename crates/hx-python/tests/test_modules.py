"""Files, kernels and what they say of themselves."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from conftest import SCALE

import hx
from hx._modules import parameters


def test_modules_and_their_kernels(write):
    module = write(SCALE + SCALE.replace("scale", "other"))
    assert module.kernels == ["scale", "other"] and "other" in dir(module)
    assert module.scale is module.scale and module["scale"].name == "scale"
    assert write(SCALE.replace("scale", "path"), "other.hx")["path"].name == "path"
    assert module.scale.doc == "y = x * by."
    assert repr(module.scale) == f"<hx kernel scale of {module.path}>"
    with pytest.raises(TypeError, match="has no kernel `kernels`"):
        module(np.zeros(1, np.float32))


def test_a_module_is_called_as_its_only_kernel(write):
    y = np.zeros(8, np.float32)
    write(SCALE)(np.ones(8, np.float32), y, 2.0)
    assert (y == 2).all()


def test_parameters_as_they_are_written():
    a, b, c = parameters(hx.std.gemm.gemm)
    assert (a.name, a.type, a.dtype, a.shape, a.strides, a.mutable) == (
        "a",
        "T[m, k] : [a0, a1]",
        "T",
        ("m", "k"),
        ("a0", "a1"),
        False,
    )
    assert (c.dtype, c.mutable) == ("OUT", True)
    assert dict(hx.std.gemm.gemm._generics())["BM"] == "128"
    assert dict(hx.std.gemm.gemm._compile_time([("T", "f16")]))["OUT"] == "f16"


def test_parameters_signature_and_documentation(write):
    scale = write(SCALE + "kernel lambda(from: f32[n], by: mut f32[n]) grid [1] threads 32 {}\n")["scale"]
    assert [(p.name, p.type, p.mutable) for p in scale.params] == [
        ("x", "f32[n]", False),
        ("y", "mut f32[n]", True),
        ("by", "f32", False),
    ]
    assert all(isinstance(p, hx.Parameter) for p in scale.params)
    signature = "(x: 'f32[n]', y: 'mut f32[n]', by: 'f32', *, B=128, stream=None, tune=None)"
    assert str(inspect.signature(scale)) == signature
    assert str(inspect.signature(scale.specialize(B=64))) == signature.replace("128", "64")
    assert inspect.getdoc(scale).endswith("threads 128\n\ny = x * by.") and "kernel scale<B = 128>" in scale.__doc__
    assert hx.Kernel.__doc__.startswith("A kernel of a file.")
    assert inspect.signature(scale).bind(1, 2, by=3, B=4).arguments == {"x": 1, "y": 2, "by": 3, "B": 4}
    words = hx.load(scale.path)["lambda"]
    assert str(inspect.signature(words)) == "(from: 'f32[n]', by: 'mut f32[n]', /, *, stream=None, tune=None)"


def test_an_edited_file_is_reloaded_in_place(write, tmp_path):
    module = write(SCALE)
    scale, x, y = module.scale, np.ones(8, np.float32), np.zeros(8, np.float32)
    scale(x, y, 2.0)
    assert (y == 2).all()
    path = tmp_path / "kernels.hx"
    path.write_text(SCALE.replace("* by", "* by + 1.0"))
    module.reload()
    scale(x, y, 2.0)
    assert (y == 3).all()
    path.write_text(SCALE.replace("* by", "* bye"))
    with pytest.raises(hx.CompileError):
        module.reload()
    with pytest.raises(hx.CompileError):
        scale(x, y, 2.0)
    path.write_text(SCALE)
    module.reload()
    scale(x, y, 4.0)
    assert (y == 4).all()


def test_files_that_use_others(write, tmp_path):
    (tmp_path / "helper.hx").write_text("fn twice(x: register f32[N]) -> register f32[N] { x + x }\n")
    text = "use helper::twice;\n" + SCALE.replace("* by", "* by + twice(load(tile(x, [B])[.., block_idx]))")
    y = np.zeros(8, np.float32)
    write(text)(np.ones(8, np.float32), y, 3.0)
    assert (y == 5).all()


def test_stages_as_texts():
    kernel = hx.std.matmul.matmul
    assert "rc: register f32[64, 64]" in kernel.layouts()
    assert 'extern "C" __global__' in kernel.cuda
    assert "wgmma.m64n64k16.f32.f16" in kernel.why("rc")
    assert kernel.specialize(BM=32).layouts() != kernel.layouts()
    with pytest.raises(hx.LaunchError, match="expected one of tile"):
        kernel.emit("nothing")
    with pytest.raises(hx.LaunchError, match="has no register or shared tensor `nothing`"):
        kernel.why("nothing")


def test_machine_code_without_a_gpu():
    try:
        ptx = hx.std.matmul.matmul.ptx
    except hx.MissingError as missing:
        pytest.skip(missing.message)
    assert ".visible .entry" in ptx and "HGMMA" in hx.std.matmul.matmul.sass


def test_costs():
    cost = hx.std.matmul.matmul.cost(m=4096, n=4096, k=4096)
    assert cost["threads"] == 128 and cost["shared_bytes"] == 12288 and cost["registers"] > 32
    more = hx.std.matmul.matmul.cost(m=4096, n=4096, k=8192)
    assert 1.5 < more["cycles"] / cost["cycles"] < 2.5


def test_check_launches_nothing():
    scale = hx.compile(SCALE).scale
    y = np.full(8, 7, np.float32)
    scale.check(np.ones(8, np.float32), y, 1.0)
    assert (y == 7).all()
    with pytest.raises(hx.LaunchError):
        scale.check(np.ones(9, np.float32), y, 1.0)


TUNED = """\
kernel copied<B = 128>(x: f32[n], y: mut f32[n])
    tune B in [128, 256, 512]
    grid [cdiv(n, B)]
    threads 128
{
    copy(load(tile(x, [B])[.., block_idx]), tile(y, [B])[.., block_idx]);
}
"""


def test_ranking_without_a_gpu(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copied = write(TUNED).copied
    (found,) = copied.tune({"n": 4096}, dry_run=True)
    assert found["kernel"].endswith("copied")
    rows = {row["candidate"]: row["arguments"] for row in found["rows"]}
    assert rows == {"B = 128": {"B": 128}, "B = 256": {"B": 256}, "B = 512": {"B": 512}}
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    copied.specialize(**found["rows"][0]["arguments"])(x, y)
    assert (y == 1).all()
    with pytest.raises(hx.FileError, match="was compiled from a text"):
        hx.compile(TUNED).copied.tune("n=8")
    with pytest.raises(hx.CompileError, match="tune"):
        write(SCALE).scale.tune("n=8,by=1.0", dry_run=True)  # The same file, with another text.


def test_errors_of_tuning(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copied = write(TUNED).copied
    with pytest.raises(hx.LaunchError, match="has no dimension or parameter `m`") as caught:
        copied.tune("m=8", dry_run=True)
    assert (caught.value.code, caught.value.diagnostics) == ("HX0614", [])
    with pytest.raises(TypeError, match="at least one shape"):
        copied.tune()
    try:
        hx.devices()
    except hx.MissingError:
        with pytest.raises(hx.MissingError, match="tuning needs a GPU") as caught:
            copied.tune("n=8")
        assert caught.value.code == "HX0609" and caught.value.diagnostics[0]["code"] == "HX0609"
        assert caught.value.message == "tuning needs a GPU; the simulator does not time"
    # The command reads the file itself.
    (tmp_path / "kernels.hx").write_text(TUNED.replace("load(tile(x", "lead(tile(x"))
    with pytest.raises(hx.CompileError, match="nothing in scope is called `lead`") as caught:
        copied.tune("n=8", dry_run=True)
    assert caught.value.line == 6 and caught.value.file.endswith("kernels.hx") and caught.value.code.startswith("HX")


def test_a_missing_program_is_no_other_program(monkeypatch, tmp_path):
    from hx import _modules

    monkeypatch.delenv("HX_COMMAND", raising=False)
    monkeypatch.setattr(_modules.sysconfig, "get_path", lambda *_: str(tmp_path / "none"))
    monkeypatch.setattr(_modules.sys, "prefix", str(tmp_path / "none"))
    monkeypatch.setattr(_modules, "__file__", str(tmp_path / "none/hx/_modules.py"))
    other = tmp_path / "hx"
    other.write_text("#!/bin/sh\necho helix 25.01\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(hx.MissingError, match="install the package again, or name the program in `HX_COMMAND`"):
        _modules.command()
    other.write_text("#!/bin/sh\necho 1.0 the hx kernel language toolchain\n")
    assert _modules.command() == str(other)


def test_kernels_are_copied_and_pickled(write):
    import copy
    import pickle

    kernel = write(SCALE).scale.specialize(B=64)
    for again in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        y = np.zeros(8, np.float32)
        again(np.ones(8, np.float32), y, 3.0)
        assert (again.name, again.fixed) == ("scale", {"B": "64"}) and (y == 3).all()


def test_the_program_of_the_wheel():
    import subprocess

    from hx._modules import command

    told = subprocess.run([command(), "--version"], capture_output=True, text=True, check=True).stdout
    assert "the hx kernel language toolchain" in told and hx.__version__ in told
