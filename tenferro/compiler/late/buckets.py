"""Rounding sizes up, so that one executable serves many sizes."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Literal

from tenferro.errors import BindingError, ConfigError
from tenferro.shape import Leaf, SymDim

Rounding = Literal["powers_of_two"] | Sequence[int]


class Buckets:
    """For symbols, by name, the sizes to which theirs are rounded up.

    A rounding is "powers_of_two", or an increasing sequence of sizes.

    Raises:
        ConfigError: a rounding is neither of these, or `roundings` is not a mapping.

    >>> buckets = Buckets({"n": "powers_of_two", "m": (10, 100)})
    >>> [buckets.size(SymDim("n"), size) for size in (1, 5, 8)], buckets.size(SymDim("m"), 11)
    ([1, 8, 8], 100)
    """

    def __init__(self, roundings: Mapping[str, Rounding]) -> None:
        if not isinstance(roundings, Mapping):
            raise ConfigError(
                f"bucketing: takes a mapping from names of sizes, 'auto' or None, got "
                f'{roundings!r}; write bucketing={{"n": "powers_of_two"}}'
            )
        self._sizes: dict[str, tuple[int, ...] | None] = {}
        for name, rounding in roundings.items():
            if not isinstance(name, str):
                raise ConfigError(f"bucketing: {name!r} is not a name of a size")
            self._sizes[name] = None if rounding == "powers_of_two" else _increasing(name, rounding)

    def rounded(self, sizes: Mapping[Leaf, int]) -> frozenset[Leaf]:
        """The symbols whose sizes are rounded up."""
        return frozenset(
            leaf for leaf in sizes if isinstance(leaf, SymDim) and leaf.name in self._sizes
        )

    def size(self, leaf: Leaf, size: int) -> int:
        """The size that `size` is rounded up to.

        Raises:
            BindingError: the size is larger than the largest bucket.
        """
        known = self._sizes[str(leaf)]
        if known is None:
            return 1 << max(size - 1, 0).bit_length()
        place = bisect.bisect_left(known, size)
        if place == len(known):
            raise BindingError(
                f"run: {leaf} is {size}, more than its largest bucket {known[-1]}; add a larger one"
            )
        return known[place]

    def __bool__(self) -> bool:
        return bool(self._sizes)


def _increasing(name: str, rounding: object) -> tuple[int, ...]:
    sizes = tuple(rounding) if isinstance(rounding, Sequence) else ()
    whole = all(isinstance(size, int) and not isinstance(size, bool) for size in sizes)
    if not sizes or not whole or sizes[0] < 0 or list(sizes) != sorted(set(sizes)):
        raise ConfigError(
            f"bucketing: {name!r} is rounded to {rounding!r}; give 'powers_of_two', or sizes that "
            "increase, such as (64, 128)"
        )
    return sizes
