"""Objects that are indexed to make arrays: `r_`, `c_`, `mgrid`, `ogrid`, `s_`, `index_exp`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro import namespace as tn
from tenferro.composed.operands import check_affordable
from tenferro.errors import ConfigError
from tenferro.typing import AnyTensor


class Grid:
    """`mgrid` and `ogrid`: a grid of numbers from slices `start:stop:step`.

    An imaginary step is the number of points, of which the last is `stop`.

    >>> tn.mgrid[0:2, 0:2][1]
    Tensor([[0, 1],
            [0, 1]])
    >>> tn.ogrid[0:2, 0:3]
    [Tensor([[0],
            [1]]), Tensor([[0, 1, 2]])]
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self._name = name
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        slices = key if isinstance(key, tuple) else (key,)
        for each in slices:
            if not isinstance(each, slice):
                raise ConfigError(f"{self._name}: takes slices start:stop:step, got {each!r}")
        lengths = [self._length(each) for each in slices]
        check_affordable(self._name, *([max(lengths, default=0)] if self._sparse else lengths))
        made: Any = (np.ogrid if self._sparse else np.mgrid)[key]
        if self._sparse and isinstance(key, tuple):
            return [tn.asarray(each) for each in made]
        return tn.asarray(made)

    def _length(self, each: slice) -> int:
        """The number of points that a slice stands for."""
        start, step = each.start or 0, 1 if each.step is None else each.step
        bounds = (start, each.stop, step)
        if not all(isinstance(value, int | float | complex) for value in bounds) or not step:
            raise ConfigError(f"{self._name}: the slice {each} must have numbers and an end")
        if isinstance(step, complex):
            return int(abs(step))
        return int(max(math.ceil((each.stop - start) / step), 0))

    def __repr__(self) -> str:
        return f"tn.{self._name}"


class Joined:
    """`r_` and `c_`: what stands between the brackets, joined.

    Slices are ranges; an imaginary step is a number of points. A text first, `"axis,rank,place"`,
    says along which axis to join, how many axes each item has at least, and where its own axes go.

    >>> tn.r_[1:3, 0, [5, 6]]
    Tensor([1, 2, 0, 5, 6])
    >>> tn.c_[[1, 2], [3, 4]]
    Tensor([[1, 3],
            [2, 4]])
    """

    def __init__(self, name: str, axis: int, rank: int, place: int) -> None:
        self._name = name
        self._defaults = (axis, rank, place)

    def __getitem__(self, key: Any) -> AnyTensor:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, rank, place = self._defaults
        if items and isinstance(items[0], str):
            axis, rank, place = self._directive(items.pop(0))
        return tn.concat([self._part(item, rank, place) for item in items], axis=axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            given = [int(part) for part in text.split(",")]
        except ValueError:
            given = []
        if not 1 <= len(given) <= 3:
            raise ConfigError(
                f"{self._name}: {text!r} is not up to three integers 'axis,rank,place'"
            )
        axis, rank, place = (*given, *self._defaults[len(given) :])
        return axis, rank, place

    def _part(self, item: Any, rank: int, place: int) -> Any:
        """One item, with at least `rank` axes."""
        if isinstance(item, slice):
            a: Any = self._range(item)
        else:
            a = tn.atleast_1d(tn.asarray(item))
        new = rank - a.ndim
        if new <= 0:
            return a
        first = min(place, new) if place >= 0 else new + 1 + place
        return tn.expand_dims(a, [i for i in range(rank) if not first <= i < first + a.ndim])

    def _range(self, item: slice) -> Any:
        start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
        if item.stop is None:
            raise ConfigError(f"{self._name}: the slice {item} must have an end")
        if isinstance(step, complex):
            return tn.linspace(start, item.stop, int(abs(step)))
        return tn.arange(start, item.stop, step)

    def __repr__(self) -> str:
        return f"tn.{self._name}"


class Slices:
    """`s_` and `index_exp`: the index that stands between the brackets.

    >>> tn.s_[1:3]
    slice(1, 3, None)
    >>> tn.index_exp[1:3]
    (slice(1, 3, None),)
    """

    def __init__(self, name: str, always_tuple: bool) -> None:
        self._name = name
        self._always_tuple = always_tuple

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self._always_tuple and not isinstance(key, tuple) else key

    def __repr__(self) -> str:
        return f"tn.{self._name}"


mgrid = Grid("mgrid", sparse=False)
ogrid = Grid("ogrid", sparse=True)
r_ = Joined("r_", 0, 1, -1)
c_ = Joined("c_", -1, 2, 0)
s_ = Slices("s_", always_tuple=False)
index_exp = Slices("index_exp", always_tuple=True)
