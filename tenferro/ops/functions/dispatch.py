"""The dispatcher: array functions applied to operands of any kind, and the ops in their bodies.

An array function is declared once, as users call it. Its body computes on expressions: values of an
emitter. So one declaration serves values of a graph, values at run time and formulas of
derivatives. Called with arrays, the function is applied by the operand of highest precedence, which
makes expressions of the operands and calls the body. Called with expressions, it is its body.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, update_wrapper
from inspect import signature
from operator import attrgetter
from types import FrameType, FunctionType, NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    NoReturn,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from tenferro import ops
from tenferro.core import PrimitiveOp, called_function, package_frames
from tenferro.errors import ConfigError, DTypeError, TenferroError
from tenferro.ir import AnyTensor, TensorMeta
from tenferro.ops import load_named, scalar

__all__ = [
    "KINDS",
    "OperandKind",
    "apply",
    "apply_method",
    "array_function",
    "broadcast_like",
    "emit",
    "emit_all",
    "enter_kind",
    "entering",
    "full",
    "full_like",
    "gather_along",
    "outside",
    "producer",
    "refuse",
    "refuse_out",
    "run_body",
    "with_optional",
    "zeros_like",
]

P = ParamSpec("P")
R = TypeVar("R")
Function = Callable[..., Any]

# Kinds of operands, and the choice among them.


class OperandKind(NamedTuple):
    """How operands of one class are computed with.

    Attributes:
        precedence: if operands have several kinds, that of the highest precedence applies the
            function: 0 on the host or a device, 1 eager, 2 traced, 3 expressions.
        apply: the results of a function on operands and options; NotImplemented if an operand is
            of no kind that it knows. The last argument says whether an operator is applied: what
            operators make of Python numbers is a number, what functions make of them is an array.
    """

    precedence: int
    apply: Callable[[Function, tuple[Any, ...], dict[str, Any], bool], Any]


KINDS: dict[type, OperandKind] = {}
"""The kinds of operands by class. Each kind enters itself when its module is loaded; `object` is
the kind of operands that are no tensors: Python numbers, NumPy arrays, lists and others."""


def enter_kind(
    kind: type,
    precedence: int,
    apply: Callable[[Function, tuple[Any, ...], dict[str, Any], bool], Any],
) -> None:
    """Enter a class whose tensors array functions take; its operators use `_apply`."""
    KINDS[kind] = OperandKind(precedence, apply)
    kind._apply = staticmethod(apply)  # type: ignore[attr-defined]


_NO_KIND = OperandKind(-1, lambda function, operands, options, operator: NotImplemented)


def apply(function: Function, *operands: Any, **options: Any) -> R:  # type: ignore[type-var]
    """The results of a function of expressions on operands of any kind.

    Raises:
        ConfigError: an option is an array, where a word, or True or False is meant.
        DTypeError: an operand is not an array or number.
    """
    result: R = _apply(function, operands, options, False)
    return result


def apply_method(function: Function, *operands: Any, **options: Any) -> R:  # type: ignore[type-var]
    """As `apply`, for methods of tensors: what they make of Python numbers is a number."""
    result: R = _apply(getattr(function, "body", function), operands, options, True)
    return result


def _apply(
    function: Function, operands: tuple[Any, ...], options: dict[str, Any], operator: bool
) -> Any:
    for option, value in options.items():
        if getattr(value, "ndim", 0) or (option == "out" and value is not None):
            _refuse_array(function, option, value)
    leader = _NO_KIND
    for operand in operands:
        kind = KINDS.get(type(operand))
        if kind is not None and kind[0] > leader[0]:
            leader = kind
    if leader is _NO_KIND:
        if _running.origin is not None:
            return function(*operands, **options)
        leader = KINDS.get(object) or _host_kind()
    result = leader.apply(function, operands, options, operator)
    return refuse(function, operands) if result is NotImplemented else result


def _host_kind() -> OperandKind:
    """The kind of arrays without a tensor, which is entered when tensors are loaded."""
    load_named("tenferro.transforms")
    return KINDS[object]


def refuse(function: Function, operands: tuple[Any, ...]) -> NoReturn:
    """Raise DTypeError: an operand is of no kind that the others know."""
    kinds = ", ".join(type(operand).__name__ for operand in operands)
    advice = next(filter(None, map(entering, operands)), "")
    raise DTypeError(f"{function.__name__}: takes arrays and numbers, got {kinds}{advice}")


def entering(value: object) -> str:
    """What errors say of a value of a function that JAX traces; of others nothing."""
    is_tracer = type(value).__module__.startswith("jax.") and hasattr(value, "aval")
    return _INSIDE_JAX if is_tracer else ""


_INSIDE_JAX = (
    "; functions of tenferro do not take values that JAX traces: make a program of the function "
    "and call tenferro_xla.to_jax(program), or use tn.jit and tn.grad instead of jax.jit and "
    "jax.grad"
)


def _apply_named(
    results: Callable[..., Any],
    function: Function,
    operands: tuple[Any, ...],
    options: dict[str, Any],
    operator: bool,
) -> Any:
    """As `_apply`, with several results in a named tuple."""
    made = _apply(function, operands, options, operator)
    return results(*made) if isinstance(made, tuple) else made


@overload
def array_function(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def array_function(
    *,
    operands: int = 1,
    optional: tuple[str, ...] = (),
    module: str = "tenferro",
    results: Callable[..., Any] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def array_function(
    function: Any = None,
    /,
    *,
    operands: int = 1,
    optional: tuple[str, ...] = (),
    module: str = "tenferro",
    results: Callable[..., Any] | None = None,
) -> Any:
    """Declare an array function, whose first parameters are its `operands`.

    The declared function is the body. The parameters `optional` are operands too if they are not
    None, such as the mask and the initial value of a sum. `module` is where users and pickle find
    the function. `results` is the class of named tuples that hold its results, if there are
    several.

    >>> import tenferro as tn
    >>> @array_function(operands=2)
    ... def gap(x: AnyTensor, y: AnyTensor) -> AnyTensor:
    ...     return abs(x - y)
    >>> gap(tn.array([1.0, 2.0]), 4)
    Tensor([3., 2.])
    """
    if function is None:
        return lambda function: _declared(function, operands, optional, module, results)
    return _declared(function, operands, optional, module, results)


def _declared(
    body: Any,
    operands: int,
    optional: tuple[str, ...],
    module: str,
    results: Callable[..., Any] | None,
) -> Any:
    names = tuple(body.__code__.co_varnames[: body.__code__.co_argcount])
    apply = _apply if results is None else partial(_apply_named, results)
    further = frozenset(optional)

    def public(*args: Any, **options: Any) -> Any:
        if len(args) != operands:
            if len(args) > len(names) or len(args) < operands:
                args, options = _bound(body, operands, args, options)
            else:  # options by position
                for name, value in zip(names[operands:], args[operands:], strict=False):
                    if name in options:
                        body(*args, **options)  # raises: the argument is there twice
                    options[name] = value
                args = args[:operands]
        if options and further and not further.isdisjoint(options):
            return apply(*with_optional(body, optional, args, options), False)
        return apply(body, args, options, False)

    body.__qualname__ = body.__name__  # also if another function makes it
    update_wrapper(public, body)
    public.body = body  # type: ignore[attr-defined]
    public.__module__ = module
    # Tracebacks and errors show the name that was called.
    public.__code__ = public.__code__.replace(co_name=body.__name__, co_qualname=body.__qualname__)
    body.__globals__.setdefault("__test__", {})[body.__name__] = body  # its examples are run
    return public


@dataclass(frozen=True)
class WithOptional:
    """An array function whose last operands are parameters with a name.

    Caches treat equal instances as one function.

    Attributes:
        body: of the array function.
        operands: how many operands come first.
        names: of the operands after them.
    """

    body: Function
    operands: int
    names: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return self.body.__name__

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """What the body makes of the operands."""
        named = zip(self.names, operands[self.operands :], strict=True)
        return self.body(*operands[: self.operands], **dict(named), **options)


def with_optional(
    body: Function, optional: tuple[str, ...], operands: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Function, tuple[Any, ...], dict[str, Any]]:
    """A call whose options `optional`, if they are not None, become operands."""
    names = tuple([name for name in optional if options.get(name) is not None])
    if not names:
        return body, operands, options
    rest = {name: value for name, value in options.items() if name not in names}
    further = tuple([options[name] for name in names])
    return WithOptional(body, len(operands), names), (*operands, *further), rest


def _bound(
    body: Function, operands: int, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands and options of a call that names operands.

    Raises:
        TypeError: `body` does not have these parameters.
    """
    try:
        bound = signature(body).bind(*args, **options)
    except TypeError:
        body(*args, **options)  # Python's own error names the function
        raise
    bound.apply_defaults()
    every = list(bound.arguments.values())
    named = list(bound.arguments)
    return tuple(every[:operands]), dict(zip(named[operands:], every[operands:], strict=True))


