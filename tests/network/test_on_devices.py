"""A plan on several devices: who contracts what, and what each needs."""

from typing import Any

import pytest

import tenferro as tn
from tenferro.errors import PathError
from tenferro.network.plan import balance
from tenferro.ops.control_flow import lane_count

SPECS = [tn.TensorSpec(shape) for shape in ((16, 64), (64, 64), (64, 16))]


def plan(slices: Any) -> Any:
    return tn.einsum_plan("ij,jk,ki->", *SPECS, slices=slices)


def test_it_prints_lanes_balance_memory_and_reduction() -> None:
    assert str(plan("j").on(4)) == (
        "64 slices in 16 lanes on 4 devices: balance 1.00, 4 lanes each, 50.0 kB a device, "
        "reduction 32 bytes"
    )
    assert str(plan("j").on(32)).splitlines()[1] == (
        "more lanes than on up to 16 devices, so the last bits differ from those there"
    )
    assert "last bits" not in str(plan("i").on(32))  # a lane for each of 16 slices has the same
    assert str(plan("j").on(12)).splitlines()[1] == "slices=256 would have balance 0.89"
    assert str(plan(False).on(2)).startswith("not sliced: each of 2 devices contracts all of it")


def test_each_device_has_outputs_in_copies() -> None:
    open_ = tn.einsum_plan("ij,jk,kl->il", *SPECS, slices="j")
    one, four = (open_.on(devices) for devices in (1, 4))
    assert one.memory.peak == open_.peak_bytes
    assert (one.reduction, four.reduction) == (0, 4 * 16 * 16 * 8)


def test_rounds_of_many_slices_are_shared_evenly() -> None:
    for slices in (64, 100, 512, 1000, 4099):
        for devices in (1, 2, 4, 8):
            assert lane_count(slices) >= devices
            assert balance(slices, devices) >= 1 / 1.125


@pytest.mark.parametrize("devices", [0, -1, 1.5, "4", True])
def test_a_number_of_devices_is_at_least_one(devices: Any) -> None:
    with pytest.raises(PathError, match="on takes a number of devices, got"):
        plan("j").on(devices)
