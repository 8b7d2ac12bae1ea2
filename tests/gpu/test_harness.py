"""What of the harness needs neither PyTorch nor a GPU: `python3 tests/gpu/test_harness.py`."""

import unittest

import hopper
from harness import Description, Driver, HarnessError, evaluate, key_values, number, quantile


class Fake:
    """A tensor's shape, strides and address."""

    def __init__(self, shape, stride=None, address=256):
        self.shape = shape
        packed = [1] * len(shape)
        for axis in range(len(shape) - 1, 0, -1):
            packed[axis - 1] = packed[axis] * shape[axis]
        self._stride = packed if stride is None else stride
        self._address = address

    def stride(self):
        return tuple(self._stride)

    def data_ptr(self):
        return self._address


def tensor(name, shape, stride, mutable=False):
    return dict(kind="tensor", name=name, dtype="f16", mutable=mutable, shape=shape, stride=stride, align=16)


def description(**changes):
    data = dict(
        format=1,
        kernel="scale",
        symbol="scale",
        kind="cubin",
        code="scale.cubin",
        params=[
            tensor("x", ["m", "k"], ["ldx", "1"]),
            tensor("y", ["m", "k * 2"], ["k * 2", "1"], mutable=True),
            dict(kind="scalar", name="by", dtype="f32"),
            dict(kind="symbol", name="m", dtype="i32"),
            dict(kind="symbol", name="k", dtype="i32"),
            dict(kind="symbol", name="ldx", dtype="i32"),
        ],
        grid=["(m + 63) // 64", "min(k, 4)", "1"],
        cluster=[1, 1, 1],
        threads=128,
        shared_bytes=0,
        requires=[dict(text="k % BK == 0", python="k % 8 == 0")],
        facts=dict(dims=dict(ldx=16)),
    )
    data.update(changes)
    return Description(data)


class Expressions(unittest.TestCase):
    def test_values(self):
        env = dict(m=100, k=7)
        self.assertEqual(evaluate("(m + 63) // 64", env), 2)
        self.assertEqual(evaluate("-m // 64 + max(k, 3) * 2", env), 12)
        self.assertEqual(evaluate("(m ^ k) & 0xff", env), 99)
        self.assertIs(evaluate("m % 4 == 0 and (k < 3 or k != 8)", env), True)
        self.assertIs(evaluate("True", env), True)

    def test_refusals(self):
        for text in ["m / 2", "n", "__import__('os')", "m.bit_length()", "[m]", "1.5"]:
            with self.assertRaises(HarnessError, msg=text):
                evaluate(text, dict(m=1))


class Binding(unittest.TestCase):
    def bind(self, x, y, **changes):
        return description(**changes).bind([x, y], dict(by=2.0))

    def refused(self, reason, *args, **changes):
        with self.assertRaises(HarnessError) as caught:
            self.bind(*args, **changes)
        self.assertIn(reason, str(caught.exception))

    def test_names_get_values(self):
        d = description()
        x, y = Fake((100, 8), (32, 1)), Fake((100, 16))
        env = d.bind([x, y], dict(by=2.0))
        self.assertEqual(env, dict(by=2.0, m=100, k=8, ldx=32))
        self.assertEqual(d.grid(env), [2, 4, 1])
        self.assertEqual([a.value for a in d.arguments([x, y], env)], [256, 256, 2.0, 100, 8, 32])

    def test_strides_that_nothing_uses(self):
        env = description().bind([Fake((1, 8)), Fake((1, 16))], dict(by=2.0))
        self.assertEqual(env, dict(by=2.0, m=1, k=8, ldx=16))

    def test_what_does_not_fit(self):
        fine, y = Fake((100, 8), (32, 1)), Fake((100, 16))
        self.refused("dimension 1 of `y` is 17, and must be `k * 2`, which is 16", fine, Fake((100, 17)))
        self.refused("stride 1 of `x` is 2", Fake((100, 8), (32, 2)), y)
        self.refused("`k % BK == 0` does not hold", Fake((100, 9), (32, 1)), Fake((100, 18)))
        self.refused("the kernel was built for `ldx % 16 == 0`, and ldx is 8", Fake((100, 8)), y)
        self.refused("`x` must be aligned to 16 bytes", Fake((100, 8), (32, 1), 8), y)
        self.refused("has rank 2, got a tensor of rank 1", Fake((100,)), y)
        with self.assertRaises(HarnessError):
            description().bind([fine], dict(by=1.0))
        with self.assertRaises(HarnessError):
            description().bind([fine, y])
        with self.assertRaises(HarnessError):
            description(format=2)


