"""Masks, initial values, dtypes and known means of reductions; bools; parameters by name."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ExecutorError, ShapeError
from tests.in_jax import in_jax

STARTED = ["sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin"]
REDUCTIONS = [*STARTED, "any", "all", "mean", "var", "std", "nanmean", "nanvar", "nanstd"]
ORDERED = ["max", "min", "nanmax", "nanmin"]


def cases(name: str) -> list[tuple[Any, dict[str, Any]]]:
    """Arrays and options of a reduction."""
    generator = np.random.default_rng(len(name))
    found: list[tuple[Any, dict[str, Any]]] = []
    for dtype in ("float64", "float32", "int32", "uint8", "bool", "complex128"):
        if dtype == "complex128" and name in ORDERED:
            continue
        for shape, axis in (
            ((3, 4), 0),
            ((3, 4), None),
            ((2, 3, 2), (0, -1)),
            ((0, 3), 1),
            ((), None),
        ):
            x = (generator.random(shape) * 5).astype(dtype)
            options: dict[str, Any] = {"axis": axis, "keepdims": bool(generator.random() < 0.5)}
            options["where"] = generator.random(shape) < 0.7
            if name in STARTED:
                options["initial"] = 1
            found.append((x, options))
            if dtype == "float64":
                found.append((np.where(generator.random(shape) < 0.3, np.nan, x), options))
                if name not in (*ORDERED, "any", "all"):
                    found.append((x, {**options, "dtype": "complex128"}))
    return found


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_with_masks_and_initial_values_are_those_of_numpy(name: str) -> None:
    for x, options in cases(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(np, name)(x, **options)
        found = getattr(tn, name)(x, **options)
        assert found.dtype == expected.dtype, (x.dtype, options)
        tolerance = 1e-5 if x.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=tolerance, equal_nan=True)


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "nansum"])
def test_their_gradients_are_those_of_jax(name: str) -> None:
    generator = np.random.default_rng(1)
    x, mask, start = generator.random((3, 4)), generator.random((3, 4)) < 0.7, 0.3

    def loss(library: Any, x: Any, start: Any) -> Any:
        options = {"initial": start} if name in STARTED else {}
        return (getattr(library, name)(x, axis=1, where=mask, **options) ** 2).sum()

    expected = in_jax(jax.grad(lambda *args: loss(jnp, *args), (0, 1)), x, start)
    found = tn.grad(lambda *args: loss(tn, *args), (0, 1))(x, start)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_known_mean_is_not_computed_again() -> None:
    x = np.arange(6.0).reshape(2, 3)
    middle = x.mean(axis=1, keepdims=True)
    for name in ("var", "std", "nanvar", "nanstd"):
        expected = getattr(np, name)(x, axis=1, mean=middle, ddof=1)
        np.testing.assert_allclose(getattr(tn, name)(x, axis=1, mean=middle, ddof=1), expected)
    program = tn.make_program(lambda x: tn.var(x, mean=1.0), x[0])
    assert str(program).count("reduce_sum") == 1


def test_masks_may_be_traced_and_broadcast() -> None:
    x = np.arange(6.0).reshape(2, 3)
    mask = np.array([True, False, True])
    found = tn.jit(lambda x, m, v: tn.max(x, axis=0, where=m, initial=v))(x, mask, -1.0)
    np.testing.assert_array_equal(found, np.max(x, axis=0, where=mask, initial=-1.0))
    program = tn.make_program(lambda x, m: tn.mean(x, where=m), tn.TensorSpec(("n", 3)), mask)
    np.testing.assert_allclose(program(x, mask), np.mean(x, where=mask))


PAIRS = (
    "maximum minimum fmax fmin power remainder fmod floor_divide matmul dot inner vdot outer "
    "logical_and bitwise_xor add multiply"
)


@pytest.mark.parametrize("name", PAIRS.split())
def test_bools_are_operands_of_what_numpy_computes_with_them(name: str) -> None:
    square = np.array([[True, False], [True, True]])
    for x, y in ((square, square), (square[0], square), (square[1], square[0])):
        if name == "vdot" and x.shape != y.shape:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(np, name)(x, y)
        found = getattr(tn, name)(x, y)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_bools_of_one_operand() -> None:
    x = np.array([True, False])
    for call in (
        lambda n: n.max(x), lambda n: n.min(x), lambda n: n.abs(x), lambda n: n.square(x),
        lambda n: n.clip(x, False, True), lambda n: n.cumsum(x, dtype=bool),
        lambda n: n.sum(x, dtype=bool), lambda n: n.tensordot(x, x, 1), lambda n: n.nanmax(x),
    ):  # fmt: skip
        expected = call(np)
        assert call(tn).dtype == expected.dtype
        np.testing.assert_array_equal(call(tn), expected)


def test_an_axis_of_an_array_without_axes_is_none_as_in_numpy() -> None:
    for name in ("sum", "prod", "max", "min", "any", "all", "cumsum", "cumprod"):
        np.testing.assert_array_equal(
            getattr(tn, name)(2.5, axis=0), getattr(np, name)(2.5, axis=0)
        )


def test_parameters_are_passed_by_name_and_by_place() -> None:
    x = np.array([[3.0, 1.0], [2.0, 4.0]])
    assert tn.sum(a=x).item() == 10
    assert tn.sum(x, 0, None, None, True).shape == (1, 2)
    assert tn.linspace(0, 1, 5, False, True)[1].item() == 0.2
    assert tn.where(x > 2, x=x, y=0).tolist() == [[3, 0], [0, 4]]
    assert tn.eye(N=2, M=3).shape == (2, 3)
    assert tn.take(x, [0], 0, None, "clip").shape == (1, 2)
    assert tn.grad(fun=lambda x: x * x)(3.0).item() == 6
    assert tn.trace(x, 0, 0, 1, "float32").dtype == np.float32
    assert tn.nan_to_num(x, True, 1.0).shape == (2, 2)
    assert tn.sort(x, kind="mergesort").tolist() == [[1, 3], [2, 4]]
    assert tn.sort(x, None).tolist() == [1, 2, 3, 4]
    assert tn.argsort(x, dtype="int32").dtype == np.int32
    assert tn.concatenate([x, x], dtype="float32").dtype == np.float32
    assert tn.zeros_like(x, shape=3).shape == (3,)
    assert tn.array(1.0, ndmin=2).shape == (1, 1)
    assert tn.meshgrid([1, 2], [3, 4, 5], sparse=True)[0].shape == (1, 2)
    assert tn.cond(True, lambda _: 1.0, lambda _: 2.0, operand=None).item() == 1
    assert tn.linalg.qr(x, "r").shape == (2, 2)
    assert tn.linalg.pinv(x, 1e-3).shape == (2, 2)


def test_precision_is_a_permission() -> None:
    x = np.ones((2, 2), "float32")
    for precision in (None, "highest", "default", jax.lax.Precision.HIGH, ("highest", None)):
        assert tn.matmul(x, x, precision=precision).tolist() == [[2, 2], [2, 2]]
    assert tn.einsum("ij,jk", x, x, precision="highest").shape == (2, 2)
    assert tn.dot(x, x, preferred_element_type="float64").dtype == np.float64
    with pytest.raises(ExecutorError, match=r"dot: precision must be one of .* got 'exact'"):
        tn.dot(x, x, precision="exact")
    with pytest.raises(DTypeError, match="preferred_element_type i32 cannot hold products of f32"):
        tn.dot(x, x, preferred_element_type="int32")


@pytest.mark.parametrize("name", ["sum", "mean", "cumsum", "median", "nansum", "argmax", "round"])
def test_arrays_are_not_written_to(name: str) -> None:
    for out in (np.zeros(3), np.float64(0)):
        with pytest.raises(DTypeError, match=f"{name}: out= must be None"):
            getattr(tn, name)(np.ones(3), out=out)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tn.max([1], where=[True]), ShapeError, "max: where= may leave no element"),
        (lambda: tn.sum([1, 2], where=[True] * 3), ShapeError, "sum: .*do not broadcast"),
        (lambda: tn.sort([1], kind="bogo"), ConfigError, "sort: kind must be one of"),
        (lambda: tn.sort([1], order="f"), ConfigError, "sort: order must be None"),
        (lambda: tn.clip([1], 0, a_min=0), ConfigError, "clip: a bound is passed twice"),
        (lambda: tn.quantile([1.0], 0.5, weights=[1]), ConfigError, "weights take the method"),
        (lambda: tn.linalg.svd(np.eye(2), subset_by_index=(0, 1)), ConfigError, "full_matrices="),
        (lambda: tn.random.key(0, impl="rbg"), ConfigError, "impl must be 'threefry2x32'"),
        (lambda: tn.asarray(1, order="X"), ConfigError, "asarray: order must be one of"),
        (lambda: tn.jit(abs, device="cpu", executor="numpy"), ConfigError, "both say where to"),
    ],
)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_lists_hold_traced_values() -> None:
    assert tn.grad(lambda x: tn.mean([x, x + 2]))(0.0).item() == 1
    assert tn.grad(lambda x: tn.sum(tn.add([x, 1.0], np.ones(2))))(0.0).item() == 1
    assert tn.jit(lambda x: tn.max([[x, 1.0], [2.0, x]], axis=0))(3.0).tolist() == [3, 3]


def test_weights_are_of_several_axes() -> None:
    generator = np.random.default_rng(2)
    x = generator.random((2, 3, 4))
    for axis in ((0, 2), (2, 0), 1, (0, 1, 2)):
        sizes = [x.shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))]
        weights = generator.random(sizes)
        expected = np.average(x, axis, weights, returned=True)
        for one, other in zip(tn.average(x, axis, weights, returned=True), expected, strict=True):
            np.testing.assert_allclose(one, other)


def test_indices_of_new_and_removed_entries_may_be_traced() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for places in (1, -1, [0, 2], [2, 2]):
        expected = np.insert(x, places, 9.0, axis=1)
        found = tn.jit(lambda i: tn.insert(x, i, 9.0, axis=1))(np.asarray(places))
        np.testing.assert_array_equal(found, expected)
    found = tn.jit(lambda i: tn.delete(x, i, axis=0))(1)
    np.testing.assert_array_equal(found, np.delete(x, 1, axis=0))
    distinct = tn.jit(lambda i: tn.delete(x, i, 1, assume_unique_indices=True))(np.array([0, -1]))
    np.testing.assert_array_equal(distinct, np.delete(x, [0, -1], 1))


@pytest.mark.exhaustive
def test_repetitions_may_be_traced_if_the_size_is_known() -> None:
    counts = np.array([2, 0, 1])
    for length in (2, 3, 5):
        expected = jnp.repeat(jnp.arange(3), counts, total_repeat_length=length)
        found = tn.jit(lambda c, n=length: tn.repeat(tn.arange(3), c, total_repeat_length=n))(
            counts
        )
        np.testing.assert_array_equal(found, expected)


def test_negative_indices_may_be_out_of_bounds() -> None:
    x = tn.arange(4.0)
    assert x.at[np.array([-1, 0])].set(9.0, wrap_negative_indices=False).tolist() == [9, 1, 2, 3]
    assert np.isnan(x.at[-1].get(wrap_negative_indices=False).item())
    assert x.at[-1].get(mode="clip", wrap_negative_indices=False).item() == 0
    picked = tn.take_along_axis(x, np.array([-1, 1]), wrap_negative_indices=False)
    np.testing.assert_array_equal(picked, [np.nan, 1])


def test_gradients_by_integers_are_of_float0() -> None:
    found = tn.grad(lambda p: p["a"] * p["n"], allow_int=True)({"a": 2.0, "n": np.int64(3)})
    assert found["a"].item() == 3
    assert found["n"].dtype == jax.dtypes.float0
    with pytest.raises(DTypeError):
        tn.grad(lambda n: n * 2.0)(np.int64(3))
