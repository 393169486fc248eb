"""New arrays, recorded while a function is traced; arrays divided among devices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tenferro.config import config
from tenferro.core import called_function
from tenferro.ir import FLOAT64, AnyTensor, ArrayLike, DimExpr, TensorMeta, check_size
from tenferro.ops import ShardingConstraint
from tenferro.ops.functions import KINDS, OpFunction, apply, elementwise, is_number, refuse
from tenferro.runtime import executor_module, is_tracing
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.traced_tensor import TracedTensor

__all__ = ["constrained", "create"]


def create(function: Callable[..., Any], *operands: Any, **options: Any) -> AnyTensor:
    """Create an array from the operands: recorded while tracing, else at once."""
    sizes = _sizes(options.get("shape", ()))
    if is_tracing() or any(isinstance(size, str | DimExpr) for size in sizes):
        result: AnyTensor = KINDS[DimExpr].apply(function, operands, options, False)
        return refuse(function, operands) if result is NotImplemented else result
    _check_new(function.__name__, options)
    return apply(function, *operands, **options)


def _check_new(name: str, options: dict[str, Any]) -> None:
    """Raise ExtentError, in the name of what the user called, if the array exceeds the budget."""
    sizes = _sizes(options.get("shape", ()))
    if all(isinstance(size, int) and size >= 0 for size in sizes) and math.prod(sizes) > 1 << 20:
        dtype = options.get("dtype") or FLOAT64
        check_size(TensorMeta.of(dtype, sizes), called_function(name), config.max_bytes)


def _sizes(shape: object) -> Any:
    return shape if isinstance(shape, tuple | list) else (shape,)


def constrained(caller: str, leaf: ArrayLike, sharding: object) -> AnyTensor:
    """An array, divided as is said where a compiled function computes it.

    A sharding on one device leaves it as it is.

    Raises:
        ShardingError: it is not a sharding, or has more axes than the array.
    """
    meta = leaf_meta(leaf, f"{caller}: argument")
    spec = executor_module("xla").sharding.spec_entries(caller, sharding, meta.rank)
    op = ShardingConstraint((None,) * meta.rank if spec is None else spec)
    return apply(OpFunction(op), leaf)


def _of_size(name: str, left: Any, right: Any) -> Any:
    """What an array function makes of a size and a number: of a weak dtype if that of both is."""
    function = getattr(elementwise, name).body
    result = KINDS[DimExpr].apply(function, (left, right), {}, False)
    if isinstance(result, TracedTensor) and all(
        isinstance(operand, DimExpr) or is_number(operand) for operand in (left, right)
    ):
        return TracedTensor(result.key, np.zeros((), result.dtype).item(), result.scope)
    return result


DimExpr.arithmetic = staticmethod(_of_size)