class Encoder:
    """Stands for the driver and keeps what it is to encode."""

    def tensor_map(self, param, address, dims, strides):
        return param["box"], address, dims, strides


class Maps(unittest.TestCase):
    def tearDown(self):
        Driver._instance = None

    def test_numbers_of_a_map(self):
        Driver._instance = Encoder()
        d = description()
        d.params.append(
            dict(kind="tensor_map", param="x", element="f16", rank=2, dims=["k", "m"], strides=["ldx * 2"], box=[64, 8])
        )
        x, y = Fake((100, 8), (32, 1), 512), Fake((100, 16))
        env = d.bind([x, y], dict(by=2.0))
        self.assertEqual(d.arguments([x, y], env)[-1], ([64, 8], 512, [8, 100], [64]))


class Numbers(unittest.TestCase):
    def test_quantiles(self):
        self.assertEqual(quantile([3.0, 1.0, 2.0], 0.5), 2.0)
        self.assertAlmostEqual(quantile([1.0, 2.0], 0.2), 1.2)
        self.assertEqual(quantile([1.0], 0.8), 1.0)

    def test_flags(self):
        self.assertEqual(key_values("m=1,n = 2", int), dict(m=1, n=2))
        self.assertEqual(key_values("eps=1e-5,n=0x10", number), dict(eps=1e-5, n=16))
        with self.assertRaises(HarnessError):
            key_values("m", int)


class Hopper(unittest.TestCase):
    def test_cases_are_named_apart(self):
        names = [case.name for case in hopper.CASES]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("gemm-bf16-8192x8192x4096", names)
        self.assertIn("attention-f16-16x16x4096x64-causal", names)
        causal = hopper.chosen(hopper.CASES, ["causal", "nothing"])
        self.assertEqual([(case.size, case.goal) for case in causal], [(64, 0.8), (128, 0.8)])
        self.assertEqual(causal[0].flops, 2 * 256 * 4096 * 4096 * 64)

    def test_contenders(self):
        added = hopper.contender("wide=gemm:std/gemm.hx::gemm:BM=128,BN=256")
        self.assertEqual(added.generics, (("BM", "128"), ("BN", "256")))
        self.assertEqual((added.name, added.family, added.file, added.kernel), ("wide", "gemm", "std/gemm.hx", "gemm"))
        self.assertEqual(hopper.contender("a=attention:x.hx::f").generics, ())
        with self.assertRaises(HarnessError):
            hopper.contender("gemm:std/gemm.hx::gemm")
        self.assertTrue(hopper.has_kernel("/// x\nkernel gemm<BM = 1>(", "gemm"))
        self.assertFalse(hopper.has_kernel("kernel gemm_pingpong(\n// kernel gemm(", "gemm"))
        self.assertTrue(any(one.is_there() for one in hopper.CONTENDERS if one.family == "gemm"))

    def test_a_goal_is_a_share_of_the_peer_between_its_two_figures(self):
        case = hopper.Gemm("f16", 1000, 1000, 1000, 0.96)
        times = {"cublas": [100.0], "cublas again": [100.0], "gemm": [104.0, 104.0, 500.0]}
        rows = hopper.summary(case, times)
        self.assertEqual([row["name"] for row in rows], list(times))
        self.assertAlmostEqual(rows[2]["of_peer"], 100 / 104)
        self.assertAlmostEqual(rows[0]["tflops"], 20.0)
        self.assertTrue(hopper.verdict(case, rows))
        self.assertFalse(hopper.verdict(case, hopper.summary(case, {**times, "gemm": [105.0]})))
        self.assertIsNone(hopper.verdict(case, rows[:2]))


if __name__ == "__main__":
    unittest.main()
