"""Tensor: a value at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Self, cast

import numpy as np

from tenferro.arrays import ArrayOperators, is_number
from tenferro.chainrules import PrimitiveOp
from tenferro.config import config
from tenferro.contract import Extension
from tenferro.errors import (
    ADError,
    DeviceError,
    DTypeError,
    ShapeError,
    TenferroError,
    UnsupportedDynamicShapeError,
)
from tenferro.exec_ir import Array, ExecOp, check_size
from tenferro.ops import ADD
from tenferro.runtime.executors import Buffer, Executor, executor_named, owner_of, tensor_owner
from tenferro.shape import Dim, TensorMeta, as_dtype, make_meta


class Tensor(ArrayOperators):
    """An array that a program made or takes: dtype, shape, and a buffer on host or device.

    Immutable. Operators compute at once, where the operands are; nothing moves between devices
    unasked. NumPy takes it through `__array__`, other libraries through `__dlpack__`.

    >>> import tenferro as tn
    >>> x = tn.Tensor([1.0, 2.0, 3.0])
    >>> x * x + 1
    Tensor([ 2.,  5., 10.])
    >>> (x @ x).item()
    14.0
    """

    __slots__ = ("_buffer", "_executor")

    _buffer: Buffer
    _executor: Executor | None

    def __init__(self, data: object, dtype: object = None) -> None:
        executor = owner_of(data)
        if isinstance(data, Tensor):
            data.refuse_if_tracked("a plain tensor")
            self._buffer, self._executor = data._buffer, data._executor
        elif executor is not None:
            self._buffer, self._executor = data, executor
            as_dtype(self._buffer.dtype)  # other libraries have more
        else:
            self._buffer, self._executor = host_array(data, dtype), None
            return
        if dtype is not None and self._buffer.dtype != as_dtype(dtype):
            raise DTypeError(f"tensor: the data is {self.meta}; use astype to change its dtype")

    @classmethod
    def wrap(cls, buffer: Buffer, executor: Executor | None) -> Self:
        """A tensor around a buffer in the form of its executor; None means a NumPy array."""
        tensor = cls.__new__(cls)
        tensor._buffer = buffer
        tensor._executor = executor
        return tensor

    @classmethod
    def from_column_major(cls, shape: tuple[int, ...], data: object) -> Self:
        """The tensor of `shape` whose elements `data` lists with the first axis fastest.

        >>> Tensor.from_column_major((2, 2), [1, 2, 3, 4])
        Tensor([[1, 3],
                [2, 4]])
        """
        flat = np.asarray(data)
        if flat.ndim != 1 or flat.size != np.prod(shape, dtype=np.int64):
            raise ShapeError(
                f"from_column_major: {flat.shape} elements do not fill the shape {shape}"
            )
        return cls(flat.reshape(shape, order="F"))

    def to_column_major(self) -> Array:
        """The elements along one axis, the first axis fastest."""
        return self.numpy().ravel(order="F")

    @property
    def data(self) -> Buffer:
        """The buffer: a NumPy array, or the executor's device array."""
        return self._buffer

    @property
    def executor(self) -> Executor | None:
        """The executor that owns the buffer; None for a NumPy array."""
        return self._executor

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""
        return buffer_meta(self._buffer)

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis."""
        return self._buffer.shape  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self._buffer.shape, dtype=np.int64))

    @property
    def tracked(self) -> bool:
        """Whether an eager runtime records what is computed of it; never so for a plain tensor."""
        return False

    def refuse_if_tracked(self, wanted: str) -> None:
        """Raise ADError if the tensor is tracked, since `wanted` would lose its record silently."""
        if self.tracked:
            raise ADError(
                f"{wanted} of {self.meta}: it is tracked by an eager runtime, and its record would "
                "be lost; detach() it first"
            )

    @property
    def placement(self) -> str:
        """Where the buffer is: `host`, or the device's name."""
        if self._executor is None:
            return "host"
        devices = getattr(self._buffer, "devices", None)
        return self._executor.name if devices is None else str(next(iter(devices())))

    def to_device(self, device: str | Executor) -> Tensor:
        """The tensor on the host (`"host"`), or on the device of an executor or of its name.

        >>> Tensor([1.0]).to_device("host").placement
        'host'
        """
        name = "numpy" if device == "host" else device
        executor = name if isinstance(name, Executor) else executor_named(name)
        owner = tensor_owner(executor)
        if owner is self._executor:
            return self
        host = self._buffer if self._executor is None else self._executor.get(self._buffer)
        return Tensor.wrap(executor.put(host), owner)

    def numpy(self) -> Array:
        """The elements as a read-only NumPy array; copied from the device if they are there."""
        if self._executor is not None:
            return self._executor.get(self._buffer)
        view: Array = self._buffer.view()  # a view of what is read-only cannot be made writable
        return view

    def item(self) -> Any:
        """The only element, as a Python number.

        Raises:
            ShapeError: there is more than one element, or none.
        """
        if self.size != 1:
            raise ShapeError(f"item: {self.meta} has {self.size} elements, not one")
        return self.numpy().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self.refuse_if_tracked("a NumPy array")
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        self.refuse_if_tracked("a DLPack capsule")
        if self._executor is None:
            # NumPy exports writable arrays only.
            return self._buffer.copy().__dlpack__(**options)
        return self._buffer.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._buffer.__dlpack_device__()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len: a tensor without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __repr__(self) -> str:
        name = type(self).__name__
        body = np.array2string(self.numpy(), separator=", ", prefix=f"{name}(")
        implied = self.dtype in _IMPLIED and self.size > 0
        return f"{name}({body})" if implied else f"{name}({body}, dtype={self.dtype})"

    def _apply(self, function: Callable[..., Any], *operands: Any, **options: Any) -> Self:
        result: Self = run_eagerly(function, operands, options)
        return result


