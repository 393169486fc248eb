"""Concrete arrays that a traced function uses: small ones become constants, large ones inputs.

An array above the limit becomes an input of the program with the array as default value. It is not
a literal of the program, and it is not hashed. If the same array is captured again, the same input
is used.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from tenferro.computegraph import GlobalValKey, input_key, op_key
from tenferro.config import config
from tenferro.errors import ADError
from tenferro.exec_ir import Array
from tenferro.ops import Constant
from tenferro.shape import TensorMeta, annotate
from tenferro.values import Tensor


class CapturedArray:
    """The key of an input with the default value `tensor`. Compared by `is`."""

    __slots__ = ("__weakref__", "meta", "name", "source", "tensor")

    def __init__(self, tensor: Tensor, source: object) -> None:
        self.tensor = tensor
        self.source = source  # referenced, so that no other array gets its id
        self.meta: TensorMeta = tensor.meta
        self.name = "captured"

    def __str__(self) -> str:
        return self.name


_captured: weakref.WeakValueDictionary[int, CapturedArray] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class TrackedTensor:
    """The key of an input that stands for a tensor that an eager runtime tracks.

    Only the bodies of loops and branches read such inputs; the ops that hold the bodies take the
    tensors as operands.
    """

    __slots__ = ("meta", "name", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.meta: TensorMeta = tensor.meta
        self.name = "captured"

    def __str__(self) -> str:
        return self.name


_tracked: ContextVar[dict[int, TrackedTensor] | None] = ContextVar("tenferro_tracked", default=None)


@contextmanager
def capturing_tracked() -> Iterator[None]:
    """A context in which tracked tensors can be captured: a `TrackedTensor` stands for each."""
    outer = _tracked.get()
    token = _tracked.set({} if outer is None else outer)
    try:
        yield
    finally:
        _tracked.reset(token)


@contextmanager
def captured_before(known: Iterable[TrackedTensor], reader: str) -> Iterator[None]:
    """A context in which tracked tensors can be captured for which one of `known` stands.

    Raises:
        ADError: others were captured, which `reader` reads.
    """
    outer = _tracked.get()
    held = {} if outer is None else outer
    held.update((id(each.tensor), each) for each in known)
    count = len(held)
    token = _tracked.set(held)
    try:
        yield
    finally:
        _tracked.reset(token)
    if outer is None and len(held) > count:
        raise ADError(
            f"{reader} reads a tensor that an eager runtime tracks; pass it as an argument of the "
            "function"
        )


def capture(value: object, limit: int = config.literal_bytes) -> GlobalValKey:
    """The graph value of a concrete array: a constant up to `limit` bytes, else an input.

    Raises:
        ADError: an eager runtime tracks the value, and this is not within `capturing_tracked`.
    """
    if isinstance(value, Tensor):
        tracked = _tracked.get() if value.tracked else None
        if tracked is not None:
            return input_key(tracked.setdefault(id(value), TrackedTensor(value)))
        value = Tensor(value)  # raises for tensors that an eager runtime tracks
    source = value.data if isinstance(value, Tensor) else value
    size = getattr(source, "nbytes", 0)
    if size <= limit:
        array = value.numpy() if isinstance(value, Tensor) else Tensor(value).numpy()
        return annotate(op_key(Constant(array), ()))[0]
    with _lock:
        captured = _captured.get(id(source))
        if captured is None or not _unchanged(captured, source):
            tensor = value if isinstance(value, Tensor) else Tensor(value)
            captured = _captured[id(source)] = CapturedArray(tensor, source)
    return input_key(captured)


def _unchanged(captured: CapturedArray, source: object) -> bool:
    """Whether a captured array still has the same elements."""
    if captured.source is not source:
        return False
    if not isinstance(source, np.ndarray):
        return True
    if not source.flags.writeable and source.base is None:
        return True  # unlike a read-only view of a writable array
    copy = captured.tensor.numpy()
    return copy.dtype == source.dtype and copy.shape == source.shape and _same_bytes(copy, source)


def _same_bytes(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a.view(np.uint8), np.ascontiguousarray(b).view(np.uint8)))
