"""The arguments of a function with derivatives by hand, split into arrays and Python values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.errors import ADError, PytreeError
from tenferro.traced import TracedTensor, flatten, leaf_names, registering
from tenferro.values import meta_of_value


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call.

    Attributes:
        static: those that are not differentiated, by position.
        arrays: the others, in order.
    """

    static: dict[int, Any]
    arrays: tuple[Any, ...]

    def joined(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """All arguments in order, with other arrays."""
        rest = iter(arrays)
        count = len(self.static) + len(self.arrays)
        return tuple([self.static[i] if i in self.static else next(rest) for i in range(count)])

    @property
    def first(self) -> tuple[Any, ...]:
        """Those that are not differentiated, as rules take them: first."""
        return tuple(self.static.values())


class Parameters:
    """The parameters of a function, and which of them are not differentiated.

    Args:
        caller: what errors call the function: `custom_jvp f`.
        function: the function.
        numbers: positions of parameters that are not differentiated.
        names: names of further ones.

    Raises:
        ADError: a position or a name is not that of a parameter.
    """

    def __init__(
        self,
        caller: str,
        function: Callable[..., Any],
        numbers: int | Iterable[int],
        names: str | Iterable[str],
    ) -> None:
        self._caller = caller
        self._signature = _signature_of(function)
        places = [*self._places(numbers), *self._named(names)]
        self.static = tuple(sorted(set(places)))

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments of a call.

        Raises:
            ADError: an argument has no position, or one that is not differentiated depends on
                values that are being traced.
            PytreeError: another argument is not an array.
            TypeError: the function does not take these arguments.
        """
        args = self._in_order(args, kwargs)
        beyond = [place for place in self.static if place >= len(args)]
        if beyond:
            raise ADError(
                f"{self._caller}: nondiff_argnums {beyond[0]} is out of range for "
                f"{len(args)} arguments"
            )
        static = {place: args[place] for place in self.static}
        for place, value in static.items():
            if any(isinstance(leaf, TracedTensor) for leaf in flatten(value)[0]):
                raise ADError(
                    f"{self._caller}: {self._name(place)} is in nondiff_argnums and is a traced "
                    "value; these must be Python values. Make it an ordinary argument, whose "
                    "derivative is None"
                )
        arrays = {place: value for place, value in enumerate(args) if place not in static}
        for place, value in arrays.items():
            self._check_leaves(place, value)
        return Arguments(static, tuple(arrays.values()))

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults included."""
        if self._signature is None:
            if kwargs:
                raise ADError(f"{self._caller}: takes positional arguments only")
            return args
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._caller}: {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise ADError(
                f"{self._caller}: {next(iter(bound.kwargs))} can be passed by name only; rules "
                "take arguments by position"
            )
        return bound.args

    def _check_leaves(self, place: int, value: Any) -> None:
        leaves, _ = flatten(value)
        for leaf, path in zip(leaves, leaf_names(value, self._name(place)), strict=True):
            if isinstance(leaf, TracedTensor):
                leaf.in_use(f"{self._caller}: {path}")
            elif meta_of_value(leaf) is None:
                raise PytreeError(
                    f"{self._caller}: {path} is a {type(leaf).__name__}, not an array or number"
                    f"{registering(leaf)}; name it in nondiff_argnums, which are Python values"
                )

    def _name(self, place: int) -> str:
        names = [] if self._signature is None else [*self._signature.parameters]
        return names[place] if place < len(names) else f"argument {place}"

    def _places(self, numbers: int | Iterable[int]) -> list[int]:
        places: list[Any] = [numbers] if isinstance(numbers, int) else [*numbers]
        parameters = () if self._signature is None else self._signature.parameters.values()
        open_ended = self._signature is None or any(
            parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters
        )
        for number in places:
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise ADError(
                    f"{self._caller}: nondiff_argnums must be integers of at least 0, "
                    f"got {number!r}"
                )
            if not open_ended and number >= len(parameters):
                raise ADError(
                    f"{self._caller}: nondiff_argnums {number} is out of range for "
                    f"{len(parameters)} parameters"
                )
        return places

    def _named(self, names: str | Iterable[str]) -> list[int]:
        known = [] if self._signature is None else [*self._signature.parameters]
        several = [names] if isinstance(names, str) else [*names]
        for name in several:
            if name not in known:
                raise ADError(
                    f"{self._caller}: nondiff_argnames has {name!r}, which is not a parameter"
                )
        return [known.index(name) for name in several]


def _signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function; None for one that has none, as some builtin functions."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
