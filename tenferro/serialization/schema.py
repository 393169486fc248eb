"""Checked reading of JSON, with errors that name the place, and of fields of dataclasses."""

from __future__ import annotations

import enum
import reprlib
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tenferro.errors import ExtensionError, FileError, TenferroError
from tenferro.serialization.container import Json

MAX_INTEGER = 2**63 - 1


def record(value: Json, keys: frozenset[str], where: str) -> dict[str, Json]:
    """A JSON object with exactly these keys."""
    if not isinstance(value, dict) or value.keys() != keys:
        raise FileError(f"file: {where} must be an object of {', '.join(sorted(keys))}")
    return value


def items(value: Json, where: str) -> list[Json]:
    """A JSON list."""
    if not isinstance(value, list):
        raise FileError(f"file: {where} must be a list")
    return value


def text(value: Json, where: str) -> str:
    """A JSON string."""
    if not isinstance(value, str):
        raise FileError(f"file: {where} must be a text")
    return value


def number(value: Json, where: str, limit: int = MAX_INTEGER) -> int:
    """A JSON integer from 0 to `limit - 1`."""
    if type(value) is not int or not 0 <= value < limit:
        raise FileError(f"file: {where} must be an integer from 0 to {limit - 1}")
    return value


def numbers(value: Json, where: str, limit: int = MAX_INTEGER) -> tuple[int, ...]:
    """A JSON list of integers from 0 to `limit - 1`."""
    return tuple([number(item, where, limit) for item in items(value, where)])


def short(value: object) -> str:
    """The text of a value for an error, cut to a maximum length."""
    return reprlib.repr(value)


@contextmanager
def reading(where: str) -> Iterator[None]:
    """A context in which every error becomes a FileError.

    Ops assume valid payloads. With the payload of a damaged file they may raise any exception.
    """
    try:
        yield
    except (FileError, ExtensionError):
        raise
    except TenferroError as error:
        raise FileError(f"file: {where}: {error}") from error
    except Exception as error:
        raise FileError(f"file: {where}: {type(error).__name__}: {error}") from error


# Check values against the declared types of dataclass fields.

_WIDER: dict[Any, tuple[type, ...]] = {float: (float, int), complex: (complex, float, int)}
"""Types that are accepted for a float or complex field, as type checkers do."""


@cache
def field_types(cls: type) -> dict[str, Any]:
    """The declared type of each field of a dataclass."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def as_declared(cls: type, values: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """Fields of `cls` by name, each of its declared type. Values of enum fields become members.

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
