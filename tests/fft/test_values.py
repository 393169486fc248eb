"""Values of transforms: against dense matrices, and on both executors against NumPy."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla

Array = np.ndarray[Any, Any]
NORMS = ("backward", "ortho", "forward")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TAKES_REAL = ("rfft", "ihfft", "rfftn", "rfft2")


def random(name: str, *shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    real = rng.normal(size=shape)
    return real if name in TAKES_REAL else real + 1j * rng.normal(size=shape)


def waves(n: int, sign: int) -> Array:
    """The matrix exp(sign 2πi jk/n)."""
    j = np.arange(n)
    return np.exp(sign * 2j * np.pi * (np.outer(j, j) % n) / n)


def resized(x: Array, n: int) -> Array:
    """The first n elements along the last axis, or zeros after all of them."""
    width = [(0, 0)] * (x.ndim - 1) + [(0, max(n - x.shape[-1], 0))]
    return np.pad(x[..., :n], width)


def whole_spectrum(x: Array, n: int) -> Array:
    """All n elements with x[n - k] = conj(x[k]), of which x has 0 … n//2."""
    x = resized(x, n // 2 + 1)
    x[..., 0] = x[..., 0].real
    if n % 2 == 0:
        x[..., -1] = x[..., -1].real
    return np.concatenate([x, x[..., (n - 1) // 2 : 0 : -1].conj()], axis=-1)


def dense(name: str, x: Array, n: int | None, axis: int, norm: str) -> Array:
    """The transform by a dense matrix."""
    x = np.moveaxis(x, axis, -1)
    from_half = name in ("irfft", "hfft")
    size = n or (2 * (x.shape[-1] - 1) if from_half else x.shape[-1])
    inverse = name in ("ifft", "irfft", "ihfft")
    points = whole_spectrum(x, size) if from_half and name == "irfft" else None
    if name == "hfft":
        points = whole_spectrum(x, size)
    values = resized(x, size) if points is None else points
    result = values @ waves(size, 1 if inverse else -1)
    result = result / size ** {"backward": int(inverse), "ortho": 0.5}.get(norm, 1 - int(inverse))
    if name in ("rfft", "ihfft"):
        result = result[..., : size // 2 + 1]
    return np.moveaxis(result.real if from_half else result, -1, axis)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_a_transform_is_the_dense_matrix(name: str, norm: str) -> None:
    function = getattr(tn.fft, name)
    for size, n, axis in itertools.product((5, 6), (None, 1, 2, 3, 8, 9), (-1, 0)):
        shape = (2, size) if axis else (size, 2)
        x = random(name, *shape)
        expected = dense(name, x, n, axis, norm)
        found = np.asarray(function(x, n=n, axis=axis, norm=norm))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"{size} {n} {axis}")


@pytest.mark.parametrize("name", ONE_AXIS)
def test_a_large_prime(name: str) -> None:
    x = random(name, 499 if name in ("irfft", "hfft") else 997)
    np.testing.assert_allclose(
        getattr(tn.fft, name)(x, n=997), dense(name, x, 997, -1, "backward"), atol=1e-11
    )


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft"])
def test_one_point(name: str) -> None:
    x = random(name, 2, 1)
    np.testing.assert_array_equal(getattr(tn.fft, name)(x), x.astype(complex))


AXES = [None, (0,), (2,), (1, 0), (0, 2), (2, 1, 0), (4, 1, 0, 2), (1, 2, 3), (-1, -2)]


@pytest.mark.parametrize("norm", [*NORMS, None])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes_as_numpy(name: str, norm: Any) -> None:
    for shape, axes, by in itertools.product([(2, 3, 4), (3, 2, 2, 5, 2)], AXES, (None, 1, -1)):
        if axes is not None and max(axes) >= len(shape):
            continue
        along: Sequence[int] = range(len(shape)) if axes is None else axes
        s = None if by is None else [max(1, shape[axis] + by) for axis in along]
        x = random(name, *shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # s without axes
            expected = getattr(np.fft, name)(x, s=s, axes=axes, norm=norm)
        found = np.asarray(getattr(tn.fft, name)(x, s=s, axes=axes, norm=norm))
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"{shape} {axes} {s}")
        assert found.dtype == expected.dtype


def test_two_axes_are_the_last_two() -> None:
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):
        x = random(name, 2, 3, 4)
        for s in (None, (2, 6), (3, -1)):
            if name == "irfft2" and s == (3, -1):
                s = (3, 6)
            expected = getattr(np.fft, name)(x, s=s)
            np.testing.assert_allclose(getattr(tn.fft, name)(x, s=s), expected, atol=1e-13)
    np.testing.assert_allclose(tn.fft.irfft2(x, s=(3, -1)), np.fft.irfft2(x), atol=1e-13)


def test_no_axes_are_the_values_as_complex() -> None:
    result = tn.fft.fftn([1.0, 2.0], axes=())
    assert (result.dtype, result.shape) == (tn.complex128, (2,))
    np.testing.assert_array_equal(tn.fft.ifftn(5.0), 5.0 + 0j)


def test_parseval() -> None:
    x = random("fft", 3, 7)
    spectrum = np.asarray(tn.fft.fftn(x, norm="ortho"))
    np.testing.assert_allclose(np.sum(np.abs(spectrum) ** 2), np.sum(np.abs(x) ** 2))
    for n in (7, 8):
        real = random("rfft", n)
        weights = np.where(
            (np.arange(n // 2 + 1) % n == 0) | (2 * np.arange(n // 2 + 1) == n), 1, 2
        )
        power = np.sum(weights * np.abs(np.asarray(tn.fft.rfft(real))) ** 2) / n
        np.testing.assert_allclose(power, np.sum(real**2))


PAIRS = [("fft", "ifft"), ("rfft", "irfft"), ("hfft", "ihfft"), ("rfftn", "irfftn")]


@pytest.mark.parametrize("norm", NORMS)
def test_an_inverse_gives_the_values_back(norm: str) -> None:
    x = random("rfft", 3, 6)
    for there, back in PAIRS:
        first, second = (back, there) if there == "hfft" else (there, back)
        result = getattr(tn.fft, second)(getattr(tn.fft, first)(x, norm=norm), norm=norm)
        np.testing.assert_allclose(result, x, atol=1e-14, err_msg=there)


def every_transform(x: Any) -> dict[str, Any]:
    """Transforms of a real [3, 6]."""
    z = x * (1 - 2j)
    results = {name: getattr(tn.fft, name)(x) for name in ("rfft", "ihfft", "rfftn")}
    for name in ("fft", "ifft", "irfft", "hfft", "fftn", "ifftn", "irfftn"):
        results[name] = getattr(tn.fft, name)(z)
    for norm in NORMS:
        results |= {
            f"fft {norm}": tn.fft.fft(z, n=4, axis=0, norm=norm),
            f"ifft {norm}": tn.fft.ifft(z, n=2, axis=0, norm=norm),
            f"rfft {norm}": tn.fft.rfft(x, n=9, norm=norm),
            f"irfft {norm}": tn.fft.irfft(z, n=7, norm=norm),
        }
    return results


def test_both_executors_agree_in_both_precisions() -> None:
    x = random("rfft", 3, 6)
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
        single = dtype == np.float32
        expected = every_transform(tn.Tensor(x.astype(dtype)))
        found = tn.jit(every_transform)(x.astype(dtype))
        for name, result in found.items():
            bits = 4 if single else 8
            assert result.dtype.itemsize == bits * (2 if result.dtype.kind == "c" else 1), name
            assert result.dtype == expected[name].dtype
            np.testing.assert_allclose(
                result, expected[name], atol=tolerance * 20, err_msg=f"{name} {dtype}"
            )


def test_integers_and_bool_become_double_precision() -> None:
    for values in ([1, 2, 3], [True, False, True]):
        np.testing.assert_allclose(tn.fft.fft(values), np.fft.fft(values))
        assert tn.fft.fft(values).dtype == tn.complex128
        assert tn.fft.irfft(values).dtype == tn.float64


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_empty_batches(executor: Any) -> None:
    def all_of_them(x: Any) -> Any:
        return tn.fft.fft(x), tn.fft.rfft(x), tn.fft.irfft(x), tn.fft.ifftn(x, axes=(1,))

    results = tn.jit(all_of_them, executor=executor)(np.ones((0, 4), np.float32))
    assert [(each.shape, each.dtype.name) for each in results] == [
        ((0, 4), "complex64"),
        ((0, 3), "complex64"),
        ((0, 6), "float32"),
        ((0, 4), "complex64"),
    ]


def test_values_that_are_not_finite_stay_in_their_row() -> None:
    x = np.ones((3, 4))
    x[1, 2] = np.inf
    for executor in ("numpy", "xla"):
        result = np.asarray(tn.jit(tn.fft.fft, executor=executor)(x))
        assert np.isfinite(result[[0, 2]]).all()
        assert not np.isfinite(result[1]).any()


def test_transforms_of_last_axes_move_nothing() -> None:
    program = tn.make_program(
        lambda x: tn.fft.irfftn(tn.fft.rfftn(x, axes=(1, 2)), s=(3, 5), axes=(1, 2)),
        tn.TensorSpec((2, 3, 5), "float64"),
    )
    names = [step.op.name for step in program.exec_program.instructions]
    assert "transpose" not in names
    assert names.count("extension") == 2
    assert "multiply" not in names


def test_the_norm_of_a_transform_is_part_of_the_op() -> None:
    for norm in NORMS:
        program = tn.make_program(
            lambda x, norm=norm: tn.fft.ifft(x, norm=norm), tn.TensorSpec((8,), "complex128")
        )
        assert len(program.exec_program.instructions) == 1


SIZES = {"x": ("b", "n")}


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_sizes_with_names(executor: Any) -> None:
    def results(x: Any) -> Any:
        n = x.shape[-1]
        return (
            tn.fft.irfft(tn.fft.rfft(x), n=n),
            tn.fft.irfft(x),
            tn.fft.fft(x, n=4),
            tn.fft.fftn(x, s=(x.shape[0], 2 * n), axes=(0, 1)),
            tn.fft.fftshift(x),
            tn.fft.ifftshift(x),
            tn.fft.fftfreq(n, 0.5),
            tn.fft.rfftfreq(n),
        )

    jitted = tn.jit(results, executor=executor, symbolic=SIZES)
    for shape in ((2, 5), (3, 4)):
        x = random("rfft", *shape)
        n = shape[-1]
        expected = (
            x,
            np.fft.irfft(x),
            np.fft.fft(x, 4),
            np.fft.fftn(x, (shape[0], 2 * n), axes=(0, 1)),
            np.fft.fftshift(x),
            np.fft.ifftshift(x),
            np.fft.fftfreq(n, 0.5),
            np.fft.rfftfreq(n),
        )
        for one, other in zip(jitted(x), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_export_with_a_named_batch() -> None:
    spec = tn.TensorSpec(("b", 5), "float64")
    program = tn.make_program(lambda x: tn.fft.irfft(tn.fft.rfft(x) * 2.0, n=5), spec)
    artifact = tenferro_xla.export(program, platforms=["cpu"])
    for b in (1, 3):
        x = random("rfft", b, 5)
        np.testing.assert_allclose(artifact.run({"x": x})[0], 2 * x, atol=1e-14)
