"""LaneSum: lanes as nested loops, so that the lanes are added in a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.control import LaneSum
from tenferro_xla.lowering.program import jax_function
from tenferro_xla.lowering.registry import LoweringOptions, lower

Values = tuple[Array, ...]


@lower.register
def _(op: LaneSum, *consts: Array, options: LoweringOptions) -> Values:
    lanes = _Lanes(op, consts, options)
    zero = np.int64(0)
    apart, added = lanes.run(zero, op.lanes, lanes.zeros(True))
    return lanes.in_order(apart, added)


class _Lanes:
    """The lanes of one op on its operands.

    Sums that are apart go through all lanes; the others are added up by a tree of loops: on each
    level a loop of two rounds, whose rounds are the loops of the level below.
    """

    def __init__(self, op: LaneSum, consts: Sequence[Array], options: LoweringOptions) -> None:
        self.op = op
        self._consts = consts
        self._body = jax_function(op.body, options)

    def zeros(self, apart: bool) -> Values:
        """The sums before the first round: those that are apart, or the others."""
        metas = zip(self.op.sum_metas, self.op.apart, strict=True)
        return tuple(
            [jnp.zeros(meta.static_shape or (), meta.dtype) for meta, on in metas if on == apart]
        )

    def in_order(self, apart: Values, added: Values) -> Values:
        """The sums in the order of the op's results."""
        each = {True: iter(apart), False: iter(added)}
        return tuple([next(each[on]) for on in self.op.apart])

    def run(self, first: Any, lanes: int, apart: Values) -> tuple[Values, Values]:
        """The sums that are apart after `lanes` lanes from lane `first` on, and the others."""
        if lanes == 1:
            return self._lane(first, apart)
        half = lanes // 2

        def step(which: Any, state: tuple[Values, Values]) -> tuple[Values, Values]:
            apart, added = state
            apart, more = self.run(first + which * half, half, apart)
            return apart, tuple([lax.add(a, b) for a, b in zip(added, more, strict=True)])

        start = (apart, self.zeros(False))
        both: tuple[Values, Values] = lax.fori_loop(np.int64(0), np.int64(2), step, start)
        return both

    def _lane(self, lane: Any, apart: Values) -> tuple[Values, Values]:
        """The sums after one lane."""
        op = self.op
        first, stop = [(lane + place) * op.total // op.lanes for place in (0, 1)]

        def step(number: Any, sums: Values) -> Values:
            return tuple([jnp.asarray(each) for each in self._body(*self._consts, *sums, number)])

        sums = lax.fori_loop(first, stop, step, self.in_order(apart, self.zeros(False)))
        return (
            tuple([each for each, on in zip(sums, op.apart, strict=True) if on]),
            tuple([each for each, on in zip(sums, op.apart, strict=True) if not on]),
        )
