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
    from tenferro.compiler import OptimizerOptions as OptimizerOptions
    from tenferro.errors import TenferroError as TenferroError
    from tenferro.namespace import *  # noqa: F403  # the table below names them
    from tenferro.runtime import GraphExecutor as GraphExecutor
    from tenferro.runtime import GraphProgram as GraphProgram
    from tenferro.runtime import NumpyBackend as NumpyBackend
    from tenferro.runtime import Tensor as Tensor
    from tenferro.shape import SymDim as SymDim
    from tenferro.shape import TensorSpec as TensorSpec
    from tenferro.traced import AdContext as AdContext
    from tenferro.traced import GraphCompiler as GraphCompiler
    from tenferro.traced import TracedTensor as TracedTensor
    from tenferro.transforms import *  # noqa: F403

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "tenferro.compiler": ("OptimizerOptions",),
    "tenferro.errors": ("TenferroError",),
    "tenferro.namespace": (
        "abs",
        "absolute",
        "add",
        "array",
        "asarray",
        "astype",
        "bool",
        "broadcast_to",
        "cast",
        "clip",
        "complex",
        "complex128",
        "complex64",
        "concat",
        "concatenate",
        "conj",
        "conjugate",
        "convert",
        "cos",
        "diagonal",
        "divide",
        "dot",
        "e",
        "equal",
        "exp",
        "expand_dims",
        "expm1",
        "flip",
        "float32",
        "float64",
        "floor_divide",
        "full",
        "full_like",
        "greater",
        "greater_equal",
        "imag",
        "inf",
        "int32",
        "int64",
        "lax",
        "less",
        "less_equal",
        "log",
        "log1p",
        "logical_and",
        "logical_not",
        "logical_or",
        "matmul",
        "matrix_transpose",
        "max",
        "maximum",
        "mean",
        "min",
        "minimum",
        "mod",
        "moveaxis",
        "multiply",
        "nan",
        "negative",
        "newaxis",
        "not_equal",
        "ones",
        "ones_like",
        "outer",
        "pad",
        "permute_dims",
        "pi",
        "pow",
        "power",
        "prod",
        "ravel",
        "real",
        "reciprocal",
        "remainder",
        "reshape",
        "rsqrt",
        "sign",
        "sin",
        "sqrt",
        "square",
        "squeeze",
        "stack",
        "subtract",
        "sum",
        "tan",
        "tanh",
        "tensordot",
        "transpose",
        "tril",
        "triu",
        "true_divide",
        "uint8",
        "where",
        "zeros",
        "zeros_like",
    ),
    "tenferro.runtime": ("GraphExecutor", "GraphProgram", "NumpyBackend", "Tensor"),
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

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'tenferro' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
