"""Plans of launches: which calls bind anew, and which go through a plan of an earlier call. On the simulator, by `hx.counters()`."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest
from conftest import SCALE

import hx


class Counts:
    """The counts of a block of calls, as in `plans=1 plan_hits=9`."""

    def __enter__(self) -> Counts:
        self.before = hx.counters()
        return self

    def __exit__(self, *_: object) -> None:
        after = hx.counters()
        self.more = {name: after[name] - self.before[name] for name in after}

    def __str__(self) -> str:
        return " ".join(f"{name}={count}" for name, count in self.more.items() if count)


def arrays(*shape):
    return np.ones(shape, np.float32), np.full(shape, np.nan, np.float32)


SHIFTED = """\
kernel shifted(x: f32[n], y: mut f32[n], by: i32) grid [cdiv(n, 128)] threads 128 {
    copy(load(tile(x, [128])[.., block_idx]) + cast(by, f32), tile(y, [128])[.., block_idx]);
}
"""


def test_a_new_whole_number_needs_no_new_plan(write):
    shifted = write(SHIFTED).shifted
    x, y = arrays(64)
    with Counts() as counts:
        for seed in range(-100, 100):
            shifted(x, y, seed)
            assert (y == 1 + seed).all()
        shifted(x, y, np.int64(5))
    assert str(counts) == "compiles=1 plans=1 plan_hits=200 launches=201"
    with pytest.raises(hx.LaunchError, match="2147483648, which does not fit"):
        shifted(x, y, 1 << 31)


def test_a_new_seed_of_dropout_needs_no_new_plan():
    x, y = arrays(256)
    dropout = hx.std.random.dropout
    dropout(x, y, 0.5, 1)
    first = y.copy()
    with Counts() as counts:
        for seed in range(2, 12):
            dropout(x, y, 0.5, seed)
            assert not (y == first).all()
        dropout(x, y, 0.5, 1)
    assert (y == first).all()
    assert str(counts) == "plan_hits=11 launches=11"


def test_lengths_with_the_same_divisors_have_one_plan(write):
    scale = write(SCALE).scale
    with Counts() as counts:
        for length in range(0, 300):
            x, y = arrays(length)
            scale(x, y, 3.0)
            assert (y == 3).all()
    # The divisors 16, 8, 4, 2 and 1.
    assert str(counts) == "compiles=5 plans=5 plan_hits=295 launches=300"


STRIDED = """\
kernel doubled(x: f32[m, n] : [ld, 1], y: mut f32[m, n]) where m * n < 4096 grid [cdiv(n, 32), m] threads 32 {
    let [column, row] = block_idx;
    copy(2.0 * load(tile(x, [1, 32])[.., .., row, column]), tile(y, [1, 32])[.., .., row, column]);
}
"""


def test_what_a_plan_checks(write, rng):
    doubled = write(STRIDED).doubled
    base = rng.standard_normal((64, 512)).astype(np.float32)
    x, y = base[:4, :32], np.zeros((4, 32), np.float32)
    doubled(x, y)
    with Counts() as counts:
        for rows, columns in [(8, 64), (16, 16), (48, 80), (4, 160)]:
            x, y = base[:rows, :columns], np.zeros((rows, columns), np.float32)
            doubled(x, y)
            np.testing.assert_array_equal(y, 2 * x)
    assert str(counts) == "compiles=2 plans=2 plan_hits=2 launches=4"  # 8 rows, and 16 or 48: other divisors than 4.
    with Counts() as counts:
        for arguments, reason in [
            ((base[:16, :32], np.zeros((16, 48), np.float32)), "but `n` is 32 in `x`"),
            ((base[:32, :512], np.zeros((32, 512), np.float32)), "does not hold"),
            ((base[:16, :64:2], np.zeros((16, 32), np.float32)), "must be 1"),
            ((base[:16, :32], base[16:32, :32]), "packed in row-major order"),
        ]:
            with pytest.raises(hx.LaunchError, match=reason):
                doubled(*arguments)
    assert str(counts) == ""


def test_another_module_keeps_the_plans(write, tmp_path):
    module = write(SCALE)
    x, y = arrays(64)
    module.scale(x, y, 2.0)
    with Counts() as counts:
        hx.compile(SCALE.replace("scale", "other"))
        module.scale(x, y, 2.0)
        write(SHIFTED, "more.hx")
        module.scale(x, y, 2.0)
        hx.load(tmp_path / "kernels.hx").scale(x, y, 2.0)
        hx.std.softmax.kernels
        module["scale"](x, y, 2.0)
        module.reload()
        module.scale(x, y, 2.0)
    assert str(counts) == "plan_hits=5 launches=5"


def test_the_same_text_is_the_same_module():
    x, y = arrays(64)
    text = SCALE + "// The same text.\n"
    hx.compile(text).scale(x, y, 2.0)
    with Counts() as counts:
        for _ in range(3):
            hx.compile(text).scale(x, y, 2.0)
    assert str(counts) == "plan_hits=3 launches=3"


def test_an_edited_module_loses_its_plans_and_no_other_one(write, tmp_path):
    edited, kept = write(SCALE, "edited.hx").scale, write(SHIFTED, "kept.hx").shifted
    x, y = arrays(64)
    edited(x, y, 2.0)
    kept(x, y, 2)
    (tmp_path / "edited.hx").write_text(SCALE.replace("* by", "* by + 1.0"))
    hx.load(tmp_path / "edited.hx")
    with Counts() as counts:
        edited(x, y, 2.0)
        assert (y == 3).all()
        kept(x, y, 2)
    assert str(counts) == "compiles=1 plans=1 plan_hits=1 launches=2"
    # A comment changes no plan.
    (tmp_path / "edited.hx").write_text("// A comment.\n" + SCALE.replace("* by", "* by + 1.0"))
    hx.load(tmp_path / "edited.hx")
    with Counts() as counts:
        edited(x, y, 2.0)
    assert str(counts) == "plan_hits=1 launches=1"


@pytest.mark.parametrize("named", ["changed", "helper::changed"])
def test_an_edit_of_a_function_that_is_an_argument(write, tmp_path, named):
    helper = "fn changed(x: register f32[N]) -> register f32[N] { -x }\n"
    text = """use helper::changed;
    use std::activations::identity;
    kernel mapped<F: fn = identity>(x: f32[n], y: mut f32[n]) grid [1] threads 32 {
        copy(F(load(tile(x, [64])[.., 0])), tile(y, [64])[.., 0]);
    }"""
    (tmp_path / "helper.hx").write_text(helper)
    module = write(text)
    x, y = arrays(64)
    module.mapped(x, y, F=named)
    assert (y == -1).all()
    (tmp_path / "helper.hx").write_text(helper.replace("-x", "x + x"))
    hx.load(tmp_path / "helper.hx")
    with Counts() as counts:
        module.mapped(x, y, F=named)
    assert (y == 2).all()
    assert counts.more["plans"] == 1


def test_an_edit_of_a_member_in_another_file(write, tmp_path):
    other = "kernel fast(x: f32[n], y: mut f32[n]) grid [1] threads 32 { copy(load(tile(x, [64])[.., 0]), tile(y, [64])[.., 0]); }\n"
    (tmp_path / "other.hx").write_text(other)
    module = write("use other::fast;\n#[family(fast)]\n" + other.replace("fast", "slow"))
    x, y = arrays(64)
    module.slow(x, y)
    (tmp_path / "other.hx").write_text(other.replace("0]), tile", "0]) + 1.0, tile"))
    hx.load(tmp_path / "other.hx")
    with Counts() as counts:
        module.slow(x, y)
    assert (y == 2).all()
    assert counts.more["plans"] == 1


def test_a_new_file_that_stands_before_another(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "helper.hx").write_text("fn of(x: f32) -> f32 { x + 1.0 }\n")
    (inner / "main.hx").write_text("""use helper::of;
    kernel mapped(x: f32[n], y: mut f32[n]) grid [1] threads 32 { copy(of(load(tile(x, [64])[.., 0])), tile(y, [64])[.., 0]); }""")
    module = hx.load(inner / "main.hx")
    x, y = arrays(64)
    module.mapped(x, y)
    assert (y == 2).all()
    (inner / "helper.hx").write_text("fn of(x: f32) -> f32 { x + 2.0 }\n")
    hx.load(inner / "helper.hx")
    module.mapped(x, y)
    assert (y == 3).all()


def test_a_parameter_may_be_called_stream(write):
    kernel = write(SHIFTED.replace("by", "stream")).shifted
    x, y = arrays(64)
    kernel(x, y, stream=3)
    assert (y == 4).all()


def test_arguments_of_the_same_length_and_other_types_have_other_plans(write):
    kernel = write(
        """kernel widened<T: type, B = 64>(x: T[n], y: mut f32[n], by: T) grid [cdiv(n, B)] threads 32 {
        copy(cast(load(tile(x, [B])[.., block_idx]), f32) + cast(by, f32), tile(y, [B])[.., block_idx]);
    }"""
    ).widened
    y = np.zeros(64, np.float32)
    for dtype, by in [(np.float16, 2), (np.float32, 2), (np.int32, 2), (np.float16, 2.0), (np.float32, 3)]:
        for given in ({}, {"B": 32}):
            with Counts() as counts:
                kernel(np.ones(64, dtype), y, by, **given)
            assert (y == 1 + by).all()
            assert ("plan_hits=1" in str(counts)) == (by == 3), (dtype, by)


def test_threads_share_plans(write):
    scale = write(SCALE).scale
    x, y = arrays(64)
    scale(x, y, 1.0)
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            for length in range(16, 16 * 20, 16):
                x, y = arrays(length)
                scale(x, y, float(number))
                assert (y == number).all()
        except Exception as error:  # The thread has no other way to tell.
            errors.append(error)

    with Counts() as counts:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors and str(counts) == "plan_hits=152 launches=152"


def test_a_function_is_told_of_compiles(write, tmp_path):
    module = write(SCALE.replace("scale", "told"))
    events: list[hx.Compile] = []
    remove = hx.on_compile(events.append)
    module.told(*arrays(64), 1.0)
    module.told(*arrays(128), 2.0)
    module.told(*arrays(36), 2.0, B=256)
    first, second = events
    assert (first.kernel, first.arguments, first.facts) == ("told", {"B": "128"}, ())
    assert first.file.endswith("kernels.hx") and (first.device, first.target) == ("sim", "sm_90a")
    assert 0 < first.seconds < 60 and not first.cached
    assert (second.arguments, second.facts) == ({"B": "256"}, ("n % 4",))
    remove()
    remove()
    module.told(*arrays(3), 1.0)
    assert len(events) == 2


def test_an_exception_of_the_function_ends_the_call(write):
    module = write(SCALE.replace("scale", "late"))

    def refuse(event: hx.Compile) -> None:
        raise RuntimeError(f"{event.kernel} compiles after the warm-up")

    x, y = arrays(64)
    remove = hx.on_compile(refuse)
    with pytest.raises(RuntimeError, match="late compiles after"):
        module.late(x, y, 1.0)
    assert np.isnan(y).all()
    remove()
    with Counts() as counts:
        module.late(x, y, 1.0)
    assert str(counts) == "plan_hits=1 launches=1"


def test_a_log_of_compiles_and_plans(write, caplog):
    module = write(SCALE.replace("scale", "logged"))
    with caplog.at_level(logging.DEBUG, "hx"):
        module.logged(*arrays(64), 1.0)
        module.logged(*arrays(64), 1.0)
    told = [(record.levelname, record.message) for record in caplog.records if record.name == "hx"]
    assert [level for level, _ in told] == ["DEBUG", "INFO"]
    assert told[0][1].startswith("planned a launch of logged in ") and "kernels.hx::logged<B = 128>" in told[0][1]
    assert told[1][1].startswith("compiled logged<B = 128> of ") and " for sm_90a on sim in " in told[1][1]
