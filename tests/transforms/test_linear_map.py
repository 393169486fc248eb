"""Pullbacks and linearized functions are trees of the values that they store."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import FileError, ShapeError, TenferroError

X, Y = np.array([1.0, 2.0]), np.ones(3)
ONES = np.ones(2)
EXPECTED = 3 * np.cos(X)


def function(x: Any, y: Any) -> Any:
    return tn.sin(x) * tn.sum(y)


def test_the_leaves_are_the_stored_values() -> None:
    _, pullback = tn.vjp(function, X, Y)
    assert repr(pullback) == "Pullback(f64[2] -> (f64[2], f64[3]))"
    stored = tn.tree.leaves(pullback)
    assert sorted(leaf.ndim for leaf in stored) == [1, 1, 1]
    doubled = tn.tree.map(lambda leaf: 2 * leaf, pullback)
    np.testing.assert_allclose(doubled(ONES)[0], 4 * pullback(ONES)[0])
    program = tn.make_jaxpr(lambda x: tn.vjp(lambda x: function(x, Y), x)[1])(X)
    assert len(program.exec_program.output_slots) == len(tn.tree.leaves(program(X)))
    np.testing.assert_allclose(program(X)(ONES)[0], EXPECTED)
    with pytest.raises(FileError, match="which a file does not hold"):
        tn.dumps(program)


def test_compiled_functions_return_and_take_them() -> None:
    make = tn.jit(lambda x, y: tn.vjp(function, x, y)[1], executor="numpy")
    first, second = make(X, Y), make(2 * X, Y)
    np.testing.assert_allclose(first(ONES)[0], EXPECTED)
    apply = tn.jit(lambda pullback, ct: pullback(ct), executor="numpy")
    np.testing.assert_allclose(apply(first, ONES)[0], EXPECTED)
    np.testing.assert_allclose(apply(second, ONES)[0], 3 * np.cos(2 * X))
    assert apply.stats().misses == 1
    slope = tn.grad(lambda pullback: tn.sum(pullback(ONES)[0] * X))(first)
    assert isinstance(slope, type(first))
    linear = tn.jit(lambda x: tn.linearize(lambda x: x * x, x)[1], executor="numpy")(3.0)
    assert linear(2.0).tolist() == 12.0
    sized = tn.jit(
        lambda x: tn.vjp(lambda x: tn.sum(x**2), x)[1], symbolic={"x": ("n",)}, executor="numpy"
    )
    assert [sized(np.ones(n))(1.0)[0].tolist() for n in (1, 2)] == [[2.0], [2.0, 2.0]]


def test_vmap_and_scan_stack_them() -> None:
    batch = np.stack([X, 2 * X])
    mapped = tn.vmap(lambda x: tn.vjp(function, x, Y)[1])(batch)
    found = tn.vmap(lambda pullback: pullback(ONES)[0])(mapped)
    np.testing.assert_allclose(found, 3 * np.cos(batch))
    with pytest.raises(ShapeError, match=r"was f64\[2\], and is f64\[2,2\] now"):
        mapped(ONES)
    _, stack = tn.scan(lambda c, x: (c, tn.vjp(lambda x: tn.sin(x) * c, x)[1]), 2.0, X)
    total, _ = tn.scan(lambda c, pullback: (c + pullback(1.0)[0], None), 0.0, stack)
    np.testing.assert_allclose(total, np.sum(2 * np.cos(X)))


def test_a_rule_by_hand_stores_them() -> None:
    @tn.custom_vjp
    def f(x: Any) -> Any:
        return tn.sin(x)

    f.defvjp(lambda x: tn.vjp(tn.sin, x), lambda pullback, ct: pullback(2 * ct))
    np.testing.assert_allclose(tn.grad(lambda x: tn.sum(f(x)))(X), 2 * np.cos(X))
    np.testing.assert_allclose(tn.jit(tn.jacrev(f))(X), np.diag(2 * np.cos(X)))


def test_tangents_of_integers_and_keys_may_be_float0() -> None:
    none, key = np.zeros((), tn.dtypes.float0), tn.random.key(0)

    def drawn(key: Any, tree: Any) -> Any:
        return tn.random.normal(key) * tree["n"] * tree["x"]

    value, tangent = tn.jvp(drawn, (key, {"n": 3, "x": 2.0}), (none, {"n": none, "x": 1.0}))
    np.testing.assert_allclose([value, tangent], np.asarray(tn.random.normal(key)) * [6.0, 3.0])
    for wrong in ((none, none), (none, {"n": none, "x": none})):
        with pytest.raises(TenferroError, match=r"^jvp: the tangent"):
            tn.jvp(drawn, (key, {"n": 3, "x": 2.0}), wrong)


def test_jax_does_the_same() -> None:
    with jax.enable_x64(True):
        theirs = jax.jit(lambda x: jax.vjp(lambda x: jnp.sin(x) * jnp.sum(x), x)[1])(X)(ONES)
    ours = tn.jit(lambda x: tn.vjp(lambda x: tn.sin(x) * tn.sum(x), x)[1])(X)(ONES)
    np.testing.assert_allclose(ours[0], theirs[0])
