"""Check values against the declared types of dataclass fields."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tenferro.errors import FileError
from tenferro.files.schema import short

_WIDER: dict[Any, tuple[type, ...]] = {float: (float, int), complex: (complex, float, int)}
"""Types that are accepted for a float or complex field, as type checkers do."""


@cache
def field_types(cls: type) -> dict[str, Any]:
    """The declared type of each field of a dataclass."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def as_declared(cls: type, values: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """Fields of `cls` by name, each of its declared type. Values of enum fields become members.

    Raises:
        FileError: the class has no field of that name, or a value is of another type.

    >>> from tenferro.ops import Transpose
    >>> as_declared(Transpose, [("perm", (1, 0))])
    {'perm': (1, 0)}
    """
    declared = field_types(cls)
    result: dict[str, Any] = {}
    for name, value in values:
        if name not in declared:
            raise FileError(f"file: {cls.__name__} has no field {short(name)}")
        converted = _member(value, declared[name])
        if not fits(converted, declared[name]):
            raise FileError(f"file: {name} of {cls.__name__} cannot be {short(value)}")
        result[name] = converted
    return result


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a declared type. `True` is not an integer.

    >>> fits((1, 2), tuple[int, ...]), fits((1, True), tuple[int, ...]), fits(1, str | None)
    (True, False, False)
    """
    if hint is Any or hint is object:
        return True
    if hint is None:
        return value is None
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in args)
    if origin is Literal:
        return any(type(value) is type(option) and value == option for option in args)
    if origin is tuple:
        return isinstance(value, tuple) and _fit_each(value, args)
    kind = hint if origin is None else origin
    if isinstance(value, bool):
        return kind is bool
    return isinstance(kind, type) and isinstance(value, _WIDER.get(kind, kind))


def _fit_each(value: tuple[object, ...], args: tuple[Any, ...]) -> bool:
    if len(args) == 2 and args[1] is Ellipsis:
        return all(fits(item, args[0]) for item in value)
    return len(value) == len(args) and all(map(fits, value, args))


def _member(value: object, hint: Any) -> object:
    """The enum member that has this value."""
    if isinstance(hint, type) and issubclass(hint, enum.Enum) and isinstance(value, int | str):
        try:
            return hint(value)
        except ValueError:
            raise FileError(f"file: {short(value)} is not a member of {hint.__name__}") from None
    return value
