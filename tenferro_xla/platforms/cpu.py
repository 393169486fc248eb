"""XLA on the CPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax

from tenferro.compiler import COMPILED, CPU, DeviceCosts, Pass
from tenferro.exec_ir import ExecProgram
from tenferro.ops import DotGeneral
from tenferro.values import free_host_bytes
from tenferro_xla.passes import KeptTransposes, LoopedTransposes, RealContractions
from tenferro_xla.platforms.platform import Option, Platform

NO_FUSION_EMITTERS = Option(
    "xla_cpu_use_fusion_emitters",
    False,
    "XLA compiles gradients of networks of small tensors in a quarter to a half of the time",
)
"""Loops, paddings, sums and transposes of many axes run up to four times as long with it, complex
programs are compiled longer; so only programs get it that have none of these, or little else."""

FEWEST_CONTRACTIONS, FEWEST_KERNELS = 16, 64
"""Below these, there is nothing to save."""
SMALL = 1 << 14
"""Numbers that an instruction writes, beside contractions and on average."""
MOST_AXES = 3
"""Axes of what is written beside contractions."""


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
        if costs is None:
            return passes
        return (*passes, RealContractions(costs), LoopedTransposes(), KeptTransposes())

    def options_for(self, program: ExecProgram) -> tuple[Option, ...]:
        """The older emitter of kernels for straight programs of many small contractions."""
        return self.wanted if _contracts_small_tensors(program) else ()

    def bytes_limit(self, device: jax.Device) -> int | None:
        """None: the host's memory, which `config.max_bytes` is about."""
        return None

    def free_bytes(self, device: jax.Device) -> int:
        """The bytes that the system says are free."""
        return free_host_bytes()


def _contracts_small_tensors(program: ExecProgram) -> bool:
    """Whether a program is contractions of real numbers, without loops, and little else."""
    steps = program.instructions
    kernels = [
        step
        for step in steps
        if not (step.op.view or step.op.source or isinstance(step.op, DotGeneral))
    ]
    if len(program.steps_of(DotGeneral)) < FEWEST_CONTRACTIONS or len(kernels) < FEWEST_KERNELS:
        return False
    if any(step.op.bodies or step.dtype.kind == "c" for step in steps):
        return False
    shapes = [meta.static_shape or () for step in kernels for meta in step.output_metas]
    return max(map(len, shapes)) <= MOST_AXES and sum(map(math.prod, shapes)) <= SMALL * len(steps)


CPU_PLATFORM = CpuPlatform(
    "cpu",
    costs=CPU,
    rewrites=True,
    runs=COMPILED,
    wanted=(NO_FUSION_EMITTERS,),
    in_flight=1,
    alignment=64,
    keeps_barriers=False,
    results_in_rows=True,
)
