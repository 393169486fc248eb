"""The type variables of transforms, and what checkers need to read lambdas.

Checkers take the first signature of a transform that fits. `T` stands for tensors and trees of
arrays, whose derivatives are of their own type; `Second` is another such type. `Tensor` stands for
tensors alone, `Container` for trees alone, `Record` for trees that are not sequences. `Leaf` stands
for the other types of single arrays and numbers, by which derivatives are tensors. `Tree` stands
for all other types, such as classes of users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Never, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np

from tenferro.ir import AnyTensor, Array, ArrayLike, Number

__all__ = [
    "Aux",
    "Container",
    "Containers",
    "First",
    "Leaf",
    "One",
    "P",
    "R",
    "Record",
    "Second",
    "Single",
    "T",
    "Tensor",
    "Tree",
    "Unannotated",
    "UnannotatedPair",
    "UnannotatedTo",
]


class _IsDataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


Containers: TypeAlias = Mapping[Any, Any] | tuple[Any, ...] | list[Any] | _IsDataclass

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Aux = TypeVar("Aux")
First = TypeVar("First")
T = TypeVar("T", bound=AnyTensor | Containers)
Second = TypeVar("Second", bound=AnyTensor | Containers)
Record = TypeVar("Record", bound=Mapping[Any, Any] | _IsDataclass)
Container = TypeVar("Container", bound=Containers)
Tensor = TypeVar("Tensor", bound=AnyTensor)
Leaf = TypeVar("Leaf", AnyTensor, Array, np.ndarray[Any, Any], float, complex, ArrayLike)
Tree = TypeVar("Tree")

One: TypeAlias = Array | Number
"""The result of a function that returns a single array."""

Single: TypeAlias = Number | np.generic | np.ndarray[Any, Any]
"""What a loop or branch takes in the place of a tensor."""


# Pyright reads the parameters of a lambda as the types that the first fitting signature expects,
# and so refuses `lambda p: p["w"]` where `p` is a type variable. In a union it reads them as the
# first type that fits, and takes each function for one of these. For mypy no function is one, since
# its name is text, and the next type of the union says what a function is.
#
# If the types of a function are unknown in part, several signatures may fit. Where each returns a
# function, of different types, the result for mypy is a function without types, which users may not
# call under `strict`. So one of the signatures returns Any, and Any is the result.


class UnannotatedTo(Protocol[R_co]):
    """A function whose parameters may be anything; first in a union with what they are."""

    @property
    def __name__(self) -> Never:
        """No function has it, for mypy."""

    def __call__(self, *args: Any, **kwargs: Any) -> R_co:
        """Its result."""


Unannotated: TypeAlias = UnannotatedTo[object]
UnannotatedPair: TypeAlias = UnannotatedTo[tuple[object, Any]]
