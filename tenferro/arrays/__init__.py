"""Array functions, each defined once over `Emitter`: for graph values and for run-time values."""

from tenferro.arrays import (
    activations,
    analytic,
    creation,
    dynamic,
    elementwise,
    filling,
    indexing,
    joining,
    logical,
    products,
    rearrange,
    reductions,
    rounding,
    scans,
    sorting,
    updates,
)
from tenferro.arrays.broadcasting import broadcast_extents, repeated
from tenferro.arrays.notation import Expression, apply, expressions, values_of
from tenferro.arrays.operands import (
    Operand,
    convert,
    integers,
    is_number,
    named,
    normal_axis,
    promote,
    result_dtype,
)
from tenferro.arrays.operators import ArrayOperators
from tenferro.typing import Number

__all__ = [
    "ArrayOperators",
    "Expression",
    "Number",
    "Operand",
    "activations",
    "analytic",
    "apply",
    "broadcast_extents",
    "convert",
    "creation",
    "dynamic",
    "elementwise",
    "expressions",
    "filling",
    "indexing",
    "integers",
    "is_number",
    "joining",
    "logical",
    "named",
    "normal_axis",
    "products",
    "promote",
    "rearrange",
    "reductions",
    "repeated",
    "result_dtype",
    "rounding",
    "scans",
    "sorting",
    "updates",
    "values_of",
]