def _refuse_array(function: Any, option: str, array: Any) -> None:
    """Raise an error if an option is an array to write to, or a word, or True or False is meant.

    Raises:
        DTypeError: there is an array to write to.
        ConfigError: the option is declared as a word, or True or False.
    """
    if option == "out":
        refuse_out(called_function(function.__name__), array)
    if _is_word(_declared_types(function).get(option)):
        raise ConfigError(
            f"{called_function(function.__name__)}: {option} is an array of shape "
            f"{tuple(array.shape)}, where a word, or True or False is meant; arrays come first"
        )


def _require_flags(function: Any, options: Mapping[str, Any]) -> None:
    """Raise ConfigError if an option that is declared as True or False is a text."""
    for option, value in options.items():
        if isinstance(value, str) and _declared_types(function).get(option) in _FLAGS:
            raise ConfigError(f"{function.__name__}: {option} must be True or False, got {value!r}")


_FLAGS = (bool, bool | None)


def _declared_types(function: Any) -> dict[str, Any]:
    """The types of the parameters of an array function."""
    function = function.body if isinstance(function, WithOptional) else function
    return get_type_hints(
        function if isinstance(function, FunctionType) else type(function).__call__
    )


def refuse_out(name: str, out: object) -> None:
    """Refuse an array to write to: results are new arrays.

    Raises:
        DTypeError: there is one.
    """
    if out is not None:
        raise DTypeError(
            f"{name}: out= must be None: the result is a new array; arrays cannot be written to"
        )


