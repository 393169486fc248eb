"""Array functions, each defined once over `Emitter`.

For values of a graph and for values at run time.
"""

from tenferro.arrays import elementwise, layout, products, reductions
from tenferro.arrays.operands import Number, Operand, convert, is_number, result_dtype
from tenferro.arrays.operators import ArrayOperators

__all__ = [
    "ArrayOperators",
    "Number",
    "Operand",
    "convert",
    "elementwise",
    "is_number",
    "layout",
    "products",
    "reductions",
    "result_dtype",
]
