"""tenferro: a tensor compiler.

Write a function of tensors; hold its graph, differentiate it to any order, optimize it, and run it
on NumPy or XLA.

>>> import tenferro as tn
>>> tn.grad(lambda x: tn.sum(tn.exp(x * x)))(tn.Tensor([0.0, 1.0]))
Tensor([0.        , 5.43656366])

Names are loaded when they are first used, so that `import tenferro` itself costs next to nothing;
editors and type checkers read `__init__.pyi`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import Any

from tenferro.missing_names import MISSING, missing

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

_MODULES = (
    *("ad_checkpoint", "config", "custom_batching", "custom_derivatives", "debug", "dtypes"),
    *("experimental", "extension", "farm", "fft", "flatten_util", "image", "lax", "linalg"),
    *("network", "nn", "numpy", "ops", "random", "scipy", "shape", "sharding", "test_util"),
    *("testing", "tree", "tree_util", "typing"),
)
_HOMES = {
    "compiler": "OptimizerOptions",
    "config": "enable_x64",
    "errors": "TenferroError",
    "farm": "FarmExecutor",
    "ir": "ShapeDtypeStruct SymDim TensorSpec",
    "network": "einsum einsum_path einsum_plan",
    "logs": "log_compiles",
    "numpy": "__array_namespace_info__",
    "runtime": "Device GraphExecutor GraphProgram NumpyBackend executor_named",
    "sharding": "NamedSharding P make_mesh set_mesh",
    "serialization": "PayloadCodecs cache call dumps load loads save",
    "transforms": (
        "AdContext EagerRuntime EagerTensor GraphCompiler SparseMatrix Tensor TracedTensor "
        "associative_scan checkpoint checkpoint_name checkpoint_policies closure_convert cond "
        "custom_gradient custom_jvp custom_linear_solve custom_root custom_vjp derivative "
        "disable_jit effects_barrier eval_shape fori_loop grad grad_optional hessian hvp jacfwd "
        "jacobian jacrev jet jit jvp linear_transpose linearize make_jaxpr make_program map "
        "named_call named_scope pure_callback remat scan shard_map smap stop_gradient switch "
        "typeof value_and_grad vjp vmap while_loop"
    ),
}
"""Where names beyond NumPy's are; `python -m tests.front_door` writes `__init__.pyi` after this."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __dir__() -> list[str]:
    functions = import_module("tenferro.numpy").__all__
    return sorted({"__array_api_version__", "__version__", *_HOME_OF, *_MODULES, *functions})


def __getattr__(name: str) -> Any:
    if "autoray" in sys.modules:
        import_module("tenferro.autoray")
    value = globals()[name] = _load(name)
    return value


def _load(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _MODULES:
        return import_module(f"tenferro.{name}")
    if name in _HOME_OF:
        home = _HOME_OF[name]
        value = getattr(import_module(f"tenferro.{home}"), name)
        if home not in _MODULES and isinstance(value, FunctionType):
            value.__module__ = "tenferro"
        return value
    # Tools ask every module for names of their own with underscores: nothing is imported.
    if not name.startswith("_"):
        module = import_module("tenferro.numpy")
        if name in module.__all__:
            return getattr(module, name)
    raise missing("tenferro", name, __dir__, MISSING)
