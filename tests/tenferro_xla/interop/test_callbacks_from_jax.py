"""Functions of JAX that call the host, as programs: they call it when JAX does."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

import tenferro as tn
from tenferro.errors import UnsupportedADRuleError
from tenferro_xla import from_jax

X = np.array([0.5, -1.0, 2.0])
SCALAR = tn.TensorSpec(())


def sine_of_host(x: Any) -> Any:
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda a: np.sin(a), like, x, vmap_method="expand_dims")


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_a_pure_callback_is_called_also_in_loops_and_batches(executor: str) -> None:
    def function(x: Any) -> Any:
        in_loop = lax.scan(lambda c, r: (sine_of_host(c) + r, c), x[0], x)[0]
        return sine_of_host(x) * 2, in_loop, jax.vmap(sine_of_host)(x)

    program = from_jax(function, X)
    total = 0.5
    for value in X:
        total = np.sin(total) + value
    found = tn.jit(lambda x: program(x), executor=executor)(X)
    for one, expected in zip(found, (2 * np.sin(X), total, np.sin(X)), strict=True):
        np.testing.assert_allclose(one, expected, 1e-14)


def test_a_rule_of_jax_gives_a_callback_its_derivative() -> None:
    ruled = jax.custom_jvp(sine_of_host)
    ruled.defjvp(lambda xs, dxs: (ruled(*xs), jnp.cos(xs[0]) * dxs[0]))
    assert tn.grad(from_jax(ruled, SCALAR))(0.3).item() == pytest.approx(np.cos(0.3))
    with pytest.raises(UnsupportedADRuleError, match="pure_callback <lambda> has no derivative"):
        tn.grad(from_jax(sine_of_host, SCALAR))(0.3)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_effects_are_made_each_time_in_their_order(
    executor: str, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[float] = []
    taken: list[float] = []

    def count(x: Any) -> Any:
        seen.append(float(x))
        return np.float64(len(seen))

    def function(x: Any) -> Any:
        def step(carry: Any, r: Any) -> Any:
            return carry + io_callback(count, jax.ShapeDtypeStruct((), "float64"), r), None

        total, _ = lax.scan(step, 0.0, x)
        lax.cond(
            x[0] > 0,
            lambda: jax.debug.callback(lambda v: taken.append(float(v)), x[0]),
            lambda: None,
        )
        last = lax.while_loop(
            lambda s: s < 2, lambda s: (jax.debug.print("s = {s}", s=s), s + 1)[1], 0
        )
        return total, jnp.sin(x), last

    program = from_jax(function, X)
    run = tn.jit(lambda x: program(x), executor=executor)
    for _ in range(2):
        seen.clear()
        total, sines, last = run(X)
        np.testing.assert_allclose(total, 6.0)
        np.testing.assert_allclose(sines, np.sin(X), 1e-14)
        tn.effects_barrier()
        assert seen == [0.5, -1.0, 2.0]
        assert last.item() == 2
    assert taken == [0.5, 0.5]
    assert capfd.readouterr().out.split("\n")[:2] == ["s = 0", "s = 1"]


def test_what_is_called_for_its_effect_has_derivatives_around_it() -> None:
    seen: list[float] = []

    def function(x: Any) -> Any:
        jax.debug.callback(lambda v: seen.append(float(v)), x)
        return jnp.sin(x) * x

    program = from_jax(function, SCALAR)
    assert tn.grad(program)(0.3).item() == pytest.approx(0.3 * np.cos(0.3) + np.sin(0.3))
    tn.effects_barrier()
    assert seen == [0.3]
