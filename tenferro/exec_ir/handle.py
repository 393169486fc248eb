"""Handles: Python objects that are parts of ops."""

from __future__ import annotations

import itertools
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NoReturn, Self

from tenferro.errors import FileError
from tenferro.shape import Dim, Leaf

Sizes = Mapping[Leaf, Dim]

_numbers = itertools.count()
_PROCESS = secrets.token_bytes(8)


def fresh_token() -> bytes:
    """Bytes that no other object has, in this process or in another."""
    return _PROCESS + b"%d" % next(_numbers)


def has_token(identity: bytes) -> bool:
    """Whether the identity of an op has a token of this process.

    >>> has_token(b"op" + fresh_token()), has_token(b"op")
    (True, False)
    """
    return _PROCESS in identity


class Handle(ABC):
    """A Python object as a part of an op, such as a derivative rule that a user wrote.

    An op that holds one has a meaning in this process only, and files do not hold it.
    """

    @property
    @abstractmethod
    def token(self) -> bytes:
        """Bytes that no other object has, in this process or in another."""

    def bind(self, sizes: Sizes) -> Self:
        """The object with symbols replaced by sizes, if it has some."""
        return self

    @abstractmethod
    def __str__(self) -> str:
        """What it is called in errors and in the text of programs: `custom_jvp f`."""

    def refuse_file(self) -> NoReturn:
        """Raise FileError: files do not hold functions."""
        raise FileError(
            f"file: {self} is a Python function, which files do not hold; save a compiled program, "
            "from which derivative rules are gone"
        )
