"""The instance of a launch, and the warning about launches on the simulator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import SCALE

import hx
from hx import _events


def test_the_instance_of_a_launch(write):
    scale = write(SCALE).scale
    x, y = np.ones(35, np.float32), np.zeros(35, np.float32)
    instance = scale.instance(x, y, 2.0, B=512)
    assert (instance.kernel, instance.arguments, instance.facts) == ("scale", {"B": "512"}, ["n % 1"])
    assert (instance.device, instance.target, instance.chosen) == ("sim", "sm_90a", [])
    assert repr(instance).endswith("::scale<B = 512> n % 1 on sim>")
    assert (y == 0).all()
    # The kernel's own text is that of the default instance.
    assert instance.cuda != scale.cuda and instance.cuda != scale.specialize(B=512).cuda
    whole = np.zeros(128, np.float32)
    assert scale.instance(whole, whole.copy(), 2.0).cuda == scale.cuda
    assert "assuming n = 35" in instance.why() and "st.global.b32" in instance.emit("layouts")
    with pytest.raises(hx.LaunchError, match="expected one of tile"):
        instance.emit("nothing")
    with pytest.raises(hx.LaunchError, match="must be|but `n` is"):
        scale.instance(x, np.zeros(34, np.float32), 2.0)


def test_the_instance_of_a_family():
    a, b, c = (np.zeros(shape, np.float16) for shape in ((128, 64), (128, 64), (128, 128)))
    instance = hx.std.gemm.gemm.instance(a, b, c)
    members = [member["name"] for member in hx.std.gemm.gemm.members(a, b, c)]
    assert members[0].startswith(instance.kernel)
    (line,) = instance.chosen
    assert instance.kernel in line


def test_the_machine_code_of_an_instance(write):
    scale = write(SCALE).scale
    instance = scale.instance(np.ones(36, np.float32), np.zeros(36, np.float32), 2.0)
    try:
        registers = instance.registers
    except hx.MissingError as missing:
        pytest.skip(missing.message)
    assert registers is not None and 8 <= registers <= 255
    assert instance.spills == (0, 0)
    assert ".visible .entry" in instance.ptx and "STG" in instance.sass


def test_an_instance_of_an_earlier_text(write, tmp_path):
    module = write(SCALE)
    instance = module.scale.instance(np.ones(8, np.float32), np.zeros(8, np.float32), 2.0)
    (tmp_path / "kernels.hx").write_text(SCALE.replace("* by", "+ by"))
    module.reload()
    with pytest.raises(hx.LaunchError, match="the text of `scale` has changed: call `instance` again"):
        instance.cuda


def test_a_warning_of_tensors_in_host_memory(write, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(_events, "gpu_is_there", lambda: True)
    module = write(SCALE + SCALE.replace("scale", "other"))
    x, y = torch.ones(8), torch.zeros(8)
    with pytest.warns(UserWarning, match=r"`scale` runs on the simulator.*`x.cuda\(\)` moves") as caught:
        module.scale(x, y, 2.0)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.scale(x, y, 3.0)
        module.other(x.numpy(), y.numpy(), 2.0)
    monkeypatch.setattr(_events, "gpu_is_there", lambda: False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.other(x, y, 3.0)
