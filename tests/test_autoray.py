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


@pytest.mark.parametrize("first", ["autoray", "tenferro"])
def test_it_is_registered_whichever_is_imported_first(first: str) -> None:
    second = {"autoray": "tenferro", "tenferro": "autoray"}[first]
    code = f"""
import {first}, {second}
x = tenferro.ones((3, 2))
assert [part.shape for part in autoray.do("linalg.svd", x)] == [(3, 2), (2,), (2, 2)]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
