"""EagerTensor, and interned operand types."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, Protocol, Self

from tenferro.core import LeafOrigin, Origin
from tenferro.errors import ADError, DeviceError, TenferroError
from tenferro.ir import DType, TensorMeta, make_meta
from tenferro.ops.functions import enter_kind
from tenferro.runtime import Buffer, Executor, Tensor

__all__ = ["EagerTensor"]


# The type of an eager value as one object, so that plans are looked up by comparing pointers.


class EagerType:
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
    fixed: EagerType
    active: EagerType

    def __repr__(self) -> str:
        return f"EagerType({self.meta}{', tracked' if self.tracked else ''})"


_kinds: weakref.WeakValueDictionary[tuple[DType, tuple[int, ...]], EagerType] = (
    weakref.WeakValueDictionary()
)
_lock = threading.Lock()


def eager_type(dtype: DType, shape: tuple[int, ...]) -> EagerType:
    """The kind of untracked values of this type.

    >>> import numpy as np
    >>> eager_type(np.dtype("f8"), (3,)) is eager_type(np.dtype("f8"), (3,))
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


def _pair(meta: TensorMeta) -> EagerType:
    fixed, active = EagerType(), EagerType()
    fixed.meta = active.meta = meta
    fixed.tracked, active.tracked = False, True
    fixed.fixed = active.fixed = fixed
    fixed.active = active.active = active
    return fixed


# EagerTensor: a value of an eager runtime, with the record of its computation.


class Recorder(Protocol):
    """The methods of a runtime that its tensors call."""

    def apply(
        self, function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Apply an array function to values of which at least one is attached to the runtime."""

    def backward(self, y: EagerTensor, seed: Any = None) -> None:
        """Add the cotangents of all variables to their gradients; `seed` is that of `y`."""


class EagerTensor(Tensor):
    """A `Tensor` attached to an `EagerRuntime`, which computes ops on it immediately.

    A tensor that depends on a variable of the runtime is *tracked*: it has a record of its
    computation, for derivatives. Only `detach()` makes a plain tensor of a tracked one; any other
    conversion would lose the record and raises an error. The elements can be read at any time.

    >>> import tenferro as tn
    >>> x = tn.EagerRuntime().variable([1.0, 2.0])
    >>> y = tn.sum(x * x)
    >>> y.backward()
    >>> x.grad
    EagerTensor([2., 4.])
    """

    __slots__ = ("_kind", "_origin", "_runtime")

    _kind: EagerType
    _origin: Origin | None
    _runtime: Recorder

    def __init__(self, data: object, dtype: object = None) -> None:
        raise TenferroError("EagerTensor: made by a runtime; call runtime.variable or .constant")

    @classmethod
    def attach(
        cls,
        buffer: Buffer,
        executor: Executor | None,
        kind: EagerType,
        origin: Origin | None,
        runtime: Recorder,
    ) -> Self:
        """A tensor of `runtime` around a buffer; for runtimes."""
        tensor = cls.__new__(cls)
        tensor._buffer = buffer
        tensor._executor = executor
        tensor._kind = kind
        tensor._origin = origin
        tensor._runtime = runtime
        return tensor

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""
        return self._kind.meta

    @property
    def runtime(self) -> Any:
        """The runtime that the tensor is attached to."""
        return self._runtime

    @property
    def tracked(self) -> bool:
        """Whether the tensor is a variable or depends on one."""
        return self._origin is not None

    @property
    def grad(self) -> EagerTensor | None:
        """The sum of the gradients of all calls of `backward`, if this is a variable; else None.

        Gradients of intermediate values are not stored.
        """
        return self._origin.grad if isinstance(self._origin, LeafOrigin) else None

    def clear_grad(self) -> None:
        """Remove the gradient."""
        if isinstance(self._origin, LeafOrigin):
            self._origin.grad = None

    def backward(self) -> None:
        """Add the gradients of this real scalar to those of the variables on which it depends.

        The record is not removed, so that a second call adds the same gradients again.

        Raises:
            NonScalarGradError: the tensor is not a real scalar.
            ADError: the tensor does not depend on a variable.
            ADRuleError: an op between the variables and the tensor has no rule.
        """
        self._runtime.backward(self)

    def backward_with(self, seed: Any) -> None:
        """Like `backward`, for a tensor of any shape with cotangent `seed`.

        Raises:
            ShapeError: the type of `seed` is not that of the tensor.
            ADError: the tensor does not depend on a variable.
            ADRuleError: an op between the variables and the tensor has no rule.
        """
        if seed is None:
            raise ADError("backward_with: needs a seed; use backward for a scalar")
        self._runtime.backward(self, seed)

    def detach(self) -> EagerTensor:
        """The same values as a constant."""
        fixed = self._kind.fixed
        return EagerTensor.attach(self._buffer, self._executor, fixed, None, self._runtime)

    def copy(self) -> Self:
        """The tensor itself: it cannot be changed, and has one record."""
        return self

    def __copy__(self) -> NoReturn:
        self._refuse_copy("copy.copy")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self._refuse_copy("copy.deepcopy")

    def __reduce__(self) -> NoReturn:
        self._refuse_copy("pickle")

    def _refuse_copy(self, name: str) -> NoReturn:
        raise ADError(
            f"{name}: {self.meta} belongs to an eager runtime, which has its record and gradient; "
            "take the elements, tn.Tensor(x.detach()), and make a variable of them where they are "
            "used"
        )

    def to_device(self, device: str | Executor, *, stream: None = None) -> Tensor:
        """The elements as a plain tensor on the host, or on another device.

        Raises:
            DeviceError: the tensor is tracked, and its record would be lost.
        """
        if self.tracked:
            raise DeviceError(
                f"to_device: {self.meta} is tracked by a runtime, which computes on one device; "
                "detach() it first"
            )
        return Tensor(self).to_device(device, stream=stream)


def _apply(
    function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any], operator: bool
) -> Any:
    """What the runtime of the first eager tensor computes; see `EagerRuntime.apply`."""
    for operand in operands:
        if type(operand) is EagerTensor:
            return operand._runtime.apply(function, operands, options)
    raise AssertionError("an operand is eager")


enter_kind(EagerTensor, 1, _apply)

_NONE: frozenset[int] = frozenset()
_paused: ContextVar[frozenset[int]] = ContextVar("tenferro_paused", default=_NONE)


def is_paused(runtime: object) -> bool:
    """Whether recording of a runtime is paused in this thread or task; see `pausing`."""
    paused = _paused.get()
    return paused is not _NONE and id(runtime) in paused


@contextmanager
def pausing(runtime: object) -> Iterator[None]:
    """A context in which a runtime does not record, in this thread or task."""
    token = _paused.set(_paused.get() | {id(runtime)})
    try:
        yield
    finally:
        _paused.reset(token)
