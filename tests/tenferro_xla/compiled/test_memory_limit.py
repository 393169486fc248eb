"""XLA needs what was predicted under a limit, and keeps what is computed again apart."""

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import MemoryLimitError
from tenferro_xla import XlaExecutor, from_jax, to_jax

X = np.random.default_rng(0).normal(size=(64, 64)) / 8


def chain(x: Any, w: Any) -> Any:
    for _ in range(16):
        x = tn.tanh(x @ w)
    return tn.sum(x)


def test_xla_needs_no_more_than_the_limit() -> None:
    limit = 12 * X.nbytes
    program = tn.jit(tn.grad(chain), memory_limit=limit).program(X, X)
    inputs = {each.name: X for each in program.inputs}
    compiled = XlaExecutor("cpu").lower(program, inputs).compile()
    memory = compiled.memory()
    assert memory.temporaries + memory.outputs <= 1.2 * limit
    (value,) = compiled.run(inputs)
    np.testing.assert_allclose(np.asarray(value), np.asarray(tn.grad(chain)(X, X)), rtol=1e-10)


def test_checkpoints_come_from_jax_and_go_there() -> None:
    def g(x: Any) -> Any:
        return jax.numpy.sum(jax.checkpoint(lambda x: jax.numpy.sin(jax.numpy.sin(x)))(x))

    x = np.array([0.3, 0.7])
    program = from_jax(g, x)
    assert "checkpointed" in str(program)
    with jax.enable_x64(True):
        expected = np.asarray(jax.grad(g)(x))
        assert "remat" in str(jax.make_jaxpr(jax.grad(to_jax(program)))(x))
        np.testing.assert_allclose(np.asarray(jax.grad(to_jax(program))(x)), expected, rtol=1e-12)
        backward = to_jax(tn.make_program(tn.grad(program), tn.TensorSpec((2,), "float64")))
        np.testing.assert_allclose(np.asarray(jax.jit(backward)(x)), expected, rtol=1e-12)
        np.testing.assert_allclose(
            np.asarray(jax.vmap(backward)(x[None])), expected[None], rtol=1e-12
        )


@pytest.mark.exhaustive
def test_what_is_lowered_first_keeps_the_limit_as_xla_tells_too() -> None:
    def f(x: Any, w: Any) -> Any:
        for number in range(16):
            x = tn.tanh(x @ w[number])
        return tn.sum(x * x)

    x, w = np.ones((64, 32)), np.ones((16, 32, 32))
    gradient = tn.grad(f, argnums=(0, 1))
    free = tn.jit(gradient).memory(x, w)
    limit = free.outputs + int(0.35 * (free.peak - free.outputs))
    lowered = tn.jit(gradient, memory_limit=limit, executor=XlaExecutor()).lower(x, w)
    with pytest.raises(MemoryLimitError, match="XLA needs"):
        lowered.compile()
