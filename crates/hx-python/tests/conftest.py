"""Helpers of the tests. `HX_TEST_SEED` changes the random numbers."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest

import hx

SEED = int(os.environ.get("HX_TEST_SEED", "7"))


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of random numbers; a failure shows its seed."""
    print(f"HX_TEST_SEED={SEED}")
    return np.random.default_rng(SEED)


@pytest.fixture
def write(tmp_path: pathlib.Path):
    """Writes a file of kernels, and loads it."""

    def write(text: str, name: str = "kernels.hx") -> hx.Module:
        path = tmp_path / name
        path.write_text(text)
        return hx.load(path)

    return write


SCALE = """\
/// y = x * by.
kernel scale<B = 128>(x: f32[n], y: mut f32[n], by: f32) grid [cdiv(n, B)] threads 128 {
    copy(load(tile(x, [B])[.., block_idx]) * by, tile(y, [B])[.., block_idx]);
}
"""
