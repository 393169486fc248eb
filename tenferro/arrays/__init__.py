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
from tenferro.arrays.operands import (
    Operand,
    convert,
    integers,
    is_number,
    normal_axis,
    result_dtype,
)
from tenferro.arrays.operators import ArrayOperators
from tenferro.typing import Number

__all__ = [
    "ArrayOperators",
    "Number",
    "Operand",
    "activations",
    "analytic",
    "convert",
    "creation",
    "dynamic",
    "elementwise",
    "filling",
    "indexing",
    "integers",
    "is_number",
    "joining",
    "logical",
    "normal_axis",
    "products",
    "rearrange",
    "reductions",
    "result_dtype",
    "rounding",
    "scans",
    "sorting",
    "updates",
]
