"""What a search may spend, in predicted seconds, so that equal networks get equal plans."""

from __future__ import annotations

import math

LEAST = 0.02
"""Seconds that any search may take."""

OPERAND = 1e-3
"""Seconds that a search may take for each operand: a part of what its compilation takes."""

GREEDY = 35e-6
"""Seconds of a greedy planner for each operand."""

MOVE = 1.5e-6
"""Seconds of a move of annealing."""

CANDIDATES = 0.25
"""The part of a bound that is for candidates; the rest is for what improves them."""

REPLAN = 5e-4
"""Seconds for planning the subtree below a node again."""


class Effort:
    """A bound in proportion to the predicted run time of the best plan so far.

    Args:
        factor: the number of runs that planning may cost.
        operands: the number of operands of the network.
    """

    def __init__(self, factor: float, operands: int) -> None:
        self._factor = factor
        self._operands = operands
        self._spent = 0.0

    def spend(self, seconds: float) -> None:
        """Count what has been done, for each operand."""
        self._spent += seconds * self._operands

    def part_spent(self, run: float) -> float:
        """What part of the bound has been spent, if `run` is the run time of the best plan."""
        return self._spent / self._allowed(run)

    def left(self, run: float, each: float) -> int | None:
        """How often something that takes `each` second for each operand may still be done.

        `run` is the predicted run time of the best plan. None if there is no bound.
        """
        allowed = self._allowed(run)
        if allowed == math.inf:
            return None
        return max(0, int((allowed - self._spent) / (each * self._operands)))

    def _allowed(self, run: float) -> float:
        return max(LEAST, OPERAND * self._operands, self._factor * run)
