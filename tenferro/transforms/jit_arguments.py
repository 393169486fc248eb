"""Arguments of a call: static, donated, symbolic, and arrays."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import optree

from tenferro.config import RULES_OF_JAX, RULES_OF_PROCESS, rules_here
from tenferro.errors import (
    BindingError,
    PytreeError,
    ShapeError,
    TenferroError,
    TracingError,
    class_of,
)
from tenferro.ir import DimExpr, DType, TensorMeta, TensorSpec, encode, integer_of
from tenferro.ops.functions import is_number
from tenferro.runtime import (
    Buffer,
    Executor,
    Solved,
    Tensor,
    is_array,
    is_type,
    learn_sizes,
    meta_of_value,
    narrowed,
    place,
    refuse_masked,
)
from tenferro.transforms.jit_cache import NUMBERS, Statics
from tenferro.transforms.program import wraps
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.traced_tensor import TracedTensor, positional_names
from tenferro.transforms.trees import NAMESPACE, TreeDef, flatten, in_order, merged, unflatten

__all__ = ["disable_jit"]


# The arguments of a call of a compiled function, split into static arguments and arrays.


class CallArguments(NamedTuple):
    """The arguments of a call that are not static, and the function of them.

    Attributes:
        static: the key of the static arguments.
        args: the other positional arguments.
        kwargs: the other named arguments.
        positions: the position of each of `args` in the user's call.
        whole: the function of all arguments.
        bind: makes the function of `args` and `kwargs`, in which the static arguments are bound;
            None if there are none.
    """

    static: Hashable
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    positions: Sequence[int]
    whole: Callable[..., Any]
    bind: Callable[[], Callable[..., Any]] | None

    @property
    def function(self) -> Callable[..., Any]:
        """The function of `args` and `kwargs`."""
        return self.whole if self.bind is None else self.bind()


# disable_jit: run compiled functions as they are written.

jit_is_disabled: ContextVar[bool] = ContextVar("jit_is_disabled", default=False)


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Within the `with` block, functions of `jit` run as they are written, op by op.

    Prints and breakpoints see numbers. Python runs loops and branches, unless their conditions or
    lengths are not known; the carry must keep its types as ever, but a branch that is not taken is
    not called, so that its types are not compared. Derivatives still trace what they are given.

    Args:
        disable: False lets an inner block compile again.

    >>> import tenferro as tn
    >>> @tn.jit
    ... def double(x):
    ...     print("x is", x)
    ...     return 2 * x
    >>> with disable_jit():
    ...     double(3.0)
    x is 3.0
    6.0
    """
    token = jit_is_disabled.set(disable)
    try:
        yield
    finally:
        jit_is_disabled.reset(token)


def as_written(call: CallArguments) -> Any:
    """What the function itself returns; arrays are tensors, as they are in a trace."""
    leaves, treedef = flatten((call.args, call.kwargs))
    known = (Tensor, TracedTensor, bool, int, float, complex)
    if (rules_here.get() or RULES_OF_PROCESS[0]) is RULES_OF_JAX:
        leaves = list(map(narrowed, leaves))
    values = [leaf if isinstance(leaf, known) else Tensor(leaf) for leaf in leaves]
    args, kwargs = unflatten(treedef, values)
    return call.function(*args, **kwargs)


