"""What is guaranteed of the size of one axis."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.shape.algebra import Dim


@dataclass(frozen=True, slots=True)
class Exact:
    """The size is `dim`. It need not be a constant; it is the true size."""

    dim: Dim

    def __str__(self) -> str:
        return str(self.dim)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The size is at most `dim`. Never to be used as if it were the size."""

    dim: Dim

    def __str__(self) -> str:
        return f"<={self.dim}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known of the size."""

    def __str__(self) -> str:
        return "?"


ShapeExtent = Exact | UpperBound | Unknown


def describe(extent: ShapeExtent) -> str:
    """The extent in words, for errors: `symbolic n`, `at most n (upper bound)`, `unknown`.

    >>> describe(UpperBound(8))
    'at most 8 (upper bound)'
    """
    match extent:
        case Exact(int(size)):
            return str(size)
        case Exact(dim):
            return f"symbolic {dim}"
        case UpperBound(dim):
            return f"at most {dim} (upper bound)"
        case Unknown():
            return "unknown"
