"""What a plan is on several devices that share its slices."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler import (
    DeviceCosts,
    MemoryNeed,
    Runs,
    Target,
    contraction_passes,
    in_words,
    optimize_for,
    predict_memory,
)
from tenferro.compiler.device import SharedLanes
from tenferro.ir import ExecProgram
from tenferro.ops.control_flow import LaneSum, lane_bounds, lane_count

__all__ = ["SharedPlan"]

POOR = 0.75
"""A balance below this is worth another number of slices."""
MOST_SLICES = 1 << 14


@dataclass(frozen=True)
class SharedPlan:
    """A plan whose slices several devices share; print it.

    Attributes:
        devices: the number of devices.
        slices: the number of slices.
        lanes: the runs of slices that are added up one by one; they are dealt to the devices.
        memory: what each device needs, as predicted.
        reduction: the bytes that each device gets from all others, and its own.
    """

    devices: int
    slices: int
    lanes: int
    memory: MemoryNeed
    reduction: int

    @property
    def balance(self) -> float:
        """The work of all devices, by that of as many like the busiest one; 1 is best."""
        return balance(self.slices, self.devices)

    def __str__(self) -> str:
        needed = in_words(self.memory.arguments + self.memory.peak)
        devices = _counted(self.devices, "device")
        if self.slices == 1:
            text = f"not sliced: each of {devices} contracts all of it, {needed} a device"
        else:
            each = _counted(-(-self.lanes // self.devices), "lane")
            text = (
                f"{_counted(self.slices, 'slice')} in {_counted(self.lanes, 'lane')} on {devices}: "
                f"balance {self.balance:.2f}, {each} each, {needed} a device, "
                f"reduction {in_words(self.reduction)}"
            )
        fewer = lane_count(self.slices)
        if fewer < min(self.lanes, self.slices):
            up_to = _counted(fewer, "device")
            text += f"\nmore lanes than on up to {up_to}, so the last bits differ from those there"
        if self.balance < POOR:
            text += f"\n{self._advice()}"
        return text

    def _advice(self) -> str:
        """What would share the work better."""
        count = self.slices
        while count < MOST_SLICES and balance(count, self.devices) < POOR:
            count *= 2
        if balance(count, self.devices) < POOR:
            return f"no number of slices has a better balance on {self.devices} devices"
        return f"slices={count} would have balance {balance(count, self.devices):.2f}"


def shared_plan(
    program: ExecProgram, costs: DeviceCosts, runs: Runs, slices: int, devices: int
) -> SharedPlan:
    """The program of a plan with that many slices, on several devices that run programs so."""
    target = Target("plan", (SharedLanes(devices), *contraction_passes(costs)))
    shared = optimize_for(program, target)
    loops = [step.op for step in shared.steps_of(LaneSum)]
    return SharedPlan(
        devices,
        slices,
        lane_count(slices, devices),
        predict_memory(shared, runs),
        sum(loop.exchanged for loop in loops if isinstance(loop, LaneSum)),
    )


def balance(slices: int, devices: int) -> float:
    """The mean number of slices of a device, by the largest.

    >>> balance(64, 4), balance(64, 3), balance(1, 2)
    (1.0, 0.8888888888888888, 0.5)
    """
    lanes = lane_count(slices, devices)
    share = -(-lanes // devices)
    sizes = [stop - first for first, stop in (lane_bounds(j, lanes, slices) for j in range(lanes))]
    busiest = max(sum(sizes[start : start + share]) for start in range(0, lanes, share))
    return slices / (devices * busiest) if busiest else 1.0


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