class Parameters:
    """The parameters of a function, some of which are static or to be donated: options of `jit`.

    Attributes:
        static: the names of the static parameters.
        donated: the positions of the parameters to donate.
    """

    _signature: inspect.Signature | None = None  # read if an option names parameters
    _names: tuple[str, ...] = ()
    _rest: str | None = None
    _kinds: Sequence[Any] = ()

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None,
        donate_argnames: str | Sequence[str] | None = None,
    ) -> None:
        self._function = function
        static = list(self._named("static_argnames", static_argnames))
        further: list[int] = []  # positions in *args
        for number in self._positions("static_argnums", static_argnums):
            if number >= len(self._names) or self._kinds[number] not in _POSITIONAL:
                further.append(number)
            else:
                static.append(self._names[number])
        by_name = self._named("donate_argnames", donate_argnames)
        by_number = self._positions("donate_argnums", donate_argnums)
        self.donated = (*by_number, *map(self._names.index, by_name))
        for name in (self._names[i] for i in self.donated if i < len(self._names)):
            if name in static:
                raise TracingError(
                    f"jit: argument {name} is both static and to donate; only arrays can be donated"
                )
        self.static = (*static, *(f"*{self._rest}[{number}]" for number in further))
        places = [self._names.index(name) for name in static if name in self._names]
        positional = [place for place in places if self._kinds[place] in _POSITIONAL]
        self._static_places: list[int] = [*positional, *further]

    def _read(self, option: str) -> None:
        if self._signature is not None:
            return
        try:
            self._signature = inspect.signature(self._function)
        except (TypeError, ValueError):
            raise TracingError(
                f"jit: {option} needs the parameters of the function, but Python does not know "
                f"those of {self._function!r}; write a function that calls it"
            ) from None
        parameters = self._signature.parameters.values()
        self._names = tuple(self._signature.parameters)
        self._kinds = [parameter.kind for parameter in parameters]
        self._rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)

    def _positions(self, option: str, value: object) -> list[int]:
        """The positions of parameters; negative ones count from the end."""
        places = []
        for number in _several(option, value, "the position of a parameter"):
            self._read(option)
            size = len(self._names)
            end = size if self._rest is None else math.inf
            place = integer_of(number)
            if place is None or not -size <= place < end:
                raise TracingError(
                    f"jit: {option} {number!r} is not the position of a parameter; "
                    f"the parameters are {', '.join(self._names)}"
                )
            places.append(place + size if place < 0 else place)
        return places

    def _named(self, option: str, value: object) -> tuple[str, ...]:
        names = _several(option, value, "the name of a parameter")
        for name in names:
            self._read(option)
            takes_any = option == "static_argnames" and inspect.Parameter.VAR_KEYWORD in self._kinds
            if name not in self._names and not takes_any:
                raise TracingError(f"jit: {option} has {name!r}, which is not a parameter")
        return names

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any], text: object) -> CallArguments:
        """The call's other arguments. `text` names the function in errors."""
        if not self.static:
            return CallArguments(None, args, kwargs, range(len(args)), self._function, None)
        count = len(args)
        static = {place: args[place] for place in self._static_places if place < count}
        named = {name: arg for name, arg in kwargs.items() if name in self.static}
        key = tuple([(where, static_key(arg)) for where, arg in (*static.items(), *named.items())])
        try:
            hash(key)
        except TypeError:
            raise PytreeError(f"{text}: {_unhashable(self._names, static, named)}") from None
        positions = [i for i in range(count) if i not in static]
        others = tuple([args[i] for i in positions])
        options = {name: arg for name, arg in kwargs.items() if name not in named}
        bind = functools.partial(self._bound, static, named)
        return CallArguments(key, others, options, positions, self._function, bind)

    def unchanging(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Statics | None:
        """The static arguments of a call; None if one of them may change."""
        static: list[tuple[int | str, Any]] = [
            (place, args[place]) for place in sorted(self._static_places) if place < len(args)
        ]
        static += [(name, kwargs[name]) for name in self.static if name in kwargs]
        if not all(_is_unchanging(type(arg)) for _, arg in static):
            return None
        return tuple([(where, type(arg), arg) for where, arg in static])

    def _bound(self, static: dict[int, Any], named: dict[str, Any]) -> Callable[..., Any]:
        """The function of the arguments that are not static."""

        def of_others(*others: Any, **options: Any) -> Any:
            return self._function(*merged(static, others), **options, **named)

        wraps(self._function, of_others)
        if self._signature is not None:
            shown = [p for p in self._signature.parameters.values() if p.name not in self.static]
            of_others.__signature__ = self._signature.replace(parameters=shown)  # type: ignore[attr-defined]
        return of_others

    def donated_inputs(self, call: CallArguments) -> tuple[int, ...]:
        """The inputs of the program of `call` that belong to arguments to donate."""
        if not self.donated:
            return ()
        named = {self._names[number] for number in self.donated if number < len(self._names)}
        by_place = zip(call.positions, call.args, strict=True)
        passed = [(arg, number in self.donated) for number, arg in by_place]
        passed += [(call.kwargs[name], name in named) for name in sorted(call.kwargs)]
        donated: list[int] = []
        start = 0
        for arg, is_donated in passed:
            count = len(flatten(arg)[0])
            donated += range(start, start + count) if is_donated else ()
            start += count
        return tuple(donated)


def _several(option: str, value: object, kind: str) -> tuple[Any, ...]:
    """One value or several, as a tuple; None stands for none."""
    match value:
        case None:
            return ()
        case str() | SupportsIndex():
            return (value,)
        case Iterable() if not isinstance(value, Mapping):
            return tuple(value)
        case _:
            raise TracingError(f"jit: {option} takes {kind}, or several, got {value!r}")


def _unhashable(names: Sequence[str], static: dict[int, Any], named: dict[str, Any]) -> str:
    """The first argument that is not hashable, and what to do."""
    passed = (*((names[i], arg) for i, arg in static.items()), *named.items())
    name, arg = next(pair for pair in passed if not _is_hashable(pair[1]))
    shown = repr(arg)
    text = f" {shown}" if len(shown) < 60 else ""
    instead = "a tuple" if isinstance(arg, list) else "a hashable value, such as a tuple"
    return (
        f"static arguments must be hashable, but argument {name} is {class_of(arg)}{text}; "
        f"pass {instead}"
    )


def _is_hashable(arg: Any) -> bool:
    try:
        hash(static_key(arg))
    except TypeError:
        return False
    return True


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_PLAIN = {int, str, bool, type(None)}
"""Types of which equal values are the same argument."""
_UNCHANGING = {*_PLAIN, type, FunctionType, BuiltinFunctionType}
"""Types of arguments that stay the same as long as they are the same object."""


def _is_unchanging(kind: type) -> bool:
    """Whether an argument of a type stays the same as long as it is the same object.

    So it is of each class that leaves it to `object` what is equal.
    """
    return kind in _UNCHANGING or _equality(kind) == _equality(object)


def _equality(kind: type) -> tuple[object, object]:
    return kind.__eq__, kind.__hash__


def static_key(arg: Any) -> Hashable:
    """A key that distinguishes static arguments: payload identity, or else type and value.

    By `==` alone, 1, 1.0 and True would be the same argument, and so would 0.0 and -0.0.
    """
    try:
        return (kind, arg) if (kind := type(arg)) in _PLAIN else encode(arg)
    except TypeError:
        return type(arg), arg


# Symbolic sizes of the arguments of a compiled function: the `symbolic` of `jit`.


class DeclaredExtents:
    """The declared extents of an array: numbers, names, or None for the size that the array has.

    >>> import numpy as np
    >>> DeclaredExtents("x", ("n", None, ...)).spec(np.ones((2, 3, 4)))
    TensorSpec(f64[n,3,4])
    """

    def __init__(self, where: str, shape: tuple[Any, ...], dtype: DType | None = None) -> None:
        self._where = where
        self._rest = bool(shape) and shape[-1] is ...
        self._sizes = shape[:-1] if self._rest else shape
        self._dtype = dtype
        if ... in self._sizes:
            raise ShapeError(
                f"jit: symbolic: `...` must be the last entry of a shape, got {shape} for {where}"
            )
        TensorMeta.of("f64", [size for size in self._sizes if size is not None])

    def spec(self, leaf: Any) -> TensorSpec | None:
        """The declared type of an array; None for numbers, and if no shape is declared."""
        if self._rest and not self._sizes:
            return None
        meta = leaf_meta(leaf, f"argument {self._where}")
        rank = len(self._sizes)
        fits = meta.rank >= rank if self._rest else meta.rank == rank
        if not fits or (self._dtype is not None and self._dtype != meta.dtype):
            raise BindingError(f"jit: argument {self._where} is declared {self}, but is {meta}")
        actual = meta.dims
        if is_number(leaf) or actual is None:  # a traced value with a data-dependent size
            return None
        sizes = [a if s is None else s for s, a in zip(self._sizes, actual, strict=False)]
        return TensorSpec((*sizes, *actual[rank:]), meta.dtype)

    def __str__(self) -> str:
        sizes = ["?" if size is None else str(size) for size in self._sizes]
        return f"({', '.join([*sizes, '...'] if self._rest else sizes)})"


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument with its declared type."""

    name: str
    meta: TensorMeta


class SymbolicArguments:
    """The declared shapes of arguments, in which some extents are names.

    `declared` maps the name of a parameter to one shape for all arrays of the argument, or to a
    tree of shapes that is a prefix of the argument's tree. A shape is a tuple of integers, names
    and expressions of names such as `"2*n"`. None means the size that the array has, and `...` at
    the end means this for all further axes. A `TensorSpec` declares the dtype as well. None in
    place of a shape declares nothing.
    """

    def __init__(
        self, function: Callable[..., Any], declared: Mapping[str, Any], static: Sequence[str]
    ) -> None:
        if not isinstance(declared, Mapping):
            raise TracingError(
                "jit: symbolic maps names of arguments to shapes, such as "
                f'{{"x": ("n", 3)}}; got {declared!r}'
            )
        parameters = inspect.signature(function).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        for name in declared:
            if name in static:
                raise TracingError(f"jit: argument {name!r} is both static and symbolic")
            if name not in parameters and not takes_any:
                raise TracingError(f"jit: symbolic has {name!r}, which is not a parameter")
        self._trees = {name: _axes_tree(name, tree) for name, tree in declared.items()}

    def specs(self, call: CallArguments) -> list[TensorSpec | None]:
        """The declared type of each leaf of the call's arguments; None if there is none."""
        return [spec for name, arg in named_arguments(call) for spec in self._of(name, arg)]

    def declared(
        self,
        call: CallArguments,
        leaves: Sequence[Any],
        treedef: TreeDef,
        types: Sequence[Hashable],
    ) -> tuple[CallArguments, list[Hashable]]:
        """The call with declared types in place of arrays, and `types` with declared shapes.

        `types` begins with the shape and the dtype of each leaf in turn.
        """
        specs = self.specs(call)
        declared = [x if spec is None else spec for x, spec in zip(leaves, specs, strict=True)]
        args, kwargs = unflatten(in_order(treedef), declared)
        known = [*types]
        for position, spec in enumerate(specs):
            if spec is not None:
                known[2 * position] = spec.shape
        return call._replace(args=args, kwargs=kwargs), known

    def has_empty(self, call: CallArguments, leaves: Sequence[Any]) -> bool:
        """Whether an axis of size 0 is declared with a name."""
        pairs = zip(leaves, self.specs(call), strict=True)
        return any(
            size == 0 and size != declared
            for leaf, spec in pairs
            if spec is not None
            for size, declared in zip(leaf.shape, spec.shape, strict=True)
        )

    def check_traced(self, call: CallArguments) -> None:
        """Check arguments that are values of an enclosing trace against their declared types."""
        sizes: Solved = {}
        for name, arg in named_arguments(call):
            for spec, leaf in zip(self._of(name, arg), flatten(arg)[0], strict=True):
                meta = leaf_meta(leaf, f"argument {name}")
                if spec is not None and meta.dims is not None:
                    learn_sizes("jit", _Argument(str(name), spec.meta), meta.dims, sizes)

    def _of(self, name: str | None, arg: Any) -> list[TensorSpec | None]:
        leaves, _ = flatten(arg)
        if name is None or name not in self._trees:
            return [None] * len(leaves)
        try:
            axes = optree.broadcast_prefix(self._trees[name], arg, namespace=NAMESPACE)
        except ValueError as error:
            raise PytreeError(
                f"jit: symbolic[{name!r}] does not fit the argument: {error}"
            ) from None
        return [declared.spec(leaf) for declared, leaf in zip(axes, leaves, strict=True)]


def _axes_tree(name: str, declared: Any) -> Any:
    """The tree with `DeclaredExtents` in place of its shapes."""
    return optree.tree_map(
        lambda leaf: _axes(name, leaf),
        declared,
        is_leaf=_is_shape,
        none_is_leaf=True,
        namespace=NAMESPACE,
    )


def _axes(name: str, declared: Any) -> DeclaredExtents:
    if declared is None:
        return DeclaredExtents(name, (...,))
    if isinstance(declared, TensorSpec):
        return DeclaredExtents(name, declared.shape, declared.dtype)
    if _is_shape(declared):
        return DeclaredExtents(name, declared)
    raise ShapeError(
        f"jit: symbolic[{name!r}] has {declared!r} in place of a shape; "
        'write a tuple of sizes and names, such as ("n", 3)'
    )


def _is_shape(value: Any) -> bool:
    if type(value) is not tuple:
        return isinstance(value, TensorSpec)
    return all(
        size is None
        or size is ...
        or isinstance(size, str | DimExpr)
        or integer_of(size) is not None
        for size in value
    )


def named_arguments(call: CallArguments) -> Iterator[tuple[str | None, Any]]:
    """The arguments with the names of their parameters, in the order of their leaves."""
    names = positional_names(call.function)
    for position, arg in enumerate(call.args):
        yield (names[position] if position < len(names) else None), arg
    for name in sorted(call.kwargs):
        yield name, call.kwargs[name]


# The arrays of a call: their buffers, and the types by which compiled versions are found.


def with_arrays(
    call: CallArguments, leaves: list[Any], treedef: TreeDef
) -> tuple[CallArguments, list[Any]]:
    """The call and its leaves, with tensors for array-like data such as ranges and memoryviews.

    Arrays, numbers, and what is none of these are as they were; but see `DtypeRules.narrows`.
    """
    narrows = (rules_here.get() or RULES_OF_PROCESS[0]) is RULES_OF_JAX
    if _AS_THEY_ARE.issuperset(map(type, leaves)) and not narrows:
        return call, leaves
    arrays = [leaf if is_number(leaf) else _as_array(leaf) for leaf in leaves]
    if narrows:
        arrays = list(map(narrowed, arrays))
    if all(map(operator.is_, arrays, leaves)):
        return call, leaves
    args, kwargs = unflatten(in_order(treedef), arrays)
    return call._replace(args=args, kwargs=kwargs), arrays


_AS_THEY_ARE = frozenset((Tensor, TracedTensor, np.ndarray, *NUMBERS))


def _as_array(leaf: Any) -> Any:
    refuse_masked(leaf)
    if is_array(leaf):
        return leaf
    try:
        return Tensor(leaf)
    except (TenferroError, TypeError):
        return leaf


_INT64 = np.iinfo(np.int64)


def leaf_types(leaves: Sequence[Any]) -> list[Hashable] | None:
    """The key of a compiled version: shape and dtype of each leaf, or the class of a number.

    None if a leaf is traced.
    """
    types: list[Hashable] = []
    for leaf in leaves:
        kind: Any = type(leaf)
        if kind is TracedTensor:
            return None
        array = leaf._buffer if kind is Tensor else leaf
        if hasattr(array, "shape") and hasattr(array, "dtype"):
            types += (array.shape, array.dtype)
        else:
            fits = not isinstance(leaf, int) or _INT64.min <= leaf <= _INT64.max
            types += (kind, None if fits else "larger")
    return types


BUFFER: Callable[[Tensor], Buffer] = operator.attrgetter("_buffer")


def lending(executor: Executor, donates: bool) -> Callable[[Tensor], Buffer]:
    """What gives the buffer of a tensor on the host: its own, or one that the executor lends.

    A call that donates arrays overwrites what it is given.
    """
    return BUFFER if donates else getattr(executor, "lend", BUFFER)


def buffer_of(leaf: Any, executor: Executor, lend: Callable[[Tensor], Buffer] = BUFFER) -> Buffer:
    """The leaf's buffer on the executor, or a host array that it uploads."""
    if type(leaf) is Tensor:
        home = leaf._executor
        if home is None:
            return lend(leaf)
        return leaf._buffer if home is executor else place("jit", leaf, executor)
    if isinstance(leaf, np.ndarray):
        array = np.asarray(leaf)  # without what a subclass does in another way
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if executor.owns(leaf):
        return leaf
    if is_type(leaf):
        raise PytreeError(
            f"jit: an argument is the type {meta_of_value(leaf)}, which has no elements; pass an "
            "array, or give types to f.lower, tn.eval_shape or tn.make_program"
        )
    return buffer_of(Tensor(leaf), executor)
