"""NumPy's reductions of tensors call their methods: with masks, initial values and dtypes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError, TenferroError
from tests.tolerances import assert_close, rounding

NAMES = ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all")
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"initial": 1.0}, {"initial": 2}, {"where": True}, {"where": True, "initial": 3},
    {"dtype": "f4"}, {"ddof": 1}, {"correction": 1}, {"where": True, "ddof": 1}, {"out": None},
)  # fmt: skip


def _check_reductions(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    compared = 0
    for _ in range(count):
        shape = [(2, 3), (0, 3), (), (1,), (4,)][rng.integers(5)]
        dtype = ["f8", "f4", "f2", "i8", "i1", "u1", "?", "c16"][rng.integers(8)]
        x = rng.integers(0, 5, shape).astype(dtype)
        axis = [None, 0, -1, (0, 1)][rng.integers(4)]
        options: dict[str, Any] = {"axis": axis, "keepdims": bool(rng.integers(2))}
        options |= OPTIONS[rng.integers(len(OPTIONS))]
        if "where" in options:
            options["where"] = rng.random(shape) < 0.6
        function = getattr(np, NAMES[rng.integers(len(NAMES))])
        with warnings.catch_warnings(action="ignore"):
            try:
                expected = np.asarray(function(x, **options))
            except (ValueError, TypeError) as error:
                with pytest.raises((TenferroError, type(error))):
                    function(tn.Tensor(x), **options)
                continue
        try:
            found = function(tn.Tensor(x), **options)
        except TenferroError:
            assert dtype in ("?", "c16") or shape == ()  # no order, no fit; no axis 0
            continue
        compared += 1
        assert isinstance(found, tn.Tensor)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert_close(found, expected, 4 * rounding(expected.dtype), f"{function} {dtype} {options}")
    assert compared > count / 3


def test_numpys_reductions_take_tensors() -> None:
    _check_reductions(0, 400)


@pytest.mark.exhaustive
def test_numpys_reductions_take_tensors_with_many_options() -> None:
    _check_reductions(1, 30_000)


def test_masks_and_initial_values_may_be_traced_and_have_derivatives() -> None:
    x, mask = np.array([[1.0, 2.0, 9.0], [4.0, np.inf, 5.0]]), np.array([True, True, False])

    def f(x: Any, mask: Any, start: Any) -> Any:
        return [
            np.sum(x, axis=1, where=mask, initial=start), np.max(x, axis=0, initial=start),
            np.min(x, where=mask, initial=start), np.mean(x[0], where=mask),
            np.std(x[0], where=mask), np.all(x, axis=0, where=mask), np.any(x),
        ]  # fmt: skip

    for found, expected in zip(tn.jit(f)(x, mask, 3.0), f(x, mask, 3.0), strict=True):
        assert_close(found, expected, rounding("f8"))
    slopes = tn.grad(lambda x: np.var(x, where=mask) + np.max(x, initial=8.0) * 2)(x[0])
    assert_close(slopes, np.array([-0.5, 0.5, 2.0]), rounding("f8"))


def test_what_methods_cannot_do_is_refused() -> None:
    x = tn.Tensor([1, 2])
    with pytest.raises(DTypeError, match=r"sum: out= must be None: the result is a new array"):
        x.sum(out=np.zeros(()))  # type: ignore[arg-type]
    for whole in (x, x.astype("u1")):
        with pytest.raises(DTypeError, match=r"sum: values of f64 do not fit an array of [iu]64"):
            whole.sum(initial=1.5)
    with pytest.raises(ShapeError, match=r"max: where= may leave no element; pass initial="):
        x.max(where=[True, False])
    with pytest.raises(DTypeError, match=r"var: correction must be a number, got array"):
        tn.var(x, correction=np.array([0.0, 1.0]))  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match=r"std: dtype must be floating-point or complex, got i2"):
        x.std(dtype="i2")


def test_the_deviation_of_halves_does_not_overflow() -> None:
    x = np.arange(1024, dtype=np.float16)
    assert tn.std(x) == np.float16(np.std(x.astype("f8")))
    assert tn.nanstd(x) == tn.std(x)
    assert tn.nanmean(x) == np.float16(511.5)
    assert tn.var(x, dtype="f4") == np.var(x, dtype="f4")
