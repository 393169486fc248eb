"""Large results are written where earlier ones were, once nobody has these."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.errors import ConfigError, TenferroError
from tenferro_xla.compiled import buffer_pool, cache
from tenferro_xla.compiled.buffer_pool import BufferPool
from tenferro_xla.placement import LARGE
from tests.tenferro_xla.kept_results import ENOUGH, ROUNDS, N, X, address, causes, shifted

pytestmark = pytest.mark.usefixtures("places_at_once")


def test_results_are_written_where_earlier_ones_were() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = shifted(executor)
    where = []
    for k in range(ROUNDS):
        result = f(X, float(k))
        where.append(address(result))
        np.testing.assert_array_equal(result.numpy(), X + k)
    assert len(set(where[3:])) == 2  # one is held while the other one is written
    assert causes(executor) == ["first", "places"]
    assert "large results are written where earlier ones were" in str(executor.explain())


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "bool"])
def test_every_dtype(dtype: str) -> None:
    x = (np.arange(LARGE // np.dtype(dtype).itemsize) % 5).astype(dtype)
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = tn.jit(lambda x: x[::-1], executor=executor)
    for _ in range(ROUNDS):
        result = f(x)
        np.testing.assert_array_equal(result, x[::-1])
    assert "places" in causes(executor)


def test_several_results_and_those_that_are_inputs_or_twice_there() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = tn.jit(lambda x, by: (x, x + by, x - by, x + by, tn.sum(x), by), executor=executor)
    for k in range(ROUNDS):
        same, more, less, again, total, by = jax.block_until_ready(f(X, float(k)))
        np.testing.assert_array_equal(same, X)
        np.testing.assert_array_equal(more, X + k)
        np.testing.assert_array_equal(again, X + k)
        np.testing.assert_array_equal(less, X - k)
        assert total.item() == X.sum()
        assert by.item() == k
    assert "places" in causes(executor)


@pytest.mark.exhaustive
def test_transposed_results() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = tn.jit(lambda x, y: (x.T, (y + 1).T), executor=executor)
    x = X.reshape(512, -1)
    for k in range(ROUNDS):
        first, second = f(x, x + k)
        np.testing.assert_array_equal(first, x.T)
        np.testing.assert_array_equal(second, (x + k + 1).T)
    assert "places" in causes(executor)


def test_a_transposed_result_may_take_a_donated_buffer() -> None:
    xla = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = tn.jit(lambda x, y: (x.T, y + 1), executor=xla, donate_argnums=(0, 1))
    square = np.arange(9.0).reshape(3, 3)
    turned, more = f(tn.Tensor(xla.put(square)), tn.Tensor(xla.put(square)))
    np.testing.assert_array_equal(turned, square.T)
    np.testing.assert_array_equal(more, square + 1)


@pytest.mark.exhaustive
def test_a_gradient_has_the_same_bits() -> None:
    def loss(x: Any, y: Any) -> Any:
        return tn.sum(tn.tanh(x) * y * x)

    y = X[::-1].copy() / N
    keeping = tn.jit(
        tn.value_and_grad(loss, argnums=(0, 1)), executor=txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    )
    plain = tn.jit(
        tn.value_and_grad(loss, argnums=(0, 1)), executor=txla.XlaExecutor("cpu", kept_bytes=0)
    )
    for k in range(ROUNDS):
        value, gradients = keeping(X / N + k, y)
        wanted, expected = plain(X / N + k, y)
        assert value.item() == wanted.item()
        for gradient, other in zip(gradients, expected, strict=True):
            np.testing.assert_array_equal(gradient, other)


def test_a_state_that_is_handed_on() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    step = tn.jit(lambda x: x * 0.5 + 1, executor=executor)
    state, expected = tn.Tensor(X), X
    for _ in range(ROUNDS):
        state, expected = step(state).block_until_ready(), expected * 0.5 + 1
    np.testing.assert_array_equal(state, expected)
    assert "places" in causes(executor)


def test_a_call_with_wrong_arguments_says_so_and_the_next_one_works() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    program = tn.make_program(tn.negative, tn.TensorSpec((N,)))
    loaded: Any = executor.compile_exec(program.exec_program)
    x = executor.put(X)
    for _ in range(ROUNDS):
        results = loaded.direct(x)
    with pytest.raises(TypeError) as caught:
        loaded.direct(executor.put(X[1:]))
    with pytest.raises(TenferroError, match="input 0"):
        loaded.explain(caught.value, [executor.put(X[1:])])
    np.testing.assert_array_equal(results[0], -X)
    np.testing.assert_array_equal(loaded.direct(x)[0], -X)


def test_a_single_call_keeps_nothing() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = shifted(executor)
    f(X, 1.0)
    assert not len(executor._executables.pool)
    f(X, 1.0)
    assert len(executor._executables.pool) == 1
    executor.clear()
    assert not len(executor._executables.pool)
    np.testing.assert_array_equal(f(X, 1.0), X + 1)


def test_small_results_limits_and_donations_keep_nothing() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    small = tn.jit(lambda x: x + 1, executor=executor)
    limited = tn.jit(lambda x: x + 1, executor=executor, memory_limit=1 << 30)
    donating = tn.jit(lambda x: x + 1, executor=executor, donate_argnums=0)
    for _ in range(ROUNDS):
        small(X[:1000]), limited(X), donating(tn.Tensor(executor.put(X)))
    assert not len(executor._executables.pool)


def test_no_more_is_kept_than_asked() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=X.nbytes)
    f = shifted(executor)
    for _ in range(ROUNDS):
        f(X, 1.0)
    assert len(executor._executables.pool) == 1
    none = txla.XlaExecutor("cpu", kept_bytes=0)
    g = shifted(none)
    for _ in range(ROUNDS):
        g(X, 1.0)
    assert not len(none._executables.pool)
    assert causes(none) == ["first"]
    with pytest.raises(ConfigError, match="kept_bytes"):
        txla.XlaExecutor("cpu", kept_bytes=-1)


def test_compiled_again_when_calls_have_lost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    kernel = executor.compile_seconds
    monkeypatch.setattr(buffer_pool, "SECONDS_PER_BYTE", kernel / X.nbytes / 2.5)
    f = tn.jit(tn.negative, executor=executor)
    compiled = []
    for _ in range(ROUNDS):
        f(X).block_until_ready()
        compiled.append(executor.explain().compiled)
    assert compiled == [1, 1, 1, 1, 2, 2]  # the third call is the first with a place


def test_what_compiles_long_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    monkeypatch.setattr(buffer_pool, "LONGEST", executor.compile_seconds / 2)
    f = tn.jit(tn.negative, executor=executor)
    for _ in range(ROUNDS):
        f(X).block_until_ready()
    assert causes(executor) == ["first"]


def test_kept_results_by_type() -> None:
    results = BufferPool(ENOUGH)
    results.keep([jax.device_put(X) + 1, jax.device_put(X[:, None]) + 1], 2)
    first, second = ((N,), np.dtype("float32")), ((N, 1), np.dtype("float32"))  # JAX's default
    jax.block_until_ready(list(results._arrays.values()))
    assert results.take({first: 2}) is None
    taken = results.take({second: 1, first: 1})
    assert taken is not None
    assert {kind: len(arrays) for kind, arrays in taken.items()} == {first: 1, second: 1}
    assert not len(results)
    assert results.take({first: 1}) is None


def test_what_one_program_keeps_is_not_dropped_for_another() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    many = tn.jit(lambda x: tuple(x + k for k in range(1, 6)), executor=executor)
    one = tn.jit(lambda x: x[:, None] * 2, executor=executor)
    for _ in range(ROUNDS):
        many(X)[0].block_until_ready()
        one(X).block_until_ready()
    assert len(executor._executables.pool) == 6
    assert executor._executables.pool._bytes == 6 * X.nbytes


def test_a_second_executable_that_cannot_be_made_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = shifted(executor)
    f(X, 0.0)

    def refuse(*_: object) -> None:
        raise MemoryError("no")

    monkeypatch.setattr(cache, "compile_stablehlo", refuse)
    for k in range(ROUNDS):
        np.testing.assert_array_equal(f(X, float(k)), X + k)
