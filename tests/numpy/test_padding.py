"""`pad` has the modes of NumPy: values, dtypes, derivatives, named sizes and batches."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tests.in_jax import in_jax

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("constant", {}),
    ("constant", {"constant_values": (3, 5)}),
    ("edge", {}),
    ("linear_ramp", {}),
    ("linear_ramp", {"end_values": ((3, 1), (2, 0))}),
    *((mode, {}) for mode in ("maximum", "minimum", "mean", "median")),
    *((mode, {"stat_length": ((1, 2), (3, 9))}) for mode in ("maximum", "minimum")),
    *((mode, {"stat_length": 2}) for mode in ("mean", "median")),
    ("reflect", {}),
    ("reflect", {"reflect_type": "odd"}),
    ("symmetric", {}),
    ("symmetric", {"reflect_type": "odd"}),
    ("wrap", {}),
]
WIDTHS: list[Any] = [1, (2, 1), ((0, 2), (3, 0)), ((9, 4), (1, 11)), 0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool", "complex128"])
@pytest.mark.parametrize(("mode", "options"), CALLS)
def test_borders_are_those_of_numpy(mode: Any, options: dict[str, Any], dtype: str) -> None:
    odd_bools = dtype == "bool" and (options.get("reflect_type") or "end_values" in options)
    if odd_bools or (dtype == "complex128" and mode in ("maximum", "minimum", "median")):
        pytest.skip("NumPy orders complex numbers, and reflects bools as integers")
    if dtype == "bool" and "constant_values" in options:
        options = {"constant_values": (1, 0)}
    generator = np.random.default_rng(7)
    for shape in ((3, 4), (1, 5), (5, 1)):
        x = (generator.random(shape) * 9).astype(dtype)
        for widths in WIDTHS:
            expected = np.pad(x, widths, mode, **options)
            found = tn.pad(x, widths, mode, **options)
            assert found.dtype == expected.dtype
            tolerance = 1e-5 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(found, expected, tolerance, tolerance)


def test_vectors_numbers_and_further_axes_are_padded() -> None:
    for x in (np.float64(2.0), np.arange(3.0), np.arange(24.0).reshape(2, 3, 4)):
        for mode, options in CALLS:
            if not any(isinstance(value, tuple) for value in options.values()):
                np.testing.assert_allclose(
                    tn.pad(x, 2, mode, **options),
                    np.pad(x, 2, mode, **options),  # type: ignore[call-overload]
                )


def gradients(library: Any, mode: Any, options: dict[str, Any]) -> list[Any]:
    """By an array that is padded by two widths."""
    generator = np.random.default_rng(3)
    x = generator.random((3, 4))
    found = []
    for widths in (1, ((2, 1), (0, 5))):
        weights = generator.random(np.pad(x, widths, mode, **options).shape)

        def loss(x: Any, widths: Any = widths, weights: Any = weights) -> Any:
            pad = tn.pad if library is tn else jnp.pad
            return (pad(x, widths, mode, **options) ** 2 * weights).sum()

        found.append(library.grad(loss)(x))
    return found


@pytest.fixture(scope="module")
def gradients_by_jax() -> list[Any]:
    """Those of all calls, which JAX compiles together."""
    found: list[Any] = in_jax(lambda: [gradients(jax, *call) for call in CALLS])
    return found


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize(("mode", "options"), CALLS)
def test_gradients_are_those_of_jax(
    mode: Any, options: dict[str, Any], gradients_by_jax: list[Any]
) -> None:
    expected = gradients_by_jax[CALLS.index((mode, options))]
    for found, other in zip(gradients(tn, mode, options), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-12)


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize(("mode", "options"), CALLS)
def test_traced_named_and_batched_arrays_are_padded(mode: Any, options: dict[str, Any]) -> None:
    x = np.random.default_rng(5).random((3, 4))
    widths = ((2, 1), (0, 3))

    def padded(x: Any) -> Any:
        return tn.pad(x, widths, mode, **options)

    expected = np.pad(x, widths, mode, **options)
    np.testing.assert_allclose(tn.jit(padded)(x), expected)
    batch = np.stack([x, 2 * x])
    np.testing.assert_allclose(tn.vmap(padded)(batch)[0], expected)
    if "stat_length" not in options:
        np.testing.assert_allclose(tn.make_program(padded, tn.TensorSpec(("n", "m")))(x), expected)


def test_numbers_of_a_border_may_be_traced() -> None:
    found = tn.jit(lambda v: tn.pad(np.ones(2), 1, constant_values=v))(3.0)
    np.testing.assert_array_equal(found, [3, 1, 1, 3])
    ramp = tn.jit(lambda v: tn.pad(np.ones(2), 2, "linear_ramp", end_values=v))(3.0)
    np.testing.assert_array_equal(ramp, np.pad(np.ones(2), 2, "linear_ramp", end_values=3.0))


def test_widths_may_be_of_some_axes() -> None:
    x = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(
        tn.pad(x, {-1: (1, 0)}, "edge"), np.pad(x, ((0, 0), (1, 0)), "edge")
    )
    np.testing.assert_array_equal(tn.pad(x, {0: 1}), np.pad(x, ((1, 1), (0, 0))))


def test_a_function_makes_a_border_as_in_jax() -> None:
    def border(vector: Any, widths: Any, axis: int, options: Any) -> Any:
        return vector.at[: widths[0]].set(options["number"])

    def theirs(vector: Any, widths: Any, axis: int, options: Any) -> Any:
        return vector.at[: int(widths[0])].set(options["number"])

    x = np.arange(6.0).reshape(2, 3)
    expected = jnp.pad(x, 1, theirs, number=7.0)
    np.testing.assert_array_equal(tn.pad(x, 1, border, number=7.0), expected)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tn.pad([1], 1, "mirror"), ConfigError, "pad: mode must be one of 'constant'"),
        (lambda: tn.pad([1], 1, 7), ConfigError, "numbers are passed as constant_values="),
        (lambda: tn.pad([1], 1, "edge", stat_length=1), ConfigError, "'edge' does not take stat_"),
        (lambda: tn.pad([1], 1, "edge", color=1), ConfigError, "'edge' does not take color="),
        (lambda: tn.pad([1], -1, "edge"), ShapeError, "pad: a width must be an integer of at"),
        (lambda: tn.pad([1], 1, "maximum", stat_length=0), ShapeError, "pad: stat_length must be"),
        (lambda: tn.pad(np.ones((0, 1)), 1, "edge"), ShapeError, "axis 0 of f64.0,1. is empty"),
        (lambda: tn.pad([1], ((1, 2), (3, 4)), "edge"), ShapeError, "pad_width do not give a pair"),
        (lambda: tn.pad([1.0], 1, "linear_ramp", end_values=1j), DTypeError, "do not fit f64"),
        (lambda: tn.pad([1], 1, "reflect", reflect_type="x"), ConfigError, "reflect_type must be"),
    ],
)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_numbers_of_a_border_of_integers_are_cut_off() -> None:
    x = np.array([1, 2], "int32")
    for number in (3.7, -3.7, np.float64(2.5)):
        expected = np.pad(x, 1, constant_values=number)
        results = (
            tn.pad(x, 1, constant_values=number),
            tn.jit(lambda v: tn.pad(x, 1, constant_values=v))(number),
        )
        for actual in results:
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(actual, expected)
