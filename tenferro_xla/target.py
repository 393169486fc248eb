"""The device that an executor compiles for, and the passes that programs go through for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenferro.compiler import (
    DeviceCosts,
    Pass,
    Pinned,
    SharedLanes,
    Target,
    contraction_passes,
)
from tenferro_xla.lowering import LoweringOptions
from tenferro_xla.passes import KeptTransposes, RealContractions
from tenferro_xla.placement import Placement


@dataclass(frozen=True, slots=True)
class XlaTarget:
    """The device and the options of an executor; the same for all of its programs.

    Attributes:
        placement: where the programs run.
        lowering: options of the lowering.
        compiler_options: options of the XLA compiler.
        max_bytes: the largest value in bytes that a program may hold.
        checked: whether each call checks that its buffers are on the device.
        costs: the costs by which contractions are brought into the form that the device is fast
            at; None does not change them.
        in_flight: on a mesh, how many calls with collectives may be outstanding in this process.
    """

    placement: Placement
    lowering: LoweringOptions
    compiler_options: Mapping[str, Any]
    max_bytes: int
    checked: bool
    costs: DeviceCosts | None = None
    in_flight: int = 1

    @property
    def optimized_for(self) -> Target:
        """The target that the compiler optimizes for."""
        return self.optimized_with(None)

    def optimized_with(self, pinned: Pinned | None) -> Target:
        """The same for a program of which some axes are divided among devices."""
        platform = self.placement.first.platform
        passes = passes_for(platform, self.costs, pinned)
        shared = self.lowering.shared_slices
        if shared is not None:
            passes = (SharedLanes(shared.workers, shared.ordered), *passes)
        return Target(f"xla:{platform}", passes, self.lowering.extensions)


def passes_for(
    platform: str, costs: DeviceCosts | None, pinned: Pinned | None = None
) -> tuple[Pass, ...]:
    """The passes for a platform of XLA.

    Costs are known only for the CPU. For other platforms contractions only become matrix products.
    """
    if costs is None:
        return contraction_passes(None, pinned=pinned)
    passes = contraction_passes(costs, pinned=pinned)
    if platform == "cpu":
        return (*passes, RealContractions(costs), KeptTransposes())
    return passes
