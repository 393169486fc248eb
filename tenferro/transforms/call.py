"""The arguments of a call of a compiled function, split into static arguments and arrays."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from tenferro.errors import PytreeError, TracingError
from tenferro.exec_ir import encode
from tenferro.shape import integer_of
from tenferro.traced import TracedTensor, flatten, unflatten, wraps
from tenferro.values import Tensor


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The arguments of a call that are not static, and the function of them.

    Attributes:
        static: the key of the static arguments.
        args: the other positional arguments.
        kwargs: the other named arguments.
        positions: the position of each of `args` in the user's call.
        bind: makes the function of `args` and `kwargs`, in which the static arguments are bound.
    """

    static: Hashable
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    positions: Sequence[int]
    bind: Callable[[], Callable[..., Any]]

    @property
    def function(self) -> Callable[..., Any]:
        """The function of `args` and `kwargs`."""
        return self.bind()


def as_written(call: CallArguments) -> Any:
    """What the function itself returns; arrays are tensors, as they are in a trace."""
    leaves, treedef = flatten((call.args, call.kwargs))
    kept = (Tensor, TracedTensor, bool, int, float, complex)
    values = [leaf if isinstance(leaf, kept) else Tensor(leaf) for leaf in leaves]
    args, kwargs = unflatten(treedef, values)
    return call.function(*args, **kwargs)


def static_names(
    function: Callable[..., Any],
    names: str | Sequence[str] | None,
    numbers: int | Sequence[int] | None,
) -> tuple[str, ...]:
    """The names of the static parameters, which are given by name and by position.

    Raises:
        TracingError: a name or number is not that of a parameter.
    """
    named = _named("static_argnames", function, names)
    at = _positions("static_argnums", function, numbers)
    known = list(inspect.signature(function).parameters) if at else []
    for number in at:
        if number >= len(known) or known[number] == _rest(function):
            raise TracingError(
                f"jit: static_argnums {number} is in *{_rest(function)}, of which no argument can "
                "be static; give it a parameter of its own"
            )
    return (*named, *(known[number] for number in at))


def donated_places(
    function: Callable[..., Any],
    numbers: int | Sequence[int] | None,
    names: str | Sequence[str] | None,
    static: Sequence[str],
) -> tuple[int, ...]:
    """The positions of the parameters to donate, which are given by position and by name.

    Raises:
        TracingError: a number or name is not that of a parameter, or the parameter is static.
    """
    named = _named("donate_argnames", function, names)
    places = _positions("donate_argnums", function, numbers)
    if not named and not places:
        return ()
    known = list(inspect.signature(function).parameters)
    places = (*places, *map(known.index, named))
    for place in places:
        if place < len(known) and known[place] in static:
            raise TracingError(
                f"jit: argument {known[place]} is both static and to donate; only arrays can be "
                "donated"
            )
    return places


def _several(option: str, given: object, kind: str) -> tuple[Any, ...]:
    """One value or several, as a tuple; None stands for none."""
    match given:
        case None:
            return ()
        case str() | SupportsIndex():
            return (given,)
        case Iterable() if not isinstance(given, Mapping):
            return tuple(given)
        case _:
            raise TracingError(f"jit: {option} takes {kind}, or several, got {given!r}")


def _parameters(option: str, function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise TracingError(
            f"jit: {option} needs the parameters of the function, but Python does not know those "
            f"of {function!r}; write a function that calls it"
        ) from None


def _rest(function: Callable[..., Any]) -> str | None:
    """The name of the parameter that takes all further positional arguments."""
    parameters = inspect.signature(function).parameters.values()
    return next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), None)


def _positions(option: str, function: Callable[..., Any], given: object) -> tuple[int, ...]:
    """The positions of parameters that a user gives; negative ones count from the end.

    Raises:
        TracingError: a number is not the position of a parameter.
    """
    places = []
    for number in _several(option, given, "the position of a parameter"):
        parameters = _parameters(option, function)
        size = len(parameters)
        end = size if _rest(function) is None else math.inf
        place = integer_of(number)
        if place is None or not -size <= place < end:
            raise TracingError(
                f"jit: {option} {number!r} is not the position of a parameter; "
                f"the parameters are {', '.join(parameters)}"
            )
        places.append(place + size if place < 0 else place)
    return tuple(places)


