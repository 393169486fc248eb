"""The type of an eager value as one object, so that plans are looked up by comparing pointers."""

from __future__ import annotations

import threading
import weakref
from types import EllipsisType
from typing import Any

import numpy as np

from tenferro.config import config
from tenferro.exec_ir import encode
from tenferro.shape import DType, TensorMeta, as_dtype, make_meta


class OperandKind:
    """Dtype and shape of a value, and whether it is tracked; compared by `is`.

    Attributes:
        meta: dtype and extents.
        tracked: whether computations on it are recorded.
        fixed: the kind of untracked values of this type.
        active: the kind of tracked values of this type.
    """

    __slots__ = ("__weakref__", "active", "fixed", "meta", "tracked")

    meta: TensorMeta
    tracked: bool
    fixed: OperandKind
    active: OperandKind

    def __repr__(self) -> str:
        return f"OperandKind({self.meta}{', tracked' if self.tracked else ''})"


_kinds: weakref.WeakValueDictionary[tuple[DType, tuple[int, ...]], OperandKind] = (
    weakref.WeakValueDictionary()
)
_lock = threading.Lock()


def kind_of(dtype: DType, shape: tuple[int, ...]) -> OperandKind:
    """The kind of untracked values of this type.

    >>> import numpy as np
    >>> kind_of(np.dtype("f8"), (3,)) is kind_of(np.dtype("f8"), (3,))
    True
    """
    key = (dtype, shape)
    kind = _kinds.get(key)
    if kind is None:
        with _lock:
            kind = _kinds.get(key)
            if kind is None:
                kind = _kinds[key] = _pair(make_meta(dtype, shape))
    return kind


def _pair(meta: TensorMeta) -> OperandKind:
    fixed, active = OperandKind(), OperandKind()
    fixed.meta = active.meta = meta
    fixed.tracked, active.tracked = False, True
    fixed.fixed = active.fixed = fixed
    fixed.active = active.active = active
    return fixed


def number_key(number: bool | int | float | complex) -> object:
    """A key that distinguishes Python numbers by kind and by bits.

    >>> number_key(1) == number_key(1.0), number_key(0.0) == number_key(-0.0)
    (False, False)
    """
    if type(number) is int or (type(number) is float and number * number > 0):
        return type(number), number  # the fast path, where `==` suffices
    return encode(number)


_INTS = frozenset([int])


def option_key(value: object) -> object:
    """A key that distinguishes the options of an array function.

    Raises:
        TypeError: there is no cheap key: the value is a large array, or of unknown type.

    >>> option_key(True) == option_key(1)
    False
    """
    kind = type(value)
    if kind is int or kind is str:
        return kind, value
    if value is None or value is True or value is False:
        return value  # other numbers are replaced by their bytes
    if isinstance(value, tuple) and _INTS.issuperset(map(type, value)):
        return kind, value  # sizes and axes
    if isinstance(value, np.dtype | type):
        return as_dtype(value)
    match value:
        case slice():
            return slice, option_key((value.start, value.stop, value.step))
        case EllipsisType():
            return value
        case tuple() | list():
            return type(value), tuple([option_key(item) for item in value])
        case np.generic():
            return np.generic, encode(np.asarray(value))
        case np.ndarray() if value.nbytes > config.literal_bytes:
            raise TypeError("a large array")
        case _:
            return encode(value)


def with_options(parts: list[Any], options: dict[str, Any]) -> tuple[Any, ...] | None:
    """The key, with the options of an array function added; None if an option has no key."""
    try:
        for name, value in options.items():
            parts += (name, option_key(value))
    except TypeError:
        return None
    return tuple(parts)
