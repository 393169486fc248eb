"""jet: derivatives along a curve, against JAX's Taylor mode and nested forward mode."""

from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import jet as taylor

import tenferro as tn
from tenferro.errors import DTypeError, PytreeError, ShapeError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3))
SERIES = [[RNG.normal(size=3) for _ in range(4)] for _ in range(2)]


def function(lib: Any) -> Any:
    return lambda x, y: {"a": lib.sin(x) @ y, "b": lib.exp(x) / (1 + lib.sum(y) ** 2)}


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("factorial_scaled", [True, False])
def test_as_in_jax(factorial_scaled: bool) -> None:
    with jax.enable_x64(True):
        expected = taylor.jet(
            function(jax.numpy), (X, Y), SERIES, factorial_scaled=factorial_scaled
        )
    found = tn.jet(function(tn), (X, Y), SERIES, factorial_scaled=factorial_scaled)
    for name in "ab":
        np.testing.assert_allclose(found[0][name], expected[0][name], rtol=1e-14)
        for ours, theirs in zip(found[1][name], expected[1][name], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_under_transforms_and_on_trees() -> None:
    def third(x: Any) -> Any:
        _, terms = tn.jet(
            lambda p: tn.sin(p["x"]), ({"x": x},), [[{"x": 1.0}, {"x": 0.0}, {"x": 0.0}]]
        )
        return terms[2]

    np.testing.assert_allclose(tn.jit(third)(0.5), -np.cos(0.5))
    np.testing.assert_allclose(tn.vmap(third)(X), -np.cos(X))
    np.testing.assert_allclose(tn.grad(third)(0.5), np.sin(0.5))
    twice = tn.jit(lambda x: tn.jet(tn.multiply, (x, x), ((1.0, 0.0), (1.0, 0.0)))[1])
    assert [float(term) for term in twice(3.0)] == [6.0, 2.0]


def test_wrong_arguments() -> None:
    cases: list[tuple[tuple[Any, Any], type[Exception], str]] = [
        ((0.0, 1.0), PytreeError, "takes a tuple of arguments and one of their series"),
        (((0.0,), (1.0,)), PytreeError, "a series is a tuple of terms, got a float"),
        (((0.0,), ((1.0,), (1.0,))), PytreeError, "got 1 argument and 2 series"),
        (((X,), ((1.0,),)), ShapeError, r"term 1 of f64\[3\] must have its type"),
        (((X, Y), ((X,), (X, X))), PytreeError, "the series have 1 and 2 terms"),
        (((1,), ((1,),)), DTypeError, "i64"),
    ]
    for arguments, error, text in cases:
        with pytest.raises(error, match=text):
            tn.jet(lambda *xs: xs[0], *arguments)
    assert tn.jet(tn.sin, (0.0,), ((),))[1] == []
