"""tenferro: a tensor compiler.

Write a function of tensors; hold its graph, differentiate it to any order, optimize it, and run it
on NumPy or XLA.

>>> import tenferro as tn
>>> tn.grad(lambda x: tn.sum(tn.exp(x * x)))(tn.Tensor([0.0, 1.0]))
Tensor([0.        , 5.43656366])

Names are loaded when they are first used, so that `import tenferro` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenferro import extension as extension
    from tenferro import testing as testing
    from tenferro.compiler import OptimizerOptions as OptimizerOptions
    from tenferro.eager import EagerRuntime as EagerRuntime
    from tenferro.eager import EagerTensor as EagerTensor
    from tenferro.errors import TenferroError as TenferroError
    from tenferro.files import PayloadCodecs as PayloadCodecs
    from tenferro.files import call as call
    from tenferro.files import dumps as dumps
    from tenferro.files import load as load
    from tenferro.files import loads as loads
    from tenferro.files import save as save
    from tenferro.namespace import *  # noqa: F403  # the table below names them
    from tenferro.network import einsum as einsum
    from tenferro.network import einsum_plan as einsum_plan
    from tenferro.runtime import GraphExecutor as GraphExecutor
    from tenferro.runtime import GraphProgram as GraphProgram
    from tenferro.runtime import NumpyBackend as NumpyBackend
    from tenferro.runtime import Tensor as Tensor
    from tenferro.runtime import executor_named as executor_named
    from tenferro.shape import SymDim as SymDim
    from tenferro.shape import TensorSpec as TensorSpec
    from tenferro.traced import AdContext as AdContext
    from tenferro.traced import GraphCompiler as GraphCompiler
    from tenferro.traced import TracedTensor as TracedTensor
    from tenferro.transforms import *  # noqa: F403

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "tenferro.compiler": ("OptimizerOptions",),
    "tenferro.eager": ("EagerRuntime", "EagerTensor"),
    "tenferro.errors": ("TenferroError",),
    "tenferro.files": ("PayloadCodecs", "call", "dumps", "load", "loads", "save"),
    "tenferro.namespace": (
        "abs",
        "absolute",
        "acos",
        "acosh",
        "add",
        "all",
        "allclose",
        "amax",
        "amin",
        "angle",
        "any",
        "arange",
        "arccos",
        "arccosh",
        "arcsin",
        "arcsinh",
        "arctan",
        "arctan2",
        "arctanh",
        "argmax",
        "argmin",
        "argsort",
        "around",
        "array",
        "array_equal",
        "array_split",
        "asarray",
        "asin",
        "asinh",
        "astype",
        "atan",
        "atan2",
        "atanh",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "average",
        "bitwise_and",
        "bitwise_invert",
        "bitwise_left_shift",
        "bitwise_not",
        "bitwise_or",
        "bitwise_right_shift",
        "bitwise_xor",
        "bool",
        "broadcast_arrays",
        "broadcast_to",
        "can_cast",
        "cast",
        "cbrt",
        "ceil",
        "clip",
        "column_stack",
        "complex",
        "complex128",
        "complex64",
        "concat",
        "concatenate",
        "conj",
        "conjugate",
        "convert",
        "copysign",
        "cos",
        "cosh",
        "count_nonzero",
        "cross",
        "cumprod",
        "cumsum",
        "cumulative_prod",
        "cumulative_sum",
        "deg2rad",
        "degrees",
        "diag",
        "diagflat",
        "diagonal",
        "diff",
        "divide",
        "dot",
        "dsplit",
        "dstack",
        "dynamic_truncate",
        "e",
        "empty",
        "empty_like",
        "equal",
        "erf",
        "erf_inv",
        "erfc",
        "exp",
        "exp2",
        "expand_dims",
        "expm1",
        "eye",
        "finfo",
        "fix",
        "flip",
        "fliplr",
        "flipud",
        "float16",
        "float32",
        "float64",
        "floor",
        "floor_divide",
        "fmod",
        "full",
        "full_like",
        "greater",
        "greater_equal",
        "hsplit",
        "hstack",
        "hypot",
        "identity",
        "iinfo",
        "imag",
        "inf",
        "inner",
        "int16",
        "int32",
        "int64",
        "int8",
        "invert",
        "isclose",
        "isdtype",
        "isfinite",
        "isinf",
        "isnan",
        "kron",
        "lax",
        "left_shift",
        "less",
        "less_equal",
        "linspace",
        "log",
        "log10",
        "log1p",
        "log2",
        "log_sigmoid",
        "log_softmax",
        "logaddexp",
        "logaddexp2",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "logspace",
        "logsumexp",
        "matmul",
        "matrix_transpose",
        "max",
        "maximum",
        "mean",
        "meshgrid",
        "min",
        "minimum",
        "mod",
        "moveaxis",
        "multiply",
        "nan",
        "nan_to_num",
        "negative",
        "newaxis",
        "not_equal",
        "ones",
        "ones_like",
        "outer",
        "pad",
        "pad_to_match",
        "permute_dims",
        "pi",
        "positive",
        "pow",
        "power",
        "prod",
        "ptp",
        "rad2deg",
        "radians",
        "ravel",
        "real",
        "reciprocal",
        "relu",
        "remainder",
        "repeat",
        "reshape",
        "result_type",
        "right_shift",
        "rint",
        "roll",
        "round",
        "rsqrt",
        "shape_of",
        "sigmoid",
        "sign",
        "signbit",
        "silu",
        "sin",
        "sinh",
        "softmax",
        "softplus",
        "sort",
        "split",
        "sqrt",
        "square",
        "squeeze",
        "stack",
        "std",
        "subtract",
        "sum",
        "swapaxes",
        "take",
        "take_along_axis",
        "tan",
        "tanh",
        "tensordot",
        "tile",
        "top_k",
        "trace",
        "transpose",
        "tri",
        "tril",
        "triu",
        "true_divide",
        "trunc",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
        "unstack",
        "var",
        "vdot",
        "vecdot",
        "vsplit",
        "vstack",
        "where",
        "zeros",
        "zeros_like",
    ),
    "tenferro.network": ("einsum", "einsum_plan"),
    "tenferro.runtime": (
        "GraphExecutor",
        "GraphProgram",
        "NumpyBackend",
        "Tensor",
        "executor_named",
    ),
    "tenferro.shape": ("SymDim", "TensorSpec"),
    "tenferro.traced": ("AdContext", "GraphCompiler", "TracedTensor"),
    "tenferro.transforms": (
        "derivative",
        "grad",
        "grad_optional",
        "hessian",
        "hvp",
        "jacfwd",
        "jacrev",
        "jit",
        "jvp",
        "linearize",
        "make_program",
        "value_and_grad",
        "vjp",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("extension", "network", "testing")

__all__ = ["__version__", *sorted([*_HOME_OF, *_MODULES])]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tenferro.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'tenferro' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
