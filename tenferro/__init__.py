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

from tenferro.missing_names import MISSING, missing

if TYPE_CHECKING:
    from tenferro import config as config
    from tenferro import debug as debug
    from tenferro import extension as extension
    from tenferro import farm as farm
    from tenferro import fft as fft
    from tenferro import lax as lax
    from tenferro import linalg as linalg
    from tenferro import network as network
    from tenferro import nn as nn
    from tenferro import numpy as numpy
    from tenferro import random as random
    from tenferro import scipy as scipy
    from tenferro import shape as shape
    from tenferro import sharding as sharding
    from tenferro import testing as testing
    from tenferro import tree as tree
    from tenferro import tree_util as tree_util
    from tenferro import typing as typing
    from tenferro.compiler import OptimizerOptions as OptimizerOptions
    from tenferro.composed import *
    from tenferro.config import enable_x64 as enable_x64
    from tenferro.errors import TenferroError as TenferroError
    from tenferro.farm import FarmExecutor as FarmExecutor
    from tenferro.ir import ShapeDtypeStruct as ShapeDtypeStruct
    from tenferro.ir import SymDim as SymDim
    from tenferro.ir import TensorSpec as TensorSpec
    from tenferro.namespace import *
    from tenferro.native import GraphExecutor as GraphExecutor
    from tenferro.native import NumpyBackend as NumpyBackend
    from tenferro.network import einsum as einsum
    from tenferro.network import einsum_plan as einsum_plan
    from tenferro.runtime import GraphProgram as GraphProgram
    from tenferro.runtime import executor_named as executor_named
    from tenferro.serialization import PayloadCodecs as PayloadCodecs
    from tenferro.serialization import cache as cache
    from tenferro.serialization import call as call
    from tenferro.serialization import dumps as dumps
    from tenferro.serialization import load as load
    from tenferro.serialization import loads as loads
    from tenferro.serialization import save as save
    from tenferro.transforms import AdContext as AdContext
    from tenferro.transforms import EagerRuntime as EagerRuntime
    from tenferro.transforms import EagerTensor as EagerTensor
    from tenferro.transforms import GraphCompiler as GraphCompiler
    from tenferro.transforms import Jitted as Jitted
    from tenferro.transforms import SparseMatrix as SparseMatrix
    from tenferro.transforms import Tensor as Tensor
    from tenferro.transforms import TracedTensor as TracedTensor
    from tenferro.transforms import associative_scan as associative_scan
    from tenferro.transforms import checkpoint as checkpoint
    from tenferro.transforms import checkpoint_name as checkpoint_name
    from tenferro.transforms import checkpoint_policies as checkpoint_policies
    from tenferro.transforms import cond as cond
    from tenferro.transforms import custom_jvp as custom_jvp
    from tenferro.transforms import custom_linear_solve as custom_linear_solve
    from tenferro.transforms import custom_root as custom_root
    from tenferro.transforms import custom_vjp as custom_vjp
    from tenferro.transforms import derivative as derivative
    from tenferro.transforms import disable_jit as disable_jit
    from tenferro.transforms import eval_shape as eval_shape
    from tenferro.transforms import flatten as flatten
    from tenferro.transforms import fori_loop as fori_loop
    from tenferro.transforms import grad as grad
    from tenferro.transforms import grad_optional as grad_optional
    from tenferro.transforms import hessian as hessian
    from tenferro.transforms import hvp as hvp
    from tenferro.transforms import jacfwd as jacfwd
    from tenferro.transforms import jacobian as jacobian
    from tenferro.transforms import jacrev as jacrev
    from tenferro.transforms import jet as jet
    from tenferro.transforms import jit as jit
    from tenferro.transforms import jvp as jvp
    from tenferro.transforms import leaf_names as leaf_names
    from tenferro.transforms import linear_transpose as linear_transpose
    from tenferro.transforms import linearize as linearize
    from tenferro.transforms import make_program as make_program
    from tenferro.transforms import map as map
    from tenferro.transforms import pure_callback as pure_callback
    from tenferro.transforms import remat as remat
    from tenferro.transforms import scan as scan
    from tenferro.transforms import stop_gradient as stop_gradient
    from tenferro.transforms import switch as switch
    from tenferro.transforms import unflatten as unflatten
    from tenferro.transforms import value_and_grad as value_and_grad
    from tenferro.transforms import vjp as vjp
    from tenferro.transforms import vmap as vmap
    from tenferro.transforms import while_loop as while_loop

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

_HOMES: dict[str, tuple[str, ...]] = {
    "tenferro.compiler": ("OptimizerOptions",),
    "tenferro.config": ("enable_x64",),
    "tenferro.errors": ("TenferroError",),
    "tenferro.farm": ("FarmExecutor",),
    "tenferro.ir": (
        "ShapeDtypeStruct",
        "SymDim",
        "TensorSpec",
    ),
    "tenferro.namespace": ("__array_namespace_info__",),
    "tenferro.native": (
        "GraphExecutor",
        "NumpyBackend",
    ),
    "tenferro.network": (
        "einsum",
        "einsum_plan",
    ),
    "tenferro.runtime": (
        "GraphProgram",
        "executor_named",
    ),
    "tenferro.serialization": (
        "PayloadCodecs",
        "cache",
        "call",
        "dumps",
        "load",
        "loads",
        "save",
    ),
    "tenferro.transforms": (
        "Tensor",  # a room that plans its operators
        "custom_jvp",
        "custom_linear_solve",
        "custom_root",
        "custom_vjp",
        "pure_callback",
        "stop_gradient",
        "AdContext",
        "EagerRuntime",
        "EagerTensor",
        "SparseMatrix",
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
        "GraphCompiler",
        "TracedTensor",
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
    "lax",
    "linalg",
    "network",
    "nn",
    "numpy",
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
