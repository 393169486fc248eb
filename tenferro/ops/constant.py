"""Constant: a small literal array; its dtype, shape and bytes are its identity."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tenferro.chainrules import JvpSite, V
from tenferro.errors import DTypeError, TenferroError
from tenferro.exec_ir import Array, Category, payload
from tenferro.ops.base import Inactive
from tenferro.shape import DType, Exact, TensorMeta, as_dtype, make_meta


@payload
class Constant(Inactive, name="constant"):
    """The array `value`; `dtype` and `shape` are those of the array if None."""

    value: Any
    dtype: Any = None
    shape: Any = None

    category = Category.HOST
    n_inputs = 0
    seen_through = True

    def __post_init__(self) -> None:
        array = np.array(
            self.value, dtype=None if self.dtype is None else as_dtype(self.dtype), order="C"
        )
        if self.shape is not None:
            array = array.reshape(self.shape)
        array = array.astype(as_dtype(array.dtype), copy=False)
        if array.dtype.kind in "fc":
            _unify_nan(array)
        array.setflags(write=False)
        object.__setattr__(self, "value", array)
        object.__setattr__(self, "dtype", array.dtype)
        object.__setattr__(self, "shape", array.shape)
        super().__post_init__()

    def stored_fields(self) -> tuple[str, ...]:
        """Only the value; its array holds dtype and shape."""
        return ("value",)

    def printed_fields(self) -> tuple[str, ...]:
        """The value and its dtype; the shape only if there are no elements to show it."""
        return ("value", "dtype") if self.value.size else ("value", "dtype", "shape")

    @property
    def label(self) -> str:
        """The number itself, if it is one."""
        return str(self.value.item()) if self.shape == () else self.name

    def infer(self) -> TensorMeta:
        """The literal's type; a rank-0 integer is also known as a size."""
        if self.shape == () and self.dtype.kind in "iu":
            return _size_meta(self.dtype, max(self.value.item(), 0))
        return make_meta(self.dtype, self.shape)

    def linear(self, at: JvpSite[V]) -> bool:
        """Whether it is zero: of no operands, only zero is linear."""
        return not self.value.any()

    def numpy(self) -> Array:
        """The literal."""
        return self.value  # type: ignore[no-any-return]


def _unify_nan(array: Array) -> None:
    """Give every NaN the same bits, since sign and payload of a NaN are not part of identity."""
    for part in (array.real, array.imag) if array.dtype.kind == "c" else (array,):
        unknown = np.isnan(part)
        if unknown.any():
            part[unknown] = np.nan


@functools.lru_cache(maxsize=4096)
def _size_meta(dtype: DType, number: int) -> TensorMeta:
    return TensorMeta(dtype, (), Exact(number))


@functools.lru_cache(maxsize=4096)
def _scalar(data: bytes, dtype: DType) -> Constant:
    return Constant(np.frombuffer(data, dtype)[0])


def scalar(value: object, dtype: DType) -> Constant:
    """The rank-0 constant of a Python or NumPy number, cached by value and dtype.

    Raises:
        DTypeError: the value is not a number.
    """
    try:
        array = np.asarray(value)
        if array.shape == ():
            return _scalar(array.astype(dtype).tobytes(), dtype)
    except TenferroError:
        raise
    except (TypeError, ValueError):
        pass
    raise DTypeError(f"constant: {value!r} is not a number")
