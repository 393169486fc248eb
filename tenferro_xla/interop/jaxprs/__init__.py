"""Reading jaxprs: the ops that compute them, for each primitive of JAX that has a counterpart.

The names and parameters of primitives are JAX's own and may change with its version. An equation
that is not understood is refused; the error names its primitive and its line.

Read in this order: `reader` (the walk over the equations), then one file for each family of
primitives, with its table from names to translations: `elementwise`, `rearrange`, `reductions`,
`indexing`, `sorting`, `matrices`, `control` (calls, loops and branches), `custom` (calls with
derivative rules).
"""

from tenferro_xla.interop.jaxprs import (
    control,
    custom,
    elementwise,
    indexing,
    matrices,
    rearrange,
    reductions,
    sorting,
)
from tenferro_xla.interop.jaxprs.reader import Reader, Translation

TABLE: dict[str, Translation] = {
    **elementwise.TABLE,
    **rearrange.TABLE,
    **reductions.TABLE,
    **indexing.TABLE,
    **sorting.TABLE,
    **matrices.TABLE,
    **control.TABLE,
    **custom.TABLE,
}
"""The translation of each primitive, by its name."""

__all__ = ["TABLE", "Reader", "Translation"]
