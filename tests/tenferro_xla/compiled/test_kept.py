"""Large results are written where earlier ones were, once nobody has these."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.errors import ConfigError, TenferroError
from tenferro_xla.compiled import cache, kept
from tenferro_xla.compiled.kept import KeptResults
from tenferro_xla.places import LARGE, VIEWS

N = LARGE // 8
X = np.arange(N, dtype=np.float64)
ROUNDS = 6


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs take places as soon as there are some."""
    monkeypatch.setattr(kept, "SECONDS_PER_BYTE", 1.0)
    yield
    gc.collect()


def address(tensor: tn.Tensor) -> int:
    return int(tensor._buffer.unsafe_buffer_pointer())


def causes(executor: txla.XlaExecutor) -> list[str]:
    return [event.cause for event in executor.explain().events]


def shifted(executor: txla.XlaExecutor) -> Any:
    return tn.jit(lambda x, by: x + by, executor=executor)


def test_results_are_written_where_earlier_ones_were() -> None:
    executor = txla.XlaExecutor("cpu")
    f = shifted(executor)
    where = []
    for k in range(ROUNDS):
        result = f(X, float(k))
        where.append(address(result))
        np.testing.assert_array_equal(result.numpy(), X + k)
    assert len(set(where[3:])) == 2  # one is held while the other one is written
    assert causes(executor) == ["first", "places"]
    assert "large results are written where earlier ones were" in str(executor.explain())


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "bool"])
def test_every_dtype(dtype: str) -> None:
    x = (np.arange(LARGE // np.dtype(dtype).itemsize) % 5).astype(dtype)
    executor = txla.XlaExecutor("cpu")
    f = tn.jit(lambda x: x[::-1], executor=executor)
    for _ in range(ROUNDS):
        result = f(x)
        np.testing.assert_array_equal(result, x[::-1])
    assert "places" in causes(executor)


def test_what_is_held_is_not_overwritten() -> None:
    f = shifted(txla.XlaExecutor("cpu"))
    held = [f(X, float(k)) for k in range(ROUNDS)]
    views = [f(X, float(k)).numpy() for k in range(ROUNDS)]
    parts = [np.asarray(f(X, float(k)))[1:] for k in range(ROUNDS)]
    buffers = [f(X, float(k)).data for k in range(ROUNDS)]
    shared = [np.from_dlpack(f(X, float(k))) for k in range(ROUNDS)]
    gc.collect()
    for k in range(ROUNDS):
        for result in (held[k], views[k], buffers[k], shared[k]):
            np.testing.assert_array_equal(result, X + k)
        np.testing.assert_array_equal(parts[k], X[1:] + k)


def test_arrays_of_jax_that_share_the_memory_stay() -> None:
    f = shifted(txla.XlaExecutor("cpu"))
    device = jax.devices("cpu")[0]
    others = [jax.device_put(f(X, float(k)).data, device) for k in range(ROUNDS)]
    parts = [f(X, float(k)).data.addressable_data(0) for k in range(ROUNDS)]
    imported = [jax.dlpack.from_dlpack(f(X, float(k))) for k in range(ROUNDS)]
    gc.collect()
    for k in range(ROUNDS):
        for result in (others[k], parts[k], imported[k]):
            np.testing.assert_array_equal(result, X + k)


def test_results_that_are_still_read_are_waited_for() -> None:
    executor = txla.XlaExecutor("cpu")
    slow = tn.jit(lambda m: m @ m @ m @ m, executor=executor)
    square = np.arange(1449.0**2).reshape(1449, 1449) % 7.0
    assert square.nbytes >= LARGE
    g = tn.jit(lambda m, by: m + by, executor=executor)
    powers = []
    for k in range(ROUNDS):
        powers.append(slow(g(square, float(k))))  # the argument is gone before it has been read
        g(square, -1.0).block_until_ready()
    for k, power in enumerate(powers):
        expected = np.linalg.matrix_power(square + k, 4)
        np.testing.assert_allclose(power.numpy(), expected, rtol=1e-12)
    assert "places" in causes(executor)


def test_numpy_arrays_share_the_memory_and_are_read_only() -> None:
    f = shifted(txla.XlaExecutor("cpu"))
    result = f(X, 1.0)
    first, again = np.asarray(result), result.numpy()
    assert first is again
    assert VIEWS.are_open(result._buffer)
    assert first.ctypes.data == address(result)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.flags.writeable = True
    del first, again
    gc.collect()
    assert not VIEWS.are_open(result._buffer)


def test_several_results_and_those_that_are_inputs_or_twice_there() -> None:
    executor = txla.XlaExecutor("cpu")
    f = tn.jit(lambda x, by: (x, x + by, x - by, x + by, tn.sum(x), by), executor=executor)
    for k in range(ROUNDS):
        same, more, less, again, total, by = f(X, float(k))
        np.testing.assert_array_equal(same, X)
        np.testing.assert_array_equal(more, X + k)
        np.testing.assert_array_equal(again, X + k)
        np.testing.assert_array_equal(less, X - k)
        assert total.item() == X.sum()
        assert by.item() == k


def test_transposed_results() -> None:
    executor = txla.XlaExecutor("cpu")
    f = tn.jit(lambda x, y: (x.T, (y + 1).T), executor=executor)
    x = X.reshape(512, -1)
    for k in range(ROUNDS):
        first, second = f(x, x + k)
        np.testing.assert_array_equal(first, x.T)
        np.testing.assert_array_equal(second, (x + k + 1).T)
    assert "places" in causes(executor)


def test_a_transposed_result_may_take_a_donated_buffer() -> None:
    xla = txla.XlaExecutor("cpu")
    f = tn.jit(lambda x, y: (x.T, y + 1), executor=xla, donate_argnums=(0, 1))
    square = np.arange(9.0).reshape(3, 3)
    turned, more = f(tn.Tensor(xla.put(square)), tn.Tensor(xla.put(square)))
    np.testing.assert_array_equal(turned, square.T)
    np.testing.assert_array_equal(more, square + 1)


def test_a_gradient_has_the_same_bits() -> None:
    def loss(x: Any, y: Any) -> Any:
        return tn.sum(tn.tanh(x) * y * x)

    y = X[::-1].copy() / N
    keeping = tn.jit(tn.value_and_grad(loss, argnums=(0, 1)), executor=txla.XlaExecutor("cpu"))
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
    executor = txla.XlaExecutor("cpu")
    step = tn.jit(lambda x: x * 0.5 + 1, executor=executor)
    state, expected = tn.Tensor(X), X
    for _ in range(ROUNDS):
        state, expected = step(state), expected * 0.5 + 1
    np.testing.assert_array_equal(state, expected)
    assert "places" in causes(executor)


def test_threads() -> None:
    f = shifted(txla.XlaExecutor("cpu"))
    wrong: list[int] = []

    def work(number: int) -> None:
        for k in range(3 * ROUNDS):
            result = f(X, float(number * 100 + k))
            if result.numpy()[-1] != X[-1] + number * 100 + k:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_with_wrong_arguments_says_so_and_the_next_one_works() -> None:
    executor = txla.XlaExecutor("cpu")
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
    executor = txla.XlaExecutor("cpu")
    f = shifted(executor)
    f(X, 1.0)
    assert not len(executor._kept)
    f(X, 1.0)
    assert len(executor._kept) == 1
    executor.clear()
    assert not len(executor._kept)
    np.testing.assert_array_equal(f(X, 1.0), X + 1)


def test_small_results_limits_and_donations_keep_nothing() -> None:
    executor = txla.XlaExecutor("cpu")
    small = tn.jit(lambda x: x + 1, executor=executor)
    limited = tn.jit(lambda x: x + 1, executor=executor, memory_limit=1 << 30)
    donating = tn.jit(lambda x: x + 1, executor=executor, donate_argnums=0)
    for _ in range(ROUNDS):
        small(X[:1000]), limited(X), donating(tn.Tensor(executor.put(X)))
    assert not len(executor._kept)


def test_results_that_the_user_donates() -> None:
    executor = txla.XlaExecutor("cpu")
    f = shifted(executor)
    taking = tn.jit(lambda x: -x, executor=executor, donate_argnums=0)
    for k in range(ROUNDS):
        result = f(X, float(k))
        f(X, 1.0)
        np.testing.assert_array_equal(taking(result), -(X + k))
    assert "places" in causes(executor)


def test_a_call_that_fails_does_not_fail_the_next_one() -> None:
    def checked(x: Any) -> Any:
        if x[0] < 0:
            raise ArithmeticError("less than zero")
        return x

    executor = txla.XlaExecutor("cpu")
    f = tn.jit(
        lambda x: tn.pure_callback(checked, tn.ShapeDtypeStruct(X.shape, X.dtype), x) + 1,
        executor=executor,
    )
    for _ in range(ROUNDS):
        np.testing.assert_array_equal(f(X), X + 1)
        with pytest.raises(TenferroError, match="less than zero"):
            f(X - 1).numpy()


def test_no_more_is_kept_than_asked() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=X.nbytes)
    f = shifted(executor)
    for _ in range(ROUNDS):
        f(X, 1.0)
    assert len(executor._kept) == 1
    none = txla.XlaExecutor("cpu", kept_bytes=0)
    g = shifted(none)
    for _ in range(ROUNDS):
        g(X, 1.0)
    assert not len(none._kept)
    assert causes(none) == ["first"]
    with pytest.raises(ConfigError, match="kept_bytes"):
        txla.XlaExecutor("cpu", kept_bytes=-1)


def test_compiled_again_when_calls_have_lost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = txla.XlaExecutor("cpu")
    kernel = executor.compile_seconds
    monkeypatch.setattr(kept, "SECONDS_PER_BYTE", kernel / X.nbytes / 2.5)
    f = tn.jit(tn.negative, executor=executor)
    compiled = []
    for _ in range(ROUNDS):
        f(X).block_until_ready()
        compiled.append(executor.explain().compiled)
    assert compiled == [1, 1, 1, 1, 2, 2]  # the third call is the first with a place


def test_what_compiles_long_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = txla.XlaExecutor("cpu")
    monkeypatch.setattr(kept, "LONGEST", executor.compile_seconds / 2)
    f = tn.jit(tn.negative, executor=executor)
    for _ in range(ROUNDS):
        f(X).block_until_ready()
    assert causes(executor) == ["first"]


def test_kept_results_by_type() -> None:
    results = KeptResults()
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
    executor = txla.XlaExecutor("cpu")
    many = tn.jit(lambda x: tuple(x + k for k in range(1, 6)), executor=executor)
    one = tn.jit(lambda x: x[:, None] * 2, executor=executor)
    for _ in range(ROUNDS):
        many(X)[0].block_until_ready()
        one(X).block_until_ready()
    assert len(executor._kept) == 6
    assert executor._kept._bytes == 6 * X.nbytes


def test_a_tensor_on_another_executor_is_handed_out_too() -> None:
    f, other = shifted(txla.XlaExecutor("cpu")), txla.XlaExecutor("cpu")
    device = jax.devices("cpu")[0]
    arrays = []
    for k in range(ROUNDS):
        moved = f(X, float(k)).to_device(other)
        arrays.append(jax.device_put(moved.data, device))
        constant = tn.EagerRuntime(executor=other).constant(f(X, float(k)).to_device(other))
        arrays.append(jax.device_put(constant.data, device))
    for k, array in enumerate(arrays):
        np.testing.assert_array_equal(array, X + k // 2)


def test_the_error_of_a_call_does_not_reach_another_one() -> None:
    def checked(x: Any) -> Any:
        if x[0] < 0:
            raise ArithmeticError("less than zero")
        return x

    executor = txla.XlaExecutor("cpu")
    called = tn.jit(
        lambda x: tn.pure_callback(checked, tn.ShapeDtypeStruct(X.shape, X.dtype), x),
        executor=executor,
    )
    f = shifted(executor)
    for k in range(ROUNDS):
        with contextlib.suppress(TenferroError, RuntimeError):
            f(called(X - 1), 2.0)  # the result has an error, and nobody reads it
        np.testing.assert_array_equal(f(X, float(k)), X + k)
        f(X, 1.0).block_until_ready()
    assert "places" in causes(executor)


def test_a_second_executable_that_cannot_be_made_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor = txla.XlaExecutor("cpu")
    f = shifted(executor)
    f(X, 0.0)

    def refuse(*_: object) -> None:
        raise MemoryError("no")

    monkeypatch.setattr(cache, "compile_stablehlo", refuse)
    for k in range(ROUNDS):
        np.testing.assert_array_equal(f(X, float(k)), X + k)


def test_code_of_users_that_runs_within_a_call() -> None:
    executor = txla.XlaExecutor("cpu")
    kept = executor._kept
    f = shifted(executor)
    f(X, 0.0)
    f(X, 0.0)
    with kept._in_use:  # as a finalizer or a signal handler finds it
        np.testing.assert_array_equal(f(X, 1.0), X + 1)
        f(X, 1.0).data.block_until_ready()
    assert len(kept) == 1
    executor.clear()
    assert not len(kept)


OUTSTANDING = """
import sys
import numpy as np
import tenferro as tn
import tenferro_xla as txla

x = np.arange(float(1 << 21))
m = np.arange(1024.0 * 1024).reshape(1024, 1024) % 7
executor = txla.XlaExecutor("cpu")
spec = tn.ShapeDtypeStruct(x.shape, x.dtype)
called = tn.jit(lambda x: tn.pure_callback(lambda v: v + 0, spec, x) + 1, executor=executor)
slow = tn.jit(lambda m, v: (v - 1) + 0 * (m @ m @ m @ m @ m @ m)[0, 0], executor=executor)
plain = tn.jit(lambda x, by: x * by, executor=executor)
for _ in range(4):
    plain(called(slow(m, x)), 2.0).numpy()
    held = called(slow(m, x))
    plain(x, 3.0).numpy()
    held = plain(held, 2.0)
    held = None
    plain(x, 3.0).numpy()
print("fine")
"""


def test_results_are_read_while_a_callback_is_outstanding() -> None:
    command = [sys.executable, "-c", OUTSTANDING]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout == "fine\n", ran.stderr
