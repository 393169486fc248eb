"""Reading jaxprs: the ops that compute them, for each primitive of JAX that has a counterpart.

The names and parameters of primitives are JAX's own and may change with its version. An equation
that is not understood is refused; the error names its primitive and its line.

Read in this order: `reader` (the walk over the equations), then one file for each topic, with its
table from names to translations: `elementwise`, `shapes`, `reductions`, `linalg`, `random_keys`,
`control_flow` (calls, loops, branches, and calls with derivative rules).
"""

from tenferro_xla.interop.jaxprs import (
    control_flow,
    elementwise,
    linalg,
    random_keys,
    reductions,
    shapes,
)
from tenferro_xla.interop.jaxprs.reader import *
from tenferro_xla.interop.jaxprs.reader import Translation

__all__ = ["TABLE", "Reader", "Translation", "is_key", "meta_of"]

_MOVING = {**shapes.TABLE, **shapes.INDEXING}

TABLE: dict[str, Translation] = {
    **elementwise.TABLE,
    **reductions.TABLE,
    **{name: random_keys.for_each_word(translation) for name, translation in _MOVING.items()},
    "select_n": random_keys.for_each_word(elementwise.TABLE["select_n"]),
    **reductions.SORTING,
    **linalg.TABLE,
    **random_keys.TABLE,
    **control_flow.TABLE,
    **control_flow.CUSTOM_RULES,
}
"""The translation of each primitive, by its name."""
