"""Activation functions: values, gradients, parameters and defaults are those of `jax.nn`."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import numpy as np
import pytest
import scipy.special

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tests.in_jax import in_jax

X = np.array([[-7.0, -1.0, -0.3, 0.0], [0.4, 1.0, 6.0, 8.0]])
M = np.array([[True, False, True, True], [True, True, False, True]])
OTHERS = {"dot_product_attention", "initializers", "one_hot", "standardize", "log1mexp"}
SMOOTH = sorted(set(tn.nn.__all__) - OTHERS)


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
    slopes_of = jax.jacrev(lambda x: jax.numpy.stack(weighted(jax.nn, x)))
    theirs, expected = in_jax(lambda x: (every(jax.nn, x), slopes_of(x)), X)
    names = [*SMOOTH, *range(10)]
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-12, 1e-14, err_msg=str(name))
    for name, one, other in zip(names, np.asarray(slopes), np.asarray(expected), strict=True):
        np.testing.assert_allclose(one, other, 1e-11, 1e-13, err_msg=str(name))


def test_names_parameters_and_defaults_are_those_of_jax() -> None:
    for name in tn.nn.__all__:
        if hasattr(jax.nn, name) and name not in ("standardize", "initializers"):
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


def test_attention_is_that_of_jax() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, n, heads, 3)) for n, heads in ((5, 4), (6, 2), (6, 2)))
    bias, mask = rng.normal(size=(2, 4, 5, 6)), rng.normal(size=(2, 1, 5, 6)) > 0
    lengths = {"query_seq_lengths": np.int32([2, 5]), "key_value_seq_lengths": np.int32([3, 6])}
    cases: list[dict[str, Any]] = [
        {"is_causal": True, "return_residual": True},
        {"bias": bias, "mask": mask, "scale": 0.3, "local_window_size": (1, 2)},
        lengths,
    ]

    def every(home: Any, q: Any, k: Any, v: Any) -> Any:
        return [home.dot_product_attention(q, k, v, **case) for case in cases]

    expected = in_jax(lambda *of: every(jax.nn, *of), q, k, v)
    found = tn.jit(lambda *of: every(tn.nn, *of), executor="numpy")(q, k, v)
    for one, other in zip(tn.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)  # JAX takes the softmax of float32
    unbatched = tn.nn.dot_product_attention(q[0], k[0], v[0], is_causal=True)
    np.testing.assert_allclose(unbatched, found[0][0][0], 1e-12)
    with pytest.raises(ShapeError, match=r"^dot_product_attention: takes a query \[b, t, n, h\]"):
        tn.nn.dot_product_attention(q, k[:1], v[:1])
    with pytest.raises(ConfigError, match=r"^dot_product_attention: implementation must be 'xla'"):
        tn.nn.dot_product_attention(q, k, v, implementation="cudnn")


@pytest.mark.exhaustive
def test_initial_weights_are_those_of_jax() -> None:
    arguments: dict[str, Any] = {"variance_scaling": (2.0, "fan_geo_avg", "normal")}
    names = ("delta_orthogonal", "glorot_normal", "he_uniform", "truncated_normal", *arguments)

    def every(home: Any, key: Any, dtype: str) -> Any:
        for name in names:
            shape = (3, 2, 4) if name == "delta_orthogonal" else (5, 3, 4)
            yield getattr(home, name)(*arguments.get(name, ()))(key, shape, dtype)

    with jax.enable_x64(True):
        theirs = jax.jit(lambda key: [*every(jax.nn.initializers, key, "float32")])
        expected = theirs(jax.random.key(3))
    for one, other in zip(
        every(tn.nn.initializers, tn.random.key(3), "float32"), expected, strict=True
    ):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-4, 1e-6)
    with pytest.raises(ShapeError, match=r"^variance_scaling: the shape must have at least 2 axes"):
        tn.nn.initializers.he_normal()(tn.random.key(0), (3,))
    with pytest.raises(ConfigError, match=r"^variance_scaling: mode must be one of fan_in, fan_"):
        tn.nn.initializers.variance_scaling(1.0, "fan", "normal")


def test_logsumexp_of_factors_is_that_of_the_terms_that_count() -> None:
    inf = np.inf
    cases: list[tuple[Any, Any]] = [
        ([0.0, -1000.0], [0.0, 1.0]),
        ([inf, 1.0], [0.0, 2.0]),
        ([1000.0, -1000.0, 2.0], [0.0, 1.0, 0.5]),
        (1.0, 1.0),
        (1.0, np.float64(2.0)),
    ]
    for a, b in cases:
        used = np.where(np.asarray(b) == 0, -inf, a)
        expected = scipy.special.logsumexp(used, b=b)
        for home in (tn.nn, tn.scipy.special):
            np.testing.assert_allclose(home.logsumexp(a, b=b), expected, 1e-12)
    total = tn.jit(lambda a, b: tn.nn.logsumexp(a, b=b), executor="numpy")
    assert total(np.array([0.0, -1000.0]), np.array([0.0, 1.0])).item() == -1000
    slope = tn.grad(lambda a: tn.nn.logsumexp(a, b=np.array([0.0, 1.0])))(np.array([0.0, -1000.0]))
    assert slope.tolist() == [0, 1]


def test_logsumexp_has_the_digits_of_its_dtype() -> None:
    a, b = np.array([1.234, 3.0], "float16"), np.array([0.3, 0.7])
    expected = np.log(np.sum(b * np.exp(a.astype("f8"))))
    np.testing.assert_allclose(tn.nn.logsumexp(a, b=b), expected, 1e-14)
    single = np.array([0.5, 1.0], "float32")
    found = tn.nn.logsumexp(single, return_sign=True, where=[True, False])
    assert [(each.dtype, each.item()) for each in found] == [("float32", 0.5), ("float32", 1)]


def test_one_hot_of_a_narrow_dtype_has_one_one() -> None:
    places = np.array([5, 127, -1], "int8")
    found = np.asarray(tn.nn.one_hot(places, 300))
    assert np.argwhere(found).tolist() == [[0, 5], [1, 127]]
    assert tn.nn.one_hot(np.array([True, False]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_softmax_beside_an_infinite_element_is_0() -> None:
    for f in (tn.softmax, tn.jit(tn.softmax, executor="numpy")):
        np.testing.assert_array_equal(f(np.array([np.inf, 1.0])), [np.nan, 0])
