"""Convolutions, and primitives that combine or choose elements of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.extend import core

from tenferro import lax
from tenferro import numpy as tn
from tenferro.core import GlobalValKey
from tenferro.ir import DType, dtype_kind
from tenferro.lax.reductions import windows
from tenferro.transforms import vmap
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, integers, of_function

_CONVOLUTION = (
    *("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers"),
    *("feature_group_count", "batch_group_count", "preferred_element_type"),
)
_WINDOW = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")


def _convolution(params: Any, x: Any, kernel: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, **{name: params[name] for name in _CONVOLUTION})


def _lowest(dtype: DType) -> Any:
    """The number that is not above any other."""
    if dtype_kind(dtype) == "f":
        return -np.inf
    return False if dtype_kind(dtype) == "b" else np.iinfo(dtype).min


def _highest(dtype: DType) -> Any:
    if dtype_kind(dtype) == "f":
        return np.inf
    return True if dtype_kind(dtype) == "b" else np.iinfo(dtype).max


def _combined(combine: Callable[[Any, Any], Any], first: Callable[[DType], Any]) -> Translation:
    """The elements of each window combined by a function, from a first value."""

    def function(params: Any, x: Any) -> Any:
        start = tn.asarray(first(x.dtype), dtype=x.dtype)
        return lax.reduce_window(x, start, combine, *[params[name] for name in _WINDOW])

    return of_function(function)


def _reduce_window(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The elements of each window of several arrays, combined by a jaxpr of scalars."""
    params, count = equation.params, len(operands) // 2
    scalars = at.function(core.ClosedJaxpr(params["jaxpr"], params["consts"]))

    def combine(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        shape = xs[0].shape
        flat = [tn.reshape(value, (-1,)) for value in (*xs, *ys)]
        return [tn.reshape(value, shape) for value in vmap(scalars)(*flat)]

    def function(*values: Any) -> Any:
        xs, starts = list(values[:count]), list(values[count:])
        return lax.reduce_window(xs, starts, combine, *[params[name] for name in _WINDOW])

    return at.apply(function, *operands)


# The element that a window chooses: derivatives of largest and smallest elements.


def _chosen(params: Any, x: Any, spread: Sequence[int], holes: Sequence[int]) -> Any:
    """For each window the number of the place that is chosen, and the windows of any array.

    Of equal elements the first is chosen, and what is padded is not, unless there is nothing else.
    """
    window, strides = (integers(params[name]) for name in ("window_dimensions", "window_strides"))
    pads = params["padding"]
    config = [(low, high, gap - 1) for (low, high), gap in zip(pads, spread, strict=True)]

    def of(array: Any, fill: Any) -> list[Any]:
        padded = lax.pad(array, tn.asarray(fill, dtype=array.dtype), config)
        found = windows("select_and_gather_add", padded, window, strides, holes)
        return [part for part, _ in found]

    largest = str(params["select_prim"]) == "ge"
    parts = of(x, _lowest(x.dtype) if largest else _highest(x.dtype))
    own = of(tn.ones_like(x, dtype="bool"), False)
    best, valid, number = parts[0], own[0], tn.zeros_like(parts[0], dtype="int32")
    for place, (part, inside) in enumerate(zip(parts, own, strict=True)):
        holds = best >= part if largest else best <= part
        holds = ~inside | (valid & holds)
        best, number = tn.where(holds, best, part), tn.where(holds, number, place)
        valid = valid | inside
    return number, of


def _gathered(params: Any, values: Any, x: Any) -> Any:
    """Of each window the element of `values` where x is chosen."""
    spread, holes = integers(params["base_dilation"]), integers(params["window_dilation"])
    number, of = _chosen(params, x, spread, holes)
    result = tn.zeros_like(number, dtype=values.dtype)
    for place, part in enumerate(of(values, 0)):
        result = tn.where(number == place, part, result)
    return result


def _scattered(params: Any, values: Any, x: Any) -> Any:
    """Each element of `values` added where the element of its window of x is that is chosen."""
    ones = (1,) * x.ndim
    number, _ = _chosen(params, x, ones, ones)
    window, strides = (integers(params[name]) for name in ("window_dimensions", "window_strides"))
    sizes = [
        size + low + high for size, (low, high) in zip(x.shape, params["padding"], strict=True)
    ]
    total = tn.zeros(sizes, dtype=values.dtype)
    zero = tn.zeros((), dtype=values.dtype)
    for place, start in enumerate(np.ndindex(*window)):
        config = [
            (first, size - first - max((count - 1) * step + 1, 0), step - 1)
            for first, size, count, step in zip(start, sizes, number.shape, strides, strict=True)
        ]
        if number.size:
            total = total + lax.pad(tn.where(number == place, values, zero), zero, config)
    return lax.pad(total, zero, [(-low, -high, 0) for low, high in params["padding"]])


TABLE: dict[str, Translation] = {
    "conv_general_dilated": of_function(_convolution),
    "reduce_window": _reduce_window,
    "reduce_window_max": _combined(tn.maximum, _lowest),
    "reduce_window_min": _combined(tn.minimum, _highest),
    "reduce_window_sum": _combined(tn.add, lambda dtype: 0),
    "select_and_gather_add": of_function(_gathered),
    "select_and_scatter_add": of_function(_scattered),
}
