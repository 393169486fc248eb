"""What a platform says of itself: costs, passes, memory, options; and the neutral platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from tenferro.ir import ExecProgram
from tenferro_xla.devices import device_name

__all__ = ["CUDA_PLATFORM", "Option", "Platform"]


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


@dataclass(frozen=True)
class Platform:
    """A platform of XLA. As it stands, one of which nothing is known.

    Attributes:
        name: as JAX lowers for it: `cpu`, `cuda`.
        costs: by which networks are planned.
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
        precision: what the words of `XlaExecutor(precision=)` mean for products of 32-bit numbers.
    """

    name: str
    costs: DeviceCosts = NEUTRAL
    rewrites: bool = False
    runs: Runs = COMPILED_AS_WRITTEN
    wanted: tuple[Option, ...] = ()
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
    precision: Mapping[str, str] = field(default_factory=dict, hash=False)

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
        return (*passes, ScanUnrolling(costs)) if costs is not None and costs.step else passes

    def options_for(self, program: ExecProgram) -> tuple[Option, ...]:
        """The wanted options that are good for this program, which is ready to be lowered."""
        return self.wanted

    def bytes_limit(self, device: jax.Device) -> int | None:
        """The bytes that XLA may use of the device's memory; None if the device does not tell."""
        limit = _stats(device).get("bytes_limit")
        return None if limit is None else int(limit)

    def free_bytes(self, device: jax.Device, devices: int = 1) -> int:
        """The bytes that a program on so many devices may take on this one now.

        Raises:
            ConfigError: the device does not tell.
        """
        stats = _stats(device)
        if "bytes_limit" not in stats:
            raise ConfigError(
                f"memory_limit: {device_name(device)} does not tell how much memory it "
                "has; pass a number of bytes in place of 'device'"
            )
        return max(int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0)), 1)


def _stats(device: jax.Device) -> Mapping[str, Any]:
    return device.memory_stats() or {}


# XLA on GPUs by CUDA.

HOPPER = DeviceCosts(
    multiply=3.5e-14,
    complex_multiply=1.4e-13,
    edge=128.0,
    matrix=2e-9,
    complex_matrix=4e-9,
    reduce=2.5e-12,
    contracted_first=0.0,
    pack=0.0,
    short_left=0.0,
    move=6e-12,
    load=2.5e-12,
    write=2.5e-12,
    kernel=4e-6,
    step=8e-6,
)
"""Products and steps of loops as measured on an H100, products of 64 bits and of 32 without
TF32; its copies, at 2.9·10¹² bytes a second, confirm `move`. The other constants follow from data
sheets; `tests/benchmarks/contraction_costs.py` fits them on a device.

cuBLAS takes operands in either order and complex ones as they are, so that no side is better on the
left, and contracted axes may come first."""

CUDA_PLATFORM = Platform(
    "cuda",
    costs=HOPPER,
    rewrites=True,
    # Blocks of XLA's allocator; the largest workspace that cuBLAS is given, on Hopper.
    runs=Runs(as_written=True, fuses=True, reads_transposed=True, block=256, workspace=32 << 20),
    drops_nan=False,
    precision={
        "highest": "32 bits, without TF32; the default",
        "default": "TF32: products of 32-bit numbers have 3 digits",
    },
    own_memory=True,
)
"""Complex products stay complex, transposes in front of products are left to cuBLAS."""