_IMPLIED = (np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.complex128))


def run_eagerly(
    function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Apply an array function to runtime values at once, on the executor that has them.

    Returns NotImplemented when an operand is no runtime value, so that its own operator is asked.
    """
    lifted = [_lift(operand) for operand in operands]
    if any(operand is NotImplemented for operand in lifted):
        return NotImplemented
    executor = _common_executor(function.__name__, operands, lifted)
    emitter = RunEmitter(executor)
    values = [_buffer_of(operand, executor) for operand in lifted]
    result = function(emitter, *values, **options)
    if isinstance(result, tuple):
        return tuple([Tensor.wrap(_sealed(buffer, executor), executor) for buffer in result])
    return Tensor.wrap(_sealed(result, executor), executor)


class RunEmitter:
    """Runs each op as it is emitted. Values are buffers of one executor, NumPy arrays for None.

    An extension op on NumPy arrays is called directly, by its reference meaning.
    """

    def __init__(self, executor: Executor | None) -> None:
        self._host = executor is None
        self._executor = executor_named("numpy") if executor is None else executor

    @property
    def executor(self) -> Executor | None:
        """The executor whose buffers the values are; None for NumPy arrays."""
        return None if self._host else self._executor

    @property
    def ctx(self) -> BufferContext:
        """Types are read off the buffers."""
        return _CONTEXT

    def emit(self, op: PrimitiveOp, *operands: Buffer) -> Buffer:
        """Output 0 of the op."""
        return self.emit_all(op, *operands)[0]

    def emit_all(self, op: PrimitiveOp, *operands: Buffer) -> tuple[Buffer, ...]:
        """All outputs of the op, after its shape rule has accepted the operands."""
        exec_op = cast(ExecOp, op)
        for meta in exec_op.infer_all([buffer_meta(operand) for operand in operands]):
            if meta.symbols():
                raise UnsupportedDynamicShapeError(exec_op.name, "result", f"symbolic: {meta}")
            check_size(meta, exec_op.name, config.max_bytes)
        if self._host and isinstance(exec_op, Extension):
            return exec_op.evaluate(operands)  # a direct call: no runtime owns it
        return self._executor.run_op(exec_op, *operands)

    def producer(self, value: Buffer) -> None:
        """Nothing is known of where a buffer came from."""
        return

    def order(self, value: Buffer) -> int:
        """Operands stay as they are."""
        return 0


class BufferContext:
    """Metadata of buffers."""

    @property
    def adder(self) -> PrimitiveOp:
        """Addition."""
        return ADD

    def meta(self, value: Buffer) -> TensorMeta:
        """The type of a buffer."""
        return buffer_meta(value)

    def declare_like(self, value: Buffer, like: Buffer) -> None:
        """Buffers declare themselves."""

    def registered_rule(self, name: str) -> None:
        """None: derivatives are not taken of buffers."""


_CONTEXT = BufferContext()


def buffer_meta(buffer: Buffer) -> TensorMeta:
    """The type of a NumPy or device array."""
    shape: tuple[Dim, ...] = buffer.shape
    return make_meta(buffer.dtype, shape)


def host_array(data: object, dtype: object = None) -> Array:
    """A compact, read-only copy of array-like data in a dtype that tenferro has.

    Raises:
        DTypeError: the data has no such dtype, or does not fit the one asked for.
        ShapeError: the data is ragged.
    """
    if (
        hasattr(data, "__dlpack__")
        and not isinstance(data, np.ndarray | np.generic)
        and not hasattr(data, "__array__")
    ):
        data = np.from_dlpack(data)
    wanted = None if dtype is None else as_dtype(dtype)
    given = getattr(data, "dtype", None)
    if wanted is not None and getattr(given, "kind", "") == "c" and wanted.kind != "c":
        raise DTypeError(f"tensor: {given} data does not fit {wanted}; take its real part first")
    try:
        array = np.array(data, dtype=wanted, order="C", copy=True)
    except TenferroError:
        raise
    except ValueError as error:
        raise ShapeError(f"tensor: {error}") from None
    except (TypeError, OverflowError) as error:
        raise DTypeError(f"tensor: {error}") from None
    array = array.astype(as_dtype(array.dtype), copy=False)
    array.setflags(write=False)
    return array


def _lift(operand: Any) -> Any:
    if type(operand) is Tensor or is_number(operand):
        return operand
    if isinstance(operand, Tensor):
        return NotImplemented  # of a kind that comes first
    if isinstance(operand, np.ndarray | np.generic | list | tuple) or owner_of(operand) is not None:
        return _lift_sequence(operand) if isinstance(operand, list | tuple) else Tensor(operand)
    return NotImplemented


def _lift_sequence(operand: Any) -> Any:
    """A sequence of array-likes is one array, unless it holds values of another kind."""
    try:
        return Tensor(operand)
    except (DTypeError, ShapeError):
        return NotImplemented


def _common_executor(name: str, given: tuple[Any, ...], lifted: list[Any]) -> Executor | None:
    """Where the operands are.

    NumPy arrays go where the tensors are; tensors stay where they are.
    """
    tensors = [
        tensor
        for original, tensor in zip(given, lifted, strict=True)
        if isinstance(tensor, Tensor)
        and not isinstance(original, np.ndarray | np.generic | list | tuple)
    ]
    executors = {id(tensor.executor): tensor.executor for tensor in tensors}
    if len(executors) > 1:
        where = " and ".join(f"{tensor.meta} on {tensor.placement}" for tensor in tensors)
        raise DeviceError(
            f"{name}: operands are in different places ({where}); move one with to_device"
        )
    return next(iter(executors.values()), None)


def _buffer_of(operand: Any, executor: Executor | None) -> Any:
    if not isinstance(operand, Tensor):
        return operand
    if executor is not None and operand.executor is None:
        return executor.put(operand.data)
    return operand.data


def _sealed(buffer: Buffer, executor: Executor | None) -> Buffer:
    if executor is not None:
        return buffer
    array = np.ascontiguousarray(buffer).reshape(np.shape(buffer))
    if array.base is not None:
        array = array.copy()
    array.setflags(write=False)
    return array
