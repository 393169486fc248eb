"""TracedTensor: a value of a graph; concrete arrays become constants or hoisted inputs.

An array above the limit becomes an input of the program with the array as default value. It is not
a literal of the program, and it is not hashed. If the same array is captured again, the same input
is used.
"""

from __future__ import annotations

import inspect
import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any, NoReturn, Self, cast

import numpy as np

from tenferro.config import DEFAULT_RULES, RULES_OF_PROCESS, config, rules_here
from tenferro.core import (
    PRIMAL,
    Derived,
    GlobalValKey,
    Input,
    KeyEmitter,
    PrimitiveOp,
    SingleOutputNode,
    called_function,
    input_key,
    name_of,
    only_output,
    op_key,
    user_site,
)
from tenferro.errors import (
    NoAxesError,
    TenferroError,
    TracingError,
    UnsupportedDynamicShapeError,
    class_of,
)
from tenferro.ir import (
    FLOAT64,
    AnyTensor,
    Dim,
    DimExpr,
    Number,
    ShapeExtent,
    TensorInput,
    TensorMeta,
    annotate,
    bring_guards,
    check_size,
    fresh_input,
    is_traced_value,
    type_of,
)
from tenferro.ops import AssumeSize, Constant, shape_context
from tenferro.ops.functions import (
    KINDS,
    ArrayOperators,
    Expression,
    apply,
    elementwise,
    enter_kind,
    is_number,
    manipulation,
    refuse,
    run_body,
)
from tenferro.runtime import (
    Tensor,
    TraceContext,
    by_dtype_rules,
    current_trace,
    is_tracing,
    open_traces,
    owner_of,
    text_of,
)
from tenferro.transforms.data_sizes import (
    as_sized_op,
    check_assumed,
    is_decided,
    named,
    require_sizes,
    sizes_in,
    stand_in,
)
from tenferro.transforms.known_elements import carries_derivative, elements_of
from tenferro.transforms.trees import flatten, leaf_names, unflatten

