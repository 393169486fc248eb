"""What an executor compiles for: a device, and what programs become for it before XLA sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

from tenferro.compiler import DeviceCosts, Pass, Target, contraction_passes
from tenferro_xla.lowering import LoweringOptions
from tenferro_xla.passes import KeptTransposes, RealContractions


@dataclass(frozen=True, slots=True)
class XlaTarget:
    """What an executor compiles for; the same for all of its programs.

    Attributes:
        device: where the programs run.
        lowering: options of the lowering.
        compiler_options: options of the XLA compiler.
        max_bytes: the largest value in bytes that a program may hold.
        checked: whether buffers may be elsewhere, so that each call must look.
        costs: by which contractions are brought into the form that the device is fast at; None
            leaves them as they are.
    """

    device: jax.Device
    lowering: LoweringOptions
    compiler_options: Mapping[str, Any]
    max_bytes: int
    checked: bool
    costs: DeviceCosts | None = None

    @property
    def optimized_for(self) -> Target:
        """What the compiler is to know of it."""
        passes = passes_for(self.device.platform, self.costs)
        return Target(f"xla:{self.device.platform}", passes, self.lowering.extensions)


def passes_for(platform: str, costs: DeviceCosts | None) -> tuple[Pass, ...]:
    """The passes for a platform of XLA.

    Costs are known of the CPU. For another platform contractions are brought into the form of
    matrix products and else left as they are.
    """
    if costs is None:
        return contraction_passes(None)
    passes = contraction_passes(costs)
    if platform == "cpu":
        return (*passes, RealContractions(costs), KeptTransposes())
    return passes