def _named(option: str, function: Callable[..., Any], given: object) -> tuple[str, ...]:
    """The names of parameters that a user gives.

    Raises:
        TracingError: a name is not that of a parameter.
    """
    names = _several(option, given, "the name of a parameter")
    for name in names:
        if not isinstance(name, str) or name not in _parameters(option, function):
            raise TracingError(f"jit: {option} has {name!r}, which is not a parameter")
    return names


class StaticArguments:
    """The arguments of a function that are Python values, by name; see `static_names`."""

    def __init__(self, function: Callable[..., Any], names: Sequence[str]) -> None:
        self._function = function
        self.names = tuple(names)
        self._signature = inspect.signature(function) if self.names else None
        self._parameters: tuple[str, ...] = ()
        self._places: tuple[int, ...] = ()
        if self._signature is not None:
            self._parameters = tuple(self._signature.parameters)
            kinds = [parameter.kind for parameter in self._signature.parameters.values()]
            places = map(self._parameters.index, self.names)
            self._places = tuple([place for place in places if kinds[place] in _POSITIONAL])

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any], text: object) -> CallArguments:
        """The call's other arguments. `text` names the function in errors.

        Raises:
            PytreeError: a static argument is not hashable.
        """
        if not self.names:
            return CallArguments(None, args, kwargs, range(len(args)), lambda: self._function)
        count = len(args)
        static = {place: args[place] for place in self._places if place < count}
        named = {name: arg for name, arg in kwargs.items() if name in self.names}
        key = tuple([(where, static_key(arg)) for where, arg in (*static.items(), *named.items())])
        try:
            hash(key)
        except TypeError:
            raise PytreeError(f"{text}: {_unhashable(self._parameters, static, named)}") from None
        positions = [i for i in range(count) if i not in static]
        others = tuple([args[i] for i in positions])
        options = {name: arg for name, arg in kwargs.items() if name not in named}
        return CallArguments(
            key, others, options, positions, lambda: self._bound(static, named, count)
        )

    def _bound(
        self, static: dict[int, Any], named: dict[str, Any], count: int
    ) -> Callable[..., Any]:
        """The function of the other arguments of a call with `count` positional ones."""

        def of_others(*others: Any, **options: Any) -> Any:
            rest = iter(others)
            merged = [static[i] if i in static else next(rest) for i in range(count)]
            return self._function(*merged, **options, **named)

        wraps(self._function, of_others)
        if self._signature is not None:
            shown = [p for p in self._signature.parameters.values() if p.name not in self.names]
            of_others.__signature__ = self._signature.replace(parameters=shown)  # type: ignore[attr-defined]
        return of_others


def _unhashable(names: Sequence[str], static: dict[int, Any], named: dict[str, Any]) -> str:
    """The first argument that is not hashable, and what to do."""
    given = (*((names[i], arg) for i, arg in static.items()), *named.items())
    name, arg = next(pair for pair in given if not _is_hashable(pair[1]))
    shown = repr(arg)
    text = f" {shown}" if len(shown) < 60 else ""
    instead = "a tuple" if isinstance(arg, list) else "a hashable value, such as a tuple"
    return (
        f"static arguments must be hashable, but argument {name} is a {type(arg).__name__}{text}; "
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


def static_key(arg: Any) -> Hashable:
    """A key that distinguishes static arguments: payload identity, or else type and value.

    By `==` alone, 1, 1.0 and True would be the same argument, and so would 0.0 and -0.0.
    """
    try:
        return (kind, arg) if (kind := type(arg)) in _PLAIN else encode(arg)
    except TypeError:
        return type(arg), arg


def donated_inputs(function: object, donate: Sequence[int], call: CallArguments) -> tuple[int, ...]:
    """The inputs of the program of `call` that belong to the arguments at some positions.

    Raises:
        TracingError: `function` is not called with such an argument.
    """
    for number in donate:
        if number not in call.positions:
            raise TracingError(
                f"{function!r}: argument {number} is to be donated, but this call does not pass it "
                "by position"
            )
    donated: list[int] = []
    start = 0
    for number, arg in zip(call.positions, call.args, strict=True):
        count = len(flatten(arg)[0])
        donated += range(start, start + count) if number in donate else ()
        start += count
    return tuple(donated)
