"""Functions of a vector whose size data decide, in a compiled function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import GuardViolationError, UnsupportedDynamicShapeError
from tests.sampling import some

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


CASES: dict[str, Callable[[Any], Any]] = {
    "mean": lambda y: y.sum() / y.shape[0],
    "size": lambda y: y.shape[0],
    "roll": lambda y: tn.roll(y, 1),
    "set": lambda y: y.at[0].set(9.0),
    "add": lambda y: y.at[-1].add(9.0),
    "first": lambda y: y[0] + y[-1],
    "slices": lambda y: y[1:] * y[:-1],
    "median": tn.median,
    "quantile": lambda y: tn.quantile(y, 0.3),
    "concat": lambda y: tn.concat([y, y * 2, tn.ones(2)]),
    "arange": lambda y: tn.arange(y.shape[0]) * y,
    "solve": lambda y: tn.linalg.solve(tn.outer(y, y) + tn.eye(y.shape[0]), y),
    "scan": lambda y: tn.scan(lambda c, a: (c + tn.sum(y) * a, c * a), 0.0, y),
    "map": lambda y: tn.map(lambda a: a * a, y),
    "cond": lambda y: tn.cond(tn.sum(y) > 0, lambda a: a * y, lambda a: -a, y),
    "fori_loop": lambda y: tn.fori_loop(0, 3, lambda i, c: c * y + i, y),
    "vmap": lambda y: tn.vmap(lambda a: tn.sum(a * y))(y),
}


@pytest.mark.parametrize("executor", some(["numpy", "xla"], 2))
@pytest.mark.parametrize("case", CASES)
def test_what_needs_the_size_gives_what_it_gives_where_it_is_known(
    case: str, executor: str
) -> None:
    def loss(y: Any) -> Any:
        leaves = tn.tree_util.tree_leaves(CASES[case](y))
        return sum(tn.sum(tn.sin(tn.asarray(leaf) * 1.0)) for leaf in leaves)

    found = tn.jit(tn.value_and_grad(lambda x: loss(positive(x))), executor=executor)(X)
    expected = tn.value_and_grad(lambda x: loss(x[np.array([0, 2, 3])]))(X)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-12)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_an_element_that_is_not_there_is_refused_in_the_run(executor: str) -> None:
    f = tn.jit(lambda x: positive(x).at[3].set(1.0), executor=executor)
    with pytest.raises(GuardViolationError, match="index: 3 is out of range for axis 0"):
        f(X)


def test_sizes_that_may_differ_say_how_to_go_on() -> None:
    with pytest.raises(UnsupportedDynamicShapeError, match="by size= or pad=True of the function"):
        tn.jit(lambda x: positive(x) + positive(-x), executor="numpy")(X)
