"""`Tensor`: data, printing, weak numbers; functions run op by op."""

from __future__ import annotations

import html
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, cast

import numpy as np

from tenferro.config import DEFAULT_RULES, RULES_OF_PROCESS, dtype_rules, rules_here
from tenferro.core import Emitter, PrimitiveOp, called_function, only_output
from tenferro.errors import (
    ADError,
    AxisError,
    DeviceError,
    DTypeError,
    ExtentError,
    ForkedError,
    NoAxesError,
    ShapeError,
    TenferroError,
    TracingError,
    UnsupportedDynamicShapeError,
)
from tenferro.ir import (
    DimExpr,
    DTypeLike,
    ExecOp,
    Number,
    NumpyArray,
    TensorMeta,
    as_dtype,
    dtype_kind,
)
from tenferro.ops.functions import (
    KINDS,
    ArrayOperators,
    apply,
    apply_method,
    convert,
    emit_function,
    enter_kind,
    is_number,
    manipulation,
    outside,
)
from tenferro.runtime.array_attributes import ArrayAttributes, Device
from tenferro.runtime.devices import (
    absent,
    device_of,
    executor_on,
    handed_out,
    import_dlpack,
    place,
    place_of,
    where_to_run,
)
from tenferro.runtime.executors import (
    Buffer,
    Executor,
    executor_module,
    executor_named,
    owner_of,
    tensor_owner,
)
from tenferro.runtime.host_arrays import (
    DLPACK_HOST,
    NARROWER,
    buffer_meta,
    exported,
    host_array,
    narrowed,
    refuse_masked,
    sealed,
    shared_array,
)
from tenferro.runtime.plans import (
    HOST_PLANS,
    ValueContext,
    checked_types,
    is_worth_caching,
    number_key,
    with_options,
)

__all__ = [
    "RunEmitter",
    "ShownType",
    "Tensor",
    "as_operand",
    "by_dtype_rules",
    "fitted",
    "is_array",
    "is_type",
    "mentions_symbols",
    "meta_of_value",
    "page_of",
    "text_of",
    "weak_number",
    "wrap_all",
]


# RunEmitter: runs each op as it is emitted.


class RunEmitter(Emitter[Buffer]):
    """Runs each op as it is emitted. Values are buffers of `executor`; NumPy arrays if it is None.

    On NumPy arrays an extension op is run by its own `eager_execute`.
    """

    ctx = ValueContext(buffer_meta)

    def __init__(self, executor: Executor | None) -> None:
        self._host = executor is None
        self._executor = executor_named("numpy") if executor is None else executor

    @property
    def executor(self) -> Executor | None:
        """The executor whose buffers the values are; None for NumPy arrays."""
        return None if self._host else self._executor

    def emit(self, op: PrimitiveOp, *operands: Buffer) -> Buffer:
        """The output of a single-output op."""
        return only_output(op, self.emit_all(op, *operands))

    def emit_all(self, op: PrimitiveOp, *operands: Buffer) -> tuple[Buffer, ...]:
        """All outputs of the op, after its shape rule has accepted the operands."""
        exec_op = cast(ExecOp, op)
        checked_types(exec_op, [buffer_meta(operand) for operand in operands])
        with outside():  # kernels of others may call array functions
            if self._host and exec_op.family is not None:
                return exec_op.evaluate(operands)  # directly, without a registered runtime
            return self._executor.run_op(exec_op, *operands)


# How tensors are printed: as text, in format strings, and in notebooks.

_IMPLIED = (np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.complex128))


def text_of(name: str, array: NumpyArray) -> str:
    """The elements with the dtype, if it is not that of Python numbers; `name` is the type.

    >>> text_of("Tensor", np.zeros((0, 3)))
    'Tensor([], shape=(0, 3), dtype=float64)'
    """
    body = np.array2string(array, separator=", ", prefix=f"{name}(")
    shape = f", shape={array.shape}" if array.size == 0 and array.shape != (0,) else ""
    implied = array.dtype in _IMPLIED and array.size > 0
    return f"{name}({body}{shape})" if implied else f"{name}({body}{shape}, dtype={array.dtype})"


