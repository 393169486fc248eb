"""The two tropical semirings: the meaning of + and ×, and scalars with these operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tenferro.errors import TenferroError

Kind = Literal["maxplus", "minplus"]


class KindError(TenferroError, ValueError):
    """A semiring that is neither max-plus nor min-plus."""


@dataclass(frozen=True)
class Semiring:
    """A tropical semiring on floating-point numbers: its product is +, its sum max or min.

    Attributes:
        kind: its name.
        zero: the neutral element of the sum; a product with it is zero.
        better: whether its first argument wins over the second; NaN never does.
        pick: the sum, as a NumPy ufunc that skips NaN.
    """

    kind: Kind
    zero: float
    better: Callable[[Any, Any], Any]
    pick: np.ufunc

    @property
    def extremum(self) -> Literal["max", "min"]:
        """The sum, as the name of a reduction."""
        return "max" if self.kind == "maxplus" else "min"


SEMIRINGS: dict[str, Semiring] = {
    "maxplus": Semiring("maxplus", -math.inf, operator.gt, np.fmax),
    "minplus": Semiring("minplus", math.inf, operator.lt, np.fmin),
}


def semiring(kind: object) -> Semiring:
    """The semiring of a name.

    Raises:
        KindError: there is no semiring of that name.

    >>> semiring("minplus").zero
    inf
    """
    found = SEMIRINGS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise KindError(f"tropical: kind must be one of {', '.join(SEMIRINGS)}, got {kind!r}")
    return found


@dataclass(frozen=True)
class _Scalar:
    value: float

    semiring: ClassVar[Semiring]
    zero: ClassVar[Any]
    one: ClassVar[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))

    def __add__(self, other: object) -> Self:
        """The sum; NaN adds nothing."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return type(self)(
            float(self.semiring.pick.reduce([self.semiring.zero, self.value, other.value]))
        )

    def __radd__(self, other: object) -> Self:
        """The value itself for 0, so that the built-in `sum`, which starts from 0, works."""
        return type(self)(self.value) if other == 0 and isinstance(other, int) else NotImplemented

    def __mul__(self, other: object) -> Self:
        """The product; a product with zero is zero, also if the other factor is infinite or NaN."""
        if not isinstance(other, type(self)):
            return NotImplemented
        if self.semiring.zero in (self.value, other.value):
            return type(self)(self.semiring.zero)
        return type(self)(self.value + other.value)

    def __float__(self) -> float:
        return self.value


class MaxPlus(_Scalar):
    """A number of the max-plus semiring: a + b is max(a, b), a × b is a plus b.

    >>> MaxPlus(2) + MaxPlus(3), MaxPlus(2) * MaxPlus(3)
    (MaxPlus(value=3.0), MaxPlus(value=5.0))
    >>> MaxPlus(2) + MaxPlus.zero, MaxPlus(2) * MaxPlus.one
    (MaxPlus(value=2.0), MaxPlus(value=2.0))
    >>> MaxPlus(2) + MaxPlus(float("nan"))
    MaxPlus(value=2.0)
    """

    semiring = SEMIRINGS["maxplus"]


class MinPlus(_Scalar):
    """A number of the min-plus semiring: a + b is min(a, b), a × b is a plus b.

    >>> MinPlus(2) + MinPlus(3), MinPlus(2) * MinPlus(3)
    (MinPlus(value=2.0), MinPlus(value=5.0))
    >>> MinPlus(2) + MinPlus.zero, sum([MinPlus(4), MinPlus(1)])
    (MinPlus(value=2.0), MinPlus(value=1.0))
    """

    semiring = SEMIRINGS["minplus"]


MaxPlus.zero, MaxPlus.one = MaxPlus(-math.inf), MaxPlus(0.0)
MinPlus.zero, MinPlus.one = MinPlus(math.inf), MinPlus(0.0)
