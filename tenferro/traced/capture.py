"""Concrete arrays that a traced function uses: small ones become constants, large ones inputs.

A captured array above the limit is an input of the program with a default binding: it is neither a
literal of the program nor hashed. The same array captured again is the same input.
"""

from __future__ import annotations

import itertools
import threading
import weakref

import numpy as np

from tenferro.computegraph import GlobalValKey, input_key, op_key
from tenferro.config import config
from tenferro.exec_ir import Array
from tenferro.ops import Constant
from tenferro.shape import TensorMeta, annotate
from tenferro.values import Tensor

_numbers = itertools.count()


class CapturedArray:
    """Key of an input that is bound to `tensor` by default. Compared by `is`."""

    __slots__ = ("__weakref__", "meta", "name", "source", "tensor")

    def __init__(self, tensor: Tensor, source: object) -> None:
        self.tensor = tensor
        self.source = source  # held so that its id stays its own
        self.meta: TensorMeta = tensor.meta
        self.name = f"captured{next(_numbers)}"

    def __str__(self) -> str:
        return self.name


_captured: weakref.WeakValueDictionary[int, CapturedArray] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def capture(value: object, limit: int = config.literal_bytes) -> GlobalValKey:
    """The graph value of a concrete array: a constant up to `limit` bytes, else an input."""
    if isinstance(value, Tensor):
        value = Tensor(value)  # a plain one: what an eager runtime tracks is refused
    source = value.data if isinstance(value, Tensor) else value
    size = getattr(source, "nbytes", 0)
    if size <= limit:
        array = value.numpy() if isinstance(value, Tensor) else Tensor(value).numpy()
        return annotate(op_key(Constant(array), ()))[0]
    with _lock:
        held = _captured.get(id(source))
        if held is None or not _unchanged(held, source):
            tensor = value if isinstance(value, Tensor) else Tensor(value)
            held = _captured[id(source)] = CapturedArray(tensor, source)
    return input_key(held)


def _unchanged(held: CapturedArray, source: object) -> bool:
    """Whether an array that was captured before still has the elements it had."""
    if held.source is not source:
        return False
    if not isinstance(source, np.ndarray):
        return True
    if not source.flags.writeable and source.base is None:
        return True  # but a read-only view of an array that may change is compared
    copy = held.tensor.numpy()
    return copy.dtype == source.dtype and copy.shape == source.shape and _same_bytes(copy, source)


def _same_bytes(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a.view(np.uint8), np.ascontiguousarray(b).view(np.uint8)))