def outline_of(name: str, meta: TensorMeta, why: str) -> str:
    """A tensor whose elements cannot be read here; `why` says so.

    >>> from tenferro.shape import make_meta
    >>> outline_of("Tensor", make_meta("float64", (8, 3)), "is on 2 processes")
    'Tensor(shape=(8, 3), dtype=float64, is on 2 processes)'
    """
    return f"{name}(shape={meta.static_shape}, dtype={meta.dtype}, {why})"


def formatted(array: NumpyArray, spec: str, meta: TensorMeta) -> str:
    """The array in a format string, as NumPy has it: one number as that number.

    Raises:
        ShapeError: there is a format for numbers, and the array has axes.
    """
    if not array.ndim:
        return format(array.item(), spec)
    if spec:
        raise ShapeError(
            f"format: {spec!r} is for one number, not for {meta}; format its elements, as in "
            f"[f'{{v:{spec}}}' for v in x.tolist()]"
        )
    return str(array)


LINES_OF_A_PAGE = 120
"""How many lines of a text a notebook shows."""


def page_of(text: str, title: str = "") -> str:
    """Text as HTML, for notebooks, in the colours of the page; of a long text both ends.

    >>> print(page_of("a < b", "f64[2]"))
    <div><code>f64[2]</code><pre style="white-space: pre; overflow-x: auto">a &lt; b</pre></div>
    """
    lines = text.split("\n")
    if (hidden := len(lines) - LINES_OF_A_PAGE) > 0:
        end = LINES_OF_A_PAGE // 4
        left_out = f"… {hidden} more lines; print() shows all …"
        text = "\n".join([*lines[: LINES_OF_A_PAGE - end], left_out, *lines[-end:]])
    head = f"<code>{html.escape(title)}</code>" if title else ""
    style = "white-space: pre; overflow-x: auto"
    return f'<div>{head}<pre style="{style}">{html.escape(text)}</pre></div>'


# Tensor: a value at run time.


