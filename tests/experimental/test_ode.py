"""`tn.experimental.ode.odeint` is that of JAX, with its derivatives."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental.ode import odeint as theirs

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tests.in_jax import in_jax

odeint: Any = tn.experimental.ode.odeint
T = np.linspace(0, 1.5, 6)


def pendulum(xp: Any) -> Any:
    return lambda y, t, m, g: (y[1], -m * y[1] - g * xp.sin(y[0]) + 0.1 * t)


def test_solutions_and_derivatives_are_those_of_jax() -> None:
    def loss(solve: Any, xp: Any) -> Any:
        def of(y0: Any, t: Any, m: Any, g: Any) -> Any:
            angle, speed = solve(pendulum(xp), y0, t, m, g)
            return xp.sum(angle**2 * xp.arange(6.0)) + xp.sum(speed)

        return of

    at = ((np.array(1.0), np.array(0.0)), T, np.array(0.25), np.array(9.8))
    expected = in_jax(jax.value_and_grad(loss(theirs, jax.numpy), (0, 1, 2, 3)), *at)
    found = tn.jit(tn.value_and_grad(loss(odeint, tn), (0, 1, 2, 3)))(*at)
    for one, other in zip(tn.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, 1e-6, 1e-6)


@pytest.mark.exhaustive
def test_second_derivatives_batches_and_dtypes() -> None:
    def end(rate: Any) -> Any:
        return odeint(lambda y, t, rate: -rate * y, 1.0, np.array([0.0, 2.0]), rate)[1]

    second = tn.grad(tn.grad(end))(0.7)
    np.testing.assert_allclose(second, 4 * math.exp(-1.4), 1e-6)
    closed = tn.grad(lambda a: odeint(lambda y, t: -a * y, 1.0, np.array([0.0, 2.0]))[1])(0.7)
    np.testing.assert_allclose(closed, -2 * math.exp(-1.4), 1e-6)
    np.testing.assert_allclose(tn.vmap(end)(np.array([0.5, 1.0])), np.exp([-1.0, -2.0]), 1e-6)
    narrow = odeint(
        lambda y, t: -y, np.float32(1), np.array([0, 1], "float32"), rtol=1e-5, atol=1e-5
    )
    assert narrow.dtype == np.float32
    turned = odeint(lambda y, t, a: a * y, 1 + 0j, np.array([0.0, 1.0]), 0.3 + 1j)
    np.testing.assert_allclose(turned[1], np.exp(0.3 + 1j), 1e-6)
    few = odeint(lambda y, t: -y, 1.0, np.array([0.0, 9.0]), mxstep=2)
    assert few[1] > 0.2
    listed = odeint(lambda y, t: [y[1], -y[0]], np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(listed[1], [math.cos(1), -math.sin(1)], 1e-6)
    small = odeint(lambda y, t, n: -y * n, 1.0, np.array([0.0, 1.0]), 2, hmax=0.1)
    np.testing.assert_allclose(small[1], math.exp(-2), 1e-6)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ShapeError, match="t must be a vector of times"):
        odeint(lambda y, t: y, 1.0, 2.0)
    with pytest.raises(ShapeError, match="the result of func must have the numbers of y0"):
        odeint(lambda y, t: (y, y), 1.0, T)
    with pytest.raises(ConfigError, match="y0 has no numbers"):
        odeint(lambda y, t: y, (), T)
