"""Frequencies, shifts, signatures and errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    AxisError,
    ConfigError,
    DTypeError,
    ShapeError,
    TracingError,
)


def test_all_names_are_public() -> None:
    assert set(tn.fft.__all__) == {*np.fft.__all__, "ad_rules", "register_runtime"}
    for name in tn.fft.__all__:
        assert getattr(tn.fft, name).__name__ == name


@pytest.mark.parametrize("name", [name for name in np.fft.__all__ if "freq" not in name])
def test_the_signature_is_that_of_the_array_api(name: str) -> None:
    first, *others = inspect.signature(getattr(tn.fft, name)).parameters.values()
    assert first.name == ("x" if name.endswith("shift") else "a")  # NumPy's names
    found = {each.name: each.default for each in others if each.name != "out"}
    if name.endswith("shift"):
        assert found == {"axes": None}
    elif name.endswith(("n", "2")):
        axes = (-2, -1) if name.endswith("2") else None
        assert found == {"s": None, "axes": axes, "norm": "backward"}
    else:
        assert found == {"n": None, "axis": -1, "norm": "backward"}


def test_frequencies_are_those_of_numpy_to_the_last_bit() -> None:
    for n in (1, 2, 5, 8):
        for d in (1.0, 0.3, 2):
            np.testing.assert_array_equal(tn.fft.fftfreq(n, d=d), np.fft.fftfreq(n, d))
            np.testing.assert_array_equal(tn.fft.rfftfreq(n, d=d), np.fft.rfftfreq(n, d))
    assert tn.fft.fftfreq(4, dtype=tn.float32).dtype == tn.float32


def test_shifts_are_those_of_numpy() -> None:
    x = np.arange(20).reshape(4, 5)
    for name in ("fftshift", "ifftshift"):
        ours, theirs = getattr(tn.fft, name), getattr(np.fft, name)
        for axes in (None, 0, -1, (1, 0)):
            np.testing.assert_array_equal(ours(x, axes=axes), theirs(x, axes))
        for size in (0, 1):
            np.testing.assert_array_equal(ours(np.ones(size)), np.ones(size))


Z = np.ones(4, complex)
HALF = np.ones(4, np.float16)
fft = tn.fft
REFUSALS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: fft.fft(Z, n=0), ShapeError, "fft: n must be at least 1, got 0 (axis -1 of c128[4])"),
    (lambda: fft.irfft(Z, n=-3), ShapeError, "irfft: n must be at least 1, got -3"),
    (
        lambda: fft.rfft(np.ones((0, 2)), axis=0),
        ShapeError,
        "rfft: n must be at least 1, got 0 (axis 0 of f64[0,2])",
    ),
    (
        lambda: fft.irfft(Z[:1]),
        ShapeError,
        "irfft: n must be at least 1, got 0 (axis -1 of c128[1])",
    ),
    (lambda: fft.hfft(Z[:0]), ShapeError, "hfft: n must be at least 1, got -2"),
    (
        lambda: fft.fftn(np.ones((2, 0))),
        ShapeError,
        "fftn: n must be at least 1, got 0 (axis 1 of f64[2,0])",
    ),
    (
        lambda: fft.fftn(Z, s=(0,), axes=(0,)),
        ShapeError,
        "fftn: s[0] must be at least 1, got 0 (axis 0 of c128[4])",
    ),
    (
        lambda: fft.fftn(Z, s=(2, 2), axes=(0,)),
        ShapeError,
        "fftn: s has 2 sizes and axes has 1 axis; pass one size for each axis",
    ),
    (lambda: fft.fftn(Z, s=4), ShapeError, "fftn: s must be several sizes, got 4; write (4,)"),
    (lambda: fft.fft(5.0), ShapeError, "fft: takes arrays with at least one axis, got f64[]"),
    (lambda: fft.rfft(Z), DTypeError, "rfft: takes real input, got c128[4]; use fft"),
    (lambda: fft.ihfft(Z), DTypeError, "ihfft: takes real input, got c128[4]; use ifft"),
    (lambda: fft.rfftn(Z), DTypeError, "rfftn: takes real input, got c128[4]; use fftn"),
    (lambda: fft.rfft2(Z), DTypeError, "rfft2: takes real input, got c128[4]; use fft2"),
    (
        lambda: fft.fft(HALF),
        DTypeError,
        "fft: takes single and double precision, got f16; convert it with astype(tn.float32)",
    ),
    (lambda: fft.fft(Z, n=2.0), DTypeError, "fft: n must be an integer, got 2.0"),
    (lambda: fft.fft(Z, n=True), DTypeError, "fft: n must be an integer, got True"),
    (lambda: fft.fftn(Z, s=(None,)), DTypeError, "fftn: s[0] must be an integer, got None"),
    (
        lambda: fft.fftn(np.ones((2, 2)), axes=(0, 0)),
        AxisError,
        "fftn: axes (0, 0) repeat",
    ),
    (lambda: fft.fftn(np.ones((2, 2)), axes=(0, -2)), AxisError, "fftn: axes (0, -2) repeat"),
    (lambda: fft.fftn(Z, axes=0), AxisError, "fftn: axes must be several integers, got 0"),
    (lambda: fft.rfftn([1.0], axes=()), AxisError, "rfftn: needs at least one axis, got axes ()"),
    (lambda: fft.irfftn(1.0), AxisError, "irfftn: needs at least one axis, got axes ()"),
    (lambda: fft.fft(Z, axis=1), AxisError, "fft: axis 1 is out of range for rank 1"),
    (lambda: fft.fft2(Z), AxisError, "fft2: axis -2 is out of range for rank 1"),
    (lambda: fft.fftshift(Z, axes=2), AxisError, "fftshift: axis 2 is out of range for rank 1"),
    (
        lambda: fft.fft(Z, norm="unitary"),
        ConfigError,
        "fft: norm must be 'backward', 'ortho' or 'forward', got 'unitary'",
    ),
    (lambda: fft.fftfreq(0), ShapeError, "fftfreq: n must be at least 1, got 0"),
    (lambda: fft.rfftfreq(2.5), DTypeError, "rfftfreq: n must be an integer, got 2.5"),
    (
        lambda: fft.fftfreq(4, dtype=tn.int64),
        DTypeError,
        "fftfreq: dtype must be floating-point, got i64",
    ),
    (
        lambda: tn.jit(lambda x, n: fft.fft(x, n=n))(Z, 3),
        TracingError,
        "make the argument static with static_argnames",
    ),
    (
        lambda: tn.jit(fft.fft, symbolic={"a": ("n",)})(Z[:0]),
        ShapeError,
        "fft: n must be at least 1, got 0 (axis -1 of c128[0])",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSALS, ids=[text for *_, text in REFUSALS])
def test_refusals(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()
