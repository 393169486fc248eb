"""Keys of the inputs that AD transforms create.

Each pass draws a fresh `pass_id`, so no two passes share an input.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tenferro.computegraph import GlobalValKey, name_of

_pass_ids = itertools.count()


def fresh_pass_id() -> int:
    """A number that no other pass of this process has. Safe between threads."""
    return next(_pass_ids)


@dataclass(frozen=True, slots=True)
class Tangent:
    """The tangent of value `of` in differentiation pass `pass_id`."""

    of: GlobalValKey
    pass_id: int

    def __str__(self) -> str:
        return f"d{self.pass_id}({name_of(self.of)})"


@dataclass(frozen=True, slots=True)
class Cotangent:
    """The cotangent of output number `slot` in transposition pass `pass_id`."""

    slot: int
    pass_id: int

    def __str__(self) -> str:
        return f"ct{self.pass_id}[{self.slot}]"
