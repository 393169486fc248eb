"""The ops of the IR as functions, with the names and the signatures of `jax.lax` where it has them.

They do not promote and broadcast only scalars; a Python number has the dtype of the arrays beside
it. `MISSING` in `missing` lists what `jax.lax` has beyond, with reasons. Ops that it does not have
take their operands first, then their payload.

Read in this order: `arguments`, `elementwise`, `shapes`, `slicing`, `dot`, `reductions`,
`convolution`.

>>> x = tn.array([[1.0, 2.0], [3.0, 4.0]])
>>> tn.lax.dot_general(x, x, (((1,), (0,)), ((), ())))
Tensor([[ 7., 10.],
        [15., 22.]])
"""

import typing as _typing

from tenferro.lax.convolution import *
from tenferro.lax.dot import *
from tenferro.lax.elementwise import *
from tenferro.lax.missing import MISSING
from tenferro.lax.reductions import *
from tenferro.lax.shapes import *
from tenferro.lax.slicing import *
from tenferro.missing_names import public as _public
from tenferro.missing_names import refusal as _refusal
from tenferro.transforms import associative_scan as associative_scan
from tenferro.transforms import cond as cond
from tenferro.transforms import custom_linear_solve as custom_linear_solve
from tenferro.transforms import custom_root as custom_root
from tenferro.transforms import fori_loop as fori_loop
from tenferro.transforms import map as map
from tenferro.transforms import scan as scan
from tenferro.transforms import stop_gradient as stop_gradient
from tenferro.transforms import switch as switch
from tenferro.transforms import while_loop as while_loop

if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars())
    __getattr__ = _refusal("tn.lax", __all__, MISSING)

    def __dir__() -> list[str]:
        return __all__
