"""EagerRuntime: what it records, where it computes, what it keeps."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.core import Capacity
from tenferro.errors import ADError, DeviceError, ExecutorError
from tenferro.ir import ExecOp
from tenferro.ops import ADD
from tenferro.ops.functions import emit
from tenferro.transforms import EagerTensor

X = np.array([[0.5, -1.0, 2.0], [0.25, 1.5, -0.75]])


@pytest.fixture
def rt() -> tn.EagerRuntime:
    return tn.EagerRuntime()


def loss(x: Any, c: Any) -> Any:
    return tn.sum(tn.tanh(x @ c) ** 2) + tn.mean(x * 0.5)


# --- what is recorded -----------------------------------------------------------------------------


def test_what_depends_on_no_variable_is_freed_at_once(rt: tn.EagerRuntime) -> None:
    c, x = rt.constant(X), rt.variable(X)
    kept: list[weakref.ref[Any]] = []
    y = c
    for _ in range(3):
        y = y * c
        kept.append(weakref.ref(y.data))
    with rt.no_grad():
        z = x
        for _ in range(3):
            z = z * x
            kept.append(weakref.ref(z.data))
    assert not y.tracked
    assert not z.tracked
    del y, z
    assert [ref() for ref in kept] == [None] * 6


def test_what_is_recorded_goes_with_the_result(rt: tn.EagerRuntime) -> None:
    gc.disable()
    try:
        x = rt.variable(X)
        y = tn.exp(x)
        z = tn.sum(y * y)
        buffer = weakref.ref(y.data)
        z.backward()
        del y
        assert buffer() is not None
        z.backward()
        del z
        assert buffer() is None
    finally:
        gc.enable()


def test_only_what_derivatives_read_is_kept(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    y = x + 1
    buffer = weakref.ref(y.data)
    z = tn.sum(-y)
    del y
    assert buffer() is None
    assert rt.grad(z, [x])[0].tolist() == [[-1.0] * 3] * 2


def test_a_variable_goes_when_nothing_holds_it(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    tn.sum(x).backward()
    gone = weakref.ref(x.grad.data)
    del x
    gc.collect()
    assert gone() is None
    rt.clear_grads()


def test_no_grad_nests_and_ends_with_an_exception(rt: tn.EagerRuntime) -> None:
    x = rt.variable(2.0)
    with rt.no_grad():
        with rt.no_grad():
            assert not (x * x).tracked
        assert not (x * x).tracked
        assert not (+x.reshape(())).tracked
    assert (x * x).tracked
    with pytest.raises(ZeroDivisionError), rt.no_grad():
        raise ZeroDivisionError
    assert (x * x).tracked


def test_no_grad_is_of_one_runtime(rt: tn.EagerRuntime) -> None:
    other = tn.EagerRuntime()
    x, y = rt.variable(2.0), other.variable(2.0)
    with rt.no_grad():
        assert not (x * x).tracked
        assert (y * y).tracked


def test_values_computed_within_no_grad_are_constants(rt: tn.EagerRuntime) -> None:
    x = rt.variable(3.0)
    with rt.no_grad():
        y = x * x
        (dx,) = rt.grad(tn.EagerRuntime.constant(rt, 1.0), [x])
    assert rt.grad(x * y, [x])[0].item() == 9.0
    assert dx.item() == 0.0
    with pytest.raises(ADError, match="or was computed within no_grad"):
        y.backward()


def test_derivatives_within_no_grad_are_not_recorded(rt: tn.EagerRuntime) -> None:
    x = rt.variable(3.0)
    y = x * x * x
    with rt.no_grad():
        (dx,) = rt.grad(y, [x])
    assert dx.item() == 27.0
    assert not dx.tracked


def test_no_grad_holds_in_its_own_thread_and_task(rt: tn.EagerRuntime) -> None:
    x = rt.variable(2.0)
    tracked: list[bool] = []
    with rt.no_grad():
        thread = threading.Thread(target=lambda: tracked.append((x * x).tracked))
        thread.start()
        thread.join()
    assert tracked == [True]

    async def paused(entered: asyncio.Event, leave: asyncio.Event) -> bool:
        with rt.no_grad():
            entered.set()
            await leave.wait()
            return (x * x).tracked

    async def both() -> tuple[bool, bool]:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(paused(entered, leave))
        await entered.wait()
        here = (x * x).tracked
        leave.set()
        return here, await task

    assert asyncio.run(both()) == (True, False)


def test_threads_share_a_runtime(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        for _ in range(25):
            loss(x, X.T).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = 100 * tn.grad(lambda x: loss(x, X.T))(X).numpy()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)


@pytest.mark.exhaustive
def test_chains_of_a_hundred_thousand_ops_are_recorded_walked_and_freed(
    rt: tn.EagerRuntime,
) -> None:
    x = rt.variable(1.0)
    y = x
    for _ in range(50_000):
        y = (y + 1.0) * 0.5
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 0.0 == 0.5**50_000
    del y  # frees one record after the other


# --- where it computes ----------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_both_executors_give_the_same(executor: str) -> None:
    rt = tn.EagerRuntime(executor)
    x, c = rt.variable(X), rt.constant(X.T)
    y = loss(x, c)
    assert y.placement == ("host" if executor == "numpy" else str(y.data.device))
    y.backward()
    assert x.grad is not None
    np.testing.assert_allclose(
        x.grad.numpy(), tn.grad(lambda x: loss(x, X.T))(X).numpy(), rtol=1e-13
    )
    (dx,) = rt.grad(y, [x])
    (hv,) = rt.jvp([dx], [x], [X])
    expected = tn.hvp(lambda x: loss(x, X.T), (X,), (X,)).numpy()
    np.testing.assert_allclose(hv.numpy(), expected, rtol=1e-12)


def test_an_executor_of_ones_own_can_compute() -> None:
    class Counting(tn.NumpyBackend):
        ran = 0

        def execute(self, op: ExecOp, inputs: Any) -> Any:
            self.ran += 1
            return super().execute(op, inputs)

    backend = Counting()
    rt = tn.EagerRuntime(tn.GraphExecutor(backend))
    x = rt.variable(X)
    tn.sum(x * x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == (2 * X).tolist()
    assert backend.ran >= 2
    with pytest.raises(ExecutorError, match="executor must be an executor or its name, got 3"):
        tn.EagerRuntime(3)  # type: ignore[arg-type]


def test_tensors_mix_where_they_are(rt: tn.EagerRuntime) -> None:
    xla = tn.EagerRuntime("xla")
    on_device = tn.Tensor(X).to_device("xla")
    assert (xla.variable(X) * on_device).tracked
    assert (xla.constant(on_device) * jnp.float32(2)).placement != "host"
    for on_host in (X, tn.Tensor(X), tn.sin(X)):
        for product in (xla.variable(X) * on_host, on_host * xla.variable(X)):
            assert product.placement == on_device.placement
    assert tn.einsum("ij,kj->ik", X, xla.variable(X)).tracked
    with pytest.raises(
        DeviceError, match=r"eager: f64\[2,3\] is on .*; move .* to_device\('host'\)"
    ):
        rt.variable(X) * on_device


# --- what it keeps --------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_a_step_seen_before_makes_nothing_anew(executor: str) -> None:
    rt = tn.EagerRuntime(executor)
    x, c = rt.variable(X), rt.constant(X.T)

    def step() -> None:
        y = loss(x, c)
        y.backward()
        (dx,) = rt.grad(y, [x])
        rt.jvp([tn.sum(dx)], [x], [X])
        x.clear_grad()

    step()
    before = rt.stats()
    step()
    after = rt.stats()
    assert (after.misses, after.entries) == (before.misses, before.entries)
    assert after.hits > before.hits


def test_an_einsum_and_an_extension_op_are_planned_once(rt: tn.EagerRuntime) -> None:
    x = rt.variable(np.ones((3, 3)))

    def step() -> None:
        tn.sum(tn.einsum("ij,jk->ik", x, x)).backward()
        tn.sum(tn.einsum("ij,jk,kl->il", x, x, x, slices="j")).backward()
        x.clear_grad()

    step()
    before = rt.stats()
    step()
    after = rt.stats()
    assert (after.misses, after.entries) == (before.misses, before.entries)
    assert after.hits >= before.hits + 4


def test_one_plan_serves_a_dtype_however_it_is_named(rt: tn.EagerRuntime) -> None:
    x = rt.constant(X)
    assert tn.sum(x, dtype=np.float32).dtype == np.float32
    before = rt.stats()
    assert tn.sum(x, dtype=np.dtype("float32")).dtype == np.float32
    assert tn.sum(x, dtype=np.dtype(">f4")).dtype == np.float32
    assert (rt.stats().entries, rt.stats().misses) == (before.entries, before.misses)


def test_functions_made_anew_leave_nothing_behind(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)

    def step() -> EagerTensor:
        twice: EagerTensor = rt.apply(lambda v: emit(ADD, v, v), (x,), {})
        return twice

    assert step().tracked
    before = rt.stats()
    assert step().tolist() == (2 * X).tolist()
    assert (rt.stats().entries, rt.stats().misses) == (before.entries, before.misses)
    with rt.no_grad():
        assert not rt.apply(lambda v: v, (x,), {}).tracked


def test_derivatives_of_a_tracked_tensor_leave_no_plan_for_each_call() -> None:
    rt = tn.EagerRuntime()
    x = rt.variable(np.ones(3))
    slope = tn.grad(lambda x: tn.sum(tn.sin(x) * x))
    first = slope(x)
    entries = rt.stats().entries
    np.testing.assert_array_equal(slope(x).numpy(), first.numpy())
    assert rt.stats().entries == entries


def test_the_cache_is_bounded_and_can_be_cleared() -> None:
    rt = tn.EagerRuntime(capacity=4)
    x = rt.variable(X)
    for number in range(10):
        tn.sum(x * float(number)).backward()
    assert rt.stats().entries == 4
    assert rt.stats().evictions > 0
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.full((2, 3), 45.0))
    rt.capacity = Capacity(2)
    assert rt.stats().entries == rt.capacity.entries == 2
    rt.clear()
    assert rt.stats().entries == 0
    assert (x * x).tracked
