"""XLA on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from tenferro.compiler import COMPILED, CPU, DeviceCosts, Pass
from tenferro.values import free_host_bytes
from tenferro_xla.passes import KeptTransposes, RealContractions
from tenferro_xla.platforms.platform import Platform


@dataclass(frozen=True)
class CpuPlatform(Platform):
    """The CPU.

    Its matrix product wants the longer side left and contracted axes last there. Its complex
    product is slow. It merges transposes into products that are slower for it, and it runs an
    instruction as soon as its operands are there.
    """

    def passes(self, costs: DeviceCosts | None) -> tuple[Pass, ...]:
        """Orders of axes, real contractions in place of complex ones, transposes that are kept."""
        passes = super().passes(costs)
        return passes if costs is None else (*passes, RealContractions(costs), KeptTransposes())

    def bytes_limit(self, device: jax.Device) -> int | None:
        """None: the host's memory, which `config.max_bytes` is about."""
        return None

    def free_bytes(self, device: jax.Device) -> int:
        """The bytes that the system says are free."""
        return free_host_bytes()


CPU_PLATFORM = CpuPlatform(
    "cpu",
    costs=CPU,
    rewrites=True,
    runs=COMPILED,
    in_flight=1,
    alignment=64,
    keeps_barriers=False,
    results_in_rows=True,
)
