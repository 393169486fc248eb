"""`tn.scipy.signal` and `tn.scipy.fft` are SciPy's."""

from __future__ import annotations

from typing import Any

import jax
import jax.scipy.signal
import numpy as np
import pytest
import scipy.fft
import scipy.signal

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tests.in_jax import in_jax

ts: Any = tn.scipy.signal
rng = np.random.default_rng(0)


def same(found: Any, expected: Any) -> None:
    for one, other in zip(tn.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 1e-9, 1e-11)


SHAPES = [((5,), (3,)), ((3,), (5,)), ((5, 6), (2, 3)), ((2, 3), (4, 5)), ((2, 3, 4), (2, 2, 1))]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_convolutions_are_scipys(mode: str, shapes: tuple[Any, Any]) -> None:
    x, y = (rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in shapes)
    for a, b in ((x, y), (x.real, y.real)):
        for name in ("convolve", "correlate"):
            expected = getattr(scipy.signal, name)(a, b, mode, "direct")
            for method in ("direct", "fft"):
                same(getattr(ts, name)(a, b, mode, method), expected)
        if x.ndim == 2:
            for name in ("convolve2d", "correlate2d"):
                same(getattr(ts, name)(a, b, mode), getattr(scipy.signal, name)(a, b, mode))
    whole = ts.convolve(np.arange(4), np.arange(3), mode)
    assert whole.dtype == np.int64
    assert whole.tolist() == scipy.signal.convolve(np.arange(4), np.arange(3), mode).tolist()


def test_convolutions_along_some_axes_and_trends_are_scipys() -> None:
    a, b = rng.normal(size=(3, 7)), rng.normal(size=(3, 4))
    same(ts.fftconvolve(a, b, "same", axes=1), scipy.signal.fftconvolve(a, b, "same", axes=1))
    for kind, axis in (("linear", 0), ("constant", 1), ("linear", -1)):
        same(ts.detrend(a, axis, kind), scipy.signal.detrend(a, axis, kind))
    same(ts.detrend(a, 1, "linear", [2, 5]), scipy.signal.detrend(a, 1, "linear", [2, 5]))


OPTIONS: list[dict[str, Any]] = [
    {"nperseg": 15, "noverlap": 4},
    {"nperseg": 16, "nfft": 32, "window": "hamming", "fs": 3.5},
    {"nperseg": 16, "window": np.hanning(16)},
    {"nperseg": 17, "nfft": 21, "window": ("kaiser", 4.0)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["odd", "padded", "array", "named"])
@pytest.mark.parametrize("kind", ["axis 1", "complex"])
def test_spectra_are_scipys(options: dict[str, Any], kind: str) -> None:
    shape, axis = ((2, 60, 3), 1) if kind == "axis 1" else ((60,), -1)
    x, y = rng.normal(size=(2, *shape))
    if kind == "complex":
        x, y, options = x + 1j * y, y - 1j * x, {**options, "return_onesided": False}
    for boundary, padded in (("zeros", True), ("odd", False), ("even", True), (None, False)):
        further = {**options, "axis": axis, "boundary": boundary, "padded": padded}
        same(ts.stft(x, **further), scipy.signal.stft(x, **further))
    for scaling, average, detrend in (("density", "mean", "linear"), ("spectrum", "median", False)):
        further = {
            **options, "axis": axis, "scaling": scaling, "average": average, "detrend": detrend
        }  # fmt: skip
        same(ts.csd(x, y, **further), scipy.signal.csd(x, y, **further))
        same(ts.welch(x, **further), scipy.signal.welch(x, **further))
    inverse = {name: value for name, value in options.items() if name != "return_onesided"}
    inverse["input_onesided"] = kind != "complex"
    _, _, spectra = scipy.signal.stft(x, axis=axis, **options)
    inverse |= {"time_axis": spectra.ndim - 1, "freq_axis": axis % x.ndim}
    same(ts.istft(spectra, **inverse), scipy.signal.istft(spectra, **inverse))


def test_gradients_of_spectra_are_those_of_jax() -> None:
    x = rng.normal(size=40)

    def loss(m: Any, xp: Any) -> Any:
        def of(x: Any) -> Any:
            spectrum = xp.sum(xp.abs(m.stft(x, nperseg=16)[2]) ** 2)
            return spectrum + xp.sum(m.welch(x, nperseg=16)[1]) + xp.sum(m.convolve(x, x[:5]) ** 3)

        return of

    expected = in_jax(jax.grad(loss(jax.scipy.signal, jax.numpy)), x)
    np.testing.assert_allclose(tn.jit(tn.grad(loss(ts, tn)))(x), expected, 1e-8)
    assert ts.welch(x.astype("float32"), nperseg=16)[1].dtype == np.float32
    both = np.stack([x, -x])
    whole = tn.vmap(lambda x: ts.istft(ts.stft(x, nperseg=16)[2], nperseg=16)[1])(both)
    np.testing.assert_allclose(whole[:, :40], both, 1e-12, 1e-13)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_cosine_transforms_are_scipys(kind: int, norm: str | None) -> None:
    x = rng.normal(size=(2, 5, 3))
    for name in ("dct", "idct"):
        ours, theirs = getattr(tn.scipy.fft, name), getattr(scipy.fft, name)
        for n in (None, 8, 3, 2):
            same(ours(x, kind, n, 1, norm), theirs(x, kind, n, 1, norm))
        several = getattr(tn.scipy.fft, f"{name}n"), getattr(scipy.fft, f"{name}n")
        same(*(f(x, kind, None, None, norm) for f in several))
        same(*(f(x, kind, (3, 6), (0, 2), norm) for f in several))
    assert tn.scipy.fft.dct(x.astype("float32"), kind).dtype == np.float32
    slope = tn.grad(lambda x: tn.sum(tn.scipy.fft.idct(x, kind, axis=1, norm=norm) ** 2))(x)
    expected = 2 * scipy.fft.idct(np.eye(5), kind, axis=0, norm=norm).T
    expected = expected @ scipy.fft.idct(x, kind, axis=1, norm=norm)
    np.testing.assert_allclose(slope, expected, 1e-9, 1e-11)


def test_wrong_calls_are_refused() -> None:
    x = rng.normal(size=20)
    with pytest.raises(ShapeError, match="must have as many axes"):
        ts.convolve(x, x[:, None])
    with pytest.raises(ConfigError, match="boundary must be 'fill'"):
        ts.convolve2d(x[None], x[None], boundary="wrap")
    with pytest.raises(ShapeError, match="at least as large as the other along all axes"):
        ts.convolve(np.ones((3, 2)), np.ones((2, 3)), "valid")
    with pytest.raises(ConfigError, match="noverlap must be below nperseg"):
        ts.stft(x, nperseg=4, noverlap=4)
    with pytest.raises(ConfigError, match="type must be 1, 2, 3 or 4"):
        tn.scipy.fft.dct(x, 5)
    with pytest.raises(ShapeError, match="got 3 sizes for the 1 axes of"):
        tn.scipy.fft.dctn(x, s=(2, 3, 4))
    with pytest.raises(ShapeError, match="is too short for type 1"):
        tn.scipy.fft.dct(x[:1], 1)
    with pytest.raises(AttributeError, match="on arrays that are known, use SciPy itself"):
        ts.lfilter  # noqa: B018
