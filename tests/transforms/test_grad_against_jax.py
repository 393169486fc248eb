"""Every transform of every case agrees with JAX: on NumPy, on XLA, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tests.transforms.numerical_derivatives import CASES, X3, Z2, assert_trees_close, in_jax, vector

HOW: dict[str, Callable[[Any], Any]] = {
    "at once": lambda f: f,
    "jit numpy": tn.jit(executor="numpy"),
    "jit xla": tn.jit(executor="xla"),
}
how = pytest.mark.parametrize("how", HOW.values(), ids=HOW)
case = pytest.mark.parametrize(("f", "args"), CASES.values(), ids=CASES)


def is_complex(args: Any) -> bool:
    return any(np.iscomplexobj(leaf) for leaf in jax.tree.leaves(args))


@pytest.mark.exhaustive(but=8)
@how
@case
def test_value_and_grad(how: Any, f: Any, args: Any) -> None:
    value, grads = how(tn.value_and_grad(partial(f, tn)))(*args)
    want = in_jax(lambda jax, jnp: jax.value_and_grad(partial(f, jnp))(*args))
    assert_trees_close(value, want[0])
    assert_trees_close(grads, want[1], conjugated=is_complex(args))


@pytest.mark.exhaustive(but=4)
@how
@case
def test_grad_by_several_arguments(how: Any, f: Any, args: Any) -> None:
    numbers = tuple(range(len(args)))
    grads = how(tn.grad(partial(f, tn), argnums=numbers))(*args)
    want = in_jax(lambda jax, jnp: jax.grad(partial(f, jnp), argnums=numbers)(*args))
    assert_trees_close(grads, want, conjugated=is_complex(args))


@pytest.mark.exhaustive(but=4)
@how
@case
def test_jvp(how: Any, f: Any, args: Any) -> None:
    tangents = jax.tree.map(lambda x: np.cos(np.asarray(x)), args)
    both = how(lambda args, tangents: tn.jvp(partial(f, tn), args, tangents))(args, tangents)
    want = in_jax(lambda jax, jnp: jax.jvp(partial(f, jnp), args, tangents))
    assert_trees_close(both, want)


@pytest.mark.exhaustive(but=8)
@how
@case
def test_vjp(how: Any, f: Any, args: Any) -> None:
    def run(*args: Any) -> Any:
        value, pullback = tn.vjp(partial(f, tn), *args)
        return value, pullback(2.5)

    def want(jax: Any, jnp: Any) -> Any:
        value, pullback = jax.vjp(partial(f, jnp), *args)
        return value, pullback(jnp.asarray(2.5, value.dtype))

    value, cts = how(run)(*args)
    other, other_cts = in_jax(want)
    assert_trees_close(value, other)
    assert_trees_close(cts, other_cts, conjugated=is_complex(args))


@pytest.mark.exhaustive(but=8)
@how
@case
def test_linearize(how: Any, f: Any, args: Any) -> None:
    tangents = jax.tree.map(lambda x: np.sin(np.asarray(x)), args)

    def run(args: Any, tangents: Any) -> Any:
        value, linear = tn.linearize(partial(f, tn), *args)
        return value, linear(*tangents), linear(*tangents)

    value, once, again = how(run)(args, tangents)
    want = in_jax(lambda jax, jnp: jax.jvp(partial(f, jnp), args, tangents))
    assert_trees_close((value, once), want)
    assert_trees_close(again, want[1])


@how
@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_jacobians_of_trees(how: Any, name: str) -> None:
    actual = how(getattr(tn, name)(partial(vector, tn)))(X3)
    want = in_jax(lambda jax, jnp: getattr(jax, name)(partial(vector, jnp))(X3))
    assert_trees_close(actual, want)


@pytest.mark.exhaustive
@how
@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_jacobians_by_trees_and_by_several_arguments(how: Any, name: str) -> None:
    def f(p: Any, y: Any) -> Any:
        return p["a"] * y[0] + p["b"][0] @ y

    args = ({"a": X3, "b": [np.outer(X3, X3[:2])]}, X3[1:])
    for argnums in (0, 1, (0, 1), (-1, 0)):
        actual = how(getattr(tn, name)(f, argnums))(*args)
        want = in_jax(lambda jax, jnp, n=argnums: getattr(jax, name)(f, n)(*args))
        assert_trees_close(actual, want)


@pytest.mark.exhaustive
@how
@pytest.mark.parametrize("name", ["power", "mixed", "scalar"])
def test_hessian(how: Any, name: str) -> None:
    f, args = CASES[name]
    actual = how(tn.hessian(partial(f, tn)))(*args)
    want = in_jax(lambda jax, jnp: jax.hessian(partial(f, jnp))(*args))
    assert_trees_close(actual, want)


@pytest.mark.exhaustive(but=4)
@how
@pytest.mark.parametrize("name", ["power", "mixed", "mlp"])
def test_hvp(how: Any, name: str) -> None:
    f, args = CASES[name]
    tangents = jax.tree.map(lambda x: np.cos(np.asarray(x)), args)
    argnums = 0 if len(args) == 1 else tuple(range(len(args)))
    actual = how(lambda p, t: tn.hvp(partial(f, tn), p, t))(args, tangents)
    want = in_jax(lambda jax, jnp: jax.jvp(jax.grad(partial(f, jnp), argnums), args, tangents)[1])
    assert_trees_close(actual, want)


@pytest.mark.exhaustive(but=4)
@how
@pytest.mark.parametrize("order", range(5))
def test_derivatives_of_any_order(how: Any, order: int) -> None:
    f, args = CASES["scalar"]

    def nested(jax: Any, jnp: Any) -> Any:
        function = partial(f, jnp)
        for _ in range(order):
            function = jax.grad(function)
        return function(*args)

    assert_trees_close(how(tn.derivative(partial(f, tn), order))(*args), in_jax(nested))


@how
def test_holomorphic_gradients_are_jaxs(how: Any) -> None:
    z = Z2[0]
    actual = how(tn.grad(lambda z: tn.exp(z) * z**3, holomorphic=True))(z)
    want = in_jax(lambda jax, jnp: jax.grad(lambda z: jnp.exp(z) * z**3, holomorphic=True)(z))
    assert_trees_close(actual, want)


@pytest.mark.exhaustive(but=2)
@how
def test_with_the_flag_all_transforms_give_the_holomorphic_derivative(how: Any) -> None:
    def f(z: Any) -> Any:
        return tn.exp(z) * z**3

    z = Z2[0]
    want = np.exp(z) * (z**3 + 3 * z**2)
    twice = np.exp(z) * (z**3 + 6 * z**2 + 6 * z)
    gradient = tn.grad(f, holomorphic=True)
    for transform in (tn.grad, tn.grad_optional, tn.jacrev, tn.jacfwd, tn.jacobian):
        assert_trees_close(how(transform(f, holomorphic=True))(z), want)
        assert_trees_close(how(transform(gradient, holomorphic=True))(z), twice)
    assert_trees_close(how(tn.value_and_grad(f, holomorphic=True))(z), (f(z), want))
    assert_trees_close(how(tn.derivative(f))(z), want)


@how
def test_holomorphic_jacobians_are_jaxs(how: Any) -> None:
    matrix = np.array([[1, 2j], [0.5, -1 + 1j]])
    want = in_jax(lambda jax, jnp: jax.jacfwd(lambda z: matrix @ z**2, holomorphic=True)(Z2))
    for transform in (tn.jacfwd, tn.jacrev):
        assert_trees_close(how(transform(lambda z: matrix @ z**2, holomorphic=True))(Z2), want)


@how
def test_the_gradient_of_the_squared_magnitude_is_twice_the_number(how: Any) -> None:
    grads = how(tn.grad(lambda z: tn.sum(tn.real(z * tn.conj(z)))))(Z2)
    assert_trees_close(grads, 2 * Z2)


@how
def test_a_real_operand_of_a_complex_op_gets_the_real_part(how: Any) -> None:
    grads = how(tn.grad(lambda x, z: tn.sum(tn.imag(x * z))))(X3[:2], Z2)
    want = in_jax(lambda jax, jnp: jax.grad(lambda x: jnp.sum(jnp.imag(x * Z2)))(X3[:2]))
    assert_trees_close(grads, want)


def test_float32_stays_float32() -> None:
    f, args = CASES["power"]
    args = tuple(np.float32(arg) for arg in args)
    want = in_jax(lambda jax, jnp: jax.value_and_grad(partial(f, jnp))(*args))
    assert_trees_close(tn.jit(tn.value_and_grad(partial(f, tn)))(*args), want)


def test_vjp_by_integers_gives_float0() -> None:
    def f(x: Any, at: Any, more: Any) -> Any:
        return (x[at] * more["a"]).sum()

    args = (np.array([1.0, 2.0, 3.0]), np.array([0, 0, 2]), {"a": np.array(2.0), "n": np.array(3)})
    _, pullback = tn.vjp(lambda *args: f(tn.asarray(args[0]), *args[1:]), *args)
    with jax.enable_x64(True):
        _, of_jax = jax.vjp(f, *jax.tree.map(jax.numpy.asarray, args))
        expected = jax.tree.leaves(of_jax(jax.numpy.ones(())))
    for one, other in zip(tn.tree.leaves(pullback(1.0)), expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other)
    one = tn.jit(lambda x: tn.vjp(tn.take, x, 1)[1](1.0)[0])(args[0])
    np.testing.assert_array_equal(one, [0, 1, 0])
