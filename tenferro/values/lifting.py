"""Kinds of values of users: arrays, numbers with a weak dtype, and others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tenferro.arrays import Number, convert, is_number
from tenferro.errors import DTypeError, TenferroError
from tenferro.shape import TensorMeta
from tenferro.values.executors import Buffer, Executor, owner_of
from tenferro.values.host import refuse_masked
from tenferro.values.tensor import Tensor


def wrap_all(buffers: Iterable[Buffer], executor: Executor | None) -> list[Tensor]:
    """The tensors around several buffers, as `Tensor.wrap` makes one."""
    tensors = []
    for buffer in buffers:
        tensor = _new(Tensor)
        tensor._buffer = buffer
        tensor._executor = executor
        tensors.append(tensor)
    return tensors


_new = object.__new__


def is_array(value: object) -> bool:
    """Whether a value is an array, and not a Python number, a list or another object."""
    return (
        isinstance(value, Tensor | np.ndarray | np.generic)
        or isinstance(getattr(value, "meta", None), TensorMeta)
        or owner_of(value) is not None
    )


def meta_of_value(value: Any) -> TensorMeta | None:
    """The type of an array, of array-like data or of a `TensorSpec`; None for other values.

    Raises:
        DTypeError: elements of the array are masked.
    """
    refuse_masked(value)
    meta = getattr(value, "meta", None)
    if isinstance(meta, TensorMeta):
        return meta
    try:
        return Tensor(value).meta
    except (TenferroError, TypeError):
        return None


class ShownType:
    """A leaf of a tree in the texts of errors: its type."""

    def __init__(self, leaf: object) -> None:
        self._leaf = leaf

    def __repr__(self) -> str:
        meta = meta_of_value(self._leaf)
        return type(self._leaf).__name__ if meta is None else str(meta)


def weak_number(value: Any) -> Number | None:
    """The Python number that a value is or stands for. Its dtype yields to that of arrays."""
    return value if is_number(value) else getattr(value, "weak", None)


def fitted(value: Any, meta: TensorMeta) -> Any:
    """The value, converted to the dtype of `meta` if its dtype is weak.

    Python numbers, lists of them, and traced values that stand for numbers have a weak dtype.

    Raises:
        DTypeError: a number does not fit the declared dtype.
        ShapeError: a list is ragged.
    """
    if getattr(value, "weak", None) is not None:
        if value.dtype.kind != meta.dtype.kind:
            return value
        return value._apply(convert, value, dtype=meta.dtype)
    if not is_number(value) and not isinstance(value, list | tuple):
        return value
    plain = Tensor(value)
    if plain.dtype == meta.dtype:
        return plain
    kind, declared = (dtype.kind.replace("u", "i") for dtype in (plain.dtype, meta.dtype))
    if "bifc".index(kind) > "bifc".index(declared):
        raise DTypeError(f"{plain.meta} does not fit {meta}")
    with np.errstate(over="ignore"):
        converted = plain.numpy().astype(meta.dtype)
    if declared == "i" and not np.array_equal(converted, plain.numpy()):
        raise DTypeError(f"{value} does not fit {meta}")
    return Tensor(converted)
