"""What a platform says of itself: costs, passes, memory, options; and the neutral platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax

from tenferro.compiler import (
    COMPILED_AS_WRITTEN,
    NEUTRAL,
    DeviceCosts,
    DeviceModel,
    PartitionedAxes,
    Pass,
    Runs,
    contraction_passes,
)
from tenferro.compiler.device import ScanUnrolling
from tenferro.errors import ConfigError
from tenferro.ir import BFLOAT16, FLOAT16, ExecProgram
from tenferro_xla.devices import device_name

__all__ = ["ROUNDED_HALVES", "Option", "Platform", "memory_stats"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of XLA's compiler that programs are better off with.

    Attributes:
        name: its name.
        value: the value that is wanted.
        why: what it does, for readers of reports.
    """

    name: str
    value: bool | int | str
    why: str


ROUNDED_HALVES = Option(
    "xla_allow_excess_precision",
    False,
    "each operation on numbers of 16 bits rounds its result, so that equal values stay equal",
)
"""Programs get it that have numbers of 16 bits. Where a value is rounded for one reader and not for
another, it may differ from an extremum that it is, and the derivative would be 0."""


def _holds_halves(program: ExecProgram) -> bool:
    return any(
        meta.dtype in (BFLOAT16, FLOAT16)
        for part in program.walk()
        for meta in (*part.input_metas, *[meta for _, meta in part.results()])
    )


@dataclass(frozen=True)
class Platform:
    """A platform of XLA. As it stands, one of which nothing is known.

    Attributes:
        name: as JAX lowers for it: `cpu`, `cuda`.
        costs: by which networks are planned; those of a device, see `costs_of`.
        rewrites: whether contractions are rewritten by these costs where the user gives none.
        runs: by which memory is predicted.
        wanted: the compiler options that some programs are compiled with, if XLA knows them.
        in_flight: how many calls of executables that span devices may be outstanding.
        alignment: of host arrays that XLA reads without a copy.
        own_memory: whether devices have memory of their own, into which host arrays are copied.
        keeps_barriers: whether the compiler heeds optimization barriers until equal values have
            become one. Where it does not, what is computed again stands in a branch.
        drops_nan: whether the extremum of many numbers may lose a NaN that is among them.
        missums: whether sums of what several paddings make, or of repeated values, may be wrong.
        reduces_singly: whether the compiler reduces one number after the other, where it takes no
            library.
        ordered_scatters: whether a scatter on one device writes window after window, so that of
            several updates of one element the last one stays.
        maps_results: whether each call takes the memory of large results from the system.
        results_in_rows: whether the compiler is told that transposed results are stored by rows.
        small_loops: whether loops of small values are marked, to be compiled as one function.
        awaits_loops: whether a device waits for the host before each iteration of a loop whose
            number of iterations is not constant.
        precision: what the words of `XlaExecutor(precision=)` mean for products of 32-bit numbers.
    """

    name: str
    costs: DeviceCosts = NEUTRAL
    rewrites: bool = False
    runs: Runs = COMPILED_AS_WRITTEN
    wanted: tuple[Option, ...] = (ROUNDED_HALVES,)
    in_flight: int = 16
    alignment: int = 1
    own_memory: bool = False
    keeps_barriers: bool = True
    drops_nan: bool = True
    missums: bool = False
    reduces_singly: bool = False
    ordered_scatters: bool = False
    maps_results: bool = False
    results_in_rows: bool = False
    small_loops: bool = False
    awaits_loops: bool = False
    precision: Mapping[str, str] = field(default_factory=dict, hash=False)

    def costs_of(self, device: jax.Device) -> DeviceCosts:
        """The costs of one of its devices."""
        return self.costs

    @property
    def kernel_seconds(self) -> float:
        """About how long compiling takes for each kernel."""
        return self.costs.compiling

    @property
    def model(self) -> DeviceModel:
        """What plans are made by."""
        return DeviceModel(self.costs, self.runs)

    def passes(
        self, costs: DeviceCosts | None, pinned: PartitionedAxes | None = None
    ) -> tuple[Pass, ...]:
        """The passes that bring contractions and loops into the form that the platform is fast at.

        Without costs contractions only become matrix products. `pinned` are the axes that are
        divided among devices.
        """
        passes = contraction_passes(costs, pinned=pinned)
        if costs is None:
            return passes
        step = self.costs.step if costs.step is None else costs.step
        return (*passes, ScanUnrolling(replace(costs, step=step))) if step else passes

    def options_for(self, program: ExecProgram) -> tuple[Option, ...]:
        """The wanted options that are good for this program, which is ready to be lowered."""
        return tuple(
            option for option in self.wanted if option != ROUNDED_HALVES or _holds_halves(program)
        )

    def bytes_limit(self, device: jax.Device) -> int | None:
        """The bytes that XLA may use of the device's memory; None if the device does not tell."""
        limit = memory_stats(device).get("bytes_limit")
        return None if limit is None else int(limit)

    def free_bytes(self, device: jax.Device, devices: int = 1) -> int:
        """The bytes that a program on so many devices may take on this one now.

        Raises:
            ConfigError: the device does not tell.
        """
        stats = memory_stats(device)
        if "bytes_limit" not in stats:
            raise ConfigError(
                f"memory_limit: {device_name(device)} does not tell how much memory it "
                "has; pass a number of bytes in place of 'device'"
            )
        return max(int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0)), 1)


def memory_stats(device: jax.Device) -> Mapping[str, Any]:
    """What XLA's allocator tells of a device; nothing if it has none."""
    return device.memory_stats() or {}
