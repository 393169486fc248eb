"""Loops and branches as JAX functions: under jit, grad and vmap they compute what ours do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro_xla import jax_gradient, to_jax

RNG = np.random.default_rng(1)
X, BATCH = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 3, 2))
Z = X[:, 0] + 1j * X[:, 1]


class Case(NamedTuple):
    """A function to a real number, an argument, and whether JAX has its gradient."""

    function: Callable[..., Any]
    x: Any = X
    reverse: bool = True


def network(x: Any) -> Any:
    w = np.array([[0.5, -1.0], [0.25, 0.7]])
    h, states = tn.scan(lambda h, row: (tn.tanh(w @ h + row), h), x[0], x, reverse=True)
    return tn.sum(h * states)


def nested(x: Any) -> Any:
    def row_sum(total: Any, row: Any) -> Any:
        return tn.fori_loop(0, 2, lambda i, c: tn.sin(c) * row[i], total), None

    return tn.scan(row_sum, tn.sum(x), x)[0]


def root(x: Any) -> Any:
    def step(state: Any) -> Any:
        guess, left = state
        return 0.5 * (guess + (x * x + 1) / guess), left - 1

    return tn.sum(tn.while_loop(lambda state: state[1] > 0, step, (1.0 + 0 * x, 20))[0])


def complex_scan(z: Any) -> Any:
    c, ys = tn.scan(lambda c, x: (tn.conj(c) * x + 1j, c * x), z[0], z)
    return tn.real(tn.sum(ys) * c) + tn.sum(tn.abs(ys))


CASES = {
    "scan": Case(network),
    "loops in a scan": Case(nested),
    "scan of integers beside floats": Case(
        lambda x: tn.scan(lambda c, r: ((c[0] + 1, c[1] + r[c[0] % 2]), None), (0, 0.0), x)[0][1]
    ),
    "scan of complex numbers": Case(complex_scan, Z),
    "map": Case(lambda x: tn.sum(tn.map(lambda r: r / tn.sum(r * r), x))),
    "cond": Case(lambda x: tn.cond(x[0, 0] > 0, lambda: tn.sum(x * x), lambda: tn.sum(tn.exp(x)))),
    "switch in a scan": Case(
        lambda x: tn.scan(
            lambda c, i: (
                tn.switch(i, [tn.sin, lambda c: c * tn.take(x, i, axis=0), tn.exp], c),
                None,
            ),
            x[0],
            np.array([0, 2, 1]),
        )[0].sum()
    ),
    "while loop": Case(root, reverse=False),
    "associative scan": Case(lambda x: tn.sum(tn.associative_scan(tn.multiply, x, reverse=True))),
    "gradient": Case(lambda x: tn.sum(tn.grad(network)(x) ** 2)),
    "vmap": Case(
        lambda x: tn.sum(tn.vmap(lambda r: tn.scan(lambda c, e: (c * e, c), 1.0, r)[1])(x))
    ),
}


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("name", CASES)
def test_jit_and_grad_of_a_loop_are_ours(name: str) -> None:
    function, x, reverse = CASES[name]
    program = tn.make_program(function, x)
    with jax.enable_x64(True):
        in_jax = to_jax(program)
        if reverse:
            value, gradient = jax.jit(jax.value_and_grad(in_jax))(jnp.asarray(x))
            np.testing.assert_allclose(np.conj(gradient), tn.grad(function)(x), rtol=1e-10)
        else:
            value, tangent = jax.jit(lambda x: jax.jvp(in_jax, (x,), (jnp.cos(x),)))(x)
            np.testing.assert_allclose(tangent, tn.jvp(function, (x,), (np.cos(x),))[1])
    np.testing.assert_allclose(value, function(x), rtol=1e-12)


def test_vmap_of_loops_is_ours() -> None:
    names = [name for name in CASES if name not in ("scan of complex numbers", "gradient", "vmap")]

    def everything(x: Any) -> Any:
        return tuple(CASES[name].function(x) for name in names)

    in_jax = to_jax(tn.make_program(everything, X))
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(in_jax))(BATCH)
    for name, actual, expected in zip(names, found, tn.vmap(everything)(BATCH), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("setting", [False, True])
def test_a_loop_of_32_bits_stays_so_for_any_setting_of_jax(setting: bool) -> None:
    x = X.astype(np.float32)
    weighted = tn.make_program(
        lambda x: tn.scan(lambda c, r: (c + tn.sum(r) * np.float32(2), None), np.float32(0), x)[0],
        x,
    )
    with jax.enable_x64(setting):
        value, gradient = jax.jit(jax.value_and_grad(to_jax(weighted)))(x)
    assert (value.dtype, gradient.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(value, 2 * x.sum(), rtol=1e-5)
    np.testing.assert_allclose(gradient, np.full((3, 2), 2.0))


def test_a_loop_of_64_bits_stays_so_where_jax_is_not_in_that_mode() -> None:
    program = tn.make_program(network, X)
    with jax.enable_x64(False):
        assert to_jax(program)(X).dtype == np.float64
        np.testing.assert_allclose(jax_gradient(program, X), tn.grad(network)(X))


def test_jax_has_no_reverse_mode_through_a_while_loop() -> None:
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        jax_gradient(tn.make_program(root, X), X)
