"""Functions of a vector whose size data decide, in a compiled function."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import UnsupportedDynamicShapeError

X = np.array([3.0, -1.0, 2.0, 5.0, -2.0])


def positive(x: Any) -> Any:
    return x[tn.nonzero(x > 0)[0]]


def many(x: Any) -> tuple[Any, ...]:
    y = positive(x)
    return (
        tn.softmax(y),
        tn.log_softmax(y),
        tn.logsumexp(y),
        tn.cumsum(y),
        tn.argmax(y),
        tn.outer(y, y),
        tn.take(y, np.array([0, 1])),
        y.reshape(-1, 1),
        y.reshape(1, -1),
        tn.ravel(y),
    )


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_they_give_what_they_give_for_the_vector(executor: str) -> None:
    expected = many(tn.asarray(X))
    for found, reference in zip(tn.jit(many, executor=executor)(X), expected, strict=True):
        assert found.shape == reference.shape
        np.testing.assert_allclose(np.asarray(found), np.asarray(reference), rtol=1e-14)


def test_the_derivative_of_a_softmax_of_some() -> None:
    found = tn.grad(lambda x: tn.sum(tn.softmax(positive(x)) ** 2))(X)
    p = np.exp(X) * (X > 0) / np.sum(np.exp(X[X > 0]))
    np.testing.assert_allclose(np.asarray(found), 2 * p * (p - np.sum(p**2)), atol=1e-15)


def test_what_needs_the_size_says_how_to_go_on() -> None:
    with pytest.raises(UnsupportedDynamicShapeError, match="by size= or pad=True of the function"):
        tn.jit(lambda x: positive(x) / positive(x).shape[0], executor="numpy")(X)
