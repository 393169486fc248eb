"""Checked access to parsed JSON. Errors name the place of a value in the file."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from contextlib import contextmanager

from tenferro.errors import ExtensionError, FileError, TenferroError
from tenferro.files.container import Json

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
