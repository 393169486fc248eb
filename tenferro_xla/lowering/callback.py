"""The lowering of the family of callbacks.

JAX gives a callback values of 32 bits, unless the thread that it runs in is in 64-bit mode. So
values of 64 bits are passed as pairs of words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.errors import BackendFailureError
from tenferro.families import Callback
from tenferro.family import ExtensionOp, Lowering
from tenferro.shape import DType

Shape = tuple[int, ...]
_WORD = np.dtype(np.uint32)


def call(op: Callback, *operands: Array) -> tuple[Array, ...]:
    """The function, called on the host while the program runs."""
    types = [(np.dtype(operand.dtype), operand.shape) for operand in operands]
    results = [
        (dtype, tuple([int(size) for size in shape]))
        for dtype, shape in op.infer_output_meta(*zip(*types, strict=True) if types else ((), ()))
    ]
    passed = [
        jax.ShapeDtypeStruct(*_passed(dtype, shape))  # type: ignore[no-untyped-call]  # JAX has no types there
        for dtype, shape in results
    ]

    def on_host(*arrays: Any) -> Sequence[Any]:
        values = [
            _viewed(np.asarray(array), dtype, shape)
            for array, (dtype, shape) in zip(arrays, types, strict=True)
        ]
        found = op.eager_execute(values)
        return [
            _viewed(array, dtype, shape)
            for array, (shape, dtype) in zip(found, map(_passed_of, results), strict=True)
        ]

    found = jax.pure_callback(on_host, passed, *map(_as_words, operands))
    return tuple(
        [_of_words(value, dtype) for value, (dtype, _) in zip(found, results, strict=True)]
    )


def _passed(dtype: DType, shape: Shape) -> tuple[Shape, DType]:
    """The shape and dtype in which values are passed."""
    if dtype.itemsize < 8 or dtype == np.complex64:
        return shape, dtype
    return (*shape, dtype.itemsize // 4), _WORD


def _passed_of(result: tuple[DType, Shape]) -> tuple[Shape, DType]:
    return _passed(*result)


def _viewed(array: Any, dtype: DType, shape: Shape) -> Any:
    """The bytes of an array as one of another type."""
    return np.ascontiguousarray(array).view(np.uint8).view(dtype).reshape(shape)


def _as_words(x: Array) -> Array:
    """A value as it is passed."""
    shape, dtype = _passed(np.dtype(x.dtype), x.shape)
    if dtype == x.dtype:
        return x
    parts = jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x
    return lax.bitcast_convert_type(parts, _WORD).reshape(shape)


def _of_words(x: Array, dtype: DType) -> Array:
    """A value of a type from what was passed."""
    if x.dtype == dtype:
        return x
    if dtype.kind != "c":
        return lax.bitcast_convert_type(x, dtype)
    parts = lax.bitcast_convert_type(x.reshape(*x.shape[:-1], 2, 2), np.float64)
    return lax.complex(parts[..., 0], parts[..., 1])


def check_callbacks(error: Exception) -> None:
    """Raise BackendFailureError if what XLA reports is the error of a function of the user."""
    found = _RAISED.search(str(error))
    if found is not None:
        raise BackendFailureError(Callback.FAMILY_ID, found.group(1), "callback") from error


_RAISED = re.compile(r"BackendFailureError: callback: (.*)", re.DOTALL)

LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {Callback: call}
"""Lowerings by op class."""
