"""Extents: what is guaranteed of the size of one axis.

`dim` is the guarantee; extents are equal if their kinds and their `dim` are. `size` is an
expression for the size itself, or None. It only serves to tell whether two axes have equal sizes;
no op takes it as a target size.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tenferro.shape.algebra import Dim, at_most
from tenferro.shape.runtime_dims import has_local


@dataclass(frozen=True, slots=True)
class Exact:
    """The size is exactly `dim`, a constant or an expression of symbols."""

    dim: Dim

    @property
    def size(self) -> Dim:
        """The size."""
        return self.dim

    def __str__(self) -> str:
        return str(self.dim)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The size is at most `dim`; never use `dim` as the size."""

    dim: Dim
    size: Dim | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"<={self.dim}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known about the size."""

    size: Dim | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "?"


ShapeExtent = Exact | UpperBound | Unknown


def same_size(a: ShapeExtent, b: ShapeExtent) -> bool:
    """Whether two axes certainly have equal sizes; equal bounds do not imply that.

    >>> same_size(UpperBound(8), UpperBound(8)), same_size(Exact(8), Exact(8))
    (False, True)
    """
    return a.size is not None and a.size == b.size and not has_local(a.size)


def implies(known: ShapeExtent, claimed: ShapeExtent) -> bool:
    """Whether `claimed` holds for every axis for which `known` holds."""
    match claimed:
        case Unknown():
            return True
        case UpperBound(bound):
            return not isinstance(known, Unknown) and at_most(known.dim, bound)
        case Exact():
            return known == claimed


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
