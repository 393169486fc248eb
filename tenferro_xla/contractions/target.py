"""What is done to a program for XLA on the CPU."""

from __future__ import annotations

from tenferro.exec_ir import ExecProgram, with_last_use
from tenferro_xla.contractions.as_real import RealContractions
from tenferro_xla.contractions.cost import CPU, Costs
from tenferro_xla.contractions.kept import KeptTransposes


def for_cpu(program: ExecProgram, costs: Costs = CPU) -> ExecProgram:
    """The program, of constant extents, with contractions that XLA on the CPU is good at."""
    result = KeptTransposes().run(RealContractions(costs).run(program))
    return program if result is program else with_last_use(result)
