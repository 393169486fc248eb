"""EinsumOptimize: the strategies that choose the contraction order of a network."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from tenferro.errors import PathError
from tenferro.planning.nested import NestedEinsum
from tenferro.planning.tree import ContractionTree

Objective = Literal["time", "flops", "size"]
Method = Literal["auto", "greedy", "exact", "search", "cotengra"]
EFFORT = 10.0
"""How many times the predicted run time of a plan its search takes by default."""
NAMES = ("auto", "greedy", "search", "optimal", "dp", "exact", "cotengra")
"""The names that `optimize=` takes; further ones are those of opt_einsum's optimizers."""
Progress = Callable[[int, int, float], object]
"""Called with the number of trees tried, the total number of trees, and the best score so far."""


@dataclass(frozen=True, slots=True)
class ContractionOptimizerOptions:
    """The objective of an automatic plan and the effort of the search for it.

    Attributes:
        objective: the quantity to minimize: predicted run time, flops, or the size of the largest
            intermediate.
        method: `"exact"` is dynamic programming; `"greedy"` takes milliseconds; `"search"` combines
            tenferro's planners with opt_einsum's; `"cotengra"` needs the extra `paths`; `"auto"` is
            `"exact"` for small networks and for others a `"search"` that `effort` bounds.
        trials: largest number of candidate trees of a search. The result depends on the options
            alone.
        seconds: time after which a search stops; the result may then depend on the machine.
        seed: seed of all random choices.
        memory_limit: most bytes that intermediates may take at once; slicing keeps them below it.
        effort: bound of an `"auto"` search, as a multiple of the predicted run time of the plan. It
            may always take about 20 ms, or 1 ms for each operand. It is counted in steps, not by a
            clock.
        progress: function called after each trial; True shows a progress bar.
    """

    objective: Objective = "time"
    method: Method = "auto"
    trials: int = 16
    seconds: float | None = None
    seed: int = 0
    memory_limit: int | None = None
    effort: float = EFFORT
    progress: Progress | bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("objective", self.objective, get_args(Objective)),
            ("method", self.method, get_args(Method)),
        ):
            if value not in allowed:
                raise PathError(
                    f"einsum: {name} must be one of {', '.join(allowed)}, got {value!r}"
                )
        if self.trials < 1:
            raise PathError(f"einsum: trials must be at least 1, got {self.trials}")
        object.__setattr__(self, "effort", _as_effort(self.effort))

    @property
    def identity(self) -> tuple[object, ...]:
        """The options that the plan depends on."""
        seconds = None if self.seconds is None else float(self.seconds)
        effort = () if self.effort == EFFORT else (self.effort,)
        plain = (self.objective, self.method, self.trials, seconds, self.seed, self.memory_limit)
        return (*plain, *effort)


def _as_effort(value: object) -> float:
    if isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:  # an integer that is larger than every float
            number = math.inf
        if number >= 0:
            return number
    raise PathError(f"einsum: effort must be a number of at least 0, got {value!r}")


@dataclass(frozen=True, slots=True)
class Auto:
    """The best order that a search with these options finds."""

    options: ContractionOptimizerOptions = ContractionOptimizerOptions()


@dataclass(frozen=True, slots=True)
class LeftToRight:
    """The operands contracted from left to right: the meaning of `optimize=False`."""


@dataclass(frozen=True, slots=True)
class Nested:
    """The order that parentheses in the subscripts give."""

    einsum: NestedEinsum


@dataclass(frozen=True, slots=True)
class Path:
    """Groups of positions in the shrinking list of operands, as `jax.numpy.einsum` takes them."""

    path: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree that was made earlier for operands of the same sizes."""

    tree: ContractionTree


EinsumOptimize = Auto | LeftToRight | Nested | Path | Tree


def as_optimize(value: Any) -> EinsumOptimize:
    """The strategy that `optimize=` means.

    None, True and `"auto"` mean an automatic plan; `"greedy"`, `"optimal"` and `"cotengra"` mean
    one by that method; False contracts from left to right; a list or an array of pairs is a path.

    Raises:
        PathError: the value is not a strategy.

    >>> as_optimize(False), as_optimize([(0, 1)])
    (LeftToRight(), Path(path=((0, 1),)))
    """
    match value:
        case Auto() | LeftToRight() | Nested() | Path() | Tree():
            return value
        case None | True:
            return Auto()
        case False:
            return LeftToRight()
        case str():
            return Auto(ContractionOptimizerOptions(method=_method(value)))
        case ContractionOptimizerOptions():
            return Auto(value)
        case NestedEinsum():
            return Nested(value)
        case ContractionTree():
            return Tree(value)
        case list() | tuple() | np.ndarray():
            return Path(_groups(value))
        case _:
            raise PathError(
                f"einsum: optimize={value!r} is not a strategy; pass True, False, a path, a "
                "NestedEinsum, a ContractionTree, ContractionOptimizerOptions, or a path, tree or "
                "optimizer of opt_einsum or cotengra"
            )


def _method(name: str) -> Method:
    """The method that a name means.

    Raises:
        PathError: no method has this name.
    """
    match name:
        case "auto" | "greedy" | "search" | "cotengra" | "exact":
            return name
        case "optimal" | "dp":
            return "exact"
        case _:
            raise PathError(
                f"einsum: optimize={name!r} is not a method; the names are "
                f"{', '.join(map(repr, NAMES))}, and those of opt_einsum's optimizers, such as "
                "'branch-2' and 'random-greedy'"
            )


def _groups(value: Sequence[Any] | np.ndarray) -> tuple[tuple[int, ...], ...]:
    match value:
        case (str(name), int() | float()) if name != "einsum_path":
            raise PathError(
                f"einsum: optimize={value!r} is NumPy's pair of a method and a number of elements; "
                f"pass optimize={name!r}, and memory_limit= in bytes if intermediates must fit"
            )
        case (str("einsum_path"), *groups):
            pass
        case _:
            groups = list(value)
    try:
        return tuple(tuple(int(position) for position in group) for group in groups)
    except (TypeError, ValueError):
        raise PathError(
            f"einsum: {value!r} is not a path; a path is a list of pairs of positions"
        ) from None
