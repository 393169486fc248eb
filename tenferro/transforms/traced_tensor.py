"""TracedTensor: a value of a graph; concrete arrays become constants or hoisted inputs.

An array above the limit becomes an input of the program with the array as default value. It is not
a literal of the program, and it is not hashed. If the same array is captured again, the same input
is used.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Self

import numpy as np

from tenferro.config import config
from tenferro.core import (
    PRIMAL,
    GlobalValKey,
    KeyEmitter,
    PrimitiveOp,
    SingleOutputNode,
    input_key,
    name_of,
    only_output,
    op_key,
)
from tenferro.errors import NoAxesError, TracingError, UnsupportedDynamicShapeError
from tenferro.ir import (
    Dim,
    DimExpr,
    Number,
    NumpyArray,
    ShapeExtent,
    ShapeGuardContext,
    TensorMeta,
    annotate,
    bring_guards,
    fresh_input,
    type_of,
)
from tenferro.ops import AssumeSize, Constant, shape_context
from tenferro.ops.functions import ArrayOperators, Weak, is_number, unwrapped
from tenferro.runtime import Tensor, TraceContext, current_trace, owner_of
from tenferro.transforms.data_sizes import (
    check_assumed,
    for_named_sizes,
    is_decided,
    named,
    require_sizes,
    sizes_of,
    stand_in,
)
from tenferro.transforms.trace_context import dependence, user_site

__all__ = [
    "CapturedArray",
    "TraceEmitter",
    "TracedTensor",
    "TrackedTensor",
    "as_key",
    "capture",
    "record",
]


# Concrete arrays that a traced function uses: small ones become constants, large ones inputs.


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


def capture(value: object, limit: int = config.literal_bytes) -> GlobalValKey:
    """The graph value of a concrete array: a constant up to `limit` bytes, else an input.

    Raises:
        ADError: an eager runtime tracks the value, and the function traced now may not read it.
    """
    if isinstance(value, Tensor):
        trace = current_trace() if value.tracked else None
        if trace is not None and trace.tracked is not None:
            return input_key(trace.tracked.setdefault(id(value), TrackedTensor(value)))
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


def _same_bytes(a: NumpyArray, b: NumpyArray) -> bool:
    return bool(np.array_equal(a.view(np.uint8), np.ascontiguousarray(b).view(np.uint8)))


# TracedTensor: a value of a graph under construction.


class TracedTensor(ArrayOperators):
    """A value that a program will compute: dtype, exact rank, and extents with their guarantee.

    Operators and array functions record ops. Python control flow needs elements and raises an
    error.

    `weak` is a Python number of the value's kind if its dtype yields to that of arrays, as that of
    Python numbers does; else None. `scope` is the trace that the value belongs to, or None.

    >>> x = TracedTensor.input(("n", 3), "float64", name="x")
    >>> y = x * 2 + 1
    >>> y
    TracedTensor(f64[n,3])
    """

    __slots__ = ("key", "scope", "weak")

    precedence = 2

    def __init__(
        self, key: GlobalValKey, weak: Number | None = None, scope: TraceContext | None = None
    ) -> None:
        self.key = key
        self.weak = weak
        self.scope = scope

    @classmethod
    def input(
        cls, shape: Sequence[int | str | Dim], dtype: object = "float64", name: str = "x"
    ) -> Self:
        """A new input. It differs from all others, even from those with the same name.

        Args:
            shape: extents; a name is a size that is known when the program runs.
            dtype: element type.
            name: the name for binding a value.

        Raises:
            ExtentError: an extent is negative or does not fit 64 bits.
        """
        return cls(fresh_input(TensorMeta.of(dtype, shape), name))

    @classmethod
    def constant(cls, value: object) -> Self:
        """A concrete array as a value of the graph."""
        return cls(capture(Tensor(value)))

    def in_use(self, name: str) -> GlobalValKey:
        """The graph value.

        Raises:
            TracingError: the trace that it belongs to has ended; `name` is what would use it.
        """
        if self.scope is not None and not self.scope.is_open:
            self._refuse_closed(name, self.scope)
        return stand_in(self.key)

    def _refuse_closed(self, name: str, scope: TraceContext) -> NoReturn:
        node = getattr(self.key, "node", self.key)
        site = getattr(node, "site", None)
        place = "" if site is None else f", recorded at {site}"
        raise TracingError(
            f"{name}: {self.meta} ({self.name}{place}) is a value of the trace of {scope.name}, "
            f"which has ended; return it from {scope.name}"
        )

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""
        return type_of(stand_in(self.key))

    @property
    def extents(self) -> tuple[ShapeExtent, ...]:
        """Size of each axis with its guarantee."""
        return self.meta.extents

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Size of each axis: an int, or an expression of symbols, of which data may decide some.

        Raises:
            UnsupportedDynamicShapeError: no value is known that has the size.
        """
        meta = self.meta
        return meta.exact_shape() if meta.dims is not None else sizes_of(meta)

    @property
    def size(self) -> Dim:
        """Number of elements."""
        total: Dim = 1
        for extent in self.shape:
            total = total * extent
        return total

    @property
    def name(self) -> str:
        """A short expression for the value."""
        return name_of(self.key)

    @property
    def dependence(self) -> str:
        """Which arguments the value depends on, as errors say it: `it depends on …`."""
        return dependence(self.key)

    def __repr__(self) -> str:
        return f"TracedTensor({self.meta})"

    def __hash__(self) -> int:  # type: ignore[override]  # other arrays have none
        if self.scope is not None:
            self._refuse("hash()", "use a number or a name as a key; == is elementwise")
        return object.__hash__(self)  # an input by itself names what is bound to it

    def __len__(self) -> int:
        if not self.shape:
            raise NoAxesError(f"len: {self.meta} has no axes: it has no length and no parts")
        if not isinstance(self.shape[0], int):
            raise TracingError(
                f"len: the size of the first axis of {self.meta} is not known while tracing"
            )
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        self._refuse("bool()", "branch with tn.cond or tn.where")

    def __float__(self) -> float:
        self._refuse("float()", "keep it a tensor, or return it from the traced function")

    def __int__(self) -> int:
        self._refuse("int()", "keep it a tensor, or make the argument static")

    def __complex__(self) -> complex:
        self._refuse("complex()", "keep it a tensor, or return it from the traced function")

    def __index__(self) -> int:
        self._refuse(
            "an index",
            "to index a list, make it an array with tn.asarray; for a slice, use "
            "tn.lax.dynamic_slice; or make the argument static with static_argnames",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self._refuse(
            "a NumPy array",
            "use the functions of tenferro instead of NumPy's; to index an array of NumPy, make it "
            "a tensor with tn.asarray",
        )

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse("the text", "print it without a format, or return it")
        return repr(self)

    @property
    def device(self) -> None:
        """None, the default of `device=`: a program runs on one device, chosen when it runs."""
        return

    def to_device(self, device: object, *, stream: None = None) -> Self:
        """The value itself for None; a program is on one device.

        Raises:
            TracingError: a device is given.
        """
        if device is not None:
            self._refuse(f"to_device({device!r})", "move the arguments and results of the program")
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        self._refuse("pickle", "return it from the traced function")

    def item(self) -> Any:
        """Always raises: the elements of a traced value are not known."""
        self._refuse("item()", "return it from the traced function")

    def numpy(self) -> np.ndarray[Any, Any]:
        """Always raises: the elements of a traced value are not known."""
        self._refuse("numpy()", "return it from the traced function")

    def tolist(self) -> Any:
        """Always raises: the elements of a traced value are not known."""
        self._refuse("tolist()", "return it from the traced function")

    def _refuse(self, use: str, advice: str) -> NoReturn:
        raise TracingError(
            f"{use} of a traced value {self.meta} ({self.name}): it has no value yet; {advice}; "
            f"{self.dependence}"
        )

    def _apply(self, function: Callable[..., Any], *operands: Any, **options: Any) -> Self:
        return record(function, operands, options, True)  # type: ignore[no-any-return]


class TraceEmitter(KeyEmitter):
    """Records each op; `site` is the line of the user's program that called it.

    Ops are not simplified, so that the graph is what the user wrote.
    """

    def __init__(
        self, site: str | None = None, call: tuple[Callable[..., Any], Sequence[Any]] | None = None
    ) -> None:
        self.ctx = _CONTEXT  # metadata of graph values
        self.site = site
        self.call = call  # the array function that emits, and its operands

    def emit(self, op: PrimitiveOp, *operands: GlobalValKey) -> GlobalValKey:
        """The output of a single-output op."""
        node = op_key(op, operands, PRIMAL, self.site)
        output = node if type(node) is SingleOutputNode else only_output(op, node.outputs)
        if output.analysis is None:
            type_of(output)  # raises for wrong operands here, at the user's line
        if op.derivative_needs_sizes:  # type: ignore[attr-defined]  # an op of tensors
            require_sizes(op, operands)
        if type(op) is AssumeSize:
            check_assumed(op, operands[0], "call" if self.call is None else self.call[0].__name__)
        self._assume(op, operands)
        return output

    def _assume(self, op: Any, operands: Sequence[GlobalValKey]) -> None:
        """Hand what an op assumes of the sizes of its operands to the trace."""
        if op.assumes:
            metas = [type_of(each) for each in operands]
            if any(meta.static_shape is None for meta in metas):
                bring_guards(op.assumptions(metas, self._reason(operands)))

    def _reason(self, operands: Sequence[GlobalValKey]) -> str:
        """What needs sizes to be equal, its operands and where it was written."""
        name, values = "call", operands
        if self.call is not None:
            function, given = self.call
            name, values = function.__name__, [v for v in given if isinstance(v, GlobalValKey)]
        types = " and ".join(str(type_of(value)) for value in values)
        site = "" if self.site is None else f" ({self.site})"
        return f"{name}: operands have types {types}{site}"

    def emit_all(self, op: PrimitiveOp, *operands: GlobalValKey) -> tuple[GlobalValKey, ...]:
        """All outputs of the op."""
        outputs = op_key(op, operands, PRIMAL, self.site).outputs
        if outputs:
            type_of(outputs[0])
        self._assume(op, operands)
        return outputs


_CONTEXT = shape_context()


class WeakEmitter(TraceEmitter):
    """Records ops, of operands of which some may be `Weak`."""

    __slots__ = ()

    def __init__(self, site: str | None, call: tuple[Callable[..., Any], Sequence[Any]]) -> None:
        super().__init__(site, call)
        self.ctx = _WEAK_CONTEXT

    def emit(self, op: PrimitiveOp, *operands: Any) -> GlobalValKey:
        """The output of a single-output op."""
        return super().emit(op, *map(unwrapped, operands))

    def emit_all(self, op: PrimitiveOp, *operands: Any) -> tuple[GlobalValKey, ...]:
        """All outputs of the op."""
        return super().emit_all(op, *map(unwrapped, operands))

    def producer(self, value: Any) -> tuple[Any, tuple[GlobalValKey, ...]] | None:
        """The op and operands of a single-output op."""
        return super().producer(unwrapped(value))

    def order(self, value: Any) -> int:
        """The number of a value: older values have smaller ones."""
        return super().order(unwrapped(value))


class _WeakContext(ShapeGuardContext):
    """Metadata of graph values, also of those that stand for numbers."""

    def meta(self, value: Any) -> TensorMeta:
        """Metadata of a value."""
        return type_of(unwrapped(value))


_WEAK_CONTEXT = _WeakContext(_CONTEXT.adder)


def record(  # noqa: C901  # the usual case is written out, since every array function is called
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    weak_result: bool = False,
) -> Any:
    """Apply an array function to values of which at least one is traced.

    What operators make of Python numbers is a number, and what functions make of them is an array.
    `weak_result` says which of the two it is, if all operands stand for numbers.

    A function that needs a size as a number which data decide is recorded for named sizes.

    Returns NotImplemented if the type of an operand is not supported.
    """
    if is_decided(operands) or is_decided(options):
        return _record_for_names(function, operands, options, weak_result)
    lifted: list[Any] = []
    weak = False
    scope: TraceContext | None = None
    for operand in operands:
        if type(operand) is TracedTensor:
            key, own = stand_in(operand.key), operand.scope
            if own is not None and own is not scope:
                if not own.is_open:
                    operand.in_use(function.__name__)
                scope = own if scope is None else scope.joined(own)
        else:
            key = _lift(operand)
            if key is NotImplemented:
                return NotImplemented
        lifted.append(key)
        if getattr(operand, "weak", None) is not None:
            weak = True
    site = user_site(2)
    try:
        if weak:
            return _record_weak(site, function, operands, lifted, options, scope, weak_result)
        return _traced(function(TraceEmitter(site, (function, lifted)), *lifted, **options), scope)
    except UnsupportedDynamicShapeError as error:
        if all(_is_exact(key) for key in lifted):
            raise
        try:
            return _record_for_names(function, operands, options, weak_result)
        except UnsupportedDynamicShapeError:
            raise error from None


def _is_exact(operand: Any) -> bool:
    """Whether data decide no size of an operand."""
    return not isinstance(operand, GlobalValKey) or type_of(operand).dims is not None


def _record_for_names(
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    weak_result: bool,
) -> Any:
    """Like `record`, with names for sizes that data decide; see `for_named_sizes`."""

    def call() -> Any:
        return record(function, named(operands), named(options), weak_result)

    def split(result: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        if result is NotImplemented:
            return [], lambda parts: NotImplemented
        several = result if isinstance(result, tuple) else (result,)

        def whole(parts: list[Any]) -> Any:
            made = [
                TracedTensor(key, each.weak, each.scope)
                for key, each in zip(parts, several, strict=True)
            ]
            return tuple(made) if isinstance(result, tuple) else made[0]

        return [each.key for each in several], whole

    return for_named_sizes(call, split, user_site(3), (operands, options))


def _record_weak(
    site: str | None,
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    lifted: Sequence[Any],
    options: dict[str, Any],
    scope: TraceContext | None,
    weak_result: bool,
) -> Any:
    """Like `record`, if some operands stand for Python numbers.

    `weak_result` says whether what the function makes of numbers alone stands for a number.
    """
    numbers = [getattr(operand, "weak", None) for operand in operands]
    wrapped = [
        key if number is None else Weak(key, number)
        for key, number in zip(lifted, numbers, strict=True)
    ]
    result = function(WeakEmitter(site, (function, lifted)), *wrapped, **options)
    if isinstance(result, tuple):
        return _traced(tuple(map(unwrapped, result)), scope)
    key = unwrapped(result)
    if (
        not weak_result
        or "dtype" in options
        or any(isinstance(each, GlobalValKey) for each in wrapped)
    ):
        return TracedTensor(key, None, scope)
    return TracedTensor(key, np.zeros((), type_of(key).dtype).item(), scope)


def _traced(result: GlobalValKey | tuple[GlobalValKey, ...], scope: TraceContext | None) -> Any:
    """The result as one tensor, or as a tuple of tensors."""
    if isinstance(result, tuple):
        return tuple([TracedTensor(key, None, scope) for key in result])
    return TracedTensor(result, None, scope)


def as_key(value: object) -> GlobalValKey:
    """The graph value of a traced tensor, or of a concrete array or number.

    Raises:
        DTypeError: the value is not an array of numbers.
        TracingError: the trace that it belongs to has ended.
    """
    if isinstance(value, TracedTensor):
        return value.in_use("trace")
    return capture(value if isinstance(value, Tensor) else Tensor(value))


def _lift(operand: Any) -> Any:
    if isinstance(operand, TracedTensor):
        return operand.in_use("trace")
    if is_number(operand) or isinstance(operand, DimExpr):
        return operand
    if isinstance(operand, Tensor | np.ndarray | np.generic) or owner_of(operand) is not None:
        return capture(operand)
    if isinstance(operand, list | tuple):
        return capture(Tensor(operand))
    return NotImplemented
