"""What is guaranteed of the size of one axis.

`dim` is the guarantee, and all that extents are compared by. `size` is the size itself, as far as
it can be named before it is known: it tells whether two axes have one size, and is never a target
size of anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tenferro.shape.algebra import Dim, at_most
from tenferro.shape.runtime_dims import has_local


@dataclass(frozen=True, slots=True)
class Exact:
    """The size is `dim`. It need not be a constant; it is the true size."""

    dim: Dim

    @property
    def size(self) -> Dim:
        """The size."""
        return self.dim

    def __str__(self) -> str:
        return str(self.dim)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The size is at most `dim`. Never to be used as if it were the size."""

    dim: Dim
    size: Dim | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"<={self.dim}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known of the size."""

    size: Dim | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "?"


ShapeExtent = Exact | UpperBound | Unknown


def same_size(a: ShapeExtent, b: ShapeExtent) -> bool:
    """Whether two axes certainly have one size. Of two equal bounds that is not known.

    >>> same_size(UpperBound(8), UpperBound(8)), same_size(Exact(8), Exact(8))
    (False, True)
    """
    return a.size is not None and a.size == b.size and not has_local(a.size)


def implies(known: ShapeExtent, claimed: ShapeExtent) -> bool:
    """Whether what is `claimed` of an axis follows from what is `known`."""
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
