"""Activation functions: values, gradients, parameters and defaults are those of `jax.nn`."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError

X = np.array([[-7.0, -1.0, -0.3, 0.0], [0.4, 1.0, 6.0, 8.0]])
M = np.array([[True, False, True, True], [True, True, False, True]])
LEFT_OUT = {
    *("initializers", "dot_product_attention", "scaled_matmul", "scaled_dot_general"),
    "get_scaled_dot_general_config",
}
SMOOTH = sorted(set(tn.nn.__all__) - {"one_hot", "standardize", "log1mexp"})


def every(home: Any, x: Any) -> list[Any]:
    extra = [
        home.softmax(x, axis=0, where=M),
        home.logsumexp(x, axis=1, b=M * 2.0),
        home.logsumexp(x, b=X, return_sign=True)[0],
        home.logmeanexp(x, axis=1, where=M),
        home.gelu(x, approximate=False),
        home.standardize(x),
        home.standardize(x, axis=0, where=M, algorithm="stable"),
        home.log1mexp(x * x + 0.1),
        home.elu(x, 0.7),
        home.glu(x, 0),
    ]
    return [getattr(home, name)(x) for name in SMOOTH] + extra


def weighted(home: Any, x: Any) -> list[Any]:
    values = every(home, x)
    return [(y * np.arange(1.0, 1 + np.prod(y.shape)).reshape(y.shape)).sum() for y in values]


def test_values_and_gradients_are_those_of_jax() -> None:
    ours = tn.jit(lambda x: every(tn.nn, x), executor="numpy")(X)
    slopes = tn.jit(tn.jacrev(lambda x: tn.stack(weighted(tn.nn, x))), executor="numpy")(X)
    with jax.enable_x64(True):
        slopes_of = jax.jacrev(lambda x: jax.numpy.stack(weighted(jax.nn, x)))
        theirs, expected = jax.jit(lambda x: (every(jax.nn, x), slopes_of(x)))(X)
    names = [*SMOOTH, *range(10)]
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-12, 1e-14, err_msg=str(name))
    for name, one, other in zip(names, np.asarray(slopes), np.asarray(expected), strict=True):
        np.testing.assert_allclose(one, other, 1e-11, 1e-13, err_msg=str(name))


def test_names_parameters_and_defaults_are_those_of_jax() -> None:
    names = {name for name in dir(jax.nn) if not name.startswith("_")}
    assert names - set(tn.nn.__all__) <= LEFT_OUT
    for name in tn.nn.__all__:
        if hasattr(jax.nn, name) and name != "standardize":
            ours, theirs = (inspect.signature(getattr(home, name)) for home in (tn.nn, jax.nn))
            found, expected = (
                [(p.name, p.default) for p in each.parameters.values() if p.name != "out_sharding"]
                for each in (ours, theirs)
            )
            assert found == expected, name


def test_functions_of_tn_are_the_same_objects() -> None:
    for name in ("relu", "sigmoid", "silu", "softmax", "log_softmax", "logsumexp", "softplus"):
        assert getattr(tn.nn, name) is getattr(tn, name)
    assert tn.nn.swish is tn.silu


def test_one_hot() -> None:
    x = np.array([[0, 2], [5, -1]])
    for axis in (0, 1, -1):
        expected = np.asarray(jax.nn.one_hot(x, 3, axis=axis))
        np.testing.assert_array_equal(tn.nn.one_hot(x, 3, axis=axis), expected)
    assert tn.nn.one_hot([1], 2, dtype="int32").dtype == np.int32


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"^glu: axis -1 of f64\[3\] has an odd size"):
        tn.nn.glu(np.ones(3))
    with pytest.raises(DTypeError, match=r"^standardize: algorithm 'slow' is not one of"):
        tn.nn.standardize(X, algorithm="slow")
