"""XLA on GPUs by CUDA: costs by card, free memory, and what is left to cuBLAS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import jax

from tenferro.compiler import DeviceCosts, Runs
from tenferro.runtime import free_gpu_bytes
from tenferro_xla.platforms.platform import Platform, memory_stats

__all__ = ["CUDA_PLATFORM"]


# What products and moves cost.

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


MEASURED_ON = (67.0, 3.35)
"""That card's data sheet: 10¹² operations in 64 bits and 10¹² bytes, a second."""

SHEETS: Mapping[str, tuple[float, float]] = {
    "V100": (7.8, 0.9),
    "A100": (19.5, 1.94),
    "H100": MEASURED_ON,
    "H200": (67.0, 4.8),
    "B200": (37.0, 8.0),
}
"""The same of further cards, by a word in the names of their devices. All take about half as long
in 32 bits, as the costs say; of cards that do not, the costs are those that were measured."""


def costs_by_sheet(kind: str) -> DeviceCosts:
    """The costs of a kind of device: those measured, in proportion to the data sheets.

    >>> costs_by_sheet("NVIDIA H100 80GB HBM3") == HOPPER
    True
    >>> costs_by_sheet("NVIDIA A100-SXM4-80GB").multiply > 3 * HOPPER.multiply
    True
    """
    words = kind.replace("-", " ").split()
    sheet = next((SHEETS[word] for word in words if word in SHEETS), MEASURED_ON)
    slower, narrower = (one / other for one, other in zip(MEASURED_ON, sheet, strict=True))
    return replace(
        HOPPER,
        multiply=HOPPER.multiply * slower,
        complex_multiply=HOPPER.complex_multiply * slower,
        reduce=HOPPER.reduce * narrower,
        move=HOPPER.move * narrower,
        load=HOPPER.load * narrower,
        write=HOPPER.write * narrower,
    )


class CudaPlatform(Platform):
    """CUDA: cards have costs of their own, and may be shared with other processes."""

    def costs_of(self, device: jax.Device) -> DeviceCosts:
        return costs_by_sheet(device.device_kind)

    def free_bytes(self, device: jax.Device, devices: int = 1) -> int:
        """As of every platform, but no more than XLA has in its pool or the driver would give it.

        Without `XLA_PYTHON_CLIENT_PREALLOCATE` the limit of XLA's allocator is a part of the
        memory of the card, whatever other processes have of it.
        """
        allowed = super().free_bytes(device, devices)
        stats = memory_stats(device)
        outside = free_gpu_bytes(device.local_hardware_id) if "pool_bytes" in stats else None
        if outside is None:
            return allowed
        pooled = int(stats["pool_bytes"]) - int(stats.get("bytes_in_use", 0))
        return max(min(allowed, max(pooled, 0) + outside), 1)


CUDA_PLATFORM = CudaPlatform(
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
    awaits_loops=True,
)
"""Complex products stay complex, transposes in front of products are left to cuBLAS."""