__all__ = [
    "CapturedArray",
    "EagerCapture",
    "TraceEmitter",
    "TracedTensor",
    "argument_names",
    "as_key",
    "capture",
    "check_named",
    "create",
    "record",
    "split_result",
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


class EagerCapture:
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
            return input_key(trace.tracked.setdefault(id(value), EagerCapture(value)))
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
    """Whether a captured array still has the same elements: a view may write to read-only ones."""
    if captured.source is not source:
        return False
    if not isinstance(source, np.ndarray):
        return True
    copy = captured.tensor.numpy()
    if copy.dtype != source.dtype or copy.shape != source.shape:
        return False
    own, other = copy.view(np.uint8), np.ascontiguousarray(source).view(np.uint8)
    return bool(np.array_equal(own, other))


def check_named(name: str, *sizes: object) -> None:
    """Raise TracingError if a size is a name, and no function is traced whose inputs define it."""
    for size in sizes:
        if isinstance(size, str) and not is_tracing():
            raise TracingError(
                f"{name}: the size {size!r} has a number only in a function that is traced; pass "
                "a number, or the size of a value, such as x.shape[0]"
            )


# Which arguments of the traced functions a value depends on, for errors.

_NAMES = 5
"""How many arguments of one function a text lists."""


def argument_names(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[str]:
    """Names for the leaves of the arguments, in the order of `flatten((args, kwargs))`.

    Raises:
        TracingError: `function` cannot be called.
    """
    if not callable(function):
        raise TracingError(
            f"{called_function('trace')}: takes a function of arrays, got {class_of(function)}"
        )
    if type(function) is FunctionType and not function.__dict__:  # what `inspect` finds out slowly
        positional = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    else:
        positional = positional_names(function)
    names: list[str] = []
    for place, arg in enumerate(args):
        names += leaf_names(arg, positional[place] if place < len(positional) else f"arg{place}")
    for root in sorted(kwargs):
        names += leaf_names(kwargs[root], root)
    return names


def positional_names(function: Callable[..., Any]) -> list[str]:
    """The parameters that can be passed by position; none for builtins without a signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def dependence(value: GlobalValKey) -> str:
    """What errors say of the arguments that a value depends on, those of the inner function first.

    An argument of a function within another one depends on what was passed for it.
    """
    traces = open_traces()
    arguments: dict[GlobalValKey, tuple[TraceContext, str]] = {}
    passed: dict[GlobalValKey, Any] = {}
    for trace in traces:
        arguments.update((key, (trace, name)) for key, name in _arguments(trace).items())
        passed.update(trace.arguments)
    met: set[GlobalValKey] = set()
    stack = [value]
    while stack:
        key = stack.pop()
        if key in met:
            continue
        met.add(key)
        if is_traced_value(passed.get(key)):
            stack.append(passed[key].key)
        elif isinstance(key, Derived):
            stack += key.op.inputs
    texts = []
    for trace in reversed(traces):
        names = [name for key, (of, name) in arguments.items() if of is trace and key in met]
        if names:
            texts.append(f"the {_listed('argument', names)} of {trace.name}")
    others = [
        str(key.key)
        for key in met
        if isinstance(key, Input) and isinstance(key.key, TensorInput)
        if key not in arguments and key not in passed
    ]
    if others:
        texts.append(f"the {_listed('input', sorted(others))}")
    if not texts:
        return "it depends on no argument: made with NumPy, it would be known"
    return f"it depends on {', and on '.join(texts)}"


def _arguments(trace: TraceContext) -> dict[GlobalValKey, str]:
    """The names of the traced leaves of what the function of a trace was called with."""
    if trace.call is None:
        return {}
    function, args, kwargs = trace.call
    leaves, _ = flatten((args, dict(kwargs)))
    return {
        cast(Any, leaf).key: name
        for leaf, name in zip(leaves, argument_names(function, args, kwargs), strict=False)
        if is_traced_value(leaf)
    }


def _listed(what: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{what} {names[0]}"
    last = names[-1] if len(names) <= _NAMES else f"{len(names) - _NAMES + 1} more"
    return f"{what}s {', '.join(names[: min(len(names), _NAMES) - 1])} and {last}"


# TracedTensor: a value of a graph under construction.


class TracedTensor(ArrayOperators):
    """A value that a program will compute: dtype, exact rank, and extents with their guarantee.

    Operators and array functions record ops. Python control flow needs elements: they are known in
    a transform such as `grad` that is called on arrays, and an error in a function that is
    compiled.

    `weak` is a Python number of the value's kind if its dtype yields to that of arrays, as that of
    Python numbers does; else None. `scope` is the trace that the value belongs to, or None.

    >>> x = TracedTensor.input(("n", 3), "float64", name="x")
    >>> y = x * 2 + 1
    >>> y
    TracedTensor(f64[n,3])
    """

    __slots__ = ("key", "scope", "weak")

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
        return meta.exact_shape() if meta.dims is not None else sizes_in(meta)

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
        elements = None
        with suppress(TenferroError):  # of an op that does not run on the host
            elements = self.elements
        if elements is None:
            return f"TracedTensor({self.meta})"
        return text_of("TracedTensor", elements)

    def __hash__(self) -> int:  # type: ignore[override]  # other arrays have none
        if self.scope is not None:
            self._refuse("hash()", "use a number or a name as a key; == is elementwise")
        return object.__hash__(self)  # an input by itself names what is bound to it

    def __len__(self) -> int:
        if not self.shape:
            raise NoAxesError(f"len: {self.meta} has no axes: it has no length and no parts")
        if not isinstance(self.shape[0], int):
            if (elements := self.elements) is not None:
                return len(elements)
            raise TracingError(
                f"len: the size of the first axis of {self.meta} is not known while tracing"
            )
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._known("bool()", "branch with tn.cond or tn.where"))

    def __float__(self) -> float:
        return float(
            self._known("float()", "keep it a tensor, or return it from the traced function")
        )

    def __int__(self) -> int:
        return int(self._known("int()", "keep it a tensor, or make the argument static"))

    def __complex__(self) -> complex:
        return complex(
            self._known("complex()", "keep it a tensor, or return it from the traced function")
        )

    def __index__(self) -> int:
        known = self._known(
            "an index",
            "to index a list, make it an array with tn.asarray; for a slice, use "
            "tn.lax.dynamic_slice; or make the argument static with static_argnames",
        )
        return known.__index__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        known = self._known(
            "a NumPy array",
            "use the functions of tenferro instead of NumPy's; to index an array of NumPy, make it "
            "a tensor with tn.asarray",
        )
        if carries_derivative(self.key):
            raise TracingError(
                f"a NumPy array of a traced value {self.meta} ({self.name}): its derivative would "
                "be lost; use the functions of tenferro instead of NumPy's, or pass "
                f"tn.stop_gradient(x); x.numpy() reads the elements; {self.dependence}"
            )
        return known.__array__(dtype, copy)

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        return format(self._known("the text", "print it without a format, or return it"), spec)

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
        """The element, as a Python number, if the arguments of the transform are known."""
        return self._known("item()", "return it from the traced function").item()

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements, if the arguments of the transform are known."""
        return self._known("numpy()", "return it from the traced function").numpy()

    def tolist(self) -> Any:
        """The elements as lists, if the arguments of the transform are known."""
        return self._known("tolist()", "return it from the traced function").tolist()

    def _known(self, use: str, advice: str) -> Tensor:
        """The elements; TracingError if the value has none, as in a function that is compiled."""
        elements = self.elements
        if elements is None:
            self._refuse(use, advice)
        return Tensor(elements)

    @property
    def elements(self) -> np.ndarray[Any, Any] | None:
        """The elements, while the trace is open, if its arguments are known; else None."""
        if self.scope is not None and not self.scope.is_open:
            return None
        return elements_of(stand_in(self.key))

    def _refuse(self, use: str, advice: str) -> NoReturn:
        raise TracingError(
            f"{use} of a traced value {self.meta} ({self.name}): it has no value yet; {advice}; "
            f"{self.dependence}"
        )


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
        if op.assumes:  # type: ignore[attr-defined]
            self._assume(op, operands)
        return output

    def _assume(self, op: Any, operands: Sequence[GlobalValKey]) -> None:
        """Hand what an op assumes of the sizes of its operands to the trace."""
        metas = [type_of(each) for each in operands]
        if any(meta.static_shape is None for meta in metas):
            bring_guards(op.assumptions(metas, self._reason(operands)))

    def _reason(self, operands: Sequence[GlobalValKey]) -> str:
        """What needs sizes to be equal, its operands and where it was written."""
        name, values = "call", operands
        if self.call is not None:
            function, operands_of_call = self.call
            name, values = (
                function.__name__,
                [v for v in operands_of_call if isinstance(v, GlobalValKey)],
            )
        types = " and ".join(str(type_of(value)) for value in values)
        site = "" if self.site is None else f" ({self.site})"
        return f"{name}: operands have types {types}{site}"

    def emit_all(self, op: PrimitiveOp, *operands: GlobalValKey) -> tuple[GlobalValKey, ...]:
        """All outputs of the op."""
        outputs = op_key(op, operands, PRIMAL, self.site).outputs
        if outputs:
            type_of(outputs[0])
        if op.assumes:  # type: ignore[attr-defined]
            self._assume(op, operands)
        return outputs


_CONTEXT = shape_context()


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
    if (rules_here.get() or RULES_OF_PROCESS[0]) is not DEFAULT_RULES:
        operands = by_dtype_rules(operands)
    if is_decided(operands) or is_decided(options):
        return _record_for_names(function, operands, options, weak_result)
    lifted: list[Any] = []
    at = TraceEmitter(user_site(2), (function, lifted))
    expressions: list[Any] = []
    scope: TraceContext | None = None
    for operand in operands:
        if type(operand) is TracedTensor:
            key, own = stand_in(operand.key), operand.scope
            if own is not None and own is not scope:
                if not own.is_open:
                    operand.in_use(function.__name__)
                scope = own if scope is None else scope.inner_of_two(own)
            expressions.append(Expression(at, key, operand.weak))
        else:
            key = _lift(operand)
            if key is NotImplemented:
                return NotImplemented
            expressions.append(Expression(at, key) if isinstance(key, GlobalValKey) else key)
        lifted.append(key)
    first = expressions[0] if expressions else None
    origin = first if type(first) is Expression else Expression(at, None)
    try:
        result = run_body(origin, function, expressions, options)
        if isinstance(result, tuple):
            return tuple([TracedTensor(each.value, None, scope) for each in result])
        key, number = result.value, None
        if weak_result and "dtype" not in options:
            number = _number(expressions, key)
        return TracedTensor(key, number, scope)
    except UnsupportedDynamicShapeError as error:
        if all(_is_exact(key) for key in lifted):
            raise
        try:
            return _record_for_names(function, operands, options, weak_result)
        except UnsupportedDynamicShapeError:
            raise error from None


def _number(operands: Sequence[Any], key: GlobalValKey) -> Number | None:
    """A number of the kind of a result for which it stands; None if an operand is an array."""
    weak = False
    for operand in operands:
        if type(operand) is Expression:
            if operand.weak is None:
                return None
            weak = True
    return np.zeros((), type_of(key).dtype).item() if weak else None


def _is_exact(operand: Any) -> bool:
    """Whether data decide no size of an operand."""
    return not isinstance(operand, GlobalValKey) or type_of(operand).dims is not None


def _record_for_names(
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    weak_result: bool,
) -> Any:
    """Like `record`, with names for sizes that data decide; see `as_sized_op`."""
    return as_sized_op(
        lambda: record(function, named(operands), named(options), weak_result),
        split_result,
        user_site(3),
        (operands, options),
    )


def split_result(result: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The graph values and sizes in a tree, and a function that puts others in their places."""
    leaves, tree = flatten(result)
    parts = [leaf.key if isinstance(leaf, TracedTensor) else leaf for leaf in leaves]
    places = [place for place, part in enumerate(parts) if isinstance(part, GlobalValKey | DimExpr)]

    def whole(replaced: list[Any]) -> Any:
        values = list(leaves)
        for place, part in zip(places, replaced, strict=True):
            leaf = leaves[place]
            if isinstance(leaf, TracedTensor):
                part = TracedTensor(part, leaf.weak, leaf.scope)
            values[place] = part
        return unflatten(tree, values)

    return [parts[place] for place in places], whole


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
        return as_key(manipulation.from_entries(operand))
    return NotImplemented


enter_kind(TracedTensor, 2, record)
KINDS[DimExpr] = KINDS[TracedTensor]


# New arrays, and arithmetic of sizes: recorded while a function is traced.


def create(function: Callable[..., Any], *operands: Any, **options: Any) -> AnyTensor:
    """Create an array from the operands: recorded while tracing, else at once."""
    sizes = _sizes(options.get("shape", ()))
    if is_tracing() or any(isinstance(size, str | DimExpr) for size in sizes):
        result: AnyTensor = KINDS[DimExpr].apply(function, operands, options, False)
        return refuse(function, operands) if result is NotImplemented else result
    _check_new(function.__name__, options)
    return apply(function, *operands, **options)


def _check_new(name: str, options: dict[str, Any]) -> None:
    """Raise ExtentError, in the name of what the user called, if the array exceeds the budget."""
    sizes = _sizes(options.get("shape", ()))
    if all(isinstance(size, int) and size >= 0 for size in sizes) and math.prod(sizes) > 1 << 20:
        dtype = options.get("dtype") or FLOAT64
        check_size(TensorMeta.of(dtype, sizes), called_function(name), config.max_bytes)


def _sizes(shape: object) -> Any:
    return shape if isinstance(shape, tuple | list) else (shape,)


def _of_size(name: str, left: Any, right: Any) -> Any:
    """What an array function makes of a size and a number: of a weak dtype if that of both is."""
    function = getattr(elementwise, name).body
    result = KINDS[DimExpr].apply(function, (left, right), {}, False)
    if isinstance(result, TracedTensor) and all(
        isinstance(operand, DimExpr) or is_number(operand) for operand in (left, right)
    ):
        return TracedTensor(result.key, np.zeros((), result.dtype).item(), result.scope)
    return result


DimExpr.arithmetic = staticmethod(_of_size)