class Tensor(ArrayAttributes, ArrayOperators):
    """An input or result of a program: dtype, shape, and a buffer on host or device.

    Immutable. Operators compute immediately, on the device of the operands. A tensor on the host
    goes where another operand is; between devices nothing is moved implicitly. NumPy reads a tensor
    through `__array__`, other libraries through `__dlpack__`.

    >>> import tenferro as tn
    >>> x = tn.Tensor([1.0, 2.0, 3.0])
    >>> x * x + 1
    Tensor([ 2.,  5., 10.])
    >>> (x @ x).item()
    14.0
    """

    __slots__ = ("__weakref__", "_buffer", "_executor")

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

    def to_column_major(self) -> NumpyArray:
        """The elements as a vector, the first axis fastest."""
        return self.numpy().ravel(order="F")

    @property
    def data(self) -> Buffer:
        """The buffer, for users: a NumPy array, or the executor's device array.

        The memory of an array that users had is not used again, so tenferro reads `_buffer`.
        """
        return handed_out(self._buffer, self._executor)

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
        return device_of(self._buffer, self._executor)

    @property
    def sharding(self) -> Any:
        """How the buffer is divided among devices, as JAX says it; None on the host."""
        return getattr(self._buffer, "sharding", None)

    @property
    def device(self) -> Device:
        """Where the buffer is, as `placement`: what `device=` of functions and `to_device` take."""
        return Device(self.placement)

    def to_device(self, device: str | Executor, *, stream: None = None) -> Tensor:
        """The tensor on the host (`"host"`), or on another device.

        Args:
            device: what `device` and `placement` of tensors say, such as `"cpu:0"`; an executor, or
                its name; or a sharding.
            stream: of the array API standard; only None.

        Raises:
            DeviceError: there is no such device, or a stream is given.

        >>> Tensor([1.0]).to_device("host").placement
        'host'
        """
        if stream is not None:
            raise DeviceError(f"to_device: stream must be None, got {stream!r}")
        if hasattr(device, "device_set"):  # of JAX's shardings
            return Tensor(executor_module("xla").sharding.placed(self.data, device))
        executor = executor_on(device)
        owner = tensor_owner(executor)
        if owner is self._executor and owner is None:
            return self
        if owner is not None and place_of(owner) == self.placement:
            return self if owner is self._executor else Tensor.wrap(self._buffer, owner)
        host = self._buffer if self._executor is None else self._executor.get(self._buffer)
        return Tensor.wrap(executor.put(host), owner)

    @classmethod
    def sharing(cls, data: object) -> Self:
        """The tensor of an array of another library, without a copy.

        Whoever owns the memory must not change it, or the tensor changes too.

        Raises:
            ExchangeError: only a copy can be used.
        """
        if isinstance(data, Tensor) or owner_of(data) is not None:
            return cls(data)
        kind = data.__dlpack_device__()[0] if hasattr(data, "__dlpack_device__") else 1
        buffer = import_dlpack(data) if kind != DLPACK_HOST[0] else None
        return cls.wrap(shared_array(data), None) if buffer is None else cls(buffer)

    def copy(self) -> Self:
        """The tensor in memory of its own."""
        executor = self._executor
        host = self.numpy()
        buffer = sealed(host.copy()) if executor is None else executor.put(host)
        return type(self).wrap(buffer, executor)

    def view(self, dtype: DTypeLike | None = None) -> Tensor:
        """The bits of the elements read as another dtype; the last axis takes up other sizes.

        Raises:
            ShapeError: the bytes of the last axis are not a number of elements of `dtype`.

        >>> Tensor([1.0]).view("int64")
        Tensor([4607182418800017408])
        """
        self.refuse_if_tracked("view")
        if dtype is None:
            return self
        try:
            bits = self.numpy().view(as_dtype(dtype))
        except ValueError as error:
            raise ShapeError(f"view: {self.meta} as {as_dtype(dtype)}: {error}") from None
        executor = self._executor
        buffer = sealed(bits) if executor is None else executor.put(bits)
        return Tensor.wrap(buffer, executor)

    def block_until_ready(self) -> Self:
        """The tensor, once its device has computed it."""
        wait = getattr(self._executor, "wait", None)
        if wait is not None:
            wait(self._buffer)
        return self

    def numpy(self) -> NumpyArray:
        """The elements as a read-only NumPy array; copied from the device if they are there."""
        if self._executor is not None:
            return self._executor.get(self._buffer)
        view: NumpyArray = (
            self._buffer.view()
        )  # a view of a read-only array cannot be made writable
        return view

    @property
    def backward(self) -> Any:
        """Not there: only tensors of an `EagerRuntime` have it."""
        raise AttributeError(
            "backward: a Tensor records nothing; use tn.grad(f)(x), or compute with "
            "x = tn.EagerRuntime().variable(array) and call loss.backward()"
        )

    def item(self, *args: Any) -> Any:
        """The only element, or that at an index, as a Python number.

        Raises:
            ShapeError: there is more than one element, or none.
            AxisError: there is no element at the index.
        """
        if not args:
            return self._only("item")
        try:
            return self.numpy().item(*args)
        except IndexError as error:
            raise AxisError(f"item: {self.meta}: {error}") from None

    def _only(self, name: str) -> Any:
        """The only element; `name` is what the user called."""
        if self.size != 1:
            advice = "; reduce it first, or select one element"
            if name == "bool":
                advice = ", so that it is neither true nor false; use .any() or .all()"
            raise ShapeError(f"{name}: {self.meta} has {self.size} elements, not one{advice}")
        return self.numpy().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray:
        self.refuse_if_tracked("a NumPy array")
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        self.refuse_if_tracked("a DLPack capsule")
        if self._executor is None:
            return exported(self._buffer, stream, max_version, dl_device, copy)
        return self.data.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> Any:
        return self._buffer.__dlpack_device__()

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
        return restored, (self.numpy(), self.placement)

    def __float__(self) -> float:
        return float(self._only("float"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def __bool__(self) -> bool:
        return bool(self._only("bool"))

    def __index__(self) -> int:
        return operator.index(self._only("an index"))

    def __len__(self) -> int:
        if not self.shape:
            raise NoAxesError(f"len: {self.meta} has no axes: it has no length and no parts")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        hidden = not spec and absent(self._buffer, self._executor)
        return repr(self) if hidden else formatted(self.numpy(), spec, self.meta)

    def __str__(self) -> str:
        return str(self.numpy()) if absent(self._buffer, self._executor) is None else repr(self)

    def __repr__(self) -> str:
        name, why = type(self).__name__, absent(self._buffer, self._executor)
        return text_of(name, self.numpy()) if why is None else outline_of(name, self.meta, why)

    def _repr_html_(self) -> str:
        return page_of(repr(self), f"{self.meta} on {self.placement}")


def mentions_symbols(option: object) -> bool:
    """Whether an option is a size without a number yet, or has one among its items."""
    if isinstance(option, slice):
        return mentions_symbols((option.start, option.stop))
    if isinstance(option, tuple | list):
        return any(map(mentions_symbols, option))
    return isinstance(option, DimExpr)


def restored(array: NumpyArray, placement: str) -> Tensor:
    """The tensor that was pickled: its elements, on the device where it was.

    In a process that was forked from one where the executor of the device ran, it is on the host.

    Raises:
        DeviceError: this process does not have the device.
    """
    tensor = Tensor(array)
    try:
        return tensor.to_device(placement)
    except ForkedError:
        return tensor
    except DeviceError as error:
        raise DeviceError(
            f"unpickling: {tensor.meta} was on {placement!r}, which is not here; call "
            f"to_device('host') before it is pickled ({error})"
        ) from None


# Array functions of runtime values.


def _compute(  # noqa: C901  # the usual case is written out, since every call passes here
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    operator: bool,
) -> Any:
    """Run an array function on runtime values, on the device where they are.

    On the host the ops are written down once for equal types, numbers and options. Values on the
    host are moved to the others. A function whose options name sizes of a trace is recorded.

    Returns NotImplemented if an operand is not a runtime value, so that Python tries the operand's
    own operator.

    Raises:
        DeviceError: tensors are on different devices.
        ShapeError: a size of the result is a name.
    """
    rules = rules_here.get() or RULES_OF_PROCESS[0]  # as `dtype_rules`, without a call
    parts: list[Any] = [function]
    if rules is not DEFAULT_RULES:
        parts.append(rules)
        operands = by_dtype_rules(operands)
    buffers: list[Any] = []
    try:
        for operand in operands:
            if type(operand) is Tensor and operand._executor is None:
                buffer = operand._buffer
                buffers.append(buffer)
                parts += (buffer.dtype, buffer.shape)
            elif is_number(operand):
                parts.append(number_key(operand))
            elif type(operand) is np.ndarray:
                buffer = host_array(operand)
                buffers.append(buffer)
                parts += (buffer.dtype, buffer.shape)
            else:
                key = None
                break
        else:
            key = with_options(parts, options) if options else tuple(parts)
        plan = HOST_PLANS.get(key)
        if plan is None and key is not None and is_worth_caching(function):
            metas = map(buffer_meta, buffers)
            types = [each if is_number(each) else next(metas) for each in operands]
            plan = HOST_PLANS.make(key, function, types, options)
        if not plan:
            return _run(function, operands, options, operator)
        kernel, single = plan
        made = [Tensor.wrap(sealed(buffer, True), None) for buffer in kernel(buffers)]
        return made[0] if single else tuple(made)
    except ExtentError as error:
        if operator:
            raise
        what = str(error).partition(": ")[2] or str(error)
        raise ExtentError(f"{called_function(function.__name__)}: {what}") from None
    except DTypeError as error:
        if not str(error).startswith("dtype: "):
            raise
        raise DTypeError(f"{called_function(function.__name__)}: {error}") from None
    except (ShapeError, TracingError) as error:
        if mentions_symbols(list(options.values())):
            return KINDS[DimExpr].apply(function, operands, options, operator)
        if isinstance(error, UnsupportedDynamicShapeError):
            _refuse_names(function.__name__, options, error)
        raise


def _refuse_names(name: str, options: dict[str, Any], error: Exception) -> None:
    """Raise ShapeError if an option that `name` was called with is a size with a name.

    Values have no named sizes, so those of the error come from options.
    """
    named = set(_NAME.findall(str(error).rpartition(": ")[2]))
    stack = list(options.values())
    for option in stack:
        if isinstance(option, tuple | list):
            stack.extend(option)
        elif isinstance(option, str) and named & set(_NAME.findall(option)):
            raise ShapeError(
                f"{name}: the size {option!r} has a number only in a function that is traced; pass "
                "a number, or the size of a value, such as x.shape[0]"
            ) from error


_NAME = re.compile(r"[A-Za-z_]\w*")


def _run(
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    operator: bool,
) -> Any:
    """Run a function op by op; the kind of the entries of a list may apply it instead."""
    wholes = tuple([manipulation.from_entries(operand) for operand in operands])
    if any(whole is not operand for whole, operand in zip(wholes, operands, strict=True)):
        return (apply_method if operator else apply)(function, *wholes, **options)
    lifted = [as_operand(operand) for operand in operands]
    if any(operand is NotImplemented for operand in lifted):
        return NotImplemented
    tensors = [value for value in lifted if isinstance(value, Tensor)]
    executor = where_to_run(function.__name__, tensors)
    values = [
        value if not isinstance(value, Tensor) else place(function.__name__, value, executor)
        for value in lifted
    ]
    result: Any = emit_function(RunEmitter(executor), function, *values, **options)
    results = result if isinstance(result, tuple) else (result,)
    made = [Tensor.wrap(sealed(b, True) if executor is None else b, executor) for b in results]
    return tuple(made) if isinstance(result, tuple) else made[0]


enter_kind(Tensor, 0, _compute)
KINDS[object] = KINDS[Tensor]


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


def by_dtype_rules(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands as the rules say; where floats have 32 bits, NumPy's scalars are Python numbers.

    By the rules of JAX, arrays of NumPy are narrowed, too, unless a tensor has floats of 64 bits.
    """
    rules = dtype_rules()
    if rules.default_float != "float32":
        return operands
    wide = np.float64 | np.complex128
    operands = tuple([each.item() if isinstance(each, wide) else each for each in operands])
    if not rules.narrows or any(_is_wide_tensor(each) for each in operands):
        return operands
    return tuple(map(narrowed, operands))


def _is_wide_tensor(value: Any) -> bool:
    return not isinstance(value, np.ndarray) and getattr(value, "dtype", None) in NARROWER


# Kinds of values of users: arrays, numbers with a weak dtype, and others.


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
    """The type of an array, array-like data, a `TensorSpec` or JAX's `ShapeDtypeStruct`, or None.

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
        return TensorMeta.of(value.dtype, value.shape) if is_type(value) else None


def is_type(value: Any) -> bool:
    """Whether a value has a shape and a dtype, but no elements, as JAX's `ShapeDtypeStruct`."""
    has_type = isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype")
    return has_type and not hasattr(value, "__array__") and not hasattr(value, "__dlpack__")


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

    Python numbers, lists of them, and traced values that stand for numbers have a weak dtype. By
    JAX's rules for 32 bits, floats of 64 bits in arrays of NumPy become those of 32 that are asked.

    Raises:
        DTypeError: a number does not fit the declared dtype.
        ShapeError: a list is ragged.
    """
    if getattr(value, "weak", None) is not None:
        if dtype_kind(value.dtype) != dtype_kind(meta.dtype):
            return value
        return apply(convert, value, dtype=meta.dtype)
    if not is_number(value) and not isinstance(value, list | tuple):
        if not isinstance(value, np.ndarray) or not dtype_rules().narrows:
            return value
        return narrowed(value) if meta.dtype in NARROWER.values() else Tensor(value)
    plain = Tensor(value)
    if plain.dtype == meta.dtype:
        return plain
    kind, declared = (dtype_kind(dtype).replace("u", "i") for dtype in (plain.dtype, meta.dtype))
    if "bifc".index(kind) > "bifc".index(declared):
        raise DTypeError(f"{plain.meta} does not fit {meta}")
    with np.errstate(over="ignore"):
        converted = plain.numpy().astype(meta.dtype)
    if declared == "i" and not np.array_equal(converted, plain.numpy()):
        raise DTypeError(f"{value} does not fit {meta}")
    return Tensor(converted)
