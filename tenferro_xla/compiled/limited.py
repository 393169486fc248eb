"""Compiling under a memory limit, which XLA's own figure decides."""

from __future__ import annotations

from collections.abc import Callable

import jax

from tenferro.compiler import MemoryLimit, OptimizerOptions, in_words
from tenferro.errors import MemoryLimitError

TOLERANCE = 1.2
"""How many times a memory limit an executable may need, as XLA tells."""


def within(
    limit: MemoryLimit,
    options: OptimizerOptions,
    compile_with: Callable[[OptimizerOptions], jax.stages.Compiled],
) -> jax.stages.Compiled:
    """The executable whose memory, as XLA tells, is at most a little above the limit.

    Where XLA needs more than was predicted, a lower limit is aimed at.

    Raises:
        MemoryLimitError: none was found.
    """
    goal, least = limit, None
    while True:
        try:
            compiled = compile_with(options.limited(goal))
        except MemoryLimitError:
            if least is None:
                raise
            raise refused_by_xla(limit, least) from None
        analysis = compiled.memory_analysis()
        if analysis is None:
            return compiled
        used = analysis.temp_size_in_bytes + analysis.output_size_in_bytes
        if used <= TOLERANCE * limit.bytes:
            return compiled
        least = used if least is None else min(least, used)
        goal = MemoryLimit(int(goal.bytes * min(0.9, limit.bytes / used)), limit.caller)


def refused_by_xla(limit: MemoryLimit, least: int) -> MemoryLimitError:
    """The error for a program that is predicted to fit, but for which XLA needs more."""
    return MemoryLimitError(
        f"{limit.caller}: XLA needs {in_words(least)} for results and intermediate values, more "
        f"than was predicted; the limit is {in_words(limit.bytes)}, and no program was found that "
        "needs less",
        least,
        limit.bytes,
    )
