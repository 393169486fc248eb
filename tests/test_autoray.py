"""tenferro as a backend of autoray."""

import subprocess
import sys

import numpy as np
import pytest

import tenferro as tn

autoray = pytest.importorskip("autoray")


def test_autoray_finds_functions_by_name_eagerly_and_traced() -> None:
    x = tn.asarray(np.arange(6.0).reshape(3, 2))
    assert autoray.infer_backend(x) == "tenferro"
    assert autoray.do("transpose", x).shape == (2, 3)
    u, s, vh = autoray.do("linalg.svd", x)
    assert (u.shape, s.shape, vh.shape) == ((3, 2), (2,), (2, 2))
    np.testing.assert_array_equal(autoray.to_numpy(x), x.numpy())
    total = tn.jit(lambda x: autoray.do("sum", autoray.do("tensordot", x, x, 2)), executor="numpy")
    assert total(x).item() == 55.0


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("first", ["autoray", "tenferro"])
def test_it_is_registered_whichever_is_imported_first(first: str) -> None:
    second = {"autoray": "tenferro", "tenferro": "autoray"}[first]
    code = f"""
import {first}, {second}
x = tenferro.ones((3, 2))
assert [part.shape for part in autoray.do("linalg.svd", x)] == [(3, 2), (2,), (2, 2)]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_random_numbers_have_numpys_names() -> None:
    rng = autoray.do("random.default_rng", 7, like="tenferro")
    again = autoray.do("random.default_rng", tn.random.key(7), like="tenferro")
    assert autoray.do("random.default_rng", rng, like="tenferro") is rng
    drawn = [
        autoray.do("random.default_rng", np.random.default_rng(1), like="tenferro").normal().item()
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
    for name, args in [
        *(("random", ()), ("uniform", (2.0, 3.0)), ("normal", (1.0, 2.0)), ("integers", (5,))),
        *(("standard_normal", ()), ("exponential", (2.0,)), ("gumbel", ()), ("poisson", (9.0,))),
        *(("binomial", (9, 0.5)), ("choice", (tn.arange(20),))),
    ]:
        first, second = (getattr(each, name)(*args, size=(50, 2)) for each in (rng, again))
        assert first.shape == (50, 2)
        np.testing.assert_array_equal(first, second)
        shared = autoray.do(f"random.{name}", *args, size=4, like="tenferro")
        assert shared.shape == (4,)
    assert sorted(rng.permutation(5).tolist()) == [0, 1, 2, 3, 4]
    assert rng.normal(dtype="float32").dtype == np.float32
    draws = []
    for _ in range(2):
        autoray.do("random.seed", 3, like="tenferro")
        draws.append(autoray.do("random.normal", like="tenferro").item())
    assert draws[0] == draws[1]


def test_devices_are_those_of_a_platform_or_one() -> None:
    x = tn.ones(3)
    assert autoray.to_device(x, None) is x
    assert autoray.to_device(x, "cpu") is x
    there = autoray.to_device(x, "cpu:0")
    assert there.device == "cpu:0"
    assert autoray.to_device(there, "cpu") is there
    assert autoray.to_device(there, "host").device == "host"
    z = autoray.do("complex", x, x)
    assert z.dtype == np.complex128
