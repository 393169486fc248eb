"""Tensor: a value at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from tenferro.arrays import ArrayOperators, is_number
from tenferro.errors import ADError, DTypeError, ShapeError
from tenferro.exec_ir import Array
from tenferro.shape import TensorMeta, as_dtype
from tenferro.values.emitter import RunEmitter
from tenferro.values.executors import Buffer, Executor, executor_named, owner_of, tensor_owner
from tenferro.values.host import buffer_meta, host_array
from tenferro.values.placing import place, where_to_run


class Tensor(ArrayOperators):
    """An input or result of a program: dtype, shape, and a buffer on host or device.

    Immutable. Operators compute immediately, on the device of the operands. Tensors are never moved
    between devices implicitly. NumPy reads a tensor through `__array__`, other libraries through
    `__dlpack__`.

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
            as_dtype(self._buffer.dtype)  # raises for dtypes that only the other library has
        else:
            self._buffer, self._executor = host_array(data, dtype), None
            return
        if dtype is not None and self._buffer.dtype != as_dtype(dtype):
            raise DTypeError(f"tensor: the data is {self.meta}; use astype to change its dtype")

    @classmethod
    def wrap(cls, buffer: Buffer, executor: Executor | None) -> Self:
        """A tensor around a buffer of `executor`; around a NumPy array if it is None."""
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
        """The elements as a vector, the first axis fastest."""
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
        """Whether an eager runtime records computations on it; False for a plain tensor."""
        return False

    def refuse_if_tracked(self, wanted: str) -> None:
        """Raise ADError if the tensor is tracked: `wanted` would lose its record."""
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
        """The tensor on the host (`"host"`), or on the device of an executor (or its name).

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
        view: Array = self._buffer.view()  # a view of a read-only array cannot be made writable
        return view

    @property
    def backward(self) -> Any:
        """Not there: only tensors of an `EagerRuntime` have it."""
        raise AttributeError(
            "backward: a Tensor records nothing; use tn.grad(f)(x), or compute with "
            "x = tn.EagerRuntime().variable(array) and call loss.backward()"
        )

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
    """Run an array function on runtime values, on the executor that owns them.

    Returns NotImplemented if an operand is not a runtime value, so that Python tries the operand's
    own operator.

    Raises:
        DeviceError: tensors are in different places. NumPy arrays are moved to the tensors.
    """
    lifted = [as_operand(operand) for operand in operands]
    if any(operand is NotImplemented for operand in lifted):
        return NotImplemented
    tensors = [
        value
        for value, operand in zip(lifted, operands, strict=True)
        if isinstance(value, Tensor) and not _is_host_data(operand)
    ]
    executor = where_to_run(function.__name__, tensors)
    values = [
        value if not isinstance(value, Tensor) else place(function.__name__, value, executor)
        for value in lifted
    ]
    result = function(RunEmitter(executor), *values, **options)
    if isinstance(result, tuple):
        return tuple([Tensor.wrap(_sealed(buffer, executor), executor) for buffer in result])
    return Tensor.wrap(_sealed(result, executor), executor)


def leading(operands: Sequence[Any]) -> ArrayOperators:
    """The operand whose class applies an array function to all of them.

    Traced values precede tensors of an eager runtime, and these precede plain tensors. If there is
    none of these, the first operand is converted to a plain tensor.
    """
    kinds = [operand for operand in operands if isinstance(operand, ArrayOperators)]
    if not kinds:
        return Tensor(operands[0] if operands else 0)
    return max(kinds, key=lambda operand: operand.precedence)


def as_operand(value: Any) -> Any:
    """An argument of an array function as a plain tensor, or unchanged if it is a Python number.

    NotImplemented for values of another kind, whose own operators take precedence.
    """
    if type(value) is Tensor or is_number(value):
        return value
    if isinstance(value, list | tuple):
        try:
            return Tensor(value)
        except (DTypeError, ShapeError):
            return NotImplemented  # the list has elements of another kind
    if isinstance(value, Tensor):
        return NotImplemented
    if isinstance(value, np.ndarray | np.generic) or owner_of(value) is not None:
        return Tensor(value)
    return NotImplemented


def _is_host_data(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic | list | tuple)


def _sealed(buffer: Buffer, executor: Executor | None) -> Buffer:
    if executor is not None:
        return buffer
    array = np.ascontiguousarray(buffer).reshape(np.shape(buffer))
    if array.base is not None:
        array = array.copy()
    array.setflags(write=False)
    return array
