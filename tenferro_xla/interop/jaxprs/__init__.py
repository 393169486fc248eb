"""Reading jaxprs: the ops that compute them, for each primitive of JAX that has a counterpart.

The names and parameters of primitives are JAX's own and may change with its version. An equation
that is not understood is refused; the error names its primitive and its line.

Read in this order: `reader` (the walk over the equations), then one file for each topic, with its
table from names to translations: `elementwise`, `shapes`, `reductions`, `windows`, `linalg`,
`random_keys`, `control_flow` (calls, loops and branches), `callbacks`, `rules` (functions with
derivative rules, and primitives of libraries). `refused` says why the others are not read.
"""

from collections.abc import Sequence
from typing import Any

from tenferro.core import GlobalValKey
from tenferro.runtime import TraceContext
from tenferro.transforms import TracedTensor, trace
from tenferro_xla.interop.jaxprs import (
    callbacks,
    control_flow,
    elementwise,
    linalg,
    random_keys,
    reductions,
    rules,
    shapes,
    windows,
)
from tenferro_xla.interop.jaxprs.reader import Reader, Translation
from tenferro_xla.interop.jaxprs.refused import *

__all__ = ["REFUSED", "REFUSED_MODULES", "TABLE", "outputs_of"]

_MOVING = {**shapes.TABLE, **shapes.INDEXING}

TABLE: dict[str, Translation] = {
    **elementwise.TABLE,
    **reductions.TABLE,
    **{name: random_keys.for_each_word(translation) for name, translation in _MOVING.items()},
    "select_n": random_keys.for_each_word(elementwise.TABLE["select_n"]),
    **reductions.SORTING,
    **windows.TABLE,
    **linalg.TABLE,
    **random_keys.TABLE,
    **control_flow.TABLE,
    **callbacks.TABLE,
    **rules.CUSTOM_RULES,
}
"""The translation of each primitive, by its name."""


def outputs_of(jaxpr: Any, inputs: Sequence[GlobalValKey], x64: bool) -> list[GlobalValKey]:
    """The outputs of a jaxpr, which need its effects; functions in it are traced as `x64` says."""
    context = TraceContext()

    def function() -> list[TracedTensor]:
        return [
            TracedTensor(key) for key in Reader(TABLE, x64, rules.of_library).read(jaxpr, inputs)
        ]

    def read(results: list[TracedTensor]) -> list[GlobalValKey]:
        alone = [] if context.had_effects else context.effects
        return [*(result.key for result in results), *alone]

    return trace(context, function, (), {}, read)
