"""The ops of the IR as functions, with the names and the signatures of `jax.lax` where it has them.

They do not promote and broadcast only scalars; a Python number has the dtype of the arrays that
it meets. `MISSING` lists what `jax.lax` has beyond, with reasons. Ops that it does not have take
their operands first, then their payload.

Read in this order: `arguments`, `elementwise`, `shapes`, `slicing`, `dot`, `reductions`,
`convolution`, `collectives`, `calls`.

>>> x = tn.array([[1.0, 2.0], [3.0, 4.0]])
>>> tn.lax.dot_general(x, x, (((1,), (0,)), ((), ())))
Tensor([[ 7., 10.],
        [15., 22.]])
"""

import typing as _typing

from tenferro import associative_scan as associative_scan
from tenferro import cond as cond
from tenferro import custom_linear_solve as custom_linear_solve
from tenferro import custom_root as custom_root
from tenferro import fori_loop as fori_loop
from tenferro import map as map
from tenferro import scan as scan
from tenferro import stop_gradient as stop_gradient
from tenferro import switch as switch
from tenferro import while_loop as while_loop
from tenferro.lax import linalg as linalg
from tenferro.lax.bits import *
from tenferro.lax.calls import *
from tenferro.lax.collectives import *
from tenferro.lax.convolution import *
from tenferro.lax.dot import *
from tenferro.lax.elementwise import *
from tenferro.lax.fourier import *
from tenferro.lax.reductions import *
from tenferro.lax.shapes import *
from tenferro.lax.slicing import *
from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.transforms import with_sharding_constraint as with_sharding_constraint

_COLLECTIVE = "it belongs to the devices of one kind of machine; use tn.lax.ppermute or all_to_all"
_KERNEL = "it belongs to kernels of an accelerator, and programs here have none"

MISSING: dict[str, str] = {
    **dict.fromkeys(
        (*("precv", "psend", "psum_scatter_start", "ragged_all_to_all"),),
        _COLLECTIVE,
    ),
    **dict.fromkeys(("after_all", "create_token", "dce_sink", "stage"), _KERNEL),
    "reshard": "use tn.with_sharding_constraint",
    **dict.fromkeys(
        (
            *("conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple"),
            *("conv_transpose_shape_tuple", "reduce_window_shape_tuple"),
            *("shape_as_value", "dtype"),
        ),
        "it computes types, not values; ask the array for its shape and dtype",
    ),
    "rng_uniform": "use tn.random",
    "scaled_dot": "write it with tn.lax.dot_general",
    **dict.fromkeys(
        (
            "ConvGeneralDilatedDimensionNumbers",
            "DotDimensionNumbers",
            "PrecisionLike",
        ),
        "it is a type for annotations of JAX",
    ),
    **dict.fromkeys(
        ("AccuracyMode", "DotAlgorithm", "DotAlgorithmPreset", "Tolerance"),
        "precision is an option of the executor: XlaExecutor(precision=...)",
    ),
}
"""Names of `jax.lax`, and what to do instead."""


if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars(), "linalg", home="tenferro.lax")
    __getattr__, __dir__ = _attributes("tn.lax", __all__, MISSING)
