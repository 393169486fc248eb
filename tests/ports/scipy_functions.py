"""SciPy's functions on tensors give the numbers that they give on arrays of NumPy.

    SCIPY_ARRAY_API=1 pytest tests/ports/scipy_functions.py

`scipy_functions.txt` has the calls. With that variable SciPy asks each array for its namespace. It
is told here that tensors are not written to, as `docs/how_to/use_numpys_functions.md` proposes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)
from scipy._lib.array_api_extra._lib import _at

import tenferro as tn

LINES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
CALLS = [line for line in LINES if not line.startswith("#")]
MODULES = {
    "cluster": cluster,
    "fft": fft,
    "integrate": integrate,
    "interpolate": interpolate,
    "linalg": linalg,
    "ndimage": ndimage,
    "numpy": np,
    "optimize": optimize,
    "signal": signal,
    "sparse": sparse,
    "spatial": spatial,
    "special": special,
    "stats": stats,
}


def is_tensor(x: object) -> bool:
    return isinstance(x, tn.Tensor | tn.TracedTensor)


@pytest.fixture(autouse=True)
def scipy_knows_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    writeable, has_at = _at.is_writeable_array, _at.is_jax_array
    monkeypatch.setattr(_at, "is_writeable_array", lambda x: writeable(x) and not is_tensor(x))
    monkeypatch.setattr(_at, "is_jax_array", lambda x: has_at(x) or is_tensor(x))


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    x, y, m = rng.uniform(size=12), rng.uniform(size=12), rng.uniform(size=(4, 4))
    return {
        "x": x,
        "y": y,
        "m": m,
        "s": m @ m.T + np.eye(4),
        "v": rng.uniform(size=4),
        "n": np.arange(1, 13),
        "c": x + 1j * y,
        "rows": rng.uniform(size=(6, 2)),
        "t": np.arange(12) / 10,
        "image": rng.uniform(size=(6, 6)),
        "sections": signal.butter(2, 0.3, output="sos"),
    }


def leaves(value: Any) -> list[Any]:
    """The arrays and numbers of a result of SciPy, in order."""
    if isinstance(value, Mapping):
        return leaves(list(value.values()))
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    if hasattr(value, "statistic") and hasattr(value, "pvalue"):
        return [value.statistic, value.pvalue]
    if hasattr(value, "__dict__") and not is_tensor(value) and type(value).__module__ != "numpy":
        return leaves([each for name, each in vars(value).items() if not name.startswith("_")])
    return [value]


@pytest.mark.parametrize("call", CALLS)
def test_scipy_gives_the_numbers_of_numpy(call: str) -> None:
    wanted = leaves(eval(call, MODULES | arguments()))
    tensors = {name: tn.asarray(value) for name, value in arguments().items()}
    found = leaves(eval(call, MODULES | tensors))
    numbers = (np.ndarray, np.generic, int, float, complex)
    compared = [pair for pair in zip(found, wanted, strict=True) if isinstance(pair[1], numbers)]
    assert compared
    for one, other in compared:
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