def _is_word(annotation: object) -> bool:
    """Whether a type has words, True and False only, and None."""
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return all(map(_is_word, get_args(annotation)))
    return annotation in (bool, str, NoneType) or get_origin(annotation) is Literal


# Ops in bodies of array functions.

_VALUE = attrgetter("value")


class _Running(threading.local):
    """The array function whose body runs in this thread: an expression that it computes, or None.

    A body runs without interruption, so that a context variable, which is slower, is not needed.
    """

    origin: Any = None


_running = _Running()


def run_body(
    origin: Any, function: Function, operands: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The results of a function of expressions; `origin` is an expression that has an emitter only.

    What the body makes of numbers alone is computed there.
    """
    outer = _running.origin
    _running.origin = origin
    try:
        if options:
            _require_flags(function, options)
        return function(*operands, **options)
    except TenferroError as error:
        raise _named_after_call(error, function.__name__)  # noqa: B904  # it is the same error
    finally:
        _running.origin = outer


def _named_after_call(error: TenferroError, name: str) -> TenferroError:
    """An error of the array function `name`, whose text names the function that the user called.

    That is the outermost one of the public rooms, before the user's program; `name` if there is
    none, as where rules of derivatives call array functions.
    """
    text = str(error.args[0]) if len(error.args) == 1 else ""
    if text.startswith(f"{name}: "):
        called = name
        for frame in package_frames(sys._getframe(1)):
            if _is_array_function(frame):
                called = frame.f_code.co_name
        error.args = (called + text.removeprefix(name),)
    return error


_ARRAY_ROOMS = tuple(
    f"tenferro.{room}"
    for room in ("numpy", "lax", "linalg", "fft", "nn", "random", "scipy", "experimental", "image")
)
"""The rooms with functions of arrays that users call."""


def _is_array_function(frame: FrameType) -> bool:
    """Whether a frame is of a function on arrays that users call."""
    name, module = frame.f_code.co_name, str(frame.f_globals.get("__name__"))
    if module == __name__:
        return name not in frame.f_globals  # it has the name of the function that it calls
    is_listed = "." in name or name in frame.f_globals.get("__all__", ())
    return is_listed and module.startswith(_ARRAY_ROOMS) and not module.endswith(".protocols")


def emitter_of_body() -> Any:
    """The emitter of the array function that runs."""
    return _running.origin.emitter


@contextmanager
def outside() -> Iterator[None]:
    """A context for code that is not the body of an array function, called while one runs."""
    outer = _running.origin
    _running.origin = None
    try:
        yield
    finally:
        _running.origin = outer


def emit(op: PrimitiveOp, *operands: AnyTensor) -> AnyTensor:
    """The output of a single-output op on expressions."""
    expressions: tuple[Any, ...] = operands
    first = expressions[0] if expressions else _running.origin
    at = first.emitter
    return type(first)(at, at.emit(op, *map(_VALUE, expressions)))  # type: ignore[no-any-return]


def emit_all(op: PrimitiveOp, *operands: AnyTensor) -> tuple[AnyTensor, ...]:
    """All outputs of an op on expressions."""
    expressions: tuple[Any, ...] = operands
    first = expressions[0] if expressions else _running.origin
    at = first.emitter
    outputs = at.emit_all(op, *map(_VALUE, expressions))
    return tuple([type(first)(at, output) for output in outputs])


def producer(value: AnyTensor) -> tuple[PrimitiveOp, tuple[AnyTensor, ...]] | None:
    """The op and the operands of an expression, if its emitter records them."""
    expression: Any = value
    made = expression.emitter.producer(expression.value)
    if made is None:
        return None
    kind: Any = type(expression)
    return made[0], tuple([kind(expression.emitter, each) for each in made[1]])


def is_same(x: Any, y: Any) -> bool:
    """Whether two operands are one value."""
    return x is y or (hasattr(x, "emitter") and hasattr(y, "emitter") and x.value is y.value)


def full(value: object, meta: TensorMeta) -> AnyTensor:
    """An expression of type `meta` whose every element is `value`."""
    return broadcast_like(emit(scalar(value, meta.dtype)), meta, (), "full")


def full_like(value: object, like: AnyTensor) -> AnyTensor:
    """An expression of the type of `like` whose every element is `value`."""
    return full(value, like.meta)


def zeros_like(like: AnyTensor) -> AnyTensor:
    """Zeros of the type of `like`."""
    return full(0, like.meta)


def broadcast_like(
    x: AnyTensor, meta: TensorMeta, dims: Sequence[int], primitive: str
) -> AnyTensor:
    """`x` repeated to the shape of `meta`; see `tenferro.ops.broadcast_like`."""
    value: Any = x
    wide = ops.broadcast_like(value.emitter, value.value, meta, dims, primitive)
    return type(value)(value.emitter, wide)  # type: ignore[no-any-return]


def gather_along(x: AnyTensor, places: AnyTensor, axis: int, *, unique: bool = True) -> AnyTensor:
    """The elements of x at `places` along `axis`; see `tenferro.ops.gather_along`."""
    value: Any = x
    at, where = value.emitter, cast(Any, places).value
    return type(value)(at, ops.gather_along(at, value.value, where, axis, unique=unique))  # type: ignore[no-any-return]
