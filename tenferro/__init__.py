"""tenferro: a tensor compiler.

Write a function of tensors; hold its graph, differentiate it to any order, optimize it, and run it
on NumPy or XLA.

>>> import tenferro as tn
>>> tn.grad(lambda x: tn.sum(tn.exp(x * x)))(tn.Tensor([0.0, 1.0]))
Tensor([0.        , 5.43656366])

Names are loaded when they are first used, so that `import tenferro` itself costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tenferro.left_out import MISSING
from tenferro.naming import missing

if TYPE_CHECKING:
    from tenferro import config as config
    from tenferro import debug as debug
    from tenferro import extension as extension
    from tenferro import farm as farm
    from tenferro import fft as fft
    from tenferro import linalg as linalg
    from tenferro import network as network
    from tenferro import nn as nn
    from tenferro import random as random
    from tenferro import scipy as scipy
    from tenferro import shape as shape
    from tenferro import sharding as sharding
    from tenferro import testing as testing
    from tenferro import tree as tree
    from tenferro import tree_util as tree_util
    from tenferro import typing as typing
    from tenferro.compiler import OptimizerOptions as OptimizerOptions
    from tenferro.composed import *  # noqa: F403
    from tenferro.config import enable_x64 as enable_x64
    from tenferro.custom import custom_jvp as custom_jvp
    from tenferro.custom import custom_linear_solve as custom_linear_solve
    from tenferro.custom import custom_root as custom_root
    from tenferro.custom import custom_vjp as custom_vjp
    from tenferro.custom import pure_callback as pure_callback
    from tenferro.custom import stop_gradient as stop_gradient
    from tenferro.derivatives import AdContext as AdContext
    from tenferro.eager import EagerRuntime as EagerRuntime
    from tenferro.eager import EagerTensor as EagerTensor
    from tenferro.eager import Tensor as Tensor
    from tenferro.errors import TenferroError as TenferroError
    from tenferro.farm import FarmExecutor as FarmExecutor
    from tenferro.files import PayloadCodecs as PayloadCodecs
    from tenferro.files import cache as cache
    from tenferro.files import call as call
    from tenferro.files import dumps as dumps
    from tenferro.files import load as load
    from tenferro.files import loads as loads
    from tenferro.files import save as save
    from tenferro.jacobians import SparseMatrix as SparseMatrix
    from tenferro.loops import *  # noqa: F403
    from tenferro.namespace import *  # noqa: F403  # its `__all__` names them
    from tenferro.network import einsum as einsum
    from tenferro.network import einsum_plan as einsum_plan
    from tenferro.runtime import GraphExecutor as GraphExecutor
    from tenferro.runtime import GraphProgram as GraphProgram
    from tenferro.runtime import NumpyBackend as NumpyBackend
    from tenferro.runtime import executor_named as executor_named
    from tenferro.shape import ShapeDtypeStruct as ShapeDtypeStruct
    from tenferro.shape import SymDim as SymDim
    from tenferro.shape import TensorSpec as TensorSpec
    from tenferro.traced import GraphCompiler as GraphCompiler
    from tenferro.traced import TracedTensor as TracedTensor
    from tenferro.transforms import *  # noqa: F403

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

_HOMES: dict[str, tuple[str, ...]] = {
    "tenferro.compiler": ("OptimizerOptions",),
    "tenferro.config": ("enable_x64",),
    "tenferro.custom": (
        "custom_jvp",
        "custom_linear_solve",
        "custom_root",
        "custom_vjp",
        "pure_callback",
        "stop_gradient",
    ),
    "tenferro.derivatives": ("AdContext",),
    "tenferro.eager": ("EagerRuntime", "EagerTensor", "Tensor"),  # which plans its operators
    "tenferro.errors": ("TenferroError",),
    "tenferro.farm": ("FarmExecutor",),
    "tenferro.files": ("PayloadCodecs", "cache", "call", "dumps", "load", "loads", "save"),
    "tenferro.jacobians": ("SparseMatrix",),
    "tenferro.namespace": ("__array_namespace_info__",),
    "tenferro.loops": (
        "associative_scan",
        "checkpoint",
        "checkpoint_name",
        "checkpoint_policies",
        "cond",
        "fori_loop",
        "map",
        "remat",
        "scan",
        "switch",
        "while_loop",
    ),
    "tenferro.network": ("einsum", "einsum_plan"),
    "tenferro.runtime": (
        "GraphExecutor",
        "GraphProgram",
        "NumpyBackend",
        "executor_named",
    ),
    "tenferro.shape": ("ShapeDtypeStruct", "SymDim", "TensorSpec"),
    "tenferro.traced": ("GraphCompiler", "TracedTensor"),
    "tenferro.transforms": (
        "derivative",
        "disable_jit",
        "eval_shape",
        "grad",
        "grad_optional",
        "hessian",
        "hvp",
        "jacfwd",
        "jacobian",
        "jacrev",
        "jet",
        "jit",
        "jvp",
        "linear_transpose",
        "linearize",
        "make_program",
        "value_and_grad",
        "vjp",
        "vmap",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = (
    "config",
    "debug",
    "extension",
    "farm",
    "fft",
    "linalg",
    "network",
    "nn",
    "random",
    "scipy",
    "shape",
    "sharding",
    "testing",
    "tree",
    "tree_util",
    "typing",
)
_ARRAY_FUNCTIONS = ("tenferro.namespace", "tenferro.composed")
"""The homes of every other name; they list them themselves."""


def __dir__() -> list[str]:
    functions = [name for home in _ARRAY_FUNCTIONS for name in import_module(home).__all__]
    return sorted({"__array_api_version__", "__version__", *_HOME_OF, *_MODULES, *functions})


def _load(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _MODULES:
        return import_module(f"tenferro.{name}")
    homes = (_HOME_OF[name],) if name in _HOME_OF else _ARRAY_FUNCTIONS
    for home in homes if name in _HOME_OF or not name.startswith("_") else ():
        # Tools ask every module for names of their own with underscores: nothing is imported.
        module = import_module(home)
        if name in _HOME_OF or name in module.__all__:
            return getattr(module, name)
    raise missing("tenferro", name, __dir__, MISSING)


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        if "autoray" in sys.modules:
            import_module("tenferro.autoray")
        value = globals()[name] = _load(name)
        return value
