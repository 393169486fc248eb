"""Plans are made for the device that will run them, and limits of memory are that device's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import CPU, DeviceCosts, DeviceModel, MemoryLimit, Runs, tighter
from tenferro.errors import ConfigError, MemoryLimitError
from tenferro.network import PLANNER, EinsumPlan
from tenferro.runtime import (
    GraphExecutor,
    NumpyBackend,
    planned_free_bytes,
    planned_model,
    planning_for,
)

COSTS = DeviceCosts(multiply=1e-16, write=1e-6)
RUNS = Runs(as_written=True, fuses=True, block=4096)


class Device(GraphExecutor):
    """An executor on a device of its own costs, of which some bytes are free."""

    def __init__(self, free: int = 10**9) -> None:
        super().__init__(NumpyBackend())
        self.free = free

    @property
    def device_model(self) -> DeviceModel:
        return DeviceModel(COSTS, RUNS)

    def free_bytes(self) -> int:
        return self.free


SPECS = [tn.TensorSpec((8, 8))] * 3


def planned(**options: Any) -> list[EinsumPlan]:
    """The plan that is made while a function is traced."""
    made = []

    def f(*tensors: Any) -> Any:
        made.append(tn.einsum_plan("ij,jk,kl->il", *tensors, **options))
        return tensors[0]

    tn.jit(f, executor=Device())(*[np.ones((8, 8))] * 3)
    return made


def test_a_network_in_a_compiled_function_is_planned_for_its_executor() -> None:
    (plan,) = planned()
    assert (plan.costs, plan.runs) == (COSTS, RUNS)
    assert plan.memory.outputs == 4096
    here = tn.einsum_plan("ij,jk,kl->il", *SPECS)
    assert here.costs == CPU
    assert here.memory.outputs == 512


def test_a_gradient_of_arrays_on_a_device_is_planned_for_it() -> None:
    class Elsewhere(Device):
        def owns(self, value: object) -> bool:
            return False

    made = []

    def f(x: Any) -> Any:
        plan = tn.einsum_plan("ij,jk,kl->il", x, x, x)
        made.append(plan.costs)
        return tn.sum(x)

    x = np.ones((8, 8))
    tn.grad(f)(tn.Tensor.wrap(x, Elsewhere()))
    tn.grad(f)(x)
    assert made == [COSTS, CPU]


def test_a_network_of_late_sizes_is_planned_for_its_executor() -> None:
    def searches(executor: Any) -> int:
        before = PLANNER.stats().misses
        network = tn.jit(
            lambda a, b, c, d: tn.einsum("ab,bc,cd,de->ae", a, b, c, d),
            executor=executor,
            symbolic={"a": ("n", 7)},
        )
        network(*[np.ones(shape) for shape in ((3, 7), (7, 6), (6, 5), (5, 4))])
        return PLANNER.stats().misses - before

    PLANNER.clear()
    assert [searches("numpy"), searches("numpy"), searches(Device())] == [1, 0, 1]


def test_without_an_executor_plans_are_made_for_the_cpu_and_limits_are_the_host_s() -> None:
    assert planned_model() == DeviceModel()
    with planning_for(None):
        assert planned_model() == DeviceModel()
    with planning_for(Device(7)):
        assert planned_model().costs == COSTS
        assert planned_free_bytes() == 7
    with planning_for(object()):  # an executor that does not tell
        assert planned_model() == DeviceModel()
    assert planned_free_bytes() > 1 << 20


def test_a_limit_of_the_device_is_known_when_the_program_is_compiled() -> None:
    def loss(x: Any, w: Any) -> Any:
        for _ in range(6):
            x = tn.sin(x @ w)
        return tn.sum(x)

    x, w = np.ones((40, 30)), np.ones((30, 30))
    free = tn.jit(tn.grad(loss), executor=Device()).memory(x, w)
    limit = int(0.8 * free.peak)
    function = tn.jit(tn.grad(loss), executor=Device(limit), memory_limit="device")
    report = function.memory(x, w)
    assert report.peak <= limit < free.peak
    assert report.limit == MemoryLimit(limit)
    expected = tn.jit(tn.grad(loss), executor="numpy")(x, w)
    np.testing.assert_allclose(function(x, w), expected, rtol=1e-12)
    inside = tn.jit(tn.grad(loss, memory_limit="device"), executor=Device(limit))
    assert inside.memory(x, w).peak <= limit
    with pytest.raises(MemoryLimitError, match=r"jit: .* the limit is 99 bytes"):
        tn.jit(tn.grad(loss), executor=Device(99), memory_limit="device")(x, w)


def test_a_network_is_sliced_to_what_is_free_on_its_device() -> None:
    shapes = [(16, 16, 32)] * 3
    tensors = [np.ones(shape) for shape in shapes]

    def slices(free: int) -> int:
        counts = []

        def f(*operands: Any) -> Any:
            plan = tn.einsum_plan("abx,bcx,cax->", *operands, memory_limit="device")
            counts.append(plan.slice_count)
            return operands[0]

        tn.jit(f, executor=Device(free))(*tensors)
        return counts[0]

    assert slices(10**9) == 1
    assert slices(100_000) > 1
    eager = tn.einsum("abx,bcx,cax->", *tensors, memory_limit="device")
    assert eager.shape == ()
    assert tn.einsum_plan("ij,jk->ik", *SPECS[:2], memory_limit="1.5 GB").slice_count == 1


@pytest.mark.parametrize("limit", ["the device", "12 apples", True, [1]])
def test_what_is_no_limit_is_refused(limit: Any) -> None:
    with pytest.raises(ConfigError, match="einsum: memory_limit must be a number of bytes, a text"):
        tn.einsum("ij,jk->ik", np.eye(2), np.eye(2), memory_limit=limit)


def test_the_tighter_of_two_limits_is_also_that_of_the_device() -> None:
    device, number = MemoryLimit.read("jit", "device"), MemoryLimit(500)
    both = tighter([number, device])
    assert both is not None
    assert both.known(lambda: 900) == MemoryLimit(500)
    assert both.known(lambda: 300) == MemoryLimit(300)
    assert number.known(lambda: 1) is number
